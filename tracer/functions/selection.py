"""Functions that choose between values, and tests of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..recording import promotion
from ..recording.array import TracedArray, require_trace
from ..recording.function_tables import implements
from ..recording.memory_order import fresh, laid_out
from ..recording.operands import (
    as_strong,
    as_traced,
    broadcast,
    broadcast_shapes,
    class_of,
    instruction_of,
    prepare,
    store,
    zero_dimensional,
)

_NO_VALUE = np._NoValue


def choose_between(condition: Any, on_true: Any, on_false: Any, element_type: hlo.ElementType) -> TracedArray:
    """Element by element on_true where the condition holds, else on_false, in this type, broadcast together; never a scalar."""
    trace = require_trace(condition, on_true, on_false)
    operands = [
        instruction_of(trace, one, kind)
        for one, kind in ((condition, hlo.PRED), (on_true, element_type), (on_false, element_type))
    ]
    shape = broadcast_shapes(*(operand.shape.dimensions for operand in operands))
    predicate, *values = (broadcast(operand, shape) for operand in operands)
    return TracedArray.from_instruction(trace, hlo.select(predicate, *values), is_scalar=False)


def _cast_freely(value: Any) -> Any:
    """A choice whose elements are cast as those of arrays are: what does not fit is wrapped, also of a number of Python's."""
    is_number = isinstance(value, TracedArray) and value.weak_type or type(value) is int
    return as_strong(value) if is_number else value


@implements(np.where)
def where(condition, x=_NO_VALUE, y=_NO_VALUE, /):
    """With a condition alone, as `numpy.nonzero`."""
    if (x is _NO_VALUE) != (y is _NO_VALUE):
        raise ValueError("either both or neither of x and y should be given")
    if x is _NO_VALUE:
        return np.nonzero(condition)
    condition, x, y = prepare(condition), prepare(x), prepare(y)
    element_type = hlo.element_type_of(promotion.result_dtype([class_of(x), class_of(y)]))
    return laid_out(choose_between(condition, _cast_freely(x), _cast_freely(y), element_type), (condition, x, y))


@implements(np.select)
def select(condlist, choicelist, default=0):
    """All choices are computed."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions, choices = [prepare(one) for one in condlist], [prepare(one) for one in choicelist]
    chosen = prepare(default)
    for position, condition in enumerate(conditions):
        if class_of(condition) != np.dtype(bool):
            raise TypeError(f"invalid entry {position} in condlist: should be boolean ndarray")
    element_type = hlo.element_type_of(promotion.result_dtype([class_of(one) for one in (*choices, chosen)]))
    *choices, chosen = map(_cast_freely, (*choices, chosen))
    for choice in choices:
        promotion.require_cast(class_of(choice), element_type.dtype, "same_kind")
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        chosen = choose_between(condition, choice, chosen, element_type)
    return chosen


def _is_one_condition(condlist: Any, rank: int) -> bool:
    """Whether np.piecewise takes this as one condition, and not as a list of them; ``rank`` is that of the array."""
    if isinstance(condlist, (list, tuple)):
        first = condlist[0]
        is_array = isinstance(first, (list, np.ndarray)) or isinstance(first, TracedArray) and not first.is_scalar
        return rank > 0 and not is_array
    dimensions = condlist.ndim if isinstance(condlist, (np.ndarray, TracedArray)) else 0
    return dimensions == 0 or dimensions == 1 and rank > 0


@implements(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    """The functions are called with all of x, once each; of several conditions that hold the last one counts."""
    x = as_traced(x)
    conditions = [condlist] if _is_one_condition(condlist, x.ndim) else list(condlist)
    conditions = [as_traced(one, np.dtype(bool)) for one in conditions]
    if len(funclist) == len(conditions) + 1:
        functions, default = list(funclist[:-1]), funclist[-1]
    elif len(funclist) == len(conditions):
        functions, default = list(funclist), 0
    else:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or {len(conditions) + 1} functions are expected"
        )

    def value(function: Any) -> Any:
        return function(x, *args, **kw) if callable(function) else function

    chosen = choose_between(np.True_, value(default), x, x.element_type)
    chosen = np.broadcast_to(chosen, x.shape)
    for condition, function in zip(conditions, functions):  # of several that hold the last one counts
        chosen = choose_between(condition, value(function), chosen, x.element_type)
    return laid_out(fresh(chosen), (x,), as_copy=True)


@implements(np.clip)
def clip(
    a, a_min=_NO_VALUE, a_max=_NO_VALUE, out=None, *, min=_NO_VALUE, max=_NO_VALUE, dtype=None, where=True, casting="same_kind",
    order="K", subok=True,
):  # fmt: skip
    """``where`` needs ``out``: elements that are left out would be undefined."""
    if a_min is _NO_VALUE and a_max is _NO_VALUE:
        lower, upper = (None if bound is _NO_VALUE else bound for bound in (min, max))
    elif a_min is _NO_VALUE or a_max is _NO_VALUE:
        missing = "a_min" if a_min is _NO_VALUE else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: '{missing}'")
    elif min is not _NO_VALUE or max is not _NO_VALUE:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    else:
        lower, upper = a_min, a_max
    a = as_traced(a)
    if a.dtype.kind in "iu":  # a Python integer that the type does not hold bounds nothing, or is refused
        bounds = np.iinfo(a.dtype)
        lower = None if type(lower) is int and lower <= bounds.min else lower
        upper = None if type(upper) is int and upper >= bounds.max else upper
    if lower is None and upper is None:
        clipped = np.positive(a) if dtype is None else np.positive(a, dtype=dtype, casting=casting)
    elif upper is None:
        clipped = np.maximum(a, lower, dtype=dtype, casting=casting)
    elif lower is None:
        clipped = np.minimum(a, upper, dtype=dtype, casting=casting)
    else:
        raised = np.maximum(a, lower, dtype=dtype, casting=casting)
        clipped = np.minimum(raised, upper, dtype=dtype, casting=casting)
    if where is True:
        place = out[0] if isinstance(out, tuple) else out
        is_static = type(place) is type(clipped) is TracedArray
        if is_static and place.shape == broadcast_shapes(place.shape, clipped.shape):
            clipped = np.broadcast_to(clipped, place.shape)  # as ufuncs do
        return store(out, clipped, casting)
    if out is None:
        raise NotImplementedError("np.clip with where= but without out= is not implemented: elements would be undefined")
    np.copyto(out, clipped, casting, where)
    return out


# --- tests ---


@implements(np.isclose)
def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    a, b = as_traced(a), as_traced(b)
    if b.dtype.kind in "iub":
        is_weak, b = b.weak_type, b.astype(np.float64 if b.weak_type else np.result_type(b.dtype, 1.0))
        b.weak_type = is_weak
    near = np.less_equal(abs(a - b), atol + rtol * abs(b)) & np.isfinite(b) | np.equal(a, b)
    return near | (np.isnan(a) & np.isnan(b)) if equal_nan else near


def python_bool(scalar: Any) -> Any:
    """For functions that return a bool of Python's."""
    if isinstance(scalar, TracedArray):
        scalar.weak_type = True
        return scalar
    return bool(scalar)


@implements(np.allclose)
def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    return python_bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    a1, a2 = as_traced(a1), as_traced(a2)
    if a1.shape != a2.shape:
        return False
    equal = np.equal(a1, a2)
    return python_bool(np.all(equal | (np.isnan(a1) & np.isnan(a2)) if equal_nan else equal))


@implements(np.array_equiv)
def array_equiv(a1, a2):
    a1, a2 = as_traced(a1), as_traced(a2)
    try:
        broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return python_bool(np.all(np.equal(a1, a2)))


@implements(np.isposinf)
def isposinf(x, out=None):
    x = _real(x)
    infinite = np.isinf(x)
    return np.logical_and(infinite, infinite if x.dtype.kind == "b" else ~np.signbit(x), out=out)


@implements(np.isneginf)
def isneginf(x, out=None):
    x = _real(x)
    infinite = np.isinf(x)
    return np.logical_and(infinite, infinite if x.dtype.kind == "b" else np.signbit(x), out=out)


def _real(x: Any) -> TracedArray:
    x = as_traced(x)
    if x.element_type.is_complex:
        raise TypeError(f"This operation is not supported for {x.dtype} values because it would be ambiguous.")
    return x


@implements(np.iscomplex)
def iscomplex(x):
    x = as_traced(x)
    return x.imag != 0 if x.element_type.is_complex else np.zeros_like(x, dtype=bool)[()]


@implements(np.isreal)
def isreal(x):
    return np.imag(as_traced(x)) == 0


@implements(np.iscomplexobj)
def iscomplexobj(x):
    return as_traced(x).element_type.is_complex


@implements(np.isrealobj)
def isrealobj(x):
    return not as_traced(x).element_type.is_complex


# Comparing more elements with each one takes longer than to sort them, and a search.
_MOST_COMPARED = 64


@implements(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Compares all pairs, or searches among many sorted ones; ``assume_unique`` and ``kind`` change nothing."""
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: {kind!r}. Please use None, 'sort' or 'table'.")
    if kind == "table" and any(as_traced(one).dtype.kind not in "iub" for one in (element, test_elements)):
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select 'sort' or None for kind."
        )
    element, tests = as_traced(element), np.ravel(as_traced(test_elements))
    common = promotion.result_dtype([element.dtype_class, tests.dtype_class])
    if common.kind in "biuf" and tests.size > _MOST_COMPARED < element.size:
        ordered, wanted = np.sort(tests.astype(common)), element.astype(common)
        places = np.minimum(np.searchsorted(ordered, wanted.reshape(-1)), tests.size - 1)
        found = np.equal(ordered[places].reshape(element.shape), wanted)
    elif tests.size <= element.size:
        found = np.any(np.equal(tests.reshape(-1, *(1,) * element.ndim), element), axis=0)
    else:
        found = np.any(np.equal(element[(..., None)], tests), axis=-1)
    return zero_dimensional(~found if invert else found)


@implements(np.result_type)
def result_type(*arrays_and_dtypes):
    return promotion.result_dtype(
        [
            one.dtype_class if isinstance(one, TracedArray) else promotion.scalar_class(one) or np.dtype(one)
            for one in arrays_and_dtypes
        ]
    )


@implements(np.can_cast)
def can_cast(from_, to, casting="safe"):
    if isinstance(from_, TracedArray) and from_.weak_type:
        return np.can_cast(0, to, casting)  # raises: NumPy takes no numbers of Python's
    return np.can_cast(from_.dtype if isinstance(from_, TracedArray) else from_, to, casting)


@implements(np.common_type)
def common_type(*arrays):
    kinds = [as_traced(one).dtype for one in arrays]
    if any(kind.kind == "b" for kind in kinds):
        raise TypeError("can't get common type for non-numeric array")
    return np.result_type(*(np.dtype(np.float64) if kind.kind in "iu" else kind for kind in kinds)).type


@implements(np.shares_memory, np.may_share_memory)
def shares_memory(a, b, /, max_work=None):
    """Whether the two are views of one array, of which one of them is all."""
    if not isinstance(a, TracedArray) or not isinstance(b, TracedArray) or not a.size or not b.size:
        return False
    roots = a.root_storage, b.root_storage
    if roots[0] is not roots[1]:
        if all(root.is_from_outside for root in roots):
            raise NotImplementedError("np.shares_memory of two arrays of the caller's: it is not known before a call")
        return False
    if _is_part(a) and _is_part(b):
        raise NotImplementedError("np.shares_memory of two parts of one array")
    return True


def _is_part(array: TracedArray) -> bool:
    while (base := array.base) is not None:
        if array.size < base.size:
            return True
        array = base
    return False
