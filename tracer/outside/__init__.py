"""What a traced function reads from outside, and writes to it: globals, closure variables, attributes, items.

Reads become hidden inputs or guards, which are looked at before each call; writes become effects, which happen behind it.
"""
