"""Random programs mean the same after every pass."""

from dataclasses import replace

from comparisons import assert_identical
from cpu_passes import SINGLE_PASSES, optimize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phlox import hlo
from phlox.backends.cpu.fusion_policy import FUSION_POLICY
from phlox.compile.fusion import fusion_pass
from phlox.compile.fusion_policy import is_degenerate_reshape
from phlox.compile.traversal import is_control_flow
from phlox.hlo.operation import ELEMENTWISE
from random_programs import modules, results

PROPERTY = settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck))


@PROPERTY
@given(modules())
def test_every_pass_keeps_the_meaning(module):
    hlo.verify(module)
    expected = [results(module, seed) for seed in range(2)]
    for step in SINGLE_PASSES:
        before, module = module, optimize(module, [step])
        if module is not before:
            hlo.verify(module)
            for seed in range(2):
                assert_identical(results(module, seed), expected[seed], f"after {step}")
    assert_fused_form(module)


@PROPERTY
@given(modules())
def test_the_pipeline_keeps_the_meaning(module):
    after = optimize(module)
    hlo.verify(after)
    assert_fused_form(after)
    assert_identical(results(after, 0), results(module, 0), "optimized")


@PROPERTY
@given(modules(), st.integers(0, 40), st.integers(1, 6), st.integers(3, 10), st.booleans())
def test_any_policy_keeps_the_meaning(module, budget, paths, operands, shares):
    shares_loops = FUSION_POLICY.shares_loops if shares else lambda result: False
    policy = replace(
        FUSION_POLICY,
        shares_loops=shares_loops,
        recomputation_budget=budget,
        maximum_paths=paths,
        maximum_instructions=20,
        maximum_operands_and_results=operands,
    )
    after = optimize(module, [fusion_pass(policy)])
    hlo.verify(after)
    assert_fused_form(after)
    assert_identical(results(after, 0), results(module, 0), "fused")


def assert_fused_form(module):
    """What the pass promises of its result."""
    policy, top_level, owner = FUSION_POLICY, [module.entry], {}
    for computation in module.computations():
        for instruction in computation.instructions:
            assert owner.setdefault(instruction, computation) is computation
            if is_control_flow(instruction):
                top_level += instruction.called_computations
    for instruction in (i for computation in set(top_level) for i in computation.instructions):
        assert instruction.opcode == "reshape" or not policy.is_fusible(instruction), instruction
        if instruction.opcode != "fusion":
            continue
        fused = instruction.attributes["calls"]
        outputs = fused.root.operands if fused.root.opcode == "tuple" else (fused.root,)
        assert len({output.shape.dimensions for output in outputs if not output.shape.is_tuple}) <= 1
        for inner in fused.instructions:
            if inner.opcode in ("parameter", "tuple") or inner in outputs:
                continue
            if inner.opcode == "constant":
                assert inner.shape.rank == 0
            else:
                assert policy.is_fusible(inner), inner
                assert inner.has_trait(ELEMENTWISE) or inner.opcode != "reshape" or is_degenerate_reshape(inner)
        if instruction.attributes["kind"] == "kInput":
            assert fused.root.opcode == "reduce"
