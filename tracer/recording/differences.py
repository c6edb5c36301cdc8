"""Integers of the program that differ by a number that is known, whatever they are."""

from __future__ import annotations

from ... import hlo
from .dynamic_array import same_value, size_of

Instruction = hlo.Instruction


def constant_difference(first: Instruction, second: Instruction) -> int | None:
    """first - second where that is the same for all values, as of ``i + 3`` and ``i``, or ``(i + 1) * 4`` and ``i * 4``."""
    terms, rest = _linear(first, 1, [], 16)
    terms, more = _linear(second, -1, terms, 16)
    return rest + more if all(factor == 0 for _, factor in terms) else None


def _linear(
    value: Instruction, factor: int, terms: list[tuple[Instruction, int]], depth: int
) -> tuple[list[tuple[Instruction, int]], int]:
    """The sum of these terms and ``factor * value`` as terms, and a constant."""
    own, _ = size_of_array(value)
    value = value if own is None else own
    opcode, operands = value.opcode, value.operands
    if opcode == "constant" and value.shape.rank == 0:
        return terms, factor * int(value.attributes["literal"])
    if depth and opcode == "convert" and operands[0].shape.element_type.is_integer:
        return _linear(operands[0], factor, terms, depth - 1)
    if depth and opcode in ("add", "subtract"):
        terms, one = _linear(operands[0], factor, terms, depth - 1)
        terms, other = _linear(operands[1], factor if opcode == "add" else -factor, terms, depth - 1)
        return terms, one + other
    if depth and opcode == "multiply":
        for number, one in enumerate(operands):
            if one.opcode == "constant" and one.shape.rank == 0:
                return _linear(operands[1 - number], factor * int(one.attributes["literal"]), terms, depth - 1)
    for place, (known, times) in enumerate(terms):
        if same_value(known, value):
            return [*terms[:place], (known, times + factor), *terms[place + 1 :]], 0
    return [*terms, (value, factor)], 0


def size_of_array(value: Instruction) -> tuple[Instruction | None, int]:
    """Of the size of an array's dimension that instruction, as `size_of` gives it, and its bound; of other integers None."""
    while value.opcode == "convert" and value.shape.element_type.is_integer and value.shape.element_type.bits >= 32:
        (value,) = value.operands
    if value.opcode != "get-dimension-size":
        return None, 0
    (array,), (dimension,) = value.operands, value.attributes["dimensions"]
    return size_of(array, dimension), array.shape.dimensions[dimension]
