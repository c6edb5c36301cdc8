"""A kernel while it is emitted: its function, its arguments, which thread it is, and what threads of a block share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from llvmlite import ir

from ...hlo import Shape
from ..llvm.arrays import Array
from ..llvm.builder import Builder
from ..llvm.index import Affine, Index, multiply_base
from ..llvm.pieces import Pieces
from ..llvm.types import I8, I32, I64, POINTER
from .kernel_builder import KernelBuilder
from .target import Dimensions, ReadIndex, Target

# Indices below this are computed with 32 bits: devices divide these several times as fast.
_NARROW = 1 << 31


@dataclass(frozen=True)
class Grid:
    """How many blocks of how many threads run a kernel."""

    blocks: Dimensions
    threads: Dimensions

    @classmethod
    def of(cls, count: int, threads: int) -> Grid:
        """For so many threads in all, at least."""
        return cls((max(1, -(-count // threads)), 1, 1), (threads, 1, 1))


ONE_THREAD = Grid((1, 1, 1), (1, 1, 1))


class KernelFunction(ir.Function):
    """A function whose attributes are not among those that llvmlite knows."""

    text_attributes = ""

    def descr_prototype(self, buf: list[str]) -> None:
        start = len(buf)
        super().descr_prototype(buf)
        if self.text_attributes:
            head, metadata, rest = buf[start].rstrip("\n").partition(" !")
            buf[start] = f"{head} {self.text_attributes}{metadata}{rest}\n"


# Of functions: no pass finds much in them but what the shortest list of these does (`code`).
IS_PLAIN = '"phlox-plain"'


class PieceKernelFunction(Pieces, KernelFunction):
    """A kernel whose blocks, of one thread each, compute the pieces of loops (see `llvm.pieces`)."""


class Kernel:
    """A kernel while it is emitted, for a grid that is known.

    ``pointers`` are generic ones to where its arguments point. Where it is a ``phase``, its code is in a function that can be
    called in other kernels, too, which say where these point, and which thread and block it is. ``overlap``: arguments may.
    ``numbers``: how many of those it is given besides, i64, each launch its own.
    With ``pieces`` its blocks compute pieces of independent loops; there are as many blocks in the end as there are pieces.
    """

    def __init__(
        self,
        module: ir.Module,
        target: Target,
        name: str,
        arguments: int,
        grid: Grid,
        phase: bool = False,
        overlap: bool = False,
        pieces: bool = False,
        numbers: int = 0,
    ) -> None:
        self.module, self.target, self.name, self.grid = module, target, name, grid
        self._arguments = arguments
        self.is_plain = False  # the code is nearly as it is to be: LLVM is to run few passes
        self._own_block: Sequence[ir.Value] | None = None
        self.count: ir.Value | None = None  # of vectors, i64, where the code is that of loops of several sizes
        self._device_pointer = ir.PointerType(addrspace=target.spaces.device)
        self._together = target.arguments_together
        assert self._together == 1 or not numbers
        own = [self._device_pointer] * arguments
        if self._together > 1:
            own = [ir.VectorType(I64, self._together)] * -(-arguments // self._together)
        kind = PieceKernelFunction if pieces else KernelFunction
        function = kind(module, ir.FunctionType(ir.VoidType(), own + [I64] * numbers), name)
        function.calling_convention = target.calling_convention
        target.finish(function, grid.threads)
        self.function = function
        self.phase: ir.Function | None = None
        if phase:
            kind = ir.FunctionType(ir.VoidType(), [POINTER] * arguments + [I32] * 6)
            self.phase = ir.Function(module, kind, f"{name}_phase")
            self.phase.linkage = "internal"
            # What one thread runs has no barriers, and may be called.
            for attribute in ("alwaysinline", "convergent") if target.processor is None or grid != ONE_THREAD else ():
                self.phase.attributes.add(attribute)
        inside = function if self.phase is None else self.phase
        of_kernel = Builder if pieces else KernelBuilder  # numbers of pieces change until all are known
        self.builder = of_kernel(inside.append_basic_block("entry"))
        assert not (phase and numbers)
        self.numbers = function.args[len(own) :]
        pointers = function.args[: len(own)] if self._together == 1 else ()
        for argument in (*pointers, *(inside.args[:arguments] if phase else ())):
            if not overlap:
                argument.add_attribute("noalias")
            argument.attributes.align = 16
        self.pointers = list(inside.args[:arguments]) if phase else self._generic(self.builder)
        if isinstance(function, Pieces):
            function.begin_pieces(self.builder.zext(self.block(), I64), grid.blocks[0])
        self.shared_bytes = 0
        self.dynamic_bytes = 0
        self.has_barriers = False

    def end(self) -> None:
        self.builder.ret_void()
        if self.is_plain:
            self.function.text_attributes += f" {IS_PLAIN}"
        if isinstance(self.function, Pieces):
            self.grid = Grid((max(1, self.function.count), 1, 1), self.grid.threads)
        if self.phase is not None:
            b = Builder(self.function.append_basic_block("entry"))
            b.call(self.phase, [*self._generic(b), *self.indices(b)])
            b.ret_void()

    def _generic(self, b: ir.IRBuilder) -> list[ir.Value]:
        return [b.addrspacecast(self._argument(b, number), POINTER) for number in range(self._arguments)]

    def _argument(self, b: ir.IRBuilder, number: int) -> ir.Value:
        if self._together == 1:
            return self.function.args[number]
        vector, lane = divmod(number, self._together)
        return b.inttoptr(b.extract_element(self.function.args[vector], I32(lane)), self._device_pointer)

    def indices(self, b: ir.IRBuilder) -> list[ir.Value]:
        """Which thread, and which block, the thread is that runs this code: what a phase is told."""
        return [self._index(b, read, sizes, d) for read, sizes in self._reads for d in range(3)]

    # --- which thread this is ---

    @property
    def _reads(self) -> tuple[tuple[ReadIndex, Dimensions], ...]:
        return (self.target.thread_index, self.grid.threads), (self.target.block_index, self.grid.blocks)

    @staticmethod
    def _index(b: ir.IRBuilder, read: ReadIndex, sizes: Dimensions, dimension: int) -> ir.Value:
        return I32(0) if sizes[dimension] == 1 else _below(b, read(b, dimension), sizes[dimension])

    def thread(self, dimension: int = 0) -> ir.Value:
        """The thread's number in its block, i32."""
        return self._number(0, dimension)

    def block(self, dimension: int = 0) -> ir.Value:
        """The block's number, i32."""
        return self._number(1, dimension)

    def _number(self, which: int, dimension: int) -> ir.Value:
        read, sizes = self._reads[which]
        if which == 1 and self._own_block is not None:
            return self._own_block[dimension]
        if self.phase is None or sizes[dimension] == 1:
            return self._index(self.builder, read, sizes, dimension)
        return _below(self.builder, self.phase.args[self._arguments + 3 * which + dimension], sizes[dimension])

    def number(self, each: int = 1) -> ir.Value:
        """The thread's number among all along the first dimension: i32, or i64 where that may be too narrow.

        each: how many numbers a thread has, which differ by the number of the block's threads; this is the first.
        """
        b, threads = self.builder, self.grid.threads[0]
        wide = I32 if self.grid.blocks[0] * threads * each < _NARROW else I64
        block, thread = (value if wide is I32 else b.zext(value, I64) for value in (self.block(), self.thread()))
        return b.add(b.mul(block, wide(threads * each), flags=["nuw", "nsw"]), thread, flags=["nuw", "nsw"])

    def own(self, number: ir.Value) -> ir.Value:
        """A number that all threads of a block have, as one that could differ between them.

        In kernels with barriers, Intel's compiler for processors makes wrong code of some loops by such a number, and of some
        divisions.
        """
        if not self.target.family.hides_uniform_numbers:
            return number
        always = self.builder.icmp_unsigned("<", self.thread(), I32(1 << 30))
        return self.builder.select(always, number, number.type(1))

    def divided(self, number: ir.Value, divisor: int) -> tuple[ir.Value, ir.Value]:
        """The quotient and the rest of a number that differs between threads, in kernels with barriers."""
        by = self.own(number.type(divisor))
        return self.builder.udiv(number, by), self.builder.urem(number, by)

    @contextmanager
    def as_block(self, grid: Grid, number: ir.Value) -> Iterator[None]:
        """Write code for blocks of a grid of as many threads, of which this block is that of this number, i32."""
        assert grid.threads == self.grid.threads
        outer, self.grid = (self.grid, self._own_block), grid
        index = []
        for size in grid.blocks:
            is_last = size == prod(grid.blocks[len(index) :])
            index.append(I32(0) if size == 1 else number if is_last else self.builder.urem(number, I32(size)))
            number = number if size == 1 or is_last else self.builder.udiv(number, I32(size))
        self._own_block = index
        yield
        self.grid, self._own_block = outer

    @contextmanager
    def counting(self, count: ir.Value | None) -> Iterator[None]:
        """Write code of a loop with so many vectors, if it does not know by itself how many it has."""
        outer, self.count = self.count, count
        yield
        self.count = outer

    # --- what threads of a block share ---

    def shared(self, size: int, align: int = 16) -> ir.Value:
        """So many bytes of the block's memory, whose contents are anything."""
        name = f"{self.name}.shared.{self.shared_bytes}"
        memory = ir.GlobalVariable(self.module, ir.ArrayType(I8, size), name, addrspace=self.target.spaces.shared)
        memory.linkage, memory.align = "internal", align
        memory.initializer = ir.Constant(memory.value_type, ir.Undefined)
        self.shared_bytes += size
        return self.builder.addrspacecast(memory, POINTER)

    def dynamic_shared(self, size: int) -> ir.Value:
        """So many bytes of the block's memory, of `Target.dynamic_bytes`, which the launch asks for: their address in it, i32,
        a multiple of 1024.
        """
        assert not self.dynamic_bytes and not self.shared_bytes and size <= self.target.dynamic_bytes
        self.dynamic_bytes = size
        name = f"{self.name}_dynamic"
        memory = ir.GlobalVariable(self.module, ir.ArrayType(I8, 0), name, addrspace=self.target.spaces.shared)
        memory.linkage, memory.align = "external", 1024
        return self.builder.trunc(self.builder.ptrtoint(memory, I64), I32)

    def barrier(self) -> None:
        """Wait until all threads of the block are here, and what they have written can be read."""
        if prod(self.grid.threads) == 1:
            return
        self.has_barriers = True
        self.target.barrier(self.builder)

    def shared_barrier(self) -> None:
        """Wait until all threads of the block are here, and what they have written to its memory can be read; what is under
        way from or to other memory may stay so.
        """
        self.has_barriers = True
        (self.target.shared_barrier or self.target.barrier)(self.builder)


def _below(b: ir.IRBuilder, number: ir.Value, bound: int) -> ir.Value:
    return b.below(number, bound) if isinstance(b, KernelBuilder) else number


def wide(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A number that is not negative, as i64."""
    return value if value.type == I64 else builder.zext(value, I64)


def index_of(builder: ir.IRBuilder, number: ir.Value, sizes: Sequence[int]) -> Index:
    """The index of the element with this number in row-major order."""
    components: list[Affine] = []
    for dimension in range(len(sizes) - 1, -1, -1):
        size = sizes[dimension]
        if size == 1:
            components.append(Affine(0))
        elif prod(sizes[:dimension]) == 1:
            components.append(Affine(wide(builder, number)))
            number = number.type(0)
        else:
            components.append(Affine(wide(builder, builder.urem(number, number.type(size)))))
            number = builder.udiv(number, number.type(size))
    return tuple(reversed(components))


def index_of_vector(builder: ir.IRBuilder, number: ir.Value, sizes: Sequence[int], lanes: int) -> Index:
    """The index of the elements of the vector with this number, of so many along the last dimension, which they divide."""
    if lanes == 1:
        return index_of(builder, number, sizes)
    *outer, last = index_of(builder, number, (*sizes[:-1], sizes[-1] // lanes))
    return (*outer, Affine(multiply_base(builder, last.base, lanes), 1))


def of_shape(array: Array, shape: Shape) -> Array:
    """The same memory as an array of another shape."""
    return Array(array.pointer, shape)
