"""Functions of the standard library that are not written in Python, or look at each element: written so that they are followed.

The modules of this folder are rewritten as the user's own are; `..calls.standard_library` says when they stand for Python's.
"""
