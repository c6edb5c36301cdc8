"""Programs whose work the pool of threads does, in pieces."""

import numpy as np
import phlox
import pytest
from divided_programs import arrays, chain, in_bits, pooled
from phlox import jit
from phlox.backends.cpu import thread_pool
from thinning import one_in, one_in_all

THREADS = (1, 2, 3, 8)


def several_results(x, y):
    return np.exp(x) * y, np.sqrt(x) - y, x > y


def softmax(x):
    exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def updated(x, y):
    x = x.copy()
    x[1:-1, 2:-2] += np.sin(y[1:-1, 2:-2])
    x[3:-3, 1:-1] = y[3:-3, 1:-1]
    return x


def rows_of_other_lengths(x, y):
    return np.exp(x) * y[:, :1], np.sin(x) + y[0]


def rows_added(x, y):
    sums = np.zeros((23, x.shape[1]), x.dtype)
    np.add.at(sums, (y * 15).astype(np.int64), x)
    return sums


def largest_at_places(x, y):
    largest = y[:50].copy()
    np.maximum.at(largest, (x * 30).astype(np.int64), np.sin(x) * 2)
    return largest


DIVIDED = {
    "chain": (chain, [(50_001,), (50_001,)]),
    "several results": (several_results, [(40_003,), (40_003,)]),
    "rows": (rows_of_other_lengths, [(301, 203), (301, 203)]),
    "concatenate": (lambda x, y: np.concatenate([np.sin(x), np.cos(y)]), [(30_001,), (70_003,)]),
    "read across": (lambda x, y: np.exp(x.T) + y, [(301, 203), (203, 301)]),
    "transpose": (lambda x: x.T.copy(), [(503, 701)]),
    "sum": (lambda x: np.sum(x), [(200_003,)]),
    "sum of a product with rows": (lambda x, y: np.sum(x * y), [(301, 1003), (1003,)]),
    "mean and variance": (lambda x: (np.mean(x), np.var(x)), [(501, 403)]),
    "max": (lambda x: np.max(x), [(400_003,)]),
    "argmax": (lambda x: np.argmax(x), [(300_007,)]),
    "sums of rows": (lambda x: np.sum(x, axis=1), [(500, 403)]),
    "sums of short columns": (lambda x: np.sum(x, axis=0), [(70_003, 5)]),
    "sums of columns": (lambda x: np.sum(x, axis=0), [(503, 701)]),
    "least of columns": (lambda x: np.min(x, axis=0), [(1003, 701)]),
    "sums of long rows": (lambda x: np.sum(x, axis=0), [(11, 40_003)]),
    "sorts": (lambda x: np.sort(x, axis=1), [(203, 301)]),
    "sort": (lambda x: np.sort(x), [(150_001,)]),
    "order": (lambda x: np.argsort(x, kind="stable"), [(150_001,)]),
    "orders": (lambda x: np.argsort(x, axis=0), [(203, 301)]),
    "running sums of rows": (lambda x: np.cumsum(x, axis=1), [(403, 701)]),
    "running sums of columns": (lambda x: np.cumsum(x, axis=0), [(203, 1301)]),
    "running maximum": (lambda x: np.maximum.accumulate(x), [(300_007,)]),
    "running minimum from the end": (lambda x: np.minimum.accumulate(x[::-1])[::-1], [(90_001,)]),
    "running count": (lambda x: np.cumsum(x > 1), [(300_007,)]),
    "running product of integers": (lambda x: np.cumprod((x * 9).astype(np.int64) | 1), [(200_003,)]),
    "running truth": (lambda x: np.logical_and.accumulate(x < 1.49999), [(1_000_003,)]),
    "product": (lambda x, y: x @ y, [(201, 203), (203, 301)]),
    "product of a tall matrix": (lambda x, y: x @ y, [(3001, 31), (31, 37)]),
    "product of many terms": (lambda x, y: x @ y, [(31, 8009), (8009, 37)]),
    "transposed product of many terms": (lambda x, y: x.T @ y, [(8009, 31), (8009, 37)]),
    "transposed product": (lambda x, y: x.T @ y.T, [(203, 201), (301, 203)]),
    "batched product": (lambda x, y: x @ y, [(5, 101, 73), (5, 73, 103)]),
    "vectors' product": (lambda x, y: x @ y, [(200_003,), (200_003,)]),
    "product of a vector": (lambda x, y: x @ y, [(1001,), (1001, 303)]),
    "product with a vector": (lambda x, y: x @ y, [(1001, 303), (303,)]),
    "transforms": (lambda x: np.fft.fft(x, axis=1).real, [(101, 512)]),
    "transform": (lambda x, y: np.abs(np.fft.fft(x)) + np.fft.ifft(y).real, [(18_750,), (18_750,)]),
    "real transform": (lambda x: np.abs(np.fft.rfft(x)), [(1 << 16,)]),
    "sums at places": (lambda x, y: np.bincount((x * 40).astype(np.int64), y, 70), [(100_003,), (100_003,)]),
    "counts": (lambda x: np.bincount((x * 40).astype(np.int64)), [(100_003,)]),
    "rows at places": (rows_added, [(20_003, 7), (20_003,)]),
    "largest at places": (largest_at_places, [(70_001,), (60,)]),
    "histogram": (lambda x: np.histogram(x, 37, (0.6, 1.3))[0], [(100_003,)]),
    "update": (updated, [(301, 503), (301, 503)]),
    "softmax": (softmax, [(397, 503)]),
}


def divides(function, *arguments):
    return function.compile(*arguments).executable.program.divides


@pooled
@pytest.mark.parametrize("name, dtype", one_in_all(5, DIVIDED, [np.float32, np.float64]))
def test_results_do_not_depend_on_the_number_of_threads(name, dtype):
    function, shapes = DIVIDED[name]
    function, arguments = jit(function), arrays(*shapes, dtype=dtype)
    assert divides(function, *arguments)
    expected = None
    for number in THREADS * 3:
        with phlox.config(num_threads=number):
            found = in_bits(function(*arguments))
        assert expected is None or found == expected
        expected = found
    assert thread_pool.worker_count() >= max(THREADS) - 1


@pytest.mark.parametrize("name", one_in(4, DIVIDED))
def test_values_of_what_is_divided(name):
    function, shapes = DIVIDED[name]
    arguments = arrays(*shapes)
    found, expected = jit(function)(*arguments), function(*arguments)
    for one, other in zip(*[value if isinstance(value, tuple) else (value,) for value in (found, expected)], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13 * np.abs(other).max())


@pooled
@pytest.mark.parametrize("function", [np.cumsum, np.cumprod])
def test_running_sums_in_any_order(function):
    """Where rounding may differ from NumPy's, it is the same for any number of threads."""
    (x,) = arrays((300_007,), dtype=np.float32)
    x = x if function is np.cumsum else np.exp((x - 1) / 100)
    running = jit(lambda x: function(x), fastmath=True)
    assert divides(running, x)
    expected = running(x)
    np.testing.assert_allclose(expected, function(x.astype(np.float64)), rtol=1e-4)
    for number in THREADS * 3:
        with phlox.config(num_threads=number):
            assert in_bits(running(x)) == in_bits(expected)


def test_running_sums_of_floats_are_those_of_numpy():
    (x,) = arrays((300_007,))
    assert in_bits(jit(lambda x: np.cumsum(x))(x)) == in_bits(np.cumsum(x))


@pooled
def test_running_maximum_keeps_the_first_nan():
    (x,) = arrays((200_003,))
    x[:90_000] = np.where(np.arange(90_000) % 2, 0.0, -0.0)
    x.view(np.uint64)[[150_000, 150_001, 190_000]] = [0xFFF8 << 48, 0x7FF8 << 48, (0x7FF8 << 48) + 5]
    running = jit(lambda x: np.maximum.accumulate(x))
    for number in THREADS * 3:
        with phlox.config(num_threads=number):
            found = running(x)
        np.testing.assert_array_equal(found, np.maximum.accumulate(x))
        assert (found[150_000:].view(np.int64) == x.view(np.int64)[150_000]).all()


@pooled
def test_running_sum_in_place():
    """Here no thread may read what another one has overwritten."""
    (x,) = arrays((300_007,), dtype=np.float32)
    x = (x * 100).astype(np.int64)

    @jit
    def in_place(x):
        np.cumsum(x, out=x)

    for number in THREADS:
        y = x.copy()
        with phlox.config(num_threads=number):
            in_place(y)
        np.testing.assert_array_equal(y, np.cumsum(x))


def test_values_that_are_changed_in_place():
    x, y = arrays((60_007,), (60_007,))
    np.testing.assert_allclose(chain(x, y), np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.log1p(x), rtol=1e-13)
    z = x.copy()

    @jit
    def in_place(z):
        z[:] = np.sin(z) * 3
        z[:100] = 0

    in_place(z)
    np.testing.assert_allclose(z, np.where(np.arange(z.size) < 100, 0, np.sin(x) * 3), rtol=1e-13)


def test_small_programs_are_not_divided():
    assert not divides(jit(lambda x, y: x + y), *arrays((1000,), (1000,)))
    assert not divides(chain, *arrays((500,), (500,)))


# The pool
