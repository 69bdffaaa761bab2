/* latentmap: one latent space for two domains with few features in common (after Xie, Fan, Peng, Fan and Ren, Latent
 * Space Domain Transfer between High Dimensional Overlapping Distributions, WWW 2009; rebuilt from its idea, not from
 * its code).
 *
 * A trains B. Features that only one of them has are filled in for the other by ridge regression on the shared ones
 * (A0, B0: shared columns; A1, B1: own ones),
 *
 *   Z_A = A + M_A B1,  M_A = A0 B0' (B0 B0' + lambda I)^-1,      Z_B = B + M_B A1 likewise,
 *
 * the filled rows [Z_A; Z_B] = U S V' are mapped to Z V, r columns, and a logistic regression on the mapped rows of A
 * labels those of B. All of it is linear, so what is kept are weights on the features of B:
 *
 *   w = V beta + A0' (A0 A0' + lambda I)^-1 A1 V beta,   V beta = Z' U S^-1 beta.
 *
 * path st: the sources train the target. path sit: they label the first intermediate domain, whose labels then train
 * the next, until the target. */
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/softmax.h"
#include "prepare/problem.h"

enum { SIT, ST, MOST = 8000 };

typedef struct latentmap_options {
    int path;
    int64_t rank;
    double lambda, C;
} latentmap_options;

static const ferry_opt latentmap_opts[] = {
    FERRY_OPT_ONE_OF(latentmap_options, path, "sit|st", "sit",
                     "by way of the intermediate domains, or straight to the target"),
    FERRY_OPT(latentmap_options, INT, rank, 50, 1, 10000, "columns of the latent space"),
    FERRY_OPT(latentmap_options, REAL, lambda, 1, 1e-9, 1e9,
              "ridge of the regression that fills in features"),
    FERRY_OPT(latentmap_options, REAL, C, 0, 0, 1e9,
              "cost of errors of a classifier; 0: the best of .3, 1, 3, 10 and 30 by "
              "cross-validation on the labels that train it"),
};

/* Two domains on their way into one space. Rows of A come first. */
typedef struct pair {
    matrix x[2];   /* A, B */
    matrix own[2]; /* A1, B1, on all columns */
    matrix shared; /* A0 on top of B0, on all columns */
    matrix m[2];   /* M_A' (rows of B x rows of A), M_B' */
    small chol;    /* of A0 A0' + lambda I */
    int64_t r;
    double *s2; /* r: squared singular values */
    block u;    /* rows of both x r or more */
} pair;

/* ---- Z, which is never written out ---- */

/* Rows of A or of B in a block of both. */
static block part_of(const pair *p, block y, int i)
{
    const int64_t n = p->x[i].n;

    return (block){HERE(n), n, y.k, i == 0 ? y.at : ROW(y, p->x[0].n)};
}

/* Z'y: A'y_A + B1' M_A' y_A + B'y_B + A1' M_B' y_B. */
static block times_z(scope *s, const pair *p, block y)
{
    const int64_t cols = p->shared.cols;
    const block z = block_new(s, HERE(cols), cols, y.k), more = block_like(s, z);

    for (int i = 0; i < 2; i++) {
        const int64_t n = p->x[1 - i].n;
        const block half = part_of(p, y, i), other = block_new(s, HERE(n), n, y.k);
        tmul(s, p->x[i], half, more);
        axpby(s, 1, more, 1, z);
        mul(s, p->m[i], half, other);
        tmul(s, p->own[1 - i], other, more);
        axpby(s, 1, more, 1, z);
    }
    return z;
}

typedef struct product {
    const pair *p;
    block u, y;
} product;

/* y <- Z Z'u. */
static void multiply(scope *s, void *arg)
{
    const product *a = arg;
    const pair *p = a->p;
    const block z = times_z(s, p, a->u);

    for (int i = 0; i < 2; i++) {
        const int64_t n = p->x[1 - i].n;
        const block half = part_of(p, a->y, i), more = block_like(s, half),
                    other = block_new(s, HERE(n), n, z.k);
        mul(s, p->x[i], z, half);
        mul(s, p->own[1 - i], z, other);
        tmul(s, p->m[i], other, more);
        axpby(s, 1, more, 1, half);
    }
}

/* The engine calls it: failures end here. */
static ferry_status gram_mul(ferry_ctx *ctx, void *arg, const ferry_block *u,
                             ferry_block *y)
{
    product a = {arg,
                 {HERE(u->rows), u->rows, u->k, u->data},
                 {HERE(y->rows), y->rows, y->k, y->data}};

    return scope_run(ctx, multiply, &a);
}

/* ---- steps ---- */

/* x with only the columns where keep is `which`, numbered as before. */
static matrix only(scope *s, matrix x, const uint8_t *keep, bool which)
{
    int32_t *to = NEW(s, int32_t, x.cols);
    int64_t *rows = NEW(s, int64_t, x.n);
    ferry_matrix *m = NULL;

    for (int64_t j = 0; j < x.cols; j++)
        to[j] = (keep[j] != 0) == which ? (int32_t)j : -1;
    for (int64_t i = 0; i < x.n; i++)
        rows[i] = i;
    scope_check(s, ferry_i_matrix_take(scope_ctx(s), x.m, x.n, rows, x.cols, to, &m));
    return matrix_own(s, m);
}

/* (K_ii + lambda I)^-1 K_ij: what rows of i say about each row of j; i0, j0: the first ones. */
static matrix regress(scope *s, small k, int64_t i0, int64_t ni, int64_t j0, int64_t nj,
                      double lambda, small *chol)
{
    const matrix m = matrix_dense(s, HERE(ni), ni, nj);
    const block b = {HERE(ni), ni, nj, m.m->dense};

    *chol = small_new(s, ni, ni);
    for (int64_t c = 0; c < ni; c++)
        for (int64_t a = 0; a < ni; a++)
            AT(*chol, a, c) = AT(k, i0 + a, i0 + c) + (a == c ? lambda : 0);
    for (int64_t a = 0; a < ni; a++)
        for (int64_t c = 0; c < nj; c++)
            ROW(b, a)[c] = AT(k, i0 + a, j0 + c);
    if (!cholesky(s, *chol))
        scope_fail(s, FERRY_ENUMERIC,
                   "latentmap: the regression is singular: raise lambda");
    cholesky_solve(s, *chol, b);
    return m;
}

static void fill_in(scope *s, double lambda, pair *p)
{
    const int64_t na = p->x[0].n, nb = p->x[1].n;
    const small k = outer(s, p->shared, NULL);
    small of_b;

    p->m[0] = regress(s, k, na, nb, 0, na, lambda, &of_b);
    p->m[1] = regress(s, k, 0, na, na, nb, lambda, &p->chol);
    scope_drop(s, of_b.at);
    scope_drop(s, k.at);
}

/* The r largest singular values and left singular vectors; those near 0 are left out. */
static void decompose(scope *s, int64_t rank, pair *p)
{
    const int64_t n = p->shared.n;
    ferry_ctx *ctx = scope_ctx(s);

    p->r = rank < n ? rank : n;
    p->s2 = NEW(s, double, p->r);
    p->u = block_new(s, HERE(n), n, p->r);
    ferry_block u = block_ref(p->u);
    scope_check(s, ferry_e(ctx)->eigs(ctx, n, gram_mul, p, p->r, 1e-6, p->s2, &u));
    while (p->r > 1 && !(p->s2[p->r - 1] > 1e-10 * p->s2[0]))
        p->r--;
}

/* beta of a logistic regression on the mapped rows of A, U S. */
static linear classify(scope *s, const pair *p, double C, block g, const uint64_t *key)
{
    const int64_t na = p->x[0].n;
    const matrix x = matrix_dense(s, HERE(na), na, p->r);

    for (int64_t i = 0; i < na; i++)
        for (int64_t q = 0; q < p->r; q++)
            x.m->dense[i * p->r + q] = ROW(p->u, i)[q] * sqrt(p->s2[q]);
    return softmax_regression(s, x, g, key, C, 1e-6);
}

/* w on the features of B (see above). */
static void weights(scope *s, const pair *p, const linear *beta, classifier *to)
{
    const int64_t c = beta->w.k, na = p->x[0].n;
    const block y = block_new(s, HERE(p->u.n), p->u.n, c),
                a1 = block_new(s, HERE(na), na, c), a0 = block_like(s, to->w);

    for (int64_t i = 0; i < y.n; i++)
        for (int64_t k = 0; k < c; k++)
            for (int64_t q = 0; q < p->r; q++)
                ROW(y, i)[k] += ROW(p->u, i)[q] / sqrt(p->s2[q]) * ROW(beta->w, q)[k];
    copy(times_z(s, p, y), to->w); /* V beta */
    mul(s, p->own[0], to->w, a1);
    cholesky_solve(s, p->chol, a1);
    memset(y.at, 0, (size_t)(y.n * c) * sizeof(double));
    copy(a1, part_of(p, y, 0));
    tmul(s, p->shared, y, a0); /* rows of B are 0 in y */
    axpby(s, 1, a0, 1, to->w);
    memcpy(to->b, beta->b, (size_t)c * sizeof(double));
    memset(to->keep, 1, (size_t)to->w.n);
}

/* The classifier of B that A, with labels g, trains; w.at NULL where they share nothing. */
static classifier train(scope *s, const latentmap_options *o, const training_set *a,
                        matrix b)
{
    const int64_t cols = b.cols;
    classifier to = {.keep = NEW(s, uint8_t, cols),
                     .w = block_new(s, HERE(cols), cols, a->g.k),
                     .b = NEW(s, double, a->g.k)};
    const int64_t mark = scope_mark(s);
    pair p = {.x = {a->x, b}};
    matrix shared[2];

    if (a->x.n + b.n > MOST)
        scope_fail(s, FERRY_ENEEDS,
                   "latentmap compares all pairs of instances: %lld are more than %d",
                   (long long)(a->x.n + b.n), (int)MOST);
    const uint8_t *both = columns_of_both(s, b, a->x, &to.shared);
    if (to.shared == 0) return (classifier){.keep = NULL};
    for (int i = 0; i < 2; i++) {
        p.own[i] = only(s, p.x[i], both, false);
        shared[i] = only(s, p.x[i], both, true);
        index_columns(s, p.x[i]);
        index_columns(s, p.own[i]);
    }
    p.shared = stack(s, 2, shared);
    index_columns(s, p.shared);
    fill_in(s, o->lambda, &p);
    decompose(s, o->rank, &p);
    const linear beta = classify(s, &p, o->C, a->g, a->key);
    weights(s, &p, &beta, &to);
    scope_release(s, mark);
    return to;
}

/* The labelled rows of the sources on top of each other. */
static training_set sources(scope *s, const problem *p)
{
    examples *e = NEW(s, examples, p->n_sources);

    for (int i = 0; i < p->n_sources; i++)
        e[i] = labelled_rows(s, &p->d[i]);
    const examples all = stack_examples(s, p->n_sources, e);
    return (training_set){all.x, targets(s, &all), 1, all.key};
}

static void latentmap_fit(scope *s, scope *keep, const problem *p, const void *options,
                          void *state)
{
    const latentmap_options *o = options;
    const int last = p->n - 1;
    training_set a = sources(s, p);
    classifier m = {.keep = NULL};

    for (int i = o->path == ST ? last : p->n_sources; i <= last; i++) {
        const domain *d = &p->d[i];
        m = train(s, o, &a, d->x);
        if (!m.w.at)
            warn(s, "'%s' shares no feature with what trains it: its labels are a guess",
                 d->name);
        (void)progress(s, "latentmap", i, last, NAN);
        if (i == last) break;
        a = (training_set){d->x, block_new(s, d->rows, d->n, p->classes), 1, d->key};
        classifier_scores(s, &m, d->x, a.g);
        clamp_rows(a.g, d->known);
    }
    classifier_keep(keep, p, &m, state);
}

const method method_latentmap = {
    .name = "latentmap",
    .summary = "fills in features that one domain lacks and maps both to a latent space",
    .reference = "Xie, Fan, Peng, Fan, Ren, Latent Space Domain Transfer between High "
                 "Dimensional Overlapping Distributions, WWW 2009",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN, .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET},
    METHOD_OPTIONS(latentmap_opts, latentmap_options),
    .state = &classifier_table,
    .whole = true,
    .fit = latentmap_fit,
    .scores = classifier_answer,
};
