"""Reductions in each form of their loop nests: short, long and many rows; narrow and wide columns, few rows of them."""

import math

import ml_dtypes
import numpy as np
import pytest
from phlox import jit, load_hlo
from phlox.backends.cpu.region_functions import RegionFunctions
from phlox.backends.cpu.target import host_target
from thinning import one_in_all

FORMS = {
    "rows of few elements": ((41, 3), 1),
    "short rows": ((41, 10), 1),
    "short rows, inside": ((3, 37, 17), 2),
    "many rows": ((150, 77), 1),
    "rows": ((9, 333), 1),
    "narrow columns": ((1001, 10), 0),
    "narrow columns, inside": ((2, 1003, 3), 1),
    "columns of few rows": ((11, 700), 0),
    "wide columns": ((67, 700), 0),
    "all": ((5003,), 0),
}
in_each_form = pytest.mark.parametrize(("shape", "axis"), FORMS.values(), ids=FORMS)
divided = pytest.mark.usefixtures("is_divided")


@pytest.fixture(params=[False, True], ids=["undivided", "divided"])
def is_divided(request, monkeypatch):
    """Work of any size is divided, or none."""
    least = 100 if request.param else 1 << 60
    monkeypatch.setattr("phlox.backends.cpu.region_functions._LEAST_NANOSECONDS", least)
    assert RegionFunctions.is_divided(1000) is request.param
    return request.param


def table_of(shape, dtype, seed):
    """Numbers of which many are the same, zeros of both signs among them."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 5, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.5, numbers, -numbers).astype(dtype) if np.dtype(dtype).kind not in "bu" else numbers


@divided
@pytest.mark.parametrize(
    "form, dtype",
    one_in_all(7, FORMS, [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int64, np.uint16, bool]),
)
def test_extrema_and_their_positions(form, dtype):
    shape, axis = FORMS[form]

    def found(x):
        return x.max(axis), x.min(axis), x.argmax(axis), x.argmin(axis), x.any(axis), x.all(axis), np.count_nonzero(x, axis)

    function = jit(found)
    for seed in range(2):
        table = table_of(shape, dtype, seed)
        for one, expected in zip(function(table), found(table), strict=True):
            np.testing.assert_array_equal(one, expected)


@divided
@pytest.mark.parametrize("form, dtype", one_in_all(3, FORMS, [np.float32, np.float64]))
def test_extrema_of_nan_and_zeros(form, dtype):
    """NaN wins, the first of them; +0 is larger than -0."""
    shape, axis = FORMS[form]
    rng = np.random.default_rng(1)
    largest, position = jit(lambda x: x.max(axis)), jit(lambda x: (x.argmax(axis), x.argmin(axis)))
    table = np.where(rng.random(shape) < 2 / shape[axis], np.nan, rng.integers(-3, 3, shape)).astype(dtype)
    np.testing.assert_array_equal(largest(table), table.max(axis))
    np.testing.assert_array_equal(position(table), (table.argmax(axis), table.argmin(axis)))
    for sign in (1, -1):
        zeros = np.where(rng.random(shape) < 1 / shape[axis], sign, -sign) * dtype(0)
        np.testing.assert_array_equal(np.signbit(largest(zeros)), np.signbit(zeros).all(axis))
        np.testing.assert_array_equal(position(zeros), np.zeros_like(zeros.argmax(axis), shape=(2, *zeros.max(axis).shape)))


@in_each_form
@divided
def test_the_least_numbers_have_positions(shape, axis):
    """They are what a reduction to positions begins with."""
    table = np.full(shape, -np.inf, np.float32)
    np.testing.assert_array_equal(jit(lambda x: x.argmax(axis))(table), table.argmax(axis))


@in_each_form
@divided
def test_each_element_enters_once(shape, axis):
    """Also where no identity is known, and an element that entered twice would count."""
    kept = ",".join(str(size) for d, size in enumerate(shape) if d != axis)
    reduce = load_hlo(f"""
    HloModule counting

    counted {{
      x = s32[] parameter(0)
      y = s32[] parameter(1)
      one = s32[] constant(1)
      z = s32[] add(x, y)
      ROOT sum = s32[] add(z, one)
    }}

    ENTRY main {{
      x = s32[{",".join(map(str, shape))}] parameter(0)
      init = s32[] parameter(1)
      ROOT sum = s32[{kept}] reduce(x, init), dimensions={{{axis}}}, to_apply=counted
    }}""")
    table = table_of(shape, np.int32, 0)
    np.testing.assert_array_equal(reduce(table, np.int32(7)), 7 + table.sum(axis) + shape[axis])


@in_each_form
@divided
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_what_is_computed_from_rows_and_columns(shape, axis, dtype):
    rng = np.random.default_rng(2)
    table = rng.random(shape).astype(dtype)
    others = [rng.random([size if d == e else 1 for d, size in enumerate(shape)]).astype(dtype) for e in range(len(shape))]

    def deviations(x, *others):
        for other in others:
            x = x - other
        return np.sum(x * x, axis)

    expected = deviations(*(one.astype(np.longdouble) for one in (table, *others)))
    np.testing.assert_allclose(jit(deviations)(table, *others), expected.astype(dtype), rtol=20 * np.finfo(dtype).eps)


def test_sums_of_narrow_columns_are_at_least_as_accurate_as_those_in_order():
    rng = np.random.default_rng(3)
    table = (rng.random((100_003, 7)) * np.exp(rng.normal(size=(100_003, 7)))).astype(np.float32)
    exact = np.array([math.fsum(column) for column in table.T.astype(np.float64)])
    found = jit(lambda x: x.sum(0))(table)
    assert np.all(np.abs(found - exact) <= 4 * np.spacing(exact.astype(np.float32)))


DECIDED = {
    "any": lambda x: x.any(),
    "none": lambda x: not x.any(),
    "all": lambda x: (~x).all(),
    "first": lambda x: x.argmax(),
    "last of these": lambda x: (~x).argmin(),
}


@pytest.mark.parametrize("shape", [(700_001,), (700, 1001), (3, 400_001)])
@pytest.mark.parametrize("name", DECIDED)
def test_parts_of_which_one_decides_the_result(name, shape):
    """Those behind it are left out; that of several the first one counts depends on nothing."""
    function = DECIDED[name]
    f = jit(function)
    x = np.zeros(shape, np.bool_)
    assert f(x) == function(x)
    for place in (0, 4095, 4096, 9000, 123_456, 350_000, x.size - 1):
        for others in (1, 5, 100_000):
            x[...] = False
            x.reshape(-1)[place::others] = True
            assert f(x) == function(x)
            x.reshape(-1)[place + 1 :] = False
            assert f(x) == function(x)


def test_parts_of_computed_truth_values():
    f = jit(lambda x, y: (np.allclose(x, y), np.argmax(x > y), np.isfinite(x).all()))
    x = np.random.default_rng(0).random(300_000, np.float32)
    for place in (None, 7, 100_000, 299_999):
        y = x.copy()
        if place is not None:
            y[place] = -1
        assert f(x, y) == (place is None, place or 0, True)
        y[place or 0] = np.inf
        assert f(y, x) == (False, place or 0, False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64])
def test_first_places_of_extrema_in_rows_of_several_blocks(dtype):
    """Of equal elements, zeros and NaN, too, the first counts; what is last is in a block that overlaps another."""
    size = 1003
    f = jit(lambda x: (x.argmax(1), x.argmin(1), x[0].argmax(), x[0].argmin()))
    rng = np.random.default_rng(0)
    tables = [np.full((3, size), value, dtype) for value in (0, 1, np.iinfo(np.int64).min if dtype is np.int64 else 7)]
    tables += [rng.integers(0, 100, (3, size)).astype(dtype), np.arange(3 * size).reshape(3, size).astype(dtype)]
    tables.append(tables[-1][:, ::-1].copy())
    if np.dtype(dtype).kind == "f":
        tables += [np.full((3, size), value, dtype) for value in (-np.inf, np.inf, np.nan)]
        tables.append(np.where(rng.random((3, size)) < 0.5, dtype(0), dtype(-0.0)))
        tables += [tables[3].copy() for _ in range(3)]
        for table, places in zip(tables[-3:], ([0], [size - 1], [500, 700])):
            table[1, places] = np.nan
    for x in tables:
        for found, expected in zip(f(x), (x.argmax(1), x.argmin(1), x[0].argmax(), x[0].argmin())):
            np.testing.assert_array_equal(found, expected)


def test_rows_of_different_programs_have_the_end_in_common():
    x = np.random.default_rng(0).integers(-9, 9, (300, 200)).astype(np.float32)
    one, other = jit(lambda x: x.sum(axis=1)).compile(x), jit(lambda x: (x * x).sum(axis=1)).compile(x[:, :99])
    assert np.array_equal(one(x), x.sum(axis=1))
    assert np.array_equal(other(x[:, :99]), (x * x)[:, :99].sum(axis=1))
    shared = [{name for code in one.executable.program.shared for name in code.names} for one in (one, other)]
    assert shared[0] == shared[1] and len(shared[0]) == (host_target().lanes(4) >= 16)


def test_rows_combined_by_an_operation_and_by_its_reverse():
    def differences(operands):
        combine = f"x = f32[] parameter(0)\ny = f32[] parameter(1)\nROOT z = f32[] subtract({operands})"
        text = "x = f32[300,48] parameter(0)\nzero = f32[] constant(0)\n"
        text += "ROOT y = f32[300] reduce(x, zero), dimensions={1}, to_apply=combine"
        return load_hlo(f"combine {{\n{combine}\n}}\nENTRY main {{\n{text}\n}}\n")

    x = np.random.default_rng(0).integers(-9, 9, (300, 48)).astype(np.float32)
    assert not np.array_equal(differences("x, y")(x), differences("y, x")(x))
