"""Loops and branches that depend on traced values.

Outside of a traced function they are ordinary Python loops and calls, so that a function that uses them works undecorated.
Inside, they become While and Conditional. Functions given to them may use arrays from enclosing functions and change them in
place; what they read becomes a hidden input, what they change a hidden part of the loop's state.
"""
