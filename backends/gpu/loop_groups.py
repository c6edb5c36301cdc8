"""Loops and reductions that need nothing of each other become one, whatever they do: their kernels are launched as one.

Before: four launches, of a block or a few, which take longer to be launched than to run::

    w1 = f32[784,256] fusion(w, dw, rate), kind=kLoop, b1 = f32[256] fusion(b, db, rate), kind=kLoop, ...

After: one, whose first blocks compute ``w1``, the next ones ``b1``, ...::

    g = (f32[784,256], f32[256], ...) fusion(w, dw, b, db, ..., rate), kind=kCustom
    w1 = f32[784,256] get-tuple-element(g), index=0, ...

Members stand where the first of them did. So they move up alone, and nothing that they read has been written over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field

from ...compile.common_subexpression_elimination import ComputationKeys
from ...compile.fused_computations import as_computation, result_roots
from ...compile.in_place import in_place_operands, update_of
from ...compile.pass_manager import Pass
from ...compile.traversal import transform_computations, users_of
from ...hlo import Computation, Instruction, Module, leaves
from ...hlo.operation import GIVEN
from . import choices
from .alike_fusion import NAMES, with_groups
from .sizes import of_any_size

_MOST_MEMBERS, _MOST_OPERANDS_AND_RESULTS = 16, 64
# Of members that differ: LLVM takes more time for each instruction of long functions.
_MOST_INSTRUCTIONS = 200
# What is also needed elsewhere is compiled twice: of all of it, so much.
_MOST_CODE_MORE = 0.25


def group_loops(module: Module) -> Module:
    """Joins small loops and reductions of which none needs what comes of another."""
    return transform_computations(
        module,
        lambda computation: _Groups(computation).run(),
        lambda entry: _Groups(entry, is_entry=True).run(),
    )


GROUP_LOOPS = Pass("group-loops", group_loops)


@dataclass(eq=False)
class _Group:
    """Members, the first of which is the instruction at ``place``."""

    place: int
    members: list[Instruction] = field(default_factory=list)
    forms: Counter[int] = field(default_factory=Counter)  # how many do the same
    arrays: int = 0
    instructions: int = 0

    @property
    def code(self) -> frozenset[tuple[int, int]]:
        """The same for groups that share their code."""
        return frozenset(self.forms.items())


class _Groups:
    """One computation, whose instructions find the first group behind all that they need."""

    def __init__(self, computation: Computation, is_entry: bool = False) -> None:
        self.computation, self.is_entry = computation, is_entry
        self.keys = ComputationKeys()
        self.groups: list[_Group] = []
        self.weights: dict[int, int] = {}  # of forms, in instructions
        self.places: list[int] = []  # of the groups
        self.group_of: dict[Instruction, _Group] = {}
        self.following: list[int] = []  # from groups that are full on, which group may not be
        self.place_of: dict[Instruction, int] = {}  # where it is computed
        given = [one for one in computation.instructions if one.has_trait(GIVEN)]
        self.order = [*given, *[one for one in computation.instructions if not one.has_trait(GIVEN)]]
        self.position = {one: number for number, one in enumerate(self.order)}

    def run(self) -> Computation:
        if sum(map(_is_small, self.order)) < 2:
            return self.computation
        self.users = users_of(self.computation)
        for position, instruction in enumerate(self.order):
            if _is_small(instruction):
                self.place_of[instruction] = self._joined(instruction, position).place
            elif instruction.has_trait(GIVEN):
                self.place_of[instruction] = -1
            else:
                self.place_of[instruction] = self._behind(instruction) if instruction.opcode in NAMES else position
        kept = self._worth_their_code()
        if not kept:
            return self.computation
        order: list[Instruction] = []
        members = {group.members[0]: group.members for group in self.groups}
        for instruction in self.order:
            # Those of groups that are not kept stand one by one where others find them.
            if instruction not in self.group_of:
                order.append(instruction)
            elif instruction in members:
                order += members[instruction]
        return with_groups(self.computation, order, [group.members for group in kept])

    def _worth_their_code(self) -> list[_Group]:
        """The groups of several members, without those that save least for code that is also needed elsewhere."""
        by_code: dict[frozenset[tuple[int, int]], list[_Group]] = {}
        for group in self.groups:
            by_code.setdefault(group.code, []).append(group)
        kernels = Counter([form for code in by_code for form, _ in code])

        def more_code(groups: list[_Group]) -> int:
            return sum([self.weights[form] for form in groups[0].forms if kernels[form] > 1])

        def saved(groups: list[_Group]) -> int:
            return sum([len(group.members) - 1 for group in groups])

        left = sum(self.weights.values()) * _MOST_CODE_MORE
        kept: list[_Group] = []
        joined = [groups for groups in by_code.values() if saved(groups)]
        for groups in sorted(joined, key=lambda groups: more_code(groups) / saved(groups)):
            left -= more_code(groups)
            if left >= 0:
                kept += groups
        return kept

    def _behind(self, instruction: Instruction) -> int:
        """Where all that it needs is there."""
        return max([self.place_of[operand] for operand in instruction.operands], default=-1)

    def _joined(self, instruction: Instruction, position: int) -> _Group:
        """The group that an instruction joins, or that it is the first one of."""
        is_fusion = instruction.opcode == "fusion"
        computation = instruction.attributes["calls"] if is_fusion else as_computation(instruction)
        form, weight = self.keys.number(of_any_size(computation) or computation), len(computation.instructions)
        arrays = len(set(instruction.operands)) + len(leaves(instruction.shape))
        number = self._open(bisect_right(self.places, self._behind(instruction)))
        group = self.groups[number] if number < len(self.groups) else None
        if group is not None:
            more = 0 if form in group.forms else weight
            if group.arrays + arrays > _MOST_OPERANDS_AND_RESULTS or group.instructions + more > _MOST_INSTRUCTIONS:
                self.following[number] = number + 1
                group = None
            elif not self._may_move(instruction, group.place, position):
                group = None
        if group is None:
            number = len(self.groups)
            group = _Group(position)
            self.groups.append(group)
            self.places.append(position)
            self.following.append(number)
        if form not in group.forms:
            self.weights[form] = weight
            group.instructions += weight
        group.forms[form] += 1
        group.members.append(instruction)
        self.group_of[instruction] = group
        group.arrays += arrays
        if len(group.members) == _MOST_MEMBERS:
            self.following[number] = number + 1
        return group

    def _open(self, number: int) -> int:
        """The first group from this one on that is not full."""
        passed = []
        while number < len(self.following) and self.following[number] != number:
            passed.append(number)
            number = self.following[number]
        for one in passed:
            self.following[one] = number
        return number

    def _may_move(self, instruction: Instruction, place: int, position: int) -> bool:
        """Whether what an instruction may write over is read by nothing that it would be moved past."""
        for leaf in range(len(leaves(instruction.shape))):
            for operand in [instruction.operands[number] for number in in_place_operands(instruction, leaf)]:
                if self.is_entry and operand.opcode == "parameter":
                    continue  # which nothing is written over
                readers = [self.position[user] for user in self.users[operand]]
                if bisect_left(readers, position) > bisect_left(readers, place):
                    return False
        return True


def _is_small(instruction: Instruction) -> bool:
    """Whether an instruction may be one of a group: a loop or a reduction that takes little longer than its launch."""
    is_fusion = instruction.opcode == "fusion"
    if not is_fusion and instruction.opcode != "reduce" or not all(shape.size for shape in leaves(instruction.shape)):
        return False
    read = sum([leaf.byte_size for operand in set(instruction.operands) for leaf in leaves(operand.shape)])
    if read + sum([leaf.byte_size for leaf in leaves(instruction.shape)]) > choices.MOST_BYTES_TOGETHER:
        return False
    if not is_fusion:
        return True
    kind, computation = instruction.attributes["kind"], instruction.attributes["calls"]
    if kind == "kLoop":
        return bool(result_roots(computation)[0].shape.rank) and update_of(instruction) is None
    return kind == "kInput" and sum(one.opcode == "reduce" for one in computation.instructions) == 1
