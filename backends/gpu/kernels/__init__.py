"""Kernels, one file for each form. Importing them fills the table of emitters."""

from . import contraction, dynamic_update_slice, loop, reduction, scan, scatter, sort, top_k, window  # noqa: F401
