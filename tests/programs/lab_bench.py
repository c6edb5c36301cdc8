"""Chemistry: reactions, spectra, molecules, titrations."""

import re
from collections import namedtuple

import numpy as np

from .registry import program

MASSES = {"H": 1.008, "C": 12.011, "N": 14.007, "O": 15.999, "Na": 22.990, "Cl": 35.45}
Peak = namedtuple("Peak", "position height width")


def parse_formula(formula):
    return {el: int(n) if n else 1 for el, n in re.findall(r"([A-Z][a-z]?)(\d*)", formula)}


@program(lambda rng: (["H2O", "C6H12O6", "NaCl", "CO2"], rng.uniform(0.5, 3, 4)))
def masses_of_mixture(formulas, moles):
    """Text that is parsed with a regular expression gives constants for what is computed."""
    elements = sorted({el for f in formulas for el in parse_formula(f)})
    composition = np.zeros((len(formulas), len(elements)))
    for i, f in enumerate(formulas):
        for el, n in parse_formula(f).items():
            composition[i, elements.index(el)] = n
    weights = np.array([MASSES[el] for el in elements])
    molar = composition @ weights
    grams = moles * molar
    by_element = dict(zip(elements, (moles[:, None] * composition).sum(axis=0) * weights))
    for f, m, g in zip(formulas, molar, grams):
        print(f"{f:>8s} {m:9.3f} g/mol {g:8.2f} g")
    return grams.sum(), by_element, max(by_element, key=by_element.get)


class ReactionNetwork:
    """Reactions are added one by one, with functions for the rates."""

    def __init__(self, species):
        self.species = list(species)
        self.index = {s: i for i, s in enumerate(species)}
        self.columns, self.rates = [], []

    def add(self, reactants, products, k):
        column = np.zeros(len(self.species))
        for s in reactants:
            column[self.index[s]] -= 1
        for s in products:
            column[self.index[s]] += 1
        self.columns.append(column)
        orders = [self.index[s] for s in reactants]
        self.rates.append(lambda c, k=k, orders=orders: k * np.prod(c[orders]))
        return self

    def __call__(self, c):
        N = np.stack(self.columns, axis=1)
        return N @ np.array([r(c) for r in self.rates])

    def run(self, c0, t_end, dt):
        c = np.array(c0, dtype=float)
        for _ in range(int(round(t_end / dt))):
            k1 = self(c)
            k2 = self(c + dt / 2 * k1)
            c += dt * k2
            c[c < 0] = 0
        return c


@program(lambda rng: (rng.uniform(0.5, 2, 3), rng.uniform(0.5, 1.5, 4), 50))
def reaction_network(k, c0, steps):
    net = ReactionNetwork("ABCD").add("AB", "C", k[0]).add("C", "AB", k[1]).add("C", "DA", k[2])
    final = net.run(c0, steps * 0.01, 0.01)
    balance = (c0[1] + c0[2] + c0[3]) - (final[1] + final[2] + final[3])
    assert abs(balance) < 1e-6, f"mass is not conserved: {balance}"
    return dict(zip(net.species, final)), net(final)


@program(lambda rng: (np.linspace(0, 10, 120), rng.uniform(1, 9, 3), rng.uniform(0.5, 2, 3), rng.normal(0, 0.01, 120)))
def chromatogram(t, centres, heights, noise):
    """Peaks are named tuples in a list, sorted by a key, filtered by a comprehension."""
    signal = noise.copy()
    for c, h in zip(centres, heights):
        signal += h * np.exp(-(((t - c) / 0.2) ** 2) / 2)
    smooth = np.convolve(signal, np.ones(5) / 5, mode="same")
    peaks = []
    for i in range(2, len(t) - 2):
        if smooth[i] > 0.3 and smooth[i] >= smooth[i - 2 : i + 3].max():
            half = smooth[i] / 2
            left = i
            while left > 0 and smooth[left] > half:
                left -= 1
            right = i
            while right < len(t) - 1 and smooth[right] > half:
                right += 1
            peaks.append(Peak(t[i], smooth[i], t[right] - t[left]))
    peaks.sort(key=lambda p: p.height, reverse=True)
    wide = [p for p in peaks if p.width > 0.45]
    if not peaks:
        raise ValueError("no peaks")
    return peaks[0], len(peaks), len(wide)


@program(lambda rng: (rng.normal(0, 0.02, 80) + np.linspace(1, 2, 80) ** 2, 1e4, 0.01))
def baseline_als(y, lam, p, niter=10):
    """Asymmetric least squares; the weights of each pass depend on the last one."""
    n = len(y)
    y = y.copy()
    y[n // 3 : n // 3 + 6] += 3.0
    D = np.diff(np.eye(n), 2, axis=0)
    penalty = lam * D.T @ D
    w = np.ones(n)
    for it in range(niter):
        z = np.linalg.solve(np.diag(w) + penalty, w * y)
        new = p * (y > z) + (1 - p) * (y < z)
        if np.array_equal(new, w):
            print("weights settled after", it)
            break
        w = new
    corrected = y - z
    corrected[corrected < 0] = 0
    return z, corrected.argmax(), corrected.max()


@program(lambda rng: (rng.uniform(0.8, 1.2), 3))
def numerov_levels(omega, levels, n=400):
    """Shooting: nodes are counted, an interval is halved; a nested function sees and counts calls."""
    x = np.linspace(-6, 6, n)
    h2 = (x[1] - x[0]) ** 2
    V = 0.5 * omega**2 * x**2
    calls = 0

    def nodes(E):
        nonlocal calls
        calls += 1
        f = 1 + 2 * (E - V) * h2 / 12
        psi = np.zeros(n)
        psi[1] = 1e-6
        count = 0
        for i in range(1, n - 1):
            psi[i + 1] = ((12 - 10 * f[i]) * psi[i] - f[i - 1] * psi[i - 1]) / f[i + 1]
            if psi[i + 1] * psi[i] < 0:
                count += 1
        return count

    energies = []
    for level in range(levels):
        lo, hi = 0.0, 10.0
        while hi - lo > 1e-6:
            mid = 0.5 * (lo + hi)
            if nodes(mid) > level:
                hi = mid
            else:
                lo = mid
        energies.append(lo)
    return np.array(energies), calls


@program(lambda rng: (rng.integers(0, 2, 6), rng.uniform(-1.5, -0.5)))
def huckel(extra, beta):
    """Orbitals are filled by electrons; degenerate levels are found by rounding."""
    n = len(extra)
    H = np.zeros((n, n))
    for i in range(n):
        H[i, (i + 1) % n] = H[(i + 1) % n, i] = beta
    np.fill_diagonal(H, -0.5 * extra)
    E, C = np.linalg.eigh(H)
    electrons = int(n + extra.sum())
    occupation = np.zeros(n, dtype=int)
    for level in range(n):
        take = min(2, electrons)
        occupation[level] = take
        electrons -= take
        if electrons == 0:
            break
    density = (C**2 * occupation).sum(axis=1)
    bond = np.array([(occupation * C[i] * C[(i + 1) % n]).sum() for i in range(n)])
    homo = E[occupation > 0].max()
    lumo = E[occupation == 0].min() if (occupation == 0).any() else None
    gap = None if lumo is None else lumo - homo
    return E, density.sum(), bond.sum(), occupation, gap
