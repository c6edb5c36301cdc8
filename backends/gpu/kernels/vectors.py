"""How many neighbouring elements a thread computes at once, and arrays whose vectors lie at multiples of their size."""

from __future__ import annotations

from ....compile.fused_computations import result_roots
from ....compile.fusion_policy import is_degenerate_reshape
from ....hlo import OPERATIONS, Computation, Instruction, Shape
from ....hlo.operation import ELEMENTWISE, GIVEN, TUPLING
from ...llvm.arrays import Array
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import memory_type, part_size, register_bytes
from .. import choices
from ..fusion_policy import gathers_rows


def lanes_for(vector_bytes: int, computation: Computation, last: int) -> int:
    """As many elements along the last dimension, of this size, as a thread loads at once.

    One where some of what is read does not lie as the results do.
    """
    if not last or has_control_flow([computation]):
        return 1
    arrays = [one for one in computation.instructions if not one.shape.is_tuple]
    if any(one.shape.element_type.is_complex for one in arrays):
        return 1
    cost = sum([one.operation.cost or 0.0 for one in arrays])
    lanes = vector_bytes
    while lanes > 1:
        if last % lanes == 0 and cost * lanes <= choices.MOST_COST_OF_VECTORS:
            vectors = _in_vectors(computation, lanes)
            if vectors and lanes * max([register_bytes(one.shape.element_type) for one in vectors]) <= vector_bytes:
                return lanes
        lanes //= 2
    return 1


def vectors_ahead(computation: Computation, lanes: int, count: int) -> int:
    """How many vectors, of so many in all, a thread computes at once, so that it waits for them together."""
    if has_control_flow([computation]):
        return 1
    arrays = [one for one in computation.instructions if not one.shape.is_tuple]
    is_behind = any(one.opcode == "gather" and _is_loaded(one.operands[1]) for one in arrays)
    size = lanes * max([one.shape.element_type.byte_size for one in result_roots(computation)])
    cost = sum([one.operation.cost or 0.0 for one in arrays]) * lanes
    most_bytes = choices.BYTES_BEHIND_OTHERS if is_behind else choices.BYTES_AHEAD
    ahead = 1
    while ahead < choices.MOST_VECTORS_AHEAD and 2 * ahead * size <= most_bytes:
        if 2 * ahead * cost > choices.MOST_COST_OF_VECTORS or count < 2 * ahead * choices.THREADS_OF_VECTORS:
            break
        ahead *= 2
    return ahead


def _is_loaded(instruction: Instruction) -> bool:
    """Whether an array is computed from elements that are loaded."""
    pending, seen = [instruction], {instruction}
    while pending:
        current = pending.pop()
        if current.opcode == "parameter" and current.shape.rank:
            return True
        pending += [operand for operand in current.operands if operand not in seen]
        seen.update(current.operands)
    return False


def _in_vectors(computation: Computation, lanes: int) -> list[Instruction] | None:
    """What is computed in vectors, where neighbouring elements of the results are computed from such elements, whole vectors,
    or one for all.
    """
    is_vector = dict.fromkeys(result_roots(computation), True)
    for instruction in reversed(computation.instructions):
        state = is_vector.get(instruction)
        if state is None:
            continue
        if instruction.opcode == "reduce":  # of rows, which have one result, or of columns
            needed = [True] * (len(instruction.operands) // 2)
        else:
            found = _operands_as_vectors(instruction, lanes) if state else [False] * len(instruction.operands)
            if found is None or not state and instruction.opcode not in _OF_ONE:
                return None
            needed = found
        for operand, vector in zip(instruction.operands, needed):
            if operand.shape.rank and is_vector.setdefault(operand, vector) != vector:
                return None
    return [instruction for instruction, vector in is_vector.items() if vector and not instruction.shape.is_tuple]


# What is computed once for all lanes without masks.
_OF_ONE = frozenset({
    "parameter", "constant", "iota", "broadcast", "reshape", "transpose", "slice", "reverse", "gather", "dynamic-slice", "copy",
    *[name for name, operation in OPERATIONS.items() if ELEMENTWISE in operation.traits],
})  # fmt: skip


def _operands_as_vectors(instruction: Instruction, lanes: int) -> list[bool] | None:
    """Which operands a vector of results needs as vectors, of the others one element; None where it needs something else."""
    operands, last = instruction.operands, instruction.shape.rank - 1
    opcode, attributes = instruction.opcode, instruction.attributes
    if ELEMENTWISE in instruction.operation.traits or opcode == "copy":
        return [True] * len(operands)
    if opcode in ("constant", "iota"):
        return []
    if opcode == "parameter":
        return None if instruction.shape.dimensions[-1] % lanes else []
    if opcode == "broadcast":
        dimensions = attributes["dimensions"]
        if last not in dimensions:
            return [False]
        return [True] if dimensions[-1] == last else None
    if opcode == "transpose":
        return [True] if attributes["dimensions"][-1] == last else None
    if opcode == "reverse":
        return None if last in attributes["dimensions"] else [True]
    if opcode == "slice":
        taken = attributes["slice"][-1]
        return [True] if taken.stride == 1 and taken.start % lanes == 0 else None
    if opcode == "reshape":
        same = operands[0].shape.rank and operands[0].shape.dimensions[-1] == instruction.shape.dimensions[-1]
        return [True] if same and is_degenerate_reshape(instruction) else None
    if opcode == "dynamic-slice":
        whole = operands[0].shape.dimensions[-1] == instruction.shape.dimensions[-1]
        return [True, *[False] * (len(operands) - 1)] if whole else None
    if opcode == "gather":
        return [True, False] if gathers_rows(instruction) else None
    return None


def aligned(array: Array, shape: Shape, lanes: int) -> Array:
    """The array as one of this shape, whose vectors of so many elements lie at multiples of their size."""
    is_vector = lanes > 1 and shape.dimensions and not shape.element_type.is_complex
    alignment = lanes * part_size(memory_type(shape.element_type)) if is_vector else 0
    return Array(array.pointer, shape, vector_alignment=min(alignment, 16))


def is_elementwise(instruction: Instruction) -> bool:
    """Whether an element is computed from the operands' of the same place, without branches that passes simplify."""
    opcode = instruction.opcode
    if opcode in ("power", "remainder") or opcode == "divide" and not instruction.shape.element_type.is_float:
        return False
    is_one = opcode == "broadcast" and not instruction.operands[0].shape.rank
    return is_one or not instruction.operation.traits.isdisjoint((ELEMENTWISE, GIVEN, TUPLING))
