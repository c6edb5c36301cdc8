"""The native call of a whole module: which calls of it bypass Python."""

from __future__ import annotations

from typing import Any

from .. import hlo
from . import registry


def module_signature(module: hlo.Module) -> Any:
    """The CallSignature of calls with one array for each entry parameter, a NumPy scalar for rank 0.

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
    structure = "tuple" if flat else "call" if root.is_tuple else "single"
    return types.CallSignature(tuple(guards), results=results, result_structure=structure)


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
