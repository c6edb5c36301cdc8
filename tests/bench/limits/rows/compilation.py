"""Tracing, compiling and the first run of functions that have not been seen before."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from phlox import jit

from ..contenders import Case, Contender, Row, jax, jnp, row, targets, uniform

TITLE = "Cold functions: trace, compile, first run"

# Results stay small in any order of these.
OPERATIONS = (
    "np.sin({0})",
    "{0} - {1}",
    "{0} * np.float32(0.9)",
    "np.maximum({0}, {1})",
    "np.tanh({0})",
    "{0} + {1}",
    "np.cos({0})",
)


def source(count: int, number: int) -> str:
    """A function of so many operations, one in a line, in an order that does not repeat; the number makes it another one."""
    lines = ["def cold(x, y):", f"    v1 = x * np.float32({1 + number / 1024})"]
    for step in range(2, count + 1):
        other = step - 1 - step * step % 7
        operands = f"v{step - 1}", f"v{other}" if other > 0 else "y"
        lines.append(f"    v{step} = {OPERATIONS[step**3 % 11 % len(OPERATIONS)].format(*operands)}")
    return "\n".join([*lines, f"    return v{count}"]) + "\n"


def function(text: str, number: int, library: Any) -> Callable[..., Any]:
    """The source as a function whose source can be read, with this library's functions under the name np."""
    file = f"<cold {text.count(chr(10))} {number}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    namespace: dict[str, Any] = {"np": library}
    exec(compile(text, file, "exec"), namespace)
    return namespace["cold"]


def cold(count: int) -> Case:
    """Each call takes the next of the functions, so that no cache can answer; they are written before anything is measured."""
    turns = 3 if count >= 1000 else 9
    arguments = uniform(1000), uniform(1000, seed=1)

    def fresh(compiler: Callable[..., Any], library: Any) -> Callable[..., Any]:
        functions = iter([function(source(count, number), number, library) for number in range(turns + 3)])
        return lambda x, y: compiler(next(functions))(x, y)

    found = {"phlox": Contender(fresh(jit, np), arguments)}
    if jax is not None:
        on_device = tuple(map(jnp.asarray, arguments))
        found["JAX"] = Contender(fresh(jax.jit, jnp), on_device, "{}.block_until_ready()")
    return Case(found, fresh=True, turns=turns, tolerance=1e-3)


def rows() -> Iterator[Row]:
    for count in (1, 10, 30, 100, 1000):
        yield row(f"{count} operation{'s' * (count > 1)} on 1,000 f32", targets(JAX=2), cold, count)
