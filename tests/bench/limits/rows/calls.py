"""What a call of a compiled function costs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from phlox import jit

from ..contenders import Case, Contender, Row, case, row, targets, uniform

TITLE = "Calls"


def add(x, y):
    return x + y


def add_in_place(x, y):
    x += y


def of_tree(tree):
    return tree["layers"][0]["weights"] + tree["head"]["scale"]


def tree_of_arrays():
    """20 arrays of 8 numbers in nested dicts, as parameters of a network are kept."""
    names = ("weights", "bias", "mean", "variance")
    layers = {number: {name: uniform(8, seed=number) for name in names} for number in range(4)}
    return {"layers": layers, "head": {name: uniform(8) for name in ("weights", "bias", "scale", "shift")}}


def calls_of_add() -> Case:
    return case(add, uniform(8), uniform(8), numpy=np.add, numba=True, parallel=False)


def calls_in_place() -> Case:
    # Zeros are added, so that the sums stay finite in millions of calls.
    return case(
        add_in_place, uniform(8), np.zeros(8, np.float32),
        jax_function=None, numba=True, parallel=False, changes_arguments=True,
    )  # fmt: skip


def calls_of_tree() -> Case:
    return case(of_tree, tree_of_arrays())


def calls_of_three_shapes() -> Case:
    """Three calls, beside three calls of one shape."""
    pairs = [(uniform(size), uniform(size)) for size in (8, 9, 10)]
    several, single = jit(add), jit(add)
    for pair in pairs:
        several(*pair)
    names = tuple(array for pair in pairs for array in pair)
    found = {
        "phlox": _ThreeCalls(several, names),
        "one shape": _ThreeCalls(single, pairs[0] * 3),
        "NumPy": _ThreeCalls(np.add, names),
    }
    return Case(found, per=3, comparable=lambda result: None)


class _ThreeCalls(Contender):
    def __call__(self):
        return [self.function(*self.arguments[k : k + 2]) for k in (0, 2, 4)]

    def timer(self):
        timer = super().timer()
        return type(timer)("f(a0, a1); f(a2, a3); f(a4, a5)", globals={"f": self.function} | self._named())

    def _named(self):
        return {f"a{number}": argument for number, argument in enumerate(self.arguments)}


def rows() -> Iterator[Row]:
    yield row("add of 8 f32", targets(at_most=0.12e-6), calls_of_add)
    yield row("20 arrays in nested dicts", targets(at_most=2e-6), calls_of_tree)
    yield row("argument changed in place, 8 f32", targets(at_most=2e-6), calls_in_place)
    yield row("three shapes in rotation, a call", targets(**{"one shape": 0.5}), calls_of_three_shapes)
