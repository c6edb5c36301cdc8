"""Programs with dynamic dimensions as programs without: each value becomes an array of its bounds, and its sizes.

Source of the idea: ``dynamic_padder.cc`` and ``dynamic_dimension_inference.cc`` of XLA. What is behind a size is unspecified;
operations whose result would depend on it are written so that it does not. For backends that know static shapes only.
"""

from __future__ import annotations

from dataclasses import dataclass

from ... import hlo
from ...hlo import S32, Module, Shape, leaves
from ...hlo.address_space import check_address_space
from ...hlo.shape import TOKEN_SHAPE, array_leaves
from ..pass_manager import PAD_DYNAMIC_DIMENSIONS, module_pass
from ..traversal import has_dynamic_shapes
from . import algebra, control_flow, indexing, movement, reductions, sizes  # noqa: F401  (importing them fills the table)
from .control_flow import mentions_dynamic_dimensions
from .padder import Error, Padder, flat, nested

__all__ = ["PaddedModule", "pad_dynamic_dimensions"]


@dataclass(eq=False)
class PaddedModule(Module):
    """A module whose dynamic dimensions have become arrays of their bounds, and sizes.

    It takes the leaves of the parameters that hold data, as arrays of the bounds (row-major where padded), then the size
    (s32[]) of each dynamic dimension. It returns a tuple of the same for the result, then an s32[]: 0, or n where
    ``errors[n - 1]`` has the exception that is to be raised, and its message. ``results`` are the shapes as they were.
    """

    errors: tuple[Error, ...] = ()
    results: tuple[Shape, ...] = ()


@module_pass(PAD_DYNAMIC_DIMENSIONS)
def pad_dynamic_dimensions(module: Module) -> Module:
    """Dynamic dimensions as arrays of their bounds and sizes; parameters and results change (see `PaddedModule`).

    Raises NotImplementedError, naming it, for an operation that cannot be written so, and AddressSpaceError where the arrays
    of the bounds are too large.

    >>> from phlox.hlo import parse_module
    >>> padded = pad_dynamic_dimensions(parse_module('''
    ... HloModule m
    ... ENTRY e {
    ...   x = f32[<=10] parameter(0)
    ...   ROOT y = f32[<=10] negate(x)
    ... }'''))
    >>> print(padded.entry)
    <computation e: (f32[10], s32[]) -> (f32[10], s32[], s32[])>
    """
    if not has_dynamic_shapes(module):
        return module
    errors: list[Error] = []
    entry = module.entry
    p = Padder(entry.name, errors)
    names = [f"{parameter.name}.{n}" if parameter.shape.is_tuple else parameter.name
             for parameter in entry.parameters for n in range(len(array_leaves(parameter.shape)))]  # fmt: skip
    shapes = [leaf for parameter in entry.parameters for leaf in array_leaves(parameter.shape)]
    bounds = [shape.static() if shape.dynamic_dimensions else shape for shape in shapes]
    with p.b:
        arrays = iter([p.b.parameter(shape, name) for shape, name in zip(bounds, names)])
        given = iter([p.b.parameter(Shape(S32)) for shape in shapes for dynamic in shape.dynamic_dimensions if dynamic])
        arguments = []
        for parameter in entry.parameters:
            found = leaves(parameter.shape)
            parts = [hlo.after_all() if leaf == TOKEN_SHAPE else next(arrays) for leaf in found]
            parts += [next(given) for leaf in found for dynamic in leaf.dynamic_dimensions if dynamic]
            arguments.append(nested(parts, parameter.shape))
        result = flat(p.run(entry, arguments), entry.shape)
        results = [part for part in result if part.shape != TOKEN_SHAPE]
        root = hlo.tuple(*results, p.error_or_none())
        padded = PaddedModule(module.name, p.b.build(root), errors=tuple(errors), results=tuple(array_leaves(entry.shape)))
    _require_static(padded)
    check_address_space(padded)
    return padded


def _require_static(module: Module) -> None:
    """Raise NotImplementedError where an operation calls a computation that was not padded."""
    if not has_dynamic_shapes(module):
        return
    for computation in module.computations():
        for instruction in computation.instructions:
            if any(map(mentions_dynamic_dimensions, instruction.called_computations)):
                raise NotImplementedError(
                    f"dynamic dimensions in the computation of {instruction.opcode} have no native code; the reference backend "
                    "runs it"
                )
