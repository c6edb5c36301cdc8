"""The examples in the docstrings of every module, imported by its installed name, and those of the README and of docs/."""

import doctest
import importlib
import pkgutil

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
