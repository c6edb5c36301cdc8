"""The drivers of CUDA and HIP, with a library whose device is the host."""

import ctypes
import sys

import numpy as np
import phlox
import pytest
from host_as_device import CUDA_EXTRA, HIP_EXTRA, ILLEGAL_ADDRESS, NOT_READY, SUCCESS, HostAsDevice
from phlox.backends.gpu.drivers.cuda import CUDA, CudaDriver
from phlox.backends.gpu.drivers.hip import HIP, HipDriver
from phlox.backends.gpu.errors import (
    DeviceCodeError,
    DeviceError,
    DeviceLostError,
    DeviceOutOfMemoryError,
    DriverTooOldError,
    DriverUnavailableError,
    KernelTimeoutError,
    SharedMemoryError,
)
from phlox.backends.gpu.native_run import NativeRun
from phlox.backends.gpu.plan import Launch, Place, Plan


@pytest.fixture(params=["cuda", "hip"])
def library(request):
    return HostAsDevice(CUDA, CUDA_EXTRA) if request.param == "cuda" else HostAsDevice(HIP, HIP_EXTRA)


@pytest.fixture
def driver(library):
    return CudaDriver(library) if hasattr(library, "cuInit") else HipDriver(library)


@pytest.fixture
def device(driver):
    return driver.open(0)


def add(sizes, x, y, out):
    """One thread an element."""
    count = int(np.prod(sizes))
    arrays = [np.ctypeslib.as_array(ctypes.cast(one, ctypes.POINTER(ctypes.c_float)), (count,)) for one in (x, y, out)]
    np.add(arrays[0], arrays[1], out=arrays[2])


def test_properties(driver):
    (properties,) = driver.devices()
    assert properties.name == "the host" and properties.memory_bytes == 1 << 26 and properties.threads == 1024
    assert properties.architecture == ("sm_90" if driver.name == "cuda" else "gfx90a:sramecc+:xnack-")
    assert driver.open(0) is driver.open(0)
    with pytest.raises(DeviceError, match="1 devices, number 1 is asked for"):
        driver.open(1)


def test_a_kernel_runs_on_what_was_written(library, device):
    library.kernels["add"] = add
    x, y = np.arange(64, dtype=np.float32), np.full(64, 2, np.float32)
    addresses = [device.allocate(256) for _ in range(3)]
    for address, array in zip(addresses, (x, y)):
        assert address % 256 == 0
        device.write(address, array.ctypes.data, 256)
    device.launch(device.load(b"code").kernel("add"), (2, 1, 1), (32, 1, 1), addresses)
    out = np.empty_like(x)
    device.read(out.ctypes.data, addresses[2], 256)
    np.testing.assert_array_equal(out, x + y)
    device.fill(addresses[0], 1, 128)
    device.copy(addresses[1], addresses[0], 256)
    device.read(out.ctypes.data, addresses[1], 256)
    np.testing.assert_array_equal(out[:32].view(np.uint32), 0x01010101)
    np.testing.assert_array_equal(out[32:], x[32:])
    for address in addresses:
        device.free(address)
    assert not library.memory


def test_memory_is_not_freed_before_what_uses_it_has_run(library, device):
    address = device.allocate(256)
    library.calls.clear()
    device.free(address)
    names = [name for name in library.calls if "Stream" in name or "Free" in name]
    assert [name.removeprefix("cu").removeprefix("hip") for name in names][0] == "StreamSynchronize" and len(names) == 2


def test_out_of_memory_names_the_sizes(device):
    device.allocate(1 << 20)
    with pytest.raises(DeviceOutOfMemoryError, match="67,108,864 bytes asked for, 66,060,288 are free of 67,108,864 in all"):
        device.allocate(1 << 26)
    device.allocate(256)


def test_refused_code_says_why(library, device):
    library.refuse = b"ptxas error: unsupported .version"
    with pytest.raises(DeviceCodeError, match="the host .* does not take code: status 218") as caught:
        device.load(b"code")
    assert "driver for" in str(caught.value)
    assert ("unsupported .version" in str(caught.value)) == hasattr(library, "cuInit")
    library.refusal = 222  # of PTX of a later version
    with pytest.raises(DriverTooOldError, match="the host .*driver for .* does not take code: status 222"):
        device.load(b"code")
    library.refuse = None
    with pytest.raises(DeviceCodeError, match="no kernel 'other'"):
        device.load(b"code").kernel("other")


@pytest.mark.parametrize("version, knows, allowed", [(12_080, True, [None]), (13_000, True, [3]), (13_000, False, [3, None])])
def test_code_is_compiled_in_threads_where_the_driver_can(monkeypatch, version, knows, allowed):
    monkeypatch.setattr("phlox.backends.gpu.drivers.cuda.thread_limit", lambda: ctypes.c_int64(3))
    library = HostAsDevice(CUDA, CUDA_EXTRA)
    library.version, library.knows_threads = version, knows
    device = CudaDriver(library).open(0)
    device.load(b"code")
    assert library.loaded == [b"code"] and library.threads == allowed


def test_more_than_the_device_has_is_refused(library, device):
    library.kernels["add"] = add
    kernel = device.load(b"code").kernel("add")
    addresses = [device.allocate(1 << 14) for _ in range(3)]
    with pytest.raises(DeviceCodeError, match=r"the kernel add in blocks of \(2048, 1, 1\) threads"):
        device.launch(kernel, (1, 1, 1), (2048, 1, 1), addresses)
    with pytest.raises(SharedMemoryError, match="with 1,048,576 bytes of shared memory"):
        device.launch(kernel, (1, 1, 1), (32, 1, 1), addresses, 1 << 20)
    device.launch(kernel, (1, 1, 1), (32, 1, 1), addresses)


def test_large_shared_memory_is_asked_for_once():
    library = HostAsDevice(CUDA, CUDA_EXTRA)
    library.kernels["add"] = add
    device = CudaDriver(library).open(0)
    kernel, addresses = device.load(b"code").kernel("add"), [device.allocate(256) for _ in range(3)]
    for size in (1 << 10, 100 << 10, 60 << 10):
        device.launch(kernel, (1, 1, 1), (32, 1, 1), addresses, size)
    assert library.calls.count("cuFuncSetAttribute") == 1


def test_an_illegal_address_surfaces_where_it_is_waited_for_and_stays(library, device):
    address = device.allocate(256)
    library.stream_status = ILLEGAL_ADDRESS
    with pytest.raises(DeviceLostError, match="waiting on the host: status 700.*a kernel accessed memory that is not there"):
        device.synchronize()
    library.stream_status = SUCCESS
    for use in (device.synchronize, lambda: device.allocate(1), lambda: device.fill(address, 0, 1)):
        with pytest.raises(DeviceLostError, match="cannot be used any more in this process: a kernel accessed memory"):
            use()
    device.free(address)  # buffers end quietly


def test_kernels_may_run_as_long_as_the_user_says(library, device):
    address, host = device.allocate(256), np.empty(256, np.uint8)
    with phlox.config(kernel_seconds=0.01):
        device.synchronize()
    library.stream_status = NOT_READY
    message = "the host for longer than the time limit of 0.01 s"
    with phlox.config(kernel_seconds=0.01), pytest.raises(KernelTimeoutError, match=message):
        device.read(host.ctypes.data, address, 256)
    with pytest.raises(DeviceLostError, match="for longer than the time limit"):
        device.synchronize()


def test_code_is_unloaded_when_nothing_refers_to_it(library, device):
    library.kernels["add"] = add
    kernel = device.load(b"code").kernel("add")
    unload = "cuModuleUnload" if hasattr(library, "cuInit") else "hipModuleUnload"
    assert unload not in library.calls
    del kernel
    assert library.calls.count(unload) == 1


def test_what_code_was_loaded_from_lives_as_long(library, device):
    """HIP's loader keeps the address."""
    library.kernels["add"] = add
    code = bytes(bytearray(b"\x7fELF" + 1000 * b"a"))
    before = sys.getrefcount(code)
    loaded = device.load(code)
    is_hip = not hasattr(library, "cuInit")
    assert sys.getrefcount(code) == before + is_hip
    del loaded
    assert sys.getrefcount(code) == before


@pytest.mark.parametrize("status, error", [(300, DeviceCodeError), (209, DeviceCodeError), (220, DeviceLostError)])
def test_what_a_driver_says_of_code(library, device, status, error):
    library.refuse, library.refusal = b"", status
    with pytest.raises(error):
        device.load(b"code")


def test_blocks_larger_than_a_kernel_is_made_for_lose_no_device(library, device):
    """HIP refuses the launch by the status of kernels that have failed."""
    library.kernels["add"] = add
    kernel, addresses = device.load(b"code").kernel("add"), [device.allocate(256) for _ in range(3)]
    library.refused_launch = 719
    error = DeviceLostError if hasattr(library, "cuInit") else DeviceCodeError
    with pytest.raises(error, match="the kernel add"):
        device.launch(kernel, (1, 1, 1), (64, 1, 1), addresses)
    library.refused_launch = SUCCESS
    if error is DeviceCodeError:
        device.launch(kernel, (1, 1, 1), (64, 1, 1), addresses)


def test_a_driver_that_is_not_installed(monkeypatch):
    def missing(name):
        raise OSError(f"{name}: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(DriverUnavailableError, match="^no driver of CUDA is installed: libcuda.so.1 is not found$"):
        CudaDriver()

    def depends(name):
        raise OSError("libother.so: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(ctypes, "CDLL", depends)
    with pytest.raises(DriverUnavailableError, match="^no driver of HIP is installed: libother.so: cannot open"):
        HipDriver()


def test_a_driver_without_a_device_or_too_old_is_not_there(library):
    vendor, prefix = (CudaDriver, "cu") if hasattr(library, "cuInit") else (HipDriver, "hip")
    function = getattr(library, f"{prefix}Init")
    setattr(library, f"{prefix}Init", type(function)(lambda flags: 100))
    with pytest.raises(DriverUnavailableError, match="it finds no device"):
        vendor(library)
    delattr(library, f"{prefix}StreamQuery")
    with pytest.raises(DriverUnavailableError, match=f"too old: it has no function {prefix}StreamQuery"):
        vendor(library)


def test_the_context_of_the_thread_stays_as_it_was(library, device):
    """Libraries beside this one have their own current device."""
    others, own = 0x77, []

    def kernel(sizes, x):
        own.append(library.current)

    library.kernels["kernel"] = kernel
    library.current = others
    address, array = device.allocate(256), np.arange(64, dtype=np.float32)
    device.write(address, array.ctypes.data, 256)
    loaded = device.load(b"code").kernel("kernel")
    device.launch(loaded, (1, 1, 1), (1, 1, 1), [address])
    plan = Plan([Launch("kernel", (1, 1, 1), (1, 1, 1), (Place("argument", 0),))], 0, b"", 0)
    NativeRun(device, plan, {"kernel": loaded}, 1, 0)([address], [], 0, 0)
    device.read(array.ctypes.data, address, 256)
    device.synchronize()
    device.free(address)
    assert library.current == others and len(own) == 2 and others not in own
    # Where it is the device's already, nothing is entered.
    library.current = own[0]
    library.calls.clear()
    device.synchronize()
    assert not any("SetCurrent" in name or "SetDevice" in name for name in library.calls)


def test_small_arrays_are_written_without_waiting_until_the_ring_is_full(library, device):
    address, array = device.allocate(1 << 16), np.zeros(1 << 13, np.float64)
    library.calls.clear()
    for number in range(20):
        array[:] = number
        device.write(address, array.ctypes.data, array.nbytes)
    waits = [name for name in library.calls if name.endswith("StreamSynchronize")]
    assert len(waits) == 1
    found = np.empty_like(array)
    device.read(found.ctypes.data, address, found.nbytes)
    np.testing.assert_array_equal(found, array)


def test_errors_that_turn_up_later_name_what_was_launched_last(library, device):
    library.kernels["add"] = add
    kernels = {"add": device.load(b"code").kernel("add")}
    places = (Place("argument", 0), Place("argument", 0), Place("result", 0))
    addresses = [device.allocate(256) for _ in range(2)]
    steps = [Launch("add", (1, 1, 1), (1, 1, 1), places, 0, f"model.py:{line} in f") for line in (3, 4)]
    NativeRun(device, Plan(steps, 0, b"", 0), kernels, 1, 1)(addresses[:1], addresses[1:], 0, 0)
    library.stream_status = ILLEGAL_ADDRESS
    with pytest.raises(DeviceLostError, match=r"launched last: add \(model.py:3 in f\), add \(model.py:4 in f\)$"):
        device.synchronize()


def test_other_streams_are_brought_in_order(library, device):
    others = 0x1234
    device.wait_for(others)
    device.let_wait(others)
    assert library.in_order == [(others, device.stream), (device.stream, others)] and not library.events
    device.wait_for(device.stream)
    device.let_wait(device.stream)
    assert len(library.in_order) == 2
    assert not any(name.endswith("Synchronize") for name in library.calls)
    device.wait_for_others()
    assert {"cuCtxSynchronize", "hipDeviceSynchronize"} & {*library.calls}
