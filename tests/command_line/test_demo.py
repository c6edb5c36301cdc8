"""The demo: its mathematics against finite differences, its program under jit against NumPy, and what the command prints."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from phlox import jit  # noqa: E402
from phlox.__main__ import main  # noqa: E402
from phlox.command_line import demo, digits  # noqa: E402


@pytest.fixture(scope="module")
def data():
    return demo.load_data()


def test_split(data):
    """80 and 20 percent, every digit among both, nothing in both."""
    assert data.images.shape == (44, 32, 64) and data.test_images.shape == (360, 64)
    assert data.labels.sum() == 44 * 32 and set(np.unique(data.labels)) == {0, 1}
    assert set(data.test_digits) == set(range(10)) == set(data.labels.argmax(axis=2).ravel())
    assert data.images.min() == 0 and data.images.max() == 1
    order = np.random.default_rng(demo.SPLIT_SEED).permutation(1797)
    assert not set(order[: demo.TEST_SIZE]) & set(order[demo.TEST_SIZE :])


def test_gradients_are_the_slopes_of_the_loss(data):
    parameters = digits.initial_parameters()
    x, y = data.images[0], data.labels[0]
    _, gradients = digits.loss_and_gradients(parameters, x, y)
    generator = np.random.default_rng(3)
    for number, gradient in enumerate(gradients):
        for _ in range(5):
            place = tuple(generator.integers(0, size) for size in gradient.shape)
            losses = []
            for step in (1e-5, -1e-5):
                moved = [parameter.copy() for parameter in parameters]
                moved[number][place] += step
                losses.append(digits.loss_and_gradients(moved, x, y)[0])
            assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(gradient[place], rel=1e-4, abs=1e-8)


def test_numpy_learns(data):
    trained, losses = digits.train(digits.initial_parameters(), data.images, data.labels, demo.STEPS)
    assert losses.shape == (demo.STEPS,) and losses[:5].mean() > 1.5 and losses[-44:].mean() < 0.05
    training = demo.Training(trained, losses, 0.0)
    assert demo.accuracy(training.parameters, data) > 0.95


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_jit_agrees_with_numpy(data, backend):
    steps = {"reference": 30, "cpu": demo.STEPS}[backend]
    arguments = (digits.initial_parameters(), data.images, data.labels, steps)
    parameters, losses = jit(digits.train, backend=backend)(*arguments)
    plain_parameters, plain_losses = digits.train(*arguments)
    # float64: 880 steps of rounding, which the training amplifies somewhat.
    np.testing.assert_allclose(losses, plain_losses, rtol=1e-7, atol=1e-10)
    for compiled, plain in zip(parameters, plain_parameters, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-7, atol=1e-8)


def test_the_command(capsys, tmp_path):
    picture = tmp_path / "digits.png"
    assert main(["demo", "--out", str(picture)]) == 0
    out = capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    (line,) = [line for line in out.splitlines() if "test accuracy after" in line]
    accuracies = [float(word) for word in line.split() if word[0].isdigit()]
    assert len(accuracies) == 2 and min(accuracies) > 95


def test_the_command_without_its_packages(capsys, monkeypatch):
    monkeypatch.setitem(demo.PACKAGES, "no_such_package", "no-such-package")
    assert main(["demo"]) == 2
    assert "needs no-such-package: " in (error := capsys.readouterr().err) and "-m pip install no-such-package" in error


def test_a_few_steps(capsys, tmp_path):
    assert main(["demo", "--backend", "reference", "--steps", "2", "--out", str(tmp_path / "a.png")]) == 0
    assert main(["demo", "--backend", "reference", "--steps", "2", "--out", str(tmp_path / "no" / "a.png")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "text"), [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (0.9999, "1000 ms"), (4.26e-6, "4.26 us")])
def test_durations(seconds, text):
    assert demo._duration(seconds) == text
