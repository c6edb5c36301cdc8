"""The demo's picture: the loss at each step, and the test digits that the trained network misreads."""

from __future__ import annotations

import numpy as np

from .errors import WRONG_USE, CommandError

MOST_SHOWN = 15
INK, ACCENT, FAINT = "#22223b", "#b5446e", "#9a9ab0"


def write_picture(
    path: str, losses: np.ndarray, epoch: int, images: np.ndarray, shown: np.ndarray, answers: np.ndarray
) -> None:
    """Draw the loss curve and the misread images (rows of 64 pixels) with matplotlib, and write the picture to path.

    epoch: the number of steps in which every training image is seen once.

    Raises CommandError where the file cannot be written.
    """
    # Matplotlib need not be installed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), dpi=120, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1), wspace=0.04)
    _draw_losses(left.subplots(), losses, epoch)
    _draw_misread(right, images, shown, answers)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise CommandError(f"the picture cannot be written to {path}: {error}", WRONG_USE) from error


def _draw_losses(axes, losses: np.ndarray, epoch: int) -> None:
    window = min(epoch, len(losses))
    smooth = np.convolve(losses, np.full(window, 1 / window), mode="valid")
    middle = np.arange(len(smooth)) + window // 2
    axes.semilogy(losses, color=FAINT, linewidth=0.6, label="each step")
    axes.semilogy(middle, smooth, color=ACCENT, linewidth=2, label=f"mean of {window} steps, one epoch")
    axes.set_title("Cross-entropy while training", loc="left", color=INK, fontsize=11, fontweight="bold")
    axes.set_xlabel("step", color=INK)
    axes.set_xlim(0, max(1, len(losses) - 1))
    axes.grid(axis="y", color="#e6e6ee", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)
    axes.legend(frameon=False, fontsize=9, labelcolor=INK)


def _draw_misread(figure, images: np.ndarray, shown: np.ndarray, answers: np.ndarray) -> None:
    misread = np.flatnonzero(answers != shown)
    count = min(len(misread), MOST_SHOWN)
    rows = 1 if count <= 3 else 2 if count <= 8 else 3
    grid = figure.subplots(rows, max(1, -(-count // rows)), squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, number in zip(grid.flat, misread):
        axes.imshow(images[number].reshape(8, 8), cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(f"{shown[number]} read as {answers[number]}", color=INK, fontsize=9)
    remark = f" (the first {count})" if count < len(misread) else ""
    title = f"Misread: {len(misread)} of {len(shown)} test digits{remark}"
    figure.suptitle(title, x=0.02, horizontalalignment="left", color=INK, fontsize=11, fontweight="bold")
