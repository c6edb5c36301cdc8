"""Finding out where a jitted function goes wrong: `nans` and `compare`."""

from .comparison import Comparison, compare
from .nans import nans

__all__ = ["Comparison", "compare", "nans"]
