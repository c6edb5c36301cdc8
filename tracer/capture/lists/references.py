"""Lists whose elements lie in one table with those of others: each is a row of it, perhaps at a traced position."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.current_trace import current_trace
from ...recording.errors import RecordedAgain, TracerError

if TYPE_CHECKING:
    from .elements import ElementType


class Table:
    """The elements of several lists of one type, in arrays that have a row for each list; these are changed in place.

    columns: one for each leaf of an element, of the shape [lists, capacity + 1, ...]. lengths: of each list, None where all of
    them keep the one ``length``. place: where the capacity was guessed, None where it cannot be exceeded. needs: what other
    recordings have found out about the table. count: how many lists there are, s64[1], None where that is known.
    """

    def __init__(self, kind: ElementType | None, capacity: int, length: int | None, place: str | None, needs: Needs) -> None:
        self.kind, self.capacity, self.length, self.place, self.needs = kind, capacity, length, place, needs
        self.columns: tuple[TracedArray, ...] = ()
        self.lengths: TracedArray | None = None
        self.count: TracedArray | None = None
        self.before: list[tuple[list, list[Any]]] = []  # the lists, with what they held themselves
        self.first_values: tuple[Any, ...] = ()  # the instructions that the columns and the lengths were at first

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


def refuse(table: Table) -> NoReturn:
    """The lists have to be without a table."""
    table.needs.is_refused = True
    raise RecordedAgain
