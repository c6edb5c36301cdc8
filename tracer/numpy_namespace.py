"""`phlox.numpy`: NumPy's names, for code that prefers to be explicit.

Within a traced function these are the functions that traced arrays dispatch to anyway, and they return traced arrays
even where no argument is traced: ``zeros``, ``arange`` and the like become HLO in place of arrays made beforehand.
Outside of tracing they are NumPy's own.

Names that traced arrays do not answer to (see `gaps`) are not hidden: they are NumPy's functions and raise
NotImplementedError when they meet a traced array. Constants, dtypes and `newaxis` are NumPy's too.

>>> import numpy as np
>>> from phlox import jit
>>> from phlox.tracer import numpy_namespace as pnp
>>> @jit(backend="reference")
... def powers(x):
...     rows = pnp.zeros((3, len(x)))
...     for k in range(3):
...         rows[k] = x**k
...     return rows
>>> powers(np.array([2.0, 3.0]))
array([[1., 1.],
       [2., 3.],
       [4., 9.]])
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .functions import creation
from .functions.ufunc_calls import call_ufunc
from .recording.current_trace import current_trace
from .recording.dynamic_array import dynamic_arrays
from .recording.function_tables import FUNCTIONS, call_ufunc_method, gaps

__all__ = ["gaps", "indices"]


class TracedUfunc:
    """A ufunc that records itself while a function is traced, and is NumPy's otherwise."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc
        self.__name__, self.__doc__ = ufunc.__name__, ufunc.__doc__

    def __repr__(self) -> str:
        return f"<phlox ufunc '{self.__name__}'>"

    def __call__(self, *inputs: Any, **arguments: Any) -> Any:
        if current_trace() is None or dynamic_arrays(inputs):
            return self.ufunc(*inputs, **arguments)
        return call_ufunc(self.ufunc, inputs, **arguments)

    def _method(self, method: str, *inputs: Any, **arguments: Any) -> Any:
        if current_trace() is None or dynamic_arrays(inputs):
            return getattr(self.ufunc, method)(*inputs, **arguments)
        return call_ufunc_method(self.ufunc, method, *inputs, **arguments)

    def reduce(self, array: Any, *arguments: Any, **keywords: Any) -> Any:
        return self._method("reduce", array, *arguments, **keywords)

    def accumulate(self, array: Any, *arguments: Any, **keywords: Any) -> Any:
        return self._method("accumulate", array, *arguments, **keywords)

    def outer(self, first: Any, second: Any, **keywords: Any) -> Any:
        return self._method("outer", first, second, **keywords)

    def reduceat(self, array: Any, indices: Any, **keywords: Any) -> Any:
        return self._method("reduceat", array, indices, **keywords)

    def at(self, array: Any, index: Any, *operands: Any) -> None:
        return self._method("at", array, index, *operands)

    def __getattr__(self, name: str) -> Any:
        """What a ufunc says of itself: ``types``, ``signature``, ``resolve_dtypes``."""
        return getattr(self.ufunc, name)


def _dispatched(function: Callable, implementation: Callable) -> Callable:
    @functools.wraps(function)
    def dispatched(*arguments: Any, **keywords: Any) -> Any:
        if current_trace() is None or dynamic_arrays((*arguments, *keywords.values())):
            return function(*arguments, **keywords)
        return implementation(*arguments, **keywords)

    return dispatched


indices = _dispatched(np.indices, creation.indices)


class _Namespace:
    """The functions of a NumPy module, dispatched."""

    def __init__(self, module: Any) -> None:
        self.__name__ = module.__name__
        self.__dict__.update(_public(module))

    def __repr__(self) -> str:
        return f"<phlox.{self.__name__}>"


def _public(module: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in module.__all__:
        # Not getattr, which would import numpy.f2py and other submodules that NumPy loads when they are asked for.
        value = vars(module).get(name)
        if isinstance(value, np.ufunc):
            found[name] = TracedUfunc(value)
        elif callable(value) and not isinstance(value, type) and value in FUNCTIONS:
            found[name] = _dispatched(value, FUNCTIONS[value])
        elif value is not None:
            found[name] = value
    return found


def __getattr__(name: str) -> Any:
    """NumPy's submodules: ``random``, ``polynomial``, ``testing``."""
    if name in np.__all__:
        return getattr(np, name)
    raise AttributeError(f"module 'phlox.numpy' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


_own = dict(globals())
globals().update({name: value for name, value in _public(np).items() if name not in _own})
newaxis = None
linalg = _Namespace(np.linalg)
fft = _Namespace(np.fft)
__all__ += [name for name in globals() if not name.startswith("_") and name not in _own]
