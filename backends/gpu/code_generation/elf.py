"""ELF files of 64 bits, little endian: headers and sections.

Source: "System V Application Binary Interface", chapters 4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")

MAGIC = b"\x7fELF"
_CLASS_AND_ORDER = b"\x02\x01"  # 64 bits, little endian
RELOCATABLE, SHARED_OBJECT = 1, 3  # e_type
SYMTAB, STRTAB, RELA, HASH, DYNAMIC, NOTE, NOBITS, DYNSYM = 2, 3, 4, 5, 6, 7, 8, 11  # sh_type
_GLOBAL = 1


@dataclass(frozen=True)
class Section:
    """A section: what its header says, and its contents."""

    name: str
    kind: int
    flags: int
    align: int
    data: bytes
    link: int = 0
    info: int = 0
    entry_size: int = 0
    address: int = 0

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True)
class Symbol:
    """A symbol, as the table has it."""

    name: str
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def is_global(self) -> bool:
        return self.info >> 4 == _GLOBAL


def elf_header(data: bytes) -> tuple[Any, ...] | None:
    """The fields of the header, None where there is none of 64 bits, little endian."""
    is_elf = len(data) >= HEADER.size and data.startswith(MAGIC + _CLASS_AND_ORDER)
    return HEADER.unpack_from(data) if is_elf else None


def sections_of(data: bytes, header: tuple[Any, ...]) -> list[Section]:
    """The sections, in order. Raises struct.error and IndexError where the file is shorter than its header says."""
    begin, count, names_index = header[6], header[12], header[13]
    raw = [SECTION_HEADER.unpack_from(data, begin + number * SECTION_HEADER.size) for number in range(count)]
    contents = [bytes(size) if kind == NOBITS else data[at : at + size] for _, kind, _, _, at, size, *_ in raw]
    return [
        Section(text_at(contents[names_index], name), kind, flags, align, content, link, info, entry_size)
        for (name, kind, flags, _, _, _, link, info, align, entry_size), content in zip(raw, contents)
    ]


def symbols_of(sections: Sequence[Section]) -> list[Symbol]:
    """The symbols of the file."""
    (table,) = [one for one in sections if one.kind == SYMTAB]
    names = sections[table.link].data
    return [Symbol(text_at(names, name), *rest) for name, *rest in SYMBOL.iter_unpack(table.data)]


def text_at(strings: bytes, offset: int) -> str:
    """The text that begins there in a table of strings."""
    return strings[offset : strings.index(b"\0", offset)].decode()
