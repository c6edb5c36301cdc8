"""Texts that depend on what the program computes: made when it has run, or written among its characters while it runs."""
