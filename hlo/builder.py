"""Builds computations, instruction by instruction.

``Builder.emit(opcode, ...)`` makes any instruction; the methods named as in XLA's ``XlaBuilder`` (``Add``, ``Reshape``,
``DotGeneral``, ...) take their arguments as that interface does, implicit broadcasting included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from .builder_aliases import AliasMethods
from .builder_collectives import CollectiveMethods
from .builder_convolutions import ConvolutionMethods
from .builder_effects import EffectMethods
from .element_type import PRED, ElementType
from .errors import require
from .instruction import Computation, Instruction, Module, SourceLocation, make_instruction
from .operation import ELEMENTWISE, OPERATIONS
from .ops.reshaping import reshaped_dynamic_dimensions
from .shape import AnyShape, Shape
from .window import WindowDimension, make_window, with_padding

Where = Callable[[], "SourceLocation | None"]


class Builder(AliasMethods, CollectiveMethods, ConvolutionMethods, EffectMethods):
    """Builds one computation.

    ``where``, if given, is called for each instruction and tells where in the user's code it comes from.

    >>> from phlox.hlo import F32, Shape
    >>> b = Builder("axpy")
    >>> alpha, x, y = b.parameter(Shape(F32), "alpha"), b.parameter(Shape(F32, (3,)), "x"), b.parameter(Shape(F32, (3,)), "y")
    >>> axpy = b.build(b.Add(b.Mul(alpha, x), y))
    >>> axpy
    <computation axpy: (f32[], f32[3], f32[3]) -> f32[3]>
    """

    def __init__(self, name: str, where: Where | None = None) -> None:
        self.name = name
        self.where = where
        self.instructions: list[Instruction] = []
        self._parameter_count = 0

    def append(self, instruction: Instruction) -> Instruction:
        self.instructions.append(instruction)
        return instruction

    def emit(
        self,
        opcode: str,
        *operands: Instruction,
        shape: AnyShape | None = None,
        name: str = "",
        annotations: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> Instruction:
        """Append the instruction; ``shape`` is the result shape where the operation cannot infer it. Raises ShapeError."""
        source = self.where() if self.where is not None else None
        return self.append(make_instruction(opcode, operands, attributes, shape, name, source, annotations))

    def parameter(self, shape: AnyShape, name: str = "") -> Instruction:
        """The next parameter of the computation."""
        self._parameter_count += 1
        return self.emit("parameter", shape=shape, name=name, number=self._parameter_count - 1)

    def constant(self, value: Any, element_type: ElementType | None = None) -> Instruction:
        """A constant array; the dtype of value decides the element type unless one is given."""
        literal = np.asarray(value, None if element_type is None else element_type.dtype)
        return self.emit("constant", literal=literal)

    def get_tuple_element(self, operand: Instruction, index: int) -> Instruction:
        return self.emit("get-tuple-element", operand, index=index)

    def convert(self, operand: Instruction, element_type: ElementType) -> Instruction:
        """The operand in this element type; itself where it has it already."""
        if operand.shape.element_type is element_type:
            return operand
        return self.emit("convert", operand, shape=operand.shape.without_layout().with_element_type(element_type))

    def reshape(self, operand: Instruction, dimensions: Sequence[int]) -> Instruction:
        dimensions = tuple(dimensions)
        if operand.shape.dimensions == dimensions:
            return operand
        dynamic = reshaped_dynamic_dimensions(operand.shape, dimensions) if operand.shape.dynamic_dimensions else ()
        return self.emit("reshape", operand, shape=operand.shape.with_dimensions(dimensions, dynamic))

    def broadcast(self, operand: Instruction, dimensions: Sequence[int], broadcast_dimensions: Sequence[int]) -> Instruction:
        """The operand's dimension i becomes dimension broadcast_dimensions[i] of the result's dimensions."""
        dynamic = [False] * len(dimensions) if operand.shape.dynamic_dimensions else []
        for position, dimension in enumerate(broadcast_dimensions if dynamic else ()):
            dynamic[dimension] = operand.shape.is_dynamic(position)
        shape = operand.shape.with_dimensions(tuple(dimensions), dynamic)
        return self.emit("broadcast", operand, shape=shape, dimensions=tuple(broadcast_dimensions))

    def broadcast_in_dim(
        self, operand: Instruction, dimensions: Sequence[int], broadcast_dimensions: Sequence[int]
    ) -> Instruction:
        """As broadcast, but operand dimensions of size 1 are stretched too; the operand itself where nothing changes."""
        dimensions, source = tuple(dimensions), operand.shape.dimensions
        if source == dimensions and tuple(broadcast_dimensions) == tuple(range(len(dimensions))):
            return operand
        kept = [i for i, size in enumerate(source) if size == dimensions[broadcast_dimensions[i]]]
        squeezed = self.reshape(operand, [source[i] for i in kept]) if len(kept) < len(source) else operand
        return self.broadcast(squeezed, dimensions, [broadcast_dimensions[i] for i in kept])

    def build(self, root: Instruction | None = None) -> Computation:
        """The computation that returns root (by default the last instruction that is not a trace)."""
        require(bool(self.instructions), f"computation {self.name} has no instructions")
        if root is None:
            values = (instruction for instruction in reversed(self.instructions) if instruction.opcode != "trace")
            root = next(values, self.instructions[-1])
        return Computation(self.name, tuple(self.instructions), root)

    def build_module(self, root: Instruction | None = None) -> Module:
        return Module(self.name, self.build(root))

    # --- the methods of XlaBuilder ---

    def __getattr__(self, name: str) -> Callable[..., Instruction]:
        opcode = _opcodes_by_builder_name().get(name)
        if opcode is None:
            raise AttributeError(f"Builder has no method {name!r}")
        if len(OPERATIONS[opcode].operand_names) == 2 and ELEMENTWISE in OPERATIONS[opcode].traits and name != "Compare":
            return lambda lhs, rhs, broadcast_dimensions=(): self._binary(opcode, lhs, rhs, broadcast_dimensions)
        return lambda *arguments, **attributes: self._from_arguments(opcode, arguments, attributes)

    def _from_arguments(self, opcode: str, arguments: tuple[Any, ...], attributes: dict[str, Any]) -> Instruction:
        """The operands, then attributes in the record's order, as the methods of XlaBuilder take them."""
        record = OPERATIONS[opcode]
        count = len(arguments) if record.is_variadic else len(record.operand_names)
        operands, positional = arguments[:count], arguments[count:]
        names = list(record.attributes)[: len(positional)]
        if len(names) < len(positional):
            operands, names = arguments, []  # which is an error about their number
        repeated = ", ".join(attributes.keys() & set(names))
        require(not repeated, f"{record.builder}: {repeated} given twice")
        return self.emit(opcode, *operands, **dict(zip(names, positional)), **attributes)

    def _binary(
        self, opcode: str, lhs: Instruction, rhs: Instruction, broadcast_dimensions: Sequence[int], **attributes: Any
    ) -> Instruction:
        lhs, rhs = self.broadcast_together(opcode, lhs, rhs, tuple(broadcast_dimensions))
        return self.emit(opcode, lhs, rhs, **attributes)

    def broadcast_together(
        self, opcode: str, lhs: Instruction, rhs: Instruction, broadcast_dimensions: tuple[int, ...]
    ) -> tuple[Instruction, Instruction]:
        """Both operands in one shape, as the preview's "Broadcasting semantics" says.

        The lower-rank operand is matched to the dimensions broadcast_dimensions of the other one; then dimensions of size 1 are
        stretched. Scalars need no broadcast_dimensions. Raises ShapeError.
        """
        low, high = sorted((lhs.shape, rhs.shape), key=lambda shape: shape.rank)
        if low.rank == high.rank:
            require(
                broadcast_dimensions in ((), tuple(range(low.rank))),
                f"{opcode}: broadcast_dimensions {broadcast_dimensions} given for operands of the same rank, {low} and {high}",
            )
            mapping = tuple(range(low.rank))
        else:
            mapping = broadcast_dimensions
            require(
                len(mapping) == low.rank,
                f"{opcode}: operands {lhs.shape} and {rhs.shape} differ in rank: broadcast_dimensions must name {low.rank} "
                f"dimensions of the higher-rank operand, got {mapping}",
            )
            increasing = all(a < b for a, b in zip(mapping, mapping[1:])) and all(0 <= d < high.rank for d in mapping)
            require(
                increasing, f"{opcode}: broadcast_dimensions must be strictly increasing and in [0, {high.rank}), got {mapping}"
            )
        dimensions = list(high.dimensions)
        for position, dimension in enumerate(mapping):
            sizes = {low.dimensions[position], high.dimensions[dimension]}
            require(
                len(sizes) == 1 or 1 in sizes,
                f"{opcode}: dimension {position} of {low} does not match dimension {dimension} of {high}: "
                "sizes must be equal or 1",
            )
            dimensions[dimension] = max(sizes) if 0 not in sizes else 0
        every = tuple(range(high.rank))
        mappings = (mapping, every) if lhs.shape.rank < rhs.shape.rank else (every, mapping)
        return (
            self.broadcast_in_dim(lhs, dimensions, mappings[0]),
            self.broadcast_in_dim(rhs, dimensions, mappings[1]),
        )

    def Parameter(self, number: int, shape: AnyShape, name: str = "") -> Instruction:
        """Parameter with an explicit number, as XlaBuilder numbers them."""
        self._parameter_count = max(self._parameter_count, number + 1)
        return self.emit("parameter", shape=shape, name=name, number=number)

    def Broadcast(self, operand: Instruction, broadcast_sizes: Sequence[int]) -> Instruction:
        """The operand repeated along new dimensions, inserted on the left."""
        new = tuple(broadcast_sizes)
        rank = operand.shape.rank
        return self.broadcast(operand, (*new, *operand.shape.dimensions), range(len(new), len(new) + rank))

    def BroadcastInDim(
        self, operand: Instruction, out_dim_size: Sequence[int], broadcast_dimensions: Sequence[int]
    ) -> Instruction:
        return self.broadcast_in_dim(operand, out_dim_size, broadcast_dimensions)

    def Reshape(self, operand: Instruction, *arguments: Sequence[int]) -> Instruction:
        """Reshape(operand, new_sizes), or the preview's Reshape(operand, dimensions, new_sizes): collapsed in that order."""
        *order, sizes = arguments
        if order and tuple(order[0]) != tuple(range(operand.shape.rank)):
            operand = self.emit("transpose", operand, dimensions=tuple(order[0]))
        return self.reshape(operand, sizes)

    def Collapse(self, operand: Instruction, dimensions: Sequence[int]) -> Instruction:
        """One dimension in place of an in-order, consecutive subset of the dimensions."""
        dimensions, sizes = tuple(dimensions), operand.shape.dimensions
        if not dimensions:
            return operand
        first, last = dimensions[0], dimensions[-1]
        consecutive = dimensions == tuple(range(first, last + 1)) and 0 <= first and last < len(sizes)
        require(
            consecutive, f"collapse: dimensions must be consecutive dimensions of {operand.shape}, in order, got {dimensions}"
        )
        return self.reshape(operand, (*sizes[:first], int(np.prod(sizes[first : last + 1])), *sizes[last + 1 :]))

    def Slice(
        self, operand: Instruction, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] = ()
    ) -> Instruction:
        strides = strides or [1] * len(start_indices)
        return self.emit("slice", operand, slice=list(zip(start_indices, limit_indices, strides, strict=True)))

    def Trans(self, operand: Instruction) -> Instruction:
        """The transpose of a matrix."""
        require(operand.shape.rank == 2, f"Trans: a matrix is required, got {operand.shape}")
        return self.emit("transpose", operand, dimensions=(1, 0))

    def ConcatInDim(self, operands: Sequence[Instruction], dimension: int) -> Instruction:
        return self.emit("concatenate", *operands, dimensions=(dimension,))

    def ConvertElementType(self, operand: Instruction, new_element_type: ElementType) -> Instruction:
        return self.convert(operand, new_element_type)

    def BitcastConvertType(self, operand: Instruction, new_element_type: ElementType) -> Instruction:
        old, new, sizes = operand.shape.element_type, new_element_type, operand.shape.dimensions
        if old.bits > new.bits:
            sizes = (*sizes, old.bits // new.bits)
        elif old.bits < new.bits:
            sizes = sizes[:-1]
        return self.emit("bitcast-convert", operand, shape=Shape(new, sizes))

    def Iota(self, shape: Shape, iota_dimension: int) -> Instruction:
        return self.emit("iota", shape=shape, iota_dimension=iota_dimension)

    def Dot(self, lhs: Instruction, rhs: Instruction) -> Instruction:
        """Contracts the last dimension of lhs with the first of rhs; ranks 1 and 2."""
        require(
            1 <= lhs.shape.rank <= 2 and 1 <= rhs.shape.rank <= 2,
            f"Dot: vectors or matrices are required, got {lhs.shape} and {rhs.shape}",
        )
        return self.DotGeneral(lhs, rhs, lhs_contracting_dimensions=(lhs.shape.rank - 1,), rhs_contracting_dimensions=(0,))

    def DotGeneral(
        self, lhs: Instruction, rhs: Instruction, preferred_element_type: ElementType | None = None, **dimension_numbers: Any
    ) -> Instruction:
        if preferred_element_type is None:
            return self.emit("dot", lhs, rhs, **dimension_numbers)
        record = OPERATIONS["dot"]
        numbers = {name: tuple(dimension_numbers.get(name, ())) for name in record.attributes}
        shape = record.infer_shape((lhs.shape, rhs.shape), numbers, Shape(preferred_element_type))
        return self.emit("dot", lhs, rhs, shape=shape, **numbers)

    def Compare(
        self, lhs: Instruction, rhs: Instruction, direction: str, type: str = "", broadcast_dimensions: Sequence[int] = ()
    ) -> Instruction:
        return self._binary("compare", lhs, rhs, broadcast_dimensions, direction=direction, type=type)

    def Reduce(
        self,
        operands: Instruction | Sequence[Instruction],
        init_values: Instruction | Sequence[Instruction],
        computation: Computation,
        dimensions_to_reduce: Sequence[int],
    ) -> Instruction:
        operands = [operands] if isinstance(operands, Instruction) else list(operands)
        init_values = [init_values] if isinstance(init_values, Instruction) else list(init_values)
        return self.emit("reduce", *operands, *init_values, dimensions=dimensions_to_reduce, to_apply=computation)

    def ReduceWindow(
        self,
        operands: Instruction | Sequence[Instruction],
        init_values: Instruction | Sequence[Instruction],
        computation: Computation,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: str,
        base_dilations: Sequence[int] = (),
        window_dilations: Sequence[int] = (),
    ) -> Instruction:
        """The padding is "SAME" (the result of stride 1 is as large as the base) or "VALID" (there is none)."""
        operands = [operands] if isinstance(operands, Instruction) else list(operands)
        window = make_window(window_dimensions, window_strides, None, base_dilations, window_dilations)
        window = with_padding(window, operands[0].shape.dimensions, padding)
        return self._reduce_window(operands, init_values, computation, window)

    def ReduceWindowWithGeneralPadding(
        self,
        operands: Instruction | Sequence[Instruction],
        init_values: Instruction | Sequence[Instruction],
        computation: Computation,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        base_dilations: Sequence[int] = (),
        window_dilations: Sequence[int] = (),
        padding: Sequence[tuple[int, int]] = (),
    ) -> Instruction:
        """The padding is (low, high) for each dimension; both may be negative."""
        operands = [operands] if isinstance(operands, Instruction) else list(operands)
        window = make_window(window_dimensions, window_strides, padding, base_dilations, window_dilations)
        return self._reduce_window(operands, init_values, computation, window)

    def _reduce_window(
        self,
        operands: list[Instruction],
        init_values: Instruction | Sequence[Instruction],
        computation: Computation,
        window: tuple[WindowDimension, ...],
    ) -> Instruction:
        init_values = [init_values] if isinstance(init_values, Instruction) else list(init_values)
        return self.emit("reduce-window", *operands, *init_values, window=window, to_apply=computation)

    def SelectAndScatter(
        self,
        operand: Instruction,
        select: Computation,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: str,
        source: Instruction,
        init_value: Instruction,
        scatter: Computation,
    ) -> Instruction:
        window = with_padding(make_window(window_dimensions, window_strides), operand.shape.dimensions, padding)
        return self.emit("select-and-scatter", operand, source, init_value, window=window, select=select, scatter=scatter)

    def SelectAndScatterWithGeneralPadding(
        self,
        operand: Instruction,
        select: Computation,
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        source: Instruction,
        init_value: Instruction,
        scatter: Computation,
    ) -> Instruction:
        window = make_window(window_dimensions, window_strides, padding)
        return self.emit("select-and-scatter", operand, source, init_value, window=window, select=select, scatter=scatter)

    def Sort(
        self,
        operands: Instruction | Sequence[Instruction],
        comparator: Computation | None = None,
        dimension: int = -1,
        is_stable: bool = False,
    ) -> Instruction:
        """Without a comparator, by the first operand's elements in ascending order; by default along the last dimension."""
        operands = [operands] if isinstance(operands, Instruction) else list(operands)
        require(bool(operands), "sort: at least one operand is required")
        if comparator is None:
            comparator = ascending_order(tuple(operand.shape.element_type for operand in operands))
        if dimension == -1:
            dimension = operands[0].shape.rank - 1
        return self.emit("sort", *operands, dimensions=(dimension,), is_stable=is_stable, to_apply=comparator)

    def TopK(self, operand: Instruction, k: int, largest: bool = True) -> Instruction:
        """The values and the positions, as a tuple."""
        return self.emit("topk", operand, k=k, largest=largest)

    def While(self, condition: Computation, body: Computation, init: Instruction) -> Instruction:
        return self.emit("while", init, condition=condition, body=body)

    def Conditional(self, predicate: Instruction, *arguments: Any) -> Instruction:
        """Conditional(pred, true_operand, true_computation, false_operand, false_computation), or
        Conditional(branch_index, branch_computations, branch_operands)."""
        if predicate.shape.element_type is PRED:
            true_operand, true_computation, false_operand, false_computation = arguments
            computations = {"true_computation": true_computation, "false_computation": false_computation}
            return self.emit("conditional", predicate, true_operand, false_operand, **computations)
        branch_computations, branch_operands = arguments
        return self.emit("conditional", predicate, *branch_operands, branch_computations=branch_computations)

    def Call(self, computation: Computation, operands: Sequence[Instruction]) -> Instruction:
        return self.emit("call", *operands, to_apply=computation)

    def Tuple(self, elements: Sequence[Instruction]) -> Instruction:
        return self.emit("tuple", *elements)

    def GetTupleElement(self, operand: Instruction, index: int) -> Instruction:
        return self.get_tuple_element(operand, index)

    def DynamicSlice(self, operand: Instruction, start_indices: Sequence[Instruction], sizes: Sequence[int]) -> Instruction:
        return self.emit("dynamic-slice", operand, *start_indices, sizes=sizes)

    def DynamicUpdateSlice(
        self, operand: Instruction, update: Instruction, start_indices: Sequence[Instruction]
    ) -> Instruction:
        return self.emit("dynamic-update-slice", operand, update, *start_indices)

    def Gather(self, operand: Instruction, start_indices: Instruction, **attributes: Any) -> Instruction:
        """The attributes are the dimension numbers and slice_sizes; their names before the rename of 2018 are aliases."""
        return self.emit("gather", operand, start_indices, **_renamed(attributes, _GATHER_NAMES_BEFORE_2018))

    def Scatter(
        self,
        operands: Instruction | Sequence[Instruction],
        scatter_indices: Instruction,
        updates: Instruction | Sequence[Instruction],
        update_computation: Computation,
        **dimension_numbers: Any,
    ) -> Instruction:
        operands = [operands] if isinstance(operands, Instruction) else list(operands)
        updates = [updates] if isinstance(updates, Instruction) else list(updates)
        return self.emit("scatter", *operands, scatter_indices, *updates, to_apply=update_computation, **dimension_numbers)


_GATHER_NAMES_BEFORE_2018 = {
    "output_window_dims": "offset_dims",
    "elided_window_dims": "collapsed_slice_dims",
    "gather_dims_to_operand_dims": "start_index_map",
    "window_bounds": "slice_sizes",
}


def _renamed(attributes: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    for old, new in names.items():
        require(not {old, new} <= attributes.keys(), f"{old} is an older name of {new}: only one of them can be given")
    return {names.get(name, name): value for name, value in attributes.items()}


def _comparison(direction: str, type: str) -> Callable[..., Instruction]:
    def method(self: Builder, lhs: Instruction, rhs: Instruction, broadcast_dimensions: Sequence[int] = ()) -> Instruction:
        return self.Compare(lhs, rhs, direction, type, broadcast_dimensions)

    return method


for _direction in ("Eq", "Ne", "Ge", "Gt", "Le", "Lt"):
    setattr(Builder, _direction, _comparison(_direction.upper(), ""))
    setattr(Builder, _direction + "TotalOrder", _comparison(_direction.upper(), "TOTALORDER"))


@cache
def _opcodes_by_builder_name() -> dict[str, str]:
    return {record.builder: opcode for opcode, record in OPERATIONS.items()}


@cache
def scalar_computation(opcode: str, element_type: ElementType) -> Computation:
    """The computation of one binary operation on two scalars, as a reduction's ``to_apply``.

    >>> from phlox.hlo import F32
    >>> scalar_computation("add", F32)
    <computation add_f32: (f32[], f32[]) -> f32[]>
    """
    b = Builder(f"{opcode}_{element_type.name}")
    scalar = Shape(element_type)
    return b.build(b.emit(opcode, b.parameter(scalar, "a"), b.parameter(scalar, "b")))


@cache
def ascending_order(element_types: tuple[ElementType, ...]) -> Computation:
    """The comparator of a sort by the first operand; floats in total order.

    >>> from phlox.hlo import F32, S32
    >>> ascending_order((F32, S32))
    <computation ascending_f32: (f32[], f32[], s32[], s32[]) -> pred[]>
    """
    b = Builder(f"ascending_{element_types[0].name}")
    first, second, *_ = [b.parameter(Shape(element_type)) for element_type in element_types for _ in range(2)]
    total = "TOTALORDER" if element_types[0].is_float else ""
    return b.build(b.emit("compare", first, second, direction="LT", type=total))
