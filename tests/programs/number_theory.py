"""Integers: primes, divisors, sequences."""

import numpy as np

from .registry import program


@program(lambda rng: (200,), lambda found, n: found[:5].tolist() == [2, 3, 5, 7, 11] and len(found) == 46)
def sieve_of_eratosthenes(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[:2] = False
    for i in range(2, int(np.sqrt(n)) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return np.nonzero(prime)[0]


@program(lambda rng: (rng.integers(1, 300, 20),), lambda found, n: np.all(found >= 0))
def collatz_steps(starts):
    steps = np.zeros_like(starts)
    for k, n in enumerate(starts):
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps[k] += 1
    return steps


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@program(
    lambda rng: (rng.integers(1, 5000, 30), rng.integers(1, 5000, 30)),
    lambda found, a, b: np.array_equal(found[0], np.gcd(a, b)),
)
def divisors_and_multiples(a, b):
    divisors = np.array([gcd(x, y) for x, y in zip(a, b)])
    multiples = a * b // divisors
    return divisors, multiples, np.all(multiples % a == 0)


@program(lambda rng: (int(rng.integers(10**6, 10**7)),), lambda found, n: np.prod(found) == n)
def prime_factors(n):
    factors = []
    d = 2
    while d * d <= n:
        while n % d == 0:
            factors.append(d)
            n //= d
        d += 1 if d == 2 else 2
    if n > 1:
        factors.append(n)
    return factors


@program(
    lambda rng: (int(rng.integers(2, 100)), int(rng.integers(100, 10**6)), 1_000_003),
    lambda found, b, e, m: found == pow(b, e, m),
)
def modular_power(base, exponent, modulus):
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        exponent >>= 1
        base = base * base % modulus
    return result


@program(lambda rng: (int(rng.integers(20, 90)),), lambda found, n: found > 0)
def fibonacci_by_matrices(n):
    result = np.eye(2, dtype=np.int64)
    power = np.array([[1, 1], [1, 0]])
    while n:
        if n % 2:
            result = result @ power
        power = power @ power
        n //= 2
    return result[0, 1]


@program(lambda rng: (12,), lambda found, n: found[n - 1].sum() == 2 ** (n - 1))
def pascals_triangle(n):
    triangle = np.zeros((n, n), dtype=np.int64)
    for row in range(n):
        triangle[row, 0] = triangle[row, row] = 1
        for k in range(1, row):
            triangle[row, k] = triangle[row - 1, k - 1] + triangle[row - 1, k]
        print(" ".join(str(value) for value in triangle[row, : row + 1]))
    return triangle


@program(lambda rng: (rng.integers(2, 2000, 15),))
def trial_division(candidates):
    def is_prime(n):
        if n < 4:
            return n > 1
        if n % 2 == 0 or n % 3 == 0:
            return False
        i = 5
        while i * i <= n:
            if n % i == 0 or n % (i + 2) == 0:
                return False
            i += 6
        return True

    flags = [is_prime(n) for n in candidates]
    return candidates[flags], sum(flags)


@program(lambda rng: (rng.integers(0, 256, 40).astype(np.uint8),), lambda found, data: found == crc_of(data))
def crc16(data, polynomial=0x8408):
    crc = 0xFFFF
    for byte in data:
        current = 0xFF & byte
        for _ in range(8):
            if (crc & 0x0001) ^ (current & 0x0001):
                crc = (crc >> 1) ^ polynomial
            else:
                crc >>= 1
            current >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | ((crc >> 8) & 0xFF)) & 0xFFFF


def crc_of(data):
    """By division of the bits, read from the other end, by the polynomial x**16 + x**12 + x**5 + 1."""
    bits = [int(byte) >> k & 1 for byte in data for k in range(8)] + [0] * 16
    bits[:16] = [bit ^ 1 for bit in bits[:16]]
    for start in range(len(bits) - 16):
        if bits[start]:
            for offset in (0, 4, 11, 16):
                bits[start + offset] ^= 1
    crc = 0xFFFF ^ sum(bit << k for k, bit in enumerate(bits[-16:]))
    return (crc << 8 | crc >> 8) & 0xFFFF
