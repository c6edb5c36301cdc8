"""The GPU backends against the reference, over all operations and the samples that their records give.

They run on OpenCL devices, Intel's runtime for processors among them, and by `pytest -m gpu` on NVIDIA's.
"""

import re

import numpy as np
import pytest
from gpu_backends import (
    WITH_SAMPLES,
    native_samples,
    operations_without_gpu_code,
    refusal,
    types_without_gpu_code,
)
from operation_checks import check_samples
from phlox.backends.gpu.support import support
from phlox.hlo import OPERATIONS, Shape, element_type_of
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder
from thinning import LEFT_TO_CI, one_in

GROUP = 16  # samples that are compiled into one program
LONG = [pytest.param("fft", marks=LEFT_TO_CI)]  # whose kernels take long to compile


@pytest.mark.parametrize("opcode", [*one_in(5, [opcode for opcode in WITH_SAMPLES if opcode != "fft"]), *LONG])
def test_operation(backend, opcode):
    samples = native_samples(opcode)
    for number, start in enumerate(range(0, len(samples), GROUP)):
        check_samples(opcode, samples[start : start + GROUP], seed=1000 * len(opcode) + number, backend=backend)


@pytest.mark.parametrize("opcode", one_in(4, WITH_SAMPLES))
def test_what_is_refused_stands_in_the_list_of_gaps(opcode):
    """Programs are planned for no device: operations of the list refuse samples, and no others. Messages name operations."""
    if opcode not in operations_without_gpu_code():
        assert refusal(opcode, OPERATIONS[opcode].samples()) is None
        return
    refusals = [text for sample in OPERATIONS[opcode].samples() if (text := refusal(opcode, [sample])) is not None]
    assert refusals, f"{opcode} stands in docs/gaps.md, but all its samples have code"
    for text in refusals:
        assert set(re.findall(r" ([a-z-]+)\(", text)) & set(OPERATIONS), text


def test_the_gaps_are_operations():
    assert operations_without_gpu_code() <= set(OPERATIONS)
    assert {opcode for opcode in OPERATIONS if support(opcode) is None} <= operations_without_gpu_code()


@pytest.mark.parametrize("name", one_in(3, [name for name, t in ELEMENT_TYPES.items() if t.dtype is not None]))
def test_element_type(backend, name):
    """The negative of 1 (which the types without a sign wrap around), or a refusal that names the type."""
    element_type = ELEMENT_TYPES[name]
    b = XlaBuilder("f")
    x = b.parameter(Shape(element_type, (300,)))
    without_negative = name in ("pred", "f8e8m0fnu")
    module = b.build_module(b.emit("reverse", x, dimensions=(0,)) if without_negative else b.Neg(x))
    if name in types_without_gpu_code():
        with pytest.raises(NotImplementedError, match=rf"\b{name}\b"):
            backend.compile(module)
        return
    values = np.ones(300, element_type.dtype)
    (result,) = backend.compile(module)(values)
    result = np.asarray(result)
    assert element_type_of(result.dtype) is element_type
    wrapped = 2**element_type.bits - 1 if element_type.kind == "unsigned" else -1
    np.testing.assert_array_equal(result.astype(complex), 1 if without_negative else wrapped)
