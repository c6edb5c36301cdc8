"""What the CPU backend does to a program before it emits it. A table of contents of the optimizer."""

from __future__ import annotations

from ...compile import simplification_steps
from ...compile.expansion import expansion_pass
from ...compile.fusion import fusion_pass
from ...compile.loop_rolling import rolling_pass
from ...compile.loop_unrolling import unrolling_pass
from ...compile.pass_manager import Step
from .fusion_policy import FUSION_POLICY
from .support import is_native

# From the operations of a program to what is emitted one by one: loop nests, contractions, control flow; then to arrays with
# one place each.
_LOOP_NESTS: tuple[Step, ...] = (
    "expand-collectives",
    expansion_pass(is_native),
    *simplification_steps(unrolling_pass(FUSION_POLICY)),
    "variances-in-one-pass",
    "dce",
    fusion_pass(FUSION_POLICY),
    "single-elements-as-scalars",
    "fuse-updates",
    "insert-copies",
)

# A program. Its arrays become row-major and of one size, and its repetitions loops, so that what follows takes the time of
# what differs in it.
PIPELINE: tuple[Step, ...] = (
    "normalize-layouts",
    "compact-selections",
    "pad-dynamic-dimensions",
    rolling_pass(FUSION_POLICY),
    *_LOOP_NESTS,
)

# A computation that a program applies to each element of an array; the program has been padded.
CALLED_PIPELINE: tuple[Step, ...] = ("normalize-layouts", *_LOOP_NESTS)
