"""Sums of squared differences from a mean, of arrays that are read once.

Before: one pass over the array for the mean, and another one for the squares. After: one pass over blocks of it, each of which
adds up the differences from a center of its own, and their squares. What the squares about the mean come to follows from these,
as for the n elements x of a block, its center c, and the mean m of all blocks::

    sum((x - m)**2) = sum((x - c)**2) + (c - m) * (2 * sum(x - c) + n * (c - m))

(T. F. Chan, G. H. Golub, R. J. LeVeque: Algorithms for Computing the Sample Variance, 1983.) That holds for any centers. Digits
are lost where one is far from the mean of its block, beside the distances of the block's elements; the mean of one in
``_ELEMENTS_PER_CENTER`` elements is never farther than the square root of so many times the standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import groupby
from math import isclose, prod
from typing import NamedTuple

import numpy as np

from .. import hlo
from ..hlo import F32, F64, Computation, Instruction, Module, UnattachedBuilder, rebuild, scalar_computation
from ..hlo.operation import ELEMENTWISE
from ..hlo.ops.elementwise import ADD
from .fusion_policy import is_degenerate_reshape
from .pass_manager import Pass, module_pass
from .traversal import on_operands, transform_computations, users_of

# Smaller arrays stay in a cache from one pass to the next.
_LEAST_BYTES = 256 << 10
_ELEMENTS_PER_CENTER = 16
# A block of a row takes so many bytes at most, as its sums are not compensated, and not many fewer, as the processor waits for
# the first of them. Shorter rows stay in the first-level cache from one pass to the next.
_BLOCK_BYTES, _SHORT_ROW_BYTES = 32 << 10, 16 << 10
# So many rows are in a block of columns: enough for the sums of a block to be few beside its elements, and few enough to be
# added up one after the other.
_LEAST_ROWS, _USUAL_ROWS, _MOST_ROWS = 32, 128, 1024
# Blocks of a multiple of so many elements, or of a smaller power of two, end where vectors do.
_WHOLE_VECTORS = 16
# So few rows are in registers at the same time.
_MOST_WRITTEN_OUT = 16
# What costs more, in cheap instructions for an element, is computed once and stored.
_MOST_COST = 8.0


@module_pass("variances-in-one-pass")
def variances_in_one_pass(module: Module) -> Module:
    """Sums of squared differences from a mean are made of those of blocks, from centers of the blocks' own."""
    return transform_computations(module, _transformed)


def variances_pass(reads_again: Callable[[Instruction], bool]) -> Pass:
    """The pass for a backend for which only some of these sums read their arrays again."""

    def run(module: Module) -> Module:
        """Sums of squared differences from a mean, where they would read an array again, are made of those of blocks."""
        return transform_computations(module, lambda computation: _transformed(computation, reads_again))

    return Pass("variances-in-one-pass", run)


def _transformed(computation: Computation, reads_again: Callable[[Instruction], bool] = lambda squares: True) -> Computation:
    totals = {one: total for one in computation.instructions if (total := _total_of_squares(one)) is not None}
    totals = {squares: total for squares, total in totals.items() if reads_again(squares)}
    if not totals:
        return computation
    users = users_of(computation)
    needed_by_total = dict.fromkeys(totals.values(), False)
    for squares, total in totals.items():
        needed_by_total[total] |= _is_used_besides(squares, total, users)
    written: dict[Instruction, _Sums | None] = {}

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        if instruction in needed_by_total:
            with UnattachedBuilder("variances-in-one-pass", where=lambda: instruction.source):
                found = written[instruction] = _sums(instruction, operands[0], needed_by_total[instruction])
            if found is not None and found.elements is not None:
                return found.elements
        elif instruction in totals and (found := written[totals[instruction]]) is not None:
            return found.squares
        return on_operands(instruction, operands)

    return rebuild(computation, transform)


# --- what is looked for ---


def _total_of_squares(squares: Instruction) -> Instruction | None:
    """The sum that is made a mean, where the instruction sums the squares of the differences from that."""
    if not _is_sum(squares) or squares.operands[0].opcode != "multiply":
        return None
    difference, other = squares.operands[0].operands
    if difference is not other or difference.opcode != "subtract":
        return None
    array, mean = difference.operands
    dimensions = squares.attributes["dimensions"]
    kept = tuple(d for d in range(array.shape.rank) if d not in dimensions)
    if mean.opcode != "broadcast" or mean.attributes["dimensions"] != kept:
        return None
    total = _without_ones(_divided(_without_ones(mean.operands[0]), prod(array.shape.dimensions[d] for d in dimensions)))
    if total is None or not _is_sum(total) or total.operands[0] is not array:
        return None
    return total if sorted(total.attributes["dimensions"]) == sorted(dimensions) else None


def _is_sum(instruction: Instruction) -> bool:
    if instruction.opcode != "reduce" or instruction.shape.is_tuple:
        return False
    array, init = instruction.operands
    return (
        array.shape.element_type in (F32, F64)
        and array.shape.byte_size >= _LEAST_BYTES
        and instruction.attributes["to_apply"].combining_operation is ADD
        and _number(init) == 0
    )


def _divided(mean: Instruction | None, count: int) -> Instruction | None:
    """What is divided by so many."""
    if mean is not None and mean.opcode in ("divide", "multiply"):
        total, factor = mean.operands
        number = _number(factor)
        if number is not None and isclose(number, count if mean.opcode == "divide" else 1 / count, rel_tol=1e-6):
            return total
    return None


def _without_ones(instruction: Instruction | None) -> Instruction | None:
    while instruction is not None and instruction.opcode == "reshape" and is_degenerate_reshape(instruction):
        (instruction,) = instruction.operands
    return instruction


def _number(instruction: Instruction) -> float | None:
    """The number that all elements are, if it is known."""
    while instruction.opcode in ("broadcast", "reshape"):
        (instruction,) = instruction.operands
    is_known = instruction.opcode == "constant" and not instruction.shape.is_tuple and not instruction.shape.dimensions
    return float(instruction.attributes["literal"]) if is_known else None


def _is_used_besides(squares: Instruction, total: Instruction, users: Mapping[Instruction, list[Instruction]]) -> bool:
    """Whether something else needs the sum, or what is computed of it for the squares."""
    step = squares.operands[0].operands[0]
    if len(users[squares.operands[0]]) > 1 or len(users[step]) > 2:
        return True
    step = step.operands[1]
    while step is not total:
        if len(users[step]) > 1:
            return True
        step = step.operands[0]
    return len(users[total]) > 1


# --- what it becomes ---


class _Sums(NamedTuple):
    """What takes the place of the sum of the squares, and of the sum of the elements where something else needs it."""

    squares: Instruction
    elements: Instruction | None


def _sums(total: Instruction, array: Instruction, with_elements: bool) -> _Sums | None:
    """The sums in one pass; None where two are as good, or nothing better is known."""
    form = _rows_and_columns(array.shape.dimensions, total.attributes["dimensions"])
    if form is None:
        return None
    rows, count, columns = form
    if columns > 1 and count <= _MOST_WRITTEN_OUT:
        x = _reshaped(array, form)
        sums = None if x is None else _written_out(x)
    else:
        sums = _in_blocks(array, form, with_elements)
    return None if sums is None else _Sums(*[one and hlo.reshape(one, total.shape.dimensions) for one in sums])


def _written_out(x: Instruction) -> _Sums:
    """Of few rows, by rows and columns: one after the other, so that a column is in registers from one to the other pass."""
    rows, count, columns = x.shape.dimensions
    elements = [
        hlo.reshape(hlo.slice(x, (0, number, 0), (rows, number + 1, columns)), (rows, columns)) for number in range(count)
    ]
    total = reduce(hlo.add, elements)
    mean = hlo.divide(total, count)
    differences = [hlo.subtract(element, mean) for element in elements]
    return _Sums(reduce(hlo.add, [hlo.multiply(one, one) for one in differences]), total)


def _in_blocks(array: Instruction, form: tuple[int, int, int], with_elements: bool) -> _Sums | None:
    """The sums of blocks about centers of their own, and what follows from these."""
    rows, count, columns = form
    size = _block_size(count, columns, array.shape.element_type.byte_size)
    if size is None:
        return None
    blocks = count // size
    x = _reshaped(array, (rows * blocks, size, *([columns] if columns > 1 else [])))
    if x is None:
        return None
    element_type, (first, _, *last) = x.shape.element_type, x.shape.dimensions
    some = -(-size // _ELEMENTS_PER_CENTER)
    begin = hlo.slice(x, (0,) * x.shape.rank, (first, some, *last))
    centers = _sum(hlo.multiply(begin, 1 / some), 1)  # the sum of finite numbers might not be finite
    difference = hlo.subtract(x, hlo.broadcast(centers, x.shape.dimensions, (0, 2)[: x.shape.rank - 1]))
    # A power of two, so that a block of finite numbers has finite sums.
    scale = 0.5 ** (size - 1).bit_length()
    summed = [hlo.multiply(difference, difference), hlo.multiply(difference, scale), *([x] if with_elements else [])]
    zero = hlo.constant(0, element_type)
    sums = hlo.reduce(*summed, *[zero] * len(summed), dimensions=(1,), to_apply=_adds(element_type, len(summed)))
    results = [centers, *[hlo.get_tuple_element(sums, index) for index in range(len(summed))]]
    centers, squares, differences, *elements = [hlo.reshape(one, (rows, blocks, columns)) for one in results]
    return _Sums(_combined(size, scale, centers, differences, squares), _sum(elements[0], 1) if elements else None)


def _combined(size: int, scale: float, centers: Instruction, differences: Instruction, squares: Instruction) -> Instruction:
    """The sum of the squares about the mean, of those about the centers of blocks of so many elements, which are dimension 1.

    Numbers so large that their sums or squares are not finite have an infinite one, as has the mean itself then; among
    numbers that are not finite themselves it is NaN.
    """
    rows, blocks, columns = centers.shape.dimensions
    first = hlo.reshape(hlo.slice(centers, (0, 0, 0), (rows, 1, columns)), (rows, columns))

    def of_each(x: Instruction) -> Instruction:
        return hlo.broadcast(x, centers.shape.dimensions, (0, 2))

    # Counted from the first center, so that equal elements have no variance.
    apart = hlo.subtract(centers, of_each(first))
    mean = _sum(hlo.add(hlo.multiply(apart, 1 / blocks), hlo.multiply(differences, 1 / (scale * size * blocks))), 1)
    from_mean = hlo.subtract(apart, of_each(mean))
    moved = hlo.add(hlo.multiply(differences, 2 / scale), hlo.multiply(from_mean, size))
    result = _sum(hlo.add(squares, hlo.multiply(from_mean, moved)), 1)
    total = hlo.multiply(hlo.add(first, mean), size * blocks)
    is_finite = hlo.and_(hlo.is_finite(result), hlo.is_finite(total))
    result = hlo.select(is_finite, result, hlo.full_like(result, np.inf))
    return hlo.select(hlo.is_finite(mean), result, hlo.full_like(result, np.nan))


def _rows_and_columns(sizes: tuple[int, ...], reduced: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Sizes of what lies in front of the reduced dimensions, of these, and of what lies behind them, if they lie together."""
    groups = [(kind, prod(sizes[d] for d in ds)) for kind, ds in groupby(_longer_than_one(sizes), lambda d: d in reduced)]
    if [kind for kind, _ in groups].count(True) != 1:
        return None
    place = [kind for kind, _ in groups].index(True)
    before, (_, count), behind = groups[:place], groups[place], groups[place + 1 :]
    return before[0][1] if before else 1, count, behind[0][1] if behind else 1


def _longer_than_one(sizes: tuple[int, ...]) -> list[int]:
    return [d for d, size in enumerate(sizes) if size != 1]


def _block_size(count: int, columns: int, element_bytes: int) -> int | None:
    """The elements of a row, or rows of columns, in a block: a divisor, or all of them; None where two passes are as good."""
    if columns == 1:
        if count * element_bytes <= _SHORT_ROW_BYTES:
            return None
        least, most = _SHORT_ROW_BYTES // 2 // element_bytes, _BLOCK_BYTES // element_bytes
    else:
        wanted = 4 * _BLOCK_BYTES // (columns * element_bytes)
        least, most = _LEAST_ROWS, min(max(wanted, _USUAL_ROWS), _MOST_ROWS)
    if count <= most:
        return count
    sizes = [size for size in range(least, most + 1) if count % size == 0]
    return max(sizes, key=lambda size: (min(size & -size, _WHOLE_VECTORS), size), default=None)


def _reshaped(x: Instruction, dimensions: tuple[int, ...]) -> Instruction | None:
    """The array in these dimensions; None where that would store what is computed where it is needed.

    Elementwise operations that cost little are done after the reshape.
    """
    found: dict[Instruction, Instruction] = {}
    cost = 0.0

    def moved(one: Instruction) -> Instruction | None:
        nonlocal cost
        if one in found:
            return found[one]
        if one.opcode == "broadcast":
            (scalar,) = one.operands
            made = None if scalar.shape.rank else hlo.broadcast(scalar, dimensions, ())
        elif ELEMENTWISE in one.operation.traits and one.operands:
            cost += one.operation.cost
            operands = [moved(operand) for operand in one.operands] if cost <= _MOST_COST else [None]
            made = None
            if None not in operands:
                shape = one.shape.with_dimensions(dimensions)
                made = hlo.emit(one.opcode, *operands, shape=shape, **one.attributes)
        else:
            made = hlo.reshape(one, dimensions)
        if made is not None:
            found[one] = made
        return made

    return moved(x)


def _sum(x: Instruction, dimension: int) -> Instruction:
    element_type = x.shape.element_type
    zero = hlo.constant(0, element_type)
    return hlo.reduce(x, zero, dimensions=(dimension,), to_apply=scalar_computation("add", element_type))


def _adds(element_type: hlo.ElementType, count: int) -> Computation:
    def body(*scalars: Instruction) -> Instruction:
        return hlo.tuple(*[hlo.add(x, y) for x, y in zip(scalars[:count], scalars[count:])])

    return hlo.computation(f"add_{count}", [hlo.Shape(element_type)] * (2 * count), body)
