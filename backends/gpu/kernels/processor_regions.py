"""Fused loops and reductions as the CPU backend's nests, for devices that are processors: kernels of one thread a block.

Each kernel computes a piece of a nest, by vectors (see `nests`). Regions that work row by row on the same rows run one after
another for a few rows at a time, as on the CPU backend, in one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from llvmlite import ir

from ....compile.aliasing import Value
from ....compile.fused_computations import as_computation, has_scan, producers, result_roots
from ....compile.in_place import update_of
from ....hlo import Computation, Instruction, array_leaves, make_instruction
from ...cpu.region_functions import UNDIVIDED, Division, most_pieces
from ...cpu.regions.loop import emit_loop, emit_loop_at
from ...cpu.regions.parts import combine_parts, emit_part, has_parts, most_parts
from ...cpu.regions.reduction import emit_reduction
from ...cpu.row_groups import Region, RowGroups
from ...cpu.work_estimate import nanoseconds
from ...llvm.arrays import Array
from ...llvm.elemental import Binding, ElementalEmitter, clamped_starts
from ...llvm.index import Affine
from ...llvm.reductions import Reduction
from ..emitter_table import ELEMENTS, ON_PROCESSORS, ProcessorForm, has_code
from ..frame import ALIGNMENT, Frame
from ..kernel import ONE_THREAD, Grid, Kernel
from ..operations import scalars
from ..processor_frame import launch_region, placed_array, stored
from ..values import Leaf, Stored, Values
from .dynamic_update_slice import dynamic_update_slice, emit_update
from .loop import emit_loop as emit_elements
from .nests import emit_on_processor, scratch_on_processor
from .truth_words import as_given, in_words


@dataclass(frozen=True)
class _Region(Region):
    """A region, and the instruction that it is of."""

    instruction: Instruction = field(kw_only=True)


class RegionKernels:
    """What nests and row groups ask of `RegionFunctions`, outside of kernels, where there is no builder, and in them."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.target = frame, frame.target.processor
        self.sources: dict[Computation, Any] = {}  # where computations come from, for messages

    def number(self, computation: Computation) -> int:
        return self.frame.kernels.number(computation)

    @staticmethod
    def is_divided(work: int) -> bool:
        """Each region is a kernel, which may have one piece."""
        return True

    def emit(
        self,
        builder: ir.IRBuilder | None,
        key: tuple,
        values: list[Binding],
        emit: Callable[[ir.IRBuilder, list[Binding]], None],
        weight: int,
        division: Division = UNDIVIDED,
    ) -> int:
        """Emit a region in the kernel that is being written, or launch one; how many pieces there are."""
        if builder is not None:
            emit(builder, values)
            return 1
        kind, computation, *rest = key
        wanted = max(1, min(division.most, self.frame.pieces(division.work)))
        full_key = (kind, self.number(computation), *rest, wanted)
        return launch_region(self.frame, kind, full_key, values, emit, wanted, source=self.sources.get(computation))


Nest = Callable[["ir.IRBuilder | None", RegionKernels, _Region], None]


def _row_groups(frame: Frame) -> RowGroups:
    if frame.row_groups is None:
        frame.row_groups = RowGroups(RegionKernels(frame))
    return frame.row_groups


def _region(frame: Frame, instruction: Instruction, computation: Computation, values: Values, nest: Nest) -> _Region:
    outputs = [output for output in frame.outputs(instruction) if output is not None]
    of = frame.assignment.of
    leaves = [values[operand][0] for operand in instruction.operands]
    arguments = [placed_array(leaf) if isinstance(leaf, Stored) and leaf.shape.rank else leaf for leaf in leaves]
    has_arrays = outputs[0].shape.rank > 0
    argument_buffers = [of(Value(operand)) if operand.shape.rank else None for operand in instruction.operands]
    output_buffers = [of(Value(instruction, leaf)) for leaf in range(len(outputs))] if has_arrays else []
    places = {output.place for output in outputs}
    in_place = any(isinstance(one, Array) and one.pointer.place in places for one in arguments)
    _row_groups(frame).regions.sources[computation] = instruction.source
    placed = [placed_array(output) for output in outputs]
    return _Region(computation, arguments, placed, in_place, argument_buffers, output_buffers, nest, instruction=instruction)


def _launch(frame: Frame, region: _Region) -> list[Leaf]:
    """Emit a region, some time before its results are needed."""
    groups = _row_groups(frame)
    if region.output_buffers and region.outputs[0].shape.size:
        groups.add(None, region)
    else:
        groups.flush(None)
        region.emit(None, groups.regions)
    return list(map(stored, region.outputs))


def _loop(builder: ir.IRBuilder | None, regions: RegionKernels, region: _Region) -> None:
    first, kept = len(region.arguments), region.kept

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        arguments, outputs = bindings[:first], bindings[first:]
        emit_loop(builder, regions.target, region.computation, arguments, outputs, region.in_place, kept=kept)

    key = ("loop", region.computation, region.in_place, kept)
    work = nanoseconds(region.computation)
    regions.emit(builder, key, [*region.arguments, *region.outputs], emit, 1, Division(work))


def _reduction(builder: ir.IRBuilder | None, regions: RegionKernels, region: _Region) -> None:
    """A computation whose root is a reduce."""
    region = _in_words(regions, region)
    is_divided = builder is None and regions.frame.pieces(nanoseconds(region.computation)) > 1
    if is_divided and _parts(region.computation):
        _reduction_in_parts(regions, region)
        return
    first = len(region.arguments)

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        reduction = _reduction_of(builder, region.computation, bindings[:first])
        outputs = bindings[first:]
        arrays = [output for output in outputs if output.shape.rank]
        for slot, value in zip(outputs, emit_reduction(builder, regions.target, reduction, arrays)):
            slot.store(builder, (), value, 1)

    key = ("reduce", region.computation)
    work = nanoseconds(region.computation)
    regions.emit(builder, key, [*region.arguments, *region.outputs], emit, 10, Division(work))


def _in_words(regions: RegionKernels, region: _Region) -> _Region:
    """The same of words, where truth values are reduced that may be taken for such."""
    computation = in_words(region.computation)
    if computation is region.computation:
        return region
    regions.sources[computation] = regions.sources.get(region.computation)
    arguments = as_given(computation.parameters, region.arguments)
    return replace(region, computation=computation, arguments=arguments, outputs=as_given([computation.root], region.outputs))


def _reduction_of(builder: ir.IRBuilder, computation: Computation, arguments: list[Binding]) -> Reduction:
    reduce = computation.root
    count = len(reduce.operands) // 2
    scalars = ElementalEmitter(builder, 1, dict(zip(computation.parameters, arguments)))
    init_values = [scalars.emit(init, ()) for init in reduce.operands[count:]]
    reduced = tuple(sorted(reduce.attributes["dimensions"]))
    return Reduction(
        producers(computation, reduce.operands[:count]), arguments, init_values, reduced, reduce.attributes["to_apply"]
    )


def _parts(computation: Computation) -> int:
    """Into how many parts what is reduced is divided, at most; 0 where the results are."""
    reduce, work = computation.root, nanoseconds(computation)
    reduced_values = producers(computation, reduce.operands[: len(reduce.operands) // 2])
    if most_pieces(work) == 1 or not has_parts(reduced_values, tuple(sorted(reduce.attributes["dimensions"])), reduce):
        return 0
    return min(most_parts(array_leaves(reduce.shape)), most_pieces(work))


def _part_offsets(computation: Computation) -> list[int]:
    """Where the parts of each result begin in the memory of the reduction; the last number is where they end."""
    offsets, parts = [0], _parts(computation)
    for shape in array_leaves(computation.root.shape):
        offsets.append(offsets[-1] + -(-parts * shape.byte_size // ALIGNMENT) * ALIGNMENT)
    return offsets


def _reduction_in_parts(regions: RegionKernels, region: _Region) -> None:
    frame, computation, first = regions.frame, region.computation, len(region.arguments)
    most = _parts(computation)
    parts = [
        placed_array(frame.scratch(region.instruction, shape.with_dimensions((most, *shape.dimensions)), offset))
        for shape, offset in zip(array_leaves(computation.root.shape), _part_offsets(computation))
    ]
    shapes = [output.shape for output in region.outputs]

    def emit(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        reduction = _reduction_of(builder, computation, bindings[:first])
        emit_part(builder, regions.target, reduction, bindings[first:], shapes)

    values = [*region.arguments, *parts]
    pieces = regions.emit(None, ("part", computation), values, emit, 10, Division(nanoseconds(computation), most))

    def combine(builder: ir.IRBuilder, bindings: list[Binding]) -> None:
        reduction = _reduction_of(builder, computation, bindings[:first])
        given, outputs = bindings[first : first + len(parts)], bindings[first + len(parts) :]
        combine_parts(builder, regions.target, reduction, given, outputs, pieces)

    regions.emit(None, ("combine", computation, pieces), [*values, *region.outputs], combine, 10)


def _scratch(instruction: Instruction) -> int:
    """The parts of a reduction, and what the CPU backend asks for."""
    computation = _computation(instruction)
    if computation.root.opcode == "scatter":
        return scratch_on_processor(instruction)
    return _part_offsets(in_words(computation))[-1] if computation.root.opcode == "reduce" else 0


def _computation(instruction: Instruction) -> Computation:
    return instruction.attributes["calls"] if instruction.opcode == "fusion" else as_computation(instruction)


def _emit(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """A fusion, or an instruction outside of any."""
    computation = _computation(instruction)
    update = update_of(instruction)
    if update is not None and update.opcode == "dynamic-update-slice" and update.operands[1].shape.size == 1:
        return emit_update(frame, instruction, update, values)
    if has_scan(computation) or update is not None:
        return emit_on_processor(frame, instruction, values)
    roots = result_roots(computation)
    if roots[0].opcode == "reduce":
        return _launch(frame, _region(frame, instruction, computation, values, _reduction))
    if roots[0].shape.rank == 0:
        return scalars(frame, instruction, computation, values)
    if roots[0].shape.size == 1:
        return emit_elements(frame, instruction, computation, values)
    return _launch(frame, _region(frame, instruction, computation, values, _loop))


def _update(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """An update of a block of an array, where it lies."""
    operand, update, *starts = instruction.operands
    if update.shape.size == 1:
        return dynamic_update_slice(frame, instruction, values)
    output = frame.updated(instruction, 0, operand, values)
    if not update.shape.size:
        return [output]
    copied = as_computation(make_instruction("copy", (update,), {}, update.shape))
    target, work = frame.target.processor, nanoseconds(copied)

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, (block, *given) = kernel.builder, bindings
        emitter = ElementalEmitter(b, 1, dict(zip(starts, given)))
        bases = clamped_starts(emitter, tuple(starts), operand.shape.dimensions, update.shape.dimensions)
        emit_loop_at(b, target, copied, [block], arrays[0], tuple(map(Affine, bases)), in_place=False)

    wanted = frame.pieces(work)
    grid = Grid((wanted, 1, 1), (1, 1, 1)) if wanted > 1 else ONE_THREAD
    inputs = [values[one][0] for one in (update, *starts)]
    frame.launch("update", frame.number(instruction), inputs, [output], grid, write, instruction.source, pieces=wanted > 1)
    return [output]


def _is_array(instruction: Instruction) -> bool:
    return has_code(instruction) and instruction.shape.rank > 0


ON_PROCESSORS |= {
    "fusion": ProcessorForm(_emit, has_code, _scratch),
    "reduce": ProcessorForm(_emit, has_code, _scratch),
    ELEMENTS: ProcessorForm(_emit, has_code, lambda instruction: 0),
    "dynamic-update-slice": ProcessorForm(_update, _is_array, lambda instruction: 0),
}
