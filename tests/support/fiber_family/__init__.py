"""A family of GPUs in three files, for which docs/gpu.md's "How to add a family" was followed: a processor in disguise.

Kernels are those of GPUs, in machine code of this processor. The threads of a block are fibers, which a thread of the process
runs in turn, each until the next barrier: forth in one round and back in the next, so that a missing barrier shows. Blocks run
one after the other. The C library switches between fibers (ucontext.h), on Linux with x86-64.
"""

from phlox.backends.gpu.backend import TARGET_OF
from phlox.backends.gpu.drivers.available import DRIVERS
from phlox.backends.registry import register_gpu

from .driver import FiberDriver
from .target import fiber_target


def register_fibers():
    """Make the family a backend, "fibers"."""
    DRIVERS["fibers"] = FiberDriver
    TARGET_OF["fibers"] = lambda properties: fiber_target()
    register_gpu("fibers")
