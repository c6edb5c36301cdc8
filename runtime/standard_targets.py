"""Custom-call targets that programs dumped by JAX and XLA contain, and those of np.linalg, besides what users register.

Source: the custom calls that JAX's lowering rules and XLA's frontends make (``jax/_src/interpreters/mlir.py``,
``xla/service/custom_call_sharding_helper.h``, ``xla/hlo/builder/lib/approx_topk.cc``, ``xla/service/topk_rewriter.cc``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..hlo import evaluate_operation
from ..hlo.ops.known_calls import ALLOCATE, COMPRESS, IDENTITY_TARGETS
from .custom_calls import PythonTarget, Target, register_family
from .gpu_solvers import find_gpu_solver
from .lapack import find_lapack
from .numpy_functions import find_numpy

# Python functions of the process that made the dump, which the text names by a number or an address of that process only.
_CALLBACKS = frozenset({
    "xla_ffi_partitioned_python_cpu_callback", "xla_ffi_python_cpu_callback", "xla_ffi_python_gpu_callback",
    "xla_python_cpu_callback", "xla_python_gpu_callback",
})  # fmt: skip
_FORMS_OF_APPROXIMATION = frozenset({"ApproxTopK", "PartialReduce"})


def _identity(x: Any) -> Any:
    return x


def top_k(x: np.ndarray, *, shape: Any) -> tuple[np.ndarray, np.ndarray]:
    """The largest elements along the last dimension, and their indices, as the operation ``topk`` gives them."""
    values, indices = evaluate_operation("topk", x, k=shape.elements[0].dimensions[-1])
    return values, indices.astype(shape.elements[1].dtype)


def compress(mask: np.ndarray, values: np.ndarray | None = None) -> np.ndarray:
    """The selected elements, or the positions of these, and then zeros."""
    selected = np.flatnonzero(mask).astype(np.int64) if values is None else values[mask]
    result = np.zeros(mask.shape + selected.shape[1:], selected.dtype)
    result[: len(selected)] = selected
    return result


def allocated(*, shape: Any) -> np.ndarray:
    """Any elements: zeros, so that what runs here does the same each time."""
    return np.zeros(shape.dimensions, shape.dtype)


def _find_standard(name: str) -> Target | None:
    if name in IDENTITY_TARGETS:
        return PythonTarget(name, _identity)
    if name == ALLOCATE:
        return PythonTarget(name, allocated)
    if name == COMPRESS:
        return PythonTarget(name, compress)
    if name in ("TopK", "mhlo.topk"):
        return PythonTarget(name, top_k)
    if name in _CALLBACKS:
        raise NotImplementedError(
            f"custom-call to {name!r}: the program calls a Python function of the process that dumped it, of which the text "
            f"holds no more than a number; register what is to be called with phlox.register_custom_call({name!r}, function)"
        )
    if name in _FORMS_OF_APPROXIMATION:
        raise NotImplementedError(
            f"custom-call to {name!r}: the approximation of XLA's backends is not implemented; dump the program before "
            "it is compiled for one of them, or use an exact top_k"
        )
    return None


register_family("lapack_", find_lapack)
register_family("cu", find_gpu_solver)
register_family("hip", find_gpu_solver)
register_family("numpy.", find_numpy)
register_family("", _find_standard)
