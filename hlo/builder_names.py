"""Which methods of the builder make which operation, read from their source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache

from .builder import Builder
from .operation import OPERATIONS


@cache
def methods_by_opcode() -> dict[str, tuple[str, ...]]:
    """The builder's methods whose result is this operation; first the one that is named in the record.

    >>> methods_by_opcode()["sqrt"]
    ('Sqrt', 'SqrtF32')
    """
    methods = {opcode: [record.builder] for opcode, record in OPERATIONS.items()}
    for name in sorted(name for name in dir(Builder) if name[0].isupper()):
        for opcode in sorted(_returned(name)):
            if name not in methods[opcode]:
                methods[opcode].append(name)
    return {opcode: tuple(names) for opcode, names in methods.items()}


@cache
def _returned(method: str) -> frozenset[str]:
    """The opcodes of the instructions that the method returns: those that it emits, and those of methods that it ends with."""
    function = getattr(Builder, method, None)
    if function is None:
        return frozenset(opcode for opcode, record in OPERATIONS.items() if record.builder == method)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found: set[str] = set()
    for node in ast.walk(tree):
        call = node.value if isinstance(node, ast.Return) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if not isinstance(call.func.value, ast.Name) or call.func.value.id != "self":
            continue
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Constant) and first.value in OPERATIONS:
            found.add(first.value)
        elif call.func.attr != method:
            found |= _returned(call.func.attr)
    return frozenset(found)
