"""Kernels of ufuncs that are not NumPy's: the loops that the ufunc itself runs, called by name.

``scipy.special`` has most of them. Some of these have kernels of phlox's own for real numbers (`elementary`), which are fused
with what stands beside them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ... import hlo
from ...hlo.ops.ufunc_calls import PREFIX, ufunc_call_of
from ..recording.function_tables import FIND_KERNELS, SPECIAL_KERNELS, Kernel, module_of
from ..recording.libraries import is_installed

Instruction = hlo.Instruction


def kernel_of(ufunc: np.ufunc) -> Kernel | None:
    """The kernel of an elementwise ufunc of an installed package; None for others."""
    name = module_of(ufunc) or "numpy"
    if name.partition(".")[0] == "numpy" or ufunc.signature is not None:
        return None
    if not is_installed(getattr(sys.modules[name], "__file__", None) or ""):
        return None
    own = SPECIAL_KERNELS.get(ufunc.__name__) if name == "scipy.special" else None

    def emit(*operands: Instruction) -> Any:
        if own is not None and not any(operand.shape.element_type.is_complex for operand in operands):
            return own.emit(*operands)
        return _call_of_loop(ufunc, name, operands)

    return Kernel(emit, clears_flags=name.partition(".")[0] == "scipy")


FIND_KERNELS.append(kernel_of)


def _call_of_loop(ufunc: np.ufunc, module: str, operands: tuple[Instruction, ...]) -> Any:
    """The results of the ufunc's first loop of these types."""
    if module.partition(".")[0] == "scipy":
        _require_no_errors()
    calls = [ufunc_call_of(f"{PREFIX}{module}.{ufunc.__name__}.{types}") for types in ufunc.types]
    takes = tuple([operand.shape.element_type for operand in operands])
    call = next((one for one in calls if one is not None and one.takes == takes), None)
    if call is None:
        kinds = ", ".join([kind.name for kind in takes])
        raise NotImplementedError(
            f"{module}.{ufunc.__name__} of elements of the types {kinds} is not implemented for traced arrays"
        )
    dimensions = operands[0].shape.dimensions
    operands = tuple(map(_scalar_or_array, operands))
    own = dimensions if any(operand.shape.rank for operand in operands) else ()
    shapes = tuple([hlo.Shape(kind, own) for kind in call.gives])
    made = hlo.custom_call(
        *operands, shape=hlo.TupleShape(shapes) if len(shapes) > 1 else shapes[0], custom_call_target=call.target
    )
    if len(shapes) == 1:
        return _of_dimensions(made, dimensions)
    return tuple([_of_dimensions(hlo.get_tuple_element(made, number), dimensions) for number in range(len(shapes))])


def _of_dimensions(result: Instruction, dimensions: tuple[int, ...]) -> Instruction:
    return result if result.shape.dimensions == dimensions else hlo.broadcast_in_dim(result, dimensions, ())


def _scalar_or_array(operand: Instruction) -> Instruction:
    """The scalar that an array is made of, if it is."""
    is_made = operand.opcode == "broadcast" and not operand.operands[0].shape.rank
    return operand.operands[0] if is_made else operand


def _require_no_errors() -> None:
    """SciPy's loops look up what to do about errors in a table of the process."""
    actions = {kind: action for kind, action in sys.modules["scipy.special"].geterr().items() if kind != "memory"}
    if set(actions.values()) != {"ignore"}:
        raise NotImplementedError(
            "functions of scipy.special that tell of errors, as scipy.special.seterr or errstate says, are not implemented for "
            "traced arrays. Fix: let it ignore them while the function is called"
        )
