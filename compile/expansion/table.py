"""The table of expansions, and the pass that applies it."""

from __future__ import annotations

from collections.abc import Callable

from ...hlo import Builder, Instruction, Module, rebuild
from ..pass_manager import module_pass
from ..traversal import on_operands, transform_computations

# (builder for the new instructions, the instruction that they replace, its operands) to its new value.
Expansion = Callable[[Builder, Instruction, tuple[Instruction, ...]], Instruction]

EXPANSIONS: dict[str, Expansion] = {}


def expansion(opcode: str) -> Callable[[Expansion], Expansion]:
    """Decorator: the function writes this operation as others."""

    def register(function: Expansion) -> Expansion:
        if opcode in EXPANSIONS:
            raise ValueError(f"operation {opcode} has two expansions")
        EXPANSIONS[opcode] = function
        return function

    return register


@module_pass("expand")
def expand(module: Module) -> Module:
    """Replaces each operation that has an expansion by it, and what the expansions contain by theirs."""
    while (expanded := transform_computations(module, lambda c: rebuild(c, _transform))) is not module:
        module = expanded
    return module


def _transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    function = EXPANSIONS.get(instruction.opcode)
    if function is None:
        return on_operands(instruction, operands)
    builder = Builder(instruction.opcode, where=lambda: instruction.source)
    return function(builder, instruction, operands)
