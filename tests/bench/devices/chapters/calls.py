"""What a call of a small function costs, one behind the other, as users write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import phlox

from ..bench import Bench, of_calls
from ..cases import SMALL_CALL, Case, Row, Sizes, floats

TITLE = "Calls of small functions: microseconds"


def twice_and_one(x):
    return 2 * x + 1


def add(x, y):
    return x + y


def all_of(function: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """The same for all peers, whose arrays have the same methods and operators."""
    return {name: lambda library, *arrays: function(*arrays) for name in ("PyTorch", "CuPy", "JAX")}


def small(function: Callable[..., Any], peers: dict[str, Any], count: int, is_compiled: bool, bench: Bench) -> Case:
    x = tuple(floats(8, seed=number) for number in range(count))
    return Case(function, x, peers=peers, reference=lambda: function(*x), is_compiled=is_compiled)


def program_alone(bench: Bench) -> Case:
    """Run with buffers: without what a call does in Python before it."""
    x = floats(8)
    return Case(None, (x,), module=phlox.jit(twice_and_one).lower(x).module, reference=lambda: (twice_and_one(x),))


def rows(sizes: Sizes) -> Iterator[Row]:
    def row(name: str, function: Callable[..., Any], peers: dict[str, Any], count: int, is_compiled: bool) -> Row:
        return Row(name, SMALL_CALL, of_calls(partial(small, function, peers, count, is_compiled)))

    exponentials = {"PyTorch": lambda torch, x: torch.exp(x), "CuPy": lambda cupy, x: cupy.exp(x)}
    yield row("f(x): 2 * x + 1 of 8 elements, compiled", twice_and_one, all_of(twice_and_one), 1, True)
    yield row("f(x, y): x + y, compiled", add, all_of(add), 2, True)
    yield row("x + y", add, all_of(add), 2, False)
    yield row("2 * x", lambda x: 2 * x, all_of(lambda x: 2 * x), 1, False)
    yield row("np.exp(x)", np.exp, exponentials, 1, False)
    yield row("x.sum()", lambda x: x.sum(), all_of(lambda x: x.sum()), 1, False)
    yield Row("the program of f(x) alone", SMALL_CALL, of_calls(program_alone))
