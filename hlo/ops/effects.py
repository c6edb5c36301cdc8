"""Operations that meet the host or another computation while the program runs: infeed, outfeed, send, recv, trace.

What they meet is the environment's (``run.environment``): its queues ``infeed`` and ``outfeed``, and its ``channels``. Sources:
"Infeed", "Outfeed", "Send", "Recv" of XLA's Operation Semantics, and ``HloInfeedInstruction``, ``HloOutfeedInstruction``,
``HloSendInstruction`` and ``HloRecvInstruction`` for the shapes.
"""

from __future__ import annotations

import re

import numpy as np

from ..attributes import AttributeKind, Boolean, Integer, RawText, String
from ..element_type import F32, PRED, S32, TOKEN, U32
from ..errors import ShapeError, require
from ..operation import EFFECTFUL, HOST_CALL, KEPT, InvalidSample, Sample, operation
from ..shape import TOKEN_SHAPE, AnyShape, Shape, TupleShape, compatible, leaves

_RENDEZVOUS = re.compile(r'_xla_host_transfer_rendezvous\s*=\s*"([^"]*)"')


class StatedShape(AttributeKind):
    """``outfeed_shape=(f32[3]{0}, pred[])``: a shape."""

    def check(self, value: AnyShape | None) -> AnyShape | None:
        if value is not None and not isinstance(value, Shape | TupleShape):
            raise ShapeError(f"a shape is required, {value!r} given")
        return value if value is None else _without_row_major(value)

    def print(self, value: AnyShape) -> str:
        # Text is made for all operations, which stand below it.
        from ..text.shapes import full_shape_text

        return full_shape_text(value)

    def parse(self, cursor) -> AnyShape:
        # Text is made for all operations, which stand below it.
        from ..text.shapes import parse_shape

        return parse_shape(cursor)


def _without_row_major(shape):
    """The shape in one spelling: a row-major layout is left out."""
    if shape.is_tuple:
        return TupleShape(tuple(map(_without_row_major, shape.elements)))
    is_plain = shape.layout is not None and shape.is_row_major and not shape.layout.annotation
    return shape.without_layout() if is_plain else shape


def _require_token(opcode, token):
    require(not token.is_tuple and token.element_type is TOKEN, f"{opcode}: token must be a token[], got ", token)


def _require_data(opcode, name, shape):
    held = all(leaf.element_type is not TOKEN for leaf in leaves(shape))
    require(held, f"{opcode}: {name} must consist of arrays, got ", shape)


# --- infeed and outfeed ---


@operation(
    "infeed", "token", builder="InfeedWithToken", aliases=("Infeed",), traits={EFFECTFUL, HOST_CALL}, dynamic=KEPT,
    infeed_config=String(""),
)  # fmt: skip
def infeed(token, *, infeed_config, stated):
    """InfeedWithToken(token, shape, config): the next value of the environment's queue ``infeed``, and a token.

    The result is ``(value, token[])``. The value is an array, or a nested tuple of them, that the host has put into the queue
    as one; where there is none the program waits. A value of another shape is an error. An empty tuple is not read from the
    queue at all. ``infeed_config`` is kept as text.
    """
    _require_token("infeed", token)
    form = stated is not None and stated.is_tuple and len(stated.elements) == 2 and stated.elements[1] == TOKEN_SHAPE
    require(form, f"infeed: the result shape must be (shape of the data, token[]), got {stated}")
    _require_data("infeed", "the data", stated.elements[0])
    return stated


@infeed.evaluation
def _(token, *, infeed_config, shape, run):
    data = shape.elements[0].without_layout()
    return (run.environment.infeed.feed(data) if leaves(data) else _empty(data)), None


def _empty(shape):
    return tuple(map(_empty, shape.elements))


@infeed.sampling
def _():
    for data in (Shape(F32, (3,)), Shape(PRED), TupleShape((Shape(F32, (2, 2)), TupleShape((Shape(S32),)))), TupleShape(())):
        yield Sample([None], shape=TupleShape((data, TOKEN_SHAPE)))
    yield Sample([None], {"infeed_config": "slot 1"}, shape=TupleShape((Shape(S32), TOKEN_SHAPE)))
    yield InvalidSample([None], {}, "result shape must be", shape=Shape(F32, (3,)))
    yield InvalidSample([None], {}, "must consist of arrays", shape=TupleShape((TOKEN_SHAPE, TOKEN_SHAPE)))
    yield InvalidSample([Shape(F32)], {}, r"token must be a token\[\]", shape=TupleShape((Shape(F32), TOKEN_SHAPE)))


@operation(
    "outfeed", "operand", "token", builder="OutfeedWithToken", aliases=("Outfeed",),
    traits={EFFECTFUL, HOST_CALL}, dynamic=KEPT,
    outfeed_shape=StatedShape(None), outfeed_config=String(""),
)  # fmt: skip
def outfeed(operand, token, *, outfeed_shape, outfeed_config):
    """OutfeedWithToken(operand, token, shape_with_layout, outfeed_config): puts the operand into the queue ``outfeed``.

    The operand is an array or a nested tuple of them, and becomes one value of the environment's queue; where that is full the
    program waits for the host. ``outfeed_shape`` is the operand's, in the layout that a device would send it in. An empty tuple
    is not put into the queue.
    """
    _require_token("outfeed", token)
    _require_data("outfeed", "the operand", operand)
    same = outfeed_shape is None or compatible(outfeed_shape, operand)
    require(same, f"outfeed: outfeed_shape must be that of the operand, {operand}, got {outfeed_shape}")
    return TOKEN_SHAPE


@outfeed.evaluation
def _(operand, token, *, outfeed_shape, outfeed_config, run, operand_shapes):
    if leaves(operand_shapes[0]):
        run.environment.outfeed.emit(operand)


@outfeed.sampling
def _():
    array = Shape(F32, (2, 3))
    pair = TupleShape((array, TupleShape((Shape(S32),))))
    yield Sample([array, None])
    yield Sample([array, None], {"outfeed_shape": array, "outfeed_config": "slot 1"})
    yield Sample([pair, None], {"outfeed_shape": pair})
    yield Sample([TupleShape(()), None])
    yield InvalidSample([array, None], {"outfeed_shape": Shape(F32, (3, 2))}, "outfeed_shape must be")
    yield InvalidSample([array, array], {}, r"token must be a token\[\]")
    yield InvalidSample([array, None], {"outfeed_shape": 1}, "a shape is required")
    yield InvalidSample([None, None], {}, "must consist of arrays")


# --- send and recv ---

_CHANNEL = {
    "channel_id": Integer(None),
    "is_host_transfer": Boolean(False),
    "frontend_attributes": RawText(""),
}


def _context(data: AnyShape) -> TupleShape:
    return TupleShape((data, Shape(U32), TOKEN_SHAPE))


def _require_context(opcode: str, context: AnyShape) -> None:
    form = context.is_tuple and len(context.elements) == 3 and context == _context(context.elements[0])
    require(
        form, f"{opcode}: operand must be the result of {opcode.removesuffix('-done')}, (data, u32[], token[]), got ", context
    )


def _require_channel(opcode: str, channel_id: int | None) -> None:
    require(channel_id is None or channel_id >= 0, f"{opcode}: channel_id must not be negative, got {channel_id}")


def channel_key(channel_id: int | None, is_host_transfer: bool, frontend_attributes: str) -> int | str:
    """What names the channel: the rendezvous of a transfer to or from the host, where it has one, else the number.

    A transfer without either goes over channel 0.

    >>> channel_key(3, True, '{_xla_host_transfer_rendezvous="samples"}'), channel_key(3, False, "")
    ('samples', 3)
    """
    match = _RENDEZVOUS.search(frontend_attributes) if is_host_transfer or channel_id is None else None
    return channel_id or 0 if match is None else match.group(1)


@operation(
    "send", "operand", "token", builder="SendWithToken", aliases=("Send",), traits={EFFECTFUL, HOST_CALL}, dynamic=KEPT,
    **_CHANNEL,
)  # fmt: skip
def send(operand, token, *, channel_id, is_host_transfer, frontend_attributes):
    """SendWithToken(operand, token, channel): offers the data to the recv with the same channel, of another computation.

    The result, ``(data, u32[], token[])``, is the context that send-done takes; its number counts the channel's transfers. The
    program does not wait. A transfer to the host (``is_host_transfer``) goes to the environment's ``channels.recv``.
    """
    _require_channel("send", channel_id)
    _require_token("send", token)
    _require_data("send", "the operand", operand)
    return _context(operand.without_layout())


@send.evaluation
def _(operand, token, *, channel_id, is_host_transfer, frontend_attributes, run):
    key = channel_key(channel_id, is_host_transfer, frontend_attributes)
    return operand, np.uint32(run.environment.channels.start_send(key, operand)), None


@operation("recv", "token", builder="RecvWithToken", aliases=("Recv",), traits={EFFECTFUL, HOST_CALL}, dynamic=KEPT, **_CHANNEL)
def recv(token, *, channel_id, is_host_transfer, frontend_attributes, stated):
    """RecvWithToken(token, shape, channel): makes ready to receive from the send with the same channel.

    The result, ``(data, u32[], token[])``, is the context that recv-done takes; its data is zero. The program does not wait. A
    transfer from the host (``is_host_transfer``) comes from the environment's ``channels.send``.
    """
    _require_channel("recv", channel_id)
    _require_token("recv", token)
    form = stated is not None and stated.is_tuple and len(stated.elements) == 3
    form = form and stated.without_layout() == _context(stated.elements[0].without_layout())
    require(form, f"recv: the result shape must be (data, u32[], token[]), got {stated}")
    _require_data("recv", "the data", stated.elements[0])
    return stated


@recv.evaluation
def _(token, *, channel_id, is_host_transfer, frontend_attributes, run, shape):
    key = channel_key(channel_id, is_host_transfer, frontend_attributes)
    return _zeros(shape.elements[0]), np.uint32(run.environment.channels.start_recv(key)), None


def _zeros(shape):
    if shape.is_tuple:
        return tuple(map(_zeros, shape.elements))
    return np.zeros(shape.dimensions, shape.dtype)[()]


@operation("send-done", "operand", builder="SendDone", traits={EFFECTFUL, HOST_CALL}, dynamic=KEPT, **_CHANNEL)
def send_done(operand, *, channel_id, is_host_transfer, frontend_attributes):
    """SendDone(context): waits until the data of a send is received; a token. The channel is that of the send.

    A transfer to the host is complete when it is offered: the host takes it when it likes.
    """
    _require_context("send-done", operand.without_layout())
    _require_channel("send-done", channel_id)
    return TOKEN_SHAPE


@send_done.evaluation
def _(operand, *, channel_id, is_host_transfer, frontend_attributes, run):
    key = channel_key(channel_id, is_host_transfer, frontend_attributes)
    if not is_host_transfer:
        run.environment.channels.finish_send(key, int(operand[1]))


@operation("recv-done", "operand", builder="RecvDone", traits={EFFECTFUL, HOST_CALL}, dynamic=KEPT, **_CHANNEL)
def recv_done(operand, *, channel_id, is_host_transfer, frontend_attributes):
    """RecvDone(context): waits for the data of a recv; ``(data, token[])``. The channel is that of the recv."""
    _require_context("recv-done", operand.without_layout())
    _require_channel("recv-done", channel_id)
    return TupleShape((operand.elements[0].without_layout(), TOKEN_SHAPE))


@recv_done.evaluation
def _(operand, *, channel_id, is_host_transfer, frontend_attributes, run, shape):
    key = channel_key(channel_id, is_host_transfer, frontend_attributes)
    return run.environment.channels.finish_recv(key, int(operand[1]), shape.elements[0].without_layout()), None


_TO_HOST = {"is_host_transfer": True, "frontend_attributes": '{_xla_host_transfer_rendezvous="samples"}'}


@send.sampling
def _():
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample([data, None], {"channel_id": 3})
    yield Sample([data, None])
    yield Sample([Shape(S32), None], {"channel_id": 3, **_TO_HOST})
    yield Sample([TupleShape((Shape(F32, (2,)), Shape(PRED))), None], {"channel_id": 1, "is_host_transfer": True})
    yield InvalidSample([Shape(F32), None], {"channel_id": -1}, "must not be negative")
    yield InvalidSample([Shape(F32), Shape(F32)], {"channel_id": 1}, r"token must be a token\[\]")
    yield InvalidSample([None, None], {"channel_id": 1}, "must consist of arrays")


@recv.sampling
def _():
    array = _context(Shape(F32, (2, 3)))
    yield Sample([None], {"channel_id": 3}, shape=array)
    yield Sample([None], shape=array)
    yield Sample([None], {"channel_id": 3, **_TO_HOST}, shape=_context(TupleShape((Shape(S32), Shape(F32)))))
    yield InvalidSample([None], {"channel_id": 3}, "result shape must be", shape=Shape(F32))
    yield InvalidSample([Shape(F32)], {"channel_id": 3}, r"token must be a token\[\]", shape=array)


@send_done.sampling
def _():
    context = (np.arange(3, dtype=np.float32), np.uint32(0), None)
    yield Sample([context], {"channel_id": 3})
    yield Sample([context], {"channel_id": 3, **_TO_HOST})
    yield InvalidSample([Shape(F32)], {"channel_id": 3}, "must be the result of send")


@recv_done.sampling
def _():
    yield Sample([(np.zeros(3, np.float32), np.uint32(0), None)], {"channel_id": 3})
    yield Sample([((np.zeros(3, np.float32), np.int32(0)), np.uint32(0), None)], {"channel_id": 3, **_TO_HOST})
    yield InvalidSample([TupleShape((Shape(F32), Shape(U32)))], {"channel_id": 3}, "must be the result of recv")


# --- trace ---


@operation("trace", "operand", builder="Trace", traits={EFFECTFUL, HOST_CALL}, tag=String())
def trace(operand, *, tag):
    """Trace(tag, operand): prints the tag and the operand's value to standard output each time that it runs.

    The result is an empty tuple. Source: ``Trace`` of the 2017 preview and the opcode ``trace`` of XLA up to 2021.
    """
    _require_data("trace", "the operand", operand)
    return TupleShape(())


@trace.evaluation
def _(operand, *, tag, run):
    run.environment.trace(tag, operand)
    return ()


@trace.sampling
def _():
    yield Sample([np.arange(3, dtype=np.float32)], {"tag": "x"}, expected=())
    yield Sample([TupleShape((Shape(S32), Shape(F32, (2, 2))))], {"tag": 'the "pair"'})
    yield InvalidSample([Shape(F32)], {}, "attribute tag is required")
    yield InvalidSample([None], {"tag": "x"}, "must consist of arrays")
