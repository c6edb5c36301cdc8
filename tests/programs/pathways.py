"""Graphs as dicts of lists, tokens as integers, sequences of letters as numbers, boards and expressions."""

import heapq
from collections import Counter, defaultdict
from functools import cache

import numpy as np

from .registry import program


def edges(rng, n, nodes=8):
    ends = rng.integers(0, nodes, (n, 2)).tolist()
    return [(a, b, w) for (a, b), w in zip(ends, rng.integers(1, 10, n).tolist())]


@program(lambda rng: (edges(rng, 16), 8))
def components_by_search(links, nodes):
    """Connected components of a graph that is a dict of lists."""
    graph = {k: [] for k in range(nodes)}
    for a, b, _ in links:
        graph[a].append(b)
        graph[b].append(a)
    seen, components = set(), []
    for start in graph:
        if start in seen:
            continue
        stack, members = [start], []
        seen.add(start)
        while stack:
            node = stack.pop()
            members.append(node)
            for other in graph[node]:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        components.append(sorted(members))
    return components, max(len(c) for c in components)


class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return True


@program(lambda rng: (edges(rng, 16), 8))
def prim_with_heap(links, nodes):
    graph = defaultdict(list)
    for a, b, w in links + [(k, k + 1, 12) for k in range(nodes - 1)]:
        graph[a].append((w, b))
        graph[b].append((w, a))
    seen = {0}
    heap = [(w, 0, b) for w, b in graph[0]]
    heapq.heapify(heap)
    total, tree = 0, []
    while heap and len(seen) < nodes:
        w, a, b = heapq.heappop(heap)
        if b in seen:
            continue
        seen.add(b)
        total += w
        tree.append((a, b))
        for weight, c in graph[b]:
            if c not in seen:
                heapq.heappush(heap, (weight, b, c))
    return total, tree


@program(lambda rng: (rng.integers(0, 4, 12), rng.integers(0, 4, 12 + 3)))
def global_alignment_with_trace(first, second):
    """Needleman and Wunsch's table and the way back through it, as lists of pairs."""
    n, m = len(first), len(second)
    score = np.zeros((n + 1, m + 1), dtype=int)
    score[:, 0] = -np.arange(n + 1)
    score[0, :] = -np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            match = score[i - 1, j - 1] + (2 if first[i - 1] == second[j - 1] else -1)
            score[i, j] = max(match, score[i - 1, j] - 1, score[i, j - 1] - 1)
    i, j, pairs = n, m, []
    while i > 0 or j > 0:
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + (2 if first[i - 1] == second[j - 1] else -1):
            pairs.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif i > 0 and score[i, j] == score[i - 1, j] - 1:
            i -= 1
        else:
            j -= 1
    return int(score[n, m]), pairs[::-1]


@program(lambda rng: (rng.integers(0, 4, 40).tolist(), 3))
def de_bruijn_walk(bases, k):
    """K-mers become edges of a graph, and Hierholzer's walk uses each of them once."""
    graph = defaultdict(list)
    for i in range(len(bases) - k + 1):
        kmer = tuple(bases[i : i + k])
        graph[kmer[:-1]].append(kmer[1:])
    start = tuple(bases[: k - 1])
    stack, walk = [start], []
    while stack:
        node = stack[-1]
        if graph[node]:
            stack.append(graph[node].pop())
        else:
            walk.append(stack.pop())
    walk.reverse()
    text = list(walk[0]) + [node[-1] for node in walk[1:]]
    return len(text), Counter(text) == Counter(bases)


LETTERS = "ACGT"


@program(lambda rng: ("".join(LETTERS[k] for k in rng.integers(0, 4, 30)),))
def open_reading_frames(sequence):
    pairs = {"A": "T", "T": "A", "C": "G", "G": "C"}
    reverse = "".join(pairs[c] for c in reversed(sequence))
    found = []
    for strand, text in ((1, sequence), (-1, reverse)):
        for frame in range(3):
            codons = [text[k : k + 3] for k in range(frame, len(text) - 2, 3)]
            start = None
            for position, codon in enumerate(codons):
                if codon[0] == "A" and start is None:
                    start = position
                elif codon.startswith("TA") and start is not None:
                    found.append((strand, frame, start, position - start))
                    start = None
    gc = sum(c in "GC" for c in sequence) / len(sequence)
    return found, gc


@program(lambda rng: (rng.integers(1, 10, 9).tolist(), rng.integers(0, 4, 9 - 1).tolist()))
def shunting_yard(numbers, operators):
    """Infix of numbers and operators becomes postfix, which a stack evaluates."""
    precedence = [1, 1, 2, 2]
    output, stack = [], []
    for k, number in enumerate(numbers):
        output.append((0, number))
        if k < len(operators):
            op = operators[k]
            while stack and precedence[stack[-1]] >= precedence[op]:
                output.append((1, stack.pop()))
            stack.append(op)
    while stack:
        output.append((1, stack.pop()))
    values = []
    for kind, value in output:
        if kind == 0:
            values.append(float(value))
        else:
            b, a = values.pop(), values.pop()
            if value == 0:
                values.append(a + b)
            elif value == 1:
                values.append(a - b)
            elif value == 2:
                values.append(a * b)
            else:
                values.append(a / b)
    return values[0], output


class Tokens:
    def __init__(self, codes):
        self.codes, self.position = codes, 0

    def peek(self):
        return self.codes[self.position] if self.position < len(self.codes) else -1

    def take(self):
        code = self.peek()
        self.position += 1
        return code


def parse_sum(tokens):
    value = parse_product(tokens)
    while tokens.peek() in (10, 11):
        if tokens.take() == 10:
            value += parse_product(tokens)
        else:
            value -= parse_product(tokens)
    return value


def parse_product(tokens):
    value = tokens.take()
    while tokens.peek() == 12:
        tokens.take()
        value = value * tokens.take()
    return value


@program(lambda rng: (np.array([x for a, b in zip(rng.integers(0, 10, 7), rng.integers(10, 13, 7)) for x in (a, b)][:-1]),))
def descent_parser(codes):
    return int(parse_sum(Tokens(codes)))


@program(lambda rng: (rng.integers(1, 30, 10).tolist(), int(rng.integers(30, 60))))
def subset_with_sum(numbers, target):
    """Subset sum by a memoized function, and the subset by going back."""

    @cache
    def reachable(k, left):
        if left == 0:
            return True
        if k == len(numbers) or left < 0:
            return False
        return reachable(k + 1, left - numbers[k]) or reachable(k + 1, left)

    return reachable(0, target)


@program(lambda rng: (["".join(rng.choice(list("abc"), 3)) for _ in range(12)],))
def anagrams_and_prefixes(words):
    groups = {}
    for word in words:
        key = "".join(sorted(word))
        groups.setdefault(key, []).append(word)
    largest = max(groups.values(), key=len)
    prefixes = Counter(word[0] for word in words)
    alphabet = {c: k for k, c in enumerate(sorted(set("".join(words))))}
    codes = [[alphabet[c] for c in word] for word in words]
    return sorted(groups), largest, prefixes.most_common(2), codes


@program(lambda rng: (rng.integers(-9, 10, (6, 6)),))
def best_rectangle(grid):
    """The largest sum of a rectangle, by Kadane's scan of column sums."""
    n, m = grid.shape
    best, where = grid[0, 0], (0, 0, 0, 0)
    for top in range(n):
        sums = np.zeros(m, dtype=grid.dtype)
        for bottom in range(top, n):
            sums += grid[bottom]
            current, left = 0, 0
            for right, value in enumerate(sums):
                if current <= 0:
                    current, left = value, right
                else:
                    current += value
                if current > best:
                    best, where = current, (top, left, bottom, right)
    return int(best), where


@program(lambda rng: (rng.integers(0, 3, 24).tolist(),))
def markov_text(tokens):
    """A chain of dicts of counts, gone through by the likeliest word."""
    chain = defaultdict(Counter)
    for a, b in zip(tokens, tokens[1:]):
        chain[a][b] += 1
    state, walk = tokens[0], [tokens[0]]
    for _ in range(6):
        following = chain[state]
        if not following:
            break
        state = max(sorted(following), key=lambda w: following[w])
        walk.append(state)
    return walk, {a: dict(sorted(c.items())) for a, c in sorted(chain.items())}


def quicksort(values):
    if len(values) <= 1:
        return values
    pivot = values[len(values) // 2]
    left = [v for v in values if v < pivot]
    middle = [v for v in values if v == pivot]
    right = [v for v in values if v > pivot]
    return quicksort(left) + middle + quicksort(right)


@program(lambda rng: (rng.integers(0, 40, 14).tolist(),))
def functional_quicksort(values):
    return quicksort(values)
