"""Arrays that are given as ``out=``: of which dtypes they may be, and what they hold afterwards."""

import numpy as np
import pytest
from phlox import jit

X = np.arange(1.0, 13.0).reshape(3, 4) * 1.3
FUNCTIONS = {
    "fft": lambda x, o: np.fft.fft(x, out=o), "rfft": lambda x, o: np.fft.rfft(x, out=o),
    "irfft": lambda x, o: np.fft.irfft(x, out=o), "ihfft": lambda x, o: np.fft.ihfft(x, out=o),
    "fft2": lambda x, o: np.fft.fft2(x, out=o), "sum": lambda x, o: np.sum(x, axis=0, out=o),
    "mean": lambda x, o: np.mean(x, axis=0, out=o), "var": lambda x, o: np.var(x, axis=0, out=o),
    "std": lambda x, o: np.std(x, axis=0, out=o), "max": lambda x, o: np.max(x, axis=0, out=o),
    "argmax": lambda x, o: np.argmax(x, axis=0, out=o), "argmin": lambda x, o: x.argmin(axis=0, out=o),
    "any": lambda x, o: np.any(x, axis=0, out=o), "ptp": lambda x, o: np.ptp(x, axis=0, out=o),
    "median": lambda x, o: np.median(x, axis=0, out=o), "percentile": lambda x, o: np.percentile(x, 30, axis=0, out=o),
    "nearest": lambda x, o: np.quantile(x, 0.3, axis=0, out=o, method="nearest"),
    "nansum": lambda x, o: np.nansum(x, axis=0, out=o), "nanmean": lambda x, o: np.nanmean(x, axis=0, out=o),
    "nanstd": lambda x, o: np.nanstd(x, axis=0, out=o), "nanvar": lambda x, o: np.nanvar(x, axis=0, out=o),
    "nanmax": lambda x, o: np.nanmax(x, axis=0, out=o), "nanmedian": lambda x, o: np.nanmedian(x, axis=0, out=o),
    "nanargmax": lambda x, o: np.nanargmax(x, axis=0, out=o), "cumsum": lambda x, o: np.cumsum(x, axis=0, out=o),
    "accumulate": lambda x, o: np.add.accumulate(x, axis=0, out=o), "reduce": lambda x, o: np.add.reduce(x, axis=0, out=o),
    "reduceat": lambda x, o: np.add.reduceat(x, [0, 2], axis=0, out=o), "dot": lambda x, o: np.dot(x, x.T, out=o),
    "matmul": lambda x, o: np.matmul(x, x.T, out=o), "outer": lambda x, o: np.outer(x, x, out=o),
    "einsum": lambda x, o: np.einsum("ij,ij->j", x, x, out=o), "trace": lambda x, o: np.trace(x, out=o),
    "multi_dot": lambda x, o: np.linalg.multi_dot([x, x.T, x], out=o), "clip": lambda x, o: np.clip(x, 1, 5, out=o),
    "round": lambda x, o: np.round(x, out=o), "take": lambda x, o: np.take(x, [1, 2], axis=0, out=o),
    "compress": lambda x, o: np.compress([True, False, True], x, axis=0, out=o),
    "concatenate": lambda x, o: np.concatenate([x, x], out=o), "stack": lambda x, o: np.stack([x, x], out=o),
    "add": lambda x, o: np.add(x, 1, out=o), "sqrt": lambda x, o: np.sqrt(x, out=o), "isnan": lambda x, o: np.isnan(x, out=o),
    "isposinf": lambda x, o: np.isposinf(x, out=o), "isneginf": lambda x, o: np.isneginf(x, out=o),
}  # fmt: skip


@pytest.mark.parametrize("out", [bool, np.int64, np.float32, np.float64, np.complex128], ids=lambda kind: np.dtype(kind).name)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [X, X.astype(int), X > 3], ids=["float", "int", "bool"])
def test_dtypes(x, name, out):
    function = FUNCTIONS[name]
    try:
        shape = np.shape(function(x, None))
    except TypeError:
        pytest.skip("not of this input")
    expected, found = np.zeros(shape, out), np.zeros(shape, out)
    try:
        returned = function(x, expected)
    except (TypeError, ValueError) as error:
        with pytest.raises(TypeError if isinstance(error, TypeError) else type(error)):
            jit(function, backend="reference")(x, found)
        assert not found.any()  # NumPy leaves what it has written before it found out
    else:
        assert returned is expected and jit(function, backend="reference")(x, found) is found
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
