"""The region of Fourier transforms: complex, along the last dimension, of lengths with small factors.

A *column* is a signal whose elements are vectors: each lane transforms a signal of its own. Where there are many signals, lanes
take one each. A single long one is laid out as a table of rows and columns: its columns are transformed, multiplied by roots of
unity, and then its rows are, both by several threads where there is no other signal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from ....compile.expansion.fourier_tables import LONGEST
from ....hlo import C64, C128, Instruction, Shape, component_type
from ...llvm.arithmetic import constant
from ...llvm.arrays import Array
from ...llvm.fourier_butterflies import complex_product
from ...llvm.fourier_column import FourierColumn
from ...llvm.fourier_plan import LARGEST_UNROLLED, has_small_factors, rows_and_columns, step_roots, table_roots
from ...llvm.index import Affine, Base, Component, least, multiply_base
from ...llvm.loops import counted_loop
from ...llvm.pieces import independent_loop
from ...llvm.types import I8, I64, ComplexValue, register_bytes
from ..nest_samples import samples
from ..nests import EmitNest, Nest, always, emits_nest
from ..target import WIDEST_VECTOR_BYTES
from ..vectors import Loop, whole_lanes

# Longer signals are transformed as tables of rows and columns: the same elements of many long signals may lie in so few sets of
# the cache that they drive each other out.
LONGEST_COLUMN = 128
# Single signals up to this long are transformed without vectors.
_SHORT = 32
# Shorter signals are transformed by one thread.
_LEAST_DIVIDED = 1 << 14
# Of fewer signals, of a prime length, a convolution is quicker from smaller primes on.
_FEW, _LARGEST_OF_FEW = 4, 61


def is_native(fft: Instruction) -> bool:
    """Whether a transform is complex, along the last dimension, and of a length of small factors."""
    shape, (*others, length) = fft.shape, fft.attributes["fft_length"]
    if fft.attributes["fft_type"] not in ("FFT", "IFFT") or others or not (shape.size and 0 < length <= LONGEST):
        return False
    if shape.element_type not in (C64, C128) or not has_small_factors(length):
        return False
    layout = layout_of(fft)
    return layout.rows > 1 or layout.signals >= _FEW or length <= _LARGEST_OF_FEW or has_small_factors(length, LARGEST_UNROLLED)


class Layout(NamedTuple):
    """How signals are transformed: as columns, or each as a table of rows and columns (1 row: as columns)."""

    signals: int
    length: int
    rows: int
    columns: int

    @property
    def has_one_table(self) -> bool:
        """Whether the columns of one signal's table are transformed by several threads, and then its rows are."""
        return self.rows > 1 and self.signals == 1 and self.length >= _LEAST_DIVIDED


def layout_of(fft: Instruction) -> Layout:
    *others, length = fft.shape.dimensions
    signals = prod(others)
    rows, columns = rows_and_columns(length)
    few = signals < WIDEST_VECTOR_BYTES // fft.shape.element_type.byte_size and length > _SHORT
    if rows == 1 or not few and length <= LONGEST_COLUMN:
        rows, columns = 1, length
    return Layout(signals, length, rows, columns)


def tables(fft: Instruction) -> list[np.ndarray]:
    """The numbers that the code reads: roots for the columns' steps, for the rows', and for the table between them."""
    layout, inverse = layout_of(fft), _is_inverse(fft)
    dtype = component_type(fft.shape.element_type).dtype
    if layout.rows == 1:
        return [step_roots(layout.length, inverse, dtype)]
    return [
        step_roots(layout.rows, inverse, dtype),
        step_roots(layout.columns, inverse, dtype),
        table_roots(layout.rows, layout.columns, inverse, dtype),
    ]


def scratch_bytes(fft: Instruction) -> int:
    """Memory for a column of vectors, twice, and for a table."""
    layout = layout_of(fft)
    return _column_bytes(layout) + (layout.rows > 1) * layout.length * fft.shape.element_type.byte_size


def own_bytes(fft: Instruction) -> int:
    """What each thread needs of that for itself: without the table of a single signal, which threads have in common."""
    layout = layout_of(fft)
    return _column_bytes(layout) if layout.has_one_table else scratch_bytes(fft)


def _column_bytes(layout: Layout) -> int:
    longest = layout.length if layout.rows == 1 else max(layout.rows, layout.columns)
    return 4 * longest * WIDEST_VECTOR_BYTES


def _columns_before(fft: Instruction) -> list[EmitNest]:
    """What transforms the columns of a single table."""
    layout = layout_of(fft)
    return [lambda nest: _Table(nest, layout).emit_columns(0, independent_loop)] if layout.has_one_table else []


@samples(
    """
    x = c64[13,60] parameter(0)
    ROOT y = c64[13,60] fft(x), fft_type=FFT, fft_length={60}
    """,
    # A table of rows and columns.
    """
    x = c64[3,286] parameter(0)
    ROOT y = c64[3,286] fft(x), fft_type=IFFT, fft_length={286}
    """,
    # One by several threads.
    """
    x = c64[16500] parameter(0)
    ROOT y = c64[16500] fft(x), fft_type=IFFT, fft_length={16500}
    """,
    # Radices whose steps are loops.
    """
    x = c64[13,34] parameter(0)
    ROOT y = c64[13,34] fft(x), fft_type=IFFT, fft_length={34}
    """,
    """
    x = c64[437] parameter(0)
    ROOT y = c64[437] fft(x), fft_type=FFT, fft_length={437}
    """,
    """
    x = c64[7] parameter(0)
    ROOT y = c64[7] fft(x), fft_type=IFFT, fft_length={7}
    """,
    tolerance=1e-6,
)
@samples(
    """
    x = c128[2,1024] parameter(0)
    ROOT y = c128[2,1024] fft(x), fft_type=FFT, fft_length={1024}
    """,
    tolerance=1e-14,
)
@emits_nest(
    "fft",
    scratch=scratch_bytes,
    own=own_bytes,
    tables=tables,
    is_native=is_native,
    divides=always,
    before=_columns_before,
)
def emit_fourier(nest: Nest) -> None:
    """Transform the operand into the output."""
    layout = layout_of(nest.instruction)
    if layout.rows == 1:
        _emit_columns(nest, layout)
    elif layout.has_one_table:
        _Table(nest, layout).emit_rows(0, independent_loop)
    else:
        table = _Table(nest, layout)
        with independent_loop(nest.builder, layout.signals, "signal") as signal:
            table.emit_columns(signal, counted_loop)
            table.emit_rows(signal, counted_loop)


def _emit_columns(nest: Nest, layout: Layout) -> None:
    """All signals as columns."""
    b, (operand,), (output,), inverse = nest.builder, nest.operands, nest.outputs, _is_inverse(nest.instruction)
    real, sizes = component_type(nest.instruction.shape.element_type), (layout.signals, layout.length)
    source, result = _viewed(operand, sizes), _viewed(output, sizes)
    halves = _halves(b, nest.own, layout.length)
    with _lane_groups(b, layout.signals, nest.target.lanes(register_bytes(real)), independent_loop) as (first, lanes):
        column = FourierColumn(b, real, lanes, layout.length, inverse, halves, nest.tables[0])
        signal = _lanes_from(first, lanes)
        column.transform(
            lambda position: source.load(b, (signal, Affine(position)), lanes),
            lambda position, value: result.store(b, (signal, Affine(position)), _scaled(b, value, layout, inverse), lanes),
        )


class _Table:
    """Signals that are tables of rows and columns, one after the other in the same memory."""

    def __init__(self, nest: Nest, layout: Layout) -> None:
        self.builder, self.layout, self.own, self.roots = nest.builder, layout, nest.own, nest.tables
        (operand,), (output,), rows, columns = nest.operands, nest.outputs, layout.rows, layout.columns
        self.inverse, self.real = _is_inverse(nest.instruction), component_type(nest.instruction.shape.element_type)
        self.widest = nest.target.lanes(register_bytes(self.real))
        self.source = _viewed(operand, (layout.signals, rows, columns))
        self.result = _viewed(output, (layout.signals, columns, rows))
        memory = nest.scratch
        if not layout.has_one_table:
            memory = nest.builder.gep(nest.own, [I64(_column_bytes(layout))], source_etype=I8)
        self.table = Array(memory, Shape(self.real, (2, rows, columns)))
        self.turns = Array(self.roots[2], Shape(self.real, (2, rows, columns)))

    def _transform(self, lanes: int, length: int, roots: ir.Value) -> FourierColumn:
        return FourierColumn(
            self.builder, self.real, lanes, length, self.inverse, _halves(self.builder, self.own, length), roots
        )

    def emit_columns(self, signal: Base, loop: Loop) -> None:
        """From the signal into the table; each frequency of each column is turned."""
        b, rows = self.builder, self.layout.rows
        with _lane_groups(b, self.layout.columns, self.widest, loop) as (first, lanes):
            place = _lanes_from(first, lanes)

            def keep(frequency: Base, value: ComplexValue) -> None:
                index = (Affine(frequency), place)
                turn = ComplexValue(*(self.turns.load(b, (Affine(part), *index), lanes) for part in (0, 1)))
                for part, number in enumerate(complex_product(b, value, turn)):
                    self.table.store(b, (Affine(part), *index), number, lanes)

            self._transform(lanes, rows, self.roots[0]).transform(
                lambda position: self.source.load(b, (Affine(signal), Affine(position), place), lanes), keep
            )

    def emit_rows(self, signal: Base, loop: Loop) -> None:
        """From the table into the result."""
        b, table = self.builder, self.table
        with _lane_groups(b, self.layout.rows, self.widest, loop) as (first, lanes):
            row = _lanes_from(first, lanes)
            self._transform(lanes, self.layout.columns, self.roots[1]).transform(
                lambda position: ComplexValue(
                    *(table.load(b, (Affine(part), row, Affine(position)), lanes) for part in (0, 1))
                ),
                lambda frequency, value: self.result.store(
                    b, (Affine(signal), Affine(frequency), row), _scaled(b, value, self.layout, self.inverse), lanes
                ),
            )


def _is_inverse(fft: Instruction) -> bool:
    return fft.attributes["fft_type"] == "IFFT"


def _halves(builder: ir.IRBuilder, memory: ir.Value, length: int) -> tuple[ir.Value, ir.Value]:
    return memory, builder.gep(memory, [I64(2 * length * WIDEST_VECTOR_BYTES)], source_etype=I8)


def _viewed(array: Array, sizes: tuple[int, ...]) -> Array:
    return Array(array.pointer, Shape(array.shape.element_type, sizes))


@contextmanager
def _lane_groups(builder: ir.IRBuilder, size: int, widest: int, loop: Loop) -> Iterator[tuple[Base, int]]:
    """A loop over groups of lanes that cover a dimension: the first index and the number of lanes.

    The last group overlaps the one before it where the size is no multiple.
    """
    lanes = whole_lanes(widest, size)
    with loop(builder, -(-size // lanes), "lanes") as number:
        start = multiply_base(builder, number, lanes)
        yield (start if size % lanes == 0 else least(builder, start, size - lanes)), lanes


def _lanes_from(first: Base, lanes: int) -> Component:
    return Affine(first, int(lanes > 1))


def _scaled(builder: ir.IRBuilder, value: ComplexValue, layout: Layout, inverse: bool) -> ComplexValue:
    if not inverse or layout.length == 1:
        return value
    factor = constant(value.real.type, 1 / layout.length)
    return ComplexValue(builder.fmul(value.real, factor), builder.fmul(value.imag, factor))
