"""Functions that compute a numbered piece of a loop nest.

In such a function a loop whose iterations do not need one another, nor their order, runs from where its piece begins to where
that ends; elsewhere it is an ordinary loop. Pieces depend on sizes, never on who runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from llvmlite import ir

from . import index as indices
from .branches import replaced_if
from .index import Affine, Base, Index
from .interruption import InterruptibleFunction
from .loops import counted_loop
from .module import Module
from .types import I64, POINTER, RegisterValue


class PieceFunction(InterruptibleFunction):
    """``i32 (ptr context, i64 number)`` computes the piece with this number.

    Of each loop, of those that come one after the other, there are ``wanted`` pieces at most; ``count`` is how many there are.
    """

    def __init__(self, module: Module, name: str, wanted: int, leave: Callable[[ir.IRBuilder], None]) -> None:
        super().__init__(module, name, [POINTER, I64], leave)
        self.wanted, self.count = wanted, 0
        self.is_open = False
        self.bounds: dict[int, tuple[Base, Base, int]] = {}

    def claim(self, builder: ir.IRBuilder, size: int) -> tuple[Base, Base, int]:
        """The iterations of the piece of a loop of ``size``: the first, the end, and how many there are at most."""
        most = -(-size // self.wanted)
        first = self.count
        self.count += -(-size // most)
        number = indices.add_base(builder, self.args[1], -first)
        start = indices.clamp_base(builder, indices.multiply_base(builder, number, most), 0, size)
        end = indices.multiply_base(builder, indices.add_base(builder, number, 1), most)
        return start, indices.clamp_base(builder, end, 0, size), most


def _dividing(builder: ir.IRBuilder) -> PieceFunction | None:
    """The function that is being emitted, if it computes pieces, and is not inside of a loop that is divided."""
    function = builder.function
    return function if isinstance(function, PieceFunction) and not function.is_open else None


@contextmanager
def independent_loop(builder: ir.IRBuilder, size: int, name: str = "loop", stop: ir.Value | None = None) -> Iterator[Base]:
    """As `counted_loop`, around iterations that may run in any order, and at once."""
    function = _dividing(builder)
    if function is None or size == 1:
        with counted_loop(builder, size, name, stop) as index:
            yield index
        return
    start, end, most = function.claim(builder, size)
    if stop is not None:
        end = indices.least(builder, end, stop)
    function.is_open = True
    with counted_loop(builder, most, name, indices.i64(end), start) as index:
        yield index
    function.is_open = False


def piece_bounds(builder: ir.IRBuilder, size: int) -> tuple[Base, Base, int]:
    """The part of ``size`` iterations that belongs to the piece: the first, the end, and how many there are at most."""
    function = _dividing(builder)
    if function is None:
        return 0, size, size
    if size not in function.bounds:
        with builder.goto_entry_block():
            function.bounds[size] = function.claim(builder, size)
    return function.bounds[size]


def piece_number(builder: ir.IRBuilder) -> Base:
    """The number of the piece that is being computed."""
    function = builder.function
    return function.args[1] if isinstance(function, PieceFunction) else 0


def in_last_piece(
    builder: ir.IRBuilder, values: list[RegisterValue], emit: Callable[[], Sequence[RegisterValue]]
) -> Sequence[RegisterValue]:
    """What ``emit()`` computes, in the last piece of those there are so far; the values in others."""
    function = builder.function
    if not isinstance(function, PieceFunction) or not function.count:
        return emit()
    return replaced_if(builder, builder.icmp_signed("==", function.args[1], I64(function.count - 1)), values, emit)


@contextmanager
def in_one_piece(builder: ir.IRBuilder) -> Iterator[None]:
    """Around code that is to run once, beside loops that are divided."""
    function = _dividing(builder)
    if function is None:
        yield
        return
    number = function.count
    function.count += 1
    with builder.if_then(builder.icmp_signed("==", function.args[1], I64(number))):
        yield


@contextmanager
def independent_loops(
    builder: ir.IRBuilder, sizes: Sequence[int], stops: Mapping[int, ir.Value] = MappingProxyType({})
) -> Iterator[Index]:
    """As `loop_nest`, around iterations that may run in any order, and at once."""
    with ExitStack() as nest:
        loops = [independent_loop(builder, size, stop=stops.get(d)) for d, size in enumerate(sizes)]
        yield tuple([Affine(nest.enter_context(loop)) for loop in loops])
