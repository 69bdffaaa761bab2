/* kmeans-hop: a control for methods that cross a bridge. The target is grouped by k-means
 * without looking at anything else, one group per class, and all that comes over the bridge
 * is which group is which class: the naming that most of a chain of logistic regressions'
 * soft labels agree with. Where it does as well as a method, the classes are the clusters
 * of the target, and the bridge carries no more than their names. */
#include <math.h>
#include <string.h>

#include "methods/shared/linear_state.h"

enum { MOST_CLASSES = 16 };

typedef struct kmeans_options {
    int64_t restarts, iterations;
    int scale, leaks, bridge_labels;
    double C;
} kmeans_options;

static const ferry_opt kmeans_opts[] = {
    FERRY_OPT(kmeans_options, INT, restarts, 10, 1, 10000,
              "k-means++ starts; the tightest groups win"),
    FERRY_OPT(kmeans_options, INT, iterations, 100, 1, 100000, "of each start, at most"),
    TTL_OPT_COST(kmeans_options),
    FERRY_OPT_SCALE(kmeans_options),
    TTL_OPT_LEAKS(kmeans_options),
    TTL_OPT_LABELS(kmeans_options),
};

typedef struct state {
    int64_t c;
    ferry_prepared *prepared;
    double *centre; /* c x cols, in the order of the classes */
} state;

static void kmeans_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_prepared_free(s->prepared);
    FERRY_FREE(s->centre, s);
}

/* ---- naming ---- */

/* name[k]: the class of group k, no class twice, so that the sum of votes is largest:
 * dynamic programming over sets of classes. */
static ferry_status name_groups(ferry_ctx *ctx, int64_t c, const double *votes,
                                int32_t *name)
{
    ferry_status st = FERRY_OK;
    const int64_t sets = (int64_t)1 << c;
    double *best = ferry_i_calloc(sets, sizeof *best);
    int8_t *last = ferry_i_calloc(sets, sizeof *last);

    FERRY_HAVE(ctx, best && last);
    for (int64_t set = 1; set < sets; set++) {
        int64_t k = -1; /* the group that comes with as many classes */
        for (int64_t bit = 0; bit < c; bit++)
            k += set >> bit & 1;
        best[set] = -INFINITY;
        for (int64_t y = 0; y < c; y++) {
            if (!(set >> y & 1)) continue;
            const double sum = best[set ^ ((int64_t)1 << y)] + votes[k * c + y];
            if (sum > best[set]) {
                best[set] = sum;
                last[set] = (int8_t)y;
            }
        }
    }
    for (int64_t set = sets - 1, k = c - 1; k >= 0; k--) {
        name[k] = last[set];
        set ^= (int64_t)1 << name[k];
    }
done:
    FERRY_FREE(best, last);
    return st;
}

/* name <- of the groups that of[i] puts the target's rows into, by the votes of a chain. */
static ferry_status find_names(ferry_ctx *ctx, const ttl_bridge *b, double C,
                               const int32_t *of, int32_t *name)
{
    ferry_status st = FERRY_OK;
    ferry_block **g = ferry_i_calloc(b->n_places, sizeof(ferry_block *));
    double *votes = ferry_i_calloc(b->c * b->c, sizeof *votes), all = 0, right = 0;

    FERRY_HAVE(ctx, g && votes);
    FERRY_TRY(ferry_i_chain(ctx, b, C, false, false, b->n_places - 1, g, NULL));
    for (int64_t i = 0; i < ferry_i_bridge_target(b)->n; i++)
        for (int64_t y = 0; y < b->c; y++) {
            votes[of[i] * b->c + y] += FERRY_ROW(g[b->n_places - 1], i)[y];
            all += FERRY_ROW(g[b->n_places - 1], i)[y];
        }
    FERRY_TRY(name_groups(ctx, b->c, votes, name));
    for (int64_t k = 0; k < b->c; k++)
        right += votes[k * b->c + name[k]];
    ferry_i_diag_real(ctx, "agreement", right / fmax(all, 1));
done:
    for (int64_t i = 0; g && i < b->n_places; i++)
        ferry_i_free(g[i]);
    FERRY_FREE(g, votes);
    return st;
}

/* ---- the method ---- */

static ferry_status kmeans_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                               void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const kmeans_options *o = options;
    state *s = ferry_i_calloc(1, sizeof *s);
    ttl_bridge *b = NULL;
    ferry_matrix *x = NULL;
    ferry_block *centres = NULL;
    int32_t name[MOST_CLASSES], *of = NULL;
    ferry_rng rng;

    *out = NULL;
    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_bridge_new(ctx, "kmeans-hop", task,
                                 (ttl_reading){.scale = o->scale,
                                               .leaks = o->leaks,
                                               .bridge_labels = o->bridge_labels},
                                 &b));
    FERRY_NEED(ctx, b->c <= MOST_CLASSES, FERRY_ENEEDS,
               "kmeans-hop names groups of at most %d classes, not %lld", (int)MOST_CLASSES,
               (long long)b->c);
    FERRY_NEED(ctx, ferry_i_bridge_target(b)->n >= b->c, FERRY_ENEEDS,
               "kmeans-hop: %lld instances of the target for %lld groups",
               (long long)ferry_i_bridge_target(b)->n, (long long)b->c);
    s->c = b->c;
    FERRY_TRY(
        ferry_i_bridge_on_target(ctx, b, ferry_i_bridge_target(b)->x, NULL, 0, NULL, &x));
    const ferry_kmeans_options how = {b->c, o->restarts, o->iterations, "kmeans-hop"};
    ferry_i_rng_for(ctx, &rng, "kmeans-hop");
    FERRY_NEW(ctx, of, x->rows);
    FERRY_TRY(ferry_i_block_new(ctx, b->c, x->cols, &centres));
    FERRY_TRY(ferry_i_kmeans(ctx, x, &how, &rng, of, centres, &rep->objective));
    FERRY_TRY(find_names(ctx, b, o->C, of, name));
    FERRY_NEW(ctx, s->centre, b->c * x->cols);
    for (int64_t k = 0; k < b->c; k++)
        memcpy(s->centre + name[k] * x->cols, FERRY_ROW(centres, k),
               (size_t)x->cols * sizeof *s->centre);
    s->prepared = ferry_i_bridge_release(b);
    FERRY_MOVE(*out, s);
done:
    FERRY_FREE(of, centres);
    ferry_i_matrix_free(x);
    ferry_i_bridge_free(b);
    kmeans_free(s);
    return st;
}

/* Scores are -|x - m_k|^2 = 2 x'm_k - |x|^2 - |m_k|^2: a product of the rows with the
 * centres, one a column. */
static ferry_status kmeans_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL;
    ferry_block scores = {p->n, p->k, p->score}, *turned = NULL;
    double *length2 = NULL, norm2[MOST_CLASSES] = {0};

    FERRY_NEED(ctx, p->k == s->c && s->c <= MOST_CLASSES, FERRY_EDATA,
               "the model has %lld classes, not %lld", (long long)s->c, (long long)p->k);
    FERRY_TRY(ferry_i_bridge_rows(ctx, s->prepared, d, &x));
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, s->c, &turned));
    FERRY_NEW(ctx, length2, x->rows);
    for (int64_t k = 0; k < s->c; k++)
        for (int64_t j = 0; j < x->cols; j++) {
            const double m = s->centre[k * x->cols + j];
            FERRY_ROW(turned, j)[k] = m;
            norm2[k] += m * m;
        }
    ferry_e(ctx)->mul(ctx, 2, x, turned, 0, &scores);
    FERRY_TRY(ferry_e(ctx)->sums(ctx, x, FERRY_ROWS, 2, length2));
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t k = 0; k < s->c; k++) {
            double *to = &FERRY_ROW(&scores, i)[k];
            *to = fmin(0, *to - length2[i] - norm2[k]);
        }
    ferry_i_winners(&scores, p->cls, NULL);
done:
    FERRY_FREE(length2, turned);
    ferry_i_matrix_free(x);
    return st;
}

static void kmeans_file(ferry_io *io, void *model)
{
    state *s = model;

    ferry_i_bridge_file(io, &s->prepared);
    if (io->st != FERRY_OK) return;
    int64_t c = io->to ? s->c : -1, cols = ferry_i_prepared_width(s->prepared);
    ferry_i_io_grid(io, "centres", &c, &cols, &s->centre);
    if (ferry_i_io_loading(io)) s->c = c;
}

const ferry_method ferry_i_method_kmeans_hop = {
    .name = "kmeans-hop",
    .summary =
        "clusters of the target, named by a chain of classifiers: what names alone do",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    FERRY_OPTIONS(kmeans_opts, kmeans_options),
    .fit = kmeans_fit,
    .predict = kmeans_predict,
    FERRY_STATE(state, kmeans_file, kmeans_free),
};
