"""Programs that do not do decorated what they do undecorated, with the first line of what is found.

`python -m tests.programs --write` writes this file anew.
"""

NOT_YET = {
    "classic_learners.gradient_boosted_dicts": "error: ConcretizationError: The traced value s64[] is used to c...",
    "groups_of_things.naive_bayes_dicts": "error: ChangedCopyError: a Counter is changed that is one of seve...",
    "machines.elevator": "error: TracerError: the order of a set's elements, which the pr...",
    "pastimes.big_modular": "error: Python needs an integer and finds a traced value",
    "pastimes.permissions": "error: Python needs a bool and finds a traced value",
    "pastimes.safe_division": "error: ConcretizationError: a list: a list whose length the pro...",
}
