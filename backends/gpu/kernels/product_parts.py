"""Products whose terms are divided: where there are too few tiles of the result to keep a device busy.

Each part of the terms gives sums for all of the result; a second kernel adds these up, in order. How many parts there are
depends on sizes alone: results are the same from run to run.
"""

from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from ....hlo import Instruction, Shape
from ...llvm.arrays import Array
from ...llvm.elemental import Binding
from ...llvm.index import Affine
from ...llvm.types import I64, RegisterValue
from .. import choices
from ..frame import Frame
from ..kernel import Kernel
from ..values import Stored
from .epilogue import Results
from .product import Product, add, narrow, offsets_of, sum_type
from .reduction import reduce_in_teams, teams_for
from .vector_product import is_vector_product, teams_of_vectors

_SIDE = 128  # of a tile


def parts_for(product: Product, operands: tuple[Shape, Shape], result: Shape) -> int:
    """Into how many parts the terms are divided."""
    batches, rows, columns, terms = product.sizes
    if not terms:
        return 1
    if is_vector_product(product, operands):
        return teams_of_vectors(product, operands)[0].parts
    tiles = batches * -(-rows // _SIDE) * -(-columns // _SIDE)
    size = batches * rows * columns * sum_type(result.element_type).byte_size
    return max(1, min(choices.BUSY_TILES // tiles, terms // choices.LEAST_TERMS_OF_PART, choices.MOST_BYTES_OF_PARTS // size))


def parts_shape(product: Product, parts: int, result: Shape) -> Shape:
    """The sums of all parts, those of a part side by side."""
    batches, rows, columns, _ = product.sizes
    return Shape(sum_type(result.element_type), (parts * batches * rows * columns,))


def launch_sum_of_parts(
    frame: Frame, instruction: Instruction, product: Product, parts: int, sums: Stored, results: Results
) -> None:
    """Add up the parts' sums."""
    batches, rows, columns, _ = product.sizes
    result, count = results.element_type, batches * rows * columns
    teams = replace(teams_for(count, parts, across=True), parts=1)
    axes = product.batch + product.rows + product.columns

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b = kernel.builder
        kernel.is_plain = True

        def element(number: ir.Value, part: ir.Value) -> list[RegisterValue]:
            return [bindings[0].load(b, (Affine(b.add(b.mul(part, I64(count)), number)),), 1)]

        def combine(one: list[RegisterValue], other: list[RegisterValue], lanes: int) -> list[RegisterValue]:
            return [add(b, result, one[0], other[0])]

        def finish(number: ir.Value, part: ir.Value, totals: list[RegisterValue]) -> None:
            place = offsets_of(b, narrow(b, number, count), axes)[2]
            results.store(b, bindings[1:], arrays, place, totals[0])

        reduce_in_teams(kernel, teams, [Shape(sum_type(result), ())], element, combine, finish)

    key = (product, teams, results.key)
    frame.launch("product_parts", key, [sums, *results.inputs], results.outputs, teams.grid, write, instruction.source)
