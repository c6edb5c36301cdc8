"""Accuracy and speed of the elementary functions: largest error in ULP, where it occurs, and nanoseconds per element.

f32 is compared with NumPy or SciPy in f64, or with the reference backend, over all 2**32 arguments or every n-th of them; f64,
and the functions of two operands, on random samples, f64 against mpmath::

    python tests/bench/elementary_accuracy.py [--function NAME] [--exhaustive] [--stride N] [--samples N]
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import math
import time

import mpmath
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from phlox.backends.llvm.elementary import ELEMENTARY_FUNCTIONS
from phlox.backends.llvm.module import Module, SharedFunctions
from phlox.hlo import OPERATIONS, evaluate_operation

BINARY = tuple(name for name in sorted(ELEMENTARY_FUNCTIONS) if OPERATIONS[name].fixed_operand_count == 2)
SCALARS = {np.dtype("f4"): ir.FloatType(), np.dtype("f8"): ir.DoubleType()}
ULP_LIMITS = {np.dtype("f4"): 1.0, np.dtype("f8"): 2.0}
BLOCK = 1 << 22


def scipy_reference(scipy_name, name):
    """A function of f64 from SciPy where that is installed, for the ends of the domain and else from the reference backend."""

    def reference(x):
        try:
            from scipy import special
        except ImportError:
            return evaluate_operation(name, x)
        ends = ~np.isfinite(x) | (x == 0)
        result = getattr(special, scipy_name)(x)
        result[ends] = evaluate_operation(name, x[ends])
        return result

    return reference


def logistic_reference(x):
    """1 / (1 + exp(-x)) of f64 without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1.0 + e)


# For f32 arguments, with the error of the f64 arithmetic of NumPy, a few units in the 29th bit beyond f32.
WIDE_REFERENCES = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atan2": np.arctan2,
    "atanh": np.arctanh, "cbrt": np.cbrt, "cosh": np.cosh, "cosine": np.cos, "exponential": np.exp,
    "exponential-minus-one": np.expm1, "log": np.log, "log-plus-one": np.log1p, "logistic": logistic_reference,
    "power": np.power, "remainder": np.fmod, "rsqrt": lambda x: 1.0 / np.sqrt(x), "sine": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
SCIPY_NAMES = {"digamma": "psi", "erf": "erf", "erf-inv": "erfinv", "lgamma": "gammaln"}


def wide_reference(name):
    """The function on f64, for f32 arguments; where NumPy and SciPy have none, that of the reference backend."""
    if name in WIDE_REFERENCES:
        return WIDE_REFERENCES[name]
    if name in SCIPY_NAMES:
        return scipy_reference(SCIPY_NAMES[name], name)
    return functools.partial(evaluate_operation, name)


def exact_tanh(x):
    """tanh without the loss of digits that mpmath's has for small arguments."""
    e = mpmath.expm1(2 * x)
    return e / (e + 2)


# For finite f64 arguments inside the domain, at the working precision of mpmath.
EXACT_REFERENCES = {
    "acos": mpmath.acos, "acosh": mpmath.acosh, "asin": mpmath.asin, "asinh": mpmath.asinh, "atan": mpmath.atan,
    "atan2": mpmath.atan2, "atanh": mpmath.atanh, "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "cosh": mpmath.cosh, "cosine": mpmath.cos, "digamma": mpmath.digamma, "erf": mpmath.erf, "erf-inv": mpmath.erfinv,
    "exponential": mpmath.exp, "exponential-minus-one": mpmath.expm1, "lgamma": lambda x: mpmath.loggamma(x).real,
    "log": mpmath.log, "log-plus-one": mpmath.log1p,
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)), "power": mpmath.power,
    "remainder": lambda x, y: mpmath.sign(x) * mpmath.fmod(abs(x), abs(y)), "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sine": mpmath.sin, "sinh": mpmath.sinh, "sqrt": mpmath.sqrt, "tan": mpmath.tan, "tanh": exact_tanh,
}  # fmt: skip
# The errors of f64 results that are smaller than this, for negative arguments, are given in ULP of this: beside zeros that are
# no numbers of the format.
LEAST_MAGNITUDES = {"digamma": 1.0, "lgamma": 1.0}


@functools.cache
def target_machine():
    """The target machine of the host, with its features."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


@functools.cache
def native_lanes(dtype):
    """The lanes of the widest vector register of the host for a dtype."""
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    return width // np.dtype(dtype).itemsize


def loop_module(name, dtype, lanes, vector_bytes=None):
    """An LLVM module with `loop(count, operands..., result)`, which applies a function to arrays in steps of `lanes`.

    vector_bytes: the width of vector registers for which the function is written; by default the host's.
    """
    scalar = SCALARS[np.dtype(dtype)]
    value_type = ir.VectorType(scalar, lanes) if lanes > 1 else scalar
    operand_count = 2 if name in BINARY else 1
    index = ir.IntType(64)
    module = Module(name, SharedFunctions(vector_bytes or native_lanes("u1")))
    pointers = [scalar.as_pointer()] * (operand_count + 1)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [index, *pointers]), "loop")
    entry, loop, done = (function.append_basic_block(block) for block in ("entry", "loop", "done"))
    builder = ir.IRBuilder(entry)
    builder.branch(loop)
    builder.position_at_end(loop)
    i = builder.phi(index)
    i.add_incoming(index(0), entry)

    def address(pointer):
        return builder.bitcast(builder.gep(pointer, [i]), value_type.as_pointer())

    alignment = np.dtype(dtype).itemsize
    operands = [builder.load(address(pointer), align=alignment) for pointer in function.args[1:-1]]
    result = ELEMENTARY_FUNCTIONS[name](builder, *operands)
    if result.type != value_type:
        raise TypeError(f"{name} of {value_type} returned {result.type}")
    builder.store(result, address(function.args[-1]), align=alignment)
    following = builder.add(i, index(lanes))
    i.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, function.args[0]), loop, done)
    builder.position_at_end(done)
    builder.ret_void()
    emitted = set()
    while missing := module.shared_functions.requested.keys() - emitted:
        for one in sorted(missing):
            module.globals[one].linkage = "internal"
            module.shared_functions.requested[one].emit(module.globals[one])
        emitted |= missing
    return module


@functools.cache
def compile_function(name, dtype, lanes, vector_bytes=None):
    """Compile one function; return a callable of contiguous arrays whose length is a multiple of `lanes`."""
    machine = target_machine()
    module = llvm.parse_assembly(str(loop_module(name, dtype, lanes, vector_bytes)))
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    operand_count = 2 if name in BINARY else 1
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (operand_count + 1))
    native = prototype(engine.get_function_address("loop"))

    def call(*operands):
        operands = [np.ascontiguousarray(operand, dtype) for operand in operands]
        count = len(operands[0])
        padded = -(-count // lanes) * lanes
        operands = [np.append(operand, np.ones(padded - count, dtype)) for operand in operands]
        result = np.empty(padded, dtype)
        call.native(padded, *(array.ctypes.data for array in (*operands, result)))
        return result[:count]

    call.native = native
    call.engine = engine  # owns the code
    return call


def single_errors(result, reference):
    """Errors of f32 results in ULP of the f64 reference; inf where a NaN, an infinity or the sign of a zero is wrong."""
    with np.errstate(all="ignore"):
        rounded = reference.astype("f4")
        magnitude = np.abs(reference)
        exponent = np.frexp(np.where(np.isfinite(magnitude), magnitude, 1.0))[1]
        ulp = np.ldexp(1.0, np.clip(exponent, -125, 128) - 24)
        # An overflow counts as the next number of the format.
        value = result.astype("f8")
        value = np.where(np.isinf(value), np.copysign(2.0**128, value), value)
        target = np.where(np.isinf(rounded) & (magnitude >= 2.0**128), np.copysign(2.0**128, reference), reference)
        error = np.abs(value - target) / ulp
        error = np.where(np.isnan(result) & np.isnan(reference), 0.0, error)
        error = np.where(np.isnan(result) != np.isnan(reference), np.inf, error)
        wrong_zero = (result == 0) & (rounded == 0) & (np.signbit(result) != np.signbit(reference))
    return np.where(wrong_zero, np.inf, error)


def double_error(result, exact, least=0.0):
    """Error of one finite f64 result in ULP of the exact mpmath number, or of `least` where that is larger."""
    if math.isnan(result):
        return math.inf
    _, exponent = mpmath.frexp(max(abs(exact), least))
    ulp = mpmath.ldexp(1, min(max(int(exponent), -1021), 1024) - 53)
    value = mpmath.mpf(result) if math.isfinite(result) else mpmath.sign(result) * mpmath.ldexp(1, 1024)
    if abs(exact) >= mpmath.ldexp(1, 1024):
        exact = mpmath.sign(exact) * mpmath.ldexp(1, 1024)
    return float(abs(value - exact) / ulp)


def precision_for(name, operands):
    """Bits that mpmath needs for a result good to f64: sums with 1 and reductions by pi lose as many as the exponent has."""
    spread = max((abs(math.frexp(x)[1]) for x in operands if x), default=0)
    return 2300 if name == "remainder" else 160 + (0 if name in ("power", *LEAST_MAGNITUDES) else spread)


@functools.lru_cache(maxsize=10000)
def exact_value(name, arguments):
    """The function at the working precision."""
    return EXACT_REFERENCES[name](*(mpmath.mpf(x) for x in arguments))


def double_errors(name, result, *operands):
    """Errors of f64 results in ULP, from mpmath; 0 for arguments outside the domain, where there is no number to compare."""
    errors = np.zeros(len(result))
    least = LEAST_MAGNITUDES.get(name, 0.0)
    for i, arguments in enumerate(zip(*(operand.tolist() for operand in operands))):
        if not all(math.isfinite(x) for x in arguments) or (name not in BINARY and not in_domain(name, arguments[0])):
            continue
        if name == "power" and (arguments[0] <= 0 or abs(arguments[1] * math.log2(arguments[0])) > 1100):
            continue
        if name == "remainder" and arguments[1] == 0:
            continue
        with mpmath.workprec(precision_for(name, arguments)):
            errors[i] = double_error(float(result[i]), exact_value(name, arguments), least if arguments[0] < 0 else 0.0)
    return errors


def in_domain(name, x):
    """Whether x is inside the domain of a function of one operand, and the result neither a pole nor far beyond overflow."""
    if name in ("exponential", "exponential-minus-one", "logistic", "sinh", "cosh", "tanh", "erf"):
        return abs(x) < 800
    if name in ("acos", "asin"):
        return abs(x) <= 1
    if name == "atanh":
        return abs(x) < 1
    if name == "acosh":
        return x >= 1
    if name == "log-plus-one":
        return x > -1
    if name in ("log", "rsqrt", "sqrt"):
        return x > 0
    return name in WIDE_REFERENCES or bool(np.isfinite(evaluate_operation(name, np.float64(x))))


def double_samples(name, count, seed=0):
    """Random f64 arguments: all bit patterns, all magnitudes around 1, a range around 0 and the neighbourhood of +-1."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 2**64, count, dtype="u8").view("f8")
    magnitudes = np.exp2(random.uniform(-60, 11, count)) * random.choice([-1, 1], count)
    near_zero = random.uniform(-4, 4, count)
    near_one = (1 + np.exp2(random.uniform(-53, -1, count)) * random.choice([-1, 1], count)) * random.choice([-1, 1], count)
    # the numbers next to multiples of pi / 2
    near_multiples = np.nextafter(random.integers(1, 1 << 22, count) * (math.pi / 2), random.choice([-np.inf, np.inf], count))
    x = np.concatenate([patterns, magnitudes, near_zero, near_one, near_multiples])
    if name == "acosh":
        return (np.where(np.abs(x) < 1, 1 / np.abs(x), np.abs(x)),)
    if name not in BINARY:
        return (x,)
    if name == "power":
        x = np.abs(x)
        with np.errstate(all="ignore"):
            return x, random.uniform(-1075, 1024, len(x)) / np.log2(x)
    return x, random.permutation(x)


def single_samples(name, count, seed=0):
    """Random f32 operand pairs of all bit patterns, of moderate size, and for `power` of moderate result."""
    random = np.random.default_rng(seed)
    patterns = [random.integers(0, 2**32, count, dtype="u4").view("f4") for _ in range(2)]
    moderate = [random.uniform(-10, 10, count).astype("f4") for _ in range(2)]
    x, y = (np.concatenate(pair) for pair in zip(patterns, moderate))
    if name == "power":
        base = np.exp2(random.uniform(-149, 128, count)).astype("f4")
        near_one = (1 + random.choice([-1, 1], count) * np.exp2(random.uniform(-23, -1, count))).astype("f4")
        bases = np.concatenate([base, near_one])
        with np.errstate(all="ignore"):
            exponents = (random.uniform(-150, 128, 2 * count) / np.log2(bases.astype("f8"))).astype("f4")
        x = np.concatenate([x, bases, moderate[0]])
        y = np.concatenate([y, exponents, np.round(moderate[1] * 4)])
    return x, y


def largest_error(errors, *operands):
    """The largest error and the operands it occurs for."""
    i = int(np.argmax(errors))
    return float(errors[i]), tuple(operand[i] for operand in operands)


def sweep_single(name, stride):
    """The largest error over every `stride`-th of all f32 numbers, and its argument."""
    call, reference = compile_function(name, "f4", native_lanes("f4")), wide_reference(name)
    worst = (-1.0, ())
    for start in range(0, 2**32, BLOCK * stride):
        bits = np.arange(start, min(start + BLOCK * stride, 2**32), stride, dtype=np.int64)
        x = bits.astype("u4").view("f4")
        with np.errstate(all="ignore"):
            expected = reference(x.astype("f8"))
        worst = max(worst, largest_error(single_errors(call(x), expected), x), key=lambda pair: pair[0])
    return worst


def nanoseconds_per_element(name, dtype):
    """Best of many runs over 4096 elements in the cache, all of them ordinary arguments."""
    call = compile_function(name, dtype, native_lanes(dtype))
    low, high = (0.05, 0.95) if name in ("acos", "asin", "atanh", "erf-inv") else (1.1, 10.0)
    operands = [np.random.default_rng(k).uniform(low, high, 4096).astype(dtype) for k in range(2 if name in BINARY else 1)]
    result = np.empty(4096, dtype)
    addresses = [array.ctypes.data for array in (*operands, result)]

    def best(count):
        shortest = math.inf
        for _ in range(300):
            start = time.perf_counter()
            call.native(count, *addresses)
            shortest = min(shortest, time.perf_counter() - start)
        return shortest

    # The difference leaves out the cost of the call.
    return (best(4096) - best(64)) / (4096 - 64) * 1e9


def measure(name, dtype, stride, samples):
    """Return (largest error in ULP, its operands)."""
    if dtype == "f4" and name not in BINARY:
        return sweep_single(name, stride)
    call = compile_function(name, dtype, native_lanes(dtype))
    if dtype == "f4":
        operands = single_samples(name, samples * 100)
        with np.errstate(all="ignore"):
            # fmod is exact in f32, and only there: the f64 quotient has other low bits
            wide = operands if name == "remainder" else [operand.astype("f8") for operand in operands]
            expected = wide_reference(name)(*wide).astype("f8")
        return largest_error(single_errors(call(*operands), expected), *operands)
    operands = double_samples(name, samples)
    return largest_error(double_errors(name, call(*operands), *operands), *operands)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--function", choices=sorted(ELEMENTARY_FUNCTIONS), help="only this one (default: all)")
    parser.add_argument("--exhaustive", action="store_true", help="all 2**32 arguments of the f32 functions of one operand")
    parser.add_argument("--stride", type=int, default=1021, metavar="N", help="else every N-th of them (default: 1021)")
    parser.add_argument("--samples", type=int, default=2000, metavar="N", help="of f64, for each kind of argument")
    options = parser.parse_args()
    print(f"{'function':<22} {'dtype':<5} {'max ULP':>8} {'limit':>6} {'ns/element':>11}  worst argument")
    for name in [options.function] if options.function else sorted(ELEMENTARY_FUNCTIONS):
        for dtype in ("f4", "f8"):
            error, operands = measure(name, dtype, 1 if options.exhaustive else options.stride, options.samples)
            where = ", ".join(f"{float(operand):.17g}" for operand in operands)
            limit = ULP_LIMITS[np.dtype(dtype)]
            speed = nanoseconds_per_element(name, dtype)
            print(f"{name:<22} {dtype:<5} {error:8.4f} {limit:6.1f} {speed:11.3f}  {where}", flush=True)


if __name__ == "__main__":
    main()
