"""Regions to loop nests: one file for each kind of hero that fixes the shape of the loops."""
