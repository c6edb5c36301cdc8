"""Truth values in memory along rows, counted or combined as words of the bytes that they are: where vectors have few lanes.

A truth value is a byte there, 0 or 1. So words that are added up have a count in each byte, and a product by the word of ones
has the sum of these in its highest one. Words lie at any address: a last one overlaps the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import NamedTuple

from llvmlite import ir

from ....hlo import PRED, Instruction
from ....hlo.operation import Operation
from ....hlo.ops.elementwise import ADD, AND, OR
from ...llvm import index as indices
from ...llvm.arithmetic import of_width
from ...llvm.arrays import Array
from ...llvm.index import Affine, Base, Component
from ...llvm.loops import carried_loop
from ...llvm.pieces import in_last_piece, independent_loops, piece_bounds
from ...llvm.reductions import Reduction, Store, is_divided, reduce_loops, stops_of_kept
from ...llvm.types import I32, I64, RegisterValue, broadcast_lanes, scalar_register_type, vector_of
from ..nest_samples import combining, samples
from ..target import Target
from ..vectors import combined_lanes

# So many vectors are added up before the bytes of each word are: these are less than 256 together.
_VECTORS_OF_ROUND = 8
_LANES = 16
# Of a shorter row the lanes are added up, too, before the bytes are.
_LEAST_OF_LANES = 4 * _LANES
# From so many on a short row is a vector of four words, or two that overlap.
_LEAST_OF_SHORT_VECTORS = 32
# Rows of which many are turned in registers, and combined so, in fewer steps (`short_rows`).
_TURNED = range(5, 16)
# A count for each lane has 32 bits.
_MOST_COUNTED = 1 << 32
_COMBINED = {AND: ir.IRBuilder.and_, OR: ir.IRBuilder.or_}


class TruthWords(NamedTuple):
    """A reduction of the truth values of an array, by vectors of words with so many ``lanes``.

    What is carried is a count, or a word of truth values: for each lane of long rows, for all of them of short ones.
    """

    values: Instruction
    operation: Operation
    lanes: int
    word: ir.IntType

    @classmethod
    @samples(
        """
        x = pred[3,1003] parameter(0)
        number = s32[3,1003] convert(x)
        zero = s32[] constant(0)
        ROOT count = s32[3] reduce(number, zero), dimensions={1}, to_apply=add_s32
        """,
        """
        x = pred[2,5,35] parameter(0)
        number = s64[2,5,35] convert(x)
        init = s64[] parameter(1)
        ROOT count = s64[5] reduce(number, init), dimensions={0,2}, to_apply=add_s64
        """,
        """
        x = pred[40,17] parameter(0)
        number = s8[40,17] convert(x)
        zero = s8[] constant(0)
        ROOT count = s8[40] reduce(number, zero), dimensions={1}, to_apply=add_s8
        """,
        """
        x = pred[100,4] parameter(0)
        yes = pred[] constant(true)
        ROOT all = pred[100] reduce(x, yes), dimensions={1}, to_apply=and_pred
        """,
        """
        x = pred[30,30] parameter(0)
        no = pred[] constant(false)
        ROOT any = pred[30] reduce(x, no), dimensions={1}, to_apply=or_pred
        """,
        calls="".join(combining("add", f"{kind}[]") for kind in ("s32", "s64", "s8"))
        + combining("and", "pred[]")
        + combining("or", "pred[]"),
    )
    def of(cls, target: Target, reduction: Reduction) -> TruthWords | None:
        """None for other reductions, and where vectors have as many lanes as registers have bytes."""
        operation, last = reduction.to_apply.combining_operation, len(reduction.dimensions) - 1
        if not target.is_portable or reduction.count > 1 or last not in reduction.reduced or last in reduction.stops:
            return None
        (values,), size = reduction.operands, reduction.dimensions[last]
        if operation is ADD and values.opcode == "convert" and values.shape.element_type.is_integer:
            (values,) = values.operands
        elif operation not in _COMBINED or size >= _LEAST_OF_LANES or size in _TURNED:  # a longer row may be left early
            return None
        array = reduction.bindings.get(values)
        if values.shape.element_type is not PRED or type(array) is not Array or array.strides[last] != 1:
            return None
        if size < I32.width // 8 or reduction.reduced_count >= _MOST_COUNTED:
            return None
        if size >= _LEAST_OF_LANES:
            return cls(values, operation, _LANES, I32)
        return cls(values, operation, 4 if size >= _LEAST_OF_SHORT_VECTORS else 1, I64 if size >= I64.width // 8 else I32)

    def emit(self, builder: ir.IRBuilder, reduction: Reduction, store: Store) -> None:
        kept, last = reduction.kept, len(reduction.dimensions) - 1
        lanes = self.lanes if reduction.dimensions[last] >= _LEAST_OF_LANES else 1
        none = self._ones(lanes) if self.operation is AND else ir.Constant(vector_of(self.word, lanes), None)
        outer_reduced = [d for d in reduction.reduced if d != last]
        with independent_loops(builder, [reduction.dimensions[d] for d in kept], stops_of_kept(reduction)) as outer:
            row = partial(self._row, builder, reduction)
            (state,) = reduce_loops(builder, reduction, outer_reduced, dict(zip(kept, outer)), [none], row)
            totals = [self._result(builder, reduction, state)]
            store(outer, totals if reduction.divided else reduction.combine(builder, reduction.init_values, totals, 1), 1, None)

    @property
    def _bytes(self) -> int:
        return self.lanes * self._word_bytes

    @property
    def _word_bytes(self) -> int:
        return self.word.width // 8

    def _constant(self, contents: bytes) -> ir.Constant:
        size = self._word_bytes
        words = [self.word(int.from_bytes(contents[at : at + size], "little")) for at in range(0, len(contents), size)]
        return words[0] if len(words) == 1 else ir.Constant(vector_of(self.word, len(words)), words)

    def _ones(self, lanes: int) -> ir.Constant:
        """1 in each byte."""
        return self._constant(b"\1" * (lanes * self._word_bytes))

    def _row(
        self, builder: ir.IRBuilder, reduction: Reduction, index: dict[int, Component], state: list[RegisterValue]
    ) -> Sequence[RegisterValue]:
        """The state and what a row adds to it: counts, or words of truth values."""
        b, last = builder, len(reduction.dimensions) - 1
        size, divides = reduction.dimensions[last], is_divided(reduction, last)
        array = reduction.bindings[self.values]

        def word(place: Base) -> ir.Value:
            full = tuple([Affine(place) if d == last else index[d] for d in range(last + 1)])
            return b.load(array.address(b, full), typ=vector_of(self.word, self.lanes), align=1)

        def added(state: list[RegisterValue], words: list[ir.Value]) -> list[RegisterValue]:
            found = reduce(partial(self._merged, b), words)
            if size < _LEAST_OF_LANES:
                found = self._of_lanes(b, found)
            return [self._merged(b, state[0], self._in_words(b, found))]

        def whole(base: ir.Value, state: list[RegisterValue]) -> list[RegisterValue]:
            return added(state, [word(indices.add_base(b, base, n * self._bytes)) for n in range(_VECTORS_OF_ROUND)])

        step = _VECTORS_OF_ROUND * self._bytes
        rounds = size // step
        if rounds:
            start, stop, most = 0, rounds * step, rounds * step
            if divides:
                first, past, most = piece_bounds(b, rounds)
                start, stop = (indices.multiply_base(b, base, step) for base in (first, past))
            state = carried_loop(b, start, stop, step, state, whole, "row", most)
        done, rest = rounds * step, size % self._bytes

        def end() -> list[RegisterValue]:
            words = [word(place) for place in range(done, size - rest, self._bytes)]
            if rest:
                words.append(self._last(b, word(size - self._bytes), rest))
            return added(state, words)

        if done == size:
            return state
        return in_last_piece(b, state, end) if divides else end()

    def _last(self, builder: ir.IRBuilder, words: ir.Value, rest: int) -> ir.Value:
        """The end of a row, of whose truth values the ``rest`` alone have not been counted."""
        if self.operation is not ADD:
            return words
        return builder.and_(words, self._constant((b"\1" * rest).rjust(self._bytes, b"\0")))

    def _merged(self, builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
        return _COMBINED.get(self.operation, ir.IRBuilder.add)(builder, one, other)

    def _of_lanes(self, builder: ir.IRBuilder, words: ir.Value) -> ir.Value:
        lanes = words.type.count if isinstance(words.type, ir.VectorType) else 1
        return combined_lanes(builder, [words], lanes, lambda one, other, _: [self._merged(builder, *one, *other)])[0]

    def _in_words(self, builder: ir.IRBuilder, found: ir.Value) -> ir.Value:
        """What is carried of sums of words, or of words that were combined: how many truth values there are in each."""
        if self.operation is not ADD:
            return found
        lanes = found.type.count if isinstance(found.type, ir.VectorType) else 1
        highest = broadcast_lanes(builder, self.word(self.word.width - 8), lanes)
        return builder.lshr(builder.mul(found, self._ones(lanes)), highest)

    def _result(self, builder: ir.IRBuilder, reduction: Reduction, carried: ir.Value) -> ir.Value:
        b, total = builder, self._of_lanes(builder, carried)
        if self.operation is OR:
            return b.icmp_unsigned("!=", total, self.word(0))
        if self.operation is AND:
            return b.icmp_unsigned("==", total, self._ones(1))
        return of_width(b, total, scalar_register_type(reduction.operands[0].shape.element_type))
