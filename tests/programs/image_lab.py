"""Image processing as in lab sheets: stencils with loops and with slices, transforms, matching, colour."""

import math

import numpy as np

from .registry import program


def picture(rng, h=24, w=20):
    y, x = np.mgrid[:h, :w]
    image = 100 + 60 * np.sin(x / rng.uniform(2, 4)) * np.cos(y / rng.uniform(2, 4)) + rng.normal(0, 5, (h, w))
    return np.clip(image, 0, 255).astype(np.uint8)


@program(lambda rng: (picture(rng), 25, 60))
def canny(image, low, high):
    """Gradients, thinning by direction with an if chain, and hysteresis that grows until nothing changes."""
    img = image.astype(float)
    gy, gx = np.gradient(img)
    magnitude = np.hypot(gx, gy)
    magnitude *= 255 / magnitude.max()
    angle = np.rad2deg(np.arctan2(gy, gx)) % 180
    h, w = img.shape
    thin = np.zeros_like(magnitude)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            a = angle[i, j]
            if a < 22.5 or a >= 157.5:
                q, r = magnitude[i, j + 1], magnitude[i, j - 1]
            elif a < 67.5:
                q, r = magnitude[i + 1, j + 1], magnitude[i - 1, j - 1]
            elif a < 112.5:
                q, r = magnitude[i + 1, j], magnitude[i - 1, j]
            else:
                q, r = magnitude[i - 1, j + 1], magnitude[i + 1, j - 1]
            if magnitude[i, j] >= max(q, r):
                thin[i, j] = magnitude[i, j]
    strong = thin >= high
    weak = (thin >= low) & ~strong
    while True:
        grown = np.zeros_like(strong)
        grown[1:-1, 1:-1] = (
            strong[:-2, 1:-1] | strong[2:, 1:-1] | strong[1:-1, :-2] | strong[1:-1, 2:] | strong[:-2, :-2] | strong[2:, 2:]
        )
        promoted = weak & grown
        if not promoted.any():
            break
        strong |= promoted
        weak &= ~promoted
    return strong, strong.sum()


@program(lambda rng: (rng.integers(0, 30, (40, 2)),))
def hough_lines(points):
    """Votes for lines through points; the strongest three by argsort of the flat table."""
    thetas = np.deg2rad(np.arange(-90, 90, 5))
    diagonal = int(np.ceil(np.sqrt(2) * 30))
    votes = np.zeros((2 * diagonal + 1, len(thetas)), dtype=np.int64)
    for x, y in points:
        for t in range(len(thetas)):
            rho = int(round(x * np.cos(thetas[t]) + y * np.sin(thetas[t]))) + diagonal
            votes[rho, t] += 1
    best = np.argsort(votes.ravel(), kind="stable")[::-1][:3]
    rhos, angles = np.unravel_index(best, votes.shape)
    return rhos - diagonal, np.rad2deg(thetas[angles]), votes.max()


@program(lambda rng: (picture(rng), 0.05, 4))
def harris_corners(image, k, count):
    """Products of gradients, smoothed; corners are taken one after the other, their surroundings cleared."""

    def smooth(a):
        p = np.pad(a, 1, mode="edge")
        return sum(p[i : i + a.shape[0], j : j + a.shape[1]] for i in range(3) for j in range(3)) / 9

    img = image / 255.0
    ix = np.zeros_like(img)
    iy = np.zeros_like(img)
    ix[:, 1:-1] = img[:, 2:] - img[:, :-2]
    iy[1:-1] = img[2:] - img[:-2]
    sxx, syy, sxy = smooth(ix * ix), smooth(iy * iy), smooth(ix * iy)
    response = sxx * syy - sxy**2 - k * (sxx + syy) ** 2
    corners = []
    for _ in range(count):
        i, j = divmod(int(response.argmax()), response.shape[1])
        corners.append((i, j))
        response[max(0, i - 2) : i + 3, max(0, j - 2) : j + 3] = -np.inf
    return corners


@program(lambda rng: (picture(rng) > 110, 3))
def morphology(binary, size):
    """Erosion, dilation and what is made of them, as functions that take functions."""

    def slide(image, reduce):
        pad = size // 2
        padded = np.pad(image, pad, mode="constant", constant_values=reduce is np.all)
        out = np.empty_like(image)
        for i in range(image.shape[0]):
            for j in range(image.shape[1]):
                out[i, j] = reduce(padded[i : i + size, j : j + size])
        return out

    erode = lambda a: slide(a, np.all)
    dilate = lambda a: slide(a, np.any)
    opened = dilate(erode(binary))
    closed = erode(dilate(binary))
    return {"opened": opened, "closed": closed, "gradient": dilate(binary) ^ erode(binary), "area": opened.sum()}


@program(lambda rng: (picture(rng, 14, 12), 2.0, 20.0))
def bilateral_filter(image, sigma_s, sigma_r):
    """Weights from distances in space and in brightness, with four loops."""
    radius = math.ceil(2 * sigma_s) // 2
    h, w = image.shape
    out = np.zeros((h, w))
    img = image.astype(np.float64)
    for y in range(h):
        for x in range(w):
            total = weight_sum = 0.0
            for dy in range(-radius, radius + 1):
                for dx in range(-radius, radius + 1):
                    yy = min(max(y + dy, 0), h - 1)
                    xx = min(max(x + dx, 0), w - 1)
                    difference = img[yy, xx] - img[y, x]
                    weight = math.exp(-(dx * dx + dy * dy) / (2 * sigma_s**2) - difference**2 / (2 * sigma_r**2))
                    total += weight * img[yy, xx]
                    weight_sum += weight
            out[y, x] = total / weight_sum
    return np.rint(out).astype(np.uint8)


@program(lambda rng: (picture(rng), 15, 0.2, "exponential"))
def anisotropic_diffusion(image, iterations, step, kind):
    """Perona and Malik; which function of the gradient is used a text decides."""
    u = image.astype(np.float32)
    kappa = np.float32(20)
    for _ in range(iterations):
        north, south = np.roll(u, 1, 0) - u, np.roll(u, -1, 0) - u
        west, east = np.roll(u, 1, 1) - u, np.roll(u, -1, 1) - u
        for d in (north, south, west, east):
            if kind == "exponential":
                c = np.exp(-((d / kappa) ** 2))
            elif kind == "quadratic":
                c = 1 / (1 + (d / kappa) ** 2)
            else:
                raise ValueError(f"unknown kind {kind!r}")
            d *= c
        u += np.float32(step) * (north + south + west + east)
    return u, u.dtype.name, u.std()


@program(lambda rng: (picture(rng), picture(rng, 16, 16)))
def match_histograms(source, reference):
    """Cumulative histograms, interpolated."""

    def cdf(image):
        counts = np.bincount(image.ravel(), minlength=256)
        return counts.cumsum() / image.size

    mapping = np.interp(cdf(source), cdf(reference), np.arange(256))
    return mapping[source].astype(np.uint8)


@program(lambda rng: (picture(rng, 16, 14), 4))
def carve_seams(image, count):
    """The cheapest way down is taken out, again and again; the image gets narrower."""
    img = image.astype(float)
    removed = np.zeros((count, img.shape[0]), dtype=int)
    for s in range(count):
        energy = np.abs(np.gradient(img, axis=0)) + np.abs(np.gradient(img, axis=1))
        h, w = energy.shape
        cost = energy.copy()
        for i in range(1, h):
            left = np.r_[np.inf, cost[i - 1, :-1]]
            right = np.r_[cost[i - 1, 1:], np.inf]
            cost[i] += np.minimum(np.minimum(left, cost[i - 1]), right)
        seam = np.zeros(h, dtype=int)
        seam[-1] = cost[-1].argmin()
        for i in range(h - 2, -1, -1):
            lo = max(seam[i + 1] - 1, 0)
            hi = min(seam[i + 1] + 2, w)
            seam[i] = lo + cost[i, lo:hi].argmin()
        removed[s] = seam
        keep = np.ones((h, w), dtype=bool)
        keep[np.arange(h), seam] = False
        img = img[keep].reshape(h, w - 1)
    return img, removed


@program(lambda rng: (picture(rng), int(rng.integers(3, 12)), int(rng.integers(2, 9))))
def match_template(image, top, left):
    """Normalized correlation at every place; the best place by unravel_index."""
    template = image[5:11, 5:11].astype(float)
    h, w = template.shape
    t = template - template.mean()
    scores = np.full((image.shape[0] - h + 1, image.shape[1] - w + 1), -1.0)
    for i, j in np.ndindex(*scores.shape):
        patch = image[i : i + h, j : j + w] - np.mean(image[i : i + h, j : j + w])
        norm = np.sqrt((patch**2).sum() * (t**2).sum())
        if norm > 0:
            scores[i, j] = (patch * t).sum() / norm
    place = np.unravel_index(scores.argmax(), scores.shape)
    window = image[top : top + h, left : left + w]
    return place, scores[place], scores[top, left], window.mean()


@program(lambda rng: (rng.integers(0, 256, (40, 3)).astype(np.uint8), 4))
def quantize_colours(pixels, k):
    """K-means on colours, with empty clusters looked after, until the palette stays."""
    data = pixels.astype(np.float64)
    palette = data[np.linspace(0, len(data) - 1, k).astype(int)]
    for iteration in range(50):
        distances = ((data[:, None, :] - palette[None, :, :]) ** 2).sum(-1)
        nearest = distances.argmin(1)
        new_palette = palette.copy()
        for c in range(k):
            members = data[nearest == c]
            if len(members) > 0:
                new_palette[c] = members.mean(axis=0)
        if np.allclose(new_palette, palette, atol=0.5):
            break
        palette = new_palette
    hexes = ["#" + "".join(f"{int(v):02x}" for v in colour) for colour in palette]
    return palette.round().astype(np.uint8), nearest, iteration, hexes


@program(lambda rng: (picture(rng, 21, 21), rng.uniform(10, 80)))
def rotate_image(image, degrees):
    """Inverse mapping with bilinear weights; what lies outside becomes black."""
    theta = np.deg2rad(degrees)
    h, w = image.shape
    cy, cx = (h - 1) / 2, (w - 1) / 2
    out = np.zeros_like(image)
    rotation = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    for y in range(h):
        for x in range(w):
            sy, sx = rotation @ np.array([y - cy, x - cx]) + [cy, cx]
            y0, x0 = int(np.floor(sy)), int(np.floor(sx))
            if not (0 <= y0 < h - 1 and 0 <= x0 < w - 1):
                continue
            fy, fx = sy - y0, sx - x0
            top = (1 - fx) * image[y0, x0] + fx * image[y0, x0 + 1]
            bottom = (1 - fx) * image[y0 + 1, x0] + fx * image[y0 + 1, x0 + 1]
            out[y, x] = (1 - fy) * top + fy * bottom
    return out


def dct_matrix(n):
    k = np.arange(n)
    m = np.sqrt(2 / n) * np.cos(np.pi * (2 * k[None, :] + 1) * k[:, None] / (2 * n))
    m[0] /= np.sqrt(2)
    return m


@program(lambda rng: (picture(rng, 16, 24), int(rng.integers(30, 90))))
def compress_blocks(image, quality):
    """Cosine transforms of blocks, quantized by a table that the quality scales."""
    scale = 5000 / quality if quality < 50 else 200 - 2 * quality
    table = np.add.outer(np.arange(8), np.arange(8)) * 6 + 10
    table = np.clip((table * scale + 50) // 100, 1, 255)
    d = dct_matrix(8)
    out = np.zeros(image.shape, dtype=np.uint8)
    nonzero = 0
    for by in range(0, image.shape[0], 8):
        for bx in range(0, image.shape[1], 8):
            block = image[by : by + 8, bx : bx + 8].astype(float) - 128
            coefficients = np.round(d @ block @ d.T / table)
            nonzero += np.count_nonzero(coefficients)
            out[by : by + 8, bx : bx + 8] = np.clip(d.T @ (coefficients * table) @ d + 128, 0, 255)
    error = np.mean((image.astype(float) - out) ** 2)
    psnr = 10 * np.log10(255**2 / error) if error > 0 else np.inf
    return out, nonzero, psnr


@program(lambda rng: (rng.random((6, 5, 3)),))
def to_hue_and_back(rgb):
    """Colour spaces with masks, and back with np.choose of sextants."""
    r, g, b = np.moveaxis(rgb, -1, 0)
    value = rgb.max(axis=-1)
    chroma = np.ptp(rgb, axis=-1)
    hue = np.zeros_like(value)
    mask = chroma > 0
    rm = mask & (value == r)
    gm = mask & (value == g) & ~rm
    bm = mask & (value == b) & ~rm & ~gm
    hue[rm] = ((g - b)[rm] / chroma[rm]) % 6
    hue[gm] = (b - r)[gm] / chroma[gm] + 2
    hue[bm] = (r - g)[bm] / chroma[bm] + 4
    saturation = np.divide(chroma, value, out=np.zeros_like(value), where=value > 0)
    sextant = np.floor(hue).astype(int) % 6
    f = hue - np.floor(hue)
    p, q, t = value * (1 - saturation), value * (1 - saturation * f), value * (1 - saturation * (1 - f))
    back = np.stack(
        [
            np.choose(sextant, [value, q, p, p, t, value]),
            np.choose(sextant, [t, value, value, q, p, p]),
            np.choose(sextant, [p, p, t, value, value, q]),
        ],
        axis=-1,
    )
    return hue * 60, saturation, np.allclose(back, rgb)


@program(lambda rng: (picture(rng), rng.uniform(-0.6, 0.6, 2)))
def lucas_kanade(first, shift):
    """Optical flow at a few points; singular windows are caught."""
    a = first.astype(float)
    dy, dx = shift
    gy, gx = np.gradient(a)
    b = a - dy * gy - dx * gx
    flows = {}
    for y, x in [(6, 6), (12, 10), (17, 13)]:
        window = np.s_[y - 3 : y + 4, x - 3 : x + 4]
        A = np.column_stack([gx[window].ravel(), gy[window].ravel()])
        residual = (a - b)[window].ravel()
        try:
            flows[y, x] = np.linalg.solve(A.T @ A, A.T @ residual)
        except np.linalg.LinAlgError:
            flows[y, x] = np.array([np.nan, np.nan])
    return flows, np.mean(list(flows.values()), axis=0)


@program(lambda rng: (picture(rng, 20, 20) > 90,))
def thin_lines(binary):
    """Zhang and Suen: two passes in turn until no pixel goes."""
    img = np.pad(binary, 1).astype(np.uint8)

    def neighbours(y, x):
        return [
            img[y - 1, x], img[y - 1, x + 1], img[y, x + 1], img[y + 1, x + 1],
            img[y + 1, x], img[y + 1, x - 1], img[y, x - 1], img[y - 1, x - 1],
        ]  # fmt: skip

    def transitions(n):
        return sum((a, b) == (0, 1) for a, b in zip(n, n[1:] + n[:1]))

    changed, passes = True, 0
    while changed:
        changed = False
        for step in (0, 1):
            to_clear = []
            for y in range(1, img.shape[0] - 1):
                for x in range(1, img.shape[1] - 1):
                    if img[y, x] == 0:
                        continue
                    n = neighbours(y, x)
                    if not 2 <= sum(n) <= 6 or transitions(n) != 1:
                        continue
                    p2, p4, p6, p8 = n[0], n[2], n[4], n[6]
                    first = p2 * p4 * p6 if step == 0 else p2 * p4 * p8
                    second = p4 * p6 * p8 if step == 0 else p2 * p6 * p8
                    if first == 0 and second == 0:
                        to_clear.append((y, x))
            for y, x in to_clear:
                img[y, x] = 0
                changed = True
        passes += 1
    return img[1:-1, 1:-1], passes


@program(lambda rng: (picture(rng, 32, 32), 3))
def laplacian_pyramid(image, levels):
    """A list of images of decreasing size, and the image put together again."""

    def down(a):
        return (a[::2, ::2] + a[1::2, ::2] + a[::2, 1::2] + a[1::2, 1::2]) / 4

    def up(a):
        return np.repeat(np.repeat(a, 2, axis=0), 2, axis=1)

    gaussian = [image.astype(float)]
    for _ in range(levels):
        gaussian.append(down(gaussian[-1]))
    details = [g - up(smaller) for g, smaller in zip(gaussian, gaussian[1:])]
    result = gaussian[-1]
    for detail in reversed(details):
        result = up(result) + detail
    return [d.std() for d in details], gaussian[-1], np.abs(result - image).max()
