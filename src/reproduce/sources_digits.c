/* Digits of UCI mfeat as sources. */
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "reproduce/sources.h"

enum { NEAREST = 10 };

/* One of the six files: 200 digits of each class one after the other, class last. */
static ferry_status read_view(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                              ferry_data **out)
{
    ferry_status st = FERRY_OK;
    char *below = ferry_i_sprintf("mfeat/mfeat-%s.csv", name), *path = NULL;
    ferry_opts *opts = NULL;

    *out = NULL;
    FERRY_NEED(ctx, below, FERRY_ENOMEM, "no memory for the name of a file");
    FERRY_TRY(ferry_i_lab_source(ctx, lab, below, &path));
    FERRY_TRY(ferry_opts_new(ctx, &opts));
    FERRY_TRY(ferry_opts_set(ctx, opts, "header", "yes")); /* 0,1,2,..,0 */
    FERRY_TRY(ferry_opts_set(ctx, opts, "label", "last"));
    FERRY_TRY(ferry_read(ctx, path, opts, out));
    FERRY_NEED(ctx,
               (*out)->x && (*out)->x->dense && (*out)->labels &&
                   (*out)->labels->kind == FERRY_LABEL_CLASS,
               FERRY_EDATA, "%s: expected numbers and a class", path);
done:
    if (st != FERRY_OK) {
        ferry_data_free(*out);
        *out = NULL;
    }
    ferry_opts_free(opts);
    ferry_i_free(path);
    ferry_i_free(below);
    return st;
}

/* The first per_class rows of each class. New memory. */
static ferry_status choose(ferry_ctx *ctx, const ferry_labels *l, int64_t per_class,
                           int64_t **rows, int64_t *n)
{
    ferry_status st = FERRY_OK;
    int64_t *seen = ferry_i_calloc(ferry_i_labels_m(l), sizeof *seen);

    *n = 0;
    *rows = ferry_i_calloc(l->n, sizeof **rows);
    FERRY_NEED(ctx, seen && *rows, FERRY_ENOMEM, "no memory for %lld digits",
               (long long)l->n);
    for (int64_t i = 0; i < l->n; i++)
        if (l->cls[i] >= 0 && seen[l->cls[i]]++ < per_class) (*rows)[(*n)++] = i;
done:
    ferry_i_free(seen);
    return st;
}

/* Columns to mean 0 and deviation 1, then noise of deviation `noise`, in place. */
static void standardise(ferry_matrix *x, double noise, ferry_rng *rng)
{
    for (int64_t j = 0; j < x->cols; j++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < x->rows; i++)
            mean += x->dense[i * x->cols + j] / (double)x->rows;
        for (int64_t i = 0; i < x->rows; i++)
            square += pow(x->dense[i * x->cols + j] - mean, 2) / (double)x->rows;
        const double sd = square > 0 ? sqrt(square) : 1;
        for (int64_t i = 0; i < x->rows; i++) {
            double *cell = &x->dense[i * x->cols + j];
            *cell = (*cell - mean) / sd + (noise > 0 ? noise * ferry_i_rng_normal(rng) : 0);
        }
    }
}

/* An edge from every row to each of its nearest. */
static ferry_status join_nearest(ferry_ctx *ctx, const ferry_matrix *x,
                                 ferry_source_graph *g)
{
    ferry_status st = FERRY_OK;
    int64_t *near = ferry_i_calloc(x->rows * (NEAREST + 1), sizeof *near);
    double *dist = ferry_i_calloc(x->rows * (NEAREST + 1), sizeof *dist);

    FERRY_NEED(ctx, near && dist, FERRY_ENOMEM, "no memory for the nearest digits");
    FERRY_TRY(ferry_i_knn(ctx, x, x, NEAREST + 1, FERRY_EUCLIDEAN, near, dist));
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = 0, taken = 0; e <= NEAREST && taken < NEAREST; e++) {
            const int64_t j = near[i * (NEAREST + 1) + e];
            if (j < 0 || j == i) continue;
            FERRY_TRY(ferry_i_sources_edge(ctx, g, i, j));
            taken++;
        }
done:
    ferry_i_free(dist);
    ferry_i_free(near);
    return st;
}

static ferry_status join_morphology(ferry_ctx *ctx, ferry_sources *s, const ferry_matrix *x)
{
    ferry_status st = FERRY_OK;
    static const char *const names[] = {"morphology", "noisy"};
    ferry_matrix *copy = NULL;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "noisy morphology");
    for (int g = 0; g < 2; g++) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows, x->cols, &copy));
        memcpy(copy->dense, x->dense, (size_t)(x->rows * x->cols) * sizeof *x->dense);
        standardise(copy, g, &rng);
        FERRY_TRY(join_nearest(ctx, copy, ferry_i_sources_graph(s, names[g])));
        ferry_i_matrix_free(copy);
        copy = NULL;
    }
done:
    ferry_i_matrix_free(copy);
    return st;
}

ferry_status ferry_i_sources_digits(ferry_ctx *ctx, ferry_lab *lab, int64_t per_class,
                                    bool graphs, ferry_sources **out)
{
    static const char *const names[] = {"fac", "fou", "kar", "pix", "zer", "mor"};
    ferry_status st = FERRY_OK;
    ferry_sources *s = ferry_i_sources_new("digits");
    ferry_data *d = NULL;
    ferry_matrix *x = NULL;
    int64_t *rows = NULL;

    *out = NULL;
    FERRY_NEED(ctx, s, FERRY_ENOMEM, "no memory for digits");
    for (int64_t v = 0; v < FERRY_COUNT(names); v++) {
        FERRY_TRY(read_view(ctx, lab, names[v], &d));
        if (v == 0) {
            FERRY_TRY(choose(ctx, d->labels, per_class, &rows, &s->n));
            FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, s->n, d->labels->names,
                                         &s->labels));
            for (int64_t i = 0; i < s->n; i++)
                s->labels->cls[i] = d->labels->cls[rows[i]];
        }
        FERRY_NEED(ctx, s->n > 0, FERRY_EDATA, "%s: expected a class in the last column",
                   d->path);
        FERRY_NEED(ctx, rows[s->n - 1] < d->x->rows, FERRY_EDATA,
                   "%s: expected as many digits as in the other files", d->path);
        FERRY_TRY(ferry_i_matrix_take(ctx, d->x, s->n, rows, d->x->cols, NULL, &x));
        if (graphs && v == FERRY_COUNT(names) - 1) {
            FERRY_TRY(join_morphology(ctx, s, x));
        } else {
            st = ferry_i_sources_view(ctx, s, names[v], x);
            x = NULL;
            FERRY_TRY(st);
        }
        ferry_data_free(d);
        d = NULL;
    }
    *out = s;
    s = NULL;
done:
    ferry_i_matrix_free(x);
    ferry_i_free(rows);
    ferry_data_free(d);
    ferry_i_sources_free(s);
    return st;
}
