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


def has_instruction(operation: str | None, element_type: ElementType) -> bool:
    """Whether one instruction combines an element in memory with a value."""
    return operation in _INSTRUCTIONS and element_type.is_integer and element_type.bits in (32, 64)


def combine_by_instruction(
    b: ir.IRBuilder, scope: str, operation: str, element_type: ElementType, address: ir.Value, value: ir.Value
) -> None:
    """Combine the element at an address with a value, among the threads of a scope."""
    instruction = _INSTRUCTIONS[operation][element_type.kind == "unsigned"]
    b.atomic_rmw(instruction, address, value, f'syncscope("{scope}") monotonic')


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
    if has_instruction(operation, element_type):
        combine_by_instruction(b, target.device_scope, operation, element_type, address, value)
        return
    memory = memory_type(element_type)
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
        found = b.cmpxchg(address, old, new, f'syncscope("{target.device_scope}") monotonic', "monotonic")
        loop.carry([b.extract_value(found, 0)])
        loop.leave_unless(b.not_(b.extract_value(found, 1)))


def load_atomically(b: ir.IRBuilder, target: Target, address: ir.Value, word: ir.IntType) -> ir.Value:
    """A word in the device's memory, as a thread of the device has stored it last."""
    address, scope = _in_device_memory(b, target, address), f'syncscope("{target.device_scope}")'
    if target.family == "spirv":  # Intel's compiler for processors takes loads out of the loops that wait for what they find
        return b.atomic_rmw("add", address, word(0), f"{scope} acq_rel")
    return b.load_atomic(address, f"{scope} monotonic", word.width // 8, typ=word)


def store_atomically(b: ir.IRBuilder, target: Target, address: ir.Value, word: ir.Value) -> None:
    """Store a word for all threads of the device; what else is stored may be seen before or after it."""
    ordering = f'syncscope("{target.device_scope}") monotonic'
    address = _in_device_memory(b, target, address)
    # llvmlite's own function asks what type the pointer points to.
    store = ir.instructions.StoreAtomicInstr(b.block, word, address, ordering, word.type.width // 8)
    b.block.instructions.append(store)
    b.position_at_end(b.block)


def _in_device_memory(b: ir.IRBuilder, target: Target, address: ir.Value) -> ir.Value:
    return b.addrspacecast(address, ir.PointerType(addrspace=target.spaces.device))
