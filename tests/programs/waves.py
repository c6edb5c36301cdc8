"""Signals, sound and radar."""

import cmath
import math
from itertools import accumulate, chain, cycle, islice

import numpy as np

from .registry import program

RATE = 8000
NOTES = {"C": -9, "D": -7, "E": -5, "F": -4, "G": -2, "A": 0, "B": 2}


def envelope(n, attack=0.1, decay=0.1, sustain=0.7, release=0.2):
    a, d, r = (int(n * f) for f in (attack, decay, release))
    s = n - a - d - r
    return np.concatenate(
        [
            np.linspace(0, 1, a, endpoint=False),
            np.linspace(1, sustain, d, endpoint=False),
            np.full(s, sustain),
            np.linspace(sustain, 0, r),
        ]
    )


@program(lambda rng: ("CEG A", rng.uniform(400, 480), {"sine": 0.7, "saw": 0.3}))
def synthesizer(melody, tuning, mix, length=200):
    """Text chooses the pitches, a dict of waveforms is mixed, clipped in place and quantised."""
    waves = {"sine": lambda p: np.sin(2 * np.pi * p), "saw": lambda p: 2 * (p % 1) - 1}
    out = np.zeros(length * len(melody))
    for n, c in enumerate(melody):
        if c == " ":
            continue
        f = tuning * 2 ** (NOTES[c] / 12)
        phase = f * np.arange(length) / RATE
        tone = sum(w * waves[name](phase) for name, w in mix.items())
        out[n * length : (n + 1) * length] += tone * envelope(length)
    out *= 1.5
    np.clip(out, -1, 1, out=out)
    pcm = (out * 32767).astype("<i2")
    return pcm, pcm.min(), (np.abs(out) == 1).sum()


class Biquad:
    def __init__(self, b, a):
        self.b, self.a = np.asarray(b, float) / a[0], np.asarray(a, float) / a[0]
        self.z = [0.0, 0.0]

    @classmethod
    def lowpass(cls, f, q=0.707):
        w = 2 * math.pi * f / RATE
        alpha = math.sin(w) / (2 * q)
        c = math.cos(w)
        return cls([(1 - c) / 2, 1 - c, (1 - c) / 2], [1 + alpha, -2 * c, 1 - alpha])

    def __call__(self, x):
        y = self.b[0] * x + self.z[0]
        self.z[0] = self.b[1] * x - self.a[1] * y + self.z[1]
        self.z[1] = self.b[2] * x - self.a[2] * y
        return y


@program(lambda rng: (rng.normal(size=100), rng.uniform(300, 2000)))
def filter_chain(x, cutoff):
    """Callable objects whose state is a list; three of them in a row."""
    stages = [Biquad.lowpass(cutoff), Biquad.lowpass(cutoff * 1.2, q=1.0), Biquad.lowpass(3000)]
    out = []
    for v in x:
        for stage in stages:
            v = stage(v)
        out.append(v)
    return np.asarray(out), [s.z for s in stages]


@program(lambda rng: (rng.normal(size=40) + 3 * np.exp(-((np.arange(40) - 15) ** 2) / 2), 2, 6, 3.0))
def cfar(x, guard, train, factor):
    power = x**2
    n = len(x)
    detections = []
    thresholds = np.full(n, np.nan)
    for i in range(n):
        left = power[max(0, i - guard - train) : max(0, i - guard)]
        right = power[i + guard + 1 : i + guard + train + 1]
        noise = np.r_[left, right]
        if noise.size < train:
            continue
        thresholds[i] = factor * noise.mean()
        if power[i] > thresholds[i]:
            detections.append(i)
    groups = []
    for d in detections:
        if groups and d - groups[-1][-1] <= 1:
            groups[-1].append(d)
        else:
            groups.append([d])
    return detections, thresholds, len(groups)


@program(lambda rng: (np.exp(1j * np.cumsum(0.3 + 0.01 * rng.normal(size=80))), 0.1, 0.01))
def phase_locked_loop(x, kp, ki):
    """Python's complex numbers, cmath, a lock that is lost and found."""
    phase, freq, locked = 0.0, 0.0, 0
    errors = []
    for sample in x:
        error = cmath.phase(complex(sample) * cmath.exp(-1j * phase))
        freq += ki * error
        phase += freq + kp * error
        phase = math.remainder(phase, 2 * math.pi)
        locked = locked + 1 if abs(error) < 0.2 else 0
        errors.append(error)
    return np.array(errors), freq, locked > 10


@program(lambda rng: (rng.integers(0, 2, 24), rng.normal(0, 0.2, 24)))
def line_codes(bits, noise):
    """itertools: accumulate, cycle, islice, chain."""
    nrzi = list(accumulate(bits, lambda level, b: level ^ b, initial=0))[1:]
    signs = cycle((1, -1))
    ami = [next(signs) if b else 0 for b in bits]
    manchester = list(chain.from_iterable((1 - b, b) for b in bits))
    received = np.array(nrzi) * 2 - 1 + noise
    decided = (received > 0).astype(int)
    back = decided ^ np.r_[0, decided[:-1]]
    errors = int((back != bits).sum())
    return np.array(nrzi), ami[:6], list(islice(manchester, 5)), errors
