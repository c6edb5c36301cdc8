"""Dicts with known keys in lists and dicts whose length the program decides: what is changed of one is seen everywhere."""

import copy
from collections import defaultdict

import numpy as np
import pytest
from phlox import jit
from thinning import LEFT_TO_CI

X = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])


def above_zero(x):
    rows = []
    for value in x:
        if value > 0:
            rows.append({"n": 0, "x": float(value)})
    return rows


def by_positions_and_names(x):
    rows = above_zero(x)
    for i in range(len(rows)):
        rows[i]["n"] += i
    for row in rows:
        row["x"] *= 2
    first, again = rows[0], rows[0]
    first["n"] += 5
    again["x"] = -1.0
    return rows, first, first is again, rows[1] is first, first == rows[1], first == {"n": 5, "x": -1.0}, {"n": 5} == first


def of_several_types(x):
    tasks = []
    for i, value in enumerate(x):
        if value > 0:
            tasks.append({"id": i, "name": "t", "weight": float(value), "done": False, "next": None, "place": (1, 2.5)})
    for task in tasks:
        if task["weight"] > 2:
            task["done"] = True
            task["next"] = task["id"] + 1
    tasks[0]["name"] = "first"
    tasks[-1]["place"] = (3, tasks[0]["weight"])
    return tasks, sum(1 for task in tasks if task["done"]), [task for task in tasks if not task["done"]]


def asked_as_dicts_are(x):
    row = above_zero(x)[1]
    row["n"] = 3
    total = 0.0
    for value in row.values():
        total += value
    for key in row:
        total += row[key]
    parts = list(row), list(row.keys()), list(row.values()), list(row.items()), sorted(row), dict(row), {**row, "z": 1}
    found = row.get("n"), row.get("q", 7), row.setdefault("x", 5), max(row, key=row.get), "n" in row, "q" in row
    return total, parts, found, len(row), bool(row), row | {"n": 9}, f"{row}", str(row)


def copied(x):
    rows = above_zero(x)
    rows[0]["n"] = 3
    copies = [rows[0].copy(), dict(rows[0]), copy.copy(rows[0]), copy.deepcopy(rows[0]), {**rows[0]}]
    for number, one in enumerate(copies):
        one["n"] += number + 1
    rows[0]["n"] = 50
    rows[1].update({"n": 8})
    rows[1].update(x=2.0)
    rows[1] |= {"n": 9}
    return rows, copies


def written_in_several_places(x):
    rows = [{"n": 1, "x": 0.5}]
    for value in x:
        if value > 0:
            rows.append({"n": 0, "x": float(value)})
        elif value < -2:
            rows.append({"n": 9, "x": -1.0})
    largest = rows[0]
    for row in rows:
        row["n"] += 1
        if row["x"] > largest["x"]:
            largest = row
    largest["x"] = 100.0
    return rows, largest


def with_lists_and_dicts(x):
    rows = []
    for value in x:
        if value > 0:
            rows.append({"n": 0, "items": [], "sub": {"a": 0.0}})
    for i in range(len(rows)):
        rows[i]["items"].append(i)
        rows[0]["items"].append(7)
        rows[i]["sub"]["a"] += 1.5
        rows[i]["n"] += 1
    return rows


def in_dicts(x):
    found, others, third = {}, {}, defaultdict(lambda: {"n": 0, "s": 0.0})
    for value in x:
        key = int(value) % 3
        if key not in found:
            found[key] = {"n": 0, "s": 0.0}
        found[key]["n"] += 1
        other = others.setdefault(int(value) % 2, {"n": 0, "s": 0.0})
        other["s"] += float(value) * 0.5
        third[key]["s"] -= 1.5
    return found, others, dict(third)


def changed_behind(x):
    found = {}
    for value in x:
        row = {"n": 0}
        found[int(value) % 3] = row
        row["n"] += 1
    return found


def under_a_key_that_is_computed(x):
    rows = []
    for value in x:
        if value > 0:
            rows.append({"up": 0, "down": 0})
    for i in range(5):
        rows[i % len(rows)]["up" if x[i] > 0 else "down"] += 1
    return rows


def ordered_and_chosen(x):
    rows = above_zero(x)
    for row in sorted(rows, key=lambda row: row["x"])[:1]:
        row["n"] = 4
    least = min(rows, key=lambda row: row["x"])
    least["x"] += 50
    rows.sort(key=lambda row: -row["x"])
    row = rows[0] if x[0] > 0 else rows[1]
    if x[1] > 0:
        row = rows[1]
    row["x"] = 0.5
    return rows, row


def in_a_list_of_known_length(x):
    rows = [{"n": 0, "x": float(value)} for value in x]
    i = int(np.argmax(x))
    rows[i]["n"] = 4
    for k in range(len(x)):
        rows[(k + i) % 6]["x"] += 1
    return rows


def under_keys_of_a_dict(x):
    table = {(i, j): {action: 0.0 for action in ("left", "right", 2)} for i in range(6) for j in range(6)}
    state, taken = (int(np.argmax(x)), 0), []
    for value in x:
        action = max(table[state], key=table[state].get)
        table[state][action] += value - max(table[state].values())
        state = (state[0] + 1) % 6, (state[1] + (2 if value > 0 else 5)) % 6
        taken.append(action)
    table[state][2 if x[0] > 0 else "left"] = 7.0
    return table, taken, table[state] is table[1, 1], sorted(table[state], key=table[state].get)


def with_a_key_that_is_new(x):
    table = {k: {0: 0.0, 1: 0.0} for k in range(3)}
    table[int(np.argmax(x)) % 3][int(x[0] > 0) + int(x[1] > 0)] = 5.0
    return table


def lists_under_keys_of_a_dict(x):
    table = {k: [0.0, k] for k in range(40)}
    for k in range(len(x)):
        row = table[(int(np.argmax(x)) + k) % 3]
        row[k % 2] += x[k]
        row.append(k)
    return table


PROGRAMS = [
    by_positions_and_names, of_several_types, asked_as_dicts_are, copied, written_in_several_places, with_lists_and_dicts,
    in_dicts, changed_behind, under_a_key_that_is_computed, ordered_and_chosen, in_a_list_of_known_length,
    lists_under_keys_of_a_dict, with_a_key_that_is_new, pytest.param(under_keys_of_a_dict, marks=LEFT_TO_CI),
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_changes_are_seen(function):
    decorated = jit(function)
    for x in (X, -X, np.abs(X) + 0.25, X):
        assert repr(decorated(x)) == repr(function(x))


def test_there_is_one_dict_for_each_that_the_function_makes():
    @jit
    def some(x):
        rows = above_zero(x)
        rows[0]["x"] += 1
        return rows, [rows[1], rows[0]], rows[0], {"last": rows[-1]}

    rows, two, first, last = some(X)
    assert rows[0] is two[1] is first and rows[1] is two[0] and rows[-1] is last["last"]
    assert some(X)[0][0] is not first


def put_there(rows):
    rows[0]["n"] = 3
    rows[1]["other"] = 3


def taken_away(rows):
    rows[0]["n"] = 3
    rows[1].pop("x")


def emptied(rows):
    rows[1].clear()


@pytest.mark.parametrize("change", [put_there, taken_away, emptied])
def test_keys_come_and_go(change):
    def some(x):
        rows = above_zero(x)
        change(rows)
        return rows

    decorated = jit(some)
    for x in (X, np.abs(X) + 0.25, X):
        assert repr(decorated(x)) == repr(some(x))


def test_a_set_that_a_dict_holds_is_changed():
    def some(x):
        found, one = {}, set()
        found[int(x[0]) % 3] = one
        one.add(int(x[1]))
        return found

    assert jit(some)(X) == some(X)
