"""A decorated function keeps its type: what a type checker says of calls, stages and methods."""

import os
import re
import subprocess
import sys
from pathlib import Path

import phlox
import pytest
from thinning import left_to_ci

pytest.importorskip("mypy")

PROGRAM = """
import numpy as np
import phlox.numpy as pnp
from phlox import jit, load_hlo
from phlox.random import Generator

@jit
def scaled(x: np.ndarray, n: int = 2) -> np.ndarray:
    return x * n

@jit(static_argnames="n")
def element(x: np.ndarray, n: int) -> float:
    return float(x[n])

class Model:
    @jit
    def predict(self, x: np.ndarray) -> np.ndarray:
        return x

x = np.ones(3)
reveal_type(scaled(x))  # is "numpy.ndarray
reveal_type(scaled.lower(x).compile())  # is "phlox.tracer.*Compiled"
reveal_type(scaled.cache_info())  # is "phlox.tracer.*CacheInfo"
reveal_type(element(x, n=0))  # is "float"
reveal_type(Model().predict(x))  # is "numpy.ndarray
reveal_type(load_hlo("program.hlo"))  # is "phlox.*LoadedModule"
reveal_type(load_hlo("program.hlo")(x))  # is "Any"
reveal_type(pnp.exp(2.0))  # is "Any"
reveal_type(pnp.zeros(3))  # is "numpy.ndarray
reveal_type(Generator(7))  # is "phlox.*Generator"
scaled(x, 3)
scaled("x")  # error: Argument 1 .* has incompatible type "str"
scaled(x, m=1)  # error: Unexpected keyword argument "m"
element(x)  # error: Missing positional argument "n"
Model().predict(1)  # error: Argument 1 has incompatible type "int"
jit(3)  # error: No overload variant of "jit"
"""


@left_to_ci
def test_a_type_checker_sees_the_functions_own_type(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    folder = tmp_path / "packages"  # by its name, whatever the checkout's folder is called
    folder.mkdir()
    checkout = Path(phlox.__file__).parent
    (folder / "phlox").mkdir()
    for path in [*checkout.glob("[!.]*"), *checkout.glob("stubs/*")]:  # as the wheel has them
        (folder / "phlox" / path.name).symlink_to(path, target_is_directory=path.is_dir())
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", f"--cache-dir={os.devnull}", "program.py"]
    environment = {**os.environ, "MYPYPATH": str(folder)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert "program.py" in done.stdout, done.stderr
    said = re.findall(r"^program\.py:(\d+): (note: Revealed type|error:)(.*)$", done.stdout, re.MULTILINE)
    by_line = {int(line): kind + words for line, kind, words in said}
    expected = {n: line.partition("  # ")[2] for n, line in enumerate(PROGRAM.splitlines(), 1) if "  # " in line}
    assert by_line.keys() == expected.keys(), done.stdout
    for line, pattern in expected.items():
        assert re.search(pattern, by_line[line]), by_line[line]
