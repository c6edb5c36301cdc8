"""Convolutions, and their gradients by both operands: the same HLO for phlox and XLA; NumPy multiplies windows of the input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..contenders import Case, Row, case, hlo_case, jax, jnp, normal, row, targets

TITLE = "Convolutions, f32"


@dataclass(frozen=True)
class Form:
    """Of one or two dimensions, batch and features last; SAME padding as XLA and TensorFlow have it."""

    name: str
    batch: int
    sizes: tuple[int, ...]
    window: tuple[int, ...]
    inputs: int
    outputs: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1

    @property
    def result_sizes(self) -> tuple[int, ...]:
        return tuple(-(-size // self.stride) for size in self.sizes)

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * np.prod(self.result_sizes) * np.prod(self.window) * self.inputs // self.groups * self.outputs

    def padding(self) -> list[tuple[int, int]]:
        found = []
        for size, result, window in zip(self.sizes, self.result_sizes, self.window):
            missing = max(0, (result - 1) * self.stride + (window - 1) * self.dilation + 1 - size)
            found.append((missing // 2, missing - missing // 2))
        return found


FORMS = (
    Form("3 x 3", 8, (28, 28), (3, 3), 128, 128),
    Form("3 x 3, stride 2", 8, (28, 28), (3, 3), 128, 256, stride=2),
    Form("1 x 1", 8, (28, 28), (1, 1), 128, 256),
    Form("7 x 7, stride 2", 4, (112, 112), (7, 7), 3, 64, stride=2),
    Form("depthwise 3 x 3", 8, (56, 56), (3, 3), 64, 64, groups=64),
    Form("3 x 3, dilated by 2", 8, (28, 28), (3, 3), 64, 64, dilation=2),
    Form("1-d, 5", 32, (1000,), (5,), 32, 64),
)


def convolution(form: Form, layout: str):
    """JAX's, of inputs and windows."""
    one = len(form.sizes) == 1
    names = {"NHWC": ("NHWC", "HWIO", "NHWC"), "NCHW": ("NCHW", "OIHW", "NCHW")}[layout]
    names = tuple(name.replace("H", "") for name in names) if one else names
    strides, dilation = (form.stride,) * len(form.sizes), (form.dilation,) * len(form.sizes)

    def convolved(x, w):
        return jax.lax.conv_general_dilated(
            x, w, strides, form.padding(), rhs_dilation=dilation, dimension_numbers=names, feature_group_count=form.groups
        )

    return convolved


def by_windows(form: Form, layout: str):
    """NumPy's: what lies under the windows, times the weights."""
    rank = len(form.sizes)
    spatial = tuple(range(1, rank + 1))
    reach = tuple((size - 1) * form.dilation + 1 for size in form.window)

    def convolved(x, w):
        if layout == "NCHW":
            x, w = np.moveaxis(x, 1, -1), np.moveaxis(w, (0, 1), (-1, -2))
        x = np.pad(x, [(0, 0), *form.padding(), (0, 0)])
        windows = sliding_window_view(x, reach, spatial)
        step, skip = slice(None, None, form.stride), slice(None, None, form.dilation)
        windows = windows[(slice(None), *[step] * rank, slice(None), *[skip] * rank)]
        if form.groups > 1:
            kernel = np.moveaxis(w[..., 0, :], -1, 0)
            result = (windows * kernel).sum(axis=tuple(range(-rank, 0)))
        else:
            axes = (*range(rank + 2, 2 * rank + 2), rank + 1)
            result = np.tensordot(windows, w, (axes, tuple(range(rank + 1))))
        return np.moveaxis(result, -1, 1) if layout == "NCHW" else result

    return convolved


def operands(form: Form, layout: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, windows, and a derivative by the result."""
    per_group = form.inputs // form.groups
    if layout == "NCHW":
        shapes = (form.inputs, *form.sizes), (form.outputs, per_group, *form.window), (form.outputs, *form.result_sizes)
    else:
        shapes = (*form.sizes, form.inputs), (*form.window, per_group, form.outputs), (*form.result_sizes, form.outputs)
    return normal(form.batch, *shapes[0]), normal(*shapes[1], seed=1), normal(form.batch, *shapes[2], seed=2)


def forward(form: Form, layout: str) -> Case:
    x, w, _ = operands(form, layout)
    facts = {"flops": form.flops, "tolerance": 1e-3, "turns": 7}
    return hlo_case(convolution(form, layout), x, w, numpy=by_windows(form, layout), **facts)


def gradient(form: Form, layout: str, by_input: bool) -> Case:
    """XLA is given a convolution of the derivative, as JAX derives it; the operand that it does not depend on is left out."""
    x, w, g = operands(form, layout)
    convolved = convolution(form, layout)
    if by_input:
        found = hlo_case(lambda w, g: jax.linear_transpose(lambda x: convolved(x, w), jnp.asarray(x))(g)[0], w, g)
    else:
        found = hlo_case(lambda x, g: jax.linear_transpose(lambda w: convolved(x, w), jnp.asarray(w))(g)[0], x, g)
    found.flops, found.tolerance, found.turns = form.flops, 1e-3, 7
    return found


def as_windows() -> Case:
    """What a user of NumPy writes, jitted."""
    form = FORMS[0]
    x, w, _ = operands(form, "NHWC")

    def convolved(x, w):
        windows = sliding_window_view(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), (1, 2))
        return np.tensordot(windows, w, ((4, 5, 3), (0, 1, 2)))

    return case(convolved, x, w, jax_function=convolution(form, "NHWC"), flops=form.flops, tolerance=1e-3, turns=7)


def rows() -> Iterator[Row]:
    if jax is None:
        return
    wanted = targets(JAX=1.5)
    for form in FORMS:
        for layout in ("NHWC", "NCHW"):
            shown = layout.replace("H", "") if len(form.sizes) == 1 else layout
            yield row(f"{form.name}, {shown}", wanted, forward, form, layout)
            yield row(f"{form.name}, {shown}, by the input", wanted, gradient, form, layout, True)
            yield row(f"{form.name}, {shown}, by the window", wanted, gradient, form, layout, False)
    yield row("3 x 3, NHWC, as a product of windows in NumPy", wanted, as_windows)
