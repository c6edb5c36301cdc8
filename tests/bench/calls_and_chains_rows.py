"""The rows of calls_and_chains.py: each function is written once, for NumPy, and given to every contender that can take it."""

from __future__ import annotations

import itertools
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None
try:
    import numba
except ImportError:
    numba = None

from phlox import associative_scan, fori_loop

LARGE = 10_000_000


@dataclass(frozen=True)
class Contender:
    """What one of them runs: a call, and what waits for its result."""

    function: Callable[..., object]
    arguments: tuple[object, ...] = ()
    finish: str = ""

    def timer(self):
        """The call written out, since a lambda around it would cost as much as a small call does."""
        names = {f"a{number}": argument for number, argument in enumerate(self.arguments)}
        return timeit.Timer(f"f({', '.join(names)}){self.finish}", globals={"f": self.function, **names})


@dataclass
class Row:
    """One comparison. bytes and operations: the work of one call, for the limit. per: the iterations of a call."""

    title: str
    contenders: dict[str, Contender]
    bytes: float = 0
    operations: float = 0
    per: int = 1
    seconds: dict[str, float] = field(default_factory=dict)


def with_jax_numpy(function):
    """The same function, with jax.numpy under the name np."""
    return FunctionType(function.__code__, {**function.__globals__, "np": jnp}, function.__name__, None, function.__closure__)


def contenders(compiled, function, arguments, numba_function=None, jax_function=None, numpy_function=None):
    """One function, on the same arrays, for each contender.

    Numba takes numba_function; JAX and NumPy take jax_function and numpy_function instead of function where they are given.
    """
    found = {"phlox": Contender(compiled(function), arguments), "NumPy": Contender(numpy_function or function, arguments)}
    if jax is not None:
        on_device = tuple(jnp.asarray(argument) for argument in arguments)
        found["JAX"] = Contender(jax.jit(jax_function or with_jax_numpy(function)), on_device, ".block_until_ready()")
    if numba is not None and numba_function is not None:
        found["Numba"] = Contender(numba.njit(numba_function), arguments)
    return found


def add(x, y):
    return x + y


def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.log1p(x)


def numba_chain(x, y):
    result = np.empty_like(x)
    for i in range(x.size):
        result[i] = np.exp(-x[i] * x[i]) * np.sin(y[i]) + np.tanh(x[i] * y[i]) + np.log1p(x[i])
    return result


def axpy(x, y):
    return 2 * x + y


def numba_axpy(x, y):
    result = np.empty_like(x)
    for i in range(x.size):
        result[i] = 2 * x[i] + y[i]
    return result


def total(x):
    return x.sum()


def numba_total(x):
    result = np.float32(0)
    for i in range(x.size):
        result += x[i]
    return result


def row_sums(x):
    return x.sum(axis=1)


def column_sums(x):
    return x.sum(axis=0)


def norm(x):
    return np.sqrt((x * x).sum())


def largest(x):
    return x.max()


def product(x, y):
    return x @ y


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def small_loop(x):
    """A loop whose body computes next to nothing: one iteration costs what a loop costs."""
    return fori_loop(0, 1000, lambda i, v: 0.5 * v + i, x)


def prefix_products(m):
    return associative_scan(np.matmul, m)


def jax_prefix_products(m):
    return jax.lax.associative_scan(jax.numpy.matmul, m)


def jax_small_loop(x):
    return jax.lax.fori_loop(0, 1000, lambda i, v: 0.5 * v + i, x)


def numba_small_loop(x):
    v = x.copy()
    for i in range(1000):
        v = 0.5 * v + i
    return v


def ten_operations(x, y):
    a = np.sin(x) * y
    b = np.exp(-a) + x
    c = np.sqrt(b * b + 1)
    return np.where(c > y, c, a).sum(axis=0)


def run_rows(compiled):
    """The time of calls, once everything is compiled."""
    generator = np.random.default_rng(0)

    def uniform(*shape, dtype=np.float32):
        return generator.uniform(0.1, 1, shape).astype(dtype)

    def row(title, function, arguments, numba_function=None, jax_function=None, numpy_function=None, **work):
        functions = function, arguments, numba_function, jax_function, numpy_function
        return Row(title, contenders(compiled, *functions), **work)

    small = uniform(8), uniform(8)
    small64 = (uniform(8, dtype=np.float64),)
    large = uniform(LARGE), uniform(LARGE)
    matrix = uniform(2000, 2000)
    square = uniform(512, 512), uniform(512, 512)
    square64 = uniform(512, 512, dtype=np.float64), uniform(512, 512, dtype=np.float64)
    wide = uniform(4000, 1000)
    matrices = (np.random.default_rng(0).uniform(0, 0.5, (10_000, 3, 3)),)
    return [
        row("call: add, 8 f32", add, small, add, numpy_function=np.add),
        row("chain of 9 operations, 10 M f32", chain, large, numba_chain, bytes=12 * LARGE),
        row("2 * x + y, 10 M f32", axpy, large, numba_axpy, bytes=12 * LARGE),
        row("sum, 10 M f32", total, large[:1], numba_total, bytes=4 * LARGE),
        row("max, 10 M f32", largest, large[:1], bytes=4 * LARGE),
        row("norm, 10 M f32", norm, large[:1], bytes=4 * LARGE),
        row("sum of rows, 2000 x 2000 f32", row_sums, (matrix,), bytes=matrix.nbytes),
        row("sum of columns, 2000 x 2000 f32", column_sums, (matrix,), bytes=matrix.nbytes),
        row("softmax of rows, 4000 x 1000 f32", softmax, (wide,), bytes=2 * wide.nbytes),
        row("matrix product, 512 f32", product, square, product, operations=2 * 512**3),
        row("matrix product, 512 f64", product, square64, product, operations=2 * 512**3),
        row("fori_loop, one f64: an iteration", small_loop, (np.float64(1),), None, jax_small_loop, per=1000),
        row("fori_loop, 8 f64: an iteration", small_loop, small64, numba_small_loop, jax_small_loop, per=1000),
        row("associative_scan, a product of 3 x 3 f64", prefix_products, matrices, None, jax_prefix_products, per=10_000),
    ]


def compile_rows(compiled):
    """The time from a Python function to its first result, for functions that have not been seen before."""
    argument = np.random.default_rng(0).uniform(0.1, 1, (30, 20))
    numbers = itertools.count(1)

    def fresh(compiler, function):
        def call():
            # A number of its own makes each program a new one, so that no cache can answer.
            number = float(next(numbers))
            return compiler(lambda x, y: function(x, y) + number)(argument, argument)

        return call

    found = {"phlox": Contender(fresh(compiled, ten_operations))}
    if jax is not None:
        found["JAX"] = Contender(fresh(jax.jit, with_jax_numpy(ten_operations)), (), ".block_until_ready()")
    return [Row("trace, compile and first call: 10 operations", found)]
