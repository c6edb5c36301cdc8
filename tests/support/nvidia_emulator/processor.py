"""An emulated NVIDIA processor: runs a kernel's launch, for all threads of many blocks at once.

Threads that are at the same place of the code go on together, those that are furthest behind first, so that those which have
gone different ways meet again; now and then those that have waited longest are next, so that what some wait for in a loop
others come to. Blocks begin in an order that is not theirs.
"""

from __future__ import annotations

import numpy as np
from access_log import stamps_of
from emulated_library import SEED, UNWRITTEN

from .code import LANES, KernelCode
from .memory import DeviceMemory, LocalMemory, SharedMemory
from .running import Copies, Products, Running

LANES_AT_ONCE = 1 << 13
_TURNS = 64  # after which those that have waited longest go on
_MOST_TURNS, _MOST_TURNS_BY_CHANCE = 20_000_000, 1_000_000


class TrapError(Exception):
    """A kernel ended by a trap, or by what no kernel may do."""


class Processor:
    """Runs launches in the device's memory. ``at_once`` is how many threads are in it together.

    With a seed, other than 0, so many blocks are there together, and such threads go on, as chance has it.
    """

    def __init__(self, memory: DeviceMemory, at_once: int = LANES_AT_ONCE, seed: int = SEED) -> None:
        self.memory, self.at_once = memory, at_once
        self.chance = np.random.default_rng(seed) if seed else None

    def run(self, code: KernelCode, grid, block, parameters: bytes, dynamic_bytes: int = 0) -> None:
        threads = block[0] * block[1] * block[2]
        padded = -(-threads // LANES) * LANES
        blocks = grid[0] * grid[1] * grid[2]
        order = (self.chance or np.random.default_rng(blocks)).permutation(blocks)
        at_once = max(1, self.at_once // padded)
        if self.chance is not None:
            at_once = int(self.chance.integers(1, min(at_once, 8), endpoint=True))
        self.memory.log.begin_launch(code.least_device_access)
        for first in range(0, blocks, at_once):
            numbers = order[first : first + at_once]
            run_blocks(self.memory, code, grid, block, parameters, dynamic_bytes, numbers, self.chance)
        self.memory.log.end_launch()


def run_blocks(memory, code: KernelCode, grid, block, parameters: bytes, dynamic_bytes: int, numbers, chance=None) -> None:
    """Run the blocks of these numbers together."""
    with np.errstate(all="ignore"):
        _Launch(memory, code, grid, block, parameters, dynamic_bytes, numbers, chance).run()


class _Launch:
    """Blocks of a launch that are in the processor together."""

    def __init__(self, memory, code, grid, block, parameters, dynamic_bytes, numbers, chance):
        self.chance = chance
        self.code, self.numbers, self._known = code, numbers, memory.log.intervals
        self._intervals = self._known.begin(numbers)  # of each block
        threads = block[0] * block[1] * block[2]
        self.padded = -(-threads // LANES) * LANES
        self.count = len(numbers) * self.padded
        shared_bytes = code.dynamic_begin + dynamic_bytes if code.dynamic_names else code.shared_bytes + dynamic_bytes
        self.memories = {
            "global": memory,
            "shared": SharedMemory(len(numbers), shared_bytes, code.least_shared_access, self._known),
            "local": LocalMemory(self.count, code.local_bytes),
        }
        thread = np.tile(np.arange(self.padded), len(numbers))
        z, y, x = np.unravel_index(np.minimum(thread, threads - 1), block[::-1])
        self.block_of = np.repeat(np.arange(len(numbers)), self.padded)
        kz, ky, kx = np.unravel_index(np.repeat(numbers, self.padded), grid[::-1])
        self.special = {
            "%tid.x": x, "%tid.y": y, "%tid.z": z, "%ctaid.x": kx, "%ctaid.y": ky, "%ctaid.z": kz, "%laneid": thread % LANES,
            "%warpid": thread // LANES, **{f"%ntid.{axis}": size for axis, size in zip("xyz", block)},
            **{f"%nctaid.{axis}": size for axis, size in zip("xyz", grid)},
        }  # fmt: skip
        self.parameters = parameters
        self.registers = [None] * len(code.registers)
        self.storages = [storage for _, storage in code.registers.values()]
        self.copies, self.products = Copies(self), Products(self.memories["shared"])
        self.alive = thread < threads
        self.left = np.bincount(self.block_of[self.alive], minlength=len(numbers))  # threads of each block that have not ended
        self.waiting = np.zeros(self.count, bool)  # at a barrier
        self.after = np.zeros(self.count, np.int64)
        self.ready = {}  # threads by the block of code that they are at, and since when
        self.stuck = {}  # likewise those that wait for others of their warp
        self.turn = 0
        self._add(0, np.flatnonzero(self.alive))

    def run(self):
        while True:
            if not self.ready:
                if self.stuck or self.waiting.any():
                    raise TrapError("threads wait for others, at a barrier or of their warp, which do not come there")
                return
            self.turn += 1
            if self.turn > (_MOST_TURNS if self.chance is None else _MOST_TURNS_BY_CHANCE):
                raise TrapError("a kernel that does not end")
            at = self._next()
            parts, _ = self.ready.pop(at)
            lanes = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
            block = self.code.blocks[at]
            if self.chance is not None:
                lanes = self._some(at, lanes, block.together)
            if block.together > 1:
                if (stuck := self.stuck.pop(at, None)) is not None:  # beside which others have been left
                    lanes = np.sort(np.concatenate([lanes, stuck]))
                lanes = self._complete(lanes, at, block.together)
                if lanes is None:
                    continue
            self._run(block, lanes)

    def _next(self):
        ready = self.ready
        if len(ready) == 1:
            return next(iter(ready))
        if self.turn % _TURNS == 0:
            return min(ready, key=lambda at: ready[at][1])
        if self.chance is not None and self.chance.random() < 0.5:
            return list(ready)[self.chance.integers(len(ready))]
        return min(ready)

    def _some(self, at, lanes, together):
        """Some of the threads at a place, mostly some warps; the others stay there."""
        kind = self.chance.random()
        if kind > 0.25:
            return lanes
        unit = max(together, LANES if kind > 0.05 else 1)
        parts = lanes // unit
        chosen = (self.chance.random(parts[-1] + 1) < 0.5)[parts]
        if chosen.all() or not chosen.any():
            return lanes
        self._add(at, lanes[~chosen])
        return lanes[chosen]

    def _add(self, at, lanes):
        if (stuck := self.stuck.pop(at, None)) is not None:
            lanes = np.sort(np.concatenate([lanes, stuck]))
        if at in self.ready:
            self.ready[at][0].append(lanes)
        else:
            self.ready[at] = [lanes], self.turn

    def _complete(self, lanes, at, together):
        """Of these threads, those of whose warp, or group of warps, all are here; the others wait."""
        if together > LANES and self.padded % together:
            raise TrapError("groups of warps in a block that has no whole number of them")
        groups = self.count // together
        here = np.bincount(lanes // together, minlength=groups)
        complete = here == np.add.reduce(self.alive.reshape(groups, together), axis=1)
        go = complete[lanes // together]
        if go.all():
            return lanes
        self.stuck[at] = lanes[~go]
        return lanes[go] if go.any() else None

    def stamps(self, lanes):
        """These threads in the intervals in which they are."""
        return stamps_of(self._intervals[self.block_of[lanes]], lanes % self.padded)

    def _run(self, block, lanes):
        function = block.function or self.code.compiled(block)
        registers, is_all = self.registers, lanes.size == self.count
        x = Running(self, lanes, is_all)
        if is_all:
            found = function(x, *[self._register(number) for number in block.inputs])
            for number, value in zip(block.outputs, found):
                registers[number] = value if value.size == lanes.size else np.full(lanes.size, value[0])
        else:
            found = function(x, *[self._register(number)[lanes] for number in block.inputs])
            for number, value in zip(block.outputs, found):
                self._register(number)[lanes] = value
        self._go_on(block.end, lanes, found[-1] if len(found) > len(block.outputs) else None)

    def _register(self, number):
        found = self.registers[number]
        if found is None:
            storage = self.storages[number]
            pattern = np.full(self.count * storage.itemsize, UNWRITTEN, np.uint8)
            found = pattern.view(storage) if storage.kind != "b" else np.ones(self.count, bool)
            self.registers[number] = found
        return found

    def _go_on(self, end, lanes, value):
        match end[0]:
            case "go":
                self._add(end[1], lanes)
            case "branch":
                _, _, is_negated, target, following = end
                taken = np.broadcast_to(value, lanes.size) != is_negated
                if taken.all():
                    self._add(target, lanes)
                elif not taken.any():
                    self._add(following, lanes)
                else:
                    self._add(target, lanes[taken])
                    self._add(following, lanes[~taken])
            case "table":
                chosen = np.broadcast_to(value, lanes.size)
                if chosen.max() >= len(end[2]):
                    raise TrapError("a branch to what its table does not have")
                self._go_separately(lanes, np.array(end[2])[chosen])
            case "call":
                self._register(end[1])[lanes] = end[3]
                self._add(end[2], lanes)
            case "return":
                self._go_separately(lanes, self._register(end[1])[lanes])
            case "barrier":
                self.waiting[lanes], self.after[lanes] = True, end[1]
                self._release(self.block_of[lanes])
            case "exit":
                self._finish(lanes)
            case _:
                raise TrapError("a trap")

    def _go_separately(self, lanes, targets):
        first = targets[0]
        if (targets == first).all():
            self._add(int(first), lanes)
            return
        for at in np.unique(targets):
            self._add(int(at), lanes[targets == at])

    def _finish(self, lanes):
        self.alive[lanes] = False
        np.subtract.at(self.left, self.block_of[lanes], 1)
        for at in list(self.stuck):
            self._add(at, np.empty(0, np.int64))
        if self.waiting.any():
            self._release(self.block_of[lanes])

    def _release(self, blocks):
        """Let the threads go on of those of these blocks of which all have come."""
        blocks = np.unique(blocks)
        come = np.add.reduce(self.waiting.reshape(-1, self.padded)[blocks], axis=1)
        complete = blocks[(come == self.left[blocks]) & (come > 0)]
        if complete.size:
            self._intervals[complete] = self._known.begin(self.numbers[complete])
            lanes = (complete[:, None] * self.padded + np.arange(self.padded)).reshape(-1)
            lanes = lanes[self.waiting[lanes]]
            self.waiting[lanes] = False
            self._go_separately(lanes, self.after[lanes])
