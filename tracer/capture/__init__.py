"""What rewritten functions call: it decides, while a function is traced, what becomes of its control flow and its calls.

Outside of a trace all of it means what plain Python means.
"""

from . import (  # noqa: F401
    breakpoints,
    conversions,
    creation,
    drawn_arrays,
    given_warnings,
    helpers,
    math_functions,
    number_methods,
    printing,
    record_fields,
    record_functions,
    slots,
    texts_of_numbers,
)
from .calls import (  # noqa: F401
    array_iterators,
    averaging,
    builtin_functions,
    by_element,
    masked_arrays,
    numpy_sources,
    ordering,
    standard_library,
)
from .keys import counters  # noqa: F401
from .lists import (
    listed_deques,  # noqa: F401
    methods,  # noqa: F401
)
from .outside import copying  # noqa: F401
from .texts import answers, joining, kinds  # noqa: F401
