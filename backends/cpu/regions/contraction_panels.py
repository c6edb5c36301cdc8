"""Panels: columns of a right operand, copied to where they lie in one piece, by functions that all programs have in common."""

from __future__ import annotations

from math import prod

from llvmlite import ir

from ....compile.contraction import Contraction
from ....hlo import S8, U8, ElementType, Shape
from ...llvm import index as indices
from ...llvm.arrays import View
from ...llvm.builder import Builder
from ...llvm.index import Affine
from ...llvm.loops import carried_loop
from ...llvm.module import SharedFunction, align_stack, declared
from ...llvm.types import RegisterValue
from ..call_tables import CALLED, Called, number_of
from ..nest_samples import samples
from ..target import WIDEST_VECTOR_BYTES
from .contraction_terms import term_chunks

# A right operand larger than this does not stay in the first-level cache; packing it pays if so many rows use it.
_PACKED_BYTES = 24 << 10
_PACKED_ROWS = 16
_WIDEST_BLOCK = 4  # vectors
# For a vector of columns: what loads and stores it, and the addresses.
_INSTRUCTIONS_OF_COPY = 6


def panel_bytes(contraction: Contraction) -> int:
    """Memory for the panel of packed columns; 0 where packing does not pay."""
    c = contraction
    operand_bytes = c.term_count * c.column_count * c.rhs.element_type.byte_size
    is_small = operand_bytes <= _PACKED_BYTES and not _are_bytes(c)
    if c.row_count < _PACKED_ROWS or is_small or c.column_count < WIDEST_VECTOR_BYTES:
        return 0
    return prod(term_chunks(c).sizes) * _WIDEST_BLOCK * WIDEST_VECTOR_BYTES


def _are_bytes(contraction: Contraction) -> bool:
    """Whether instructions may take several terms at once, which have to lie side by side (contraction_bytes.py)."""
    return all(shape.element_type in (S8, U8) for shape in (contraction.lhs, contraction.rhs))


@samples(
    """
    x = f32[17,300] parameter(0)
    y = f32[300,90] parameter(1)
    ROOT dot = f32[17,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    """,
    """
    x = c64[16,70] parameter(0)
    y = c64[70,68] parameter(1)
    ROOT dot = c64[16,68] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    """,
)
def copying(module: ir.Module, count: int, lanes: int, element_type: ElementType, step: int, most: int) -> Called:
    """What copies columns that lie side by side, so many vectors of so many lanes, into a panel, term by term.

    step: how far a term lies behind the one before. most: how many terms there are at most.
    """
    name = f"phlox.pack.{count}x{lanes}.{element_type}"
    shared = SharedFunction(name, CALLED, lambda function: _define(function, count, lanes, element_type))
    return Called(declared(module, shared), (step,), _INSTRUCTIONS_OF_COPY * count * most)


def _define(function: ir.Function, count: int, lanes: int, element_type: ElementType) -> None:
    align_stack(function, WIDEST_VECTOR_BYTES)
    b = Builder(function.append_basic_block("entry"))
    source, panel, _, numbers, terms, _ = function.args
    step = number_of(b, numbers, 0)
    read, written = (View(pointer, Shape(element_type, (1,)), (1,)) for pointer in (source, panel))

    def copy_term(term: ir.Value, _: list[RegisterValue]) -> list[RegisterValue]:
        first, place = b.mul(term, step), indices.multiply_base(b, term, count * lanes)
        for offset in range(0, count * lanes, lanes):
            at, to = ((Affine(indices.add_base(b, base, offset), int(lanes > 1)),) for base in (first, place))
            written.store(b, to, read.load(b, at, lanes), lanes)
        return []

    carried_loop(b, 0, terms, 1, [], copy_term, "terms", runs=True)
    b.ret_void()
