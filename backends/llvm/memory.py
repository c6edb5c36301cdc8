"""Memory in LLVM IR: what llvmlite's builder types as older versions of LLVM did, or settles too early, is set right here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from llvmlite import ir

from .builder import vector_type
from .module import declaration
from .types import I1, I8, I64, POINTER


def stack_memory(builder: ir.IRBuilder, size: int, align: int) -> ir.AllocaInstr:
    """A pointer to this many bytes of the function's stack frame."""
    memory = builder.alloca(ir.ArrayType(I8, size))
    memory.align = align
    memory.type = POINTER
    return memory


def pointer_table(builder: ir.IRBuilder, pointers: Sequence[ir.Value], at_entry: bool = False) -> ir.Value:
    """The address of a table of pointers in the function's stack frame; written here, or once at the function's entry."""
    with builder.goto_entry_block():
        table = stack_memory(builder, 8 * max(1, len(pointers)), 8)
    with builder.goto_entry_block() if at_entry else nullcontext():
        for number, pointer in enumerate(pointers):
            builder.store(pointer, builder.gep(table, [I64(number)], source_etype=POINTER))
    return table


def resize_stack_memory(memory: ir.AllocaInstr, size: int) -> None:
    """Give stack memory the size that turned out to be needed; until the module is printed."""
    memory.allocated_type = ir.ArrayType(I8, size)


def add_to_constant(constant: ir.Constant, amount: int) -> None:
    """Make a constant larger wherever it stands in the code; until the module is printed."""
    constant.constant += amount


def element_address(builder: ir.IRBuilder, pointer: ir.Value, position: ir.Value, scalar: ir.Type) -> ir.Value:
    """The address of an element, or a vector of addresses for a vector of positions."""
    address = builder.gep(pointer, [position], inbounds=False, source_etype=scalar)
    if isinstance(position.type, ir.VectorType):
        address.type = vector_type(POINTER, position.type.count)
    return address


def load_function(builder: ir.IRBuilder, place: ir.Value, kind: ir.FunctionType) -> ir.Value:
    """A pointer to a function of this type, which the builder may call."""
    function = builder.load(place, typ=POINTER)
    function.type = ir.PointerType(kind)
    return function


def exchange(builder: ir.IRBuilder, place: ir.Value, value: ir.Value) -> ir.Value:
    """Store a pointer and return what was there, atomically."""
    old = builder.atomic_rmw("xchg", place, builder.ptrtoint(value, I64), "acq_rel")
    old.type = I64
    return builder.inttoptr(old, POINTER)


def copy_memory(builder: ir.IRBuilder, target: ir.Value, source: ir.Value, size: int | ir.Value) -> None:
    """Copy this many bytes; source and target may overlap."""
    _copy(builder, "llvm.memmove.p0.p0.i64", target, source, size)


def copy_apart(builder: ir.IRBuilder, target: ir.Value, source: ir.Value, size: int | ir.Value) -> None:
    """Copy this many bytes, which do not overlap: in SPIR-V others are copied byte by byte."""
    _copy(builder, "llvm.memcpy.p0.p0.i64", target, source, size)


def _copy(builder: ir.IRBuilder, name: str, target: ir.Value, source: ir.Value, size: int | ir.Value) -> None:
    if isinstance(size, int):
        if not size:
            return
        size = I64(size)
    function = declaration(builder.module, name, ir.VoidType(), [POINTER, POINTER, I64, I1])
    builder.call(function, [target, source, size, I1(0)])


def fill_memory(builder: ir.IRBuilder, target: ir.Value, byte: int, size: int) -> None:
    """Make this many bytes this one."""
    function = declaration(builder.module, "llvm.memset.p0.i64", ir.VoidType(), [POINTER, I8, I64, I1])
    builder.call(function, [target, I8(byte), I64(size), I1(0)])
