"""Fourier transforms as complex ones along the last dimension, and those as ones of lengths with small factors.

Source of the algorithms: Bluestein, "A linear filtering approach to the computation of discrete Fourier transform" (1970), for
lengths with a large prime factor; a real signal of even length as a complex one of half the length (Press et al., "Numerical
Recipes", 12.3).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from ... import hlo
from ...hlo import Instruction
from ..traversal import on_operands
from .fourier_tables import FILTER_FACTORS, LONGEST, chirp, filter_length, filter_spectrum, half_roots, prime_factors
from .table import expansion


@expansion("fft")
def expand_fft(fft: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
    """One transform after the other along each dimension; real signals are transformed first or last, along the last one."""
    (x,) = operands
    shape, fft_type = fft.shape, fft.attributes["fft_type"]
    if not shape.size or 0 in fft.attributes["fft_length"]:
        return hlo.full(shape, 0)
    _check_length(max(fft.attributes["fft_length"]))
    *lengths, last = fft.attributes["fft_length"]
    inverse = fft_type in ("IFFT", "IRFFT")
    if not lengths and fft_type in ("FFT", "IFFT"):
        if last == 1 or prime_factors(last)[-1] in FILTER_FACTORS:
            return on_operands(fft, operands)
        return _along_last(x, lambda x: _bluestein(x, inverse))
    if fft_type == "RFFT":
        x = _along_last(x, lambda x: _of_real(x, last))
    elif fft_type != "IRFFT":
        x = _along_last(x, lambda x: _transform(x, inverse))
    for dimension in range(shape.rank - len(lengths) - 1, shape.rank - 1):
        order = [d for d in range(shape.rank) if d != dimension] + [dimension]
        x = hlo.transpose(x, dimensions=order)
        x = _along_last(x, lambda x: _transform(x, inverse))
        x = hlo.transpose(x, dimensions=[order.index(d) for d in range(shape.rank)])
    if fft_type == "IRFFT":
        x = _along_last(x, lambda x: _to_real(x, last))
    return x


def _check_length(length: int) -> None:
    if length > LONGEST:
        raise NotImplementedError(f"operation fft has native code for at most {LONGEST} elements, not for {length}")


def _along_last(x: Instruction, transform: Callable[[Instruction], Instruction]) -> Instruction:
    """Transform signals [C, n] along the last dimension; the other dimensions are one."""
    sizes = x.shape.dimensions
    result = transform(hlo.reshape(x, (prod(sizes[:-1]), sizes[-1])))
    return hlo.reshape(result, (*sizes[:-1], result.shape.dimensions[-1]))


def _transform(x: Instruction, inverse: bool) -> Instruction:
    """The transform of complex signals [C, n], or its inverse."""
    length = x.shape.dimensions[1]
    return x if length == 1 else hlo.fft(x, fft_type="IFFT" if inverse else "FFT", fft_length=(length,))


def _bluestein(x: Instruction, inverse: bool) -> Instruction:
    """As jk = (j^2 + k^2 - (k - j)^2) / 2, a transform is a convolution with a chirp, between two products with chirps.

    The inverse transform of the convolution is the conjugate of one of conjugates: the same code as the first transform.
    """
    count, length = x.shape.dimensions
    _check_length(filter_length(length))
    padded, waves = filter_length(length), chirp(length, inverse)
    zero = hlo.constant(0, x.shape.element_type)
    wide = hlo.pad(_times(x, waves), zero, padding=[(0, 0, 0), (0, padded - length, 0)])
    spectrum = _times(_transform(wide, False), filter_spectrum(length, inverse) / padded)
    filtered = hlo.conjugate(hlo.slice(_transform(hlo.conjugate(spectrum), False), (0, 0), (count, length)))
    return _times(filtered, waves / length if inverse else waves)


def _times(x: Instruction, factors: np.ndarray) -> Instruction:
    """The signals times complex constants."""
    constants = hlo.constant(np.ascontiguousarray(factors), x.shape.element_type)
    return hlo.multiply(x, hlo.broadcast(constants, x.shape.dimensions, (1,)))


def _of_real(x: Instruction, length: int) -> Instruction:
    """The frequencies 0 to length // 2 of real signals [C, length].

    For an even length, even elements are taken for real parts, odd ones for imaginary parts of signals of half the length. Of
    their transform z, (z(k) + z(-k)*) / 2 is that of the even and (z(k) - z(-k)*) / 2i that of the odd elements.
    """
    count, half = x.shape.dimensions[0], length // 2
    if length % 2:
        whole = _transform(hlo.complex(x, _zeros_like(x)), False)
        return hlo.slice(whole, (0, 0), (count, half + 1))
    z = _transform(hlo.complex(*(hlo.slice(x, (0, part), (count, length), (1, 2)) for part in (0, 1))), False)
    even, odd = (part(hlo.slice(z, (0, 0), (count, 1))) for part in (hlo.real, hlo.imag))
    ends = [hlo.complex(part, _zeros_like(part)) for part in (hlo.add(even, odd), hlo.subtract(even, odd))]
    if half == 1:
        return hlo.concatenate(*ends, dimensions=(1,))
    forth = hlo.slice(z, (0, 1), (count, half))
    back = hlo.conjugate(hlo.reverse(forth, dimensions=(1,)))
    middle = hlo.add(hlo.multiply(hlo.add(forth, back), 0.5), _times(hlo.subtract(forth, back), half_roots(length, 1, False)))
    return hlo.concatenate(ends[0], middle, ends[1], dimensions=(1,))


def _to_real(x: Instruction, length: int) -> Instruction:
    """The real signals [C, length] with these frequencies 0 to length // 2; the inverse of _of_real."""
    count, half = x.shape.dimensions[0], length // 2
    if length == 1:
        return hlo.real(x)
    ends = (0, half) if length % 2 == 0 else (0,)
    # The mean and the Nyquist frequency are real, whatever stands there.
    imag, counts = hlo.imag(x), hlo.constant(~np.isin(np.arange(half + 1), ends))
    imag = hlo.select(hlo.broadcast(counts, imag.shape.dimensions, (1,)), imag, _zeros_like(imag))
    x = hlo.complex(hlo.real(x), imag)
    if length % 2:
        others = hlo.conjugate(hlo.reverse(hlo.slice(x, (0, 1), (count, half + 1)), dimensions=(1,)))
        return hlo.real(_transform(hlo.concatenate(x, others, dimensions=(1,)), True))
    forth = hlo.slice(x, (0, 0), (count, half))
    back = hlo.conjugate(hlo.reverse(hlo.slice(x, (0, 1), (count, half + 1)), dimensions=(1,)))
    z = hlo.add(hlo.multiply(hlo.add(forth, back), 0.5), _times(hlo.subtract(forth, back), half_roots(length, 0, True)))
    z = _transform(z, True)
    pairs = hlo.concatenate(*[hlo.reshape(part, (count, half, 1)) for part in (hlo.real(z), hlo.imag(z))], dimensions=(2,))
    return hlo.reshape(pairs, (count, length))


def _zeros_like(x: Instruction) -> Instruction:
    return hlo.full_like(x, 0)
