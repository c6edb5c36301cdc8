"""What the GPU backends do to a program before kernels are emitted. A table of contents of the optimizer."""

from __future__ import annotations

from ...compile import simplification_steps
from ...compile.expansion import expansion_pass
from ...compile.fusion import fusion_pass
from ...compile.pass_manager import Step
from ...compile.variances import variances_pass
from .fusion_policy import FUSION_POLICY
from .parallel_branches import CHOOSE_PARALLEL_BRANCHES
from .row_fusion import FUSE_ROWS, reduces_rows
from .support import is_native

PIPELINE: tuple[Step, ...] = (
    "normalize-layouts",
    "separate-selections",
    "pad-dynamic-dimensions",
    "expand-collectives",
    CHOOSE_PARALLEL_BRANCHES,
    expansion_pass(is_native),
    "inline-all-calls",
    *simplification_steps(),
    variances_pass(lambda squares: not reduces_rows(squares)),
    "dce",
    fusion_pass(FUSION_POLICY),
    FUSE_ROWS,
    "insert-copies",
)
