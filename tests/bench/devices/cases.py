"""What a row of the table of targets measures, what its result has to be, and what is wanted of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .bench import Bench

COPY, AT_MOST = "copy", "at most"


@dataclass(frozen=True)
class Target:
    """What a row has to reach.

    against: `COPY`, this part of the bandwidth of a copy; `AT_MOST`, so many seconds; else peers, of which the first that is
        there counts: this many times as fast.
    """

    against: str | tuple[str, ...]
    value: float


OF_COPY = Target(COPY, 0.9)
OF_CUBLAS = Target(("PyTorch", "CuPy", "JAX"), 0.85)
AS_FAST_AS_JAX = Target(("JAX",), 1.0)
AS_FAST_AS_CUB = Target(("PyTorch", "CuPy"), 1.0)
HALF_OF_JAX = Target(("JAX",), 2.0)
SMALL_CALL = Target(AT_MOST, 10e-6)


@dataclass
class Case:
    """A function of NumPy's names, compiled with these options of `jit`, or called with arrays on the device as it is.

    peers: by name, what they call with the library and the arguments, as arrays of theirs; JAX compiles it.
    reference: what `sample` makes of the result, within tolerance; without one, the peers' results are it.
    module: HLO to run in the function's place, with the arguments' leaves. settings: around everything, for each library.
    bytes, flops: the least that a call has to move, and to compute.
    """

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    peers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    reference: Callable[[], Any] | None = None
    sample: Callable[[Any], Any] = lambda result: result
    tolerance: float = 1e-5
    bytes: float = 0
    flops: float = 0
    is_compiled: bool = True
    module: Any = None
    settings: Callable[[Bench], AbstractContextManager[Any]] = lambda bench: nullcontext()


@dataclass(frozen=True)
class Row:
    """A line of the table. measure: what it adds to the record: ``seconds``, ``peers`` and their seconds, ..."""

    name: str
    target: Target | None
    measure: Callable[[Bench], dict[str, Any]]


@dataclass(frozen=True)
class Sizes:
    """Of arrays: elements of a line, the side of a table, sides of products and numbers of records.

    Lines and tables are larger than any cache, so that none has to be emptied between calls.
    """

    elements: int
    side: int
    products: tuple[int, ...]
    records: tuple[int, ...]
    is_tiny: bool = False


FULL = Sizes(1 << 26, 8192, (4096, 8192), (1 << 20, 1 << 24))
TINY = Sizes(1 << 12, 64, (64,), (1 << 12,), is_tiny=True)


@lru_cache(maxsize=8)
def floats(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """Normally distributed. The arrays are shared: nobody writes to them."""
    random = np.random.default_rng([seed, *shape])
    made = random.standard_normal(shape, np.float64 if dtype == np.float64 else np.float32).astype(dtype, copy=False)
    made.flags.writeable = False
    return made


@lru_cache(maxsize=4)
def places(limit: int, *shape: int, dtype: Any = np.int64, seed: int = 0) -> np.ndarray:
    """Numbers below the limit, of which each is as likely."""
    made = np.random.default_rng([seed, *shape]).integers(0, limit, shape, dtype)
    made.flags.writeable = False
    return made


def forget_arrays() -> None:
    floats.cache_clear()
    places.cache_clear()


def some(size: int, count: int = 64) -> np.ndarray:
    """Of so many rows or elements, which are looked at: the first and the last among them."""
    return np.unique(np.linspace(0, size - 1, min(size, count)).astype(np.int64))
