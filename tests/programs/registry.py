"""The programs, by name: ordinary functions on NumPy arrays, and what to call them with."""

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Program(NamedTuple):
    """A function that is not decorated, and how it is tried.

    ``arguments`` makes the arguments from a seeded generator, of the same shapes for every seed. ``check`` takes what the
    function returned (all arguments after the call, if it returned None) and the arguments before the call, and says whether
    this is right. ``reset`` brings what the program keeps outside of its arguments back to where it was; ``outside`` gives it,
    and it is compared after every call.
    """

    function: Callable
    arguments: Callable[[np.random.Generator], tuple]
    check: Callable[..., bool] | None = None
    reset: Callable[[], None] | None = None
    outside: Callable[[], object] | None = None

    def arguments_of(self, seed):
        """New arguments at every call, the same ones for the same seed."""
        return self.arguments(np.random.default_rng(seed))


PROGRAMS: dict[str, Program] = {}


def program(arguments, check=None, reset=None, outside=None):
    """Registers the decorated function as ``subject.name``; the function stays what it is."""

    def register(function):
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        assert name not in PROGRAMS, f"there is a program {name} already"
        PROGRAMS[name] = Program(function, arguments, check, reset, outside)
        return function

    return register


def either(first, second):
    """Makes ``first`` the arguments of the first and third call of a series, ``second`` those of the second."""
    return lambda rng: copy.deepcopy(first if rng.random() > 0.4 else second)
