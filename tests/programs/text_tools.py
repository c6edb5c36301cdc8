"""Texts, tables and data pipelines: tokens, counts, records that are parsed and checked, errors that are collected."""

import re
from collections import Counter, defaultdict

import numpy as np

from .registry import program

CORPUS = "the cat sat on the mat the dog sat on the log a cat and a dog".split()


def byte_pairs(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids, pair, idx):
    new, i = [], 0
    while i < len(ids):
        if i < len(ids) - 1 and ids[i] == pair[0] and ids[i + 1] == pair[1]:
            new.append(idx)
            i += 2
        else:
            new.append(ids[i])
            i += 1
    return new


@program(lambda rng, n=40: (rng.integers(97, 101, n).astype(np.uint8), 4))
def byte_level_bpe(data, merges):
    ids = [int(b) for b in data]
    table = {}
    for k in range(merges):
        stats = byte_pairs(ids)
        top = max(stats, key=stats.get)
        ids = merge(ids, top, 256 + k)
        table[top] = 256 + k
    vocab = {i: bytes([i]) for i in range(256)}
    for (a, b), i in table.items():
        vocab[i] = vocab[a] + vocab[b]
    return ids, table, len(data) / len(ids)


@program(lambda rng, n=9: ("".join(rng.choice(list("abcd"), n)), "".join(rng.choice(list("abcd"), n - 2))))
def levenshtein_with_script(a, b):
    m, n = len(a), len(b)
    D = np.zeros((m + 1, n + 1), dtype=int)
    D[:, 0] = np.arange(m + 1)
    D[0, :] = np.arange(n + 1)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    ops = []
    i, j = m, n
    while i > 0 or j > 0:
        if i > 0 and j > 0 and D[i, j] == D[i - 1, j - 1] + (a[i - 1] != b[j - 1]):
            if a[i - 1] != b[j - 1]:
                ops.append(f"replace {a[i - 1]}->{b[j - 1]}")
            i, j = i - 1, j - 1
        elif i > 0 and D[i, j] == D[i - 1, j] + 1:
            ops.append(f"delete {a[i - 1]}")
            i -= 1
        else:
            ops.append(f"insert {b[j - 1]}")
            j -= 1
    return int(D[m, n]), ops[::-1]


@program(lambda rng, n=6: ([" ".join(rng.choice(CORPUS, 7)) for _ in range(n)], "cat on log"))
def tf_idf_search(docs, query):
    tokens = [re.findall(r"\w+", d.lower()) for d in docs]
    vocab = {w: i for i, w in enumerate(sorted({w for t in tokens for w in t}))}
    tf = np.zeros((len(docs), len(vocab)))
    for d, t in enumerate(tokens):
        for w in t:
            tf[d, vocab[w]] += 1
    df = (tf > 0).sum(axis=0)
    idf = np.log((1 + len(docs)) / (1 + df)) + 1
    X = tf * idf
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    q = np.zeros(len(vocab))
    for w in query.split():
        if w in vocab:
            q[vocab[w]] += idf[vocab[w]]
    q /= np.linalg.norm(q) or 1.0
    scores = X @ q
    ranked = np.argsort(scores)[::-1][:3]
    for r in ranked:
        print(f"{scores[r]:.3f} {docs[r][:20]}...")
    return [(int(r), round(float(scores[r]), 6)) for r in ranked]


def payroll(rng, n=10):
    lines = ["name,dept,salary,start"]
    for i in range(n):
        lines.append(f"p{i},{rng.choice(['eng', 'ops', 'hr'])},{rng.integers(30, 90) * 1000},2020-0{rng.integers(1, 9)}-15")
    return ("\n".join(lines),)


@program(payroll)
def csv_payroll(text):
    header, *lines = text.strip().split("\n")
    columns = header.split(",")
    rows = [dict(zip(columns, line.split(","))) for line in lines]
    salary = np.array([float(r["salary"]) for r in rows])
    start = np.array([r["start"] for r in rows], dtype="datetime64[D]")
    by_dept = defaultdict(list)
    for r in rows:
        by_dept[r["dept"]].append(float(r["salary"]))
    summary = {d: {"n": len(v), "mean": np.mean(v), "max": max(v)} for d, v in sorted(by_dept.items())}
    tenure = (np.datetime64("2024-01-01") - start) / np.timedelta64(365, "D")
    print(f"{'dept':<6}{'n':>4}{'mean':>12}")
    for d, s in summary.items():
        print(f"{d:<6}{s['n']:>4}{s['mean']:>12,.2f}")
    return summary, tenure, np.corrcoef(salary, tenure)[0, 1]


@program(lambda rng, n=20: (rng.choice(["a", "b", "c"], n), rng.normal(size=n), rng.integers(0, 4, n)))
def group_by_and_pivot(key, value, bucket):
    groups, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    sums = np.zeros(len(groups))
    np.add.at(sums, inverse, value)
    means = sums / counts
    order = np.lexsort((value, inverse))
    boundaries = np.flatnonzero(np.diff(inverse[order])) + 1
    medians = [np.median(g) for g in np.split(value[order], boundaries)]
    pivot = np.zeros((len(groups), 4))
    np.add.at(pivot, (inverse, bucket), value)
    mx = np.full(len(groups), -np.inf)
    np.maximum.at(mx, inverse, value)
    return dict(zip(groups.tolist(), means.tolist())), medians, pivot, mx


@program(lambda rng, n=10: (rng.permutation(n), rng.normal(size=n), rng.integers(0, n, n + 4), rng.integers(0, 9, n + 4)))
def join_tables(left_id, left_val, right_id, right_val):
    order = left_id.argsort()
    pos = np.searchsorted(left_id[order], right_id)
    matched = order[pos]
    merged = np.column_stack([right_id, left_val[matched], right_val])
    index = {int(k): i for i, k in enumerate(left_id)}
    same = all(merged[i, 1] == left_val[index[int(k)]] for i, k in enumerate(right_id))
    missing = np.setdiff1d(left_id, right_id)
    total = defaultdict(float)
    for k, v in zip(right_id.tolist(), right_val.tolist()):
        total[k] += v * left_val[index[k]]
    return merged, same, missing, dict(total)


PERSON = [("name", "U8"), ("age", "i4"), ("height", "f8")]


@program(lambda rng, n=12: (np.array([(f"s{i}", rng.integers(18, 60), rng.normal(170, 10)) for i in range(n)], PERSON),))
def structured_people_report(people):
    adults = people[people["age"] >= 30]
    by_age = np.sort(people, order="age")
    mean = people["height"].mean()
    return by_age["name"][:3].tolist(), mean, len(adults), adults["height"].max() if len(adults) else None


def sales(rng, n=60):
    return np.datetime64("2024-01-01") + np.sort(rng.integers(0, 90, n)).astype("timedelta64[D]"), rng.integers(1, 20, n)


@program(sales)
def sales_by_month(dates, amount):
    months = dates.astype("datetime64[M]")
    names, idx = np.unique(months, return_inverse=True)
    totals = np.bincount(idx, weights=amount)
    weekday = (dates.astype("datetime64[D]").view("int64") - 4) % 7
    weekend = amount[weekday >= 5].sum()
    gaps = np.diff(dates).astype(int)
    report = [f"{m}: {t:.0f}" for m, t in zip(names, totals)]
    return report, int(weekend), int(gaps.max()), str(names[totals.argmax()])


@program(lambda rng: (" ".join(f"{w}={rng.integers(1, 9)}" for w in ["lr", "mu", "wd"]), "3 + 4 * ( 2 - 1 )"))
def config_and_tokenizer(config, expression):
    settings = {k: int(v) for k, v in (item.split("=") for item in config.split())}
    spec = [("NUM", r"\d+"), ("OP", r"[+\-*/()]"), ("WS", r"\s+")]
    pattern = "|".join(f"(?P<{n}>{p})" for n, p in spec)
    tokens = [(m.lastgroup, m.group()) for m in re.finditer(pattern, expression) if m.lastgroup != "WS"]
    prec = {"+": 1, "-": 1, "*": 2, "/": 2}
    out, stack = [], []
    for kind, tok in tokens:
        if kind == "NUM":
            out.append(float(tok))
        elif tok == "(":
            stack.append(tok)
        elif tok == ")":
            while stack[-1] != "(":
                out.append(stack.pop())
            stack.pop()
        else:
            while stack and stack[-1] != "(" and prec[stack[-1]] >= prec[tok]:
                out.append(stack.pop())
            stack.append(tok)
    out.extend(reversed(stack))
    vals = []
    for t in out:
        if isinstance(t, float):
            vals.append(t)
        else:
            b, a = vals.pop(), vals.pop()
            vals.append({"+": a + b, "-": a - b, "*": a * b}[t])
    return settings, out, vals[0] * settings.get("lr", 1)


@program(lambda rng, n=30: (rng.integers(32, 127, n),))
def clean_and_count(codes):
    text = "".join(chr(c) for c in codes)
    letters = [ch.lower() for ch in text if ch.isalpha()]
    digits = [ch for ch in text if ch.isdigit()]
    freq = Counter(letters)
    order = sorted(freq, key=lambda ch: (-freq[ch], ch))
    return "".join(letters), "".join(digits), order[:3], len(text.split())


@program(lambda rng, n=25: (rng.integers(97, 105, n),))
def top_letters(codes):
    counts = np.bincount(codes, minlength=128)
    order = sorted(np.flatnonzero(counts), key=lambda k: (-counts[k], k))
    return "".join(chr(k) for k in order[:5]), " ".join(f"{chr(k)}:{counts[k]}" for k in order)


@program(lambda rng, n=12: (rng.integers(-3, 12, n), rng.normal(size=6)))
def collected_errors(indices, table):
    good, errors = [], []
    for i in indices:
        try:
            if i < 0:
                raise ValueError(f"negative index {i}")
            good.append(float(table[i]))
        except (IndexError, ValueError) as e:
            errors.append(f"{type(e).__name__}: {e}")
    return good, errors, len(errors)


@program(lambda rng, n=8: ([str(v) if v > 2 else ("x" if v == 0 else "") for v in rng.integers(0, 9, n)],))
def parse_with_errors(fields):
    values, problems = [], []
    for line, f in enumerate(fields, start=1):
        try:
            values.append(int(f))
        except ValueError as e:
            problems.append((line, str(e)))
    return values, problems


@program(lambda rng, n=10: (rng.normal(size=n), rng.choice([0.0, 1.0, 2.0], n)))
def safe_divisions(a, b):
    log = []
    total = 0.0
    for k in range(len(a)):
        try:
            total += float(a[k]) / float(b[k])
        except ZeroDivisionError as e:
            log.append({"k": k, "error": str(e), "value": float(a[k])})
    return total, log


class ValidationError(Exception):
    def __init__(self, field, message):
        super().__init__(f"{field}: {message}")
        self.field = field


@program(lambda rng, n=12: (rng.normal(50, 30, n), rng.integers(0, 5, n)))
def validate_records(ages, kinds):
    def check(age, kind):
        if age < 0:
            raise ValidationError("age", f"must be positive, got {age:.1f}")
        if age > 100:
            raise ValidationError("age", "too old")
        if kind == 4:
            raise ValidationError("kind", f"unknown kind {kind}")
        return age * (1 + kind)

    ok, failed = 0.0, defaultdict(list)
    for i, (a, k) in enumerate(zip(ages, kinds)):
        try:
            ok += check(a, k)
        except ValidationError as err:
            failed[err.field].append((i, str(err)))
    print(f"{sum(len(v) for v in failed.values())} failures")
    return ok, dict(failed)


@program(lambda rng, n=3: (["".join(rng.choice(list("ACGT"), 9 + n)) for _ in range(4)],))
def dna_tools(seqs):
    codon = {"ATG": "M", "TGG": "W", "TAA": "*", "TAG": "*", "TGA": "*"}
    out = {}
    comp = str.maketrans("ACGT", "TGCA")
    for i, s in enumerate(seqs):
        gc = (s.count("G") + s.count("C")) / len(s)
        protein = "".join(codon.get(s[k : k + 3], "X") for k in range(0, len(s) - 2, 3))
        out[f"seq{i}"] = (round(gc, 3), s.translate(comp)[::-1], protein)
    H = np.array([[sum(a != b for a, b in zip(s, t)) for t in seqs] for s in seqs])
    profile = np.array([[ch == c for ch in s] for s in seqs for c in "ACGT"]).reshape(len(seqs), 4, -1).sum(axis=0)
    consensus = "".join("ACGT"[i] for i in profile.argmax(axis=0))
    return out, H, consensus


@program(lambda rng, n=20: (rng.integers(0, 5, n), rng.normal(size=(n, 2))))
def minibatch_pipeline(labels, X):
    def one_hot(y, k):
        out = np.zeros((len(y), k))
        out[np.arange(len(y)), y] = 1
        return out

    def loader(X, Y, size, shuffle=True, seed=0):
        idx = np.arange(len(X))
        if shuffle:
            np.random.default_rng(seed).shuffle(idx)
        for start in range(0, len(X) - size + 1, size):
            batch = idx[start : start + size]
            yield X[batch], Y[batch]

    Y = one_hot(labels, 5)
    cut = int(0.75 * len(X))
    Xtr, Xte, Ytr, Yte = X[:cut], X[cut:], Y[:cut], Y[cut:]
    mu, sd = Xtr.mean(0), Xtr.std(0)
    W = np.zeros((2, 5))
    seen = 0
    for epoch in range(3):
        for xb, yb in loader((Xtr - mu) / sd, Ytr, 4, seed=epoch):
            logits = xb @ W
            p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            W -= 0.1 * xb.T @ (p - yb) / len(xb)
            seen += len(xb)
    acc = (((Xte - mu) / sd @ W).argmax(1) == Yte.argmax(1)).mean()
    return W, seen, acc


@program(lambda rng, n=16: (rng.integers(0, 256, n).astype(np.uint8),))
def hex_dump_and_checksums(data):
    hexed = " ".join(f"{b:02x}" for b in data)
    printable = "".join(chr(b) if 32 <= b < 127 else "." for b in data)
    a, b = 1, 0
    for v in data:
        a = (a + int(v)) % 65521
        b = (b + a) % 65521
    crc = 0xFFFFFFFF
    for v in data:
        crc ^= int(v)
        for _ in range(8):
            crc = (crc >> 1) ^ (0xEDB88320 if crc & 1 else 0)
    return hexed, printable, hex((b << 16) | a), f"{crc ^ 0xFFFFFFFF:08x}"
