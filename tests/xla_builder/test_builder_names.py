"""The builder has every method of XlaBuilder, and of the ComputationBuilder of 2017 and 2018, that builds an operation."""

import numpy as np
import pytest
from phlox.client import ClientLibrary, ComputationBuilder
from phlox.hlo import (
    C64,
    F32,
    F64,
    OPERATIONS,
    PRED,
    S32,
    U8,
    Shape,
    ShapeError,
    evaluate,
    parse_module,
    scalar_computation,
    shape_of,
)
from phlox.xla_builder import XlaBuilder

UNARY = (
    "Abs Neg Sign Exp Expm1 Log Log1p Sqrt Rsqrt Cbrt Sin Cos Tan Tanh Logistic Erf Ceil Floor Round RoundNearestEven "
    "Real Imag Conj IsFinite Not PopulationCount Clz Acos Acosh Asin Asinh Atan Atanh Cosh Sinh "
    "SqrtF32 SquareF32 ReciprocalF32 Copy OptimizationBarrier"
).split()
BINARY = (
    "Complex Add Sub Mul Div Rem Pow Max Min Atan2 And Or Xor ShiftLeft ShiftRightArithmetic ShiftRightLogical MulHi "
    "Eq Ne Ge Gt Le Lt EqTotalOrder NeTotalOrder GeTotalOrder GtTotalOrder LeTotalOrder LtTotalOrder"
).split()
OTHERS = (
    "Clamp Select ConvertElementType BitcastConvertType ReducePrecision StochasticConvertType Map Compare "
    "Broadcast BroadcastInDim Reshape Collapse Transpose Trans Slice DynamicSlice DynamicUpdateSlice Pad ConcatInDim Rev "
    "Gather Scatter Iota ConstantR0 ConstantR1 ConstantR2 ConstantR3 ConstantR4 ConstantR2FromArray2D ConstantR3FromArray3D "
    "ConstantR4FromArray4D ConstantLiteral GetDimensionSize SetDimensionSize DynamicReshape Reduce ReduceWindow "
    "ReduceWindowWithGeneralPadding SelectAndScatter SelectAndScatterWithGeneralPadding Sort TopK Dot DotGeneral RaggedDot "
    "ScaledDot Conv ConvWithGeneralPadding ConvWithGeneralDimensions ConvGeneral ConvGeneralDilated Fft Cholesky "
    "TriangularSolve BatchNormTraining BatchNormInference BatchNormGrad While Conditional Scan Call CompositeCall Tuple "
    "GetTupleElement Parameter RngUniform RngNormal RngBernoulli RngBitGenerator RngGetAndUpdateState"
).split()


@pytest.mark.parametrize("name", [*UNARY, *BINARY, *OTHERS])
def test_there_is_a_method(name):
    assert callable(getattr(XlaBuilder("f"), name))
    assert callable(getattr(ComputationBuilder(ClientLibrary.ClientLibraryOrDie(), "f"), name))


def test_names_that_are_none():
    with pytest.raises(AttributeError, match="XlaBuilder has no method 'Hypot'"):
        getattr(XlaBuilder("f"), "Hypot")  # noqa: B009
    assert not hasattr(XlaBuilder("f"), "add")


@pytest.mark.parametrize("name", UNARY)
def test_unary_methods_take_one_operand(name):
    operand = np.array([3], np.int32) if name in ("Not", "PopulationCount", "Clz") else np.array([0.5], np.float32)
    b = XlaBuilder("f")
    result = getattr(b, name)(b.parameter(shape_of(operand)))
    assert evaluate(b.build(result), operand).shape == (1,)


@pytest.mark.parametrize("name", BINARY)
def test_binary_methods_broadcast(name):
    is_integer = name in ("And", "Or", "Xor", "MulHi") or name.startswith("Shift")
    dtype = np.int32 if is_integer else np.float32
    matrix, row = np.arange(1, 7).astype(dtype).reshape(2, 3), np.array([3, 2, 1], dtype)
    b = XlaBuilder("f")
    method = getattr(b, name)
    x, y, scalar = (b.parameter(shape_of(operand)) for operand in (matrix, row, row[0]))
    computation = b.build(
        b.Tuple([method(x, y, (1,)), method(y, x, broadcast_dimensions=(1,)), method(x, scalar), method(x, x)])
    )
    direct, turned, with_scalar, same = evaluate(computation, matrix, row, row[0])
    b = XlaBuilder("g")
    first, second = (b.parameter(shape_of(matrix)) for _ in range(2))
    plain = b.build(getattr(b, name)(first, second))
    whole = np.broadcast_to(row, (2, 3)).copy()
    np.testing.assert_array_equal(direct, evaluate(plain, matrix, whole))
    np.testing.assert_array_equal(turned, evaluate(plain, whole, matrix))
    np.testing.assert_array_equal(with_scalar, evaluate(plain, matrix, np.full((2, 3), row[0])))
    np.testing.assert_array_equal(same, evaluate(plain, matrix, matrix))


# --- the names of the preview ---


def value_of(build, *operands):
    b = XlaBuilder("f")
    return evaluate(b.build(build(b, *(b.parameter(shape_of(operand)) for operand in operands))), *operands)


def test_constants():
    b = XlaBuilder("f")
    assert b.ConstantR0(1.5, F32).shape == Shape(F32)
    assert b.ConstantR1([1, 2], S32).shape == Shape(S32, (2,))
    assert evaluate(b.build(b.ConstantR1(3, 7.0, F32))).tolist() == [7, 7, 7]
    assert b.ConstantR2FromArray2D([[1.0, 2.0, 3.0]]).shape == Shape(F64, (1, 3))
    assert b.ConstantR3(np.zeros((1, 2, 3), np.uint8)).shape == Shape(U8, (1, 2, 3))
    assert b.ConstantR4FromArray4D(np.zeros((1, 2, 3, 4), np.complex64)).shape == Shape(C64, (1, 2, 3, 4))
    assert b.ConstantLiteral((np.int32(1), np.zeros(2, np.bool_))).shape.elements == (Shape(S32), Shape(PRED, (2,)))
    for rank, values in ((0, [1]), (1, 1), (2, [1]), (3, [[1]]), (4, [1])):
        with pytest.raises(ShapeError, match=f"ConstantR{rank}: values of rank {rank} are required"):
            getattr(b, f"ConstantR{rank}")(values)


def test_functions_of_f32():
    x = np.array([4, 0.25], np.float32)
    for name, expected in (("SqrtF32", [2, 0.5]), ("SquareF32", [16, 0.0625]), ("ReciprocalF32", [0.25, 4])):
        assert value_of(lambda b, p, name=name: getattr(b, name)(p), x).tolist() == expected
        with pytest.raises(ShapeError, match=rf"{name}: an operand of element type f32 is required, got f64\[2\]"):
            value_of(lambda b, p, name=name: getattr(b, name)(p), x.astype(np.float64))


def test_reshape_with_an_order_of_dimensions():
    """The examples of the preview's section "Reshape": v is f32[4x2x3] of 10, 11, 12, 15, ... 47."""
    v = np.array([[[10, 11, 12], [15, 16, 17]], [[20, 21, 22], [25, 26, 27]], [[30, 31, 32], [35, 36, 37]],
                  [[40, 41, 42], [45, 46, 47]]], np.float32)  # fmt: skip
    in_order = value_of(lambda b, p: b.Reshape(p, (0, 1, 2), (24,)), v)
    assert in_order.tolist() == v.ravel().tolist() and in_order[:7].tolist() == [10, 11, 12, 15, 16, 17, 20]
    assert value_of(lambda b, p: b.Reshape(p, (0, 1, 2), (8, 3)), v)[:2].tolist() == [[10, 11, 12], [15, 16, 17]]
    out_of_order = value_of(lambda b, p: b.Reshape(p, (1, 2, 0), (24,)), v)
    assert out_of_order.tolist() == [10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42,
                                     15, 25, 35, 45, 16, 26, 36, 46, 17, 27, 37, 47]  # fmt: skip
    assert value_of(lambda b, p: b.Reshape(p, (1, 2, 0), (8, 3)), v).tolist() == [
        [10, 20, 30], [40, 11, 21], [31, 41, 12], [22, 32, 42], [15, 25, 35], [45, 16, 26], [36, 46, 17], [27, 37, 47],
    ]  # fmt: skip
    assert value_of(lambda b, p: b.Reshape(p, (1, 2, 0), (2, 6, 2)), v)[0, 1].tolist() == [30, 40]
    collapsed = value_of(lambda b, p: b.Collapse(p, (0, 1, 2)), v)
    assert collapsed.tolist() == v.ravel().tolist()
    assert value_of(lambda b, p: b.Collapse(p, (1, 2)), v).shape == (4, 6)
    assert value_of(lambda b, p: b.Collapse(p, (0, 1)), v).shape == (8, 3)
    for dimensions in ((0, 2), (1, 0), (2, 3), (-1, 0)):
        with pytest.raises(ShapeError, match="collapse: dimensions must be consecutive"):
            value_of(lambda b, p, dimensions=dimensions: b.Collapse(p, dimensions), v)
    with pytest.raises(ShapeError, match="ConstantR1: the length must be an integer"):
        XlaBuilder("f").ConstantR1([1], 2, F32)
    with pytest.raises(ShapeError, match="transpose"):
        value_of(lambda b, p: b.Reshape(p, (1, 1, 0), (24,)), v)


def test_transposed_matrices():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(value_of(lambda b, p: b.Trans(p), x), x.T)
    with pytest.raises(ShapeError, match="Trans: a matrix is required"):
        value_of(lambda b, p: b.Trans(p), x[0])


def test_conjugates():
    z = np.array([1 + 2j, -3j, 4 - 0j], np.complex64)
    np.testing.assert_array_equal(value_of(lambda b, p: b.Conj(p), z), np.conj(z))
    np.testing.assert_array_equal(value_of(lambda b, p: b.Conj(p), z.real), z.real)


def test_select_between_tuples():
    pairs = [(np.float32(side), np.arange(2, dtype=np.int32) + side) for side in (1, 2)]
    for pred, expected in ((True, pairs[0]), (False, pairs[1])):
        result = value_of(lambda b, p, t, f: b.Select(p, t, f), np.bool_(pred), *pairs)
        assert result[0] == expected[0] and result[1].tolist() == expected[1].tolist()


def test_composite_call():
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32))
    double = scalar_computation("add", F32)
    call = b.CompositeCall(double, [x, x], "foo.bar", '{n = 1 : i32, s = "a,b"}', 1)
    module = b.build_module(call)
    attributes = (
        'frontend_attributes={composite.attributes={n = 1 : i32, s = "a,b"},composite.name="foo.bar",composite.version="1"}'
    )
    assert f"to_apply=%add_f32, is_composite=true, {attributes}" in module.as_text()
    again = parse_module(module.as_text())
    assert again.as_text() == module.as_text() and evaluate(again.entry, np.float32(3)) == 6
    with pytest.raises(ShapeError, match="composite_attributes must be the text of a dictionary"):
        b.CompositeCall(double, [x, x], "foo.bar", "n = 1")
    with pytest.raises(ShapeError, match="a name is required"):
        b.CompositeCall(double, [x, x], "")


# --- the preview's "Broadcasting semantics" ---


@pytest.mark.parametrize(
    ("lhs", "rhs", "dimensions", "result"),
    [
        ((2, 3), (), (), (2, 3)),
        ((2, 3), (3,), (1,), (2, 3)),
        ((2, 3), (2,), (0,), (2, 3)),
        ((4, 3, 2), (4,), (0,), (4, 3, 2)),
        ((4, 2), (3, 4, 2), (1, 2), (3, 4, 2)),
        ((3, 2, 5), (2, 5), (1, 2), (3, 2, 5)),
        ((2, 1), (2, 3), (), (2, 3)),
        ((1, 2, 5), (7, 2, 5), (), (7, 2, 5)),
        ((1, 2), (4, 1), (), (4, 2)),
        ((2, 3, 1), (3,), (1,), (2, 3, 1)),
        ((4, 1, 6), (5,), (1,), (4, 5, 6)),
        ((1, 2), (4, 3, 1), (1, 2), (4, 3, 2)),
        ((1, 2), (4, 3, 1), (0, 2), (4, 3, 2)),
    ],
)
def test_broadcasting(lhs, rhs, dimensions, result):
    """By the dimensions that are named, then along those of size 1; both in one step."""
    b = XlaBuilder("f")
    x, y = b.parameter(Shape(S32, lhs)), b.parameter(Shape(S32, rhs))
    assert b.Add(x, y, dimensions).shape.dimensions == result
    assert b.Add(y, x, dimensions).shape.dimensions == result


@pytest.mark.parametrize(
    ("lhs", "rhs", "dimensions", "message"),
    [
        ((2, 3), (3,), (), "differ in rank: broadcast_dimensions must name 1"),
        ((2, 3), (3,), (0,), "sizes must be equal or 1"),
        ((2, 3), (3,), (0, 1), "broadcast_dimensions must name 1"),
        ((2, 3), (3,), (2,), r"must be strictly increasing and in \[0, 2\)"),
        ((2, 3), (3,), (-1,), r"must be strictly increasing and in \[0, 2\)"),
        ((4, 3, 2), (3, 4), (1, 0), "must be strictly increasing"),
        ((4, 4, 2), (4, 4), (0, 0), "must be strictly increasing"),
        ((2, 3), (3, 2), (), "sizes must be equal or 1"),
        ((2, 3), (2, 3), (1, 0), "of the same rank"),
        ((2, 3), (4, 3), (), "sizes must be equal or 1"),
        ((2, 5), (1, 8, 5), (1, 2), "sizes must be equal or 1"),
    ],
)
def test_illegal_broadcasting(lhs, rhs, dimensions, message):
    b = XlaBuilder("f")
    x, y = b.parameter(Shape(F32, lhs)), b.parameter(Shape(F32, rhs))
    for pair in ((x, y), (y, x)):
        with pytest.raises(ShapeError, match=message):
            b.Add(*pair, dimensions)


def test_broadcast_values():
    """The preview's example: a matrix and a vector, matched to its columns or its rows."""
    matrix, vector = np.array([[1, 2, 3], [4, 5, 6]], np.int32), np.array([7, 8, 9], np.int32)
    assert value_of(lambda b, x, y: b.Add(x, y, (1,)), matrix, vector).tolist() == [[8, 10, 12], [11, 13, 15]]
    assert value_of(lambda b, x, y: b.Add(x, y, (0,)), matrix, vector[:2]).tolist() == [[8, 9, 10], [12, 13, 14]]


def test_every_operation_has_its_methods():
    """Those that its record names; each method belongs to one operation."""
    b = XlaBuilder("f")
    named = [name for record in OPERATIONS.values() for name in (record.builder, *record.aliases)]
    assert all(callable(getattr(b, name)) for name in named)
    assert len(named) == len(set(named))
    assert {name for name in dir(XlaBuilder) if name[0].isupper()} <= set(named)
