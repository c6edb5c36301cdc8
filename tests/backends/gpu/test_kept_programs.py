"""A second process makes no code: it runs what the first one has kept on disk, and what the driver made of that."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import phlox
import pytest
from gpu_backends import WITH_SAMPLES, native_samples, target
from host_as_device import CUDA_EXTRA, HostAsDevice
from opencl_device import REVERSE, opencl_driver, spirv
from operation_checks import module_of
from phlox import jit
from phlox.backends import kept_programs
from phlox.backends.gpu import backend as gpu_backend
from phlox.backends.gpu import driver_code, kept_code
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.driver_code import load_code
from phlox.backends.gpu.drivers.cuda import CUDA, CudaDriver
from phlox.backends.gpu.plan import HostCall, Launch, inside
from phlox.backends.gpu.plan_code import encode
from phlox.backends.instruction_texts import instructions_text
from phlox.hlo import SourceLocation
from phlox.runtime.disk_cache import DiskCache
from thinning import one_in
from typical_programs import TYPICAL_PROGRAMS
from typical_programs import module_of as typical_module

PROGRAM = """
import sys
from collections import Counter
import numpy as np
import phlox
from phlox import jit
from phlox.backends.cpu import machine_code
from phlox.backends.gpu import backend
from phlox.backends.gpu.code_generation import spirv
from phlox.backends.gpu.drivers import opencl

counts = Counter()
def count(owner, name):
    function = getattr(owner, name)
    def counting(*arguments, **named):
        counts[name] += 1
        return function(*arguments, **named)
    setattr(owner, name, counting)
count(backend, "run_steps")
count(spirv, "emit_apart")
count(backend, "compile_kernels")
count(machine_code, "_compiled")
count(opencl.OpenCLDevice, "made_of")

twice = phlox.gpu.kernel("twice", result=lambda x: x, grid=1, block=8, llvm='''
declare i32 @phlox.thread.x()
define void @twice(ptr %x, ptr %y) {
  %n = call i32 @phlox.thread.x()
  %from = getelementptr double, ptr %x, i32 %n
  %value = load double, ptr %from
  %sum = fadd double %value, %value
  %to = getelementptr double, ptr %y, i32 %n
  store double %sum, ptr %to
  ret void
}''')

@jit(backend="opencl")
def chain(x):
    return np.sort(np.exp(-x)) + np.cumsum(x) * 2

@jit(backend="opencl")
def grown(x):
    while x.sum() < 100:
        x = x * 2
    return twice(x)

@jit(backend="opencl")
def told(x):
    print("told", x.sum())
    return np.linalg.solve(np.eye(3) * 2, x[:3])

@jit(backend="opencl")
def positive(x):
    return np.sqrt(x[x > 2])

x = np.arange(8.0)
print(chain(x), grown(x), told(x), positive(x))
made = dict(counts)
compiled = chain.compile(x)
print(compiled.as_text("plan"), compiled.as_text("llvm").count("define"), compiled.memory_analysis())
for name in ("run_steps", "compile_kernels", "emit_apart", "_compiled", "made_of"):
    print(made.get(name, 0), file=sys.stderr)
"""


def run(folder):
    """What the program prints; how often passes ran, LLVM made code, in other processes, and for the host, and the driver."""
    environment = {**os.environ, "PHLOX_CACHE": "1", "PHLOX_CACHE_DIR": str(folder), "PYTHONHASHSEED": "random"}
    environment["PYTHONPATH"] = str(Path(phlox.__file__).parent.parent)
    program = folder.parent / "program.py"
    program.write_text(PROGRAM)
    ended = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout, tuple(map(int, ended.stderr.split()[-5:]))


@pytest.mark.of_gpus
def test_a_second_process_makes_nothing(tmp_path):
    opencl_driver()
    printed, counts = run(tmp_path / "kept")
    assert "told 28.0" in printed and counts[:3] == (4, 4, 5) and counts[3] >= 1 and counts[4] == 5
    assert run(tmp_path / "kept") == (printed, (0,) * 5)


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """A cache that is used in this process."""
    cache = DiskCache(tmp_path / "kept", 1 << 24)
    for module in (kept_code, kept_programs, driver_code):
        monkeypatch.setattr(module, "disk_cache", lambda: cache)
    return cache


def not_made(module, target):
    raise AssertionError("the program was to be found")


def kept_again(module, architecture="sm_90a"):
    """The program of a module, as it is made, and as it is found."""
    made = kept_code.kept_program(module, target(architecture), program_of, not_made)
    return made, kept_code.kept_program(module, target(architecture), not_made, gpu_backend._texts_of)


def check_same(made, found):
    """All that running them depends on."""
    assert found.plan.as_text() == made.plan.as_text()
    codes = [
        encode(one.plan, len(one.parameters), len(one.results), lambda launch: (len(launch.kernel), 1)) for one in (made, found)
    ]
    np.testing.assert_array_equal(codes[0].numbers, codes[1].numbers)
    texts = [instructions_text([call.instruction for call in one.host_calls]) for one in codes if one.host_calls]
    assert texts[1:] == texts[:1]
    for name in ("name", "code", "kernels", "parameters", "results", "padding"):
        assert getattr(found, name) == getattr(made, name), name
    assert (found.plan.constants, found.plan.temporary_bytes) == (made.plan.constants, made.plan.temporary_bytes)


@pytest.mark.parametrize("opcode", one_in(17, WITH_SAMPLES, ci_step=2))
def test_programs_of_samples_are_found_as_they_were(opcode, kept, monkeypatch):
    samples = native_samples(opcode)
    monkeypatch.setattr(gpu_backend, "compile_kernels", lambda llvm_ir, target: b"code")
    if samples:
        check_same(*kept_again(module_of(opcode, samples)[0]))


@pytest.mark.parametrize("program", TYPICAL_PROGRAMS, ids=lambda program: program.__name__)
def test_typical_programs_are_found_as_they_were(program, kept):
    made, found = kept_again(typical_module(program))
    check_same(made, found)
    assert (found.optimized, found.llvm_ir) == (made.optimized, made.llvm_ir)


def test_damaged_entries_are_made_again(kept):
    module = typical_module(TYPICAL_PROGRAMS[0])
    made, _ = kept_again(module)
    (entry,) = kept.entries()
    data = entry.path.read_bytes()
    entry.path.write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:])
    check_same(made, kept_code.kept_program(module, target("sm_90a"), program_of, not_made))


def test_each_target_has_its_own(kept):
    module = typical_module(TYPICAL_PROGRAMS[0])
    codes = {architecture: kept_again(module, architecture)[1].code for architecture in ("sm_80", "sm_90a", "gfx942", "gfx90a")}
    assert len(set(codes.values())) == 4 and codes["gfx942"].startswith(b"\x7fELF") and b".target sm_80" in codes["sm_80"]


def test_lines_are_those_of_the_program_that_is_run(kept):
    """Not of the one that was kept, which does the same elsewhere."""

    def program(first_line):
        module = jit(lambda x: np.linalg.solve(np.eye(2) * 2, np.sort(x))).lower(np.ones(2)).module
        for number, instruction in enumerate(module.entry.instructions):
            instruction.source = SourceLocation("model.py", first_line + number, "f")
        return module

    made = kept_code.kept_program(program(10), target("sm_90a"), program_of, not_made)
    found = kept_code.kept_program(program(50), target("sm_90a"), not_made, not_made)
    steps = list(zip(inside(made.plan.steps), inside(found.plan.steps), strict=True))
    sources = [tuple([one.source for one in pair]) for pair in steps if isinstance(pair[0], Launch)]
    sources += [tuple([one.instruction.source for one in pair]) for pair in steps if isinstance(pair[0], HostCall)]
    lines = [(before.line, after.line) for before, after in sources]
    assert len(lines) > 1 and all(after == before + 40 for before, after in lines)


def test_what_a_driver_made_is_loaded(kept):
    device, code = opencl_driver().open(0), spirv(REVERSE)
    assert load_code(device, code).kernel("reverse").parameters == 2
    (entry,) = kept.entries()
    made = kept.get(entry.key)
    assert made and not made.startswith(code[:4])
    assert load_code(device, code).kernel("reverse").parameters == 2
    kept.put(entry.key, b"of another driver")  # the code is made again
    assert load_code(device, code).kernel("reverse").parameters == 2
    assert kept.get(entry.key) == made


def test_what_a_driver_does_not_give_is_not_kept(kept):
    """CUDA's driver keeps it itself."""
    library = HostAsDevice(CUDA, CUDA_EXTRA)
    for _ in range(2):
        load_code(CudaDriver(library).open(0), b"ptx")
    assert library.loaded == [b"ptx"] * 2 and not kept.entries()
