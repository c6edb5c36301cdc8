"""Small products that do the same to arrays of the same shapes become one, whose kernels run for all of them.

Before: three launches, of which each keeps a part of the device busy::

    q = f32[512,256] dot(x, wq), k = f32[512,256] dot(x, wk), v = f32[512,256] dot(x, wv)

After: one launch of three times as many blocks::

    a = (f32[512,256], f32[512,256], f32[512,256]) fusion(x, wq, wk, wv), kind=kCustom
    q = get-tuple-element(a), index=0, ...

The members of the group, products and fusions with them, stand one by one in what the fusion calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...compile.common_subexpression_elimination import ComputationKeys
from ...compile.fused_computations import FusedOperands, as_computation
from ...compile.pass_manager import Pass
from ...compile.traversal import on_operands, transform_computations
from ...hlo import OPERATIONS, Computation, Instruction, Module, leaves, make_instruction
from ...hlo.instruction import tuple_of
from ...hlo.operation import GIVEN
from .epilogue_form import EPILOGUE, PRODUCTS

# As fusions of rows, which hold neither products nor fusions: `members_of` tells them apart.
ALIKE = "kCustom"
# What gives a value another name, and does nothing.
NAMES = frozenset({"get-tuple-element", "reshape"})
# What does more by itself keeps a device busy.
_MOST_FLOPS = 1 << 29
_MOST_MEMBERS, _MOST_OPERANDS_AND_RESULTS = 8, 40


def members_of(computation: Computation) -> list[Instruction]:
    """The members of a group; none of any other fused computation."""
    return [one for one in computation.instructions if one.opcode == "fusion" or one.opcode in PRODUCTS]


def group_alike(module: Module) -> Module:
    """Joins small products that do the same, where none needs what comes of another."""
    return transform_computations(module, lambda computation: _Groups(computation).run())


GROUP_ALIKE = Pass("group-alike", group_alike)


@dataclass
class _Group:
    """Members, which may all run after the instruction at ``after``, and before the one at ``before``."""

    members: list[Instruction]
    after: int
    before: int
    places: int


class _Groups:
    """One computation, whose instructions are put in another order, group by group."""

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        given = [one for one in computation.instructions if one.has_trait(GIVEN)]
        self.order = [*given, *[one for one in computation.instructions if not one.has_trait(GIVEN)]]
        self.group_of: dict[Instruction, list[Instruction]] = {}
        self.groups: list[list[Instruction]] = []
        self.keys = ComputationKeys()

    def run(self) -> Computation:
        alike: dict[int, list[Instruction]] = {}
        for instruction in self.order:
            if _is_small(instruction):
                alike.setdefault(self.keys.number(as_computation(instruction)), []).append(instruction)
        for candidates in alike.values():
            while len(candidates) > 1:
                group = self._first_group(candidates)
                candidates = [one for one in candidates if one not in group.members]
                if len(group.members) > 1:
                    self._move(group)
        return with_groups(self.computation, self.order, self.groups) if self.groups else self.computation

    def _first_group(self, candidates: list[Instruction]) -> _Group:
        """The first of these and all that can run with it."""
        position = {instruction: number for number, instruction in enumerate(self.order)}
        users: dict[Instruction, int] = {}
        for number, instruction in reversed(list(enumerate(self.order))):
            users.update(dict.fromkeys(instruction.operands, number))
        users[self.computation.root] = min(users.get(self.computation.root, len(self.order)), len(self.order))
        group = None
        for one in candidates:
            after = max([self._end(position, operand) for operand in one.operands], default=-1)
            before = users.get(one, len(self.order))
            places = len(set(one.operands)) + len(leaves(one.shape))
            if group is None:
                group = _Group([one], after, before, places)
                continue
            joined = _Group([*group.members, one], max(group.after, after), min(group.before, before), group.places + places)
            is_apart = joined.after < joined.before and not set(group.members).intersection(one.operands)
            if is_apart and joined.places <= _MOST_OPERANDS_AND_RESULTS:
                group = joined
            if len(group.members) == _MOST_MEMBERS:
                break
        assert group is not None
        return group

    def _end(self, position: dict[Instruction, int], instruction: Instruction) -> int:
        """Where an instruction has been computed: those of a group are at its end."""
        return max([position[one] for one in self.group_of.get(instruction, [instruction])])

    def _move(self, group: _Group) -> None:
        last = self.order[group.after] if group.after >= 0 else None
        self.order = [one for one in self.order if one not in group.members]
        place = 0 if last is None else self.order.index(last) + 1
        self.order[place:place] = group.members
        self.groups.append(group.members)
        self.group_of.update(dict.fromkeys(group.members, group.members))


def with_groups(computation: Computation, order: Sequence[Instruction], groups: Sequence[Sequence[Instruction]]) -> Computation:
    """The computation, its instructions in this order, with members of groups joined where the first of each stands."""
    group_of = {group[0]: group for group in groups}
    members = {member for group in groups for member in group}
    values: dict[Instruction, Instruction] = {}
    made: list[Instruction] = []

    def value_of(instruction: Instruction) -> Instruction:
        """Names may stand behind what needs them now."""
        if instruction not in values:
            assert instruction.opcode in NAMES
            append(instruction)
        return values[instruction]

    def append(instruction: Instruction) -> None:
        values[instruction] = on_operands(instruction, tuple([value_of(operand) for operand in instruction.operands]))
        made.append(values[instruction])

    for instruction in order:
        if instruction in group_of:
            read = FusedOperands()
            fusion, parts = _joined(group_of[instruction], read, value_of)
            made += [fusion, *parts]
            values.update(zip(group_of[instruction], parts))
        elif instruction not in members and instruction not in values:
            append(instruction)
    return Computation(computation.name, tuple(made), values[computation.root])


def _joined(
    members: Sequence[Instruction], read: FusedOperands, value_of: Callable[[Instruction], Instruction]
) -> tuple[Instruction, list[Instruction]]:
    """The fusion, and what takes it apart."""
    body = [_alone(member, [read.parameter_for(value_of(operand)) for operand in member.operands]) for member in members]
    root = make_instruction("tuple", body)
    computation = Computation("together", (*read.parameters, *body, root), root)
    attributes = {"kind": ALIKE, "calls": computation}
    shape, source = tuple_of(body), members[-1].source
    fusion = Instruction(OPERATIONS["fusion"], tuple(read.operands), attributes, shape, "group_fusion", source)
    parts = [
        make_instruction("get-tuple-element", (fusion,), {"index": number}, source=member.source)
        for number, member in enumerate(members)
    ]
    return fusion, parts


def _alone(member: Instruction, operands: list[Instruction]) -> Instruction:
    """A member in a group, a reduction as a fusion of its own."""
    if member.opcode != "reduce":
        return member.with_operands(operands)
    attributes = {"kind": "kInput", "calls": as_computation(member)}
    return Instruction(OPERATIONS["fusion"], tuple(operands), attributes, member.shape, member.name, member.source)


def _is_small(instruction: Instruction) -> bool:
    """Whether an instruction may be one of a group."""
    if not all(shape.rank and shape.size for shape in leaves(instruction.shape)):
        return False
    hero = instruction
    if instruction.opcode == "fusion" and instruction.attributes["kind"] == EPILOGUE:
        (hero,) = [one for one in instruction.attributes["calls"].instructions if one.opcode in PRODUCTS]
    if hero.opcode not in PRODUCTS:
        return False
    shapes = tuple([operand.shape for operand in hero.operands])
    return (hero.operation.work(shapes, hero.shape, hero.attributes) or 0) <= _MOST_FLOPS
