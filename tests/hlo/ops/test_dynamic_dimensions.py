"""Bounded dynamic dimensions: operations on both backends against NumPy, shapes, text, arguments, errors."""

import numpy as np
import pytest
from dynamic_programs import AB, BACKENDS, CASES, COMPUTATIONS, X, Y, check, load, numbers, sizes_of
from phlox import hlo, load_hlo
from phlox.backends.loading import random_arguments
from phlox.compile import run_named_passes
from phlox.hlo import F32, S32, Shape, parse_module
from phlox.xla_builder import XlaBuilder


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_operations(name, backend):
    entry, arguments, meaning = CASES[name]
    run = load(entry, backend)
    for n, m in ((4, 3), (10, 6), (1, 1), (7, 0), (0, 5)):
        arrays = [numbers(*sizes_of(text, n, m), seed=number) for number, text in enumerate(arguments)]
        with np.errstate(all="ignore"):
            check(run(*arrays), meaning(*arrays))


# --- sizes ---


@pytest.mark.parametrize("backend", BACKENDS)
def test_seeds_example(backend):
    """The example of the document's section on SetDimensionSize."""
    b = XlaBuilder("example")
    v = b.constant(np.arange(1, 11, dtype=np.float32))
    five, six = (b.constant(np.int32(size)) for size in (5, 6))
    padded_v_five, padded_v_six = (b.SetDimensionSize(v, size, 0) for size in (five, six))
    add, multiply = (hlo.scalar_computation(opcode, F32) for opcode in ("add", "multiply"))
    zero, one = b.constant(np.float32(0)), b.constant(np.float32(1))
    results = [
        b.Reduce(padded_v_five, zero, add, (0,)),
        b.Reduce(padded_v_five, one, multiply, (0,)),
        b.Reduce(padded_v_six, zero, add, (0,)),
        b.Reduce(padded_v_six, one, multiply, (0,)),
    ]
    run = load_hlo(b.build_module(b.Tuple(results)).as_text(), backend)
    assert run() == (1 + 2 + 3 + 4 + 5, 120, 1 + 2 + 3 + 4 + 5 + 6, 720)


@pytest.mark.parametrize("backend", BACKENDS)
def test_set_dimension_size(backend):
    run = load(f"{X}  n = s32[] parameter(1)  ROOT r = f32[<=10] set-dimension-size(x, n), dimensions={{0}}", backend)
    x = numbers(6)
    check(run(x, np.int32(4)), x[:4])
    check(run(x, np.int32(9)), np.concatenate([x, np.zeros(3)]))
    check(run(x, np.int32(0)), x[:0])
    for size in (-1, 11, 2**31 - 1, -(2**31)):
        with pytest.raises(ValueError, match=r"dimension 0 of f32\[<=10\]: the size must be in \[0, 10\]"):
            run(x, np.int32(size))
    check(run(x, np.int32(3)), x[:3])  # an error leaves nothing behind


@pytest.mark.parametrize("backend", BACKENDS)
def test_set_dimension_size_drops_what_was_behind(backend):
    entry = f"""{X}  n = s32[] constant(2)  k = s32[] constant(5)
    s = f32[<=10] set-dimension-size(x, n), dimensions={{0}}  ROOT r = f32[<=10] set-dimension-size(s, k), dimensions={{0}}"""
    check(load(entry, backend)(np.ones(10, np.float32)), [1, 1, 0, 0, 0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_static_result_needs_the_bound(backend):
    run = load(f"{X}  n = s32[] parameter(1)  ROOT r = f32[10] set-dimension-size(x, n), dimensions={{0}}", backend)
    check(run(np.ones(3, np.float32), np.int32(10)), [1] * 3 + [0] * 7)
    with pytest.raises(ValueError, match="is static: the size must be 10"):
        run(np.ones(3, np.float32), np.int32(3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_get_dimension_size(backend):
    run = load(f"{AB}  i = s32[] get-dimension-size(a), dimensions={{0}}  j = s32[] get-dimension-size(a), dimensions={{1}}\n"
               "ROOT r = (s32[], s32[]) tuple(i, j)", backend)  # fmt: skip
    assert run(numbers(7, 2)) == (7, 2)
    assert load("a = f32[3,5] parameter(0)  ROOT r = s32[] get-dimension-size(a), dimensions={1}", backend)(numbers(3, 5)) == 5


@pytest.mark.parametrize("backend", BACKENDS)
def test_builder_methods(backend):
    b = XlaBuilder("methods")
    x = b.parameter(Shape(F32, (12,), dynamic_dimensions=(True,)), "x")
    i, j = b.parameter(Shape(S32)), b.parameter(Shape(S32))
    table = b.DynamicReshape(x, [i, j], (4, 3), (True, True))
    whole = b.RemoveDynamicDimension(table, 1)
    assert [str(table.shape), str(whole.shape)] == ["f32[<=4,<=3]", "f32[<=4,3]"]
    size = b.GetDimensionSize(table, 0)
    run = load_hlo(b.build_module(b.Tuple([whole, size])).as_text(), backend)
    check(run(np.float32([1, 2, 3, 4]), np.int32(2), np.int32(2)), (np.float32([[1, 2, 0], [3, 4, 0]]), np.int32(2)))
    with pytest.raises(ValueError, match="elements"):
        run(np.float32([1, 2, 3, 4]), np.int32(3), np.int32(1))
    with pytest.raises(ValueError, match=r"dimension 1 of f32\[<=4,<=3\]: the size must be in \[0, 3\]"):
        run(np.float32([1, 2, 3, 4]), np.int32(1), np.int32(4))


def test_builder_reshapes_and_broadcasts_dynamic_dimensions():
    b = XlaBuilder("shapes")
    x = b.parameter(Shape(F32, (10, 6), dynamic_dimensions=(True, False)))
    assert str(b.Reshape(x, (60,)).shape) == "f32[<=60]"
    assert str(b.Reshape(x, (10, 2, 3)).shape) == "f32[<=10,2,3]"
    assert str(b.Reshape(x, (5, 2, 6)).shape) == "f32[<=5,2,6]"
    assert str(b.Reshape(x, (1, 10, 6)).shape) == "f32[1,<=10,6]"
    assert str(b.Broadcast(x, (3,)).shape) == "f32[3,<=10,6]"
    assert str(b.Add(x, b.constant(np.float32(1))).shape) == "f32[<=10,6]"
    assert str(b.Neg(x).shape) == "f32[<=10,6]"


# --- control flow ---


@pytest.mark.parametrize("backend", BACKENDS)
def test_while_carries_sizes(backend):
    """Appends 1, 2, ... until there are as many as wanted."""
    loop = """
    state { p = (f32[<=10], s32[]) parameter(0)
      v = f32[<=10] get-tuple-element(p), index=0  n = s32[] get-dimension-size(v), dimensions={0}
      w = s32[] get-tuple-element(p), index=1  ROOT c = pred[] compare(n, w), direction=LT }
    step { p = (f32[<=10], s32[]) parameter(0)
      v = f32[<=10] get-tuple-element(p), index=0  w = s32[] get-tuple-element(p), index=1
      n = s32[] get-dimension-size(v), dimensions={0}  o = s32[] constant(1)  m = s32[] add(n, o)
      l = f32[<=10] set-dimension-size(v, m), dimensions={0}
      f = f32[] convert(m)  u = f32[1] reshape(f)
      d = f32[<=10] dynamic-update-slice(l, u, n)
      ROOT t = (f32[<=10], s32[]) tuple(d, w) }
    """
    entry = """k = f32[<=10] constant({})  w = s32[] parameter(0)  t = (f32[<=10], s32[]) tuple(k, w)
      r = (f32[<=10], s32[]) while(t), condition=state, body=step  ROOT v = f32[<=10] get-tuple-element(r), index=0"""
    run = load(entry, backend, loop)
    for size in (0, 1, 7, 10):
        check(run(np.int32(size)), np.arange(1, size + 1))
    with pytest.raises(ValueError, match="set-dimension-size"):
        run(np.int32(11))


@pytest.mark.parametrize("backend", BACKENDS)
def test_condition_that_fails(backend):
    loop = """
    test { p = (s32[], f32[<=4]) parameter(0)  n = s32[] get-tuple-element(p), index=0
      x = f32[<=4] get-tuple-element(p), index=1
      y = f32[<=4] set-dimension-size(x, n), dimensions={0}
      z = f32[] constant(0)  s = f32[] reduce(y, z), dimensions={0}, to_apply=add
      k = f32[] constant(5)  ROOT c = pred[] compare(s, k), direction=LT }
    step { p = (s32[], f32[<=4]) parameter(0)  n = s32[] get-tuple-element(p), index=0
      x = f32[<=4] get-tuple-element(p), index=1
      o = s32[] constant(1)  m = s32[] add(n, o)  ROOT t = (s32[], f32[<=4]) tuple(m, x) }
    """
    entry = """x = f32[<=4] parameter(0)  n = s32[] constant(0)  t = (s32[], f32[<=4]) tuple(n, x)
      w = (s32[], f32[<=4]) while(t), condition=test, body=step  ROOT r = s32[] get-tuple-element(w), index=0"""
    run = load(entry, backend, loop)
    assert run(np.float32([2, 2, 2, 2])) == 3
    with pytest.raises(ValueError, match="set-dimension-size"):
        run(np.float32([1, 1]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_conditional_and_call(backend):
    branches = """
    half { x = f32[<=10] parameter(0)  n = s32[] get-dimension-size(x), dimensions={0}  t = s32[] constant(2)
      h = s32[] divide(n, t)  ROOT r = f32[<=10] set-dimension-size(x, h), dimensions={0} }
    same { x = f32[<=10] parameter(0)  ROOT r = f32[<=10] negate(x) }
    outer { p = pred[] parameter(0)  x = f32[<=10] parameter(1)
      ROOT c = f32[<=10] conditional(p, x, x), true_computation=half, false_computation=same }
    """
    run = load(
        "p = pred[] parameter(0)  x = f32[<=10] parameter(1)  ROOT r = f32[<=10] call(p, x), to_apply=outer", backend, branches
    )
    x = numbers(7)
    check(run(np.True_, x), x[:3])
    check(run(np.False_, x), -x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_tuples(backend):
    entry = """p = (f32[<=10], (s32[2], f32[2,<=3])) parameter(0)  q = pred[] parameter(1)
      c = (f32[<=10], (s32[2], f32[2,<=3])) copy(p)  o = (f32[<=10], (s32[2], f32[2,<=3])) opt-barrier(c)
      ROOT s = (f32[<=10], (s32[2], f32[2,<=3])) select(q, o, p)"""
    value = (numbers(4), (np.int32([1, 2]), numbers(2, 1)))
    result = load(entry, backend)(value, np.True_)
    check((result[0], *result[1]), (value[0], *value[1]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_static_parts_stay(backend):
    """A loop without dynamic dimensions in a program that has some."""
    loop = """
    test { p = (s32[], f32[2]) parameter(0)  n = s32[] get-tuple-element(p), index=0  k = s32[] constant(3)
      ROOT c = pred[] compare(n, k), direction=LT }
    step { p = (s32[], f32[2]) parameter(0)  n = s32[] get-tuple-element(p), index=0  x = f32[2] get-tuple-element(p), index=1
      o = s32[] constant(1)  m = s32[] add(n, o)  d = f32[2] add(x, x)  ROOT t = (s32[], f32[2]) tuple(m, d) }
    """
    entry = f"""{X}  n = s32[] constant(0)  y = f32[2] constant({{1, 2}})  t = (s32[], f32[2]) tuple(n, y)
      w = (s32[], f32[2]) while(t), condition=test, body=step  z = f32[2] get-tuple-element(w), index=1
      ROOT r = f32[<=12] concatenate(x, z), dimensions={{0}}"""
    check(load(entry, backend, loop)(np.float32([5])), [5, 8, 16])


# --- shapes and text ---


def test_shapes():
    x = Shape(F32, (10, 3), dynamic_dimensions=(True, False))
    assert str(x) == "f32[<=10,3]"
    assert x != Shape(F32, (10, 3)) and x.static() == Shape(F32, (10, 3))
    assert Shape(F32, (10, 3), dynamic_dimensions=(False, False)) == Shape(F32, (10, 3))
    assert x.is_dynamic(0) and not x.is_dynamic(1)
    assert not hlo.compatible(x, x.static())
    with pytest.raises(ValueError, match="2 dimensions, but 1 dynamic_dimensions"):
        Shape(F32, (10, 3), dynamic_dimensions=(True,))


@pytest.mark.parametrize("name", CASES)
def test_text_round_trip(name):
    module = parse_module(f"{COMPUTATIONS}\nENTRY main {{\n{CASES[name][0]}\n}}")
    hlo.verify(module)
    assert parse_module(module.as_text()) == module


@pytest.mark.parametrize(
    ("literal", "expected"), [("{}", []), ("{1, 2}", [1, 2]), ("{1, 2, 3}", [1, 2, 3])], ids=["none", "some", "all"]
)
def test_literals_have_any_size_within_the_bound(literal, expected):
    module = parse_module(f"HloModule m\nENTRY e {{ ROOT c = s32[<=3] constant({literal}) }}")
    np.testing.assert_array_equal(module.entry.root.attributes["literal"], expected)
    assert f"s32[<=3]{{0}} constant({literal})" in module.as_text()


def test_literals_of_two_dynamic_dimensions():
    module = parse_module("HloModule m\nENTRY e { ROOT c = s32[<=3,<=4] constant({ {1, 2}, {3, 4} }) }")
    np.testing.assert_array_equal(module.entry.root.attributes["literal"], [[1, 2], [3, 4]])
    with pytest.raises(hlo.HloSyntaxError, match="dimension 1 of .* has 2 elements, found 1"):
        parse_module("HloModule m\nENTRY e { ROOT c = s32[<=3,<=4] constant({ {1, 2}, {3} }) }")
    with pytest.raises(hlo.HloSyntaxError, match="has only 3 elements"):
        parse_module("HloModule m\nENTRY e { ROOT c = s32[<=3] constant({1, 2, 3, 4}) }")


INVALID = {
    "broadcast": ("x = f32[<=3] parameter(0)  ROOT r = f32[2,3] broadcast(x), dimensions={1}", r"must be f32\[2,<=3\]"),
    "new dimension": ("x = f32[3] parameter(0)  ROOT r = f32[<=2,3] broadcast(x), dimensions={1}", r"must be f32\[2,3\]"),
    "reshape": ("x = f32[<=6] parameter(0)  ROOT r = f32[2,3] reshape(x)", "one must be dynamic"),
    "reshape to two": ("x = f32[<=6] parameter(0)  ROOT r = f32[<=2,<=3] reshape(x)", "one must be dynamic"),
    "reshape of static": ("x = f32[6] parameter(0)  ROOT r = f32[<=6] reshape(x)", "none must be dynamic"),
    "iota": ("ROOT r = f32[<=6] iota(), iota_dimension=0", "must not be dynamic, as nothing says its size"),
    "convert": ("x = f32[<=6] parameter(0)  ROOT r = s32[6] convert(x)", "same dimensions"),
    "result": ("x = f32[<=6] parameter(0)  ROOT r = f32[6] negate(x)", r"the result shape is f32\[<=6\]"),
    "full update": (
        "x = f32[6] parameter(0)  u = f32[<=6] parameter(1)  i = s32[] constant(0)\n"
        "ROOT r = f32[6] dynamic-update-slice(x, u, i)",
        "must not be dynamic"),
    "fft": ("x = c64[<=4] parameter(0)  ROOT r = c64[<=4] fft(x), fft_type=FFT, fft_length={4}", "fft_length says its size"),
    "square": ("x = f32[<=4,4] parameter(0)  ROOT r = f32[<=4,4] cholesky(x)", "must be square"),
    "size": ("x = f32[4] parameter(0)  n = s64[] constant(1)  ROOT r = f32[<=4] set-dimension-size(x, n), dimensions={0}",
             r"size must be s32\[\]"),
    "signature": ("x = f32[<=6] parameter(0)  ROOT r = f32[6] call(x), to_apply=callee", "to_apply must take"),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
def test_invalid_shapes(name):
    entry, match = INVALID[name]
    callee = "callee { x = f32[6] parameter(0)  ROOT r = f32[6] negate(x) }"
    with pytest.raises(hlo.HloError, match=match):
        load(entry, "reference", callee)


def test_operations_that_refuse_dynamic_dimensions():
    entry = "x = f32[<=6] parameter(0)  ROOT r = s32[<=6] bitcast(x)"
    with pytest.raises(NotImplementedError, match=r"bitcast of dynamic dimensions is not implemented: f32\[<=6\]"):
        load(entry, "reference")


# --- arguments ---


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments(backend):
    run = load("x = f32[<=10,3] parameter(0)  ROOT r = f32[<=10,3] negate(x)", backend)
    bound = r"f32\[<=10,3\].* is required \(dimension 0 at most 10\), an array of shape"
    for sizes in ((11, 3), (10, 2), (3,), (2, 3, 1)):
        with pytest.raises(ValueError, match=bound):
            run(numbers(*sizes))
        with pytest.raises(ValueError, match=bound):
            run.executable(numbers(*sizes))
    with pytest.raises(TypeError, match="dtype float64 given"):
        run(np.zeros((2, 3)))
    x = numbers(3, 8).T[:5]
    check(run(x), -x)


def test_random_arguments():
    module = parse_module("HloModule m\nENTRY e { x = f32[<=5,2] parameter(0)  ROOT y = f32[<=5,2] negate(x) }")
    sizes = {random_arguments(module, seed)[0].shape for seed in range(40)}
    assert sizes == {(size, 2) for size in range(1, 6)}


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_that_differ(backend):
    run = load(f"{X}  {Y}  ROOT r = f32[<=10] add(x, y)", backend)
    with pytest.raises(ValueError, match="dimensions that must be equal have"):
        run(numbers(3), numbers(4))
    run = load("x = f32[<=10] parameter(0)  ROOT r = f32[<=5,2] reshape(x)", backend)
    check(run(numbers(6)), numbers(6).reshape(3, 2))
    with pytest.raises(ValueError, match="cannot be reshaped"):
        run(numbers(5))
    run = load(f"{X}  ROOT r = (f32[2], s32[2]) topk(x), k=2, largest=true", backend)
    with pytest.raises(ValueError, match="k must be in"):
        run(numbers(1))
    run = load(
        f"{X}  u = f32[3] constant({{1, 2, 3}})  i = s32[] constant(0)\nROOT r = f32[<=10] dynamic-update-slice(x, u, i)",
        backend,
    )
    with pytest.raises(ValueError, match="must fit into"):
        run(numbers(2))
    run = load(
        f"{X}  u = f32[3] constant({{1, 2, 3}})  i = s32[1] constant({{0}})\nROOT r = f32[<=10] scatter(x, i, u), "
        "update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add",
        backend,
    )
    with pytest.raises(ValueError, match="must not exceed"):
        run(numbers(2))


def test_padding_is_explicit_about_what_it_cannot_do():
    entry = """x = f32[6,6] parameter(0)  u = f32[2,<=3] parameter(1)  i = s32[2] constant({0, 2})
      ROOT r = f32[6,6] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
        index_vector_dim=1, to_apply=add"""
    x, u = numbers(6, 6), numbers(2, 2)
    expected = x.copy()
    expected[[0, 2], :2] += u
    check(load(entry, "reference")(x, u), expected)
    with pytest.raises(NotImplementedError, match="scatter of slices with dynamic dimensions has no native code"):
        load(entry, "cpu")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_size_set_in_a_called_computation(backend):
    before = """
    cut {
      x = f32[4] parameter(0)  n = s32[] constant(4)
      s = f32[4] set-dimension-size(x, n), dimensions={0}  ROOT r = f32[4] negate(s)
    }"""
    run = load("x = f32[4] parameter(0)  ROOT r = f32[4] call(x), to_apply=cut", backend, before)
    check(run(numbers(4)), -numbers(4))


def test_sizes_within_a_map_have_no_native_code():
    before = """
    cut {
      x = f32[] parameter(0)  v = f32[4] broadcast(x), dimensions={}  n = s32[] convert(x)  z = f32[] constant(0)
      s = f32[<=4] set-dimension-size(v, n), dimensions={0}  ROOT r = f32[] reduce(s, z), dimensions={0}, to_apply=add
    }"""
    entry = "x = f32[3] parameter(0)  ROOT r = f32[3] map(x), dimensions={0}, to_apply=cut"
    check(load(entry, "reference", before)(np.float32([1, 2, 3])), np.float32([1, 4, 9]))
    with pytest.raises(NotImplementedError, match="dynamic dimensions in the computation of map have no native code"):
        load(entry, "cpu", before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_layouts(backend):
    """Arguments lie in memory as the layouts say, padded or not; a bitcast reads the bytes of one that is not."""
    entry = """x = f32[<=4,3]{0,1} parameter(0)  y = f32[2,3]{0,1} parameter(1)
      b = f32[3,2]{1,0} bitcast(y)  n = f32[<=4,3]{0,1} negate(x)
      ROOT r = (f32[<=4,3]{0,1}, f32[3,2]{1,0}, f32[2,3]{1,0}) tuple(n, b, y)"""
    x, y = numbers(2, 3), numbers(2, 3, seed=1)
    check(load(entry, backend)(x, y), (-x, y.T, y))


@pytest.mark.parametrize("backend", BACKENDS)
def test_tokens(backend):
    entry = f"""{X}  t = token[] parameter(1)  d = f32[<=10] add-dependency(x, t)  u = token[] after-all(t)
      ROOT r = (f32[<=10], token[]) tuple(d, u)"""
    result, token = load(entry, backend)(numbers(3), None)
    check(result, numbers(3))
    assert token is None


def test_passes_need_static_shapes():
    module = parse_module(f"HloModule m\nENTRY e {{ {X}  ROOT r = f32[<=10] negate(x) }}")
    with pytest.raises(NotImplementedError, match="pass pad-dynamic-dimensions must run before all others"):
        run_named_passes(module, ["dce"])
    padded = run_named_passes(module, ["pad-dynamic-dimensions", "dce"])
    hlo.verify(padded)
    assert [str(shape) for shape in padded.entry.parameter_shapes] == ["f32[10]", "s32[]"]
    assert run_named_passes(padded, ["pad-dynamic-dimensions"]) is padded
