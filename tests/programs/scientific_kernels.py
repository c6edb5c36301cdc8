"""Short programs of several sciences."""

import math

import numpy as np

from .registry import program


@program(
    lambda rng: (rng.uniform(0, 10, 400), rng.uniform(size=400), 12),
    lambda found, r, data, n: np.all((0 < found) & (found < 1)),
)
def azimuthal_integration(radius, data, npt):
    rmax = radius.max()
    res = np.zeros(npt, dtype=np.float64)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask_r12 = np.logical_and((r1 <= radius), (radius < r2))
        values_r12 = data[mask_r12]
        res[i] = values_r12.mean()
    return res


def histogram_check(found, data, weights, bins):
    return np.allclose(found, np.histogram(data, bins, weights=weights)[0])


@program(lambda rng: (rng.normal(size=200), rng.uniform(size=200), 15), histogram_check)
def weighted_histogram(data, weights, bins):
    a_min, a_max = np.min(data), np.max(data)
    counts = np.zeros((bins,), weights.dtype)
    for i in range(data.size):
        x = data[i]
        if x == a_max:
            counts[bins - 1] += weights[i]
        else:
            k = int(bins * (x - a_min) / (a_max - a_min))
            if 0 <= k < bins:
                counts[k] += weights[i]
    return counts


@program(lambda rng: (rng.uniform(0, 10, 400), rng.normal(size=400), 12), lambda found, r, data, n: found.shape == (12,))
def azimuthal_histogram(radius, data, npt):
    """The mean of the data on each ring, by two histograms."""
    counts, _ = np.histogram(radius, npt)
    sums, _ = np.histogram(radius, npt, weights=data)
    return sums / counts


def ring_edges(radius, bins):
    edges = np.empty(bins + 1)
    smallest, largest = radius.min(), radius.max()
    for k in range(bins):
        edges[k] = smallest + k * (largest - smallest) / bins
    edges[-1] = largest
    return edges


def ring_of(value, edges):
    count = len(edges) - 1
    if value == edges[-1]:
        return count - 1
    return int(count * (value - edges[0]) / (edges[-1] - edges[0]))


@program(lambda rng: (rng.uniform(0, 10, 400), rng.normal(size=400), 12), lambda found, r, data, n: found[0].shape == (12,))
def azimuthal_histogram_by_hand(radius, data, npt):
    edges = ring_edges(radius, npt)
    counts = np.zeros(npt, dtype=np.int64)
    for value in radius.flat:
        counts[ring_of(value, edges)] += 1
    sums = np.zeros(npt, dtype=data.dtype)
    for i in range(radius.shape[0]):
        sums[ring_of(radius[i], edges)] += data[i]
    return sums / counts, edges


@program(lambda rng: (8, 6, rng.normal(size=(3, 6, 6)) + 1j * rng.normal(size=(3, 6, 6)), rng.normal(size=(6, 4)) + 0j))
def contour_integral(count, size, terms, Y):
    P0 = np.zeros((size, Y.shape[1]), dtype=np.complex128)
    P1 = np.zeros((size, Y.shape[1]), dtype=np.complex128)
    for k in range(count):
        z = 3 * np.exp(2j * np.pi * (k + 0.5) / count)
        Tz = np.zeros((size, size), dtype=np.complex128)
        for n in range(terms.shape[0]):
            Tz += np.power(z, 1 - n) * terms[n]
        if size == Y.shape[1]:
            X = np.linalg.inv(Tz)
        else:
            X = np.linalg.solve(Tz, Y)
        if abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


def self_energy_arguments(rng, Nkz=2, NE=6, Nqz=2, Nw=2, NA=3, NB=2, Norb=3):
    def complexes(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)

    neighbours = rng.integers(0, NA, (NA, NB)).astype(np.int32)
    return neighbours, complexes(NA, NB, 3, Norb, Norb), complexes(Nkz, NE, NA, Norb, Norb), complexes(Nqz, Nw, NA, NB, 3, 3)


@program(self_energy_arguments, lambda found, *given: found.shape == (2, 6, 3, 3, 3))
def scattering_self_energies(neigh_idx, dH, G, D):
    Sigma = np.zeros_like(G)
    for k in range(G.shape[0]):
        for E in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    if E - w < 0:
                        continue
                    for a in range(neigh_idx.shape[0]):
                        for b in range(neigh_idx.shape[1]):
                            for i in range(3):
                                dHG = G[(k - q) % G.shape[0], E - w, neigh_idx[a, b]] @ dH[a, b, i]
                                for j in range(i, 3):
                                    Sigma[k, E, a] += dHG @ (dH[a, b, j] * D[q, w, a, b, i, j])
    return Sigma


def sparse_matrix(rng, rows=20, columns=15):
    dense = rng.normal(size=(rows, columns)) * (rng.uniform(size=(rows, columns)) < 0.3)
    dense.flat[rng.choice(rows * columns, 90, replace=False)] = 1.0
    chosen = np.sort(rng.choice(rows * columns, 90, replace=False))
    pointers = np.searchsorted(chosen, np.arange(rows + 1) * columns)
    return pointers, chosen % columns, dense.flat[chosen], rng.normal(size=columns)


def product_check(found, rows, columns, values, x):
    dense = np.zeros((len(rows) - 1, len(x)))
    dense[np.repeat(np.arange(len(rows) - 1), np.diff(rows)), columns] = values
    return np.allclose(found, dense @ x)


@program(sparse_matrix, product_check)
def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)
    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


@program(
    lambda rng: (rng.normal(size=81) + 1j * rng.normal(size=81), 3, 4), lambda found, x, R, K: np.allclose(found, np.fft.fft(x))
)
def stockham_fft(x, R, K):
    """Radix R, K stages; each writes its results in order."""
    N = R**K
    i_coord, j_coord = np.mgrid[0:R, 0:R]
    dft_mat = np.exp(-2j * np.pi * i_coord * j_coord / R)
    y = x.copy()
    for i in range(K):
        groups = R**i
        rest = R ** (K - i - 1)
        y = np.reshape(y, (R, rest, groups))
        angles = np.arange(R)[:, None] * np.arange(groups)[None, :]
        D = np.exp(-2j * np.pi * angles / (groups * R))
        twiddled = y * D[:, None, :]
        y = np.einsum("kr,rsg->skg", dft_mat, twiddled)
        y = np.reshape(y, (N,))
    return y


@program(
    lambda rng: (rng.normal(size=81) + 1j * rng.normal(size=81), np.empty(81, np.complex128), 3, 4),
    lambda found, x, y, R, K: np.allclose(found[1], np.fft.fft(x)),
)
def stockham_fft_in_place(x, y, R, K):
    """The same in matrices that are transposed and twiddled as a whole."""
    N = R**K
    rows, columns = np.mgrid[0:R, 0:R]
    dft_matrix = np.empty((R, R), dtype=np.complex128)
    dft_matrix[:] = np.exp(-2j * np.pi * rows * columns / R)
    lines, places = np.mgrid[0:R, 0:N]
    y[:] = x[:]
    for i in range(K):
        rest = R ** (K - i - 1)
        permuted = np.transpose(np.reshape(y, (R**i, R, rest)), axes=(1, 0, 2))
        factors = np.empty((R, R**i, rest), dtype=np.complex128)
        turns = np.exp(-2j * np.pi * lines[:, : R**i] * places[:, : R**i] / R ** (i + 1))
        factors[:] = np.repeat(np.reshape(turns, (R, R**i, 1)), rest, axis=2)
        twiddled = np.reshape(permuted * factors, (N,))
        y[:] = np.reshape(dft_matrix @ np.reshape(twiddled, (R, N // R)), (N,))


@program(lambda rng: (rng.integers(0, 1000, (16, 12)), rng.integers(0, 1000, (16, 12)), 4, 3, 9))
def compute(array_1, array_2, a, b, c):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


@program(lambda rng: tuple(rng.uniform(-1, 1, 50) for _ in range(4)), lambda found, *given: np.all(found >= 0))
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    temp = np.sin((theta_2 - theta_1) / 2) ** 2 + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * (np.arctan2(np.sqrt(temp), np.sqrt(1 - temp)))


@program(lambda rng: (rng.normal(size=(15, 15)),), lambda found, a: np.allclose(found, a + np.tanh(np.diag(a)).sum()))
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


@program(lambda rng: (-2.0, 0.6, 24, -1.2, 1.2, 20, 60, float(rng.uniform(2, 3))), lambda found, *a: found[1].max() > 40)
def mandelbrot_with_masks(xmin, xmax, xn, ymin, ymax, yn, maxiter, horizon):
    X = np.linspace(xmin, xmax, xn, dtype=np.float64)
    Y = np.linspace(ymin, ymax, yn, dtype=np.float64)
    C = X + Y[:, None] * 1j
    N = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        I = np.less(abs(Z), horizon)
        N[I] = n
        Z[I] = Z[I] ** 2 + C[I]
    N[N == maxiter - 1] = 0
    return Z, N + 1


@program(lambda rng: (-1.9, 0.6, 12, -1.1, 1.2, 10, 40, float(rng.uniform(2, 3))), lambda found, *a: found[1].max() < 41)
def mandelbrot_of_shrinking_arrays(xmin, xmax, xn, ymin, ymax, yn, itermax, horizon):
    """Points that have left are taken out of the arrays."""
    Xi, Yi = np.mgrid[0:xn, 0:yn]
    X = np.linspace(xmin, xmax, xn)[Xi]
    Y = np.linspace(ymin, ymax, yn)[Yi]
    C = X + Y * 1j
    counts = np.zeros(C.shape, dtype=np.int64)
    last = np.zeros(C.shape, dtype=np.complex128)
    Xi.shape = Yi.shape = C.shape = xn * yn
    Z = np.zeros(C.shape, np.complex128)
    for i in range(itermax):
        if not len(Z):
            break
        np.multiply(Z, Z, Z)
        np.add(Z, C, Z)
        gone = abs(Z) > horizon
        counts[Xi[gone], Yi[gone]] = i + 1
        last[Xi[gone], Yi[gone]] = Z[gone]
        np.logical_not(gone, gone)
        Z = Z[gone]
        Xi, Yi = Xi[gone], Yi[gone]
        C = C[gone]
    return last.T, counts.T


@program(lambda rng: (16, 12, 80, float(rng.uniform(-0.8, -0.7)), 0.156), lambda found, *a: found.shape == (12, 16))
def julia_set(width, height, max_iterations, re, im):
    c = complex(re, im)
    counts = np.zeros((height, width), dtype=np.uint16)
    for row in range(height):
        for column in range(width):
            z = complex(3 * column / (width - 1) - 1.5, 2 * row / (height - 1) - 1)
            n = 0
            while abs(z) <= 2 and n < max_iterations:
                z = z * z + c
                n += 1
            counts[row, column] = n
    return counts


@program(lambda rng: (rng.uniform(2, 6, 3), rng.uniform(-1, 1, (6, 3)), 4), lambda found, *a: np.isfinite(found[0]))
def ewald_like_sum(box, positions, cells):
    """A screened potential over the images of a periodic box."""
    charges = np.array([(-1.0) ** k for k in range(len(positions))])
    energy, pairs = 0.0, 0
    for nx in range(-cells // 2, cells // 2 + 1):
        for ny in range(-cells // 2, cells // 2 + 1):
            shift = np.array([nx, ny, 0]) * box
            for i, j in np.ndindex(len(positions), len(positions)):
                if i == j and nx == 0 and ny == 0:
                    continue
                r = math.dist(positions[i], positions[j] + shift)
                if r > 5:
                    continue
                energy += 0.5 * charges[i] * charges[j] * math.erfc(0.5 * r) / r
                pairs += 1
    return energy, pairs
