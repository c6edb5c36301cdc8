"""NumPy's test modules, written anew so that what they call is jitted (`replacing.py`)."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from . import replacing

_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
}
HELPERS = {
    "__attribute__": replacing.attribute,
    "__replaced__": replacing.replaced,
    "__operate__": replacing.operate,
    "__get_item__": replacing.get_item,
    "__set_item__": replacing.set_item,
}


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


class Rewriter(ast.NodeTransformer):
    """Reads, operators and assignments to items become calls of the helpers.

    Before: ``x[i] = np.sin(y) + y.sum()``. After: ``__set_item__(x, i, __operate__("add", __attribute__(np, "sin")(y), ...))``.
    """

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or node.attr.startswith("__"):
            return node
        return ast.copy_location(_call("__attribute__", node.value, ast.Constant(node.attr)), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(_call("__operate__", ast.Constant(_OPERATORS[type(node.op)]), node.left, node.right), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant):
            return node
        return ast.copy_location(_call("__operate__", ast.Constant(_OPERATORS[type(node.op)]), node.operand), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in _OPERATORS:
            return node
        name = ast.Constant(_OPERATORS[type(node.ops[0])])
        return ast.copy_location(_call("__operate__", name, node.left, node.comparators[0]), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_call("__get_item__", node.value, _index(node.slice)), node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Subscript):
            return node
        return ast.copy_location(ast.Expr(_call("__set_item__", target.value, _index(target.slice), node.value)), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        operation = ast.Constant("i" + _OPERATORS[type(node.op)].rstrip("_"))
        value = _call("__operate__", operation, ast.Name(node.target.id, ast.Load()), node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        names = [alias.asname or alias.name for alias in node.names if alias.name != "*"]
        again = [ast.Assign([ast.Name(name, ast.Store())], _call("__replaced__", ast.Name(name, ast.Load()))) for name in names]
        return [node, *(ast.copy_location(one, node) for one in again if node.module != "__future__")]

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node

    def visit_MatchValue(self, node: ast.pattern) -> ast.pattern:
        return node


def _index(index: ast.expr) -> ast.expr:
    """An index as an expression: slices stand nowhere but in subscripts."""
    if isinstance(index, ast.Slice):
        parts = [part or ast.Constant(None) for part in (index.lower, index.upper, index.step)]
        return _call("slice", *parts)
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_index(one) for one in index.elts], ast.Load())
    return index


def load(path: Path) -> ModuleType:
    """NumPy's test module in this file, written anew."""
    place = path.parts.index("numpy", len(Path(np.__file__).parents[1].parts))
    name = ".".join((*path.parts[place:-1], path.stem))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    module.__dict__.update(HELPERS)
    tree = Rewriter().visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), module.__dict__)
    return module
