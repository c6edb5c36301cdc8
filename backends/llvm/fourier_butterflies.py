"""The Fourier transform of a few numbers in registers.

Source: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965).
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

from llvmlite import ir

from ...compile.expansion.fourier_tables import prime_factors
from .arithmetic import constant, multiply_add
from .types import ComplexValue


def complex_product(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    b = builder
    real = multiply_add(b, b.fneg(x.imag), y.imag, b.fmul(x.real, y.real))
    return ComplexValue(real, multiply_add(b, x.imag, y.real, b.fmul(x.real, y.imag)))


def complex_sum(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    return ComplexValue(builder.fadd(x.real, y.real), builder.fadd(x.imag, y.imag))


def complex_difference(builder: ir.IRBuilder, x: ComplexValue, y: ComplexValue) -> ComplexValue:
    return ComplexValue(builder.fsub(x.real, y.real), builder.fsub(x.imag, y.imag))


class Butterfly:
    """Transforms of elements that are scalars or vectors of this type."""

    def __init__(self, builder: ir.IRBuilder, vector: ir.Type, inverse: bool) -> None:
        self.builder, self.vector, self.inverse = builder, vector, inverse

    def transform(self, x: list[ComplexValue]) -> list[ComplexValue]:
        """The transform of so many elements; of a number that is no prime, by way of two factors of it."""
        b = self.builder
        if len(x) == 1:
            return x
        if len(x) == 2:
            return [complex_sum(b, *x), complex_difference(b, *x)]
        if len(x) == 4:
            even, odd = (complex_sum(b, x[k], x[k + 2]) for k in (0, 1))
            even_difference = complex_difference(b, x[0], x[2])
            odd_difference = self.quarter_turned(complex_difference(b, x[1], x[3]))
            return [
                complex_sum(b, even, odd),
                complex_sum(b, even_difference, odd_difference),
                complex_difference(b, even, odd),
                complex_difference(b, even_difference, odd_difference),
            ]
        primes = prime_factors(len(x))
        return self._odd(x) if len(primes) == 1 else self._of_factors(x, primes)

    def _of_factors(self, x: list[ComplexValue], primes: list[int]) -> list[ComplexValue]:
        """Every so many-th element is transformed, then those at the same frequency are."""
        length = len(x)
        rows = 4 if length % 4 == 0 else primes[-1]
        columns = length // rows
        transformed = [self.transform(x[column::columns]) for column in range(columns)]
        outputs: list[ComplexValue] = list(x)
        for k in range(rows):
            turned = [self._turned(transformed[column][k], column * k, length) for column in range(columns)]
            outputs[k::rows] = self.transform(turned)
        return outputs

    def _turned(self, x: ComplexValue, exponent: int, length: int) -> ComplexValue:
        """Times a root of unity."""
        b, exponent = self.builder, exponent % length
        quarters, rest = divmod(4 * exponent, length)
        if 2 * rest == length:  # an eighth behind so many quarters
            total, half = complex_sum(b, x, self.quarter_turned(x)), constant(self.vector, sqrt(0.5))
            x = ComplexValue(b.fmul(total.real, half), b.fmul(total.imag, half))
        elif rest:
            angle = 2 * pi * exponent / length
            sine = sin(angle) if self.inverse else -sin(angle)
            return complex_product(b, x, ComplexValue(constant(self.vector, cos(angle)), constant(self.vector, sine)))
        if quarters >= 2:
            x = ComplexValue(b.fneg(x.real), b.fneg(x.imag))
        return self.quarter_turned(x) if quarters % 2 else x

    def _odd(self, x: list[ComplexValue]) -> list[ComplexValue]:
        """Elements k and -k together: cosines of their sum, sines of their difference, for frequencies j and -j at once."""
        b, radix = self.builder, len(x)
        half = radix // 2
        sums = [complex_sum(b, x[k], x[radix - k]) for k in range(1, half + 1)]
        differences = [complex_difference(b, x[k], x[radix - k]) for k in range(1, half + 1)]
        total = x[0]
        for pair in sums:
            total = complex_sum(b, total, pair)
        outputs = [total] * radix
        for j in range(1, half + 1):
            angles = [2 * pi * (j * k % radix) / radix for k in range(1, half + 1)]
            cosines = self._combination(x[0], sums, [cos(angle) for angle in angles])
            sines = self.quarter_turned(self._combination(None, differences, [sin(angle) for angle in angles]))
            outputs[j], outputs[radix - j] = complex_sum(b, cosines, sines), complex_difference(b, cosines, sines)
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

    def quarter_turned(self, x: ComplexValue) -> ComplexValue:
        """Times -i, or i for the inverse transform."""
        if self.inverse:
            return ComplexValue(self.builder.fneg(x.imag), x.real)
        return ComplexValue(x.imag, self.builder.fneg(x.real))
