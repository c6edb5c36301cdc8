"""The inverse error function erf-inv.

Method: x P(w) with w = -log(1 - x**2) for |x| < 0.92; beyond, s + R(s) with s = sqrt(-log(1 - |x|)), where 1 - |x| is exact,
and a quotient R of polynomials. For f32 all of it runs in f64. `tests/bench/special_coefficients.py` derives the coefficients.
"""

from ..arithmetic import (
    absolute,
    add,
    compare,
    constant,
    divide,
    fma,
    is_single,
    multiply,
    narrow,
    negate,
    polynomial,
    polynomial_of_choice,
    select,
    set_sign_of,
    square_root,
    subtract,
    widen,
)
from .logarithm import log_of_normal
from .table import elementary

INFINITY = float("inf")

# erfinv(x) / x, where w = -log(1 - x**2), 0 to 1.88; relative error 2**-54.4.
CENTRAL = (
    0.886226925452758,
    0.232013666534654,
    0.011549342038290165,
    -0.0023351016419083177,
    -0.00012804329187335843,
    4.661142899899691e-05,
    2.0200239365738146e-06,
    -1.0126270227782452e-06,
    -3.7192111652464985e-08,
    2.2693704174842837e-08,
    8.172953200972739e-10,
    -5.457710966208954e-10,
    -1.6614614523439364e-11,
    1.629212856846745e-11,
    -1.3998398729719453e-12,
)
# erfinv(x) - s, where s = sqrt(-log(1 - x)), 1.585 to 4.0; relative error 2**-54.6.
TAIL = (
    -0.0002961548480471487,
    -0.9948389748944974,
    -1.2910068102310672,
    -2.032462679405054,
    -1.205793923872581,
    -0.18303301874998285,
    -0.007371012944594347,
    -5.574652078867848e-05,
)
TAIL_BELOW = (
    2.1422584150196453,
    4.064007238685655,
    4.042758618239132,
    3.3242267401734886,
    1.0490361979768774,
    0.10576492810157119,
    0.0030420175165779104,
    1.5626360681372728e-05,
)
# erfinv(x) - s, where s = sqrt(-log(1 - x)), 4.0 to 6.07; relative error 2**-54.0.
FAR_TAIL = (
    -0.06246044393722478,
    -0.683792846256624,
    -1.6554148849594672,
    -0.6780782163963714,
    -0.06988534035479653,
    -0.0017567224974037539,
    -6.3327953063671645e-06,
)
FAR_TAIL_BELOW = (
    1.8561900042507382,
    3.0337106812068324,
    2.23164913611353,
    0.5159120095273962,
    0.03619368634790591,
    0.0006486363237766378,
    1.541414109637842e-06,
)
# erfinv(x) / x, where w = -log(1 - x**2), 0 to 1.88; relative error 2**-35.1.
CENTRAL_SINGLE = (
    0.8862269254760436,
    0.23201366452223726,
    0.011549371006918423,
    -0.002335264228089629,
    -0.00012757940853471095,
    4.5854032853638225e-05,
    2.7649229925813144e-06,
    -1.4553883245452028e-06,
    1.1274387034624077e-07,
)
# erfinv(x) - s, where s = sqrt(-log(1 - x)), 1.585 to 4.09; relative error 2**-33.3.
TAIL_SINGLE = (
    -0.03205940451801781,
    -0.7969289025744326,
    -0.9746688943151427,
    -0.11619282472364219,
    -0.0004696141654216584,
)
TAIL_SINGLE_BELOW = (
    1.2961282716379239,
    2.1129201462597673,
    0.8251391707669078,
    0.05179963950460574,
)


def _tail_double(builder, s):
    """Return R(s) for f64 lanes 1.585 <= s <= 6.07."""
    far = compare(builder, ">", s, 4.0)
    above = polynomial_of_choice(builder, s, far, (*FAR_TAIL, 0.0), TAIL)
    below = polynomial_of_choice(builder, s, far, (1.0, *FAR_TAIL_BELOW, 0.0), (1.0, *TAIL_BELOW))
    return divide(builder, above, below)


def _tail_single(builder, s):
    """Return R(s) to f32 accuracy for f64 lanes 1.585 <= s <= 4.09."""
    return divide(builder, polynomial(builder, s, TAIL_SINGLE), polynomial(builder, s, (1.0, *TAIL_SINGLE_BELOW)))


@elementary
def erf_inv(builder, x):
    """Return the number whose error function is x, NaN for |x| > 1."""
    single = is_single(x)
    argument = widen(builder, x) if single else x
    magnitude = absolute(builder, argument)
    central = compare(builder, "<", magnitude, 0.92)
    one = constant(argument.type, 1.0)
    complement = builder.select(
        central, fma(builder, negate(builder, magnitude), magnitude, one), subtract(builder, one, magnitude)
    )
    w = negate(builder, log_of_normal(builder, complement, wide=single))
    near = multiply(builder, argument, polynomial(builder, w, CENTRAL_SINGLE if single else CENTRAL))
    s = square_root(builder, w)
    far = add(builder, s, (_tail_single if single else _tail_double)(builder, s))
    far = select(builder, compare(builder, "==", magnitude, 1.0), INFINITY, far)
    result = builder.select(central, near, set_sign_of(builder, far, argument))
    result = select(builder, compare(builder, "<=", magnitude, 1.0), result, float("nan"))
    return narrow(builder, result) if single else result
