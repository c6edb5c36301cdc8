"""One HLO module becomes one native function, and those that it calls.

``i32 kernel(ptr arguments, ptr results)`` gets arrays of pointers to the data of the entry's parameter leaves and result
leaves, and returns 0, or OUT_OF_MEMORY, or, with an exception set, CALL_FAILED or INTERRUPTED. Loops and branches of the
program are branches of the function; scalars (rank 0) live in registers; every array has its place from the buffer assignment.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from llvmlite import ir

from ...compile.aliasing import Value, is_free_reshape, only_names
from ...compile.buffer_assignment import Buffer, BufferAssignment
from ...compile.fused_computations import as_computation, result_roots
from ...compile.traversal import called_functions
from ...hlo import TOKEN, Computation, Instruction, Module, Shape, leaves
from ...hlo.operation import ELEMENTWISE, HOST_CALL
from ..llvm.arrays import Array
from ..llvm.elemental import Binding, ElementalEmitter, clamped_starts, constant_value
from ..llvm.elementary_calls import has_many_applications
from ..llvm.index import Affine, add_base
from ..llvm.interruption import InterruptibleFunction
from ..llvm.loops import loop_nest
from ..llvm.memory import copy_memory, stack_memory
from ..llvm.module import Module as LlvmModule
from ..llvm.module import SharedFunctions
from ..llvm.types import I8, I32, I64, POINTER, TOKEN_VALUE, RegisterValue, check_supported
from . import branches, dense_algebra, function_calls, host_calls, scatter_emission, while_loops, windows_and_sorting
from .arena import Arena, BorrowedArena
from .call.python_calls import INTERRUPTED
from .called_computations import CalledComputations
from .emitter_table import EMITTERS
from .function_parts import Argument, FunctionParts, raw_leaves
from .region_functions import RegionFunctions
from .row_groups import Region, RowGroups
from .support import has_code
from .target import Target

# What a value is while the function is emitted: an array in memory, a scalar in registers, or the list of a tuple's leaves.
Leaf = Array | RegisterValue | Argument
Values = dict[Instruction, list[Leaf]]

KERNEL_NAME = "kernel"


class ModuleEmitter:
    """Emits the kernel of a module into a fresh LLVM module, or a further function into that of an ``outer`` emitter.

    The code names what lies outside of it by symbols, which are bound when it is loaded: ``constants`` has the arrays under
    their symbols, ``host_calls`` the symbols of instructions that are evaluated in Python, ``native_calls`` the custom-call
    targets under the symbols of their functions.
    """

    def __init__(
        self, module: Module, assignment: BufferAssignment, target: Target, outer: ModuleEmitter | None = None
    ) -> None:
        self.hlo, self.assignment, self.target = module, assignment, target
        self.functions: dict[Computation, ir.Function] = {}
        self.parts = FunctionParts(self)
        if outer is not None:
            self.llvm, self.regions, self.row_groups = outer.llvm, outer.regions, RowGroups(outer.regions)
            self.constants, self.host_calls, self.native_calls = outer.constants, outer.host_calls, outer.native_calls
            self._constant_pointers = outer._constant_pointers
            return
        # Functions that the code calls and every module would define alike: whoever loads the code supplies them.
        self.llvm = LlvmModule(module.name, SharedFunctions(target.vector_bytes, has_many_applications(module)))
        self.llvm.triple, self.llvm.data_layout = target.triple, target.data_layout
        self.regions = RegionFunctions(self.llvm, target)
        self.row_groups = RowGroups(self.regions)
        self.constants: dict[str, np.ndarray] = {}
        self.host_calls: dict[Instruction, str] = {}
        self.native_calls: dict[str, str] = {}
        self._constant_pointers: dict[int, ir.Value] = {}
        self.llvm.called_computations = CalledComputations(self)

    def emit(self) -> InterruptibleFunction:
        for computation in called_functions(self.hlo):
            function_calls.emit_function(self, computation)
        function = InterruptibleFunction(
            self.llvm, KERNEL_NAME, [POINTER, POINTER], lambda builder: self.return_code(I32(INTERRUPTED))
        )
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.arguments, self.results = function.args
        entry = self.hlo.entry
        self.own_arena: Arena | BorrowedArena = Arena(
            self.builder, self.assignment.arena_size, may_grow=self.parts.may_be_needed(entry)
        )
        self.emit_body(entry)
        return function

    def emit_body(self, computation: Computation) -> None:
        """Emit the whole of the function whose builder, arguments, results and arena are set."""
        self.arena = self.own_arena.pointer
        self.parts.begin_frame(computation)
        self._moving: dict[Buffer, ir.Value] = {}
        self.result_pointers: dict[int, ir.Value] = {}
        self.argument_pointers: dict[int, ir.Value] = {}
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
        self.parts.end_frame()

    def return_code(self, code: ir.Value) -> None:
        """End the kernel, with 0 or what the caller makes an exception of."""
        self.own_arena.release(self.builder)
        self.builder.ret(code)

    def host_function(self, target: str, signature: ir.FunctionType) -> ir.Function:
        """The native function of this custom-call target, as the code calls it."""
        name = f"native_call.{len(self.native_calls)}"
        self.native_calls[name] = target
        return ir.Function(self.llvm, signature, name)

    def host_object(self, instruction: Instruction) -> ir.Value:
        """The address of the Python object that evaluates the instruction."""
        name = self.host_calls.setdefault(instruction, f"host_call.{len(self.host_calls)}")
        return self.llvm.globals.get(name) or ir.GlobalVariable(self.llvm, I8, name)

    def argument(self, number: int, shape: Shape) -> Leaf:
        """An argument's array, or its value, read at the function's entry."""
        array = Array(self._argument_pointer(number), shape)
        if shape.rank:
            return array
        with self.builder.goto_entry_block():
            return array.load(self.builder, (), 1)

    def _argument_pointer(self, number: int) -> ir.Value:
        pointer = self._pointer_in(self.arguments, number, self.argument_pointers)
        self.parts.recipes[pointer] = lambda: self._argument_pointer(number)
        return pointer

    def _pointer_in(self, table: ir.Value, number: int, known: dict[int, ir.Value]) -> ir.Value:
        """The pointer with this number in a table of pointers, read once, at the function's entry."""
        if number not in known:
            b = self.builder
            with b.goto_entry_block():
                known[number] = b.load(b.gep(table, [I64(number)], source_etype=POINTER), typ=POINTER)
        return known[number]

    def _store_scalar_results(self, computation: Computation, values: list[Leaf]) -> None:
        shapes = leaves(computation.root.shape)
        held = [(shape, value) for shape, value in zip(shapes, values) if shape.element_type is not TOKEN]

        def store(number: int, shape: Shape, value: Leaf) -> None:
            pointer = self._pointer_in(self.results, number, self.result_pointers)
            Array(pointer, shape).store(self.builder, (), self.parts.local_leaf(value), 1)

        stores = (partial(store, number, *one) for number, one in enumerate(held) if one[0].rank == 0)
        if self.parts.are_needed(computation):
            self.parts.emit_steps(stores)
        else:
            for store_one in stores:
                store_one()

    # --- memory ---

    def _array(self, value: Value, shape: Shape) -> Array:
        return Array(self._buffer_pointer(self.assignment.of(value)), shape)

    def _buffer_pointer(self, buffer: Buffer) -> ir.Value:
        return self.parts.local(self._moving[buffer]) if buffer in self._moving else self._fixed_pointer(buffer)

    def _fixed_pointer(self, buffer: Buffer) -> ir.Value:
        pointer = self._emit_pointer(buffer)
        self.parts.recipes[pointer] = lambda: self._fixed_pointer(buffer)
        return pointer

    def _emit_pointer(self, buffer: Buffer) -> ir.Value:
        if buffer.kind == "argument":
            return self._argument_pointer(buffer.number)
        if buffer.kind == "result":
            return self._pointer_in(self.results, buffer.number, self.result_pointers)
        if buffer.kind == "constant":
            return self._constant_pointer(buffer.literal)
        return self.builder.gep(self.arena, [I64(buffer.offset)], source_etype=I8)

    def _constant_pointer(self, literal: np.ndarray) -> ir.Value:
        known = self._constant_pointers.get(id(literal))
        if known is None:
            name = f"constant.{len(self.constants)}"
            known = ir.GlobalVariable(self.llvm, I8, name)
            self.constants[name] = literal
            self._constant_pointers[id(literal)] = known
        return known

    def _copy(self, target: ir.Value, source: ir.Value, size: int) -> None:
        copy_memory(self.builder, target, source, size)

    # --- instructions ---

    def _emit_computation(self, computation: Computation, arguments: list[list[Leaf]]) -> list[Leaf]:
        """Emit a called computation in place; its parameters are bound to the arguments' leaves."""
        values: Values = {p: arguments[p.attributes["number"]] for p in computation.parameters}
        self._emit_instructions(computation, values)
        return [self.parts.local_leaf(leaf) for leaf in values[computation.root]]

    def _emit_instructions(self, computation: Computation, values: Values) -> None:
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
        if instruction.has_trait(HOST_CALL):
            values[instruction] = host_calls.emit_host_call(self, instruction, values)
            return
        if not has_code(instruction):
            raise NotImplementedError(f"{instruction!r} has no native code; the reference backend runs it")
        emit = EMITTERS.get(instruction.opcode, ModuleEmitter._emit_single)
        values[instruction] = emit(self, instruction, values)

    @staticmethod
    def _leaves_memory_alone(instruction: Instruction) -> bool:
        """Whether emitting the instruction only names values, computes scalars from scalars, or goes through the row groups."""
        if instruction.opcode in ("constant", "fusion", "reduce") or only_names(instruction):
            return True
        inputs = (shape for operand in instruction.operands for shape in leaves(operand.shape))
        is_elementwise = ELEMENTWISE in instruction.operation.traits
        return is_elementwise and (instruction.shape.rank > 0 or not any(shape.rank for shape in inputs))

    def _emit_single(self, instruction: Instruction, values: Values) -> list[Leaf]:
        """An instruction outside of any fusion: a scalar, or a loop of its own."""
        if instruction.shape.rank == 0:
            bindings = {operand: values[operand][0] for operand in instruction.operands}
            return [ElementalEmitter(self.builder, 1, bindings).emit(instruction, ())]
        return self._emit_fused_loop(instruction, as_computation(instruction), values)

    def _emit_fused_loop(self, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
        shapes = leaves(instruction.shape)
        outputs = [self._array(Value(instruction, leaf), shape) for leaf, shape in enumerate(shapes)]
        arguments = self._bindings(instruction, values)
        self._emit_region(instruction, computation, arguments, outputs)
        return outputs

    def _emit_region(
        self, instruction: Instruction, computation: Computation, arguments: list[Binding], outputs: list[Array]
    ) -> None:
        """Hand a loop or a reduction into arrays to the row groups."""
        argument_buffers = [
            self.assignment.of(Value(operand)) if operand.shape.rank else None for operand in instruction.operands
        ]
        output_buffers = [self.assignment.of(Value(instruction, leaf)) for leaf in range(len(outputs))]
        in_place = any(buffer in output_buffers for buffer in argument_buffers if buffer is not None)
        region = Region(computation, arguments, outputs, in_place, argument_buffers, output_buffers)
        self.row_groups.add(self.builder, region)

    def _bindings(self, instruction: Instruction, values: Values) -> list[Binding]:
        return [values[operand][0] for operand in instruction.operands]

    def emit_tuple(self, instruction: Instruction, values: Values) -> list[Leaf]:
        return [leaf for operand in instruction.operands for leaf in raw_leaves(values, operand)]

    def emit_get_tuple_element(self, instruction: Instruction, values: Values) -> list[Leaf]:
        (operand,) = instruction.operands
        index, offsets = instruction.attributes["index"], operand.shape.leaf_offsets
        return raw_leaves(values, operand)[offsets[index] : offsets[index + 1]]

    def emit_optimization_barrier(self, instruction: Instruction, values: Values) -> list[Leaf]:
        return raw_leaves(values, instruction.operands[0])

    def emit_constant(self, instruction: Instruction, values: Values) -> list[Leaf]:
        if instruction.shape.rank == 0:
            return [constant_value(self.builder, instruction, 1)]
        return [self._array(Value(instruction), instruction.shape)]

    def emit_bitcast(self, instruction: Instruction, values: Values) -> list[Leaf]:
        """The same memory: normalize-layouts leaves no other bitcasts."""
        return [Array(values[instruction.operands[0]][0].pointer, instruction.shape)]

    def emit_reshape(self, instruction: Instruction, values: Values) -> list[Leaf]:
        (operand,) = instruction.operands
        value = values[operand][0]
        if is_free_reshape(instruction):
            return [Array(value.pointer, instruction.shape)]
        return self._emit_single(instruction, values)

    def emit_copy(self, instruction: Instruction, values: Values) -> list[Leaf]:
        (operand,) = instruction.operands
        source = values[operand][0]
        if instruction.shape.rank == 0:
            return [source]
        output = self._array(Value(instruction), instruction.shape)
        self._copy(output.pointer, source.pointer, instruction.shape.byte_size)
        return [output]

    def emit_bitcast_convert(self, instruction: Instruction, values: Values) -> list[Leaf]:
        """The operand's memory, copied; scalars by way of the stack."""
        (operand,) = instruction.operands
        source = self._in_memory(values[operand][0], operand.shape)
        if instruction.shape.rank == 0:
            return [Array(source.pointer, instruction.shape).load(self.builder, (), 1)]
        output = self._array(Value(instruction), instruction.shape)
        self._copy(output.pointer, source.pointer, instruction.shape.byte_size)
        return [output]

    def emit_dynamic_update_slice(self, instruction: Instruction, values: Values) -> list[Leaf]:
        """Write the update into the operand's own memory, or into a copy where the operand is needed afterwards."""
        operand, update, *starts = instruction.operands
        if instruction.shape.rank == 0:
            return values[update]
        output = self._array(Value(instruction), instruction.shape)
        source = values[operand][0]
        if self.assignment.of(Value(operand)) is not self.assignment.of(Value(instruction)):
            self._copy(output.pointer, source.pointer, instruction.shape.byte_size)
        if update.shape.size == 0:
            return [output]
        bindings = {start: values[start][0] for start in starts}
        emitter = ElementalEmitter(self.builder, 1, bindings)
        bases = clamped_starts(emitter, tuple(starts), operand.shape.dimensions, update.shape.dimensions)
        self._copy_block(output, bases, values[update][0])
        return [output]

    def _copy_block(self, output: Array, bases: list, update: Array) -> None:
        """Copy a block into an array: whole runs of memory at a time."""
        b = self.builder
        full, sizes = output.shape.dimensions, update.shape.dimensions
        # The trailing dimensions that the block fills wholly, and one more, lie in one run.
        run = len(sizes) - 1
        while run > 0 and sizes[run] == full[run]:
            run -= 1
        run_bytes = output.shape.element_type.byte_size
        for size in sizes[run:]:
            run_bytes *= size
        with loop_nest(b, sizes[:run]) as index:
            inner = (Affine(0),) * (len(sizes) - run)
            source = update.address(b, (*index, *inner))
            target = tuple(Affine(add_base(b, base, i.base)) for base, i in zip(bases, (*index, *inner)))
            self._copy(output.address(b, target), source, run_bytes)

    def emit_fusion(self, instruction: Instruction, values: Values) -> list[Leaf]:
        computation = instruction.attributes["calls"]
        if any(inside.opcode == "scan" for inside in computation.instructions):
            self.row_groups.flush(self.builder)
            return windows_and_sorting.scan(self, instruction, values)
        roots = result_roots(computation)
        if len(roots) == 1 and roots[0].opcode == "reduce":
            return self._emit_reduce(instruction, computation, values)
        if any(root.opcode == "reduce" for root in roots):
            raise NotImplementedError("fusion of several reductions has no native code")
        if roots[0].shape.rank == 0:
            self.row_groups.flush(self.builder)
            bindings = dict(zip(computation.parameters, self._bindings(instruction, values)))
            emitter = ElementalEmitter(self.builder, 1, bindings)
            return [emitter.emit(root, ()) for root in roots]
        return self._emit_fused_loop(instruction, computation, values)

    def emit_reduce(self, instruction: Instruction, values: Values) -> list[Leaf]:
        return self._emit_reduce(instruction, as_computation(instruction), values)

    def _emit_reduce(self, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
        """A computation whose root is a reduce."""
        arguments = self._bindings(instruction, values)
        shapes = leaves(instruction.shape)
        if shapes[0].rank:
            outputs = [self._array(Value(instruction, leaf), shape) for leaf, shape in enumerate(shapes)]
            self._emit_region(instruction, computation, arguments, outputs)
            return outputs
        self.row_groups.flush(self.builder)
        slots = [self._scalar_slot(shape) for shape in shapes]
        self.regions.emit_reduction(self.builder, computation, arguments, slots)
        return [slot.load(self.builder, (), 1) for slot in slots]

    def emit_dot(self, instruction: Instruction, values: Values) -> list[Leaf]:
        lhs, rhs = (self._in_memory(values[operand][0], operand.shape) for operand in instruction.operands)
        shape = instruction.shape
        output = self._array(Value(instruction), shape) if shape.rank else self._scalar_slot(shape)
        scratch = self.assignment.scratch.get(instruction)
        pointer = None if scratch is None else self._buffer_pointer(scratch)
        self.regions.emit_contraction(self.builder, instruction, lhs, rhs, output, pointer)
        return [output if shape.rank else output.load(self.builder, (), 1)]

    def _in_memory(self, value: Leaf, shape: Shape) -> Array:
        if isinstance(value, Array):
            return value
        slot = self._scalar_slot(shape)
        slot.store(self.builder, (), value, 1)
        return slot

    def _scalar_slot(self, shape: Shape) -> Array:
        """Stack memory for one scalar."""
        with self.builder.goto_entry_block():
            return Array(stack_memory(self.builder, 16, 16), Shape(shape.element_type))


EMITTERS |= {
    "tuple": ModuleEmitter.emit_tuple,
    "get-tuple-element": ModuleEmitter.emit_get_tuple_element,
    "opt-barrier": ModuleEmitter.emit_optimization_barrier,
    "after-all": lambda emitter, instruction, values: [TOKEN_VALUE],
    "constant": ModuleEmitter.emit_constant,
    "bitcast": ModuleEmitter.emit_bitcast,
    "reshape": ModuleEmitter.emit_reshape,
    "copy": ModuleEmitter.emit_copy,
    "bitcast-convert": ModuleEmitter.emit_bitcast_convert,
    "dynamic-update-slice": ModuleEmitter.emit_dynamic_update_slice,
    "scatter": scatter_emission.scatter,
    "fusion": ModuleEmitter.emit_fusion,
    "reduce": ModuleEmitter.emit_reduce,
    "reduce-window": windows_and_sorting.reduce_window,
    "select-and-scatter": windows_and_sorting.select_and_scatter,
    "sort": windows_and_sorting.sort,
    "scan": windows_and_sorting.scan,
    "topk": windows_and_sorting.top_k,
    "dot": ModuleEmitter.emit_dot,
    **dense_algebra.EMITTERS,
    "call": function_calls.emit_call,
    "while": while_loops.emit_while,
    "conditional": branches.emit_conditional,
}
