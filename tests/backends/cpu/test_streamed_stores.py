"""Large results are written past the caches."""

import numpy as np
import phlox
import pytest
from phlox import jit
from phlox.backends.cpu.backend import CpuBackend
from phlox.backends.cpu.machine_code import assembly
from phlox.backends.cpu.nest_samples import SAMPLES
from phlox.backends.cpu.regions import loop
from phlox.backends.cpu.target import host_target, native_target
from phlox.backends.registry import get_backend
from sample_values import whole_numbers
from thinning import one_in

x86 = pytest.mark.skipif(not native_target().stores_past_caches, reason="reads assembly of x86")
COUNT = (loop._STREAMED_BYTES >> 2) + 5


def code(function, *arguments):
    backend = CpuBackend(host_target())
    return assembly(backend._written(jit(function).lower(*arguments).module).llvm_ir, backend.target)


@x86
def test_which_results_are_streamed():
    large, small = np.ones(COUNT, np.float32), np.ones(1000, np.float32)
    assert "movnt" in code(lambda x: 2 * x, large)
    assert "movnt" not in code(lambda x: 2 * x, small)

    def changes(x):
        x *= 2

    assert "movnt" not in code(changes, large)  # its lines have just been read


@pytest.mark.parametrize("threads", [1, 2])
def test_large_results(threads):
    x, y = np.random.default_rng(0).normal(size=(2, COUNT)).astype(np.float32)
    rows = x[: 2005 * 2091].reshape(2005, 2091)  # rows begin at any address
    unaligned = np.empty(COUNT + 1, np.float32)[1:]
    with phlox.config(num_threads=threads):
        for function, arguments in (
            (lambda x, y: (2 * x + y, x > y), (x, y)),
            (lambda x, y: x + 1j * y, (x, y)),
            (lambda x, y: x - y.max(), (x.astype(np.float16), y[::2].astype(np.float16))),
            (lambda x: (x * x[0], x[::-1, ::-1] + x[:, :1]), (rows,)),
            (lambda x: np.concatenate([x, -x[:, :7]], axis=1), (rows,)),
        ):
            found, expected = jit(function)(*arguments), function(*arguments)
            for one, other in zip(*((value if isinstance(value, tuple) else (value,)) for value in (found, expected))):
                assert one.dtype == other.dtype
                assert np.array_equal(one, other)
        jit(lambda x, out: np.multiply(x, 2, out=out))(x, unaligned)
    assert np.array_equal(unaligned[:COUNT], 2 * x)


@x86
@pytest.mark.parametrize("sample", one_in(8, SAMPLES))
def test_nests_that_stream_all_of_their_results(sample, monkeypatch):
    monkeypatch.setattr(loop, "_STREAMED_BYTES", 0)
    module = sample.module
    random = np.random.default_rng(0)
    arguments = [whole_numbers(parameter.shape, random) for parameter in module.entry.parameters]
    found = CpuBackend(host_target()).compile(module)(*arguments)
    for one, other in zip(found, get_backend("reference").compile(module)(*arguments), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        largest = np.abs(other[np.isfinite(other)]).max(initial=0) if other.dtype.kind in "fcV" else 0
        np.testing.assert_allclose(one, other, rtol=0, atol=2 * sample.tolerance * largest)
