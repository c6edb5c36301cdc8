"""PyTorch, CuPy and JAX: how each is given arrays, called and waited for; or why it is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Call = Callable[[], Any]
Wait = Callable[[Any], Any]


@dataclass(frozen=True)
class Peer:
    """library: the module. array: an array of its own, of an ndarray. compiled: of a function of its arrays, what is called."""

    name: str
    library: Any
    version: str
    array: Callable[[np.ndarray], Any]
    wait: Wait
    to_host: Callable[[Any], np.ndarray]
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function
    forget: Callable[[], None] = lambda: None

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Call:
        """A call of the function with the library and arrays of its own."""
        given = tuple(mapped(self.array, one) for one in arguments)
        compiled = self.compiled(partial(function, self.library))
        return lambda: compiled(*given)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The value with the function applied to the arrays that it consists of."""
    if isinstance(value, Mapping):
        return {key: mapped(function, one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(mapped(function, one) for one in value)
    return function(value) if isinstance(value, np.ndarray) else value


def find_peers(backend: str, is_processor: bool) -> tuple[dict[str, Peer], dict[str, str]]:
    """By name those that compute where this backend does, and why the others do not."""
    found, reasons = {}, {}
    for name, find in _FINDERS.items():
        try:
            found[name] = find(backend, is_processor)
        except ImportError as error:
            reasons[name] = f"{name} is not installed ({error})"
        except Exception as error:
            reasons[name] = f"{name} cannot be used: {type(error).__name__}: {error}".splitlines()[0][:200]
    return found, reasons


def _pytorch(backend: str, is_processor: bool) -> Peer:
    import torch

    if not is_processor and not torch.cuda.is_available():
        raise RuntimeError("it finds no GPU")
    place = "cpu" if is_processor else "cuda"

    def array(of: np.ndarray) -> Any:
        if of.dtype.name == "bfloat16":
            return torch.from_numpy(of.view(np.int16).copy()).view(torch.bfloat16).to(place)
        return torch.from_numpy(of.copy()).to(place)

    def to_host(of: Any) -> np.ndarray:
        return np.asarray((of.float() if of.dtype == torch.bfloat16 else of).cpu())

    def wait(result: Any) -> None:
        if not is_processor:
            torch.cuda.synchronize()

    forget = (lambda: None) if is_processor else torch.cuda.empty_cache
    return Peer("PyTorch", torch, torch.__version__, array, wait, to_host, forget=forget)


def _cupy(backend: str, is_processor: bool) -> Peer:
    if is_processor:
        raise RuntimeError("it has no processors")
    import cupy

    device = cupy.cuda.Device()
    device.use()

    def forget() -> None:
        cupy.get_default_memory_pool().free_all_blocks()

    wait = lambda result: device.synchronize()  # noqa: E731
    return Peer("CuPy", cupy, cupy.__version__, cupy.asarray, wait, cupy.asnumpy, forget=forget)


def _jax(backend: str, is_processor: bool) -> Peer:
    import jax
    import jax.numpy as jnp

    (device, *_) = jax.devices()
    if (device.platform == "cpu") != is_processor:
        raise RuntimeError(f"it computes on {device.platform}")
    return Peer("JAX", jax, jax.__version__, jnp.asarray, jax.block_until_ready, np.asarray, jax.jit)


_FINDERS = {"PyTorch": _pytorch, "CuPy": _cupy, "JAX": _jax}
