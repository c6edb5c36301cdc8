"""Call inlining: called computations become instructions of their caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..hlo import Computation, Instruction, Module, Shape, leaves, make_instruction
from ..hlo.instruction import callees_first, post_order
from ..hlo.operation import CONTROL_FLOW, ELEMENTWISE, FUNCTION_CALL
from .aliasing import Value
from .in_place import updated_from
from .pass_manager import module_pass
from .traversal import on_operands, runs_effects, transformed_callees, with_entry


def inlined(
    computation: Computation, arguments: Sequence[Instruction], before: dict[Instruction, None] | None = None
) -> Instruction:
    """The computation's root, computed from these arguments by new instructions.

    All of these are added to ``before``, in order, where it is given: some may be there for their effects alone.
    """
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        if instruction.opcode == "parameter":
            values[instruction] = arguments[instruction.attributes["number"]]
        else:
            new = values[instruction] = instruction.with_operands([values[operand] for operand in instruction.operands])
            if before is not None:
                before[new] = None
    return values[computation.root]


def inlined_elementwise(computation: Computation, arguments: Sequence[Instruction]) -> Instruction | None:
    """A computation on scalars, as instructions on whole arrays of one shape; None where not all of it is elementwise."""
    dimensions = arguments[0].shape.dimensions
    values: dict[Instruction, Instruction] = {}
    for instruction in computation.instructions:
        opcode = instruction.opcode
        if opcode == "parameter":
            values[instruction] = arguments[instruction.attributes["number"]]
            continue
        if instruction.shape.is_tuple or instruction.shape.rank != 0:
            return None
        shape = Shape(instruction.shape.element_type, dimensions)
        if opcode == "constant":
            constant = instruction.with_operands(())
            values[instruction] = make_instruction(
                "broadcast", (constant,), {"dimensions": ()}, shape, source=instruction.source
            )
        elif ELEMENTWISE in instruction.operation.traits:
            operands = [values[operand] for operand in instruction.operands]
            values[instruction] = make_instruction(opcode, operands, instruction.attributes, shape, source=instruction.source)
        else:
            return None
    return values[computation.root]


# A program that grows to no more than so many instructions, or to so many times what is written, is inlined as a whole.
_LARGEST_PROGRAM = 2000
_LARGEST_GROWTH = 1.5
# In others a computation that is used in several places stays a function of its own, unless it has as few instructions as this.
_LARGEST_REPEATED = 32
# Or updates an array of at least so many bytes, and all copies of it have no more instructions than the largest program.
_LEAST_BYTES = 4096


@module_pass("inline-calls")
def inline_calls(module: Module) -> Module:
    """Replaces call and fusion by the instructions of their computations, and map by those on whole arrays where its
    computation is elementwise.

    A fusion that the program brings along has been cut for another compiler. In a program that would become many times as
    large, computations that are used in several places stay calls.
    """
    return _Inliner(module).run()


@module_pass("inline-all-calls")
def inline_all_calls(module: Module) -> Module:
    """As inline-calls, however large the program becomes: for backends without functions."""
    return _Inliner(module, may_keep=False).run()


class _Inliner:
    """Inlines the calls of one module, callees before their callers; may_keep: all but those that inline-calls keeps."""

    def __init__(self, module: Module, may_keep: bool = True) -> None:
        self._module = module
        self._done: dict[Computation, Computation] = {}
        self._sizes: dict[Computation, int] = {}  # of computations that are done, with what their control flow runs
        self._used: Counter[Computation] = Counter()
        self._computations = callees_first(module.entry, follows=_runs)
        written, full_sizes = 0, dict[Computation, int]()
        for computation in self._computations:
            written += len(computation.instructions)
            full_sizes[computation] = len(computation.instructions)
            for callee in _run_by(computation):
                self._used[callee] += 1
                full_sizes[computation] += full_sizes[callee]
        self._grows = may_keep and full_sizes[module.entry] > max(_LARGEST_PROGRAM, _LARGEST_GROWTH * written)

    def run(self) -> Module:
        for computation in self._computations:
            done = self._done[computation] = self._inlined(computation)
            copied = (callee for i in done.instructions if i.opcode != "call" for callee in _run_by_instruction(i))
            self._sizes[done] = len(done.instructions) + sum(self._sizes[callee] for callee in copied)
        return with_entry(self._module, self._done[self._module.entry])

    def _inlined(self, computation: Computation) -> Computation:
        if not any(i.opcode == "map" or _runs(i) for i in computation.instructions):
            return computation
        values: dict[Instruction, Instruction] = {}
        instructions: dict[Instruction, None] = {}
        for instruction in computation.instructions:
            result = self._replaced(instruction, tuple([values[operand] for operand in instruction.operands]), instructions)
            values[instruction] = result
            instructions.update(dict.fromkeys(post_order(result, instructions)))
        root = values[computation.root]
        unchanged = len(instructions) == len(computation.instructions) and all(map(instructions.__contains__, values))
        return computation if unchanged else Computation(computation.name, tuple(instructions), root)

    def _replaced(
        self, instruction: Instruction, operands: tuple[Instruction, ...], before: dict[Instruction, None]
    ) -> Instruction:
        """The instruction's value, computed from these operands; what it needs for its effects is added to those before it."""
        opcode = instruction.opcode
        if FUNCTION_CALL in instruction.operation.traits:
            (original,) = instruction.called_computations
            callee = self._done[original]
            if self._stays(original):
                if callee is original and opcode == "call":
                    return on_operands(instruction, operands)
                return make_instruction("call", operands, {"to_apply": callee}, instruction.shape, source=instruction.source)
            return inlined(callee, operands, before if runs_effects(callee) else None)
        if opcode == "map":
            result = inlined_elementwise(instruction.attributes["to_apply"], operands)
            return on_operands(instruction, operands) if result is None else result
        return on_operands(instruction, operands, transformed_callees(instruction, self._run_in_place))

    def _run_in_place(self, original: Computation) -> Computation:
        """A computation that a loop or branch runs, and of which each has its own copy: one that calls it if it is to stay."""
        done = self._done[original]
        if not self._stays(original):
            return done
        parameters = tuple(parameter.with_operands(()) for parameter in done.parameters)
        call = make_instruction("call", parameters, {"to_apply": done}, source=done.root.source)
        caller = Computation(done.name, (*parameters, call), call)
        self._sizes[caller] = len(caller.instructions)
        return caller

    def _stays(self, original: Computation) -> bool:
        """Whether the computation becomes a function of its own."""
        done, count = self._done[original], self._used[original]
        if not self._grows or count < 2 or self._sizes[done] <= _LARGEST_REPEATED:
            return False
        return self._sizes[done] * count > _LARGEST_PROGRAM or not _updates_large_array(done)


def _updates_large_array(computation: Computation) -> bool:
    """Whether a result may be written over an array that is given, which a function of its own would have to copy."""
    for leaf, shape in enumerate(leaves(computation.shape)):
        if shape.rank and shape.byte_size >= _LEAST_BYTES:
            if any(value.instruction.opcode == "parameter" for value in updated_from(Value(computation.root, leaf))):
                return True
    return False


def _runs(instruction: Instruction) -> bool:
    """Whether the instruction runs computations as they are, not on scalars."""
    return not _RUNNING.isdisjoint(instruction.operation.traits)


_RUNNING = frozenset({CONTROL_FLOW, FUNCTION_CALL})


def _run_by(computation: Computation) -> list[Computation]:
    """The computations that the instructions run as they are, not on scalars; once for each instruction."""
    return [callee for instruction in computation.instructions for callee in _run_by_instruction(instruction)]


def _run_by_instruction(instruction: Instruction) -> list[Computation]:
    return instruction.called_computations if _runs(instruction) else []
