"""Code for NVIDIA's devices, on machines without one: the assembler takes every kernel of the samples, and hot ones fit."""

import re

import numpy as np
import pytest
from gpu_backends import PTX_ARCHITECTURES, WITH_SAMPLES, native_samples, target
from hot_programs import HOT_PROGRAMS, hot_module
from operation_checks import module_of
from phlox import jit
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.code_generation.compiling import assembly
from phlox.backends.gpu.code_generation.kernel_parts import joined_ptx, kernel_parts
from phlox.backends.gpu.code_generation.straight_code import straight_code
from phlox.backends.gpu.kernel import IS_PLAIN
from ptx_assembler import assemble, find_ptxas
from thinning import one_in_all

pytestmark = pytest.mark.skipif(find_ptxas() is None, reason="there is no ptxas; pip install nvidia-cuda-nvcc brings it")

SM_90 = target("sm_90a")


def assembled(module, architecture):
    """The program's kernels with their resources."""
    program = program_of(module, target(architecture))
    found = assemble(program.code, architecture) if program.code else {}
    assert set(found) == set(program.kernels)
    return found


@pytest.mark.parametrize("opcode, architecture", one_in_all(13, WITH_SAMPLES, PTX_ARCHITECTURES))
def test_samples_are_assembled(opcode, architecture):
    samples = native_samples(opcode)
    if samples:
        assembled(module_of(opcode, samples)[0], architecture)


def test_kernels_that_were_compiled_apart_are_one_text():
    """What they have in common, functions and tables, does not meet."""
    program = program_of(
        jit(lambda x, y: (np.sin(x), np.sin(np.sort(y)).sum(), np.sort(x))).lower(np.ones(9), np.ones(7)).module, SM_90
    )
    parts = kernel_parts(program.llvm_ir, SM_90.calling_convention, 1)
    assert len(parts) == len(program.kernels) >= 3
    text = joined_ptx([assembly(part, SM_90) for part in parts])
    assert set(assemble(text.encode(), "sm_90a")) == set(program.kernels)


def test_plain_kernels_are_apart_from_others():
    """LLVM runs fewer passes over modules of these alone."""
    program = program_of(jit(lambda x: (np.exp(x), np.sort(x))).lower(np.ones(9)).module, SM_90)
    parts = kernel_parts(program.llvm_ir, SM_90.calling_convention)
    assert sorted([(IS_PLAIN in part, "exponential" in part) for part in parts]) == [(False, False), (True, True)]


@pytest.mark.parametrize("name, architecture", one_in_all(3, HOT_PROGRAMS, PTX_ARCHITECTURES))
def test_hot_kernels_have_all_they_use_in_registers(name, architecture):
    found = assembled(hot_module(name), architecture)
    assert found and not {kernel: one for kernel, one in found.items() if one.spill_bytes or one.stack_bytes}


def test_kernels_without_loops_say_where_pointers_point():
    """LLVM, which is not to look for it, is told, and that no one changes what is read."""

    def softmax(x):
        weights = np.exp(x - x.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    program = program_of(jit(softmax).lower(np.ones((512, 1024), np.float32)).module, SM_90)
    assert straight_code(program.llvm_ir) is not None
    accesses = set(re.findall(r"\b(?:ld|st)\.(?!param)([a-z.]*?)(?:\.v4)?\.b32", program.code.decode()))
    assert accesses == {"global.nc", "shared", "global"}


def with_casts(lines, attributes=""):
    """A function of these lines, with pointers p and q that were cast from its arguments."""
    casts = [f'  %"{name}" = addrspacecast ptr addrspace(1) %"{name}.1" to ptr' for name in "pq"]
    arguments = ", ".join([f'ptr addrspace(1) {attributes} %"{name}.1"' for name in "pq"])
    return "\n".join([f"define void @f({arguments}) {{", *casts, *lines, "}"])


@pytest.mark.parametrize(
    "line",
    [
        '  call void @g(ptr %"p")',
        '  store ptr %"p", ptr %"q", align 8',
        '  store ptr %"p", ptr %"unknown", align 8',
        '  %"z" = load atomic i32, ptr %"p" monotonic, align 4',
        '  %"z" = getelementptr double, ptr %"p", <2 x i64> %"n"',
    ],
)
def test_other_uses_of_pointers_are_left_alone(line):
    assert straight_code(with_casts([line])) is None


@pytest.mark.parametrize("attributes, stored", [("noalias", "p"), ("noalias", "q"), ("", "q")])
def test_only_what_no_one_changes_stays_as_it_is(attributes, stored):
    code = straight_code(
        with_casts(['  %"z" = load i32, ptr %"p", align 4', f'  store i32 0, ptr %"{stored}", align 4'], attributes)
    )
    assert ("!invariant.load" in code) is (attributes == "noalias" and stored == "q")
