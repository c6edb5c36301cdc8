"""Between which numbers an integer in a register lies, where that is known: of a loop's counter, and what is computed of it.

What is known rides on the register, as long as one function is emitted.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...hlo import Instruction

Range = tuple[int, int]

_NAME = "known_range"


def note_range(value: ir.Value, low: int, high: int) -> None:
    """The integer is at least ``low`` and at most ``high``, wherever its value is used from now on."""
    setattr(value, _NAME, (low, high))


def forget_range(value: ir.Value) -> None:
    """What has been noted holds no longer where code is emitted next."""
    if hasattr(value, _NAME):
        delattr(value, _NAME)


def known_range(value: ir.Value) -> Range | None:
    """
    >>> known_range(ir.Constant(ir.IntType(64), 3))
    (3, 3)
    """
    if isinstance(value, ir.Constant) and isinstance(value.type, ir.IntType) and isinstance(value.constant, int):
        return value.constant, value.constant
    return getattr(value, _NAME, None)


def _product(x: Range, y: Range) -> Range:
    corners = [one * other for one in x for other in y]
    return min(corners), max(corners)


_RULES: dict[str, Callable[..., Range | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _product,
    "negate": lambda x: (-x[1], -x[0]),
    "convert": lambda x: x,
    "shift-left": lambda x, y: _product(x, (1 << y[0], 1 << y[1])) if 0 <= y[0] <= y[1] < 64 else None,
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
}


def note_result(instruction: Instruction, operands: list[ir.Value], result: ir.Value) -> None:
    """Note of an operation's result, an integer, what follows from its operands."""
    rule, shape = _RULES.get(instruction.opcode), instruction.shape
    if rule is None or not shape.element_type.is_integer or isinstance(result, ir.Constant):
        return
    if not all(operand.shape.element_type.is_integer for operand in instruction.operands):
        return
    ranges = [known_range(operand) for operand in operands]
    if None in ranges:
        return
    found = rule(*ranges)
    if found is None:
        return
    low, high = found
    bits, is_signed = shape.element_type.bits, shape.element_type.kind == "signed"
    least = -(1 << bits - 1) if is_signed else 0
    if least <= low and high < least + (1 << bits):
        note_range(result, low, high)
