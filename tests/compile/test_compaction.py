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
        ("slice={[19:20]}", "slice={[18:19]}"),
        ("constant(0)", "constant(1)"),
    ],
)
def test_what_is_no_selection_stays(before, after):
    assert before in TEXT
    changed = TEXT.replace(before, after)
    if before.startswith("ROOT"):
        changed = changed.replace("  %parameter = ", "  ROOT %parameter = ")
    assert "custom-call" not in opcodes(changed)


def test_a_scatter_that_is_read_elsewhere_stays():
    changed = TEXT.replace("ROOT %set", "%set")
    name = next(line.split("=")[0].strip() for line in changed.splitlines() if "set-dimension-size" in line)
    whole = next(line.split("=")[0].strip() for line in changed.splitlines() if " scatter(" in line)
    lines = changed.splitlines()
    end = max(number for number, line in enumerate(lines) if line.strip() == "}")
    lines.insert(end, f"  ROOT %both = (f64[<=20], f64[20]) tuple({name}, {whole})")
    text = "\n".join(line if "entry_computation_layout" not in line else "HloModule m" for line in lines)
    text = text.replace("-> f64[<=20] {", "-> (f64[<=20], f64[20]) {")
    assert "custom-call" not in opcodes(text)
