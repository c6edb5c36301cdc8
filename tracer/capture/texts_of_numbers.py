"""``x.astype(str)`` of numbers that the program computes: it calls NumPy for them, and has their characters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import hlo
from ..calls.host_call import call_when_run
from ..calls.leaves import ShapeDtype
from ..recording.array import TracedArray, require_trace
from ..recording.dynamic_array import DynamicArray, dynamic
from ..recording.function_tables import DYNAMIC, METHODS
from .text_fields import TextArray

_of_sizes_known_later, _of_known_sizes = DYNAMIC[np.ndarray.astype], METHODS[np.ndarray.astype]


def _astype(array: TracedArray, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    if hlo.as_dtype(dtype).kind != "U":
        convert = _of_sizes_known_later if isinstance(array, DynamicArray) else _of_known_sizes
        return convert(array, dtype, *args, **kwargs)
    if isinstance(array, DynamicArray):
        trace = require_trace(array)
        whole = _astype(array.padded(trace), dtype)
        return TextArray(dynamic(trace, whole.codes, array.sizes(trace)), whole.dtype)
    found = np.zeros(1, array.dtype).astype(dtype).dtype
    shape = (*array.shape, found.itemsize // 4)
    codes = call_when_run(_characters, ShapeDtype(shape, np.uint32), (array, found), has_effects=False)
    return TextArray(codes, found).of(codes, is_array=not array.is_scalar)


def _characters(values: Any, dtype: np.dtype) -> np.ndarray:
    texts = np.asarray(values).astype(dtype)
    return texts.reshape((*texts.shape, 1)).view(np.uint32)


METHODS[np.ndarray.astype] = DYNAMIC[np.ndarray.astype] = _astype
