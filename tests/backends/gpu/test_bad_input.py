"""What goes wrong on devices, as callers of jitted functions see it: the process and the other backends go on."""

import math
import os
import subprocess
import sys

import numpy as np
import phlox
import pytest
from gpu_backends import DEVICES, backend_or_skip
from phlox.backends.device_memory import HOST_MEMORY, to_device
from phlox.backends.gpu.host_programs import HostExecutable
from phlox.gpu import DeviceError, ForkedDeviceError, HostArrayError, MixedDevicesError
from phlox.hlo import parse_module
from phlox.runtime.kernel_time import kernel_time, seconds_above_zero

ONE = np.ones(3, np.float32)


@pytest.mark.parametrize("name", DEVICES)
def test_arrays_of_two_devices(name):
    backend_or_skip(name)
    x, y = phlox.device_put(ONE, name), phlox.device_put(ONE, "cpu")
    with pytest.raises(MixedDevicesError, match=f"argument x is on {name}:0 and argument y on cpu:0"):
        phlox.jit(lambda x, y: x + y)(x, y)
    np.testing.assert_array_equal(x + x, [2, 2, 2])


@pytest.mark.parametrize("name", DEVICES)
def test_an_array_of_the_host_in_the_place_of_one_of_the_device(name):
    backend = backend_or_skip(name)
    executable = backend.compile(parse_module(phlox.jit(lambda x: x + 1).lower(ONE).as_text()))
    with pytest.raises(HostArrayError, match=f"argument 0: a buffer in the memory of {name}:0 is required, ndarray given"):
        executable.execute([ONE])
    with pytest.raises(HostArrayError, match="a buffer in the memory of"):
        executable.execute([to_device(HOST_MEMORY, ONE)])
    assert issubclass(HostArrayError, TypeError) and issubclass(HostArrayError, DeviceError)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_uses_the_processor_alone():
    backend_or_skip("opencl")
    f, on_processor = phlox.jit(lambda x: x + 1, backend="opencl"), phlox.jit(lambda x: x + 2, backend="cpu")
    np.testing.assert_array_equal(f(ONE), [2, 2, 2])
    array = phlox.device_put(ONE, "opencl")
    uses = [lambda: np.asarray(array), lambda: f(array), lambda: phlox.device_put(ONE, "opencl")]
    if not isinstance(f.compile(ONE).executable, HostExecutable):  # which a child may run
        uses.append(lambda: f(ONE))
    end, other_end = os.pipe()
    process = os.fork()
    if process == 0:
        found = []
        try:
            for use in uses:
                try:
                    use()
                except ForkedDeviceError as error:
                    found.append("before this process was forked off" in str(error))
            found.append(on_processor(ONE).tolist() == [3, 3, 3])
            uses.clear()
            del array
        finally:
            os.write(other_end, repr(found).encode())
            os._exit(0)
    os.waitpid(process, 0)
    assert os.read(end, 100) == repr([True] * (len(uses) + 1)).encode()
    os.close(end), os.close(other_end)
    np.testing.assert_array_equal(f(array), [2, 2, 2])


ENDLESS = """
import atexit, sys
import numpy as np
import phlox

wait = phlox.gpu.kernel("wait", result=lambda x: x, grid=1, block=1, llvm='''
define void @wait(ptr %flag, ptr %result) {
entry:
  br label %again
again:
  %value = load volatile i32, ptr %flag
  %stop = icmp ne i32 %value, 0
  br i1 %stop, label %end, label %again
end:
  store i32 %value, ptr %result
  ret void
}''')

def users_function(x):
    return wait(x)

x = phlox.device_put(np.zeros(1, np.int32), "opencl")
np.asarray(phlox.jit(users_function)(x + 1))
waited = phlox.jit(users_function)(x)
for use, error in ((lambda: np.asarray(waited), phlox.gpu.KernelTimeoutError), (lambda: x + 1, phlox.gpu.DeviceLostError)):
    try:
        use()
    except error as found:
        print(found)
print(phlox.jit(lambda x: x + 1, backend="cpu")(np.arange(3)))
atexit.register(lambda: print("the end"))
sys.exit(7)
"""


def test_a_kernel_that_never_ends():
    backend_or_skip("opencl")
    environment = {**os.environ, "PHLOX_KERNEL_SECONDS": "0.5"}
    done = subprocess.run([sys.executable, "-c", ENDLESS], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 7, done.stderr
    timeout, lost, result, end = done.stdout.splitlines()
    assert "for longer than the time limit of 0.5 s" in timeout and "wait" in timeout.partition("launched last")[2]
    assert "users_function" in timeout
    assert "cannot be used any more in this process" in lost
    assert (result, end) == ("[1 2 3]", "the end")


# --- how long kernels may take ---


def test_seconds_are_set_for_a_while():
    before = phlox.config().kernel_seconds
    with phlox.config(kernel_seconds=2) as config:
        assert config.kernel_seconds == phlox.config().kernel_seconds == kernel_time.seconds == 2
        with phlox.config(kernel_seconds=math.inf):
            assert kernel_time.seconds is None and phlox.config().kernel_seconds == math.inf
        assert kernel_time.seconds == 2
    assert phlox.config().kernel_seconds == before


@pytest.mark.parametrize(
    ("given", "error"), [(0, ValueError), (-1.5, ValueError), (math.nan, ValueError), ("x", ValueError), ([], TypeError)]
)
def test_what_is_no_number_of_seconds(given, error):
    with pytest.raises(error, match="kernel_seconds requires a number of seconds"):
        phlox.config(kernel_seconds=given)
    with pytest.raises(error, match="PHLOX_KERNEL_SECONDS requires"):
        seconds_above_zero(given, "PHLOX_KERNEL_SECONDS")
