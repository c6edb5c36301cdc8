"""Functions of SciPy whose work is done by compiled code that nothing of phlox's stands for: the program calls them.

What they return has a shape and a dtype that follow from those of their arguments; a call with other contents says which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...calls.host_call import call_when_run
from ...recording import pytree
from ...recording.array import TracedArray
from ...recording.callables import callable_name
from ...recording.errors import HINTS, ConcretizationError

# By the modules that they say they are of. Left out is what gives other shapes or dtypes for other contents (`eig`, `sqrtm`).
_NAMES = {
    "scipy.linalg._matfuncs": "expm cosm sinm tanm",
    "scipy.linalg._decomp_lu": "lu lu_factor lu_solve",
    "scipy.linalg._decomp": "eigh eigvals eigh_tridiagonal eigvalsh_tridiagonal hessenberg",
    "scipy.linalg._decomp_schur": "schur",
    "scipy.linalg._decomp_ldl": "ldl",
    "scipy.linalg._solvers": (
        "solve_continuous_are solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov solve_sylvester"
    ),
    "scipy.fft._realtransforms": "dct dctn dst dstn idct idctn idst idstn",
    "scipy.signal._signaltools": "convolve2d correlate2d medfilt medfilt2d resample_poly",
    "scipy.signal._upfirdn": "upfirdn",
    "scipy.ndimage._interpolation": "affine_transform map_coordinates rotate shift spline_filter spline_filter1d zoom",
    "scipy.ndimage._measurements": "label",
    "scipy.ndimage._morphology": (
        "binary_closing binary_dilation binary_erosion binary_fill_holes binary_opening binary_propagation "
        "distance_transform_bf distance_transform_cdt distance_transform_edt"
    ),
    "scipy.optimize._lsap": "linear_sum_assignment",
    "scipy.spatial._ckdtree": "query",
}
BY_HOST = {module: frozenset(names.split()) for module, names in _NAMES.items()}
# What some of these write their results to, if it is given.
_WRITTEN = ("output", "distances", "indices")


def by_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """What to call in the place of such a function."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(kwargs.get(name), TracedArray) for name in _WRITTEN):
            raise NotImplementedError(f"{callable_name(function)} that writes to an array that is given is not implemented")
        kwargs = {name: value for name, value in kwargs.items() if not name.startswith("overwrite_")}
        leaves, structure = pytree.flatten((args, kwargs))
        _require_known_sizes(
            leaves, function.__name__ == "zoom" or function.__name__ == "rotate" and kwargs.get("reshape", True)
        )
        examples, of_names = pytree.unflatten(structure, list(map(_example, leaves)))
        return call_when_run(function, function(*examples, **of_names), args, kwargs, has_effects=False)

    return apply


def _require_known_sizes(leaves: Sequence[Any], by_floats: bool) -> None:
    """Raises ConcretizationError for numbers that the program computes and sizes may depend on: integers, perhaps floats."""
    for leaf in leaves:
        if isinstance(leaf, TracedArray) and leaf.is_scalar and (by_floats or leaf.element_type.is_integer):
            raise ConcretizationError(leaf, "as a number that sizes of what SciPy returns may depend on", HINTS["range"])


def _example(leaf: Any) -> Any:
    """Something like what the leaf stands for: of matrices with as many rows as columns one that is easily factorized."""
    if not isinstance(leaf, TracedArray):
        return leaf
    if leaf.is_dynamic:
        raise NotImplementedError("SciPy's compiled functions of arrays whose sizes are known at run time only")
    if leaf.is_scalar:
        return leaf.run_time_type(1)
    example = np.ones(leaf.shape, leaf.dtype)
    if leaf.ndim >= 2 and leaf.shape[-1] == leaf.shape[-2]:
        example[...] = 2 * np.eye(leaf.shape[-1]) if example.dtype.kind != "b" else np.eye(leaf.shape[-1], dtype=bool)
    return example
