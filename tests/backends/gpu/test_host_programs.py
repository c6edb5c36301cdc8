"""Small programs on arrays of the host, where that is the device: they run as the CPU backend compiles them."""

import numpy as np
import phlox
import pytest
from gpu_backends import processor_backend
from phlox import device_put, jit
from phlox.backends.cpu.call import unsupported_reason
from phlox.backends.gpu.backend import GpuBackend
from phlox.backends.gpu.executable import GpuExecutable
from phlox.backends.gpu.host_programs import HostExecutable, is_for_the_host
from phlox.backends.registry import in_place_of
from phlox.runtime.kernel_time import kernel_time
from thinning import left_to_ci

X = np.linspace(-1, 2, 50)


@pytest.fixture
def backend():
    on_device = processor_backend()
    backend = GpuBackend("opencl", on_device.device, on_device.target, has_host=True)
    with in_place_of("opencl", backend):
        yield backend


def scaled(x, factor):
    while np.abs(x).max() < 100:
        x = x * factor
    return x, x.sum()


def changed(x):
    x[1:] += x[0]
    return x.argmax()


def module_of(function, *arguments):
    return phlox.hlo.parse_module(jit(function).lower(*arguments).as_text())


def executable_of(function, *arguments):
    return jit(function, backend="opencl").compile(*arguments).executable


def test_arrays_of_the_host_need_no_kernels(backend):
    compiled = jit(scaled, backend="opencl")
    for factor in (2.0, 3.0):
        found, expected = compiled(X, factor), scaled(X, factor)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[1], expected[1])
    if unsupported_reason() is None:
        assert "called natively" in str(compiled.cache_info())
    (specialization,) = compiled._forms.entries
    assert isinstance(specialization.executable, HostExecutable) and "on_device" not in vars(specialization.executable)


@left_to_ci
def test_arrays_on_the_device_need_nothing_else(backend):
    compiled, x = jit(changed, backend="opencl"), device_put(X, "opencl")
    expected = X.copy()
    assert int(compiled(x)) == changed(expected)
    np.testing.assert_array_equal(np.asarray(x), expected)
    given = X.copy()
    assert compiled(given) == changed(X.copy())  # by the same code
    np.testing.assert_array_equal(given, expected)


@left_to_ci
def test_arrays_on_the_device_behind_those_of_the_host(backend):
    compiled = jit(changed, backend="opencl")
    given, x, expected = X.copy(), device_put(X, "opencl"), X.copy()
    assert compiled(given) == int(compiled(x)) == changed(expected)
    np.testing.assert_array_equal(given, expected)
    np.testing.assert_array_equal(np.asarray(x), expected)


@left_to_ci
def test_sizes_that_the_program_finds(backend):
    compiled = jit(lambda x: x[x > 0], backend="opencl")
    for x in (X, -X):
        np.testing.assert_array_equal(compiled(x), x[x > 0])
        np.testing.assert_array_equal(np.asarray(compiled(device_put(x, "opencl"))), x[x > 0])


@left_to_ci
def test_a_limit_on_the_time_of_kernels(backend, monkeypatch):
    """It is one that only kernels can be held to."""
    compiled, expected = jit(scaled, backend="opencl"), scaled(X, 2.0)
    compiled(X, 2.0)
    monkeypatch.setattr(kernel_time, "seconds", 60.0)
    np.testing.assert_array_equal(compiled(X, 2.0)[0], expected[0])
    executable = executable_of(scaled, X, 2.0)
    np.testing.assert_array_equal(executable(X, np.float64(2))[0], expected[0])
    assert "on_device" in vars(executable)
    monkeypatch.setattr(kernel_time, "seconds", None)
    np.testing.assert_array_equal(compiled(X, 2.0)[0], expected[0])


def counted(x):
    for _ in range(10**6):
        x = x * 0.5 + 1
    return x


def counted_behind(x):
    return counted((x + 1)[:10])


def summed(x):
    for _ in range(3):
        x = np.exp(x).sum() * x
    return x


@pytest.mark.parametrize(
    ("function", "size", "expected"),
    [
        (counted, 10, True),
        (counted_behind, 10**6, True),
        (summed, 10, True),
        (summed, 10**6, False),
        (lambda x: x + 1, 10**6, False),
        (lambda x: x[x > 0], 10**6, True),
    ],
    ids=["many short rounds", "and a large array", "few short rounds", "long rounds", "a large array", "sizes that are found"],
)
def test_which_programs_these_are(function, size, expected):
    assert is_for_the_host(module_of(function, np.ones(size))) == expected


def test_kernels_of_users_are_for_the_device():
    own = phlox.gpu.kernel("own", result=lambda x: x, grid=1, block=1, llvm="define void @own(ptr %x, ptr %y) {\n ret void\n}")
    assert not is_for_the_host(module_of(lambda x: own(x + 1), X))


@left_to_ci
def test_large_programs_are_kernels(backend):
    assert isinstance(executable_of(lambda x: x + 1, np.ones(10**6)), GpuExecutable)
