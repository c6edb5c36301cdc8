"""The builder's methods for what a computation does besides computing: traces, infeed and outfeed, calls of foreign functions.

Source: "C++ interface" and "Infeed" of XLA's compiler preview of 2017; of Outfeed, XLA's Operation Semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..hlo import Instruction, TupleShape
from ..hlo.shape import TOKEN_SHAPE, AnyShape
from ..xla_builder import XlaBuilder
from .handles import ComputationDataHandle
from .shapes import require_shape


class EffectMethods:
    """A part of `phlox.client.ComputationBuilder`. What returns nothing does not become the computation's result."""

    _builder: XlaBuilder
    _attempt: Callable[[Callable[[], Any]], Any]
    _handle: Callable[[Instruction | None], ComputationDataHandle]
    _instruction: Callable[[str, ComputationDataHandle], Instruction]

    def Trace(self, tag: str, operand: ComputationDataHandle) -> None:
        """Prints the operand, after the tag, each time that the program comes here."""
        _require("Trace: the tag", tag, str)
        _require("Trace: operand", operand, ComputationDataHandle)
        self._attempt(lambda: self._builder.emit("trace", self._instruction("Trace", operand), tag=tag))

    def Infeed(self, shape: AnyShape) -> ComputationDataHandle:
        """The next value that `Client.TransferToInfeed` has sent, which must be of this shape; the program waits for it.

        Several run in the order in which they are enqueued.
        """
        require_shape("Infeed: shape", shape)

        def operation() -> Instruction:
            pair = self._builder.emit("infeed", self._builder.emit("after-all"), shape=TupleShape((shape, TOKEN_SHAPE)))
            return self._builder.GetTupleElement(pair, 0)

        return self._handle(self._attempt(operation))

    def Outfeed(
        self, operand: ComputationDataHandle, shape_with_layout: AnyShape | None = None, outfeed_config: str = ""
    ) -> None:
        """Sends the operand to where `Client.TransferFromOutfeed` takes it from."""
        _require("Outfeed: operand", operand, ComputationDataHandle)
        if shape_with_layout is not None:
            require_shape("Outfeed: shape_with_layout", shape_with_layout)

        def operation() -> Instruction:
            data, attributes = self._instruction("Outfeed", operand), {"outfeed_config": outfeed_config}
            token = self._builder.emit("after-all")
            return self._builder.emit("outfeed", data, token, outfeed_shape=shape_with_layout, **attributes)

        self._attempt(operation)

    def CustomCallOp(
        self, call_target_name: str, operands: Sequence[ComputationDataHandle], shape: AnyShape
    ) -> ComputationDataHandle:
        """The result, of this shape, of the function that is registered under this name (`phlox.runtime.custom_calls`)."""
        _require("CustomCallOp: call_target_name", call_target_name, str)
        require_shape("CustomCallOp: shape", shape)
        for operand in operands:
            _require("CustomCallOp: each operand", operand, ComputationDataHandle)

        def operation() -> Instruction:
            values = [self._instruction("CustomCallOp", operand) for operand in operands]
            return self._builder.emit("custom-call", *values, shape=shape, custom_call_target=call_target_name)

        return self._handle(self._attempt(operation))


def _require(what: str, value: Any, wanted: type) -> None:
    if not isinstance(value, wanted):
        words = "a data handle" if wanted is ComputationDataHandle else "a string"
        raise TypeError(f"{what} must be {words}, got {type(value).__name__} {value!r}")
