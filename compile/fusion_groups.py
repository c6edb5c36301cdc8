"""Multi-output fusion: roots that loop over the same dimensions, and read or write the same arrays, share one loop nest."""

from __future__ import annotations

from collections.abc import Iterator

from ..hlo import Instruction, leaves
from .fusion_plan import IDENTITY, FusionPlan
from .traversal import has_effects


class Node:
    """What the top level runs as one: an instruction, or the roots of a fusion.

    A scan's members are the scan, its results that have names, and then elementwise consumers of these.

    ``order`` is at least that of every node below: of those that this one reads, and of the effect ``after`` which it comes.
    """

    __slots__ = ("members", "order", "reads", "users", "weight", "fuses", "after")

    def __init__(self, member: Instruction, order: int, reads: dict[Instruction, None], weight: int, fuses: bool) -> None:
        self.members, self.order, self.reads, self.weight, self.fuses = [member], order, reads, weight, fuses
        self.users: list[Instruction] = []  # members of the nodes above
        self.after: Node | None = None

    def below(self, node_of: dict[Instruction, Node]) -> Iterator[Node]:
        for operand in self.reads:
            yield node_of[operand]
        if self.after is not None:
            yield self.after


def group_roots(plan: FusionPlan) -> dict[Instruction, Node]:
    """The node of every root and of every other instruction that is not inlined everywhere."""
    node_of: dict[Instruction, Node] = {}
    readers: dict[Instruction, list[Instruction]] = {}
    roots = set(plan.roots)
    last_effect: Node | None = None
    scans = _scans_in_parts(plan)
    for position, instruction in enumerate(plan.computation.instructions):
        if instruction.opcode == "get-tuple-element" and instruction.operands[0] in scans:
            node = node_of[instruction] = node_of[instruction.operands[0]]
            node.members.append(instruction)
            continue
        is_root = instruction in roots
        left_out = instruction in plan.inlined or instruction in plan.dead
        if left_out and not is_root and instruction not in plan.renamed:
            continue
        reads = plan.reads[instruction] if is_root else instruction.operands
        is_array = not instruction.shape.is_tuple and bool(instruction.shape.dimensions)
        fuses = is_root and is_array and plan.policy.shares_loops(instruction)
        node = Node(instruction, position, dict.fromkeys(reads), plan.weights.get(instruction, 1), fuses)
        node_of[instruction] = node
        if has_effects(instruction):
            node.after, last_effect = last_effect, node
        for below in node.below(node_of):
            below.users.append(instruction)
            node.order = max(node.order, below.order)
        if fuses:
            for other in _candidates(instruction, plan, node_of, readers):
                if node_of[instruction].fuses and _can_merge(other, node_of[instruction], node_of, plan):
                    _merge(other, node_of[instruction], node_of)
            for operand in reads:
                readers.setdefault(operand, []).append(instruction)
    return node_of


# So many of the earlier readers of an array are tried, latest first.
_TRIED_READERS = 4


def _candidates(
    root: Instruction, plan: FusionPlan, node_of: dict[Instruction, Node], readers: dict[Instruction, list[Instruction]]
) -> list[Node]:
    """Nodes that write what the root reads, or read the same arrays of full size."""
    dimensions, size = root.shape.dimensions, root.shape.size
    found: dict[Node, None] = {}
    for operand in plan.reads[root]:
        if operand.shape.is_tuple or 2 * operand.shape.size < size:
            continue
        for other in (operand, *reversed(readers.get(operand, ())[-_TRIED_READERS:])):
            node = node_of[other]
            if other.shape.dimensions == dimensions and (node.fuses or _scan_takes(node, operand, root, plan)):
                found[node] = None
    found.pop(node_of[root], None)
    return list(found)


def _scans_in_parts(plan: FusionPlan) -> set[Instruction]:
    """The scans of which nothing is used but single results."""
    scans = {root for root in plan.roots if root.opcode == "scan" and root.shape.is_tuple}
    scans.discard(plan.computation.root)
    for instruction in plan.computation.instructions if scans else ():
        if instruction.opcode != "get-tuple-element":
            scans.difference_update(instruction.operands)
    return scans


def _scan_takes(node: Node, operand: Instruction, root: Instruction, plan: FusionPlan) -> bool:
    """Whether the node is a scan's, whose loop nest may compute the root from this operand, one of its outputs."""
    scan = node.members[0]
    if scan.opcode != "scan" or operand is scan or not plan.is_light(root):
        return False
    outputs = len(leaves(scan.shape)) - scan.attributes["num_carries"]
    return operand.opcode != "get-tuple-element" or operand.attributes["index"] < outputs


def _can_merge(first: Node, second: Node, node_of: dict[Instruction, Node], plan: FusionPlan) -> bool:
    if first is second:
        return False
    if first.weight + second.weight > plan.policy.instruction_limit(first.members[0]):
        return False
    if not first.fuses and len(second.members) > 1:
        return False
    members = {*first.members, *second.members}
    operands = sum(1 for operand in {**first.reads, **second.reads} if operand not in members)
    if operands + len(members) > plan.policy.maximum_operands_and_results:
        return False
    for one, other in ((first, second), (second, first)):
        for operand in other.reads:
            # What the other writes must be read at the same index, in the same round of the loop.
            if node_of[operand] is one and any(
                plan.reads[member].get(operand, {IDENTITY}) != {IDENTITY} for member in other.members
            ):
                return False
        if _may_depend_indirectly(other, one, node_of):
            return False  # a third node would have to run both before and after this one
    return True


# So many nodes below or above one are looked at.
_LONGEST_SEARCH = 128


def _may_depend_indirectly(node: Node, other: Node, node_of: dict[Instruction, Node]) -> bool:
    """Whether the node reads what a third one has computed from results of the other; also where the search takes long."""
    seen = {node, other}
    pending = [node]
    while pending:
        current = pending.pop()
        for below in current.below(node_of):
            if below is other and current is not node:
                return True
            if below not in seen and below.order >= other.order:
                seen.add(below)
                pending.append(below)
                if len(seen) > _LONGEST_SEARCH:
                    return True
    return False


def _lower_nodes_above(nodes: tuple[Node, Node], order: int, node_of: dict[Instruction, Node]) -> set[Node] | None:
    """The nodes above these whose order is lower than this; None where there are many."""
    found: set[Node] = set()
    pending = list(nodes)
    while pending:
        for user in pending.pop().users:
            above = node_of[user]
            if above.order < order and above not in found and above not in nodes:
                found.add(above)
                pending.append(above)
                if len(found) > _LONGEST_SEARCH:
                    return None
    return found


def _merge(first: Node, second: Node, node_of: dict[Instruction, Node]) -> None:
    order = max(first.order, second.order)
    above = _lower_nodes_above((first, second), order, node_of)
    if above is None:
        return
    for node in (first, *above):
        node.order = order
    for member in second.members:
        node_of[member] = first
    first.members += second.members
    first.users += second.users
    first.reads = {**first.reads, **second.reads}
    first.weight += second.weight
