"""Scatters whose results may differ from run to run, by atomic operations: exact on numbers whose sums are; their code."""

import re

import ml_dtypes
import numpy as np
import phlox
import pytest
from gpu_backends import AMD_ARCHITECTURES, DEVICES, PTX_ARCHITECTURES, backend_or_skip, target
from operation_checks import module_of
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.code_generation.compiling import assembly
from phlox.hlo import Builder, Shape, element_type_of, scalar_computation
from phlox.hlo.determinism import set_determinism
from phlox.hlo.operation import Sample
from phlox.hlo.window import WindowDimension
from ptx_assembler import assemble, find_ptxas
from thinning import one_in_all

pytestmark = pytest.mark.of_gpus

ORDERS = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
# The least subnormal number of each type.
LEAST = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}


def scattering(dtype, opcode, window=(), **stated):
    numbers = {"update_window_dims": window, "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}
    numbers |= {"index_vector_dim": 1, "input_batching_dims": (), "scatter_indices_batching_dims": ()}
    numbers |= {"to_apply": scalar_computation(opcode, element_type_of(dtype))}
    return numbers | {"indices_are_sorted": False, "unique_indices": False} | stated


def module_for(opcode, operands, attributes, is_deterministic=False):
    module = module_of(opcode, [Sample(operands, attributes)])[0]
    set_determinism(module, is_deterministic)
    return module


def kernels_of(program):
    return [step.kernel.rpartition("_")[0] for step in program.plan.steps if hasattr(step, "kernel")]


def scattered(x, places, updates, order):
    expected, inside = x.copy(), (places[:, 0] >= 0) & (places[:, 0] < len(x))
    order.at(expected, places[inside, 0], updates[inside])
    return expected


@pytest.fixture(params=DEVICES)
def run(request):
    backend = backend_or_skip(request.param)

    def run(opcode, operands, attributes):
        executable = backend.compile(module_for(opcode, operands, attributes))
        (found,) = [np.asarray(result) for result in executable(*operands)]
        return found, kernels_of(executable.program)

    return run


@pytest.fixture
def random():
    return np.random.default_rng(3)


@pytest.mark.parametrize(
    "dtype, opcode", [(dtype, opcode) for dtype in LEAST for opcode in ORDERS] + [("complex64", "add"), ("complex128", "add")]
)
def test_floats_are_combined_as_they_come(run, random, dtype, opcode):
    dtype = np.dtype(dtype)
    x, places = random.integers(-9, 9, 50).astype(dtype), random.integers(-3, 60, (700, 1)).astype(np.int32)
    updates = random.choice([1, -1, 2] if opcode == "multiply" else [0, 3, -4, 5], 700)
    if opcode == "multiply":  # what stays exact in each type
        updates = np.where(random.random(700) < 0.05, updates, 1)
    updates = updates.astype(dtype)
    found, kernels = run("scatter", [x, places, updates], scattering(dtype, opcode))
    np.testing.assert_array_equal(found, scattered(x, places, updates, ORDERS[opcode]))
    assert kernels == ["scatter_atomic"]


@pytest.mark.parametrize("opcode", ["maximum", "minimum"])
def test_nan_and_zeros_are_combined(run, opcode):
    x = np.array([0.0, -0.0, -0.0, 1, -np.nan, 2], np.float32)
    places = np.array([[0], [1], [2], [3], [4], [5]], np.int32)
    updates = np.array([-0.0, 0.0, -0.0, -np.nan, 7, np.inf], np.float32)
    found, _ = run("scatter", [x, places, updates], scattering(x.dtype, opcode))
    zero = 0.0 if opcode == "maximum" else -0.0
    expected = [zero, zero, -0.0, np.nan, np.nan, np.inf if opcode == "maximum" else 2]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:3]), np.signbit(expected[:3]))


@pytest.mark.parametrize("dtype", LEAST)
def test_subnormal_numbers_are_kept(run, dtype):
    least, dtype = LEAST[dtype], np.dtype(dtype)
    smallest = float(ml_dtypes.finfo(dtype).smallest_normal)
    x = np.array([least, 5 * least, smallest, 1, -0.0, 3 * least, 0], dtype)
    places = np.array([[0], [1], [2], [3], [4], [5], [6], [6]], np.int32)
    updates = np.array([least, -2 * least, -smallest / 2, least, -0.0, 0, smallest * 2, -smallest], dtype)
    found, _ = run("scatter", [x, places, updates], scattering(dtype, "add"))
    expected = np.array([2 * least, 3 * least, smallest / 2, 1, -0.0, 3 * least, smallest], dtype)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype, width", [("float32", 8), ("float32", 6), ("float16", 16), ("bfloat16", 8), ("float64", 3)])
@pytest.mark.parametrize("is_unique", [False, True])
def test_rows(run, random, dtype, width, is_unique):
    dtype = np.dtype(dtype)
    x = random.integers(-9, 9, (40, width)).astype(dtype)
    places = random.permutation(50)[:40] if is_unique else random.integers(-2, 45, 300)
    places = places[:, None].astype(np.int64)
    updates = random.choice([0, 1, -2], (len(places), width)).astype(dtype)
    found, _ = run("scatter", [x, places, updates], scattering(dtype, "add", (1,), unique_indices=is_unique))
    np.testing.assert_array_equal(found, scattered(x, places, updates, np.add))


@pytest.mark.parametrize("dtype, size", [("float32", 1), ("float32", 37), ("float64", 30)])
def test_many_updates_of_few_floats_meet_in_blocks(run, random, dtype, size):
    x, places = np.full(size, -0.0, dtype), random.integers(-3, size + 9, (20000, 1)).astype(np.int32)
    updates = random.integers(-9, 9, 20000).astype(dtype)
    updates[places[:, 0] == size - 1] = -0.0
    found, kernels = run("scatter", [x, places, updates], scattering(x.dtype, "add"))
    assert found.tobytes() == scattered(x, places, updates, np.add).tobytes()
    assert kernels == ["scatter_copies"]


@pytest.mark.parametrize("width, size", [((), 700), ((), 4), ((5,), 60)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_runs_of_places_in_order(run, random, dtype, width, size):
    x = random.integers(-9, 9, (size, *width)).astype(dtype)
    places = np.sort(random.integers(-2, size + 3, (1003, 1)), axis=0).astype(np.int32)
    updates = random.integers(-9, 9, (1003, *width)).astype(dtype)
    window = tuple(range(1, 1 + len(width)))
    found, kernels = run("scatter", [x, places, updates], scattering(x.dtype, "add", window, indices_are_sorted=True))
    np.testing.assert_array_equal(found, scattered(x, places, updates, np.add))
    assert kernels == ["scatter_sorted"]


def test_the_last_of_equal_places_wins(run, random):
    x, places = np.zeros(50, np.float32), random.integers(0, 50, (3000, 1)).astype(np.int32)
    updates = np.arange(3000, dtype=np.float32)
    taken = scattering(x.dtype, "add") | {"to_apply": second_of(x.dtype)}
    found, _ = run("scatter", [x, places, updates], taken)
    x[places[:, 0]] = updates
    np.testing.assert_array_equal(found, x)


def second_of(dtype):
    b = Builder("second")
    _, second = [b.parameter(Shape(element_type_of(dtype)), name) for name in "xy"]
    return b.build(second)


@pytest.mark.parametrize("dtype, opcode", [("float32", "add"), ("float16", "maximum"), ("complex64", "add"), ("int32", "add")])
def test_windows_that_overlap_send_what_they_select(run, random, dtype, opcode):
    dtype = np.dtype(dtype)
    x, sent = random.integers(-50, 50, (30, 41)).astype(dtype), random.integers(-9, 9, (28, 20)).astype(dtype)
    window = (WindowDimension(3), WindowDimension(3, stride=2))
    element_type = element_type_of(dtype)
    b = Builder("larger")
    first, second = [b.parameter(Shape(element_type), name) for name in "xy"]
    if dtype.kind == "c":
        first, second = b.emit("real", first), b.emit("real", second)
    select = b.build(b.emit("compare", first, second, direction="GE"))
    attributes = {"window": window, "select": select, "scatter": scalar_computation(opcode, element_type)}
    found, kernels = run("select-and-scatter", [x, sent, np.zeros((), dtype)], attributes)
    expected = np.zeros_like(x)
    for place in np.ndindex(sent.shape):
        row, column = place[0], 2 * place[1]
        best = np.argmax(x[row : row + 3, column : column + 3].real)
        best = row + best // 3, column + best % 3
        expected[best] = ORDERS[opcode](expected[best], sent[place])
    np.testing.assert_array_equal(found, expected)
    assert kernels == ["window_fill", "window_send"]


# --- code ---


def program_for(architecture, dtype, width, is_deterministic=False, operation="add"):
    dtype = np.dtype(dtype)
    x = np.zeros((1000, width) if width else 100_000, dtype)
    places, updates = np.zeros((2000, 1), np.int32), np.zeros((2000, *x.shape[1:]), dtype)
    attributes = scattering(dtype, operation, (1,) if width else ())
    return program_of(module_for("scatter", [x, places, updates], attributes, is_deterministic), target(architecture))


@pytest.mark.skipif(find_ptxas() is None, reason="there is no ptxas; pip install nvidia-cuda-nvcc brings it")
@pytest.mark.parametrize(
    "architecture, dtype, width, expected",
    [
        ("sm_80", "float32", 8, "atom.global.add.f32"),
        ("sm_80", "float64", 0, "atom.global.add.f64"),
        ("sm_80", "float16", 8, "red.relaxed.gpu.global.add.noftz.f16x2"),
        ("sm_80", "bfloat16", 0, "cas.b32"),
        ("sm_80", "complex64", 0, "atom.global.add.f32"),
        ("sm_90a", "float32", 8, "red.relaxed.gpu.global.add.v4.f32"),
        ("sm_90a", "float32", 6, "red.relaxed.gpu.global.add.v2.f32"),
        ("sm_90a", "float16", 8, "red.relaxed.gpu.global.add.noftz.v4.f16x2"),
        ("sm_90a", "bfloat16", 0, "red.relaxed.gpu.global.add.noftz.bf16x2"),
        ("sm_90a", "bfloat16", 16, "red.relaxed.gpu.global.add.noftz.v4.bf16x2"),
    ],
)
def test_instructions_of_nvidia(architecture, dtype, width, expected):
    program = program_for(architecture, dtype, width)
    assert expected in program.code.decode()
    (resources,) = assemble(program.code, architecture).values()
    assert not resources.spill_bytes and not resources.stack_bytes


@pytest.mark.parametrize(
    "architecture, dtype, expected",
    [
        ("gfx90a", "float32", "global_atomic_add_f32"),
        ("gfx90a", "float64", "global_atomic_add_f64"),
        ("gfx90a", "float16", "global_atomic_pk_add_f16"),
        ("gfx942", "float32", "global_atomic_add_f32"),
        ("gfx942", "float64", "global_atomic_add_f64"),
        ("gfx942", "bfloat16", "global_atomic_pk_add_bf16"),
        ("gfx1100", "float32", "global_atomic_add_f32"),
        ("gfx1100", "float64", "global_atomic_cmpswap_b64"),
    ],
)
def test_instructions_of_amd(architecture, dtype, expected):
    program = program_for(architecture, dtype, 8)
    text = assembly(program.llvm_ir, program.target)
    assert expected in text
    # What flushes subnormal numbers is for others alone.
    assert ("cmpswap" in text) == (architecture == "gfx90a" and dtype == "float32" or "cmpswap" in expected)


@pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)
@pytest.mark.parametrize("operation, dtype", one_in_all(2, ["maximum", "minimum", "add", "or"], ["int32", "uint64"]))
def test_integers_have_instructions_of_amd(architecture, operation, dtype):
    """LLVM writes loops for most of them, where it does not know that memory is the device's own."""
    program = program_for(architecture, dtype, 0, operation=operation)
    text = assembly(program.llvm_ir, program.target)
    assert "global_atomic" in text and "cmpswap" not in text


@pytest.mark.parametrize(
    "architecture, guess", [("sm_80", r"ld\.relaxed\.gpu"), ("gfx90a", r"global_load_dword .* glc"), ("gfx942", "sc1")]
)
def test_what_is_exchanged_is_read_atomically_first(architecture, guess):
    program = program_for(architecture, "int8", 0, operation="maximum")
    text = assembly(program.llvm_ir, program.target)
    assert "cas" in text or "cmpswap" in text
    assert re.search(guess, text)


@pytest.mark.parametrize("architecture", ["", *PTX_ARCHITECTURES, *AMD_ARCHITECTURES])
def test_what_is_the_same_from_run_to_run_is_sorted(architecture, monkeypatch):
    monkeypatch.setattr("phlox.backends.gpu.backend.compile_kernels", lambda llvm_ir, target: b"")
    kernels = kernels_of(program_for(architecture, "float32", 8, is_deterministic=True))
    assert "scatter_atomic" not in kernels and "scatter_reduce" in kernels
    assert kernels_of(program_for(architecture, "int32", 8, is_deterministic=True)) == ["scatter_atomic"]


# --- the setting ---


def add_at(x, places, updates):
    found = x.copy()
    np.add.at(found, places, updates)
    return found


OPERANDS = np.zeros(50, np.float32), np.arange(600) % 50, np.ones(600, np.float32)


def plan_of(function):
    return function.compile(*OPERANDS).as_text("plan")


def test_the_setting_of_a_function():
    backend_or_skip("opencl")
    assert "scatter_reduce" in plan_of(phlox.jit(add_at, deterministic=True, backend="opencl"))
    assert "scatter_atomic" in plan_of(phlox.jit(add_at, backend="opencl"))
    with phlox.config(deterministic=True):
        assert "scatter_reduce" in plan_of(phlox.jit(add_at, backend="opencl"))
        assert "scatter_atomic" in plan_of(phlox.jit(add_at, deterministic=False, backend="opencl"))
        loaded = phlox.load_hlo(phlox.jit(add_at, deterministic=False).lower(*OPERANDS).as_text(), backend="opencl")
        assert "scatter_atomic" in loaded.executable.as_text("plan")


@pytest.mark.parametrize("options", [{"backend": "opencl"}, {}])
def test_code_is_made_for_each_setting(options):
    backend_or_skip("opencl")
    function = phlox.jit(add_at, **options)
    operands = [phlox.device_put(one, "opencl") for one in OPERANDS]
    for asked in (False, True, False, True, True, False):
        with phlox.config(deterministic=asked):
            found = function(*operands)
        assert np.asarray(found).tolist() == [12] * 50
    info = function.cache_info()
    assert (info.misses, info.hits) == (2, 4)


def test_code_is_made_for_each_setting_where_the_environment_names_the_backend(monkeypatch):
    backend_or_skip("opencl")
    monkeypatch.setenv("PHLOX_BACKEND", "opencl")
    function = phlox.jit(add_at)
    for asked in (True, False, True, False):
        with phlox.config(deterministic=asked):
            assert function(*OPERANDS).tolist() == [12] * 50
    assert function.cache_info().misses == 2
