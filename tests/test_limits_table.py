"""The table of tests/bench/limits: its rows are well formed, the smallest ones run, and what is wrong is not called fast."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")
pytest.importorskip("numba")

from .bench.limits import report  # noqa: E402
from .bench.limits.contenders import PEERS, Case, Contender, Row, Target, targets  # noqa: E402
from .bench.limits.machine import Limits  # noqa: E402
from .bench.limits.measuring import assessed, measured  # noqa: E402
from .bench.limits.rows import CHAPTERS, chosen  # noqa: E402

SMALL = ["20 arrays in nested dicts", "three shapes in rotation, a call", "cholesky, 3"]


class KnownLimits(Limits):
    def bandwidth(self, footprint=0):
        return 10e9

    def peak(self, unit):
        return 100e9


def test_rows_are_well_formed():
    for chapter in CHAPTERS:
        rows = list(chapter.rows())
        names = [row.name for row in rows]
        assert len(names) == len(set(names)), chapter.TITLE
        known = {*PEERS, "best", "bandwidth", "peak", "at most", "one shape"}
        for row in rows:
            assert row.targets, row.name
            assert all(one.against in known and one.value > 0 for one in row.targets), row.name
            assert callable(row.make), row.name
    assert len({chapter.TITLE for chapter in CHAPTERS}) == len(CHAPTERS)


def test_rows_are_chosen_by_words_of_their_names_and_of_chapters():
    found = {chapter.TITLE: [row.name for row in rows] for chapter, rows in chosen(["ADD OF 8", "scans"])}
    assert found["Calls"] == ["add of 8 f32"]
    assert len(found) == 2 and len(found["Scans, 10 M f32"]) == 9


@pytest.mark.parametrize("name", SMALL)
def test_a_small_row_is_measured(name):
    row = next(row for _, rows in chosen([name]) for row in rows if row.name == name)
    record = measured(row, KnownLimits(1), seconds=0)
    assert "error" not in record
    assert all(seconds > 0 for seconds in record["medians"].values())
    assert {"phlox", "NumPy"} <= set(record["medians"])
    assert report.worst(record) > 0 and report.cells(record)[0]


def of_functions(phlox, numpy, **facts):
    return Case({"phlox": Contender(phlox), "NumPy": Contender(numpy)}, **facts)


def test_a_wrong_result_is_an_error_and_not_a_time():
    row = Row("wrong", targets(NumPy=1), lambda: of_functions(lambda: np.ones(3), lambda: np.full(3, 1.01)))
    record = measured(row, KnownLimits(1), seconds=0)
    assert "differ" in record["error"] and report.worst(record) == 0
    assert "medians" not in record


def test_a_peer_that_fails_is_left_out_and_named():
    def fails():
        raise ValueError("no such form")

    def make():
        case = of_functions(lambda: 1.0, lambda: 1.0)
        case.contenders["Numba"] = Contender(fails)
        return case

    record = measured(Row("some", targets(Numba=1), make), KnownLimits(1), seconds=0)
    assert record["errors"] == {"Numba": "ValueError: no such form"}
    assert report.verdict(record) == "(Numba: not measured)"


def test_targets_are_ratios_parts_of_the_limits_and_bounds():
    wanted = (*targets(NumPy=3, best=2, bandwidth=0.85, peak=0.5), Target("at most", 1.0))
    case = Case({}, bytes=5e9, flops=40e9)
    record = assessed(wanted, case, {"phlox": [1.0, 0.8, 5.0], "NumPy": [4.0], "JAX": [1.5]}, KnownLimits(1))
    reached = {one["against"]: one["reached"] for one in record["targets"]}
    assert reached == {"NumPy": 4.0, "best": 1.5, "bandwidth": 0.625, "peak": 0.5, "at most": 1.0}
    met = {one["against"] for one in record["targets"] if one["score"] >= 1}
    assert met == {"NumPy", "peak", "at most"}
    assert report.verdict(record) == "missed: 1.50 of 2 x best; 62% of bandwidth, 85% wanted"


def test_the_page_has_every_row_and_the_means():
    record = {"row": "a row", **assessed(targets(JAX=2), Case({}), {"phlox": [1.0], "JAX": [3.0]}, KnownLimits(1))}
    chapter = {"title": "Some", "mean": {"JAX": 4}, "rows": [record, {"row": "another", "error": "no", "targets": []}]}
    machine = {"processor": "one", "versions": {"NumPy": "2"}, "limits": KnownLimits(1).as_data()}
    page = report.markdown({"machine": machine, "chapters": [chapter]})
    assert "| a row | 1 s |  |  | 3.00 |  |  | met |" in page
    assert "| another | failed |" in page
    assert "geometric mean: 3.00 x JAX, 4 wanted: missed" in page


def test_the_limits_of_the_machine_are_measured():
    limits = Limits(2)
    assert limits.bandwidth(1 << 16) > 1e8 and limits.peak("f64") > 1e8
    assert list(limits.bandwidths) == [1 << 16]
