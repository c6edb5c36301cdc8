"""Train a network on handwritten digits, in one native call and with plain NumPy."""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import jit
from .demo_picture import write_picture
from .digits import initial_parameters, read_digits, train
from .errors import FAILED, WRONG_USE, CommandError
from .files import check_backend

TEST_SIZE, BATCH_SIZE, STEPS, SPLIT_SEED, REPEATS = 360, 32, 880, 0, 3
PACKAGES = {"sklearn": "scikit-learn", "matplotlib": "matplotlib"}
TOLERANCE = 1e-6
"""The largest difference between the two results' parameters that counts as rounding, which 880 steps carry along."""

Parameters = tuple[np.ndarray, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", metavar="NAME", help="the backend that trains (default: PHLOX_BACKEND, or cpu)")
    parser.add_argument("--steps", metavar="N", type=_positive, default=STEPS, help=f"training steps (default: {STEPS})")
    parser.add_argument("--out", metavar="FILE.png", default="digits_demo.png", help="the picture (default: digits_demo.png)")


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a positive number of steps is required, {text} given")
    return number


@dataclass(frozen=True)
class Digits:
    """The data: training images in batches, with one-hot labels, and test images with the digits they show."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_digits: np.ndarray


@dataclass(frozen=True)
class Training:
    """What one way to train has given, and the seconds it took; zero for stages that it does not have."""

    parameters: Parameters
    losses: np.ndarray
    seconds: float
    start_seconds: float = 0.0
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0


def run(options: argparse.Namespace) -> int:
    check_installed()
    backend = check_backend(options.backend)
    data = load_data()
    parameters = initial_parameters()
    arguments = (parameters, data.images, data.labels, options.steps)
    print_introduction(data)

    print(f"Training, {options.steps} steps, as one native call ({backend} backend) ...", flush=True)
    compiled = train_with_phlox(arguments, backend)
    print_losses(compiled.losses)
    print("The same function, undecorated, with NumPy ...", flush=True)
    plain = train_with_numpy(arguments)

    accuracies = [accuracy(result, data) for result in (parameters, compiled.parameters, plain.parameters)]
    print_comparison(compiled, plain, accuracies, options.steps)
    difference = largest_difference(compiled, plain)
    agree = difference <= TOLERANCE
    print(f"\n  largest difference between the two trained networks' parameters: {difference:.1e}")

    answers = read_digits(compiled.parameters, data.test_images)
    write_picture(options.out, compiled.losses, len(data.images), data.test_images, data.test_digits, answers)
    print(f"  misread test digits: {np.count_nonzero(answers != data.test_digits)} of {len(answers)}, drawn in {options.out}")
    if not agree:
        raise CommandError(f"the two results differ by {difference:.1e}, more than rounding explains ({TOLERANCE:.0e})", FAILED)
    return 0


def check_installed() -> None:
    """Raise CommandError, with what to do, unless the packages that the demo needs are installed."""
    missing = [name for package, name in PACKAGES.items() if importlib.util.find_spec(package) is None]
    if missing:
        raise CommandError(
            f"the demo needs {' and '.join(missing)}: {sys.executable} -m pip install {' '.join(missing)}", WRONG_USE
        )


def load_data() -> Digits:
    """The 1,797 scanned digits that scikit-learn ships, split once for all."""
    from sklearn.datasets import load_digits  # which need not be installed

    images, shown = load_digits(return_X_y=True)
    order = np.random.default_rng(SPLIT_SEED).permutation(len(images))
    images, shown = images[order] / 16, shown[order]
    batches = (len(images) - TEST_SIZE) // BATCH_SIZE
    used = slice(TEST_SIZE, TEST_SIZE + batches * BATCH_SIZE)
    return Digits(
        images[used].reshape(batches, BATCH_SIZE, -1),
        np.eye(10)[shown[used]].reshape(batches, BATCH_SIZE, -1),
        images[:TEST_SIZE],
        shown[:TEST_SIZE],
    )


def train_with_phlox(arguments: tuple[Any, ...], backend: str) -> Training:
    """The training as one native call, its stages timed one by one."""
    start = time.perf_counter()
    jit(lambda x: x + x, backend=backend)(np.zeros(1))
    started = time.perf_counter()
    lowered = jit(train, backend=backend).lower(*arguments)
    traced = time.perf_counter()
    compiled = lowered.compile()
    ready = time.perf_counter()
    (parameters, losses), seconds = best_of(REPEATS, compiled, arguments)
    return Training(parameters, losses, seconds, started - start, traced - started, ready - traced)


def train_with_numpy(arguments: tuple[Any, ...]) -> Training:
    (parameters, losses), seconds = best_of(REPEATS, train, arguments)
    return Training(parameters, losses, seconds)


def best_of(repeats: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    """The result of a function and the seconds of its fastest call."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function(*arguments)
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


def accuracy(parameters: Parameters, data: Digits) -> float:
    """The part of the test images that a network with these parameters reads correctly."""
    return float((read_digits(parameters, data.test_images) == data.test_digits).mean())


def largest_difference(first: Training, second: Training) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(first.parameters, second.parameters))


# --- the terminal ---


def print_introduction(data: Digits) -> None:
    batches, size, pixels = data.images.shape
    learn, test = batches * size, len(data.test_images)
    print("phlox demo: a neural network learns to read handwritten digits\n")
    for line in shaded_digits(data.test_images[:4]):
        print(("  " + line).rstrip())
    print(f"""
  data      scanned digits of 8 x 8 pixels, from scikit-learn: {learn} to learn from, {test} to test
  network   {pixels} - 64 - 10, tanh, softmax cross-entropy; momentum gradient descent, batches of {size}
  program   command_line/digits.py: plain NumPy with hand-written gradients, the training in one fori_loop
""")


def shaded_digits(images: np.ndarray) -> list[str]:
    """Images of 8 x 8 pixels from 0 to 1, side by side, as lines of text, two characters a pixel."""
    shades = " ░▒▓█" if _can_print("░▒▓█") else " .+#@"
    levels = np.clip((images * len(shades)).astype(int), 0, len(shades) - 1).reshape(-1, 8, 8)
    return ["  ".join("".join(2 * shades[level] for level in image[row]) for image in levels) for row in range(8)]


def print_losses(losses: np.ndarray, rows: int = 8, width: int = 40) -> None:
    """A table of the loss, averaged over stretches of steps, with bars on a logarithmic scale."""
    bar = "█" if _can_print("█") else "#"
    stretches = [stretch for stretch in np.array_split(losses, min(rows, len(losses))) if len(stretch)]
    means = np.array([stretch.mean() for stretch in stretches])
    smallest = np.log10(max(means.min(), 1e-12)) - 0.15
    span = max(np.log10(means.max()) - smallest, 1e-12)
    first = 0
    print("\n       steps   mean loss")
    for stretch, mean in zip(stretches, means):
        length = round(width * (np.log10(max(mean, 1e-12)) - smallest) / span)
        print(f"  {first:4} - {first + len(stretch) - 1:<4}   {mean:7.4f}   {bar * max(1, int(length))}")
        first += len(stretch)
    print()


def print_comparison(compiled: Training, plain: Training, accuracies: list[float], steps: int) -> None:
    before, compiled_accuracy, plain_accuracy = (f"{100 * value:.1f} %" for value in accuracies)
    ratio = plain.seconds / compiled.seconds
    rows = [
        ("", "NumPy", "phlox"),
        ("test accuracy before", before, before),
        ("test accuracy after", plain_accuracy, compiled_accuracy),
        ("start, once a process", "-", _duration(compiled.start_seconds)),
        ("trace", "-", _duration(compiled.trace_seconds)),
        ("compile", "-", _duration(compiled.compile_seconds)),
        (f"train, best of {REPEATS}", _duration(plain.seconds), _duration(compiled.seconds)),
        ("  per step", _duration(plain.seconds / steps), _duration(compiled.seconds / steps)),
        ("  speed", "1", f"{ratio:.2g}" if ratio < 9.95 else f"{ratio:.0f}"),
    ]
    print()
    for title, numpy_text, phlox_text in rows:
        print(f"  {title:21}{numpy_text:>11}{phlox_text:>11}")


def _duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{_three_digits(seconds * scale)} {unit}"
    return f"{_three_digits(seconds * 1e6)} us"


def _three_digits(value: float) -> str:
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
