"""The globals of functions while they are traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...outside.paths import MISSING, Global, Path
from ...recording.errors import TracerError
from ..choices import Maybe
from ..places import UNBOUND
from .libraries import note_builtin

if TYPE_CHECKING:
    from .surroundings import Surroundings

_OWN_NAMES = ("__name__", "__doc__", "__package__", "__loader__", "__spec__", "__file__", "__builtins__", "__path__")


class Namespace(dict):
    """The globals of a function while it is traced: what has been read, and what it has set."""

    def __init__(self, surroundings: Surroundings, original: dict) -> None:
        super().__init__({name: original[name] for name in _OWN_NAMES if name in original})
        self.surroundings, self.original = surroundings, original
        self.as_read: dict[str, Any] = dict(self)
        self.perhaps: dict[str, Maybe] = {}  # names that some ways only have given a value, or taken theirs
        self.deleted: set[str] = set()

    def held(self, name: str) -> Any:
        """What a name holds, UNBOUND where it holds nothing; what may be nothing as it is."""
        if name in self.perhaps and not dict.__contains__(self, name):
            return self.perhaps[name]
        return self[name] if name in self else UNBOUND

    def hold(self, name: str, value: Any) -> None:
        """Let a name hold what `held` has given."""
        self.perhaps.pop(name, None)
        self.pop(name, None)
        self.deleted.discard(name)
        if value is UNBOUND:
            self.deleted.add(name)
        elif type(value) is Maybe and value.absent is UNBOUND:
            self.perhaps[name] = value
        else:
            self[name] = value

    def __missing__(self, name: str) -> Any:
        if name in self.perhaps:
            return self.perhaps[name].required(NameError, f"name '{name}' is not defined")
        if name in self.deleted:
            raise KeyError(name)
        value = self.original.get(name, MISSING)
        if self.surroundings.is_finished:
            if value is MISSING:
                raise KeyError(name)
            return value
        value = self.surroundings.convert(value, Global(self.original, name))
        if value is MISSING:
            if "__builtins__" in self.original:
                note_builtin(self.surroundings, self.original["__builtins__"], name)
            raise KeyError(name)
        self.as_read[name] = self[name] = value
        return value

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __contains__(self, name: Any) -> bool:
        if name in self.perhaps and not dict.__contains__(self, name):
            raise TracerError(f"whether the global name {name} is bound, which is given a value on some ways only")
        try:
            self[name]
        except KeyError:
            return False
        return True

    def has_set(self, name: str) -> bool:
        """Whether the function has given a name another value."""
        return (
            name in self.perhaps
            or dict.__contains__(self, name)
            and (name not in self.as_read or self.as_read[name] is not self[name])
        )

    def effects(self) -> Iterator[tuple[str, Path, Any]]:
        for name in self.deleted - self.keys():
            if name in self.original:
                yield "write", Global(self.original, name), MISSING
        for name, value in {**self.perhaps, **self}.items():
            if name not in self.as_read or self.as_read[name] is not value:
                yield "write", Global(self.original, name), value
