"""What is known about loops, and the passes that rewrite them."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_passes import optimize
from phlox import hlo
from phlox.backends.cpu.fusion_policy import FUSION_POLICY
from phlox.backends.cpu.pipeline import PIPELINE
from phlox.compile import run_named_passes, run_passes
from phlox.compile.loop_unrolling import unrolling_pass
from phlox.compile.trip_count import TripCount, known_trip_count, loop_invariant_elements
from phlox.hlo import F32, Shape, TupleShape
from phlox.xla_builder import XlaBuilder


def opcodes(computation):
    return [instruction.opcode for instruction in computation.instructions]


def module_of(build):
    b = XlaBuilder("f")
    module = b.build_module(build(b))
    hlo.verify(module)
    return module


def assert_same_program(before, after):
    for seed in range(3):
        generator = np.random.default_rng(seed)
        arguments = [generator.standard_normal(shape.dimensions).astype(shape.dtype) for shape in before.parameter_shapes]
        expected, actual = hlo.evaluate(before, *arguments), hlo.evaluate(after, *arguments)
        if not isinstance(expected, tuple):
            expected, actual = (expected,), (actual,)
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def with_result(module, *indices):
    """The module whose result is these elements of the loop that was its root."""
    whole = module.entry.root
    b = XlaBuilder("f")
    b.instructions = list(module.entry.instructions)
    elements = [b.GetTupleElement(whole, index) for index in indices]
    return b.build_module(elements[0] if len(elements) == 1 else b.Tuple(elements))


def loop(init, condition, body):
    """A module that runs a while; condition and body get a builder and the state's elements."""

    def build(b):
        start = b.Tuple(init(b))
        c = XlaBuilder("condition")
        state = c.parameter(start.shape, "state")
        condition_computation = c.build(condition(c, [c.GetTupleElement(state, i) for i in range(len(start.operands))]))
        c = XlaBuilder("body")
        state = c.parameter(start.shape, "state")
        body_computation = c.build(c.Tuple(body(c, [c.GetTupleElement(state, i) for i in range(len(start.operands))])))
        return b.While(condition_computation, body_computation, start)

    return module_of(build)


def counting(start, limit, step, direction, dtype=np.int32, swapped=False, opcode="add"):
    def condition(c, state):
        operands = (c.constant(dtype(limit)), state[1]) if swapped else (state[1], c.constant(dtype(limit)))
        return c.Compare(*operands, direction)

    return loop(
        lambda b: [b.parameter(Shape(F32)), b.constant(dtype(start))],
        condition,
        lambda c, s: [c.Neg(s[0]), c.emit(opcode, s[1], c.constant(dtype(step)))],
    )


@pytest.mark.parametrize(
    "start, limit, step, direction",
    [
        (0, 10, 1, "LT"), (0, 10, 3, "LT"), (0, 10, 3, "LE"), (0, 9, 3, "LE"), (10, 0, -1, "GT"), (10, 0, -4, "GE"), (5, 5,
        1, "LT"),
        (7, 5, 1, "LT"), (0, 12, 4, "NE"), (12, 0, -4, "NE"), (3, 3, 1, "NE"), (3, 3, 1, "EQ"), (3, 4, 1, "EQ"), (-3, 100,
        7, "LT"),
    ],
)  # fmt: skip
def test_trip_count_is_how_often_the_body_runs(start, limit, step, direction):
    module = counting(start, limit, step, direction)
    runs = [0]

    def count(computation, instruction, value):
        runs[0] += computation.name == "body" and instruction is computation.root

    hlo.evaluate(module.entry, np.float32(1), observer=count)
    assert known_trip_count(module.entry.root) == TripCount(runs[0], 1, start, step)


def test_trip_count_of_other_spellings():
    assert known_trip_count(counting(0, 10, 2, "GT", swapped=True).entry.root) == TripCount(5, 1, 0, 2)
    assert known_trip_count(counting(10, 0, 2, "GT", opcode="subtract").entry.root) == TripCount(5, 1, 10, -2)


@pytest.mark.parametrize(
    "module",
    [
        counting(0, 10, 0, "LT"), counting(0, 10, -1, "LT"), counting(0, 10, 3, "NE"), counting(0, 10, -1, "NE"),
        counting(0, 127, 1, "LE", np.int8), counting(0, 127, 100, "LT", np.int8), counting(0, 10, 2, "LT", opcode="multiply"),
        counting(0, 10, 1, "LT", np.float32),
    ],
    ids=["no step", "away", "over", "wrong way", "wraps at the limit", "wraps before", "multiplies", "float"],
)  # fmt: skip
def test_trip_count_is_unknown(module):
    assert known_trip_count(module.entry.root) is None


def test_limit_held_in_the_state():
    module = loop(
        lambda b: [b.constant(np.int64(0)), b.constant(np.int64(6)), b.constant(np.int64(2))],
        lambda c, s: c.Lt(s[0], s[1]),
        lambda c, s: [c.Add(s[2], s[0]), s[1], s[2]],
    )
    assert known_trip_count(module.entry.root) == TripCount(3, 0, 0, 2)
    assert loop_invariant_elements(module.entry.root) == {1, 2}


def test_unneeded_state_is_removed():
    module = loop(
        lambda b: [
            b.constant(np.int32(0)),
            b.parameter(Shape(F32, (3,))),
            b.parameter(Shape(F32, (3,))),
            b.parameter(Shape(F32)),
        ],
        lambda c, s: c.Lt(s[0], c.constant(np.int32(3))),
        lambda c, s: [c.Add(s[0], c.constant(np.int32(1))), c.Neg(s[1]), c.Add(s[2], s[1]), s[3]],
    )
    module = with_result(module, 1, 3)
    after = run_named_passes(module, ["simplify-loops", "dce"])
    hlo.verify(after)
    (small,) = [i for i in after.entry.instructions if i.opcode == "while"]
    assert str(small.shape) == "(s32[], f32[3])"
    assert after.entry.root.operands[1].opcode == "parameter"  # what never changes is read before the loop
    assert_same_program(module.entry, after.entry)


def test_invariant_constants_move_into_the_loop():
    module = loop(
        lambda b: [
            b.constant(np.int32(0)),
            b.parameter(Shape(F32, (3,))),
            b.BroadcastInDim(b.constant(np.float32(2)), (3,), ()),
        ],
        lambda c, s: c.Lt(s[0], c.constant(np.int32(3))),
        lambda c, s: [c.Add(s[0], c.constant(np.int32(1))), c.Mul(s[1], s[2]), s[2]],
    )
    module = with_result(module, 1)
    after = run_named_passes(module, ["simplify-loops", "dce"])
    hlo.verify(after)
    (small,) = [i for i in after.entry.instructions if i.opcode == "while"]
    assert str(small.shape) == "(s32[], f32[3])"
    assert_same_program(module.entry, after.entry)


def invariant_module():
    module = loop(
        lambda b: [b.constant(np.int32(0)), b.parameter(Shape(F32, (4, 4))), b.parameter(Shape(F32, (4, 4)))],
        lambda c, s: c.Lt(s[0], c.constant(np.int32(3))),
        lambda c, s: [
            c.Add(s[0], c.constant(np.int32(1))),
            c.Add(c.Add(s[1], c.Tanh(c.Dot(s[2], s[2]))), c.Mul(s[2], s[2])),
            s[2],
        ],
    )
    return with_result(module, 1)


def test_expensive_invariants_leave_the_loop():
    module = invariant_module()
    after = run_named_passes(module, ["hoist-loop-invariants", "simplify", "dce"])
    hlo.verify(after)
    (whole,) = [i for i in after.entry.instructions if i.opcode == "while"]
    assert {"dot", "tanh"} <= set(opcodes(after.entry))
    inside = opcodes(whole.attributes["body"])
    assert "dot" not in inside and "tanh" not in inside and "multiply" in inside
    assert_same_program(module.entry, after.entry)
    assert run_named_passes(after, ["hoist-loop-invariants"]) is after


def test_no_instruction_stands_in_two_computations():
    after = optimize(invariant_module())
    seen = {}
    for computation in after.computations():
        for instruction in computation.instructions:
            assert seen.setdefault(instruction, computation) is computation


# --- conditionals ---


def test_branches_compute_what_is_read_and_take_what_they_need():
    def branch(opcode, index):
        b = XlaBuilder(opcode)
        state = b.parameter(TupleShape((Shape(F32, (3,)),) * 3))
        x, y, z = (b.GetTupleElement(state, i) for i in range(3))
        return b.build(b.Tuple([b.emit(opcode, (x, y)[index]), b.Exp(z)]))

    def build(b):
        values = [b.parameter(Shape(F32, (3,))) for _ in range(3)]
        whole = b.Tuple(values)
        predicate = b.Gt(b.parameter(Shape(F32)), b.constant(np.float32(0)))
        chosen = b.Conditional(predicate, whole, branch("negate", 0), whole, branch("abs", 1))
        return b.GetTupleElement(chosen, 0)

    module = module_of(build)
    after = run_named_passes(module, ["simplify-conditionals", "simplify", "dce"])
    hlo.verify(after)
    (chosen,) = [i for i in after.entry.instructions if i.opcode == "conditional"]
    assert str(chosen.shape) == "(f32[3])"
    assert [opcodes(c) for c in chosen.called_computations] == [
        ["parameter", "get-tuple-element", "negate", "tuple"],
        ["parameter", "get-tuple-element", "abs", "tuple"],
    ]
    assert [len(operand.shape.elements) for operand in chosen.operands[1:]] == [1, 1]
    assert_same_program(module.entry, after.entry)
    assert run_named_passes(after, ["simplify-conditionals"]) is after


def swapping(rounds, body):
    """A loop of this many rounds over two arrays."""
    return loop(
        lambda b: [b.constant(np.int32(0)), b.parameter(Shape(F32, (100,))), b.parameter(Shape(F32, (100,)))],
        lambda c, s: c.Lt(s[0], c.constant(np.int32(rounds))),
        lambda c, s: [c.Add(s[0], c.constant(np.int32(1))), s[2], body(c, s)],
    )


def test_short_elementwise_loops_are_unrolled():
    module = with_result(swapping(5, lambda c, s: c.Sub(c.Mul(s[1], s[1]), s[2])), 1, 2)
    after = run_named_passes(module, ["unroll-loops", "simplify", "dce"], PIPELINE)
    hlo.verify(after)
    assert "while" not in opcodes(after.entry)
    assert_same_program(module.entry, after.entry)


@pytest.mark.parametrize(
    "module",
    [
        swapping(9, lambda c, s: c.Add(s[1], s[2])),
        swapping(3, lambda c, s: c.Rev(s[1], [0])),
        loop(
            lambda b: [b.constant(np.int32(0)), b.parameter(Shape(F32))],
            lambda c, s: c.Lt(s[0], c.constant(np.int32(3))),
            lambda c, s: [c.Add(s[0], c.constant(np.int32(1))), c.Exp(s[1])],
        ),
    ],
    ids=["many rounds", "moves elements", "scalars only"],
)
def test_other_loops_are_not_unrolled(module):
    assert run_named_passes(module, ["unroll-loops"], PIPELINE) is module


def test_what_a_backend_does_not_fuse_is_not_unrolled():
    module = swapping(5, lambda c, s: c.Sub(s[1], s[2]))
    policy = replace(FUSION_POLICY, is_fusible=lambda instruction: instruction.opcode != "subtract")
    assert run_passes(module, [unrolling_pass(policy)]) is module
    assert run_passes(module, [unrolling_pass(FUSION_POLICY)]) is not module


def test_loops_that_may_not_end_stay_inside():
    """The inner loop halves a number until it is 0: for ever, of infinity. The outer one does not run then."""
    scalar, count = Shape(F32), Shape(hlo.S32)
    c = XlaBuilder("is_positive")
    x = c.parameter(TupleShape((scalar,)))
    positive = c.build(c.Gt(c.GetTupleElement(x, 0), c.constant(np.float32(0))))
    c = XlaBuilder("half")
    x = c.parameter(TupleShape((scalar,)))
    half = c.build(c.Tuple([c.Mul(c.GetTupleElement(x, 0), c.constant(np.float32(0.5)))]))

    b = XlaBuilder("f")
    init = b.Tuple([b.constant(np.int32(0)), b.parameter(count), b.parameter(scalar), b.constant(np.float32(1))])
    c = XlaBuilder("condition")
    state = c.parameter(init.shape)
    condition = c.build(c.Lt(c.GetTupleElement(state, 0), c.GetTupleElement(state, 1)))
    c = XlaBuilder("body")
    state = c.parameter(init.shape)
    rounds, limit, start, total = (c.GetTupleElement(state, index) for index in range(4))
    end = c.GetTupleElement(c.While(positive, half, c.Tuple([start])), 0)
    body = c.build(c.Tuple([c.Add(rounds, c.constant(np.int32(1))), limit, start, c.Add(total, end)]))
    module = b.build_module(b.GetTupleElement(b.While(condition, body, init), 3))
    after = optimize(module)
    assert hlo.evaluate(after.entry, np.int32(0), np.float32(np.inf)) == 1
    assert hlo.evaluate(after.entry, np.int32(2), np.float32(3)) == 1
