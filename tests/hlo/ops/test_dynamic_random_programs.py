"""Random programs with dynamic dimensions, on both backends, against NumPy on arrays of the actual sizes."""

import numpy as np
from dynamic_programs import BACKENDS, check, numbers
from hypothesis import given, settings
from hypothesis import strategies as st
from phlox import hlo, load_hlo
from phlox.hlo import F32, Shape
from phlox.xla_builder import XlaBuilder


class RandomProgram:
    """Instructions on values of known sizes, each with what it means in NumPy.

    A value is (instruction, array, tags); equal tags say that dimensions have the same size.
    """

    def __init__(self, draw, sizes):
        self.draw, self.b = draw, XlaBuilder("random")
        self.bounds = {"n": 7, "m": 4, "3": 3}
        self.sizes = {**sizes, "3": 3}
        self.arguments, self.pool = [], []
        for number, tags in enumerate(("n", "nm", "3n")):
            array = numbers(*(self.sizes[tag] for tag in tags), seed=number)
            shape = Shape(F32, tuple(self.bounds[tag] for tag in tags), None, tuple(tag != "3" for tag in tags))
            self.arguments.append(array)
            self.pool.append((self.b.parameter(shape), array, tuple(tags)))

    def choose(self, wanted=lambda tags: True):
        fitting = [value for value in self.pool if wanted(value[2])]
        return fitting[self.draw(st.integers(0, len(fitting) - 1))] if fitting else None

    def step(self):
        kind = self.draw(st.sampled_from(
            ["unary", "binary", "transpose", "reverse", "broadcast", "reduce", "sort", "concatenate", "flatten", "dot", "cut",
             "pad", "running", "select"]
        ))  # fmt: skip
        made = getattr(self, kind)()
        if made is not None and made[1].size <= 2000:
            self.pool.append(made)

    def full(self, x, value):
        return self.b.BroadcastInDim(self.b.constant(np.float32(value)), x.shape.dimensions, ())

    def unary(self):
        x, array, tags = self.choose()
        # Bounded, so that sums and products stay exact.
        low, high = self.b.constant(np.float32(-3)), self.b.constant(np.float32(3))
        return self.b.emit("clamp", low, self.b.Neg(x), high), np.clip(-array, -3, 3), tags

    def binary(self):
        x, array, tags = self.choose()
        y, other, _ = self.choose(lambda found: found == tags)
        return self.b.Max(self.b.Sub(x, y), self.full(x, -5)), np.maximum(array - other, -5), tags

    def select(self):
        x, array, tags = self.choose()
        y, other, _ = self.choose(lambda found: found == tags)
        return self.b.Select(self.b.Lt(x, y), x, self.full(x, 2)), np.where(array < other, array, np.float32(2)), tags

    def transpose(self):
        x, array, tags = self.choose(lambda tags: len(tags) == 2)
        return self.b.Trans(x), array.T, tags[::-1]

    def reverse(self):
        x, array, tags = self.choose(len)
        d = self.draw(st.integers(0, len(tags) - 1))
        return self.b.Rev(x, dimensions=(d,)), np.flip(array, d), tags

    def broadcast(self):
        x, array, tags = self.choose(lambda tags: len(tags) == 1)
        return self.b.Broadcast(x, (3,)), np.broadcast_to(array, (3, *array.shape)), ("3", *tags)

    def reduce(self):
        x, array, tags = self.choose(len)
        d = self.draw(st.integers(0, len(tags) - 1))
        total = self.b.Reduce(x, self.b.constant(np.float32(0)), hlo.scalar_computation("add", F32), (d,))
        return total, array.sum(d), tags[:d] + tags[d + 1 :]

    def sort(self):
        x, array, tags = self.choose(len)
        d = self.draw(st.integers(0, len(tags) - 1))
        return self.b.Sort(x, dimension=d), np.sort(array, d), tags

    def concatenate(self):
        x, array, tags = self.choose(len)
        d = self.draw(st.integers(0, len(tags) - 1))
        y, other, found = self.choose(
            lambda found: len(found) == len(tags) and found[:d] + found[d + 1 :] == tags[:d] + tags[d + 1 :]
        )
        joined = tags[:d] + (f"({tags[d]}+{found[d]})",) + tags[d + 1 :]
        return self.b.ConcatInDim([x, y], d), np.concatenate([array, other], d), joined

    def flatten(self):
        x, array, tags = self.choose(lambda tags: len(tags) == 2)
        return self.b.Reshape(x, (x.shape.size,)), array.ravel(), (f"({tags[0]}*{tags[1]})",)

    def dot(self):
        x, array, tags = self.choose(lambda tags: len(tags) == 2)
        found = self.choose(lambda other: len(other) == 2 and other[0] == tags[1])
        if found is None or found[0].shape.dimensions[0] != x.shape.dimensions[1]:
            return None
        y, other, right = found
        return self.b.Clamp(self.b.constant(np.float32(-3)), self.b.Dot(x, y), self.b.constant(np.float32(3))), (
            np.clip(array @ other, -3, 3)
        ), (tags[0], right[1])  # fmt: skip

    def cut(self):
        x, array, tags = self.choose(len)
        d, size = self.draw(st.integers(0, len(tags) - 1)), self.draw(st.integers(0, 3))
        size = min(size, x.shape.dimensions[d], array.shape[d])
        cut = self.b.SetDimensionSize(x, self.b.constant(np.int32(size)), d)
        return cut, np.take(array, range(size), d), tags[:d] + (f"{size} of {x.shape.dimensions[d]}",) + tags[d + 1 :]

    def pad(self):
        x, array, tags = self.choose(len)
        d, low, high, interior = self.draw(st.tuples(*(st.integers(0, top) for top in (len(tags) - 1, 2, 2, 1))))
        config = [(low, high, interior) if other == d else (0, 0, 0) for other in range(len(tags))]
        total = array.shape[d] + max(0, array.shape[d] - 1) * interior + low + high
        result = np.ones(array.shape[:d] + (total,) + array.shape[d + 1 :], np.float32)
        spread = np.moveaxis(result, d, 0)[low : total - high : interior + 1]
        spread[...] = np.moveaxis(array, d, 0)
        tag = f"pad {config[d]} of {tags[d]}"
        return self.b.Pad(x, self.b.constant(np.float32(1)), padding=config), result, tags[:d] + (tag,) + tags[d + 1 :]

    def running(self):
        x, array, tags = self.choose(len)
        d = self.draw(st.integers(0, len(tags) - 1))
        size = x.shape.dimensions[d]
        sizes = [size if other == d else 1 for other in range(len(tags))]
        padding = [(size - 1, 0) if other == d else (0, 0) for other in range(len(tags))]
        init, largest = self.b.constant(np.float32(-np.inf)), hlo.scalar_computation("maximum", F32)
        made = self.b.ReduceWindowWithGeneralPadding(x, init, largest, sizes, [1] * len(tags), padding=padding)
        return made, np.maximum.accumulate(array, d) if array.shape[d] else array, tags


@settings(deadline=None, derandomize=True, max_examples=40)
@given(data=st.data())
def test_random_programs(data):
    sizes = {"n": data.draw(st.integers(0, 7), "n"), "m": data.draw(st.integers(0, 4), "m")}
    program = RandomProgram(data.draw, sizes)
    for _ in range(data.draw(st.integers(1, 7), "steps")):
        program.step()
    results = program.pool[3:] or program.pool[:1]
    module = program.b.build_module(program.b.Tuple([instruction for instruction, _, _ in results]))
    text = module.as_text()
    for backend in BACKENDS:
        check(load_hlo(text, backend)(*program.arguments), tuple(array for _, array, _ in results))
