"""Truth values along a row: counted by the bits of a vector of them, and searched for one that decides the result."""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from llvmlite import ir

from ....hlo import PRED, Computation, Instruction
from ....hlo.ops.elementwise import ADD, AND, MINIMUM, OR
from ...llvm import index as indices
from ...llvm.arithmetic import all_lanes, count_lanes
from ...llvm.branches import replaced_if
from ...llvm.elemental import ElementalEmitter
from ...llvm.index import Affine, Component, Index
from ...llvm.loops import Body, carried_loop, while_loop
from ...llvm.reductions import Reduction
from ...llvm.scalar_control_flow import has_control_flow
from ...llvm.types import I1, I64, RegisterValue, register_bytes, scalar_register_type
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import lanes_of

# As many vectors are looked at before a branch.
_VECTORS = 4


def _lanes_without(target: Target, reduction: Reduction, others: set[Instruction], size: int) -> int:
    """The lanes in which what the reduction's operand is made of is computed, but for these instructions."""
    arrays = [i for i in reduction.producers.instructions if not i.shape.is_tuple and i.shape.dimensions and i not in others]
    return target.lanes(max(register_bytes(i.shape.element_type) for i in arrays), size)


class CountedLanes(NamedTuple):
    """Truth values that are counted: the bits of a vector of them are, where it has more lanes than one of counts."""

    truths: Instruction
    lanes: int

    @classmethod
    def of(cls, target: Target, reduction: Reduction, size: int) -> CountedLanes | None:
        operand = reduction.operands[0]
        if reduction.to_apply.combining_operation is not ADD or operand.opcode != "convert":
            return None
        (truths,), producers = operand.operands, reduction.producers
        if truths.shape.element_type is not PRED or not operand.shape.element_type.is_integer:
            return None
        if has_control_flow([producers]):
            return None
        lanes = _lanes_without(target, reduction, {operand}, size)
        return cls(truths, lanes) if lanes > lanes_of(target, reduction, size) else None

    @samples(
        """
        x = pred[3,1003] parameter(0)
        y = s8[3,1003] parameter(1)
        none = s8[] constant(0)
        zeros = s8[3,1003] broadcast(none), dimensions={}
        negative = pred[3,1003] compare(y, zeros), direction=LT
        both = pred[3,1003] and(x, negative)
        number = s32[3,1003] convert(both)
        zero = s32[] constant(0)
        ROOT count = s32[3] reduce(number, zero), dimensions={1}, to_apply=add_s32
        """,
        calls=combining("add", "s32[]"),
    )
    def count(self, builder: ir.IRBuilder, reduction: Reduction, index: Index, mask: ir.Value | None) -> ir.Value:
        b = builder
        found = ElementalEmitter(b, self.lanes, reduction.bindings).emit(self.truths, index, mask)
        found = found if mask is None else b.and_(found, mask)
        return count_lanes(b, found, scalar_register_type(reduction.operands[0].shape.element_type))


class SearchedLanes(NamedTuple):
    """Truth values that say where a row has a number: blocks of the row in which none is true are left alone."""

    truths: Instruction
    lanes: int

    @classmethod
    def of(cls, target: Target, reduction: Reduction, size: int, block: int) -> SearchedLanes | None:
        """For blocks of so many elements, of a reduction that `is_decided_early`."""
        operand, producers = reduction.operands[0], reduction.producers
        if operand.opcode != "select" or operand.operands[1].opcode != "iota" or has_control_flow([producers]):
            return None
        truths, *sides = operand.operands
        if not truths.shape.dimensions or sides[1].opcode == "select":
            return None
        lanes = _lanes_without(target, reduction, {operand, *sides}, size)
        return cls(truths, lanes) if lanes > 1 and block % lanes == 0 else None

    @samples(
        """
        x = f32[2,3000] parameter(0)
        some = f32[] constant(2.5)
        bound = f32[2,3000] broadcast(some), dimensions={}
        above = pred[2,3000] compare(x, bound), direction=GT
        place = s32[2,3000] iota(), iota_dimension=1
        none = s32[] constant(2147483647)
        nowhere = s32[2,3000] broadcast(none), dimensions={}
        found = s32[2,3000] select(above, place, nowhere)
        ROOT first = s32[2] reduce(found, none), dimensions={1}, to_apply=minimum_s32
        """,
        calls=combining("minimum", "s32[]"),
    )
    def run(
        self,
        builder: ir.IRBuilder,
        reduction: Reduction,
        index: dict[int, Component],
        begin: indices.Base,
        stop: indices.Base,
        step: int,
        initial: list[RegisterValue],
        body: Body,
        most: int,
    ) -> list[RegisterValue]:
        """What ``body`` makes of the first block in which one is true; the initial values, where there is none."""
        b, last = builder, len(reduction.dimensions) - 1
        vectors = gcd(step // self.lanes, _VECTORS)
        none = ir.Constant(ir.VectorType(I1, self.lanes), None)

        def look(base: ir.Value, found: list[RegisterValue]) -> list[RegisterValue]:
            emitter = ElementalEmitter(b, self.lanes, reduction.bindings)
            for number in range(vectors):
                place = Affine(indices.add_base(b, base, number * self.lanes), 1)
                full = tuple(place if d == last else index[d] for d in range(last + 1))
                found = [b.or_(found[0], emitter.emit(self.truths, full, None))]
            return found

        with while_loop(b, [indices.i64(begin)], "search", most) as loop:
            (start,) = loop.values
            end = b.add(start, I64(step))
            loop.leave_unless(b.icmp_signed("<", start, indices.i64(stop)))
            (found,) = carried_loop(b, start, end, vectors * self.lanes, [none], look, "look", step)
            loop.leave_unless(are_all(b, found, none))
            loop.carry([end])
        return replaced_if(b, b.icmp_signed("<", start, indices.i64(stop)), initial, lambda: body(start, initial))


def until_decided(
    builder: ir.IRBuilder,
    neutral: ir.Constant,
    begin: indices.Base,
    stop: indices.Base,
    step: int,
    initial: list[RegisterValue],
    body: Body,
    most: int,
) -> list[RegisterValue]:
    """`carried_loop`, left as soon as a lane is not neutral."""
    with while_loop(builder, [indices.i64(begin), *initial], "block", most) as loop:
        start, *state = loop.values
        loop.leave_unless(builder.icmp_signed("<", start, indices.i64(stop)))
        loop.leave_unless(are_all(builder, state[0], neutral))
        loop.carry([builder.add(start, I64(step), flags=["nsw", "nuw"]), *body(start, state)])
    return state


def are_all(builder: ir.IRBuilder, value: ir.Value, neutral: ir.Constant) -> ir.Value:
    """Whether all lanes are neutral."""
    return all_lanes(builder, builder.icmp_unsigned("==", value, neutral))


def is_decided_early(
    to_apply: Computation, operand: Instruction, reduced: tuple[int, ...], identity: float | complex | None
) -> bool:
    """Whether an element that is not the identity leaves no other result.

    So it is with truth values, and where the least is looked for among integers that count along the row, and the identity in
    the place of some of them.
    """
    last = operand.shape.rank - 1
    if operand.shape.element_type is PRED:
        return to_apply.combining_operation in (AND, OR)
    if to_apply.combining_operation is not MINIMUM or reduced != (last,) or not operand.shape.element_type.is_integer:
        return False

    def is_identity(instruction: Instruction) -> bool:
        while instruction.opcode == "broadcast":
            (instruction,) = instruction.operands
        return (
            instruction.opcode == "constant"
            and not instruction.shape.dimensions
            and instruction.attributes["literal"] == identity
        )

    while operand.opcode == "select":
        _, *sides = operand.operands
        chosen = [side for side in sides if not is_identity(side)]
        if len(chosen) != 1:
            return False
        (operand,) = chosen
    return operand.opcode == "iota" and operand.attributes["iota_dimension"] == last
