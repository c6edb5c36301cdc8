"""Programs that take and give buffers, and the host's memory as the memory of a device."""

import ctypes
import re

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.device_memory import HOST_MEMORY, to_device
from phlox.backends.registry import get_backend
from phlox.hlo import F32, S32, Layout, Shape, parse_module

both_backends = pytest.mark.parametrize("backend", ["reference", "cpu"])
PROGRAM = """
HloModule program
ENTRY main {
  x = f32[2,3] parameter(0)
  y = f32[2,3]{0,1} parameter(1)
  n = s32[] parameter(2)
  z = f32[2,3] add(x, y)
  m = s32[] add(n, n)
  ROOT r = (f32[2,3], s32[]) tuple(z, m)
}
"""
X, Y = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[10, 20, 30], [40, 50, 60]])
COLUMN_MAJOR = Shape(F32, (2, 3), Layout((0, 1)))


@both_backends
def test_programs_run_on_buffers(backend):
    backend = get_backend(backend)
    executable = backend.compile(parse_module(PROGRAM))
    arguments = [
        to_device(backend.memory, X),
        to_device(backend.memory, Y, COLUMN_MAJOR),
        to_device(backend.memory, np.array(4, np.int32)),
    ]
    results = executable.execute(arguments)
    assert [result.shape for result in results] == [Shape(F32, (2, 3)), Shape(S32)]
    np.testing.assert_array_equal(backend.memory.read(results[0]), X + Y)
    assert backend.memory.read(results[1]) == 8
    again = executable.execute([results[0], *arguments[1:]])  # what one program leaves another takes
    np.testing.assert_array_equal(backend.memory.read(again[0]), X + 2 * Y)


@both_backends
def test_dynamic_dimensions_have_the_sizes_of_the_buffers(backend):
    backend = get_backend(backend)
    text = "HloModule m\nENTRY e { x = f32[<=10] parameter(0)  ROOT y = f32[<=10] negate(x) }"
    (result,) = backend.compile(parse_module(text)).execute([to_device(backend.memory, X[0])])
    assert result.shape == Shape(F32, (3,))
    np.testing.assert_array_equal(backend.memory.read(result), -X[0])


@both_backends
def test_arguments_that_do_not_fit_are_refused(backend):
    backend = get_backend(backend)
    executable = backend.compile(parse_module(PROGRAM))
    buffers = [to_device(backend.memory, X), to_device(backend.memory, Y), to_device(backend.memory, np.array(4, np.int32))]
    with pytest.raises(ValueError, match=r"parameter 1 \(y\): an array contiguous as f32\[2,3\]\{0,1\} is required"):
        executable.execute(buffers)
    with pytest.raises(TypeError, match="takes 3 arrays"):
        executable.execute(buffers[:2])
    with pytest.raises(TypeError, match="argument 1: a buffer in the host's memory is required, ndarray given"):
        executable.execute([buffers[0], Y, buffers[2]])


@pytest.mark.parametrize("order", [(2, 1, 0), (0, 1, 2), (1, 2, 0)])
@pytest.mark.parametrize("dtype", [np.float64, np.bool_, ml_dtypes.bfloat16])
def test_what_is_written_is_read_and_lies_in_the_layout(order, dtype):
    array = np.random.default_rng(0).integers(0, 2, (2, 3, 4)).astype(dtype)
    shape = Shape(to_device(HOST_MEMORY, array).shape.element_type, (2, 3, 4), Layout(order))
    buffer = HOST_MEMORY.allocate(shape)
    HOST_MEMORY.write(buffer, array)
    read = HOST_MEMORY.read(buffer)
    np.testing.assert_array_equal(read, array)
    assert read.dtype == array.dtype
    in_memory = np.ascontiguousarray(array.transpose(order[::-1]))
    assert ctypes.string_at(buffer.address, array.nbytes) == in_memory.tobytes()
    read[...] = 1 - read
    np.testing.assert_array_equal(HOST_MEMORY.read(buffer), array)


@both_backends
def test_results_are_row_major_whatever_the_program_does(backend):
    backend = get_backend(backend)
    text = "HloModule m\nENTRY e { x = f32[2,3] parameter(0)  ROOT y = f32[3,2] transpose(x), dimensions={1,0} }"
    transpose = backend.compile(parse_module(text))
    (result,) = transpose.execute([to_device(backend.memory, X)])
    assert result.shape == Shape(F32, (3, 2))
    assert ctypes.string_at(result.address, 24) == X.T.copy().tobytes()
    text = "HloModule m\nENTRY e { x = f32[3,2] parameter(0)  ROOT y = f32[3,2] negate(x) }"
    (again,) = backend.compile(parse_module(text)).execute([result])
    np.testing.assert_array_equal(backend.memory.read(again), -X.T)


def test_an_array_is_shared_where_it_lies_as_a_buffer():
    array = np.arange(6.0).reshape(2, 3)
    assert HOST_MEMORY.share(array).address == array.ctypes.data
    misaligned = np.frombuffer(b"x" + array.tobytes(), np.float64, offset=1).reshape(2, 3)
    for other in (array[:, ::-1], array.T, array.astype(">f8"), misaligned, np.array(3.0)):
        buffer = HOST_MEMORY.share(other)
        assert buffer.address % 8 == 0 and ctypes.string_at(buffer.address, other.nbytes) == other.astype("f8").tobytes()


def test_byte_order_and_strides_are_the_hosts_matter():
    buffer = to_device(HOST_MEMORY, X.astype(">f4")[:, ::-1], COLUMN_MAJOR)
    out = np.zeros((4, 3), ">f4")
    assert np.shares_memory(HOST_MEMORY.read(buffer, out[::2]), out)
    np.testing.assert_array_equal(out[::2], X[:, ::-1])
    assert not out[1::2].any()


@pytest.mark.parametrize("text", ["(f32[2])", "f32[<=2]", "f32[?]", "b(f32[2])", "token[]", "opaque[]"])
def test_buffers_are_arrays_of_known_sizes(text):
    shape = parse_module(f"HloModule m\nENTRY e {{ ROOT x = {text} parameter(0) }}").entry.shape
    with pytest.raises(TypeError, match=f"the shape of an array whose sizes are known, {re.escape(text)} given"):
        HOST_MEMORY.allocate(shape)


def test_writes_that_do_not_fit_are_refused():
    buffer = HOST_MEMORY.allocate(Shape(F32, (2, 3)))
    with pytest.raises(TypeError, match=r"f32\[2,3\] is required \(dtype float32\), an array of dtype float64 given"):
        HOST_MEMORY.write(buffer, np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"f32\[2,3\] is required, an array of shape \(3,\) given"):
        HOST_MEMORY.write(buffer, np.ones(3, np.float32))
    with pytest.raises(TypeError, match=r"an array f32\[2,3\] is required, list given"):
        HOST_MEMORY.write(buffer, X.tolist())
    with pytest.raises(ValueError, match=r"f32\[2,3\] is required, an array of shape \(2, 1\) given"):
        HOST_MEMORY.read(buffer, np.ones((2, 1), np.float32))
