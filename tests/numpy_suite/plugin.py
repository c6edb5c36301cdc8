"""The part of pytest that runs NumPy's tests: which are collected, and what became of each."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from . import replacing, rewriting

IS_JITTED = "PHLOX_SUITE_UNDECORATED" not in os.environ
_outcomes: dict[str, dict[str, Any]] = {}


class RewrittenModule(pytest.Module):
    def _getobj(self):
        return rewriting.load(Path(self.path))


def pytest_pycollect_makemodule(module_path, parent):
    if IS_JITTED and module_path.name.startswith("test_"):
        return RewrittenModule.from_parent(parent, path=module_path)
    return None


def pytest_addoption(parser):
    parser.addoption("--at-most", type=int, default=0, help="so many cases of each test function, evenly spaced; 0: all")
    parser.addoption("--seconds", type=int, default=120, help="after so many a test is ended")


def pytest_collection_modifyitems(config, items):
    most = config.getoption("--at-most")
    if not most:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {id(one) for each in cases.values() for one in each[:: -(-len(each) // most)]}
    items[:] = [item for item in items if id(item) in kept]


_TOO_LONG = "TimeoutError: the test takes too long"
_ended: set[str] = set()  # by their names


def _end(item: pytest.Item) -> None:
    _ended.add(item.nodeid)
    raise TimeoutError("the test takes too long")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    replacing.calls.__init__()
    replacing.calls.is_on = True
    signal.signal(signal.SIGALRM, lambda *_: _end(item))
    signal.alarm(item.config.getoption("--seconds"))
    try:
        return (yield)
    finally:
        signal.alarm(0)
        replacing.calls.is_on = False


def _place(item: pytest.Item, caught: pytest.ExceptionInfo) -> str:
    """The line of the test where it has failed."""
    lines = [entry for entry in caught.traceback if Path(entry.path) == item.path]
    if not lines:
        return ""
    number = lines[-1].lineno
    return f"{number + 1}: {item.path.read_text(encoding='utf-8').splitlines()[number].strip()}: "


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        calls = replacing.calls
        message = ""
        if call.excinfo is not None:
            said = _TOO_LONG if item.nodeid in _ended else f"{call.excinfo.typename}: {call.excinfo.value}"
            message = f"{_place(item, call.excinfo)}{said}"
        report.user_properties.append(
            (
                "found",
                {
                    "outcome": report.outcome,
                    "calls": calls.count,
                    "refusals": calls.refusals[:3],
                    "left": sorted(calls.left),
                    "message": message[:600],
                    "time": round(report.duration, 2),
                },
            )
        )
    return report


def pytest_runtest_logreport(report):
    found = dict(report.user_properties).get("found")
    if found is not None and not (report.nodeid in _outcomes and report.when == "teardown"):
        _outcomes[report.nodeid.rpartition("site-packages/numpy/")[2]] = found


def pytest_sessionfinish(session):
    target = os.environ.get("PHLOX_SUITE_OUTCOMES")
    if target and not hasattr(session.config, "workerinput"):
        Path(target).write_text(json.dumps(_outcomes, indent=0))
