"""Negations of vectors, written lane by lane: where the bits of a vector of floats are computed as integers, LLVM's target for
AMD's devices negates the last lane alone.

Before: ``fneg <2 x float> %x``. After: ``fneg float`` of each lane.

Source: ``AMDGPUTargetLowering::performFNegCombine`` of LLVM 22, which takes a vector that is made of words for a ``double``.
"""

from __future__ import annotations

import re

_NEGATION = re.compile(
    r"^ *(?P<result>%\S+) = fneg (?P<flags>(?:[a-z]+ )*)<(?P<lanes>\d+) x (?P<scalar>\w+)> (?P<value>[^\n,]+).*$",
    re.MULTILINE,
)


def with_lane_negations(llvm_ir: str) -> str:
    """The LLVM assembly of a module that no pass is to see any more, without ``fneg`` of vectors.

    >>> print(with_lane_negations("  %y = fneg <2 x float> %x"))
      %negations.0.lane.0 = extractelement <2 x float> %x, i64 0
      %negations.0.negated.0 = fneg float %negations.0.lane.0
      %negations.0.vector.0 = insertelement <2 x float> poison, float %negations.0.negated.0, i64 0
      %negations.0.lane.1 = extractelement <2 x float> %x, i64 1
      %negations.0.negated.1 = fneg float %negations.0.lane.1
      %y = insertelement <2 x float> %negations.0.vector.0, float %negations.0.negated.1, i64 1
    """
    if "fneg" not in llvm_ir:
        return llvm_ir
    count = 0

    def by_lane(negation: re.Match) -> str:
        nonlocal count
        prefix, lanes, scalar = f"%negations.{count}", int(negation["lanes"]), negation["scalar"]
        count += 1
        vector, lines, before = f"<{lanes} x {scalar}>", [], "poison"
        for lane in range(lanes):
            result = negation["result"] if lane == lanes - 1 else f"{prefix}.vector.{lane}"
            lines += [
                f"  {prefix}.lane.{lane} = extractelement {vector} {negation['value']}, i64 {lane}",
                f"  {prefix}.negated.{lane} = fneg {negation['flags']}{scalar} {prefix}.lane.{lane}",
                f"  {result} = insertelement {vector} {before}, {scalar} {prefix}.negated.{lane}, i64 {lane}",
            ]
            before = result
        return "\n".join(lines)

    return _NEGATION.sub(by_lane, llvm_ir)
