"""A Python function, written anew: its control flow and its calls go through helpers, and nothing else of it changes.

This folder knows nothing of tracing. `rewriting.rewritten` takes a function and the object that has the helpers.
"""
