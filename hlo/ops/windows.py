"""Operations on windows that slide over an array: reduce-window, and select-and-scatter.

Source of the semantics: "ReduceWindow" and "SelectAndScatter" in XLA's Operation Semantics. Positions of a window that lie in
the padding, or between the elements of a dilated base, hold no element and are left out, as XLA's evaluator does; where the
init value is an identity of the computation, this is the same as if they held the init value.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from ..attributes import CalledComputation
from ..builder import Builder, scalar_computation
from ..element_type import BF16, C64, F16, F32, F64, PRED, S8, S32, S64, U8
from ..errors import require
from ..operation import ACTUAL_SIZES, APPLIES, FOLDABLE, InvalidSample, Sample, operation
from ..shape import Shape, leaves, merged_dynamic_dimensions
from ..window import Window, WindowDimension, make_window, output_sizes, require_window, with_padding
from .constraints import (
    PRED_SCALAR,
    one_or_tuple,
    require_array,
    require_reduced,
    require_scalar,
    require_signature,
    scalars_of,
)


@operation(
    "reduce-window", "*operands_and_init_values", builder="ReduceWindow", aliases=("ReduceWindowWithGeneralPadding",),
    traits={APPLIES, FOLDABLE}, dynamic=ACTUAL_SIZES,
    window=Window(), to_apply=CalledComputation(),
)  # fmt: skip
def reduce_window(*operands, window, to_apply):
    """ReduceWindow(operands..., init_values..., computation, window): combines the elements of each place of the window.

    The result has one element for each place at which the window lies inside the dilated and padded base. The computation
    takes N accumulators and N elements and returns the N new accumulators; the order in which elements are combined is not
    defined (so a reversed window is the same as one that is not), and the init value should be an identity. Operands have the
    same dimensions, init values are scalars of their element types. The window has a size, a stride, a padding (low and high,
    also negative), and a dilation of the base and of itself for each dimension. The builder's ReduceWindow takes "SAME" for the
    padding that makes the result of stride 1 as large as the operand, and "VALID" for none.
    """
    arrays, scalars = require_reduced("reduce-window", operands)
    require_window("reduce-window", window, arrays[0].rank)
    require_signature("reduce-window", "to_apply", to_apply, scalars * 2, one_or_tuple(list(scalars)))
    sizes = output_sizes(window, arrays[0].dimensions)
    dynamic = merged_dynamic_dimensions(arrays)
    return one_or_tuple([array.with_dimensions(sizes, dynamic) for array in arrays])


@reduce_window.counting
def _(operands, shape, attributes):
    return leaves(shape)[0].size * prod(dimension.size for dimension in attributes["window"])


@reduce_window.evaluation
def _(*operands, window, to_apply, run, shape):
    """One step for each position in the window, over all places of the window at once; running reductions place by place."""
    count = len(operands) // 2
    arrays = [np.asarray(array) for array in operands[:count]]
    results = [
        np.full(result.dimensions, init, result.dtype)
        for result, init in zip(shape.elements if shape.is_tuple else (shape,), operands[count:])
    ]
    for places, elements in _steps(window, arrays[0].shape, results[0].shape):
        accumulators = [result[places] for result in results]
        flat = [np.ravel(a) for a in (*accumulators, *(array[elements] for array in arrays))]
        for result, old, new in zip(results, accumulators, run.elementwise(to_apply, *flat)):
            result[places] = new.reshape(old.shape)
    return tuple(results) if shape.is_tuple else results[0]


def _steps(window, sizes, outputs):
    """For each position in the window: the places at which it holds an element, and these elements, as open meshes."""
    columns = []
    for dimension, size, places in zip(window, sizes, outputs):
        column = []
        for offset in range(dimension.size):
            place = np.arange(places)
            position = place * dimension.stride + offset * dimension.window_dilation - dimension.padding_low
            element, rest = np.divmod(position, dimension.base_dilation)
            inside = (rest == 0) & (element >= 0) & (element < size)
            column.append((place[inside], element[inside]))
        columns.append(column)
    for parts in product(*columns):
        if all(len(places) for places, _ in parts):
            yield np.ix_(*(places for places, _ in parts)), np.ix_(*(elements for _, elements in parts))


@operation(
    "select-and-scatter", "operand", "source", "init_value", builder="SelectAndScatter",
    aliases=("SelectAndScatterWithGeneralPadding",), traits={APPLIES}, dynamic=ACTUAL_SIZES,
    window=Window(), select=CalledComputation(), scatter=CalledComputation(),
)  # fmt: skip
def select_and_scatter(operand, source, init_value, *, window, select, scatter):
    """SelectAndScatter(operand, select, window, source, init_value, scatter): sends each source element to the element of
    the operand that its window selects.

    ``select(a, b)`` tells whether a, which stands before b in row-major order, is selected of the two. The result has the
    operand's shape and starts as the init value; ``scatter(current, element)`` combines what is sent to the same place, in
    an order that is not defined. A window without elements selects nothing.
    """
    require_array("select-and-scatter", "operand", operand)
    require_array("select-and-scatter", "source", source)
    element_type = operand.element_type
    same = source.element_type is element_type
    require(same, f"select-and-scatter: source must have the element type of the operand {operand}, got {source}")
    require_scalar("select-and-scatter", "init_value", init_value, element_type)
    require_window("select-and-scatter", window, operand.rank)
    sizes = output_sizes(window, operand.dimensions)
    fits = source.dimensions == sizes
    wanted = operand.with_dimensions(sizes)
    require(fits, f"select-and-scatter: source must have one element for each place of the window, {wanted}, got {source}")
    scalars = scalars_of([operand])
    require_signature("select-and-scatter", "select", select, scalars * 2, PRED_SCALAR)
    require_signature("select-and-scatter", "scatter", scatter, scalars * 2, scalars[0])
    same = source.dynamic_dimensions == operand.dynamic_dimensions
    require(same, f"select-and-scatter: source {source} must be dynamic where operand {operand} is")
    return operand.without_layout()


@select_and_scatter.evaluation
def _(operand, source, init_value, *, window, select, scatter, run, shape):
    """The selected position of each window first; then rounds, each with one source element at most for a position."""
    operand, source = np.asarray(operand), np.asarray(source)
    positions = np.arange(operand.size).reshape(operand.shape)
    best, selected = np.zeros(source.shape, operand.dtype), np.full(source.shape, -1)
    for places, elements in _steps(window, operand.shape, source.shape):
        current, candidate = best[places], np.broadcast_to(operand[elements], best[places].shape)
        (kept,) = run.elementwise(select, np.ravel(current), np.ravel(candidate))
        keep = kept.reshape(current.shape) & (selected[places] >= 0)
        best[places] = np.where(keep, current, candidate)
        selected[places] = np.where(keep, selected[places], positions[elements])
    result = np.full(operand.size, init_value, operand.dtype)
    waiting = np.flatnonzero(np.ravel(selected) >= 0)
    targets, values = np.ravel(selected), np.ravel(source)
    while len(waiting):
        _, first = np.unique(targets[waiting], return_index=True)
        chosen = waiting[first]
        (result[targets[chosen]],) = run.elementwise(scatter, result[targets[chosen]], values[chosen])
        waiting = np.delete(waiting, first)
    return result.reshape(shape.dimensions)


@reduce_window.sampling
def _():
    def sample(shape, opcode, init, window, expected=None, element_type=F32):
        array = Shape(element_type, shape) if isinstance(shape, tuple) else np.array(shape, element_type.dtype)
        attributes = {"window": window, "to_apply": scalar_computation(opcode, element_type)}
        wanted = None if expected is None else np.array(expected, element_type.dtype)
        return Sample([array, np.array(init, element_type.dtype)], attributes, expected=wanted)

    # The examples of XLA: a 4x6 matrix by windows of 2x3, and the minimum over windows of 3 with stride 2.
    table = np.arange(24).reshape(4, 6)
    yield sample(table, "maximum", -np.inf, make_window((2, 3), (2, 3)), [[8, 11], [20, 23]])
    row, three = [10000, 1000, 100, 10, 1], make_window((3,), (2,))
    yield sample(row, "minimum", np.inf, with_padding(three, (5,), "VALID"), [100, 1])
    yield sample(row, "minimum", np.inf, with_padding(three, (5,), "SAME"), [1000, 10, 1])
    yield sample(row, "add", 0, make_window((5,), padding=[(4, 0)]), [10000, 11000, 11100, 11110, 11111])
    # Both dilations: the base is 1 . 2 . 3, the window takes positions 0 and 2 of it.
    yield sample([1, 2, 3], "add", 0, make_window((2,), (1,), [(0, 0)], (2,), (2,)), [3, 0, 5])
    yield sample([1, 2, 3, 4], "add", 0, make_window((2,), padding=[(-1, 1)]), [5, 7, 4])
    yield sample(7, "add", 1, (), 8, S32)
    for element_type in (S32, F64, F16, BF16, U8, S64):
        yield sample((5, 9, 37), "add", 0, make_window((1, 3, 2), (1, 2, 1), [(0, 0), (1, 1), (0, 1)]), None, element_type)
    yield sample((3, 40), "add", 0, make_window((2, 4), (1, 3), [(0, 0), (2, 3)]), None, C64)
    yield sample((6, 33), "and", True, make_window((3, 1)), None, PRED)
    for window in (
        make_window((1, 3), padding=[(0, 0), (1, 1)]),
        make_window((2, 2), (2, 2)),
        make_window((3, 3), (2, 2), [(1, 1), (1, 1)]),
        make_window((2, 3), (1, 2), [(0, 1), (1, -1)], (1, 2), (2, 1)),
        make_window((3, 2), (2, 1), [(2, -1), (-1, 3)], (3, 1), (1, 4)),
        make_window((2, 2), (1, 1), [(-2, -2), (-3, 0)]),
        make_window((1, 5), (1, 1), [(3, 3), (9, 9)], reversal=(False, True)),
        make_window((20, 1), padding=[(19, 0), (0, 0)]),
        make_window((1, 90), padding=[(0, 0), (89, 0)]),
        make_window((30, 1)),
        make_window((1, 1), (2, 3)),
    ):
        yield sample((20, 35), "add", 0, window, None, S32)
        yield sample((20, 35), "maximum", -np.inf, window)
    yield sample((0, 3), "add", 0, make_window((2, 2), padding=[(1, 1), (0, 0)]), np.zeros((1, 2)))
    yield sample((4, 3), "add", 0, make_window((5, 2)), np.zeros((0, 2)))
    add, both = scalar_computation("add", F32), _sum_and_product()
    window = make_window((2, 3), (2, 2), [(1, 0), (0, 1)])
    init_values = [np.int32(0), np.float64(1)]
    yield Sample([Shape(S32, (6, 40)), Shape(F64, (6, 40)), *init_values], {"window": window, "to_apply": both})
    ones, twos = np.ones(4, np.int32), np.full(4, 2.0)
    attributes = {"window": make_window((3,), padding=[(1, 1)]), "to_apply": both}
    expected = (np.array([2, 3, 3, 2], np.int32), np.array([4.0, 8.0, 8.0, 4.0]))
    yield Sample([ones, twos, *init_values], attributes, expected=expected)

    x, scalar, one = Shape(F32, (3,)), Shape(F32), make_window((2,))
    good = {"window": one, "to_apply": add}
    yield InvalidSample([x], good, "N operands followed by N init values")
    yield InvalidSample([x, Shape(S32)], good, r"init value 0 must be f32\[\]")
    yield InvalidSample([x, Shape(F32, (1,))], good, "init value 0 must be a scalar")
    yield InvalidSample([x, Shape(F32, (4,)), scalar, scalar], good, "must have the same dimensions")
    yield InvalidSample([x, scalar], {**good, "window": make_window((2, 2))}, "window must have 1 dimensions, got 2")
    yield InvalidSample([x, scalar], {**good, "window": make_window((0,))}, "size of window dimension 0 must be positive")
    yield InvalidSample([x, scalar], {**good, "window": make_window((2,), (0,))}, "stride of window dimension 0")
    bad = make_window((2,), base_dilations=(0,))
    yield InvalidSample([x, scalar], {**good, "window": bad}, "base dilation of window dimension 0")
    bad = make_window((2,), window_dilations=(-1,))
    yield InvalidSample([x, scalar], {**good, "window": bad}, "window dilation of window dimension 0")
    yield InvalidSample([x, scalar], {**good, "window": [(2.5,)]}, "attribute window: an integer is required")
    yield InvalidSample([x, scalar], {**good, "window": [WindowDimension(2, reversal=2)]}, "True or False is required")
    yield InvalidSample([Shape(S32, (3,)), Shape(S32)], good, "to_apply must take")
    yield InvalidSample([x, scalar], {**good, "to_apply": scalar_computation("atan2", F64)}, "to_apply must take")


def _sum_and_product():
    """The sum of integers and the product of floats, in one computation."""
    b = Builder("sum_and_product")
    total, factor, term, value = (b.parameter(Shape(t), n) for t, n in ((S32, "a"), (F64, "b"), (S32, "c"), (F64, "d")))
    return b.build(b.emit("tuple", b.emit("add", total, term), b.emit("multiply", factor, value)))


@select_and_scatter.sampling
def _():
    def comparison(element_type, direction):
        b = Builder(f"{direction.lower()}_{element_type.name}")
        first, second = (b.parameter(Shape(element_type), name) for name in "ab")
        return b.build(b.emit("compare", first, second, direction=direction))

    def attributes(element_type, window, direction="GE", scatter="add"):
        computations = {"select": comparison(element_type, direction), "scatter": scalar_computation(scatter, element_type)}
        return {"window": window, **computations}

    # The figure of XLA: windows of 2x3, side by side, once overlapping, where 9 is selected by two of them.
    operand = np.array([[7, 2, 5, 3, 8, 2], [3, 8, 9, 3, 4, 2], [1, 5, 7, 5, 6, 1], [0, 6, 2, 7, 2, 8]], np.float32)
    source, init_value = np.array([[2, 6], [3, 1]], np.float32), np.float32(0)
    expected = np.zeros((4, 6), np.float32)
    expected[1, 2], expected[0, 4], expected[2, 2], expected[3, 5] = 2, 6, 3, 1
    yield Sample([operand, source, init_value], attributes(F32, make_window((2, 3), (2, 3))), expected=expected)
    overlapping = np.array([[7, 2, 5, 3, 8], [3, 8, 9, 3, 4], [1, 5, 7, 5, 6], [0, 6, 2, 10, 2]], np.float32)
    expected = np.zeros((4, 5), np.float32)
    expected[1, 2], expected[2, 2], expected[3, 3] = 8, 3, 1
    yield Sample([overlapping, source, init_value], attributes(F32, make_window((2, 3), (2, 2))), expected=expected)
    # Of equal elements GE selects the first one, GT the last one.
    equal, ones = np.ones(3, np.int32), np.full(1, 5, np.int32)
    for direction, expected in (("GE", [5, 0, 0]), ("GT", [0, 0, 5])):
        expected = np.array(expected, np.int32)
        yield Sample([equal, ones, np.int32(0)], attributes(S32, make_window((3,)), direction), expected=expected)
    # Windows that hold nothing but padding send their element nowhere.
    outside = make_window((2,), (2,), [(2, 2)])
    expected = np.array([10, 20], np.int32)
    yield Sample(
        [np.array([1, 2], np.int32), np.array([7, 20, 9], np.int32), np.int32(10)],
        attributes(S32, outside, scatter="maximum"),
        expected=expected,
    )
    for element_type in (S32, S8, F64):
        for sizes, window in (
            ((9, 20), make_window((3, 3), (2, 2), [(1, 1), (0, 1)])),
            ((9, 20), make_window((2, 4), (1, 3), [(0, 1), (-1, 2)], (1, 2), (2, 1))),
            ((30,), make_window((4,))),
            ((), ()),
            ((0, 3), make_window((2, 2), padding=[(1, 1), (0, 0)])),
        ):
            array = np.random.default_rng(1).integers(-9, 9, sizes).astype(element_type.dtype)
            sent = Shape(element_type, output_sizes(window, sizes))
            values = np.arange(1, sent.size + 1).reshape(sent.dimensions).astype(element_type.dtype)
            yield Sample([array, values, np.array(1, element_type.dtype)], attributes(element_type, window, "LE"))

    x, sent, scalar, window = Shape(F32, (4,)), Shape(F32, (2,)), Shape(F32), make_window((2,), (2,))
    good = attributes(F32, window)
    yield InvalidSample([x, Shape(S32, (2,)), scalar], good, "source must have the element type of the operand")
    yield InvalidSample([x, Shape(F32, (3,)), scalar], good, r"one element for each place of the window, f32\[2\]")
    yield InvalidSample([x, sent, Shape(F64)], good, r"init_value must be f32\[\]")
    yield InvalidSample([x, sent, sent], good, "init_value must be a scalar")
    yield InvalidSample([x, sent, scalar], {**good, "window": ()}, "window must have 1 dimensions, got 0")
    yield InvalidSample([x, sent, scalar], {**good, "window": make_window((2,), (-2,))}, "stride of window dimension 0")
    yield InvalidSample([x, sent, scalar], {**good, "select": scalar_computation("add", F32)}, "select must return")
    yield InvalidSample([x, sent, scalar], {**good, "select": comparison(S32, "GE")}, "select must take")
    yield InvalidSample([x, sent, scalar], {**good, "scatter": comparison(F32, "GE")}, "scatter must return")
    yield InvalidSample([x, sent, scalar], {**good, "scatter": scalar_computation("add", F64)}, "scatter must take")
