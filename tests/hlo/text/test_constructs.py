"""Everything that HLO text can contain: read, printed back, run, and read by XLA as printed."""

import numpy as np
import pytest
from constructs import CONSTRUCTS
from phlox import hlo, load_hlo
from phlox.backends.arguments import flatten
from phlox.backends.loading import random_arguments
from phlox.hlo import HloSyntaxError, Module, parse_module

OPTIONS = [{}, {"metadata": True}, {"names": "canonical"}]


def module_of(name):
    return parse_module(CONSTRUCTS[name].text)


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_construct_is_printed_back(name):
    module = module_of(name)
    hlo.verify(module)
    for options in OPTIONS:
        text = module.as_text(**options)
        again = parse_module(text)
        assert again == module
        assert again.as_text(**options) == text


@pytest.mark.peer
@pytest.mark.parametrize("name", [name for name, construct in CONSTRUCTS.items() if "xla" not in construct.without])
def test_xla_reads_printed_construct(name):
    xla = pytest.importorskip("jaxlib._hlo")
    for options in OPTIONS:
        xla.hlo_module_from_text(module_of(name).as_text(**options))


@pytest.mark.parametrize("name", [name for name, construct in CONSTRUCTS.items() if "run" not in construct.without])
def test_construct_runs(name):
    """Both backends agree; ``test_meaning`` says that they are right."""
    module = module_of(name)
    arguments = random_arguments(module, seed=3)
    results = [flatten(load_hlo(CONSTRUCTS[name].text, backend)(*arguments)) for backend in ("reference", "cpu")]
    assert len(results[0]) == len(hlo.leaves(module.entry.shape))
    for expected, actual in zip(*results, strict=True):
        expected, actual = np.asarray(expected), np.asarray(actual)
        assert actual.dtype == expected.dtype
        wide = np.complex128 if expected.dtype.kind == "c" else expected.dtype if expected.dtype.kind in "biu" else np.float64
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=1e-5, atol=1e-5)


# What NumPy says of constructs whose parts stand in unusual places.
MEANINGS = {
    "neither header nor entry, the last computation is run": lambda x, y: x - y,
    "instructions as operands": lambda x, y, z: (x + y, (x + y) + (x + y) * 2, -z),
    "tuple shapes in front of operands that are instructions": lambda x, y: x,
    "a single instruction with names": lambda x, y: x * y,
    "a single instruction with one operand twice": lambda x: x * x,
    "a single instruction without names": lambda x, y: x @ y,
    "a single instruction with the computation that it calls": lambda x, zero: x.sum(1) + zero,
    "computations inside of their callers, one in another": lambda x, y: x @ y.T,
    "branches inside of the conditional": lambda i, x: np.ceil(x) if i == 0 else np.floor(x) if i == 1 else x,
    "a loop with its computations inside": lambda x: (np.int32(5), np.sin(np.sin(np.sin(np.sin(np.sin(x)))))),
    "comments everywhere": lambda x: (x[0], np.float32([[1], [2], [3]])),
    "blanks in shapes": lambda x: x,
    "copies between layouts": lambda x: (x, x.ravel(), x, x.transpose(2, 1, 0).ravel()),
    "parameters in any order, instructions behind the root": lambda x, y: x + y,
    "asynchronous call": lambda x, y: np.exp(x),
    "asynchronous operations in their short spelling": lambda x: x[2:10:2] * 2,
    "asynchronous fusion and call in their short spelling": lambda x: (-x, x),
    "copies in two halves, tokens": lambda x, y: (x, y, np.exp(x)),
    "composite calls": lambda x: x * x,
    "conditionals of both kinds": lambda p, i, x: {0: -x, 1: -x if p else x}.get(int(i), -x),
    "strange names": lambda x: 0 * x,
}


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", MEANINGS)
def test_meaning(name, backend):
    for seed in range(3):
        arguments = random_arguments(module_of(name), seed)
        results = load_hlo(CONSTRUCTS[name].text, backend)(*arguments)
        for result, expected in zip(flatten(results), flatten(MEANINGS[name](*arguments)), strict=True):
            np.testing.assert_allclose(result, expected, rtol=2e-6, atol=1e-6)


def test_start_indices_in_a_vector():
    """Until 2019 the start indices of dynamic-slice and dynamic-update-slice were one operand."""
    text = """ENTRY main {
      x = s32[4,5] parameter(0)
      at = s32[2] parameter(1)
      a = s32[2,2] dynamic-slice(x, at), dynamic_slice_sizes={2,2}
      ROOT b = s32[4,5] dynamic-update-slice(x, s32[2,2] negate(a), at)
    }"""
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    expected = x.copy()
    expected[1:3, 2:4] *= -1
    for backend in ("reference", "cpu"):
        np.testing.assert_array_equal(load_hlo(text, backend)(x, np.int32([1, 2])), expected)
    again = parse_module(parse_module(text).as_text())
    assert again == parse_module(text)
    assert [len(i.operands) for i in again.entry.instructions if i.opcode.startswith("dynamic")] == [3, 4]


def test_opcodes_and_attributes_before_they_were_renamed():
    text = """ENTRY main {
      x = f32[4,3] parameter(0)
      rows = s32[2,1] parameter(1)
      g = f32[2,3] gather(x, rows), output_window_dims={1}, elided_window_dims={0}, gather_dims_to_operand_dims={0},
        index_vector_dim=1, window_bounds={1,3}
      zero = f32[2,3] broadcast(f32[] constant(0)), dimensions={}
      t = token[] generate-token()
      a = pred[2,3] less-than(g, zero)
      b = pred[2,3] greater-than-or-equal-to(g, zero)
      ROOT r = (f32[2,3], pred[2,3], pred[2,3], pred[2,3]) tuple(g, a, b, pred[2,3] not-equal-to(g, g))
    }"""
    x, rows = np.float32([[1, -2, 0], [0, 0, 0], [3, 4, -5], [7, 8, 9]]), np.int32([[2], [0]])
    expected = x[[2, 0]]
    for backend in ("reference", "cpu"):
        results = load_hlo(text, backend)(x, rows)
        for result, wanted in zip(results, (expected, expected < 0, expected >= 0, expected != expected), strict=True):
            np.testing.assert_array_equal(result, wanted)
    printed = parse_module(text).as_text()
    assert "direction=LT" in printed and "offset_dims={1}" in printed and "after-all()" in printed
    twice = text.replace("less-than(g, zero)", "less-than(g, zero), direction=GT")
    with pytest.raises(HloSyntaxError, match="compare has two attributes direction"):
        parse_module(twice)


# --- what is kept ---


def test_metadata_is_printed_as_it_was_spelled():
    printed = module_of("metadata of all kinds").as_text(metadata=True)
    for line in CONSTRUCTS["metadata of all kinds"].text.splitlines():
        if "metadata=" in line:
            assert line[line.index("metadata=") :] in printed
    assert "metadata" not in module_of("metadata of all kinds").as_text().replace("HloModule metadata", "")
    *_, sine, _ = module_of("metadata of all kinds").entry.instructions
    assert not sine.source and "::sin" in sine.source.metadata


def test_source_tables_are_printed_back():
    module = module_of("tables of files and stack frames")
    text = module.as_text(metadata=True)
    tables = CONSTRUCTS["tables of files and stack frames"].text.partition("\n\n")[2].partition("\n\n\nENTRY")[0]
    assert f"\n\n{tables}\n\nENTRY" in text
    assert "stack_frame_id=2" in text
    cosine = module.entry.root
    assert str(cosine.source) == "experimental/module.py:35 in method"
    # Without the tables the number would tell nothing.
    alone = Module(module.name, module.entry).as_text(metadata=True)
    assert 'op_name="opname" source_file="experimental/module.py" source_line=35}' in alone
    assert "stack_frame_id" not in alone and "FileNames" not in alone


def test_execution_threads_are_kept():
    text = module_of("asynchronous call").as_text()
    assert '}, execution_thread="parallel_thread"\n' in text
    assert text.count("execution_thread") == 3  # of the computation, of the start, of the done; "main" goes without saying
    other = parse_module(text.replace('}, execution_thread="parallel_thread"', '}, execution_thread="other"'))
    assert other != module_of("asynchronous call")
    short = module_of("asynchronous fusion and call in their short spelling")
    start = next(i for i in short.entry.instructions if i.opcode == "async-start")
    assert start.attributes["calls"].execution_thread == "other"


def test_short_asynchronous_spelling():
    module = module_of("asynchronous operations in their short spelling")
    opcodes = [instruction.opcode for instruction in module.entry.instructions]
    assert opcodes == ["parameter", "async-start", "async-update", "async-done", "async-start", "async-done"]
    start = module.entry.instructions[1]
    operation = start.attributes["calls"].root
    assert operation.opcode == "slice" and operation.attributes["slice"] == ((2, 10, 2),)
    for instruction in (start, operation):
        assert instruction.source.file == "a.py"
        assert instruction.annotations["backend_config"] == '"b"'
        assert instruction.annotations["frontend_attributes"] == '{a="b"}'
        assert instruction.annotations["statistics"] == "{visualizing_index=1,stat-1=33}"


def test_control_predecessors_count_by_place():
    text = """ENTRY e {
      x = f32[] parameter(0)
      a = f32[] negate(x)
      b = f32[] abs(x)
      ROOT c = f32[] sine(x), control-predecessors={a, b}
    }"""
    module = parse_module(text)
    assert module == parse_module(text.replace("{a, b}", "{%b, %a}"))
    assert module == parse_module(text.replace("a =", "z =").replace("{a,", "{z,"))
    assert module != parse_module(text.replace("{a, b}", "{a}"))
    assert module != parse_module(text.replace(", control-predecessors={a, b}", ""))


# --- what is refused ---

ASYNC = """wrapped {{
  a = f32[10] parameter(0)
  ROOT b = f32[20] concatenate(a, a), dimensions={{0}}
}}
other {{
  a = f32[10] parameter(0)
  ROOT b = f32[20] concatenate(a, a), dimensions={{0}}
}}
ENTRY main {{
  x = f32[10] parameter(0)
  s = {start}
  ROOT d = f32[20] {done}
}}"""
START = "((f32[10]), f32[20], s32[]) async-start(x), calls=wrapped"
SHORT = "((f32[10], f32[10]), f32[20], s32[]) concatenate-start(x, x), dimensions={0}"


@pytest.mark.parametrize(
    "start, done, message",
    [
        ("(f32[10], f32[20], s32[]) async-start(x), calls=wrapped", "async-done(s)", "the shape must be ..operands"),
        ("((f32[20])) async-start(x), calls=wrapped", "async-done(s)", "the shape must be ..operands"),
        ("((f32[5]), f32[20]) async-start(x), calls=wrapped", "async-done(s)", "first element must be .f32.10..,"),
        ("((f32[10]), f32[10]) async-start(x), calls=wrapped", "async-done(s)", "second element must be f32.20."),
        ("f32[10] negate(x)", "async-done(s)", "operand must be the result of async-start"),
        (START, "async-done(s), calls=other", "the start calls wrapped, not other"),
        (START, "concatenate-done(x)", "concatenate-done: one operand is required, the result of concatenate-start"),
        (START, "concatenate-done()", "concatenate-done: one operand is required"),
        (START, "concatenate-done(s, s)", "s takes 1 operand, 2 are bound"),
        (START, "add-done(s)", "add-done: the operand must come from add-start, it comes from concatenate-start"),
        (SHORT, "add-update(s)", "the operand must come from add-start"),
        (SHORT.replace("dimensions", "directions"), "async-done(s)", "concatenate has no attribute directions"),
        ("((f32[10]), f32[20], s32[]) concatenate-start(x)", "async-done(s)", "attribute dimensions is required"),
        ("f32[10] negate(x), control-predecessors={none}", "negate(s)", "control predecessor none is not defined before"),
        ("f32[10] negate(x), metadata={op_name=\"}", "negate(s)", "a string in double quotes expected|never closed"),
        ("f32[10] add(" * 40 + "x" + ", x)" * 40, "negate(s)", "operands are nested deeper than 32"),
        ("f32[10] negate(f32[10] transpose(x), dimensions={0})", "negate(s)", "attribute dimensions is required"),
        ("f32[10]sparse{10} negate(x)", "negate(s)", "sparse arrays are not supported"),
        ("f32[10]{0:D(X)} negate(x)", "negate(s)", "behind the order of a layout, .* expected, found :D.X."),
        ("f32[10]{0:S(1)T(8)} negate(x)", "negate(s)", "behind the order of a layout, .* expected, found :S.1.T.8."),
        ("f32[10]{0:T(8)P(f32[10])} negate(x)", "negate(s)", "only a sparse layout, .* has a physical shape"),
    ],
)  # fmt: skip
def test_wrong_programs(start, done, message):
    with pytest.raises(HloSyntaxError, match=message):
        parse_module(ASYNC.format(start=start, done=done))


@pytest.mark.parametrize(
    "text, line, column, message",
    [
        ("ENTRY e {\n ROOT x = f32[] parameter(0)\n}\n /* open", 4, 2, "this comment is never closed"),
        ("/*/", 1, 1, "this comment is never closed"),
        ("ENTRY e { // /* \n /* a */ /* b", 2, 10, "this comment is never closed"),
        ("%m = f32[2] multiply(%x, %y)", 1, 22, "an instruction that stands alone needs the shapes of its operands"),
        ("m = f32[2] negate(f32[2] x)\nn = f32[2] negate(m)", 2, 1, "the end of the text expected"),
        ("f32[2] add(f32[2], f32[3])", 1, 8, "add: lhs and rhs must have the same shape"),
        ("f32[2] constant({...})", 1, 17, "as_hlo_text.print_large_constants=True., .*--xla_dump_large_constants"),
        ("a { ROOT x = f32[] parameter(0) }, fast=true", 1, 36, "a computation has no attribute fast"),
        ("f32[3] call(f32[3]), to_apply={ x = f32[3] parameter(0)", 1, 31, "this .{. is never closed"),
        ("f32[3] call(f32[3]), to_apply={}", 1, 32, "has no instructions"),
        ("f32[3] call(f32[3]), to_apply={ x = f32[3] parameter(1) }", 1, 31, "must be numbered 0, 1, ..., got .1."),
    ],
)  # fmt: skip
def test_wrong_places_are_shown(text, line, column, message):
    with pytest.raises(HloSyntaxError, match=message) as caught:
        parse_module(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_deep_inline_computations():
    def nested(depth):
        inner = "ROOT r = f32[] parameter(0)"
        for _ in range(depth):
            inner = f"p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply={{ {inner} }}"
        return f"ENTRY e {{ {inner} }}"

    module = parse_module(nested(60))
    assert len(module.computations()) == 61
    assert parse_module(module.as_text()) == module
    with pytest.raises(HloSyntaxError, match="calls are nested deeper than 64"):
        parse_module(nested(70))
