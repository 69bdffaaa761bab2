#!/usr/bin/env python3
"""What the binding costs, as CPU time of this thread, the best of several rounds; ratios are taken in one run.

usage: FERRY_LIBRARY=build/release/libferry.so python3 python/bench.py
"""
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from sklearn.linear_model import Ridge

import ferryml
from ferryml._lib import context, lib


def cost(call, n=500, rounds=9):
    """Microseconds of a call."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.thread_time()
        for _ in range(n):
            call()
        best = min(best, time.thread_time() - begin)
    return best / n * 1e6


def main():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(200, 20)), rng.normal(size=20)
    y, z = x @ w, (x @ w > 0).astype(int)
    row, ctx = x[:1].copy(), context()
    ours, theirs = ferryml.RidgeRegressor().fit(x, y), Ridge().fit(x, y)
    stream = ferryml.MPA().fit(x, z)
    print(f"a call of the library              {cost(lambda: ctx.call(lib.ferry_ctx_set_jobs, 0)):8.1f} us")
    print(f"this thread's context              {cost(context):8.1f} us")
    a, b = cost(lambda: ours.predict(row)), cost(lambda: theirs.predict(row))
    print(f"RidgeRegressor.predict, one row    {a:8.1f} us")
    print(f"scikit-learn's Ridge, the same     {b:8.1f} us, ratio {a / b:.2f}")
    print(f"MPA.predict_one                    {cost(lambda: stream.predict_one(x[3])):8.1f} us")
    print(f"MPA.learn_one                      {cost(lambda: stream.learn_one(x[3], 1)):8.1f} us")
    print(f"MPA.partial_fit, a row of 200      {cost(lambda: stream.partial_fit(x, z), 5) / 200:8.1f} us")


if __name__ == "__main__":
    main()
