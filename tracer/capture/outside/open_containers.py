"""Containers from outside whose entries are others at each call: arrays of them are inputs, as many rows as count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import hlo
from ...outside.entries import LENGTH, TEXTS, Columns, Entries, EntryForm, SameEntries, entries_key, form_of, room_for, rows_for
from ...outside.paths import Argument, Path
from ...outside.policy import HiddenNeeded
from ...recording.array import TracedArray
from ...recording.errors import TracerError
from ..lists.elements import ElementType, element_type
from ..lists.runs import Form, Run, type_of_items

if TYPE_CHECKING:
    from .surroundings import Surroundings

Change = tuple[str, Path, Any]


class OpenEntries:
    """What a container held when the function began: one run, whose length and columns are inputs."""

    def __init__(self, surroundings: Surroundings, path: Path, form: EntryForm, rows: int, room: int, place: str) -> None:
        inputs = Columns(form, rows + 1, room)  # the last row is for what must not be written
        surroundings.guard(SameEntries(path, inputs))
        surroundings.copied |= form.copied
        surroundings.are_numbers = surroundings.are_numbers and form.is_flat
        trace, columns = surroundings.trace, []
        begin, text = 0, None
        if form.holds_texts:
            storage = trace.captured_input(hlo.Shape(hlo.S32, (room,)), Entries(path, inputs, TEXTS)).storage
            begin, text = surroundings.texts.begin(storage), surroundings.texts.example()
        self.type = element_type(form.example(text))
        for number, (dtype, like) in enumerate(zip(form.dtypes, self.type.columns)):
            shape = hlo.Shape(hlo.element_type_of(dtype.base), (rows + 1, *dtype.shape))
            storage = trace.captured_input(shape, Entries(path, inputs, number)).storage
            column = TracedArray(storage, shape, like.weak_type, is_scalar=False)
            columns.append(_moved(column, begin) if dtype.shape else column)
        counted = trace.captured_input(hlo.Shape(hlo.S64), Entries(path, inputs, LENGTH))
        trace.program.intervals[counted.parameter] = (0, rows)
        length = TracedArray(counted.storage, counted.parameter.shape, weak_type=True)
        surroundings.keys_given += [(columns[number], length) for number in form.keys_that_are_texts]
        self.run = Run(Form(self.type.structure, self.type.leaves, rows, place), columns, length)

    def change(self, path: Path, items: list[Any], value: Any) -> Iterator[Change]:
        """What is to be done behind each call where these are the items in the end. Raises TracerError for other types."""
        if len(items) == 1 and items[0] is self.run:
            return
        kind = type_of_items(items)
        if kind is not None and not self._holds(kind):
            raise TracerError(f"{path.text} holds {self.type}, and gets {kind}")
        yield "entries", path, value

    def _holds(self, kind: ElementType) -> bool:
        """Whether entries of this type are what they were."""
        leaves = [[(leaf.constants, leaf.types) for leaf in one.leaves] for one in (kind, self.type)]
        return (kind.structure, kind.numbers) == (self.type.structure, self.type.numbers) and leaves[0] == leaves[1]


def open_entries(surroundings: Surroundings, container: Any, path: Path) -> OpenEntries | None:
    """The entries of a container from outside that has turned out to hold others; None where they are taken one by one."""
    key = entries_key(path)
    form = _form(container, path) if surroundings.policy.is_hidden(key) else None
    if form is None:
        return None
    surroundings.opened.add(key)
    place = f"the entries of {path.text}"
    bounds = surroundings.trace.program.guessed_bounds
    bounds[place] = rows = rows_for(2 * len(container), bounds.get(place, 0))
    of_texts = f"the texts in {path.text}"
    bounds[of_texts] = room = room_for(form, container, bounds.get(of_texts, 0))
    return OpenEntries(surroundings, path, form, rows, room, place)


def _form(container: Any, path: Path) -> EntryForm | None:
    """What the entries of a container are like that can be inputs; None where they are taken one by one."""
    form = form_of(container)
    if form is not None and (form.holds_texts or form.copied) and not isinstance(path, Argument):
        return None  # texts are given before the function begins, and of what is outside there may be other names
    return form


def _moved(column: TracedArray, count: int) -> TracedArray:
    """The column of texts whose characters lie so many further on."""
    array = column.instruction(column.root_storage.trace)
    moved = hlo.add(array, hlo.broadcast(hlo.constant(np.int64([count, 0])), array.shape.dimensions, (1,)))
    return TracedArray.from_instruction(column.root_storage.trace, moved, column.weak_type, is_scalar=False)


def require_entries(surroundings: Surroundings, container: Any, path: Path) -> None:
    """To be called with a container whose entries the program puts there anew. Raises HiddenNeeded where they can be inputs.

    They will be others at each call then.
    """
    key = entries_key(path)
    if _form(container, path) is not None and not {key} & (surroundings.policy.hidden | surroundings.policy.known):
        raise HiddenNeeded({key})
