"""Fourier transforms against the sums of their definition; the tables they are made of; np.fft on traced arrays."""

import math
import re

import mpmath
import numpy as np
import pytest
from phlox import hlo, jit
from phlox.backends.llvm.fourier_plan import has_small_factors, radices, rows_and_columns, step_roots
from phlox.backends.registry import get_backend
from phlox.compile.expansion.fourier_tables import filter_length, prime_factors, roots_of_unity
from phlox.hlo import C64, C128, F32, F64, Shape
from phlox.xla_builder import XlaBuilder
from sample_values import normal_array
from thinning import one_in_all

BACKENDS = ["reference", "cpu"]
PI = np.longdouble("3.14159265358979323846264338327950288")
# Single butterflies; steps of each radix; tables; lengths with a large prime factor, odd and even.
LENGTHS = [1, 2, 3, 13, 16, 17, 61, 72, 127, 131, 134, 323, 135, 507, 509, 3 * 5 * 7 * 11 * 13, 2**16]


def direct(x, sign=-1):
    """The definition, sum over j of x[j] exp(sign 2 pi i j k / n), for some k of long signals; in long double precision."""
    n = x.shape[-1]
    wide = np.result_type(x.dtype, np.clongdouble)
    chosen = np.arange(n) if n <= 1200 else np.unique(np.r_[0, 1, 2, n // 3, n // 2, n - 1])
    angles = sign * 2 * PI * (np.outer(np.arange(n), chosen) % n) / n
    return chosen, x.astype(wide) @ (np.cos(angles) + 1j * np.sin(angles))


def run(backend, x, fft_type, *lengths):
    b = XlaBuilder("fft")
    module = b.build_module(b.Fft(b.parameter(hlo.shape_of(x)), fft_type, lengths))
    (result,) = get_backend(backend).compile(module)(x)
    return result


def assert_accurate(actual, exact, units=4):
    """The error's root mean square is at most so many units in the last place of the values' root mean square."""
    error = math.sqrt(np.mean(np.abs(actual - exact) ** 2)) / math.sqrt(np.mean(np.abs(exact) ** 2))
    assert error <= units * np.finfo(actual.dtype).eps, f"{error / np.finfo(actual.dtype).eps} units"


@pytest.mark.parametrize(("length", "dtype"), one_in_all(3, LENGTHS, [np.complex64, np.complex128]))
def test_transforms_of_all_lengths(length, dtype):
    x = normal_array(dtype, 2, length) if length < 10000 else normal_array(dtype, 1, length)
    chosen, exact = direct(x)
    forward = run("cpu", x, "FFT", length)
    assert forward.dtype == dtype
    assert_accurate(forward[:, chosen], exact)
    chosen, exact = direct(x, 1)
    assert_accurate(run("cpu", x, "IFFT", length)[:, chosen], exact / length)


@pytest.mark.parametrize(("length", "dtype"), one_in_all(3, LENGTHS, [np.float64, np.float32]))
def test_real_transforms_of_all_lengths(length, dtype):
    x = normal_array(dtype, 2, length) if length < 10000 else normal_array(dtype, 1, length)
    chosen, exact = direct(x)
    half = run("cpu", x, "RFFT", length)
    assert half.shape == (len(x), length // 2 + 1)
    kept = chosen <= length // 2
    assert_accurate(half[:, chosen[kept]], exact[:, kept])
    back = run("cpu", half, "IRFFT", length)
    assert back.dtype == dtype
    assert_accurate(back, x.astype(np.longdouble), 8)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length", [1, 2, 7, 8, 33, 100, 135, 202])
def test_what_inverse_real_transforms_do_not_read(backend, length):
    """The imaginary part of the mean, and that of the middle of an even length."""
    spectrum = normal_array(np.complex64, 3, length // 2 + 1)
    changed = spectrum.copy()
    changed[:, 0] += 5j
    if length % 2 == 0:
        changed[:, -1] -= 3j
    np.testing.assert_array_equal(run(backend, changed, "IRFFT", length), run(backend, spectrum, "IRFFT", length))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sizes", [(4, 6), (130, 2), (2, 5, 72)])
def test_several_dimensions_are_transformed_one_by_one(backend, sizes):
    x = normal_array(np.complex128, 2, *sizes)
    expected, scale = x, math.prod(sizes)
    for dimension in range(-len(sizes), 0):
        expected = np.moveaxis(direct(np.moveaxis(expected, dimension, -1))[1], -1, dimension)
    assert_accurate(run(backend, x, "FFT", *sizes), expected)
    real = x.real.copy()
    whole = real.astype(np.complex128)
    for dimension in range(-len(sizes), 0):
        whole = np.moveaxis(direct(np.moveaxis(whole, dimension, -1))[1], -1, dimension)
    half = run(backend, real, "RFFT", *sizes)
    assert_accurate(half, whole[..., : sizes[-1] // 2 + 1])
    assert_accurate(run(backend, half, "IRFFT", *sizes), real)
    assert_accurate(run(backend, expected.astype(np.complex128), "IFFT", *sizes) * scale, x * scale)


@pytest.mark.parametrize("length", [30, 128, 67])
def test_single_frequency(length):
    """A wave of frequency f has one coefficient, n, and none elsewhere beyond rounding."""
    for frequency in (0, 1, length // 2, length - 1):
        angles = 2 * np.pi * (np.arange(length) * frequency % length) / length
        spectrum = run("cpu", (np.cos(angles) + 1j * np.sin(angles))[None], "FFT", length)
        expected = np.zeros((1, length))
        expected[0, frequency] = length
        np.testing.assert_allclose(spectrum, expected, atol=length * 1e-14)


def test_text():
    text = """HloModule m
ENTRY main {
  x = f32[2,8]{1,0} parameter(0)
  y = c64[2,5]{1,0} fft(x), fft_type=RFFT, fft_length={2,8}
  ROOT z = f32[2,8]{1,0} fft(y), fft_type=IRFFT, fft_length={2,8}
}"""
    module = hlo.parse_module(text)
    printed = module.as_text()
    assert "fft(%x), fft_type=RFFT, fft_length={2,8}" in printed and "fft_type=IRFFT, fft_length={2,8}" in printed
    x = normal_array(np.float32, 2, 8)
    for backend in BACKENDS:
        (result,) = get_backend(backend).compile(module)(x)
        np.testing.assert_allclose(result, x, atol=1e-6)


@pytest.mark.parametrize("element_type", [F32, F64])
def test_builder(element_type):
    b = XlaBuilder("f")
    x = b.parameter(Shape(element_type, (3, 10)))
    assert b.Fft(x, "RFFT", [10]).shape == Shape({F32: C64, F64: C128}[element_type], (3, 6))
    assert b.Fft(b.Fft(x, "RFFT", [10]), fft_type="IRFFT", fft_length=[11]).shape == Shape(element_type, (3, 11))


# --- the tables ---


def test_roots_of_unity_are_correctly_rounded_but_for_the_last_place():
    for length in (1, 3, 8, 12, 360, 1009):
        roots = roots_of_unity(length, np.arange(-2, length + 3))
        with mpmath.workdps(40):
            for number, root in zip(range(-2, length + 3), roots):
                exact = mpmath.expjpi(mpmath.mpf(-2 * number) / length)
                for part, wanted in ((root.real, exact.real), (root.imag, exact.imag)):
                    assert abs(mpmath.mpf(float(part)) - wanted) <= 2e-16
    assert roots_of_unity(4, np.arange(4)).tolist() == [1, -1j, -1, 1j]
    np.testing.assert_array_equal(roots_of_unity(24, np.arange(24), True), np.conj(roots_of_unity(24, np.arange(24))))


@pytest.mark.parametrize("length", [8, 24, 64, 1000])
def test_many_roots_are_those_that_are_asked_for_one_by_one(length):
    exponents = np.arange(-length, 2 * length)
    for inverse in (False, True):
        single = [roots_of_unity(length, np.array([exponent]), inverse) for exponent in exponents]
        assert np.concatenate(single).tobytes() == roots_of_unity(length, exponents, inverse).tobytes()


def test_transforms_share_the_code_of_their_steps():
    def called(function, shape):
        llvm_ir = jit(function).compile(np.zeros(shape, complex)).executable.llvm_ir()
        return set(re.findall(r'declare [^@]*@"(phlox\.fourier\.[^"]*)"', llvm_ir))

    forward = called(np.fft.fft, (64, 64))
    assert forward
    assert forward == called(lambda x: np.fft.fft(x * 2), (100, 256)) == called(np.fft.fft, 4096)
    assert called(np.fft.ifft, (64, 64)).isdisjoint(forward)
    # One with a large prime factor is two, there and back, by the same code: of the columns, and of the rows.
    assert jit(np.fft.ifft).compile(np.zeros(10007, complex)).executable.llvm_ir().count('define internal i32 @"fft.') == 2


def test_factors():
    for length in range(1, 3000):
        primes = prime_factors(length)
        assert math.prod(primes) == length
        rows, columns = rows_and_columns(length)
        assert rows * columns == length and rows <= columns
        if has_small_factors(length):
            assert math.prod(radices(length)) == length
            count = sum(remaining * (radix - 1) + (radix if radix > 13 else 0) for radix, remaining in steps(length))
            assert step_roots(length, False, np.dtype(np.float32)).size == max(1, 2 * count)
        else:
            padded = filter_length(length)
            assert max(primes) > 127 and padded >= 2 * length - 1 and has_small_factors(padded)


def steps(length):
    """Each radix with what remains of the length after it."""
    for radix in radices(length):
        length //= radix
        yield radix, length


# --- np.fft ---


CALLS = {
    "fft": lambda x: np.fft.fft(x),
    "fft of fewer points": lambda x: np.fft.fft(x, 5, axis=0),
    "fft of more points": lambda x: np.fft.fft(x, 19, norm="ortho"),
    "ifft": lambda x: np.fft.ifft(x, norm="forward"),
    "rfft": lambda x: np.fft.rfft(x.real, axis=1),
    "irfft": lambda x: np.fft.irfft(x),
    "irfft of odd length": lambda x: np.fft.irfft(x, 9, axis=0, norm="ortho"),
    "hfft": lambda x: np.fft.hfft(x, norm="ortho"),
    "ihfft": lambda x: np.fft.ihfft(x.real, 7, norm="forward"),
    "fft2": lambda x: np.fft.fft2(x),
    "ifft2": lambda x: np.fft.ifft2(x, (4, -1), (1, 0)),
    "rfft2": lambda x: np.fft.rfft2(x.real, norm="ortho"),
    "irfft2": lambda x: np.fft.irfft2(x),
    "fftn": lambda x: np.fft.fftn(x, axes=(0, 1, 0)),
    "ifftn": lambda x: np.fft.ifftn(x),
    "rfftn": lambda x: np.fft.rfftn(x.real, (3, 8), (1, 2)),
    "irfftn": lambda x: np.fft.irfftn(x, norm="forward"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CALLS)
def test_numpy_functions(name, backend):
    call = CALLS[name]
    for dtype in (np.complex64, np.complex128):
        x = normal_array(dtype, 6, 8, 10) if "n" in name.split("fft")[1] else normal_array(dtype, 6, 8)
        expected, actual = call(x), jit(call, backend=backend)(x)
        assert actual.dtype == expected.dtype and actual.shape == expected.shape
        np.testing.assert_allclose(actual, expected, rtol=0, atol=20 * np.finfo(dtype).eps * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float16, np.float32])
def test_numpy_dtypes(dtype):
    x = (np.arange(12) % 5).astype(dtype).reshape(2, 6)
    for call in (np.fft.fft, np.fft.rfft, np.fft.irfft):
        expected, actual = call(x), jit(lambda x, call=call: call(x), backend="reference")(x)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=2e-3 if dtype is np.float16 else 1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "exception", "message"),
    [
        (lambda x: np.fft.fft(x, 0), ValueError, "Invalid number of FFT data points"),
        (lambda x: np.fft.fft(x, norm="both"), ValueError, "Invalid norm value both"),
        (lambda x: np.fft.ihfft(x.real, norm="both"), ValueError, "Invalid norm value both"),
        (lambda x: np.fft.fft(x, axis=2), IndexError, "out of"),
        (lambda x: np.fft.fftn(x, (2, 3), (0,)), ValueError, "Shape and axes have different lengths"),
        (lambda x: np.fft.rfft(x), TypeError, None),
        (lambda x: np.fft.fft(x, 2.5), TypeError, None),
    ],
)
def test_numpy_errors(call, exception, message):
    x = np.ones((2, 3), np.complex64)
    for function in (call, jit(call, backend="reference")):
        with pytest.raises(exception, match=message):
            function(x)


# --- XLA as a peer ---


@pytest.mark.peer
@pytest.mark.parametrize("length", [5, 12, 67])
def test_as_xla(length):
    jnp = pytest.importorskip("jax").numpy
    x = normal_array(np.complex64, 3, length)
    half = normal_array(np.complex64, 3, length // 2 + 1)
    for backend in BACKENDS:
        np.testing.assert_allclose(run(backend, x, "FFT", length), jnp.fft.fft(x), atol=2e-5)
        np.testing.assert_allclose(run(backend, half, "IRFFT", length), jnp.fft.irfft(half, length), atol=2e-5)
