"""phlox beside NumPy, SciPy, JAX, Numba and the limits of the machine, row by row, with a target for each.

This package imports nothing by itself, since the number of threads has to be set before NumPy and the others are imported.
"""
