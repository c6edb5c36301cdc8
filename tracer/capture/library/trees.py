"""Trees of SciPy's (`scipy.spatial.KDTree`) of points that the program computes: it has them made, and asked, by Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ...recording.operands import as_traced

_latest = threading.local()


class Tree:
    """Stands for a tree of this class while a function is traced."""

    def __init__(self, kind: type, apply: Callable[..., Any], data: Any, *args: Any, **kwargs: Any) -> None:
        self._kind, self._apply, self._options = kind, apply, (args, kwargs)
        self.data = as_traced(data).astype(np.float64)
        if self.data.ndim != 2:
            raise ValueError("data must be 2 dimensions")
        self.n, self.m = self.data.shape

    def query(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._apply(queried)(self._kind, self._options, self.data, x, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self._kind, name):
            raise AttributeError(f"'{self._kind.__name__}' object has no attribute '{name}'")
        raise NotImplementedError(
            f"{self._kind.__name__}.{name} of points that the program computes is not implemented: let the compiled code call "
            "a function that makes the tree, by phlox.host_call(function, result_shapes, points)"
        )


def _made(kind: type, options: tuple, data: np.ndarray) -> Any:
    """The tree; the latest one, where it is of the same points, as where a loop asks one tree."""
    known = getattr(_latest, "tree", None)
    if known is not None and known[:2] == (kind, repr(options)) and np.array_equal(known[2], data):
        return known[3]
    made = kind(data.copy(), *options[0], **options[1])
    _latest.tree = kind, repr(options), data.copy(), made
    return made


def queried(kind: type, options: tuple, data: np.ndarray, *args: Any, **kwargs: Any) -> Any:
    return _made(kind, options, data).query(*args, **kwargs)
