"""Writing HLO: each operation is a function, and what it writes goes where the thread writes."""

import threading

import numpy as np
import pytest
from phlox import hlo
from phlox.hlo import F32, OPERATIONS, PRED, S8, S32, U8, Shape
from phlox.hlo.operation import ELEMENTWISE

X = Shape(F32, (2, 3))


def written(function, *shapes):
    """What the function writes, evaluated on 0, 1, 2, ... for each parameter."""
    computation = hlo.computation("f", shapes, function)
    hlo.verify(hlo.Module("f", computation))
    arguments = [np.arange(shape.size).reshape(shape.dimensions).astype(shape.dtype) for shape in shapes]
    return computation, hlo.evaluate(computation, *arguments)


@pytest.mark.parametrize("opcode", OPERATIONS)
def test_every_operation_is_a_function(opcode):
    function = getattr(hlo, hlo.function_name(opcode))
    assert function is hlo.FUNCTIONS[opcode]
    assert function.__doc__


@pytest.mark.parametrize(
    "opcode", [o for o, record in OPERATIONS.items() if ELEMENTWISE in record.traits and record.fixed_operand_count == 2]
)
@pytest.mark.parametrize("element_type", [F32, S32, PRED], ids=str)
def test_a_number_stands_for_an_array_of_the_other_operands_type(opcode, element_type):
    x = hlo.full_like(hlo.iota(Shape(S32, (2, 3)), 0), hlo.constant(1, element_type))
    details = {"direction": "EQ"} if opcode == "compare" else {}
    try:
        whole = hlo.emit(opcode, x, x, **details)
    except hlo.ShapeError:
        pytest.skip("the operation takes no operands of this type")
    for operands in ((x, 1), (1, x)):
        made = hlo.FUNCTIONS[opcode](*operands, **details)
        assert made.shape == whole.shape
        assert [operand.shape for operand in made.operands] == [x.shape, x.shape]


def test_numbers_of_select_and_clamp():
    _, chosen = written(lambda x: hlo.select(hlo.gt(x, 2), x, -1), X)
    np.testing.assert_array_equal(chosen, [[-1, -1, -1], [3, 4, 5]])
    _, chosen = written(lambda x: hlo.select(hlo.gt(x, 2), True, hlo.lt(x, 1)), X)
    np.testing.assert_array_equal(chosen, [[True, False, False], [True, True, True]])
    _, clamped = written(lambda x: hlo.clamp(1, x, 4), X)
    np.testing.assert_array_equal(clamped, [[1, 1, 2], [3, 4, 4]])


def test_numbers_alone_are_refused():
    with pytest.raises(TypeError, match="add: one of the operands at least must be an instruction, got \\(1, 2\\)"):
        hlo.add(1, 2)


def test_constants():
    assert hlo.constant(3, U8).attributes["literal"].dtype == np.uint8
    with pytest.raises(OverflowError):
        hlo.constant(300, U8)
    with pytest.raises(OverflowError):
        hlo.add(hlo.iota(Shape(S8, (2,)), 0), 128)
    # As astype: NumPy's scalars wrap.
    assert hlo.constant(np.int64(300), U8).attributes["literal"] == 44


def test_attributes_by_position_and_by_name():
    _, by_position = written(lambda x: hlo.transpose(x, (1, 0)), X)
    _, by_name = written(lambda x: hlo.transpose(x, dimensions=(1, 0)), X)
    np.testing.assert_array_equal(by_position, np.arange(6.0).reshape(2, 3).T)
    np.testing.assert_array_equal(by_name, by_position)
    with pytest.raises(hlo.ShapeError, match="transpose: dimensions given twice"):
        written(lambda x: hlo.transpose(x, (1, 0), dimensions=(1, 0)), X)
    with pytest.raises(hlo.ShapeError, match="transpose: 1 operand .* required, 3 given"):
        written(lambda x: hlo.transpose(x, (1, 0), 5), X)


def test_shapes():
    _, stretched = written(lambda x: hlo.broadcast_in_dim(x, (2, 4, 3), (0, 2)), Shape(F32, (2, 1)))
    np.testing.assert_array_equal(stretched, np.broadcast_to(np.arange(2.0).reshape(2, 1, 1), (2, 4, 3)))
    _, part = written(lambda x: hlo.slice(x, (0, 0), (2, 3), (1, 2)), X)
    np.testing.assert_array_equal(part, [[0, 2], [3, 5]])
    _, bits = written(lambda x: hlo.bitcast_convert(x, U8), Shape(F32, (2,)))
    np.testing.assert_array_equal(bits, np.float32([0, 1]).view(np.uint8).reshape(2, 4))
    x = hlo.iota(X, 0)
    assert hlo.convert(x, F32) is hlo.reshape(x, (2, 3)) is hlo.broadcast_in_dim(x, (2, 3), (0, 1)) is x


def test_a_builder_gets_what_is_written_in_its_block_alone():
    outside = hlo.constant(1.0)
    with hlo.Builder("outer") as outer:
        x = hlo.parameter(X)
        inner = hlo.computation("inner", [X], lambda y: hlo.add(y, y))
        hlo.call(x, to_apply=inner)
        with pytest.raises(hlo.ShapeError), hlo.Builder("fails"):
            hlo.add(x, hlo.constant(1.0, F32))
        assert hlo.current_builder() is outer
    assert [made.opcode for made in outer.instructions] == ["parameter", "call"]
    assert [made.opcode for made in inner.instructions] == ["parameter", "add"]
    assert outside not in outer.instructions
    assert hlo.current_builder().append(outside) is outside


def test_a_builder_that_is_entered_twice():
    b = hlo.Builder("f")
    with b, b:
        hlo.parameter(X)
    with b:
        hlo.parameter(X)
    assert [made.attributes["number"] for made in b.instructions] == [0, 1]


def test_threads_write_into_builders_of_their_own():
    barrier, found = threading.Barrier(2), {}

    def write(name):
        with hlo.Builder(name) as b:
            x = hlo.parameter(X)
            for _ in range(200):
                x = hlo.add(x, 1)
            barrier.wait(60)
            found[name] = len(b.instructions)

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {"a": 601, "b": 601}


def test_sources():
    place = hlo.SourceLocation("user.py", 7)
    with hlo.Builder("f", where=lambda: place):
        x = hlo.parameter(X)
        assert hlo.add(x, 1).source is place
        assert hlo.computation("g", [X], hlo.negate).root.source is None
