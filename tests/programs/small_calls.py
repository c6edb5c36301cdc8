"""Programs of a microsecond or a few, on dicts, lists, records and counters: what a call costs by itself shows in them."""

import heapq
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass
from itertools import combinations

from .registry import program

Bid = namedtuple("Bid", "bidder price quantity")


def bids(rng, count=12):
    return [Bid(k, round(float(rng.uniform(1, 10)), 2), int(rng.integers(1, 20))) for k in range(count)]


def is_cleared(found, bids, supply):
    price, won, left = found["price"], found["won"], found["left"]
    winners = {bid.bidder: bid for bid in bids if bid.bidder in won}
    enough = all(won[k] <= bid.quantity and bid.price >= price for k, bid in winners.items())
    return enough and sum(won.values()) + left == supply and not any(b.price > price and b.bidder not in won for b in bids)


@program(lambda rng: (list(map(tuple, bids(rng))), 40))
def uniform_price_auction(bids, supply):
    """All that win pay the lowest price that wins."""
    ordered = sorted(bids, key=lambda bid: -bid[1])
    left = supply
    won = {}
    price = 0.0
    for bidder, offered, quantity in ordered:
        if left == 0:
            break
        taken = min(left, quantity)
        won[bidder] = taken
        price = offered
        left -= taken
    return price, won


@program(lambda rng: (bids(rng), 40), is_cleared)
def auction_of_records(bids, supply):
    left = supply
    won = {}
    price = 0.0
    for bid in sorted(bids, key=lambda b: (-b.price, b.bidder)):
        if left <= 0:
            break
        taken = min(left, bid.quantity)
        won[bid.bidder] = won.get(bid.bidder, 0) + taken
        left -= taken
        price = bid.price
    return {"price": price, "won": won, "left": left}


@program(lambda rng: (rng.uniform(1, 10, 12), rng.integers(1, 20, 12), 40))
def auction_of_arrays(prices, quantities, supply):
    bids = [(float(p), int(q), k) for k, (p, q) in enumerate(zip(prices, quantities))]
    bids.sort(reverse=True)
    left = supply
    won = {}
    clearing = 0.0
    for price, quantity, who in bids:
        if left <= 0:
            break
        won[who] = min(left, quantity)
        left -= won[who]
        clearing = price
    paid = {who: amount * clearing for who, amount in won.items()}
    return clearing, won, paid


def baskets(rng):
    return ([sorted(rng.permutation(6)[:3].tolist()) for _ in range(6)],)


@program(baskets, lambda found, baskets: found[0][1] == max(sum(set(pair) <= set(b) for b in baskets) for pair, _ in found))
def bought_together(baskets):
    """A Counter of pairs."""
    counts = Counter()
    for basket in baskets:
        for pair in combinations(basket, 2):
            counts[pair] += 1
    return counts.most_common(3)


@program(lambda rng: (rng.integers(0, 8, (10, 4)),))
def bought_together_in_rows(orders):
    """Pairs of what is in each row, once each, in a plain dict."""
    counts = {}
    for order in orders:
        items = sorted(set(order.tolist()))
        for i in range(len(items)):
            for j in range(i + 1, len(items)):
                pair = (items[i], items[j])
                counts[pair] = counts.get(pair, 0) + 1
    best = max(counts, key=counts.get)
    return best, counts[best], len(counts)


@program(lambda rng: (rng.integers(0, 9, 8).tolist(), 3))
def moving_sums(values, width):
    window = deque(maxlen=width)
    sums = []
    for v in values:
        window.append(v)
        sums.append(sum(window))
    return sums


@program(lambda rng: (rng.integers(0, 99, 8).tolist(), 3), lambda found, values, k: found == sorted(values)[:k])
def smallest_of_heap(values, k):
    heap = list(values)
    heapq.heapify(heap)
    return [heapq.heappop(heap) for _ in range(k)]


@program(lambda rng: ([(int(low), int(low + rng.integers(1, 9))) for low in rng.integers(0, 30, 7)],))
def merged_intervals(intervals):
    """The last of a list of tuples becomes another one, or one is put behind it."""
    merged = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


@program(lambda rng: (rng.integers(1, 7, 5).tolist(),))
def kind_of_throw(dice):
    counts = sorted(Counter(dice).values(), reverse=True)
    if counts[0] == 5:
        return "yahtzee"
    if counts[0] == 4:
        return "four"
    if counts[:2] == [3, 2]:
        return "full house"
    return "three" if counts[0] == 3 else "nothing"


@program(lambda rng: (rng.uniform(0, 5, 10).tolist(), rng.integers(0, 3, 10).tolist()))
def mean_by_group(values, groups):
    held = defaultdict(list)
    for group, value in zip(groups, values):
        held[group].append(value)
    return {group: sum(members) / len(members) for group, members in held.items()}


@dataclass
class Account:
    owner: int
    balance: float
    moves: int = 0


@program(lambda rng: (Account(1, 100.0), Account(2, 50.0), float(rng.uniform(1, 140))))
def transfer(source, target, amount):
    if amount > source.balance:
        return False
    source.balance -= amount
    target.balance += amount
    source.moves += 1
    target.moves += 1
    return True


TOTALS = {"calls": 0, "sum": 0.0}
STEPS = defaultdict(int)


@program(lambda rng: (float(rng.uniform(0, 9)),), reset=lambda: TOTALS.update(calls=0, sum=0.0), outside=lambda: dict(TOTALS))
def tally(x):
    TOTALS["calls"] += 1
    TOTALS["sum"] += x
    return TOTALS["sum"] / TOTALS["calls"]


@program(lambda rng: tuple(rng.integers(0, 5, 2).tolist()), reset=STEPS.clear, outside=lambda: dict(STEPS))
def steps_between(a, b):
    """A defaultdict of pairs outside, of which each call counts one."""
    STEPS[a, b] += 1
    return STEPS[a, b], len(STEPS)


@program(lambda rng: ({"a": float(rng.uniform(1, 5)), "b": float(rng.uniform(1, 5)), "c": 2.0}, {"a": 2, "c": 1}))
def bill(prices, cart):
    lines = {name: prices[name] * count for name, count in cart.items()}
    return lines, sum(lines.values())
