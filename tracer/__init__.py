"""The frontend: what a Python function sees while it is traced, and how its calls reach the compiled code."""

from . import extents, functions, indexing  # noqa: F401  (they fill the tables that traced arrays look into)
from .calls.cache import CacheEntry, CacheInfo
from .calls.custom_call import custom_call
from .calls.host_call import host_call
from .calls.jit import jit
from .calls.leaves import ShapeDtype
from .calls.recompilation import RecompilationWarning
from .calls.stages import Compiled, Lowered, Traced
from .calls.within_budget import BudgetExceededWarning
from .control_flow.associative_scan import associative_scan
from .control_flow.branches import cond, switch
from .control_flow.loops import fori_loop, while_loop
from .control_flow.scan import map, scan
from .recording.errors import CarryTypeError, ConcretizationError, LeakedArrayError, StaticArgumentError, TracerError
from .recording.pytree import register_pytree, tree_map

__all__ = [
    "BudgetExceededWarning", "CacheEntry", "CacheInfo", "CarryTypeError", "Compiled", "ConcretizationError",
    "LeakedArrayError", "Lowered", "RecompilationWarning", "ShapeDtype", "StaticArgumentError", "Traced", "TracerError",
    "associative_scan", "cond", "custom_call", "fori_loop", "host_call", "jit", "map", "register_pytree", "scan", "switch",
    "tree_map", "while_loop",
]  # fmt: skip
