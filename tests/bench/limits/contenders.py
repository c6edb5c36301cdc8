"""What a row compares: one function, on the same arguments, for phlox and its peers; and what is wanted of it."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = jnp = None
try:
    import numba as numba_package
except ImportError:
    numba_package = None

from phlox import jit, load_hlo

PEERS = ("NumPy", "SciPy", "JAX", "Numba")
LARGE = 10_000_000


class Target(NamedTuple):
    """What a row has to reach.

    against: a contender, or "best", the fastest of the peers: this many times as fast; "bandwidth", "peak": this part of what
        the machine can do; "at most": this many seconds, bytes, or whatever the row measures.
    """

    against: str
    value: float


@dataclass(frozen=True)
class Contender:
    """A call, and what waits for its result."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    finish: str = "{}"

    def __call__(self) -> Any:
        return self.function(*self.arguments)

    def timer(self) -> timeit.Timer:
        """The call written out, since a lambda around it would cost as much as a small call does."""
        names = {f"a{number}": argument for number, argument in enumerate(self.arguments)}
        call = self.finish.format(f"f({', '.join(names)})")
        return timeit.Timer(call, globals={"f": self.function, "wait": jax and jax.block_until_ready, **names})


@dataclass
class Case:
    """What is measured in a row.

    bytes, flops: the least that one call has to move, and to compute. unit: in which numbers, for the peak of the machine.
    footprint: the bytes that a call touches, for the bandwidth of the memory that holds them; of none, those that it moves.
    per: how many calls one is, where one loops. comparable: what of a result has to be the same for all contenders, within
    tolerance. turns: at most so many, for calls that take long. fresh: a call is timed by itself, and never repeated in a turn.
    quantity: what is measured; anything but seconds is what the contenders return.
    """

    contenders: dict[str, Contender]
    bytes: float = 0
    flops: float = 0
    unit: str = "f32"
    footprint: float = 0
    per: int = 1
    comparable: Callable[[Any], Any] = field(default=lambda result: result)
    tolerance: float = 1e-4
    turns: int = 11
    fresh: bool = False
    quantity: str = "seconds"


@dataclass(frozen=True)
class Row:
    """A line of the table. make: prepares what is measured, so that no more than one row's arrays exist at a time."""

    name: str
    targets: tuple[Target, ...]
    make: Callable[[], Case]


def targets(best: float = 0, at_most: float = 0, **against: float) -> tuple[Target, ...]:
    """Targets by the contender's name: ``targets(NumPy=10, JAX=6)``, ``targets(bandwidth=0.85)``, ``targets(best=4)``."""
    named = {"best": best, "at most": at_most, **against}
    return tuple(Target(name, value) for name, value in named.items() if value)


def with_jax_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with jax.numpy under the name np."""
    names = {**function.__globals__, "np": jnp}
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


def case(
    function: Callable[..., Any],
    *arguments: Any,
    numpy: Callable[..., Any] | None | bool = True,
    jax_function: Callable[..., Any] | None | bool = True,
    numba: Callable[..., Any] | None | bool = None,
    scipy: Callable[..., Any] | None = None,
    parallel: bool = True,
    changes_arguments: bool = False,
    **facts: Any,
) -> Case:
    """One function of NumPy's names for each contender.

    True: the same source; None: no such contender; else a function of its own. parallel: whether Numba divides loops.
    changes_arguments: each contender has arguments of its own, and its results are not compared by what it returns.
    """

    def own() -> tuple[Any, ...]:
        return copied(arguments) if changes_arguments else arguments

    found = {"phlox": Contender(jit(function), own())}
    if numpy:
        found["NumPy"] = Contender(function if numpy is True else numpy, own())
    if scipy:
        found["SciPy"] = Contender(scipy, own())
    found |= jax_contender(with_jax_numpy(function) if jax_function is True and jax else jax_function, arguments)
    if numba and numba_package:
        compiled = numba_package.njit(function if numba is True else numba, parallel=parallel)
        found["Numba"] = Contender(compiled, own())
    return Case(found, **facts)


def hlo_case(jax_function: Callable[..., Any], *arguments: Any, numpy: Callable[..., Any] | None = None, **facts: Any) -> Case:
    """A program of JAX's, run by phlox from its HLO text, as ndarrays in and out. Without JAX there is nothing to measure."""
    text = jax.jit(jax_function).lower(*arguments).compiler_ir("hlo").as_hlo_text()
    leaves = tuple(np.asarray(leaf) for leaf in jax.tree.leaves(arguments))
    found = {"phlox": Contender(load_hlo(text), leaves)}
    if numpy:
        found["NumPy"] = Contender(numpy, arguments)
    return Case(found | jax_contender(jax_function, arguments), **facts)


def jax_contender(function: Callable[..., Any] | None | bool, arguments: tuple[Any, ...]) -> dict[str, Contender]:
    """Compiled, and given arrays of JAX's own."""
    if not function or jax is None:
        return {}
    on_device = jax.tree.map(lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf, arguments)
    compiled = jax.jit(function)
    single = hasattr(jax.eval_shape(compiled, *on_device), "shape")
    return {"JAX": Contender(compiled, on_device, "{}.block_until_ready()" if single else "wait({})")}


def copied(value: Any) -> Any:
    """Containers of arrays with copies of the arrays."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: copied(one) for key, one in value.items()}
    return type(value)(map(copied, value)) if isinstance(value, tuple | list) else value


def leaves(value: Any) -> Iterator[np.ndarray]:
    """The arrays and numbers of a result, in order."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from leaves(value[key])
    elif isinstance(value, tuple | list):
        for one in value:
            yield from leaves(one)
    elif value is not None:
        array = np.asarray(value)
        yield array if array.dtype.kind in "biufc" else array.astype(np.float32)


def row(name: str, wanted: tuple[Target, ...], make: Callable[..., Case], *arguments: Any, **facts: Any) -> Row:
    return Row(name, wanted, partial(make, *arguments, **facts))


def uniform(*shape: int, dtype: Any = np.float32, low: float = 0.1, high: float = 1.0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape).astype(dtype)


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def integers(limit: int, *shape: int, dtype: Any = np.int64, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(0, limit, shape).astype(dtype)
