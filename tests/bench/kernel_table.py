"""What kernels for a device use and what they cannot be faster than, from their code: no device is needed.

A row is a launch: threads; registers of a thread, bytes of spills, and of shared memory of a block; instructions of the code,
and those that load from the device's memory (on NVIDIA's devices with `pip install nvidia-cuda-nvdisasm`); the share of a
multiprocessor's threads that can be there at once (*occupancy*), and what limits it; bytes moved and operations counted in the
program (``compile.cost``); and the least time for these on the device of the architecture, with what bounds it::

    python -m tests.bench.kernel_table [--architecture sm_90a] [PROGRAM ...]

The programs are those of `tests/support/hot_programs.py`. Code for NVIDIA's devices is assembled by ptxas.

Sources: CUDA C++ Programming Guide, "Compute Capabilities"; the whitepapers of A100 and H100; LLVM's "User Guide for AMDGPU
Backend"; AMD's data sheets of MI210, MI300X and RX 7900 XTX.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("PHLOX_CACHE", "0")
sys.path[:0] = [str(Path(__file__).parents[1] / "support"), str(Path(__file__).parent)]

from gpu_backends import AMD_ARCHITECTURES, PTX_ARCHITECTURES, target  # noqa: E402
from hot_programs import HOT_PROGRAMS, hot_module  # noqa: E402
from phlox.backends.gpu.backend import program_of  # noqa: E402
from phlox.backends.gpu.code_generation.compiling import assembly  # noqa: E402
from phlox.backends.gpu.plan import Conditional, Launch, While  # noqa: E402
from phlox.compile.cost import Cost, kernel_cost  # noqa: E402
from phlox.hlo import F64, leaves  # noqa: E402
from ptx_assembler import Resources, assemble, find_ptxas  # noqa: E402


@dataclass(frozen=True)
class Multiprocessor:
    """What the threads that are at one place at once share.

    ``registers`` of a scheduler, of which there are so many; a *warp* (of ``width`` threads) gets them in units of
    ``granule`` for each thread.
    """

    width: int
    schedulers: int
    warps: int  # of a scheduler
    blocks: int
    registers: int  # of a thread of each warp, of a scheduler
    granule: int
    shared_bytes: int
    shared_of_block: int  # besides what it asks for

    def occupancy(self, threads: int, registers: int, shared_bytes: int) -> tuple[float, str]:
        """The share of the threads, and what is used up first."""
        warps_of_block = -(-threads // self.width)
        of_thread = max(self.granule, -(-registers // self.granule) * self.granule)
        limits = {
            "threads": self.schedulers * self.warps // warps_of_block,
            "registers": self.schedulers * (self.registers // of_thread) // warps_of_block,
            "shared": self.shared_bytes // max(1, shared_bytes + self.shared_of_block),
            "blocks": self.blocks,
        }
        least = min(limits, key=lambda name: limits[name])
        share = limits[least] * warps_of_block / (self.schedulers * self.warps)
        return share, "" if share == 1 else least


@dataclass(frozen=True)
class Device:
    """Of one architecture: bytes a second, and operations of f32 and of f64, by matrix instructions where they are as exact."""

    name: str
    multiprocessor: Multiprocessor
    bandwidth: float
    f32: float
    f64: float

    def least_seconds(self, cost: Cost, is_f64: bool) -> tuple[float, str]:
        moving, computing = cost.bytes / self.bandwidth, cost.flops / (self.f64 if is_f64 else self.f32)
        return (moving, "memory") if moving >= computing else (computing, "operations")


DEVICES = {
    "sm_80": Device("A100", Multiprocessor(32, 4, 16, 32, 512, 8, 164 << 10, 1 << 10), 2.04e12, 19.5e12, 19.5e12),
    "sm_90a": Device("H100", Multiprocessor(32, 4, 16, 32, 512, 8, 228 << 10, 1 << 10), 3.35e12, 67e12, 67e12),
    "gfx90a": Device("MI210", Multiprocessor(64, 4, 8, 32, 512, 8, 64 << 10, 0), 1.64e12, 45.3e12, 45.3e12),
    "gfx942": Device("MI300X", Multiprocessor(64, 4, 8, 32, 512, 8, 64 << 10, 0), 5.3e12, 163.4e12, 163.4e12),
    "gfx1100": Device("RX 7900 XTX", Multiprocessor(32, 4, 16, 32, 1536, 24, 128 << 10, 0), 0.96e12, 61.4e12, 1.9e12),
}
HEADINGS = tuple(
    "program kernel blocks threads registers spills shared instructions loads occupancy MB Mop op/byte microseconds".split()
)


@dataclass(frozen=True)
class Row:
    program: str
    launch: Launch
    resources: Resources
    cost: Cost | None  # None for what computes only a part, after the first, of what the cost is known of

    def cells(self, device: Device) -> tuple[str, ...]:
        threads = _product(self.launch.block)
        shared = self.resources.shared_bytes + self.launch.shared_bytes
        share, limit = device.multiprocessor.occupancy(threads, self.resources.registers, shared)
        used = threads, self.resources.registers, self.resources.spill_bytes, shared
        counted = self.resources.instructions or "", self.resources.loads or ""
        cells = [self.program, self.launch.kernel, f"{_product(self.launch.grid):,}", *map(str, (*used, *counted))]
        cells.append(f"{share:.0%} {limit}".rstrip())
        if self.cost is None:
            return *cells, "", "", "", ""
        is_f64 = any(shape.element_type is F64 for shape in leaves(self.launch.instruction.shape))
        seconds, bound = device.least_seconds(self.cost, is_f64)
        density = self.cost.flops / max(1, self.cost.bytes)
        numbers = f"{self.cost.bytes / 1e6:.1f}", f"{self.cost.flops / 1e6:.1f}", f"{density:.2f}"
        return *cells, *numbers, f"{seconds * 1e6:.1f} {bound}"


def rows_of(name: str, architecture: str) -> list[Row]:
    """The launches of a program, those in loops once."""
    program = program_of(hot_module(name), target(architecture))
    if architecture in PTX_ARCHITECTURES:
        resources = assemble(program.code, architecture, counted=True)
    else:
        resources = amd_resources(assembly(program.llvm_ir, program.target))
    rows, counted = [], set()
    for launch in launches(program.plan.steps):
        instruction = launch.instruction
        is_first = instruction is not None and instruction not in counted
        counted.add(instruction)
        cost = kernel_cost([instruction], [instruction]) if is_first else None
        rows.append(Row(name, launch, resources[launch.kernel], cost))
    return rows


def launches(steps):
    for step in steps:
        match step:
            case Launch():
                yield step
            case While():
                yield from launches(step.body)
            case Conditional():
                for branch in step.branches:
                    yield from launches(branch)


def amd_resources(text: str) -> dict[str, Resources]:
    """Of each kernel, from the metadata in LLVM's assembly text. A spilled register is 4 bytes."""
    kernels = text.partition("\namdhsa.kernels:")[2].partition("\namdhsa.")[0]
    found = {}
    for part in kernels.split("\n  - ")[1:]:

        def number(key: str, part: str = part) -> int:
            return int(re.search(rf"^    \.{key}: *(\d+)", part, re.MULTILINE)[1])

        (name,) = re.findall(r"^    \.name: *'?([\w.]+)", part, re.MULTILINE)
        spilled = number("vgpr_spill_count") + number("sgpr_spill_count")
        (code,) = re.findall(rf"^{re.escape(name)}:.*?^\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
        opcodes = re.findall(r"^\t([a-z]\w+)", code, re.MULTILINE)
        found[name] = Resources(
            registers=number("vgpr_count"),
            shared_bytes=number("group_segment_fixed_size"),
            stack_bytes=number("private_segment_fixed_size"),
            spill_bytes=4 * spilled,
            instructions=len(opcodes),
            loads=sum(opcode.startswith(("global_load", "flat_load", "buffer_load")) for opcode in opcodes),
        )
    return found


def as_text(rows: list[Row], device: Device) -> str:
    cells = [HEADINGS, *[row.cells(device) for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADINGS))]
    lines = []
    for row in cells:
        left = [cell.ljust(width) for cell, width in zip(row[:2], widths)]
        lines.append("  ".join([*left, *[cell.rjust(width) for cell, width in zip(row[2:], widths[2:])]]).rstrip())
    return "\n".join(lines)


def _product(sizes: tuple[int, int, int]) -> int:
    return sizes[0] * sizes[1] * sizes[2]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.kernel_table", description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(HOT_PROGRAMS)}; all without any")
    architectures = (*PTX_ARCHITECTURES, *AMD_ARCHITECTURES)
    parser.add_argument("--architecture", choices=architectures, default="sm_90a", help="default: sm_90a")
    options = parser.parse_args()
    if options.architecture in PTX_ARCHITECTURES and find_ptxas() is None:
        parser.error("there is no ptxas; pip install nvidia-cuda-nvcc brings it")
    unknown = set(options.programs) - set(HOT_PROGRAMS)
    if unknown:
        parser.error(f"no program is named {', '.join(sorted(unknown))}")
    device = DEVICES[options.architecture]
    rows = [row for name in options.programs or HOT_PROGRAMS for row in rows_of(name, options.architecture)]
    print(f"{options.architecture}, times on {device.name}\n\n{as_text(rows, device)}")


if __name__ == "__main__":
    main()
