"""Kernels, one file for each form. Importing them fills the table of emitters."""

from . import contraction, dynamic_update_slice, fourier, loop, reduction, triangular  # noqa: F401
