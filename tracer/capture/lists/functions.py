"""What built-in functions and NumPy's make of lists whose length the program decides."""

from __future__ import annotations

import builtins
import dataclasses
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .... import hlo
from ...functions.decompositions import expected_to_hold
from ...functions.sorting import last_in_order
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.errors import LeftToPython, TracerError
from ...recording.function_tables import DYNAMIC
from ...recording.intervals import note_interval
from ..branches import choose
from ..calls.dispatch import call
from ..calls.meanings import NEEDS_ARRAYS
from ..calls.methods_of_containers import holds_open_list
from ..choices import Choice
from ..forms import common_type, kind_of
from ..library import orderings
from ..loops.iteration import TracedRange
from ..merging import selected
from ..parts import Parts
from ..structured_arrays import is_structured
from ..texts.deferred import Deferred
from . import number_types
from .access import (
    any_row,
    fail_where,
    gathered,
    item_at,
    items_of,
    leave_empty_to_python,
    of_common_types,
    rows_inside,
    sliced,
)
from .as_arrays import INHOMOGENEOUS, array_of, array_of_list, arrays_of_one_size, joined, stacked
from .comparisons import rows_of_nan
from .elements import ElementType, LeafForm, hold_texts
from .mapping import keys_of
from .nearly_sorted import is_worth_it, moved_into_order
from .references import are_positions
from .runs import (
    Run,
    instruction_of,
    instructions,
    is_open_list,
    known_length,
    length_of,
    made,
    number_of,
    ordered,
    plus,
    settled,
    type_of_items,
)
from .text_ranks import ranked, written, written_natively


def _array(run: Run, column: hlo.Instruction) -> TracedArray:
    return TracedArray.from_instruction(require_trace(), column, is_scalar=False)


# --- order ---


# As few elements, whose number is known, are elements of a list of Python's behind the loops that bring them in order.
_TAKEN_APART = 32


def sorted_list(items: list[Any], key: Callable | None, reverse: bool) -> list[Any]:
    """What ``sorted`` makes of these elements."""
    if key is None or type_of_items(items) is None:
        return sorted_by(items, None, reverse)
    items = written_natively(items)
    return sorted_by(items, keys_of(items, key), reverse)


def sorted_by(items: list[Any], keys: list[Any] | None, reverse: bool) -> list[Any]:
    """The same by keys that are there already; None where the elements themselves are compared."""
    if type_of_items(items) is None:
        return []
    items = written(items) if keys is None else written_natively(items)
    keys = items if keys is None else keys
    if type_of_items(keys) is None:
        return items
    of_keys = settled(keys)
    if not is_worth_it(of_keys):
        return _sorted_wholly(items, keys, reverse)
    runs, is_in_order = moved_into_order([of_keys] if keys is items else [settled(items), of_keys], reverse)
    run = runs[0]

    def wholly() -> list[Any]:
        (found,) = _sorted_wholly([run], [runs[-1]], reverse)
        start = number_of(hlo.constant(np.int64(0))) if run.form.is_ring else 0
        return [made(run.type, instructions(ordered(found)), run.length, run.form.place, start)]

    return choose(is_in_order, lambda: [run], wholly)


def _sorted_wholly(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    if reverse:  # equal elements keep their order
        items, keys = (sliced(part, slice(None, None, -1)) for part in (items, keys))
    compare_themselves = _compare_themselves(type_of_items(keys).structure)
    order = None if compare_themselves else _order(_comparable(keys))
    if order is None:
        found = call(orderings.in_order, items, keys)
        if (count := known_length(items)) is not None and count <= _TAKEN_APART:
            found = [item_at(found, place) for place in range(count)]
    else:
        run = settled(items)
        found = [gathered(run, lambda rows: order.instruction(require_trace()), run.length)]
    return sliced(found, slice(None, None, -1)) if reverse else found


def _compare_themselves(structure: Any) -> bool:
    """Whether such elements are, or hold, what is compared by methods of its class, or by none, and not as tuples are."""
    if structure is pytree.LEAF:
        return False
    kind, _, children = structure
    if issubclass(kind, Deferred):
        return False
    if kind in (tuple, list) or issubclass(kind, tuple) and kind.__lt__ is tuple.__lt__:
        return any(map(_compare_themselves, children))
    if dataclasses.is_dataclass(kind) and kind.__dataclass_params__.order:
        return any(not field.compare for field in dataclasses.fields(kind)) or any(map(_compare_themselves, children))
    return kind in (Parts, Run, dict) or dataclasses.is_dataclass(kind)


def _comparable(items: list[Any]) -> Run:
    """What is compared; Python makes the call where one of several that may be None, or a text, is."""
    run = ranked(of_common_types(ordered(settled(written(items)))))
    for is_nan in rows_of_nan(run):
        is_there = any_row(hlo.and_(rows_inside(run), is_nan))
        require_trace().add_error_flag(is_there, LeftToPython, "an order of numbers, one of which is NaN")
    if type(run.form.structure) is tuple or not run.form.leaves[0].is_coded or not run.form.leaves[0].is_number:
        return run
    code, numbers = instructions(run)
    rows = hlo.iota(hlo.Shape(hlo.S64, (run.form.capacity + 1,)), 0)
    is_none = hlo.and_(hlo.lt(rows, hlo.full_like(rows, instruction_of(run.length))), hlo.ne(code, 0))
    is_any_none = np.any(_array(run, is_none)).instruction(require_trace())
    require_trace().add_error_flag(is_any_none, LeftToPython, "an order of numbers beside None, or a text")
    kind = ElementType(run.form.structure, (LeafForm(True, run.form.leaves[0].is_scalar, ()),), run.type.numbers)
    return made(kind, [numbers], run.length, run.form.place)


def _order(run: Run) -> TracedArray | None:
    """The positions of the elements in ascending order, equal ones in theirs, and behind them those of no elements.

    None where lists that lie in a table decide, which are compared one by one.
    """
    arrays = next((place for place, column in enumerate(run.columns) if column.ndim > 1), None)
    if any(not leaf.is_number or leaf.is_coded for leaf in run.form.leaves) or arrays == 0:
        if hold_texts(run.form.leaves):
            raise NotImplementedError("the order of texts that the program makes")
        raise TypeError(f"a list of {run.type} cannot be sorted: its elements have no order")
    columns, positions = instructions(run), are_positions(run.form.structure)
    lists = positions.index(True) if True in positions else None
    behind = min([place for place in (lists, arrays) if place is not None], default=None)
    compared = columns[:behind]
    if not compared:
        return None
    order = None
    for column in reversed(compared):
        key = _array(run, column)
        following = _positions_of(run, key if order is None else np.take(key, order, mode="clip"))
        order = following if order is None else np.take(order, following, mode="clip")
    if behind is None:
        return order
    ascending = [np.take(_array(run, one), order, mode="clip") for one in compared]
    if behind == lists:
        return order if expected_to_hold("an order of tuples with lists", _are_unequal(run, ascending)) else None
    are_equal = np.logical_not(_are_unequal(run, ascending)).instruction(require_trace())
    require_trace().add_error_flag(are_equal, LeftToPython, "an order of tuples with arrays, before which all is equal")
    return order


def _positions_of(run: Run, key: TracedArray) -> TracedArray:
    """The positions of a run's rows in the order of these keys, equal ones in theirs; those of no elements come last.

    These hold what nothing comes behind, so that no more is brought in order than there is.
    """
    if run.form.length is not None:
        return np.concatenate([np.argsort(key[: run.form.length], kind="stable"), np.arange(run.form.length, len(key))])
    inside = _array(run, rows_inside(run))
    return np.argsort(np.where(inside, key, last_in_order(key.dtype)), kind="stable")


def _are_unequal(run: Run, ascending: Sequence[TracedArray]) -> TracedArray:
    """Whether no two elements agree in these columns, so that nothing behind them is compared."""
    places_behind = np.arange(1, run.form.capacity + 1)
    are_equal = np.less(places_behind, _array(run, instruction_of(run.length)))
    for column in ascending:
        are_equal = np.logical_and(are_equal, column[1:] == column[:-1])
    return np.logical_not(np.any(are_equal))


def extreme(name: str, items: list[Any], key: Callable | None, default: dict[str, Any]) -> Any:
    """``max(items)`` and ``min(items)``"""
    length = length_of(items)
    if type_of_items(items) is None:
        return (builtins.max if name == "max" else builtins.min)([], **default)
    if default:
        is_there = number_of(instruction_of(length)) > 0
        return choose(is_there, lambda: extreme(name, items, key, {}), lambda: default["default"])
    if not isinstance(length, int):
        fail_where(hlo.le(instruction_of(length), 0), _empty(name))
    items = items if key is None else written_natively(items)
    values = items if key is None else keys_of(items, key)
    if type_of_items(values) is None:
        return item_at(items, 0)
    one_by_one = orderings.position_of_least if name == "min" else orderings.position_of_greatest
    if _compare_themselves(type_of_items(values).structure):
        return item_at(items, call(one_by_one, values))
    keys = _comparable(values)
    if len(keys.columns) == 1 and keys.columns[0].ndim == 1 and not are_positions(keys.form.structure)[0]:
        rows = hlo.iota(hlo.Shape(hlo.S64, (keys.form.capacity + 1,)), 0)
        inside = hlo.lt(rows, hlo.full_like(rows, instruction_of(length)))
        column = _array(keys, instructions(keys)[0])
        # As Python compares: what is no number counts where it is the first element, and only there.
        counts = np.logical_and(_array(keys, inside), column == column)
        candidates = np.where(counts, column, column[0])
        best = np.max(candidates) if name == "max" else np.min(candidates)
        hit = np.logical_and(candidates == best, _array(keys, inside))
        position = np.argmax(hit)
    else:
        order = _order(keys)
        if order is None:
            return item_at(items, call(one_by_one, values))
        last = TracedArray.from_instruction(require_trace(), hlo.subtract(instruction_of(length), 1))
        position = order[0 if name == "min" else last]
    return item_at(items, position)


def _empty(name: str) -> ValueError:
    """What Python raises, whose words differ by its version."""
    try:
        (builtins.max if name == "max" else builtins.min)([])
    except ValueError as error:
        return ValueError(*error.args)


# --- sums ---


def total(items: list[Any], start: Any) -> Any:
    """``sum(items, start)``"""
    kind = type_of_items(items)
    if kind is None:
        return start
    run, number = settled(items), kind.numbers[0]
    if kind.holds_sized_arrays:
        raise NotImplementedError(f"sum() of a list of {kind} whose length the program decides is not implemented")
    if kind.structure is pytree.LEAF and kind.leaves[0].types:
        found = _total_of_several(ordered(run))
        return found + start if not isinstance(start, int) or start else found
    if number is None or not (number.weak_type and number.shape.element_type.is_integer):
        leave_empty_to_python(run, "sum()")
    whole = array_of(run)
    # NumPy widens small integers, Python adds them one by one, from the start on.
    found = np.sum(whole, axis=0, dtype=(np.zeros((), whole.dtype) + _zero_like(start)).dtype)
    if number is not None and number.weak_type:
        found.weak_type = True
    return found + start if not isinstance(start, int) or start else found


def _zero_like(number: Any) -> Any:
    """0 of the type that a number has, one of Python's for one of Python's."""
    if isinstance(number, TracedArray):
        zero = np.zeros((), number.dtype)
        return zero.item() if number.weak_type else zero
    return number * 0 if isinstance(number, (int, float, complex, np.generic)) else 0


_MOST_TYPES_IN_SUM = 4


def _total_of_several(run: Run) -> Any:
    """The sum of numbers of several types, whose type depends on which ones are there."""
    (leaf,), trace = run.form.leaves, require_trace()
    if leaf.constants or len(leaf.types) > _MOST_TYPES_IN_SUM:
        raise NotImplementedError(f"sum() of a list of {run.type} whose length the program decides is not implemented")
    codes, *held = instructions(run)
    inside = rows_inside(run)
    there, kinds = number_of(hlo.constant(np.int64(0))), [kind_of(0)]
    for code, kind in enumerate(leaf.types):  # kinds[mask] is the type of the sum where the types of this mask are there
        is_there = hlo.convert(any_row(hlo.and_(inside, hlo.eq(codes, code))), hlo.S64)
        there = plus(there, number_of(hlo.multiply(is_there, 2**code)))
        kinds += [common_type(one, kind) for one in kinds]
    each = list({kind.scalar_type: kind for kind in kinds}.values())
    sums = []
    for kind in each:
        wanted = kind.shape.element_type
        column = number_types.converted(codes, held, leaf.types, wanted)
        column = hlo.select(inside, column, hlo.full_like(column, 0))
        sums.append(np.sum(_array(run, column)))
        sums[-1].weak_type = kind.weak_type
    if len(each) == 1:
        return sums[0]
    wanted = [kind.scalar_type for kind in each]
    place = selected(there, [wanted.index(kind.scalar_type) for kind in kinds])
    note_interval(trace, place, (0, len(each) - 1))
    whole = common_type(*each[:2]) if len(each) == 2 else reduce(common_type, each)
    found = sums[wanted.index(whole.scalar_type)] if whole.scalar_type in wanted else sums[-1]
    found = TracedArray.from_instruction(trace, found.instruction(trace), whole.weak_type)
    found.exact = Choice(place, sums)
    return found


def truths(name: str, items: list[Any]) -> Any:
    """``any(items)`` and ``all(items)``"""
    array = array_of(settled(items))
    found = (np.any if name == "any" else np.all)(array)
    found.weak_type = True
    return found


# --- NumPy's functions ---


# Of a list without elements, which is an array of floats, they return what they would of integers, too.
_ALIKE_OF_NONE = (
    np.searchsorted, np.isin, np.digitize, np.argsort, np.any, np.all, np.count_nonzero, np.nonzero, np.flatnonzero,
    np.argwhere, np.size, np.shape, np.ndim,
)  # fmt: skip


def _with_arrays(arguments: Sequence[Any], of_any_type: bool = False) -> list[Any]:
    return [_with_arrays_inside(one) if not is_open_list(one) else array_of_list(one, of_any_type) for one in arguments]


def _with_arrays_inside(value: Any) -> Any:
    if not isinstance(value, (list, tuple)) or not holds_open_list(value):
        return value
    are_rows = any(map(is_open_list, value))
    found = [array_of_list(one) if are_rows and isinstance(one, (list, tuple)) else _with_arrays_inside(one) for one in value]
    return tuple(found) if isinstance(value, tuple) else found  # which is an index of several dimensions, as of `np.add.at`


def _without_ranges(value: Any) -> Any:
    if type(value) is TracedRange:
        return value.as_array()
    return type(value)(map(_without_ranges, value)) if type(value) in (list, tuple) and not is_open_list(value) else value


_JOINING = (np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.concatenate, np.concat)


def _holds_text(value: Any) -> bool:
    return isinstance(value, Deferred) or type(value) in (list, tuple) and any(isinstance(one, Deferred) for one in value)


def call_with_arrays(function: Callable, args: tuple, kwargs: dict) -> Any:
    """A function of NumPy's for arrays in the place of lists and ranges."""
    if any(map(_holds_text, args)):
        raise NotImplementedError(f"np.{function.__name__} of a text that the program makes is not implemented")
    args, kwargs = _without_ranges(args), {name: _without_ranges(one) for name, one in kwargs.items()}
    if not any(map(holds_open_list, (*args, *kwargs.values()))):
        return call(function, *args, **kwargs)
    if isinstance(args[0], (list, tuple)) and not is_open_list(args[0]) and any(map(is_open_list, args[0])):
        if function in (np.array, np.asarray) and all(isinstance(one, (list, tuple)) for one in args[0]):
            return call(function, stacked(args[0], INHOMOGENEOUS), *args[1:], **kwargs)
        is_plain = function in (np.stack, np.vstack, np.column_stack) and len(args) == 1 and not kwargs
        if is_plain and all(array_of_list(one).ndim == 1 for one in args[0] if is_open_list(one)):
            rows = stacked(args[0], "all input arrays must have the same shape")
            return rows if function is not np.column_stack else rows.T
    if function in _JOINING and args and is_open_list(args[0]):
        kind = type_of_items(items_of(args[0]))
        if kind is not None and kind.holds_sized_arrays:
            return _joined(function, settled(items_of(args[0])), *args[1:], **kwargs)
        return DYNAMIC[function](array_of_list(args[0]), *args[1:], **kwargs)  # NumPy would go over the rows
    if function in (np.array, np.asarray) and (len(args) == 2 or kwargs.get("dtype") is not None):
        if is_structured(kwargs.get("dtype", args[-1])):
            raise NotImplementedError(
                f"np.{function.__name__} of a list that a loop has made, or whose length the program decides, as records, is "
                "not implemented. Fix: np.zeros with as many records as there may be, whose fields are set"
            )
        return call(function, array_of_list(args[0], has_dtype=True), *args[1:], **kwargs)
    of_any_type = function in _ALIKE_OF_NONE
    given = dict(zip(kwargs, _with_arrays(list(kwargs.values()), of_any_type)))
    return call(function, *_with_arrays(args, of_any_type), **given)


def _joined(function: Callable, run: Run, *others: Any, **kwargs: Any) -> Any:
    """Arrays whose sizes are known at run time only, as many as the program decides, in one array."""
    if not others and kwargs in ({}, {"axis": 0}):
        if function in (np.concatenate, np.concat, np.hstack):
            return joined(run)
        if function in (np.stack, np.vstack):
            return arrays_of_one_size(ordered(run), "all input arrays must have the same shape")
    raise NotImplementedError(f"np.{function.__name__} of a list of {run.type} whose length the program decides")


def refuse(function: Callable, *_: Any) -> Any:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    raise TracerError(
        f"{name} takes a list whose length the program decides, and is not captured. Fix: give it np.array(...) of the list"
    )


NEEDS_ARRAYS["numpy"] = call_with_arrays
NEEDS_ARRAYS[""] = refuse
