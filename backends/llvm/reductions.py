"""What reductions of rows and of columns share: the record of what is reduced, loops, identities, compensated sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from ...compile.fused_computations import result_roots
from ...hlo import F32, F64, S32, S64, Computation, ElementType, Instruction, make_instruction, rebuild
from ...hlo.ops.elementwise import ADD, MAXIMUM, MINIMUM
from .arithmetic import constant, from_bits, intrinsic, to_bits
from .elemental import Binding, ElementalEmitter
from .elementary.double_double import two_sum
from .index import Affine, Base, Component, Index
from .loops import carried_loop
from .module import contracting, lacks
from .pieces import piece_bounds
from .scalar_computations import emit_scalar_computation
from .types import ComplexValue, RegisterValue, integer_constant, scalar_register_type, vector_of


@dataclass(frozen=True)
class Reduction:
    """What is reduced, and how.

    ``producers`` computes the operands (its root, or the elements of its root tuple) from ``arguments``; ``init_values``
    are scalar registers; ``reduced`` are the reduced dimensions, in order. ``stops`` says of some dimensions behind which size
    nothing is needed, or changes the result. ``divided`` says that each piece (`pieces`) is to reduce its part of the first of
    the reduced dimensions, without the init values. ``unread`` are the numbers of results that need not be written.
    ``contracts`` says that a product and a sum may be rounded together.
    """

    producers: Computation
    arguments: list[Binding]
    init_values: list[RegisterValue]
    reduced: tuple[int, ...]
    to_apply: Computation
    stops: Mapping[int, ir.Value] = field(default_factory=dict)
    divided: bool = False
    unread: frozenset[int] = frozenset()
    contracts: bool = False

    @property
    def operands(self) -> tuple[Instruction, ...]:
        return result_roots(self.producers)

    @property
    def count(self) -> int:
        return len(self.operands)

    @property
    def dimensions(self) -> tuple[int, ...]:
        return self.operands[0].shape.dimensions

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(d for d in range(len(self.dimensions)) if d not in self.reduced)

    @property
    def reduced_count(self) -> int:
        """How many elements make one of the result."""
        return prod(self.dimensions[d] for d in self.reduced)

    @property
    def bindings(self) -> dict[Instruction, Binding]:
        return dict(zip(self.producers.parameters, self.arguments))

    def combine(
        self, builder: ir.IRBuilder, accumulators: list[RegisterValue], elements: list[RegisterValue], lanes: int
    ) -> list[RegisterValue]:
        return self.applied(builder, self.to_apply, [*accumulators, *elements], lanes)

    def applied(
        self, builder: ir.IRBuilder, computation: Computation, values: list[RegisterValue], lanes: int
    ) -> list[RegisterValue]:
        with contracting(builder.module, self.contracts):
            return emit_scalar_computation(builder, computation, values, lanes)

    def elements(self, builder: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None = None) -> list[RegisterValue]:
        return self.elements_at(builder, [index], lanes, mask)[0]

    def elements_at(
        self, builder: ir.IRBuilder, places: Sequence[Index], lanes: int, mask: ir.Value | None = None
    ) -> list[list[RegisterValue]]:
        """The elements at several indices: what these share is computed once."""
        emitter = ElementalEmitter(builder, lanes, self.bindings)
        with contracting(builder.module, self.contracts):
            return [[emitter.emit(operand, index, mask) for operand in self.operands] for index in places]


Store = Callable[[Index, list[RegisterValue], int, "ir.Value | None"], None]


def reduce_loops(
    builder: ir.IRBuilder,
    reduction: Reduction,
    remaining: list[int],
    index: dict[int, Component],
    values: list[RegisterValue],
    body: Callable[[dict[int, Component], list[RegisterValue]], list[RegisterValue]],
    bounds: tuple[Base, Base] | None = None,
) -> list[RegisterValue]:
    """Loops over the remaining reduced dimensions, the values carried through all of them; over the first within bounds."""
    if not remaining:
        return body(index, values)
    dimension, *inner = remaining

    def iteration(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        return reduce_loops(builder, reduction, inner, {**index, dimension: Affine(number)}, carried, body)

    size = reduction.dimensions[dimension]
    start, stop = bounds or (0, reduction.stops.get(dimension, size))
    if is_divided(reduction, dimension) and bounds is None:
        start, stop, size = piece_bounds(builder, size)
    return carried_loop(builder, start, stop, 1, values, iteration, "reduce", None if bounds else size)


def is_divided(reduction: Reduction, dimension: int) -> bool:
    """Whether each piece reduces a part of this dimension."""
    return reduction.divided and dimension == reduction.reduced[0]


def stops_of_kept(reduction: Reduction, dimensions: Sequence[int] | None = None) -> dict[int, ir.Value]:
    """Where the loops over kept dimensions, by default all of these, stop, by their number."""
    kept = reduction.kept if dimensions is None else dimensions
    return {number: reduction.stops[d] for number, d in enumerate(kept) if d in reduction.stops}


def identity_of(reduction: Reduction) -> bool | int | float | complex | None:
    """The number that the reduction combines with any other to that one, where it applies one operation that has one."""
    operation = reduction.to_apply.combining_operation
    return None if operation is None else operation.identity(reduction.operands[0].shape.element_type)


def splat_identity(element_type: ElementType, identity: float | complex, lanes: int) -> RegisterValue:
    scalar = scalar_register_type(element_type)
    type_ = vector_of(scalar, lanes)
    if element_type.is_complex:
        whole = complex(identity)
        return ComplexValue(constant(type_, whole.real), constant(type_, whole.imag))
    if element_type.is_float:
        return constant(type_, identity)
    return integer_constant(type_, int(identity))


def is_sum_of_floats(reduction: Reduction) -> bool:
    """Whether the rounding errors of a reduction can be kept, and added at its end."""
    is_float = reduction.operands[0].shape.element_type.is_float
    return is_float and reduction.to_apply.combining_operation is ADD and identity_of(reduction) is not None


def with_positions_in_order(reduction: Reduction, along: int) -> Computation:
    """What is applied to elements and others behind them along a reduced dimension: the former have the lower positions.

    Positions are the operands that count along this dimension.
    """
    operands = reduction.operands
    counting = {
        number
        for number, operand in enumerate(operands)
        if operand.opcode == "iota"
        and operand.attributes["iota_dimension"] == along
        and operand.shape.element_type in (S32, S64)
    }

    def is_known(instruction: Instruction) -> bool:
        if instruction.opcode != "compare" or instruction.attributes["direction"] != "LT":
            return False
        first, second = (one.attributes.get("number", -1) if one.opcode == "parameter" else -1 for one in instruction.operands)
        return first in counting and second == first + len(operands)

    def decided(instruction: Instruction, inputs: tuple[Instruction, ...]) -> Instruction:
        if instruction.opcode == "select" and is_known(instruction.operands[0]):
            return inputs[1]
        if is_known(instruction):
            return make_instruction("constant", (), {"literal": np.array(True)}, instruction.shape)
        return instruction if inputs == instruction.operands else instruction.with_operands(inputs)

    return rebuild(reduction.to_apply, decided) if counting else reduction.to_apply


def extremum_of_floats(reduction: Reduction) -> Extremum | None:
    """How the largest or the smallest float is found, where the reduction does that."""
    operation = reduction.to_apply.combining_operation
    if operation not in (MAXIMUM, MINIMUM) or reduction.operands[0].shape.element_type not in (F32, F64):
        return None
    return Extremum(operation is MAXIMUM)


class Extremum(NamedTuple):
    """The largest or smallest of floats, with NaN and the order of zeros as in HLO, in fewer instructions than `combine` takes.

    Processors compare -0 and +0 as equal, so that one of them is left, the first one. Beside it stands what the signs of all
    elements have in common: where the extremum is a zero, that tells which zero it is.
    """

    is_largest: bool

    def begin(self, builder: ir.IRBuilder, first: ir.Value) -> list[ir.Value]:
        return [first, to_bits(builder, first)]

    def step(self, builder: ir.IRBuilder, best: ir.Value, signs: ir.Value, element: ir.Value, bits: ir.Value) -> list[ir.Value]:
        """With an element and its bits, or with the extremum of others and their signs."""
        b = builder
        is_better = b.fcmp_ordered(">" if self.is_largest else "<", element, best)
        best = b.select(is_better, element, best)
        # Drivers make one choice by either condition of two choices of the same value, which takes longer than the larger one.
        nan = b.fadd(element, element) if lacks(b.module, "extrema") else element
        best = b.select(b.fcmp_unordered("uno", element, element), nan, best)
        return [best, b.and_(signs, bits) if self.is_largest else b.or_(signs, bits)]

    def finish(self, builder: ir.IRBuilder, best: ir.Value, signs: ir.Value) -> ir.Value:
        b, width = builder, getattr(signs.type, "element", signs.type).width
        sign = b.and_(signs, integer_constant(signs.type, 1 << (width - 1)))
        is_zero = b.fcmp_ordered("==", best, constant(best.type, 0.0))
        return b.select(is_zero, from_bits(b, sign, best.type), best)


class Fold:
    """Elements taken into results one after the other, in as many ``lanes``; what is carried on is `width` registers.

    ``in_order`` is a reduced dimension along which all elements lie in the order in which they come.
    """

    def __init__(self, builder: ir.IRBuilder, reduction: Reduction, lanes: int, in_order: int | None = None) -> None:
        self._builder, self._reduction, self._lanes = builder, reduction, lanes
        self._extremum = extremum_of_floats(reduction)
        self._to_apply = reduction.to_apply if in_order is None else with_positions_in_order(reduction, in_order)
        self.width = reduction.count if self._extremum is None else 2

    def begin(self, first: list[RegisterValue]) -> list[RegisterValue]:
        return first if self._extremum is None else self._extremum.begin(self._builder, *first)

    def step(self, state: list[RegisterValue], elements: list[RegisterValue]) -> list[RegisterValue]:
        if self._extremum is None:
            return self._reduction.applied(self._builder, self._to_apply, [*state, *elements], self._lanes)
        return self._extremum.step(self._builder, *state, *self._extremum.begin(self._builder, *elements))

    def merged(self, state: list[RegisterValue], other: list[RegisterValue]) -> list[RegisterValue]:
        """What is carried for the elements of both, which may lie in any order."""
        if self._extremum is None:
            return self._reduction.combine(self._builder, state, other, self._lanes)
        return self._extremum.step(self._builder, *state, *other)

    def finish(self, state: list[RegisterValue]) -> list[RegisterValue]:
        return state if self._extremum is None else [self._extremum.finish(self._builder, *state)]


def begins_with_elements(reduction: Reduction) -> bool:
    """Whether no identity is known, and there is one reduced dimension: its first elements may take the place of one."""
    return identity_of(reduction) is None and len(reduction.reduced) == 1 and reduction.reduced[0] not in reduction.stops


def combined_in_order(
    builder: ir.IRBuilder, reduction: Reduction, count: int, load: Callable[[Base], list[RegisterValue]], lanes: int
) -> list[RegisterValue]:
    """So many results of parts, one after the other; of sums of floats with the rounding errors kept."""

    def combine(number: ir.Value, totals: list[RegisterValue]) -> list[RegisterValue]:
        return reduction.combine(builder, totals, load(number), lanes)

    def add(number: ir.Value, state: list[RegisterValue]) -> list[RegisterValue]:
        return add_with_error(builder, *state, *load(number))

    if not is_sum_of_floats(reduction):
        return carried_loop(builder, 1, count, 1, load(0), combine, "parts")
    zero = splat_identity(reduction.operands[0].shape.element_type, 0.0, lanes)
    return [finish_compensation(builder, *carried_loop(builder, 1, count, 1, [*load(0), zero], add, "parts"))]


def in_groups(values: list[RegisterValue], count: int) -> list[list[RegisterValue]]:
    return [values[start : start + count] for start in range(0, len(values), count)]


def add_with_error(builder: ir.IRBuilder, total: RegisterValue, error: RegisterValue, value: RegisterValue) -> list[ir.Value]:
    """The total with the value added, and the sum of the rounding errors so far."""
    total, rounded_off = two_sum(builder, total, value)
    return [total, builder.fadd(error, rounded_off)]


def finish_compensation(builder: ir.IRBuilder, total: ir.Value, compensation: ir.Value) -> ir.Value:
    """The compensated sum; where the sum is not finite its error is not a number and is left out."""
    magnitude = intrinsic(builder, "fabs", total)
    finite = builder.fcmp_ordered("<", magnitude, constant(total.type, inf))
    # Nothing is added where there was no error: it would turn -0 into +0.
    needed = builder.fcmp_unordered("!=", compensation, constant(total.type, 0.0))
    return builder.select(builder.and_(finite, needed), builder.fadd(total, compensation), total)
