"""Code for AMD's and NVIDIA's devices, executed: it runs on emulated processors, behind the drivers' functions."""

import threading

import numpy as np
import phlox
import pytest
from access_log import RaceError
from emulated_library import SEED
from gpu_backends import (
    AMD_ARCHITECTURES,
    PTX_ARCHITECTURES,
    WITH_SAMPLES,
    emulated_backend,
    emulated_failure,
    native_samples,
)
from operation_checks import check_samples
from phlox import jit
from phlox.backends.gpu import choices
from phlox.backends.gpu.errors import DeviceError, DeviceLostError
from thinning import LEFT_TO_CI, left_to_ci, marks_at, one_in_all
from written_bytes import UnwrittenError

AT_ONCE = 4  # samples of an operation
LONG = {
    "cholesky", "convolution", "dot", "fft", "lgamma", "power", "rng", "scatter", "sort", "topk", "triangular-solve", "while",
}  # fmt: skip

ARCHITECTURES = AMD_ARCHITECTURES + PTX_ARCHITECTURES
on_all = pytest.mark.parametrize("architecture", [*ARCHITECTURES[:-1], pytest.param(ARCHITECTURES[-1], marks=LEFT_TO_CI)])


def in_turn(cases, step, ci_step=1):
    """Each case on all of AMD's architectures and one of NVIDIA's, with `marks_at` their places."""
    chosen = [
        (case, architecture)
        for place, case in enumerate(cases)
        for architecture in (*AMD_ARCHITECTURES, PTX_ARCHITECTURES[place % len(PTX_ARCHITECTURES)])
    ]
    return [pytest.param(*one, marks=marks_at(place, step, ci_step)) for place, one in enumerate(chosen)]


SHORT = [opcode for opcode in WITH_SAMPLES if opcode not in LONG]


@pytest.mark.parametrize(
    ("opcode", "architecture"),
    [*in_turn(SHORT, 17, 5), *[pytest.param(*one.values, marks=LEFT_TO_CI) for one in in_turn(sorted(LONG), 1)]],
)
def test_operation(opcode, architecture):
    backend, samples = emulated_backend(architecture), native_samples(opcode)
    for number in range(0, len(samples), 4 * AT_ONCE):
        check_samples(opcode, samples[number : number + AT_ONCE], seed=1000 * len(opcode) + number, backend=backend)


# --- programs of several kernels, of what operations' samples are too small for ---


def random(shape, dtype=np.float32):
    values = np.random.default_rng(3).standard_normal(shape) * 100
    return values.astype(dtype)


def products(x):
    return x @ x.T


def factor(x):
    return np.linalg.cholesky(x @ np.swapaxes(x, -1, -2) + 1e4 * np.eye(x.shape[-1], dtype=x.dtype))


def histogram(x):
    counts = np.zeros(16, np.int32)
    np.add.at(counts, x & 15, 1)
    return counts


def summed_again(x):
    for _ in range(5):
        x = np.cumsum(x) * 0.125
    return x


def rounds(x):
    for _ in range(5):
        x = np.sort(x)[::-1] * 0.5 + np.cumsum(x)
    return x


def diffused(x):
    total = x
    while np.abs(total).max() > 1:
        total = 0.25 * np.roll(total, 1) + 0.25 * np.roll(total, -1)
    return total


PROGRAMS = {
    "sorted by merging": (np.sort, random(2100)),
    "sorted stably": (lambda x: np.argsort(x, kind="stable"), random(1500, np.int16)),
    "sorted lines": (lambda x: np.sort(x, axis=0), random((40, 30), np.float64)),
    "scanned in parts": (np.cumsum, random(5000, np.int64)),
    "product in tiles": (products, random((70, 40))),
    "product of bytes": (lambda x: np.matmul(x, x.T, dtype=np.int32), random((70, 40), np.int8).view(np.uint8)),
    "product of doubles": (products, random((33, 20), np.float64)),
    "factored": (factor, random((3, 20, 20), np.float64)),
    "transformed": (np.fft.fft, random(97, np.complex128)),
    "transformed in steps": (np.fft.fft, random((2, 360), np.complex64)),
    "counted atomically": (histogram, random(2000, np.int32)),
    "summed up": (lambda x: (x.sum(), x.max(axis=0), x.argmin(axis=1)), random((60, 130))),
    "summed across": (lambda x: (x.sum(axis=0), x.argmax(axis=0), (x * x).mean()), random((300, 6))),
    "summed across by vectors": (lambda x: (x.sum(axis=0), x.min(axis=0)), random((70, 8), np.float64)),
    "a loop in one kernel": (rounds, random(50, np.float64)),
    "a loop of launches": (summed_again, random(2100, np.float64)),
    "as long as it takes": (diffused, random(40, np.float64)),
    "logarithms": (lambda x: np.log(np.abs(x)), random(600, np.float64)),
    "transposed": (lambda x: x.T.copy(), random((65, 67), np.int8)),
    "divided": (lambda x: (x // 7, x % -13, x / 3), random(600, np.int64)),
}


@pytest.mark.parametrize(("name", "architecture"), in_turn(PROGRAMS, 7))
def test_program(emulated, name, architecture):
    emulated(architecture)
    function, x = PROGRAMS[name]
    found, expected = jit(function, backend="emulated")(x), function(x)
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, other in pairs:
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype == other.dtype
        if other.dtype.kind in "iu":
            np.testing.assert_array_equal(one, other)
        else:
            unit = np.finfo(other.dtype).eps
            np.testing.assert_allclose(one, other, rtol=100 * unit, atol=200 * unit * np.abs(other).max())


@left_to_ci
def test_the_last_thread_of_an_array_changed_in_place_reads_no_other_ones_elements(emulated):
    """Threads compute several vectors, of which the last ones have fewer."""
    emulated("sm_90a")

    def doubled(x):
        first = x[0] * 1
        x[1:] *= 2
        return first

    x = np.ones((1031, 1029), np.float32)
    np.testing.assert_array_equal(jit(doubled, backend="emulated").compile(x)(x), 1)
    assert (x[0] == 1).all() and (x[1:] == 2).all()


@pytest.mark.parametrize("architecture", ["gfx1100"])
def test_products_of_other_sizes_run_the_same_kernel(emulated, architecture):
    """Whose launches say how far these go: of the third, rows of the right operand lie side by side by terms."""
    emulated(architecture)
    pairs = [random((rows, terms)) for rows, terms in ((32, 32), (48, 64), (16, 96))]
    others = [random((terms, columns)) for terms, columns in ((32, 64), (64, 16), (96, 32))]

    def multiplied(a, b, c, d, e, f):
        return a @ b, c @ d, e @ f, (a @ b).T @ a

    values = [one for pair in zip(pairs, others) for one in pair]
    compiled = jit(multiplied, backend="emulated").compile(*values)
    names = [step.kernel for step in compiled.executable.program.plan.steps]
    assert len(names) == 4 and len(set(names[:3])) == 1 and names[3] not in names[:3]
    for found, expected in zip(compiled(*values), multiplied(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("at_once", "architecture"), one_in_all(3, (16, 64, 1024), ("sm_80", "gfx1100")))
def test_terms_of_a_tile_are_the_rounds_of_a_loop(emulated, monkeypatch, at_once, architecture):
    monkeypatch.setattr(choices, "MULTIPLY_ADDS_OF_ROUND", at_once)
    emulated(architecture)
    x, y = random((40, 50)), random((50, 24))
    np.testing.assert_allclose(jit(np.matmul, backend="emulated")(x, y), x @ y, rtol=1e-4, atol=1e-2)


@left_to_ci
def test_blocks_that_combine_rows_do_not_write_the_same_bytes(emulated):
    """Runs of updates, which are reduced in a tree."""
    emulated("sm_80")
    places, updates = np.arange(1700) % 3, random((1700, 5)).round()

    def added(x, places, updates):
        np.add.at(x, places, updates)
        return x

    with phlox.config(deterministic=True):
        compiled = jit(added, backend="emulated").compile(np.zeros((4, 5), np.float32), places, updates)
    assert "scatter_reduce" in compiled.as_text("plan")
    found = compiled(np.zeros((4, 5), np.float32), places, updates)
    np.testing.assert_array_equal(found, added(np.zeros((4, 5), np.float32), places, updates))


# --- the processor ---


def numbers_of_all_sizes(dtype):
    count = 400
    generator, info = np.random.default_rng(5), np.finfo(dtype)
    sizes = np.ldexp(1.0, generator.integers(info.minexp - info.nmant, info.maxexp, count))
    edges = [0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, info.smallest_subnormal, 1, -1]
    values = [*edges, *(generator.uniform(-2, 2, count) * sizes)[: count - len(edges)]]
    return generator.permutation(np.array(values).astype(dtype))


@on_all
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_quotients_and_roots_are_rounded_right(emulated, dtype, architecture):
    """LLVM makes them of several instructions, of inexact reciprocals, and with subnormal numbers."""
    emulated(architecture)
    x, y = numbers_of_all_sizes(dtype), numbers_of_all_sizes(dtype)[::-1].copy()
    with np.errstate(all="ignore"):
        expected = x / y, np.sqrt(x), x * y + x
    found = jit(lambda x, y: (x / y, np.sqrt(x), x * y + x), backend="emulated")(x, y)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one)[one == 0], np.signbit(other)[other == 0])


KERNEL = """
declare i32 @phlox.thread.x()
define void @custom(ptr %x, ptr %y) {
  %thread = call i32 @phlox.thread.x()
  %at = getelementptr i32, ptr %x, i32 %thread
  %value = load i32, ptr %at
  %there = getelementptr i32, ptr %y, i32 %value
  store i32 %thread, ptr %there
  ret void
}"""


@on_all
def test_addresses_that_are_not_there_lose_the_device(emulated, architecture):
    emulated(architecture)
    custom = phlox.gpu.kernel("custom", result=lambda x: x, grid=1, block=64, llvm=KERNEL)
    reversed_ = np.arange(64, dtype=np.int32)[::-1].copy()
    np.testing.assert_array_equal(jit(lambda x: custom(x), backend="emulated")(reversed_), reversed_)
    with pytest.raises(DeviceLostError, match="memory that is not there .an illegal address"):
        jit(lambda x: custom(x), backend="emulated")(reversed_ << 24)


FAULTY = """
@tile = internal addrspace(3) global [256 x i32] undef, align 16
declare i32 @phlox.thread.x()
declare void @phlox.barrier()
define void @custom(ptr %x, ptr %y) {
  %thread = call i32 @phlox.thread.x()
  %other = xor i32 %thread, 128
  %own = getelementptr i32, ptr addrspace(3) @tile, i32 %thread
  %far = getelementptr i32, ptr addrspace(3) @tile, i32 %other
  %result = getelementptr i32, ptr %y, i32 %thread
  %neighbour = getelementptr i32, ptr %y, i32 %other
{lines}
  store i32 %value, ptr %result
  ret void
}"""
STORE, LOAD = "  store i32 %thread, ptr addrspace(3) %own", "  %value = load i32, ptr addrspace(3) %far"
BARRIER = "  call void @phlox.barrier()"
FAULTS = {
    "none": ([STORE, BARRIER, LOAD], None),
    "no barrier": ([STORE, LOAD], RaceError),
    "nothing is written": ([LOAD, BARRIER, STORE], UnwrittenError),
    "over what others read": (
        ["  store i32 %thread, ptr %result", BARRIER, "  %value = load i32, ptr %neighbour"], RaceError),
    "results of nobody": (["  %value = load i32, ptr %neighbour", BARRIER], UnwrittenError),
}  # fmt: skip


@pytest.mark.parametrize("name, architecture", one_in_all(4, FAULTS, ARCHITECTURES))
def test_accesses_without_order_and_of_what_nobody_has_written_are_found(emulated, name, architecture):
    """Between waves, whether these have 32 or 64 lanes."""
    lines, error = FAULTS[name]
    emulated(architecture)
    text = FAULTY.replace("{lines}", "\n".join(lines))
    custom = phlox.gpu.kernel("custom", result=lambda x: x, grid=1, block=256, llvm=text)
    x = np.arange(256, dtype=np.int32)
    if error is None:
        np.testing.assert_array_equal(jit(lambda x: custom(x), backend="emulated")(x), x ^ 128)
        return
    with pytest.raises(DeviceError):
        jit(lambda x: custom(x), backend="emulated")(x)
    assert isinstance(emulated_failure(architecture), error)


SCOPES = {"sm": "device", "gf": "agent"}
WAITING = """
declare i32 @phlox.block.x()
define void @custom(ptr %x, ptr %y) {
entry:
  %block = call i32 @phlox.block.x()
  %before = sub i32 %block, 1
  %at = getelementptr i32, ptr %x, i32 %before
  %first = icmp eq i32 %block, 0
  br i1 %first, label %go, label %again
again:
  %seen = load atomic i32, ptr %at syncscope("{scope}") acquire, align 4
  %ready = icmp eq i32 %seen, %block
  br i1 %ready, label %go, label %again
go:
  %own = getelementptr i32, ptr %x, i32 %block
  %number = add i32 %block, 1
  store atomic i32 %number, ptr %own syncscope("{scope}") release, align 4
  %result = getelementptr i32, ptr %y, i32 %block
  store i32 %number, ptr %result
  ret void
}"""


@pytest.mark.skipif(SEED > 0, reason="blocks begin in any order, and some only when others have ended")
@on_all
def test_blocks_may_wait_for_those_before_them(emulated, architecture):
    emulated(architecture)
    text = WAITING.replace("{scope}", SCOPES[architecture[:2]])
    custom = phlox.gpu.kernel("custom", result=lambda x: x, grid=20, block=1, llvm=text)
    found = jit(lambda x: custom(x * 0), backend="emulated")(np.zeros(20, np.int32))
    np.testing.assert_array_equal(found, np.arange(1, 21))


def smoothed(x, w):
    x[1:-1] = 0.5 * (x[:-2] + x[2:])
    return np.tanh(w @ x), x[np.argsort(x)].cumsum()


@on_all
def test_threads_use_one_device(emulated, architecture):
    """Each sees its own arrays: what one asks for is in the stream as a whole, in the context of the thread."""
    emulated(architecture)
    function, w, failures = jit(smoothed), random((16, 16), np.float64) / 100, []
    on_device = phlox.device_put(w, "emulated")

    def work(number):
        try:
            expected = random(16, np.float64) + number
            x = phlox.device_put(expected, "emulated")
            for _ in range(3):
                for one, wanted in zip(function(x, on_device), smoothed(expected, w), strict=True):
                    np.testing.assert_allclose(np.asarray(one), wanted, rtol=1e-9)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
