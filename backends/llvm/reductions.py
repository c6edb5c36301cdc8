"""What reductions of rows and of columns share: the record of what is reduced, loops, identities, compensated sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod

from llvmlite import ir

from ...compile.fused_computations import result_roots
from ...hlo import Computation, ElementType, Instruction
from ...hlo.ops.elementwise import ADD
from .arithmetic import constant, intrinsic
from .elemental import Binding, ElementalEmitter
from .elementary.double_double import two_sum
from .index import Affine, Base, Component, Index
from .loops import carried_loop
from .scalar_computations import emit_scalar_computation
from .types import ComplexValue, RegisterValue, integer_constant, scalar_register_type


@dataclass(frozen=True)
class Reduction:
    """What is reduced, and how.

    ``producers`` computes the operands (its root, or the elements of its root tuple) from ``arguments``; ``init_values``
    are scalar registers; ``reduced`` are the reduced dimensions, in order. ``stops`` says of some dimensions behind which size
    nothing is needed, or changes the result.
    """

    producers: Computation
    arguments: list[Binding]
    init_values: list[RegisterValue]
    reduced: tuple[int, ...]
    to_apply: Computation
    stops: Mapping[int, ir.Value] = field(default_factory=dict)

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
        return emit_scalar_computation(builder, self.to_apply, [*accumulators, *elements], lanes)

    def elements(self, builder: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None = None) -> list[RegisterValue]:
        emitter = ElementalEmitter(builder, lanes, self.bindings)
        return [emitter.emit(operand, index, mask) for operand in self.operands]


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
    return carried_loop(builder, start, stop, 1, values, iteration, "reduce", None if bounds else size)


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
    type_ = scalar if lanes == 1 else ir.VectorType(scalar, lanes)
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
