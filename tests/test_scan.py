"""Scan: against NumPy's cumulative functions and a loop in Python, on both backends; its text as XLA spells it."""

import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import F32, F64, S32, Builder, Shape, ShapeError, parse_module, scalar_computation

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
    b = Builder(f"running_{opcode}")
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
    b = Builder("f")
    array, init = b.parameter(Shape(F64, x.shape)), b.broadcast(b.constant(neutral, F64), rest, ())
    for_rest = running(opcode, Shape(F64, rest))
    forwards, backwards = (b.Scan([array], [init], for_rest, along, is_reverse=way) for way in (False, True))
    parts = [b.get_tuple_element(scan, n) for scan in (forwards, backwards) for n in (0, 1)]
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
    b = Builder("step")
    x, y = b.parameter(Shape(F32, (3, 2))), b.parameter(Shape(F32, (2,)))
    state, count = b.parameter(Shape(F32, (3, 2))), b.parameter(Shape(S32))
    after = b.Add(b.Mul(state, b.broadcast(y, (3, 2), (1,))), x)
    total = b.Reduce(after, b.constant(np.float32(0)), scalar_computation("add", F32), (1,))
    step = b.build(b.Tuple([total, b.broadcast(count, (2,), ()), after, b.Add(count, b.constant(np.int32(2)))]))
    random = np.random.default_rng(0)
    xs, ys = random.integers(-3, 4, (3, 7, 2)).astype(np.float32), random.integers(-1, 2, (2, 7)).astype(np.float32)
    b = Builder("f")
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
    b = Builder("row_step")
    array, above = b.parameter(row), b.parameter(row)
    along = b.get_tuple_element(b.Scan([array], [b.constant(np.float32(0))], running("add", Shape(F32)), 0), 0)
    total = b.Add(along, above)
    rows = b.build(b.Tuple([total, total]))
    b = Builder("f")
    scan = b.Scan([b.parameter(Shape(F32, (4, 9)))], [b.constant(np.zeros(9, np.float32))], rows, 0)
    x = np.arange(36, dtype=np.float32).reshape(4, 9)
    result, _ = get_backend(backend).compile(b.build_module(scan))(x)
    np.testing.assert_array_equal(result, np.cumsum(np.cumsum(x, axis=0), axis=1))


def test_bad_arguments():
    b = Builder("f")
    x, init = b.parameter(Shape(F32, (4,))), b.constant(np.float32(0))
    with pytest.raises(ShapeError, match=r"scan: to_apply must take \(f32\[\], f32\[\]\), but running_add takes"):
        b.Scan([x], [init], running("add", Shape(F64)), 0)
    with pytest.raises(ShapeError, match=r"scan: dimensions of operand 0 must be in \[0, 1\), got 1"):
        b.Scan([x], [init], running("add", Shape(F32)), 1)
