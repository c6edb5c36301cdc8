"""Code for NVIDIA's devices, on machines without one: the assembler takes every kernel of the samples, and hot ones fit."""

import numpy as np
import pytest
from gpu_backends import PTX_ARCHITECTURES, WITH_SAMPLES, native_samples, target
from hot_programs import HOT_PROGRAMS, hot_module
from operation_checks import module_of
from phlox import jit
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.code import assembly
from phlox.backends.gpu.kernel import IS_PLAIN
from phlox.backends.gpu.kernel_parts import joined_ptx, kernel_parts
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
