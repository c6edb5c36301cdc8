"""What rewritten functions call: it decides, while a function is traced, what becomes of its control flow and its calls.

Outside of a trace all of it means what plain Python means.
"""

from . import builtin_functions, by_element, conversions, creation, math_functions, number_methods, numpy_sources, printing  # noqa: F401
from .keys import counters  # noqa: F401
from .lists import methods  # noqa: F401
