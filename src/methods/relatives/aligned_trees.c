/* aligned-trees: label sets of a target without labels, from a source with the same columns and labels. Extra trees and
 * logistic regressions, after the target's columns were centred or standardised by its own rows, but only where that
 * makes the domains alike: a change of units is undone, a change of content is left.
 *
 *   z_s      the source, standardised by its own rows; what is constant there is 0
 *   z_t      raw:       (x - mean of the source) / deviation of the source
 *            centre:    (x - mean of the target) / deviation of the source
 *            standard:  (x - mean of the target) / deviation of the target,          each between -8 and 8
 *   a(view)  how well extra trees tell rows of the source from rows of the target in that view: the area under the curve
 *            of two halves, each judged by the trees of the other. N(0, 0.3) is added to every cell first: columns of
 *            counts leave their lattice by a hair when they are centred, which would give the domain away
 *   align    raw where a(raw) < 0.6. Else, with left(v) = (a(v) - 1/2) / (a(raw) - 1/2), centre where left(centre) is at
 *            most 0.35 and no more than 0.1 above left(standard), standard where left(standard) is at most 0.35, else raw
 *   scores   mean of extra trees and of a logistic regression for each label, C of 0.01, 0.05, 0.3 by the ranking loss
 *            on one half of the source trained on the other
 *
 * The limits were set on emotions and scene, two seeds (docs/methods/aligned-trees.md). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/seam.h"

enum { AUTO, RAW, CENTRE, STANDARD, ALIGNS };
enum { MOST_ROWS = 400, GATE_TREES = 100, GATE_LEAF = 3 };
static const double NOISE = 0.3, CLIP = 8, TELLS = 0.6, LEFT = 0.35, CLOSE = 0.1;

typedef struct aligned_options {
    int align;
    int64_t trees;
    double C;
} aligned_options;

static const ferry_opt aligned_opts[] = {
    FERRY_OPT_ONE_OF(
        aligned_options, align, "auto|raw|centre|standard", "auto",
        "the target's columns: by the source's mean and deviation, by its own "
        "mean, or by its own mean and deviation; auto: as the domains ask for"),
    FERRY_OPT(aligned_options, INT, trees, 300, 1, 1e5, "trees"),
    FERRY_OPT(aligned_options, REAL, C, 0, 0, 1e9,
              "cost of errors of the logistic regressions; 0: 0.01, 0.05 or 0.3 by halves "
              "of the source"),
};

/* z_ij = (x_ij - shift_j) factor_j */
typedef struct aligned_state {
    int64_t cols, align;
    double *shift, *factor;
    learned trees, linear;
} aligned_state;
static const field aligned_fields[] = {
    ARRAY(aligned_state, INT, align, .lo = RAW, .hi = ALIGNS),
    ARRAY(aligned_state, REALS, shift, .rows = SIZE(aligned_state, cols)),
    ARRAY(aligned_state, REALS, factor, .rows = SIZE(aligned_state, cols)),
    ARRAY(aligned_state, VARIANT, trees, .among = &learners),
    ARRAY(aligned_state, VARIANT, linear, .among = &learners),
};
static const table aligned_table = TABLE(aligned_state, aligned_fields);

/* ---- columns ---- */

typedef struct column_stats {
    double *mean, *deviation;
} column_stats;

/* Over rows that stand in the order of their keys, so that no file's order decides the last bit. */
static column_stats column_moments(scope *s, matrix x)
{
    const column_stats m = {NEW(s, double, x.cols), NEW(s, double, x.cols)};
    const double n = x.n > 0 ? (double)x.n : 1;

    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < x.cols; j++)
            m.mean[j] += x.m->dense[i * x.cols + j] / n;
    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < x.cols; j++) {
            const double d = x.m->dense[i * x.cols + j] - m.mean[j];
            m.deviation[j] += d * d / n;
        }
    for (int64_t j = 0; j < x.cols; j++) {
        const double d = sqrt(m.deviation[j]);
        m.deviation[j] = d > 1e-12 * fabs(m.mean[j]) ? d : 0;
    }
    return m;
}

/* What is constant in the source tells nothing: factor 0. */
static aligned_state columns(scope *s, int way, int64_t cols, const column_stats *from,
                             const column_stats *to)
{
    const column_stats *centre = way == RAW ? from : to, *by = way == STANDARD ? to : from;
    const aligned_state m = {.cols = cols,
                             .align = way,
                             .shift = NEW(s, double, cols),
                             .factor = NEW(s, double, cols)};

    for (int64_t j = 0; j < cols; j++) {
        const double d = by->deviation[j];
        m.shift[j] = centre->mean[j];
        m.factor[j] = from->deviation[j] > 0 ? 1 / (d > 0 ? d : 1) : 0;
    }
    return m;
}

static matrix align(scope *s, const aligned_state *m, matrix x)
{
    const matrix dense = to_dense(s, x), z = matrix_dense(s, x.rows, x.n, x.cols);

    for (int64_t i = 0; i < x.n; i++)
        for (int64_t j = 0; j < x.cols; j++) {
            const int64_t e = i * x.cols + j;
            const double v = (dense.m->dense[e] - m->shift[j]) * m->factor[j];
            z.m->dense[e] = fmin(fmax(v, -CLIP), CLIP);
        }
    return z;
}

/* ---- can the domains be told apart ---- */

typedef struct scored {
    double score;
    bool target;
} scored;

static int by_score(const void *a, const void *b)
{
    const scored *x = a, *y = b;

    return x->score < y->score ? -1 : x->score > y->score;
}

/* The share of pairs of rows, one of each domain, in which that of the target has the larger score; ties are half. */
static double area(int64_t n, scored *r)
{
    double source = 0, target = 0, pairs = 0;

    qsort(r, (size_t)n, sizeof *r, by_score);
    for (int64_t i = 0, j = 0; i < n; i = j) {
        double equal[2] = {0};
        for (j = i; j < n && r[j].score == r[i].score; j++)
            equal[r[j].target]++;
        pairs += equal[1] * (source + equal[0] / 2);
        source += equal[0];
        target += equal[1];
    }
    return source > 0 && target > 0 ? pairs / (source * target) : 0.5;
}

/* Numbers of a column: by which way it goes from row to row, so neither by where it stands nor by its unit. Rows are in
 * the order of their keys. */
static void column_noise(scope *s, matrix z, int64_t j, ferry_rng *rng)
{
    char *ways = NEW(s, char, z.n);

    for (int64_t i = 0; i + 1 < z.n; i++) {
        const double a = z.m->dense[i * z.cols + j], b = z.m->dense[(i + 1) * z.cols + j];
        ways[i] = (char)((b > a) - (b < a));
    }
    ferry_i_rng_for(scope_ctx(s), rng, "aligned-trees");
    ferry_i_rng_seed(rng, ferry_i_rng_u64(rng), XXH3_64bits(ways, (size_t)z.n));
    scope_drop(s, ways);
}

/* At most MOST_ROWS of each, the source's first, with noise where the source varies. */
static matrix blurred(scope *s, const column_stats *from, matrix zs, matrix zt)
{
    const int64_t a = zs.n < MOST_ROWS ? zs.n : MOST_ROWS,
                  b = zt.n < MOST_ROWS ? zt.n : MOST_ROWS, cols = zs.cols;
    const matrix x = matrix_dense(s, HERE(a + b), a + b, cols);
    ferry_rng rng;

    memcpy(x.m->dense, zs.m->dense, (size_t)(a * cols) * sizeof(double));
    memcpy(x.m->dense + a * cols, zt.m->dense, (size_t)(b * cols) * sizeof(double));
    for (int64_t j = 0; j < cols; j++) {
        if (from->deviation[j] == 0) continue;
        column_noise(s, zs, j, &rng);
        for (int64_t i = 0; i < a + b; i++)
            x.m->dense[i * cols + j] += NOISE * ferry_i_rng_normal(&rng);
    }
    return x;
}

/* a(view): rows in turn are in one half and in the other. */
static double told_apart(scope *s, const column_stats *from, matrix zs, matrix zt)
{
    const int64_t mark = scope_mark(s),
                  first = zs.n < MOST_ROWS ? zs.n : MOST_ROWS; /* of the target */
    const matrix x = blurred(s, from, zs, zt);
    const learner *by = learner_find("extra-trees");
    void *with = learner_defaults(s, by);
    uint8_t *on = NEW(s, uint8_t, x.n);
    scored *r = NEW(s, scored, x.n);
    int64_t *rows[2] = {NEW(s, int64_t, x.n), NEW(s, int64_t, x.n)}, n[2] = {0};

    learner_set(by, with, "trees", GATE_TREES);
    learner_set(by, with, "min_leaf", GATE_LEAF);
    for (int64_t i = 0; i < x.n; i++) {
        const int half = (int)((i < first ? i : i - first) % 2);
        on[i] = i >= first;
        rows[half][n[half]++] = i;
    }
    const examples all = {.x = x, .y = {.goal = FERRY_MULTILABEL, .k = 1, .on = on}};
    for (int half = 0; half < 2; half++) {
        const examples e = take_examples(s, &all, n[!half], rows[!half]);
        const learned m = learn(s, s, by, with, &e);
        const block p = answer(s, &m, take_rows(s, x, n[half], rows[half], false));
        for (int64_t i = 0; i < p.n; i++)
            r[rows[half][i]] = (scored){p.at[i], on[rows[half][i]]};
    }
    const double a = area(x.n, r);
    scope_release(s, mark);
    return a;
}

static int decide_view(scope *s, const column_stats *from, matrix zs,
                       const aligned_state *way, matrix xt)
{
    static const char *const name[] = {[RAW] = "auc_raw", "auc_centre", "auc_standard"};
    double a[ALIGNS] = {0}, left[ALIGNS];

    for (int v = RAW; v < ALIGNS; v++) {
        const int64_t mark = scope_mark(s);
        a[v] = told_apart(s, from, zs, align(s, &way[v], xt));
        scope_release(s, mark);
        report_real(s, name[v], a[v]);
        (void)progress(s, "aligned-trees", v, ALIGNS + 1, NAN);
    }
    if (a[RAW] < TELLS) return RAW;
    for (int v = RAW; v < ALIGNS; v++)
        left[v] = fmax(a[v] - 0.5, 0) / (a[RAW] - 0.5);
    if (left[CENTRE] <= LEFT && left[CENTRE] <= left[STANDARD] + CLOSE) return CENTRE;
    return left[STANDARD] <= LEFT ? STANDARD : RAW;
}

/* ---- the learners ---- */

/* The share of pairs of a label that is on and one that is off in which the latter has at least the same score, the mean
 * of the rows that have both. */
static double ranking_loss(const labels *y, block p)
{
    double sum = 0, rows = 0;

    for (int64_t i = 0; i < p.n; i++) {
        double pairs = 0, wrong = 0;
        for (int64_t a = 0; a < p.k; a++)
            for (int64_t b = 0; y->on[i * p.k + a] && b < p.k; b++) {
                if (y->on[i * p.k + b]) continue;
                pairs++;
                wrong += ROW(p, i)[b] >= ROW(p, i)[a];
            }
        if (pairs == 0) continue;
        sum += wrong / pairs;
        rows++;
    }
    return rows > 0 ? sum / rows : 0;
}

static double choose_cost(scope *s, const learner *by, void *with, const examples *e)
{
    static const double costs[] = {0.01, 0.05, 0.3};
    const int64_t mark = scope_mark(s), n = e->x.n / 2;
    double best = 0.05, least = INFINITY;

    if (n < 2) return best;
    int64_t *even = NEW(s, int64_t, n), *odd = NEW(s, int64_t, n);
    for (int64_t i = 0; i < n; i++) {
        even[i] = 2 * i;
        odd[i] = 2 * i + 1;
    }
    const examples to = take_examples(s, e, n, even), on = take_examples(s, e, n, odd);
    for (int c = 0; c < FERRY_COUNT(costs); c++) {
        learner_set(by, with, "C", costs[c]);
        const learned m = learn(s, s, by, with, &to);
        const double loss = ranking_loss(&on.y, answer(s, &m, on.x));
        if (loss >= least) continue;
        least = loss;
        best = costs[c];
    }
    scope_release(s, mark);
    return best;
}

static learned fit_linear(scope *s, scope *keep, double C, const examples *e)
{
    const learner *by = learner_find("logreg");
    void *with = learner_defaults(s, by);
    const double cost = C > 0 ? C : choose_cost(s, by, with, e);

    report_real(s, "C", cost);
    learner_set(by, with, "C", cost);
    return learn(s, keep, by, with, e);
}

static learned fit_trees(scope *s, scope *keep, int64_t trees, const examples *e)
{
    const learner *by = learner_find("extra-trees");
    void *with = learner_defaults(s, by);

    learner_set(by, with, "trees", (double)trees);
    return learn(s, keep, by, with, e);
}

/* ---- the method ---- */

static matrix rows_in_order(scope *s, matrix x, const uint64_t *key)
{
    return to_dense(s, take_rows(s, x, x.n, rows_by_key(s, x.n, key), false));
}

static void aligned_fit(scope *s, scope *keep, const problem *p, const void *options,
                        void *state)
{
    static const char *const names[] = {[RAW] = "raw", "centre", "standard"};
    const aligned_options *o = options;
    const domain *t = target(p);
    const examples given = training_examples(s, p);
    examples e = take_examples(s, &given, given.x.n, rows_by_key(s, given.x.n, given.key));
    aligned_state *m = state, way[ALIGNS];
    int use = o->align;

    e.x = to_dense(s, e.x);
    const matrix xt = rows_in_order(s, t->x, t->key);
    const column_stats from = column_moments(s, e.x), to = column_moments(s, xt);
    for (int v = RAW; v < ALIGNS; v++)
        way[v] = columns(s, v, p->cols, &from, &to);
    e.x = align(s, &way[RAW], e.x);
    if (use == AUTO) use = decide_view(s, &from, e.x, way, xt);
    report_text(s, "align", names[use]);
    *m = way[use];
    m->shift = COPY(keep, m->shift, m->cols);
    m->factor = COPY(keep, m->factor, m->cols);
    m->trees = fit_trees(s, keep, o->trees, &e);
    m->linear = fit_linear(s, keep, o->C, &e);
    report_fit(s, 0, NAN,
               progress(s, "aligned-trees", ALIGNS + 1, ALIGNS + 1, NAN) ? FERRY_STOP_FINISH
                                                                         : FERRY_STOP_DONE);
}

static void aligned_scores(scope *s, const void *state, const domain *d, block out)
{
    const aligned_state *m = state;
    const block more = block_like(s, out);

    if (m->cols != d->x.cols)
        scope_fail(s, FERRY_EDATA, "aligned-trees: the model is of other columns");
    const matrix z = align(s, m, d->x);
    learned_scores(s, &m->trees, z, out);
    learned_scores(s, &m->linear, z, more);
    axpby(s, 0.5, more, 0.5, out);
}

const method method_aligned_trees = {
    .name = "aligned-trees",
    .summary = "label sets under shift: columns aligned where that makes the domains alike",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    .wants = {.as = JOINED, .beside = true, .unscaled = true},
    METHOD_OPTIONS(aligned_opts, aligned_options),
    .state = &aligned_table,
    .whole = true,
    .least = 0.5,
    .fit = aligned_fit,
    .scores = aligned_scores,
};
