"""The CPU backend's passes, some of them, by name."""

from phlox.backends.cpu.pipeline import PIPELINE
from phlox.compile import SIMPLIFICATION, available_passes, run_passes

CPU_PASSES = available_passes(PIPELINE)
SIMPLIFY_AND_FUSE = (*SIMPLIFICATION, "fuse")


def optimize(module, steps=SIMPLIFY_AND_FUSE):
    """The module after ``normalize-layouts`` and these steps."""
    return run_passes(module, ["normalize-layouts", *(CPU_PASSES[s] if isinstance(s, str) else s for s in steps)])


def expand(module):
    return CPU_PASSES["expand"].run(module)
