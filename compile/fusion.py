"""Fusion: loop nests that compute as much as possible between one read of memory and the next write.

After the pass the top level of every control flow computation holds fusions, reductions, contractions, control flow and
scalar instructions; elementwise operations and data movement on arrays stand inside fusions, even where they are alone. A
fusion of kind kLoop has one result, or several of the same dimensions in a tuple; one of kind kInput is a reduction, a scatter,
or a scan with its consumers, of what it computes inside.
"""

from __future__ import annotations

from ..hlo import OPERATIONS, Computation, Instruction, Module, make_instruction
from ..hlo.instruction import tuple_of
from .fused_computations import FusedOperands
from .fusion_groups import Node, group_roots
from .fusion_plan import FusionPlan, is_scalar_view
from .fusion_policy import FusionPolicy
from .pass_manager import Pass
from .traversal import is_scalar_constant, on_operands, transform_computations


def fusion_pass(policy: FusionPolicy) -> Pass:
    """The pass ``fuse`` under a backend's policy."""

    def fuse(module: Module) -> Module:
        """Fuses producers into their consumers and consumers of the same arrays with each other."""
        return transform_computations(module, lambda computation: fused_computation(computation, policy))

    return Pass("fuse", fuse)


def fused_computation(computation: Computation, policy: FusionPolicy) -> Computation:
    """One computation with its fusions; the same object where there is nothing to fuse."""
    if not any(policy.is_fusible(instruction) for instruction in computation.instructions):
        return computation
    plan = FusionPlan(computation, policy)
    return _Emission(plan, group_roots(plan)).run()


class _Emission:
    """Writes the planned computation."""

    def __init__(self, plan: FusionPlan, node_of: dict[Instruction, Node]) -> None:
        self.plan, self.node_of = plan, node_of
        self.values: dict[Instruction, Instruction] = {}
        self.emitted: list[Instruction] = []
        self.done: set[Node] = set()

    def run(self) -> Computation:
        computation = self.plan.computation
        last = {id(node): node.members[-1] for node in self.node_of.values()}
        for instruction in computation.instructions:
            node = self.node_of.get(instruction)
            # A fusion stands where its last result did: all it reads is there, and effects keep their order.
            if node is not None and last[id(node)] is instruction and not is_scalar_constant(instruction):
                self._emit_with_operands(node)
        if computation.root not in self.values:
            self._emit_with_operands(self.node_of[computation.root])
        return Computation(computation.name, tuple(self.emitted), self.values[computation.root])

    def _emit_with_operands(self, wanted: Node) -> None:
        stack = [wanted]
        while stack:
            node = stack[-1]
            if node in self.done:
                stack.pop()
                continue
            below = [self.node_of[operand] for operand in node.reads]
            if node.after is not None:
                below.append(node.after)
            waiting = [other for other in below if other is not node and other not in self.done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            self.done.add(node)
            self._emit(node)

    def _emit(self, node: Node) -> None:
        first = node.members[0]
        if first not in self.plan.reads or not self._fuses_anything(node):
            for operand in first.operands:
                # A scalar constant that only this instruction uses outside of fusions.
                if operand not in self.values:
                    self.done.add(self.node_of[operand])
                    self._append(operand, on_operands(operand, ()))
            self._append(first, on_operands(first, tuple(self.values[operand] for operand in first.operands)))
            return
        parts = node.members[1:] if first.opcode == "scan" else []
        results = [member for member in parts or node.members if self._is_needed_outside(member, node)]
        operands, computation = self._fused(node.members, results)
        shape = results[0].shape if len(results) == 1 else tuple_of(results)
        kind = "kInput" if self.plan.policy.is_hero(first) else "kLoop"
        name = f"{results[-1].opcode}_fusion"
        attributes = {"kind": kind, "calls": computation}
        inputs = tuple(self.values[operand] for operand in operands)
        fusion = Instruction(OPERATIONS["fusion"], inputs, attributes, shape, name, results[-1].source)
        self.emitted.append(fusion)
        if len(results) == 1:
            self.values[results[0]] = fusion
            return
        for index, result in enumerate(results):
            element = make_instruction("get-tuple-element", (fusion,), {"index": index}, source=result.source)
            self._append(result, element)

    def _append(self, old: Instruction, new: Instruction) -> None:
        self.values[old] = new
        self.emitted.append(new)

    def _fuses_anything(self, node: Node) -> bool:
        """A reduction, scatter or scalar view of stored values alone remains what it is."""
        (first, *others) = node.members
        if others or not (first.opcode in ("reduce", "scatter") or is_scalar_view(first)):
            return True
        updated = first.operation.updated_operand
        return any(operand in self.plan.inlined for number, operand in enumerate(first.operands) if number != updated)

    def _is_needed_outside(self, member: Instruction, node: Node) -> bool:
        if member in self.plan.stored:
            return True
        readers = self.readers.get(member, ())
        return any(self.node_of[reader] is not node for reader in readers)

    @property
    def readers(self) -> dict[Instruction, list[Instruction]]:
        """For each stored value the roots that read it."""
        found = getattr(self, "_readers", None)
        if found is None:
            found = self._readers = {}
            for root in self.plan.roots:
                for operand in self.plan.reads[root]:
                    found.setdefault(operand, []).append(root)
        return found

    def _fused(self, members: list[Instruction], results: list[Instruction]) -> tuple[list[Instruction], Computation]:
        """What the fusion reads, and its computation."""
        fused = _Fused(set(members), self.plan.inlined)
        values = [fused.value_of(result) for result in results]
        root, read = values[0], fused.read
        if len(values) > 1:
            root = make_instruction("tuple", values)
            fused.body.append(root)
        return read.operands, Computation(f"fused_{results[-1].opcode}", (*read.parameters, *fused.body), root)


class _Fused:
    """The body of a fusion that computes these instructions, and those that are inlined where they are used."""

    def __init__(self, computed: set[Instruction], inlined: set[Instruction]) -> None:
        self.computed, self.inlined = computed, inlined
        self.inside: dict[Instruction, Instruction] = {}
        self.read = FusedOperands()
        self.body: list[Instruction] = []

    def value_of(self, instruction: Instruction) -> Instruction:
        found = self.inside.get(instruction)
        if found is not None:
            return found
        if instruction in self.computed or instruction in self.inlined or is_scalar_constant(instruction):
            updated = instruction.operation.updated_operand
            given = enumerate(instruction.operands)
            value = instruction.with_operands(
                [self.read.parameter_for(x) if number == updated else self.value_of(x) for number, x in given]
            )
            self.body.append(value)
        else:
            value = self.read.parameter_for(instruction)
        self.inside[instruction] = value
        return value
