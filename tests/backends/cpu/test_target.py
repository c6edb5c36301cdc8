"""Levels of processors: code for each of them is right, keeps to its registers, and runs on no other architecture."""

import numpy as np
import pytest
from operation_checks import check_samples, operations_without_native_code
from phlox import jit
from phlox.backends.cpu import backend as cpu_backend
from phlox.backends.cpu.backend import CpuBackend
from phlox.backends.cpu.machine_code import assembly as assembly_of
from phlox.backends.cpu.machine_code import compile_object
from phlox.backends.cpu.nest_samples import SAMPLES
from phlox.backends.cpu.program_loader import LoadedProgram, ProgramError
from phlox.backends.cpu.target import FULL, LEVELS, QUICK, host_target, level_target, native_target, runs_on
from phlox.backends.registry import get_backend, register_backend
from phlox.hlo import OPERATIONS
from sample_values import whole_numbers
from thinning import one_in, one_in_all

try:
    from aarch64_emulator import EmulatedBackend
except ImportError:
    EmulatedBackend = None

RUNNING = [name for name in LEVELS if runs_on(level_target(name), native_target())]
# Levels of which the code is run: by the machine, or by an emulated one.
EMULATED = ["aarch64"] if EmulatedBackend is not None and "aarch64" not in RUNNING else []
RANDOM = np.random.default_rng(3)
X, Y = RANDOM.normal(size=(2, 53, 20))
Z = X + 1j * Y

PROGRAMS = {
    "chain": (lambda x, y: np.exp(-x * x) * np.sin(y) + np.tanh(x * y) + np.log1p(x * x), X, Y),
    "f32 chain": (lambda x, y: np.exp(-x * x) * np.cbrt(y) + np.arctan2(x, y), X.astype("f4"), Y.astype("f4")),
    "f16": (lambda x, y: np.sort(x * y, axis=0) + x.sum(axis=1, keepdims=True) / y, X.astype("f2"), Y.astype("f2")),
    "casts": (lambda x, y: (x.astype(np.float16).astype(np.int8), y.astype(np.uint8), (y > 0) | (x > y)), X, Y),
    "complex": (lambda x, y: np.exp(x) * y + np.sqrt(x) / y, Z, Z.T.copy().T),
    "product": (lambda x, y: x @ y.T, X, Y),
    "f32 product": (lambda x, y: x.T @ y, X.astype("f4"), Y.astype("f4")),
    "reductions": (lambda x, y: (x.sum(), x.max(0), y.argmin(1), np.cumsum(y, axis=0), (x > y).any(1)), X, Y),
    "sorts": (lambda x, y: (np.sort(x.ravel()), np.argsort(y, axis=1), np.partition(x, 5)[:, 5], x[x > 0.5]), X, Y),
    "transforms": (lambda x, y: (np.fft.fft(x + 1j * y), np.fft.rfft(y)), X, Y),
    "integers": (lambda x, y: (x // (y | 1), x % 7, np.bitwise_count(x), x << 2), (X * 99).astype(int), (Y * 99).astype(int)),
    "bytes": (
        lambda x, y: (
            x[x > 0],
            np.packbits(y > 0),
            np.sort(x.ravel()),
            x.byteswap(),
            x.view(np.uint8)[::2],
            x.astype("i2")[y > 0],
        ),
        (X * 50).astype("i1").repeat(8).reshape(53, 160),
        (Y * 50).astype("i1").repeat(8).reshape(53, 160),
    ),
    "tables": (
        lambda x, y: (np.arange(16.0)[x % 16], np.arange(16, dtype="i1")[y % 16], np.isin(x, y[0])),
        (X * 99).astype(int),
        (Y * 99).astype(int),
    ),
    "counts": (
        lambda x, y: (np.bincount(x), np.count_nonzero(y), np.argmax(y), np.maximum.reduceat(y, [0, 9])),
        np.abs(X * 99).astype(int).ravel(),
        Y.ravel(),
    ),
    "systems": (lambda x, y: np.linalg.solve(x[:4, :4], y[:4]) + np.linalg.det(x[:3, :3]), X, Y),
    "loop": (lambda x, y: sum(x[i, 0] * y[i, 1] for i in range(50)), X, Y),
}


def backend_of(level):
    """The backend whose programs are for this level, and run."""
    return EmulatedBackend() if level in EMULATED else CpuBackend(level_target(level))


@pytest.fixture
def level(request, registered):
    name = "level_" + request.param.replace("-", "_")
    register_backend(name, lambda: backend_of(request.param))
    return name


@pytest.mark.parametrize("level, name", one_in_all(7, RUNNING + EMULATED, PROGRAMS), indirect=["level"])
def test_code_for_a_level_is_right(level, name):
    function, *arguments = PROGRAMS[name]
    found, expected = jit(function, backend=level)(*arguments), function(*arguments)
    for one, other in zip(*((value,) if not isinstance(value, tuple) else value for value in (found, expected))):
        assert one.dtype == other.dtype
        tolerance = 0 if other.dtype.kind not in "fc" else 32 * np.finfo(other.dtype).eps
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def assembly(name, function, *arguments):
    backend = CpuBackend(level_target(name))
    module = jit(function).lower(*arguments).module
    return assembly_of(backend._written(module).llvm_ir, backend.target)


@pytest.mark.skipif("x86_64" not in native_target().triple, reason="reads assembly of x86")
@pytest.mark.parametrize("name", [name for name in LEVELS if name.startswith("x86")])
def test_registers_of_a_level(name):
    text = assembly(name, lambda x, y: x * y + 1, X.ravel(), Y.ravel())
    widest = {16: "xmm", 32: "ymm", 64: "zmm"}[LEVELS[name].vector_bytes]
    assert widest in text
    assert not any(wider in text for wider in ("ymm", "zmm") if wider > widest)


@pytest.mark.parametrize("name", ["x86-64", "x86-64-v2"])
def test_halves_need_no_function_that_may_be_missing(name):
    text = assembly(name, lambda x: x * x + 1, X.astype("f2"))
    assert "hf2" not in text and "vcvtph2ps" not in text


def test_code_for_aarch64_uses_its_vectors():
    text = assembly("aarch64", lambda x, y: np.sqrt(x * y), X.ravel(), Y.ravel())
    assert "fmul\tv0.2d" in text.replace("v1.2d", "v0.2d").replace("v2.2d", "v0.2d").replace("v3.2d", "v0.2d")
    assert "fsqrt" in text
    halves = assembly("aarch64", lambda x: x * x, X.astype("f2"))
    assert "fcvtl" in halves and "fcvtn" in halves


def test_a_program_for_another_architecture_is_not_loaded():
    other = next(name for name in LEVELS if LEVELS[name].architecture not in native_target().triple)
    backend = CpuBackend(level_target(other))
    module = jit(lambda x: x + 1).lower(X).module
    program = backend._program(module, backend._written(module))
    with pytest.raises(ProgramError, match="for the system"):
        LoadedProgram(program)


def test_levels_that_there_are_not(monkeypatch):
    for wish, message in (
        ("sse9", "requires 'native' or one of x86-64, "),
        ("aarch64" if "x86" in native_target().triple else "x86-64", "does not run on this machine"),
    ):
        monkeypatch.setenv("PHLOX_TARGET", wish)
        with pytest.raises(ValueError, match=message):
            host_target.__wrapped__()


@pytest.mark.parametrize("sample, name", one_in_all(16, SAMPLES, LEVELS, ci_step=3))
def test_nests_at_levels(sample, name):
    """Every nest has code for every level, and it is right where it can run."""
    if name not in RUNNING + EMULATED:
        backend = CpuBackend(level_target(name))
        assert compile_object(backend._written(sample.module).llvm_ir, backend.target)
        return
    module = sample.module
    random = np.random.default_rng(0)
    arguments = [whole_numbers(parameter.shape, random) for parameter in module.entry.parameters]
    found, expected = backend_of(name).compile(module)(*arguments), get_backend("reference").compile(module)(*arguments)
    for one, other in zip(found, expected, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        largest = np.abs(other[np.isfinite(other)]).max(initial=0) if other.dtype.kind in "fcV" else 0
        np.testing.assert_allclose(one, other, rtol=0, atol=2 * sample.tolerance * largest)


@pytest.mark.skipif(not EMULATED, reason="requires the Unicorn Engine, on another machine than one with AArch64")
@pytest.mark.parametrize("opcode", one_in(16, sorted(set(OPERATIONS) - operations_without_native_code()), ci_step=2))
def test_operations_on_an_emulated_processor(opcode):
    backend, samples = EmulatedBackend(), OPERATIONS[opcode].samples()
    for start in range(0, len(samples), 16):
        check_samples(opcode, samples[start : start + 16], seed=1000 * len(opcode) + start // 16, backend=backend)


@pytest.mark.parametrize("sample, name", one_in_all(17, SAMPLES, ["native", *EMULATED], ci_step=3))
def test_nests_by_the_quick_level_of_code_generation(sample, name, monkeypatch):
    """To the last bit the same as by the full one."""
    module, random = sample.module, np.random.default_rng(0)
    arguments = [whole_numbers(parameter.shape, random) for parameter in module.entry.parameters]
    backend = get_backend("cpu") if name == "native" else backend_of(name)
    results = []
    for level in (QUICK, FULL):
        monkeypatch.setattr(cpu_backend, "code_generation", lambda *_, level=level: (level, ()))
        results.append([np.asarray(result).tobytes() for result in backend.compile(module)(*arguments)])
    assert results[0] == results[1]
