"""Indexing of traced arrays: views, gathers and scatters, masks."""
