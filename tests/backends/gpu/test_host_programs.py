"""Small programs on arrays of the host, where that is the device: they run as the CPU backend compiles them."""

import numpy as np
import phlox
import pytest
from gpu_backends import processor_backend
from phlox import device_put, jit
from phlox.backends.cpu.call import unsupported_reason
from phlox.backends.gpu.backend import GpuBackend
from phlox.backends.gpu.errors import DeviceLostError
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


def test_arrays_on_the_device_need_no_kernels(backend):
    """Where nothing else is asked of it; also those that the function changes, be it in their memory or in another."""
    compiled, x, expected = jit(changed, backend="opencl"), device_put(X, "opencl"), X.copy()
    for _ in range(3):
        kept = x.copy()
        before = np.asarray(kept)
        assert int(compiled(x)) == changed(expected)
        np.testing.assert_array_equal(np.asarray(x), expected)
        np.testing.assert_array_equal(np.asarray(kept), before)
    given = X.copy()
    assert compiled(given) == changed(X.copy())  # by the same code
    assert [vars(one.executable).get("on_device") for one in compiled._forms.entries] == [None]
    executable, buffers = executable_of(changed, X), [backend.memory.share(X)]
    for given_up in ((), (), (0,)):
        np.testing.assert_array_equal(backend.memory.read(buffers[0]), X)
        found = executable.execute(buffers, given_up)
        contents = [backend.memory.read(one) for one in found]
        np.testing.assert_array_equal(*[one for one in contents if one.ndim], np.concatenate([X[:1], X[1:] + X[0]]))
        assert (buffers[0].address in [one.address for one in found]) is bool(given_up)
    assert "on_device" not in vars(executable)
    with pytest.raises(TypeError, match="takes 1 arrays, 2 given"):
        executable.execute(buffers * 2)


def several(x):
    table = np.sin(x.reshape(5, 10)) * x[:10] + x[0]
    found = np.exp(x), np.sqrt(np.abs(x)).cumsum(), table.sum(axis=0), table.var(axis=1), np.tanh(x).sum(), np.fft.fft(x)
    return *found, np.linalg.inv(np.diag(x + 2)), np.sort(x * 7 % 3), np.arctan2(x, x[::-1]) ** 3


def test_behind_kernels_arrays_on_the_device_are_given_to_kernels(backend):
    """Whose results are the same to the last bit, as they are with a limit on the time of kernels."""
    executable = executable_of(several, X)
    buffers = [backend.memory.share(X)]
    contents = lambda found: [backend.memory.read(one).tobytes() for one in found]  # noqa: E731
    of_host = contents(executable.execute(buffers))
    assert "on_device" not in vars(executable)
    backend.device.asked.more()
    found = executable.execute(buffers)
    assert "on_device" in vars(executable)
    assert contents(found) == of_host


def test_programs_on_a_lost_device(backend, monkeypatch):
    executable, buffers = executable_of(lambda x: x + 1, X), [backend.memory.share(X)]
    monkeypatch.setattr(backend.device, "_lost", "it is gone")
    with pytest.raises(DeviceLostError, match="it is gone"):
        executable.execute(buffers)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x + 1, True),
        (np.linalg.inv, True),
        (scaled, False),
        (lambda x: x @ x, False),
        (lambda x: phlox.host_call(np.square, np.ndarray(x.shape, x.dtype), x), False),
        (lambda x: x[x > 0], False),
    ],
    ids=["one operation", "LAPACK's", "a loop of any length", "a sum of products", "Python", "sizes that are found"],
)
def test_what_the_thread_that_asks_runs(backend, function, expected):
    arguments = (X, 2.0) if function is scaled else (np.eye(30) + 1 if function is np.linalg.inv else X,)
    executable = executable_of(function, *map(np.asarray, arguments))
    assert (executable._runs is not None) is expected
    found = executable.execute([backend.memory.share(np.asarray(one)) for one in arguments])
    results = function(*arguments)
    np.testing.assert_allclose(backend.memory.read(found[0]), results[0] if function is scaled else results, rtol=1e-12)


def test_errors_of_programs_with_arrays_on_the_device(backend):
    compiled = jit(np.linalg.cholesky, backend="opencl")
    np.testing.assert_allclose(np.asarray(compiled(device_put(np.eye(3) * 4, "opencl"))), np.eye(3) * 2)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            compiled(device_put(-np.eye(3), "opencl"))


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
