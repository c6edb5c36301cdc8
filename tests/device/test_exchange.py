"""Arrays of other libraries without a copy: DLPack, the CUDA array interface."""

import gc
import weakref

import device_with_memory
import ml_dtypes
import numpy as np
import phlox
import pytest
from phlox.tracer.device import exchange
from phlox.tracer.device.exchange import from_cuda_interface

NAME = device_with_memory.NAME


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.uint64, np.int32, np.complex64, np.bool_])
def test_numpy_reads_arrays_without_a_copy(dtype):
    x = phlox.device_put(np.arange(6).reshape(2, 3).astype(dtype), "cpu")
    found = np.from_dlpack(x)
    assert (found.dtype, found.shape, found.ctypes.data) == (dtype, (2, 3), x.buffer.address)
    np.testing.assert_array_equal(found, np.asarray(x))


@pytest.mark.parametrize("dtype", [np.float64, np.int16, np.complex128, np.bool_])
def test_arrays_of_numpy_are_read_without_a_copy(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    x = phlox.from_dlpack(array)
    assert (x.dtype, x.shape, x.device.name, x.buffer.address) == (dtype, (2, 3), "cpu:0", array.ctypes.data)
    np.testing.assert_array_equal(np.asarray(x + x), array + array)


def test_round_trip_of_bfloat16():
    x = phlox.device_put(np.arange(4).astype(ml_dtypes.bfloat16), "cpu")
    found = phlox.from_dlpack(x)
    assert found.dtype == ml_dtypes.bfloat16 and found.buffer.address == x.buffer.address


def test_memory_lives_as_long_as_its_readers():
    x = phlox.device_put(np.arange(1000.0), "cpu")
    buffer = weakref.ref(x.buffer.array)
    found = np.from_dlpack(x)
    del x
    gc.collect()
    assert buffer() is not None and found.sum() == 499500
    del found
    gc.collect()
    assert buffer() is None and not exchange._shared


def test_memory_of_others_lives_as_long_as_the_array():
    array = np.arange(1000.0)
    alive = weakref.ref(array)
    x = phlox.from_dlpack(array)
    del array
    gc.collect()
    assert float(x.sum()) == 499500
    del x
    gc.collect()
    assert alive() is None


def test_capsules_that_nobody_takes():
    x = phlox.device_put(np.ones(3), "cpu")
    capsule = x.__dlpack__()
    assert exchange._shared
    del capsule
    assert not exchange._shared


def test_views_are_exchanged_with_their_contents():
    x = phlox.device_put(np.arange(6).reshape(2, 3), "cpu")
    np.testing.assert_array_equal(np.from_dlpack(x.T[1:]), np.arange(6).reshape(2, 3).T[1:])


def test_who_changes_shared_memory_changes_it_for_both():
    array = np.arange(4.0)
    x = phlox.from_dlpack(array)
    part = x[1:]
    assert part.tolist() == [1, 2, 3]
    array[1] = 7
    assert part.tolist() == [7, 2, 3]
    x += 1
    part[0] = 0
    phlox.jit(lambda x: x.__imul__(2))(x)
    assert array.tolist() == [2, 0, 6, 8] == x.tolist()

    y = phlox.device_put(np.zeros(3), "cpu")
    found, of_part = np.from_dlpack(y), np.from_dlpack(y[1:])
    y[1] = 5
    assert (found.tolist(), of_part.tolist()) == ([0, 5, 0], [0, 0])
    with pytest.raises(BufferError, match="without a copy"):
        y[1:].__dlpack__(copy=False)


def test_arrays_without_elements():
    for array in (np.zeros((0, 3)), np.zeros((3, 0)).T):
        assert phlox.from_dlpack(array).shape == array.shape


def test_to_another_device(registered):
    device_with_memory.register()
    x = phlox.from_dlpack(np.arange(3), device=NAME)
    assert (x.device.name, x.tolist()) == (f"{NAME}:0", [0, 1, 2])


def test_what_cannot_be_exchanged(registered):
    device_with_memory.register()
    far = phlox.device_put(np.ones(3), NAME)
    with pytest.raises(BufferError, match=f"memory of {NAME}:0"):
        far.__dlpack__()
    assert not hasattr(far, "__cuda_array_interface__")
    with pytest.raises(BufferError, match="row-major"):
        phlox.from_dlpack(np.ones((3, 4)).T)
    with pytest.raises(BufferError, match="is wanted"):
        phlox.device_put(np.ones(3), "cpu").__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="cuda"):
        from_cuda_interface(
            type("Array", (), {"__cuda_array_interface__": {"shape": (1,), "typestr": "<f4", "data": (0, False)}})
        )


class Mapped(device_with_memory.SeparateMemory):
    """A memory of the process that says it is CUDA's, to see what is said about arrays there."""

    dlpack_device, stream = (2, 0), 0x5000

    def __init__(self):
        super().__init__()
        self.ordered = []

    def wait_for(self, stream):
        self.ordered.append(("wait for", stream))

    def let_wait(self, stream):
        self.ordered.append(("let wait", stream))

    def wait_for_others(self):
        self.ordered.append("wait for others")

    def synchronize(self):
        self.ordered.append("synchronize")

    def copy(self, target, source):
        self.store(target, self.load(source))

    def adopt(self, shape, address, owner):
        self.adopted = address, owner
        return self.allocate(shape)


@pytest.fixture
def mapped(registered):
    device_with_memory.register()
    memory = phlox.devices(NAME)[0].backend.memory = Mapped()
    return memory


def test_the_cuda_array_interface(mapped):
    x = phlox.device_put(np.ones((2, 3), np.float32), NAME)
    assert x.__cuda_array_interface__ == {
        "shape": (2, 3), "typestr": "<f4", "data": (x.buffer.address, False), "version": 3, "strides": None, "stream": None,
    }  # fmt: skip
    assert x.__dlpack_device__() == (2, 0)
    address = x.buffer.address
    x += 1  # others keep the array, and know the address
    assert x.buffer.address == address and x.tolist() == [[2, 2, 2], [2, 2, 2]]
    row, addresses = x[0], set()
    for _ in range(3):
        addresses.add(row.__cuda_array_interface__["data"][0])
        x += 1
    assert len(addresses) == 3 and addresses <= set(mapped._contents)
    found = phlox.device_put(x, NAME)
    assert found is x

    class Foreign:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<i8", "data": (0xABC0, False), "version": 3, "strides": (8,)}

    foreign = Foreign()
    assert phlox.device_put(foreign, NAME).shape == (2,)
    address, borrowed = mapped.adopted
    assert address == 0xABC0 and borrowed.owner is foreign


def test_who_refuses_a_capsule_says_why(mapped):
    x = phlox.device_put(np.ones(3), NAME)
    with pytest.raises(RuntimeError, match="Unsupported device"):
        np.from_dlpack(x)
    del x
    gc.collect()
    assert not mapped._contents


def test_what_others_may_only_read_is_copied(mapped):
    class Foreign:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<i8", "data": (0xABC0, True), "version": 3}

    x = phlox.device_put(Foreign(), NAME)
    assert mapped.adopted[0] == 0xABC0
    mapped.adopted = None
    gc.collect()
    assert mapped.ordered == ["synchronize"]  # the owner has the memory again
    x += 1


def test_what_lies_nowhere(mapped):
    class Foreign:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<i8", "data": (0, False), "version": 3}

    with pytest.raises(BufferError, match="address is 0"):
        phlox.device_put(Foreign(), NAME)
    Foreign.__cuda_array_interface__["shape"] = (0, 3)
    assert phlox.device_put(Foreign(), NAME).shape == (0, 3)


@pytest.mark.parametrize("said, waited_for", [
    ({"version": 3, "stream": 0x77}, 0x77), ({"version": 3, "stream": None}, None), ({"version": 3}, None), ({"version": 2}, 1),
])  # fmt: skip
def test_arrays_of_others_are_read_when_their_streams_are_there(mapped, said, waited_for):
    class Foreign:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<i8", "data": (0xABC0, False)} | said

    x = phlox.device_put(Foreign(), NAME)
    assert mapped.ordered == ([] if waited_for is None else [("wait for", waited_for)])
    mapped.ordered.clear()
    mapped.adopted = None
    del x
    gc.collect()
    assert mapped.ordered == ["synchronize"]  # before its owner has the memory again


def test_streams_of_dlpack(mapped):
    x = phlox.device_put(np.ones(3), NAME)
    for stream, ordered in ((0x77, [("let wait", 0x77)]), (1, [("let wait", 1)]), (-1, []), (None, ["synchronize"])):
        mapped.ordered.clear()
        capsule = x.__dlpack__(stream=stream)
        assert mapped.ordered == ordered
        del capsule  # what was asked for in the other stream may still use the memory
        assert mapped.ordered == [*ordered, "wait for others"]
    mapped.ordered.clear()
    x.__dlpack__(stream=mapped.stream)
    assert mapped.ordered == [("let wait", mapped.stream)]
    with pytest.raises(BufferError, match="1 is the default one"):
        x.__dlpack__(stream=0)

    asked = []

    class Foreign:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            asked.append(options)
            return x.__dlpack__(stream=-1)

    phlox.from_dlpack(Foreign(), device=NAME)
    assert asked == [{"stream": 0x5000}]


def test_devices_say_their_stream_and_are_waited_for(mapped):
    device = phlox.device(NAME)
    assert device.stream == phlox.devices(NAME)[0].stream == 0x5000 and phlox.device("cpu").stream is None
    mapped.ordered.clear()
    device.synchronize()
    assert mapped.ordered == ["synchronize"]
