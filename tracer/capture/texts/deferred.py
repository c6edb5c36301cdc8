"""Text made of traced values: it exists when the program runs."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ....hlo.tracebacks import Place
from ...calls.host_call import call_when_run
from ...recording import pytree
from ...recording.array import TracedArray, require_trace
from ...recording.byte_order import in_other_order
from ...recording.current_trace import current_trace
from ...recording.device_arrays import ArrayOnDevice
from ...recording.dynamic_array import DynamicArray
from ...recording.errors import ConcretizationError, TracerError, unraised
from ...recording.makers import Source, register_maker, register_writer
from ..choices import Choice, Maybe
from ..entries import is_open_set
from ..lists.runs import Run
from ..outside.surroundings import current_surroundings
from .bytes_as_texts import bytes_of_text

# What gives of containers from outside some of the user's kind, with what they hold now (`outside.copying`).
AS_THE_USERS: list[Callable[[Any], Any]] = []


def shown(value: Any) -> Any:
    """A value as a text shows it: with containers of the user's kinds where some from outside stand for them."""
    if isinstance(value, (TracedArray, str, int, float)) or not AS_THE_USERS:
        return value
    return pytree.tree_map(AS_THE_USERS[0], value)


class Deferred:
    """A text, or a number that a text says, that a function makes of values, some of them traced, when the program runs."""

    __slots__ = ("function", "values", "in_characters")

    def __init__(self, function: Callable[..., Any], *values: Any) -> None:
        self.in_characters: Any = None  # for `answers`
        values = [pytree.tree_map(lambda leaf: _as_it_is_now(_with_open_arguments(leaf)), shown(value)) for value in values]
        self.function, self.values = _with_options(function), tuple(values)

    def __add__(self, other: Any) -> Any:
        return Deferred(operator.add, self, other) if isinstance(other, (str, bytes, Deferred, Choice)) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Deferred(operator.add, other, self) if isinstance(other, (str, bytes)) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return Deferred(operator.mul, self, count)

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> Any:
        return Deferred(operator.mod, self, values)

    def __eq__(self, other: Any) -> Any:
        return asked(operator.eq, False, self, other)

    def __ne__(self, other: Any) -> Any:
        return asked(operator.ne, False, self, other)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            if is_bytes(self):
                return numbers_in(self)[index]
            found = answered(operator.getitem, self, index)
            return Deferred(operator.getitem, self, index) if found is None else found
        bounds = index.start, index.stop, index.step
        found = answered(part_of_text, self, *bounds) if type(self) is WrittenText else None
        return Deferred(part_of_text, self, *bounds) if found is None else found

    def _refuse(self, *arguments: Any) -> Any:
        trace = require_trace()
        for value in pytree.flatten(self)[0]:
            if isinstance(value, TracedArray) and value.known_value is None:
                sources = trace.sources(value.recorded(trace))
                if sources is None or sources and sources <= trace.program.python_numbers:  # it may become known
                    raise ConcretizationError(value, "for a text that Python needs to know")
        raise TracerError("a text that depends on traced values is known when the program runs, and not where Python needs it")

    def __iter__(self) -> Any:
        return iter(numbers_in(self)) if is_bytes(self) else self._refuse()

    __str__ = __format__ = __len__ = __contains__ = __bool__ = __hash__ = _refuse


def _order(compare: Callable[[Any, Any], bool]) -> Callable[[Deferred, Any], Any]:
    return lambda text, other: asked(compare, False, text, other)


for _name in ("lt", "le", "gt", "ge"):
    setattr(Deferred, f"__{_name}__", _order(getattr(operator, _name)))


class DeferredParts(Deferred):
    """A list of texts into which a text is split when the program runs."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return (DeferredParts if isinstance(index, slice) else Deferred)(operator.getitem, self, index)

    __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = Deferred._refuse


class DeferredObject(Deferred):
    """What is no text, and is made when the program runs: an exception."""

    __slots__ = ()

    __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = __getitem__ = Deferred._refuse


class WrittenText(Deferred):
    """A text that lies among the program's characters, where and for how many of these (`characters`).

    is_plain: whether all of them are characters, and none a number whose text is made later.
    """

    __slots__ = ("start", "length", "is_plain")

    def __init__(self, start: Any, length: Any, is_plain: bool) -> None:
        self.start, self.length, self.is_plain = start, length, is_plain


def unpacked_parts(parts: DeferredParts, count: int) -> list[Any]:
    """``a, b = text.split(":")``"""
    asked(_require_count, 0, parts, count)
    return [parts[place] for place in range(count)]


def _require_count(parts: list[str], count: int) -> int:
    """Raises ValueError as Python's own unpacking does."""
    if len(parts) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(parts)})")
    if len(parts) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    return 0


class _WithOptions:
    """A function that NumPy's options for texts hold for, which the traced function has set."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options

    def __call__(self, *values: Any) -> Any:
        with np.printoptions(**self.options):
            return when_run(self.function)(*values)

    def __eq__(self, other: Any) -> bool:
        return type(other) is _WithOptions and (other.function, other.options) == (self.function, self.options)

    def __hash__(self) -> int:
        return hash(self.function)


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    trace, options = current_trace(), np.get_printoptions()
    return function if trace is None or options == trace.program.print_options else _WithOptions(function, options)


def when_run(function: Callable[..., Any]) -> Callable[..., Any]:
    """What makes a `Deferred` of values that are known."""
    return function.when_run if isinstance(function, FString) else function


def part_of_text(text: str, *bounds: int | None) -> str:
    return text[slice(*bounds)]


def _as_it_is_now(leaf: Any) -> Any:
    """An array that may be changed before the text is needed, as a copy."""
    if not isinstance(leaf, TracedArray) or leaf.is_scalar:
        return leaf
    trace = require_trace(leaf)
    copy = TracedArray.from_instruction(trace, leaf.recorded(trace), leaf.weak_type, is_scalar=False)
    return DeferredObject(in_other_order, copy) if leaf.has_other_order else copy


def _with_open_arguments(value: Any) -> Any:
    """An exception that holds what depends on the call, as what makes it when the program runs."""
    if not isinstance(value, BaseException) or not is_open(value):
        return value
    if type(value).__module__ == "builtins" and not vars(value) and value.__cause__ is None:
        return DeferredObject(type(value), *value.args)
    return DeferredObject(ExceptionOf(type(value)), value.args, vars(value), value.__cause__)


class ExceptionOf:
    """What makes an exception of a class, without what the class does then; two of one class are equal."""

    def __init__(self, kind: type[BaseException]) -> None:
        self.kind = kind

    def __call__(self, args: Sequence[Any], attributes: dict[str, Any], cause: BaseException | None) -> BaseException:
        made = unraised(self.kind, args, attributes)
        if cause is not None:
            made.__cause__ = made.__context__ = cause
        return made

    def __eq__(self, other: Any) -> bool:
        return type(other) is ExceptionOf and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)


def _text_of(kind: type[Deferred], function: Callable[..., Any], parts: Sequence[Any]) -> Any:
    if not any(map(is_open, parts)):
        return function(*(parts if kind is DeferredObject else _on_host(parts)))
    text = object.__new__(kind)  # whose values are taken down already
    text.function, text.values, text.in_characters = function, tuple(parts), None
    return text


def _on_host(values: Sequence[Any]) -> Sequence[Any]:
    """The values of a text, which is the same wherever arrays lie."""
    return pytree.tree_map(_contents, values) if ArrayOnDevice.exist else values


def _contents(value: Any) -> Any:
    if not isinstance(value, ArrayOnDevice):
        return value
    return value.to_host()[()] if value.is_scalar else value.to_host()


# A compiled call puts the text together of values that are known then.
for _kind in (Deferred, DeferredParts, DeferredObject):
    pytree.register_pytree(_kind, lambda text: (text.values, text.function), partial(_text_of, _kind))
    register_maker(_kind, when_run)


def _written_text(source: Source, function: Callable[..., Any], parts: Sequence[pytree.Structure]) -> str | None:
    """An f-string is written as one."""
    if not isinstance(function, FString):
        return None
    text, conversions = "", iter(function.conversions)
    for part in parts:
        if part is pytree.LEAF or part[0] is not tuple:
            text += f"{{{source.value(part)}}}"
            continue
        value, specification = [source.value(one) for one in part[2]]
        conversion = next(conversions)
        told = f":{{{specification}}}" if source.names.get(specification) != "" else ""
        text += f"{{{value}{'' if conversion == -1 else '!' + chr(conversion)}{told}}}"
    return f'f"{text}"'


register_writer(Deferred, _written_text)
pytree.register_pytree(
    WrittenText, lambda text: ((text.start, text.length), text.is_plain), lambda is_plain, parts: WrittenText(*parts, is_plain)
)


def is_open(value: Any) -> bool:
    """Whether a text made of this value depends on the call."""
    if isinstance(value, TracedArray):
        return value.known_value is None
    if isinstance(value, (list, tuple, deque)):
        return any(map(is_open, value))
    if isinstance(value, slice):
        return any(map(is_open, (value.start, value.stop, value.step)))
    if isinstance(value, dict):
        return any(map(is_open, value.values()))
    if isinstance(value, BaseException):
        return any(map(is_open, (value.args, vars(value), value.__cause__)))
    if isinstance(value, (Deferred, Maybe, Choice, Run)) or is_open_set(value):
        return True
    apart = pytree.taken_apart(value)
    return apart is not None and any(map(is_open, apart[1]))


class _Cut:
    """An array whose size is known when the program runs: the array of the bounds, and the sizes."""

    def __init__(self, padded: TracedArray, shape: tuple[Any, ...]) -> None:
        self.padded, self.shape = padded, shape


pytree.register_pytree(
    _Cut, lambda cut: ((cut.padded, *cut.shape), None), lambda _, parts: parts[0][tuple(map(slice, parts[1:]))]
)


# What makes of lists whose length the program decides, among other values, containers that a call puts together.
AS_RESULTS: list[Callable[[Any], Any]] = []


def for_host(values: Any) -> Any:
    """The values as a host call takes them."""
    trace = require_trace()
    return pytree.tree_map(
        lambda leaf: _Cut(leaf.padded(trace), leaf.shape) if isinstance(leaf, DynamicArray) else _with_open_arguments(leaf),
        *[convert(values) for convert in AS_RESULTS],
    )


# What makes texts in values once that are used more than once (`shared`).
MADE_ONCE: list[Callable[[Any], Any]] = []


def used(values: Any) -> Any:
    """To be called with values that Python makes texts of: with texts that are used more than once as they lie somewhere."""
    for convert in MADE_ONCE:
        values = convert(values)
    return values


def call_later(function: Callable[..., None], *values: Any, named: Any = None) -> None:
    """Call the function with these values whenever the program comes here; messages call it as ``named`` is."""
    told = _with_options(function)
    call_when_run(told, None, for_host(used(tuple(map(shown, values)))), named=function if named is None else named)


def raise_later(function: Callable[..., None], *values: Any, lines: Sequence[Place]) -> None:
    """As `call_later`, of what does nothing but raise, from these lines."""
    call_when_run(function, None, for_host(values), named=function, lines=lines, does_nothing=True)


# What functions say of texts among the program's characters, or None (`answers`).
ANSWERS: dict[Callable[..., Any], Callable[..., Any]] = {}


def answered(function: Callable[..., Any], *values: Any) -> Any:
    """What the function says of these values as far as the program can tell itself, None where it cannot."""
    answer = ANSWERS.get(function)
    return None if answer is None else answer(*values)


def asked(function: Callable[..., Any], example: Any, *values: Any) -> Any:
    """What the function says of these values when the program runs: a number of Python's of the example's type."""
    if not any(map(is_open, values)):
        return function(*values)
    values = used(values)
    if (found := answered(function, *values)) is not None:
        return found
    return call_when_run(lambda *given: function(*given), example, for_host(values), does_nothing=True)


CONVERSIONS = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


class FString:
    """What makes an f-string of its texts and its values, as (value, format); two with the same conversions are equal."""

    def __init__(self, conversions: Sequence[int]) -> None:
        self.conversions = tuple(conversions)
        self._converts = any([one != -1 for one in self.conversions])

    def __call__(self, *parts: Any) -> str:
        return self._joined(concrete, parts)

    def when_run(self, *parts: Any) -> str:
        """As a call, of values that are what they are outside of a trace."""
        if not self._converts:  # lists of texts are made so, one by one
            return "".join([format(*part) if type(part) is tuple else part for part in parts])
        return self._joined(lambda value: value, parts)

    def _joined(self, shown: Callable[[Any], Any], parts: Sequence[Any]) -> str:
        conversions = iter(self.conversions)
        texts = []
        for part in parts:
            if type(part) is tuple:
                conversion, value = next(conversions), shown(part[0])
                part = format(shown(value if conversion == -1 else CONVERSIONS[conversion](value)), part[1])
            texts.append(part)
        return "".join(texts)

    def __eq__(self, other: Any) -> bool:
        return type(other) is FString and other.conversions == self.conversions

    def __hash__(self) -> int:
        return hash(self.conversions)


# The methods that say what the text of an object is, for each conversion; -1 is none.


def one_text_of(number: TracedArray, texts: Sequence[Any]) -> Any:
    """The one of several values that has this number; of texts that are made when the program runs one that is made then."""
    if all(map(is_text, texts)) and not all(isinstance(one, str) for one in texts):
        return Deferred(text_with_number, number, *texts)
    return Choice(number, list(texts))


def text_with_number(number: int, *texts: str) -> str:
    return texts[number]


def bytes_of(array: Any, *order: Any) -> bytes:
    """``bytes(array)`` and ``array.tobytes(order)``"""
    return array.tobytes(*order)


def is_text(value: Any) -> bool:
    if type(value) is Choice:
        return all(map(is_text, value.values))
    return isinstance(value, (str, Deferred)) and type(value) not in (DeferredParts, DeferredObject)


def is_made_text(value: Any) -> bool:
    """Whether this is a text that the program makes."""
    return type(value) in (Deferred, WrittenText)


_MAKE_BYTES = {np.ndarray.tobytes, np.generic.tobytes, bytes_of, bytes, bytes_of_text}
_OF_BYTES = {operator.add, operator.mul, part_of_text}


def is_bytes(value: Any) -> bool:
    """Whether this is no text, but bytes that are made likewise."""
    if type(value) is not Deferred:
        return isinstance(value, bytes)
    return value.function in _MAKE_BYTES or value.function in _OF_BYTES and any(map(is_bytes, value.values))


def numbers_in(value: Deferred) -> list[Any]:
    """The integers that bytes are."""
    if value.function is bytes:
        return list(*value.values)
    is_array = value.function in _MAKE_BYTES - {bytes_of_text} and len(value.values) == 1
    if not is_array or value.values[0].is_dynamic:
        raise TracerError("bytes that are put together of traced values are gone over, or indexed. Fix: use an array of uint8")
    return value.values[0].ravel().view(np.uint8).tolist()


def is_longer_text(before: Any, after: Any) -> bool:
    """Whether this may be another text with more in front of it or behind it."""
    if type(after) is Choice:
        return isinstance(before, str) and any(isinstance(one, str) and one != before and before in one for one in after.values)
    return is_text(before) and isinstance(after, Deferred) and after is not before


_OF_PYTHON = frozenset({str, bytes, int, float, bool, type(None)})


def concrete(value: Any) -> Any:
    """A traced value that is known, as what it is outside of a trace."""
    if type(value) in _OF_PYTHON:
        return value
    if isinstance(value, TracedArray):
        known = np.array(value.known_value)
        return known.item() if value.weak_type and value.is_scalar else known[()] if value.is_scalar else known
    if type(value) in (list, tuple):
        return type(value)(map(concrete, value))
    if type(value) is dict:
        return {key: concrete(one) for key, one in value.items()}
    surroundings = current_surroundings()
    if surroundings is not None and surroundings.is_object(value):  # its methods say what its text is, where nobody sees it
        surroundings.guard_state(value)
        return surroundings.original(value)
    if AS_THE_USERS and (users := AS_THE_USERS[0](value)) is not value:
        return concrete(users)
    is_apart = isinstance(value, (dict, tuple)) and pytree.taken_apart(value) is not None
    return pytree.tree_map(concrete, value) if is_apart else value
