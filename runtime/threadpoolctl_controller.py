"""What threadpoolctl sees of the threads of compiled code, where it is installed.

threadpoolctl asks controllers, each of which belongs to a shared library that is loaded; the one that stands for compiled code
is llvmlite's. The controller is registered when threadpoolctl is imported, by whoever does that.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import util
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from .thread_count import set_num_threads, thread_limit

_NAME = "threadpoolctl"


def register_when_imported() -> None:
    """Register the controller, now or when threadpoolctl is imported."""
    module = sys.modules.get(_NAME)
    if module is not None:
        _register(module)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _register(threadpoolctl: ModuleType) -> None:
    register, base = getattr(threadpoolctl, "register", None), getattr(threadpoolctl, "LibController", None)
    if register is None or base is None:  # versions before 3.2
        return

    class PhloxController(base):
        """The threads of compiled code."""

        user_api = internal_api = "phlox"
        filename_prefixes = ("libllvmlite", "llvmlite")

        def get_num_threads(self) -> int:
            return thread_limit().value

        def set_num_threads(self, num_threads: int) -> None:
            set_num_threads(num_threads)

        def get_version(self) -> str | None:
            from importlib import metadata  # here, since it loads slowly

            try:
                return metadata.version("phlox")
            except metadata.PackageNotFoundError:
                return None

    register(PhloxController)


class _Finder(MetaPathFinder):
    """Lets the others find threadpoolctl, once, and registers the controller when it has been loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _NAME:
            return None
        sys.meta_path.remove(self)
        spec = util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _RegisteringLoader(spec.loader)
        return spec


class _RegisteringLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        _register(module)
