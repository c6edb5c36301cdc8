"""Programs that do not do decorated what they do undecorated, with the first line of what is found.

`python -m tests.programs --write` writes this file anew.
"""

NOT_YET = {
    "machines.elevator": "error: TracerError: the order of a set's elements, which the pr...",
    "pastimes.big_modular": "error: Python needs an integer and finds a traced value",
    "pastimes.permissions": "error: Python needs a bool and finds a traced value",
    "pastimes.safe_division": "error: ConcretizationError: a list: <up to 1 elements> is put i...",
    "puzzles.best_move": "error: ConcretizationError: best_move.<locals>.value calls itse...",
    "runtime_extents.clusters_by_distance": "error: CarryTypeError: an array whose size is known at run time...",
}
