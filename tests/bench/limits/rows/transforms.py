"""Fourier transforms: their time, their errors, and the time to compile them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import numpy as np
from phlox import jit

from ..contenders import Case, Contender, Row, case, normal, row, targets

try:
    import scipy.fft as scipy_fft
except ImportError:
    scipy_fft = None

TITLE = "Fourier transforms"

SHAPES = {"2^10": (1 << 10,), "2^20": (1 << 20,), "3^8": (3**8,), "10007": (10_007,), "512 x 512": (512, 512)}


def fft(x):
    return np.fft.fft(x)


def rfft(x):
    return np.fft.rfft(x)


def fft2(x):
    return np.fft.fft2(x)


def rfft2(x):
    return np.fft.rfft2(x)


def with_scipy(name: str):
    """With as many threads as the others have."""
    function, workers = getattr(scipy_fft, name), int(os.environ.get("OMP_NUM_THREADS", "1"))
    return lambda x: function(x, workers=workers)


def operand(shape: tuple[int, ...], is_complex: bool, is_double: bool) -> np.ndarray:
    x = normal(*shape, dtype=np.float64 if is_double else np.float32)
    return (
        (x + 1j * normal(*shape, dtype=x.dtype, seed=1)).astype(np.complex128 if is_double else np.complex64)
        if is_complex
        else x
    )


def transform(shape: tuple[int, ...], is_complex: bool):
    return {(1, True): fft, (1, False): rfft, (2, True): fft2, (2, False): rfft2}[len(shape), is_complex]


def speed(shape: tuple[int, ...], is_complex: bool, is_double: bool) -> Case:
    """The work is counted as 5 n log2(n) for complex numbers and half of that for real ones, as FFTW does."""
    function, x = transform(shape, is_complex), operand(shape, is_complex, is_double)
    work = (5 if is_complex else 2.5) * x.size * np.log2(x.size)
    scipy = with_scipy(function.__name__) if scipy_fft else None
    facts = {"flops": work, "unit": "f64" if is_double else "f32", "tolerance": 1e-9 if is_double else 1e-4}
    return case(function, x, scipy=scipy, **facts)


def error(shape: tuple[int, ...], is_complex: bool) -> Case:
    """Of f32, relative to the transform in f64: the root of the mean square."""
    function, x = transform(shape, is_complex), operand(shape, is_complex, False)
    exact = function(x.astype(np.complex128 if is_complex else np.float64))
    found = case(function, x, jax_function=True)

    def of(contender):
        difference = np.asarray(contender()) - exact
        return float(np.sqrt((np.abs(difference) ** 2).sum() / (np.abs(exact) ** 2).sum()))

    errors = {name: Contender(of, (contender,)) for name, contender in found.contenders.items()}
    return Case(errors, quantity="relative error", comparable=lambda result: None)


def compilation(shape: tuple[int, ...], is_complex: bool) -> Case:
    function, x = transform(shape, is_complex), operand(shape, is_complex, True)
    numbers = itertools.count(1)

    def compile_anew():
        number = float(next(numbers))  # so that each program is a new one
        jit(lambda x: function(x) * number).compile(x)

    return Case({"phlox": Contender(compile_anew)}, fresh=True, turns=5)


def rows() -> Iterator[Row]:
    for name, shape in SHAPES.items():
        for is_complex in (True, False):
            for is_double in (True, False):
                kind = {(True, True): "c128", (True, False): "c64", (False, True): "f64", (False, False): "f32"}
                yield row(f"{name}, {kind[is_complex, is_double]}", targets(best=1.2), speed, shape, is_complex, is_double)
    for name, shape in SHAPES.items():
        for is_complex in (True, False):
            kind = "c64" if is_complex else "f32"
            yield row(f"error of {name}, {kind}", targets(NumPy=1), error, shape, is_complex)
    for name, shape in SHAPES.items():
        for is_complex in (True, False):
            kind = "c128" if is_complex else "f64"
            yield row(f"compilation of {name}, {kind}", targets(at_most=0.06), compilation, shape, is_complex)
