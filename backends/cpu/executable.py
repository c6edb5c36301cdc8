"""Programs that can be called: with arrays, and by callables whose calls bypass Python."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ...compile.buffer_assignment import assign_buffers
from ...compile.copy_insertion import insert_copies
from ...compile.memory_plan import MemoryPlan, memory_plan
from ...hlo import Module, Shape
from .. import arguments as argument_checks
from ..device_memory import Buffer, execute_on_host
from ..text_forms import text_in_form
from . import call as native_call
from .arena import ALIGNMENT, OUT_OF_MEMORY
from .call import ArrayGuard, CallSignature, Place, ResultSpec, Step
from .call.native_functions import python_call_addresses
from .call.python_calls import RUN_KERNEL
from .emitter_table import scratch_bytes
from .line_clock import LineClock
from .machine_code import assembly
from .native_program import NativeProgram
from .program_loader import LoadedProgram

# Calls that touch more memory than this do so without the global interpreter lock; releasing it costs about as much as copying
# this many bytes.
_RELEASE_GIL_BYTES = 1 << 18


class NativeExecutable:
    """A program, loaded; call it with one ndarray for each leaf of the parameters.

    Calls that may take long, by their memory or because the program says so, release the global interpreter lock, unless they
    draw from generators of random numbers: two threads must not do that at once. Raises as `LoadedProgram` does.
    """

    def __init__(self, program: NativeProgram) -> None:
        self.program = program
        self._loaded = LoadedProgram(program)
        self.raise_error = partial(_raise_kernel_error, f"the temporaries of {program.name}, {program.temporary_bytes} bytes")
        self._flat_call = self._make_flat_call()

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        return self._flat_call(*arguments)

    def execute(self, arguments: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters. Raises as a call, and TypeError."""
        return execute_on_host(self, arguments)

    def install(
        self,
        instance: Any,
        signature: CallSignature,
        *,
        statics: Sequence[object] = (),
        around: Sequence[Place] = (),
        facts: Sequence[native_call.Fact] = (),
        steps: Sequence[Step] = (),
        raise_found: Callable[[int], Any] | None = None,
        left_to_python: tuple[type[Exception], ...] = (),
        noting: tuple[ContextVar[Any], Callable[[list[Any]], None]] | None = None,
        put_back: Sequence[tuple[int, int]] = (),
    ) -> bool:
        """Let calls of the instance that fit the signature run this code directly.

        The arguments are those of `phlox.backends.cpu.call.bind_entry`. Does nothing, and returns False, where the interpreter
        takes no native entries, or memory cannot tell whether the facts hold.
        """
        if native_call.unsupported_reason() is not None or native_call.words_of(facts) is None:
            return False
        entry = native_call.bind_entry(
            replace(signature, results=self._in_place(signature.results), release_gil=self._releases_gil),
            self._loaded.kernel,
            self._loaded.references,
            statics=statics,
            around=around,
            facts=facts,
            steps=steps,
            raise_error=self.raise_error,
            raise_found=raise_found,
            left_to_python=left_to_python,
            noting=noting,
            put_back=put_back,
        )
        native_call.install_entry(instance, entry)
        return True

    def _in_place(self, results: Sequence[ResultSpec]) -> tuple[ResultSpec, ...]:
        """The results, those that the code writes where arguments lie as such."""
        over = dict(self.program.over_arguments)
        return tuple([replace(one, form="in place") if number in over else one for number, one in enumerate(results)])

    def _make_flat_call(self) -> Callable[..., tuple[Any, ...]]:
        """Calls with flat arrays, by the native entry where there is one."""
        call = _FlatCall(self)
        if native_call.unsupported_reason() is not None or self.program.over_arguments:  # which are the caller's
            return call
        signature = CallSignature(
            arguments=tuple(ArrayGuard(shape.dtype, shape.dimensions, _order(shape)) for _, shape in self.program.parameters),
            results=tuple(ResultSpec(shape.dtype, shape.dimensions) for shape in self.program.results),
            result_structure="tuple",
            release_gil=self._releases_gil,
        )
        entry = native_call.bind_entry(signature, self._loaded.kernel, self._loaded.references, raise_error=self.raise_error)
        native_call.install_entry(call, entry)
        return call

    def run(self, arguments: Sequence[np.ndarray]) -> tuple[Any, ...]:
        """Run on checked arrays, by way of Python."""
        references = self._loaded.references  # held until the code has run
        inputs = [np.asarray(argument) for argument in arguments]
        outputs = [np.empty(shape.dimensions, shape.dtype) for shape in self.program.results]
        for result, argument in self.program.over_arguments:
            outputs[result] = inputs[argument] = inputs[argument].copy()
        run = _RunKernel(python_call_addresses()[RUN_KERNEL])
        code = run(self._loaded.kernel, *(_pointer_table(arrays) for arrays in (inputs, outputs)))
        del references
        if code:
            self.raise_error(code)
        return tuple(output if output.ndim else output[()] for output in outputs)

    @property
    def kernel(self) -> int:
        """The address of the code, a function of tables of pointers to arguments and results: its executable has to be held."""
        return self._loaded.kernel

    @property
    def _releases_gil(self) -> bool:
        is_long = self.program.may_take_long or self.bytes_touched > _RELEASE_GIL_BYTES
        return is_long and not self.program.draws

    @property
    def given_up(self) -> tuple[str, ...]:
        """What was not done for fast code, so that it is compiled sooner: lines of text."""
        return self.program.given_up

    @property
    def bytes_touched(self) -> int:
        """Bytes of arguments, results and temporaries together."""
        return sum(self.memory_analysis().values())

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of ``arguments``, ``results`` and ``temporaries`` (the arena that buffers share)."""
        return {
            "arguments": sum(shape.byte_size for _, shape in self.program.parameters),
            "results": sum(shape.byte_size for shape in self.program.results),
            "temporaries": self.program.temporary_bytes,
        }


class Texts(NamedTuple):
    """What a program was compiled from: the optimized module, and LLVM assembly, which is long, and asked for rarely."""

    optimized: Module
    compressed_llvm_ir: bytes


class CpuExecutable(NativeExecutable):
    """The program of a module. ``module`` is the module as given, ``optimized`` what was compiled.

    ``texts`` tells, when it is asked for, what the program was compiled from, and ``clock`` is there where it times its lines.
    """

    def __init__(
        self, module: Module, program: NativeProgram, texts: Callable[[], Texts], clock: LineClock | None = None
    ) -> None:
        self.module, self.clock, self._texts = module, clock, texts
        super().__init__(program)

    @cached_property
    def optimized(self) -> Module:
        return self._texts().optimized

    def as_text(self, form: str = "hlo") -> str:
        """The optimized module; "llvm" and "assembly": its code as text. Raises ValueError for another form."""
        return text_in_form(form, {"hlo": self.optimized.as_text, "llvm": self.llvm_ir, "assembly": self.assembly})

    def memory_plan(self) -> MemoryPlan:
        """Which arrays the code copies, and what memory its temporaries share (found out anew)."""
        prepared = insert_copies(self.optimized)
        return memory_plan(prepared, assign_buffers(prepared, scratch_bytes, ALIGNMENT, self.program.over_arguments))

    def llvm_ir(self) -> str:
        """The LLVM assembly that the code was made of."""
        return zlib.decompress(self._texts().compressed_llvm_ir).decode()

    def assembly(self) -> str:
        """The machine code as assembly text (generated anew)."""
        return assembly(self.llvm_ir(), self.program.target, self.program.level)


class _FlatCallBase:
    """The Python side of calls with flat arrays: what no native entry takes."""

    def __init__(self, executable: NativeExecutable) -> None:
        self._executable = executable

    def call_in_python(self, *arguments: Any) -> tuple[Any, ...]:
        executable = self._executable
        argument_checks.check_arguments(executable.program.name, executable.program.parameters, arguments)
        return executable.run([np.require(argument, requirements="A") for argument in arguments])


# A Python function for ctypes, which raises the exception that the kernel may leave.
_RunKernel = ctypes.PYFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)
_FlatCall = native_call.make_vectorcall_type(_FlatCallBase)


def _order(shape: Shape) -> str:
    return "C" if shape.is_row_major else "F"


def _pointer_table(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * max(1, len(arrays)))(*(array.ctypes.data for array in arrays))


def _raise_kernel_error(what: str, code: int) -> None:
    if code == OUT_OF_MEMORY:
        raise MemoryError(f"no memory for {what}")
    raise SystemError(f"a compiled function ended with code {code}")
