"""What ELF files of both vendors say of their kernels' parameters: NVIDIA's cubins, and AMD's code objects.

Sources: LLVM's "User Guide for AMDGPU Backend", Code Object Metadata. Of cubins nothing is published; the attributes have these
numbers in what ``cuobjdump -elf`` prints (EIATTR_KPARAM_INFO), and NVIDIA's assembler writes one for each parameter.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..code_generation.elf import NOTE, Section, elf_header, sections_of, symbols_of
from .message_pack import unpacked
from .parameters import ARRAY

_AMDGPU = 224  # e_machine
_OWNER, _METADATA = b"AMDGPU\0\0", 32  # of a note
_POINTERS = {"global_buffer", "by_value"}  # values of 8 bytes may be pointers
_POINTER_BYTES = 8

_IS_KERNEL = 0x10  # among what a symbol of a cubin has in st_other
_ATTRIBUTES = ".nv.info."
_WITH_SIZE, _PARAMETER = 4, 0x17  # how an attribute is stored, and which it is
_SIZE_BITS = 18  # of a parameter, behind what else there is in the word


def elf_kernels(code: bytes) -> dict[str, list[str]]:
    """What the parameters of each kernel are. Raises ValueError for a file that is not whole."""
    header = elf_header(code)
    if header is None:
        raise ValueError("it is no ELF file of 64 bits, little endian")
    try:
        sections = sections_of(code, header)
        return _of_code_object(sections) if header[2] == _AMDGPU else _of_cubin(sections)
    except (struct.error, IndexError, KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise ValueError(f"it is no whole ELF file: {error}") from None


# --- NVIDIA ---


def _of_cubin(sections: Sequence[Section]) -> dict[str, list[str]]:
    attributes = {one.name.removeprefix(_ATTRIBUTES): one.data for one in sections if one.name.startswith(_ATTRIBUTES)}
    names = [symbol.name for symbol in symbols_of(sections) if symbol.other & _IS_KERNEL]
    return {name: _parameters(attributes.get(name, b"")) for name in names}


def _parameters(attributes: bytes) -> list[str]:
    found = {}
    for kind, value in _attributes(attributes):
        if kind == _PARAMETER:
            _, number, _, packed = struct.unpack("<IHHI", value)
            size = packed >> _SIZE_BITS
            found[number] = ARRAY if size == _POINTER_BYTES else f"{size} bytes"
    return [found[number] for number in sorted(found)]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The number of each attribute, and its value: two bytes, or as many as these say."""
    at = 0
    while at < len(data):
        form, kind, size = struct.unpack_from("<BBH", data, at)
        begin = at + 4
        at = begin + (size if form == _WITH_SIZE else 0)
        yield kind, data[begin:at]


# --- AMD ---


def _of_code_object(sections: Sequence[Section]) -> dict[str, list[str]]:
    for section in sections:
        if section.kind == NOTE:
            for owner, kind, content in _notes(section.data):
                if (owner, kind) == (_OWNER, _METADATA):
                    return {kernel[".name"]: arguments_of(kernel) for kernel in unpacked(content)["amdhsa.kernels"]}
    raise ValueError("it has no metadata of its kernels")


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """The owner, the kind and the content of each note: owners and contents end on words."""
    at = 0
    while at < len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        name = at + 12
        content = name + name_size + -name_size % 4
        yield data[name:content], kind, data[content : content + size]
        at = content + size + -size % 4


def arguments_of(kernel: Mapping[str, Any]) -> list[str]:
    """What a kernel is given, by its metadata; the hidden arguments are the driver's."""
    given = [one for one in kernel.get(".args", []) if not one[".value_kind"].startswith("hidden_")]
    return [_argument(one[".value_kind"], one[".size"]) for one in given]


def _argument(kind: str, size: int) -> str:
    return ARRAY if kind in _POINTERS and size == _POINTER_BYTES else f"{kind} of {size} bytes"
