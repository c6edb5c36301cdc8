"""xarray's apply_ufunc and its like, given jitted functions."""

import numpy as np
import pytest
from both_ways import both_ways

xr = pytest.importorskip("xarray")

FIELD = xr.DataArray(
    np.arange(24.0).reshape(2, 3, 4) ** 1.5, dims=("t", "y", "x"), coords={"t": [0, 1], "x": [1.0, 2, 3, 4]}, name="field"
)


@both_ways()
def test_apply_ufunc(jit):
    mean = jit(lambda a, axis: a.mean(axis=axis))
    ends = jit(lambda v: (v.min(axis=-1), v.max(axis=-1)))
    low, high = xr.apply_ufunc(ends, FIELD, input_core_dims=[["x"]], output_core_dims=[[], []])
    mixed = jit(lambda a, b: (a * b).sum(axis=-1))
    return (
        xr.apply_ufunc(jit(lambda a: a * 2 + 1), FIELD),
        xr.apply_ufunc(jit(np.hypot), FIELD, FIELD[0], keep_attrs=True),
        xr.apply_ufunc(mean, FIELD, input_core_dims=[["t"]], kwargs={"axis": -1}),
        xr.apply_ufunc(mixed, FIELD, FIELD.t * 1.0, input_core_dims=[["t"], ["t"]]),
        low,
        high,
    )


@both_ways()
def test_apply_ufunc_row_by_row(jit):
    places = xr.DataArray([0.5, 1.5], dims="place")
    at = jit(lambda row, places: np.interp(places, np.arange(4.0), row))
    dims = {"input_core_dims": [["x"], ["place"]], "output_core_dims": [["place"]]}
    return (
        xr.apply_ufunc(jit(lambda row: row.max() - row.min()), FIELD, input_core_dims=[["x"]], vectorize=True),
        xr.apply_ufunc(at, FIELD, places, vectorize=True, **dims),
    )


@both_ways(rtol=1e-6)
def test_reductions_and_fits(jit):
    total = jit(lambda a, axis=None: np.sum(a * a, axis=axis))
    return (
        FIELD.reduce(total, dim="x"),
        FIELD.rolling(x=2).reduce(jit(lambda a, axis: np.max(a, axis=axis))),
        FIELD.coarsen(x=2).reduce(jit(lambda a, axis: np.sum(a, axis=axis))),
        FIELD.groupby("t").reduce(total),
        *(pytest.importorskip("scipy") and FIELD.curvefit("x", jit(lambda x, a, b: a * x + b)).data_vars.values()),
    )
