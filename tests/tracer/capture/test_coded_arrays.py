"""Arrays of texts and dates whose elements the program chooses: labels, names in an order, and what is done with them."""

from collections import Counter

import numpy as np
import pytest
from phlox import ConcretizationError, jit

NAMES = np.array(["anna", "bert", "carl", "dora", "emil"])
DAYS = np.arange("2024-01-29", "2024-02-03", dtype="M8[D]")


def chosen(x):
    nested = np.where(x > 0.5, "high", np.where(x < -0.5, "low", "mid"))
    return np.where(x > 0, "up", "down"), nested, np.where(x > 0, NAMES, ""), np.where(x > 0, b"a", b"bc") == b"a"


def selected(x):
    two = np.select([x > 1, x > 0], ["A", "B"], "C"), np.select([x > 1, x > 0], ["A", "B"], default="Q")
    return *two, np.choose((x > 0).astype(int), ["no", "yes"])


def in_order(x):
    order = np.argsort(x)
    for place, k in enumerate(order[::-1]):
        print(f"{place + 1}. {NAMES[k]:<6s} {x[k]:.1f}")
    return NAMES[order], NAMES[np.argmax(x)], order[0], "bert" in NAMES[order[:3]]


def under_a_mask(x):
    found = NAMES[x > 0]
    assert sorted(found.tolist()) == sorted(map(str, found))
    return (
        found,
        found.tolist(),
        NAMES[np.argsort(x)].reshape(1, 5).tolist(),
        DAYS[np.argsort(x)].tolist(),
        len(found),
        found.shape,
        found[::-1],
        list(found),
        [name.title() for name in found],
    )


def counted(x):
    labels = np.where(x > 0, "up", "down")
    counts = {}
    for label in labels:
        counts[str(label)] = counts.get(str(label), 0) + 1
    return counts, Counter(labels.tolist()), np.unique(labels), np.unique(labels, return_counts=True), (labels == "up").sum()


def grouped(x):
    labels, total = np.where(x > 0, "up", "down"), 0.0
    for label, v in zip(labels, x):
        if label == "up":
            total += v
        else:
            total -= 2 * v
    return total, {key: x[labels == key].sum() for key in ("up", "down")}, (labels != NAMES).sum()


def as_text(x):
    labels = np.where(x > 0, "up", "down")
    print(labels, repr(labels), labels.shape, labels.dtype, labels.ndim, labels.size)
    return [str(one) for one in labels], ",".join(labels), labels[0], f"{labels[0]:>6s}|", labels.astype("U1"), labels[0] + "!"


def moved(x):
    labels = np.where(x > 0, "up", "down")
    joined = np.concatenate([labels, ["mid"]]), np.stack([labels, labels]), labels.reshape(-1, 1), labels[::2]
    return *joined, np.sort(labels), np.argsort(labels, kind="stable"), np.isin(labels, ["up", "q"])


@pytest.mark.parametrize(
    "function",
    [lambda x: np.where(x > 1, x, "a"), lambda x: np.select([x > 1, x > 0], ["a", x], "z"), lambda x: np.select([x > 1], ["a"]),
     lambda x: np.choose(x, ["a", x, "c"]), lambda x: np.append(NAMES[np.argsort(-x)], x),
     lambda x: np.concatenate([NAMES[np.argsort(-x)], x]), lambda x: np.isin(NAMES[np.argsort(-x)], x),
     lambda x: np.array_equal(NAMES[np.argsort(-x)], x), lambda x: np.searchsorted(NAMES[np.argsort(x)], x)],
)  # fmt: skip
def test_numbers_among_texts_are_no_codes(function):
    with pytest.raises(NotImplementedError, match="of numbers together with texts or dates that depend on traced values"):
        jit(function)(np.arange(3))


def spelled(x):
    labels = np.where(x > 0, "up", "down")
    return np.char.upper(labels), np.char.add(labels, "!"), np.strings.str_len(labels), labels < "e"


def days(x):
    found = DAYS[x > 0]
    return found, DAYS[np.argmax(x)], found + np.timedelta64(1, "D"), np.unique(found.astype("M8[M]")), DAYS[np.argsort(x)]


def codes(x):
    places = (x > 0).astype(int) + (x > 1)
    return np.array(["lo", "mid", "hi"])[places], np.array(["hi" if v > 0 else "lo" for v in x])


def filled_in_a_loop(x):
    labels = np.empty(len(x), dtype="U6")
    labels[:] = "?"
    for i in range(len(x)):
        if x[i] > 1:
            labels[i] = "large"
        elif x[i] > 0:
            labels[i] = "small"
    return labels, (labels == "?").sum()


def put_under_a_mask(x):
    labels = np.full(len(x), "abc")
    labels[x > 0] = "too long"
    labels[0] = "q"
    view = labels[1:3]
    view[x[1:3] < 0] = "w"
    chosen_before = np.where(x > 0, "up", "down")
    chosen_before[np.abs(x) < 0.25] = "flat"
    return labels, view, chosen_before


def in_a_branch(x):
    labels, best = np.where(x > 0, "up", "down"), ""
    for k in range(30):
        if x[0] + k > 3:
            labels = np.where(x > 1, "up", "down")
    for label, v in zip(labels, x):
        if v > 1:
            best = label
    return labels, best, labels[x.argmin()], labels[-1]


def named_in_turn(x):
    found = x[x > 0]
    letters = [f"{letter}{value:.1f}" for letter, value in zip("abcde", found)]
    return [(str(name), value) for name, value in zip(NAMES, found)], letters, dict(zip(["p", "q", "r"], found))


FUNCTIONS = [
    chosen, selected, in_order, under_a_mask, counted, grouped, as_text, moved, spelled, days, codes, filled_in_a_loop,
    put_under_a_mask, in_a_branch, named_in_turn,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_texts_and_dates(function, capsys):
    jitted = jit(function)
    for x in ([1.0, -0.3, 0.2, 2.0, -1.0], [-1.0, 0.3, -0.2, 2.5, 1.1], [-1.0, -0.3, -0.2, -2.5, -1.1]):
        expected, printed = repr(function(np.array(x))), capsys.readouterr().out
        assert repr(jitted(np.array(x))) == expected
        assert capsys.readouterr().out == printed


def test_lists_of_them():
    def function(x):
        return np.array(["p", "q", "r", "s"])[x[x > 0]].tolist(), np.array([["a", "b"], ["c", "d"]])[x[:2] % 2].tolist()

    jitted = jit(function)
    for x in ([0, 1, 1, 3], [2, 2, 2, 2]):
        assert repr(jitted(np.array(x))) == repr(function(np.array(x)))


YEAR = np.arange("2024-01-01", "2024-12-31", dtype="M8[D]")


def day_of_many(x):
    best, rest = YEAR[np.argmax(x)], YEAR[x < 0.9]
    numbers = best.astype("M8[M]").astype(int) % 12 + 1, (best - YEAR[0]).astype(int), best > YEAR[100], np.isnat(best)
    texts = str(best), f"{best} {x.max():.2f}", YEAR.astype(str)[np.argmax(x)]
    return best, best - YEAR[np.argmin(x)], numbers, texts, rest[0], [YEAR[k] for k in np.argsort(x)[:3]], {"day": best}


def extremes(x):
    days, known = YEAR[x > 0.3], np.where(x > 0.5, YEAR, np.datetime64("NaT"))
    of_known = known.min(), known.argmin(), known.max(), known.argmax(), np.min(known[x > 0.6]), np.argmin(known[:3])
    return days.min(), np.max(days), days.argmax(), of_known, known[:360].reshape(10, 36).max(axis=1), days.max() - days.min()


def gaps_between(x):
    gaps = np.diff(YEAR[x > 0.7])
    one, other = (np.where(x > limit, YEAR, np.datetime64("NaT")) for limit in (0.3, 0.6))
    compared = one == other, one != other, one < other, one >= other, (one < other).any()
    return compared, gaps, gaps.max(), gaps.astype(int), gaps / np.timedelta64(1, "D"), np.unique(gaps)[0], gaps[1:] - gaps[:-1]


@pytest.mark.parametrize("function", [day_of_many, extremes, gaps_between])
def test_dates_of_many(function):
    """More than the program would choose among one by one."""
    jitted = jit(function)
    for seed in (0, 1):
        x = np.random.default_rng(seed).random(YEAR.size)
        assert repr(jitted(x)) == repr(function(x))
    if function is extremes:
        with pytest.raises(ValueError, match="zero-size array"):
            jitted(x * 0)


def test_what_is_not_implemented_says_so():
    with pytest.raises(NotImplementedError, match="an object of Python's of an element"):
        jit(lambda x: YEAR[np.argmax(x)].item())(YEAR.astype(int))
    with pytest.raises(NotImplementedError, match="min of an array of texts"):  # of which NumPy has none, either
        jit(lambda x: np.where(x > 0, "a", "b").min())(np.ones(3))
    with pytest.raises(NotImplementedError, match="max with keepdims of an array of texts or dates"):
        jit(lambda x: YEAR[x > 0].max(keepdims=True))(YEAR.astype(int))
    with pytest.raises(ConcretizationError, match="where dates and times are made of numbers"):
        jit(lambda x: DAYS[0] + x.astype("m8[D]"))(np.arange(3.0))
    with pytest.raises(NotImplementedError, match="np.partition of an array of texts"):
        jit(lambda x: np.partition(np.where(x > 0, "a", "b"), 1))(np.ones(3))


def test_numbers_that_follow_from_arguments_become_dates():
    def days_of(start, count, hours):
        times = start + np.arange(count) * np.timedelta64(hours, "h")
        return times, np.timedelta64(count, "D"), start + count, np.arange(start, start + count), (times - start).astype(int)

    jitted = jit(days_of)
    for given in ((np.datetime64("2024-02-27T00"), 3, 12), (np.datetime64("2023-02-27T00"), 2, 6)):
        assert repr(jitted(*given)) == repr(days_of(*given))


def test_the_text_of_a_scalar_of_numpy_is_of_the_type_str():
    def best(x):
        found = {str(name): value for name, value in zip(NAMES, x)}
        return max(found, key=found.get), str(NAMES[1]), str(NAMES[1]) if x[0] > 0 else "none"

    function, x = jit(best), np.array([1.0, 3, 2])
    assert list(map(type, function(x))) == [str, str, str]
    assert function(x) == ("bert", "bert", "bert") and function(-x) == ("anna", "bert", "none")
