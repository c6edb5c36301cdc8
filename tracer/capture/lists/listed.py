"""What makes dicts and deques that are objects with a list (`..library.listed`), as some that are copies are changed.

Each instruction of the user's that makes such a container has a class of its own, whose objects are records: so what one of
them holds need not be of the kind that another one holds.
"""

from __future__ import annotations

from typing import Any

from ...recording.current_trace import current_trace
from ..calls.dispatch import call
from ..keys.set_makers import maker_of_sets
from ..library.listed import Listed
from .growing import note_list
from .references import records_made

# By their bases, names, and what else tells their objects from others.
_classes: dict[tuple[type, str, Any], type] = {}


def note_container(made: Any, kind: type, is_empty: bool = True) -> None:
    """To be called with a container that the function has just made, for which an object of this kind could stand."""
    if (trace := current_trace()) is not None:
        trace.program.container_makers[id(made)] = (type(made), (kind.__module__, _name(kind)), is_empty)


def made_listed(kind: type, told_apart: Any = None, **attributes: Any) -> Listed | None:
    """The object that stands for a container that the function makes here; None where that is a container.

    Attributes are those of its class; ``told_apart`` is what they are known by.
    """
    if (trace := current_trace()) is None or not (known := records_made(trace.program)):
        return None
    needs = known.get((kind.__module__, name := _name(kind)))
    if needs is None or needs.is_refused:
        return None
    if (key := (kind, name, told_apart)) not in _classes:
        _classes[key] = type(kind.__name__, (kind,), {"__module__": kind.__module__, "__qualname__": name})
    for attribute, value in attributes.items():
        setattr(_classes[key], attribute, value)
    return call(_classes[key])


def _name(kind: type) -> str:
    return f"{kind.__name__} made by {maker_of_sets()}"


def own_list(holder: Listed) -> list[Any]:
    """An empty list for such an object: those of one class lie in one table."""
    made: list[Any] = []
    note_list(made, ("elements of", type(holder).__qualname__))
    return made
