"""The examples in the docstrings of every module, and those of the README and of docs/; and the files that these name."""

import doctest
import functools
import importlib
import os
import pkgutil
import re

import numpy as np
import phlox
import pytest
from paths import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DEPENDENCIES = {"phlox", "numpy", "llvmlite", "ml_dtypes", "typing_extensions"}


def module_names():
    """All modules of phlox, found without importing more than its packages."""
    yield "phlox"
    for module in pkgutil.walk_packages(phlox.__path__, "phlox.", onerror=lambda name: None):
        if module.name != "phlox.__main__":
            yield module.name


@pytest.mark.parametrize("name", sorted(module_names()))
def test_docstrings(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in DEPENDENCIES:
            raise
        pytest.skip(f"{error.name} is not installed")
    failed, _ = doctest.testmod(module, extraglobs={"np": np}, optionflags=FLAGS)
    assert failed == 0


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        *(path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("docs/*.md")) if ">>> " in path.read_text()),
    ],
)
def test_text(path, monkeypatch):
    monkeypatch.delenv("PHLOX_BACKEND", raising=False)
    failed, attempted = doctest.testfile(str(ROOT / path), module_relative=False, optionflags=FLAGS)
    assert failed == 0
    assert attempted > 0


TEXTS = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))]
TEXTS.remove("docs/numpy_suite.md")  # which names files of NumPy's


@functools.cache
def endings():
    """The files of the project, by each of the ends that their paths have."""
    found = set()
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if not name.startswith(".") and not (ROOT / folder / name / "pyvenv.cfg").exists()]
        parts = (*os.path.relpath(folder, ROOT).split(os.sep),)
        found.update("/".join((*parts[begin:], file)) for file in files for begin in range(len(parts) + 1))
    return found


@pytest.mark.parametrize("path", TEXTS)
def test_files_that_texts_name_are_there(path):
    named = set(re.findall(r"`([\w./-]+\.(?:py|md|ipynb))`", (ROOT / path).read_text(encoding="utf-8")))
    assert not named - endings()
