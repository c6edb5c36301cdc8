"""Elementary functions as vector LLVM code: range reduction and polynomials, no calls into a math library."""

from .exponential import exponential, exponential_minus_one, logistic
from .logarithm import log, log_plus_one

ELEMENTARY_FUNCTIONS = {
    "exponential": exponential,
    "exponential-minus-one": exponential_minus_one,
    "log": log,
    "log-plus-one": log_plus_one,
    "logistic": logistic,
}
