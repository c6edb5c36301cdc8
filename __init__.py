"""phlox: a tracing compiler for NumPy.

Decorate a NumPy function with `jit`: it is recorded once for each shape and dtype as XLA's HLO, compiled with LLVM to
native code, and from then on called like the NumPy function that it was.

>>> import numpy as np
>>> from phlox import jit
>>> @jit
... def norm(x):
...     return np.sqrt(np.sum(x * x))
>>> norm(np.array([3.0, 4.0]))
np.float64(5.0)
"""

import gc as _gc
import sys as _sys

# What modules hold stays: the interpreter would spend an eighth of the time on looking for garbage in it.
_looks_for_garbage = _gc.isenabled()
_gc.disable()
try:
    from . import client, debug, gpu
    from .backends.loading import load_hlo
    from .backends.registry import BackendUnavailableError, available_backends
    from .debug.kernels import profile_as_asked as _profile_as_asked
    from .runtime import load_custom_calls, register_custom_call
    from .runtime.config import config
    from .tracer import (
        BudgetExceededWarning,
        CarryTypeError,
        ChangedCopyError,
        ConcretizationError,
        DeviceArray,
        LeakedArrayError,
        MixedDevicesError,
        RecompilationWarning,
        ShapeDtype,
        StaticArgumentError,
        TracerError,
        associative_scan,
        cond,
        custom_call,
        device,
        device_put,
        devices,
        fori_loop,
        from_dlpack,
        host_call,
        jit,
        map,
        memory_stats,
        register_pytree,
        scan,
        switch,
        tree_map,
        while_loop,
    )
    from .tracer import numpy_namespace as numpy
    from .tracer import random as random
finally:
    if not _gc.get_freeze_count():
        _gc.freeze()
        _gc.unfreeze()  # into the oldest generation, without a look at it
    if _looks_for_garbage:
        _gc.enable()

# So that ``import phlox.numpy`` works: a file of that name would shadow NumPy for whoever runs Python in this folder.
_sys.modules[__name__ + ".numpy"], _sys.modules[__name__ + ".random"] = numpy, random

__version__ = "0.1.0"

__all__ = [
    "BackendUnavailableError",
    "BudgetExceededWarning",
    "CarryTypeError",
    "ChangedCopyError",
    "ConcretizationError",
    "DeviceArray",
    "LeakedArrayError",
    "MixedDevicesError",
    "RecompilationWarning",
    "ShapeDtype",
    "StaticArgumentError",
    "TracerError",
    "associative_scan",
    "available_backends",
    "client",
    "cond",
    "config",
    "custom_call",
    "debug",
    "device",
    "device_put",
    "devices",
    "fori_loop",
    "from_dlpack",
    "gpu",
    "host_call",
    "jit",
    "load_custom_calls",
    "load_hlo",
    "map",
    "memory_stats",
    "numpy",
    "random",
    "register_custom_call",
    "register_pytree",
    "scan",
    "switch",
    "tree_map",
    "while_loop",
]

_profile_as_asked()
