"""The stages between a Python function and its code: traced, lowered, compiled."""

from __future__ import annotations

import html
from typing import Any

from ... import hlo
from ...backends.registry import Backend, get_backend
from ...compile.cost import cost_analysis
from ...hlo.drawing import module_svg
from ...hlo.tracebacks import for_users
from ..recording import pytree
from ..recording.errors import RaisedBehindChanges
from .arguments import ArgumentReader
from .leaves import Leaf, explain_difference
from .recorded_function import CallForm, Recording, selected
from .specialization import Specialization
from .within_budget import compiled_within


class Stage:
    """What the stages share: the form of call and the module.

    ``module`` is the HLO that was recorded, ``in_leaves`` describe the arguments, ``out_structure`` is the structure of the
    result.
    """

    def __init__(
        self,
        name: str,
        form: CallForm,
        recording: Recording,
        reader: ArgumentReader,
        backend: Backend | str | None,
        budget: float | None = None,
    ) -> None:
        self.name, self.module = name, recording.module
        self._form, self._recording, self._reader, self._backend = form, recording, reader, backend
        self._budget = budget  # of seconds to trace and compile

    @property
    def in_leaves(self) -> list[Leaf]:
        return list(self._form.leaves)

    @property
    def out_structure(self) -> pytree.Structure:
        return self._recording.out_structure

    @property
    def out_tree(self) -> str:
        """The structure of the result as code spells it, ``*`` for arrays."""
        return pytree.structure_text(self.out_structure)

    def as_text(self) -> str:
        """The module as HLO text."""
        return self.module.as_text()

    def _repr_html_(self) -> str:
        """The program as notebooks show it: drawn, with its text below."""
        box = '<div style="overflow:auto;max-height:40em;margin-bottom:1em">'
        text = f'<pre style="line-height:1.3">{html.escape(self.as_text())}</pre>'
        return f"{box}{module_svg(self._drawn_module())}</div>{box}{text}</div>"

    def _drawn_module(self) -> hlo.Module:
        return self.module

    def __repr__(self) -> str:
        entry = self.module.entry
        return f"<{type(self).__name__} {self.name}: ({', '.join(map(str, entry.parameter_shapes))}) -> {entry.shape}>"


class Traced(Stage):
    """A traced function, not checked yet."""

    def lower(self) -> Lowered:
        """The module, verified. Raises hlo.VerificationError."""
        hlo.verify(self.module)
        return Lowered(self.name, self._form, self._recording, self._reader, self._backend, self._budget)


class Lowered(Stage):
    """A function as a verified HLO module."""

    def compile(self) -> Compiled:
        """The module, compiled by the function's backend."""
        named = isinstance(self._backend, str) or self._backend is None
        backend = get_backend(self._backend) if named else self._backend
        executable = compiled_within(self._budget, backend, self.name, self._recording)
        return Compiled(self.name, self._form, self._recording, self._reader, backend, executable)

    def cost_analysis(self) -> dict[str, float]:
        """Estimates of the flops and bytes of one run; see `phlox.compile.cost.cost_analysis`."""
        return cost_analysis(self.module)


class Compiled(Stage):
    """A compiled function for one form of call. It is called as the function is; other forms raise TypeError."""

    def __init__(
        self,
        name: str,
        form: CallForm,
        recording: Recording,
        reader: ArgumentReader,
        backend: Backend,
        executable: Any,
    ) -> None:
        super().__init__(name, form, recording, reader, backend)
        self.executable = executable
        self._specialization = Specialization(recording, executable, backend)

    @for_users
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._reader.call(args, kwargs)
        form, objects = call.form(), call.object_values()
        differences = explain_difference(form.leaves, self._form.leaves)
        if form.structures != self._form.structures or differences:
            what = "; ".join(differences) or "another structure of the arguments"
            raise TypeError(f"{self.name} was compiled for other arguments: {what}")
        if changed := self._specialization.differences(objects):
            raise TypeError(f"{self.name} was compiled for something else outside: {'; '.join(changed)}")
        if self._recording.containers:
            objects = {**objects, **self._reader.named(self._recording.containers, args, kwargs)}
        leaves = [leaf for argument in call.canonical for leaf in argument.leaves]
        selection = form.selection(range(len(leaves)))
        values = leaves if selection is None else selected(leaves, selection)
        if self._specialization.may_meet_aliases and self._specialization.same_arrays(values, objects) is not None:
            raise ValueError(f"{self.name} changes arguments in place and was compiled for arguments that are different arrays")
        try:
            return self._specialization(values, objects)
        except RaisedBehindChanges as raised:
            raise raised.make_error() from None

    def as_text(self, form: str = "hlo") -> str:
        """What runs, as the backend shows it: the optimized module, or its code as "llvm" or "assembly"; a GPU's has a "plan".

        Raises ValueError for a form that the backend has not.
        """
        return self.executable.as_text(form)

    def _drawn_module(self) -> hlo.Module:
        return getattr(self.executable, "optimized", self.module)

    def memory_analysis(self) -> dict[str, int]:
        """Bytes of arguments, results and temporaries."""
        return self.executable.memory_analysis()

    def cost_analysis(self) -> dict[str, float]:
        """Estimates of the flops and bytes of one run; see `phlox.compile.cost.cost_analysis`."""
        return cost_analysis(self.module)
