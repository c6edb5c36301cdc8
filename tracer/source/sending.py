"""Source texts that travel with functions to other processes, which may have no files to read them from."""

from __future__ import annotations

import contextlib
import linecache
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple


def is_found_by_name(value: Any) -> bool:
    """Whether the module of a function, or what stands for one, has it under its name."""
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found is value


def values_sent_by_cloudpickle(frame: types.FrameType) -> Callable[[str], bool] | None:
    """If what is being run in this frame is cloudpickle: whether it sends the functions of a module as code. None otherwise."""
    name = frame.f_globals.get("__name__", "")
    if "cloudpickle" not in name.split("."):
        return None
    registered = getattr(sys.modules.get(name), "list_registry_pickle_by_value", set)()
    return lambda module: module == "__main__" or any(module == one or module.startswith(f"{one}.") for one in registered)


class Sources(NamedTuple):
    """The texts of files, or notebook cells, by their names, and in which of them functions stand, by name and first line."""

    texts: dict[str, str]
    files: dict[tuple[str, int], str]


def sources_of(function: Any) -> Sources:
    """Those of a function and of the functions of its module that it uses."""
    found = Sources({}, {})
    for one in _used_by(function, set()):
        file = one.__code__.co_filename
        if file not in found.texts and (lines := linecache.getlines(file, one.__globals__)):
            found.texts[file] = "".join(lines)
        found.files[_place_of(one.__code__)] = file
    return found


def remember_sources(sources: Sources, function: Any) -> None:
    """Let the source texts of another process be read here, for files that are not there, by a function and those it uses.

    Later versions of cloudpickle (3.1.3 does) send no file names with code: the functions get theirs again.
    """
    for file, text in sources.texts.items():
        if not linecache.getlines(file):
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    for one in _used_by(function, set()):
        file = sources.files.get(_place_of(one.__code__))
        if file is not None and one.__code__.co_filename != file and not linecache.getlines(one.__code__.co_filename):
            one.__code__ = _in_file(one.__code__, file)


def _place_of(code: types.CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _in_file(code: types.CodeType, file: str) -> types.CodeType:
    constants = tuple(_in_file(one, file) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=file, co_consts=constants)


def _used_by(value: Any, seen: set[int]) -> Iterator[types.FunctionType]:
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    if isinstance(value, type):
        for held in vars(value).values():
            yield from _used_by(held, seen)
    if not isinstance(value, types.FunctionType) or id(value) in seen:
        return
    seen.add(id(value))
    yield value
    codes = [value.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    names = {name for code in codes for name in code.co_names}
    for held in [
        *_contents(value.__closure__ or ()),
        *[value.__globals__[name] for name in names if name in value.__globals__],
    ]:
        if getattr(held, "__module__", None) == value.__module__:
            yield from _used_by(held, seen)


def _contents(cells: Iterable[types.CellType]) -> Iterator[Any]:
    for cell in cells:
        with contextlib.suppress(ValueError):  # it is empty
            yield cell.cell_contents
