"""The sums of a register block over its terms: of floats, of a few at a time, and of a few of these sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from llvmlite import ir

from ....compile.contraction import Contraction
from ....hlo import ElementType
from ...llvm import index as indices
from ...llvm.index import Affine, Base, Component, least
from ...llvm.loops import carried_loop, flatten, unflatten
from ...llvm.memory import stack_memory
from ...llvm.types import I64, RegisterValue
from ..contraction_forms import FAN_IN, RUN, levels_of_sums
from ..nest_samples import samples
from ..target import WIDEST_VECTOR_BYTES
from ..vectors import blocks_up_to

Terms = dict[int, Component]
Step = Callable[[Terms, list[RegisterValue]], list[RegisterValue]]


class SumsOfTerms:
    """Emits loops over the terms of a contraction: ``term_sizes`` of each dimension, fewer where these stop.

    ``stops`` says where dimensions end, of the result and then of the terms, ``stops_of_chunk`` where the terms that are being
    added do.
    """

    builder: ir.IRBuilder
    contraction: Contraction
    result_type: ElementType
    term_sizes: tuple[int, ...]
    stops: Mapping[int, ir.Value]
    stops_of_chunk: Mapping[int, ir.Value]

    def stop_of_terms(self, depth: int) -> Base:
        stop = self.stops.get(self.contraction.dot.shape.rank + depth, self.term_sizes[depth])
        return self.stops_of_chunk.get(depth, stop)

    @samples(
        """
        x = f64[5,1300] parameter(0)
        y = f64[1300,20] parameter(1)
        ROOT dot = f64[5,20] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """,
        """
        x = f32[3,90,20] parameter(0)
        y = f32[3,90,70] parameter(1)
        ROOT dot = f32[20,70] dot(x, y), lhs_contracting_dims={0,1}, rhs_contracting_dims={0,1}
        """,
    )
    def sum_of_terms(self, depth: int, terms: Terms, zeros: list[RegisterValue], step: Step) -> list[RegisterValue]:
        """The sums over the terms from one dimension on, of whom each is the sum of a few sums of a few terms, and so on."""
        sizes = self.term_sizes[depth:]
        if prod(sizes) <= RUN or self.result_type.kind not in ("float", "complex"):
            return self.over_terms(depth, terms, zeros, step)
        size, inner = sizes[0], prod(sizes[1:])
        stop, length = self.stop_of_terms(depth), max(1, RUN // inner)

        def run(number: Base) -> list[RegisterValue]:
            if inner > RUN:
                return self.sum_of_terms(depth + 1, {**terms, depth: Affine(number)}, zeros, step)
            start = indices.multiply_base(self.builder, number, length)
            return self.over_terms(depth, terms, zeros, step, start, self._end(start, length, stop))

        runs = -(-size // length)
        levels = levels_of_sums(runs)
        runs = runs if isinstance(stop, int) else blocks_up_to(self.builder, stop, length, runs)
        return self._cascade(run, 0, runs, levels, zeros)

    def _cascade(
        self, run: Callable[[Base], list[RegisterValue]], first: Base, runs: Base, levels: int, zeros: list[RegisterValue]
    ) -> list[RegisterValue]:
        """The sum of up to FAN_IN**levels runs, from the first on: added up in memory, by a cascade of one level less."""
        if levels == 0:
            return run(first)
        b, registers = self.builder, flatten(zeros)
        with b.goto_entry_block():
            memory = stack_memory(b, len(registers) * WIDEST_VECTOR_BYTES, WIDEST_VECTOR_BYTES)
        places = [b.gep(memory, [I64(number)], source_etype=r.type) for number, r in enumerate(registers)]
        for place, register in zip(places, registers):
            b.store(register, place)

        def add(number: ir.Value, nothing: list[RegisterValue]) -> list[RegisterValue]:
            for place, value in zip(places, flatten(self._cascade(run, number, runs, levels - 1, zeros))):
                b.store(b.fadd(b.load(place, typ=value.type), value), place)
            return nothing

        end = self._end(first, FAN_IN**levels, runs)
        carried_loop(b, first, end, FAN_IN ** (levels - 1), [], add, "runs", most=FAN_IN)
        return unflatten([b.load(place, typ=r.type) for place, r in zip(places, registers)], zeros)

    def over_terms(
        self,
        depth: int,
        terms: Terms,
        sums: list[RegisterValue],
        step: Step,
        start: Base = 0,
        stop: Base | None = None,
        depths: int | None = None,
    ) -> list[RegisterValue]:
        """Add all terms from one dimension on, in that dimension those from start to stop, one after the other.

        depths: of how many dimensions the terms are, if not of all.
        """
        if depth == (len(self.term_sizes) if depths is None else depths):
            return step(terms, sums)

        def iteration(number: ir.Value, carried: list[RegisterValue]) -> list[RegisterValue]:
            return self.over_terms(depth + 1, {**terms, depth: Affine(number)}, carried, step, depths=depths)

        stop = self.stop_of_terms(depth) if stop is None else stop
        return carried_loop(self.builder, start, stop, 1, sums, iteration, "terms", most=RUN)

    def _end(self, start: Base, length: int, size: Base) -> Base:
        """The end of a run of this length, or of everything."""
        return least(self.builder, indices.add_base(self.builder, start, length), size)
