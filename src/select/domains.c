/* The domains to choose among: drawn, in common columns, prepared and measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learn/rows.h"
#include "learn/scale.h"
#include "select/select.h"

void ferry_i_select_clear(select_set *s)
{
    for (int64_t i = 0; s->d && i < s->n; i++)
        for (int k = 0; k < 2; k++) {
            ferry_i_matrix_free(s->d[i].x[k]);
            ferry_i_free(s->d[i].cls[k]);
        }
    FERRY_FREE(s->d, s->distance);
    *s = (select_set){0};
}

/* ---- measures ---- */

/* Mean over the columns of 1 - H / log 10, H the entropy of ten bins between the least and
 * the largest value.
 * Ranges begin at 0, so that a value that CSR does not store lies within them. A feature
 * that does not vary has entropy 0 and counts as 1. */
static ferry_status unevenness(ferry_ctx *ctx, const ferry_matrix *x, double *out)
{
    enum { BINS = 10 };
    ferry_status st = FERRY_OK;
    const double *v = row_values(x);
    double *low = NULL, *high = NULL, sum = 0; /* 0 is always between them */
    int64_t *count = NULL, *zeros = NULL;

    FERRY_NEW(ctx, low, x->cols);
    FERRY_NEW(ctx, high, x->cols);
    FERRY_NEW(ctx, zeros, x->cols);
    FERRY_NEW(ctx, count, x->cols * BINS);
    for (int64_t j = 0; j < x->cols; j++)
        zeros[j] = x->rows;
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            const int64_t j = row_column(x, i, e);
            low[j] = fmin(low[j], v[e]);
            high[j] = fmax(high[j], v[e]);
            zeros[j] -= v[e] != 0;
        }
    /* The ten bins of each feature over its own range; the largest value falls into the
     * last. */
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            const int64_t j = row_column(x, i, e);
            if (isnan(v[e]) || v[e] == 0) continue; /* zeros may not be stored */
            const int64_t b = (int64_t)((v[e] - low[j]) / (high[j] - low[j]) * BINS);
            count[j * BINS + (b < BINS ? b : BINS - 1)]++;
        }
    for (int64_t j = 0; j < x->cols; j++) {
        const double width = high[j] - low[j];
        double total = 0, h = 0;
        if (width > 0) {
            const int64_t b = (int64_t)(-low[j] / width * BINS);
            count[j * BINS + (b < BINS ? b : BINS - 1)] += zeros[j];
        }
        for (int64_t b = 0; b < BINS; b++)
            total += (double)count[j * BINS + b];
        for (int64_t b = 0; b < BINS; b++) {
            const double p = (double)count[j * BINS + b] / fmax(total, 1);
            h -= p > 0 ? p * log(p) : 0;
        }
        sum += 1 - h / log(BINS);
    }
    *out = sum / (double)x->cols;
done:
    FERRY_FREE(low, high, zeros, count);
    return st;
}

/* The paper's long tail of rare words, for features that can be counted; a value below 0
 * says that these cannot, and then unevenness takes its place. */
ferry_status ferry_i_select_complexity(ferry_ctx *ctx, const ferry_matrix *x, double tail,
                                       double *out)
{
    ferry_status st = FERRY_OK;
    const double *v = row_values(x);
    int64_t *c = ferry_i_calloc(x->cols, sizeof *c), m = 0, rare = 0;
    bool below = false;

    *out = 0;
    FERRY_HAVE(ctx, c);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            c[row_column(x, i, e)] += v[e] > 0;
            below = below || v[e] < 0;
        }
    /* "Occurs" has no meaning for values on both sides of 0. */
    if (below) {
        FERRY_TRY(unevenness(ctx, x, out));
        goto done;
    }
    for (int64_t j = 0; j < x->cols; j++) {
        m += c[j] > 0;
        rare += c[j] > 0 && (double)c[j] < tail * (double)x->rows;
    }
    if (m > 0) *out = (double)rare / (double)m;
done:
    ferry_i_free(c);
    return st;
}

/* Errors on `test` of what was learned on `train` (rows of a, then of b, equally many).
 * *errors grows by the mistakes. The same random stream for both halves and all pairs: a
 * distance depends on its two samples alone, not on what was measured before it. */
static ferry_status held_out(ferry_ctx *ctx, const ferry_linear_options *o,
                             const ferry_matrix *train, const ferry_matrix *test,
                             const int32_t *y_train, const int32_t *y_test, int64_t *errors)
{
    ferry_status st = FERRY_OK;
    ferry_linear *m = NULL;
    ferry_block *scores = NULL;

    FERRY_TRY(ferry_i_linear_fit(ctx, o, train, 2, y_train, NULL, &m));
    FERRY_TRY(ferry_i_block_new(ctx, test->rows, 2, &scores));
    FERRY_TRY(ferry_i_linear_scores(ctx, m, test, scores));
    for (int64_t i = 0; i < test->rows; i++) {
        const double *p = FERRY_ROW(scores, i);
        *errors += (p[1] > p[0]) != y_test[i];
    }
done:
    ferry_i_linear_free(m);
    ferry_i_block_free(scores);
    return st;
}

/* The proxy of the A-distance (Ben-David et al.): 0 where a classifier does no better
 * than a coin, 2 where it is never wrong. Both samples are in the same columns. */
ferry_status ferry_i_select_distance(ferry_ctx *ctx, const ferry_matrix *a,
                                     const ferry_matrix *b, double C, double *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = a->rows < b->rows ? a->rows : b->rows, half = n / 2;
    const ferry_linear_options o = {FERRY_LINEAR_LOGREG, C, 0.01, 0, true, false};
    int64_t *rows = ferry_i_calloc(n, sizeof *rows), errors = 0;
    int32_t *y = ferry_i_calloc(2 * n, sizeof *y);
    ferry_matrix *part[4] = {NULL, NULL, NULL, NULL}, *fold[2] = {NULL, NULL};

    FERRY_HAVE(ctx, rows && y);
    /* even rows are one half, odd rows the other; an odd one out is left */
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < half; i++)
            rows[i] = 2 * i + k;
        FERRY_TRY(ferry_i_matrix_take(ctx, a, half, rows, a->cols, NULL, &part[2 * k]));
        FERRY_TRY(ferry_i_matrix_take(ctx, b, half, rows, b->cols, NULL, &part[2 * k + 1]));
        const ferry_matrix *both[] = {part[2 * k], part[2 * k + 1]};
        FERRY_TRY(ferry_i_matrix_stack(ctx, 2, both, &fold[k]));
    }
    for (int64_t i = 0; i < half; i++)
        y[i] = 1; /* a */
    FERRY_TRY(held_out(ctx, &o, fold[0], fold[1], y, y, &errors));
    FERRY_TRY(held_out(ctx, &o, fold[1], fold[0], y, y, &errors));
    /* 2 (1 - 2 e) with e over the 4 half rows of both ways; e above 1/2 is chance, not
     * less than no distance. */
    *out = fmax(0, 2 * (1 - 2 * (double)errors / (double)(4 * half)));
done:
    for (int k = 0; k < 4; k++)
        ferry_i_matrix_free(part[k]);
    ferry_i_matrix_free(fold[0]);
    ferry_i_matrix_free(fold[1]);
    FERRY_FREE(rows, y);
    return st;
}

void ferry_i_select_features(const select_set *s, int64_t source, int64_t bridge,
                             int64_t target, double *c)
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
static ferry_status view_of(ferry_ctx *ctx, const select_options *o, const ferry_domain *d,
                            const ferry_view **out)
{
    ferry_status st = FERRY_OK;

    *out = NULL;
    if (o->view[0])
        *out = ferry_i_domain_view(d, o->view);
    else if (d->n_views == 1)
        *out = d->views[0];
    FERRY_NEED(ctx, *out, FERRY_ENEEDS,
               o->view[0] ? "select: domain '%s' has no view '%s'"
                          : "select: domain '%s' has not exactly one view%s; say which: "
                            "view=NAME",
               d->name, o->view);
done:
    return st;
}

/* The columns of all domains in one numbering: by name, else by number. */
static ferry_status number_columns(ferry_ctx *ctx, const ferry_view *v, ferry_ids *all,
                                   int64_t *cols, int32_t **map)
{
    ferry_status st = FERRY_OK;

    const bool named = ferry_i_view_has_names(v);

    *map = NULL;
    FERRY_NEED(ctx, named || *cols < 0 || *cols == v->x->cols, FERRY_ENEEDS,
               "select: view '%s' has %lld features without names, others have %lld",
               v->name, (long long)v->x->cols, (long long)*cols);
    FERRY_NEED(ctx, named || ferry_i_ids_count(all) == 0, FERRY_ENEEDS,
               "select: the features of some domains have names, those of others have not");
    FERRY_NEW(ctx, *map, v->x->cols);
    for (int64_t j = 0; j < v->x->cols; j++) {
        const int64_t at =
            named ? ferry_i_ids_add(all, ferry_i_ids_at(v->features, j), NULL) : j;
        FERRY_HAVE(ctx, at >= 0);
        (*map)[j] = (int32_t)at;
    }
    *cols = named ? ferry_i_ids_count(all) : v->x->cols;
done:
    return st;
}

/* ---- drawing ---- */

/* Two samples of the view's rows; their features before they are prepared. */
static ferry_status draw(ferry_ctx *ctx, const ferry_domain *d, const ferry_view *v,
                         const select_options *o, int64_t cols, const int32_t *map,
                         select_domain *out)
{
    ferry_status st = FERRY_OK;
    const int64_t rows = v->x->rows, n = o->sample < rows / 2 ? o->sample : rows / 2;
    int64_t *order = ferry_i_calloc(rows, sizeof *order);
    /* A stream for each domain by name: adding a domain to the task leaves the samples of
     * the others as they are. */
    char use[300];
    ferry_rng rng;

    out->name = d->name;
    out->role = d->role;
    FERRY_HAVE(ctx, order);
    FERRY_NEED(ctx, n >= 4, FERRY_ENEEDS,
               "select: domain '%s' has %lld instances, expected 8 or more", d->name,
               (long long)rows);
    (void)snprintf(use, sizeof use, "select %s", d->name);
    ferry_i_rng_for(ctx, &rng, use);
    for (int64_t i = 0; i < rows; i++)
        order[i] = i;
    ferry_i_rng_shuffle(&rng, rows, order);
    for (int k = 0; k < 2; k++) {
        FERRY_TRY(ferry_i_matrix_take(ctx, v->x, n, order + k * n, cols, map, &out->x[k]));
        FERRY_HAVE(ctx, out->cls[k] = ferry_i_calloc(n, sizeof **out->cls));
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = v->instance[order[k * n + i]];
            out->cls[k][i] = d->labels ? d->labels->cls[at] : -1;
            out->labelled = out->labelled || out->cls[k][i] >= 0;
        }
    }
    /* Before scaling: it is about how often features occur. */
    FERRY_TRY(ferry_i_select_complexity(ctx, out->x[0], o->tail, &out->complexity));
done:
    ferry_i_free(order);
    return st;
}

ferry_status ferry_i_select_scale(ferry_ctx *ctx, int64_t n, ferry_matrix *const *from,
                                  int64_t m, ferry_matrix **x)
{
    ferry_status st = FERRY_OK;
    ferry_scale_part *part = NULL;
    ferry_scaler *scale = NULL;

    FERRY_NEW(ctx, part, n);
    for (int64_t i = 0; i < n; i++)
        part[i].x = from[i];
    FERRY_TRY(
        ferry_i_scaler_fit(ctx, FERRY_SCALE_AUTO, from[0]->cols, n, part, &scale, NULL));
    for (int64_t i = 0; i < m; i++) {
        const ferry_scale_part raw = {.x = x[i]};
        ferry_matrix *ready = NULL;
        FERRY_TRY(ferry_i_scaler_apply(ctx, scale, &raw, (ferry_scale_how){0}, &ready));
        ferry_i_matrix_free(x[i]);
        x[i] = ready;
    }
done:
    ferry_i_scaler_free(scale);
    ferry_i_free(part);
    return st;
}

/* As all domains' first samples together ask for: the second are only a check. */
static ferry_status scale_all(ferry_ctx *ctx, select_set *s)
{
    ferry_status st = FERRY_OK;
    ferry_matrix **first = NULL, **all = NULL;

    FERRY_NEW(ctx, first, s->n);
    FERRY_NEW(ctx, all, 2 * s->n);
    for (int64_t i = 0; i < s->n; i++) {
        first[i] = ferry_i_matrix_ref(s->d[i].x[0]);
        for (int k = 0; k < 2; k++)
            all[2 * i + k] = s->d[i].x[k];
    }
    st = ferry_i_select_scale(ctx, s->n, first, 2 * s->n, all);
    for (int64_t i = 0; i < s->n; i++)
        for (int k = 0; k < 2; k++)
            s->d[i].x[k] = all[2 * i + k];
done:
    for (int64_t i = 0; first && i < s->n; i++)
        ferry_i_matrix_free(first[i]);
    FERRY_FREE(first, all);
    return st;
}

/* Symmetric, 0 on the diagonal: n (n - 1) / 2 pairs, two logistic regressions each. */
static ferry_status distances(ferry_ctx *ctx, const select_options *o, select_set *s)
{
    ferry_status st = FERRY_OK;
    const int64_t pairs = s->n * (s->n - 1) / 2;
    int64_t done_pairs = 0;
    bool finish = false;

    FERRY_NEW(ctx, s->distance, s->n * s->n);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = i + 1; j < s->n; j++) {
            FERRY_TRY(ferry_i_select_distance(ctx, s->d[i].x[0], s->d[j].x[0], o->C,
                                              &s->distance[i * s->n + j]));
            s->distance[j * s->n + i] = s->distance[i * s->n + j];
            FERRY_TRY(
                ferry_i_progress(ctx, "distances", ++done_pairs, pairs, NAN, &finish));
        }
done:
    return st;
}

/* Two rounds over the domains: all columns must be numbered before the first matrix is
 * made in them. s is cleared by the caller, also when this fails. */
ferry_status ferry_i_select_set(ferry_ctx *ctx, const ferry_task *task,
                                const select_options *o, bool target, select_set *s)
{
    ferry_status st = FERRY_OK;
    ferry_ids *all = ferry_i_ids_new();
    int32_t **map = ferry_i_calloc(task->n_domains, sizeof *map);
    const ferry_view *v = NULL;
    int64_t cols = -1;

    *s = (select_set){.classes = ferry_i_ids_count(task->names)};
    FERRY_NEW(ctx, s->d, task->n_domains);
    FERRY_HAVE(ctx, all && map);
    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        if (d->role == FERRY_TARGET && !target) continue;
        FERRY_TRY(view_of(ctx, o, d, &v));
        FERRY_TRY(number_columns(ctx, v, all, &cols, &map[i]));
    }
    for (int64_t i = 0; i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        if (!map[i]) continue;
        FERRY_TRY(view_of(ctx, o, d, &v));
        s->n++;
        FERRY_TRY(draw(ctx, d, v, o, cols, map[i], &s->d[s->n - 1]));
    }
    FERRY_TRY(scale_all(ctx, s));
    FERRY_TRY(distances(ctx, o, s));
done:
    for (int64_t i = 0; map && i < task->n_domains; i++)
        ferry_i_free(map[i]);
    ferry_i_free(map);
    ferry_i_ids_free(all);
    return st;
}
