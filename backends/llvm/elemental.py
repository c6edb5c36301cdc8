"""The elemental emitter: (instruction, index) to value.

Producers are computed inside their consumer's loop: asked for an instruction's element at an index, the emitter works out at
which indices its operands are needed and emits those first. Data movement is index arithmetic and costs nothing of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...hlo import Instruction, component_type
from ...hlo.operation import ELEMENTWISE
from ...hlo.shape import row_major_strides
from ...hlo.slices import slice_dimensions
from . import index as indices
from . import start_indices
from .arrays import Array
from .elementary.wide_registers import words_as_floats
from .elementwise import emit_elementwise
from .index import Affine, Base, Component, Index
from .known_ranges import known_range, note_range
from .scalar_computations import constant_value, emit_scalar_computation, same_bits
from .types import (
    I64,
    ComplexValue,
    RegisterValue,
    broadcast_lanes,
    integer_constant,
    register_type,
    round_to_type,
    scalar_register_type,
    selected,
)

Binding = Array | RegisterValue
Mask = ir.Value | None
IndexRule = Callable[["ElementalEmitter", Instruction, Index, Mask], RegisterValue]

INDEX_RULES: dict[str, IndexRule] = {}


def index_rule(opcode: str) -> Callable[[IndexRule], IndexRule]:
    def register(rule: IndexRule) -> IndexRule:
        INDEX_RULES[opcode] = rule
        return rule

    return register


class ElementalEmitter:
    """Emits elements of instructions, ``lanes`` at a time.

    ``bindings`` gives arrays and scalar registers for the instructions where emission stops (parameters, materialized values).
    Results are remembered by (instruction, index), so that what several consumers share is computed once.
    """

    def __init__(self, builder: ir.IRBuilder, lanes: int, bindings: dict[Instruction, Binding]) -> None:
        self.builder, self.lanes, self.bindings = builder, lanes, bindings
        self._memo: dict[tuple, tuple] = {}

    def emit(self, instruction: Instruction, index: Index, mask: Mask = None) -> RegisterValue:
        """The elements at an index; lanes outside the mask hold anything.

        A component that is the same in all lanes must be in range whatever the mask says.
        """
        if instruction.shape.rank == 0:
            index, mask = (), None
        key = (instruction, index, mask)
        known = self._memo.get(key)
        if known is None:
            known = self._memo[key] = self._emit(instruction, index, mask)
        return known

    def _emit(self, instruction: Instruction, index: Index, mask: Mask) -> RegisterValue:
        bound = self.bindings.get(instruction)
        if bound is not None:
            if isinstance(bound, Array):
                return bound.load(self.builder, index, self.lanes, mask)
            return broadcast_lanes(self.builder, bound, self.lanes)
        if ELEMENTWISE in instruction.operation.traits:
            operands = [self.emit(operand, index, mask) for operand in instruction.operands]
            return emit_elementwise(self.builder, instruction, operands, self.lanes)
        rule = INDEX_RULES.get(instruction.opcode)
        if rule is None:
            raise NotImplementedError(f"operation {instruction.opcode} has no native code inside a loop nest")
        return rule(self, instruction, index, mask)

    def scalar(self, instruction: Instruction) -> ir.Value:
        """A rank-0 integer as one i64, the same for all lanes."""
        alone = self if self.lanes == 1 else ElementalEmitter(self.builder, 1, self.bindings)
        value = alone.emit(instruction, ())
        if value.type == I64:
            return value
        extend = self.builder.sext if instruction.shape.element_type.kind == "signed" else self.builder.zext
        extended, known = extend(value, I64), known_range(value)
        if known is not None:
            note_range(extended, *known)
        return extended

    def select_elements(self, condition: ir.Value | bool, on_true: RegisterValue, on_false: RegisterValue) -> RegisterValue:
        if isinstance(condition, bool):
            return on_true if condition else on_false
        return selected(self.builder, condition, on_true, on_false)

    def within(self, mask: Mask, *conditions: ir.Value | bool) -> Mask:
        """The mask of lanes that are in the mask and satisfy the conditions."""
        if self.lanes == 1:
            return None
        joined = indices.conjunction(self.builder, mask, *conditions)
        return None if joined is True else indices.condition_value(joined, self.lanes)

    def clamped(self, component: Component, size: int) -> Component:
        """The component itself where lanes differ; moved into [0, size) where all lanes agree, so that it can be read."""
        if isinstance(component, Affine) and component.stride == 0:
            return Affine(indices.clamp_base(self.builder, component.base, 0, size - 1))
        return component


@index_rule("constant")
def _constant(emitter, instruction, index, mask):
    if instruction.shape.rank:
        raise AssertionError(f"{instruction!r}: an array constant must be bound to memory")
    return constant_value(emitter.builder, instruction, emitter.lanes)


@index_rule("broadcast")
def _broadcast(emitter, instruction, index, mask):
    dimensions = instruction.attributes["dimensions"]
    return emitter.emit(instruction.operands[0], tuple(index[dimension] for dimension in dimensions), mask)


@index_rule("copy")
def _copy(emitter, instruction, index, mask):
    return emitter.emit(instruction.operands[0], index, mask)


@index_rule("transpose")
def _transpose(emitter, instruction, index, mask):
    operand_index: list = [None] * len(index)
    for position, dimension in enumerate(instruction.attributes["dimensions"]):
        operand_index[dimension] = index[position]
    return emitter.emit(instruction.operands[0], tuple(operand_index), mask)


@index_rule("slice")
def _slice(emitter, instruction, index, mask):
    b = emitter.builder
    ranges = instruction.attributes["slice"]
    moved = (indices.add(b, indices.scale(b, component, d.stride), d.start) for component, d in zip(index, ranges))
    return emitter.emit(instruction.operands[0], tuple(moved), mask)


@index_rule("reverse")
def _reverse(emitter, instruction, index, mask):
    b, (operand,) = emitter.builder, instruction.operands
    reversed_ = instruction.attributes["dimensions"]
    moved = (
        indices.add(b, indices.scale(b, component, -1), operand.shape.dimensions[d] - 1) if d in reversed_ else component
        for d, component in enumerate(index)
    )
    return emitter.emit(operand, tuple(moved), mask)


@index_rule("reshape")
def _reshape(emitter, instruction, index, mask):
    (operand,) = instruction.operands
    source, target = operand.shape.dimensions, instruction.shape.dimensions
    kept = [component for component, size in zip(index, target) if size != 1]
    if [size for size in source if size != 1] == [size for size in target if size != 1]:
        following = iter(kept)
        return emitter.emit(operand, tuple(next(following) if size != 1 else indices.ZERO for size in source), mask)
    linear = indices.linear_offset(emitter.builder, index, row_major_strides(target), emitter.lanes)
    return emitter.emit(operand, _delinearize(emitter, linear, source), mask)


def _delinearize(emitter: ElementalEmitter, linear: Component, dimensions: tuple[int, ...]) -> Index:
    """The index of the element at a position in row-major order."""
    b = emitter.builder
    uniform = isinstance(linear, Affine) and linear.stride == 0
    position = indices.i64(linear.base) if uniform else indices.as_vector(b, linear, emitter.lanes)
    components: list[Component] = []
    for dimension in range(len(dimensions) - 1, -1, -1):
        size = dimensions[dimension]
        if dimension == 0:
            part = position
        else:
            divisor = integer_constant(position.type, size)
            part = b.urem(position, divisor)
            position = b.udiv(position, divisor)
        components.append(Affine(part) if uniform else part)
    return tuple(reversed(components))


@index_rule("concatenate")
def _concatenate(emitter, instruction, index, mask):
    b, (along,) = emitter.builder, instruction.attributes["dimensions"]
    component, result, start = index[along], None, 0
    for operand in instruction.operands:
        size = operand.shape.dimensions[along]
        if size == 0:
            continue
        local = indices.add(b, component, -start)
        above = True if start == 0 else indices.compare(b, ">=", local, 0, emitter.lanes)
        below = indices.compare(b, "<", local, size, emitter.lanes)
        inside = indices.conjunction(b, above, below)
        start += size
        if inside is False:
            continue
        operand_index = (*index[:along], emitter.clamped(local, size), *index[along + 1 :])
        value = emitter.emit(operand, operand_index, emitter.within(mask, inside))
        result = value if result is None else emitter.select_elements(above, value, result)
    return result


@index_rule("pad")
def _pad(emitter, instruction, index, mask):
    b, (operand, padding_value) = emitter.builder, instruction.operands
    filler = emitter.emit(padding_value, ())
    if operand.shape.size == 0:
        return filler
    conditions, operand_index = [], []
    sizes = zip(operand.shape.dimensions, instruction.shape.dimensions)
    for component, (size, full), (low, _, interior) in zip(index, sizes, instruction.attributes["padding"]):
        local = indices.add(b, component, -low)
        if interior:
            local, on_element = _divide_exactly(emitter, local, interior + 1)
            conditions.append(on_element)
        is_last_inside = (full - 1 - low) // (interior + 1) < size
        conditions.append(indices.compare(b, ">=", local, 0, emitter.lanes) if low > 0 else True)
        conditions.append(True if is_last_inside else indices.compare(b, "<", local, size, emitter.lanes))
        operand_index.append(emitter.clamped(local, size))
    inside = indices.conjunction(b, *conditions)
    if inside is False:
        return filler
    value = emitter.emit(operand, tuple(operand_index), emitter.within(mask, inside))
    return emitter.select_elements(inside, value, filler)


def _divide_exactly(emitter: ElementalEmitter, component: Component, step: int) -> tuple[Component, ir.Value]:
    """The component divided by step, and whether nothing remains; a negative component gives a negative quotient."""
    b = emitter.builder
    uniform = isinstance(component, Affine) and component.stride == 0
    position = indices.i64(component.base) if uniform else indices.as_vector(b, component, emitter.lanes)
    if step & (step - 1) == 0:
        shift, low = (integer_constant(position.type, number) for number in (step.bit_length() - 1, step - 1))
        quotient = b.ashr(position, shift)
        exact = b.icmp_signed("==", b.and_(position, low), integer_constant(position.type, 0))
        return (Affine(quotient), broadcast_lanes(b, exact, emitter.lanes)) if uniform else (quotient, exact)
    divisor = integer_constant(position.type, step)
    # Floor division: the sign of the remainder decides whether the truncated quotient is one too large.
    remainder = b.srem(position, divisor)
    zero = integer_constant(position.type, 0)
    negative = b.icmp_signed("<", remainder, zero)
    quotient = b.sdiv(position, divisor)
    quotient = b.sub(quotient, b.select(negative, integer_constant(position.type, 1), zero))
    exact = b.icmp_signed("==", remainder, zero)
    if uniform:
        return Affine(quotient), broadcast_lanes(b, exact, emitter.lanes)
    return quotient, exact


@index_rule("iota")
def _iota(emitter, instruction, index, mask):
    b, element_type = emitter.builder, instruction.shape.element_type
    numbers = indices.as_vector(b, index[instruction.attributes["iota_dimension"]], emitter.lanes)
    real_type = component_type(element_type)
    target = register_type(real_type, emitter.lanes)
    if real_type.is_float:
        value = words_as_floats(b, numbers, target, signed=True)
    else:
        value = numbers if target == numbers.type else b.trunc(numbers, target)
    value = round_to_type(b, real_type, value)
    if element_type.is_complex:
        return ComplexValue(value, broadcast_lanes(b, scalar_register_type(real_type)(0.0), emitter.lanes))
    return value


def clamped_starts(
    emitter: ElementalEmitter, starts: tuple[Instruction, ...], full: tuple[int, ...], sizes: tuple[int, ...]
) -> list[Base]:
    """The run-time start indices of a block, moved so that it lies inside."""
    result: list[Base] = []
    for start, whole, size in zip(starts, full, sizes):
        if whole == size:
            result.append(0)
        else:
            result.append(_clamp_start(emitter, start, whole - size))
    return result


def _clamp_start(emitter: ElementalEmitter, start: Instruction, last: int) -> Base:
    if start.opcode == "constant":
        return max(0, min(int(start.attributes["literal"]), last))
    b, value = emitter.builder, emitter.scalar(start)
    known = known_range(value)
    if start.shape.element_type.kind == "unsigned" and (known is None or known[1] >= 2**63):
        return b.select(b.icmp_unsigned(">", value, I64(last)), I64(last), value)
    return indices.clamp_base(b, value, 0, last)


@index_rule("dynamic-slice")
def _dynamic_slice(emitter, instruction, index, mask):
    operand, *starts = instruction.operands
    bases = clamped_starts(emitter, tuple(starts), operand.shape.dimensions, instruction.shape.dimensions)
    moved = tuple(indices.add(emitter.builder, component, base) for component, base in zip(index, bases))
    return emitter.emit(operand, moved, mask)


@index_rule("dynamic-update-slice")
def _dynamic_update_slice(emitter, instruction, index, mask):
    b, (operand, update, *starts) = emitter.builder, instruction.operands
    unchanged = emitter.emit(operand, index, mask)
    if update.shape.size == 0:
        return unchanged
    bases = clamped_starts(emitter, tuple(starts), operand.shape.dimensions, update.shape.dimensions)
    conditions, update_index = [], []
    for component, base, size in zip(index, bases, update.shape.dimensions):
        offset = -base if isinstance(base, int) else b.neg(base)
        local = indices.add(b, component, offset)
        conditions += [indices.compare(b, ">=", local, 0, emitter.lanes), indices.compare(b, "<", local, size, emitter.lanes)]
        update_index.append(emitter.clamped(local, size))
    inside = indices.conjunction(b, *conditions)
    if inside is False:
        return unchanged
    value = emitter.emit(update, tuple(update_index), emitter.within(mask, inside))
    return emitter.select_elements(inside, value, unchanged)


@index_rule("gather")
def _gather(emitter, instruction, index, mask):
    b, (operand, starts), lanes = emitter.builder, instruction.operands, emitter.lanes
    numbers = slice_dimensions("gather", operand.shape.rank, starts.shape.rank, instruction.attributes)
    batch = tuple(index[dimension] for dimension in numbers.batch_dims)
    operand_index: list[Component] = [indices.ZERO] * numbers.rank
    for offset, window in zip(numbers.offset_dims, numbers.window_dims):
        operand_index[window] = index[offset]
    for window, position in numbers.batching.items():
        operand_index[window] = batch[position]
    if all(isinstance(component, Affine) and component.stride == 0 for component in batch) and lanes > 1:
        # The slice is the same in all lanes: one start for all of them, and what it moves stays affine.
        alone, start_mask = ElementalEmitter(b, 1, emitter.bindings), None
    else:
        alone, start_mask = emitter, mask
    for k, window in enumerate(numbers.index_map):
        last = operand.shape.dimensions[window] - instruction.attributes["slice_sizes"][window]
        if last == 0:
            continue
        start = alone.emit(starts, numbers.start_index(batch, Affine(k)), start_mask)
        start = start_indices.clamped(b, starts.shape.element_type, start, last)
        operand_index[window] = start_indices.moved(b, operand_index[window], start, lanes)
    part = _part_in_memory(emitter, operand)
    if part is not None:
        return part.load(b, tuple(operand_index), lanes, mask)
    return emitter.emit(operand, tuple(operand_index), mask)


def _part_in_memory(emitter: ElementalEmitter, operand: Instruction) -> Array | None:
    """A slice of a line in memory, as an array that may be short enough for registers."""
    if operand.opcode != "slice" or operand.shape.rank != 1:
        return None
    line, ((start, _, step),) = emitter.bindings.get(operand.operands[0]), operand.attributes["slice"]
    if step != 1 or type(line) is not Array:
        return None
    return Array(line.address(emitter.builder, (Affine(start),)), operand.shape)


@index_rule("bitcast-convert")
def _bitcast_convert(emitter, instruction, index, mask):
    (operand,) = instruction.operands
    return same_bits(emitter.builder, instruction, emitter.emit(operand, index, mask), emitter.lanes)


@index_rule("map")
def _map(emitter, instruction, index, mask):
    operands = [emitter.emit(operand, index, mask) for operand in instruction.operands]
    return emit_scalar_computation(emitter.builder, instruction.attributes["to_apply"], operands, emitter.lanes)[0]
