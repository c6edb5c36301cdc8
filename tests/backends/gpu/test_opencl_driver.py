"""The OpenCL driver on a device: Intel's runtime for processors, where nothing else is installed."""

import ctypes
import os
import subprocess
import sys
import threading

import numpy as np
import phlox
import pytest
from opencl_device import REVERSE, REVERSE_DYNAMIC, WAIT, opencl_driver, spirv
from phlox.backends.gpu.drivers.opencl import OpenCLDriver
from phlox.backends.gpu.errors import DeviceCodeError, DeviceError, DeviceOutOfMemoryError, ForkedDeviceError, SharedMemoryError

X = np.arange(640, dtype=np.float32)


@pytest.fixture(scope="module", params=["usm", "svm"])
def device(request):
    """By both ways in which memory has addresses, where there are both."""
    default = opencl_driver().open(0)
    if default.pointers.kind == request.param:
        return default
    if request.param == "usm":
        pytest.skip("the device has no unified shared memory")
    return OpenCLDriver("svm").open(0)


@pytest.fixture(scope="module")
def reverse(device):
    return device.load(spirv(REVERSE)).kernel("reverse")


def write(device, address, array):
    device.write(address, array.ctypes.data, array.nbytes)


def read(device, address, shape=X.shape, dtype=X.dtype):
    array = np.empty(shape, dtype)
    device.read(array.ctypes.data, address, array.nbytes)
    return array


@pytest.fixture
def addresses(device):
    found = [device.allocate(X.nbytes) for _ in range(2)]
    yield found
    for address in found:
        device.free(address)


def test_properties():
    driver = opencl_driver()
    properties = driver.devices()[0]
    assert properties.name and properties.driver and properties.architecture == ""
    assert min(properties.memory_bytes, properties.compute_units, properties.sub_group, properties.threads) > 0
    assert properties.shared_bytes >= 1 << 15  # what OpenCL requires
    assert driver.open(0) is driver.open(0)
    with pytest.raises(DeviceError, match="number 99 is asked for"):
        driver.open(99)


def test_a_kernel_with_local_memory_and_barriers(device, reverse, addresses):
    write(device, addresses[0], X)
    device.launch(reverse, (10, 1, 1), (64, 1, 1), addresses)
    np.testing.assert_array_equal(read(device, addresses[1]).reshape(10, 64), X.reshape(10, 64)[:, ::-1])


def test_arguments_may_point_inside_of_what_was_allocated(device, reverse, addresses):
    write(device, addresses[0], X)
    device.fill(addresses[1], 0, X.nbytes)
    device.launch(reverse, (1, 1, 1), (64, 1, 1), [addresses[0] + 64 * 4, addresses[1] + 8 * 4])
    expected = np.zeros_like(X)
    expected[8:72] = X[64:128][::-1]
    np.testing.assert_array_equal(read(device, addresses[1]), expected)


def test_local_memory_that_the_launch_asks_for(device, addresses):
    kernel = device.load(spirv(REVERSE_DYNAMIC)).kernel("reverse")
    write(device, addresses[0], X)
    device.launch(kernel, (10, 1, 1), (64, 1, 1), addresses, 256)
    np.testing.assert_array_equal(read(device, addresses[1]).reshape(10, 64), X.reshape(10, 64)[:, ::-1])
    with pytest.raises(SharedMemoryError, match="with 1,073,741,824 bytes of shared memory"):
        device.launch(kernel, (10, 1, 1), (64, 1, 1), addresses, 1 << 30)


def test_all_is_done_in_order(device, reverse, addresses):
    write(device, addresses[0], X)
    for _ in range(101):  # back and forth
        device.launch(reverse, (10, 1, 1), (64, 1, 1), addresses)
        device.copy(addresses[0], addresses[1], X.nbytes)
    device.fill(addresses[0], 0xFF, 8)
    device.synchronize()
    found = read(device, addresses[0])
    assert np.isnan(found[:2]).all()
    np.testing.assert_array_equal(found[2:64], X[:62][::-1])


def test_the_host_may_change_what_was_written(device, addresses):
    array = X.copy()
    write(device, addresses[0], array)
    array[...] = -1
    np.testing.assert_array_equal(read(device, addresses[0]), X)


def test_memory_is_aligned_and_nothing_may_be_copied(device):
    found = [device.allocate(size) for size in (1, 0, 1000, 5)]
    assert all(address and address % 256 == 0 for address in found) and len(set(found)) == 4
    device.copy(found[0], found[1], 0)
    device.fill(found[1], 0, 0)
    device.write(found[1], 0, 0)
    device.read(0, found[1], 0)
    for address in found:
        device.free(address)


@pytest.mark.parametrize("size", [1 << 47, 1 << 62])
def test_out_of_memory_names_the_sizes(device, size):
    with pytest.raises(DeviceOutOfMemoryError, match=f"{size:,} bytes asked for; the device has [0-9,]+ bytes in all"):
        device.allocate(size)
    device.free(device.allocate(1000))


def test_bad_code_is_refused(device):
    for code in (b"", b"nonsense", spirv(REVERSE)[:40]):
        with pytest.raises(DeviceCodeError, match="does not take code: CL_"):
            device.load(code)
    with pytest.raises(DeviceCodeError, match=r"no kernel 'other' .* it has reverse"):
        device.load(spirv(REVERSE)).kernel("other")


def test_launches_that_cannot_be(device, reverse, addresses):
    with pytest.raises(DeviceCodeError, match=r"the kernel reverse in blocks of \(1048576, 1, 1\) threads"):
        device.launch(reverse, (1, 1, 1), (1 << 20, 1, 1), addresses)
    with pytest.raises(DeviceCodeError, match="reverse takes 2 arguments, 1 were given"):
        device.launch(reverse, (1, 1, 1), (64, 1, 1), addresses[:1])


def test_threads_share_a_device_and_a_kernel(device, reverse):
    failed = []

    def work(number):
        x = X + number
        here = [device.allocate(x.nbytes) for _ in range(2)]
        for _ in range(20):
            write(device, here[0], x)
            device.launch(reverse, (10, 1, 1), (64, 1, 1), here)
            if not np.array_equal(read(device, here[1]).reshape(10, 64), x.reshape(10, 64)[:, ::-1]):
                failed.append(number)
        for address in here:
            device.free(address)

    threads = [threading.Thread(target=work, args=(1000 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_is_refused(device, addresses):
    write(device, addresses[0], X)
    end, other_end = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            refused = []
            uses = [device.synchronize, lambda: device.allocate(4), lambda: opencl_driver().open(0), OpenCLDriver]
            for use in uses:
                try:
                    use()
                except ForkedDeviceError as error:
                    refused.append("before this process was forked off" in str(error))
            device.free(addresses[1])  # as finalizers do
            os.write(other_end, b"refused" if refused == [True] * 4 else b"not refused")
        finally:
            os._exit(0)
    os.waitpid(process, 0)
    assert os.read(end, 100) == b"refused"
    os.close(end), os.close(other_end)
    np.testing.assert_array_equal(read(device, addresses[0]), X)


ENDLESS = f"""
import ctypes, os, sys, time
import phlox
sys.path[:0] = {[path for path in sys.path if path.endswith(("support", "tests"))]!r}
from opencl_device import WAIT, opencl_driver, spirv
from phlox.backends.gpu.errors import DeviceLostError, KernelTimeoutError

device = opencl_driver().open(0)
kernel, flag = device.load(spirv(WAIT)).kernel("wait"), device.allocate(4)
device.fill(flag, 0, 4)
device.synchronize()
phlox.config(kernel_seconds=0.05)
device.launch(kernel, (1, 1, 1), (1, 1, 1), [flag])
begin = time.monotonic()
for wait, error in ((device.synchronize, KernelTimeoutError), (device.synchronize, DeviceLostError)):
    try:
        wait()
    except error as found:
        print(found)
assert time.monotonic() - begin < 10
os._exit(0)
"""


def test_a_kernel_that_never_ends():
    """In a process of its own, since the kernel goes on."""
    opencl_driver()
    found = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    first, second = found.stdout.splitlines()
    assert "for longer than the time limit of 0.05 s" in first and "cannot be used any more" in second


def test_a_time_limit_that_is_kept(device, addresses):
    kernel = device.load(spirv(WAIT)).kernel("wait")
    one = ctypes.c_int32(1)
    with phlox.config(kernel_seconds=60):
        device.write(addresses[0], ctypes.addressof(one), 4)
        device.launch(kernel, (1, 1, 1), (1, 1, 1), addresses[:1])
        device.synchronize()
        assert read(device, addresses[0], (), np.int32) == 1
