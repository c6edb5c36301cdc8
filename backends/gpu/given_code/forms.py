"""The forms in which users give the code of a kernel, besides LLVM assembly, and what there is to know of what they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .elf_kernels import elf_kernels
from .ptx_text import ptx_kernels
from .spirv_module import MAGIC as SPIRV
from .spirv_module import spirv_kernels

ELF, FAT_BINARY = b"\x7fELF", b"\x50\xed\x55\xba"

Kernels = dict[str, list[str]] | None  # what each takes (`parameters`), None where nothing here reads that


class Form(NamedTuple):
    """What code may be: its name, what it begins with, which None says of text, and what reads it."""

    name: str
    beginning: bytes | None
    read: Callable[[str | bytes, str], tuple[bytes, Kernels]]


def _ptx(code: str | bytes, architecture: str) -> tuple[bytes, Kernels]:
    text = code if isinstance(code, str) else code.decode(errors="replace")
    return text.encode(), ptx_kernels(text, architecture)


def _spirv(code: bytes, architecture: str) -> tuple[bytes, Kernels]:
    return code, spirv_kernels(code)


def _spirv_text(code: str, architecture: str) -> tuple[bytes, Kernels]:
    from .spirv_assembler import assemble_spirv  # whose tables only texts need
    from .spirv_blocks import check_blocks  # likewise

    module = assemble_spirv(code)
    check_blocks(code)
    return _spirv(module, architecture)


def _elf(code: bytes, architecture: str) -> tuple[bytes, Kernels]:
    return code, elf_kernels(code)


def _unread(code: bytes, architecture: str) -> tuple[bytes, Kernels]:
    return code, None


CUBIN = Form("a cubin", ELF, _elf)
NVIDIA_FAT_BINARY = Form("a fat binary", FAT_BINARY, _unread)
PTX_TEXT = Form("PTX text", None, _ptx)
CODE_OBJECT = Form("a code object (bytes)", ELF, _elf)
SPIRV_MODULE = Form("a SPIR-V module (bytes)", SPIRV, _spirv)
SPIRV_TEXT = Form("SPIR-V as text", None, _spirv_text)
