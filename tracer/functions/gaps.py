"""What cannot be traced, and the operation that each function waits for."""

from __future__ import annotations

import numpy as np

from ..recording.function_tables import missing


def _functions(names: str, module: object = np) -> list:
    return [getattr(module, name) for name in names.split() if hasattr(module, name)]


missing(
    "a decomposition (LAPACK) as custom call",
    _functions(
        "eig eigvals lstsq matrix_rank cond tensorinv tensorsolve",
        np.linalg,
    ),
)
missing("arrays of objects or dates", _functions("isnat"))
