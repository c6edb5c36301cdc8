"""Code for AMD's devices, on machines without one: code objects as a loader finds them, read by pyelftools."""

import re
import struct

import numpy as np
import pytest

pytest.importorskip("elftools", reason="pyelftools, which reads code objects, is not installed")
from amd_emulator.notes import kernels_of
from code_object_reader import bytes_at, dynamic_symbols, kernel_descriptors, read_elf
from gpu_backends import AMD_ARCHITECTURES, WITH_SAMPLES, native_samples, target
from hot_programs import HOT_PROGRAMS, hot_module
from llvmlite import binding
from operation_checks import module_of
from phlox import jit
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.code_generation.code_object import link_code_object
from phlox.backends.gpu.code_generation.compiling import assembly
from phlox.backends.gpu.plan import Launch
from phlox.hlo import parse_module
from thinning import one_in_all

# EF_AMDGPU_MACH: LLVM's "User Guide for AMDGPU Backend", ELF Header.
MACHINES = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx1100": 0x41}
ELFOSABI_AMDGPU_HSA = 64  # a number that pyelftools knows as another processor's
PAGE = 0x1000


def descriptors_of(program, architecture):
    """The kernel descriptors of a program's code object, which is what a loader needs."""
    elf = read_elf(program.code)
    header = elf.header
    assert header["e_machine"] == "EM_AMDGPU" and header["e_type"] == "ET_DYN"
    assert program.code[7] == ELFOSABI_AMDGPU_HSA
    assert header["e_flags"] & 0xFF == MACHINES[architecture]
    segments = list(elf.iter_segments("PT_LOAD"))
    ends = [(one["p_vaddr"], one["p_vaddr"] + one["p_memsz"]) for one in segments]
    assert all(end <= begin for (_, end), (begin, _) in zip(ends, ends[1:]))
    assert all(one["p_vaddr"] % PAGE == one["p_offset"] % PAGE for one in segments)
    found, symbols = kernel_descriptors(elf), dynamic_symbols(elf)
    assert set(found) == set(program.kernels)
    (code,) = [one for one in segments if one["p_flags"] & 1]
    for name, descriptor in found.items():
        assert descriptor.code_address == symbols[name]["st_value"] and descriptor.code_address % 256 == 0
        assert code["p_vaddr"] <= descriptor.code_address < code["p_vaddr"] + code["p_filesz"]
    return found


@pytest.mark.parametrize("opcode, architecture", one_in_all(29, WITH_SAMPLES, AMD_ARCHITECTURES, ci_step=2))
def test_samples_become_code_objects(opcode, architecture):
    samples = native_samples(opcode)
    if not samples:
        return
    program = program_of(module_of(opcode, samples)[0], target(architecture))
    assert bool(program.code) == bool(program.kernels)
    if program.code:
        descriptors_of(program, architecture)


# --- what a loader and the device are told of a kernel: LLVM's "User Guide for AMDGPU Backend" ---

# By the values of a module that calls a function which is not inlined, and needs memory of a block.
CALLING = np.linspace(-1e9, 1e9, 600).reshape(3, 200)
SHARED_BYTES = 64 << 10


@pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)
def test_drivers_are_told_the_arguments_and_sizes_of_kernels(architecture):
    module = parse_module(jit(lambda x: np.sort(np.sin(x), axis=1).sum(axis=0)).lower(CALLING).as_text())
    program = program_of(module, target(architecture))
    elf = read_elf(program.code)
    assert program.code[8] == 3  # ELFABIVERSION_AMDGPU_HSA_V5
    assert elf.header["e_flags"] & 0xF00 in (0x500, 0)  # any setting of XNACK and SRAMECC
    descriptors, notes = descriptors_of(program, architecture), kernels_of(elf)
    assert set(notes) == set(descriptors)
    launches = [step for step in program.plan.steps if isinstance(step, Launch)]
    assert {step.kernel for step in launches} == set(notes)
    for step in launches:
        note, descriptor = notes[step.kernel], descriptors[step.kernel]
        arguments = note[".args"]
        assert [(one[".offset"], one[".size"]) for one in arguments] == [(8 * n, 8) for n in range(len(step.arguments))]
        assert {(one[".value_kind"], one[".address_space"]) for one in arguments} == {("global_buffer", "global")}
        assert note[".kernarg_segment_size"] == descriptor.argument_bytes == 8 * len(arguments)
        assert note[".kernarg_segment_align"] == 8 and note[".symbol"] == f"{step.kernel}.kd"
        assert note[".group_segment_fixed_size"] == descriptor.shared_bytes <= SHARED_BYTES
        assert note[".private_segment_fixed_size"] == descriptor.private_bytes
        assert not note[".uses_dynamic_stack"] and ".vgpr_spill_count" in note
        assert note[".max_flat_workgroup_size"] == np.prod(step.block)
        assert note[".wavefront_size"] == target(architecture).sub_group


@pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)
def test_subnormal_numbers_are_kept(architecture):
    """The modes that waves begin with: rounding to nearest, subnormal numbers of all types kept, signaling NaN made quiet."""
    program = program_of(hot_module("chain"), target(architecture))
    for descriptor in descriptors_of(program, architecture).values():
        assert descriptor.modes >> 12 & 15 == 0 and descriptor.modes >> 16 & 15 == 15
        assert descriptor.modes >> 21 & 1 and descriptor.modes >> 23 & 1  # DX10_CLAMP, IEEE


@pytest.mark.parametrize("name, architecture", one_in_all(5, HOT_PROGRAMS, AMD_ARCHITECTURES))
def test_hot_kernels_have_all_they_use_in_registers(name, architecture):
    program = program_of(hot_module(name), target(architecture))
    found = descriptors_of(program, architecture)
    assert found and not {kernel: one for kernel, one in found.items() if one.private_bytes}
    text = assembly(program.llvm_ir, target(architecture))
    assert text.count("s_endpgm") >= len(program.kernels) and not re.search(r"^\s*scratch_", text, re.MULTILINE)


# The instructions that large products are made of, in LLVM's spelling.
MATRIX_INSTRUCTIONS = {
    ("gfx90a", "f32"): "v_mfma_f32_32x32x2f32",
    ("gfx90a", "f64"): "v_mfma_f64_16x16x4f64",
    ("gfx90a", "bf16"): "v_mfma_f32_32x32x2f32",
    ("gfx90a", "s8"): "v_mfma_i32_32x32x8i8",
    ("gfx90a", "u8"): "v_mfma_i32_32x32x8i8",
    ("gfx942", "f32"): "v_mfma_f32_32x32x2_f32",
    ("gfx942", "f64"): "v_mfma_f64_16x16x4_f64",
    ("gfx942", "bf16"): "v_mfma_f32_32x32x8_bf16",
    ("gfx942", "f16"): "v_mfma_f32_32x32x8_f16",
    ("gfx942", "s8"): "v_mfma_i32_32x32x16_i8",
    ("gfx942", "u8"): "v_mfma_i32_32x32x16_i8",
    ("gfx1100", "bf16"): "v_wmma_f32_16x16x16_bf16",
    ("gfx1100", "f16"): "v_wmma_f32_16x16x16_f16",
    ("gfx1100", "s8"): "v_wmma_i32_16x16x16_iu8",
}


CONTRACTED = [(1, 0), (1, 1), (0, 0)]  # dimensions of the left operand and of the right one


@pytest.mark.parametrize("case, sides", one_in_all(11, MATRIX_INSTRUCTIONS, CONTRACTED))
def test_products_are_made_of_matrix_instructions(case, sides):
    """Whose sums are in registers, as is all that a thread loads; from the block's memory 16 bytes at once, if it can."""
    architecture, element_type = case
    shape, (left, right) = f"{element_type}[2048,2048]", sides
    result = "s32[2048,2048]" if element_type in ("s8", "u8") else shape
    module = parse_module(f"""HloModule m
ENTRY e {{
  a = {shape} parameter(0)
  b = {shape} parameter(1)
  ROOT c = {result} dot(a, b), lhs_contracting_dims={{{left}}}, rhs_contracting_dims={{{right}}}
}}""")
    program = program_of(module, target(architecture))
    assert not [one for one in descriptors_of(program, architecture).values() if one.private_bytes]
    text = assembly(program.llvm_ir, target(architecture))
    assert re.search(rf"^\s*{MATRIX_INSTRUCTIONS[case]} ", text, re.MULTILINE)
    assert not re.search(r"[vs]gpr_spill_count: +[1-9]|^\s*scratch_", text, re.MULTILINE)
    assert not left or re.search(r"^\s*ds_(read|load)_b128 ", text, re.MULTILINE)
    assert "buffer_gl0_inv" not in text  # barriers are for the block's memory alone: loads stay under way


# --- the linker ---

PROGRAM = """
target triple = "amdgcn-amd-amdhsa"
@table = internal addrspace(4) constant [4 x i32] [i32 3, i32 1, i32 4, i32 1]
@factor = internal addrspace(1) global i32 7
define internal i32 @helper(i32 %i) noinline {
  %at = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %i
  %value = load i32, ptr addrspace(4) %at
  %factor = load volatile i32, ptr addrspace(1) @factor
  %product = mul i32 %value, %factor
  ret i32 %product
}
define amdgpu_kernel void @first(ptr addrspace(1) %x) {
  %i = load i32, ptr addrspace(1) %x
  %value = call i32 @helper(i32 %i)
  store i32 %value, ptr addrspace(1) %x
  ret void
}
define amdgpu_kernel void @second(ptr addrspace(1) %x) {
  store i32 1, ptr addrspace(1) %x
  ret void
}
"""


def relocatable(llvm_ir, architecture="gfx942"):
    module = binding.parse_assembly(llvm_ir, binding.create_context())
    machine = target(architecture).machine()
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module))


SHIFTS = {"R_AMDGPU_REL32_LO": 0, "R_AMDGPU_REL32_HI": 32, "R_AMDGPU_REL64": 0}
NUMBERS = {10: "R_AMDGPU_REL32_LO", 11: "R_AMDGPU_REL32_HI", 5: "R_AMDGPU_REL64"}


@pytest.mark.parametrize("architecture", AMD_ARCHITECTURES)
def test_what_is_referred_to_is_where_it_is_said_to_be(architecture):
    """Every distance that is stored leads to the bytes that the object names, in the memory of the loaded code."""
    before = relocatable(PROGRAM, architecture)
    given, linked = read_elf(before), read_elf(link_code_object(before))
    symbols = given.get_section_by_name(".symtab")
    kinds = set()
    for section in given.iter_sections("SHT_RELA"):
        where = given.get_section(section["sh_info"])
        base = linked.get_section_by_name(where.name)["sh_addr"]
        for relocation in section.iter_relocations():
            kind = NUMBERS[relocation["r_info_type"]]
            kinds.add(kind)
            symbol = symbols.get_symbol(relocation["r_info_sym"])
            goal = linked.get_section_by_name(given.get_section(symbol["st_shndx"]).name)["sh_addr"]
            place, size = base + relocation["r_offset"], 8 if kind == "R_AMDGPU_REL64" else 4
            stored = int.from_bytes(bytes_at(linked, place, size), "little")
            distance = goal + symbol["st_value"] + relocation["r_addend"] - place
            assert stored == (distance >> SHIFTS[kind]) % (1 << 8 * size)
    assert kinds == set(SHIFTS)
    for name in (".rodata", ".data"):
        kept = linked.get_section_by_name(name)
        assert bytes_at(linked, kept["sh_addr"], kept["sh_size"]) == kept.data()
    data = linked.get_section_by_name(".data")
    assert data.data() == struct.pack("<i", 7)
    (holder,) = [one for one in linked.iter_segments("PT_LOAD") if one.section_in_segment(data)]
    assert holder["p_flags"] & 2


def test_kernels_are_found_by_their_names():
    """By the hash table, as loaders look for them."""
    elf = read_elf(link_code_object(relocatable(PROGRAM)))
    table = elf.get_section_by_name(".hash")
    for name in ("first", "second", "first.kd", "second.kd"):
        assert table.get_symbol(name).name == name
    assert table.get_symbol("third") is None and table.get_symbol("helper") is None
    assert set(dynamic_symbols(elf)) == {"first", "second", "first.kd", "second.kd"}
    (note,) = list(elf.iter_segments("PT_NOTE"))
    assert b"amdhsa.kernels" in note.data()


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\0" * 100, relocatable(PROGRAM)[:16] + b"\x03\0" + b"\0" * 100])
def test_what_is_no_relocatable_object_is_refused(data):
    with pytest.raises(ValueError, match="relocatable ELF object"):
        link_code_object(data)


@pytest.mark.parametrize(
    "text, named",
    [
        ("declare void @elsewhere()\ndefine amdgpu_kernel void @f() {\n call void @elsewhere()\n ret void\n}", "elsewhere"),
        ("@t = addrspace(1) constant ptr @g\ndefine void @g() {\n ret void\n}", "relocations of type 3 for 'g'"),
    ],
)
def test_what_is_not_linked_is_refused_by_name(text, named):
    with pytest.raises(NotImplementedError, match=named):
        link_code_object(relocatable(f'target triple = "amdgcn-amd-amdhsa"\n{text}\n'))
