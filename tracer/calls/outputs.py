"""What a traced function returns and sets outside, leaf by leaf, as results of the module."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ... import hlo
from ..capture.choices import Maybe
from ..capture.lists.results import with_results, with_written_texts
from ..capture.places import UNBOUND
from ..outside.paths import MISSING, Path
from ..recording import pytree
from ..recording.array import TracedArray
from ..recording.device_arrays import ArrayOnDevice
from ..recording.errors import TracerError
from ..recording.memory_order import is_column_major_alone
from ..recording.trace import Storage, Trace
from .leaves import PYTHON_SCALARS, is_static
from .random_generators import is_traced_generator
from .recorded_function import Effect, Output
from .returned_views import steps_of_view
from .shared_memory import Itself

_PACKAGE = __name__.partition(".")[0] + "."


class Outputs:
    """What the leaves are that a function returns and sets outside.

    Appends the instructions that compute them to the roots, the same array once. ``arguments`` numbers those that are meant
    themselves.
    """

    def __init__(self, trace: Trace, arguments: dict[Storage, int], roots: list[hlo.Instruction]) -> None:
        self.trace, self.arguments, self.roots = trace, arguments, roots
        captures = [
            one
            for one in trace.program.captures.values()
            if type(one.array) is np.ndarray or isinstance(one.array, ArrayOnDevice)
        ]
        captures = [one for one in captures if one.path is not None]
        self.captured = {one.storage: one.path for one in captures}
        self.outputs: list[Output] = []
        self._numbers: dict[tuple[int, str], tuple[int, Any]] = {}

    def is_leaf(self, value: Any) -> bool:
        """Whether a value is one leaf, even if it can be taken apart."""
        return is_traced_generator(value) or self.trace.program.surroundings.place_of(value) is not None

    def add(self, leaf: Any, place: str, takes_objects: bool = False) -> None:
        """Raises TracerError, naming the place, for what can be none."""
        surroundings = self.trace.program.surroundings
        if isinstance(leaf, TracedArray):
            found = self._array(leaf)
        elif isinstance(leaf, np.ndarray) and surroundings.place_of(leaf) is not None:  # of texts, or dates
            found = Output("outside", value=surroundings.place_of(leaf))
        elif isinstance(leaf, (np.ndarray, np.generic, types.ModuleType, *PYTHON_SCALARS)) or is_static(leaf):
            found = Output("value", value=leaf.copy("K") if isinstance(leaf, np.ndarray) else leaf)
        elif surroundings.place_of(leaf) is not None:
            found = Output("outside", value=surroundings.place_of(leaf))
        elif takes_objects and not _holds_traced(leaf):
            found = Output("value", value=leaf)
        else:
            raise TracerError(
                f"{place} is a {_name_of_class(type(leaf))}, which is neither "
                "an array nor a container of arrays; return arrays, numbers, strings or containers of these (of a generator "
                "list(...)), or describe the type with register_pytree"
            )
        self.outputs.append(found)

    def _array(self, leaf: TracedArray) -> Output:
        root = leaf.root
        is_argument = root.storage in self.arguments
        if is_argument or root.storage in self.captured and not root.is_scalar:
            steps = () if root is leaf else steps_of_view(self.trace, leaf)
            _, number = self.trace.program.placed.get(id(leaf), (None, None))
            if steps is not None and number is not None:
                steps = (*steps, Itself(number))
            if steps is not None and is_argument:
                return Output("argument", self.arguments[root.storage], steps=steps)
            if steps is not None:
                return Output("outside", value=self.captured[root.storage], steps=steps)
        identity = leaf if leaf.storage is None else leaf.storage
        order = "F" if _is_column_major(leaf) else "C"
        key = id(identity), order
        if key not in self._numbers:
            self._numbers[key] = len(self.roots), identity  # which stays, and its id with it
            root = leaf.recorded(self.trace)
            self.roots.append(hlo.transpose(root, range(leaf.ndim)[::-1]) if order == "F" else root)
        return Output(_result_kind(leaf), self._numbers[key][0], order=order)


def _name_of_class(kind: type) -> str:
    """What messages call a class; one that stands for another one by the name of that."""
    kind = getattr(kind, "followed_class", kind)
    if kind.__module__.startswith(_PACKAGE):
        return f"value that exists only while the function is traced ({kind.__name__})"
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def effects_of(collected: Outputs, changes: list[tuple[str, Path, Any]]) -> list[Effect]:
    """What is set outside; its leaves become further outputs. Arguments, and arrays from outside, are set themselves."""
    outputs = collected.outputs
    found = []
    for how, path, value in changes:
        if value is MISSING:
            found.append(Effect("delete", path, None, slice(0, 0)))
            continue
        if type(value) is Maybe and value.absent is UNBOUND:
            value = Maybe(value.is_there, value.value, MISSING)
        # What changes a container is made of its copy; elsewhere that stands for the container.
        made_of = None if how == "write" else value

        def is_kept(one: Any, made_of: Any = made_of) -> bool:
            return one is not made_of and collected.is_leaf(one)

        made = with_results(with_written_texts(value, is_kept), is_kept)
        leaves, structure = pytree.flatten(made, collected.is_leaf)
        begin = len(outputs)
        for leaf in leaves:
            collected.add(leaf, f"what the function sets as {path.text}", takes_objects=True)
        found.append(Effect(how, path, structure, slice(begin, len(outputs))))
    return found


def _holds_traced(value: Any, depth: int = 4) -> bool:
    """Whether an object that the function made has traced arrays in it."""
    if isinstance(value, TracedArray) or depth == 0:
        return True
    parts = list(value) if isinstance(value, (list, tuple, set, frozenset)) else list(getattr(value, "__dict__", {}).values())
    parts += list(value.values()) if isinstance(value, dict) else []
    return any(_holds_traced(part, depth - 1) for part in parts if type(part) not in (int, float, str, bool, type(None)))


def _is_column_major(leaf: TracedArray) -> bool:
    """Whether NumPy has this array column-major, and not row-major as well."""
    return leaf.unusual_strides is not None and not leaf.is_dynamic and is_column_major_alone(leaf)


def _result_kind(leaf: TracedArray) -> str:
    if leaf.shape or leaf.is_scalar and not leaf.weak_type:
        return "result"
    return "python scalar" if leaf.weak_type else "0-d array"
