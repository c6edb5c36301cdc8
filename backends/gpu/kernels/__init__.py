"""Kernels, one file for each form. Importing them fills the table of emitters."""

from . import fourier, loop, reduction  # noqa: F401
