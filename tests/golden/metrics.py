#!/usr/bin/env python3
"""Golden numbers for the metrics: python3 tests/golden/metrics.py > tests/golden/metrics.json

Needs numpy, scipy and scikit-learn; the numbers in the repository were made with scikit-learn 1.9.1 and scipy 1.17.1. The
tests read the JSON alone. Every case is small and has what goes wrong: equal scores, a class without instances, users with
one item, a constant truth."""
import json
import sys

import numpy as np
import scipy.stats
import sklearn.metrics as m

rng = np.random.default_rng(14)


def classes(n, k, score):
    truth = rng.integers(0, k, n)
    truth[:k] = np.arange(k)
    guess = np.where(rng.random(n) < 0.5, truth, rng.integers(0, k, n))
    want = {
        "accuracy": m.accuracy_score(truth, guess),
        "error": 1 - m.accuracy_score(truth, guess),
        "macro-f1": m.f1_score(truth, guess, average="macro"),
        "balanced-accuracy": m.balanced_accuracy_score(truth, guess),
        "nmi": m.normalized_mutual_info_score(truth, guess),
        "ari": m.adjusted_rand_score(truth, guess),
    }
    probabilities = np.allclose(score.sum(1), 1) and (score >= 0).all()
    if k == 2:
        want["auc"] = m.roc_auc_score(truth, score[:, 1] - score[:, 0])
    else:  # its check that rows add up to 1 is about probabilities; one against the rest needs none
        want["auc"] = np.mean([m.roc_auc_score(truth == c, score[:, c]) for c in range(k)])
        if probabilities:
            assert np.isclose(want["auc"], m.roc_auc_score(truth, score, multi_class="ovr"))
    if probabilities:
        want["log-loss"] = m.log_loss(truth, score, labels=range(k))
        want["brier"] = m.brier_score_loss(truth, score[:, 1] if k == 2 else score, labels=range(k))
    else:
        want["log-loss"] = want["brier"] = None
    return {"kind": "classes", "k": k, "truth": truth, "guess": guess, "score": score, "want": want}


def softmax(x):
    e = np.exp(x)
    return e / e.sum(1, keepdims=True)


def sure(n, k):
    """Probabilities of 0 and 1: scikit-learn clips them."""
    return np.eye(k)[rng.integers(0, k, n)]


def numbers(truth, value):
    r = scipy.stats.spearmanr(truth, value).statistic if len(set(truth)) > 1 and len(set(value)) > 1 else None
    return {"kind": "numbers", "truth": truth, "value": value, "want": {
        "rmse": m.root_mean_squared_error(truth, value), "mae": m.mean_absolute_error(truth, value),
        "r2": m.r2_score(truth, value), "spearman": r}}


def ratings(users, items, step):
    """Every user has some of the items; predictions in steps, so that many are equal."""
    pairs = [(u, i) for u in range(users) for i in range(items) if rng.random() < 0.6] + [(users, 0)]
    user, item = np.array(pairs).T
    order = rng.permutation(len(pairs))
    user, item = user[order], item[order]
    truth = rng.integers(1, 6, len(pairs)).astype(float)
    value = np.round((truth + rng.normal(0, 1.5, len(pairs))) / step) * step
    want = {}
    for k in (5, 10, 20):
        ndcg, recall = [], []
        for u in range(users + 1):
            t, v = truth[user == u], value[user == u]
            if len(t) > 1:
                ndcg.append(m.ndcg_score([t], [v], k=k))
            if (t > truth.mean()).any():
                recall.append(expected_recall(t > truth.mean(), v, k))
        want[f"ndcg@{k}"] = np.mean(ndcg)
        want[f"recall@{k}"] = np.mean(recall)
    return {"kind": "ratings", "user": user, "item": item, "truth": truth, "value": value, "want": want}


def expected_recall(worth, value, k):
    """recall_score of taking the k first; over equals at the edge the expected value, by drawing all orders of them is the
    same as giving each the share of the places that are left."""
    edge = np.sort(value)[::-1][min(k, len(value)) - 1]
    take = (value > edge).astype(float)
    equal = value == edge
    take[equal] = (min(k, len(value)) - take.sum()) / equal.sum()
    whole = np.isin(take, (0, 1)).all()
    share = (take * worth).sum() / worth.sum()
    if whole:
        assert np.isclose(share, m.recall_score(worth, take.astype(bool)))
    return share


def sets(n, k):
    truth = (rng.random((n, k)) < 0.35).astype(int)
    truth[:, k - 1] = 0
    guess = np.where(rng.random((n, k)) < 0.7, truth, 1 - truth)
    guess[:, k - 1] = 0  # a label in neither
    guess[:3] = truth[:3]
    return {"kind": "sets", "k": k, "truth": truth, "guess": guess, "want": {
        "macro-f1": m.f1_score(truth, guess, average="macro", zero_division=0),
        "micro-f1": m.f1_score(truth, guess, average="micro"),
        "subset-accuracy": m.accuracy_score(truth, guess), "hamming": m.hamming_loss(truth, guess)}}


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, np.ndarray):
        return [plain(v) for v in x.tolist()]
    return float(x) if isinstance(x, np.floating) else x


cases = [
    classes(40, 2, softmax(rng.normal(0, 1, (40, 2)))),
    classes(60, 4, softmax(rng.normal(0, 1, (60, 4)))),
    classes(30, 3, np.round(softmax(rng.normal(0, 1, (30, 3))) * 4) / 4 - 0.5),
    classes(30, 3, rng.normal(0, 1, (30, 3))),
    classes(25, 3, sure(25, 3)),
    classes(25, 2, sure(25, 2)),
    numbers(rng.normal(0, 3, 30), rng.normal(0, 3, 30)),
    numbers(np.round(rng.normal(0, 2, 30)), np.round(rng.normal(0, 2, 30))),
    numbers(np.ones(5), np.arange(5.0)),
    numbers(np.ones(5), np.ones(5)),
    ratings(12, 15, 0.01),
    ratings(9, 25, 1),
    sets(30, 6),
]
json.dump([plain(c) for c in cases], sys.stdout)
print()
