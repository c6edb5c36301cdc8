"""The state of while loops: what is an element of it, how elements go on from round to round, and loops that carry more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..hlo import Computation, ElementType, Instruction, TupleShape, make_instruction, rebuild
from ..hlo.builder import UnattachedBuilder
from ..hlo.operation import ELEMENTWISE
from .traversal import on_operands
from .trip_count import TripCount

# What stands for an instruction of the body, given the new elements of the state and the instruction's operands.
Replacement = Callable[[Sequence[Instruction], tuple[Instruction, ...]], Instruction]
# The new elements' values of the next round, given those of this one and what stands for an instruction of the body.
Following = Callable[[Sequence[Instruction], Mapping[Instruction, Instruction]], Sequence[Instruction]]

# In round k the number start + step * k.
Progression = tuple[int, int]

_DEEPEST = 8


def with_loops_replaced(computation: Computation, replacement: Callable[[Instruction], Instruction | None]) -> Computation:
    """The computation with each of its while loops replaced by ``replacement(loop)``; left as it is where that is None."""
    if not any(instruction.opcode == "while" for instruction in computation.instructions):
        return computation

    def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
        current = on_operands(instruction, operands)
        return replacement(current) or current if instruction.opcode == "while" else current

    return rebuild(computation, transform)


def built_for(instruction: Instruction) -> UnattachedBuilder:
    """A builder of what stands for an instruction, at its place in the user's source."""
    return UnattachedBuilder(instruction.opcode, where=lambda: instruction.source)


def is_state(instruction: Instruction) -> bool:
    """Whether this is an element of the state, in a body or a condition."""
    return instruction.opcode == "get-tuple-element" and instruction.operands[0].opcode == "parameter"


def stays(place: Instruction, unchanging: set[int]) -> bool:
    """Whether this scalar of a body is computed of constants, and of state that never changes."""
    if place.opcode == "constant" or is_state(place):
        return place.opcode == "constant" or place.attributes["index"] in unchanging
    return ELEMENTWISE in place.operation.traits and all(stays(operand, unchanging) for operand in place.operands)


def computed_outside(place: Instruction, init: Instruction) -> Instruction:
    """Such a scalar, outside of the loop whose state begins as this tuple."""
    if is_state(place):
        return init.operands[place.attributes["index"]]
    return place.with_operands([computed_outside(operand, init) for operand in place.operands])


def is_the_same(one: Instruction, other: Instruction) -> bool:
    """Whether two scalars of a computation are one: the same instruction, or equal constants."""
    if one is other:
        return True
    return one.opcode == other.opcode == "constant" and int(one.attributes["literal"]) == int(other.attributes["literal"])


def places_inside(place: Instruction, size: int, trips: TripCount) -> Progression | None:
    """An index in round k as start + step * k; None where it has another form, or does not lie in [0, size) in each round."""
    found = _progression(place, trips, _DEEPEST)
    is_known = found is not None and is_of_type(found, place.shape.element_type, trips.count)
    return found if is_known and lies_inside(found, size, trips.count) else None


def lies_inside(progression: Progression, size: int, rounds: int) -> bool:
    """Whether integers that go on so for so many rounds lie in [0, size)."""
    start, step = progression
    return all(0 <= end < size for end in (start, start + step * (rounds - 1)))


def is_of_type(progression: Progression, integers: ElementType, rounds: int) -> bool:
    """Whether integers that go on so are of this type, so that they are right whatever has wrapped on the way."""
    start, step = progression
    least = -(2 ** (integers.bits - 1)) if integers.kind == "signed" else 0
    return all(least <= end < least + 2**integers.bits for end in (start, start + step * (rounds - 1)))


def _progression(place: Instruction, trips: TripCount, depth: int) -> Progression | None:
    if place.opcode == "constant":
        return int(place.attributes["literal"]), 0
    if is_state(place) and place.attributes["index"] == trips.index:
        return trips.start, trips.step
    rule = PROGRESSION_RULES.get(place.opcode) if depth else None
    parts = [] if rule is None else [_progression(operand, trips, depth - 1) for operand in place.operands]
    return rule(*parts) if parts and None not in parts else None


def _product(x: Progression, y: Progression) -> Progression | None:
    if x[1] and y[1]:
        return None
    (start, step), (factor, _) = (x, y) if x[1] else (y, x)
    return start * factor, step * factor


# Of integers that wrap: whatever leaves their type on the way, what lies inside of it in the end is right.
PROGRESSION_RULES: dict[str, Callable[..., Progression | None]] = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[0], x[1] - y[1]),
    "negate": lambda x: (-x[0], -x[1]),
    "multiply": _product,
    "shift-left": lambda x, y: None if y[1] or not 0 <= y[0] < 64 else (x[0] << y[0], x[1] << y[0]),
}


def with_more_state(
    loop: Instruction,
    values: Sequence[Instruction],
    replaced: Mapping[Instruction, Replacement],
    following: Following = lambda elements, rebuilt: elements,
    results: Callable[[list[Instruction]], list[Instruction]] | None = None,
) -> Instruction:
    """The loop with these values as the first of further elements of its state.

    The elements never change where nothing is said of what follows. The result has the elements of before, as ``results`` makes
    them of all elements behind the loop, by default those of before.
    """
    init = loop.operands[0]
    count = len(init.operands)
    shape = TupleShape((*init.shape.elements, *(value.shape for value in values)))
    new_init = make_instruction("tuple", (*init.operands, *values), source=loop.source)

    def extended(computation: Computation, is_body: bool) -> Computation:
        old = computation.parameters[0]
        parameter = make_instruction("parameter", (), {"number": 0}, shape, name=old.name, source=old.source)
        elements = [
            make_instruction("get-tuple-element", (parameter,), {"index": index}, name=value.name, source=value.source)
            for index, value in enumerate(values, count)
        ]
        rebuilt: dict[Instruction, Instruction] = {}

        def transform(instruction: Instruction, operands: tuple[Instruction, ...]) -> Instruction:
            if instruction is old:
                result = parameter
            elif is_body and instruction in replaced:
                result = replaced[instruction](elements, operands)
            elif is_body and instruction is computation.root:
                more = following(elements, rebuilt)
                result = make_instruction("tuple", (*operands, *more), source=instruction.source)
            else:
                result = on_operands(instruction, operands)
            rebuilt[instruction] = result
            return result

        return rebuild(computation, transform)

    attributes = {"condition": extended(loop.attributes["condition"], False), "body": extended(loop.attributes["body"], True)}
    whole = make_instruction("while", (new_init,), attributes, name=loop.name, source=loop.source, annotations=loop.annotations)
    parts = [
        make_instruction("get-tuple-element", (whole,), {"index": index}, source=loop.source)
        for index in range(count + len(values))
    ]
    # The users of the loop know its first elements only.
    return make_instruction("tuple", results(parts) if results else parts[:count], source=loop.source)
