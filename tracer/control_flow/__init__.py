"""Loops and branches that depend on traced values."""
