"""NumPy's functions of arrays whose sizes are known at run time only, against NumPy, on both backends."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from phlox import jit
from thinning import one_in

from ..support.extents import check, line

# Of elements above 0: some, most, others; one and none where NumPy has a result for them.
LINES = [line(np.float64, 8, seed) for seed in (1, 2, 3)]
TABLE = np.arange(24.0).reshape(6, 4) - 10


def system(x):
    chosen = np.flatnonzero(x > 0)
    return (np.eye(8) * 2 + np.cos(np.subtract.outer(x, x)))[np.ix_(chosen, chosen)], x[chosen]


def restored(values, vectors):
    return vectors * values @ vectors.T


OF_LINES = {
    "vstack": lambda y: (np.vstack([y, y * 2]), np.vstack([y, np.ones(len(y))]).T),
    "stack": lambda y: (np.stack([y, y + 1]), np.stack([y, y, y], axis=1), np.stack([y, y], -1)),
    "column_stack": lambda y: (np.column_stack([y, y * 2]), np.dstack([y, y]), np.hstack([y, 1.0])),
    "array": lambda y: (np.array([y, y + 1]), np.array([y, y], np.float32)),
    "concatenate": lambda y: np.concatenate([y[:, None], y[:, None] * 2, np.zeros((len(y), 2))], axis=1),
    "tile": lambda y: (np.tile(y, 2), np.tile(y, (2, 3)), np.tile(y, (2, 0))),
    "roll": lambda y: (np.roll(y, 1), np.roll(y, -3), np.roll(y[:, None] * y, 2, axis=1), np.roll(y, 5)),
    "pad": lambda y: (np.pad(y, 1), np.pad(y, (1, 2), constant_values=7), np.pad(y, (0, 3), "edge"), np.pad(y, 2, "wrap")),
    "pad mirrored": lambda y: (np.pad(y, 5, "reflect"), np.pad(y, 5, "symmetric"), np.pad(y[:, None] * y, 1)),
    "pad with pairs": lambda y: (
        np.pad(y, (2, 1), constant_values=(7, y.sum())),
        np.pad(y[:, None] * y, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))),
        np.pad(y[:, None] * y, np.array([[1, 2], [0, 3]]), constant_values=np.array([1, 2])),
        np.pad(y[:, None] * y, ((1,), (2,)), constant_values=y.sum()),
        np.pad(y[:, None] * y, {-1: (1, 2)}),
    ),
    "meshgrid": lambda y: (*np.meshgrid(y, [1.0, 2.0]), *np.meshgrid(y, y, indexing="ij", sparse=True)),
    "kron": lambda y: (np.kron(y, [1.0, 2.0]), np.kron([1.0, 2.0], y)),
    "outer of ufuncs": lambda y: (np.subtract.outer(y, y), np.multiply.accumulate(y), np.add.accumulate(y)),
    "reshape": lambda y: (np.outer(y, y).reshape(-1), np.outer(y, y).ravel(), (y[:, None] + np.zeros(6)).reshape(-1, 3)),
    "reshape to traced": lambda y: np.outer(y, y).reshape(len(y), 1, len(y)),
    "reshape beside own sizes": lambda y: [
        (y[:, None] + np.zeros(6)).reshape(len(y), 2, -1).transpose(1, 0, 2).reshape(2, -1),
        np.outer(y, y).reshape(len(y), -1),
        (y[:, None, None] * y[:, None] * np.ones(6)).reshape(3, -1, len(y)),
    ],
    "squeeze": lambda y: (np.squeeze(y[None, :, None], axis=(0, 2)), np.atleast_2d(y), np.atleast_3d(y), np.atleast_1d(y)),
    "moveaxis": lambda y: (np.moveaxis(y[None, :, None] + np.zeros(2), 0, 2), np.broadcast_to(y, (2, len(y)))),
    "percentile": lambda y: (np.percentile(y, 30), np.quantile(y, [0.1, 0.9]), np.percentile(y, 50, method="lower")),
    "median": lambda y: (np.median(y), np.median(np.outer(y, y), axis=1), np.median(y.astype(int))),
    "nan": lambda y: [f(np.where(y > 3, np.nan, y)) for f in (np.nansum, np.nanprod, np.nanmax, np.nanmean, np.nanmedian)],
    "nan in rows": lambda y: np.nanmean(np.outer(y, y) + np.where(y > 4, np.nan, 0), axis=1),
    "first of all rows": lambda y: [
        (f(table), f(table, keepdims=True), f(table.astype(int) % 3), f(table > 0), f(np.where(table > 4, np.nan, table)))
        for table in (np.subtract.outer(y, y[::-1]), np.cos(y)[:, None] * np.ones(5), np.ones(3)[:, None] * y)
        for f in (np.argmin, np.argmax)
    ],
    "partition": lambda y: (np.partition(y, 1)[1], np.argpartition(y, 1)[1] * 0, np.lexsort((y, np.floor(y / 2)))),
    "searchsorted": lambda y: (np.searchsorted(np.sort(y), [0.0, 2, 4.5, 9]), np.searchsorted([1.0, 3], y, side="right")),
    "digitize": lambda y: (np.digitize(y, [1.0, 3.0]), np.digitize(y, [1.0, 3.0], right=True)),
    "convolve": lambda y: (np.convolve(y, [1.0, 2.0]), np.convolve(y, [1.0, 2, 3], "same"), np.convolve([1.0] * 9, y, "valid")),
    "correlate": lambda y: (np.correlate(y, [1.0, 2.0], "full"), np.correlate(y, y, "same")),
    "interp": lambda y: (np.interp(np.arange(9) - 1.0, np.sort(y) + np.arange(len(y)), y), np.interp(y, [0.0, 2], [1.0, 5])),
    "gradient": lambda y: (np.gradient(y), np.gradient(y, 0.5, edge_order=2), np.ediff1d(y, to_end=9.0)),
    "trapezoid": lambda y: (np.trapezoid(y), np.polyval([1.0, 2, 3], y)),
    "einsum": lambda y: (np.einsum("i,i", y, y), np.einsum("i,j->ij", y, y), np.einsum("ij->j", np.outer(y, y))),
    "triangles": lambda y: (
        np.triu(np.outer(y, y)),
        np.tril(np.outer(y, y), -1),
        np.diag(y),
        np.eye(len(y)),
        np.identity(len(y)),
    ),
    "diagonal": lambda y: (np.trace(np.outer(y, y)), np.diag(np.outer(y, y)), np.diagonal(np.outer(y, y), 1)),
    "cov": lambda y: (np.cov(y), np.cov(y, y * y), np.corrcoef(y, np.sqrt(y)), np.cov(np.stack([y, y**2]), bias=True)),
    "norm": lambda y: [np.linalg.norm(y, ord) for ord in (None, 1, 2, 3, np.inf, 0)] + [np.linalg.norm(np.outer(y, y), axis=1)],
    "equal": lambda y: (np.array_equal(y, y + 0), np.array_equal(y, y[1:]), np.array_equal(y, [1.0, 2]), np.allclose(y, y + 1)),
    "equivalent": lambda y: (
        np.array_equiv(y, y + 0),
        np.array_equiv(y, y[1:]),
        np.array_equiv(y, y[:1]),
        np.array_equiv(y[:1], y * 0 + y[0]),
        np.array_equiv(y, 2.0),
        np.array_equiv(y, y[y > 99]),
        np.array_equiv(y[:1], y[y > 99]),
    ),
    "take": lambda y: (np.take(y, [0, 1]), y.take([1, 0, 1]), np.take(np.arange(9.0), y.astype(int))),
    "delete": lambda y: (np.delete(y, 1), np.delete(y, np.argmax(y)), np.delete(y, [0, 1]), np.append(y, [1.0, 2])),
    "delete what is found": lambda y: (np.delete(y, np.where(y > 2)), np.delete(TABLE[0], np.nonzero(TABLE[0] > y[0]))),
    "fill": lambda y: (np.float32(y), np.int64(y), np.empty_like(y) * 0, np.full(y.shape, 2)),
}


@pytest.mark.parametrize("name", one_in(2, OF_LINES))
def test_functions_of_lines(name):
    if name == "trapezoid" and not hasattr(np, "trapezoid"):
        pytest.skip("this NumPy calls it trapz")
    function = OF_LINES[name]
    check(lambda x: function(x[x > 0]), LINES[0], again=[(one,) for one in LINES[1:]])


OF_SYSTEMS = {
    "solve": lambda a, b: (np.linalg.solve(a, b), np.linalg.inv(a) @ b),
    "det": lambda a, b: (np.linalg.det(a), *np.linalg.slogdet(a)),
    "cholesky": lambda a, b: np.linalg.cholesky(a),
    "eigenvalues": lambda a, b: (np.linalg.eigvalsh(a), np.linalg.eigh(a)[0], restored(*np.linalg.eigh(a))),
}


@pytest.mark.parametrize("name", one_in(2, OF_SYSTEMS))
def test_systems_of_unknown_size(name):
    function = OF_SYSTEMS[name]
    check(lambda x: function(*system(x)), LINES[0], again=[(one,) for one in LINES[1:]])


def test_rows_and_columns():
    def function(a):
        rows, columns = np.nonzero(a[:, 0] > -3)[0], np.nonzero(a[0] > -9)[0]
        chosen = a[rows]
        return a[np.ix_(rows, columns)], np.take(a, columns, axis=1), chosen.T @ chosen, chosen.reshape(-1), chosen.ravel()

    check(function, TABLE, again=[(-TABLE,)])


@pytest.mark.parametrize("place", [0, 3, -1, 7])
def test_one_place_is_deleted_or_inserted(place):
    """The result has a known size."""

    def function(x, places):
        i = places[0]
        return np.delete(x, i), np.insert(x, i, 9.0), np.roll(x, i)

    check(function, LINES[0], np.array([place]))
    assert "<=" not in jit(function).lower(LINES[0], np.array([place])).as_text()


@pytest.mark.parametrize("places", [[3, -1, 3, 0], [8, 0, -8, 8], [5], [9, 1, 9], [11, 10]])
def test_several_values_are_inserted_at_places(places):
    def function(x, table, places, values):
        return (
            np.insert(x, places, values),
            np.insert(x[:0], places * 0, values),
            np.insert(table, places, table[0, 0], axis=1),
            np.insert(table.T, places, values[:, None], axis=0),
        )

    x, places = LINES[0], np.array(places)
    check(function, x, np.arange(3.0 * x.size).reshape(3, -1), places, np.arange(10.0, 10 + len(places)))


def test_places_out_of_bounds_are_found():
    for function in (lambda x, i: np.delete(x, i[0]), lambda x, i: np.insert(x, i[0], 1), lambda x, i: np.insert(x, i, 1)):
        check(function, LINES[0], np.array([9]), again=[(LINES[0], np.array([-10]))])


def test_sizes_that_do_not_fit():
    for function in (
        lambda x: np.vstack([x[x > 0], x]),
        lambda x: np.outer(x[x > 0], np.ones(5)).reshape(-1, 7),
        lambda x: np.einsum("i,i", x[x > 0], x),
        lambda x: np.linalg.solve(np.eye(8), x[x > 0]),
        lambda x: np.interp(x, x[x > 0], x),
    ):
        with pytest.raises(ValueError):
            jit(function)(np.array([1.0, -1, 2, -2, 3, -3, 4, -4]))


def test_own_sizes_cancel_out():
    """So that what is computed of the parts of rows takes the time of their size, not of a bound."""

    def parts(x, n):
        rows = x[:n]
        return rows.reshape(rows.shape[0], 2, -1).sum(0)

    x = np.arange(40.0).reshape(5, 8)
    np.testing.assert_array_equal(jit(parts)(x, np.int64(3)), parts(x, 3))
    assert "f64[2,4]" in str(jit(parts).lower(x, np.int64(3)).module.entry.shape)
    with pytest.raises(ValueError, match="cannot reshape"):
        jit(parts)(x, np.int64(0))


def test_reshapes_are_views():
    def written(x):
        y = x[x > 0]
        column = y.reshape(-1, 1)
        for i in range(column.shape[0]):
            column[i, 0] *= i
        table = np.outer(y, y)
        flat = table.ravel()
        flat[:2] = -1
        same = np.asarray(y)
        same[0] = 7
        return y, table, flat, np.array(y, copy=True)

    check(written, LINES[0], again=[(LINES[1],), (LINES[2],)])


def counted_pairs(rows, columns):
    size = int(rows.max()) + 1
    table = np.zeros((size, size))
    np.add.at(table, (rows, columns), 1)
    return table


def counted_from_the_end(rows, columns):
    table = np.zeros((int(rows.max()) + 1, 5))
    np.add.at(table, (np.where(rows > 2, -1, rows), columns), 0.5)
    np.maximum.at(table, (1, columns), columns * 1.5)
    return table


def counted_in_a_view(rows, columns):
    table = np.zeros((int(rows.max()) + 2, 4))
    np.subtract.at(table[1:], (rows, columns), rows + 1.0)
    return table


def counted_in_columns(rows, columns):
    table = np.zeros((int(rows.max()) + 1, 4))
    np.add.at(table, (slice(None), columns), 2)
    return table


def summed_by_selected_rows(rows, columns):
    """Of arrays of two dimensions, masks beside columns, and numbers for all."""
    chosen = np.flatnonzero(rows > 0)
    table, values = np.zeros((4, 3)), np.outer(columns, [1.0, 2.0, 4.0])
    np.add.at(table, rows[chosen], values[chosen])
    np.add.at(table, chosen % 4, 1)
    np.maximum.at(table, (rows[chosen], 1), values[chosen, 1] * 3)
    np.add.at(table, (table[:, 0] > 2, slice(1, 3)), table[table[:, 0] > 2, :2])
    return table


@pytest.mark.parametrize(
    "function", [counted_pairs, counted_from_the_end, counted_in_a_view, counted_in_columns, summed_by_selected_rows]
)
def test_a_tuple_is_an_index_of_at(function):
    jitted = jit(function)
    for seed in (1, 2, 3):
        rows, columns = np.random.default_rng(seed).integers(0, 4, (2, 9))
        rows[0] = 2 + seed % 2  # tables of two sizes
        columns = np.minimum(columns, 2)
        np.testing.assert_array_equal(jitted(rows, columns), function(rows, columns))


def reshapes_of_reshapes(x, n):
    table = np.arange(1.0 * n * n).reshape(n, n)
    line = table.reshape(-1)
    line[0] = 9
    table[1, 1] = 7
    for k in range(n):
        line[k * n + k] += table[k, 0]
    return table, line, line[n:].reshape(-1, n)


def rows_in_a_line(x, n):
    rows = x[:n]
    line = rows.reshape(-1)
    line[0] = 9
    some = x.ravel()[: n * 4].reshape(n, 4)
    some[1] *= 2
    np.zeros((n, n))[None].reshape(n, n)[0] = 1
    return x, rows, line, some


def columns_in_a_line(x, n):
    table = np.zeros((n, 4))
    part, first, backwards = table[:, :2].ravel(), table[:, 0].ravel(), table.T.reshape(-1)
    part += 1
    first += 2
    backwards += 3
    block = x[n - 2 : n, 1:3]
    line = block.ravel()
    line -= line.mean()
    every_other = x[:n, 0][::-1].ravel()
    every_other += 5
    return table, part, first, backwards, x, block, line


@pytest.mark.parametrize("function", [reshapes_of_reshapes, rows_in_a_line, columns_in_a_line])
def test_reshapes_are_views_where_elements_lie_one_behind_another(function):
    jitted = jit(lambda x, chosen: function(x, int(chosen.sum())))
    for size in (3, 2, 4, 3):
        x, chosen = np.arange(16.0).reshape(4, 4) - 3, np.arange(6) < size
        own = x.copy()
        for found, expected in zip(jitted(x, chosen), function(own, size), strict=True):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(x, own)


def test_compress_of_conditions_of_any_length_and_type():
    def all_of_it(c, x, y):
        shorter = np.compress(c[:3], x), np.compress(c[:2], y, axis=0)
        return np.compress(c, x), x.compress(c), np.compress(c, y, axis=1), np.compress(c[:4], y, axis=0), *shorter

    x, y = np.arange(5.0), np.arange(20).reshape(4, 5)
    for c in (np.array([True, False, True, True, False]), np.array([0, 2, 0, -1, np.nan]), np.zeros(5, bool)):
        expected, actual = all_of_it(c, x, y), jit(all_of_it)(c, x, y)
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


def test_shapes_that_broadcast_together():
    def shape(x, other):
        return np.broadcast_shapes(x[x > 0].shape, (3, 1), 1, (len(other[other > 0]),))

    some, three = np.array([1.0, -1.0, 2.0]), np.ones(3)
    for x, other in ((some, some), (some, three[:1]), (three[:1], some), (some[1:2], three[:1]), (three[:1], three[:1])):
        assert jit(shape)(x, other) == shape(x, other)
        assert [type(size) for size in jit(shape)(x, other)] == [int, int]
    with pytest.raises(ValueError, match="cannot be broadcast to a single shape"):
        jit(shape)(some, three)


@pytest.mark.parametrize("x", [np.array(2.5), np.arange(4.0), np.arange(6.0).reshape(2, 3), -np.arange(4.0), np.zeros((0, 2))])
def test_values_in_any_number_are_placed(x):
    def program(x, y):
        out, again = np.zeros_like(x), x[x > -9]
        np.place(out, x > 1, y[y > 0])
        np.place(again, again > 1, y[y > 0])
        return out, again

    check(program, x, np.array([-1.0, 3, 4]), again=[(x, np.array([-1.0]))])


def test_an_array_without_dimensions_is_set_where_a_mask_says():
    def program(x, y):
        out, lines = np.zeros_like(x), np.zeros((2, 3))
        out[x > 1] = y[y > 0]
        lines[x > 1] = y[y > 0].sum()
        return out, lines

    check(program, np.array(2.5), np.array([-1.0, 3]), again=[(np.array(0.5), np.array([-1.0]))])


def padded_to_a_length(x):
    found = x[x > 2]
    table = np.pad(np.outer(x, x)[:2, :2], ((0, len(found)), (1, 0)), constant_values=(7, 8))
    return np.pad(found, (0, 6 - len(found))), np.pad(x, (len(found), 1), constant_values=(7, 8)), table


def test_widths_of_padding_may_be_sizes():
    jitted = jit(padded_to_a_length)
    for x in (np.array([3.0, 2, 5, 0]), np.zeros(4), np.full(4, 9.0)):
        for found, expected in zip(jitted(x), padded_to_a_length(x)):
            np.testing.assert_array_equal(found, expected, strict=True)
    with pytest.raises(ValueError, match="index can't contain negative values"):
        jit(lambda x: np.pad(x, (0, 1 - np.count_nonzero(x))))(np.ones(3))


def means_by_name(x):
    names, numbers = np.unique(np.array(["b", "a", "b"]), return_inverse=True)
    return [(str(name), value) for name, value in zip(names, np.bincount(numbers, weights=x))]


def test_counts_of_known_numbers_have_a_known_size():
    assert jit(means_by_name)(np.array([1.0, 2, 4])) == [("a", 2.0), ("b", 5.0)]


def outcome_of(function):
    try:
        return function(np.arange(4.0)).tolist()
    except IndexError:  # of arrays of such sizes without the index
        return IndexError


@pytest.mark.parametrize("mode", [0, 1, 2, None, np.int64(1)])
@pytest.mark.parametrize("indices", [[1, 9], [-1, 2]])
def test_modes_of_indices_may_be_numbers(mode, indices):
    for function in (lambda x: np.take(x, indices, mode=mode), lambda x: np.take(x[x > 0], indices, mode=mode)):
        assert outcome_of(jit(function)) == outcome_of(function)


@pytest.mark.parametrize("exponents", [[2, -1, 3, 2], [-2, 3, 3, -2], [2, 3, -3, 2], [-2, 3, -3, 2]])
def test_segments_of_powers_refuse_negative_exponents(exponents):
    def segments(x, places):
        return np.power.reduceat(x, places)

    x = np.array(exponents)
    for places in ([0, 2], [1, 3, 2]):
        of_known_places = jit(functools.partial(segments, places=places))
        for function, given in ((of_known_places, (x,)), (jit(segments), (x, np.array(places)))):
            try:
                expected = segments(x, places)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error)):
                    function(*given)
            else:
                np.testing.assert_array_equal(function(*given), expected, strict=True)


def test_functions_of_places_take_shapes_that_the_program_decides():
    def made(x):
        count = (x > 0).sum()
        return np.fromfunction(lambda i: i * 2, (count,)), np.fromfunction(lambda i, j: i - j, (count, 2), dtype=int)

    for x in (np.arange(4.0), np.zeros(2)):
        for one, other in zip(jit(made)(x), made(x)):
            np.testing.assert_array_equal(one, other, strict=True)
