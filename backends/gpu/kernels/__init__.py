"""Kernels, one file for each form. Importing them fills the table of emitters."""

from . import (  # noqa: F401
    contraction,
    dynamic_update_slice,
    fourier,
    fusion,
    loop,
    nests,
    processor_regions,
    reduction,
    scan,
    scatter,
    sort,
    top_k,
    triangular,
    window,
)
