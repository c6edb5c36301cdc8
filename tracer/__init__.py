"""The frontend: what a Python function sees while it is traced, and how its calls reach the compiled code."""
