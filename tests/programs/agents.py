"""Agents that learn, and search in games: tables of values, policies, bandits, trees of moves."""

import math
from collections import defaultdict, namedtuple

import numpy as np

from .registry import program

Transition = namedtuple("Transition", "state action reward next_state done")


class GridWorld:
    def __init__(self, size=4):
        self.size = size
        self.reset()

    def reset(self):
        self.pos = (0, 0)
        return self.pos

    def step(self, action):
        r, c = self.pos
        dr, dc = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
        r = min(max(r + dr, 0), self.size - 1)
        c = min(max(c + dc, 0), self.size - 1)
        self.pos = (r, c)
        done = self.pos == (self.size - 1, self.size - 1)
        return self.pos, (10.0 if done else -1.0), done


@program(lambda rng: (int(rng.integers(0, 1000)), 20))
def sarsa_on_grid(seed, episodes):
    rng = np.random.default_rng(seed)
    env = GridWorld(4)
    Q = defaultdict(lambda: np.zeros(4))
    lengths = []

    def policy(s):
        if rng.random() < 0.1:
            return int(rng.integers(4))
        return int(np.argmax(Q[s]))

    for _ in range(episodes):
        s = env.reset()
        a = policy(s)
        done, steps = False, 0
        while not done and steps < 60:
            s2, r, done = env.step(a)
            a2 = policy(s2)
            Q[s][a] += 0.5 * (r + 0.95 * Q[s2][a2] * (not done) - Q[s][a])
            s, a = s2, a2
            steps += 1
        lengths.append(steps)
    return lengths, Q[(0, 0)], len(Q)


@program(lambda rng: (rng.random((5, 3)), rng.integers(0, 5, (5, 3)), rng.normal(size=(5, 3))))
def value_and_policy_iteration(P, nxt, R):
    n, m = R.shape
    V = np.zeros(n)
    sweeps = 0
    while True:
        Q = R + 0.9 * (P * V[nxt] + (1 - P) * V[:, None])
        new = Q.max(axis=1)
        delta = np.abs(new - V).max()
        V = new
        sweeps += 1
        if delta < 1e-8:
            break
    policy = Q.argmax(axis=1)
    names = ["left", "stay", "right"]
    return V, [names[a] for a in policy], sweeps


@program(lambda rng: (int(rng.integers(0, 50)), 10))
def reinforce_cartpole(seed, episodes):
    rng = np.random.default_rng(seed)
    theta = np.zeros(4)
    returns = []
    for ep in range(episodes):
        x = rng.uniform(-0.05, 0.05, 4)
        grads, rewards = [], []
        for t in range(50):
            p = 1 / (1 + np.exp(-x @ theta))
            a = 1 if rng.random() < p else 0
            grads.append((a - p) * x)
            force = 10.0 if a == 1 else -10.0
            pos, vel, ang, angv = x
            tmp = (force + 0.05 * angv**2 * math.sin(ang)) / 1.1
            cosine = math.cos(ang)
            acc = (9.8 * math.sin(ang) - cosine * tmp) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
            push = tmp - 0.05 * acc * cosine / 1.1
            x = np.array([pos + 0.02 * vel, vel + 0.02 * push, ang + 0.02 * angv, angv + 0.02 * acc])
            rewards.append(1.0)
            if abs(x[0]) > 2.4 or abs(x[2]) > 0.2095:
                break
        G, discounted = 0.0, []
        for r in reversed(rewards):
            G = r + 0.99 * G
            discounted.insert(0, G)
        discounted = np.array(discounted)
        if len(discounted) > 1:
            discounted = (discounted - discounted.mean()) / (discounted.std() + 1e-8)
        for g, adv in zip(grads, discounted):
            theta += 0.1 * adv * g
        returns.append(sum(rewards))
    return theta, returns


class Bandit:
    def __init__(self, means, rng):
        self.means, self.rng = means, rng

    def pull(self, arm):
        return self.rng.normal(self.means[arm], 1.0)


class UCB:
    name = "ucb"

    def __init__(self, k):
        self.counts = [0] * k
        self.values = [0.0] * k

    def select(self):
        for arm, n in enumerate(self.counts):
            if n == 0:
                return arm
        total = sum(self.counts)
        scores = [v + math.sqrt(2 * math.log(total) / n) for v, n in zip(self.values, self.counts)]
        return scores.index(max(scores))

    def update(self, arm, reward):
        self.counts[arm] += 1
        n = self.counts[arm]
        self.values[arm] = ((n - 1) / n) * self.values[arm] + reward / n


class EpsilonGreedy(UCB):
    name = "eps"

    def __init__(self, k, rng, eps=0.1):
        super().__init__(k)
        self.rng, self.eps = rng, eps

    def select(self):
        if self.rng.random() < self.eps:
            return int(self.rng.integers(len(self.counts)))
        return max(range(len(self.values)), key=self.values.__getitem__)


@program(lambda rng: (rng.normal(size=4), int(rng.integers(0, 99)), 60))
def bandit_tournament(means, seed, horizon):
    rng = np.random.default_rng(seed)
    results = {}
    for agent in [UCB(len(means)), EpsilonGreedy(len(means), rng)]:
        bandit = Bandit(means, rng)
        rewards = []
        for _ in range(horizon):
            arm = agent.select()
            reward = bandit.pull(arm)
            agent.update(arm, reward)
            rewards.append(reward)
        results[agent.name] = {"mean": np.mean(rewards), "counts": agent.counts, "regret": horizon * max(means) - sum(rewards)}
    for name, r in sorted(results.items(), key=lambda kv: -kv[1]["mean"]):
        print(f"{name:>5}: mean={r['mean']:+.3f} counts={r['counts']}")
    return results


class Node:
    def __init__(self, state, parent=None, move=None):
        self.state, self.parent, self.move = state, parent, move
        self.children = []
        self.untried = [m for m in (1, 2, 3) if m <= state]
        self.visits, self.wins = 0, 0.0

    def uct(self):
        return max(self.children, key=lambda c: c.wins / c.visits + math.sqrt(2 * math.log(self.visits) / c.visits))


@program(lambda rng: (int(rng.integers(5, 9)), 30))
def mcts_nim(stones, iterations):
    rng = np.random.default_rng(7)
    root = Node(stones)
    for _ in range(iterations):
        node = root
        while not node.untried and node.children:
            node = node.uct()
        if node.untried:
            move = node.untried.pop()
            child = Node(node.state - move, node, move)
            node.children.append(child)
            node = child
        state, player = node.state, 0
        while state > 0:
            state -= int(rng.integers(1, min(3, state) + 1))
            player = 1 - player
        result = 1.0 if player == 0 else 0.0
        while node is not None:
            node.visits += 1
            node.wins += result
            result = 1 - result
            node = node.parent
    best = max(root.children, key=lambda c: c.visits)
    return best.move, [(c.move, c.visits) for c in root.children]


@program(lambda rng: (rng.integers(-1, 2, (3, 3)),))
def minimax_scores(board):
    def winner(b):
        lines = list(b) + list(b.T) + [b.diagonal(), np.fliplr(b).diagonal()]
        for line in lines:
            if abs(line.sum()) == 3:
                return int(np.sign(line.sum()))
        return 0

    score = winner(board) * 10
    empties = np.argwhere(board == 0)
    scores = {}
    for r, c in empties:
        b = board.copy()
        b[r, c] = 1
        scores[(int(r), int(c))] = winner(b)
    return score, scores


class LinearQ:
    def __init__(self, n, actions):
        self.w = {a: np.zeros(n) for a in actions}
        self.log = []

    def q(self, s, a):
        return float(self.w[a] @ s)

    def best(self, s):
        return max(self.w, key=lambda a: self.q(s, a))

    def learn(self, s, a, r, s2, lr=0.1, gamma=0.9):
        target = r + gamma * max(self.q(s2, b) for b in self.w)
        delta = target - self.q(s, a)
        self.w[a] += lr * delta * s
        self.log.append((a, round(delta, 4)))


@program(lambda rng, n=15: (rng.normal(size=(n, 3)),))
def linear_q_with_named_actions(states):
    agent = LinearQ(3, ["up", "down", "hold"])
    chosen = []
    for s, s2 in zip(states[:-1], states[1:]):
        a = agent.best(s)
        chosen.append(a)
        r = 1.0 if (a == "up" and s2[0] > s[0]) or (a == "down" and s2[0] < s[0]) else -0.1
        agent.learn(s, a, r, s2)
    counts = {a: chosen.count(a) for a in agent.w}
    return chosen, counts, agent.log, agent.w


@program(lambda rng: (rng.random((4, 4)) > 0.2, int(rng.integers(0, 100))))
def monte_carlo_first_visit(free, seed):
    rng = np.random.default_rng(seed)
    returns = defaultdict(list)
    V = np.zeros(free.shape)
    for episode in range(15):
        path, pos = [], (int(rng.integers(4)), int(rng.integers(4)))
        for _ in range(10):
            reward = 1.0 if free[pos] else -1.0
            path.append((pos, reward))
            d = int(rng.integers(4))
            pos = ((pos[0] + (0, 1, 0, -1)[d]) % 4, (pos[1] + (1, 0, -1, 0)[d]) % 4)
        G = 0.0
        for t in range(len(path) - 1, -1, -1):
            s, r = path[t]
            G = 0.9 * G + r
            if s not in [p[0] for p in path[:t]]:
                returns[s].append(G)
                V[s] = np.mean(returns[s])
    return V.round(6), len(returns)
