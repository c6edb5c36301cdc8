"""Every operation as a plain function: ``hlo.add(x, 1)``, ``hlo.transpose(x, (1, 0))``, ``hlo.reduce(x, zero, ...)``.

A function is named as its opcode, with underscores (``hlo.and_``, ``hlo.while_`` where Python has the word). It takes the
operands and then the attributes, by name or, where the number of operands is fixed, in the record's order; the record infers
the shape, or ``shape=`` states it. Elementwise operations take numbers beside instructions. Those below take their arguments in
another way, which saves their callers some arithmetic.

The instruction becomes part of the `phlox.hlo.Builder` whose ``with`` block is running, and has its source location; outside of
any it stands alone, for `phlox.hlo.rebuild` to put into a computation.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .builder import Builder, Where, current
from .element_type import PRED, ElementType
from .errors import require
from .instruction import Computation, Instruction, complete_attributes
from .operation import ELEMENTWISE, OPERATIONS, Operation
from .ops.reshaping import reshaped_dynamic_dimensions
from .shape import AnyShape, Shape


def emit(opcode: str, *operands: Any, shape: AnyShape | None = None, **attributes: Any) -> Instruction:
    """The operation of this opcode, where it is known at run time only.

    >>> from phlox.hlo import F32
    >>> emit("negate", constant(2.0, F32))
    <f32[] negate(%constant)>
    """
    return current.builder.emit(opcode, *operands, shape=shape, **attributes)


def computation(
    name: str, shapes: Iterable[AnyShape], body: Callable[..., Instruction], where: Where | None = None
) -> Computation:
    """The computation of parameters of these shapes that ``body(*parameters)`` writes; its result is what that returns.

    >>> from phlox.hlo import S32
    >>> computation("below_ten", [Shape(S32)], lambda count: lt(count, 10))
    <computation below_ten: (s32[]) -> pred[]>
    """
    builder = Builder(name, where)
    with builder:
        return builder.build(body(*[builder.parameter(shape) for shape in shapes]))


def append(instruction: Instruction) -> Instruction:
    """An instruction that is made already, as the next one."""
    return current.builder.append(instruction)


def parameter(shape: AnyShape, name: str = "") -> Instruction:
    """The next parameter of the computation."""
    return current.builder.parameter(shape, name)


def constant(value: Any, element_type: ElementType | None = None) -> Instruction:
    """A constant array; the dtype of value decides the element type unless one is given.

    Arrays and NumPy's scalars are converted to it as ``astype`` does. Raises OverflowError for a Python int that does not fit.
    """
    return current.builder.constant(value, element_type)


def full(shape: Shape, value: Any) -> Instruction:
    """Equal elements in this type and these dimensions; the value is a number, or a scalar instruction of any type.

    >>> from phlox.hlo import F32
    >>> full(Shape(F32, (3,)), 2)
    <f32[3] broadcast(%constant)>
    """
    scalar = value if isinstance(value, Instruction) else constant(value, shape.element_type)
    return broadcast(scalar, shape.dimensions, ()) if shape.dimensions else scalar


def full_like(x: Instruction, value: Any) -> Instruction:
    """As `full`, in the type and the dimensions of x."""
    return full(x.shape, value)


# --- types and shapes ---


def convert(operand: Instruction, element_type: ElementType) -> Instruction:
    """The operand in this element type; itself where it has it already."""
    if operand.shape.element_type is element_type:
        return operand
    return emit("convert", operand, shape=operand.shape.without_layout().with_element_type(element_type))


def bitcast_convert(operand: Instruction, element_type: ElementType) -> Instruction:
    """The bits as this element type; a narrower one adds a dimension at the end, a wider one takes the last one away."""
    old, sizes = operand.shape.element_type, operand.shape.dimensions
    if old.bits > element_type.bits:
        sizes = (*sizes, old.bits // element_type.bits)
    elif old.bits < element_type.bits:
        sizes = sizes[:-1]
    return emit("bitcast-convert", operand, shape=Shape(element_type, sizes))


def reshape(operand: Instruction, dimensions: Sequence[int]) -> Instruction:
    """The operand's elements in these dimensions; itself where it has them already."""
    dimensions = tuple(dimensions)
    if operand.shape.dimensions == dimensions:
        return operand
    dynamic = reshaped_dynamic_dimensions(operand.shape, dimensions) if operand.shape.dynamic_dimensions else ()
    return emit("reshape", operand, shape=operand.shape.with_dimensions(dimensions, dynamic))


def broadcast(operand: Instruction, dimensions: Sequence[int], broadcast_dimensions: Sequence[int]) -> Instruction:
    """The operand's dimension i becomes dimension broadcast_dimensions[i] of the result's dimensions."""
    dynamic = [False] * len(dimensions) if operand.shape.dynamic_dimensions else []
    for position, dimension in enumerate(broadcast_dimensions if dynamic else ()):
        dynamic[dimension] = operand.shape.is_dynamic(position)
    shape = operand.shape.with_dimensions(tuple(dimensions), dynamic)
    return emit("broadcast", operand, shape=shape, dimensions=tuple(broadcast_dimensions))


def broadcast_in_dim(operand: Instruction, dimensions: Sequence[int], broadcast_dimensions: Sequence[int]) -> Instruction:
    """As broadcast, but operand dimensions of size 1 are stretched too; the operand itself where nothing changes."""
    dimensions, source = tuple(dimensions), operand.shape.dimensions
    if source == dimensions and tuple(broadcast_dimensions) == tuple(range(len(dimensions))):
        return operand
    kept = [i for i, size in enumerate(source) if size == dimensions[broadcast_dimensions[i]]]
    squeezed = reshape(operand, [source[i] for i in kept]) if len(kept) < len(source) else operand
    return broadcast(squeezed, dimensions, [broadcast_dimensions[i] for i in kept])


def iota(shape: Shape, iota_dimension: int) -> Instruction:
    """0, 1, 2, ... along one dimension."""
    return emit("iota", shape=shape, iota_dimension=iota_dimension)


def slice(
    operand: Instruction, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Instruction:
    """The elements from the start indices up to the limits, each stride-th."""
    strides = [1] * len(start_indices) if strides is None else strides
    return emit("slice", operand, slice=list(zip(start_indices, limit_indices, strides, strict=True)))


# --- comparisons, complex numbers, products ---


def _comparison(direction: str, type: str = "") -> Callable[[Any, Any], Instruction]:
    return lambda x, y: compare(x, y, direction=direction, type=type)


eq, ne, lt, le, gt, ge = map(_comparison, ("EQ", "NE", "LT", "LE", "GT", "GE"))


def conjugate(x: Instruction) -> Instruction:
    """The complex conjugate; a real number is its own."""
    if not x.shape.element_type.is_complex:
        return x
    return emit("complex", emit("real", x), emit("negate", emit("imag", x)))


def dot(
    lhs: Instruction, rhs: Instruction, preferred_element_type: ElementType | None = None, **dimension_numbers: Any
) -> Instruction:
    """``dot(x, y, lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(0,))``, with a result of the preferred type."""
    return in_preferred_type("dot", (lhs, rhs), preferred_element_type, dimension_numbers)


def in_preferred_type(
    opcode: str, operands: tuple[Instruction, ...], element_type: ElementType | None, attributes: dict[str, Any]
) -> Instruction:
    """A product whose result has an element type of its own; by default that of the operands."""
    if element_type is None:
        return emit(opcode, *operands, **attributes)
    record = OPERATIONS[opcode]
    shapes = tuple([operand.shape for operand in operands])
    completed = complete_attributes(record, attributes)
    return emit(opcode, *operands, shape=record.infer_shape(shapes, completed, Shape(element_type)), **completed)


# --- all the others ---


def function_name(opcode: str) -> str:
    """
    >>> function_name("dynamic-update-slice"), function_name("and")
    ('dynamic_update_slice', 'and_')
    """
    name = opcode.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def arguments_of(
    record: Operation, arguments: tuple[Any, ...], attributes: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands and attributes, from operands that attributes follow in the record's order. Raises ShapeError."""
    count = record.fixed_operand_count
    if count is None or len(arguments) <= count or len(arguments) > count + len(record.attributes):
        return arguments, attributes  # of which too many are an error about their number
    positional = dict(zip(record.attributes, arguments[count:]))
    repeated = ", ".join(attributes.keys() & positional.keys())
    require(not repeated, f"{record.opcode}: {repeated} given twice")
    return arguments[:count], {**positional, **attributes}


def _function(record: Operation) -> Callable[..., Instruction]:
    opcode, count = record.opcode, record.fixed_operand_count
    takes_numbers = ELEMENTWISE in record.traits and count != 1

    def write(*operands: Any, shape: AnyShape | None = None, **attributes: Any) -> Instruction:
        if count is not None and len(operands) > count:
            operands, attributes = arguments_of(record, operands, attributes)
        if takes_numbers:
            for operand in operands:
                if not isinstance(operand, Instruction):
                    operands = _with_constants(record, operands)
                    break
        return current.builder.emit(opcode, *operands, shape=shape, **attributes)

    write.__name__ = write.__qualname__ = function_name(opcode)
    write.__doc__ = record.documentation
    return write


def _with_constants(record: Operation, operands: tuple[Any, ...]) -> list[Instruction]:
    """The operands with constants, in the type and the dimensions of the others, for numbers."""
    like = next((x for x in reversed(operands) if isinstance(x, Instruction) and x.shape.element_type is not PRED), None)
    if like is None:
        like = next((x for x in reversed(operands) if isinstance(x, Instruction)), None)
    if like is None:
        raise TypeError(f"{record.opcode}: one of the operands at least must be an instruction, got {operands}")
    return [x if isinstance(x, Instruction) else full_like(like, x) for x in operands]


# By opcode, those that are defined above among them.
FUNCTIONS: dict[str, Callable[..., Instruction]] = {
    opcode: globals().get(function_name(opcode)) or _function(record) for opcode, record in OPERATIONS.items()
}
compare = FUNCTIONS["compare"]
