"""Some blocks of a launch over arrays that no memory holds: arguments are functions of the index, results what was written."""

from types import SimpleNamespace

import numpy as np
from access_log import Intervals
from nvidia_emulator.code import KernelCode
from nvidia_emulator.memory import IllegalAddressError, require_alignment
from nvidia_emulator.processor import run_blocks
from nvidia_emulator.text import parse_module as parse_ptx
from phlox.backends.gpu.backend import program_of
from phlox.backends.gpu.plan import Launch
from phlox.backends.gpu.targets.nvptx import nvptx_target
from phlox.hlo import parse_module

_REGION_BITS = 44  # an array begins at each multiple of so many bits
_AT_ONCE, _OTHERS = 3, 5


class _Arrays:
    """The device's memory. ``elements`` are functions of arrays of indices, by argument, ``shapes`` those of all arrays."""

    def __init__(self, elements, shapes):
        self.log, self._elements, self._shapes = SimpleNamespace(intervals=Intervals()), elements, shapes
        self.written = [[] for _ in shapes]

    def address(self, number):
        return number + 1 << _REGION_BITS

    def places(self, addresses, size, running):
        places = addresses.astype(np.int64)
        require_alignment(places, size)
        sizes = np.array([0, *[shape.byte_size for shape in self._shapes]])
        regions = places >> _REGION_BITS
        fine = (regions > 0) & (regions < sizes.size)
        fine &= (places & (1 << _REGION_BITS) - 1) + size <= sizes[np.where(fine, regions, 0)]
        if not fine.all():
            raise IllegalAddressError(f"{size} bytes at {int(places[~fine][0]):#x}")
        return places

    def read(self, places, size, count, running, is_kept=False):
        found = np.empty((places.size, size * count), np.uint8)
        for region in np.unique(places >> _REGION_BITS):
            here = places >> _REGION_BITS == region
            number, offsets = int(region) - 1, places[here] & (1 << _REGION_BITS) - 1
            dtype = self._shapes[number].dtype
            indices = offsets[:, None] // dtype.itemsize + np.arange(size * count // dtype.itemsize)
            found[here] = np.ascontiguousarray(self._elements[number](indices).astype(dtype)).view(np.uint8)
        words = found.view(f"u{size}")
        return [words[:, number].copy() for number in range(count)]

    def write(self, places, size, values, running):
        (region,) = np.unique(places >> _REGION_BITS)
        number, offsets = int(region) - 1, places & (1 << _REGION_BITS) - 1
        dtype = self._shapes[number].dtype
        values = np.stack([np.broadcast_to(one, places.shape) for one in values], axis=1)
        values = np.ascontiguousarray(values.astype(f"u{size}")).view(dtype)
        self.written[number].append((offsets[:, None] // dtype.itemsize + np.arange(values.shape[1]), values))


def indices_and_results(instructions, elements, architecture):
    """Of a program of one kernel and one result, elements that some of its blocks write: the first ones, the last ones, and
    others.
    """
    module = parse_module(f"HloModule m\n{instructions}")
    program = program_of(module, nvptx_target(architecture))
    (launch,) = program.plan.steps
    assert isinstance(launch, Launch)
    memory = _Arrays(elements, [*[shape for _, shape in program.parameters], *program.results])
    firsts = {"argument": 0, "result": len(program.parameters)}
    words = [
        place.number if place.region == "number" else memory.address(firsts[place.region] + place.number)
        for place in launch.arguments
    ]
    code = KernelCode(parse_ptx(program.code.decode()), launch.kernel, {})
    blocks = int(np.prod(launch.grid))
    assert launch.grid[0] < 1 << 31 and max(launch.grid[1:]) < 1 << 16
    chosen = [np.arange(min(_AT_ONCE, blocks)), np.arange(max(0, blocks - _AT_ONCE), blocks)]
    chosen.append(np.random.default_rng(0).integers(0, blocks, _OTHERS))
    memory.log.intervals.begin_launch()
    parameters = np.array(words, np.uint64).tobytes()
    run_blocks(memory, code, launch.grid, launch.block, parameters, launch.shared_bytes, np.unique(np.concatenate(chosen)))
    written = memory.written[-1]
    return [np.concatenate([parts[kind].reshape(-1) for parts in written]) for kind in range(2)]
