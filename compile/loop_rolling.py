"""Loop rolling: code that says the same again and again, as an unrolled Python loop does, becomes a while loop.

All that follows, up to machine code, then takes the time of one round. A round may differ from the others in the values of
constants and in the starts of slices: these come from tables, or are computed from the number of the round.
"""

from __future__ import annotations

from itertools import accumulate

from ..hlo import Builder, Computation, Instruction, Module, leaves
from .common_subexpression_elimination import ComputationKeys
from .fusion_policy import FusionPolicy
from .pass_manager import Pass
from .repetition import Run, instruction_codes, search_runs
from .rolled_loop import Differing, Positions, Rounds, build_loop, find_differing, find_rounds
from .traversal import on_operands, transform_computations

# What takes less time to compile is left as it is, in elementwise instructions.
_LEAST_WEIGHT = 400
_WEIGHT_OF_A_LOOP_NEST = 10  # of an instruction with code of its own
# More rounds than a loop may have to be unrolled.
_LEAST_ROUNDS = 12
_MOST_PERIODS = 100  # in one round
_DEEPEST = 4  # loops in loops
# Results of single rounds lie twice in memory: in the array that collects them, and where they are used.
_MOST_COLLECTED_BYTES = 1 << 24
_BYTES_FOR_A_VALUE = 64  # what it costs to hand on a value, whatever its size


def rolling_pass(policy: FusionPolicy) -> Pass:
    """The pass ``roll-loops`` for a backend that fuses under this policy."""

    def roll_loops(module: Module) -> Module:
        """Writes long repetitions of the same instructions as while loops.

        What one round takes from the one before becomes the state of the loop; results of all rounds that are used behind it
        are collected in arrays.
        """
        keys = ComputationKeys()
        return transform_computations(module, lambda computation: _rolled(computation, keys, policy))

    return Pass("roll-loops", roll_loops)


def _rolled(computation: Computation, keys: ComputationKeys, policy: FusionPolicy) -> Computation:
    for _ in range(_DEEPEST):
        before = computation
        if sum(map(_weight, computation.instructions)) >= _LEAST_WEIGHT:
            computation = _rolled_once(computation, keys, policy)
        if computation is before:
            break
    return computation


def _weight(instruction: Instruction) -> int:
    """About how long the instruction takes to compile."""
    if instruction.operation.cost is not None:
        return 1
    return _WEIGHT_OF_A_LOOP_NEST + sum(len(computation.instructions) for computation in instruction.called_computations)


def _rolled_once(computation: Computation, keys: ComputationKeys, policy: FusionPolicy) -> Computation:
    positions = Positions(computation)
    weights = list(accumulate(map(_weight, computation.instructions), initial=0))
    found: list[tuple[Rounds, Differing]] = []

    def stop_of(run: Run) -> int | None:
        if weights[run.stop] - weights[run.start] < _LEAST_WEIGHT:
            return None
        rounds = _rounds(positions, run, policy)
        differing = rounds and find_differing(rounds)
        if differing is None:
            return None
        found.append((rounds, differing))
        return rounds.stop

    search_runs(instruction_codes(computation, keys), _LEAST_ROUNDS, stop_of)
    return _with_loops(computation, found) if found else computation


def _rounds(positions: Positions, run: Run, policy: FusionPolicy) -> Rounds | None:
    """The repetition as rounds that hand on little to the next, and nothing further."""
    period = run.period
    middle = run.start + (run.stop - run.start) // (2 * period) * period
    middle = _best_cut(positions, middle, period, _reach(positions, run, middle) + 1)
    reach = _reach(positions, run, middle)
    periods = max(reach, _periods_in_a_round(positions, middle, period, policy)) if reach else 1
    if periods > _MOST_PERIODS:
        return None
    length = periods * period
    start = run.start + (middle - run.start) % period
    # The first periods may read what the others do not.
    for first in range(start, min(start + 3 * period, run.stop), period):
        rounds = find_rounds(positions, first, length, (run.stop - first) // length)
        if rounds is not None:
            return rounds if _is_worth_it(rounds) else None
    return None


def _reach(positions: Positions, run: Run, middle: int) -> int:
    """How many periods back, at most, the one in the middle reads what the run computes."""
    reach = 0
    for position in range(middle, min(middle + run.period, run.stop)):
        for operand in positions.operands[position]:
            if run.start <= operand < middle:
                reach = max(reach, -(-(middle - operand) // run.period))
    return reach


def _periods_in_a_round(positions: Positions, middle: int, period: int, policy: FusionPolicy) -> int:
    """So many as one loop nest can hold, where arrays are computed by nothing else: the rounds of the loop then read and write
    them no more often than the loop nests of the unrolled code.
    """
    has_arrays, count = False, 0
    for instruction in positions.instructions[middle : middle + period]:
        if instruction.opcode == "constant":
            continue
        shapes = [value.shape for value in (instruction, *instruction.operands)]
        if any(shape.is_tuple or shape.dimensions for shape in shapes):
            has_arrays = True
            if not policy.is_fusible(instruction):
                return 1
        count += 1
    return max(1, policy.maximum_instructions // max(1, count)) if has_arrays else 1


def _best_cut(positions: Positions, middle: int, period: int, reach: int) -> int:
    """The position in a period across which the fewest bytes are handed on."""
    furthest: dict[int, int] = {}
    for position in range(middle, min(middle + (reach + 1) * period, len(positions.operands))):
        for operand in positions.operands[position]:
            if middle <= operand < middle + period:
                furthest[operand] = position
    changes = [0] * (2 * period + 1)
    for position, user in furthest.items():
        shape, begin = positions.instructions[position].shape, position - middle + 1
        size = sum(leaf.byte_size for leaf in leaves(shape)) + _BYTES_FOR_A_VALUE
        changes[begin] += size
        changes[begin + min(user - position, period)] -= size
    totals = list(accumulate(changes))
    costs = [totals[cut] + totals[cut + period] for cut in range(period)]
    return middle + min(range(period), key=costs.__getitem__)


def _is_worth_it(rounds: Rounds) -> bool:
    """Whether the loop and what it takes to get its results is much less than the repetition."""
    collected = rounds.count * sum(rounds.instruction(1, offset).shape.byte_size for offset in rounds.collected)
    if collected > _MOST_COLLECTED_BYTES:
        return False
    weight = sum(_weight(rounds.instruction(1, offset)) for offset in range(rounds.length))
    whole = rounds.count * weight
    left = weight + sum(1 if _is_concatenated(rounds.positions, use) else 4 for use in rounds.uses_of_collected)
    return rounds.count >= _LEAST_ROUNDS and whole >= max(_LEAST_WEIGHT, 2 * left)


def _is_concatenated(positions: Positions, position: int) -> bool:
    """Whether a value becomes part of a concatenate, which may be the array itself in which the rounds collect it."""
    user = positions.last_use[position]
    while user < len(positions.instructions) and positions.instructions[user].opcode == "reshape":
        user = positions.last_use[user]
    return user < len(positions.instructions) and positions.instructions[user].opcode == "concatenate"


def _with_loops(computation: Computation, found: list[tuple[Rounds, Differing]]) -> Computation:
    olds = computation.instructions
    replaced: dict[Instruction, Instruction] = {}
    instructions: list[Instruction] = []

    def value_of(position: int) -> Instruction:
        return replaced.get(olds[position], olds[position])

    def copy(begin: int, end: int) -> None:
        for old in olds[begin:end]:
            new = on_operands(old, tuple([replaced.get(operand, operand) for operand in old.operands]))
            if new is not old:
                replaced[old] = new
            instructions.append(new)

    position = 0
    for rounds, differing in found:
        copy(position, rounds.start)
        with Builder("rolled", where=lambda source=rounds.instruction(0, 0).source: source) as b:
            results = build_loop(rounds, value_of, differing)
        instructions += b.instructions
        replaced |= {olds[place]: value for place, value in results.items()}
        position = rounds.stop
    copy(position, len(olds))
    return Computation(computation.name, tuple(instructions), replaced.get(computation.root, computation.root))
