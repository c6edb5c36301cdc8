"""Loops in LLVM IR, with values carried from one iteration to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from llvmlite import ir

from .index import Affine, Base, Index, i64
from .interruption import USUAL_TRIPS, OpenLoop
from .types import I64, ComplexValue, RegisterValue

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
) -> list[RegisterValue]:
    """Run ``body(index, values)`` for start, start + step, ... below stop; each result is the next iteration's values.

    most: where start and stop are not known, how many iterations there are at most, if those may be very many, or are known to
        be few.
    Returns the last values (the initial ones where the loop does not run). At least one iteration is assumed where start
    and stop are Python ints with start < stop; no code is emitted where they say that there is none.
    """
    known = isinstance(start, int) and isinstance(stop, int)
    if known and start >= stop:
        return list(initial)
    if known and start + step >= stop:
        return list(body(I64(start), list(initial)))
    flat = flatten(initial)
    entry = builder.block
    head = builder.append_basic_block(name)
    done = builder.append_basic_block(f"{name}.done")
    if known:
        builder.branch(head)
    else:
        builder.cbranch(builder.icmp_signed("<", i64(start), i64(stop)), head, done)
    builder.position_at_end(head)
    index = builder.phi(I64)
    index.add_incoming(i64(start), entry)
    phis = [builder.phi(value.type) for value in flat]
    for phi, value in zip(phis, flat):
        phi.add_incoming(value, entry)
    loop = OpenLoop(builder, entry)
    results = flatten(body(index, unflatten(phis, initial)))
    following = builder.add(index, I64(step), flags=["nsw", "nuw"])
    loop.close(builder, -(-(stop - start) // step) if known else most or USUAL_TRIPS)
    latch = builder.block
    index.add_incoming(following, latch)
    for phi, value in zip(phis, results):
        phi.add_incoming(value, latch)
    builder.cbranch(builder.icmp_signed("<", following, i64(stop)), head, done)
    builder.position_at_end(done)
    if known:
        return unflatten(results, initial)
    final = []
    for before, after in zip(flat, results):
        phi = builder.phi(before.type)
        phi.add_incoming(before, entry)
        phi.add_incoming(after, latch)
        final.append(phi)
    return unflatten(final, initial)


@contextmanager
def counted_loop(builder: ir.IRBuilder, size: int, name: str = "loop") -> Iterator[Base]:
    """A loop over 0 to size - 1 around the body of the with statement; size must not be 0. A single iteration needs no loop."""
    if size == 1:
        yield 0
        return
    entry = builder.block
    head, done = builder.append_basic_block(name), builder.append_basic_block(f"{name}.done")
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(I64)
    index.add_incoming(I64(0), entry)
    loop = OpenLoop(builder, entry)
    yield index
    following = builder.add(index, I64(1), flags=["nsw", "nuw"])
    loop.close(builder, size)
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, I64(size)), head, done)
    builder.position_at_end(done)


@contextmanager
def loop_nest(builder: ir.IRBuilder, sizes: Sequence[int]) -> Iterator[Index]:
    """Nested loops over all indices of an array of these sizes, none of them 0."""
    with ExitStack() as nest:
        yield tuple(Affine(nest.enter_context(counted_loop(builder, size))) for size in sizes)


def flatten(values: Sequence[RegisterValue]) -> list[ir.Value]:
    """The registers, a complex number as its two parts."""
    flat: list[ir.Value] = []
    for value in values:
        flat.extend(value) if isinstance(value, ComplexValue) else flat.append(value)
    return flat


def unflatten(flat: Sequence[ir.Value], like: Sequence[RegisterValue]) -> list[RegisterValue]:
    following = iter(flat)
    return [
        ComplexValue(next(following), next(following)) if isinstance(value, ComplexValue) else next(following) for value in like
    ]
