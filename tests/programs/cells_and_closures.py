"""As in notebooks: globals, caches, spreadsheets, search trees, famous snippets, textbook loops."""

import math
import operator
from collections import Counter, defaultdict
from functools import wraps

import numpy as np

from .registry import program

TEXT = """the quick brown fox jumps over the lazy dog the dog barks and the fox runs away over the hill
a stitch in time saves nine while the early bird catches the worm and the dog sleeps"""
WORDS = TEXT.split()


@program(lambda rng: ([WORDS[i] for i in rng.integers(0, len(WORDS), 30)], rng.random(10)))
def markov_text(words, draws):
    table = defaultdict(Counter)
    for a, b in zip(words, words[1:]):
        table[a][b] += 1
    word = words[0]
    out = [word]
    for u in draws:
        followers = table[word]
        if not followers:
            break
        total = sum(followers.values())
        acc = 0
        for nxt, n in sorted(followers.items()):
            acc += n / total
            if u <= acc:
                word = nxt
                break
        out.append(word)
    entropy = -sum(n / len(words) * math.log2(n / len(words)) for n in Counter(words).values())
    return " ".join(out), entropy


@program(
    lambda rng: (
        [" ".join(WORDS[i] for i in rng.integers(0, len(WORDS), 8)) for _ in range(5)],
        WORDS[int(rng.integers(0, 30))],
    )
)
def tfidf_search(documents, query):
    tokens = [d.lower().split() for d in documents]
    df = Counter(w for t in tokens for w in set(t))
    n = len(documents)
    vocabulary = sorted(df)
    index = {w: i for i, w in enumerate(vocabulary)}
    M = np.zeros((n, len(vocabulary)))
    for row, t in enumerate(tokens):
        for w, c in Counter(t).items():
            M[row, index[w]] = c / len(t) * math.log((1 + n) / (1 + df[w]))
    M /= np.linalg.norm(M, axis=1, keepdims=True) + 1e-12
    sims = M @ M.T
    np.fill_diagonal(sims, -1)
    hits = [i for i, t in enumerate(tokens) if query in t]
    return sims.argmax(axis=1), sims.max(), hits, vocabulary[:3]


LEARNING_RATE = 0.05


def predict(u, i):
    return mu + bu[u] + bi[i] + P[u] @ Q[i]


mu = 3.0
bu = bi = P = Q = None


@program(
    lambda rng: (
        [(int(u), int(i), float(r)) for u, i, r in zip(rng.integers(0, 5, 10), rng.integers(0, 6, 10), rng.integers(1, 6, 10))],
        rng.normal(0, 0.1, (11, 2)),
    ),
    outside=lambda: (mu, bu, bi, P, Q),
)
def recommender_globals(ratings, start):
    """A notebook's cell: factors are globals, the training loop changes them."""
    global mu, bu, bi, P, Q
    mu = np.mean([r for *_, r in ratings])
    bu, bi = np.zeros(5), np.zeros(6)
    P, Q = start[:5].copy(), start[5:].copy()
    errors = []
    for epoch in range(3):
        sse = 0
        for u, i, r in ratings:
            e = r - predict(u, i)
            sse += e**2
            bu[u] += LEARNING_RATE * (e - 0.02 * bu[u])
            bi[i] += LEARNING_RATE * (e - 0.02 * bi[i])
            P[u], Q[i] = P[u] + LEARNING_RATE * e * Q[i], Q[i] + LEARNING_RATE * e * P[u]
        errors.append(math.sqrt(sse / len(ratings)))
    seen = defaultdict(set)
    for u, i, _ in ratings:
        seen[u].add(i)
    best = {u: sorted(range(6), key=lambda i: -predict(u, i))[:2] for u in range(5)}
    return errors, best, {u: len(s) for u, s in sorted(seen.items())}


class Cell:
    def __init__(self, formula):
        self.formula = formula


class Sheet:
    functions = {"SUM": sum, "MAX": max, "AVG": lambda v: sum(v) / len(v)}

    def __init__(self):
        self.cells = {}
        self.cache = {}

    def __setitem__(self, key, value):
        self.cells[key] = value
        self.cache.clear()

    def __getitem__(self, key):
        if key not in self.cache:
            self.cache[key] = self.evaluate(self.cells.get(key, 0))
        return self.cache[key]

    def evaluate(self, value):
        if not (isinstance(value, str) and value.startswith("=")):
            return value
        name, _, rest = value[1:].partition("(")
        if name in self.functions:
            return self.functions[name](list(self.range(rest.rstrip(")"))))
        for symbol, f in (("+", operator.add), ("-", operator.sub), ("*", operator.mul), ("/", operator.truediv)):
            if symbol in value:
                a, b = value[1:].split(symbol, 1)
                return f(self[a] if a in self.cells else float(a), self[b] if b in self.cells else float(b))
        return self[value[1:]]

    def range(self, text):
        a, b = text.split(":")
        for column in range(ord(a[0]), ord(b[0]) + 1):
            for row in range(int(a[1:]), int(b[1:]) + 1):
                yield self[f"{chr(column)}{row}"]


@program(lambda rng: (rng.normal(size=(4, 3)),))
def spreadsheet(values):
    sheet = Sheet()
    for (r, c), v in np.ndenumerate(values):
        sheet[f"{chr(65 + c)}{r + 1}"] = v
    n = len(values)
    sheet["E1"] = f"=SUM(A1:C{n})"
    sheet["E2"] = f"=AVG(B1:B{n})"
    sheet["E3"] = "=E1/E2"
    sheet["E4"] = "=E3*2"
    sheet["E5"] = f"=MAX(A1:C{n})"
    before = sheet["E4"]
    sheet["A1"] = sheet["A1"] + 1
    return before, sheet["E4"], sheet["E5"], len(sheet.cells), len(sheet.cache)


class Node:
    def __init__(self, state, parent=None, move=None):
        self.state, self.parent, self.move = state, parent, move
        self.children = []
        self.wins = 0
        self.visits = 0
        self.untried = [m for m in (1, 2, 3) if m <= state]

    def ucb(self, c=1.4):
        return self.wins / self.visits + c * math.sqrt(math.log(self.parent.visits) / self.visits)


@program(lambda rng: (8, rng.random((15, 10))))
def nim_mcts(stones, draws):
    """Monte Carlo tree search for Nim: the last stone wins."""
    root = Node(stones)
    for row in draws:
        node, turn = root, 1
        while not node.untried and node.children:
            node = max(node.children, key=Node.ucb)
            turn = -turn
        if node.untried:
            m = node.untried.pop()
            child = Node(node.state - m, node, m)
            node.children.append(child)
            node, turn = child, -turn
        left, i, player = node.state, 0, turn
        while left > 0:
            left -= min(left, 1 + int(row[i % 10] * 3))
            player = -player
            i += 1
        winner = -player
        while node is not None:
            node.visits += 1
            if winner != turn:
                node.wins += 1
            node, turn = node.parent, -turn
    return [(c.move, c.visits, c.wins) for c in root.children], max(root.children, key=lambda c: c.visits).move


@program(lambda rng: (rng.integers(0, 2, (8, 8)),))
def rougier_life(Z):
    """From Python to NumPy: game of life in place with views of a padded array."""
    Z = np.pad(Z, 1)
    z = Z[1:-1, 1:-1]
    for _ in range(4):
        N = Z[0:-2, 0:-2] + Z[0:-2, 1:-1] + Z[0:-2, 2:] + Z[1:-1, 0:-2] + Z[1:-1, 2:] + Z[2:, 0:-2] + Z[2:, 1:-1] + Z[2:, 2:]
        birth = (N == 3) & (z == 0)
        survive = ((N == 2) | (N == 3)) & (z == 1)
        Z[...] = 0
        z[birth | survive] = 1
    idx = np.argwhere(Z)
    return Z, idx.mean(axis=0) if len(idx) else None, np.flatnonzero(Z)


@program(lambda rng: (rng.uniform(0, 1, (10, 2)), rng.normal(size=10), rng.integers(0, 5, 10)))
def hundred_exercises(Z, w, labels):
    """Famous one-liners."""
    x = np.atleast_2d(Z[:, 0]), np.atleast_2d(Z[:, 1])
    D = np.sqrt((x[0] - x[0].T) ** 2 + (x[1] - x[1].T) ** 2)
    c = np.bincount(labels, weights=w)
    nearest = w.flat[np.abs(w - 0.5).argmin()]
    G = np.exp(-(sum(np.square(np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 5)))) / 2.0))
    uniq = np.unique(labels, return_counts=True)
    polar = np.sqrt((Z**2).sum(1)), np.arctan2(*Z.T[::-1])
    Z2 = Z[Z[:, 1].argsort()]
    windows = np.lib.stride_tricks.sliding_window_view(w, 4).mean(axis=-1)
    rank = np.linalg.matrix_rank(Z)
    C = np.cumsum(np.insert(w, 0, 0))
    moving = (C[3:] - C[:-3]) / 3
    flat = np.ravel_multi_index(np.unravel_index(7, (4, 4)), (4, 4))
    I = ((labels.reshape(-1, 1) & (2 ** np.arange(4))) != 0).astype(int)
    swapped = Z.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    F = np.zeros(5)
    np.add.at(F, labels, w)
    top = w[np.argpartition(-w, 3)[:3]]
    mode = np.bincount(labels).argmax()
    L = [4, 1, 6, 29, 0]
    Y = "".join(str(v) for v in np.cumprod(np.array(L) % 7 + 1))
    return D, c, nearest, G, uniq, polar, Z2, windows, rank, moving, flat, I[:, ::-1], swapped, F, np.sort(top), mode, Y


@program(lambda rng: ((lambda a: a @ a.T + 3 * np.eye(4))(rng.normal(size=(4, 4))), rng.normal(size=4)))
def numerical_recipes(a, b):
    """ludcmp, lubksb, jacobi rotations with in-place loops."""
    n = len(a)
    lu = a.copy()
    index = np.zeros(n, int)
    d = 1.0
    vv = 1.0 / np.max(np.abs(lu), axis=1)
    for k in range(n):
        big, imax = 0.0, k
        for i in range(k, n):
            temp = vv[i] * abs(lu[i, k])
            if temp > big:
                big, imax = temp, i
        if k != imax:
            for j in range(n):
                lu[imax, j], lu[k, j] = lu[k, j], lu[imax, j]
            d = -d
            vv[imax] = vv[k]
        index[k] = imax
        for i in range(k + 1, n):
            lu[i, k] /= lu[k, k]
            for j in range(k + 1, n):
                lu[i, j] -= lu[i, k] * lu[k, j]
    x = b.copy()
    ii = 0
    for i in range(n):
        ip = index[i]
        total = x[ip]
        x[ip] = x[i]
        if ii != 0:
            for j in range(ii - 1, i):
                total -= lu[i][j] * x[j]
        elif total != 0.0:
            ii = i + 1
        x[i] = total
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - sum(lu[i][j] * x[j] for j in range(i + 1, n))) / lu[i][i]
    det = d
    for i in range(n):
        det *= lu[i, i]
    return x, det, index


def memoize(f):
    cache = {}

    @wraps(f)
    def wrapper(*args):
        if args not in cache:
            cache[args] = f(*args)
        return cache[args]

    wrapper.cache = cache
    return wrapper


@program(lambda rng: (rng.normal(size=5), rng.normal(size=5)))
def interpolation_tables(x, y):
    """Neville and divided differences, memoized by a decorator of one's own."""
    order = np.argsort(x)
    x, y = x[order], y[order]

    @memoize
    def divided(i, j):
        if i == j:
            return y[i]
        return (divided(i + 1, j) - divided(i, j - 1)) / (x[j] - x[i])

    n = len(x)
    coefficients = [divided(0, j) for j in range(n)]

    def newton(t):
        total = 0.0
        for c, xi in zip(reversed(coefficients), x[::-1]):
            total = total * (t - xi) + c
        return total

    return coefficients, [newton(t) for t in x], len(divided.cache)


@program(lambda rng: (rng.random((12, 9)),))
def connected_blobs(image):
    """Two-pass labels with union-find in a dict, then boxes and moments per blob."""
    mask = image > 0.6
    labels = np.zeros(mask.shape, int)
    parent = {}

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    count = 0
    for r in range(mask.shape[0]):
        for c in range(mask.shape[1]):
            if not mask[r, c]:
                continue
            up = labels[r - 1, c] if r else 0
            left = labels[r, c - 1] if c else 0
            if up and left:
                a, b = find(up), find(left)
                labels[r, c] = min(a, b)
                parent[max(a, b)] = min(a, b)
            elif up or left:
                labels[r, c] = up or left
            else:
                count += 1
                parent[count] = count
                labels[r, c] = count
    for r, c in zip(*np.nonzero(labels)):
        labels[r, c] = find(labels[r, c])
    sizes = Counter(labels[labels > 0].tolist())
    biggest, size = max(sizes.items(), key=lambda kv: (kv[1], -kv[0]))
    rr, cc = np.nonzero(labels == biggest)
    return count, len(sizes), size, (rr.min(), rr.max(), cc.min(), cc.max()), (rr.mean(), cc.mean())


@program(lambda rng: (rng.normal(size=(10, 3)), rng.integers(0, 3, 10)))
def decision_stumps_dict(X, y):
    def gini(labels):
        if not len(labels):
            return 0.0
        p = np.bincount(labels, minlength=3) / len(labels)
        return 1 - (p**2).sum()

    def split(X, y):
        best = {"gain": -np.inf, "feature": None, "threshold": None}
        for f in range(X.shape[1]):
            for t in np.unique(X[:, f])[:-1]:
                left = X[:, f] <= t
                gain = gini(y) - left.mean() * gini(y[left]) - (~left).mean() * gini(y[~left])
                if gain > best["gain"]:
                    best.update(gain=gain, feature=f, threshold=t)
        return best

    best = split(X, y)
    left = X[:, best["feature"]] <= best["threshold"]
    return best, Counter(y[left].tolist()).most_common(1)[0][0], left.sum()
