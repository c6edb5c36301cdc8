"""One step of a Fourier transform of vectors, as a function of its own: all columns share it, and all programs.

Source: Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965); the steps leave the
frequencies in order, as Stockham's do (Van Loan, "Computational Frameworks for the Fast Fourier Transform", 1992, 1.7).
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...hlo import ElementType
from .arithmetic import constant, multiply_add
from .builder import Builder
from .fourier_butterflies import Butterfly, complex_difference, complex_product, complex_sum
from .fourier_plan import LARGEST_UNROLLED
from .index import Base, i64, least
from .loops import carried_loop, counted_loop
from .module import SharedFunction, align_stack, declared, vector_bytes_of
from .types import I8, I64, POINTER, ComplexValue, broadcast_lanes, memory_type, type_suffix, vector_of

# Of a large radix the values at so many frequencies, and their opposites, are summed up at once: they stay in registers.
FREQUENCIES = 4


class Elements:
    """Complex vectors in memory, as pairs of vectors, real and imaginary."""

    def __init__(self, builder: ir.IRBuilder, scalar: ir.Type, lanes: int) -> None:
        self.builder, self.lanes = builder, lanes
        self.scalar, self.vector = scalar, vector_of(scalar, lanes)
        self.alignment = 4 if isinstance(scalar, ir.FloatType) else 8

    def _address(self, memory: ir.Value, position: Base, part: int) -> ir.Value:
        b = self.builder
        place = b.add(b.mul(i64(position), I64(2 * self.lanes * self.alignment)), I64(part * self.lanes * self.alignment))
        return b.gep(memory, [place], source_etype=I8)

    def read(self, memory: ir.Value, position: Base) -> ComplexValue:
        return ComplexValue(
            *(
                self.builder.load(self._address(memory, position, part), typ=self.vector, align=self.alignment)
                for part in (0, 1)
            )
        )

    def write(self, memory: ir.Value, position: Base, value: ComplexValue) -> None:
        for part, number in enumerate(value):
            self.builder.store(number, self._address(memory, position, part), align=self.alignment)


def call_step(
    builder: ir.IRBuilder, element_type: ElementType, lanes: int, inverse: bool, radix: int, arguments: list[ir.Value]
) -> None:
    """Split signals into ``radix`` shorter ones.

    arguments: the elements, where they go, the step's roots, the length of the shorter signals, and the product of the radices
        of the steps before.
    """
    scalar = memory_type(element_type)

    def emit(function: ir.Function) -> None:
        if lanes > 1:
            align_stack(function, vector_bytes_of(function.module) or lanes * element_type.byte_size)
        for pointer in function.args[:3]:
            pointer.add_attribute("noalias")
        body = Builder(function.append_basic_block("entry"))
        _Step(body, scalar, lanes, inverse, radix, function.args).emit()
        body.ret_void()

    name = f"phlox.fourier.{'inverse.' * inverse}{radix}.{type_suffix(vector_of(scalar, lanes))}"
    type_ = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, POINTER, I64, I64])
    builder.call(declared(builder.module, SharedFunction(name, type_, emit)), arguments)


class _Step(Elements):
    """The body of the function, while it is written."""

    def __init__(
        self, builder: ir.IRBuilder, scalar: ir.Type, lanes: int, inverse: bool, radix: int, arguments: list[ir.Value]
    ) -> None:
        super().__init__(builder, scalar, lanes)
        self.radix, self.butterfly = radix, Butterfly(builder, self.vector, inverse)
        self.source, self.target, self.roots, self.remaining, self.done = arguments

    def emit(self) -> None:
        b, radix = self.builder, self.radix
        distance = b.mul(self.done, self.remaining)
        one_of = self._long_butterfly if radix > LARGEST_UNROLLED else self._short_butterfly

        def turn(p: ir.Value, nothing: list) -> list:
            first, place = b.mul(self.done, p), b.mul(self.done, b.mul(p, I64(radix)))
            butterfly = one_of(p, distance)

            def at_place(q: ir.Value, nothing: list) -> list:
                butterfly(b.add(q, first), b.add(q, place))
                return nothing

            carried_loop(b, I64(0), self.done, 1, [], at_place, "butterfly")
            return nothing

        carried_loop(b, I64(0), self.remaining, 1, [], turn, "turn")

    def _short_butterfly(self, p: ir.Value, distance: ir.Value) -> Callable[[ir.Value, ir.Value], None]:
        """Code for each element; those of ``p`` are multiplied by the same roots."""
        b, radix = self.builder, self.radix
        turns = [self._turn(p, j) for j in range(1, radix)]

        def butterfly(start: ir.Value, into: ir.Value) -> None:
            inputs = [self.read(self.source, b.add(start, b.mul(distance, I64(k)))) for k in range(radix)]
            for j, value in enumerate(self.butterfly.transform(inputs)):
                turned = complex_product(b, value, turns[j - 1]) if j else value
                self.write(self.target, b.add(into, b.mul(self.done, I64(j))), turned)

        return butterfly

    def _long_butterfly(self, p: ir.Value, distance: ir.Value) -> Callable[[ir.Value, ir.Value], None]:
        """Loops over the elements and the frequencies instead of code for each of them.

        The sums and the differences of the elements k and -k take the places of these, which nothing reads any more.
        """
        b, radix, half = self.builder, self.radix, self.radix // 2
        factors = b.gep(self.roots, [b.mul(self.remaining, I64(2 * (radix - 1)))], source_etype=self.scalar)

        def butterfly(start: ir.Value, into: ir.Value) -> None:
            def at(number: ir.Value) -> ir.Value:
                return b.add(start, b.mul(distance, number))

            def pair(k: ir.Value, carried: list) -> list:
                near, far = at(k), at(b.sub(I64(radix), k))
                x, y = self.read(self.source, near), self.read(self.source, far)
                total = complex_sum(b, x, y)
                self.write(self.source, near, total)
                self.write(self.source, far, complex_difference(b, x, y))
                return list(complex_sum(b, ComplexValue(*carried), total))

            zeroth = self.read(self.source, start)
            total = carried_loop(b, 1, half + 1, 1, list(zeroth), pair, "pairs")
            self.write(self.target, into, ComplexValue(*total))
            with counted_loop(b, -(-half // FREQUENCIES), "frequencies") as number:
                # The last ones overlap those before them.
                lowest = least(b, b.add(b.mul(i64(number), I64(FREQUENCIES)), I64(1)), half + 1 - FREQUENCIES)
                js = [b.add(lowest, I64(offset)) for offset in range(FREQUENCIES)]
                for j, value, opposite in zip(js, *self._frequencies(at, factors, zeroth, js)):
                    for frequency, one in ((j, value), (b.sub(I64(radix), j), opposite)):
                        turned = complex_product(b, one, self._turn(p, frequency))
                        self.write(self.target, b.add(into, b.mul(self.done, frequency)), turned)

        return butterfly

    def _frequencies(
        self, at: Callable[[ir.Value], ir.Value], factors: ir.Value, zeroth: ComplexValue, js: list[ir.Value]
    ) -> tuple[list[ComplexValue], list[ComplexValue]]:
        """The values at frequencies j and -j, of the sums and the differences of pairs; ``factors`` are the radix's roots."""
        b, radix, count = self.builder, self.radix, len(js)
        zero = constant(self.vector, 0.0)

        def add(k: ir.Value, carried: list) -> list:
            exponents, sums = carried[:count], carried[count:]
            both = self.read(self.source, at(k)), self.read(self.source, at(b.sub(I64(radix), k)))
            found, following = [], []
            for number, (j, exponent) in enumerate(zip(js, exponents)):
                cosine, sine = self._root(factors, exponent)
                parts = [(both[0], cosine, part) for part in (0, 1)] + [(both[1], sine, part) for part in (0, 1)]
                found += [
                    multiply_add(b, one[part], factor, sums[4 * number + n]) for n, (one, factor, part) in enumerate(parts)
                ]
                raised = b.add(exponent, j)
                over = b.icmp_unsigned(">=", raised, I64(radix))
                following.append(b.select(over, b.sub(raised, I64(radix)), raised))
            return [*following, *found]

        begin = [*js, *[value for _ in js for value in (*zeroth, zero, zero)]]
        sums = carried_loop(b, 1, radix // 2 + 1, 1, begin, add, "frequency")[count:]
        cosines = [ComplexValue(*sums[4 * n : 4 * n + 2]) for n in range(count)]
        sines = [self.butterfly.quarter_turned(ComplexValue(*sums[4 * n + 2 : 4 * n + 4])) for n in range(count)]
        pairs = list(zip(cosines, sines))
        return [complex_sum(b, *pair) for pair in pairs], [complex_difference(b, *pair) for pair in pairs]

    def _root(self, factors: ir.Value, exponent: ir.Value) -> list[ir.Value]:
        """The cosine and the sine of an angle, in all lanes."""
        b, place = self.builder, self.builder.mul(exponent, I64(2))
        parts = [b.load(b.gep(factors, [b.add(place, I64(k))], source_etype=self.scalar), typ=self.scalar) for k in (0, 1)]
        return [broadcast_lanes(b, part, self.lanes) for part in parts]

    def _turn(self, p: ir.Value, j: Base) -> ComplexValue:
        b, radix, roots = self.builder, self.radix, self.roots
        place = b.add(b.mul(p, I64(2 * (radix - 1))), b.mul(b.sub(i64(j), I64(1)), I64(2)))
        parts = (b.load(b.gep(roots, [b.add(place, I64(k))], source_etype=self.scalar), typ=self.scalar) for k in (0, 1))
        return ComplexValue(*(broadcast_lanes(b, part, self.lanes) for part in parts))
