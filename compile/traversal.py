"""Walks that passes share: over the computations of a module, over users, over effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..hlo import Computation, Instruction, Module, rebuild
from ..hlo.operation import CALLS, EFFECTFUL
from ..hlo.shape import has_dynamic_dimensions

# The attributes whose computations are control flow: their instructions work on arrays as those of the entry do.
# Computations of reduce, map, sort, ... run once for each element and are left to the backend; fused ones are finished.
CONTROL_FLOW: dict[str, tuple[str, ...]] = {
    "while": ("condition", "body"),
    "conditional": ("true_computation", "false_computation", "branch_computations"),
    "call": ("to_apply",),
}


def transform_computations(module: Module, transform: Callable[[Computation], Computation]) -> Module:
    """The module with each control flow computation transformed, callees before their callers."""
    transformed: dict[Computation, Computation] = {}

    def visit(computation: Computation) -> Computation:
        done = transformed.get(computation)
        if done is None:
            current = transform_callees(computation, visit)
            done = transformed[computation] = transform(current)
        return done

    return with_entry(module, visit(module.entry))


def transform_callees(computation: Computation, transform: Callable[[Computation], Computation]) -> Computation:
    """The computation with the control flow computations that it calls transformed."""
    changed: dict[Instruction, dict[str, Any]] = {}
    for instruction in computation.instructions:
        if instruction.opcode in CONTROL_FLOW:
            attributes = transformed_callees(instruction, transform)
            if attributes:
                changed[instruction] = attributes
    if not changed:
        return computation
    return rebuild(computation, lambda i, operands: on_operands(i, operands, changed.get(i)))


def transformed_callees(instruction: Instruction, transform: Callable[[Computation], Computation]) -> dict[str, Any]:
    """The attributes of the instruction that change where its control flow computations are transformed."""
    changed: dict[str, Any] = {}
    for name in CONTROL_FLOW.get(instruction.opcode, ()):
        old = instruction.attributes[name]
        new: Any
        if isinstance(old, tuple):
            new = tuple(map(transform, old))
        else:
            new = None if old is None else transform(old)
        if new != old:
            changed[name] = new
    return changed


def on_operands(
    instruction: Instruction, operands: tuple[Instruction, ...], attributes: dict[str, Any] | None = None
) -> Instruction:
    """The instruction on these operands; the same object where nothing changes."""
    if attributes:
        return instruction.with_operands(operands, **attributes)
    return instruction if operands == instruction.operands else instruction.with_operands(operands)


def with_entry(module: Module, entry: Computation) -> Module:
    """The module with this entry computation; the same object where it has it already."""
    return module if entry is module.entry else Module(module.name, entry, module.attributes)


def users_of(computation: Computation) -> dict[Instruction, list[Instruction]]:
    """For each instruction, the instructions that use it, once for each operand that it is."""
    users: dict[Instruction, list[Instruction]] = {instruction: [] for instruction in computation.instructions}
    for instruction in computation.instructions:
        for operand in instruction.operands:
            users[operand].append(instruction)
    return users


def has_effects(instruction: Instruction, known: dict[Computation, bool] | None = None) -> bool:
    """Whether the instruction, or one that it runs, must run exactly as often as written.

    ``known`` remembers the answer for computations from one question to the next.
    """
    traits = instruction.operation.traits
    if EFFECTFUL in traits:
        return instruction.attributes.get("custom_call_has_side_effect", True)
    if CALLS not in traits:
        return False
    known = {} if known is None else known
    for computation in instruction.called_computations:
        answer = known.get(computation)
        if answer is None:
            answer = known[computation] = any(has_effects(inner, known) for inner in computation.instructions)
        if answer:
            return True
    return False


def has_dynamic_shapes(module: Module) -> bool:
    """Whether the module has dynamic dimensions, or sets the size of one, so that it must be padded before other passes run."""
    seen = {module.entry}
    waiting = [module.entry]
    while waiting:
        for instruction in waiting.pop().instructions:
            shape = instruction.shape
            if shape.is_tuple:
                if has_dynamic_dimensions(shape):
                    return True
            elif shape.dynamic_dimensions or instruction.opcode == "set-dimension-size":
                return True
            if CALLS in instruction.operation.traits:
                called = [computation for computation in instruction.called_computations if computation not in seen]
                seen.update(called)
                waiting.extend(called)
    return False
