"""How element types look in registers and in memory.

In registers a pred is an i1; floats of at most 16 bits are carried as float, integers below 8 bits as i8, and both are rounded
to their type after every operation; a complex number is a pair of floats. In memory every type has the layout of its NumPy
dtype. A register holds one element or, with lanes above 1, a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from llvmlite import ir

from ...hlo import BF16, F16, ElementType, component_type
from . import small_types
from .arithmetic import constant as splat
from .builder import IntegerType, undefined, vector_type
from .module import converts_halves
from .small_types import is_small_float, is_small_integer

I1, I8, I16, I32, I64 = (IntegerType(bits) for bits in (1, 8, 16, 32, 64))
FLOAT, DOUBLE, HALF = ir.FloatType(), ir.DoubleType(), ir.HalfType()
POINTER = ir.PointerType()


class ComplexValue(NamedTuple):
    """A complex number in registers."""

    real: ir.Value
    imag: ir.Value


RegisterValue = ir.Value | ComplexValue


def flatten(values: Sequence[RegisterValue]) -> list[ir.Value]:
    """The registers, a complex number as its two parts."""
    flat: list[ir.Value] = []
    for value in values:
        flat.extend(value) if isinstance(value, ComplexValue) else flat.append(value)
    return flat


def unflatten(flat: Sequence[ir.Value], like: Sequence[RegisterValue]) -> list[RegisterValue]:
    following = iter(flat)
    return [
        ComplexValue(next(following), next(following)) if isinstance(value, ComplexValue) else next(following) for value in like
    ]


def selected(builder: ir.IRBuilder, condition: ir.Value, on_true: RegisterValue, on_false: RegisterValue) -> RegisterValue:
    """One of two values, by a condition for all lanes or for each; of complex numbers both parts."""
    if isinstance(on_true, ComplexValue):
        return ComplexValue(*(builder.select(condition, t, f) for t, f in zip(on_true, on_false)))
    return builder.select(condition, on_true, on_false)


TOKEN_VALUE = I1(0)
"""A token in a register: it orders effects, which stand in their order in the code, and holds nothing."""


def check_supported(element_type: ElementType) -> None:
    """Raise NotImplementedError for the element types that have no native code."""
    if element_type.kind not in ("pred", "signed", "unsigned", "float", "complex", "token"):
        raise NotImplementedError(f"element type {element_type.name} has no native code; the reference backend runs it")


def is_narrow_float(element_type: ElementType) -> bool:
    """Whether values are carried as float and rounded after each operation."""
    return element_type.is_float and element_type.bits <= 16


def is_narrow(element_type: ElementType) -> bool:
    """Whether values are carried in a wider register and rounded, or wrapped, after each operation."""
    return is_narrow_float(element_type) or is_small_integer(element_type)


@cache
def scalar_register_type(element_type: ElementType) -> ir.Type:
    """The LLVM type of one element in a register; for a complex type, of one of its parts."""
    check_supported(element_type)
    element_type = component_type(element_type)
    if element_type.kind in ("pred", "token"):
        return I1
    if element_type.is_float:
        return DOUBLE if element_type.bits == 64 else FLOAT
    return ir.IntType(max(8, element_type.bits))


def register_type(element_type: ElementType, lanes: int) -> ir.Type:
    scalar = scalar_register_type(element_type)
    return scalar if lanes == 1 else vector_type(scalar, lanes)


@cache
def memory_type(element_type: ElementType) -> ir.Type:
    """The LLVM type of one element in memory; for a complex type, of one of its parts."""
    element_type = component_type(element_type)
    if element_type.kind == "pred" or is_small_float(element_type):
        return I8
    if is_narrow_float(element_type):
        return HALF if element_type is F16 else I16
    return scalar_register_type(element_type)


def part_size(scalar: ir.Type) -> int:
    """Bytes of a memory type."""
    return {"half": 2, "float": 4, "double": 8}.get(str(scalar)) or scalar.width // 8


@cache
def register_bytes(element_type: ElementType) -> int:
    """Bytes that one element occupies in a vector register."""
    if is_narrow_float(element_type):
        return 4
    return max(1, component_type(element_type).bits // 8)


def vector_of(scalar: ir.Type, lanes: int) -> ir.Type:
    return scalar if lanes == 1 else vector_type(scalar, lanes)


def vector_of_values(builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
    """Values side by side in one register; a single one as it is."""
    if len(values) == 1:
        return values[0]
    vector = undefined(vector_type(values[0].type, len(values)))
    for lane, value in enumerate(values):
        vector = builder.insert_element(vector, value, I32(lane))
    return vector


def lane_values(builder: ir.IRBuilder, value: RegisterValue) -> list[RegisterValue]:
    """The values in the lanes of a vector; of what is none, itself."""
    if isinstance(value, ComplexValue):
        return [ComplexValue(*parts) for parts in zip(*[lane_values(builder, part) for part in value])]
    if not isinstance(value.type, ir.VectorType):
        return [value]
    return [builder.extract_element(value, I32(lane)) for lane in range(value.type.count)]


def type_suffix(type_: ir.Type) -> str:
    """How the names of LLVM's intrinsics spell a type, as in ``llvm.ctpop.v8i32``."""
    scalar = type_.element if isinstance(type_, ir.VectorType) else type_
    spelled = {HALF: "f16", FLOAT: "f32", DOUBLE: "f64"}.get(scalar) or str(scalar)
    return f"v{type_.count}{spelled}" if isinstance(type_, ir.VectorType) else spelled


def integer_constant(type_: ir.Type, value: int) -> ir.Constant:
    """The constant in every lane."""
    return splat(type_, value)


def from_memory(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """A loaded value (or vector) as it is carried in registers."""
    lanes = value.type.count if isinstance(value.type, ir.VectorType) else 1
    if element_type.kind == "pred":
        return builder.icmp_unsigned("!=", value, splat(value.type, 0))
    if element_type is F16:
        if converts_halves(builder.module):
            return builder.fpext(value, vector_of(FLOAT, lanes))
        return small_types.decode(builder, element_type, builder.bitcast(value, vector_of(I16, lanes)))
    if element_type is BF16:
        wide = vector_of(I32, lanes)
        shifted = builder.shl(builder.zext(value, wide), splat(wide, 16))
        return builder.bitcast(shifted, vector_of(FLOAT, lanes))
    if is_small_float(element_type):
        return small_types.decode(builder, element_type, value)
    if is_small_integer(element_type):
        return small_types.wrap(builder, element_type, value)
    return value


def to_memory(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """A register value (or vector), already rounded to its type, as it is stored."""
    lanes = value.type.count if isinstance(value.type, ir.VectorType) else 1
    if element_type.kind == "pred":
        return builder.zext(value, vector_of(I8, lanes))
    if element_type is F16:
        half = vector_of(HALF, lanes)
        if converts_halves(builder.module):
            return builder.fptrunc(value, half)
        return builder.bitcast(small_types.encode(builder, element_type, value), half)
    if element_type is BF16:
        bits = builder.bitcast(value, vector_of(I32, lanes))
        return builder.trunc(builder.lshr(bits, splat(bits.type, 16)), vector_of(I16, lanes))
    if is_small_float(element_type):
        return small_types.encode(builder, element_type, value)
    if is_small_integer(element_type):
        return small_types.low_bits(builder, element_type, value)
    return value


def round_to_type(builder: ir.IRBuilder, element_type: ElementType, value: ir.Value) -> ir.Value:
    """A register of a narrow type rounded to nearest even, or wrapped, to what the type can hold; others as they are."""
    if element_type is F16:
        return from_memory(builder, element_type, to_memory(builder, element_type, value))
    if element_type is BF16:
        lanes = value.type.count if isinstance(value.type, ir.VectorType) else 1
        bits = builder.bitcast(value, vector_of(I32, lanes))
        odd = builder.and_(builder.lshr(bits, splat(bits.type, 16)), splat(bits.type, 1))
        rounded = builder.add(bits, builder.add(odd, splat(bits.type, 0x7FFF)))
        # Rounding up the payload of a NaN could carry into the sign: keep a quiet NaN instead.
        quiet = builder.or_(bits, splat(bits.type, 0x400000))
        is_nan = builder.fcmp_unordered("uno", value, value)
        kept = builder.and_(builder.select(is_nan, quiet, rounded), splat(bits.type, 0xFFFF0000))
        return builder.bitcast(kept, value.type)
    if is_small_float(element_type):
        return small_types.decode(builder, element_type, small_types.encode(builder, element_type, value))
    if is_small_integer(element_type):
        return small_types.wrap(builder, element_type, value)
    return value


def broadcast_lanes(builder: ir.IRBuilder, value: RegisterValue, lanes: int) -> RegisterValue:
    """A scalar in every lane of a vector."""
    if isinstance(value, ComplexValue):
        return ComplexValue(broadcast_lanes(builder, value.real, lanes), broadcast_lanes(builder, value.imag, lanes))
    if lanes == 1 or isinstance(value.type, ir.VectorType):
        return value
    if isinstance(value, ir.Constant) and not isinstance(value.constant, str):
        return splat(vector_type(value.type, lanes), value.constant)
    vector = vector_type(value.type, lanes)
    first = builder.insert_element(undefined(vector), value, I32(0))
    return builder.shuffle_vector(first, undefined(vector), _first_lane(lanes))


def broadcast_scalar(vector: ir.Value) -> ir.Value | None:
    """What `broadcast_lanes` has made a vector of; None where it has not."""
    if not isinstance(vector, ir.instructions.ShuffleVector):
        return None
    first, _, lanes = vector.operands
    is_broadcast = isinstance(first, ir.instructions.InsertElement) and lanes is _first_lane(lanes.type.count)
    return first.operands[1] if is_broadcast else None


@cache
def _first_lane(lanes: int) -> ir.Constant:
    return ir.Constant(vector_type(I32, lanes), [0] * lanes)


def lane_numbers(integer: ir.Type, lanes: int, stride: int = 1) -> ir.Constant:
    """The vector 0, stride, 2 * stride, ..."""
    return ir.Constant(vector_type(integer, lanes), [integer(lane * stride) for lane in range(lanes)])
