"""Plans that native code runs, beside the same plans step by step; and what happens where a step fails."""

import ctypes
import os
import threading

import numpy as np
import phlox
import pytest
from host_as_device import CUDA_EXTRA, ILLEGAL_ADDRESS, HostAsDevice
from hypothesis import given, settings
from hypothesis import strategies as st
from opencl_device import REVERSE, opencl_driver, spirv
from phlox.backends.device_memory import HOST_MEMORY, to_device
from phlox.backends.gpu import native_run
from phlox.backends.gpu.drivers.cuda import CUDA, CudaDriver
from phlox.backends.gpu.errors import DeviceCodeError, DeviceLostError, DeviceOutOfMemoryError, ForkedDeviceError
from phlox.backends.gpu.native_run import NativeRun
from phlox.backends.gpu.plan import Conditional, Copy, Fill, HostCall, Launch, Place, Plan, Point, While
from phlox.backends.gpu.plan_code import encode
from phlox.backends.registry import get_backend
from phlox.hlo import F32, Layout, Shape, parse_module
from run_by_steps import Run
from signals import Interrupt, interrupt

ELEMENTS = 64  # of each array
COUNTER = 160  # where it lies in the temporary memory
ONE_THREAD = ((1, 1, 1), (1, 1, 1))


def i32_at(address):
    return ctypes.c_int32.from_address(address)


def add(sizes, x, y):
    i32_at(y).value = (i32_at(x).value * 3 + i32_at(y).value + sizes[0] * 7 + sizes[4]) % 1000


def count_down(sizes, counter, predicate):
    """The predicate is true twice in three times, and never once the counter is at 0: all loops end, also inside of others."""
    value = i32_at(counter).value
    ctypes.c_uint8.from_address(predicate).value = value > 0 and value % 3 > 0
    i32_at(counter).value = value - 1


class OnHost:
    """Arguments, results, constants and temporaries of a device that is the host."""

    def __init__(self, kernels=(add, count_down)):
        self.library = HostAsDevice(CUDA, CUDA_EXTRA)
        self.library.kernels |= {kernel.__name__: kernel for kernel in kernels}
        self.device = CudaDriver(self.library).open(0)
        code = self.device.load(b"code")
        self.kernels = {name: code.kernel(name) for name in self.library.kernels}
        self.addresses = [self.device.allocate(ELEMENTS * 4) for _ in range(6)]
        initial = np.arange(ELEMENTS * 6, dtype=np.int32)
        for number, address in enumerate(self.addresses):
            part = initial[ELEMENTS * number : ELEMENTS * (number + 1)].copy()
            self.device.write(address, part.ctypes.data, part.nbytes)
        i32_at(self.addresses[5] + COUNTER).value = 20

    @property
    def places(self):
        a = self.addresses
        return a[:2], a[2:4], a[4], a[5]

    def contents(self):
        return [ctypes.string_at(address, ELEMENTS * 4) for address in self.addresses]


PLACES = st.builds(
    Place, st.sampled_from(["argument", "result", "moving"]), st.integers(0, 1)
) | st.builds(Place, st.sampled_from(["constant", "temporary"]), st.sampled_from([0, 16, 48]))  # fmt: skip
WRITTEN = st.builds(Place, st.just("result"), st.integers(0, 1)) | st.builds(
    Place, st.just("temporary"), st.sampled_from([0, 16, 48])
)
(NEGATE,) = [
    one for one in parse_module("HloModule m\nENTRY e { x = s32[2] parameter(0) ROOT y = s32[2] negate(x) }").entry.instructions
    if one.opcode == "negate"
]  # fmt: skip


def launch(*places):
    return Launch("add", (3, 1, 1), (1, 2, 1), places)


LEAVES = st.one_of(
    st.builds(launch, PLACES, WRITTEN),
    st.builds(Copy, WRITTEN, st.builds(Place, st.just("argument"), st.integers(0, 1)), st.sampled_from([0, 4, 16])),
    st.builds(Fill, WRITTEN, st.integers(0, 255), st.sampled_from([0, 1, 9])),
    st.builds(lambda x, y: HostCall(NEGATE, (x,), (y,)), PLACES, WRITTEN),
    st.builds(lambda x, y: Point((0, 1), (x, y)), PLACES, PLACES),
)


def nested(steps):
    lists = st.lists(steps, max_size=3)
    counted = st.builds(lambda body, trips: While(body, trips=trips), lists, st.integers(0, 3))
    predicate, counter = Place("temporary", 128), Place("temporary", COUNTER)
    step = Launch("count_down", *ONE_THREAD, (counter, predicate))
    # The last step decides, so that it ends whatever the others do.
    tested = st.builds(lambda body: While([*body, step], predicate=predicate), lists)
    chosen = st.builds(Conditional, WRITTEN, st.booleans(), st.lists(lists, min_size=2, max_size=2))
    many = st.builds(Conditional, WRITTEN, st.just(False), st.lists(lists, min_size=1, max_size=4))
    return st.one_of(counted, tested, chosen, many)


STEPS = st.lists(st.recursive(LEAVES, nested, max_leaves=8), max_size=6)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.booleans())
def test_as_step_by_step(steps, limited):
    steps = [Point((0, 1), (Place("argument", 0), Place("temporary", 0))), *steps]
    plan = Plan(steps, ELEMENTS, b"", moving=2)
    native, by_steps = OnHost(), OnHost()
    for one in (native, by_steps):
        one.library.calls.clear()
    Run(by_steps.device, plan, by_steps.kernels, *by_steps.places).run(steps)
    with phlox.config(kernel_seconds=60 if limited else None):
        NativeRun(native.device, plan, native.kernels, 2, 2)(*native.places)
    assert native.contents() == by_steps.contents()
    launched = [[name for name in one.library.calls if name == "cuLaunchKernel"] for one in (native, by_steps)]
    assert launched[0] == launched[1]


def test_there_is_room_for_the_places_of_a_step():
    """Of a copy, too, where the plan has nothing else."""
    steps = [Copy(Place("result", 0), Place("argument", 0), 4)]
    assert encode(Plan(steps, 0, b"", 0), 1, 1, lambda launch: (0, 1)).most_places == 2


def test_errors_are_those_of_the_driver():
    host = OnHost()
    too_many = Plan([Launch("add", (1, 1, 1), (2048, 1, 1), (Place("argument", 0), Place("result", 0)))], 0, b"", 0)
    with pytest.raises(DeviceCodeError, match=r"the kernel add in blocks of \(2048, 1, 1\) threads"):
        NativeRun(host.device, too_many, host.kernels, 2, 2)(*host.places)
    after = Fill(Place("result", 0), 9, 4)
    reads = Plan([While([], predicate=Place("temporary", 0)), after], 0, b"", 0)
    host.library.stream_status = ILLEGAL_ADDRESS
    before = host.contents()
    with pytest.raises(DeviceLostError, match="while temporary 0:.* status 700.* a kernel accessed memory that is not there"):
        NativeRun(host.device, reads, host.kernels, 2, 2)(*host.places)
    assert host.contents() == before  # no step came after that
    with pytest.raises(DeviceLostError, match="cannot be used any more"):
        NativeRun(host.device, Plan([after], 0, b"", 0), host.kernels, 2, 2)(*host.places)


def test_errors_of_the_host_come_through():
    host = OnHost()
    plan = Plan([HostCall(NEGATE, (Place("argument", 0),), (Place("result", 0),))], 0, b"", 0)
    run = NativeRun(host.device, plan, host.kernels, 2, 2)
    run(*host.places)
    assert i32_at(host.addresses[2] + 4).value == -1

    def fails(*arguments):
        raise ZeroDivisionError("from the host")

    host.device.read = fails
    with pytest.raises(ZeroDivisionError, match="from the host"):
        run(*host.places)


@pytest.fixture
def opencl():
    device = opencl_driver().open(0)
    addresses = [device.allocate(ELEMENTS * 4) for _ in range(4)]
    array = np.arange(ELEMENTS, dtype=np.float32)
    device.write(addresses[0], array.ctypes.data, array.nbytes)
    kernels = {"reverse": device.load(spirv(REVERSE)).kernel("reverse")}
    yield device, kernels, ([addresses[0]], [addresses[1]], addresses[2], addresses[3])
    for address in addresses:
        device.free(address)


@pytest.mark.parametrize("limit", [None, 60])
def test_on_opencl(opencl, limit):
    device, kernels, places = opencl
    x, y, scratch, flag = Place("argument", 0), Place("result", 0), Place("constant", 0), Place("temporary", 0)

    def reverse(source, target):
        return Launch("reverse", (1, 1, 1), (64, 1, 1), (source, target))

    steps = [
        Fill(flag, 1, 1),
        Copy(scratch, x, ELEMENTS * 4),
        While([reverse(scratch, y), Copy(scratch, y, ELEMENTS * 4)], trips=4),
        While([reverse(scratch, y), Fill(flag, 0, 1)], predicate=flag),
        Conditional(flag, True, [[Fill(y, 0, 8)], [Fill(y, 0xFF, 4)]]),
    ]
    with phlox.config(kernel_seconds=limit):
        NativeRun(device, Plan(steps, 0, b"", 0), kernels, 1, 1)(*places)
        found = np.empty(ELEMENTS, np.float32)
        device.read(found.ctypes.data, places[1][0], found.nbytes)
    assert np.isnan(found[0])
    np.testing.assert_array_equal(found[1:], np.arange(ELEMENTS, dtype=np.float32)[::-1][1:])


def test_loops_without_end_are_interrupted(opencl):
    device, kernels, places = opencl
    flag = Place("temporary", 0)
    steps = [Fill(flag, 1, 1), While([], predicate=flag)]
    interrupt(0.05, NativeRun(device, Plan(steps, 0, b"", 0), kernels, 1, 1), *places, error=Interrupt)
    device.synchronize()


def test_an_interrupt_waits_for_few_rounds(opencl):
    device, kernels, places = opencl
    run = NativeRun(device, Plan([While([Fill(Place("result", 0), 1, 4)], trips=100)], 0, b"", 0), kernels, 1, 1)
    entries, enter = [], run._run
    run._run = lambda address: entries.append(address) or enter(address)
    run(*places)
    assert len(entries) > 100 / 40


def test_an_interrupt_waits_for_one_round_that_takes_long(opencl, monkeypatch):
    monkeypatch.setattr(native_run, "_PAUSED_AFTER", 0)  # all take longer
    monkeypatch.setattr(native_run, "_loaded", {})
    device, kernels, places = opencl
    run = NativeRun(device, Plan([While([Fill(Place("result", 0), 1, 4)], trips=10)], 0, b"", 0), kernels, 1, 1)
    entries, enter = [], run._run
    run._run = lambda address: entries.append(address) or enter(address)
    run(*places)
    assert len(entries) == 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_is_refused(opencl):
    device, kernels, places = opencl
    run = NativeRun(device, Plan([Fill(Place("result", 0), 1, 4)], 0, b"", 0), kernels, 1, 1)
    run(*places)
    process = os.fork()
    if process == 0:
        status = 1
        try:
            run(*places)
        except ForkedDeviceError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(process, 0)[1] == 0


def test_programs_take_buffers_that_fit():
    opencl_driver()
    backend = get_backend("opencl")
    text = "HloModule m\nENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[2,3] negate(x) }"
    negate, x = backend.compile(parse_module(text)), np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(backend.memory.read(negate.execute([to_device(backend.memory, x)])[0]), -x)
    column_major = to_device(backend.memory, x, Shape(F32, (2, 3), Layout((0, 1))))
    np.testing.assert_array_equal(backend.memory.read(negate.execute([column_major])[0]), -x)
    with pytest.raises(TypeError, match="module m takes 1 arrays, 0 given"):
        negate.execute([])
    with pytest.raises(TypeError, match="argument 0: a buffer in the memory of opencl:0 is required, HostBuffer given"):
        negate.execute([to_device(HOST_MEMORY, x)])
    with pytest.raises(ValueError, match=r"f32\[2,3\] is required, an array of shape \(3, 2\) given"):
        negate.execute([to_device(backend.memory, x.reshape(3, 2))])
    with pytest.raises(TypeError, match=r"f32\[2,3\] is required, s32\[2,3\] given"):
        negate.execute([to_device(backend.memory, x.astype(np.int32))])


@pytest.mark.parametrize("limit", [None, 60])
def test_small_arrays_of_the_host(limit):
    """They travel together, in the layouts of the program; with a time limit, each by itself."""
    opencl_driver()
    backend = get_backend("opencl")
    text = """HloModule m
    ENTRY e {
      x = f32[2,3]{0,1} parameter(0)  i = s8[] parameter(1)  p = pred[5] parameter(2)  f = f32[] convert(i)
      b = f32[2,3] broadcast(f), dimensions={}  y = f32[2,3] add(x, b)  j = s8[] negate(i)  q = pred[5] not(p)
      n = f32[0] constant({})
      ROOT r = (f32[2,3], s8[], pred[5], f32[0], s8[]) tuple(y, j, q, n, i)
    }"""
    run = backend.compile(parse_module(text))
    x, p = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)), np.array([True, False, True, True, False])
    backend.device.time_limit = limit
    try:
        for number in (1, -7):
            y, j, q, n, i = run(x, np.int8(number), p)
            np.testing.assert_array_equal(y, x + np.float32(number))
            assert y.dtype == np.float32 and (type(j), type(i)) == (np.int8, np.int8) and (j, i) == (-number, number)
            np.testing.assert_array_equal(q, ~p)
            assert n.shape == (0,) and n.dtype == np.float32
            y[:] = 0  # the caller's own
    finally:
        backend.device.time_limit = None
    with pytest.raises(TypeError, match="takes 3 arrays"):
        run(x)


def test_threads_call_with_small_arrays():
    opencl_driver()
    text = "HloModule m\nENTRY e { x = f32[9] parameter(0)  ROOT y = f32[9] multiply(x, x) }"
    run, wrong = get_backend("opencl").compile(parse_module(text)), []

    def call(seed):
        x = np.full(9, seed, np.float32)
        wrong.extend([1 for _ in range(50) if not np.array_equal(run(x)[0], x * x)])

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_out_of_memory_names_the_program_and_its_results():
    opencl_driver()
    text = "HloModule grows\nENTRY e { x = f32[] parameter(0)  ROOT y = f32[1099511627776] broadcast(x), dimensions={} }"
    backend = get_backend("opencl")
    run = backend.compile(parse_module(text))
    with pytest.raises(
        DeviceOutOfMemoryError, match=r"the results of grows are f32\[1099511627776\].* \(4,398,046,511,104 bytes\)"
    ):
        run.execute([to_device(backend.memory, np.asarray(np.float32(1)))])
