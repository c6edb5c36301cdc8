"""What cannot be traced, and the operation that each function waits for."""

from __future__ import annotations

import numpy as np

from ..dispatch import missing


def _functions(names: str, module: object = np) -> list:
    return [getattr(module, name) for name in names.split() if hasattr(module, name)]


missing(
    "the operation sort",
    _functions(
        "sort argsort lexsort partition argpartition sort_complex median nanmedian percentile nanpercentile "
        "quantile nanquantile "
        "digitize searchsorted"
    ),
)
missing(
    "the operation gather",
    _functions("take take_along_axis choose compress extract delete insert unravel_index ravel_multi_index"),
)
missing("the operation scatter", _functions("put put_along_axis place bincount histogram histogram2d histogramdd"))
missing(
    "shapes that depend on contents",
    _functions(
        "unique unique_all unique_counts unique_inverse unique_values nonzero argwhere flatnonzero intersect1d "
        "setdiff1d setxor1d union1d "
        "trim_zeros"
    ),
)
missing(
    "the operation fft", _functions("fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn", np.fft)
)
missing("the operations cholesky and triangular-solve", _functions("cholesky solve inv det slogdet", np.linalg))
missing(
    "a decomposition (LAPACK) as custom call",
    _functions("eig eigh eigvals eigvalsh svd svdvals qr lstsq pinv matrix_rank cond tensorinv tensorsolve", np.linalg),
)
missing("arrays of objects or dates", _functions("isnat"))
