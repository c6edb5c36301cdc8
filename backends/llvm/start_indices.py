"""Start indices of gathers and scatters in registers."""

from __future__ import annotations

from llvmlite import ir

from ...hlo import U64, ElementType
from . import index as indices
from .index import Affine, Component
from .known_ranges import known_range
from .types import I64, integer_constant, vector_of


def widened(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """An index (or a vector of them) as i64; what does not fit, in unsigned 64 bits, is the largest i64."""
    lanes = value.type.count if isinstance(value.type, ir.VectorType) else 1
    wide = vector_of(I64, lanes)
    if element_type is U64:
        largest = integer_constant(wide, 2**63 - 1)
        return builder.select(builder.icmp_unsigned(">", value, largest), largest, value)
    if value.type == wide:
        return value
    return (builder.sext if element_type.kind == "signed" else builder.zext)(value, wide)


def clamped(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value, last: int) -> ir.Value:
    """The index as i64, moved into [0, last]."""
    least, largest = known_range(value) or (0 if element_type.kind == "unsigned" else -1, last + 1)
    value = widened(builder, element_type, value)
    if largest > last:
        highest = integer_constant(value.type, last)
        value = builder.select(builder.icmp_signed(">", value, highest), highest, value)
    if least >= 0:
        return value
    lowest = integer_constant(value.type, 0)
    return builder.select(builder.icmp_signed("<", value, lowest), lowest, value)


def moved(builder: ir.IRBuilder, component: Component, start: ir.Value, lanes: int) -> Component:
    """The component plus a start, which is the same in all lanes where it is a scalar."""
    if not isinstance(start.type, ir.VectorType):
        return indices.add(builder, component, start)
    if isinstance(component, Affine) and component.stride == 0:
        return indices.add(builder, start, component.base)
    return builder.add(start, indices.as_vector(builder, component, lanes))
