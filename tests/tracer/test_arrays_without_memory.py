"""Arrays that no memory holds: what NumPy raises, also where the program would need no memory for them."""

import numpy as np
import pytest
from phlox import jit


def caught(n):
    try:
        return np.ones((n, n, n)).sum()
    except MemoryError:
        return -1.0


@pytest.mark.parametrize(
    "function", [
        lambda n: np.zeros((n, n, n)).sum(), lambda n: np.full((n, n, n), 1.5).max(), lambda n: np.zeros((10 * n,) * 3)[0],
        lambda n: np.arange(n**2 * 500)[n], lambda n: np.linspace(0, 1, n**2 * 500)[n], lambda n: np.eye(100 * n)[0, 0],
        lambda n: np.zeros_like(np.ones(2), shape=(n, n, n))[0], caught,
    ],
)  # fmt: skip
def test_arrays_without_memory(function):
    def outcome(function):
        try:
            return function(10**6)
        except (MemoryError, ValueError) as error:
            return isinstance(error, MemoryError), str(error)

    assert outcome(jit(function)) == outcome(function)


def test_many_elements_of_views_and_empty_arrays():
    assert jit(lambda x: np.broadcast_to(x, (10**6, 10**6, 10**6))[5, 6, 7] + np.zeros((0, 10**9, 10**9)).size)(2.0) == 2.0
