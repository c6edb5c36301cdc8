"""Clients of a backend whose memory the host does not reach: what is transferred, and how long it is held there."""

import gc

import device_with_memory
import numpy as np
import pytest
from client_computations import binary, sums_of_threads
from phlox.backends.loading import load_hlo
from phlox.client import Client, ClientLibrary, ComputationBuilder, Literal, ShapeUtil
from phlox.hlo import BF16, Layout


@pytest.fixture
def client(registered):
    device_with_memory.register()
    return Client(device_with_memory.NAME)


@pytest.fixture
def memory(client):
    return client.backend.memory


def identity(client, shape):
    builder = ComputationBuilder(client, "identity")
    builder.Tuple([builder.Parameter(0, shape, "x")])
    return builder.Build()


def test_a_chain_of_executions_transfers_its_ends_alone(client, memory):
    add = binary(client, "Add")
    value = client.TransferToServer(np.float32(1))
    assert memory.transfers == 1
    for _ in range(5):
        value = client.Execute(add, [value, value])  # one buffer for two parameters
    assert memory.transfers == 1
    assert client.Transfer(value).value == 32
    assert memory.transfers == 2


def test_data_is_held_as_long_as_its_handles(client, memory):
    pair = client.TransferToServer((np.zeros(4, np.float32), (np.int8(1), ())))
    assert memory.bytes_in_use == 17
    first, second = client.DeconstructTuple(pair)
    assert memory.bytes_in_use == 17
    client.Unregister(pair)
    assert memory.bytes_in_use == 17
    client.Unregister(first)
    assert memory.bytes_in_use == 1
    for use in (client.Transfer, client.DeconstructTuple, lambda data: client.Execute(identity(client, data.shape), [data])):
        with pytest.raises(ValueError, match="has been unregistered"):
            use(pair)
    assert client.Transfer(second) == Literal((np.int8(1), ()))
    del second
    gc.collect()
    assert memory.bytes_in_use == 0


def test_a_result_does_not_hold_its_arguments(client, memory):
    argument = client.TransferToServer(np.arange(4, dtype=np.float32))
    result = client.Execute(identity(client, argument.shape), [argument])
    client.Unregister(argument)
    gc.collect()
    assert memory.bytes_in_use == 16
    assert client.Transfer(result) == Literal((np.arange(4, dtype=np.float32),))


def test_failed_executions_hold_nothing(client, memory):
    add, one = binary(client, "Add"), client.TransferToServer(np.float32(1))
    for arguments in ([one], [one, client.TransferToServer(np.ones(3, np.float32))], [one, None]):
        with pytest.raises((TypeError, ValueError)):
            client.Execute(add, arguments)
    arguments = None
    gc.collect()
    assert memory.bytes_in_use == 4


def test_layouts_are_the_buffers(client, memory):
    column_major = ShapeUtil.MakeShapeWithLayout(BF16, [2, 3], [0, 1])
    x = np.arange(6).reshape(2, 3).astype(BF16.dtype)
    data = client.TransferToServer(Literal(x, Layout((0, 1))))
    assert data.buffers[0].shape == column_major
    before = memory.transfers
    same = client.Execute(identity(client, column_major), [data])
    assert memory.transfers == before
    np.testing.assert_array_equal(client.Transfer(client.DeconstructTuple(same)[0]).value, x)
    other = client.Execute(
        identity(client, ShapeUtil.MakeShape(BF16, [2, 3])), [data], ShapeUtil.MakeTupleShape([column_major])
    )
    assert other.buffers[0].shape == column_major
    np.testing.assert_array_equal(client.Transfer(client.DeconstructTuple(other)[0]).value, x)


def test_an_array_of_the_process_is_copied(client):
    array = np.arange(6.0).reshape(2, 3)[:, ::-1].astype(">f8")
    data = client.TransferToServerInProcess(array)
    expected = array.copy()
    array[...] = 0
    destination = np.empty((3, 2), ">f8").T
    client.TransferInProcess(data, destination)
    np.testing.assert_array_equal(destination, expected)


def test_threads_share_the_memory(client, memory):
    results = sums_of_threads(client, binary(client, "Add"), 4)
    gc.collect()
    assert results == {number: number + 20 for number in range(4)}
    assert memory.bytes_in_use == 0


def test_the_librarys_client_is_that_of_the_backend_that_there_is(registered):
    device_with_memory.register()
    first = ClientLibrary.ClientLibraryOrDie(device_with_memory.NAME)
    assert first is ClientLibrary.ClientLibraryOrDie(device_with_memory.NAME)
    device_with_memory.register()
    assert ClientLibrary.ClientLibraryOrDie(device_with_memory.NAME) is not first


def test_loaded_modules_run_there(client, memory):
    text = """
    HloModule m
    ENTRY e { x = f32[2,<=3] parameter(0)  n = s32[] parameter(1)
      y = f32[2,<=3] negate(x)  ROOT r = (f32[2,<=3], (s32[])) tuple(y, %pair)
    }
    """.replace("ROOT", "pair = (s32[]) tuple(n)  ROOT")
    loaded = load_hlo(text, backend=device_with_memory.NAME)
    y, (n,) = loaded(np.asfortranarray(np.ones((2, 2), np.float32)), 3)
    np.testing.assert_array_equal(y, -np.ones((2, 2), np.float32))
    assert n == 3 and isinstance(n, np.int32)
    with pytest.raises(ValueError, match=r"f32\[2,<=3\] is required"):
        loaded(np.ones((2, 4), np.float32), 3)
    gc.collect()
    assert memory.bytes_in_use == 0 and loaded.executable.memory is not None
