"""Methods of XlaBuilder and of the 2017 preview's ComputationBuilder for operations with effects and custom calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..hlo.attributes import quoted
from ..hlo.element_type import U32
from ..hlo.instruction import Instruction
from ..hlo.shape import TOKEN_SHAPE, AnyShape, Shape, TupleShape


class EffectMethods:
    """A part of `phlox.xla_builder.XlaBuilder`.

    Those without a token in their names make one of their own: such operations run in the order in which they are built.
    """

    emit: Callable[..., Instruction]
    GetTupleElement: Callable[..., Instruction]

    def InfeedWithToken(self, token: Instruction, shape: AnyShape, config: str = "") -> Instruction:
        """The tuple of the next value of the infeed queue, of this shape, and a token."""
        return self.emit("infeed", token, shape=TupleShape((shape, TOKEN_SHAPE)), infeed_config=config)

    def Infeed(self, shape: AnyShape, config: str = "") -> Instruction:
        """The next value of the infeed queue, of this shape. Source: the preview of 2017."""
        return self.GetTupleElement(self.InfeedWithToken(self.emit("after-all"), shape, config), 0)

    def OutfeedWithToken(
        self, operand: Instruction, token: Instruction, shape_with_layout: AnyShape | None = None, outfeed_config: str = ""
    ) -> Instruction:
        """Puts the operand into the outfeed queue; a token."""
        shape = operand.shape if shape_with_layout is None else shape_with_layout
        return self.emit("outfeed", operand, token, outfeed_shape=shape, outfeed_config=outfeed_config)

    def Outfeed(self, operand: Instruction, shape_with_layout: AnyShape | None = None, outfeed_config: str = "") -> Instruction:
        """As OutfeedWithToken, with a token of its own."""
        return self.OutfeedWithToken(operand, self.emit("after-all"), shape_with_layout, outfeed_config)

    def SendWithToken(self, operand: Instruction, token: Instruction, handle: int) -> Instruction:
        """Sends the operand to the recv of this channel, and waits until it is received; a token."""
        return self.SendDone(self.emit("send", operand, token, channel_id=handle), handle)

    def SendDone(self, context: Instruction, handle: int) -> Instruction:
        return self.emit("send-done", context, channel_id=handle)

    def Send(self, operand: Instruction, handle: int) -> Instruction:
        """As SendWithToken, with a token of its own."""
        return self.SendWithToken(operand, self.emit("after-all"), handle)

    def RecvWithToken(self, token: Instruction, shape: AnyShape, handle: int) -> Instruction:
        """The tuple of what the send of this channel sends, of this shape, and a token."""
        context = TupleShape((shape, Shape(U32), TOKEN_SHAPE))
        return self.RecvDone(self.emit("recv", token, shape=context, channel_id=handle), handle)

    def RecvDone(self, context: Instruction, handle: int) -> Instruction:
        return self.emit("recv-done", context, channel_id=handle)

    def Recv(self, shape: AnyShape, handle: int) -> Instruction:
        """What the send of this channel sends, of this shape."""
        return self.GetTupleElement(self.RecvWithToken(self.emit("after-all"), shape, handle), 0)

    def CustomCall(
        self,
        call_target_name: str,
        operands: Sequence[Instruction],
        shape: AnyShape,
        opaque: str = "",
        has_side_effect: bool = False,
    ) -> Instruction:
        """The result, of this shape, of the function that is registered under the name; ``opaque`` is a text for it."""
        config = quoted(opaque) if opaque else ""
        attributes = {"custom_call_target": call_target_name, "custom_call_has_side_effect": has_side_effect}
        return self.emit("custom-call", *operands, shape=shape, **attributes, backend_config=config)

    def Trace(self, tag: str, operand: Instruction) -> None:
        """Prints the operand, with the tag, each time that the computation runs. Source: the preview of 2017."""
        self.emit("trace", operand, tag=tag)
