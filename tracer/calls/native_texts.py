"""Texts, and values that are one of several, as a native call makes them of the results of its kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..capture.choices import Choice, Maybe
from ..capture.texts.characters import TextAmongCharacters
from ..capture.texts.deferred import CONVERSIONS, Deferred, FString, when_run
from ..recording import pytree
from .native_lists import OF_RESULTS, PYTHON_NUMBERS, Results, text_of
from .native_places import NotNative
from .recorded_function import Output
from .text_calls import shown_as

_MADE = (Choice, Maybe, Deferred)


def part_of(results: Results, structure: pytree.Structure, outputs: list[Output]) -> Any:
    """Such a value as a part of `rows`; None of another one, and where Python makes it."""
    if structure is pytree.LEAF or structure[0] not in _MADE:
        return None
    try:
        return _part(results, structure, iter(outputs))
    except NotNative:
        return None


def is_call(structure: pytree.Structure) -> bool:
    """Whether this is what a function makes of its parts."""
    return structure is not pytree.LEAF and structure[0] is Deferred and type(structure[1]) is not FString


def is_text(structure: pytree.Structure) -> bool:
    """Whether this is a text among the characters, of three leaves."""
    return structure is not pytree.LEAF and structure[0] is Deferred and type(structure[1]) is TextAmongCharacters


def _part(results: Results, structure: pytree.Structure, outputs: Iterator[Output]) -> Any:
    types = results.types
    if structure is pytree.LEAF:
        return _leaf(results, next(outputs))
    kind, auxiliary, children = structure
    if kind is type(None):
        return _constant(results, None)
    if is_text(structure):
        text = text_of(results, structure, [next(outputs) for _ in range(3)])
        if text is None:
            raise NotNative
        return text
    if kind is Choice:
        number = _result(results, next(outputs), np.int64)
        return types.Choice(number, tuple([_part(results, child, outputs) for child in children[1:]]))
    if kind is Maybe and auxiliary is None:
        flag = _result(results, next(outputs), np.bool_)
        return types.Choice(flag, (_constant(results, None), _part(results, children[1], outputs)), is_flag=True)
    if kind is Deferred:
        if type(auxiliary) is FString:
            return _f_string(results, auxiliary, children, outputs)
        return types.Container("call", tuple([_part(results, child, outputs) for child in children]), when_run(auxiliary))
    if kind in (tuple, list, dict):
        return types.Container(kind.__name__, tuple([_part(results, child, outputs) for child in children]), auxiliary)
    raise NotNative


def _result(results: Results, output: Output, kind: type) -> int:
    """The number of a result of this type."""
    if output.kind not in OF_RESULTS or results.shapes[output.index].dtype != kind:
        raise NotNative
    return output.index


def _constant(results: Results, value: Any) -> Any:
    return results.types.Leaf((), None, (value,))


def _leaf(results: Results, output: Output) -> Any:
    if output.kind == "value" and not isinstance(output.value, np.ndarray):
        return _constant(results, output.value)
    if output.kind not in ("result", "python scalar"):
        raise NotNative
    shape = results.shapes[output.index]
    if shape.rank or shape.dtype == np.float16 or output.kind == "python scalar" and shape.dtype not in PYTHON_NUMBERS:
        raise NotNative
    kind = "number" if output.kind == "python scalar" else "scalar"
    return results.types.Leaf((results.types.Numbers(output.index, kind, shape.dtype),))


def _f_string(results: Results, made: FString, children: Any, outputs: Iterator[Output]) -> Any:
    conversions = iter(made.conversions)
    parts = []
    for child in children:
        if child is pytree.LEAF or child[0] is not tuple:
            parts.append(_part(results, child, outputs))
        else:
            value, specification = [_part(results, one, outputs) for one in child[2]]
            parts.append(_shown(results, value, next(conversions), specification))
    if len(parts) == 1:
        return parts[0]
    container = results.types.Container
    return container("call", (container("tuple", tuple(parts)),), "".join)


def _shown(results: Results, value: Any, conversion: int, specification: Any) -> Any:
    """A value as an f-string shows it."""
    types = results.types
    known = specification.constants[0] if isinstance(specification, types.Leaf) and not specification.numbers else None
    if isinstance(value, types.Leaf) and value.numbers:
        (number,) = value.numbers
        if type(known) is str:
            return types.Shown(number.result, shown_as(conversion, known, number.dtype, number.kind == "number"))
    if conversion != -1:
        value = types.Container("call", (value,), CONVERSIONS[conversion])
    return types.Container("call", (value, specification), format)
