"""Multi-output fusion: roots that loop over the same dimensions, and read or write the same arrays, share one loop nest."""

from __future__ import annotations

from ..hlo import Instruction
from .fusion_plan import IDENTITY, FusionPlan
from .traversal import has_effects


class Node:
    """What the top level runs as one: an instruction, or the roots of a fusion.

    ``bits`` stands for the node in sets of nodes, ``ancestors`` is the set of nodes on which it depends.
    """

    __slots__ = ("members", "bits", "ancestors", "reads", "weight", "fuses", "after")

    def __init__(self, member: Instruction, bit: int, reads: dict[Instruction, None], weight: int, fuses: bool) -> None:
        self.members, self.bits, self.reads, self.weight, self.fuses = [member], bit, reads, weight, fuses
        self.ancestors = 0
        self.after: Node | None = None  # the effect before this one


def group_roots(plan: FusionPlan) -> dict[Instruction, Node]:
    """The node of every root and of every other instruction that is not inlined everywhere."""
    node_of: dict[Instruction, Node] = {}
    nodes: list[Node] = []
    readers: dict[Instruction, list[Instruction]] = {}
    roots = set(plan.roots)
    last_effect: Node | None = None
    for instruction in plan.computation.instructions:
        is_root = instruction in roots
        left_out = instruction in plan.inlined or instruction in plan.dead
        if left_out and not is_root and instruction not in plan.renamed:
            continue
        reads = plan.reads[instruction] if is_root else instruction.operands
        fuses = is_root and plan.policy.multi_output and _is_open(instruction)
        node = Node(instruction, 1 << len(nodes), dict.fromkeys(reads), plan.weights.get(instruction, 1), fuses)
        nodes.append(node)
        node_of[instruction] = node
        if has_effects(instruction):
            node.after, last_effect = last_effect, node
            if node.after is not None:
                node.ancestors = node.after.ancestors | node.after.bits
        for operand in node.reads:
            below = node_of[operand]
            node.ancestors |= below.ancestors | below.bits
        if fuses:
            for other in _candidates(instruction, plan, node_of, readers):
                if _can_merge(other, node_of[instruction], node_of, plan):
                    _merge(other, node_of[instruction], node_of, nodes)
            for operand in reads:
                readers.setdefault(operand, []).append(instruction)
    return node_of


def _is_open(root: Instruction) -> bool:
    """Whether a root shares its loops: not a concatenate, each operand of which is best copied by loops of its own."""
    return bool(root.shape.is_tuple is False and root.shape.dimensions) and root.opcode not in ("concatenate", "reduce")


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
            if node.fuses and other.shape.dimensions == dimensions:
                found[node] = None
    found.pop(node_of[root], None)
    return list(found)


def _can_merge(first: Node, second: Node, node_of: dict[Instruction, Node], plan: FusionPlan) -> bool:
    if first is second or first.members[0].shape.dimensions != second.members[0].shape.dimensions:
        return False
    if first.weight + second.weight > plan.policy.maximum_instructions:
        return False
    members = {*first.members, *second.members}
    operands = sum(1 for operand in {**first.reads, **second.reads} if operand not in members)
    if operands + len(members) > plan.policy.maximum_operands_and_results:
        return False
    for one, other in ((first, second), (second, first)):
        for operand in other.reads:
            below = node_of[operand]
            if below is one:
                # What the other writes must be read at the same index, in the same round of the loop.
                if any(plan.reads[member].get(operand, {IDENTITY}) != {IDENTITY} for member in other.members):
                    return False
            elif below.ancestors & one.bits:
                return False  # it would have to run both before and after this one
    return True


def _merge(first: Node, second: Node, node_of: dict[Instruction, Node], nodes: list[Node]) -> None:
    for member in second.members:
        node_of[member] = first
    first.members += second.members
    first.reads = {**first.reads, **second.reads}
    first.weight += second.weight
    bits = first.bits | second.bits
    above = (first.ancestors | second.ancestors) & ~bits
    for node in nodes:
        if node.ancestors & bits:
            node.ancestors |= above | bits
    first.bits, first.ancestors = bits, above
    nodes.remove(second)
