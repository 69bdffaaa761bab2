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
    TTL_OPT_SCALE(kmeans_options),
    TTL_OPT_LEAKS(kmeans_options),
    TTL_OPT_LABELS(kmeans_options),
};

typedef struct state {
    int64_t c;
    ttl_frame *frame;
    double *centre; /* c x cols, in the order of the classes */
} state;

static void kmeans_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_frame_free(s->frame);
    ferry_i_free(s->centre);
    ferry_i_free(s);
}

/* ---- k-means on sparse rows: |x - m|^2 = |x|^2 - 2 x'm + |m|^2 ---- */

typedef struct groups {
    const ferry_matrix *x;
    int64_t c;
    double *length2; /* per row */
    double *centre;  /* c x cols */
    double *norm2;   /* per centre */
    double *dist;    /* per row, to its centre */
    int32_t *of;     /* per row */
    int64_t *count;
} groups;

static ferry_status groups_new(ferry_ctx *ctx, const ferry_matrix *x, int64_t c, groups *z)
{
    ferry_status st = FERRY_OK;

    *z = (groups){.x = x, .c = c};
    z->length2 = ferry_i_calloc(x->rows, sizeof *z->length2);
    z->dist = ferry_i_calloc(x->rows, sizeof *z->dist);
    z->of = ferry_i_calloc(x->rows, sizeof *z->of);
    z->centre = ferry_i_calloc(c * x->cols, sizeof *z->centre);
    z->norm2 = ferry_i_calloc(c, sizeof *z->norm2);
    z->count = ferry_i_calloc(c, sizeof *z->count);
    if (!z->length2 || !z->dist || !z->of || !z->centre || !z->norm2 || !z->count)
        FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            z->length2[i] += x->value[e] * x->value[e];
done:
    return st;
}

static void groups_clear(groups *z)
{
    ferry_i_free(z->length2);
    ferry_i_free(z->dist);
    ferry_i_free(z->of);
    ferry_i_free(z->centre);
    ferry_i_free(z->norm2);
    ferry_i_free(z->count);
}

static double distance2(const groups *z, int64_t i, int64_t k)
{
    const double *m = z->centre + k * z->x->cols;
    double dot = 0;

    for (int64_t e = z->x->start[i]; e < z->x->start[i + 1]; e++)
        dot += z->x->value[e] * m[z->x->index[e]];
    return fmax(0, z->length2[i] - 2 * dot + z->norm2[k]);
}

static void measure(groups *z, int64_t k)
{
    const double *m = z->centre + k * z->x->cols;

    z->norm2[k] = 0;
    for (int64_t j = 0; j < z->x->cols; j++)
        z->norm2[k] += m[j] * m[j];
}

static void centre_on(groups *z, int64_t k, int64_t i)
{
    double *m = z->centre + k * z->x->cols;

    memset(m, 0, (size_t)z->x->cols * sizeof *m);
    for (int64_t e = z->x->start[i]; e < z->x->start[i + 1]; e++)
        m[z->x->index[e]] = z->x->value[e];
    measure(z, k);
}

/* k-means++: each next centre drawn by the squared distance to those there are. */
static void plant(groups *z, ferry_rng *rng)
{
    const int64_t n = z->x->rows;

    centre_on(z, 0, (int64_t)ferry_i_rng_below(rng, (uint64_t)n));
    for (int64_t i = 0; i < n; i++)
        z->dist[i] = distance2(z, i, 0);
    for (int64_t k = 1; k < z->c; k++) {
        double total = 0, at = 0;
        int64_t pick = 0;
        for (int64_t i = 0; i < n; i++)
            total += z->dist[i];
        at = ferry_i_rng_real(rng) * total;
        while (pick < n - 1 && (at -= z->dist[pick]) >= 0)
            pick++;
        centre_on(z, k, pick);
        for (int64_t i = 0; i < n; i++)
            z->dist[i] = fmin(z->dist[i], distance2(z, i, k));
    }
}

/* Each row to its nearest centre; how many changed. */
static int64_t assign(groups *z)
{
    int64_t changed = 0;

    for (int64_t i = 0; i < z->x->rows; i++) {
        int32_t best = 0;
        double least = INFINITY;
        for (int64_t k = 0; k < z->c; k++) {
            const double d = distance2(z, i, k);
            if (d < least) {
                least = d;
                best = (int32_t)k;
            }
        }
        changed += z->of[i] != best;
        z->of[i] = best;
        z->dist[i] = least;
    }
    return changed;
}

/* Centres to the means; an empty group takes the row farthest from its centre. */
static void update(groups *z)
{
    memset(z->centre, 0, (size_t)(z->c * z->x->cols) * sizeof *z->centre);
    memset(z->count, 0, (size_t)z->c * sizeof *z->count);
    for (int64_t i = 0; i < z->x->rows; i++) {
        double *m = z->centre + z->of[i] * z->x->cols;
        z->count[z->of[i]]++;
        for (int64_t e = z->x->start[i]; e < z->x->start[i + 1]; e++)
            m[z->x->index[e]] += z->x->value[e];
    }
    for (int64_t k = 0; k < z->c; k++) {
        double *m = z->centre + k * z->x->cols;
        for (int64_t j = 0; z->count[k] > 0 && j < z->x->cols; j++)
            m[j] /= (double)z->count[k];
        measure(z, k);
        if (z->count[k] > 0) continue;
        int64_t far = 0;
        for (int64_t i = 1; i < z->x->rows; i++)
            if (z->dist[i] > z->dist[far]) far = i;
        centre_on(z, k, far);
        z->dist[far] = 0;
    }
}

static ferry_status cluster(ferry_ctx *ctx, const kmeans_options *o, groups *z)
{
    ferry_status st = FERRY_OK;
    double *best = ferry_i_calloc(z->c * z->x->cols, sizeof *best), least = INFINITY;
    ferry_rng rng;
    bool finish = false;

    if (!best) FERRY_TRY(ferry_i_nomem(ctx));
    ferry_i_rng_for(ctx, &rng, "kmeans-hop");
    for (int64_t r = 0; r < o->restarts && !finish; r++) {
        double sum = 0;
        plant(z, &rng);
        (void)assign(z);
        for (int64_t t = 0; t < o->iterations; t++) {
            update(z);
            if (assign(z) == 0) break;
        }
        for (int64_t i = 0; i < z->x->rows; i++)
            sum += z->dist[i];
        FERRY_TRY(ferry_i_progress(ctx, "kmeans-hop", r + 1, o->restarts, sum, &finish));
        if (!(sum < least)) continue;
        least = sum;
        memcpy(best, z->centre, (size_t)(z->c * z->x->cols) * sizeof *best);
    }
    memcpy(z->centre, best, (size_t)(z->c * z->x->cols) * sizeof *best);
    for (int64_t k = 0; k < z->c; k++)
        measure(z, k);
    (void)assign(z);
done:
    ferry_i_free(best);
    return st;
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

    if (!best || !last) FERRY_TRY(ferry_i_nomem(ctx));
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
    ferry_i_free(best);
    ferry_i_free(last);
    return st;
}

static ferry_status find_names(ferry_ctx *ctx, const ttl_bridge *b, double C,
                               const groups *z, int32_t *name)
{
    ferry_status st = FERRY_OK;
    ferry_block **g = ferry_i_calloc(b->n_places, sizeof(ferry_block *));
    double *votes = ferry_i_calloc(b->c * b->c, sizeof *votes), all = 0, right = 0;
    ferry_rng rng;

    if (!g || !votes) FERRY_TRY(ferry_i_nomem(ctx));
    ferry_i_rng_for(ctx, &rng, "kmeans-hop chain");
    FERRY_TRY(ferry_i_chain(ctx, b, C, false, false, &rng, b->n_places - 1, g, NULL));
    for (int64_t i = 0; i < z->x->rows; i++)
        for (int64_t y = 0; y < b->c; y++) {
            votes[z->of[i] * b->c + y] += FERRY_ROW(g[b->n_places - 1], i)[y];
            all += FERRY_ROW(g[b->n_places - 1], i)[y];
        }
    FERRY_TRY(name_groups(ctx, b->c, votes, name));
    for (int64_t k = 0; k < b->c; k++)
        right += votes[k * b->c + name[k]];
    ferry_i_diag_real(ctx, "agreement", right / fmax(all, 1));
done:
    for (int64_t i = 0; g && i < b->n_places; i++)
        ferry_i_block_free(g[i]);
    ferry_i_free(g);
    ferry_i_free(votes);
    return st;
}

/* ---- the method ---- */

static ferry_status kmeans_fit(ferry_ctx *ctx, const ferry_task *task, const void *options,
                               void **out, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const kmeans_options *o = options;
    state *s = ferry_i_calloc(1, sizeof *s);
    ttl_bridge *b = NULL;
    ferry_matrix *x = NULL;
    groups z = {0};
    int32_t name[MOST_CLASSES];

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_bridge_new(ctx, "kmeans-hop", task,
                                 (ttl_reading){o->scale, o->leaks, o->bridge_labels}, &b));
    FERRY_NEED(ctx, b->c <= MOST_CLASSES, FERRY_ENEEDS,
               "kmeans-hop names groups of at most %d classes, not %lld", (int)MOST_CLASSES,
               (long long)b->c);
    FERRY_NEED(ctx, ferry_i_bridge_target(b)->n >= b->c, FERRY_ENEEDS,
               "kmeans-hop: %lld instances of the target for %lld groups",
               (long long)ferry_i_bridge_target(b)->n, (long long)b->c);
    s->c = b->c;
    FERRY_TRY(ferry_i_frame_new(ctx, b, &s->frame));
    FERRY_TRY(ferry_i_bridge_on_frame(ctx, b, s->frame, ferry_i_bridge_target(b)->x, &x));
    FERRY_TRY(groups_new(ctx, x, b->c, &z));
    FERRY_TRY(cluster(ctx, o, &z));
    FERRY_TRY(find_names(ctx, b, o->C, &z, name));
    s->centre = ferry_i_calloc(b->c * x->cols, sizeof *s->centre);
    if (!s->centre) FERRY_TRY(ferry_i_nomem(ctx));
    rep->objective = 0;
    for (int64_t i = 0; i < x->rows; i++)
        rep->objective += z.dist[i];
    for (int64_t k = 0; k < b->c; k++)
        memcpy(s->centre + name[k] * x->cols, z.centre + k * x->cols,
               (size_t)x->cols * sizeof *s->centre);
    *out = s;
    s = NULL;
done:
    groups_clear(&z);
    ferry_i_matrix_free(x);
    ferry_i_bridge_free(b);
    kmeans_free(s);
    return st;
}

static ferry_status kmeans_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                   ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL;
    groups z = {0};
    ferry_block scores = {p->n, p->k, p->score};

    FERRY_NEED(ctx, p->k == s->c, FERRY_EDATA, "the model has %lld classes, not %lld",
               (long long)s->c, (long long)p->k);
    FERRY_TRY(ferry_i_frame_rows(ctx, s->frame, d, &x));
    FERRY_TRY(groups_new(ctx, x, s->c, &z));
    memcpy(z.centre, s->centre, (size_t)(s->c * x->cols) * sizeof *z.centre);
    for (int64_t k = 0; k < s->c; k++)
        measure(&z, k);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t k = 0; k < s->c; k++)
            FERRY_ROW(&scores, i)[k] = -distance2(&z, i, k);
    ferry_i_winners(&scores, p->cls, NULL);
done:
    groups_clear(&z);
    ferry_i_matrix_free(x);
    return st;
}

static ferry_status kmeans_save(ferry_ctx *ctx, const void *model, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const state *s = model;

    FERRY_TRY(ferry_i_frame_save(ctx, s->frame, dict));
    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, "centres", s->c, s->frame->cols, s->centre));
done:
    return st;
}

static ferry_status kmeans_load(ferry_ctx *ctx, const ferry_dict *dict, void **out)
{
    ferry_status st = FERRY_OK;
    state *s = ferry_i_calloc(1, sizeof *s);
    const double *centre = NULL;

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_frame_load(ctx, dict, &s->frame));
    s->c = -1;
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "centres", &s->c, &s->frame->cols, &centre));
    s->centre = ferry_i_calloc(s->c * s->frame->cols, sizeof *s->centre);
    if (!s->centre) FERRY_TRY(ferry_i_nomem(ctx));
    memcpy(s->centre, centre, (size_t)(s->c * s->frame->cols) * sizeof *centre);
    *out = s;
    s = NULL;
done:
    kmeans_free(s);
    return st;
}

const ferry_method ferry_i_method_kmeans_hop = {
    .name = "kmeans-hop",
    .summary =
        "clusters of the target, named by a chain of classifiers: what names alone do",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    .options = kmeans_opts,
    .n_options = FERRY_COUNT(kmeans_opts),
    .options_size = sizeof(kmeans_options),
    .fit = kmeans_fit,
    .predict = kmeans_predict,
    .save = kmeans_save,
    .load = kmeans_load,
    .free = kmeans_free,
};
