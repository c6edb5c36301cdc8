"""Compiled programs as values: saved by one process, loaded and run by another."""

import ctypes
import hashlib
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import phlox
import pytest
from comparisons import flattened
from dynamic_programs import CASES, COMPUTATIONS, numbers, sizes_of
from operation_checks import module_of, operations_without_native_code
from paths import SUPPORT
from phlox import fori_loop, jit, register_custom_call
from phlox.backends.cpu import module_parts, native_program
from phlox.backends.cpu.dynamic_shapes import executable_of
from phlox.backends.cpu.native_program import NativeProgram, ProgramError
from phlox.backends.cpu.program_loader import LoadedProgram
from phlox.backends.registry import get_backend
from phlox.hlo import F32, OPERATIONS, Computation, Layout, Module, Shape, make_instruction, parse_module
from phlox.runtime import run_on_devices, unregister_custom_call
from phlox.xla_builder import XlaBuilder
from run_saved_programs import TARGETS, UNUSUAL_NAME, register_targets, results_of
from sample_values import value_of
from thinning import one_in

GROUP = 8


def in_another_process(*arguments):
    """The output of Python in a process of its own."""
    paths = os.pathsep.join([str(Path(phlox.__file__).parent.parent), str(SUPPORT)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "random"}
    run = subprocess.run(
        [sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def targets():
    register_targets()
    yield
    for name in TARGETS:
        unregister_custom_call(name)


def compiled(function, *arguments):
    return jit(function).lower(*arguments).compile().executable


# --- programs ---


def product_and_sums(x, y):
    """Loops that call others, and temporaries in memory that is kept from call to call."""
    z = x @ y + 1
    return z.T @ y, np.cumsum(z, axis=0)


def test_a_program_of_several_object_files(monkeypatch):
    x, y = np.random.default_rng(0).integers(-4, 5, (2, 150, 150)).astype(float)
    monkeypatch.setattr(module_parts, "_LEAST_LINES", 1)
    with phlox.config(num_threads=3):
        program = compiled(product_and_sums, x, y).program
    assert (len(program.object_codes), program.keeps_block) == (3, True)
    for found in executable_of(program), executable_of(NativeProgram.from_bytes(program.to_bytes())):
        for one, expected in zip(found(x, y), product_and_sums(x, y), strict=True):
            assert np.array_equal(one, expected)


def sample_programs():
    """Each operation, on the operands of some of its samples, with values."""
    for opcode, record in OPERATIONS.items():
        samples = [] if opcode in operations_without_native_code() else record.samples()[:GROUP]
        if samples:
            random = np.random.default_rng(len(opcode))
            module, _ = module_of(opcode, samples)
            values = [value_of(operand, random, nan=opcode != "sort") for sample in samples for operand in sample.operands]
            yield opcode, module, [tuple(flattened(tuple(values)))]


def loops_and_functions(x):
    def step(i, state):
        a, b = state
        return np.sort(np.sin(a) * i + b), np.tanh(b + a[::-1]) ** 2

    a, b = fori_loop(0, 20, step, (x, np.cos(x)))
    return a, b, np.exp(a) * b, np.linalg.solve(np.outer(a, b) + 3 * np.eye(len(x)), x)


def large_temporaries(x):
    return np.sort(np.sin(x) @ np.cos(x), axis=0) @ x


def large_constants():
    b = XlaBuilder("large_constants")
    x = b.parameter(Shape(F32, (30, 100)), "x")
    table, numbers = np.random.default_rng(0).random((30, 100), np.float32), np.arange(3000, dtype=np.int32).reshape(30, 100)
    return b.build_module(b.Tuple([b.Add(x, b.constant(table)), b.Dot(x, b.constant(table.T)), b.constant(numbers)]))


WITH_HOST_CALLS = """
HloModule effects

ENTRY main {
  x = f32[6] parameter(0)
  rolled = f32[6] custom-call(x), custom_call_target="example_roll", backend_config="{by = 2 : i64}"
  again = f32[6] custom-call(rolled), custom_call_target="example_roll", backend_config="{by = -1 : i64}"
  low = f32[] constant(0)
  high = f32[] constant(1)
  random = f32[6] rng(low, high), distribution=rng_uniform
  sum = f32[6] add(again, random)
  token = token[] after-all()
  traced = (f32[6], token[]) infeed(token)
  ROOT result = (f32[6], f32[6], (f32[6], token[])) tuple(sum, rolled, traced)
}
"""


def unusual_custom_call():
    """What HLO text says with escapes, or not at all."""
    b = XlaBuilder("unusual_custom_call")
    x = b.parameter(Shape(F32, (2, 3), Layout((0, 1), padded_dimensions=(4, 4))), 'a "name" of x')
    target = {"custom_call_target": UNUSUAL_NAME, "backend_config": r'"a \"configuration\" \\ of é"'}
    call = make_instruction("custom-call", [x], target, x.shape, name="%call, of é")
    return Module("unusual_custom_call", Computation("main", (x, call), call))


CAN_FAIL = """
HloModule can_fail

ENTRY main {
  x = f32[<=10] parameter(0)
  n = s32[] parameter(1)
  ROOT r = f32[<=10] set-dimension-size(x, n), dimensions={0}
}
"""


def modules():
    """A name, a module and calls for each program."""
    for opcode, module, calls in sample_programs():
        yield f"sample.{opcode}", module, calls
    x = np.linspace(-2, 2, 12)
    for function, argument in ((loops_and_functions, x), (large_temporaries, np.arange(10000.0).reshape(100, 100) / 1e4)):
        yield function.__name__, jit(function).lower(argument).module, [(argument,), (argument[::-1].copy(),)]
    for module, argument in (
        (large_constants(), np.arange(3000, dtype=np.float32).reshape(30, 100)),
        (parse_module(WITH_HOST_CALLS), np.arange(6, dtype=np.float32)),
        (unusual_custom_call(), np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))),
    ):
        yield module.name, module, [(argument,)]
    module = parse_module(CAN_FAIL)
    yield module.name, module, [(np.arange(6, dtype=np.float32), np.int32(size)) for size in (4, 11)]
    for name, (entry, shapes, _) in CASES.items():
        module = parse_module(f"{COMPUTATIONS}\nENTRY main {{\n{entry}\n}}")
        sizes = [(4, 3), (10, 6), (0, 5)]
        calls = [tuple(numbers(*sizes_of(text, n, m), seed=k) for k, text in enumerate(shapes)) for n, m in sizes]
        yield f"dynamic.{name}", module, calls


def same(actual, expected):
    if isinstance(expected, str):
        return actual == expected
    return len(actual) == len(expected) and all(
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        for one, other in zip(actual, expected)
    )


PARTS = 4


@pytest.mark.parametrize("part", one_in(PARTS, range(PARTS)))
def test_programs_run_in_another_process_as_in_this_one(part, tmp_path, targets):
    """To the bit: NaN's own bits, too."""
    expected = {}
    for number, (name, module, calls) in enumerate(modules()):
        if number % PARTS != part:
            continue
        executable = get_backend("cpu").compile(module)
        path = tmp_path / f"{number}.program"
        path.write_bytes(executable.program.to_bytes())
        if any(instruction.opcode in ("infeed", "send-done", "recv-done") for instruction in module.entry.instructions):
            path.with_suffix(".hlo").write_text(module.as_text(), encoding="utf-8")
        path.with_suffix(".arguments").write_bytes(pickle.dumps(calls))
        expected[path] = name, results_of(executable, module, calls)
    in_another_process(SUPPORT / "run_saved_programs.py", tmp_path)
    for path, (name, wanted) in expected.items():
        results = pickle.loads(path.with_suffix(".results").read_bytes())
        assert len(results) == len(wanted) and all(map(same, results, wanted)), name
    assert len(expected) > 150 // PARTS


COMPILE = """
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from phlox.backends.registry import get_backend
from phlox.hlo import parse_module
from run_saved_programs import register_targets
register_targets()
for path in sys.argv[1:]:
    program = get_backend("cpu").compile(parse_module(Path(path).read_text())).program
    print(sha256(replace(program, shared=()).to_bytes()).hexdigest())
"""


def test_a_program_depends_on_its_module_alone(tmp_path, targets):
    """Two processes, whose addresses and hashes differ, compile to the same bytes.

    But for the shared functions: which of them are compiled together depends on what was compiled before.
    """
    x = np.linspace(-2, 2, 12)
    texts = [
        compiled(loops_and_functions, x).module.as_text(),
        compiled(large_temporaries, np.ones((100, 100))).module.as_text(),
        large_constants().as_text(),
        WITH_HOST_CALLS,
        CAN_FAIL,
    ]
    paths = [tmp_path / f"{number}.hlo" for number in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_text(text, encoding="utf-8")
    printed = in_another_process("-c", COMPILE, *paths).split()
    for text, digest in zip(texts, printed, strict=True):
        program = get_backend("cpu").compile(parse_module(text)).program
        assert hashlib.sha256(replace(program, shared=()).to_bytes()).hexdigest() == digest, text


# --- values ---


@pytest.fixture(scope="module")
def program():
    return compiled(lambda x: (np.sin(x) + np.cos(x) + np.exp(x)) * np.arange(2000.0), np.ones(2000)).program


def test_a_program_is_a_value(program):
    copy = NativeProgram.from_bytes(program.to_bytes())
    assert copy == program and pickle.loads(pickle.dumps(program)) == program and copy.to_bytes() == program.to_bytes()
    assert replace(program, name="other") != program
    with pytest.raises(AttributeError):
        program.name = "other"


def test_a_loaded_copy_outlives_the_original():
    executable = compiled(lambda x: np.sort(x @ x) @ x, np.ones((100, 100)))
    x = np.random.default_rng(0).random((100, 100))
    copy = executable_of(NativeProgram.from_bytes(executable.program.to_bytes()))
    expected = executable(x)
    assert copy.memory_analysis() == executable.memory_analysis() and copy.memory_analysis()["temporaries"] > 1 << 15
    del executable
    np.testing.assert_array_equal(copy(x)[0], expected[0])
    with pytest.raises(ValueError, match=r"parameter 0 \(x\): f64\[100,100\] is required"):
        copy(x[:5])


DEVICES = """
HloModule devices, replica_count=2

any { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] or(a, b) }
all { a = pred[] parameter(0)  b = pred[] parameter(1)  ROOT r = pred[] and(a, b) }

ENTRY main {
  x = pred[3] parameter(0)
  first = pred[3] all-reduce-start(x), replica_groups={}, to_apply=any
  second = pred[3] all-reduce-start(x), replica_groups={}, to_apply=all
  all = pred[3] all-reduce-done(second)
  any = pred[3] all-reduce-done(first)
  ROOT r = (pred[3], pred[3]) tuple(any, all)
}
"""


def test_devices_meet_in_a_loaded_program():
    """Each done waits for its own start, which the values, too small for a handle, do not tell."""
    program = NativeProgram.from_bytes(get_backend("cpu").compile(parse_module(DEVICES)).program.to_bytes())
    own = [np.array([True, True, False]), np.array([True, False, False])]
    results = run_on_devices(executable_of(program), [[array] for array in own], 2, 1)
    for any_device, all_devices in results:
        assert any_device.tolist() == [True, True, False] and all_devices.tolist() == [True, False, False]


# --- errors ---


def test_damaged_bytes_are_refused(program):
    data = program.to_bytes()
    for place in (*range(0, 600, 7), len(data) // 2, len(data) - 1):
        damaged = bytearray(data)
        damaged[place] ^= 4
        with pytest.raises(ProgramError):
            NativeProgram.from_bytes(bytes(damaged))
    for size in (0, 1, 20, 24, 50, 100, len(data) - 1):
        with pytest.raises(ProgramError):
            NativeProgram.from_bytes(data[:size])
    with pytest.raises(ProgramError, match="damaged, or not complete"):
        NativeProgram.from_bytes(data + b"x")
    with pytest.raises(ProgramError, match="are required, 11 bytes that begin with b'HloModule m' given"):
        NativeProgram.from_bytes(b"HloModule m")


@pytest.mark.parametrize("value", [None, "phlox native program\n", 3, [1, 2]])
def test_what_is_no_program_is_refused(value):
    with pytest.raises(TypeError, match=f"bytes of a compiled program are required, {type(value).__name__} given"):
        NativeProgram.from_bytes(value)
    with pytest.raises(TypeError, match=f"a NativeProgram, .*, is required, {type(value).__name__} given"):
        executable_of(value)


def test_a_program_is_read_from_whatever_holds_its_bytes(program):
    data = program.to_bytes()
    apart = np.zeros((len(data), 2), np.uint8)
    apart[:, 0] = np.frombuffer(data, np.uint8)
    for held in (bytearray(data), memoryview(data), apart[:, 0], np.frombuffer(data, np.int8)):
        copy = NativeProgram.from_bytes(held)
        if not memoryview(held).readonly:
            held[:] = bytes(len(data)) if isinstance(held, bytearray) else 0  # what was read stays
        assert copy == program and hash(copy) == hash(program)


def test_another_version_is_refused(program, monkeypatch):
    data = program.to_bytes()
    monkeypatch.setattr(native_program, "VERSION", native_program.VERSION + 1)
    with pytest.raises(ProgramError, match=f"version {native_program.VERSION} is required, this one has version"):
        NativeProgram.from_bytes(data)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cpu": "pdp-11"}, "for the processor .* is required, this one is for pdp-11"),
        ({"triple": "riscv64-unknown-linux-gnu"}, "for the system .* is required, this one is for riscv64"),
        ({"features": "+made-up"}, r"differs in .*\+made-up"),
    ],
)
def test_another_machine_is_refused(program, changed, message):
    other = replace(program, target=replace(program.target, **changed))
    with pytest.raises(ProgramError, match=message):
        LoadedProgram(NativeProgram.from_bytes(other.to_bytes()))


def test_functions_that_this_process_lacks_are_named():
    register_custom_call("example_missing", lambda x: x)
    text = 'HloModule m\nENTRY e {{ x = f32[2] parameter(0) ROOT y = f32[2] custom-call(x), custom_call_target="{}" }}'
    called = get_backend("cpu").compile(parse_module(text.format("example_missing"))).program
    unregister_custom_call("example_missing")
    with pytest.raises(NotImplementedError, match="example_missing"):
        LoadedProgram(called)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda out, operands: None)
    register_custom_call("example_missing", function)
    called = get_backend("cpu").compile(parse_module(text.format("example_missing"))).program
    register_custom_call("example_missing", lambda x: x)
    with pytest.raises(ProgramError, match="'example_missing': a native function .* is required"):
        LoadedProgram(called)
    unregister_custom_call("example_missing")
    with pytest.raises(NotImplementedError, match="example_missing"):
        LoadedProgram(called)
