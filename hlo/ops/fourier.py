"""The discrete Fourier transform.

Source of the semantics: "Fft" in XLA's Operation Semantics.
"""

from __future__ import annotations

from math import log2, prod

import numpy as np

from ..attributes import Choice, IntegerList
from ..element_type import BF16, C64, C128, F32, F64
from ..errors import require
from ..operation import ACTUAL_SIZES, InvalidSample, Sample, operation
from ..shape import Shape
from .constraints import require_array, require_static

_REAL = {C64: F32, C128: F64}
_COMPLEX = {F32: C64, F64: C128}


def half_length(length: int) -> int:
    """The frequencies of a real signal that are kept: those from 0 to the Nyquist frequency.

    >>> half_length(8), half_length(9), half_length(0)
    (5, 5, 0)
    """
    return length // 2 + 1 if length else 0


@operation(
    "fft", "operand", dynamic=ACTUAL_SIZES, fft_type=Choice("FFT", "IFFT", "RFFT", "IRFFT"), fft_length=IntegerList()
)  # fmt: skip
def fft(operand, *, fft_type, fft_length):
    """Fft(operand, fft_type, fft_length): the Fourier transform of the innermost one to three dimensions.

    ``fft_length`` is the length of each of them in the time domain. FFT and its inverse IFFT, which divides by the product of
    the lengths, map complex to complex numbers. RFFT transforms real numbers and keeps the frequencies up to the Nyquist
    frequency of the last dimension; IRFFT is its inverse, which takes the others for their conjugates. A length of 0 leaves
    nothing. The dimensions have the sizes in ``fft_length``, except that n // 2 + 1 frequencies stand for the last length n in
    the result of RFFT and in the operand of IRFFT. FFT and IFFT of length 0 are zero, of any operand, and one without elements
    may have any length. f32 goes with c64, f64 with c128; leading dimensions are those of a batch.
    """
    require_array("fft", "operand", operand)
    rank, count = operand.rank, len(fft_length)
    require(1 <= count <= 3, f"fft: fft_length must have 1 to 3 elements, got {fft_length}")
    require(count <= rank, f"fft: the operand must have a dimension for each of {fft_length}, got {operand}")
    for length in fft_length:
        require(length >= 0, f"fft: fft_length must not be negative, got {fft_length}")
    wanted = list(fft_length)
    if fft_type == "IRFFT":
        wanted[-1] = half_length(wanted[-1])
    numbers = _COMPLEX if fft_type == "RFFT" else _REAL
    allowed = " or ".join(t.name for t in numbers)
    require(operand.element_type in numbers, f"fft: the operand of {fft_type} must be {allowed}, got {operand}")
    sizes = list(operand.dimensions[rank - count :])
    is_nothing = fft_type in ("FFT", "IFFT") and (0 in fft_length or 0 in operand.dimensions)
    require(
        sizes == wanted or is_nothing,
        f"fft: the last dimensions of the operand of {fft_type} must be {wanted} for fft_length {fft_length}, got {operand}",
    )
    require_static("fft", "the operand", operand, range(rank - count, rank), "as fft_length says its size")
    if fft_type in ("FFT", "IFFT"):
        return operand.without_layout()
    last = half_length(fft_length[-1]) if fft_type == "RFFT" else fft_length[-1]
    return Shape(numbers[operand.element_type], (*operand.dimensions[:-1], last), None, operand.dynamic_dimensions)


@fft.counting
def _(operands, shape, attributes):
    """5 n log2(n) of n elements, as is usual for the radix 2; of real numbers half as many."""
    lengths = attributes["fft_length"]
    elements, (operand,) = prod(lengths), operands
    transforms = prod(operand.dimensions[: operand.rank - len(lengths)])
    share = 1.0 if attributes["fft_type"] in ("FFT", "IFFT") else 0.5
    return int(share * transforms * 5 * elements * log2(max(1, elements)))


@fft.evaluation
def _(operand, *, fft_type, fft_length, shape):
    operand = np.asarray(operand)
    if 0 in shape.dimensions or 0 in fft_length:
        return np.zeros(shape.dimensions, shape.dtype)
    axes = tuple(range(-len(fft_length), 0))
    function = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[fft_type]
    with np.errstate(all="ignore"):
        return function(operand, fft_length, axes).astype(shape.dtype)


@fft.sampling
def _():
    for element_type in (C64, C128):
        dtype, real = element_type.dtype, _REAL[element_type].dtype
        impulse, ones = np.array([1, 0, 0, 0], dtype), np.ones(4, dtype)
        yield Sample([impulse], {"fft_type": "FFT", "fft_length": (4,)}, expected=ones)
        yield Sample([ones], {"fft_type": "IFFT", "fft_length": (4,)}, expected=impulse)
        shifted = np.array([0, 1, 0, 0], dtype)
        wave = np.array([1, -1j, -1, 1j], dtype)
        yield Sample([shifted], {"fft_type": "FFT", "fft_length": (4,)}, expected=wave)
        yield Sample([wave], {"fft_type": "IFFT", "fft_length": (4,)}, expected=shifted)
        signal, spectrum = np.array([1, 2, 3, 4], real), np.array([10, -2 + 2j, -2], dtype)
        yield Sample([signal], {"fft_type": "RFFT", "fft_length": (4,)}, expected=spectrum)
        yield Sample([spectrum], {"fft_type": "IRFFT", "fft_length": (4,)}, expected=signal)
        table = np.array([[1, 2], [3, 4]], real)
        both = {"fft_length": (2, 2)}
        spectrum = np.array([[10, -2], [-4, 0]], dtype)
        yield Sample([table.astype(dtype)], {"fft_type": "FFT", **both}, expected=spectrum)
        yield Sample([table], {"fft_type": "RFFT", **both}, expected=spectrum)
        yield Sample([spectrum], {"fft_type": "IRFFT", **both}, expected=table)
    # The imaginary parts of the mean and of the Nyquist frequency do not count.
    spectrum = np.array([8 + 5j, 0, 4 - 3j], np.complex64)
    yield Sample([spectrum], {"fft_type": "IRFFT", "fft_length": (4,)}, expected=np.array([3, 1, 3, 1], np.float32))
    for length in (1, 2, 3, 5, 7, 8, 12, 13, 17, 30, 64, 67, 97, 100, 128, 240, 509):
        for element_type in (C64, C128):
            for fft_type in ("FFT", "IFFT"):
                yield Sample([Shape(element_type, (3, length))], {"fft_type": fft_type, "fft_length": (length,)})
            real = _REAL[element_type]
            yield Sample([Shape(real, (2, length))], {"fft_type": "RFFT", "fft_length": (length,)})
            yield Sample([Shape(element_type, (2, length // 2 + 1))], {"fft_type": "IRFFT", "fft_length": (length,)})
    for lengths in ((4, 6), (3, 1), (5, 4, 3), (1, 2, 8)):
        half = (*lengths[:-1], lengths[-1] // 2 + 1)
        yield Sample([Shape(C64, (2, *lengths))], {"fft_type": "FFT", "fft_length": lengths})
        yield Sample([Shape(C128, lengths)], {"fft_type": "IFFT", "fft_length": lengths})
        yield Sample([Shape(F32, (2, *lengths))], {"fft_type": "RFFT", "fft_length": lengths})
        yield Sample([Shape(C64, (1, 2, *half))], {"fft_type": "IRFFT", "fft_length": lengths})
    yield Sample([Shape(C64, (0, 5))], {"fft_type": "FFT", "fft_length": (5,)})
    yield Sample([Shape(C64, (3, 0))], {"fft_type": "FFT", "fft_length": (0,)})
    yield Sample([Shape(C64, (3, 4))], {"fft_type": "FFT", "fft_length": (0,)}, expected=np.zeros((3, 4), np.complex64))
    yield Sample([Shape(C128, (2, 2))], {"fft_type": "IFFT", "fft_length": (1, 0)}, expected=np.zeros((2, 2)) * 1j)
    yield Sample([Shape(C64, (3, 0))], {"fft_type": "IFFT", "fft_length": (5,)})
    yield Sample([Shape(F32, (3, 0))], {"fft_type": "RFFT", "fft_length": (0,)})
    yield Sample([Shape(C64, (2, 0))], {"fft_type": "IRFFT", "fft_length": (0,)})
    x = Shape(C64, (4, 8))
    yield InvalidSample([x], {"fft_type": "FFT", "fft_length": ()}, "fft_length must have 1 to 3 elements")
    yield InvalidSample(
        [Shape(C64, (1, 1, 4, 8))], {"fft_type": "FFT", "fft_length": (1, 1, 4, 8)}, "must have 1 to 3 elements"
    )
    yield InvalidSample([Shape(C64, (8,))], {"fft_type": "FFT", "fft_length": (4, 8)}, "must have a dimension for each of")
    yield InvalidSample([x], {"fft_type": "FFT", "fft_length": (-8,)}, "fft_length must not be negative")
    yield InvalidSample([Shape(F32, (4, 8))], {"fft_type": "FFT", "fft_length": (8,)}, "operand of FFT must be c64 or c128")
    yield InvalidSample([x], {"fft_type": "RFFT", "fft_length": (8,)}, "operand of RFFT must be f32 or f64")
    yield InvalidSample([Shape(BF16, (8,))], {"fft_type": "RFFT", "fft_length": (8,)}, "operand of RFFT must be f32 or f64")
    yield InvalidSample([Shape(F64, (8,))], {"fft_type": "IRFFT", "fft_length": (14,)}, "operand of IRFFT must be c64 or c128")
    yield InvalidSample([x], {"fft_type": "IFFT", "fft_length": (7,)}, "last dimensions of the operand of IFFT must be")
    yield InvalidSample([Shape(F32, (8,))], {"fft_type": "RFFT", "fft_length": (9,)}, "operand of RFFT must be")
    yield InvalidSample([x], {"fft_type": "IRFFT", "fft_length": (8,)}, r"must be \[5\] for fft_length \(8,\)")
    yield InvalidSample([x], {"fft_type": "IRFFT", "fft_length": (3, 14)}, "operand of IRFFT must be")
    yield InvalidSample([x], {"fft_type": "DCT", "fft_length": (8,)}, "one of FFT, IFFT, RFFT, IRFFT is required")
