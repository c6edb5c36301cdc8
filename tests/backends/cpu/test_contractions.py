"""Products of matrices in the forms of their loop nests, and systems of equations."""

import numpy as np
import phlox
import pytest
from phlox import jit, load_hlo
from phlox.backends.cpu import call_tables
from phlox.backends.cpu.regions import contraction_blocks

THREADS = (1, 2, 3, 8)


@jit
def product(x, y):
    return x @ y


def in_threads(function, *arguments):
    """The result, which is the same to the last bit in any number of threads."""
    found = []
    for number in THREADS:
        with phlox.config(num_threads=number):
            result = function(*arguments)
            found.append(result[0] if isinstance(result, (list, tuple)) else result)
    assert all(one.tobytes() == found[0].tobytes() for one in found)
    return found[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [300, 3001])
def test_rows_are_multiplied_by_a_vector_as_if_alone(size, dtype):
    random = np.random.default_rng(size)
    x, y = random.normal(size=(131, size)).astype(dtype), random.normal(size=size).astype(dtype)
    whole = in_threads(product, x, y)
    np.testing.assert_allclose(whole, x.astype(np.float64) @ y, atol=1e-3 if dtype is np.float32 else 1e-11)
    for first, count in ((0, 1), (5, 3), (2, 35), (30, 101)):
        assert product(x[first : first + count], y).tobytes() == whole[first : first + count].tobytes()


@pytest.mark.parametrize("columns", [64, 70])
@pytest.mark.parametrize("rows", [(1003,), (3, 515)])
def test_tall_products(rows, columns, monkeypatch):
    monkeypatch.setattr(contraction_blocks, "_LARGE_LEFT_BYTES", 0)
    monkeypatch.setattr(contraction_blocks, "_LEAST_ROWS", 0)
    monkeypatch.setattr(contraction_blocks, "_ROWS_BYTES", 30 * 64 * 8)
    random = np.random.default_rng(0)
    x, y = (random.integers(-9, 9, shape).astype(np.float64) for shape in ((*rows, 64), (64, columns)))
    assert np.array_equal(in_threads(jit(lambda x, y: x @ y), x, y), x @ y)


@pytest.mark.parametrize("lower", [False, True])
def test_triangular_systems_in_threads(lower):
    text = f"""
    HloModule solve
    ENTRY main {{
      a = f64[100,100] parameter(0)
      b = f64[100,203] parameter(1)
      ROOT x = f64[100,203] triangular-solve(a, b), left_side=true, lower={str(lower).lower()}, transpose_a=NO_TRANSPOSE
    }}"""
    random = np.random.default_rng(0)
    a, b = random.normal(size=(100, 100)) + 100 * np.eye(100), random.normal(size=(100, 203))
    x = in_threads(load_hlo(text), a, b)
    np.testing.assert_allclose((np.tril(a) if lower else np.triu(a)) @ x, b, atol=1e-12)


def test_products_that_take_long_may_be_interrupted(monkeypatch):
    """Where the calls of blocks are left, so is the function; here of a product that counts as a long one."""
    monkeypatch.setattr(call_tables, "UNINTERRUPTED", 1 << 10)
    x = np.random.default_rng(0).integers(-9, 9, (64, 3000)).astype(np.float32)

    def repeated(x, rounds):
        total = x @ x.T
        while total[0, 0] * rounds > 0:
            total, rounds = x @ x.T + rounds, rounds - 1
        return total

    assert np.array_equal(in_threads(jit(repeated), x, 3), x @ x.T + 1)


def products_of_different_sizes(x, y, z):
    return x @ y, x @ y[:, :70] @ z


def test_products_of_different_sizes_have_their_blocks_in_common():
    draw = np.random.default_rng(0).integers
    x, y, z = (draw(-4, 5, shape).astype(np.float64) for shape in ((64, 300), (300, 128), (70, 200)))
    compiled = jit(products_of_different_sizes).compile(x, y, z)
    for found, expected in zip(compiled(x, y, z), products_of_different_sizes(x, y, z)):
        assert np.array_equal(found, expected)
    uses = [line for line in compiled.executable.llvm_ir().splitlines() if "store" in line and '@"phlox.block.' in line]
    assert 0 < len(blocks_of(compiled)) < len(uses)


def test_products_have_no_loops_of_their_own():
    x, y = np.ones((3, 130, 70), np.float32), np.ones((3, 70, 90), np.float32)
    compiled = jit(lambda x, y: x @ y).compile(x, y)
    assert np.array_equal(compiled(x, y), np.full((3, 130, 90), 70))
    assert "phlox.run_calls" in compiled.executable.llvm_ir()
    assert "phi" not in compiled.executable.llvm_ir()


def test_products_with_columns_that_lie_apart_have_their_blocks_in_common():
    draw = np.random.default_rng(0).integers
    x, y, z = (draw(-4, 5, (100, width)).astype(np.float64) for width in (512, 1024, 16))
    compiled = jit(lambda x, y, z: (x.T @ z, y.T @ z)).compile(x, y, z)
    for found, expected in zip(compiled(x, y, z), (x.T @ z, y.T @ z)):
        assert np.array_equal(found, expected)
    assert len(blocks_of(compiled)) == 1


def test_programs_have_their_blocks_in_common():
    x = np.arange(130 * 140, dtype=np.float64).reshape(130, 140) % 7
    one, other = (jit(lambda x, y: x @ y).compile(x, y) for y in (x.T.copy(), np.hstack([x.T, x.T])))
    assert np.array_equal(one(x, x.T.copy()), x @ x.T)
    common = blocks_of(one) & blocks_of(other)
    assert common
    codes = [{code for code in one.executable.program.shared if common & set(code.names)} for one in (one, other)]
    assert codes[0] == codes[1]


def test_products_over_groups_of_terms_have_their_blocks_in_common():
    def product(x, y):
        return np.einsum("gti,gtj->ij", x, y)

    random = np.random.default_rng(0)
    blocks = []
    for groups, terms in ((4, 128), (6, 100), (8, 72)):
        x, y = (random.integers(-4, 5, (groups, terms, width)).astype(np.float32) for width in (32, 96))
        compiled = jit(product).compile(x, y)
        assert np.array_equal(compiled(x, y), product(x, y))
        blocks.append(blocks_of(compiled))
    assert blocks[0] and all(one == blocks[0] for one in blocks)


def blocks_of(compiled):
    """The names of the blocks that a program calls, which are compiled once a process."""
    lines = compiled.executable.llvm_ir().splitlines()
    return {line.split('"')[1] for line in lines if line.startswith("declare ") and '@"phlox.block.' in line}
