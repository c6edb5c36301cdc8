"""Gather and scatter, operation by operation: against the formal description, read index by index."""

from itertools import product

import numpy as np
import pytest
from cpu_passes import optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.compile.buffer_assignment import assign_buffers
from phlox.compile.copy_insertion import insert_copies
from phlox.hlo import F32, S32, S64, Shape, ShapeError, TupleShape, parse_module, scalar_computation
from phlox.xla_builder import XlaBuilder


def run(module, *arrays):
    """The result, which both backends agree on."""
    expected = get_backend("reference").compile(module)(*arrays)
    found = get_backend("cpu").compile(module)(*arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    return expected[0] if len(expected) == 1 else expected


# --- the formal description ---


class Numbers:
    """Dimension numbers drawn so that they fit together; sizes of operand, indices, windows and slices."""

    def __init__(self, draw):
        rank = draw(st.integers(0, 4))
        self.operand = [draw(st.integers(1, 4)) for _ in range(rank)]
        roles = [draw(st.sampled_from(["window", "removed", "batching"])) for _ in range(rank)]
        self.removed = [d for d in range(rank) if roles[d] == "removed"]
        self.operand_batching = [d for d in range(rank) if roles[d] == "batching"]
        self.window = [d for d in range(rank) if roles[d] == "window"]
        self.window_sizes = [draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, self.operand[d])) for d in self.window]
        free = [d for d in range(rank) if roles[d] != "batching"]
        self.index_map = draw(st.permutations(free))[: draw(st.integers(0, len(free)))]
        # The start indices: dimensions of their own and those of the batching, shuffled, then the index vector.
        own = [("own", draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 4))) for _ in range(draw(st.integers(0, 2)))]
        batch = draw(st.permutations(own + [(d, self.operand[d]) for d in self.operand_batching]))
        self.batch = [size for _, size in batch]
        place_of = {role: position for position, (role, _) in enumerate(batch) if role != "own"}
        implicit = len(self.index_map) == 1 and draw(st.booleans())
        self.vector = len(batch) if implicit else draw(st.integers(0, len(batch)))
        self.indices = list(self.batch)
        if not implicit:
            self.indices.insert(self.vector, len(self.index_map))
        shift = {p: p + (not implicit and p >= self.vector) for p in range(len(batch))}
        self.indices_batching = [shift[place_of[d]] for d in self.operand_batching]
        self.batch_position_of = place_of
        # The slices: window dimensions at these places, in order.
        count = len(batch) + len(self.window)
        self.offset = sorted(draw(st.permutations(range(count)))[: len(self.window)])
        windows, batches = iter(self.window_sizes), iter(self.batch)
        self.slices = [next(windows) if d in self.offset else next(batches) for d in range(count)]

    def start(self, indices, out):
        """The index vector S for an index into the slices, scattered into the operand's dimensions."""
        batch = [out[d] for d in range(len(self.slices)) if d not in self.offset]
        found = [0] * len(self.operand)
        for k, dimension in enumerate(self.index_map):
            where = list(batch)
            if len(self.indices) > len(self.batch):
                where.insert(self.vector, k)
            found[dimension] = int(indices[tuple(where)])
        for dimension in self.operand_batching:
            found[dimension] = batch[self.batch_position_of[dimension]]
        return found

    def inside(self, out):
        """The index inside of the window."""
        found = [0] * len(self.operand)
        for dimension, offset in zip(self.window, self.offset):
            found[dimension] = out[offset]
        return found

    @property
    def slice_sizes(self):
        sizes = [1] * len(self.operand)
        for dimension, size in zip(self.window, self.window_sizes):
            sizes[dimension] = size
        return sizes


NUMBERS = st.composite(lambda draw: Numbers(draw))()
INDEX_DTYPES = st.sampled_from([np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])


def draw_indices(data, numbers, dtype):
    low = 0 if np.dtype(dtype).kind == "u" else -3
    size = int(np.prod(numbers.indices))
    return np.array(data.draw(st.lists(st.integers(low, 5), min_size=size, max_size=size)), dtype).reshape(numbers.indices)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(NUMBERS, INDEX_DTYPES, st.data())
def test_gather_by_its_formal_description(numbers, index_dtype, data):
    operand = np.arange(np.prod(numbers.operand, dtype=int), dtype=np.float32).reshape(numbers.operand)
    indices = draw_indices(data, numbers, index_dtype)
    b = XlaBuilder("gather")
    x, i = b.parameter(hlo.shape_of(operand)), b.parameter(hlo.shape_of(indices))
    module = b.build_module(b.Gather(
        x, i, offset_dims=numbers.offset, collapsed_slice_dims=numbers.removed, start_index_map=numbers.index_map,
        operand_batching_dims=numbers.operand_batching, start_indices_batching_dims=numbers.indices_batching,
        index_vector_dim=numbers.vector, slice_sizes=numbers.slice_sizes,
    ))  # fmt: skip
    expected = np.zeros(numbers.slices, np.float32)
    for out in product(*map(range, numbers.slices)):
        starts = [
            min(max(start, 0), full - size)
            for start, full, size in zip(numbers.start(indices, out), numbers.operand, numbers.slice_sizes)
        ]
        expected[out] = operand[tuple(s + o for s, o in zip(starts, numbers.inside(out)))]
    assert parse_module(module.as_text()) == module
    np.testing.assert_array_equal(run(module, operand, indices), expected)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(NUMBERS, INDEX_DTYPES, st.sampled_from(["add", "subtract", "assign"]), st.data())
def test_scatter_by_its_formal_description(numbers, index_dtype, combine, data):
    operand = np.asarray(100 * np.arange(np.prod(numbers.operand, dtype=int), dtype=np.int32).reshape(numbers.operand))
    indices = draw_indices(data, numbers, index_dtype)
    updates = np.asarray(1 + np.arange(np.prod(numbers.slices, dtype=int), dtype=np.int32).reshape(numbers.slices))
    b = XlaBuilder("scatter")
    x, i, u = (b.parameter(hlo.shape_of(array)) for array in (operand, indices, updates))
    module = b.build_module(b.Scatter(
        x, i, u, assignment(S32) if combine == "assign" else scalar_computation(combine, S32),
        update_window_dims=numbers.offset, inserted_window_dims=numbers.removed,
        scatter_dims_to_operand_dims=numbers.index_map, input_batching_dims=numbers.operand_batching,
        scatter_indices_batching_dims=numbers.indices_batching, index_vector_dim=numbers.vector,
    ))  # fmt: skip
    expected = operand.copy()
    # In the order of the scatter indices: batch dimensions first, each window as a whole.
    batch_dims = [d for d in range(len(numbers.slices)) if d not in numbers.offset]
    for batch in product(*(range(numbers.slices[d]) for d in batch_dims)):
        pairs = []
        for window in product(*map(range, numbers.window_sizes)):
            where = dict(zip(batch_dims, batch)) | dict(zip(numbers.offset, window))
            place = tuple(where[d] for d in range(len(numbers.slices)))
            pairs.append((tuple(s + o for s, o in zip(numbers.start(indices, place), numbers.inside(place))), place))
        # A window that reaches over an edge is skipped, with what of it lies inside.
        if all(0 <= t < size for target, _ in pairs for t, size in zip(target, numbers.operand)):
            for target, place in pairs:
                old, new = expected[target], updates[place]
                expected[target] = {"add": old + new, "subtract": old - new, "assign": new}[combine]
    assert parse_module(module.as_text()) == module
    np.testing.assert_array_equal(run(module, operand, indices, updates), expected)


def assignment(element_type):
    b = XlaBuilder("assign")
    b.parameter(Shape(element_type), "current")
    return b.build(b.parameter(Shape(element_type), "update"))


def test_windows_over_the_edges_in_xla():
    """As XLA's CPU client has it: by jax.lax.scatter, windows of every size at every start around the edges."""
    jax = pytest.importorskip("jax")
    numbers = jax.lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
    names = {"update_window_dims": (1, 2), "inserted_window_dims": (), "scatter_dims_to_operand_dims": (0, 1)}
    operand = np.arange(12, dtype=np.float32).reshape(3, 4)
    starts = np.array(list(product(range(-2, 5), range(-2, 6))), np.int32)
    for sizes in ((1, 1), (2, 3), (3, 4), (1, 4), (3, 1)):
        updates = 1 + np.arange(len(starts) * np.prod(sizes), dtype=np.float32).reshape(len(starts), *sizes)
        b = XlaBuilder("windows")
        x, i, u = (b.parameter(hlo.shape_of(array)) for array in (operand, starts, updates))
        module = b.build_module(b.Scatter(x, i, u, scalar_computation("add", F32), index_vector_dim=1, **names))
        wanted = jax.lax.scatter_add(operand, starts, updates, numbers, mode="drop")
        np.testing.assert_array_equal(run(module, operand, starts, updates), wanted)


# --- the builder ---


def test_names_before_the_rename_of_2018_are_aliases():
    old = {"output_window_dims": (1,), "elided_window_dims": (0,), "gather_dims_to_operand_dims": (0,), "window_bounds": (1, 3)}
    new = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "slice_sizes": (1, 3)}
    modules = []
    for names in (old, new):
        b = XlaBuilder("rows")
        x, i = b.parameter(Shape(F32, (5, 3))), b.parameter(Shape(S32, (4,)))
        modules.append(b.build_module(b.Gather(x, i, index_vector_dim=1, **names)))
    assert modules[0] == modules[1]
    with pytest.raises(ShapeError, match="window_bounds is an older name of slice_sizes"):
        b.Gather(x, i, index_vector_dim=1, **new, window_bounds=(1, 3))


def test_start_indices_far_outside_neither_wrap_nor_trap():
    b = XlaBuilder("far")
    x, i, u = b.parameter(Shape(F32, (4, 6))), b.parameter(Shape(S64, (5, 2))), b.parameter(Shape(F32, (5, 2, 3)))
    windows = {"index_vector_dim": 1, "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1)}
    gathered = b.Gather(x, i, slice_sizes=(2, 3), **windows)
    scattered = b.Scatter(
        x, i, u, scalar_computation("add", F32), update_window_dims=(1, 2), inserted_window_dims=(),
        scatter_dims_to_operand_dims=(0, 1), index_vector_dim=1,
    )  # fmt: skip
    module = b.build_module(b.Tuple([gathered, scattered]))
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    indices = np.array([[low, 0], [high, 0], [0, low], [low + 1, high], [high - 1, -1]])
    slices, updated = run(module, array, indices, np.ones((5, 2, 3), np.float32))
    starts = [(0, 0), (2, 0), (0, 0), (0, 3), (2, 0)]
    np.testing.assert_array_equal(slices, [array[r : r + 2, c : c + 3] for r, c in starts])
    np.testing.assert_array_equal(updated, array)


# --- the text ---

GATHER_OF_JAX = """HloModule jit__lambda, entry_computation_layout={(f32[5,7]{1,0}, s32[5,2]{1,0})->f32[5,2]{1,0}}

ENTRY main.2 {
  Arg_0.1 = f32[5,7]{1,0} parameter(0)
  Arg_1.1 = s32[5,2]{1,0} parameter(1)
  reshape.1 = s32[5,2,1]{2,1,0} reshape(Arg_1.1)
  ROOT gather.1 = f32[5,2]{1,0} gather(Arg_0.1, reshape.1), ATTRIBUTES
}
"""
GATHER_ATTRIBUTES = (
    "offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
    "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1}"
)
SCATTER_OF_JAX = """HloModule jit__lambda, entry_computation_layout={(f32[5,7]{1,0}, s32[2]{0})->f32[5,7]{1,0}}

region_0.1 {
  scatter-add.2 = f32[] parameter(0)
  scatter-add.3 = f32[] parameter(1)
  ROOT add.2 = f32[] add(scatter-add.2, scatter-add.3)
}

ENTRY main.2 {
  x.1 = f32[5,7]{1,0} parameter(0)
  i.1 = s32[2]{0} parameter(1)
  broadcast_in_dim.1 = s32[2,1]{1,0} reshape(i.1)
  constant.3 = f32[] constant(1)
  broadcast.3 = f32[2,7]{1,0} broadcast(constant.3), dimensions={}
  ROOT scatter-add.5 = f32[5,7]{1,0} scatter(x.1, broadcast_in_dim.1, broadcast.3), ATTRIBUTES
}
"""
SCATTER_ATTRIBUTES = (
    "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
    "indices_are_sorted=true, unique_indices=true, to_apply="
)


def test_modules_of_jax():
    """The attributes as XLA writes them are read, and written again alike."""
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    module = parse_module(GATHER_OF_JAX.replace("ATTRIBUTES", GATHER_ATTRIBUTES))
    assert GATHER_ATTRIBUTES in module.as_text()
    chosen = np.array([[0, 6], [3, 3], [1, 2], [5, 4], [6, 0]], np.int32)
    np.testing.assert_array_equal(run(module, x, chosen), [[x[r, c] for c in row] for r, row in enumerate(chosen)])
    module = parse_module(SCATTER_OF_JAX.replace("ATTRIBUTES", SCATTER_ATTRIBUTES + "region_0.1"))
    assert SCATTER_ATTRIBUTES + "%region_0.1" in module.as_text()
    expected = x.copy()
    expected[1] += 1
    expected[4] += 1
    np.testing.assert_array_equal(run(module, x, np.array([1, 4], np.int32)), expected)


# --- native code ---


def test_a_gather_is_computed_inside_its_users_and_computes_its_operands_inside():
    b = XlaBuilder("chain")
    x, i = b.parameter(Shape(F32, (300,))), b.parameter(Shape(S32, (300,)))
    rows = {"offset_dims": (), "collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": 1}
    gathered = b.Gather(b.Neg(x), b.Add(i, i), slice_sizes=(1,), **rows)
    module = b.build_module(b.Mul(gathered, gathered))
    opcodes = [instruction.opcode for instruction in optimize(module).entry.instructions]
    assert opcodes == ["parameter", "parameter", "fusion"]
    index = np.arange(300, dtype=np.int32) // 2
    values = np.linspace(-1, 1, 300, dtype=np.float32)
    np.testing.assert_array_equal(run(module, values, index), values[2 * index] ** 2)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order(order):
    """Operands in column-major order are read where they are."""
    x = np.asarray(np.arange(600, dtype=np.float32).reshape(20, 30), order=order)
    layout = hlo.shape_of(x) if order == "C" else Shape(F32, (20, 30), hlo.Layout((0, 1)))
    b = XlaBuilder("memory")
    p, i = b.parameter(layout), b.parameter(Shape(S64, (50,)))
    rows = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": 1}
    gathered = b.Gather(p, i, slice_sizes=(1, 30), **rows)
    names = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    scattered = b.Scatter(p, i, gathered, scalar_computation("add", F32), index_vector_dim=1, **names)
    index = np.arange(50) * 7 % 20
    found, updated = run(b.build_module(b.Tuple([gathered, scattered])), x, index)
    np.testing.assert_array_equal(found, x[index])
    expected = np.array(x, order="C")
    np.add.at(expected, index, x[index])
    np.testing.assert_array_equal(updated, expected)


def loop_with_scatter(update_of):
    """A module that in each of 5 rounds scatters into its one array."""
    array, count = Shape(F32, (1000,)), Shape(S64)
    state_shape = TupleShape((count, array))
    b = XlaBuilder("condition")
    condition = b.build(b.Lt(b.GetTupleElement(b.parameter(state_shape), 0), b.constant(np.int64(5))))
    b = XlaBuilder("body")
    state = b.parameter(state_shape)
    number, current = b.GetTupleElement(state, 0), b.GetTupleElement(state, 1)
    points = {"update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    index = b.Reshape(number, (1,))
    updated = b.Scatter(current, index, update_of(b, current), scalar_computation("add", F32), index_vector_dim=1, **points)
    body = b.build(b.Tuple([b.Add(number, b.constant(np.int64(1))), updated]))
    b = XlaBuilder("main")
    loop = b.While(condition, body, b.Tuple([b.constant(np.int64(0)), b.parameter(array)]))
    return b.build_module(b.GetTupleElement(loop, 1))


def test_a_scatter_in_a_loop_works_in_place():
    module = loop_with_scatter(lambda b, current: b.Add(b.Slice(current, [7], [8]), b.constant(np.float32([1]))))
    prepared = insert_copies(optimize(module))
    assignment = assign_buffers(prepared, lambda instruction: 0, 64)
    (state,) = assignment.loops.values()
    assert not state.seconds
    assert assignment.arena_size < 1000
    x = np.arange(1000, dtype=np.float32)
    expected = x.copy()
    expected[:5] += 8
    np.testing.assert_array_equal(run(module, x), expected)


def test_a_scatter_whose_operand_is_read_afterwards_leaves_it_alone():
    b = XlaBuilder("main")
    x, i, u = (b.parameter(Shape(t, (n,))) for t, n in ((F32, 500), (S32, 3), (F32, 3)))
    y = b.Add(x, x)
    points = {"update_window_dims": (), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    scattered = b.Scatter(y, i, u, assignment(F32), index_vector_dim=1, **points)
    module = b.build_module(b.Tuple([b.Neg(scattered), b.Dot(y, y)]))
    values = np.arange(500, dtype=np.float32) % 8
    expected = 2 * values
    expected[[3, 9, 3]] = [-1, -2, -3]
    negated, total = run(module, values, np.array([3, 9, 3], np.int32), np.float32([-1, -2, -3]))
    np.testing.assert_array_equal(negated, -expected)
    assert total == np.dot(2 * values, 2 * values)
