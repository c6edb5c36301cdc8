"""Loops of rewritten functions: unrolled, or captured as a While with what their bodies change as its state."""
