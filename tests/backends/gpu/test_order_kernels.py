"""Kernels that sort, scan and scatter, on more elements than a block has: against NumPy, twice the same."""

import numpy as np
import phlox
import pytest
from gpu_backends import launched
from operation_checks import module_of
from phlox.hlo import F32, PRED, S32, Builder, Shape, element_type_of, scalar_computation
from phlox.hlo.determinism import set_determinism
from phlox.hlo.operation import Sample

pytestmark = pytest.mark.of_gpus


@pytest.fixture
def random():
    return np.random.default_rng(7)


def kernels_of(executable):
    return [name.rpartition("_")[0] for name in launched(executable)]


@pytest.fixture
def run(backend):
    """The results of an operation, which are the same twice, and the kernels that compute them."""

    def run(opcode, operands, attributes):
        module = module_of(opcode, [Sample(operands, attributes)])[0]
        set_determinism(module, True)
        executable = backend.compile(module)
        first, second = ([np.asarray(result) for result in executable(*operands)] for _ in range(2))
        assert [one.tobytes() for one in first] == [one.tobytes() for one in second]
        return first, kernels_of(executable)

    return run


def comparator(element_types, write):
    b = Builder("comparator")
    return b.build(write(b, [b.parameter(Shape(t)) for t in element_types for _ in range(2)]))


def less(element_type, *others, type=""):
    return comparator([element_type, *others], lambda b, p: b.emit("compare", p[0], p[1], direction="LT", type=type))


def sorting(comparator, dimension=0):
    return {"dimensions": (dimension,), "is_stable": True, "to_apply": comparator}


@pytest.mark.parametrize("size", [2049, 20011])  # merged, and by digits
def test_numbers_are_sorted_stably(run, random, size):
    keys, places = random.integers(-99, 99, size).astype(np.int32), np.arange(size, dtype=np.int32)
    (first, second), kernels = run("sort", [keys, places], sorting(less(S32, S32)))
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(first, keys[order])
    np.testing.assert_array_equal(second, order)
    assert ("radix_move" in kernels) == (size > 20000) and ("merge" in kernels) == (size < 3000)


def test_lines_across_are_sorted(run, random):
    x = random.integers(-99, 99, (3, 2100, 2)).astype(np.float32)
    (found,), _ = run("sort", [x], sorting(less(F32, type="TOTALORDER"), 1))
    np.testing.assert_array_equal(found, np.sort(x, axis=1))


def test_two_keys_are_merged(run, random):
    first, second = random.integers(0, 9, (2, 5001)).astype(np.int32)

    def by_both(b, p):
        equal = b.emit("compare", p[0], p[1], direction="EQ")
        later = b.emit("and", equal, b.emit("compare", p[2], p[3], direction="GT"))
        return b.emit("or", b.emit("compare", p[0], p[1], direction="LT"), later)

    found, _ = run("sort", [first, second], sorting(comparator([S32, S32], by_both)))
    order = np.lexsort((-second, first))
    np.testing.assert_array_equal(found, [first[order], second[order]])


def test_what_no_order_compares_is_permuted(run, random):
    x = random.standard_normal(6001).astype(np.float32)
    x[::3], x[4000:] = np.nan, np.nan  # of which none is less than another, or than a number
    places = np.arange(6001, dtype=np.int32)
    (first, second), kernels = run("sort", [x, places], sorting(less(F32, S32)))
    assert "merge_repair" in kernels
    np.testing.assert_array_equal(np.sort(second), places)
    np.testing.assert_array_equal(first, x[second])


@pytest.mark.parametrize("k, kernel", [(7, "topk"), (1500, "sorted")])
def test_the_best_of_long_lines(run, random, k, kernel):
    x = random.integers(-99, 99, (2, 5003)).astype(np.int16)
    (elements, places), kernels = run("topk", [x], {"k": k, "largest": False, "is_stable": True})
    order = np.argsort(x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(elements, np.take_along_axis(x, order, 1))
    assert kernel in kernels


def scattering(element_type, combiner, window=(), inserted=(0,), indices=(0,), **stated):
    if isinstance(combiner, str):
        combiner = scalar_computation(combiner, element_type)
    numbers = {"update_window_dims": window, "inserted_window_dims": inserted, "scatter_dims_to_operand_dims": indices}
    numbers |= {"index_vector_dim": 1, "input_batching_dims": (), "scatter_indices_batching_dims": ()}
    return numbers | {"to_apply": combiner, "indices_are_sorted": False, "unique_indices": False} | stated


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint16"])
@pytest.mark.parametrize("ufunc, opcode", [(np.add, "add"), (np.maximum, "maximum"), (np.multiply, "multiply")])
def test_integers_are_combined_atomically(run, random, dtype, ufunc, opcode):
    x, places = random.integers(0, 5, 50).astype(dtype), random.integers(-3, 60, (3000, 1)).astype(np.int32)
    updates = random.integers(0, 5, 3000).astype(dtype)
    (found,), kernels = run("scatter", [x, places, updates], scattering(element_type_of(x.dtype), opcode))
    inside = (places[:, 0] >= 0) & (places[:, 0] < 50)
    expected = x.copy()
    ufunc.at(expected, places[inside, 0], updates[inside])
    np.testing.assert_array_equal(found, expected)
    assert kernels == ["scatter_atomic"]


@pytest.mark.parametrize("ufunc, opcode", [(np.add, "add"), (np.minimum, "minimum")])
def test_many_updates_of_few_integers_meet_in_blocks(run, random, ufunc, opcode):
    x, places = random.integers(-99, 99, 30), random.integers(-3, 40, (20000, 1)).astype(np.int32)
    updates = random.integers(-99, 99, 20000)
    (found,), kernels = run("scatter", [x, places, updates], scattering(element_type_of(x.dtype), opcode))
    inside = (places[:, 0] >= 0) & (places[:, 0] < 30)
    ufunc.at(x, places[inside, 0], updates[inside])
    np.testing.assert_array_equal(found, x)
    assert kernels == ["scatter_copies"]


@pytest.mark.parametrize("is_one_place", [True, False])
def test_floats_are_added_in_the_same_order_each_time(run, random, is_one_place):
    places = np.full((3000, 1), 3) if is_one_place else random.integers(-1, 60, (3000, 1))
    places, updates = places.astype(np.int32), random.integers(-9, 9, (3000, 5)).astype(np.float32)
    (found,), kernels = run("scatter", [np.ones((50, 5), np.float32), places, updates], scattering(F32, "add", (1,)))
    inside = (places[:, 0] >= 0) & (places[:, 0] < 50)
    expected = np.ones((50, 5), np.float32)
    np.add.at(expected, places[inside, 0], updates[inside])
    np.testing.assert_array_equal(found, expected)
    assert "scatter_reduce" in kernels


def test_windows_that_overlap(run, random):
    x, places = np.zeros((20, 30), np.float32), random.integers(-2, 30, (550, 2)).astype(np.int32)
    updates = random.integers(-9, 9, (550, 3, 4)).astype(np.float32)
    (found,), _ = run("scatter", [x, places, updates], scattering(F32, "subtract", (1, 2), (), (0, 1)))
    for (row, column), update in zip(places, updates):
        if 0 <= row <= 17 and 0 <= column <= 26:
            x[row : row + 3, column : column + 4] -= update
    np.testing.assert_array_equal(found, x)


def running(opcode, shape):
    b = Builder(f"running_{opcode}")
    element, carry = b.parameter(shape, "x"), b.parameter(shape, "carry")
    total = b.emit(opcode, carry, element)
    return b.build(b.emit("tuple", total, total))


@pytest.mark.parametrize("sizes, along, kernel", [
    ((70001,), 0, "scan_tiles"), ((4096,), 0, "scan_lines"), ((8193,), 0, "scan_tiles"), ((9, 4097), 1, "scan_tiles"),
    ((1100, 300), 1, "scan_lines"), ((900, 70), 0, "scan_tiles"), ((129, 32), 0, "scan_tiles"), ((128, 40), 0, "scan_lines"),
    ((2, 300, 33), 1, "scan_tiles"), ((7, 901, 3), 1, "scan_lines"), ((9, 40), 0, "scan"),
])  # fmt: skip
@pytest.mark.parametrize("is_reverse", [False, True])
def test_running_sums(run, random, sizes, along, kernel, is_reverse):
    x = random.integers(-9, 9, sizes).astype(np.int32)
    rest = sizes[:along] + sizes[along + 1 :]
    attributes = {"dimensions": (along,), "num_carries": 1, "is_reverse": is_reverse, "is_associative": ""}
    attributes["to_apply"] = running("add", Shape(S32, rest))
    (found, last), kernels = run("scan", [x, np.full(rest, 5, np.int32)], attributes)
    turned = np.flip(x, along) if is_reverse else x
    expected = np.cumsum(turned, axis=along, dtype=np.int32) + np.int32(5)
    np.testing.assert_array_equal(last, np.take(expected, -1, along))
    np.testing.assert_array_equal(found, np.flip(expected, along) if is_reverse else expected)
    assert [name for name in kernels if name.startswith("scan")] == [kernel]


def test_pairs_are_scanned_in_tiles(run, random):
    """Those of a recurrence ``y = a * y + b``, which are combined in any order."""
    a, b = random.integers(-2, 3, (2, 5003)).astype(np.int32)
    builder = Builder("recurrence")
    shape = Shape(S32)
    element_a, element_b, carry_a, carry_b = (builder.parameter(shape, name) for name in ("a", "b", "p", "q"))
    results = [
        builder.emit("multiply", carry_a, element_a),
        builder.emit("add", builder.emit("multiply", element_a, carry_b), element_b),
    ]
    step = builder.build(builder.emit("tuple", *results, *results))
    attributes = {"dimensions": (0,), "num_carries": 2, "is_reverse": False, "is_associative": "true", "to_apply": step}
    (_, found, _, last), kernels = run("scan", [a, b, np.int32(1), np.int32(0)], attributes)
    expected, y = np.empty_like(b), np.int32(0)
    with np.errstate(over="ignore"):
        for n in range(len(a)):
            expected[n] = y = a[n] * y + b[n]
    np.testing.assert_array_equal(found, expected)
    assert last == y and "scan_tiles" in kernels


def test_a_scan_in_logic(run, random):
    x = random.random(3001) < 0.001
    attributes = {"dimensions": (0,), "num_carries": 1, "is_reverse": False, "is_associative": ""}
    (found, last), _ = run("scan", [x, np.bool_(False)], attributes | {"to_apply": running("or", Shape(PRED))})
    np.testing.assert_array_equal(found, np.logical_or.accumulate(x))
    assert last == x.any()


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint64"])
def test_positions_that_are_sorted_along(backend, random, dtype):
    x = random.integers(0, 9, (300, 3)).astype(dtype)
    x[7] = 0 if x.dtype.kind != "f" else np.nan
    argsort = phlox.jit(lambda x: np.argsort(x, axis=0, kind="stable"), backend=backend.name)
    np.testing.assert_array_equal(argsort(x), np.argsort(x, axis=0, kind="stable"))
