"""The frontend: what a Python function sees while it is traced, and how its calls reach the compiled code."""

from .cache import CacheEntry, CacheInfo
from .control_flow import cond, fori_loop, switch, while_loop
from .custom_call import custom_call
from .errors import CarryTypeError, ConcretizationError, LeakedArrayError, StaticArgumentError, TracerError
from .jit import jit
from .pytree import register_pytree, tree_map
from .scan import map, scan
from .signature import ShapeDtype
from .stages import Compiled, Lowered, Traced

__all__ = [
    "CacheEntry", "CacheInfo", "CarryTypeError", "Compiled", "ConcretizationError", "LeakedArrayError", "Lowered",
    "ShapeDtype", "StaticArgumentError", "Traced", "TracerError", "cond", "custom_call", "fori_loop", "jit", "map",
    "register_pytree", "scan", "switch", "tree_map", "while_loop",
]  # fmt: skip
