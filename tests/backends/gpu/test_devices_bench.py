"""The benchmark of devices: rows of each chapter on small arrays, its tables, and that it goes on where it ended."""

import json
import re
import subprocess
import sys

import numpy as np
import phlox
import pytest
from bench.devices import __main__ as program
from bench.devices import bench as bench_module
from bench.devices import choices, report, rows_of_limits, run
from bench.devices.bench import Bench, of_calls
from bench.devices.cases import AT_MOST, COPY, TINY, Case, Row, Target
from bench.devices.chapters import CHAPTERS, rows_of
from bench.devices.contenders import to_host
from bench.devices.journal import Journal
from bench.devices.run import LOST, measure_rows, supervised
from gpu_backends import backend_or_skip
from kernels_unrun import register_cuda
from paths import ROOT
from thinning import left_to_ci

# One of each kind of what rows are made of.
SOME = [
    "2 * x + y", "layer norm", "argmax of columns", "transpose, 16 bits", "64 wide", "bf16", "int8", "f(x)", "2 * x",
    "chain of", "training step", "attention", "top 100", "cumsum, ", "at 1,000", "searchsorted",
]  # fmt: skip


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """What a process of its own sets is not left to other tests."""
    monkeypatch.setattr(program, "ENVIRONMENT", {})


def measured(tmp_path, *arguments):
    """The records of a run in this process."""
    path = tmp_path / "records.jsonl"
    assert program.main([*arguments, "--tiny", "--resume", str(path), "--seconds", "1000", "--in-process"]) == 0
    return Journal(path)


@left_to_ci
def test_the_table_is_made(tmp_path, capsys):
    backend_or_skip("opencl")
    page = tmp_path / "page.md"
    journal = measured(tmp_path, "--targets", "--backend", "opencl", "--markdown", str(page), *SOME)
    assert len(journal.chapters()) == len(CHAPTERS)
    for record in journal.records.values():
        if record.get("error", "").startswith("RuntimeError: JAX derives it"):
            continue
        assert "error" not in record and record["seconds"] > 0, record
        assert record["row"] == "copy" or "score" in record or "unmeasured" in record, record
    text = page.read_text(encoding="utf-8")
    assert all(f"| {record['row']} |" in text for record in journal.records.values())
    # What is there is not measured again, and the same table is made of it.
    before = (tmp_path / "records.jsonl").read_text(encoding="utf-8")
    capsys.readouterr()
    measured(tmp_path, "--targets", "--backend", "opencl", "--markdown", str(page), *SOME)
    assert (tmp_path / "records.jsonl").read_text(encoding="utf-8") == before
    assert page.read_text(encoding="utf-8") == text and "2 * x + y" in capsys.readouterr().out


def test_rows_of_generators_and_of_results_with_names():
    backend_or_skip("opencl")
    call, _ = rows_of_limits.on_device(phlox.jit(np.linalg.qr), (np.eye(3) + 1,), "opencl")
    found = to_host(call())
    np.testing.assert_allclose(found.Q @ found.R, np.eye(3) + 1)
    call, _ = rows_of_limits.on_device(phlox.jit(lambda rng: rng.random(3)), (np.random.default_rng(1),), "opencl")
    np.testing.assert_array_equal(to_host(call()), np.random.default_rng(1).random(3))


def test_rows_that_are_no_calls_are_left_out():
    pytest.importorskip("jax")
    names = [row.name for _, row in rows_of_limits.rows_of(["Fourier"])]
    assert names and not any(name.startswith(("error", "compilation")) for name in names)


@left_to_ci
def test_values_are_put_in_the_place_of_constants(tmp_path, monkeypatch):
    monkeypatch.setenv("PHLOX_OPENCL_KERNELS", "gpu")
    backend_or_skip("opencl")
    journal = measured(
        tmp_path, "--choices", "--backend", "opencl", "THREADS_OF_ROWS", "windows of 3 x 3", "FEW_ITEMS: 4,096 in"
    )
    records = list(journal.records.values())
    assert len(records) == 7 and all("error" not in one and not one["errors"] for one in records)
    rows = next(one for one in records if one["row"].startswith("THREADS_OF_ROWS"))
    assert set(rows["times"]) | set(rows["same"]) == {"64", "128", "256", "512"} and len(rows["times"]) > 1
    assert choices.choices.THREADS_OF_ROWS == 128 and "| THREADS_OF_ROWS" in choices.markdown("one", journal.chapters())


@left_to_ci
def test_all_that_the_host_does_on_cuda(registered, tmp_path, monkeypatch):
    """With kernels that do nothing, so that results are not compared, and without peers, as none computes there."""
    register_cuda()
    for module in (bench_module, choices):
        monkeypatch.setattr(module, "compare", lambda *arguments: None)
    journal = measured(tmp_path, "--targets", "--backend", "cuda", *SOME)
    wrong = {one["row"]: one["error"] for one in journal.records.values() if "error" in one}
    # Whether places are inside is what a kernel says.
    assert all(error == "IndexError: list index out of range" or "JAX derives it" in error for error in wrong.values()), wrong
    assert len(wrong) < len(journal.records) / 2
    assert {one.get("unmeasured") for one in journal.records.values()} >= {
        "PyTorch nor CuPy nor JAX",
        "JAX",
        "PyTorch nor CuPy",
    }


def test_rows_are_named_once():
    for name in CHAPTERS:
        names = [row.name for _, row in rows_of([name], [], TINY)]
        assert len(names) == len(set(names)), name
    names = [row.name for _, row in choices.rows_of([], TINY)]
    assert len(names) == len(set(names))
    with pytest.raises(SystemExit, match="no chapter 'others'; there are memory"):
        list(rows_of(["others"], [], TINY))


@pytest.fixture
def on_cpu():
    bench = Bench("cpu", TINY)
    bench.peers, bench.missing, bench.turns = {}, {}, 1
    return bench


def twice(x):
    return 2 * x


def test_what_is_wrong_is_an_error_and_no_time(on_cpu):
    x = np.arange(4.0)
    wrong = Case(twice, (x,), reference=lambda: 3 * x)
    record = on_cpu.measured(Row("wrong", Target(AT_MOST, 1.0), of_calls(lambda bench: wrong)))
    assert "differ" in record["error"] and "seconds" not in record and "score" not in record
    assert report.verdict(record).startswith("failed: WrongResult")
    right = Case(twice, (x,), reference=lambda: 2 * x)
    record = on_cpu.measured(Row("right", Target(AT_MOST, 1.0), of_calls(lambda bench: right)))
    assert record["score"] > 1 and report.verdict(record) == "met"


def test_targets(on_cpu):
    record = {"seconds": 2.0, "bytes": 8e9, "peers": {"CuPy": 1.5, "JAX": 3.0}, "flops": 0, "row": "one"}
    assert on_cpu.reached(Target(COPY, 0.9), record) == {"against": COPY, "wanted": 0.9}  # of a copy nothing is known yet
    on_cpu.copy_bandwidth = 5e9
    assert on_cpu.reached(Target(COPY, 0.9), record)["reached"] == 0.8
    found = record | on_cpu.reached(Target(("PyTorch", "CuPy", "JAX"), 0.85), record)
    assert found["against"] == "CuPy" and found["reached"] == 0.75
    assert report.cells(found)[-2:] == ("0.75 x CuPy", "missed by 12%")
    missing = record | on_cpu.reached(Target(("PyTorch",), 1.0), record)
    assert report.verdict(missing) == "not measured: no PyTorch"
    assert report.heading("Some", [found, missing]) == "Some: 0 of 1 met (0.85 x CuPy or 1.00 x PyTorch wanted), 1 not measured"
    assert report.verdict(record | on_cpu.reached(Target(AT_MOST, 1.0), record)) == "missed by 50%"


def test_no_row_is_begun_after_the_time(tmp_path, capsys):
    journal = Journal(tmp_path / "records.jsonl")
    rows = [("chapter", Row(name, None, None)) for name in ("one", "two")]
    assert measure_rows(rows, lambda row: {"row": row.name}, str, journal, 1000.0, lambda: True) == LOST
    assert list(journal.records) == [("chapter", "one")]
    assert measure_rows(rows, lambda row: {"row": row.name}, str, journal, 0.0) == 0
    assert "1 rows are left" in capsys.readouterr().out and len(Journal(journal.path).records) == 1
    assert measure_rows(rows, lambda row: {"row": row.name}, str, journal, 1000.0) == 0
    assert list(Journal(journal.path).records) == [("chapter", "one"), ("chapter", "two")]


CHILD = """
import json, os, signal, sys, time
sys.path[:0] = {paths}
from bench.devices.cases import Row
from bench.devices.contenders import to_host
from bench.devices.journal import Journal
from bench.devices.run import measure_rows

def measured(row):
    if row.name == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if row.name == "sleeps":
        time.sleep(60)
    return {{"row": row.name}}

told = json.loads(os.environ["PHLOX_BENCH_CHILD"])
journal = Journal(told["resume"])
rows = [("chapter", Row(name, None, None)) for name in {names}]
sys.exit(measure_rows(rows, measured, str, journal, told["seconds"], lambda: list(journal.records)[-1][1] == "lost"))
"""


@pytest.fixture
def run_of(tmp_path, monkeypatch):
    """The exit status and the records of rows with these names, measured by processes of their own."""
    monkeypatch.chdir(tmp_path)

    def run(names, seconds):
        (tmp_path / "child.py").write_text(CHILD.format(paths=[one for one in sys.path if one], names=names), encoding="utf-8")
        path = tmp_path / "records.jsonl"
        return supervised("child", [], str(path), seconds), Journal(path).records

    return run


def test_a_process_that_ends_is_followed_by_another(run_of):
    status, records = run_of(["one", "crashes", "lost", "two"], 60.0)
    assert status == 0 and [name for _, name in records] == ["one", "crashes", "lost", "two"]
    assert records["chapter", "crashes"]["error"] == "the process ended: SIGSEGV"


@left_to_ci
def test_a_row_that_the_time_ends_is_left_to_the_next_run(run_of, monkeypatch):
    monkeypatch.setattr(run, "GRACE", 0.5)
    assert run_of(["sleeps"], 3.0) == (0, {})


@left_to_ci
def test_a_row_that_takes_too_long_is_an_error(run_of, monkeypatch):
    monkeypatch.setattr(run, "ROW_SECONDS", 2.0)
    status, records = run_of(["sleeps", "two"], 60.0)
    assert status == 0 and records["chapter", "sleeps"]["error"] == "it took too long" and ("chapter", "two") in records


def test_a_last_line_that_is_not_whole_is_left_out(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({"chapter": "one", "row": "a", "seconds": 1.0}) + '\n{"chapter": "one", "ro', encoding="utf-8")
    assert list(Journal(path).records) == [("one", "a")]


def test_without_the_device_it_says_why(capsys, tmp_path):
    arguments = ["--targets", "--backend", "rocm", "--resume", str(tmp_path / "records.jsonl"), "--in-process", "--tiny"]
    assert program.main(arguments) == 2
    assert "backend rocm cannot be used" in capsys.readouterr().err


@left_to_ci
def test_tests_that_have_not_begun_in_time_are_skipped():
    command = [sys.executable, "-m", "pytest", "-q", "tests/backends/gpu/test_memory_pool.py", "--within", "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and re.search(r"^\d+ skipped in", done.stdout, re.MULTILINE), done.stdout
