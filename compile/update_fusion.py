"""What is written into a block of an array is computed where it is written.

Before: ``block = fusion(x), calls=...; y = dynamic-update-slice(a, block, start)``, which writes the block and then copies it.
After: ``y = fusion(x, a, start)``, whose computation ends with the dynamic-update-slice: a loop nest over the block alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice

from ..hlo import Computation, Instruction, leaves, make_instruction
from ..hlo.operation import GIVEN
from .aliasing import only_names
from .fusion_policy import is_degenerate_reshape
from .in_place import in_place_operands
from .pass_manager import module_pass
from .traversal import of_each_computation

# Copies of smaller blocks cost less than a loop nest of another form; a single element needs none.
_LEAST_ELEMENTS = 256
# Of a block whose rows do not follow each other in memory, so long that vectors fill them.
_LEAST_ROW = 32
# So many instructions, of scalars, may stand between a block's computation and the update.
_MOST_BETWEEN = 16


@module_pass("fuse-updates")
@of_each_computation()
def fuse_updates(computation: Computation) -> Computation:
    """Lets a fusion whose result is only written into an array write there itself, where nests of vectors gain by it."""
    return with_updates_fused(computation, _may_move)


def with_updates_fused(computation: Computation, may_move: Callable[[Instruction, Instruction], bool]) -> Computation:
    """The computation with each block that a loop computes computed in the update, where that ``may_move(block, update)``."""
    if not any(instruction.opcode == "dynamic-update-slice" for instruction in computation.instructions):
        return computation
    users = Counter(operand for instruction in computation.instructions for operand in instruction.operands)
    users[computation.root] += 1
    position = {instruction: number for number, instruction in enumerate(computation.instructions)}
    fused: dict[Instruction, Instruction] = {}
    gone: set[Instruction] = set()
    for update in computation.instructions:
        if update.opcode != "dynamic-update-slice":
            continue
        moved = _moved(update)
        if any(users[one] != 1 for one in moved) or not is_loop(moved[-1]) or not may_move(moved[-1], update):
            continue
        between = islice(computation.instructions, position[moved[-1]] + 1, position[update])
        is_near = position[update] - position[moved[-1]] <= _MOST_BETWEEN
        if is_near and not any(map(_makes_arrays, between)):
            made = _fused(moved, update)
            if made is not None:
                fused[update] = made
                gone.update(moved)
    return _replaced(computation, fused, gone) if fused else computation


def _moved(update: Instruction) -> list[Instruction]:
    """The block, and where it is another name of that, without dimensions of size 1, what computes it."""
    found = [update.operands[1]]
    while found[-1].opcode == "reshape" and is_degenerate_reshape(found[-1]):
        found.append(found[-1].operands[0])
    return found


def _makes_arrays(instruction: Instruction) -> bool:
    return any(shape.rank for shape in leaves(instruction.shape)) and not (
        only_names(instruction) or instruction.has_trait(GIVEN)
    )


def is_loop(block: Instruction) -> bool:
    """Whether a loop nest computes a block, and nothing else."""
    return block.opcode == "fusion" and block.attributes["kind"] == "kLoop" and not block.shape.is_tuple


def _may_move(block: Instruction, update: Instruction) -> bool:
    """Whether the loop nest of a block may write into the array instead."""
    if 1 < block.shape.size < _LEAST_ELEMENTS:
        return False
    if is_one_run(update):
        return True
    calls = block.attributes["calls"]
    takes_turns = any(one.opcode == "transpose" for one in calls.instructions) or calls.root.opcode == "concatenate"
    return update.operands[1].shape.dimensions[-1] >= _LEAST_ROW and not takes_turns


def is_one_run(update: Instruction) -> bool:
    """Whether the block of a dynamic-update-slice lies in one run of the array's memory, which is row-major."""
    full, sizes = update.shape.dimensions, update.operands[1].shape.dimensions
    first = next((d for d, size in enumerate(sizes) if size != 1), len(sizes))
    return full[first + 1 :] == sizes[first + 1 :]


def _fused(moved: list[Instruction], update: Instruction) -> Instruction | None:
    """The fusion that computes the block in the array; None where it reads the array elsewhere than where it writes."""
    *names, block = moved
    calls = block.attributes["calls"]
    array, _, *starts = update.operands
    operands, parameters, constants = list(block.operands), list(calls.parameters), []

    def inside(operand: Instruction) -> Instruction:
        if operand.opcode == "constant" and not operand.shape.rank:
            constants.append(operand.with_operands(()))
            return constants[-1]
        if operand not in operands:
            attributes = {"number": len(operands)}
            operands.append(operand)
            parameters.append(make_instruction("parameter", (), attributes, operand.shape, name=f"p{len(parameters)}"))
        return parameters[operands.index(operand)]

    is_read = array in operands
    rest = [one for one in calls.instructions if one.opcode != "parameter"]
    value = calls.root
    for name in reversed(names):
        value = name.with_operands((value,))
        rest.append(value)
    root = update.with_operands([inside(array), value, *map(inside, starts)])
    computation = Computation("fused_update", (*parameters, *rest, *constants, root), root)
    attributes = {"kind": "kLoop", "calls": computation}
    made = make_instruction("fusion", operands, attributes, name="update_fusion", source=update.source)
    return made if not is_read or list(in_place_operands(made)) else None


def _replaced(computation: Computation, fused: dict[Instruction, Instruction], gone: set[Instruction]) -> Computation:
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        if instruction not in gone:
            made = fused.get(instruction, instruction)
            operands = tuple(values[operand] for operand in made.operands)
            values[instruction] = made if operands == made.operands else made.with_operands(operands)
    return Computation(computation.name, tuple(values.values()), values[computation.root])
