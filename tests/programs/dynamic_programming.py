"""Tables that are filled step by step."""

import numpy as np

from .registry import program


def edit_distance_of(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(row[j + 1] + 1, new[j] + 1, row[j] + (x != y)))
        row = new
    return row[-1]


@program(lambda rng: (rng.integers(0, 4, 18), rng.integers(0, 4, 15)), lambda found, a, b: found == edit_distance_of(a, b))
def edit_distance(a, b):
    m, n = len(a), len(b)
    d = np.zeros((m + 1, n + 1), dtype=int)
    for i in range(m + 1):
        d[i, 0] = i
    for j in range(n + 1):
        d[0, j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[m, n]


@program(lambda rng: (rng.integers(0, 3, 16), rng.integers(0, 3, 14)), lambda found, a, b: len(found[1]) == found[0])
def longest_common_subsequence(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    i, j = len(a), len(b)
    common = []
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            common.append(a[i - 1])
            i -= 1
            j -= 1
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return table[-1, -1], np.array(common[::-1])


@program(
    lambda rng: (rng.integers(1, 50, 10), rng.integers(1, 12, 10), 30), lambda found, v, w, c: sum(v[found[1]]) == found[0]
)
def knapsack(values, weights, capacity):
    n = len(values)
    best = np.zeros((n + 1, capacity + 1), dtype=int)
    for i in range(1, n + 1):
        for w in range(capacity + 1):
            best[i, w] = best[i - 1, w]
            if weights[i - 1] <= w:
                best[i, w] = max(best[i, w], best[i - 1, w - weights[i - 1]] + values[i - 1])
    taken = []
    w = capacity
    for i in range(n, 0, -1):
        if best[i, w] != best[i - 1, w]:
            taken.append(i - 1)
            w -= weights[i - 1]
    taken.reverse()
    return best[n, capacity], taken


@program(lambda rng: (rng.integers(5, 40, 9),), lambda found, sizes: found[0] > 0)
def matrix_chain_order(sizes):
    n = sizes.size - 1
    cost = np.zeros((n, n), dtype=np.int64)
    split = -np.ones((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = np.iinfo(np.int64).max
            for k in range(i, j):
                q = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if q < cost[i, j]:
                    cost[i, j] = q
                    split[i, j] = k
    return cost[0, n - 1], split


MATCH, MISMATCH, GAP = 2, -1, -2


@program(lambda rng: (rng.integers(0, 4, 14), rng.integers(0, 4, 12)), lambda found, a, b: found[1].shape[1] >= 14)
def needleman_wunsch(a, b):
    """A global alignment; gaps are written as -1."""
    m, n = len(a), len(b)
    score = np.zeros((m + 1, n + 1))
    score[:, 0] = GAP * np.arange(m + 1)
    score[0, :] = GAP * np.arange(n + 1)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            diagonal = score[i - 1, j - 1] + (MATCH if a[i - 1] == b[j - 1] else MISMATCH)
            score[i, j] = max(diagonal, score[i - 1, j] + GAP, score[i, j - 1] + GAP)
    first, second = [], []
    i, j = m, n
    while i > 0 or j > 0:
        if i > 0 and j > 0:
            s = MATCH if a[i - 1] == b[j - 1] else MISMATCH
            if score[i, j] == score[i - 1, j - 1] + s:
                first.append(a[i - 1])
                second.append(b[j - 1])
                i, j = i - 1, j - 1
                continue
        if i > 0 and score[i, j] == score[i - 1, j] + GAP:
            first.append(a[i - 1])
            second.append(-1)
            i -= 1
        else:
            first.append(-1)
            second.append(b[j - 1])
            j -= 1
    return score[m, n], np.array([first[::-1], second[::-1]])


@program(lambda rng: (rng.integers(0, 4, 16), rng.integers(0, 4, 16)), lambda found, a, b: found[0] >= 0)
def smith_waterman(a, b, match=3, mismatch=-3, gap=2):
    H = np.zeros((len(a) + 1, len(b) + 1), int)
    best, where = 0, (0, 0)
    for i in range(1, H.shape[0]):
        for j in range(1, H.shape[1]):
            s = match if a[i - 1] == b[j - 1] else mismatch
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - gap, H[i, j - 1] - gap)
            if H[i, j] > best:
                best, where = H[i, j], (i, j)
    i, j = where
    length = 0
    while i > 0 and j > 0 and H[i, j] > 0:
        if H[i, j] == H[i - 1, j] - gap:
            i -= 1
        elif H[i, j] == H[i, j - 1] - gap:
            j -= 1
        else:
            i -= 1
            j -= 1
        length += 1
    return best, length


def hidden_markov_model(rng, states=4, symbols=5, length=30):
    def rows(*shape):
        x = rng.uniform(0.1, 1, shape)
        return x / x.sum(axis=-1, keepdims=True)

    return rng.integers(0, symbols, length), rows(states), rows(states, states), rows(states, symbols)


@program(hidden_markov_model, lambda found, seen, *model: found[0].shape == seen.shape)
def viterbi(observations, start, transition, emission):
    T = len(observations)
    K = transition.shape[0]
    log_delta = np.empty((T, K))
    psi = np.zeros((T, K), dtype=np.intp)
    log_delta[0] = np.log(start) + np.log(emission[:, observations[0]])
    for t in range(1, T):
        for k in range(K):
            scores = log_delta[t - 1] + np.log(transition[:, k])
            psi[t, k] = np.argmax(scores)
            log_delta[t, k] = scores[psi[t, k]] + np.log(emission[k, observations[t]])
    path = np.zeros(T, dtype=int)
    path[-1] = np.argmax(log_delta[-1])
    for t in range(T - 2, -1, -1):
        path[t] = psi[t + 1, path[t + 1]]
    return path, log_delta[-1].max()


@program(hidden_markov_model, lambda found, seen, *model: found[0] < 0 and np.allclose(found[1].sum(axis=1), 1))
def forward_and_backward(observations, start, transition, emission):
    T, K = observations.shape[0], start.shape[0]
    alpha, beta, scale = np.zeros((T, K)), np.ones((T, K)), np.zeros(T)
    alpha[0] = start * emission[:, observations[0]]
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, T):
        alpha[t] = (alpha[t - 1] @ transition) * emission[:, observations[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    for t in range(T - 2, -1, -1):
        beta[t] = transition @ (emission[:, observations[t + 1]] * beta[t + 1]) / scale[t + 1]
    return np.log(scale).sum(), alpha * beta


@program(
    lambda rng: (np.array([1, 5, 10, 25]), int(rng.integers(30, 99))), lambda found, coins, amount: sum(found[1]) == amount
)
def coin_change(coins, amount):
    fewest = [0] + [float("inf")] * amount
    used = [None] * (amount + 1)
    for value in range(1, amount + 1):
        for coin in coins:
            if coin <= value and fewest[value - coin] + 1 < fewest[value]:
                fewest[value] = fewest[value - coin] + 1
                used[value] = coin
    change = []
    while amount > 0:
        change.append(used[amount])
        amount -= used[amount]
    return fewest[-1], change


@program(lambda rng: (rng.permutation(30),), lambda found, x: np.all(np.diff(found) > 0))
def longest_increasing_subsequence(x):
    n = len(x)
    lengths = np.ones(n, dtype=int)
    before = np.full(n, -1)
    for i in range(n):
        for j in range(i):
            if x[j] < x[i] and lengths[j] + 1 > lengths[i]:
                lengths[i] = lengths[j] + 1
                before[i] = j
    k = np.argmax(lengths)
    found = []
    while k != -1:
        found.insert(0, x[k])
        k = before[k]
    return np.array(found)


@program(lambda rng: (rng.normal(size=60),), lambda found, x: np.isclose(found[0], x[found[1] : found[2] + 1].sum()))
def largest_sum_of_a_run(x):
    best = current = x[0]
    start = best_start = best_end = 0
    for i in range(1, len(x)):
        if current < 0:
            current, start = x[i], i
        else:
            current += x[i]
        if current > best:
            best, best_start, best_end = current, start, i
    return best, best_start, best_end
