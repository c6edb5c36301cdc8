"""Which instructions only give another name to a value that already lies in memory.

A *value* is one array of an instruction's result: the instruction with the position of the array among the leaves of its shape.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from ..hlo import Instruction, leaves
from ..hlo.operation import RENAMES, TUPLING
from .memo import Memo


class Value(NamedTuple):
    """One array in an instruction's result."""

    instruction: Instruction
    leaf: int = 0


_invariant_leaves: Memo[Instruction, frozenset[int]] = Memo()


def invariant_leaves(loop: Instruction) -> frozenset[int]:
    """The leaves of a While's state that its body hands on unchanged."""
    known = _invariant_leaves.get(loop)
    if known is None:
        body = loop.attributes["body"]
        parameter = body.parameters[0]
        count = len(leaves(body.shape))
        unchanged = (leaf for leaf in range(count) if defining_value(Value(body.root, leaf)) == Value(parameter, leaf))
        known = _invariant_leaves[loop] = frozenset(unchanged)
    return known


def only_names(instruction: Instruction) -> bool:
    """Whether all that the instruction does is to give its operands' values other names."""
    if instruction.opcode in _VIEWS:
        return is_free_view(instruction)
    return not {RENAMES, TUPLING}.isdisjoint(instruction.operation.traits)


def defining_value(value: Value) -> Value:
    """The value that this one is another name for; itself if it is computed where it stands.

    Tuples, their elements, reshapes, bitcasts, bitcast-converts, optimization barriers and what a While leaves unchanged are
    other names.
    """
    while True:
        instruction, leaf = value
        opcode = instruction.opcode
        if opcode == "tuple":
            offsets = instruction.shape.leaf_offsets
            element = bisect_right(offsets, leaf) - 1
            value = Value(instruction.operands[element], leaf - offsets[element])
        elif opcode == "get-tuple-element":
            (operand,) = instruction.operands
            value = Value(operand, operand.shape.leaf_offsets[instruction.attributes["index"]] + leaf)
        elif RENAMES in instruction.operation.traits or opcode in _VIEWS and is_free_view(instruction):
            value = Value(instruction.operands[0], leaf)
        elif opcode == "while" and leaf in invariant_leaves(instruction):
            value = Value(instruction.operands[0], leaf)
        else:
            return value


_VIEWS = frozenset({"bitcast-convert", "reshape"})


def has_whole_bytes(cast: Instruction) -> bool:
    """Whether the bits that a bitcast-convert names anew lie side by side: elements below 8 bits have a byte each."""
    source, target = cast.operands[0].shape.element_type, cast.shape.element_type
    return source.bits == target.bits or min(source.bits, target.bits) >= 8


def is_free_view(instruction: Instruction) -> bool:
    """Whether a reshape or bitcast-convert leaves every byte where it lies in memory.

    Those from or to rank 0 do not: scalars live in registers.
    """
    return instruction.operands[0].shape.rank > 0 and instruction.shape.rank > 0
