"""Generator functions, written as two: the generator, and a function that calls another one with each value.

Of ``def f(x): ... yield v ...`` this makes ``def f(x): return _phlox.generator(pull, push, (x,))``, where ``pull`` is the
generator function and ``push`` has ``if take(v): return`` in the place of ``yield v``.
"""

from __future__ import annotations

import ast

from .expressions import helper, located
from .names import DEFINITIONS, TAKE, all_arguments, children, copied, found_in, marked_nodes

_YIELDS = (ast.Yield, ast.YieldFrom)


def is_generator(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, _YIELDS) for node in marked_nodes(function.body))


def split(function: ast.FunctionDef, prefix: str) -> list[ast.FunctionDef]:
    """Let a generator function return a call of a helper with two functions, which are the result, or one if it is alone."""
    place = function.body[0]
    names = [argument.arg for argument in all_arguments(function.args)]
    pushing = _pushing([copied(statement) for statement in function.body])
    parts = [_part(f"{prefix}pull", names, [], function.body, place)]
    if pushing is not None:
        parts.append(_part(f"{prefix}push", names, [TAKE], pushing, place))
    given = [ast.Name(part.name, ast.Load()) for part in parts] + [ast.Constant(None)] * (2 - len(parts))
    values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
    function.body = [*parts, located(ast.Return(helper("generator", place, *given, values)), place)]
    return parts


def _part(name: str, names: list[str], others: list[str], body: list[ast.stmt], place: ast.stmt) -> ast.FunctionDef:
    arguments = [[ast.arg(one) for one in some] for some in (names, others)]
    parameters = ast.arguments([], arguments[0], None, arguments[1], [None] * len(others), None, [])
    made = ast.FunctionDef(name, parameters, body, [], None)
    made.type_params = []
    located(parameters, place)
    return ast.copy_location(made, place)


def _pushing(statements: list[ast.stmt]) -> list[ast.stmt] | None:
    """The statements with calls in the place of yields; None where the value of a yield is used."""
    made: list[ast.stmt] = []
    for statement in statements:
        new = _pushed(statement)
        if new is None:
            return None
        made += new
    return made


def _pushed(statement: ast.stmt) -> list[ast.stmt] | None:
    if isinstance(statement, DEFINITIONS):
        return [statement]
    value = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(value, ast.Yield) and not _has_yield(value.value):
        return [_taken(value.value or ast.Constant(None), statement)]
    if isinstance(value, ast.YieldFrom) and not _has_yield(value.value):
        item = "_phlox_item"
        loop = ast.For(ast.Name(item, ast.Store()), value.value, [_taken(ast.Name(item, ast.Load()), statement)], [], None)
        return [located(loop, statement)]
    if isinstance(statement, ast.Return):
        value = [] if statement.value is None else [located(ast.Expr(statement.value), statement)]
        return None if _has_yield(statement.value) else [*value, located(ast.Return(None), statement)]
    for holder in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            if getattr(holder, name, None):
                setattr(holder, name, inner := _pushing(getattr(holder, name)))
                if inner is None:
                    return None
    inner = ast.stmt | ast.excepthandler | ast.match_case
    parts = [part for part in children(statement) if not isinstance(part, inner)]
    return None if any(map(_has_yield, parts)) else [statement]


def _taken(value: ast.expr, place: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(TAKE, ast.Load()), [value], [])
    return located(ast.If(call, [ast.Return(None)], []), place)


def _has_yield(node: ast.AST | None) -> bool:
    return node is not None and any(isinstance(one, _YIELDS) for one in found_in(node).marked)
