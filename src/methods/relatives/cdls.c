/* cdls: cross-domain landmark selection. The source's rows are mapped into the
 * target's principal axes by a matrix A that is learned together with the
 * weights of rows: those that fit count, others do not.
 *
 * s_i are labelled rows of the source with weights a_i, x_l labelled rows of
 * the target, x_u its others with weights b_u and guessed classes. With delta
 * the mean weight, and n's the numbers of rows, in a class where c stands
 * beside them,
 *
 *   min   |M_S - M_T|^2 + sum_c (|M_S^c - M_T^c|^2 + E_c / e_c) + lambda |A|^2
 *   M_S = sum_i a_i A's_i / (delta n_S),  M_T = (sum_l x_l + sum_u b_u x_u) /
 * (n_L + delta n_U);  M^c: in a class E_c = sum_il |a_i A's_i - x_l|^2 + sum_lu
 * |x_l - b_u x_u|^2 + sum_ui |b_u x_u - a_i A's_i|^2 e_c = delta n_S n_L +
 * delta n_L n_U + delta^2 n_U n_S
 *
 * over A and weights in [0, 1] whose mean is delta in each class. By turns
 *
 *   A      a ridge regression
 *   a, b   a quadratic program, by accelerated projected gradients
 *   classes of x_u: a linear support vector machine on A's_i, weighted by a_i,
 * and x_l
 *
 * after a first A and first classes without rows of unknown class. That machine
 * answers. Rows are less their mean, on their principal axes.
 *
 * Tsai, Yeh and Wang, Learning Cross-Domain Landmarks for Heterogeneous Domain
 * Adaptation, CVPR 2016. */
#include <math.h>
#include <string.h>

#include "learn/pca.h"
#include "model/seam.h"

enum { SOURCE_AXES = 500 };

typedef struct cdls_options {
    int64_t dims, iterations;
    double delta, lambda, C;
} cdls_options;

static const ferry_opt cdls_opts[] = {
    FERRY_OPT(cdls_options, INT, dims, 100, 1, 1e6,
              "principal axes of the target, at most"),
    FERRY_OPT(cdls_options, INT, iterations, 10, 0, 1e6,
              "of map, weights and classes; 0: the first map alone"),
    FERRY_OPT(cdls_options, REAL, delta, 0.5, 1e-3, 1, "mean weight of a row"),
    FERRY_OPT(cdls_options, REAL, lambda, 0.5, 1e-9, 1e9, "weight of |A|^2"),
    FERRY_OPT(cdls_options, REAL, C, 1, 1e-9, 1e9,
              "cost of errors of the support vector machine"),
};

typedef struct cdls_state {
    int64_t dims;
    double *mean; /* columns of the target */
    block v;      /* columns x dims */
    learned by;
} cdls_state;
static const field cdls_fields[] = {
    ARRAY(cdls_state, REALS, mean, .rows = OF_VIEW(0)),
    ARRAY(cdls_state, BLOCK, v, .rows = OF_VIEW(0), .cols = SIZE(cdls_state, dims)),
    ARRAY(cdls_state, VARIANT, by, .among = &learners),
};
static void cdls_check(scope *s, const void *state)
{
    if (!((const cdls_state *)state)->by.by)
        scope_fail(s, FERRY_EDATA, "the learner is missing");
}
static const table cdls_table = {sizeof(cdls_state), cdls_fields, FERRY_COUNT(cdls_fields),
                                 cdls_check, NULL};

/* ---- the problem ---- */

enum { S, L, U }; /* source, labelled and other rows of the target */
typedef struct rows {
    int64_t n;
    block x;      /* S: on the source's axes */
    int32_t *cls; /* U: guessed */
    uint64_t *key;
    double *w;     /* L: 1 */
    double *count; /* of classes */
} rows;
typedef struct cdls {
    const cdls_options *o;
    int64_t k, m;
    double delta;
    bool with_u; /* rows of unknown class count */
    rows r[3];
    block at; /* A's_i: n_S x m */
} cdls;

static void count_classes(const cdls *f, rows *r)
{
    memset(r->count, 0, (size_t)f->k * sizeof(double));
    for (int64_t i = 0; i < r->n; i++)
        r->count[r->cls[i]]++;
}

static double count_of(const cdls *f, int part, int64_t c)
{
    return part == U && !f->with_u ? 0 : f->r[part].count[c];
}

static double all_of(const cdls *f, int part)
{
    return part == U && !f->with_u ? 0 : (double)f->r[part].n;
}

/* e_c; 0: E_c has fewer than two kinds of rows. */
static double pairs_of(const cdls *f, int64_t c)
{
    const double s = count_of(f, S, c), l = count_of(f, L, c), u = count_of(f, U, c);

    return f->delta * s * l + f->delta * l * u + f->delta * f->delta * u * s;
}

/* (k + 1) x dims: sums of weighted rows by class, then all. */
static block class_sums(scope *s, const cdls *f, int part, block x)
{
    const rows *r = &f->r[part];
    const block to = block_new(s, HERE(f->k + 1), f->k + 1, x.k);

    for (int64_t i = 0; (part != U || f->with_u) && i < r->n; i++)
        for (int64_t j = 0; j < x.k; j++) {
            ROW(to, r->cls[i])[j] += r->w[i] * ROW(x, i)[j];
            ROW(to, f->k)[j] += r->w[i] * ROW(x, i)[j];
        }
    return to;
}

/* What a sum of the source (target) is divided by to be a mean, class c or (k)
 * all; 0: there is no such mean on both sides. */
static double divisor(const cdls *f, int64_t c, bool source)
{
    const double s = c < f->k ? count_of(f, S, c) : all_of(f, S),
                 l = c < f->k ? count_of(f, L, c) : all_of(f, L),
                 u = c < f->k ? count_of(f, U, c) : all_of(f, U);

    if (s == 0 || l + u == 0) return 0;
    return source ? f->delta * s : l + f->delta * u;
}

/* ---- A ---- */

/* (P'HP + lambda) A = P'R, P the weighted rows of the source. */
static void map_step(scope *s, cdls *f)
{
    const int64_t mark = scope_mark(s), q = f->r[S].x.k, k = f->k;
    const rows *r = &f->r[S];
    const block ps = class_sums(s, f, S, r->x), xl = class_sums(s, f, L, f->r[L].x),
                xu = class_sums(s, f, U, f->r[U].x), a = block_new(s, HERE(q), q, f->m);
    double *w = NEW(s, double, r->n);

    for (int64_t i = 0; i < r->n; i++) {
        const int64_t c = r->cls[i];
        const double e = pairs_of(f, c);
        w[i] = e > 0 ? r->w[i] * r->w[i] * (count_of(f, L, c) + count_of(f, U, c)) / e : 0;
    }
    const small h = cross(s, matrix_of(s, r->x), NULL, w);
    for (int64_t j = 0; j < q; j++)
        AT(h, j, j) += f->o->lambda;
    for (int64_t c = 0; c <= k; c++) {
        const double by = divisor(f, c, true), to = divisor(f, c, false),
                     e = c < k ? pairs_of(f, c) : 0;
        for (int64_t i = 0; i < q; i++) {
            const double p = ROW(ps, c)[i];
            for (int64_t j = 0; by > 0 && j < q; j++)
                AT(h, i, j) += p / by * ROW(ps, c)[j] / by;
            for (int64_t j = 0; j < f->m; j++) {
                const double t = ROW(xl, c)[j] + ROW(xu, c)[j];
                if (by > 0) ROW(a, i)[j] += p / by * t / to;
                if (e > 0) ROW(a, i)[j] += p * t / e;
            }
        }
    }
    if (!cholesky(s, h)) scope_fail(s, FERRY_ENUMERIC, "cdls: lambda is too small");
    cholesky_solve(s, h, a);
    mul(s, matrix_of(s, r->x), a, f->at);
    scope_release(s, mark);
}

/* ---- weights ---- */

static double dot(const double *a, const double *b, int64_t n)
{
    double all = 0;

    for (int64_t i = 0; i < n; i++)
        all += a[i] * b[i];
    return all;
}

/* Half of the gradient by the weights of S and U, at these; linear: without the
 * terms of L. */
static void gradient(scope *s, cdls *f, bool linear, double *gs, double *gu)
{
    const int64_t mark = scope_mark(s), m = f->m, k = f->k;
    const block ss = class_sums(s, f, S, f->at), su = class_sums(s, f, U, f->r[U].x),
                sl = class_sums(s, f, L, f->r[L].x),
                d = block_new(s, HERE(k + 1), k + 1, m); /* M_S - M_T */

    for (int64_t c = 0; c <= k; c++) {
        const double by = divisor(f, c, true), to = divisor(f, c, false);
        for (int64_t j = 0; j < m; j++) {
            if (linear) ROW(sl, c)[j] = 0;
            if (by > 0) ROW(d, c)
            [j] = ROW(ss, c)[j] / by - (ROW(sl, c)[j] + ROW(su, c)[j]) / to;
        }
    }
    for (int part = S; part <= U; part += U) {
        const rows *r = &f->r[part];
        const block x = part == S ? f->at : r->x, of = part == S ? su : ss;
        double *g = part == S ? gs : gu;
        const double sign = part == S ? 1 : -1, all = divisor(f, k, part == S);
        for (int64_t i = 0; i < r->n; i++) {
            const int64_t c = r->cls[i];
            const double *v = ROW(x, i), by = divisor(f, c, part == S), e = pairs_of(f, c),
                         others = count_of(f, L, c) + count_of(f, part == S ? U : S, c);
            g[i] = all > 0 ? sign * dot(v, ROW(d, k), m) / all : 0;
            if (by > 0) g[i] += sign * dot(v, ROW(d, c), m) / by;
            if (e > 0)
                g[i] += (others * r->w[i] * dot(v, v, m) - dot(v, ROW(sl, c), m) -
                         dot(v, ROW(of, c), m)) /
                        e;
        }
    }
    scope_release(s, mark);
}

/* w <- the nearest weights in [0, 1] whose mean is delta in each class. */
static void project(const cdls *f, const rows *r, double *w)
{
    for (int64_t c = 0; c < f->k; c++) {
        double lo = INFINITY, hi = -INFINITY;
        if (r->count[c] == 0) continue;
        for (int64_t i = 0; i < r->n; i++)
            if (r->cls[i] == c) {
                lo = fmin(lo, w[i] - 1);
                hi = fmax(hi, w[i]);
            }
        for (int t = 0; t < 100; t++) { /* the shift by halving */
            const double at = (lo + hi) / 2;
            double all = 0;
            for (int64_t i = 0; i < r->n; i++)
                if (r->cls[i] == c) all += fmin(fmax(w[i] - at, 0), 1);
            if (all > f->delta * r->count[c])
                lo = at;
            else
                hi = at;
        }
        for (int64_t i = 0; i < r->n; i++)
            if (r->cls[i] == c) w[i] = fmin(fmax(w[i] - (lo + hi) / 2, 0), 1);
    }
}

/* The largest eigenvalue of the quadratic form, by its products. */
static double steepest(scope *s, cdls *f, double *gs, double *gu)
{
    rows *a = &f->r[S], *b = &f->r[U];
    double *ws = COPY(s, a->w, a->n), *wu = COPY(s, b->w, b->n), value = 0;

    for (int64_t i = 0; i < a->n; i++)
        a->w[i] = 1;
    for (int64_t i = 0; i < b->n; i++)
        b->w[i] = 1;
    for (int t = 0; t < 50; t++) {
        double all = 0;
        gradient(s, f, true, gs, gu);
        for (int64_t i = 0; i < a->n; i++)
            all += gs[i] * gs[i];
        for (int64_t i = 0; i < b->n; i++)
            all += gu[i] * gu[i];
        value = sqrt(all);
        for (int64_t i = 0; value > 0 && i < a->n; i++)
            a->w[i] = gs[i] / value;
        for (int64_t i = 0; value > 0 && i < b->n; i++)
            b->w[i] = gu[i] / value;
    }
    memcpy(a->w, ws, (size_t)a->n * sizeof(double));
    memcpy(b->w, wu, (size_t)b->n * sizeof(double));
    return value;
}

/* a and b for this A. With momentum, which begins again where it leads up. */
static void weight_step(scope *s, cdls *f)
{
    const int64_t mark = scope_mark(s);
    rows *r[] = {&f->r[S], &f->r[U]};
    double *g[2], *last[2], t = 1;

    for (int p = 0; p < 2; p++) {
        g[p] = NEW(s, double, r[p]->n);
        last[p] = COPY(s, r[p]->w, r[p]->n);
    }
    const double step = 1 / (1.05 * steepest(s, f, g[0], g[1]) + 1e-300);
    for (int turn = 0; turn < 2000; turn++) {
        double moved = 0, up = 0;
        gradient(s, f, false, g[0], g[1]);
        const double next = (1 + sqrt(1 + 4 * t * t)) / 2, push = (t - 1) / next;
        for (int p = 0; p < 2; p++) {
            double *w = r[p]->w, *old = NEW(s, double, r[p]->n);
            memcpy(old, w, (size_t)r[p]->n * sizeof(double));
            for (int64_t i = 0; i < r[p]->n; i++)
                w[i] -= step * g[p][i];
            project(f, r[p], w);
            for (int64_t i = 0; i < r[p]->n; i++) {
                const double to = w[i];
                moved = fmax(moved, fabs(to - last[p][i]));
                up += (old[i] - to) * (to - last[p][i]);
                w[i] = to + push * (to - last[p][i]);
                last[p][i] = to;
            }
            scope_drop(s, old);
        }
        t = up > 0 ? 1 : next;
        if (moved < 1e-7) break;
    }
    for (int p = 0; p < 2; p++)
        memcpy(r[p]->w, last[p], (size_t)r[p]->n * sizeof(double));
    scope_release(s, mark);
}

/* ---- classes ---- */

static learned machine(scope *s, scope *keep, const cdls *f)
{
    const learner *by = learner_find("svm");
    void *with = learner_defaults(s, by);
    examples e[2];

    for (int p = S; p <= L; p++) {
        const rows *r = &f->r[p];
        e[p] = (examples){.x = matrix_of(s, p == S ? f->at : r->x),
                          .y = {.goal = FERRY_CLASSIFY, .k = f->k, .cls = r->cls},
                          .weight = r->w,
                          .key = r->key};
    }
    learner_set(by, with, "C", f->o->C);
    learner_set(by, with, "eps", 1e-6);
    const examples both = stack_examples(s, 2, e);
    return learn(s, keep, by, with, &both);
}

static void guess(scope *s, cdls *f)
{
    const int64_t mark = scope_mark(s);
    rows *u = &f->r[U];

    if (u->n > 0) {
        const learned m = machine(s, s, f);
        memcpy(u->cls, argmax(s, answer(s, &m, matrix_of(s, u->x))),
               (size_t)u->n * sizeof *u->cls);
    }
    count_classes(f, u);
    scope_release(s, mark);
}

/* ---- all of it ---- */

/* Rows of a domain with (or without) a label, in the order of their keys, on
 * its axes. */
static rows take(scope *s, const cdls *f, const domain *d, block z, bool labelled)
{
    const int64_t *order = rows_by_key(s, d->n, d->key);
    rows to = {.x = block_new(s, HERE(d->n), d->n, z.k),
               .cls = NEW(s, int32_t, d->n),
               .key = NEW(s, uint64_t, d->n),
               .w = NEW(s, double, d->n),
               .count = NEW(s, double, f->k)};

    for (int64_t r = 0; r < d->n; r++) {
        const int64_t i = order[r];
        if ((d->known[i] >= 0) != labelled) continue;
        memcpy(ROW(to.x, to.n), ROW(z, i), (size_t)z.k * sizeof(double));
        to.cls[to.n] = labelled ? d->known[i] : 0;
        to.key[to.n] = d->key[i];
        to.w[to.n++] = 1;
    }
    to.x.rows = HERE(to.n);
    to.x.n = to.n;
    if (labelled) count_classes(f, &to);
    return to;
}

static void set_weights(rows *r, double to)
{
    for (int64_t i = 0; i < r->n; i++)
        r->w[i] = to;
}

static void cdls_fit(scope *s, scope *keep, const problem *p, const void *options,
                     void *state)
{
    const cdls_options *o = options;
    const domain *from = &p->d[0], *to = target(p);
    cdls_state *m = state;
    const pca xs = pca_fit(s, from->view[0].x, SOURCE_AXES, 2),
              xt = pca_fit(s, to->view[0].x, o->dims, 2);
    cdls f = {.o = o, .k = p->classes, .m = xt.v.k, .delta = 1};
    ferry_stop stop = FERRY_STOP_DONE;
    int64_t t = 0;

    f.r[S] = take(s, &f, from, xs.z, true);
    f.r[L] = take(s, &f, to, xt.z, true);
    f.r[U] = take(s, &f, to, xt.z, false);
    f.at = block_new(s, HERE(f.r[S].n), f.r[S].n, f.m);
    map_step(s, &f); /* without rows of unknown class */
    guess(s, &f);
    f.delta = o->delta;
    f.with_u = true;
    if (o->iterations > 0) {
        set_weights(&f.r[S], o->delta);
        set_weights(&f.r[U], o->delta);
    }
    while (t < o->iterations && stop == FERRY_STOP_DONE) {
        map_step(s, &f);
        weight_step(s, &f);
        guess(s, &f);
        if (progress(s, "cdls", ++t, o->iterations, NAN)) stop = FERRY_STOP_FINISH;
    }
    report_fit(s, t, NAN, stop);
    m->dims = f.m;
    m->mean = COPY(keep, xt.mean, xt.v.n);
    m->v = block_copy(keep, xt.v);
    m->by = machine(s, keep, &f);
}

static void cdls_scores(scope *s, const void *state, const domain *d, block out)
{
    const cdls_state *m = state;
    const block z = block_new(s, d->rows, d->n, m->dims);
    double *off = NEW(s, double, m->dims);

    mul(s, d->view[0].x, m->v, z);
    for (int64_t j = 0; j < m->v.n; j++)
        for (int64_t k = 0; k < m->dims; k++)
            off[k] += m->mean[j] * ROW(m->v, j)[k];
    for (int64_t i = 0; i < z.n; i++)
        for (int64_t k = 0; k < z.k; k++)
            ROW(z, i)[k] -= off[k];
    learned_scores(s, &m->by, matrix_of(s, z), out);
}

static void cdls_fits(scope *s, const problem *shape, const void *options)
{
    (void)options;
    if (shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "cdls learns from one source; this task has %d",
                   shape->n_sources);
}

const method method_cdls = {
    .name = "cdls",
    .summary = "the source's rows mapped into the target's axes, and weighed there",
    .reference = "Tsai, Yeh, Wang, Learning Cross-Domain Landmarks for Heterogeneous "
                 "Domain Adaptation, CVPR 2016",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_JOINT,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_ONE_VIEW,
    .wants = {.as = VIEWS_APART, .domains = WANT_SOURCES | WANT_TARGET},
    METHOD_OPTIONS(cdls_opts, cdls_options),
    .state = &cdls_table,
    .asked = true, /* no better than the target's labels */
    .whole = true,
    .fits = cdls_fits,
    .fit = cdls_fit,
    .scores = cdls_scores,
};
