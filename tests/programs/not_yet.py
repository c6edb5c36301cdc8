"""Programs that do not do decorated what they do undecorated, with the first line of what is found.

`python -m tests.programs --write` writes this file anew.
"""

NOT_YET = {
    "machines.elevator": "error: TracerError: the order of a set's elements, which the pr...",
    "puzzles.best_move": "error: ConcretizationError: best_move.<locals>.value calls itse...",
    "runtime_extents.clusters_by_distance": "error: CarryTypeError: an array whose size is known at run time...",
}
