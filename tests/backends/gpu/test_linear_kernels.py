"""Kernels of Fourier transforms, factorizations and triangular systems against NumPy; calls and dynamic dimensions."""

import numpy as np
import pytest
from gpu_backends import compiled
from phlox.backends.gpu.kernels.fourier_passes import passes, step_radices
from phlox.hlo import parse_module

DTYPES = {"f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
ACCURACY = {"f32": 1e-5, "c64": 1e-5, "f64": 1e-13, "c128": 1e-13}


@pytest.fixture
def run(backend):
    """The first result of a program with this entry."""
    return lambda text, *arguments: compiled(backend, text)(*arguments)[0]


def numbers(shape, element_type):
    generator = np.random.default_rng(0)
    x = generator.standard_normal(shape)
    return (x + 1j * generator.standard_normal(shape) if element_type[0] == "c" else x).astype(DTYPES[element_type])


def close(found, expected, element_type):
    return np.abs(found - expected).max() <= ACCURACY[element_type] * max(np.abs(expected).max(), 1)


@pytest.mark.parametrize("length", [1, 2, 30, 4096, 1000, 2187, 169, 8192, 30030, 97])
@pytest.mark.parametrize(("element_type", "kind"), [("c64", "FFT"), ("c128", "IFFT")])
def test_transforms_of_all_lengths(run, length, element_type, kind):
    x = numbers((3, length), element_type)
    shape = f"{element_type}[3,{length}]"
    text = f"x = {shape} parameter(0)\nROOT y = {shape} fft(x), fft_type={kind}, fft_length={{{length}}}"
    expected = (np.fft.fft if kind == "FFT" else np.fft.ifft)(x.astype(np.complex128))
    assert close(run(text, x), expected, element_type)


@pytest.mark.parametrize("length", [2, 4096, 8192, 1 << 20, 1 << 25, 30030, 13**6, 3**15])
def test_passes_of_a_transform_fit_a_block(length):
    of_all = passes(1, length, 8, 32 << 10, 256)
    assert np.prod([one.length for one in of_all], dtype=object) == length
    assert [one.done for one in of_all] == [np.prod([1, *[b.length for b in of_all[:n]]]) for n in range(len(of_all))]
    assert all(one.shared_elements * 8 <= 32 << 10 and one.threads <= 256 for one in of_all)
    assert all(np.prod(step_radices(one.length)) == one.length for one in of_all)


def triangular(batch, size, element_type, lower):
    matrices = numbers((*batch, size, size), element_type) * 0.1 + 2 * np.eye(size, dtype=DTYPES[element_type])
    return matrices, np.tril(matrices) if lower else np.triu(matrices)


@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize(
    ("batch", "size", "columns", "lower"),
    [((), 64, 1, True), ((13,), 7, 2, False), ((5,), 32, 3, True), ((2,), 61, 17, False), ((), 100, 20, True)],
)
def test_triangular_systems(run, batch, size, columns, lower, element_type):
    given, matrices = triangular(batch, size, element_type, lower)
    right = numbers((*batch, size, columns), element_type)
    sizes = "".join(f"{one}," for one in batch)
    text = f"""
    a = {element_type}[{sizes}{size},{size}] parameter(0)
    b = {element_type}[{sizes}{size},{columns}] parameter(1)
    ROOT x = {element_type}[{sizes}{size},{columns}] triangular-solve(a, b), left_side=true, lower={str(lower).lower()},
        unit_diagonal=false, transpose_a=NO_TRANSPOSE"""
    assert close(matrices @ run(text, given, right), right, element_type)


@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize(("batch", "size"), [((), 1), ((100,), 4), ((13,), 8), ((3,), 33), ((2,), 64), ((), 100)])
def test_factors_of_batches(run, batch, size, element_type):
    a = numbers((*batch, size, size), element_type)
    a = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(size, dtype=a.dtype)
    shape = f"{element_type}[{''.join(f'{one},' for one in batch)}{size},{size}]"
    text = f"a = {shape} parameter(0)\nROOT u = {shape} cholesky(a), lower=false"
    expected = np.conj(np.swapaxes(np.linalg.cholesky(a.astype(np.complex128)), -1, -2))
    assert close(run(text, a), expected, element_type)


def test_what_has_no_factor_is_nan(run):
    a = np.stack([np.eye(5), np.diag([1.0, 1, 0, 1, 1]), np.diag([1.0, 1, 1, 1, -1])])
    text = "a = f64[3,5,5] parameter(0)\nROOT u = f64[3,5,5] cholesky(a), lower=false"
    upper = np.triu(np.ones((5, 5), bool))
    expected = np.stack([np.eye(5), *[np.where(upper, np.nan, 0)] * 2])
    np.testing.assert_array_equal(run(text, a), expected)


def test_dynamic_dimensions(backend):
    module = """
HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[<=10,3] parameter(0)
  zero = f32[] constant(0)
  y = f32[<=10,3] multiply(x, x)
  s = f32[3] reduce(y, zero), dimensions={0}, to_apply=add
  ROOT t = (f32[<=10,3], f32[3]) tuple(y, s)
}"""
    executable = backend.compile(parse_module(module))
    for rows in (10, 7, 0):
        x = numbers((rows, 3), "f32")
        squares, sums = executable(x)
        np.testing.assert_array_equal(squares, x * x)
        assert close(sums, (x * x).sum(0), "f32")
    with pytest.raises(ValueError, match="dimension 0 at most 10"):
        executable(np.zeros((11, 3), np.float32))
    memory = backend.memory
    assert memory.read(executable.execute([memory.share(numbers((4, 3), "f32"))])[0]).shape == (4, 3)


def test_no_calls_are_left_in_large_programs(backend):
    steps = "\n".join(f"v{n + 1} = f32[8] add(v{n}, v{n})" for n in range(40))
    calls = "\n".join(f"y{n + 1} = f32[8] call(y{n}), to_apply=big" for n in range(60))
    text = f"HloModule m\nbig {{\nv0 = f32[8] parameter(0)\n{steps}\nROOT r = f32[8] multiply(v40, v1)\n}}\n"
    text += f"ENTRY e {{\ny0 = f32[8] parameter(0)\n{calls}\nROOT z = f32[8] negate(y60)\n}}"
    executable = backend.compile(parse_module(text))
    assert " call(" not in executable.as_text()
    np.testing.assert_array_equal(executable(np.zeros(8, np.float32))[0], np.full(8, -0.0, np.float32))
