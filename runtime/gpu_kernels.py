"""Kernels of users in programs: custom-calls that hold the code of a kernel for GPUs, and how it is launched.

All of it stands in the ``backend_config`` of the call, a JSON object, so the text of a program is complete.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..hlo.attributes import quoted
from ..hlo.shape import AnyShape
from .call_attributes import call_attributes
from .custom_calls import register_family

KERNEL_TARGET = "phlox.gpu.kernel"
ANY_GPU = "llvm"  # LLVM assembly that is code for each family
CODES = (ANY_GPU, "cuda", "rocm", "opencl")


@dataclass(frozen=True, eq=False)
class KernelCall:
    """What a program says of a kernel: the name of its function, its launch, and its code by the name of the backend."""

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    codes: Mapping[str, str | bytes]

    def as_config(self) -> str:
        """The ``backend_config``, as HLO text spells it.

        >>> call = KernelCall("f", (2, 1, 1), (64, 1, 1), 0, {"opencl": b"code"})
        >>> kernel_call(call.as_config()).codes
        {'opencl': b'code'}
        """
        codes = {name: code if isinstance(code, str) else _encoded(code) for name, code in self.codes.items()}
        sizes = {"grid": self.grid, "block": self.block, "shared_bytes": self.shared_bytes}
        return quoted(json.dumps({"entry": self.entry, **sizes, "codes": codes}))

    def code_for(self, backend: str) -> str | bytes:
        """The code for a backend. Raises NotImplementedError where there is none."""
        found = self.codes.get(backend, self.codes.get(ANY_GPU))
        if found is None:
            raise NotImplementedError(f"the kernel {self.entry!r} has no code for {backend}; it has some for {self.families}")
        return found

    @property
    def families(self) -> str:
        """The backends that it has code for, in words."""
        return "every GPU" if ANY_GPU in self.codes else ", ".join(self.codes)


def kernel_call(config: str) -> KernelCall:
    """What the ``backend_config`` of a kernel's call says. Raises ValueError where it is another text."""
    given = call_attributes(config)
    try:
        codes = {name: code if isinstance(code, str) else _decoded(code) for name, code in given["codes"].items()}
        grid, block = (_sizes(given[name]) for name in ("grid", "block"))
        return KernelCall(str(given["entry"]), grid, block, int(given["shared_bytes"]), codes)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"custom-call to {KERNEL_TARGET!r}: backend_config does not describe a kernel: {error!r}") from None


def _sizes(given: Any) -> tuple[int, int, int]:
    x, y, z = map(int, given)
    return x, y, z


def _encoded(code: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(code).decode("ascii")}


def _decoded(code: Mapping[str, str]) -> bytes:
    return base64.b64decode(code["base64"], validate=True)


class _OnGpusAlone:
    """The kernel, where a backend asks the host to run it."""

    def __repr__(self) -> str:
        return "a kernel for GPUs"

    def prepared(self, operand_shapes: Sequence[AnyShape], shape: AnyShape, config: str) -> Callable[[tuple[Any, ...]], Any]:
        call = kernel_call(config)
        raise NotImplementedError(
            f"the kernel {call.entry!r} has code for {call.families}, and runs on GPUs alone: name the backend, as in "
            'jit(f, backend="gpu") or with phlox.device("cuda")'
        )


def _find(name: str) -> _OnGpusAlone | None:
    return _OnGpusAlone() if name == KERNEL_TARGET else None


register_family(KERNEL_TARGET, _find)
