"""All passes that know no backend, by name, and the group of them that any pipeline has.

What knows a backend is made for its pipeline: `expansion.expansion_pass`, `fusion.fusion_pass`, `loop_rolling.rolling_pass`,
`loop_unrolling.unrolling_pass`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..hlo import Module
from . import (  # noqa: F401  (importing a pass registers it)
    canonicalization,
    carried_elements,
    common_subexpression_elimination,
    compaction,
    conditional_simplification,
    constant_folding,
    copy_insertion,
    dead_code_elimination,
    dynamic_padding,
    inlining,
    layout_normalization,
    loop_invariant_code_motion,
    loop_products,
    loop_simplification,
    loop_vectorization,
    simplification,
    single_elements,
    sunk_updates,
    update_fusion,
    variances,
    verification,
)
from .expansion import collectives  # noqa: F401
from .pass_manager import (
    COMPACT_SELECTIONS,
    NORMALIZE_LAYOUTS,
    PAD_DYNAMIC_DIMENSIONS,
    PASSES,
    SEPARATE_SELECTIONS,
    FixedPoint,
    Pass,
    Step,
    run_passes,
)
from .traversal import has_dynamic_shapes


def simplification_steps(*of_loops: Pass, inline: str = "inline-calls") -> tuple[Step, ...]:
    """HLO to simpler HLO, by what any backend gains from; its result is as readable as its input.

    ``of_loops`` are a backend's own passes for loops, which make more to simplify; ``inline`` is the pass for calls, which is
    "inline-all-calls" for backends without functions.
    """
    passes = (
        "simplify",
        "fold-constants",
        "cse",
        "simplify-loops",
        *of_loops,
        "simplify-conditionals",
        "hoist-loop-invariants",
        "sink-loop-updates",
        "vectorize-loops",
        "batch-loop-products",
        "carry-written-elements",
        "dce",
    )
    return inline, "canonicalize", FixedPoint("simplification", passes, rounds=4)


def available_passes(pipeline: Iterable[Step] = ()) -> dict[str, Pass]:
    """All passes, by name, in alphabetical order; with those that are made for this pipeline.

    >>> list(available_passes())[:2]
    ['batch-loop-products', 'canonicalize']
    """
    steps = (each for step in pipeline for each in (step.passes if isinstance(step, FixedPoint) else (step,)))
    return dict(sorted((PASSES | {step.name: step for step in steps if isinstance(step, Pass)}).items()))


def run_named_passes(module: Module, names: Iterable[str], pipeline: Iterable[Step] = ()) -> Module:
    """The module after the passes of these names, in this order; the same object where none changed anything.

    A pass that knows a backend is the one in its pipeline. Before all of them runs ``normalize-layouts``, as they know
    row-major arrays only. Raises ValueError for an unknown name, NotImplementedError for a module with dynamic dimensions,
    unless these are padded first.

    >>> from phlox import hlo
    >>> f = hlo.computation("f", [hlo.Shape(hlo.F32, (3,))], lambda x: hlo.negate(hlo.negate(x)))
    >>> run_named_passes(hlo.Module("f", f), ["simplify", "dce"]).entry.root.opcode
    'parameter'
    """
    known = available_passes(pipeline)
    wanted = [name for name in names if name != NORMALIZE_LAYOUTS]
    for name in wanted:
        if name not in known:
            raise ValueError(f"no pass is named {name!r}; there are {', '.join(known)}")
    rest = [name for name in wanted if name not in (COMPACT_SELECTIONS, SEPARATE_SELECTIONS)]
    if rest and rest[0] != PAD_DYNAMIC_DIMENSIONS and has_dynamic_shapes(module):
        first = f"pass {PAD_DYNAMIC_DIMENSIONS} must run before all others"
        raise NotImplementedError(f"module {module.name} has dynamic dimensions: {first}")
    return run_passes(module, [known[name] for name in (NORMALIZE_LAYOUTS, *wanted)])
