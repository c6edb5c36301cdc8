"""The while loop that stands for a repetition: what its rounds take from each other, from tables and from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import hlo
from ..hlo import S32, S64, TOKEN, Builder, Computation, ElementType, Instruction, Shape

# Constants that differ from round to round are put into tables of at most so many bytes.
_LARGEST_TABLE = 1 << 20


class Positions:
    """The instructions of a computation by position; for each the positions of its operands and of its last use."""

    def __init__(self, computation: Computation) -> None:
        self.instructions = computation.instructions
        position = {instruction: number for number, instruction in enumerate(computation.instructions)}
        self.operands = [tuple([position[operand] for operand in i.operands]) for i in computation.instructions]
        self.last_use = [-1] * len(self.operands)
        for number, operands in enumerate(self.operands):
            for operand in operands:
                self.last_use[operand] = number
        self.last_use[position[computation.root]] = len(self.operands)


@dataclass
class Rounds:
    """A repetition: ``count`` rounds of ``length`` instructions, from the position ``start`` on.

    Offsets are positions within a round. ``carried`` has a pair for each value of the round before that a round reads: its
    offset, and the position of what the first round reads in its place. ``fixed`` are the positions of what all rounds read
    alike, ``final`` the offsets of what is used behind the last round, ``collected`` those of what is used of others.
    """

    positions: Positions
    start: int
    length: int
    count: int
    carried: dict[tuple[int, int], None] = field(default_factory=dict)
    fixed: dict[int, None] = field(default_factory=dict)
    final: dict[int, None] = field(default_factory=dict)
    collected: dict[int, None] = field(default_factory=dict)
    uses_of_collected: list[int] = field(default_factory=list)

    @property
    def stop(self) -> int:
        return self.start + self.count * self.length

    def instruction(self, number: int, offset: int) -> Instruction:
        return self.positions.instructions[self.start + number * self.length + offset]


def find_rounds(positions: Positions, start: int, length: int, count: int) -> Rounds | None:
    """The longest repetition of this many rounds or fewer, from start on, that can be a loop; None where there is none."""
    operands = positions.operands
    if count < 3:
        return None
    second = start + length
    moves: list[bool] = []
    pattern: list[int] = []
    for offset in range(length):
        for one, other in zip(operands[second + offset], operands[second + length + offset], strict=True):
            moves.append(other == one + length)
            pattern.append(one - second if moves[-1] else one)
            if one < start if moves[-1] else one >= start or one != other:
                return None

    def matches(number: int) -> bool:
        first = start + number * length
        found = [operand for t in range(first, first + length) for operand in operands[t]]
        return [operand - first if moving else operand for operand, moving in zip(found, moves)] == pattern

    matching = 2
    while matching < count and matches(matching):
        matching += 1
    rounds = Rounds(positions, start, length, matching)
    initial = [operand for t in range(start, second) for operand in operands[t]]
    for operand, place, moving in zip(initial, pattern, moves):
        if not moving:
            fits = operand == place
            rounds.fixed[operand] = None
        elif place >= 0:
            fits = operand == start + place
        else:
            fits = operand < start
            rounds.carried[length + place, operand] = None
        if not fits:
            return None
    for position in range(start, rounds.stop):
        if positions.last_use[position] >= rounds.stop:
            number, offset = divmod(position - start, length)
            if number == matching - 1:
                rounds.final[offset] = None
            else:
                rounds.collected[offset] = None
                rounds.uses_of_collected.append(position)
    return rounds if _has_plain_state(rounds) else None


def _has_plain_state(rounds: Rounds) -> bool:
    """Whether the state is of arrays in row-major order, which have the same shape in all rounds."""
    instructions = rounds.positions.instructions
    own = {offset: rounds.instruction(1, offset) for offset, _ in rounds.carried}
    own |= {offset: rounds.instruction(1, offset) for offset in (*rounds.final, *rounds.collected)}
    outside = [instructions[position] for position in (*rounds.fixed, *(initial for _, initial in rounds.carried))]
    for instruction in (*own.values(), *outside):
        shape = instruction.shape
        if shape.is_tuple or shape.element_type is TOKEN or not shape.is_row_major:
            return False
    return all(own[offset].shape == instructions[initial].shape for offset, initial in rounds.carried)


def build_loop(rounds: Rounds, value_of: Callable[[int], Instruction], differing: Differing) -> dict[int, Instruction]:
    """Emit the loop; the values by position that are used behind it. ``value_of`` gives those of positions before it."""
    handed_on = {offset: (offset, initial) for offset, initial in rounds.carried}
    zeros = {offset: hlo.full_like(rounds.instruction(0, offset), 0) for offset in rounds.final if offset not in handed_on}
    tables = {offset: hlo.full(_table_shape(rounds, offset), 0) for offset in rounds.collected}
    carried = {(offset, initial): value_of(initial) for offset, initial in rounds.carried}
    fixed = {position: value_of(position) for position in rounds.fixed}
    init = hlo.tuple(hlo.constant(np.int64(0)), *carried.values(), *zeros.values(), *tables.values(), *fixed.values())
    keys = ["number", *carried, *(("final", offset) for offset in zeros), *(("table", offset) for offset in tables), *fixed]
    index = {key: number for number, key in enumerate(keys)}
    below = hlo.computation(
        "rolled_condition", [init.shape], lambda state: hlo.lt(hlo.get_tuple_element(state, 0), rounds.count)
    )
    loop = hlo.while_(init, condition=below, body=_body(rounds, differing, init, index))
    last = rounds.start + (rounds.count - 1) * rounds.length
    results = {}
    for offset in rounds.final:
        results[last + offset] = hlo.get_tuple_element(loop, index[handed_on.get(offset, ("final", offset))])
    whole = {offset: hlo.get_tuple_element(loop, index["table", offset]) for offset in rounds.collected}
    for position in rounds.uses_of_collected:
        number, offset = divmod(position - rounds.start, rounds.length)
        sizes = whole[offset].shape.dimensions
        row = hlo.slice(whole[offset], [number] + [0] * (len(sizes) - 1), [number + 1, *sizes[1:]])
        results[position] = hlo.reshape(row, sizes[1:])
    return results


def _table_shape(rounds: Rounds, offset: int) -> Shape:
    shape = rounds.instruction(0, offset).shape
    return shape.with_dimensions((rounds.count, *shape.dimensions))


def _body(rounds: Rounds, differing: Differing, init: Instruction, index: dict) -> Computation:
    with Builder("rolled_body") as b:
        state = hlo.parameter(init.shape, "state")
        elements = [hlo.get_tuple_element(state, number) for number in range(len(index))]
        values = _values_of_round(b, rounds, differing, index, elements)
        b.where = None
        results = []
        for key, element in zip(index, elements):
            if key == "number":
                results.append(hlo.add(element, 1))
            elif isinstance(key, int):
                results.append(element)
            elif key[0] == "table":
                value, zero = values[key[1]], hlo.constant(np.int64(0))
                row = hlo.reshape(value, (1, *value.shape.dimensions))
                results.append(hlo.dynamic_update_slice(element, row, elements[0], *[zero] * value.shape.rank))
            else:
                results.append(values[key[1] if key[0] == "final" else key[0]])
        return b.build(hlo.tuple(*results))


def _values_of_round(
    b: Builder, rounds: Rounds, differing: Differing, index: dict, elements: list[Instruction]
) -> list[Instruction]:
    """What the instructions of one round give, by offset, each at the source location of its own."""
    number, positions = elements[0], rounds.positions
    second, values = rounds.start + rounds.length, []
    for offset in range(rounds.length):
        instruction = rounds.instruction(1, offset)
        b.where = lambda source=instruction.source: source
        operands = []
        pairs = zip(positions.operands[rounds.start + offset], positions.operands[second + offset])
        for initial, position in pairs:
            if position >= second:
                operands.append(values[position - second])
            elif position >= rounds.start:
                operands.append(elements[index[position - rounds.start, initial]])
            else:
                operands.append(elements[index[position]])
        if offset in differing.literals:
            values.append(_literal(number, instruction, differing.literals[offset]))
        elif offset in differing.starts:
            values.append(_slice(number, operands[0], instruction, differing.starts[offset]))
        else:
            values.append(hlo.append(instruction.with_operands(operands)))
    return values


@dataclass
class Differing:
    """What differs from round to round, by offset: the literals of constants, and the starts of slices in each dimension."""

    literals: dict[int, list[np.ndarray]] = field(default_factory=dict)
    starts: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)


def find_differing(rounds: Rounds) -> Differing | None:
    """What differs in the rounds; None where that is too much for tables."""
    differing = Differing()
    for offset in range(rounds.length):
        first = rounds.instruction(0, offset)
        if first.opcode == "constant":
            literals = [rounds.instruction(number, offset).attributes["literal"] for number in range(rounds.count)]
            bits = literals[0].tobytes()
            if any(literal.tobytes() != bits for literal in literals):
                if len(literals) * literals[0].nbytes > _LARGEST_TABLE:
                    return None
                differing.literals[offset] = literals
        elif first.opcode == "slice":
            slices = [rounds.instruction(number, offset).attributes["slice"] for number in range(rounds.count)]
            if any(one != slices[0] for one in slices):
                differing.starts[offset] = [tuple([dimension.start for dimension in one]) for one in slices]
    return differing


def _literal(number: Instruction, constant: Instruction, literals: Sequence[np.ndarray]) -> Instruction:
    """The constant of this round."""
    shape = constant.shape
    if not shape.dimensions and shape.element_type in (S32, S64):
        return _integer(number, [int(literal) for literal in literals], shape.element_type)
    zero = hlo.constant(np.int64(0))
    row = hlo.dynamic_slice(hlo.constant(np.stack(literals)), number, *[zero] * shape.rank, sizes=(1, *shape.dimensions))
    return hlo.reshape(row, shape.dimensions)


def _integer(number: Instruction, values: Sequence[int], element_type: ElementType) -> Instruction:
    """The integer of this round: computed where they are equally spaced, else from a table."""
    first, step = values[0], values[1] - values[0]
    if any(value != first + step * k for k, value in enumerate(values)):
        return hlo.reshape(hlo.dynamic_slice(hlo.constant(values, element_type), number, sizes=(1,)), ())
    if step:
        return hlo.convert(hlo.add(hlo.multiply(number, step), first), element_type)
    return hlo.constant(first, element_type)


def _slice(
    number: Instruction, operand: Instruction, instruction: Instruction, starts: Sequence[tuple[int, ...]]
) -> Instruction:
    """The slice of this round."""
    dimensions = instruction.attributes["slice"]
    sizes = [limit - start for start, limit, _ in dimensions]
    places = [_integer(number, along, S64) for along in zip(*starts)]
    block = hlo.dynamic_slice(operand, *places, sizes=sizes)
    strides = [dimension.stride for dimension in dimensions]
    return block if set(strides) <= {1} else hlo.slice(block, [0] * len(sizes), sizes, strides)
