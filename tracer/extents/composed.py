"""Functions that are written in terms of others, and need not know whether sizes are known while tracing."""

from __future__ import annotations

import numpy as np

from ..functions import numerical, selection, shape_manipulation
from ..recording.function_tables import implements_dynamic

for _function, _implementation in (
    (np.common_type, selection.common_type),
    (np.ediff1d, numerical.ediff1d),
    (np.fliplr, shape_manipulation.fliplr),
    (np.flipud, shape_manipulation.flipud),
    (np.gradient, numerical.gradient),
    (np.interp, numerical.interp),
    (np.polyval, numerical.polyval),
    (np.trapezoid, numerical.trapezoid),
):
    implements_dynamic(_function)(_implementation)
