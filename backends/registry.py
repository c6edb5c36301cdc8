"""Backends by name: what a backend is, which ones there are, and how one is chosen.

The frontend reaches backends through this module only. A backend is loaded when it is first asked for, so one whose
libraries are missing costs nothing until then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from .. import hlo
from ..runtime.locks import new_lock

if TYPE_CHECKING:
    from ..compile.pass_manager import Step
    from .device_memory import Buffer, DeviceMemory

DEFAULT_BACKEND = "cpu"


class Executable(Protocol):
    """A compiled module.

    ``module`` is the module that was compiled, before optimization.
    """

    module: hlo.Module

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """Run on one ndarray for each leaf of the entry parameters' shapes, in order.

        Each argument has its leaf's exact dtype and dimensions and is contiguous in the leaf's layout (a NumPy scalar will
        do for rank 0). Returns one ndarray (NumPy scalar for rank 0) for each leaf of the root's shape; the results share no
        memory with the arguments.
        """
        ...

    def execute(self, arguments: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """As a call, on buffers of the backend's memory: nothing is copied to the host or from it."""
        ...

    def as_text(self) -> str:
        """The program that runs, as text."""
        ...

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of ``arguments``, ``results`` and ``temporaries``."""
        ...


class Backend(Protocol):
    """Makes executables of modules. ``pipeline`` are the passes that run before that, in this order."""

    name: str
    memory: DeviceMemory
    pipeline: tuple[Step, ...]

    def compile(self, module: hlo.Module) -> Executable:
        """The module, ready to run.

        Raises NotImplementedError, with its name, for an operation that the backend lacks.
        """
        ...

    def support(self, opcode: str) -> str | None:
        """What the backend does with an operation: it has code of its own for it ("native"), writes it as others ("expanded"),
        calls back into Python ("host call"), or lacks it (None)."""
        ...


class BackendUnavailableError(RuntimeError):
    """A registered backend cannot be used here; the message says why."""


Loader = Callable[[], Backend]

_loaders: dict[str, Loader] = {}
_loaded: dict[str, Backend] = {}
_lock = new_lock()


def register_backend(name: str, loader: Loader) -> None:
    """Make a backend known under this name.

    ``loader()`` returns the backend; it is called once, when the backend is first used, and raises ImportError or
    BackendUnavailableError where it cannot be. Registering a name again replaces it.
    """
    if not name or not name.isidentifier():
        raise ValueError(f"register_backend: the name must be an identifier, got {name!r}")
    with _lock:
        _loaders[name] = loader
        _loaded.pop(name, None)


def get_backend(name: str | None = None) -> Backend:
    """The backend with this name; None means the environment variable PHLOX_BACKEND, or "cpu" where that is not set.

    Raises ValueError for an unknown name and BackendUnavailableError where the backend cannot be loaded.

    >>> get_backend("reference").name
    'reference'
    """
    asked = name if name is not None else os.environ.get("PHLOX_BACKEND") or DEFAULT_BACKEND
    backend = _loaded.get(asked)
    return backend if backend is not None else _load(asked, from_environment=name is None)


def _load(name: str, from_environment: bool = False) -> Backend:
    with _lock:
        if name in _loaded:
            return _loaded[name]
        if name not in _loaders:
            origin = " (from the environment variable PHLOX_BACKEND)" if from_environment and name != DEFAULT_BACKEND else ""
            raise ValueError(f"no backend is named {name!r}{origin}; known are {', '.join(_loaders)}")
        try:
            backend = _loaders[name]()
        except (ImportError, BackendUnavailableError) as error:
            raise BackendUnavailableError(f"backend {name} cannot be used: {error}") from error
        _loaded[name] = backend
        return backend


@contextmanager
def in_place_of(name: str, backend: Backend) -> Iterator[None]:
    """Within, another backend stands under a name: for debugging."""
    replaced = get_backend(name)
    _loaded[name] = backend
    try:
        yield
    finally:
        _loaded[name] = replaced


def available_backends() -> dict[str, str | None]:
    """Every known backend with the reason why it cannot be used, None where it can. Loads them all."""
    reasons: dict[str, str | None] = {}
    for name in list(_loaders):
        try:
            _load(name)
            reasons[name] = None
        except BackendUnavailableError as error:
            reasons[name] = str(error.__cause__)
    return reasons


def make_callable_type(base: type) -> type:
    """A subclass of ``base`` whose instances are called natively once an entry is installed on them.

    ``base`` defines ``call_in_python(self, *args, **kwargs)``, which takes every call that native code does not. Where the
    native call cannot be had (see `native_call_unavailable`) it takes all calls.
    """
    if native_call_unavailable() is None:
        from .cpu.call import make_vectorcall_type  # which imports llvmlite

        return make_vectorcall_type(base)

    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.call_in_python(*args, **kwargs)

    return type(base.__name__, (base,), {"__module__": base.__module__, "__doc__": base.__doc__, "__call__": call})


def native_call_unavailable() -> str | None:
    """Why jitted functions cannot be called natively in this interpreter; None where they can."""
    try:
        from .cpu.call import unsupported_reason  # which imports llvmlite, and that may be missing
    except ImportError as error:
        return str(error)
    return unsupported_reason()


def threads_unavailable() -> str | None:
    """Why compiled code runs in the thread that calls it alone, on this system; None where others help."""
    try:
        from .cpu.thread_pool import unsupported_reason  # which imports llvmlite, and that may be missing
    except ImportError as error:
        return str(error)
    return unsupported_reason()


def call_signature_types() -> ModuleType | None:
    """The module with CallSignature and the guards that it is made of; None where calls cannot be native."""
    if native_call_unavailable() is not None:
        return None
    from .cpu import call  # which imports llvmlite

    return call


def remove_native_entries(instance: Any) -> None:
    """Send all further calls of an instance of `make_callable_type`'s types to its ``call_in_python``."""
    if native_call_unavailable() is None:
        from .cpu.call import remove_entries  # which imports llvmlite

        remove_entries(instance)


def _load_reference() -> Backend:
    from .reference.backend import ReferenceBackend  # when it is asked for

    return ReferenceBackend()


def _load_cpu() -> Backend:
    from .cpu.backend import CpuBackend  # when it is asked for

    return CpuBackend()


def _load_gpu(name: str) -> Callable[[], Backend]:
    def load() -> Backend:
        # When it is asked for.
        from .gpu.backend import backend_of_driver
        from .gpu.errors import DriverUnavailableError

        try:
            return backend_of_driver(name)
        except DriverUnavailableError as error:
            raise BackendUnavailableError(str(error)) from error

    return load


register_backend("cpu", _load_cpu)
register_backend("reference", _load_reference)
for _name in ("cuda", "rocm", "opencl", "gpu"):
    register_backend(_name, _load_gpu(_name))
