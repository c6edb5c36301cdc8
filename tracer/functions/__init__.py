"""What NumPy's functions do with traced arrays; importing this package fills `phlox.tracer.recording.function_tables`."""

from ..recording import array  # noqa: F401  isort:skip  (first: the modules below make arrays)
from . import (  # noqa: F401
    arithmetic,
    creation,
    decompositions,
    einsum,
    elementary,
    factorizations,
    floating_point,
    fourier,
    gaps,
    indexed_access,
    integers,
    joining,
    linear_algebra,
    numerical,
    order_statistics,
    padding,
    reductions,
    scans,
    selection,
    shape_manipulation,
    sorting,
    statistics,
    ufunc_calls,
)  # fmt: skip
