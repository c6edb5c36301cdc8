"""Draws that are functions of the captured library: arrays whose sizes the program decides, texts, and lists."""

import functools

from ..calls.random_generators import CHOSEN, ONE_BY_ONE, REORDERED
from .calls.dispatch import call
from .library import draws

ONE_BY_ONE.append(functools.partial(call, draws.one_by_one))
CHOSEN.append(functools.partial(call, draws.chosen))
REORDERED.append(functools.partial(call, draws.reordered))
