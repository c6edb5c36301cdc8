"""From a code object to the part of the syntax tree that it was compiled from."""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterator
from functools import lru_cache

from .names import NotCapturable, all_arguments

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def definition_of(code: types.CodeType, module_globals: dict) -> Definition:
    """The definition that this code was compiled from; shared, not to be changed. Raises NotCapturable."""
    lines = linecache.getlines(code.co_filename, module_globals)
    if not lines:
        raise NotCapturable(f"its source, {code.co_filename}, cannot be read")
    try:
        tables = _definitions("".join(lines))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise NotCapturable(f"{code.co_filename} cannot be parsed as it is now ({error})") from None
    found = [node for node in tables.get(code.co_firstlineno, ()) if _is_compiled_from(code, node)]
    if len(found) != 1:
        what = "has changed since" if not found else f"has {len(found)} functions that look like it in one place"
        raise NotCapturable(f"{code.co_filename}:{code.co_firstlineno} {what}")
    return found[0]


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
    start, stop = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return all(start <= first and last <= stop for first, last in _spans(code))


def _spans(code: types.CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where the code's instructions come from, without those that only begin it."""
    for line, last_line, column, last_column in code.co_positions():
        if None not in (line, last_line, column, last_column) and (column, last_column) != (0, 0):
            yield (line, column), (last_line, last_column)
