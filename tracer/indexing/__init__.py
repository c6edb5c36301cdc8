"""Indexing of traced arrays: views, gathers and scatters, masks. Importing this package makes arrays answer to ``x[...]``."""

from . import access  # noqa: F401
