"""A compiled program as a value: nothing in it depends on the process that made it."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any

from ...hlo import Shape, SourceLocation
from ..padding import Padding
from ..program_bytes import interface_data, packed, padding_data, pairs, parsed_interface, parsed_padding, unpacked
from .target import FULL, Target

# What saved programs and the code that loads them have agreed upon: how a kernel is called, what it calls, and the form of the
# bytes. A change of any of these makes it another number.
VERSION = 7

_MAGIC = b"phlox native program\n"


class ProgramError(ValueError):
    """Bytes that are no program, or are damaged; a program of another version or for another machine."""


@dataclass(frozen=True)
class SharedCode:
    """Functions that many programs call; they may call those of others."""

    names: tuple[str, ...]
    object_codes: tuple[bytes, ...]


@dataclass(frozen=True)
class NativeProgram:
    """Object code, what it needs of the process that loads it, and how it is called.

    The object files of ``object_codes`` are loaded together. ``entry`` names the kernel, ``i32 (ptr arguments, ptr results)``:
    arrays of pointers to the data of the leaves of ``parameters``, each with a name for messages, and of ``results``. It
    returns 0, or a code that stands for an error. Its temporaries are ``temporary_bytes``; ``keeps_block`` says that it leaves
    their memory in a variable from call to call. ``may_take_long`` says that a call may run many instructions; ``draws``, that
    it changes the states of generators of random numbers, which it does under the interpreter's lock; ``divides``, that it
    hands pieces to the pool of threads. ``level`` is LLVM's, by which the code was made, ``given_up`` says what was not done
    to make it fast.

    The code's symbols: ``constants`` are arrays in memory; ``host_calls`` are Python objects that evaluate the instructions of
    ``host_instructions`` (HLO text, see `host_instructions`), in its order, which come from the user's ``host_lines``;
    ``native_calls`` are functions of custom-call targets, by their names; ``shared`` has functions that are loaded once a
    process, behind those that they call. Others stand in `call.python_calls` and in the C library.
    """

    name: str
    target: Target
    object_codes: tuple[bytes, ...] = field(repr=False)
    entry: str
    parameters: tuple[tuple[str, Shape], ...]
    results: tuple[Shape, ...]
    temporary_bytes: int
    keeps_block: bool
    may_take_long: bool
    draws: bool = False
    divides: bool = False
    over_arguments: tuple[tuple[int, int], ...] = ()
    constants: tuple[tuple[str, memoryview], ...] = ()
    host_calls: tuple[str, ...] = ()
    host_instructions: str = ""
    host_lines: tuple[SourceLocation | None, ...] = ()
    native_calls: tuple[tuple[str, str], ...] = ()
    shared: tuple[SharedCode, ...] = field(default=(), repr=False)
    padding: Padding | None = None
    level: int = FULL
    given_up: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The program as bytes, for `from_bytes` in any process."""
        blobs = [
            *self.object_codes,
            *[data for _, data in self.constants],
            *[code for functions in self.shared for code in functions.object_codes],
        ]
        header = {
            "name": self.name,
            "target": asdict(self.target),
            "object_codes": len(self.object_codes),
            "entry": self.entry,
            **interface_data(self.parameters, self.results),
            "temporary_bytes": self.temporary_bytes,
            "keeps_block": self.keeps_block,
            "may_take_long": self.may_take_long,
            "draws": self.draws,
            "divides": self.divides,
            "over_arguments": self.over_arguments,
            "constants": [name for name, _ in self.constants],
            "host_calls": self.host_calls,
            "host_instructions": self.host_instructions,
            "host_lines": [(line.file, line.line, line.function) if line else None for line in self.host_lines],
            "native_calls": self.native_calls,
            "shared": [(functions.names, len(functions.object_codes)) for functions in self.shared],
            "padding": padding_data(self.padding),
            "level": self.level,
            "given_up": self.given_up,
        }
        body = packed(header, blobs)
        return _MAGIC + VERSION.to_bytes(4, "little") + hashlib.sha256(body).digest() + body

    @classmethod
    def from_bytes(cls, data: bytes) -> NativeProgram:
        """The program that `to_bytes` gave these bytes for. Bytes that may be changed are copied.

        Raises ProgramError for other bytes, and for those of another version; TypeError for what is not bytes.
        """
        header, blobs = unpacked(_checked_body(data))
        return cls(
            name=header["name"],
            target=Target(**header["target"]),
            object_codes=tuple([bytes(next(blobs)) for _ in range(header["object_codes"])]),
            entry=header["entry"],
            **parsed_interface(header),
            temporary_bytes=header["temporary_bytes"],
            keeps_block=header["keeps_block"],
            may_take_long=header["may_take_long"],
            draws=header["draws"],
            divides=header["divides"],
            over_arguments=pairs(header["over_arguments"]),
            constants=tuple((name, next(blobs)) for name in header["constants"]),
            host_calls=tuple(header["host_calls"]),
            host_instructions=header["host_instructions"],
            host_lines=tuple([line and SourceLocation(*line) for line in header["host_lines"]]),
            native_calls=pairs(header["native_calls"]),
            shared=tuple(
                SharedCode(tuple(names), tuple([bytes(next(blobs)) for _ in range(count)])) for names, count in header["shared"]
            ),
            padding=parsed_padding(header["padding"]),
            level=header["level"],
            given_up=tuple(header["given_up"]),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return NativeProgram.from_bytes, (self.to_bytes(),)


def _checked_body(data: bytes) -> memoryview:
    """What is behind the magic word, the version and the sum of the bytes. Raises ProgramError and TypeError."""
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"the bytes of a compiled program are required, {type(data).__name__} given") from None
    if not (view.readonly and view.contiguous and view.format == "B"):
        view = memoryview(bytes(view))
    start, size = len(_MAGIC), len(view)
    if bytes(view[:start]) != _MAGIC:
        given = f"{size} bytes that begin with {bytes(view[:start])!r}" if size else "no bytes"
        raise ProgramError(f"the bytes of a compiled program, which begin with {_MAGIC!r}, are required, {given} given")
    body = view[start + 36 :]
    version = int.from_bytes(view[start : start + 4], "little")
    if body and version != VERSION:
        raise ProgramError(f"a compiled program of version {VERSION} is required, this one has version {version}")
    if hashlib.sha256(body).digest() != bytes(view[start + 4 : start + 36]):
        raise ProgramError(
            f"the bytes of this compiled program, {size}, are damaged, or not complete: their sum is another one"
        )
    return body
