"""Walks that passes share: over the computations of a module, over users, over effects."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..hlo import Computation, Instruction, Module, make_instruction, rebuild
from ..hlo.instruction import callees_first
from ..hlo.operation import CALLS, CONTROL_FLOW, EFFECTFUL
from ..hlo.shape import has_dynamic_dimensions
from .memo import Memo


def transform_computations(
    module: Module,
    transform: Callable[[Computation], Computation],
    transform_entry: Callable[[Computation], Computation] | None = None,
    settled: Memo[Computation, bool] | None = None,
) -> Module:
    """The module with each control flow computation transformed, callees before their callers; the entry in its own way.

    Computations that run for each element are left to the backend; fused ones are finished. ``settled`` remembers those that
    this transformation has left as they are, for when it runs again: it must depend on nothing but the computation.
    """
    transformed: dict[Computation, Computation] = {}
    for computation in control_flow_computations(module):
        current = transform_callees(computation, transformed.__getitem__)
        if settled is not None and current in settled:
            transformed[computation] = current
            continue
        is_entry = computation is module.entry
        made = transformed[computation] = (transform_entry if is_entry and transform_entry else transform)(current)
        if settled is not None and made is current:
            settled[made] = True
    return with_entry(module, transformed[module.entry])


def of_each_computation(
    *make_shared: Callable[[], Any],
) -> Callable[[Callable[..., Computation]], Callable[[Module], Module]]:
    """Decorator: a function that transforms one computation becomes one that does so with each of a module.

    It is not run again on what it has left as it was: it must depend on nothing but the computation. ``make_shared`` makes what
    it takes besides, anew for each module.
    """

    def declare(transform: Callable[..., Computation]) -> Callable[[Module], Module]:
        settled: Memo[Computation, bool] = Memo()

        @functools.wraps(transform)
        def transform_module(module: Module) -> Module:
            shared = [make() for make in make_shared]
            return transform_computations(module, lambda computation: transform(computation, *shared), settled=settled)

        return transform_module

    return declare


def control_flow_computations(module: Module) -> list[Computation]:
    """The entry and what control flow runs, callees before their callers."""
    return callees_first(module.entry, follows=is_control_flow)


def is_control_flow(instruction: Instruction) -> bool:
    """Whether the computations of an instruction are control flow: those that loops and branches run, and that are called."""
    return CONTROL_FLOW in instruction.operation.traits or instruction.opcode == "call"


def called_functions(module: Module) -> list[Computation]:
    """What ``call`` calls, callees before their callers."""
    computations = control_flow_computations(module)
    called = {i.attributes["to_apply"] for c in computations for i in c.instructions if i.opcode == "call"}
    return [computation for computation in computations if computation in called]


def transform_callees(computation: Computation, transform: Callable[[Computation], Computation]) -> Computation:
    """The computation with the control flow computations that it calls transformed."""
    changed: dict[Instruction, dict[str, Any]] = {}
    for instruction in computation.calling:
        if is_control_flow(instruction):
            attributes = transformed_callees(instruction, transform)
            if attributes:
                changed[instruction] = attributes
    if not changed:
        return computation
    return rebuild(computation, lambda i, operands: on_operands(i, operands, changed.get(i)))


def transformed_callees(instruction: Instruction, transform: Callable[[Computation], Computation]) -> dict[str, Any]:
    """The attributes of the instruction that change where its control flow computations are transformed."""
    changed: dict[str, Any] = {}
    if not is_control_flow(instruction):
        return changed
    for name in instruction.operation.names_of_computations:
        old = instruction.attributes[name]
        new: Any
        if isinstance(old, tuple):
            new = tuple(map(transform, old))
        else:
            new = None if old is None else transform(old)
        if new != old:
            changed[name] = new
    return changed


def attributes_of_branches(conditional: Instruction, branches: Sequence[Computation]) -> dict[str, Any]:
    """The attributes with which a conditional has these branches."""
    if conditional.attributes.get("branch_computations"):
        return {"branch_computations": tuple(branches)}
    return dict(zip(("true_computation", "false_computation"), branches, strict=True))


def is_scalar_constant(instruction: Instruction) -> bool:
    return instruction.opcode == "constant" and not instruction.shape.is_tuple and not instruction.shape.dimensions


def scalar_under(instruction: Instruction) -> Instruction | None:
    """The scalar that an array repeats everywhere, where it is a broadcast of one."""
    if instruction.opcode == "broadcast" and not instruction.operands[0].shape.dimensions:
        return instruction.operands[0]
    return None


def on_operands(
    instruction: Instruction, operands: tuple[Instruction, ...], attributes: dict[str, Any] | None = None
) -> Instruction:
    """The instruction on these operands; the same object where nothing changes."""
    if attributes:
        return instruction.with_operands(operands, **attributes)
    return instruction if operands == instruction.operands else instruction.with_operands(operands)


def tuple_elements(value: Instruction, source: Any) -> list[Instruction]:
    """The elements of a tuple: those of which it is made, or what is taken from it, for this place of the user's."""
    if value.opcode == "tuple":
        return list(value.operands)
    return [
        make_instruction("get-tuple-element", (value,), {"index": index}, source=source)
        for index in range(len(value.shape.elements))
    ]


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


_effects: Memo[Computation, bool] = Memo()


def has_effects(instruction: Instruction) -> bool:
    """Whether the instruction, or one that it runs, must run exactly as often as written."""
    operation, traits = instruction.operation, instruction.operation.traits
    if EFFECTFUL in traits:
        return not operation.effects_if or instruction.attributes[operation.effects_if]
    return CALLS in traits and any(map(runs_effects, instruction.called_computations))


def runs_effects(computation: Computation) -> bool:
    """Whether an instruction of the computation has effects."""
    known = _effects.get(computation)
    if known is not None:
        return known
    for callee in callees_first(computation, _effects):
        _effects[callee] = any(map(has_effects, callee.instructions))
    return _effects[computation]


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
