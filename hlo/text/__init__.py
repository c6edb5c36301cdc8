"""HLO text: printed as XLA prints it, parsed as XLA parses it."""

from .parser import parse_module
from .printer import module_text

__all__ = ["module_text", "parse_module"]
