"""Controllers, estimators and mechanisms."""

import numpy as np

from .registry import program


@program(
    lambda rng: (float(rng.uniform(0.5, 2)), rng.normal(scale=0.01, size=150)),
    lambda found, goal, noise: abs(found[0][-1] - goal) < 0.2,
)
def pid_controller(goal, noise):
    gains = {"p": 4.0, "i": 1.5, "d": 0.2}
    dt = 0.05
    value = speed = integral = 0.0
    previous = None
    trace, settled = np.zeros(len(noise)), None
    for k, disturbance in enumerate(noise):
        error = goal - value
        integral = np.clip(integral + error * dt, -2, 2)
        slope = 0.0 if previous is None else (error - previous) / dt
        push = gains["p"] * error + gains["i"] * integral + gains["d"] * slope
        previous = error
        speed += dt * (push - 2 * speed) + disturbance
        value += dt * speed
        trace[k] = value
        if abs(error) < 0.02 * goal:
            settled = k if settled is None else settled
        else:
            settled = None
    return trace, settled


def plant(rng):
    A = np.array([[1.0, 0.1], [0.0, 1.0]]) + 0.01 * rng.normal(size=(2, 2))
    return A, np.array([[0.005], [0.1]]), np.eye(2), np.array([[0.5]])


@program(plant, lambda found, A, B, Q, R: np.all(np.abs(np.linalg.eigvals(A - B @ found[0])) < 1))
def linear_quadratic_regulator(A, B, Q, R):
    P = Q
    for iteration in range(1000):
        K = np.linalg.inv(R + B.T @ P @ B) @ (B.T @ P @ A)
        new = Q + A.T @ P @ (A - B @ K)
        if np.allclose(new, P, rtol=1e-10):
            break
        P = new
    else:
        raise RuntimeError("Riccati's equation was not solved")
    return K, P, iteration


def arm(rng):
    return np.array([1.0, 0.8, 0.5]), rng.uniform(0.1, 0.5, 3), rng.uniform(0.4, 1.2, 2)


def positions(lengths, angles):
    total = np.cumsum(angles)
    return np.stack([np.cumsum(lengths * np.cos(total)), np.cumsum(lengths * np.sin(total))], axis=1)


@program(arm, lambda found, lengths, angles, goal: np.linalg.norm(positions(lengths, found[0])[-1] - goal) < 1e-3)
def inverse_kinematics(lengths, angles, goal, limit=500):
    joints = len(lengths)
    angles = angles.copy()
    steps = 0
    while steps < limit:
        points = positions(lengths, angles)
        miss = goal - points[-1]
        if np.hypot(*miss) < 1e-4:
            break
        J = np.zeros((2, joints))
        for j in range(joints):
            base = points[j - 1] if j > 0 else np.zeros(2)
            dx, dy = points[-1] - base
            J[:, j] = -dy, dx
        angles += J.T @ np.linalg.solve(J @ J.T + 0.01 * np.eye(2), miss)
        steps += 1
    return angles, steps


def tracking(rng, particles=60, steps=15):
    truth = np.cumsum(rng.normal(1.0, 0.1, steps))
    measured = truth + rng.normal(scale=0.5, size=steps)
    return measured, rng.normal(size=particles), rng.normal(1.0, 0.3, (steps, particles)), rng.uniform(size=steps)


@program(tracking, lambda found, measured, *noise: np.all(np.abs(found[0] - measured) < 3))
def particle_filter(measured, particles, motions, offsets):
    n = len(particles)
    weights = np.ones(n) / n
    estimates, resampled = [], 0
    for z, motion, offset in zip(measured, motions, offsets):
        particles = particles + motion
        weights = weights * np.exp(-0.5 * ((z - particles) / 0.5) ** 2) + 1e-300
        weights /= weights.sum()
        estimates.append(np.sum(weights * particles))
        if 1.0 / np.sum(weights**2) < n / 2:
            cumulative = np.cumsum(weights)
            cumulative[-1] = 1.0
            indices = np.zeros(n, dtype=int)
            i = 0
            for j in range(n):
                while cumulative[i] < (j + offset) / n:
                    i += 1
                indices[j] = i
            particles = particles[indices]
            weights.fill(1 / n)
            resampled += 1
    return np.array(estimates), resampled


@program(
    lambda rng: (rng.uniform(20, 30, 3), rng.uniform(5, 15, 100)), lambda found, rooms, weather: found[0].shape == (100, 3)
)
def thermostats(temperatures, outside, low=19.0, high=22.0):
    heating = [False] * len(temperatures)
    log = np.empty((len(outside), len(temperatures)))
    switches, energy = 0, 0.0
    T = temperatures.astype(float)
    for hour, cold in enumerate(outside):
        for room in range(len(T)):
            before = heating[room]
            if T[room] < low:
                heating[room] = True
            elif T[room] > high:
                heating[room] = False
            if heating[room] != before:
                switches += 1
            T[room] += 0.1 * (cold - T[room]) + (2.5 if heating[room] else 0.0)
        energy += 2.5 * sum(heating)
        log[hour] = T
    return log, switches, energy


@program(lambda rng: (rng.uniform(0.5, 1.5, (4, 2)), 0.3, 6.0), lambda found, w, d, speed: found[1] is True)
def follow_waypoints(waypoints, distance, speed):
    x, y, heading = 0.0, 0.0, 0.0
    path = [(x, y)]
    target, reached_all = 0, False
    for step in range(400):
        dx, dy = waypoints[target] - np.array([x, y])
        if dx**2 + dy**2 < distance**2:
            target += 1
            if target == len(waypoints):
                reached_all = True
                break
            continue
        turn = np.arctan2(dy, dx) - heading
        turn = (turn + np.pi) % (2 * np.pi) - np.pi
        heading += max(-0.5, min(0.5, turn))
        x += speed * 0.01 * np.cos(heading)
        y += speed * 0.01 * np.sin(heading)
        path.append((x, y))
    return np.array(path), reached_all
