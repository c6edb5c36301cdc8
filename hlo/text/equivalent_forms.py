"""Instructions that XLA takes and no record does, as several that mean the same.

Mixed precision: float types may differ among operands, result and called computations. XLA's compilers insert the conversions
(``FloatNormalization``): what is computed is computed in a type that holds all of them. Products of floats may be summed to
integers, and a reduction may return a tuple of one.
Source: ``ShapeVerifier::CheckShape`` and ``SameElementTypeIgnoringFpPrecision`` (``xla/service/hlo_verifier.cc``), and
``HigherPrecisionType`` (``xla/primitive_util.cc``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ml_dtypes

from ..element_type import F32, F64, ElementType
from ..errors import HloError
from ..instruction import Computation, Instruction, make_instruction, tuple_of
from ..operation import Operation
from ..shape import AnyShape, Shape, TupleShape, leaves

# What reinterprets or hands on values: its result has the operands' types.
_STRICT = frozenset({
    "async-done", "async-start", "async-update", "bitcast", "bitcast-convert", "call", "conditional", "constant", "convert",
    "copy-done", "copy-start", "custom-call", "get-tuple-element", "infeed", "opt-barrier", "outfeed", "parameter", "recv",
    "recv-done", "send", "send-done", "stochastic-convert", "tuple", "while",
})  # fmt: skip
# Computations on single elements, which are adapted to the type.
_ELEMENT_COMPUTATIONS = ("to_apply", "select", "scatter")
_PRODUCTS = frozenset({"dot", "convolution", "ragged-dot"})

Make = Callable[[Iterable[Instruction], Mapping[str, Any], "AnyShape | None"], Instruction]


def equivalent(
    record: Operation,
    operands: tuple[Instruction, ...],
    attributes: Mapping[str, Any],
    stated: AnyShape | None,
    name: str,
    make: Make,
    added: list[Instruction],
) -> Instruction | None:
    """The last of the instructions that mean the same, the others being added; None where there are none.

    ``make`` builds the operation itself.
    """
    if record.opcode in _STRICT:
        return None
    for form in (_tuple_of_one, _converted_sums, _in_one_precision):
        mine: list[Instruction] = []
        try:
            result = form(record, operands, attributes, stated, name, make, mine)
        except (HloError, NotImplementedError):
            continue
        if result is not None:
            added += mine
            return result
    return None


def _tuple_of_one(
    record: Operation, operands: tuple[Instruction, ...], attributes: Mapping[str, Any], stated: AnyShape | None, name: str,
    make: Make, added: list[Instruction],
) -> Instruction | None:  # fmt: skip
    """``(f32[]) reduce(x, zero)``, by a computation that returns a tuple of one -> ``tuple(reduce(x, zero))``"""
    to_apply = attributes.get("to_apply")
    if record.opcode != "reduce" or len(operands) != 2 or not isinstance(to_apply, Computation):
        return None
    if not to_apply.shape.is_tuple or len(to_apply.shape.elements) != 1:
        return None
    if stated is not None and not (stated.is_tuple and len(stated.elements) == 1):
        return None
    instructions = _copied(to_apply)
    root = make_instruction("get-tuple-element", (instructions[to_apply.root],), {"index": 0})
    single = Computation(to_apply.name, (*instructions.values(), root), root)
    shape = None if stated is None else stated.elements[0]
    attributes = {**attributes, "to_apply": single}
    try:
        reduction = make(operands, attributes, shape)
    except HloError:
        found = _in_one_precision(record, operands, attributes, shape, name, make, added)
        if found is None:
            return None
        reduction = found
    added.append(_unnamed(reduction))
    return make_instruction("tuple", (reduction,), {}, stated, name)


def _converted_sums(
    record: Operation, operands: tuple[Instruction, ...], attributes: Mapping[str, Any], stated: AnyShape | None, name: str,
    make: Make, added: list[Instruction],
) -> Instruction | None:  # fmt: skip
    """``s32[] dot(x, y)`` of floats -> ``convert(dot(x, y))``: sums in the operands' type, then converted"""
    if record.opcode not in _PRODUCTS or stated is None or stated.is_tuple or len(operands) < 2:
        return None
    types = [operand.shape.element_type for operand in operands[:2] if not operand.shape.is_tuple]
    if not any(t.is_float for t in types) or any(t.is_complex for t in types) or stated.element_type.is_float:
        return None
    sums = _higher(t for t in types if t.is_float)
    product = make(operands, attributes, stated.with_element_type(sums))
    added.append(_unnamed(product))
    return make_instruction("convert", (product,), {}, stated, name)


def _in_one_precision(
    record: Operation, operands: tuple[Instruction, ...], attributes: Mapping[str, Any], stated: AnyShape | None, name: str,
    make: Make, added: list[Instruction],
) -> Instruction | None:  # fmt: skip
    """Operands converted to a float type that holds all of them, the result converted to that stated."""
    computations = {key: attributes[key] for key in _ELEMENT_COMPUTATIONS if isinstance(attributes.get(key), Computation)}
    results = [] if stated is None else _floats(stated)
    inner = [t for computation in computations.values() for t in _types_of(computation)]
    outer = [t for operand in operands if not operand.shape.is_tuple for t in _floats(operand.shape)]
    if len({*outer, *inner, *results}) < 2:
        return None
    if record.opcode == "fusion" and isinstance(attributes.get("calls"), Computation):
        wanted: list[AnyShape] = list(attributes["calls"].parameter_shapes)
        if len(wanted) != len(operands):
            return None
        computed: AnyShape | None = attributes["calls"].shape
    else:
        common = F64 if F64 in {*outer, *inner, *results} else F32
        wanted = [operand.shape if operand.shape.is_tuple else _in_type(operand.shape, common) for operand in operands]
        attributes = {**attributes, **{key: _adapted(value, common) for key, value in computations.items()}}
        computed = None if stated is None else _in_type(stated, common)
    converted = [_converted(operand, shape, added) for operand, shape in zip(operands, wanted)]
    result = make(converted, attributes, stated if computed == stated else computed)
    if stated is None:
        stated = _in_type(result.shape, _higher([t for c in computations.values() for t in _floats(c.shape)] or outer))
    if _same_types(result.shape, stated):
        return result
    added.append(_unnamed(result))
    return _converted(result, stated, added, name)


def _higher(types: Iterable[ElementType]) -> ElementType:
    """XLA's choice among float types: that of the largest range, of those the one of the most digits."""

    def key(element_type: ElementType) -> tuple[int, int]:
        limits = ml_dtypes.finfo(element_type.dtype)
        return int(limits.maxexp), int(limits.nmant)

    return max(types, key=key)


def _floats(shape: AnyShape) -> list[ElementType]:
    return [leaf.element_type for leaf in leaves(shape) if leaf.element_type.is_float]


def _types_of(computation: Computation) -> list[ElementType]:
    return [t for shape in (*computation.parameter_shapes, computation.shape) for t in _floats(shape)]


def _in_type(shape: AnyShape, element_type: ElementType) -> AnyShape:
    """The shape with this type in the place of each float type."""
    if shape.is_tuple:
        return TupleShape(tuple(_in_type(element, element_type) for element in shape.elements))
    return shape.with_element_type(element_type) if shape.element_type.is_float else shape


def _same_types(first: AnyShape, second: AnyShape) -> bool:
    return [leaf.element_type for leaf in leaves(first)] == [leaf.element_type for leaf in leaves(second)]


def _converted(value: Instruction, shape: AnyShape, added: list[Instruction], name: str = "") -> Instruction:
    """The value in the float types of the shape. With a name it is the last instruction, else all are added.

    Raises HloError where more than float types differ.
    """
    if not name and _same_types(value.shape, shape):
        return value
    if shape.is_tuple:
        parts = []
        for index, element in enumerate(shape.elements):
            parts.append(make_instruction("get-tuple-element", (value,), {"index": index}))
            added.append(parts[-1])
            parts[-1] = _converted(parts[-1], element, added)
        result = make_instruction("tuple", parts, {}, shape, name)
    else:
        stated = shape if name else Shape(shape.element_type, value.shape.dimensions, None, value.shape.dynamic_dimensions)
        result = make_instruction("convert", (value,), {}, stated, name)
    if not name:
        added.append(result)
    return result


def _unnamed(instruction: Instruction) -> Instruction:
    """The instruction, whose name is that of the one that stands for it."""
    instruction.name = ""
    return instruction


def _copied(computation: Computation) -> dict[Instruction, Instruction]:
    """New instructions for those of a computation, by these."""
    copies: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        copies[instruction] = instruction.with_operands([copies[operand] for operand in instruction.operands])
    return copies


def _adapted(computation: Computation, element_type: ElementType) -> Computation:
    """The computation with this type in the place of each float type of parameters and result; it computes as before."""
    if all(t is element_type for t in _types_of(computation)):
        return computation
    values: dict[Instruction, Instruction] = {}
    instructions: list[Instruction] = []
    for instruction in computation.instructions:
        if instruction.opcode == "parameter":
            shape = _in_type(instruction.shape, element_type)
            parameter = make_instruction("parameter", (), instruction.attributes, shape, instruction.name)
            instructions.append(parameter)
            values[instruction] = _converted(parameter, instruction.shape, instructions)
        else:
            values[instruction] = instruction.with_operands([values[operand] for operand in instruction.operands])
            instructions.append(values[instruction])
    root = values[computation.root]
    if root.shape.is_tuple and root.opcode == "tuple":
        elements = [_converted(operand, _in_type(operand.shape, element_type), instructions) for operand in root.operands]
        root = make_instruction("tuple", elements, {}, tuple_of(elements), root.name)
        instructions.append(root)
    else:
        root = _converted(root, _in_type(root.shape, element_type), instructions)
    return Computation(computation.name, tuple(instructions), root)
