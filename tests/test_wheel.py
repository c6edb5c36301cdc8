"""The wheel, installed with its dependencies into a fresh environment, away from the checkout."""

import shutil
import subprocess
import sys
import venv
import zipfile

import pytest
from paths import ROOT

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
import phlox

assert Path(phlox.__file__).is_relative_to(sys.prefix), phlox.__file__

@phlox.jit
def hypotenuse(x, y):
    return np.sqrt(x * x + y * y)

result = hypotenuse(np.array([3.0, 5.0]), np.array([4.0, 12.0]))
assert result.tolist() == [5.0, 13.0], result
"""


def run(*command, **options):
    completed = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    assert completed.returncode == 0, f"{' '.join(map(str, command))}\n{completed.stdout}\n{completed.stderr}"
    return completed.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from a copy, since a build leaves files in its source."""
    folder = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns(".*", "venv", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, folder / "source", ignore=ignored)
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder), str(folder / "source"))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a fresh environment with the wheel installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    python = folder / scripts / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    return python


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert len(tops) == 2 and "phlox" in tops, tops
    assert not [name for name in names if name.startswith(("phlox/tests/", "phlox/notebooks/"))]
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {"phlox/py.typed", "phlox/numpy/__init__.pyi", "phlox/random/__init__.pyi"} <= set(names)


def test_it_works_away_from_the_checkout(python, tmp_path):
    assert "available" in run(python, "-I", "-m", "phlox", "info", cwd=tmp_path)
    run(python, "-I", "-c", PROGRAM, cwd=tmp_path)


def test_it_installs_the_command(python, tmp_path):
    command = python.with_name("phlox")
    assert run(command, "--version", cwd=tmp_path).startswith("phlox ")
