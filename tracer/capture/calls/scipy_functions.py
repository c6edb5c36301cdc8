"""Functions of SciPy that are compiled, or ask for LAPACK's by their names, and what is done in their place for traced values.

SciPy is not imported for them: they are found by the module that they say they are of, and their names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...recording.operands import as_traced, first_traced
from ..library import distances, matrices, neighbourhoods, peaks, roots, signal_filters, splines, trees
from .scipy_by_host import BY_HOST, by_host
from .scipy_with_functions import with_functions
from .users_functions import captured

_Meaning = Callable[..., Any]


def meaning_of_scipy(function: Any, args: tuple, kwargs: dict[str, Any]) -> _Meaning | None:
    """What to call in the place of a function of SciPy's that is given traced values; None for others."""
    module = getattr(function, "__module__", None)
    if type(module) is not str or not module.startswith("scipy."):
        return None
    name = getattr(function, "__name__", "")
    found = _MEANINGS.get((module, name))
    if name in ("KDTree", "cKDTree") and isinstance(function, type):
        found = partial(trees.Tree, function, by_host)
    if found is None and name in BY_HOST.get(module, ()):
        found = by_host(function)
    if found is None and (meaning := with_functions(function, (module, name), args, kwargs)) is not None:
        return meaning
    if found is None or module not in _CALL_FUNCTIONS and first_traced((args, kwargs)) is None:
        return None
    return found


# What these are given are functions, which may give traced values.
_CALL_FUNCTIONS = frozenset({"scipy.optimize._zeros"})


def _followed(function: Callable, *first: Any) -> _Meaning:
    return lambda *args, **kwargs: captured(function)(*first, *args, **kwargs)


def _real(x: Any) -> Any:
    x = as_traced(x)
    if x.element_type.is_complex:
        raise TypeError("x must be a real sequence")
    return x


def _of_one_axis(name: str) -> _Meaning:
    transform, is_of_real = getattr(np.fft, name), name in ("rfft", "ihfft")

    def apply(
        x: Any, n: Any = None, axis: int = -1, norm: str | None = None, overwrite_x: bool = False, workers: Any = None,
        *, plan: Any = None,
    ) -> Any:  # fmt: skip
        return transform(_real(x) if is_of_real else as_traced(x), n, axis, norm)

    return apply


def _of_several_axes(name: str) -> _Meaning:
    transform, of_all = getattr(np.fft, name), None if name.endswith("n") else (-2, -1)
    is_of_real = name in ("rfft2", "rfftn")

    def apply(
        x: Any, s: Any = None, axes: Any = of_all, norm: str | None = None, overwrite_x: bool = False, workers: Any = None,
        *, plan: Any = None,
    ) -> Any:  # fmt: skip
        x = _real(x) if is_of_real else as_traced(x)
        if axes is None and s is not None:
            axes = range(x.ndim - len(s), x.ndim)
        return transform(x, s, axes, norm)

    return apply


_MEANINGS: dict[tuple[str, str | None], _Meaning] = {
    **{("scipy.fft._basic", name): _of_one_axis(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{
        ("scipy.fft._basic", prefix + suffix): _of_several_axes(prefix + suffix)
        for prefix in ("fft", "ifft", "rfft", "irfft")
        for suffix in "2n"
    },
    **{
        ("scipy.ndimage._nd_image", name): _followed(vars(neighbourhoods)[name])
        for name in (
            "correlate", "correlate1d", "min_or_max_filter", "min_or_max_filter1d", "rank_filter", "uniform_filter1d",
        )
    },
    ("scipy.ndimage._rank_filter_1d", "rank_filter"): _followed(neighbourhoods.rank_filter_of_a_line),
    **{
        ("scipy.signal._peak_finding_utils", "_" + name): _followed(vars(peaks)[name])
        for name in ("local_maxima_1d", "peak_prominences", "peak_widths", "select_by_peak_distance")
    },
    ("scipy.cluster._vq", "update_cluster_means"): _followed(distances.cluster_means),
    ("scipy.cluster._vq", "vq"): _followed(distances.nearest),
    ("scipy.interpolate._ppoly", "evaluate"): _followed(splines.evaluate),
    **{
        ("scipy.spatial._distance_pybind", f"{kind}dist_{name}"): _followed(distance, metric)
        for kind, distance in (("c", distances.between), ("p", distances.among))
        for name, metric in distances.METRICS.items()
    },
    ("scipy.spatial._distance_wrap", "to_squareform_from_vector_wrap"): _followed(distances.to_square),
    ("scipy.spatial._distance_wrap", "to_vector_from_squareform_wrap"): _followed(distances.to_line),
    ("scipy.optimize._zeros", "_bisect"): _followed(roots.bisect),
    ("scipy.optimize._zeros", "_brentq"): _followed(roots.brentq),
    ("scipy.signal._sigtools", "_linear_filter"): _followed(signal_filters.linear_filter),
    ("scipy.signal._sosfilt", "_sosfilt"): _followed(signal_filters.sections),
    ("scipy._lib.array_api_compat.numpy.linalg", "solve"): np.linalg.solve,
    **{
        (f"scipy.linalg.{module}", name): _followed(vars(matrices)[name])
        for module, names in {
            "_basic": "solve solve_banded solve_triangular inv det lstsq", "_misc": "norm", "_decomp": "eigvalsh",
            "_decomp_cholesky": "cholesky cho_factor cho_solve", "_decomp_svd": "svd svdvals", "_decomp_qr": "qr",
        }.items()
        for name in names.split()
    },
}  # fmt: skip
