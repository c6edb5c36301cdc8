"""Loops in LLVM IR, with values carried from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType

from llvmlite import ir

from .index import Affine, Base, Index, i64
from .interruption import USUAL_TRIPS, OpenLoop
from .types import I64, RegisterValue, flatten, unflatten

Body = Callable[[ir.Value, list[RegisterValue]], Sequence[RegisterValue]]


def carried_loop(
    builder: ir.IRBuilder,
    start: Base,
    stop: Base,
    step: int,
    initial: Sequence[RegisterValue],
    body: Body,
    name: str = "loop",
    most: int | None = None,
    index_type: ir.IntType = I64,
    runs: bool = False,
) -> list[RegisterValue]:
    """Run ``body(index, values)`` for start, start + step, ... below stop; each result is the next iteration's values.

    most: where start and stop are not known, how many iterations there are at most, if those may be very many, or are known to
        be few.
    index_type: that of the index, and of start and stop: devices count with 32 bits in fewer steps.
    runs: whether there is an iteration in any case.
    Returns the last values (the initial ones where the loop does not run). At least one iteration is assumed where start
    and stop are Python ints with start < stop; no code is emitted where they say that there is none.
    """
    known = isinstance(start, int) and isinstance(stop, int)
    runs = runs or known
    if known and start >= stop:
        return list(initial)
    if known and start + step >= stop:
        return list(body(index_type(start), list(initial)))
    begin, end = (index_type(one) if isinstance(one, int) else one for one in (start, stop))
    flat = flatten(initial)
    entry = builder.block
    head = builder.append_basic_block(name)
    done = builder.append_basic_block(f"{name}.done")
    if runs:
        builder.branch(head)
    else:
        builder.cbranch(builder.icmp_signed("<", begin, end), head, done)
    builder.position_at_end(head)
    index = builder.phi(index_type)
    index.add_incoming(begin, entry)
    phis = [builder.phi(value.type) for value in flat]
    for phi, value in zip(phis, flat):
        phi.add_incoming(value, entry)
    loop = OpenLoop(builder, entry)
    results = flatten(body(index, unflatten(phis, initial)))
    following = builder.add(index, index_type(step), flags=["nsw", "nuw"])
    loop.close(builder, -(-(stop - start) // step) if known else most or USUAL_TRIPS)
    latch = builder.block
    index.add_incoming(following, latch)
    for phi, value in zip(phis, results):
        phi.add_incoming(value, latch)
    builder.cbranch(builder.icmp_signed("<", following, end), head, done)
    builder.position_at_end(done)
    if runs:
        return unflatten(results, initial)
    final = []
    for before, after in zip(flat, results):
        phi = builder.phi(before.type)
        phi.add_incoming(before, entry)
        phi.add_incoming(after, latch)
        final.append(phi)
    return unflatten(final, initial)


@contextmanager
def counted_loop(
    builder: ir.IRBuilder, size: int, name: str = "loop", stop: ir.Value | None = None, start: Base = 0
) -> Iterator[Base]:
    """A loop over 0 to size - 1 around the body of the with statement; size must not be 0. A single iteration needs no loop.

    stop, start: where it ends and begins, if that is known when the code runs; there are ``size`` iterations at most.
    """
    if size == 1 and isinstance(start, int):
        yield start
        return
    entry = builder.block
    head, done = builder.append_basic_block(name), builder.append_basic_block(f"{name}.done")
    if stop is None:
        builder.branch(head)
    else:
        builder.cbranch(builder.icmp_signed("<", i64(start), stop), head, done)
    builder.position_at_end(head)
    index = builder.phi(I64)
    index.add_incoming(i64(start), entry)
    loop = OpenLoop(builder, entry)
    yield index
    following = builder.add(index, I64(1), flags=["nsw", "nuw"])
    loop.close(builder, size)
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, I64(size) if stop is None else stop), head, done)
    builder.position_at_end(done)


class WhileLoop:
    """A loop that is being emitted (`while_loop`); ``values`` are those of this iteration, and behind it the last."""

    def __init__(self, builder: ir.IRBuilder, values: list[RegisterValue], done: ir.Block) -> None:
        self.builder, self.values = builder, values
        self.following: Sequence[RegisterValue] = values
        self._done = done

    def leave_unless(self, condition: ir.Value) -> None:
        """Go on only where the condition holds."""
        inside = self.builder.append_basic_block("loop.body")
        self.builder.cbranch(condition, inside, self._done)
        self.builder.position_at_end(inside)

    def carry(self, values: Sequence[RegisterValue]) -> None:
        """Set the next iteration's values."""
        self.following = values


@contextmanager
def while_loop(
    builder: ir.IRBuilder, initial: Sequence[RegisterValue], name: str = "while", most: int | None = None
) -> Iterator[WhileLoop]:
    """A loop around the body of the with statement, which says where it is left and what is carried on.

    most: how many iterations there are at most; None if there may be any number.

    >>> module = ir.Module("example")
    >>> function = ir.Function(module, ir.FunctionType(I64, [I64]), "log2")
    >>> builder = ir.IRBuilder(function.append_basic_block("entry"))
    >>> with while_loop(builder, [function.args[0], I64(0)]) as loop:
    ...     n, steps = loop.values
    ...     loop.leave_unless(builder.icmp_unsigned(">", n, I64(1)))
    ...     loop.carry([builder.lshr(n, I64(1)), builder.add(steps, I64(1))])
    >>> _ = builder.ret(steps)
    """
    before = builder.block
    head, done = builder.append_basic_block(name), builder.append_basic_block(f"{name}.done")
    builder.branch(head)
    builder.position_at_end(head)
    flat = flatten(initial)
    phis = [builder.phi(value.type) for value in flat]
    for phi, value in zip(phis, flat):
        phi.add_incoming(value, before)
    open_loop = OpenLoop(builder, before)
    loop = WhileLoop(builder, unflatten(phis, initial), done)
    yield loop
    following = flatten(loop.following)
    open_loop.close(builder, most, done)
    for phi, value in zip(phis, following, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(done)


@contextmanager
def loop_nest(
    builder: ir.IRBuilder, sizes: Sequence[int], stops: Mapping[int, ir.Value] = MappingProxyType({})
) -> Iterator[Index]:
    """Nested loops over all indices of an array of these sizes, none of them 0; of some dimensions up to where they stop."""
    with ExitStack() as nest:
        loops = [counted_loop(builder, size, stop=stops.get(d)) for d, size in enumerate(sizes)]
        yield tuple([Affine(nest.enter_context(loop)) for loop in loops])
