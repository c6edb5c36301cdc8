"""Expressions, written anew: calls, truth, comparisons and items go through helpers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .comprehensions import can_be_captured, parts_of
from .names import FIELDS, PART, TAKE, binds_within_expression, children

HELPERS = "_phlox"  # the free variable that holds the helpers
_COMPARISONS = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "is_", ast.IsNot: "is_not",
}  # fmt: skip
# Operators that sets have, too, by their names.
SET_OPERATORS = {ast.BitOr: "or_", ast.BitAnd: "and_", ast.Sub: "sub", ast.BitXor: "xor"}
# Methods that change a container.
_CHANGING = {
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop", "popitem", "popleft", "remove",
    "reverse", "rotate", "setdefault", "sort", "update",
}  # fmt: skip
_MAY_BE_LISTS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
_LISTS, _NO_LISTS = frozenset({ast.List, ast.ListComp}), frozenset({ast.Constant, ast.BinOp, ast.UnaryOp})
_OF_LISTS = frozenset({ast.Add, ast.Mult})
# Sets, tuples, lists and objects, whose order is none of numbers.
_MAY_BE_CONTAINERS = (
    ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Set, ast.SetComp, ast.Tuple, ast.List, ast.NamedExpr,
)  # fmt: skip


def helper(name: str, place: ast.AST, *arguments: ast.expr) -> ast.Call:
    """A call of a helper, at this place in the source."""
    position = _position(place)
    for argument in arguments:
        if "lineno" not in vars(argument):
            _locate(argument, position)
    return _node(ast.Call, {"func": _of_helpers(name, position), "args": list(arguments), "keywords": [], **position})


def _of_helpers(name: str, position: dict[str, int]) -> ast.Attribute:
    holder = _node(ast.Name, {"id": HELPERS, "ctx": _LOAD, **position})
    return _node(ast.Attribute, {"value": holder, "attr": name, "ctx": _LOAD, **position})


_LOAD = ast.Load()
_LEAVES = frozenset({ast.Constant, ast.Name, ast.arg})


def _node(kind: type, held: dict[str, Any]) -> Any:
    made = kind.__new__(kind)
    made.__dict__ = held
    return made


def located(node: ast.AST, place: ast.AST) -> ast.AST:
    """The node and what is new in it, at this place in the source; of a compound statement, at its first line."""
    _locate(node, _position(place))
    return node


def _position(place: ast.AST) -> dict[str, int]:
    found = vars(place)
    line, last_line = found["lineno"], found["end_lineno"]
    column, last_column = found["col_offset"], found["end_col_offset"]
    if last_line != line and "body" in found and isinstance(place, ast.stmt):
        last_line, last_column = line, column + 1
    return {"lineno": line, "end_lineno": last_line, "col_offset": column, "end_col_offset": last_column}


def _locate(node: ast.AST, position: dict[str, int]) -> None:
    vars(node).update(position)
    if type(node) not in _LEAVES:
        for child in children(node):
            if "lineno" not in vars(child):
                _locate(child, position)


def _constant(value: Any) -> ast.Constant:
    return _node(ast.Constant, {"value": value, "kind": None})


def later(expression: ast.expr) -> ast.Lambda:
    """The expression as a function without parameters."""
    position = _position(expression)
    given = {"posonlyargs": [], "args": [], "kwonlyargs": [], "kw_defaults": [], "kwarg": None, "defaults": []}
    arguments = _node(ast.arguments, {"vararg": _node(ast.arg, {"arg": PART, **position}), **given})
    return _node(ast.Lambda, {"args": arguments, "body": expression, **position})


# What may take one list as all of its arguments without knowing their number.
_OF_ALL = {"zip", "max", "min"}


class Expressions:
    """Writes the expressions of one function anew; statements are not entered.

    unbound: the names, as nodes, that may be unbound where they are read. first_parameter: what ``super()`` takes.
    has_bindings: whether any of the expressions binds names, or suspends.
    """

    def __init__(self, unbound: set[ast.Name], first_parameter: str | None, has_bindings: bool) -> None:
        self.unbound, self.first_parameter, self.has_bindings = unbound, first_parameter, has_bindings

    def binds(self, *expressions: ast.expr) -> bool:
        return self.has_bindings and any(map(binds_within_expression, expressions))

    def visit(self, node: Any) -> Any:
        """What stands in the place of a node."""
        return _METHODS[type(node)](self, node)

    def visit_parts(self, node: Any) -> Any:
        """The node itself, with what stands in the places of its parts."""
        held = vars(node)
        for name in FIELDS[type(node)]:
            value = held.get(name)
            if type(value) is list:
                value[:] = [item and _METHODS[type(item)](self, item) for item in value]
            elif isinstance(value, ast.AST):
                held[name] = _METHODS[type(value)](self, value)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node not in self.unbound:
            return node
        return helper("bound", node, ast.Constant(node.id), later(node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == HELPERS:
            node.args = [self.visit(argument) for argument in node.args]
            return node
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.first_parameter:
            arguments = [ast.Name("__class__", ast.Load()), ast.Name(self.first_parameter, ast.Load())]
            return located(ast.Call(node.func, arguments, []), node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            holder, name = self.visit_changed(node.func.value), ast.Constant(node.func.attr)
            node.func = ast.Constant(None)
            self.visit_parts(node)
            node.func = helper("getattr", node, holder, name)
        else:
            self.visit_parts(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("super", TAKE):  # which take what they are given as it is
            return node
        if isinstance(node.func, ast.Name) and node.func.id in _OF_ALL and len(node.args) == 1 and not node.keywords:
            if isinstance(node.args[0], ast.Starred):
                return helper("zipped", node, node.func, node.args[0].value)
        position = _position(node)
        is_print = isinstance(node.func, ast.Name) and node.func.id == "print"
        given = [node.func, *_starred(node.args, "spread_text" if is_print else "spread")]
        return _node(ast.Call, {"func": _of_helpers("call", position), "args": given, "keywords": node.keywords, **position})

    def visit_changed(self, node: ast.expr) -> ast.expr:
        """An expression whose value is changed in place: an item is the object itself, and no copy."""
        if not isinstance(node, ast.Subscript):
            return self.visit(node)
        holder, index = self.visit_changed(node.value), self.visit(node.slice)
        return helper("changed", node, holder, index_expression(index))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        whole = not self.binds(*node.values[1:])
        self.visit_parts(node)
        if not whole:
            return node
        first, *others = node.values
        return helper("and_" if isinstance(node.op, ast.And) else "or_", node, first, *map(later, others))

    def visit_test(self, node: ast.expr) -> ast.expr:
        """A condition: of the operands of ``and`` and ``or`` only the truth counts, which a list need not outlive."""
        if not isinstance(node, ast.BoolOp) or self.binds(*node.values):
            return self.visit(node)
        may_be_lists = [isinstance(value, _MAY_BE_LISTS) for value in node.values]
        values = [self.visit_test(value) for value in node.values]
        values = [helper("tested", value, value) if is_one else value for value, is_one in zip(values, may_be_lists)]
        return helper("all_hold" if isinstance(node.op, ast.And) else "one_holds", node, values[0], *map(later, values[1:]))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Sums and products may be lists, which are new then; texts do not ask the right operand of ``%`` and ``*``."""
        kind = type(node.op)
        if kind is ast.Add and type(node.left) is ast.BinOp and _may_be_a_list(node):
            return self._sum(node)
        may_be_a_list = kind in _OF_LISTS and _may_be_a_list(node)
        may_be_a_text = kind is ast.Mult and (may_be_a_list or _is_text(node.left) or _is_text(node.right))
        node.left, node.right = self.visit(node.left), self.visit(node.right)
        if kind is ast.Mod:
            return helper("mod", node, node.left, node.right)
        if may_be_a_text:
            return helper("times", node, node.left, node.right)
        if kind in SET_OPERATORS and type(node.right) is not ast.Constant:
            return helper("combined", node, _constant(SET_OPERATORS[kind]), node.left, node.right)
        return helper("made", node, node) if may_be_a_list else node

    def _sum(self, node: ast.BinOp) -> ast.expr:
        """A sum of several terms, which may be lists: what the first ones make is not seen by anyone."""
        sums = [node]
        while _is_sum(sums[-1].left):
            sums.append(sums[-1].left)
        sums[-1].left = self.visit(sums[-1].left)
        for one in reversed(sums):
            one.right = self.visit(one.right)
        return helper("made", node, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.visit_parts(node)
        return helper("not_", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if self.binds(node.body, node.orelse):
            return self.visit_parts(node)
        node.test, node.body, node.orelse = self.visit_test(node.test), self.visit(node.body), self.visit(node.orelse)
        return helper("choose", node, node.test, later(node.body), later(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        whole = not self.binds(*node.comparators[1:])
        self.visit_parts(node)
        if len(node.ops) == 1:
            return self._comparison(node, type(node.ops[0]), node.left, node.comparators[0])
        if not whole or not all(type(operator) in _COMPARISONS for operator in node.ops):
            return node
        names = ast.Tuple([ast.Constant(_COMPARISONS[type(operator)]) for operator in node.ops], ast.Load())
        first, *others = node.comparators
        return helper("compare", node, names, node.left, first, *map(later, others))

    def _comparison(self, node: ast.Compare, kind: type, left: ast.expr, right: ast.expr) -> ast.expr:
        if kind in (ast.In, ast.NotIn):
            found = helper("contains", node, left, right)
            return found if kind is ast.In else helper("not_", node, found)
        if kind in (ast.Is, ast.IsNot):
            found = helper("is_none", node, left) if _is_none(right) else helper("is_", node, left, right)
            return found if kind is ast.Is else helper("not_", node, found)
        if kind in (ast.Eq, ast.NotEq):
            return helper("equal" if kind is ast.Eq else "differ", node, left, right)
        if isinstance(left, _MAY_BE_CONTAINERS) and isinstance(right, _MAY_BE_CONTAINERS):
            return helper("ordered", node, ast.Constant(_COMPARISONS[kind]), left, right)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value, node.slice = self.visit(node.value), self.visit(node.slice)
        if type(node.ctx) is not ast.Load:
            return node
        return helper("getitem", node, node.value, index_expression(node.slice))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        if not any(isinstance(part, ast.FormattedValue) for part in node.values):
            return node
        return helper("text", node, *[self._part_of_text(part) for part in node.values])

    def _part_of_text(self, part: ast.expr) -> ast.expr:
        if not isinstance(part, ast.FormattedValue):
            return part
        specification = ast.Constant("") if part.format_spec is None else self.visit(part.format_spec)
        whole = ast.Tuple([self.visit(part.value), ast.Constant(part.conversion), specification], ast.Load())
        return located(whole, part.value)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node.value = self.visit(node.value)
        return helper("getattr", node, node.value, _constant(node.attr)) if type(node.ctx) is ast.Load else node

    def visit_List(self, node: ast.List) -> ast.expr:
        self.visit_parts(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        _starred(node.elts)
        return helper("made", node, node)

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        self.visit_parts(node)
        if all(isinstance(key, ast.Constant) for key in node.keys):
            return helper("made", node, node)
        pairs: list[ast.expr] = []
        for key, value in zip(node.keys, node.values):
            if key is None:
                pairs.append(ast.Starred(helper("pairs_of", value, value), ast.Load()))
            else:
                pairs.append(ast.Tuple([key, value], ast.Load()))
        return helper("dict_of", node, located(ast.Tuple(pairs, ast.Load()), node))

    def visit_Set(self, node: ast.Set) -> ast.expr:
        self.visit_parts(node)
        return helper("set_of", node, ast.Tuple(_starred(node.elts, "spread"), ast.Load()))

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        self.visit_parts(node)
        if not isinstance(node.ctx, ast.Load) or not any(isinstance(element, ast.Starred) for element in node.elts):
            return node
        return helper("tuple_of", node, located(ast.List(_starred(node.elts), ast.Load()), node))

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:
        self.visit_parts(node)
        node.value = helper("one_by_one", node.value, node.value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        outside, self.unbound = self.unbound, set()
        self.visit_parts(node)
        self.unbound = outside
        return node

    def _visit_comprehension(self, node: ast.expr) -> ast.expr:
        """Its targets stay; in Python 3.11 it is a function of its own, in which super() means nothing."""
        bound = {name.id for generator in node.generators for name in ast.walk(generator.target) if isinstance(name, ast.Name)}
        outside = self.unbound
        self.unbound = {name for name in outside if name.id not in bound}
        is_captured = can_be_captured(node)
        tests: list[ast.expr | None] = []
        iterables = [self.visit(generator.iter) for generator in node.generators]
        for generator, iterable in zip(node.generators, iterables):
            generator.iter = helper("one_by_one", iterable, iterable)
            visited = [self.visit(test) for test in generator.ifs]
            tests.append(_all_of(visited) if visited else None)
            generator.ifs = [helper("concrete_truth", test, test) for test in visited]
        node.elt = self.visit(node.elt)
        self.unbound = outside
        if is_captured:
            name = "listed" if isinstance(node, ast.ListComp) else "generated"
            return helper(name, node, *[located(part, node) for part in parts_of(node, node.elt, tests, iterables)])
        return node if isinstance(node, ast.GeneratorExp) else helper("made", node, node)

    visit_ListComp = visit_GeneratorExp = _visit_comprehension

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        return helper("set_of", node, self.visit(located(ast.ListComp(node.elt, node.generators), node)))

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:
        pair = located(ast.Tuple([node.key, node.value], ast.Load()), node.key)
        return helper("dict_of", node, self.visit(located(ast.ListComp(pair, node.generators), node)))


class _Methods(dict[type, Callable[[Expressions, Any], Any]]):
    def __missing__(self, kind: type) -> Callable[[Expressions, Any], Any]:
        self[kind] = getattr(Expressions, f"visit_{kind.__name__}", Expressions.visit_parts)
        return self[kind]


_METHODS = _Methods()


def _starred(elements: list[ast.expr], name: str = "starred") -> list[ast.expr]:
    """Elements or arguments: those with a star by way of a helper."""
    for element in elements:
        if type(element) is ast.Starred:
            element.value = helper(name, element.value, element.value)
    return elements


def _all_of(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else helper("all_hold", tests[0], tests[0], *map(later, tests[1:]))


def _may_be_a_list(node: ast.BinOp) -> bool:
    if type(node.op) is ast.Mult:  # a list may be repeated a known number of times
        sides = [side for side in (node.left, node.right) if not (type(side) is ast.Constant and type(side.value) is int)]
    else:
        sides = [node.right]
        while _is_sum(node.left):
            sides.append((node := node.left).right)
        sides.append(node.left)
    kinds = set(map(type, sides))
    if ast.BinOp in kinds and any(_is_repeated_list(side) for side in sides):
        return True
    return not _LISTS.isdisjoint(kinds) or _NO_LISTS.isdisjoint(kinds)


def _is_repeated_list(node: ast.expr) -> bool:
    """Whether it is as ``[0] * n``."""
    return type(node) is ast.BinOp and type(node.op) is ast.Mult and (type(node.left) in _LISTS or type(node.right) in _LISTS)


def _is_sum(node: ast.expr) -> bool:
    return type(node) is ast.BinOp and type(node.op) is ast.Add


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def index_expression(index: ast.expr) -> ast.expr:
    """What stands between the brackets, as an expression: slices as calls."""
    if isinstance(index, ast.Tuple) and any(isinstance(part, (ast.Slice, ast.Tuple)) for part in index.elts):
        return located(ast.Tuple([index_expression(part) for part in index.elts], ast.Load()), index)
    if isinstance(index, ast.Slice):
        bounds = [ast.Constant(None) if bound is None else bound for bound in (index.lower, index.upper, index.step)]
        return helper("slice", index, *bounds)
    return index
