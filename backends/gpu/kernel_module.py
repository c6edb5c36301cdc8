"""The kernels of a program: each is emitted once for all launches that do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compile.common_subexpression_elimination import ComputationKeys
from ...hlo import Computation
from ..llvm.module import DeviceFeatures, DeviceModule
from .kernel import Grid, Kernel
from .target import Target


class KernelModule:
    """An LLVM module of kernels for a target."""

    def __init__(self, name: str, target: Target) -> None:
        self.target = target
        processor = target.processor
        features = DeviceFeatures(
            target.spaces.device,
            target.lacks,
            streamed_bytes=0 if processor is None else processor.vector_bytes,
            has_avx2=processor is not None and processor.has("avx2"),
            has_avx512=processor is not None and processor.vector_bytes == 64 and processor.has("avx512dq"),
            approximations=target.approximations,
            has_float_extrema=target.has_float_extrema,
        )
        self.llvm = DeviceModule(name, features)
        self.llvm.triple = target.triple
        self._names: dict[Any, str] = {}
        self._keys = ComputationKeys()
        self.phases: dict[str, Kernel] = {}
        self.work: dict[str, int] = {}  # as how many phases one counts, where that is not 1
        self.dynamic_bytes: dict[str, int] = {}  # of memory that launches ask for
        self.grids: dict[str, Grid] = {}

    def number(self, computation: Computation) -> int:
        """The same for computations that do the same."""
        return self._keys.number(computation)

    def kernel(
        self,
        name: str,
        key: Any,
        arguments: int,
        grid: Grid,
        emit: Callable[[Kernel], None],
        phase: bool = False,
        overlap: bool = False,
        pieces: bool = False,
        numbers: int = 0,
    ) -> str:
        """The name of the kernel with this key, which ``emit`` writes where there is none yet; see `Kernel`."""
        key = (name, key, arguments, grid, phase, numbers)
        if key not in self._names:
            unique = f"{name}.{len(self._names)}".replace("-", "_").replace(".", "_")
            self._names[key] = unique
            kernel = Kernel(self.llvm, self.target, unique, arguments, grid, phase, overlap, pieces, numbers)
            emit(kernel)
            kernel.end()
            self.dynamic_bytes[unique], self.grids[unique] = kernel.dynamic_bytes, kernel.grid
            if phase:
                self.phases[unique] = kernel
        return self._names[key]

    def keep(self, names: set[str]) -> None:
        """Leave out all other kernels, which are parts of these, if anything."""
        self._names = {key: name for key, name in self._names.items() if name in names}
        for name in self.dynamic_bytes.keys() - names:
            del self.llvm.globals[name]

    @property
    def names(self) -> list[str]:
        return list(self._names.values())
