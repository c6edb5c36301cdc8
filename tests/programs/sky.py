"""Astronomy: orbits, light curves, catalogues, photometry."""

from dataclasses import dataclass, field

import numpy as np

from .registry import program

AU = 1.495978707e8
GM_SUN = 1.32712440018e11
DEG = np.pi / 180
ARCSEC = DEG / 3600


@dataclass
class Elements:
    a: float
    e: float
    i: float
    node: float
    peri: float
    M0: float

    @property
    def period(self):
        return 2 * np.pi * np.sqrt((self.a * AU) ** 3 / GM_SUN)

    def eccentric_anomaly(self, M, tol=1e-12, maxit=50):
        E = M if self.e < 0.8 else np.pi
        for k in range(maxit):
            dE = (E - self.e * np.sin(E) - M) / (1 - self.e * np.cos(E))
            E -= dE
            if abs(dE) < tol:
                return E, k + 1
        raise RuntimeError("Kepler's equation did not converge")

    def state(self, t):
        M = (self.M0 + 2 * np.pi * t / self.period) % (2 * np.pi)
        E, _ = self.eccentric_anomaly(M)
        x = self.a * (np.cos(E) - self.e)
        y = self.a * np.sqrt(1 - self.e**2) * np.sin(E)
        co, so = np.cos(self.node), np.sin(self.node)
        ci, si = np.cos(self.i), np.sin(self.i)
        cw, sw = np.cos(self.peri), np.sin(self.peri)
        R = np.array(
            [
                [co * cw - so * sw * ci, -co * sw - so * cw * ci],
                [so * cw + co * sw * ci, -so * sw + co * cw * ci],
                [sw * si, cw * si],
            ]
        )
        return R @ np.array([x, y])


@program(lambda rng: (rng.uniform(0.5, 3), rng.uniform(0, 0.9), rng.uniform(0, 6, 4), np.linspace(0, 3e7, 12)))
def orbit_positions(a, e, angles, times):
    """An object made of arguments, with a property and a method that returns early."""
    orbit = Elements(a, e, *angles)
    track = np.zeros((len(times), 3))
    for n, t in enumerate(times):
        track[n] = orbit.state(t)
    r = np.linalg.norm(track, axis=1)
    nearest = r.argmin()
    print(f"period {orbit.period / 86400:.3f} d, perihelion near index {nearest}, r={r[nearest]:.4f} AU")
    return {"track": track, "r": r, "nearest": nearest, "orbit": orbit}


def julian_day(year, month, day, hour=0.0):
    if month <= 2:
        year -= 1
        month += 12
    A = year // 100
    B = 2 - A + A // 4
    return int(365.25 * (year + 4716)) + int(30.6001 * (month + 1)) + day + B - 1524.5 + hour / 24


@program(lambda rng: (int(rng.integers(1950, 2050)), int(rng.integers(1, 13)), int(rng.integers(1, 29)), rng.uniform(0, 24)))
def sun_position(year, month, day, hour):
    """Calendar arithmetic with integers, angles reduced with %, and a table as text."""
    jd = julian_day(year, month, day, hour)
    T = (jd - 2451545.0) / 36525
    L0 = (280.46646 + T * (36000.76983 + T * 0.0003032)) % 360
    M = (357.52911 + T * (35999.05029 - 0.0001537 * T)) % 360
    Mr = np.radians(M)
    C = (
        (1.914602 - T * (0.004817 + 0.000014 * T)) * np.sin(Mr)
        + (0.019993 - 0.000101 * T) * np.sin(2 * Mr)
        + 0.000289 * np.sin(3 * Mr)
    )
    lam = np.radians(L0 + C)
    eps = np.radians(23.439291 - 0.0130042 * T)
    ra = np.degrees(np.arctan2(np.cos(eps) * np.sin(lam), np.cos(lam))) % 360
    dec = np.degrees(np.arcsin(np.sin(eps) * np.sin(lam)))
    h, rest = divmod(ra / 15, 1)
    m, rest = divmod(rest * 60, 1)
    sign = "-" if dec < 0 else "+"
    text = f"RA {int(h):02d}h{int(m):02d}m Dec {sign}{abs(dec):05.2f}"
    print(text)
    season = "spring" if lam % (2 * np.pi) < np.pi / 2 else "summer" if lam % (2 * np.pi) < np.pi else "other"
    return jd, ra, dec, season


@program(lambda rng: (rng.normal(10, 1, 80) + 20 * (rng.random(80) < 0.1), 3.0))
def sigma_clip(data, nsigma, maxiters=None):
    """An array that becomes shorter until nothing is removed; maxiters None means without a limit."""
    good = np.ones(data.shape, dtype=bool)
    iteration = 0
    while maxiters is None or iteration < maxiters:
        mean, std = data[good].mean(), data[good].std()
        new = np.abs(data - mean) < nsigma * std
        new &= good
        iteration += 1
        if new.sum() == good.sum():
            break
        good = new
    clipped = data[~good]
    return np.median(data[good]), data[good].std(ddof=1), clipped, iteration


@program(lambda rng: (rng.uniform(0, 1, (15, 2)), rng.permutation(15), rng.normal(0, 1e-3, (15, 2)), 5e-3))
def cross_match(catalogue, order, shifts, radius):
    """The nearest of another catalogue, when it is near enough; a dict of matches and a list of what is left."""
    other = (catalogue + shifts)[order]
    matches, lonely = {}, []
    for i, (ra, dec) in enumerate(catalogue):
        d2 = (other[:, 0] - ra) ** 2 * np.cos(dec) ** 2 + (other[:, 1] - dec) ** 2
        j = int(np.argmin(d2))
        if d2[j] < radius**2:
            matches[i] = j
        else:
            lonely.append(i)
    sep = np.array([np.hypot(*(catalogue[i] - other[j])) for i, j in matches.items()])
    print(len(matches), "matched,", len(lonely), "left", f"mean separation {sep.mean() / ARCSEC:.1f} arcsec")
    return matches, lonely, sep.max()


def star_field(rng, n):
    y, x = np.mgrid[:n, :n]
    image = rng.normal(100, 2, (n, n))
    for _ in range(4):
        cx, cy = rng.uniform(6, n - 6, 2)
        image += rng.uniform(200, 900) * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / 4)
    return image


@program(lambda rng: (star_field(rng, 36), 60.0))
def aperture_photometry(image, threshold, r_in=4, r_out=6):
    """Finds the brightest pixel, measures around it, masks it out, as long as something is there."""
    img = image.copy()
    ny, nx = img.shape
    yy, xx = np.indices(img.shape)
    sky = np.median(img)
    stars = []
    while len(stars) < 10:
        y0, x0 = np.unravel_index(img.argmax(), img.shape)
        if img[y0, x0] - sky < threshold:
            break
        d = np.hypot(xx - x0, yy - y0)
        aperture = d <= r_in
        ring = (d > r_in) & (d <= r_out)
        background = np.median(image[ring])
        flux = (image[aperture] - background).sum()
        cx = (xx[aperture] * (image[aperture] - background)).sum() / flux
        cy = (yy[aperture] * (image[aperture] - background)).sum() / flux
        stars.append((cx, cy, -2.5 * np.log10(flux) + 25))
        img[d <= r_out] = sky
    table = np.array(stars)
    return table[np.argsort(table[:, 2])]


@dataclass
class Body:
    name: str
    m: float
    x: np.ndarray
    v: np.ndarray
    trail: list = field(default_factory=list)


@program(lambda rng: (rng.uniform(0.9, 1.1), 20))
def solar_system(scale, steps, dt=0.02):
    """Bodies in a list; a leapfrog that walks over pairs and changes attributes in place."""
    bodies = [
        Body("sun", 1.0, np.zeros(3), np.zeros(3)),
        Body("earth", 3e-6, np.array([scale, 0, 0]), np.array([0, 1.0, 0])),
        Body("jupiter", 1e-3, np.array([0, 5.2 * scale, 0]), np.array([-0.44, 0, 0.01])),
    ]

    def forces():
        acc = {b.name: np.zeros(3) for b in bodies}
        for i, p in enumerate(bodies):
            for q in bodies[i + 1 :]:
                d = q.x - p.x
                inv = 1 / np.sum(d**2) ** 1.5
                acc[p.name] += q.m * d * inv
                acc[q.name] -= p.m * d * inv
        return acc

    acc = forces()
    for step in range(steps):
        for b in bodies:
            b.v += 0.5 * dt * acc[b.name]
            b.x += dt * b.v
        acc = forces()
        for b in bodies:
            b.v += 0.5 * dt * acc[b.name]
        if step % 10 == 0:
            for b in bodies:
                b.trail.append(b.x.copy())
    energy = sum(0.5 * b.m * (b.v @ b.v) for b in bodies)
    return {b.name: (b.x, np.array(b.trail)) for b in bodies}, energy


@program(lambda rng: (rng.uniform(3000, 9000, 3), np.linspace(300, 1100, 40)))
def blackbody_colours(temperatures, nm):
    """Constants of a module, broadcasting over two axes, an index by name."""
    h, c, kB = 6.62607015e-34, 2.99792458e8, 1.380649e-23
    lam = nm * 1e-9
    with np.errstate(over="ignore"):
        B = 2 * h * c**2 / lam[None, :] ** 5 / np.expm1(h * c / (lam[None, :] * kB * temperatures[:, None]))
    bands = {"B": (445, 94), "V": (551, 88), "R": (658, 138)}
    mags = {}
    for name, (centre, width) in bands.items():
        inside = np.abs(nm - centre) < width / 2
        mags[name] = -2.5 * np.log10(np.trapezoid(B[:, inside], lam[inside], axis=1))
    BV = mags["B"] - mags["V"]
    BV -= BV.min()
    labels = np.where(temperatures > 7500, "A", np.where(temperatures > 6000, "F", np.where(temperatures > 5200, "G", "K")))
    wien = nm[B.argmax(axis=1)]
    return BV, labels, wien
