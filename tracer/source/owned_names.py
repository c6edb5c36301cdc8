"""Which names of a function that is a loop (`recursion.py`) hold what nothing else holds.

A call that goes on finds on its stacks copies of the lists and arrays that it has left there. They may be changed where nothing
else has the original: where the call has made it itself, and gives it to nobody but to who has called it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from .names import COMPOUND, children

_MAKERS = frozenset({"bool", "dict", "float", "int", "len", "list", "range", "set", "sorted", "str"})
_MAKERS_OF_NUMPY = frozenset({
    "arange", "array", "concatenate", "copy", "empty", "empty_like", "eye", "full", "full_like", "hstack", "linspace", "ones",
    "ones_like", "stack", "vstack", "zeros", "zeros_like",
})  # fmt: skip
# What these are given is no part of what they return.
_READERS = _MAKERS | {"abs", "all", "any", "enumerate", "print", "reversed", "sum", "tuple", "zip"}
_EXTREMA = frozenset({"max", "min"})  # of one container, elements of it; else one of what they are given
_METHODS = frozenset({
    "add", "append", "clear", "copy", "count", "discard", "extend", "get", "index", "insert", "items", "keys", "pop", "remove",
    "reverse", "sort", "update", "values",
})  # fmt: skip
_NUMPY = frozenset({"np", "numpy"})
_LOOKS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.FormattedValue, ast.Starred, ast.Slice)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
_NEW = (ast.List, ast.Dict, ast.Set, *_COMPREHENSIONS, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.JoinedStr)


class OwnedNames:
    """``names`` are those that hold what nothing else holds; ``returns_own`` says that of all that the function returns.

    given: what its calls of itself are given; returned: what it returns; results: the names that get what such calls return.
    """

    def __init__(
        self,
        statements: Sequence[ast.stmt],
        given: Iterable[ast.expr],
        returned: Sequence[ast.expr],
        results: Iterable[str],
        parameters: Iterable[str],
    ) -> None:
        self._results, self._lost = frozenset(results), set(parameters)
        self._bound: dict[str, list[ast.expr]] = {name: [] for name in self._results}
        for statement in statements:
            self._look_at(statement)
        for value in given:
            self._read(value)
        for value in returned:
            for part in _parts_of(value):
                self._read(part, isinstance(part, ast.Name))
        self.returns_own = True
        self.names = self._found()
        if not all(self._is_own(part) for value in returned for part in _parts_of(value)):
            self.returns_own = False
            self.names = self._found()

    def _found(self) -> set[str]:
        self.names = self._bound.keys() - self._lost - (set() if self.returns_own else self._results)
        while True:
            kept = {name for name in self.names if all(map(self._is_new, self._bound[name]))}
            if kept == self.names:
                return kept
            self.names = kept

    def _is_new(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Name):  # which is moved from there
            return value.id in self._results and value.id in self.names
        return isinstance(value, _NEW) or _is_call_of(value, _MAKERS)

    def _is_own(self, value: ast.expr) -> bool:
        return self._is_new(value) or isinstance(value, ast.Name) and value.id in self.names

    def _look_at(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._bound.setdefault(node.targets[0].id, []).append(node.value)
            self._read(node.value, isinstance(node.value, ast.Name) and node.value.id in self._results)
        elif isinstance(node, (ast.AugAssign, ast.Expr)):
            is_name = isinstance(node, ast.Expr) or isinstance(node.target, ast.Name)
            self._read(node.value, is_name)
            if isinstance(node, ast.AugAssign):
                self._read(node.target, True)
        elif isinstance(node, (ast.If, ast.While, ast.For)):
            self._read(node.iter if isinstance(node, ast.For) else node.test, True)
            if isinstance(node, ast.For):
                self._read(node.target)
            for statement in (*node.body, *node.orelse):
                self._look_at(statement)
        elif type(node) in COMPOUND:
            self._lost.update(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        else:
            for part in children(node):
                self._read(part)

    def _read(self, node: ast.AST, is_looked_at: bool = False) -> None:
        """Names in an expression are lost where it is, or holds, what they hold, and is not just looked at."""
        if isinstance(node, ast.Name):
            self._lost |= set() if is_looked_at else {node.id}
        elif isinstance(node, ast.Subscript):
            may_be_view = isinstance(node.slice, (ast.Slice, ast.Tuple))
            self._read(node.value, is_looked_at or not may_be_view)
            self._read(node.slice, True)
        elif isinstance(node, ast.Call):
            is_method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
            is_reader = _is_call_of(node, _READERS) or is_method and node.func.attr in ("extend", "update")
            is_reader |= len(node.args) == 1 and _is_call_of(node, _EXTREMA)
            self._read(node.func.value if is_method else node.func, is_method or is_reader)
            for part in (*node.args, *[one.value for one in node.keywords]):
                for one in part.elts if is_reader and isinstance(part, (ast.List, ast.Tuple)) else (part,):
                    self._read(one, is_reader)
        else:
            looks = isinstance(node, (*_LOOKS, ast.comprehension))
            for part in children(node):
                self._read(part, looks and not (isinstance(node, ast.comprehension) and part is node.target))


def _parts_of(value: ast.expr) -> list[ast.expr]:
    return [one for part in value.elts for one in _parts_of(part)] if isinstance(value, ast.Tuple) else [value]


def _is_call_of(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether this is a call of one of these built-in functions, or of one of NumPy's that makes an array."""
    if not isinstance(node, ast.Call) or isinstance(node.func, ast.Name):
        return isinstance(node, ast.Call) and node.func.id in names
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _MAKERS_OF_NUMPY:
        return False
    holder = node.func.value
    return isinstance(holder, ast.Name) and holder.id in _NUMPY or node.func.attr == "copy"
