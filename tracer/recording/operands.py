"""From what a user passes to instructions: conversion, constants, broadcasting, axes."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ... import hlo
from . import promotion
from .array import TracedArray, as_index, require_trace
from .cast_errors import flag_errors_of_cast
from .function_tables import ARRAYS_OF_LISTS, SEQUENCES
from .intervals import require_fits
from .several_types import loses_integers, or_one
from .trace import Trace

Instruction = hlo.Instruction


def _arrays_are_numbers() -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(np.ones(1)) == 1
        except TypeError:
            return False


# Whether an array of one element can be an element, and Python's number: not so since NumPy 2.4.
ARRAYS_ARE_NUMBERS = _arrays_are_numbers()


def class_of(value: Any) -> Any:
    """The promotion class of an operand: a dtype, or int, float, complex where it is weak. Raises TypeError."""
    if type(value) is TracedArray:
        return value.dtype_class
    found = promotion.scalar_class(value)
    if found is None:
        if isinstance(value, TracedArray):
            raise NotImplementedError(f"an array whose size is known at run time only, {value!r}, is not implemented here")
        raise TypeError(f"an array or a number is required, {type(value).__name__} given: {value!r}")
    return found


def prepare(value: Any) -> Any:
    """The operand itself, or a traced array made of it where it is a sequence."""
    if isinstance(value, (list, tuple, range)):
        return sequence(value)
    return SEQUENCES[type(value)](value) if type(value) in SEQUENCES else value


def sequence(value: Sequence, dtype: Any = None) -> TracedArray:
    """What np.array makes of nested sequences: a constant, or a stack where anything in them is traced.

    Raises ValueError where the shapes of the parts differ.
    """
    for kind in set(map(type, value)) & ARRAYS_OF_LISTS.keys():
        return ARRAYS_OF_LISTS[kind](value, dtype)
    trace = require_trace()
    if not has_traced(value) and not any(map(_is_of_open_length, value)):
        array = np.asarray(value, dtype)
        return TracedArray.from_instruction(trace, hlo.constant(array, hlo.element_type_of(array.dtype)), is_scalar=False)
    parts = [prepare(part) for part in value]
    if any(isinstance(part, TracedArray) and part.is_dynamic for part in parts):
        stacked = np.stack(parts)
        return stacked if dtype is None else stacked.astype(dtype)
    shapes = {shape_of(part) for part in parts}
    if len(shapes) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape: its parts have the "
            f"shapes {', '.join(map(str, sorted(shapes)))}"
        )
    # Here, other than in promotion, Python's numbers count as int64, float64 and complex128.
    common = promotion.result_dtype([np.dtype(class_of(part)) for part in parts]) if dtype is None else promotion.native(dtype)
    element_type = hlo.element_type_of(common)
    (shape,) = shapes
    for part in parts:
        require_element(element_type, part)
    rows = [hlo.reshape(instruction_of(trace, part, element_type), (1, *shape)) for part in parts]
    whole = rows[0] if len(rows) == 1 else hlo.concatenate(*rows, dimensions=(0,))
    return result(trace, whole)


def _is_of_open_length(part: Any) -> bool:
    if isinstance(part, (list, tuple)):
        return not ARRAYS_OF_LISTS.keys().isdisjoint(map(type, part))
    return type(part) in SEQUENCES


def zero_dimensional(array: TracedArray) -> TracedArray:
    """The array, one of no dimensions for a scalar, where NumPy does not return such."""
    if not array.is_scalar:
        return array
    trace = require_trace(array)
    return TracedArray.from_instruction(trace, array.instruction(trace), is_scalar=False)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of an operand, which may be an ndarray, a number or traced."""
    return value.shape if isinstance(value, TracedArray) else np.shape(value)


def require(condition: Any, exception_type: type[Exception], message: str, value: TracedArray | None = None) -> None:
    """Raise where the condition does not hold: now, if it is known, otherwise when the program runs, of a value (`Trace`)."""
    if isinstance(condition, TracedArray):
        trace = require_trace(condition)
        shown = None if value is None else value.instruction(trace)
        trace.add_error_flag(hlo.not_(condition.instruction(trace)), exception_type, message, shown)
    elif not condition:
        raise exception_type(message)


def known_number(value: Any) -> Any:
    """A number that decides what is computed, and anything else as it is. Raises ConcretizationError where it is not known."""
    if not isinstance(value, TracedArray) or value.ndim:
        return value
    return float(value) if value.element_type.is_float else operator.index(value)


def require_same_shape(first: TracedArray, second: TracedArray, error: type[Exception], message: str) -> None:
    """Raises the error, perhaps when the program runs, where two arrays differ in shape: one element is not as good as many."""
    if first.ndim != second.ndim:
        raise error(message)
    for size, other in zip(first.shape, second.shape):
        if isinstance(size, TracedArray) or isinstance(other, TracedArray):
            require(size == other, error, message)
        elif size != other:
            raise error(message)


def has_traced(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(has_traced(part) for part in value)
    return isinstance(value, TracedArray)


def first_traced(value: Any) -> TracedArray | None:
    """The first traced array that this is, or holds."""
    if isinstance(value, dict):
        value = tuple(dict.values(value))
    if isinstance(value, (list, tuple)):
        return next((found for part in value if (found := first_traced(part)) is not None), None)
    return value if isinstance(value, TracedArray) else None


def as_traced(value: Any, dtype: Any = None) -> TracedArray:
    """A value as a traced array: an ndarray is captured, a number becomes a constant (weak if it is Python's), sequences
    are stacked.

    With a dtype it is converted, unsafely. Raises TypeError for what is no array, number or sequence of these.
    """
    value = prepare(value)
    if isinstance(value, TracedArray):
        if dtype is None or value.dtype == dtype:
            return value
        if value.is_dynamic:
            return value.astype(dtype)
        trace = require_trace(value)
        return result(trace, instruction_of(trace, value, hlo.element_type_of(dtype)))
    trace = require_trace()
    kind = class_of(value)
    weak = isinstance(kind, type) and dtype is None
    element_type = hlo.element_type_of(dtype if dtype is not None else kind)
    return TracedArray.from_instruction(trace, instruction_of(trace, value, element_type), weak)


def as_strong(value: Any) -> TracedArray:
    """As `as_traced`, for functions in which Python's numbers do not adapt but are int64, float64 or complex128."""
    if isinstance(value, TracedArray) and value.weak_type:
        trace = require_trace(value)
        return result(trace, value.instruction(trace))
    return as_traced(value, None if isinstance(value, (list, tuple, range, TracedArray)) else np.dtype(class_of(value)))


def instruction_of(trace: Trace, value: Any, element_type: hlo.ElementType) -> Instruction:
    """An operand, of its own rank, as an instruction with this element type.

    Raises OverflowError, as NumPy does, for a Python int that does not fit.
    """
    if type(value) is TracedArray:
        if value.exact is not None and (value.element_type is not element_type or loses_integers(value)):
            return _of_its_own_type(trace, value, element_type)
        instruction = value.instruction(trace)
        if value.element_type is element_type:
            return instruction
        is_number = value.weak_type and value.element_type is not hlo.PRED and not value.element_type.is_complex
        if is_number and element_type.is_integer and element_type is not hlo.PRED:
            (require_fits if value.element_type.is_integer else require_integer)(trace, value, element_type)
        return flag_errors_of_cast(trace, instruction, convert(instruction, element_type))
    if isinstance(value, np.ndarray):
        captured = trace.capture(value)
        return flag_errors_of_cast(trace, captured, convert(captured, element_type))
    return hlo.constant(value, element_type)


def _of_its_own_type(trace: Trace, number: TracedArray, element_type: hlo.ElementType) -> Instruction:
    """A number whose type the program decides, made of the one that it is: the common type may hold less of it."""
    places, values = number.exact.number, number.exact.values
    first, *others = [instruction_of(trace, or_one(places == k, one), element_type) for k, one in enumerate(values)]
    for k, other in enumerate(others, 1):
        first = hlo.select((places == k).instruction(trace), other, first)
    return first


def require_element(kind: hlo.ElementType, value: Any) -> None:
    """Raises what Python does where a scalar becomes an element: of integers by ``int()``, of floats by ``float()``.

    Of an array NumPy converts the elements without a word, and so it drops the imaginary part of its own complex scalars.
    """
    if isinstance(value, TracedArray):
        is_scalar, is_complex, is_float = value.is_scalar, value.element_type.is_complex, value.element_type.is_float
        is_of_python = value.weak_type
    else:
        is_scalar = isinstance(value, (complex, float, np.generic))
        is_complex, is_float = isinstance(value, (complex, np.complexfloating)), isinstance(value, (float, np.floating))
        is_of_python = type(value) is complex
    if kind is hlo.PRED:
        return
    if is_complex and is_of_python and not kind.is_complex:
        what = ("int", "a string, a bytes-like object") if kind.is_integer else ("float", "a string")
        raise TypeError(f"{what[0]}() argument must be {what[1]} or a real number, not 'complex'")
    if not is_scalar or is_of_python or kind.kind != "signed":  # unsigned ones NumPy converts without a word
        return
    if is_float:
        require_integer(require_trace(), as_traced(value), kind)
    elif not is_complex:
        _require_element_fits(require_trace(), value, kind)


def no_element(kind: hlo.ElementType, values: Any) -> Exception:
    """What NumPy raises where an element is set to several values."""
    if not kind.is_complex:
        return ValueError("setting an array element with a sequence.")
    if isinstance(values, (list, tuple)):
        return TypeError(f"must be real number, not {type(values).__name__}")
    return TypeError("only 0-dimensional arrays can be converted to Python scalars")


def as_elements(kind: hlo.ElementType, values: Any) -> Any:
    """Values that become elements of this type one by one, where they are numbers or sequences of these.

    Raises TypeError where Python does not make such an element of a number.
    """
    if isinstance(values, (list, tuple)):
        return sequence(values, kind.dtype)
    values = prepare(values)
    require_element(kind, values)
    return values


def as_safe_elements(kind: hlo.ElementType, values: Any) -> Any:
    """As `as_elements`; raises TypeError for arrays that the rule "safe" does not cast, too."""
    if isinstance(values, np.ndarray) or isinstance(values, TracedArray) and not (values.is_scalar or values.weak_type):
        promotion.require_cast(values.dtype, kind.dtype, "safe", "array data" if values.ndim else "scalar")
    return as_elements(kind, values)


def _require_element_fits(trace: Trace, value: Any, kind: hlo.ElementType) -> None:
    """One of NumPy's integers becomes an element by ``int()``: OverflowError where a signed type has no such number."""
    if isinstance(value, np.generic):
        np.zeros((), kind.dtype)[()] = value
        return
    limits, given = np.iinfo(kind.dtype), np.iinfo(value.dtype) if value.element_type is not hlo.PRED else None
    if given is None or limits.min <= given.min and given.max <= limits.max:
        return
    number = value.instruction(trace)
    if value.element_type is hlo.U64:
        trace.add_error_flag(hlo.gt(number, 2**63 - 1), OverflowError, "Python int too large to convert to C long")
    if kind.bits < 64:
        beyond = hlo.gt(number, min(int(limits.max), int(given.max)))
        if given.min < limits.min:
            beyond = hlo.or_(hlo.lt(number, int(limits.min)), beyond)
        trace.add_error_flag(beyond, OverflowError, f"Python integer {{}} out of bounds for {kind.dtype}", number)


def require_integer(trace: Trace, value: TracedArray, element_type: hlo.ElementType) -> None:
    """A Python float becomes an element of an integer array: an error, as in NumPy, where that has no such number."""
    limits, number = np.iinfo(element_type.dtype), value.instruction(trace)
    trace.add_error_flag(hlo.ne(number, number), ValueError, "cannot convert float NaN to integer")
    beyond = hlo.or_(hlo.le(number, float(limits.min) - 1.0), hlo.ge(number, float(limits.max) + 1.0))
    trace.add_error_flag(beyond, OverflowError, f"Python float out of bounds for {element_type.dtype}")


def convert(operand: Instruction, element_type: hlo.ElementType) -> Instruction:
    """The operand in another type; a complex one loses its imaginary part explicitly, floats become integers as in NumPy."""
    source = operand.shape.element_type
    if source is element_type:
        return operand
    if source.is_complex and not element_type.is_complex and element_type is not hlo.PRED:
        return convert(hlo.real(operand), element_type)
    if source.is_float and element_type.is_integer and element_type.bits >= 8:
        return _integers_of_floats(operand, element_type)
    return hlo.convert(operand, element_type)


def _integers_of_floats(operand: Instruction, element_type: hlo.ElementType) -> Instruction:
    """NumPy leaves to the processor what becomes of NaN and of numbers out of range, and converts by way of wider integers."""
    if operand.shape.element_type.bits < 32:
        operand = hlo.convert(operand, hlo.F32)
    if element_type is hlo.U64:
        half = 2.0**63
        upper = hlo.xor(_in_signed(hlo.subtract(operand, half), hlo.S64), -(2**63))
        return hlo.convert(hlo.select(hlo.ge(operand, half), upper, _in_signed(operand, hlo.S64)), hlo.U64)
    wide = hlo.S64 if element_type is hlo.U32 or element_type.bits == 64 else hlo.S32
    return hlo.convert(_in_signed(operand, wide), element_type)


def _in_signed(operand: Instruction, element_type: hlo.ElementType) -> Instruction:
    converted = hlo.convert(operand, element_type)  # which saturates
    if _saturates():
        return converted
    return hlo.select(hlo.lt(operand, 2.0 ** (element_type.bits - 1)), converted, -(2 ** (element_type.bits - 1)))


@cache
def _saturates() -> bool:
    """Whether the processor does as HLO, or makes the least integer of what has no other, as x86 does."""
    with np.errstate(all="ignore"):
        return np.array([np.nan, np.inf]).astype(np.int32).tolist() == [0, 2**31 - 1]


def result(trace: Trace, instruction: Instruction, weak_type: bool = False) -> TracedArray:
    """A fresh array with this value; of rank 0, a scalar."""
    return TracedArray.from_instruction(trace, instruction, weak_type)


def value(array: Any) -> tuple[Trace, Instruction]:
    """The current trace and the array's value in it; the array is converted by `as_traced` first."""
    array = as_traced(array)
    trace = require_trace(array)
    return trace, array.instruction(trace)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape. Raises ValueError, as NumPy words it."""
    first = shapes[0]
    if shapes.count(first) == len(shapes):
        return first
    rank = max(map(len, shapes))
    sizes = [1] * rank
    for shape in shapes:
        for dimension, size in enumerate(shape, rank - len(shape)):
            if size != 1 and size != sizes[dimension]:
                if sizes[dimension] != 1:
                    listed = " ".join(str(shape).replace(" ", "") for shape in shapes)
                    raise ValueError(f"operands could not be broadcast together with shapes {listed} ")
                sizes[dimension] = size
    return tuple(sizes)


def broadcast(operand: Instruction, shape: tuple[int, ...]) -> Instruction:
    """The operand stretched to the shape by NumPy's rule; the operand itself where it has it."""
    dimensions = operand.shape.dimensions
    if dimensions == shape:
        return operand
    if not dimensions:
        return hlo.broadcast(operand, shape, ())
    return hlo.broadcast_in_dim(operand, shape, range(len(shape) - len(dimensions), len(shape)))


def settled(value: Any, purpose: str) -> Any:
    """The contents of what is traced and does not depend on the call; all else as it is.

    What comes from outside becomes known, by a ConcretizationError; the purpose is for its message.
    """
    known = value.settled_value(purpose) if isinstance(value, TracedArray) else None
    return value if known is None else known[()]


def scalar_value(operand: Instruction) -> Any:
    """The number that all elements of the operand are, where that is known; None otherwise."""
    while operand.opcode == "broadcast":
        operand = operand.operands[0]
    if operand.opcode == "constant" and operand.attributes["literal"].ndim == 0:
        return operand.attributes["literal"][()]
    return None


def scalar_constant(value: Any) -> Any:
    """The number behind a scalar operand of the user's, None where it is traced or no scalar."""
    if isinstance(value, (int, float, complex, np.generic)):
        return value
    return None


# --- axes ---


def require_no_bool(axis: Any) -> None:
    """Raises TypeError for a bool where an axis is given: in NumPy, what C reads takes none, and what is Python does."""
    if any(isinstance(one, (bool, np.bool_)) for one in one_or_several(axis)):
        raise TypeError("an integer is required for the axis")


def normalize_axis(axis: Any, rank: int, name: str = "axis") -> int:
    """A dimension number in [0, rank). Raises AxisError, or ConcretizationError where it is traced."""
    axis = as_index(axis, f"as {name}")
    if not -rank <= axis < rank:
        raise np.exceptions.AxisError(axis, rank, *(() if name == "axis" else (name,)))
    return axis + rank if axis < 0 else axis


def normalize_axes(axis: Any, rank: int, allow_duplicate: bool = False) -> tuple[int, ...]:
    """Dimension numbers of an axis argument: None means all, in order. Raises AxisError; ValueError for repeated ones."""
    if axis is None:
        return tuple(range(rank))
    axes = tuple(normalize_axis(one, rank) for one in one_or_several(axis))
    if not allow_duplicate and len(set(axes)) < len(axes):
        raise ValueError("duplicate value in 'axis'")
    return axes


def one_or_several(value: Any) -> tuple[Any, ...]:
    """The numbers of a sequence or an array, or of a number by itself: they may be traced.

    >>> one_or_several(3), one_or_several([3, 4]), one_or_several(np.array([3, 4]))
    ((3,), (3, 4), (np.int64(3), np.int64(4)))
    """
    if isinstance(value, (tuple, list, range)) or isinstance(value, (np.ndarray, TracedArray)) and value.ndim:
        return tuple(value)
    return (value,)


def as_size(value: Any) -> int:
    """A size of a shape: an integer that is known, which NumPy does not take a bool for."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("an integer is required")
    return as_index(value, "as a size of a shape")


def as_single_size(value: Any) -> int:
    """The same of a shape that is one number."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"expected a sequence of integers or a single integer, got '{value!r}'")
    return as_index(value, "as a shape")


def shape_argument(shape: Any) -> tuple[int, ...]:
    """A shape given as an integer or a sequence. Raises ConcretizationError for traced sizes, ValueError for negative ones."""
    if isinstance(shape, Iterable) and not (isinstance(shape, TracedArray) and shape.ndim == 0):
        sizes = tuple(map(as_size, shape))
    else:
        sizes = (as_single_size(shape),)
    if any(size < 0 for size in sizes):
        raise ValueError("negative dimensions are not allowed")
    return sizes


def store(out: Any, array: TracedArray, casting: str = "unsafe", stands_for_it: bool = False) -> TracedArray:
    """Write a result to an ``out=`` array, and return this. Raises as NumPy does where shape or dtype do not fit.

    An array that ``stands_for_it`` NumPy converts to the result's dtype first, and back behind the computation.
    """
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return array
    out = require_out(out)
    if stands_for_it:
        promotion.require_cast(out.dtype, array.dtype, "safe")
    if out.shape != array.shape:
        raise ValueError(f"output array has wrong shape: it is {out.shape}, and the result has {array.shape}")
    promotion.require_cast(array.dtype, out.dtype, casting)
    trace = require_trace(out)
    out.set_value(instruction_of(trace, array, out.element_type))
    return out


def require_out(out: Any) -> TracedArray:
    if isinstance(out, TracedArray):
        if out.is_scalar:
            raise TypeError("return arrays must be of ArrayType: out= was given a scalar")
        if not out.is_writeable:
            raise ValueError("output array is read-only")
        return out
    if isinstance(out, np.ndarray):
        raise TypeError(
            "out= must be a traced array here: an ndarray made outside of the trace, or by np.zeros or np.empty, cannot hold "
            "traced values. Make it with np.empty_like(x) or phlox.numpy.empty(...), or pass it as an argument."
        )
    raise TypeError("return arrays must be of ArrayType")
