"""What PTX says of itself: for which architecture it is, and what its kernels take. Source: PTX ISA 8.7, 5 and 11."""

from __future__ import annotations

import re

from .parameters import ARRAY
from .text_places import TextError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_VERSION = re.compile(r"\.version\s+\d+\.\d+")
_TARGET = re.compile(r"\.target\s+(sm_(\d+)([af]?))")
_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?")
_POINTER = re.compile(r"\.[sub]64\b(?!.*\[)", re.DOTALL)


def ptx_kernels(text: str, architecture: str) -> dict[str, list[str]]:
    """What the parameters of each kernel are. Raises TextError where the PTX is for an architecture that this one does not run.

    >>> ptx_kernels(".version 7.8 .target sm_80 .entry f(.param .u64 x, .param .u32 n)", "sm_90")
    {'f': ['a pointer to an array', '.param .u32 n']}
    """
    code = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    version, target = version_place(text), _TARGET.search(code)
    if version is None:
        raise TextError(text, 0, "PTX begins with the version of its language, as .version 7.8")
    if target is None:
        raise TextError(text, version, "PTX names behind its version the architecture that it is for, as .target sm_80")
    name, number, kind = target.groups()
    if not _runs(int(number), kind, _number(architecture)):
        raise TextError(text, target.start(1), f"the code is for {name}, and not for {architecture}")
    return {
        found[1]: [_parameter(one) for one in (found[2] or "").split(",") if one.strip()] for found in _ENTRY.finditer(code)
    }


def version_place(text: str) -> int | None:
    """Where PTX names its version."""
    found = _VERSION.search(_COMMENT.sub(lambda found: " " * len(found[0]), text))
    return None if found is None else found.start()


def _number(architecture: str) -> int:
    return int("".join(filter(str.isdigit, architecture)))


def _runs(number: int, kind: str, device: int) -> bool:
    """Whether a device runs code: that of an architecture alone (``a``), of its family (``f``), or of it and all later ones."""
    if kind == "a":
        return number == device
    return number <= device and (kind != "f" or number // 10 == device // 10)


def _parameter(text: str) -> str:
    return ARRAY if _POINTER.search(text) else " ".join(text.split())
