"""What a recorded function has captured, when it has returned: which arrays the program takes, and which are its constants."""

from __future__ import annotations

import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ... import hlo
from ..recording.errors import TracerError
from ..recording.program import Capture
from ..recording.trace import Trace

# Arrays that only the traced function knew (np.arange(5) in its body) become constants up to this size.
CONSTANT_BYTES = 4096


def settled_captures(trace: Trace) -> list[Capture]:
    """All captured arrays, in the order of their parameters, each with contents that are right for the calls to come.

    An array that the traced function made and changed again is replaced by its contents at the time.
    """
    program = trace.program
    captures = [*program.replaced_captures, *program.captures.values()]
    captures.sort(key=lambda capture: capture.parameter.attributes["number"])
    for capture in captures:
        if not capture.is_unchanged():
            if not capture.snapshot_is_whole or not _is_private(capture) and capture not in program.replaced_captures:
                raise TracerError(
                    f"an array of shape {capture.array.shape} and dtype {capture.array.dtype} that the traced function uses is "
                    "changed by plain NumPy operations while the function is traced; later calls would not repeat them. Make "
                    "the array with phlox.numpy or np.zeros_like of a traced array, or change a copy of it"
                )
            capture.array = capture.snapshot
        capture.snapshot = None
    return captures


def _is_private(capture: Capture) -> bool:
    """Whether nothing but the trace holds the array (or the memory it shows), now that the traced function has returned."""
    return capture.path is None and capture.array.base is None and _references(capture) <= _private_references()


def _references(capture: Any) -> int:
    return sys.getrefcount(capture.array)


@cache
def _private_references() -> int:
    """The references that are counted for an array that only a Capture holds; versions of CPython differ."""
    return _references(SimpleNamespace(array=np.empty(0)))


def without_unused_captures(
    computation: hlo.Computation, captures: list[Capture], mutated: list[int]
) -> tuple[hlo.Computation, list[Capture], list[int]]:
    """The computation without captured arrays that nothing needs, and with small ones that nobody else holds as constants."""
    used = {operand for instruction in computation.instructions for operand in instruction.operands} | {computation.root}
    kept = []
    constants: dict[hlo.Instruction, hlo.Instruction] = {}
    dropped: set[hlo.Instruction] = set()
    for index, capture in enumerate(captures):
        if index in mutated:
            kept.append(index)
        elif capture.parameter not in used:
            dropped.add(capture.parameter)
        elif _is_private(capture) and capture.array.nbytes <= CONSTANT_BYTES:
            literal = np.ascontiguousarray(capture.array).astype(capture.parameter.shape.dtype, copy=False)
            literal = literal.reshape(capture.array.shape)
            constants[capture.parameter] = hlo.make_instruction(
                "constant", (), {"literal": literal}, source=capture.parameter.source
            )
        else:
            kept.append(index)
    if not constants and not dropped:
        return computation, captures, kept
    remaining = [instruction for instruction in computation.parameters if instruction not in constants.keys() | dropped]
    numbers = {instruction: number for number, instruction in enumerate(remaining)}

    def transform(instruction: hlo.Instruction, operands: tuple[hlo.Instruction, ...]) -> hlo.Instruction:
        if instruction in constants:
            return constants[instruction]
        number = numbers.get(instruction)
        if number is not None and number != instruction.attributes["number"]:
            return instruction.with_operands((), number=number)
        return instruction if operands == instruction.operands else instruction.with_operands(operands)

    pruned = [instruction for instruction in computation.instructions if instruction not in dropped]
    rebuilt = hlo.rebuild(hlo.Computation(computation.name, tuple(pruned), computation.root), transform)
    return rebuilt, [captures[index] for index in kept], kept
