"""Programs that do not do decorated what they do undecorated, with the first line of what is found.

`python -m tests.programs --write` writes this file anew.
"""

NOT_YET = {
    "linear_algebra.lu_with_pivoting": "error: ConcretizationError: a traced value where Python needs a bool",
}
