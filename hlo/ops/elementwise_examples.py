"""One example with its result for each elementwise operation; the results are exact by the operation's definition."""

from __future__ import annotations

import numpy as np

from ..operation import Sample

INF, NAN = np.inf, np.nan


def _f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def _s32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def _u8(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


_PARTS = np.array([1 + 2j, 3 - 4j], np.complex64)

_EXAMPLES = {
    "abs": (_s32(-3, 0, 5), _s32(3, 0, 5)),
    "negate": (_s32(1, -2), _s32(-1, 2)),
    "sign": (_f32(-3, -0.0, 7), _f32(-1, -0.0, 1)),
    "exponential": (_f32(0, -INF, INF), _f32(1, 0, INF)),
    "exponential-minus-one": (_f32(0, -INF), _f32(0, -1)),
    "log": (_f32(1, 0, INF), _f32(0, -INF, INF)),
    "log-plus-one": (_f32(0, -1), _f32(0, -INF)),
    "sqrt": (_f32(4, 0.25, 0), _f32(2, 0.5, 0)),
    "rsqrt": (_f32(4, 0.25, 0), _f32(0.5, 2, INF)),
    "cbrt": (_f32(8, -1), _f32(2, -1)),
    "sine": (_f32(0, -0.0), _f32(0, -0.0)),
    "cosine": (_f32(0, -0.0), _f32(1, 1)),
    "tan": (_f32(0, -0.0), _f32(0, -0.0)),
    "acos": (_f32(1), _f32(0)),
    "asin": (_f32(0, -0.0), _f32(0, -0.0)),
    "atan": (_f32(0, -0.0), _f32(0, -0.0)),
    "cosh": (_f32(0, -INF), _f32(1, INF)),
    "sinh": (_f32(0, -INF), _f32(0, -INF)),
    "tanh": (_f32(0, INF, -INF), _f32(0, 1, -1)),
    "acosh": (_f32(1, INF), _f32(0, INF)),
    "asinh": (_f32(0, -INF), _f32(0, -INF)),
    "atanh": (_f32(0, 1, -1), _f32(0, INF, -INF)),
    "logistic": (_f32(0, INF, -INF), _f32(0.5, 1, 0)),
    "erf": (_f32(0, INF, -INF), _f32(0, 1, -1)),
    "ceil": (_f32(-1.5, 0.5, 2), _f32(-1, 1, 2)),
    "floor": (_f32(-1.5, 0.5, 2), _f32(-2, 0, 2)),
    "round-nearest-afz": (_f32(-1.5, 0.5, 2.5), _f32(-2, 1, 3)),
    "round-nearest-even": (_f32(-1.5, 0.5, 2.5), _f32(-2, 0, 2)),
    "real": (_PARTS, _f32(1, 3)),
    "imag": (_PARTS, _f32(2, -4)),
    "is-finite": (_f32(1, INF, NAN), np.array([True, False, False])),
    "not": (_s32(0, 5), _s32(-1, -6)),
    "popcnt": (_u8(0, 7, 255), _u8(0, 3, 8)),
    "count-leading-zeros": (_u8(0, 1, 255), _u8(8, 7, 0)),
    "add": (np.array([100, 1], np.int8), np.array([100, 1], np.int8), np.array([-56, 2], np.int8)),
    "subtract": (_u8(1, 5), _u8(2, 3), _u8(255, 2)),
    "multiply": (_s32(2, -3), _s32(4, 5), _s32(8, -15)),
    "mulhi": (_s32(2**30, -1), _s32(8, 1), _s32(2, -1)),
    "divide": (_s32(7, -7, 1), _s32(2, 2, 0), _s32(3, -3, -1)),
    "remainder": (_s32(7, -7, 1), _s32(2, 2, 0), _s32(1, -1, 1)),
    "power": (_f32(2, 2, 9), _f32(3, -1, 0.5), _f32(8, 0.5, 3)),
    "maximum": (_f32(1, 2, -0.0), _f32(3, -1, 0), _f32(3, 2, 0)),
    "minimum": (_f32(1, 2, -0.0), _f32(3, -1, 0), _f32(1, -1, -0.0)),
    "atan2": (_f32(0, 0, -0.0), _f32(1, -1, -1), _f32(0, np.pi, -np.pi)),
    "and": (_s32(12, -1), _s32(10, 7), _s32(8, 7)),
    "or": (_s32(12, -1), _s32(10, 7), _s32(14, -1)),
    "xor": (_s32(12, -1), _s32(10, 7), _s32(6, -8)),
    "shift-left": (_s32(1, 1, 1), _s32(3, 31, 32), _s32(8, -(2**31), 0)),
    "shift-right-arithmetic": (_s32(-8, -8), _s32(1, 40), _s32(-4, -1)),
    "shift-right-logical": (_s32(-8, -8), _s32(1, 40), _s32(2**31 - 4, 0)),
}


def elementwise_example(opcode: str) -> Sample:
    """The operands and the expected result of the operation's example; KeyError where it has none."""
    *operands, expected = _EXAMPLES[opcode]
    return Sample(operands, expected=expected)
