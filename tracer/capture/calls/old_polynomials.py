"""`numpy.poly1d` among the arguments of NumPy's functions, which take it for the array of its coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from .meanings import UNANSWERED, Call
from .numpy_calls import of_numpy
from .users_functions import captured

# What these give of a polynomial is one.
_POLYNOMIALS = frozenset({np.polyadd, np.polysub, np.polymul, np.polydiv, np.polyder, np.polyint})
_TAKE_ELEMENTS = (np.array, list, tuple)


def of_old_polynomial(call: Call, function: Any, args: tuple, kwargs: dict) -> Any:
    is_one = [isinstance(one, np.poly1d) for one in args]
    if not any(is_one) or isinstance(function, np.poly1d):
        return UNANSWERED
    if not of_numpy(function) and not any(function is one for one in _TAKE_ELEMENTS):
        return UNANSWERED
    if function is np.polyval and len(args) == 2 and is_one[1]:
        return captured(_composed)(args[0], args[1])
    found = call(function, *[call(getattr, one, "coeffs") if is_ else one for one, is_ in zip(args, is_one)], **kwargs)
    if function not in _POLYNOMIALS:
        return found
    return tuple([call(np.poly1d, one) for one in found]) if type(found) is tuple else call(np.poly1d, found)


def _composed(outer, inner):
    found = np.poly1d(0)
    for coefficient in np.asarray(outer):
        found = found * inner + coefficient
    return found
