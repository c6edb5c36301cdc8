"""Contests: ratings, tables of a league, votes, brackets, points."""

import itertools

import numpy as np

from .registry import program


@program(lambda rng: (["Ants", "Bees", "Cats", "Dogs"], rng.integers(0, 5, (4, 4)), rng.integers(0, 5, (4, 4))))
def league_table(names, home, away):
    rows = {name: {"played": 0, "points": 0, "for": 0, "against": 0} for name in names}
    for (i, one), (j, other) in itertools.permutations(enumerate(names), 2):
        h, a = home[i, j], away[i, j]
        for team, scored, conceded in ((one, h, a), (other, a, h)):
            row = rows[team]
            row["played"] += 1
            row["for"] += int(scored)
            row["against"] += int(conceded)
            row["points"] += 3 if scored > conceded else 1 if scored == conceded else 0
    order = sorted(names, key=lambda n: (-rows[n]["points"], rows[n]["against"] - rows[n]["for"], n))
    lines = [f"{'team':<6}{'P':>3}{'GF':>4}{'GA':>4}{'Pts':>5}"]
    for name in order:
        row = rows[name]
        lines.append(f"{name:<6}{row['played']:>3}{row['for']:>4}{row['against']:>4}{row['points']:>5}")
    print("\n".join(lines))
    return order, [rows[n]["points"] for n in order]


@program(lambda rng: (np.array([rng.permutation(5) for _ in range(41)]),))
def instant_runoff(ballots):
    candidates = list(range(ballots.shape[1]))
    eliminated = []
    while True:
        counts = np.zeros(ballots.shape[1], dtype=int)
        for ballot in ballots:
            for choice in ballot:
                if choice not in eliminated:
                    counts[choice] += 1
                    break
        best = int(np.argmax(counts))
        if counts[best] * 2 > len(ballots):
            return best, eliminated, counts
        remaining = [c for c in candidates if c not in eliminated]
        worst = min(remaining, key=lambda c: (counts[c], c))
        eliminated.append(worst)
        print("round", len(eliminated), "drops", worst, "with", counts[worst])


@program(lambda rng: (np.array([rng.permutation(4) for _ in range(25)]),))
def schulze_winner(ballots):
    voters, n = ballots.shape
    wins = np.zeros((n, n), dtype=int)
    for ballot in ballots:
        for i in range(n):
            for j in range(i + 1, n):
                wins[ballot[i], ballot[j]] += 1
    strength = np.where(wins > wins.T, wins, 0)
    for k in range(n):
        for i in range(n):
            if i == k:
                continue
            for j in range(n):
                if j != i and j != k:
                    strength[i, j] = max(strength[i, j], min(strength[i, k], strength[k, j]))
    winners = [c for c in range(n) if all(strength[c, o] >= strength[o, c] for o in range(n) if o != c)]
    return winners, strength


@program(lambda rng: (rng.random(200),))
def tennis_game(serves):
    points, games, deuces = [0, 0], [0, 0], 0
    names = ["love", "15", "30", "40"]
    calls = []
    for s in serves:
        winner = 0 if s < 0.58 else 1
        points[winner] += 1
        a, b = points
        if max(a, b) >= 4 and abs(a - b) >= 2:
            games[winner] += 1
            points = [0, 0]
            if max(games) >= 6 and abs(games[0] - games[1]) >= 2:
                break
        elif a >= 3 and b >= 3:
            if a == b:
                deuces += 1
        elif len(calls) < 5:
            calls.append(f"{names[a]}-{names[b]}")
    return games, deuces, calls


@program(lambda rng: (rng.normal(0, 1, 16), rng.random(15)))
def knockout_bracket(strength, luck):
    alive = list(np.argsort(-strength))
    alive = [v for pair in zip(alive[:8], alive[:7:-1]) for v in pair]
    rounds, upset, match = [], 0, 0
    while len(alive) > 1:
        following = []
        for a, b in zip(alive[::2], alive[1::2]):
            p = 1 / (1 + np.exp(strength[b] - strength[a]))
            winner = a if luck[match] < p else b
            upset += strength[winner] < min(strength[a], strength[b]) + 1e-12
            following.append(winner)
            match += 1
        alive = following
        rounds.append([int(v) for v in alive])
    return rounds, int(upset)
