"""ndarray's methods, each routed to what the table says that it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .function_tables import ATTRIBUTES, not_implemented


def _routed(method: Callable) -> Callable:
    """What the table has for the method, or else for NumPy's function of its name."""
    function = getattr(np, method.__name__, method)

    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        found = self.implementation_of(method, function)
        if found is None:
            raise not_implemented(function)
        return found(self, *arguments, **keywords)

    call.__name__ = method.__name__
    call.__doc__ = f"As `numpy.ndarray.{method.__name__}`."
    return call


class ArrayMethods:
    """ndarray's methods; ``functions/`` says what they do."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in ATTRIBUTES and hasattr(self.run_time_type, name):
            return ATTRIBUTES[name](self)
        if not name.startswith("_") and hasattr(np.ndarray, name):
            if name == "ctypes":  # nobody asks whether arrays have it
                raise NotImplementedError("ndarray.ctypes: where an array lies is known when the program runs only")
            raise AttributeError(f"ndarray.{name} is not there for traced arrays", name=name, obj=self)
        raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'", name=name, obj=self)

    @property
    def flat(self) -> Any:
        return ATTRIBUTES["flat"](self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    all = _routed(np.ndarray.all)
    any = _routed(np.ndarray.any)
    argmax = _routed(np.ndarray.argmax)
    argmin = _routed(np.ndarray.argmin)
    argpartition = _routed(np.ndarray.argpartition)
    argsort = _routed(np.ndarray.argsort)
    astype = _routed(np.ndarray.astype)
    byteswap = _routed(np.ndarray.byteswap)
    choose = _routed(np.ndarray.choose)
    clip = _routed(np.ndarray.clip)
    item = _routed(np.ndarray.item)
    tobytes = _routed(np.ndarray.tobytes)
    tolist = _routed(np.ndarray.tolist)
    compress = _routed(np.ndarray.compress)
    conj = _routed(np.ndarray.conj)
    conjugate = _routed(np.ndarray.conjugate)
    copy = _routed(np.ndarray.copy)
    cumprod = _routed(np.ndarray.cumprod)
    cumsum = _routed(np.ndarray.cumsum)
    diagonal = _routed(np.ndarray.diagonal)
    dot = _routed(np.ndarray.dot)
    fill = _routed(np.ndarray.fill)
    flatten = _routed(np.ndarray.flatten)
    getfield = _routed(np.ndarray.getfield)
    max = _routed(np.ndarray.max)
    mean = _routed(np.ndarray.mean)
    min = _routed(np.ndarray.min)
    nonzero = _routed(np.ndarray.nonzero)
    partition = _routed(np.ndarray.partition)
    prod = _routed(np.ndarray.prod)
    put = _routed(np.ndarray.put)
    ravel = _routed(np.ndarray.ravel)
    repeat = _routed(np.ndarray.repeat)
    reshape = _routed(np.ndarray.reshape)
    resize = _routed(np.ndarray.resize)
    round = _routed(np.ndarray.round)
    searchsorted = _routed(np.ndarray.searchsorted)
    setfield = _routed(np.ndarray.setfield)
    setflags = _routed(np.ndarray.setflags)
    sort = _routed(np.ndarray.sort)
    squeeze = _routed(np.ndarray.squeeze)
    std = _routed(np.ndarray.std)
    sum = _routed(np.ndarray.sum)
    swapaxes = _routed(np.ndarray.swapaxes)
    take = _routed(np.ndarray.take)
    to_device = _routed(np.ndarray.to_device)
    trace = _routed(np.ndarray.trace)
    transpose = _routed(np.ndarray.transpose)
    var = _routed(np.ndarray.var)
    view = _routed(np.ndarray.view)
