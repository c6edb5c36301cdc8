"""What moves elements to other places, and stencils, which read their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..contenders import Case, Row, case, integers, jax, jnp, numba_package, row, targets, uniform

TITLE = "Movement and stencils"

prange = numba_package.prange if numba_package else range


def transposed(x):
    return np.ascontiguousarray(x.T)


# A view would be enough for NumPy and phlox; the copy is what is measured.
def permuted_120(x):
    return np.ascontiguousarray(x.transpose(1, 2, 0))


def permuted_201(x):
    return np.ascontiguousarray(x.transpose(2, 0, 1))


def permuted_021(x):
    return np.ascontiguousarray(x.transpose(0, 2, 1))


def permuted_210(x):
    return np.ascontiguousarray(x.transpose(2, 1, 0))


def permuted_102(x):
    return np.ascontiguousarray(x.transpose(1, 0, 2))


def by_permutation(*order):
    return lambda x: jnp.transpose(x, order)


def concatenated(x, y, z):
    return np.concatenate([x, y, z])


def concatenated_columns(x, y, z):
    return np.concatenate([x, y, z], axis=1)


def padded(x):
    return np.pad(x, ((3, 5), (2, 7)))


def wrapped(x):
    return np.pad(x, 4, mode="wrap")


def slices(x):
    """A part of a part, backwards, beside another one."""
    y = x[10:-10, ::2]
    return np.concatenate([y[::-1, 1:], y[:, :-1]], axis=1)[5:-5]


def rows_of(x, i):
    return x[i]


def stencil_2d(u):
    v = u.copy()
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return v


def jax_stencil_2d(u):
    return u.at[1:-1, 1:-1].set(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))


def numba_stencil_2d(u):
    v = u.copy()
    for i in prange(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            v[i, j] = np.float32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return v


def stencil_3d(u):
    inner = u[1:-1, 1:-1, 1:-1]
    around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1] + u[1:-1, 1:-1, :-2]
    return inner + 0.1 * (around + u[1:-1, 1:-1, 2:] - 6 * inner)


def numba_stencil_3d(u):
    n, m, k = u.shape
    v = np.empty((n - 2, m - 2, k - 2), u.dtype)
    for i in prange(1, n - 1):
        for j in range(1, m - 1):
            for l in range(1, k - 1):
                around = u[i - 1, j, l] + u[i + 1, j, l] + u[i, j - 1, l] + u[i, j + 1, l] + u[i, j, l - 1] + u[i, j, l + 1]
                v[i - 1, j - 1, l - 1] = u[i, j, l] + np.float32(0.1) * (around - np.float32(6) * u[i, j, l])
    return v


JACOBI_STEPS = 100


def jacobi(u):
    u = u.copy()
    for _ in range(JACOBI_STEPS):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def jacobi_with_pad(u):
    for _ in range(JACOBI_STEPS):
        u = np.pad(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]), 1)
    return u


def jax_jacobi(u):
    return jax.lax.fori_loop(0, JACOBI_STEPS, lambda _, u: jax_stencil_2d(u), u)


def jax_jacobi_with_pad(u):
    def step(_, u):
        return jnp.pad(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]), 1)

    return jax.lax.fori_loop(0, JACOBI_STEPS, step, u)


def numba_jacobi(u):
    u, v = u.copy(), u.copy()
    for _ in range(JACOBI_STEPS):
        for i in prange(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = np.float32(0.25) * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        u, v = v, u
    return u


def moved(function, *shapes, jax_function=True, numba=None, results: float = 0, steps: int = 1, **facts) -> Case:
    """results: the elements of the result, where they are not as many as the arguments'."""
    arguments = [uniform(*shape, seed=number) for number, shape in enumerate(shapes)]
    read = sum(array.nbytes for array in arguments)
    work = (read + (4 * results or read)) * steps
    return case(
        function, *arguments, jax_function=jax_function, numba=numba, bytes=work, footprint=work / steps, per=steps, **facts
    )


def gathered(count: int, width: int, taken: int) -> Case:
    return case(rows_of, uniform(count, width), integers(count, taken), numba=True, bytes=8 * taken * width + 8 * taken)


def rows() -> Iterator[Row]:
    wanted = targets(JAX=1.5, NumPy=1)
    for size in (1000, 4096):
        yield row(f"transpose, {size} x {size}", wanted, moved, transposed, (size, size), jax_function=jnp.transpose)
    yield row("transpose, 100,000 x 30", wanted, moved, transposed, (100_000, 30), jax_function=jnp.transpose)
    cube, order = (256, 256, 256), by_permutation
    for function in (permuted_120, permuted_201, permuted_021, permuted_210, permuted_102):
        digits = function.__name__[-3:]
        title = f"axes in the order {', '.join(digits)}, 256 x 256 x 256"
        yield row(title, wanted, moved, function, cube, jax_function=order(*map(int, digits)))
    yield row("concatenate, 3 of 3 M", wanted, moved, concatenated, *[(3_000_000,)] * 3)
    yield row("concatenate of columns, 3 of 2000 x 700", wanted, moved, concatenated_columns, *[(2000, 700)] * 3)
    yield row("pad with zeros, 3000 x 3000", wanted, moved, padded, (3000, 3000))
    yield row("pad with what is at the other side, 3000 x 3000", wanted, moved, wrapped, (3000, 3000))
    yield row("slices of slices, 3000 x 3000", wanted, moved, slices, (3000, 3000))
    yield row("rows by number, 200,000 of 100,000 x 64", wanted, gathered, 100_000, 64, 200_000)
    yield row("rows by number, 1 M of 1,000 x 16", wanted, gathered, 1_000, 16, 1_000_000)
    both = {"jax_function": jax_stencil_2d, "numba": numba_stencil_2d}
    yield row("stencil of 5 points, 4000 x 4000", wanted, moved, stencil_2d, (4000, 4000), **both)
    yield row("stencil of 7 points, 256 x 256 x 256", wanted, moved, stencil_3d, cube, numba=numba_stencil_3d)
    both = {"jax_function": jax_jacobi, "numba": numba_jacobi}
    yield row("Jacobi, a step of 100, 1000 x 1000", wanted, moved, jacobi, (1000, 1000), steps=JACOBI_STEPS, **both)
    both = {"jax_function": jax_jacobi_with_pad}
    yield row(
        "Jacobi with pad, a step of 100, 1000 x 1000", wanted, moved, jacobi_with_pad, (1000, 1000), steps=JACOBI_STEPS, **both
    )
