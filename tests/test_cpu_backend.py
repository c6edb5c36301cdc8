"""The CPU backend against the reference, over all operations and the samples that their records give."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.hlo import (
    OPERATIONS,
    Builder,
    Computation,
    Module,
    Shape,
    TupleShape,
    component_type,
    element_type_of,
    leaves,
    make_instruction,
    shape_of,
)
from phlox.hlo.element_type import ELEMENT_TYPES
from phlox.runtime import Environment

GAPS = Path(__file__).parent.parent / "docs" / "gaps.md"
# Samples that are compiled into one native function. One at a time most of the time would go into compiling.
GROUP = 16

# The largest difference in ULP of the type. Native functions are good to 1 (f32) or 2 ULP (f64), NumPy's vector functions to 4.
# Types of at most 16 bits are computed in f32 on both sides: the results are the same or neighbours. Operations that are not
# listed must give equal results, down to the sign of zeros.
REAL_ULP = {
    **dict.fromkeys(("exponential", "exponential-minus-one", "log", "log-plus-one", "power", "sine", "cosine", "tan"), 5),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh"), 5),
    **{"tanh": 5, "atan2": 5, "cbrt": 5, "logistic": 6, "rsqrt": 2, "erf": 2},
}
# In ULP of the modulus; for power, whose error is proportional to |w log z|, at numbers of moderate size.
COMPLEX_ULP = {
    **dict.fromkeys(("exponential", "exponential-minus-one", "log", "log-plus-one", "sine", "cosine", "logistic", "rsqrt"), 8),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh"), 8),
    **{"multiply": 2, "abs": 2, "sign": 4, "divide": 6, "sqrt": 6, "tan": 10, "tanh": 10, "power": 60},
}
# The reference and native code add in different orders: on small integers and powers of two both are exact.
EXACT_ON_TAME_VALUES = {"reduce", "dot", "convolution", "call", "while", "map", "fusion"}
# Operations whose every result depends on many elements: in ULP of the largest number in the result.
NORMWISE_ULP = {
    **dict.fromkeys(("batch-norm-training", "batch-norm-inference", "batch-norm-grad"), 8),
    **{"cholesky": 8, "triangular-solve": 8, "fft": 8},
}

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 1e38, 1e-40, 1e10]


def reals(random, dtype, count, tame):
    with np.errstate(all="ignore"):
        if tame:
            return random.choice([1.0, 2.0, -1.0, 0.5], count).astype(dtype)
        values = (random.normal(size=count) * 10 ** random.uniform(-2, 2, count)).astype(dtype)
        chosen = random.random(count) < 0.3
        values[chosen] = random.choice(np.array(SPECIAL).astype(dtype), chosen.sum())
        return values


def integers(random, dtype, count, tame):
    info = np.iinfo(dtype)
    if tame:
        return random.integers(0, 4, count).astype(dtype)
    values = random.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
    values = np.where(random.random(count) < 0.5, random.integers(0, 70, count).astype(dtype), values)
    extremes = np.array([0, 1, 2, info.max, info.max - 1, info.min], dtype)
    extremes = np.append(extremes, np.array(-1).astype(dtype))
    chosen = random.random(count) < 0.3
    values[chosen] = random.choice(extremes, chosen.sum())
    return values


def value_of(operand, random, tame):
    """An operand of a sample: itself, or for a shape values that include the special ones unless they are to be ``tame``."""
    if isinstance(operand, TupleShape):
        return tuple(value_of(element, random, tame) for element in operand.elements)
    if not isinstance(operand, Shape):
        return operand
    kind, dtype, count = operand.element_type.kind, operand.dtype, operand.size
    if kind == "pred":
        values = random.integers(0, 2, count).astype(dtype)
    elif kind in ("signed", "unsigned"):
        values = integers(random, dtype, count, tame)
    elif kind == "complex":
        values = (random.normal(size=count) + 1j * random.normal(size=count)).astype(dtype)
        if tame:
            values = (random.choice([1.0, -1.0, 2.0], count) + 1j * random.choice([1.0, -1.0, 0.0], count)).astype(dtype)
    else:
        values = reals(random, dtype, count, tame)
    return values.reshape(operand.dimensions)


def flattened(value):
    """The arrays in nested tuples, in order."""
    if isinstance(value, tuple):
        return [array for element in value for array in flattened(element)]
    return [np.asarray(value, order="C")]


def module_of(opcode, samples):
    """The module that does the operation on the operands of each sample, all results in a tuple; with them the instructions."""
    parameters, results = [], []
    for sample in samples:
        shapes = [o if isinstance(o, (Shape, TupleShape)) else shape_of(o) for o in sample.operands]
        operands = [make_instruction("parameter", (), {"number": len(parameters) + i}, shape) for i, shape in enumerate(shapes)]
        parameters += operands
        results.append(make_instruction(opcode, operands, sample.attributes, sample.shape))
    root = make_instruction("tuple", results) if len(results) > 1 else results[0]
    roots = [root] if len(results) > 1 else []
    return Module("samples", Computation("main", (*parameters, *results, *roots), root)), results


def assert_equal(actual, expected, message):
    """Equal values of the same type: NaN equals NaN, 0 does not equal -0."""
    np.testing.assert_array_equal(actual, expected, err_msg=message)
    if expected.dtype.kind == "f":
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]), err_msg=f"sign of zero: {message}")


def assert_close_to_largest(actual, expected, tolerance, message):
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(actual), finite, err_msg=message)
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected), err_msg=message)
    largest = np.abs(expected[finite]).max(initial=0)
    np.testing.assert_allclose(actual[finite], expected[finite], rtol=0, atol=tolerance * largest, err_msg=message)


def assert_close(actual, expected, element_type, opcode, message, from_complex):
    wide = np.complex128 if element_type.is_complex else np.float64
    with np.errstate(invalid="ignore"):
        actual, expected = actual.astype(wide), expected.astype(wide)
    component = component_type(element_type)
    if opcode in NORMWISE_ULP:
        assert_close_to_largest(actual, expected, NORMWISE_ULP[opcode] * float(ml_dtypes.finfo(component.dtype).eps), message)
        return
    ulp = (COMPLEX_ULP if from_complex else REAL_ULP).get(opcode, 0)
    if ulp == 0:
        parts = (actual.real, actual.imag), (expected.real, expected.imag)
        for mine, wanted in zip(*parts) if element_type.is_complex else [(actual, expected)]:
            assert_equal(mine, wanted, message)
        return
    if component.bits <= 16:
        ulp = 1
    finite = np.isfinite(expected)
    assert_equal(actual[~finite], expected[~finite], message)
    info = ml_dtypes.finfo(component.dtype)
    unit = np.maximum(np.abs(expected[finite]) * float(info.eps), float(info.smallest_subnormal))
    excess = np.abs(actual[finite] - expected[finite]) / unit
    assert np.all(excess <= ulp), f"{message}: {excess.max()} ULP at {expected[finite][excess.argmax()]}, at most {ulp} allowed"
    if not element_type.is_complex:
        zero = (actual == 0) & (expected == 0)
        np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]), err_msg=f"sign of zero: {message}")


def groups(opcode):
    """The operation's samples, some at a time."""
    samples = OPERATIONS[opcode].samples()
    return [samples[start : start + GROUP] for start in range(0, len(samples), GROUP)]


def check_samples(opcode, samples, seed):
    """Run the samples, compiled into one function, on both backends and compare."""
    random = np.random.default_rng(seed)
    tame = opcode in EXACT_ON_TAME_VALUES or opcode in NORMWISE_ULP
    module, results = module_of(opcode, samples)
    values = [[value_of(operand, random, tame) for operand in sample.operands] for sample in samples]
    executable = get_backend("cpu").compile(module)
    produced = iter(executable(*flattened(tuple(v for operands in values for v in operands))))
    for sample, operands, instruction in zip(samples, values, results):
        alone, _ = module_of(opcode, [sample])
        expected = flattened(hlo.evaluate(alone.entry, *operands, environment=Environment()))
        for shape, wanted in zip(leaves(instruction.shape), expected, strict=True):
            actual = np.asarray(next(produced))
            message = f"{opcode} of {[str(o.shape) for o in instruction.operands]} {sample.attributes}, a leaf {shape}"
            assert actual.dtype == wanted.dtype and actual.shape == wanted.shape, message
            if not (shape.element_type.is_float or shape.element_type.is_complex):
                np.testing.assert_array_equal(actual, wanted, err_msg=message)
            else:
                first = leaves(instruction.operands[0].shape) if instruction.operands else []
                from_complex = any(leaf.element_type.is_complex for leaf in first)
                assert_close(actual, wanted, shape.element_type, opcode, message, from_complex)
    assert next(produced, None) is None


# --- the gaps ---


def gap_rows(section):
    """The cells of a table in docs/gaps.md."""
    text = GAPS.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def operations_without_native_code():
    return {name.strip("`") for name, backend, *_ in gap_rows("Operations") if backend == "cpu"}


WITH_SAMPLES = [opcode for opcode, record in OPERATIONS.items() if record.samples()]


@pytest.mark.parametrize("opcode", WITH_SAMPLES)
def test_operation(opcode):
    """Native code agrees with the reference; the operations in the list of gaps, and no others, refuse samples, by name."""
    if opcode not in operations_without_native_code():
        for number, samples in enumerate(groups(opcode)):
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


def test_the_gaps_are_operations():
    assert operations_without_native_code() <= set(OPERATIONS)


@pytest.mark.parametrize("name", [name for name, t in ELEMENT_TYPES.items() if t.dtype is not None])
def test_element_type(name):
    """The negative of 1 (which the types without a sign wrap around), or a refusal that names the type."""
    missing = {t for types, backend in gap_rows("Element types") if backend == "cpu" for t in types.split()}
    element_type = ELEMENT_TYPES[name]
    b = Builder("f")
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
