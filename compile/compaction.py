"""Selected elements are moved together by one operation of its own, where they were by a running count and a scatter.

The count says where each element goes. What lies behind the last selected one is unspecified once the size is set, and else
what the scatter writes into. What is computed of the elements of one array is computed of the selected ones. For GPUs the
scatter stays, with a place of its own for each element.
"""

from __future__ import annotations

import math

from ..hlo import S32, Computation, Instruction, Module, Shape, make_instruction, post_order, rebuild, scalar_computation
from ..hlo.operation import ELEMENTWISE
from ..hlo.ops.known_calls import COMPRESS
from .pass_manager import COMPACT_SELECTIONS, SEPARATE_SELECTIONS, module_pass
from .traversal import on_operands, transform_computations

# As many operations on the elements of an array are looked through; and of this cost, where others need all that they compute.
_MOST_OPERATIONS, _MOST_COST = 32, 10.0


@module_pass(COMPACT_SELECTIONS)
def compact_selections(module: Module) -> Module:
    """Scatters to the places that a running count of a mask gives as custom-calls; last counts as reductions."""
    return transform_computations(module, _compacted)


@module_pass(SEPARATE_SELECTIONS)
def separate_selections(module: Module) -> Module:
    """Scatters to the places that a running count of a mask gives as ones to a place of its own for each element.

    What is not selected goes beyond the end. Updates that do not meet can be made in any order, as threads make them.
    """
    return transform_computations(module, _separated)


def _separated(computation: Computation) -> Computation:
    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        result = on_operands(instruction, operands)
        counts = _counts(result)
        return result if counts is None else _at_places_of_its_own(result, counts)

    return rebuild(computation, transform)


def _at_places_of_its_own(scatter: Instruction, counts: Instruction) -> Instruction:
    array, _, values = scatter.operands
    integers, source = counts.shape, scatter.source
    (size,) = integers.dimensions
    if 2 * size >= 1 << (integers.element_type.bits - 1):
        return scatter

    def full(value: int) -> Instruction:
        number = make_instruction("constant", (), {"literal": integers.dtype.type(value)}, source=source)
        return make_instruction("broadcast", (number,), {"dimensions": ()}, integers, source=source)

    place = make_instruction("subtract", (counts, full(1)), {}, source=source)
    number = make_instruction("iota", (), {"iota_dimension": 0}, integers, source=source)
    beyond = make_instruction("add", (number, full(size)), {}, source=source)
    mask = _mask_of_count(counts)
    assert mask is not None
    places = make_instruction("select", (mask, place, beyond), {}, source=source)
    attributes = {**scatter.attributes, "unique_indices": True}
    return make_instruction("scatter", (array, places, values), attributes, source=source)


def _compacted(computation: Computation) -> Computation:
    users: dict[Instruction, int] = {}
    for instruction in computation.instructions:
        for operand in instruction.operands:
            users[operand] = users.get(operand, 0) + 1

    moved: dict[Instruction, Instruction] = {}  # by the scatter

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if _is_last_count(instruction):
            return _reduction(_mask_of_count(operands[0].operands[0]))
        if instruction.opcode == "set-dimension-size" and instruction.attributes["dimensions"] == (0,):
            scatter, size = instruction.operands
            if users[scatter] == 1 and scatter in moved and _is_last_count(size) and _counts(scatter) is _counted(size):
                return instruction.with_operands((moved[scatter], operands[1]))
        result = on_operands(instruction, operands)
        if (counts := _counts(result)) is None:
            return result
        moved[instruction] = _selected(result, users[instruction.operands[2]] == 1)
        return _with_rest(moved[instruction], _reduction(_mask_of_count(counts)), result.operands[0])

    return rebuild(computation, transform)


def _selected(scatter: Instruction, is_only_use: bool) -> Instruction:
    """What a scatter moves together; is_only_use: of the values that it does so with.

    Before: ``compress(mask, sqrt(x) + 1)``. After: ``sqrt(compress(mask, x)) + 1``.
    """
    values = scatter.operands[2]
    operations, arrays, numbers = _elementwise_parts(values, math.inf if is_only_use else _MOST_COST)
    if not operations or len(arrays) != 1:
        return _compress(scatter, values)
    (array,) = arrays
    behind = {array: _compress(scatter, array), **{number: number for number in numbers}}
    for operation in post_order(values, behind):
        behind[operation] = operation.with_operands([behind[operand] for operand in operation.operands])
    return behind[values]


def _elementwise_parts(values: Instruction, most_cost: float) -> tuple[set[Instruction], set[Instruction], set[Instruction]]:
    """What an array is computed of element by element: the operations, the arrays, and the numbers that are the same for all.

    No operations where these are too many, or cost more than this.
    """
    operations, arrays, numbers, pending = set(), set(), set(), [values]
    while pending:
        one = pending.pop()
        if not one.shape.is_tuple and not one.shape.rank or one.opcode == "broadcast" and not one.operands[0].shape.rank:
            numbers.add(one)
        elif not one.has_trait(ELEMENTWISE) or not one.operands:
            arrays.add(one)
        elif one not in operations:
            operations.add(one)
            most_cost -= one.operation.cost
            pending += one.operands
            if len(operations) > _MOST_OPERATIONS or most_cost < 0:
                return set(), arrays, numbers
    return operations, arrays, numbers


def _is_last_count(instruction: Instruction) -> bool:
    """Whether this is the last element of a running count."""
    if instruction.opcode != "reshape" or instruction.shape.rank or instruction.operands[0].opcode != "slice":
        return False
    part = instruction.operands[0]
    (count,) = part.operands[0].shape.dimensions if part.operands[0].shape.rank == 1 else (0,)
    return part.attributes["slice"] == ((count - 1, count, 1),) and _mask_of_count(part.operands[0]) is not None


def _mask_of_count(instruction: Instruction) -> Instruction | None:
    """The mask of which this is the running count."""
    if instruction.opcode != "get-tuple-element" or instruction.attributes["index"] != 0:
        return None
    scan = instruction.operands[0]
    if scan.opcode != "scan" or len(scan.operands) != 2 or scan.attributes["is_reverse"]:
        return None
    converted, initial = scan.operands
    if (
        not _is_constant(initial, 0)
        or converted.opcode != "convert"
        or converted.shape != Shape(S32, converted.shape.dimensions)
    ):
        return None
    mask = converted.operands[0]
    if mask.shape.rank != 1 or mask.shape.element_type.name != "pred" or not _is_running_sum(scan.attributes["to_apply"]):
        return None
    return mask


def _is_running_sum(step: Computation) -> bool:
    root = step.root
    if root.opcode != "tuple" or len(root.operands) != 2 or root.operands[0] is not root.operands[1]:
        return False
    total = root.operands[0]
    return total.opcode == "add" and set(total.operands) == set(step.parameters)


def _counted(last: Instruction) -> Instruction:
    """The running count of which this is the last."""
    return last.operands[0].operands[0]


def _counts(scatter: Instruction) -> Instruction | None:
    """The running count that says where each selected element goes, if that is all that the scatter does."""
    if scatter.opcode != "scatter" or len(scatter.operands) != 3:
        return None
    places, values = scatter.operands[1:]
    rank = values.shape.rank
    expected = {
        "update_window_dims": tuple(range(1, rank)),
        "inserted_window_dims": (0,),
        "scatter_dims_to_operand_dims": (0,),
        "input_batching_dims": (),
        "index_vector_dim": 1,
    }
    if any(scatter.attributes.get(name, value) != value for name, value in expected.items()):
        return None
    combine = scatter.attributes["to_apply"]
    if combine.root is not combine.parameters[1] or scatter.shape != values.shape or values.shape.has_dynamic_dimensions:
        return None
    before, mask = places, None
    if rank > 1:
        if places.opcode != "select" or not _is_constant(places.operands[2], values.shape.dimensions[0]):
            return None
        mask, before, _ = places.operands
    if before.opcode != "subtract":
        return None
    counts, subtracted = before.operands
    known = _mask_of_count(counts)
    if known is None or rank > 1 and (mask is not known or not _is_constant(subtracted, 1)):
        return None
    return counts if rank > 1 or _is_converted(subtracted, known) else None


def _is_converted(instruction: Instruction, mask: Instruction | None) -> bool:
    return instruction.opcode == "convert" and instruction.operands[0] is mask


def _is_constant(instruction: Instruction, value: int) -> bool:
    while instruction.opcode == "broadcast":
        (instruction,) = instruction.operands
    return instruction.opcode == "constant" and bool((instruction.attributes["literal"] == value).all())


def _reduction(mask: Instruction) -> Instruction:
    """How many elements of a mask are true."""
    counts = make_instruction("convert", (mask,), {}, Shape(S32, mask.shape.dimensions), source=mask.source)
    zero = make_instruction("constant", (), {"literal": S32.dtype.type(0)}, source=mask.source)
    attributes = {"dimensions": (0,), "to_apply": scalar_computation("add", S32)}
    return make_instruction("reduce", (counts, zero), attributes, source=mask.source)


def _with_rest(moved: Instruction, count: Instruction, rest: Instruction) -> Instruction:
    """What was moved together, and behind that what is in another array."""
    numbers = make_instruction("iota", (), {"iota_dimension": 0}, Shape(S32, moved.shape.dimensions), source=moved.source)
    counts = make_instruction("broadcast", (count,), {"dimensions": ()}, numbers.shape, source=moved.source)
    is_moved = make_instruction("compare", (numbers, counts), {"direction": "LT"}, source=moved.source)
    return make_instruction("select", (is_moved, moved, rest), source=moved.source)


def _compress(scatter: Instruction, values: Instruction) -> Instruction:
    """The call that moves the elements that a scatter selects, or the positions of these, together."""
    places = scatter.operands[1]
    mask = places.operands[0] if places.opcode == "select" else places.operands[1].operands[0]
    operands = (mask,) if values.opcode == "iota" and values.shape.element_type.name == "s64" else (mask, values)
    return make_instruction("custom-call", operands, {"custom_call_target": COMPRESS}, values.shape, source=scatter.source)
