"""Machine code that an earlier process has made of the same: under which keys it is kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

from ...hlo import Module
from ...runtime.compile_budget import CompileBudget
from ...runtime.disk_cache import disk_cache
from ..kept_programs import digest, line_of_number, llvm_version, number_of_line
from ..program_bytes import packed, unpacked
from .machine_code import compile_objects
from .native_program import NativeProgram, ProgramError
from .target import FULL, Target


def kept_object_code(llvm_ir: str, target: Target) -> bytes:
    """The object code of what is one module, as `kept_object_codes`."""
    (object_code,) = kept_object_codes([llvm_ir], target)
    return object_code


def kept_object_codes(parts: Sequence[str], target: Target) -> tuple[bytes, ...]:
    """As `compile_objects`: what an earlier process has made of the same, or made here, and kept."""
    kept = disk_cache()
    if kept is None:
        return compile_objects(dict.fromkeys(parts, FULL), target)
    keys = {part: digest(llvm_version(), *map(str, astuple(target)), part) for part in parts}
    found = {part: kept.get(key) for part, key in keys.items()}
    missing = [part for part in parts if found[part] is None]
    for part, made in zip(missing, compile_objects(dict.fromkeys(missing, FULL), target) if missing else ()):
        found[part] = made
        kept.put(keys[part], made, "functions that programs share")
    return tuple([found[part] for part in parts])


def hasty_key(key: str | None, budget: CompileBudget | None) -> str | None:
    """The key of the program that was made of the same within a budget that was too short for all that could be done."""
    return None if key is None or budget is None else digest(key, repr(budget.seconds))


def kept_program(key: str | None, module: Module) -> NativeProgram | None:
    """The program of a module that an earlier process has kept under a key."""
    kept = disk_cache()
    data = None if kept is None or key is None else kept.get(key)
    if data is None:
        return None
    header, blobs = unpacked(memoryview(data))
    try:
        program = NativeProgram.from_bytes(next(blobs))
    except ProgramError:
        return None
    return replace(program, host_lines=tuple(map(line_of_number(module), header["host_lines"])))


def keep_program(key: str | None, program: NativeProgram, module: Module) -> None:
    """Keep the program of a module for later processes."""
    kept = disk_cache()
    if kept is not None and key is not None:
        parameters = ", ".join(str(shape.without_layout()) for _, shape in program.parameters)
        header = {"host_lines": list(map(number_of_line(module), program.host_lines))}
        data = packed(header, [replace(program, host_lines=()).to_bytes()])
        kept.put(key, data, f"{program.name}({parameters})")
