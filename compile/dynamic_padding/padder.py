"""The builder of programs on padded arrays, and the table of what becomes of each operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ... import hlo
from ...hlo import PRED, S32, Builder, Computation, Instruction, Shape, SourceLocation, make_instruction
from ...hlo.dynamic_evaluation import equal_places, is_dynamic
from ...hlo.operation import ELEMENTWISE
from ...hlo.shape import AnyShape, has_dynamic_dimensions


@dataclass(frozen=True)
class Padded:
    """A value as an array of its bounds, and the size (s32[]) of each dynamic dimension; what is behind it is unspecified."""

    array: Instruction
    sizes: dict[int, Instruction] = field(default_factory=dict)


Value: TypeAlias = "Padded | tuple[Value, ...]"
Error: TypeAlias = tuple[type[Exception], str]
Handler: TypeAlias = Callable[["Padder", Instruction, list[Any]], Value]

PRED_SCALAR = Shape(PRED)

HANDLERS: dict[str, Handler] = {}
# These are asked even where no operand and no result is dynamic: a computation that they call may be.
ALWAYS_HANDLED: set[str] = set()


def padded(*opcodes: str, always: bool = False) -> Callable[[Handler], Handler]:
    """Decorator: the function writes these operations for padded arrays."""

    def register(function: Handler) -> Handler:
        for opcode in opcodes:
            HANDLERS[opcode] = function
        if always:
            ALWAYS_HANDLED.update(opcodes)
        return function

    return register


class _Place:
    """The instruction that is being written anew."""

    instruction: Instruction | None = None

    def source(self) -> SourceLocation | None:
        return None if self.instruction is None else self.instruction.source


class Padder:
    """Builds one computation; ``error`` is s32[]: 0, or the number of the one of ``errors`` that came first.

    ``functions`` holds computations that are called, each rewritten once for each shape of its flat parameter.
    """

    def __init__(
        self,
        name: str,
        errors: list[Error],
        error: Instruction | None = None,
        functions: dict[tuple[Computation, AnyShape], Computation] | None = None,
    ) -> None:
        self._place = _Place()
        self.b = Builder(name, where=self._place.source)
        self.errors, self.error = errors, error
        self.functions = {} if functions is None else functions

    # --- computations ---

    def run(self, computation: Computation, arguments: list[Value]) -> Value:
        """Write the computation's instructions here, on these arguments."""
        values: dict[Instruction, Value] = {}
        for instruction in computation.instructions:
            if instruction.opcode == "parameter":
                values[instruction] = arguments[instruction.attributes["number"]]
            else:
                self._place.instruction = instruction
                values[instruction] = self.rewrite(instruction, [values[operand] for operand in instruction.operands])
        return values[computation.root]

    def rewrite(self, instruction: Instruction, operands: list[Value]) -> Value:
        opcode = instruction.opcode
        handler = HANDLERS.get(opcode)
        dynamic = is_dynamic(instruction) or has_dynamic_dimensions(instruction.shape)
        dynamic = dynamic or any(has_dynamic_dimensions(operand.shape) for operand in instruction.operands)
        if handler is not None and (dynamic or opcode in ALWAYS_HANDLED):
            return handler(self, instruction, operands)
        if not dynamic:
            return self.unpacked(self.unchanged(instruction, tuple(map(self.packed, operands))))
        if ELEMENTWISE in instruction.operation.traits:
            return self.elementwise(instruction, operands)
        raise NotImplementedError(f"{opcode} of dynamic dimensions has no native code; the reference backend runs it")

    def unchanged(self, instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        """An instruction without dynamic dimensions on other operands, not checked again where they have the same shapes."""
        if any(new.shape != old.shape for new, old in zip(operands, instruction.operands)):
            return self.same(instruction, operands, instruction.shape)
        record, attributes = instruction.operation, instruction.attributes
        return self.b.append(Instruction(record, operands, attributes, instruction.shape, instruction.name, instruction.source))

    def same(
        self, instruction: Instruction, operands: Iterable[Instruction], shape: AnyShape | None = None, **changed: Any
    ) -> Instruction:
        """The same operation on other operands; its shape is the one given or inferred."""
        attributes = {name: one for name, one in {**instruction.attributes, **changed}.items() if one is not None}
        return self.b.append(
            make_instruction(instruction.opcode, operands, attributes, shape, instruction.name, instruction.source)
        )

    def elementwise(self, instruction: Instruction, operands: list[Padded]) -> Padded:
        sizes = self.agreed(instruction, operands)
        result = self.same(instruction, [operand.array for operand in operands], instruction.shape.static())
        return Padded(result, {d: size for (_, d), size in sizes.items() if instruction.shape.is_dynamic(d)})

    def agreed(self, instruction: Instruction, operands: list[Any]) -> dict[tuple[int, int], Instruction]:
        """The common sizes of the dimensions that must be equal, by (operand, dimension), where any of these is dynamic."""
        found = {}
        for places in equal_places(instruction):
            sizes = [operands[number].sizes[d] for number, d in places if d in operands[number].sizes]
            for other in sizes[1:]:
                if other is not sizes[0]:
                    different = hlo.ne(sizes[0], other)
                    self.fail_if(different, f"{instruction!r}: dimensions that must be equal have different sizes")
            found.update({place: sizes[0] for place in places if sizes})
        return found

    # --- tuples ---

    def packed(self, value: Value) -> Instruction:
        """A value without dynamic dimensions as one instruction."""
        if isinstance(value, tuple):
            return hlo.tuple(*map(self.packed, value))
        return value.array

    def unpacked(self, instruction: Instruction) -> Value:
        if not instruction.shape.is_tuple:
            return Padded(instruction)
        return tuple(self.unpacked(hlo.get_tuple_element(instruction, i)) for i in range(len(instruction.shape.elements)))

    # --- errors ---

    def fail_if(self, condition: Instruction, message: str, exception: type[Exception] = ValueError) -> None:
        """Have the call raise the exception where this pred[] is true."""
        self.errors.append((exception, message))
        code = hlo.select(condition, self.s32(len(self.errors)), self.s32(0))
        if self.error is not None:
            is_first = hlo.eq(self.error, self.s32(0))
            code = hlo.select(is_first, code, self.error)
        self.error = code

    def error_or_none(self) -> Instruction:
        return self.error if self.error is not None else self.s32(0)

    # --- scalars ---

    def s32(self, value: int) -> Instruction:
        if value >= 2**31:
            raise NotImplementedError(f"sizes of programs with dynamic dimensions are s32, which has no {value}")
        return hlo.constant(np.int32(value))

    def size(self, value: Padded, dimension: int) -> Instruction:
        """The size of a dimension, dynamic or not."""
        size = value.sizes.get(dimension)
        return size if size is not None else self.s32(value.array.shape.dimensions[dimension])

    def scalar(self, opcode: str, lhs: Instruction, rhs: Instruction | int) -> Instruction:
        """A binary operation on s32[]; what changes nothing is left out."""
        if isinstance(rhs, int):
            neutral = {"add": 0, "subtract": 0, "multiply": 1, "divide": 1}.get(opcode)
            if rhs == neutral:
                return lhs
            rhs = self.s32(rhs)
        return hlo.emit(opcode, lhs, rhs)

    def zero(self, shape: Shape) -> Instruction:
        return hlo.constant(np.zeros((), shape.dtype))

    # --- masks ---

    def valid(self, dimensions: tuple[int, ...], sizes: dict[int, Instruction]) -> Instruction:
        """pred of these dimensions: whether the element lies inside of the sizes, of which there is one at least."""
        shape, result = Shape(S32, dimensions), None
        for dimension, size in sizes.items():
            position = hlo.iota(shape, dimension)
            inside = hlo.lt(position, hlo.broadcast(size, dimensions, ()))
            result = inside if result is None else hlo.and_(result, inside)
        return result

    def masked(self, value: Padded, fill: Instruction, dimensions: Iterable[int] | None = None) -> Instruction:
        """The array with the fill behind the sizes of these dynamic dimensions (by default of all)."""
        wanted = value.sizes if dimensions is None else {d: value.sizes[d] for d in dimensions if d in value.sizes}
        if not wanted:
            return value.array
        bounds = value.array.shape.dimensions
        return hlo.select(self.valid(bounds, wanted), value.array, hlo.broadcast(fill, bounds, ()))


def flat(value: Value, shape: AnyShape) -> list[Instruction]:
    """The arrays of the leaves of a value, then the sizes of their dynamic dimensions, in order."""
    arrays: list[Instruction] = []
    sizes: list[Instruction] = []
    for one, leaf in _leaves(value, shape):
        arrays.append(one.array)
        sizes.extend(one.sizes[d] for d in range(leaf.rank) if leaf.is_dynamic(d))
    return arrays + sizes


def _leaves(value: Value, shape: AnyShape) -> Iterator[tuple[Padded, Shape]]:
    if not isinstance(value, tuple):
        yield value, shape
        return
    for element, part in zip(value, shape.elements, strict=True):
        yield from _leaves(element, part)


def nested(instructions: list[Instruction], shape: AnyShape) -> Value:
    """The value of this shape of which ``flat`` gave the instructions."""
    parts = iter(instructions)
    return _with_sizes(_arrays(shape, parts), shape, parts)


def _arrays(shape: AnyShape, parts: Iterator[Instruction]) -> Any:
    return tuple([_arrays(part, parts) for part in shape.elements]) if shape.is_tuple else next(parts)


def _with_sizes(found: Any, shape: AnyShape, parts: Iterator[Instruction]) -> Value:
    if shape.is_tuple:
        return tuple([_with_sizes(one, part, parts) for one, part in zip(found, shape.elements)])
    return Padded(found, {d: next(parts) for d in range(shape.rank) if shape.is_dynamic(d)})
