"""The kernels of OpenCL devices that are processors: the CPU backend's nests, a piece a block."""

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox.backends.cpu import region_functions
from phlox.backends.cpu.nest_samples import SAMPLES
from phlox.backends.registry import get_backend
from sample_values import whole_numbers
from thinning import one_in

# LAPACK's are the host's, and selections whose size is found at run time are scatters there.
ELSEWHERE = {"small_solve", "compaction"}
NESTS = [sample for sample in SAMPLES if sample.nest.__module__.rpartition(".")[2] not in ELSEWHERE]


@pytest.fixture
def backend():
    return processor_backend()


def assert_as_the_reference(backend, sample):
    random, module = np.random.default_rng(0), sample.module
    arguments = [whole_numbers(parameter.shape, random) for parameter in module.entry.parameters]
    found, expected = backend.compile(module)(*arguments), get_backend("reference").compile(module)(*arguments)
    for one, other in zip(found, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape
        largest = np.abs(other[np.isfinite(other)]).max(initial=0)
        np.testing.assert_allclose(one, other, rtol=0, atol=sample.tolerance * largest)


@pytest.mark.parametrize("sample", one_in(8, NESTS), ids=lambda sample: sample.nest.__qualname__)
def test_nest(backend, sample):
    assert_as_the_reference(backend, sample)


@pytest.mark.parametrize("sample", one_in(8, NESTS[::-1]), ids=lambda sample: sample.nest.__qualname__)
def test_nest_in_pieces(backend, sample, monkeypatch):
    """However little it does."""
    monkeypatch.setattr(region_functions, "_LEAST_NANOSECONDS", 1)
    assert_as_the_reference(backend, sample)
