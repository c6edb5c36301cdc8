"""Register blocks of bytes: instructions that multiply four pairs of bytes a lane, and add the products to 32 bits.

They take unsigned bytes on one side and signed ones on the other. Where both operands are alike 128 is added to the left one,
or subtracted, by turning its highest bits, and what is too much in the end is 128 times the sum of each column. Sums wrap, as
those of products one by one do, so that all results are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from types import MappingProxyType

from llvmlite import ir

from ....compile.contraction import Contraction
from ....hlo import S8, S32, U8, Shape
from ...llvm import index as indices
from ...llvm.arrays import Array
from ...llvm.index import Affine, Base, Index
from ...llvm.loops import carried_loop, loop_nest
from ...llvm.module import declaration, lacks
from ...llvm.types import I8, I32, I64, RegisterValue, broadcast_lanes, integer_constant, register_type
from ..contraction_forms import Columns
from ..nest_samples import samples
from ..target import Target
from .contraction_blocks import Blocks
from .contraction_sums import Terms

_GROUP = 4  # bytes of a lane
_LANES = 16
_LEAST_TERMS = 16
_SUMS = ir.VectorType(I32, _LANES)
_MULTIPLY_ADD = "llvm.x86.avx512.vpdpbusd.512"
_HIGHEST_BITS = -0x7F7F7F80  # of four bytes


def multiplies_bytes(
    target: Target, contraction: Contraction, lhs: Array, panel: ir.Value | None, stops: Mapping[int, ir.Value]
) -> bool:
    """Whether there are instructions for such operands, and the terms of the left one lie side by side."""
    if panel is None or stops or target.vector_bytes != 64 or not target.has("avx512vnni"):
        return False
    c, result = contraction, contraction.dot.shape.element_type
    are_bytes = c.lhs.element_type in (S8, U8) and c.rhs.element_type in (S8, U8)
    if not are_bytes or not result.is_integer or not 8 <= result.bits <= 32 or not c.terms:
        return False
    last = c.terms[-1][0]
    return lhs.strides[last] == 1 and c.lhs.dimensions[last] >= _LEAST_TERMS


class ByteBlocks(Blocks):
    """The blocks of a contraction of bytes; the last terms are taken four at a time."""

    accumulator_bytes = 4

    def emit(self) -> None:
        self._lengths = self.term_sizes
        self.term_sizes = (*self._lengths[:-1], self._lengths[-1] // _GROUP)
        self._last = len(self._lengths) - 1
        self._is_left_signed, self._is_right_signed = (array.shape.element_type is S8 for array in (self.lhs, self.rhs))
        super().emit()

    @property
    def _turns_left(self) -> bool:
        return self._is_left_signed == self._is_right_signed

    def _form_of(self, height: int, columns: Columns, least: int = 0) -> None:
        return None

    def stop_of_terms(self, depth: int) -> Base:
        if depth == self._last and depth in self.stops_of_chunk:
            return self.builder.udiv(self.stops_of_chunk[depth], I64(_GROUP))
        return super().stop_of_terms(depth)

    def packed(self, batch: Index, positions: list[Affine], mask: ir.Value | None = None) -> Columns:
        """Columns copied into the panel: four terms of a column side by side; behind them the sums of the columns."""
        b, count = self.builder, len(positions)
        direct = self.direct(batch, positions, mask)
        outer, groups = self._lengths[:-1], self._lengths[-1] // _GROUP + self._has_rest
        panel = Array(self.panel, Shape(S32, (*outer, groups, count * _LANES)))
        behind = b.gep(self.panel, [I64(prod(outer) * groups * count * _LANES * 4)], source_etype=I8)
        totals = [b.gep(behind, [I64(number)], source_etype=_SUMS) for number in range(count)]
        for total in totals:
            b.store(integer_constant(_SUMS, 0), total, align=4)

        def pack(outside: Index, group: Base, end: Base | None) -> None:
            for number, array in enumerate(direct.arrays):
                rows = [self._row_of_group(array, direct, outside, group, k, end) for k in range(_GROUP)]
                value = _side_by_side(b, rows)
                place = (*outside, Affine(group), Affine(number * _LANES, 1))
                panel.store(b, place, value, _LANES)
                if self._turns_left:
                    b.store(self._with_column_sums(b.load(totals[number], typ=_SUMS, align=4), value), totals[number], align=4)

        stops = dict(self.stops_of_chunk)
        end = stops.pop(self._last, self._lengths[-1])
        with loop_nest(b, outer, stops) as outside:
            carried_loop(b, 0, self.stop_of_terms(self._last), 1, [], lambda group, _: pack(outside, group, None) or [])
            if self._has_rest:
                pack(outside, self._group_of_rest(end), end)
        zeros = (indices.ZERO,) * (len(outer) + 1)
        arrays = [panel.seen_from(b, (*zeros, Affine(number * _LANES))) for number in range(count)]
        step = Affine(0, 1)
        return Columns(
            positions, arrays, lambda terms: (*(terms[depth] for depth in range(len(self._lengths))), step), mask, totals
        )

    def rest_of_columns(self, batch: Index, position: Affine, mask: ir.Value) -> Columns:
        return self.packed(batch, [position], mask)

    @property
    def _has_rest(self) -> bool:
        """Whether there may be terms behind the last whole group."""
        return self._lengths[-1] % _GROUP != 0 or self._last in self.stops_of_chunk

    def _group_of_rest(self, end: Base) -> Base:
        return end // _GROUP if isinstance(end, int) else self.builder.udiv(end, I64(_GROUP))

    def _place(self, group: Base, k: int, end: Base | None) -> tuple[Base, ir.Value | bool]:
        """Which term a byte of a group is, one that there is in any case, and whether it is in front of the end."""
        b = self.builder
        term = indices.add_base(b, indices.multiply_base(b, group, _GROUP), k)
        if end is None:
            return term, True
        if isinstance(term, int) and isinstance(end, int):
            return min(term, end - 1), term < end
        is_there = b.icmp_signed("<", indices.i64(term), indices.i64(end))
        return indices.least(b, term, indices.add_base(b, end, -1)), is_there

    def _row_of_group(self, array: Array, direct: Columns, outside: Index, group: Base, k: int, end: Base | None) -> ir.Value:
        b, zero = self.builder, integer_constant(ir.VectorType(I8, _LANES), 0)
        term, is_there = self._place(group, k, end)
        if is_there is False:
            return zero
        terms: Terms = dict(enumerate((*outside, Affine(term))))
        value = array.load(b, direct.index(terms), _LANES, direct.mask)
        return value if is_there is True else b.select(is_there, value, zero)

    def _with_column_sums(self, total: ir.Value, packed: ir.Value) -> ir.Value:
        ones = integer_constant(_SUMS, 0x01010101)
        return self._multiplied(total, ones, packed) if self._is_right_signed else self._multiplied(total, packed, ones)

    def sums(self, batch: Index, rows: list[Index], columns: Columns) -> list[RegisterValue]:
        b, width = self.builder, len(columns.arrays)
        left_rows = [self.lhs.seen_from(b, self.left_index(batch, row, self.origin)) for row in rows]
        starts = [integer_constant(_SUMS, 0)] * width
        if self._turns_left:
            totals = [b.load(total, typ=_SUMS, align=4) for total in columns.totals]
            starts = [b.mul(total, integer_constant(_SUMS, -128 if self._is_left_signed else 128)) for total in totals]

        def add(terms: Terms, sums: list[RegisterValue], end: Base | None) -> list[RegisterValue]:
            right = [array.load(b, columns.index(terms), _LANES) for array in columns.arrays]
            result = []
            for number, array in enumerate(left_rows):
                left = self._left_group(array, terms, end)
                for position, value in enumerate(right):
                    pair = (left, value) if self._is_right_signed else (value, left)
                    result.append(self._multiplied(sums[number * width + position], *pair))
            return result

        sums = self.over_terms(0, {}, starts * len(rows), lambda terms, sums: add(terms, sums, None))
        if self._has_rest:
            end = self.stops_of_chunk.get(self._last, self._lengths[-1])
            group = self._group_of_rest(end)
            sums = self.over_terms(
                0, {}, sums, lambda terms, sums: add({**terms, self._last: Affine(group)}, sums, end), depths=self._last
            )
        own_type = register_type(self.result_type, _LANES)
        return sums if own_type == _SUMS else [b.trunc(value, own_type) for value in sums]

    def _left_group(self, row: Array, terms: Terms, end: Base | None) -> ir.Value:
        """Four bytes of a row, in all lanes."""
        b, group = self.builder, terms[self._last].base
        first = row.address(b, self.left_index((), (), {**terms, self._last: Affine(indices.multiply_base(b, group, _GROUP))}))
        if end is None:
            value = b.load(first, typ=I32, align=1)
        else:
            value = I32(0)
            for k in range(_GROUP):
                term, is_there = self._place(group, k, end)
                if is_there is False:
                    continue
                byte = row.load(b, self.left_index((), (), {**terms, self._last: Affine(term)}), 1)
                value = b.or_(value, b.shl(b.zext(byte, I32), I32(8 * k)))
        value = broadcast_lanes(b, value, _LANES)
        return b.xor(value, integer_constant(_SUMS, _HIGHEST_BITS)) if self._turns_left else value

    def _multiplied(self, total: ir.Value, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
        function = declaration(self.builder.module, _MULTIPLY_ADD, _SUMS, [_SUMS] * 3)
        return self.builder.call(function, [total, unsigned, signed])


def _side_by_side(builder: ir.IRBuilder, rows: list[ir.Value]) -> ir.Value:
    """The bytes of four rows, those of a column in one lane of 32 bits."""
    if lacks(builder.module, "long vectors"):
        wide = [builder.zext(row, _SUMS) for row in rows]
        return reduce(builder.or_, [builder.shl(row, integer_constant(_SUMS, 8 * place)) for place, row in enumerate(wide)])
    pairs = [_interleaved(builder, rows[0], rows[2]), _interleaved(builder, rows[1], rows[3])]
    return builder.bitcast(_interleaved(builder, *pairs), _SUMS)


def _interleaved(builder: ir.IRBuilder, first: ir.Value, second: ir.Value) -> ir.Value:
    count = first.type.count
    order = [lane // 2 + (lane % 2) * count for lane in range(2 * count)]
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(I32, 2 * count), [I32(lane) for lane in order]))


@samples(
    """
    x = s8[33,70] parameter(0)
    y = s8[70,90] parameter(1)
    ROOT dot = s32[33,90] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    """,
    """
    x = u8[33,3,30] parameter(0)
    y = u8[3,30,64] parameter(1)
    ROOT dot = s16[33,64] dot(x, y), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}
    """,
    """
    x = s8[19,3003] parameter(0)
    y = u8[70,3003] parameter(1)
    ROOT dot = s8[19,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
    """,
    """
    x = u8[2,17,41] parameter(0)
    y = s8[2,41,80] parameter(1)
    ROOT dot = u32[2,17,80] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={2},
      rhs_batch_dims={0}, rhs_contracting_dims={1}
    """,
)
def emit_blocks(
    builder: ir.IRBuilder,
    target: Target,
    contraction: Contraction,
    arrays: Sequence[Array],
    panel: ir.Value | None,
    stops: Mapping[int, ir.Value] = MappingProxyType({}),
    chunks: tuple[Base, Base] | None = None,
) -> None:
    """The loop nest of a contraction of two arrays into a third one, in blocks of bytes or of other numbers (see `Blocks`)."""
    kind = ByteBlocks if multiplies_bytes(target, contraction, arrays[0], panel, stops) else Blocks
    kind(builder, target, contraction, *arrays, panel, stops, chunks).emit()
