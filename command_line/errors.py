"""What a command raises to end with a message instead of a traceback."""

from __future__ import annotations

WRONG_USE, FAILED = 2, 1


class CommandError(Exception):
    """A command cannot do what was asked.

    ``exit_code`` is WRONG_USE where the command line or a file it names is at fault, FAILED where the work itself failed.
    """

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code
