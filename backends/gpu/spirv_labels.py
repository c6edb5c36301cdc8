"""Whether the blocks of SPIR-V have labels of their own.

LLVM 22 keeps, from one module to the next, which labels it has given to blocks, by their addresses, which are used again: now and
then a block gets the number of something else. Drivers find such code out late, or never.

Source of the numbers: SPIR-V Specification 1.6, 3.42 (instructions).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_HEADER_WORDS = 5
_LABEL = 248
# Instructions whose first operand is their result, as those of all types are.
_RESULT_FIRST = {7, 11, 73, *range(19, 40)}
# Instructions without a result that may stand in functions, and before them.
_NO_RESULT = {
    *range(0, 7), *range(8, 11), *range(13, 19), 56, 62, 63, 64, *range(71, 80), 218, 219, 220, 221, 224, 225, 228, 246, 247,
    *range(249, 258), 331, 332,
}  # fmt: skip
_WITH_RESULT = {77, 78, 79}  # among the numbers above: of vectors


def has_unique_labels(code: bytes) -> bool:
    """Whether no label has the number of another one, or of another result."""
    labels: list[int] = []
    others: set[int] = set()
    for opcode, operands in _instructions(code):
        if opcode == _LABEL:
            labels.append(operands[0])
        elif opcode in _RESULT_FIRST:
            others.add(operands[0])
        elif (opcode not in _NO_RESULT or opcode in _WITH_RESULT) and len(operands) > 1:
            others.add(operands[1])
    return len(set(labels)) == len(labels) and others.isdisjoint(labels)


def _instructions(code: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    words = struct.unpack(f"<{len(code) // 4}I", code)
    place = _HEADER_WORDS
    while place < len(words):
        count, opcode = words[place] >> 16, words[place] & 0xFFFF
        yield opcode, words[place + 1 : place + count]
        place += count
