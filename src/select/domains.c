/* The domains to choose among: drawn, in common columns, scaled and measured. */
#include <math.h>
#include <string.h>

#include "learn/linear.h"
#include "learn/scale.h"
#include "select/select.h"

/* ---- measures ---- */

/* Mean over the columns of 1 - H / log 10, H the entropy of ten bins between the least and the largest value.
 * Ranges begin at 0, so that a value that CSR does not store lies within them. A feature that does not vary has
 * entropy 0 and counts as 1. */
static double unevenness(scope *s, matrix x)
{
    enum { BINS = 10 };
    double *low = NEW(s, double, x.cols), *high = NEW(s, double, x.cols), all = 0;
    int64_t *count = NEW(s, int64_t, x.cols * BINS), *zeros = NEW(s, int64_t, x.cols);

    for (int64_t j = 0; j < x.cols; j++)
        zeros[j] = x.n;
    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        for (int64_t e = 0; e < r.n; e++) {
            const int64_t j = r.index ? r.index[e] : e;
            low[j] = fmin(low[j], r.value[e]);
            high[j] = fmax(high[j], r.value[e]);
            zeros[j] -= r.value[e] != 0;
        }
    }
    /* The ten bins of each feature over its own range; the largest value falls into the last. */
    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        for (int64_t e = 0; e < r.n; e++) {
            const int64_t j = r.index ? r.index[e] : e;
            if (isnan(r.value[e]) || r.value[e] == 0) continue; /* may not be stored */
            const int64_t b = (int64_t)((r.value[e] - low[j]) / (high[j] - low[j]) * BINS);
            count[j * BINS + (b < BINS ? b : BINS - 1)]++;
        }
    }
    for (int64_t j = 0; j < x.cols; j++) {
        const double width = high[j] - low[j];
        const int64_t zero = width > 0 ? (int64_t)(-low[j] / width * BINS) : 0;
        double total = 0, h = 0;
        if (width > 0) count[j * BINS + (zero < BINS ? zero : BINS - 1)] += zeros[j];
        for (int64_t b = 0; b < BINS; b++)
            total += (double)count[j * BINS + b];
        for (int64_t b = 0; b < BINS; b++) {
            const double p = (double)count[j * BINS + b] / fmax(total, 1);
            h -= p > 0 ? p * log(p) : 0;
        }
        all += 1 - h / log(BINS);
    }
    return all / (double)x.cols;
}

/* The paper's long tail of rare words, for features that can be counted; a value below 0 says that these cannot:
 * "occurs" has no meaning there, and unevenness takes its place. */
double complexity(scope *s, matrix x, double tail)
{
    int64_t *c = NEW(s, int64_t, x.cols), m = 0, rare = 0;
    bool below = false;

    for (int64_t i = 0; i < x.n; i++) {
        const ferry_row r = row_at(x, i);
        for (int64_t e = 0; e < r.n; e++) {
            c[r.index ? r.index[e] : e] += r.value[e] > 0;
            below = below || r.value[e] < 0;
        }
    }
    if (below) return unevenness(s, x);
    for (int64_t j = 0; j < x.cols; j++) {
        m += c[j] > 0;
        rare += c[j] > 0 && (double)c[j] < tail * (double)x.n;
    }
    return m > 0 ? (double)rare / (double)m : 0;
}

/* Mistakes on `test` of what was learned on `train`: rows of a, then of b, equally many. */
static int64_t mistakes(scope *s, double C, matrix train, matrix test, const int32_t *y)
{
    const linear_options o = {.loss = LOSS_LOGISTIC, .C = C, .eps = 0.01, .bias = true};
    const examples e = {.x = train, .y = {.goal = FERRY_CLASSIFY, .k = 2, .cls = y}};
    const linear_model m = linear_fit(s, s, &o, &e);
    const block p = block_new(s, test.rows, test.n, 2);
    int64_t wrong = 0;

    linear_scores(s, &m, test, p);
    for (int64_t i = 0; i < p.n; i++)
        wrong += (ROW(p, i)[1] > ROW(p, i)[0]) != y[i];
    return wrong;
}

/* The proxy of the A-distance (Ben-David et al.): 0 where a classifier does no better than a coin, 2 where it is never
 * wrong. Both samples are in the same columns. Even rows are one half, odd rows the other; an odd one out is left. */
double a_distance(scope *s, matrix a, matrix b, double C)
{
    const int64_t mark = scope_mark(s), half = (a.n < b.n ? a.n : b.n) / 2;
    int64_t *rows = NEW(s, int64_t, half);
    int32_t *y = NEW(s, int32_t, 2 * half);
    matrix fold[2];

    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < half; i++)
            rows[i] = 2 * i + k;
        const matrix both[] = {take_rows(s, a, half, rows, false),
                               take_rows(s, b, half, rows, false)};
        fold[k] = stack(s, 2, both);
    }
    for (int64_t i = 0; i < half; i++)
        y[i] = 1; /* a */
    const int64_t wrong =
        mistakes(s, C, fold[0], fold[1], y) + mistakes(s, C, fold[1], fold[0], y);
    scope_release(s, mark);
    /* over the 4 half rows of both ways; an error above 1/2 is chance, not less than no distance */
    return fmax(0, 2 * (1 - 2 * (double)wrong / (double)(4 * half)));
}

void triple_features(const select_set *s, int64_t source, int64_t bridge, int64_t target,
                     double *c)
{
    c[0] = s->d[source].complexity;
    c[1] = s->d[bridge].complexity;
    c[2] = s->d[target].complexity;
    c[3] = s->distance[source * s->n + bridge];
    c[4] = s->distance[source * s->n + target];
    c[5] = s->distance[bridge * s->n + target];
}

/* ---- columns ---- */

/* The view that option `view` names, or the only one. */
static const ferry_view *view_of(scope *s, const select_options *o, const ferry_domain *d)
{
    const ferry_view *v = o->view[0]        ? ferry_i_domain_view(d, o->view)
                          : d->n_views == 1 ? d->views[0]
                                            : NULL;

    if (!v)
        scope_fail(s, FERRY_ENEEDS,
                   o->view[0] ? "select: domain '%s' has no view '%s'"
                              : "select: domain '%s' has not exactly one view%s; say "
                                "which: view=NAME",
                   d->name, o->view);
    return v;
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

/* The columns of all domains in one numbering: by name, else by number. */
static int32_t *number_columns(scope *s, const ferry_view *v, ferry_ids *all, int64_t *cols)
{
    const bool named = ferry_i_view_has_names(v);
    int32_t *map = NEW(s, int32_t, v->x->cols);

    if (!named && *cols >= 0 && *cols != v->x->cols)
        scope_fail(s, FERRY_ENEEDS,
                   "select: view '%s' has %lld features without names, others have %lld",
                   v->name, (long long)v->x->cols, (long long)*cols);
    if (!named && ferry_i_ids_count(all) > 0)
        scope_fail(s, FERRY_ENEEDS,
                   "select: the features of some domains have names, those of others have "
                   "not");
    for (int64_t j = 0; j < v->x->cols; j++) {
        const int64_t at =
            named ? ferry_i_ids_add(all, ferry_i_ids_at(v->features, j), NULL) : j;
        if (at < 0) scope_check(s, ferry_i_nomem(scope_ctx(s)));
        map[j] = (int32_t)at;
    }
    *cols = named ? ferry_i_ids_count(all) : v->x->cols;
    return map;
}

/* ---- drawing ---- */

/* Two samples of the view's rows; their features before they are scaled. A stream for each domain by name: adding a
 * domain to the task leaves the samples of the others as they are. */
static select_domain draw(scope *s, const ferry_domain *d, const ferry_view *v,
                          const select_options *o, int64_t cols, const int32_t *map)
{
    const int64_t rows = v->x->rows, n = o->sample < rows / 2 ? o->sample : rows / 2;
    int64_t *order = NEW(s, int64_t, rows);
    select_domain to = {.name = d->name, .role = d->role};

    if (n < 4)
        scope_fail(s, FERRY_ENEEDS,
                   "select: domain '%s' has %lld instances, expected 8 or more", d->name,
                   (long long)rows);
    for (int64_t i = 0; i < rows; i++)
        order[i] = i;
    shuffle(scope_rng(s, scope_text(s, "select %.292s", d->name)), rows, order);
    for (int k = 0; k < 2; k++) {
        ferry_matrix *x = NULL;
        scope_check(
            s, ferry_i_matrix_take(scope_ctx(s), v->x, n, order + k * n, cols, map, &x));
        to.x[k] = matrix_own(s, x);
        to.cls[k] = NEW(s, int32_t, n);
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = v->instance[order[k * n + i]];
            to.cls[k][i] = d->labels ? d->labels->cls[at] : -1;
            to.labelled = to.labelled || to.cls[k][i] >= 0;
        }
    }
    /* Before scaling: it is about how often features occur. */
    to.complexity = complexity(s, to.x[0], o->tail);
    return to;
}

void scale_together(scope *s, int64_t n, const matrix *from, int64_t m, matrix *x)
{
    ferry_scale_part *part = NEW(s, ferry_scale_part, n);

    for (int64_t i = 0; i < n; i++)
        part[i].x = from[i].m;
    const ferry_scaler *by =
        scaler_fit(s, s, FERRY_SCALE_AUTO, from[0].cols, n, part, NULL);
    for (int64_t i = 0; i < m; i++) {
        const ferry_scale_part raw = {.x = x[i].m};
        x[i] = matrix_borrow(s, scaler_apply(s, by, &raw, (ferry_scale_how){0}));
    }
}

/* As all domains' first samples together ask for: the second are only a check. */
static void scale_all(scope *s, select_set *set)
{
    matrix *first = NEW(s, matrix, set->n);

    for (int64_t i = 0; i < set->n; i++)
        first[i] = set->d[i].x[0];
    matrix *all = NEW(s, matrix, 2 * set->n);
    for (int64_t i = 0; i < set->n; i++)
        memcpy(all + 2 * i, set->d[i].x, sizeof set->d[i].x);
    scale_together(s, set->n, first, 2 * set->n, all);
    for (int64_t i = 0; i < set->n; i++)
        memcpy(set->d[i].x, all + 2 * i, sizeof set->d[i].x);
}

/* Symmetric, 0 on the diagonal: n (n - 1) / 2 pairs, two logistic regressions each. */
static double *distances(scope *s, const select_options *o, const select_set *set)
{
    const int64_t n = set->n;
    double *to = NEW(s, double, n *n);
    int64_t pairs = 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            to[i * n + j] = to[j * n + i] =
                a_distance(s, set->d[i].x[0], set->d[j].x[0], o->C);
            (void)progress(s, "distances", ++pairs, n * (n - 1) / 2, NAN);
        }
    return to;
}

/* Two rounds over the domains: all columns must be numbered before the first matrix is made in them. */
select_set measured_domains(scope *s, const ferry_task *task, const select_options *o,
                            bool target)
{
    select_set set = {.classes = ferry_i_ids_count(task->names),
                      .d = NEW(s, select_domain, task->n_domains)};
    int32_t **map = NEW(s, int32_t *, task->n_domains);
    ferry_ids *all = ferry_i_ids_new();
    int64_t cols = -1;

    if (!all) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, free_ids, all);
    for (int64_t i = 0; i < task->n_domains; i++)
        if (target || task->domains[i]->role != FERRY_TARGET)
            map[i] = number_columns(s, view_of(s, o, task->domains[i]), all, &cols);
    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        if (map[i]) set.d[set.n++] = draw(s, d, view_of(s, o, d), o, cols, map[i]);
    }
    scale_all(s, &set);
    set.distance = distances(s, o, &set);
    return set;
}
