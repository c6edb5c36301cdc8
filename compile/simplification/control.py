"""Rules of tuples, conditionals and loops."""

from __future__ import annotations

from ... import hlo
from ...hlo import F32, S32, Computation, Instruction, Shape, TupleShape
from ...hlo.equality import same_computation
from ..inlining import inlined
from ..traversal import has_effects
from ..trip_count import known_trip_count
from .rule import f32, pred, real_value, rule, s32


@rule("get-tuple-element", fires=lambda: hlo.get_tuple_element(hlo.tuple(f32(3), s32()), 1))
def element_of_tuple(element: Instruction) -> Instruction | None:
    """get-tuple-element(tuple(x, y), index=1) -> y"""
    whole = element.operands[0]
    return whole.operands[element.attributes["index"]] if whole.opcode == "tuple" else None


@rule(
    "tuple",
    fires=lambda: hlo.tuple(
        hlo.get_tuple_element(t := hlo.parameter(TupleShape((Shape(F32, (2,)), Shape(S32)))), 0), hlo.get_tuple_element(t, 1)
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


def _conditional(selector: Instruction, operands: list[Instruction], *opcodes: str) -> Instruction:
    """Of branches that apply one operation each."""
    return hlo.conditional(selector, *operands, branch_computations=[_branch(opcode) for opcode in opcodes])


def _branch(opcode: str) -> Computation:
    return hlo.computation(opcode, [Shape(F32, (3,))], lambda x: hlo.emit(opcode, x))


@rule(
    "conditional",
    fires=[
        lambda: _conditional(hlo.constant(True), [f32(3), f32(3)], "negate", "abs"),
        lambda: _conditional(hlo.constant(7, S32), [f32(3), f32(3)], "negate", "abs"),
        lambda: _conditional(pred(), [f32(3)] * 2, "abs", "abs"),
    ],
    unchanged=lambda: _conditional(pred(), [f32(3)] * 2, "abs", "negate"),
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

    def build() -> Instruction:
        init = hlo.tuple(hlo.constant(start, S32), f32(3))
        below = hlo.computation("condition", [init.shape], lambda state: hlo.lt(hlo.get_tuple_element(state, 0), limit))
        return hlo.while_(init, condition=below, body=hlo.computation("body", [init.shape], step_and_negate))

    def step_and_negate(state: Instruction) -> Instruction:
        count, x = (hlo.get_tuple_element(state, index) for index in range(2))
        return hlo.tuple(hlo.add(count, step), hlo.negate(x))

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
