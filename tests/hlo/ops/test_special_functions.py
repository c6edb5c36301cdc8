"""erf-inv, lgamma and digamma: against mpmath where they are hard, closed forms, their coefficients, and SciPy's names."""

import elementary_accuracy as accuracy
import mpmath
import numpy as np
import pytest
import special_coefficients
from phlox import jit
from phlox.backends.llvm.elementary import gamma, inverse_error_function
from phlox.hlo import OPERATIONS, evaluate_operation
from phlox.hlo.ops import double_double, special_numerics
from thinning import one_in

NAMES = ["digamma", "erf-inv", "lgamma"]


def neighbours(*numbers):
    """The numbers and those beside them, near and far."""
    steps = np.array([0, 1, -1, 2, -3, 2.0**10, -(2.0**20), 2.0**40, -(2.0**45)])
    return np.concatenate([number + steps * np.spacing(np.abs(number)) for number in numbers])


def arguments(name):
    random = np.random.default_rng(5)
    if name == "erf-inv":
        # Ends, where the methods of both backends change, and magnitudes.
        positive = [
            neighbours(0.92, 0.85, 1 - 2.0**-30),
            1 - np.exp2(-np.arange(1.0, 54)),
            np.exp2(random.uniform(-1022, 0, 9)),
        ]
        x = np.concatenate([*positive, random.uniform(0, 1, 30)])
        return np.concatenate([x, -x])
    roots = [-0.5040830082644554, -1.573498473162390, -2.610720868444145, -10.702745768441]
    roots += [-2.457024738220801, -2.747682646727413, -3.143580888349980, -3.955294284858598, -4.039361839740537]
    integers = [1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 2.5, -1.0, -2.0, -3.0, -17.0, -100.0]
    near = neighbours(*integers, *roots, 1.4616321449683622, 2.0**-60, -(2.0**-60))
    far = np.exp2(random.uniform(-1022, 1013, 12))
    x = np.concatenate([near, far, -np.exp2(random.uniform(-1022, 50, 12)), random.uniform(-8, 8, 60)])
    return x[(x > 0) | (x != np.rint(x))]


@pytest.mark.parametrize("name", one_in(2, NAMES))
def test_values_against_mpmath(name):
    """The reference is within 1 ULP, native code within 2, of f32 within 1."""
    x = arguments(name)
    native = accuracy.compile_function(name, "f8", accuracy.native_lanes("f8"))(x)
    for result, limit in ((native, 2.0), (evaluate_operation(name, x), 1.0)):
        error, where = accuracy.largest_error(accuracy.double_errors(name, result, x), x)
        assert error <= limit, f"{error} ULP at {where}"
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    single = single[np.isfinite(evaluate_operation(name, single.astype(np.float64)))]
    native = accuracy.compile_function(name, "f4", accuracy.native_lanes("f4"))(single)
    errors = accuracy.single_errors(native, evaluate_operation(name, single.astype(np.float64)))
    error, where = accuracy.largest_error(errors, single)
    assert error <= 1.0, f"{error} ULP of f32 at {where}"


def test_coefficients_are_those_of_the_derivation():
    tables = vars(gamma) | vars(inverse_error_function)
    with mpmath.workprec(special_coefficients.PRECISION):
        for name in special_coefficients.TABLES:
            above, below = special_coefficients.coefficients(name)
            assert tables[name] == tuple(above) and tables.get(f"{name}_BELOW", ()) == tuple(below[1:]), name


def test_constants_that_are_sums_of_two_numbers():
    with mpmath.workprec(200):
        log_two_pi, root = mpmath.log(2 * mpmath.pi), special_coefficients.digamma_root()
        for (high, low), exact in (
            (gamma.SLOPE_AT_ONE, -mpmath.euler), (gamma.SLOPE_AT_TWO, 1 - mpmath.euler),
            (gamma.STIRLING_CONSTANT, (log_two_pi - 1) / 2), (gamma.ROOT_LESS_ONE, root - 1),
            (special_numerics.PI, mpmath.pi), (special_numerics.HALF_LOG_TWO_PI, log_two_pi / 2),
            (special_numerics.TWO_OVER_ROOT_PI, 2 / mpmath.sqrt(mpmath.pi)), (special_numerics.DIGAMMA_ROOT, root),
            (special_numerics.SLOPE_AT_ROOT, mpmath.psi(1, root)), (double_double.LN2, mpmath.log(2)),
        ):  # fmt: skip
            assert high == float(exact) and low == float(exact - high)


def test_closed_forms():
    """lgamma of whole numbers is the logarithm of a factorial, digamma there a harmonic number less Euler's constant."""
    n = np.arange(1, 20)
    factorials = np.cumprod(np.concatenate([[1.0], n[:-1]]))
    harmonic = np.cumsum(np.concatenate([[0.0], 1 / n[:-1]]))
    lgamma, digamma = (evaluate_operation(name, n.astype(np.float64)) for name in ("lgamma", "digamma"))
    np.testing.assert_allclose(lgamma, np.log(factorials), rtol=4e-16, atol=0)
    np.testing.assert_allclose(digamma, harmonic - np.euler_gamma, rtol=4e-15, atol=0)
    np.testing.assert_allclose(evaluate_operation("lgamma", np.float64(0.5)), np.log(np.pi) / 2, rtol=2e-16)
    y = np.linspace(-3, 3, 41)
    np.testing.assert_allclose(evaluate_operation("erf-inv", evaluate_operation("erf", y)), y, rtol=1e-11, atol=0)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_scipy_are_the_one_operation(name):
    special = pytest.importorskip("scipy.special")
    ufunc = getattr(special, accuracy.SCIPY_NAMES[name])
    x = np.linspace(0.05, 0.95, 30, dtype=np.float32)
    module = jit(lambda x: ufunc(x)).lower(x).module
    assert [instruction.opcode for instruction in module.entry.instructions] == ["parameter", name]
    assert OPERATIONS[name].builder == {"digamma": "Digamma", "erf-inv": "ErfInv", "lgamma": "Lgamma"}[name]
    np.testing.assert_allclose(jit(lambda x: ufunc(x))(x), ufunc(x), rtol=3e-7)
