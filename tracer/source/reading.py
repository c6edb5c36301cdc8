"""From a code object to the part of the syntax tree that it was compiled from."""

from __future__ import annotations

import ast
import linecache
import os
import time
import types
import warnings
from collections.abc import Iterator
from functools import lru_cache

from .names import NotCapturable, all_arguments, copied

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# A file that is older than this process is taken to be what its modules were imported from.
_START = time.time()
# By identity: the lines of the files of functions that are read later.
_noted: dict[int, tuple[types.CodeType, list[str]]] = {}


def note_source(function: types.FunctionType) -> None:
    """Let the function's definition be read later, if ever, from what is known of its file now."""
    code = function.__code__
    _noted[id(code)] = code, linecache.getlines(code.co_filename, function.__globals__)


def definition_of(code: types.CodeType, module_globals: dict) -> Definition:
    """The definition that this code was compiled from, for the caller to change. Raises NotCapturable."""
    _, lines = _noted.pop(id(code), None) or (code, linecache.getlines(code.co_filename, module_globals))
    if not lines:
        raise NotCapturable(f"its source, {code.co_filename}, cannot be read")
    if _has_been_written(code.co_filename):
        linecache.checkcache(code.co_filename)
        texts = ["".join(lines), "".join(linecache.getlines(code.co_filename, module_globals))]
        text = next((one for one in texts if code in _codes(one, code.co_filename)), None)
        if text is None:
            raise NotCapturable(f"{code.co_filename} has changed since it was imported")
        lines = text.splitlines(keepends=True)
    if (own := _in_own_lines(code, lines)) is not None:
        return own
    try:
        tables = _definitions("".join(lines))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotCapturable(f"{code.co_filename} cannot be parsed as it is now ({error})") from None
    found = [node for node in tables.get(code.co_firstlineno, ()) if _is_compiled_from(code, node)]
    if len(found) != 1:
        what = "has changed since" if not found else f"has {len(found)} functions that look like it in one place"
        raise NotCapturable(f"{code.co_filename}:{code.co_firstlineno} {what}")
    return copied(found[0])


def _has_been_written(file: str) -> bool:
    """Whether a file that has been read is another one now, or may have been when its modules were imported."""
    _, read, *_ = linecache.cache.get(file, (0, None))
    try:
        return read is not None and (os.stat(file).st_mtime != read or read > _START)
    except OSError:
        return False


@lru_cache(maxsize=16)
def _codes(source: str, file: str) -> frozenset[types.CodeType]:
    """The code objects of all functions in a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [compile(source, file, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    for code in found:
        found += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(found)


def _in_own_lines(code: types.CodeType, lines: list[str]) -> Definition | None:
    """The definition, where its lines alone can be parsed: a file is much longer. None for lambdas.

    The lines end before the first one that is indented no further. Where that is no new statement, but within a text or
    brackets, they have no meaning by themselves.
    """
    first = code.co_firstlineno - 1
    header = next((place for place in range(first, len(lines)) if lines[place].lstrip().startswith(("def ", "async "))), None)
    if code.co_name == "<lambda>" or header is None:
        return None
    indentation = lines[header][: -len(lines[header].lstrip())]
    end = header + 1
    while end < len(lines) and _goes_on(lines[end], indentation):
        end += 1
    before = "\n" * first if not indentation else "\n" * (first - 1) + "if 1:\n"
    try:
        found = ast.parse(before + "".join(lines[first:end])).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    node, *others = found[0].body if indentation else found
    return node if isinstance(node, Definition) and not others and _is_compiled_from(code, node) else None


def _goes_on(line: str, indentation: str) -> bool:
    inside = line.removeprefix(indentation).lstrip(" \t\f\n\r")
    return not inside or inside[0] in "#)]}" or line.startswith((indentation + " ", indentation + "\t"))


@lru_cache(maxsize=16)
def _definitions(source: str) -> dict[int, list[Definition]]:
    """All definitions in a file, by the first line of their code objects: that of the first decorator."""
    tables: dict[int, list[Definition]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Definition):
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            first = min([node.lineno, *[decorator.lineno for decorator in decorators]])
            tables.setdefault(first, []).append(node)
    return tables


def _is_compiled_from(code: types.CodeType, node: Definition) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    if name != code.co_name:
        return False
    given = [argument.arg for argument in all_arguments(node.args)]
    if len(given) > len(code.co_varnames) or len(node.args.kwonlyargs) != code.co_kwonlyargcount:
        return False
    if not isinstance(node, ast.Lambda):  # the only function that begins in its line
        lines = {line for _, _, line in code.co_lines()} - {None, code.co_firstlineno}
        return all(node.lineno <= line <= node.end_lineno for line in lines)
    start, stop = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return all(start <= first and last <= stop for first, last in _spans(code))


def _spans(code: types.CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the code's instructions come from, without those that only begin it."""
    for line, last_line, column, last_column in code.co_positions():
        if None not in (line, last_line, column, last_column) and (column, last_column) != (0, 0):
            yield (line, column), (last_line, last_column)
