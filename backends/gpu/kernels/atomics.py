"""Combining an element in memory with a value, atomically: by one instruction, or by trying until nobody else came between."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from llvmlite import ir

from ....hlo import Computation, ElementType, Operation, component_type
from ....hlo.operation import ASSOCIATIVE, COMMUTATIVE
from ...llvm.loops import while_loop
from ...llvm.types import (
    I1,
    I8,
    I16,
    I32,
    I64,
    ComplexValue,
    RegisterValue,
    from_memory,
    lane_values,
    memory_type,
    part_size,
    to_memory,
)
from ..target import Target

_INSTRUCTIONS = {"add": ("add", "add"), "and": ("and", "and"), "or": ("or", "or"), "xor": ("xor", "xor")}
_INSTRUCTIONS |= {"minimum": ("min", "umin"), "maximum": ("max", "umax")}
_WORD_BITS = 32
# What is added to a number of f32 that is at least as large comes to no subnormal number, and is none that counts: the sum is a
# multiple of 2**-124, and half of that is more than any subnormal number.
_NEVER_SUBNORMAL = 2.0**-100
_NEGATIVE_ZERO = 0x8000  # of 16-bit floats: a sum with it is the other number

Combine = Callable[[RegisterValue, RegisterValue], RegisterValue]


def operation_in_any_order(combine: Computation) -> str | None:
    """What combines two elements, where that is one operation that may be done in any order: to the same, of integers, and to
    about the same of other numbers.
    """
    operation = combine.combining_operation
    return operation.opcode if operation is not None and {ASSOCIATIVE, COMMUTATIVE} <= operation.traits else None


def may_be_atomic(operation: str | None, element_type: ElementType, is_deterministic: bool) -> bool:
    """Whether elements may be combined, by an operation in any order, as they come: each by itself.

    They lie within words that devices exchange, or are added part by part. What comes of integers is the same from run to run;
    of floats it differs in the last bits.
    """
    is_exact = element_type.is_integer or element_type.kind == "pred"
    has_code = not element_type.is_complex or operation == "add"
    return operation is not None and (is_exact or not is_deterministic) and has_code


def has_instruction(operation: str | None, element_type: ElementType) -> bool:
    """Whether one instruction combines an element in any memory with a value, exactly."""
    return operation in _INSTRUCTIONS and element_type.is_integer and element_type.bits in (32, 64)


def _combine_by_instruction(
    b: ir.IRBuilder, target: Target, scope: str, operation: str, element_type: ElementType, address: ir.Value, value: ir.Value
) -> None:
    """Combine the element at an address with a value, among the threads of a scope."""
    instruction = _INSTRUCTIONS[operation][element_type.kind == "unsigned"]
    combined = b.atomic_rmw(instruction, address, value, f'syncscope("{scope}") monotonic')
    for name in target.atomic_metadata:
        combined.set_metadata(name, b.module.add_metadata([]))


def combine_in_block(
    b: ir.IRBuilder,
    target: Target,
    operation: str,
    element_type: ElementType,
    address: ir.Value,
    value: ir.Value,
    combine: Combine,
) -> None:
    """Make the element at an address of the block's memory, of 32 or 64 bits, what ``combine(element, value)`` is.

    Where floats are added in the device's memory they are in that of blocks, which keeps subnormal ones everywhere.
    """
    if has_instruction(operation, element_type):
        _combine_by_instruction(b, target, target.block_scope, operation, element_type, address, value)
    elif operation == "add" and element_type.name in target.atomic_adds:
        b.atomic_rmw("fadd", address, value, f'syncscope("{target.block_scope}") monotonic')
    else:
        exchange(b, target, target.block_scope, element_type, address, value, combine)


def atomic_lanes(target: Target, operation: str, element_type: ElementType, most: int) -> int:
    """How many neighbouring elements, at most so many, are combined by one instruction; 1 where there is none for several."""
    add = target.atomic_adds.get(element_type.name) if operation == "add" else None
    return max([1, *[lanes for lanes in add.lanes if lanes <= most]]) if add is not None else 1


def changes_elements(b: ir.IRBuilder, operation: Operation, element_type: ElementType, value: RegisterValue) -> ir.Value:
    """Whether a value, or one of a vector, is another one than that with which elements stay what they are.

    Who asks that before a branch has loaded the value there, beside what the branch is decided by: loads that are used behind a
    branch alone wait for it.
    """
    identity = operation.identity(element_type)
    if identity is None or isinstance(value, ComplexValue):
        return I1(1)
    scalar = value.type.element if isinstance(value.type, ir.VectorType) else value.type
    constant = scalar(int(identity) if isinstance(scalar, ir.IntType) else float(identity))
    values = lane_values(b, value)
    bits = {"float": I32, "double": I64}.get(str(scalar))
    if bits is not None:
        values, constant = [b.bitcast(one, bits) for one in values], b.bitcast(constant, bits)
    changes = [b.icmp_unsigned("!=", one, constant) for one in values]
    return reduce(b.or_, changes)


def combine_atomically(
    b: ir.IRBuilder,
    target: Target,
    operation: str,
    element_type: ElementType,
    address: ir.Value,
    value: RegisterValue,
    combine: Combine,
) -> None:
    """Make the element at an address of the device's memory what ``combine(element, value)`` is, which ``operation`` names.

    Neighbouring elements likewise, of vectors of `atomic_lanes`, which lie at multiples of their size.
    """
    if has_instruction(operation, element_type):
        _combine_by_instruction(b, target, target.device_scope, operation, element_type, address, value)
        return
    if isinstance(value, ComplexValue):  # of which sums are made part by part
        part = component_type(element_type)
        second = b.gep(address, [I64(part_size(memory_type(part)))], source_etype=I8)
        for place, number in ((address, value.real), (second, value.imag)):
            combine_atomically(b, target, operation, part, place, number, b.fadd)
        return
    if operation == "add" and element_type.name in target.atomic_adds:
        _add(b, target, element_type, address, value, combine)
        return
    exchange(b, target, target.device_scope, element_type, address, value, combine)


def _add(
    b: ir.IRBuilder, target: Target, element_type: ElementType, address: ir.Value, value: ir.Value, combine: Combine
) -> None:
    """Add floats by the target's instruction, but where it would make zeros of subnormal numbers."""
    lanes = value.type.count if isinstance(value.type, ir.VectorType) else 1
    stored, add = to_memory(b, element_type, value), target.atomic_adds[element_type.name]
    parts = lane_values(b, stored)
    if lanes < min(add.lanes):
        address, parts = _as_pair(b, address, stored)
    if not add.flushes:
        target.add_atomically(b, element_type, address, parts)
        return
    is_safe = I1(1)
    for part in parts:
        magnitude = b.bitcast(b.and_(b.bitcast(part, I32), I32(0x7FFFFFFF)), part.type)
        is_safe = b.and_(is_safe, b.fcmp_unordered(">=", magnitude, part.type(_NEVER_SUBNORMAL)))
    with b.if_else(is_safe) as (then, otherwise):
        with then:
            target.add_atomically(b, element_type, address, parts)
        with otherwise:
            for lane, part in enumerate(parts):
                place = b.gep(address, [I64(lane * part_size(part.type))], source_etype=I8) if lane else address
                if lanes > 1:
                    _add(b, target, element_type, place, part, combine)
                else:
                    exchange(b, target, target.device_scope, element_type, place, part, combine)


def _as_pair(b: ir.IRBuilder, address: ir.Value, stored: ir.Value) -> tuple[ir.Value, list[ir.Value]]:
    """A 16-bit float and the negative zero that its neighbour gets, with the address of both."""
    place = b.ptrtoint(address, I64)
    is_second = b.icmp_unsigned("!=", b.and_(place, I64(2)), I64(0))
    address = b.gep(address, [b.neg(b.and_(place, I64(2)))], source_etype=I8)
    zero = I16(_NEGATIVE_ZERO)
    zero = zero if stored.type == I16 else b.bitcast(zero, stored.type)
    return address, [b.select(is_second, zero, stored), b.select(is_second, stored, zero)]


def exchange(
    b: ir.IRBuilder,
    target: Target,
    scope: str,
    element_type: ElementType,
    address: ir.Value,
    value: RegisterValue,
    combine: Combine,
) -> None:
    """Make the element at an address what ``combine(element, value)`` is, among the threads of a scope.

    What does not change the element writes nothing: that other threads change it meanwhile comes after that.
    """
    ordering, memory = f'syncscope("{scope}") monotonic', memory_type(element_type)
    bits = 64 if memory == ir.DoubleType() else {"half": 16, "float": 32}.get(str(memory)) or memory.width
    integer, word = ir.IntType(bits), I64 if bits == 64 else I32
    shift = None
    if bits < _WORD_BITS:
        low = b.and_(b.ptrtoint(address, I64), I64(3))
        address = b.gep(address, [b.neg(low)], source_etype=I8)
        shift = b.shl(b.trunc(low, I32), I32(3))
    if "atomic loads" in target.lacks:
        first = b.load(address, typ=word, align=word.width // 8)
    else:  # others change it meanwhile
        first = b.load_atomic(address, ordering, word.width // 8, typ=word)
    with while_loop(b, [first], "exchange") as loop:
        (old,) = loop.values
        element = old if shift is None else b.trunc(b.lshr(old, shift), integer)
        held = from_memory(b, element_type, element if element.type == memory else b.bitcast(element, memory))
        new = to_memory(b, element_type, combine(held, value))
        new = new if new.type == integer else b.bitcast(new, integer)
        loop.leave_unless(b.icmp_unsigned("!=", new, element))
        if shift is not None:
            mask = b.not_(b.shl(I32((1 << bits) - 1), shift))
            new = b.or_(b.and_(old, mask), b.shl(b.zext(new, I32), shift))
        found = b.cmpxchg(address, old, new, ordering, "monotonic")
        loop.carry([b.extract_value(found, 0)])
        loop.leave_unless(b.not_(b.extract_value(found, 1)))


def load_atomically(b: ir.IRBuilder, target: Target, address: ir.Value, word: ir.IntType) -> ir.Value:
    """A word in the device's memory, as a thread of the device has stored it last."""
    scope, address = f'syncscope("{target.device_scope}") monotonic', _in_device_memory(b, target, address)
    if "atomic loads" in target.lacks:
        return b.extract_value(b.cmpxchg(address, word(0), word(0), scope, "monotonic"), 0)
    return b.load_atomic(address, scope, word.width // 8, typ=word)


def store_atomically(b: ir.IRBuilder, target: Target, address: ir.Value, word: ir.Value) -> None:
    """Store a word for all threads of the device; what else is stored may be seen before or after it."""
    scope, address = f'syncscope("{target.device_scope}") monotonic', _in_device_memory(b, target, address)
    if "atomic loads" in target.lacks:
        b.atomic_rmw("xchg", address, word, scope)
        return
    # llvmlite's own function asks what type the pointer points to.
    store = ir.instructions.StoreAtomicInstr(b.block, word, address, scope, word.type.width // 8)
    b.block.instructions.append(store)
    b.position_at_end(b.block)


def _in_device_memory(b: ir.IRBuilder, target: Target, address: ir.Value) -> ir.Value:
    return b.addrspacecast(address, ir.PointerType(addrspace=target.spaces.device))
