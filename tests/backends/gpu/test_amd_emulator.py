"""Code for AMD's devices, executed: the linked code objects run on an emulated processor, behind the driver's functions."""

import numpy as np
import phlox
import pytest
from gpu_backends import AMD_ARCHITECTURES, WITH_SAMPLES, emulated_backend, native_samples
from operation_checks import check_samples
from phlox import jit
from phlox.backends.gpu.errors import DeviceLostError
from thinning import LEFT_TO_CI, one_in_all

AT_ONCE = 4  # samples of an operation
LONG = {
    "cholesky", "convolution", "dot", "fft", "lgamma", "power", "rng", "scatter", "sort", "topk", "triangular-solve", "while",
}  # fmt: skip

on_all = pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)


def in_turn(cases):
    """Each case on one architecture, and on the others where time does not count."""
    return [
        pytest.param(case, architecture, marks=[] if (number - place) % 3 == 0 else LEFT_TO_CI)
        for number, case in enumerate(cases)
        for place, architecture in enumerate(AMD_ARCHITECTURES)
    ]


SHORT = [opcode for opcode in WITH_SAMPLES if opcode not in LONG]


@pytest.mark.parametrize(
    ("opcode", "architecture"),
    [
        *one_in_all(10, SHORT, AMD_ARCHITECTURES),
        *[pytest.param(*case.values, marks=LEFT_TO_CI) for case in one_in_all(1, sorted(LONG), AMD_ARCHITECTURES)],
    ],
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
    "a loop in one kernel": (rounds, random(50, np.float64)),
    "a loop of launches": (summed_again, random(2100, np.float64)),
    "as long as it takes": (diffused, random(40, np.float64)),
    "transposed": (lambda x: x.T.copy(), random((65, 67), np.int8)),
    "divided": (lambda x: (x // 7, x % -13, x / 3), random(600, np.int64)),
}


@pytest.mark.parametrize(("name", "architecture"), in_turn(PROGRAMS))
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


def test_products_of_other_sizes_run_the_same_kernel(emulated):
    """Whose launches say how far these go: of the third, rows of the right operand lie side by side by terms."""
    emulated("gfx1100")
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


# --- the processor ---


def numbers_of_all_sizes(dtype, count=400):
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


WAITING = """
declare i32 @phlox.block.x()
define void @custom(ptr %x, ptr %y) {
entry:
  %block = call i32 @phlox.block.x()
  %before = sub i32 %block, 1
  %at = getelementptr i32, ptr %y, i32 %before
  %first = icmp eq i32 %block, 0
  br i1 %first, label %go, label %again
again:
  %seen = load atomic i32, ptr %at syncscope("agent") acquire, align 4
  %ready = icmp eq i32 %seen, %block
  br i1 %ready, label %go, label %again
go:
  %own = getelementptr i32, ptr %y, i32 %block
  %number = add i32 %block, 1
  store atomic i32 %number, ptr %own syncscope("agent") release, align 4
  ret void
}"""


@on_all
def test_blocks_may_wait_for_those_before_them(emulated, architecture):
    emulated(architecture)
    custom = phlox.gpu.kernel("custom", result=lambda x: x, grid=20, block=1, llvm=WAITING)
    found = jit(lambda x: custom(x * 0), backend="emulated")(np.zeros(20, np.int32))
    np.testing.assert_array_equal(found, np.arange(1, 21))


# --- lanes that read others ---


def dpp(control):
    """DPP: what is read at lanes that are not there is 0."""
    return f"call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %value, i32 {control}, i32 15, i32 15, i1 true)"


LANE = np.arange(64)
ROW, INSIDE = LANE & ~15, LANE & 15
# By the documents: the lane that is read, -1 if there is none.
EXCHANGES = {
    dpp(0xB1): LANE ^ 1,  # quad_perm:[1,0,3,2]
    dpp(0x1B): LANE ^ 3,  # quad_perm:[3,2,1,0]
    dpp(0x101): np.where(INSIDE < 15, LANE + 1, -1),  # row_shl:1
    dpp(0x112): np.where(INSIDE >= 2, LANE - 2, -1),  # row_shr:2
    dpp(0x124): ROW | (INSIDE - 4) % 16,  # row_ror:4
    dpp(0x140): ROW | 15 - INSIDE,  # row_mirror
    dpp(0x141): LANE ^ 7,  # row_half_mirror
    "call i32 @llvm.amdgcn.ds.swizzle(i32 %value, i32 4127)": LANE ^ 4,  # by xor of bits
    "call i32 @llvm.amdgcn.ds.swizzle(i32 %value, i32 32795)": LANE ^ 3,  # in fours
    "call i32 @llvm.amdgcn.ds.bpermute(i32 %turned, i32 %value)": (LANE + 5) % 32 | LANE & 32,
    "call i32 @llvm.amdgcn.ds.permute(i32 %turned, i32 %value)": (LANE - 5) % 32 | LANE & 32,
    "call i32 @llvm.amdgcn.readlane.i32(i32 %value, i32 9)": np.full(64, 9),
}
OF_CDNA = {
    dpp(0x138): LANE - 1,  # wave_shr:1
    dpp(0x142): np.where(LANE >= 16, ROW - 1, -1),  # row_bcast:15
    dpp(0x143): np.where(LANE >= 32, 31, -1),  # row_bcast:31
}
OF_RDNA = {
    dpp(0x153): ROW | 3,  # row_share:3
    dpp(0x165): LANE ^ 5,  # row_xmask:5
    "call i32 @llvm.amdgcn.mov.dpp8.i32(i32 %value, i32 342391)": LANE ^ 7,
    "call i32 @llvm.amdgcn.permlanex16.i32(i32 0, i32 %value, i32 1985229328, i32 -19088744, i1 false, i1 false)": LANE ^ 16,
}
EXCHANGING = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.update.dpp.i32(i32, i32, i32, i32, i32, i1)
declare i32 @llvm.amdgcn.mov.dpp8.i32(i32, i32)
declare i32 @llvm.amdgcn.permlanex16.i32(i32, i32, i32, i32, i1, i1)
declare i32 @llvm.amdgcn.ds.swizzle(i32, i32)
declare i32 @llvm.amdgcn.ds.bpermute(i32, i32)
declare i32 @llvm.amdgcn.ds.permute(i32, i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
define amdgpu_kernel void @exchanging(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %at = getelementptr i32, ptr addrspace(1) %x, i32 %lane
  %value = load i32, ptr addrspace(1) %at
  %more = add i32 %lane, 5
  %inside = and i32 %more, 31
  %half = and i32 %lane, 32
  %source = or i32 %inside, %half
  %turned = shl i32 %source, 2
"""


@on_all
def test_lanes_read_others(emulated, architecture):
    backend = emulated(architecture)
    lanes = backend.target.sub_group
    cases = EXCHANGES | (OF_CDNA if lanes == 64 else OF_RDNA)
    text = EXCHANGING
    for number, call in enumerate(cases):
        text += f"""
  %found{number} = {call}
  %index{number} = add i32 %lane, {64 * number}
  %there{number} = getelementptr i32, ptr addrspace(1) %y, i32 %index{number}
  store i32 %found{number}, ptr addrspace(1) %there{number}
"""
    result = np.zeros(64 * len(cases), np.int32)
    exchanging = phlox.gpu.kernel("exchanging", result=lambda x: result, grid=1, block=64, rocm=f"{text}  ret void\n}}")
    found = jit(lambda x: exchanging(x), backend="emulated")(np.arange(1000, 1064, dtype=np.int32))
    for row, (call, source) in zip(found.reshape(-1, 64), cases.items()):
        wanted = np.where(source < 0, 0, 1000 + source)
        if "readlane" in call:  # of the wave
            wanted = 1009 + LANE // lanes * lanes
        np.testing.assert_array_equal(row, wanted, err_msg=call)


# --- matrices ---

MULTIPLYING = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare {sums} @llvm.amdgcn.{name}({operand}, {operand}, {sums}{others})
define amdgpu_kernel void @multiplying(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, ptr addrspace(1) %d) {{
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %a_at = getelementptr {operand}, ptr addrspace(1) %a, i32 %lane
  %b_at = getelementptr {operand}, ptr addrspace(1) %b, i32 %lane
  %c_at = getelementptr {sums}, ptr addrspace(1) %c, i32 %lane
  %d_at = getelementptr {sums}, ptr addrspace(1) %d, i32 %lane
  %a_value = load {operand}, ptr addrspace(1) %a_at
  %b_value = load {operand}, ptr addrspace(1) %b_at
  %c_value = load {sums}, ptr addrspace(1) %c_at
  %d_value = call {sums} @llvm.amdgcn.{name}({operand} %a_value, {operand} %b_value, {sums} %c_value{given})
  store {sums} %d_value, ptr addrspace(1) %d_at
  ret void
}}"""
HALVES, SINGLES, DOUBLES = np.float16, np.float32, np.float64
# Rows of the matrix of sums that a lane has, as AMD's Matrix Instruction Calculator lists them: of lanes of each group.
FOURS = [list(range(first, first + 4)) for first in range(0, 32, 4)]
ROWS_OF_32 = [sum(FOURS[group::2], []) for group in range(2)]
MATRICES = [
    ("gfx90a", "mfma.f64.16x16x4f64", "double", "<4 x double>", DOUBLES, DOUBLES, [list(range(n, 16, 4)) for n in range(4)], 4),
    ("gfx942", "mfma.f64.16x16x4f64", "double", "<4 x double>", DOUBLES, DOUBLES, [list(range(n, 16, 4)) for n in range(4)], 4),
    ("gfx90a", "mfma.f32.32x32x2f32", "float", "<16 x float>", SINGLES, SINGLES, ROWS_OF_32, 2),
    ("gfx942", "mfma.f32.32x32x8f16", "<4 x half>", "<16 x float>", HALVES, SINGLES, ROWS_OF_32, 8),
    ("gfx942", "mfma.f32.16x16x16f16", "<4 x half>", "<4 x float>", HALVES, SINGLES, FOURS[:4], 16),
    ("gfx1100", "wmma.f32.16x16x16.f16.v8f32.v16f16", "<16 x half>", "<8 x float>", HALVES, SINGLES, [[*range(0, 16, 2)],
     [*range(1, 16, 2)]], 16),
]  # fmt: skip


@pytest.mark.parametrize(
    ("architecture", "name", "operand", "sums", "dtype", "sum_dtype", "rows", "terms"),
    MATRICES,
    ids=[f"{name}-{architecture}" for architecture, name, *_ in MATRICES],
)
def test_products_of_matrices(emulated, architecture, name, operand, sums, dtype, sum_dtype, rows, terms):
    emulated(architecture)
    side = sum(map(len, rows))
    generator = np.random.default_rng(2)
    a, b = (generator.integers(-9, 10, shape).astype(dtype) for shape in ((side, terms), (terms, side)))
    c = generator.integers(-9, 10, (side, side)).astype(sum_dtype)
    # Each group of lanes has the terms that follow; of WMMA both have all of them.
    groups = np.split(np.arange(terms), len(rows)) if name.startswith("mfma") else [np.arange(terms)] * 2
    lines_of_a = np.concatenate([a[:, of_group] for of_group in groups])
    lines_of_b = np.concatenate([b.T[:, of_group] for of_group in groups])

    def by_lane(matrix):
        return np.concatenate([matrix[of_group].T for of_group in rows])

    is_mfma = name.startswith("mfma")
    text = MULTIPLYING.format(
        name=name,
        operand=operand,
        sums=sums,
        others=", i32, i32, i32" if is_mfma else "",
        given=", i32 0, i32 0, i32 0" if is_mfma else "",
    )
    lanes = len(lines_of_a)
    multiplying = phlox.gpu.kernel("multiplying", result=lambda a, b, c: c, grid=1, block=lanes, rocm=text)
    found = jit(lambda a, b, c: multiplying(a, b, c), backend="emulated")(lines_of_a, lines_of_b, by_lane(c))
    np.testing.assert_array_equal(found, by_lane(a.astype(sum_dtype) @ b.astype(sum_dtype) + c))
