"""Sizes beyond every memory: an exception that says how many bytes, before anything runs; never a crash or a wrapped size."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import phlox
import pytest
from paths import SUPPORT
from phlox import ShapeDtype, hlo, jit, load_hlo
from phlox.backends.registry import get_backend
from phlox.hlo import OPERATIONS, U8, AddressSpaceError, Shape
from phlox.xla_builder import XlaBuilder

OPCODES = [opcode for opcode, record in OPERATIONS.items() if record.samples()]
LESS = "less {{ a = u8[] parameter(0)  b = u8[] parameter(1)  {others} ROOT l = pred[] compare(a, b), direction=LT }}"


@pytest.mark.parametrize("huge", [
    2**62, pytest.param(2**40, marks=pytest.mark.slow), pytest.param(2**63 - 1, marks=pytest.mark.slow)
])  # fmt: skip
def test_samples_with_huge_dimensions(huge):
    paths = f"{Path(phlox.__file__).parent.parent}:{SUPPORT}"
    command = [sys.executable, SUPPORT / "huge_samples.py", str(huge), *OPCODES]
    environment = {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1000)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""


def sort_of(count, size):
    """A sort of so many arrays of u8, which are not parameters: all of them are temporaries."""
    numbers = range(2, 2 * count)
    others = " ".join(f"p{number} = u8[] parameter({number}) " for number in numbers)
    arrays = "\n".join(f"x{i} = u8[{size}] iota(), iota_dimension=0" for i in range(count))
    shape = "(" + ", ".join([f"u8[{size}]"] * count) + ")"
    names = ", ".join(f"x{i}" for i in range(count))
    return (
        f"HloModule m\n{LESS.format(others=others)}\nENTRY e {{\n{arrays}\n"
        f"s = {shape} sort({names}), dimensions={{0}}, to_apply=less\n"
        f"g = u8[{size}] get-tuple-element(s), index=0\nROOT r = u8[1] slice(g), slice={{[0:1]}}\n}}"
    )


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize(("count", "size"), [(2, 2**63 - 1), (4, 2**62), (2, 2**47), (2, 2**46)])
def test_temporaries_that_have_no_place(backend, count, size):
    with pytest.raises(MemoryError):
        load_hlo(sort_of(count, size), backend=backend)()


def test_the_message_says_how_many_bytes():
    with pytest.raises(AddressSpaceError, match=r"^module m, e: the temporaries take [0-9]{20,21} bytes"):
        load_hlo(sort_of(2, 2**63 - 1))


def test_arrays_that_cannot_be_counted():
    b = XlaBuilder("f")
    x = b.parameter(Shape(U8, (2**40, 2**40)), "x")
    module = b.build_module(b.Slice(x, (0, 0), (1, 1)))
    for backend in ("cpu", "reference"):
        with pytest.raises(hlo.HloError, match=f"instruction .*%x = .*: sizes up to {2**80} bytes"):
            get_backend(backend).compile(module)


def test_descriptions_of_arguments_and_results():
    with pytest.raises(MemoryError, match=f"the parameters take {2**52} bytes"):
        jit(np.sin).compile(ShapeDtype((2**49,), np.float64))
    with pytest.raises(MemoryError, match=f"the results take {2**52} bytes"):
        jit(lambda x: np.broadcast_to(x, (2**49,)) + 1).compile(1.0)


def test_what_is_not_in_memory_may_be_large():
    assert jit(lambda x: (np.broadcast_to(x, (2**58,)) + 1)[5:7])(1.0).tolist() == [2.0, 2.0]


def test_long_fourier_transforms():
    for length in (2**32, 2**61 - 1, 2**25 - 39):
        fft = f"fft(x), fft_type=FFT, fft_length={{{length}}}"
        text = f"HloModule m\nENTRY e {{ x = c64[{length}] parameter(0) ROOT y = c64[{length}] {fft} }}"
        with pytest.raises((NotImplementedError, hlo.HloError), match="operation fft|bytes"):
            load_hlo(text)
