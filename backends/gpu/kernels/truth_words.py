"""Reductions of truth values as those of words of them: so vectors of 16 lanes have four times as many values.

Before: ``or`` of ``pred[1000,1000]`` along the first dimension. After: ``or`` of ``u32[1000,250]``, which is the same memory: a
truth value is a byte there, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....hlo import PRED, U32, Computation, Instruction, Shape, make_instruction
from ....hlo.builder import scalar_computation
from ....hlo.ops.elementwise import AND, OR
from ...llvm.arrays import Array
from ...llvm.elemental import Binding

_VALUES = 4  # of a word
_EVERY = 0x01010101  # the word of true ones


def in_words(computation: Computation) -> Computation:
    """A computation whose root is a reduce, of words where it can be; else itself."""
    reduce = computation.root
    if len(reduce.operands) != 2:
        return computation
    operation = reduce.attributes["to_apply"].combining_operation
    return _combined(computation, operation.opcode) if operation in (AND, OR) else computation


def _combined(computation: Computation, opcode: str) -> Computation:
    """Columns of which each value is computed of one a row."""
    reduce = computation.root
    (values, first), last = reduce.operands, reduce.operands[0].shape.rank - 1
    if values.opcode != "parameter" or values.shape.element_type is not PRED:
        return computation
    if last in reduce.attributes["dimensions"] or values.shape.dimensions[last] % _VALUES:
        return computation
    scalar = Shape(U32, ())
    every = make_instruction("constant", (), {"literal": np.uint32(_EVERY).reshape(())}, scalar)
    number = make_instruction("convert", (first,), {}, scalar)
    init = make_instruction("multiply", (number, every), {}, scalar)
    words = make_instruction("parameter", (), values.attributes, _words(values.shape))
    attributes = {**reduce.attributes, "to_apply": scalar_computation(opcode, U32)}
    root = make_instruction("reduce", (words, init), attributes, _words(reduce.shape))
    given = [words if one is values else one for one in computation.instructions if one is not reduce]
    return Computation(computation.name, (*given, every, number, init, root), root)


def _words(shape: Shape) -> Shape:
    *rows, last = shape.dimensions
    return Shape(U32, (*rows, last // _VALUES))


def as_given(parameters: Sequence[Instruction], values: Sequence[Binding]) -> list[Binding]:
    """The arrays that a computation is given, with the shapes of its parameters."""
    return [
        Array(value.pointer, parameter.shape) if isinstance(value, Array) and value.shape != parameter.shape else value
        for parameter, value in zip(parameters, values)
    ]
