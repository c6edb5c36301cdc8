"""Texts among the arguments that differ from call to call: three are compiled for, not each."""

import json
import random

import numpy as np
import pytest
from phlox import jit
from phlox.tracer.calls import text_arguments

from ..support.native_calls import natively

_CHARACTERS = "ab \u00e4\u0416\U0001f600\ud800\0"


def side(kind, amount):
    if kind == "buy":
        return amount
    return -amount if kind == "sell" else kind + "?"


def counted(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


def gains(trades):
    held, total = {}, 0.0
    for symbol, count, price in trades:
        total += count * (price - held.get(symbol, price))
        held[symbol] = price
    return total, held, max(symbol for symbol, _, _ in trades)


def by_region(orders):
    totals = {"N": 0.0, "S": 0.0}
    for order in orders:
        if order["region"] in totals:
            totals[order["region"]] += order["amount"]
        else:
            order["region"] = "other"
    return totals, [order["region"] for order in orders]


def letters(text):
    vowels = sum(c in "aeiou" for c in text)
    return vowels, vowels / len(text), text[::-1], text.upper(), [c for c in text if c.isalpha()], text.split()


def priced(words, prices={"a": 1.5, "b": 2.0}):  # noqa: B006
    return sum(prices[word] for word in words)


def same_as(first, second, *, third):
    return first == second, first < third, second + "|" + third, len(first) + len(third)


def words(generator, characters=_CHARACTERS, count=5, longest=4):
    return ["".join(generator.choices(characters, k=generator.randrange(longest + 1))) for _ in range(count)]


def trades(generator):
    return [(word, generator.randrange(1, 9), generator.uniform(5, 9)) for word in words(generator, "xy")]


def orders(generator):
    return [{"region": generator.choice("NSEW"), "amount": generator.random()} for _ in range(4)]


_PROGRAMS = {
    side: lambda generator: (generator.choice(["buy", "sell", "hold", *words(generator)]), 3),
    counted: lambda generator: (words(generator),),
    gains: lambda generator: (trades(generator),),
    by_region: lambda generator: (orders(generator),),
    letters: lambda generator: ("x" + "".join(words(generator, "ab c. \n")),),
    priced: lambda generator: (generator.choices("ab", k=6),),
}


@pytest.mark.parametrize("function", _PROGRAMS, ids=lambda function: function.__name__)
def test_programs(function):
    generator, compiled = random.Random(3), jit(function)
    for number in range(30):
        given = _PROGRAMS[function](generator)
        copied = json.loads(json.dumps(given)) if function is by_region else given
        found, expected = compiled(*given), function(*copied)
        assert repr(found) == repr(expected)
        assert repr(given) == repr(tuple(copied))
        if number == 20:
            with natively():
                compiled(*given)
    assert compiled.cache_info().misses <= 4
    assert "texts are inputs from now on" in str(compiled.cache_info())


def test_programs_that_are_too_long_know_their_texts(monkeypatch):
    for name in ("_MOST_OF_KNOWN", "_MOST_BESIDE"):
        monkeypatch.setattr(text_arguments, name, 1)
    compiled = jit(counted)
    for number in range(6):
        given = [f"{number}", "a", "a"]
        assert compiled(given) == counted(given)
    info = compiled.cache_info()
    assert info.misses == 6
    assert "inputs from now on" not in str(info)


def test_named_arguments_and_longer_texts():
    compiled = jit(same_as)
    for number in range(40):
        first, second, third = f"{number}", "ab" * (number % 3), "c" * (5 * number)
        found = compiled(first, third=third, second=second)
        assert found == same_as(first, second, third=third)
    # Three are compiled for, one for each of the others that comes to differ later, and one for more characters.
    assert compiled.cache_info().misses <= 6
    # A profile takes as inputs what calls do.
    profile = compiled.profile("1", third="c", second="")
    assert profile.result == same_as("1", "", third="c")
    assert profile.rows


def test_errors():
    compiled = jit(priced)
    for word in "abba":
        compiled([word, "a"])
    for given in (["c", "a"], ["a", "\u00e4'"]):
        with pytest.raises(KeyError) as raised:
            compiled(given)
        assert raised.value.args == (given[0] if given[0] == "c" else given[1],)


def loaded(text, x):
    return json.loads(text)["a"] * x


def chosen(name, words, x):
    return getattr(np, name)(x), words.count("a")


def test_texts_that_python_needs_to_know():
    compiled = jit(loaded)
    for number in range(5):
        assert compiled(f'{{"a": {number}}}', 2.0) == 2 * number
    info = compiled.cache_info()
    assert info.misses == 5
    assert "inputs from now on" not in str(info)
    # Those beside them are inputs all the same, but where the others differ each time.
    compiled = jit(chosen)
    x = np.arange(4.0)
    for number in range(8):
        given = ["a" * (number % 3), "a"]
        for name in ("sum", "max", "min"):
            assert compiled(name, given, x) == chosen(name, given, x)
    assert compiled.cache_info().misses <= 10
    compiled = jit(chosen)
    for name in ("sum", "max", "min", "mean", "std"):
        assert compiled(name, [name, "a"], x) == chosen(name, [name, "a"], x)
    assert compiled.cache_info().misses == 5


def refused(text, x):
    if len(x) == 3:
        raise ValueError("three")
    return text == "a"


def test_errors_of_the_function_decide_nothing():
    compiled = jit(refused)
    for text in "abcd":
        with pytest.raises(ValueError, match="three"):
            compiled(text, np.ones(3))
        assert compiled(text, np.ones(4)) == (text == "a")
    assert compiled.cache_info().misses == 3


_WITHOUT_SOURCE = eval("lambda text: (isinstance(text, str), type(text).__name__, text + '!')")


def of_another(text):
    return _WITHOUT_SOURCE(text), text.__class__.__name__


@pytest.mark.parametrize("compiled", [jit(_WITHOUT_SOURCE), jit(of_another), jit(counted, control_flow="trace")])
def test_what_is_not_written_anew_gets_texts(compiled):
    for text in "abcd":
        assert compiled(text) == compiled.__wrapped__(text)
    assert compiled.cache_info().misses == 4


def methods(words):
    return (
        list(map(str.upper, words)), sorted(words, key=str.lower), "xaxb".replace(words[0], "-"), [2 * word for word in words],
        ["abc".find(word) for word in words], words[0].__class__, type(words[1]),
    )  # fmt: skip


def test_methods_as_functions_and_of_known_texts():
    compiled = jit(methods)
    for given in (["a", " b"], ["b", "c"], ["q", "-"], ["x", "A"], ["7", "\u00e9z"]):
        assert compiled(given) == methods(given)
    assert compiled.cache_info().misses == 3


class Name(str):
    pass


def test_what_stays_static():
    compiled = jit(lambda text, kind: (type(text).__name__, text + kind), static_argnames="kind")
    for text in (Name("a"), Name("b"), Name("c"), Name("d"), np.str_("e")):
        for kind in "xyz":
            assert compiled(text, kind) == (type(text).__name__, text + kind)
    assert compiled.cache_info().misses == 15


def test_other_backends_and_stages():
    compiled = jit(counted, backend="reference")
    for given in (["a"], ["b"], ["c"], ["d"]):
        assert compiled(given) == {given[0]: 1}
    assert compiled.cache_info().misses == 3
    stage = compiled.compile(["e"])
    assert stage(["f"]) == {"f": 1}
    with pytest.raises(TypeError, match="compiled for other arguments"):
        stage(["f" * 100])
    compiled.cache_clear()
    assert compiled(["g"]) == {"g": 1}
    assert "static 'g'" in str(compiled.cache_info())
