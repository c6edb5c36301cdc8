"""Texts that loops make: they lie among the program's characters, and what is asked of them is native code."""

import numpy as np
import phlox
import pytest
from phlox import jit

VALUES = np.random.default_rng(5).standard_normal(300)


def same(function, *arguments):
    decorated = jit(function)
    for _ in range(2):
        assert decorated(*arguments) == function(*arguments)
    return decorated


@pytest.mark.parametrize("rounds", [1, 5, 60, 300, 20_000])
def test_rounds_make_no_program_longer(rounds):
    def made(x):
        text = ""
        for v in x:
            if v > 0:
                text = text + "a"
            if v > 1:
                text = "<" + text if len(text) < 10 else text
        return text

    decorated = same(made, np.random.default_rng(rounds).standard_normal(rounds))
    if rounds > 5:
        assert "a loop of the program" in str(decorated.explain())


def test_outgrown_memory_is_made_larger():
    def made(n):
        text = ""
        for i in range(n):
            text += str(i) + ","
        return text

    decorated = jit(made)
    for n in (3, 100, 9000):
        assert decorated(n) == made(n)


def test_rounds_give_back_what_they_alone_use():
    def made(n):
        last = ""
        for i in range(n):
            text = str(i)
            if text == text[::-1] and text.endswith("77"):
                last = text
        return last

    decorated = same(made, 30_000)
    assert decorated.cache_info().misses == 1


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.1),
        np.float32(0.1),
        1e22,
        -0.0,
        float("nan"),
        3,
        -(2**62),
        True,
        np.int8(-5),
        np.uint8(200),
        np.bool_(False),
        1j,
    ],
    ids=repr,
)
def test_numbers(value):
    def made(v, n):
        text = ""
        for i in range(n):
            if i % 2:
                text += f"{v}|{v!r}|{v!s}|"
            text = text + str(v) + "\n"
        return text

    same(made, value, 9)


@pytest.mark.parametrize("value", [0.125, 2.5e-7, -1234567.891, 5])
def test_formats(value):
    def made(v, n):
        text = ""
        for i in range(n):
            text += f"{v:.2f} {v:10.3e} {v:+09.1f} {i:03d} {i:>5} {i:x}\n"
        return text, len(text), text[4], "5" in text

    same(made, value, 9)


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: len(t), lambda t: t[0], lambda t: t[-1], lambda t: t[2:], lambda t: t[:-2], lambda t: t[::-1],
        lambda t: t[7:2:-2], lambda t: t[-400:400], lambda t: t == "ab", lambda t: t != t[1:], lambda t: t == t[:],
        lambda t: "bba" in t, lambda t: "" in t, lambda t: "c" in t, lambda t: t.count("ab"), lambda t: t.count("aa"),
        lambda t: t.find("bb"), lambda t: t.find("c"), lambda t: t.index("a"), lambda t: t.startswith("ab"),
        lambda t: t.endswith(t[5:]), lambda t: t.upper(), lambda t: t.replace("ab", "-"), lambda t: t < "b", lambda t: t * 2,
        lambda t: t + t, lambda t: f"<{t}>", lambda t: "x" if t else "y", lambda t: [c for c in t if c == "a"],
        lambda t: sum(c == "b" for c in t), lambda t: t.isalpha(), lambda t: (t.split("b")[0], t.partition("b")),
        lambda t: ord(t[3]), lambda t: t.strip("a"), lambda t: str(t), lambda t: [i for i, c in enumerate(t) if c in "b"],
    ],
)  # fmt: skip
def test_what_is_asked(ask):
    def made(x):
        text = ""
        for v in x:
            text += "a" if v > 0 else "b"
        return ask(text)

    same(made, VALUES)


def test_names_share_what_was_there():
    def made(x):
        text, kept, forks = "", "", ""
        for i, v in enumerate(x):
            text += "a" if v > 0 else "b"
            if i == 100:
                kept = text
                forks = kept
            if i > 200:
                forks += "c"
        return text, kept, forks, kept + "d", kept + "e", kept

    same(made, VALUES)


def test_branches_that_follow_each_other():
    def made(x):
        text = ""
        if x[0] > 0:
            text += "a"
        if x[1] > 0:
            text = f"{text}{x[1]:.1f}"
        if x[2] > 0:
            text += "c"
        if x[3] > 0:
            text = "d" + text
        if x[4] > 0:
            text += str(int(x[4] * 10))
        return text

    decorated = jit(made)
    for k in range(30):
        assert decorated(VALUES[k : k + 5]) == made(VALUES[k : k + 5])


def test_integers_are_read():
    def made(n):
        total, text = 0, ""
        for i in range(n):
            text = str(i * i)
            total += int(text) + int(text[-1])
        return total

    same(made, 50)

    def wrong(x):
        text = ""
        for v in x:
            text += "1" if v > 0 else "-"
        return int(text)

    for function in (wrong, jit(wrong)):
        with pytest.raises(ValueError, match="invalid literal for int"):
            function(VALUES)


def test_errors():
    def character(x):
        text = ""
        for v in x:
            text += "a" if v > 0 else "b"
        return ord(text)

    with pytest.raises(TypeError, match="expected a character, but string of length 300 found"):
        jit(character)(VALUES)

    def code(x):
        text = ""
        for v in x:
            text += chr(int(v * 1e7))
        return text

    with pytest.raises(ValueError, match=r"chr\(\) arg not in range"):
        jit(code)(VALUES)


def test_loops_left_early():
    def made(x):
        text = ""
        for v in x:
            text += "ab"
            if v > 1.5:
                return text + "!"
        return "none"

    decorated = jit(made)
    for x in (VALUES, -abs(VALUES)):
        assert decorated(x) == made(x)


def test_elements_of_lists():
    def made(x):
        lines = ["begin"]
        for v in x:
            if v > 1:
                lines.append(f"{v:.1f}")
            elif v > 0.5:
                lines.append("half")
            elif v < -1.5:
                lines.append(f"<{lines[-1]}>")
            if len(lines) > 3 and v < -2:
                lines.pop()
        lines.append("end")
        return lines, len(lines), lines[2]

    same(made, VALUES)


def test_texts_as_keys():
    def made(x):
        counts, word = {}, ""
        for v in x:
            word = word + "a" if v > 0 else ""
            counts[word] = counts.get(word, 0) + 1
        return counts

    same(made, VALUES)


@pytest.mark.parametrize(
    "use",
    [
        lambda lines: lines[0] in lines, lambda lines: lines.index(lines[3]), lambda lines: set(lines),
        lambda lines: {lines[0]: 1}, lambda lines: lines == lines[::-1],
    ],
)  # fmt: skip
def test_lists_of_texts_are_looked_through(use):
    same(lambda x: use(lines_of(x)), VALUES)


def test_arrays_of_texts_are_refused():
    with pytest.raises((NotImplementedError, phlox.TracerError), match="text"):
        jit(lambda x: np.array(lines_of(x)))(VALUES)


def lines_of(x):
    lines, line = [], ""
    for v in x:
        line += "#" if v > 0 else "."
        if len(line) == 5:
            lines.append(line)
            line = ""
    return lines


@pytest.mark.parametrize(
    "use",
    [
        sorted, max, lambda lines: sorted(lines, key=len), lambda lines: [one + "!" for one in lines],
        lambda lines: lines[::-1], lambda lines: [len(one) for one in lines], lambda lines: "|".join(lines),
        lambda lines: [*lines[1:3], "x"],
        lambda lines: lines[0] == lines[1], lambda lines: f"{lines[0]:>10}|{lines[1]!r}",
    ],
)  # fmt: skip
def test_lists_of_texts_are_used(use):
    same(lambda x: use(lines_of(x)), VALUES[:60])
