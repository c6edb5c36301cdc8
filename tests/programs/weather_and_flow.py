"""Weather models and flows of fluids: fields on grids, solved step by step."""

import numpy as np

from .registry import program


def horizontal_fields(rng, I=8, J=8, K=4):
    return rng.uniform(size=(I + 4, J + 4, K)), np.zeros((I, J, K)), rng.uniform(size=(I, J, K))


@program(horizontal_fields, lambda found, *before: np.all(np.isfinite(found[1])))
def horizontal_diffusion(in_field, out_field, coeff):
    I, J, K = out_field.shape
    lap = 4.0 * in_field[1 : I + 3, 1 : J + 3, :] - (
        in_field[2 : I + 4, 1 : J + 3, :]
        + in_field[0 : I + 2, 1 : J + 3, :]
        + in_field[1 : I + 3, 2 : J + 4, :]
        + in_field[1 : I + 3, 0 : J + 2, :]
    )
    res = lap[1:, 1 : J + 1, :] - lap[:-1, 1 : J + 1, :]
    flx = np.where(res * (in_field[2 : I + 3, 2 : J + 2, :] - in_field[1 : I + 2, 2 : J + 2, :]) > 0, 0, res)
    res = lap[1 : I + 1, 1:, :] - lap[1 : I + 1, :-1, :]
    fly = np.where(res * (in_field[2 : I + 2, 2 : J + 3, :] - in_field[2 : I + 2, 1 : J + 2, :]) > 0, 0, res)
    out_field[:, :, :] = in_field[2 : I + 2, 2 : J + 2, :] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])


BET_M, BET_P = 0.4, 0.6


def vertical_fields(rng, I=5, J=5, K=8):
    make = lambda i: 0.5 * rng.uniform(size=(i, J, K))
    return make(I), make(I), make(I), make(I), make(I + 1), 3.0 / 20.0


@program(vertical_fields, lambda found, *before: np.all(np.isfinite(found[0])))
def vertical_advection(utens_stage, u_stage, u_pos, utens, wcon, dtr_stage):
    """Implicit in the vertical: a tridiagonal system for each column, solved for all of them at a time."""
    I, J, K = utens_stage.shape
    ccol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    dcol = np.ndarray((I, J, K), dtype=utens_stage.dtype)
    data_col = np.ndarray((I, J), dtype=utens_stage.dtype)
    for k in range(K):
        down = up = a = c = 0.0
        if k > 0:
            gav = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
            a, down = gav * BET_P, gav * BET_M * (u_stage[:, :, k - 1] - u_stage[:, :, k])
        if k < K - 1:
            gcv = 0.25 * (wcon[1:, :, k + 1] + wcon[:-1, :, k + 1])
            c, up = gcv * BET_P, gcv * BET_M * (u_stage[:, :, k + 1] - u_stage[:, :, k])
        bcol = dtr_stage - a - c
        dcol[:, :, k] = dtr_stage * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] - down - up
        divided = 1.0 / bcol if k == 0 else 1.0 / (bcol - ccol[:, :, k - 1] * a)
        ccol[:, :, k] = c * divided
        dcol[:, :, k] = (dcol[:, :, k] - (dcol[:, :, k - 1] * a if k > 0 else 0.0)) * divided
    for k in range(K - 1, -1, -1):
        datacol = dcol[:, :, k]
        if k < K - 1:
            datacol = datacol - ccol[:, :, k] * data_col[:, :]
        data_col[:] = datacol
        utens_stage[:, :, k] = dtr_stage * (datacol - u_pos[:, :, k])


def pressure_poisson(p, dx, dy, b, nit):
    for q in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


@program(
    lambda rng: (12, 12, 10, 8, 0.001, float(rng.uniform(0.8, 1.2)), 0.1), lambda found, *given: found[2].shape == (12, 12)
)
def cavity_flow(nx, ny, nt, nit, dt, rho, nu):
    """The flow in a box whose lid moves."""
    dx, dy = 2 / (nx - 1), 2 / (ny - 1)
    u, v, p, b = np.zeros((ny, nx)), np.zeros((ny, nx)), np.zeros((ny, nx)), np.zeros((ny, nx))
    for n in range(nt):
        un, vn = u.copy(), v.copy()
        u_x, v_y = (u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx), (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)
        u_y, v_x = (u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy), (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx)
        b[1:-1, 1:-1] = rho * (1 / dt * (u_x + v_y) - u_x**2 - 2 * u_y * v_x - v_y**2)
        pressure_poisson(p, dx, dy, b, nit)
        for new, old, p_slope in (
            (u, un, (p[1:-1, 2:] - p[1:-1, 0:-2]) / (2 * rho * dx)),
            (v, vn, (p[2:, 1:-1] - p[0:-2, 1:-1]) / (2 * rho * dy)),
        ):
            new[1:-1, 1:-1] = (
                old[1:-1, 1:-1]
                - un[1:-1, 1:-1] * dt / dx * (old[1:-1, 1:-1] - old[1:-1, 0:-2])
                - vn[1:-1, 1:-1] * dt / dy * (old[1:-1, 1:-1] - old[0:-2, 1:-1])
                - dt * p_slope
                + nu * dt / dx**2 * (old[1:-1, 2:] - 2 * old[1:-1, 1:-1] + old[1:-1, 0:-2])
                + nu * dt / dy**2 * (old[2:, 1:-1] - 2 * old[1:-1, 1:-1] + old[0:-2, 1:-1])
            )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p


@program(
    lambda rng: (12, 10, 0.01, 0.1, float(rng.uniform(0.5, 1.5))), lambda found, *given: found[0][0].max() == 0 and found[1] > 1
)
def channel_flow(nx, ny, dt, nu, force):
    """Driven by a force until it changes little; periodic along the channel."""
    dx, dy = 2 / (nx - 1), 2 / (ny - 1)
    u = np.zeros((ny, nx))
    udiff = 1.0
    stepcount = 0
    while udiff > 0.005 and stepcount < 400:
        un = u.copy()
        east, west = np.roll(un, -1, axis=1), np.roll(un, 1, axis=1)
        u[1:-1, :] = (
            un[1:-1, :]
            - un[1:-1, :] * dt / dx * (un[1:-1, :] - west[1:-1, :])
            + nu * (dt / dx**2 * (east - 2 * un + west)[1:-1, :] + dt / dy**2 * (un[2:, :] - 2 * un[1:-1, :] + un[:-2, :]))
            + force * dt
        )
        u[0, :] = 0
        u[-1, :] = 0
        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
        stepcount += 1
    return u, stepcount


def divergence_source(u, v, dx, dy, dt, rho):
    """The right-hand side of the pressure equation; periodic in x."""
    b = np.zeros_like(u)
    u_x, v_y = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    u_y, v_x = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy), (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    b[1:-1, 1:-1] = rho * ((u_x + v_y) / dt - u_x**2 - 2 * u_y * v_x - v_y**2)
    for here, left, right in ((-1, -2, 0), (0, -1, 1)):
        u_x, v_y = (u[1:-1, right] - u[1:-1, left]) / (2 * dx), (v[2:, here] - v[:-2, here]) / (2 * dy)
        u_y, v_x = (u[2:, here] - u[:-2, here]) / (2 * dy), (v[1:-1, right] - v[1:-1, left]) / (2 * dx)
        b[1:-1, here] = rho * ((u_x + v_y) / dt - u_x**2 - 2 * u_y * v_x - v_y**2)
    return b


def periodic_pressure(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    for _ in range(nit):
        pn[:] = p.copy()
        scale = 2 * (dx**2 + dy**2)
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
        ) / scale - dx**2 * dy**2 / scale * b[1:-1, 1:-1]
        for here, left, right in ((-1, -2, 0), (0, -1, 1)):
            p[1:-1, here] = (
                (pn[1:-1, right] + pn[1:-1, left]) * dy**2 + (pn[2:, here] + pn[:-2, here]) * dx**2
            ) / scale - dx**2 * dy**2 / scale * b[1:-1, here]
        p[-1, :] = p[-2, :]
        p[0, :] = p[1, :]


@program(
    lambda rng: (
        5,
        np.zeros((11, 12)),
        np.zeros((11, 12)),
        0.01,
        0.2,
        0.2,
        np.ones((11, 12)),
        1.0,
        0.1,
        float(rng.uniform(1, 2)),
    ),
    lambda found, *given: found > 1,
)
def channel_flow_with_pressure(nit, u, v, dt, dx, dy, p, rho, nu, force):
    """Driven by a force until it changes little; u, v and p are changed in place."""
    change, steps = 1, 0
    while change > 0.01:
        un, vn = u.copy(), v.copy()
        b = divergence_source(u, v, dx, dy, dt, rho)
        periodic_pressure(nit, p, dx, dy, b)
        for new, old, slope, push in (
            (u, un, (p[1:-1, 2:] - p[1:-1, :-2]) / (2 * rho * dx), force),
            (v, vn, (p[2:, 1:-1] - p[:-2, 1:-1]) / (2 * rho * dy), 0),
        ):
            new[1:-1, 1:-1] = (
                old[1:-1, 1:-1]
                - un[1:-1, 1:-1] * dt / dx * (old[1:-1, 1:-1] - old[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / dy * (old[1:-1, 1:-1] - old[:-2, 1:-1])
                - dt * slope
                + nu * dt / dx**2 * (old[1:-1, 2:] - 2 * old[1:-1, 1:-1] + old[1:-1, :-2])
                + nu * dt / dy**2 * (old[2:, 1:-1] - 2 * old[1:-1, 1:-1] + old[:-2, 1:-1])
                + push * dt
            )
        for here, left, right in ((-1, -2, 0), (0, -1, 1)):
            u[1:-1, here] = (
                un[1:-1, here]
                - un[1:-1, here] * dt / dx * (un[1:-1, here] - un[1:-1, left])
                - vn[1:-1, here] * dt / dy * (un[1:-1, here] - un[:-2, here])
                + nu * dt / dx**2 * (un[1:-1, right] - 2 * un[1:-1, here] + un[1:-1, left])
                + nu * dt / dy**2 * (un[2:, here] - 2 * un[1:-1, here] + un[:-2, here])
                + force * dt
            )
        u[0, :] = u[-1, :] = v[0, :] = v[-1, :] = 0
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return steps


@program(lambda rng: (rng.uniform(0, 1, 60) + np.r_[np.ones(30), np.zeros(30)], 0.02, 0.3))
def burgers_equation(u, dx, end):
    """By Godunov's scheme, with the longest stable steps."""
    t, steps = 0.0, 0
    while t < end:
        dt = min(0.9 * dx / np.abs(u).max(), end - t)
        flux = np.zeros(u.size + 1)
        for i in range(1, u.size):
            left, right = u[i - 1], u[i]
            if left > right:
                flux[i] = max(left, 0.0) ** 2 / 2 if left + right > 0 else right**2 / 2
            elif left > 0:
                flux[i] = left**2 / 2
            elif right < 0:
                flux[i] = right**2 / 2
        flux[0], flux[-1] = u[0] ** 2 / 2, u[-1] ** 2 / 2
        u = u - dt / dx * np.diff(flux)
        t += dt
        steps += 1
    return u, steps


@program(lambda rng: (rng.uniform(0, 1, (10, 10)), 6), lambda found, h, n: np.isclose(found.sum(), h.sum()))
def shallow_water(h, steps, g=9.81, dt=0.005):
    """By Lax and Friedrichs' scheme on a torus."""
    h = h + 1.0
    state = {"h": h, "hu": np.zeros_like(h), "hv": np.zeros_like(h)}
    for _ in range(steps):
        h, hu, hv = state["h"], state["hu"], state["hv"]
        east = {"h": hu, "hu": hu**2 / h + 0.5 * g * h**2, "hv": hu * hv / h}
        north = {"h": hv, "hu": hu * hv / h, "hv": hv**2 / h + 0.5 * g * h**2}
        for name, q in list(state.items()):
            average = sum(np.roll(q, by, axis) for axis in (0, 1) for by in (-1, 1)) / 4
            slope_x = np.roll(east[name], -1, 1) - np.roll(east[name], 1, 1)
            slope_y = np.roll(north[name], -1, 0) - np.roll(north[name], 1, 0)
            state[name] = average - dt / 0.2 * (slope_x + slope_y)
    return state["h"] - 1.0
