"""Finding out where a jitted function goes wrong, `nans` and `compare`, and where a program's time goes: `kernels`."""

from .comparison import Comparison, compare
from .kernels import KernelProfile, kernels
from .nans import nans

__all__ = ["Comparison", "KernelProfile", "compare", "kernels", "nans"]
