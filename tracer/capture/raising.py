"""Exceptions that the user's code raises while a function is traced: the program raises them when it comes there."""

from __future__ import annotations

import dis
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ... import hlo
from ...hlo import HloError
from ...hlo.interrupts import is_of_a_signal
from ...hlo.source_lines import belongs_to_a_library, raising_line
from ...hlo.tracebacks import Place, places_of_users
from ..control_flow.bodies import convert
from ..recording import error_codes
from ..recording.array import TracedArray
from ..recording.attributes import attributes_of
from ..recording.current_trace import current_trace
from ..recording.errors import LeftToPython, RaisedBehindChanges, StaleCapture, TracerError
from ..recording.libraries import is_installed
from ..recording.operands import as_traced
from ..recording.trace import Storage, Trace
from ..source.rewriting import is_rewritten
from .forms import carried, form_of, kinds, zero_like
from .journals import note_made
from .merging import filled, numbers
from .texts.deferred import ExceptionOf, is_open, raise_later

# What is raised of known values in the place of Python and NumPy as they raise it; anything else they raise themselves.
_OF_VALUES = (IndexError, KeyError, ZeroDivisionError)
_OF_PHLOX = (TracerError, NotImplementedError, StaleCapture, LeftToPython, RaisedBehindChanges, AssertionError)
_OF_TRACING = (*_OF_PHLOX, RecursionError)
# What Python says of a number that is called or the like, and of two operands neither of which knows the other one.
_OPERANDS = re.compile(
    r"^'TracedArray' object (is not callable|is not an iterator|does not support the context manager protocol)$"
    r"|argument after \*\* must be a (mapping), not|^ord\(\) expected (string)|^can only (concatenate) "
    r"|(?:operand type.*: |instances of )'(\w+)' and '(\w+)'$"
)
_NO_OPERANDS = {"NoneType", "object", "str", "bytes", "function", "type", "module", "ellipsis"} | {
    *("dict", "set", "frozenset", "OutsideDict", "OutsideSet")
}
# What is said of arrays, of which numbers may be.
_WORDED_OTHERWISE = re.compile(r"\bTracedArray\b|\b0-d array|unsized object|is 0-dimensional|^ufunc '|^list indices must")
_RAISE = dis.opmap["RAISE_VARARGS"]
_READING = {
    code for name, code in dis.opmap.items() if name.startswith("LOAD_") and name.endswith(("ATTR", "METHOD", "FAST_CHECK"))
} | {dis.opmap["LOAD_GLOBAL"], dis.opmap["LOAD_FAST"]}
_OWN = tuple([__name__.partition("tracer")[0] + package for package in ("tracer.", "hlo.")])


class _Tries(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []
        self.handed_over: set[Storage] = set()


_tries = _Tries()


@contextmanager
def inside_try(has_handlers: bool = True) -> Iterator[None]:
    """While the body of a try statement is recorded: handlers look at the error flag."""
    trace = current_trace()
    _tries.traces.append(trace)
    if trace is not None:
        trace.program.open_tries += has_handlers
    try:
        yield
    finally:
        _tries.traces.pop()
        if trace is not None:
            trace.program.open_tries -= has_handlers
        if not _tries.traces:
            _tries.handed_over.clear()


def handled(error: Exception, handle: Callable[[Exception], Any]) -> Any:
    """What a handler does: the exceptions that it raises have this one as their context."""
    note_made(error)
    before = error.__context__, error.__traceback__
    try:
        raise error
    except BaseException:  # noqa: BLE001, for the context
        error.__context__, error.__traceback__ = before
        return handle(error)


def is_inside_try() -> bool:
    return bool(_tries.traces)


def is_raised_by_user(error: BaseException) -> bool:
    """Whether a raise or assert statement of the user's, or of what is followed as theirs, raised this, or the program does."""
    if id(error) in current_trace().program.made_objects or isinstance(error, SystemExit):
        return True
    traceback = raising_line(error)
    if traceback is None:
        return False
    code = traceback.tb_frame.f_code
    if belongs_to_a_library(code.co_filename) and not is_rewritten(code):
        return False
    return code.co_code[traceback.tb_lasti] == _RAISE and not is_of_a_signal(error)


def is_of_stand_ins(error: BaseException) -> bool:
    """Whether an error names what stands for an array, and is not what Python says of the array as well."""
    text = str(error)
    if "TracedArray" not in text:
        return False
    found = _OPERANDS.search(text) if isinstance(error, TypeError) else None
    if found is None:
        return True
    *of_any_number, first, second = found.groups()
    return not any(of_any_number) and not any(name in _NO_OPERANDS or _is_of_user(name) for name in (first, second))


def _is_of_user(name: str) -> bool:
    """Whether a class with this name is the user's, whose methods do with stand-ins what they do with values."""
    classes = [object]
    while classes:
        for one in type.__subclasses__(classes.pop()):
            if one.__name__ == name and not _is_of_library(one.__module__):
                return True
            classes.append(one)
    return False


def _is_of_library(name: str) -> bool:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:  # as of notebooks, and of built-in modules
        return module is not None and name != "__main__"
    return belongs_to_a_library(file) or is_installed(file)


def is_said_of_stand_ins(error: BaseException) -> bool:
    """Whether Python or NumPy words an error of stand-ins otherwise than that of the values."""
    return _WORDED_OTHERWISE.search(str(error)) is not None and not is_raised_by_user(error)


def is_raised_when_run(error: BaseException) -> bool:
    """Whether the program raises this where it comes there: what the user raises, and what Python and NumPy do of values.

    Anything else says that the function cannot be traced as it is written, and no handler of the user's is meant for that.
    """
    if is_raised_by_user(error):
        return True
    if not isinstance(error, Exception) or _is_of_tracing(error) or is_of_stand_ins(error):
        return False
    if _is_a_mistake(error) or is_of_a_signal(error):
        return False
    if current_trace().program.replaced_concretization(error) is not None:
        return False
    earlier: BaseException | None = error
    while earlier is not None and not _is_of_tracing(earlier):
        earlier = earlier.__cause__ or earlier.__context__
    return earlier is None


def _is_of_tracing(error: BaseException) -> bool:
    """Whether this is of what traces, and not of the function; of a lack of memory NumPy's own error is the function's."""
    return isinstance(error, _OF_TRACING) or type(error) is MemoryError


def _is_a_mistake(error: Exception) -> bool:
    """Whether code of this package asks for an attribute, or reads a variable, that is not there: no raise, no call does it."""
    if not isinstance(error, (AttributeError, NameError)):
        return isinstance(error, HloError)
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not traceback.tb_frame.f_globals.get("__name__", "").startswith(_OWN):
        return False
    code = traceback.tb_frame.f_code
    return code.co_code[traceback.tb_lasti] in _READING and not is_rewritten(code)


def is_of_tracing(error: BaseException) -> bool:
    """Whether this is about the recording, and no handler of the user's is meant for it."""
    return not is_raised_when_run(error)


def record_raise(trace: Trace, error: BaseException) -> set[Storage]:
    """Let the compiled call raise this exception where it comes to the end of this trace, the current one.

    What a function of Python's or NumPy's raises here of stand-ins, for a shape or a type, Python raises of the values.
    Returns what the trace has to write for that: the error flag, and, where a handler may see the exception, its values.
    """
    if not is_raised_by_user(error) and not isinstance(error, _OF_VALUES):
        trace.add_error_flag(hlo.constant(np.bool_(True)), LeftToPython, f"{type(error).__name__}: {error}")
        return {trace.program.error_flag}
    context = error.__context__
    error.__context__ = context if id(context) in trace.program.made_objects and not is_open(context) else None
    if not is_open(error):
        trace.add_raise(hlo.constant(np.bool_(True)), error)
        return {trace.program.error_flag}
    if not _tries.traces:
        _raise_when_run(error, places_of_users(error.__traceback__))
        return {trace.program.error_flag} & trace.written.keys()  # what has been raised before that
    kept = _hand_over(error)
    trace.add_raise(hlo.constant(np.bool_(True)), error)
    return {*kept, trace.program.error_flag}


def raise_uncaught(
    trace: Trace, known: int, caught: Collection[int], decide: Callable[[TracedArray, Callable[[], None]], Any]
) -> None:
    """Behind the outermost ``try``: of exceptions that no handler has caught, those that are made of values are raised here."""
    if _tries.traces:
        return
    messages = trace.program.error_messages
    for code, (error, _, lines) in list(enumerate(messages, 1))[known:]:
        if code not in caught and isinstance(error, BaseException) and is_open(error):
            is_this = hlo.eq(error_codes.number_of(trace.read(trace.program.error_flag)), code)
            decide(TracedArray.from_instruction(trace, is_this), partial(_raise_instead, error, lines))
            messages[code - 1] = LeftToPython, "", lines


def _raise_instead(error: Exception, lines: Sequence[Place]) -> None:
    trace = current_trace()
    trace.write(trace.program.error_flag, hlo.constant(0, hlo.S64))  # behind one that is set nothing is called
    _raise_when_run(error, lines)


def _raise_when_run(error: Exception, lines: Sequence[Place]) -> None:
    raise_later(_raise_now, ExceptionOf(type(error)), error.args, attributes_of(error), error.__cause__, lines=lines)


def _raise_now(make: ExceptionOf, *parts: Any) -> None:
    raise make(*parts)


def _hand_over(error: Exception) -> set[Storage]:
    """Let the exception hold values of the trace in which the outermost try statement is recorded."""
    outer, inner = _tries.traces[0], current_trace()
    held = error.args, vars(error)
    form = form_of(held)
    arrays, storages = [], set()
    for number, kind in zip(numbers(form, held), kinds(form)):
        storage = Storage(outer, outer.builder.write(lambda kind=kind: zero_like(outer, kind).storage.instruction))
        inner.write(storage, convert(inner, as_traced(carried(number)).recorded(inner), kind))
        arrays.append(TracedArray(storage, storage.instruction.shape, kind.weak_type, kind.is_scalar))
        storages.add(storage)
    error.args, attributes = filled(form, iter(arrays))
    vars(error).update(attributes)
    _tries.handed_over |= storages
    return storages


def is_of_exception(storage: Storage) -> bool:
    """Whether it holds what an exception says, which stays when a statement is undone."""
    return storage in _tries.handed_over
