"""What the GPU backends do to a program before kernels are emitted. A table of contents of the optimizer."""

from __future__ import annotations

from collections.abc import Callable

from ...compile import simplification_steps
from ...compile.expansion import expansion_pass
from ...compile.fusion import fusion_pass
from ...compile.pass_manager import COMPACT_SELECTIONS, SEPARATE_SELECTIONS, Step
from ...compile.variances import variances_pass
from ...hlo import Instruction
from .alike_fusion import GROUP_ALIKE
from .epilogue_fusion import FUSE_EPILOGUES, FUSE_EPILOGUES_OF_REDUCTIONS
from .fusion_policy import FUSION_POLICY, PROCESSOR_FUSION_POLICY
from .host_loops import HOST_LOOPS
from .loop_groups import GROUP_LOOPS
from .narrow_factors import MULTIPLY_NARROW_FACTORS
from .parallel_branches import CHOOSE_PARALLEL_BRANCHES
from .row_fusion import FUSE_ROWS, reduces_rows
from .support import is_native, is_native_on_processors
from .update_fusion import FUSE_UPDATES
from .whole_updates import COMPUTE_UPDATES_AS_WHOLES


def _simplified(selections: Step, is_native: Callable[[Instruction], bool], *before_expansion: Step) -> tuple[Step, ...]:
    return (
        "normalize-layouts",
        selections,
        "pad-dynamic-dimensions",
        "expand-collectives",
        *before_expansion,
        expansion_pass(is_native),
        *simplification_steps(inline="inline-all-calls"),
    )


PIPELINE: tuple[Step, ...] = (
    *_simplified(SEPARATE_SELECTIONS, is_native, CHOOSE_PARALLEL_BRANCHES),
    variances_pass(lambda squares: not reduces_rows(squares)),
    MULTIPLY_NARROW_FACTORS,
    COMPUTE_UPDATES_AS_WHOLES,
    "dce",
    fusion_pass(FUSION_POLICY),
    FUSE_EPILOGUES,
    FUSE_ROWS,
    FUSE_EPILOGUES_OF_REDUCTIONS,
    FUSE_UPDATES,
    GROUP_ALIKE,
    GROUP_LOOPS,
    "insert-copies",
)

# For devices that are processors, which compute loops and reductions as the CPU backend does.
PROCESSOR_PIPELINE: tuple[Step, ...] = (
    *_simplified(COMPACT_SELECTIONS, is_native_on_processors),
    HOST_LOOPS,
    "variances-in-one-pass",
    "dce",
    fusion_pass(PROCESSOR_FUSION_POLICY),
    "single-elements-as-scalars",
    "fuse-updates",
    "insert-copies",
)
