"""Random numbers: calls of NumPy's own functions on a generator's state, which goes on where it lies.

Python's ``Random`` has no functions to call: what it does with its MT19937 is emitted.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from ...hlo import Instruction
from ...hlo.ops.random_calls import Draw, draw_of
from ...runtime.bit_generators import FUNCTIONS, INTERRUPT, IS_OWN, KINDS_WITH_LOCKS, PLACES_OF_LOCKS, WAIT
from ...runtime.random_draws import BINOMIAL_BYTES
from ..llvm.arrays import Array
from ..llvm.branches import UNLIKELY, chosen, replaced_if
from ..llvm.builder import Builder
from ..llvm.index import Affine
from ..llvm.loops import carried_loop, while_loop
from ..llvm.memory import element_address, fill_memory, stack_memory
from ..llvm.module import declaration
from ..llvm.types import DOUBLE, I1, I32, I64, POINTER, memory_type, scalar_register_type
from .frame import Frame, Leaf, Values
from .legacy_draws import legacy_number

_VOID = ir.VoidType()
_WORDS = 624  # of an MT19937
# Functions that fill an array, where there are such.
_FILLING = {
    f"standard_{name}{letter}": f"random_standard_{name}_fill{letter}"
    for name in ("uniform", "normal", "exponential")
    for letter in ("", "_f")
}


def emit_draw(frame: Frame, instruction: Instruction, values: Values, draw: Draw) -> list[Leaf]:
    """The numbers drawn, a scalar in a register; zeros where the first operand says so."""
    frame.module.draws = True
    stopped, handle, *parameters = [values[operand][0] for operand in instruction.operands]
    return [_Drawing(frame, draw, handle).result(instruction, stopped, parameters)]


def draw_bytes(instruction: Instruction) -> int:
    """The memory that a draw needs for itself: where different integers are noted."""
    draw = draw_of(instruction.attributes.get("custom_call_target", ""))
    is_noted = draw is not None and draw.is_distinct and draw.name != "permutation"
    return 8 * _slots(instruction.shape.size) if is_noted else 0


def _is_false(condition: ir.Value) -> bool:
    return isinstance(condition, ir.Constant) and not condition.constant


def _slots(count: int) -> int:
    """A power of 2 that is more than the count, so that few of them meet at one place."""
    return 1 << int(1.5 * count).bit_length()


class _Drawing:
    """One draw, while its code is emitted."""

    def __init__(self, frame: Frame, draw: Draw, handle: ir.Value) -> None:
        self.frame, self.draw, self.b = frame, draw, frame.builder
        self.handle = self.b.inttoptr(handle, POINTER)

    def result(self, instruction: Instruction, stopped: ir.Value, parameters: list[Leaf]) -> Leaf:
        b, shape = self.b, instruction.shape
        self._wait_for_lock()
        if not shape.rank and not self.draw.is_bounded:
            if _is_false(stopped):
                return self._drawn(self._bitgen(self.handle), parameters)
            zero = ir.Constant(scalar_register_type(shape.element_type), 0)
            numbers = [lambda: [zero], lambda: [self._drawn(self._bitgen(self.handle), parameters)]]
            return chosen(b, stopped, numbers, "drawn")[0]
        output = self.frame.output(instruction)
        if _is_false(stopped):
            self._fill(output, self._bitgen(self.handle), parameters, self.frame.scratch(instruction))
            return output if shape.rank else output.load(b, (), 1)
        with b.if_else(stopped, likely=False) as (nothing, something):
            with nothing:
                fill_memory(b, output.pointer, 0, output.shape.byte_size)
            with something:
                self._fill(output, self._bitgen(self.handle), parameters, self.frame.scratch(instruction))
        return output if shape.rank else output.load(b, (), 1)

    def _wait_for_lock(self) -> None:
        """Until no other thread draws by NumPy. None begins to as long as this one keeps the interpreter's lock."""
        if self.draw.kind not in KINDS_WITH_LOCKS:
            return
        b, places = self.b, self._function(PLACES_OF_LOCKS.removeprefix(FUNCTIONS), _VOID, [])
        of_word, of_lock = (
            b.load(b.gep(places, [I64(8 * at)], source_etype=ir.IntType(8)), typ=I64)
            for at in (0, 1 + KINDS_WITH_LOCKS.index(self.draw.kind))
        )
        lock = b.load(b.gep(self.handle, [of_lock], source_etype=ir.IntType(8)), typ=POINTER)
        word = b.gep(lock, [of_word], source_etype=ir.IntType(8))
        replaced_if(b, self._is_held(word), [], lambda: self._waited(lock, word), UNLIKELY)

    def _is_held(self, word: ir.Value) -> ir.Value:
        return self.b.icmp_unsigned("!=", self.b.load(word, typ=I64), I64(0))

    def _waited(self, lock: ir.Value, word: ir.Value) -> list:
        def wait(lock: ir.Value, word: ir.Value) -> ir.Value:
            place = stack_memory(self.b, 1, 1)
            with while_loop(self.b, [I1(0)], "wait") as loop:
                (is_own,) = loop.values
                loop.leave_unless(self.b.and_(self._is_held(word), self.b.not_(is_own)))
                address = self.b.ptrtoint(lock, I64)
                self.b.store(ir.IntType(8)(0), place)
                self._call(WAIT.removeprefix(FUNCTIONS), _VOID, [address, self.b.ptrtoint(place, I64)])
                told = self.b.load(place, typ=ir.IntType(8))
                with self.b.if_then(self.b.icmp_unsigned("==", told, ir.IntType(8)(0))):
                    self._call(INTERRUPT.removeprefix(FUNCTIONS), _VOID, [])
                loop.carry([self.b.icmp_unsigned("==", told, ir.IntType(8)(IS_OWN))])
            return I1(0)

        self.b.call(self.own_function("wait_for_lock", I1, [POINTER, POINTER], wait), [lock, word])
        return []

    def _bitgen(self, handle: ir.Value) -> ir.Value:
        """What NumPy's functions take; Python's generators are their handle."""
        return self.b.load(handle, typ=POINTER) if self.draw.kind == "numpy.random.RandomState" else handle

    def _fill(self, output: Array, bitgen: ir.Value, parameters: list[Leaf], scratch: ir.Value | None) -> None:
        b, size = self.b, output.shape.size
        if self.draw.is_bounded:
            self._fill_bounded(output, bitgen, parameters)
        elif self.draw.name in _FILLING:
            self._call(_FILLING[self.draw.name], _VOID, [bitgen, I64(size), output.pointer])
        elif self.draw.name == "permutation":
            carried_loop(b, 0, size, 1, (), lambda i, _: output.store(b, (Affine(i),), i, 1) or (), "numbers")
            self._exchange(output, lambda last: self._place_up_to(last, bitgen))
        elif self.draw.is_distinct:
            self._choose(output, bitgen, parameters[0], scratch)
            if self.draw.name == "distinct":
                self._exchange(output, lambda last: self._bounded(bitgen, last))
        else:
            draw = self._each_bounded() if self.draw.is_each_bounded else self._drawn

            def element(number: ir.Value, _: list) -> tuple:
                own = [one.load(b, (Affine(number),), 1) if isinstance(one, Array) else one for one in parameters]
                output.store(b, (Affine(number),), draw(bitgen, own), 1)
                return ()

            carried_loop(b, 0, size, 1, (), element, "draws")

    def _drawn(self, bitgen: ir.Value, parameters: list[ir.Value]) -> ir.Value:
        """One number."""
        draw = self.draw
        if draw.name == "gauss":
            return self.normal(self.handle)
        if draw.name == "random":
            return self.uniform(self.handle)
        if draw.name == "below":
            return self._below(parameters[0])
        if draw.name == "inverse_exponential":
            return self.exponential(self.handle)
        if draw.name.startswith("legacy_"):
            return legacy_number(self, draw.name.removeprefix("legacy_"), self.handle, parameters)
        if draw.name == "binomial":
            parameters = [*parameters, self._binomial()]
        return self._call(f"random_{draw.name}", scalar_register_type(draw.result), [bitgen, *parameters])

    def _fill_bounded(self, output: Array, bitgen: ir.Value, bounds: list[ir.Value]) -> None:
        b, element = self.b, memory_type(output.shape.element_type)
        name = "bool" if self.draw.result.name == "pred" else f"uint{element.width}"
        bounds = bounds if element is I64 else [b.trunc(bound, element) for bound in bounds]
        masked = I1(int(self.draw.kind == "numpy.random.RandomState"))
        arguments = [bitgen, *bounds, I64(output.shape.size), masked, output.pointer]
        self._call(f"random_bounded_{name}_fill", _VOID, arguments)

    def _each_bounded(self) -> Callable[[ir.Value, list[ir.Value]], ir.Value]:
        """What draws an integer between its bounds. Those of less than 32 bits have bits in common, which begin anew here."""
        b, element = self.b, memory_type(self.draw.result)
        masked, is_short = self.draw.kind == "numpy.random.RandomState", element.width < 32
        left_over = []
        if is_short:
            with b.goto_entry_block():
                left_over = [stack_memory(b, 4, 4) for _ in range(2)]
            for place in left_over:
                b.store(I32(0), place)
        name = "bool" if self.draw.result.name == "pred" else f"uint{element.width}"
        name = "random_bounded_uint64" if element.width == 64 else f"random_buffered_bounded_{name}"

        def draw(bitgen: ir.Value, bounds: list[ir.Value]) -> ir.Value:
            words = [*bounds, self._mask(bounds[1]) if masked else I64(0)]
            words = [word if element.width == 64 else b.trunc(word, element) for word in words]
            return self._call(name, element, [bitgen, *words, I1(int(masked)), *left_over])

        return draw

    def _mask(self, last: ir.Value) -> ir.Value:
        """All bits that numbers up to this one have."""
        for distance in (1, 2, 4, 8, 16, 32):
            last = self.b.or_(last, self.b.lshr(last, I64(distance)))
        return last

    def _place_up_to(self, last: ir.Value, bitgen: ir.Value) -> ir.Value:
        if self.draw.kind == "random.Random":
            return self._below(self.b.add(last, I64(1)))
        return self._call("random_interval", I64, [bitgen, last])

    def _bounded(self, bitgen: ir.Value, last: ir.Value) -> ir.Value:
        return self._call("random_bounded_uint64", I64, [bitgen, I64(0), last, I64(0), I1(0)])

    def _choose(self, output: Array, bitgen: ir.Value, population: ir.Value, memory: ir.Value) -> None:
        """Different integers, by Floyd's method; the memory holds those that have been chosen, where a hash says."""
        b, size, slots = self.b, output.shape.size, _slots(output.shape.size)
        fill_memory(b, memory, 0xFF, 8 * slots)
        first, free, mask = b.sub(population, I64(size)), I64(-1), I64(slots - 1)

        def slot_of(number: ir.Value) -> ir.Value:
            with while_loop(b, [b.and_(number, mask)]) as loop:
                (place,) = loop.values
                found = b.load(element_address(b, memory, place, I64), typ=I64)
                is_another = b.and_(b.icmp_unsigned("!=", found, free), b.icmp_unsigned("!=", found, number))
                loop.leave_unless(is_another)
                loop.carry([b.and_(b.add(place, I64(1)), mask)])
            return element_address(b, memory, loop.values[0], I64)

        def element(place: ir.Value, _: list) -> tuple:
            last = b.add(first, place)
            number = self._bounded(bitgen, last)
            is_chosen = b.icmp_unsigned("==", b.load(slot_of(number), typ=I64), number)
            number = b.select(is_chosen, last, number)
            b.store(number, slot_of(number))
            output.store(b, (Affine(place),), number, 1)
            return ()

        carried_loop(b, 0, size, 1, (), element, "draws")

    def _exchange(self, output: Array, place_up_to: Callable[[ir.Value], ir.Value]) -> None:
        """Exchange each element, from the last one on, with one that does not lie behind it."""
        b, size = self.b, output.shape.size

        def exchange(number: ir.Value, _: list) -> tuple:
            last = b.sub(I64(size), number)
            other = place_up_to(last)
            one = output.load(b, (Affine(last),), 1)
            output.store(b, (Affine(last),), output.load(b, (Affine(other),), 1), 1)
            output.store(b, (Affine(other),), one, 1)
            return ()

        carried_loop(b, 1, size, 1, (), exchange, "exchanges")

    def _binomial(self) -> ir.Value:
        """Memory for what NumPy finds out about a binomial distribution; it begins with whether there is something in it."""
        with self.b.goto_entry_block():
            memory = stack_memory(self.b, BINOMIAL_BYTES, 16)
            self.b.store(I64(0), memory)
        return memory

    # --- functions ---

    def uniform(self, handle: ir.Value) -> ir.Value:
        if self.draw.kind == "random.Random":
            return self.b.call(self.own_function("random_of_python", DOUBLE, [POINTER], self._write_random), [handle])
        return self._call("random_standard_uniform", DOUBLE, [self._bitgen(handle)])

    def normal(self, handle: ir.Value) -> ir.Value:
        """As a RandomState draws them: two at a time, of which one is left over."""
        return self.b.call(self.own_function("random_gauss", DOUBLE, [POINTER], self._write_gauss), [handle])

    def exponential(self, handle: ir.Value) -> ir.Value:
        """The logarithm of a uniform number."""
        return self.b.fneg(self.math("log", self.b.fsub(DOUBLE(1), self.uniform(handle))))

    def math(self, name: str, *values: ir.Value) -> ir.Value:
        """A function of the C library; square roots are exact everywhere."""
        if name == "sqrt":
            return self.b.call(self.b.module.declare_intrinsic("llvm.sqrt", [DOUBLE]), values)
        return self._call(name, DOUBLE, list(values))

    def _call(self, name: str, result: ir.Type, arguments: list[ir.Value]) -> ir.Value:
        function = self._function(name, result, [argument.type for argument in arguments])
        return self.b.call(function, arguments)

    def _function(self, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
        """A C function; one that takes a bool has a parameter that says so."""
        function = self.frame.module.native_function(FUNCTIONS + name, ir.FunctionType(result, arguments))
        for argument in function.args:
            if isinstance(argument.type, ir.IntType) and argument.type.width < 32:
                argument.add_attribute("zeroext")
        return function

    def own_function(self, name: str, result: ir.Type, arguments: list[ir.Type], write: Callable[..., ir.Value]) -> ir.Function:
        """A function of this module; ``write`` writes it, of its arguments, and returns its result."""
        known = self.frame.llvm.globals.get(name)
        if known is not None:
            return known
        function = ir.Function(self.frame.llvm, ir.FunctionType(result, arguments), name)
        function.linkage = "internal"
        outer, self.b = self.b, Builder(function.append_basic_block("entry"))
        self.b.ret(write(*function.args))
        self.b = outer
        return function

    # --- normal numbers of a RandomState ---

    def _write_gauss(self, handle: ir.Value) -> ir.Value:
        """The polar method."""
        b = self.b
        has_one_at, left_over_at = element_address(b, handle, I64(1), I64), element_address(b, handle, I64(2), I64)
        with b.if_then(b.icmp_unsigned("!=", b.load(has_one_at, typ=I32), I32(0))):
            left_over = b.load(left_over_at, typ=DOUBLE)
            b.store(I32(0), has_one_at)
            b.store(DOUBLE(0), left_over_at)
            b.ret(left_over)
        with while_loop(b, [DOUBLE(0), DOUBLE(0), DOUBLE(1)]) as loop:
            x, y, size = loop.values
            is_outside = b.fcmp_ordered(">=", size, DOUBLE(1))
            loop.leave_unless(b.or_(is_outside, b.fcmp_ordered("==", size, DOUBLE(0))))
            x, y = [b.fsub(b.fmul(DOUBLE(2), self.uniform(handle)), DOUBLE(1)) for _ in range(2)]
            loop.carry([x, y, b.fadd(b.fmul(x, x), b.fmul(y, y))])
        x, y, size = loop.values
        factor = self.math("sqrt", b.fdiv(b.fmul(DOUBLE(-2), self.math("log", size)), size))
        b.store(b.fmul(factor, x), left_over_at)
        b.store(I32(1), has_one_at)
        return b.fmul(factor, y)

    # --- the MT19937 of a Random ---

    def _below(self, limit: ir.Value) -> ir.Value:
        """An integer below a limit of at least 1: bits, as many as the limit has, until these are below it."""
        return self.b.call(self.own_function("random_below", I64, [POINTER, I64], self._write_below), [self.handle, limit])

    def _next_word(self, handle: ir.Value) -> ir.Value:
        return self.b.call(self.own_function("random_word", I32, [POINTER], self._write_word), [handle])

    def _write_random(self, handle: ir.Value) -> ir.Value:
        b = self.b
        high, low = (b.lshr(self._next_word(handle), I32(bits)) for bits in (5, 6))
        scaled = b.fadd(b.fmul(b.uitofp(high, DOUBLE), DOUBLE(2.0**26)), b.uitofp(low, DOUBLE))
        return b.fmul(scaled, DOUBLE(2.0**-53))

    def _write_below(self, handle: ir.Value, limit: ir.Value) -> ir.Value:
        b = self.b
        count = b.sub(I64(64), b.call(declaration(b.module, "llvm.ctlz.i64", I64, [I64, I1]), [limit, I1(0)]))
        is_short = b.icmp_unsigned("<=", count, I64(32))
        unneeded = b.and_(b.sub(I64(0), count), I64(31))  # bits of the last word

        def shifted() -> ir.Value:
            return b.lshr(b.zext(self._next_word(handle), I64), unneeded)

        def two_words() -> list[ir.Value]:
            first = b.zext(self._next_word(handle), I64)
            return [b.or_(first, b.shl(shifted(), I64(32)))]

        with while_loop(b, [limit]) as loop:
            (number,) = loop.values
            loop.leave_unless(b.icmp_unsigned(">=", number, limit))
            loop.carry(chosen(b, is_short, [lambda: [shifted()], two_words]))
        return loop.values[0]

    def _write_word(self, handle: ir.Value) -> ir.Value:
        b = self.b
        words = element_address(b, handle, I64(1), I32)
        position = b.zext(b.load(handle, typ=I32), I64)
        is_over = b.icmp_unsigned(">=", position, I64(_WORDS))
        twist = self.own_function("random_twist", I32, [POINTER], self._write_twist)
        (position,) = replaced_if(b, is_over, [position], lambda: b.call(twist, [words]) and [I64(0)], UNLIKELY)
        b.store(b.trunc(b.add(position, I64(1)), I32), handle)
        word = b.load(element_address(b, words, position, I32), typ=I32)
        word = b.xor(word, b.lshr(word, I32(11)))
        word = b.xor(word, b.and_(b.shl(word, I32(7)), I32(0x9D2C5680)))
        word = b.xor(word, b.and_(b.shl(word, I32(15)), I32(0xEFC60000)))
        return b.xor(word, b.lshr(word, I32(18)))

    def _write_twist(self, words: ir.Value) -> ir.Value:
        """Make the next words of all."""
        b = self.b

        def at(number: ir.Value, distance: int) -> ir.Value:
            place = b.add(number, I64(distance))
            place = b.select(b.icmp_unsigned(">=", place, I64(_WORDS)), b.sub(place, I64(_WORDS)), place)
            return b.load(element_address(b, words, place, I32), typ=I32)

        def step(number: ir.Value, _: list) -> tuple:
            mixed = b.or_(b.and_(at(number, 0), I32(0x80000000)), b.and_(at(number, 1), I32(0x7FFFFFFF)))
            last = b.select(b.trunc(mixed, I1), I32(0x9908B0DF), I32(0))
            b.store(b.xor(b.xor(at(number, 397), b.lshr(mixed, I32(1))), last), element_address(b, words, number, I32))
            return ()

        carried_loop(b, 0, _WORDS, 1, (), step, "words")
        return I32(0)
