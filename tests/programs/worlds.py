"""Worlds of games: dungeons, paths, flocks, battles, terrain, lines of sight, inventories."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field

import numpy as np

from .registry import program


@program(lambda rng: (np.random.default_rng(int(rng.integers(100))), 12, 20))
def dungeon_of_rooms(rng, height, width):
    level = np.full((height, width), ord("#"), dtype=np.uint8)
    rooms = []
    for _ in range(12):
        h, w = rng.integers(2, 5, 2)
        r, c = rng.integers(1, height - h - 1), rng.integers(1, width - w - 1)
        if any(r < r2 + h2 + 1 and r2 < r + h + 1 and c < c2 + w2 + 1 and c2 < c + w + 1 for r2, c2, h2, w2 in rooms):
            continue
        level[r : r + h, c : c + w] = ord(".")
        rooms.append((r, c, h, w))
    centres = [(r + h // 2, c + w // 2) for r, c, h, w in rooms]
    for (r1, c1), (r2, c2) in zip(centres, centres[1:]):
        level[r1, min(c1, c2) : max(c1, c2) + 1] = ord(".")
        level[min(r1, r2) : max(r1, r2) + 1, c2] = ord(".")
    for row in level:
        print("".join(map(chr, row)))
    return level, len(rooms), int((level == ord(".")).sum())


@dataclass
class Flock:
    position: np.ndarray
    velocity: np.ndarray
    config: dict = field(default_factory=lambda: {"near": 0.3, "apart": 0.08, "speed": 0.05})

    def steer(self):
        delta = self.position[None, :, :] - self.position[:, None, :]
        distance = np.linalg.norm(delta, axis=-1)
        force = np.zeros_like(self.position)
        for i in range(len(self.position)):
            near = (distance[i] < self.config["near"]) & (np.arange(len(distance)) != i)
            if not near.any():
                continue
            force[i] += 0.05 * delta[i][near].mean(axis=0)
            force[i] += 0.1 * (self.velocity[near].mean(axis=0) - self.velocity[i])
            close = near & (distance[i] < self.config["apart"])
            if close.any():
                force[i] -= 0.2 * delta[i][close].sum(axis=0)
        return force

    def advance(self):
        self.velocity += self.steer()
        speed = np.linalg.norm(self.velocity, axis=1, keepdims=True)
        too_fast = speed > self.config["speed"]
        self.velocity = np.where(too_fast, self.velocity / np.maximum(speed, 1e-12) * self.config["speed"], self.velocity)
        self.position = (self.position + self.velocity) % 1.0


@program(lambda rng: (rng.random((15, 2)), rng.normal(0, 0.02, (15, 2))))
def flock_of_birds(position, velocity):
    flock = Flock(position.copy(), velocity.copy())
    order = []
    for _ in range(20):
        flock.advance()
        heading = flock.velocity / (np.linalg.norm(flock.velocity, axis=1)[:, None] + 1e-12)
        order.append(np.linalg.norm(heading.mean(axis=0)))
    return flock.position, np.array(order)


def line_between(r0, c0, r1, c1):
    dr, dc = abs(r1 - r0), abs(c1 - c0)
    sr, sc = (1 if r1 > r0 else -1), (1 if c1 > c0 else -1)
    error = dc - dr
    while True:
        yield r0, c0
        if (r0, c0) == (r1, c1):
            return
        twice = 2 * error
        if twice > -dr:
            error -= dr
            c0 += sc
        if twice < dc:
            error += dc
            r0 += sr


@program(lambda rng: (rng.random((9, 9)) < 0.2, (4, 4), 4))
def field_of_view(walls, eye, radius):
    seen = np.zeros_like(walls)
    rows, cols = walls.shape
    for r in range(rows):
        for c in range(cols):
            if math.hypot(r - eye[0], c - eye[1]) > radius:
                continue
            for cell in line_between(*eye, r, c):
                if cell == (r, c):
                    seen[r, c] = True
                    break
                if walls[cell] and cell != eye:
                    break
    return seen, "\n".join(
        "".join("#" if w and s else "." if s else " " for w, s in zip(ws, ss)) for ws, ss in zip(walls, seen)
    )


RECIPES = {"plank": {"wood": 2}, "stick": {"plank": 1}, "sword": {"stick": 1, "iron": 2}, "shield": {"plank": 3, "iron": 1}}


@program(lambda rng: ({"wood": int(rng.integers(4, 15)), "iron": int(rng.integers(1, 5))}, ["sword", "shield", "sword"]))
def crafting(stock, wishes):
    bag = defaultdict(int, stock)
    made, failed = [], []

    def make(item):
        if item not in RECIPES:
            return False
        before = dict(bag)
        for part, count in RECIPES[item].items():
            while bag[part] < count:
                if not make(part):
                    bag.clear()
                    bag.update(before)
                    return False
            bag[part] -= count
        bag[item] += 1
        return True

    for wish in wishes:
        (made if make(wish) else failed).append(wish)
    return made, failed, {k: v for k, v in sorted(bag.items()) if v}


@program(lambda rng: ((int(rng.integers(8)), int(rng.integers(8))), (7, 7)))
def knight_moves(start, goal):
    jumps = [(a, b) for a in (-2, -1, 1, 2) for b in (-2, -1, 1, 2) if abs(a) != abs(b)]
    distance = -np.ones((8, 8), dtype=int)
    distance[start] = 0
    queue = deque([start])
    while queue:
        r, c = queue.popleft()
        if (r, c) == goal:
            break
        for a, b in jumps:
            i, j = r + a, c + b
            if 0 <= i < 8 and 0 <= j < 8 and distance[i, j] < 0:
                distance[i, j] = distance[r, c] + 1
                queue.append((i, j))
    return int(distance[goal]), distance, len(queue)


@dataclass
class Platformer:
    x: float = 0.0
    y: float = 0.0
    vx: float = 0.0
    vy: float = 0.0
    grounded: bool = True
    jumps: int = 0

    def update(self, keys, heights, dt):
        self.vx += (4.0 * ("right" in keys) - 4.0 * ("left" in keys) - 2.0 * self.vx) * dt
        if "jump" in keys and self.grounded:
            self.vy, self.grounded = 4.0, False
            self.jumps += 1
        self.vy -= 9.8 * dt
        self.x = min(max(self.x + self.vx * dt, 0.0), len(heights) - 1.001)
        self.y += self.vy * dt
        floor = heights[int(self.x)]
        if self.y <= floor:
            self.y, self.vy, self.grounded = floor, 0.0, True


@program(lambda rng: (rng.uniform(0, 0.5, 6), [["right"], ["right", "jump"], [], ["left"], ["right", "jump"]] * 8))
def platform_jumper(heights, script):
    player = Platformer()
    trail = np.empty((len(script), 2))
    for frame, keys in enumerate(script):
        player.update(keys, heights, 0.05)
        trail[frame] = player.x, player.y
    return trail, player.jumps, player
