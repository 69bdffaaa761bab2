/* cotransfer: labels by random walks with restart on the joint graph of texts, pairs and pictures (Ng, Wu and Ye,
 * Co-Transfer Learning Using Coupled Markov Chains with Restart, IEEE Intelligent Systems 2014; rebuilt from the paper,
 * not from its code).
 *
 * Every instance of every domain is a node. Its step goes to one of its k nearest (cosine, after the mean was taken off
 * if centre) among its own domain and a neighbouring one, on the features that both use; a domain between two others
 * takes either side with probability 1/2. With Q the labelled nodes, a column per class that sums to 1, the walk
 *
 *   F = mu P F + (1 - mu) Q
 *
 * is iterated until no entry moves by tol of the largest. A share beta of Q may be set on labelled nodes of the target.
 * mass: scale the classes to the sources' shares over the target's unlabelled nodes. A new instance takes the mean of
 * its k nearest nodes; one that was there before, its own. */
#include <math.h>
#include <string.h>

#include "learn/chain.h"
#include "learn/learn.h"
#include "prepare/problem.h"

enum { CENTRE_AUTO, CENTRE_YES, CENTRE_NO };

typedef struct cotransfer_options {
    int64_t neighbours, iterations;
    double mu, beta, tol;
    int mass, centre;
} cotransfer_options;

static const ferry_opt cotransfer_opts[] = {
    FERRY_OPT(cotransfer_options, REAL, mu, 0.9, 0, 1, "chance of a step; else restart"),
    FERRY_OPT(cotransfer_options, INT, neighbours, 30, 1, 10000, "where a step can go"),
    FERRY_OPT_YES_NO(cotransfer_options, mass, "yes",
                     "class mass normalisation to the sources' shares of classes"),
    FERRY_OPT(cotransfer_options, REAL, beta, 0, 0, 1,
              "share of the restarts that begin at labelled instances of the target"),
    FERRY_OPT_ONE_OF(
        cotransfer_options, centre, "auto|yes|no", "auto",
        "take off the mean before cosines; auto: of features that are no words"),
    FERRY_OPT(cotransfer_options, INT, iterations, 200, 1, 1e6, "steps of the walk"),
    FERRY_OPT(cotransfer_options, REAL, tol, 1e-4, 0, 1, "stop at changes below this"),
};

/* The nodes of the last two domains, which new instances are compared with. */
typedef struct cotransfer_state {
    int64_t k, width, nodes, cols;
    bool centre;
    uint8_t *keep; /* width: the columns of new data that count, */
    matrix x;      /* nodes x cols, on these */
    double *mean;  /* cols: of x */
    block f;       /* nodes x classes: their scores, classes scaled */
} cotransfer_state;
static const field cotransfer_fields[] = {
    ARRAY(cotransfer_state, INT, k, .lo = 1, .hi = 10001),
    VALUE(cotransfer_state, FLAG, centre),
    ARRAY(cotransfer_state, FLAGS, keep, .rows = SIZE(cotransfer_state, width)),
    ARRAY(cotransfer_state, MATRIX, x, .rows = SIZE(cotransfer_state, nodes),
          .cols = SIZE(cotransfer_state, cols)),
    ARRAY(cotransfer_state, REALS, mean, .rows = SIZE(cotransfer_state, cols)),
    ARRAY(cotransfer_state, BLOCK, f, .rows = SIZE(cotransfer_state, nodes),
          .cols = CLASSES),
};

/* The columns that count are those of the nodes. */
static void cotransfer_check(scope *s, const void *state)
{
    const cotransfer_state *m = state;
    int64_t kept = 0;

    for (int64_t j = 0; j < m->width; j++)
        kept += m->keep[j];
    if (kept != m->cols || m->nodes < 1)
        scope_fail(s, FERRY_EDATA, "tensor x has %lld rows and %lld columns, keep %lld",
                   (long long)m->nodes, (long long)m->cols, (long long)kept);
}
static const table cotransfer_table = {sizeof(cotransfer_state), cotransfer_fields,
                                       FERRY_COUNT(cotransfer_fields), cotransfer_check,
                                       NULL};

/* ---- neighbours ---- */

static double *column_means(scope *s, matrix x)
{
    double *mean = mass(s, x, NULL);

    for (int64_t j = 0; j < x.cols; j++)
        mean[j] /= (double)x.n;
    return mean;
}

/* The rows with their columns' means taken off, dense; mean NULL: as they are. */
static matrix take_off(scope *s, matrix x, const double *mean)
{
    if (!mean) return x;
    const matrix to = matrix_dense(s, x.rows, x.n, x.cols);
    for (int64_t i = 0; i < x.n; i++) {
        double *row = to.m->dense + i * x.cols;
        for (int64_t j = 0; j < x.cols; j++)
            row[j] = -mean[j];
        row_add(row_at(x, i), 1, row);
    }
    return to;
}

/* k nearest rows of x for every row of q, -1: none; chances in proportion to the cosine. */
typedef struct nearest {
    int64_t k;
    int64_t *index; /* rows x k */
    double *w;      /* rows x k: each row sums to 1 or 0 */
} nearest;

/* self: q is x, and no row is its own neighbour. */
static nearest find_nearest(scope *s, matrix x, matrix q, int64_t k, bool self)
{
    const nearest to = {k, NEW(s, int64_t, q.n * k), NEW(s, double, q.n *k)};
    const int64_t mark = scope_mark(s), more = k + self;
    int64_t *at = NEW(s, int64_t, q.n * more);
    double *dist = NEW(s, double, q.n *more);

    scope_check(s, ferry_i_knn(scope_ctx(s), x.m, q.m, more, FERRY_COSINE, at, dist));
    for (int64_t i = 0; i < q.n; i++) {
        double all = 0;
        int64_t n = 0;
        for (int64_t e = i * more; e < (i + 1) * more && n < k; e++) {
            if (self && at[e] == i) continue;
            const bool near = at[e] >= 0 && dist[e] < 1;
            to.index[i * k + n] = near ? at[e] : -1;
            to.w[i * k + n] = near ? 1 - dist[e] : 0;
            all += to.w[i * k + n++];
        }
        for (; n < k; n++)
            to.index[i * k + n] = -1;
        for (int64_t e = i * k; all > 0 && e < (i + 1) * k; e++)
            to.w[e] /= all;
    }
    scope_release(s, mark);
    return to;
}

/* ---- the graph ---- */

typedef struct side { /* two neighbouring domains, one on top of the other */
    int first, second;
    nearest near;
} side;

typedef struct walk {
    const cotransfer_options *o;
    const problem *p;
    int64_t *begin; /* of each domain its first node; of n: how many there are */
    int n_sides;
    side *side;
} walk;

/* Features that are no words are centred: their cosines are all near 1 otherwise. */
static bool centred(const cotransfer_options *o, const problem *p, const uint8_t *keep)
{
    if (o->centre != CENTRE_AUTO) return o->centre == CENTRE_YES;
    for (int64_t j = 0; j < p->cols; j++)
        if (keep[j] && !p->words[j]) return true;
    return false;
}

static side side_new(scope *s, const walk *w, int first, int second)
{
    side to = {.first = first, .second = second};
    const uint8_t *keep = columns_of_both(s, w->p->d[first].x, w->p->d[second].x, NULL);
    const matrix parts[] = {take_columns(s, w->p->d[first].x, keep, false),
                            take_columns(s, w->p->d[second].x, keep, false)};
    const matrix both = stack(s, 2, parts);
    const matrix x =
        take_off(s, both, centred(w->o, w->p, keep) ? column_means(s, both) : NULL);

    to.near = find_nearest(s, x, x, w->o->neighbours, true);
    return to;
}

static walk walk_new(scope *s, const problem *p, const cotransfer_options *o)
{
    walk w = {o, p, NEW(s, int64_t, p->n + 1), p->n - 1, NEW(s, side, p->n)};

    for (int i = 0; i < p->n; i++)
        w.begin[i + 1] = w.begin[i] + p->d[i].n;
    for (int i = 0; i < w.n_sides; i++) /* sources meet the first domain after them */
        w.side[i] = side_new(s, &w, i, i < p->n_sources ? p->n_sources : i + 1);
    return w;
}

static int64_t rows_of(const walk *w, const side *t)
{
    return w->p->d[t->first].n + w->p->d[t->second].n;
}

/* Row r of a side as a node. */
static int64_t node_of(const walk *w, const side *t, int64_t r)
{
    const int64_t n = w->p->d[t->first].n;

    return r < n ? w->begin[t->first] + r : w->begin[t->second] + r - n;
}

/* to <- mu P f + (1 - mu) Q: every side adds its part, divided by the sides of a node's domain. */
static void take_step(const walk *w, block q, block f, const double *share, block to)
{
    const double mu = w->o->mu;

    for (int64_t e = 0; e < to.n * to.k; e++)
        to.at[e] = (1 - mu) * q.at[e];
    for (int a = 0; a < w->n_sides; a++) {
        const side *t = &w->side[a];
        const int64_t k = t->near.k;
        for (int64_t r = 0; r < rows_of(w, t); r++) {
            const int64_t node = node_of(w, t, r);
            for (int64_t e = r * k; e < (r + 1) * k && t->near.index[e] >= 0; e++) {
                const double *from = ROW(f, node_of(w, t, t->near.index[e]));
                for (int64_t y = 0; y < f.k; y++)
                    ROW(to, node)[y] += mu * share[node] * t->near.w[e] * from[y];
            }
        }
    }
}

/* Columns of Q: the labelled nodes of sources and intermediates share 1 - beta, those of the target beta (all of it
 * where the other has none). */
static block restarts(scope *s, const walk *w)
{
    const problem *p = w->p;
    const block q = block_new(s, HERE(w->begin[p->n]), w->begin[p->n], p->classes);

    for (int64_t y = 0; y < p->classes; y++) {
        double count[2] = {0, 0};
        for (int i = 0; i < p->n; i++)
            for (int64_t r = 0; r < p->d[i].n; r++)
                count[i == p->n - 1] += p->d[i].known[r] == y;
        double beta = count[1] > 0 ? w->o->beta : 0;
        if (count[0] == 0) beta = 1;
        for (int i = 0; i < p->n; i++) {
            const bool last = i == p->n - 1;
            const double each = (last ? beta : 1 - beta) / count[last];
            for (int64_t r = 0; r < p->d[i].n; r++)
                if (p->d[i].known[r] == y) ROW(q, w->begin[i] + r)[y] = each;
        }
    }
    return q;
}

/* F of all nodes. */
static block run_walk(scope *s, const walk *w)
{
    const block q = restarts(s, w), f = block_like(s, q), to = block_like(s, q);
    const int64_t most = w->o->iterations;
    double *share = NEW(s, double, q.n);
    ferry_stop stop = FERRY_STOP_MAX_ITER;
    int64_t t = 0;

    for (int a = 0; a < w->n_sides; a++)
        for (int64_t r = 0; r < rows_of(w, &w->side[a]); r++)
            share[node_of(w, &w->side[a], r)]++;
    for (int64_t i = 0; i < q.n; i++)
        share[i] = share[i] > 0 ? 1 / share[i] : 0;
    copy(q, f);
    while (t < most && stop == FERRY_STOP_MAX_ITER) {
        double largest = 0;
        take_step(w, q, f, share, to);
        const double moved = largest_change(s, to, f);
        for (int64_t e = 0; e < to.n * to.k; e++)
            largest = fmax(largest, fabs(to.at[e]));
        copy(to, f);
        const bool finish = progress(s, "cotransfer", ++t, most, NAN);
        if (moved <= w->o->tol * largest) stop = FERRY_STOP_TOL;
        if (finish) stop = FERRY_STOP_FINISH;
    }
    report_fit(s, t, NAN, stop);
    return f;
}

/* What the classes are to be multiplied with. */
static double *class_mass(scope *s, const walk *w, block f)
{
    const problem *p = w->p;
    const domain *t = target(p);
    double *factor = NEW(s, double, p->classes);

    for (int64_t y = 0; y < p->classes; y++) {
        double all = 0, shares = 0;
        for (int64_t i = 0; i < t->n; i++)
            all += t->known[i] < 0 ? ROW(f, w->begin[p->n - 1] + i)[y] : 0;
        for (int i = 0; i < p->n_sources; i++)
            for (int64_t r = 0; r < p->d[i].n; r++)
                shares += p->d[i].known[r] == y;
        factor[y] = w->o->mass && all > 0 ? shares / all : 1;
    }
    return factor;
}

/* ---- the model ---- */

/* The nodes of the last intermediate domain (or source) and of the target. */
static void cotransfer_fit(scope *s, scope *keep, const problem *p, const void *options,
                           void *state)
{
    const walk w = walk_new(s, p, options);
    const int last = p->n - 1, before = last - 1;
    const block f = run_walk(s, &w);
    const double *factor = class_mass(s, &w, f);
    const uint8_t *both = columns_of_both(s, p->d[before].x, p->d[last].x, NULL);
    const matrix parts[] = {target_columns(s, p, p->d[before].x, -1, NULL, NULL),
                            target_columns(s, p, p->d[last].x, -1, NULL, NULL)};
    cotransfer_state *m = state;

    m->k = w.o->neighbours;
    m->centre = centred(w.o, p, both);
    m->width = p->width;
    m->keep = NEW(keep, uint8_t, p->width);
    for (int64_t j = 0; j < p->width; j++)
        m->keep[j] = both[p->target_column[j]];
    m->x = take_columns(keep, stack(s, 2, parts), m->keep, false);
    m->nodes = m->x.n;
    m->cols = m->x.cols;
    m->mean = column_means(keep, m->x);
    m->f = block_new(keep, HERE(m->nodes), m->nodes, p->classes);
    for (int64_t n = 0; n < m->nodes; n++)
        for (int64_t y = 0; y < p->classes; y++)
            ROW(m->f, n)[y] = ROW(f, w.begin[before] + n)[y] * factor[y];
}

static int64_t column_of(ferry_row r, int64_t e)
{
    if (e >= r.n) return INT64_MAX;
    return r.index ? r.index[e] : e;
}

static bool same_row(ferry_row a, ferry_row b)
{
    for (int64_t i = 0, j = 0; i < a.n || j < b.n;) {
        const int64_t in_a = column_of(a, i), in_b = column_of(b, j);
        const double x = in_a <= in_b ? a.value[i++] : 0,
                     y = in_b <= in_a ? b.value[j++] : 0;
        if (!(fabs(x - y) < 1e-12)) return false;
    }
    return true;
}

/* The mean of the nearest nodes; of a node itself where one is the same. */
static void cotransfer_scores(scope *s, const void *state, const domain *d, block out)
{
    const cotransfer_state *m = state;
    const double *mean = m->centre ? m->mean : NULL;
    const matrix x = take_columns(s, d->x, m->keep, false);
    const nearest near =
        find_nearest(s, take_off(s, m->x, mean), take_off(s, x, mean), m->k, false);

    for (int64_t i = 0; i < x.n; i++) {
        const int64_t *index = near.index + i * m->k;
        const double *w = near.w + i * m->k;
        if (index[0] >= 0 && same_row(row_at(x, i), row_at(m->x, index[0]))) {
            memcpy(ROW(out, i), ROW(m->f, index[0]), (size_t)out.k * sizeof(double));
            continue;
        }
        for (int64_t e = 0; e < m->k && index[e] >= 0; e++)
            for (int64_t y = 0; y < out.k; y++)
                ROW(out, i)[y] += w[e] * ROW(m->f, index[e])[y];
    }
}

const method method_cotransfer = {
    .name = "cotransfer",
    .summary = "random walks with restart over the graph of all instances of the bridge",
    .reference =
        "Ng, Wu, Ye, Co-Transfer Learning Using Coupled Markov Chains with Restart, "
        "IEEE Intelligent Systems 2014",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    .wants = {.as = CHAIN, .domains = WANT_SOURCES | WANT_BRIDGES | WANT_TARGET},
    METHOD_OPTIONS(cotransfer_opts, cotransfer_options),
    .state = &cotransfer_table,
    .whole = true,
    .fit = cotransfer_fit,
    .scores = cotransfer_scores,
};
