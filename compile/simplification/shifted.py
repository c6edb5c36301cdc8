"""Rules of what is taken from a place that the program decides, computed, and put back there: it never moves.

``x[i:j] *= 2`` of traced bounds takes the elements from ``i`` on to the front, multiplies them, and moves them back to where a
mask says that they are written.
"""

from __future__ import annotations

from ... import hlo
from ...hlo import F64, S64, Instruction
from ...hlo.operation import ELEMENTWISE, GIVEN
from ..shifts import Shift, shift_of, start_of_taken, starts_of_mask
from ..traversal import scalar_under
from .rule import f64, rule, s32

# So many operations between taking and putting back are gone through.
_MOST_OPERATIONS = 64


def _in_place(computed, least=0):
    x, size, zero = f64(6), 6, hlo.constant(0, F64)
    start = hlo.clamp(hlo.constant(least, S64), hlo.convert(s32(), S64), hlo.constant(size, S64))
    positions = hlo.iota(hlo.Shape(S64, (size,)), 0)
    place = hlo.subtract(positions, hlo.full_like(positions, start))
    mask = hlo.and_(hlo.ge(place, hlo.full_like(place, 0)), hlo.lt(place, hlo.full_like(place, 3)))
    taken = hlo.dynamic_slice(hlo.pad(x, zero, padding=[(0, size)]), start, sizes=(size,))
    back = hlo.subtract(hlo.constant(size, S64), start)
    moved = hlo.dynamic_slice(hlo.pad(computed(taken), zero, padding=[(size, size)]), back, sizes=(size,))
    return hlo.select(mask, moved, x)


@rule(
    "select",
    fires=[
        lambda: _in_place(lambda taken: hlo.multiply(taken, 2.0)),
        lambda: _in_place(lambda taken: hlo.add(taken, hlo.multiply(taken, f64(6)))),
    ],
    unchanged=[
        lambda: _in_place(lambda taken: hlo.multiply(f64(6), 2.0)), lambda: _in_place(hlo.negate, least=-9),
        lambda: _in_place(lambda taken: hlo.reverse(taken, dimensions=(0,))),
    ],
)  # fmt: skip
def selected_where_it_was(select: Instruction) -> Instruction | None:
    """select(mask, back(f(taken(x, i), y), i), z) -> select(mask, f(x, back(y, i)), z), where the mask begins at i"""
    mask, value, otherwise = select.operands
    shifts: dict[int, Shift] = {}
    while (shift := shift_of(value, is_back=True)) is not None and shift.dimension not in shifts:
        shifts[shift.dimension] = shift
        value = shift.value
    if not shifts:
        return None
    begins = dict(starts_of_mask(mask))
    starts = {dimension: start_of_taken(shift) for dimension, shift in shifts.items()}
    if any(start is None or begins.get(dimension) is not start for dimension, start in starts.items()):
        return None
    moved = _Moved(list(shifts.values()), starts)
    found = moved.at_its_place(value)
    return hlo.select(mask, found, otherwise) if moved.is_any_left_in_place and moved.operations <= _MOST_OPERATIONS else None


class _Moved:
    """What is moved back, computed where it is to be: ``is_any_left_in_place`` once something taken needs no moving."""

    def __init__(self, shifts: list[Shift], starts: dict[int, Instruction]) -> None:
        self.shifts, self.starts = shifts, starts
        self.known: dict[Instruction, Instruction] = {}
        self.is_any_left_in_place, self.operations = False, 0

    def at_its_place(self, value: Instruction) -> Instruction:
        if value not in self.known:
            self.known[value] = self._found(value)
        return self.known[value]

    def _found(self, value: Instruction) -> Instruction:
        self.operations += 1
        if scalar_under(value) is not None or self.operations > _MOST_OPERATIONS:
            return value
        if ELEMENTWISE in value.operation.traits and not value.has_trait(GIVEN) and value.operands:
            operands = [self.at_its_place(operand) if operand.shape.rank else operand for operand in value.operands]
            return value.with_operands(operands)
        source, left = value, dict(self.starts)
        while (shift := shift_of(source, is_back=False)) is not None and left.get(shift.dimension) is shift.start:
            del left[shift.dimension]
            source = shift.value
        if not left:
            self.is_any_left_in_place = True
            return source
        for shift in reversed(self.shifts):
            sizes, last = value.shape.dimensions, value.shape.rank
            padding = [(sizes[d],) * 2 if d == shift.dimension else (0, 0) for d in range(last)]
            places = [shift.start if d == shift.dimension else hlo.constant(0, S64) for d in range(last)]
            filler = hlo.constant(0, value.shape.element_type)
            value = hlo.dynamic_slice(hlo.pad(value, filler, padding=padding), *places, sizes=sizes)
        return value
