"""The passes one by one: that they do what they say, and that programs mean the same afterwards."""

import re

import numpy as np
import pytest
from cpu_passes import optimize
from phlox import hlo, jit
from phlox.backends.gpu.pipeline import PIPELINE as GPU_PIPELINE
from phlox.backends.registry import available_backends, get_backend
from phlox.compile import FixedPoint, Pass, available_passes, module_pass, run_named_passes, run_passes, run_steps
from phlox.compile.inlining import inlined_elementwise
from phlox.compile.pass_manager import PASSES
from phlox.compile.simplification import RULES
from phlox.compile.simplification.rule import ANY_ELEMENTWISE
from phlox.compile.traversal import has_effects, users_of
from phlox.hlo import C64, F32, F64, PRED, S8, S32, U8, Module, Shape, scalar_computation
from phlox.hlo.operation import EFFECTFUL, ELEMENTWISE, OPERATIONS, operation
from phlox.xla_builder import XlaBuilder

SPECIAL = {
    "float": [0.0, -0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 3e38, 1e-40, 7.25, -2.0],
    "complex": [0, 1, -1j, 2.5 + 1j, complex(np.inf, 1), complex(0.0, -0.0)],
    "signed": [0, 1, -1, 2, -128, 127, 7, 64],
    "unsigned": [0, 1, 2, 255, 254, 128, 16, 17],
    "pred": [True, False],
}


def random_value(shape, generator):
    """An array of ordinary and special values; a tuple of such."""
    if shape.is_tuple:
        return tuple(random_value(element, generator) for element in shape.elements)
    special = generator.choice(np.array(SPECIAL[shape.element_type.kind]), shape.dimensions)
    ordinary = generator.integers(0, 100, shape.dimensions)
    if shape.element_type.is_float:
        ordinary = generator.standard_normal(shape.dimensions)
    with np.errstate(all="ignore"):
        value = np.where(generator.random(shape.dimensions) < 0.5, special, ordinary).astype(shape.dtype)
    return value


def assert_same(actual, expected, tolerance=0.0):
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for one, other in zip(actual, expected):
            assert_same(one, other, tolerance)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if tolerance:
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)
        if actual.dtype.kind == "f":
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(actual)[numbers], np.signbit(expected)[numbers])


def assert_same_program(before, after, tolerance=0.0, seeds=range(5)):
    assert before.parameter_shapes == after.parameter_shapes
    for seed in seeds:
        generator = np.random.default_rng(seed)
        arguments = [random_value(shape, generator) for shape in before.parameter_shapes]
        with np.errstate(all="ignore"):
            assert_same(hlo.evaluate(after, *arguments), hlo.evaluate(before, *arguments), tolerance)


def opcodes(computation):
    return [instruction.opcode for instruction in computation.instructions]


def module_of_sample(sample):
    return module_of(lambda b: b.write(sample))


def module_of(build):
    b = XlaBuilder("f")
    module = b.build_module(build(b))
    hlo.verify(module)
    return module


# --- rewrite rules ---

FIRES = [pytest.param(rule, sample, id=f"{rule.name}-{n}") for rule in RULES for n, sample in enumerate(rule.fires)]
UNCHANGED = [pytest.param(rule, sample, id=f"{rule.name}-{n}") for rule in RULES for n, sample in enumerate(rule.unchanged)]


def is_keyed_on(rule, instruction):
    return instruction.opcode in rule.opcodes or (ANY_ELEMENTWISE in rule.opcodes and instruction.has_trait(ELEMENTWISE))


def apply_to_root(rule, computation):
    return rule.apply(computation.root, users_of(computation).get)


@pytest.mark.parametrize("rule, sample", FIRES)
def test_rule_fires_and_keeps_the_meaning(rule, sample):
    before = module_of_sample(sample).entry
    assert is_keyed_on(rule, before.root)
    root = apply_to_root(rule, before)
    assert root is not None
    after = hlo.rebuild(before, lambda i, operands: root if i is before.root else i)
    hlo.verify(Module("f", after))
    assert_same_program(before, after, rule.tolerance)


@pytest.mark.parametrize("rule, sample", UNCHANGED)
def test_rule_leaves_alone(rule, sample):
    before = module_of_sample(sample).entry
    assert is_keyed_on(rule, before.root)
    assert apply_to_root(rule, before) is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_states_before_and_after(rule):
    assert "->" in rule.documentation and rule.fires


@pytest.mark.parametrize("rule, sample", FIRES)
def test_simplification_as_a_whole(rule, sample):
    before = module_of_sample(sample)
    after = run_named_passes(before, ["simplify"])
    assert after is not before
    hlo.verify(after)
    assert_same_program(before.entry, after.entry, max(rule.tolerance, 0.0))


def test_simplification_ends():
    for rule in RULES:
        for sample in (*rule.fires, *rule.unchanged):
            module = module_of_sample(sample)
            for _ in range(8):
                previous, module = module, run_named_passes(module, ["simplify", "dce"])
                if module is previous:
                    break
            else:
                pytest.fail(f"the sample of {rule.name} is rewritten for ever:\n{module.as_text()}")


def test_rules_keep_the_source_location():
    place = hlo.SourceLocation("user.py", 7)
    b = XlaBuilder("f", where=lambda: place)
    x = b.parameter(Shape(S32, (3,)), "x")
    module = run_named_passes(b.build_module(b.Mul(x, b.BroadcastInDim(b.constant(np.int32(8)), (3,), ()))), ["simplify"])
    assert module.entry.root.opcode == "shift-left"
    assert all(instruction.source == place for instruction in module.entry.instructions)


def test_results_without_elements_need_no_computation():
    module = module_of(lambda b: b.Exp(b.Add(b.parameter(Shape(F32, (0, 3))), b.parameter(Shape(F32, (0, 3))))))
    after = optimize(module, ["simplify", "dce"])
    assert opcodes(after.entry) == ["parameter", "parameter", "constant", "broadcast"]


# --- inlining ---


def test_calls_are_inlined_through_several_levels():
    inner = scalar_computation("multiply", F32)
    b = XlaBuilder("outer")
    x = b.parameter(Shape(F32), "x")
    outer = b.build(b.Call(inner, [x, b.Call(inner, [x, x])]))
    module = module_of(lambda b: b.Call(outer, [b.parameter(Shape(F32), "x")]))
    after = run_named_passes(module, ["inline-calls"])
    assert opcodes(after.entry) == ["parameter", "multiply", "multiply"]
    assert_same_program(module.entry, after.entry)


def test_a_computation_called_twice_is_copied_twice():
    square_of = scalar_computation("multiply", F32)

    def build(b):
        x, y = b.parameter(Shape(F32)), b.parameter(Shape(F32))
        return b.Add(b.Call(square_of, [x, x]), b.Call(square_of, [y, y]))

    module = module_of(build)
    after = run_named_passes(module, ["inline-calls"])
    hlo.verify(after)
    assert opcodes(after.entry) == ["parameter", "parameter", "multiply", "multiply", "add"]
    assert_same_program(module.entry, after.entry)


def test_what_updates_an_array_is_no_function_of_a_large_program():
    array, scalar = Shape(F32, (2000,)), Shape(F32)

    def updates(b, x, y):
        for place in range(40):
            x = b.DynamicUpdateSlice(x, b.Reshape(y, (1,)), [b.constant(np.int64(place))])
        return x

    def numbers(b, x, y):
        for _ in range(80):
            y = b.Sin(y)
        return y

    functions = []
    for make in (updates, numbers):
        b = XlaBuilder(make.__name__)
        functions.append(b.build(make(b, b.parameter(array), b.parameter(scalar))))

    def build(b):
        x, y = b.parameter(array), b.parameter(scalar)
        for function in (*[functions[0]] * 3, *[functions[1]] * 60):
            result = b.Call(function, [x, y])
            x, y = (result, y) if function is functions[0] else (x, result)
        return b.Tuple([x, y])

    after = run_named_passes(module_of(build), ["inline-calls"])
    hlo.verify(after)
    called = {one.attributes["to_apply"].name for one in after.entry.instructions if one.opcode == "call"}
    assert called == {"numbers"}


def test_map_of_elementwise_computation_runs_on_arrays():
    b = XlaBuilder("polynomial")
    x, y = b.parameter(Shape(F32)), b.parameter(Shape(F32))
    polynomial = b.build(b.Select(b.Lt(x, y), b.Mul(x, b.constant(np.float32(2))), y))
    array = Shape(F32, (2, 3))
    module = module_of(lambda b: b.Map(b.parameter(array), b.parameter(array), to_apply=polynomial))
    after = run_named_passes(module, ["inline-calls"])
    hlo.verify(after)
    assert "map" not in opcodes(after.entry)
    assert_same_program(module.entry, after.entry)


def test_map_of_other_computation_stays():
    b = XlaBuilder("loop")
    x = b.parameter(Shape(F32))
    rest = b.build(b.Reduce(x, b.constant(np.float32(0)), scalar_computation("add", F32), ()))
    module = module_of(lambda b: b.Map(b.parameter(Shape(F32, (3,))), to_apply=rest))
    assert run_named_passes(module, ["inline-calls"]) is module
    assert inlined_elementwise(rest, module.entry.parameters) is None


# --- canonicalization ---


def test_constants_of_equal_elements_become_broadcasts():
    equal, signed = np.full((2, 3), np.nan, np.float32), np.array([0.0, -0.0])
    module = module_of(
        lambda b: b.Tuple([b.constant(equal), b.constant(signed), b.constant(np.float32(1)), b.constant(np.ones((0,)))])
    )
    after = run_named_passes(module, ["canonicalize"])
    hlo.verify(after)
    assert opcodes(after.entry) == ["constant", "broadcast", "constant", "constant", "constant", "tuple"]
    assert_same_program(module.entry, after.entry)


# --- constant folding ---


def test_small_constants_are_folded():
    def build(b):
        a, c = b.constant(np.arange(6.0).reshape(2, 3)), b.constant(np.arange(3.0))
        product = b.DotGeneral(a, c, lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(0,))
        return b.Reduce(product, b.constant(1.0), scalar_computation("add", F64), (0,))

    after = optimize(module_of(build), ["fold-constants", "dce"])
    assert opcodes(after.entry) == ["constant"]
    assert after.entry.root.attributes["literal"] == 5 + 14 + 1


def test_folding_never_enlarges():
    def build(b):
        scalar = b.constant(np.float32(2))
        large = b.constant(np.arange(4096, dtype=np.float32))
        padded = b.Pad(b.constant(np.arange(3, dtype=np.float32)), scalar, padding=[(100, 100, 0)])
        return b.Tuple([b.BroadcastInDim(scalar, (8,), ()), b.Iota(Shape(S32, (8,)), 0), b.Neg(large), padded])

    module = module_of(build)
    assert run_named_passes(module, ["fold-constants"]) is module


def test_a_program_of_known_inputs_is_not_run_by_the_compiler():
    """Its loop and its arrays are left to the call, and the program holds none of their values."""

    @jit
    def escapes(width, rounds):
        c = np.linspace(-2, 0.5, width) + np.linspace(-1, 1, width)[:, None] * 1j
        z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
        for n in range(rounds):
            inside = np.abs(z) < 2
            count[inside] = n
            z[inside] = z[inside] ** 2 + c[inside]
        return count

    compiled = escapes.compile(200, 1_000_000_000)
    assert " while(" in compiled.as_text()
    assert len(compiled.executable.program.to_bytes()) < 200 * 200 * np.dtype(np.int64).itemsize


# --- common subexpressions ---


def test_equal_computations_are_merged():
    def build(b):
        x, y = b.parameter(Shape(F32, (3,))), b.parameter(Shape(F32, (3,)))
        same = [b.Exp(b.Add(x, y)), b.Exp(b.Add(y, x))]
        zeros = [b.constant(np.float32(0)), b.constant(np.float32(-0.0)), b.constant(np.float32(0))]
        sums = [b.Reduce(x, zero, add_of_its_own(), (0,)) for zero in zeros]
        return b.Tuple([*same, *sums])

    def add_of_its_own():
        b = XlaBuilder("add")
        return b.build(b.Add(b.parameter(Shape(F32)), b.parameter(Shape(F32))))

    module = module_of(build)
    after = run_named_passes(module, ["cse", "dce"])
    exp_0, exp_1, sum_0, sum_1, sum_2 = after.entry.root.operands
    assert exp_0 is exp_1 and sum_0 is sum_2 and sum_0 is not sum_1
    assert_same_program(module.entry, after.entry)


def test_different_attributes_are_not_merged():
    def build(b):
        x = b.parameter(Shape(F32, (3, 3)))
        one, other = (b.Reduce(x, b.constant(np.float32(0)), scalar_computation(op, F32), (0,)) for op in ("add", "maximum"))
        return b.Tuple(
            [
                b.Rev(x, dimensions=(0,)),
                b.Rev(x, dimensions=(1,)),
                one,
                other,
                b.Iota(Shape(S8, (3,)), 0),
                b.Iota(Shape(U8, (3,)), 0),
            ]
        )

    module = module_of(build)
    after = run_named_passes(module, ["cse"])
    assert len(set(after.entry.root.operands)) == 6


@pytest.fixture
def print_operation():
    @operation("test-print", "operand", traits={EFFECTFUL})
    def record(operand):
        """Prints its operand."""
        return operand

    record.evaluation(lambda operand: operand)
    yield "test-print"
    del OPERATIONS["test-print"]


def test_effects_stay_as_often_as_written(print_operation):
    def build(b):
        x = b.parameter(Shape(F32, (3,)))
        b.emit(print_operation, b.Neg(x))
        b.emit(print_operation, b.Neg(x))
        return b.Exp(x)

    after = optimize(module_of(build))
    assert opcodes(after.entry).count(print_operation) == 2


def test_effects_inside_computations_are_seen(print_operation):
    b = XlaBuilder("loud")
    loud = b.build(b.emit(print_operation, b.parameter(Shape(F32))))

    def build(b):
        p, x = b.parameter(Shape(PRED)), b.parameter(Shape(F32))
        b.Conditional(p, x, loud, x, scalar_computation_of_one())
        return x

    def scalar_computation_of_one():
        b = XlaBuilder("quiet")
        return b.build(b.Neg(b.parameter(Shape(F32))))

    module = module_of(build)
    assert run_named_passes(module, ["dce"]) is module
    assert has_effects(module.entry.instructions[-1])


# --- dead code ---


def test_dead_code_goes_and_parameters_stay():
    def build(b):
        x = b.parameter(Shape(F32, (3,)))
        b.Exp(b.Neg(x))
        b.parameter(Shape(F32), "unused")
        return b.Abs(x)

    after = run_named_passes(module_of(build), ["dce"])
    assert opcodes(after.entry) == ["parameter", "parameter", "abs"]


# --- the pass manager ---


def test_a_pipeline_that_changes_nothing_returns_the_same_module():
    b = XlaBuilder("f")
    module = b.build_module(b.Neg(b.parameter(Shape(F32))))
    assert optimize(module) is module
    assert optimize(module, []) is module


def test_unknown_pass_is_named():
    b = XlaBuilder("f")
    module = b.build_module(b.parameter(Shape(F32)))
    with pytest.raises(ValueError, match="no pass is named 'inline'; there are batch-loop-products, canonicalize"):
        run_named_passes(module, ["inline"])


PIPELINES = {name: get_backend(name).pipeline for name, reason in available_backends().items() if reason is None}
PIPELINES["gpu"] = GPU_PIPELINE  # which does not need a device


def names_of(pipeline):
    parts = [step.passes if isinstance(step, FixedPoint) else (step,) for step in pipeline]
    return [one if isinstance(one, str) else one.name for part in parts for one in part]


def test_every_pass_is_documented_and_used():
    passes = [one for pipeline in PIPELINES.values() for one in available_passes(pipeline).values()]
    assert {name for pipeline in PIPELINES.values() for name in names_of(pipeline)} == {one.name for one in passes}
    assert all(one.documentation for one in passes)


@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES.keys())
def test_passes_stand_behind_those_that_make_arrays_simple(pipeline):
    """All others know row-major arrays of static shapes only; a backend that takes programs as they are has none."""
    first = [name for name in names_of(pipeline) if name not in ("compact-selections", "separate-selections")][:2]
    assert first in (["verify"], ["normalize-layouts", "pad-dynamic-dimensions"])


def test_steps_hand_on_what_they_leave():
    module = double_negation()
    steps = list(run_steps(module, ["simplify", "verify", FixedPoint("clean", ("dce", "cse")), "simplify"]))
    assert [name for name, _ in steps] == ["simplify", "verify", "clean", "simplify"]
    after = dict(steps)
    assert after["verify"].entry.root.opcode == "parameter" and opcodes(after["clean"].entry) == ["parameter"]
    assert not list(run_steps(module, [])) and run_passes(module, []) is module


def test_a_pass_is_registered_once():
    with pytest.raises(ValueError, match="registered twice"):
        module_pass("dce")(lambda module: module)
    assert PASSES["dce"].run is not None


def test_fixed_point_ends_after_its_rounds():
    runs = []

    def change(module):
        runs.append(module)
        return Module(module.name, module.entry)

    b = XlaBuilder("f")
    module = b.build_module(b.parameter(Shape(F32)))
    run_passes(module, [FixedPoint("endless", (Pass("change", change),), rounds=3)])
    assert len(runs) == 3


def double_negation():
    return module_of(lambda b: b.Neg(b.Neg(b.parameter(Shape(F32), "x"))))


def test_dump_writes_the_module_after_each_pass_that_changed_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PHLOX_DUMP", str(tmp_path / "dump"))
    optimize(double_negation())
    names = sorted(path.name for path in (tmp_path / "dump").iterdir())
    assert [re.sub(r"^\d+", "N", name) for name in names] == ["N.f.00.before.hlo", "N.f.01.simplify.hlo", "N.f.02.dce.hlo"]
    assert "negate" not in (tmp_path / "dump" / names[-1]).read_text()


def test_check_names_the_pass(monkeypatch):
    monkeypatch.setenv("PHLOX_CHECK", "1")
    wrong = Pass("forget-parameters", lambda m: Module(m.name, hlo.Computation("f", m.entry.instructions[1:], m.entry.root)))
    with pytest.raises(hlo.VerificationError, match="after pass forget-parameters: .* is not defined before it"):
        optimize(double_negation(), [wrong])


def test_time_tells_where_it_went(monkeypatch, capsys):
    monkeypatch.setenv("PHLOX_TIME", "1")
    optimize(double_negation())
    text = capsys.readouterr().err
    assert re.search(r"^phlox: f: .* ms in passes, 1 instructions$", text, re.M) and re.search(
        r" ms  simplify \(2 runs\)$", text, re.M
    )


def test_complex_arithmetic_is_left_alone():
    def build(b):
        z = b.parameter(Shape(C64, (3,)))
        return b.Add(
            b.Mul(z, b.BroadcastInDim(b.constant(np.complex64(1)), (3,), ())),
            b.BroadcastInDim(b.constant(np.complex64(0)), (3,), ()),
        )

    module = module_of(build)
    assert run_named_passes(module, ["simplify"]) is module
