"""The host: its vector unit, and LLVM's target machine for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from llvmlite import binding

# Of any target's registers: memory that is laid out before the target is known has room for such vectors.
WIDEST_VECTOR_BYTES = 64


@dataclass(frozen=True)
class Target:
    """What code generation needs to know of the machine.

    ``vector_bytes`` is the width of its vector registers; ``vector_registers`` their number.
    """

    cpu: str
    features: str
    triple: str
    data_layout: str
    vector_bytes: int
    vector_registers: int

    def lanes(self, element_bytes: int, size: int | None = None) -> int:
        """Elements of this many bytes in one vector register, or no more than it takes to hold all ``size`` of a dimension.

        >>> Target("", "", "", "", vector_bytes=32, vector_registers=16).lanes(4, 3)
        4
        """
        lanes = max(1, self.vector_bytes // element_bytes)
        return lanes if size is None else min(lanes, 1 << max(0, size - 1).bit_length())


@cache
def host_target() -> Target:
    """The machine that runs this process."""
    initialize()
    features = binding.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512bw") and features.get("avx512dq") and features.get("avx512vl"):
        width, registers = 64, 32
    elif features.get("avx2"):
        width, registers = 32, 16
    else:
        width, registers = 16, 32 if "aarch64" in binding.get_process_triple() else 16
    triple = binding.get_process_triple()
    cpu = binding.get_host_cpu_name()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, jit=True)
    return Target(cpu, features.flatten(), triple, str(machine.target_data), width, registers)


@cache
def initialize() -> None:
    """Prepare LLVM for generating code for the host; once a process."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def target_machine(target: Target) -> binding.TargetMachine:
    """A fresh target machine: an engine takes it over."""
    triple = binding.Target.from_triple(target.triple)
    return triple.create_target_machine(cpu=target.cpu, features=target.features, opt=2, jit=True)


@cache
def compiling_machine(target: Target) -> binding.TargetMachine:
    """The target machine that writes all code: it keeps what it has worked out about the processor."""
    return target_machine(target)
