"""The function that is being emitted: its values, its memory, what it calls. What emits an operation stands on it.

Scalars (rank 0) live in registers; every array has its place from the buffer assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np
from llvmlite import ir

from ...compile.aliasing import Value, only_names
from ...compile.buffer_assignment import Buffer, BufferAssignment
from ...compile.carried_sizes import SizesOfElements, sizes_behind
from ...compile.live_sizes import Limits, live_sizes
from ...hlo import TOKEN, Computation, Instruction, Module, Shape, leaves
from ...hlo.fast_math import has_fast_math
from ...hlo.operation import ELEMENTWISE, GIVEN
from ..llvm import index as indices
from ..llvm.arrays import Array, stack_array
from ..llvm.builder import Builder
from ..llvm.elementary_calls import has_many_applications
from ..llvm.memory import copy_memory
from ..llvm.module import Module as LlvmModule
from ..llvm.module import SharedFunctions
from ..llvm.types import I8, I32, I64, POINTER, TOKEN_VALUE, RegisterValue, check_supported
from .arena import Arena, BorrowedArena
from .emitter_table import emitter_of, joins_row_groups
from .function_parts import Argument, FunctionParts, NativeFunction
from .line_clock import LineClock
from .region_functions import RegionFunctions
from .row_groups import RowGroups
from .target import Target

# What a value is while the function is emitted: an array in memory, a scalar in registers, or an argument's leaf.
Leaf = Array | RegisterValue | Argument
Values = dict[Instruction, list[Leaf]]


# Stands for no dimension.
KEEPS_REST = -1


class EmittedModule:
    """The LLVM module that is written, and what lies outside of it.

    The code names that by symbols, which are bound when it is loaded: ``constants`` has the arrays under their symbols,
    ``host_calls`` the symbols of instructions that are evaluated in Python, ``native_calls`` the custom-call targets under the
    symbols of their functions. ``draws`` says that it draws random numbers.
    """

    def __init__(self, module: Module, target: Target) -> None:
        # Functions that the code calls and every module would define alike: whoever loads the code supplies them.
        settings = (target.vector_bytes, target.converts_halves, has_fast_math(module), has_many_applications(module))
        self.llvm = LlvmModule(module.name, SharedFunctions(*settings))
        self.llvm.triple, self.llvm.data_layout = target.triple, target.data_layout
        self.regions = RegionFunctions(self.llvm, target)
        self.constants: dict[str, np.ndarray] = {}
        self.host_calls: dict[Instruction, str] = {}
        self.native_calls: dict[str, str] = {}
        self.draws = False
        self._constant_pointers: dict[int, ir.Value] = {}

    def constant_pointer(self, literal: np.ndarray) -> ir.Value:
        known = self._constant_pointers.get(id(literal))
        if known is None:
            name = f"constant.{len(self.constants)}"
            known = ir.GlobalVariable(self.llvm, I8, name)
            self.constants[name] = literal
            self._constant_pointers[id(literal)] = known
        return known

    def native_function(self, target: str, signature: ir.FunctionType) -> ir.Function:
        """The native function of this custom-call target, as the code calls it."""
        for name, known in self.native_calls.items():
            if known == target:
                return self.llvm.globals[name]
        name = f"native_call.{len(self.native_calls)}"
        self.native_calls[name] = target
        return ir.Function(self.llvm, signature, name)

    def host_object(self, instruction: Instruction) -> ir.Value:
        """The address of the Python object that evaluates the instruction."""
        name = self.host_calls.setdefault(instruction, f"host_call.{len(self.host_calls)}")
        return self.llvm.globals.get(name) or ir.GlobalVariable(self.llvm, I8, name)


class Frame:
    """A function of a program, while its instructions are emitted one after the other.

    ``here`` is the native function that is written; ``functions`` are those of called computations, ``moving`` the buffers
    whose place differs from one round of a loop to the next. ``clock`` is there where lines are timed.
    ``results`` are those of a program whose root holds arrays of their bounds, then sizes.
    """

    here: NativeFunction

    def __init__(
        self,
        program: Module,
        assignment: BufferAssignment,
        module: EmittedModule,
        clock: LineClock | None = None,
        results: Sequence[Shape] = (),
    ) -> None:
        self.program, self.assignment, self.module, self.clock = program, assignment, module, clock
        self.llvm, self.regions, self.target = module.llvm, module.regions, module.regions.target
        self.results = results
        self.functions: dict[Computation, ir.Function] = {}
        self.limits: dict[Instruction, Limits] = {}
        self.parts = FunctionParts(self)
        self.row_groups = RowGroups(self.regions, clock)

    @property
    def builder(self) -> ir.IRBuilder:
        return self.here.builder

    def emit_function(
        self, function: ir.Function, computation: Computation, arena: Callable[[ir.IRBuilder], Arena | BorrowedArena]
    ) -> None:
        """Emit the computation as the whole of the function, whose first arguments are the tables of arguments and results.

        ``arena`` makes the memory for temporaries at its entry.
        """
        builder = Builder(function.append_basic_block("entry"))
        memory = arena(builder)
        slots = self.parts.begin(builder, computation, memory)
        self.here = NativeFunction(builder, *function.args[:2], memory, slots)
        self.moving: dict[Buffer, ir.Value] = {}
        values: Values = {}
        number = 0
        in_parts = self.parts.are_needed(computation)
        for parameter in computation.parameters:
            values[parameter] = []
            for shape in leaves(parameter.shape):
                if shape.element_type is TOKEN:
                    values[parameter].append(TOKEN_VALUE)
                    continue
                values[parameter].append(Argument(number, shape) if in_parts else self.argument(number, shape))
                number += 1
        self._emit_instructions(computation, values)
        self._store_scalar_results(computation, values[computation.root])
        self.return_code(I32(0))
        self.parts.end()

    def return_code(self, code: ir.Value) -> None:
        """End the kernel, with 0 or what the caller makes an exception of."""
        self.here.arena.release(self.builder)
        self.builder.ret(code)

    def argument(self, number: int, shape: Shape) -> Leaf:
        """An argument's array, or its value, read at the function's entry."""
        array = Array(self._argument_pointer(number), shape)
        if shape.rank:
            return array
        with self.builder.goto_entry_block():
            return array.load(self.builder, (), 1)

    def _argument_pointer(self, number: int) -> ir.Value:
        pointer = self._pointer_in(self.here.arguments, number)
        self.parts.recipes[pointer] = lambda: self._argument_pointer(number)
        return pointer

    def _pointer_in(self, table: ir.Value, number: int) -> ir.Value:
        """The pointer with this number in a table of pointers, read once, at the function's entry."""
        known, key = self.here.pointers, (table, number)
        if key not in known:
            b = self.builder
            with b.goto_entry_block():
                known[key] = b.load(b.gep(table, [I64(number)], source_etype=POINTER), typ=POINTER)
        return known[key]

    def _store_scalar_results(self, computation: Computation, values: list[Leaf]) -> None:
        shapes = leaves(computation.root.shape)
        held = [(shape, value) for shape, value in zip(shapes, values) if shape.element_type is not TOKEN]

        def store(number: int, shape: Shape, value: Leaf) -> None:
            pointer = self._pointer_in(self.here.results, number)
            Array(pointer, shape).store(self.builder, (), self.parts.local_leaf(value), 1)

        stores = (partial(store, number, *one) for number, one in enumerate(held) if one[0].rank == 0)
        if self.parts.are_needed(computation):
            self.parts.emit_steps(stores)
        else:
            for store_one in stores:
                store_one()

    # --- memory ---

    def array(self, value: Value, shape: Shape) -> Array:
        return Array(self.buffer_pointer(self.assignment.of(value)), shape)

    def buffer_pointer(self, buffer: Buffer) -> ir.Value:
        return self.parts.local(self.moving[buffer]) if buffer in self.moving else self._fixed_pointer(buffer)

    def _fixed_pointer(self, buffer: Buffer) -> ir.Value:
        pointer = self._emit_pointer(buffer)
        self.parts.recipes[pointer] = lambda: self._fixed_pointer(buffer)
        return pointer

    def _emit_pointer(self, buffer: Buffer) -> ir.Value:
        if buffer.kind == "argument":
            return self._argument_pointer(buffer.number)
        if buffer.kind == "result":
            return self._pointer_in(self.here.results, buffer.number)
        if buffer.kind == "constant":
            return self.module.constant_pointer(buffer.literal)
        return self.builder.gep(self.here.arena.pointer, [I64(buffer.offset)], source_etype=I8)

    def in_memory(self, value: Leaf, shape: Shape) -> Array:
        """The array, or a scalar on the stack."""
        if isinstance(value, Array):
            return value
        slot = stack_array(self.builder, shape)
        slot.store(self.builder, (), value, 1)
        return slot

    def output(self, instruction: Instruction, leaf: int = 0) -> Array:
        """Memory for a leaf of the result: its planned buffer, or for a scalar a place on the stack."""
        shape = leaves(instruction.shape)[leaf]
        return self.array(Value(instruction, leaf), shape) if shape.rank else stack_array(self.builder, shape)

    def outputs(self, instruction: Instruction) -> list[Array | None]:
        """Memory for each leaf of the result, none for a token."""
        shapes = leaves(instruction.shape)
        return [None if shape.element_type is TOKEN else self.output(instruction, leaf) for leaf, shape in enumerate(shapes)]

    def updated(self, instruction: Instruction, leaf: int, operand: Instruction, values: Values) -> Array:
        """Memory for a leaf of the result that holds the operand: its own, or a copy where it is needed afterwards."""
        source = values[operand][0]
        if not operand.shape.rank:
            return self.in_memory(source, operand.shape)
        output = self.output(instruction, leaf)
        if self.assignment.of(Value(operand)) is not self.assignment.of(Value(instruction, leaf)):
            copy_memory(self.builder, output.pointer, source.pointer, operand.shape.byte_size)
        return output

    def loaded(self, outputs: list[Array | None]) -> list[Leaf]:
        """The leaves that lie in the `outputs`: scalars in registers."""
        return [
            TOKEN_VALUE if output is None else output if output.shape.rank else output.load(self.builder, (), 1)
            for output in outputs
        ]

    def operand_arrays(self, instruction: Instruction, values: Values) -> list[Array]:
        """The leaves of the operands in memory, scalars on the stack, without tokens."""
        return [
            self.in_memory(value, shape)
            for operand in instruction.operands
            for value, shape in zip(values[operand], leaves(operand.shape))
            if shape.element_type is not TOKEN
        ]

    def scratch(self, instruction: Instruction) -> ir.Value | None:
        """The memory that an instruction has for itself."""
        buffer = self.assignment.scratch.get(instruction)
        return None if buffer is None else self.buffer_pointer(buffer)

    # --- instructions ---

    def emit_computation(
        self, computation: Computation, arguments: list[list[Leaf]], sizes: SizesOfElements = MappingProxyType({})
    ) -> list[Leaf]:
        """Emit a called computation in place; its parameters are bound to the arguments' leaves.

        sizes: of the tuple that it gives, which elements are the sizes of others.
        """
        values: Values = {p: arguments[p.attributes["number"]] for p in computation.parameters}
        self._emit_instructions(computation, values, sizes)
        return [self.parts.local_leaf(leaf) for leaf in values[computation.root]]

    def stops(self, instruction: Instruction, values: Values) -> dict[int, ir.Value]:
        """Behind which sizes, i64, a loop nest need compute nothing, by dimension; `KEEPS_REST` where a sort keeps the rest."""
        found = {}
        for dimension, (size, bound, keeps_rest, fewest) in self.limits.get(instruction, {}).items():
            if size.opcode == "constant":
                register = I64(max(fewest, int(size.attributes["literal"])))
            else:
                register = self.parts.local_leaf(values[size][0])
                register = register if register.type == I64 else self.builder.sext(register, I64)
                # Sizes are taken without their lower bounds, and blocks are counted as numbers without a sign.
                fewer = self.builder.icmp_signed("<", register, I64(fewest))
                register = self.builder.select(fewer, I64(fewest), register)
            found[dimension] = indices.least(self.builder, register, bound)
            if keeps_rest:
                found[KEEPS_REST] = found[dimension]
        return found

    def _emit_instructions(
        self, computation: Computation, values: Values, sizes: SizesOfElements = MappingProxyType({})
    ) -> None:
        is_entry = computation is self.program.entry
        self.limits.update(live_sizes(computation, sizes_behind(self.results) if is_entry else sizes))
        if self.parts.are_needed(computation):
            self.parts.emit(computation, values)
            return
        for instruction in computation.instructions:
            self.emit_instruction(instruction, values)
        self.row_groups.flush(self.builder)

    def emit_instruction(self, instruction: Instruction, values: Values) -> None:
        if instruction.opcode == "parameter":
            return
        for shape in leaves(instruction.shape):
            check_supported(shape.element_type)
        if not self._leaves_memory_alone(instruction):
            self.row_groups.flush(self.builder)
        if self.clock is not None:
            self.clock.enter(self.builder, instruction)
        values[instruction] = emitter_of(instruction)(self, instruction, values)

    @staticmethod
    def _leaves_memory_alone(instruction: Instruction) -> bool:
        """Whether emitting the instruction only names values, computes scalars from scalars, or goes through the row groups."""
        if GIVEN in instruction.operation.traits or joins_row_groups(instruction) or only_names(instruction):
            return True
        inputs = (shape for operand in instruction.operands for shape in leaves(operand.shape))
        is_elementwise = ELEMENTWISE in instruction.operation.traits
        return is_elementwise and (instruction.shape.rank > 0 or not any(shape.rank for shape in inputs))
