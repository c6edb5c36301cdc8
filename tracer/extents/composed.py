"""Functions that are written in terms of others, and need not know whether sizes are known while tracing."""

from __future__ import annotations

import numpy as np

from ..recording.function_tables import DYNAMIC, FUNCTIONS, implements_dynamic
from . import reductions  # noqa: F401  (np.max and np.min)

for _function in (
    np.common_type, np.cross, np.diff, np.ediff1d, np.fliplr, np.flipud, np.gradient, np.interp,
    np.linalg.cross, np.nancumprod, np.nancumsum, np.trapezoid, np.unwrap,
):  # fmt: skip
    implements_dynamic(_function)(FUNCTIONS[_function])

implements_dynamic(np.amax)(DYNAMIC[np.max])
implements_dynamic(np.amin)(DYNAMIC[np.min])
