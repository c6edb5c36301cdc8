"""Elements of lists of which a call knows the length alone, for iterators that ask for one after the other."""

import itertools

import pytest
from phlox import jit


def delegated(xs):
    yield from xs


FUNCTIONS = {
    "cycle": lambda xs: list(itertools.islice(itertools.cycle(xs), 3)),
    "cycle beside": lambda xs: list(zip(xs, itertools.cycle(sorted(xs[:3])))),
    "chain": lambda xs: (next(itertools.chain(xs, xs[:2])), list(itertools.islice(itertools.chain(sorted(xs), [1.0]), 2))),
    "endless": lambda xs: list(itertools.islice(itertools.chain(sorted(xs), itertools.count()), 12)),
    "pairs": lambda xs: list(zip(itertools.chain(xs, xs), itertools.chain(xs, [0.0]))),
    "beside a map": lambda xs: (list(zip(map(abs, [1, 2]), xs)), dict(zip(map(str, range(len(xs))), xs))),
    "yield from": lambda xs: list(itertools.islice(delegated(xs), 2)),
    "and the rest": lambda xs: [next(generator := delegated(xs)), *generator],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_they_are_single_elements(name):
    function, jitted = FUNCTIONS[name], jit(FUNCTIONS[name])
    for count in (2, 3, 4):  # from the third length on the list is one array
        numbers = [4.0, 1.0, 2.5] * count
        assert jitted(list(numbers)) == function(numbers)


def test_what_stands_behind_two_stars_in_a_dict_is_chosen():
    def made(x, n):
        chosen = {"z": x, "y": 2.0} if x > 0 else {"y": 3.0}
        return {"a": x, **({"a": 2, "b": 1} if x > 0 else {}), "c": 1, **({"d": n} if n > 3 else {"a": 3}), **chosen}

    jitted = jit(made)
    for x, n in ((1.5, 2), (-1.5, 2), (1.5, 5), (-1.5, 5)):
        assert list(jitted(x, n).items()) == list(made(x, n).items())


def test_such_a_dict_in_a_call_is_refused():
    with pytest.raises(NotImplementedError, match="a dict behind two stars in a call is one of several"):
        jit(lambda x: dict(a=1, **({"b": x} if x > 0 else {})))(1.5)
