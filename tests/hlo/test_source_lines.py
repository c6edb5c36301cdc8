"""Whose lines instructions and errors name."""

import os
from pathlib import Path

import numpy as np
import phlox
import pytest
from phlox.hlo.source_lines import belongs_to_a_library

ROOT = Path(phlox.__file__).parent
PACKAGES = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


@pytest.mark.parametrize("folder", PACKAGES)
def test_files_of_the_package_are_not_the_users_but_for_its_programs(folder):
    assert belongs_to_a_library(os.path.join(ROOT, folder, "file.py")) == (folder != "command_line")


def test_what_else_is_a_library():
    assert belongs_to_a_library(np.ma.__file__)
    for file in (
        "<stdin>",
        "<doctest f>",
        __file__,
        os.path.join(ROOT, "program.py"),
        os.path.join(ROOT, "compiled", "program.py"),
    ):
        assert not belongs_to_a_library(file)
