"""The handle that a NumPy function sees in place of an array while it is traced.

A `TracedArray` holds a rebindable value: either a `Storage` of its own, or a view of another one. So in-place code
becomes functional HLO: writing to a view rebinds the storage behind it, and everything else that reads this storage
sees the new value, as aliasing does in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.shape import element_strides, row_major_strides
from .array_methods import ArrayMethods
from .current_trace import current_trace
from .errors import HINTS, ConcretizationError, LeakedArrayError, TracerError, name_of_type
from .function_tables import (
    FUNCTIONS,
    METHODS,
    PYTHON_OPERATORS,
    SCALAR_OPERATORS,
    SEQUENCES,
    call_ufunc_method,
    not_implemented,
)
from .known_values import known_value
from .object_operands import equals_no_number, reflected, require_left
from .operators import Operators, refused, simple_power
from .promotion import plain
from .python_conversions import PythonConversions
from .several_types import is_of_several_types, with_types
from .trace import Storage, Trace

Instruction = hlo.Instruction


class View:
    """How a view reads its value from its base's, and how the base's value changes when the view is written.

    ``read(trace, base)`` and ``write(trace, base, value)`` map instructions to an instruction; ``write`` is None for
    views that NumPy makes read-only. They know the base in the ``base_shape`` that it had when the view was made. One that
    ``swaps_bytes`` reads an array of the other byte order in this machine's.
    """

    __slots__ = ("base", "base_shape", "read", "write", "seen", "value", "swaps_bytes")

    def __init__(self, base: TracedArray, read: Callable, write: Callable | None, swaps_bytes: bool = False) -> None:
        self.base, self.read, self.write = base, read, write
        self.base_shape = None if base.is_dynamic else base.shape
        self.swaps_bytes = swaps_bytes
        self.seen: Instruction | None = None
        self.value: Instruction | None = None

    def instruction(self, trace: Trace) -> Instruction:
        base = self.base_value(trace)
        if base is not self.seen:  # the base has been written, or is seen from another trace
            self.value, self.seen = self.read(trace, base), base
        return self.value

    def base_value(self, trace: Trace) -> Instruction:
        value = self.base.recorded(trace)
        return value if self.base_shape in (None, value.shape.dimensions) else hlo.reshape(value, self.base_shape)


class TracedArray(ArrayMethods, Operators, PythonConversions):
    """A NumPy array whose contents are not known yet; what is done with it is recorded as HLO.

    It has ndarray's operators, methods and attributes, and answers to NumPy's functions. ``weak_type`` holds for values
    of Python's own int, float and complex, which adapt to the dtype of the arrays that they meet (NEP 50).
    ``is_scalar`` holds for what NumPy returns as a scalar: it is never changed in place. ``unusual_strides`` are counted in
    elements, of fields of records in fractions of these, and None where the array lies in row-major order. ``exact`` is the
    `Choice` of a number whose type the program decides; other computations than `several_types` take it for one of the type
    that these have in common.
    """

    __slots__ = (
        "storage", "_shape", "element_type", "weak_type", "is_scalar", "_view", "unusual_strides", "exact", "__weakref__",
    )  # fmt: skip

    __array_priority__ = 1000.0

    is_dynamic = False  # whether sizes are known at run time only
    dynamic_type: type[TracedArray]  # the type of arrays of which this holds

    storage: Storage | None
    element_type: hlo.ElementType

    def __init__(
        self, storage: Storage | None, shape: hlo.Shape, weak_type: bool = False, is_scalar: bool | None = None
    ) -> None:
        self.storage = storage
        self._shape = shape.dimensions
        self.element_type = shape.element_type
        self.weak_type = weak_type
        self.is_scalar = not shape.dimensions if is_scalar is None else is_scalar
        self._view: View | None = None
        self.exact: Any = None
        self.unusual_strides = None if shape.layout is None or shape.is_row_major else element_strides(shape)

    @classmethod
    def from_instruction(
        cls, trace: Trace, instruction: Instruction, weak_type: bool = False, is_scalar: bool | None = None, origin: str = ""
    ) -> TracedArray:
        """A new array with this value. Of rank 0 it is a scalar, unless ``is_scalar`` says that it is a 0-d array."""
        if instruction.shape.dynamic_dimensions:
            cls = cls.dynamic_type
        return cls(Storage(trace, instruction, origin), instruction.shape, weak_type, is_scalar)

    @classmethod
    def view_of(
        cls,
        base: TracedArray,
        shape: tuple[int, ...],
        read: Callable,
        write: Callable | None,
        strides: tuple[int, ...] | None = None,
        element_type: hlo.ElementType | None = None,
        swaps_bytes: bool = False,
    ) -> TracedArray:
        """A view; ``strides`` are counted in elements, None for those of row-major order.

        Scalars have no views: theirs are copies.
        """
        shape_ = hlo.Shape(element_type or base.element_type, shape)
        if base.is_scalar:
            trace = require_trace(base)
            return cls.from_instruction(trace, read(trace, base.instruction(trace)), base.weak_type and not shape)
        array = cls(None, shape_, is_scalar=False)
        array._view, array.unusual_strides = View(base, read, write, swaps_bytes), strides
        return array

    # --- the value ---

    @property
    def base(self) -> TracedArray | None:
        """The array that this is a view of, None if it is not one."""
        return None if self._view is None else self._view.base

    @property
    def view_reader(self) -> Callable | None:
        """How a view reads its value from its base's."""
        return None if self._view is None else self._view.read

    @property
    def view_writer(self) -> Callable | None:
        """How what a view is set to becomes a part of its base's value; None where it is no view, or cannot be set."""
        return None if self._view is None else self._view.write

    @property
    def base_shape(self) -> tuple[int, ...] | None:
        """The shape that a view's base had when it was made; None where there is none, or it is known at run time only."""
        return None if self._view is None else self._view.base_shape

    @property
    def root(self) -> TracedArray:
        """The array that this is a view of, which is a view of no other; the array itself if it is no view."""
        array = self
        while array._view is not None:
            array = array._view.base
        return array

    @property
    def root_storage(self) -> Storage:
        """The storage that this array and all its views share."""
        return self.root.storage

    @property
    def has_other_order(self) -> bool:
        """Whether the elements lie in the byte order that is not this machine's (`byte_order`)."""
        array = self
        while array._view is not None and not array._view.swaps_bytes:
            array = array._view.base
        return array._view is None and type(array) is TracedArray and not self.is_scalar and array.storage.has_other_order

    def instruction(self, trace: Trace) -> Instruction:
        """The current value as an instruction of the trace.

        Raises LeakedArrayError if the array belongs to a trace that is finished, or to another thread's.
        """
        return trace.read(self.storage) if self._view is None else self._view.instruction(trace)

    def recorded(self, trace: Trace) -> Instruction:
        """As `instruction`; of an array whose sizes are known at run time only, too."""
        return self.instruction(trace)

    def set_value(self, instruction: Instruction) -> None:
        """Rebind to a value of the same shape and element type; a view writes through to its base."""
        if self.is_scalar:
            raise TypeError(f"'{self.dtype.type.__name__}' object does not support item assignment: scalars cannot be changed")
        trace = require_trace(self)
        array, value = self, instruction
        steps = []
        while array._view is not None:
            if array._view.write is None:
                raise ValueError("assignment destination is read-only")
            steps.append(array)
            array = array._view.base
        for step in steps:
            view = step._view
            view.seen, value, view.value = None, view.write(trace, view.base_value(trace), value), value
            view.seen = value  # reading back what was just written needs no instruction
            if not view.base.is_dynamic and view.base.shape != view.base_shape:
                value = hlo.reshape(value, view.base.shape)
        array.store(trace, value)

    def store(self, trace: Trace, value: Instruction) -> None:
        """Let an array that is no view have another value, which it, or a view of it, has been set to."""
        trace.write(self.storage, value)

    @property
    def is_writeable(self) -> bool:
        array = self
        while array._view is not None:
            if array._view.write is None:
                return False
            array = array._view.base
        return not self.is_scalar

    # --- attributes ---

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        """As `ndarray.shape`, which changes the array itself: the handle becomes a view of what it was."""
        trace = require_trace()
        if self.root_storage.trace is not trace:
            name = self.root_storage.origin or f"an array {self.element_type}{list(self.shape)}"
            raise NotImplementedError(f"{name} gets another shape in a loop or a branch: use .reshape")
        if self.storage is not None and self.storage.is_from_outside:
            if not (name := self.storage.origin or "an array from outside").startswith("argument "):
                raise NotImplementedError(f"{name} gets another shape, and is no argument: use .reshape")
            trace.program.compares_arrays = True  # another argument may be the same array
        old = TracedArray(self.storage, hlo.Shape(self.element_type, self.shape), is_scalar=False)
        old._view, old.unusual_strides = self._view, self.unusual_strides
        new = FUNCTIONS[np.reshape](old, shape)
        if new.base is not old:
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self.storage, self._view, self._shape, self.unusual_strides = None, new._view, new.shape, new.unusual_strides

    def become(self, other: TracedArray) -> None:
        """Let this handle stand for another array, that is no view."""
        self.storage, self._view, self._shape = other.storage, None, other.shape
        self.unusual_strides = other.unusual_strides

    @property
    def dtype(self) -> np.dtype:
        return self.element_type.dtype

    @property
    def dtype_class(self) -> Any:
        """The dtype, or int, float, complex for weakly typed values: what promotion goes by."""
        return self.element_type.dtype if not self.weak_type else _WEAK[self.element_type.kind]

    @property
    def run_time_type(self) -> type:
        """What ``type(x)`` is when the program runs."""
        if not self.is_scalar:
            return np.ndarray
        return _PYTHON_TYPES[self.element_type.kind] if self.weak_type else self.dtype.type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Elements to step over along each dimension, as the ndarray would have them."""
        return row_major_strides(self.shape) if self.unusual_strides is None else self.unusual_strides

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(int(step * self.itemsize) for step in self.element_strides)

    @property
    def T(self) -> TracedArray:
        return FUNCTIONS[np.transpose](self)

    @property
    def mT(self) -> TracedArray:
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return FUNCTIONS[np.matrix_transpose](self)

    @property
    def real(self) -> TracedArray:
        return FUNCTIONS[np.real](self)

    @real.setter
    def real(self, value: Any) -> None:
        FUNCTIONS[np.real](self)[...] = value

    @property
    def imag(self) -> TracedArray:
        part = FUNCTIONS[np.imag](self)
        part.weak_type = self.weak_type
        return part

    @imag.setter
    def imag(self, value: Any) -> None:
        FUNCTIONS[np.imag](self)[...] = value

    # --- what needs the contents ---

    @property
    def known_value(self) -> Any:
        """The contents, as an array, where they do not depend on the call; None where they do."""
        trace = current_trace()
        return None if trace is None else known_value(trace, self.instruction(trace))

    def settled_value(self, purpose: str) -> Any:
        """As `known_value`; of what comes from outside the contents become known, by a ConcretizationError."""
        known = self.known_value
        if known is None:
            trace = current_trace()
            if trace is not None and trace.depends_on_outside_alone(self.instruction(trace)):
                raise ConcretizationError(self, purpose)
        return known

    def __repr__(self) -> str:
        return f"TracedArray({self.dtype}[{','.join(map(str, self.shape))}]{', weak' if self.weak_type else ''})"

    # --- sequence ---

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[TracedArray]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[position] for position in range(self.shape[0]))

    def __getitem__(self, index: Any) -> TracedArray:
        return METHODS[np.ndarray.__getitem__](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        METHODS[np.ndarray.__setitem__](self, index, value)

    def __copy__(self) -> TracedArray:
        return self if self.is_scalar else FUNCTIONS[np.copy](self)

    def __deepcopy__(self, memo: dict) -> TracedArray:
        return self.__copy__()

    # --- operators ---

    __hash__ = PythonConversions.__hash__  # which a class with an __eq__ of its own has to name

    def __eq__(self, other: Any) -> Any:
        return self._compared_with_nothing(False) if self._equals_no_element(other) else super().__eq__(other)

    def __ne__(self, other: Any) -> Any:
        return self._compared_with_nothing(True) if self._equals_no_element(other) else super().__ne__(other)

    def _equals_no_element(self, other: Any) -> bool:
        """NumPy compares its numbers with texts, and the elements of arrays with objects, too, that no number is equal to."""
        if self.is_scalar:
            return not self.weak_type and isinstance(other, (str, bytes))
        return not self.takes(other) and equals_no_number(other)

    def _compared_with_nothing(self, value: bool) -> Any:
        trace = require_trace(self)
        same = hlo.broadcast(hlo.constant(value, hlo.PRED), self.shape, ())
        return TracedArray.from_instruction(trace, same)

    def takes(self, operand: Any) -> bool:
        """Whether an operator takes this operand; others may know what to do with arrays."""
        is_operand = isinstance(operand, _NUMBERS) or _is_sequence(operand)
        return is_operand and not getattr(type(operand), "is_dynamic", False)

    def leave(self, ufunc: np.ufunc, operand: Any, in_place: bool = False) -> Any:
        if not self.is_scalar:
            if in_place and getattr(type(operand), "stands_for_others", False):  # each of them changes the array
                operand.__array_ufunc__(ufunc, "__call__", self, operand, out=(self,))
                return self
            require_left(ufunc, operand, in_place)
        elif not self.weak_type and (method := reflected(ufunc, operand)) is not None:
            return method(operand, self.item())
        elif self.weak_type and self.exact is None:
            return refused(ufunc, (self.run_time_type, type(operand)), in_place)
        return NotImplemented

    def operate(self, ufunc: np.ufunc, operands: tuple) -> Any:
        if self.is_scalar and any(map(_is_sequence, operands)) and self._knows_no_sequences(ufunc, operands):
            return refused(ufunc, [self.run_time_type if one is self else type(one) for one in operands])
        if any(map(is_of_several_types, operands)):
            return with_types(self._operate, ufunc, operands)
        return self._operate(ufunc, operands)

    def _knows_no_sequences(self, ufunc: np.ufunc, operands: Sequence) -> bool:
        """NumPy's numbers make arrays of them, but for ``@``; Python's have an error, or repeat a list or a tuple."""
        if not self.weak_type or self.exact is not None:
            return ufunc is np.matmul
        return ufunc is not np.multiply or any(isinstance(one, range) for one in operands)

    def _operate(self, ufunc: np.ufunc, operands: Sequence) -> Any:
        """Where all operands are Python's numbers the result is, as Python's own arithmetic would leave it."""
        operands = tuple(map(plain, operands))
        if all([_is_weak(operand) for operand in operands]):
            return PYTHON_OPERATORS[ufunc](ufunc, *operands)
        if self.element_type.bits >= 64 and _is_complex_beside_float(*operands):
            found = METHODS[np.ufunc.__call__](ufunc, operands)
            found.weak_type = True
            return found
        if ufunc is np.power:
            ufunc, operands = simple_power(*operands) or (ufunc, operands)
        elif ufunc is np.multiply and (self.weak_type or self.is_scalar) and not self.shape:
            if isinstance(sequence := operands[operands[0] is self], (list, tuple)):
                if not (self.element_type.is_integer or self.weak_type and self.element_type is hlo.PRED):
                    raise TypeError(f"can't multiply sequence by non-int of type '{name_of_type(self.run_time_type)}'")
                return sequence * operator.index(self)  # Python's: a sequence, repeated
        if ufunc in SCALAR_OPERATORS and all(map(_is_scalar, operands)):
            return SCALAR_OPERATORS[ufunc](ufunc, operands)
        return METHODS[np.ufunc.__call__](ufunc, operands)

    def operate_in_place(self, ufunc: np.ufunc, operand: Any) -> Any:
        """A scalar is never changed: the name is bound to another one."""
        if self.is_scalar:
            if _is_sequence(operand) and self._knows_no_sequences(ufunc, (self, operand)):
                return refused(ufunc, (self.run_time_type, type(operand)), in_place=True)
            return self.operate(ufunc, (self, operand)) if self.takes(operand) else operand.operate(ufunc, (self, operand))
        if getattr(type(operand), "is_dynamic", False):
            return operand.__array_ufunc__(ufunc, "__call__", self, operand, out=(self,))
        return METHODS[np.ufunc.__call__](ufunc, (self, operand), out=(self,))

    # --- NumPy's protocols ---

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **arguments: Any) -> Any:
        if any([type(one) is not TracedArray and isinstance(one, Operators) for one in inputs]):
            return NotImplemented  # an operand that has rules of its own
        if method == "__call__":
            return METHODS[np.ufunc.__call__](ufunc, inputs, **arguments)
        return call_ufunc_method(ufunc, method, *inputs, **arguments)

    def implementation_of(self, method: Callable, function: Callable) -> Callable | None:
        """What a method of ndarray does, which is that function of NumPy's unless the table has one of its own."""
        return METHODS.get(method) or FUNCTIONS.get(function)

    def __array_function__(self, function: Callable, types: Any, arguments: tuple, keywords: dict) -> Any:
        if len(types) > 1 and not all([issubclass(kind, (TracedArray, np.ndarray)) for kind in types]):
            return NotImplemented  # the other one is asked
        found = FUNCTIONS.get(function)
        if found is None:
            raise not_implemented(function)
        return found(*arguments, **keywords)


_PYTHON_TYPES = {"pred": bool, "signed": int, "unsigned": int, "float": float, "complex": complex}
_WEAK = {"pred": np.dtype(bool), "signed": int, "unsigned": int, "float": float, "complex": complex}
_NUMBERS = (TracedArray, int, float, complex, np.ndarray, np.generic)


def _is_sequence(operand: Any) -> bool:
    return isinstance(operand, (list, tuple, range)) or type(operand) in SEQUENCES


def _is_scalar(operand: Any) -> bool:
    return operand.is_scalar if isinstance(operand, TracedArray) else not isinstance(operand, (np.ndarray, list, tuple, range))


def require_trace(*values: Any) -> Trace:
    """The current trace; without one, LeakedArrayError for the first traced array among the values."""
    trace = current_trace()
    if trace is None:
        for value in values:
            if isinstance(value, TracedArray):
                raise LeakedArrayError(value)
        raise TracerError("a traced operation is used outside of a traced function")
    return trace


def _is_weak(operand: Any) -> bool:
    return operand.weak_type if type(operand) is TracedArray else type(operand) in (bool, int, float, complex)


def _is_complex_beside_float(first: Any, *second: Any) -> bool:
    """Whether the first operand is Python's complex number, which takes np.float64, a class derived from float, for a float."""
    if not second or not (type(first) is complex or type(first) is TracedArray and first.dtype_class is complex):
        return False
    other = second[0]
    return type(other) is np.float64 or type(other) is TracedArray and other.is_scalar and other.element_type is hlo.F64


def as_index(value: Any, purpose: str) -> int:
    """An integer that has to be known while tracing; ConcretizationError says what for if it is traced."""
    if isinstance(value, TracedArray) and (value.shape or not value.element_type.is_integer or value.known_value is None):
        raise ConcretizationError(value, purpose, HINTS["range"])
    return operator.index(value)
