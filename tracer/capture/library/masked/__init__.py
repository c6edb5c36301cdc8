"""`numpy.ma` in terms of arrays: its own arrays are ndarrays, and cannot hold traced values.

The rules are those of `numpy.ma.core`: which elements an operation masks, and what stands where they are masked.
"""
