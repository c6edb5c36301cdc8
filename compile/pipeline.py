"""The pipeline: which passes run, in which order. A table of contents of the optimizer.

Before all of them runs ``normalize-layouts`` (see ``pass_manager.run_passes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..hlo import Module
from . import (  # noqa: F401  (importing a pass registers it)
    canonicalization,
    common_subexpression_elimination,
    conditional_simplification,
    constant_folding,
    dead_code_elimination,
    dynamic_padding,
    expansion,
    fusion,
    inlining,
    layout_normalization,
    loop_invariant_code_motion,
    loop_rolling,
    loop_simplification,
    loop_unrolling,
    simplification,
)
from .pass_manager import PAD_DYNAMIC_DIMENSIONS, PASSES, FixedPoint, Pass, Step, run_passes

# HLO to simpler HLO; any backend gains from it, and its result is as readable as its input.
SIMPLIFICATION: tuple[Step, ...] = (
    "inline-calls",
    "canonicalize",
    FixedPoint(
        "simplification",
        (
            "simplify",
            "fold-constants",
            "cse",
            "simplify-loops",
            "unroll-loops",
            "simplify-conditionals",
            "hoist-loop-invariants",
            "dce",
        ),
        rounds=4,
    ),
)

# HLO to HLO whose top level is what a backend emits one by one: fused loop nests, contractions, control flow.
FUSION: tuple[Step, ...] = ("fuse",)

# HLO with dynamic dimensions to HLO without, for backends that know static shapes only; before all others.
PADDING: tuple[Step, ...] = (PAD_DYNAMIC_DIMENSIONS,)

# HLO to HLO of the size of what differs in it; before all that takes time for each instruction.
ROLLING: tuple[Step, ...] = ("roll-loops",)

# HLO to HLO without the operations that are written as others; for backends that have no code for them.
EXPANSION: tuple[Step, ...] = ("expand-collectives", "expand")

DEFAULT: tuple[Step, ...] = (*SIMPLIFICATION, *FUSION)


def optimize(module: Module, passes: Sequence[Step] = DEFAULT) -> Module:
    """The module after the passes; the same object where none changed anything.

    A step is a pass's name, a Pass or a FixedPoint. Raises ValueError for an unknown name, VerificationError where
    ``PHLOX_CHECK`` is set and a pass broke a rule of the language.

    >>> from phlox.hlo import Builder, F32, Shape
    >>> b = Builder("f")
    >>> x = b.parameter(Shape(F32, (3,)), "x")
    >>> optimize(b.build_module(b.Neg(b.Neg(x)))).entry.root.opcode
    'parameter'
    """
    return run_passes(module, passes)


def run_named_passes(module: Module, names: Iterable[str]) -> Module:
    """The module after the passes of these names, in this order; raises ValueError for an unknown name."""
    return run_passes(module, tuple(names))


def available_passes() -> dict[str, Pass]:
    """All passes, by name, in alphabetical order."""
    return dict(sorted(PASSES.items()))
