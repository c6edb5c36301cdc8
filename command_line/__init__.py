"""The command line: ``python -m phlox``, or ``phlox``."""
