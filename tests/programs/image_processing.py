"""Image processing on gray and coloured images."""

import numpy as np

from .registry import program


def picture(rng, height=24, width=32):
    return rng.integers(0, 256, (height, width), dtype=np.uint8)


@program(
    lambda rng: (rng.integers(0, 256, (12, 16, 3), dtype=np.uint8), 2.2),
    lambda found, rgb, gamma: np.all((rgb.min(axis=2) <= found) & (found <= rgb.max(axis=2))),
)
def to_gray(rgb, gamma):
    """Weighted channels, gamma, and back to bytes."""
    linear = (rgb / 255.0) ** gamma
    gray = linear @ np.array([0.2126, 0.7152, 0.0722])
    encoded = np.clip(gray ** (1 / gamma) * 255 + 0.5, 0, 255)
    return encoded.astype(np.uint8)


@program(lambda rng: (picture(rng),), lambda found, image: found[0].max() == 255 and found[0][0].max() == 0)
def sobel_edges(image):
    image = image.astype(float)
    height, width = image.shape
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    gx, gy = np.zeros((height, width)), np.zeros((height, width))
    for i in range(1, height - 1):
        for j in range(1, width - 1):
            patch = image[i - 1 : i + 2, j - 1 : j + 2]
            gx[i, j] = np.sum(patch * kernel)
            gy[i, j] = np.sum(patch * kernel.T)
    magnitude = np.hypot(gx, gy)
    if magnitude.max() > 0:
        magnitude *= 255 / magnitude.max()
    return np.rint(magnitude).astype(np.uint8), np.arctan2(gy, gx)


@program(
    lambda rng: (np.where(rng.random((20, 20)) < 0.4, picture(rng, 20, 20) // 3, 160 + picture(rng, 20, 20) // 4),),
    lambda found, image: 84 <= found[0] < 160 and np.array_equal(found[1], image > 100),
)
def otsu_threshold(image):
    """The threshold that divides a histogram best, and the picture divided by it."""
    histogram = np.zeros(256, dtype=np.int64)
    for value in image.ravel():
        histogram[value] += 1
    total = image.size
    weighted = np.dot(np.arange(256), histogram)
    below = sum_below = 0
    best, threshold = -1.0, 0
    for t in range(256):
        below += histogram[t]
        if below == 0:
            continue
        if below == total:
            break
        sum_below += t * histogram[t]
        mean_below = sum_below / below
        mean_above = (weighted - sum_below) / (total - below)
        between = below * (total - below) * (mean_below - mean_above) ** 2
        if between > best:
            best, threshold = between, t
    return threshold, image > threshold


def gaussian(sigma):
    radius = int(np.ceil(3 * sigma))
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-(x**2) / (2 * sigma**2))
    return weights / weights.sum()


@program(
    lambda rng: (picture(rng), 1.2),
    lambda found, image, sigma: abs(found.mean() - image.mean()) < 4 and found.std() < image.std() / 2,
)
def gaussian_blur(image, sigma):
    """Separable, with reflected borders."""
    kernel = gaussian(sigma)
    radius = len(kernel) // 2
    padded = np.pad(image.astype(float), radius, mode="reflect")
    rows = np.zeros((padded.shape[0], image.shape[1]))
    for k, weight in enumerate(kernel):
        rows += weight * padded[:, k : k + image.shape[1]]
    blurred = np.zeros(image.shape)
    for k, weight in enumerate(kernel):
        blurred += weight * rows[k : k + image.shape[0]]
    return np.rint(blurred).astype(image.dtype)


@program(lambda rng: ((rng.random((16, 16)) < 0.65).astype(int), 8, 8, 7))
def flood_fill(image, row, column, colour):
    """Fills in place, with a stack; returns how many cells it has changed."""
    old = image[row, column]
    if old == colour:
        return 0
    stack = [(row, column)]
    filled = 0
    while stack:
        i, j = stack.pop()
        if i < 0 or j < 0 or i >= image.shape[0] or j >= image.shape[1]:
            continue
        if image[i, j] != old:
            continue
        image[i, j] = colour
        filled += 1
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            stack.append((i + di, j + dj))
    return filled


@program(
    lambda rng: (rng.random((14, 18)) < 0.45,),
    lambda found, mask: np.array_equal(found[0] > 0, mask) and found[0].max() == found[1],
)
def label_components(mask):
    """Connected regions by passes back and forth until nothing changes."""
    labels = np.where(mask, np.arange(1, mask.size + 1).reshape(mask.shape), 0)
    changed = True
    passes = 0
    while changed:
        before = labels.copy()
        for axis in (0, 1):
            for shift in (1, -1):
                moved = np.roll(labels, shift, axis=axis)
                if axis == 0:
                    moved[0 if shift == 1 else -1, :] = 0
                else:
                    moved[:, 0 if shift == 1 else -1] = 0
                labels = np.where(mask, np.maximum(labels, moved), 0)
        changed = not np.array_equal(before, labels)
        passes += 1
    names = np.unique(labels[labels > 0])
    for number, name in enumerate(names, start=1):
        labels[labels == name] = number
    return labels, len(names), passes


@program(
    lambda rng: (picture(rng, 10, 14), (25, 21)), lambda found, image, size: np.array_equal(found[::24, ::20], image[::9, ::13])
)
def resize_bilinear(image, size):
    height, width = size
    out = np.empty((height, width), dtype=image.dtype)
    for i in range(height):
        y = i * (image.shape[0] - 1) / (height - 1)
        y0 = min(int(y), image.shape[0] - 2)
        fy = y - y0
        for j in range(width):
            x = j * (image.shape[1] - 1) / (width - 1)
            x0 = min(int(x), image.shape[1] - 2)
            fx = x - x0
            top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
            bottom = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
            out[i, j] = round(top * (1 - fy) + bottom * fy)
    return out


@program(
    lambda rng: (rng.integers(40, 120, (16, 20)).astype(np.uint8),),
    lambda found, image: found.max() == 255 and found.min() == 0,
)
def equalize_histogram(image):
    histogram = np.bincount(image.ravel(), minlength=256)
    cumulative = histogram.cumsum()
    lowest = cumulative[cumulative > 0][0]
    table = np.zeros(256, dtype=np.uint8)
    for value in range(256):
        if cumulative[value] > lowest:
            table[value] = round((cumulative[value] - lowest) / (image.size - lowest) * 255)
    return table[image]


@program(lambda rng: (picture(rng, 16, 16).astype(float),), lambda found, image: abs(found * 255 - image.sum()) < 10 * 255)
def dither(image):
    """Floyd and Steinberg: the error goes to the neighbours that come later. Writes into its argument."""
    height, width = image.shape
    for y in range(height):
        for x in range(width):
            old = image[y, x]
            new = 255.0 if old > 127 else 0.0
            image[y, x] = new
            error = old - new
            if x + 1 < width:
                image[y, x + 1] += error * 7 / 16
            if y + 1 < height:
                if x > 0:
                    image[y + 1, x - 1] += error * 3 / 16
                image[y + 1, x] += error * 5 / 16
                if x + 1 < width:
                    image[y + 1, x + 1] += error * 1 / 16
    return int((image == 255).sum())
