"""The commands: what they print, what they write, and how they end."""

import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import phlox
import pytest
from cpu_passes import CPU_PASSES
from paths import ROOT
from phlox.__main__ import main
from phlox.command_line import cache, info
from phlox.command_line.errors import CommandError
from phlox.command_line.run import read_arguments
from phlox.hlo.text.parser import parse_module
from phlox.runtime.disk_cache import DiskCache

PACKAGE = Path(phlox.__file__).parent

SCALE = """
HloModule scale

ENTRY main {
  x = f32[3] parameter(0)
  factor = f32[] parameter(1)
  all = f32[3] broadcast(factor), dimensions={}
  ROOT scaled = f32[3] multiply(x, all)
}
"""


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.hlo"
    path.write_text(SCALE)
    return path


def run_command(capsys, *arguments):
    """Exit code, standard output and standard error."""
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_info(capsys):
    code, out, _ = run_command(capsys, "info")
    assert code == 0
    assert f"phlox      {phlox.__version__}" in out and np.__version__ in out
    assert re.search(r"reference +available", out)


def test_info_names_every_setting():
    read = set()
    for folder in ("backends", "command_line", "compile", "hlo", "tracer"):
        for path in (PACKAGE / folder).rglob("*.py"):
            read |= set(re.findall(r"[\"'](PHLOX_[A-Z_]+)[\"']", path.read_text(encoding="utf-8")))
    assert read == set(info.SETTINGS)
    documented = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(PHLOX_[A-Z_]+)`", documented, re.MULTILINE)) == read


@pytest.mark.parametrize("names", [("x", "factor"), ("arr_0", "arr_1")])
def test_run_with_arguments(capsys, scale, tmp_path, names):
    arguments, results = tmp_path / "arguments.npz", tmp_path / "results"
    np.savez(arguments, **dict(zip(names, (np.float32([1, 2, 3]), np.float32(2)))))
    code, out, _ = run_command(capsys, "run", scale, "--backend", "reference", "--args", arguments, "--out", results)
    assert code == 0
    assert "[2. 4. 6.]" in out
    written = np.load(results)
    assert written.files == ["arr_0"]
    np.testing.assert_array_equal(written["arr_0"], np.float32([2, 4, 6]))


def test_run_with_random_arguments(capsys, scale):
    outputs = [run_command(capsys, "run", scale, "--backend", "reference")[1] for _ in range(2)]
    assert "arguments are random, seed 0:" in outputs[0]
    drawn = [[line for line in output.splitlines() if "backend" not in line] for output in outputs]
    assert drawn[0] == drawn[1]
    code, out, _ = run_command(capsys, "run", scale, "--backend", "reference", "--seed", "7")
    assert code == 0 and "arguments are random, seed 7:" in out
    assert out.splitlines()[2] != outputs[0].splitlines()[2]


def test_run_with_tuples_and_tokens(capsys, tmp_path):
    """A tuple parameter takes one array for each leaf; results are written leaf by leaf, and read as arguments again."""
    path, arguments, results = tmp_path / "swap.hlo", tmp_path / "arguments.npz", tmp_path / "results.npz"
    path.write_text("""ENTRY main {
      p = (f32[2], (s32[], bf16[2])) parameter(0)
      x = f32[2] get-tuple-element(p), index=0
      q = (s32[], bf16[2]) get-tuple-element(p), index=1
      n = s32[] get-tuple-element(q), index=0
      b = bf16[2] get-tuple-element(q), index=1
      t = token[] after-all()
      ROOT r = ((bf16[2], token[]), s32[], f32[2]) tuple((bf16[2], token[]) tuple(b, t), n, x)
    }""")
    given = (np.float32([1, 2]), np.int32(3), np.array([4, 5], ml_dtypes.bfloat16))
    np.savez(arguments, *given)
    for backend in ("reference", "cpu"):
        code, out, error = run_command(capsys, "run", path, "--backend", backend, "--args", arguments, "--out", results)
        assert (code, error) == (0, "")
        assert "result 2: f32[2]" in out and "token[]" not in out
        written = np.load(results)
        assert written.files == ["arr_0", "arr_1", "arr_2"]
        for name, expected in zip(written.files, reversed(given), strict=True):
            assert written[name].tobytes() == expected.tobytes()
    np.savez(arguments, *given[:2])
    code, _, error = run_command(capsys, "run", path, "--args", arguments)
    assert code == 2 and "must hold arr_0, arr_1, arr_2; it holds arr_0, arr_1" in error


def test_run_without_enough_memory(capsys, tmp_path):
    path = tmp_path / "large.hlo"
    path.write_text("ENTRY main { ROOT x = f64[1000000000,1000000] parameter(0) }")
    code, _, error = run_command(capsys, "run", path, "--backend", "reference")
    assert code == 1 and "not enough memory" in error and "Traceback" not in error


def test_run_with_a_type_that_numpys_files_lack(capsys, tmp_path):
    path = tmp_path / "double.hlo"
    path.write_text("ENTRY main {\n  x = bf16[2] parameter(0)\n  ROOT y = bf16[2] add(x, x)\n}\n")
    np.savez(tmp_path / "x.npz", np.array([1.5, 2], ml_dtypes.bfloat16))
    code, out, error = run_command(capsys, "run", path, "--backend", "reference", "--args", tmp_path / "x.npz")
    assert (code, error) == (0, "")
    assert "[3 4]" in out


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.float32([1, 2, 3])}, r"must hold arr_0, arr_1 \(or x, factor\); it holds x"),
        (
            {"x": np.zeros(3), "factor": np.float32(1)},
            r"parameter 0 \(x\): f32\[3\] is required .*, dtype float64",
        ),
        ({"x": np.zeros(4, "f4"), "factor": np.float32(1)}, r"f32\[3\] is required, an array of shape \(4,\) given"),
    ],
)
def test_run_with_arguments_that_do_not_fit(capsys, scale, tmp_path, arrays, message):
    np.savez(tmp_path / "arguments.npz", **arrays)
    code, _, error = run_command(capsys, "run", scale, "--backend", "reference", "--args", tmp_path / "arguments.npz")
    assert code == 2
    assert error.startswith("phlox run: error: ") and re.search(message, error)


def test_run_with_unreadable_arguments(capsys, scale, tmp_path):
    (tmp_path / "text.npz").write_text("no archive")
    np.save(tmp_path / "one.npy", np.zeros(3))
    messages = {
        "text.npz": "begins with b'no arc' given",
        "one.npy": "an .npz file of arrays is required",
        "no.npz": "cannot be read",
    }
    for name, message in messages.items():
        code, _, error = run_command(capsys, "run", scale, "--backend", "reference", "--args", tmp_path / name)
        assert code == 2 and message in error


def test_run_malformed_hlo(capsys, tmp_path):
    path = tmp_path / "wrong.hlo"
    path.write_text("HloModule wrong\n\nENTRY main {\n  ROOT x = f32[3] parameter[0]\n}\n")
    code, _, error = run_command(capsys, "run", path, "--backend", "reference")
    assert code == 1
    assert error.startswith(f"phlox run: error: {path}, line 4, column 28: ")
    path.write_text("ENTRY main {\n  x = f32[3] parameter(0)\n  ROOT y = f32[4] negate(x)\n}\n")
    code, _, error = run_command(capsys, "run", path, "--backend", "reference")
    assert code == 1 and str(path) in error and "f32[3]" in error and "f32[4]" in error


def test_constants_that_are_left_out(capsys, tmp_path):
    path = tmp_path / "elided.hlo"
    constants = "\n  ".join((
        "c = f32[2,3] constant({...})",
        "t = (s32[2], (pred[2,2])) constant({...})",
        "u = (f32[2], s32[]) constant(({...}, 7))",
    ))  # fmt: skip
    results = "(f32[2,3], (s32[2], (pred[2,2])), (f32[2], s32[]))"
    path.write_text(f"HloModule elided\nENTRY main {{\n  {constants}\n  ROOT r = {results} tuple(c, t, u)\n}}\n")
    code, _, error = run_command(capsys, "run", path, "--backend", "reference")
    assert code == 1 and "line 3, column 25: the values of this constant are elided" in error and "--fill-elided" in error
    fill = ("run", path, "--fill-elided", "--backend", "reference", "--seed")
    printed = [run_command(capsys, *fill, seed) for seed in (1, 1, 2)]
    assert [code for code, _, _ in printed] == [0, 0, 0]
    values = [output.partition("backend reference")[0] for _, output, _ in printed]
    assert "constants whose values are left out are random, seed 1" in values[0]
    assert values[0] == values[1] != values[2].replace("seed 2", "seed 1")
    assert "\n    7\n" in values[0]


def test_files_and_backends_that_do_not_exist(capsys, scale, tmp_path):
    for command in ("run", "opt"):
        code, _, error = run_command(capsys, command, tmp_path / "missing.hlo")
        assert code == 2 and "missing.hlo cannot be read: No such file or directory" in error
    (tmp_path / "bytes.hlo").write_bytes(b"\xff\xfe")
    code, _, error = run_command(capsys, "run", tmp_path / "bytes.hlo", "--backend", "reference")
    assert code == 1 and "bytes.hlo, line 1, column 1: byte 0 is not UTF-8" in error
    code, _, error = run_command(capsys, "run", scale, "--backend", "tpu")
    assert code == 2 and "no backend is named 'tpu'" in error
    code, _, error = run_command(capsys, "run", scale, "--backend", "reference", "--out", tmp_path / "no" / "results.npz")
    assert code == 2 and f"cannot be written to {tmp_path / 'no' / 'results.npz'}: there is no folder" in error
    code, out, error = run_command(capsys, "run", scale, "--backend", "reference", "--out", tmp_path)
    assert code == 2 and "it is a folder" in error and out == ""


def test_opt(capsys, scale, tmp_path):
    path = tmp_path / "dead.hlo"
    path.write_text(SCALE.replace("ROOT scaled", "unused = f32[3] exponential(x)\n  ROOT scaled"))
    code, out, _ = run_command(capsys, "opt", path)
    assert code == 0 and "exponential" not in out and out.startswith("HloModule scale")
    code, out, _ = run_command(capsys, "opt", path, "--passes", " ")
    assert code == 0 and "exponential" in out
    assert parse_module(out) == parse_module(path.read_text())
    path.write_text(SCALE.replace("{}\n", '{}, metadata={op_type="broadcast" source_file="a.py" source_line=3}\n'))
    assert "a.py" not in run_command(capsys, "opt", path)[1]
    _, out, _ = run_command(capsys, "opt", path, "--metadata")
    assert 'metadata={op_type="broadcast" source_file="a.py" source_line=3}' in out


def test_opt_lists_passes_and_refuses_others(capsys, scale):
    code, out, _ = run_command(capsys, "opt", "--list")
    listed = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert code == 0 and {"cse", "dce"} <= set(listed) == set(CPU_PASSES)
    assert run_command(capsys, "opt", scale, "--passes", ",".join(listed))[0] == 0
    code, _, error = run_command(capsys, "opt", scale, "--passes", "make-it-fast")
    assert code == 2 and "make-it-fast" in error
    code, _, error = run_command(capsys, "opt")
    assert code == 2 and "a file is required" in error


def test_usage_errors_end_with_2(capsys):
    wrong = ["demo --steps 0", "demo --steps many", "run x.hlo --seed -1", "run x.hlo --seed many"]
    for arguments in ([], ["fly"], ["run"], *map(str.split, wrong)):
        with pytest.raises(SystemExit) as exit:
            main(arguments)
        assert exit.value.code == 2
        assert "usage: phlox" in capsys.readouterr().err


def test_as_a_process(tmp_path):
    """Once for real: the module runs, errors leave no traceback, a closed pipe no complaint."""

    def process(*arguments, stdout=subprocess.PIPE):
        command = [sys.executable, "-m", "phlox", *arguments]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": subprocess.PIPE}
        return subprocess.run(command, text=True, cwd=tmp_path, **pipes)

    version = process("--version")
    assert (version.returncode, version.stdout) == (0, f"phlox {phlox.__version__}\n")
    wrong = process("run", "missing.hlo")
    assert wrong.returncode == 2 and "Traceback" not in wrong.stderr
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as closed:
        cut_off = process("info", stdout=closed)
    assert (cut_off.returncode, cut_off.stderr) == (1, "")


FED = """
HloModule fed

ENTRY main {
  x = f32[2] parameter(0)
  token = token[] after-all()
  sent = token[] outfeed(x, token)
  fed = (f32[2], token[]) infeed(sent)
  ROOT y = f32[2] get-tuple-element(fed), index=0
}
"""


def test_what_a_program_sends_is_printed_and_what_it_waits_for_is_named(capsys, tmp_path):
    path = tmp_path / "fed.hlo"
    path.write_text(FED)
    code, _, error = run_command(capsys, "run", path)
    assert code == 1
    assert f"{path}: infeed: the queue is closed and empty; the program waits for a value of shape f32[2]" in error
    path.write_text(FED.replace("infeed(sent)", "tuple(x, token)"))
    np.savez(tmp_path / "x.npz", np.float32([1.5, 2.5]))
    code, out, _ = run_command(capsys, "run", path, "--args", tmp_path / "x.npz")
    assert code == 0 and "  outfeed 0: f32[2]\n    [1.5 2.5]\n" in out


def test_the_seed_is_that_of_the_programs_random_numbers(capsys, tmp_path):
    path, results = tmp_path / "random.hlo", tmp_path / "results.npz"
    path.write_text(
        "HloModule m\n"
        "ENTRY e { a = f32[] constant(0)  b = f32[] constant(1)  ROOT r = f32[4] rng(a, b), distribution=rng_uniform }"
    )
    drawn = []
    for seed in (1, 1, 2):
        assert run_command(capsys, "run", path, "--seed", seed, "--out", results)[0] == 0
        drawn.append(np.load(results)["arr_0"].tolist())
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_files_of_arguments_are_refused(capsys, scale, tmp_path, save):
    path = tmp_path / "arguments.npz"
    save(path, x=np.float32([1, 2, 3]), factor=np.float32(2))
    data = path.read_bytes()
    for place in range(0, len(data), 5):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        try:
            read_arguments(str(path), parse_module(SCALE))
        except CommandError as error:
            assert str(path) in str(error) and error.exit_code == 2
    for size in range(0, len(data), 50):
        path.write_bytes(data[:size])
        with pytest.raises(CommandError, match="npz file"):
            read_arguments(str(path), parse_module(SCALE))
    code, _, error = run_command(capsys, "run", scale, "--args", scale)
    assert code == 2 and "an .npz file of arrays is required, a file that begins with b'\\nHloMo' given" in error


# --- cache ---


def test_the_cache_is_shown_packed_cleared_and_unpacked(monkeypatch, tmp_path, capsys):
    kept = DiskCache(tmp_path / "kept", limit=1 << 20)
    monkeypatch.setattr(cache, "disk_cache", lambda: kept)
    key, packed = "5f" * 32, tmp_path / "packed"

    def printed(*arguments):
        assert main(["cache", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    assert "0 entries, 0 bytes of 1.049 MB" in printed()
    kept.put(key, b"code", "energy(f64[3])")
    assert key[:12] in (shown := printed("--all")) and "energy(f64[3])" in shown
    assert printed("--pack", packed).startswith("1 entries of ")
    assert printed("--clear").startswith("1 entries removed") and kept.get(key) is None
    assert printed("--unpack", packed).startswith("1 entries of ")
    assert kept.read(key) == ("energy(f64[3])", b"code")


def test_what_is_no_packed_cache_is_refused(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cache, "disk_cache", lambda: DiskCache(tmp_path / "kept", limit=1 << 20))
    (tmp_path / "text").write_text("no archive")
    assert main(["cache", "--unpack", str(tmp_path / "text")]) == 1
    assert "not a gzip file" in capsys.readouterr().err
    monkeypatch.setattr(cache, "disk_cache", lambda: None)
    assert main(["cache"]) == 2
    assert "nothing is kept on disk" in capsys.readouterr().err
