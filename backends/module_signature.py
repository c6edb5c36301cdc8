"""The native call of a whole module: which calls of it bypass Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .. import hlo
from . import registry


def native_call(module: hlo.Module) -> tuple[Any, list[Any]] | None:
    """The CallSignature of calls with one array for each entry parameter, a NumPy scalar for rank 0, and the steps behind it.

    None where calls have to go through Python: for parameters that are tuples or tokens, dynamic dimensions, layouts that are
    neither row-major nor column-major, and results with tokens.
    """
    types = registry.call_signature_types()
    root = module.entry.shape
    if types is None or any(shape.has_dynamic_dimensions for shape in hlo.leaves(root)):
        return None
    guards = [_guard(types, shape) for shape in module.entry.parameter_shapes]
    if None in guards or len(hlo.leaves(root)) != len(hlo.array_leaves(root)):
        return None
    results = tuple(types.ResultSpec(shape.dtype, shape.dimensions) for shape in hlo.leaves(root))
    flat = root.is_tuple and not any(element.is_tuple for element in root.elements)
    structure = "tuple" if flat else "steps" if root.is_tuple else "single"
    signature = types.CallSignature(tuple(guards), results=results, result_structure=structure)
    return signature, list(_steps(types, root, itertools.count())) if structure == "steps" else []


def _steps(types: Any, shape: hlo.Shape | hlo.TupleShape, numbers: Iterator[int]) -> Iterator[Any]:
    """What puts the results together to a tuple that is nested as the shape is."""
    if not shape.is_tuple:
        yield types.Step("result", next(numbers))
        return
    for element in shape.elements:
        yield from _steps(types, element, numbers)
    yield types.Step("tuple", len(shape.elements))


def _guard(types: Any, shape: hlo.Shape | hlo.TupleShape) -> Any:
    if shape.is_tuple or shape.element_type.dtype is None or shape.has_dynamic_dimensions:
        return None
    if shape.rank == 0:
        try:
            return types.NumPyScalarGuard(shape.dtype)
        except NotImplementedError:  # the layout of its objects in memory is not known
            return types.ArrayGuard(shape.dtype, ())
    if shape.is_row_major:
        return types.ArrayGuard(shape.dtype, shape.dimensions)
    is_column_major = shape.minor_to_major == tuple(range(shape.rank))
    return types.ArrayGuard(shape.dtype, shape.dimensions, "F") if is_column_major else None
