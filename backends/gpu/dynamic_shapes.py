"""Modules with dynamic dimensions on a device: programs on padded arrays, called with arrays of any size within the bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...compile.dynamic_padding import PaddedModule
from ...hlo import Module
from ..arguments import check_arguments, parameter_leaves
from ..device_memory import Buffer
from ..padded_calls import cut_results, with_sizes
from .executable import GpuExecutable


class GpuPaddedExecutable:
    """A program with dynamic dimensions, by way of the executable of the padded one.

    ``module`` is the module as given. Arguments are padded with zeros on the host; results are arrays of their sizes.
    """

    def __init__(self, module: Module, padded: GpuExecutable) -> None:
        self.module, self.padded, self.program = module, padded, padded.program
        self.device, self.memory = padded.device, padded.memory
        self._parameters = parameter_leaves(module)
        assert isinstance(padded.program.padded, PaddedModule)
        self._padding = padded.program.padded

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        """The results for one array for each leaf of the entry's parameters.

        Raises TypeError and ValueError for arguments that do not fit, ValueError where sizes at run time do not fit together.
        """
        check_arguments(self.program.name, self._parameters, arguments)
        given = with_sizes(arguments, [shape for _, shape in self._parameters])
        return cut_results(self.padded(*given), self._padding.results, self._padding.errors, self.program.name)

    def execute(self, arguments: Iterable[Buffer]) -> tuple[Buffer, ...]:
        """The results, as buffers, for one buffer for each leaf of the parameters: the sizes go by way of the host."""
        memory = self.memory
        for number, buffer in enumerate(given := list(arguments)):
            memory.own(f"argument {number}", buffer)
        return tuple([memory.share(np.asarray(one)) for one in self(*[memory.read(buffer) for buffer in given])])

    def as_text(self, form: str = "hlo") -> str:
        """As `GpuExecutable.as_text`, of the padded program."""
        return self.padded.as_text(form)

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of the padded ``arguments``, ``results`` and ``temporaries``."""
        return self.padded.memory_analysis()
