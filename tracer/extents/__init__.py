"""What NumPy's functions do with arrays whose sizes are known at run time only, and the functions that return such arrays.

Importing this package fills the table `phlox.tracer.recording.function_tables.DYNAMIC`.
"""

from . import (  # noqa: F401
    bits,
    choosing,
    composed,
    counting,
    creation,
    decompositions,
    elementwise,
    indexing,
    joining,
    linear_algebra,
    order,
    outputs,
    products,
    reductions,
    reshaping,
    selection,
    sequences,
    sets,
    shapes,
    splitting,
)  # fmt: skip

outputs.write_them_for_all()
