"""The registry, the reference backend, and HLO text as a function of arrays."""

import re

import numpy as np
import pytest
from phlox import hlo
from phlox.backends import registry
from phlox.backends.loading import load_hlo, random_arguments, read_module
from phlox.backends.registry import BackendUnavailableError, get_backend, make_callable_type, register_backend
from phlox.hlo import BF16, C64, F32, F64, PRED, S8, S32, U8, Layout, Shape, TupleShape
from phlox.xla_builder import XlaBuilder


def compile_reference(builder, root=None):
    return get_backend("reference").compile(builder.build_module(root))


def affine():
    """2 * x + y for f32[3]."""
    b = XlaBuilder("affine")
    x, y = b.parameter(Shape(F32, (3,)), "x"), b.parameter(Shape(F32, (3,)), "y")
    return b, b.Add(b.Mul(b.constant(np.float32(2)), x), y)


# --- the registry ---


def test_the_environment_names_the_default_backend(monkeypatch):
    monkeypatch.setenv("PHLOX_BACKEND", "reference")
    assert get_backend().name == "reference"
    assert get_backend() is get_backend("reference")


def test_an_unknown_backend_is_an_error(monkeypatch):
    with pytest.raises(ValueError, match="no backend is named 'tpu'; known are cpu, reference"):
        get_backend("tpu")
    monkeypatch.setenv("PHLOX_BACKEND", "tpu")
    with pytest.raises(ValueError, match=r"'tpu' \(from the environment variable PHLOX_BACKEND\)"):
        get_backend()


def test_a_backend_is_loaded_once_and_only_when_used(registered):
    loads = []

    class Fake:
        name = "fake"

    register_backend("fake", lambda: loads.append(1) or Fake())
    assert loads == []
    assert get_backend("fake") is get_backend("fake")
    assert loads == [1]


def test_a_backend_that_cannot_be_loaded_says_why(registered):
    def load():
        raise ImportError("libfancy is not installed")

    register_backend("fancy", load)
    with pytest.raises(BackendUnavailableError, match="fancy cannot be used: libfancy is not installed"):
        get_backend("fancy")
    reasons = registry.available_backends()
    assert reasons["fancy"] == "libfancy is not installed"
    assert reasons["reference"] is None


def test_a_backends_name_is_an_identifier(registered):
    with pytest.raises(ValueError, match="must be an identifier, got 'a b'"):
        register_backend("a b", lambda: None)


@pytest.mark.parametrize("unavailable", [None, "no native calls here"])
def test_callables_miss_until_an_entry_is_installed(unavailable, monkeypatch):
    class Base:
        """Adds."""

        def call_in_python(self, x, *, y=1):
            return x + y

    if unavailable is not None:
        monkeypatch.setattr(registry, "native_call_unavailable", lambda: unavailable)
    made = make_callable_type(Base)
    assert issubclass(made, Base) and made.__name__ == "Base" and made.__doc__ == "Adds."
    assert made()(2) == 3
    assert made()(2, y=5) == 7


# --- running ---


def test_results_are_a_flat_tuple():
    executable = compile_reference(*affine())
    results = executable(np.float32([1, 2, 3]), np.float32([10, 20, 30]))
    assert isinstance(results, tuple) and len(results) == 1
    np.testing.assert_array_equal(results[0], np.float32([12, 24, 36]))


def test_tuples_are_flattened_in_and_out():
    b = XlaBuilder("swap")
    state = b.parameter(TupleShape((Shape(F32, (2,)), TupleShape((Shape(S32), Shape(PRED))))), "state")
    first, inner = b.GetTupleElement(state, 0), b.GetTupleElement(state, 1)
    executable = compile_reference(b, b.emit("tuple", inner, b.emit("tuple", first)))
    results = executable(np.float32([1, 2]), np.asarray(np.int32(7)), np.bool_(True))
    assert results[0] == 7 and isinstance(results[0], np.int32)
    assert results[1] == np.True_ and isinstance(results[1], np.bool_)
    np.testing.assert_array_equal(results[2], np.float32([1, 2]))


def test_a_while_loop():
    b = XlaBuilder("condition")
    state = TupleShape((Shape(S32), Shape(F64)))
    condition = b.build(b.Lt(b.GetTupleElement(b.parameter(state), 0), b.constant(np.int32(10))))
    b = XlaBuilder("body")
    p = b.parameter(state)
    count, value = b.GetTupleElement(p, 0), b.GetTupleElement(p, 1)
    body = b.build(b.Tuple([b.Add(count, b.constant(np.int32(1))), b.Mul(value, b.constant(2.0))]))
    b = XlaBuilder("main")
    start = b.Tuple([b.constant(np.int32(0)), b.parameter(Shape(F64), "x")])
    executable = compile_reference(b, b.While(condition, body, start))
    assert executable(np.float64(3)) == (10, 3 * 2.0**10)


def test_results_share_no_memory_with_arguments_or_constants():
    b = XlaBuilder("identity")
    x = b.parameter(Shape(F32, (2,)), "x")
    executable = compile_reference(b, b.Tuple([x, x, b.constant(np.float32([5, 6]))]))
    argument = np.float32([1, 2])
    results = executable(argument)
    for result in results:
        result += 1
    np.testing.assert_array_equal(argument, np.float32([1, 2]))
    np.testing.assert_array_equal(executable(argument)[2], np.float32([5, 6]))
    assert not np.shares_memory(results[0], results[1])


def test_no_floating_point_warnings():
    b = XlaBuilder("ratio")
    x = b.parameter(Shape(F32, (2,)), "x")
    with np.errstate(all="raise"):
        (result,) = compile_reference(b, b.Div(x, b.constant(np.zeros(2, np.float32))))(np.float32([1, 0]))
    assert np.isposinf(result[0]) and np.isnan(result[1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ([np.zeros(3, np.float32)], TypeError, "takes 2 arrays (f32[3], f32[3]), 1 given"),
        ([[1, 2, 3], np.zeros(3, np.float32)], TypeError, "parameter 0 (x): an array f32[3] is required, list given"),
        ([np.zeros(3, np.float32), np.zeros(3)], TypeError, "parameter 1 (y): f32[3] is required (dtype float32), an array"),
        ([np.zeros(3, np.float32), np.zeros((3, 1), np.float32)], ValueError, "required, an array of shape (3, 1) given"),
        ([np.zeros(6, np.float32)[::2], np.zeros(3, np.float32)], ValueError, "one with strides (8,) given"),
        ([np.zeros(3, ">f4"), np.zeros(3, np.float32)], TypeError, "an array of dtype >f4 given"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        compile_reference(*affine())(*arguments)


def test_arguments_lie_as_the_layout_says():
    b = XlaBuilder("f")
    x = b.parameter(Shape(F32, (2, 3), Layout((0, 1))), "x")
    executable = compile_reference(b, b.Neg(x))
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(executable(np.asfortranarray(values))[0], -values)
    with pytest.raises(ValueError, match="contiguous"):
        executable(values)


def test_compiling_verifies():
    b, root = affine()
    module = b.build_module(root)
    module.entry.root.shape = Shape(F32, (4,))
    with pytest.raises(hlo.VerificationError, match=r"f32\[4\]"):
        get_backend("reference").compile(module)


def test_an_operation_without_evaluation_is_named(monkeypatch):
    monkeypatch.setattr(hlo.OPERATIONS["tanh"], "evaluate_function", None)
    b = XlaBuilder("f")
    root = b.Tanh(b.parameter(Shape(F32), "x"))
    with pytest.raises(NotImplementedError, match="no evaluation for operation tanh"):
        compile_reference(b, root)


def test_memory_analysis():
    # 3 elements of 4 bytes each; the product is a temporary, and so are the constant 2 and its broadcast.
    analysis = compile_reference(*affine()).memory_analysis()
    assert analysis == {"arguments": 24, "results": 12, "temporaries": 12 + 4 + 12}


def test_stepping_prints_every_instruction(monkeypatch, capsys):
    executable = compile_reference(*affine())
    arguments = np.float32([1, 2, 3]), np.float32([10, 20, 30])
    executable(*arguments)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("PHLOX_REFERENCE_TRACE", "1")
    executable(*arguments)
    printed = capsys.readouterr().err
    assert printed.count("affine: %") == len(executable.module.entry.instructions)
    assert re.search(r"affine: %add\.\d = f32\[3\] add\(%multiply\.\d, %y\)\n    \[12\. 24\. 36\.\]", printed)


# --- HLO text ---

AFFINE = """
HloModule affine

ENTRY main {
  x = f32[3] parameter(0)
  y = f32[] parameter(1)
  b = f32[3] broadcast(y), dimensions={}
  ROOT sum = f32[3] add(x, b)
}
"""
NESTED = """
HloModule nested

ENTRY main {
  p = (f32[2], (s32[], pred[2])) parameter(0)
  a = f32[2] get-tuple-element(p), index=0
  q = (s32[], pred[2]) get-tuple-element(p), index=1
  n = s32[] get-tuple-element(q), index=0
  c = pred[2] get-tuple-element(q), index=1
  e = () tuple()
  t = (s32[]) tuple(n)
  ROOT r = (f32[2], (s32[]), pred[2], ()) tuple(a, t, c, e)
}
"""


def test_load_text_and_file(tmp_path):
    path = tmp_path / "affine.hlo"
    path.write_text(AFFINE)
    x = np.float32([1, 2, 3])
    for source in (AFFINE, path, str(path)):
        loaded = load_hlo(source, backend="reference")
        np.testing.assert_array_equal(loaded(x, np.float32(1)), x + 1)
    assert loaded.module.name == "affine"
    assert read_module(loaded.as_text()) == loaded.module
    assert "f32[3], f32[]) -> f32[3]" in repr(loaded)


def test_one_line_is_text_or_a_path(tmp_path, monkeypatch):
    """A line as long as no file's name, lines with brackets, and files whose names have brackets."""
    line = AFFINE.replace("\n", " ").strip()
    x = np.float32([1, 2, 3])
    for text in (line, line + " // " + "x" * 100_000, line.replace("HloModule affine", ""), "f32[3] add(f32[3] x, f32[3] y)"):
        loaded = load_hlo(text, backend="reference")
        assert len(loaded.module.entry.parameters) == 2
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a (1){2}").write_text(AFFINE)
    np.testing.assert_array_equal(load_hlo("a (1){2}", backend="reference")(x, np.float32(1)), x + 1)
    for name in ("missing", "missing (1).hlo", "a/b.txt"):
        with pytest.raises(FileNotFoundError):
            load_hlo(name, backend="reference")
    with pytest.raises(hlo.HloSyntaxError, match="line 1, column 33: tuple shapes are nested"):
        load_hlo("(" * 100_000, backend="reference")


def test_files_in_other_encodings(tmp_path):
    path = tmp_path / "dump.hlo"
    path.write_bytes(b"\xef\xbb\xbf" + AFFINE.replace("\n", "\r\n").encode())
    assert load_hlo(path, backend="reference").module == read_module(AFFINE)
    path.write_bytes(AFFINE.encode() + b"\n// caf\xe9")
    with pytest.raises(hlo.HloSyntaxError, match=r"dump.hlo, line \d+, column 7: byte \d+ is not UTF-8") as caught:
        load_hlo(path, backend="reference")
    assert caught.value.line == AFFINE.count("\n") + 2


def test_what_is_neither_text_nor_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_hlo(str(tmp_path / "missing.hlo"), backend="reference")
    with pytest.raises(TypeError, match=r"HLO text \(str\) or a path is required, int given"):
        load_hlo(3, backend="reference")
    for text in ("", "HloModule nothing", AFFINE.replace("add(x, b)", "add(x, z)")):
        with pytest.raises(hlo.HloError):
            load_hlo(text, backend="reference")


def test_nested_tuples_stay_nested():
    loaded = load_hlo(NESTED, backend="reference")
    a, t, c, e = loaded((np.float32([1, 2]), (3, np.array([True, False]))))
    np.testing.assert_array_equal(a, np.float32([1, 2]))
    assert t == (3,) and isinstance(t[0], np.int32)
    np.testing.assert_array_equal(c, [True, False])
    assert e == ()
    with pytest.raises(TypeError, match=r"parameter 0 \(p\): a tuple .* is required, ndarray given"):
        loaded(np.float32([1, 2]))
    with pytest.raises(ValueError, match=r"parameter 0 \(p\), element 1: a tuple of 2, .* a tuple of 1 given"):
        loaded((np.float32([1, 2]), (3,)))


def test_arguments_are_brought_into_form():
    loaded = load_hlo(AFFINE, backend="reference")
    x = np.float32([1, 2, 3])
    for given in (x.astype(">f4"), np.repeat(x, 2)[::2], x[::-1][::-1]):
        np.testing.assert_array_equal(loaded(given, 0), x)
    fortran = load_hlo("ENTRY main { ROOT x = f32[2,3]{0,1} parameter(0) }", backend="reference")
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    for given in (values, np.asfortranarray(values), values.astype(">f4")):
        np.testing.assert_array_equal(fortran(given), values)


def test_arguments_that_do_not_fit():
    loaded = load_hlo(AFFINE, backend="reference")
    with pytest.raises(TypeError, match=r"takes 2 arguments \(f32\[3\], f32\[\]\), 1 given"):
        loaded(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match=r"parameter 0 \(x\): f32\[3\] is required \(dtype float32\), dtype float64 given"):
        loaded([1.0, 2.0, 3.0], 0)
    with pytest.raises(ValueError, match=r"f32\[3\] is required, an array of shape \(4,\) given"):
        loaded(np.zeros(4, np.float32), 0)


@pytest.mark.parametrize(
    ("element_type", "value", "expected"),
    [
        (PRED, True, True), (PRED, 1, None), (U8, 255, 255), (U8, 256, None), (U8, -1, None), (S8, -128, -128), (S8, 128, None),
        (S32, 1.0, None), (S32, True, 1), (F32, 3, 3.0), (F32, 1e300, None), (F32, float("inf"), float("inf")), (F32, 1j, None),
        (F64, 1e300, 1e300), (C64, 2j, 2j), (C64, 1.5, 1.5), (BF16, 1, 1.0),
    ],
)  # fmt: skip
def test_python_scalars(element_type, value, expected):
    loaded = load_hlo(f"ENTRY main {{ ROOT x = {element_type.name}[] parameter(0) }}", backend="reference")
    if expected is None:
        with pytest.raises(TypeError, match=re.escape(f"{element_type.name}[] is required, the Python {type(value).__name__}")):
            loaded(value)
    else:
        result = loaded(value)
        assert result == expected and result.dtype == element_type.dtype


def test_random_arguments_fit_and_repeat():
    module = read_module(NESTED)
    first, second = random_arguments(module, 1), random_arguments(module, 1)
    loaded = load_hlo(NESTED, backend="reference")
    np.testing.assert_array_equal(loaded(*first)[0], loaded(*second)[0])
    assert not np.array_equal(first[0][0], random_arguments(module, 2)[0][0])
