"""One compiled form of a function: what happens between its arguments and the executable, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backends.registry import Executable
from ..recording import pytree
from ..recording.errors import StaleCapture
from ..recording.ndarrays import MEMORY_FLAGS
from .leaves import TracedLeaf, leaf_key
from .traced_function import Output, Recording


class Specialization:
    """A recording with its executable. Calling it takes the values of the traced leaves, in order.

    ``variants`` holds those for calls that pass one array as several arguments, one of which the function changes.
    """

    def __init__(self, recording: Recording, executable: Executable) -> None:
        self.recording, self.executable = recording, executable
        self.variants: dict[tuple[int, ...], Specialization] = {}
        leaves, captures = recording.leaves, recording.captures
        self.leaves: list[TracedLeaf] = leaves
        self._conversions = [(index, leaf.convert) for index, leaf in enumerate(leaves) if leaf.convert is not None]
        self._captures = [(capture.array, leaf_key(capture.array), capture.convert) for capture in captures]
        self.changes_arrays = bool(recording.mutated or recording.mutated_captures)
        arrays = sum(leaf.kind == "array" for leaf in leaves) + len(captures)
        self.may_meet_aliases = self.changes_arrays and arrays > 1
        self._is_plain = not self.changes_arrays and not recording.error_messages
        kinds = [output.kind for output in recording.outputs]
        in_order = [output.index for output in recording.outputs] == list(range(recording.result_count))
        self._single = self._is_plain and kinds == ["result"] and recording.out_structure is pytree.LEAF
        flat = recording.out_structure is not pytree.LEAF and recording.out_structure[0] is tuple
        flat = flat and all(child is pytree.LEAF for child in recording.out_structure[2])
        self._is_tuple = self._is_plain and flat and in_order and set(kinds) == {"result"}

    def __call__(self, values: Sequence[Any]) -> Any:
        """Run; arguments that the function changes in place have their new contents afterwards.

        Raises StaleCapture before anything runs, and what the function's error flag stands for, with nothing changed.
        """
        arguments = values
        if self._conversions:
            arguments = list(values)
            for index, convert in self._conversions:
                arguments[index] = convert(arguments[index])
        if self._captures:
            arguments = (*arguments, *[self._captured(*capture) for capture in self._captures])
        if self.changes_arrays:
            self._require_writeable(values)
        results = self.executable(*arguments)
        if self._single:
            return results[0]
        if self._is_tuple:
            return results
        recording = self.recording
        if recording.error_messages and (code := int(results[-1])):
            self.raise_error(code)
        count = recording.result_count
        for index in recording.mutated:
            np.copyto(values[index], results[count])
            count += 1
        for index in recording.mutated_captures:
            np.copyto(recording.captures[index].array, results[count])
            count += 1
        return self.assemble(results, values)

    def assemble(self, results: Sequence[Any], values: Sequence[Any] = ()) -> Any:
        """What the function returns, of the executable's results and, where it returns arguments, the leaves' values."""
        leaves = [self._leaf(output, results, values) for output in self.recording.outputs]
        return pytree.unflatten(self.recording.out_structure, leaves)

    def _leaf(self, output: Output, results: Sequence[Any], values: Sequence[Any]) -> Any:
        if output.kind == "result":
            return results[output.index]
        if output.kind == "python scalar":
            return results[output.index].item()
        if output.kind == "argument":
            return values[output.index]
        if output.kind == "optional":
            return self._leaf(output.value, results, values) if results[output.index] else None
        return output.known_value

    def raise_error(self, code: int) -> None:
        """Raise the exception that this code of the error flag stands for."""
        exception_type, message, location = self.recording.error_messages[code - 1]
        if isinstance(exception_type, Exception):
            raise _like(exception_type, location)
        raise exception_type(message + (f" (at {location})" if location is not None else ""))

    @staticmethod
    def _captured(array: np.ndarray, key: Any, convert: Any) -> np.ndarray:
        dtype, shape, flags = key
        if array.dtype is not dtype and array.dtype != dtype or array.shape != shape or array.flags.num & MEMORY_FLAGS != flags:
            raise StaleCapture
        return array if convert is None else convert(array)

    def _require_writeable(self, values: Sequence[Any]) -> None:
        recording = self.recording
        for index in recording.mutated:
            if not values[index].flags.writeable:
                raise ValueError(f"assignment destination is read-only: argument {self.leaves[index].path} is changed in place")
        for index in recording.mutated_captures:
            if not recording.captures[index].array.flags.writeable:
                raise ValueError("assignment destination is read-only: an array that the function uses is changed in place")

    def same_arrays(self, values: Sequence[Any]) -> tuple[int, ...] | None:
        """For each leaf the first one that is the same memory, None if all differ.

        Only for functions that change arrays in place. Raises ValueError where one of those shares part of its memory with
        another argument or a captured array.
        """
        recording = self.recording
        first = list(range(len(values)))
        places: dict[Any, int] = {}
        arrays = [(index, value) for index, value in enumerate(values) if isinstance(value, np.ndarray)]
        if not self._may_overlap(arrays):
            return None
        for index, value in arrays:
            first[index] = places.setdefault((value.ctypes.data, value.shape, value.strides, value.dtype), index)
        changed = {first[index] for index in recording.mutated}
        for index in changed:
            for other, value in arrays:
                if first[other] != index and _overlap(values[index], value):
                    raise ValueError(
                        f"arguments {self.leaves[index].path} and {self.leaves[other].path} share part of their memory, and "
                        f"{self.leaves[index].path} is changed in place; pass a copy of one of them"
                    )
            for capture in recording.captures:
                if _overlap(values[index], capture.array):
                    raise ValueError(
                        f"argument {self.leaves[index].path} is changed in place and shares memory with an array of shape "
                        f"{capture.array.shape} that the function uses from outside; pass a copy, or pass both as arguments"
                    )
        for number in recording.mutated_captures:
            captured = recording.captures[number].array
            for what, value in [(f"argument {self.leaves[index].path}", value) for index, value in arrays] + [
                ("another array that it uses from outside", other.array)
                for position, other in enumerate(recording.captures)
                if position != number
            ]:
                if _overlap(captured, value):
                    raise ValueError(
                        f"the function changes an array of shape {captured.shape} from outside in place, which shares memory "
                        f"with {what}; pass it as an argument, or use a copy"
                    )
        return tuple(first) if first != list(range(len(values))) else None

    def _may_overlap(self, arrays: list[tuple[int, np.ndarray]]) -> bool:
        """Whether the memory of an array that is changed lies where another one's does; quick, and seldom true."""
        recording = self.recording
        captured = [capture.array for capture in recording.captures]
        changed = [(index, value) for index, value in arrays if index in recording.mutated]
        for index, value in changed:
            if any(number != index and np.may_share_memory(value, other) for number, other in arrays):
                return True
            if any(np.may_share_memory(value, other) for other in captured):
                return True
        for number in recording.mutated_captures:
            others = [value for _, value in arrays] + captured[:number] + captured[number + 1 :]
            if any(np.may_share_memory(captured[number], other) for other in others):
                return True
        return False


def _like(error: Exception, location: Any) -> Exception:
    """An exception like this one, with a note that says where it was raised."""
    made = type(error).__new__(type(error), *error.args)
    made.args = error.args
    made.__dict__.update(error.__dict__)
    made.__cause__, made.__suppress_context__ = error.__cause__, True
    if location is not None:
        made.add_note(f"raised at {location}")
    return made


def _overlap(first: np.ndarray, second: np.ndarray) -> bool:
    if not np.may_share_memory(first, second):
        return False
    try:
        return np.shares_memory(first, second, max_work=10_000)
    except np.exceptions.TooHardError:
        return True
