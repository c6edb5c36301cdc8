"""The memory of a kernel's temporaries: on the stack while it is small, else one block that calls hand on to each other."""

from __future__ import annotations

from llvmlite import ir

from ..llvm.branches import UNLIKELY, replaced_if
from ..llvm.memory import add_to_constant, exchange, stack_memory
from ..llvm.module import declaration
from ..llvm.types import I32, I64, POINTER

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
        null = ir.Constant(POINTER, None)
        spare = exchange(builder, self.spare, null)

        def allocate() -> list[ir.Value]:
            fresh = builder.call(declaration(module, "aligned_alloc", POINTER, [I64, I64]), [I64(ALIGNMENT), self._size])
            with builder.if_then(builder.icmp_unsigned("==", fresh, null), likely=False):
                builder.ret(I32(OUT_OF_MEMORY))
            return [fresh]

        (pointer,) = replaced_if(builder, builder.icmp_unsigned("==", spare, null), [spare], allocate, UNLIKELY)
        return pointer

    def extend(self, size: int) -> None:
        """Allocate so many bytes more, for an arena that may grow; until the module is printed."""
        add_to_constant(self._size, _rounded(size))

    def release(self, builder: ir.IRBuilder) -> None:
        if self.on_heap:
            free = declaration(builder.module, "free", ir.VoidType(), [POINTER])
            builder.call(free, [exchange(builder, self.spare, self.pointer)])


class BorrowedArena:
    """Memory that the caller provides and keeps."""

    def __init__(self, pointer: ir.Value) -> None:
        self.pointer = pointer

    def release(self, builder: ir.IRBuilder) -> None:
        pass


def _rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
