"""Vectors in memory by masks, lane by lane: for devices whose instructions take none.

A mask that is known is a few shorter vectors; of others it is asked whether all lanes are there, as mostly they are. Where AVX2
is there, its loads and stores take masks.
"""

from __future__ import annotations

from llvmlite import ir

from .arithmetic import all_lanes
from .branches import chosen
from .builder import undefined
from .memory import element_address, stack_memory
from .module import declaration, has_avx2
from .types import I32, I64, POINTER, part_size

# Bytes of the vectors that instructions load and store by masks.
_LEAST_MASKED, _MOST_MASKED = 16, 32


def lanes_in_front(mask: ir.Value) -> int | None:
    """How many lanes a mask is known to hold for, where these are the first ones."""
    if not isinstance(mask, ir.Constant) or not isinstance(mask.constant, (list, tuple)):
        return None
    lanes = [bool(lane.constant) for lane in mask.constant]
    count = sum(lanes)
    return count if all(lanes[:count]) else None


def load_by_lanes(builder: ir.IRBuilder, address: ir.Value, vector: ir.VectorType, mask: ir.Value, align: int) -> ir.Value:
    """A contiguous vector; lanes outside the mask are zero and not read."""
    b = builder
    known = lanes_in_front(mask)
    if known is not None:
        return _first_lanes(b, address, vector, known, align)

    if _takes_masks(b, vector):
        return _masked_load(b, address, vector, mask)

    def some() -> list[ir.Value]:
        # Lanes outside read this zero.
        with b.goto_entry_block():
            zero = stack_memory(b, 16, 16)
        b.store(ir.Constant(vector.element, 0), zero, align=align)
        value = undefined(vector)
        for lane in range(vector.count):
            place = b.select(b.extract_element(mask, I32(lane)), _behind(b, address, lane, vector.element), zero)
            value = b.insert_element(value, b.load(place, typ=vector.element, align=align), I32(lane))
        return [value]

    return chosen(b, all_lanes(b, mask), [lambda: [b.load(address, typ=vector, align=align)], some], "lanes")[0]


def store_by_lanes(builder: ir.IRBuilder, value: ir.Value, address: ir.Value, mask: ir.Value, align: int) -> None:
    """Write the lanes of the mask."""
    b, vector = builder, value.type
    known = lanes_in_front(mask)
    if known is not None:
        for first, count in _powers(known):
            part = b.extract_element(value, I32(first)) if count == 1 else _lanes(b, value, range(first, first + count))
            b.store(part, _behind(b, address, first, vector.element), align=align)
        return
    if _takes_masks(b, vector):
        _masked_store(b, value, address, mask)
        return
    with b.if_else(all_lanes(b, mask)) as (then, otherwise):
        with then:
            b.store(value, address, align=align)
        with otherwise:
            for lane in range(vector.count):
                with b.if_then(b.extract_element(mask, I32(lane))):
                    b.store(b.extract_element(value, I32(lane)), _behind(b, address, lane, vector.element), align=align)


def _takes_masks(b: ir.IRBuilder, vector: ir.VectorType) -> bool:
    """Whether instructions load and store lanes of such vectors by masks."""
    size = part_size(vector.element)
    return has_avx2(b.module) and size in (4, 8) and vector.count * size >= _LEAST_MASKED


def _masked_parts(b: ir.IRBuilder, vector: ir.VectorType, mask: ir.Value) -> tuple[ir.VectorType, str, list[ir.Value]]:
    """The vector of integers that one instruction takes, the end of its name, and the masks of all parts as such."""
    size = part_size(vector.element)
    lanes = min(vector.count, _MOST_MASKED // size)
    integers = ir.VectorType(ir.IntType(8 * size), lanes)
    suffix = {4: "d", 8: "q"}[size] + (".256" if lanes * size == _MOST_MASKED else "")
    # Extended a part at a time: LLVM knows these again, and has better instructions where the processor has them.
    parts = (_lanes(b, mask, range(first, first + lanes)) for first in range(0, vector.count, lanes))
    return integers, suffix, [b.sext(part, integers) for part in parts]


def _masked_load(b: ir.IRBuilder, address: ir.Value, vector: ir.VectorType, mask: ir.Value) -> ir.Value:
    integers, suffix, masks = _masked_parts(b, vector, mask)
    load = declaration(b.module, f"llvm.x86.avx2.maskload.{suffix}", integers, [POINTER, integers])
    parts = [
        b.call(load, [_behind(b, address, number * integers.count, integers.element), part])
        for number, part in enumerate(masks)
    ]
    while len(parts) > 1:
        order = range(2 * parts[0].type.count)
        parts = [_lanes(b, first, order, second) for first, second in zip(parts[::2], parts[1::2])]
    return b.bitcast(parts[0], vector)


def _masked_store(b: ir.IRBuilder, value: ir.Value, address: ir.Value, mask: ir.Value) -> None:
    integers, suffix, masks = _masked_parts(b, value.type, mask)
    store = declaration(b.module, f"llvm.x86.avx2.maskstore.{suffix}", ir.VoidType(), [POINTER, integers, integers])
    bits = b.bitcast(value, ir.VectorType(integers.element, value.type.count))
    for number, part in enumerate(masks):
        first = number * integers.count
        stored = _lanes(b, bits, range(first, first + integers.count))
        b.call(store, [_behind(b, address, first, integers.element), part, stored])


def gather_by_lanes(
    builder: ir.IRBuilder, pointer: ir.Value, numbers: ir.Value, vector: ir.VectorType, mask: ir.Value | None, align: int
) -> ir.Value:
    """Elements of these numbers behind a pointer; lanes outside the mask are zero, and read no element but the first."""
    b = builder
    if mask is not None:
        numbers = b.select(mask, numbers, ir.Constant(numbers.type, None))
    value = undefined(vector)
    for lane in range(vector.count):
        place = element_address(b, pointer, b.extract_element(numbers, I32(lane)), vector.element)
        value = b.insert_element(value, b.load(place, typ=vector.element, align=align), I32(lane))
    return value if mask is None else b.select(mask, value, ir.Constant(vector, None))


def scatter_by_lanes(
    builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, numbers: ir.Value, mask: ir.Value | None, align: int
) -> None:
    """Write the mask's lanes to the elements of these numbers behind a pointer, one after the other."""
    b = builder

    def store(lane: int) -> None:
        place = element_address(b, pointer, b.extract_element(numbers, I32(lane)), value.type.element)
        b.store(b.extract_element(value, I32(lane)), place, align=align)

    for lane in range(value.type.count):
        if mask is None:
            store(lane)
        else:
            with b.if_then(b.extract_element(mask, I32(lane))):
                store(lane)


def _behind(b: ir.IRBuilder, address: ir.Value, count: int, scalar: ir.Type) -> ir.Value:
    return element_address(b, address, I64(count), scalar) if count else address


def _powers(count: int) -> list[tuple[int, int]]:
    """So many lanes as parts whose sizes are powers of two: the first lane of each, and how many these are."""
    parts, first = [], 0
    while first < count:
        size = 1 << ((count - first).bit_length() - 1)
        parts.append((first, size))
        first += size
    return parts


def _lanes(b: ir.IRBuilder, value: ir.Value, lanes: range, behind: ir.Value | None = None) -> ir.Value:
    """These lanes of a vector, or of two, one behind the other."""
    if behind is None and len(lanes) == value.type.count:
        return value
    order = ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])
    return b.shuffle_vector(value, undefined(value.type) if behind is None else behind, order)


def _first_lanes(b: ir.IRBuilder, address: ir.Value, vector: ir.VectorType, count: int, align: int) -> ir.Value:
    value = ir.Constant(vector, None)
    for first, size in _powers(count):
        place = _behind(b, address, first, vector.element)
        if size == 1:
            value = b.insert_element(value, b.load(place, typ=vector.element, align=align), I32(first))
            continue
        part = b.load(place, typ=ir.VectorType(vector.element, size), align=align)
        if size == vector.count:
            return part
        wide = [I32(min(max(lane - first, 0), size - 1)) for lane in range(vector.count)]
        part = b.shuffle_vector(part, undefined(part.type), ir.Constant(ir.VectorType(I32, vector.count), wide))
        here = range(first, first + size)
        order = [I32(lane + vector.count if lane in here else lane) for lane in range(vector.count)]
        value = b.shuffle_vector(value, part, ir.Constant(ir.VectorType(I32, vector.count), order))
    return value
