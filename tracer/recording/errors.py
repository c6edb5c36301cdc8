"""What can go wrong while a function is traced; each message says which variable, which line, and what to do."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...hlo.source_lines import user_location
from . import libraries
from .current_trace import current_trace

if TYPE_CHECKING:
    from ... import hlo
    from .array import TracedArray
    from .trace import Storage


class TracerError(TypeError):
    """A function cannot be traced as it is written."""

    is_of_an_iterator = False  # whether a loop asks one from outside, which it may where its rounds are unrolled
    is_of_order = False  # whether a set is gone over in an order that only Python knows

    def __reduce__(self) -> Any:
        return _again, (type(self), str(self))  # without the traced arrays that it is about


def _again(kind: type[TracerError], message: str) -> TracerError:
    made = kind.__new__(kind)
    made.args = (message,)
    return made


def unraised(kind: type[BaseException], args: Sequence[Any], attributes: dict[str, Any]) -> BaseException:
    """An exception of this class that nobody has raised, made without what the class does where one is made."""
    built_in = next(one for one in kind.__mro__ if one.__module__ == "builtins")
    made = built_in.__new__(kind, *args)
    built_in.__init__(made, *args)
    made.args = tuple(args)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


class StaticArgumentError(TracerError):
    """An argument that is to be static cannot be, or is named wrongly."""


class CarryTypeError(TracerError):
    """The state of a loop, or the results of branches, do not keep one structure, shape and dtype."""

    is_of_rest = False  # whether it stays where a loop's first round is none of the loop
    is_of_swap = False  # whether a name is bound to another array while the one that it held is changed in place


class ChangedCopyError(TracerError):
    """A container, an object or an array is changed that stands for one of several, as the program decides which one it is."""


class LeakedArrayError(TracerError):
    """A traced array is used after, or outside of, the function in which it was traced."""

    def __init__(self, array: TracedArray | Storage | None) -> None:
        self.array, used = array, _used_at(user_location())
        super().__init__(
            f"{describe(array)} is used outside of the function in which it was traced{used}. It stands for a value of "
            "one recorded computation and has no contents of its own. Return it from that function (loop body, branch) instead "
            "of storing it in a global, an attribute or an outer list."
        )


class StaleCapture(Exception):
    """What the code was compiled for has changed: a captured array's shape, dtype or memory order, or a mask's contents.

    ``beginning``, if there is one, says what the program has done outside until then (of `calls.again`).
    """

    beginning: Any = None


class ChangedMeanwhile(StaleCapture):
    """Another thread has changed what is outside between the comparison and the call."""


class RecordedAgain(BaseException):
    """The function has to be recorded once more, as something has turned out that `Trace.guessed_bounds` tells by now."""


class TooMuchRecorded(BaseException):
    """Rounds that are unrolled have recorded too much, together with all that has been recorded before. Nobody unrolls more."""


class SizeBeyondBound(StaleCapture):
    """A size at run time is larger than the bound that was guessed for it at one place of the traced function."""

    @staticmethod
    def message(place: str, has_value: bool = False) -> str:
        """``has_value``: the error flag says which size."""
        return f"{place}: a size {'of {} ' if has_value else ''}is larger than the bound for which the code was compiled"

    @property
    def place(self) -> str:
        return str(self).partition(": a size ")[0]

    @property
    def size(self) -> int | None:
        """The size, if that is known."""
        words = str(self).partition(": a size ")[2].split()
        return int(words[1]) if words[1].isdecimal() else None


class OtherKind(StaleCapture):
    """What results are like depends on values, which are not as was guessed: whether all imaginary parts are 0, say."""

    @staticmethod
    def message(place: str, held: bool) -> str:
        return f"{place}: values are of another kind than in the calls before, where that {'held' if held else 'did not hold'}"

    @property
    def place(self) -> str:
        return str(self).partition(": values are")[0]

    @property
    def holds(self) -> bool:
        """Whether what was guessed not to hold does."""
        return str(self).endswith("did not hold")


class RaisedBehindChanges(Exception):
    """A call raises what ``make_error`` makes behind changes of arguments, or of what is outside, that have not happened yet.

    It ``is_sure`` where each call does; what a program computes is rounded otherwise than by Python. ``beginning`` knows what
    the program has done besides (`tracer.calls.again`). ``has_ended_recording``: there is no program.
    """

    def __init__(
        self,
        make_error: Callable[[], BaseException],
        is_sure: bool = False,
        beginning: Any = None,
        has_ended_recording: bool = False,
    ) -> None:
        super().__init__()
        self.make_error, self.is_sure, self.beginning = make_error, is_sure, beginning
        self.has_ended_recording = has_ended_recording


class LeftToPython(Exception):
    """What the program has come to is Python's to do, which makes the call.

    A loop or a branch in a ``try`` has failed, and may have done something before; a function that the program calls has
    raised an exception there; an array is made of an empty list; a power of floats is complex.
    """


class IntegerOverflow(StaleCapture, OverflowError):
    """A Python integer that compiled code computes is too large for it; calls trace again for fewer integers, if they can."""

    MESSAGE = (
        "a Python integer grows beyond 64 bits where the program computes it; make the arguments that it comes from, or that "
        "the number of rounds of a loop comes from, static, or compute with floats"
    )


def asked_elsewhere(message: str) -> TracerError:
    """That a loop or a branch asks an iterator from outside of it, which nobody can put back."""
    error = TracerError(message)
    error.is_of_an_iterator = True
    return error


ENDS_RECURSION = "to end a recursion"


class ConcretizationError(TracerError):
    """The contents of a traced array are needed while the function is traced.

    array: the traced array. purpose: what needs its contents, as it continues the sentence "... is used <purpose>": "as an
    axis", "in a Python `if`". hint: what to do instead; a general one where it is empty. ``sources`` holds the parameters that
    the value is computed from, None where they are not known; ``location`` is the user's line.
    """

    sources: frozenset[hlo.Instruction] | None
    is_of_rounds = False  # whether each round of an unrolled loop adds to what there is too much of
    is_of_recursion = False  # whether a recursion does not end, which it does no more where less is known
    outside: frozenset[tuple] = frozenset()  # the keys of the paths of those that are read from outside

    def __init__(self, array: TracedArray, purpose: str, hint: str = "") -> None:
        library, self.location = libraries.caller()
        self.array, self.purpose = array, purpose
        hint = libraries.way_out(library) if library else hint or _GENERAL_HINT
        if hint is HINTS["bool"] and self.location and not linecache.getline(self.location.file, self.location.line):
            hint = _NO_SOURCE
        self.sources = None
        trace = current_trace()
        if trace is not None:
            trace.program.concretizations.append(self)
            self.sources = trace.sources(array.recorded(trace))
        names = sorted(
            trace.program.argument_names[source] for source in self.sources or () if source in trace.program.argument_names
        )
        of_itself = names == [name for name in names if describe(array).endswith(f"(argument {name})")]
        self.computed_from = f" It is computed from {_joined(names)}." if names and not of_itself else ""
        super().__init__(
            f"{describe(array)} is used {purpose}{_used_at(self.location)}, but its contents are not known while the function "
            f"is traced.{self.computed_from} {hint}"
        )


def endless_recursion(test: TracedArray, function: str) -> ConcretizationError:
    """That a function calls itself until the program decides otherwise, by this condition."""
    error = ConcretizationError(test, ENDS_RECURSION)
    error.is_of_recursion = True
    error.args = (
        f"{function} calls itself{_used_at(error.location)}, and the program decides when that ends. Its depth must be known "
        f"while the function is traced, but {_condition(test)} is not.{error.computed_from} Fix: name the argument that "
        "decides in static_argnames, or write a loop over a list of what is still to be done (while pending: ...)",
    )
    return error


def _condition(test: TracedArray) -> str:
    source = test.root_storage.instruction.source
    return f"the condition at {at(source)}" if source is not None else "the condition"


def _joined(names: list[str]) -> str:
    if len(names) == 1:
        return f"argument {names[0]}"
    return f"arguments {', '.join(names[:-1])} and {names[-1]}"


_GENERAL_HINT = (
    "Use np.where, cond, while_loop or fori_loop for decisions and loops that depend on it, or name the argument that it comes "
    "from in static_argnames."
)

_NO_SOURCE = (
    "The source of this function cannot be read, so that its loops and branches are not captured: define it in a file, a "
    "notebook or IPython, or at the prompt of Python 3.13 or later."
)

# What NumPy says where Python asks an array for one truth value.
AMBIGUOUS = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"

HINTS = {
    "bool": "Use np.where(...) or cond(...) instead of `if`, `and`, `or`, `not`; while_loop(...) instead of `while`.",
    "range": (
        "Use fori_loop(...) or scan(...), or name the argument that it comes from in static_argnames. An ndarray takes a "
        "traced index as phlox.numpy.asarray(array)[index]."
    ),
    "array": (
        "NumPy's own arrays cannot hold traced values: make the array with np.zeros_like, np.stack or phlox.numpy "
        "(phlox.numpy.zeros(...) instead of np.zeros(...)). An ndarray takes a traced index as "
        "phlox.numpy.asarray(array)[index]. What needs an ndarray can be called by phlox.host_call(function, result_shapes, "
        "...)."
    ),
}


def describe(value: TracedArray | Storage | None) -> str:
    """A traced array, or its storage, in words: its shape, and its name or the line where it was computed."""
    if value is None:
        return "The traced value"
    storage = getattr(value, "storage", value)
    if storage is None:
        return f"The traced value {_shape_of(value)} (a view of: {_name_of(value.root_storage)})"
    return f"The traced value {storage.instruction.shape.without_layout()}{_in_parentheses(_name_of(storage))}"


def _name_of(storage: Storage) -> str:
    if storage.origin:
        return storage.origin
    return f"computed at {at(storage.instruction.source)}" if storage.instruction.source is not None else ""


def _in_parentheses(text: str) -> str:
    return f" ({text})" if text else ""


def _shape_of(array: TracedArray) -> str:
    return f"{array.element_type}[{','.join(map(str, array.shape))}]"


def at(location: hlo.SourceLocation | None) -> str:
    """A location with its source line: ``model.py:12 in step: `y = x + 1```."""
    if location is None:
        return "an unknown place"
    line = linecache.getline(location.file, location.line).strip()
    if len(line) > 100:
        line = line[:97] + "..."
    return f"{location}" + (f": `{line}`" if line else "")


def name_of_type(kind: type) -> str:
    """As messages of the interpreter have it."""
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def no_integer(array: TracedArray) -> TypeError:
    """What Python says where this is given in the place of an integer."""
    if not array.is_scalar:
        return TypeError("only integer scalar arrays can be converted to a scalar index")
    return TypeError(f"'{name_of_type(array.run_time_type)}' object cannot be interpreted as an integer")


def _used_at(location: hlo.SourceLocation | None) -> str:
    return f" at {at(location)}" if location is not None else ""


for _error in (TracerError, StaticArgumentError, CarryTypeError, ChangedCopyError, LeakedArrayError, ConcretizationError):
    _error.__module__ = __name__.partition(".")[0]  # where users find them
