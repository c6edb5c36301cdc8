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
from .arithmetic import constant, multiply_add
from .fourier_plan import LARGEST_UNROLLED, radices
from .index import Base, i64, least
from .loops import carried_loop, counted_loop
from .types import I8, I64, ComplexValue, broadcast_lanes, memory_type, vector_of

# Of a large radix the values at so many frequencies, and their opposites, are summed up at once: they stay in registers.
FREQUENCIES = 4


def complex_product(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    b = builder
    real = multiply_add(b, b.fneg(x.imag), y.imag, b.fmul(x.real, y.real))
    return ComplexValue(real, multiply_add(b, x.imag, y.real, b.fmul(x.real, y.imag)))


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

        if radix > LARGEST_UNROLLED:
            self._long_steps(radix, source, target, roots, remaining, done)
            return [target, source, self._behind(roots, radix, remaining), remaining, b.mul(done, I64(radix))]

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
        return [target, source, self._behind(roots, radix, remaining), remaining, b.mul(done, I64(radix))]

    def _behind(self, roots: ir.Value, radix: int, remaining: ir.Value) -> ir.Value:
        """Where the next step's roots lie."""
        b = self.builder
        used = b.add(b.mul(remaining, I64(2 * (radix - 1))), I64(2 * radix if radix > LARGEST_UNROLLED else 0))
        return b.gep(roots, [used], source_etype=self.scalar)

    def _long_steps(
        self, radix: int, source: ir.Value, target: ir.Value, roots: ir.Value, remaining: ir.Value, done: ir.Value
    ) -> None:
        """As a step of a small radix, in loops over the elements and the frequencies instead of code for each of them.

        The sums and the differences of the elements k and -k take the places of these, which nothing reads any more.
        """
        b, half = self.builder, radix // 2
        distance = b.mul(done, remaining)
        factors = b.gep(roots, [b.mul(remaining, I64(2 * (radix - 1)))], source_etype=self.scalar)

        def one(p: ir.Value, nothing: list) -> list:
            first, place = b.mul(done, p), b.mul(done, b.mul(p, I64(radix)))

            def butterfly(q: ir.Value, nothing: list) -> list:
                start, into = b.add(q, first), b.add(q, place)

                def at(number: ir.Value) -> ir.Value:
                    return b.add(start, b.mul(distance, number))

                def pair(k: ir.Value, carried: list) -> list:
                    near, far = at(k), at(b.sub(I64(radix), k))
                    x, y = self._read(source, near), self._read(source, far)
                    total = _sum(b, x, y)
                    self._write(source, near, total)
                    self._write(source, far, _difference(b, x, y))
                    return list(_sum(b, ComplexValue(*carried), total))

                zeroth = self._read(source, start)
                total = carried_loop(b, 1, half + 1, 1, list(zeroth), pair, "pairs")
                self._write(target, into, ComplexValue(*total))
                with counted_loop(b, -(-half // FREQUENCIES), "frequencies") as number:
                    # The last ones overlap those before them.
                    lowest = least(b, b.add(b.mul(i64(number), I64(FREQUENCIES)), I64(1)), half + 1 - FREQUENCIES)
                    js = [b.add(lowest, I64(offset)) for offset in range(FREQUENCIES)]
                    for j, value, opposite in zip(js, *self._frequencies(radix, source, at, factors, zeroth, js)):
                        for frequency, one in ((j, value), (b.sub(I64(radix), j), opposite)):
                            turned = complex_product(b, one, self._turn(roots, p, radix, frequency))
                            self._write(target, b.add(into, b.mul(done, frequency)), turned)
                return nothing

            carried_loop(b, I64(0), done, 1, [], butterfly, "butterfly", most=max(1, self.length // radix))
            return nothing

        carried_loop(b, I64(0), remaining, 1, [], one, "turn", most=1)

    def _frequencies(
        self,
        radix: int,
        source: ir.Value,
        at: Callable[[ir.Value], ir.Value],
        factors: ir.Value,
        zeroth: ComplexValue,
        js: list[ir.Value],
    ) -> tuple[list[ComplexValue], list[ComplexValue]]:
        """The values at frequencies j and -j, of the sums and the differences of pairs; ``factors`` are the radix's roots."""
        b, count = self.builder, len(js)
        zero = constant(self.vector, 0.0)

        def add(k: ir.Value, carried: list) -> list:
            exponents, sums = carried[:count], carried[count:]
            both = self._read(source, at(k)), self._read(source, at(b.sub(I64(radix), k)))
            found, following = [], []
            for number, (j, exponent) in enumerate(zip(js, exponents)):
                cosine, sine = self._root(factors, exponent)
                parts = [(both[0], cosine, part) for part in (0, 1)] + [(both[1], sine, part) for part in (0, 1)]
                found += [
                    multiply_add(b, one[part], factor, sums[4 * number + n]) for n, (one, factor, part) in enumerate(parts)
                ]
                raised = b.add(exponent, j)
                over = b.icmp_unsigned(">=", raised, I64(radix))
                following.append(b.select(over, b.sub(raised, I64(radix)), raised))
            return [*following, *found]

        begin = [*js, *[value for _ in js for value in (*zeroth, zero, zero)]]
        sums = carried_loop(b, 1, radix // 2 + 1, 1, begin, add, "frequency")[count:]
        cosines = [ComplexValue(*sums[4 * n : 4 * n + 2]) for n in range(count)]
        sines = [self._quarter_turned(ComplexValue(*sums[4 * n + 2 : 4 * n + 4])) for n in range(count)]
        pairs = list(zip(cosines, sines))
        return [_sum(b, *pair) for pair in pairs], [_difference(b, *pair) for pair in pairs]

    def _root(self, factors: ir.Value, exponent: ir.Value) -> list[ir.Value]:
        """The cosine and the sine of an angle, in all lanes."""
        b, place = self.builder, self.builder.mul(exponent, I64(2))
        parts = [b.load(b.gep(factors, [b.add(place, I64(k))], source_etype=self.scalar), typ=self.scalar) for k in (0, 1)]
        return [broadcast_lanes(b, part, self.lanes) for part in parts]

    def _turn(self, roots: ir.Value, p: ir.Value, radix: int, j: Base) -> ComplexValue:
        b = self.builder
        place = b.add(b.mul(p, I64(2 * (radix - 1))), b.mul(b.sub(i64(j), I64(1)), I64(2)))
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
                total = ComplexValue(
                    multiply_add(b, value.real, number, total.real), multiply_add(b, value.imag, number, total.imag)
                )
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
