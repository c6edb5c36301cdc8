"""Backends by name: what a backend is, which ones there are, and how one is chosen.

The frontend reaches backends through this module only. A backend is loaded when it is first asked for, so one whose
libraries are missing costs nothing until then.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

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

    def as_text(self, form: str = "hlo") -> str:
        """The program that runs, as text: its optimized module, or in another form that the backend has.

        Raises ValueError, which names them, for a form that it has not.
        """
        ...

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of ``arguments``, ``results`` and ``temporaries``."""
        ...


class Backend(Protocol):
    """Makes executables of modules. ``pipeline`` are the passes that run before that, in this order.

    Results are the same from run to run, unless a backend has ``is_deterministic = False``: then where that is asked for.
    """

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

    __module__ = "phlox"  # where users find it


Loader = Callable[..., Backend]


class _Registered(NamedTuple):
    loader: Loader
    device_count: Callable[[], int] | None  # None: one device, and the loader takes no number


_loaders: dict[str, _Registered] = {}
_gpus: set[str] = set()
_loaded: dict[str, Backend] = {}  # by name; devices but the first one with their number: "cuda:1"
_lock = new_lock()
# Of a device, behind the colon: each has one name.
_NUMBER = re.compile("0|[1-9][0-9]*")
_MOST_DIGITS = 9  # of a number that some machine may have


class InForce:
    """A backend that is in force in some context, for as long as a context has it.

    How many there are is a word of memory: code that has no other way to find out looks whether it is 0.
    """

    count = ctypes.c_uint64(0)
    _alive: ClassVar[set[int]] = set()
    _counting = new_lock()

    def __init__(self, name: str) -> None:
        self.name = name
        with self._counting:
            self._alive.add(id(self))
            self.count.value = len(self._alive)

    def __del__(self) -> None:
        with self._counting:
            self._alive.discard(id(self))
            self.count.value = len(self._alive)


_in_force: ContextVar[InForce | None] = ContextVar("phlox backend in force", default=None)


def register_backend(name: str, loader: Loader, device_count: Callable[[], int] | None = None) -> None:
    """Make a backend known under this name.

    ``loader()`` returns the backend; it is called once, when the backend is first used, and raises ImportError or
    BackendUnavailableError where it cannot be. Where there may be several devices ``device_count()`` says how many there are,
    and ``loader(number)`` returns the backend of one of them, known as ``name:number``; the first one as ``name``, too.
    Registering a name again replaces it.
    """
    if not name or not name.isidentifier():
        raise ValueError(f"register_backend: the name must be an identifier, got {name!r}")
    with _lock:
        _loaders[name] = _Registered(loader, device_count)
        for known in [known for known in _loaded if known.partition(":")[0] == name]:
            del _loaded[known]


def get_backend(name: str | None = None) -> Backend:
    """The backend with this name, "cuda", or of one of its devices, "cuda:1".

    None means the one in force (`in_force`), else the environment variable PHLOX_BACKEND, or "cpu" where that is not set.

    Raises ValueError for an unknown name, BackendUnavailableError where the backend cannot be loaded, TypeError for no text.

    >>> get_backend("reference").name
    'reference'
    """
    require_name(name)
    asked = name if name is not None else backend_in_force() or os.environ.get("PHLOX_BACKEND") or DEFAULT_BACKEND
    backend = _loaded.get(asked.removesuffix(":0"))
    return backend if backend is not None else _load(asked, from_environment=name is None)


def require_name(name: Any, what: str = "a device") -> None:
    """Raise TypeError, which begins with ``what``, for what is neither a text nor None."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{what} is named by a text, such as 'cpu' or 'cuda:0'; {type(name).__name__} given")


def backend_in_force() -> str | None:
    """The name of the backend that is in force in this context for what names none; None where none is."""
    found = _in_force.get()
    return None if found is None else found.name


@contextmanager
def in_force(name: str) -> Iterator[None]:
    """Within, in this thread or task, the backend with this name is the one of what names none."""
    token = _in_force.set(InForce(name))
    try:
        yield
    finally:
        _in_force.reset(token)


def no_backend_in_force() -> list[tuple[str, int, int]]:
    """What memory has to hold where no context has a backend in force, as a fact about the world outside of a program."""
    return [("word", ctypes.addressof(InForce.count), 0)]


def compile_for_buffers(backend: Backend, module: hlo.Module) -> Executable:
    """As ``backend.compile``, for arrays that lie in its memory: a backend may have another form for those of the host."""
    return getattr(backend, "compile_for_buffers", backend.compile)(module)


def backend_name(backend: Backend) -> str:
    """The name under which a backend is loaded, with the number of its device: ``"cuda:0"``."""
    found = [name for name, loaded in list(_loaded.items()) if loaded is backend]
    found.sort(key=lambda name: name.partition(":")[0] != backend.name)  # others may stand for it
    name = found[0] if found else backend.name
    return name if ":" in name else f"{name}:0"


def devices_of(name: str) -> list[str]:
    """The names of a backend's devices. Raises as `get_backend` where it cannot be used, and for the name of a device."""
    get_backend(name)
    if name not in _loaders:
        raise ValueError(f"{name!r} names a device; its backend is {name.partition(':')[0]!r}")
    device_count = _loaders[name].device_count
    return [f"{name}:{number}" for number in range(1 if device_count is None else device_count())]


def _load(asked: str, from_environment: bool = False) -> Backend:
    name = asked.removesuffix(":0")
    with _lock:
        if name in _loaded:
            return _loaded[name]
        family, colon, number = asked.partition(":")
        origin = " (from the environment variable PHLOX_BACKEND)" if from_environment and name != DEFAULT_BACKEND else ""
        if family not in _loaders:
            raise ValueError(f"no backend is named {family!r}{origin}; known are {', '.join(_loaders)}")
        if colon and not _NUMBER.fullmatch(number):
            forms = f"{family!r}, the first device of {family}, or '{family}:0', '{family}:1' and so on"
            raise ValueError(f"no device is named {asked!r}{origin}; names are {forms}")
        try:
            loader, device_count = _loaders[family]
            count = 1 if device_count is None else device_count() if number else 0
            if count and number and (len(number) > _MOST_DIGITS or int(number) >= count):
                raise ValueError(f"no device is named {asked!r}{origin}; {family} has {count}, the first one is {family}:0")
            # Where there is no device the loader says why.
            backend = loader() if device_count is None else loader(int(number) if count else 0)
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
    """Every known backend with the reason why it cannot be used, None where it can. Loads them all.

    >>> available_backends()["cpu"] is None
    True
    """
    reasons: dict[str, str | None] = {}
    for name in list(_loaders):
        try:
            _load(name)
            reasons[name] = None
        except BackendUnavailableError as error:
            reasons[name] = str(error.__cause__)
    return reasons


def operation_support() -> dict[str, Callable[[str], str | None]]:
    """What backends do with operations, as `Backend.support` says it, by the backend's name, for those that can be used here.

    All GPU backends have one emitter, which needs no device to tell: they are "gpu" here, on every machine.
    """
    from .gpu.support import support  # when it is asked for

    found = {name: _load(name).support for name, reason in available_backends().items() if reason is None and name not in _gpus}
    names = [name for name in _loaders if name in found or name == "gpu"]
    return {name: support if name == "gpu" else found[name] for name in names}


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


def _load_gpu(name: str, number: int) -> Backend:
    # When it is asked for.
    from .gpu.backend import backend_of_driver
    from .gpu.errors import DriverUnavailableError

    try:
        return backend_of_driver(name, number)
    except DriverUnavailableError as error:
        raise BackendUnavailableError(str(error)) from error


def _count_gpus(name: str) -> int:
    from .gpu.backend import device_count  # when it is asked for

    return device_count(name)


def register_gpu(name: str) -> None:
    """Make the devices of a GPU driver known as backends, by its name in `gpu.drivers.available`."""
    register_backend(name, partial(_load_gpu, name), partial(_count_gpus, name))
    _gpus.add(name)


register_backend("cpu", _load_cpu)
register_backend("reference", _load_reference)
for _name in ("cuda", "rocm", "opencl", "gpu"):
    register_gpu(_name)
