"""The region of Fourier transforms: complex, along the last dimension, of lengths with small factors.

A *column* is a signal whose elements are vectors: each lane transforms a signal of its own. Where there are many signals, lanes
take one each. A single long one is laid out as a table of rows and columns: its columns are transformed, multiplied by roots of
unity, and then its rows are. Source: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series"
(1965); the steps leave the frequencies in order, as Stockham's do (Van Loan, "Computational Frameworks for the Fast Fourier
Transform", 1992, 1.7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from math import cos, pi, prod, sin
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from ....hlo import ElementType, Instruction, Shape, component_type
from ...llvm.arithmetic import constant, fma
from ...llvm.arrays import Array
from ...llvm.index import Affine, Base, Component, i64, least, multiply_base
from ...llvm.loops import carried_loop, counted_loop
from ...llvm.types import I8, I64, ComplexValue, broadcast_lanes, memory_type, register_bytes, vector_of
from ..nests import Nest, emits_nest
from ..target import WIDEST_VECTOR_BYTES
from ..vectors import whole_lanes
from .fourier_plan import LONGEST_COLUMN, is_native, radices, rows_and_columns, step_roots, table_roots

# Single signals up to this long are transformed without vectors.
_SHORT = 32


class Layout(NamedTuple):
    """How signals are transformed: as columns, or each as a table of rows and columns (1 row: as columns)."""

    signals: int
    length: int
    rows: int
    columns: int


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
    layout, inverse = layout_of(fft), fft.attributes["fft_type"] == "IFFT"
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


def _column_bytes(layout: Layout) -> int:
    longest = layout.length if layout.rows == 1 else max(layout.rows, layout.columns)
    return 4 * longest * WIDEST_VECTOR_BYTES


@emits_nest("fft", scratch=scratch_bytes, tables=tables, is_native=is_native)
def emit_fourier(nest: Nest) -> None:
    """Transform the operand into the output."""
    builder, target, fft, scratch, roots = nest.builder, nest.target, nest.instruction, nest.scratch, nest.tables
    (operand,), (output,) = nest.operands, nest.outputs
    b, layout, inverse = builder, layout_of(fft), fft.attributes["fft_type"] == "IFFT"
    real = component_type(fft.shape.element_type)
    widest = target.lanes(register_bytes(real))
    scale = 1 / layout.length if inverse else 1.0
    if layout.rows == 1:
        sizes = (layout.signals, layout.length)
        source, result = _viewed(operand, sizes), _viewed(output, sizes)
        with _lane_groups(b, layout.signals, widest) as (first, lanes):
            column = _Column(b, real, lanes, layout.length, inverse, scratch, roots[0])
            signal = _lanes_from(first, lanes)
            column.transform(
                lambda position: source.load(b, (signal, Affine(position)), lanes),
                lambda position, value: result.store(b, (signal, Affine(position)), _scaled(b, value, scale), lanes),
            )
        return
    rows, columns = layout.rows, layout.columns
    source, result = _viewed(operand, (layout.signals, rows, columns)), _viewed(output, (layout.signals, columns, rows))
    memory = b.gep(scratch, [I64(_column_bytes(layout))], source_etype=I8)
    table = Array(memory, Shape(real, (2, rows, columns)))
    turns = Array(roots[2], Shape(real, (2, rows, columns)))
    with counted_loop(b, layout.signals, "signal") as signal:
        with _lane_groups(b, columns, widest) as (first, lanes):
            place = _lanes_from(first, lanes)

            def keep(frequency: Base, value: ComplexValue) -> None:
                index = (Affine(frequency), place)
                turn = ComplexValue(*(turns.load(b, (Affine(part), *index), lanes) for part in (0, 1)))
                for part, number in enumerate(_product(b, value, turn)):
                    table.store(b, (Affine(part), *index), number, lanes)

            _Column(b, real, lanes, rows, inverse, scratch, roots[0]).transform(
                lambda position: source.load(b, (Affine(signal), Affine(position), place), lanes), keep
            )
        with _lane_groups(b, rows, widest) as (first, lanes):
            row = _lanes_from(first, lanes)
            _Column(b, real, lanes, columns, inverse, scratch, roots[1]).transform(
                lambda position: ComplexValue(
                    *(table.load(b, (Affine(part), row, Affine(position)), lanes) for part in (0, 1))
                ),
                lambda frequency, value: result.store(
                    b, (Affine(signal), Affine(frequency), row), _scaled(b, value, scale), lanes
                ),
            )


def _viewed(array: Array, sizes: tuple[int, ...]) -> Array:
    return Array(array.pointer, Shape(array.shape.element_type, sizes))


@contextmanager
def _lane_groups(builder: ir.IRBuilder, size: int, widest: int) -> Iterator[tuple[Base, int]]:
    """A loop over groups of lanes that cover a dimension: the first index and the number of lanes.

    The last group overlaps the one before it where the size is no multiple.
    """
    lanes = whole_lanes(widest, size)
    with counted_loop(builder, -(-size // lanes), "lanes") as number:
        start = multiply_base(builder, number, lanes)
        yield (start if size % lanes == 0 else least(builder, start, size - lanes)), lanes


def _lanes_from(first: Base, lanes: int) -> Component:
    return Affine(first, int(lanes > 1))


def _scaled(builder: ir.IRBuilder, value: ComplexValue, scale: float) -> ComplexValue:
    if scale == 1.0:
        return value
    factor = constant(value.real.type, scale)
    return ComplexValue(builder.fmul(value.real, factor), builder.fmul(value.imag, factor))


def _product(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    b = builder
    real = fma(b, b.fneg(x.imag), y.imag, b.fmul(x.real, y.real))
    return ComplexValue(real, fma(b, x.imag, y.real, b.fmul(x.real, y.imag)))


def _sum(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    return ComplexValue(builder.fadd(x.real, y.real), builder.fadd(x.imag, y.imag))


def _difference(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    return ComplexValue(builder.fsub(x.real, y.real), builder.fsub(x.imag, y.imag))


class _Column:
    """One transform of vectors. Its elements lie in scratch memory as pairs of vectors, real and imaginary."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        element_type: ElementType,
        lanes: int,
        length: int,
        inverse: bool,
        scratch: ir.Value,
        roots: ir.Value,
    ) -> None:
        self.builder, self.length, self.inverse = builder, length, inverse
        self.scalar = memory_type(element_type)
        self.vector = vector_of(self.scalar, lanes)
        self.lanes, self.bytes = lanes, lanes * element_type.byte_size
        self.scratch, self.roots = scratch, roots

    def transform(self, load: Callable[[Base], ComplexValue], store: Callable[[Base, ComplexValue], None]) -> None:
        """Transform the elements that ``load(position)`` gives; ``store(frequency, value)`` takes the results."""
        b, length = self.builder, self.length
        source = self.scratch
        target = b.gep(self.scratch, [I64(2 * length * WIDEST_VECTOR_BYTES)], source_etype=I8)
        with counted_loop(b, length, "load") as position:
            self._write(source, position, load(position))
        state = [source, target, self.roots, I64(length), I64(1)]
        for radix, steps in groupby(radices(length)):
            state = carried_loop(
                b, 0, len(list(steps)), 1, state, lambda number, state, radix=radix: self._step(radix, *state), f"radix.{radix}"
            )
        result = state[0]
        with counted_loop(b, length, "store") as frequency:
            store(frequency, self._read(result, frequency))

    def _step(
        self, radix: int, source: ir.Value, target: ir.Value, roots: ir.Value, rest: ir.Value, done: ir.Value
    ) -> list[ir.Value]:
        """Split signals of length ``rest`` into ``radix`` shorter ones; ``done`` is the product of the radices before."""
        b = self.builder
        remaining = b.udiv(rest, I64(radix))
        distance = b.mul(done, remaining)

        def one(p: ir.Value, nothing: list) -> list:
            turns = [self._turn(roots, p, radix, j) for j in range(1, radix)]
            first, place = b.mul(done, p), b.mul(done, b.mul(p, I64(radix)))

            def butterfly(q: ir.Value, nothing: list) -> list:
                start = b.add(q, first)
                inputs = [self._read(source, b.add(start, b.mul(distance, I64(k)))) for k in range(radix)]
                into = b.add(q, place)
                outputs = self._butterfly(inputs)
                for j, value in enumerate(outputs):
                    turned = _product(b, value, turns[j - 1]) if j else value
                    self._write(target, b.add(into, b.mul(done, I64(j))), turned)
                return nothing

            carried_loop(b, I64(0), done, 1, [], butterfly, "butterfly", most=self.length // radix)
            return nothing

        carried_loop(b, I64(0), remaining, 1, [], one, "turn", most=1)
        used = b.mul(remaining, I64(2 * (radix - 1)))
        following = b.gep(roots, [used], source_etype=self.scalar)
        return [target, source, following, remaining, b.mul(done, I64(radix))]

    def _turn(self, roots: ir.Value, p: ir.Value, radix: int, j: int) -> ComplexValue:
        b = self.builder
        place = b.add(b.mul(p, I64(2 * (radix - 1))), I64(2 * (j - 1)))
        parts = (b.load(b.gep(roots, [b.add(place, I64(k))], source_etype=self.scalar), typ=self.scalar) for k in (0, 1))
        return ComplexValue(*(broadcast_lanes(b, part, self.lanes) for part in parts))

    def _butterfly(self, x: list[ComplexValue]) -> list[ComplexValue]:
        """The transform of a few elements."""
        b = self.builder
        if len(x) == 2:
            return [_sum(b, *x), _difference(b, *x)]
        if len(x) == 4:
            even, odd = (_sum(b, x[k], x[k + 2]) for k in (0, 1))
            even_difference = _difference(b, x[0], x[2])
            odd_difference = self._quarter_turned(_difference(b, x[1], x[3]))
            return [
                _sum(b, even, odd),
                _sum(b, even_difference, odd_difference),
                _difference(b, even, odd),
                _difference(b, even_difference, odd_difference),
            ]
        return self._odd_butterfly(x)

    def _odd_butterfly(self, x: list[ComplexValue]) -> list[ComplexValue]:
        """Elements k and -k together: cosines of their sum, sines of their difference, for frequencies j and -j at once."""
        b, radix = self.builder, len(x)
        half = radix // 2
        sums = [_sum(b, x[k], x[radix - k]) for k in range(1, half + 1)]
        differences = [_difference(b, x[k], x[radix - k]) for k in range(1, half + 1)]
        total = x[0]
        for pair in sums:
            total = _sum(b, total, pair)
        outputs = [total] * radix
        for j in range(1, half + 1):
            angles = [2 * pi * (j * k % radix) / radix for k in range(1, half + 1)]
            cosines = self._combination(x[0], sums, [cos(angle) for angle in angles])
            sines = self._quarter_turned(self._combination(None, differences, [sin(angle) for angle in angles]))
            outputs[j], outputs[radix - j] = _sum(b, cosines, sines), _difference(b, cosines, sines)
        return outputs

    def _combination(self, start: ComplexValue | None, values: list[ComplexValue], factors: list[float]) -> ComplexValue:
        b, total = self.builder, start
        for value, factor in zip(values, factors):
            number = constant(self.vector, factor)
            if total is None:
                total = ComplexValue(b.fmul(value.real, number), b.fmul(value.imag, number))
            else:
                total = ComplexValue(fma(b, value.real, number, total.real), fma(b, value.imag, number, total.imag))
        assert total is not None
        return total

    def _quarter_turned(self, x: ComplexValue) -> ComplexValue:
        """Times -i, or i for the inverse transform."""
        if self.inverse:
            return ComplexValue(self.builder.fneg(x.imag), x.real)
        return ComplexValue(x.imag, self.builder.fneg(x.real))

    def _address(self, memory: ir.Value, position: Base, part: int) -> ir.Value:
        b = self.builder
        place = b.add(b.mul(i64(position), I64(2 * self.bytes)), I64(part * self.bytes))
        return b.gep(memory, [place], source_etype=I8)

    def _read(self, memory: ir.Value, position: Base) -> ComplexValue:
        align = self.bytes // self.lanes
        return ComplexValue(
            *(self.builder.load(self._address(memory, position, part), typ=self.vector, align=align) for part in (0, 1))
        )

    def _write(self, memory: ir.Value, position: Base, value: ComplexValue) -> None:
        for part, number in enumerate(value):
            self.builder.store(number, self._address(memory, position, part), align=self.bytes // self.lanes)
