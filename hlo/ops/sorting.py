"""Sort and top-k.

Source of the semantics: "Sort" and "TopK" in XLA's Operation Semantics.
"""

from __future__ import annotations

import numpy as np

from ..attributes import Boolean, CalledComputation, Integer, IntegerList
from ..builder import Builder, scalar_computation
from ..element_type import BF16, C64, F16, F32, F64, PRED, S8, S32, S64, U8, U16, element_type_of
from ..errors import require
from ..operation import ACTUAL_SIZES, APPLIES, InvalidSample, Sample, operation
from ..shape import Shape, TupleShape, merged_dynamic_dimensions
from . import numerics
from .constraints import PRED_SCALAR, one_or_tuple, require_array, require_dimensions, require_kind, require_signature


@operation(
    "sort", "*operands", builder="Sort", traits={APPLIES}, dynamic=ACTUAL_SIZES,
    dimensions=IntegerList(), is_stable=Boolean(False), to_apply=CalledComputation(),
)  # fmt: skip
def sort(*operands, dimensions, is_stable, to_apply):
    """Sort(operands, comparator, dimension, is_stable): sorts along one dimension, all operands together.

    The comparator takes two elements of each operand, in turn, and tells whether the first ones come before the second ones; it
    must be a strict weak order, else the result is some permutation. With ``is_stable`` equal elements keep their order. All
    operands have the same dimensions; the result of several is a tuple. The builder's default is the last dimension and the
    ascending order of the first operand, floats in total order.
    """
    require(len(operands) >= 1, "sort: at least one operand is required")
    for number, array in enumerate(operands):
        require_array("sort", f"operand {number}", array)
        same = array.dimensions == operands[0].dimensions
        require(same, f"sort: all operands must have the same dimensions, got {operands[0]} and {array}")
    require(len(dimensions) == 1, f"sort: one dimension is required, got {len(dimensions)}: {dimensions}")
    require_dimensions("sort", "dimensions", dimensions, operands[0].rank)
    scalars = tuple(Shape(array.element_type) for array in operands for _ in range(2))
    require_signature("sort", "to_apply", to_apply, scalars, PRED_SCALAR)
    dynamic = merged_dynamic_dimensions(operands)
    return one_or_tuple([array.with_dimensions(array.dimensions, dynamic) for array in operands])


@sort.counting
def _(operands, shape, attributes):
    """The comparisons of merging: a power of two of them for each level of halves."""
    (dimension,) = attributes["dimensions"]
    return operands[0].size * max(0, operands[0].dimensions[dimension] - 1).bit_length()


@sort.evaluation
def _(*operands, dimensions, is_stable, to_apply, run, shape):
    """A merge sort of all lines in step."""
    (dimension,) = dimensions
    lines = [np.moveaxis(np.asarray(array), dimension, -1) for array in operands]
    moved, size = lines[0].shape, lines[0].shape[-1]
    if 0 in moved:
        return tuple(map(np.array, operands)) if shape.is_tuple else np.array(operands[0])
    lines = [line.reshape(-1, size) for line in lines]
    width = 1
    while width < size:
        lines = _merged_runs(lines, width, to_apply, run)
        width *= 2
    results = tuple(np.ascontiguousarray(np.moveaxis(line.reshape(moved), -1, dimension)) for line in lines)
    return results if shape.is_tuple else results[0]


def _merged_runs(lines, width, comparator, run):
    """Each two neighbouring sorted runs of this width in each row merged into one.

    Of each element of the second run a binary search tells how many of the first run stay before it. Whatever the comparator
    says, these numbers are made to grow along the run, so that each row is permuted.
    """
    count, size = lines[0].shape
    position = np.arange(size)
    is_second = position // width % 2 == 1
    second = position[is_second]
    first_start = second - second % width - width
    low, high = (np.full((count, len(second)), bound) for bound in (0, width))
    elements = [line[:, second].ravel() for line in lines]
    for _ in range(width.bit_length()):
        middle = (low + high) // 2
        others = (np.take_along_axis(line, first_start + np.minimum(middle, width - 1), 1).ravel() for line in lines)
        pairs = [element for pair in zip(elements, others) for element in pair]
        before = run.elementwise(comparator, *pairs)[0].reshape(low.shape) & (middle < high)
        low, high = np.where(before | (middle >= high), low, middle + 1), np.where(before, middle, high)
    taken = np.zeros((count, size), bool)
    offset = second // (2 * width) * (width + 1)  # so that one run's numbers are above those of the run before
    staying = np.maximum.accumulate(low + offset, axis=1) - offset
    np.put_along_axis(taken, second - width + staying, True, 1)
    source = np.empty((count, size), np.int64)
    source[taken], source[~taken] = np.tile(second, count), np.tile(position[~is_second], count)
    return [np.take_along_axis(line, source, 1) for line in lines]


@operation(
    "topk", "operand", builder="TopK", dynamic=ACTUAL_SIZES,
    k=Integer(), largest=Boolean(True, always_printed=True), is_stable=Boolean(False)
)  # fmt: skip
def topk(operand, *, k, largest, is_stable):
    """TopK(operand, k, largest): the k largest (or smallest) elements along the last dimension, and their s32 positions.

    They come in order, of equal elements the one at the lower position first, whatever ``is_stable`` says. Floats are in total
    order: -0 is less than +0, a positive NaN is larger than all numbers. The result is a tuple of two arrays whose last
    dimension is k; the operand's has at least k elements, at run time too where it is dynamic.
    """
    require_kind("topk", "operand", operand, ("pred", "signed", "unsigned", "float"))
    require(operand.rank >= 1, f"topk: operand must have at least one dimension, got {operand}")
    size = operand.dimensions[-1]
    require(0 <= k <= size, f"topk: k must be in [0, {size}], the size of the last dimension, got {k}")
    dynamic = operand.dynamic_dimensions and (*operand.dynamic_dimensions[:-1], False)
    shape = operand.with_dimensions((*operand.dimensions[:-1], k), dynamic)
    return TupleShape((shape, shape.with_element_type(S32)))


@topk.evaluation
def _(operand, *, k, largest, is_stable):
    operand = np.asarray(operand)
    keys = _ordered(operand)
    if largest:
        # Reversed twice, a stable ascending sort becomes a stable descending one.
        order = operand.shape[-1] - 1 - np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    else:
        order = np.argsort(keys, axis=-1, kind="stable")
    chosen = order[..., :k]
    return np.take_along_axis(operand, chosen, axis=-1), chosen.astype(np.int32)


def _ordered(x):
    """Integers in the order of the elements."""
    if not element_type_of(x.dtype).is_float:
        return x.astype(np.int64) if x.dtype.itemsize < 8 else x
    return numerics.total_order_key(x)


@sort.sampling
def _():
    def comparator(direction, *element_types, type=""):
        """Compares the elements of the first operand."""
        b = Builder("_".join([direction.lower(), *(t.name for t in element_types)]))
        first = [b.parameter(Shape(t)) for t in element_types for _ in range(2)]
        return b.build(b.emit("compare", first[0], first[1], direction=direction, type=type))

    def attributes(dimension, computation, is_stable=False):
        return {"dimensions": (dimension,), "is_stable": is_stable, "to_apply": computation}

    # The example of XLA's Operation Semantics: three operands, sorted by the first one.
    operands = [np.array([3, 1], np.int32), np.array([42, 50], np.int32), np.array([-3.0, 1.1], np.float32)]
    expected = (np.array([1, 3], np.int32), np.array([50, 42], np.int32), np.array([1.1, -3.0], np.float32))
    yield Sample(operands, attributes(0, comparator("LT", S32, S32, F32)), expected=expected)
    table = np.array([[3, 1, 2], [1, 2, 3]], np.float64)
    for dimension, expected in ((0, [[1, 1, 2], [3, 2, 3]]), (1, [[1, 2, 3], [1, 2, 3]])):
        yield Sample([table], attributes(dimension, comparator("LT", F64)), expected=np.array(expected, np.float64))
    keys, values = np.array([2, 1, 2, 1, 2], np.int8), np.arange(5)
    expected = (np.array([1, 1, 2, 2, 2], np.int8), np.array([1, 3, 0, 2, 4]))
    yield Sample([keys, values], attributes(0, comparator("LT", S8, S64), True), expected=expected)
    expected = (np.array([2, 2, 2, 1, 1], np.int8), np.array([0, 2, 4, 1, 3]))
    yield Sample([keys, values], attributes(0, comparator("GT", S8, S64), True), expected=expected)
    special = np.array([np.nan, 1, np.inf, -0.0, 0.0, -np.inf, -np.nan], np.float32)
    expected = special[[6, 5, 3, 4, 1, 2, 0]]
    yield Sample([special], attributes(0, comparator("LT", F32, type="TOTALORDER")), expected=expected)
    for element_type in (F32, F64, F16, BF16):
        total = comparator("LT", element_type, type="TOTALORDER")
        for sizes, dimension in (((3, 40), 1), ((40, 3), 0), ((2, 7, 5), 1), ((300,), 0), ((4, 0), 0), ((0,), 0), ((1, 1), 1)):
            yield Sample([Shape(element_type, sizes)], attributes(dimension, total, True))
    for element_type in (S32, S8, U8, U16, S64, PRED):
        for direction in ("LT", "GT"):
            yield Sample([Shape(element_type, (3, 300))], attributes(1, comparator(direction, element_type), True))
    backwards = comparator("GT", F32, S32, type="TOTALORDER")
    numbers = np.broadcast_to(np.arange(300, dtype=np.int32), (2, 300))
    yield Sample([Shape(F32, (2, 300)), numbers], attributes(1, backwards, True))
    # No plain key: by remainder, and by the modulus of complex numbers.
    b = Builder("by_remainder")
    rests = [b.emit("remainder", b.parameter(Shape(U8)), b.constant(np.uint8(7))) for _ in range(2)]
    yield Sample([Shape(U8, (300,))], attributes(0, b.build(b.emit("compare", *rests, direction="LT")), True))
    b = Builder("by_imaginary_part")
    parts = [b.emit("imag", b.parameter(Shape(C64))) for _ in range(2)]
    by_part = b.build(b.emit("compare", *parts, direction="LT"))
    yield Sample([Shape(C64, (50, 4))], attributes(0, by_part, True))
    b = Builder("by_both")
    a0, a1, b0, b1 = (b.parameter(Shape(t)) for t in (PRED, PRED, S32, S32))
    less, same = b.emit("compare", a0, a1, direction="LT"), b.emit("compare", a0, a1, direction="EQ")
    by_both = b.build(b.emit("or", less, b.emit("and", same, b.emit("compare", b0, b1, direction="GT"))))
    yield Sample([Shape(PRED, (33,)), Shape(S32, (33,))], attributes(0, by_both))

    x, less = Shape(F32, (3,)), comparator("LT", F32)
    good = attributes(0, less)
    yield InvalidSample([], good, "at least one operand is required")
    yield InvalidSample([TupleShape((x,))], good, "operand 0 must be an array")
    yield InvalidSample([x, Shape(F32, (4,))], attributes(0, comparator("LT", F32, F32)), "must have the same dimensions")
    yield InvalidSample([x], {**good, "dimensions": (1,)}, r"dimensions must be in \[0, 1\), got 1")
    yield InvalidSample([Shape(F32, (3, 3))], {**good, "dimensions": (0, 1)}, "one dimension is required, got 2")
    yield InvalidSample([x], {**good, "dimensions": ()}, "one dimension is required, got 0")
    yield InvalidSample([Shape(S32, (3,))], good, "to_apply must take")
    yield InvalidSample([x, Shape(S32, (3,))], attributes(0, comparator("LT", F32)), "to_apply must take")
    yield InvalidSample([x], attributes(0, scalar_computation("add", F32)), "to_apply must return")
    yield InvalidSample([x], {**good, "is_stable": 1}, "True or False is required")


@topk.sampling
def _():
    values = np.array([[3, 1, 4, 1], [5, 9, 2, 9]], np.float32)
    for largest, elements, positions in (
        (True, [[4, 3], [9, 9]], [[2, 0], [1, 3]]),
        (False, [[1, 1], [2, 5]], [[1, 3], [2, 0]]),
    ):
        expected = (np.array(elements, np.float32), np.array(positions, np.int32))
        yield Sample([values], {"k": 2, "largest": largest}, expected=expected)
        yield Sample([values], {"k": 2, "largest": largest, "is_stable": True}, expected=expected)
    yield Sample([values], {"k": 1}, expected=(np.array([[4], [9]], np.float32), np.array([[2], [1]], np.int32)))
    zeros = np.array([-0.0, 0.0, np.nan, 1.0], np.float64)
    for largest, positions in ((True, [2, 3, 1, 0]), (False, [0, 1, 3, 2])):
        expected = (zeros[positions], np.array(positions, np.int32))
        yield Sample([zeros], {"k": 4, "largest": largest}, expected=expected)
    for element_type in (F32, F16, S32, S8, U8, PRED, S64):
        for sizes, k in (((50,), 5), ((3, 20), 20), ((2, 3, 9), 1), ((2, 4), 0), ((0, 4), 2)):
            yield Sample([Shape(element_type, sizes)], {"k": k, "largest": True})
        yield Sample([Shape(element_type, (2, 400))], {"k": 7, "largest": False})
    yield InvalidSample([Shape(F32)], {"k": 0, "largest": True}, "at least one dimension")
    yield InvalidSample([Shape(F32, (2, 3))], {"k": 4, "largest": True}, r"k must be in \[0, 3\]")
    yield InvalidSample([Shape(F32, (2, 3))], {"k": -1, "largest": True}, r"k must be in \[0, 3\]")
    yield InvalidSample([Shape(C64, (3,))], {"k": 1, "largest": True}, "operand must have a pred, signed integer")
