"""Which names statements bind and read, in the scope of one function, and how they may be left."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

PART = "_phlox_part"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SUSPENDING = frozenset({ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith})
_BINDING = frozenset({ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await})
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class NotCapturable(Exception):
    """A function that stays as it is; the message says why."""


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """The parameters, in the order of a code object's names."""
    rest = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


# Fields that hold no nodes, or such that say nothing about names: contexts and operators.
_WITHOUT_NODES = frozenset({
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "op", "ops", "rest",
    "simple", "type_comment",
})  # fmt: skip
_fields: dict[type, tuple[str, ...]] = {ast.Constant: (), ast.Global: (), ast.Nonlocal: ()}


def fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a kind of nodes that may hold others, but for contexts and operators."""
    found = _fields.get(kind)
    if found is None:
        found = _fields[kind] = tuple([name for name in kind._fields if name not in _WITHOUT_NODES])
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """As `ast.iter_child_nodes`, but for contexts and operators, in a fraction of the time."""
    found: list[ast.AST] = []
    held = vars(node)
    for name in _fields.get(type(node)) or fields_of(type(node)):
        value = held.get(name)
        if type(value) is list:
            found += value if None not in value else [item for item in value if item is not None]
        elif value is not None and isinstance(value, ast.AST):
            found.append(value)
    return found


def copied(node: ast.AST) -> Any:
    """A deep copy of a tree, without what others have noted on its nodes (who prints tracebacks, their parents)."""
    kind = type(node)
    names = kind._fields + kind._attributes
    if not names:
        return node
    held, parts = vars(node), {}
    for name in names:
        value = held.get(name, _MISSING)
        if value is _MISSING:  # one that is left out
            continue
        if type(value) is list:
            value = [copied(item) if isinstance(item, ast.AST) else item for item in value]
        elif isinstance(value, ast.AST):
            value = copied(value)
        parts[name] = value
    made = kind.__new__(kind)
    vars(made).update(parts)
    return made


_MISSING = object()


def nodes_of_scope(roots: Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes that run in the scope of the roots: not what is inside of functions and classes that they define.

    Of comprehensions there are the nodes, too, as ``:=`` binds names around them.
    """
    pending, found = list(roots), []
    while pending:
        node = pending.pop()
        found.append(node)
        kind = type(node)
        if kind is ast.Name or kind is ast.Constant:
            continue
        pending += around_scope(node)
    return found


def around_scope(node: ast.AST) -> list[ast.AST]:
    """The children of a node that run where it stands: of a definition, decorators, defaults and bases."""
    kind = type(node)
    if kind in _FUNCTIONS:
        decorators = [] if kind is ast.Lambda else node.decorator_list
        defaults = [*node.args.defaults, *[default for default in node.args.kw_defaults if default is not None]]
        return [*decorators, *defaults]
    if kind is ast.ClassDef:
        return [*node.decorator_list, *node.bases, *[keyword.value for keyword in node.keywords]]
    return children(node)


def bound_names(roots: Iterable[ast.AST]) -> set[str]:
    """The names that are assigned, deleted or otherwise bound in this scope; of statements, before they were written anew."""
    names: set[str] = set()
    for root in roots:
        names |= _noted(root, _BOUND, _bound_names) if isinstance(root, ast.stmt) else _bound_names(root)
    return names


# Attributes of nodes, so that they are searched once.
_BOUND, _READ = "names_bound", "names_read"


def _noted(node: ast.AST, attribute: str, find: Callable[[ast.AST], set[str]]) -> set[str]:
    found = vars(node).get(attribute)
    if found is None:
        found = find(node)
        setattr(node, attribute, found)
    return found


def _bound_names(root: ast.AST) -> set[str]:
    names: set[str] = set()
    in_comprehensions: set[ast.AST] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load and node not in in_comprehensions:
                names.add(node.id)
            continue
        if kind is ast.Constant:
            continue
        if node is not root and isinstance(node, ast.stmt):
            names |= _noted(node, _BOUND, _bound_names)
            continue
        if kind in _COMPREHENSIONS:
            for generator in node.generators:
                in_comprehensions.update(ast.walk(generator.target))
        elif kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            names.add(node.name)
        elif kind in (ast.Import, ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif kind in (ast.ExceptHandler, ast.MatchAs, ast.MatchStar) and node.name:
            names.add(node.name)
        elif kind is ast.MatchMapping and node.rest:
            names.add(node.rest)
        pending += around_scope(node)
    return names


def read_names(roots: Iterable[ast.AST]) -> set[str]:
    """The names that are read, in this scope and in those of comprehensions, lambdas, functions and classes inside.

    Of statements and expressions, before they were written anew.
    """
    names: set[str] = set()
    for root in roots:
        names |= _noted(root, _READ, _read_names)
    return names


def _read_names(root: ast.AST) -> set[str]:
    names, pending = set(), [root]
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is ast.Load:
                names.add(node.id)
        elif kind is not ast.Constant:
            pending += children(node)
    return names


def declared(nodes: Iterable[ast.AST], kind: type) -> set[str]:
    """The names in the ``global`` or ``nonlocal`` statements among the nodes of a scope."""
    return {name for node in nodes if isinstance(node, kind) for name in node.names}


def shared_names(nodes: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that functions and classes among the nodes of a scope read at any time, and those that they rebind."""
    read, rebound = set(), set()
    for node in nodes:
        kind = type(node)
        if kind is ast.Lambda:
            read |= read_names([node.body])
        elif kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            read |= read_names(node.body)
            for inner in ast.walk(node):
                if isinstance(inner, ast.Nonlocal):
                    rebound.update(inner.names)
        elif kind is ast.GeneratorExp:
            read |= read_names([node])
    return read, rebound


def suspends(nodes: Iterable[ast.AST]) -> bool:
    """Whether there is a yield, or an await, among the nodes of a scope."""
    return any(type(node) in _SUSPENDING for node in nodes)


def binds_within_expression(root: ast.AST) -> bool:
    """Whether an expression cannot be put into a function of its own: it binds names, or suspends."""
    for node in nodes_of_scope([root]):
        kind = type(node)
        if kind in _BINDING or kind is ast.comprehension and node.is_async:
            return True
    return False


def ways_out(statements: Iterable[ast.stmt]) -> set[str]:
    """How control may leave the statements other than at their end: "return", "break", "continue"."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            found.add(type(statement).__name__.lower())
        elif isinstance(statement, LOOPS):
            found |= ways_out(statement.body) - {"break", "continue"} | ways_out(statement.orelse)
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found |= ways_out(parts_of(statement))
    return found


def parts_of(statement: ast.stmt) -> list[ast.stmt]:
    """The statements in all blocks of a compound statement."""
    parts: list[ast.stmt] = []
    for name in ("body", "orelse", "finalbody"):
        parts += getattr(statement, name, [])
    for inner in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        parts += inner.body
    return parts


def never_ends(statements: list[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.Return | ast.Break | ast.Continue | ast.Raise):
        return True
    if isinstance(last, ast.If):
        return never_ends(last.body) and never_ends(last.orelse)
    return False


def as_function(names: Iterable[str], expression: ast.expr) -> ast.Lambda:
    """The expression as a function of these names. A parameter that is never given tells it from the user's lambdas."""
    return ast.Lambda(ast.arguments([], [ast.arg(name) for name in names], ast.arg(PART), [], [], None, []), expression)
