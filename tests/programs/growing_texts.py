"""Texts that are made in loops, character by character or line by line, under conditions, of few rounds and of many."""

import io

import numpy as np

from .registry import program


def numbers(count):
    return lambda rng: (rng.standard_normal(count),)


@program(numbers(1000), lambda found, x: found[0] == "".join(np.where(x > 0, "a", "b")) and found[1] == np.sum(x > 0))
def letters(x):
    text = ""
    for v in x:
        text += "a" if v > 0 else "b"
    return text, text.count("a"), len(text)


@program(numbers(60))
def few_letters(x):
    text = ""
    for v in x:
        if v > 0:
            text = text + "a"
    return text


@program(lambda rng: (rng.integers(0, 3, 300),))
def run_lengths(x):
    out, previous, count = "", x[0], 0
    for v in x:
        if v == previous:
            count += 1
        else:
            out += f"{count}x{previous} "
            previous, count = v, 1
    return out + f"{count}x{previous}"


@program(lambda rng: (int(rng.integers(10**6, 10**7)),), lambda found, n: found == f"{n:b}")
def binary(n):
    text = ""
    while n > 0:
        text = str(n % 2) + text
        n //= 2
    return text or "0"


@program(lambda rng: (int(rng.integers(10**6, 10**7)), 16), lambda found, n, base: int(found, base) == n)
def in_base(n, base):
    digits = "0123456789abcdef"
    out = ""
    while n:
        out = digits[n % base] + out
        n //= base
    return out


@program(numbers(400))
def shifted(x):
    """A text that is read back character by character, and moved through the alphabet."""
    text = ""
    for v in x:
        text += chr(97 + int(abs(v) * 10) % 26)
    vowels, secret = 0, ""
    for c in text:
        if c in "aeiou":
            vowels += 1
        secret += chr((ord(c) - 97 + 3) % 26 + 97)
    return vowels, secret, text == secret, secret[::-1][:5]


@program(lambda rng: (int(rng.integers(250, 300)),))
def fizz_buzz(n):
    text = ""
    for i in range(1, n + 1):
        if i % 15 == 0:
            text += "FizzBuzz"
        elif i % 3 == 0:
            text += "Fizz"
        elif i % 5 == 0:
            text += "Buzz"
        else:
            text += str(i)
        text += "\n"
    return text


@program(lambda rng: (rng.random((30, 40)) < 0.4,), lambda found, grid: found.count("#") == grid.sum())
def picture(grid):
    lines = []
    for i in range(grid.shape[0]):
        line = ""
        for j in range(grid.shape[1]):
            line += "#" if grid[i, j] else "."
        lines.append(line)
    return "\n".join(lines)


@program(lambda rng: (rng.random((20, 30)) < 0.4,))
def framed_picture(grid):
    text = ""
    for row in grid:
        text += "|"
        for cell in row:
            if cell:
                text += "#"
            else:
                text += "."
        text += "|\n"
    return text


@program(lambda rng: (np.round(64 * rng.normal(size=1000)) / 64,))  # of few digits: they are shown whole
def long_report(x):
    out = ""
    for i, v in enumerate(x):
        if v > 1:
            out += f"{i}: {v:.2f}\n"
        elif v < -2:
            out += f"low ({v!r}) "
    return out


@program(lambda rng: (int(rng.integers(2, 50)), 2000))
def palindromes(first, last):
    count, longest = 0, ""
    for n in range(first, last):
        text = str(n)
        if text == text[::-1]:
            count += 1
            longest = text
    return count, longest


@program(lambda rng: (int(rng.integers(10**5, 10**6)), 8))
def digit_squares(n, rounds):
    for _ in range(rounds):
        n = sum(int(c) ** 2 for c in str(n))
    return n


@program(lambda rng: (int(rng.integers(1, 4000)),))
def roman(n):
    out = ""
    for value, sign in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"),
        (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        while n >= value:
            out += sign
            n -= value
    return out


@program(lambda rng: (int(rng.integers(8, 13)),))
def look_and_say(rounds):
    text = "1"
    for _ in range(rounds):
        out, i = "", 0
        while i < len(text):
            j = i
            while j < len(text) and text[j] == text[i]:
                j += 1
            out += str(j - i) + text[i]
            i = j
        text = out
    return text


@program(lambda rng: (int(rng.integers(5, 1000)),))
def collatz_path(n):
    text = str(n)
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        text += " -> " + str(n)
    return text


@program(numbers(300))
def stream_of_signs(x):
    out = io.StringIO()
    for v in x:
        if v > 0:
            out.write("+")
        elif v < -1:
            out.write(f"({v:.1f})")
    return out.getvalue()


@program(numbers(300))
def lines_of_several_kinds(x):
    lines = ["begin"]
    for v in x:
        if v > 1:
            lines.append(f"high {v:.2f}")
        elif v < -1:
            lines.append("low")
        elif v > 0.9:
            lines.append(f"{v:.1f}!")
    return lines


@program(numbers(300))
def wrapped(x):
    lines, line = [], ""
    for v in x:
        line += "#" if v > 0 else "."
        if len(line) == 20:
            lines.append(line)
            line = ""
    return lines, len(lines), "\n".join(lines)


@program(numbers(300))
def words(x):
    out = ""
    for v in x:
        word = "up" if v > 0 else "down"
        if out.endswith(word):
            continue
        if out:
            out += ","
        out += word
    return out, "up,down" in out, out.find("down"), out.startswith("up")


@program(numbers(300), lambda found, x: len(found) <= 300 and set(found) <= {"+"})
def longest_rise(x):
    best = now = ""
    for v in x:
        if v > 0:
            now += "+"
            if len(now) > len(best):
                best = now
        else:
            now = ""
    return best


class Document:
    def __init__(self):
        self.lines, self.now = [], ""

    def put(self, sign):
        self.now += sign
        if len(self.now) >= 10:
            self.lines.append(self.now)
            self.now = ""


@program(numbers(300))
def document(x):
    made = Document()
    for v in x:
        made.put("#" if v > 0 else ".")
    return made.lines, made.now


@program(numbers(300))
def texts_in_a_dict(x):
    said = {"up": "", "down": ""}
    for v in x:
        key = "up" if v > 0 else "down"
        said[key] = said[key] + ("!" if abs(v) > 1 else ".")
    return said


@program(numbers(300))
def exchanged(x):
    first, second = "", "z"
    for v in x:
        if v > 0:
            first, second = second + "1", first
        if len(first) > 30:
            first = first[5:]
    return first, second


@program(numbers(300))
def said_meanwhile(x):
    text = ""
    for i, v in enumerate(x):
        if v > 1:
            text += f"[{i}]"
        if i % 100 == 0:
            print(text, len(text))
    return text == "", text[-3:]


@program(lambda rng: (int(rng.integers(250, 300)),))
def characters_of_all_sizes(n):
    text = ""
    for i in range(n):
        text += "é" if i % 7 == 0 else "日本" if i % 5 == 0 else "😀"
    return text, len(text), text[3], text[::-1][:4], text[1:9:3]


@program(numbers(300))
def character_out_of_range(x):
    text = ""
    for v in x:
        if v > 1:
            text += "*"
    return text[len(text)]


@program(lambda rng: ([(int(a), int(b)) for a, b in rng.integers(0, 6, (40, 2))],))
def league_table(results):
    """Lines of a table, in the order of their texts."""
    lines = []
    for number, (home, away) in enumerate(results):
        if home != away:
            lines.append(f"{home}:{away} match {number}")
    return sorted(lines), max(lines), sorted(lines, key=len)[:2]


@program(lambda rng: (rng.integers(32, 127, 200),))
def kinds_of_characters(codes):
    """A text whose letters change their case, and whose words begin with large ones."""
    text = "".join(chr(c) for c in codes)
    letters = digits = 0
    turned = ""
    for c in text:
        if c.isalpha():
            letters += 1
            turned += c.lower() if c.isupper() else c.upper()
        elif c.isdigit():
            digits += int(c)
        else:
            turned += " "
    return letters, digits, turned, turned.title() == text, text.upper().count("A")
