"""pandas' apply, rolling, groupby and its like, given jitted functions."""

import numpy as np
import phlox
import pytest
from both_ways import both_ways

pd = pytest.importorskip("pandas")

TABLE = pd.DataFrame({"k": list("aabbbc"), "x": np.arange(6.0) ** 1.5, "y": [3.0, np.nan, 1, 4, 1, 5], "i": [1, 2, 3, 4, 5, 6]})
NUMBERS = TABLE[["x", "y", "i"]]
X = TABLE["x"]


@both_ways()
def test_elements(jit):
    @jit
    def step(v):
        if v > 3:
            return v * 2.5
        return v - 1

    return X.map(step), NUMBERS.map(step), X.combine(TABLE["i"], jit(lambda a, b: a * b + 1))


@both_ways()
def test_rows_and_columns_as_arrays(jit):
    @jit
    def scaled(column, scale=1.0, *, shift=0):
        return column.sum() * scale + shift

    return (
        NUMBERS.apply(jit(lambda column: column.max() - column.min()), raw=True),
        NUMBERS.apply(jit(lambda row: row[0] * row[2]), axis=1, raw=True),
        NUMBERS.apply(scaled, raw=True, scale=2.0, shift=1),
        NUMBERS.apply(jit(lambda column: column - column[0]), raw=True),
        NUMBERS.fillna(1).corr(method=jit(lambda a, b: (a * b).sum())),
    )


@both_ways()
def test_windows(jit):
    last = jit(lambda window, factor, shift: window[-1] * factor + shift)
    return (
        X.rolling(3).apply(jit(lambda window: window.max() - window.min()), raw=True),
        X.rolling(3, min_periods=1).apply(jit(lambda window: window.sum()), raw=True),
        X.expanding().apply(jit(lambda window: window[-1] - window[0]), raw=True),
        X.rolling(2).apply(last, raw=True, args=(2,), kwargs={"shift": 3}),
    )


@both_ways()
def test_groups_as_arrays(jit):
    total, centred = jit(lambda x, i: (x * i).sum()), jit(lambda x: x - x.mean())
    groups = TABLE.groupby("k")
    return (
        groups[["x", "i"]].apply(lambda group: total(group["x"].to_numpy(), group["i"].to_numpy())),
        groups["x"].transform(lambda group: centred(group.to_numpy())),
    )


@both_ways()
def test_arrays_of_a_table(jit):
    total = jit(lambda a: a[::2].sum())
    return total(X.to_numpy()), total(X.values), total(TABLE["i"].to_numpy()), total(np.asarray(NUMBERS)[:, 1])


@pytest.mark.parametrize("labelled", [X, NUMBERS], ids=["Series", "DataFrame"])
def test_what_has_labels_is_refused(labelled):
    """A mean, a deviation, a sum of two mean something else for it than for an array."""
    with pytest.raises(TypeError, match=r"argument v is of type pandas\.\w+, .* pass np\.asarray\(\.\.\.\) of it"):
        phlox.jit(lambda v: v.std())(labelled)
