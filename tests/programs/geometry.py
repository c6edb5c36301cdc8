"""Geometry in the plane and in space."""

import numpy as np

from .registry import program


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


@program(
    lambda rng: (rng.normal(size=(40, 2)),),
    lambda hull, points: all(cross(a, b, p) >= 0 for a, b in zip(hull, np.roll(hull, -1, axis=0)) for p in points),
)
def convex_hull(points):
    """Andrew's monotone chain."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    lower = []
    for p in points:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in points[::-1]:
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    return np.array(lower[:-1] + upper[:-1])


def star(rng, corners=11):
    angles = np.sort(rng.uniform(0, 2 * np.pi, corners))
    return rng.uniform(0.5, 2, (corners, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])


@program(
    lambda rng: (star(rng), rng.uniform(-2, 2, (50, 2))),
    lambda found, polygon, points: found[3][np.hypot(*points.T) > 2].sum() == 0 < found[0] < 4 * np.pi,
)
def polygon_measures(polygon, points):
    """Area, centroid, perimeter, and which points are inside."""
    area = cx = cy = perimeter = 0
    n = len(polygon)
    for i in range(n):
        x0, y0 = polygon[i]
        x1, y1 = polygon[(i + 1) % n]
        c = x0 * y1 - x1 * y0
        area += c / 2
        cx += (x0 + x1) * c
        cy += (y0 + y1) * c
        perimeter += np.hypot(x1 - x0, y1 - y0)
    inside = np.zeros(len(points), dtype=bool)
    for k, (x, y) in enumerate(points):
        j = n - 1
        for i in range(n):
            xi, yi = polygon[i]
            xj, yj = polygon[j]
            if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
                inside[k] = not inside[k]
            j = i
    return abs(area), (cx / (6 * area), cy / (6 * area)), perimeter, inside


@program(
    lambda rng: (rng.normal(size=(64, 2)),),
    lambda found, p: np.isclose(found, np.linalg.norm(p[:, None] - p, axis=-1)[np.triu_indices(64, 1)].min()),
)
def closest_pair(points):
    """Divide and conquer on points sorted by x."""

    def solve(px):
        if len(px) <= 3:
            best = np.inf
            for i in range(len(px)):
                for j in range(i + 1, len(px)):
                    best = min(best, np.linalg.norm(px[i] - px[j]))
            return best
        middle = len(px) // 2
        line = px[middle, 0]
        best = min(solve(px[:middle]), solve(px[middle:]))
        strip = px[np.abs(px[:, 0] - line) < best]
        strip = strip[np.argsort(strip[:, 1])]
        for i in range(len(strip)):
            j = i + 1
            while j < len(strip) and strip[j, 1] - strip[i, 1] < best:
                best = min(best, np.linalg.norm(strip[i] - strip[j]))
                j += 1
        return best

    return solve(points[np.argsort(points[:, 0])])


@program(
    lambda rng: (np.column_stack([np.linspace(0, 10, 60), np.cumsum(rng.normal(size=60))]), 0.8),
    lambda found, points, tolerance: np.array_equal(found[0], points[found[1]]) and 2 < len(found[1]) < 60,
)
def simplify_line(points, tolerance):
    """Douglas and Peucker, with an explicit stack of ranges."""
    keep = np.zeros(len(points), dtype=bool)
    keep[0] = keep[-1] = True
    ranges = [(0, len(points) - 1)]
    while ranges:
        first, last = ranges.pop()
        direction = points[last] - points[first]
        direction = direction / np.linalg.norm(direction)
        farthest, where = 0.0, first
        for i in range(first + 1, last):
            offset = points[i] - points[first]
            distance = abs(direction[0] * offset[1] - direction[1] * offset[0])
            if distance > farthest:
                farthest, where = distance, i
        if farthest > tolerance:
            keep[where] = True
            ranges.append((first, where))
            ranges.append((where, last))
    return points[keep], np.flatnonzero(keep)


def normalized(v):
    return v / np.sqrt(np.dot(v, v))


@program(
    lambda rng: (rng.normal(size=(3, 3)), rng.uniform(0.5, 1.0, 3), 12, 16),
    lambda image, *rest: image.min() == -1 and 0 < image.max() <= 1,
)
def trace_spheres(centers, radii, height, width):
    """Rays against spheres, shaded by a light; -1 where nothing is hit."""
    eye = np.array([0.0, 0.0, -6.0])
    light = normalized(np.array([1.0, 1.0, -1.0]))
    image = np.full((height, width), -1.0)
    for i in range(height):
        for j in range(width):
            direction = normalized(np.array([(j - width / 2) / width, (i - height / 2) / height, 1.0]))
            nearest, hit = np.inf, None
            for k in range(len(centers)):
                offset = eye - centers[k]
                b = direction @ offset
                d = b * b - (offset @ offset - radii[k] ** 2)
                if d < 0:
                    continue
                t = -b - np.sqrt(d)
                if 0 < t < nearest:
                    nearest, hit = t, k
            if hit is not None:
                normal = (eye + nearest * direction - centers[hit]) / radii[hit]
                image[i, j] = max(0.0, normal @ light)
    return image


def product(p, q):
    w1, x1, y1, z1 = p
    w2, x2, y2, z2 = q
    return np.array(
        [
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        ]
    )


@program(
    lambda rng: (rng.normal(size=3), np.array([1.0, 0, 0, 0]), 100, 0.02),
    lambda found, *rest: np.allclose(found[1] @ found[1].T, np.eye(3)),
)
def rotate_body(speed, q, steps, dt):
    """Euler's equations of a body that spins freely, its attitude as a quaternion."""
    inertia = np.array([1.0, 2.0, 3.0])
    path = np.empty((steps, 4))
    for step in range(steps):
        torque = -np.cross(speed, inertia * speed)
        speed = speed + dt * torque / inertia
        q = q + 0.5 * dt * product(q, np.array([0, *speed]))
        q /= np.linalg.norm(q)
        path[step] = q
    w, x, y, z = q
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return path, rotation, speed


@program(
    lambda rng: (rng.normal(size=(5, 2)), 33), lambda found, control, count: np.allclose(found[0][[0, -1]], control[[0, -1]])
)
def bezier_curve(control, count):
    """De Casteljau's algorithm; the curve and its length."""
    curve = np.empty((count, control.shape[1]))
    for s, t in enumerate(np.linspace(0, 1, count)):
        points = control.copy()
        while len(points) > 1:
            points = (1 - t) * points[:-1] + t * points[1:]
        curve[s] = points[0]
    length = 0.0
    for a, b in zip(curve[:-1], curve[1:]):
        length += np.linalg.norm(b - a)
    return curve, length


@program(
    lambda rng: (np.column_stack([rng.uniform(-80, 80, 9), rng.uniform(-180, 180, 9)]),),
    lambda found, places: sorted(found[0]) == list(range(9)),
)
def nearest_neighbour_tour(places):
    """Great-circle distances, and a tour that goes on to the nearest place each time."""
    latitude, longitude = np.radians(places).T
    n = len(places)
    distance = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            a = np.sin((latitude[i] - latitude[j]) / 2) ** 2
            a += np.cos(latitude[i]) * np.cos(latitude[j]) * np.sin((longitude[i] - longitude[j]) / 2) ** 2
            distance[i, j] = distance[j, i] = 6371.0 * 2 * np.arcsin(np.sqrt(a))
    tour, left = [0], set(range(1, n))
    total = 0.0
    while left:
        here = tour[-1]
        nearest = min(left, key=lambda place: distance[here, place])
        total += distance[here, nearest]
        tour.append(nearest)
        left.remove(nearest)
    return tour, total + distance[tour[-1], tour[0]]
