"""Ordinary features as cases for ttl and hop: python3 repro/ttl/cases.py SEED FOLDER makes 30 folders with a task file each.

A made-up shop, Statlog tables and concrete split along a random direction, mfeat's views, SURF, DeCAF and GoogLeNet pictures between domains,
sentence embeddings of 20 Newsgroups, NUS-WIDE images over pairs of text and image. FERRY_DATA names the folder of data sets. Needs numpy and
scipy. repro/ttl/features.py runs them; the table of docs/methods/ttl.md is seeds 10 and 11."""
import os, re, sys
import numpy as np, scipy.sparse as sp, scipy.io as sio
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import where

def S(path):
    return os.path.join(where.data(path.split('/')[0]), path)

def l2(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)

def mfeat():
    out = {}
    for k in ('fou', 'fac', 'kar', 'pix', 'zer', 'mor'):
        a = np.loadtxt(S('mfeat/mfeat-%s.csv' % k), delimiter=',', skiprows=1)
        out[k] = a[:, :-1]
        y = a[:, -1].astype(int)
    return (out, y)

def australian():
    a = np.loadtxt(S('statlog/australian.dat'))
    return (a[:, :-1], a[:, -1].astype(int))

def german():
    a = np.loadtxt(S('statlog/german.data-numeric'))
    return (a[:, :-1], (a[:, -1] == 2).astype(int))

def concrete():
    a = np.array([[float(v) for v in l.split(',')] for l in open(S('concrete/Concrete_Data.csv'), encoding='utf-8-sig').read().strip().split('\n')[1:]])
    return (a[:, :-1], a[:, -1])

def nus(t):
    D = sio.loadmat(S('nuswide_text_image/pairs/%s.mat' % t))
    g = lambda k: np.asarray(D[k].todense() if sp.issparse(D[k]) else D[k], float)
    xi, ci, xs, cs = [g(k) for k in ('image_fea', 'co_image_fea', 'text_fea', 'co_text_fea')]
    return (xi, (D['image_gnd'].ravel() > 0).astype(int), ci, cs, xs, (D['text_gnd'].ravel() > 0).astype(int))

def surf(k):
    D = sio.loadmat(S('office_caltech10/surf/%s_SURF_L10.mat' % k))
    return (D['fts'].astype(float), D['labels'].ravel().astype(int) - 1)

def deep(f):
    D = sio.loadmat(S('office_caltech10/' + f))
    k = [q for q in D if q[0] != '_']
    X = [D[q] for q in k if min(D[q].shape) > 1][0]
    y = [D[q] for q in k if min(D[q].shape) == 1][0]
    return (X.astype(float), y.ravel().astype(int))

def emb(g):
    return np.load(S('minilm_20ng/%s.npy' % g)).astype(float)

def shop(seed, n=400, nt=200, cities=5):
    r = np.random.default_rng(seed)

    def mk(n, shift):
        age = np.clip(r.normal(45 + shift * 5, 12, n), 18, 90).round()
        inc = np.exp(r.normal(8.1 + 0.1 * shift, 0.5, n)).round()
        city = r.integers(0, cities, n)
        ce = np.linspace(-0.8, 0.8, cities)[city]
        z = 1.2 * (age - 45) / 12 - 1.2 * (np.log(inc) - 8.1) / 0.5 + ce + r.logistic(size=n) * 0.6
        X = np.c_[age, inc, np.eye(cities)[city]]
        return (X, (z > 0).astype(int))
    return mk(n, 0) + mk(nt, 1)
n20 = {'autos': 'rec.autos', 'cmisc': 'comp.os.ms-windows.misc', 'hockey': 'rec.sport.hockey', 'windows': 'comp.windows.x', 'guns': 'talk.politics.guns', 'tmisc': 'talk.politics.misc', 'elec': 'sci.electronics', 'space': 'sci.space', 'graphics': 'comp.graphics', 'crypt': 'sci.crypt', 'med': 'sci.med'}
T6 = {'rec-comp': ('autos', 'cmisc', 'hockey', 'windows'), 'rec-talk': ('autos', 'guns', 'hockey', 'tmisc'), 'rec-sci': ('autos', 'elec', 'hockey', 'space'), 'sci-comp': ('elec', 'graphics', 'space', 'windows'), 'sci-talk': ('crypt', 'guns', 'med', 'tmisc'), 'comp-talk': ('graphics', 'guns', 'windows', 'tmisc')}

def shift(X, y, seed, col=None):
    """source = rows with larger value of a random direction of two columns, with noise; target = the rest"""
    r = np.random.default_rng(seed)
    s = X.std(0)
    s[s == 0] = 1
    Z = (X - X.mean(0)) / s
    w = r.normal(size=X.shape[1])
    p = Z @ w
    p = (p - p.mean()) / p.std() + r.normal(size=len(X))
    o = np.argsort(p)
    h = len(X) // 2
    return (X[o[h:]], y[o[h:]], X[o[:h]], y[o[:h]])

def pairs(seed):
    """yield name, Xs, ys, Xt, yt (one view in both)"""
    r = np.random.default_rng(1000 + seed)
    yield (('shop',) + shop(seed))
    yield (('shop100',) + shop(seed, cities=100))
    for f in (australian, german):
        yield ((f.__name__,) + shift(*f(), seed))
    X, y = concrete()
    yield (('concrete',) + shift(X, (y > np.median(y)).astype(int), seed))
    V, y = mfeat()
    p = r.permutation(2000)
    for k in V:
        yield ('mfeat-' + k, V[k][p[:300]], y[p[:300]], V[k][p[300:900]], y[p[300:900]])
    for a, b in (('amazon', 'webcam'), ('webcam', 'dslr'), ('Caltech10', 'amazon'), ('dslr', 'Caltech10')):
        A, ya = surf(a)
        B, yb = surf(b)
        i = r.permutation(len(A))[:500]
        j = r.permutation(len(B))[:500]
        yield ('surf-%s-%s' % (a[:3], b[:3]), A[i], ya[i], B[j], yb[j])
    for a, b in (('decaf6/webcam_decaf.mat', 'decaf6/dslr_decaf.mat'), ('decaf6/dslr_decaf.mat', 'decaf6/webcam_decaf.mat'), ('googlenet1024/amazon.mat', 'googlenet1024/dslr.mat'), ('googlenet1024/dslr.mat', 'googlenet1024/amazon.mat')):
        A, ya = deep(a)
        B, yb = deep(b)
        cc = np.random.default_rng(7).permutation(A.shape[1])[:600]
        A, B = (A[:, cc], B[:, cc])
        ya = ya - ya.min()
        yb = yb - yb.min()
        i = r.permutation(len(A))[:300]
        j = r.permutation(len(B))[:400]
        yield ('%s-%s-%s' % (a[:5], a.split('/')[1][:3], b.split('/')[1][:3]), A[i], ya[i], B[j], yb[j])
    for t, g in T6.items():
        E = [emb(n20[k]) for k in g]
        E = [e[r.choice(len(e), 120, False)] for e in E]
        y = np.repeat([0, 1], 120)
        yield ('minilm-' + t, np.vstack(E[:2]), y, np.vstack(E[2:]), y)

def cases(seed):
    for p in pairs(seed):
        yield (p + (None,))
    for t in ('birds-tower', 'boats-toy', 'rocks-vehicle', 'sun-tower', 'tree-food'):
        xi, y, ci, cs, xs, ys = nus(t)
        keep = (l2(np.sqrt(ci)) @ l2(np.sqrt(xi)).T).max(1) < 0.97
        ci, cs = (ci[keep], cs[keep])
        yield ('nus-' + t, ci, None, xi, y, (xs, ys, cs))
if __name__ == '__main__':
    seed, dest = (int(sys.argv[1]), sys.argv[2])
    for name, Xs, ys, Xt, yt, br in cases(seed):
        f = os.path.join(dest, name)
        os.makedirs(f, exist_ok=True)

        def put(k, X, y=None):
            np.save(os.path.join(f, k + '.npy'), np.asarray(X, float))
            if y is not None:
                open(os.path.join(f, k + '.txt'), 'w').write(''.join(('c%d\n' % v for v in y)))
        if br is None:
            put('s', Xs, ys)
            put('t', Xt, yt)
            dom = '  - {name: s, role: source, x: s.npy, y: s.txt}\n'
        else:
            put('s', br[0], br[1])
            put('bw', br[2])
            put('bx', Xs)
            put('t', Xt, yt)
            dom = '  - {name: s, role: source, y: s.txt, views: [{name: words, x: s.npy}]}\n  - {name: b, role: intermediate, views: [{name: words, x: bw.npy}, {name: x, x: bx.npy}]}\n'
        tgt = '  - {name: t, role: target, labelled: none, y: t.txt, views: [{name: x, x: t.npy}]}\n' if br is not None else '  - {name: t, role: target, labelled: none, x: t.npy, y: t.txt}\n'
        open(os.path.join(f, 'task.yaml'), 'w').write('task: %s\ngoal: classify\ndomains:\n%s%smethods: [ttl, hop]\nevaluate: {repeats: 1, controls: none, metrics: [accuracy]}\n' % (name, dom, tgt))
