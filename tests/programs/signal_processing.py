"""Signal processing: filters, spectra, detection."""

import numpy as np

from .registry import program


@program(lambda rng: (rng.normal(size=64) + 1j * rng.normal(size=64),), lambda found, x: np.allclose(found, np.fft.fft(x)))
def fast_fourier_transform(x):
    """Radix two, by recursion."""
    n = len(x)
    if n == 1:
        return x.copy()
    even = fast_fourier_transform(x[::2])
    odd = fast_fourier_transform(x[1::2])
    out = np.empty(n, dtype=complex)
    for k in range(n // 2):
        twiddle = np.exp(-2j * np.pi * k / n) * odd[k]
        out[k] = even[k] + twiddle
        out[k + n // 2] = even[k] - twiddle
    return out


def low_pass_coefficients(cutoff, rate):
    """A Butterworth filter of second order."""
    w = np.tan(np.pi * cutoff / rate)
    scale = 1 / (1 + np.sqrt(2) * w + w * w)
    b = np.array([w * w, 2 * w * w, w * w]) * scale
    a = np.array([1.0, 2 * (w * w - 1) * scale, (1 - np.sqrt(2) * w + w * w) * scale])
    return b, a


@program(lambda rng: (rng.normal(size=300), 40.0, 1000.0), lambda y, x, cutoff, rate: np.std(y) < 0.6 * np.std(x))
def low_pass(x, cutoff, rate):
    b, a = low_pass_coefficients(cutoff, rate)
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = b[0] * x[n]
        if n >= 1:
            y[n] += b[1] * x[n - 1] - a[1] * y[n - 1]
        if n >= 2:
            y[n] += b[2] * x[n - 2] - a[2] * y[n - 2]
    return y


@program(
    lambda rng: (np.cumsum(rng.normal(size=80)) + rng.normal(size=80), 0.5, 1.0),
    lambda found, measurements, q, r: np.std(found[0][:, 0] - measurements) < 2,
)
def kalman_filter(measurements, q, r):
    """Position and speed from noisy positions."""
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q = q * np.array([[0.25, 0.5], [0.5, 1.0]])
    R = np.array([[r]])
    state = np.zeros(2)
    P = np.eye(2) * 10
    estimates = np.zeros((len(measurements), 2))
    likelihood = 0.0
    for t, z in enumerate(measurements):
        state = F @ state
        P = F @ P @ F.T + Q
        innovation = z - H @ state
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        state = state + K @ innovation
        P = (np.eye(2) - K @ H) @ P
        estimates[t] = state
        likelihood += -0.5 * (np.log(2 * np.pi * S[0, 0]) + innovation[0] ** 2 / S[0, 0])
    return estimates, P, likelihood


@program(
    lambda rng: (np.sin(np.arange(150) / 5) + 0.1 * rng.normal(size=150), 0.5, 10),
    lambda found, x, height, distance: np.diff(found[0]).min() >= distance and found[1].min() > height,
)
def find_peaks(x, height, distance):
    """Local maxima above the height, the higher first, none nearer to another than the distance."""
    candidates = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] >= x[i + 1] and x[i] > height:
            candidates.append(i)
    candidates = np.array(candidates, dtype=int)
    order = candidates[np.argsort(-x[candidates])]
    kept = []
    for i in order:
        if all(abs(i - j) >= distance for j in kept):
            kept.append(i)
    peaks = np.sort(np.array(kept, dtype=int))
    return peaks, x[peaks]


@program(
    lambda rng: ((x := rng.normal(size=200)), np.convolve(x, [0.5, -0.3, 0.2])[:200]),
    lambda found, x, desired: np.allclose(found[0], [0.5, -0.3, 0.2, 0], atol=1e-3),
)
def least_mean_squares(x, desired, taps=4, mu=0.05):
    """An adaptive filter; its weights as they go."""
    w = np.zeros(taps)
    errors = np.zeros(len(x))
    history = np.empty((len(x), taps))
    for n in range(taps - 1, len(x)):
        window = x[n - taps + 1 : n + 1][::-1]
        errors[n] = desired[n] - np.dot(w, window)
        w += 2 * mu * errors[n] * window
        history[n] = w
    history[: taps - 1] = 0
    return w, errors, history


@program(lambda rng: (np.sin(0.3 * np.arange(256)) + 0.01 * rng.normal(size=256),), lambda found, x: np.all(found[1] == 3))
def spectrogram(x, size=64, hop=32):
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    frames = []
    for start in range(0, len(x) - size + 1, hop):
        spectrum = np.fft.rfft(window * x[start : start + size])
        frames.append(np.abs(spectrum) ** 2)
    power = np.array(frames).T
    decibel = 10 * np.log10(np.maximum(power, 1e-12))
    return decibel, decibel.argmax(axis=0)


@program(lambda rng: (rng.normal(size=64),), lambda found, x: np.linalg.norm(found[0] - x) < 0.5 * np.linalg.norm(x))
def haar_wavelet(x):
    """Forward, small coefficients removed, and back."""
    y = x.copy()
    n = len(y)
    while n > 1:
        half = n // 2
        sums = (y[:n:2] + y[1:n:2]) / np.sqrt(2)
        differences = (y[:n:2] - y[1:n:2]) / np.sqrt(2)
        y[:half], y[half:n] = sums, differences
        n = half
    threshold = np.median(np.abs(y))
    removed = 0
    for i in range(1, len(y)):
        if abs(y[i]) < threshold:
            y[i] = 0
            removed += 1
    n = 2
    while n <= len(y):
        half = n // 2
        sums, differences = y[:half].copy(), y[half:n].copy()
        y[:n:2] = (sums + differences) / np.sqrt(2)
        y[1:n:2] = (sums - differences) / np.sqrt(2)
        n *= 2
    return y, removed


@program(
    lambda rng: (np.sign(np.sin(0.2 * np.arange(400) + rng.uniform(0, 6))) + 0.2 * rng.normal(size=400),),
    lambda found, x: abs(found[1] - 10 * np.pi) < 1,
)
def pitch_by_autocorrelation(x, rate=8000):
    x = x - np.mean(x)
    lags = len(x) // 2
    correlation = np.zeros(lags)
    for lag in range(lags):
        correlation[lag] = np.sum(x[: len(x) - lag] * x[lag:])
    lag = 1
    while lag < lags - 1 and correlation[lag] > 0:
        lag += 1
    if lag == lags - 1:
        return None
    best = lag + int(np.argmax(correlation[lag:]))
    return rate / best, best
