"""The CPU backend against the reference, over all operations and the samples that their records give."""

import numpy as np
import pytest
from operation_checks import check_samples, gap_rows, operations_without_native_code
from phlox.backends.registry import get_backend
from phlox.hlo import OPERATIONS, Shape, element_type_of
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.xla_builder import XlaBuilder
from thinning import one_in

# Samples that are compiled into one native function. One at a time most of the time would go into compiling.
GROUP = 16


# Operations whose native code is long, and the parts in which their samples are run.
PARTS = {"fft": 4}


def groups(opcode, part):
    """The operation's samples, some at a time."""
    samples = OPERATIONS[opcode].samples()[part :: PARTS.get(opcode, 1)]
    return [samples[start : start + GROUP] for start in range(0, len(samples), GROUP)]


# --- the gaps ---


WITH_SAMPLES = [opcode for opcode, record in OPERATIONS.items() if record.samples()]


def check_operation(opcode, part=0):
    """Native code agrees with the reference; the operations in the list of gaps, and no others, refuse samples, by name."""
    if opcode not in operations_without_native_code():
        for number, samples in enumerate(groups(opcode, part)):
            check_samples(opcode, samples, seed=1000 * len(opcode) + number)
        return
    refusals = []
    for number, sample in enumerate(OPERATIONS[opcode].samples()):
        try:
            check_samples(opcode, [sample], seed=number)
        except NotImplementedError as error:
            refusals.append(str(error))
    assert refusals, f"{opcode} stands in docs/gaps.md, but all its samples compile"
    assert any(opcode in refusal for refusal in refusals), f"no message names {opcode}: {refusals[0]}"


@pytest.mark.parametrize("opcode", [opcode for opcode in WITH_SAMPLES if opcode not in PARTS])
def test_operation(opcode):
    check_operation(opcode)


@pytest.mark.parametrize("opcode", PARTS)
@pytest.mark.parametrize("part", one_in(4, range(4)))
def test_part_of_the_samples(opcode, part):
    check_operation(opcode, part)


def test_the_gaps_are_operations():
    assert operations_without_native_code() <= set(OPERATIONS)


@pytest.mark.parametrize("name", [name for name, t in ELEMENT_TYPES.items() if t.dtype is not None])
def test_element_type(name):
    """The negative of 1 (which the types without a sign wrap around), or a refusal that names the type."""
    missing = {t for types, backend in gap_rows("Element types") if backend == "cpu" for t in types.split()}
    element_type = ELEMENT_TYPES[name]
    b = XlaBuilder("f")
    x = b.parameter(Shape(element_type, (3,)))
    without_negative = name in ("pred", "f8e8m0fnu")
    module = b.build_module(b.emit("copy", x) if without_negative else b.Neg(x))
    if name in missing:
        with pytest.raises(NotImplementedError, match=rf"\b{name}\b"):
            get_backend("cpu").compile(module)
        return
    values = np.ones(3, element_type.dtype)
    (result,) = get_backend("cpu").compile(module)(values)
    assert element_type_of(result.dtype) is element_type
    wrapped = 2**element_type.bits - 1 if element_type.kind == "unsigned" else -1
    np.testing.assert_array_equal(result.astype(complex), 1 if without_negative else wrapped)
