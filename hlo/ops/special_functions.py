"""Special functions of real numbers: elementwise operations of StableHLO's CHLO family.

Source of the semantics: "chlo.erf_inv", "chlo.lgamma" and "chlo.digamma", and at poles and infinities C99 (F.9.5.3) for lgamma
and the limits for the others.
"""

from __future__ import annotations

import numpy as np

from ..operation import ELEMENTWISE, TRANSCENDENTAL, Sample, operation
from ..shape import AnyShape, Shape
from . import numerics, special_numerics
from .constraints import require_kind
from .elementwise import elementwise_samples

INF, NAN = np.inf, np.nan


def _require_floats(opcode: str, operand: AnyShape) -> Shape:
    require_kind(opcode, "operand", operand, ("float",))
    return operand.without_layout()


def _sample(operands: list[float], expected: list[float]) -> Sample:
    return Sample([np.array(operands, np.float32)], expected=np.array(expected, np.float32))


@operation("erf-inv", "operand", builder="ErfInv", traits={ELEMENTWISE, TRANSCENDENTAL}, cost=60.0)
def erf_inv(operand):
    """ErfInv(operand): element by element, the number whose error function is x; +-inf at +-1, and NaN beyond."""
    return _require_floats("erf-inv", operand)


erf_inv.evaluation(numerics.in_wider_type(special_numerics.erf_inv))


@erf_inv.sampling
def _():
    yield _sample([0, -0.0, 1, -1, 1.5, INF, -INF, NAN], [0, -0.0, INF, -INF, NAN, NAN, NAN, NAN])
    yield from elementwise_samples(1, ("float",))


@operation("lgamma", "operand", builder="Lgamma", traits={ELEMENTWISE, TRANSCENDENTAL}, cost=90.0)
def lgamma(operand):
    """Lgamma(operand): element by element, the logarithm of the absolute value of the gamma function; inf at 0, -1, -2, ...

    Native code errs by at most 1 ULP in f32. In f64 it does by 2 ULP of the result, or of 1 where x is negative and the result
    smaller than that: there are zeros between the poles.
    """
    return _require_floats("lgamma", operand)


lgamma.evaluation(numerics.in_wider_type(special_numerics.lgamma))


@lgamma.sampling
def _():
    yield _sample([1, 2, 0, -0.0, -1, -2, INF, -INF, NAN], [0, 0, INF, INF, INF, INF, INF, INF, NAN])
    yield from elementwise_samples(1, ("float",))


@operation("digamma", "operand", builder="Digamma", traits={ELEMENTWISE, TRANSCENDENTAL}, cost=90.0)
def digamma(operand):
    """Digamma(operand): element by element, the derivative of lgamma; NaN at -1, -2, ... and -inf at 0, inf at -0.

    Native code errs by at most 1 ULP in f32. In f64 it does by 2 ULP of the result, or of 1 where x is negative and the result
    smaller than that: there are zeros between the poles.
    """
    return _require_floats("digamma", operand)


digamma.evaluation(numerics.in_wider_type(special_numerics.digamma))


@digamma.sampling
def _():
    yield _sample([0, -0.0, -1, -2, INF, -INF, NAN], [-INF, INF, NAN, NAN, INF, NAN, NAN])
    yield from elementwise_samples(1, ("float",))
