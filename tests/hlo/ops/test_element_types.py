"""Every operation on every element type that it takes: its samples with other types than those that they name.

The ordinary run takes some of the programs, ``pytest -m slow`` all of them.
"""

import ml_dtypes
import numpy as np
import pytest
from operation_checks import check_samples, module_of, operations_without_native_code
from phlox import hlo
from phlox.backends.registry import get_backend
from phlox.compile.simplification import RULES
from phlox.compile.traversal import users_of
from phlox.hlo import OPERATIONS, Module, Shape, ShapeError, array_leaves, element_type_of, evaluate_operation
from phlox.hlo.element_type import ELEMENT_TYPES, F32, U64
from phlox.hlo.operation import HOST_CALL, Sample
from phlox.xla_builder import XlaBuilder
from retyped_samples import ARRAY_TYPES, retyped_computation, retyped_samples, types_in
from sample_values import value_of
from thinning import one_in

# The loops count in the type that is replaced, and end where it holds their limit.
COUNTED = [t for t in ARRAY_TYPES if t.is_integer and t.bits >= 16]
TYPES = {"while": COUNTED}
E8M0 = ELEMENT_TYPES["f8e8m0fnu"]
GROUP = 16
# With other types the sums of integers among the samples are sums of floats, which round as their order says.
SUMS = {"reduce-window", "select-and-scatter", "scan", "scatter"}
STRIDE = 8  # of the programs that the ordinary run takes


def programs(opcode, of_each):
    return [
        sample
        for sample in retyped_samples(opcode, of_each, TYPES.get(opcode, ARRAY_TYPES))
        # What is 0 there, an empty sum or an asynchronous operation's context, is no number of f8e8m0fnu.
        if not (opcode.endswith("dot") or opcode.endswith("-start")) or E8M0 not in types_in(sample)
    ]


def check_program(opcode, sample):
    """The text says the same program; the shape is what evaluation gives."""
    module, _ = module_of(opcode, [sample])
    hlo.verify(module)
    text = module.as_text()
    again = hlo.parse_module(text)
    assert again == module and again.as_text() == text
    assert sample.shape is None or hlo.compatible(module.entry.shape, sample.shape)


def of_chosen_numbers(sample):
    """The sample with a shape in the place of given numbers of 8 bits, whose sums depend on the order."""

    def chosen(operand):
        given = isinstance(operand, np.ndarray) and operand.ndim and element_type_of(operand.dtype)
        return Shape(given, operand.shape) if given and given.is_float and given.bits == 8 else operand

    return Sample([chosen(operand) for operand in sample.operands], sample.attributes, sample.shape)


def check_all(opcode, samples):
    for sample in samples:
        check_program(opcode, sample)
    # What depends on the world outside has its own tests: a receive waits for what is sent.
    if HOST_CALL in OPERATIONS[opcode].traits or opcode in operations_without_native_code():
        return
    # XLA reads a generator whose state has any type, and runs it with states of u64.
    if opcode == "rng-bit-generator":
        samples = [sample for sample in samples if element_type_of(np.asarray(sample.operands[0]).dtype) is U64]
    if opcode == "reduce":
        samples = [of_chosen_numbers(sample) for sample in samples]
    for start in range(0, len(samples), GROUP):
        check_samples(opcode, samples[start : start + GROUP], seed=start, tame=opcode in SUMS)


RETYPED = [opcode for opcode, record in OPERATIONS.items() if record.samples()]


@pytest.mark.parametrize("opcode", RETYPED)
@pytest.mark.parametrize("half", one_in(2, range(2)))
def test_other_types(opcode, half):
    check_all(opcode, programs(opcode, 1)[len(opcode) % STRIDE + STRIDE * half :: 2 * STRIDE])


@pytest.mark.slow
@pytest.mark.parametrize("opcode", RETYPED)
def test_all_other_types(opcode):
    check_all(opcode, programs(opcode, 3))


# --- rewrite rules ---


def assert_alike(actual, expected, tolerance):
    """Equal, with the signs of zeros, in both parts of complex numbers; or to the relative tolerance of the rule."""
    if isinstance(expected, tuple):
        assert len(actual) == len(expected)
        for mine, wanted in zip(actual, expected):
            assert_alike(mine, wanted, tolerance)
        return
    if expected is None:
        assert actual is None
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    element_type = element_type_of(expected.dtype)
    if not (element_type.is_float or element_type.is_complex):
        np.testing.assert_array_equal(actual, expected)
        return
    parts = [(actual.real, expected.real), (actual.imag, expected.imag)] if element_type.is_complex else [(actual, expected)]
    for mine, wanted in parts:
        epsilon = float(ml_dtypes.finfo(wanted.dtype).eps)
        mine, wanted = mine.astype(np.float64), wanted.astype(np.float64)
        if tolerance:
            np.testing.assert_allclose(mine, wanted, rtol=max(tolerance, epsilon), atol=max(tolerance, epsilon))
            continue
        np.testing.assert_array_equal(mine, wanted)
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(mine[numbers]), np.signbit(wanted[numbers]))


def retyped_rule_samples(rule):
    """The programs of the rule's samples with each other type in the place of each of theirs."""
    for sample in (*rule.fires, *rule.unchanged):
        b = XlaBuilder("f")
        computation = b.build_module(b.write(sample)).entry
        shapes = [leaf for instruction in computation.instructions for leaf in array_leaves(instruction.shape)]
        for source in dict.fromkeys(shape.element_type for shape in shapes):
            for target in ARRAY_TYPES:
                if target is source:
                    continue
                try:
                    changed = retyped_computation(computation, source, target)
                except (ShapeError, ValueError):  # a ValueError: a constant is no value of the type
                    continue
                yield f"{source} -> {target}", changed


def with_other_root(computation, root):
    return hlo.rebuild(computation, lambda instruction, operands: root if instruction is computation.root else instruction)


def check_rule(rule):
    """Whatever the rule makes of programs of other types means the same, for NaN, infinities, zeros and limits too."""
    for change, before in retyped_rule_samples(rule):
        root = rule.apply(before.root, users_of(before).get)
        if root is None:
            continue
        after = with_other_root(before, root)
        hlo.verify(Module("f", after))
        for seed in range(2):
            random = np.random.default_rng(seed)
            # Where a rule may change the rounding, what overflows and what cancels is no measure of it.
            tame = rule.tolerance > 0
            arguments = [value_of(shape, random, tame, special_complex=True) for shape in before.parameter_shapes]
            with np.errstate(all="ignore"):
                expected, actual = hlo.evaluate(before, *arguments), hlo.evaluate(after, *arguments)
            try:
                assert_alike(actual, expected, rule.tolerance)
            except AssertionError as error:
                raise AssertionError(f"{change}:\n{Module('f', before).as_text()}\n{Module('f', after).as_text()}") from error


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rules_on_other_types(rule):
    check_rule(rule)


# --- what these tests found ---


def test_powers_of_two_have_no_negatives():
    """In f8e8m0fnu every negate is NaN: the rules that let two signs cancel do not hold."""
    x = np.array([0.5, 1, 2]).astype(E8M0.dtype)
    for build in (
        lambda b, p: b.Neg(b.Neg(p)),
        lambda b, p: b.Add(p, b.Neg(p)),
        lambda b, p: b.Sub(p, b.Neg(p)),
        lambda b, p: b.Mul(b.Neg(p), b.Neg(p)),
        lambda b, p: b.Abs(b.Neg(p)),
    ):
        b = XlaBuilder("f")
        module = b.build_module(build(b, b.parameter(Shape(E8M0, (3,)))))
        (result,) = get_backend("cpu").compile(module)(x)
        assert np.isnan(result.astype(np.float32)).all()


def test_false_is_no_power_of_two():
    b = XlaBuilder("f")
    middle = b.emit("convert", b.parameter(Shape(ELEMENT_TYPES["pred"], (2,))), shape=Shape(E8M0, (2,)))
    module = b.build_module(b.emit("convert", middle, shape=Shape(F32, (2,))))
    p = np.array([False, True])
    through = evaluate_operation("convert", evaluate_operation("convert", p, shape=Shape(E8M0, (2,))), shape=Shape(F32, (2,)))
    (result,) = get_backend("cpu").compile(module)(p)
    np.testing.assert_array_equal(result, through)
