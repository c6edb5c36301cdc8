"""Fourier transforms as matrix products and multiplications by roots of unity.

Source of the algorithms: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965), in
steps of whole matrices (Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992); Bluestein, "A linear
filtering approach to the computation of discrete Fourier transform" (1970), for lengths with a large prime factor.

A signal is a pair of real arrays [C, n], of real and imaginary parts; a step stacks both and multiplies them by a real matrix
in which each root of unity stands as a block of 2 x 2. So all products are real ones.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ...hlo import Builder, ElementType, Instruction, component_type
from .fourier_tables import chirp, factors_of, filter_length, filter_spectrum, real_matrix, roots_of_unity
from .table import expansion


class Signal(NamedTuple):
    """Real and imaginary parts; None is an imaginary part of zeros."""

    real: Instruction
    imag: Instruction | None


@expansion("fft")
def expand_fft(b: Builder, fft: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """One transform after the other along each dimension; real signals are transformed first or last, along the last one."""
    (x,) = operands
    shape, fft_type = fft.shape.without_layout(), fft.attributes["fft_type"]
    if not shape.size:
        return b.broadcast(b.constant(0, shape.element_type), shape.dimensions, ())
    *lengths, last = fft.attributes["fft_length"]
    t = _Transforms(b, component_type(shape.element_type))
    others = list(enumerate(lengths, shape.rank - len(lengths) - 1))
    if fft_type == "RFFT":
        x = t.along_last(x, lambda signal: t.of_real(signal.real, last))
    elif fft_type != "IRFFT":
        x = t.along_last(x, lambda signal: t.transform(signal, last, fft_type == "IFFT"))
    for dimension, length in others:
        order = [d for d in range(x.shape.rank) if d != dimension] + [dimension]
        inverse = [order.index(d) for d in range(x.shape.rank)]
        x = b.emit("transpose", x, dimensions=order)
        x = t.along_last(x, lambda signal, length=length: t.transform(signal, length, fft_type in ("IFFT", "IRFFT")))
        x = b.emit("transpose", x, dimensions=inverse)
    if fft_type == "IRFFT":
        x = t.along_last(x, lambda signal: Signal(t.to_real(signal, last), None))
    return x


class _Transforms:
    """Transforms of signals whose parts have one element type."""

    def __init__(self, b: Builder, element_type: ElementType) -> None:
        self.b, self.element_type = b, element_type

    def constant(self, values: np.ndarray) -> Instruction:
        return self.b.constant(np.ascontiguousarray(values), self.element_type)

    def along_last(self, x: Instruction, transform) -> Instruction:
        """Transform an array of real or complex numbers along its last dimension; other dimensions are one."""
        b, sizes = self.b, x.shape.dimensions
        x = b.reshape(x, (prod(sizes[:-1]), sizes[-1]))
        signal = Signal(b.Real(x), b.Imag(x)) if x.shape.element_type.is_complex else Signal(x, None)
        real, imag = transform(signal)
        result = real if imag is None else b.Complex(real, imag)
        return b.reshape(result, (*sizes[:-1], result.shape.dimensions[-1]))

    # --- complex signals ---

    def transform(self, signal: Signal, length: int, inverse: bool) -> Signal:
        """The transform of [C, length], or its inverse."""
        if length == 1:
            return signal
        factors = factors_of(length)
        if factors is None:
            return self._bluestein(signal, length, inverse)
        scale = 1 / length if inverse else 1.0
        count = signal.real.shape.dimensions[0]
        if len(factors) == 1:
            matrix = real_matrix(length, inverse) * scale
            return self._parts(self._first_product(signal, length, matrix), (count, length))
        return self._in_steps(signal, factors, inverse, scale)

    def _in_steps(self, signal: Signal, factors: tuple[int, ...], inverse: bool, scale: float) -> Signal:
        """With n = f m, j = j1 m + j2, k = k1 + f k2: sums over j1 for each k1, roots of unity w^(j2 k1), transforms over j2.

        The first step leaves k1 last; the others put what they have computed in front of what comes after it, so that the
        frequencies stand in order at the end: the last factor's first, k1 last.
        """
        b = self.b
        count, length = signal.real.shape.dimensions
        first, *middle, last = factors
        rest = length // first
        product = self._first_product(signal, first, real_matrix(first, inverse))  # [C, rest, 2, first]
        roots = roots_of_unity(length, np.outer(np.arange(rest), np.arange(first)), inverse)
        real, imag = self._turned(self._parts(product, (count, rest, first)), roots, (1, 2))
        real, imag = (b.emit("transpose", part, dimensions=(1, 0, 2)) for part in (real, imag))
        columns, done = count * first, []  # of all that has been transformed
        for factor in middle:
            after = rest // factor
            stacked = self._stacked(Signal(real, imag), (factor, after * columns))
            product = self._product(real_matrix(factor, inverse), stacked)  # [2, factor, after * columns]
            roots = roots_of_unity(rest, np.outer(np.arange(factor), np.arange(after)), inverse)
            parts = self._turned(self._first_parts(product, (factor, after, columns)), roots, (0, 1))
            real, imag = (b.emit("transpose", part, dimensions=(1, 0, 2)) for part in parts)
            rest, columns, done = after, columns * factor, [factor, *done]
        stacked = self._stacked(Signal(real, imag), (last, columns))
        product = self._product(real_matrix(last, inverse) * scale, stacked)
        parts = self._first_parts(product, (last * prod(done), count, first))
        ordered = (b.emit("transpose", part, dimensions=(1, 0, 2)) if count > 1 else part for part in parts)
        return Signal(*(b.reshape(part, (count, length)) for part in ordered))

    def _first_product(self, signal: Signal, factor: int, matrix: np.ndarray) -> Instruction:
        """[C, rest, 2, outputs]: sums over the first factor of the length, the matrix being [2, factor, 2, outputs]."""
        b, (count, length) = self.b, signal.real.shape.dimensions
        rest, outputs = length // factor, matrix.shape[-1]
        if signal.imag is None:
            stacked, matrix = b.reshape(signal.real, (1, count, factor, rest)), matrix[:1]
        else:
            stacked = self._stacked(signal, (count, factor, rest))
        product = b.DotGeneral(
            stacked,
            self.constant(matrix.reshape(*matrix.shape[:2], -1)),
            lhs_contracting_dimensions=(0, 2),
            rhs_contracting_dimensions=(0, 1),
        )
        return b.reshape(product, (count, rest, 2, outputs))

    def _product(self, matrix: np.ndarray, stacked: Instruction) -> Instruction:
        """[2, factor, ...]: the matrix [2, factor, 2, factor], which is symmetric but for signs, times [2, factor, ...]."""
        by_output = np.ascontiguousarray(matrix.transpose(2, 3, 0, 1))
        contracting = {"lhs_contracting_dimensions": (2, 3), "rhs_contracting_dimensions": (0, 1)}
        return self.b.DotGeneral(self.constant(by_output), stacked, **contracting)

    def _stacked(self, signal: Signal, sizes: tuple[int, ...]) -> Instruction:
        """[2, ...]: real parts, then imaginary parts."""
        assert signal.imag is not None
        return self.b.ConcatInDim([self.b.reshape(part, (1, *sizes)) for part in (signal.real, signal.imag)], 0)

    def _parts(self, product: Instruction, sizes: tuple[int, ...]) -> Signal:
        """The parts of [C, rest, 2, outputs]."""
        count, rest, _, outputs = product.shape.dimensions
        limits = [((0, 0, part, 0), (count, rest, part + 1, outputs)) for part in (0, 1)]
        return Signal(*(self.b.reshape(self.b.Slice(product, *limit), sizes) for limit in limits))

    def _first_parts(self, product: Instruction, sizes: tuple[int, ...]) -> Signal:
        """The parts of [2, ...]."""
        inner = product.shape.dimensions[1:]
        limits = [((part, *(0,) * len(inner)), (part + 1, *inner)) for part in (0, 1)]
        return Signal(*(self.b.reshape(self.b.Slice(product, *limit), sizes) for limit in limits))

    def _turned(self, signal: Signal, roots: np.ndarray, dimensions: tuple[int, ...]) -> Signal:
        """The signal times complex constants, which run along these of its dimensions."""
        b, (real, imag) = self.b, signal
        sizes = real.shape.dimensions
        cosine, sine = (b.broadcast(self.constant(part), sizes, dimensions) for part in (roots.real, roots.imag))
        if imag is None:
            return Signal(b.Mul(real, cosine), b.Mul(real, sine))
        return Signal(
            b.Sub(b.Mul(real, cosine), b.Mul(imag, sine)),
            b.Add(b.Mul(real, sine), b.Mul(imag, cosine)),
        )

    def _bluestein(self, signal: Signal, length: int, inverse: bool) -> Signal:
        """As jk = (j^2 + k^2 - (k - j)^2) / 2, a transform is a convolution with a chirp, between two products with chirps."""
        b, padded = self.b, filter_length(length)
        waves = chirp(length, inverse)
        count = signal.real.shape.dimensions[0]
        zero = b.constant(0, self.element_type)
        first = self._turned(signal, waves, (1,))
        padding = [(0, 0, 0), (0, padded - length, 0)]
        wide = Signal(*(b.emit("pad", part, zero, padding=padding) for part in first if part is not None))
        spectrum = self.transform(wide, padded, False)
        spectrum = self._turned(spectrum, filter_spectrum(length, inverse), (1,))
        filtered = self.transform(spectrum, padded, True)
        cut = Signal(*(b.Slice(part, (0, 0), (count, length)) for part in filtered if part is not None))
        return self._turned(cut, waves / length if inverse else waves, (1,))

    # --- real signals ---

    def of_real(self, x: Instruction, length: int) -> Signal:
        """The frequencies 0 to length // 2 of a real signal [C, length]."""
        count, kept = x.shape.dimensions[0], length // 2 + 1
        if length == 1:
            return Signal(x, self._zeros((count, 1)))
        factors = factors_of(length)
        if factors is not None and len(factors) == 1:
            matrix = real_matrix(length, False)[:1, :, :, :kept]
            return self._parts(self._first_product(Signal(x, None), length, matrix), (count, kept))
        if length % 2:
            whole = self.transform(Signal(x, None), length, False)
            return Signal(*(self.b.Slice(part, (0, 0), (count, kept)) for part in whole if part is not None))
        return self._of_pairs(x, length)

    def _of_pairs(self, x: Instruction, length: int) -> Signal:
        """Even elements are taken for real parts, odd ones for imaginary parts of a signal of half the length.

        Of its transform z, (z(k) + z(-k)*) / 2 is that of the even and (z(k) - z(-k)*) / 2i that of the odd elements.
        """
        b, half, count = self.b, length // 2, x.shape.dimensions[0]
        even, odd = (b.Slice(x, (0, part), (count, length), (1, 2)) for part in (0, 1))
        real, imag = self.transform(Signal(even, odd), half, False)
        # Frequency `half` is frequency 0.
        forth = [b.ConcatInDim([part, b.Slice(part, (0, 0), (count, 1))], 1) for part in (real, imag)]
        back = [b.Rev(part, dimensions=(1,)) for part in forth]
        sums = Signal(b.Add(forth[0], back[0]), b.Sub(forth[1], back[1]))
        differences = Signal(b.Add(forth[1], back[1]), b.Sub(back[0], forth[0]))
        turned = self._turned(differences, roots_of_unity(length, np.arange(half + 1), False), (1,))
        return Signal(*(self._halved(b.Add(part, other)) for part, other in zip(sums, turned) if part is not None))

    def to_real(self, signal: Signal, length: int) -> Instruction:
        """The real signal [C, length] with these frequencies 0 to length // 2."""
        b, count, kept = self.b, signal.real.shape.dimensions[0], length // 2 + 1
        if length == 1:
            return signal.real
        factors = factors_of(length)
        if factors is not None and len(factors) == 1:
            # Each frequency but the first, and that of an even length's middle, stands for its negative too.
            weights = np.full(kept, 2 / length)
            weights[0] = 1 / length
            if length % 2 == 0:
                weights[-1] = 1 / length
            matrix = real_matrix(length, True)[:, :kept, 0, :] * weights[:, None]
            matrix[1, 0] = 0
            if length % 2 == 0:
                matrix[1, -1] = 0
            stacked = self._stacked(signal, (count, kept))
            return b.DotGeneral(
                stacked, self.constant(matrix), lhs_contracting_dimensions=(0, 2), rhs_contracting_dimensions=(0, 1)
            )
        real = signal.real
        assert signal.imag is not None
        inner = b.Slice(signal.imag, (0, 1), (count, kept - (length % 2 == 0)))
        zero = self._zeros((count, 1))
        imag = b.ConcatInDim([zero, inner, *([zero] if length % 2 == 0 else [])], 1)
        if length % 2 == 0:
            return self._to_pairs(Signal(real, imag), length)
        negative = [b.Rev(b.Slice(part, (0, 1), (count, kept)), dimensions=(1,)) for part in (real, imag)]
        whole = Signal(b.ConcatInDim([real, negative[0]], 1), b.ConcatInDim([imag, b.Neg(negative[1])], 1))
        return self.transform(whole, length, True).real

    def _to_pairs(self, signal: Signal, length: int) -> Instruction:
        """The inverse of `_of_pairs`."""
        b, half, count = self.b, length // 2, signal.real.shape.dimensions[0]
        assert signal.imag is not None
        parts = (signal.real, signal.imag)
        forth = [b.Slice(part, (0, 0), (count, half)) for part in parts]
        back = [b.Rev(b.Slice(part, (0, 1), (count, half + 1)), dimensions=(1,)) for part in parts]
        even = Signal(b.Add(forth[0], back[0]), b.Sub(forth[1], back[1]))
        differences = Signal(b.Sub(forth[0], back[0]), b.Add(forth[1], back[1]))
        odd = self._turned(differences, roots_of_unity(length, np.arange(half), True), (1,))
        real, imag = self._halved(b.Sub(even.real, odd.imag)), self._halved(b.Add(even.imag, odd.real))
        pairs = self.transform(Signal(real, imag), half, True)
        columns = [b.reshape(part, (count, half, 1)) for part in pairs if part is not None]
        return b.reshape(b.ConcatInDim(columns, 2), (count, length))

    def _halved(self, part: Instruction) -> Instruction:
        return self.b.Mul(part, self.b.broadcast(self.b.constant(0.5, self.element_type), part.shape.dimensions, ()))

    def _zeros(self, sizes: tuple[int, ...]) -> Instruction:
        return self.b.broadcast(self.b.constant(0, self.element_type), sizes, ())
