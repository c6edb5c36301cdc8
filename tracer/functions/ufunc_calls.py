"""Calls of ufuncs, and their methods outer and at.

Every call goes the same way: NumPy says in which dtypes it computes (`promotion.resolve`), operands are converted and
broadcast, the ufunc's kernel emits HLO, and the results go to ``out=`` where it is given. Without ``out=``, elements
that ``where=`` leaves out are 0 (in NumPy they are undefined).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import hlo
from ..indexing.basic import is_basic, is_mask_entry, require_mask_fits, with_known_masks
from ..indexing.index_arrays import select_arrays, update_selected
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.cast_errors import flag_errors_of_cast, handling
from ..recording.dynamic_array import DynamicArray, dynamic_arrays
from ..recording.function_tables import (
    CONTRACTIONS,
    FUNCTIONS,
    SCALAR_OPERATORS,
    UFUNCS,
    Kernel,
    dynamic_implementation,
    implements_method,
    ufunc_kernel,
)
from ..recording.intervals import is_shown_to_fit, is_traced_integer
from ..recording.memory_order import laid_out
from ..recording.operands import (
    as_strong,
    broadcast,
    broadcast_shapes,
    class_of,
    convert,
    instruction_of,
    prepare,
    require_out,
    result,
    sequence,
)
from ..recording.trace import Trace
from .dates import has_dates, known_as_dates, written_by
from .floating_point_errors import OVERFLOWS, flag_errors, flag_overflow_of_scalars
from .powers import require_nonnegative_exponent
from .recorded_calls import record_again

Instruction = hlo.Instruction

_COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}


@implements_method(np.ufunc.__call__)
def call_ufunc(
    ufunc: np.ufunc,
    inputs: tuple,
    out: Any = None,
    where: Any = True,
    casting: str = "same_kind",
    dtype: Any = None,
    signature: Any = None,
    sig: Any = None,
    order: str = "K",
    subok: bool = True,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """``ufunc(*inputs, ...)``. Raises what NumPy raises; NotImplementedError for a ufunc without a kernel."""
    plain = where is True and casting == "same_kind" and dtype is signature is sig is axes is axis is None and not keepdims
    inputs = tuple([value if type(value) is TracedArray else prepare(value) for value in inputs])
    if has_dates(inputs):
        options = {"where": known_as_dates(where), "casting": casting, "dtype": dtype}
        return written_by(ufunc, [known_as_dates(one) for one in inputs], options, out)
    if DynamicArray in map(type, inputs):  # made of a list
        if not plain:
            raise NotImplementedError(f"np.{ufunc.__name__} of a list whose length the program decides, with further arguments")
        return ufunc(*inputs) if out is None else ufunc(*inputs, out=out)
    kernel = UFUNCS.get(ufunc)
    if kernel is None:
        contraction = CONTRACTIONS.get(ufunc)
        if contraction is not None:
            if plain and out is None and len(inputs) == ufunc.nin:
                trace = require_trace(*inputs)
                (product,) = record_again(trace, (ufunc,), inputs, lambda: (contraction(*inputs).instruction(trace),))
                return result(trace, product)
            return contraction(*inputs, out=out, dtype=dtype, casting=casting, axes=axes, axis=axis, keepdims=keepdims)
        kernel = ufunc_kernel(ufunc)
    if not plain:
        _require_elementwise(ufunc, axes=axes, axis=axis, keepdims=keepdims or None)
    if signature is not None or sig is not None:
        signature = _signature(_first(signature, sig))
    if len(inputs) != ufunc.nin:
        inputs, out = _split_outputs(ufunc, inputs, out)
    if isinstance(where, (list, tuple)):
        where = sequence(where, np.dtype(bool))
    outputs = () if out is None else tuple([None if one is None else require_out(one) for one in _as_tuple(out)])
    trace = require_trace(*inputs)

    def record() -> tuple[Instruction, ...]:
        return _record(trace, ufunc, kernel, inputs, outputs, where, casting, _first(dtype, signature))

    if plain:
        form = (ufunc, handling(trace), *[None if one is None else (one.element_type, one.shape) for one in outputs])
        values = record_again(trace, form, inputs, record)
    else:
        values = record()
    operands = inputs if where is True else (*inputs, where)
    results = [_deliver(trace, value, one, operands, order) for value, one in zip(values, outputs or (None,) * ufunc.nout)]
    return results[0] if len(results) == 1 else tuple(results)


def _record(
    trace: Trace, ufunc: np.ufunc, kernel: Kernel, inputs: tuple, outputs: tuple, where: Any, casting: str, dtype: Any
) -> tuple[Instruction, ...]:
    """The results as instructions, each in the type of the array in ``outputs`` where one is given."""
    classes = tuple([class_of(value) for value in inputs])
    if ufunc in _COMPARISONS and int in classes:
        inputs = _comparable_integers(trace, inputs, classes)
        classes = tuple([class_of(value) for value in inputs])
    output_dtypes = tuple([None if one is None else one.dtype for one in outputs])
    types = promotion.loop_types(ufunc, classes, output_dtypes, dtype, casting)
    operands = [instruction_of(trace, value, kind) for value, kind in zip(inputs, types)]
    shapes = [operand.shape.dimensions for operand in operands]
    shape = broadcast_shapes(*shapes) if len(shapes) > 1 else shapes[0]
    if outputs or where is not True:
        shape = _shape_with_outputs(shape, outputs, where)
    if ufunc is np.power:
        require_nonnegative_exponent(trace, inputs[1], operands[1], where)
    operands = [broadcast(operand, shape) for operand in operands]
    emitted = _as_tuple(kernel.emit(*operands))
    if handling(trace) and not kernel.clears_flags:
        mask = None if where is True else broadcast(instruction_of(trace, where, hlo.PRED), shape)
        flag_errors(trace, ufunc, operands, emitted, mask, all(map(_is_scalar, inputs)))
    return tuple(
        [
            _masked(trace, _cast(trace, convert(value, kind), kind if out is None else out.element_type), out, where)
            for value, kind, out in zip(emitted, types[ufunc.nin :], outputs or (None,) * ufunc.nout)
        ]
    )


def _cast(trace: Trace, value: Instruction, element_type: hlo.ElementType) -> Instruction:
    return flag_errors_of_cast(trace, value, convert(value, element_type))


def operate_on_scalars(ufunc: np.ufunc, operands: tuple) -> TracedArray:
    """What an operator does with NumPy's scalars."""
    found = call_ufunc(ufunc, operands)
    trace = require_trace(found)
    if handling(trace) and found.element_type.is_integer and found.is_scalar:
        flag_overflow_of_scalars(trace, ufunc, [instruction_of(trace, one, found.element_type) for one in operands])
    return found


SCALAR_OPERATORS.update(dict.fromkeys(OVERFLOWS, operate_on_scalars))


def _is_scalar(value: Any) -> bool:
    return value.is_scalar if isinstance(value, TracedArray) else not isinstance(value, np.ndarray)


def _require_elementwise(ufunc: np.ufunc, **of_dimensions: Any) -> None:
    for name, value in of_dimensions.items():
        if value is not None:
            raise TypeError(f"{ufunc.__name__}() got an unexpected keyword argument {name!r}")


def _signature(signature: Any) -> str | tuple:
    """The types of a loop, as text or one by one. Raises what NumPy raises where they are none."""
    if not isinstance(signature, (str, bytes, tuple)):
        raise TypeError("the signature object to ufunc must be a string or a tuple.")
    if len(signature) == 1:
        raise TypeError(
            "a single type is given by ``dtype``, or by a tuple of as many elements as there are operands and results"
        )
    if isinstance(signature, tuple):
        return signature
    text = signature if isinstance(signature, str) else signature.decode()
    for letter in text.replace("->", ""):
        try:
            np.dtype(letter)
        except TypeError:
            raise ValueError(f"Invalid data-type for array: {letter!r} in the signature {text!r}") from None
    return text


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _as_tuple(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def _split_outputs(ufunc: np.ufunc, inputs: tuple, out: Any) -> tuple[tuple, Any]:
    if ufunc.nin < len(inputs) <= ufunc.nargs and out is None:
        outputs = inputs[ufunc.nin :]
        return inputs[: ufunc.nin], outputs + (None,) * (ufunc.nout - len(outputs))
    raise TypeError(
        f"{ufunc.__name__}() takes from {ufunc.nin} to {ufunc.nargs} positional arguments but {len(inputs)} were given"
    )


def _shape_with_outputs(shape: tuple[int, ...], outputs: tuple, where: Any) -> tuple[int, ...]:
    masked = (
        shape
        if where is True
        else broadcast_shapes(shape, np.shape(where) if not isinstance(where, TracedArray) else where.shape)
    )
    whole = broadcast_shapes(masked, *(one.shape for one in outputs if one is not None))
    for one in outputs:
        if one is not None and one.shape != whole:
            raise ValueError(
                f"non-broadcastable output operand with shape {one.shape} doesn't match the broadcast shape {whole}"
            )
    return whole


def _masked(trace: Trace, value: Instruction, out: TracedArray | None, where: Any) -> Instruction:
    """The value where the mask is true; elsewhere what the array in ``out`` holds, or 0."""
    if where is True:
        return value
    if class_of(where) != np.dtype(bool):
        raise TypeError(
            f"Cannot cast array data from {np.dtype(class_of(where))!r} to dtype('bool') according to the rule 'safe'"
        )
    shape = value.shape.dimensions
    mask = broadcast(instruction_of(trace, where, hlo.PRED), shape)
    other = out.instruction(trace) if out is not None else broadcast(hlo.constant(0, value.shape.element_type), shape)
    return hlo.select(mask, value, other)


def _deliver(trace: Trace, value: Instruction, out: TracedArray | None, operands: Sequence[Any], order: str) -> TracedArray:
    """The result as a fresh array, or written to out."""
    if out is None:
        return laid_out(result(trace, value), operands, order)
    out.set_value(value)
    return out


def _comparable_integers(trace: Trace, inputs: tuple, classes: tuple) -> tuple:
    """The operands of a comparison; of integers with a Python int that their dtype cannot hold, others that compare alike."""
    for position in (0, 1):
        value, other = inputs[position], classes[1 - position]
        if classes[position] is not int or isinstance(other, type) or other.kind not in "iu":
            continue
        if isinstance(value, TracedArray):
            if is_traced_integer(value) and not is_shown_to_fit(trace, value, hlo.element_type_of(other)):
                return (as_strong(value), inputs[1]) if position == 0 else (inputs[0], as_strong(value))
            continue
        limits = np.iinfo(other)
        if limits.min <= value <= limits.max:
            continue
        # In its place, True with False: they compare alike.
        above = value > limits.max
        replaced = [np.bool_(above), np.bool_(above)]
        replaced[1 - position] = _filled(not above, inputs[1 - position].shape)
        return tuple(replaced)
    return inputs


def _filled(value: bool, shape: tuple[int, ...]) -> TracedArray:
    trace = require_trace()
    return result(trace, broadcast(hlo.constant(value, hlo.PRED), shape))


# --- methods ---


@implements_method(np.ufunc.outer)
def outer(ufunc: np.ufunc, first: Any, second: Any, **arguments: Any) -> Any:
    """The ufunc of all pairs of an element of first and one of second."""
    if ufunc.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    if has_dates((first, second)):
        return ufunc.outer(known_as_dates(first), known_as_dates(second), **arguments)
    first, second = as_strong(first), as_strong(second)
    column = first[(...,) + (None,) * second.ndim] if first.ndim else first
    return call_ufunc(ufunc, (column, second), **arguments)


@implements_method(np.ufunc.at)
def at(ufunc: np.ufunc, array: Any, index: Any, *operands: Any) -> None:
    """In place, ``array[index] = ufunc(array[index], *operands)``, once for each time that an element is selected."""
    array = require_out(array)
    if ufunc.nout != 1:
        raise ValueError("Only single output ufuncs supported at this time")
    index = with_known_masks(index)
    if dynamic_arrays((index,)):
        dynamic_implementation(np.ufunc.at)(ufunc, array, index, *operands)
    elif is_basic(index):
        array[index] = call_ufunc(ufunc, (array[index], *operands))
    elif isinstance(index, TracedArray) and is_mask_entry(index):
        if any(getattr(operand, "shape", np.shape(operand)) != () for operand in operands):
            dynamic_implementation(np.ufunc.at)(ufunc, array, index, *operands)
            return
        require_mask_fits(array, index.shape, 0)
        chosen = index.reshape(*index.shape, *[1] * (array.ndim - index.ndim))
        array[...] = FUNCTIONS[np.where](chosen, call_ufunc(ufunc, (array, *operands)), array)
    else:
        _at_arrays(ufunc, array, index, operands)


class Update(NamedTuple):
    """How a ufunc updates the elements of an array: by ``combine(element, update)``, with updates of this type."""

    combine: hlo.Computation
    element_type: hlo.ElementType


def update_of(ufunc: np.ufunc, array: TracedArray, values: list[Any]) -> Update:
    """In the types of the ufunc's loop; the results are cast as NumPy does here: unsafely."""
    types = promotion.loop_types(ufunc, (array.dtype, *map(class_of, values)))
    own = array.element_type
    given = types[1] if values else own
    emit = ufunc_kernel(ufunc).emit

    def updated(current: Instruction, *parameters: Instruction) -> Instruction:
        *unused, update = parameters
        combined = emit(convert(current, types[0]), *[update] * len(values))
        combined = convert(convert(combined, types[-1]), own)
        return hlo.tuple(combined, unused[0]) if unused else combined

    shapes = [hlo.Shape(kind) for kind in ((own, given) if given is own else (own, given, own, given))]
    return Update(hlo.computation(f"{ufunc.__name__}_at", shapes, updated), given)


def _at_arrays(ufunc: np.ufunc, array: TracedArray, index: Any, operands: tuple) -> None:
    values = [prepare(operand) for operand in operands]
    trace, (combine, given) = require_trace(array), update_of(ufunc, array, values)
    selection = select_arrays(array, index)
    updates = instruction_of(trace, values[0], given) if values else hlo.constant(0, given)
    if ufunc is np.power:
        require_nonnegative_exponent(trace, values[0], updates)
    if broadcast_shapes(selection.shape, updates.shape.dimensions) != selection.shape:
        raise ValueError("array is not broadcastable to correct shape")
    update_selected(trace, selection, broadcast(updates, selection.shape), combine)
