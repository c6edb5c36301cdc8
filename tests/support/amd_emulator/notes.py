"""What a code object's notes say of its kernels: HIP launches them by it.

Sources: LLVM's "User Guide for AMDGPU Backend", code object metadata; the MessagePack specification.
"""

from __future__ import annotations

import struct

_NUMBERS = dict(zip(range(0xCA, 0xD4), (">f", ">d", ">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q")))
_LENGTHS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def kernels_of(elf) -> dict[str, dict]:
    """The metadata of each kernel, by its name."""
    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU":
                description = note["n_desc"]
                data = description.encode("latin-1") if isinstance(description, str) else description
                found, end = _unpacked(data, 0)
                assert end <= len(data)
                return {kernel[".name"]: kernel for kernel in found["amdhsa.kernels"]}
    raise AssertionError("a code object without notes of AMD's")


def _unpacked(data, at):
    """The MessagePack object at an offset, and where it ends."""
    kind = data[at]
    at += 1
    if kind <= 0x7F or kind >= 0xE0:
        return kind if kind <= 0x7F else kind - 0x100, at
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    if kind in _NUMBERS:
        size = struct.calcsize(_NUMBERS[kind])
        return struct.unpack_from(_NUMBERS[kind], data, at)[0], at + size
    if kind in _LENGTHS:
        (count,) = struct.unpack_from(_LENGTHS[kind], data, at)
        at += struct.calcsize(_LENGTHS[kind])
    else:
        count = kind & (0x1F if 0xA0 <= kind <= 0xBF else 0x0F)
    if 0xA0 <= kind <= 0xBF or 0xD9 <= kind <= 0xDB:
        return data[at : at + count].decode(), at + count
    if 0x90 <= kind <= 0x9F or kind in (0xDC, 0xDD):
        items = []
        for _ in range(count):
            item, at = _unpacked(data, at)
            items.append(item)
        return items, at
    if 0x80 <= kind <= 0x8F or kind in (0xDE, 0xDF):
        pairs = {}
        for _ in range(count):
            key, at = _unpacked(data, at)
            pairs[key], at = _unpacked(data, at)
        return pairs, at
    raise NotImplementedError(f"MessagePack of kind {kind:#x}")
