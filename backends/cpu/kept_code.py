"""Machine code that an earlier process has made of the same: under which keys it is kept on disk."""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from dataclasses import astuple
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numpy as np
from llvmlite import binding

from ...hlo import Module
from ...hlo.shape import AnyShape
from ...runtime import find_target
from ...runtime.compile_budget import CompileBudget
from ...runtime.disk_cache import disk_cache
from ..arguments import parameter_leaves
from .machine_code import compile_object
from .native_program import NativeProgram, ProgramError
from .target import Target

# What decides about the code that a module becomes.
_COMPILER = ("hlo", "compile", "backends", "runtime")
# Whoever looks at the passes wants them to run.
_PASSES_ARE_WATCHED = ("PHLOX_DUMP", "PHLOX_CHECK", "PHLOX_TIME")


def kept_object_code(llvm_ir: str, target: Target) -> bytes:
    """As `compile_object`: what an earlier process has made of the same, or made here, and kept."""
    kept = disk_cache()
    if kept is None:
        return compile_object(llvm_ir, target)
    key = _digest(_llvm(), *map(str, astuple(target)), llvm_ir)
    found = kept.get(key)
    if found is None:
        found = compile_object(llvm_ir, target)
        kept.put(key, found, "functions that programs share")
    return found


def program_key(module: Module, target: Target) -> str | None:
    """What the program of a module is kept under; None where none is."""
    if disk_cache() is None or any(os.environ.get(name) for name in _PASSES_ARE_WATCHED):
        return None
    named = [module.name, *(name for name, _ in parameter_leaves(module)), *_kinds_of_targets(module)]
    text = module.as_text(names="canonical", literal=_literal_digest)
    return _digest(_llvm(), compiler_digest(), *map(str, astuple(target)), repr(named), text)


def hasty_key(key: str | None, budget: CompileBudget | None) -> str | None:
    """The key of the program that was made of the same within a budget that was too short for all that could be done."""
    return None if key is None or budget is None else _digest(key, repr(budget.seconds))


def kept_program(key: str | None) -> NativeProgram | None:
    """The program that an earlier process has kept under a key."""
    kept = disk_cache()
    data = None if kept is None or key is None else kept.get(key)
    if data is None:
        return None
    try:
        return NativeProgram.from_bytes(data)
    except ProgramError:
        return None


def keep_program(key: str | None, program: NativeProgram) -> None:
    """Keep the program for later processes."""
    kept = disk_cache()
    if kept is not None and key is not None:
        parameters = ", ".join(str(shape.without_layout()) for _, shape in program.parameters)
        kept.put(key, program.to_bytes(), f"{program.name}({parameters})")


@cache
def compiler_digest() -> str:
    """Of the sources of the compiler, and of what else it is made of."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {np.__version__} {llvmlite.__version__}".encode())
    for folder in _COMPILER:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _kinds_of_targets(module: Module) -> list[str]:
    """Which of the functions that a module calls by name are native here: those the code calls directly."""
    instructions = [one for computation in module.computations() for one in computation.instructions]
    names = {one.attributes["custom_call_target"] for one in instructions if one.opcode == "custom-call"}
    kinds = []
    for name in sorted(names):
        with suppress(NotImplementedError):
            kinds.append(f"{name} {type(find_target(name)).__name__}")
    return kinds


def _llvm() -> str:
    return f"LLVM {binding.llvm_version_info}"


def _literal_digest(value: Any, shape: AnyShape) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(_literal_digest(one, shape) for one in value)})"
    array = np.ascontiguousarray(value)
    return f"{array.dtype} {array.shape} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
