"""Statements in which a function calls itself, taken apart at the first of these calls.

What is evaluated before the call goes into names of its own, as the call may change what it is made of.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .expressions import helper, located
from .hoisting import as_statements, ends_early
from .names import NotCapturable, children, copied

# What takes the elements of a generator expression, all of them, and may as well get a list.
_TAKE_ALL = {"sum", "max", "min", "list", "tuple", "sorted", "set"}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Own(NamedTuple):
    """What a function's calls of itself look like: those of names that stand for it, or of a method with this name.

    parameters: all of them, with their defaults, None where there is none.
    """

    names: frozenset[str]
    method: str | None
    qualname: str
    parameters: dict[str, ast.expr | None] = {}  # noqa: RUF012

    def with_parameters(self, arguments: ast.arguments) -> Own:
        if arguments.vararg or arguments.kwarg:
            raise NotCapturable("it takes any number of arguments")
        positional = [*arguments.posonlyargs, *arguments.args]
        given = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
        names = [one.arg for one in (*positional, *arguments.kwonlyargs)]
        return self._replace(parameters=dict(zip(names, (*given, *arguments.kw_defaults))))

    def is_call(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name):
            return node.func.id in self.names
        return self.method is not None and isinstance(node.func, ast.Attribute) and node.func.attr == self.method

    def arguments(self, node: ast.Call) -> dict[str, ast.expr]:
        """What a call gives to each parameter. Raises NotCapturable where that is not seen."""
        names, positional = list(self.parameters), list(node.args)
        if isinstance(node.func, ast.Attribute):
            receiver = helper("receiver", node, node.func.value, ast.Constant(self.method), ast.Constant(self.qualname))
            positional.insert(0, node.func.value if _is_name(node.func.value, names[0]) else receiver)
        given = dict(zip(names, positional)) | {one.arg: one.value for one in node.keywords}
        is_plain = len(positional) <= len(names) and len(given) == len(positional) + len(node.keywords)
        if (
            not is_plain
            or None in given
            or any(isinstance(one, ast.Starred) for one in positional)
            or given.keys() - set(names)
        ):
            raise NotCapturable("it calls itself with arguments that are not written one by one")
        for name in names:
            if name not in given:
                default = self.parameters[name]
                if not isinstance(default, ast.Constant):
                    raise NotCapturable("it calls itself with a default argument that is no constant")
                given[name] = copied(default)
        return given


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class Flat(NamedTuple):
    """A statement up to its first call: what goes before, what is called with, the name of the result, the rest."""

    before: list[ast.stmt]
    arguments: dict[str, ast.expr]
    result: str | None
    statement: ast.stmt | None


def holds_own(node: ast.AST, own: Own) -> bool:
    """Whether the function is called in the node."""
    return own.is_call(node) or any(holds_own(child, own) for child in children(node))


class _Part(NamedTuple):
    """A part of a node, at a place of one of its fields."""

    holder: ast.AST
    field: str
    index: int | None

    @property
    def value(self) -> ast.expr:
        held = getattr(self.holder, self.field)
        return held if self.index is None else held[self.index]

    def put(self, value: ast.expr) -> None:
        if self.index is None:
            setattr(self.holder, self.field, value)
        else:
            getattr(self.holder, self.field)[self.index] = value


def flat(statement: ast.stmt, own: Own, new_name: Callable[[str], str], local_names: set[str]) -> Flat | list[ast.stmt]:
    """The statement up to the first call; or the same as several statements, in which there are fewer ways."""
    statement = copied(statement)
    if isinstance(statement, ast.AugAssign):
        return _in_steps(statement, new_name, local_names)
    if isinstance(statement, ast.Expr) and own.is_call(statement.value):
        call = statement.value
        if not any(holds_own(child, own) for child in children(call)):
            return Flat([], own.arguments(call), None, None)
    walk = _Walk(own, new_name, local_names)
    walk.node(statement)
    if walk.replaced:
        return [*walk.before, statement]
    return Flat(walk.before, walk.arguments, walk.result, statement)


class _Walk:
    """Goes to the first call in the order in which Python evaluates; what lies on the way is put into names."""

    def __init__(self, own: Own, new_name: Callable[[str], str], local_names: set[str]) -> None:
        self.own, self.new_name, self.local_names = own, new_name, local_names
        self.before: list[ast.stmt] = []
        self.replaced = False
        self.arguments: dict[str, ast.expr] = {}
        self.result: str | None = None

    def node(self, node: ast.AST) -> None:
        """A node of which a part holds the call."""
        parts = list(_parts(node))
        first = next((part for part in parts if holds_own(part.value, self.own)), None)
        if first is None:
            raise NotCapturable(f"it calls itself in {type(node).__name__}")
        for part in parts[: parts.index(first)]:
            if not self._is_settled(part):
                part.put(self._saved(part.value))
        self.part(first, node)

    def _is_settled(self, part: _Part) -> bool:
        """Whether nothing that is called can give an expression another value. What stands for a container is taken to stay."""
        value = part.value
        if isinstance(value, ast.Constant):
            return True
        is_holder = part.field == "value" and isinstance(part.holder, (ast.Attribute, ast.Subscript))
        return isinstance(value, ast.Name) and (value.id in self.local_names or is_holder)

    def _saved(self, value: ast.expr) -> ast.Name:
        if isinstance(value, (ast.Starred, ast.Slice)):
            raise NotCapturable("it calls itself behind arguments that are not written one by one")
        name = self.new_name("kept")
        self.before.append(located(ast.Assign([ast.Name(name, ast.Store())], value), value))
        return located(ast.Name(name, ast.Load()), value)

    def part(self, part: _Part, holder: ast.AST) -> None:
        value = part.value
        if self.own.is_call(value) and not any(holds_own(child, self.own) for child in children(value)):
            self.arguments, self.result = self.own.arguments(value), self.new_name("result")
            part.put(located(ast.Name(self.result, ast.Load()), value))
        elif _goes_several_ways(value, self.own):
            self._replace(part)
        elif isinstance(value, ast.GeneratorExp) and _takes_all(holder):
            part.put(located(ast.ListComp(value.elt, value.generators), value))
            self._replace(part)
        elif isinstance(value, (ast.Lambda, *_COMPREHENSIONS)) and not holds_own(value, self.own):
            raise NotCapturable("it calls itself in a function that it makes")
        else:
            self.node(value)

    def _replace(self, part: _Part) -> None:
        name, value = self.new_name("found"), part.value
        self.before += as_statements(name, value)
        part.put(located(ast.Name(name, ast.Load()), value))
        self.replaced = True


def _goes_several_ways(value: ast.expr, own: Own) -> bool:
    if isinstance(value, ast.BoolOp):
        return any(holds_own(one, own) for one in value.values[1:]) and not holds_own(value.values[0], own)
    if isinstance(value, ast.IfExp):
        return not holds_own(value.test, own)
    if isinstance(value, ast.ListComp):
        return not holds_own(value.generators[0].iter, own)
    return ends_early(value) and not holds_own(value.args[0].generators[0].iter, own)


def _takes_all(node: ast.AST) -> bool:
    is_one = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TAKE_ALL
    return is_one and bool(node.args) and isinstance(node.args[0], ast.GeneratorExp)


def _in_steps(statement: ast.AugAssign, new_name: Callable[[str], str], local_names: set[str]) -> list[ast.stmt]:
    """``target += value``: the target is read, the value computed, and what the operator gives is put there."""
    target, before = statement.target, []

    def kept(value: ast.expr) -> ast.expr:
        if isinstance(value, (ast.Name, ast.Constant)):
            return value
        name = new_name("kept")
        before.append(located(ast.Assign([ast.Name(name, ast.Store())], value), value))
        return located(ast.Name(name, ast.Load()), value)

    if isinstance(target, (ast.Subscript, ast.Attribute)):
        target.value = kept(target.value)
        if isinstance(target, ast.Subscript):
            target.slice = kept(target.slice)
    read = copied(target)
    read.ctx = ast.Load()
    old, value = new_name("kept"), new_name("kept")
    before.append(located(ast.Assign([ast.Name(old, ast.Store())], read), statement))
    before.append(located(ast.Assign([ast.Name(value, ast.Store())], statement.value), statement))
    before.append(located(ast.AugAssign(ast.Name(old, ast.Store()), statement.op, ast.Name(value, ast.Load())), statement))
    before.append(located(ast.Assign([target], ast.Name(old, ast.Load())), statement))
    return before


def _parts(node: ast.AST) -> Iterator[_Part]:
    """The parts of a statement or an expression that are evaluated, in order, and on all ways."""
    if isinstance(node, ast.Assign):
        yield _Part(node, "value", None)
        for target in node.targets:
            yield from _parts_of_target(target)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield _Part(node.func, "value", None)
        elif not isinstance(node.func, ast.Name):
            yield _Part(node, "func", None)
        yield from (_Part(node, "args", index) for index in range(len(node.args)))
        yield from (_Part(keyword, "value", None) for keyword in node.keywords)
    elif isinstance(node, ast.Compare):
        yield _Part(node, "left", None)
        yield _Part(node, "comparators", 0)
    elif isinstance(node, ast.BoolOp):
        yield _Part(node, "values", 0)
    elif isinstance(node, ast.Dict):
        for index in range(len(node.values)):
            yield from [_Part(node, "keys", index)] if node.keys[index] is not None else []
            yield _Part(node, "values", index)
    elif isinstance(node, _COMPREHENSIONS):
        yield _Part(node.generators[0], "iter", None)
    else:
        for field in _FIELDS.get(type(node), ()):
            held = getattr(node, field)
            places = range(len(held)) if isinstance(held, list) else [None] if held is not None else []
            yield from (_Part(node, field, place) for place in places)


def _parts_of_target(target: ast.expr) -> Iterator[_Part]:
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        yield _Part(target, "value", None)
        if isinstance(target, ast.Subscript):
            yield _Part(target, "slice", None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for one in target.elts:
            yield from _parts_of_target(one)


_FIELDS: dict[type, tuple[str, ...]] = {
    ast.AnnAssign: ("value",),
    ast.Assert: ("test",),
    ast.Attribute: ("value",),
    ast.BinOp: ("left", "right"),
    ast.Expr: ("value",),
    ast.FormattedValue: ("value",),
    ast.IfExp: ("test",),
    ast.JoinedStr: ("values",),
    ast.List: ("elts",),
    ast.NamedExpr: ("value",),
    ast.Raise: ("exc",),
    ast.Return: ("value",),
    ast.Set: ("elts",),
    ast.Slice: ("lower", "upper", "step"),
    ast.Starred: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Tuple: ("elts",),
    ast.UnaryOp: ("operand",),
}
