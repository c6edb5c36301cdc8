"""What calls return that are made when the program runs: found out by a trial while the function is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..recording import pytree
from ..recording.array import TracedArray
from .random_generators import is_traced_generator


def results_of_trial(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """What describes the results of a call. Python integers that shapes depend on are asked for their values."""
    found = function(*examples(args, 1), **examples(kwargs, 1))
    integers = [leaf for leaf in pytree.flatten((args, kwargs))[0] if is_integer(leaf)]
    if integers and _shapes(found) != _shapes(function(*examples(args, 2), **examples(kwargs, 2))):
        for integer in integers:
            integer.__index__()  # raises ConcretizationError
    return found


def examples(arguments: Any, number: int) -> Any:
    """The arguments with known numbers in place of traced ones."""
    leaves, structure = pytree.flatten(arguments, is_traced_generator)
    return pytree.unflatten(structure, [_example(leaf, number) for leaf in leaves])


def _example(leaf: Any, number: int) -> Any:
    if is_traced_generator(leaf):
        return leaf.example
    return _example_of_array(leaf, number) if isinstance(leaf, TracedArray) else leaf


def _example_of_array(array: TracedArray, number: int) -> Any:
    value = np.full(array.shape, number, array.dtype)
    if array.weak_type:
        return value.item()
    if array.shape and array.element_type.is_float:  # probabilities sum to 1
        value /= max(array.size, 1)
    return value[()] if array.is_scalar else value


def is_integer(leaf: Any) -> bool:
    """Whether this is one traced integer."""
    return isinstance(leaf, TracedArray) and not leaf.shape and leaf.element_type.is_integer


def _shapes(value: Any) -> list[tuple[int, ...]]:
    return [np.shape(leaf) for leaf in pytree.flatten(value)[0]]
