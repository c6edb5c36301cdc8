"""Jitted functions are sent to other processes as functions are; and so are their exceptions."""

import os
import pickle
import subprocess
import sys

import numpy as np
import phlox
import pytest
from phlox import jit

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(phlox.__file__))}

BY_NAME = """
import concurrent.futures
import multiprocessing
import pickle
import numpy as np
from phlox import jit

@jit
def double(x):
    return x * 2

@jit(static_argnames="n")
def power(x, n=2):
    return x ** n

class Model:
    @jit
    def step(self, x):
        return x + 1

@jit(control_flow="trace")
def needs_contents(x):
    return 1 if x > 0 else 2

if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(double)) is double and pickle.loads(pickle.dumps(Model.step)) is Model.step
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        print(*pool.map(double, [np.arange(2.0), 3.0]), pool.submit(power, np.arange(3.0), n=3).result())
        print(pool.submit(Model().step, 1.0).result())
        try:
            pool.submit(needs_contents, 2.5).result()
        except TypeError as error:
            print(type(error).__name__, "argument x" in str(error))
"""

BY_VALUE = """
import sys
import numpy as np
from phlox import jit
import cloudpickle

SCALE = 3.0

def limited(x):
    if x > 2:
        return 2.0
    return x

@jit
def scaled(x):
    return x * SCALE

@jit
def total(x):
    found = 0.0
    for value in x:
        if value > 0:
            found += limited(value)
    return found

@jit(static_argnames="n")
def power(x, n):
    return scaled(x) ** n if n < 5 else power(x, 4)

class Model:
    def __init__(self, w):
        self.w = w
    @jit
    def step(self, x):
        if x > 0:
            return self.w * x
        return x

def make(k):
    return jit(lambda x: x + k)

sys.stdout.buffer.write(cloudpickle.dumps((power, total, Model(2.0), make(1.5), np.linalg.norm)))
"""

RECEIVER = """
import pickle, sys
import numpy as np
power, total, model, local, norm = pickle.load(sys.stdin.buffer)
print(*power(np.arange(3.0), n=2), total(np.arange(-2.0, 200.0)), model.step(3.0), model.step(-3.0), local(1.0), power.__name__)
"""


def run(*arguments, **options):
    found = subprocess.run([sys.executable, *arguments], capture_output=True, env=ENVIRONMENT, timeout=120, **options)
    assert found.returncode == 0, found.stderr.decode()
    return found.stdout


def test_functions_that_are_found_by_name(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(BY_NAME)
    assert run(program).decode().split() == "[0. 2.] 6.0 [0. 1. 8.] 2.0 ConcretizationError True".split()


def test_functions_of_main_are_sent_as_code(tmp_path):
    pytest.importorskip("cloudpickle")
    program = tmp_path / "program.py"
    program.write_text(BY_VALUE)
    sent = run(program)
    program.unlink()  # a notebook has no file, either
    assert run("-c", RECEIVER, input=sent).decode().split() == "0.0 9.0 36.0 397.0 6.0 -3.0 2.5 power".split()


JOBLIB = """
import numpy as np
from joblib import Parallel, delayed
from phlox import jit

@jit
def total(x):
    found = 0.0
    for value in x:
        found += value if value > 0 else -value
    return found

if __name__ == "__main__":
    print(*Parallel(n_jobs=2)(delayed(total)(np.arange(-n, n + 1.0)) for n in (1, 200)))
"""


def test_joblib(tmp_path):
    pytest.importorskip("joblib")
    program = tmp_path / "program.py"
    program.write_text(JOBLIB)
    assert run(program).decode().split() == ["2.0", "40200.0"]


def doubled(x):
    return 2 * x


jitted_under_another_name = jit(doubled)


def test_a_function_that_is_jitted_under_another_name():
    again = pickle.loads(pickle.dumps(jitted_under_another_name))
    assert again(3.0) == 6.0 and again.__wrapped__ is doubled


def test_functions_registered_to_be_sent_by_value():
    cloudpickle = pytest.importorskip("cloudpickle")
    module = sys.modules[__name__]
    assert b"2 * x" not in cloudpickle.dumps(in_this_module)
    cloudpickle.register_pickle_by_value(module)
    try:
        sent = cloudpickle.dumps(in_this_module)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    assert cloudpickle.loads(sent)(3.0) == 7.0 and cloudpickle.loads(sent) is not in_this_module


@jit
def in_this_module(x):
    return 2 * x + 1


def test_exceptions():
    with pytest.raises(phlox.ConcretizationError) as caught:
        jit(lambda x: 1 if x[0] > 0 else 2, control_flow="trace")(np.ones(2))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is phlox.ConcretizationError and str(again) == str(caught.value)
