"""Instructions of a processor in SPIR-V: functions that a module imports, with the names of LLVM's intrinsics.

LLVM's SPIR-V target refuses intrinsics of other targets. So they have other names until the code is emitted; in the binary
module, what says under which name a function is imported gets the intrinsic's. A driver whose compiler is LLVM finds the
intrinsic then, if its pointers are of address space 0, as they are there. Source: "SPIR-V Specification", 2.3 (physical
layout), 3.20 (decorations).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from struct import pack

from ..given_code.spirv_module import HEADER_WORDS, instructions_of, string_words, text_of

_INTRINSIC = re.compile(r'@"?llvm\.(x86\.[\w.]+)"?')
# Of what SPIR-V has an instruction for, too, Intel's compiler makes calls of a library where it is for vectors.
_WITH_COUNTS = re.compile(r'@"?llvm\.(x86\.[\w.]+|ctpop\.v\w+)"?')
# With what LLVM's inliner says of it, as that it is aligned.
_POINTER = re.compile(r'ptr addrspace\(4\)((?: align \d+| [a-z_]+(?:\([^)]*\))?)*)(?: (%"?[\w.$-]+"?))?')
_PREFIX = "phlox.import."
_IMPORTED_TEXT = f'LinkageAttributes "{_PREFIX}'.encode()
_OP_DECORATE, _LINKAGE_ATTRIBUTES = 71, 41


def import_intrinsics(llvm_ir: str, emit: Callable[[str], bytes], is_binary: bool, counts: bool) -> bytes:
    """What ``emit`` makes of the LLVM assembly, a module or its text, in which intrinsics of the processor's are imported.

    counts: whether those are that count the bits of each lane.
    """
    intrinsic = _WITH_COUNTS if counts else _INTRINSIC
    if intrinsic.search(llvm_ir) is None:
        return emit(llvm_ir)
    lines = [_with_plain_pointers(line, number) for number, line in enumerate(llvm_ir.split("\n"))]
    code = emit(intrinsic.sub(rf'@"{_PREFIX}\1"', "\n".join(lines)))
    return _renamed(code) if is_binary else code.replace(_IMPORTED_TEXT, b'LinkageAttributes "llvm.')


def _with_plain_pointers(line: str, number: int) -> str:
    """A line of LLVM assembly, after casts of the pointers that it gives to an intrinsic.

    >>> print(_with_plain_pointers("  call void @llvm.x86.f(ptr addrspace(4) align 16 %x, i32 1)", 5))
      %address.5.0 = ptrtoint ptr addrspace(4) %x to i64
      %plain.5.0 = inttoptr i64 %address.5.0 to ptr
      call void @llvm.x86.f(ptr align 16 %plain.5.0, i32 1)
    >>> _with_plain_pointers("declare void @llvm.x86.g(ptr addrspace(4), i32 immarg)", 6)
    'declare void @llvm.x86.g(ptr, i32)'
    """
    if _INTRINSIC.search(line) is None:
        return line
    if line.startswith("declare"):  # which LLVM may have written; only intrinsics have such parameters
        line = line.replace(" immarg", "")
    casts: list[str] = []

    def plain(found: re.Match) -> str:
        attributes, value = found.groups()
        if value is None or line.startswith("declare"):
            return f"ptr{attributes}" if value is None else f"ptr{attributes} {value}"
        name = f"{number}.{len(casts) // 2}"
        casts.append(f"  %address.{name} = ptrtoint ptr addrspace(4) {value} to i64")
        casts.append(f"  %plain.{name} = inttoptr i64 %address.{name} to ptr")
        return f"ptr{attributes} %plain.{name}"

    called = _POINTER.sub(plain, line)
    return "\n".join([*casts, called])


def _renamed(code: bytes) -> bytes:
    header, words = code[: 4 * HEADER_WORDS], []
    for opcode, operands in instructions_of(code):
        if opcode == _OP_DECORATE and operands[1] == _LINKAGE_ATTRIBUTES:
            operands = _renamed_import(operands)
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return header + pack(f"<{len(words)}I", *words)


def _renamed_import(operands: Sequence[int]) -> Sequence[int]:
    """Those of ``OpDecorate target LinkageAttributes name kind``, whose name is that of the intrinsic."""
    target, attributes, *literal, kind = operands
    name = text_of(literal)
    if not name.startswith(_PREFIX):
        return operands
    return [target, attributes, *string_words(f"llvm.{name.removeprefix(_PREFIX)}"), kind]
