"""Texts that the program makes as keys of dicts and elements of sets, and as elements of lists that are searched."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from phlox import jit
from thinning import one_in


def text(x):
    made = ""
    for v in x:
        made += chr(97 + int(abs(v) * 10) % 26)
    return made


def in_words_of(x):
    made = ""
    for v in x:
        made += chr(97 + int(abs(v) * 10) % 26) if abs(v) < 1.2 else " "
    return made


def tuple_keys(x):
    t = text(x)
    d = {}
    for i in range(len(t) - 1):
        k = (t[i], t[i + 1])
        d[k] = d.get(k, 0) + 1
    return d


def pair_keys(x):
    t = text(x)
    d = {}
    for i in range(len(t) - 1):
        k = t[i : i + 2]
        d[k] = d.get(k, 0) + 1
    return d, max(d, key=d.get)


def mixed_keys(x):
    t = text(x)
    d = {}
    for i, c in enumerate(t):
        d[(c, i % 3)] = i
    return d


def start_known(x):
    t = text(x)
    d = {"a": 10, "b": 20}
    for c in t:
        d[c] = d.get(c, 0) + 1
    return d, d["a"], "zzz" in d, d.get("e")


def default_dict(x):
    d = defaultdict(int)
    for c in text(x):
        d[c] += 1
    return dict(d), d["a"]


def default_lists(x):
    d = defaultdict(list)
    for i, c in enumerate(text(x)):
        d[c].append(i)
    return d


def key_error(x):
    d = {}
    for c in text(x)[:20]:
        d[c] = 1
    return d["?"]


def key_error2(x):
    d = {"a": 1, "e": 2}
    n = 0
    for c in text(x):
        n += d[c]
    return n


def set_ops(x):
    t = text(x)
    a, b = set(t[:50]), set(t[100:130])
    return len(a), len(a & b), sorted(a - b), sorted(a | b), "a" in a, a <= b, a == b, sorted(a ^ b)


def unique_count(x):
    return len(set(text(x))), len(set(text(x)[:3]))


def numbers_as_texts(x):
    d = {}
    for v in x:
        k = str(int(abs(v) * 10))
        d[k] = d.get(k, 0) + v
    return d


def fstring_keys(x):
    d = {}
    for i, v in enumerate(x):
        k = f"{i % 7}-{int(v > 0)}"
        d[k] = d.get(k, 0) + 1
    return d


def choice_and_text_keys(x):
    d = {}
    for v in x:
        if v > 1:
            k = "big"
        elif v > 0:
            k = "small"
        else:
            k = "n" + str(int(-v * 3))
        d[k] = d.get(k, 0) + 1
    return d


def word_list_in_known(x):
    n = 0
    for c in text(x):
        if c in ["a", "e", "i"]:
            n += 1
        if c in ("o", "u"):
            n += 10
        if c in {"b", "c"}:
            n += 100
        if c not in {"d": 1}:
            n += 1000
    return n


def invert(x):
    d = {}
    for i, c in enumerate(text(x)):
        d[c] = i
    inv = {v: k for k, v in d.items()}
    return inv, {k: v for k, v in d.items() if v > 250}


def first_unique(x):
    t = text(x)
    counts = {}
    for c in t:
        counts[c] = counts.get(c, 0) + 1
    for i, c in enumerate(t):
        if counts[c] == 1:
            return i, c
    return -1, ""


def items_sorted(x):
    d = {}
    for c in text(x):
        d[c] = d.get(c, 0) + 1
    return sorted(d.items(), key=lambda p: (-p[1], p[0]))[:5], sorted(d), sorted(d, key=d.get)


def empty_keys(x):
    d = {}
    t = text(x)
    for i in range(300):
        d[t[i : i + (i % 3)]] = i
    return len(d), d[""], d


def growing_key(x):
    k = ""
    d = {}
    for v in x[:60]:
        k += "a" if v > 0 else "b"
        d[k] = len(k)
        if len(k) > 4:
            k = k[2:]
    return d, k


def keys_in_object(x):
    class Box:
        pass

    b = Box()
    b.d = {}
    for c in text(x):
        b.d[c] = b.d.get(c, 0) + 1
    return b.d


def memo(x):
    t = text(x)
    seen = {}
    best = 0
    start = 0
    for i, c in enumerate(t):
        if c in seen and seen[c] >= start:
            start = seen[c] + 1
        seen[c] = i
        best = max(best, i - start + 1)
    return best


def texts_of_choice(x):
    d = {}
    for v in x:
        d["up" if v > 0 else "down"] = v
    e = {}
    for c in text(x):
        e[c] = 1
    return d, e


def counts(x):
    t = text(x)
    counts = {}
    for c in t:
        counts[c] = counts.get(c, 0) + 1
    return counts


def counter(x):
    t = text(x)
    return Counter(t)


def mapping(x):
    t = text(x)
    m = {"a": "x", "b": "y"}
    out = ""
    for c in t:
        out += m.get(c, c)
    return out


def last_seen(x):
    t = text(x)
    seen = set()
    for c in t:
        if c in seen:
            return c
        seen.add(c)
    return ""


def by_position(x):
    t = text(x)
    d = {}
    for i, c in enumerate(t):
        d[c] = i
    return d


def groups(x):
    t = text(x)
    g = {}
    for i, c in enumerate(t):
        g.setdefault(c, []).append(i)
    return g


def most_common(x):
    return Counter(text(x)).most_common(3)


def iw_eq(x):
    words = []
    for v in x:
        words.append("a" if v > 0 else chr(97 + int(abs(v) * 10) % 26))
    return words[3] == words[4], words[3] != "a"


def in_words(x):
    t = in_words_of(x)
    words = []
    w = ""
    for c in t:
        if c == " ":
            words.append(w)
            w = ""
        else:
            w += c
    return "abc" in words, w in words, words.count("a")


def many_words(n):
    found = {}
    for i in range(n):
        word = "w" + str(i * 7919 % 1000)
        found[word] = found.get(word, 0) + i
    return found


PROGRAMS = [
    tuple_keys,
    pair_keys,
    mixed_keys,
    start_known,
    default_dict,
    default_lists,
    key_error,
    key_error2,
    set_ops,
    unique_count,
    numbers_as_texts,
    fstring_keys,
    choice_and_text_keys,
    word_list_in_known,
    invert,
    first_unique,
    items_sorted,
    empty_keys,
    growing_key,
    keys_in_object,
    memo,
    texts_of_choice,
    counts,
    counter,
    mapping,
    last_seen,
    by_position,
    groups,
    most_common,
    iw_eq,
    in_words,
]


def attempt(function, *args):
    try:
        return function(*args)
    except (KeyError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("function", one_in(3, PROGRAMS), ids=lambda function: function.__name__)
def test_programs_do_the_same_with_and_without_jit(function):
    compiled = jit(function)
    for seed in (0, 0, 1, 2):
        x = np.random.default_rng(seed).standard_normal(300)
        found, wanted = attempt(compiled, x), attempt(function, x)
        assert repr(found) == repr(wanted)


def test_table_of_keys_and_characters_grow():
    compiled = jit(many_words)
    for n in (10, 300, 3000, 300):
        assert list(compiled(n).items()) == list(many_words(n).items())


def test_keys_that_the_loop_goes_on_to_write_on():
    """The room of a round is used again; that of a key is not."""

    def prefixes(x):
        found, now = {}, ""
        for v in x:
            now = now + ("a" if v > 0 else "b")
            found[now] = len(now)
            if v > 1:
                now = ""
        return found, now

    compiled, rng = jit(prefixes), np.random.default_rng(6)
    for _ in range(3):
        x = rng.standard_normal(400)
        assert compiled(x) == prefixes(x)


def test_numbers_in_texts_that_are_keys():
    def nested(x):
        name, found = "a", {}
        for v in x:
            name = f"({name}:{v:.2f})"
            found[name] = len(name)
        return found

    compiled = jit(nested)
    for x in (np.array([3.0, 1.5, -2.25]), np.array([100.125, 1.5, 7.0])):
        assert compiled(x) == nested(x)


def test_wide_characters_are_keys():
    signs = "é日😀a"

    def counted(x):
        made, found = "", {}
        for v in x:
            made += signs[int(abs(v) * 2) % 4]
        for sign in made:
            found[sign] = found.get(sign, 0) + 1
        return found

    compiled, rng = jit(counted), np.random.default_rng(7)
    for _ in range(3):
        x = rng.standard_normal(300)
        assert compiled(x) == counted(x)


def counted_rows(rows):
    found = {}
    for row in rows:
        key = row.tobytes()
        found[key] = found.get(key, 0) + 1
    return found


def repeated_row(rows):
    seen = set()
    for k in range(len(rows)):
        key = rows[k].tobytes()
        if key in seen:
            return k, key
        seen.add(key)
    return None


def known_and_computed_bytes(rows):
    known = {bytes(8): 1, b"x": 2}
    found = [known.get(row.tobytes(), 0) for row in rows]
    for row in rows:
        known[row.tobytes()] = known.get(row.tobytes(), 0) + 1
    return found, known


def same_bytes_of_other_types(rows):
    seen = set()
    for row in rows:
        for value in (row > 1, row.astype(complex), row.astype(complex).view(float), row, row.view(np.uint8)):
            seen.add(value.tobytes())
    return seen, len(seen)


def bytes_as_texts(rows):
    found = {}
    for row in rows:
        key = str(row.tobytes())
        found[key] = found.get(key, 0) + 1
    return found, rows[0].tobytes() in found


def bytes_in_order(rows):
    return sorted([row.tobytes() for row in rows]), sorted(counted_rows(rows)), max(counted_rows(rows))


@pytest.mark.parametrize(
    "function",
    [counted_rows, repeated_row, known_and_computed_bytes, same_bytes_of_other_types, bytes_as_texts, bytes_in_order],
)
def test_bytes_are_keys(function):
    compiled = jit(function)
    for seed in (0, 1):
        rows = np.random.default_rng(seed).integers(0, 3, (20, 2)).astype(np.int32)
        assert compiled(rows) == function(rows)


def test_bytes_and_texts_as_keys_of_one_dict_are_refused():
    def mixed(rows):
        found = {"a": 1}
        for row in rows:
            found[row.tobytes()] = 1
        return found

    with pytest.raises(TypeError, match="elements of one kind"):
        jit(mixed)(np.arange(8).reshape(4, 2))
