"""The records of all operations, one file a family; importing this package fills OPERATIONS."""

from . import (
    actual_sizes,
    asynchronous,
    collective_roots,
    collectives,
    collectives_exchange,
    contractions,
    control_flow,
    convolution,
    custom_call,
    data_movement,
    distributions,
    effects,
    elementwise,
    fourier,
    indexing,
    linear_algebra,
    normalization,
    ragged_dot,
    random_numbers,
    reductions,
    scaled_dot,
    scan,
    shuffle,
    sizes,
    sorting,
    structural,
    windows,
)

__all__ = [
    "actual_sizes", "asynchronous", "collective_roots", "collectives", "collectives_exchange", "contractions",
    "control_flow", "convolution", "custom_call", "data_movement", "distributions", "effects", "elementwise", "fourier",
    "indexing", "linear_algebra", "normalization", "ragged_dot", "random_numbers", "reductions", "scaled_dot", "scan",
    "shuffle", "sizes", "sorting", "structural", "windows",
]  # fmt: skip
