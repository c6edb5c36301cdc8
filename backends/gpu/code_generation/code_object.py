"""A linker for one object: the relocatable objects that LLVM makes for AMD's devices become shared objects, which drivers load.

What is kept has its places beside each other: what is read, what runs, and what the loader looks up, each on pages of its own,
at the addresses that are its offsets in the file. All references are between these, so nothing is left to the loader.

Source: "System V Application Binary Interface", chapters 4 and 5; LLVM's "User Guide for AMDGPU Backend", ELF Code Object.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from .elf import (
    DYNAMIC,
    DYNSYM,
    HASH,
    HEADER,
    NOTE,
    RELA,
    RELOCATABLE,
    SECTION_HEADER,
    SHARED_OBJECT,
    STRTAB,
    SYMBOL,
    SYMTAB,
    Section,
    Symbol,
    elf_header,
    sections_of,
    symbols_of,
)

_PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
_RELOCATION = struct.Struct("<QQq")
_DYNAMIC = struct.Struct("<qQ")

_WRITE, _ALLOC, _EXECUTABLE = 1, 2, 4  # sh_flags
_LOAD_SEGMENT, _DYNAMIC_SEGMENT, _NOTE_SEGMENT, _STACK_SEGMENT = 1, 2, 4, 0x6474E551  # p_type
_X, _W, _R = 1, 2, 4  # p_flags
_UNDEFINED, _FIRST_RESERVED, _ABSOLUTE = 0, 0xFF00, 0xFFF1  # st_shndx
_END, _HASH_TABLE, _STRINGS, _SYMBOLS, _STRINGS_SIZE, _SYMBOL_SIZE = 0, 4, 5, 6, 10, 11  # d_tag
_PAGE = 0x1000


class _Relative(NamedTuple):
    """A relocation by the distance to what is named: which bits of it are stored."""

    name: str
    shift: int
    size: int


_RELATIVE = {
    4: _Relative("R_AMDGPU_REL32", 0, 4),
    5: _Relative("R_AMDGPU_REL64", 0, 8),
    10: _Relative("R_AMDGPU_REL32_LO", 0, 4),
    11: _Relative("R_AMDGPU_REL32_HI", 32, 4),
}


def link_code_object(relocatable: bytes) -> bytes:
    """The shared object of a relocatable one, with the same kernels.

    Raises ValueError for what is no relocatable object of 64 bits, and NotImplementedError, which names it, for a reference to
    what the object does not define, and for relocations by addresses that are known when it is loaded.
    """
    header = elf_header(relocatable)
    if header is None or header[1] != RELOCATABLE:
        raise ValueError("link_code_object: a relocatable ELF object of 64 bits, little endian, is required")
    sections = sections_of(relocatable, header)
    kept = {number: one for number, one in enumerate(sections) if one.flags & _ALLOC and one.data}
    symbols = symbols_of(sections)
    exported = [symbol for symbol in symbols if symbol.is_global and symbol.section in kept]

    names = _Strings()
    offsets = [names.offset(symbol.name) for symbol in exported]
    found = Section(".dynsym", DYNSYM, _ALLOC, 8, bytes(SYMBOL.size * (len(exported) + 1)), info=1, entry_size=SYMBOL.size)
    tables = [
        found,
        Section(".hash", HASH, _ALLOC, 4, _hash_table([symbol.name for symbol in exported]), entry_size=4),
        Section(".dynstr", STRTAB, _ALLOC, 1, names.data),
    ]
    dynamic = Section(".dynamic", DYNAMIC, _ALLOC | _WRITE, 8, bytes(_DYNAMIC.size * 6), entry_size=_DYNAMIC.size)
    groups = [
        [one for one in kept.values() if one.kind == NOTE]
        + tables
        + [one for one in kept.values() if one.kind != NOTE and not one.flags & (_WRITE | _EXECUTABLE)],
        [one for one in kept.values() if one.flags & _EXECUTABLE],
        [dynamic, *[one for one in kept.values() if one.flags & _WRITE]],
    ]
    segments = _placed(groups, HEADER.size + _PROGRAM_HEADER.size * (len(groups) + 3))
    placed = {one.name: one for segment in segments for one in segment}
    addresses = {number: placed[one.name].address for number, one in kept.items()}
    indices = {name: number for number, name in enumerate(placed, 1)}

    contents = {name: bytearray(one.data) for name, one in placed.items()}
    contents[".dynsym"] = contents_of_symbols = bytearray(SYMBOL.size)
    for symbol, offset in zip(exported, offsets):
        where, address = indices[kept[symbol.section].name], addresses[symbol.section] + symbol.value
        contents_of_symbols += SYMBOL.pack(offset, symbol.info, symbol.other, where, address, symbol.size)
    entries = [
        (_SYMBOLS, placed[".dynsym"].address),
        (_SYMBOL_SIZE, SYMBOL.size),
        (_STRINGS, placed[".dynstr"].address),
        (_STRINGS_SIZE, len(names.data)),
        (_HASH_TABLE, placed[".hash"].address),
        (_END, 0),
    ]
    contents[".dynamic"] = bytearray(b"".join([_DYNAMIC.pack(*entry) for entry in entries]))
    for section in sections:
        if section.kind == RELA and section.info in kept:
            name = kept[section.info].name
            _relocate(contents[name], placed[name].address, section.data, symbols, addresses)

    links = {".dynsym": ".dynstr", ".hash": ".dynsym", ".dynamic": ".dynstr"}
    ordered = [
        replace(one, data=bytes(contents[name]), link=indices.get(links.get(name, ""), 0)) for name, one in placed.items()
    ]
    return _file(header, segments, ordered)


class _Strings:
    """A string table that grows."""

    def __init__(self) -> None:
        self.data = b"\0"

    def offset(self, text: str) -> int:
        self.data += text.encode() + b"\0"
        return len(self.data) - len(text.encode()) - 1


def _hash_table(names: Sequence[str]) -> bytes:
    """Of symbols whose first number is 1: buckets, and for each symbol the next one in its bucket."""
    count = max(1, len(names))
    buckets, chain = [0] * count, [0] * (len(names) + 1)
    for number, name in enumerate(names, 1):
        bucket = _hash(name.encode()) % count
        chain[number], buckets[bucket] = buckets[bucket], number
    return struct.pack(f"<{2 + count + len(chain)}I", count, len(chain), *buckets, *chain)


def _hash(name: bytes) -> int:
    value = 0
    for byte in name:
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value


def _up(value: int, align: int) -> int:
    return -(-value // max(1, align)) * max(1, align)


def _placed(groups: Iterable[Iterable[Section]], begin: int) -> list[list[Section]]:
    """The sections with their addresses; each group begins on a page, the first of them behind the headers."""
    segments, at = [], begin
    for number, group in enumerate(groups):
        at = _up(at, _PAGE) if number else at
        segment = []
        for section in group:
            segment.append(replace(section, address=_up(at, section.align)))
            at = segment[-1].end
        segments.append(segment)
    return segments


def _relocate(data: bytearray, address: int, relocations: bytes, symbols: Sequence[Symbol], addresses: dict[int, int]) -> None:
    """Store the distances that are asked for in a section's data, which begins at the address."""
    for offset, info, addend in _RELOCATION.iter_unpack(relocations):
        symbol, relocation = symbols[info >> 32], _RELATIVE.get(info & 0xFFFFFFFF)
        if relocation is None:
            raise NotImplementedError(
                f"a code object with relocations of type {info & 0xFFFFFFFF} for {symbol.name!r} is not linked"
            )
        if symbol.section not in addresses:
            raise NotImplementedError(f"a code object refers to {symbol.name!r}, which it does not define")
        distance = addresses[symbol.section] + symbol.value + addend - (address + offset)
        _, shift, size = relocation
        data[offset : offset + size] = (distance >> shift & (1 << 8 * size) - 1).to_bytes(size, "little")


def _file(header: tuple, segments: Sequence[Sequence[Section]], sections: Sequence[Section]) -> bytes:
    """The file: headers, what is loaded, and behind it what tools look at."""
    where = {one.name: one for one in sections}
    # The same symbols once more, under the name by which some tools look for them.
    strings, symbols = where[".dynstr"], where[".dynsym"]
    others = [
        replace(symbols, name=".symtab", kind=SYMTAB, flags=0, address=0, link=len(sections) + 2),
        replace(strings, name=".strtab", flags=0, address=0),
        Section(".shstrtab", STRTAB, 0, 1, b""),
    ]
    names = _Strings()
    offsets = [names.offset(one.name) for one in [*sections, *others]]
    others[-1] = replace(others[-1], data=names.data)

    loaded = [
        (_R, 0, segments[0][-1].end),
        (_R | _X, *_extent(segments[1])),
        (_R | _W, *_extent(segments[2])),
    ]
    program = [_PROGRAM_HEADER.pack(_LOAD_SEGMENT, f, a, a, a, end - a, end - a, _PAGE) for f, a, end in loaded]
    dynamic, notes = where[".dynamic"], [one for one in sections if one.kind == NOTE]
    program.append(_segment(_DYNAMIC_SEGMENT, _R | _W, dynamic))
    program.append(_segment(_NOTE_SEGMENT, _R, notes[0]) if notes else bytes(_PROGRAM_HEADER.size))
    program.append(_PROGRAM_HEADER.pack(_STACK_SEGMENT, _R | _W, 0, 0, 0, 0, 0, 0))

    file = bytearray(HEADER.size) + b"".join(program)
    entries = [bytes(SECTION_HEADER.size)]
    for offset, one in zip(offsets, [*sections, *others]):
        at = one.address or _up(len(file), one.align)
        file += bytes(at - len(file)) + one.data
        sizes = one.address, at, len(one.data), one.link, one.info, one.align, one.entry_size
        entries.append(SECTION_HEADER.pack(offset, one.kind, one.flags, *sizes))
    file += bytes(_up(len(file), 8) - len(file))
    ident, _, machine, version, _, _, _, flags, *_ = header
    file[: HEADER.size] = HEADER.pack(
        ident, SHARED_OBJECT, machine, version, 0, HEADER.size, len(file), flags, HEADER.size,
        _PROGRAM_HEADER.size, len(program), SECTION_HEADER.size, len(entries), len(entries) - 1,
    )  # fmt: skip
    return bytes(file) + b"".join(entries)


def _extent(segment: Sequence[Section]) -> tuple[int, int]:
    return (segment[0].address, segment[-1].end) if segment else (0, 0)


def _segment(kind: int, flags: int, section: Section) -> bytes:
    at, size = section.address, len(section.data)
    return _PROGRAM_HEADER.pack(kind, flags, at, at, at, size, size, section.align)
