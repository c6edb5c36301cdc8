"""What an operation expands to does not grow with the size of its arrays; very large matrices are loops over blocks."""

import numpy as np
import pytest
from cpu_passes import expand
from phlox.backends.cpu.regions import triangular
from phlox.backends.registry import get_backend
from phlox.compile.expansion import blocked_linear_algebra, linear_algebra
from phlox.hlo import C64, C128, F32, F64, S32, U32, U64, Shape
from phlox.xla_builder import XlaBuilder

# --- the number of instructions ---


def cholesky(b, n):
    return b.emit("cholesky", b.parameter(Shape(F32, (n, n))), lower=True)


def triangular_system(b, n):
    a, right = b.parameter(Shape(F64, (n, n))), b.parameter(Shape(F64, (n, 64)))
    return b.emit("triangular-solve", a, right, left_side=True, lower=False, transpose_a="ADJOINT")


def fourier(fft_type, element_type, length_of=lambda n: n):
    def program(b, n):
        x = b.parameter(Shape(element_type, (2, length_of(n))))
        return b.emit("fft", x, fft_type=fft_type, fft_length=(length_of(n),))

    return program


def random_bits(b, n):
    return b.RngBitGenerator("RNG_PHILOX", b.parameter(Shape(U64, (2,))), Shape(U32, (n, 3)))


def normal(b, n):
    return b.emit("rng", *(b.parameter(Shape(F32)) for _ in range(2)), shape=Shape(F32, (n,)), distribution="rng_normal")


def top(b, n):
    return b.emit("topk", b.parameter(Shape(F32, (3, n))), k=n // 2, largest=True)


def concatenate(b, n):
    return b.ConcatInDim([b.parameter(Shape(S32, (n, 2))) for _ in range(3)], 0)


PROGRAMS = {
    "cholesky": cholesky,
    "triangular-solve": triangular_system,
    "fft": fourier("FFT", C64),
    "fft of a prime length": fourier("IFFT", C128, lambda n: {512: 509, 16384: 16381}[n]),
    "fft of real signals": fourier("RFFT", F32),
    "rng-bit-generator": random_bits,
    "rng": normal,
    "topk": top,
    "concatenate": concatenate,
}


def instructions(program, n):
    b = XlaBuilder("f")
    return expand(b.build_module(program(b, n))).instruction_count()


@pytest.mark.parametrize("name", PROGRAMS)
def test_expansions_do_not_grow(name):
    small, large = (instructions(PROGRAMS[name], n) for n in (512, 16384))
    # Halving is allowed: five times, between these sizes.
    assert large <= small + 200


@pytest.mark.parametrize("n", [100_000, 1_000_000])
def test_matrices_of_any_size(n):
    assert instructions(cholesky, n) < 300
    assert instructions(triangular_system, n) < 200


# --- the loops over blocks ---


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(triangular, "_LARGEST_SIZE", 8)
    monkeypatch.setattr(triangular, "_LARGEST_SOLVED_SIZE", 8)
    monkeypatch.setattr(linear_algebra, "LARGEST_HALVED", 12)
    monkeypatch.setattr(blocked_linear_algebra, "_BLOCK", 8)


def run(root, b, *arrays):
    module = b.build_module(root)
    assert any(i.opcode == "while" for i in expand(module).entry.instructions)
    (result,) = get_backend("cpu").compile(module)(*arrays)
    return result


def positive_definite(n, element_type, batch):
    random = np.random.default_rng(n)
    m = random.standard_normal((*batch, n, n))
    if element_type.is_complex:
        m = m + 1j * random.standard_normal((*batch, n, n))
    return (m @ np.conj(m.swapaxes(-1, -2)) + n * np.eye(n)).astype(element_type.dtype)


@pytest.mark.parametrize(("n", "batch"), [(13, ()), (24, (2,)), (37, (2, 3))])
@pytest.mark.parametrize("element_type", [F32, C128], ids=str)
@pytest.mark.parametrize("lower", [False, True])
def test_cholesky_by_blocks(small_blocks, n, element_type, batch, lower):
    a = positive_definite(n, element_type, batch)
    b = XlaBuilder("f")
    found = run(b.emit("cholesky", b.parameter(Shape(element_type, a.shape)), lower=lower), b, a)
    expected = np.linalg.cholesky(a)
    expected = expected if lower else np.conj(expected.swapaxes(-1, -2))
    np.testing.assert_allclose(found, expected, atol=1e-5 if element_type is F32 else 1e-12)


@pytest.mark.parametrize("place", [9, 36])
def test_cholesky_by_blocks_is_nan_where_there_is_no_factor(small_blocks, place):
    a = positive_definite(37, F64, (2,))
    a[1, place, place] = -1
    b = XlaBuilder("f")
    found = run(b.emit("cholesky", b.parameter(Shape(F64, a.shape)), lower=True), b, a)
    assert not np.isnan(found[0]).any()
    assert np.isnan(found[1][np.tril_indices(37)]).all() and not found[1][np.triu_indices(37, 1)].any()


@pytest.mark.parametrize(("n", "batch"), [(16, ()), (37, (3,))])
@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("transpose_a", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
def test_triangular_systems_by_blocks(small_blocks, n, batch, left_side, lower, transpose_a):
    random = np.random.default_rng(n)
    a = random.standard_normal((*batch, n, n)) + 1j * random.standard_normal((*batch, n, n)) + 2 * n * np.eye(n)
    a = np.tril(a) if lower else np.triu(a)
    right = random.standard_normal((*batch, n, 9) if left_side else (*batch, 9, n)) + 0j
    b = XlaBuilder("f")
    operands = (b.parameter(Shape(C128, a.shape)), b.parameter(Shape(C128, right.shape)))
    root = b.emit("triangular-solve", *operands, left_side=left_side, lower=lower, transpose_a=transpose_a)
    x = run(root, b, a, right)
    matrix = a if transpose_a == "NO_TRANSPOSE" else a.swapaxes(-1, -2)
    matrix = np.conj(matrix) if transpose_a == "ADJOINT" else matrix
    np.testing.assert_allclose(matrix @ x if left_side else x @ matrix, right, atol=1e-12)
