"""The plan of a computation's fusions: which values are stored, and which are computed inside their users.

A *root* is an instruction whose result is stored. Each root is a loop nest, in which the fusible instructions below it are
computed again for the elements that the root needs, down to what other roots have stored. A *path* is one way in which an
instruction is indexed from a root: instructions reached by elementwise operations alone share the path of their users and are
computed once; each slice, transpose, ... is a path of its own.
"""

from __future__ import annotations

from math import inf

from ..hlo import Computation, Instruction, leaves
from ..hlo.operation import CONTROL_FLOW, ELEMENTWISE
from .fusion_policy import FusionPolicy
from .shifts import written_between
from .traversal import is_scalar_constant

# The path of a root's own loop index.
IDENTITY = 0
# Values this cheap are computed in their users even where they are stored too.
_FREE = 0.5
# A small part is no more than this share of an array.
_LEAST_SHARE = 8
# Of fewer elements all are gone over, whatever is written.
_LEAST_WRITTEN = 256
# So many instructions are looked through for an array.
_MOST_BELOW = 64

Use = tuple[Instruction, int]  # a root and a path from it


def is_scalar_view(instruction: Instruction) -> bool:
    """Whether it reads the one element of an array as a scalar."""
    return instruction.opcode == "reshape" and not instruction.shape.dimensions


def _first_updates(computation: Computation) -> dict[Instruction, int]:
    """Where an array is first updated in place, if it is: by an operation, or by a loop or branches that are given it."""
    found: dict[Instruction, int] = {}
    for number, instruction in enumerate(computation.instructions):
        updated = instruction.operation.updated_operand
        arrays = [] if updated is None else [instruction.operands[updated]]
        if instruction.has_trait(CONTROL_FLOW):
            results = set(leaves(instruction.shape))
            given = [one for operand in instruction.operands if operand.opcode == "tuple" for one in operand.operands]
            arrays = [one for one in given if one.shape in results]
        for array in arrays:
            found.setdefault(array, number)
    return found


class FusionPlan:
    """Which instructions are roots, which are computed inside their users, and what each root reads.

    ``reads[root]`` maps the stored values that the root's loop nest reads to the paths on which it does; ``weights[root]``
    counts the instructions to emit.
    """

    def __init__(self, computation: Computation, policy: FusionPolicy) -> None:
        self.computation, self.policy = computation, policy
        self.roots: list[Instruction] = []
        self.inlined: set[Instruction] = set()
        self.stored: set[Instruction] = {computation.root}  # used by something other than a loop nest
        self.renamed: set[Instruction] = set()  # reshapes of stored values, outside of loops
        self.dead: set[Instruction] = set()  # used by nothing, and left out
        self.reads: dict[Instruction, dict[Instruction, set[int]]] = {}
        self.weights: dict[Instruction, int] = {}
        self._uses: dict[Instruction, dict[Use, float]] = {}
        self._pending: dict[Instruction, set[Instruction]] = {}
        self._paths: dict[tuple[int, Instruction, int], int] = {}
        self._costs: dict[Instruction, float] = {}
        self._operands: dict[Instruction, list[tuple[Instruction, int]]] = {}
        self._written: dict[Instruction, set[Instruction]] = {}
        self._updated_at = _first_updates(computation)
        numbered = enumerate(computation.instructions) if self._updated_at else ()
        self._position = {instruction: number for number, instruction in numbered}
        self._alone = self._used_once() if any(map(policy.has_epilogue, computation.instructions)) else set()
        self._estimate_costs()
        for instruction in reversed(computation.instructions):
            self._visit(instruction)
        self.roots.reverse()

    def _estimate_costs(self) -> None:
        """The cost of an element if everything below were computed inside; shared operands count each time."""
        for instruction in self.computation.instructions:
            if self.policy.is_fusible(instruction):
                below = sum(self._costs.get(operand, 0.0) for operand in instruction.operands)
                self._costs[instruction] = instruction.operation.cost + below

    def _used_once(self) -> set[Instruction]:
        """What one instruction alone uses."""
        users = {self.computation.root: 1}
        for instruction in self.computation.instructions:
            for operand in set(instruction.operands):
                users[operand] = users.get(operand, 0) + 1
        return {instruction for instruction, count in users.items() if count == 1}

    def _visit(self, instruction: Instruction) -> None:
        """Decide about an instruction, all its users being decided."""
        uses = self._uses.get(instruction)
        in_loops = instruction in self._costs or self.policy.is_hero(instruction) or is_scalar_view(instruction)
        if in_loops and uses is None and instruction not in self.stored:
            self.dead.add(instruction)
            return
        if instruction in self._costs:
            store = instruction in self.stored
            if (
                uses is not None
                and (not store or self._costs[instruction] <= _FREE)
                and self._is_worth_inlining(instruction, uses)
                and not self._is_overtaken(instruction, uses)
                and not self._is_written_over(instruction, uses)
                and not self._is_needed_of_product(instruction, uses)
            ):
                self.inlined.add(instruction)
                self._inline(instruction, uses)
            else:
                store = True
                self._read(instruction, uses)
            if store and instruction.opcode == "reshape":
                # A second name of a buffer costs nothing; a loop would copy it.
                self.renamed.add(instruction)
                self.stored.update(instruction.operands)
            elif store:
                self._add_root(instruction, float(instruction.shape.size))
            return
        self._read(instruction, uses)
        if self.policy.is_hero(instruction):
            self._add_root(instruction, float(self.policy.nest_size(instruction)))
            updated = instruction.operation.updated_operand
            if updated is not None:
                array = instruction.operands[updated]
                self.stored.add(array)
                self.reads[instruction][array] = {
                    self._paths.setdefault((IDENTITY, instruction, updated), len(self._paths) + 1)
                }
        elif is_scalar_view(instruction):
            self._add_root(instruction, 1.0)
        else:
            self.stored.update(instruction.operands)

    def _add_root(self, instruction: Instruction, evaluations: float) -> None:
        self.roots.append(instruction)
        self.reads[instruction] = {}
        self.weights[instruction] = 1
        pending = self._pending[instruction] = set()
        for operand, position in self._loop_operands(instruction):
            pending.add(operand)
            path, share = self._step(IDENTITY, instruction, operand, position)
            self._add_use(operand, (instruction, path), evaluations * share)

    def _inline(self, instruction: Instruction, uses: dict[Use, float]) -> None:
        for (root, path), evaluations in uses.items():
            self.weights[root] += 1
            pending = self._pending[root]
            pending.discard(instruction)
            for operand, position in self._loop_operands(instruction):
                pending.add(operand)
                below, share = self._step(path, instruction, operand, position)
                self._add_use(operand, (root, below), evaluations * share)

    def _read(self, instruction: Instruction, uses: dict[Use, float] | None) -> None:
        for root, path in uses or ():
            self.reads[root].setdefault(instruction, set()).add(path)

    def _add_use(self, operand: Instruction, use: Use, evaluations: float) -> None:
        uses = self._uses.setdefault(operand, {})
        uses[use] = max(uses.get(use, 0.0), evaluations)

    def _step(self, path: int, instruction: Instruction, operand: Instruction, position: int) -> tuple[int, float]:
        """The path to an operand, and in what share of the cases in which the instruction is evaluated the operand is."""
        opcode = instruction.opcode
        if opcode == "reduce" or (ELEMENTWISE in instruction.operation.traits and operand.shape.dimensions):
            return path, 1.0
        if opcode == "scatter" and operand.shape.dimensions == instruction.operands[-1].shape.dimensions:
            return path, 1.0
        if opcode == "scan" and position < len(instruction.operands) - instruction.attributes["num_carries"]:
            return path, 1.0
        below = self._paths.setdefault((path, instruction, position), len(self._paths) + 1)
        if opcode in ("concatenate", "pad", "scan") and operand.shape.dimensions:
            return below, min(1.0, operand.shape.size / max(1, self.policy.nest_size(instruction)))
        if opcode == "gather" and position:
            return below, self.policy.place_evaluations(instruction)
        return below, 1.0

    def _loop_operands(self, instruction: Instruction) -> list[tuple[Instruction, int]]:
        """The operands that the loop nest goes over, with their positions: all but what it updates, and scalar constants, which
        each fusion has for itself."""
        found = self._operands.get(instruction)
        if found is None:
            updated = instruction.operation.updated_operand
            given = [(x, position) for position, x in enumerate(instruction.operands) if position != updated]
            found = [(x, position) for x, position in given if not is_scalar_constant(x)]
            self._operands[instruction] = found
        return found

    def is_light(self, root: Instruction) -> bool:
        """Whether a root does so little, and at its own index, that the loop nest of a scan may do it besides."""
        if self._costs.get(root, inf) > self.policy.maximum_cost_in_scan:
            return False
        wide = (paths for operand, paths in self.reads[root].items() if 2 * operand.shape.size > root.shape.size)
        return all(paths == {IDENTITY} for paths in wide)

    def _is_worth_inlining(self, instruction: Instruction, uses: dict[Use, float]) -> bool:
        policy = self.policy
        if len(uses) > policy.maximum_paths and self._costs[instruction] > 0:
            return False
        operands = {operand for operand, _ in self._loop_operands(instruction)}
        for root in {root for root, _ in uses}:
            if root.opcode == "scatter" and not self._may_stand_in_scatter(instruction, operands, root):
                return False
            if self.weights[root] + len(uses) > policy.instruction_limit(root) or not policy.may_stand_in(instruction, root):
                return False
            pending = self._pending[root]
            added = len(operands - pending)
            if added > 1 and len(pending) - 1 + added >= policy.maximum_operands_and_results:
                return False
        size, cost = max(1, instruction.shape.size), self._costs[instruction]
        allowed = policy.recomputation_budget * size
        if cost <= policy.recomputation_budget:
            allowed = max(allowed, policy.cost_of_loop)
        return cost * (sum(uses.values()) - size) <= allowed

    def _is_overtaken(self, instruction: Instruction, uses: dict[Use, float]) -> bool:
        """Whether it reads a small part of an array that changes in place before the loop nests that would compute it.

        Computed there it would need the array as it was: all of it would be copied.
        """
        if not self._updated_at or instruction.opcode not in ("slice", "dynamic-slice"):
            return False
        array = instruction.operands[0]
        changed = self._updated_at.get(array)
        if changed is None or changed < self._position[instruction] or instruction.shape.size * _LEAST_SHARE > array.shape.size:
            return False
        return any(self._position[root] > changed for root, _ in uses)

    def _is_written_over(self, instruction: Instruction, uses: dict[Use, float]) -> bool:
        """Whether it is written between places that the program decides, into an array that it is computed of.

        Before: ``x[i:j] = x[i:j][::-1]`` in one loop nest needs another array. After: what is stored is short, and then
        written where x lies.
        """
        for root in {root for root, _ in uses} if self.policy.writes_parts else ():
            if root.opcode != "select" or root.shape.size < _LEAST_WRITTEN:
                continue
            if root not in self._written:
                self._written[root] = {value for _, value, _ in written_between(root)}
            array = root.operands[2]
            if instruction in self._written[root] and array not in self._costs and self._is_computed_of(instruction, array):
                return True
        return False

    def _is_computed_of(self, instruction: Instruction, array: Instruction) -> bool:
        pending, seen = [instruction], {instruction}
        while pending and len(seen) < _MOST_BELOW:
            current = pending.pop()
            if current is array:
                return True
            if current in self._costs:
                pending += [one for one in current.operands if one not in seen]
                seen.update(pending)
        return False

    def _is_needed_of_product(self, instruction: Instruction, uses: dict[Use, float]) -> bool:
        """Whether several loops need it, nothing needs the product that it is computed of elementwise, and it takes no more
        memory.
        """
        if not self._alone or len({root for root, _ in uses}) < 2:
            return False
        size, sizes = instruction.shape.byte_size, instruction.shape.dimensions
        pending = [instruction]
        while pending:
            current = pending.pop()
            if ELEMENTWISE in current.operation.traits:
                below = [one for one in set(current.operands) & self._alone if one.shape.dimensions == sizes]
                if any(self.policy.has_epilogue(one) and size <= one.shape.byte_size for one in below):
                    return True
                pending += below
        return False

    def _may_stand_in_scatter(self, instruction: Instruction, operands: set[Instruction], scatter: Instruction) -> bool:
        """What reads the array that is updated has to be computed before, or the array would have to be copied."""
        array = scatter.operands[scatter.operation.updated_operand or 0]
        return self._costs[instruction] <= self.policy.maximum_cost_in_scatter(scatter) and array not in operands
