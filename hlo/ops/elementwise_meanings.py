"""What each elementwise operation means, in a few words."""

from __future__ import annotations

UNARY_MEANINGS = {
    "abs": "the absolute value; of the most negative integer, itself; of a complex number, its real modulus",
    "negate": "the negative; integers wrap",
    "sign": "-1, 0 or 1; keeps -0, +0 and NaN; of a complex number z/|z|, and 0 of 0",
    "exponential": "e to the power x",
    "exponential-minus-one": "e to the power x, minus 1, accurate near 0",
    "log": "the natural logarithm",
    "log-plus-one": "the natural logarithm of 1 + x, accurate near 0",
    "sqrt": "the square root",
    "rsqrt": "1 / sqrt(x)",
    "cbrt": "the cube root, with the sign of x",
    "sine": "the sine of x in radians",
    "cosine": "the cosine of x in radians",
    "tan": "the tangent of x in radians",
    "acos": "the angle in radians whose cosine is x, in [0, pi]",
    "asin": "the angle in radians whose sine is x, in [-pi/2, pi/2]",
    "atan": "the angle in radians whose tangent is x, in [-pi/2, pi/2]",
    "cosh": "the hyperbolic cosine",
    "sinh": "the hyperbolic sine",
    "tanh": "the hyperbolic tangent",
    "acosh": "the number of nonnegative real part whose hyperbolic cosine is x",
    "asinh": "the number whose hyperbolic sine is x",
    "atanh": "the number whose hyperbolic tangent is x",
    "logistic": "1 / (1 + exp(-x))",
    "erf": "the error function",
    "ceil": "the least integer not below x",
    "floor": "the greatest integer not above x",
    "round-nearest-afz": "the nearest integer, ties away from zero",
    "round-nearest-even": "the nearest integer, ties to even",
    "real": "the real part; of a real number, itself",
    "imag": "the imaginary part; of a real number, 0",
    "is-finite": "whether x is neither infinite nor NaN",
    "not": "logical not of pred, bitwise not of integers",
    "popcnt": "the number of bits set",
    "count-leading-zeros": "the number of zero bits above the highest bit set",
}

BINARY_MEANINGS = {
    "add": "the sum; integers wrap; of pred, logical or",
    "subtract": "the difference; integers wrap",
    "multiply": "the product; integers wrap; of pred, logical and",
    "mulhi": "the high half of the product of two integers, which has twice their width",
    "divide": "the quotient; of integers, truncated towards zero; of complex infinities and by complex zero, as in C99 G.5.1",
    "remainder": "what remains of the truncated quotient; it has the dividend's sign",
    "power": "lhs to the power rhs; of complex numbers, exp(rhs log(lhs)), a product for small whole exponents",
    "maximum": "the larger; NaN if either is; +0 is larger than -0",
    "minimum": "the smaller; NaN if either is; -0 is smaller than +0",
    "atan2": "the angle of the point (rhs, lhs) in radians; of complex y and x, -i log((x + iy) / sqrt(x**2 + y**2))",
    "and": "logical and of pred, bitwise and of integers",
    "or": "logical or of pred, bitwise or of integers",
    "xor": "logical exclusive or of pred, bitwise of integers",
    "shift-left": "lhs shifted left by rhs bits; 0 where rhs is not below the width",
    "shift-right-arithmetic": "lhs shifted right by rhs bits, filled with the sign; all sign where rhs is not below the width",
    "shift-right-logical": "lhs shifted right by rhs bits, filled with zeros; 0 where rhs is not below the width",
}

# Of both operands of a binary operation.
BINARY_SHAPES = """Both operands have the same shape, which is the result's. The builder's method takes others too: it
broadcasts scalars, the operand of lower rank along ``broadcast_dimensions``, and dimensions of size 1."""
