"""One element that is computed to be written into an array is a scalar, in a register, not an array of one element in memory.

Before: ``one = f64[1] fusion(x, j), calls=...; y = dynamic-update-slice(x, one, i)``, as of ``x[i] = x[j]``.
After: ``one = f64[] fusion(x, j), calls=...; y = dynamic-update-slice(x, fusion(one), i)``, the latter a broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import hlo
from ..hlo import Computation, Instruction, UnattachedBuilder, leaves, make_instruction, rebuild
from .pass_manager import module_pass
from .traversal import of_each_computation, on_operands, users_of


@module_pass("single-elements-as-scalars")
@of_each_computation()
def single_elements_as_scalars(computation: Computation) -> Computation:
    """Fusions of single elements that are only written into arrays have scalars as results."""
    if not any(instruction.opcode == "dynamic-update-slice" for instruction in computation.instructions):
        return computation
    users = users_of(computation)
    chosen = {
        one for one in computation.instructions if _makes_single_elements(one) and _is_only_written(one, computation, users)
    }
    written = {element for fusion in chosen for element in _elements(fusion, users)}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction in chosen:
            return _of_scalars(instruction, operands)
        if instruction in written:
            return make_instruction("get-tuple-element", operands, instruction.attributes, source=instruction.source)
        if instruction.opcode == "dynamic-update-slice" and instruction.operands[1] in written:
            array, scalar, *places = operands
            return on_operands(instruction, (array, _broadcast(scalar, instruction.operands[1]), *places))
        return on_operands(instruction, operands)

    return rebuild(computation, transform) if chosen else computation


def _makes_single_elements(instruction: Instruction) -> bool:
    """Whether this is a loop over one element that reads arrays; of scalars alone it is computed where it is written."""
    if instruction.opcode != "fusion" or instruction.attributes["kind"] != "kLoop":
        return False
    if not any(operand.shape.rank for operand in instruction.operands):
        return False
    return all(shape.size == 1 and shape.rank for shape in leaves(instruction.shape))


def _elements(fusion: Instruction, users: dict[Instruction, list[Instruction]]) -> list[Instruction]:
    """The results, one by one."""
    return users[fusion] if fusion.shape.is_tuple else [fusion]


def _is_only_written(fusion: Instruction, computation: Computation, users: dict[Instruction, list[Instruction]]) -> bool:
    elements = _elements(fusion, users)
    if fusion.shape.is_tuple and any(one.opcode != "get-tuple-element" for one in elements):
        return False

    def places() -> Iterator[bool]:
        for element in elements:
            yield element is not computation.root
            for user in users[element]:
                yield user.opcode == "dynamic-update-slice" and user.operands[1] is element and user.operands[0] is not element

    return all(places())


def _of_scalars(fusion: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    calls = fusion.attributes["calls"]
    results = calls.root.operands if fusion.shape.is_tuple else (calls.root,)
    with UnattachedBuilder("single-elements-as-scalars", where=lambda: fusion.source):
        scalars = [hlo.reshape(result, ()) for result in results]
        root = hlo.tuple(*scalars) if fusion.shape.is_tuple else scalars[0]
    rest = [one for one in calls.instructions if one is not calls.root or not fusion.shape.is_tuple]
    computation = Computation(calls.name, (*rest, *scalars, *([root] if fusion.shape.is_tuple else [])), root)
    return make_instruction("fusion", operands, {"kind": "kLoop", "calls": computation}, name=fusion.name, source=fusion.source)


def _broadcast(scalar: Instruction, element: Instruction) -> Instruction:
    with UnattachedBuilder("single-elements-as-scalars", where=lambda: element.source):
        parameter = make_instruction("parameter", (), {"number": 0}, scalar.shape, name="p0")
        root = hlo.broadcast(parameter, element.shape.dimensions, ())
    attributes = {"kind": "kLoop", "calls": Computation("fused_broadcast", (parameter, root), root)}
    return make_instruction("fusion", (scalar,), attributes, name="broadcast_fusion", source=element.source)
