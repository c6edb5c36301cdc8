"""How many steps each pass takes for programs of twice the size: about twice as many.

A step is a line of Python that runs, or one more round of a loop in a line. Limits on searches, which are constants, are made
small, so that what they bound shows at small sizes.
"""

import gc
import os
import sys
import types
from dataclasses import replace
from functools import partial

import numpy as np
import phlox
import pytest
from cpu_passes import CPU_PASSES
from phlox import jit
from phlox.backends.cpu import function_parts
from phlox.backends.cpu.emitter_table import scratch_bytes
from phlox.backends.cpu.fusion_policy import FUSION_POLICY
from phlox.backends.cpu.module_emitter import emit_module
from phlox.backends.cpu.pipeline import PIPELINE
from phlox.backends.cpu.target import host_target
from phlox.compile import arena_packing, fusion_groups, loop_rolling, pass_manager
from phlox.compile.buffer_assignment import assign_buffers
from phlox.compile.fusion import fusion_pass
from phlox.compile.live_sizes import live_sizes
from phlox.compile.simplification import concatenation, slices
from phlox.hlo import F64, PRED, S64, Shape, TupleShape, parse_module, scalar_computation, verify
from phlox.xla_builder import XlaBuilder

FOLDER = os.path.dirname(phlox.__file__) + os.sep
VECTOR, SCALAR, COUNT = Shape(F64, (300,)), Shape(F64), Shape(S64)
SIZE = 40
MOST = 2.5


def is_counted(file):
    return file.startswith(FOLDER) and not file.endswith("memo.py")


def steps_of(function, *arguments):
    """The result of the function, and how many lines of phlox it ran.

    Not counted is what depends on the programs before: collections of garbage, and a memo's cleaning up of what is gone.
    """
    count = 0

    def local(frame, event, argument):
        nonlocal count
        count += 1
        return local

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()
    sys.settrace(lambda frame, event, argument: local if is_counted(frame.f_code.co_filename) else None)
    try:
        result = function(*arguments)
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return result, count


# --- programs of n pieces, which are not rolled into loops ---


def chain(b, n):
    x = b.parameter(VECTOR)
    for k in range(n):
        x = b.emit(
            ("sine", "abs", "sort")[k % 3] if k % 3 < 2 else "reverse", x, **({"dimensions": (0,)} if k % 3 == 2 else {})
        )
    return x


def scalar_chain(b, n):
    x, y = b.parameter(SCALAR), b.parameter(SCALAR)
    for k in range(n):
        x = b.Add(b.Mul(x, b.constant(np.float64(k + 0.5))), y)
    return x


def fan_out(b, n):
    x = b.Rev(b.parameter(VECTOR), dimensions=(0,))
    return b.Tuple([b.Mul(x, full(b, k)) for k in range(n)])


def fan_in(b, n):
    total, *values = [b.Sin(b.parameter(VECTOR)) for _ in range(n)]
    for value in values:
        total = b.Add(total, value)
    return total


def in_place(b, n):
    x = b.Mul(b.parameter(VECTOR), full(b, 2))
    for k in range(n):
        part = b.Slice(x, [k], [k + 7])
        x = b.DynamicUpdateSlice(x, b.Add(part, b.Rev(part, dimensions=(0,))), [b.constant(np.int64(k * k % 290))])
    return x


def loop(b, state, advance, rounds=20):
    """A while that counts, with further elements of its state."""
    init = b.Tuple([b.constant(np.int64(0)), *state])
    c = XlaBuilder("condition")
    condition = c.build(c.Lt(c.GetTupleElement(c.parameter(init.shape), 0), c.constant(np.int64(rounds))))
    c = XlaBuilder("body")
    parameter = c.parameter(init.shape)
    number, *values = (c.GetTupleElement(parameter, place) for place in range(len(init.operands)))
    body = c.build(c.Tuple([c.Add(number, c.constant(np.int64(1))), *advance(c, values)]))
    result = b.While(condition, body, init)
    return [b.GetTupleElement(result, 1 + place) for place in range(len(state))]


def many_loops(b, n):
    x = b.parameter(VECTOR)
    for k in range(n // 4):
        (x,) = loop(b, [x], lambda c, values: [c.Rev(c.Sin(values[0]), dimensions=(0,))], 20 + k)
    return x


def wide_loop(b, n):
    values = loop(b, [b.parameter(VECTOR) for _ in range(n)], lambda c, values: [c.Sin(value) for value in values])
    return b.Tuple(values)


def loop_with_swaps(b, n):
    values = loop(b, [b.parameter(VECTOR) for _ in range(n)], lambda c, values: [*values[1:], c.Neg(values[0])])
    return b.Tuple(values)


def nested_loops(b, n):
    def nested(b, x, depth):
        if not depth:
            return [b.Sin(x)]
        return loop(b, [x], lambda c, values: nested(c, c.Rev(values[0], dimensions=(0,)), depth - 1))

    return nested(b, b.parameter(VECTOR), n // 8)[0]


def many_conditionals(b, n):
    x, p = b.parameter(VECTOR), b.parameter(Shape(PRED))
    for k in range(n // 4):
        branches = []
        for opcode in ("sine", "cosine"):
            c = XlaBuilder(opcode)
            branches.append(c.build(c.Add(c.emit(opcode, c.parameter(VECTOR)), full(c, k))))
        x = b.emit("conditional", p, x, x, true_computation=branches[0], false_computation=branches[1])
    return x


def wide_conditional(b, n):
    values = b.Tuple([b.parameter(VECTOR) for _ in range(n)])
    branches = []
    for opcode in ("sine", "cosine"):
        c = XlaBuilder(opcode)
        parameter = c.parameter(values.shape)
        branches.append(c.build(c.Tuple([c.emit(opcode, c.GetTupleElement(parameter, k)) for k in range(n)])))
    result = b.emit(
        "conditional", b.parameter(Shape(PRED)), values, values, true_computation=branches[0], false_computation=branches[1]
    )
    return b.Tuple([b.GetTupleElement(result, k) for k in range(n)])


def reductions(b, n):
    x, total = b.parameter(Shape(F64, (20, 30))), None
    for k in range(n):
        y = b.Mul(b.BroadcastInDim(b.constant(np.float64(k)), (20, 30), ()), x)
        total = b.Reduce(y, b.constant(0.0) if total is None else total, scalar_computation("add", F64), (0, 1))
    return total


def tuples_in_tuples(b, n):
    x = b.parameter(TupleShape((VECTOR,) * n))
    y = b.Tuple([b.Neg(b.GetTupleElement(x, k)) for k in range(n)])
    z = b.emit("opt-barrier", y)
    return b.Tuple([b.Tuple([b.GetTupleElement(z, k), b.GetTupleElement(z, n - 1 - k)]) for k in range(n)])


def concatenated(b, n):
    x = b.parameter(VECTOR)
    whole = b.ConcatInDim([b.Sin(b.Slice(x, [k], [k + 3])) for k in range(n)], 0)
    return b.Tuple([b.Slice(whole, [3 * k], [3 * k + 2]) for k in range(n)])


def appended(b, n):
    x = b.parameter(VECTOR)
    whole = b.Slice(x, [0], [1])
    for k in range(n):
        whole = b.ConcatInDim([whole, b.Slice(x, [k], [k + 1])], 0)
    return whole


def constants(b, n):
    x = b.parameter(VECTOR)
    for k in range(n):
        x = b.Add(x, b.constant(np.arange(300.0) * k))
    return x


def products(b, n):
    x = b.parameter(Shape(F64, (20, 20)))
    y = x
    for k in range(n):
        y = b.Dot(b.Add(y, b.BroadcastInDim(b.constant(np.float64(k)), (20, 20), ())), x)
    return y


def nested_calls(b, n):
    x = b.parameter(VECTOR)
    for k in range(n):
        c = XlaBuilder("called")
        x = b.emit("call", x, to_apply=c.build(c.Sin(c.Add(c.parameter(VECTOR), full(c, k)))))
    return x


def full(b, value):
    return b.BroadcastInDim(b.constant(np.float64(value)), VECTOR.dimensions, ())


PROGRAMS = [
    chain, scalar_chain, fan_out, fan_in, in_place, many_loops, wide_loop, loop_with_swaps, nested_loops, many_conditionals,
    wide_conditional, reductions, tuples_in_tuples, concatenated, appended, constants, products, nested_calls,
]  # fmt: skip


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(arena_packing, "_FEW_BUFFERS", 8)
    monkeypatch.setattr(fusion_groups, "_LONGEST_SEARCH", 8)
    monkeypatch.setattr(loop_rolling, "_LEAST_WEIGHT", 10)
    monkeypatch.setattr(function_parts, "_LARGEST_WEIGHT", 80)
    monkeypatch.setattr(function_parts, "_PART_LENGTH", 40)
    monkeypatch.setattr(slices, "_MOST_TRIED", 8)
    monkeypatch.setattr(concatenation, "_MOST_JOINED", 8)


SMALL_FUSIONS = fusion_pass(replace(FUSION_POLICY, maximum_instructions=20))
# The pipeline for programs whose repetitions stay as they are.
UNROLLED = [SMALL_FUSIONS if step is CPU_PASSES["fuse"] else step for step in PIPELINE if step is not CPU_PASSES["roll-loops"]]


def steps_by_stage(program, n, monkeypatch):
    steps = {}

    def counted(name, function, *arguments):
        result, count = steps_of(function, *arguments)
        steps[name] = steps.get(name, 0) + count
        return result

    b = XlaBuilder("f")
    root = program(b, n)
    module = b.build_module(root)
    counted("verify", verify, module)
    counted("roll-loops", CPU_PASSES["roll-loops"].run, module)
    with monkeypatch.context() as context:
        run = pass_manager._Runner.run
        context.setattr(pass_manager._Runner, "run", lambda self, one, module: counted(one.name, run, self, one, module))
        module = pass_manager.run_passes(module, UNROLLED)
    assignment = counted("assign-buffers", assign_buffers, module, scratch_bytes, 64)
    counted("emit", emit_module, module, assignment, host_target())
    counted("print", module.as_text)
    return steps


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_stages_take_steps_in_proportion_to_the_program(program, monkeypatch):
    small, large = (steps_by_stage(program, n, monkeypatch) for n in (SIZE, 2 * SIZE))
    ratios = {name: round(count / small[name], 2) for name, count in large.items() if count > 2000}
    assert not {name: ratio for name, ratio in ratios.items() if ratio > MOST}, ratios


@pytest.mark.parametrize("stage", ["live sizes", "emission"])
def test_loops_with_many_numbers_take_steps_in_proportion_to_these(stage):
    counts = []
    for n in (6 * SIZE, 12 * SIZE):
        b = XlaBuilder("f")
        start = b.parameter(SCALAR)
        values = loop(b, [start] * n, lambda c, values: [c.Sin(value) for value in values])
        module = b.build_module(b.Tuple(values))
        if stage == "live sizes":
            counts.append(steps_of(live_sizes, module.entry)[1])
        else:
            counts.append(steps_of(emit_module, module, assign_buffers(module, scratch_bytes, 64), host_target())[1])
    assert counts[1] < MOST * counts[0], counts


# --- tracing ---


def traced_in_place(x, n):
    for k in range(1, n):
        x[k] = x[k - 1] * 2 + k
    return x


def traced_views(x, n):
    for k in range(n):
        y = x[k:][::-1][1:]
        y += k
    return x


def traced_list(x, n):
    return np.stack([np.sin(x) * k for k in range(n)])


def traced_results(x, n):
    return [np.sin(x) * k for k in range(n)]


@pytest.mark.parametrize("program", [traced_in_place, traced_views, traced_list, traced_results])
def test_tracing_takes_steps_in_proportion_to_the_program(program):
    x = np.zeros(300)
    counts = []
    for n in (SIZE, 2 * SIZE):
        function = types.FunctionType(program.__code__, {"np": np}, argdefs=(n,))
        counts.append(steps_of(jit(function).trace, x)[1])
    assert counts[1] < MOST * counts[0]


# --- text ---


def text_of(lines, ahead=""):
    return f"{ahead}ENTRY e {{\n  %p = f32[2] parameter(0)\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def text_alike(n):
    return text_of(f'%v.{k} = f32[2] add(%p, %p), metadata={{op_name="a"}}' for k in range(n))


def text_unlike(n):
    return text_of(f'%v.{k} = f32[{k},2] broadcast(%p), dimensions={{1}}, metadata={{op_name="{k}"}}' for k in range(n))


def text_calls(n):
    computations = "".join(f"c{k} {{\n  ROOT %p.{k} = f32[2] parameter(0)\n}}\n" for k in range(n))
    return text_of((f"%f.{k} = f32[2] fusion(%p), kind=kLoop, calls=c{k}" for k in range(n)), computations)


def text_calls_ahead(n):
    callers = text_of(f"%f.{k} = f32[2] call(%p), to_apply=c{k}" for k in range(n))
    return callers + "".join(f"c{k} {{\n  ROOT %p.{k} = f32[2] parameter(0)\n}}\n" for k in range(n))


def text_control(n):
    lines = [f"%v.{k} = f32[2] negate(%p), control-predecessors={{%v.{k - 1}}}" for k in range(1, n)]
    return text_of(["%v.0 = f32[2] negate(%p)", *lines])


def text_wide(n):
    names, shapes = ", ".join(["%p"] * n), ", ".join(["f32[2]"] * n)
    return text_of([f"%t = ({shapes}) tuple({names})", f"%c = f32[{2 * n}] concatenate({names}), dimensions={{0}}"])


def text_nested(n):
    return text_of([f"%v.{k} = f32[2] add(f32[2] negate(%p), f32[2]{{0}} %p)" for k in range(n)])


def text_literals(n):
    numbers = ", ".join(map(str, range(n)))
    return text_of([f"%a = s32[{n}] constant({{{numbers}}})", f"%b = s32[{n}] constant({{{numbers.replace(',', '')}}})"])


TEXTS = [text_alike, text_unlike, text_calls, text_calls_ahead, text_control, text_wide, text_nested, text_literals]


@pytest.mark.parametrize("kind", TEXTS, ids=lambda kind: kind.__name__)
def test_text_takes_steps_in_proportion_to_its_length(kind):
    counts = []
    for n in (4 * SIZE, 8 * SIZE):
        module, reading = steps_of(parse_module, kind(n))
        printed, printing = steps_of(partial(module.as_text, metadata=True))
        same, comparing = steps_of(module.__eq__, parse_module(printed))
        assert same
        verifying = [steps_of(verify, module)[1] for _ in range(2)]  # with what the parser inferred, and without
        counts.append((reading, *verifying, printing, comparing))
    small, large = counts
    assert all(more < MOST * less or more < 2000 for less, more in zip(small, large)), counts
