"""Modules with dynamic dimensions: native code on padded arrays, called with arrays of any size within the bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...compile.memory_plan import MemoryPlan
from ...hlo import Module, Shape
from ..arguments import check_arguments
from ..device_memory import Buffer, execute_on_host
from ..padding import Padding, cut, padded_array, raise_error, sizes_of
from .call import CallSignature, ResultSpec, Step
from .executable import NativeExecutable
from .native_program import NativeProgram


class PaddedExecutable:
    """A program with dynamic dimensions, by way of the executable of the padded one.

    ``module`` is the module as given, where there is one, ``padded`` the executable. Arguments are padded with zeros to their
    bounds before the call; results are arrays of their sizes.
    """

    def __init__(self, padded: NativeExecutable, padding: Padding, module: Module | None = None) -> None:
        self.module, self.padded = module, padded
        self.program = replace(padded.program, padding=padding)
        self._takes_sizes = padding.takes_sizes

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results for one array for each leaf of the entry's parameters.

        Raises TypeError and ValueError for arguments that do not fit, ValueError where sizes at run time do not fit together.
        """
        check_arguments(self.program.name, self.program.padding.parameters, arguments)
        return self.run(arguments)

    def execute(self, arguments: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters. Raises as a call, and TypeError."""
        return execute_on_host(self, arguments)

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """As a call, on checked arrays."""
        padding = self.program.padding
        given = self._with_sizes(arguments) if self._takes_sizes else arguments
        *results, error = self.padded(*given)
        raise_error(padding, self.program.name, error)
        found = iter(results[len(padding.results) :])
        return tuple([cut(array, shape, found) for array, shape in zip(results, padding.results)])

    def _with_sizes(self, arguments: Sequence[Any]) -> list[np.ndarray]:
        """The arguments as the padded program takes them: arrays of the bounds, then the sizes."""
        padding, arrays = self.program.padding, [np.asarray(argument) for argument in arguments]
        given = [padded_array(array, shape) for array, (_, shape) in zip(arrays, padding.parameters)]
        return given + sizes_of(padding, [array.shape for array in arrays])

    def install(self, instance: Any, signature: CallSignature, *, steps: Sequence[Step] = (), **options: Any) -> bool:
        """As `NativeExecutable.install`, where no arguments have dynamic dimensions."""
        found = of_padded(self.program.padding, signature, steps)
        return found is not None and self.padded.install(instance, found[0], steps=found[1], **options)

    @property
    def optimized(self) -> Module:
        return self.padded.optimized

    @property
    def given_up(self) -> tuple[str, ...]:
        return self.padded.given_up

    @property
    def bytes_touched(self) -> int:
        return self.padded.bytes_touched

    def as_text(self, form: str = "hlo") -> str:
        """That of the padded program."""
        return self.padded.as_text(form)

    def llvm_ir(self) -> str:
        return self.padded.llvm_ir()

    def assembly(self) -> str:
        return self.padded.assembly()

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of the padded ``arguments``, ``results`` and ``temporaries``."""
        return self.padded.memory_analysis()

    def memory_plan(self) -> MemoryPlan:
        """That of the padded program."""
        return self.padded.memory_plan()


def of_padded(padding: Padding, signature: CallSignature, steps: Sequence[Step]) -> tuple[CallSignature, Sequence[Step]] | None:
    """The signature and the steps of calls of the padded program with results at their sizes; None where there are none."""
    if padding.takes_sizes:
        return None
    results, steps = list(signature.results), list(steps) or _steps(signature)
    for number, shape in enumerate(padding.results):
        dynamic = [dimension for dimension, is_dynamic in enumerate(shape.dynamic_dimensions) if is_dynamic]
        if dynamic == [0]:
            results[number] = replace(results[number], size=len(results))
            results.append(ResultSpec(np.dtype(np.int32), (), form="hidden"))
        elif dynamic:
            sizes = range(len(results), len(results) + len(dynamic))
            results += [ResultSpec(np.dtype(np.int32), ())] * len(dynamic)
            if sum(step.kind == "result" and step.number == number for step in steps) > 1:  # one array at several places
                return None
            steps = [new for step in steps for new in _with_cut(step, number, sizes, shape)]
    results.append(ResultSpec(np.dtype(np.int32), (), form="hidden"))
    errors = (*signature.errors, len(results) - 1)
    return replace(signature, results=tuple(results), errors=errors, result_structure="steps"), steps


def _steps(signature: CallSignature) -> list[Step]:
    """What puts together the results of a signature without steps."""
    results = [Step("result", number) for number in range(len(signature.results))]
    return {"none": [Step("object")], "single": results, "tuple": [*results, Step("tuple", len(results))]}[
        signature.result_structure
    ]


def _with_cut(step: Step, number: int, sizes: Sequence[int], shape: Shape) -> list[Step]:
    """The step, with the array of this result cut to its sizes where it is the one that takes it."""
    if step.kind != "result" or step.number != number:
        return [step]
    at_its_sizes = Step("call", 1 + len(sizes), lambda array, *sizes: cut(array, shape, iter(sizes)))
    return [step, *[Step("result", size) for size in sizes], at_its_sizes]


def executable_of(program: NativeProgram) -> NativeExecutable | PaddedExecutable:
    """The program, loaded into this process. Raises as `LoadedProgram` does."""
    executable = NativeExecutable(program)
    return executable if program.padding is None else PaddedExecutable(executable, program.padding)
