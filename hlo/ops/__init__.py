"""The records of all operations, one file a family; importing this package fills OPERATIONS."""

from . import contractions, control_flow, data_movement, elementwise, reductions, structural

__all__ = ["contractions", "control_flow", "data_movement", "elementwise", "reductions", "structural"]
