"""Comprehensions that become loops: the program decides how many elements there are, or their values take long to record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, islice
from types import FunctionType
from typing import Any

from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.errors import ConcretizationError
from .. import journals, made_iterators, places
from ..branches import decide, truth
from ..choices import Choice, Maybe
from ..distribution import condition
from ..entries import has_open_keys
from ..forms import may_be_shared
from ..lists.growing import note_list
from ..lists.runs import is_open_list
from ..lists.unpacking import unpacked
from ..outcomes import BREAK
from ..places import NO_NAMES
from .generators import TracedGenerator, begun
from .iteration import Lazy, ListRows, Rows, is_captured, rows_of
from .trials import code_of, size_of_a_round
from .unrolling import LARGEST_UNROLLED, for_, over_long

# So few values are made one by one, however long that takes.
_FEWEST_ROUNDS = 4
# So few elements are tested one by one, where the first of them are known to be left out or not.
_FEWEST_TESTED = 8


def _has_unlike_arrays(iterable: Choice) -> bool:
    """Whether elements are arrays of several shapes, which are none of one list: which value it is has to be known."""
    lists = [one for one in iterable.values if isinstance(one, (list, tuple))]
    return len({element.shape for one in lists for element in one if isinstance(element, TracedArray)}) > 1


class Loop:
    """One ``for`` of a comprehension: what it goes over, how an element is unpacked, and functions of what it is unpacked to.

    The function gives the value, or a further loop.
    """

    def __init__(self, iterable: Any, pattern: Any, test: Callable | None, function: Callable, is_outer: bool = False) -> None:
        self.iterable, self.pattern, self.test, self.function = iterable, pattern, test, function
        self.is_outer = is_outer
        self.first_open: int | None = None  # the first of the elements on which the program decides, where that is asked for

    def push(self, take: Callable[[Any], Any]) -> None:
        """Call the function with each value, until it returns something true."""
        ended: Any = False

        def take_one(value: Any) -> Any:
            nonlocal ended
            journals.note_nonlocal(lambda: ended)
            ended = take(value)
            return if_holds(ended, lambda: BREAK)

        with journals.own_variables(lambda: ended):
            self.run(take_one, lambda: ended)

    def run(self, take: Callable[[Any], Any], ended: Callable[[], Any] | None = None) -> None:
        """Give all values to ``take``, which may break the innermost loop; ``ended`` says whether that ends those around it."""

        def body(item: Any) -> Any:
            given = _unpacked(item, self.pattern)

            def take_one() -> Any:
                value = self.function(*given)
                if not self.is_outer:
                    return take(value)
                value.run(take, ended)
                return None if ended is None else if_holds(ended(), lambda: BREAK)

            return take_one() if self.test is None else if_holds(self.test(*given), take_one)

        if isinstance(self.function, FunctionType):
            body.__wrapped__ = self.function
        if self._is_long() or self._opens_late():
            over_long(rows_of(self.iterable), body, None, NO_NAMES)
        else:
            for_(self.iterable, body, None, NO_NAMES)

    def is_captured(self) -> bool:
        """Whether a loop of the program makes the values; otherwise Python goes over the elements."""
        return self.is_open() or self._is_long()

    def is_open(self) -> bool:
        """Whether the program decides how many values there are."""
        if type(self.iterable) is TracedGenerator or type(self.iterable) is Choice and not _has_unlike_arrays(self.iterable):
            return True
        rows = rows_of(self.iterable) if is_captured(self.iterable) else None
        if rows is not None and isinstance(rows.length, TracedArray) and rows.length.known_value is None:
            return True
        if is_open_list(self.iterable):
            return True
        if self.test is None and not self.is_outer:
            return False
        rows = rows_of(self.iterable)
        if rows is None and isinstance(self.iterable, Iterator):  # what is asked for elements here gives them again
            made_iterators.require_made_here(self.iterable)
            begin = list(islice(self.iterable, 2))
            self.iterable = made_iterators.note_iterator(chain(begin, self.iterable))
        else:
            begin = _elements(self.iterable if rows is None else rows)
        return self._decides(begin)

    def _decides(self, items: Iterable[Any]) -> bool:
        """Whether the program does on one of the elements: the first ones may be known where those behind them are not."""
        found = False

        def probe() -> None:
            nonlocal found
            for number, item in enumerate(items):
                given = _unpacked(item, self.pattern)
                holds = True if self.test is None else truth(condition(self.test(*given)))
                found = holds is None
                if not found and holds and self.is_outer:
                    inner = self.function(*given)
                    found = inner.is_captured() if number < 2 else inner.is_open()
                if found:
                    self.first_open = number
                    return

        size_of_a_round(current_trace(), probe, (self.function,), NO_NAMES)
        return found

    def _opens_late(self) -> bool:
        """Whether the program decides on elements behind the first, of a known number that is not small.

        What the first round records says nothing about those.
        """
        rows = rows_of(self.iterable)
        if rows is None or not isinstance(rows.length, int) or rows.length <= _FEWEST_TESTED:
            return False
        if self.first_open is None:
            self.is_open()
        return bool(self.first_open)

    def _is_long(self) -> bool:
        """Whether the values are a known number, take long to record one by one, and may be rows of arrays."""
        rows = rows_of(self.iterable)
        if rows is None or not isinstance(rows.length, int) or not isinstance(self.function, FunctionType):
            return False
        trace, count = current_trace(), rows.length
        decided, key = trace.program.long_loops, (code_of(self.function), count)
        if count >= _FEWEST_ROUNDS and key not in decided:
            size = size_of_a_round(trace, lambda: self._record(rows.element(0)), (self.function,), NO_NAMES)
            decided[key] = size is not None and size * count > LARGEST_UNROLLED
        return decided.get(key, False)

    def _record(self, item: Any) -> None:
        """A round whose values could be rows; raises TypeError where they could not, or it is not known how many there are."""
        if self.test is not None:
            raise TypeError
        value = self.function(*_unpacked(item, self.pattern))
        if self.is_outer:
            for inner in value.iterable:
                value._record(inner)
        elif not _may_be_rows(value):
            raise TypeError


def _may_be_rows(value: Any) -> bool:
    """Whether rows of arrays can stand for it: unknown numbers, arrays without another name, tuples and lists of them."""
    lists: list[list[Any]] = []
    leaves = pytree.flatten(value, lambda part: not isinstance(part, tuple) and not _is_made_in_round(part, lists))[0]
    leaves = [leaf.value if type(leaf) is Maybe else leaf for leaf in leaves]
    if not all(isinstance(leaf, TracedArray) and leaf.known_value is None for leaf in leaves):
        return False
    storages = [leaf.root_storage for leaf in leaves if may_be_shared(leaf)]
    are_own = all(storage.trace is current_trace() and not storage.may_be_another for storage in storages)
    if lists and journals.is_anything_changed():  # which may hold the lists now
        return False
    return are_own and all(len(set(map(id, some))) == len(some) for some in (storages, lists))


def _is_made_in_round(value: Any, found: list[list[Any]]) -> bool:
    """Whether this is a list of a known length that the round has made, which is then added to those found."""
    made = current_trace().program.made_objects.get(id(value))
    if type(value) is not list or is_open_list(value) or made is None or made[1] is not current_trace():
        return False
    found.append(value)
    return True


def _elements(iterable: Any) -> Iterable[Any]:
    if isinstance(iterable, Rows):
        return map(iterable.element, range(len(iterable)))
    return iterable if isinstance(iterable, Collection) else ()


def _unpacked(item: Any, pattern: Any) -> list[Any]:
    if pattern is None or pattern is ...:
        return [item]
    if ... in pattern:
        parts = _around_star(item, pattern.index(...), len(pattern) - 1)
    else:
        parts = unpacked(item, len(pattern), None) if is_open_list(item) else list(item)
    if len(parts) != len(pattern):
        few = "not enough" if len(parts) < len(pattern) else "too many"
        raise ValueError(f"{few} values to unpack (expected {len(pattern)})")
    return [found for part, one in zip(parts, pattern) for found in _unpacked(part, one)]


def _around_star(item: Any, before: int, count: int) -> list[Any]:
    """What is unpacked to so many names, ``before`` of them in front of one more with a star, which gets a list."""
    behind = count - before
    parts = unpacked(item, before, behind) if is_open_list(item) else list(item)
    if len(parts) < count:
        raise ValueError(f"not enough values to unpack (expected at least {count}, got {len(parts)})")
    end = len(parts) - behind
    return [*parts[:before], parts[before:end], *parts[end:]]


def if_holds(test: Any, body: Callable[[], Any]) -> Any:
    """Run the body where the test holds; the way on which control goes on."""
    test = condition(test)
    holds = truth(test)
    if holds is None:
        return decide(test, (body, None))
    return body() if holds else None


def listed(iterable: Any, whole: Callable[[Any], list[Any]], *parts: Any) -> list[Any]:
    """A list comprehension; ``whole`` is the comprehension as a function of the iterable."""
    if current_trace() is None:
        return whole(iterable)
    loop = Loop(begun(iterable), *parts)
    found = journals.collected(loop.run) if loop.is_captured() else whole(one_by_one(loop.iterable))
    note_list(found)
    return found


class Generated(TracedGenerator):
    """A generator expression while a function is traced."""

    def __init__(self, whole: Callable[[Any], Iterator[Any]], loop: Loop) -> None:
        super().__init__(lambda: whole(one_by_one(loop.iterable)) if self.found is None else iter(self.found), loop.push)
        self.loop = loop
        self._is_captured: bool | None = None
        self.found: list[Any] | None = None

    def is_captured(self) -> bool:
        """Whether the values are made by a loop of the program."""
        if self._is_captured is None:
            self._is_captured = not self.has_begun and self.loop.is_captured()
        return self._is_captured

    def rows(self) -> Rows | None:
        if not self.is_captured():
            return None
        if self.found is None:
            self.found = journals.collected(self.loop.run)
        return ListRows(self.found)


def one_by_one(iterable: Any) -> Any:
    """What Python can go over."""
    if current_trace() is None:
        return iterable
    is_open = isinstance(iterable, Lazy) or has_open_keys(iterable) or is_open_list(iterable)
    rows = rows_of(iterable) if is_open else None
    return iterable if rows is None else rows


def generated(iterable: Any, whole: Callable[[Any], Iterator[Any]], *parts: Any) -> Any:
    """As `listed`, of a generator expression."""
    if current_trace() is None:
        return whole(iterable)
    made_iterators.require_made_here(iterable)
    if isinstance(iterable, TracedGenerator):
        iterable = iterable.left()
    else:
        iterable = begun(made_iterators.asked_by_generator(iterable))
    return Generated(whole, Loop(iterable, *parts))


def is_open_generator(generator: TracedGenerator) -> bool:
    """Whether the program decides on the way to a generator's first value, so that nobody can ask for one after the other."""
    if isinstance(generator, Generated):
        return not generator.has_begun and generator.loop.is_open()
    if generator.has_begun:
        return False
    is_open = False

    def probe() -> None:
        nonlocal is_open
        try:
            next(generator.pulled(), None)
        except ConcretizationError:
            is_open = True

    size_of_a_round(current_trace(), probe, (), NO_NAMES)
    return is_open


def folded(values: Generated, start: Any, step: Callable[[Any, Any], Any], ends: Callable[[Any], Any] | None = None) -> Any:
    """What ``step(result, value)`` makes of all values, one after the other, until it ``ends``."""
    result = [start]
    journals.note_made(result)

    def take(value: Any) -> Any:
        journals.note(places.Contents(result))
        result[0] = step(result[0], value)
        return None if ends is None else if_holds(ends(result[0]), lambda: BREAK)

    values.loop.run(take)
    return result[0]
