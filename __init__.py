"""phlox: a tracing compiler for NumPy."""

__version__ = "0.1.0"
