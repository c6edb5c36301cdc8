"""What a binary SPIR-V module says of its kernels. Source: "SPIR-V Specification" 1.6, 2.3 (physical layout)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from struct import pack, unpack

from .parameters import ARRAY, SHARED

MAGIC = b"\x03\x02\x23\x07"
HEADER_WORDS = 5
_KERNEL = 6  # an execution model
# Among them those of Intel's for memory of the device alone, and of the host alone.
_STORAGE_CLASSES = {4: SHARED, 5: ARRAY, 5936: ARRAY, 5937: ARRAY}


class _Opcode(IntEnum):
    ENTRY_POINT = 15
    TYPE_POINTER = 32
    TYPE_FUNCTION = 33
    FUNCTION = 54
    TYPE_UNTYPED_POINTER = 4417


_LEAST_OPERANDS = {
    _Opcode.ENTRY_POINT: 3,
    _Opcode.TYPE_POINTER: 3,
    _Opcode.TYPE_FUNCTION: 2,
    _Opcode.FUNCTION: 4,
    _Opcode.TYPE_UNTYPED_POINTER: 2,
}


def spirv_kernels(code: bytes) -> dict[str, list[str]]:
    """What the parameters of each kernel are. Raises ValueError for what is no module."""
    entries: dict[str, int] = {}
    types: dict[int, list[int]] = {}  # of functions, the types of their parameters
    functions: dict[int, int] = {}
    pointers: dict[int, str] = {}
    for opcode, operands in instructions_of(code):
        if opcode == _Opcode.ENTRY_POINT and operands[0] == _KERNEL:
            entries[text_of(operands[2:])] = operands[1]
        elif opcode in (_Opcode.TYPE_POINTER, _Opcode.TYPE_UNTYPED_POINTER):
            pointers[operands[0]] = _STORAGE_CLASSES.get(operands[1], f"a pointer to storage class {operands[1]}")
        elif opcode == _Opcode.TYPE_FUNCTION:
            types[operands[0]] = list(operands[2:])
        elif opcode == _Opcode.FUNCTION:
            functions[operands[1]] = operands[3]
    found = {}
    for name, function in entries.items():
        if functions.get(function) not in types:
            raise ValueError(f"its kernel {name!r} has no function, or one without a type")
        found[name] = [pointers.get(one, "no pointer") for one in types[functions[function]]]
    return found


def instructions_of(code: bytes) -> Iterator[tuple[int, Sequence[int]]]:
    """The opcode and the operands of each instruction."""
    if len(code) % 4 or len(code) < 4 * HEADER_WORDS:
        raise ValueError(f"it is whole words, five and more, got {len(code):,} bytes")
    words = unpack(f"<{len(code) // 4}I", code)
    place = HEADER_WORDS
    while place < len(words):
        count, opcode = words[place] >> 16, words[place] & 0xFFFF
        if not count or place + count > len(words):
            raise ValueError(f"word {place:,} begins an instruction of {count:,} words; {len(words) - place:,} are left")
        operands = words[place + 1 : place + count]
        if len(operands) < _LEAST_OPERANDS.get(opcode, 0):
            raise ValueError(f"word {place:,} begins an instruction {opcode} of {count:,} words, which has more")
        yield opcode, operands
        place += count


def text_of(words: Sequence[int]) -> str:
    """The string that words hold, up to the zero that ends it."""
    return pack(f"<{len(words)}I", *words).partition(b"\0")[0].decode(errors="replace")


def string_words(text: str) -> list[int]:
    """A string without quotes, as UTF-8 that ends in a zero.

    >>> [hex(word) for word in string_words("main")]
    ['0x6e69616d', '0x0']
    """
    encoded = text.encode() + b"\0"
    encoded += b"\0" * (-len(encoded) % 4)
    return [int.from_bytes(encoded[at : at + 4], "little") for at in range(0, len(encoded), 4)]
