"""Dicts and sets whose keys the program computes."""
