"""Methods of NumPy's generators that draw integers, orders and elements.

Source of what is drawn, and of what is required: ``numpy/random/_generator.pyx``, ``mtrand.pyx`` and
``_bounded_integers.pyx.in``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import hlo
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import CHOICES
from ..recording.intervals import note_interval
from ..recording.operands import as_traced, require, shape_of
from .integer_bounds import bounds_of
from .random_draws import (
    GENERATOR,
    RANDOM_STATE,
    Form,
    Source,
    form_of,
    is_known,
    known_integer,
    methods,
    not_drawn,
    operand,
    parameter,
)
from .random_generators import LIBRARY, RandomGenerator


@methods("integers", GENERATOR)
def integers(source, low, high=None, size=None, dtype=np.int64, endpoint=False):
    return _integers(source, low, high, size, dtype, bool(endpoint))


@methods("randint", RANDOM_STATE)
def randint(source, low, high=None, size=None, dtype=int):
    return _integers(source, low, high, size, dtype, False)


@methods("bytes")
def bytes_of_words(source, length):
    count = known_integer(length)
    words = math.trunc((count - 1) / 4) + 1  # as C divides: there is one word for no bytes, too
    if words < 0:
        raise not_drawn()
    return _integers(source, 0, 2**32, words, np.uint32, False).view(np.uint8)[:count].tobytes()


def _integers(source: Source, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool) -> Any:
    low, high = (0, low) if high is None else (low, high)
    low, high = parameter(low, "biu"), parameter(high, "biu")
    form = form_of(size, low, high)
    is_python = dtype is int or dtype is bool
    if form.count == 0 and np.dtype(dtype).kind in "biu":
        return form.result(hlo.constant(np.zeros(0, dtype)))
    if is_known(low, high) and not shape_of(low) and not shape_of(high):
        return _between(source, form, int(low), int(high) - (not endpoint), np.dtype(dtype), is_python)
    is_type = np.dtype(dtype).isnative and np.dtype(dtype).kind in "biu"
    if not is_type:
        raise not_drawn()
    bounds = bounds_of(low, high, dtype, endpoint)
    last = bounds.size - np.uint64(1)
    words = [operand(one, form, np.uint64) for one in (bounds.first, last)]
    element_type = hlo.element_type_of(np.dtype(dtype))
    if shape_of(low) or shape_of(high):
        return form.result(source.draw(f"bounded_{element_type.name}", form, element_type, *words))
    return form.result(source.draw(f"bounded_fill_{element_type.name}", form, element_type, *words), is_python)


def _between(source: Source, form: Form, first: int, last: int, dtype: np.dtype, is_python: bool) -> TracedArray:
    """Integers between two that are known."""
    is_type = dtype.isnative and dtype.kind in "biu"
    least, most = (np.iinfo(dtype).min, np.iinfo(dtype).max) if is_type and dtype.kind != "b" else (0, 1)
    if not is_type or not least <= first <= last <= most:
        raise not_drawn()  # NumPy says what is wrong
    element_type = hlo.element_type_of(dtype)
    bounds = [hlo.constant(number % 2**64, hlo.U64) for number in (first, last - first)]
    made = form.result(source.draw(f"bounded_fill_{element_type.name}", form, element_type, *bounds), is_python)
    if made.weak_type and element_type is hlo.S64:
        note_interval(require_trace(), made, (first, last))
    return made


# --- orders ---

_TEXTS = (str, bytes)
_MOST_TEXTS = 64  # each of which may be at each place


def _order(source: Source, count: int) -> TracedArray:
    """The numbers from 0 on, in a random order."""
    form = Form((count,), False)
    return form.result(source.draw("permutation", form, hlo.S64))


def _axis(source: Source, array: TracedArray, axis: Any) -> int:
    found = known_integer(axis)
    if array.is_dynamic or not -array.ndim <= found < array.ndim or source.is_legacy and found:
        raise not_drawn()
    return found % array.ndim


def shuffle_list(source: Source, values: list) -> None:
    """Put the elements of a list into a random order."""
    if len(values) < 2:
        return
    order, known = _order(source, len(values)), _texts_of(values)
    if known is None:
        LIBRARY["reordered"](values, order)
        return
    texts, numbers = known
    numbers = order if numbers is None else np.take(as_traced(numbers), order, mode="clip")
    trace = require_trace()
    values[:] = [CHOICES[0](_number(numbers[place].instruction(trace), len(texts)), texts) for place in range(len(values))]


def _texts_of(values: list) -> tuple[tuple, list | None] | None:
    """A few known texts, and which of these the elements are, None for all in order; None where they are something else."""
    if len(values) <= _MOST_TEXTS and all([type(one) in _TEXTS for one in values]):
        return tuple(values), None
    if not all([type(one) is CHOICES[0] for one in values]):
        return None
    texts = values[0].values
    is_known = all([type(text) in _TEXTS for text in texts]) and all([one.values == texts for one in values])
    return (texts, [one.number for one in values]) if is_known else None


def _number(position: hlo.Instruction, count: int) -> TracedArray:
    """One of the numbers from 0 on, as Python's."""
    made = TracedArray.from_instruction(require_trace(), position, weak_type=True)
    note_interval(require_trace(), made, (0, count - 1))
    return made


@methods("shuffle")
def shuffle(source, x, axis=0):
    if isinstance(x, list):
        if axis != 0:
            raise NotImplementedError("Axis argument is only supported on ndarray objects")
        return shuffle_list(source, x)
    if not isinstance(x, TracedArray) or not x.ndim:
        raise not_drawn()
    axis = _axis(source, x, axis)
    x[...] = np.take(x, _order(source, x.shape[axis]), axis, mode="clip")


@methods("permutation")
def permutation(source, x, axis=0):
    if not isinstance(x, (TracedArray, np.ndarray, list, tuple)) or isinstance(x, TracedArray) and x.is_scalar:
        count = known_integer(x)
        return _order(source, count) if count >= 0 else not_drawn()
    array = as_traced(x)
    axis = _axis(source, array, axis)
    return np.take(array, _order(source, array.shape[axis]), axis, mode="clip")


@methods("permuted", GENERATOR)
def permuted(source, x, *, axis=None, out=None):
    array = as_traced(x)
    if out is not None or array.is_dynamic or not array.ndim:
        raise not_drawn()
    if axis is None or array.ndim == 1 and known_integer(axis) in (0, -1):
        if _lies_in_columns(array):  # so that the elements are put in order as they lie
            return permuted(source, array.T).T
        return np.take(array.reshape(-1), _order(source, array.size), mode="clip").reshape(array.shape)
    axis = _axis(source, array, axis)
    moved = np.moveaxis(array, axis, -1)
    rows = moved.reshape(math.prod(moved.shape[:-1]), moved.shape[-1])
    rows = LIBRARY["permuted"](RandomGenerator(source.kind, source.handle), rows)
    return np.moveaxis(rows.reshape(moved.shape), -1, axis)


def _lies_in_columns(array: TracedArray) -> bool:
    """Whether a copy that keeps the order of the axes is column-major, and not row-major."""
    steps = [abs(stride) for stride, size in zip(array.strides, array.shape) if size > 1]
    return len(steps) > 1 and all([step < following for step, following in zip(steps, steps[1:])])


# --- choices ---


@methods("choice", GENERATOR)
def choice(source, a, size=None, replace=True, p=None, axis=0, shuffle=True):
    return _choice(source, a, size, replace, p, axis, shuffle)


@methods("choice", RANDOM_STATE)
def choice_of_elements(source, a, size=None, replace=True, p=None):
    return _choice(source, a, size, replace, p, 0)


def _choice(source: Source, a: Any, size: Any, replace: Any, p: Any, axis: Any, shuffle: Any = True) -> Any:
    if isinstance(a, TracedArray) and a.is_dynamic and a.ndim == 1 and replace is True:
        return _among_some(source, form_of(size), a, size, p)
    if isinstance(a, TracedArray) and a.is_dynamic:
        list(map(known_integer, a.shape))  # raises ConcretizationError
    array, form = parameter(a, "biufc"), form_of(size)
    if not shape_of(array):
        count = array if replace and (p is None or _is_row_of_any_length(p)) else known_integer(array)
        return _positions(source, form, count, size, replace, p, shuffle)
    array = as_traced(array)
    axis = _axis(source, array, axis)
    if source.is_legacy and array.ndim > 1:
        raise not_drawn()
    index = _positions(source, form, array.shape[axis], size, replace, p, shuffle)
    found = np.take(array, index, axis, mode="clip")
    return found if form.is_number or form.shape or array.ndim > 1 else form.result(found.instruction(require_trace()))


def _is_row_of_any_length(array: Any) -> bool:
    return isinstance(array, TracedArray) and array.is_dynamic and array.ndim == 1


def _among_some(source: Source, form: Form, array: TracedArray, size: Any, p: Any) -> Any:
    """Elements of an array whose size is known at run time only."""
    (count,) = array.shape
    message = "a cannot be empty unless no samples are taken"
    require(count > 0, ValueError, message.replace("a ", "'a' ", 1) if source.is_legacy else message)
    found = np.take(array, _positions(source, form, count, size, True, p, True), mode="clip")
    return found if form.is_number or form.shape else form.result(found.instruction(require_trace()))


def _positions(source: Source, form: Form, count: Any, size: Any, replace: Any, p: Any, shuffle: Any) -> TracedArray:
    """Numbers from 0 to below the count."""
    if isinstance(replace, TracedArray) or is_known(count) and count <= 0 or form.count == 0:
        raise not_drawn()
    if replace:
        return _integers(source, 0, count, size, int, False) if p is None else _weighted(source, form, count, p)
    wanted = form.count or 1
    if p is not None or wanted > count or isinstance(shuffle, TracedArray):
        raise not_drawn()
    if source.is_legacy:
        found = _order(source, count)[:wanted]
    elif count > 10_000 and wanted > count // (50 if shuffle else 20):
        raise not_drawn()  # there NumPy takes the last ones of an order
    else:
        kept = Form((wanted,), False)
        name = "distinct" if shuffle else "distinct_in_order"
        found = kept.result(source.draw(name, kept, hlo.S64, hlo.constant(count, hlo.U64)))
    return form.result(found.reshape(form.shape).instruction(require_trace()))


_SAME_SIZE = "a and p must have same size"
_MESSAGES = (
    "Probabilities contain NaN", "Probabilities are not non-negative",
    "Probabilities do not sum to 1. See Notes section of docstring for more information.",
)  # fmt: skip
_LEGACY_MESSAGES = ("probabilities contain NaN", "probabilities are not non-negative", "probabilities do not sum to 1")


def _weighted(source: Source, form: Form, count: Any, p: Any) -> TracedArray:
    """Positions that have these probabilities."""
    if _is_row_of_any_length(p) and p.dtype.kind == "f":
        require(count == p.shape[0], ValueError, "'a' and 'p' must have same size" if source.is_legacy else _SAME_SIZE)
    else:
        p = parameter(p, "f")
        if shape_of(p) != (known_integer(count),):
            raise not_drawn()
    tolerance = np.sqrt(max(np.finfo(np.float64).eps, float(np.finfo(p.dtype).eps)))
    p = as_traced(p, np.dtype(np.float64))
    total = np.sum(p)
    conditions = (~np.isnan(total), ~np.any(p < 0), np.abs(total - 1.0) <= tolerance)
    for holds, message in zip(conditions, _LEGACY_MESSAGES if source.is_legacy else _MESSAGES):
        require(holds, ValueError, message)
    limits = np.cumsum(p)
    numbers = form.result(source.draw("standard_uniform", form, hlo.F64))
    index = np.searchsorted(limits / limits[-1], numbers, "right").astype(np.int64)
    return form.result(index.instruction(require_trace()))
