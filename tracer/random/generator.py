"""`phlox.random.Generator`. Its methods are followed as functions of the user's are (`outside/ownership.py`): a traced function
reads and changes the state as it does an array that an object of the user's holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import choices, distributions, draws, integers, vectors
from .transforms import BITS, EXPONENTIAL, EXPONENTIALS, FRACTIONS, NORMAL, NORMALS, UNIFORM

# Among the words of a key are keys of generators that are split off, and none of those that `fold_in` makes.
_FOLDED = 0x9E3779B97F4A7C15


class Generator:
    """Random numbers by ThreeFry2x32, a function of a key and a counter: the same ones on every backend, and in and out of jit.

    ``seed`` is an integer of at least 0, a sequence of such, an ``np.random.SeedSequence``, or None, for another stream each
    time. ``state``, in its place, is a key and a counter, as the attribute `state` says it. The methods have the names and the
    arguments of those of ``np.random.Generator``, and raise its errors.

    Raises ValueError for a negative seed, TypeError for what is none of these.

    Source of the algorithm: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.

    >>> from phlox import jit
    >>> rng, other = Generator(7), Generator(7)
    >>> @jit
    ... def largest(rng):
    ...     return rng.random(1000).max()
    >>> bool(largest(rng) == other.random(1000).max()), rng.state == other.state
    (True, True)
    """

    def __init__(self, seed: Any = None, *, state: Any = None) -> None:
        key, counter = (_key_of(seed), 0) if state is None else state
        self._state = np.array([key, counter], dtype=np.uint64)

    @property
    def state(self) -> tuple[Any, Any]:
        """The key, and the number of the next word: all that a generator is. It may be set."""
        return self._state[0], self._state[1]

    @state.setter
    def state(self, value: Any) -> None:
        key, counter = value
        self._state[0] = key
        self._state[1] = counter

    # --- other generators ---

    def split(self, n: int = 2) -> list[Generator]:
        """``n`` generators that are independent of this one, and of each other: their keys are the next words.

        >>> first, second = Generator(7).split()
        >>> first.random() == second.random()
        False
        """
        keys = self.bits(n)
        return [Generator(state=(keys[number], 0)) for number in range(n)]

    def spawn(self, n_children: int) -> list[Generator]:
        """As `split`: NumPy's name for it."""
        return self.split(n_children)

    def fold_in(self, number: Any) -> Generator:
        """The generator with this number, from 0 to 2**64 - 1, for the step of a loop, say. This one stays as it is, and what
        has been drawn from it before does not count.

        >>> Generator(7).fold_in(3).random() == Generator(7).fold_in(3).random()
        True
        """
        return Generator(state=(_word(self._state[0] ^ np.uint64(_FOLDED), number), 0))

    # --- bits and integers ---

    def bits(self, size: Any = None) -> Any:
        """Random words: u64, all of whose values are equally likely.

        >>> Generator(7).bits(2).dtype
        dtype('uint64')
        """
        return draws.drawn(BITS, self._state, draws.shape_of_draw(size), size is None, False)

    def bytes(self, length: int) -> bytes:
        """As many random bytes.

        >>> len(Generator(7).bytes(10))
        10
        """
        return self.bits((length + 7) // 8).view(np.uint8)[:length].tobytes()

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: DTypeLike = np.int64, endpoint: bool = False
    ) -> Any:
        """Integers from ``low`` to below ``high``, or from 0 to below ``low``; up to ``high`` itself with ``endpoint``.

        >>> sorted(set(Generator(7).integers(1, 6, size=1000, endpoint=True).tolist()))
        [1, 2, 3, 4, 5, 6]
        """
        bounds = integers.bounds_of(low, high, dtype, endpoint)
        if bounds.is_large:
            return integers.drawn_between(self._state, bounds, True, size, dtype)
        return integers.drawn_between(self._state, bounds, False, size, dtype)

    # --- floats ---

    def random(self, size: Any = None, dtype: DTypeLike = np.float64, out: Any = None) -> Any:
        """Multiples of 2**-53 (of 2**-24 for float32) from 0 to below 1.

        >>> Generator(7).random() == (int(Generator(7).bits()) >> 11) / 2**53
        True
        """
        return draws.standard(FRACTIONS, "random", self._state, size, dtype, out)

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Any = None) -> Any:
        """Numbers from ``low`` to below ``high``."""
        low, high = draws.as_floats(low), draws.as_floats(high)
        width = high - low
        draws.require_range(width)
        return draws.scaled(UNIFORM, self._state, low, width, size)

    def standard_normal(self, size: Any = None, dtype: DTypeLike = np.float64, out: Any = None) -> Any:
        """Normal numbers with mean 0 and standard deviation 1."""
        return draws.standard(NORMALS, "standard_normal", self._state, size, dtype, out)

    def normal(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Any:
        """Normal numbers with mean ``loc`` and standard deviation ``scale``."""
        loc, scale = draws.as_floats(loc), draws.as_floats(scale)
        draws.require_scale(scale)
        return draws.scaled(NORMAL, self._state, loc, scale, size)

    def standard_exponential(
        self, size: Any = None, dtype: DTypeLike = np.float64, method: str = "inv", out: Any = None
    ) -> Any:
        """Exponential numbers with mean 1; ``method`` is NumPy's, and there is one only."""
        return draws.standard(EXPONENTIALS, "standard_exponential", self._state, size, dtype, out)

    def exponential(self, scale: ArrayLike = 1.0, size: Any = None) -> Any:
        """Exponential numbers with mean ``scale``."""
        scale = draws.as_floats(scale)
        draws.require_scale(scale)
        return draws.scaled(EXPONENTIAL, self._state, 0.0, scale, size)

    # --- other distributions ---

    def laplace(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Any:
        """Numbers of the Laplace distribution: exponential ones with mean ``scale``, of both signs, about ``loc``."""
        return distributions.drawn("laplace", self._state, size, loc, scale)

    def logistic(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Any:
        """Numbers of the logistic distribution."""
        return distributions.drawn("logistic", self._state, size, loc, scale)

    def gumbel(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Any:
        """Numbers of the Gumbel distribution, of largest values."""
        return distributions.drawn("gumbel", self._state, size, loc, scale)

    def lognormal(self, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: Any = None) -> Any:
        """Numbers whose logarithms are normal."""
        return distributions.drawn("lognormal", self._state, size, mean, sigma)

    def rayleigh(self, scale: ArrayLike = 1.0, size: Any = None) -> Any:
        """Numbers of the Rayleigh distribution: lengths of pairs of normal numbers."""
        return distributions.drawn("rayleigh", self._state, size, scale)

    def weibull(self, a: ArrayLike, size: Any = None) -> Any:
        """Numbers of the Weibull distribution of shape ``a``."""
        return distributions.drawn("weibull", self._state, size, a)

    def pareto(self, a: ArrayLike, size: Any = None) -> Any:
        """Numbers of the Pareto distribution of the second kind, which begins at 0."""
        return distributions.drawn("pareto", self._state, size, a)

    def power(self, a: ArrayLike, size: Any = None) -> Any:
        """Numbers from 0 to 1 with a density like ``x**(a - 1)``."""
        return distributions.drawn("power", self._state, size, a)

    def standard_cauchy(self, size: Any = None) -> Any:
        """Numbers of the Cauchy distribution."""
        return distributions.drawn("standard_cauchy", self._state, size)

    def wald(self, mean: ArrayLike, scale: ArrayLike, size: Any = None) -> Any:
        """Numbers of the inverse Gaussian distribution."""
        return distributions.drawn("wald", self._state, size, mean, scale)

    def triangular(self, left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: Any = None) -> Any:
        """Numbers from ``left`` to ``right``, of which ``mode`` is the likeliest."""
        return distributions.drawn_triangular(self._state, size, left, mode, right)

    def standard_gamma(self, shape: ArrayLike, size: Any = None, dtype: DTypeLike = np.float64, out: Any = None) -> Any:
        """Numbers of the gamma distribution with scale 1.

        >>> Generator(7).standard_gamma(0.5, (2, 3), "float32").shape
        (2, 3)
        """
        return distributions.drawn_gammas(self._state, shape, size, dtype, out)

    def gamma(self, shape: ArrayLike, scale: ArrayLike = 1.0, size: Any = None) -> Any:
        """Numbers of the gamma distribution, whose mean is ``shape * scale``."""
        return distributions.drawn("gamma", self._state, size, shape, scale)

    def chisquare(self, df: ArrayLike, size: Any = None) -> Any:
        """Sums of squares of ``df`` normal numbers, which may be no integer."""
        return distributions.drawn("chisquare", self._state, size, df)

    def noncentral_chisquare(self, df: ArrayLike, nonc: ArrayLike, size: Any = None) -> Any:
        """Such sums, of normal numbers whose squared means add up to ``nonc``."""
        return distributions.drawn("noncentral_chisquare", self._state, size, df, nonc)

    def f(self, dfnum: ArrayLike, dfden: ArrayLike, size: Any = None) -> Any:
        """Ratios of chisquare numbers, each divided by its degrees of freedom."""
        return distributions.drawn("f", self._state, size, dfnum, dfden)

    def noncentral_f(self, dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: Any = None) -> Any:
        """Such ratios, where the numerator is a noncentral one."""
        return distributions.drawn("noncentral_f", self._state, size, dfnum, dfden, nonc)

    def standard_t(self, df: ArrayLike, size: Any = None) -> Any:
        """Numbers of Student's t distribution with ``df`` degrees of freedom."""
        return distributions.drawn("standard_t", self._state, size, df)

    def beta(self, a: ArrayLike, b: ArrayLike, size: Any = None) -> Any:
        """Numbers of the beta distribution, from 0 to 1."""
        return distributions.drawn("beta", self._state, size, a, b)

    def poisson(self, lam: ArrayLike = 1.0, size: Any = None) -> Any:
        """Counts of events of which ``lam`` are expected: int64.

        >>> Generator(7).poisson(3.0, 3).dtype
        dtype('int64')
        """
        return distributions.drawn("poisson", self._state, size, lam)

    def binomial(self, n: ArrayLike, p: ArrayLike, size: Any = None) -> Any:
        """Counts of successes in ``n`` trials, each of probability ``p``: int64."""
        return distributions.drawn_binomials(self._state, size, n, p)

    def negative_binomial(self, n: ArrayLike, p: ArrayLike, size: Any = None) -> Any:
        """Counts of failures before ``n`` successes, each of probability ``p``: int64."""
        return distributions.drawn_negative_binomials(self._state, size, n, p)

    def hypergeometric(self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: Any = None) -> Any:
        """Counts of good ones among ``nsample`` that are taken out of ``ngood`` good and ``nbad`` bad ones: int64."""
        return distributions.drawn_hypergeometrics(self._state, size, ngood, nbad, nsample)

    def geometric(self, p: ArrayLike, size: Any = None) -> Any:
        """Numbers of trials up to the first success, each of probability ``p``: int64."""
        return distributions.drawn("geometric", self._state, size, p)

    def zipf(self, a: ArrayLike, size: Any = None) -> Any:
        """Positive integers k with probabilities like ``k**-a``: int64."""
        return distributions.drawn("zipf", self._state, size, a)

    def logseries(self, p: ArrayLike, size: Any = None) -> Any:
        """Positive integers k with probabilities like ``p**k / k``: int64."""
        return distributions.drawn("logseries", self._state, size, p)

    # --- vectors ---

    def dirichlet(self, alpha: ArrayLike, size: Any = None) -> Any:
        """Rows of positive numbers that add up to 1, an axis behind those of the size.

        >>> bool(abs(Generator(7).dirichlet([1.0, 2.0, 3.0]).sum() - 1) < 1e-15)
        True
        """
        alpha = vectors.concentrations(alpha)
        numbers = vectors.logarithms_of_gammas(self._state, alpha, draws.shape_of_draw(size))
        count = alpha.shape[0]
        if not count:
            return numbers
        largest = numbers[..., 0]
        for place in range(1, count):
            largest = np.maximum(largest, numbers[..., place])
        numbers = vectors.relative(numbers, largest)
        total = numbers[..., 0]
        for place in range(1, count):
            total = total + numbers[..., place]
        return numbers / total[..., None]

    def multinomial(self, n: ArrayLike, pvals: ArrayLike, size: Any = None) -> Any:
        """Counts of the outcomes of ``n`` trials, whose probabilities are the last axis of ``pvals``: int64.

        >>> Generator(7).multinomial(10, [0.2, 0.3, 0.5], 4).sum(axis=1)
        array([10, 10, 10, 10])
        """
        n, pvals, shape = vectors.trials(n, pvals, size)
        found = np.empty((*shape, pvals.shape[-1]), np.int64)
        rest, share = np.broadcast_to(n, shape), 1.0
        for place in range(pvals.shape[-1] - 1):
            p = vectors.part(pvals[..., place], share)
            count = np.asarray(self.binomial(rest, np.broadcast_to(p, shape)))
            found[..., place] = count
            rest, share = rest - count, share - pvals[..., place]
        found[..., -1] = rest
        return found

    def multivariate_normal(
        self, mean: ArrayLike, cov: ArrayLike, size: Any = None, check_valid: str = "warn", tol: float = 1e-8, *,
        method: str = "svd",
    ) -> Any:  # fmt: skip
        """Vectors of normal numbers with these means and covariances, the last axis. The ``method`` factors the covariances.

        >>> Generator(7).multivariate_normal([0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], 3).shape
        (3, 2)
        """
        mean, factor = vectors.factored(mean, cov, check_valid, tol, method)
        numbers = self.standard_normal((*draws.shape_of_draw(size), mean.shape[0]))
        found = numbers[..., :1] * factor[0]
        for place in range(1, mean.shape[0]):
            found = found + numbers[..., place : place + 1] * factor[place]
        return mean + found

    # --- orders and choices ---

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """The numbers from 0 to below ``x`` in a random order, or a copy of an array in a random order along an axis.

        >>> sorted(Generator(7).permutation(5).tolist())
        [0, 1, 2, 3, 4]
        """
        if choices.is_integer(x):
            return self._order(x)
        array = choices.as_array(x)
        return _taken(array, self._order(choices.length(array, axis)), axis)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the elements of an array or a list into a random order, in place, along an axis."""
        if isinstance(x, list):
            x[:] = [x[place] for place in self._order(len(x))]
        else:
            x[...] = _taken(x, self._order(choices.length(x, axis)), axis)

    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        """A copy of an array whose elements along an axis, or all of them, are in a random order, another one in each place of
        the other axes.

        >>> [sorted(row) for row in Generator(7).permuted([[1, 2, 3], [4, 5, 6]], axis=1).tolist()]
        [[1, 2, 3], [4, 5, 6]]
        """
        array = choices.as_array(x)
        if not array.ndim:
            raise TypeError("len() of unsized object")
        if axis is None:
            found = array.reshape(-1)[self._order(array.size)].reshape(array.shape)
        else:
            axis = choices.normalized(axis, array)
            found = np.take_along_axis(array, np.argsort(self.bits(array.shape), axis=axis, kind="stable"), axis)
        if out is None:
            return found
        out[...] = choices.fitting(found, out)
        return out

    def _order(self, count: Any) -> Any:
        return np.argsort(self.bits(count), kind="stable")

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True) -> Any:
        """Elements of an array along an axis, or numbers from 0 to below ``a``, with these probabilities.

        >>> set(Generator(7).choice(["a", "b"], 2, replace=False).tolist()) == {"a", "b"}
        True
        """
        if not choices.is_integer(a):
            a = choices.elements(a)
        shape = draws.shape_of_draw(size)
        is_empty = choices.is_empty(shape)
        count = choices.population(a, axis, is_empty)
        if p is not None:
            p = choices.probabilities(p, count)
        if not replace:
            wanted = choices.size_of(shape)
            choices.require_enough(wanted, count, p)
            keys = self.bits(count) if p is None else self.standard_exponential(count) / p
            found = np.argsort(keys, kind="stable")[:wanted].reshape(shape)
        elif p is None:
            found = np.zeros(shape, dtype=np.int64) if is_empty else self.integers(0, count, shape)
        else:
            limits = np.cumsum(p)
            found = np.searchsorted(limits / limits[-1], self.random(shape), side="right")
        if size is None:
            found = int(found)
        return found if choices.is_integer(a) else _taken(a, found, axis)

    def __copy__(self) -> Generator:
        return Generator(state=self.state)

    def __repr__(self) -> str:
        key, counter = self.state
        return f"phlox.random.Generator(state=({key}, {counter}))"


def _key_of(seed: Any) -> Any:
    if seed is None:
        return np.random.default_rng().integers(2**64, dtype=np.uint64)
    if hasattr(seed, "generate_state"):
        return seed.generate_state(1, np.uint64)[0]
    if not choices.is_integer(seed):
        return np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    if seed < 0:
        raise ValueError("expected non-negative integer")
    if choices.is_wide(seed):
        return np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    return _word(0, seed)


def _word(key: Any, number: Any) -> Any:
    """One of the words of a key."""
    return draws.draw(BITS, np.array([key, number], dtype=np.uint64), 1)[0]


def _taken(array: Any, places: Any, axis: int) -> Any:
    """What lies at these places along an axis."""
    return array[(slice(None),) * choices.normalized(axis, array) + (places,)]
