"""A user's code, but for LLVM assembly, as a driver takes it, and what there is to know of its kernels before it is asked."""

from __future__ import annotations

from ..errors import DeviceCodeError, DriverTooOldError
from ..target import Target
from .forms import ELF, FAT_BINARY, Kernels
from .ptx_text import version_place
from .text_places import TextError


def read_code(code: str | bytes, entry: str, target: Target) -> tuple[bytes, Kernels]:
    """The code of a kernel, and what the kernels in it take. Raises DeviceCodeError for what is none of the family's forms."""
    family = target.family
    for form in family.forms:
        is_text = form.beginning is None and (isinstance(code, str) or family.is_text)
        if is_text or isinstance(code, bytes) and form.beginning is not None and code.startswith(form.beginning):
            try:
                return form.read(code, target.architecture)
            except ValueError as error:
                raise DeviceCodeError(f"the code of the kernel {entry!r} is taken as {form.name}: {error}") from None
    names = ", ".join([form.name for form in family.forms])
    raise DeviceCodeError(f"the kernel {entry!r}: {names}, or LLVM assembly is required for {family.backend}")


def with_version(error: DeviceCodeError, code: bytes) -> DeviceCodeError:
    """The error, with the line of PTX for which a driver is too old."""
    text = code.decode(errors="replace")
    place = None if code.startswith((ELF, FAT_BINARY)) else version_place(text)
    if place is None or not isinstance(error, DriverTooOldError):
        return error
    return DriverTooOldError(f"{error}\n{TextError(text, place, 'the driver does not know this version of PTX')}")
