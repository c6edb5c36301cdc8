"""Arrays of random numbers whose sizes the program decides are drawn by loops that are captured."""

import functools

from ..calls.random_generators import ONE_BY_ONE
from .calls.dispatch import call
from .library import draws

ONE_BY_ONE.append(functools.partial(call, draws.one_by_one))
