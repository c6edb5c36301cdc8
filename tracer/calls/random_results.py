"""What methods of generators of random numbers return that are calls of Python: by the shapes of their parameters.

Source: ``numpy/random/_generator.pyx`` and ``mtrand.pyx``. A trial with other numbers in place of parameters says it of no
method that requires something of these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..recording.array import TracedArray
from ..recording.operands import as_single_size, as_size
from .random_draws import RANDOM_STATE
from .trials import examples


class Distribution(NamedTuple):
    """The names of a method's parameters, the dtype of what it draws, and which parameter has a row for each draw."""

    parameters: str
    dtype: type
    rows: str = ""


_DISTRIBUTIONS = {
    "beta": Distribution("a b", float),
    "binomial": Distribution("n p", int),
    "chisquare": Distribution("df", float),
    "dirichlet": Distribution("alpha", float, "alpha"),
    "f": Distribution("dfnum dfden", float),
    "geometric": Distribution("p", int),
    "hypergeometric": Distribution("ngood nbad nsample", int),
    "logseries": Distribution("p", int),
    "multinomial": Distribution("n pvals", int, "pvals"),
    "multivariate_hypergeometric": Distribution("colors nsample", int, "colors"),
    "multivariate_normal": Distribution("mean cov", float, "mean"),
    "negative_binomial": Distribution("n p", int),
    "noncentral_chisquare": Distribution("df nonc", float),
    "noncentral_f": Distribution("dfnum dfden nonc", float),
    "pareto": Distribution("a", float),
    "poisson": Distribution("lam", int),
    "power": Distribution("a", float),
    "standard_t": Distribution("df", float),
    "triangular": Distribution("left mode right", float),
    "vonmises": Distribution("mu kappa", float),
    "wald": Distribution("mean scale", float),
    "weibull": Distribution("a", float),
    "zipf": Distribution("a", int),
}


def described(kind: type, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """What describes the result of a method; None where a trial has to say it. Raises ConcretizationError."""
    distribution = _DISTRIBUTIONS.get(name)
    if distribution is None:
        return None
    parameters = distribution.parameters.split()
    given = dict(zip((*parameters, "size"), args)) | kwargs
    if len(args) > len(parameters) + 1 or any(given.get(one) is None for one in parameters):
        return None
    shapes = {one: np.shape(examples(given[one], 1)) for one in parameters}
    size = None if given.get("size") is None else _known_size(given["size"])
    if distribution.rows:
        *lead, count = shapes[distribution.rows]
        if name == "multinomial" and kind is not RANDOM_STATE:
            lead = np.broadcast_shapes(shapes["n"], lead)
        else:
            lead = ()
        return np.zeros((*(lead if size is None else size), count), distribution.dtype)
    shape = np.broadcast_shapes(*shapes.values()) if size is None else size
    return np.zeros(shape, distribution.dtype) if shape or size is not None else distribution.dtype()


def _known_size(size: Any) -> tuple[int, ...]:
    if isinstance(size, TracedArray) and size.ndim == 1:
        size = [size[place] for place in range(size.shape[0])]
    sizes = size if isinstance(size, (tuple, list, np.ndarray)) and np.ndim(size) else (size,)
    return tuple(map(as_size, sizes)) if np.ndim(size) else (as_single_size(size),)
