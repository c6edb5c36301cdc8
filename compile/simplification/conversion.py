"""Rules of conversions and copies."""

from __future__ import annotations

from ... import hlo
from ...hlo import F16, F32, F64, S8, S16, S32, S64, U8, U32, ElementType, Instruction, Layout, Shape
from .rule import f32, f64, pred, rule, s8, s32, u8, u32


def _converts(parameter, *types):
    def build():
        value = parameter(3)
        for element_type in types:
            value = hlo.emit("convert", value, shape=Shape(element_type, (3,)))
        return value

    return build


@rule("convert", fires=[_converts(f32, F32), _converts(s8, S8)], unchanged=_converts(f32, F64))
def convert_to_own_type(conversion: Instruction) -> Instruction | None:
    """convert(x) -> x, to the type it has"""
    x = conversion.operands[0]
    return x if x.shape.element_type is conversion.shape.element_type else None


@rule(
    "convert",
    fires=[
        _converts(s8, S32, S16), _converts(u8, S32, F32), _converts(f32, F64, F16), _converts(pred, S32, F32), _converts(s8,
        S64, U32),
        _converts(f32, F64, F32),
    ],
    unchanged=[
        _converts(f64, F32, F64), _converts(s32, F64, S8), _converts(s8, U8, S32), _converts(u32, S32, F32), _converts(f32,
        F64, S32),
    ],
)  # fmt: skip
def convert_of_convert(conversion: Instruction) -> Instruction | None:
    """convert(convert(x)) -> convert(x), where the inner one keeps every value and the outer one treats both types alike"""
    inner = conversion.operands[0]
    if inner.opcode != "convert":
        return None
    x = inner.operands[0]
    source, middle, target = x.shape.element_type, inner.shape.element_type, conversion.shape.element_type
    if not _keeps_values(source, middle):
        return None
    if source.kind == "pred":
        alike = True
    elif source.is_integer:
        alike = target.is_integer or (target.is_float and target.bits >= 32)
    else:
        alike = source.is_float and target.is_float
    return hlo.convert(x, target) if alike else None


_EXACT_FLOATS = {("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")}


def _keeps_values(source: ElementType, middle: ElementType) -> bool:
    """Whether every value of the one type is a value of the other, of the same kind (pred fits where there is a zero)."""
    if source.kind == "pred":
        return middle.kind in ("signed", "unsigned", "float", "complex") and middle.name != "f8e8m0fnu"
    if source.is_integer and middle.is_integer:
        if source.kind == middle.kind:
            return middle.bits >= source.bits
        return source.kind == "unsigned" and middle.bits > source.bits
    return (source.name, middle.name) in _EXACT_FLOATS


@rule(
    "bitcast-convert",
    fires=[
        lambda: hlo.bitcast_convert(f32(3), F32),
        lambda: hlo.bitcast_convert(hlo.bitcast_convert(f32(3), S32), U32),
    ],
    unchanged=lambda: hlo.bitcast_convert(f32(3), S32),
)
def bitcast_of_bitcast(bitcast: Instruction) -> Instruction | None:
    """bitcast-convert(x) -> x, to the type it has, and bitcast-convert(bitcast-convert(x)) -> bitcast-convert(x)"""
    inner = bitcast.operands[0]
    if inner.shape.element_type is bitcast.shape.element_type:
        return inner
    if inner.opcode != "bitcast-convert":
        return None
    x = inner.operands[0]
    if x.shape.dimensions != bitcast.shape.dimensions or x.shape.element_type.bits != bitcast.shape.element_type.bits:
        return None
    return hlo.emit("bitcast-convert", x, shape=bitcast.shape)


def _bitcast_back(minor_to_major):
    x = hlo.parameter(Shape(F32, (2, 3, 4), Layout((0, 2, 1))))
    in_memory = hlo.bitcast(x, shape=Shape(F32, (3, 4, 2)))
    sizes = (2, 3, 4) if minor_to_major == (0, 2, 1) else (3, 4, 2)
    return hlo.bitcast(in_memory, shape=Shape(F32, sizes, Layout(minor_to_major)))


@rule("bitcast", fires=lambda: _bitcast_back((0, 2, 1)), unchanged=lambda: _bitcast_back((2, 1, 0)))
def bitcast_back(bitcast: Instruction) -> Instruction | None:
    """bitcast(bitcast(x)) -> x, to the shape and layout that it has"""
    inner = bitcast.operands[0]
    if inner.opcode != "bitcast" or inner.operands[0].shape != bitcast.shape:
        return None
    return inner.operands[0]


@rule("copy", fires=lambda: hlo.copy(f32(2, 3)))
def copy_of_array(copy: Instruction) -> Instruction | None:
    """copy(x) -> x: values have no identity, buffers are planned later"""
    return copy.operands[0]


@rule(
    "reduce-precision",
    fires=lambda: hlo.reduce_precision(f32(3), exponent_bits=8, mantissa_bits=23),
    unchanged=lambda: hlo.reduce_precision(f32(3), exponent_bits=5, mantissa_bits=10),
)
def reduce_to_own_precision(operation: Instruction) -> Instruction | None:
    """reduce-precision(x) -> x, to the format it has or a wider one"""
    formats = {F16: (5, 10), F32: (8, 23), F64: (11, 52)}
    own = formats.get(operation.shape.element_type)
    if own is None:
        return None
    wide = operation.attributes["exponent_bits"] >= own[0] and operation.attributes["mantissa_bits"] >= own[1]
    return operation.operands[0] if wide else None
