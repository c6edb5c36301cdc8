"""Calls of registered functions from traced ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ...runtime import find_target
from ..recording.array import TracedArray
from ..recording.current_trace import current_trace
from ..recording.operands import as_traced


def custom_call(target: str, *arrays: Any, result: Any, backend_config: str = "", has_side_effect: bool = False) -> Any:
    """The result of the function that is registered under the name ``target``, of these arrays.

    result: what it returns: anything with a ``shape`` and a ``dtype`` (an array, a `phlox.ShapeDtype`), or a tuple of such.
    backend_config: a text for the function; see `phlox.register_custom_call`. has_side_effect: whether the call happens even
    if nothing needs its result, as often as written, in order with others. In plain Python the function is called at once.

    Raises NotImplementedError for a name that is not registered, TypeError for what does not describe a result, or for a
    function that returns another one.

    >>> import phlox
    >>> @phlox.register_custom_call("example_cumulative_sum")
    ... def cumulative_sum(x):
    ...     return np.cumsum(x, dtype=x.dtype)
    >>> @phlox.jit
    ... def f(x):
    ...     return 2 * custom_call("example_cumulative_sum", x, result=x)
    >>> f(np.float32([1, 2, 3]))
    array([ 2.,  6., 12.], dtype=float32)
    """
    if not isinstance(target, str):
        raise TypeError(f"custom_call: a name (str) is required, got {target!r}")
    found = find_target(target)
    shape = _shape(result)
    config = hlo.attributes.quoted(backend_config) if backend_config else ""
    trace = current_trace()
    if trace is None:
        values = tuple([np.asarray(array)[()] for array in arrays])
        return found.prepared([hlo.shape_of(value) for value in values], shape, config)(values)
    operands = [as_traced(array).instruction(trace) for array in arrays]
    call = hlo.custom_call(
        *operands, shape=shape, custom_call_target=target, backend_config=config,
        custom_call_has_side_effect=has_side_effect,
    )  # fmt: skip
    if not shape.is_tuple:
        return TracedArray.from_instruction(trace, call)
    elements = [hlo.get_tuple_element(call, index) for index in range(len(shape.elements))]
    return tuple([TracedArray.from_instruction(trace, element) for element in elements])


def _shape(result: Any) -> hlo.Shape | hlo.TupleShape:
    if isinstance(result, tuple):
        if any(isinstance(element, tuple) for element in result):
            raise TypeError("custom_call: result must be an array's description or a tuple of them, got a nested tuple")
        return hlo.TupleShape(tuple(map(_shape, result)))
    if not hasattr(result, "shape") or not hasattr(result, "dtype"):
        raise TypeError(f"custom_call: result must have a shape and a dtype, or be a tuple of such, got {result!r}")
    return hlo.Shape(hlo.element_type_of(np.dtype(result.dtype)), tuple(result.shape))
