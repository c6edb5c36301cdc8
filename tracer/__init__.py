"""The frontend: what a Python function sees while it is traced, and how its calls reach the compiled code."""

from . import extents, functions, indexing  # noqa: F401  (they fill the tables that traced arrays look into)
from .calls.cache import CacheEntry, CacheInfo
from .calls.custom_call import custom_call
from .calls.devices import devices
from .calls.gpu_kernel import GpuKernel, kernel
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
from .device.array import DeviceArray
from .device.exchange import from_dlpack
from .device.placement import device, device_put, memory_stats
from .recording.device_arrays import MixedDevicesError
from .recording.errors import (
    CarryTypeError,
    ChangedCopyError,
    ConcretizationError,
    LeakedArrayError,
    StaticArgumentError,
    TracerError,
)
from .recording.pytree import register_pytree, tree_map

__all__ = [
    "BudgetExceededWarning", "CacheEntry", "CacheInfo", "CarryTypeError", "ChangedCopyError", "Compiled",
    "ConcretizationError", "DeviceArray", "GpuKernel", "LeakedArrayError", "Lowered", "MixedDevicesError",
    "RecompilationWarning", "ShapeDtype", "StaticArgumentError", "Traced", "TracerError", "associative_scan", "cond",
    "custom_call", "device", "device_put", "devices", "fori_loop", "from_dlpack", "host_call", "jit", "kernel", "map",
    "memory_stats", "register_pytree", "scan", "switch", "tree_map", "while_loop",
]  # fmt: skip
