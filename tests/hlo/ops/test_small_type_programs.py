"""Elements of 2, 4 and 8 bits in operations that move, compare and sum them, and in the text of programs."""

import ml_dtypes
import numpy as np
import pytest
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, F16, S32, Shape, TupleShape, evaluate, parse_module, scalar_computation
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder

NARROW = [t for t in ELEMENT_TYPES.values() if t.bits <= 8 and t.kind in ("float", "signed", "unsigned")]
of_narrow = pytest.mark.parametrize("element_type", [*NARROW, F16, BF16], ids=str)


def elements(element_type, count, seed=0):
    """Small whole numbers of the type, of which 1 is one."""
    choices = [1, 2, 4] if element_type.name == "f8e8m0fnu" else [0, 1, 2, 3]
    if element_type.kind == "signed" or element_type.is_float and element_type.name != "f8e8m0fnu":
        choices = [0, 1, -1] if element_type.bits == 2 else [0, 1, 2, 3, -1, -2]
    drawn = np.random.default_rng(seed).choice(choices, count)
    return drawn.astype(np.float32 if element_type.is_float else np.int8).astype(element_type.dtype)


def check(module, *arguments):
    """Native code and the reference give the same; returns that."""
    produced = get_backend("cpu").compile(module)(*arguments)
    result = evaluate(module.entry, *arguments)
    expected = result if isinstance(result, tuple) else (result,)
    for mine, wanted in zip(produced, expected, strict=True):
        wanted = np.asarray(wanted)
        assert np.asarray(mine).dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(mine).astype(np.float64), wanted.astype(np.float64))
    return [np.asarray(part).astype(np.float64) for part in expected]


@of_narrow
def test_gather_and_scatter(element_type):
    x, updates = elements(element_type, 30), elements(element_type, 4, seed=1)
    b = XlaBuilder("f")
    p, u = b.parameter(Shape(element_type, (30,))), b.parameter(Shape(element_type, (4,)))
    indices = b.constant(np.array([[3], [29], [-1], [7]], np.int32))
    gathered = b.Gather(p, indices, offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=1,
                        slice_sizes=(1,))  # fmt: skip
    numbers = {"update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,),
               "index_vector_dim": 1}  # fmt: skip
    scattered = b.Scatter(p, indices, u, scalar_computation("maximum", element_type), **numbers)
    first, second = check(b.build_module(b.Tuple([gathered, scattered])), x, updates)
    wide, wide_updates = x.astype(np.float64), updates.astype(np.float64)
    np.testing.assert_array_equal(first, wide[[3, 29, 0, 7]])
    for index, update in zip((3, 29, 7), wide_updates[[0, 1, 3]]):
        wide[index] = max(wide[index], update)
    np.testing.assert_array_equal(second, wide)


@of_narrow
def test_argmax_topk_and_windows(element_type):
    x = elements(element_type, 40).reshape(4, 10)
    c = XlaBuilder("larger")
    value, index, other, other_index = (c.parameter(Shape(t)) for t in (element_type, S32, element_type, S32))
    keep = c.Or(c.Gt(value, other), c.And(c.Eq(value, other), c.Lt(index, other_index)))
    larger = c.build(c.Tuple([c.Select(keep, value, other), c.Select(keep, index, other_index)]))
    b = XlaBuilder("f")
    p = b.parameter(Shape(element_type, x.shape))
    lowest = elements(element_type, 1)[0] if element_type.name == "f8e8m0fnu" else x.astype(np.float64).min()
    init = b.constant(np.array(lowest).astype(np.float64).astype(element_type.dtype))
    positions = b.Iota(Shape(S32, x.shape), 1)
    best = b.Reduce([p, positions], [init, b.constant(np.int32(99))], larger, (1,))
    top = b.TopK(p, 3)
    windows = b.ReduceWindow(p, init, scalar_computation("maximum", element_type), (1, 3), (1, 2), "SAME")
    parts = [b.GetTupleElement(pair, n) for pair in (best, top) for n in (0, 1)]
    values, _, largest, places, _ = check(b.build_module(b.Tuple([*parts, windows])), x)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(values, np.maximum(wide.max(axis=1), float(lowest)))
    np.testing.assert_array_equal(largest, -np.sort(-wide, axis=1)[:, :3])
    np.testing.assert_array_equal(places, np.argsort(-wide, axis=1, kind="stable")[:, :3])


@of_narrow
def test_loop_state_padding_and_concatenation(element_type):
    """Five times: the array turned by one element, in place."""
    x = elements(element_type, 9)
    state = TupleShape((Shape(S32), Shape(element_type, (9,))))
    c = XlaBuilder("condition")
    condition = c.build(c.Lt(c.GetTupleElement(c.parameter(state), 0), c.constant(np.int32(5))))
    d = XlaBuilder("body")
    parameter = d.parameter(state)
    count, array = (d.GetTupleElement(parameter, n) for n in (0, 1))
    turned = d.ConcatInDim([d.Slice(array, [1], [9]), d.Slice(array, [0], [1])], 0)
    body = d.build(d.Tuple([d.Add(count, d.constant(np.int32(1))), turned]))
    b = XlaBuilder("f")
    p = b.parameter(Shape(element_type, (9,)))
    loop = b.GetTupleElement(b.While(condition, body, b.Tuple([b.constant(np.int32(0)), p])), 1)
    padded = b.Pad(loop, b.constant(elements(element_type, 1)[0]), padding=[(1, -2, 1)])
    turned, spread = check(b.build_module(b.Tuple([loop, padded])), x)
    wide = np.roll(x.astype(np.float64), -5)
    np.testing.assert_array_equal(turned, wide)
    np.testing.assert_array_equal(spread[1::2], wide[:8])
    np.testing.assert_array_equal(spread[0::2], np.full(8, float(elements(element_type, 1)[0])))


@pytest.mark.parametrize("element_type", NARROW, ids=str)
def test_every_value_as_text(element_type):
    """Printed and read back, as scalars and in arrays, NaN and zeros included."""
    values = np.arange(2**element_type.bits, dtype=np.uint8)
    if element_type.kind == "signed" and element_type.bits < 8:
        info = ml_dtypes.iinfo(element_type.dtype)
        values = np.arange(int(info.min), int(info.max) + 1).astype(np.int8).astype(element_type.dtype)
    else:
        values = values.view(element_type.dtype)
    b = XlaBuilder("literals")
    module = b.build_module(b.Tuple([b.constant(values.reshape(2, -1)), *(b.constant(value) for value in values[:5])]))
    text = module.as_text()
    again = parse_module(text)
    assert again == module and again.as_text() == text
    (array, *scalars) = evaluate(again.entry)
    for read, written in zip((array.ravel(), *scalars), (values, *values[:5])):
        wide = [np.asarray(x).astype(np.float64) for x in (read, written)]
        np.testing.assert_array_equal(*wide)
        number = ~np.isnan(wide[1])
        np.testing.assert_array_equal(np.signbit(wide[0][number]), np.signbit(wide[1][number]))
