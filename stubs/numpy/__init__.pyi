"""What type checkers see of `phlox.numpy`, which is no file: NumPy's names, with NumPy's types."""

from numpy import *

def gaps() -> dict[str, str]: ...
