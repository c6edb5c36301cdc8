"""Intrinsics of a processor in SPIR-V: the names under which functions are imported."""

from struct import unpack

import numpy as np
import pytest
from gpu_backends import processor_backend
from phlox.backends.cpu.target import level_target
from phlox.backends.gpu.code_generation.compiling import assembly, compile_kernels
from phlox.backends.gpu.given_code.spirv_assembler import assemble_spirv
from phlox.backends.gpu.targets.spirv import spirv_target
from phlox.hlo import parse_module

KERNEL = """target triple = "spirv64-unknown-unknown"
declare <16 x i32> @{name}(<16 x i32>, <16 x i32>, <16 x i32>)
define spir_kernel void @k(ptr addrspace(1) %x) {{
  %v = load <16 x i32>, ptr addrspace(1) %x, align 4
  %y = call <16 x i32> @{name}(<16 x i32> %v, <16 x i32> %v, <16 x i32> %v)
  store <16 x i32> %y, ptr addrspace(1) %x, align 4
  ret void
}}"""
LINKAGE, IMPORT = 41, 1
INTRINSICS = "x86.avx512.vpdpbusd.512", "x86.a"  # longer and shorter than their names until then, in words


def imported(code):
    """The names under which a SPIR-V module imports functions; its instructions fill it exactly."""
    words, place, names = unpack(f"<{len(code) // 4}I", code), 5, []
    while place < len(words):
        count, operation = words[place] >> 16, words[place] & 0xFFFF
        assert count
        if operation == 71 and words[place + 2] == LINKAGE and words[place + count - 1] == IMPORT:
            names.append(code[4 * (place + 3) : 4 * (place + count - 1)].partition(b"\0")[0].decode())
        place += count
    assert place == len(words)
    return names


@pytest.mark.parametrize("name", INTRINSICS)
def test_functions_are_imported_under_the_names_of_intrinsics(name):
    code = compile_kernels(KERNEL.format(name=f"llvm.{name}"), spirv_target())
    assert imported(code) == [f"llvm.{name}"]


def test_counts_of_bits_are_imported_where_the_driver_takes_intrinsics():
    counts = KERNEL.replace("<16 x i32>, <16 x i32>, <16 x i32>", "<16 x i32>").replace(
        "%v, <16 x i32> %v, <16 x i32> %v", "%v"
    )
    counts = counts.format(name="llvm.ctpop.v16i32")
    processor = level_target("x86-64-v4")
    assert imported(compile_kernels(counts, spirv_target(processor=processor))) == []
    code = compile_kernels(counts, spirv_target(processor=processor, takes_intrinsics=True))
    assert imported(code) == ["llvm.ctpop.v16i32"]


def test_the_text_imports_them_too():
    """So it may be handed back."""
    llvm_ir = KERNEL.format(name=f"llvm.{INTRINSICS[0]}")
    made = assemble_spirv(assembly(llvm_ir, spirv_target()))
    assert made[20:] == compile_kernels(llvm_ir, spirv_target())[20:]  # the bounds of ids may be any


def test_other_functions_keep_their_names():
    assert imported(compile_kernels(KERNEL.format(name="other"), spirv_target())) == ["other"]


def test_products_of_bytes_use_them():
    """Where the processor has such instructions; the products are the same where it has none."""
    backend = processor_backend()
    module = parse_module("""HloModule m
ENTRY e {
  x = s8[48,80] parameter(0)
  y = s8[80,96] parameter(1)
  ROOT z = s32[48,96] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}""")
    random = np.random.default_rng(0)
    x, y = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((48, 80), (80, 96)))
    executable = backend.compile(module)
    (found,) = executable(x, y)
    np.testing.assert_array_equal(found, x.astype(np.int32) @ y.astype(np.int32))
    takes = backend.target.processor.has("avx512vnni") and backend.target.processor.vector_bytes == 64
    assert ("vpdpbusd" in executable.as_text("llvm")) == takes
