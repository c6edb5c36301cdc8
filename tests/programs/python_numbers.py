"""Python's own numbers among arrays: integers of any size, division, rounding, complex numbers, bits."""

import cmath
import math

import numpy as np

from .registry import program


@program(lambda rng: (int(rng.integers(2, 25)),), lambda found, n: found[0] == math.factorial(n) and found[1] == n * 10**20)
def big_integers(n):
    """Numbers beyond 64 bits."""
    factorial = 1
    for k in range(2, n + 1):
        factorial *= k
    huge = n * 10**18 * 100
    digits = 0
    rest = factorial
    while rest > 0:
        digits += rest % 10
        rest //= 10
    return factorial, huge, digits, huge // 7 % 1000, -huge >> 3


@program(lambda rng: (int(rng.integers(1, 9)), int(rng.integers(-9, 0)), rng.normal(size=3)))
def powers_and_divisions(n, m, x):
    """Whose types and signs are Python's, beside an array."""
    quotient, remainder = divmod(m, n)
    assert quotient * n + remainder == m and 0 <= remainder < n
    return {
        "negative power": 2**-n,
        "power": m**n,
        "root": n**0.5,
        "true": m / n,
        "floor": m // n,
        "modulo": m % n,
        "floats": (m / 2) // 0.7,
        "float modulo": -5.5 % n,
        "divmod": (quotient, remainder),
        "array": x * (n // 2) + m / n,
        "integers": np.arange(4) // n - m,
        "zero": 0**n + n**0,
    }


@program(
    lambda rng: (int(rng.integers(20, 60)),),
    lambda found, n: found[0] == [p for p in range(2, n + 1) if all(p % q for q in range(2, p))],
)
def sieve(n):
    """A list as long as an argument says."""
    is_prime = [True] * (n + 1)
    is_prime[0] = is_prime[1] = False
    i = 2
    while i * i <= n:
        if is_prime[i]:
            for j in range(i * i, n + 1, i):
                is_prime[j] = False
        i += 1
    primes = [i for i, flag in enumerate(is_prime) if flag]
    gaps = [0] * n
    for a, b in zip(primes, primes[1:]):
        gaps[b - a] += 1
    return primes, gaps, len(primes)


@program(
    lambda rng: (rng.integers(0, 256, 10, dtype=np.uint8), int(rng.integers(200, 320)), rng.integers(-128, 128, 4, np.int8))
)
def small_integers(pixels, offset, signed):
    """Arrays of bytes wrap around; a Python integer that does not fit into one raises."""
    doubled = pixels + pixels
    try:
        shifted = pixels + offset
    except OverflowError as error:
        print(error)
        shifted = (pixels.astype(int) + offset).clip(0, 255).astype(np.uint8)
    total = pixels.sum()
    negated = -signed
    mean = pixels.mean()
    return doubled, shifted, total, negated, mean, pixels // 7 * signed[0], abs(signed)


@program(lambda rng: (rng.uniform(-5, 5), np.round(rng.uniform(-5, 5, 8) * 2) / 2, int(rng.integers(-4, 5))))
def roundings(x, halves, n):
    """round, int, floor and ceil, of Python's and NumPy's numbers."""
    return [
        round(x),
        round(x, 2),
        round(n / 2),
        round(n * 10 + 5, -1),
        int(x),
        math.floor(x),
        math.ceil(x),
        math.trunc(-x),
        np.round(halves),
        [round(h) for h in halves],
        halves.astype(int),
        np.floor(x),
        int(x * 100) / 100,
        x - x % 1,
        abs(n),
        float(n),
        float(n).is_integer(),
        bool(n),
    ]


@program(
    lambda rng: (complex(*rng.normal(size=2)), complex(*rng.normal(size=2)), complex(*rng.normal(size=2))),
    lambda found, a, b, c: all(abs(a * z * z + b * z + c) < 1e-9 for z in found[0]),
)
def complex_roots(a, b, c):
    """Python's complex numbers: a quadratic equation, and its roots as angles and lengths."""
    root = cmath.sqrt(b * b - 4 * a * c)
    if (b.conjugate() * root).real < 0:
        root = -root
    q = -(b + root) / 2
    first, second = q / a, c / q
    if abs(first) > abs(second):
        first, second = second, first
    angles = [math.atan2(z.imag, z.real) for z in (first, second)]
    return [first, second], angles, (first + second + b / a).real < 1e-9, 1j * first, complex(angles[0], 1) ** 2


@program(
    lambda rng: (int(rng.integers(1, 10**6)), int(rng.integers(1, 10**6)), 1_000_003),
    lambda found, a, b, p: found[0] == math.gcd(a, b) and found[2] * a % p == 1 and found[3] == pow(a, b, p),
)
def number_theory(a, b, p):
    """Euclid's algorithm, an inverse and a power modulo a prime, bits."""
    x, y, u, v = a, b, 1, 0
    while y:
        quotient = x // y
        x, y = y, x - quotient * y
        u, v = v, u - quotient * v
    inverse = pow(a, -1, p)
    power, base, exponent = 1, a % p, b
    while exponent > 0:
        if exponent & 1:
            power = power * base % p
        base = base * base % p
        exponent >>= 1
    bits = bin(b).count("1")
    return x, u, inverse, power, bits, b.bit_length(), a ^ b, ~a, 1 << bits * 4


@program(lambda rng: (rng.normal(size=7), rng.integers(-3, 4, 7), rng.random(7) < 0.5))
def mixed_sums(x, k, flags):
    """Sums that begin as the integer 0 and become what is added to them."""
    s = t = u = 0
    for value, integer, flag in zip(x, k, flags):
        s += value
        t += integer
        u += flag
    product = 1
    for integer in k.tolist():
        product *= integer or 1
    kinds = [type(value).__name__ for value in (s, t, u, product, x[0], k[0], flags[0], float(s), x.tolist()[0])]
    checks = isinstance(s, float), isinstance(t, int), isinstance(product, int), isinstance(x, np.ndarray), np.isscalar(s)
    return s, t, u, product, t / 2, t // 2, kinds, checks


@program(
    lambda rng: (int(rng.integers(2**31)), 20),
    lambda found, seed, count: found[0][0] == (1103515245 * seed + 12345) % 2**31 / 2**31,
)
def linear_congruential(seed, count):
    """Random numbers by hand: products of 62 and of more than 64 bits."""
    numbers = []
    state = seed
    for _ in range(count):
        state = (1103515245 * state + 12345) % 2**31
        numbers.append(state / 2**31)
    wide = seed
    for _ in range(count):
        wide = (6364136223846793005 * wide + 1442695040888963407) % 2**64
    low = wide & 0xFFFFFFFF
    return np.array(numbers), wide, low, (wide >> 40) / 2**24


@program(lambda rng: (int(rng.integers(3, 200)),), lambda found, n: found[0][-1] == 1 and found[2] == max(found[0]))
def collatz(n):
    """A list that grows by an amount that nobody knows."""
    path = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        path.append(n)
    return path, len(path), max(path), sum(path) / len(path)
