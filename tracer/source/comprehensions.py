"""Comprehensions, written anew: helpers get them as they are, and their parts as functions, by which a loop may be captured.

``[f(a) for a in x if a > 0]`` becomes ``_phlox.listed(x, lambda it: [f(a) for a in it if a > 0], ..., lambda a: a > 0,
lambda a: f(a))``; where there are further loops, the last function returns what ``_phlox.inner`` makes of the next one's parts.
"""

from __future__ import annotations

import ast

from .names import as_function, marked_nodes, nodes_of_scope

_ITERABLE = "_phlox_iterable"
# What may be evaluated when the names that it uses have gone on to the next element, or binds names around it.
_LATER = frozenset({ast.Lambda, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr})
# Functions that are done with the generators and lambdas that they get when they return, and those that hand them to these.
_AT_ONCE = frozenset({
    "all", "any", "array", "asarray", "dict", "extend", "frozenset", "fromiter", "fsum", "join", "list", "max", "mean", "min",
    "next", "prod", "reduce", "set", "sort", "sorted", "sum", "tuple", "update",
})  # fmt: skip
_LAZY = frozenset({"enumerate", "filter", "map", "reversed", "zip"})
Comprehension = ast.ListComp | ast.GeneratorExp


def can_be_captured(node: Comprehension) -> bool:
    parts = [node.elt, *[test for one in node.generators for test in one.ifs], *[one.iter for one in node.generators[1:]]]
    late = {inner for inner in marked_nodes(parts) if type(inner) in _LATER}
    late = late and late - _used_at_once(parts)
    targets = nodes_of_scope([one.target for one in node.generators])
    starred = [inner for inner in targets if isinstance(inner, ast.Starred)]
    plain = all(isinstance(inner, ast.Name | ast.Tuple | ast.Starred) for inner in targets)
    plain = plain and all(isinstance(inner.value, ast.Name) for inner in starred)
    names = [name for one in node.generators for name in _names(one.target)]
    return plain and not late and not any(one.is_async for one in node.generators) and len(set(names)) == len(names)


def _used_at_once(parts: list[ast.expr]) -> set[ast.AST]:
    found: set[ast.AST] = set()
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Call) and _name(node) in _AT_ONCE:
                found |= _given(node)
    return found


def _given(call: ast.Call) -> set[ast.AST]:
    """The arguments of a call, and those of the calls among them that give iterators over theirs."""
    given: set[ast.AST] = {*call.args, *[keyword.value for keyword in call.keywords]}
    return given.union(*[_given(one) for one in given if isinstance(one, ast.Call) and _name(one) in _LAZY])


def _name(call: ast.Call) -> str | None:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)


def parts_of(node: Comprehension, element: ast.expr, tests: list[ast.expr | None], iterables: list[ast.expr]) -> list[ast.expr]:
    """The first iterable, the comprehension as a function of it, and of the loop the pattern, the test, and the function.

    element, tests, iterables: those of the node, which has been written anew; a test for each of the loops, None for none. The
    last part says whether the function gives a further loop.
    """
    first, *others = node.generators
    around = ast.comprehension(first.target, ast.Name(_ITERABLE, ast.Load()), first.ifs, 0)
    whole = type(node)(node.elt, [around, *others])
    return [iterables[0], as_function([_ITERABLE], whole), *_loop(node.generators, tests, element, iterables)]


def _loop(
    generators: list[ast.comprehension], tests: list[ast.expr | None], element: ast.expr, iterables: list[ast.expr]
) -> list[ast.expr]:
    target, names = generators[0].target, _names(generators[0].target)
    if len(generators) > 1:
        inner = ast.Attribute(ast.Name("_phlox", ast.Load()), "inner", ast.Load())
        element = ast.Call(inner, [iterables[1], *_loop(generators[1:], tests[1:], element, iterables[1:])], [])
    test = ast.Constant(None) if tests[0] is None else as_function(names, tests[0])
    return [_pattern(target), test, as_function(names, element), ast.Constant(len(generators) > 1)]


def _names(target: ast.expr) -> list[str]:
    """The names that an element is unpacked to; of equal ones the last one has its part, and the others are named otherwise."""
    found = _all_names(target)
    return [f"{_ITERABLE}_{place}" if name in found[place + 1 :] else name for place, name in enumerate(found)]


def _all_names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Tuple):
        return [name for part in target.elts for name in _all_names(part)]
    target = target.value if isinstance(target, ast.Starred) else target
    return [target.id] if isinstance(target, ast.Name) else []


def _pattern(target: ast.expr) -> ast.expr:
    """How an element is unpacked: None for a name, a tuple for several, among which an ellipsis is a name behind a star."""
    if isinstance(target, ast.Tuple):
        return ast.Tuple([_pattern(part) for part in target.elts], ast.Load())
    return ast.Constant(... if isinstance(target, ast.Starred) else None)
