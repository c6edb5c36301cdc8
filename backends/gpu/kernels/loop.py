"""The elementwise kernel: each thread computes a few neighbouring elements of the results, or some such vectors."""

from __future__ import annotations

from math import prod

from llvmlite import ir

from ....compile.fused_computations import as_computation, result_roots
from ....hlo import Computation, ElementType, Instruction
from ...llvm import start_indices
from ...llvm.arrays import Array
from ...llvm.collapse import collapse_dimensions
from ...llvm.elemental import Binding, ElementalEmitter
from ...llvm.index import Affine, Index
from ...llvm.types import I64, RegisterValue
from ..emitter_table import ELEMENTS, emits
from ..frame import Frame
from ..kernel import Grid, Kernel, index_of_vector, of_shape
from ..launches_together import AnySize
from ..operations import scalars
from ..sizes import of_any_size
from ..values import Leaf, Stored, Values
from .transpose import TiledForm, tiled_form, write_tiles
from .vectors import aligned, is_elementwise, lanes_for, vectors_ahead

THREADS = 256


def emit_loop(frame: Frame, instruction: Instruction, computation: Computation, values: Values) -> list[Leaf]:
    """Compute the results of a fused computation, arrays of the same dimensions."""
    outputs = [output for output in frame.outputs(instruction) if output is not None]
    launch_loop(frame, instruction, computation, values, outputs)
    return list(outputs)


def launch_loop(
    frame: Frame,
    instruction: Instruction,
    computation: Computation,
    values: Values,
    outputs: list[Stored],
    origin: list[Leaf] | None = None,
) -> None:
    """Compute a fused computation's results into arrays; those of a block whose first element is at an origin, if that is
    given: scalars, which are moved so that the block lies inside.
    """
    roots = result_roots(computation)
    if not roots[0].shape.size:
        return
    inputs = [values[operand][0] for operand in instruction.operands]
    if roots[0].shape.size == 1 and not frame.is_grouping:
        write_element(frame, instruction, computation, inputs, outputs, origin)
        return
    collapsed = None if origin is not None else collapse_dimensions(computation)
    walked, shapes = computation, [root.shape for root in roots]
    if collapsed is not None:
        walked = collapsed.computation
        shapes = [root.shape for root in result_roots(walked)]
    dimensions = shapes[0].dimensions
    tiled = tiled_form(walked, frame.target) if origin is None and dimensions else None
    if tiled is not None:
        _launch_tiles(frame, instruction, tiled, inputs, outputs)
        return
    lanes = 1
    if origin is None and dimensions:
        lanes = lanes_for(frame.target.vector_bytes, walked, dimensions[-1])
    count = prod(dimensions) // lanes
    ahead = vectors_ahead(walked, lanes, count)
    grid = Grid.of(-(-count // ahead), THREADS)

    # Where there is nothing besides the arithmetic but a thread's place.
    is_plain = origin is None and ahead == 1 and len(dimensions) == 1 and all(map(is_elementwise, walked.instructions))

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        b, given = kernel.builder, bindings[: len(inputs)]
        if is_plain:
            kernel.is_plain = True
        bound = {
            parameter: aligned(binding, parameter.shape, lanes) if isinstance(binding, Array) else binding
            for parameter, binding in zip(walked.parameters, given)
        }
        starts = list(zip(bindings[len(inputs) :], [leaf.shape.element_type for leaf in origin or ()]))

        def store(index: Index, computed: list[RegisterValue]) -> None:
            place = index if origin is None else _moved(b, index, starts, arrays[0], dimensions)
            for array, value, shape in zip(arrays, computed, shapes):
                target = array if origin is not None else aligned(array, shape, lanes)
                target.store(b, place, value, lanes)

        first = kernel.number(ahead)
        end = first.type(count)
        if kernel.count is not None:
            end = kernel.count if first.type == I64 else b.trunc(kernel.count, first.type)
        with b.if_then(b.icmp_unsigned("<", first, end)):
            emitter, vectors = ElementalEmitter(b, lanes, bound), []
            for number in range(ahead):
                # What is behind the last vector is the thread's first one once more, and not stored: no other thread writes
                # that, should a result lie where an input does.
                own, is_inside = first, None
                if number:
                    own = b.add(first, first.type(number * THREADS))
                    is_inside = b.icmp_unsigned("<", own, own.type(count))
                    own = b.select(is_inside, own, first)
                index = index_of_vector(b, own, dimensions, lanes)
                vectors.append((is_inside, index, [emitter.emit(root, index) for root in result_roots(walked)]))
            for is_inside, index, computed in vectors:
                if is_inside is None:
                    store(index, computed)
                else:
                    with b.if_then(is_inside):
                        store(index, computed)

    key = (frame.kernels.number(walked), lanes, ahead, origin is not None)
    name = roots[0].opcode
    any_size = None
    if is_plain and count > 1 and frame.is_grouping:  # the place of the only vector is known
        own = of_any_size(walked)
        any_size = None if own is None else AnySize((frame.kernels.number(own), lanes), count)
    frame.launch(name, key, [*inputs, *(origin or ())], outputs, grid, write, instruction.source, any_size=any_size)


def write_element(
    frame: Frame,
    instruction: Instruction,
    computation: Computation,
    inputs: list[Leaf],
    outputs: list[Stored],
    origin: list[Leaf] | None = None,
) -> None:
    """The only element of each of the results, which waits with the scalars; at an origin, if that is given."""
    roots = result_roots(computation)
    first = tuple([Affine(0)] * roots[0].shape.rank)

    def emit(b: ir.IRBuilder, bindings: list[Binding], arrays: list[Array]) -> None:
        emitter = ElementalEmitter(b, 1, dict(zip(computation.parameters, bindings)))
        computed = [emitter.emit(root, first) for root in roots]
        starts = list(zip(bindings[len(inputs) :], [leaf.shape.element_type for leaf in origin or ()]))
        place = first if origin is None else _moved(b, first, starts, arrays[0], roots[0].shape.dimensions)
        for array, value in zip(arrays, computed):
            array.store(b, place, value, 1)

    key = (frame.kernels.number(computation), origin is not None)
    frame.write_element(key, [*inputs, *(origin or ())], outputs, emit, instruction)


def _launch_tiles(frame: Frame, instruction: Instruction, form: TiledForm, inputs: list[Leaf], outputs: list[Stored]) -> None:
    roots = result_roots(form.computation)

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        given = [
            of_shape(binding, parameter.shape) if isinstance(binding, Array) else binding
            for binding, parameter in zip(bindings, form.computation.parameters)
        ]
        write_tiles(kernel, form, given, [of_shape(array, root.shape) for array, root in zip(arrays, roots)])

    key = frame.kernels.number(form.computation)
    frame.launch("transpose", key, inputs, outputs, form.grid, write, instruction.source)


def _moved(
    b: ir.IRBuilder, index: Index, origin: list[tuple[Binding, ElementType]], array: Array, sizes: tuple[int, ...]
) -> Index:
    """The index behind an origin, at which a block of these sizes lies inside of the array."""
    moved = []
    for component, (start, element_type), whole, size in zip(index, origin, array.shape.dimensions, sizes):
        if whole != size:
            component = start_indices.moved(b, component, start_indices.clamped(b, element_type, start, whole - size), 1)
        moved.append(component)
    return tuple(moved)


@emits(ELEMENTS)
def single(frame: Frame, instruction: Instruction, values: Values) -> list[Leaf]:
    """An instruction outside of any fusion: a scalar, or a kernel of its own."""
    computation = as_computation(instruction)
    if instruction.shape.rank == 0:
        return scalars(frame, instruction, computation, values)
    return emit_loop(frame, instruction, computation, values)
