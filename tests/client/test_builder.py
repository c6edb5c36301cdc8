"""The builder of the client interface: errors that wait for Build, and what is built."""

import numpy as np
import pytest
from client_computations import SCALAR, binary, value_of
from phlox.client import ComputationBuilder, ShapeUtil
from phlox.hlo import F32, F64, S32, S64, HloError, Layout, ShapeError


def test_errors_wait_for_build(builder):
    x, y = builder.ConstantR1([1.0, 2.0]), builder.ConstantR1([1.0, 2.0, 3.0])
    wrong = builder.Add(x, y)  # the first error
    assert "empty handle" in repr(wrong)
    assert repr(builder.Slice(builder.Neg(wrong), [7], [3])) == repr(wrong)
    builder.Div(x, x)
    for _ in range(2):
        with pytest.raises(ShapeError, match="add: dimension 0 of .* does not match") as caught:
            builder.Build()
    assert any("computation test" in note and "test_builder.py" in note for note in caught.value.__notes__)
    for question in (lambda: builder.GetShape(x), lambda: builder.SetReturnValue(x), lambda: builder.ComputeConstant(x)):
        with pytest.raises(ShapeError, match="add: "):
            question()


def test_die_immediately_on_error(builder):
    builder.set_die_immediately_on_error(True)
    x = builder.ConstantR0(1.0)
    with pytest.raises(ShapeError, match="not: operand must have"):
        builder.Not(x)
    with pytest.raises(ValueError, match="ConstantR1: values of rank 1"):
        builder.ConstantR1([[1.0]])
    # Nothing was enqueued, and nothing is kept.
    builder.Neg(x)
    assert value_of(builder) == -1.0


def test_what_cpp_rejects_while_it_compiles_is_raised_at_once(builder):
    x = builder.ConstantR1([1.0])
    cases = [
        (lambda: builder.Add(x), "Add.*missing a required argument: 'rhs'"),
        (lambda: builder.Add(x, 1.0), "Add: rhs: a data handle of this builder is required, got float 1.0"),
        (lambda: builder.Neg(np.ones(1)), "Neg: operand: a data handle"),
        (lambda: builder.Tuple(x), "Tuple: elements must be a sequence of data handles"),
        (lambda: builder.Tuple([x, 1]), "Tuple: elements: a data handle"),
        (lambda: builder.ConcatInDim([x, 2.0], 0), "ConcatInDim: operands: a data handle"),
        (lambda: builder.Reduce(x, x, lambda a, b: a, [0]), "Reduce: computation must be a Computation"),
        (lambda: builder.Map([x], "f"), "Map: computation must be a Computation"),
        (lambda: builder.Map([1.0], binary(builder.client, "Add")), "Map: each operand must be a data handle"),
        (lambda: builder.Parameter(0, (3,), "x"), "Parameter: the shape must be a shape"),
        (lambda: builder.ConstantLiteral(1.0), "ConstantLiteral: a Literal is required"),
        (lambda: builder.ConstantR0(0.5, S32), "ConstantR0 of element type s32 cannot hold values of f64"),
        (lambda: builder.GetShape(1.0), "GetShape: a data handle is required"),
        (lambda: builder.Select(x, x), "Select.*missing a required argument: 'on_false'"),
        (lambda: builder.Dot(x, None), "Dot: rhs: a data handle"),
        (lambda: builder.Iota(3, 0), "Iota: shape must be a shape, as ShapeUtil.MakeShape makes it, got int 3"),
        (
            lambda: builder.ConvertElementType(x, "number"),
            "an element type such as F32, or a dtype, is required, 'number' given",
        ),
        (lambda: builder.Parameter("x", SCALAR), "Parameter: the number must be an integer, got 'x'"),
        (lambda: builder.Slice(x, 0, 1), r"Slice\(operand, start_indices, limit_indices, strides\): .*'int'"),
        (lambda: builder.Conditional(x, 1.0, None), r"Conditional\(predicate, arguments\): "),
        (lambda: ComputationBuilder("cpu", "f"), "a Client is required, got str"),
        (lambda: ComputationBuilder(builder.client, None), "a name .str. is required"),
    ]
    for call, message in cases:
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(AttributeError, match="no method 'Frobnicate'"):
        builder.Frobnicate(x)
    with pytest.raises(AttributeError, match="no method 'emit'"):
        builder.emit("negate", x)
    assert value_of(builder).tolist() == [1.0]


def test_handles_belong_to_the_computation_being_built(builder):
    other = ComputationBuilder(builder.client, "other")
    other.Neg(builder.ConstantR0(1.0))
    with pytest.raises(ShapeError, match="Neg: .* is not of the computation other that is being built"):
        other.Build()
    old = builder.ConstantR0(1.0)
    builder.Build()
    builder.Neg(old)
    with pytest.raises(ShapeError, match="is not of the computation test"):
        builder.Build()


def test_a_builder_can_be_used_again(builder):
    builder.ConstantR0(1)
    first = builder.Build()
    builder.Add(builder.ConstantR0(1), builder.ConstantR0(2))
    assert value_of(builder) == 3
    assert builder.client.ExecuteAndTransfer(first).value == 1


def test_parameters_are_numbered(builder):
    builder.Parameter(0, SCALAR, "x")
    builder.Parameter(0, SCALAR, "y")
    with pytest.raises(ShapeError, match="Parameter: computation test has a parameter 0"):
        builder.Build()
    other = ComputationBuilder(builder.client, "other")
    other.Parameter(1, SCALAR, "x")
    with pytest.raises(HloError, match=r"parameters must be numbered 0, 1, ..., got \[1\]"):
        other.Build()
    with pytest.raises(HloError, match="computation empty has no instructions"):
        ComputationBuilder(builder.client, "empty").Build()


def test_questions_about_shapes(builder):
    x, y = builder.ConstantR1([1.0, 2.0], F32), builder.ConstantR0(1)
    shape = ShapeUtil.MakeShape(F32, [2])
    assert builder.GetShape(x) == shape
    assert builder.CheckShape(x, shape) is x
    builder.CheckSameShape(x, builder.Neg(x))
    with pytest.raises(ValueError, match=r"CheckShape: s32\[\] is expected, .* has shape s64\[\]"):
        builder.CheckShape(y, ShapeUtil.MakeShape(S32))
    with pytest.raises(ValueError, match=r"CheckSameShape: f32\[2\] and s64\[\] differ"):
        builder.CheckSameShape(x, y)
    minor = ShapeUtil.MakeShapeWithLayout(F32, [2, 2], [0, 1])
    z = builder.Parameter(0, minor, "z")
    assert builder.CheckShape(z, minor) is builder.CheckShape(z, ShapeUtil.MakeShape(F32, [2, 2])) is z
    with pytest.raises(ValueError, match="CheckShape"):
        builder.CheckShape(z, ShapeUtil.MakeShapeWithLayout(F32, [2, 2], [1, 0]))
    builder.Build()  # none of these is kept as an error of the builder


def test_the_result_is_what_was_enqueued_last_or_set(builder):
    x = builder.ConstantR0(1.0)
    y = builder.Neg(x)
    builder.ConvertElementType(x, F64)  # x itself: there is nothing to convert
    assert value_of(builder) == 1.0
    x = builder.ConstantR0(1.0)
    y = builder.Neg(x)
    builder.SetReturnValue(y)
    builder.Exp(x)
    assert value_of(builder) == -1.0
    builder.SetReturnValue(builder.ConstantR0(1.0))
    builder.SetReturnValue(builder.ConstantR0(2.0))
    assert value_of(builder) == 2.0


def test_sub_builders(builder):
    child = builder.CreateSubBuilder("add")
    child.Add(child.Parameter(0, SCALAR, "a"), child.Parameter(1, SCALAR, "b"))
    add = child.BuildAndNoteError()
    builder.Reduce(builder.ConstantR1([1, 2, 3, 4], F32), builder.ConstantR0(0, F32), add, [0])
    assert value_of(builder) == 10
    with pytest.raises(ValueError, match="is no sub-builder"):
        builder.BuildAndNoteError()


def test_errors_of_sub_builders_are_noted_in_the_parent(builder):
    child = builder.CreateSubBuilder("wrong")
    child.Add(child.Parameter(0, SCALAR, "a"), child.Not(child.ConstantR0(1.0)))
    assert child.BuildAndNoteError() is None
    builder.ConstantR0(1.0)
    with pytest.raises(ShapeError, match="not: operand must have"):
        builder.Build()
    strict = ComputationBuilder(builder.client, "strict")
    strict.set_die_immediately_on_error(True)
    child = strict.CreateSubBuilder("child")
    with pytest.raises(ShapeError, match="not: "):
        child.Not(child.ConstantR0(1.0))


def test_compute_constant(client):
    builder = ComputationBuilder(client, "constants")
    x = builder.Parameter(0, ShapeUtil.MakeShape(S64, [2, 3]), "x")
    size = builder.Mul(builder.ConstantR0(6), builder.ConstantR0(7))
    assert client.Transfer(builder.ComputeConstant(size)).value == 42
    table = builder.ConstantR2([[1, 2, 3], [4, 5, 6]])
    data = builder.ComputeConstant(table, Layout((0, 1)))
    assert client.Transfer(data).Linear().tolist() == [1, 4, 2, 5, 3, 6]
    with pytest.raises(ValueError, match=r"is no constant: it depends on parameter 0 \(x\)"):
        builder.ComputeConstant(builder.Add(table, builder.Neg(x)))
    with pytest.raises(ValueError, match="a layout is for an array"):
        builder.ComputeConstant(builder.Tuple([size]), Layout(()))
    with pytest.raises(ValueError, match="a layout of 2 dimensions"):
        builder.ComputeConstant(table, Layout((0,)))
    # The builder goes on as if nothing had been asked.
    builder.Add(x, table)
    result = client.ExecuteAndTransfer(builder.Build(), [client.TransferToServer(np.ones((2, 3), np.int64))])
    np.testing.assert_array_equal(result.value, [[2, 3, 4], [5, 6, 7]])
