"""``", ".join(texts)`` of texts that the program makes."""

import warnings
from collections import deque

import numpy as np
import pytest
from phlox import RecompilationWarning, jit

from ...support.native_calls import calls_noted


def characters(x):
    text = "".join(chr(97 + v % 26) for v in x)
    return len(text), text.count("a"), text


def some_characters(x):
    text = "".join([chr(97 + v % 26) for v in x if v % 3])
    return len(text), text == "bb", text + "!" * (len(text) % 4)


def known_characters(x):
    text = "".join("aé\U0001f600d"[v % 4] for v in x)
    return len(text), text


def words(x):
    text = " ".join("yes" if v % 2 else "" for v in x)
    return text.count("yes"), text


def numbers(x):
    text = ", ".join([str(v) for v in x])
    return len(text), text.find("11"), text


def numbered(x):
    text = "-".join([f"{i}:{v}" for i, v in enumerate(x)])
    return text.startswith("0:1"), text


def floats(x):
    text = "; ".join([f"{v / 3:.3f}" for v in x if v % 5])
    return text, [text, "end"]


def other_cases(x):
    text = "|".join([chr(97 + v % 26).upper() for v in x])
    return text == "B|C", text.lower()


def characters_or_dots(x):
    return "".join(chr(v) if 32 <= v < 100 else "." for v in x)


def one_of_several_formats(x):
    texts = []
    for v in x:
        if v > 3:
            texts.append(f"{v}^2" if v > 10 else f"{v}")
        if v % 2:
            texts.append(str(v))
    return texts, " * ".join(texts)


def of_several_kinds(x):
    parts = []
    for v in x:
        if v % 3:
            parts.append(chr(97 + v % 26) * 2 if v % 2 else f"<{v}>")
    return "|".join(parts), len("".join(parts))


def few(x):
    text = "--".join(["a", f"{len(x) + x.sum()}", chr(97 + x.sum() % 26)])
    return text, len(text)


def repeated(x):
    n = x.sum() % 7 - 1
    line = "-=" * n
    text = ("ab" + chr(97 + n)) * n + line
    return text, len(line), line == "-=-=", text.count("b-=")


def from_behind(x):
    found = []
    for v in x:
        if v % 3:
            found.append("abc"[v % 3])
    return "".join(reversed(found)), "-".join({v % 5: "q" for v in x.tolist()}.values())


FUNCTIONS = [
    characters, some_characters, known_characters, words, numbers, numbered, floats, other_cases, of_several_kinds, few,
    repeated, from_behind, characters_or_dots, one_of_several_formats,
]  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, 5, 40])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_texts_are_joined(function, count):
    decorated, rng = jit(function), np.random.default_rng(0)
    for _ in range(4):
        x = rng.integers(0, 120, count)
        assert decorated(x) == function(x)


@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one is not of_several_kinds])
def test_no_python_joins_them(function):
    decorated, arguments, found = jit(function), [np.arange(k, k + 40) for k in range(3)], []
    decorated(arguments[0])
    with calls_noted() as called:
        for x in arguments:
            found.append(decorated(x))
        called = called[:]
    assert found == [function(x) for x in arguments]
    assert called == []


def rows_of_a_board(x):
    board, todo = [["#"] * 4 for _ in range(3)], deque([(0, 0)])
    while todo:
        i, j = todo.popleft()
        if board[i][j] == "#":
            board[i][j] = "." if x[i, j] % 3 else str(int(x[i, j]))
            todo.extend((i + di, j + dj) for di, dj in ((1, 0), (0, 1)) if i + di < 3 and j + dj < 4 and x[i, j] > 30)
    return "\n".join("".join(row) for row in board), "-".join(board[int(x[0, 0]) % 3])


def test_rows_are_joined():
    decorated, rng = jit(rows_of_a_board), np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecompilationWarning)
        for _ in range(3):
            x = rng.integers(0, 120, (3, 4))
            assert decorated(x) == rows_of_a_board(x)


def test_what_is_no_text_raises_what_python_raises():
    def f(x):
        return ", ".join([v for v in x])

    x = np.arange(10)
    with pytest.raises(TypeError, match="expected str instance"):
        f(x)
    with pytest.raises(TypeError, match="expected str instance"):
        jit(f)(x)
