"""Codes: ciphers, compression, check digits, fields of 256 elements, shift registers."""

import math

import numpy as np

from .registry import program


@program(lambda rng: (rng.integers(0, 26, 60), "LEMON"))
def vigenere_and_back(plain, key):
    shifts = np.array([ord(c) - ord("A") for c in key])
    padded = np.tile(shifts, math.ceil(len(plain) / len(key)))[: len(plain)]
    secret = (plain + padded) % 26
    back = (secret - padded) % 26
    assert np.array_equal(back, plain)
    best, guess = -1.0, 0
    for length in range(1, 9):
        columns = [secret[k::length] for k in range(length)]
        index = 0.0
        for column in columns:
            counts = np.bincount(column, minlength=26)
            n = counts.sum()
            index += (counts * (counts - 1)).sum() / (n * (n - 1))
        index /= length
        if index > best + 1e-9:
            best, guess = index, length
    return "".join(chr(int(c) + 65) for c in secret), guess, best


class Rotor:
    def __init__(self, wiring, position):
        self.wiring = np.asarray(wiring)
        self.inverse = np.argsort(self.wiring)
        self.position = position

    def forward(self, c):
        return (self.wiring[(c + self.position) % 26] - self.position) % 26

    def backward(self, c):
        return (self.inverse[(c + self.position) % 26] - self.position) % 26

    def step(self):
        self.position = (self.position + 1) % 26
        return self.position == 0


@program(lambda rng: (rng.integers(0, 26, 40), [rng.permutation(26) for _ in range(3)], (3, 24, 25)))
def rotor_machine(message, wirings, start):
    reflector = 25 - np.arange(26)

    def run(text):
        rotors = [Rotor(w, p) for w, p in zip(wirings, start)]
        out = np.empty_like(text)
        for i, c in enumerate(text):
            for rotor in rotors:
                if not rotor.step():
                    break
            for rotor in rotors:
                c = rotor.forward(c)
            c = reflector[c]
            for rotor in reversed(rotors):
                c = rotor.backward(c)
            out[i] = c
        return out, [r.position for r in rotors]

    secret, positions = run(message)
    back, _ = run(secret)
    return secret, positions, bool((back == message).all())


def gf_tables():
    exp, log = np.zeros(512, dtype=int), np.zeros(256, dtype=int)
    x = 1
    for i in range(255):
        exp[i] = x
        log[x] = i
        x <<= 1
        if x & 0x100:
            x ^= 0x11D
    exp[255:510] = exp[:255]
    return exp, log


@program(lambda rng: (rng.integers(0, 256, 12), 4))
def reed_solomon_parity(message, parity):
    exp, log = gf_tables()

    def multiply(a, b):
        return 0 if a == 0 or b == 0 else exp[log[a] + log[b]]

    generator = [1]
    for i in range(parity):
        following = [0] * (len(generator) + 1)
        for j, g in enumerate(generator):
            following[j] ^= int(g)
            following[j + 1] ^= int(multiply(g, exp[i]))
        generator = following
    work = np.concatenate([message, np.zeros(parity, dtype=message.dtype)])
    for i in range(len(message)):
        lead = work[i]
        if lead != 0:
            for j in range(1, len(generator)):
                work[i + j] ^= multiply(generator[j], lead)
    code = np.concatenate([message, work[len(message) :]])
    syndromes = []
    for i in range(parity):
        value = 0
        for c in code:
            value = multiply(value, exp[i]) ^ c
        syndromes.append(int(value))
    return code, generator, syndromes


@program(lambda rng: (rng.integers(0, 256, 20).astype(np.uint8),))
def base64_text(data):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bits = np.unpackbits(data)
    pad = (-len(bits)) % 6
    bits = np.append(bits, np.zeros(pad, dtype=np.uint8))
    values = bits.reshape(-1, 6) @ (1 << np.arange(5, -1, -1))
    text = "".join(alphabet[v] for v in values)
    return text + "=" * (-len(text) % 4)


@program(lambda rng: (rng.integers(0, 3, 12), np.array([0.5, 0.3, 0.2])))
def arithmetic_coding(symbols, probabilities):
    edges = np.concatenate([[0.0], np.cumsum(probabilities)])
    low, high = 0.0, 1.0
    for s in symbols:
        width = high - low
        low, high = low + width * edges[s], low + width * edges[s + 1]
    code = (low + high) / 2
    bits = math.ceil(-math.log2(high - low)) + 1
    decoded, value = [], code
    for _ in range(len(symbols)):
        s = int(np.searchsorted(edges, value, side="right")) - 1
        decoded.append(s)
        value = (value - edges[s]) / (edges[s + 1] - edges[s])
    return code, bits, decoded
