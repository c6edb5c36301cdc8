"""Attributes of objects from outside, read and set otherwise than by ``x.name``: methods of object, and ``__dict__``."""

import numpy as np
import phlox
import pytest
from phlox import jit


class Tank:
    def __init__(self):
        self.level, self.rows, self.notes = 2.0, np.arange(3.0), [1.0]

    def doubled(self, name, value):
        super().__setattr__(name, 2 * value)
        return super().__getattribute__(name)


class Checked(Tank):
    @property
    def depth(self):
        return self.__dict__["depth"] + 1

    def __iadd__(self, value):
        self.__dict__["level"] += value
        return self


class Guarded:
    def __init__(self):
        self.__dict__["level"] = 1.0

    def __setattr__(self, name, value):
        self.__dict__[name] = value + 100.0


def by_method(tank, v):
    tank.__setattr__("level", tank.__getattribute__("level") * v)
    return tank.level


def by_names(tank, v):
    for name in ("level", "rows"):
        if tank.__getattribute__(name) is not None:
            tank.__setattr__(name, np.copy(tank.__getattribute__(name)) * v)
    return tank.rows


def by_kept_method(tank, v):
    put = tank.__setattr__
    put("level", v)
    list(map(put, ["rows", "more"], [v, v + 1]))
    return tank.level, tank.rows, tank.more


def by_super(tank, v):
    return tank.doubled("rows", v), tank.rows


def by_object(tank, v):
    object.__setattr__(tank, "level", v)
    object.__delattr__(tank, "rows")
    return object.__getattribute__(tank, "level"), hasattr(tank, "rows")


def on_one_side(tank, v):
    if v > 0:
        tank.__setattr__("level", v)
    else:
        tank.__dict__["level"] = -v
    return tank.level


def in_a_loop(tank, v):
    for _ in range(200):
        tank.__setattr__("level", tank.level * 0.5 + v)
        vars(tank)["rows"] = tank.rows + tank.__dict__["level"]
    return tank.level


def of_one_that_is_made(tank, v):
    made = Tank()
    made.__setattr__("level", v)
    if v > 0:
        made.__dict__["level"] = tank.level
    return made.level


def by_dict(tank, v):
    tank.__dict__["level"] = v * tank.level
    return tank.level, vars(tank)["level"]


def by_update(tank, v):
    vars(tank).update(level=v, more=2 * v)
    return tank.level, tank.more, list(vars(tank))


def set_and_read_in_dict(tank, v):
    held = tank.__dict__
    tank.level, tank.more = v, 3 * v
    return held["level"], held["more"], len(held), list(held), held.get("none", v)


def deleted_in_dict(tank, v):
    del tank.__dict__["rows"]
    popped = vars(tank).pop("level")
    return hasattr(tank, "rows"), popped * v, list(vars(tank)), getattr(tank, "level", v)


def deleted_and_read_in_dict(tank, v):
    del tank.rows
    return "rows" in tank.__dict__, len(tank.__dict__), {k: w for k, w in vars(tank).items()}, v


def by_setdefault(tank, v):
    return vars(tank).setdefault("level", v), vars(tank).setdefault("more", v), tank.more


def behind_a_property(tank, v):
    tank.__dict__["depth"] = v
    return tank.depth, vars(tank)["depth"]


def with_operators(tank, v):
    tank += v
    tank += v
    return tank.level


def around_a_setattr(tank, v):
    tank.__dict__["level"] = v
    tank.__dict__["level"] += 1
    return tank.level


def compared(tank, v):
    return tank.__dict__ == {"level": 2.0}, tank.__dict__ | {"level": v}, {**vars(tank), "more": v}


def held(tank):
    return {name: np.asarray(value).tolist() for name, value in vars(tank).items()}


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        *[
            (function, kind)
            for function in (
                by_method, by_names, by_kept_method, by_super, by_object, on_one_side, in_a_loop, of_one_that_is_made, by_dict,
                by_update, set_and_read_in_dict, deleted_in_dict, deleted_and_read_in_dict, by_setdefault, compared,
            )
            for kind in (Tank, Checked)
        ],
        (behind_a_property, Checked), (with_operators, Checked), (around_a_setattr, Guarded),
    ],
)  # fmt: skip
def test_attributes_are_the_same_however_they_are_read_and_set(function, kind):
    jitted = jit(function)
    for v in (2.0, -3.0, 0.5):
        expected_tank, tank = kind(), kind()
        expected = function(expected_tank, v)
        for _ in range(2):
            tank = kind()
            found = jitted(tank, v)
            assert repr(found) == repr(expected)
            assert held(tank) == held(expected_tank)
            assert list(map(type, vars(tank).values())) == list(map(type, vars(expected_tank).values()))


def test_another_dict_in_the_place_of_an_objects_is_refused():
    @jit
    def replace(tank, v):
        tank.__dict__ = {"level": v}

    tank = Tank()
    with pytest.raises(phlox.TracerError, match=r"tank.__dict__ is set .*vars\(tank\).update"):
        replace(tank, 1.0)
    assert tank.level == 2.0


@pytest.mark.parametrize(
    "ask", [lambda tank: sorted(vars(tank)), lambda tank: "spare" in vars(tank), lambda tank: len(vars(tank))]
)
def test_what_is_set_on_some_ways_is_not_asked_of_the_dict(ask):
    @jit
    def asked(tank, v):
        if v < 0:
            tank.spare = v
        return ask(tank)

    with pytest.raises(phlox.TracerError, match="under a condition that the program decides"):
        asked(Tank(), 1.0)
