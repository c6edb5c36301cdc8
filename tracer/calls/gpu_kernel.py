"""Kernels of users for GPUs, as functions that traced functions call."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...runtime.gpu_kernels import KERNEL_TARGET, KernelCall
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.operands import as_traced
from .jit import jit
from .leaves import ShapeDtype

_MOST = (1 << 31) - 1  # blocks or threads along a dimension


class GpuKernel:
    """A kernel as a function of arrays; made by `kernel`."""

    def __init__(
        self, entry: str, result: Any, grid: Any, block: Any, shared_bytes: Any, codes: dict[str, Any], has_side_effect: bool
    ) -> None:
        self.entry, self.result, self.grid, self.block, self.shared_bytes = entry, result, grid, block, shared_bytes
        self.codes, self.has_side_effect = codes, has_side_effect
        self._compiled = jit(lambda *arrays: self._record(arrays), control_flow="trace")

    def __repr__(self) -> str:
        return f"<kernel {self.entry}, with code for {', '.join(self.codes)}>"

    def __call__(self, *arrays: Any) -> Any:
        """The results of the kernel, of these arrays."""
        return self._compiled(*arrays) if current_trace() is None else self._record(arrays)

    def _record(self, arrays: Sequence[Any]) -> Any:
        trace = current_trace()
        assert trace is not None
        operands = [as_traced(array).instruction(trace) for array in arrays]
        given = [ShapeDtype(operand.shape.dimensions, operand.shape.dtype) for operand in operands]
        described = _of_arguments(self.result, given)
        shapes = [self._shape(one) for one in (described if isinstance(described, list) else [described])]
        call = KernelCall(
            self.entry,
            self._sizes("grid", _of_arguments(self.grid, given), 0),
            self._sizes("block", _of_arguments(self.block, given), 1),
            self._whole_number("shared_bytes", _of_arguments(self.shared_bytes, given), 0),
            {name: self._code(name, _of_arguments(code, given)) for name, code in self.codes.items()},
        )
        recorded = hlo.custom_call(
            *operands,
            shape=hlo.TupleShape(tuple(shapes)) if isinstance(described, list) else shapes[0],
            custom_call_target=KERNEL_TARGET,
            backend_config=call.as_config(),
            custom_call_has_side_effect=self.has_side_effect,
        )
        if not isinstance(described, list):
            return TracedArray.from_instruction(trace, recorded)
        elements = [hlo.get_tuple_element(recorded, number) for number in range(len(shapes))]
        return tuple([TracedArray.from_instruction(trace, element) for element in elements])

    # --- what the user says ---

    def _shape(self, described: Any) -> hlo.Shape:
        if isinstance(described, hlo.Shape):
            return described.without_layout()
        dtype, shape = getattr(described, "dtype", None), getattr(described, "shape", None)
        if isinstance(described, tuple) and len(described) == 2:
            dtype, shape = described
        try:
            sizes = (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))
            return hlo.Shape(hlo.element_type_of(np.dtype(dtype)), sizes)
        except TypeError:
            raise TypeError(
                f"the kernel {self.entry!r}: a result is a phlox.hlo.Shape, a pair (dtype, shape), or anything with a shape "
                f"and a dtype; several are a list of such; got {described!r}"
            ) from None

    def _sizes(self, name: str, given: Any, least: int) -> tuple[int, int, int]:
        sizes = tuple(given) if isinstance(given, tuple | list) else (given,)
        if not 1 <= len(sizes) <= 3:
            raise ValueError(f"the kernel {self.entry!r}: {name} has one to three sizes, got {given!r}")
        x, y, z = [self._whole_number(name, size, least) for size in sizes] + [1] * (3 - len(sizes))
        return x, y, z

    def _whole_number(self, name: str, given: Any, least: int) -> int:
        try:
            number = operator.index(given)
        except TypeError:
            raise TypeError(f"the kernel {self.entry!r}: {name} requires integers, got {given!r}") from None
        if not least <= number <= _MOST:
            raise ValueError(f"the kernel {self.entry!r}: {name} is between {least} and {_MOST:,}, got {number:,}")
        return number

    def _code(self, name: str, code: Any) -> str | bytes:
        if not isinstance(code, str | bytes) or not code:
            raise TypeError(f"the kernel {self.entry!r}: {name} is text or bytes of code, got {code!r}")
        if name == "llvm" and isinstance(code, bytes):
            raise TypeError(f"the kernel {self.entry!r}: llvm is LLVM assembly as text, got bytes")
        return code


def _of_arguments(given: Any, arguments: Sequence[ShapeDtype]) -> Any:
    """What was given, or what it makes of the arguments' shapes and dtypes where it is a function."""
    is_function = callable(given) and not isinstance(given, type) and not hasattr(given, "dtype")
    return given(*arguments) if is_function else given


def kernel(
    entry: str,
    *,
    result: Any,
    grid: Any,
    block: Any,
    shared_bytes: Any = 0,
    llvm: str | Callable[..., str] | None = None,
    cuda: str | bytes | Callable[..., str | bytes] | None = None,
    rocm: str | bytes | Callable[..., str | bytes] | None = None,
    opencl: str | bytes | Callable[..., str | bytes] | None = None,
    has_side_effect: bool = False,
) -> GpuKernel:
    """A function of arrays that runs a kernel of yours on a GPU, for jitted functions and for arrays on devices.

    entry: the name of the kernel in its code. Its arguments are pointers: to the arrays that the function is given, and then to
        its results, all row-major and without gaps; a scalar is an array of one element. It writes every element of its
        results, and none of its arguments.
    result: what the function returns: a `phlox.hlo.Shape`, a pair ``(dtype, shape)``, or anything with a ``shape`` and a
        ``dtype``; or a list of such, for a tuple of arrays. grid, block: how many blocks run it, of how many threads: a number,
        or a tuple of up to three. shared_bytes: memory that the threads of a block have in common: on CUDA and ROCm dynamic
        shared memory, in OpenCL one more argument, the last one, a pointer to local memory.
    llvm: the code for all GPUs, LLVM assembly of a function ``void @entry(ptr, ...)``, which asks for what differs between them
        by ``i32 @phlox.thread.x()``, ``@phlox.block.x()`` (the index of the thread in its block, and of the block),
        ``@phlox.threads.x()``, ``@phlox.blocks.x()`` (how many there are), likewise ``y`` and ``z``,
        ``void @phlox.barrier()``, and ``ptr @phlox.shared()``, the ``shared_bytes``. cuda, rocm, opencl: the code for one
        family, in place of that: PTX text or a cubin; a code object; a SPIR-V module, or its text; or LLVM assembly, as above,
        or with a kernel of the family's calling convention.
    has_side_effect: whether the kernel runs even if nothing needs its results, as often as written.

    Each of these but ``entry`` may be a function, which is given the ``shape`` and ``dtype`` of each argument.

    Calls raise NotImplementedError on backends that it has no code for, `phlox.gpu.DeviceCodeError` for code that the compiler
    or the driver refuses, that has no such kernel or one that does not take pointers to so many arrays, and
    `phlox.gpu.SharedMemoryError`. What a kernel does with memory that is not its own is not checked.

    >>> double = kernel("double", result=lambda x: x, grid=lambda x: x.shape[0], block=1, llvm='''
    ... declare i32 @phlox.block.x()
    ... define void @double(ptr %x, ptr %y) {
    ...   %i = call i32 @phlox.block.x()
    ...   %from = getelementptr float, ptr %x, i32 %i
    ...   %value = load float, ptr %from
    ...   %twice = fadd float %value, %value
    ...   %to = getelementptr float, ptr %y, i32 %i
    ...   store float %twice, ptr %to
    ...   ret void
    ... }''')
    >>> double
    <kernel double, with code for llvm>
    """
    if not isinstance(entry, str) or not entry:
        raise TypeError(f"kernel: the name of the kernel in its code (a non-empty str) is required, got {entry!r}")
    given = {"llvm": llvm, "cuda": cuda, "rocm": rocm, "opencl": opencl}
    codes = {name: code for name, code in given.items() if code is not None}
    if not codes:
        raise TypeError(f"the kernel {entry!r}: code is required, as one of {', '.join(given)}")
    return GpuKernel(entry, result, grid, block, shared_bytes, codes, has_side_effect)
