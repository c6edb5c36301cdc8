"""Which names statements bind and read, in the scope of one function, and how they may be left."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

PART = "_phlox_part"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class NotCapturable(Exception):
    """A function that stays as it is; the message says why."""


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """The parameters, in the order of a code object's names."""
    rest = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def children(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.iter_child_nodes`, but for contexts, in a fraction of the time."""
    for name, value in vars(node).items():
        if type(value) is int or name == "ctx":
            continue
        if isinstance(value, ast.AST):
            yield value
        elif type(value) is list:
            for item in value:
                if isinstance(item, ast.AST):
                    yield item


def copied(node: ast.AST) -> Any:
    """A deep copy of a tree, without what others have noted on its nodes (who prints tracebacks, their parents)."""
    parts = {}
    for name in (*node._fields, *node._attributes):
        try:
            value = getattr(node, name)
        except AttributeError:  # one that is left out
            continue
        if isinstance(value, ast.AST):
            value = copied(value)
        elif type(value) is list:
            value = [copied(item) if isinstance(item, ast.AST) else item for item in value]
        parts[name] = value
    return type(node)(**parts)


def nodes_of_scope(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes that run in the scope of the roots: not what is inside of functions and classes that they define.

    Of comprehensions there are the nodes, too, as ``:=`` binds names around them.
    """
    pending = list(roots)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            pending.extend(_outside_of_function(node))
        elif isinstance(node, ast.ClassDef):
            pending.extend([*node.decorator_list, *node.bases, *[keyword.value for keyword in node.keywords]])
        else:
            pending.extend(children(node))


def _outside_of_function(node: ast.AST) -> list[ast.AST]:
    """What of a definition runs around it: decorators and defaults."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    defaults = [*node.args.defaults, *[default for default in node.args.kw_defaults if default is not None]]
    return [*decorators, *defaults]


def bound_names(roots: Iterable[ast.AST]) -> set[str]:
    """The names that are assigned, deleted or otherwise bound in this scope; of statements, before they were written anew."""
    names: set[str] = set()
    for root in roots:
        if not isinstance(root, ast.stmt):
            names |= _bound_names(root)
            continue
        found = vars(root).get(_BOUND)
        if found is None:
            found = _bound_names(root)
            setattr(root, _BOUND, found)
        names |= found
    return names


_BOUND = "names_bound"  # an attribute of statements, so that they are searched once


def _bound_names(root: ast.AST) -> set[str]:
    names: set[str] = set()
    in_comprehensions: set[ast.AST] = set()
    for node in nodes_of_scope([root]):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load) and node not in in_comprehensions:
                names.add(node.id)
        elif isinstance(node, _COMPREHENSIONS):
            for generator in node.generators:
                in_comprehensions.update(ast.walk(generator.target))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


def read_names(roots: Iterable[ast.AST]) -> set[str]:
    """The names that are read, in this scope and in those of comprehensions, lambdas, functions and classes inside."""
    names = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                names.add(node.id)
        else:
            pending.extend(children(node))
    return names


def declared(nodes: Iterable[ast.AST], kind: type) -> set[str]:
    """The names in the ``global`` or ``nonlocal`` statements among the nodes of a scope."""
    return {name for node in nodes if isinstance(node, kind) for name in node.names}


def shared_names(nodes: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that functions and classes among the nodes of a scope read at any time, and those that they rebind."""
    read, rebound = set(), set()
    for node in nodes:
        if isinstance(node, ast.Lambda):
            read |= read_names([node.body])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            read |= read_names(node.body)
            for inner in ast.walk(node):
                if isinstance(inner, ast.Nonlocal):
                    rebound.update(inner.names)
        elif isinstance(node, ast.GeneratorExp):
            read |= read_names([node])
    return read, rebound


def suspends(nodes: Iterable[ast.AST]) -> bool:
    """Whether there is a yield, or an await, among the nodes of a scope."""
    kinds = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
    return any(isinstance(node, kinds) for node in nodes)


def binds_within_expression(root: ast.AST) -> bool:
    """Whether an expression cannot be put into a function of its own: it binds names, or suspends."""
    kinds = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
    return any(isinstance(node, kinds) for node in nodes_of_scope([root])) or any(
        isinstance(node, ast.comprehension) and node.is_async for node in ast.walk(root)
    )


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
