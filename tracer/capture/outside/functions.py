"""Functions from outside, with globals, closure variables and defaults that tell what is read and set."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...outside.ownership import belongs_to_the_user
from ...outside.paths import MISSING, Attribute, Cell, Fixed, Item, Path
from .libraries import meet_object
from .namespaces import Namespace

if TYPE_CHECKING:
    from .surroundings import Surroundings

_HELPERS = "_phlox"


class FunctionsOutside:
    """The functions of the user's own that one trace runs, and what they see."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._functions: dict[int, tuple[types.FunctionType, types.FunctionType]] = {}
        self._namespaces: dict[int, Namespace] = {}
        self._cells: dict[int, tuple[types.CellType, types.CellType, Any, Path]] = {}

    def entered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function that is traced."""
        if type(function) is types.FunctionType:
            return self.bound(function)
        applied = function.args[0] if isinstance(function, functools.partial) else function  # by `calls.captured_callable`
        holder = getattr(applied, "__self__", applied)
        self._surroundings.remember(holder, Fixed(holder, type(holder).__name__))
        meet_object(self._surroundings, holder)
        return function

    def held(self, holder: Any, name: str) -> Any:
        """The function that an object of a library's class calls."""
        path, function = self._surroundings.path_of(holder), getattr(holder, name)
        if path is None or not (type(function) is types.MethodType or belongs_to_the_user(type(function))):
            return function
        return self._surroundings.convert(function, Attribute(path, name))

    def applied(self, partial: functools.partial) -> tuple[Any, list[Any], dict[str, Any]]:
        """What a partial application calls, and its arguments."""
        path, function = self._surroundings.path_of(partial), self.held(partial, "func")
        if path is None:
            return function, list(partial.args), partial.keywords
        args = [
            self._surroundings.convert(one, Item(Attribute(path, "args"), number)) for number, one in enumerate(partial.args)
        ]
        holder = Attribute(path, "keywords")
        return (
            function,
            args,
            {name: self._surroundings.convert(one, Item(holder, name)) for name, one in partial.keywords.items()},
        )

    def bound(self, function: types.FunctionType) -> types.FunctionType:
        """The function with globals, closure variables and defaults that tell what is read and set."""
        known = self._functions.get(id(function))
        if known is not None:
            return known[1]
        if isinstance(function.__globals__, Namespace):  # made by a function that is traced
            return function
        names = function.__code__.co_freevars
        cells = [self._cell(name, cell) for name, cell in zip(names, function.__closure__ or ())]
        path = Fixed(function, function.__name__)
        holder, held = Attribute(path, "__defaults__"), function.__defaults__
        defaults = held and tuple(
            [self._surroundings.convert(value, Item(holder, position)) for position, value in enumerate(held)]
        )
        made = types.FunctionType(
            function.__code__, self._namespace(function.__globals__), function.__name__, defaults, tuple(cells)
        )
        if given := function.__kwdefaults__:
            holder = Attribute(path, "__kwdefaults__")
            made.__kwdefaults__ = {name: self._surroundings.convert(value, Item(holder, name)) for name, value in given.items()}
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        made.__dict__.update(function.__dict__)
        self._functions[id(function)] = function, made
        return made

    def released(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as it is when the program runs: with the globals and closure variables that are outside then."""
        holder = getattr(function, "__self__", None)
        container = self._surroundings.user_container(holder)
        if container is not MISSING:
            return getattr(container, function.__name__)
        for original, made in self._functions.values():
            if made is function:
                return original
        if type(function) is not types.FunctionType or not isinstance(function.__globals__, Namespace):
            return function
        originals = {id(made): original for original, made, *_ in self._cells.values()}
        cells = tuple([originals.get(id(cell), cell) for cell in function.__closure__ or ()])
        released = types.FunctionType(
            function.__code__, function.__globals__.original, function.__name__, function.__defaults__, cells
        )
        released.__kwdefaults__, released.__qualname__ = function.__kwdefaults__, function.__qualname__
        return released

    def _namespace(self, original: dict) -> Namespace:
        found = self._namespaces.get(id(original))
        if found is None:
            found = self._namespaces[id(original)] = Namespace(self._surroundings, original)
        return found

    def _cell(self, name: str, cell: types.CellType) -> types.CellType:
        if name in (_HELPERS, "__class__"):
            return cell
        known = self._cells.get(id(cell))
        if known is None:
            path = Cell(cell, name)
            value = self._surroundings.convert(path.read(self._surroundings.objects), path)
            made = types.CellType() if value is MISSING else types.CellType(value)
            known = self._cells[id(cell)] = cell, made, value, path
        return known[1]

    def global_value(self, namespace: dict, name: str) -> Any:
        """What a global name stands for, MISSING if it has no value. Raises KeyError if the traced function has set it."""
        original = namespace.original if isinstance(namespace, Namespace) else namespace
        found = self._namespaces.get(id(original))
        if found is not None and found.has_set(name):
            raise KeyError(name)
        return original.get(name, MISSING)

    def cell_value(self, cell: types.CellType) -> Any:
        """What a closure variable stands for now, MISSING if it has no value."""
        known = self._cells.get(id(cell))
        try:
            return (cell if known is None else known[1]).cell_contents
        except ValueError:
            return MISSING

    def effects(self) -> list[tuple[str, Path, Any]]:
        """What becomes of global names and closure variables: see `Surroundings.effects`."""
        found: list[tuple[str, Path, Any]] = []
        for namespace in self._namespaces.values():
            found += namespace.effects()
        for _, made, before, path in self._cells.values():
            value = self.cell_value(made)
            if value is not before:
                found.append(("write", path, value))
        return found
