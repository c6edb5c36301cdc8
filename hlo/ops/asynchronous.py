"""Operations in two halves, a start and a done, and tokens, which order effects.

A start does all of the work and its done takes the result out, which every order that the program allows permits. But on
several devices the start of a collective contributes, and its done waits (collective_handles.py).
Source of the shapes: ``HloAsyncInstruction`` and ``HloCopyStartInstruction`` of XLA, and their parsers.
"""

from __future__ import annotations

import numpy as np

from ..attributes import CalledComputation, Integer
from ..builder import Builder, scalar_computation
from ..element_type import F32, S32, TOKEN, U32
from ..errors import require
from ..operation import BOUNDS, EFFECTFUL, HOST_CALL, RENAMES, InvalidSample, Sample, operation
from ..shape import TOKEN_SHAPE, Layout, Shape, TupleShape, compatible
from .collective_handles import begins_collective, begun_call, finished_call
from .constraints import require_signature

_CONTEXT = Shape(U32)  # what a start keeps for its done where the program does not say


def _nothing(shape):
    """The value of what a start keeps for its done: zeros of this shape."""
    if shape.is_tuple:
        return tuple(map(_nothing, shape.elements))
    return None if shape.element_type is TOKEN else np.zeros(shape.dimensions, shape.dtype)


@operation(
    "async-start", "*arguments", builder="AsyncStart", traits={EFFECTFUL, HOST_CALL}, calls=CalledComputation()
)  # fmt: skip
def async_start(*arguments, calls, stated):
    """AsyncStart(computation, args...): begins a call; the result is ``((args...), result of the call, contexts...)``.

    What the contexts hold is the backend's own matter. Where no shape is stated there is one, u32[].
    """
    require_signature("async-start", "calls", calls, arguments, None)
    if stated is None:
        return TupleShape((TupleShape(arguments), calls.shape, _CONTEXT))
    form = stated.is_tuple and len(stated.elements) >= 2 and stated.elements[0].is_tuple
    require(form, "async-start: the shape must be ((operands...), result, contexts...), got ", stated)
    operands, result = stated.elements[:2]
    given = TupleShape(arguments)
    same = compatible(operands, given)
    require(same, f"async-start: the shape's first element must be {given}, as the operands are, got {operands}")
    same = compatible(result, calls.shape)
    require(same, f"async-start: the shape's second element must be {calls.shape}, which {calls.name} returns, got {result}")
    return stated


@async_start.evaluation
def _(*arguments, calls, run, shape):
    if begins_collective(run.instruction) and run.environment.device_count > 1:
        return begun_call(run, arguments, shape)
    return (arguments, run(calls, *arguments), *map(_nothing, shape.elements[2:]))


@async_start.sampling
def _():
    add = scalar_computation("add", F32)
    x, y = np.float32(2), np.float32(3)
    operands = TupleShape((Shape(F32), Shape(F32)))
    expected = ((x, y), np.float32(5), np.uint32(0))
    yield Sample([x, y], {"calls": add}, expected=expected)
    contexts = TupleShape((operands, Shape(F32), Shape(S32), TupleShape((Shape(U32, (2,)),))))
    yield Sample([x, y], {"calls": add}, shape=contexts, expected=(*expected[:2], np.int32(0), (np.zeros(2, np.uint32),)))
    b = Builder("of_a_tuple")
    parameter = b.parameter(TupleShape((Shape(F32, (3,)), Shape(S32))), "pair")
    first = b.build(b.emit("negate", b.emit("get-tuple-element", parameter, index=0)))
    yield Sample([parameter.shape], {"calls": first})
    b = Builder("broadcast")
    broadcast = b.build(b.emit("collective-broadcast", b.parameter(Shape(F32, (2,)))))
    yield Sample([np.float32([1, 2])], {"calls": broadcast}, expected=((np.float32([1, 2]),), np.float32([1, 2]), np.uint32(0)))
    yield InvalidSample([Shape(F32)], {"calls": add}, "calls must take")
    flat = TupleShape((Shape(F32), Shape(F32), Shape(F32)))
    yield InvalidSample([Shape(F32), Shape(F32)], {"calls": add}, r"must be \(\(operands...\), result", shape=flat)
    short = TupleShape((TupleShape((Shape(F32),)), Shape(F32)))
    yield InvalidSample([Shape(F32), Shape(F32)], {"calls": add}, "first element must be", shape=short)
    wrong = TupleShape((operands, Shape(S32)))
    yield InvalidSample([Shape(F32), Shape(F32)], {"calls": add}, "second element must be", shape=wrong)


def _require_started(opcode, operand):
    form = operand.is_tuple and len(operand.elements) >= 2 and operand.elements[0].is_tuple
    require(form, f"{opcode}: operand must be the result of async-start, ((operands...), result, contexts...), got {operand}")


@operation("async-update", "operand", builder="AsyncUpdate", traits={RENAMES})
def async_update(operand, *, stated):
    """AsyncUpdate(operand): a call that was begun, a step later. The shape is the operand's."""
    _require_started("async-update", operand)
    same = stated is None or compatible(stated, operand)
    require(same, f"async-update: the result must have the operand's shape {operand}, but {stated} was stated")
    return operand


@async_update.evaluation
def _(operand):
    return operand


@operation("async-done", "operand", builder="AsyncDone", traits={EFFECTFUL, HOST_CALL})
def async_done(operand, *, stated):
    """AsyncDone(operand): waits for a call that was begun, and returns its result."""
    _require_started("async-done", operand)
    return operand.elements[1]


@async_done.evaluation
def _(operand, *, run, operand_shapes):
    return finished_call(run, operand, operand_shapes[0]) if run.environment.device_count > 1 else operand[1]


@async_update.sampling
@async_done.sampling
def _():
    yield Sample([TupleShape((TupleShape((Shape(F32, (2,)),)), Shape(S32, (3,)), Shape(U32)))])
    yield Sample([TupleShape((TupleShape(()), TupleShape((Shape(F32), Shape(S32)))))])
    yield InvalidSample([Shape(F32)], {}, "must be the result of async-start")
    yield InvalidSample([TupleShape((Shape(F32), Shape(F32), Shape(U32)))], {}, "must be the result of async-start")


@operation("copy-start", "operand", builder="CopyStart", cost=1.0, cross_program_prefetch_index=Integer(None))
def copy_start(operand, *, cross_program_prefetch_index, stated):
    """CopyStart(operand): begins a copy; the result is ``(copy, operand, context)``.

    The stated shape gives the layout of the copy. The context is a u32[].
    """
    if stated is None:
        return TupleShape((operand, operand, _CONTEXT))
    form = stated.is_tuple and len(stated.elements) == 3
    same = form and compatible(stated.elements[0], operand) and compatible(stated.elements[1], operand)
    require(same, f"copy-start: the shape must be ({operand}, {operand}, u32[]), but {stated} was stated")
    return stated


@copy_start.evaluation
def _(operand, *, cross_program_prefetch_index, shape):
    return operand, operand, _nothing(shape.elements[2])


@copy_start.sampling
def _():
    array, column_major = Shape(F32, (2, 3)), Shape(F32, (2, 3), Layout((0, 1)))
    yield Sample([array])
    yield Sample([array], {"cross_program_prefetch_index": 0}, shape=TupleShape((column_major, array, Shape(U32))))
    yield Sample([np.float32(3)], expected=(np.float32(3), np.float32(3), np.uint32(0)))
    yield InvalidSample([array], {}, "the shape must be", shape=TupleShape((array, array)))
    yield InvalidSample([array], {}, "the shape must be", shape=TupleShape((Shape(F32, (3, 2)), array, Shape(U32))))


@operation("copy-done", "operand", builder="CopyDone", cost=1.0)
def copy_done(operand):
    """CopyDone(operand): waits for a copy that was begun, and returns it."""
    form = operand.is_tuple and len(operand.elements) == 3 and compatible(operand.elements[0], operand.elements[1])
    require(form, "copy-done: operand must be the result of copy-start, (copy, operand, context), got ", operand)
    return operand.elements[0]


@copy_done.evaluation
def _(operand):
    return operand[0]


@copy_done.sampling
def _():
    array = Shape(F32, (2, 3))
    yield Sample([TupleShape((array, array, Shape(U32)))])
    yield InvalidSample([array], {}, "must be the result of copy-start")
    yield InvalidSample([TupleShape((array, Shape(F32), Shape(U32)))], {}, "must be the result of copy-start")


@operation("after-all", "*operands", builder="AfterAll", cost=0.0)
def after_all(*operands):
    """AfterAll(operands...): a token that is there when all operands are, or at once where there are none."""
    return TOKEN_SHAPE


@after_all.evaluation
def _(*operands):
    return None


@after_all.sampling
def _():
    yield Sample([])
    yield Sample([None, None])
    yield Sample([Shape(F32, (3,)), None])


@operation("add-dependency", "operand", "token", builder="AddDependency", traits={RENAMES}, dynamic=BOUNDS)
def add_dependency(operand, token):
    """AddDependency(operand, token): the operand, for users that must wait for the token."""
    require(not token.is_tuple and token.element_type is TOKEN, f"add-dependency: token must be a token[], got {token}")
    return operand


@add_dependency.evaluation
def _(operand, token):
    return operand


@add_dependency.sampling
def _():
    yield Sample([np.arange(3, dtype=np.float32), None], expected=np.arange(3, dtype=np.float32))
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(S32))), None])
    yield Sample([None, None])
    yield InvalidSample([Shape(F32), Shape(F32)], {}, r"token must be a token\[\]")
    yield InvalidSample([Shape(F32), TupleShape((TOKEN_SHAPE,))], {}, r"token must be a token\[\]")
