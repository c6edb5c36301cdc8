"""Selections are moved together by one call, and by nothing that looks like one."""

import numpy as np
import pytest
from phlox import jit
from phlox.backends.registry import get_backend
from phlox.compile.passes import run_named_passes
from phlox.hlo import Computation, evaluate, parse_module


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


def values_moved(function, *arguments):
    """The operations that compute what each call moves together."""
    text = jit(function).lower(*arguments).as_text()
    module = run_named_passes(parse_module(text), ["compact-selections"])
    calls = [one for one in module.entry.instructions if one.opcode == "custom-call"]
    return [call.operands[1].opcode for call in calls if len(call.operands) > 1]


X, Y = np.random.default_rng(5).normal(size=(2, 300))
COMPUTED_OF_ONE_ARRAY = {
    "one operation": lambda x, y, m: np.sqrt(np.abs(x))[m],
    "of the selected ones": lambda x, y, m: np.exp(x[m]) + 1,
    "with numbers": lambda x, y, m: np.where(x > 0, x * 2.0, 3.0)[m],
    "with numbers that are computed": lambda x, y, m: (x * np.cumsum(y)[-1] + y.argmax() - x.mean())[m],
    "used twice": lambda x, y, m: (x * x + x)[m],
    "of another type": lambda x, y, m: (x * 100).astype(np.int8)[m],
    "a comparison": lambda x, y, m: (x > 0.5)[m],
    "complex": lambda x, y, m: (x + 1j)[m],
    "rows": lambda x, y, m: (x.reshape(100, 3) / 7)[m[:100]],
    "cheap, and used elsewhere": lambda x, y, m: ((x + 1)[m], (x + 1).sum()),
    "the mask itself": lambda x, y, m: (~m)[m],
    "of its own mask": lambda x, y, m: np.tanh(x)[np.tanh(x) > 0],
}


@pytest.mark.parametrize("name", COMPUTED_OF_ONE_ARRAY)
def test_what_is_computed_of_one_array_is_computed_of_the_selected_elements(name):
    function, mask = COMPUTED_OF_ONE_ARRAY[name], X + Y > 0
    if name != "of its own mask":  # which is computed of all of them
        assert values_moved(function, X, Y, mask) in (["parameter"], [], ["reshape"])
    for m in (mask, ~mask, mask & False, mask | True):
        for backend in ("cpu", "reference"):
            found, expected = jit(function, backend=backend)(X, Y, m), function(X, Y, m)
            for one, other in zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]:
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
                np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y, m: (x + y)[m],
        lambda x, y, m: (lambda e: (e[m], e))(np.exp(x)),
        lambda x, y, m: (x.reshape(100, 3) + y[:3])[m[:100]],
        lambda x, y, m: np.cumsum(x)[m],
    ],
)
def test_what_is_computed_of_several_arrays_or_used_whole_is_computed_before(function):
    mask = X > 0
    assert "parameter" not in values_moved(function, X, Y, mask)
    found, expected = jit(function)(X, Y, mask), function(X, Y, mask)
    for one, other in zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]:
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_call_is_at_the_line_that_needs_the_selection():
    def function(x, m):
        values = np.sqrt(x)
        return np.sort(values[m])

    first = function.__code__.co_firstlineno
    module = run_named_passes(jit(function).lower(np.abs(X), X > 0).module, ["compact-selections"])
    call = next(one for one in module.entry.instructions if one.opcode == "custom-call")
    assert call.source.line == first + 2


@pytest.mark.parametrize("shape", [(20,), (20, 3)])
def test_selected_elements_have_places_of_their_own(shape):
    """What is not selected has places beyond the end, so that no two are the same."""
    x, m = np.arange(float(np.prod(shape))).reshape(shape), np.arange(20) % 3 == 0
    module = parse_module(jit(lambda x, m: x[m]).lower(x, m).as_text())
    separate = run_named_passes(module, ["separate-selections"])
    (scatter,) = [instruction for instruction in separate.entry.instructions if instruction.opcode == "scatter"]
    assert scatter.attributes["unique_indices"]
    for mask in (m, ~m, m & False, m | True):
        for one in (module, separate):
            (found,) = get_backend("reference").compile(one)(x, mask)
            np.testing.assert_array_equal(found, x[mask])
    places = Computation("places", separate.entry.instructions, scatter.operands[1])
    assert len(np.unique(evaluate(places, x, m))) == 20
