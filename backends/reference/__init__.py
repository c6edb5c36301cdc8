"""The reference backend: HLO run with the operation records' NumPy semantics, one instruction at a time."""
