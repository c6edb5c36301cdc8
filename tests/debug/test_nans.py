"""`debug.nans`: the first operation that makes a NaN."""

import threading

import numpy as np
import pytest
from phlox import debug, jit


@jit
def shrunk(x, rounds):
    for _ in range(rounds):
        x = np.sqrt(x - 0.5)
    return x


def test_the_operation_its_line_its_element_and_its_run():
    x = np.array([9.0, 1.0, 2.0])
    expected = shrunk(x, 3)
    assert np.isnan(expected[1])
    with debug.nans():
        with pytest.raises(FloatingPointError) as caught:
            shrunk(x, 3)
    text = str(caught.value)
    assert "made by sqrt at " in text and "`x = np.sqrt(x - 0.5)`" in text
    made_of = np.sqrt(np.sqrt(0.5) - 0.5) - 0.5
    assert f"when it runs for the 3. time: element [1] of f64[3] is nan, made of {made_of}" in text
    assert [entry.name for entry in caught.traceback] == ["test_the_operation_its_line_its_element_and_its_run"]
    np.testing.assert_array_equal(shrunk(x, 3), expected)


def test_a_nan_that_is_not_in_the_result_is_none():
    @jit
    def roots(x):
        return np.where(x > 0, np.sqrt(x), 0.0)

    with debug.nans():
        np.testing.assert_array_equal(roots(np.array([-1.0, 4.0])), [0, 2])


def test_a_nan_that_was_given_is_none():
    with debug.nans():
        assert np.isnan(shrunk(np.array([np.nan, 9.0]), 1)).tolist() == [True, False]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex128])
def test_types(dtype):
    @jit
    def difference(x):
        return x - x

    with debug.nans(), pytest.raises(FloatingPointError, match="subtract"):
        difference(np.array([1, np.inf]).astype(dtype))


def test_arguments_are_not_changed_by_a_call_that_raises():
    @jit
    def f(x):
        x += 1
        x /= x - x[0]
        x *= 0

    x = np.zeros(3)
    with debug.nans(), pytest.raises(FloatingPointError, match="multiply"):
        f(x)
    np.testing.assert_array_equal(x, 0)


def test_methods_errors_and_functions_made_within():
    class Model:
        @jit
        def f(self, x):
            if x > 3:
                raise ValueError("large")
            return np.log(x)

    with debug.nans():
        model = Model()
        with pytest.raises(ValueError, match="large"):
            model.f(4.0)
        with pytest.raises(FloatingPointError, match="log"):
            model.f(-1.0)
        with pytest.raises(FloatingPointError, match="log"):
            jit(lambda x: np.log(x))(-1.0)


def test_native_calls_come_back():
    x = np.ones(3)
    with debug.nans():
        shrunk(x, 1)
    shrunk(x, 1)
    shrunk(x, 1)
    hits = shrunk.cache_info().hits
    for _ in range(100):
        shrunk(x, 1)
    assert shrunk.cache_info().hits - hits < 8


def test_threads():
    errors = []

    def call():
        try:
            shrunk(np.zeros(2), 2)
        except FloatingPointError as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    with debug.nans():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(errors) == 4
