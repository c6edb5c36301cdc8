"""Built computations, and the shapes of what they take and return."""

from __future__ import annotations

from typing import NamedTuple

from .. import hlo
from ..hlo.shape import AnyShape


class ProgramShape(NamedTuple):
    """The shapes of a computation's parameters, in order, with their names, and of its result.

    >>> from phlox.hlo import F32, Shape
    >>> print(ProgramShape((Shape(F32), Shape(F32, (10,))), ("alpha", "x"), Shape(F32, (10,))))
    (alpha: f32[], x: f32[10]) -> f32[10]
    """

    parameters: tuple[AnyShape, ...]
    parameter_names: tuple[str, ...]
    result: AnyShape

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}: {shape}" for name, shape in zip(self.parameter_names, self.parameters))
        return f"({parameters}) -> {self.result}"


class Computation:
    """A computation that a ComputationBuilder has built: an argument of other builders' operations, or of Client.Execute.

    ``hlo_computation`` is what it is in HLO.
    """

    def __init__(self, hlo_computation: hlo.Computation) -> None:
        self.hlo_computation = hlo_computation
        self._module = hlo.Module(hlo_computation.name, hlo_computation)

    @property
    def name(self) -> str:
        return self.hlo_computation.name

    @property
    def module(self) -> hlo.Module:
        """The module whose entry the computation is."""
        return self._module

    def GetProgramShape(self) -> ProgramShape:
        """The shapes of the parameters and of the result."""
        parameters = self.hlo_computation.parameters
        names = tuple(parameter.name or f"p{number}" for number, parameter in enumerate(parameters))
        return ProgramShape(self.hlo_computation.parameter_shapes, names, self.hlo_computation.shape)

    def as_text(self) -> str:
        """The computation, with those that it calls, as a module in HLO text."""
        return self._module.as_text()

    def __repr__(self) -> str:
        return f"<computation {self.name}: {self.GetProgramShape()}>"
