"""Code that can no longer be called is not kept, in whatever way it was forgotten."""

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import phlox
import pytest
from forgetting import WAYS
from paths import SUPPORT
from phlox import jit
from phlox.backends.cpu.program_loader import ProgramCode
from phlox.hlo import Instruction


@pytest.fixture
def alive():
    """How many programs and instructions there are that have been made since."""

    def count():
        gc.collect()
        kinds = [type(thing) for thing in gc.get_objects()]
        return kinds.count(ProgramCode), sum(issubclass(kind, Instruction) for kind in kinds)

    gc.freeze()  # what was there before
    return count


@pytest.mark.parametrize("way", WAYS)
def test_code_and_programs_are_forgotten(way, alive):
    for number in range(2):
        WAYS[way](number)
    before = alive()
    for number in range(2, 6):
        WAYS[way](number)
    code, instructions = alive()
    assert code <= before[0] and instructions < before[1] + 30


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory is resident")
@pytest.mark.parametrize("way", WAYS)
def test_resident_memory_is_flat(way):
    paths = f"{Path(phlox.__file__).parent.parent}:{SUPPORT}"
    command = [sys.executable, SUPPORT / "forgetting.py", "2000", way]
    environment = {"PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1000, check=True)
    assert int(done.stdout.split()[1]) < 8 << 20


def test_live_forms_are_small():
    """An engine that compiles holds most of a megabyte."""
    code = "import numpy as np, forgetting\nfrom phlox import jit\nf = jit(lambda x: x + 1)\nf(np.ones(1))\n"
    code += "before = forgetting.resident_bytes()\nfor n in range(2, 42): f(np.ones(n))\n"
    code += "print((forgetting.resident_bytes() - before) // 40)"
    environment = {"PYTHONPATH": f"{Path(phlox.__file__).parent.parent}:{SUPPORT}", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    assert int(done.stdout) < 250_000


def test_calls_survive_that_others_clear():
    """Threads call while others clear and compile again."""
    function, x, stop, errors = jit(lambda x: np.sin(x) + 1), np.ones(100), threading.Event(), []
    expected = function(x)

    def call():
        try:
            while not stop.is_set():
                np.testing.assert_array_equal(function(x), expected)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        function.cache_clear()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
