"""Fourier transforms: complex, along the last dimension, of lengths with small factors.

Each thread of a block transforms a few numbers in registers; between two steps, all of them go through the block's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from math import prod

from llvmlite import ir

from ....compile.expansion.fourier_tables import LONGEST
from ....hlo import C64, C128, Instruction, Shape, component_type
from ...llvm.arithmetic import constant
from ...llvm.arrays import Array
from ...llvm.builder import undefined
from ...llvm.elemental import Binding
from ...llvm.fourier_butterflies import Butterfly, complex_product
from ...llvm.types import I32, I64, ComplexValue, memory_type
from ..emitter_table import emits
from ..frame import Frame
from ..kernel import Grid, Kernel
from ..values import Leaf, Values
from .fourier_passes import PADDING, Pass, fine_roots, has_small_factors, passes_for, tables

# Signals of so many bytes take one pass on all devices.
_ALWAYS_ONE_PASS = 32 << 10


def _is_native(fft: Instruction) -> bool:
    shape, (*others, length) = fft.shape, fft.attributes["fft_length"]
    if fft.attributes["fft_type"] not in ("FFT", "IFFT") or others or not (shape.size and 0 < length <= LONGEST):
        return False
    return shape.element_type in (C64, C128) and has_small_factors(length)


def _scratch(fft: Instruction) -> int:
    """All signals once more, where a transform takes several passes."""
    (length,) = fft.attributes["fft_length"]
    return fft.shape.byte_size if length * fft.shape.element_type.byte_size > _ALWAYS_ONE_PASS else 0


@emits("fft", scratch=_scratch, is_native=_is_native)
def emit_fourier(frame: Frame, fft: Instruction, values: Values) -> list[Leaf]:
    """Passes from the operand into the result, and between it and memory of their own where there are several."""
    source, output, element_type = frame.stored(values[fft.operands[0]][0]), frame.output(fft), fft.shape.element_type
    *others, length = fft.shape.dimensions
    inverse, signals = fft.attributes["fft_type"] == "IFFT", prod(others)
    of_all = passes_for(frame.target, signals, length, element_type.byte_size)
    of_all = [replace(one, threads=frame.block_threads(one.threads)) for one in of_all]
    for number, one in enumerate(of_all):
        is_last = number == len(of_all) - 1
        target = frame.scratch(fft, fft.shape) if (len(of_all) - number) % 2 == 0 else output
        literal, starts = tables(one.length, one.length * one.remaining, inverse, component_type(element_type).dtype)
        roots = frame.constant(literal, Shape(component_type(element_type), literal.shape))
        scale = 1 / length if inverse and is_last else None
        grid = Grid((-(-signals * one.transforms // one.columns), 1, 1), (one.threads, 1, 1))
        write = partial(_write_pass, one, signals, length, inverse, starts, scale)
        frame.launch("fourier", (one, inverse, scale), [source, roots], [target], grid, write, fft.source)
        source = target
    return [output]


def _write_pass(
    one: Pass, signals: int, length: int, inverse: bool, starts: tuple[int, ...], scale: float | None,
    kernel: Kernel, bindings: list[Binding], arrays: list[Array],
) -> None:  # fmt: skip
    _PassEmitter(kernel, one, signals, length, inverse, starts, scale, bindings, arrays[0]).emit()


class _Numbers:
    """Complex numbers in memory, loaded and stored as pairs."""

    def __init__(self, builder: ir.IRBuilder, scalar: ir.Type, pointer: ir.Value) -> None:
        self.builder, self.pair, self.pointer = builder, ir.VectorType(scalar, 2), pointer
        self.alignment = 8 if isinstance(scalar, ir.FloatType) else 16

    def load(self, place: ir.Value) -> ComplexValue:
        b = self.builder
        both = b.load(b.gep(self.pointer, [place], source_etype=self.pair), typ=self.pair, align=self.alignment)
        return ComplexValue(*(b.extract_element(both, I32(part)) for part in (0, 1)))

    def store(self, place: ir.Value, value: ComplexValue) -> None:
        b, both = self.builder, undefined(self.pair)
        for part, number in enumerate(value):
            both = b.insert_element(both, number, I32(part))
        b.store(both, b.gep(self.pointer, [place], source_etype=self.pair), align=self.alignment)


class _PassEmitter:
    """The kernel of a pass, while it is written."""

    def __init__(
        self, kernel: Kernel, one: Pass, signals: int, length: int, inverse: bool, starts: tuple[int, ...],
        scale: float | None, bindings: list[Array], output: Array,
    ) -> None:  # fmt: skip
        self.kernel, self.one, self.length, self.starts, self.scale = kernel, one, length, starts, scale
        b = self.builder = kernel.builder
        scalar = memory_type(output.shape.element_type)
        self.butterfly = Butterfly(b, scalar, inverse)
        self.source, self.roots = (_Numbers(b, scalar, binding.pointer) for binding in bindings)
        self.target = _Numbers(b, scalar, output.pointer)
        self.scalar = scalar
        self.total = signals * one.transforms
        self.wide = I32 if signals * length < 1 << 31 else I64
        if one.shared_elements:
            size = one.shared_elements * output.shape.element_type.byte_size
            self.shared = _Numbers(b, scalar, kernel.shared(size))

    def emit(self) -> None:
        one, rest, done = self.one, self.one.length, 1
        for number, radix in enumerate(one.radices):
            rest //= radix
            self._step(number, radix, rest, done)
            done *= radix

    def _step(self, number: int, radix: int, remaining: int, done: int) -> None:
        """All threads take their numbers, wait for each other, and put the transforms to their new places."""
        one, b, kernel = self.one, self.builder, self.kernel
        is_first, is_last = number == 0, number == len(one.radices) - 1
        each = one.length // radix
        items = one.columns * each
        # Threads beside each other work beside each other in the memory of the device, which they read first and write last.
        by_columns = one.transforms > 1 and (one.done > 1 if is_last and not is_first else True)
        work = []
        for first in range(0, items, one.threads):
            item = b.add(kernel.thread(), I32(first))
            inside = None
            if first + one.threads > items:
                inside = b.icmp_unsigned("<", item, I32(items))
                item = b.select(inside, item, I32(items - 1))
            if by_columns:
                column, t = b.urem(item, I32(one.columns)), b.udiv(item, I32(one.columns))
            else:
                column, t = b.udiv(item, I32(each)), b.urem(item, I32(each))
            load = self._loads(column, t, each) if is_first else self._loads_of_block(column, t, each)
            work.append((inside, column, t, [load(k) for k in range(radix)]))
        if not is_first and not is_last:
            kernel.barrier()
        for inside, column, t, loaded in work:
            outputs = self.butterfly.transform(loaded)
            p, q = b.udiv(t, I32(done)), b.urem(t, I32(done))
            place = b.add(b.mul(p, I32(done * radix)), q)
            if not is_last:
                outputs = self._turned(outputs, number, p, remaining)
            store = self._stores(column) if is_last else self._stores_of_block(column)
            frequencies = [b.add(place, I32(done * j)) for j in range(radix)]
            with _where(b, inside):
                for j, value in zip(frequencies, outputs):
                    store(j, value)
        if not is_last:
            kernel.barrier()

    # --- the device's memory ---

    def _column(self, column: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Of the column of this block: whether there is one, its signal, and its number in the signal."""
        one, b = self.one, self.builder
        block = self.kernel.block()
        block = block if self.wide is I32 else b.zext(block, I64)
        column = column if self.wide is I32 else b.zext(column, I64)
        number = b.add(b.mul(block, self.wide(one.columns)), column)
        inside = None
        if self.total % one.columns:
            inside = b.icmp_unsigned("<", number, self.wide(self.total))
            number = b.select(inside, number, self.wide(self.total - 1))
        of_signal = self.wide(one.transforms)
        return inside, b.udiv(number, of_signal), b.urem(number, of_signal)

    def _loads(self, column: ir.Value, t: ir.Value, each: int) -> Callable[[int], ComplexValue]:
        one, b = self.one, self.builder
        _, signal, number = self._column(column)
        t = t if self.wide is I32 else b.zext(t, I64)
        start = b.add(b.add(b.mul(signal, self.wide(self.length)), number), b.mul(t, self.wide(one.transforms)))
        return lambda k: self.source.load(b.add(start, self.wide(k * each * one.transforms)))

    def _stores(self, column: ir.Value) -> Callable[[ir.Value, ComplexValue], None]:
        one, b = self.one, self.builder
        inside, signal, number = self._column(column)
        p, q = b.udiv(number, self.wide(one.done)), b.urem(number, self.wide(one.done))
        start = b.add(b.mul(signal, self.wide(self.length)), b.add(b.mul(p, self.wide(one.done * one.length)), q))

        def store(frequency: ir.Value, value: ComplexValue) -> None:
            if one.remaining > 1:
                value = self._turned_behind(value, p, frequency)
            if self.scale is not None:
                factor = constant(self.scalar, self.scale)
                value = ComplexValue(*(b.fmul(part, factor) for part in value))
            wide = frequency if self.wide is I32 else b.zext(frequency, I64)
            with _where(b, inside):
                self.target.store(b.add(start, b.mul(wide, self.wide(one.done))), value)

        return store

    # --- the block's memory ---

    def _place_in_block(self, column: ir.Value, position: ir.Value) -> ir.Value:
        b = self.builder
        if self.one.has_gaps:
            position = b.add(position, b.udiv(position, I32(PADDING)))
        return b.add(b.mul(column, I32(self.one.pitch)), position)

    def _loads_of_block(self, column: ir.Value, t: ir.Value, each: int) -> Callable[[int], ComplexValue]:
        b = self.builder
        return lambda k: self.shared.load(self._place_in_block(column, b.add(t, I32(k * each))))

    def _stores_of_block(self, column: ir.Value) -> Callable[[ir.Value, ComplexValue], None]:
        return lambda position, value: self.shared.store(self._place_in_block(column, position), value)

    # --- turns ---

    def _turned(self, outputs: list[ComplexValue], number: int, p: ir.Value, remaining: int) -> list[ComplexValue]:
        b, start = self.builder, self.starts[number]
        roots = [self.roots.load(b.add(p, I32(start + j * remaining))) for j in range(len(outputs) - 1)]
        return [outputs[0], *[complex_product(b, value, root) for value, root in zip(outputs[1:], roots)]]

    def _turned_behind(self, value: ComplexValue, p: ir.Value, frequency: ir.Value) -> ComplexValue:
        """The exponent, below the signals' length, is that of a coarse root and of a fine one."""
        b, fine = self.builder, fine_roots(self.one.length * self.one.remaining)
        p = p if p.type == I32 else b.trunc(p, I32)
        exponent = b.mul(p, frequency)
        coarse_start, fine_start = self.starts[-2:]
        coarse = self.roots.load(b.add(b.udiv(exponent, I32(fine)), I32(coarse_start)))
        root = complex_product(b, coarse, self.roots.load(b.add(b.urem(exponent, I32(fine)), I32(fine_start))))
        return complex_product(b, value, root)


def _where(builder: ir.IRBuilder, condition: ir.Value | None) -> AbstractContextManager:
    return nullcontext() if condition is None else builder.if_then(condition)
