"""An emulated AMD processor: runs the machine code of a kernel's launch, for many waves at once.

Waves at the same instruction are run together, and the ones that are furthest behind first, so that those which have gone
different ways meet again. What one wave waits for in a loop another one comes to, because each has its turn.

Source: LLVM's "User Guide for AMDGPU Backend": kernel descriptor, initial kernel execution state.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from .accesses import Accesses, says_of_stores
from .instructions import decode, is_rdna
from .matrix import matrix_step
from .memory import (
    PRIVATE_BUFFER,
    DeviceMemory,
    MemoryOfEach,
    SharedMemory,
    scalar_memory_step,
    shared_memory_step,
    vector_memory_step,
)
from .operands import reader, write_scalar
from .scalar import NOTHING, scalar_step
from .vector import vector_step
from .vector_operations import OPERATIONS
from .waves import EXEC, M0_CDNA, NULL, VCC, Memories, initial_waves, joined

_LANES_AT_ONCE = 1 << 13
_TURNS = 64  # after which those that have waited longest go on

_DESCRIPTOR = struct.Struct("<III4xq20xIIIHH4x")
assert _DESCRIPTOR.size == 64


class TrapError(Exception):
    """A kernel ended by a trap, or did what the processor knows nothing of."""


@dataclass(frozen=True)
class Kernel:
    """A kernel as its descriptor says: the sizes of its memories, and what registers hold at its begin."""

    name: str
    architecture: str
    entry: int
    shared_bytes: int
    private_bytes: int
    argument_bytes: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    accesses: Accesses

    @classmethod
    def read(cls, name: str, architecture: str, descriptor: bytes, address: int, accesses: Accesses) -> Kernel:
        shared, private, arguments, entry, rsrc3, rsrc1, rsrc2, properties, preload = _DESCRIPTOR.unpack(descriptor)
        if preload:
            raise NotImplementedError("arguments that are loaded before a kernel begins")
        kernel = cls(name, architecture, address + entry, shared, private, arguments, rsrc1, rsrc2, rsrc3, properties, accesses)
        kernel._check()
        return kernel

    def _check(self) -> None:
        rounding, subnormal = self.rsrc1 >> 12 & 15, self.rsrc1 >> 16 & 15
        if rounding or subnormal != 15:
            raise NotImplementedError("floating-point modes other than rounding to nearest and keeping subnormal numbers")
        if is_rdna(self.architecture) and not self.properties >> 10 & 1:
            raise NotImplementedError("waves of 64 lanes on RDNA")

    @property
    def lanes(self) -> int:
        return 32 if is_rdna(self.architecture) else 64

    @property
    def vector_registers(self) -> int:
        """How many it may use; those for accumulation begin at 256 here."""
        granule = 8
        count = ((self.rsrc1 & 63) + 1) * granule
        return 512 if not is_rdna(self.architecture) and count > 4 * ((self.rsrc3 & 63) + 1) else min(count, 256)


class Processor:
    """Runs kernels of code in a memory; what is decoded of it is kept."""

    def __init__(self, architecture: str, memory: DeviceMemory) -> None:
        self.architecture, self.memory = architecture, memory
        self._blocks = {}

    def forget(self, begin: int, end: int) -> None:
        """Other code may be at these addresses from now on."""
        self._blocks = {at: block for at, block in self._blocks.items() if not begin <= at < end}

    def run(self, kernel: Kernel, grid, block, arguments: int, dynamic_bytes: int = 0) -> None:
        """Run a launch whose arguments are at this address."""
        threads = block[0] * block[1] * block[2]
        blocks = grid[0] * grid[1] * grid[2]
        waves_of_block = -(-threads // kernel.lanes)
        at_once = max(1, _LANES_AT_ONCE // (waves_of_block * kernel.lanes))
        uses = kernel.accesses
        stores_may_be_atomic = uses.loads_atomically and not says_of_stores(self.architecture)
        self.memory.log.begin_launch(uses.device_unit, stores_may_be_atomic)
        with np.errstate(all="ignore"):
            for first in range(0, blocks, at_once):
                self._run(kernel, grid, block, arguments, dynamic_bytes, np.arange(first, min(first + at_once, blocks)))
        self.memory.log.end_launch()

    def _run(self, kernel, grid, block, arguments, dynamic_bytes, numbers):
        lanes, threads = kernel.lanes, block[0] * block[1] * block[2]
        per_block = -(-threads // lanes)
        count = len(numbers) * per_block
        known, uses = self.memory.log.intervals, kernel.accesses
        intervals = known.begin(numbers)
        shared_bytes = kernel.shared_bytes + dynamic_bytes
        shared = SharedMemory(len(numbers), shared_bytes, uses.shared_unit, known, uses.exchanges_in_blocks)
        private = MemoryOfEach(count * lanes, kernel.private_bytes)
        waves = initial_waves(
            count, lanes, kernel.vector_registers, np.arange(count), np.repeat(np.arange(len(numbers)), per_block),
            Memories(self.memory, shared, private, intervals, per_block),
        )  # fmt: skip
        _set_registers(waves, kernel, grid, block, arguments, np.repeat(numbers, per_block), per_block)
        waves.at = kernel.entry
        _Launch(self, waves, per_block, numbers).run()

    def block(self, address):
        """The instructions from an address on, to the first that decides which is next."""
        found = self._blocks.get(address)
        if found is None:
            found = self._blocks[address] = self._decode(address)
        return found

    def _decode(self, address):
        steps, at, indexed = [], address, 0
        while True:
            offset = at - self.memory.begin
            instruction = decode(self.memory.views[1][offset : offset + 16].tobytes(), self.architecture)
            at += instruction.size
            name = instruction.name
            if name in _ENDS:
                return steps, _ENDS[name](instruction, at, self.architecture), at
            if name == "S_SET_GPR_IDX_ON":
                indexed = instruction.ssrc1
                steps.append((_set_index(instruction), instruction))
            elif name == "S_SET_GPR_IDX_OFF":
                indexed = 0
            elif name == "S_GETPC_B64":
                steps.append((_store_address(instruction.sdst, at), instruction))
            elif name not in NOTHING:
                step = _indexed_move(instruction, indexed) if indexed else self._step(instruction)
                steps.append((step, instruction))

    def _step(self, instruction):
        form, name = instruction.form, instruction.name
        if "MFMA" in name or "WMMA" in name or "ACCVGPR" in name:
            return matrix_step(instruction, self.architecture)
        if form.startswith("SOP"):
            return scalar_step(instruction, self.architecture)
        if form == "SMEM":
            return scalar_memory_step(instruction, self.architecture)
        if form == "DS":
            return shared_memory_step(instruction, self.architecture)
        if form in ("FLAT", "GLOBAL", "SCRATCH", "MUBUF"):
            return vector_memory_step(instruction, self.architecture)
        if form.startswith("VOP"):
            return vector_step(instruction, self.architecture)
        raise NotImplementedError(f"the instruction {name}")


def _set_registers(waves, kernel, grid, block, arguments, numbers, per_block):
    """What is in registers when a kernel begins."""
    scalar, at = waves.scalar, 0

    def put(*words):
        nonlocal at
        for word in words:
            scalar[at] = np.asarray(word, np.uint32).reshape(-1, 1)
            at += 1

    properties, rsrc2 = kernel.properties, kernel.rsrc2
    # Pointers to the packet of the dispatch and to the queue, and the number of the dispatch, are null.
    given = [
        (PRIVATE_BUFFER, 0, 0xFFFFFFFF, 0), (0, 0), (0, 0), (arguments & 0xFFFFFFFF, arguments >> 32), (0, 0),
        (0, kernel.private_bytes), (kernel.private_bytes,),
    ]  # fmt: skip
    for number, words in enumerate(given):
        if properties >> number & 1:
            put(*words)
    # gfx1100 needs so many that some stand for nothing.
    assert at == rsrc2 >> 1 & 31 or (kernel.architecture == "gfx1100" and at < rsrc2 >> 1 & 31)
    at = rsrc2 >> 1 & 31
    indices = np.unravel_index(numbers, grid[::-1])[::-1]
    for dimension in range(3):
        if rsrc2 >> 7 + dimension & 1:
            put(indices[dimension])
    if rsrc2 >> 10 & 1:
        raise NotImplementedError("a kernel that asks for the number of its waves")
    if rsrc2 & 1 and kernel.architecture == "gfx90a":
        put(0)  # where the wave's part of the memory of lanes begins
    waves.changed(NULL)
    lane = np.arange(per_block * kernel.lanes).reshape(per_block, kernel.lanes)
    thread = np.tile(lane, (waves.shape[0] // per_block, 1))
    threads = block[0] * block[1] * block[2]
    z, y, x = np.unravel_index(np.minimum(thread, threads - 1), block[::-1])
    waves.vector[0] = x | y << 10 | z << 20
    waves.set_mask(EXEC, thread < threads)


class _Launch:
    """Waves of a launch that are in the processor together."""

    def __init__(self, processor, waves, per_block, numbers):
        self.processor, self.running, self.numbers = processor, [waves], numbers
        self.left = np.full(numbers.size, per_block)  # waves of each block that have not ended
        self.intervals = waves.memories.intervals
        self.waiting = []  # at a barrier
        self.turn = 0

    def run(self):
        while self.running or self.waiting:
            if not self.running:
                self._release()
                if not self.running:
                    raise TrapError("waves wait at a barrier which the others do not come to")
            waves = self._next()
            steps, end, after = self.processor.block(waves.at)
            for step, instruction in steps:
                try:
                    step(waves)
                except Exception as error:
                    error.add_note(f"in the instruction {instruction.name}")
                    raise
            end(self, waves, after)

    def _next(self):
        self.turn += 1
        if len(self.running) == 1:
            waves = self.running.pop()
        else:
            longest = self.turn % _TURNS == 0
            chosen = min(self.running, key=(lambda one: one.turn) if longest else (lambda one: one.at))
            together = [one for one in self.running if one.at == chosen.at]
            self.running = [one for one in self.running if one.at != chosen.at]
            waves = joined(together)
            waves.at = chosen.at
        waves.turn = self.turn
        return waves

    def go_on(self, waves, at):
        waves.at = at
        self.running.append(waves)

    def go_separately(self, waves, targets):
        """To the addresses, one for each wave."""
        for at in np.unique(targets):
            which = targets == at
            self.go_on(waves if which.all() else waves.part(which), int(at))

    def wait(self, waves, after):
        waves.at = after
        self.waiting.append(waves)
        self._release()

    def finish(self, waves):
        np.subtract.at(self.left, waves.blocks, 1)
        if self.waiting:
            self._release()

    def _release(self):
        """Let those go on of whose block all have come."""
        come = np.zeros_like(self.left)
        for waves in self.waiting:
            np.add.at(come, waves.blocks, 1)
        complete = (come == self.left) & (come > 0)
        self.intervals[complete] = self.processor.memory.log.intervals.begin(self.numbers[complete])
        staying = []
        for waves in self.waiting:
            go = complete[waves.blocks]
            if go.all():
                self.running.append(waves)
            elif go.any():
                self.go_on(waves.part(go), waves.at)
                rest = waves.part(~go)
                rest.at = waves.at
                staying.append(rest)
            else:
                staying.append(waves)
        self.waiting = staying


# --- what decides which instruction is next ---


def _always(instruction, after, architecture):
    target = _target(instruction, after)
    return lambda launch, waves, after: launch.go_on(waves, target)


def _target(instruction, after):
    distance = instruction.simm16 - (1 << 16 if instruction.simm16 >> 15 else 0)
    return after + 4 * distance


def _when(condition):
    def special(instruction, after, architecture):
        target = _target(instruction, after)

        def branch(launch, waves, after):
            taken = condition(waves)
            if taken.all():
                launch.go_on(waves, target)
            elif not taken.any():
                launch.go_on(waves, after)
            else:
                launch.go_on(waves.part(taken), target)
                launch.go_on(waves.part(~taken), after)

        return branch

    return special


def _is_zero(register):
    return lambda waves: ~_any(waves, register)


def _any(waves, register):
    found = waves.scalar[register][:, 0] != 0
    return found if waves.lanes == 32 else found | (waves.scalar[register + 1][:, 0] != 0)


def _to_register(instruction, after, architecture):
    source = reader(instruction.ssrc0, np.dtype(np.uint64))
    store = _store_address(instruction.sdst, after) if instruction.name == "S_SWAPPC_B64" else None

    def jump(launch, waves, after):
        targets = source(waves)[:, 0].copy()
        if store is not None:
            store(waves)
        launch.go_separately(waves, targets)

    return jump


def _call(instruction, after, architecture):
    store, target = _store_address(instruction.sdst, after), _target(instruction, after)

    def jump(launch, waves, after):
        store(waves)
        launch.go_on(waves, target)

    return jump


def _trap(instruction, after, architecture):
    def trap(launch, waves, after):
        raise TrapError(f"{instruction.name} {instruction.simm16}")

    return trap


_ENDS = {
    "S_ENDPGM": lambda instruction, after, architecture: lambda launch, waves, after: launch.finish(waves),
    "S_BARRIER": lambda instruction, after, architecture: lambda launch, waves, after: launch.wait(waves, after),
    "S_BRANCH": _always,
    "S_CBRANCH_SCC0": _when(lambda waves: ~waves.condition[:, 0]),
    "S_CBRANCH_SCC1": _when(lambda waves: waves.condition[:, 0]),
    "S_CBRANCH_VCCZ": _when(_is_zero(VCC)),
    "S_CBRANCH_VCCNZ": _when(lambda waves: _any(waves, VCC)),
    "S_CBRANCH_EXECZ": _when(_is_zero(EXEC)),
    "S_CBRANCH_EXECNZ": _when(lambda waves: _any(waves, EXEC)),
    "S_SETPC_B64": _to_register,
    "S_SWAPPC_B64": _to_register,
    "S_CALL_B64": _call,
    "S_TRAP": _trap,
}


# --- instructions that know of the program, and of registers by number ---


def _store_address(register, address):
    write = write_scalar(register, 64)
    return lambda waves: write(waves, np.full((waves.shape[0], 1), address, np.uint64))


def _set_index(instruction):
    read = reader(instruction.ssrc0, np.dtype(np.uint32))

    def step(waves):
        waves.scalar[M0_CDNA] = waves.scalar[M0_CDNA] & ~np.uint32(0xFF) | read(waves) & np.uint32(0xFF)

    return step


_OF_SOURCE, _OF_DESTINATION = 1, 8


def _indexed_move(instruction, indexed):
    """V_MOV_B32 with the number of a register added up from M0."""
    if instruction.name != "V_MOV_B32" or indexed not in (_OF_SOURCE, _OF_DESTINATION):
        raise NotImplementedError(f"{instruction.name} with registers by number, {indexed:#x}")
    move = OPERATIONS["V_MOV_B32"]
    to, source = instruction.vdst - 256, instruction.src0

    def from_register(waves):
        which = source - 256 + (waves.scalar[M0_CDNA][:, 0] & np.uint32(0xFF)).astype(np.int64)
        waves.set_vector(to, move(waves.vector[which, np.arange(waves.shape[0])]))

    read = None if indexed == _OF_SOURCE else reader(source, np.dtype(np.uint32))

    def to_register(waves):
        value, active = np.broadcast_to(read(waves), waves.shape), waves.active_lanes()
        for wave, which in enumerate(to + (waves.scalar[M0_CDNA][:, 0] & np.uint32(0xFF)).astype(np.int64)):
            waves.vector[which, wave] = np.where(active[wave], value[wave], waves.vector[which, wave])

    return from_register if indexed == _OF_SOURCE else to_register
