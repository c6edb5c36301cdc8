"""Samples of operations on both backends, and what it means that the results agree."""

import ml_dtypes
import numpy as np
from comparisons import flattened
from environments import prepared_environment
from paths import ROOT
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.hlo import (
    Computation,
    Module,
    component_type,
    element_type_of,
    make_instruction,
)
from retyped_samples import operand_shape
from sample_values import value_of
from ulp_table import EXACT_ON_TAME_VALUES, NORMWISE_ULP, errors_in_ulp, precise, ulp_bound

GAPS = ROOT / "docs" / "gaps.md"


def module_of(opcode, samples):
    """The module that does the operation on the operands of each sample, all results in a tuple; with them the instructions."""
    parameters, results = [], []
    for sample in samples:
        shapes = [operand_shape(o) for o in sample.operands]
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


def assert_close(actual, expected, operands, element_type, opcode, message):
    """Within the bound of the table: of the exact result where it is finite, else equal to the reference's."""
    exact, bound = None, ulp_bound(opcode, element_type_of(operands[0].dtype)) if operands else 0
    wide = np.complex128 if element_type.is_complex else np.float64
    if bound:
        exact = precise(opcode, operands)
        if exact is None:  # the reference is as good as NumPy
            exact, bound = np.asarray(expected), bound + 4
        errors = np.where(np.isfinite(expected.astype(wide)), errors_in_ulp(actual, exact, element_type, opcode), 0)
        worst = tuple(operand.reshape(-1)[errors.argmax()] for operand in operands) if errors.size else ()
        assert np.all(errors <= bound), f"{message}: {errors.max()} ULP of {worst}, at most {bound} allowed"
    with np.errstate(invalid="ignore"):
        actual, expected = actual.astype(wide), expected.astype(wide)
    if opcode in NORMWISE_ULP:
        unit = float(ml_dtypes.finfo(component_type(element_type).dtype).eps)
        assert_close_to_largest(actual, expected, NORMWISE_ULP[opcode] * unit, message)
        return
    if bound:
        finite = np.isfinite(expected)
        overflow = np.isinf(actual.real) & finite  # a result that rounds to infinity or to the largest number
        np.testing.assert_array_equal(np.isfinite(actual) | overflow, finite, err_msg=message)
        assert_equal(actual[~finite], expected[~finite], message)
        if not element_type.is_complex:
            zero = (actual == 0) & (expected == 0)
            np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]), err_msg=f"sign: {message}")
        return
    parts = (actual.real, actual.imag), (expected.real, expected.imag)
    for mine, wanted in zip(*parts) if element_type.is_complex else [(actual, expected)]:
        assert_equal(mine, wanted, message)


def assert_agrees(actual, wanted, operands, element_type, opcode, message):
    """Within the table's bounds for floats, else equal."""
    assert actual.dtype == wanted.dtype and actual.shape == wanted.shape, message
    if element_type.is_float or element_type.is_complex:
        assert_close(actual, wanted, flattened(tuple(operands)), element_type, opcode, message)
    else:
        np.testing.assert_array_equal(actual, wanted, err_msg=message)


def has_bound(opcode, sample):
    """Whether there is a bound for the errors: complex atan2 loses digits near y = ix, and `precise` near y = 0."""
    shapes = [operand_shape(o) for o in sample.operands]
    return opcode != "atan2" or not any(leaf.element_type.is_complex for shape in shapes for leaf in hlo.leaves(shape))


def is_tame(opcode):
    """Whether the operation is to be compared on tame values alone."""
    return opcode in EXACT_ON_TAME_VALUES or opcode in NORMWISE_ULP


def check_samples(opcode, samples, seed, tame=False, backend=None):
    """Run the samples on the reference and, compiled into one function, in native code; compare within the table's bounds."""
    backend = backend or get_backend("cpu")
    random = np.random.default_rng(seed)
    tame = tame or is_tame(opcode)
    module, results = module_of(opcode, samples)
    values = [[value_of(operand, random, tame, nan=opcode != "sort") for operand in sample.operands] for sample in samples]
    executable = backend.compile(module)
    with prepared_environment(module).active():
        produced = iter(executable(*flattened(tuple(v for operands in values for v in operands))))
    environment = prepared_environment(module)
    for sample, operands, instruction in zip(samples, values, results):
        alone, _ = module_of(opcode, [sample])
        expected = flattened(hlo.evaluate(alone.entry, *operands, environment=environment))
        for shape, wanted in zip(hlo.array_leaves(instruction.shape), expected, strict=True):
            message = f"{opcode} of {[str(o.shape) for o in instruction.operands]} {sample.attributes}, a leaf {shape}"
            assert_agrees(np.asarray(next(produced)), wanted, operands, shape.element_type, opcode, message)
    assert next(produced, None) is None


def gap_rows(section):
    """The cells of a table in docs/gaps.md."""
    text = GAPS.read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def operations_without_native_code():
    return {name.strip("`") for name, backend, *_ in gap_rows("Operations") if backend == "cpu"}


def operations_left_out():
    """For each layer, the operations that docs/gaps.md says it has no entry for."""
    found = {}
    for layer, names, _ in gap_rows("What layers leave out"):
        found.setdefault(layer, set()).update(name.strip("` ") for name in names.split(","))
    return found
