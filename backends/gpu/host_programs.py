"""Programs that leave nothing for others to do than the thread that calls them, on a device that is the processor.

A launch costs as much as one thread takes for some thousand elements, and a loop of short rounds, or a branch, may cost one in
each round. Called with arrays of the host, for whose results it waits, such a program runs as the CPU backend compiles it, in
one native call. So it does with arrays on the device, if it does not take long (`host_runs`); behind what is under way there,
and else, they are given to kernels, which are compiled when they are first asked for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

from ...compile.traversal import has_dynamic_shapes
from ...hlo import Module
from ...runtime.kernel_time import kernel_time
from ..cpu.backend import CpuBackend
from ..cpu.call import CallSignature, Fact
from ..cpu.work_estimate import nanoseconds
from ..device_memory import Buffer
from .custom_kernels import is_custom_kernel
from .dynamic_shapes import PaddedExecutable
from .executable import GpuExecutable
from .host_runs import HostRuns
from .memory import GpuMemory

OnDevice = GpuExecutable | PaddedExecutable

# By estimates that are up to twice as long as it takes: what takes less is for one thread.
_LEAST_NANOSECONDS = 100_000
# Of the time of a program with loops of short rounds, for what several threads might do.
_MOST_OUTSIDE_OF_LOOPS = 1 / 3


def is_for_the_host(program: Module) -> bool:
    """Whether nothing of a program is for several threads, or next to nothing of what it takes: each loop run through once.

    The rounds of a loop are short then, and one thread runs them whatever their number. And where sizes are found at run time:
    kernels compute all that there may be at most, the code of the host what there is.
    """
    calls = [one for part in program.computations() for one in part.instructions if one.opcode == "custom-call"]
    if any(map(is_custom_kernel, calls)):
        return False
    if has_dynamic_shapes(program):
        return True
    outside, once = (nanoseconds(program.entry, rounds) for rounds in (0, 1))
    if once < _LEAST_NANOSECONDS:
        return True
    return once - outside < _LEAST_NANOSECONDS and outside < _MOST_OUTSIDE_OF_LOOPS * nanoseconds(program.entry)


class HostExecutable:
    """Such a program: native code of the host, and what ``compile`` makes for the device with this memory."""

    def __init__(self, module: Module, compile: Callable[[Module], OnDevice], memory: GpuMemory) -> None:
        self.module, self._compile = module, compile
        self._on_host = CpuBackend().compile(module)
        self._runs = HostRuns.of(self._on_host, module, memory)

    @cached_property
    def on_device(self) -> OnDevice:
        return self._compile(self.module)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """As `GpuExecutable` does; kernels, which can be left behind, where there is a limit on their time."""
        return (self._on_host if kernel_time.seconds is None else self.on_device)(*arguments)

    def execute(self, arguments: Iterable[Buffer], given_up: Collection[int] = ()) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters. Raises as `GpuExecutable.execute`."""
        if self._runs is not None:
            arguments = list(arguments)
            results = self._runs.execute(arguments, given_up)
            if results is not None:
                return results
        return self.on_device.execute(arguments, given_up) if given_up else self.on_device.execute(arguments)

    def install(self, instance: Any, signature: CallSignature, *, facts: Sequence[Fact] = (), **options: Any) -> bool:
        """As `cpu.executable.NativeExecutable.install`; False where there is a limit on the time of kernels."""
        if kernel_time.seconds is not None:
            return False
        facts = [*facts, ("word", ctypes.addressof(kernel_time.is_limited), 0)]
        return self._on_host.install(instance, signature, facts=facts, **options)

    @property
    def takes_over_arguments(self) -> bool:
        return getattr(self.on_device if self._runs is None else self._runs, "takes_over_arguments", False)

    @property
    def optimized(self) -> Module:
        return self._on_host.optimized

    @property
    def given_up(self) -> tuple[str, ...]:
        return self._on_host.given_up

    def as_text(self, form: str = "hlo") -> str:
        """That of the code of the host; "plan": of the kernels. ``on_device`` has what else there is of these."""
        return (self.on_device if form == "plan" else self._on_host).as_text(form)

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of ``arguments``, ``results`` and ``temporaries`` in the host's memory."""
        return self._on_host.memory_analysis()
