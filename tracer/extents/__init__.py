"""What NumPy's functions do with arrays whose sizes are known at run time only, and the functions that return such arrays.

Importing this package fills the table `phlox.tracer.recording.function_tables.DYNAMIC`.
"""

from . import counting, creation, elementwise, indexing, products, reductions, selection, sets, shapes  # noqa: F401
