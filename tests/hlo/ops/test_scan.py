"""Scan: against NumPy's cumulative functions and a loop in Python, on both backends; its text as XLA spells it; its nests."""

import numpy as np
import pytest
from phlox import jit
from phlox.backends.registry import get_backend
from phlox.hlo import F32, F64, S32, S64, Shape, ShapeError, element_type_of, parse_module, scalar_computation
from phlox.xla_builder import XlaBuilder
from thinning import one_in_all

BOTH = pytest.mark.parametrize("backend", ["cpu", "reference"])

# The module `scan` of XLA's hlo_parser_test.cc.
XLA_TEXT = """HloModule scan_module, entry_computation_layout={(f32[4]{0})->(f32[4]{0}, f32[])}

add_F32 {
  lhs = f32[] parameter(0)
  rhs = f32[] parameter(1)
  add = f32[] add(lhs, rhs)
  ROOT t = (f32[], f32[]) tuple(add, add)
}

ENTRY Scan {
  input = f32[4]{0} parameter(0)
  init = f32[] constant(0)
  ROOT scan = (f32[4]{0}, f32[]) scan(input, init), ATTRIBUTES, to_apply=add_F32
}
"""
ATTRIBUTES = "dimensions={0}, num_carries=1, is_reverse=true, is_associative=true"


@BOTH
def test_text(backend):
    module = parse_module(XLA_TEXT.replace("ATTRIBUTES", ATTRIBUTES))
    assert f"scan(%input, %init), {ATTRIBUTES}, to_apply=%add_F32" in module.as_text()
    outputs, last = get_backend(backend).compile(module)(np.array([1, 2, 3, 4], np.float32))
    assert outputs.tolist() == [10, 9, 7, 4] and last == 10
    forwards = parse_module(XLA_TEXT.replace("ATTRIBUTES", "dimensions={0}, num_carries=1, is_associative=false"))
    assert "num_carries=1, is_associative=false, to_apply" in forwards.as_text()
    outputs, _ = get_backend(backend).compile(forwards)(np.array([1, 2, 3, 4], np.float32))
    assert outputs.tolist() == [1, 3, 6, 10]


def running(opcode, shape):
    b = XlaBuilder(f"running_{opcode}")
    total = b.emit(opcode, b.parameter(shape, "x"), b.parameter(shape, "carry"))
    return b.build(b.Tuple([total, total]))


CUMULATIVE = {"add": (np.cumsum, 0), "multiply": (np.cumprod, 1), "maximum": (np.maximum.accumulate, -np.inf)}


@BOTH
@pytest.mark.parametrize("along", [0, 1, 2])
@pytest.mark.parametrize("opcode", CUMULATIVE)
def test_cumulative_functions(backend, opcode, along):
    function, neutral = CUMULATIVE[opcode]
    x = np.random.default_rng(along).integers(-2, 3, (5, 6, 19)).astype(np.float64)
    rest = tuple(size for d, size in enumerate(x.shape) if d != along)
    b = XlaBuilder("f")
    array, init = b.parameter(Shape(F64, x.shape)), b.BroadcastInDim(b.constant(neutral, F64), rest, ())
    for_rest = running(opcode, Shape(F64, rest))
    forwards, backwards = (b.Scan([array], [init], for_rest, along, is_reverse=way) for way in (False, True))
    parts = [b.GetTupleElement(scan, n) for scan in (forwards, backwards) for n in (0, 1)]
    up, last, down, first = get_backend(backend).compile(b.build_module(b.Tuple(parts)))(x)
    expected = function(x, axis=along)
    np.testing.assert_array_equal(up, expected)
    np.testing.assert_array_equal(last, np.take(expected, -1, axis=along))
    expected = np.flip(function(np.flip(x, along), axis=along), along)
    np.testing.assert_array_equal(down, expected)
    np.testing.assert_array_equal(first, np.take(expected, 0, axis=along))


@BOTH
def test_several_inputs_outputs_and_carries(backend):
    """x and y of different shapes, a linear recurrence and a counter; outputs of two ranks along the middle dimension."""
    b = XlaBuilder("step")
    x, y = b.parameter(Shape(F32, (3, 2))), b.parameter(Shape(F32, (2,)))
    state, count = b.parameter(Shape(F32, (3, 2))), b.parameter(Shape(S32))
    after = b.Add(b.Mul(state, b.BroadcastInDim(y, (3, 2), (1,))), x)
    total = b.Reduce(after, b.constant(np.float32(0)), scalar_computation("add", F32), (1,))
    step = b.build(b.Tuple([total, b.BroadcastInDim(count, (2,), ()), after, b.Add(count, b.constant(np.int32(2)))]))
    random = np.random.default_rng(0)
    xs, ys = random.integers(-3, 4, (3, 7, 2)).astype(np.float32), random.integers(-1, 2, (2, 7)).astype(np.float32)
    b = XlaBuilder("f")
    inputs = [b.parameter(Shape(F32, xs.shape)), b.parameter(Shape(F32, ys.shape))]
    inits = [b.constant(np.ones((3, 2), np.float32)), b.constant(np.int32(10))]
    scan = b.Scan(inputs, inits, step, 1)
    totals, counts, last, count = get_backend(backend).compile(b.build_module(scan))(xs, ys)
    state, expected = np.ones((3, 2), np.float32), np.empty((3, 7), np.float32)
    for n in range(7):
        state = state * ys[:, n] + xs[:, n]
        expected[:, n] = state.sum(axis=1)
    np.testing.assert_array_equal(totals, expected)
    np.testing.assert_array_equal(last, state)
    assert counts.tolist() == [list(range(10, 24, 2))] * 2 and count == 24


@BOTH
def test_a_scan_inside_a_scan(backend):
    """The cumulative sum of cumulative sums, which is that along both dimensions."""
    row = Shape(F32, (9,))
    b = XlaBuilder("row_step")
    array, above = b.parameter(row), b.parameter(row)
    along = b.GetTupleElement(b.Scan([array], [b.constant(np.float32(0))], running("add", Shape(F32)), 0), 0)
    total = b.Add(along, above)
    rows = b.build(b.Tuple([total, total]))
    b = XlaBuilder("f")
    scan = b.Scan([b.parameter(Shape(F32, (4, 9)))], [b.constant(np.zeros(9, np.float32))], rows, 0)
    x = np.arange(36, dtype=np.float32).reshape(4, 9)
    result, _ = get_backend(backend).compile(b.build_module(scan))(x)
    np.testing.assert_array_equal(result, np.cumsum(np.cumsum(x, axis=0), axis=1))


def test_bad_arguments():
    b = XlaBuilder("f")
    x, init = b.parameter(Shape(F32, (4,))), b.constant(np.float32(0))
    with pytest.raises(ShapeError, match=r"scan: to_apply must take \(f32\[\], f32\[\]\), but running_add takes"):
        b.Scan([x], [init], running("add", Shape(F64)), 0)
    with pytest.raises(ShapeError, match=r"scan: dimensions of operand 0 must be in \[0, 1\), got 1"):
        b.Scan([x], [init], running("add", Shape(F32)), 1)


# --- the nests of the CPU backend ---

# Single vectors and whole ones, tiles, what remains of them, slices of many vectors, dimensions of 1 and 0.
SHAPES = [
    (5,),
    (1000,),
    (33, 1),
    (1, 33),
    (17, 35),
    (3, 70),
    (70, 3),
    (300, 90),
    (5, 600),
    (3, 18, 20),
    (4, 0),
    (0, 4),
    (2, 3, 4, 5),
]
TYPES = [np.float32, np.int8, np.complex64]


def opcodes(lowered):
    """The opcodes of all computations after the passes."""
    module = parse_module(lowered.compile().as_text())
    return [instruction.opcode for computation in module.computations() for instruction in computation.instructions]


@pytest.mark.parametrize(("dtype", "shape"), one_in_all(2, TYPES, SHAPES), ids=str)
def test_every_axis_of_every_order(shape, dtype):
    """Sums of floats are NumPy's, bit for bit: elements are added one after the other."""
    x = (np.random.default_rng(0).random(shape) * 4 - 1).astype(dtype)
    for axis in range(x.ndim):
        run = jit(lambda x, axis=axis: (np.cumsum(x, axis), np.maximum.accumulate(x, axis)))
        for layout in (x, np.asfortranarray(x), np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)):
            total, largest = run(layout)
            np.testing.assert_array_equal(total, np.cumsum(x, axis))
            np.testing.assert_array_equal(largest, np.maximum.accumulate(x, axis))


@pytest.mark.parametrize("size", [7, 64, 1001])
def test_extrema_keep_nan(size):
    x = np.random.default_rng(0).random(size)
    x[size // 2] = np.nan
    for accumulate in (np.maximum.accumulate, np.minimum.accumulate, np.fmax.accumulate):
        np.testing.assert_array_equal(jit(lambda x, accumulate=accumulate: accumulate(x))(x), accumulate(x))


@pytest.mark.parametrize("opcode", ["add", "maximum"])
@pytest.mark.parametrize("shape", [(1000,), (40, 50), (50, 3)], ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_backwards(shape, opcode, dtype):
    """Of what is computed where it is scanned, along each dimension."""
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(dtype)
    for along in range(x.ndim):
        rest = tuple(size for d, size in enumerate(shape) if d != along)
        b = XlaBuilder("f")
        array = b.parameter(Shape(element_type_of(x.dtype), shape))
        init = b.BroadcastInDim(b.constant(x.dtype.type(-100)), rest, ())
        scan = b.Scan([b.Mul(array, array)], [init], running(opcode, init.shape), along, is_reverse=True)
        root = b.Tuple([b.Neg(b.GetTupleElement(scan, 0)), b.GetTupleElement(scan, 1)])
        result, last = get_backend("cpu").compile(b.build_module(root))(x)
        squares = np.flip(x * x, along)
        expected = (np.cumsum(squares, along) - 100) if opcode == "add" else np.maximum.accumulate(squares, along)
        np.testing.assert_array_equal(result, -np.flip(expected, along))
        np.testing.assert_array_equal(last, np.take(expected, -1, along))


@pytest.mark.parametrize("along", [0, 1])
def test_a_recurrence_of_several_carries(along):
    """Fibonacci numbers that are driven by an input: carries that are no outputs, read by elementwise operations."""
    x = np.random.default_rng(2).integers(-3, 4, (40, 70)).astype(np.int64)
    rest = Shape(S64, (x.shape[1 - along],))
    b = XlaBuilder("step")
    value, older, newer = (b.parameter(rest) for _ in range(3))
    following = b.Add(b.Add(older, newer), value)
    step = b.build(b.Tuple([b.Sub(following, older), newer, following]))
    b = XlaBuilder("f")
    one = b.BroadcastInDim(b.constant(np.int64(1)), rest.dimensions, ())
    scan = b.Scan([b.parameter(Shape(S64, x.shape))], [one, one], step, along)
    results = get_backend("cpu").compile(b.build_module(scan))(x)
    older, newer, differences = np.ones(rest.dimensions, np.int64), np.ones(rest.dimensions, np.int64), []
    for row in np.moveaxis(x, along, 0):
        older, newer, before = newer, older + newer + row, older
        differences.append(newer - before)
    for result, expected in zip(results, (np.stack(differences, along), older, newer)):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("shape", [(1000,), (40, 50), (50, 3)], ids=str)
@pytest.mark.parametrize("axis", [0, -1])
def test_producers_and_consumers(shape, axis):
    """One nest reads the arguments and writes the results; the sum itself is stored where it is needed, too."""
    x, y = np.random.default_rng(3).random((2, *shape))

    def share(x, y):
        return np.cumsum(x * y + 1, axis) / 3.0

    lowered = jit(share).lower(x, y)
    text = lowered.compile().as_text()
    assert text.count(" fusion(") == 1 and "scan(" in text
    np.testing.assert_array_equal(jit(share)(x, y), share(x, y))

    def both(x, y):
        total = np.cumsum(x, axis)
        return total, total * y, np.exp(total) + x.T.reshape(shape), total / total.max()

    for result, expected in zip(jit(both)(x, y), both(x, y)):
        np.testing.assert_allclose(result, expected, rtol=1e-15)


def test_cumulative_functions_are_scans():
    x = np.ones((6, 7))
    for function in (np.cumsum, np.cumprod, np.nancumsum, lambda x: np.maximum.accumulate(x, 1), lambda x: x.cumsum(0)):
        lowered = jit(function).lower(x)
        assert " scan(" in lowered.as_text() and "reduce-window" not in lowered.as_text()
        assert "while" not in opcodes(lowered)


def test_a_computation_with_loops():
    x = np.random.default_rng(4).integers(1, 50, (6, 9)) * 6
    for axis in (0, 1):
        np.testing.assert_array_equal(jit(lambda x, axis=axis: np.gcd.accumulate(x, axis))(x), np.gcd.accumulate(x, axis))


def test_what_is_not_elementwise_is_a_loop():
    """Each step reduces the carry: no element goes its own way."""
    row = Shape(F64, (5,))
    b = XlaBuilder("step")
    x, carry = b.parameter(row), b.parameter(row)
    total = b.Reduce(carry, b.constant(0.0), scalar_computation("add", F64), (0,))
    mixed = b.Add(x, b.BroadcastInDim(total, (5,), ()))
    step = b.build(b.Tuple([mixed, mixed]))
    b = XlaBuilder("f")
    scan = b.Scan([b.parameter(Shape(F64, (3, 5)))], [b.constant(np.zeros(5))], step, 0)
    executable = get_backend("cpu").compile(b.build_module(scan))
    assert " scan(" not in executable.as_text()
    result, _ = executable(np.ones((3, 5)))
    np.testing.assert_array_equal(result, [[1] * 5, [6] * 5, [31] * 5])


WINDOW = """HloModule windows
add { x = f64[] parameter(0) y = f64[] parameter(1) ROOT sum = f64[] add(x, y) }
ENTRY f {
  x = f64[40,50] parameter(0)
  zero = f64[] constant(0)
  ROOT sums = f64[40,50] reduce-window(x, zero), window={size=SIZE pad=PADDING}, to_apply=add
}
"""


@pytest.mark.parametrize(
    "size, padding, axis, backwards",
    [
        ("40x1", "39_0x0_0", 0, False),
        ("1x50", "0_0x0_49", 1, True),
        ("1x60", "0_0x59_0", 1, False),
        ("40x1", "0_39x0_0", 0, True),
    ],
)
def test_windows_of_all_elements_before_are_scans(size, padding, axis, backwards):
    x = np.random.default_rng(5).integers(-9, 9, (40, 50)).astype(np.float64)
    executable = get_backend("cpu").compile(parse_module(WINDOW.replace("SIZE", size).replace("PADDING", padding)))
    assert " scan(" in executable.as_text() and "reduce-window" not in executable.as_text()
    expected = np.flip(np.cumsum(np.flip(x, axis), axis), axis) if backwards else np.cumsum(x, axis)
    (result,) = executable(x)
    np.testing.assert_array_equal(result, expected)


def test_last_carries_beside_what_reads_the_first():
    """A scan without outputs has an array as its result, and keeps its loops for itself."""
    b = XlaBuilder("f")
    x, init = b.parameter(Shape(F64, (30, 50))), b.parameter(Shape(F64, (50,)))
    row = Shape(F64, (50,))
    c = XlaBuilder("step")
    step = c.build(c.Add(c.parameter(row), c.parameter(row)))
    total = b.emit("scan", x, init, dimensions=(0,), num_carries=1, to_apply=step)
    module = b.build_module(b.Tuple([b.Neg(init), total, b.Mul(total, init)]))
    array, first = np.random.default_rng(6).integers(-9, 9, (31, 50)).astype(np.float64)[1:], np.arange(50.0)
    negative, sums, product = get_backend("cpu").compile(module)(array, first)
    np.testing.assert_array_equal(negative, -first)
    np.testing.assert_array_equal(sums, array.sum(0) + first)
    np.testing.assert_array_equal(product, (array.sum(0) + first) * first)
