"""Facts that the records state about operations, tried on values and on whatever else follows from them."""

import ml_dtypes
import numpy as np
import pytest
from phlox.hlo import ELEMENT_TYPES, OPERATIONS, ShapeError, evaluate_operation
from phlox.hlo.operation import ASSOCIATIVE

TYPES = [element_type for element_type in ELEMENT_TYPES.values() if element_type.dtype is not None]
HAVE_IDENTITIES = [record for record in OPERATIONS.values() if any(record.identity(t) is not None for t in TYPES)]
ASSOCIATIVE_OPERATIONS = [record for record in OPERATIONS.values() if ASSOCIATIVE in record.traits]


def telling_values(element_type):
    """Zeros of both signs, the extremes, ones, and what is no number, as far as the type has them."""
    dtype = element_type.dtype
    if element_type.kind == "pred":
        return np.array([False, True])
    if element_type.is_integer:
        limits = ml_dtypes.iinfo(dtype)
        return np.array([dtype.type(value) for value in (int(limits.min), 0, 1, int(limits.max))], dtype)
    real = [-0.0, 0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]
    if element_type.is_complex:
        return np.array([complex(x, y) for x in real for y in real], dtype)
    limits = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        return np.array([*real, float(limits.min), float(limits.max)]).astype(dtype)


def bits(array):
    """The bytes of each element, those of all NaN alike."""
    parts = array.view(ml_dtypes.finfo(array.dtype).dtype) if array.dtype.kind == "c" else array
    is_nan = parts != parts
    return [("nan" if nan else part.tobytes()) for part, nan in zip(parts, is_nan)]


@pytest.mark.parametrize("element_type", TYPES, ids=str)
@pytest.mark.parametrize("record", HAVE_IDENTITIES, ids=str)
def test_an_identity_changes_nothing(record, element_type):
    identity = record.identity(element_type)
    if identity is None:
        return
    values = telling_values(element_type)
    with np.errstate(over="ignore"):
        others = np.full(values.shape, identity, element_type.dtype)
    try:
        results = [evaluate_operation(record.opcode, *operands) for operands in ((values, others), (others, values))]
    except ShapeError:
        return  # the operation does not take this type
    for result in results:
        assert bits(result) == bits(values)


@pytest.mark.parametrize("record", ASSOCIATIVE_OPERATIONS, ids=str)
def test_associative_operations_have_an_identity(record):
    """Of every type that they take, but of sums where there is no zero, and of products of complex numbers."""
    for element_type in TYPES:
        value = np.ones((), element_type.dtype)
        try:
            evaluate_operation(record.opcode, value, value)
        except ShapeError:
            continue
        has_none = element_type.name == "f8e8m0fnu" and record.opcode == "add"
        has_none |= element_type.is_complex and record.opcode == "multiply"
        assert (record.identity(element_type) is None) == has_none, element_type
