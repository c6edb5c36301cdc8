"""Fusion: what becomes one loop nest and what does not, on typical programs, and the rules one by one.

The golden files hold whole optimized programs; they were read and found right, and `pytest --update-goldens` writes them
anew.
"""

from dataclasses import replace

import numpy as np
import pytest
from comparisons import flattened
from cpu_passes import SIMPLIFY_AND_FUSE, optimize
from phlox import hlo
from phlox.backends.cpu.fusion_policy import FUSION_POLICY
from phlox.compile.fusion import fusion_pass
from phlox.hlo import F32, S32, Shape, TupleShape
from phlox.hlo.operation import EFFECTFUL, OPERATIONS, operation
from phlox.xla_builder import XlaBuilder
from typical_programs import TYPICAL_PROGRAMS, full, module_of, parameters, softmax, total


def fused(build, passes=("fuse",)):
    """The module after these passes, checked against the one before."""
    module = module_of(build)
    after = optimize(module, passes)
    hlo.verify(after)
    generator = np.random.default_rng(0)
    arguments = []
    for shape in module.entry.parameter_shapes:
        values = generator.standard_normal(shape.dimensions) * 3
        arguments.append(np.asarray(values).astype(shape.dtype))
    with np.errstate(all="ignore"):
        expected, actual = hlo.evaluate(module.entry, *arguments), hlo.evaluate(after.entry, *arguments)
    for one, other in zip(flattened(actual), flattened(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-5)
    return after


def fusions(module):
    """The opcodes inside each fusion of the entry, parameters and scalar constants left out."""
    found = []
    for instruction in module.entry.instructions:
        if instruction.opcode == "fusion":
            inside = [
                i.opcode for i in instruction.attributes["calls"].instructions if i.opcode not in ("parameter", "constant")
            ]
            found.append(" ".join(inside))
    return found


def top_level(module):
    return [instruction.opcode for instruction in module.entry.instructions if instruction.opcode != "parameter"]


# --- typical programs ---


@pytest.mark.parametrize("program", TYPICAL_PROGRAMS, ids=lambda p: p.__name__)
def test_typical_program(program, golden):
    golden(f"{program.__name__}.hlo", fused(program, SIMPLIFY_AND_FUSE).as_text())


# --- what is fused ---


def test_a_chain_is_one_loop():
    def chain(b):
        x, y = parameters(b, (64,), (64,))
        return b.Tanh(b.Exp(b.Mul(b.Add(x, y), x)))

    assert fusions(fused(chain)) == ["add multiply exponential tanh"]


def test_a_single_operation_stands_in_a_fusion_too():
    assert fusions(fused(lambda b: b.Trans(parameters(b, (3, 4))[0]))) == ["transpose"]


def test_a_reduction_computes_its_operand():
    def squares(b):
        (x,) = parameters(b, (8, 64))
        return total(b, b.Mul(x, x), (1,))

    after = fused(squares)
    assert fusions(after) == ["multiply reduce"] and after.entry.root.attributes["kind"] == "kInput"


def test_a_reduction_of_stored_values_stays():
    assert top_level(fused(lambda b: total(b, parameters(b, (8, 64))[0], (1,)))) == ["constant", "reduce"]


def test_scalars_are_computed_outside_of_loops():
    def scaled(b):
        x, s = parameters(b, (64,), ())
        return b.Mul(x, b.BroadcastInDim(b.Exp(b.Add(s, s)), (64,), ()))

    after = fused(scaled)
    assert top_level(after) == ["add", "exponential", "fusion"] and fusions(after) == ["broadcast multiply"]


def test_an_element_is_read_as_a_scalar_without_a_copy_of_it():
    def element(b):
        (x,) = parameters(b, (64,))
        i = b.parameter(Shape(S32), "i")
        return b.Exp(b.emit("reshape", b.DynamicSlice(x, [i], (1,)), shape=Shape(F32)))

    after = fused(element)
    assert fusions(after) == ["dynamic-slice reshape"] and top_level(after) == ["fusion", "exponential"]


def test_other_reshapes_stay_outside_as_second_names():
    def flat(b):
        (x,) = parameters(b, (8, 8))
        return b.Neg(b.Reshape(b.Exp(x), (64,)))

    assert top_level(fused(flat)) == ["fusion", "reshape", "fusion"]


def test_large_constants_are_operands():
    values = np.arange(64, dtype=np.float32)
    after = fused(lambda b: b.Add(parameters(b, (64,))[0], b.constant(values)))
    assert top_level(after) == ["constant", "fusion"] and fusions(after) == ["add"]


def test_a_wanted_intermediate_is_written_by_the_same_loop():
    def both(b):
        x, y = parameters(b, (64,), (64,))
        e = b.Exp(x)
        return b.Tuple([e, b.Mul(e, y)])

    assert fusions(fused(both)) == ["exponential multiply tuple"]


def test_results_that_share_an_operand_share_a_loop():
    def siblings(b):
        x, y, z = parameters(b, (64,), (64,), (64,))
        return b.Tuple([b.Add(x, y), b.Mul(x, z)])

    assert fusions(fused(siblings)) == ["add multiply tuple"]


def test_unrelated_results_do_not():
    def strangers(b):
        x, y = parameters(b, (64,), (64,))
        return b.Tuple([b.Exp(x), b.Tanh(y)])

    assert fusions(fused(strangers)) == ["exponential", "tanh"]


# --- what is not ---


def test_expensive_values_are_not_repeated_by_a_broadcast():
    def outer(b):
        x, y = parameters(b, (64,), (32, 64))
        return b.Add(b.BroadcastInDim(b.Exp(x), (32, 64), (1,)), y)

    assert fusions(fused(outer)) == ["exponential", "broadcast add"]


def test_expensive_values_are_not_computed_for_each_shifted_view():
    def differences(b):
        (x,) = parameters(b, (64,))
        e = b.Exp(x)
        return b.Sub(b.Slice(e, (1,), (64,)), b.Slice(e, (0,), (63,)))

    assert fusions(fused(differences)) == ["exponential", "slice slice subtract"]


def test_cheap_values_are():
    def differences(b):
        x, y = parameters(b, (64,), (64,))
        e = b.Add(x, y)
        return b.Sub(b.Slice(e, (1,), (64,)), b.Slice(e, (0,), (63,)))

    assert fusions(fused(differences)) == ["add slice slice subtract"]


def test_half_of_an_expensive_value_is_computed_only():
    def half(b):
        (x,) = parameters(b, (64,))
        return b.Neg(b.Slice(b.Exp(x), (0,), (32,)))

    assert fusions(fused(half)) == ["exponential slice negate"]


def test_long_chains_of_cheap_operations_are_not_repeated():
    def long(b):
        x, y = parameters(b, (64,), (64,))
        for _ in range(20):
            x = b.Add(b.Mul(x, y), y)
        return b.Tuple([total(b, x, (0,)), b.Rev(x, dimensions=(0,))])

    assert [text.count("multiply") for text in fusions(fused(long))] == [20, 0]


def test_repeated_shifts_do_not_explode():
    def smoothing(b):
        (x,) = parameters(b, (256,))
        for _ in range(16):
            n = x.shape.dimensions[0]
            x = b.Add(b.Slice(x, (0,), (n - 1,)), b.Slice(x, (1,), (n,)))
        return x

    sizes = [len(text.split()) for text in fusions(fused(smoothing))]
    assert sum(sizes) == 48 and len(sizes) > 1


def test_no_cycle_through_a_reduction():
    """x feeds a sum and is divided by it: the loop of x cannot be that of the quotient."""

    def normalized(b):
        x, y = parameters(b, (64,), (64,))
        e = b.Exp(x)
        s = b.BroadcastInDim(total(b, e, (0,)), (64,), ())
        return b.Tuple([b.Mul(e, y), b.Div(e, s)])

    after = fused(normalized)
    quotient = [text for text in fusions(after) if "divide" in text]
    assert len(quotient) == 1 and "exponential" not in quotient[0]


def test_no_cycle_through_two_groups():
    """a1 -> d -> b1 and b2 -> e -> a2: a1 with a2 and b1 with b2 cannot both share their loops."""

    def crossed(b):
        x, y, weights = parameters(b, (8, 8), (8, 8), (8, 8))
        a1, b2 = b.Exp(x), b.Exp(y)
        b1 = b.Add(b.Dot(a1, weights), y)
        a2 = b.Add(b.Dot(b2, weights), x)
        return b.Tuple([a1, a2, b1, b2])

    after = fused(crossed)
    assert top_level(after).count("dot") == 2
    outputs = [i.shape for i in after.entry.instructions if i.opcode == "fusion"]
    assert sum(len(shape.elements) if shape.is_tuple else 1 for shape in outputs) == 4 and len(outputs) >= 2


def test_limits_hold():
    def wide(b):
        values = parameters(b, *[(64,)] * 12)
        result = values[0]
        for value in values[1:]:
            result = b.Add(result, value)
        return result

    policy = replace(FUSION_POLICY, maximum_operands_and_results=5)
    after = optimize(module_of(wide), [fusion_pass(policy)])
    hlo.verify(after)
    counts = [len(i.operands) for i in after.entry.instructions if i.opcode == "fusion"]
    assert len(counts) > 1 and max(counts) <= 5
    policy = replace(FUSION_POLICY, maximum_instructions=4)
    after = optimize(module_of(wide), [fusion_pass(policy)])
    assert max(len(text.split()) for text in fusions(after)) <= 4


def test_where_loops_are_not_shared_each_fusion_has_one_result():
    def siblings(b):
        x, y = parameters(b, (64,), (64,))
        return b.Tuple([b.Add(x, y), b.Mul(x, y)])

    policy = replace(FUSION_POLICY, shares_loops=lambda result: False)
    after = optimize(module_of(siblings), [fusion_pass(policy)])
    assert fusions(after) == ["add", "multiply"]


def test_the_updated_array_and_its_update_are_separate():
    def update(b):
        x, y = parameters(b, (64,), (8,))
        i = b.parameter(Shape(S32), "i")
        return b.DynamicUpdateSlice(x, b.Exp(y), [i])

    assert top_level(fused(update)) == ["fusion", "dynamic-update-slice"]


def test_of_many_writes_with_steps_each_touches_what_it_writes():
    """Two may stand in the nest of something else; each further one writes into the array in place."""

    def build(b, count):
        (x,) = parameters(b, (100,))
        for step in range(3, 3 + count):
            size = -(-100 // step)
            end = 99 - (size - 1) * step
            trues = b.BroadcastInDim(b.constant(np.bool_(True)), (size,), ())
            mask = b.Pad(trues, b.constant(np.bool_(False)), [(0, end, step - 1)])
            x = b.Select(mask, full(b, step, (100,)), x)
        return total(b, x, (0,))

    def selects(count):
        return [inside.split().count("select") for inside in fusions(fused(lambda b: build(b, count)))]

    assert selects(2) == [2]
    assert selects(5) == [3, 1, 1]


def test_effects_keep_their_order():
    @operation("test-note", "operand", traits={EFFECTFUL})
    def record(operand):
        """Notes its operand."""
        return operand

    record.evaluation(lambda operand: operand)
    try:

        def noted(b):
            x, y = parameters(b, (8,), (8,))
            first = b.emit("test-note", b.Exp(x), name="first")
            second = b.emit("test-note", y, name="second")
            return b.Tuple([b.Add(second, x), b.Add(first, b.Exp(x))])

        names = [i.name for i in fused(noted).entry.instructions if i.opcode == "test-note"]
        assert names == ["first", "second"]
    finally:
        del OPERATIONS["test-note"]


def test_branches_and_loop_bodies_are_fused_inside():
    def branch(b):
        (x,) = parameters(b, (8,))
        two = []
        for opcode in ("exponential", "tanh"):
            c = XlaBuilder(opcode)
            two.append(c.build(c.Neg(c.emit(opcode, c.GetTupleElement(c.parameter(TupleShape((x.shape,))), 0)))))
        packed = b.Tuple([x])
        return b.Conditional(b.Gt(total(b, x, (0,)), b.constant(np.float32(0))), packed, two[0], packed, two[1])

    after = fused(branch)
    for computation in after.entry.root.called_computations:
        assert computation.root.opcode == "fusion"


def test_nothing_to_fuse_leaves_the_module_as_it_is():
    module = module_of(lambda b: b.Exp(b.parameter(Shape(F32))))
    assert optimize(module, ["fuse"]) is module


def test_a_fused_module_is_not_fused_again():
    after = fused(softmax)
    assert optimize(after, ["fuse"]) is after
