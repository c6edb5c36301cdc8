"""What tests of the pool of threads have in common."""

import numpy as np
import pytest
from phlox import jit
from phlox.backends.cpu import thread_pool

pooled = pytest.mark.skipif(thread_pool.unsupported_reason() is not None, reason="there is no pool here")


def arrays(*shapes, dtype=np.float64):
    random = np.random.default_rng(0)
    return [(random.random(shape) + 0.5).astype(dtype) for shape in shapes]


@jit
def chain(x, y):
    return np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.log1p(x)


def in_bits(result):
    return [np.asarray(leaf).tobytes() for leaf in (result if isinstance(result, tuple) else (result,))]
