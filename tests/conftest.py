"""What the whole test suite shares: golden files, and that the checkout itself is not a package of tests."""

import gc
import os
import sys
import time
from pathlib import Path

import pytest

os.environ["PHLOX_CACHE"] = "0"  # what is tested is made here
os.environ.setdefault("PHLOX_OPENCL_KERNELS", "gpu")  # tests of processors' own kernels ask for these
# Tests that start an interpreter would have it compile phlox each time, three times as long as it takes to load.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
from phlox.backends import registry  # noqa: E402

from .support.thinning import leave_most_to_ci  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"


def pytest_addoption(parser):
    parser.addoption(
        "--emulated", metavar="ARCHITECTURE", help="that of cuda, or rocm, is an emulated device: sm_80, sm_90, gfx942, ..."
    )
    parser.addoption("--within", type=float, metavar="SECONDS", help="skip the tests that have not begun after so long")
    parser.addoption("--once", metavar="FILE", help="leave out the tests that have passed in runs with the same file")
    parser.addoption("--update-goldens", action="store_true", help="write the golden files anew; review the difference by eye")


class TimeLimit:
    """Skips what has not begun in time, in each process."""

    def __init__(self, seconds):
        self.seconds, self.until = seconds, time.monotonic() + seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if time.monotonic() > self.until:
            pytest.skip(f"not begun within {self.seconds:g} s")


class PassedTests:
    """Leaves out the tests that a file names; the names of those that pass are added to it when all have run."""

    def __init__(self, path):
        self.path, self.passed = path, []
        self.before = set(path.read_text(encoding="utf-8").splitlines()) if path.exists() else set()

    def pytest_collection_modifyitems(self, config, items):
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in self.before])
        items[:] = [item for item in items if item.nodeid not in self.before]

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)

    def pytest_sessionfinish(self, session):
        if not hasattr(session.config, "workerinput"):  # a process of pytest-xdist: the one that has started it knows of all
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(f"{name}\n" for name in self.passed)


class Checkout:
    """Makes the root of the checkout a plain folder for pytest.

    Its ``__init__.py`` is phlox's, and pytest would import it a second time, under the name of the folder; which fails where
    that name is no identifier (phlox-main).
    """

    @pytest.hookimpl
    def pytest_collect_directory(self, path, parent):
        return pytest.Dir.from_parent(parent, path=path) if path == ROOT else None


def pytest_configure(config):
    # A conftest's own hooks are not asked about the folders above it.
    config.pluginmanager.register(Checkout(), "checkout")
    if config.getoption("--within") is not None:
        config.pluginmanager.register(TimeLimit(config.getoption("--within")), "time-limit")
    if config.getoption("--once") is not None:
        config.pluginmanager.register(PassedTests(Path(config.getoption("--once"))), "passed-tests")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    leave_most_to_ci(items)


def pytest_collection_finish():
    """What pytest keeps of each test is not gone over at each garbage collection, of which tests ask for many."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Nor is what the tests of a file leave behind: modules, caches and compiled code, which only become more."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture
def registered(monkeypatch):
    """Lets a test register backends; they are gone afterwards."""
    monkeypatch.setattr(registry, "_loaders", dict(registry._loaders))
    monkeypatch.setattr(registry, "_loaded", dict(registry._loaded))


@pytest.fixture
def golden(request):
    """``golden(name, text)`` compares the text with the file tests/golden/name, or writes it under --update-goldens."""

    def compare(name, text):
        path = GOLDEN / name
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} does not exist; pytest --update-goldens writes it"
        assert text == path.read_text(encoding="utf-8")

    return compare
