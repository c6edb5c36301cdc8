"""About how long a computation takes, read from its instructions: enough to tell what is worth dividing among threads."""

from __future__ import annotations

from ...compile.trip_count import known_trip_count
from ...hlo import Computation, Instruction, Shape, leaves
from ...hlo.operation import CONTROL_FLOW, GIVEN

# Of a cheap vector instruction, and of bytes that come from a cache, on one core.
_NANOSECONDS_OF_INSTRUCTION = 0.25
_NANOSECONDS_OF_BYTE = 0.03
_VECTOR_BYTES = 32
_USUAL_TRIPS = 16
# Of a vector of products added to sums in registers, and of bytes read in their order from the second-level cache.
_NANOSECONDS_OF_PRODUCT = 0.15
_NANOSECONDS_OF_BYTE_IN_ORDER = 0.016
CONTRACTIONS = frozenset({"dot", "convolution"})


def nanoseconds(computation: Computation, rounds: int | None = None) -> int:
    """For one run of a computation whose parameters and results lie in memory.

    rounds: of each loop, in place of those that it has.
    """
    if computation.root.opcode in CONTRACTIONS and all(operand.opcode == "parameter" for operand in computation.root.operands):
        return int(_of_contraction(computation.root))
    written = sum(shape.byte_size for shape in leaves(computation.root.shape))
    traffic = (written + _bytes_read(computation)) * _NANOSECONDS_OF_BYTE
    return int(_steps(computation, {}, rounds) * _NANOSECONDS_OF_INSTRUCTION + traffic)


def _of_contraction(contraction: Instruction) -> float:
    """Register blocks take as long as the processor takes to multiply; a product with a vector, as long as it takes to read."""
    shapes = tuple([operand.shape for operand in contraction.operands])
    work = contraction.operation.work(shapes, contraction.shape, contraction.attributes) or 0
    read = sum(shape.byte_size for shape in shapes) + contraction.shape.byte_size
    element_type = shapes[0].element_type
    vectors = _vectors(work, work * element_type.byte_size) * (2 if element_type.is_complex else 1)
    return max(vectors * _NANOSECONDS_OF_PRODUCT, read * _NANOSECONDS_OF_BYTE_IN_ORDER)


def copying(shape: Shape) -> int:
    """For a copy of an array."""
    return int(2 * shape.byte_size * _NANOSECONDS_OF_BYTE)


def _bytes_read(computation: Computation) -> int:
    """The bytes of parameters, of which some operations need no more elements than they give."""
    read: dict[Instruction, int] = {}
    for instruction in computation.instructions:
        for operand in instruction.operands:
            if operand.opcode == "parameter" and not operand.shape.is_tuple:
                given = None if instruction.operation.cost is None else sum(leaf.size for leaf in leaves(instruction.shape))
                most = operand.shape.size if given is None else min(operand.shape.size, given)
                read[operand] = max(read.get(operand, 0), most * operand.shape.element_type.byte_size)
    return sum(read.values())


def _steps(computation: Computation, known: dict[Computation, float], rounds: int | None) -> float:
    """The vector instructions that a computation takes."""
    found = known.get(computation)
    if found is None:
        found = sum([_steps_of_one(instruction, known, rounds) for instruction in computation.instructions])
        known[computation] = found
    return found


def _steps_of_one(instruction: Instruction, known: dict[Computation, float], rounds: int | None) -> float:
    if instruction.has_trait(GIVEN):
        return 0.0
    if instruction.opcode in CONTRACTIONS:
        return _of_contraction(instruction) / _NANOSECONDS_OF_INSTRUCTION
    called = [_steps(computation, known, rounds) for computation in instruction.called_computations]
    if instruction.opcode == "while":
        return sum(called) * (_rounds(instruction) if rounds is None else rounds)
    if instruction.has_trait(CONTROL_FLOW):
        return max(called)
    cost = instruction.operation.cost
    if cost is not None:
        # The rest of an array that is updated stays where it is.
        computed = instruction.shape if instruction.operation.updated_operand is None else instruction.operands[1].shape
        return cost * sum(_vectors(shape.size, shape.byte_size) for shape in leaves(computed))
    shapes = tuple([operand.shape for operand in instruction.operands])
    work = instruction.operation.work(shapes, instruction.shape, instruction.attributes) or 0
    element_bytes = max((leaf.element_type.byte_size for shape in shapes for leaf in leaves(shape)), default=1)
    return _vectors(work, work * element_bytes) * max(1.0, sum(called))


def _rounds(loop: Instruction) -> int:
    trips = known_trip_count(loop)
    return _USUAL_TRIPS if trips is None else trips.count


def _vectors(elements: int, size: int) -> float:
    """As many vectors as hold these elements; a single element takes an instruction, too."""
    return min(float(elements), max(1.0, size / _VECTOR_BYTES))
