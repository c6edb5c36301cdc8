"""The records of all operations, one file a family; importing this package fills OPERATIONS."""

from . import (
    collectives,
    contractions,
    control_flow,
    convolution,
    data_movement,
    elementwise,
    fourier,
    indexing,
    linear_algebra,
    normalization,
    random_numbers,
    reductions,
    scan,
    sizes,
    sorting,
    structural,
    windows,
)

__all__ = [
    "collectives", "contractions", "control_flow", "convolution", "data_movement", "elementwise", "fourier", "indexing", "linear_algebra",
    "normalization", "random_numbers", "reductions", "scan", "sizes", "sorting", "structural", "windows",
]  # fmt: skip
