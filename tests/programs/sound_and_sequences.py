"""Sound and sequences: buffers, oscillators, spectra; alignments, codons, suffixes."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from .registry import program


class RingBuffer:
    def __init__(self, size, channels=1, dtype=np.float64):
        self.data = np.zeros((size, channels), dtype)
        self.head = 0
        self.count = 0

    def __len__(self):
        return self.count

    def write(self, block):
        n = len(block)
        first = min(n, len(self.data) - self.head)
        self.data[self.head : self.head + first] = block[:first]
        if first < n:
            self.data[: n - first] = block[first:]
        self.head = (self.head + n) % len(self.data)
        self.count = min(self.count + n, len(self.data))

    def latest(self, n):
        idx = (self.head - n + np.arange(n)) % len(self.data)
        return self.data[idx]


@program(lambda rng: (rng.normal(size=(20, 2)),))
def ring_buffer_meter(signal):
    ring = RingBuffer(16, 2)
    levels = []
    for start in range(0, len(signal), 5):
        ring.write(signal[start : start + 5])
        last = ring.latest(min(len(ring), 8))
        levels.append(20 * np.log10(np.sqrt((last**2).mean(axis=0)) + 1e-12))
    return np.array(levels), ring.head, len(ring)


@dataclass
class ADSR:
    attack: float = 0.01
    decay: float = 0.02
    sustain: float = 0.6
    release: float = 0.03

    def render(self, n, rate, gate):
        out = np.empty(n)
        level, stage = 0.0, "attack"
        for i in range(n):
            if i >= gate and stage != "release":
                stage = "release"
                step = level / max(1, int(self.release * rate))
            if stage == "attack":
                level += 1 / (self.attack * rate)
                if level >= 1:
                    level, stage = 1.0, "decay"
            elif stage == "decay":
                level -= (1 - self.sustain) / (self.decay * rate)
                if level <= self.sustain:
                    level, stage = self.sustain, "sustain"
            elif stage == "release":
                level = max(0.0, level - step)
            out[i] = level
        return out


class Oscillator:
    def __init__(self, shape, rate):
        self.shape, self.rate, self.phase = shape, rate, 0.0

    def block(self, frequency, n):
        phases = (self.phase + frequency / self.rate * np.arange(n)) % 1.0
        self.phase = float((self.phase + frequency / self.rate * n) % 1.0)
        match self.shape:
            case "sine":
                return np.sin(2 * np.pi * phases)
            case "saw":
                return 2 * phases - 1
            case "square":
                return np.where(phases < 0.5, 1.0, -1.0)
            case _:
                raise ValueError(self.shape)


@program(lambda rng: (rng.integers(40, 80, 3), 200))
def synthesizer(notes, n):
    rate = 4000
    voices = [Oscillator(shape, rate) for shape in ("sine", "saw", "square")]
    mix = np.zeros(n)
    for voice, note in zip(voices, notes):
        frequency = 440 * 2 ** ((note - 69) / 12)
        env = ADSR(sustain=0.5).render(n, rate, gate=n // 2)
        halves = [voice.block(frequency, n // 2), voice.block(frequency * 1.5, n - n // 2)]
        mix += env * np.concatenate(halves) / 3
    pcm = np.clip(np.round(mix * 32767), -32768, 32767).astype("<i2")
    return pcm, [round(v.phase, 9) for v in voices], len(pcm.tobytes())


@program(lambda rng: (rng.normal(size=128), 32))
def stft_denoise(x, size):
    hop = size // 2
    window = np.hanning(size + 1)[:-1]
    frames = np.array([window * x[i : i + size] for i in range(0, len(x) - size + 1, hop)])
    spectra = np.fft.rfft(frames, axis=1)
    mag, phase = np.abs(spectra), np.angle(spectra)
    floor = np.median(mag, axis=0)
    clean = np.maximum(mag - floor, 0.05 * mag) * np.exp(1j * phase)
    out = np.zeros_like(x)
    for n, frame in enumerate(np.fft.irfft(clean, n=size)):
        out[n * hop : n * hop + size] += frame
    return out, mag.argmax(axis=1), 20 * np.log10(np.linalg.norm(x - out) / np.linalg.norm(x))


@program(lambda rng: (np.abs(rng.normal(size=64)) + 3 * (np.arange(64) % 8 == 3),))
def beat_tracking(onset):
    """Tempo by autocorrelation, beats by dynamic programming with backtrace."""
    onset = onset - onset.mean()
    ac = np.correlate(onset, onset, mode="full")[len(onset) - 1 :]
    lag = 4 + int(np.argmax(ac[4:17]))
    score = onset.copy()
    back = -np.ones(len(onset), dtype=int)
    for t in range(len(onset)):
        lo, hi = max(0, t - 2 * lag), max(0, t - lag // 2)
        if lo >= hi:
            continue
        prev = np.arange(lo, hi)
        total = score[prev] - 5 * np.log((t - prev) / lag) ** 2
        best = np.argmax(total)
        if total[best] > 0:
            score[t] += total[best]
            back[t] = prev[best]
    t = int(np.argmax(score))
    beats = []
    while t >= 0:
        beats.append(t)
        t = back[t]
    return lag, beats[::-1], np.diff(beats[::-1])


@program(lambda rng: ((rng.normal(size=60) * 8000).astype(np.int16),))
def wav_bytes(samples):
    stereo = np.stack([samples, samples[::-1]], axis=1)
    peak = np.abs(samples.astype(np.int32)).max()
    gain = 32767 / peak
    loud = (samples * gain).astype(np.int16)
    mono = stereo.mean(axis=1).astype(np.int16)
    delta = np.diff(samples)
    wrapped = samples + samples
    mixed = np.clip(samples.astype(int) + samples[::-1].astype(int), -32768, 32767).astype(np.int16)
    raw = mono.view(np.uint8).reshape(-1, 2)
    crossings = int(np.sum(np.signbit(samples[1:]) != np.signbit(samples[:-1])))
    mulaw = np.sign(samples) * np.log1p(255 * np.abs(samples / 32768)) / np.log1p(255)
    coded = ((mulaw + 1) / 2 * 255 + 0.5).astype(np.uint8)
    return loud, delta, wrapped, mixed, raw, crossings, coded, samples.dtype.itemsize


def dna(rng, n):
    return "".join("ACGT"[i] for i in rng.integers(0, 4, n))


@program(lambda rng: (dna(rng, 12), dna(rng, 10)))
def needleman_wunsch(a, b):
    gap = -2
    score = {("A", "A"): 2, ("C", "C"): 2, ("G", "G"): 2, ("T", "T"): 2}
    F = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        F[i][0] = gap * i
    for j in range(1, len(b) + 1):
        F[0][j] = gap * j
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            F[i][j] = max(F[i - 1][j - 1] + score.get((x, y), -1), F[i - 1][j] + gap, F[i][j - 1] + gap)
    i, j = len(a), len(b)
    top, bottom = [], []
    while i > 0 or j > 0:
        if i and j and F[i][j] == F[i - 1][j - 1] + score.get((a[i - 1], b[j - 1]), -1):
            top.append(a[i - 1])
            bottom.append(b[j - 1])
            i, j = i - 1, j - 1
        elif i and F[i][j] == F[i - 1][j] + gap:
            top.append(a[i - 1])
            bottom.append("-")
            i -= 1
        else:
            top.append("-")
            bottom.append(b[j - 1])
            j -= 1
    top, bottom = "".join(top[::-1]), "".join(bottom[::-1])
    return F[-1][-1], top, bottom, sum(x == y for x, y in zip(top, bottom))


@program(
    lambda rng: (
        np.array([["ACGT".index(c) for c in dna(rng, 15)]]).ravel(),
        rng.normal(size=(4, 2)),
        rng.normal(size=(2, 2)),
    )
)
def viterbi_islands(seq, emit, trans):
    emit = np.log(np.exp(emit) / np.exp(emit).sum(0)).T
    trans = np.log(np.exp(trans) / np.exp(trans).sum(1, keepdims=True))
    V = [{s: emit[s][seq[0]] + math.log(0.5) for s in range(2)}]
    path = {s: [s] for s in range(2)}
    for t in range(1, len(seq)):
        V.append({})
        new = {}
        for s in range(2):
            p, prev = max((V[t - 1][q] + trans[q][s] + emit[s][seq[t]], q) for q in range(2))
            V[t][s] = p
            new[s] = path[prev] + [s]
        path = new
    p, last = max((V[-1][s], s) for s in range(2))
    return p, path[last]


CODONS = {
    a + b + c: "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"[16 * i + 4 * j + k]
    for i, a in enumerate("TCAG")
    for j, b in enumerate("TCAG")
    for k, c in enumerate("TCAG")
}
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@program(lambda rng: (dna(rng, 45), rng.integers(20, 40, 45)))
def open_reading_frames(seq, quality):
    found = []
    for strand, s in (("+", seq), ("-", seq.translate(COMPLEMENT)[::-1])):
        for frame in range(3):
            protein = "".join(CODONS[s[i : i + 3]] for i in range(frame, len(s) - 2, 3))
            for piece in protein.split("*"):
                if len(piece) >= 5:
                    found.append((strand, frame, piece))
    gc = (seq.count("G") + seq.count("C")) / len(seq)
    kmers = Counter(seq[i : i + 3] for i in range(len(seq) - 2))
    good = "".join(c if q >= 30 else "N" for c, q in zip(seq, quality))
    weights = defaultdict(float)
    for c, q in zip(seq, quality):
        weights[c] += 1 - 10 ** (-q / 10)
    return found, gc, kmers.most_common(2), good, dict(weights)


@program(lambda rng: (rng.integers(0, 4, 14),))
def suffix_array(codes):
    """Prefix doubling on integers, then longest common prefixes by Kasai."""
    n = len(codes)
    rank = codes.tolist()
    sa = list(range(n))
    step = 1
    while True:
        key = [(rank[i], rank[i + step] if i + step < n else -1) for i in range(n)]
        sa.sort(key=lambda i: key[i])
        new = [0] * n
        for a, b in zip(sa, sa[1:]):
            new[b] = new[a] + (key[a] < key[b])
        rank = new
        if rank[sa[-1]] == n - 1 or step > n:
            break
        step *= 2
    lcp, h = [0] * n, 0
    for i in range(n):
        if rank[i] > 0:
            j = sa[rank[i] - 1]
            while i + h < n and j + h < n and codes[i + h] == codes[j + h]:
                h += 1
            lcp[rank[i]] = h
            h = max(h - 1, 0)
        else:
            h = 0
    return sa, lcp
