"""Products with a few vectors: what is read is read once, and the memory alone is busy. A reduction of products.

Each team of threads has a line of the matrix, and adds up its products with all of the vectors.
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import Instruction, Shape
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.types import I64, RegisterValue, lane_values
from ..frame import Frame
from ..kernel import Kernel
from ..values import Stored
from .epilogue import Results
from .product import Product, add, as_factor, constant_offsets, multiply_add, narrow, offsets_of, sum_type, zero
from .reduction import Teams, reduce_in_teams, teams_for

# More vectors than these are a matrix: of operands whose elements have so many bytes at most, and of others.
_NARROW_BYTES, _MOST_NARROW_VECTORS, _MOST_VECTORS = 2, 2, 4
_VECTOR_BYTES = 16


def is_vector_product(product: Product, operands: tuple[Shape, Shape]) -> bool:
    """Whether one of the operands has few rows or columns, and there is something to sum."""
    _, rows, columns, terms = product.sizes
    are_narrow = max(shape.element_type.byte_size for shape in operands) <= _NARROW_BYTES
    return terms > 0 and min(rows, columns) <= (_MOST_NARROW_VECTORS if are_narrow else _MOST_VECTORS)


def teams_of_vectors(product: Product, operands: tuple[Shape, Shape]) -> tuple[Teams, int]:
    """How threads divide the work; and how many terms a thread loads at once."""
    batches, rows, columns, terms = product.sizes
    side = 0 if rows >= columns else 1
    lines = product.rows if side == 0 else product.columns
    lanes = _lanes(product, operands)
    across = lanes == 1 and bool(lines) and abs(lines[-1].steps[side]) == 1
    return teams_for(batches * max(rows, columns), terms // lanes, across), lanes


def _lanes(product: Product, operands: tuple[Shape, Shape]) -> int:
    """As many as both operands have side by side, at multiples of as much."""
    lanes = _VECTOR_BYTES // max(shape.element_type.byte_size for shape in operands)
    terms = product.terms[-1:]
    if not terms or any(shape.element_type.is_complex or shape.element_type.kind == "pred" for shape in operands):
        return 1
    if terms[0].steps[:2] != (1, 1):
        return 1
    others = [axis for axes in (product.batch, product.rows, product.columns, product.terms[:-1]) for axis in axes]
    steps = [step for axis in others for step in axis.steps[:2]]
    while lanes > 1 and any(number % lanes for number in (terms[0].size, *steps)):
        lanes //= 2
    return max(1, lanes)


def launch_vector_product(
    frame: Frame,
    instruction: Instruction,
    product: Product,
    operands: tuple[Stored, Stored],
    results: Results,
    has_parts: bool,
) -> None:
    """Compute a product; or the sums of its parts, one behind the other, if it has any."""
    batches, rows, columns, terms = product.sizes
    side = 0 if rows >= columns else 1  # of the matrix
    lines, vectors = (product.rows, product.columns) if side == 0 else (product.columns, product.rows)
    count, few = max(rows, columns), min(rows, columns)
    result = instruction.shape.element_type
    teams, lanes = teams_of_vectors(product, (operands[0].shape, operands[1].shape))
    of_vectors = [constant_offsets(number, vectors) for number in range(few)]

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b = kernel.builder
        kernel.is_plain = True

        def element(line: ir.Value, number: ir.Value) -> list[RegisterValue]:
            term = b.mul(number, I64(lanes)) if lanes > 1 else number
            start = offsets_of(b, narrow(b, line, batches * count), product.batch + lines)
            inner = offsets_of(b, narrow(b, term, terms), product.terms)
            bases = [b.add(start[one], inner[one]) for one in (0, 1)]
            of_matrix = load(side, bases[side])
            totals = []
            for offsets in of_vectors:
                of_vector = load(1 - side, b.add(bases[1 - side], I64(offsets[1 - side])))
                total = zero(result)
                for one, other in zip(of_matrix, of_vector):
                    left, right = (one, other) if side == 0 else (other, one)
                    total = multiply_add(b, result, left, right, total)
                totals.append(total)
            return totals

        def load(one: int, offset: ir.Value) -> list[RegisterValue]:
            array = bindings[one]
            element_type = array.shape.element_type
            shape = Shape(element_type, (max(1, array.shape.size),))
            aligned = Array(array.pointer, shape, vector_alignment=lanes * element_type.byte_size if lanes > 1 else 0)
            value = aligned.load(b, (Affine(offset, 1 if lanes > 1 else 0),), lanes)
            value = as_factor(b, instruction, value, element_type, lanes)
            return lane_values(b, value)

        def combine(one: list[RegisterValue], other: list[RegisterValue], lanes: int) -> list[RegisterValue]:
            return [add(b, result, *pair) for pair in zip(one, other)]

        def finish(line: ir.Value, part: ir.Value, totals: list[RegisterValue]) -> None:
            for number, (offsets, total) in enumerate(zip(of_vectors, totals)):
                if not has_parts:
                    start = offsets_of(b, narrow(b, line, batches * count), product.batch + lines)
                    place = b.add(start[2], I64(offsets[2]))
                elif side == 0:
                    place = b.add(b.mul(line, I64(few)), I64(number))
                else:
                    batch, within = b.udiv(line, I64(count)), b.urem(line, I64(count))
                    place = b.add(b.mul(batch, I64(count * few)), b.add(within, I64(number * count)))
                if has_parts:
                    place = b.add(place, b.mul(part, I64(batches * rows * columns)))
                results.store(b, bindings[2:], arrays, place, total)

        scalars = [Shape(sum_type(result), ())] * few
        reduce_in_teams(kernel, teams, scalars, element, combine, finish)

    key = (product, result, teams, lanes, has_parts, results.key)
    frame.launch("vector_product", key, [*operands, *results.inputs], results.outputs, teams.grid, write, instruction.source)
