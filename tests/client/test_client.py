"""The client of the 2017 preview: its sample, data on the server, execution."""

import gc
import weakref

import device_with_memory
import numpy as np
import pytest
from client_computations import SCALAR, binary, sums_of_threads
from phlox.client import (
    Client,
    ClientLibrary,
    ComputationBuilder,
    ComputationInstance,
    ExecutionProfile,
    Literal,
    LiteralUtil,
    ShapeUtil,
)
from phlox.hlo import C64, F32, S32, S64, U8, Layout, Shape
from phlox.runtime import Environment


@pytest.fixture(params=["cpu", "reference", device_with_memory.NAME])
def client(request, registered):
    if request.param == device_with_memory.NAME:
        device_with_memory.register()
    return ClientLibrary.ClientLibraryOrDie(request.param)


# --- the sample of the preview ---


def test_axpy_with_parameters(client):
    alpha, x, y = LiteralUtil.CreateR0(2.0, F32), LiteralUtil.CreateR1([1, 2, 3], F32), LiteralUtil.CreateR1([10, 20, 30], F32)
    builder = ComputationBuilder(client, "axpy")
    param_alpha = builder.Parameter(0, alpha.shape, "alpha")
    param_x = builder.Parameter(1, x.shape, "x")
    param_y = builder.Parameter(2, y.shape, "y")
    builder.Add(builder.Mul(param_alpha, param_x), param_y)
    computation = builder.Build()
    data = [client.TransferToServer(literal) for literal in (alpha, x, y)]
    assert client.ExecuteAndTransfer(computation, data) == LiteralUtil.CreateR1([12, 24, 36], F32)
    assert str(computation.GetProgramShape()) == "(alpha: f32[], x: f32[3], y: f32[3]) -> f32[3]"
    # Computations run again, on other data, and their results are arguments.
    again = client.Execute(computation, [data[0], client.Execute(computation, data), data[2]])
    np.testing.assert_array_equal(client.Transfer(again).value, np.float32([34, 68, 102]))


def test_axpy_with_constants(client):
    builder = ComputationBuilder(client, "axpy")
    constant_alpha = builder.ConstantR0(2.0, F32)
    constant_x, constant_y = builder.ConstantR1([1, 2, 3], F32), builder.ConstantR1([10, 20, 30], F32)
    builder.Add(builder.Mul(constant_alpha, constant_x), constant_y)
    assert client.ExecuteAndTransfer(builder.Build()) == LiteralUtil.CreateR1([12, 24, 36], F32)


def test_the_libraries_clients():
    assert ClientLibrary.ClientLibraryOrDie("cpu") is ClientLibrary.ClientLibraryOrDie("cpu")
    assert ClientLibrary.ClientLibraryOrDie("cpu") is not ClientLibrary.ClientLibraryOrDie("reference")
    assert Client("reference").platform == "reference"
    with pytest.raises(ValueError, match="no backend is named 'tpu'"):
        ClientLibrary.ClientLibraryOrDie("tpu")


# --- data ---


def test_data_moves_there_and_back(client):
    literals = [
        LiteralUtil.CreateR0(True),
        LiteralUtil.CreateR2(np.arange(6).reshape(2, 3), layout=Layout((0, 1))),
        LiteralUtil.MakeTuple([LiteralUtil.CreateR0(1, U8), LiteralUtil.MakeTuple([LiteralUtil.CreateR1([1.5, 2.5])])]),
        LiteralUtil.MakeTuple([]),
        LiteralUtil.CreateFromShape(ShapeUtil.MakeShape(C64, [0, 2])),
    ]
    for literal in literals:
        data = client.TransferToServer(literal)
        assert client.GetShape(data) == literal.shape
        back = client.Transfer(data)
        assert back == literal and back is not literal and back.shape == literal.shape


def test_the_client_has_its_own_copy(client):
    literal = LiteralUtil.CreateR1([1.0, 2.0])
    data = client.TransferToServer(literal)
    literal.Set(0, 5.0)
    client.Transfer(data).Set(1, 5.0)
    assert client.Transfer(data) == LiteralUtil.CreateR1([1.0, 2.0])


def test_transfer_in_a_layout(client):
    data = client.TransferToServer(np.arange(6).reshape(2, 3))
    literal = client.Transfer(data, ShapeUtil.MakeShapeWithLayout(S64, [2, 3], [0, 1]))
    assert literal.Linear().tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(ValueError, match=r"the result is s64\[2,3\], which cannot be had as f32\[2,3\]"):
        client.Transfer(data, ShapeUtil.MakeShape(F32, [2, 3]))


def test_transfer_in_process(client):
    array, destination = np.arange(3.0), np.empty(3)
    data = client.TransferToServerInProcess(array)
    client.TransferInProcess(data, destination)
    np.testing.assert_array_equal(destination, array)
    array[0] = 9  # no copy has been made, where the device reaches the array
    assert client.Transfer(data).Get(0) == (0 if client.platform == device_with_memory.NAME else 9)
    for wrong in (np.empty(2), np.empty(3, np.float32)):
        with pytest.raises(ValueError, match=r"the destination must be an array f64\[3\]"):
            client.TransferInProcess(data, wrong)
    with pytest.raises(TypeError, match="an array is required, got list"):
        client.TransferToServerInProcess([1.0])
    with pytest.raises(TypeError, match="the destination must be an array"):
        client.TransferInProcess(data, [0.0])
    with pytest.raises(ValueError, match=r"the destination must be an array f64\[3\] to write to, got .*, read-only"):
        client.TransferInProcess(data, np.broadcast_to(0.0, 3))
    for transfer in (client.TransferToServer, client.TransferToServerInProcess, client.TransferToInfeed):
        with pytest.raises(TypeError, match="an array without a mask is required"):
            transfer(np.ma.array([1.0, 2.0], mask=[True, False]))
    back = np.zeros((3, 2), ">f8")
    client.TransferInProcess(data, back[:, 1])
    np.testing.assert_array_equal(back, [[0, 9], [0, 1], [0, 2]] if client.Transfer(data).Get(0) else [[0, 0], [0, 1], [0, 2]])


def test_unregistered_data_is_gone(client):
    array = np.zeros(3)
    data, alive = client.TransferToServerInProcess(array), weakref.ref(array)
    client.Unregister(data)
    del array
    gc.collect()
    assert alive() is None
    with pytest.raises(ValueError, match=r"f64\[3\], has been unregistered"):
        client.Transfer(data)


def test_tuples_are_taken_apart(client):
    data = client.TransferToServer((np.float32(1), (np.arange(2), np.int8(3))))
    first, second = client.DeconstructTuple(data)
    assert client.Transfer(first) == Literal(np.float32(1))
    assert client.Transfer(second) == Literal((np.arange(2), np.int8(3)))
    with pytest.raises(TypeError, match="a tuple is required"):
        client.DeconstructTuple(first)


def test_data_belongs_to_its_client(client):
    data = Client("reference").TransferToServer(1.0)
    with pytest.raises(ValueError, match="is held by another one"):
        client.Transfer(data)
    with pytest.raises(TypeError, match="data that TransferToServer or Execute returned is required, got Literal"):
        client.Transfer(Literal(1.0))


# --- execution ---


def test_arguments_are_checked(client):
    add = binary(client, "Add")
    one, vector = client.TransferToServer(np.float32(1)), client.TransferToServer(np.ones(2, np.float32))
    with pytest.raises(ValueError, match=r"add takes 2 arguments, \(a: f32\[\], b: f32\[\]\) -> f32\[\]; 1 given"):
        client.Execute(add, [one])
    with pytest.raises(ValueError, match=r"argument 1 \(b\): f32\[\] is required, got data f32\[2\]"):
        client.Execute(add, [one, vector])
    with pytest.raises(TypeError, match="argument 0 .*TransferToServer or Execute returned is required, got float"):
        client.Execute(add, [1.0, one])
    for wrong, given in ((one, r"data f32\[\]"), (None, "NoneType"), ("one", "str"), (iter([one, one]), "list_iterator")):
        with pytest.raises(TypeError, match=f"a sequence of arguments is required, got {given}"):
            client.Execute(add, wrong)
    with pytest.raises(TypeError, match="an ExecutionProfile, or None, is required, got dict"):
        client.Execute(add, [one, one], execution_profile={})
    with pytest.raises(TypeError, match="ComputationInstances are required, got Computation as number 1"):
        client.ExecuteParallel([ComputationInstance(add, [one, one]), add])
    with pytest.raises(TypeError, match="a Computation, as ComputationBuilder.Build makes it"):
        client.Execute(add.hlo_computation, [one, one])


def test_layouts_of_parameters_and_results(client):
    minor = ShapeUtil.MakeShapeWithLayout(F32, [2, 3], [0, 1])
    builder = ComputationBuilder(client, "negate")
    builder.Neg(builder.Parameter(0, minor, "x"))
    computation = builder.Build()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for literal in (Literal(x), Literal(x, Layout((0, 1))), Literal(x, Layout((0, 1), (4, 4)))):
        data = client.Execute(computation, [client.TransferToServer(literal)], shape_with_output_layout=minor)
        result = client.Transfer(data)
        np.testing.assert_array_equal(result.value, -x)
        assert result.Linear().tolist() == [0, -3, -1, -4, -2, -5]
    with pytest.raises(ValueError, match="cannot be had as"):
        client.Execute(computation, [client.TransferToServer(x)], shape_with_output_layout=SCALAR)


def test_tuples_as_arguments_and_results(client):
    builder = ComputationBuilder(client, "swap")
    pair = builder.Parameter(0, ShapeUtil.MakeTupleShape([SCALAR, ShapeUtil.MakeShape(S32, [2])]), "pair")
    builder.Tuple([builder.GetTupleElement(pair, 1), builder.GetTupleElement(pair, 0)])
    literal = LiteralUtil.MakeTuple([LiteralUtil.CreateR0(1.5, F32), LiteralUtil.CreateR1([1, 2], S32)])
    result = client.ExecuteAndTransfer(builder.Build(), [client.TransferToServer(literal)])
    assert result == LiteralUtil.MakeTuple(literal.tuple_literals[::-1])


def test_dynamic_dimensions():
    client = ClientLibrary.ClientLibraryOrDie("reference")
    bounded = Shape(F32, (10,), dynamic_dimensions=(True,))
    builder = ComputationBuilder(client, "negate")
    pair = builder.Parameter(0, ShapeUtil.MakeTupleShape([SCALAR, bounded]), "pair")
    builder.Neg(builder.GetTupleElement(pair, 1))
    computation, one = builder.Build(), np.float32(1)
    for size in (0, 3, 10):
        data = client.Execute(computation, [client.TransferToServer((one, np.ones(size, np.float32)))])
        assert data.shape == ShapeUtil.MakeShape(F32, [size])
        assert client.Transfer(data).value.tolist() == [-1] * size
    with pytest.raises(ValueError, match=r"argument 0 \(pair\), element 1: .*at most 10.*, an array of shape \(11,\) given"):
        client.Execute(computation, [client.TransferToServer((one, np.ones(11, np.float32)))])
    for wrong in ((one,), one, (one, np.ones(3)), (one, np.ones((1, 3), np.float32))):
        with pytest.raises(ValueError, match="argument 0 .* is required"):
            client.Execute(computation, [client.TransferToServer(wrong)])


def test_tokens_stay_on_the_server(client):
    builder = ComputationBuilder(client, "token")
    builder.Tuple([builder.ConstantR0(1.0), builder.AfterAll()])
    data = client.Execute(builder.Build())
    assert str(data.shape) == "(f64[], token[])"
    with pytest.raises(TypeError, match="a token has no value"):
        client.Transfer(data)
    number, _ = client.DeconstructTuple(data)
    assert client.Transfer(number).value == 1.0


def test_profiles():
    client = Client("cpu")
    add, one = binary(client, "Add"), client.TransferToServer(np.float32(1))
    first, second = ExecutionProfile(), ExecutionProfile()
    client.Execute(add, [one, one], execution_profile=first)
    client.Execute(add, [one, one], execution_profile=second)
    assert not first.compilation_cache_hit and second.compilation_cache_hit
    assert first.compile_time_ms > 0 and second.compile_time_ms == 0
    for profile in (first, second):
        assert 0 < profile.compute_time_ns <= profile.compute_and_transfer_time_ns


def test_execution_in_parallel(client):
    add, multiply = binary(client, "Add"), binary(client, "Mul")
    two, three = client.TransferToServer(np.float32(2)), client.TransferToServer(np.float32(3))
    instances = [ComputationInstance(c, [two, three]) for c in (add, multiply, add)]
    assert [float(client.Transfer(data).value) for data in client.ExecuteParallel(instances)] == [5, 6, 5]
    assert client.ExecuteParallel([]) == []
    with pytest.raises(ValueError, match="add takes 2 arguments"):
        client.ExecuteParallel([ComputationInstance(multiply, [two, three]), ComputationInstance(add, [two])])


def test_parallel_executions_run_in_the_environment_of_their_caller(client):
    builder = ComputationBuilder(client, "replica")
    builder.ReplicaId()
    instances = [ComputationInstance(builder.Build())] * 3
    with Environment(replica=7).active():
        results = client.ExecuteParallel(instances)
    assert [int(client.Transfer(data).value) for data in results] == [7, 7, 7]


def test_one_client_from_many_threads():
    client = Client("cpu")
    assert sums_of_threads(client, binary(client, "Add"), 8) == {number: number + 20 for number in range(8)}


def test_executables_live_as_long_as_their_computations():
    client = Client("reference")
    add = binary(client, "Add")
    client.Execute(add, [client.TransferToServer(np.float32(1))] * 2)
    assert len(client._executables) == 1
    del add
    gc.collect()
    assert len(client._executables) == 0
