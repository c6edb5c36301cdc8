"""What a module becomes: kernels for a target, and the plan that runs them."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...hlo import Module, Shape
from ..padding import Padding
from .custom_kernels import CustomKernel
from .plan import Plan
from .target import Target


class Texts(NamedTuple):
    """What a program was made from: the optimized module, and LLVM assembly, which is long, and asked for rarely."""

    optimized: Module
    compressed_llvm_ir: bytes


@dataclass(frozen=True, eq=False)
class GpuProgram:
    """Kernels and a plan. ``code`` is what the target's drivers take, ``texts`` makes what that was made from.

    ``custom_kernels`` are those of the user. ``parameters`` are names and shapes of the arguments, ``results`` the shapes of
    the results; ``padding`` says what is around them, where the module has dynamic dimensions.
    """

    name: str
    target: Target
    plan: Plan
    code: bytes
    kernels: tuple[str, ...]
    custom_kernels: tuple[CustomKernel, ...]
    parameters: tuple[tuple[str, Shape], ...]
    results: tuple[Shape, ...]
    padding: Padding | None
    texts: Callable[[], Texts]

    @cached_property
    def _texts(self) -> Texts:
        return self.texts()

    @property
    def optimized(self) -> Module:
        return self._texts.optimized

    @property
    def llvm_ir(self) -> str:
        return zlib.decompress(self._texts.compressed_llvm_ir).decode()
