"""Arrays in the memory of a device, here of the host in the place of one."""

import ctypes

import ml_dtypes
import numpy as np
import pytest
from host_as_device import CUDA_EXTRA, HostAsDevice
from phlox.backends.device_memory import to_device
from phlox.backends.gpu.drivers.cuda import CUDA, CudaDriver
from phlox.backends.gpu.memory import GpuMemory
from phlox.hlo import F32, F64, Layout, Shape, shape_of

X = np.float32([[1, 2, 3], [4, 5, 6]])


def new_memory():
    return GpuMemory("cuda", CudaDriver(HostAsDevice(CUDA, CUDA_EXTRA)).open(0))


@pytest.mark.parametrize("order", [(2, 1, 0), (0, 1, 2), (1, 2, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.bool_, ml_dtypes.bfloat16, ml_dtypes.int4])
def test_what_is_written_is_read_and_lies_in_the_layout(order, dtype):
    memory = new_memory()
    array = np.random.default_rng(0).integers(0, 2, (2, 3, 4)).astype(dtype)
    buffer = to_device(memory, array, Shape(shape_of(array).element_type, (2, 3, 4), Layout(order)))
    read = memory.read(buffer)
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype
    assert ctypes.string_at(buffer.address, array.nbytes) == np.ascontiguousarray(array.transpose(order[::-1])).tobytes()


def test_byte_order_and_strides_are_the_hosts_matter():
    memory = new_memory()
    buffer = to_device(memory, X.astype(">f4")[:, ::-1], Shape(F32, (2, 3), Layout((0, 1))))
    out = np.zeros((4, 3), ">f4")
    assert np.shares_memory(memory.read(buffer, out[::2]), out)
    np.testing.assert_array_equal(out[::2], X[:, ::-1])
    assert not out[1::2].any()


@pytest.mark.parametrize("array", [np.float64(3), np.zeros((0, 3)), np.arange(3)[:, None].T])
def test_scalars_and_arrays_without_elements(array):
    memory = new_memory()
    shared = memory.share(np.asarray(array))
    assert shared.address % 256 == 0
    np.testing.assert_array_equal(memory.read(shared), array)


@pytest.mark.parametrize("size, transfers", [(3, 1), (20_000, 4)])
def test_several_small_arrays_are_written_in_one_transfer(size, transfers, monkeypatch):
    memory = new_memory()
    arrays = [np.arange(size, dtype=np.float32), np.arange(2.0 * size).reshape(size, 2)[::-1], np.zeros(0), X.astype(">f4")]
    shapes = [shape_of(arrays[0]), Shape(F64, (size, 2), Layout((0, 1))), Shape(F64, (0,)), Shape(F32, (2, 3))]
    sizes, write = [], memory.device.write
    monkeypatch.setattr(memory.device, "write", lambda *given: [sizes.append(given[2]), write(*given)])
    buffers = memory.write_together(list(zip(arrays, shapes)))
    assert len(sizes) == transfers
    for buffer, shape, array in zip(buffers, shapes, arrays):
        assert buffer.shape == shape and buffer.address % 256 == 0
        np.testing.assert_array_equal(memory.read(buffer), array)
    del buffers, buffer
    assert memory.pool.statistics()["bytes_in_use"] == 0
    with pytest.raises(TypeError, match="f32"):
        memory.write_together([(arrays[1], shapes[0]), (arrays[0], shapes[0])])


def test_memory_is_free_when_nothing_refers_to_the_buffer():
    memory = new_memory()
    buffers = [memory.allocate(Shape(F32, (1000,))) for _ in range(3)]
    block = memory.allocate_bytes(100)
    assert memory.pool.statistics()["bytes_in_use"] == 3 * 4096 + 256
    del block
    buffers.clear()
    assert memory.pool.statistics()["bytes_in_use"] == 0


def test_what_does_not_fit_and_buffers_of_others_are_refused():
    memory = new_memory()
    buffer = memory.allocate(Shape(F32, (2, 3)))
    with pytest.raises(TypeError, match=r"f32\[2,3\] is required \(dtype float32\), an array of dtype float64 given"):
        memory.write(buffer, np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"f32\[2,3\] is required, an array of shape \(2, 1\) given"):
        memory.read(buffer, np.ones((2, 1), np.float32))
    with pytest.raises(TypeError, match="a buffer in the memory of cuda is required, ndarray given"):
        memory.read(X)
    with pytest.raises(TypeError, match="a buffer in the memory of cuda is required, one in that of the host given"):
        memory.read(new_memory().allocate(Shape(F32, ())))
    with pytest.raises(TypeError, match="the shape of an array whose sizes are known"):
        memory.allocate(Shape(F32, (2,), dynamic_dimensions=(True,)))
