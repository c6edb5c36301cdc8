"""Lists whose elements lie in one table with those of others: each is a row of it, perhaps at a traced position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.attributes import attributes_of, class_of, is_record
from ...recording.current_trace import current_trace
from ...recording.errors import RecordedAgain, TracerError
from ..choices import Choice
from ..entries import OPEN
from ..forms import NOTES_OF_CIRCLES, STAND_FOR_ELEMENTS
from ..places import where_made

if TYPE_CHECKING:
    from ...recording.program import Program
    from ...recording.trace import Storage
    from .elements import ElementType


class Table:
    """The elements of several lists of one type, in arrays that have a row for each list; these are changed in place.

    columns: one for each leaf of an element, of the shape [lists, capacity + 1, ...]. lengths: of each list, None where all of
    them keep the one ``length``. place: where the capacity was guessed, None where it cannot be exceeded. needs: what other
    recordings have found out about the table. count: how many lists there are, s64[1], None where that is known; there is room
    for so many ``rows`` then.
    """

    def __init__(self, kind: ElementType | None, capacity: int, length: int | None, place: str | None, needs: Needs) -> None:
        self.kind, self.capacity, self.length, self.place, self.needs = kind, capacity, length, place, needs
        self.trace = current_trace().around_branches  # in which it has been made
        self.program = self.trace.program
        self.columns: tuple[TracedArray, ...] = ()
        self.lengths: TracedArray | None = None
        self.count: TracedArray | None = None
        self.rows = 0
        self.is_stack = False  # whether a list that has been taken from it gives its row back (`recursive_calls.py`)
        self.before: list[tuple[list, list[Any]]] = []  # the lists, with what they held themselves
        self.lists: Any = None  # what becomes of them when the program has run (`parts.Lists`)
        self.records: Any = None  # of which the one element of each list is what it holds: the class, or the keys of dicts
        self.first_values: tuple[Any, ...] = ()  # the instructions that the columns and the lengths were at first
        self.arrays_put: Storage | None = None  # stands for the arrays that are elements (`array_rows.py`)

    @property
    def arrays(self) -> tuple[TracedArray, ...]:
        return self.columns if self.lengths is None else (*self.columns, self.lengths)

    @property
    def is_unchanged(self) -> bool:
        return all(array.storage.instruction is first for array, first in zip(self.arrays, self.first_values))

    def __repr__(self) -> str:
        return f"<the elements of {len(self.before)} lists>"


class Needs:
    """What a table has turned out to need: elements of this type, lists that grow; or that there is none."""

    def __init__(self) -> None:
        self.kind: ElementType | None = None
        self.grows = self.is_refused = False


def note_open() -> None:
    """To be called where an item is made that stands for elements of a list: until then no list has one."""
    if (trace := current_trace()) is not None:
        trace.program.has_open_lists = True


class Row:
    """Stands as the only item of a list, for its elements: a row of a table. Several lists with one row are one list."""

    __slots__ = ("table", "position")

    def __init__(self, table: Table, position: Any) -> None:
        self.table, self.position = table, position
        note_open()

    def __repr__(self) -> str:
        return f"<a row of {self.table}>"


pytree.register_pytree(Row, lambda row: ((row.position,), row.table), lambda table, parts: Row(table, parts[0]))


class Unread:
    """Stands for elements that must not be read, as those that earlier rounds of a loop have appended; that calls ``read``."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[], NoReturn]) -> None:
        self.read = read
        note_open()


STAND_FOR_ELEMENTS |= {Row, Unread}


_USES = (
    "__call__", "__bool__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__len__", "__iter__", "__getitem__",
    "__setitem__", "__contains__", "__index__", "__int__", "__float__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__",
    "__rmul__", "__truediv__", "__rtruediv__", "__pow__", "__rpow__", "__mod__", "__neg__", "__matmul__", "__array_ufunc__",
    "__array_function__", "__array__", "__format__", "__str__", "__enter__", "__exit__",
)  # fmt: skip


def _refuse(self: Any, *arguments: Any, **keywords: Any) -> Any:
    if isinstance(self, Unread):
        self.read()
    raise TracerError(
        "a list whose length the program decides is used in a way that is not implemented: as one of the arguments *x, or by "
        "code that is not captured"
    )


def refuse_other_uses(*kinds: type) -> None:
    """Let what knows nothing of such items say so."""
    for kind in kinds:
        for name in _USES:
            setattr(kind, name, _refuse)


def row_of(value: Any) -> Row | None:
    """What stands for the elements of a list that lie in a table; None for anything else."""
    if type(value) is list and len(value) == 1 and type(value[0]) is Row:
        return value[0]
    return None


# Under which a record, which has no attributes of its own, holds the list that is its row.
ROW = "the row of a table"


def row_behind(value: Any) -> Row | None:
    """The row in which lies what a list, an object or a dict holds; None where that lies in none."""
    if type(value) is dict:
        return row_of(dict.get(value, OPEN))
    return row_of(object.__getattribute__(value, "__dict__")[ROW]) if is_record(type(value)) else row_of(value)


def keys_in(value: Any) -> tuple[str, ...]:
    """The keys of a dict that is a record; none of anything else."""
    row = row_behind(value) if type(value) is dict else None
    return () if row is None else row.table.records


def tables_in(structure: Any) -> list[Table]:
    """The tables of which values of this structure of `pytree`'s hold rows."""
    if structure is pytree.LEAF:
        return []
    kind, auxiliary, children = structure
    return [auxiliary] if kind is Row else [table for child in children for table in tables_in(child)]


def are_positions(structure: Any) -> list[bool]:
    """For each leaf of values of this structure whether it is the position of a row."""
    if structure is pytree.LEAF:
        return [False]
    kind, _, children = structure
    return [True] if kind is Row else [is_one for child in children for is_one in are_positions(child)]


def require_comparable(structure: Any, what: str) -> None:
    """Of lists that lie in a table it is known where they lie; what they hold is not compared within others."""
    if tables_in(structure):
        raise NotImplementedError(f"{what} of lists whose elements are lists at places that the program decides")


_ROWS_MADE = "what makes lists that are rows"
_ROWS_TRIED = "those of these that need not be"


def rows_made(program: Program) -> dict[Any, Needs]:
    """What makes lists that are rows from the beginning: instructions of users; of one table where they have the same needs."""
    return program.guessed_bounds.get(_ROWS_MADE, {})


def make_rows(program: Program) -> bool:
    """Let all lists that have been found to have copies be rows; whether there are more of these than there were."""
    known = program.guessed_bounds.setdefault(_ROWS_MADE, {})
    new = program.makers_of_copies - known.keys()
    known.update({maker: Needs() for maker in new})
    if new:  # they may be elements of others
        _forget_all_kinds(program.guessed_bounds)
    return bool(new)


def note_makers(values: Iterable[Any]) -> None:
    """To be called with what becomes elements of a list: of the lists among these there will be copies."""
    program = current_trace().program
    program.makers_of_copies.update(
        [program.list_makers[id(one)] for one in _lists_in(values) if id(one) in program.list_makers]
    )


def note_same_makers(value: Any, others: Iterable[Any]) -> None:
    """To be called with what a loop or a branch has put together: its lists are those that one of the others has."""
    if type(value) not in (list, tuple):
        return
    makers = current_trace().program.list_makers
    for other in others:
        if type(other) is not type(value):
            continue
        if type(value) is list and id(other) in makers:
            makers[id(value)] = makers[id(other)]
        if len(value) == len(other):
            for part, another in zip(value, other):
                note_same_makers(part, (another,))


def try_rows(structures: Iterable[Any]) -> None:
    """To be called with the structures of elements that are not of one kind. Raises RecordedAgain where there are lists in
    them that can be rows; where the function cannot be recorded so `give_up_rows` puts that right."""
    program = current_trace().program
    if any(map(_holds_list, structures)):
        known = set(rows_made(program))
        if make_rows(program):
            program.guessed_bounds.setdefault(_ROWS_TRIED, set()).update(rows_made(program).keys() - known)
            raise RecordedAgain


def give_up_rows(guessed_bounds: dict[str, Any]) -> bool:
    """Let no lists be rows that need not be; whether any were."""
    tried = guessed_bounds.pop(_ROWS_TRIED, ())
    for maker in tried:
        guessed_bounds[_ROWS_MADE][maker].is_refused = True
    return bool(tried)


def _holds_list(structure: Any) -> bool:
    return structure is not pytree.LEAF and (structure[0] is list or any(map(_holds_list, structure[2])))


_RECORDS_MADE = "classes whose objects are records"
_RECORDS_TRIED = "those of these of which that is not known to do"
_RECORDS_WANTED = "classes of which objects are changed that are copies, and what makes such dicts"
_DICTS_NOTED = "what makes dicts"


def records_made(program: Program) -> dict[Any, Needs]:
    """The classes, by their names, whose objects are records from the beginning (`records.py`), and what makes such dicts."""
    return program.guessed_bounds.get(_RECORDS_MADE, {})


def make_records(program: Program, kind: type) -> None:
    """Let all objects of a class be records, from the next recording on."""
    program.guessed_bounds.setdefault(_RECORDS_MADE, {}).setdefault((kind.__module__, kind.__qualname__), Needs())


def want_records(program: Program, kind: type) -> None:
    """Objects of a class are changed that are copies. If the function cannot be recorded otherwise they become records."""
    wanted = program.guessed_bounds.setdefault(_RECORDS_WANTED, set())
    if kind is dict:
        wanted.update(program.makers_of_copied_dicts if notes_dicts(program) else [_DICTS_NOTED])
        return
    kind = class_of(kind)
    wanted.add((kind.__module__, kind.__qualname__))


NOTES_OF_CIRCLES.append(want_records)


def want_alike(program: Program, changed: dict) -> None:
    """The same of a dict that branches and loops have put together of others, which had the same keys."""
    made, wanted = records_made(program), program.guessed_bounds.setdefault(_RECORDS_WANTED, set())
    if notes_dicts(program) and not program.makers_of_copied_dicts - made.keys():
        wanted.update(program.makers_of_keys.get(tuple(changed), ()))


def want_listed(program: Program, kind: type) -> None:
    """The same of containers of a class, of which some can be objects (`listed.py`); of dicts with keys where these can be no
    records."""
    made, are_refused = records_made(program), False
    if kind is dict and notes_dicts(program):
        are_refused = all(maker in made and made[maker].is_refused for maker in program.makers_of_copied_dicts)
    wanted = program.guessed_bounds.setdefault(_RECORDS_WANTED, set())
    copied = [one for one in program.makers_of_copied_containers if one[0] is kind]
    # What has been put together of several, as what is read from a list of them, has been made by one of them all.
    makers = copied or [one for one in program.container_makers.values() if one[0] is kind]
    wanted.update([name for _, name, is_empty in makers if is_empty or copied and are_refused])


def try_objects(kind: type) -> None:
    """Let objects of a class be records, as elements of a list hold one another. Raises RecordedAgain where that can be; where
    the function cannot be recorded so `try_records` puts that right."""
    program, kind = current_trace().program, class_of(kind)
    name = kind.__module__, kind.__qualname__
    if name not in records_made(program):
        _try_as_records(program.guessed_bounds, {name})
        raise RecordedAgain


def try_dicts(values: Iterable[dict]) -> None:
    """Let what makes these dicts make records. Raises RecordedAgain where that can be; where the function cannot be recorded
    so `try_records` puts that right."""
    program = current_trace().program
    made = program.guessed_bounds.setdefault(_RECORDS_MADE, {})
    if not notes_dicts(program):
        made[_DICTS_NOTED] = Needs()
        raise RecordedAgain
    makers = {program.dict_makers.get(id(value)) for value in values}
    if None in makers or not makers.isdisjoint(made):
        return
    made.update(dict.fromkeys(makers, Needs()))
    program.guessed_bounds.setdefault(_RECORDS_TRIED, set()).update(makers)
    raise RecordedAgain


def notes_dicts(program: Program) -> bool:
    """Whether it is noted what makes dicts, as some that are copies are changed."""
    return _DICTS_NOTED in records_made(program)


def try_records(guessed_bounds: dict[str, Any], error: Exception) -> bool:
    """To be called where a function cannot be recorded: let objects be records, or be none any more, if that does not help.
    Whether any have become that."""
    made = guessed_bounds.setdefault(_RECORDS_MADE, {})
    wanted = guessed_bounds.pop(_RECORDS_WANTED, set())
    new = wanted - made.keys() if isinstance(error, (TracerError, NotImplementedError)) else set()
    tried = guessed_bounds.setdefault(_RECORDS_TRIED, set())
    found = bool(new or tried)
    if new:
        _try_as_records(guessed_bounds, new)
    elif tried:
        for name in tried:
            made[name].is_refused = True
        tried.clear()
        _forget_all_kinds(guessed_bounds)
    return found


def _try_as_records(guessed_bounds: dict[str, Any], names: set[Any]) -> None:
    guessed_bounds.setdefault(_RECORDS_MADE, {}).update({name: Needs() for name in names})
    guessed_bounds.setdefault(_RECORDS_TRIED, set()).update(names)
    for needs in guessed_bounds.get(_ROWS_MADE, {}).values():  # lists that hold these objects may be rows now
        needs.is_refused = False
    _forget_all_kinds(guessed_bounds)


def _forget_all_kinds(guessed_bounds: dict[str, Any]) -> None:
    """What elements are like was found out where others were objects or lists that are, or were, no rows, or other ones."""
    for held in (guessed_bounds.get(_RECORDS_MADE, {}), guessed_bounds.get(_ROWS_MADE, {}), guessed_bounds):
        for needs in held.values():
            if type(needs) is Needs:
                needs.kind = None


def keep_records(guessed_bounds: dict[str, Any]) -> None:
    """To be called where a function has been recorded."""
    guessed_bounds.pop(_RECORDS_TRIED, None)
    guessed_bounds.pop(_OTHER_WAY, None)


_OTHER_WAY = "the function is recorded in another way than at first"


def note_other_way(guessed_bounds: dict[str, Any]) -> None:
    """To be called where a function that could not be recorded is tried in another way."""
    guessed_bounds[_OTHER_WAY] = True


def forget_other_way(guessed_bounds: dict[str, Any]) -> None:
    """To be called where a call is refused. The next one begins as this one did, behind whose failure there is a bound on what
    is recorded; only sizes are kept, which hold of any way."""
    if guessed_bounds.pop(_OTHER_WAY, False):
        sizes = {place: size for place, size in guessed_bounds.items() if isinstance(size, int)}
        guessed_bounds.clear()
        guessed_bounds.update(sizes)


# What is called with each object that the function has made: it becomes a record where those of its class are (`records.py`).
KEEPING: list[Callable[[Any], None]] = []


def kept(made: Any) -> Any:
    """An object that the function has just made."""
    if (trace := current_trace()) is None or not records_made(trace.program):  # as a rule
        return made
    for keep in KEEPING:
        keep(made)
    return made


def put_into_one_table(values: Iterable[Any], tables: Iterable[Table] = ()) -> None:
    """To be called with lists, and tables of lists, that one place may hold. Raises RecordedAgain where they can be in one."""
    program, found = current_trace().program, list(tables)
    _put_dicts_into_one(program, found)
    known, makers = rows_made(program), []
    for value in _lists_in(values):
        if (row := row_of(value)) is not None:
            found.append(row.table)
        else:
            makers.append(program.list_makers.get(id(value)))
    families = list({id(table.needs): table.needs for table in found}.values())
    if not families or any(all(one is not other for other in known.values()) or one.is_refused for one in families):
        return
    if None in makers or any(maker in known for maker in makers) or len(families) + len(makers) < 2:
        return
    first = families[0]
    known.update(dict.fromkeys([*makers, *[maker for maker, needs in known.items() if needs in families]], first))
    first.kind = None
    raise RecordedAgain


def _put_dicts_into_one(program: Program, tables: Iterable[Table]) -> None:
    """The same of dicts with the same keys, which several instructions make."""
    dicts = [table for table in tables if type(table.records) is tuple]
    others = [table for table in dicts if table.needs is not dicts[0].needs and table.records == dicts[0].records]
    if others and not any(one.needs.is_refused for one in (dicts[0], *others)):
        made, joined = records_made(program), [one.needs for one in others]
        made.update({maker: dicts[0].needs for maker, needs in made.items() if needs in joined})
        _forget_all_kinds(program.guessed_bounds)  # those of others may hold dicts of the tables that there are no more
        raise RecordedAgain


def _lists_in(values: Iterable[Any]) -> Iterator[list]:
    for value in values:
        if type(value) is list:
            yield value
        elif type(value) is tuple:
            yield from _lists_in(value)
        elif type(value) is Choice:
            yield from _lists_in(value.values)
        elif type(value) is not TracedArray and where_made(value) is not None:  # not further: objects may hold one another
            yield from [part for part in attributes_of(value).values() if type(part) is list]


def refuse(table: Table) -> NoReturn:
    """The lists have to be without a table."""
    table.needs.is_refused = True
    raise RecordedAgain
