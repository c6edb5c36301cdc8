"""Arrays on a device that are changed where they lie, as nothing else needs what they held; and those that are not."""

import gc

import numpy as np
import phlox
import pytest
from gpu_backends import DEVICES, backend_or_skip
from phlox.backends.gpu.given_up import results_in_place, with_arguments_given_up
from phlox.backends.gpu.plan import Copy, HostCall, Launch, Place, Plan, Point, While
from phlox.hlo import F32, Shape

ROWS = Shape(F32, (1000, 64))
ARGUMENT, OTHER, RESULT, BYTES = Place("argument", 0), Place("argument", 1), Place("result", 0), Place("temporary", 0)
WHOLE = Copy(RESULT, ARGUMENT, ROWS.byte_size)


def launch(*places):
    return Launch("kernel", (1, 1, 1), (1, 1, 1), places)


@pytest.mark.parametrize("steps, found", [
    ([WHOLE, launch(OTHER, RESULT)], {0: 0}),
    ([launch(ARGUMENT, BYTES), WHOLE, launch(BYTES, RESULT)], {0: 0}),
    ([WHOLE, launch(ARGUMENT, RESULT)], {}),
    ([launch(OTHER, RESULT), WHOLE], {}),
    ([WHOLE, While([launch(ARGUMENT, BYTES)], trips=3)], {}),
    ([While([Point((0,), (ARGUMENT,))], trips=3), WHOLE, launch(Place("moving", 0), RESULT)], {}),
    ([While([WHOLE], trips=3)], {}),
    ([Copy(RESULT, ARGUMENT, 4), launch(RESULT)], {}),
    ([WHOLE, HostCall(None, (RESULT,), (BYTES,))], {}),
])  # fmt: skip
def test_results_that_may_be_in_the_place_of_arguments(steps, found):
    plan = Plan(steps, 64, b"", 1)
    assert results_in_place(plan, [ROWS, ROWS], [ROWS]) == found
    assert results_in_place(plan, [Shape(F32, (64, 1000)), ROWS], [ROWS]) == {}
    for given_up in ([], [0], [1]):
        left, taken = with_arguments_given_up(plan, found, given_up)
        assert (WHOLE in left.steps, taken) == (
            (WHOLE in steps, {}) if 0 not in given_up else (not found and WHOLE in steps, found)
        )


@phlox.jit
def set_row(x, row):
    x[3] = row


@phlox.jit
def set_row_or_raise(x, row):
    x[3] = row
    if row[0] > 2:
        raise ValueError("too much")


@pytest.fixture(params=DEVICES)
def x(request):
    backend_or_skip(request.param)
    return phlox.device_put(np.zeros((200, 64), np.float32), request.param)


def test_what_nothing_else_refers_to_is_changed_where_it_lies(x):
    row, part = phlox.device_put(np.ones(64, np.float32), x.device), x[2:4]
    expected = np.zeros((200, 64), np.float32)
    address = x.buffer.address
    set_row(x, row)
    x[5] = row
    x[9:11] = row
    assert x.buffer.address == address
    expected[[3, 5, 9, 10]] = 1
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(part, expected[2:4])


def test_what_others_refer_to_stays_as_it_is(x):
    kept = type(x)(x.device, x.buffer)  # as a call has it that reads before something is written
    set_row(x, np.ones(64, np.float32))
    assert (np.asarray(x).sum(), np.asarray(kept).sum()) == (64, 0)
    set_row(kept, np.full(64, 2, np.float32))
    assert (np.asarray(x).sum(), np.asarray(kept).sum()) == (64, 128)
    del kept
    gc.collect()
    address = x.buffer.address
    set_row(x, np.ones(64, np.float32))
    assert x.buffer.address == address


def test_a_call_that_may_raise_changes_a_copy(x):
    set_row_or_raise(x, np.ones(64, np.float32))
    with pytest.raises(ValueError, match="too much"):
        set_row_or_raise(x, np.full(64, 3, np.float32))
    assert set(np.asarray(x)[3]) == {3}  # Python has changed the row before it raised
    assert np.asarray(x).sum() == 64 * 3
