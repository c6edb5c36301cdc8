"""What may be written over what: whether an instruction's result can take the place of an array that it reads.

A backend updates such arrays where they lie; all others it writes beside, and copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from ..hlo import Computation, Instruction, leaves
from ..hlo.operation import CONTROL_FLOW, ELEMENTWISE
from .aliasing import Value, defining_value, only_names
from .fused_computations import result_roots
from .memo import Memo
from .spread_update import is_written_in_place, spread_update_of

# Steps from a result of a branch to the array that it is an update of.
_MOST_STEPS = 256


def in_place_operands(instruction: Instruction, leaf: int = 0) -> Iterator[int]:
    """The operands whose buffer this leaf of the result may take over, if nothing needs them afterwards."""
    update = update_of(instruction)
    if update is not None and update.opcode == "scatter":
        array, *others = update.operands
        computed = (one for one in instruction.attributes["calls"].instructions if one is not update)
        if array not in others and not any(array in one.operands for one in computed):
            yield array.attributes["number"]
    elif update is not None:
        yield from _updated_block_parameter(instruction.attributes["calls"])
    elif instruction.operation.updated_operand is not None:
        if not instruction.shape.is_tuple:
            yield instruction.operation.updated_operand
    elif ELEMENTWISE in instruction.operation.traits:
        for position, operand in enumerate(instruction.operands):
            if operand.shape.dimensions == instruction.shape.dimensions:
                yield position
    elif instruction.opcode == "fusion" and instruction.attributes["kind"] in ("kLoop", "kOutput"):
        yield from _parameters_read_at_own_index(instruction.attributes["calls"])
    elif (member := member_of_group(instruction, leaf)) is not None:
        yield from _operands_of_member_alone(instruction.attributes["calls"], *member)


def member_of_group(instruction: Instruction, leaf: int) -> tuple[Instruction, int] | None:
    """The fusion inside of a fusion that computes this leaf of its result, and which leaf of that it is; None elsewhere."""
    if instruction.opcode != "fusion" or instruction.attributes["calls"].root.opcode != "tuple":
        return None
    for member in instruction.attributes["calls"].root.operands:
        count = len(leaves(member.shape))
        if leaf < count:
            return (member, leaf) if member.opcode == "fusion" else None
        leaf -= count
    return None


def _operands_of_member_alone(group: Computation, member: Instruction, leaf: int) -> Iterator[int]:
    """What a member of a group may write over, if no other one reads it: they run at the same time."""
    allowed = set(in_place_operands(member, leaf))
    for parameter in dict.fromkeys([member.operands[number] for number in allowed]):
        places = [number for number, operand in enumerate(member.operands) if operand is parameter]
        readers = [one for one in group.instructions if parameter in one.operands]
        if parameter.opcode == "parameter" and readers == [member] and allowed.issuperset(places):
            yield parameter.attributes["number"]


def update_of(instruction: Instruction) -> Instruction | None:
    """The dynamic-update-slice, or scatter, with which a fusion ends that writes into an array."""
    if instruction.opcode != "fusion":
        return None
    root = instruction.attributes["calls"].root
    return root if root.operation.updated_operand is not None else None


def updated_operand(instruction: Instruction) -> int | None:
    """The number of the operand with which the result begins, as far as it is not updated; None where there is none."""
    update = update_of(instruction)
    return instruction.operation.updated_operand if update is None else update.operands[0].attributes["number"]


def reads_in_place_only(instruction: Instruction, is_held: Callable[[Value], bool], leaf: int = 0) -> bool:
    """Whether the instruction reads what is held, by any of its names, through operands that this leaf may replace, alone."""
    allowed = set(in_place_operands(instruction, leaf))
    return not any(
        is_held(defining_value(Value(operand, part)))
        for position, operand in enumerate(instruction.operands)
        if position not in allowed
        for part in range(len(leaves(operand.shape)))
    )


_own_index_parameters: Memo[Computation, tuple[int, ...]] = Memo()


def _parameters_read_at_own_index(computation: Computation) -> tuple[int, ...]:
    """The array parameters of which every use leads through elementwise operations alone to the results.

    What is written with steps may also read what it leaves as it is.
    """
    known = _own_index_parameters.get(computation)
    if known is not None:
        return known
    update = spread_update_of(computation)
    if update is not None and is_written_in_place(computation, update):
        found = _own_index_parameters[computation] = (update.array.attributes["number"],)
        return found
    roots = result_roots(computation)
    dimensions = roots[0].shape.dimensions
    reaching: dict[Instruction, set[int]] = {}
    if dimensions and all(root.shape.dimensions == dimensions for root in roots):
        for parameter in computation.parameters:
            if parameter.shape.dimensions == dimensions:
                reaching[parameter] = {parameter.attributes["number"]}
    known = _own_index_parameters[computation] = _read_at_own_index(computation, dimensions, reaching)
    return known


def _read_at_own_index(
    computation: Computation, dimensions: tuple[int, ...], reaching: dict[Instruction, set[int]]
) -> tuple[int, ...]:
    """Those of the numbers that reach, from the instructions given, elementwise operations of these dimensions alone.

    Dimensions of size 1 may come and go: that leaves each element its place.
    """
    sizes = _without_ones(dimensions)
    found = set().union(*reaching.values())
    for instruction in computation.instructions if found else ():
        reached = set().union(*(reaching.get(operand, ()) for operand in instruction.operands))
        if not reached or instruction is computation.root and instruction.opcode in ("tuple", "dynamic-update-slice"):
            continue
        keeps_places = ELEMENTWISE in instruction.operation.traits or instruction.opcode == "reshape"
        if keeps_places and _without_ones(instruction.shape.dimensions) == sizes:
            reaching[instruction] = reached
        else:
            found -= reached
    return tuple(sorted(found))


def _without_ones(dimensions: tuple[int, ...]) -> list[int]:
    return [size for size in dimensions if size != 1]


def _updated_block_parameter(computation: Computation) -> tuple[int, ...]:
    """The parameter that is updated, if all that is read of it besides is left as it is, or read where it is written."""
    known = _own_index_parameters.get(computation)
    if known is not None:
        return known
    update = computation.root
    array, block, *_ = update.operands
    number = array.attributes["number"]
    readers = [one for one in computation.instructions if one is not update and array in one.operands]
    readers = [one for one in readers if not _is_apart(one, update)]
    found: tuple[int, ...] = ()
    if array not in (block, *update.operands[2:]) and all(_is_block_of(reader, update) for reader in readers):
        reaching = {reader: {number} for reader in readers}
        found = _read_at_own_index(computation, block.shape.dimensions, reaching) if readers else (number,)
    _own_index_parameters[computation] = found
    return found


def _is_block_of(reader: Instruction, update: Instruction) -> bool:
    """Whether an instruction in the same computation reads the block of the array that the update writes."""
    array, block, *starts = update.operands
    sizes = block.shape.dimensions
    if reader.shape.is_tuple or reader.shape.dimensions != sizes or reader.operands[0] is not array:
        return False
    if reader.opcode == "dynamic-slice":
        return all(_is_same_start(*pair) for pair in zip(reader.operands[1:], starts))
    if reader.opcode != "slice" or any(one.opcode != "constant" for one in starts):
        return False
    return all(
        taken.stride == 1 and taken.start == written.start
        for taken, written in zip(reader.attributes["slice"], _written(update))
    )


def _is_apart(reader: Instruction, update: Instruction) -> bool:
    """Whether an instruction in the same computation reads a part of the array that the update leaves as it is."""
    array, _, *starts = update.operands
    if reader.opcode != "slice" or reader.operands[0] is not array or any(one.opcode != "constant" for one in starts):
        return False
    return any(
        taken.limit <= written.start or written.stop <= taken.start
        for taken, written in zip(reader.attributes["slice"], _written(update))
    )


def _written(update: Instruction) -> list[range]:
    """The places in each dimension that an update at constant indices writes."""
    array, block, *starts = update.operands
    found = []
    for start, full, size in zip(starts, array.shape.dimensions, block.shape.dimensions):
        first = max(0, min(int(start.attributes["literal"]), full - size))
        found.append(range(first, first + size))
    return found


def _is_same_start(one: Instruction, other: Instruction) -> bool:
    if one.opcode == other.opcode == "constant":
        return bool(one.attributes["literal"] == other.attributes["literal"])
    return one is other


def last_reads(computation: Computation) -> dict[Value, int]:
    """The position of the last instruction that reads each array's defining value; to be a result does not count."""
    last: dict[Value, int] = {}
    for number, instruction in enumerate(computation.instructions):
        if not only_names(instruction):
            for operand in instruction.operands:
                for leaf, shape in enumerate(leaves(operand.shape)):
                    if shape.rank:
                        last[defining_value(Value(operand, leaf))] = number
    return last


def names_in(instruction: Instruction) -> Counter[Value]:
    """How many leaves of the instruction are names for each value."""
    return Counter(defining_value(Value(instruction, leaf)) for leaf in range(len(leaves(instruction.shape))))


class _Results:
    """The results of a computation, and the values that they may be written over."""

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.values = [defining_value(Value(computation.root, leaf)) for leaf in range(len(leaves(computation.shape)))]
        self._handed_on = Counter(self.values)
        self._position = {instruction: number for number, instruction in enumerate(computation.instructions)}
        self._last = last_reads(computation)
        self._names: dict[Instruction, Counter[Value]] = {}

    def may_replace(self, leaf: int, old: Value) -> bool:
        """Whether the result may be written over an old value.

        It may if whatever reads the old value stands before the instruction that defines the new one, or is that instruction
        and reads it in place; and if no other result hands the old value on.
        """
        new = self.values[leaf]
        definer = new.instruction
        if self._handed_on[old] > (new == old):
            return False
        read, written = self._last.get(old, -1), self._position[definer]
        return read < written or read == written and self._is_update(new, old)

    def _is_update(self, new: Value, old: Value) -> bool:
        definer = new.instruction
        if definer.opcode == "while":
            (init,) = definer.operands
            if init not in self._names:
                self._names[init] = names_in(init)
            # A loop works in place if it starts from the old value in the same place of its own state.
            return self._names[init][old] == 1 and defining_value(Value(init, new.leaf)) == old
        if definer.opcode == "conditional":
            return old in updates_of_branches(definer).get(new.leaf, ())
        return definer.opcode == "copy" or reads_in_place_only(definer, lambda held: held == old, new.leaf)


def written_over_parameters(computation: Computation, pairs: Iterable[tuple[int, int]]) -> dict[int, Value]:
    """Of pairs of a result and a parameter's number those results, with the array, that may be written over that array."""
    results, taken = _Results(computation), set()
    found: dict[int, Value] = {}
    for leaf, number in pairs:
        old = Value(computation.parameters[number])
        if old.instruction.shape.rank and old not in taken and results.values[leaf] != old and results.may_replace(leaf, old):
            found[leaf] = old
            taken.add(old)
    return found


def leaves_updated_in_place(body: Computation) -> set[int]:
    """The leaves of a loop's state whose new values may be written over the old ones."""
    (parameter,), results = body.parameters, _Results(body)
    return {leaf for leaf in range(len(results.values)) if results.may_replace(leaf, Value(parameter, leaf))}


_updates: Memo[Instruction, dict[int, tuple[Value, ...]]] = Memo()


def updates_of_branches(conditional: Instruction) -> dict[int, tuple[Value, ...]]:
    """For leaves of a conditional's result the arrays among its operands over each of which all branches may write them.

    A branch that hands an array on as it is, or updates it, leaves it where it lies. No two leaves may be written over one.
    """
    known = _updates.get(conditional)
    if known is not None:
        return known
    branches = _branches_of(conditional)
    found: dict[int, tuple[Value, ...]] = {}
    for leaf, shape in enumerate(leaves(conditional.shape)):
        origins = _origins_of_leaf(branches, leaf) if shape.rank else ()
        updates = tuple(old for old in origins if all(branch.may_replace_given(leaf, old) for branch in branches))
        if updates:
            found[leaf] = updates
    _updates[conditional] = found
    return found


def branches_beside_updates(
    conditional: Instruction, wanted: Mapping[int, Value], may_be_written: Callable[[Value], bool]
) -> dict[int, set[int]]:
    """The numbers of branches, with the leaves of their results that keep other branches from updating an array in place.

    Those hand the array on, or write a part of it, and would have to copy all of it; these compute another one, or hand on
    another one, which takes as long as a copy. ``wanted`` has leaves with the arrays that they are to be written over.
    """
    branches = _branches_of(conditional)
    found: dict[int, set[int]] = {}
    taken = set(wanted.values())
    for leaf, shape in enumerate(leaves(conditional.shape)):
        if not shape.rank:
            continue
        updating = [branch for branch in branches if branch.leaves_most(leaf)]
        for old in _origins_of_leaf(updating, leaf):
            before = updated_from(old)
            if wanted[leaf] not in before if leaf in wanted else not taken.isdisjoint(before):
                continue
            computing = {number for number, branch in enumerate(branches) if not branch.may_replace_given(leaf, old)}
            is_updated = any(branch in updating for number, branch in enumerate(branches) if number not in computing)
            if is_updated and may_be_written(old):
                taken.add(old)
                for number in computing:
                    found.setdefault(number, set()).add(leaf)
                break
    return found


def _branches_of(conditional: Instruction) -> list[_Branch]:
    return [_Branch(*one) for one in zip(conditional.called_computations, conditional.operands[1:], strict=True)]


def _origins_of_leaf(branches: Iterable[_Branch], leaf: int) -> Iterable[Value]:
    return dict.fromkeys(old for branch in branches for old in _origins(branch.values[leaf], branch.operand))


class _Branch(_Results):
    """The results of a branch that is given an operand, whose values may have several names there."""

    def __init__(self, computation: Computation, operand: Instruction) -> None:
        super().__init__(computation)
        (self.parameter,), self.operand = computation.parameters, operand
        self._given: dict[Value, list[int]] = {}
        for leaf in range(len(leaves(operand.shape))):
            self._given.setdefault(defining_value(Value(operand, leaf)), []).append(leaf)

    def leaves_most(self, leaf: int) -> bool:
        """Whether the result is an array that is handed on, or of which a part is written."""
        definer = self.values[leaf].instruction
        return definer.opcode == "copy" or definer.has_trait(CONTROL_FLOW) or updated_operand(definer) is not None

    def may_replace_given(self, leaf: int, old: Value) -> bool:
        """Whether the result may be written over what is given, where it is given."""
        return all(self.may_replace(leaf, Value(self.parameter, name)) for name in self._given.get(old, ()))


def _origins(value: Value, operand: Instruction) -> Iterator[Value]:
    """The arrays outside of a branch that a value of it is an update of; operand: what the branch is given."""
    for one in updated_from(value):
        if one.instruction.opcode == "parameter":
            yield defining_value(Value(operand, one.leaf))


def updated_from(value: Value) -> Iterator[Value]:
    """The value, and those before it that it may be an update of in place."""
    pending, steps = [value], 0
    while pending and steps < _MOST_STEPS:
        instruction, leaf = value = defining_value(pending.pop())
        steps += 1
        yield value
        if instruction.opcode == "while":
            pending.append(Value(instruction.operands[0], leaf))
        elif instruction.opcode == "conditional":
            pending += updates_of_branches(instruction).get(leaf, ())
        elif instruction.opcode == "copy":
            pending.append(Value(instruction.operands[0]))
        else:
            pending += [Value(instruction.operands[position]) for position in in_place_operands(instruction)]
