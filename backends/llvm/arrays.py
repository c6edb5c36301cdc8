"""Arrays in memory: loading and storing elements and vectors of elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from llvmlite import ir

from ...hlo import Shape
from ...hlo.shape import element_strides
from . import index as indices
from .builder import undefined
from .index import Affine, Base, Component, Index, Offsets, as_vector, i64, linear_offset
from .masked_lanes import gather_by_lanes, lanes_in_front, load_by_lanes, scatter_by_lanes, store_by_lanes
from .memory import element_address, stack_memory
from .module import DeviceModule, declaration, lacks, streamed_bytes, vector_bytes_of
from .types import (
    I1,
    I32,
    I64,
    POINTER,
    ComplexValue,
    RegisterValue,
    broadcast_lanes,
    from_memory,
    memory_type,
    part_size,
    to_memory,
    type_suffix,
    vector_of,
)

# Elements that lie so close are picked from vectors that are loaded whole, in fewer steps than a gather takes.
LARGEST_STEP = 4
# The narrowest vector, in bytes, that there are stores past the caches for.
_LEAST_STREAMED = 16
# The sizes of vectors, where there are no long ones.
_SHORT_VECTORS = (2, 3, 4, 8, 16)


@dataclass(frozen=True, eq=False)
class Array:
    """An array in memory: its first element's address and its shape, whose layout says where the others are.

    ``is_streamed`` says that stores should pass by the caches: writing a line that is in none of them fetches it first, a
    third of the traffic of ``x + y``. Who stores so ends with a fence. ``vector_alignment`` says that whole vectors lie at
    multiples of so many bytes.
    """

    pointer: ir.Value
    shape: Shape
    is_streamed: bool = field(default=False, kw_only=True)
    vector_alignment: int = field(default=0, kw_only=True)

    @property
    def strides(self) -> tuple[int, ...]:
        return element_strides(self.shape)

    def address(self, builder: ir.IRBuilder, index: Index) -> ir.Value:
        """The address of one element; the index is the same in all lanes."""
        scale = 2 if self.shape.element_type.is_complex else 1
        return self._address(builder, linear_offset(builder, index, self.strides, 1), scale, 0)

    def seen_from(self, builder: ir.IRBuilder, index: Index) -> Array:
        """The array with its origin moved to an element, so that index 0 is that element."""
        return Array(self.address(builder, index), self.shape)

    def load(self, builder: ir.IRBuilder, index: Index, lanes: int, mask: ir.Value | None = None) -> RegisterValue:
        """The elements at an index, one a lane.

        Where the mask is false nothing is read and the lane is zero; an index that is the same in all lanes must be valid
        whatever the mask says.
        """
        offset = linear_offset(builder, index, self.strides, lanes)
        if self.shape.element_type.is_complex:
            return self._load_complex(builder, offset, lanes, mask)
        return self._load_part(builder, offset, 1, 0, lanes, mask)

    def _load_complex(self, builder: ir.IRBuilder, offset: Component, lanes: int, mask: ir.Value | None) -> ComplexValue:
        if lanes > 1 and isinstance(offset, Affine) and offset.stride in (1, -1) and mask is None:
            part, forwards = memory_type(self.shape.element_type), offset.stride == 1
            first = offset.base if forwards else builder.add(i64(offset.base), i64(1 - lanes))
            parts = self._both_parts(builder, first, part, lanes)
            return ComplexValue(*(parts if forwards else [reverse_lanes(builder, part) for part in parts]))
        return ComplexValue(*(self._load_part(builder, offset, 2, part, lanes, mask) for part in (0, 1)))

    def _both_parts(self, builder: ir.IRBuilder, first: Base, part: ir.Type, lanes: int) -> list[ir.Value]:
        """The real and the imaginary parts of elements side by side."""
        address, align = self._address(builder, Affine(first), 2, 0), part_size(part)
        if not lacks(builder.module, "long vectors"):
            both = builder.load(address, typ=ir.VectorType(part, 2 * lanes), align=align)
            return [_every_other(builder, both, number, lanes) for number in (0, 1)]
        places = [address, element_address(builder, address, I64(lanes), part)]
        low, high = (builder.load(place, typ=ir.VectorType(part, lanes), align=align) for place in places)
        orders = [lanes_constant(range(number, 2 * lanes, 2)) for number in (0, 1)]
        return [builder.shuffle_vector(low, high, order) for order in orders]

    def _load_part(
        self, builder: ir.IRBuilder, offset: Component, scale: int, part: int, lanes: int, mask: ir.Value | None
    ) -> ir.Value:
        """Load from element ``offset * scale + part``, counted in memory elements."""
        element_type, scalar = self.shape.element_type, memory_type(self.shape.element_type)
        align = part_size(scalar)
        vector = vector_of(scalar, lanes)
        if isinstance(offset, Affine) and (lanes == 1 or offset.stride == 0):
            value = builder.load(self._address(builder, Affine(offset.base), scale, part), typ=scalar, align=align)
            return broadcast_lanes(builder, from_memory(builder, element_type, value), lanes)
        if isinstance(offset, Affine) and offset.stride * scale == 1:
            if mask is None:
                address = self._address(builder, Affine(offset.base), scale, part)
                value = builder.load(address, typ=vector, align=max(align, self.vector_alignment))
            else:
                address = self._address(builder, Affine(self._nearby(builder, offset.base, lanes)), scale, part)
                value = masked_load(builder, address, vector, mask, align)
            return from_memory(builder, element_type, value)
        if isinstance(offset, Affine) and offset.stride * scale == -1 and mask is None:
            last = Affine(builder.add(i64(offset.base), i64(1 - lanes)))
            backwards = builder.load(self._address(builder, last, scale, part), typ=vector, align=align)
            return from_memory(builder, element_type, reverse_lanes(builder, backwards))
        if isinstance(offset, Affine) and 2 <= abs(offset.stride * scale) <= LARGEST_STEP and mask is None:
            first = offset if offset.stride > 0 else Affine(builder.add(i64(offset.base), i64((lanes - 1) * offset.stride)))
            address = self._address(builder, Affine(first.base), scale, part)
            value = _loaded_in_steps(builder, address, vector, abs(offset.stride * scale), align)
            return from_memory(builder, element_type, value if offset.stride > 0 else reverse_lanes(builder, value))
        if isinstance(offset, Affine) and mask is None:
            value = undefined(vector)
            for lane in range(lanes):
                place = Affine(indices.add_base(builder, offset.base, lane * offset.stride))
                element = builder.load(self._address(builder, place, scale, part), typ=scalar, align=align)
                value = builder.insert_element(value, element, I32(lane))
            return from_memory(builder, element_type, value)
        if isinstance(offset, Offsets) and scale == 1 and mask is None:
            first, last = min(offset.offsets), max(offset.offsets)
            count = last - first + 1
            if count <= 2 * lanes:
                start = Affine(indices.add_base(builder, offset.base, first))
                address = self._address(builder, start, scale, part)
                value = _loaded_around(builder, address, scalar, count, [one - first for one in offset.offsets], align)
                return from_memory(builder, element_type, value)
        numbers = as_vector(builder, offset, lanes)
        if scale == 1 and self._fits_registers(builder, vector):
            value = self._chosen(builder, numbers, vector, mask)
        elif lacks(builder.module, "pointer vectors"):
            value = gather_by_lanes(builder, *self._by_numbers(builder, numbers, scale, part), vector, mask, align)
        else:
            value = masked_gather(builder, self._address(builder, numbers, scale, part), vector, mask, align)
        return from_memory(builder, element_type, value)

    def _nearby(self, builder: ir.IRBuilder, first: Base, lanes: int) -> Base:
        """Where lanes begin, or, where all of them are outside of the array, a place beside it.

        Processors take a hundred times as long to read no lane of a page that is not there, and in a device's memory nothing
        may follow an array.
        """
        if not lacks(builder.module, "lane masks") or self.strides != element_strides(self.shape):
            return first
        return indices.clamp_base(builder, first, -lanes, self.shape.size)

    def _fits_registers(self, builder: ir.IRBuilder, vector: ir.VectorType) -> bool:
        """Whether the array's elements lie side by side and fill two vectors at most, among which one instruction chooses."""
        size = part_size(vector.element)
        bits = 8 * size * vector.count
        return (
            vector_bytes_of(builder.module) == 64
            and size in (4, 8)
            and bits in (256, 512)
            and self.shape.size <= 2 * vector.count
            and self.strides == element_strides(self.shape)
        )

    def _chosen(self, builder: ir.IRBuilder, numbers: ir.Value, vector: ir.VectorType, mask: ir.Value | None) -> ir.Value:
        """The elements of these numbers, of an array that fits registers: a gather takes ten times as long."""
        b, lanes, size = builder, vector.count, part_size(vector.element)
        whole = ir.VectorType(ir.IntType(8 * size), lanes)
        halves = []
        for first in (0, lanes):
            count = min(self.shape.size - first, lanes)
            if count <= 0:
                halves.append(undefined(vector))
                continue
            within = ir.Constant(ir.VectorType(I1, lanes), [I1(lane < count) for lane in range(lanes)])
            halves.append(masked_load(b, element_address(b, self.pointer, I64(first), vector.element), vector, within, size))
        numbers = numbers if numbers.type == whole else b.trunc(numbers, whole)
        suffix = {"float": "ps", "double": "pd"}.get(str(vector.element)) or {4: "d", 8: "q"}[size]
        name = f"llvm.x86.avx512.vpermi2var.{suffix}.{8 * size * lanes}"
        chosen = b.call(declaration(b.module, name, vector, [vector, whole, vector]), [halves[0], numbers, halves[1]])
        return chosen if mask is None else b.select(mask, chosen, ir.Constant(vector, None))

    def store(
        self, builder: ir.IRBuilder, index: Index, value: RegisterValue, lanes: int, mask: ir.Value | None = None
    ) -> None:
        """Write the lanes' elements at an index; where the mask is false nothing is written."""
        offset = linear_offset(builder, index, self.strides, lanes)
        if not isinstance(value, ComplexValue):
            self._store_part(builder, offset, 1, 0, value, lanes, mask)
        elif lanes > 1 and isinstance(offset, Affine) and offset.stride == 1 and mask is None:
            order = [lane + part * lanes for lane in range(lanes) for part in (0, 1)]
            scalar, count = memory_type(self.shape.element_type), len(order)
            step = lanes if lacks(builder.module, "long vectors") else count
            address = self._address(builder, Affine(offset.base), 2, 0)
            store = _store_past_caches if self.is_streamed else ir.IRBuilder.store
            for first in range(0, count, step):
                both = builder.shuffle_vector(value.real, value.imag, lanes_constant(order[first : first + step]))
                place = element_address(builder, address, I64(first), scalar) if first else address
                store(builder, both, place, align=part_size(scalar))
        else:
            for part, component in enumerate(value):
                self._store_part(builder, offset, 2, part, component, lanes, mask)

    def _store_part(
        self,
        builder: ir.IRBuilder,
        offset: Component,
        scale: int,
        part: int,
        value: ir.Value,
        lanes: int,
        mask: ir.Value | None,
    ) -> None:
        scalar = memory_type(self.shape.element_type)
        align = part_size(scalar)
        value = to_memory(builder, self.shape.element_type, value)
        if lanes == 1:
            builder.store(value, self._address(builder, offset, scale, part), align=align)
        elif isinstance(offset, Affine) and offset.stride * scale == 1:
            address = self._address(builder, Affine(offset.base), scale, part)
            if mask is not None:
                masked_store(builder, value, address, mask, align)
            elif self.is_streamed:
                _store_past_caches(builder, value, address, align)
            else:
                builder.store(value, address, align=max(align, self.vector_alignment))
        elif isinstance(offset, Affine) and mask is None:
            # Processors scatter a vector no faster.
            for lane in range(lanes):
                place = Affine(indices.add_base(builder, offset.base, lane * offset.stride))
                builder.store(
                    builder.extract_element(value, I32(lane)), self._address(builder, place, scale, part), align=align
                )
        elif lacks(builder.module, "pointer vectors"):
            numbers = self._by_numbers(builder, as_vector(builder, offset, lanes), scale, part)
            scatter_by_lanes(builder, value, *numbers, mask, align)
        else:
            addresses = self._address(builder, as_vector(builder, offset, lanes), scale, part)
            masked_scatter(builder, value, addresses, mask, align)

    def _by_numbers(self, builder: ir.IRBuilder, numbers: ir.Value, scale: int, part: int) -> tuple[ir.Value, ir.Value]:
        """A pointer, and the numbers of memory elements behind it."""
        if scale == 1 and not part:
            return self.pointer, numbers
        return self.pointer, indices.add(builder, indices.scale(builder, numbers, scale), part)

    def _address(self, builder: ir.IRBuilder, offset: Component, scale: int, part: int) -> ir.Value:
        """The address (or the lanes' addresses) of memory element ``offset * scale + part``."""
        scalar = memory_type(self.shape.element_type)
        if scale != 1 or part:
            offset = indices.add(builder, indices.scale(builder, offset, scale), part)
        position = i64(offset.base) if isinstance(offset, Affine) else offset
        if isinstance(position, ir.Constant) and position.constant == 0:
            return self.pointer
        return element_address(builder, self.pointer, position, scalar)


@dataclass(frozen=True, eq=False)
class View(Array):
    """Elements of an array seen with other dimensions, which may overlap; ``steps`` are their strides in elements."""

    steps: tuple[int, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        return self.steps

    def seen_from(self, builder: ir.IRBuilder, index: Index) -> View:
        return View(self.address(builder, index), self.shape, self.steps)


def stack_array(builder: ir.IRBuilder, shape: Shape) -> Array:
    """Memory for an array in the function's stack frame, of the size of a register for a scalar."""
    with builder.goto_entry_block():
        return Array(stack_memory(builder, shape.byte_size, 64) if shape.rank else stack_memory(builder, 16, 16), shape)


def _every_other(builder: ir.IRBuilder, vector: ir.Value, first: int, lanes: int) -> ir.Value:
    return builder.shuffle_vector(vector, undefined(vector.type), lanes_constant(range(first, 2 * lanes, 2)))


def lanes_constant(lanes: Iterable[int]) -> ir.Constant:
    return _lanes_constant(tuple(lanes))


@lru_cache(maxsize=1024)
def _lanes_constant(lanes: tuple[int, ...]) -> ir.Constant:
    return ir.Constant(vector_of(I32, len(lanes)), [I32(lane) for lane in lanes])


def _loaded_around(
    builder: ir.IRBuilder, address: ir.Value, scalar: ir.Type, count: int, lanes: list[int], align: int
) -> ir.Value:
    """Elements of these numbers, one a lane, of so many that lie at the address."""
    if count == 1:
        return broadcast_lanes(builder, builder.load(address, typ=scalar, align=align), len(lanes))
    if not lacks(builder.module, "long vectors") or count in _SHORT_VECTORS:
        around = ir.VectorType(scalar, count)
        value = builder.load(address, typ=around, align=align)
        return builder.shuffle_vector(value, undefined(around), lanes_constant(lanes))
    size = min(1 << (count.bit_length() - 1), max(_SHORT_VECTORS))  # of two vectors, which overlap
    half, behind = ir.VectorType(scalar, size), count - size
    parts = [builder.load(element_address(builder, address, I64(n), scalar), typ=half, align=align) for n in (0, behind)]
    return builder.shuffle_vector(*parts, lanes_constant([n if n < size else size + n - behind for n in lanes]))


def _loaded_in_steps(builder: ir.IRBuilder, address: ir.Value, vector: ir.VectorType, step: int, align: int) -> ir.Value:
    """Every ``step``-th element, from one that lies at the address; nothing behind the last one is read."""
    lanes = vector.count
    last = step * (lanes - 1)
    result, missing = undefined(vector), list(range(lanes))
    for number in range(step):
        start = min(number * lanes, last + 1 - lanes)
        part = builder.load(element_address(builder, address, i64(start), vector.element), typ=vector, align=align)
        here = [lane for lane in missing if step * lane < start + lanes]
        order = [lanes + step * lane - start if lane in here else lane for lane in range(lanes)]
        result = builder.shuffle_vector(result, part, lanes_constant(order))
        missing = missing[len(here) :]
    return result


def reverse_lanes(builder: ir.IRBuilder, vector: ir.Value) -> ir.Value:
    count = vector.type.count
    return builder.shuffle_vector(vector, undefined(vector.type), lanes_constant(range(count - 1, -1, -1)))


def _all_lanes(lanes: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(I1, lanes), [I1(1)] * lanes)


def masked_load(builder: ir.IRBuilder, address: ir.Value, vector: ir.VectorType, mask: ir.Value, align: int) -> ir.Value:
    """A contiguous vector; lanes outside the mask are zero and not read."""
    if lacks(builder.module, "lane masks"):
        return load_by_lanes(builder, address, vector, mask, align)
    name = f"llvm.masked.load.{type_suffix(vector)}.p0"
    function = declaration(builder.module, name, vector, [POINTER, I32, mask.type, vector])
    return builder.call(function, [address, I32(align), mask, ir.Constant(vector, None)])


def masked_store(builder: ir.IRBuilder, value: ir.Value, address: ir.Value, mask: ir.Value, align: int) -> None:
    """Write the lanes of the mask."""
    if lacks(builder.module, "lane masks"):
        store_by_lanes(builder, value, address, mask, align)
        return
    if lanes_in_front(mask) == 1:
        # LLVM writes one lane of a truncated vector as it was before the truncation, over the elements that follow.
        builder.store(builder.extract_element(value, I32(0)), address, align=align)
        return
    name = f"llvm.masked.store.{type_suffix(value.type)}.p0"
    function = declaration(builder.module, name, ir.VoidType(), [value.type, POINTER, I32, mask.type])
    builder.call(function, [value, address, I32(align), mask])


def _store_past_caches(builder: ir.IRBuilder, value: ir.Value, address: ir.Value, align: int) -> None:
    """Store a vector with instructions that need an aligned address, where it is one."""
    size = value.type.count * part_size(value.type.element)
    whole = min(size, streamed_bytes(builder.module))
    if whole < _LEAST_STREAMED:
        builder.store(value, address, align=align)
        return
    position = builder.ptrtoint(address, I64)
    is_aligned = builder.icmp_unsigned("==", builder.and_(position, I64(whole - 1)), I64(0))
    with builder.if_else(is_aligned, likely=True) as (then, otherwise):
        with then:
            store = builder.store(value, address, align=whole)
            store.set_metadata("nontemporal", builder.module.add_metadata([I32(1)]))
        with otherwise:
            if not isinstance(builder.module, DeviceModule):
                builder.store(value, address, align=align)
                return
            # By halves: of two stores that are the same, compilers of drivers make one, which caches keep.
            half = value.type.count // 2
            for first in (0, half):
                part = _lanes(builder, value, first, half)
                place = element_address(builder, address, I64(first), value.type.element) if first else address
                builder.store(part, place, align=align)


def _lanes(builder: ir.IRBuilder, vector: ir.Value, first: int, count: int) -> ir.Value:
    """Some lanes of a vector, side by side; a single one as a number."""
    if count == 1:
        return builder.extract_element(vector, I32(first))
    return builder.shuffle_vector(vector, vector, lanes_constant(range(first, first + count)))


def masked_gather(
    builder: ir.IRBuilder, addresses: ir.Value, vector: ir.VectorType, mask: ir.Value | None, align: int
) -> ir.Value:
    """One element from each lane's address; lanes outside the mask are zero and not read."""
    lanes = vector.count
    mask = _all_lanes(lanes) if mask is None else mask
    name = f"llvm.masked.gather.{type_suffix(vector)}.v{lanes}p0"
    function = declaration(builder.module, name, vector, [addresses.type, I32, mask.type, vector])
    return builder.call(function, [addresses, I32(align), mask, ir.Constant(vector, None)])


def masked_scatter(builder: ir.IRBuilder, value: ir.Value, addresses: ir.Value, mask: ir.Value | None, align: int) -> None:
    lanes = value.type.count
    mask = _all_lanes(lanes) if mask is None else mask
    name = f"llvm.masked.scatter.{type_suffix(value.type)}.v{lanes}p0"
    function = declaration(builder.module, name, ir.VoidType(), [value.type, addresses.type, I32, mask.type])
    builder.call(function, [value, addresses, I32(align), mask])
