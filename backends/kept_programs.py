"""Under which keys programs of backends are kept on disk: digests of all that decides about them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding

from ..hlo import Module
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
    instructions = [one for computation in module.computations() for one in computation.instructions]
    names = {one.attributes["custom_call_target"] for one in instructions if one.opcode == "custom-call"}
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
