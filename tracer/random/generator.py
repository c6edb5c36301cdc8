"""`phlox.random.Generator`. Its methods are followed as functions of the user's are (`outside/ownership.py`): a traced function
reads and changes the state as it does an array that an object of the user's holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import choices, draws, integers
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
