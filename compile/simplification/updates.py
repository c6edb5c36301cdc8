"""Rules of updates in place: what is written through a view of an array is written to the array."""

from __future__ import annotations

from ... import hlo
from ...hlo import S32, Instruction
from .rule import f32, real_value, rule, s32

# Views are followed through so many updates, which bounds the steps for each of them.
_MOST_UPDATES = 16


def _at(*starts: int) -> list[Instruction]:
    return [hlo.constant(start, S32) for start in starts]


def _starts(update: Instruction) -> tuple[int | None, ...]:
    """Where a dynamic-update-slice writes, dimension by dimension, clamped; None where the program decides."""
    array, part, *indices = update.operands
    most = [size - taken for size, taken in zip(array.shape.dimensions, part.shape.dimensions)]
    values = [0 if last == 0 else real_value(index) for last, index in zip(most, indices)]
    return tuple(None if value is None else max(0, min(int(value), last)) for value, last in zip(values, most))


def _unit_starts(slice_: Instruction) -> tuple[int, ...] | None:
    """Where a slice begins, if it takes elements that are next to each other."""
    ranges = slice_.attributes["slice"]
    return tuple(start for start, _, _ in ranges) if all(step == 1 for _, _, step in ranges) else None


def _starts_within(x: Instruction, written: Instruction, starts: tuple[int | None, ...]) -> tuple[int, ...] | None:
    """Where in x an update writes whose operand is the slice of x that begins at these starts; None for anything else."""
    if written.opcode != "dynamic-update-slice" or written.operands[0].opcode != "slice":
        return None
    part, inner = written.operands[0], _starts(written)
    if part.operands[0] is not x or None in inner or _unit_starts(part) != starts:
        return None
    return tuple(a + b for a, b in zip(starts, inner))


def _updated_view(array: Instruction) -> tuple[Instruction, list[Instruction]]:
    """What is updated, and the updates, in the order in which they are done; not through more than a few of them."""
    updates: list[Instruction] = []
    while array.opcode == "dynamic-update-slice" and len(updates) < _MOST_UPDATES:
        updates.append(array)
        array = array.operands[0]
    return array, updates[::-1]


def _is_held(start: int, index: Instruction) -> bool:
    """Whether a start fits into the type of an index, which may be narrow."""
    return start < 1 << index.shape.element_type.bits - 1


def _reversed_update(there, back, *updates):
    def program():
        array = hlo.reverse(f32(5, 4), there)
        for part, *indices in updates:
            array = hlo.dynamic_update_slice(
                array, f32(*part), *(s32() if at is None else hlo.constant(at, S32) for at in indices)
            )
        return hlo.reverse(array, back)

    return program


@rule(
    "reverse",
    fires=[
        _reversed_update((0,), (0,), ((2, 4), 1, 0)),
        _reversed_update((1,), (1,), ((2, 3), None, 9)),
        _reversed_update((0, 1), (0, 1), ((2, 4), 1, 0), ((3, 1), 0, 3)),
    ],
    unchanged=[_reversed_update((0,), (0,), ((2, 4), None, None)), _reversed_update((1,), (0,), ((2, 4), 1, 0))],
)
def reverse_of_update_of_reverse(operation: Instruction) -> Instruction | None:
    """reverse(dynamic-update-slice(reverse(x), y, c)) -> dynamic-update-slice(x, reverse(y), d), for constant starts

    Of several updates, too.
    """
    view, updates = _updated_view(operation.operands[0])
    reversed_ = operation.attributes["dimensions"]
    if view.opcode != "reverse" or set(view.attributes["dimensions"]) != set(reversed_):
        return None
    known = [_starts(update) for update in updates]
    if any(starts[d] is None for starts in known for d in reversed_):
        return None
    (x,) = view.operands
    for update, starts in zip(updates, known):
        part, *indices = update.operands[1:]
        for d in reversed_:
            start = x.shape.dimensions[d] - part.shape.dimensions[d] - starts[d]
            if not _is_held(start, indices[d]):
                return None
            indices[d] = hlo.constant(start, indices[d].shape.element_type)
        x = hlo.dynamic_update_slice(x, hlo.reverse(part, reversed_), *indices)
    return x if updates else None


@rule(
    "transpose",
    fires=lambda: hlo.transpose(
        hlo.dynamic_update_slice(hlo.transpose(f32(3, 4, 5), (2, 0, 1)), f32(1, 2, 4), s32(), s32(), s32()), (1, 2, 0)
    ),
    unchanged=lambda: hlo.transpose(
        hlo.dynamic_update_slice(hlo.transpose(f32(3, 3, 3), (2, 0, 1)), f32(1, 2, 3), s32(), s32(), s32()), (2, 0, 1)
    ),
)
def transpose_of_update_of_transpose(operation: Instruction) -> Instruction | None:
    """transpose(dynamic-update-slice(transpose(x), y, i)) -> dynamic-update-slice(x, transpose(y), j), if x lies as before

    Of several updates, too.
    """
    view, updates = _updated_view(operation.operands[0])
    back = operation.attributes["dimensions"]
    if view.opcode != "transpose" or any(view.attributes["dimensions"][d] != number for number, d in enumerate(back)):
        return None
    (x,) = view.operands
    for update in updates:
        part, *indices = update.operands[1:]
        x = hlo.dynamic_update_slice(x, hlo.transpose(part, back), *(indices[d] for d in back))
    return x if updates else None


def _part_written_back(starts=(2, 1), back=(1, 0)):
    def program():
        x = f32(6, 4)
        part = hlo.emit("slice", x, slice=[(1, 5, 1), (0, 4, 1)])
        return hlo.dynamic_update_slice(x, hlo.dynamic_update_slice(part, f32(1, 2), *_at(*starts)), *_at(*back))

    return program


@rule(
    "dynamic-update-slice",
    fires=[
        lambda: hlo.dynamic_update_slice(f32(3), f32(3), s32()),
        lambda: hlo.dynamic_update_slice(f32(3), f32(0), s32()),
    ],
    unchanged=lambda: hlo.dynamic_update_slice(f32(3), f32(2), s32()),
)
def update_of_everything(operation: Instruction) -> Instruction | None:
    """dynamic-update-slice(x, y, i) -> y, where y has the size of x; x, where y has no elements"""
    x, update = operation.operands[:2]
    if 0 in update.shape.dimensions:
        return x
    return update if x.shape.dimensions == update.shape.dimensions else None


@rule(
    "dynamic-update-slice",
    fires=[_part_written_back(), _part_written_back(starts=(9, 9))],
    unchanged=[_part_written_back(back=(0, 0))],
)
def update_by_own_part(operation: Instruction) -> Instruction | None:
    """dynamic-update-slice(x, dynamic-update-slice(slice(x), y, c), d) -> dynamic-update-slice(x, y, c + d), the slice at d"""
    x, inner = operation.operands[:2]
    starts = _starts_within(x, inner, _starts(operation))
    if starts is None or not all(map(_is_held, starts, operation.operands[2:])):
        return None
    indices = [hlo.constant(start, index.shape.element_type) for start, index in zip(starts, operation.operands[2:])]
    return hlo.dynamic_update_slice(x, inner.operands[1], *indices)


def _written_twice(second):
    def program():
        x, y = f32(6, 4), f32(1, 2)
        once = hlo.dynamic_update_slice(x, y, *_at(2, 1))
        part = hlo.emit("slice", x, slice=[(1, 5, 1), (0, 4, 1)])
        return {
            "the same": lambda: hlo.dynamic_update_slice(once, y, *_at(2, 1)),
            "elsewhere": lambda: hlo.dynamic_update_slice(once, y, *_at(3, 1)),
            "a part": lambda: hlo.dynamic_update_slice(once, hlo.dynamic_update_slice(part, y, *_at(1, 1)), *_at(1, 0)),
            "another part": lambda: hlo.dynamic_update_slice(once, hlo.dynamic_update_slice(part, y, *_at(0, 1)), *_at(1, 0)),
        }[second]()

    return program


@rule(
    "dynamic-update-slice",
    fires=[_written_twice("the same"), _written_twice("a part")],
    unchanged=[_written_twice("elsewhere"), _written_twice("another part")],
)
def update_of_the_same(operation: Instruction) -> Instruction | None:
    """dynamic-update-slice(z, y, c) -> z, where z is dynamic-update-slice(x, y, c); y itself, or in a part of x with it"""
    before, written = operation.operands[:2]
    if before.opcode != "dynamic-update-slice":
        return None
    x, y = before.operands[:2]
    starts, known = _starts(operation), _starts(before)
    if None in starts or None in known:
        return None
    if written is y:
        return before if starts == known else None
    return before if _starts_within(x, written, starts) == known and written.operands[1] is y else None


def _slice_of_update(*ranges):
    return lambda: hlo.emit(
        "slice", hlo.dynamic_update_slice(hlo.transpose(f32(4, 6), (1, 0)), f32(2, 3), *_at(2, 1)), slice=ranges
    )


@rule(
    "slice",
    fires=[
        _slice_of_update((2, 4, 1), (1, 3, 1)),
        _slice_of_update((0, 2, 1), (0, 4, 2)),
        _slice_of_update((3, 4, 1), (1, 4, 2)),
    ],
    unchanged=[_slice_of_update((2, 4, 1), (0, 3, 1)), _slice_of_update((1, 3, 1), (1, 3, 1))],
)
def slice_of_update(operation: Instruction) -> Instruction | None:
    """slice(dynamic-update-slice(x, y, c)) -> slice(y), which it lies in; slice(x), where it takes nothing of y and x is a view

    Through long chains of updates of one array it does not go: each slice would take as many steps as there are updates.
    """
    update, ranges = operation.operands[0], operation.attributes["slice"]
    if update.opcode != "dynamic-update-slice":
        return None
    (x, y), starts = update.operands[:2], _starts(update)
    if None in starts:
        return None
    ends = [start + size for start, size in zip(starts, y.shape.dimensions)]
    is_apart = any(stop <= low or start >= high for (start, stop, _), low, high in zip(ranges, starts, ends))
    if is_apart and x.opcode in ("reverse", "transpose"):
        return hlo.emit("slice", x, slice=ranges)
    if all(low <= start and stop <= high for (start, stop, _), low, high in zip(ranges, starts, ends)):
        return hlo.emit("slice", y, slice=[(start - low, stop - low, step) for (start, stop, step), low in zip(ranges, starts)])
    return None
