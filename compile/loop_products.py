"""Products of a loop's rows with one matrix, computed before it as one product.

Before: for t in range(1000): ... x[t] @ w ...       (a vector by a matrix, which is read from memory 1,000 times)
After: p = x @ w; for t in range(1000): ... p[t] ...
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from .. import hlo
from ..hlo import Computation, Instruction
from .loop_state import built_for, is_state, places_inside, with_loops_replaced, with_more_state
from .pass_manager import module_pass
from .traversal import of_each_computation
from .trip_count import TripCount, known_trip_count, loop_invariant_elements

# A matrix of fewer elements is read from the first-level cache each time.
_LEAST_MATRIX_ELEMENTS = 1024
_LEAST_ROUNDS = 8
# The products of as many rows as this share what is read of the matrix already.
_MOST_ROWS = 8
_MOST_BYTES = 64 << 20


class _Rows(NamedTuple):
    """What a product takes in round k: row ``start + step * k`` of an element of the state, in other dimensions if need be."""

    element: Instruction
    slice: Instruction
    start: int
    step: int


@module_pass("batch-loop-products")
@of_each_computation()
def batch_loop_products(computation: Computation) -> Computation:
    """Computes the products of rows, one in each round of a while loop, with a matrix that never changes, before the loop.

    The loop counts, its number of rounds is known, and the rows are those of an array that never changes, one after the
    other.
    """
    return with_loops_replaced(computation, _batched)


def _batched(loop: Instruction) -> Instruction | None:
    trips, init, body = known_trip_count(loop), loop.operands[0], loop.attributes["body"]
    if trips is None or trips.count < _LEAST_ROUNDS or init.opcode != "tuple":
        return None
    unchanging = loop_invariant_elements(loop)
    values, replaced, room = [], {}, _MOST_BYTES
    for product in body.instructions:
        if product.opcode != "dot" or product.shape.byte_size * trips.count > room:
            continue
        found = _rows_by_matrix(product, trips, unchanging)
        if found is None:
            continue
        rows, matrix, is_left = found
        array, factor = (init.operands[element.attributes["index"]] for element in (rows.element, matrix))
        with built_for(product):
            values.append(_all_products(product, rows, trips.count, array, factor, is_left))
        replaced[product] = partial(_row_of_products, product, rows, is_left, len(values) - 1)
        room -= values[-1].shape.byte_size
    return with_more_state(loop, values, replaced) if replaced else None


def _rows_by_matrix(product: Instruction, trips: TripCount, unchanging: set[int]) -> tuple[_Rows, Instruction, bool] | None:
    """The rows, the matrix, and whether the rows are the left operand."""
    attributes = product.attributes
    if attributes["lhs_batch_dimensions"]:
        return None
    for is_left, (one, matrix) in ((True, product.operands), (False, product.operands[::-1])):
        rows = _rows(one, trips, unchanging)
        contracted = attributes["lhs_contracting_dimensions" if is_left else "rhs_contracting_dimensions"]
        free = [size for d, size in enumerate(one.shape.dimensions) if d not in contracted]
        is_few = prod(free) <= _MOST_ROWS and (is_left or not free)
        is_matrix = _is_among(matrix, unchanging) and matrix.shape.size >= _LEAST_MATRIX_ELEMENTS
        if rows is not None and is_few and is_matrix:
            return rows, matrix, is_left
    return None


def _is_among(instruction: Instruction, unchanging: set[int]) -> bool:
    return is_state(instruction) and instruction.attributes["index"] in unchanging


def _rows(operand: Instruction, trips: TripCount, unchanging: set[int]) -> _Rows | None:
    while operand.opcode == "reshape":
        (operand,) = operand.operands
    if operand.opcode != "dynamic-slice":
        return None
    array, first, *others = operand.operands
    if not _is_among(array, unchanging) or operand.attributes["sizes"] != (1, *array.shape.dimensions[1:]):
        return None
    found = places_inside(first, array.shape.dimensions[0], trips)
    if found is None or found[1] not in (1, -1) or any(other.opcode != "constant" for other in others):
        return None
    return _Rows(array, operand, *found)


def _all_products(
    product: Instruction, rows: _Rows, count: int, array: Instruction, matrix: Instruction, is_left: bool
) -> Instruction:
    """The products of all rounds, in the order in which the rows lie in memory."""
    first = min(rows.start, rows.start + rows.step * (count - 1))
    behind = array.shape.dimensions[1:]
    some = hlo.slice(array, [first] + [0] * len(behind), [first + count, *behind])
    side = "lhs" if is_left else "rhs"
    row = product.operands[0 if is_left else 1].shape.dimensions
    batch = hlo.reshape(some, (count, *row))
    contracted = tuple(dimension + 1 for dimension in product.attributes[f"{side}_contracting_dimensions"])
    other = product.attributes["rhs_contracting_dimensions" if is_left else "lhs_contracting_dimensions"]
    dimension_numbers = {"lhs_contracting_dimensions": contracted, "rhs_contracting_dimensions": other}
    return hlo.dot(batch, matrix, product.shape.element_type, **dimension_numbers)


def _row_of_products(
    product: Instruction,
    rows: _Rows,
    is_left: bool,
    number: int,
    elements: Sequence[Instruction],
    operands: Sequence[Instruction],
) -> Instruction:
    """The product of this round, from those of all rounds."""
    found, products = operands[0 if is_left else 1], elements[number]
    while found.opcode == "reshape":
        (found,) = found.operands
    _, first, *_ = found.operands
    with built_for(product):
        zero = hlo.constant(0, first.shape.element_type)
        lowest = min(rows.start, rows.start + rows.step * (products.shape.dimensions[0] - 1))
        place = hlo.subtract(first, hlo.constant(lowest, first.shape.element_type)) if lowest else first
        sizes = (1, *products.shape.dimensions[1:])
        row = hlo.dynamic_slice(products, place, *[zero] * len(product.shape.dimensions), sizes=sizes)
        return hlo.reshape(row, product.shape.dimensions)
