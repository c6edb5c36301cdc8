"""Programs that change outside what they use, decorated and undecorated."""

from collections.abc import Callable
from typing import Any

import numpy as np
from phlox import jit

Program = Callable[[Callable[..., Any]], Any]


def does_the_same(program: Program) -> bool:
    """Whether a program, which is given what decorates its functions, gives the same values of the same types with jit."""
    return _same(program(lambda function: function), program(jit))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other
