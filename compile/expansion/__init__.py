"""Expansion: operations that a backend has no code for, written as operations that it may have.

Each family has a file; the pass ``expand`` of a backend applies the table wherever the backend says that it has no code. An
expansion goes one step towards what is simpler or smaller, and the backend is asked again about what has come of it; where
there is no such step the instruction stays, for the backend to refuse.
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
from .table import EXPANSIONS, expanded, expansion_pass, support_of

__all__ = ["EXPANSIONS", "expanded", "expansion_pass", "support_of"]
