"""`phlox.random`: random numbers that are a function of a key and a counter (`docs/random_numbers.md`)."""

from .generator import Generator

Generator.__module__ = "phlox.random"

__all__ = ["Generator"]
