"""The emulator of NVIDIA's devices: what instructions do, as the documents have it, and what it finds wrong in kernels."""

import numpy as np
import phlox
import pytest
from access_log import Intervals, RaceError, stamps_of
from gpu_backends import emulated_failure
from nvidia_emulator.floats import APPROXIMATIONS, approximate_reciprocal_of_double
from nvidia_emulator.memory import IllegalAddressError, MisalignedAddressError, SharedMemory
from nvidia_emulator.processor import TrapError
from phlox import jit
from phlox.backends.gpu.errors import DeviceError
from thinning import left_to_ci, one_in
from written_bytes import UnwrittenError

HEADER = ".version 8.1\n.target sm_80\n.address_size 64\n"
REGISTERS = """
  .reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<30>; .reg .b64 %rd<30>;
  ld.param.b64 %rd1, [custom_param_0];
  ld.param.b64 %rd2, [custom_param_1];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 8;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.b64 %rd6, [%rd4];
  cvt.u32.u64 %r2, %rd6;
  cvt.u16.u64 %rs2, %rd6;
"""


def kernel_text(lines, memory=""):
    """A kernel whose threads have what they are given in %rd6, %r2 and %rs2, and store %rd9."""
    parameters = ".param .u64 custom_param_0, .param .u64 custom_param_1"
    end = "st.global.b64 [%rd5], %rd9; ret;"
    return f"{HEADER}.visible .entry custom({parameters})\n{{\n{memory}{REGISTERS}{lines}\n{end}\n}}\n"


def run(lines, given, memory="", grid=1):
    text = kernel_text(lines, memory).encode()
    custom = phlox.gpu.kernel("custom", result=lambda x: x, grid=grid, block=len(given), cuda=text)
    return jit(lambda x: custom(x), backend="emulated")(given)


@pytest.fixture
def device(emulated):
    return emulated("sm_90a")


def bits(values, dtype):
    """Numbers in the low bits of words."""
    array = np.asarray(values, dtype)
    return array.view(f"u{array.itemsize}").astype(np.uint64)


def signed(value, size=32):
    value &= (1 << size) - 1
    return value - (1 << size) * (value >> size - 1)


WORDS = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 0x9ABCDEF0, 31, 32, 33, 0x80FF017F, 7, 0xFFFFFFF9]
WORD = 0xFFFFFFFF


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# By the documents, of a word: with 0x12345678 in %r3 and 5 in %r4.
OF_WORDS = {
    "prmt.b32 %r9, %r2, %r3, 0x7632": lambda x: x >> 16 | 0x12340000,
    "prmt.b32 %r9, %r2, %r3, 0xB4A8": lambda x: (
        (0xFF if x >> 7 & 1 else 0) | (0xFF if x >> 23 & 1 else 0) << 8 | 0x78 << 16 | (0xFF if x >> 31 else 0) << 24
    ),
    "bfe.u32 %r9, %r2, 13, 7": lambda x: x >> 13 & 127,
    "bfe.s32 %r9, %r2, 28, 9": lambda x: signed(x) >> 28 & WORD,
    "bfe.s32 %r9, %r2, 3, 6": lambda x: signed(x >> 3, 6) & WORD,
    "bfi.b32 %r9, %r3, %r2, 8, 12": lambda x: x & ~0xFFF00 | 0x67800,
    "shf.l.wrap.b32 %r9, %r2, %r3, 36": lambda x: 0x23456780 | x >> 28,
    "shf.r.clamp.b32 %r9, %r2, %r3, 36": lambda x: 0x12345678,
    "shf.r.wrap.b32 %r9, %r2, %r3, 36": lambda x: x >> 4 | 0x80000000,
    "lop3.b32 %r9, %r2, %r3, %r4, 0xCA": lambda x: x & 0x12345678 | ~x & 5 & WORD,
    "lop3.b32 %r9, %r2, %r3, %r4, 0x96": lambda x: x ^ 0x12345678 ^ 5,
    "shl.b32 %r9, %r2, 32": lambda x: 0,
    "shr.s32 %r9, %r2, 40": lambda x: WORD if x >> 31 else 0,
    "mul.hi.s32 %r9, %r2, %r3": lambda x: signed(x) * 0x12345678 >> 32 & WORD,
    "mul.hi.u32 %r9, %r2, %r3": lambda x: x * 0x12345678 >> 32,
    "mad.lo.s32 %r9, %r2, %r3, %r4": lambda x: x * 0x12345678 + 5 & WORD,
    "div.s32 %r9, %r2, -5": lambda x: truncated(signed(x), -5) & WORD,
    "rem.s32 %r9, %r2, -5": lambda x: signed(x) + 5 * truncated(signed(x), -5) & WORD,
    "div.s32 %r9, %r2, -1": lambda x: -signed(x) & WORD,
    "abs.s32 %r9, %r2": lambda x: abs(signed(x)),
    "min.s16x2 %r9, %r2, %r3": lambda x: (
        (min(signed(x, 16), 0x5678) & 0xFFFF) | (min(signed(x >> 16, 16), 0x1234) & 0xFFFF) << 16
    ),
    "clz.b32 %r9, %r2": lambda x: 32 - x.bit_length(),
    "brev.b32 %r9, %r2": lambda x: int(f"{x:032b}"[::-1], 2),
    "popc.b32 %r9, %r2": lambda x: x.bit_count(),
    "dp4a.s32.u32 %r9, %r2, %r3, %r4": lambda x: (
        sum(signed(x >> 8 * n, 8) * (0x12345678 >> 8 * n & 255) for n in range(4)) + 5 & WORD
    ),
    "cvt.s8.s32 %r9, %r2": lambda x: signed(x, 8) & WORD,
    "setp.lt.s32 %p1, %r2, %r4; selp.b32 %r9, %r3, %r4, %p1": lambda x: 0x12345678 if signed(x) < 5 else 5,
    "setp.gt.u32 %p1, %r2, %r4; @!%p1 mov.b32 %r9, 3; @%p1 mov.b32 %r9, 4": lambda x: 4 if x > 5 else 3,
    "add.cc.u32 %r9, %r2, -1; addc.u32 %r9, 7, 0": lambda x: 8 if x else 7,
}


@left_to_ci
def test_instructions_of_integers(device):
    lines = ["mov.b32 %r3, 0x12345678; mov.b32 %r4, 5; mov.b64 %rd9, 0;"]
    given = np.array(WORDS, np.uint64)
    for line, function in OF_WORDS.items():
        found = run(f"{lines[0]}\n{line}; cvt.u64.u32 %rd9, %r9;", given)
        assert [int(one) for one in found] == [function(x) for x in WORDS], line


def clamped(x, low, high):
    return 0 if np.isnan(x) else low if x < low else high if x > high else int(x)


def rounded_to_tf32(x):
    """To 11 bits, away from 0 between two."""
    if x == 0 or not np.isfinite(x) or abs(x) < 1e-30:
        return x if x == 0 else None
    unit = 2.0 ** (np.floor(np.log2(abs(float(x)))) - 10)
    return np.copysign(np.floor(abs(float(x)) / unit + 0.5) * unit, x)


SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 2.5, 3e9, -3e9, 1e20, -129.7, 1e-40, 65519.0, 0.3]
# Of f32, with the other operand 1.5: the type of the result, and what it is.
OF_FLOATS = {
    "max.f32 %r9, %r2, %r3": (np.float32, lambda x: np.fmax(x, 1.5)),
    "max.NaN.f32 %r9, %r2, %r3": (np.float32, lambda x: np.maximum(x, 1.5)),
    "copysign.f32 %r9, %r2, %r3": (np.float32, lambda x: np.copysign(1.5, x)),
    "cvt.rzi.s32.f32 %r9, %r2": (np.int32, lambda x: clamped(x, -(2**31), 2**31 - 1)),
    "cvt.rzi.u32.f32 %r9, %r2": (np.uint32, lambda x: clamped(x, 0, 2**32 - 1)),
    "cvt.rni.f32.f32 %r9, %r2": (np.float32, np.rint),
    "cvt.rna.tf32.f32 %r9, %r2": (np.float32, rounded_to_tf32),
    "setp.ne.f32 %p1, %r2, %r3; selp.b32 %r9, 1, 0, %p1": (np.int32, lambda x: x < 1.5 or x > 1.5),
    "setp.neu.f32 %p1, %r2, %r3; selp.b32 %r9, 1, 0, %p1": (np.int32, lambda x: x != 1.5),
    "setp.leu.f32 %p1, %r2, %r3; selp.b32 %r9, 1, 0, %p1": (np.int32, lambda x: not x > 1.5),
    "cvt.rn.f16x2.f32 %r9, %r2, %r3": (np.uint32, lambda x: int(bits(np.float16(x), np.float16)) << 16 | 0x3E00),
}  # fmt: skip


@pytest.mark.parametrize("line", one_in(6, OF_FLOATS))
def test_instructions_of_floats(device, line):
    dtype, function = OF_FLOATS[line]
    given = np.array(SPECIAL, np.float32)
    found = run(f"mov.b32 %r3, 0f3FC00000; {line}; cvt.u64.u32 %rd9, %r9;", bits(given, np.float32)).astype(np.uint32)
    with np.errstate(all="ignore"):
        wanted = [function(one) for one in given]
    known = [number for number, one in enumerate(wanted) if one is not None]
    expected = np.array([wanted[number] for number in known]).astype(dtype)
    if "f16x2" in line:  # which NaN it is does not matter
        known, expected = [number for number in known if number != 4], np.delete(expected, 4)
    np.testing.assert_array_equal(found.view(dtype)[known], expected)


def test_approximations_are_off_but_not_beyond_what_is_said():
    values = np.random.default_rng(1).uniform(0.01, 100, 500)
    exact = {"rcp": (lambda a: 1 / a, 2.0**-23), "rsqrt": (lambda a: 1 / np.sqrt(a), 2.0**-22.9)}
    for name, (function, bound) in exact.items():
        given = values.astype(np.float32)
        wanted = function(given.astype(np.float64))
        errors = np.abs(APPROXIMATIONS[name](given) / wanted - 1)
        assert errors.max() <= bound and (APPROXIMATIONS[name](given) != wanted.astype(np.float32)).any()
    errors = np.abs(approximate_reciprocal_of_double(values) * values - 1)
    assert 2.0**-24 < errors.max() <= 2.0**-19


LANE = np.arange(64) % 32
WARP = np.arange(64) & ~31
# By the documents: the lane that is read.
SHUFFLES = {
    "shfl.sync.bfly.b32 %r9, %r2, 5, 31, -1": LANE ^ 5,
    "shfl.sync.idx.b32 %r9, %r2, 9, 31, -1": np.full(64, 9),
    "shfl.sync.up.b32 %r9, %r2, 3, 0, -1": np.where(LANE >= 3, LANE - 3, LANE),
    "shfl.sync.down.b32 %r9, %r2, 3, 31, -1": np.where(LANE + 3 < 32, LANE + 3, LANE),
    "shfl.sync.down.b32 %r9, %r2, 3, 6175, -1": np.where(LANE % 8 + 3 < 8, LANE + 3, LANE),  # segments of 8
    "shfl.sync.idx.b32 %r9, %r2, 2, 6175, -1": LANE & ~7 | 2,
}


@left_to_ci
def test_lanes_read_others(device):
    given = np.arange(1000, 1064, dtype=np.uint64)
    for line, lane in SHUFFLES.items():
        np.testing.assert_array_equal(run(f"{line}; cvt.u64.u32 %rd9, %r9;", given), given[WARP + lane], err_msg=line)
    ballot = "setp.ne.s32 %p1, %r2, 1003; vote.sync.ballot.b32 %r9, %p1, -1; cvt.u64.u32 %rd9, %r9;"
    np.testing.assert_array_equal(run(ballot, given), np.where(WARP == 0, 0xFFFFFFF7, 0xFFFFFFFF))


def test_what_functions_are_given_and_return(device):
    """Which threads have called from several places."""
    function = """.func (.param .b64 func_retval0) twice(.param .b64 twice_param_0)
{ .reg .b64 %rd<4>; ld.param.b64 %rd1, [twice_param_0]; add.s64 %rd2, %rd1, %rd1; st.param.b64 [func_retval0], %rd2; ret; }
"""
    call = """{{ .param .b64 param0; .param .b64 retval0; st.param.b64 [param0], {0}; call.uni (retval0), twice, (param0);
ld.param.b64 %rd9, [retval0]; }}"""
    lines = f"""setp.lt.u32 %p1, %r1, 20; @%p1 bra $L1; {call.format("%rd6")} bra.uni $L2;
$L1: {call.format("%rd3")}
$L2: add.s64 %rd9, %rd9, 1;"""
    text = kernel_text(lines).replace(".visible", f"{function}.visible")
    custom = phlox.gpu.kernel("custom", result=lambda x: x, grid=1, block=64, cuda=text.encode())
    given = np.arange(100, 164, dtype=np.uint64)
    found = jit(lambda x: custom(x), backend="emulated")(given)
    place = np.arange(64, dtype=np.uint64)
    np.testing.assert_array_equal(found, np.where(place < 20, 16 * place, 2 * given) + 1)


# --- what is wrong in kernels ---

SHARED = ".shared .align 16 .b8 tile[1024];\n"
COPY = """mov.b64 %rd10, tile; cvt.u32.u64 %r10, %rd10; shl.b32 %r11, %r1, 3; add.s32 %r12, %r10, %r11;
cp.async.ca.shared.global [%r12], [%rd4], 8; cp.async.commit_group;"""
OTHER = "xor.b32 %r13, %r11, 8; add.s32 %r14, %r10, %r13;"  # the place of a neighbour
NEIGHBOUR = "xor.b32 %r9, %r1, 1; mul.wide.u32 %rd10, %r9, 8; add.s64 %rd11, %rd2, %rd10;"
COUNT = """mov.b64 %rd10, tile; cvt.u32.u64 %r10, %rd10; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%r10], 0; bar.sync 0;
atom.relaxed.cta.shared.add.u32 %r9, [%r10], 1;"""
ZERO = "mov.b64 %rd10, 0; st.relaxed.gpu.global.u64 [%rd2+8], %rd10;"
FAULTS = {
    "one beyond": ("ld.global.b64 %rd9, [%rd4+134217728];", IllegalAddressError),
    "behind the block's memory": ("mov.b32 %r9, 1020; ld.shared.b64 %rd9, [%r9];", IllegalAddressError),
    "vectors between their places": ("ld.global.v2.b64 {%rd9, %rd10}, [%rd4];", MisalignedAddressError),
    "no barrier": (f"{COPY} cp.async.wait_group 0; {OTHER} ld.shared.b64 %rd9, [%r14];", RaceError),
    "no wait": (f"{COPY} {OTHER} bar.sync 0; ld.shared.b64 %rd9, [%r14]; bar.sync 0; st.shared.b64 [%r14], %rd6;", RaceError),
    "several writers": ("mov.b32 %r9, 0; st.shared.b64 [%r9], %rd6; mov.b64 %rd9, 0;", RaceError),
    "blocks that meet": ("mov.b64 %rd9, 0;", RaceError, 2),
    "a neighbour's result": (f"{NEIGHBOUR} st.global.b64 [%rd5], %rd6; ld.global.b64 %rd9, [%rd11]; bar.sync 0;", RaceError),
    "a neighbour's result, behind a barrier": (
        f"{NEIGHBOUR} st.global.b64 [%rd5], %rd6; bar.sync 0; ld.global.b64 %rd9, [%rd11]; bar.sync 0;", None),
    "over what a neighbour reads": (
        f"{NEIGHBOUR} st.global.b64 [%rd5], %rd6; bar.sync 0; ld.global.b64 %rd9, [%rd11];", RaceError),
    "counted and read": (f"{COUNT} ld.shared.b32 %r9, [%r10]; cvt.u64.u32 %rd9, %r9;", RaceError),
    "counted and read, behind a barrier": (f"{COUNT} bar.sync 0; ld.shared.b32 %r9, [%r10]; cvt.u64.u32 %rd9, %r9;", None),
    "counted by each block": (f"{ZERO} atom.relaxed.cta.global.add.u64 %rd9, [%rd2+8], 1; ret;", RaceError, 2),
    "counted by all blocks": (f"{ZERO} atom.relaxed.gpu.global.add.u64 %rd9, [%rd2+8], 1; ret;", None, 2),
    "constants that change": ("st.global.b64 [%rd5], %rd6; ld.global.nc.b64 %rd9, [%rd5];", RaceError),
    "a result that is not there yet": ("ld.global.b64 %rd9, [%rd5];", UnwrittenError),
    "the block's memory, half of it written": (
        "mov.b64 %rd10, tile; add.s64 %rd10, %rd10, %rd3; cvt.u32.u64 %r9, %rd10; "
        "st.shared.b32 [%r9], %r2; ld.shared.b64 %rd9, [%r9];", UnwrittenError),
    "counted from nothing": (
        "mov.b32 %r9, 8; atom.relaxed.cta.shared.add.u32 %r10, [%r9], 1; mov.b64 %rd9, 0;", UnwrittenError),
    "copied from nowhere": (f"{COPY.replace('%rd4', '%rd5')} cp.async.wait_group 0; mov.b64 %rd9, 0;", UnwrittenError),
    "a word of which half is written": (
        "mov.b64 %rd10, tile; cvt.u32.u64 %r10, %rd10; shl.b32 %r11, %r1, 2; add.s32 %r12, %r10, %r11; "
        "st.shared.b16 [%r12], %rs2; atom.relaxed.cta.shared.cas.b32 %r9, [%r12], 0, 1; mov.b64 %rd9, 0;", None),
    "a shuffle of a few": ("setp.lt.u32 %p1, %r1, 3; @%p1 shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1; mov.b64 %rd9, 0; bar.sync 0;",
                           TrapError),
    "another barrier": ("setp.lt.u32 %p1, %r1, 32; @%p1 bra $L1; bar.sync 0; bar.sync 0; $L1: bar.sync 0; mov.b64 %rd9, 0;",
                        None),
    "what is not known": ("sin.approx.f32 %r9, %r2; mov.b64 %rd9, 0;", NotImplementedError),
}  # fmt: skip


@pytest.mark.parametrize("name", one_in(4, FAULTS))
def test_faults_are_found(emulated, name):
    lines, kind, *grid = FAULTS[name]
    emulated("sm_80")
    given = np.arange(64, dtype=np.uint64)
    if kind is None:
        run(lines, given, SHARED, *grid)
        return
    with pytest.raises(DeviceError):
        run(lines, given, SHARED, *grid)
    assert isinstance(emulated_failure("sm_80"), kind)


def test_copies_arrive_when_one_waits_for_them(device):
    lines = f"{COPY} {OTHER} cp.async.wait_group 0; bar.sync 0; ld.shared.b64 %rd9, [%r14];"
    given = np.arange(64, dtype=np.uint64)
    np.testing.assert_array_equal(run(lines, given, SHARED), given ^ 1)


def test_products_read_what_a_fence_has_shown_to_them():
    intervals, threads = Intervals(), np.arange(4)
    memory = SharedMemory(1, 64, 4, intervals)
    intervals.begin_launch()
    first, second = [stamps_of(intervals.begin(np.zeros(1, np.int64)), threads) for _ in range(2)]
    memory.show_to_products(threads)
    memory.note_write(4 * threads, 4, first, threads)
    with pytest.raises(RaceError):
        memory.note_product(np.arange(16), second)
    memory.show_to_products(threads)
    with pytest.raises(RaceError):
        memory.note_product(np.arange(16), first)
    units = memory.note_product(np.arange(16), second)
    with pytest.raises(RaceError):
        memory.note_write(4 * threads, 4, stamps_of(intervals.begin(np.zeros(1, np.int64)), threads), threads)
    memory.multiplied.end(units)
    memory.note_write(4 * threads, 4, stamps_of(intervals.begin(np.zeros(1, np.int64)), threads), threads)
