"""Selections are moved together by one call, and by nothing that looks like one."""

import numpy as np
import pytest
from phlox import jit
from phlox.compile.passes import run_named_passes
from phlox.hlo import parse_module


def opcodes(text):
    module = run_named_passes(parse_module(text), ["compact-selections"])
    return [instruction.opcode for instruction in module.entry.instructions]


TEXT = jit(lambda x, m: x[m]).lower(np.ones(20), np.ones(20, np.bool_)).as_text()
ROWS = jit(lambda x, m: x[m]).lower(np.ones((20, 3)), np.ones(20, np.bool_)).as_text()


@pytest.mark.parametrize("text", [TEXT, ROWS])
def test_a_selection_is_one_call(text):
    found = opcodes(text)
    assert found[-1] == "set-dimension-size" and "custom-call" in found and "reduce" in found


@pytest.mark.parametrize(
    "before, after",
    [
        ("ROOT %parameter.1", "%parameter.1"),  # the first value stays
        ("add(%carry, %x)", "multiply(%carry, %x)"),
        ("constant(0)", "constant(1)"),
    ],
)
def test_what_is_no_selection_stays(before, after):
    assert before in TEXT
    changed = TEXT.replace(before, after)
    if before.startswith("ROOT"):
        changed = changed.replace("  %parameter = ", "  ROOT %parameter = ")
    assert "custom-call" not in opcodes(changed)


def test_behind_another_size_lies_what_the_scatter_writes_into():
    found = opcodes(TEXT.replace("slice={[19:20]}", "slice={[18:19]}"))
    assert "custom-call" in found and "select" in found


def test_a_selection_that_something_else_reads_is_one_call():
    def function(x, m):
        return np.sort(x[m]), np.cumsum(x[m])[-1]

    x, m = np.arange(20.0), np.arange(20) % 3 == 0
    compiled = jit(function).lower(x, m).compile()
    assert "phlox.compress" in compiled.as_text() and " scatter(" not in compiled.as_text()
    for backend in ("cpu", "reference"):
        ordered, last = jit(function, backend=backend)(x, m)
        np.testing.assert_array_equal(ordered, x[m])
        assert last == x[m].sum()


def test_what_lies_behind_a_scatter_that_is_read_whole():
    changed = TEXT.replace("ROOT %set", "%set")
    name = next(line.split("=")[0].strip() for line in changed.splitlines() if "set-dimension-size" in line)
    whole = next(line.split("=")[0].strip() for line in changed.splitlines() if " scatter(" in line)
    lines = changed.splitlines()
    end = max(number for number, line in enumerate(lines) if line.strip() == "}")
    lines.insert(end, f"  ROOT %both = (f64[<=20], f64[20]) tuple({name}, {whole})")
    text = "\n".join(line if "entry_computation_layout" not in line else "HloModule m" for line in lines)
    text = text.replace("-> f64[<=20] {", "-> (f64[<=20], f64[20]) {")
    found = opcodes(text)
    assert "custom-call" in found and "select" in found
