"""The Fourier transform of a column: a signal whose elements are vectors, of which each lane transforms a signal of its own."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from llvmlite import ir

from ...hlo import ElementType
from .fourier_plan import LARGEST_UNROLLED, radices
from .fourier_steps import Elements, call_step
from .index import Base
from .interruption import interruption_of
from .loops import carried_loop, counted_loop
from .types import I64, ComplexValue, memory_type

# About how many instructions an element takes in a step of a radix that is not large.
_INSTRUCTIONS_OF_ELEMENT = 16


class FourierColumn(Elements):
    """One transform of vectors. Its elements lie in the two memories in turn."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        element_type: ElementType,
        lanes: int,
        length: int,
        inverse: bool,
        memory: tuple[ir.Value, ir.Value],
        roots: ir.Value,
    ) -> None:
        super().__init__(builder, memory_type(element_type), lanes)
        self.element_type, self.length, self.inverse = element_type, length, inverse
        self.memory, self.roots = memory, roots

    def transform(self, load: Callable[[Base], ComplexValue], store: Callable[[Base, ComplexValue], None]) -> None:
        """Transform the elements that ``load(position)`` gives; ``store(frequency, value)`` takes the results."""
        b, length = self.builder, self.length
        source, target = self.memory
        with counted_loop(b, length, "load") as position:
            self.write(source, position, load(position))
        state = [source, target, self.roots, I64(length), I64(1)]
        for radix, steps in groupby(radices(length)):
            state = carried_loop(
                b, 0, len(list(steps)), 1, state, lambda number, state, radix=radix: self._step(radix, *state), f"radix.{radix}"
            )
        result = state[0]
        with counted_loop(b, length, "store") as frequency:
            store(frequency, self.read(result, frequency))

    def _step(
        self, radix: int, source: ir.Value, target: ir.Value, roots: ir.Value, rest: ir.Value, done: ir.Value
    ) -> list[ir.Value]:
        """Split signals of length ``rest`` into ``radix`` shorter ones; ``done`` is the product of the radices before."""
        b = self.builder
        remaining = b.udiv(rest, I64(radix))
        call_step(b, self.element_type, self.lanes, self.inverse, radix, [source, target, roots, remaining, done])
        interruption = interruption_of(b)
        if interruption is not None:
            of_radix = radix // LARGEST_UNROLLED + 1
            interruption.add(_INSTRUCTIONS_OF_ELEMENT * of_radix * self.length)
        used = b.add(b.mul(remaining, I64(2 * (radix - 1))), I64(2 * radix if radix > LARGEST_UNROLLED else 0))
        return [target, source, b.gep(roots, [used], source_etype=self.scalar), remaining, b.mul(done, I64(radix))]
