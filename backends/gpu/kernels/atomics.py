"""Combining an element in memory with a value, atomically: by one instruction, or by trying until nobody else came between."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ....hlo import ElementType
from ...llvm.loops import while_loop
from ...llvm.types import I32, I64, RegisterValue, from_memory, memory_type, to_memory
from ..target import Target

_INSTRUCTIONS = {"add": ("add", "add"), "and": ("and", "and"), "or": ("or", "or"), "xor": ("xor", "xor")}
_INSTRUCTIONS |= {"minimum": ("min", "umin"), "maximum": ("max", "umax")}
_WORD_BITS = 32


def has_atomics(element_type: ElementType) -> bool:
    """Whether elements lie within words that devices exchange."""
    return not element_type.is_complex


def combine_atomically(
    b: ir.IRBuilder,
    target: Target,
    operation: str,
    element_type: ElementType,
    address: ir.Value,
    value: RegisterValue,
    combine: Callable[[RegisterValue, RegisterValue], RegisterValue],
) -> None:
    """Make the element at an address what ``combine(element, value)`` is, which ``operation`` names."""
    ordering = f'syncscope("{target.device_scope}") monotonic'
    memory = memory_type(element_type)
    known = _INSTRUCTIONS.get(operation)
    if known is not None and element_type.is_integer and memory.width in (32, 64):
        b.atomic_rmw(known[element_type.kind == "unsigned"], address, value, ordering)
        return
    bits = 64 if memory == ir.DoubleType() else {"half": 16, "float": 32}.get(str(memory)) or memory.width
    integer, word = ir.IntType(bits), I64 if bits == 64 else I32
    shift = None
    if bits < _WORD_BITS:
        low = b.and_(b.ptrtoint(address, I64), I64(3))
        address = b.gep(address, [b.neg(low)], source_etype=ir.IntType(8))
        shift = b.shl(b.trunc(low, I32), I32(3))
    first = b.load(address, typ=word, align=word.width // 8)
    with while_loop(b, [first], "exchange") as loop:
        (old,) = loop.values
        element = old if shift is None else b.trunc(b.lshr(old, shift), integer)
        held = from_memory(b, element_type, element if element.type == memory else b.bitcast(element, memory))
        new = to_memory(b, element_type, combine(held, value))
        new = new if new.type == integer else b.bitcast(new, integer)
        if shift is not None:
            mask = b.not_(b.shl(I32((1 << bits) - 1), shift))
            new = b.or_(b.and_(old, mask), b.shl(b.zext(new, I32), shift))
        found = b.cmpxchg(address, old, new, ordering, "monotonic")
        loop.carry([b.extract_value(found, 0)])
        loop.leave_unless(b.not_(b.extract_value(found, 1)))
