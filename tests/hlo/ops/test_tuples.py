"""Operations on tuples, and operations that only name a value, in native code."""

import numpy as np
import pytest
from phlox import load_hlo
from phlox.backends.registry import get_backend
from phlox.hlo import C64, F32, PRED, S32, Shape, TupleShape, evaluate
from phlox.xla_builder import XlaBuilder

INNER = TupleShape((Shape(S32), Shape(C64, (2,))))
PAIR = TupleShape((Shape(F32, (3,)), INNER, Shape(PRED, (2, 2))))
LEAVES = [np.float32([1, 2, 3]), np.int32(-4), np.complex64([1 + 2j, -3j]), np.array([[True, False], [False, True]])]
OTHERS = [np.float32([-1, 0, 9]), np.int32(5), np.complex64([0, 7 - 1j]), np.array([[False, True], [True, True]])]


def nested(leaves):
    return leaves[0], (leaves[1], leaves[2]), leaves[3]


def check(module, arguments, expected):
    results = get_backend("cpu").compile(module)(*arguments)
    assert len(results) == len(expected)
    for mine, wanted in zip(results, expected):
        assert np.asarray(mine).dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(mine, wanted)


def test_select_between_tuples():
    b = XlaBuilder("f")
    p, x, y = b.parameter(Shape(PRED)), b.parameter(PAIR), b.parameter(PAIR)
    module = b.build_module(b.Select(p, x, y))
    check(module, [np.True_, *LEAVES, *OTHERS], LEAVES)
    check(module, [np.False_, *LEAVES, *OTHERS], OTHERS)


def test_copy_of_a_tuple_is_independent():
    b = XlaBuilder("f")
    x = b.parameter(PAIR)
    module = b.build_module(b.Tuple([b.emit("copy", x), x]))
    check(module, LEAVES, LEAVES * 2)
    results = get_backend("cpu").compile(module)(*LEAVES)
    results[0][:] = 0
    np.testing.assert_array_equal(results[4], LEAVES[0])
    np.testing.assert_array_equal(LEAVES[0], np.float32([1, 2, 3]))


def test_constant_of_a_tuple():
    b = XlaBuilder("f")
    literal = b.emit("constant", literal=nested(LEAVES))
    x = b.parameter(Shape(F32, (3,)))
    total = b.Add(x, b.GetTupleElement(literal, 0))
    module = b.build_module(b.Tuple([literal, b.GetTupleElement(b.GetTupleElement(literal, 1), 0), total]))
    check(module, [LEAVES[0]], [*LEAVES, np.int32(-4), LEAVES[0] * 2])


@pytest.mark.parametrize("opcode", ["opt-barrier", "domain", "copy"])
def test_values_pass_through(opcode):
    b = XlaBuilder("f")
    x = b.parameter(PAIR)
    same = b.emit(opcode, x)
    module = b.build_module(b.Tuple([b.Neg(b.GetTupleElement(same, 0)), same]))
    check(module, LEAVES, [-LEAVES[0], *LEAVES])


def test_a_loop_whose_state_is_selected_and_copied():
    """Buffers of tuples made of other tuples' elements."""
    state = TupleShape((Shape(S32), Shape(F32, (5,)), Shape(F32, (5,))))
    c = XlaBuilder("condition")
    condition = c.build(c.Lt(c.GetTupleElement(c.parameter(state), 0), c.constant(np.int32(7))))
    d = XlaBuilder("body")
    s = d.parameter(state)
    count, x, y = (d.GetTupleElement(s, i) for i in range(3))
    following = d.Add(count, d.constant(np.int32(1)))
    odd = d.Eq(d.And(count, d.constant(np.int32(1))), d.constant(np.int32(1)))
    chosen = d.Select(odd, d.Tuple([following, d.Add(x, y), x]), d.Tuple([following, y, d.Sub(x, y)]))
    body = d.build(d.emit("copy", chosen))
    b = XlaBuilder("loop")
    x, y = b.parameter(Shape(F32, (5,))), b.parameter(Shape(F32, (5,)))
    module = b.build_module(b.While(condition, body, b.Tuple([b.constant(np.int32(0)), x, y])))
    arguments = [np.arange(5, dtype=np.float32), np.full(5, 3, np.float32)]
    check(module, arguments, evaluate(module.entry, *arguments))


@pytest.mark.parametrize("index", [-1, 0, 1, 5])
def test_conditional_with_one_branch(index):
    branch = XlaBuilder("negate")
    computation = branch.build(branch.Neg(branch.parameter(Shape(F32, (3,)))))
    b = XlaBuilder("f")
    i, x = b.parameter(Shape(S32)), b.parameter(Shape(F32, (3,)))
    module = b.build_module(b.Conditional(i, [computation], [x]))
    check(module, [np.int32(index), LEAVES[0]], [-LEAVES[0]])


def test_sizes_and_reshapes():
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (4, 3)))
    rows, columns = b.GetDimensionSize(x, 0), b.GetDimensionSize(x, 1)
    module = b.build_module(b.Tuple([rows, b.Mul(rows, columns), b.DynamicReshape(x, [columns, rows], (3, 4))]))
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    check(module, [values], [np.int32(4), np.int32(12), values.reshape(3, 4)])


TEXT = """
HloModule structural

ENTRY main {
  x = (f32[3], s32[]) parameter(0)
  number = s32[] constant(2)
  inside = (f32[3], s32[]) domain(x), domain={kind="sharding", entry={replicated}, exit={maximal device=1}}
  fixed = (f32[3], (s32[], pred[2])) constant(({1, 2, 3}, (5, {1, 0})))
  element = f32[3] get-tuple-element(inside), index=0
  size = s32[] get-dimension-size(element), dimensions={0}
  shaped = f32[3,1] dynamic-reshape(element, size, number)
  ROOT all = (f32[3,1], (f32[3], (s32[], pred[2])), s32[]) tuple(shaped, fixed, size)
}
"""


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_text(backend):
    shaped, (first, (second, third)), size = load_hlo(TEXT, backend=backend)((LEAVES[0], np.int32(1)))
    np.testing.assert_array_equal(shaped, LEAVES[0].reshape(3, 1))
    np.testing.assert_array_equal(first, np.float32([1, 2, 3]))
    assert (second, third.tolist(), size) == (5, [True, False], 3)
