"""The memory of a kernel's temporaries: on the stack while it is small, else one block that calls hand on to each other."""

from __future__ import annotations

from llvmlite import ir

from ..llvm.types import I8, I32, I64, POINTER

STACK_LIMIT = 32 << 10
ALIGNMENT = 64
OUT_OF_MEMORY = 1
SPARE_BLOCK_NAME = "spare_arena"


class Arena:
    """Emits the allocation at the kernel's start; ``release`` emits its end.

    A call takes the block that the last call left in a global variable, or allocates one; afterwards it leaves its block there
    and frees what it finds in its place. Calls in several threads at once so have a block each.
    """

    def __init__(self, builder: ir.IRBuilder, size: int, may_grow: bool = False) -> None:
        self.on_heap = size > STACK_LIMIT or may_grow
        if size == 0 and not may_grow:
            self.pointer: ir.Value = ir.Constant(POINTER, None)
        elif not self.on_heap:
            self.pointer = stack_memory(builder, size, ALIGNMENT)
        else:
            self.pointer = self._take(builder, size)

    def _take(self, builder: ir.IRBuilder, size: int) -> ir.Value:
        module = builder.module
        self.spare = ir.GlobalVariable(module, POINTER, SPARE_BLOCK_NAME)
        self.spare.initializer = ir.Constant(POINTER, None)
        self._size = I64(_rounded(size))
        allocate = ir.Function(module, ir.FunctionType(POINTER, [I64, I64]), "aligned_alloc")
        spare = _exchange(builder, self.spare, ir.Constant(POINTER, None))
        taken = builder.block
        with builder.if_then(builder.icmp_unsigned("==", spare, ir.Constant(POINTER, None)), likely=False):
            fresh = builder.call(allocate, [I64(ALIGNMENT), self._size])
            with builder.if_then(builder.icmp_unsigned("==", fresh, ir.Constant(POINTER, None)), likely=False):
                builder.ret(I32(OUT_OF_MEMORY))
            allocated = builder.block
        pointer = builder.phi(POINTER)
        pointer.add_incoming(spare, taken)
        pointer.add_incoming(fresh, allocated)
        return pointer

    def extend(self, size: int) -> None:
        """Allocate so many bytes more, for an arena that may grow; until the module is printed."""
        self._size.constant += _rounded(size)

    def release(self, builder: ir.IRBuilder) -> None:
        if self.on_heap:
            # A host call that fails returns early, so there may be several of these.
            free = builder.module.globals.get("free")
            if free is None:
                free = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [POINTER]), "free")
            builder.call(free, [_exchange(builder, self.spare, self.pointer)])


class BorrowedArena:
    """Memory that the caller provides and keeps."""

    def __init__(self, pointer: ir.Value) -> None:
        self.pointer = pointer

    def release(self, builder: ir.IRBuilder) -> None:
        pass


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def stack_memory(builder: ir.IRBuilder, size: int, align: int) -> ir.Value:
    """A pointer to this many bytes of the function's stack frame."""
    memory = builder.alloca(ir.ArrayType(I8, size))
    memory.align = align
    memory.type = POINTER  # llvmlite would make it a typed pointer, which LLVM no longer has
    return memory


def _exchange(builder: ir.IRBuilder, place: ir.Value, value: ir.Value) -> ir.Value:
    """Store a pointer and return what was there, atomically."""
    old = builder.atomic_rmw("xchg", place, builder.ptrtoint(value, I64), "acq_rel")
    old.type = I64
    return builder.inttoptr(old, POINTER)
