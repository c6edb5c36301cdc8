"""The stages between a Python function and its code."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from jitted_calls import assert_same, compiled
from phlox import hlo
from phlox.tracer import ShapeDtype, jit

# --- stages ---


def test_stages():
    f = compiled(lambda x, y: {"sum": np.sum(x * y)})
    x = np.arange(4.0)
    traced = f.trace(x, 2.0)
    assert traced.out_tree == "{'sum': *}"
    lowered = traced.lower()
    assert "multiply" in lowered.as_text() and lowered.as_text() == f.lower(x, 2.0).as_text()
    executable = lowered.compile()
    assert_same(executable(x, 3.0), {"sum": np.float64(18.0)})
    assert executable.memory_analysis()["arguments"] == 40
    assert "multiply" in executable.as_text()
    assert f.cache_info().misses == 0


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_notebooks_show_the_graph_and_the_text(backend):
    traced = jit(lambda x, y: np.sum(x * y < 1), backend=backend).trace(np.arange(4.0), 2.0)
    for stage in (traced, traced.lower(), traced.lower().compile()):
        page = ElementTree.fromstring(f"<div>{stage._repr_html_()}</div>")
        graph, text = page
        (drawing,) = graph
        assert drawing.tag.endswith("svg")
        boxes = {element.text.partition("(")[0] for element in drawing.iter("{http://www.w3.org/2000/svg}text")}
        assert {"multiply", "reduce"} <= boxes
        assert text.find("pre").text == stage.as_text()


def test_a_compiled_stage_shows_what_runs():
    compiled_stage = jit(lambda x: np.exp(-x), backend="cpu").compile(np.ones(3))
    assert "fusion" in compiled_stage.as_text()
    assert ">fusion<" in compiled_stage._repr_html_()


def test_a_compiled_stage_shows_its_code():
    compiled_stage = jit(lambda x: np.exp(-x), backend="cpu").compile(np.ones(3))
    assert compiled_stage.as_text("hlo") == compiled_stage.as_text()
    assert "define " in compiled_stage.as_text("llvm")
    assert "ret" in compiled_stage.as_text("assembly")
    with pytest.raises(ValueError, match="one of 'hlo', 'llvm', 'assembly' is required, 'plan' given"):
        compiled_stage.as_text("plan")


def test_stages_take_descriptions():
    f = compiled(lambda x, n: x[:n] + 0)
    lowered = f.lower(ShapeDtype((5, 2), np.float32), 3)
    assert str(lowered.module.entry.shape) == "f32[3,2]"
    assert_same(lowered.compile()(np.ones((5, 2), np.float32), 3), np.ones((3, 2), np.float32))
    with pytest.raises(TypeError, match=r"compiled for other arguments: argument x: shape \(5, 2\) -> \(4, 2\)"):
        lowered.compile()(np.ones((4, 2), np.float32), 3)
    with pytest.raises(TypeError, match="'ShapeDtype' object is not subscriptable"):
        f(ShapeDtype((5, 2), np.float32), 3)


def test_cost_analysis():
    f = compiled(lambda a, b: np.exp(a @ b))
    cost = f.lower(np.ones((4, 5)), np.ones((5, 6))).cost_analysis()
    assert cost["flops"] == 2 * 4 * 5 * 6
    assert cost["transcendentals"] == 24
    assert cost["bytes accessed"] == 8 * (20 + 30 + 24)


def test_instructions_remember_the_users_line():
    def f(x):
        y = x * 2
        return y + 1

    module = compiled(f).trace(np.ones(2)).module
    first = f.__code__.co_firstlineno
    lines = {i.opcode: i.source.line - first for i in module.entry.instructions if i.opcode in ("multiply", "add")}
    assert lines == {"multiply": 1, "add": 2}
    assert all(i.source.file == __file__ for i in module.entry.instructions if i.opcode in ("multiply", "add"))


def test_module_is_verified_and_named_after_the_function():
    @compiled
    def my_function(x):
        return x + 1

    assert my_function.lower(np.ones(2)).module.name == "my_function"


def test_shapes_are_inferred_once(monkeypatch):
    traced = jit(lambda x: np.sin(x) * 2 + x[:2].reshape(2, 3)).trace(np.ones((2, 3)))
    monkeypatch.setattr(hlo.Operation, "infer_shape", None)
    assert traced.lower().module.entry.root.opcode == "add"
