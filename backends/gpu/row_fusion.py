"""Fusions that work row by row become one, whose kernel holds a row in the registers of the threads of a block.

Before: softmax as three fusions (maximum of each row; exponentials and their sum; quotients), each of which reads the array.
After: one fusion of kind ``kCustom``, which reads it once.

A row is what the first dimensions number; all others are reduced, or kept, as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from ...compile.common_subexpression_elimination import ComputationKeys, without_common_subexpressions
from ...compile.fused_computations import FusedOperands, as_computation, result_roots
from ...compile.fusion_policy import is_degenerate_reshape
from ...compile.pass_manager import Pass
from ...compile.traversal import on_operands, transform_computations
from ...hlo import OPERATIONS, Computation, Instruction, Module, make_instruction
from ...hlo.instruction import tuple_of
from ...hlo.operation import APPLIES, ELEMENTWISE
from .epilogue_form import EPILOGUE

ROWS = "kCustom"
# A row is no longer than the registers of a block hold, with room for what is computed of it.
LONGEST_ROW = 32 << 10
_SHORTEST_ROW = 8
# A single reduction of fewer rows is better divided among more threads than those of a block.
_LEAST_ROWS = 512
_MOST_INSTRUCTIONS, _MOST_OPERANDS = 120, 24


def fuse_rows(module: Module) -> Module:
    """Joins reductions of rows and what is computed from their results and the same rows."""
    return transform_computations(module, _fused)


FUSE_ROWS = Pass("fuse-rows", fuse_rows)


@dataclass
class _Group:
    """Instructions that become one fusion; ``sizes`` are those of rows, and of what a row has."""

    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    members: list[Instruction] = field(default_factory=list)
    reductions: int = 0
    weight: int = 0


def _fused(computation: Computation) -> Computation:
    users: dict[Instruction, int] = {}
    for instruction in computation.instructions:
        for operand in instruction.operands:
            users[operand] = users.get(operand, 0) + 1
    users[computation.root] = users.get(computation.root, 0) + 1
    values: dict[Instruction, Instruction] = {}
    made: list[Instruction] = []
    group: _Group | None = None
    changed = False

    def close() -> None:
        nonlocal group, changed
        if group is None:
            return
        closing, group = group, None
        if closing.reductions == 0 or len(closing.members) < 2 and prod(closing.sizes[0]) < _LEAST_ROWS:
            for member in closing.members:
                append(member)
            return
        changed = True
        _append_fusion(closing, users, values, made)

    def append(instruction: Instruction) -> None:
        values[instruction] = on_operands(instruction, tuple([values[operand] for operand in instruction.operands]))
        made.append(values[instruction])

    for instruction in computation.instructions:
        form = _form(instruction)
        if form is not None and group is not None and _joins(instruction, form, group):
            _add(group, instruction, form)
            continue
        begins = form is not None and form.sizes is not None
        if group is not None and (begins or any(operand in group.members for operand in instruction.operands)):
            close()
        if begins:
            group = _Group(form.sizes)
            _add(group, instruction, form)
        else:
            append(instruction)
    close()
    if not changed:
        return computation
    return Computation(computation.name, tuple(made), values[computation.root])


@dataclass(frozen=True)
class _Form:
    """An instruction that works row by row: its computation, and whether it reduces rows.

    ``sizes`` are None where it may have one element a row, of rows that others have.
    """

    computation: Computation
    sizes: tuple[tuple[int, ...], tuple[int, ...]] | None
    reduces: bool


def _form(instruction: Instruction) -> _Form | None:
    """How an instruction works row by row; None where it does not, or has an unsuitable size."""
    if instruction.opcode == "fusion":
        if instruction.attributes["kind"] == EPILOGUE:
            return None
        computation = instruction.attributes["calls"]
    elif instruction.opcode == "reduce" or ELEMENTWISE in instruction.operation.traits and instruction.shape.rank:
        computation = as_computation(instruction)
    else:
        return None
    roots = result_roots(computation)
    if any(root.shape.is_tuple or root.operation.updated_operand is not None for root in roots):
        return None
    if any(root.shape.dimensions != roots[0].shape.dimensions for root in roots):
        return None
    reduces = roots[0].opcode == "reduce"
    if any(APPLIES in one.operation.traits for one in computation.instructions if one not in roots):
        return None
    if reduces:
        sizes = _reduced_rows(roots[0]) if len(roots) == 1 else None
        if sizes is None:
            return None
    else:
        dimensions = roots[0].shape.dimensions
        if not dimensions or any(root.opcode == "concatenate" for root in roots):
            return None
        sizes = dimensions[:-1], dimensions[-1:]
        if not _have_a_suitable_size(*sizes):
            return _Form(computation, None, False)
    return _Form(computation, sizes, reduces)


def reduces_rows(reduce: Instruction) -> bool:
    """Whether a reduction is of rows that are held in registers, so that what is computed of them does not read them again."""
    return reduce.opcode == "reduce" and not reduce.shape.is_tuple and _reduced_rows(reduce) is not None


def _reduced_rows(reduce: Instruction) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The sizes of rows and of what each has, where a reduction is of all that rows have."""
    dimensions, reduced = reduce.operands[0].shape.dimensions, sorted(reduce.attributes["dimensions"])
    first = len(dimensions) - len(reduced)
    if _identity(reduce) is None or reduced != list(range(first, len(dimensions))):
        return None
    sizes = dimensions[:first], dimensions[first:]
    return sizes if _have_a_suitable_size(*sizes) else None


def _have_a_suitable_size(rows: tuple[int, ...], row: tuple[int, ...]) -> bool:
    return bool(rows) and prod(rows) > 0 and _SHORTEST_ROW <= prod(row) <= LONGEST_ROW


def _identity(reduce: Instruction) -> object:
    operation = reduce.attributes["to_apply"].combining_operation
    return None if operation is None else operation.identity(reduce.operands[0].shape.element_type)


def _joins(instruction: Instruction, form: _Form, group: _Group) -> bool:
    """Whether the instruction can be computed with the group, row by row."""
    rows, row = group.sizes
    dimensions = result_roots(form.computation)[0].shape.dimensions
    if form.reduces:
        if form.sizes != group.sizes:
            return False
    elif dimensions != (*rows, *row) and not _has_only_rows(dimensions, rows):
        return False
    if group.weight + len(form.computation.instructions) > _MOST_INSTRUCTIONS:
        return False
    if len({operand for one in (*group.members, instruction) for operand in one.operands}) > _MOST_OPERANDS:
        return False
    inside = {
        parameter: group_member
        for parameter, group_member in zip(form.computation.parameters, instruction.operands)
        if group_member in group.members
    }
    shares = any(operand in member.operands for member in group.members for operand in instruction.operands)
    if not inside and not shares:
        return False
    return all(not member.shape.is_tuple and _reads_own_row(form, parameter, group) for parameter, member in inside.items())


def _has_only_rows(dimensions: tuple[int, ...], rows: tuple[int, ...]) -> bool:
    return dimensions[: len(rows)] == rows and all(size == 1 for size in dimensions[len(rows) :])


def _reads_own_row(form: _Form, parameter: Instruction, group: _Group) -> bool:
    """Whether all ways from a result to the parameter stay in the row, and at the place, where they begin."""
    rows, row = group.sizes
    whole = parameter.shape.dimensions == (*rows, *row)
    if not whole and not _has_only_rows(parameter.shape.dimensions, rows):
        return False
    reaching = {parameter}
    for instruction in form.computation.instructions:
        if (
            not reaching.intersection(instruction.operands)
            or instruction is form.computation.root
            and instruction.opcode == "tuple"
        ):
            continue
        if instruction.opcode == "reduce" and instruction in result_roots(form.computation):
            if reaching.intersection(instruction.operands[1:]):
                return False
            continue
        if not _keeps_rows(instruction, rows, whole):
            return False
        reaching.add(instruction)
    return True


def _keeps_rows(instruction: Instruction, rows: tuple[int, ...], whole: bool) -> bool:
    """Whether an instruction's elements are computed from those of the same row, and, of whole arrays, at the same place."""
    count = len(rows)
    if instruction.shape.is_tuple or instruction.shape.dimensions[:count] != rows:
        return False
    if ELEMENTWISE in instruction.operation.traits:
        return True
    if whole:
        return False
    if instruction.opcode == "broadcast":
        return instruction.attributes["dimensions"][:count] == tuple(range(count))
    return instruction.opcode == "reshape" and is_degenerate_reshape(instruction)


def _add(group: _Group, instruction: Instruction, form: _Form) -> None:
    group.members.append(instruction)
    group.reductions += form.reduces
    group.weight += len(form.computation.instructions)


def _append_fusion(
    group: _Group, users: dict[Instruction, int], values: dict[Instruction, Instruction], made: list[Instruction]
) -> None:
    """One fusion in the place of the group's members."""
    read = FusedOperands()
    body: list[Instruction] = []
    results: dict[Instruction, Instruction] = {}

    def given(operand: Instruction) -> Instruction:
        return results[operand] if operand in results else read.parameter_for(operand)

    inside: dict[Instruction, int] = {}
    for member in group.members:
        for operand in member.operands:
            inside[operand] = inside.get(operand, 0) + 1
        computation = member.attributes["calls"] if member.opcode == "fusion" else as_computation(member)
        mapped = {p: given(operand) for p, operand in zip(computation.parameters, member.operands)}
        for instruction in computation.instructions:
            if instruction not in mapped:
                mapped[instruction] = instruction.with_operands([mapped[operand] for operand in instruction.operands])
                body.append(mapped[instruction])
        results[member] = mapped[computation.root]
    needed = [member for member in group.members if users.get(member, 0) > inside.get(member, 0)]
    roots_of = {member: _parts(results[member]) for member in needed}
    roots = [root for member in needed for root in roots_of[member]]
    tuples = [one for one in results.values() if one.opcode == "tuple"]
    body = [instruction for instruction in body if instruction not in tuples]
    root = roots[0]
    if len(roots) > 1:
        root = make_instruction("tuple", roots)
        body.append(root)
    computation = Computation("fused_rows", (*read.parameters, *body), root)
    # Members had computed for themselves what they now share: of softmax, the exponentials.
    computation = without_common_subexpressions(computation, ComputationKeys())
    shape = roots[0].shape if len(roots) == 1 else tuple_of(roots)
    attributes = {"kind": ROWS, "calls": computation}
    inputs = tuple([values[operand] for operand in read.operands])
    last = group.members[-1]
    fusion = Instruction(OPERATIONS["fusion"], inputs, attributes, shape, "row_fusion", last.source)
    made.append(fusion)
    if len(needed) == 1:
        values[needed[0]] = fusion
        return
    number = 0
    for member in needed:
        elements = [
            make_instruction("get-tuple-element", (fusion,), {"index": number + place}, source=member.source)
            for place in range(len(roots_of[member]))
        ]
        number += len(elements)
        made.extend(elements)
        values[member] = elements[0]
        if member.shape.is_tuple:
            values[member] = make_instruction("tuple", elements, source=member.source)
            made.append(values[member])


def _parts(result: Instruction) -> tuple[Instruction, ...]:
    """A result, or those that are returned as a tuple."""
    return result.operands if result.opcode == "tuple" else (result,)
