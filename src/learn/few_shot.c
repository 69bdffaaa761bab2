/* A learner for few labels among many rows of one domain.
 *
 *   rows        T: at most 100 principal axes, mean squared length 1; U: T to length 1;
 *               d = tr(H)^2 / |H|^2, H = U'U / n: the dimension that they effectively have
 *   graph       k nearest in T, w_ij = exp(-d_ij^2 / (s_i s_j)), s the distance to the k-th
 *   smoothed    S = .05 T + .95 D^-1 W S
 *   learners    (1) softmax regression on T, (2) label spreading F = Y + .95 D^-1/2 W D^-1/2 F, (3) soft prototypes of
 *               the classes on the sphere, (4) softmax regression on S
 *   blend       P = softmax(tau sum_j w_j log p_j); w from d, corrected by labels left out where every class has two:
 *               their log-likelihood - 4 KL(w | w0) - (log tau)^2
 *   student     softmax regression on T of all rows with the classes that P finds, weighted by its confidence
 *   answer      softmax((2 log P + log p_student) / 3)
 *
 * A row that was not seen has the smoothed features and spread labels of its k nearest. There are no random numbers. */
#include "learn/few_shot.h"

#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "learn/minimise.h"
#include "learn/pca.h"

enum { AXES = 100, FOLDS = 5, PROTOTYPE_STEPS = 10, MOST_STEPS = 500, MOST_ROWS = 20000 };
static const double SPREAD = 0.95, COST = 10, FLOOR = 1e-4, TOLERANCE = 1e-8;
static const double LABEL_WEIGHT = 3, MOST_CONCENTRATED = 50;

/* ---- rows of probabilities ---- */

void log_floor(block g)
{
    for (int64_t e = 0; e < g.n * g.k; e++)
        g.at[e] = log(fmax(g.at[e], FLOOR));
}

void softmax_rows(block g)
{
    for (int64_t i = 0; i < g.n; i++)
        (void)softmax_row(g.k, NULL, ROW(g, i));
}

static double mean_square(block g, const double *mean)
{
    double sum = 0;

    for (int64_t i = 0; i < g.n; i++)
        for (int64_t j = 0; j < g.k; j++) {
            const double x = ROW(g, i)[j] - (mean ? mean[j] : 0);
            sum += x * x;
        }
    return sum / (double)(g.n > 0 ? g.n : 1);
}

/* Softmax regression with a penalty on the weights of every class; of two, one weight vector stands for both. */
static linear regress(scope *s, block x, block y, double tol)
{
    return softmax_regression(s, matrix_of(s, x), y, NULL, y.k == 2 ? 2 * COST : COST, tol);
}

static block probabilities(scope *s, const linear *m, block x)
{
    const block p = block_new(s, x.rows, x.n, m->w.k);

    softmax_scores(s, m, matrix_of(s, x), p);
    return p;
}

/* ---- axes ---- */

axes axes_fit(scope *s, matrix x, block *t)
{
    const int64_t most = x.n - 1 < AXES ? x.n - 1 : AXES;
    const pca p = pca_fit(s, x, most > 1 ? most : 1, 1);
    int64_t q = 1;
    double sum = 0;

    while (q < p.v.k && p.value[q] > 1e-10 * p.value[0])
        q++;
    for (int64_t j = 0; j < q; j++)
        sum += fmax(p.value[j], 0);
    const double length = sum > 0 ? sqrt(sum / (double)x.n) : 1;
    axes a = {.mean = p.mean, .v = block_new(s, HERE(x.cols), x.cols, q)};
    for (int64_t i = 0; i < x.cols; i++)
        for (int64_t j = 0; j < q; j++)
            ROW(a.v, i)[j] = ROW(p.v, i)[j] / length;
    *t = block_new(s, x.rows, x.n, q);
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < q; j++)
            ROW(*t, i)[j] = ROW(p.z, i)[j] / length;
    return a;
}

block axes_rows(scope *s, const axes *a, matrix x)
{
    const block t = block_new(s, x.rows, x.n, a->v.k);
    double *shift = NEW(s, double, a->v.k);

    for (int64_t i = 0; i < x.cols; i++)
        for (int64_t j = 0; j < a->v.k; j++)
            shift[j] += a->mean[i] * ROW(a->v, i)[j];
    mul(s, x, a->v, t);
    for (int64_t i = 0; i < t.n; i++)
        for (int64_t j = 0; j < t.k; j++)
            ROW(t, i)[j] -= shift[j];
    return t;
}

static block to_length_1(scope *s, block t)
{
    const block u = block_like(s, t);

    for (int64_t i = 0; i < t.n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < t.k; j++)
            sum += ROW(t, i)[j] * ROW(t, i)[j];
        for (int64_t j = 0; j < t.k; j++)
            ROW(u, i)[j] = ROW(t, i)[j] / fmax(sqrt(sum), 1e-12);
    }
    return u;
}

static double effective_dimension(scope *s, block u)
{
    const small h = small_new(s, u.k, u.k);
    double trace = 0, square = 0;

    gram(s, u, u, h);
    for (int64_t i = 0; i < u.k; i++)
        trace += AT(h, i, i);
    for (int64_t e = 0; e < u.k * u.k; e++)
        square += h.at[e] * h.at[e];
    return square > 0 ? fmax(trace * trace / square, 2) : 2;
}

/* ---- who is near whom ---- */

static int64_t how_many_near(int64_t n)
{
    const int64_t k = n < 2000 ? 10 : 15, third = (n - 1) / 3;

    return third < 1 ? 1 : k < third ? k : third;
}

/* Of row i among those that have it among their nearest, or that it has. */
static void add_edge(int64_t i, int64_t j, double w, int64_t *end, int32_t *to,
                     double *value, const int64_t *start)
{
    for (int64_t e = start[i]; e < end[i]; e++)
        if (to[e] == j) return;
    to[end[i]] = (int32_t)j;
    value[end[i]++] = w;
}

static void sort_row(int64_t n, int32_t *to, double *value)
{
    for (int64_t a = 1; a < n; a++) {
        const int32_t t = to[a];
        const double v = value[a];
        int64_t b = a;
        for (; b > 0 && to[b - 1] > t; b--) {
            to[b] = to[b - 1];
            value[b] = value[b - 1];
        }
        to[b] = t;
        value[b] = v;
    }
}

/* CSR of both directions of n x k edges, each pair once. */
static matrix joined(scope *s, int64_t n, int64_t k, int64_t wide, const int64_t *index,
                     const double *dist, const double *scale)
{
    int64_t *start = NEW(s, int64_t, n + 1), *end = NEW(s, int64_t, n), stored = 0;
    int32_t *to = NEW(s, int32_t, 2 * n * k);
    double *value = NEW(s, double, 2 * n * k);
    ferry_matrix *m = NULL;

    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < k; e++) {
            end[i]++;
            end[index[i * wide + e]]++;
        }
    for (int64_t i = 0; i < n; i++) {
        start[i + 1] = start[i] + end[i];
        end[i] = start[i];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < k; e++) {
            const int64_t j = index[i * wide + e];
            const double d = dist[i * wide + e], w = exp(-d * d / (scale[i] * scale[j]));
            add_edge(i, j, w, end, to, value, start);
            add_edge(j, i, w, end, to, value, start);
        }
    for (int64_t i = 0; i < n; i++)
        stored += end[i] - start[i];
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), n, n, stored, &m));
    stored = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t count = end[i] - start[i];
        sort_row(count, to + start[i], value + start[i]);
        for (int64_t e = 0; e < count; e++, stored++) {
            m->index[stored] = to[start[i] + e];
            m->value[stored] = value[start[i] + e];
        }
        m->start[i + 1] = stored;
    }
    return matrix_own(s, m);
}

/* The nearest of row i without itself, of the wide ones that were found. */
static void without_self(int64_t i, int64_t wide, int64_t *index, double *dist)
{
    int64_t at = 0;

    while (at < wide - 1 && index[at] != i)
        at++;
    for (; at < wide - 1; at++) {
        index[at] = index[at + 1];
        dist[at] = dist[at + 1];
    }
}

static void find_near(scope *s, few_rows *r)
{
    const matrix x = matrix_of(s, r->t);
    const int64_t wide = r->k + 1;
    int64_t *index = NEW(s, int64_t, r->n * wide);
    double *dist = NEW(s, double, r->n *wide);

    r->scale = NEW(s, double, r->n);
    r->degree = NEW(s, double, r->n);
    scope_check(s, ferry_i_knn(scope_ctx(s), x.m, x.m, wide, FERRY_EUCLIDEAN, index, dist));
    for (int64_t i = 0; i < r->n; i++) {
        without_self(i, wide, index + i * wide, dist + i * wide);
        r->scale[i] = dist[i * wide + r->k - 1] + 1e-6;
    }
    r->w = joined(s, r->n, r->k, wide, index, dist, r->scale);
    for (int64_t i = 0; i < r->n; i++) {
        const ferry_row row = row_at(r->w, i);
        for (int64_t e = 0; e < row.n; e++)
            r->degree[i] += row.value[e];
        r->degree[i] += 1e-12;
    }
}

/* ---- systems with the graph ---- */

/* out <- D x - a W x; normed: x - a D^-1/2 W D^-1/2 x. */
static void apply_graph(scope *s, const few_rows *r, bool normed, block x, block tmp,
                        block out)
{
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < x.k; j++)
            ROW(tmp, i)[j] = ROW(x, i)[j] / (normed ? sqrt(r->degree[i]) : 1);
    mul(s, r->w, tmp, out);
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < x.k; j++)
            ROW(out, i)
            [j] = normed ? ROW(x, i)[j] - SPREAD * ROW(out, i)[j] / sqrt(r->degree[i])
                         : r->degree[i] * ROW(x, i)[j] - SPREAD * ROW(out, i)[j];
}

/* Column by column: sums of products. */
static void column_products(block a, block b, double *out)
{
    memset(out, 0, (size_t)a.k * sizeof *out);
    for (int64_t i = 0; i < a.n; i++)
        for (int64_t j = 0; j < a.k; j++)
            out[j] += ROW(a, i)[j] * ROW(b, i)[j];
}

static void precondition(const few_rows *r, bool normed, block from, block to)
{
    for (int64_t i = 0; i < from.n; i++)
        for (int64_t j = 0; j < from.k; j++)
            ROW(to, i)[j] = ROW(from, i)[j] / (normed ? 1 : r->degree[i]);
}

static bool solved(int64_t k, const double *left, const double *first)
{
    for (int64_t j = 0; j < k; j++)
        if (sqrt(left[j]) > TOLERANCE * fmax(sqrt(first[j]), 1e-300)) return false;
    return true;
}

/* b <- the solution, by conjugate gradients for all columns at once. */
static void solve_graph(scope *s, const few_rows *r, bool normed, block b)
{
    const int64_t mark = scope_mark(s), k = b.k;
    block x = block_like(s, b), q = block_like(s, b), p = block_like(s, b);
    block ap = block_like(s, b), tmp = block_like(s, b);
    double *first = NEW(s, double, k), *left = NEW(s, double, k), *rz = NEW(s, double, k);
    double *pap = NEW(s, double, k), *next = NEW(s, double, k);

    column_products(b, b, first);
    precondition(r, normed, b, q);
    copy(q, p);
    column_products(b, q, rz);
    for (int step = 0; step < MOST_STEPS; step++) {
        column_products(b, b, left);
        if (solved(k, left, first)) break;
        apply_graph(s, r, normed, p, tmp, ap);
        column_products(p, ap, pap);
        for (int64_t i = 0; i < b.n; i++)
            for (int64_t j = 0; j < k; j++) {
                const double a = rz[j] / fmax(pap[j], 1e-300);
                ROW(x, i)[j] += a * ROW(p, i)[j];
                ROW(b, i)[j] -= a * ROW(ap, i)[j];
            }
        precondition(r, normed, b, q);
        column_products(b, q, next);
        for (int64_t i = 0; i < b.n; i++)
            for (int64_t j = 0; j < k; j++)
                ROW(p, i)[j] = ROW(q, i)[j] + next[j] / fmax(rz[j], 1e-300) * ROW(p, i)[j];
        memcpy(rz, next, (size_t)k * sizeof *rz);
    }
    copy(x, b);
    scope_release(s, mark);
}

/* S, and its rows centred and scaled. */
static void smooth_features(scope *s, few_rows *r)
{
    r->smooth = block_like(s, r->t);
    r->middle = NEW(s, double, r->t.k);
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t j = 0; j < r->t.k; j++)
            ROW(r->smooth, i)[j] = (1 - SPREAD) * r->degree[i] * ROW(r->t, i)[j];
    solve_graph(s, r, false, r->smooth);
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t j = 0; j < r->t.k; j++)
            r->middle[j] += ROW(r->smooth, i)[j] / (double)r->n;
    const double length = sqrt(mean_square(r->smooth, r->middle));
    r->length = length > 0 ? length : 1;
}

static block scaled_smooth(scope *s, const few_rows *r, block smooth)
{
    const block out = block_like(s, smooth);

    for (int64_t i = 0; i < out.n; i++)
        for (int64_t j = 0; j < out.k; j++)
            ROW(out, i)[j] = (ROW(smooth, i)[j] - r->middle[j]) / r->length;
    return out;
}

few_rows few_rows_of(scope *s, matrix x)
{
    few_rows r = {.n = x.n, .k = how_many_near(x.n)};

    r.axes = axes_fit(s, x, &r.t);
    r.u = to_length_1(s, r.t);
    r.d = effective_dimension(s, r.u);
    find_near(s, &r);
    smooth_features(s, &r);
    return r;
}

/* ---- the four learners ---- */

static block take_block(scope *s, block x, int64_t n, const int64_t *rows)
{
    const block out = block_new(s, HERE(n), n, x.k);

    for (int64_t i = 0; i < n; i++)
        memcpy(ROW(out, i), ROW(x, rows[i]), (size_t)x.k * sizeof(double));
    return out;
}

/* F: classes get equal mass. */
static block spread_labels(scope *s, const few_rows *r, const int32_t *cls, int64_t c)
{
    const block f = one_hot(s, HERE(r->n), r->n, cls, c);
    double *mass = NEW(s, double, c);

    solve_graph(s, r, true, f);
    for (int64_t i = 0; i < f.n; i++)
        for (int64_t k = 0; k < c; k++)
            mass[k] += ROW(f, i)[k] = fmax(ROW(f, i)[k], 0);
    for (int64_t i = 0; i < f.n; i++)
        for (int64_t k = 0; k < c; k++)
            ROW(f, i)[k] /= fmax(mass[k], 1e-12);
    return f;
}

/* r (d - r^2) / (1 - r^2): the concentration that mean cosine r stands for in d dimensions. */
static double concentration(double cosine, double d)
{
    const double r = fmin(fmax(cosine, 0.01), 0.95);

    return fmin(MOST_CONCENTRATED, r * (d - r * r) / (1 - r * r));
}

/* z (n x c) <- b U M'. */
static void prototype_scores(scope *s, block u, block prototype, double b, block z)
{
    const small m = small_new(s, u.k, prototype.n);

    for (int64_t k = 0; k < prototype.n; k++)
        for (int64_t j = 0; j < u.k; j++)
            AT(m, j, k) = b * ROW(prototype, k)[j];
    bmul(s, u, m, z);
}

/* M <- rows of P'U to length 1, labelled rows with their class and LABEL_WEIGHT. */
static block mean_directions(scope *s, const few_rows *r, const int32_t *cls, block p,
                             double labelled)
{
    block m = block_new(s, HERE(p.k), p.k, r->u.k);

    for (int64_t i = 0; i < p.n; i++)
        for (int64_t k = 0; k < p.k; k++) {
            const double w = ROW(p, i)[k] * (cls[i] >= 0 ? labelled : 1);
            for (int64_t j = 0; w != 0 && j < m.k; j++)
                ROW(m, k)[j] += w * ROW(r->u, i)[j];
        }
    return to_length_1(s, m);
}

static void fit_prototypes(scope *s, const few_rows *r, const int32_t *cls, few_shot *m)
{
    block p = one_hot(s, HERE(r->n), r->n, cls, m->c), z = block_like(s, p);

    m->prototype = mean_directions(s, r, cls, p, 1);
    m->concentration = concentration(0.3, r->d);
    for (int step = 0; step < PROTOTYPE_STEPS; step++) {
        double cosine = 0;
        prototype_scores(s, r->u, m->prototype, m->concentration, p);
        softmax_rows(p);
        clamp_rows(p, cls);
        m->prototype = mean_directions(s, r, cls, p, LABEL_WEIGHT);
        prototype_scores(s, r->u, m->prototype, 1, z);
        for (int64_t e = 0; e < p.n * p.k; e++)
            cosine += p.at[e] * z.at[e];
        m->concentration = concentration(cosine / (double)r->n, r->d);
    }
}

/* All four from the labelled rows. */
static void fit_learners(scope *s, const few_rows *r, const int32_t *cls, few_shot *m)
{
    int64_t *rows = NEW(s, int64_t, r->n), n = 0;
    int32_t *known = NEW(s, int32_t, r->n);

    for (int64_t i = 0; i < r->n; i++)
        if (cls[i] >= 0) {
            known[n] = cls[i];
            rows[n++] = i;
        }
    const block y = one_hot(s, HERE(n), n, known, m->c);
    m->own = regress(s, take_block(s, r->t, n, rows), y, 1e-7);
    m->smoothed =
        regress(s, scaled_smooth(s, r, take_block(s, r->smooth, n, rows)), y, 1e-7);
    m->spread = spread_labels(s, r, cls, m->c);
    fit_prototypes(s, r, cls, m);
}

/* Log-probabilities of the four for rows t, their smoothed features and spread labels. */
static void learner_logs(scope *s, const few_rows *r, const few_shot *m, block t,
                         block smooth, block spread, block *out)
{
    double most = 0;

    out[0] = probabilities(s, &m->own, t);
    out[1] = block_like(s, out[0]);
    out[2] = block_like(s, out[0]);
    out[3] = probabilities(s, &m->smoothed, scaled_smooth(s, r, smooth));
    for (int64_t e = 0; e < spread.n * spread.k; e++)
        most = fmax(most, spread.at[e]);
    for (int64_t i = 0; i < spread.n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < m->c; k++)
            sum += ROW(out[1], i)[k] = ROW(spread, i)[k] + 1e-12 * most;
        for (int64_t k = 0; k < m->c; k++)
            ROW(out[1], i)[k] /= fmax(sum, 1e-300);
    }
    prototype_scores(s, to_length_1(s, t), m->prototype, m->concentration, out[2]);
    softmax_rows(out[2]);
    for (int j = 0; j < FEW_LEARNERS; j++)
        log_floor(out[j]);
}

/* softmax(tau sum_j w_j log p_j). */
static block blend(scope *s, const few_shot *m, const block *log)
{
    const block p = block_like(s, log[0]);

    for (int j = 0; j < FEW_LEARNERS; j++)
        axpby(s, m->sharpness * m->weight[j], log[j], 1, p);
    softmax_rows(p);
    return p;
}

/* ---- weights of the blend ---- */

static void weights_by_dimension(double d, double *w)
{
    const double raw[] = {1 + 8 / d, d / (d + 10), 2 * d / (d + 30), 1};
    const double sum = raw[0] + raw[1] + raw[2] + raw[3];

    for (int j = 0; j < FEW_LEARNERS; j++)
        w[j] = raw[j] / sum;
}

static int64_t smallest_class(scope *s, const few_rows *r, const int32_t *cls, int64_t c)
{
    int64_t *size = NEW(s, int64_t, c), least = r->n;

    for (int64_t i = 0; i < r->n; i++)
        if (cls[i] >= 0) size[cls[i]]++;
    for (int64_t k = 0; k < c; k++)
        least = size[k] < least ? size[k] : least;
    return least;
}

/* Logs of the labelled rows by fits that did not see them, in their order; the number of folds. */
static void held_out_logs(scope *s, const few_rows *r, const int32_t *cls, int64_t c,
                          block *out)
{
    const int64_t least = smallest_class(s, r, cls, c),
                  folds = least < FOLDS ? least : FOLDS;
    int64_t *next = NEW(s, int64_t, c);
    int32_t *fold = NEW(s, int32_t, r->n), *seen = NEW(s, int32_t, r->n);

    for (int64_t i = 0; i < r->n; i++)
        fold[i] = cls[i] < 0 ? -1 : (int32_t)(next[cls[i]]++ % folds);
    for (int j = 0; j < FEW_LEARNERS; j++)
        out[j] = block_new(s, HERE(r->n), r->n, c);
    for (int32_t f = 0; f < folds; f++) {
        const int64_t mark = scope_mark(s);
        few_shot m = {.c = c};
        block log[FEW_LEARNERS];
        for (int64_t i = 0; i < r->n; i++)
            seen[i] = fold[i] == f ? -1 : cls[i];
        fit_learners(s, r, seen, &m);
        learner_logs(s, r, &m, r->t, r->smooth, m.spread, log);
        for (int64_t i = 0; i < r->n; i++)
            for (int j = 0; fold[i] == f && j < FEW_LEARNERS; j++)
                memcpy(ROW(out[j], i), ROW(log[j], i), (size_t)c * sizeof(double));
        scope_release(s, mark);
    }
}

typedef struct blending {
    const block *log;
    const int32_t *cls;
    const double *before; /* w0 */
    double *z;            /* scratch: c */
} blending;

/* x: logs of weights (up to a constant) and of tau. */
static double blend_loss(const void *arg, const double *x, double *g)
{
    const blending *b = arg;
    const int64_t c = b->log[0].k;
    double w[FEW_LEARNERS], gw[FEW_LEARNERS] = {0}, sum = 0, most = -INFINITY, mean = 0;
    const double tau = exp(x[FEW_LEARNERS]);
    double loss = x[FEW_LEARNERS] * x[FEW_LEARNERS];

    for (int j = 0; j < FEW_LEARNERS; j++)
        most = fmax(most, x[j]);
    for (int j = 0; j < FEW_LEARNERS; j++)
        sum += w[j] = exp(x[j] - most);
    g[FEW_LEARNERS] = 2 * x[FEW_LEARNERS];
    for (int j = 0; j < FEW_LEARNERS; j++) {
        w[j] /= sum;
        loss += 4 * w[j] * log(w[j] / b->before[j]);
        gw[j] = 4 * (log(w[j] / b->before[j]) + 1);
    }
    for (int64_t i = 0; i < b->log[0].n; i++) {
        if (b->cls[i] < 0) continue;
        for (int64_t k = 0; k < c; k++) {
            b->z[k] = 0;
            for (int j = 0; j < FEW_LEARNERS; j++)
                b->z[k] += tau * w[j] * ROW(b->log[j], i)[k];
        }
        const double own = b->z[b->cls[i]];
        loss += softmax_row(c, NULL, b->z) - own;
        for (int64_t k = 0; k < c; k++) {
            const double e = b->z[k] - (k == b->cls[i]);
            for (int j = 0; j < FEW_LEARNERS; j++) {
                gw[j] += tau * ROW(b->log[j], i)[k] * e;
                g[FEW_LEARNERS] += tau * w[j] * ROW(b->log[j], i)[k] * e;
            }
        }
    }
    for (int j = 0; j < FEW_LEARNERS; j++)
        mean += w[j] * gw[j];
    for (int j = 0; j < FEW_LEARNERS; j++)
        g[j] = w[j] * (gw[j] - mean);
    return loss;
}

static void fit_weights(scope *s, const few_rows *r, const int32_t *cls, few_shot *m)
{
    double before[FEW_LEARNERS], x[FEW_LEARNERS + 1] = {0}, sum = 0, most = -INFINITY;
    block log_p[FEW_LEARNERS];

    weights_by_dimension(r->d, before);
    memcpy(m->weight, before, sizeof before);
    m->sharpness = 1;
    if (smallest_class(s, r, cls, m->c) < 2) return;
    held_out_logs(s, r, cls, m->c, log_p);
    const blending b = {log_p, cls, before, NEW(s, double, m->c)};
    for (int j = 0; j < FEW_LEARNERS; j++)
        x[j] = log(before[j]);
    (void)minimise(s, FEW_LEARNERS + 1, blend_loss, &b, 1e-8, x);
    for (int j = 0; j < FEW_LEARNERS; j++)
        most = fmax(most, x[j]);
    for (int j = 0; j < FEW_LEARNERS; j++)
        sum += m->weight[j] = exp(x[j] - most);
    for (int j = 0; j < FEW_LEARNERS; j++)
        m->weight[j] /= sum;
    m->sharpness = exp(x[FEW_LEARNERS]);
}

/* ---- the student ---- */

/* Rows with their class or, weighted by how sure it is, the likeliest by p; at most MOST_ROWS of these. */
static void fit_student(scope *s, const few_rows *r, const int32_t *cls, block p,
                        few_shot *m)
{
    int64_t *rows = NEW(s, int64_t, r->n), labelled = 0, n = 0, kept = 0;
    double sum = 0;

    for (int64_t i = 0; i < r->n; i++)
        labelled += cls[i] >= 0;
    for (int64_t i = 0; i < r->n; i++)
        if (cls[i] < 0) rows[n++] = i;
    if (n == 0) {
        m->student = m->own;
        return;
    }
    kept = n < MOST_ROWS ? n : MOST_ROWS;
    for (int64_t i = 0; i < kept; i++)
        rows[i] = rows[i * n / kept];
    for (int64_t i = 0, at = kept; i < r->n; i++)
        if (cls[i] >= 0) rows[at++] = i;
    const block y = block_new(s, HERE(kept + labelled), kept + labelled, m->c);
    const int32_t *likely = argmax(s, p);
    for (int64_t i = 0; i < kept; i++) {
        const double h = ROW(p, rows[i])[likely[rows[i]]];
        sum += ROW(y, i)[likely[rows[i]]] = h * h;
    }
    for (int64_t e = 0; e < kept * m->c; e++)
        y.at[e] *= (double)labelled / sum;
    for (int64_t i = kept; i < y.n; i++)
        ROW(y, i)[cls[rows[i]]] = 1;
    m->student = regress(s, take_block(s, r->t, y.n, rows), y, 1e-6);
}

/* p <- softmax((2 log p + log student) / 3). */
static void join_student(scope *s, const few_shot *m, block t, block p)
{
    const block q = probabilities(s, &m->student, t);

    log_floor(p);
    log_floor(q);
    axpby(s, 1. / 3, q, 2. / 3, p);
    softmax_rows(p);
}

/* ---- all of it ---- */

few_shot few_shot_fit(scope *s, const few_rows *r, const int32_t *cls, int64_t c, block p)
{
    few_shot m = {.c = c};
    block log[FEW_LEARNERS];

    fit_weights(s, r, cls, &m);
    fit_learners(s, r, cls, &m);
    learner_logs(s, r, &m, r->t, r->smooth, m.spread, log);
    const block own = blend(s, &m, log);
    fit_student(s, r, cls, own, &m);
    join_student(s, &m, r->t, own);
    copy(own, p);
    return m;
}

block few_shot_held_out(scope *s, const few_rows *r, const few_shot *m, const int32_t *cls)
{
    block log[FEW_LEARNERS];

    held_out_logs(s, r, cls, m->c, log);
    const block p = blend(s, m, log);
    for (int64_t i = 0; i < p.n; i++)
        if (cls[i] < 0) memset(ROW(p, i), 0, (size_t)p.k * sizeof(double));
    return p;
}

/* Smoothed features and spread labels of new rows: those of their nearest. */
static void near_values(scope *s, const few_rows *r, const few_shot *m, block t,
                        block smooth, block spread)
{
    const matrix q = matrix_of(s, t), x = matrix_of(s, r->t);
    int64_t *index = NEW(s, int64_t, t.n * r->k);
    double *dist = NEW(s, double, t.n * r->k), *w = NEW(s, double, r->k);

    scope_check(s, ferry_i_knn(scope_ctx(s), x.m, q.m, r->k, FERRY_EUCLIDEAN, index, dist));
    for (int64_t i = 0; i < t.n; i++) {
        const double *d = dist + i * r->k, scale = d[r->k - 1] + 1e-6;
        double sum = 0;
        for (int64_t e = 0; e < r->k; e++)
            sum += w[e] =
                exp(-d[e] * d[e] / (scale * r->scale[index[i * r->k + e]])) + 1e-300;
        for (int64_t j = 0; j < t.k; j++)
            ROW(smooth, i)[j] = (1 - SPREAD) * ROW(t, i)[j];
        for (int64_t e = 0; e < r->k; e++) {
            const int64_t at = index[i * r->k + e];
            for (int64_t j = 0; j < t.k; j++)
                ROW(smooth, i)[j] += SPREAD * w[e] / sum * ROW(r->smooth, at)[j];
            for (int64_t k = 0; k < m->c; k++)
                ROW(spread, i)[k] += w[e] / sum * ROW(m->spread, at)[k];
        }
    }
}

block few_shot_scores(scope *s, const few_rows *r, const few_shot *m, matrix x)
{
    const block t = axes_rows(s, &r->axes, x), smooth = block_like(s, t);
    const block spread = block_new(s, t.rows, t.n, m->c);
    block log[FEW_LEARNERS];

    near_values(s, r, m, t, smooth, spread);
    learner_logs(s, r, m, t, smooth, spread, log);
    const block p = blend(s, m, log);
    join_student(s, m, t, p);
    return p;
}
