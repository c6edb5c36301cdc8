"""The operations of the preview's interface, where they differ from XlaBuilder's or the document has an example."""

import inspect

import numpy as np
import phlox.client
import pytest
from client_computations import SCALAR, binary, value_of
from phlox.client import ComputationBuilder, Literal, LiteralUtil, Padding, PaddingConfigDimension, ShapeUtil
from phlox.hlo import F32, OPERATIONS, S8, S32, U8, U32
from phlox.runtime import Environment, register_custom_call, unregister_custom_call
from phlox.xla_builder import XlaBuilder


def test_trace(client, capfd):
    builder = ComputationBuilder(client, "traced")
    x = builder.ConstantR1([1, 2])
    builder.Trace("x is", builder.Neg(x))
    assert value_of(builder, client).tolist() == [-1, -2]  # a trace is no result
    assert capfd.readouterr().out == "x is: [-1 -2]\n"
    for arguments in ((1, x), ("x", 1)):
        with pytest.raises(TypeError, match="Trace: .* must be a"):
            builder.Trace(*arguments)


def test_infeed_and_outfeed(client):
    """Two infeeds, in order, and both sent back with their sum."""
    shape = ShapeUtil.MakeShape(F32, [2])
    builder = ComputationBuilder(client, "feeds")
    first, second = builder.Infeed(shape), builder.Infeed(ShapeUtil.MakeTupleShape([shape, SCALAR]))
    total = builder.Add(first, builder.GetTupleElement(second, 0))
    builder.Outfeed(builder.Tuple([first, second]), outfeed_config="both")
    builder.Outfeed(total)
    builder.SetReturnValue(total)
    computation = builder.Build()
    x, pair = LiteralUtil.CreateR1([1, 2], F32), Literal((np.float32([10, 20]), np.float32(5)))
    with Environment().active():
        client.TransferToInfeed(x)
        client.TransferToInfeed(pair)
        assert client.ExecuteAndTransfer(computation).value.tolist() == [11, 22]
        assert client.TransferFromOutfeed() == LiteralUtil.MakeTuple([x, pair])
        assert client.TransferFromOutfeed(ShapeUtil.MakeShapeWithLayout(F32, [2], [0])).value.tolist() == [11, 22]
        client.TransferToInfeed(np.float64([1, 2]))
        with pytest.raises(TypeError, match=r"the program takes a value of shape f32\[2\], but one of shape f64\[2\]"):
            client.Execute(computation)


def test_custom_calls(client):
    builder = ComputationBuilder(client, "calls")
    x = builder.ConstantR1([1, 2], F32)
    builder.CustomCallOp("test_client.plus", [x, builder.Neg(x)], ShapeUtil.MakeShape(F32, [2]))
    computation = builder.Build()
    with pytest.raises(NotImplementedError, match="test_client.plus"):
        client.Execute(computation)
    register_custom_call("test_client.plus", lambda a, b: a + 2 * b)
    try:
        assert client.ExecuteAndTransfer(computation).value.tolist() == [-1, -2]
    finally:
        unregister_custom_call("test_client.plus")
    with pytest.raises(TypeError, match="CustomCallOp: shape must be a shape"):
        builder.CustomCallOp("f", [], (2,))
    with pytest.raises(TypeError, match="CustomCallOp: each operand must be a data handle"):
        builder.CustomCallOp("f", [1], SCALAR)


def test_constants(builder):
    constants = [
        builder.ConstantR0(1, S8),
        builder.ConstantR1([1, 2]),
        builder.ConstantR1(3, 0.5, F32),
        builder.ConstantR2([[1, 2], [3, 4]], U8),
        builder.ConstantR2FromArray2D(np.eye(2)),
        builder.ConstantR3FromArray3D(np.zeros((1, 2, 3), np.int32)),
        builder.ConstantR4FromArray4D(np.zeros((1, 1, 2, 1), bool)),
        builder.ConstantLiteral(LiteralUtil.MakeTuple([LiteralUtil.CreateR0(5)])),
    ]
    builder.Tuple(constants)
    result = value_of(builder)
    assert [str(builder_shape) for builder_shape in Literal(result).shape.elements] == [
        "s8[]", "s64[2]", "f32[3]", "u8[2,2]", "f64[2,2]", "s32[1,2,3]", "pred[1,1,2,1]", "(s64[])",
    ]  # fmt: skip
    assert result[2].tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda builder: builder.ConstantR1(-1, 1.0), "the length must not be negative, got -1"),
        (lambda builder: builder.ConstantR2([1]), "ConstantR2: values of rank 2 are required, got rank 1"),
        (lambda builder: builder.ConstantR0(300, U8), "ConstantR0 of element type u8 holds 0 to 255, got 300"),
    ],
)
def test_bad_constants(builder, make, message):
    make(builder)
    with pytest.raises(ValueError, match=message):
        builder.Build()


def test_dtypes_stand_for_element_types(builder):
    x = builder.ConstantR1([1.5, 2.5])
    for wanted in (F32, np.float32, "float32", np.dtype("<f4")):
        assert builder.GetShape(builder.ConvertElementType(x, wanted)) == ShapeUtil.MakeShape(F32, [2])


def test_dot_of_any_ranks(client):
    """The table of Dot: scalars, vectors, matrices, and [p x q x r] with [s x r x t]."""
    random = np.random.default_rng(5)
    shapes = [((), ()), ((3,), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 5, 3), (4, 3, 2)), ((3,), (4, 3, 2))]
    for shape in shapes:
        left, right = (random.integers(-4, 5, size).astype(np.float32) for size in shape)
        builder = ComputationBuilder(client, "dot")
        builder.Dot(builder.ConstantLiteral(Literal(left)), builder.ConstantLiteral(Literal(right)))
        np.testing.assert_array_equal(value_of(builder, client), np.dot(left, right))


def test_map_with_static_operands(client):
    builder = ComputationBuilder(client, "scale")
    a, factor = builder.Parameter(0, SCALAR, "a"), builder.Parameter(1, ShapeUtil.MakeShape(S32), "factor")
    builder.Mul(a, builder.ConvertElementType(factor, F32))
    scale = builder.Build()
    builder.Map([builder.ConstantR1([1, 2, 3], F32)], scale, [builder.ConstantR0(10, S32)])
    assert value_of(builder, client).tolist() == [10, 20, 30]
    builder.Map([builder.ConstantR1([1], F32)], scale, [builder.ConstantR1([10], S32)])
    with pytest.raises(NotImplementedError, match=r"static operands that are no scalars, such as s32\[1\]"):
        builder.Build()


def test_pad(client):
    builder = ComputationBuilder(client, "pad")
    builder.Pad(builder.ConstantR1([1, 2, 3]), builder.ConstantR0(0), [PaddingConfigDimension(2, 1, 1)])
    assert value_of(builder, client).tolist() == [0, 0, 1, 0, 2, 0, 3, 0]


def test_reduce_window(client):
    """The example of ReduceWindow: the maximum of windows [2 x 3] of a matrix [4 x 6]."""
    maximum = binary(client, "Max")
    builder = ComputationBuilder(client, "reduce_window_2x3")
    matrix = builder.Parameter(0, ShapeUtil.MakeShape(F32, [4, 6]), "input")
    lowest = builder.ConstantR0(np.finfo(np.float32).min)
    builder.ReduceWindow(matrix, lowest, maximum, [2, 3], [2, 3], Padding.kValid)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    result = client.ExecuteAndTransfer(builder.Build(), [client.TransferToServer(x)])
    assert result.value.tolist() == [[8, 11], [20, 23]]


def test_reshape_and_collapse_of_the_document(client):
    """Of {1, 2, 0} the dimension varies most slowly that comes first; the preview prints another order, later editions this."""
    rows = [[[tens + ones for ones in row] for row in ((0, 1, 2), (5, 6, 7))] for tens in (10, 20, 30, 40)]
    in_order = [10, 11, 12, 15, 16, 17, 20, 21, 22, 25, 26, 27, 30, 31, 32, 35, 36, 37, 40, 41, 42, 45, 46, 47]
    out_of_order = [10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42, 15, 25, 35, 45, 16, 26, 36, 46, 17, 27, 37, 47]
    cases = [
        (lambda b, x: b.Reshape(x, [0, 1, 2], [24]), in_order),
        (lambda b, x: b.Reshape(x, [1, 2, 0], [24]), out_of_order),
        (lambda b, x: b.Reshape(x, [1, 2, 0], [8, 3]), [out_of_order[i : i + 3] for i in range(0, 24, 3)]),
        (lambda b, x: b.Collapse(x, [0, 1, 2]), in_order),
        (lambda b, x: b.Collapse(x, [0, 1]), [in_order[i : i + 3] for i in range(0, 24, 3)]),
        (lambda b, x: b.Collapse(x, [1, 2]), [in_order[i : i + 6] for i in range(0, 24, 6)]),
        (lambda b, x: b.Trans(b.Collapse(x, [1, 2])), [in_order[i::6] for i in range(6)]),
    ]
    for operation, expected in cases:
        builder = ComputationBuilder(client, "reshape")
        operation(builder, builder.ConstantLiteral(Literal(rows)))
        assert value_of(builder, client).tolist() == expected


def test_while_of_the_document(client):
    """Adds a constant vector to an accumulator 1000 times."""
    state = ShapeUtil.MakeTupleShape([ShapeUtil.MakeShape(S32), ShapeUtil.MakeShape(F32, [10])])
    builder = ComputationBuilder(client, "condition")
    builder.Lt(builder.GetTupleElement(builder.Parameter(0, state, "state"), 0), builder.ConstantR0(1000, S32))
    condition = builder.Build()
    builder = ComputationBuilder(client, "body")
    before = builder.Parameter(0, state, "state")
    iteration = builder.Add(builder.GetTupleElement(before, 0), builder.ConstantR0(1, S32))
    vector = builder.Add(builder.GetTupleElement(before, 1), builder.ConstantR1(10, 0.25, F32))
    builder.Tuple([iteration, vector])
    body = builder.Build()
    builder = ComputationBuilder(client, "loop")
    builder.While(condition, body, builder.Tuple([builder.ConstantR0(0, S32), builder.ConstantR1(10, 0.0, F32)]))
    count, total = value_of(builder, client)
    assert count == 1000 and total.tolist() == [250.0] * 10


def test_convolution_dimension_numbers(client):
    numbers = ComputationBuilder.CreateDefaultConvDimensionNumbers()
    builder = ComputationBuilder(client, "convolution")
    x, kernel = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2), np.float32)
    operands = builder.ConstantR4FromArray4D(x), builder.ConstantR4FromArray4D(kernel)
    builder.ConvWithGeneralDimensions(*operands, [1, 1], Padding.kValid, numbers)
    assert value_of(builder, client).tolist() == [[[[8, 12], [20, 24]]]]
    with pytest.raises(ValueError):
        ComputationBuilder.CreateConvDimensionNumbers(0, 0, 2, 3, 0, 1, 2, 3)


INTERFACE_OF_THE_PREVIEW = (
    "client name set_die_immediately_on_error Parameter GetShape CheckShape CheckSameShape ConstantLiteral "
    "ConstantR0 ConstantR1 ConstantR2 ConstantR2FromArray2D ConstantR3FromArray3D ConstantR4FromArray4D Broadcast "
    "Pad Reshape Collapse Slice ConcatInDim Trace Select Tuple GetTupleElement Eq Ne Ge Gt Lt Le Dot "
    "kConvBatchDimension kConvFeatureDimension kConvFirstSpatialDimension kConvSecondSpatialDimension "
    "kConvKernelOutputDimension kConvKernelInputDimension kConvKernelFirstSpatialDimension "
    "kConvKernelSecondSpatialDimension CreateDefaultConvDimensionNumbers CreateConvDimensionNumbers Conv "
    "ConvWithGeneralPadding ConvWithGeneralDimensions ConvGeneral Infeed CustomCallOp Add Sub Mul Div Rem Max Min "
    "Reduce ReduceWindow ReduceWindowWithGeneralPadding SelectAndScatter SelectAndScatterWithGeneralPadding Exp "
    "Floor Ceil Log Tanh SqrtF32 SquareF32 Pow ConvertElementType ReciprocalF32 Neg Trans Rev Sort Clamp Map "
    "RngNormal RngUniform RngBernoulli While ComputeConstant CreateSubBuilder SetReturnValue Build "
    "BuildAndNoteError "
).split()


@pytest.mark.parametrize("name", INTERFACE_OF_THE_PREVIEW)
def test_the_interface_of_the_preview_is_whole(builder, name):
    assert hasattr(builder, name) and name in dir(builder)


def test_random_numbers(client):
    builder = ComputationBuilder(client, "random")
    zero, one = builder.ConstantR0(0, F32), builder.ConstantR0(1, F32)
    shape = ShapeUtil.MakeShape(F32, [1000])
    coins = builder.RngBernoulli(builder.ConstantR0(0.25, F32), ShapeUtil.MakeShape(U32, [1000]))
    builder.Tuple([builder.RngUniform(zero, one, shape), builder.RngNormal(zero, one, shape), coins])
    with Environment(seed=1).active():
        uniform, normal, coins = value_of(builder, client)
    assert 0 <= uniform.min() < 0.01 and 0.99 < uniform.max() < 1 and abs(uniform.mean() - 0.5) < 0.05
    assert abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1
    assert coins.dtype == np.uint32 and set(coins.tolist()) == {0, 1} and abs(coins.mean() - 0.25) < 0.05


def test_every_operation_of_the_language_is_a_method(builder):
    for record in OPERATIONS.values():
        assert callable(getattr(builder, record.builder)) and record.builder in dir(builder)
    for name in (name for name in dir(XlaBuilder) if name[0].isupper()):
        assert callable(getattr(builder, name))


def test_methods_say_what_they_are(builder):
    assert builder.Add.__name__ == "Add" and "the sum" in builder.Add.__doc__
    assert (
        "ReduceWindow(operands..., init_values..." in builder.ReduceWindow.__doc__ and '"SAME"' in builder.ReduceWindow.__doc__
    )
    assert list(inspect.signature(builder.Add).parameters) == ["lhs", "rhs", "broadcast_dimensions"]


def test_the_package_names_what_it_exports():
    assert all(hasattr(phlox.client, name) for name in phlox.client.__all__)
