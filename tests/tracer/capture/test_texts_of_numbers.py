"""``x.astype(str)`` of numbers that the program computes."""

import numpy as np
import pytest
from phlox import jit

NUMBERS = np.array([3, 10, -3, 10])


def of_types(x):
    table = (x / 4).reshape(2, 2)
    kinds = (
        table.astype(str),
        table.astype("f4").astype("<U32"),
        (x > 3).astype(np.str_),
        (x * 1j).astype(str),
        np.astype(x, str),
    )
    return *kinds, table.astype("U2"), x.sum().astype(str), (x / 0.0).astype(str), x[:0].astype(str)


def as_texts(x):
    texts = x.astype(str)
    found = texts == "10", np.unique(texts), texts.tolist(), ",".join(texts), [len(one) for one in texts], np.sort(texts)
    return *found, np.where(x > 3, texts, "-"), [one + "!" for one in texts], np.concatenate([texts, ["a"]])


def of_sizes_known_later(x):
    some, more = x[x > 3].astype(str), np.arange(x.sum()).astype(str)
    return some, more, len(some), "-".join(some), some == "10"


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("function", [of_types, as_texts, of_sizes_known_later])
def test_the_same_as_without_jit(function):
    decorated = jit(function)
    for numbers in (NUMBERS, NUMBERS + 1):
        assert repr(decorated(numbers)) == repr(function(numbers))


def test_what_is_not_done_is_named():
    with pytest.raises(NotImplementedError, match="np.add of texts .* of numbers"):
        jit(lambda x: np.char.add(x.astype(str), "a"))(NUMBERS)
