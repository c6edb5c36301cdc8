"""The interface of XLA's ``XlaBuilder``, implicit broadcasting included, on top of `phlox.hlo`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import hlo
from ..hlo import PRED, Computation, ElementType, Instruction, Shape
from ..hlo.builder import ascending_order
from ..hlo.errors import require
from ..hlo.operation import ELEMENTWISE, OPERATIONS
from ..hlo.shape import AnyShape
from ..hlo.window import WindowDimension, make_window, with_padding
from .aliases import AliasMethods
from .collectives import CollectiveMethods
from .convolutions import ConvolutionMethods
from .effects import EffectMethods


class XlaBuilder(AliasMethods, CollectiveMethods, ConvolutionMethods, EffectMethods, hlo.Builder):
    """A `phlox.hlo.Builder` with a method for each operation, named and called as in XLA: ``Add``, ``Reshape``, ``DotGeneral``.

    >>> from phlox.hlo import F32
    >>> b = XlaBuilder("axpy")
    >>> alpha, x, y = b.parameter(Shape(F32), "alpha"), b.parameter(Shape(F32, (3,)), "x"), b.parameter(Shape(F32, (3,)), "y")
    >>> axpy = b.build(b.Add(b.Mul(alpha, x), y))
    >>> axpy
    <computation axpy: (f32[], f32[3], f32[3]) -> f32[3]>
    """

    def __getattr__(self, name: str) -> Callable[..., Instruction]:
        opcode = _opcodes_by_builder_name().get(name)
        if opcode is None:
            raise AttributeError(f"XlaBuilder has no method {name!r}")
        if len(OPERATIONS[opcode].operand_names) == 2 and ELEMENTWISE in OPERATIONS[opcode].traits and name != "Compare":
            return lambda lhs, rhs, broadcast_dimensions=(): self._binary(opcode, lhs, rhs, broadcast_dimensions)
        return lambda *arguments, **attributes: self._from_arguments(opcode, arguments, attributes)

    def _from_arguments(self, opcode: str, arguments: tuple[Any, ...], attributes: dict[str, Any]) -> Instruction:
        operands, attributes = hlo.arguments_of(OPERATIONS[opcode], arguments, attributes)
        return self.emit(opcode, *operands, **attributes)

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
            self.write(hlo.broadcast_in_dim, lhs, dimensions, mappings[0]),
            self.write(hlo.broadcast_in_dim, rhs, dimensions, mappings[1]),
        )

    def Parameter(self, number: int, shape: AnyShape, name: str = "") -> Instruction:
        """Parameter with an explicit number, as XlaBuilder numbers them."""
        self._parameter_count = max(self._parameter_count, number + 1)
        return self.emit("parameter", shape=shape, name=name, number=number)

    def Broadcast(self, operand: Instruction, broadcast_sizes: Sequence[int]) -> Instruction:
        """The operand repeated along new dimensions, inserted on the left."""
        new = tuple(broadcast_sizes)
        rank = operand.shape.rank
        return self.write(hlo.broadcast, operand, (*new, *operand.shape.dimensions), range(len(new), len(new) + rank))

    def BroadcastInDim(
        self, operand: Instruction, out_dim_size: Sequence[int], broadcast_dimensions: Sequence[int]
    ) -> Instruction:
        return self.write(hlo.broadcast_in_dim, operand, out_dim_size, broadcast_dimensions)

    def Reshape(self, operand: Instruction, *arguments: Sequence[int]) -> Instruction:
        """Reshape(operand, new_sizes), or the preview's Reshape(operand, dimensions, new_sizes): collapsed in that order."""
        *order, sizes = arguments
        if order and tuple(order[0]) != tuple(range(operand.shape.rank)):
            operand = self.emit("transpose", operand, dimensions=tuple(order[0]))
        return self.write(hlo.reshape, operand, sizes)

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
        return self.write(hlo.reshape, operand, (*sizes[:first], int(np.prod(sizes[first : last + 1])), *sizes[last + 1 :]))

    def Slice(
        self, operand: Instruction, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] = ()
    ) -> Instruction:
        return self.write(hlo.slice, operand, start_indices, limit_indices, strides or None)

    def Trans(self, operand: Instruction) -> Instruction:
        """The transpose of a matrix."""
        require(operand.shape.rank == 2, f"Trans: a matrix is required, got {operand.shape}")
        return self.emit("transpose", operand, dimensions=(1, 0))

    def ConcatInDim(self, operands: Sequence[Instruction], dimension: int) -> Instruction:
        return self.emit("concatenate", *operands, dimensions=(dimension,))

    def ConvertElementType(self, operand: Instruction, new_element_type: ElementType) -> Instruction:
        return self.write(hlo.convert, operand, new_element_type)

    def BitcastConvertType(self, operand: Instruction, new_element_type: ElementType) -> Instruction:
        return self.write(hlo.bitcast_convert, operand, new_element_type)

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
        return self.write(hlo.dot, lhs, rhs, preferred_element_type, **dimension_numbers)

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
    def method(self: XlaBuilder, lhs: Instruction, rhs: Instruction, broadcast_dimensions: Sequence[int] = ()) -> Instruction:
        return self.Compare(lhs, rhs, direction, type, broadcast_dimensions)

    return method


for _direction in ("Eq", "Ne", "Ge", "Gt", "Le", "Lt"):
    setattr(XlaBuilder, _direction, _comparison(_direction.upper(), ""))
    setattr(XlaBuilder, _direction + "TotalOrder", _comparison(_direction.upper(), "TOTALORDER"))


@cache
def _opcodes_by_builder_name() -> dict[str, str]:
    return {record.builder: opcode for opcode, record in OPERATIONS.items()}
