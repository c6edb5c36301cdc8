"""The kernels of OpenCL devices that are processors: the CPU backend's nests, a piece a block."""

import ctypes
import mmap
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox import jit
from phlox.backends.cpu import region_functions
from phlox.backends.cpu.nest_samples import SAMPLES
from phlox.backends.cpu.regions import loop
from phlox.backends.gpu import frame
from phlox.backends.gpu.backend import TARGET_OF
from phlox.backends.gpu.drivers.driver import DeviceProperties
from phlox.backends.gpu.drivers.huge_pages import ask_for_huge_pages
from phlox.backends.gpu.plan import Launch, While
from phlox.backends.registry import get_backend, in_place_of
from phlox.hlo import parse_module
from phlox.random import Generator
from sample_values import whole_numbers
from thinning import left_to_ci, one_in

# LAPACK's are the host's.
ELSEWHERE = {"small_solve"}
NESTS = [sample for sample in SAMPLES if sample.nest.__module__.rpartition(".")[2] not in ELSEWHERE]


@pytest.fixture
def backend():
    return processor_backend()


def assert_as_the_reference(backend, sample):
    random, module = np.random.default_rng(0), sample.module
    arguments = [whole_numbers(parameter.shape, random) for parameter in module.entry.parameters]
    found, expected = backend.compile(module)(*arguments), get_backend("reference").compile(module)(*arguments)
    for one, other in zip(found, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype and one.shape == other.shape
        largest = np.abs(other[np.isfinite(other)]).max(initial=0)
        np.testing.assert_allclose(one, other, rtol=0, atol=sample.tolerance * largest)


@pytest.mark.parametrize("sample", one_in(8, NESTS, ci_step=3), ids=lambda sample: sample.nest.__qualname__)
def test_nest(backend, sample):
    assert_as_the_reference(backend, sample)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
@pytest.mark.parametrize("convert", [
    lambda x: x.astype(np.float64), lambda x: x[::-1].astype(np.float64), lambda x: x.astype(np.float32),
])  # fmt: skip
def test_words_in_two_lanes_as_floats(backend, convert, dtype):
    x = np.array([3, 5], dtype)
    (found,) = backend.compile(parse_module(jit(convert).lower(x).as_text()))(x)
    np.testing.assert_array_equal(found, convert(x))


def test_many_arguments_are_few_parameters(backend):
    """Sixteen addresses are one, be they set by the thread that runs the kernel or for the queue."""
    arguments = list(np.arange(20 * 3.0).reshape(20, 3))
    module = parse_module(jit(lambda *given: [each + given[-1] for each in given]).lower(*arguments).as_text())
    executable = backend.compile(module)
    assert [(len(step.arguments), step.grid) for step in executable.program.plan.steps] == [(40, (1, 1, 1))]
    assert [kernel.parameters for kernel in executable._kernels.values()] == [3]
    expected = [each + arguments[-1] for each in arguments]
    np.testing.assert_array_equal(executable(*arguments), expected)
    buffers = [backend.memory.share(each) for each in arguments]
    backend.device.asked.more()
    np.testing.assert_array_equal([backend.memory.read(one) for one in executable.execute(buffers)], expected)


@pytest.mark.parametrize("before, size, behind", [(0, 2, 40), (3, 9, 30), (21, 1, 0), (17, 20, 18)])
def test_vectors_that_are_partly_outside_of_a_padded_array(backend, before, size, behind):
    """Where they begin is moved beside the array, and no lane of it with them."""
    x = np.arange(1.0, size + 1)
    padded = parse_module(jit(lambda x: np.pad(x, (before, behind)) * 2).lower(x).as_text())
    np.testing.assert_array_equal(backend.compile(padded)(x)[0], np.pad(x, (before, behind)) * 2)


@pytest.mark.parametrize("sample", one_in(8, NESTS[::-1], ci_step=3), ids=lambda sample: sample.nest.__qualname__)
def test_nest_in_pieces(backend, sample, monkeypatch):
    """However little it does."""
    monkeypatch.setattr(region_functions, "_LEAST_NANOSECONDS", 1)
    monkeypatch.setattr(frame, "is_soon_done", lambda program: False)
    assert_as_the_reference(backend, sample)


@pytest.mark.parametrize(("size", "is_divided"), [(100_000, False), (1_000_000, True)])
def test_what_other_threads_would_be_too_late_for_is_not_divided(backend, size, is_divided):
    with in_place_of("opencl", backend):
        plan = jit(lambda x: x * 2, backend="opencl").compile(np.ones(size, np.float32)).executable.program.plan
    assert (max(step.grid[0] for step in plan.steps if isinstance(step, Launch)) > 1) is is_divided


def test_loops_and_reductions_are_kernels_of_one_thread_a_block(backend):
    with in_place_of("opencl", backend):
        compiled = jit(lambda x: np.exp(x - x.max(axis=1, keepdims=True)), backend="opencl").compile(np.ones((2000, 500)))
    launches = [step for step in compiled.executable.program.plan.steps if isinstance(step, Launch)]
    assert launches and all(launch.block == (1, 1, 1) for launch in launches)
    assert max(launch.grid[0] for launch in launches) > 1
    assert "<8 x double>" in compiled.executable.as_text("llvm") or backend.target.processor.vector_bytes < 64


def test_a_loop_over_small_arrays_is_one_kernel_of_one_thread(backend):
    def smooth(x):
        for _ in range(100):
            x = x * 0.5 + np.roll(x, 1) * x.sum()
        return x

    with in_place_of("opencl", backend):
        plan = jit(smooth, backend="opencl").compile(np.ones(50)).executable.program.plan
    assert [step.block for step in plan.steps if isinstance(step, Launch)] == [(1, 1, 1)]
    assert not any(isinstance(step, While) for step in plan.steps)


def test_a_loop_over_elements_is_one_kernel_which_keeps_numbers_in_registers(backend):
    """Also where a loop is in a loop, and where a number is needed by two that are computed with it."""

    def edit_distance(a, b):
        above = np.arange(len(b) + 1)
        for i in range(len(a)):
            row = np.zeros(len(b) + 1, np.int64)
            row[0] = i + 1
            for j in range(len(b)):
                replaced = above[j] + (a[i] != b[j])
                row[j + 1] = min(replaced, above[j + 1] + 1, row[j] + 1)
            above = row
        return above[-1]

    a, b = np.random.default_rng(0).integers(0, 4, (2, 30))
    with in_place_of("opencl", backend):
        compiled = jit(edit_distance, backend="opencl")
        assert compiled(a, b) == edit_distance(a, b)
        plan = compiled.compile(a, b).executable.program.plan
    (launch,) = plan.steps
    # Two rows and an element that is written; i and j, what follows them, and the last element.
    assert len([place for place in launch.arguments if place.region == "temporary"]) <= 3 + 6, plan.as_text()


def test_memory_that_nothing_lies_in_is_not_asked_for(backend):
    """The rows that a triangular solve needs meanwhile are those of its block."""
    text = """ENTRY main {
      a = f64[3,3] parameter(0)
      b = f64[3,3] parameter(1)
      ROOT x = f64[3,3] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
    }"""
    assert backend.compile(parse_module(text)).program.plan.temporary_bytes == 0


@pytest.mark.parametrize("given", ["cpu", "1"])
def test_which_kernels_processors_run(given, monkeypatch):
    properties = DeviceProperties("a processor", "", 1 << 30, 2, 1, 1 << 15, 256, is_processor=True)
    monkeypatch.setenv("PHLOX_OPENCL_KERNELS", "gpu")
    assert TARGET_OF["opencl"](properties).processor is None
    monkeypatch.delenv("PHLOX_OPENCL_KERNELS")
    assert TARGET_OF["opencl"](properties).processor is not None
    assert TARGET_OF["opencl"](replace(properties, is_processor=False)).processor is None
    monkeypatch.setenv("PHLOX_OPENCL_KERNELS", given)
    with pytest.raises(ValueError, match=f"PHLOX_OPENCL_KERNELS requires 'gpu', or nothing; given '{given}'"):
        TARGET_OF["opencl"](properties)


# Vectors by masks that are known, that programs compute, and of elements that lie apart.
MASKED = {
    "row that ends early": lambda x: x[:, :13].sum(axis=1),
    "padded": lambda x: np.pad(x, ((1, 2), (3, 4))),
    "joined": lambda x: np.concatenate([x, x[:, :3]], axis=1) + 1,
    "every third": lambda x: x[:, ::3] * 2,
    "backwards": lambda x: x[:, ::-1] - x,
    "by number": lambda x: x[:, np.abs(x[0].astype(np.int64)) % 5],
    "complex": lambda x: (x + 1j * x[:, ::-1]) * 2,
    "any": lambda x: ((x > 2).any(axis=1), (x > 2).sum(), (x < 9).all()),
    "first": lambda x: np.argmax(x > 1, axis=1),
    "each three times": lambda x: (x[:, :, None] * (x[:, None, :3] + 1)).sum(axis=0),
    "truths": lambda x: ((x > 0) < (x > 1), (x > 0) >= (x < 1), (x > 0) * 1.5),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MASKED)
def test_memory_by_masks(backend, name, dtype):
    function = MASKED[name]
    x = np.random.default_rng(1).integers(-9, 10, (7, 37)).astype(dtype)
    with in_place_of("opencl", backend):
        found = jit(function, backend="opencl")(x)
    for one, other in zip(*[value if isinstance(value, tuple) else (value,) for value in (found, function(x))], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape, axis", [((500, 36), 0), ((5, 3, 8), (0, 1)), ((5, 9), 0)])
def test_truths_along_columns(backend, shape, axis):
    random = np.random.default_rng(3)
    with in_place_of("opencl", backend):
        compiled = jit(lambda x: (x.any(axis=axis), x.all(axis=axis)), backend="opencl")
        for chance in (0.02, 0.98):
            x = random.random(shape) < chance
            for one, other in zip(compiled(x), (x.any(axis=axis), x.all(axis=axis)), strict=True):
                np.testing.assert_array_equal(np.asarray(one).view(np.uint8), other)  # no other bytes are truth values
        code = compiled.compile(x).as_text("llvm")
    assert (re.search(r"= or (<\d+ x )?i32", code) is not None) == (shape[-1] % 4 == 0)


def test_truth_values_along_rows_are_added_up_as_words(backend):
    """Of any length: what a last word overlaps is not counted twice."""
    random = np.random.default_rng(0)

    def of_rows(x):
        counts = x.sum(axis=-1), x.sum(dtype=np.int32), x.sum(axis=-1, dtype=np.int8), x.sum(axis=(0, 2))
        return *counts, x.any(axis=-1), x.all(axis=-1)

    with in_place_of("opencl", backend):
        for size in (4, 8, 31, 63, 64, 515, 1100):
            x = random.random((2, 5, size)) < 1 - 1 / size
            compiled = jit(of_rows, backend="opencl").compile(x).executable
            for found, expected in zip(compiled(x), of_rows(x), strict=True):
                np.testing.assert_array_equal(found, expected)
            assert re.search(r"load <16 x i32>" if size >= 64 else r"load i(64|32),|load <4 x i64>", compiled.as_text("llvm"))


def test_truth_values_that_are_counted_by_several_threads(backend):
    x = np.random.default_rng(0).random(3_000_001) < 0.5
    with in_place_of("opencl", backend):
        executable = jit(np.count_nonzero, backend="opencl").compile(x).executable
    assert max(step.grid[0] for step in executable.program.plan.steps) > 1
    assert executable(x) == (np.count_nonzero(x),)


@left_to_ci
def test_integers_are_divided_by_constants_without_division(backend):
    x = np.random.default_rng(3).integers(-(2**31), 2**31, 100, dtype=np.int32)
    with in_place_of("opencl", backend):
        compiled = jit(lambda x: (x // 7, x % -10, x.view(np.uint32) // 641), backend="opencl")
        for found, expected in zip(compiled(x), (x // 7, x % -10, x.view(np.uint32) // 641), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert not re.search(r"= [su](div|rem) <", compiled.compile(x).as_text("llvm"))


def test_sorting_copies_more_than_a_byte_at_a_time(backend):
    """As SPIR-V does what may overlap."""
    with in_place_of("opencl", backend):
        code = jit(np.sort, backend="opencl").compile(np.ones(1000, np.int32)).as_text("llvm")
    assert "memcpy" in code and "memmove" not in code


def test_large_results_are_stored_past_the_caches(backend, monkeypatch):
    """By what the driver makes of the code, which has another way for addresses that are not aligned."""
    if backend.target.processor.vector_bytes != 64:
        pytest.skip("reads instructions of AVX-512")
    monkeypatch.setattr(loop, "_STREAMED_BYTES", 1 << 10)
    with in_place_of("opencl", backend):
        code = jit(lambda x: 2 * x, backend="opencl").compile(np.ones(1000, np.float32)).executable.program.code
        assert re.search(rb"\x62.\x7c\x48\x2b", backend.device.made_of(code), re.DOTALL)  # vmovntps, of 64 bytes
        drawn = jit(lambda rng: rng.standard_normal(1000), backend="opencl")(Generator(7))  # by two lanes at a time
    np.testing.assert_array_equal(drawn, jit(lambda rng: rng.standard_normal(1000))(Generator(7)))


ENDS = [0.0, -0.0, 0.5, -0.5, 1.9, -1.9, 5e-324, 2.0**53 + 2, -(2.0**62), 2.0**63, -(2.0**63), 2.0**64, 1e300, np.inf]
ENDS += [-np.inf, np.nan]
WORDS = [0, 1, 2**24 + 1, 2**53 + 1, 2**53 + 3, 2**62 + 2**8, 2**63 - 1, 2**63, 2**63 + 1025, 2**64 - 1, 2**64 - 2**38]


@pytest.mark.parametrize("size", [1, 27], ids=["number", "vectors"])
@pytest.mark.parametrize("words", ["s64", "u64"])
@pytest.mark.parametrize("floats", ["f32", "f64"])
def test_conversions_of_words(backend, floats, words, size):
    """By the processor's instructions, where it has them: what the reference gives, to the last bit."""
    module = parse_module(f"""HloModule m
    ENTRY e {{
      x = {floats}[{size}] parameter(0)
      w = {words}[{size}] parameter(1)
      a = {words}[{size}] convert(x)
      b = {floats}[{size}] convert(w)
      ROOT t = ({words}[{size}], {floats}[{size}]) tuple(a, b)
    }}""")
    compiled, reference = backend.compile(module), get_backend("reference").compile(module)
    with np.errstate(over="ignore"):
        numbers = np.array(ENDS).astype({"f32": np.float32, "f64": np.float64}[floats])
    given = np.array(WORDS, np.uint64).view({"s64": np.int64, "u64": np.uint64}[words])
    for first in range(16 if size == 1 else 1):
        x, w = (np.resize(np.roll(one, -first), size) for one in (numbers, given))
        for one, other in zip(compiled(x, w), reference(x, w), strict=True):
            np.testing.assert_array_equal(one, other)


def test_logarithms_are_those_of_the_processor(backend):
    """By the same tables and instructions."""
    x = np.concatenate([np.array(ENDS), np.random.default_rng(6).random(40) * 3])
    with in_place_of("opencl", backend), np.errstate(all="ignore"):
        for function in (np.log, np.log2, lambda x: np.abs(x) ** 1.7):
            np.testing.assert_array_equal(jit(function, backend="opencl")(x), jit(function, backend="cpu")(x))


def assert_selects(backend, function, shape, dtype):
    random = np.random.default_rng(4)
    x, mask = random.integers(0, 3, shape).astype(dtype), random.random(shape[0]) > 0.5
    with in_place_of("opencl", backend):
        compiled = jit(function, backend="opencl")
        for m in (mask, mask & False, mask | True):
            found, expected = compiled(x, m), function(x, m)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(100,), (21, 5)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i1", "c8", "c16"])
def test_selections(backend, dtype, shape):
    assert_selects(backend, lambda x, m: x[m], shape, dtype)


def _flipped(x, m):
    for _ in range(20):
        x = np.roll(x, 1) * (x[m].sum() > 7)
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x, m: np.nonzero((x > 1) & m)[0],
        _flipped,
        lambda x, m: x[m].sum() if x.sum() > 3 else x[~m].max(),
        lambda x, m: np.sqrt(x[m]) + 1,
    ],
    ids=["positions", "in a loop", "in a branch", "computed of"],
)
def test_selections_in_programs(backend, function):
    assert_selects(backend, function, (37,), "f8")


@pytest.mark.parametrize(
    "shape, attributes",
    [
        ("100,1", "lower=true, transpose_a=NO_TRANSPOSE"),
        ("40,1", "lower=true, transpose_a=TRANSPOSE"),
        ("100,9", "lower=false"),
    ],
)
def test_systems_are_as_the_cpu_backend_takes_them(backend, shape, attributes):
    """Also where kernels of GPUs would have them divided, or the matrix transposed."""
    size = shape.partition(",")[0]
    system = f"""ENTRY main {{
      a = f64[{size},{size}] parameter(0)
      b = f64[{shape}] parameter(1)
      ROOT x = f64[{shape}] triangular-solve(a, b), left_side=true, unit_diagonal=false, {attributes}
    }}"""
    random = np.random.default_rng(5)
    a, b = random.standard_normal((int(size),) * 2) / 9, random.standard_normal(tuple(map(int, shape.split(","))))
    a += 3 * np.eye(len(a))
    compiled = backend.compile(parse_module(system))
    triangle = np.tril(a) if "lower=true" in attributes else np.triu(a)
    expected = np.linalg.solve(triangle.T if "=TRANSPOSE" in attributes else triangle, b)
    np.testing.assert_allclose(compiled(a, b)[0], expected, rtol=1e-10, atol=1e-12)
    assert [isinstance(step, Launch) for step in compiled.program.plan.steps] == [True]
    assert compiled.optimized.entry.root.opcode == "triangular-solve"


def test_a_selection_is_no_scatter(backend):
    x = np.ones(200_000, np.float32)
    with in_place_of("opencl", backend):
        compiled = jit(lambda x: (x[x > 0], np.nonzero(x)[0]), backend="opencl").compile(x)
    opcodes = [one.opcode for one in compiled.executable.optimized.entry.instructions]
    assert opcodes.count("custom-call") == 2 and not {"scan", "scatter"} & set(opcodes)
    plan = compiled.executable.program.plan
    assert plan.steps and all(isinstance(step, Launch) for step in plan.steps)


@pytest.mark.parametrize("sizes", [(40, 1000), (1000,), (1000, 40)])
def test_largest_with_nan(backend, sizes):
    x = np.random.default_rng(2).standard_normal(sizes).astype(np.float32)
    x.flat[17], x.flat[500] = np.nan, np.inf
    with in_place_of("opencl", backend):
        found = jit(lambda x: (x.max(), x.min(axis=0), x.max(axis=-1)), backend="opencl")(x)
    for one, other in zip(found, (x.max(), x.min(axis=0), x.max(axis=-1)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="asks Linux")
def test_large_memory_asks_for_huge_pages():
    memory = mmap.mmap(-1, 8 << 20)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if "hg" not in flags_of(address + 4096, ask=lambda: ask_for_huge_pages(address + 100, 6 << 20)):
        pytest.skip("the system has no huge pages")
    assert "hg" not in flags_of(address + (7 << 20))
    ask_for_huge_pages(address + (7 << 20), 1 << 20)  # too little
    assert "hg" not in flags_of(address + (7 << 20))


def flags_of(address, ask=lambda: None):
    """What the system says of the memory around an address."""
    ask()
    inside = False
    with open("/proc/self/smaps", encoding="utf-8") as lines:
        for line in lines:
            head, *rest = line.split()
            if "-" in head and not head.endswith(":"):
                first, last = (int(end, 16) for end in head.split("-"))
                inside = first <= address < last
            elif inside and head == "VmFlags:":
                return rest
    return []
