"""Tracebacks have the user's lines, as without jit, and none of phlox's."""

import importlib
import os
import subprocess
import sys
import traceback

import numpy as np
import phlox
import pytest
from phlox import fori_loop, host_call, jit, scan
from phlox.hlo.tracebacks import keep_frames_of_users

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(phlox.__file__))}

ROUNDS = 400  # too many to be unrolled


def helper(x):
    return x + np.ones(4)


def in_a_helper(x):
    y = x * 2
    return helper(y)


def element_assigned(x):
    out = np.zeros(2)
    for i in range(3):
        out[i] = x[i] ** 2
    return out


def raised_while_traced(x):
    raise KeyError("mine")


def unknown_dtype(x):
    return x.astype("floot32")


def index_out_of_range(x):
    y = x * 2
    return y[np.int64(7) + x[0].astype(int)]


def checked(value):
    if value > 0.5:
        if value < 2:
            raise ValueError("too large")
    return value


def checked_with_value(value):
    if value > 0.5:
        raise ValueError(f"{value} is too large")
    return value


def raised_in_loops_and_branches(x):
    total = 0.0
    for k in range(ROUNDS):
        if k >= 0:
            while total < 3:
                total += checked(x[k % 3])
    return total


def raised_with_values(x):
    total = 0.0
    for k in range(ROUNDS):
        total += checked_with_value(x[k % 3])
    return total


def wrong_shapes_in_a_branch(x):
    total = np.zeros(3)
    for k in range(ROUNDS):
        if x[k % 3] > 0:
            total += x[:2]
    return total


def assertion(x):
    for k in range(ROUNDS):
        assert x[k % 3] < 0, "positive"
    return x


def unbound(x):
    for k in range(ROUNDS):
        if x[k % 3] < 0:
            y = k
    return y


def from_a_comprehension(x):
    return [helper(row) for row in x.reshape(3, 1) * np.ones(3)]


def from_a_handler(x):
    try:
        return helper(x)
    except ValueError:
        raise RuntimeError("none") from None


def fails(x):
    raise OSError("disk")


def from_the_host(x):
    return host_call(fails, x, x)


def singular(x):
    y = x.reshape(3, 1) * x
    return np.linalg.inv(y)


def explicit_loop(x):
    def body(carry, row):
        return carry + row[5], row

    return scan(body, 0.0, x.reshape(3, 1))


def explicit_index(x):
    return fori_loop(0, 3, lambda i, total: total + x[i + 1], 0.0)


@jit
def inner(x):
    return x + np.ones(4)


def nested_jit(x):
    return inner(x)


def missing_attribute(x):
    return x.shapes


def in_parts_of_expressions(x):
    total = 0.0
    for k in range(ROUNDS):
        total += 1.0 if x[k % 3] < 0 else checked(x[k % 3]) + (lambda v: v)(k)
    return total


def in_a_condition(x):
    return x[0] > 0 and (x[1] < 0 or helper(x)[0])


def in_a_lambda(x):
    f = lambda v: 1.0 if v < 0 else checked(v)  # noqa: E731
    return f(x[0])


FUNCTIONS = [
    in_parts_of_expressions, in_a_condition, in_a_lambda,
    in_a_helper, element_assigned, raised_while_traced, index_out_of_range, raised_in_loops_and_branches, raised_with_values,
    wrong_shapes_in_a_branch, assertion, unbound, from_a_comprehension, from_a_handler, from_the_host, missing_attribute,
    unknown_dtype,
]  # fmt: skip


def shown(error):
    """The lines of a traceback, without this file's call of what raised it; before 3.12 comprehensions are functions."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return [(frame.name, frame.line) for frame in frames if frame.name != "<listcomp>"]


def caught(function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except (Exception, KeyboardInterrupt) as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_lines_as_without_jit(function, backend):
    expected = caught(function, np.ones(3))
    keep_frames_of_users(expected)
    jitted = jit(function, backend=backend)
    for _ in range(3):
        error = caught(jitted, np.ones(3))
        assert shown(error) == shown(expected)
        assert type(error) is type(expected)
        assert (error.__context__ is None or error.__suppress_context__) or error.__context__.__traceback__ is not None


@pytest.mark.parametrize(
    "function, names",
    [(explicit_loop, ["explicit_loop", "body"]), (explicit_index, ["explicit_index", "<lambda>"]), (singular, ["singular"]),
     (nested_jit, ["nested_jit", "inner"])],
)  # fmt: skip
def test_the_names_of_functions(function, names):
    jitted = jit(function)
    for _ in range(2):
        assert [name for name, _ in shown(caught(jitted, np.ones(3)))] == names


@pytest.mark.parametrize("done, is_shown", [
    ("bytearray(1 << 62)", False), ("int('mistake')", True), ("(n for n in ()).throw(KeyboardInterrupt)", False)
])  # fmt: skip
def test_lines_of_the_compiler_are_shown_where_it_fails_by_a_mistake(done, is_shown):
    """Not where there is no memory, nor for Ctrl-C."""
    compiler = compile(done, phlox.hlo.__file__, "exec")

    def call():
        try:
            exec(compiler)
        except BaseException as error:
            keep_frames_of_users(error)
            raise

    assert ("<module>" in [name for name, _ in shown(caught(call))]) == is_shown


@pytest.mark.parametrize("arguments", [(1, 2, 3), ()])
def test_arguments_that_do_not_fit(arguments):
    assert shown(caught(jit(in_a_helper), *arguments)) == []


def test_arguments_of_other_classes():
    assert shown(caught(jit(in_a_helper), object())) == shown(caught(in_a_helper, object()))


def test_arguments_that_are_missing_have_no_other_cause():
    with pytest.raises(TypeError) as caught:
        jit(lambda x, y: x)(1.0)
    assert caught.value.__context__ is None


def test_messages_about_arguments_are_those_of_python():
    def f(x, y, /, z, *, k=1):
        return x

    for arguments, keywords in [
        ((1,), {}),
        ((1, 2, 3, 4), {}),
        ((1, 2, 3), {"q": 1}),
        ((1, 2), {"y": 3}),
        ((1, 2, 3), {"z": 3}),
    ]:
        assert str(caught(jit(f), *arguments, **keywords)) == str(caught(f, *arguments, **keywords))


def test_positions_within_a_line():
    jitted = jit(index_out_of_range)
    error = caught(jitted, np.ones(3))
    text = "".join(traceback.format_exception(error))
    assert "~^^^^^^" in text or sys.flags.no_debug_ranges
    assert text.count("index_out_of_range") == 1


def test_traces_and_compiled_stages():
    assert [name for name, _ in shown(caught(jit(in_a_helper).trace, np.ones(3)))] == ["in_a_helper", "helper"]
    compiled = jit(index_out_of_range).compile(np.ones(3))
    assert [name for name, _ in shown(caught(compiled, np.ones(3)))] == ["index_out_of_range"]


@pytest.mark.parametrize(
    "call",
    [lambda: jit(in_a_helper, static_argnames="z"), lambda: jit(in_a_helper, budget="2 years"),
     lambda: jit(in_a_helper, fast=1),
     lambda: phlox.load_hlo("ENTRY main { ROOT x = f32[3] ad(x, x) }"), lambda: double_by_hlo()(1, 2)],
)  # fmt: skip
def test_what_is_given_to_phlox_itself(call):
    assert [name for name, _ in shown(caught(call))] == ["<lambda>"]


def double_by_hlo():
    return phlox.load_hlo("ENTRY main { x = f32[3] parameter(0) ROOT y = f32[3] add(x, x) }")


def text_assigned(x):
    x[0] = "a"


def text_assigned_to_several(x):
    x[np.array([0, 1])] = "a"


def object_assigned(x):
    x[:] = object()


@pytest.mark.parametrize("function", [text_assigned, text_assigned_to_several, object_assigned])
def test_values_that_are_no_numbers(function):
    error, expected = caught(jit(function), np.ones(3)), caught(function, np.ones(3))
    assert (type(error), str(error), shown(error)) == (type(expected), str(expected), shown(expected))


def test_stages_that_call_each_other():
    for stage in (jit(in_a_helper).lower, jit(in_a_helper).compile):
        assert [name for name, _ in shown(caught(stage, np.ones(3)))] == ["in_a_helper", "helper"]


@pytest.mark.parametrize("other", ["a", object(), {1, 2}, {"a": 1}, None])
def test_operands_have_the_names_of_their_classes(other):
    def subtracted(x, y):
        return x - y

    for value in (np.ones(3), 2.0, np.int32(3)):
        error, expected = caught(jit(subtracted), value, other), caught(subtracted, value, other)
        assert (type(error), str(error)) == (type(expected), str(expected))
        assert not hasattr(error, "__notes__")


def test_all_frames_on_demand(monkeypatch):
    monkeypatch.setenv("PHLOX_FULL_TRACEBACK", "1")
    assert "record" in [name for name, _ in shown(caught(jit(raised_while_traced), np.ones(3)))]


def test_mistakes_of_the_compiler_keep_all_frames(monkeypatch):
    def mistaken(*arguments, **keywords):
        return {}["missing"]

    mistaken.__code__ = mistaken.__code__.replace(co_filename=importlib.import_module("phlox.backends.cpu.backend").__file__)
    monkeypatch.setattr("phlox.backends.cpu.backend.assign_buffers", mistaken)
    assert "compile" in [name for name, _ in shown(caught(jit(lambda x: x + 1), np.ones(3)))]


def test_recursions_without_end():
    """The lines are the user's, and no note speaks of a library that phlox has called at the end."""

    @jit
    def downward(n):
        return downward(n - 1) + 1

    error = caught(downward, 5)
    assert type(error) is RecursionError and "downward" in [name for name, _ in shown(error)]
    assert "record" not in [name for name, _ in shown(error)] and not hasattr(error, "__notes__")


def test_exceptions_that_phlox_handles_are_not_shown():
    def attempt():
        try:
            raise phlox.TracerError("inside")
        except phlox.TracerError:
            raise ValueError("outside")  # noqa: B904

    error = caught(attempt)
    keep_frames_of_users(error)
    assert error.__context__ is None


PROGRAM = """
import numpy as np
from phlox import jit

@jit
def f(x, i):
    total = 0.0
    for k in range(100_000):
        if x[k % 3] > 0:
            total += x[i]
    return total

f(np.ones(3), 9)
"""


def test_a_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    found = subprocess.run([sys.executable, program], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    lines = [line.partition("line ")[2] for line in found.stderr.splitlines() if line.startswith("  File")]
    assert lines == ["13, in <module>", "10, in f"]
    assert "total += x[i]" in found.stderr
    assert found.stderr.splitlines()[-1].startswith("IndexError: index")


def test_a_notebook():
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    try:
        shell.run_line_magic("colors", "nocolor")
        shell.run_cell(PROGRAM.rpartition("\n\n")[0])
        error = shell.run_cell("f(np.ones(3), 9)").error_in_exec
        text = "\n".join(shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__))
    finally:
        shell.clear_instance()
    assert "total += x[i]" in text and "phlox/" not in text
    assert len(text.splitlines()) < 25


def test_an_error_in_a_loop_that_is_tried_in_several_ways_is_shown_once():
    @jit
    def repeated(a, x):
        for _ in range(10):
            x = a @ x
        return x

    with pytest.raises(ValueError, match="mismatch") as caught:
        repeated(np.ones((3, 3)), np.ones(4))
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_an_exception_of_the_program_is_raised_in_few_steps():
    @jit
    def difference(a, b):
        if a * b < 0:
            raise ValueError("no bracket")
        return a - b

    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    for _ in range(3):
        with pytest.raises(ValueError, match="no bracket"):
            difference(4.0, -1.0)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        difference(4.0, -1.0)
    except ValueError as error:
        raised = error
    finally:
        sys.setprofile(before)
    assert count < 40  # neither is the call made again by Python, nor is its line looked up again
    entries = traceback.extract_tb(raised.__traceback__)
    assert [entry.name for entry in entries][1:] == ["difference"]
    assert entries[-1].line == 'raise ValueError("no bracket")'
