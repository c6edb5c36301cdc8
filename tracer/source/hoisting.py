"""Names that an expression binds on some ways only: it becomes statements in front of the one that it stands in.

``s += (w := f(v)) if v > 0 else 1`` becomes an ``if`` statement that binds a name of its own, and ``s += `` that name. So does
``a or (b := c)``; and ``[y for v in x if (y := f(v)) > 0]`` and ``any((y := v) > 0 for v in x)`` become loops. Where something
stands before it in the statement that might see the difference, the statement stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .expressions import located
from .names import DEFINITIONS, binds_within_expression, bound_names, children, copied, forget_found

_PREFIX = "_hoisted_"
# What looks at nothing but names, which are compared with those that are bound.
_HARMLESS = (ast.Name, ast.Constant, ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.NamedExpr, ast.Tuple, ast.List)
_VALUES = {
    ast.If: "test",
    ast.Assign: "value",
    ast.AugAssign: "value",
    ast.AnnAssign: "value",
    ast.Expr: "value",
    ast.Return: "value",
}


def hoisted(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of one function."""
    made = _hoisted(statements)
    forget_found(made)
    return made


def _hoisted(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The same, and those inside of a compound one."""
    made: list[ast.stmt] = []
    for statement in statements:
        if not isinstance(statement, DEFINITIONS):
            for holder in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                for name in ("body", "orelse", "finalbody"):
                    if getattr(holder, name, None):
                        setattr(holder, name, _hoisted(getattr(holder, name)))
            made += _in_front(statement)
        made.append(statement)
    return made


def _in_front(statement: ast.stmt) -> list[ast.stmt]:
    """Statements that compute parts of a statement, which has their names in the place of these."""
    field = _VALUES.get(type(statement))
    value = getattr(statement, field, None) if field else None
    found = None if value is None else _first_to_hoist(value)
    if found is None or not _may_be_first(statement, value, found):
        return []
    name = f"{_PREFIX}{found.lineno}_{found.col_offset}"
    setattr(statement, field, _replaced(value, found, located(ast.Name(name, ast.Load()), found)))
    return _hoisted(as_statements(name, found)) + _in_front(statement)


def _first_to_hoist(value: ast.expr) -> ast.expr | None:
    """The first expression, in the order of the source, of which a part that is evaluated on some ways only binds names."""
    return next((node for node in _expressions(value) if any(map(binds_within_expression, _parts(node)))), None)


def _expressions(value: ast.AST) -> Iterator[ast.AST]:
    """An expression and those in it that have its scope, outer ones first."""
    if not isinstance(value, ast.GeneratorExp):
        yield value
    if not isinstance(value, (ast.Lambda, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.ListComp)):
        for child in children(value):
            yield from _expressions(child)


def _parts(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression that are evaluated on some ways only, or several times."""
    if isinstance(node, ast.BoolOp):
        return node.values[1:]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    node = node.args[0] if ends_early(node) else node
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and not any(one.is_async for one in node.generators):
        return [node.elt, *[test for one in node.generators for test in one.ifs], *[one.iter for one in node.generators[1:]]]
    return []


def ends_early(node: ast.AST) -> bool:
    """Whether this is ``any(...)`` or ``all(...)`` of a generator expression."""
    is_one = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all")
    return is_one and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)


def _may_be_first(statement: ast.stmt, value: ast.expr, found: ast.expr) -> bool:
    """Whether nothing is evaluated before it whose value, or effect, it may change."""
    bound = bound_names([found])
    if isinstance(statement, ast.AugAssign) and not (
        isinstance(statement.target, ast.Name) and statement.target.id not in bound
    ):
        return False
    place = found.lineno, found.col_offset
    around = _around(value, found)
    before = [
        node for node in _expressions(value)
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset) < place and node not in around
    ]  # fmt: skip
    return all(isinstance(node, _HARMLESS) and not (isinstance(node, ast.Name) and node.id in bound) for node in before)


def _around(value: ast.AST, found: ast.AST) -> list[ast.AST]:
    """The expressions that it stands in, itself among them; none where it is elsewhere."""
    if value is found:
        return [value]
    inside = next((nodes for child in children(value) if (nodes := _around(child, found))), [])
    return [value, *inside] if inside else []


def _replaced(value: ast.expr, found: ast.expr, name: ast.expr) -> ast.expr:
    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return name if node is found else self.generic_visit(node)

    return Replace().visit(value)


def as_statements(name: str, value: ast.expr) -> list[ast.stmt]:
    """Statements that bind the name to the value."""
    if isinstance(value, ast.BoolOp):
        read = ast.Name(name, ast.Load())
        test = read if isinstance(value.op, ast.And) else ast.UnaryOp(ast.Not(), read)
        first, *others = value.values
        rest = others[0] if len(others) == 1 else located(ast.BoolOp(value.op, others), others[0])
        return [_bound(name, first), located(ast.If(test, as_statements(name, rest), []), value)]
    if isinstance(value, ast.IfExp):
        return [located(ast.If(value.test, as_statements(name, value.body), as_statements(name, value.orelse)), value)]
    if isinstance(value, ast.ListComp):
        append = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()), [value.elt], [])
        loops = _loops(name, value, [ast.Expr(append)], None)
        return [_bound(name, located(ast.List([], ast.Load()), value)), loops]
    if ends_early(value):
        is_any, inner = value.func.id == "any", value.args[0]
        test = inner.elt if is_any else ast.UnaryOp(ast.Not(), inner.elt)
        read = ast.Name(name, ast.Load())
        found = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(is_any)), ast.Break()]
        ended = ast.If(read if is_any else ast.UnaryOp(ast.Not(), read), [ast.Break()], [])
        return [_bound(name, located(ast.Constant(not is_any), value)), _loops(name, inner, [ast.If(test, found, [])], ended)]
    return [_bound(name, value)]


def _bound(name: str, value: ast.expr) -> ast.stmt:
    return located(ast.Assign([ast.Name(name, ast.Store())], value), value)


def _loops(name: str, value: ast.ListComp | ast.GeneratorExp, body: list[ast.stmt], ended: ast.stmt | None) -> ast.stmt:
    """The loops of a comprehension around what is done with each value, and what ends them; the targets have own names."""
    targets = bound_names([one.target for one in value.generators])
    first = value.generators[0].iter
    for place, one in reversed(list(enumerate(value.generators))):
        for test in reversed(one.ifs):
            body = [ast.If(test, body, [])]
        body = [ast.For(one.target, one.iter if place else ast.Constant(None), body, [])]
        if ended is not None and place:
            body.append(copied(ended))
    loop = located(_Renamed({target: f"{name}_{target}" for target in targets}).visit(copied(body[0])), value)
    loop.iter = first
    return loop


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node
