"""Sequences: strings as arrays of integers."""

import numpy as np

from .registry import program


def letters(rng, count, alphabet=4):
    return rng.integers(0, alphabet, count) + ord("a")


@program(
    lambda rng: (rng.integers(32, 127, 60).astype(np.uint8), int(rng.integers(1, 26))),
    lambda found, text, shift: bytes(found).isalpha() == bytes(text).isalpha() and not np.array_equal(found, text),
)
def caesar_cipher(text, shift):
    """Letters move, everything else stays."""
    out = text.copy()
    for i, c in enumerate(text):
        if ord("a") <= c <= ord("z"):
            out[i] = (int(c) - ord("a") + shift) % 26 + ord("a")
        elif ord("A") <= c <= ord("Z"):
            out[i] = (int(c) - ord("A") + shift) % 26 + ord("A")
    return out


@program(lambda rng: (np.repeat(letters(rng, 12), 3),), lambda found, text: np.all(np.diff(found[0]) != 0))
def run_lengths(text):
    """Symbols and how often each follows itself; decoded again to be sure."""
    symbols, counts = [], []
    i = 0
    while i < len(text):
        j = i + 1
        while j < len(text) and text[j] == text[i]:
            j += 1
        symbols.append(text[i])
        counts.append(j - i)
        i = j
    symbols, counts = np.array(symbols), np.array(counts)
    assert np.array_equal(np.repeat(symbols, counts), text)
    return symbols, counts


def failure_function(pattern):
    table = [0] * len(pattern)
    k = 0
    for i in range(1, len(pattern)):
        while k > 0 and pattern[i] != pattern[k]:
            k = table[k - 1]
        if pattern[i] == pattern[k]:
            k += 1
        table[i] = k
    return table


@program(
    lambda rng: (letters(rng, 200, 2), letters(rng, 4, 2)),
    lambda found, text, pattern: found == [i for i in range(197) if np.array_equal(text[i : i + 4], pattern)],
)
def search_pattern(text, pattern):
    """Where the pattern begins, by Knuth, Morris and Pratt."""
    table = failure_function(pattern)
    found = []
    k = 0
    for i in range(len(text)):
        while k > 0 and text[i] != pattern[k]:
            k = table[k - 1]
        if text[i] == pattern[k]:
            k += 1
        if k == len(pattern):
            found.append(i - k + 1)
            k = table[k - 1]
    return found


@program(
    lambda rng: (letters(rng, 40, 2),),
    lambda z, text: all(np.array_equal(text[: z[i]], text[i : i + z[i]]) for i in range(1, 40)),
)
def z_array(text):
    n = len(text)
    z = np.zeros(n, int)
    left = right = 0
    for i in range(1, n):
        if i < right:
            z[i] = min(right - i, z[i - left])
        while i + z[i] < n and text[z[i]] == text[i + z[i]]:
            z[i] += 1
        if i + z[i] > right:
            left, right = i, i + z[i]
    return z


@program(
    lambda rng: (letters(rng, 50, 2),),
    lambda found, text: np.array_equal(found, found[::-1]) and bytes(found.astype("u1")) in bytes(text.astype("u1")),
)
def longest_palindrome(text):
    best_start, best_length = 0, 1
    for center in range(len(text)):
        for odd in (0, 1):
            left, right = center, center + 1 - odd
            while left >= 0 and right < len(text) and text[left] == text[right]:
                left -= 1
                right += 1
            if right - left - 1 > best_length:
                best_start, best_length = left + 1, right - left - 1
    return text[best_start : best_start + best_length]


@program(
    lambda rng: (letters(rng, 150, 3), letters(rng, 5, 3)),
    lambda found, text, p: found[0] == sum(np.array_equal(text[i : i + 5], p) for i in range(146)),
)
def rolling_hash_search(text, pattern, base=257, prime=1_000_000_007):
    m = len(pattern)
    high = pow(base, m - 1, prime)
    wanted = current = 0
    for i in range(m):
        wanted = (wanted * base + int(pattern[i])) % prime
        current = (current * base + int(text[i])) % prime
    hits = 0
    for i in range(len(text) - m + 1):
        if wanted == current and (text[i : i + m] == pattern).all():
            hits += 1
        if i < len(text) - m:
            current = ((current - int(text[i]) * high) * base + int(text[i + m])) % prime
    return hits, current


def bracketed(rng):
    """Brackets that match, but for one in every other case."""
    text = b"x"
    while len(text) < 24:
        inside = b"()x"[:2] if rng.random() < 0.3 else b"x"
        text = (b"(" + text + b")" if rng.random() < 0.5 else b"[" + text + b"]") + inside
    codes = np.frombuffer(text.ljust(30, b"x"), dtype=np.uint8).copy()
    if rng.random() < 0.5:
        codes[rng.integers(10, 20)] = ord("]")
    return codes


def reduced(text):
    """What is left when pairs are taken away."""
    while text != (shorter := text.replace(b"()", b"").replace(b"[]", b"")):
        text = shorter
    return text


@program(lambda rng: (bracketed(rng),), lambda found, text: found[0] == (not reduced(bytes(text).replace(b"x", b""))))
def balanced_brackets(text):
    """Whether brackets match, with the place where they cease to; a stack of codes."""
    opening = {ord(")"): ord("("), ord("]"): ord("[")}
    stack = []
    for position, code in enumerate(text.tolist()):
        if code in opening.values():
            stack.append(code)
        elif code in opening:
            if not stack or stack[-1] != opening[code]:
                return False, position
            stack.pop()
    return len(stack) == 0, len(text)


@program(
    lambda rng: (np.array(list(b"some words and Some more")) ^ (32 * (rng.random(24) < 0.3)),),
    lambda found, text: (found[0], found[1], found[2].sum()) == (5, 5, 20),
)
def count_words(text):
    """Words begin after spaces; capitals count as small letters."""
    lower = np.where((text >= 65) & (text <= 90), text + 32, text)
    is_letter = (lower >= 97) & (lower <= 122)
    starts = is_letter & ~np.concatenate([[False], is_letter[:-1]])
    words = int(starts.sum())
    longest = current = 0
    histogram = np.zeros(26, dtype=int)
    for code, letter in zip(lower, is_letter):
        current = current + 1 if letter else 0
        longest = max(longest, current)
        if letter:
            histogram[code - 97] += 1
    return words, longest, histogram
