"""matplotlib's animations, whose steps are jitted functions."""

import numpy as np
import pytest
from both_ways import both_ways

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.animation import FuncAnimation, PillowWriter  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402


@both_ways()
def test_steps_of_a_simulation(jit, tmp_path):
    @jit
    def advance(u, v, dt):
        """A wave on a string, in place."""
        v[1:-1] += dt * (u[2:] - 2 * u[1:-1] + u[:-2])
        u += dt * v

    u, v = np.exp(-(np.linspace(-5, 5, 64) ** 2)), np.zeros(64)
    figure = Figure()
    (line,) = figure.subplots().plot(u)
    shown = []

    def draw(frame, dt):
        advance(u, v, dt)
        line.set_ydata(u)
        shown.append(line.get_ydata().copy())
        return (line,)

    animation = FuncAnimation(figure, draw, frames=4, init_func=lambda: (line,), fargs=(0.5,), blit=True)
    animation.save(tmp_path / "wave.gif", PillowWriter(fps=5), dpi=20)
    return shown, u, v


@both_ways()
def test_functions_that_draw_themselves_as_frames(jit, tmp_path):
    pixels = jit(lambda frame: np.sin(np.arange(8.0) * frame)[:, None] * np.ones(8))
    figure = Figure()
    image = figure.subplots().imshow(pixels(1))
    animation = FuncAnimation(figure, lambda frame: image.set_data(pixels(frame)), frames=np.linspace(0, 1, 3))
    animation.save(tmp_path / "image.gif", PillowWriter(fps=5), dpi=20)
    return np.asarray(image.get_array())
