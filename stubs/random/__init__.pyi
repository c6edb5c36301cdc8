"""What type checkers see of `phlox.random`, which is no file."""

from phlox.tracer.random import Generator as Generator
