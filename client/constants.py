"""The builder's methods that make constants.

Source: "C++ interface" of XLA's compiler preview of 2017. The element type stands for the template argument there; without it,
it is the one that NumPy gives the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..hlo import Instruction
from ..xla_builder import XlaBuilder
from .handles import ComputationDataHandle
from .literal import Literal, constant_of_rank


class ConstantMethods:
    """A part of `phlox.client.ComputationBuilder`."""

    _builder: XlaBuilder
    _attempt: Callable[[Callable[[], Any]], Any]
    _handle: Callable[[Instruction | None], ComputationDataHandle]

    def _constant(self, rank: int, name: str, *arguments: Any) -> ComputationDataHandle:
        return self._handle(self._attempt(lambda: self._builder.constant(constant_of_rank(rank, name, *arguments))))

    def ConstantLiteral(self, literal: Literal) -> ComputationDataHandle:
        """The value of this literal. Raises TypeError for anything else."""
        if not isinstance(literal, Literal):
            raise TypeError(f"ConstantLiteral: a Literal is required, got {type(literal).__name__}")
        return self._handle(self._attempt(lambda: self._builder.emit("constant", literal=literal.value)))

    def ConstantR0(self, value: Any, element_type: Any = None) -> ComputationDataHandle:
        """A scalar: ``ConstantR0(alpha, F32)`` is ``ConstantR0<float>(alpha)`` in C++."""
        return self._constant(0, "ConstantR0", value, element_type)

    def ConstantR1(self, values: Any, value: Any = None, element_type: Any = None) -> ComputationDataHandle:
        """ConstantR1(values, element_type): a vector. ConstantR1(length, value, element_type): one of equal elements.

        >>> from phlox.client import ClientLibrary, ComputationBuilder
        >>> builder = ComputationBuilder(ClientLibrary.ClientLibraryOrDie(), "ones")
        >>> ones = builder.ConstantR1(3, 1.0, "float32")
        >>> builder.client.ExecuteAndTransfer(builder.Build())
        f32[3] {1, 1, 1}
        """
        if isinstance(values, int | np.integer) and not isinstance(values, bool):
            return self._constant(1, "ConstantR1", values, element_type, value)
        if element_type is not None:
            raise TypeError(f"ConstantR1: the length must be an integer, got {values!r}")
        return self._constant(1, "ConstantR1", values, value)

    def ConstantR2(self, values: Any, element_type: Any = None) -> ComputationDataHandle:
        """A matrix, of a sequence of rows."""
        return self._constant(2, "ConstantR2", values, element_type)

    def ConstantR2FromArray2D(self, values: Any, element_type: Any = None) -> ComputationDataHandle:
        """A matrix, of an array of rank 2."""
        return self._constant(2, "ConstantR2FromArray2D", values, element_type)

    def ConstantR3FromArray3D(self, values: Any, element_type: Any = None) -> ComputationDataHandle:
        """A constant of rank 3."""
        return self._constant(3, "ConstantR3FromArray3D", values, element_type)

    def ConstantR4FromArray4D(self, values: Any, element_type: Any = None) -> ComputationDataHandle:
        """A constant of rank 4."""
        return self._constant(4, "ConstantR4FromArray4D", values, element_type)

    ConstantR3, ConstantR4 = ConstantR3FromArray3D, ConstantR4FromArray4D
