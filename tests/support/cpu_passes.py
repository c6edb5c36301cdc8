"""The CPU backend's passes, some of them, by name."""

from phlox.backends.cpu.pipeline import PIPELINE
from phlox.compile import FixedPoint, available_passes, run_passes, simplification_steps

CPU_PASSES = available_passes(PIPELINE)
SIMPLIFY = simplification_steps(CPU_PASSES["unroll-loops"])
SIMPLIFY_AND_FUSE = (*SIMPLIFY, "fuse")
# The same, each pass once.
SINGLE_PASSES = [each for step in SIMPLIFY_AND_FUSE for each in (step.passes if isinstance(step, FixedPoint) else (step,))]


def optimize(module, steps=SIMPLIFY_AND_FUSE):
    """The module after ``normalize-layouts`` and these steps."""
    return run_passes(module, ["normalize-layouts", *(CPU_PASSES[s] if isinstance(s, str) else s for s in steps)])


def expand(module):
    return CPU_PASSES["expand"].run(module)
