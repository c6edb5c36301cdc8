"""Shapes, layouts and literals of the client interface."""

import numpy as np
import pytest
from client_computations import SCALAR
from phlox.client import LayoutUtil, Literal, LiteralUtil, ShapeUtil
from phlox.hlo import BF16, C64, F32, F64, PRED, S8, S32, S64, U8, Layout, Shape

# --- shapes and layouts ---


def test_shapes():
    assert str(ShapeUtil.MakeShape(F32, [4, 6])) == "f32[4,6]"
    assert (
        ShapeUtil.MakeShape("float32", (2,)) == ShapeUtil.MakeShape(F32, [2]) == ShapeUtil.MakeShape(np.float32, [np.int8(2)])
    )
    shape = ShapeUtil.MakeShapeWithLayout(S8, [1, 5, 1, 3], [0, 1, 2, 3])
    assert (ShapeUtil.Rank(shape), ShapeUtil.TrueRank(shape), ShapeUtil.ElementsIn(shape)) == (4, 2, 15)
    assert ShapeUtil.ByteSizeOf(ShapeUtil.MakeShape(F64, [3])) == 24
    assert ShapeUtil.HumanString(shape) == "s8[1,5,1,3]"
    pair = ShapeUtil.MakeTupleShape([shape, SCALAR])
    assert str(pair) == "(s8[1,5,1,3]{0,1,2,3}, f32[])"


def test_shapes_are_equal_up_to_layout_or_wholly():
    plain, minor, major = (
        ShapeUtil.MakeShape(F32, [2, 3]),
        ShapeUtil.MakeShapeWithLayout(F32, [2, 3], [0, 1]),
        ShapeUtil.MakeShapeWithLayout(F32, [2, 3], [1, 0]),
    )
    assert ShapeUtil.Compatible(plain, minor) and not ShapeUtil.Equal(plain, minor)
    assert ShapeUtil.Equal(plain, major)
    assert not ShapeUtil.Equal(ShapeUtil.MakeTupleShape([plain]), ShapeUtil.MakeTupleShape([minor]))
    assert not ShapeUtil.Equal(ShapeUtil.MakeTupleShape([plain]), plain)


def test_layouts():
    minor, major = LayoutUtil.MakeLayout([0, 1, 2]), LayoutUtil.MakeLayout([2, 1, 0])
    assert LayoutUtil.IsMonotonicWithDim0Minor(minor) and not LayoutUtil.IsMonotonicWithDim0Major(minor)
    assert LayoutUtil.IsMonotonicWithDim0Major(major) and not LayoutUtil.IsMonotonicWithDim0Minor(major)
    assert LayoutUtil.GetDefaultLayoutForShape(ShapeUtil.MakeShape(F32, [2, 3, 4])) == major
    padded = LayoutUtil.MakeLayout([0, 1], padded_dimensions=[3, 5])
    assert LayoutUtil.IsPadded(ShapeUtil.MakeShapeWithLayout(F32, [2, 3], padded))
    assert not LayoutUtil.IsPadded(ShapeUtil.MakeShapeWithLayout(F32, [3, 5], padded))
    assert not LayoutUtil.IsPadded(SCALAR)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ShapeUtil.MakeShape(F32, [-1]), ValueError, "must not be negative, got -1"),
        (lambda: ShapeUtil.MakeShape(F32, [2.0]), TypeError, "must be integers, got 2.0"),
        (lambda: ShapeUtil.MakeShape("string", []), TypeError, "an element type such as F32"),
        (lambda: ShapeUtil.MakeShape(object, []), TypeError, "an element type such as F32"),
        (lambda: ShapeUtil.MakeTupleShape([F32]), TypeError, "element 0 must be a shape"),
        (lambda: LayoutUtil.MakeLayout([1, 2]), ValueError, "must hold 0 to 1 once each"),
        (lambda: LayoutUtil.MakeLayout([0, 1], [3]), ValueError, "2 padded_dimensions are required"),
        (lambda: ShapeUtil.MakeShapeWithLayout(F32, [2], [0, 1]), ValueError, "a layout of 1 dimensions"),
        (lambda: Layout((0, 0)), ValueError, r"must hold 0 to 1 once each, got \(0, 0\)"),
        (
            lambda: Shape(F32, (2,), Layout((1, 0))),
            ValueError,
            r"a layout of 1 dimensions is required for f32\[2\], got \{1,0\}",
        ),
        (lambda: Shape(F32, (4,), Layout((0,), (3,))), ValueError, r"dimension 0 of f32\[4\] cannot be padded to 3"),
        (lambda: Literal([1.0], 3), TypeError, "a layout, as LayoutUtil.MakeLayout makes it, is required, got int 3"),
        (lambda: Literal(np.ma.array([1.0])), TypeError, "a literal: an array without a mask is required"),
        (
            lambda: Literal([[1.0], [2.0, 3.0]]),
            ValueError,
            "a literal: an array is required, the list given has elements",
        ),
        (lambda: LiteralUtil.CreateFromShape(3), TypeError, "CreateFromShape: the shape must be a shape"),
        (lambda: Literal((1.0,)).Relayout(Shape(F32)), ValueError, r"the value is \(f64\[\]\), which cannot be had as f32\[\]"),
        (
            lambda: ShapeUtil.MakeShapeWithLayout(F32, [4], LayoutUtil.MakeLayout([0], [3])),
            ValueError,
            r"dimension 0 of f32\[4\] cannot be padded to 3",
        ),
    ],
)
def test_bad_shapes(make, error, message):
    with pytest.raises(error, match=message):
        make()


# --- literals ---


@pytest.mark.parametrize(
    ("create", "values"),
    [("CreateR0", 5), ("CreateR1", [1, 2]), ("CreateR2", [[1], [2]]), ("CreateR3", [[[1]]]), ("CreateR4", [[[[1, 2]]]])],
)
def test_literals_of_each_rank(create, values):
    literal = getattr(LiteralUtil, create)(values, U8)
    assert literal.shape == ShapeUtil.MakeShape(U8, np.shape(values)) and literal.element_type is U8
    np.testing.assert_array_equal(np.asarray(literal), np.array(values, np.uint8), strict=True)
    assert np.asarray(literal, np.float32).dtype == np.float32
    with pytest.raises(ValueError, match=f"{create}: values of rank {create[-1]} are required"):
        getattr(LiteralUtil, create)([[[[[1]]]]], U8)


def test_types_of_literals():
    assert LiteralUtil.CreateR0(1).element_type is S64 and LiteralUtil.CreateR0(1.0).element_type is F64
    assert LiteralUtil.CreateR0(True).element_type is PRED and LiteralUtil.CreateR0(1, C64).element_type is C64
    assert LiteralUtil.CreateR1([0.1, 1e9], BF16).element_type is BF16
    assert Literal(np.arange(3, dtype=">i4")).element_type is S32


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LiteralUtil.CreateR0(1.5, S32), TypeError, "element type s32 cannot hold values of f64"),
        (lambda: LiteralUtil.CreateR0(1j, F32), TypeError, "cannot hold values of c128"),
        (lambda: LiteralUtil.CreateR0(2, PRED), TypeError, "element type pred cannot hold values of s64"),
        (lambda: LiteralUtil.CreateR1([1, -1], U8), ValueError, "element type u8 holds 0 to 255, got -1"),
        (lambda: LiteralUtil.CreateR1([0, 128], S8), ValueError, "holds -128 to 127, got 128"),
        (lambda: LiteralUtil.CreateR0("one"), TypeError, "numbers or truth values"),
        (lambda: Literal((1, 2), Layout((0,))), ValueError, "a tuple has no layout of its own"),
        (lambda: Literal([1, 2], Layout((0, 1))), ValueError, "a layout of 1 dimensions is required"),
        (lambda: LiteralUtil.MakeTuple([LiteralUtil.CreateR0(1)]).Get(0), TypeError, "Get requires an array"),
        (lambda: LiteralUtil.MakeTuple([]).element_type, TypeError, "requires an array"),
        (lambda: LiteralUtil.CreateR0(1).tuple_literals, TypeError, "a tuple literal is required"),
    ],
)
def test_bad_literals(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_get_and_set():
    literal = LiteralUtil.CreateR2([[1, 2, 3], [4, 5, 6]], S8)
    literal.Set([1, 0], -7)
    assert literal.Get([1, 0]) == -7 and literal.Get((0, 2)) == 3
    assert isinstance(literal.Get([0, 0]), np.int8)
    for index in ([2, 0], [-1, 0], [0], [0, 0, 0]):
        with pytest.raises(IndexError, match="is outside of s8"):
            literal.Get(index)
    with pytest.raises(TypeError, match="an integer for each dimension"):
        literal.Get([0.0, 1])
    with pytest.raises(ValueError, match="holds -128 to 127, got 1000"):
        literal.Set([0, 0], 1000)
    with pytest.raises(TypeError, match="cannot hold values of f64"):
        literal.Set([0, 0], 0.5)
    with pytest.raises(ValueError, match="one element is required"):
        literal.Set([0, 0], [1, 2])
    np.testing.assert_array_equal(literal.value, [[1, 2, 3], [-7, 5, 6]])
    scalar = LiteralUtil.CreateR0(1.5)
    scalar.Set([], 2.5)
    assert scalar.Get() == 2.5


def test_a_literal_has_its_own_copy():
    array = np.zeros(3)
    literal = Literal(array)
    array[0] = literal.value[1] = np.asarray(literal)[2] = 1
    assert literal == LiteralUtil.CreateR1([0.0, 0.0, 0.0])


def test_literals_of_tuples_have_layouts():
    column_major = ShapeUtil.MakeTupleShape([ShapeUtil.MakeShapeWithLayout(F32, [2, 3], [0, 1]), SCALAR])
    zeros = LiteralUtil.CreateFromShape(column_major)
    assert zeros.shape == column_major and not any(array.any() for array in zeros.arrays())
    zeros.tuple_literals[0].Set((0, 1), 5.0)
    assert zeros.tuple_literals[0].Linear().tolist() == [0, 0, 5, 0, 0, 0]
    again = Literal(zeros.value).Relayout(column_major)
    assert again == zeros and again.shape == column_major


def test_equality_of_literals():
    one = LiteralUtil.CreateR1([1.0])
    assert one == one.Relayout(Layout((0,))) and one != LiteralUtil.CreateR1([1.0], F32) and one != LiteralUtil.CreateR1([2.0])
    assert LiteralUtil.MakeTuple([one]) == Literal(([1.0],)) != LiteralUtil.MakeTuple([one, one])
    assert Literal(np.nan) != Literal(np.nan)
    assert one != 1.0


def test_literals_in_memory():
    """The examples of the section Layout: [2 x 3] in both orders, and padded to [3 x 5]; a to f are 1 to 6."""
    letters = np.array([[1, 2, 3], [4, 5, 6]])
    assert Literal(letters, LayoutUtil.MakeLayout([0, 1])).Linear().tolist() == [1, 4, 2, 5, 3, 6]
    assert Literal(letters, LayoutUtil.MakeLayout([1, 0])).Linear().tolist() == [1, 2, 3, 4, 5, 6]
    assert Literal(letters).Linear().tolist() == [1, 2, 3, 4, 5, 6]
    padded = Literal(letters, LayoutUtil.MakeLayout([0, 1], [3, 5], 0))
    assert padded.Linear().tolist() == [1, 4, 0, 2, 5, 0, 3, 6, 0, 0, 0, 0, 0, 0, 0]
    sevens = Literal(letters, LayoutUtil.MakeLayout([1, 0], [2, 4], 7))
    assert sevens.Linear().tolist() == [1, 2, 3, 7, 4, 5, 6, 7]
