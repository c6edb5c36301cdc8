"""phlox on a device: a table of targets, the rows of `tests.bench.limits`, and the choices that were made by counting.

This package imports nothing by itself, since peers read variables of the environment when they are imported.
"""
