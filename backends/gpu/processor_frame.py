"""Devices that are processors run what the CPU backend emits: its loop nests, a kernel for each region.

What makes a kernel fast on a GPU, memory that a block shares, barriers, one lane a thread, makes it slow on a processor, where
one thread runs all of a block. There a block is one thread, which computes a piece of a region of the CPU backend's: vectors,
register blocks, its ways of sorting. The driver hands out the pieces, as the pool of threads does it there.

A `ProcessorFrame` is to the CPU backend's emitters what their own frame is. They divide their work into regions and say what
these are given, all in memory: places of the plan. Each region that they emit is written as a kernel and launched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from ...hlo import U8, Instruction, Shape
from ..cpu.region_functions import UNDIVIDED, Division, RegionFunctions
from ..cpu.target import Target as ProcessorTarget
from ..cpu.work_estimate import nanoseconds
from ..llvm.arrays import Array
from ..llvm.builder import Builder
from ..llvm.elemental import Binding
from ..llvm.types import I8, I64, flatten, unflatten
from .frame import Frame
from .kernel import Grid, Kernel
from .plan import Place
from .values import Leaf, Stored, Values

# More pieces than these, each of which may have memory of its own, do not keep more threads busy.
MOST_PIECES = 64
# Memory of a piece that is larger than this lies in the device's memory, not in that of its block.
_MOST_SHARED_BYTES = 128 << 10
# Regions of these that are not divided themselves are made of others that are.
_OF_REGIONS = frozenset({"dot", "convolution"})
_ALIGNMENT = 64

EmitRegion = Callable[[ir.IRBuilder, list[Binding]], None]


class PlacePointer:
    """Where something lies, instead of its address."""

    def __init__(self, place: Place) -> None:
        self.place = place


class _HostBuilder:
    """What emitters write between regions: addresses behind others."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module

    @staticmethod
    def gep(pointer: PlacePointer, indices: Sequence[ir.Constant], source_etype: ir.Type) -> PlacePointer:
        assert source_etype == I8 and pointer.place.region == "temporary"
        (offset,) = indices
        return PlacePointer(Place(pointer.place.region, pointer.place.number + offset.constant))


class ProcessorFrame:
    """A frame of the CPU backend's (`cpu.frame.Frame`) for one instruction, of which ``values`` are those before it."""

    def __init__(self, frame: Frame, values: Values) -> None:
        assert frame.target.processor is not None
        self.frame, self._values = frame, values
        self.target, self.builder = frame.target.processor, _HostBuilder(frame.kernels.llvm)
        self.regions, self.assignment = _KernelRegions(frame, self.target), frame.assignment
        self.module = self.row_groups = self  # of which emitters ask `constant_pointer` and `flush` alone

    def arrays(self, leaves: Sequence[Leaf]) -> list[Array | Leaf]:
        """The leaves as emitters take them: arrays, and scalars as they are."""
        return [placed_array(leaf) if isinstance(leaf, Stored) and leaf.shape.rank else leaf for leaf in leaves]

    def constant_pointer(self, literal: np.ndarray) -> PlacePointer:
        return PlacePointer(self.frame.constant(literal, Shape(U8, (literal.nbytes,))).place)

    def in_memory(self, value: Array | Leaf, shape: Shape) -> Array:
        return value if isinstance(value, Array) else placed_array(self.frame.stored(value))

    def outputs(self, instruction: Instruction) -> list[Array | None]:
        return [None if output is None else placed_array(output) for output in self.frame.outputs(instruction)]

    def updated(self, instruction: Instruction, leaf: int, operand: Instruction, values: Any) -> Array:
        return placed_array(self.frame.updated(instruction, leaf, operand, self._values))

    def scratch(self, instruction: Instruction) -> PlacePointer | None:
        buffer = self.assignment.scratch.get(instruction)
        return None if buffer is None else PlacePointer(self.frame.place_of(buffer))

    def flush(self, builder: Any) -> None:
        """What waits in row groups is run before any kernel is."""

    def stops(self, instruction: Instruction, values: Any) -> dict[int, ir.Value]:
        return {}

    @staticmethod
    def loaded(outputs: list[Array | None]) -> list[Array | None]:
        return outputs


def placed_array(leaf: Stored) -> Array:
    """An array of the plan as emitters take it, which knows its place instead of its address."""
    return Array(PlacePointer(leaf.place), leaf.shape)


def stored(value: Array | Leaf) -> Leaf:
    """What an emitter returned, as a leaf of a plan's values."""
    return Stored(value.pointer.place, value.shape) if isinstance(value, Array) else value


def is_shared(own_bytes: int) -> bool:
    """Whether the memory that a piece has for itself is that of its block."""
    return own_bytes <= _MOST_SHARED_BYTES


class _KernelRegions:
    """What emitters ask of `RegionFunctions`: each region becomes a kernel, whose blocks are the pieces.

    Regions inside of one are functions that one thread runs.
    """

    def __init__(self, frame: Frame, target: ProcessorTarget) -> None:
        self.frame, self.target = frame, target
        self._is_inside = False

    def is_divided(self, work: int) -> bool:
        return not self._is_inside and self.frame.pieces(work) > 1

    def memory(self, builder: Any, size: int, align: int) -> PlacePointer | ir.Value:
        """Memory that regions which follow have in common."""
        return RegionFunctions.memory(builder, size, align) if self._is_inside else PlacePointer(self.frame.workspace(size))

    def emit(
        self,
        builder: Any,
        key: tuple,
        values: list[Any],
        emit: EmitRegion,
        weight: int,
        division: Division = UNDIVIDED,
    ) -> int:
        """Emit a region; how many pieces there are."""
        if self._is_inside:
            _call(builder, values, emit)
            return 1
        kind, computation, *rest = key
        if division is UNDIVIDED and kind in _OF_REGIONS and self.is_divided(nanoseconds(computation)):
            emit(builder, values)
            return 1
        own = _Own.of(values, division)
        wanted = max(1, min(MOST_PIECES, division.most, self.frame.pieces(division.work)))

        def emit_inside(builder: ir.IRBuilder, given: list[Binding]) -> None:
            self._is_inside = True
            try:
                emit(builder, given)
            finally:
                self._is_inside = False

        forms = tuple([str(value) if isinstance(value, ir.Constant) else type(value).__name__ for value in values])
        full_key = ("region", self.frame.kernels.number(computation), *rest, forms, own)
        return launch_region(self.frame, kind, full_key, values, emit_inside, wanted, own)


def launch_region(
    frame: Frame,
    kind: str,
    key: tuple,
    values: list[Any],
    emit: EmitRegion,
    wanted: int,
    own: _Own | None = None,
    source: Any = None,
) -> int:
    """A region as a kernel, whose blocks are its pieces: of so many at most. Returns how many there are.

    values: what it is given, arrays where they are placed among them. own: which of them each piece has for itself.
    """
    own = _Own(None, 0) if own is None else own

    def write(kernel: Kernel, bindings: list[Binding], arrays: list[Array]) -> None:
        registers, places = iter(bindings), iter(arrays)
        given: list[Binding] = []
        for number, value in enumerate(values):
            if number == own.number and own.is_shared:
                given.append(kernel.shared(own.size, _ALIGNMENT))
            elif number == own.number:
                given.append(own.address(kernel, next(places)))
            elif isinstance(value, PlacePointer):
                given.append(next(places).pointer)
            elif isinstance(value, ir.Constant):
                given.append(value)
            else:
                given.append(next(places if isinstance(value, Array) else registers))
        emit(kernel.builder, given)

    in_memory = [value for number, value in enumerate(values) if not (number == own.number and own.is_shared)]
    memory = [_stored(value) for value in in_memory if isinstance(value, Array | PlacePointer)]
    scalars = [value for value in values if not isinstance(value, Array | PlacePointer | ir.Constant)]
    return frame.launch(kind, key, scalars, memory, Grid((wanted, 1, 1), (1, 1, 1)), write, source, pieces=wanted > 1)


@dataclass(frozen=True)
class _Own:
    """Which of a region's values is the memory that each piece has for itself, if one is, and its size."""

    number: int | None
    size: int

    @classmethod
    def of(cls, values: list[Any], division: Division) -> _Own:
        found = [number for number, value in enumerate(values) if value is division.scratch]
        return cls(found[0], division.scratch_bytes) if found else cls(None, 0)

    @property
    def is_shared(self) -> bool:
        return is_shared(self.size)

    def address(self, kernel: Kernel, memory: Array) -> ir.Value:
        b = kernel.builder
        return b.gep(memory.pointer, [b.mul(b.zext(kernel.block(), I64), I64(self.size))], source_etype=I8)


def _stored(value: Array | PlacePointer) -> Stored:
    return Stored(value.pointer.place, value.shape) if isinstance(value, Array) else Stored(value.place, Shape(U8, (0,)))


def _call(builder: ir.IRBuilder, values: list[Binding], emit: EmitRegion) -> None:
    """A region in a function of its own: it may not be divided where the builder is."""
    like = [value.pointer if isinstance(value, Array) else value for value in values]
    given, module = flatten(like), builder.module
    function = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [value.type for value in given]), module.get_unique_name("region")
    )
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    inside = Builder(function.append_basic_block("entry"))
    bound = unflatten(function.args, like)
    emit(inside, [Array(b, value.shape) if isinstance(value, Array) else b for value, b in zip(values, bound)])
    inside.ret_void()
    builder.call(function, given)
