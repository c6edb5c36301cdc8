"""The scan of single lines, along the last dimension, whose elements are neighbours.

Elements are combined one after the other, as NumPy does. Where the order makes no difference, a vector is scanned in as many
steps as its number of lanes has bits, and a long line in parts (scan_parts.py).
"""

from __future__ import annotations

from llvmlite import ir

from ....hlo import Shape
from ....hlo.operation import ASSOCIATIVE, SELECTING
from ...llvm import index as indices
from ...llvm.arrays import Array, stack_array
from ...llvm.elementary_calls import lanes_for_calls
from ...llvm.index import Affine, Base, Component, Index
from ...llvm.loops import carried_loop
from ...llvm.module import may_contract
from ...llvm.pieces import independent_loops
from ...llvm.scans import Scan
from ...llvm.types import I32, RegisterValue, broadcast_lanes
from ..nest_samples import changing_sign, running_sum, samples
from ..target import Target
from ..vectors import VectorLoop, lanes_of_scan

# So many elements of a line are computed before they are scanned, and after they are.
_BLOCK = 256


@samples(
    """
    x = s32[1003] parameter(0)
    init = s32[] parameter(1)
    ROOT y = (s32[1003], s32[]) scan(x, init), dimensions={0}, num_carries=1, is_reverse=true, to_apply=running_sum_s32
    """,
    # An input tells the first step from others.
    """
    x = f32[600] parameter(0)
    init = f32[] parameter(1)
    number = s64[600] iota(), iota_dimension=0
    zero = s64[] constant(0)
    zeros = s64[600] broadcast(zero), dimensions={}
    first = pred[600] compare(number, zeros), direction=EQ
    ROOT y = (f32[600], f32[]) scan(x, first, init), dimensions={0}, num_carries=1, to_apply=changing_sign_
    """,
    calls=running_sum("s32[]") + changing_sign(""),
)
@samples(
    """
    x = f32[600] parameter(0)
    init = f32[] parameter(1)
    ROOT y = (f32[600], f32[]) scan(x, init), dimensions={0}, num_carries=1, to_apply=decaying
    """,
    calls="""decaying {
      x = f32[] parameter(0)
      carry = f32[] parameter(1)
      half = f32[] constant(0.5)
      rest = f32[] multiply(carry, half)
      sum = f32[] add(rest, x)
      ROOT both = (f32[], f32[]) tuple(sum, sum)
    }""",
    tolerance=1e-6,
)
def emit_lines(scan: Scan, target: Target) -> None:
    """Each line on its own."""
    with independent_loops(scan.builder, scan.slice_sizes) as place:
        lanes = lanes_of_scan(target, scan, scan.steps)
        in_any_order = scans_in_any_order(scan) and 1 < lanes <= scan.steps
        carries = (_vectors if in_any_order else _blocks)(scan, place, scan.first_carries(place, 1), lanes)
        scan.store_carries(place, carries, 1)


def scans_in_any_order(scan: Scan) -> bool:
    """Whether each step does one operation on the carry and the element, and it makes no difference which ones come first.

    Where a module allows fast math, that floats are rounded in another order makes none.
    """
    if len(scan.inputs) != 1 or len(scan.inits) != 1 or any(one is not scan.step_results[0] for one in scan.step_results):
        return False
    operation = scan.step_results[0]
    if tuple(reversed(operation.operands)) != tuple(scan.step.parameters) or operation.shape.element_type.is_complex:
        return False
    return operation.has_trait(ASSOCIATIVE) and (not rounds(scan) or may_contract(scan.builder.module))


def rounds(scan: Scan) -> bool:
    """Whether what a step combines is rounded."""
    operation = scan.step_results[0]
    return operation.shape.element_type.is_float and not operation.has_trait(SELECTING)


def _vectors(scan: Scan, place: Index, carries: list[RegisterValue], lanes: int) -> list[RegisterValue]:
    """Whole vectors of elements, and what remains element by element."""
    carries = scanned_vectors(scan, place, carries, lanes, 0, scan.whole(lanes))
    return scanned_elements(scan, place, scan.steps // lanes * lanes, scan.steps, carries)


def vector_index(scan: Scan, place: Index, lanes: int, number: Base) -> Index:
    """Where the elements of the vector with this number are, counted in the direction of the scan."""
    start = indices.multiply_base(scan.builder, number, lanes)
    if scan.is_reverse:
        start = indices.add_base(scan.builder, indices.multiply_base(scan.builder, start, -1), scan.steps - lanes)
    return scan.at(place, Affine(start, 1))


def scanned_vectors(
    scan: Scan, place: Index, carries: list[RegisterValue], lanes: int, start: Base, stop: Base, most: int | None = None
) -> list[RegisterValue]:
    """The carries behind the vectors from ``start`` to before ``stop``; ``most`` of them where these are not known."""
    b = scan.builder
    last_lane = 0 if scan.is_reverse else lanes - 1

    def combined(first: RegisterValue, second: RegisterValue) -> RegisterValue:
        return scan.stepped([second], [first], lanes)[0][0]

    def vector(number: ir.Value, carries: list[RegisterValue]) -> list[RegisterValue]:
        index = vector_index(scan, place, lanes, number)
        (values,) = scan.elements(index, lanes)
        distance = 1
        while distance < lanes:
            moved = [lane + distance if scan.is_reverse else lane - distance for lane in range(lanes)]
            inside = [0 <= lane < lanes for lane in moved]
            before = _shuffled(b, values, values, [lane if known else 0 for lane, known in zip(moved, inside)])
            kept = [lane + lanes if known else lane for lane, known in enumerate(inside)]
            values = _shuffled(b, values, combined(before, values), kept)
            distance *= 2
        values = combined(carries[0], values)
        scan.store(index, [values] * scan.output_count, lanes)
        return [_shuffled(b, values, values, [last_lane] * lanes)]

    first = [broadcast_lanes(b, carry, lanes) for carry in carries]
    (carry,) = carried_loop(b, start, stop, 1, first, vector, "scan", most)
    return [b.extract_element(carry, I32(0))]


def _shuffled(b: ir.IRBuilder, first: ir.Value, second: ir.Value, lanes: list[int]) -> ir.Value:
    return b.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes]))


def scanned_elements(scan: Scan, place: Index, start: Base, stop: Base, carries: list[RegisterValue]) -> list[RegisterValue]:
    """The steps from ``start`` to before ``stop``, one by one."""

    def step(number: Base, carries: list[RegisterValue], is_first: bool | None) -> list[RegisterValue]:
        index = scan.at(place, Affine(scan.position(number)))
        outputs, carries = scan.stepped(scan.elements(index, 1, None, is_first), carries, 1)
        scan.store(index, outputs, 1)
        return carries

    return scan.each_step(start, stop, carries, step)


def _blocks(scan: Scan, place: Index, carries: list[RegisterValue], lanes: int) -> list[RegisterValue]:
    """Element by element; what is computed from arrays is computed by vectors, a block of the line at a time."""
    inputs_wait = any(x not in scan.bindings and x not in scan.marks for x in scan.inputs)
    outputs_wait = any(root not in dict(scan.parts) for root, _ in scan.results)
    if lanes == 1 or not (inputs_wait or outputs_wait):
        return scanned_elements(scan, place, 0, scan.end, carries)
    return _Blocks(scan, place, lanes, inputs_wait, outputs_wait).emit(carries)


class _Blocks:
    """The blocks of one line, with memory for the elements of inputs and outputs that wait there."""

    def __init__(self, scan: Scan, place: Index, lanes: int, inputs_wait: bool, outputs_wait: bool) -> None:
        self.scan, self.place, self.builder = scan, place, scan.builder
        self.lanes = lanes_for_calls(self.builder.module, scan.outside, lanes, _BLOCK)
        self.inputs = self._memory(scan.inputs) if inputs_wait else None
        self.outputs = self._memory(scan.step_results[: scan.output_count]) if outputs_wait else None

    def _memory(self, instructions) -> list[Array]:
        shapes = [Shape(instruction.shape.element_type, (_BLOCK,)) for instruction in instructions]
        return [stack_array(self.builder, shape) for shape in shapes]

    def emit(self, carries: list[RegisterValue]) -> list[RegisterValue]:
        whole, rest = divmod(self.scan.steps, _BLOCK)

        def block(number: ir.Value, carries: list[RegisterValue]) -> list[RegisterValue]:
            start = indices.multiply_base(self.builder, number, _BLOCK)
            if self.scan.is_reverse:
                start = indices.add_base(self.builder, indices.multiply_base(self.builder, start, -1), self.scan.steps - _BLOCK)
            return self._block(start, _BLOCK, carries)

        carries = carried_loop(self.builder, 0, self.scan.whole(_BLOCK), 1, carries, block, "block")
        return self._block(0 if self.scan.is_reverse else whole * _BLOCK, rest, carries) if rest else carries

    def _block(self, first: Base, count: int, carries: list[RegisterValue]) -> list[RegisterValue]:
        """The positions from ``first`` on."""
        b, scan = self.builder, self.scan

        def index(component: Component) -> Index:
            return scan.at(self.place, indices.add(b, component, first))

        def compute(component: Component, lanes: int, mask: ir.Value | None) -> None:
            for array, value in zip(self.inputs, scan.elements(index(component), lanes, mask)):
                array.store(b, (component,), value, lanes, mask)

        def step(number: Base, carries: list[RegisterValue]) -> list[RegisterValue]:
            place = Affine(number)
            if scan.is_reverse:
                place = indices.add(b, indices.scale(b, place, -1), count - 1)
            if self.inputs is None:
                elements = scan.elements(index(place), 1)
            else:
                elements = [array.load(b, (place,), 1) for array in self.inputs]
            outputs, carries = scan.stepped(elements, carries, 1)
            if self.outputs is None:
                scan.store(index(place), outputs, 1)
            else:
                for array, value in zip(self.outputs, outputs):
                    array.store(b, (place,), value, 1)
            return carries

        def finish(component: Component, lanes: int, mask: ir.Value | None) -> None:
            scan.store(index(component), [array.load(b, (component,), lanes, mask) for array in self.outputs], lanes, mask)

        vectors = VectorLoop(b, self.lanes, in_place=False)
        if self.inputs is not None:
            vectors.emit(count, compute)
        carries = carried_loop(b, 0, count, 1, carries, step, "scan")
        if self.outputs is not None:
            vectors.emit(count, finish)
        return carries
