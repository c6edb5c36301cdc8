"""What the commands share: reading an HLO file, and checking a backend's name."""

from __future__ import annotations

from pathlib import Path

from .. import hlo
from ..backends.loading import read_module
from ..backends.registry import get_backend
from .errors import WRONG_USE, CommandError


def read_hlo_file(path: str, fill_elided: int | None = None) -> hlo.Module:
    """The module in this file; raises CommandError where it cannot be read and hlo.HloError where it is no HLO.

    With a seed, ``fill_elided``, constants whose values are left out have random ones.
    """
    try:
        return read_module(Path(path), fill_elided)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}", WRONG_USE) from error


def check_backend(name: str | None) -> str:
    """The full name of the backend asked for; raises CommandError for an unknown one."""
    try:
        return get_backend(name).name
    except ValueError as error:
        raise CommandError(str(error), WRONG_USE) from error
