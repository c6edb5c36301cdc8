"""The builder interface of XLA, as its documents describe it: `XlaBuilder`."""

from .builder import XlaBuilder

__all__ = ["XlaBuilder"]
