"""Under which keys programs of backends are kept on disk: digests of all that decides about them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding

from ..hlo import Instruction, Module, SourceLocation
from ..hlo.shape import AnyShape
from ..runtime import find_target
from ..runtime.disk_cache import disk_cache
from .arguments import parameter_leaves

# What decides about the code that a module becomes.
_COMPILER = ("hlo", "compile", "backends", "runtime")
# Whoever looks at the passes wants them to run.
_PASSES_ARE_WATCHED = ("PHLOX_DUMP", "PHLOX_CHECK", "PHLOX_TIME")


def program_key(module: Module, target: Iterable[object]) -> str | None:
    """What the program of a module is kept under; None where none is.

    target: all that differs between the targets of backends, as values whose texts say what they are.
    """
    if disk_cache() is None or any(os.environ.get(name) for name in _PASSES_ARE_WATCHED):
        return None
    named = [module.name, *(name for name, _ in parameter_leaves(module)), *_kinds_of_targets(module)]
    text = module.as_text(names="canonical", literal=_literal_digest)
    return digest(llvm_version(), compiler_digest(), *map(str, target), repr(named), text)


# What is kept names lines of the user by instructions of its module: the lines of the one that is run, which does the same, may
# be others.


def number_of_line(module: Module) -> Callable[[SourceLocation | None], int | None]:
    """A function of a line: the number of an instruction of the module that comes from it, None where there is none."""
    numbers: dict[SourceLocation | None, int | None] = {}
    for number, instruction in enumerate(_instructions(module)):
        numbers.setdefault(instruction.source, number)
    numbers[None] = None
    return numbers.get


def line_of_number(module: Module) -> Callable[[int | None], SourceLocation | None]:
    """A function of such a number: the line that the instruction comes from, in a module of the same text."""
    instructions = _instructions(module)
    return lambda number: None if number is None else instructions[number].source


def _instructions(module: Module) -> list[Instruction]:
    """In the order of the program's text."""
    return [instruction for computation in module.computations() for instruction in computation.instructions]


def llvm_version() -> str:
    return f"LLVM {binding.llvm_version_info}"


@cache
def compiler_digest() -> str:
    """Of the sources of the compiler, and of what else it is made of."""
    root = Path(__file__).parents[1]
    found = hashlib.sha256(f"{sys.implementation.cache_tag} {np.__version__} {llvmlite.__version__}".encode())
    for folder in _COMPILER:
        for path in sorted((root / folder).rglob("*.py")):
            found.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return found.hexdigest()


def _kinds_of_targets(module: Module) -> list[str]:
    """Which of the functions that a module calls by name are native here: those the code calls directly."""
    names = {one.attributes["custom_call_target"] for one in _instructions(module) if one.opcode == "custom-call"}
    kinds = []
    for name in sorted(names):
        with suppress(NotImplementedError):
            kinds.append(f"{name} {type(find_target(name)).__name__}")
    return kinds


def _literal_digest(value: Any, shape: AnyShape) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_literal_digest(one, shape) for one in value)})"
    array = np.ascontiguousarray(value)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"


def digest(*parts: str | bytes) -> str:
    """Of all parts, each by itself."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()
