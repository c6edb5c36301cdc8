"""Arrays whose sizes are known at run time only: ``x[mask]``, ``np.nonzero(x)``, ``x[:n]`` with a traced n.

A `DynamicArray` is a traced array over an instruction of a shape with dynamic dimensions, ``f32[<=10]``: the bound is known
while tracing, the size when the program runs. Most functions take shapes from Python's integers, so it does not hand out its
instruction: `DynamicArray.instruction` raises, and what has not been written for such arrays is an error, never a result of
the wrong size. What has been (``tracer/extents/``) is in the table `DYNAMIC`, and works on the `padded` array, of the bounds,
and the `sizes`; what lies behind these is unspecified, and `dynamic` puts the two together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import hlo
from ...compile.traversal import has_effects
from ...hlo.shape import row_major_strides
from .array import TracedArray, View, require_trace
from .errors import ConcretizationError, SizeBeyondBound
from .function_tables import DYNAMIC, dynamic_implementation, name_of
from .guessed_bounds import require_small_tables
from .intervals import note_interval
from .operators import Operators, simple_power
from .trace import Storage, Trace

Instruction = hlo.Instruction
Sizes = dict[int, Instruction]  # s32[], by dimension


class DynamicArray(TracedArray):
    """A traced array with dynamic dimensions; ``bounds`` is its shape in HLO.

    ``is_expected_full`` holds for slices like ``x[i : i + 3]``, which have the size of their bound unless they reach beyond the
    end. Functions that have not been written for dynamic dimensions take them as arrays of this size, and the call raises
    NotImplementedError where they have another one.
    """

    __slots__ = ("bounds", "is_expected_full")

    is_dynamic = True
    exact = None  # these are no numbers

    def __init__(
        self, storage: Storage | None, shape: hlo.Shape, weak_type: bool = False, is_scalar: bool | None = None
    ) -> None:
        self.storage, self.bounds, self.element_type = storage, shape.without_layout(), shape.element_type
        self.weak_type = self.is_scalar = False
        self._view = self.unusual_strides = None
        self.is_expected_full = False

    @classmethod
    def view_on(cls, base: TracedArray, bounds: hlo.Shape, read: Callable, write: Callable | None) -> TracedArray:
        """A view; a scalar has none, but copies."""
        array = cls(None, bounds)
        array._view = View(base, read, write)
        return array

    # --- the value ---

    def instruction(self, trace: Trace) -> Instruction:
        """Raises NotImplementedError: whoever asks for it does not know about sizes. `recorded` has it."""
        raise NotImplementedError(f"an array whose size is known at run time only, {self!r}, is not implemented here")

    def recorded(self, trace: Trace) -> Instruction:
        """The current value as an instruction of the trace, with dynamic dimensions. Raises LeakedArrayError."""
        return trace.read(self.storage) if self._view is None else self._view.instruction(trace)

    def sizes(self, trace: Trace) -> Sizes:
        """The size of each dynamic dimension."""
        return sizes_of(self.recorded(trace))

    def padded(self, trace: Trace) -> TracedArray:
        """An array of the bounds; what lies behind the sizes is unspecified."""
        return TracedArray.from_instruction(trace, padded_instruction(self.recorded(trace)), is_scalar=False)

    def filled(self, trace: Trace, value: Any) -> TracedArray:
        """An array of the bounds, with this number behind the sizes."""
        padded = self.padded(trace).instruction(trace)
        inside = valid(trace, self.bounds.dimensions, self.sizes(trace)).instruction(trace)
        return TracedArray.from_instruction(trace, hlo.select(inside, padded, hlo.full_like(padded, value)), is_scalar=False)

    def full(self, trace: Trace, what: str) -> TracedArray:
        """A view in the bounds; the call raises NotImplementedError where the sizes are others."""
        for d, size in self.sizes(trace).items():
            different = hlo.ne(size, hlo.constant(np.int32(self.bounds.dimensions[d])))
            message = f"{what} of a slice between traced bounds, which reaches beyond the end of the array, is not implemented"
            trace.add_error_flag(different, NotImplementedError, message)

        def read(trace: Trace, base: Instruction) -> Instruction:
            return padded_instruction(base)

        def write(trace: Trace, base: Instruction, value: Instruction) -> Instruction:
            return fitted(value, base.shape)

        return TracedArray.view_of(self, self.bounds.dimensions, read, write)

    # --- attributes ---

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        """Python's integers, and traced ones, which behave as these, for the sizes that are known at run time only."""
        trace = require_trace(self)
        instruction = self.recorded(trace)
        return tuple(
            traced_size(trace, instruction, d) if self.bounds.is_dynamic(d) else size
            for d, size in enumerate(self.bounds.dimensions)
        )

    @property
    def ndim(self) -> int:
        return self.bounds.rank

    @property
    def size(self) -> Any:  # type: ignore[override]
        size: Any = 1
        for one in self.shape:
            size = one * size
        return size

    @property
    def element_strides(self) -> tuple[int, ...]:
        if self.unusual_strides is None and any(self.bounds.is_dynamic(d) for d in range(1, self.ndim)):
            raise NotImplementedError(
                f"strides of an array whose sizes are known at run time only, {self!r}, are not implemented"
            )
        return row_major_strides(self.bounds.dimensions) if self.unusual_strides is None else self.unusual_strides

    @property
    def T(self) -> TracedArray:
        return DYNAMIC[np.transpose](self)

    @property
    def mT(self) -> TracedArray:
        return dynamic_implementation(np.matrix_transpose)(self)

    @property
    def real(self) -> TracedArray:
        return DYNAMIC[np.real](self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> TracedArray:
        return DYNAMIC[np.imag](self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    @property
    def known_value(self) -> None:
        return None

    def settled_value(self, purpose: str) -> None:
        return None

    def __len__(self) -> int:
        raise ConcretizationError(
            self, "where len() needs a Python int",
            "x.shape[0] is a traced integer, which can be computed with and used as a bound of a loop.",
        )  # fmt: skip

    def __iter__(self) -> Any:
        if self.ndim and isinstance(self.shape[0], int):
            return (self[position] for position in range(self.shape[0]))
        raise ConcretizationError(
            self, "in a Python iteration", "Use fori_loop(0, x.shape[0], ...) or scan(...), which index it."
        )

    def __bool__(self) -> bool:
        raise ConcretizationError(self, "where Python needs a bool", "Use .any(), .all(), or x.shape[0] > 0.")

    def __repr__(self) -> str:
        return f"DynamicArray({self.dtype}{str(self.bounds).removeprefix(str(self.element_type))})"

    # --- what it answers to ---

    def implementation_of(self, method: Callable, function: Callable) -> Callable | None:
        found = DYNAMIC.get(method) or DYNAMIC.get(function)
        if found is None and self.is_expected_full:
            name = name_of(function)
            return lambda array, *rest, **keywords: super(DynamicArray, self).implementation_of(method, function)(
                array.full(require_trace(self), name), *rest, **keywords
            )
        return found or dynamic_implementation(function)

    def __getitem__(self, index: Any) -> Any:
        return DYNAMIC[np.ndarray.__getitem__](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        DYNAMIC[np.ndarray.__setitem__](self, index, value)

    def __copy__(self) -> TracedArray:
        return DYNAMIC[np.copy](self)

    def __deepcopy__(self, memo: dict) -> TracedArray:
        return DYNAMIC[np.copy](self)

    def __round__(self, digits: int | None = None) -> Any:
        return dynamic_implementation(np.round)(self, digits or 0)

    def _compared_with_nothing(self, value: bool) -> Any:
        return np.logical_or(self, True) if value else np.logical_and(self, False)

    def takes(self, operand: Any) -> bool:
        return isinstance(operand, TracedArray) or super().takes(operand)

    def operate(self, ufunc: np.ufunc, operands: tuple) -> Any:
        if ufunc is np.power:
            ufunc, operands = simple_power(*operands) or (ufunc, operands)
        return self.__array_ufunc__(ufunc, "__call__", *operands)

    def operate_in_place(self, ufunc: np.ufunc, operand: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self, operand, out=(self,))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
        if any(isinstance(one, Operators) and not isinstance(one, TracedArray) for one in inputs):
            return NotImplemented
        implementation = DYNAMIC.get(getattr(np.ufunc, method))
        if implementation is None:
            raise NotImplementedError(
                f"np.{ufunc.__name__}.{method} of an array whose size is known at run time only is not implemented"
            )
        if method == "__call__":
            return implementation(ufunc, inputs, **arguments)
        return implementation(ufunc, *inputs, **arguments)

    def __array_function__(self, function: Callable, types: Any, arguments: tuple, keywords: dict) -> Any:
        if function not in DYNAMIC:
            arrays = dynamic_arrays((*arguments, *keywords.values()))
            if arrays and all(array.is_expected_full for array in arrays):
                given = [_full(one, name_of(function)) for one in arguments]
                return function(*given, **{name: _full(one, name_of(function)) for name, one in keywords.items()})
        return dynamic_implementation(function)(*arguments, **keywords)


def _full(value: Any, what: str) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_full(one, what) for one in value)
    return value.full(require_trace(value), what) if isinstance(value, DynamicArray) else value


TracedArray.dynamic_type = DynamicArray


# --- sizes ---


def size_of(instruction: Instruction, dimension: int) -> Instruction:
    """The size, s32[], of a dynamic dimension."""
    while instruction.opcode == "set-dimension-size" and instruction.shape.is_dynamic(dimension):
        if instruction.attributes["dimensions"] == (dimension,):
            return instruction.operands[1]
        instruction = instruction.operands[0]
    return hlo.get_dimension_size(instruction, dimensions=(dimension,))


def sizes_of(instruction: Instruction) -> Sizes:
    """The size of each dynamic dimension."""
    return {d: size_of(instruction, d) for d in range(instruction.shape.rank) if instruction.shape.is_dynamic(d)}


def with_sizes(instruction: Instruction, sizes: Sizes) -> Instruction:
    """The value with these sizes of its dimensions."""
    for d, size in sizes.items():
        instruction = hlo.set_dimension_size(instruction, size, dimensions=(d,))
    return instruction


def traced_size(trace: Trace, instruction: Instruction, dimension: int) -> TracedArray:
    """The size of a dimension as Python's integer would be."""
    size = hlo.convert(hlo.get_dimension_size(instruction, dimensions=(dimension,)), hlo.S64)
    found = TracedArray.from_instruction(trace, size, weak_type=True)
    note_interval(trace, found, (0, instruction.shape.dimensions[dimension]))
    return found


def padded_instruction(instruction: Instruction) -> Instruction:
    """The value as one of the bounds; what lies behind the sizes is unspecified."""
    while instruction.opcode == "set-dimension-size" and instruction.shape.dynamic_dimensions:
        instruction = instruction.operands[0]
    for d, bound in enumerate(instruction.shape.dimensions):
        if instruction.shape.is_dynamic(d):
            dynamic = [instruction.shape.is_dynamic(other) and other != d for other in range(instruction.shape.rank)]
            shape = instruction.shape.without_layout().with_dimensions(instruction.shape.dimensions, dynamic)
            size = hlo.constant(np.int32(bound))
            instruction = hlo.set_dimension_size(instruction, size, dimensions=(d,), leaves_unspecified=True, shape=shape)
    return instruction


def dynamic(trace: Trace, padded: TracedArray | Instruction, sizes: Sizes) -> TracedArray:
    """A new array of these sizes, of which the padded one has the elements; an ordinary one where there are no sizes."""
    instruction = padded.instruction(trace) if isinstance(padded, TracedArray) else padded
    require_small_tables(trace, instruction.shape, sizes.values())
    instruction = with_sizes(instruction, sizes)
    return TracedArray.from_instruction(trace, instruction, is_scalar=None if sizes else not instruction.shape.rank)


def joined_shape(first: hlo.Shape, second: hlo.Shape, resizes: bool = False) -> hlo.Shape | None:
    """The dimensions that hold arrays of both shapes, dynamic where these differ.

    None where neither is of a size that is known at run time only, unless it ``resizes``.
    """
    if first.dimensions == second.dimensions and first.dynamic_dimensions == second.dynamic_dimensions:
        return first
    if first.rank != second.rank or not (resizes or first.dynamic_dimensions or second.dynamic_dimensions):
        return None
    places = list(zip(first.dimensions, second.dimensions))
    is_dynamic = [x != y or first.is_dynamic(d) or second.is_dynamic(d) for d, (x, y) in enumerate(places)]
    return first.without_layout().with_dimensions(tuple(max(place) for place in places), is_dynamic)


def fitted(instruction: Instruction, shape: hlo.Shape) -> Instruction:
    """The value in a shape that joins its own with others."""
    own = instruction.shape
    if own.dimensions == shape.dimensions and own.dynamic_dimensions == shape.dynamic_dimensions:
        return instruction
    sizes = {
        d: size_of(instruction, d) if own.is_dynamic(d) else hlo.constant(np.int32(size))
        for d, size in enumerate(own.dimensions)
        if shape.is_dynamic(d)
    }
    padding = [(0, wanted - size, 0) for size, wanted in zip(own.dimensions, shape.dimensions)]
    value = padded_instruction(instruction)
    if any(high for _, high, _ in padding):
        value = hlo.pad(value, hlo.constant(0, own.element_type), padding=padding)
    return with_sizes(value, sizes)


def cut(trace: Trace, instruction: Instruction, dimension: int, bound: int, place: str) -> Instruction:
    """The value with a smaller bound in a dimension, guessed at a place: the call fails where the size is larger."""
    sizes = sizes_of(instruction)
    trace.add_error_flag(hlo.gt(sizes[dimension], bound), SizeBeyondBound, SizeBeyondBound.message(place))
    limits = [*instruction.shape.dimensions]
    limits[dimension] = bound
    kept = hlo.slice(padded_instruction(instruction), (0,) * len(limits), tuple(limits))
    return with_sizes(kept, {d: hlo.minimum(size, bound) if d == dimension else size for d, size in sizes.items()})


def valid(trace: Trace, dimensions: tuple[int, ...], sizes: Sizes) -> TracedArray:
    """Which elements of an array of these dimensions lie inside of the sizes."""
    inside = None
    for d, size in sizes.items():
        position = hlo.iota(hlo.Shape(hlo.S32, dimensions), d)
        one = hlo.lt(position, hlo.broadcast(size, dimensions, ()))
        inside = one if inside is None else hlo.and_(inside, one)
    if inside is None:
        inside = hlo.broadcast(hlo.constant(True), dimensions, ())
    return TracedArray.from_instruction(trace, inside, is_scalar=False)


def integer(trace: Trace, value: Any) -> Instruction:
    """An integer, traced or not, as s32[]."""
    if isinstance(value, TracedArray):
        return hlo.convert(hlo.reshape(value.instruction(trace), ()), hlo.S32)
    return hlo.constant(np.int32(value))


def dynamic_arrays(values: Iterable[Any]) -> list[DynamicArray]:
    """Those of the values, and of the elements of sequences among them, whose sizes are known at run time only."""
    found: list[DynamicArray] = []
    for value in values:
        if isinstance(value, DynamicArray):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found.extend(dynamic_arrays(value))
    return found


def same_value(first: Instruction, second: Instruction) -> bool:
    """Whether two instructions compute the same by their structure, as far as a few levels show."""
    return _is_same(first, second, _MOST_LEVELS, set())


_MOST_LEVELS = 16


def _is_same(first: Instruction, second: Instruction, depth: int, known: set[tuple[Instruction, Instruction]]) -> bool:
    """The same; pairs that are ``known`` to be so are not looked at again, of which operands may have many."""
    if first is second or (first, second) in known:
        return True
    if depth == 0 or first.operation is not second.operation or first.shape != second.shape:
        return False
    if first.opcode == "parameter" or has_effects(first):
        return False
    if len(first.operands) != len(second.operands) or not _same_attributes(first.attributes, second.attributes):
        return False
    if not all(_is_same(one, other, depth - 1, known) for one, other in zip(first.operands, second.operands)):
        return False
    known.add((first, second))
    return True


def _same_attributes(first: dict[str, Any], second: dict[str, Any]) -> bool:
    for name, value in first.items():
        other = second[name]
        if isinstance(value, np.ndarray):
            if value.dtype != other.dtype or value.shape != other.shape or value.tobytes() != other.tobytes():
                return False
        elif value is not other and value != other:
            return False
    return True
