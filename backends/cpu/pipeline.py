"""What the CPU backend does to a program before it emits it. A table of contents of the optimizer."""

from __future__ import annotations

from ...compile import SIMPLIFICATION
from ...compile.expansion import expansion_pass
from ...compile.fusion import fusion_pass
from ...compile.loop_rolling import rolling_pass
from ...compile.pass_manager import Step
from .fusion_policy import FUSION_POLICY
from .support import is_native

# From there on arrays are row-major, and of one size.
_SIMPLE_ARRAYS: tuple[Step, ...] = ("normalize-layouts", "pad-dynamic-dimensions")

# From the operations of a program to what is emitted one by one: loop nests, contractions, control flow; then to arrays with
# one place each.
_LOOP_NESTS: tuple[Step, ...] = (
    "expand-collectives",
    expansion_pass(is_native),
    *SIMPLIFICATION,
    fusion_pass(FUSION_POLICY),
    "insert-copies",
)

# A program. Its repetitions become loops first, so that what follows takes the time of what differs in it.
PIPELINE: tuple[Step, ...] = (*_SIMPLE_ARRAYS, rolling_pass(FUSION_POLICY), *_LOOP_NESTS)

# A computation that a program applies to each element of an array.
CALLED_PIPELINE: tuple[Step, ...] = (*_SIMPLE_ARRAYS, *_LOOP_NESTS)
