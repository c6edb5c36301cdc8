"""Checks that a module keeps the rules of the language."""

from __future__ import annotations

from typing import Any

from .errors import HloError, VerificationError
from .inference import KnownUses
from .instruction import Computation, Instruction, Module
from .operation import Operation
from .shape import AnyShape, compatible


def verify(module: Module) -> None:
    """Raise VerificationError for the first instruction that breaks a rule; return None if there is none.

    Checked are, for each computation: parameters numbered 0, 1, ... once each; operands defined before their users, in the same
    computation; the root among the instructions; every shape function's constraints, with the inferred shape equal to the
    instruction's; and that no computation calls itself, not even through others.

    What was inferred when a new module was read, or traced, from the same shapes and attributes, is not inferred again.
    """
    _reject_recursion(module.entry)
    uses = KnownUses(_checked_shape, module.inferred)
    module.inferred = None
    for computation in module.computations():
        _verify_computation(computation, uses)


def _verify_computation(computation: Computation, uses: KnownUses) -> None:
    numbers = [parameter.attributes["number"] for parameter in computation.parameters]
    if numbers != list(range(len(numbers))):
        raise VerificationError(f"computation {computation.name}: parameters must be numbered 0, 1, ..., got {numbers}")
    defined: set[Instruction] = set()
    for instruction in computation.instructions:
        operands = instruction.operands
        for operand in operands:
            if operand not in defined:
                raise VerificationError(f"{_place(computation, instruction)}: operand {operand!r} is not defined before it")
        if instruction in defined:
            raise VerificationError(f"{_place(computation, instruction)}: stands twice in the computation")
        shapes = tuple([operand.shape for operand in operands])
        try:
            uses.shape(instruction.operation, shapes, instruction.attributes, instruction.shape)
        except HloError as error:
            raise VerificationError(f"{_place(computation, instruction)}: {error}") from None
        defined.add(instruction)
    if computation.root not in defined:
        raise VerificationError(f"computation {computation.name}: the root {computation.root!r} is not one of its instructions")


def _checked_shape(
    record: Operation, operands: tuple[AnyShape, ...], attributes: dict[str, Any], shape: AnyShape | None
) -> AnyShape:
    record.check_operand_count(len(operands))
    inferred = record.infer_shape(operands, attributes, shape)
    if not compatible(inferred, shape):
        raise VerificationError(f"has shape {shape}, but {inferred} is inferred")
    return shape


def _place(computation: Computation, instruction: Instruction) -> str:
    place = f"computation {computation.name}, instruction {instruction!r}"
    return f"{place} from {instruction.source}" if instruction.source else place


def _reject_recursion(entry: Computation) -> None:
    cleared: set[Computation] = set()
    callers: dict[Computation, None] = {}
    waiting = [entry]
    while waiting:
        computation = waiting[-1]
        if computation in callers or computation in cleared:
            waiting.pop()
            callers.pop(computation, None)
            cleared.add(computation)
            continue
        callers[computation] = None
        callees = dict.fromkeys(callee for callee in computation.callees() if callee not in cleared)
        for callee in callees:
            if callee in callers:
                order = list(callers)
                names = " calls ".join(caller.name for caller in (*order[order.index(callee) :], callee))
                raise VerificationError(f"computations must not be recursive: {names}")
        waiting.extend(callees)
