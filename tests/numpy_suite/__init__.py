"""NumPy's own test suite, with the functions that phlox supports replaced by jitted ones."""
