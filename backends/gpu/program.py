"""What a module becomes: kernels for a target, and the plan that runs them."""

from __future__ import annotations

from dataclasses import dataclass

from ...hlo import Module, Shape
from ..padding import Padding
from .custom_kernels import CustomKernel
from .plan import Plan
from .target import Target


@dataclass(frozen=True, eq=False)
class GpuProgram:
    """Kernels and a plan. ``code`` is what the target's drivers take, ``llvm_ir`` what that was compiled from.

    ``custom_kernels`` are those of the user. ``parameters`` are names and shapes of the arguments, ``results`` the shapes of
    the results; ``padding`` says what is around them, where the module has dynamic dimensions.
    """

    name: str
    target: Target
    optimized: Module
    plan: Plan
    llvm_ir: str
    code: bytes
    kernels: tuple[str, ...]
    custom_kernels: tuple[CustomKernel, ...]
    parameters: tuple[tuple[str, Shape], ...]
    results: tuple[Shape, ...]
    padding: Padding | None
