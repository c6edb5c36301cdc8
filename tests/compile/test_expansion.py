"""Expansions and simplifications end, for every sample of every operation and its layouts; rules that do not are named."""

import numpy as np
import pytest
from cpu_passes import optimize
from operation_checks import module_of
from phlox import hlo, jit
from phlox.compile import run_named_passes
from phlox.compile.expansion import EXPANSIONS, expanded
from phlox.compile.simplification import RULES
from phlox.compile.traversal import has_dynamic_shapes
from phlox.hlo import F32, OPERATIONS, Layout, Shape, ShapeError, TupleShape, shape_of
from phlox.hlo.operation import Sample
from phlox.xla_builder import XlaBuilder


def column_major(shape):
    """The shape, with its first dimension the one that varies most quickly in memory."""
    if shape is None:
        return None
    if shape.is_tuple:
        return TupleShape(tuple(map(column_major, shape.elements)))
    if shape.rank < 2:
        return shape
    return Shape(shape.element_type, shape.dimensions, Layout(tuple(range(shape.rank))), shape.dynamic_dimensions)


def laid_out(sample):
    """The sample as it is, and with each of its operands, and all of them, column-major; with such a result too."""
    shapes = [o if isinstance(o, (Shape, TupleShape)) else shape_of(o) for o in sample.operands]
    positions = range(len(shapes))
    known = []
    for which in ((), *((position,) for position in positions), positions):
        operands = [column_major(shape) if position in which else shape for position, shape in enumerate(shapes)]
        for stated in (sample.shape, column_major(sample.shape)):
            if (operands, stated) not in known:
                known.append((operands, stated))
                yield Sample(operands, sample.attributes, stated)


def modules(opcode):
    """The samples without dynamic dimensions, in all layouts that the operation takes."""
    for sample in OPERATIONS[opcode].samples():
        for variant in laid_out(sample):
            try:
                module, _ = module_of(opcode, [variant])
            except ShapeError:
                continue
            if not has_dynamic_shapes(module):
                yield module


@pytest.mark.parametrize("opcode", [opcode for opcode, record in OPERATIONS.items() if record.samples()])
def test_passes_come_to_an_end_on_each_sample_in_each_layout(opcode):
    for module in modules(opcode):
        native = optimize(module, ["expand-collectives", "expand"])
        hlo.verify(native)
        assert optimize(native, ["expand-collectives", "expand"]) is native
        simple = run_named_passes(native, ["inline-calls", "canonicalize"])
        for _ in range(4):
            before, simple = simple, run_named_passes(simple, ["simplify", "dce"])
        assert simple is before, f"rules of simplification undo each other:\n{before}{simple}"


def nothing_is_native(instruction):
    return False


@pytest.mark.parametrize("opcode", [opcode for opcode in EXPANSIONS if opcode in OPERATIONS])
def test_expansions_come_to_an_end_for_a_backend_without_any_code(opcode):
    for sample in OPERATIONS[opcode].samples():
        module, _ = module_of(opcode, [sample])
        if not has_dynamic_shapes(module):
            after = expanded(optimize(module, ["expand-collectives"]), nothing_is_native)
            hlo.verify(after)
            assert after.entry.shape == module.entry.shape.without_layout()
            assert expanded(after, nothing_is_native) is after


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_is_not_undone_by_others(rule):
    for program in (*rule.fires, *rule.unchanged):
        b = XlaBuilder("f")
        module = b.build_module(b.write(program))
        for _ in range(4):
            before, module = module, run_named_passes(module, ["simplify", "dce"])
        assert module is before


def module_with_neg():
    b = XlaBuilder("f")
    return b.build_module(b.Neg(b.parameter(Shape(F32, (3,)), "x")))


def test_an_expansion_that_makes_what_it_replaces_is_named(monkeypatch):
    monkeypatch.setitem(EXPANSIONS, "negate", lambda i, operands: hlo.negate(operands[0]))
    with pytest.raises(RuntimeError, match=r"the expansions of negate do not end: <.* negate.* after 1 steps"):
        expanded(module_with_neg(), nothing_is_native)


def test_expansions_that_make_each_other_are_named(monkeypatch):
    monkeypatch.setitem(EXPANSIONS, "negate", lambda i, operands: hlo.exponential(operands[0]))
    monkeypatch.setitem(EXPANSIONS, "exponential", lambda i, operands: hlo.call(*operands, to_apply=negation))
    negation = module_with_neg().entry
    with pytest.raises(RuntimeError, match="the expansions of negate, exponential do not end"):
        expanded(module_with_neg(), nothing_is_native)


def test_an_expansion_that_makes_ever_larger_ones_is_named(monkeypatch):
    def grow(instruction, operands):
        (x,) = operands
        return hlo.negate(hlo.concatenate(x, x, dimensions=(0,)))

    monkeypatch.setitem(EXPANSIONS, "negate", grow)
    with pytest.raises(RuntimeError, match="the expansions of negate do not end: .* after 200 steps"):
        expanded(module_with_neg(), nothing_is_native)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft"])
@pytest.mark.parametrize("shape", [(6, 8), (3, 7), (4, 34), (2, 3, 8)])
def test_fourier_transform_of_a_transposed_array(name, shape):
    x = np.random.default_rng(0).standard_normal((2, *shape))
    x = np.asfortranarray(x[0] if name == "rfft" else x[0] + 1j * x[1])
    transform = getattr(np.fft, name)
    np.testing.assert_allclose(jit(transform)(x), transform(x), atol=1e-12)
