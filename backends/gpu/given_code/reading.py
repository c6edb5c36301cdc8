"""A user's code, but for LLVM assembly, as a driver takes it, and what there is to know of its kernels before it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..errors import DeviceCodeError, DriverTooOldError
from ..target import Target
from .elf_kernels import elf_kernels
from .ptx_text import ptx_kernels, version_place
from .spirv_module import MAGIC as SPIRV
from .spirv_module import spirv_kernels
from .text_places import TextError

BACKENDS = {"nvptx": "cuda", "amdgpu": "rocm", "spirv": "opencl"}
_ELF, _FAT_BINARY = b"\x7fELF", b"\x50\xed\x55\xba"

Kernels = dict[str, list[str]] | None  # what each takes (`parameters`), None where nothing here reads that


class _Form(NamedTuple):
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


_FORMS = {
    "nvptx": (_Form("a cubin", _ELF, _elf), _Form("a fat binary", _FAT_BINARY, _unread), _Form("PTX text", None, _ptx)),
    "amdgpu": (_Form("a code object (bytes)", _ELF, _elf),),
    "spirv": (_Form("a SPIR-V module (bytes)", SPIRV, _spirv), _Form("SPIR-V as text", None, _spirv_text)),
}


def read_code(code: str | bytes, entry: str, target: Target) -> tuple[bytes, Kernels]:
    """The code of a kernel, and what the kernels in it take. Raises DeviceCodeError for what is none of the family's forms."""
    forms = _FORMS[target.family]
    backend = BACKENDS[target.family]
    for form in forms:
        is_text = form.beginning is None and (isinstance(code, str) or target.is_text)
        if is_text or isinstance(code, bytes) and form.beginning is not None and code.startswith(form.beginning):
            try:
                return form.read(code, target.architecture)
            except ValueError as error:
                raise DeviceCodeError(f"the code of the kernel {entry!r} is taken as {form.name}: {error}") from None
    names = ", ".join([form.name for form in forms])
    raise DeviceCodeError(f"the kernel {entry!r}: {names}, or LLVM assembly is required for {backend}")


def with_version(error: DeviceCodeError, code: bytes) -> DeviceCodeError:
    """The error, with the line of PTX for which a driver is too old."""
    text = code.decode(errors="replace")
    place = None if code.startswith((_ELF, _FAT_BINARY)) else version_place(text)
    if place is None or not isinstance(error, DriverTooOldError):
        return error
    return DriverTooOldError(f"{error}\n{TextError(text, place, 'the driver does not know this version of PTX')}")
