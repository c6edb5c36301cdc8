"""Which names statements bind and read, in the scope of one function, and how they may be left."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

PART = "_phlox_part"
# What is called with each value of a generator.
TAKE = "_phlox_take"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SUSPENDING = frozenset({ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith})
_BINDING = frozenset({ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.comprehension})
LOOPS = (ast.For, ast.AsyncFor, ast.While)
WITHS = (ast.With, ast.AsyncWith)
TRIES = (ast.Try, ast.TryStar)
COMPOUND = frozenset({*LOOPS, *WITHS, *TRIES, ast.If, ast.Match})
_JUMPS = {ast.Return: "return", ast.Break: "break", ast.Continue: "continue"}


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


class _Fields(dict[type, tuple[str, ...]]):
    def __missing__(self, kind: type) -> tuple[str, ...]:
        self[kind] = tuple([name for name in kind._fields if name not in _WITHOUT_NODES])
        return self[kind]


# By kinds of nodes, the fields that may hold others, but for contexts and operators.
FIELDS = _Fields({ast.Constant: (), ast.Global: (), ast.Nonlocal: ()})


# Most nodes are of these kinds.
_CHILDREN: dict[type, Callable[[Any], list[ast.AST]]] = {
    **dict.fromkeys((ast.Constant, ast.Name), lambda node: []),
    **dict.fromkeys((ast.Attribute, ast.Expr, ast.Starred, ast.keyword), lambda node: [node.value]),
    **dict.fromkeys((ast.Tuple, ast.List), lambda node: node.elts),
    ast.Assign: lambda node: [*node.targets, node.value],
    ast.BinOp: lambda node: [node.left, node.right],
    ast.Call: lambda node: [node.func, *node.args, *node.keywords],
    ast.Compare: lambda node: [node.left, *node.comparators],
    ast.Subscript: lambda node: [node.value, node.slice],
    ast.UnaryOp: lambda node: [node.operand],
}


def children(node: ast.AST) -> list[ast.AST]:
    """As `ast.iter_child_nodes`, but for contexts and operators, in a fraction of the time. Not to be changed."""
    known = _CHILDREN.get(type(node))
    if known is not None:
        return known(node)
    found: list[ast.AST] = []
    held = vars(node)
    for name in FIELDS[type(node)]:
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


class Found:
    """What a node says of names before it is written anew.

    read: those that are read, in its scope and in those of comprehensions, lambdas, functions and classes inside. bound: those
    that are assigned, deleted or otherwise bound in its scope. marked: the nodes of its scope that define functions and
    classes, declare or delete names, suspend, or bind names within expressions.
    """

    __slots__ = ("read", "bound", "marked")

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.bound: set[str] = set()
        self.marked: list[ast.AST] = []

    def add(self, other: Found) -> None:
        self.read |= other.read
        self.bound |= other.bound
        self.marked += other.marked


_MARKED = _SUSPENDING | {*DEFINITIONS, ast.Lambda, ast.GeneratorExp, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Delete}
_BINDS: dict[type, Callable[[Any], list[str]]] = {
    **dict.fromkeys((*DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar), lambda node: [node.name or ""]),
    **dict.fromkeys((ast.Import, ast.ImportFrom), lambda node: [(one.asname or one.name).split(".")[0] for one in node.names]),
    ast.MatchMapping: lambda node: [node.rest or ""],
}
_COMPREHENSIONS = {ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
_STATEMENTS = frozenset(ast.stmt.__subclasses__())
_SPECIAL = _MARKED | _BINDS.keys() | _STATEMENTS | {ast.comprehension, *_COMPREHENSIONS}
_FOUND = "found_names"  # an attribute of nodes, so that they are searched once


def found_in(root: ast.AST) -> Found:
    """What a node says of names; noted on it, and on the statements and expressions of a compound statement."""
    found = vars(root).get(_FOUND)
    if found is None:
        found = vars(root)[_FOUND] = Found()
        if type(root) in COMPOUND:
            if type(root) in _MARKED:
                found.marked.append(root)
            for part in children(root):
                found.add(found_in(part))
        else:
            _search(root, found)
    return found


def _search(root: ast.AST, found: Found) -> None:
    pending = [root]
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is ast.Name:
            (found.read if type(node.ctx) is ast.Load else found.bound).add(node.id)
        elif kind is ast.Constant:
            continue
        elif kind not in _SPECIAL:
            pending += children(node)
        elif kind in _STATEMENTS and node is not root:
            found.add(found_in(node))
        else:
            pending += _note(node, found)


def _note(node: ast.AST, found: Found) -> list[ast.AST]:
    """What a node itself binds, or is; returns what else is to be searched."""
    kind = type(node)
    if kind is ast.comprehension:  # its targets are bound in it alone
        found.read |= found_in(node.target).read
        if node.is_async:
            found.marked.append(node)
        return [node.iter, *node.ifs]
    if kind in _MARKED:
        found.marked.append(node)
    if kind in _COMPREHENSIONS:
        return _note_comprehension(node, found)
    if kind in _BINDS:
        found.bound.update(filter(None, _BINDS[kind](node)))
    if isinstance(node, (*DEFINITIONS, ast.Lambda)):
        for part in children(node):
            found.read |= found_in(part).read
    return around_scope(node)


def _note_comprehension(node: ast.AST, found: Found) -> list[ast.AST]:
    """As `_note`. The names of its targets are read around it in the first iterable alone."""
    first, inner = node.generators[0], Found()
    for part in children(node):
        for one in [first.target, *first.ifs] if part is first else [part]:
            inner.add(found_in(one))
    targets = set().union(*[found_in(one.target).bound for one in node.generators])
    found.read |= inner.read - targets
    found.bound |= inner.bound - found_in(first.target).bound
    found.marked += inner.marked + [first] * first.is_async
    return [first.iter]


def forget_found(roots: Iterable[ast.AST]) -> None:
    """To be called when nodes have been changed before anything is written anew."""
    for root in roots:
        for node in ast.walk(root):
            vars(node).pop(_FOUND, None)


def bound_names(roots: Iterable[ast.AST]) -> set[str]:
    """The names that are assigned, deleted or otherwise bound in this scope, as they were before anything was written anew."""
    return set().union(*[found_in(root).bound for root in roots])


def read_names(roots: Iterable[ast.AST]) -> set[str]:
    """The names that are read, in this scope and in those inside, as they were before anything was written anew."""
    return set().union(*[found_in(root).read for root in roots])


def marked_nodes(roots: Iterable[ast.AST]) -> list[ast.AST]:
    """See `Found`."""
    return [node for root in roots for node in found_in(root).marked]


def declared(marked: Iterable[ast.AST], kind: type) -> set[str]:
    """The names in the ``global`` or ``nonlocal`` statements among the marked nodes of a scope."""
    return {name for node in marked if isinstance(node, kind) for name in node.names}


def shared_names(marked: Iterable[ast.AST]) -> tuple[set[str], set[str]]:
    """The names that functions and classes among the marked nodes of a scope read at any time, and those that they rebind.

    Those are read, too, as ``n += 1`` does.
    """
    read, rebound = set(), set()
    for node in marked:
        kind = type(node)
        if kind is ast.Lambda:
            read |= found_in(node.body).read
        elif kind in DEFINITIONS:
            read |= read_names(node.body)
            rebound |= _rebound_by(node)
        elif kind is ast.GeneratorExp:
            read |= found_in(node).read
    return read | rebound, rebound


def _rebound_by(definition: Any) -> set[str]:
    """The names of functions around it that a definition, or one inside of it, rebinds."""
    marked = marked_nodes(definition.body)
    return declared(marked, ast.Nonlocal).union(*[_rebound_by(node) for node in marked if isinstance(node, DEFINITIONS)])


def suspends(marked: Iterable[ast.AST]) -> bool:
    """Whether there is a yield, or an await, among the marked nodes of a scope."""
    return any(type(node) in _SUSPENDING for node in marked)


def binds_within_expression(root: ast.AST) -> bool:
    """Whether an expression cannot be put into a function of its own: it binds names, or suspends."""
    return any(type(node) in _BINDING for node in found_in(root).marked)


def has_bindings(marked: Iterable[ast.AST]) -> bool:
    """Whether `binds_within_expression` holds for anything where these are the marked nodes."""
    return any(
        type(node) in _BINDING or type(node) is ast.Lambda and has_bindings(found_in(node.body).marked) for node in marked
    )


def ways_out(statements: Iterable[ast.stmt]) -> set[str]:
    """How control may leave the statements other than at their end: "return", "break", "continue"."""
    found: set[str] = set()
    for statement in statements:
        kind = type(statement)
        if kind in _JUMPS:
            found.add(_JUMPS[kind])
        elif kind in LOOPS:
            found |= ways_out(statement.body) - {"break", "continue"} | ways_out(statement.orelse)
        elif kind in COMPOUND:
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
    if isinstance(last, (*_JUMPS, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return never_ends(last.body) and never_ends(last.orelse)
    return False


def as_function(names: Iterable[str], expression: ast.expr) -> ast.Lambda:
    """The expression as a function of these names. A parameter that is never given tells it from the user's lambdas."""
    return ast.Lambda(ast.arguments([], [ast.arg(name) for name in names], ast.arg(PART), [], [], None, []), expression)


def without_declarations(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements without ``global`` and ``nonlocal``, which go to the beginning of each function that they concern."""
    kept: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Global | ast.Nonlocal):
            statement = ast.copy_location(ast.Pass(), statement)
        elif not isinstance(statement, DEFINITIONS):
            for holder in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                for name in ("body", "orelse", "finalbody"):
                    if isinstance(getattr(holder, name, None), list):
                        setattr(holder, name, without_declarations(getattr(holder, name)))
        kept.append(statement)
    return kept
