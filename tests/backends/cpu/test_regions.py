"""The loop nests of the CPU backend at their edges: collapsed dimensions, turned tiles, remainders, accurate sums."""

import ctypes
import math

import numpy as np
import pytest
from phlox import fori_loop, jit
from phlox.backends.cpu.program_loader import LoadedProgram
from phlox.backends.cpu.target import host_target
from phlox.backends.llvm.collapse import collapse_dimensions
from phlox.backends.registry import get_backend
from phlox.hlo import BF16, C64, C128, F32, F64, PRED, S16, S32, U8, Shape, evaluate, scalar_computation
from phlox.xla_builder import XlaBuilder


def compile_and_run(module, *arrays):
    return get_backend("cpu").compile(module)(*arrays)


# --- collapsing ---


def test_elementwise_dimensions_collapse_into_one():
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (4, 5, 6)))
    collapsed = collapse_dimensions(b.build(b.Exp(x)))
    assert collapsed.groups == [(0, 1, 2)]
    assert collapsed.computation.root.shape.dimensions == (120,)


def test_dimensions_of_a_broadcast_operand_stay_apart_from_the_others():
    b = XlaBuilder("f")
    x, row = b.parameter(Shape(F32, (4, 5, 6, 7))), b.parameter(Shape(F32, (5, 6)))
    collapsed = collapse_dimensions(b.build(b.Add(x, b.BroadcastInDim(row, (4, 5, 6, 7), (1, 2)))))
    assert collapsed.groups == [(0,), (1, 2), (3,)]
    assert [p.shape.dimensions for p in collapsed.computation.parameters] == [(4, 30, 7), (30,)]


def test_permuted_broadcasts_transposes_and_barriers_prevent_collapsing():
    b = XlaBuilder("f")
    x, other = b.parameter(Shape(F32, (4, 5))), b.parameter(Shape(F32, (5, 4)))
    assert collapse_dimensions(b.build(b.Add(x, b.BroadcastInDim(other, (4, 5), (1, 0))))) is None
    b = XlaBuilder("f")
    assert collapse_dimensions(b.build(b.Transpose(b.parameter(Shape(F32, (4, 5))), dimensions=(1, 0)))) is None
    b = XlaBuilder("f")
    exp = b.build(b.Exp(b.parameter(Shape(F32, (4, 5, 6)))))
    assert collapse_dimensions(exp, frozenset({0})).groups == [(0,), (1, 2)]


def test_collapsed_computations_compute_the_same():
    rng = np.random.default_rng(0)
    b = XlaBuilder("f")
    x, row, column = b.parameter(Shape(F64, (3, 4, 5))), b.parameter(Shape(F64, (4, 5))), b.parameter(Shape(F64, (3,)))
    total = b.Mul(b.Add(x, b.BroadcastInDim(row, (3, 4, 5), (1, 2))), b.BroadcastInDim(column, (3, 4, 5), (0,)))
    computation = b.build(b.Tuple([total, b.Neg(total)]))
    collapsed = collapse_dimensions(computation)
    assert collapsed.groups == [(0,), (1, 2)]
    arguments = [rng.random(p.shape.dimensions) for p in computation.parameters]
    reshaped = [a.reshape(p.shape.dimensions) for a, p in zip(arguments, collapsed.computation.parameters)]
    for whole, flat in zip(evaluate(computation, *arguments), evaluate(collapsed.computation, *reshaped)):
        np.testing.assert_array_equal(whole.ravel(), flat.ravel())


# --- remainders ---


@pytest.mark.parametrize("element_type", [F32, F64, U8, S16, BF16, PRED, C64], ids=str)
def test_every_length_up_to_some_vectors(element_type):
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 130):
        b = XlaBuilder("f")
        x = b.parameter(Shape(element_type, (size,)))
        module = b.build_module(b.Rev(b.emit("select", b.Eq(x, x), x, x), dimensions=(0,)))
        array = rng.integers(0, 2, size).astype(element_type.dtype)
        (found,) = compile_and_run(module, array)
        np.testing.assert_array_equal(found.astype(np.complex128), array[::-1].astype(np.complex128))


def test_nothing_is_written_outside_of_the_result():
    for size in range(1, 40):
        b = XlaBuilder("f")
        x = b.parameter(Shape(F32, (size,)))
        executable = get_backend("cpu").compile(b.build_module(b.Neg(x)))
        argument = np.arange(size, dtype=np.float32)
        memory = np.full(size + 64, 7, np.float32)
        tables = [(ctypes.c_void_p * 1)(address) for address in (argument.ctypes.data, memory[32:].ctypes.data)]
        loaded = LoadedProgram(executable.program)
        kernel = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(loaded.kernel)
        assert kernel(*tables) == 0
        np.testing.assert_array_equal(memory[32 : 32 + size], -argument)
        assert (memory[:32] == 7).all() and (memory[32 + size :] == 7).all()


# --- turned tiles ---


@pytest.mark.parametrize("element_type", [F32, F64, U8, S16, BF16, PRED, C64, C128], ids=str)
def test_transposes(element_type):
    rng = np.random.default_rng(2)
    cases = [
        ((33, 65), (1, 0)),
        ((16, 16), (1, 0)),
        ((5, 20, 40), (0, 2, 1)),
        ((20, 3, 40), (2, 1, 0)),
        ((17, 16, 15, 18), (3, 1, 0, 2)),
    ]
    for dimensions, permutation in cases:
        b = XlaBuilder("f")
        module = b.build_module(b.Transpose(b.parameter(Shape(element_type, dimensions)), dimensions=permutation))
        array = rng.integers(0, 100, dimensions).astype(element_type.dtype)
        array = array + (1j * rng.integers(0, 100, dimensions)).astype(array.dtype) if element_type.is_complex else array
        (found,) = compile_and_run(module, array)
        assert found.tobytes() == np.ascontiguousarray(array.transpose(permutation)).tobytes()


def test_transposes_of_different_sizes_have_their_tiles_in_common():
    x, y = np.arange(33 * 65, dtype=np.float32).reshape(33, 65), np.arange(3 * 64 * 48, dtype=np.float32).reshape(3, 64, 48)
    compiled = jit(lambda x, y: (x.T.copy(), y.transpose(0, 2, 1).copy())).compile(x, y)
    for found, expected in zip(compiled(x, y), (x.T, y.transpose(0, 2, 1))):
        assert np.array_equal(found, expected)
    lines = compiled.executable.llvm_ir().splitlines()
    tiles = [line for line in lines if '@"phlox.transpose.' in line]
    assert [line.split()[0] for line in tiles].count("declare") == (host_target().lanes(4) >= 8)
    assert len(tiles) == 3 * (host_target().lanes(4) >= 8)


# --- reductions ---


def sum_of(array, dimensions):
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, array.shape))
    module = b.build_module(b.Reduce(x, b.constant(np.float32(0)), scalar_computation("add", F32), dimensions))
    return compile_and_run(module, array)[0]


@pytest.mark.parametrize("size", [100, 4096, 65537, 1_000_003])
def test_long_sums_are_at_least_as_accurate_as_pairwise_summation(size):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        array = rng.random(size, dtype=np.float32) * np.exp(rng.normal(size=size)).astype(np.float32)
        exact = math.fsum(array.astype(np.float64))
        pairwise_error = abs(float(np.sum(array)) - exact)
        assert abs(float(sum_of(array, (0,))) - exact) <= max(pairwise_error, 2 * np.spacing(np.float32(exact)))


def test_infinities_and_zeros_in_long_sums():
    array = np.ones(100_000, np.float32)
    array[777] = np.inf
    assert sum_of(array, (0,)) == np.inf
    array[888] = -np.inf
    assert np.isnan(sum_of(array, (0,)))
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (100_000,)))
    module = b.build_module(b.Reduce(x, b.constant(np.float32(-0.0)), scalar_computation("add", F32), (0,)))
    assert np.signbit(compile_and_run(module, np.full(100_000, -0.0, np.float32))[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extrema_of_zeros_and_nan(dtype):
    """+0 is larger than -0, and NaN wins, wherever they stand in a row."""
    row = np.full(150, -0.0, dtype)
    rows = [
        row,
        *(np.where(np.arange(150) == place, value, row) for place in (0, 1, 77, 149) for value in (0.0, 1, -1, np.nan)),
    ]
    table = np.array(rows, dtype)
    for found, is_largest in ((jit(lambda x: x.max(axis=1))(table), True), (jit(lambda x: x.min(axis=1))(-table), False)):
        expected = np.where(np.isnan(table).any(1), np.nan, np.sort(table, axis=1)[:, -1])
        expected = np.where(
            (expected == 0) & np.signbit(table).all(1), dtype(-0.0), np.where(expected == 0, dtype(0), expected)
        )
        expected = expected if is_largest else -expected
        np.testing.assert_array_equal(found, expected)
        is_number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, np.complex64, np.complex128, bool])
@pytest.mark.parametrize("step", [2, 3, 4, 5, -1, -2, -3, -4])
def test_elements_at_small_distances(dtype, step):
    """They are picked from vectors that are loaded whole, which may reach no farther than the array does."""
    rng = np.random.default_rng(step + 9)
    take = jit(lambda x: x[:, ::step].copy())
    for size in (3, 17, 64, 257):
        table = (rng.random((3, size)) * 50).astype(dtype)
        np.testing.assert_array_equal(take(table), table[:, ::step], strict=True)


@pytest.mark.parametrize("size", [65, 130, 300, 2047, 2048, 2049, 30011])
def test_truth_values_that_decide_early_or_late(size):
    def found(x, axis=None):
        return x.any(axis), x.all(axis), x.argmax(axis), x.argmin(axis)

    functions = [jit(found), jit(lambda x: found(x[:, 1:])), jit(lambda x: found(x, 0)), jit(lambda x: found(x, 1))]
    for value in (False, True):
        for place in (None, 0, 63, 64, 255, 256, 1023, 1024, 2046, size - 1):
            if place is not None and place >= size:
                continue
            x = np.full((3, size), value)
            if place is not None:
                x[1, place] = x[1, place:][-1] = not value
            for function in functions:
                for one, expected in zip(function(x), function.__wrapped__(x), strict=True):
                    np.testing.assert_array_equal(one, expected)


@pytest.mark.parametrize("shape", [(3000,), (5, 300)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint16])
def test_the_first_place_in_numbers_of_any_type(dtype, shape):
    def first(x):
        nowhere = np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
        return np.where(x > 0.99, np.arange(shape[-1], dtype=dtype), dtype(nowhere)).min(-1)

    x = np.random.default_rng(2).random(shape)
    np.testing.assert_array_equal(jit(first)(x), first(x), strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8, np.uint8, bool])
@pytest.mark.parametrize("size", [1, 7, 31, 32, 33, 150, 1003])
def test_positions_of_extrema(dtype, size):
    rng = np.random.default_rng(size)
    table = rng.integers(0, 7, (40, size)).astype(dtype)  # the extrema stand there several times
    if np.dtype(dtype).kind == "f":
        table[rng.random((40, size)) < 1 / size] = np.nan
    for name in ("argmax", "argmin"):
        expected = getattr(table, name)(axis=1)
        np.testing.assert_array_equal(jit(lambda x, name=name: getattr(x, name)(axis=1))(table), expected)
        np.testing.assert_array_equal(jit(lambda x, name=name: getattr(x, name)())(table), getattr(table, name)())


@pytest.mark.parametrize(
    "shape", [(9, 1000), (3, 40_000), (3, 70, 5000), (70, 3000), (2, 3, 400, 2, 30), (300, 3, 2), (1, 300, 1, 40, 1)], ids=str
)
def test_reductions_over_every_set_of_dimensions(shape):
    rng = np.random.default_rng(3)
    array = rng.integers(-50, 50, shape).astype(np.int32)
    for mask in range(1 << len(shape)):
        dimensions = tuple(d for d in range(len(shape)) if mask >> d & 1)
        b = XlaBuilder("f")
        x = b.parameter(Shape(S32, shape))
        module = b.build_module(b.Reduce(b.Neg(x), b.constant(np.int32(5)), scalar_computation("add", S32), dimensions))
        (found,) = compile_and_run(module, array)
        np.testing.assert_array_equal(found, 5 - array.sum(axis=dimensions, dtype=np.int32))


def test_an_init_value_that_is_no_identity_enters_once():
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (1000,)))
    module = b.build_module(b.Reduce(x, b.constant(np.float32(100)), scalar_computation("add", F32), (0,)))
    assert compile_and_run(module, np.ones(1000, np.float32))[0] == 1100


def test_an_array_in_another_order_enters_a_loop():
    """A loop's state lies in row-major order: the argument is copied into it."""
    x = np.arange(6.0).reshape(2, 3)
    step = jit(lambda x, n: fori_loop(0, n, lambda i, x: x * 2 + i, x), backend="cpu")
    for given in (x, np.asfortranarray(x)):
        np.testing.assert_array_equal(step(given, 2), (x * 2) * 2 + 1)


@pytest.mark.parametrize("sizes", [(3, 5), (37, 50), (16, 130), (1, 40), (40, 1)])
def test_elementwise_work_on_operands_that_lie_across(sizes):
    """A transposed operand, and one in column-major memory, beside one that lies as the result does."""
    random = np.random.default_rng(5)
    x, y = random.standard_normal(sizes[::-1]), random.standard_normal(sizes)
    f = jit(lambda x, y, z: x.T * y + z)
    np.testing.assert_array_equal(f(x, y, np.asfortranarray(y)), x.T * y + y)


def test_elementwise_work_across_the_middle_dimension():
    x = np.random.default_rng(6).standard_normal((4, 33, 50)).astype(np.float32)
    np.testing.assert_array_equal(jit(lambda x: x.transpose(0, 2, 1) + 1)(x), x.transpose(0, 2, 1) + 1)
    np.testing.assert_array_equal(jit(lambda x: x.transpose(2, 1, 0) + 1)(x), x.transpose(2, 1, 0) + 1)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 20), (0, 7, 1)])
def test_concatenated_pieces(axis, sizes):
    """Each piece has its own loops, fused with what computes it; pieces that take turns in a vector have one together."""
    random = np.random.default_rng(8)
    arrays = [random.standard_normal([size if d == axis else 20 for d in range(3)]) for size in sizes]
    f = jit(lambda *arrays: np.concatenate([x[::-1] * 2 for x in arrays], axis))
    np.testing.assert_array_equal(f(*arrays), np.concatenate([x[::-1] * 2 for x in arrays], axis))


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
def test_pieces_of_pieces(mode):
    x = np.random.default_rng(9).standard_normal((30, 40)).astype(np.float32)
    f = jit(lambda x: np.pad(x, ((2, 3), (5, 1)), mode=mode))
    np.testing.assert_array_equal(f(x), np.pad(x, ((2, 3), (5, 1)), mode=mode))


def long_lines():
    """Keys whose highest bits say all, little or nothing about their order, with and without equal ones."""
    random, size = np.random.default_rng(10), 3000
    near = 1 + np.arange(size)[::-1] * 2.0**-52
    yield "random", random.standard_normal(size)
    yield "close together", near
    yield "close together but one", np.where(np.arange(size) == 7, 1e300, near)
    yield "close together in places", np.where(random.random(size) < 0.01, random.standard_normal(size), near)
    yield "equal", np.ones(size)
    yield "zeros, infinities and NaN", random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -5e-324], size)
    yield "small integers", random.integers(-3, 900, size)
    yield "large integers", random.integers(-(2**62), 2**62, size)
    yield (
        "unsigned",
        np.where(np.arange(size) % 2, np.uint64(2**63), np.uint64(0)) + np.arange(size, dtype=np.uint64)[::-1] // 2,
    )
    yield "longer", np.concatenate([near] * 12)


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in long_lines()])
def test_long_lines_are_sorted_by_a_part_of_their_bits(line):
    """That of wide keys decides about almost all elements; where it does not, all bits do."""
    f = jit(lambda x: np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(f(line), np.argsort(line, kind="stable"))
    np.testing.assert_array_equal(
        jit(lambda x: np.argsort(x, axis=0, kind="stable"))(np.stack([line, line[::-1]], 1))[:, 0], f(line)
    )
