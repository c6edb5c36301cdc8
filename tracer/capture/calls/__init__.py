"""Calls of rewritten functions: the user's own are recorded in turn, NumPy's and Python's have meanings."""
