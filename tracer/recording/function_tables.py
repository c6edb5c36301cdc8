"""The tables of what traced arrays answer to, and the list of what is missing.

`UFUNCS` maps each elementwise ufunc to its kernel, `CONTRACTIONS` and `FUNCTIONS` each other function of NumPy to its
implementation. `METHODS` has the methods of ndarray and ufunc that are not functions of NumPy, too: ``np.ufunc.__call__``,
``np.ndarray.__getitem__``, ``np.ndarray.astype``. The modules of ``functions/`` and ``indexing/`` fill the tables, and
`TracedArray` knows nothing else of these. `DYNAMIC` has functions and methods for arrays whose sizes are known at run time
only: what is not there these do not answer to. `MISSING` names what a function waits for where that is known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np


class Kernel(NamedTuple):
    """How a ufunc is written in HLO: ``emit(builder, *operands)`` on operands of equal dimensions, in the ufunc's loop types.

    ``identity(dtype)`` is the value that a reduction starts from; None where the ufunc is not associative. ``clears_flags``:
    whether the ufunc leaves nothing of errors in floating point for NumPy to find.
    """

    emit: Callable[..., Any]
    identity: Callable[[np.dtype], Any] | None = None
    clears_flags: bool = False


UFUNCS: dict[np.ufunc, Kernel] = {}
CONTRACTIONS: dict[np.ufunc, Callable] = {}  # matmul and the like, which are called as functions
FUNCTIONS: dict[Callable, Callable] = {}
METHODS: dict[Callable, Callable] = {}
DYNAMIC: dict[Callable, Callable] = {}
MISSING: dict[Callable, str] = {}
ATTRIBUTES: dict[str, Callable] = {}  # of ndarrays and numbers, by name: what gives the attribute of a traced array
PYTHON_OPERATORS: dict[np.ufunc, Callable] = {}  # on numbers of Python's own; called with the ufunc and the operands
SCALAR_OPERATORS: dict[np.ufunc, Callable] = {}  # on NumPy's scalars, where they do other things than on arrays
SEQUENCES: dict[type, Callable[[Any], Any]] = {}  # what makes an array of a value of this class, which is no list
# What makes an array of a list with an element of this class, which stands for others; in the dtype, if one is given.
ARRAYS_OF_LISTS: dict[type, Callable[[Any, Any], Any]] = {}
# What finds the kernels of ufuncs that are not NumPy's.
FIND_KERNELS: list[Callable[[np.ufunc], Kernel | None]] = []
CHOICES: list[Callable] = []  # what makes one of several values of its number and these: `Choice`, which stands above


def filling(table: dict[Any, Callable]) -> Callable[..., Callable[[Callable], Callable]]:
    """A decorator for functions that stand in the table under each of the keys that it is given."""

    def declared_for(*keys: Any) -> Callable[[Callable], Callable]:
        def declare(implementation: Callable) -> Callable:
            for key in keys:
                table[key] = implementation
            return implementation

        return declare

    return declared_for


# Decorators. `implements`: what these NumPy functions do with traced arrays, with their signature; `implements_method`: methods
# of ndarray or ufunc; `implements_dynamic`: both, of arrays whose sizes are known at run time only.
implements, implements_method, implements_dynamic = filling(FUNCTIONS), filling(METHODS), filling(DYNAMIC)


def dynamic_implementation(function: Callable) -> Callable:
    """The implementation for arrays whose sizes are known at run time only; NotImplementedError names it if there is none."""
    found = DYNAMIC.get(function)
    if found is not None:
        return found
    raise NotImplementedError(f"{name_of(function)} of an array whose size is known at run time only is not implemented")


def kernel(*ufuncs: np.ufunc, identity: Callable[[np.dtype], Any] | None = None) -> Callable[[Callable], Callable]:
    """Decorator: the function emits these ufuncs. ``identity`` is that of ufuncs for which NumPy names none."""

    def declare(emit: Callable) -> Callable:
        for ufunc in ufuncs:
            UFUNCS[ufunc] = Kernel(emit, identity if ufunc.identity is None else _own_identity(ufunc))
        return emit

    return declare


def _own_identity(ufunc: np.ufunc) -> Callable[[np.dtype], Any]:
    return lambda dtype: np.array(ufunc.identity).astype(dtype)[()]


def missing(needs: str, functions: Iterable[Callable]) -> None:
    """Record that these NumPy functions cannot be traced, for want of something."""
    for function in functions:
        MISSING[function] = needs


def name_of(function: Callable) -> str:
    """The function as a user spells it: ``np.linalg.norm``."""
    if isinstance(owner := getattr(function, "__objclass__", None), type):
        return f"{owner.__name__}.{function.__name__}"
    module = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is not function:
        module = module_of(function)
        if module is None:
            return function.__name__
    return f"{module.replace('numpy', 'np', 1)}.{function.__name__}"


def module_of(ufunc: np.ufunc) -> str | None:
    """The module that has the ufunc under its own name, the outermost public one if there are several; None for none.

    >>> module_of(np.sin), module_of(np.frompyfunc(len, 1, 1))
    ('numpy', None)
    """
    if ufunc not in _MODULES:
        own = ufunc.__name__
        names = [name for name, module in list(sys.modules.items()) if getattr(module, "__dict__", {}).get(own) is ufunc]
        names = [name for name in names if name != "__main__"]
        if not names:
            return None
        _MODULES[ufunc] = min(names, key=lambda name: ("._" in name, name.count("."), name))
    return _MODULES[ufunc]


_MODULES: dict[np.ufunc, str] = {}


def implementation(function: Callable) -> Callable:
    """The implementation of a NumPy function; raises NotImplementedError naming it if there is none."""
    found = FUNCTIONS.get(function)
    if found is not None:
        return found
    raise not_implemented(function)


def call_ufunc_method(ufunc: np.ufunc, name: str, *inputs: Any, **arguments: Any) -> Any:
    """``ufunc.<name>(*inputs, ...)`` on traced arrays."""
    return METHODS[getattr(np.ufunc, name)](ufunc, *inputs, **arguments)


def ufunc_kernel(ufunc: np.ufunc) -> Kernel:
    """The kernel of a ufunc; raises NotImplementedError naming it if there is none."""
    found = UFUNCS.get(ufunc)
    if found is not None:
        return found
    for find in FIND_KERNELS:
        kernel = find(ufunc)
        if kernel is not None:
            UFUNCS[ufunc] = kernel
            return kernel
    raise not_implemented(ufunc)


def not_implemented(function: Callable) -> NotImplementedError:
    needs = MISSING.get(function)
    because = f": it needs {needs}, which is not there yet" if needs else ""
    return NotImplementedError(
        f"{name_of(function)} is not implemented for traced arrays{because}. phlox.numpy.gaps() lists all gaps. The compiled "
        f"code can call the function itself: phlox.host_call({name_of(function)}, result_shapes, ...)"
    )


SPECIAL_KERNELS: dict[str, Kernel] = {}


def special(name: str) -> Callable[[Callable], Callable]:
    """Decorator: the function emits the ufunc ``scipy.special.<name>`` of real numbers."""

    def declare(emit: Callable) -> Callable:
        SPECIAL_KERNELS[name] = Kernel(emit)
        return emit

    return declare


def gaps() -> dict[str, str]:
    """The public NumPy functions that traced arrays do not answer to, each with what it needs where that is known.

    >>> "np.add" in gaps(), "np.einsum" in gaps()
    (False, False)
    """
    found: dict[str, str] = {}
    for module in (np, np.linalg, np.fft):
        for name in dir(module):
            function = getattr(module, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            if isinstance(function, np.ufunc):
                if function not in UFUNCS and function not in CONTRACTIONS:
                    found[name_of(function)] = MISSING.get(function, "")
            elif hasattr(function, "__wrapped__") or hasattr(function, "_implementation"):
                if function not in FUNCTIONS:
                    found[name_of(function)] = MISSING.get(function, "")
    return dict(sorted(found.items()))
