"""Sorting by a key of whole bytes: a radix sort from the least significant digit, stable, without comparisons.

All digits are counted in one pass; then each digit moves every element to its place, from one line to the other and back. A
digit that is the same in all elements needs no pass. Source: Knuth, "The Art of Computer Programming" 3, 5.2.5.

Of wide keys a few digits from the highest bit that differs on put most elements where they belong, and insertion the others;
where these are too many all digits follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....compile.comparators import SortKey
from ...llvm.arrays import Array
from ...llvm.branches import replaced_if
from ...llvm.index import Affine, Base, i64, multiply_base
from ...llvm.loops import carried_loop, counted_loop, while_loop
from ...llvm.memory import copy_apart
from ...llvm.sort_key import order_bits
from ...llvm.types import I1, I64, RegisterValue
from ..nest_samples import combining, samples

# Shorter lines are merged faster than digits are counted.
LEAST_ELEMENTS = 256
_BUCKETS = 256
# Digits that are enough for lines of up to so many elements, and how far elements may be moved by insertion then, on average.
_WINDOWS = ((1 << 15, 3), (1 << 62, 4))
_MOST_MOVES = 8


def histogram_bytes(key: SortKey) -> int:
    return _digits(key) * _BUCKETS * 8


def _digits(key: SortKey) -> int:
    return max(8, key.element_type.bits) // 8


@samples(
    """
    x = s16[300] parameter(0)
    ROOT y = s16[300] sort(x), dimensions={0}, to_apply=compare_s16
    """,
    """
    x = s16[300,3] parameter(0)
    ROOT y = s16[300,3] sort(x), dimensions={0}, to_apply=compare_s16
    """,
    calls=combining("compare", "s16[]", "pred[]", ", direction=LT"),
)
def emit_radix_sort(
    builder: ir.IRBuilder, key: SortKey, line: Sequence[Array], spare: Sequence[Array], histograms: ir.Value, count: Base
) -> None:
    """Sort so many elements of the line, in place, by way of a spare one of the same size and histogram_bytes of memory."""
    b, digits = builder, _digits(key)
    (size,) = line[0].shape.dimensions
    window = next(count for most, count in _WINDOWS if size <= most)
    if digits <= window:
        _sort_by_digits(b, key, line, spare, histograms, digits, I64(0), count)
        return
    shift = _lowest_of_window(b, key, line[key.operand], 8 * window, count)
    _sort_by_digits(b, key, line, spare, histograms, window, shift, count)
    with b.if_then(b.icmp_unsigned("!=", shift, I64(0))):
        is_sorted = _insert(b, key, line, count)
        with b.if_then(b.not_(is_sorted), likely=False):
            _sort_by_digits(b, key, line, spare, histograms, digits, I64(0), count)


def _lowest_of_window(builder: ir.IRBuilder, key: SortKey, array: Array, width: int, count: Base) -> ir.Value:
    """The position of the lowest of so many bits, the highest of which is the highest one that is not the same in all keys."""
    b = builder
    first = _key_bits(b, key, array, Affine(0))

    def differing(position: ir.Value, found: list[RegisterValue]) -> list[RegisterValue]:
        bits = b.xor(_key_bits(b, key, array, Affine(position)), first)
        return [b.or_(found[0], bits if bits.type == I64 else b.zext(bits, I64))]

    (bits,) = carried_loop(b, 0, count, 1, [I64(0)], differing, "differing", most=array.shape.size)
    zeros = b.ctlz(bits, I1(0))
    unseen = b.sub(I64(64 - width), zeros)
    return b.select(b.icmp_signed(">", unseen, I64(0)), unseen, I64(0))


def _insert(builder: ir.IRBuilder, key: SortKey, line: Sequence[Array], count: Base) -> ir.Value:
    """Sort by insertion a line that is nearly sorted; whether that was so."""
    b, (size,) = builder, line[0].shape.dimensions

    def insert(position: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
        bits = _key_bits(b, key, line[key.operand], Affine(position))
        element = [array.load(b, (Affine(position),), 1) for array in line]
        with while_loop(b, [position, carried[0]], "insert", most=size) as loop:
            place, moves = loop.values
            loop.leave_unless(b.and_(b.icmp_signed(">", place, I64(0)), b.icmp_signed(">", moves, I64(0))))
            before = b.sub(place, I64(1))
            loop.leave_unless(b.icmp_unsigned(">", _key_bits(b, key, line[key.operand], Affine(before)), bits))
            for array in line:
                array.store(b, (Affine(place),), array.load(b, (Affine(before),), 1), 1)
            loop.carry([before, b.sub(moves, I64(1))])
        for array, value in zip(line, element):
            array.store(b, (Affine(place),), value, 1)
        return [moves]

    moves = b.mul(i64(count), I64(_MOST_MOVES))
    (left,) = carried_loop(b, 1, count, 1, [moves], insert, "inserted", most=size)
    return b.icmp_signed(">", left, I64(0))


def _sort_by_digits(
    builder: ir.IRBuilder,
    key: SortKey,
    line: Sequence[Array],
    spare: Sequence[Array],
    histograms: ir.Value,
    digits: int,
    shift: ir.Value,
    count: Base,
) -> None:
    """Sort the line by so many digits of its keys, the lowest of which begins at the bit ``shift``."""
    b, (size,) = builder, line[0].shape.dimensions
    _clear(b, histograms, digits * _BUCKETS)
    with counted_loop(b, size, "count", _stop(count)) as position:
        bits = _window(b, key, line[key.operand], Affine(position), shift)
        for digit in range(digits):
            counter = _counter(b, histograms, I64(digit), _digit(b, bits, I64(digit)))
            b.store(b.add(b.load(counter, typ=I64), I64(1)), counter)

    def move(digit: ir.Value, pointers: list[RegisterValue]) -> list[RegisterValue]:
        return _pass(b, key, line, pointers, histograms, digit, shift, count)

    pointers = carried_loop(b, 0, digits, 1, [array.pointer for array in (*line, *spare)], move, "digit")
    # After an odd number of passes the elements lie in the spare line.
    with b.if_then(b.icmp_unsigned("!=", pointers[0], line[0].pointer)):
        for array, other in zip(line, spare):
            copy_apart(b, array.pointer, other.pointer, multiply_base(b, count, array.shape.element_type.byte_size))


def _pass(
    builder: ir.IRBuilder,
    key: SortKey,
    line: Sequence[Array],
    pointers: list[RegisterValue],
    histograms: ir.Value,
    digit: ir.Value,
    shift: ir.Value,
    elements: Base,
) -> list[RegisterValue]:
    """Move all elements to where their digit belongs; returns the pointers, with the lines exchanged if it was needed."""
    b, count = builder, len(line)
    (size,) = line[0].shape.dimensions
    sources = [Array(p, array.shape) for p, array in zip(pointers[:count], line)]
    targets = [Array(p, array.shape) for p, array in zip(pointers[count:], line)]
    first = _digit(b, _window(b, key, sources[key.operand], Affine(0), shift), digit)
    differ = b.icmp_unsigned("!=", b.load(_counter(b, histograms, digit, first), typ=I64), i64(elements))

    def accumulate(bucket: ir.Value, total: list[RegisterValue]) -> list[RegisterValue]:
        counter = _counter(b, histograms, digit, bucket)
        number = b.load(counter, typ=I64)
        b.store(total[0], counter)
        return [b.add(total[0], number)]

    def move() -> list[RegisterValue]:
        carried_loop(b, 0, _BUCKETS, 1, [I64(0)], accumulate, "places")
        with counted_loop(b, size, "move", _stop(elements)) as position:
            index = (Affine(position),)
            bits = _window(b, key, sources[key.operand], index[0], shift)
            counter = _counter(b, histograms, digit, _digit(b, bits, digit))
            place = b.load(counter, typ=I64)
            b.store(b.add(place, I64(1)), counter)
            for source, target in zip(sources, targets):
                target.store(b, (Affine(place),), source.load(b, index, 1), 1)
        return [*pointers[count:], *pointers[:count]]

    return replaced_if(b, differ, pointers, move)


def _stop(count: Base) -> ir.Value | None:
    return None if isinstance(count, int) else count


def _key_bits(builder: ir.IRBuilder, key: SortKey, array: Array, position: Affine) -> ir.Value:
    """An unsigned integer that orders as the key does."""
    integer = ir.IntType(max(8, key.element_type.bits))
    return order_bits(builder, key, builder.load(array.address(builder, (position,)), typ=integer, align=integer.width // 8))


def _window(builder: ir.IRBuilder, key: SortKey, array: Array, position: Affine, shift: ir.Value) -> ir.Value:
    """The key's bits from this one on."""
    bits = _key_bits(builder, key, array, position)
    return builder.lshr(bits if bits.type == I64 else builder.zext(bits, I64), shift)


def _digit(builder: ir.IRBuilder, bits: ir.Value, digit: ir.Value) -> ir.Value:
    """One byte of an integer, counted from the least significant one."""
    b = builder
    return b.and_(b.lshr(bits, b.shl(digit, I64(3))), I64(_BUCKETS - 1))


def _counter(builder: ir.IRBuilder, histograms: ir.Value, digit: ir.Value, bucket: ir.Value) -> ir.Value:
    place = builder.add(bucket, builder.mul(digit, I64(_BUCKETS)))
    return builder.gep(histograms, [place], source_etype=I64)


def _clear(builder: ir.IRBuilder, pointer: ir.Value, count: int) -> None:
    with counted_loop(builder, count, "clear") as number:
        builder.store(I64(0), builder.gep(pointer, [number], source_etype=I64))
