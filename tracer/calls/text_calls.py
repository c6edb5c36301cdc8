"""Calls of Python that make texts while the program runs: native code writes their characters into an array."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.tracebacks import places_of_users, raised_at
from ...runtime.host_functions import HostFunction
from ..recording import pytree
from ..recording.array import require_trace
from ..recording.callables import callable_name
from ..recording.errors import LeftToPython, StaleCapture
from ..recording.makers import GIVEN, function_of_leaves
from .host_call import behind_changes, is_given, kind_of_operand

# The form of a float, with the digits behind the point; what else stands there asks for more.
_FORM_OF_FLOAT = re.compile(r"(?:\.(\d{1,3}))?([efg])")
# The characters in an array, and how many there are.
Characters = tuple[hlo.Instruction, hlo.Instruction]


def shown_as(conversion: int, specification: str, dtype: np.dtype, is_weak: bool) -> tuple[Any, ...]:
    """How a number is shown, as `HostFunction` has it; is_weak: whether it is Python's."""
    form = form_of_float(conversion, specification, is_weak) if dtype == np.float64 else None
    return conversion, specification, "number" if is_weak else "scalar", dtype, form


def shown_by(conversion: int, specification: str) -> Callable[[Any], str]:
    """What makes the text of a value, as it stands in an f-string."""
    return f"{{{'' if conversion == -1 else '!' + chr(conversion)}:{specification}}}".format


def form_of_float(conversion: int, specification: Any, is_weak: bool) -> tuple[str, int] | None:
    """How a float64 is shown: the letter, and the digits behind the point; ("r", 0) as Python writes it. None otherwise."""
    if specification == "" and is_weak and conversion != ord("a"):
        return "r", 0
    found = _FORM_OF_FLOAT.fullmatch(specification) if conversion == -1 and type(specification) is str else None
    return None if found is None else (found[2], int(found[1] or 6))


def characters_of_number(
    number: hlo.Instruction, conversion: int, specification: str, dtype: np.dtype, is_weak: bool, most: int
) -> Characters:
    """The text of a number, in so many places; it can be shown so, whatever it is. is_weak: whether it is Python's."""
    shows = shown_as(conversion, specification, dtype, is_weak)
    kind = shows[2]
    shown = shown_by(conversion, specification)

    def made(stopped: bool, value: Any) -> str:
        return "" if stopped else shown(value)

    host = HostFunction(_in_array(made, most), "the text of a number", ["number", kind], does_nothing=True)
    host.shows = shows
    return _called(host, [number], most)


def characters_of_text(text: Any, named: Any, most: int) -> Characters:
    """A text that is made of traced values, in so many places; ``named`` is what makes it, in messages."""
    trace, lines, name = require_trace(), places_of_users(), callable_name(named)
    values, structure = pytree.flatten(text)
    given = [value for value in values if is_given(value)]
    make = function_of_leaves(structure, [GIVEN if is_given(value) else value for value in values])
    is_caught = trace.program.open_tries > 0

    def made(stopped: bool, *operands: Any) -> str | None:
        if stopped:  # an error flag has been raised before
            return ""
        try:
            return str(make(*operands))
        except BaseException as error:
            if is_caught and isinstance(error, Exception):
                return None
            raised_at(error, *lines)
            if host.raises_behind_changes and not isinstance(error, (StaleCapture, KeyboardInterrupt)):
                raise behind_changes(error) from None
            raise

    kinds = ["number", *map(kind_of_operand, given)]
    host = HostFunction(_in_array(made, most), f"host_call of {name}", kinds, does_nothing=True)
    host.makes_text = made
    codes, count = _called(host, [value.instruction(trace) for value in given], most)
    if is_caught:
        trace.add_error_flag(hlo.lt(count, 0), LeftToPython, f"{name} has raised an exception")
    return codes, count


def _in_array(make: Callable[..., str | None], most: int) -> Callable[..., tuple[np.ndarray, np.int64]]:
    def call(*operands: Any) -> tuple[np.ndarray, np.int64]:
        codes, text = np.zeros(most, np.int32), make(*operands)
        if text is None:
            return codes, np.int64(-1)
        codes[: len(text)] = list(map(ord, text[:most]))
        return codes, np.int64(len(text))

    return call


def _called(host: HostFunction, operands: Sequence[hlo.Instruction], most: int) -> Characters:
    trace = require_trace()
    trace.program.host_functions.append(host)
    stopped = hlo.ne(trace.read(trace.error_flag_storage()), 0)
    made = hlo.custom_call(
        stopped, *operands, custom_call_target=host.name, custom_call_has_side_effect=True,
        shape=hlo.TupleShape((hlo.Shape(hlo.S32, (most,)), hlo.Shape(hlo.S64))),
    )  # fmt: skip
    return hlo.get_tuple_element(made, 0), hlo.get_tuple_element(made, 1)
