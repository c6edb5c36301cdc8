"""Runs a module with its operations' NumPy evaluations: what every other backend is tested against."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ...compile import run_passes
from ...hlo.address_space import check_address_space, check_memory
from ...hlo.instruction import callees_first
from ...hlo.operation import TUPLING
from ...runtime import current_environment, find_target
from ..arguments import check_arguments, flatten, pack, parameter_leaves
from ..device_memory import HOST_MEMORY, Buffer, execute_on_host
from ..requirements import require_runnable
from ..text_forms import text_in_form
from .pipeline import PIPELINE
from .stepping import print_step

TRACE_VARIABLE = "PHLOX_REFERENCE_TRACE"


class ReferenceExecutable:
    """A module that is interpreted.

    With the environment variable PHLOX_REFERENCE_TRACE=1 each call prints every instruction with its value to standard error.

    >>> double = hlo.computation("double", [hlo.Shape(hlo.F32, (2,))], lambda x: hlo.add(x, x))
    >>> ReferenceBackend().compile(hlo.Module("double", double))(np.float32([1, 2]))
    (array([2., 4.], dtype=float32),)
    """

    def __init__(self, module: hlo.Module) -> None:
        self.module = module
        self._expected = parameter_leaves(module)
        self._results = hlo.array_leaves(module.entry.shape)
        shapes = (instruction.shape for computation in module.computations() for instruction in computation.instructions)
        self._largest_array = max((leaf.byte_size for shape in shapes for leaf in hlo.leaves(shape)), default=0)

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        observer = print_step if os.environ.get(TRACE_VARIABLE, "") not in ("", "0") else None
        try:
            return self.run(arguments, observer)
        finally:
            if observer is not None:
                sys.stderr.flush()

    def run(self, arguments: Sequence[Any], observer: hlo.Observer | None) -> tuple[Any, ...]:
        """As a call; the observer sees each instruction with its value."""
        entry = self.module.entry
        check_arguments(self.module.name, self._expected, arguments)
        leaves = iter([argument[()] if argument.ndim == 0 else argument for argument in arguments])
        packed = [pack(parameter.shape, leaves) for parameter in entry.parameters]
        try:
            with np.errstate(all="ignore"):
                result = hlo.Evaluator(observer, current_environment())(entry, *packed)
        except ValueError as error:
            # What NumPy says where an array cannot be counted in bytes.
            check_memory(f"module {self.module.name}: the largest array", self._largest_array)
            raise error
        return tuple(self._owned(value, shape) for value, shape in zip(flatten(result), self._results, strict=True))

    def execute(self, arguments: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters. Raises as a call, and TypeError."""
        return execute_on_host(self, arguments)

    def _owned(self, value: Any, shape: hlo.Shape) -> Any:
        """The value in memory of its own: an evaluation may hand on its operand, or a constant."""
        array = np.array(value, order="C")
        fits = all(
            n == size or (n < size and shape.is_dynamic(d)) for d, (n, size) in enumerate(zip(array.shape, shape.dimensions))
        )
        if array.dtype != shape.dtype or array.ndim != shape.rank or not fits:
            given = f"{array.dtype} of shape {array.shape}"
            raise AssertionError(f"module {self.module.name}: {shape} is stated, but its evaluation returned {given}")
        return array if array.ndim else array[()]

    def as_text(self, form: str = "hlo") -> str:
        """The module as HLO text; it runs as it is written. Raises ValueError for another form than that."""
        return text_in_form(form, {"hlo": self.module.as_text})

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of arguments, results and temporaries; every value lives until its computation ends."""
        return {
            "arguments": _byte_size([shape for _, shape in self._expected]),
            "results": _byte_size(self._results),
            "temporaries": max(0, _held_bytes(self.module.entry) - _byte_size(self._results)),
        }


class ReferenceBackend:
    """Interprets modules; compiling one verifies it."""

    name = "reference"
    executable_type = ReferenceExecutable
    memory = HOST_MEMORY
    pipeline = PIPELINE

    def compile(self, module: hlo.Module) -> ReferenceExecutable:
        """The module, verified. ``call`` is not used: there is no native call to compile.

        Raises hlo.VerificationError for a malformed module and NotImplementedError for an operation without an evaluation.
        """
        run_passes(module, PIPELINE)
        check_address_space(module)
        require_runnable(module)
        for computation in module.computations():
            for instruction in computation.instructions:
                if instruction.opcode == "custom-call":
                    find_target(instruction.attributes["custom_call_target"])
                if instruction.operation.evaluate_function is None and instruction.opcode != "parameter":
                    place = f" (from {instruction.source})" if instruction.source else ""
                    raise NotImplementedError(f"reference backend: no evaluation for operation {instruction.opcode}{place}")
        return self.executable_type(module)

    def support(self, opcode: str) -> str | None:
        """ "native" for every operation with an evaluation, and for parameters."""
        is_known = hlo.OPERATIONS[opcode].evaluate_function is not None or opcode == "parameter"
        return "native" if is_known else None


def _byte_size(shapes: Sequence[hlo.Shape]) -> int:
    return sum(shape.byte_size for shape in shapes)


def _held_bytes(computation: hlo.Computation) -> int:
    """Bytes of all values but the parameters, with those of the largest called computation, since one runs at a time."""
    held: dict[hlo.Computation, int] = {}
    for one in callees_first(computation):
        # Tuples and their elements are the same arrays again.
        own = [i.shape for i in one.instructions if i.opcode != "parameter" and not i.has_trait(TUPLING)]
        called = [held[callee] for instruction in one.instructions for callee in instruction.called_computations]
        held[one] = sum(_byte_size(hlo.leaves(shape)) for shape in own) + max(called, default=0)
    return held[computation]
