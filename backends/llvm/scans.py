"""What is scanned, one step of it, and where the results go."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...compile.fused_computations import result_roots
from ...compile.scan_steps import elementwise_step
from ...hlo import Computation, Instruction, leaves, make_instruction
from . import index as indices
from .arithmetic import constant
from .arrays import Array
from .elemental import Binding, ElementalEmitter
from .index import Base, Component, Index
from .loops import carried_loop
from .scalar_computations import emit_scalar_computation
from .types import I1, RegisterValue, vector_of

Mask = ir.Value | None


class Scan:
    """What is scanned, and where its results go.

    stop: the number of steps behind which nobody needs results, if there is one.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        computation: Computation,
        arguments: list[Binding],
        outputs: list[Array],
        stop: ir.Value | None = None,
    ) -> None:
        computation = _with_parts(computation)
        self.builder, self.bindings = builder, dict(zip(computation.parameters, arguments))
        self.scan = scan = next(instruction for instruction in computation.instructions if instruction.opcode == "scan")
        step = elementwise_step(scan)
        assert step is not None
        self.step = step
        (self.along,), carries = scan.attributes["dimensions"], scan.attributes["num_carries"]
        self.is_reverse = scan.attributes["is_reverse"]
        split = len(scan.operands) - carries
        self.inputs, self.inits = scan.operands[:split], scan.operands[split:]
        # Inputs that say of each step whether it is the first.
        self.marks = frozenset(x for x in self.inputs if not self.is_reverse and _is_true_at_first(x, self.along))
        self.step_results = result_roots(step)
        self.output_count = len(self.step_results) - carries
        # The instructions that stand for the scan's results, by number.
        named = [i for i in computation.instructions if i.opcode == "get-tuple-element" and scan in i.operands]
        self.parts = [(part, part.attributes["index"]) for part in named] or [(scan, 0)]
        of_carries = {part: number - self.output_count for part, number in self.parts if number >= self.output_count}
        results = list(zip(result_roots(computation), outputs))
        self.results = [(root, array) for root, array in results if root not in of_carries]
        self.last_carries = [(of_carries[root], array) for root, array in results if root in of_carries]
        shapes = [*(x.shape for x in self.inputs), *leaves(scan.shape)]
        self.sizes = shapes[0].dimensions
        self.rank, self.steps = len(self.sizes), self.sizes[self.along]
        self.stop = stop
        self.slice_sizes = self.sizes[: self.along] + self.sizes[self.along + 1 :]
        parts = {part for part, _ in self.parts}
        outside = tuple(i for i in computation.instructions if i not in parts and not i.shape.is_tuple)
        # What is computed for each element besides the steps.
        self.outside = Computation(computation.name, outside, outside[-1])

    def position(self, number: Base) -> Base:
        """Where the step with this number is along the scanned dimension."""
        if not self.is_reverse:
            return number
        return indices.add_base(self.builder, indices.multiply_base(self.builder, number, -1), self.steps - 1)

    @property
    def end(self) -> Base:
        """How many steps there are, as far as they are needed."""
        return self.steps if self.stop is None else self.stop

    def whole(self, width: int) -> Base:
        """How many times so many steps lie within the dimension, as far as they are needed."""
        count = self.steps // width
        if self.stop is None:
            return count
        needed = self.builder.udiv(indices.add_base(self.builder, self.stop, width - 1), indices.i64(width))
        return indices.least(self.builder, needed, count)

    def at(self, place: Index, position: Component) -> Index:
        """The index of an element, from its place within the slice and the position of this along the scanned dimension."""
        return (*place[: self.along], position, *place[self.along :])

    def elements(self, index: Index, lanes: int, mask: Mask = None, is_first: bool | None = None) -> list[RegisterValue]:
        """The elements of the inputs at an index; ``is_first`` says whether this is the first step, where that is known."""
        emitter = ElementalEmitter(self.builder, lanes, self.bindings)
        known = {} if is_first is None else dict.fromkeys(self.marks, constant(vector_of(I1, lanes), int(is_first)))
        return [known[x] if x in known else emitter.emit(x, index, mask) for x in self.inputs]

    def each_step(
        self,
        start: Base,
        stop: Base,
        carries: list[RegisterValue],
        step: Callable[[Base, list[RegisterValue], bool | None], list[RegisterValue]],
    ) -> list[RegisterValue]:
        """The carries behind the steps from ``start`` to before ``stop``.

        ``step(number, carries, is_first)`` emits one. The first one is emitted on its own where inputs tell it from others:
        none of these then waits for a choice between what it computes and what the first one takes.
        """
        is_first = None
        if self.marks and isinstance(start, int):
            if start == 0:
                carries, start = step(0, carries, True), 1
            is_first = False

        def further(number: Base, carries: list[RegisterValue]) -> list[RegisterValue]:
            return step(number, carries, is_first)

        return carried_loop(self.builder, start, stop, 1, carries, further, "scan")

    def first_carries(self, place: Index, lanes: int, mask: Mask = None) -> list[RegisterValue]:
        emitter = ElementalEmitter(self.builder, lanes, self.bindings)
        return [emitter.emit(x, place, mask) for x in self.inits]

    def stepped(
        self, elements: list[RegisterValue], carries: list[RegisterValue], lanes: int
    ) -> tuple[list[RegisterValue], list[RegisterValue]]:
        """The elements of the outputs, and the next carries."""
        results = emit_scalar_computation(self.builder, self.step, [*elements, *carries], lanes)
        return results[: self.output_count], results[self.output_count :]

    def store(self, index: Index, outputs: list[RegisterValue], lanes: int, mask: Mask = None) -> None:
        """Store the results that elements of the outputs make."""
        values = {part: outputs[number] for part, number in self.parts if number < self.output_count}
        emitter = ElementalEmitter(self.builder, lanes, {**self.bindings, **values})
        for root, array in self.results:
            array.store(self.builder, index, emitter.emit(root, index, mask), lanes, mask)

    def store_carries(self, place: Index, carries: list[RegisterValue], lanes: int, mask: Mask = None) -> None:
        for number, array in self.last_carries:
            array.store(self.builder, place, carries[number], lanes, mask)


def _is_true_at_first(instruction: Instruction, along: int) -> bool:
    """Whether the elements are true at position 0 of a dimension, and false elsewhere."""
    if instruction.opcode != "compare" or instruction.attributes["direction"] != "EQ":
        return False
    position, zero = instruction.operands
    if position.opcode != "iota" or position.attributes["iota_dimension"] != along or zero.opcode != "broadcast":
        return False
    (value,) = zero.operands
    return value.opcode == "constant" and not value.shape.rank and value.attributes["literal"] == 0


def _with_parts(computation: Computation) -> Computation:
    """The computation, the results of the scan one by one where the scan is its root."""
    scan = computation.root
    if scan.opcode != "scan" or not scan.shape.is_tuple:
        return computation
    parts = [make_instruction("get-tuple-element", (scan,), {"index": n}) for n in range(len(scan.shape.elements))]
    root = make_instruction("tuple", parts)
    return Computation(computation.name, (*computation.instructions, *parts, root), root)
