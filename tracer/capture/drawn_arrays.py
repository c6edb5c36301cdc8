"""Draws that are functions of the captured library: arrays whose sizes the program decides, texts, and lists."""

import functools

from ..calls.random_generators import CHOSEN, OF_ANY_LENGTH, ONE_BY_ONE, REORDERED
from .calls.dispatch import call
from .library import draws

ONE_BY_ONE.append(functools.partial(call, draws.one_by_one))
CHOSEN.append(functools.partial(call, draws.chosen))
REORDERED.append(functools.partial(call, draws.reordered))
OF_ANY_LENGTH.update(
    {
        name: functools.partial(call, function)
        for name, function in (("shuffle", draws.shuffled), ("permutation", draws.permuted), ("choice", draws.element))
    }
)
