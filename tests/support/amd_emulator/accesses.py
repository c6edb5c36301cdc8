"""What code says of the accesses that it makes: how small they are, and which are atomic.

Source: LLVM's "User Guide for AMDGPU Backend", memory model: loads that other blocks may store meanwhile go past the caches of
a block, and say so by a bit. Stores do that anyway, and say it on gfx942 alone; accesses of a block's memory never.
"""

from __future__ import annotations

from dataclasses import dataclass

from .instructions import Instruction, decode, is_rdna

_SMALL = {1: ("UBYTE", "SBYTE", "BYTE", "U8", "I8", "B8"), 2: ("USHORT", "SSHORT", "SHORT", "U16", "I16", "B16")}
_LONGEST = 16


@dataclass(frozen=True)
class Accesses:
    """The least sizes of accesses of the device's memory and a block's, 4 where they are larger; whether there are atomic loads
    of the first, and exchanges in the second.
    """

    device_unit: int
    shared_unit: int
    loads_atomically: bool
    exchanges_in_blocks: bool


def is_atomic_load(instruction: Instruction, architecture: str) -> bool:
    """Whether a load goes past the caches, and is not one of what is read only once."""
    if architecture == "gfx942":
        return bool(instruction.get("sc1"))
    past, once = ("glc", "slc") if is_rdna(architecture) else ("sc0", "nt")
    return bool(instruction.get(past) and not instruction.get(once))


def says_of_stores(architecture: str) -> bool:
    return architecture == "gfx942"


def accesses_of(code: bytes, architecture: str) -> Accesses:
    """Of all kernels of code."""
    units, loads_atomically, exchanges = {"device": 4, "shared": 4}, False, False
    at = 0
    while at < len(code):
        try:
            instruction = decode(code[at : at + _LONGEST].ljust(_LONGEST, b"\0"), architecture)
        except NotImplementedError:  # of code that does not run, or is found when it does
            at += 4
            continue
        at += instruction.size
        if instruction.form not in ("FLAT", "GLOBAL", "DS"):
            continue
        words = instruction.name.split("_")
        size = next((size for size, names in _SMALL.items() if any(name in words for name in names)), 4)
        for memory, forms in (("device", ("FLAT", "GLOBAL")), ("shared", ("FLAT", "DS"))):
            if instruction.form in forms:
                units[memory] = min(units[memory], size)
        if instruction.form == "DS":
            exchanges |= "CMPST" in words or "CMPSTORE" in words
        elif "LOAD" in words:
            loads_atomically |= is_atomic_load(instruction, architecture)
    return Accesses(units["device"], units["shared"], loads_atomically, exchanges)
