"""Functions that compute a numbered piece of a loop nest.

In such a function a loop whose iterations do not need one another, nor their order, runs from where its piece begins to where
that ends; elsewhere it is an ordinary loop. Pieces depend on sizes, never on who runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import MappingProxyType

from llvmlite import ir

from . import index as indices
from .branches import replaced_if
from .index import Affine, Base, Index
from .interruption import InterruptibleFunction
from .loops import counted_loop
from .memory import add_to_constant
from .module import Module
from .types import I64, POINTER, RegisterValue


class Pieces:
    """What a function that computes a piece is besides, while it is emitted.

    ``piece`` is the piece that it computes, an i64, and ``number`` that among the pieces of the loops that stand where the
    builder is; there are ``count`` of these so far, and ``wanted`` in all, or fewer. ``is_open`` says that loops that follow
    are not divided.
    """

    piece: ir.Value

    def begin_pieces(self, piece: ir.Value, wanted: int) -> None:
        self.piece = self.number = piece
        self.wanted, self.count = wanted, 0
        self.is_open = False
        self.bounds: dict[int, tuple[Base, Base, int]] = {}

    def claim(self, builder: ir.IRBuilder, size: int, least: int = 1) -> tuple[Base, Base, int]:
        """The iterations of the piece of a loop of ``size``: the first, the end, and how many there are at most."""
        most = min(size, max(least, -(-size // self.wanted)))
        first = self.count
        self.count += -(-size // most)
        number = indices.add_base(builder, self.number, -first)
        start = indices.multiply_base(builder, number, most)
        end = indices.least(builder, indices.add_base(builder, start, most), size)
        if first:  # of pieces before these the end is not above 0
            start = builder.select(builder.icmp_signed("<", start, I64(0)), I64(0), start)
        return start, end, most

    @contextmanager
    def each_divided(self, builder: ir.IRBuilder, size: int) -> Iterator[tuple[ir.Value, ir.Value]]:
        """The iteration of a loop of ``size``, and the end, where loops inside of it are divided, too."""
        outer = self.number, self.wanted, self.count
        inner_count, all_pieces = I64(1), I64(size)
        number = builder.sub(self.number, I64(self.count))
        is_inside = builder.icmp_unsigned("<", number, all_pieces)
        start = builder.select(is_inside, builder.udiv(number, inner_count), I64(size))
        end = builder.select(is_inside, builder.add(start, I64(1)), I64(size))
        self.number, self.wanted, self.count = builder.urem(number, inner_count), self.wanted // size, 0
        yield start, end
        count = max(1, self.count)
        add_to_constant(inner_count, count - 1)
        add_to_constant(all_pieces, size * (count - 1))
        self.number, self.wanted, self.count = outer
        self.count += size * count


class PieceFunction(Pieces, InterruptibleFunction):
    """``i32 (ptr context, i64 number, ptr scratch)`` computes the piece with this number; the memory is its own meanwhile."""

    def __init__(self, module: Module, name: str, wanted: int, leave: Callable[[ir.IRBuilder], None]) -> None:
        super().__init__(module, name, [POINTER, I64, POINTER], leave)
        self.begin_pieces(self.args[1], wanted)


def dividing(builder: ir.IRBuilder) -> Pieces | None:
    """The function that is being emitted, if it computes pieces, and the loops that follow may be divided."""
    function = builder.function
    return function if isinstance(function, Pieces) and not function.is_open else None


@contextmanager
def independent_loop(
    builder: ir.IRBuilder,
    size: int,
    name: str = "loop",
    stop: ir.Value | None = None,
    *,
    start: ir.Value | None = None,
    least: int = 1,
    divides_inner: bool = False,
) -> Iterator[Base]:
    """As `counted_loop`, around iterations that may run in any order, and at once.

    start: where it begins, if that is known when the code runs. least: as many iterations are in a piece, at least.
    divides_inner: where there are few iterations, independent loops inside are divided, too; what else is inside is done by
        each of their pieces.
    """
    function = dividing(builder)
    if function is None:
        stop = indices.i64(size) if stop is None and start is not None else stop
        with counted_loop(builder, size, name, stop, 0 if start is None else start) as index:
            yield index
        return
    if divides_inner and 2 * size <= function.wanted:
        with function.each_divided(builder, size) as (first, end):
            first = first if start is None else indices.greatest(builder, first, start)
            end = end if stop is None else indices.least(builder, end, stop)
            with counted_loop(builder, 1, name, end, first) as index:
                yield index
        return
    first, end, most = function.claim(builder, size, least)
    first = first if start is None else indices.greatest(builder, first, start)
    end = indices.i64(end) if stop is None else indices.least(builder, end, stop)
    function.is_open = True
    with counted_loop(builder, most, name, end, first) as index:
        yield index
    function.is_open = False


@contextmanager
def independent_loops(
    builder: ir.IRBuilder,
    sizes: Sequence[int],
    stops: Mapping[int, ir.Value] = MappingProxyType({}),
    starts: Mapping[int, ir.Value] = MappingProxyType({}),
) -> Iterator[Index]:
    """As `loop_nest`, around iterations that may run in any order, and at once; the same holds for independent loops inside."""
    with ExitStack() as nest:
        loops = [
            independent_loop(builder, size, stop=stops.get(d), start=starts.get(d), divides_inner=True)
            for d, size in enumerate(sizes)
        ]
        yield tuple([Affine(nest.enter_context(loop)) for loop in loops])


def piece_bounds(builder: ir.IRBuilder, size: int, least: int = 1) -> tuple[Base, Base, int]:
    """The part of ``size`` iterations that belongs to the piece: the first, the end, and how many there are at most.

    All loops of this size in the function have the same parts. Within loops that are divided it is all of them.
    """
    function = dividing(builder)
    if function is None or function.number is not function.piece:
        return 0, size, size
    if size not in function.bounds:
        with builder.goto_entry_block():
            function.bounds[size] = function.claim(builder, size, least)
    return function.bounds[size]


def loop_of_piece(
    builder: ir.IRBuilder, size: int, name: str = "loop", stop: ir.Value | None = None, least: int = 1
) -> AbstractContextManager[Base]:
    """As `counted_loop`, over the part that belongs to the piece, of at least so many iterations."""
    start, end, most = piece_bounds(builder, size, least)
    if isinstance(end, int):
        return counted_loop(builder, size, name, stop)
    return counted_loop(builder, most, name, end if stop is None else indices.least(builder, end, stop), start)


def piece_number(builder: ir.IRBuilder) -> Base:
    """The number of the piece that is being computed."""
    function = builder.function
    return function.number if isinstance(function, Pieces) else 0


def in_last_piece(
    builder: ir.IRBuilder, values: list[RegisterValue], emit: Callable[[], Sequence[RegisterValue]]
) -> Sequence[RegisterValue]:
    """What ``emit()`` computes, in the last piece of those there are so far; the values in others."""
    function = dividing(builder)
    if function is None or not function.count:
        return emit()
    return replaced_if(builder, builder.icmp_signed("==", function.number, I64(function.count - 1)), values, emit)


@contextmanager
def in_one_piece(builder: ir.IRBuilder, apart: bool = False) -> Iterator[None]:
    """Around code that is to run once, beside loops that are divided: in the last piece so far, or ``apart`` in its own."""
    function = dividing(builder)
    if function is None:
        yield
        return
    if apart or not function.count:
        function.count += 1
    function.is_open = True
    with builder.if_then(builder.icmp_signed("==", function.number, I64(function.count - 1))):
        yield
    function.is_open = False
