"""The memory that a call needs beside its arguments: how far the process grows while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from phlox import jit

from ..contenders import Case, Contender, Row, jax, jnp, row, targets, uniform

TITLE = "Memory beside the arguments"

MEGABYTE = 1e6
ELEMENTS = 12_500_000  # 100 MB of f64


def chain_of_50(x):
    y = x
    for _ in range(10):
        y = np.tanh(y * x + 0.5) - 0.1 * y
    return y


def jax_chain_of_50(x):
    y = x
    for _ in range(10):
        y = jnp.tanh(y * x + 0.5) - 0.1 * y
    return y


def steps_in_place(u, v, steps):
    for _ in range(steps):
        v += 0.1 * u
        u -= 0.1 * v


def smoothed_in_place(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]


def appended(u, steps):
    """Each round writes one row of a table that is made in front of the loop."""
    table = np.zeros((1000, 1000))
    for i in range(steps):
        table[i] = table[i - 1] * 0.5 + u
    return table


def growth(call: Callable[[], Any]) -> float:
    """Bytes that the process is larger, at the most, while this runs; its result is part of them."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the most so far is from now on the most since
    before = _resident("VmRSS")
    result = call()
    most = _resident("VmHWM")
    del result
    return max(0.0, most - before)


def _resident(name: str) -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(1024.0 * int(line.split()[1]) for line in file if line.startswith(name + ":"))


def of_chain() -> Case:
    """The first run of what has been compiled without one, so that no memory of a run before is used again."""
    x = uniform(ELEMENTS, dtype=np.float64)
    jit(chain_of_50)(x[:1_000_000])  # what the first call of a process brings with it is no memory of this one
    compiled = jit(chain_of_50)
    compiled.compile(x)
    found = {"phlox": lambda: growth(lambda: compiled(x)), "NumPy": lambda: growth(lambda: chain_of_50(x))}
    if jax is not None:
        on_device = jnp.asarray(x).block_until_ready()  # what is still being copied would count as the next call's
        by_xla = jax.jit(jax_chain_of_50).lower(on_device).compile()
        found["JAX"] = lambda: growth(lambda: by_xla(on_device).block_until_ready())
    return _of_calls(found)


def by_analysis() -> Case:
    """What the compiled function says of itself."""
    x = uniform(ELEMENTS, dtype=np.float64)
    return _of_calls({"phlox": lambda: jit(chain_of_50).compile(x).memory_analysis()["temporaries"]})


def in_place(function, steps: int, *shapes: tuple[int, ...]) -> Case:
    """How much more a call of many rounds needs than one of a single round."""
    arguments = [uniform(*shape, dtype=np.float64, seed=number) for number, shape in enumerate(shapes)]

    def more(compiled):
        compiled(*arguments, 1)
        single = growth(lambda: compiled(*arguments, 1))
        return max(0.0, growth(lambda: compiled(*arguments, steps)) - single)

    return _of_calls({"phlox": lambda: more(jit(function)), "NumPy": lambda: more(function)})


def _of_calls(found: dict[str, Callable[[], float]]) -> Case:
    return Case({name: _Once(call) for name, call in found.items()}, quantity="bytes", comparable=lambda result: None)


class _Once(Contender):
    """Measured by the first call: what is asked again has its memory already."""

    def __call__(self) -> float:
        if "found" not in vars(self):
            object.__setattr__(self, "found", self.function())
        return vars(self)["found"]


def rows() -> Iterator[Row]:
    result = 8 * ELEMENTS
    yield row("50 operations on 100 MB: the result and what else", targets(at_most=result + MEGABYTE), of_chain)
    yield row("50 operations on 100 MB: temporaries by its own account", targets(at_most=MEGABYTE), by_analysis)
    wanted = targets(at_most=0.1 * MEGABYTE)
    yield row(
        "u and v changed in place, 10 rounds more, 2 x 8 MB", wanted, in_place, steps_in_place, 11, (1_000_000,), (1_000_000,)
    )
    yield row("u[1:-1] = ..., 10 rounds more, 8 MB", wanted, in_place, smoothed_in_place, 11, (1_000_000,))
    yield row("rows of a table, 900 rounds more, 8 MB", wanted, in_place, appended, 901, (1000,))
