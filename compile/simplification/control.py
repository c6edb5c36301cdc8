"""Rules of tuples, conditionals and loops."""

from __future__ import annotations

from ...hlo import F32, S32, Builder, Computation, Instruction, Shape, TupleShape
from ...hlo.equality import same_computation
from ..inlining import inlined
from ..traversal import has_effects
from ..trip_count import known_trip_count
from .rule import f32, pred, real_value, rule, s32


@rule("get-tuple-element", fires=lambda b: b.get_tuple_element(b.Tuple([f32(b, 3), s32(b)]), 1))
def element_of_tuple(element: Instruction) -> Instruction | None:
    """get-tuple-element(tuple(x, y), index=1) -> y"""
    whole = element.operands[0]
    return whole.operands[element.attributes["index"]] if whole.opcode == "tuple" else None


@rule(
    "tuple",
    fires=lambda b: b.Tuple(
        [b.get_tuple_element(t := b.parameter(TupleShape((Shape(F32, (2,)), Shape(S32)))), 0), b.get_tuple_element(t, 1)]
    ),
)
def tuple_of_own_elements(whole: Instruction) -> Instruction | None:
    """tuple(t.0, t.1) -> t, where t has no further elements"""
    if not whole.operands or whole.operands[0].opcode != "get-tuple-element":
        return None
    source = whole.operands[0].operands[0]
    if len(source.shape.elements) != len(whole.operands):
        return None
    for index, element in enumerate(whole.operands):
        if element.opcode != "get-tuple-element" or element.operands[0] is not source or element.attributes["index"] != index:
            return None
    return source


def _branch(opcode: str) -> Computation:
    b = Builder(opcode)
    return b.build(b.emit(opcode, f32(b, 3)))


@rule(
    "conditional",
    fires=[
        lambda b: b.Conditional(b.constant(True), f32(b, 3), _branch("negate"), f32(b, 3), _branch("abs")),
        lambda b: b.Conditional(b.constant(7, S32), [_branch("negate"), _branch("abs")], [f32(b, 3), f32(b, 3)]),
        lambda b: b.Conditional(pred(b), x := f32(b, 3), _branch("abs"), x, _branch("abs")),
    ],
    unchanged=lambda b: b.Conditional(pred(b), x := f32(b, 3), _branch("abs"), x, _branch("negate")),
)
def conditional_with_one_outcome(conditional: Instruction) -> Instruction | None:
    """conditional(true, x, y) -> the true computation of x, and so on; also where all branches do the same to the same"""
    predicate, *operands = conditional.operands
    branches = conditional.called_computations
    value = real_value(predicate)
    if value is not None:
        if predicate.shape.element_type.kind == "pred":
            chosen = 0 if value else 1
        else:
            chosen = int(value) if 0 <= value < len(branches) else len(branches) - 1
    elif all(x is operands[0] for x in operands) and all(same_computation(branches[0], other) for other in branches[1:]):
        chosen = 0
    else:
        return None
    if any(map(has_effects, branches[chosen].instructions)):
        return None  # what is inlined is what the result needs
    return inlined(branches[chosen], (operands[chosen],))


def _counting_loop(start: int, limit: int, step: int = 1):
    """A sample: ``for i in range(start, limit, step): x = -x``"""

    def build(b: Builder) -> Instruction:
        init = b.Tuple([b.constant(start, S32), f32(b, 3)])
        c = Builder("condition")
        condition = c.build(c.Lt(c.get_tuple_element(c.parameter(init.shape), 0), c.constant(limit, S32)))
        c = Builder("body")
        state = c.parameter(init.shape)
        count, x = (c.get_tuple_element(state, index) for index in range(2))
        return b.While(condition, c.build(c.Tuple([c.Add(count, c.constant(step, S32)), c.Neg(x)])), init)

    return build


@rule("while", fires=[_counting_loop(5, 5), _counting_loop(3, 5, 4)], unchanged=_counting_loop(0, 2))
def loop_of_one_round(loop: Instruction) -> Instruction | None:
    """while(state) -> state where the body never runs, and the body of state where it runs once"""
    init, condition, body = loop.operands[0], loop.attributes["condition"], loop.attributes["body"]
    known = known_trip_count(loop)
    count = None if known is None else known.count
    if real_value(condition.root) == 0:
        count = 0
    if count not in (0, 1) or any(map(has_effects, condition.instructions)):
        return None
    if count and any(map(has_effects, body.instructions)):
        return None
    return inlined(body, (init,)) if count else init
