"""The emulator of AMD's devices: lanes that read others, and matrices, as the documents have them."""

import numpy as np
import phlox
import pytest
from gpu_backends import AMD_ARCHITECTURES
from phlox import jit

on_all = pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)

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
