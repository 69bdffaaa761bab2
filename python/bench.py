#!/usr/bin/env python3
"""What the binding costs, as CPU time of this thread, the best of several rounds in turns; ratios are taken in one run.

usage: FERRY_LIBRARY=build/release/libferry.so python3 python/bench.py      (bench/binding.sh runs it with the others)
"""
import os
import sys
import time
from ctypes import addressof, byref

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from sklearn.linear_model import Ridge

import ferryml
from ferryml import _abi
from ferryml._lib import context, lib, words


def costs(*calls, n=500, rounds=15):
    """Microseconds of each call."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            begin = time.thread_time()
            for _ in range(n):
                call()
            best[k] = min(best[k], (time.thread_time() - begin) / n * 1e6)
    return best


def streaming(x, z):
    """A batch of rows into a stream: partial_fit(), the C function alone, and C's two calls for each row."""
    stream, ctx = ferryml.MPA().fit(x[:200], z[:200]), context()
    model, at, names = stream.model_.pointer, z.astype(np.int32), [b"0", b"1"]
    cls, votes = (_abi.c_int32 * 1)(), np.zeros(256, dtype=np.int32)
    c_names = words(names)

    def in_c():
        view = _abi.ferry_array(x.shape[0], x.shape[1], x.shape[1], x.ctypes.data)
        ctx.call(lib.ferry_model_learn_rows, model, byref(view), 2, c_names, at.ctypes.data, None)

    def one():
        row = _abi.ferry_row(x.shape[1], None, x.ctypes.data)
        lib.ferry_model_see(ctx.handle, model, byref(row), addressof(cls), None, votes.ctypes.data)
        lib.ferry_model_learn(ctx.handle, model, byref(row), names[0], votes.ctypes.data)

    a, b = costs(lambda: stream.partial_fit(x, z), in_c, n=1)
    learn, predict = costs(lambda: stream.learn_one(x[3], 1), lambda: stream.predict_one(x[3]))
    return a / len(x), b / len(x), costs(one)[0], learn, predict


def main():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(20000, 20)), rng.normal(size=20)
    y, z = x @ w, (x @ w > 0).astype(int)
    row, ctx = x[:1].copy(), context()
    ours, theirs = ferryml.RidgeRegressor().fit(x[:200], y[:200]), Ridge().fit(x[:200], y[:200])
    call, mine = costs(lambda: ctx.call(lib.ferry_ctx_set, b"jobs", b"0"), context)
    a, b = costs(lambda: ours.predict(row), lambda: theirs.predict(row))
    batch, in_c, two, learn, predict = streaming(x, z)
    print(f"a call of the library              {call:8.1f} us")
    print(f"this thread's context              {mine:8.1f} us")
    print(f"RidgeRegressor.predict, one row    {a:8.1f} us, scikit-learn's Ridge {b:.1f} us")
    print(f"MPA.predict_one, learn_one         {predict:8.1f} us, {learn:.1f} us (the library's two calls by ctypes {two:.1f} us)")
    print(f"MPA.partial_fit, a row of 20,000   {batch:8.3f} us, in C {in_c:.3f} us")
    print(f"row binding.call {call + mine:.1f} <= 20 us of a call by the binding")
    print(f"row binding.ridge {a / b:.2f} <= 1 predicting one row, against scikit-learn's Ridge")
    print(f"row binding.stream {batch / in_c:.2f} <= 1.1 streaming a batch of rows, against C")


if __name__ == "__main__":
    main()
