"""Where NumPy takes a bool for a size or an axis, and where it does not."""

import numpy as np
import pytest
from phlox import jit

X = np.arange(6.0).reshape(2, 3)

REFUSED = [
    lambda x: np.zeros(True), lambda x: np.ones((True, 2)), lambda x: np.full(np.True_, x), lambda x: np.eye(True),
    lambda x: np.zeros_like(x, shape=True), lambda x: x.reshape((True, -1)), lambda x: x[:1, :1].reshape(True),
    lambda x: np.resize(x, True), lambda x: np.broadcast_to(x[0, 0], True), lambda x: np.random.default_rng(0).random(True),
    lambda x: np.sum(x, True), lambda x: x.max(axis=(True,)), lambda x: x.argmax(np.True_), lambda x: x.cumsum(False),
    lambda x: np.concatenate([x, x], axis=True), lambda x: np.take(x, 0, axis=True), lambda x: np.repeat(x, 2, axis=True),
    lambda x: np.vander(x[0], True), lambda x: np.fft.fft(x, True), lambda x: np.fft.fft2(x, (True, 2)),
    lambda x: x.transpose(True, False), lambda x: x[:, :1].squeeze(True), lambda x: np.argsort(x, axis=True),
]  # fmt: skip
TAKEN = [
    lambda x: np.tri(True), lambda x: np.expand_dims(x, True), lambda x: np.stack([x, x], axis=True),
    lambda x: np.roll(x, True, axis=True), lambda x: np.flip(x, True), lambda x: np.average(x, axis=True),
    lambda x: np.moveaxis(x, True, False),
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_refused_bools(function):
    with pytest.raises(TypeError):
        function(X)
    with pytest.raises(TypeError, match="an integer is required|expected a sequence of integers or a single integer"):
        jit(function).lower(X)


def test_bools_that_are_taken():
    found = jit(lambda x: [function(x) for function in TAKEN])(X)
    for one, function in zip(found, TAKEN, strict=True):
        np.testing.assert_array_equal(one, function(X))
