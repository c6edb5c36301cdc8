"""Collective operations of a program that runs on one device: what it sends is what it gets."""

from __future__ import annotations

from collections.abc import Callable

from ... import hlo
from ...hlo import Instruction, Module, UnattachedBuilder, rebuild
from ...hlo.replica_groups import expanded
from ...hlo.shape import AnyShape, leaves
from ..pass_manager import module_pass
from ..traversal import on_operands, transform_computations

Expansion = Callable[[Instruction, tuple[Instruction, ...]], Instruction]


@module_pass("expand-collectives")
def expand_collectives(module: Module) -> Module:
    """In a module for one device, writes collective operations as copies of their operands.

    Those whose groups name other devices stay, and raise ValueError where they are run.
    """
    if module.device_count > 1:
        return module
    return transform_computations(module, lambda computation: rebuild(computation, _transform))


def _transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    function = _EXPANSIONS.get(instruction.opcode)
    if function is None or not _is_for_one_device(instruction):
        return on_operands(instruction, operands)
    with UnattachedBuilder(instruction.opcode, where=lambda: instruction.source):
        return function(instruction, operands)


def _is_for_one_device(instruction: Instruction) -> bool:
    """The groups name device 0 alone, the shapes are those of one participant, and no root is data, which may be wrong."""
    if instruction.attributes.get("has_dynamic_root"):
        return False
    groups = expanded(instruction.attributes.get("replica_groups", ()))
    pairs = instruction.attributes.get("source_target_pairs", ())
    if any(number for group in (*groups, *pairs) for number in group):
        return False
    if not instruction.operands or instruction.opcode.endswith("-done"):
        return True
    # A gather or scatter whose shapes say that there are more devices.
    sent = [size for operand in instruction.operands for size in _sizes(operand.shape)]
    return _sizes(_received(instruction)) == sent


def _received(instruction: Instruction) -> AnyShape:
    """The shape of the result, without what a start carries besides."""
    pairs = ("all-gather-start", "collective-permute-start")
    return instruction.shape.elements[1] if instruction.opcode in pairs else instruction.shape


def _sizes(shape: AnyShape) -> list[tuple[int, ...]]:
    return [leaf.dimensions for leaf in leaves(shape)]


def _result(shape: AnyShape, operands: tuple[Instruction, ...]) -> Instruction:
    """The operands: one as it is, or a tuple of them."""
    return hlo.tuple(*operands) if shape.is_tuple else operands[0]


def _same(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """all-reduce(x) -> x"""
    return _result(instruction.shape, operands)


def _exchange(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """all-to-all(x) -> x"""
    if len(operands) != 1:
        raise ValueError(f"all-to-all: one operand for each of the 1 devices of a group, {len(operands)} given")
    return _same(instruction, operands)


def _permute(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """collective-permute(x) -> x, or zeros where device 0 is no target"""
    if instruction.attributes["source_target_pairs"]:
        return _result(instruction.shape, operands)
    return _result(instruction.shape, tuple(_zeros(x) for x in operands))


def _zeros(x: Instruction) -> Instruction:
    return hlo.full_like(x, 0)


def _all_gather_start(start: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """all-gather-start(x) -> tuple(x, x)"""
    return hlo.tuple(*(_result(part, operands) for part in start.shape.elements))


def _permute_start(start: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """collective-permute-start(x) -> tuple(x, x or zeros, 0, 0)"""
    sent, received, *contexts = start.shape.elements
    values = operands if start.attributes["source_target_pairs"] else tuple(_zeros(x) for x in operands)
    zeros = (hlo.constant(0, context.element_type) for context in contexts)
    return hlo.tuple(_result(sent, operands), _result(received, values), *zeros)


def _operand(done: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """all-reduce-done(x) -> x"""
    return operands[0]


def _second(done: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """all-gather-done(x) -> get-tuple-element(x), index=1"""
    return hlo.get_tuple_element(operands[0], 1)


_EXPANSIONS: dict[str, Expansion] = {
    "all-reduce": _same,
    "all-reduce-start": _same,
    "all-reduce-done": _operand,
    "reduce-scatter": _same,
    "all-gather": _same,
    "all-gather-start": _all_gather_start,
    "all-gather-done": _second,
    "all-to-all": _exchange,
    "collective-broadcast": _same,
    "collective-reduce": _same,
    "collective-permute": _permute,
    "collective-permute-start": _permute_start,
    "collective-permute-done": _second,
    "async-done": _second,
}
