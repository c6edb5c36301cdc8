"""Statements that are others, said more shortly: they are written out before anything else is asked of them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .expressions import located
from .names import COMPOUND, NotCapturable, binds_within_expression, bound_names, copied
from .patterns import as_branches


def plainer(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of one function, with those inside of compound ones, and of functions that are defined there."""
    made: list[ast.stmt] = []
    for statement in statements:
        made += as_branches(statement) if isinstance(statement, ast.Match) else [statement]
    return [_plain(statement) for statement in made]


def _plain(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.FunctionDef):
        statement.body = plainer(statement.body)
    if isinstance(statement, ast.ClassDef):
        statement.body = [_plain(part) if isinstance(part, ast.FunctionDef) else part for part in statement.body]
    if type(statement) not in COMPOUND:
        return statement
    if isinstance(statement, ast.While):
        _test_inside(statement)
    for holder in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            if getattr(holder, name, None):
                setattr(holder, name, plainer(getattr(holder, name)))
    if isinstance(statement, ast.If):
        _nest(statement)
    return statement


def _test_inside(loop: ast.While) -> None:
    """A condition that binds names goes into the loop: what it binds is for the body."""
    if not bound_names([loop.test]):
        return
    if loop.orelse:
        raise NotCapturable("it has a while loop whose condition binds names, with an else clause")
    if _first_that_binds(loop.test):
        loop.body = [located(ast.If(loop.test, loop.body, [located(ast.Break(), loop.test)]), loop)]
    else:
        ends = located(ast.If(ast.UnaryOp(ast.Not(), loop.test), [ast.Break()], []), loop.test)
        loop.body = [ends, *loop.body]
    loop.test = located(ast.Constant(True), loop.test)


def _nest(statement: ast.If) -> None:
    """``if a and (b := f()):`` as ``if a:`` around ``if (b := f()):``, where the other side is small enough to stand twice."""
    first = _first_that_binds(statement.test)
    jumps = all(isinstance(one, ast.Break | ast.Continue | ast.Pass) for one in statement.orelse)
    if not first or len(statement.orelse) > 1 or not jumps:
        return
    before, behind = _all_of(statement.test.values[:first]), _all_of(statement.test.values[first:])
    inner = located(ast.If(behind, statement.body, [copied(one) for one in statement.orelse]), statement)
    _nest(inner)
    statement.test, statement.body = before, [inner]


def _first_that_binds(test: ast.expr) -> int:
    """The first of the operands of ``and`` behind another one that binds names, 0 where there is none."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return 0
    return next((place for place, value in enumerate(test.values) if place and binds_within_expression(value)), 0)


def _all_of(values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else located(ast.BoolOp(ast.And(), values), values[0])
