"""Expansion: operations that a backend has no code for, written as operations that it has.

Each family has a file; a pass, ``expand``, applies the table. The reference backend runs the operations as they are.
"""

from . import (  # noqa: F401  (importing a family fills the table)
    bitcast_convert,
    collectives,
    concatenate,
    convolution,
    distributions,
    fourier,
    linear_algebra,
    normalization,
    ragged_dot,
    random_numbers,
    scaled_dot,
    scan,
    shuffle,
    sorting,
    structural,
)
from .table import EXPANSIONS, expand

__all__ = ["EXPANSIONS", "expand"]
