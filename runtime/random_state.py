"""The state that random numbers come from: a counter of 128 bits."""

from __future__ import annotations

import os

import numpy as np

from .locks import new_lock


class RandomState:
    """A counter whose start depends on the seed; without a seed, on entropy of the operating system.

    Threads may share it. Without a seed a forked process starts anew.

    >>> [RandomState(seed=7).take(3).tolist() == RandomState(seed=7).take(3).tolist(), RandomState(8).take(0).dtype]
    [True, dtype('uint64')]
    """

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed
        self._lock = new_lock()
        self._counter, self._process = 0, 0
        if seed is not None:
            np.random.SeedSequence(seed)  # raises for what is no seed

    def take(self, count: int) -> np.ndarray:
        """The counter, as two uint64, the low half first; then it is higher by count, modulo 2**128."""
        with self._lock:
            if not self._process or (self.seed is None and self._process != os.getpid()):
                low, high = np.random.SeedSequence(self.seed).generate_state(2, np.uint64).tolist()
                self._counter, self._process = low | high << 64, os.getpid()
            before = self._counter
            self._counter = (before + count) % 2**128
        return np.array([before % 2**64, before >> 64], np.uint64)
