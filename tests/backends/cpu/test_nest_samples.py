"""Every nest of the CPU backend on the programs that stand in its file."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest
from llvmlite import ir
from phlox import config
from phlox.backends.cpu import (
    control_flow,
    emitter_table,
    frame,
    functions,
    operations,
    program_loader,
    region_functions,
    regions,
)
from phlox.backends.cpu.nest_samples import SAMPLES
from phlox.backends.cpu.regions.sort import emit_sort
from phlox.backends.llvm.types import I64, POINTER
from phlox.backends.registry import get_backend
from sample_values import whole_numbers
from thinning import one_in

ALIGNMENT = 64
GUARD, UNTOUCHED = 4096, 0xA5
NESTS = [pytest.param(sample, id=f"{sample.nest.__qualname__}-{number}") for number, sample in enumerate(SAMPLES)]


class GuardedScratch:
    """Gives nests the memory that they asked for outside of the program's own, so that it shows where they write beside it."""

    def __init__(self, monkeypatch):
        self.blocks = []
        in_arena = frame.Frame.scratch

        def scratch(own, instruction):
            if in_arena(own, instruction) is None:
                return None
            size = emitter_table.scratch_bytes(instruction)
            block = np.full(size + 2 * GUARD + ALIGNMENT, UNTOUCHED, np.uint8)
            start = GUARD + -(block.ctypes.data + GUARD) % ALIGNMENT
            self.blocks.append((block, start, start + size))
            return ir.Constant(I64, block.ctypes.data + start).inttoptr(POINTER)

        monkeypatch.setattr(frame.Frame, "scratch", scratch)

    def assert_untouched_outside(self):
        assert all(
            (block[:start] == UNTOUCHED).all() and (block[stop:] == UNTOUCHED).all() for block, start, stop in self.blocks
        )


def functions_run_by(action):
    """The code of the Python functions that run meanwhile, and what the action returns."""
    ran = set()
    sys.setprofile(lambda called, event, argument: ran.add(called.f_code) if event == "call" else None)
    try:
        result = action()
    finally:
        sys.setprofile(None)
    return ran, result


def assert_close(found, expected, tolerance):
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if tolerance:
        largest = np.abs(expected[np.isfinite(expected)]).max(initial=0)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * largest)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sample", NESTS)
def test_nest(sample, monkeypatch):
    random, module = np.random.default_rng(0), sample.module
    arguments = [whole_numbers(parameter.shape, random) for parameter in module.entry.parameters]
    scratch = GuardedScratch(monkeypatch)
    ran, executable = functions_run_by(lambda: get_backend("cpu").compile(module))
    assert sample.nest.__code__ in ran
    found, expected = executable(*arguments), get_backend("reference").compile(module)(*arguments)
    for one, other in zip(found, expected, strict=True):
        assert_close(np.asarray(one), np.asarray(other), sample.tolerance)
    scratch.assert_untouched_outside()


@pytest.fixture
def in_pieces(monkeypatch):
    """Programs are divided however little they do."""
    monkeypatch.setattr(region_functions, "_LEAST_NANOSECONDS", 1)
    monkeypatch.setattr(region_functions, "_OUTLINED_ELEMENTS", 2)


RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p, ctypes.c_int64)


def run_backwards(function, context, count, work, checks, scratch, scratch_bytes):
    piece = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(function)
    return next(filter(None, [piece(context, number, scratch) for number in reversed(range(count))]), 0)


def in_bytes(results):
    return [np.asarray(result).tobytes() for result in results]


@pytest.mark.parametrize("sample", one_in(4, SAMPLES), ids=lambda sample: sample.nest.__qualname__)
def test_pieces_of_nests_in_any_order(sample, in_pieces, monkeypatch):
    """Each nest in as many pieces as there can be, the last one first, and by threads."""
    random, module = np.random.default_rng(0), sample.module
    arguments = [whole_numbers(parameter.shape, random) for parameter in module.entry.parameters]
    backwards = RUN(run_backwards)
    with monkeypatch.context() as patched:
        patched.setattr(program_loader, "run_pieces_address", lambda: ctypes.cast(backwards, ctypes.c_void_p).value)
        expected = in_bytes(get_backend("cpu").compile(module)(*arguments))
    executable = get_backend("cpu").compile(module)
    for number in (1, 3):
        with config(num_threads=number):
            assert in_bytes(executable(*arguments)) == expected


def test_every_file_of_nests_has_samples():
    files = {path.stem for path in Path(regions.__file__).parent.glob("*.py")} - {"__init__"}
    assert {sample.nest.__module__.rpartition(".")[2] for sample in SAMPLES} == files


def test_every_operation_with_a_nest_is_in_a_sample():
    elsewhere = {module.__name__ for module in (control_flow, functions, operations)}
    nests = {opcode for opcode, emit in emitter_table.EMITTERS.items() if emit.__module__ not in elsewhere}
    computations = [computation for sample in SAMPLES for computation in sample.module.computations()]
    assert nests - {"fusion"} <= {i.opcode for computation in computations for i in computation.instructions}


def test_writing_beside_the_scratch_is_seen(monkeypatch):
    declared = emitter_table.scratch_bytes
    sample = next(sample for sample in SAMPLES if sample.nest is emit_sort)
    monkeypatch.setattr(emitter_table, "scratch_bytes", lambda instruction: declared(instruction) - ALIGNMENT)
    scratch = GuardedScratch(monkeypatch)
    executable = get_backend("cpu").compile(sample.module)
    executable(*(whole_numbers(parameter.shape, np.random.default_rng(0)) for parameter in sample.module.entry.parameters))
    with pytest.raises(AssertionError):
        scratch.assert_untouched_outside()
