"""Words and sequences, counted, scored and decoded, and tables and logs that are read from texts."""

import heapq
import io
import json
import math
import re
from collections import Counter, defaultdict

import numpy as np

from .registry import program

SPAM = ["win money now", "cheap money offer now now", "free win win", "limited offer click"]


HAM = ["meeting at noon", "project meeting notes", "lunch at noon tomorrow", "notes on the project offer"]


class NaiveBayes:
    def __init__(self, alpha=1.0):
        self.alpha = alpha
        self.word_counts = defaultdict(Counter)
        self.doc_counts = Counter()
        self.vocab = set()

    def tokenize(self, text):
        return re.findall(r"[a-z']+", text.lower())

    def fit(self, docs, labels):
        for doc, label in zip(docs, labels):
            self.doc_counts[label] += 1
            for tok in self.tokenize(doc):
                self.word_counts[label][tok] += 1
                self.vocab.add(tok)
        return self

    def predict_log_proba(self, text):
        total_docs = sum(self.doc_counts.values())
        scores = {}
        for label in self.doc_counts:
            score = math.log(self.doc_counts[label] / total_docs)
            total = sum(self.word_counts[label].values())
            for tok in self.tokenize(text):
                score += math.log((self.word_counts[label][tok] + self.alpha) / (total + self.alpha * len(self.vocab)))
            scores[label] = score
        return scores

    def predict(self, text):
        scores = self.predict_log_proba(text)
        return max(scores, key=scores.get)


@program(lambda rng: (SPAM + HAM, ["spam"] * 4 + ["ham"] * 4, ["free offer now", "meeting notes"], float(rng.uniform(0.5, 2))))
def naive_bayes_counter(docs, labels, queries, alpha):
    nb = NaiveBayes(alpha).fit(docs, labels)
    out = [nb.predict(q) for q in queries]
    return out, nb.predict_log_proba(queries[0]), len(nb.vocab), nb.word_counts["spam"].most_common(2)


@program(lambda rng: (SPAM + HAM, "project offer", rng.random(8)))
def tfidf_matrix(docs, query, boost):
    tokenized = [d.split() for d in docs]
    vocab = {w: i for i, w in enumerate(sorted(set(w for d in tokenized for w in d)))}
    tf = np.zeros((len(docs), len(vocab)))
    for i, d in enumerate(tokenized):
        for w, c in Counter(d).items():
            tf[i, vocab[w]] = c / len(d)
    df = (tf > 0).sum(axis=0)
    idf = np.log((1 + len(docs)) / (1 + df)) + 1
    M = tf * idf
    M /= np.linalg.norm(M, axis=1, keepdims=True)
    q = np.zeros(len(vocab))
    for w in query.split():
        if w in vocab:
            q[vocab[w]] += idf[vocab[w]]
    scores = M @ (q / np.linalg.norm(q)) * boost
    ranked = sorted(enumerate(scores), key=lambda p: p[1], reverse=True)[:3]
    for i, s in ranked:
        print(f"{s:.3f} {docs[i]}")
    return [(i, round(float(s), 4)) for i, s in ranked]


@program(lambda rng: ("the quick brown fox jumps over the lazy dog the fox runs", int(rng.integers(100)), 2, 4))
def word2vec_sgns(text, seed, window, dim):
    words = text.split()
    counts = Counter(words)
    vocab = [w for w, _ in counts.most_common()]
    index = {w: i for i, w in enumerate(vocab)}
    freq = np.array([counts[w] for w in vocab]) ** 0.75
    freq /= freq.sum()
    rng = np.random.default_rng(seed)
    W, C = rng.normal(size=(len(vocab), dim)) * 0.1, np.zeros((len(vocab), dim))
    sigmoid = lambda z: 1 / (1 + np.exp(-z))
    total = []
    for epoch in range(3):
        loss = 0.0
        for pos, word in enumerate(words):
            center = index[word]
            for off in range(-window, window + 1):
                if off == 0 or not 0 <= pos + off < len(words):
                    continue
                ctx = index[words[pos + off]]
                neg = rng.choice(len(vocab), size=3, p=freq)
                targets = np.concatenate([[ctx], neg])
                labels = np.array([1.0, 0, 0, 0])
                z = sigmoid(C[targets] @ W[center])
                loss -= np.log(z[0]) + np.log(1 - z[1:]).sum()
                g = z - labels
                grad = g @ C[targets]
                np.add.at(C, targets, -0.1 * g[:, None] * W[center])
                W[center] -= 0.1 * grad
        total.append(loss)
    sims = W @ W[index["fox"]]
    return total, [vocab[i] for i in np.argsort(-sims)[:3]], W


@program(
    lambda rng: (
        ["rainy", "sunny"],
        {"rainy": 0.6, "sunny": 0.4},
        {"rainy": {"rainy": 0.7, "sunny": 0.3}, "sunny": {"rainy": 0.4, "sunny": 0.6}},
        {"rainy": {"walk": 0.1, "shop": 0.4, "clean": 0.5}, "sunny": {"walk": 0.6, "shop": 0.3, "clean": 0.1}},
        [["walk", "shop", "clean"][i] for i in rng.integers(0, 3, 6)],
    )
)
def viterbi_dicts(states, start, trans, emit, obs):
    V = [{}]
    path = {}
    for s in states:
        V[0][s] = math.log(start[s]) + math.log(emit[s][obs[0]])
        path[s] = [s]
    for t in range(1, len(obs)):
        V.append({})
        newpath = {}
        for s in states:
            prob, prev = max((V[t - 1][p] + math.log(trans[p][s]) + math.log(emit[s][obs[t]]), p) for p in states)
            V[t][s] = prob
            newpath[s] = path[prev] + [s]
        path = newpath
    prob, best = max((V[-1][s], s) for s in states)
    return prob, path[best]


@program(lambda rng: (rng.normal(size=(8, 5)), [1, 2, 2, 3]))
def ctc_loss(logits, target, blank=0):
    logp = logits - logits.max(1, keepdims=True)
    logp = logp - np.log(np.exp(logp).sum(1, keepdims=True))
    ext = [blank]
    for t in target:
        ext += [t, blank]
    T, S = len(logits), len(ext)
    alpha = np.full((T, S), -np.inf)
    alpha[0, 0], alpha[0, 1] = logp[0, blank], logp[0, ext[1]]
    for t in range(1, T):
        for s in range(S):
            terms = [alpha[t - 1, s]]
            if s > 0:
                terms.append(alpha[t - 1, s - 1])
            if s > 1 and ext[s] != blank and ext[s] != ext[s - 2]:
                terms.append(alpha[t - 1, s - 2])
            m = max(terms)
            if m == -np.inf:
                continue
            alpha[t, s] = m + math.log(sum(math.exp(v - m) for v in terms)) + logp[t, ext[s]]
    best = logp.argmax(1)
    decoded = [int(k) for i, k in enumerate(best) if k != blank and (i == 0 or k != best[i - 1])]
    return -np.logaddexp(alpha[-1, -1], alpha[-1, -2]), decoded


@program(lambda rng: (rng.normal(size=(6, 6)), 3, 5))
def beam_search_nlargest(T, width, length):
    logp = T - np.log(np.exp(T).sum(axis=1, keepdims=True))
    beams = [(0.0, [0])]
    finished = []
    for step in range(length):
        candidates = []
        for score, seq in beams:
            last = seq[-1]
            for tok in np.argsort(logp[last])[::-1][:width]:
                new = (score + logp[last, tok], seq + [int(tok)])
                if tok == 5:
                    finished.append((new[0] / len(new[1]), new[1]))
                else:
                    candidates.append(new)
        beams = heapq.nlargest(width, candidates, key=lambda c: c[0])
        if not beams:
            break
    finished.extend((s / len(q), q) for s, q in beams)
    best = max(finished)
    return best[1], best[0], len(finished)


@program(lambda rng: ("low low low lower lower newest newest newest newest widest widest", int(rng.integers(3, 6))))
def learn_bpe_words(text, num_merges):
    vocab = Counter(" ".join(w) + " </w>" for w in text.split())
    merges = []
    for _ in range(num_merges):
        pairs = defaultdict(int)
        for word, freq in vocab.items():
            symbols = word.split()
            for a, b in zip(symbols, symbols[1:]):
                pairs[a, b] += freq
        best = max(pairs, key=pairs.get)
        pattern = re.compile(r"(?<!\S)" + re.escape(" ".join(best)) + r"(?!\S)")
        vocab = {pattern.sub("".join(best), w): f for w, f in vocab.items()}
        merges.append(best)
    return merges, vocab


@program(lambda rng: (rng.integers(0, 4, 40).tolist(), 4))
def learn_bpe_ids(ids, n):
    merges = {}
    for k in range(n):
        counts = Counter(zip(ids, ids[1:]))
        if not counts:
            break
        pair, c = counts.most_common(1)[0]
        if c < 2:
            break
        out, i = [], 0
        while i < len(ids):
            if i < len(ids) - 1 and (ids[i], ids[i + 1]) == pair:
                out.append(256 + k)
                i += 2
            else:
                out.append(ids[i])
                i += 1
        ids = out
        merges[pair] = 256 + k
    return merges, ids, len(ids)


CSV = """date,city,temp,rain
2024-01-01,Oslo,-3.5,0.0
2024-01-01,Rome,11.2,4.5
2024-01-02,Oslo,,1.0
2024-01-02,Rome,12.0,bad
2024-01-03,Oslo,-1.0,2.5
2024-01-03,Rome,9.8,0.1
"""


@program(lambda rng: (CSV, float(rng.integers(1, 5))))
def csv_parse_and_group(text, factor):
    lines = text.strip().split("\n")
    header = [h.strip() for h in lines[0].split(",")]
    rows, errors = [], []
    for ln, line in enumerate(lines[1:], start=2):
        rec = dict(zip(header, line.split(",")))
        try:
            rec["temp"] = float(rec["temp"]) if rec["temp"] else float("nan")
            rec["rain"] = float(rec["rain"]) * factor
        except ValueError as e:
            errors.append(f"line {ln}: {e}")
            continue
        rows.append(rec)
    by_city = defaultdict(list)
    for r in rows:
        by_city[r["city"]].append(r)
    summary = {}
    for city, rs in sorted(by_city.items()):
        temps = np.array([r["temp"] for r in rs])
        rain, days = sum(r["rain"] for r in rs), [r["date"][-2:] for r in rs]
        summary[city] = {"mean": np.nanmean(temps), "rain": rain, "n": len(rs), "days": days}
    out = io.StringIO()
    for city, s in summary.items():
        out.write(f"{city};{s['mean']:.2f};{s['rain']:.1f}\n")
    return summary, errors, out.getvalue()


LOG = """10:00:01 INFO server started port=8080
10:00:05 ERROR db timeout after 350ms
10:01:10 WARN slow query 120ms
10:01:12 ERROR db timeout after 420ms
10:02:59 INFO request GET /index 35ms
garbage line
"""


@program(lambda rng: (LOG, int(rng.integers(100, 400))))
def log_analysis(log, limit):
    pattern = re.compile(r"(?P<h>\d+):(?P<m>\d+):(?P<s>\d+) (?P<level>[A-Z]+) (?P<msg>.*)")
    levels, slow, skipped = Counter(), [], 0
    per_minute = defaultdict(list)
    for line in log.splitlines():
        m = pattern.match(line)
        if m is None:
            skipped += 1
            continue
        levels[m["level"]] += 1
        t = int(m["h"]) * 3600 + int(m["m"]) * 60 + int(m["s"])
        ms = re.search(r"(\d+)ms", m["msg"])
        if ms:
            d = int(ms.group(1))
            per_minute[t // 60].append(d)
            if d > limit:
                slow.append((t, d, re.sub(r"\d+", "#", m["msg"])))
    table = {f"{k // 60:02d}:{k % 60:02d}": (np.mean(v), np.percentile(v, 95)) for k, v in per_minute.items()}
    return levels.most_common(), slow, skipped, table


ORDERS = [
    {
        "id": 1,
        "customer": {"name": "ann", "tier": "gold"},
        "items": [{"sku": "a", "qty": 2, "price": 3.5}, {"sku": "b", "qty": 1, "price": 10.0}],
    },
    {"id": 2, "customer": {"name": "bob"}, "items": [{"sku": "a", "qty": 5, "price": 3.5}]},
    {"id": 3, "customer": {"name": "ann", "tier": "gold"}, "items": []},
]


@program(lambda rng: (json.loads(json.dumps(ORDERS)), {"gold": float(rng.uniform(0.05, 0.2))}))
def order_processing(orders, discounts):
    totals, by_sku = {}, defaultdict(int)
    for order in orders:
        tier = order["customer"].get("tier", "none")
        sub = sum(it["qty"] * it["price"] for it in order["items"])
        total = sub * (1 - discounts.get(tier, 0))
        order["total"] = round(total, 2)
        totals.setdefault(order["customer"]["name"], []).append(total)
        for it in order["items"]:
            by_sku[it["sku"]] += it["qty"]
    big = [o["id"] for o in orders if o["total"] > 15]
    flat = [{**it, "order": o["id"]} for o in orders for it in o["items"]]
    return (
        {k: sum(v) for k, v in totals.items()},
        dict(by_sku),
        big,
        json.dumps(flat),
        sorted(flat, key=lambda r: -r["price"])[0],
    )


def fnv(text):
    h = 2166136261
    for ch in text.encode():
        h = ((h ^ ch) * 16777619) & 0xFFFFFFFF
    return h


@program(lambda rng: ([{"color": "red", "size": 3}, {"color": "blue", "size": 1, "shape": "round"}], rng.normal(size=8)))
def feature_hashing(rows, w):
    X = np.zeros((len(rows), 8))
    for i, row in enumerate(rows):
        for k, v in row.items():
            key, val = (f"{k}={v}", 1.0) if isinstance(v, str) else (k, float(v))
            h = fnv(key)
            X[i, h % 8] += val if h & 0x80000000 else -val
    return X, X @ w
