"""Draws that are functions of the captured library."""

import functools

from ..calls.random_generators import LIBRARY
from .calls.dispatch import call
from .library import draws

LIBRARY.update(
    {
        function.__name__: functools.partial(call, function)
        for function in (
            draws.one_by_one, draws.chosen, draws.reordered, draws.shuffled, draws.permutation, draws.element, draws.between,
            draws.permuted,
        )
    }
)  # fmt: skip
