"""Scans by look-back and sorts by digits: sizes around those of tiles, all types, and the same results each time.

Kernels whose threads tell each other what they have by shuffles and ballots are interpreted; OpenCL runs those without.
"""

import numpy as np
import phlox
import pytest
from gpu_backends import AMD_ARCHITECTURES, DEVICES, PTX_ARCHITECTURES, backend_or_skip, target
from opencl_device import opencl_driver
from phlox.backends.gpu.backend import GpuBackend, program_of
from phlox.backends.gpu.emitter_table import scratch_bytes
from phlox.backends.gpu.frame import ALIGNMENT, Frame
from phlox.backends.gpu.kernels.look_back import TileWords
from phlox.backends.gpu.pipeline import PIPELINE
from phlox.backends.gpu.plan import Launch, While
from phlox.compile.buffer_assignment import assign_buffers
from phlox.compile.pass_manager import run_steps
from ptx_assembler import assemble, find_ptxas
from thinning import left_to_ci, one_in, one_in_all
from warp_interpreter import run_program

TILE = 4096  # of elements of four bytes


def running_sum(x):
    return np.cumsum(x, dtype=x.dtype)


def running_sum_of_columns(x):
    return np.cumsum(x, axis=0)


def greatest_so_far(x):
    return np.maximum.accumulate(x)


def sort(x):
    return np.sort(x)


def order(x):
    return np.argsort(x, kind="stable")


def module_of(function, *arguments):
    return phlox.jit(function).lower(*arguments).module


def kernels_of(plan):
    return {step.kernel.rpartition("_")[0] for step in plan.steps if isinstance(step, Launch)}


@pytest.fixture(scope="module", params=DEVICES)
def device(request):
    """OpenCL's as one of work-items without sub-groups, whatever it is."""
    if request.param != "opencl":
        return backend_or_skip(request.param)
    return GpuBackend("opencl", opencl_driver().open(0), target(""))


@pytest.fixture
def random():
    return np.random.default_rng(11)


def check(device, function, x, kernel, times=2):
    executable = device.compile(module_of(function, x))
    assert kernel in kernels_of(executable.program.plan)
    results = [np.asarray(executable(x)[0]) for _ in range(times)]
    np.testing.assert_array_equal(results[0], function(x))
    assert {result.tobytes() for result in results} == {results[0].tobytes()}


@pytest.mark.parametrize(
    "size", one_in(2, [TILE + 1, 8 * TILE - 1, 8 * TILE, 8 * TILE + 1, 9 * TILE, 64 * TILE + 1, 73 * TILE])
)
def test_sums_of_many_tiles(device, random, size):
    check(device, running_sum, random.integers(-9, 9, size).astype(np.int32), "scan_tiles")


@pytest.mark.parametrize("sizes", one_in(4, [(1025, 33), (129, 32), (1024, 95), (9000, 40)]))
def test_sums_of_columns_of_many_tiles(device, random, sizes):
    check(device, running_sum_of_columns, random.integers(-9, 9, sizes).astype(np.int64), "scan_tiles")


@pytest.mark.parametrize(
    "dtype", one_in(4, ["int8", "uint16", "uint64", "float16", "float32", "float64", "complex64", "complex128"])
)
def test_sums_of_all_types(device, random, dtype):
    """Of so few ones that all types have their sums exactly, or wrap around."""
    check(device, running_sum, (random.random(9001) < 0.1).astype(dtype), "scan_tiles")


@pytest.mark.parametrize("dtype", one_in(5, ["bool", "int64", "float16", "float32", "float64"]))
def test_extrema_of_all_types(device, random, dtype):
    check(device, greatest_so_far, random.integers(-99, 99, 20001).astype(dtype), "scan_tiles")


SORTED = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", one_in(11, SORTED, ci_step=2))
def test_sorts_of_all_types(device, random, dtype):
    """Each in one of the two ways: positions are moved as values are."""
    function = (sort, order)[SORTED.index(dtype) % 2]
    size = 40001 if np.dtype(dtype).itemsize == 8 else 20481
    if dtype[0] == "f":
        x = random.standard_normal(size).astype(dtype)
        x[::5], x[1::50], x[2::50], x[3], x[4] = np.nan, 0.0, -0.0, np.inf, -np.inf
    else:
        info = np.iinfo(dtype) if dtype != "bool" else None
        x = random.integers(info.min, info.max, size, dtype=dtype) if info else random.integers(0, 2, size).astype(bool)
    check(device, function, x, "radix_move")


@pytest.mark.parametrize("size", one_in(5, [8193, 4097, 6144, 8191, 8192]))
def test_sorts_around_tiles(device, random, size):
    check(device, order, random.integers(0, 7, size).astype(np.uint8), "radix_move")


def scanned_until_small(x):
    rounds = 0
    while x.max() > 3 and rounds < 20:
        x = np.cumsum(x, dtype=x.dtype) % 1009
        rounds += 1
    return x


@pytest.mark.parametrize("size, kernel", [(9000, "loop"), (200000, "scan_tiles")])
def test_scans_inside_of_loops(device, random, size, kernel):
    """In one kernel, whose phases fill memory, too; and in rounds that run ahead of what is known."""
    x = random.integers(0, 9, size).astype(np.int32)
    executable = device.compile(module_of(scanned_until_small, x))
    (loop,) = [step for step in executable.program.plan.steps if isinstance(step, While)]
    assert loop.runs_ahead == (kernel == "scan_tiles")
    assert any(isinstance(step, Launch) and step.kernel.startswith(kernel) for step in loop.body)
    np.testing.assert_array_equal(np.asarray(executable(x)[0]), scanned_until_small(x))


def test_many_lines_are_sorted_by_digits(device, random):
    """Each of them is one tile, which looks at no other."""
    check(device, sort, random.integers(-128, 128, (520, 2049)).astype(np.int8), "radix_move", times=1)


@left_to_ci
@pytest.mark.parametrize("function, x", [
    (running_sum, (np.arange(40 * TILE) % 1013).astype(np.float32) / 7),
    (running_sum_of_columns, (np.arange(5000 * 40) % 1013).reshape(5000, 40).astype(np.float64) / 7),
    (order, (np.arange(60000) * 7919 % 251).astype(np.uint8)),
    (sort, (np.arange(60000) * 7919 % 60013).astype(np.int32)),
])  # fmt: skip
def test_results_are_the_same_each_time(pytestconfig, device, function, x):
    """A thousand times, of which a processor, whose threads meet in fewer orders, does a part, and a device without any few."""
    times = 10 if pytestconfig.getoption("--emulated") else {"opencl": 250, "fibers": 5}.get(device.name, 1000)
    executable = device.compile(module_of(function, x))
    first = np.asarray(executable(x)[0]).tobytes()
    assert all(np.asarray(executable(x)[0]).tobytes() == first for _ in range(times))


WARPS = {
    "sums_s64": (running_sum, np.arange(2 * TILE + 5) % 7, "scan_tiles"),
    "columns_s32": (running_sum_of_columns, (np.arange(9000) % 11).reshape(250, 36).astype(np.int32), "scan_tiles"),
    "order_s8": (order, (np.arange(4500) * 7919 % 13).astype(np.int8), "radix_move"),
    "sort_u8": (sort, (np.arange(4500) * 7919 % 251).astype(np.uint8), "radix_move"),
    "sums_s32": (running_sum, (np.arange(34 * TILE) % 7 - 3).astype(np.int32), "scan_tiles"),
    "greatest_s32": (greatest_so_far, (np.arange(2 * TILE + 1) * 7919 % 5003).astype(np.int32), "scan_tiles"),
    "sort_s64": (sort, np.arange(33000) * 7919 % 50021 - 9999, "radix_move"),
    "order_f32": (order, (np.arange(16500) * 7919 % 97).astype(np.float32) - 50, "radix_move"),
}


@pytest.mark.parametrize("name, architecture", one_in_all(5, WARPS, ["sm_80", "gfx942", "gfx1100"]))
def test_threads_that_tell_each_other_what_they_have(name, architecture):
    (function, x, kernel), device = WARPS[name], target(architecture)
    prepared = dict(run_steps(module_of(function, x), PIPELINE))["insert-copies"]
    frame = Frame(prepared, assign_buffers(prepared, scratch_bytes, ALIGNMENT), device)
    plan, expected = frame.emit(), function(x)
    assert kernel in kernels_of(plan)
    (found,) = run_program(plan, frame.kernels.llvm, [x], [(expected.shape, expected.dtype)], lanes=device.sub_group)
    np.testing.assert_array_equal(found, expected)


MANY = 1 << 22
HOT = {
    "sums_f32": (running_sum, np.empty(MANY, np.float32)),
    "sums_f64": (running_sum, np.empty(MANY, np.float64)),
    "sums_c128": (running_sum, np.empty(MANY, np.complex128)),
    "columns_f32": (running_sum_of_columns, np.empty((MANY // 64, 64), np.float32)),
    "sort_f32": (sort, np.empty(MANY, np.float32)),
    "sort_f64": (sort, np.empty(MANY, np.float64)),
    "order_f32": (order, np.empty(MANY, np.float32)),
    "order_f64": (order, np.empty(MANY, np.float64)),
}


@pytest.mark.skipif(find_ptxas() is None, reason="there is no ptxas; pip install nvidia-cuda-nvcc brings it")
@pytest.mark.parametrize("name, architecture", one_in_all(5, HOT, PTX_ARCHITECTURES, ci_step=3))
def test_nothing_is_spilled(name, architecture):
    found = assemble(program_of(module_of(*HOT[name]), target(architecture)).code, architecture)
    assert found and not {kernel: one for kernel, one in found.items() if one.spill_bytes or one.stack_bytes}


@pytest.mark.parametrize("name, architecture", one_in_all(7, HOT, AMD_ARCHITECTURES))
def test_there_is_code_for_amd(name, architecture):
    assert program_of(module_of(*HOT[name]), target(architecture)).code


def test_groups_of_tiles():
    assert TileWords(1, 1, 1).levels == []
    assert TileWords(1, 8, 1).levels == [8]
    assert TileWords(3, 65, 2).levels == [65, 8, 1]
    assert TileWords(3, 65, 2).count == 74 * 3 * 2
    assert TileWords(1, 1024, 1, fan_out=32).levels == [1024, 32]


def test_words_that_spirv_waits_for_are_exchanged():
    # LLVM writes loads and stores that are atomic as plain ones in SPIR-V, which drivers may move out of loops.
    prepared = dict(run_steps(module_of(running_sum, np.ones(5 * TILE, np.int32)), PIPELINE))["insert-copies"]
    frame = Frame(prepared, assign_buffers(prepared, scratch_bytes, ALIGNMENT), target(""))
    frame.emit()
    code = str(frame.kernels.llvm)
    assert "cmpxchg" in code and "load atomic" not in code and "store atomic" not in code
