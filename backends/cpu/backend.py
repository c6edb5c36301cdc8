"""The CPU backend: HLO modules to native code for the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...compile.buffer_assignment import BufferAssignment, assign_buffers
from ...compile.copy_insertion import insert_copies
from ...compile.dynamic_padding import pad_dynamic_dimensions
from ...compile.pipeline import DEFAULT, EXPANSION, ROLLING, optimize
from ...compile.traversal import has_dynamic_shapes
from ...hlo import Module, Shape, array_leaves
from ...hlo.address_space import check_address_space
from ...runtime.locks import compilation_lock
from .. import arguments as argument_checks
from ..requirements import require_runnable
from . import call as native_call
from . import shared_functions
from .arena import OUT_OF_MEMORY
from .call import ArrayGuard, CallSignature, ResultSpec
from .call.native_functions import python_call_addresses
from .call.python_calls import RUN_KERNEL
from .dynamic_shapes import PaddedExecutable
from .machine_code import MachineCode
from .module_emitter import KERNEL_NAME, ModuleEmitter
from .scratch import scratch_bytes
from .support import support
from .target import Target, host_target

# Calls that touch more memory, or run more instructions, than this do so without the global interpreter lock; releasing it
# costs about as much as copying this many bytes.
_RELEASE_GIL_BYTES = _RELEASE_GIL_INSTRUCTIONS = 1 << 18


class CpuBackend:
    """Compiles each module into one native function."""

    name = "cpu"

    def __init__(self, target: Target | None = None) -> None:
        self.target = target or host_target()

    def compile(self, module: Module, call: CallSignature | None = None) -> CpuExecutable | PaddedExecutable:
        """The module, optimized and compiled; ``call`` is kept for `CpuExecutable.install`.

        Raises NotImplementedError, naming it, for an operation or element type without native code, and hlo.AddressSpaceError
        for arrays that no memory can hold.
        """
        require_runnable(module)
        check_address_space(module)
        with compilation_lock:
            return self._compiled(module, call)

    def _compiled(self, module: Module, call: CallSignature | None) -> CpuExecutable | PaddedExecutable:
        if has_dynamic_shapes(module):
            padding = pad_dynamic_dimensions(module)
            return PaddedExecutable(module, padding, self.compile(padding.module))
        optimized = optimize(module, (*ROLLING, *EXPANSION, *DEFAULT))
        prepared = insert_copies(optimized)
        assignment = assign_buffers(prepared, scratch_bytes)
        emitter = ModuleEmitter(prepared, assignment, self.target)
        interruption = emitter.emit().interruption
        shared_functions.supply(emitter.llvm.shared_functions, self.target)
        code = MachineCode(str(emitter.llvm), self.target, emitter.constants, emitter.host_calls)
        may_take_long = interruption.can_leave or interruption.cost > _RELEASE_GIL_INSTRUCTIONS
        return CpuExecutable(module, optimized, assignment, code, call, may_take_long)

    def support(self, opcode: str) -> str | None:
        return support(opcode)


class CpuExecutable:
    """Native code for one module; call it with one ndarray for each leaf of the entry's parameters.

    ``module`` is the module as given, ``optimized`` what was compiled. Calls that may take long, by their memory or because the
    code says so, release the global interpreter lock.
    """

    def __init__(
        self,
        module: Module,
        optimized: Module,
        assignment: BufferAssignment,
        code: MachineCode,
        call: CallSignature | None,
        may_take_long: bool,
    ) -> None:
        self.module, self.optimized = module, optimized
        self._code, self._call_signature = code, call
        self._temporaries = assignment.arena_size  # and no more, since the assignment knows all values
        self._may_take_long = may_take_long
        self._kernel = code.address(KERNEL_NAME)
        self._parameters = argument_checks.parameter_leaves(module)
        self._results = array_leaves(module.entry.shape)
        self._raise_error = partial(_raise_kernel_error, f"the temporaries of {module.name}, {assignment.arena_size} bytes")
        self._flat_call = self._make_flat_call()

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        return self._flat_call(*arguments)

    def install(
        self,
        instance: Any,
        statics: Sequence[object] = (),
        captures: Sequence[np.ndarray] = (),
        structure: Callable[[tuple[Any, ...]], Any] | None = None,
        raise_error: Callable[[int], Any] | None = None,
    ) -> None:
        """Let calls of the instance that fit the signature given to ``compile`` run this code directly.

        The arguments are those of `phlox.backends.cpu.call.bind_entry`. Does nothing where the interpreter takes no native
        entries.
        """
        if native_call.unsupported_reason() is not None:
            return
        if self._call_signature is None:
            raise ValueError("install requires that the module was compiled for a call signature")
        entry = native_call.bind_entry(
            replace(self._call_signature, release_gil=self._releases_gil),
            self._kernel,
            self._code.references,
            statics=statics,
            captures=captures,
            structure=structure,
            raise_error=raise_error or self._raise_error,
        )
        native_call.install_entry(instance, entry)

    def _make_flat_call(self) -> Callable[..., tuple[Any, ...]]:
        """Calls with flat arrays, by the native entry where there is one."""
        call = _FlatCall(self)
        if native_call.unsupported_reason() is not None:
            return call
        signature = CallSignature(
            arguments=tuple(ArrayGuard(shape.dtype, shape.dimensions, _order(shape)) for _, shape in self._parameters),
            results=tuple(ResultSpec(shape.dtype, shape.dimensions) for shape in self._results),
            result_structure="tuple",
            release_gil=self._releases_gil,
        )
        entry = native_call.bind_entry(signature, self._kernel, self._code.references, raise_error=self._raise_error)
        native_call.install_entry(call, entry)
        return call

    def run(self, arguments: Sequence[np.ndarray]) -> tuple[Any, ...]:
        """Run on checked arrays, by way of Python."""
        references = self._code.references  # held until the code has run
        inputs = [np.asarray(argument) for argument in arguments]
        outputs = [np.empty(shape.dimensions, shape.dtype) for shape in self._results]
        # A Python function for ctypes, which raises the exception that the kernel may leave.
        run = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(python_call_addresses()[RUN_KERNEL])
        code = run(self._kernel, *(_pointer_table(arrays) for arrays in (inputs, outputs)))
        del references
        if code:
            self._raise_error(code)
        return tuple(output if output.ndim else output[()] for output in outputs)

    @property
    def _releases_gil(self) -> bool:
        return self._may_take_long or self.bytes_touched > _RELEASE_GIL_BYTES

    @property
    def bytes_touched(self) -> int:
        """Bytes of arguments, results and temporaries together."""
        return sum(self.memory_analysis().values())

    def as_text(self) -> str:
        """The optimized module in HLO text."""
        return self.optimized.as_text()

    def llvm_ir(self) -> str:
        return self._code.llvm_ir

    def assembly(self) -> str:
        return self._code.assembly()

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of ``arguments``, ``results`` and ``temporaries`` (the arena that buffers share)."""
        return {
            "arguments": sum(shape.byte_size for _, shape in self._parameters),
            "results": sum(shape.byte_size for shape in self._results),
            "temporaries": self._temporaries,
        }


class _FlatCallBase:
    """The Python side of calls with flat arrays: what no native entry takes."""

    def __init__(self, executable: CpuExecutable) -> None:
        self._executable = executable

    def call_in_python(self, *arguments: Any) -> tuple[Any, ...]:
        executable = self._executable
        argument_checks.check_arguments(executable.module.name, executable._parameters, arguments)
        return executable.run([np.require(argument, requirements="A") for argument in arguments])


_FlatCall = native_call.make_vectorcall_type(_FlatCallBase)


def _order(shape: Shape) -> str:
    return "C" if shape.is_row_major else "F"


def _pointer_table(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))


def _raise_kernel_error(what: str, code: int) -> None:
    if code == OUT_OF_MEMORY:
        raise MemoryError(f"no memory for {what}")
    raise SystemError(f"a compiled function ended with code {code}")
