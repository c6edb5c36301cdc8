"""How a Fourier transform is divided: passes over all signals, each a kernel, and the steps of a pass, in a block's memory.

A pass of length R splits signals into R shorter ones, as a step does by its radix: all frequencies are in order after the last
one. Signals that fit a block's memory take one pass.

Source: Van Loan, "Computational Frameworks for the Fast Fourier Transform" (1992), 1.7 (Stockham), 2.3 (large radices).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ....compile.expansion.fourier_tables import prime_factors, roots_of_unity
from ..target import Target

# Radices of steps: transforms of so many numbers in registers.
LARGEST_RADIX, LARGEST_PRIME = 16, 13
# Neighbouring signals that a block of several passes transforms, at least: what it reads lies together by so many bytes.
_LEAST_BYTES, _MOST_BYTES = 32, 128
# About how many numbers a thread of a block holds, and how many a block of short signals has.
_ELEMENTS, _BLOCK_ELEMENTS = 16, 2048
PADDING = 16


@dataclass(frozen=True)
class Pass:
    """Transforms of ``length`` elements of each signal, ``remaining * done`` of them.

    ``remaining`` is the length of the signals that this pass leaves, ``done`` the product of the lengths of the passes before.
    Blocks of ``threads`` threads do ``columns`` at a time, by steps of these ``radices``.
    """

    length: int
    remaining: int
    done: int
    columns: int
    threads: int
    has_gaps: bool = True

    @property
    def transforms(self) -> int:
        return self.remaining * self.done

    @property
    def radices(self) -> tuple[int, ...]:
        return step_radices(self.length)

    @property
    def pitch(self) -> int:
        """From one transform to the next in the block's memory: an odd number, for its banks."""
        return padded(self.length) | 1 if self.has_gaps else self.length

    @property
    def shared_elements(self) -> int:
        return self.columns * self.pitch if len(self.radices) > 1 else 0


def padded(place: int) -> int:
    """Where an element lies: a gap behind every few of them keeps those that are a power of two apart in different banks.

    >>> padded(15), padded(16)
    (15, 17)
    """
    return place + place // PADDING


def has_small_factors(length: int) -> bool:
    return length == 1 or prime_factors(length)[-1] <= LARGEST_PRIME


@lru_cache(maxsize=256)
def step_radices(length: int) -> tuple[int, ...]:
    """The fewest radices whose product is the length, of those the most equal ones; the largest first.

    >>> step_radices(4096), step_radices(1024), step_radices(1000), step_radices(1)
    ((16, 16, 16), (16, 8, 8), (10, 10, 10), (1,))
    """
    if length == 1:
        return (1,)
    return min(_factorizations(length, LARGEST_RADIX), key=lambda radices: (len(radices), radices))


def _factorizations(length: int, largest: int) -> Iterator[tuple[int, ...]]:
    """All of the length, in factors up to the largest, in descending order."""
    if length == 1:
        yield ()
    for radix in range(min(largest, length), 1, -1):
        if length % radix == 0:
            for others in _factorizations(length // radix, radix):
                yield (radix, *others)


@lru_cache(maxsize=256)
def passes(signals: int, length: int, element_bytes: int, shared_bytes: int, threads: int) -> tuple[Pass, ...]:
    """The passes of so many transforms; a block has so much memory and so many threads."""
    most = shared_bytes // element_bytes
    if length <= min(most, threads * LARGEST_RADIX):
        pitch = padded(length) | 1
        columns = max(1, min(signals, _BLOCK_ELEMENTS // length, most // pitch))
        return (replace(_pass(length, 1, 1, columns, threads), has_gaps=pitch <= most),)
    lengths = _pass_lengths(length, most // (_LEAST_BYTES // element_bytes), threads * LARGEST_RADIX)
    found, done = [], 1
    for one in lengths:
        columns = _MOST_BYTES // element_bytes
        while columns * (padded(one) | 1) > most or columns * one > threads * LARGEST_RADIX:
            columns //= 2
        found.append(_pass(one, length // (done * one), done, columns, threads))
        done *= one
    return tuple(found)


def _pass(length: int, remaining: int, done: int, columns: int, threads: int) -> Pass:
    wanted = -(-length * columns // max(min(_ELEMENTS, step_radices(length)[0]), 1))
    return Pass(length, remaining, done, columns, min(threads, -(-wanted // 32) * 32))


def _pass_lengths(length: int, most: int, other: int) -> tuple[int, ...]:
    """The fewest factors of the length that take no more room than that, the most equal ones."""
    most = min(most, other)
    divisors = [d for d in _divisors(length) if padded(d) | 1 <= most and d > 1]
    found = {1: ()}
    while length not in found:
        following: dict[int, tuple[int, ...]] = {}
        for product, lengths in found.items():
            for divisor in divisors:
                if length % (product * divisor) == 0:
                    longer = tuple(sorted((*lengths, divisor), reverse=True))
                    known = following.get(product * divisor)
                    following[product * divisor] = longer if known is None else min(known, longer)
        found = following
    return found[length]


def _divisors(number: int) -> list[int]:
    found = [1]
    for prime in dict.fromkeys(primes := prime_factors(number)):
        found = [d * prime**power for d in found for power in range(primes.count(prime) + 1)]
    return sorted(found)


@lru_cache(maxsize=64)
def tables(length: int, rest: int, inverse: bool, dtype: np.dtype) -> tuple[np.ndarray, tuple[int, ...]]:
    """What a pass multiplies by, real and imaginary parts side by side, and where in it the parts begin, in numbers.

    For each step but the last: [radix - 1, remaining], w^(j p) for j from 1, where w is the root for the length before the
    step. Then, for the turns behind a pass of signals of ``rest`` elements: w^(k f) and w^k for k below f, `fine_roots`.
    """
    parts, starts, size = [], [], 0

    def add(roots: np.ndarray) -> None:
        nonlocal size
        starts.append(size)
        parts.append(roots.ravel())
        size += roots.size

    before = length
    for radix in step_radices(length)[:-1]:
        remaining = before // radix
        add(roots_of_unity(before, np.outer(np.arange(1, radix), np.arange(remaining)), inverse))
        before = remaining
    if rest > length:
        fine = fine_roots(rest)
        add(roots_of_unity(rest, np.arange(-(-rest // fine)) * fine, inverse))
        add(roots_of_unity(rest, np.arange(fine), inverse))
    numbers = np.concatenate(parts or [np.ones(1, np.complex128)])
    return np.ascontiguousarray(numbers).view(np.float64).astype(dtype), tuple(starts)


def fine_roots(rest: int) -> int:
    """A power of two near the square root: every exponent is that of a coarse root and of a fine one.

    >>> fine_roots(1 << 20), fine_roots(10**6)
    (1024, 1024)
    """
    return 1 << ((rest - 1).bit_length() + 1) // 2


def passes_for(target: Target, signals: int, length: int, element_bytes: int) -> tuple[Pass, ...]:
    return passes(signals, length, element_bytes, target.shared_bytes, min(target.threads, 256))
