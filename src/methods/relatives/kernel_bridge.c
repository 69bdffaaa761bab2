/* kernel-bridge: labels cross a bridge by kernel regression, and join what few labels of the target say themselves.
 *
 *   source    its classifier, in the columns that it shares with the bridge: kernel regression, or softmax regression
 *             where labels left out are likelier under it; kappa_s: its agreement with these
 *   hop       kernel regression of these probabilities on the bridge's rows in the target's columns (a chain of
 *             bridges: hop after hop); kappa_h: agreement of rows left out with what they learn from
 *   bridge    kappa_b = clip((kappa_s - 2 / sqrt(n_s)) / .2, 0, 1) prod kappa_h: how good it is. No label of the target
 *             is used for that
 *   few       the learner of few_shot.h on all rows of the target; kappa_f = min(its confidence, kappa(few, bridge)
 *             sqrt(kappa_b)); where kappa_b < .1 its confidence
 *   join      P = softmax(t_f log p_f + t_b log p_b). Each is tempered until its mean largest probability is
 *             1/c + kappa (1 - 1/c); with two labels of every class the logs of the t are corrected by the
 *             likelihood of labels left out, less the squared distance from where they were
 *
 * All regressions are on at most 100 principal axes of both sides together. Bridges with the same columns are one;
 * several vote together as one, by their skill. Pairs that are nearly rows of the target are left out: they would
 * tell its labels. */
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/few_shot.h"
#include "learn/folds.h"
#include "learn/kernel_regression.h"
#include "learn/learn.h"
#include "learn/minimise.h"
#include "prepare/problem.h"

/* Rows of a kernel, evenly taken: its eigenvalues take n^3. */
enum { MOST_ROWS = 2000, FOLDS = 5 };
static const double NEAR = 0.1, LEAST_KAPPA = 0.1, NO_VOTE = 1e-3;

/* The last hop of a bridge, in the target's columns. */
typedef struct bridge {
    int64_t q;
    axes of;
    kernel_regression hop;
    double vote;
} bridge;
static const field bridge_fields[] = {
    FIELD_AS(bridge, REAL, vote, "vote"),
    FIELD_AS(bridge, REALS, of.mean, "mean", .rows = WIDTH),
    FIELD_AS(bridge, BLOCK, of.v, "axes", .rows = WIDTH, .cols = SIZE(bridge, q)),
    ARRAY(bridge, STRUCT, hop, .of = &kernel_regression_table),
};
static void bridge_check(scope *s, const void *state)
{
    const bridge *b = state;

    if (b->hop.q != b->q)
        scope_fail(s, FERRY_EDATA, "a bridge of %lld axes has a kernel of %lld",
                   (long long)b->q, (long long)b->hop.q);
}
static const table bridge_table = {sizeof(bridge), bridge_fields,
                                   FERRY_COUNT(bridge_fields), bridge_check, NULL};

typedef struct kernel_bridge {
    int64_t bridges;
    bridge *bridge;
    double few_weight, bridge_weight; /* t_f, t_b */
    /* few labels; rows.n 0: the target has none */
    few_rows rows;
    few_shot few;
    int64_t q;
    int32_t *place; /* few.c: the class of each of its classes */
} kernel_bridge;
#define ROWS SIZE(kernel_bridge, rows.n)
#define AXES SIZE(kernel_bridge, q)
#define SEEN SIZE(kernel_bridge, few.c)
#define LINEAR(member, name_)                                                              \
    FIELD_AS(kernel_bridge, BLOCK, member.w, name_ ".w", .rows = AXES, .cols = SEEN,       \
             .optional = true),                                                            \
        FIELD_AS(kernel_bridge, REALS, member.b, name_ ".b", .rows = SEEN,                 \
                 .optional = true)
static const field kernel_bridge_fields[] = {
    FIELD_AS(kernel_bridge, REAL, few_weight, "few_weight", .lo = 0, .hi = 1e6),
    FIELD_AS(kernel_bridge, REAL, bridge_weight, "bridge_weight", .lo = 0, .hi = 1e6),
    FIELD_AS(kernel_bridge, INT, bridges, "bridges", .lo = 0, .hi = 1e6),
    ARRAY(kernel_bridge, LIST, bridge, .rows = SIZE(kernel_bridge, bridges),
          .of = &bridge_table),
    FIELD_AS(kernel_bridge, INT, rows.n, "rows", .lo = 0, .hi = 1e12),
    FIELD_AS(kernel_bridge, INT, rows.k, "neighbours", .lo = 0, .hi = 1e6),
    FIELD_AS(kernel_bridge, INT, q, "axes", .lo = 0, .hi = 1e6),
    FIELD_AS(kernel_bridge, INT, few.c, "seen", .lo = 0, .hi = 1e9),
    FIELD_AS(kernel_bridge, PLACES, place, "place", .rows = SEEN, .below = CLASSES,
             .optional = true),
    FIELD_AS(kernel_bridge, REALS, rows.axes.mean, "mean", .rows = WIDTH, .optional = true),
    FIELD_AS(kernel_bridge, BLOCK, rows.axes.v, "v", .rows = WIDTH, .cols = AXES,
             .optional = true),
    FIELD_AS(kernel_bridge, BLOCK, rows.t, "t", .rows = ROWS, .cols = AXES,
             .optional = true),
    FIELD_AS(kernel_bridge, REALS, rows.scale, "scale", .rows = ROWS, .optional = true),
    FIELD_AS(kernel_bridge, BLOCK, rows.smooth, "smooth", .rows = ROWS, .cols = AXES,
             .optional = true),
    FIELD_AS(kernel_bridge, REALS, rows.middle, "middle", .rows = AXES, .optional = true),
    FIELD_AS(kernel_bridge, REAL, rows.length, "length"),
    FIELD_AS(kernel_bridge, BLOCK, few.spread, "spread", .rows = ROWS, .cols = SEEN,
             .optional = true),
    FIELD_AS(kernel_bridge, BLOCK, few.prototype, "prototype", .rows = SEEN, .cols = AXES,
             .optional = true),
    FIELD_AS(kernel_bridge, REAL, few.concentration, "concentration"),
    FIELD_AS(kernel_bridge, ARRAY, few.weight, "weights", .rows = CONSTANT(FEW_LEARNERS)),
    FIELD_AS(kernel_bridge, REAL, few.sharpness, "sharpness"),
    LINEAR(few.own, "own"),
    LINEAR(few.smoothed, "smoothed"),
    LINEAR(few.student, "student"),
};
/* All of the few-label learner, or nothing; its neighbours are among its rows. */
static void kernel_bridge_check(scope *s, const void *state)
{
    const kernel_bridge *m = state;
    const bool some = m->rows.n > 0;
    const void *const parts[] = {
        m->place,          m->rows.axes.mean,   m->rows.axes.v.at,
        m->rows.t.at,      m->rows.scale,       m->rows.smooth.at,
        m->rows.middle,    m->few.spread.at,    m->few.prototype.at,
        m->few.own.w.at,   m->few.own.b,        m->few.smoothed.w.at,
        m->few.smoothed.b, m->few.student.w.at, m->few.student.b};

    for (int64_t i = 0; i < FERRY_COUNT(parts); i++)
        if ((parts[i] != NULL) != some)
            scope_fail(s, FERRY_EDATA, "a part of the learner for few labels is missing");
    for (int64_t i = 0; some && i < m->rows.n; i++)
        if (!(m->rows.scale[i] > 0))
            scope_fail(s, FERRY_EDATA, "tensor scale: entry %lld is %g", (long long)i,
                       m->rows.scale[i]);
    if (some && (m->rows.k < 1 || m->rows.k > m->rows.n || !(m->rows.length > 0)))
        scope_fail(s, FERRY_EDATA, "%lld neighbours of %lld rows", (long long)m->rows.k,
                   (long long)m->rows.n);
}
static const table kernel_bridge_table = {sizeof(kernel_bridge), kernel_bridge_fields,
                                          FERRY_COUNT(kernel_bridge_fields),
                                          kernel_bridge_check, NULL};

/* ---- rows and columns ---- */

/* Rows with probabilities of the classes. */
typedef struct soft_rows {
    matrix x; /* cols of the problem */
    block g;
    const uint64_t *key;
} soft_rows;

/* Rows in the order of their keys, which no file decides; at most `most`, evenly taken. */
static int64_t *in_order(scope *s, int64_t n, const uint64_t *key, int64_t most,
                         int64_t *count)
{
    int64_t *rows = rows_by_key(s, n, key);

    *count = n < most ? n : most;
    for (int64_t i = 0; i < *count; i++)
        rows[i] = rows[i * n / *count];
    return rows;
}

static bool has_any(matrix x, int64_t i, const uint8_t *columns)
{
    const ferry_row r = row_at(x, i);

    for (int64_t e = 0; e < r.n; e++)
        if (r.value[e] != 0 && columns[r.index ? r.index[e] : e]) return true;
    return false;
}

/* Columns that both have; how many. */
static int64_t common_columns(const problem *p, const uint8_t *a, const uint8_t *b,
                              uint8_t *out)
{
    int64_t n = 0;

    for (int64_t j = 0; j < p->cols; j++)
        n += out[j] = a[j] && b[j];
    return n;
}

static block take_soft(scope *s, block g, int64_t n, const int64_t *rows)
{
    const block out = block_new(s, HERE(n), n, g.k);

    for (int64_t i = 0; i < n; i++)
        memcpy(ROW(out, i), ROW(g, rows[i]), (size_t)g.k * sizeof(double));
    return out;
}

static soft_rows take_soft_rows(scope *s, const soft_rows *t, int64_t n,
                                const int64_t *rows)
{
    uint64_t *key = NEW(s, uint64_t, n);

    for (int64_t i = 0; i < n; i++)
        key[i] = t->key[rows[i]];
    return (soft_rows){take_rows(s, t->x, n, rows, false),
                       t->g.at ? take_soft(s, t->g, n, rows) : t->g, key};
}

/* Axes of two sides together; the rows of each on them. */
static axes common_axes(scope *s, matrix a, matrix b, const uint8_t *columns, block *za,
                        block *zb)
{
    const matrix part[] = {take_columns(s, a, columns, false),
                           take_columns(s, b, columns, false)};
    block z;
    const axes of = axes_fit(s, stack(s, 2, part), &z);

    *za = (block){.rows = HERE(a.n), .n = a.n, .k = z.k, .at = z.at};
    *zb = (block){.rows = HERE(b.n), .n = b.n, .k = z.k, .at = z.at + a.n * z.k};
    return of;
}

/* ---- the source's classifier ---- */

static double kappa(scope *s, const int32_t *a, const int32_t *b, int64_t n, int64_t c)
{
    return cohen_kappa(s, HERE(n), n, a, b, c);
}

/* Softmax regression by labels left out: its loss and agreement with them. */
static double regression_loss(scope *s, block x, const int32_t *cls, const uint64_t *key,
                              int64_t c, double C, double *agrees)
{
    const int32_t *fold = stratified_folds(s, HERE(x.n), x.n, cls, key, FOLDS);
    const block p = block_new(s, HERE(x.n), x.n, c), y = one_hot(s, HERE(x.n), x.n, cls, c);
    double loss = 0;

    for (int f = 0; f < FOLDS; f++) {
        const int64_t mark = scope_mark(s);
        int64_t *in = NEW(s, int64_t, x.n), *left = NEW(s, int64_t, x.n), n = 0, m = 0;
        for (int64_t i = 0; i < x.n; i++)
            if (fold[i] == f)
                left[m++] = i;
            else
                in[n++] = i;
        if (n > 0 && m > 0) {
            const linear l = softmax_regression(s, matrix_of(s, take_soft(s, x, n, in)),
                                                take_soft(s, y, n, in), NULL, C, 1e-4);
            const block q = block_new(s, HERE(m), m, c);
            softmax_scores(s, &l, matrix_of(s, take_soft(s, x, m, left)), q);
            for (int64_t i = 0; i < m; i++)
                memcpy(ROW(p, left[i]), ROW(q, i), (size_t)c * sizeof(double));
        }
        scope_release(s, mark);
    }
    for (int64_t i = 0; i < x.n; i++)
        loss -= log(fmax(ROW(p, i)[cls[i]], 1e-6)) / (double)x.n;
    *agrees = kappa(s, argmax(s, p), cls, x.n, c);
    return loss;
}

/* Probabilities of the rows z by the classifier of labelled rows x; kappa_s with labels left out. */
static block source_probabilities(scope *s, block x, const int32_t *cls,
                                  const uint64_t *key, int64_t c, block z, double *agrees)
{
    static const double costs[] = {1, 10};
    const block y = one_hot(s, HERE(x.n), x.n, cls, c);
    left_out left;
    const kernel_regression k = kernel_regress(s, x, y, &left);
    double least = left.loss, cost = 0;

    *agrees = kappa(s, argmax(s, left.f), cls, x.n, c);
    for (int64_t t = 0; t < FERRY_COUNT(costs); t++) {
        double agreed = 0;
        const double C = c == 2 ? 2 * costs[t] : costs[t];
        const double loss = regression_loss(s, x, cls, key, c, C, &agreed);
        if (!(loss < least)) continue;
        least = loss;
        cost = C;
        *agrees = agreed;
    }
    report_real(s, "source_kappa", *agrees);
    if (cost == 0) return kernel_probabilities(s, &k, z);
    const linear l = softmax_regression(s, matrix_of(s, x), y, NULL, cost, 1e-6);
    const block p = block_new(s, HERE(z.n), z.n, c);
    softmax_scores(s, &l, matrix_of(s, z), p);
    return p;
}

/* ---- bridges ---- */

/* Intermediate domains with the same columns: one. */
typedef struct group {
    const uint8_t *has;
    soft_rows rows; /* g: known labels one-hot, other rows 0 */
    const char *name;
} group;

static group *find_groups(scope *s, const problem *p, int *n)
{
    group *list = NEW(s, group, p->n);
    bool *done = NEW(s, bool, p->n);

    *n = 0;
    for (int i = p->n_sources; i < p->n - 1; i++) {
        matrix *x = NEW(s, matrix, p->n);
        int64_t parts = 0, rows = 0, at = 0;
        if (done[i]) continue;
        for (int j = i; j < p->n - 1; j++)
            if (memcmp(p->has[i], p->has[j], (size_t)p->cols) == 0) {
                done[j] = true;
                x[parts++] = p->d[j].x;
                rows += p->d[j].n;
            }
        group *to = &list[(*n)++];
        uint64_t *key = NEW(s, uint64_t, rows);
        to->has = p->has[i];
        to->name = p->d[i].name;
        to->rows = (soft_rows){.x = parts > 1 ? stack(s, parts, x) : x[0],
                               .g = block_new(s, HERE(rows), rows, p->classes),
                               .key = key};
        for (int j = i; j < p->n - 1; j++)
            for (int64_t r = 0;
                 memcmp(p->has[i], p->has[j], (size_t)p->cols) == 0 && r < p->d[j].n;
                 r++, at++) {
                key[at] = p->d[j].key[r];
                if (p->d[j].known[r] >= 0) ROW(to->rows.g, at)[p->d[j].known[r]] = 1;
            }
    }
    return list;
}

/* Labelled rows of the sources, and the columns that any of them has. */
static soft_rows source_rows(scope *s, const problem *p, uint8_t *has, int32_t **cls)
{
    matrix *x = NEW(s, matrix, p->n_sources);
    int64_t rows = 0, at = 0;

    for (int i = 0; i < p->n_sources; i++) {
        const examples e = labelled_rows(s, &p->d[i]);
        x[i] = e.x;
        rows += e.x.n;
        for (int64_t j = 0; j < p->cols; j++)
            has[j] |= p->has[i][j];
    }
    uint64_t *key = NEW(s, uint64_t, rows);
    *cls = NEW(s, int32_t, rows);
    for (int i = 0; i < p->n_sources; i++)
        for (int64_t r = 0; r < p->d[i].n; r++)
            if (p->d[i].known[r] >= 0) {
                key[at] = p->d[i].key[r];
                (*cls)[at++] = p->d[i].known[r];
            }
    return (soft_rows){.x = p->n_sources > 1 ? stack(s, p->n_sources, x) : x[0],
                       .key = key};
}

/* Rows of a group that join two sides: they have columns of both sides. */
static soft_rows pairs_of(scope *s, const soft_rows *g, const uint8_t *from,
                          const uint8_t *to)
{
    int64_t *rows = NEW(s, int64_t, g->x.n), n = 0, count = 0;

    for (int64_t i = 0; i < g->x.n; i++)
        if (has_any(g->x, i, from) && has_any(g->x, i, to)) rows[n++] = i;
    const soft_rows both = take_soft_rows(s, g, n, rows);
    const int64_t *order = in_order(s, n, both.key, MOST_ROWS, &count);
    return take_soft_rows(s, &both, count, order);
}

/* Known labels stay. */
static void keep_known(block known, block g)
{
    for (int64_t i = 0; i < g.n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < g.k; k++)
            sum += ROW(known, i)[k];
        if (sum > 0) memcpy(ROW(g, i), ROW(known, i), (size_t)g.k * sizeof(double));
    }
}

/* g of the pairs <- what the source's classifier says of them; kappa_s over its chance. */
static double label_pairs(scope *s, const problem *p, soft_rows *pairs)
{
    uint8_t *has = NEW(s, uint8_t, p->cols), *columns = NEW(s, uint8_t, p->cols);
    int32_t *cls = NULL;
    int64_t n = 0, count = 0;
    const soft_rows all = source_rows(s, p, has, &cls);
    int64_t *rows = NEW(s, int64_t, all.x.n);
    uint8_t *used = columns_used(s, pairs->x);
    double agrees = 0;
    block zs, zb;

    (void)common_columns(p, has, used, columns);
    for (int64_t i = 0; i < all.x.n; i++)
        if (has_any(all.x, i, columns)) rows[n++] = i;
    const soft_rows some = take_soft_rows(s, &all, n, rows);
    const int64_t *order = in_order(s, n, some.key, MOST_ROWS, &count);
    const soft_rows from = take_soft_rows(s, &some, count, order);
    int32_t *y = NEW(s, int32_t, count);
    for (int64_t i = 0; i < count; i++)
        y[i] = cls[rows[order[i]]];
    (void)common_axes(s, from.x, pairs->x, columns, &zs, &zb);
    const block q = source_probabilities(s, zs, y, from.key, p->classes, zb, &agrees);
    keep_known(pairs->g, q);
    pairs->g = q;
    return fmin(fmax((agrees - 2 / sqrt((double)count)) / 0.2, 0), 1);
}

/* Whether pairs are nearly rows of the target: nearer than its rows are to each other. */
static soft_rows without_leaks(scope *s, const soft_rows *pairs, matrix t,
                               const uint8_t *columns, int64_t *dropped)
{
    block zc, zt;
    int64_t *index = NEW(s, int64_t, 2 * (t.n + pairs->x.n)), *rows = NULL, n = 0;
    double *own = NEW(s, double, 2 * t.n), *near = NEW(s, double, pairs->x.n);

    (void)common_axes(s, pairs->x, t, columns, &zc, &zt);
    const matrix c = matrix_of(s, zc), x = matrix_of(s, zt);
    scope_check(s, ferry_i_knn(scope_ctx(s), x.m, x.m, 2, FERRY_EUCLIDEAN, index, own));
    scope_check(s, ferry_i_knn(scope_ctx(s), x.m, c.m, 1, FERRY_EUCLIDEAN, index, near));
    for (int64_t i = 0; i < t.n; i++) /* the nearest but itself, squared */
        own[i] = own[2 * i + 1] * own[2 * i + 1];
    const double most = NEAR * median(t.n, own) + 1e-18;
    rows = NEW(s, int64_t, pairs->x.n);
    for (int64_t i = 0; i < pairs->x.n; i++)
        if (!(near[i] * near[i] <= most)) rows[n++] = i;
    *dropped += pairs->x.n - n;
    return take_soft_rows(s, pairs, n, rows);
}

/* One hop: rows z of the next domain by the labels of `pairs`. kappa_h of rows left out. */
static block hop_over(scope *s, const soft_rows *pairs, matrix to, const uint8_t *columns,
                      axes *of, kernel_regression *k, double *agrees, double *skill)
{
    block zc, zt;
    left_out left;

    *of = common_axes(s, pairs->x, to, columns, &zc, &zt);
    *k = kernel_regress(s, zc, pairs->g, &left);
    *agrees = fmax(0, kappa(s, argmax(s, left.f), argmax(s, pairs->g), zc.n, pairs->g.k));
    *skill = left.skill;
    return kernel_probabilities(s, k, zt);
}

/* A path of groups from the sources to the target: what its last hop says of the rows t. */
typedef struct path {
    bridge b;
    block p; /* rows of t x classes */
    double kappa, skill;
    const uint8_t *columns; /* of the last hop */
} path;

static bool follow(scope *s, const problem *p, int n, const group *step, matrix t,
                   int64_t *dropped, path *out)
{
    const uint8_t *end = p->has[p->n - 1];
    uint8_t *has = NEW(s, uint8_t, p->cols), *columns = NEW(s, uint8_t, p->cols);
    uint8_t *before = NEW(s, uint8_t, p->cols);
    soft_rows rows = {.g = {.at = NULL}};

    for (int i = 0; i < p->n_sources; i++)
        for (int64_t j = 0; j < p->cols; j++)
            has[j] |= p->has[i][j];
    if (common_columns(p, has, step[0].has, before) == 0) return false;
    out->kappa = 1;
    for (int i = 0; i < n; i++) {
        const uint8_t *next = i + 1 < n ? step[i + 1].has : end;
        if (common_columns(p, step[i].has, next, columns) == 0) return false;
        soft_rows pairs = pairs_of(s, &step[i].rows, before, columns);
        if (i + 1 == n && pairs.x.n > 0)
            pairs = without_leaks(s, &pairs, t, columns, dropped);
        if (pairs.x.n < 2) return false;
        double agrees = 1, skill = 0;
        if (i == 0) {
            out->kappa *= label_pairs(s, p, &pairs);
        } else { /* by the rows before */
            axes of;
            kernel_regression k;
            const block known = pairs.g;
            pairs.g = hop_over(s, &rows, pairs.x, before, &of, &k, &agrees, &skill);
            keep_known(known, pairs.g);
            out->kappa *= agrees;
        }
        rows = pairs;
        memcpy(before, columns, (size_t)p->cols);
    }
    double agrees = 0;
    out->p = hop_over(s, &rows, t, columns, &out->b.of, &out->b.hop, &agrees, &out->skill);
    out->kappa *= agrees;
    out->columns = columns;
    return true;
}

/* Axes of some of the problem's columns, as axes of the target's. */
static void on_target_columns(scope *s, const problem *p, path *c)
{
    const axes cut = c->b.of;
    int64_t *place = NEW(s, int64_t, p->cols), n = 0;

    c->b.q = cut.v.k;
    for (int64_t j = 0; j < p->cols; j++)
        place[j] = c->columns[j] ? n++ : -1;
    c->b.of.mean = NEW(s, double, p->width);
    c->b.of.v = block_new(s, HERE(p->width), p->width, cut.v.k);
    for (int64_t j = 0; j < p->width; j++) {
        const int64_t from = place[p->target_column[j]];
        if (from < 0) continue;
        c->b.of.mean[j] = cut.mean[from];
        memcpy(ROW(c->b.of.v, j), ROW(cut.v, from), (size_t)cut.v.k * sizeof(double));
    }
}

/* ---- joining ---- */

/* t in [0, 3] with which the mean largest probability of softmax(t log) over the rows is `sure`. */
static double temper(scope *s, block log, int64_t n, const int64_t *rows, double sure)
{
    double lo = 0, hi = 3, *z = NEW(s, double, log.k);

    for (int step = 0; step < 50; step++) {
        const double t = (lo + hi) / 2;
        double all = 0;
        for (int64_t i = 0; i < n; i++) {
            double most = 0;
            for (int64_t k = 0; k < log.k; k++)
                z[k] = t * ROW(log, rows[i])[k];
            (void)softmax_row(log.k, NULL, z);
            for (int64_t k = 0; k < log.k; k++)
                most = fmax(most, z[k]);
            all += most / (double)n;
        }
        if (all < sure)
            lo = t;
        else
            hi = t;
    }
    return (lo + hi) / 2;
}

static double confidence(block log, int64_t n, const int64_t *rows)
{
    const double c = (double)log.k;
    double all = 0;

    for (int64_t i = 0; i < n; i++) {
        double most = -INFINITY;
        for (int64_t k = 0; k < log.k; k++)
            most = fmax(most, ROW(log, rows[i])[k]);
        all += exp(most) / (double)n;
    }
    return (all - 1 / c) / (1 - 1 / c);
}

typedef struct joining {
    block few, bridge; /* logs; few by labels left out */
    const int32_t *cls;
    const double *before;
    double *z;
} joining;

/* x: logs of t_f and t_b. */
static double join_loss(const void *arg, const double *x, double *g)
{
    const joining *j = arg;
    const int64_t c = j->few.k;
    double loss = 0;

    for (int m = 0; m < 2; m++) {
        const double off = x[m] - j->before[m];
        loss += off * off;
        g[m] = 2 * off;
    }
    for (int64_t i = 0; i < j->few.n; i++) {
        if (j->cls[i] < 0) continue;
        const double *f = ROW(j->few, i), *b = ROW(j->bridge, i);
        for (int64_t k = 0; k < c; k++)
            j->z[k] = exp(x[0]) * f[k] + exp(x[1]) * b[k];
        const double own = j->z[j->cls[i]];
        loss += softmax_row(c, NULL, j->z) - own;
        for (int64_t k = 0; k < c; k++) {
            const double e = j->z[k] - (k == j->cls[i]);
            g[0] += exp(x[0]) * f[k] * e;
            g[1] += exp(x[1]) * b[k] * e;
        }
    }
    return loss;
}

/* Probabilities of the classes that the labels show, as logs of those of all classes. */
static block spread_classes(scope *s, block p, int64_t c, const int32_t *place)
{
    const block out = block_new(s, p.rows, p.n, c);

    for (int64_t i = 0; i < p.n; i++)
        for (int64_t k = 0; k < p.k; k++)
            ROW(out, i)[place[k]] = ROW(p, i)[k];
    log_floor(out);
    return out;
}

/* Labels of the rows by place among the classes that have one. */
static int32_t *shown_classes(scope *s, int64_t n, const int32_t *cls, int64_t c,
                              kernel_bridge *m, int64_t *least)
{
    int64_t *size = NEW(s, int64_t, c);
    int32_t *place = NEW(s, int32_t, c), *out = NEW(s, int32_t, n);

    m->place = NEW(s, int32_t, c);
    for (int64_t i = 0; i < n; i++)
        if (cls[i] >= 0) size[cls[i]]++;
    *least = c > 0 ? size[0] : 0;
    for (int64_t k = 0; k < c; k++) {
        *least = size[k] < *least ? size[k] : *least;
        if (size[k] == 0) continue;
        place[k] = (int32_t)m->few.c;
        m->place[m->few.c++] = (int32_t)k;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = cls[i] < 0 ? -1 : place[cls[i]];
    return out;
}

/* How much the labels' own learner and the bridge (logs, quality kappa_b) say. */
static void weigh(scope *s, block few, block bridge_log, double kappa_b, const int32_t *cls,
                  double *t)
{
    const double c = (double)few.k;
    int64_t *rows = NEW(s, int64_t, few.n), n = 0;
    int32_t *a = NEW(s, int32_t, few.n), *b = NEW(s, int32_t, few.n);
    const int32_t *by_few = argmax(s, few), *by_bridge = argmax(s, bridge_log);

    for (int64_t i = 0; i < few.n; i++)
        if (cls[i] < 0) rows[n++] = i;
    for (int64_t i = 0; n == 0 && i < few.n; i++)
        rows[i] = i;
    n = n > 0 ? n : few.n;
    for (int64_t i = 0; i < n; i++) {
        a[i] = by_few[rows[i]];
        b[i] = by_bridge[rows[i]];
    }
    const double sure = confidence(few, n, rows);
    double kappa_f = sure;
    if (kappa_b >= LEAST_KAPPA)
        kappa_f = fmin(sure, kappa(s, a, b, n, few.k) * sqrt(kappa_b));
    kappa_f = fmin(fmax(kappa_f, 0.02), 1);
    t[0] = fmin(temper(s, few, n, rows, 1 / c + kappa_f * (1 - 1 / c)), 1);
    t[1] = kappa_b > 0.02 ? temper(s, bridge_log, n, rows, 1 / c + kappa_b * (1 - 1 / c))
                          : NO_VOTE;
    report_real(s, "few_kappa", kappa_f);
}

static void fit_join(scope *s, const problem *p, matrix t, const int32_t *cls,
                     block bridge_log, double kappa_b, kernel_bridge *m)
{
    int64_t least = 0;
    const int32_t *shown = shown_classes(s, t.n, cls, p->classes, m, &least);
    const block own = block_new(s, HERE(t.n), t.n, m->few.c);
    const int64_t c = m->few.c;
    int32_t *place = m->place;
    double weight[2], x[2];

    m->rows = few_rows_of(s, t);
    m->few = few_shot_fit(s, &m->rows, shown, c, own);
    m->place = place;
    m->q = m->rows.t.k;
    weigh(s, spread_classes(s, own, p->classes, place), bridge_log, kappa_b, cls, weight);
    for (int i = 0; i < 2; i++)
        x[i] = log(weight[i] = fmax(weight[i], NO_VOTE));
    if (least >= 2) {
        const block held = few_shot_held_out(s, &m->rows, &m->few, shown);
        const double before[] = {x[0], x[1]};
        const joining j = {spread_classes(s, held, p->classes, place), bridge_log, cls,
                           before, NEW(s, double, p->classes)};
        (void)minimise(s, 2, join_loss, &j, 1e-7, x);
    }
    m->few_weight = exp(fmin(x[0], 2));
    m->bridge_weight = exp(fmin(x[1], 2));
}

/* ---- all of it ---- */

/* Labels of the target's rows in this order. */
static int32_t *labels_of(scope *s, const domain *t, const int64_t *rows)
{
    int32_t *cls = NEW(s, int32_t, t->n);

    for (int64_t i = 0; i < t->n; i++)
        cls[i] = t->known[rows[i]];
    return cls;
}

/* Those groups that touch both ends, one by one; where there are none, all of them as one chain. */
static path *all_paths(scope *s, const problem *p, matrix t, int *n)
{
    int groups = 0;
    const group *g = find_groups(s, p, &groups);
    path *list = NEW(s, path, groups + 1);
    int64_t dropped = 0;

    *n = 0;
    for (int i = 0; i < groups; i++)
        if (follow(s, p, 1, &g[i], t, &dropped, &list[*n])) ++*n;
    if (*n == 0 && groups > 1 && follow(s, p, groups, g, t, &dropped, list)) *n = 1;
    if (*n == 0)
        scope_fail(
            s, FERRY_ENEEDS,
            "kernel-bridge needs instances that have features of a source and of the "
            "target, at least two that are not the target's own");
    if (dropped > 0) report_real(s, "near_leaks", (double)dropped);
    return list;
}

/* Votes by skill; equal bridges share one. */
static void share_votes(int n, path *c)
{
    double most = 0, sum = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, fmax(c[i].skill, 0));
    for (int i = 0; i < n; i++)
        sum += c[i].b.vote = most > 0 ? fmax(c[i].skill, 0) / most : 0;
    for (int i = 0; i < n; i++)
        c[i].b.vote /= fmax(sum, 1);
}

static void kernel_bridge_fit(scope *s, scope *keep, const problem *p, const void *options,
                              void *state)
{
    kernel_bridge m = {0};
    const domain *d = target(p);
    const int64_t *rows = rows_by_key(s, d->n, d->key);
    const int32_t *cls = labels_of(s, d, rows);
    const matrix t = take_rows(s, d->x, d->n, rows, false);
    int n = 0;
    path *c = all_paths(s, p, t, &n);
    const block log = block_new(s, HERE(t.n), t.n, p->classes);
    double kappa_b = 0, votes = 0;

    (void)options;
    share_votes(n, c);
    m.bridges = n;
    m.bridge = NEW(s, bridge, n);
    for (int i = 0; i < n; i++) {
        on_target_columns(s, p, &c[i]);
        log_floor(c[i].p);
        axpby(s, c[i].b.vote, c[i].p, 1, log);
        kappa_b += c[i].b.vote * c[i].kappa;
        votes += c[i].b.vote;
        m.bridge[i] = c[i].b;
    }
    kappa_b /= fmax(votes, 1e-12);
    report_real(s, "bridge_kappa", kappa_b);
    m.few_weight = 0;
    m.bridge_weight = 1;
    if (d->labelled > 0)
        fit_join(s, p, target_columns(s, p, d->x, d->n, rows, NULL), cls, log, kappa_b, &m);
    report_real(s, "few_weight", m.few_weight);
    report_real(s, "bridge_weight", m.bridge_weight);
    memcpy(state,
           state_copy(s, keep, &kernel_bridge_table, &m,
                      (state_sizes){.width = p->width, .classes = p->classes}),
           sizeof m);
}

static void kernel_bridge_scores(scope *s, const void *state, const domain *d, block out)
{
    const kernel_bridge *m = state;

    for (int64_t i = 0; i < m->bridges; i++) {
        const bridge *b = &m->bridge[i];
        const block p = kernel_probabilities(s, &b->hop, axes_rows(s, &b->of, d->x));
        log_floor(p);
        axpby(s, m->bridge_weight * b->vote, p, 1, out);
    }
    if (m->rows.n > 0) {
        const block p = few_shot_scores(s, &m->rows, &m->few, d->x);
        axpby(s, m->few_weight, spread_classes(s, p, out.k, m->place), 1, out);
    }
    softmax_rows(out);
}

const method method_kernel_bridge = {
    .name = "kernel-bridge",
    .summary = "kernel regression over the bridge, joined with a learner for few labels",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_INTERMEDIATE | FERRY_NEED_TARGET_VIEW |
             FERRY_NEED_PATH,
    .wants = {.as = CHAIN, .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET},
    .whole = true,
    .state = &kernel_bridge_table,
    .fit = kernel_bridge_fit,
    .scores = kernel_bridge_scores,
};
