"""What code is generated for: the host or a level of its architecture, and LLVM's target machine for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from llvmlite import binding

# How much LLVM does for fast code: what its CodeGenOptLevel calls None and Default.
QUICK, FULL = 0, 2
# Of any target's registers: memory that is laid out before the target is known has room for such vectors.
WIDEST_VECTOR_BYTES = 64
_PORTABLE_LANES = 16


@dataclass(frozen=True)
class Target:
    """What code generation needs to know of the machine.

    ``vector_bytes`` is the width of its vector registers; ``vector_registers`` their number. Code ``is_portable`` that reaches
    the processor in another form, with vectors of `_PORTABLE_LANES` at most, as SPIR-V is; without ``features`` where that
    form has none of the processor's own instructions.
    """

    cpu: str
    features: str
    triple: str
    data_layout: str
    vector_bytes: int
    vector_registers: int
    is_portable: bool = False

    @property
    def converts_halves(self) -> bool:
        """Whether there are instructions between f16 and f32; where there are none LLVM calls functions that may be missing."""
        return not self.triple.startswith("x86_64") or "+f16c" in self.features.split(",")

    def has(self, feature: str) -> bool:
        """Whether code may use instructions of this set of the processor's.

        >>> Target("", "+avx2,-avx512f", "", "", vector_bytes=32, vector_registers=16).has("avx512f")
        False
        """
        return f"+{feature}" in self.features.split(",")

    @property
    def stores_past_caches(self) -> bool:
        """Whether there are stores of whole vectors that no cache keeps."""
        return self.triple.startswith("x86_64") or self.is_portable

    def lanes(self, element_bytes: int, size: int | None = None) -> int:
        """Elements of this many bytes in one vector register, or no more than it takes to hold all ``size`` of a dimension.

        >>> Target("", "", "", "", vector_bytes=32, vector_registers=16).lanes(4, 3)
        4
        """
        lanes = max(1, self.vector_bytes // element_bytes)
        if self.is_portable:
            lanes = min(lanes, _PORTABLE_LANES)
        return lanes if size is None else min(lanes, 1 << max(0, size - 1).bit_length())


class Level(NamedTuple):
    """A set of processors that run the same code: those of an architecture with these features."""

    architecture: str
    cpu: str
    features: str
    vector_bytes: int
    vector_registers: int


_V2 = "+cx16,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3"
_V3 = f"{_V2},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
_V4 = f"{_V3},+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl"
# Those of the x86-64 psABI (3.1.1, "Micro-Architecture Levels"), which LLVM knows as processors; and what every AArch64 has.
LEVELS = {
    "x86-64": Level("x86_64", "x86-64", "", 16, 16),
    "x86-64-v2": Level("x86_64", "x86-64-v2", _V2, 16, 16),
    "x86-64-v3": Level("x86_64", "x86-64-v3", _V3, 32, 16),
    "x86-64-v4": Level("x86_64", "x86-64-v4", _V4, 64, 32),
    "aarch64": Level("aarch64", "generic", "+neon", 16, 32),
}
_VARIABLE = "PHLOX_TARGET"
_NATIVE = "native"


@cache
def host_target() -> Target:
    """What this process generates code for: the machine that it runs on, or the level that ``PHLOX_TARGET`` names.

    Raises ValueError for a level that there is not, or that the machine has not.
    """
    name = os.environ.get(_VARIABLE) or _NATIVE
    machine = native_target()
    if name == _NATIVE:
        return machine
    if name not in LEVELS:
        raise ValueError(f"{_VARIABLE} requires {_NATIVE!r} or one of {', '.join(LEVELS)}; given {name!r}")
    target = level_target(name)
    if not runs_on(target, machine):
        raise ValueError(f"{_VARIABLE}: code for {name} does not run on this machine, a {machine.cpu} ({machine.triple})")
    return target


@cache
def native_target() -> Target:
    """The machine that runs this process."""
    initialize()
    features = binding.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512bw") and features.get("avx512dq") and features.get("avx512vl"):
        width, registers = 64, 32
    elif features.get("avx2"):
        width, registers = 32, 16
    else:
        width, registers = 16, 32 if "aarch64" in binding.get_process_triple() else 16
    return _target(binding.get_host_cpu_name(), features.flatten(), binding.get_process_triple(), width, registers)


def level_target(name: str) -> Target:
    """The target for all processors of a level, by its name in LEVELS.

    For another architecture than the machine's it is one of the same operating system: its code can be read, not run.
    """
    level = LEVELS[name]
    initialize()
    architecture, _, system = binding.get_process_triple().partition("-")
    if architecture.replace("arm64", "aarch64") != level.architecture:
        binding.initialize_all_targets()
        binding.initialize_all_asmprinters()
        architecture = level.architecture
    return _target(level.cpu, level.features, f"{architecture}-{system}", level.vector_bytes, level.vector_registers)


def portable(target: Target, with_features: bool) -> Target:
    """The same processor, for code that reaches it in a portable form, which may have its own instructions."""
    return replace(target, features=target.features if with_features else "", triple="", is_portable=True)


def runs_on(target: Target, machine: Target) -> bool:
    """Whether code for a target is for this machine: for exactly it, or for a level all of whose features it has."""
    is_level = any((level.cpu, level.features) == (target.cpu, target.features) for level in LEVELS.values())
    has_all = set(target.features.split(",")) <= {"", *machine.features.split(",")}
    return target == machine or is_level and target.triple == machine.triple and has_all


def _target(cpu: str, features: str, triple: str, vector_bytes: int, vector_registers: int) -> Target:
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, jit=True)
    return Target(cpu, features, triple, str(machine.target_data), vector_bytes, vector_registers)


@cache
def initialize() -> None:
    """Prepare LLVM for generating code for the host; once a process."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def target_machine(target: Target, level: int = FULL) -> binding.TargetMachine:
    """A fresh target machine: an engine takes it over."""
    triple = binding.Target.from_triple(target.triple)
    return triple.create_target_machine(cpu=target.cpu, features=target.features, opt=level, jit=True)


@contextmanager
def compiling_machine(target: Target, level: int) -> Iterator[binding.TargetMachine]:
    """A target machine that no other thread uses meanwhile: it keeps what it has worked out about the processor."""
    free = _free_machines(target, level)
    machine = free.pop() if free else target_machine(target, level)
    yield machine
    free.append(machine)


@cache
def _free_machines(target: Target, level: int) -> list[binding.TargetMachine]:
    return []
