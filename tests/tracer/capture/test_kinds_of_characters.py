"""What characters are, and their other case, in texts that the program makes."""

import numpy as np
import pytest
from phlox import TracerError, jit

from ...support.native_calls import calls_noted

TEXTS = [
    "", "A", "abc", "ABC", "Abc d", "123", " \t\n", "a1", "1A", "a_b", "\x00", "\x7f", "\x1c", "-", "x-Y z", "ABC1", "x1y2",
    "he said it's FUN 3rd", "".join(map(chr, range(128))), *map(chr, range(128)), "é", "aé", "²", "x²y", "\xa0",
    "Ünder µ", "ёлка И",
]  # fmt: skip
OTHER_TEXTS = [
    "ß", "ǅ", "Ǆa", "İx", "ŉx", "１٣", "Σς", "ΑΣ", "ΑΣΑ", "ªX", "aͅX", "\U0001f600", "\ud800", "漢字",
    *map(chr, range(128, 0x600)),
]  # fmt: skip


def codes_of(text):
    return np.array(list(map(ord, text)) + [0] * (140 - len(text))), len(text)


def kinds_of_texts(codes, n):
    text = ""
    for i in range(n):
        text += chr(codes[i])
    return (
        text.isalpha(), text.isalnum(), text.isspace(), text.isdigit(), text.isdecimal(), text.isnumeric(), text.isascii(),
        text.isprintable(), text.isupper(), text.islower(),
    )  # fmt: skip


def kinds_of_characters(codes, n):
    text = ""
    for i in range(n):
        text += chr(codes[i])
    kinds = []
    for c in text:
        kinds.append((c.isalpha(), c.isalnum(), c.isspace(), c.isdigit(), c.isupper(), c.islower(), c.isprintable()))
    return kinds


def other_cases(codes, n):
    text = ""
    for i in range(n):
        text += chr(codes[i])
    lower, upper = text.lower(), text.upper()
    title = text.title()
    whole = text
    if n:
        whole = lower + upper + text.casefold() + text.swapcase() + text.capitalize() + title
    return lower == text, upper == text, title == text, len(lower), len(upper), whole


def turned_around(codes, n):
    text = ""
    for i in range(n):
        text += chr(codes[i])
    other, vowels = "", 0
    for c in text:
        if c.lower() in "aeiou":
            vowels += 1
        other += c.lower() if c.isupper() else c.upper()
    return other, vowels, "s F" in text.upper(), text.lower() in "abcdef"


FUNCTIONS = [kinds_of_texts, kinds_of_characters, other_cases, turned_around]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_of_most_letters_no_python_is_asked(function):
    decorated, found = jit(function), []
    decorated(*codes_of("a"))
    arguments = list(map(codes_of, TEXTS))
    with calls_noted() as called:
        for codes, n in arguments:
            found.append(decorated(codes, n))
        called = called[:]
    assert found == [function(*one) for one in arguments]
    assert called == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_of_other_characters_python_is_asked(function):
    decorated = jit(function)
    for text in OTHER_TEXTS:
        assert decorated(*codes_of(text)) == function(*codes_of(text))
    with calls_noted() as called:
        decorated(*codes_of("ßǅ漢"))
        called = called[:]
    assert called != [] and "call_in_python" not in called


def test_arguments_that_are_wrong_raise_what_python_raises():
    def f(codes, n):
        text = ""
        for i in range(n):
            text += chr(codes[i])
        return text.lower("x")

    with pytest.raises(TypeError, match="takes no arguments"):
        jit(f)(*codes_of("abc"))


_COMPLEMENT = str.maketrans("ACGT", "TGCA")


def translated(text, number):
    table = {65: "\u20ac", ord("x"): 0x1F600}
    found = text.translate(_COMPLEMENT)[::-1], f"{number}A".translate(table), text.translate({})
    table[65] = "b"
    return found


def test_characters_in_the_place_of_others():
    compiled = jit(translated)
    for text in ("ACGT", "GATTACA", "CCx", "", "\ud800AxT", "TT"):
        for number in (7, 12):
            assert compiled(text, number) == translated(text, number)
    assert compiled.cache_info().misses == 3
    with pytest.raises(TracerError, match="takes a dict of characters"):
        jit(lambda x: f"{x}".translate({49: None}))(np.arange(3))
