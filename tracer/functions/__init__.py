"""What NumPy's functions do with traced arrays; importing this package fills `phlox.tracer.recording.function_tables`."""

from ..recording.byte_order import keep_orders
from . import (  # noqa: F401
    arithmetic,
    array_attributes,
    array_methods,
    automatic_domain,
    bits,
    creation,
    decompositions,
    einsum,
    elementary,
    factorizations,
    floating_point,
    fourier,
    gaps,
    histograms,
    indexed_access,
    integers,
    joining,
    library_ufuncs,
    linear_algebra,
    numerical,
    order_statistics,
    padding,
    python_numbers,
    reduceat,
    reductions,
    scans,
    selection,
    shape_manipulation,
    sorting,
    statistics,
    ufunc_calls,
    windows,
)  # fmt: skip

keep_orders()
