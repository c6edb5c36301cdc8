"""What a native call makes of the results of its kernel: what it returns, and what it sets outside."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ... import hlo
from ..capture.choices import Choice, Maybe
from ..capture.lists.results import ContainerResult, Making, only
from ..outside import paths
from ..outside.effects import exchange_items, take_effect
from ..outside.entries import exchange_elements
from ..recording import pytree
from ..recording.makers import GIVEN, attributes_of, function_of_leaves, is_written, maker
from .arguments import Call
from .native_lists import OF_RESULTS, PYTHON_NUMBERS, Results, entries_of, pieces_of, rows_of
from .native_places import Around, NotNative
from .native_texts import is_call, is_text, part_of
from .recorded_function import Effect, Output, Recording


def results_and_steps(recording: Recording, around: Around, call: Call) -> tuple[list[Any], list[int], str, list[Any]]:
    """The results of the kernel, the numbers of those that are codes of errors, how they are put together, and the steps of it.

    Raises NotNative where that needs Python.
    """
    shapes = hlo.leaves(recording.module.entry.shape)
    made = Results(around.types, shapes, _python_makes_lists(recording))
    forms = _forms(made, recording)
    column_major = {output.index for output in recording.outputs if output.kind == "result" and output.order == "F"}
    results = [
        around.types.ResultSpec(shape.dtype, shape.dimensions[::-1], "F", form)
        if number in column_major
        else around.types.ResultSpec(shape.dtype, shape.dimensions, form=form)
        for number, (shape, form) in enumerate(zip(shapes, forms))
    ]
    changed = [*recording.mutated, *[len(recording.leaves) + number for number in recording.mutated_captures]]
    for number, slot in enumerate(changed, recording.result_count):
        results[number] = _contents(around.types, recording, shapes[number], slot)
    errors = []
    if recording.error_messages:
        errors.append(len(shapes) - 1)
        results[-1] = around.types.ResultSpec(shapes[-1].dtype, (), form="hidden")
    is_plain = not changed and not errors and not recording.effects and set(forms) == {"new"}
    structure = _plain_structure(recording) if is_plain else None
    if structure is not None:
        return results, errors, structure, []
    return results, errors, "steps", list(_Steps(recording, around, call, forms, made).steps())


def _forms(results: Results, recording: Recording) -> list[str]:
    """What becomes of each result; "item" is a Python number that NumPy makes of it."""
    kinds: list[set[str]] = [set() for _ in results.shapes]
    outputs = iter(recording.outputs)
    unseen = {id(output) for structure in _structures(recording) for output in _unseen(results, structure, outputs)}
    for effect in recording.effects:
        unseen |= set(map(id, recording.outputs[effect.outputs] if effect.how == "entries" else ()))
    for output in recording.outputs:
        if output.kind in OF_RESULTS and id(output) not in unseen:
            kinds[output.index].add(output.kind)
    forms = ["new"] * len(results.shapes)
    for number, shape in enumerate(results.shapes[: recording.result_count]):
        if kinds[number] == {"python scalar"} and shape.dtype in PYTHON_NUMBERS:
            forms[number] = "python"
        elif not kinds[number] and not shape.rank:
            forms[number] = "hidden"
    return forms


def _unseen(results: Results, structure: pytree.Structure, outputs: Iterator[Output]) -> Iterator[Output]:
    """Those of the outputs that no objects are made of: they say whether a value is there, or are elements of lists."""
    if structure is pytree.LEAF:
        next(outputs)
        return
    kind, auxiliary, children = structure
    if kind is ContainerResult:
        for elements, parts, own in pieces_of(auxiliary, children, outputs):
            if elements is None:
                yield from _unseen(results, parts[0], iter(own))
            elif rows_of(results, elements, own) is not None:
                yield from own
        return
    own = list(itertools.islice(outputs, pytree.leaf_count(structure)))
    if part_of(results, structure, own) is not None:
        yield from [output for output in own if output.kind in OF_RESULTS]
        return
    if _is_left_to_python(structure):
        return
    outputs = iter(own)
    if kind is Maybe:
        flag = next(outputs)
        if auxiliary is None and flag.kind == "result":
            yield flag
    for child in children[kind is Maybe :]:
        yield from _unseen(results, child, outputs)


def _contents(types: Any, recording: Recording, shape: hlo.Shape, slot: int) -> Any:
    """The new contents of an array."""
    count = len(recording.leaves)
    leaf = recording.leaves[slot] if slot < count else recording.captures[slot - count]
    given = leaf.shape if slot < count else leaf.parameter.shape
    if leaf.convert is not None or not given.is_row_major or shape.has_dynamic_dimensions:
        raise NotNative
    return types.ResultSpec(shape.dtype, shape.dimensions, form="contents", target=slot)


def _plain_structure(recording: Recording) -> str | None:
    """How the results are put together, all of them in order; None if that takes more."""
    structure, outputs = recording.out_structure, recording.outputs
    if any(output.kind != "result" for output in outputs):
        return None
    if [output.index for output in outputs] != list(range(recording.result_count)):
        return None
    if structure is pytree.LEAF:
        return "single"
    flat = structure[0] is tuple and all(child is pytree.LEAF for child in structure[2])
    return "tuple" if flat else "none" if structure[0] is type(None) else None


def _is_given(output: Output) -> bool:
    """Whether each call makes an object for this one."""
    return output.kind != "value" or isinstance(output.value, np.ndarray)


class _Steps:
    def __init__(self, recording: Recording, around: Around, call: Call, forms: list[str], results: Results) -> None:
        self.recording, self.around, self.forms, self.results = recording, around, forms, results
        self.step = around.types.Step
        self.positions = {one.name: position for position, one in enumerate(call.arguments)}

    def steps(self) -> Iterator[Any]:
        recording = self.recording
        # Effects come first: what the function returns is left behind, and made of the same objects.
        for effect in recording.effects:
            yield from self._effect(effect)
        yield from self._structure(recording.out_structure, iter(recording.outputs[: recording.out_count]))

    def _structure(self, structure: pytree.Structure, outputs: Iterator[Output]) -> Iterator[Any]:
        if structure is pytree.LEAF:
            yield from self._output(next(outputs))
            return
        kind, auxiliary, children = structure
        if kind is type(None):
            yield self.step("object", object=None)
            return
        own = list(itertools.islice(outputs, pytree.leaf_count(structure)))
        if (part := part_of(self.results, structure, own)) is not None:
            yield self.step("part", object=part)
            return
        outputs = iter(own)
        is_left = _is_left_to_python(structure)
        if is_written(structure) and not is_left:
            yield from self._written(structure, outputs)
            return
        if is_left:
            leaves = [GIVEN if _is_given(output) else output.value for output in own]
            given = [output for output, leaf in zip(own, leaves) if leaf is GIVEN]
            for output in given:
                yield from self._output(output)
            yield self.step("call", len(given), function_of_leaves(structure, leaves))
            return
        if kind is Maybe:
            flag = next(outputs)
            if auxiliary is not None or flag.kind != "result":
                raise NotNative
            yield from self._structure(children[1], outputs)
            yield self.step("optional", flag.index)
            return
        if kind is ContainerResult:
            yield from self._list(auxiliary, children, outputs)
            return
        for child in children:
            yield from self._structure(child, outputs)
        if kind in (tuple, list):
            yield self.step(kind.__name__, len(children))
        elif kind is dict:
            yield self.step("dict", len(children), auxiliary)
        elif (attributes := attributes_of(kind, auxiliary)) is not None:
            yield self.step("attributes", len(children), attributes)
        else:
            yield self.step("call", len(children), maker(kind, auxiliary))

    def _written(self, structure: pytree.Structure, outputs: Iterator[Output]) -> Iterator[Any]:
        """What an expression makes, of texts among the characters, too."""
        leaves: list[Any] = []
        steps: list[Any] = []

        def with_leaves(structure: pytree.Structure) -> pytree.Structure:
            if is_text(structure):
                steps.extend(self._structure(structure, outputs))
                leaves.append(GIVEN)
                return pytree.LEAF
            if structure is not pytree.LEAF:
                kind, auxiliary, children = structure
                return kind, auxiliary, tuple(map(with_leaves, children))
            output = next(outputs)
            if _is_given(output):
                steps.extend(self._output(output))
            leaves.append(GIVEN if _is_given(output) else output.value)
            return pytree.LEAF

        written = with_leaves(structure)
        yield from steps
        count = sum([leaf is GIVEN for leaf in leaves])
        only_calls = is_call(written) and count == len(leaves) == len(written[2])
        yield self.step("call", count, maker(*written[:2]) if only_calls else function_of_leaves(written, leaves))

    def _list(self, making: Making, children: Sequence[pytree.Structure], outputs: Iterator[Output]) -> Iterator[Any]:
        """A list of elements and of rows of results, one after the other, or what is one of these."""
        if making.make is only and not self.results.lists_by_python:
            ((elements, _, own),) = pieces_of(making, children, outputs)
            yield self.step("part", object=rows_of(self.results, elements, own).part)
            return
        yield self.step("list", 0)
        for elements, parts, own in pieces_of(making, children, outputs):
            if elements is None:
                yield from self._structure(parts[0], iter(own))
                yield self.step("append")
            elif (rows := rows_of(self.results, elements, own)) is not None:
                yield self.step("rows", object=rows)
            else:
                for output in own:
                    yield from self._output(output)
                yield self.step("call", len(own), lambda *given, elements=elements: elements(given))
                yield self.step("call", 2, _extended)
        if making.make is not list:
            yield self.step("call", 1, making.make)

    def _output(self, output: Output) -> Iterator[Any]:
        if output.kind in OF_RESULTS:
            yield self.step("result", output.index)
            if output.kind == "python scalar" and self.forms[output.index] == "new":
                yield self.step("call", 1, _item)
            elif output.kind == "0-d array":
                yield self.step("call", 1, np.asarray)
        elif output.kind == "argument":
            leaf = self.recording.leaves[output.index]
            yield self.step("place", self.around.place_of_leaf(leaf.path, self.positions.get(leaf.path)))
        elif output.kind == "outside":
            yield self.step("place", self.around.place_of(output.value))
        elif output.kind == "value":
            yield self.step("object", object=output.value)
            if isinstance(output.value, np.ndarray):
                yield self.step("call", 1, np.ndarray.copy)
        else:
            raise NotNative
        for step in output.steps:
            yield self.step("call", 1, step)

    def _effect(self, effect: Effect) -> Iterator[Any]:
        outputs = iter(self.recording.outputs[effect.outputs])
        if effect.how == "write" and effect.structure is not pytree.LEAF and effect.structure[1] is paths.MISSING:
            raise NotNative  # the program decides whether it is set or deleted
        kept = None
        match effect.how, effect.path:
            case "write", paths.Global(namespace=namespace, name=name):
                holder, key, setting = self.step("object", object=namespace), name, "set item"
            case "write", paths.Cell(cell=cell):
                holder, key, setting = self.step("object", object=cell), "cell_contents", "set attribute"
            case "write", paths.Attribute(holder=path, name=name):
                holder, key, setting = self.step("place", self.around.place_of(path)), name, "set attribute"
                kept = self.around.types.instance_value(path.read(self.around.objects), name)
            case "write", paths.Item(holder=path, index=index):
                holder, key, setting = self.step("place", self.around.place_of(path)), index, "set item"
            case "append", path if (kind := type(path.read(self.around.objects))) in (list, deque):
                yield self.step("place", self.around.typed(path, kind))
                yield from self._structure(effect.structure, outputs)
                yield self.step("call", 2, kind.extend)
                yield self.step("drop")
                return
            case "contents", path if (kind := type(path.read(self.around.objects))) in _EXCHANGED:
                yield self.step("place", self.around.typed(path, kind))
                yield from self._structure(effect.structure, outputs)
                yield self.step("call", 2, _EXCHANGED[kind])
                yield self.step("drop")
                return
            case "contents", path if (kind := type(path.read(self.around.objects))) in _FILLED:
                place = self.around.typed(path, kind)
                yield self.step("place", place)
                yield from self._structure(effect.structure, outputs)
                # What they are made of may be what is cleared.
                yield self.step("place", place)
                yield self.step("call", 1, kind.clear)
                yield self.step("drop")
                yield self.step("call", 2, _FILLED[kind])
                yield self.step("drop")
                return
            case "entries", path if self.around.has_entries(path):
                yield self.step("place", self.around.place_of(path))
                yield self._entries(path, effect.structure, list(outputs))
                yield self.step("drop")
                return
            case how, path:
                yield self.step("place", self.around.root(path))
                if effect.structure is not None:
                    yield from self._structure(effect.structure, outputs)
                yield self.step("call", 1 if effect.structure is None else 2, _taking(how, path))
                yield self.step("drop")
                return
        yield holder
        yield self.step("object", object=key)
        yield from self._structure(effect.structure, outputs)
        yield self.step(setting, object=kept)

    def _entries(self, path: paths.Path, structure: pytree.Structure, outputs: list[Output]) -> Any:
        """The step that gives the container at the path, which is read as columns, its entries."""
        if structure[0] is not ContainerResult or len(structure[1].pieces) != 1 or structure[1].pieces[0] is None:
            raise NotNative
        if any(output.kind not in OF_RESULTS for output in outputs):
            raise NotNative
        place = self.around.known_entries(path)
        columns = self.around.places[place]["key"]
        made = entries_of(self.results, columns, structure[1].pieces[0], outputs)
        return self.step("entries", place, made)


def _is_left_to_python(structure: pytree.Structure) -> bool:
    """Whether there is something that the way taken does not make, and that may be what cannot be made."""
    return structure[0] in (Maybe, Choice) and not all(map(_is_plain, structure[2]))


def _structures(recording: Recording) -> list[pytree.Structure]:
    """Of what is returned, and of what is set outside."""
    return [recording.out_structure, *[effect.structure for effect in recording.effects if effect.how != "delete"]]


def _python_makes_lists(recording: Recording) -> bool:
    """Whether a value that is left to Python has lists in it that lie in tables."""
    return any(_holds_lists(structure, False) for structure in _structures(recording))


def _holds_lists(structure: pytree.Structure, is_left: bool) -> bool:
    if structure is pytree.LEAF:
        return False
    kind, auxiliary, children = structure
    is_left = is_left or _is_left_to_python(structure)
    if is_left and kind is ContainerResult and any(elements is not None and elements.lists for elements in auxiliary.pieces):
        return True
    return any(_holds_lists(child, is_left) for child in children)


def _is_plain(structure: pytree.Structure) -> bool:
    """Whether a value of this structure can be made of any leaves."""
    return structure is pytree.LEAF or structure[0] in _PLAIN and all(map(_is_plain, structure[2]))


_PLAIN = (type(None), tuple, list, dict)


# By the types of containers what fills one that has been cleared.
_FILLED = {list: list.extend, deque: deque.extend}
# By the types of containers what exchanges their contents, and leaves what is equal.
_EXCHANGED = {dict: exchange_items, defaultdict: exchange_items, set: exchange_elements}


def _taking(how: str, path: paths.Path) -> Callable[..., None]:
    """What takes an effect, given what stands at the root of the path, and the value."""
    name = path.root.name if isinstance(path.root, paths.Argument) else ""
    return lambda root, value=paths.MISSING: take_effect(how, path, {name: root}, value)


def _extended(first: list[Any], others: list[Any]) -> list[Any]:
    first += others
    return first


def _item(scalar: np.generic) -> Any:
    return scalar.item()
