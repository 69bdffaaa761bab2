/* GBC: labels spread over each instance's nearest rows, where classes are clusters of rows.
 *
 * The views side by side, scaled by the rule, make a graph (learn/neighbours.c) of 5, 10 or 20
 * neighbours; from the mean of the labels it is smoothed as label-propagation does. How many
 * neighbours and how much they count is chosen by held-out loss, and what the part is worth
 * by its share in the mixture (answers.c): where rows near each other have nothing to do with
 * the labels it is left out.
 *
 * A row that comes later is answered by its nearest rows of the fit (the induction formula of
 * Delalleau, Bengio and Le Roux, Efficient Non-Parametric Function Induction in
 * Semi-Supervised Learning, AISTATS 2005): so an answer does not depend on what else is asked,
 * and the model keeps the rows. Hence the limits. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "data/parts.h"
#include "learn/rows.h"
#include "methods/gbc/gbc.h"

enum { MOST_ROWS = 10000, MOST_CELLS = 10000000, MOST_NEAR = 20 };

void ferry_i_gbc_nearest_clear(gbc_nearest *n)
{
    ferry_i_matrix_free(n->x);
    FERRY_FREE(n->instance, n->index, n->dist);
    *n = (gbc_nearest){0};
}

void ferry_i_gbc_near_clear(gbc_near *n)
{
    ferry_i_matrix_free(n->x);
    ferry_i_ids_free(n->ids);
    FERRY_FREE(n->answers, n->scale, n->prior);
    *n = (gbc_near){0};
}

/* The rows that have features, and the nearest of each: O(n^2 d). They are few enough for every rank to have all; who is
 * near whom is what rank 0 finds. */
static ferry_status search(ferry_ctx *ctx, const gbc_tuning *s, gbc_nearest *near)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = s->g;
    const ferry_matrix *x = s->side->plain;
    ferry_matrix *all = NULL;
    int64_t cells = x->dense ? x->rows * x->cols : x->start[x->rows];

    FERRY_NEW(ctx, near->instance, g->n);
    for (int64_t i = 0; i < g->n; i++) {
        bool any = false;
        for (int64_t v = 0; v < g->p; v++)
            any = any || g->mask[v * g->n + i];
        if (any) near->instance[near->n++] = i;
    }
    FERRY_TRY(ferry_i_ranks_count(ctx, &cells));
    if (near->n < 3 || near->n > MOST_ROWS || cells > MOST_CELLS) goto done;
    if (x->whole) FERRY_TRY(ferry_i_matrix_collect(ctx, x, &all));
    FERRY_TRY(ferry_i_matrix_take(ctx, all ? all : x, near->n, near->instance, x->cols,
                                  NULL, &near->x));
    near->k = near->n - 1 < MOST_NEAR ? near->n - 1 : MOST_NEAR;
    FERRY_TRY(ferry_i_near_rows(ctx, near->x, near->k, &near->index, &near->dist));
    const int64_t wide = near->n * (near->k + 1);
    FERRY_TRY(ferry_i_ranks_tell(ctx, near->index, wide * (int64_t)sizeof *near->index));
    FERRY_TRY(ferry_i_ranks_tell(ctx, near->dist, wide * (int64_t)sizeof *near->dist));
done:
    ferry_i_matrix_free(all);
    return st;
}

/* The graph of the k nearest, among all instances. */
static ferry_status graph_of(ferry_ctx *ctx, const gbc_nearest *near, int64_t n, int64_t k,
                             ferry_graph **out)
{
    ferry_status st = FERRY_OK;
    int64_t *from = NULL, *to = NULL, edges = 0, loops = 0;
    double *weight = NULL;

    FERRY_TRY(ferry_i_near_join(ctx, near->n, near->k + 1, k, near->index, near->dist,
                                &edges, &from, &to, &weight));
    for (int64_t e = 0; e < edges; e++) {
        from[e] = near->instance[from[e]];
        to[e] = near->instance[to[e]];
    }
    FERRY_TRY(ferry_i_graph_new(ctx, "near", n, edges, from, to, weight, &loops, out));
done:
    FERRY_FREE(from, to, weight);
    return st;
}

/* The part with the k nearest, whatever it was before. */
static ferry_status try_count(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                              int64_t k, gbc_plan *p)
{
    ferry_status st = FERRY_OK;
    gbc_problem g = *s->g;
    gbc_tuning own = *s;
    ferry_graph *graph = NULL;
    double one = 1, *wg = p->wg;

    FERRY_TRY(graph_of(ctx, s->near, g.n, k, &graph));
    g.q = 1;
    g.graph = &graph->a;
    own.g = &g;
    p->wg = &one; /* of the only graph; those of the task come back below */
    st = ferry_i_gbc_try_labels(ctx, &own, fold, GBC_NEAR, p);
    p->wg = wg;
    p->near = k;
done:
    ferry_i_graph_free(graph);
    return st;
}

/* The best of the counts is tried once more where it was not the last: a part is kept as it
 * was tried. */
ferry_status ferry_i_gbc_try_near(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                                  gbc_plan *p)
{
    static const int64_t counts[] = {20, 5, 10};
    ferry_status st = FERRY_OK;
    double least = INFINITY;
    int64_t best = 0;

    FERRY_TRY(search(ctx, s, s->near));
    for (int64_t c = 0; c < FERRY_COUNT(counts); c++) {
        const int64_t k = counts[c] < s->near->k ? counts[c] : s->near->k;
        if (k == 0) goto done;
        FERRY_TRY(try_count(ctx, s, fold, k, p));
        if (p->part[GBC_NEAR].loss > least) continue;
        least = p->part[GBC_NEAR].loss;
        best = k;
    }
    if (p->near != best) FERRY_TRY(try_count(ctx, s, fold, best, p));
done:
    return st;
}

/* answers (n x m) of all instances: from the mean of the labels, over the graph. */
static ferry_status spread(ferry_ctx *ctx, const gbc_tuning *s, const gbc_plan *p,
                           const ferry_graph *graph, double *prior, double *answers)
{
    ferry_status st = FERRY_OK;
    const gbc_problem *g = s->g;
    const gbc_part *part = &p->part[GBC_NEAR];
    const int64_t n = g->n, m = s->outputs->classes;
    const double one = 1;
    double *truth = NULL, *residual = NULL, count = 0;
    int64_t *at = NULL;
    uint8_t *viewless = NULL;

    FERRY_NEW(ctx, truth, n * m);
    FERRY_NEW(ctx, residual, n * m);
    FERRY_NEW(ctx, at, n);
    FERRY_NEW(ctx, viewless, n);
    for (int64_t i = 0; i < n; i++) {
        at[i] = g->labelled[i] ? i : -1;
        if (!g->labelled[i]) continue;
        ferry_i_outputs_truth(s->outputs, g->y + i * g->k, truth + i * m);
        for (int64_t j = 0; j < m; j++)
            prior[j] += truth[i * m + j];
        count++;
    }
    for (int64_t j = 0; j < m; j++)
        prior[j] /= count;
    for (int64_t e = 0; e < n * m; e++) {
        answers[e] = prior[e % m];
        residual[e] = truth[e] - prior[e % m];
    }
    const gbc_correction c = {part->correct,
                              part->strength,
                              1,
                              &graph->a,
                              &one,
                              n,
                              m,
                              !s->outputs->numbers,
                              at,
                              truth,
                              residual,
                              viewless};
    FERRY_TRY(ferry_i_gbc_correct(ctx, &c, answers, NULL));
done:
    FERRY_FREE(truth, residual, at, viewless);
    return st;
}

ferry_status ferry_i_gbc_near_fit(ferry_ctx *ctx, const gbc_tuning *s,
                                  const ferry_domain *t, const gbc_plan *p, gbc_near *out)
{
    ferry_status st = FERRY_OK;
    const gbc_nearest *near = s->near;
    const int64_t m = s->outputs->classes, wide = near->k + 1;
    ferry_graph *graph = NULL;
    double *answers = NULL;

    out->k = p->near;
    FERRY_NEW(ctx, answers, s->g->n * m);
    FERRY_NEW(ctx, out->prior, m);
    FERRY_NEW(ctx, out->answers, near->n * m);
    FERRY_NEW(ctx, out->scale, near->n);
    FERRY_HAVE(ctx, out->ids = ferry_i_ids_new());
    FERRY_TRY(graph_of(ctx, near, s->g->n, out->k, &graph));
    FERRY_TRY(spread(ctx, s, p, graph, out->prior, answers));
    out->x = ferry_i_matrix_ref(near->x);
    for (int64_t i = 0; i < near->n; i++) {
        const int64_t x = near->instance[i];
        memcpy(out->answers + i * m, answers + x * m, (size_t)m * sizeof *answers);
        out->scale[i] = near->dist[i * wide + out->k - 1];
        FERRY_HAVE(ctx, ferry_i_ids_add(out->ids, ferry_i_ids_at(t->ids, x), NULL) >= 0);
    }
done:
    ferry_i_graph_free(graph);
    ferry_i_free(answers);
    return st;
}

/* to (m) <- the mean of the answers of a row's nearest, as near as dist says. */
static void mean_of(const gbc_near *near, int64_t m, const int64_t *index,
                    const double *dist, double *to)
{
    double total = 0;
    int64_t last = near->k - 1;

    while (last > 0 && index[last] < 0)
        last--;
    memset(to, 0, (size_t)m * sizeof *to);
    for (int64_t e = 0; e <= last; e++) {
        /* far away from all of them the nearest still count */
        const double w =
            fmax(ferry_i_near_weight(dist[e], dist[last], near->scale[index[e]]), 1e-12);
        total += w;
        for (int64_t j = 0; j < m; j++)
            to[j] += w * near->answers[index[e] * m + j];
    }
    for (int64_t j = 0; j < m; j++)
        to[j] /= total;
}

/* Whether row i of x is row j of y. */
static bool same_row(const ferry_matrix *x, int64_t i, const ferry_matrix *y, int64_t j)
{
    const int64_t at = row_begin(x, i), from = row_begin(y, j), n = row_end(x, i) - at;

    return (x->dense != NULL) == (y->dense != NULL) && row_end(y, j) - from == n &&
           memcmp(row_values(x) + at, row_values(y) + from, (size_t)n * sizeof(double)) ==
               0 &&
           (x->dense ||
            memcmp(x->index + at, y->index + from, (size_t)n * sizeof *x->index) == 0);
}

/* Instances of the fit are known by their ids, if these are more than row numbers, while their features are what they
 * were. */
ferry_status ferry_i_gbc_near_answers(ferry_ctx *ctx, const gbc_near *near, int64_t m,
                                      const ferry_domain *d, const ferry_matrix *x,
                                      const uint8_t *viewless, double *answers)
{
    ferry_status st = FERRY_OK;
    const bool named = ferry_i_domain_named(d);
    ferry_matrix *rows = NULL;
    int64_t *asked = NULL, *index = NULL, n = 0, begin = 0, end = 0;
    double *dist = NULL, *own = NULL;

    ferry_i_ranks_part(ctx, ferry_i_all_rows(x), &begin, &end);
    own = answers + begin * m;
    FERRY_NEW(ctx, asked, x->rows);
    for (int64_t i = 0; i < x->rows; i++) {
        const char *id = ferry_i_ids_at(d->ids, begin + i);
        int64_t at = named ? ferry_i_ids_find(near->ids, id) : -1;
        if (at >= 0 && !viewless[begin + i] && !same_row(x, i, near->x, at)) at = -1;
        const double *from = at >= 0 ? near->answers + at * m : near->prior;
        memcpy(own + i * m, from, (size_t)m * sizeof *answers);
        if (at < 0 && !viewless[begin + i]) asked[n++] = i;
    }
    FERRY_NEW(ctx, index, n * near->k);
    FERRY_NEW(ctx, dist, n * near->k);
    FERRY_TRY(ferry_i_matrix_take(ctx, x, n, asked, x->cols, NULL, &rows));
    if (n > 0)
        FERRY_TRY(ferry_i_knn(ctx, near->x, rows, near->k, FERRY_EUCLIDEAN, index, dist));
    for (int64_t i = 0; i < n; i++)
        mean_of(near, m, index + i * near->k, dist + i * near->k, own + asked[i] * m);
    FERRY_TRY(ferry_i_ranks_gather(ctx, ferry_i_all_rows(x), (size_t)m * sizeof *answers,
                                   answers));
done:
    ferry_i_matrix_free(rows);
    FERRY_FREE(asked, index, dist);
    return st;
}

void ferry_i_gbc_near_file(ferry_io *io, int64_t m, int64_t width, gbc_near *near)
{
    int64_t k = near->k;

    ferry_i_io_ints(io, "near.k", 1, &k);
    ferry_i_io_matrix(io, "near.x", &near->x);
    ferry_i_io_ids(io, "near.ids", &near->ids);
    FERRY_IO_NEED(
        io,
        near->x->cols == width && near->x->rows > 0 &&
            ferry_i_ids_count(near->ids) == near->x->rows && k > 0 && k < near->x->rows,
        "tensor near.x: %lld x %lld for %lld features and %lld neighbours",
        (long long)near->x->rows, (long long)near->x->cols, (long long)width, (long long)k);
    if (io->st != FERRY_OK) return;
    if (ferry_i_io_loading(io)) near->k = k;
    ferry_i_io_reals(io, "near.answers", near->x->rows, m, &near->answers);
    ferry_i_io_reals(io, "near.scale", 1, near->x->rows, &near->scale);
    ferry_i_io_reals(io, "near.prior", 1, m, &near->prior);
}
