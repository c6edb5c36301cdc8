"""Signals as lab scripts treat them: filters as classes, modulation, codes, spectra, beamforming."""

from collections import deque, namedtuple

import numpy as np

from .registry import program

BiquadCoefficients = namedtuple("BiquadCoefficients", "b0 b1 b2 a1 a2")


def design_lowpass(cutoff, rate, q=np.sqrt(0.5)):
    w0 = 2 * np.pi * cutoff / rate
    alpha = np.sin(w0) / (2 * q)
    cos = np.cos(w0)
    a0 = 1 + alpha
    return BiquadCoefficients((1 - cos) / 2 / a0, (1 - cos) / a0, (1 - cos) / 2 / a0, -2 * cos / a0, (1 - alpha) / a0)


class Biquad:
    """Direct form II transposed, one sample at a time."""

    def __init__(self, coefficients):
        self.c = coefficients
        self.reset()

    def reset(self):
        self.z1 = self.z2 = 0.0

    def process(self, sample):
        y = self.c.b0 * sample + self.z1
        self.z1 = self.c.b1 * sample - self.c.a1 * y + self.z2
        self.z2 = self.c.b2 * sample - self.c.a2 * y
        return y

    def process_block(self, block):
        return np.array([self.process(s) for s in block])


@program(lambda rng: (rng.normal(size=400), rng.uniform(40, 80)))
def biquad_in_blocks(signal, cutoff):
    """State that is kept in an object from block to block."""
    stages = [Biquad(design_lowpass(cutoff, 1000.0)) for _ in range(2)]
    out = np.empty_like(signal)
    block = 100
    for start in range(0, len(signal), block):
        chunk = signal[start : start + block]
        for stage in stages:
            chunk = stage.process_block(chunk)
        out[start : start + block] = chunk
    return out, stages[0].z1, stages[1].z2


@program(lambda rng: (rng.normal(size=256), 0.2, 31))
def windowed_sinc(signal, cutoff, taps):
    """A filter by a window, chosen by name from a dict of functions."""
    windows = {
        "hamming": lambda n: 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(n) / (n - 1)),
        "hann": lambda n: 0.5 * (1 - np.cos(2 * np.pi * np.arange(n) / (n - 1))),
        "rect": np.ones,
    }
    n = np.arange(taps) - (taps - 1) / 2
    results = {}
    for name, window in windows.items():
        h = np.sinc(2 * cutoff * n) * window(taps)
        h /= h.sum()
        filtered = np.convolve(signal, h, mode="same")
        response = 20 * np.log10(np.maximum(np.abs(np.fft.rfft(h, 512)), 1e-6))
        results[name] = {"output": filtered, "stopband": response[int(0.3 * 512) :].max()}
    return results


@program(lambda rng: (rng.choice([697, 770, 852, 941]), rng.choice([1209, 1336, 1477]), rng.normal(size=205)))
def dial_tones(low, high, noise):
    """Goertzel's algorithm for each tone; the digit is looked up in a table."""
    rate, n = 8000, len(noise)
    t = np.arange(n) / rate
    signal = np.sin(2 * np.pi * low * t) + np.sin(2 * np.pi * high * t) + 0.1 * noise

    def goertzel(samples, frequency):
        k = int(0.5 + n * frequency / rate)
        coefficient = 2 * np.cos(2 * np.pi * k / n)
        s1 = s2 = 0.0
        for sample in samples:
            s1, s2 = sample + coefficient * s1 - s2, s1
        return s1**2 + s2**2 - coefficient * s1 * s2

    rows, columns = [697, 770, 852, 941], [1209, 1336, 1477]
    powers = [goertzel(signal, f) for f in rows + columns]
    row = np.argmax(powers[:4])
    column = np.argmax(powers[4:])
    keypad = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 0, 11]])
    return keypad[row, column], rows[row], columns[column]


@program(lambda rng: (rng.normal(size=1024).cumsum(), 128, 0.5))
def welch(signal, nperseg, overlap):
    """The mean of the spectra of segments that overlap."""
    step = int(nperseg * (1 - overlap))
    window = np.hanning(nperseg)
    scale = 1 / np.sum(window**2)
    segments = []
    for start in range(0, len(signal) - nperseg + 1, step):
        segment = signal[start : start + nperseg]
        segment = (segment - segment.mean()) * window
        segments.append(np.abs(np.fft.rfft(segment)) ** 2 * scale)
    psd = np.mean(segments, axis=0)
    psd[1:-1] *= 2
    frequencies = np.fft.rfftfreq(nperseg)
    return frequencies, psd, frequencies[np.argmax(psd)]


@program(lambda rng: (rng.normal(size=512),), lambda found, x: np.allclose(found[64:-64], x[64:-64]))
def overlap_add(x, size=64):
    """There and back by short transforms."""
    hop = size // 2
    window = np.sin(np.pi * (np.arange(size) + 0.5) / size)
    frames = 1 + (len(x) - size) // hop
    stft = np.zeros((frames, size // 2 + 1), dtype=complex)
    for i in range(frames):
        stft[i] = np.fft.rfft(window * x[i * hop : i * hop + size])
    y = np.zeros_like(x)
    for i, spectrum in enumerate(stft):
        y[i * hop : i * hop + size] += window * np.fft.irfft(spectrum)
    return y


@program(lambda rng: (rng.normal(size=300), 10))
def linear_prediction(x, order):
    """Levinson and Durbin, with an early return where nothing is left to predict."""
    r = np.correlate(x, x, mode="full")[len(x) - 1 : len(x) + order]

    def levinson(r, order):
        a = np.zeros(order + 1)
        a[0] = 1.0
        error = r[0]
        reflections = []
        for i in range(1, order + 1):
            if error <= 1e-12 * r[0]:
                return a, error, reflections
            k = -(r[i] + np.dot(a[1:i], r[i - 1 : 0 : -1])) / error
            a[1 : i + 1] += k * a[i - 1 :: -1][:i]
            error *= 1 - k**2
            reflections.append(k)
        return a, error, reflections

    a, error, reflections = levinson(r, order)
    residual = np.convolve(x, a)[: len(x)]
    return a, error / r[0], np.array(reflections), np.var(residual)


@program(lambda rng: (rng.integers(0, 2, 64), rng.normal(size=(32, 2))))
def quadrature_modulation(bits, noise):
    """Symbols of two bits, noise, decisions; complex numbers and masks."""
    pairs = bits.reshape(-1, 2)
    symbols = ((1 - 2 * pairs[:, 0]) + 1j * (1 - 2 * pairs[:, 1])) / np.sqrt(2)
    errors = {}
    for snr_db in (0, 6, 12):
        sigma = 10 ** (-snr_db / 20) / np.sqrt(2)
        received = symbols + sigma * (noise[:, 0] + 1j * noise[:, 1])
        decided = np.stack([received.real < 0, received.imag < 0], axis=1).astype(int).ravel()
        errors[snr_db] = int(np.sum(decided != bits))
    phase_error = np.angle(received * symbols.conj())
    return errors, phase_error.std(), np.round(received[:3], 4)


def hamming_encode(nibble):
    d1, d2, d3, d4 = nibble
    return np.array([d1 ^ d2 ^ d4, d1 ^ d3 ^ d4, d1, d2 ^ d3 ^ d4, d2, d3, d4])


def hamming_decode(word):
    checks = np.array([[1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 1]])
    syndrome = checks @ word % 2
    position = syndrome @ [1, 2, 4]
    if position:
        word = word.copy()
        word[position - 1] ^= 1
    return word[[2, 4, 5, 6]], position


@program(
    lambda rng: (rng.integers(0, 2, (12, 4)), rng.integers(0, 7, 12)), lambda found, data, flips: np.array_equal(found[0], data)
)
def hamming_code(data, flips):
    """One bit of each word is flipped and found again."""
    decoded, positions = [], []
    for nibble, flip in zip(data, flips):
        word = hamming_encode(nibble)
        word[flip] = 1 - word[flip]
        corrected, position = hamming_decode(word)
        decoded.append(corrected)
        positions.append(position - 1)
    return np.array(decoded), positions


@program(lambda rng: (rng.integers(0, 2, 40), rng.integers(0, 82, 3)))
def convolutional_code(bits, flips):
    """A code of rate one half, decoded by Viterbi's algorithm with survivors as lists."""
    generators = ((1, 1, 1), (1, 0, 1))

    def output(state, bit):
        register = (bit, state >> 1 & 1, state & 1)
        return [sum(g * r for g, r in zip(generator, register)) % 2 for generator in generators]

    state, sent = 0, []
    for bit in [*bits, 0]:
        sent.extend(output(state, bit))
        state = (bit << 1) | (state >> 1)
    received = np.array(sent)
    received[flips] ^= 1
    metric = np.array([0, 1000, 1000, 1000])
    survivors = np.zeros((len(received) // 2, 4), dtype=int)
    for t in range(len(received) // 2):
        new = np.full(4, 10_000)
        for s in range(4):
            for bit in (0, 1):
                expected = output(s, bit)
                cost = metric[s] + int(np.sum(received[2 * t : 2 * t + 2] != expected))
                target = (bit << 1) | (s >> 1)
                if cost < new[target]:
                    new[target] = cost
                    survivors[t, target] = s
        metric = new
    state = int(metric.argmin())
    decoded = []
    for t in range(len(survivors) - 1, -1, -1):
        decoded.append(state >> 1)
        state = survivors[t, state]
    decoded = decoded[::-1][:-1]
    return decoded, metric.min(), np.sum(np.array(decoded) != bits)


class MovingStatistics:
    """Over a window that a deque holds."""

    def __init__(self, size):
        self.window = deque(maxlen=size)

    def update(self, value):
        self.window.append(value)
        return self.mean, self.spread

    @property
    def mean(self):
        return sum(self.window) / len(self.window)

    @property
    def spread(self):
        return max(self.window) - min(self.window)


@program(lambda rng: (rng.normal(size=60), 5))
def moving_statistics(x, size):
    stats = MovingStatistics(size)
    means, spreads = zip(*[stats.update(value) for value in x])
    return np.array(means), np.array(spreads)


@program(lambda rng: (rng.uniform(-60, 60), rng.normal(size=(8, 200, 2))))
def music_spectrum(angle, noise):
    """Where a wave comes from: covariances, eigenvectors of the noise, a scan over angles."""
    sensors = np.arange(8)

    def steering(theta):
        return np.exp(1j * np.pi * sensors * np.sin(np.deg2rad(theta)))

    rng = np.random.default_rng(3)
    source = rng.standard_normal(200) + 1j * rng.standard_normal(200)
    snapshots = np.outer(steering(angle), source) + 0.3 * (noise[..., 0] + 1j * noise[..., 1])
    covariance = snapshots @ snapshots.conj().T / snapshots.shape[1]
    values, vectors = np.linalg.eigh(covariance)
    quiet = vectors[:, :-1]
    angles = np.arange(-90, 90.5, 1.0)
    spectrum = np.array([1 / np.linalg.norm(quiet.conj().T @ steering(a)) ** 2 for a in angles])
    peak = angles[spectrum.argmax()]
    return peak, 10 * np.log10(spectrum / spectrum.max()), abs(peak - angle) < 2


@program(lambda rng: (rng.normal(size=200), 3))
def hampel_filter(x, half):
    """Outliers are replaced by medians of their neighbours."""
    x = x.copy()
    x[::37] += 15
    y = x.copy()
    outliers = []
    for i in range(half, len(x) - half):
        window = x[i - half : i + half + 1]
        median = np.median(window)
        mad = 1.4826 * np.median(np.abs(window - median))
        if np.abs(x[i] - median) > 3 * mad:
            y[i] = median
            outliers.append(i)
    return y, outliers, len(outliers)


@program(lambda rng: (rng.normal(size=(64,)), rng.uniform(0.9, 0.99)))
def recursive_least_squares(x, forgetting, order=4):
    """A covariance that is updated from sample to sample, in a closure with nonlocal state."""
    truth = np.array([0.5, -0.3, 0.2, 0.1])

    def make_filter(n, lam, delta=100.0):
        P = np.eye(n) * delta
        w = np.zeros(n)

        def update(u, d):
            nonlocal P, w
            k = P @ u / (lam + u @ P @ u)
            e = d - w @ u
            w = w + k * e
            P = (P - np.outer(k, u @ P)) / lam
            return e, w

        return update

    update = make_filter(order, forgetting)
    errors = np.zeros(len(x))
    for n in range(order, len(x)):
        u = x[n - order : n][::-1]
        errors[n], w = update(u, truth @ u)
    return w, errors, np.abs(w - truth).max()


@program(lambda rng: (rng.normal(size=256), 4))
def decimate_and_interpolate(x, factor):
    """Polyphase branches by slices with steps, helper functions with defaults."""

    def lowpass(signal, cutoff, taps=33, gain=1.0):
        n = np.arange(taps) - taps // 2
        h = np.sinc(cutoff * n) * np.blackman(taps)
        return gain * np.convolve(signal, h / h.sum(), "same")

    def upsample(signal, factor):
        out = np.zeros(len(signal) * factor, dtype=signal.dtype)
        out[::factor] = signal
        return out

    low = lowpass(x, 1 / factor)[::factor]
    back = lowpass(upsample(low, factor), 1 / factor, gain=factor)
    energy = lambda s: float(np.sum(np.abs(s) ** 2))
    return low, back, energy(back) / energy(x)


@program(lambda rng: (rng.normal(size=(2, 90)).cumsum(axis=1),))
def dynamic_time_warping(pair):
    """A table of costs, and the way back through it by a while loop."""
    a, b = pair
    n, m = len(a) // 3, len(b) // 3
    cost = np.full((n + 1, m + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = abs(a[3 * i - 1] - b[3 * j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    i, j = n, m
    path = [(i - 1, j - 1)]
    while i > 1 or j > 1:
        moves = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        i, j = min(moves, key=lambda move: cost[move])
        path.append((i - 1, j - 1))
    return cost[n, m], path[::-1], len(path)
