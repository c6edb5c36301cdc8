"""What a call reads and sets where objects and dicts keep it, in whatever way they have come to keep it by then."""

import copy
import sys
from dataclasses import dataclass

import pytest
from phlox import jit


@dataclass
class Account:
    balance: float
    moves: int = 0


class Model:
    def __init__(self):
        self.w, self.steps, self.rate = 1.5, 0, 0.5


def transfer(source, target, amount):
    source.balance -= amount
    target.balance += amount
    source.moves += 1
    return source.balance + target.balance


def train(x):
    MODEL.w = MODEL.w * MODEL.rate + x * SETTINGS["rate"]
    MODEL.steps += 1
    SETTINGS["steps"] += 1
    return MODEL.w


MODEL, SETTINGS = Model(), {}


def extended(model):
    model.extra = 3.0


def opened(model):
    return model.__dict__


def in_its_dict(model):
    model.__dict__["w"] = 7.0


def deleted(model):
    del model.w
    model.w = 2.5


def of_a_subclass(model):
    class Other(Model):
        pass

    globals()["MODEL"] = Other()


def of_a_class_with_a_default(model):
    Model.w = 11.0
    del model.w


def with_a_property(model):
    Model.w = property(lambda self: self.kept * 2, lambda self, value: setattr(self, "kept", value))
    model.__dict__["kept"] = 1.25


def with_more_than_are_shared(model):
    for number in range(50):
        setattr(model, f"name{number}", number)


CHANGES_OF_MODELS = [
    extended,
    opened,
    in_its_dict,
    deleted,
    of_a_subclass,
    of_a_class_with_a_default,
    with_a_property,
    with_more_than_are_shared,
]


def run(function, change):
    global MODEL, SETTINGS
    MODEL, SETTINGS = Model(), {"rate": 0.25, "steps": 1}
    try:
        found = [function(0.5) for _ in range(4)]
        change()
        found += [function(float(number)) for number in range(4)]
        return found, dict(vars(MODEL)), list(SETTINGS.items())
    finally:
        for name in ("w", "kept"):
            if name in vars(Model):
                delattr(Model, name)


@pytest.mark.parametrize("change", CHANGES_OF_MODELS)
def test_attributes_behind_changes_of_how_they_are_kept(change):
    assert run(jit(train), lambda: change(MODEL)) == run(train, lambda: change(MODEL))


def moved_back(settings):
    settings["rate"] = settings.pop("rate")


def another_in_another_order(settings):
    globals()["SETTINGS"] = {"steps": 5, "rate": 2.5}


def with_other_keys(settings):
    globals()["SETTINGS"] = {1: 2, "steps": 7, "rate": 0.125}


def with_equal_texts(settings):
    globals()["SETTINGS"] = {"".join(["ra", "te"]): 1.5, "".join(["ste", "ps"]): 9}


def grown(settings):
    settings.update({f"name{number}": number for number in range(100)})


def emptied(settings):
    settings.clear()
    settings.update(steps=1, rate=4.5)


def shared(settings):
    model = Model()
    globals()["SETTINGS"] = vars(model)


@pytest.mark.parametrize(
    "change", [moved_back, another_in_another_order, with_other_keys, with_equal_texts, grown, emptied, shared]
)
def test_items_behind_changes_of_how_they_are_kept(change):
    assert run(jit(train), lambda: change(SETTINGS)) == run(train, lambda: change(SETTINGS))


def test_attributes_of_arguments():
    jitted = jit(transfer)
    for change in (
        lambda one: one,
        copy.copy,
        vars,
        lambda one: setattr(one, "extra", 1),
        lambda one: setattr(one, "moves", 9),
    ):
        ours, theirs = (Account(5.0), Account(1.5)), (Account(5.0), Account(1.5))
        for amount in (0.25, 1.0, 3.5):
            assert jitted(*ours, amount) == transfer(*theirs, amount)
        for accounts, function in ((ours, jitted), (theirs, transfer)):
            change(accounts[0])
            accounts[0].moves += function(*accounts, 0.125) > 0
            function(accounts[1], accounts[0], 2.0)
        assert [vars(one) for one in ours] == [vars(one) for one in theirs]


class Held:
    pass


def exchange(one, other):
    one.held, other.held = other.held, one.held
    one.number, other.number = other.number + 0.5, one.number * 2.0


def test_references_are_counted():
    jitted = jit(exchange)
    one, other, held = Model(), Model(), [Held(), Held()]
    for model, value in zip((one, other), held):
        model.held, model.number = value, 1234.5
    counts = []
    for _ in range(20):
        jitted(one, other)
        jitted(one, other)
        counts.append([sys.getrefcount(value) for value in (*held, one, other, Model, "number")])
    assert one.held is held[0] and other.held is held[1]
    assert counts[-1] == counts[1]
    values = one.number, other.number
    jitted(one, other)
    assert (one.number, other.number) == (values[1] + 0.5, values[0] * 2.0)
