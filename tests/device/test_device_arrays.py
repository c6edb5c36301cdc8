"""Arrays on a device as users have them: calls, NumPy's functions, arrays from outside, all without the host in between."""

import copy
import pickle
import threading
from collections import deque
from dataclasses import dataclass

import device_with_memory
import numpy as np
import pytest
from device_with_memory import same
from phlox import ConcretizationError, MixedDevicesError, RecompilationWarning, device_put, jit
from phlox.backends.registry import BackendUnavailableError

NAME = device_with_memory.NAME


def transfers(array):
    return array.device.memory.transfers


X = np.arange(12.0).reshape(3, 4)
NUMBERS = np.arange(6)


@jit
def affine(x, w, b):
    return np.tanh(x @ w + b)


def test_results_of_calls_with_arrays_on_a_device_are_there(put):
    x, w, b = put(X), put(X.T), put(np.ones(3))
    same(affine(x, w, b), affine(X, X.T, np.ones(3)))
    assert type(affine(X, X.T, np.ones(3))) is np.ndarray


def test_no_transfer_between_calls(far):
    x, w, b = far(X), far(X.T), far(np.ones(3))
    before = transfers(x)
    for _ in range(3):
        x = affine(x, w, b) @ w.T
        x = x[1:] + x.sum(axis=0)
        x = np.concatenate([x, x[:1]])
    assert transfers(x) == before
    np.asarray(x)
    assert transfers(x) == before + 1


def test_host_arrays_and_numbers_beside_are_transferred(put):
    @jit
    def scaled(x, factor, offset):
        return x * factor + offset

    same(scaled(put(X), 2, np.ones(4)), X * 2 + 1)
    same(scaled(X, put(np.float64(3.0)), 1.5), X * 3 + 1.5)


def test_host_arrays_alone_give_host_arrays(registered):
    device_with_memory.register()
    double = jit(lambda x: (2 * x, x.sum(), len(x)), backend=NAME)
    array, total, length = double(X)
    assert (type(array), type(total), type(length)) == (np.ndarray, np.float64, int)
    np.testing.assert_array_equal(array, 2 * X)


def test_containers(put):
    @dataclass
    class State:
        position: np.ndarray
        log: dict

    @jit
    def step(state, rate):
        return State(state.position + rate, {**state.log, "mean": state.position.mean()})

    state = step(State(put(X), {"first": put(X[0])}), 0.5)
    same(state.position, X + 0.5)
    same(state.log["first"], X[0])
    assert float(state.log["mean"]) == X.mean()


def test_results_that_are_no_arrays_are_pythons(put):
    assert jit(lambda x: (x.shape, x.ndim, "text", None))(put(X)) == ((3, 4), 2, "text", None)
    assert type(jit(lambda x, n: n + 1)(put(X), 3)) is int
    same(jit(lambda x: np.array([1, 2]))(put(X)), np.array([1, 2]))


def test_loops_and_branches(put):
    @jit
    def collatz(n):
        steps = np.zeros_like(n)
        while (n > 1).any():
            n = np.where(n <= 1, n, np.where(n % 2 == 0, n // 2, 3 * n + 1))
            steps += n >= 1
        return steps

    numbers = np.array([6, 7, 1])
    same(collatz(put(numbers)), collatz(numbers))


def found_in_a_loop(x):
    for row in x:
        if row[0] > 1:
            return row
    return None


def words(x):
    return "large" if x.sum() > 70 else None, ["low", x][int(x[0, 0] >= 0)]


def records(x):
    made = np.zeros(len(x), [("first", float), ("count", int)])
    made["first"] = x[:, 0]
    return made


@pytest.mark.parametrize("function", [found_in_a_loop, words, records])
def test_values_that_are_there_as_the_program_decides(put, function):
    for x in (X, X + 0.25, X - 100):
        expected, found = function(x), jit(function)(put(x))
        for one, other in zip(*[value if isinstance(value, tuple) else (value,) for value in (expected, found)], strict=True):
            np.testing.assert_array_equal(np.asarray(other), np.asarray(one), strict=True)


def _rows_above(x, limit):
    rows, by_number, last = [], {}, deque(maxlen=2)
    for number in range(len(x)):
        row = x[number] * 2
        if row.sum() > limit:
            rows.append(row)
            by_number[number] = (number, [row + 1])
            last.append(row)
    return rows, by_number, last


def test_arrays_in_containers_of_as_many_as_the_program_decides(put):
    function = jit(_rows_above)
    for limit in (-1.0, 20.0, 50.0, 1e9):
        rows, by_number, last = function(put(X), limit)
        expected = _rows_above(X, limit)
        assert list(by_number) == list(expected[1]) and type(last) is deque and last.maxlen == 2
        for found, wanted in ((rows, expected[0]), (last, expected[2])):
            assert len(found) == len(wanted)
            for one, other in zip(found, wanted):
                same(one, other)
        for number, (own, (row,)) in by_number.items():
            assert own == number
            same(row, expected[1][number][1][0])
    rows = function(put(X), -1.0)[0]
    rows[0] += 1
    same(rows[1], X[1] * 2)


# --- arrays from outside ---


WEIGHTS = None


def _lists_of_rows(x, limit):
    rows, texts, groups = [], [], {}
    for number in range(len(x)):
        if x[number].sum() > limit:
            rows.append(x[number].tolist())
            texts.append((f"row {number}: {x[number, 0]:.2f}", int(x[number, 1])))
            groups.setdefault(number % 2, []).append(f"{x[number, 2]:g}")
    return rows, texts, groups


def test_lists_of_numbers_and_texts_of_as_many_as_the_program_decides(put):
    function = jit(_lists_of_rows)
    for limit in (-1.0, 20.0, 1e9):
        assert function(put(X), limit) == _lists_of_rows(X, limit)


def _texts(x):
    return x.tobytes(), bytes(x), str(x), repr(x), f"{x} {x[1, 2]} {x[1, 2]!r} {[x[0]]}", x[1, 2].tobytes(), str(x)[1:9]


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64", "bool"])
def test_texts_and_bytes_are_those_of_the_contents(put, dtype):
    x = X.astype(dtype)
    assert jit(_texts)(put(x)) == _texts(x)


@jit
def weighted(x):
    return x @ WEIGHTS


def test_arrays_from_outside(far):
    global WEIGHTS
    x, WEIGHTS = far(X), far(X.T)
    same(weighted(x), X @ X.T)
    before = transfers(x)
    weighted(x)
    assert transfers(x) == before
    WEIGHTS = far(np.ones((4, 2)))
    same(weighted(x), X @ np.ones((4, 2)))
    WEIGHTS += 1
    same(weighted(x), X @ np.full((4, 2), 2.0))
    WEIGHTS = np.zeros((4, 2))
    same(weighted(x), np.zeros((3, 2)))


def test_arrays_from_outside_are_changed(put):
    total = put(np.zeros(4))

    @jit
    def add(x):
        nonlocal total
        total += x.sum(axis=0)

    add(put(X))
    add(put(X))
    same(total, 2 * X.sum(axis=0))


def test_attributes_of_objects(put):
    class Model:
        def __init__(self):
            self.w = put(X.T)

        @jit
        def step(self, x):
            self.w = self.w * 0.5
            return x @ self.w

    model = Model()
    same(model.step(put(X)), X @ (X.T / 2))
    same(model.w, X.T / 2)


@pytest.mark.parametrize("control_flow", ["source", "trace"])
def test_in_a_trace(put, control_flow):
    w = put(X.T)

    def closed(x):
        return np.where(w[0] > 0, x @ w, 1).sum() + np.sum(w, axis=0)[0] + (w + 1)[1:, 0].max() + w[1, 1]

    found = jit(closed, control_flow=control_flow)(put(X))
    w = X.T
    same(found, closed(X))


# --- other devices ---


def test_mixed_devices(far):
    x, y = far(X), device_put(X, "cpu")
    with pytest.raises(MixedDevicesError, match=rf"argument x is on {NAME}:0 and argument y on cpu:0"):
        jit(lambda x, y: x + y)(x, y)
    with pytest.raises(MixedDevicesError, match=rf"runs on cpu:0, and argument x is on {NAME}:0"):
        jit(lambda x: x + 1, backend="cpu")(x)
    with pytest.raises(MixedDevicesError):
        x + y
    same(device_put(x, "cpu") + y, X + X)


def test_values_that_decide_on_a_shape(far):
    same(jit(lambda shape: np.ones(tuple(shape)))(far(np.array([2, 3]))), np.ones((2, 3)))


def test_a_value_that_has_to_be_known_is_asked_for(far):
    with pytest.raises(ConcretizationError, match="argument axes"):
        jit(lambda x, axes: x.transpose(axes))(far(X), far(np.array([1, 0])))
    with pytest.raises(ConcretizationError, match="argument axis"):
        jit(lambda x, axis: x.sum(axis=axis))(far(X), far(np.array([1, 0])).max())
    same(jit(lambda x, axes: x.transpose(axes))(far(X), np.array([1, 0])), X.T)


def test_overlapping_operands_of_numpys_functions(put):
    x, expected = put(X), X.copy()
    for array in (x, expected):
        array[1:] += array[:-1]
        array[:, 1:] = array[:, :-1]
        np.multiply(array[0], 2, out=array[2])
    same(x, expected)


def test_overlapping_arguments_of_other_functions(put):
    x, expected = put(X), X.copy()
    for array in (x, expected):
        np.clip(array, 2, 9, out=array[...])
        np.take(array, [1, 2], axis=0, out=array[:2])
        array.cumsum(axis=1, out=array[:, :])
        np.copyto(array[1:], array[:-1])
        np.putmask(array, array > 12, array[0, 0])
        array[[0, 1]] = array[1:]
    same(x, expected)


def test_whether_arrays_share_memory(put):
    x = put(X)
    assert np.may_share_memory(x, x[0]) and np.shares_memory(x, x.T)
    assert not np.shares_memory(x[:, ::2], x[:, 1::2]) and not np.shares_memory(x, x.copy()) and not np.shares_memory(x, X)
    permuted = [np.random.default_rng(0).permutation(array) for array in (put(NUMBERS), NUMBERS)]
    np.testing.assert_array_equal(*permuted)


# --- NumPy's functions and Python's ---


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1, lambda x: 1 - x, lambda x: x @ x.T, lambda x: -x, lambda x: abs(x), lambda x: x > 3,
        lambda x: np.sqrt(x), lambda x: np.add.accumulate(x, axis=1), lambda x: np.maximum.reduce(x),
        lambda x: np.where(x > 3, x, 0),
        lambda x: np.concatenate([x, x[:1]]), lambda x: np.linalg.norm(x, axis=1), lambda x: x.sum(), lambda x: x.max(axis=0),
        lambda x: x.astype(np.float32), lambda x: x.argsort(axis=0), lambda x: x[[0, 2]], lambda x: x[x > 3], lambda x: x[1, 2],
        lambda x: x[..., None, 1], lambda x: np.sort(x)[::-1], lambda x: np.einsum("ij,kj->ik", x, x),
        lambda x: x.reshape(4, -1),
        lambda x: np.multiply.outer(x[0], x[1]), lambda x: np.broadcast_to(x, (2, 3, 4)), lambda x: np.full_like(x, 2),
        lambda x: x.swapaxes(0, 1), lambda x: np.clip(x, 2, 5), lambda x: (x > 3).any(axis=1), lambda x: x.std(),
        lambda x: np.linspace(x[0], x[1], 3),
        lambda x: np.pad(x, 1), lambda x: x.view(np.int64), lambda x: x**2 // 3 % 4, lambda x: np.unique(x // 4),
    ],
)  # fmt: skip
def test_functions_of_numpy(function, far):
    same(function(far(X)), function(X))


def test_results_in_other_forms(put):
    x = put(X)
    for found, expected in zip(divmod(x, 5), divmod(X, 5)):
        same(found, expected)
    for found, expected in zip(np.nonzero(x), np.nonzero(X)):
        same(found, expected)
    assert (np.shape(x), np.ndim(x), np.size(x), np.result_type(x, np.float32)) == ((3, 4), 2, 12, np.float64)
    assert np.allclose(x, X) and 3.0 in x and 12.5 not in x
    out = np.zeros((3, 4))
    assert np.add(x, 1, out=out) is out
    np.testing.assert_array_equal(out, X + 1)


def test_out_on_the_device(put):
    out = put(np.zeros((3, 4)))
    assert np.multiply(X, 2, out=out) is out
    same(out, X * 2)


def test_as_pythons_values(put):
    x = put(np.array([[1, 2], [3, 4]]))
    assert (len(x), x.tolist(), x.item(2), x[1, 1].item(), int(x[0, 1])) == (2, [[1, 2], [3, 4]], 3, 4, 2)
    assert ["abc"[x[0, 0]], f"{x[1, 0]:03d}", bool(x[0, 0] > 0)] == ["b", "003", True]
    assert [int(row.sum()) for row in x] == [3, 7]
    assert (x.ndim, x.size, x.nbytes, x.itemsize, x.T.shape, x.dtype) == (2, 4, 32, 8, (2, 2), np.int64)
    assert x.tobytes() == np.asarray(x).tobytes()
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        x[2]
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0]
    with pytest.raises(TypeError, match="unsized"):
        len(x[0, 0])


def test_asarray(put):
    x = put(X)
    assert np.asarray(x, np.float32).dtype == np.float32
    first = np.asarray(x)
    first[0] = 100
    same(x, X)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(x, copy=False)


def test_repr_and_text(put):
    x = put(np.float32([1, 2]))
    assert repr(x) == f"DeviceArray([1., 2.], dtype=float32, device={x.device.name!r})"
    assert str(x) == "[1. 2.]"


def test_copies(put):
    x = put(X)
    copies = [x.copy(), copy.copy(x), copy.deepcopy({"x": x})["x"], pickle.loads(pickle.dumps(x)), np.copy(x)]
    x[...] = 0
    for one in copies:
        same(one, X)
        assert one.device == x.device


def test_pickled_view_has_its_own_contents(put):
    same(pickle.loads(pickle.dumps(put(X)[1:, 0])), X[1:, 0])


def test_one_compilation_for_all_rows(put):
    from phlox.tracer.device import views

    x = put(X)
    list(x)
    before = sum(views._reader((views.ItemAtPositions(("position", (0, 4, 1))),)).cache_info().misses for _ in "1")
    assert [row.tolist() for row in x] == X.tolist()
    assert views._reader((views.ItemAtPositions(("position", (0, 4, 1))),)).cache_info().misses == before


def test_many_shapes_give_no_warning(put, recwarn):
    for size in range(1, 40):
        put(np.ones(size)) + 1
    assert not [one for one in recwarn if issubclass(one.category, RecompilationWarning)]


def test_empty_and_zero_dimensional(put):
    same(put(np.zeros((0, 3))) + 1, np.zeros((0, 3)))
    same(put(np.array(2.0)) * 3, np.float64(6.0))
    same(put(X)[1:1], X[1:1])


def test_memory_is_given_back(far):
    x = far(X) + 1
    memory = x.device.memory
    before = memory.bytes_in_use
    assert before == X.nbytes + 8  # the number stays for later calls
    for _ in range(3):
        x = x + 1
    x += 1
    assert memory.bytes_in_use == before


def test_generators_keep_arrays_on_the_device(far):
    def batches(x):
        for start in range(0, len(x), 2):
            yield x[start : start + 2] * 2

    parts = list(batches(far(X)))
    same(parts[0], X[:2] * 2)
    same(parts[1], X[2:] * 2)


def test_threads(put):
    x, found = put(X), {}

    def work(number):
        y = x
        for _ in range(5):
            y = y + number
        found[number] = np.asarray(y)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, array in found.items():
        np.testing.assert_array_equal(array, X + 5 * number)
    assert len(found) == 4


def test_stages(put):
    x = put(X)
    compiled = jit(lambda x: x + 1).compile(x)
    same(compiled(x), X + 1)


@pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.zeros(2, [("x", float)]), np.zeros(1, "M8[s]")])
def test_unknown_dtypes(put, array):
    with pytest.raises(TypeError, match="XLA"):
        put(array)


def test_what_an_array_is_does_not_change(put):
    x = put(X)
    cases = [("shape", (4, 3), "reshape"), ("dtype", np.int64, "view"), ("strides", (8,), "row-major"), ("T", X, "no setter")]
    for name, value, message in cases:
        with pytest.raises(AttributeError, match=message):
            setattr(x, name, value)
    with pytest.raises(AttributeError):
        x.label = "a"


def test_pickle_of_a_device_that_is_not_there(far):
    data = pickle.dumps(far(X)).replace(NAME.encode(), b"device_with_mem0ry")
    with pytest.raises((ValueError, BackendUnavailableError), match="device_with_mem0ry"):
        pickle.loads(data)


def test_what_an_ndarray_has(put):
    """Each of its public names is there, or raises an error that says what to do instead."""
    x = put(X)
    for name in [name for name in dir(np.ndarray) if not name.startswith("_")]:
        if not hasattr(x, name):
            with pytest.raises(AttributeError, match=f"no attribute {name!r}: .*x"):
                getattr(x, name)
    assert {name for name in dir(np.ndarray) if not name.startswith("_") and not hasattr(x, name)} == {
        "ctypes", "data", "getfield", "resize", "setfield"
    }  # fmt: skip
    with pytest.raises(AttributeError, match=r"np\.asarray\(x\)"):
        x.get()


def test_strides_and_flags(put):
    x = put(X)
    for array, like in ((x, X.copy()), (x[0], X[0]), (x.T, X.T.copy()[...]), (x.sum(), X.sum()), (put(X[:0]), X[:0].copy())):
        assert array.strides == like.strides and (array.itemsize, array.nbytes) == (like.itemsize, like.nbytes)
        assert array.flags == like.flags and repr(array.flags) == repr(like.flags)
    assert x.flags["C_CONTIGUOUS"] and x.flags.forc and x.flags.owndata and not x.T.flags.owndata
    x.flags.writeable = False
    for change in (lambda: x.__setitem__(0, 1), lambda: x.__iadd__(1), lambda: np.add(x, 1, out=x)):
        with pytest.raises(ValueError, match="read-only"):
            change()
    view = x[0]
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
        view.flags["W"] = True
    with pytest.raises(AttributeError):
        x.flags.owndata = False
    x.setflags(write=True)
    x += 1
    same(x, X + 1)


def test_files_and_devices(put, tmp_path):
    x = put(X)
    x.tofile(tmp_path / "contents")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "contents").reshape(X.shape), X)
    x.dump(tmp_path / "pickle")
    for kept in (pickle.loads(x.dumps()), pickle.loads((tmp_path / "pickle").read_bytes())):
        same(kept, X)
        assert kept.device.name == x.device.name
    assert x.to_device(x.device) is x
    same(x.to_device("cpu"), X)
