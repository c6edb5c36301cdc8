"""The Fourier transform of a column: a signal whose elements are vectors, of which each lane transforms a signal of its own.

Source: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965); the steps leave the
frequencies in order, as Stockham's do (Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992, 1.7).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from math import cos, pi, sin

from llvmlite import ir

from ...hlo import ElementType
from .arithmetic import constant, fma
from .fourier_plan import radices
from .index import Base, i64
from .loops import carried_loop, counted_loop
from .types import I8, I64, ComplexValue, broadcast_lanes, memory_type, vector_of


def complex_product(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    b = builder
    real = fma(b, b.fneg(x.imag), y.imag, b.fmul(x.real, y.real))
    return ComplexValue(real, fma(b, x.imag, y.real, b.fmul(x.real, y.imag)))


def _sum(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    return ComplexValue(builder.fadd(x.real, y.real), builder.fadd(x.imag, y.imag))


def _difference(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    return ComplexValue(builder.fsub(x.real, y.real), builder.fsub(x.imag, y.imag))


class FourierColumn:
    """One transform of vectors. Its elements lie in the two memories in turn, as pairs of vectors, real and imaginary."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        element_type: ElementType,
        lanes: int,
        length: int,
        inverse: bool,
        memory: tuple[ir.Value, ir.Value],
        roots: ir.Value,
    ) -> None:
        self.builder, self.length, self.inverse = builder, length, inverse
        self.scalar = memory_type(element_type)
        self.vector = vector_of(self.scalar, lanes)
        self.lanes, self.bytes = lanes, lanes * element_type.byte_size
        self.memory, self.roots = memory, roots

    def transform(self, load: Callable[[Base], ComplexValue], store: Callable[[Base, ComplexValue], None]) -> None:
        """Transform the elements that ``load(position)`` gives; ``store(frequency, value)`` takes the results."""
        b, length = self.builder, self.length
        source, target = self.memory
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
                    turned = complex_product(b, value, turns[j - 1]) if j else value
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
