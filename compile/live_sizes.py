"""How far the arrays of a padded program are needed, so that loop nests stop at sizes that are known when it runs.

Before: ``x[mask]`` is an array of its bound, f64[1000000], beside its size; what is computed of it is computed a million times.
After: of each loop nest whose results nobody needs behind a size that size is known, and the nest may stop there. What lies
behind it is unspecified, as `dynamic_padding` has it.

The need goes backwards through what keeps the places of elements: from results that have sizes, and from masks, as
``select(iota < size, x, 0)`` needs ``x`` in front of the size only. The program stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ..hlo import S32, S64, Computation, Instruction, Shape, leaves
from ..hlo.operation import ELEMENTWISE
from ..hlo.shape import AnyShape
from .carried_sizes import SizesOfElements, carried_sizes
from .contraction import contraction_of
from .fused_computations import as_computation, has_scan, result_roots
from .in_place import update_of
from .masks import (
    Need,
    Outside,
    Reach,
    farther,
    inside_of,
    need_of_reduced,
    size_before_last,
    size_before_worst,
    sizes_before_zeros,
    sizes_of_mask,
    unclamped,
    within_mask,
)
from .memo import Memo
from .shifts import written_between


class Limit(NamedTuple):
    """Of a dimension of this many elements those behind the size, s32[] or s64[], are not needed; it may be larger, too.

    ``keeps_rest``: of a sort, whether these are needed, and are those of the operands. ``least``: so many are needed at least.
    """

    size: Instruction
    bound: int
    keeps_rest: bool = False
    least: int = 0


Limits = dict[int, Limit]

_SIZES = (Shape(S32), Shape(S64))
# Loop nests over fewer elements are not worth a loop of unknown length.
_LEAST_ELEMENTS = 256


def live_sizes(computation: Computation, sizes: SizesOfElements = MappingProxyType({})) -> dict[Instruction, Limits]:
    """For loop nests: by dimension of what they go over, the size at which they may stop.

    Those of a dot are the dimensions of its result, and then those that it sums over.

    sizes: of the tuple that the computation gives, which elements are the sizes of others.
    """
    return _Needs(computation).found(sizes)


class _Needs:
    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.needs: dict[tuple[Instruction, int], Need] = {}
        self.limits: dict[Instruction, Limits] = {}
        self.position = {instruction: number for number, instruction in enumerate(computation.instructions)}

    def found(self, sizes: SizesOfElements) -> dict[Instruction, Limits]:
        self.need_elements(self.computation.root, sizes)
        for instruction in reversed(self.computation.instructions):
            self._visit(instruction)
        return self.limits

    def need_elements(self, value: Instruction, sizes: SizesOfElements) -> None:
        """Of a tuple whose operands are known the elements in front of their sizes; of anything else all."""
        if not sizes or value.opcode != "tuple" or any(operand.shape.is_tuple for operand in value.operands):
            self.need_all(value)
            return
        for number, operand in enumerate(value.operands):
            own = {d: unclamped(value.operands[size]) for d, size in sizes.get(number, {}).items()}
            self.need(value, number, tuple([own.get(d) for d in range(operand.shape.rank)]))

    def need(self, instruction: Instruction, leaf: int, need: Need) -> None:
        _note(self.needs, (instruction, leaf), need)

    def need_all(self, instruction: Instruction) -> None:
        for leaf, shape in enumerate(leaves(instruction.shape)):
            self.need(instruction, leaf, (None,) * shape.rank)

    def _visit(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if opcode == "get-tuple-element":
            (operand,), number = instruction.operands, instruction.attributes["index"]
            if not instruction.shape.is_tuple:
                self.need(operand, operand.shape.leaf_offsets[number], self._need_of(instruction))
                return
        elif opcode == "scan":
            self._visit_scan(instruction, as_computation(instruction))
            return
        elif opcode == "fusion" and has_scan(computation := instruction.attributes["calls"]):
            self._visit_scan(instruction, computation)
            return
        elif opcode == "fusion" and update_of(instruction) is None and _is_followed(computation):
            self._visit_fusion(instruction, computation)
            return
        elif not instruction.shape.is_tuple and (opcode == "reduce" or _is_loop(instruction)):
            needs = _needs_of_operands(instruction, self._need_of(instruction), unclamped)
            for operand, need in zip(instruction.operands, needs):
                self.need(operand, 0, need)
            if opcode != "reduce":
                self._limit(instruction, instruction.shape, self._need_of(instruction))
            return
        elif opcode == "scatter" and not instruction.shape.is_tuple:
            self._visit_scatter(instruction)
            return
        elif opcode == "sort" and self._visit_sort(instruction):
            return
        elif opcode == "topk" and self._visit_topk(instruction):
            return
        elif opcode == "dot":
            self._visit_dot(instruction)
            return
        elif opcode == "while":
            self.need_elements(instruction.operands[0], carried_sizes(instruction))
            return
        elif opcode == "conditional":
            self._visit_conditional(instruction)
            return
        elif opcode == "tuple" and not any(operand.shape.is_tuple for operand in instruction.operands):
            for number, operand in enumerate(instruction.operands):
                self.need(operand, 0, self.needs.get((instruction, number), (None,) * operand.shape.rank))
            return
        elif opcode == "dynamic-update-slice":
            first, *others = instruction.operands
            self.need(first, 0, self._need_of(instruction))
            for operand in others:
                self.need_all(operand)
            return
        for operand in instruction.operands:
            self.need_all(operand)

    def _need_of(self, instruction: Instruction) -> Need:
        rank = instruction.shape.rank
        return self.needs.get((instruction, 0), (None,) * rank)

    def _visit_conditional(self, conditional: Instruction) -> None:
        """What goes into a branch is needed as far as the branch does, in front of sizes that go into it, too."""
        predicate, *operands = conditional.operands
        self.need_all(predicate)
        for branch, operand in zip(conditional.called_computations, operands):
            if operand.opcode != "tuple" or any(part.shape.is_tuple for part in operand.operands):
                self.need_all(operand)
                continue
            for leaf, need in enumerate(_needs_of_branch(branch)):
                self.need(operand, leaf, tuple([None if part is None else operand.operands[part] for part in need]))

    def _visit_fusion(self, fusion: Instruction, computation: Computation) -> None:
        outside = dict(zip(computation.parameters, fusion.operands))
        sizes = {parameter: unclamped(operand) for parameter, operand in outside.items()}
        roots = result_roots(computation)
        given = [self.needs.get((fusion, leaf)) for leaf in range(len(roots))]
        known = [need for need in given if need is not None] or [(None,) * roots[0].shape.rank]
        whole = known[0]
        for need in known[1:]:
            whole = _joined(whole, need)
        inside: dict[Instruction, Need] = dict.fromkeys(roots, whole)
        moved = _needs_of_moved(computation, outside) if len(roots) == 1 else {}
        for instruction in reversed(computation.instructions):
            need = inside.get(instruction)
            if need is None:
                continue
            if instruction in outside:
                self.need(outside[instruction], 0, need)
                continue
            needs = list(_needs_of_operands(instruction, need, sizes.get))
            if instruction in moved:
                needs[0] = moved[instruction]
            if instruction is roots[0] and instruction.opcode == "reduce":
                needs[0] = reduced = need_of_reduced(instruction, need, sizes.get)
                self._limit(fusion, instruction.operands[0].shape, reduced)
            for operand, below in zip(instruction.operands, needs):
                _note(inside, operand, below)
        if roots[0].opcode != "reduce":
            self._limit(fusion, roots[0].shape, whole)

    def _visit_scan(self, instruction: Instruction, computation: Computation) -> None:
        """Of a scan the steps in front of the size, where nobody needs what is carried behind the last one."""
        outside = dict(zip(computation.parameters, instruction.operands))
        sizes = {parameter: unclamped(operand) for parameter, operand in outside.items()}
        scan = next(one for one in computation.instructions if one.opcode == "scan")
        shapes, carries = leaves(scan.shape), scan.attributes["num_carries"]
        split, outputs = len(scan.operands) - carries, len(shapes) - carries
        scanned = (scan.operands[0].shape, *shapes)[0 if split else 1]
        whole: Need = (None,) * scanned.rank
        inside: dict[Instruction, Need] = {}

        def note(one: Instruction, leaf: int, need: Need) -> None:
            _note(inside, one, whole if one is scan and leaf >= outputs else need)

        root = computation.root
        results = [(scan, leaf) for leaf in range(len(shapes))]
        if root is not scan:
            results = [(one, 0) for one in result_roots(computation)]
        for number, result in enumerate(results):
            if (instruction, number) in self.needs:
                note(*result, self.needs[instruction, number])
        for one in reversed(computation.instructions):
            need = inside.get(one)
            if one is scan:
                steps = _steps_needed(scan, need or whole)
                self._limit(instruction, scanned, steps)
                for number, operand in enumerate(scan.operands):
                    note(operand, 0, steps if number < split else (None,) * operand.shape.rank)
            elif need is None:
                continue
            elif one in outside:
                self.need(outside[one], 0, need)
            elif one.opcode == "get-tuple-element":
                note(one.operands[0], one.attributes["index"], need)
            else:
                for operand, below in zip(one.operands, _needs_of_operands(one, need, sizes.get)):
                    note(operand, 0, below)

    def _visit_scatter(self, scatter: Instruction) -> None:
        """Updates at indices that are outside of the operand behind a size need not be looked at there."""
        operand, starts, updates = scatter.operands
        self.need(operand, 0, self._need_of(scatter))
        along, windows = scatter.attributes["index_vector_dim"], scatter.attributes["update_window_dims"]
        within = inside_of(starts, scatter)
        self.need(starts, 0, within)
        sizes = iter([size for d, size in enumerate(within) if d != along])
        need = tuple([None if d in windows else next(sizes) for d in range(updates.shape.rank)])
        self.need(updates, 0, need)
        self._limit(scatter, updates.shape, need)

    def _visit_sort(self, sort: Instruction) -> bool:
        """Behind a mask there is what comes last: only what is in front of it has to be sorted. Whether that is so."""
        (along,) = sort.attributes["dimensions"]
        shapes = leaves(sort.shape)
        sizes = (size_before_last(operand, number, sort) for number, operand in enumerate(sort.operands))
        size = next((one for one in sizes if one is not None), None)
        if size is None or shapes[0].size < _LEAST_ELEMENTS or not self._is_there(size, sort):
            return False
        need: Need = (size,)
        for leaf in range(len(shapes)):
            if (sort, leaf) in self.needs:
                need = (farther(need[0], self.needs[sort, leaf][along]),)
        keeps_rest, least = need[0] is None, _least(need[0])
        self.limits[sort] = {along: Limit(size, shapes[0].dimensions[along], keeps_rest, least)}
        need = tuple([need[0] if d == along else None for d in range(shapes[0].rank)])
        for operand in sort.operands:
            self.need(operand, 0, need)
        return True

    def _visit_topk(self, topk: Instruction) -> bool:
        """The same: what is in front of the mask, and as many as are wanted."""
        (operand,) = topk.operands
        size, last = size_before_worst(topk), operand.shape.rank - 1
        if size is None or operand.shape.dimensions[last] < _LEAST_ELEMENTS or not self._is_there(size, topk):
            return False
        least = topk.attributes["k"]
        self.limits[topk] = {last: Limit(size, operand.shape.dimensions[last], least=least)}
        self.need(operand, 0, (*[None] * last, Reach(size, least)))
        return True

    def _visit_dot(self, dot: Instruction) -> None:
        """Of the dimensions of its result, and then of those that it sums over: behind a mask there are zeros in both."""
        contraction, need = contraction_of(dot), self._need_of(dot)
        batch, rows, columns = contraction.batch, contraction.rows, contraction.columns
        left, right = ([None] * operand.shape.rank for operand in dot.operands)
        for (of_left, of_right), size in zip(batch, need):
            left[of_left] = right[of_right] = size
        for d, size in zip(rows, need[len(batch) :]):
            left[d] = size
        for d, size in zip(columns, need[len(batch) + len(rows) :]):
            right[d] = size
        self._limit(dot, dot.shape, need)
        if contraction.row_count > 1 and contraction.column_count > 1:  # a product with a vector may read on
            zeros = [sizes_before_zeros(operand) for operand in dot.operands]
            for number, (of_left, of_right) in enumerate(contraction.terms, dot.shape.rank):
                size = zeros[0].get(of_left)
                if size is not None and size is zeros[1].get(of_right) and self._is_there(size, dot):
                    left[of_left] = right[of_right] = size
                    self.limits.setdefault(dot, {})[number] = Limit(size, contraction.lhs.dimensions[of_left])
        for operand, needed in zip(dot.operands, (left, right)):
            self.need(operand, 0, tuple(needed))

    def _is_there(self, size: Instruction, user: Instruction) -> bool:
        """Whether a size is there when an instruction runs, as a constant always is."""
        before = self.position[user]
        return size.shape in _SIZES and (size.opcode == "constant" or self.position.get(size, before) < before)

    def _limit(self, instruction: Instruction, shape: AnyShape, need: Need) -> None:
        """Note the sizes that are there when the instruction runs."""
        if shape.size < _LEAST_ELEMENTS:
            return
        known = {d: (one.size if isinstance(one, Reach) else one, _least(one)) for d, one in enumerate(need)}
        sizes = {d: one for d, one in known.items() if one[0] is not None and self._is_there(one[0], instruction)}
        if sizes:
            self.limits[instruction] = {d: Limit(size, shape.dimensions[d], least=least) for d, (size, least) in sizes.items()}


# For each part of a branch's parameter, by dimension, which part of it is the size in front of which it is needed.
_NeedsOfParts = list[tuple[int | None, ...]]
_of_branches: Memo[Computation, _NeedsOfParts] = Memo()


def _needs_of_branch(branch: Computation) -> _NeedsOfParts:
    found = _of_branches.get(branch)
    if found is None:
        _of_branches[branch] = found = _found_of_branch(branch)
    return found


def _found_of_branch(branch: Computation) -> _NeedsOfParts:
    (parameter,) = branch.parameters
    needs = _Needs(branch)
    needs.found({})
    found: _NeedsOfParts = []
    for leaf, shape in enumerate(leaves(parameter.shape)):
        need = needs.needs.get((parameter, leaf), (None,) * shape.rank)
        found.append(tuple([_part_of(parameter, size) for size in need]))
    return found


def _part_of(parameter: Instruction, size: Instruction | Reach | None) -> int | None:
    is_part = isinstance(size, Instruction) and size.opcode == "get-tuple-element" and size.operands[0] is parameter
    return size.attributes["index"] if is_part else None


def _joined(one: Need, other: Need) -> Need:
    return tuple(map(farther, one, other))


def _least(reach: Instruction | Reach | None) -> int:
    """How many elements are needed in any case."""
    return reach.least if isinstance(reach, Reach) else 0


def _note(needs: dict[Any, Need], key: Any, need: Need) -> None:
    """Something is needed so far, too."""
    needs[key] = _joined(needs[key], need) if key in needs else need


def _is_followed(computation: Computation) -> bool:
    """Whether a fusion is one loop nest over its results, or the reduction of one array."""
    roots = result_roots(computation)
    return all(not root.shape.is_tuple for root in roots) and (
        len(roots) == 1 or all(root.opcode != "reduce" for root in roots)
    )


def _needs_of_moved(computation: Computation, outside: Mapping[Instruction, Instruction]) -> dict[Instruction, Need]:
    """For what only moves an array to where a mask writes it, how far that is needed."""
    users = Counter(operand for one in computation.instructions for operand in set(one.operands))
    found: dict[Instruction, Need] = {}
    for moving, value, sizes in written_between(computation.root, outside.get):
        if all(users[one] == 1 for one in moving):
            need = tuple([None if (size := sizes.get(d)) is None else unclamped(size) for d in range(value.shape.rank)])
            found |= dict.fromkeys(moving[1::2], need)
    return found


def _steps_needed(scan: Instruction, need: Need) -> Need:
    """How far its slices are needed along the dimension that is scanned, where its results are needed so far."""
    (along,) = scan.attributes["dimensions"]
    return tuple([size if d == along and not scan.attributes["is_reverse"] else None for d, size in enumerate(need)])


def _is_loop(instruction: Instruction) -> bool:
    return ELEMENTWISE in instruction.operation.traits or instruction.opcode in _PLACES or instruction.opcode == "gather"


def _needs_of_operands(instruction: Instruction, need: Need, outside: Outside) -> Iterator[Need]:
    """How far each operand is needed where the instruction is needed so far; ``outside`` names the sizes in masks."""
    opcode = instruction.opcode
    operands = instruction.operands
    if opcode == "select" and operands[0].shape.rank:
        predicate, inside, otherwise = operands
        yield need
        yield within_mask(need, predicate, outside)
        yield need
    elif opcode == "reduce":
        count = len(operands) // 2
        reduced = instruction.attributes["dimensions"]
        kept = iter(need)
        of_operand = tuple([None if d in reduced else next(kept) for d in range(operands[0].shape.rank)])
        yield from [of_operand] * count + [()] * count
    elif ELEMENTWISE in instruction.operation.traits:
        for operand in operands:
            yield need if operand.shape.rank else ()
    elif opcode == "gather":
        yield from _of_gathered(instruction, need, outside)
    elif opcode in _PLACES:
        yield _PLACES[opcode](instruction, need)
        for operand in operands[1:]:
            yield (None,) * operand.shape.rank
    else:
        for operand in operands:
            yield (None,) * (0 if operand.shape.is_tuple else operand.shape.rank)


def _of_broadcast(instruction: Instruction, need: Need) -> Need:
    return tuple([need[d] for d in instruction.attributes["dimensions"]])


def _of_transpose(instruction: Instruction, need: Need) -> Need:
    found: list[Instruction | None] = [None] * len(need)
    for to, start in enumerate(instruction.attributes["dimensions"]):
        found[start] = need[to]
    return tuple(found)


def _of_slice(instruction: Instruction, need: Need) -> Need:
    """Of the first elements of a dimension no more than these."""
    bounds, full = instruction.attributes["slice"], instruction.operands[0].shape.dimensions
    found: list[Instruction | Reach | None] = []
    for size, (start, limit, step), bound in zip(need, bounds, full):
        first = None if limit == bound else Reach(None, limit)
        found.append((size or first) if (start, step) == (0, 1) else None)
    return tuple(found)


def _of_reshape(instruction: Instruction, need: Need) -> Need:
    """Dimensions of 1 come and go."""
    before, after = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    wide = [d for d, size in enumerate(after) if size != 1]
    if [size for size in before if size != 1] != [after[d] for d in wide]:
        return (None,) * len(before)
    sizes = iter(wide)
    return tuple([None if size == 1 else need[next(sizes)] for size in before])


def _of_gathered(instruction: Instruction, need: Need, outside: Outside) -> Iterator[Need]:
    """Of the start indices those for dimensions that are no offsets; of the operand as far as these count, or it is whole."""
    operand, starts = instruction.operands
    attributes, full = instruction.attributes, operand.shape.dimensions
    offsets, along = attributes["offset_dims"], attributes["index_vector_dim"]
    sizes = iter([size for d, size in enumerate(need) if d not in offsets])
    of_starts = tuple([None if d == along else next(sizes) for d in range(starts.shape.rank)])
    of_operand: list[Instruction | None] = [None] * operand.shape.rank
    given = set(attributes["collapsed_slice_dims"]) | set(attributes.get("operand_batching_dims", ()))
    for offset, d in zip(offsets, [d for d in range(operand.shape.rank) if d not in given]):
        if attributes["slice_sizes"][d] == full[d]:
            of_operand[d] = need[offset]
    for part, d in zip(_components(starts, along), attributes["start_index_map"]):
        if attributes["slice_sizes"][d] == 1 and full[d] > 1:
            of_operand[d] = _counted_below(part, of_starts, outside)
    yield tuple(of_operand)
    yield of_starts


def _components(starts: Instruction, along: int) -> Sequence[Instruction]:
    """The arrays that hold one component each of all index vectors, where there are such."""
    if along == starts.shape.rank or starts.shape.dimensions[along] == 1:
        return (starts,)
    is_put_together = starts.opcode == "concatenate" and starts.attributes["dimensions"] == (along,)
    if is_put_together and all(part.shape.dimensions[along] == 1 for part in starts.operands):
        return starts.operands
    return ()


def _counted_below(value: Instruction, need: Need, outside: Outside) -> Instruction | None:
    """The size below which the elements are that are needed, as they count from 0 in a dimension that is needed so far."""
    opcode, operands = value.opcode, value.operands
    if opcode == "iota":
        return need[value.attributes["iota_dimension"]]
    if opcode == "convert":
        return _counted_below(operands[0], need, outside)
    if opcode in ("reshape", "broadcast"):
        return _counted_below(operands[0], _PLACES[opcode](value, need), outside)
    if opcode == "select" and any(need[d] is size for d, size in sizes_of_mask(operands[0], outside)):
        return _counted_below(operands[1], need, outside)
    return None


def _of_dynamic_slice(instruction: Instruction, need: Need) -> Need:
    """Dimensions of which all is taken begin at 0."""
    shapes = zip(need, instruction.shape.dimensions, instruction.operands[0].shape.dimensions)
    return tuple([size if taken == full else None for size, taken, full in shapes])


_PLACES: Mapping[str, Callable[[Instruction, Need], Need]] = {
    "dynamic-slice": _of_dynamic_slice,
    "broadcast": _of_broadcast,
    "transpose": _of_transpose,
    "slice": _of_slice,
    "reshape": _of_reshape,
}
