"""What NumPy's functions do with traced arrays; importing this package fills the tables of `phlox.tracer.dispatch`."""

from .. import array  # noqa: F401  isort:skip  (first: the modules below make arrays)
from . import arithmetic, elementary, floating_point, integers, reductions, scans, ufunc_calls
