"""`phlox.random`: the words of ThreeFry, the numbers made of them, and their distributions."""

import mpmath
import numpy as np
import pytest
from phlox import jit
from phlox.random import Generator
from phlox.tracer.random import transforms
from phlox.tracer.random.transforms import DOUBLE, SINGLE

MOST = 2**64 - 1
WORDS = [0, 1, 2, 3, MOST, MOST - 1, 2**63, 2**63 - 1, 2**53, 2**32, 2**32 - 1, 0xB504F333F9DE6484, 0xB504F333F9DE6800]
WORDS = np.array([*WORDS, *np.random.default_rng(1).integers(0, MOST, 500, dtype=np.uint64)], np.uint64)


# ``kat_vectors`` of Random123, threefry2x32 of 20 rounds: counter, key, result.
@pytest.mark.parametrize("counter, key, expected", [
    ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
])  # fmt: skip
@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_known_answers(counter, key, expected, backend):
    counter, key, expected = (low | high << 32 for low, high in (counter, key, expected))
    assert Generator(state=(key, counter)).bits() == expected
    assert jit(lambda rng: rng.bits(3)[0], backend=backend)(Generator(state=(key, counter))) == expected


def test_words_are_taken_in_turn():
    rng, other = Generator(1), Generator(1)
    together = rng.random(100_000)
    parts = [other.random(count) for count in (1, 15, 16, 17, 1000, 1024, 0, 1025, 32768, 33000)]
    parts.append(other.random(100_000 - sum(map(len, parts))))
    np.testing.assert_array_equal(np.concatenate(parts), together)
    assert rng.state == other.state and rng.state[1] == 100_000


def test_fractions():
    expected = [(int(word) >> 11) / 2**53 for word in WORDS]
    np.testing.assert_array_equal(transforms.fractions(DOUBLE, WORDS), expected)
    halves = parts_of(SINGLE, WORDS).tolist()
    np.testing.assert_array_equal(transforms.fractions(SINGLE, WORDS), [(half >> 8) / 2**24 for half in halves])


def parts_of(kind, words):
    if kind is DOUBLE:
        return words
    return np.array([half for word in words.tolist() for half in (word % 2**32, word >> 32)])


def assert_near(found, expected, ulps):
    for one, exact in zip(found.ravel().tolist(), np.ravel(expected), strict=True):
        unit = mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(exact), 2)) + 1) * float(np.finfo(found.dtype).eps) / 2
        assert abs(one - exact) <= ulps * unit, (one, exact)


@pytest.mark.parametrize("kind", [DOUBLE, SINGLE])
def test_exponentials(kind):
    with mpmath.workdps(40):
        exact = [-mpmath.log((int(k) + mpmath.mpf(0.5)) / 2**kind.bits) for k in parts_of(kind, WORDS)]
        assert_near(transforms.exponentials(kind, WORDS), exact, 2)


@pytest.mark.parametrize("kind", [DOUBLE, SINGLE])
def test_normals(kind):
    words = WORDS[: len(WORDS) // 2 * 2]
    with mpmath.workdps(40):
        exact = []
        for first, second in parts_of(kind, words).reshape(-1, 2).tolist():
            radius = mpmath.sqrt(-2 * mpmath.log((first + mpmath.mpf(0.5)) / 2**kind.bits))
            signed = (second - (second >> (kind.bits - 1) << kind.bits)) >> (kind.bits - kind.precision)
            angle = mpmath.pi / 4 * (signed + mpmath.mpf(0.5)) / 2 ** (kind.precision - 1)
            pair = [radius * mpmath.cos(angle), radius * mpmath.sin(angle)]
            exact += [-x if second & 2 else x for x in (pair[::-1] if second & 1 else pair)]
        assert_near(transforms.normals(kind, words), exact, 4)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 255, 2**31 + 1, 2**32 - 1, 2**32])
def test_integers_below(size):
    expected = [int(word) * size >> 64 for word in WORDS]
    assert transforms.below(WORDS, np.uint64(size)).tolist() == expected


@pytest.mark.parametrize("size", [1, 3, 2**32 + 1, 2**40 + 12345, 2**63, 2**64 - 1, 2**64])
def test_integers_below_large(size):
    words = WORDS[: len(WORDS) // 2 * 2]
    pairs = words.reshape(-1, 2).tolist()
    expected = [(first << 64 | second) * size >> 128 for first, second in pairs]
    assert transforms.below_large(words, np.uint64(size % 2**64)).tolist() == expected


def drawn(name):
    rng = Generator(20260726)
    return {
        "random": lambda: (rng.random(200_000), "uniform"),
        "random_f32": lambda: (rng.random(200_000, dtype=np.float32), "uniform"),
        "normal": lambda: (rng.standard_normal(200_000), "norm"),
        "normal_f32": lambda: (rng.standard_normal(200_000, dtype=np.float32), "norm"),
        "exponential": lambda: (rng.standard_exponential(200_000), "expon"),
        "exponential_f32": lambda: (rng.standard_exponential(200_000, dtype=np.float32), "expon"),
        "one_each": lambda: (np.array([child.random() for child in rng.split(20_000)]), "uniform"),
        "folded": lambda: (np.array([rng.fold_in(k).standard_normal() for k in range(10_000)]), "norm"),
        "seeded": lambda: (np.array([Generator(k).random() for k in range(10_000)]), "uniform"),
    }[name]()


@pytest.mark.parametrize("name", [
    "random", "random_f32", "normal", "normal_f32", "exponential", "exponential_f32", "one_each", "folded", "seeded",
])  # fmt: skip
def test_distributions(name):
    stats = pytest.importorskip("scipy.stats")
    numbers, distribution = drawn(name)
    assert stats.kstest(numbers.astype(np.float64), distribution).pvalue > 1e-3
    # No number depends on the one before, nor on the one that is made of the same words.
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4.5 / np.sqrt(len(numbers))
    squares = (numbers - numbers.mean()) ** 2
    assert abs(np.corrcoef(squares[:-1], squares[1:])[0, 1]) < 4.5 / np.sqrt(len(numbers))


def chi_square(found, expected):
    stats = pytest.importorskip("scipy.stats")
    assert stats.chisquare(found, expected).pvalue > 1e-3


def test_distributions_of_integers_and_choices():
    rng, n = Generator(5), 120_000
    chi_square(np.bincount(rng.integers(7, size=n), minlength=7), np.full(7, n / 7))
    chi_square(np.bincount(rng.integers(0, 3 * 2**40, n) >> 40, minlength=3), np.full(3, n / 3))
    p = np.array([0.1, 0.2, 0.3, 0.4])
    chi_square(np.bincount(rng.choice(4, n, p=p), minlength=4), n * p)
    orders = np.array([rng.permutation(3) for _ in range(3000)]) @ [9, 3, 1]
    chi_square(np.unique(orders, return_counts=True)[1], np.full(6, 500))
    # One after the other: the second one among those that are left.
    pairs = np.array([rng.choice(3, 2, replace=False, p=[0.5, 0.3, 0.2]) for _ in range(3000)]) @ [3, 1]
    q = np.array([0.5, 0.3, 0.2])
    expected = {3 * i + j: q[i] * q[j] / (1 - q[i]) for i in range(3) for j in range(3) if i != j}
    chi_square([np.count_nonzero(pairs == pair) for pair in expected], [3000 * share for share in expected.values()])


def test_streams_of_split_generators_have_nothing_in_common():
    rng = Generator(9)
    generators = [rng, *rng.split(20), *rng.spawn(5), *[rng.fold_in(k) for k in range(20)], Generator(10)]
    words = [one.bits(1000) for one in generators]
    assert len(np.unique(np.concatenate(words))) == 1000 * len(generators)
    assert len({one.state[0] for one in generators}) == len(generators)
