#!/usr/bin/env python3
"""Golden numbers for boosted trees on rows that they have not seen: python3 tests/golden/gbdt.py > tests/golden/gbdt.json

Needs numpy and scikit-learn; the numbers in the repository were made with scikit-learn 1.2.1. The tests read the JSON alone.
Cells are multiples of 1/64, which single precision holds (scikit-learn's trees see it), as it does the middle between two. Where
two features part a node's rows alike scikit-learn takes one by chance: data on which that matters are passed over."""
import json
import sys

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

TRAIN, NEW = 60, 40


def fit(x, y, seed):
    model = GradientBoostingRegressor(n_estimators=20, max_depth=3, learning_rate=0.3, min_samples_leaf=3, criterion="squared_error",
                                      random_state=seed)
    return model.fit(x[:TRAIN], y).predict(x)


cases, seed = [], 0
while len(cases) < 5:
    seed += 1
    rng = np.random.default_rng(seed)
    x = np.round(64 * rng.normal(size=(TRAIN + NEW, 3))) / 64
    y = np.round(np.sin(2 * x[:TRAIN, 0]) + x[:TRAIN, 1] * x[:TRAIN, 2] + 0.2 * rng.normal(size=TRAIN), 3)
    want = fit(x, y, 0)
    if all(np.allclose(fit(x, y, s), want, rtol=0, atol=1e-12) for s in range(1, 12)):
        cases.append({"seed": seed, "x": x[:TRAIN].tolist(), "y": y.tolist(), "new": x[TRAIN:].tolist(), "at_train": want[:TRAIN].tolist(),
                      "at_new": want[TRAIN:].tolist()})
json.dump({"options": "trees=20 depth=3 rate=0.3 min_leaf=3 reg=0", "cases": cases}, sys.stdout)
print()
