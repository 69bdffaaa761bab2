/* cotransfer: labels by random walks with restart on the joint graph of texts, pairs and
 * pictures (Ng, Wu and Ye, Co-Transfer Learning Using Coupled Markov Chains with Restart,
 * IEEE Intelligent Systems 2014; rebuilt from the paper, not from its code).
 *
 * Every instance of every place is a node. Its step goes to one of its k nearest (cosine,
 * after the mean was taken off if centre) among its own place and a neighbouring one, on
 * the features that both use; a place between two others takes either side with probability
 * 1/2. With Q the labelled nodes, a column per class that sums to 1, the walk
 *
 *   F = mu P F + (1 - mu) Q
 *
 * is iterated until no entry moves by tol of the largest. A share beta of Q may be set on
 * labelled nodes of the target. mass: scale the classes to the sources' shares over the
 * target's unlabelled nodes. A new instance takes the mean of its k nearest nodes; one that
 * was there before, its own. */
#include <math.h>
#include <string.h>

#include "methods/shared/linear_state.h"

typedef struct cotransfer_options {
    int64_t neighbours, iterations;
    double mu, beta, tol;
    int mass, centre, scale, leaks, bridge_labels;
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
    FERRY_OPT_SCALE(cotransfer_options),
    TTL_OPT_LEAKS(cotransfer_options),
    TTL_OPT_LABELS(cotransfer_options),
};

enum { CENTRE_AUTO, CENTRE_YES, CENTRE_NO };

/* Two neighbouring places on their common columns, one on top of the other. */
typedef struct side {
    int64_t first, second; /* places */
    ferry_matrix *x;
    int64_t *index; /* rows x k: neighbours as nodes, -1: none */
    double *w;      /* rows x k: chances, each row sums to 1 or 0 */
} side;

typedef struct state {
    int64_t c, k;
    ferry_prepared *prepared;
    bool centre;
    ferry_matrix *x; /* nodes of the last side, on the target's columns */
    uint8_t *keep;   /* the target's columns that count */
    double *mean;    /* of x, per column */
    ferry_block *f;  /* their scores, classes scaled */
} state;

static void cotransfer_free(void *model)
{
    state *s = model;

    if (!s) return;
    ferry_i_prepared_free(s->prepared);
    ferry_i_matrix_free(s->x);
    FERRY_FREE(s->keep, s->mean, s->f, s);
}

/* ---- neighbours ---- */

/* The rows with their columns' means taken off, dense. */
static ferry_status take_off(ferry_ctx *ctx, const ferry_matrix *x, const double *mean,
                             ferry_matrix **out)
{
    FERRY_PASS(ferry_i_matrix_dense(ctx, x->rows, x->cols, out));
    for (int64_t i = 0; i < x->rows; i++) {
        double *row = (*out)->dense + i * x->cols;
        for (int64_t j = 0; j < x->cols; j++)
            row[j] = -mean[j];
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
            row[x->index[e]] += x->value[e];
    }
    return FERRY_OK;
}

static ferry_status column_means(ferry_ctx *ctx, const ferry_matrix *x, double **mean)
{
    *mean = ferry_i_calloc(x->cols, sizeof **mean);
    if (!*mean) return ferry_i_nomem(ctx);
    for (int64_t e = 0; e < x->nnz; e++)
        (*mean)[x->index[e]] += x->value[e] / (double)x->rows;
    return FERRY_OK;
}

/* k nearest rows of x for every row of q; chances in proportion to the cosine. `self`: q is
 * x, and no row is its own neighbour. */
static ferry_status nearest(ferry_ctx *ctx, const ferry_matrix *x, const ferry_matrix *q,
                            int64_t k, bool self, int64_t *index, double *w)
{
    ferry_status st = FERRY_OK;
    const int64_t more = k + self;
    int64_t *at = ferry_i_calloc(q->rows * more, sizeof *at);
    double *dist = ferry_i_calloc(q->rows * more, sizeof *dist);

    if (!at || !dist) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_knn(ctx, x, q, more, FERRY_COSINE, at, dist));
    for (int64_t i = 0; i < q->rows; i++) {
        double sum = 0;
        int64_t n = 0;
        for (int64_t e = i * more; e < (i + 1) * more && n < k; e++) {
            if (self && at[e] == i) continue;
            index[i * k + n] = at[e] < 0 || !(dist[e] < 1) ? -1 : at[e];
            w[i * k + n] = index[i * k + n] < 0 ? 0 : 1 - dist[e];
            sum += w[i * k + n++];
        }
        for (; n < k; n++) {
            index[i * k + n] = -1;
            w[i * k + n] = 0;
        }
        for (int64_t e = i * k; sum > 0 && e < (i + 1) * k; e++)
            w[e] /= sum;
    }
done:
    FERRY_FREE(at, dist);
    return st;
}

/* ---- the graph ---- */

static void side_clear(side *s)
{
    ferry_i_matrix_free(s->x);
    FERRY_FREE(s->index, s->w);
}

/* keep[j]: both places use column j. */
static ferry_status common(ferry_ctx *ctx, const ttl_bridge *b, int64_t i, int64_t j,
                           uint8_t **keep)
{
    ferry_status st = FERRY_OK;
    uint8_t *other = NULL;

    FERRY_TRY(ferry_i_bridge_used(ctx, b, i, keep));
    FERRY_TRY(ferry_i_bridge_used(ctx, b, j, &other));
    for (int64_t c = 0; c < b->cols; c++)
        (*keep)[c] = (*keep)[c] && other[c];
done:
    ferry_i_free(other);
    return st;
}

/* Features that are no words are centred: their cosines are all near 1 otherwise. */
static bool centred(const cotransfer_options *o, const ttl_bridge *b, const uint8_t *keep)
{
    bool words = true;

    if (o->centre != CENTRE_AUTO) return o->centre == CENTRE_YES;
    for (int64_t s = 0; s < b->prepared->n_spaces; s++)
        for (int64_t j = 0; j < b->prepared->space[s].cols; j++)
            if (keep[b->prepared->space[s].begin + j])
                words = words && ferry_i_space_wordlike(&b->prepared->space[s]);
    return !words;
}

static ferry_status side_new(ferry_ctx *ctx, const cotransfer_options *o,
                             const ttl_bridge *b, int64_t first, int64_t second, side *s)
{
    ferry_status st = FERRY_OK;
    const int64_t k = o->neighbours;
    ferry_matrix *part[2] = {NULL, NULL}, *plain = NULL;
    uint8_t *keep = NULL;
    double *mean = NULL;

    *s = (side){.first = first, .second = second};
    FERRY_TRY(common(ctx, b, first, second, &keep));
    for (int i = 0; i < 2; i++)
        FERRY_TRY(ferry_i_columns_cut(ctx, b->place[i ? second : first].x, keep, false,
                                      &part[i], NULL));
    FERRY_TRY(ferry_i_matrix_stack(ctx, 2, (const ferry_matrix *const *)part, &plain));
    if (centred(o, b, keep)) {
        FERRY_TRY(column_means(ctx, plain, &mean));
        FERRY_TRY(take_off(ctx, plain, mean, &s->x));
    } else {
        s->x = ferry_i_matrix_ref(plain);
    }
    s->index = ferry_i_calloc(s->x->rows * k, sizeof *s->index);
    s->w = ferry_i_calloc(s->x->rows * k, sizeof *s->w);
    if (!s->index || !s->w) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(nearest(ctx, s->x, s->x, k, true, s->index, s->w));
done:
    ferry_i_matrix_free(part[0]);
    ferry_i_matrix_free(part[1]);
    ferry_i_matrix_free(plain);
    FERRY_FREE(keep, mean);
    return st;
}

/* Number of the first node of each place; begin[n_places] is the count. */
static ferry_status number_nodes(ferry_ctx *ctx, const ttl_bridge *b, int64_t **begin)
{
    *begin = ferry_i_calloc(b->n_places + 1, sizeof **begin);
    if (!*begin) return ferry_i_nomem(ctx);
    for (int64_t i = 0; i < b->n_places; i++)
        (*begin)[i + 1] = (*begin)[i] + b->place[i].n;
    return FERRY_OK;
}

/* Row r of a side as a node. */
static int64_t node_of(const side *s, const ttl_bridge *b, const int64_t *begin, int64_t r)
{
    const int64_t n = b->place[s->first].n;

    return r < n ? begin[s->first] + r : begin[s->second] + r - n;
}

/* to <- mu P f + (1 - mu) Q: every side adds its part, divided by the sides of a node's
 * place. */
static void step(const cotransfer_options *o, const ttl_bridge *b, int64_t n_sides,
                 const side *sides, const int64_t *begin, const ferry_block *q,
                 const ferry_block *f, const double *share, ferry_block *to)
{
    const int64_t k = o->neighbours, c = f->k;

    for (int64_t e = 0; e < to->rows * c; e++)
        to->data[e] = (1 - o->mu) * q->data[e];
    for (int64_t a = 0; a < n_sides; a++) {
        const side *s = &sides[a];
        for (int64_t r = 0; r < s->x->rows; r++) {
            const int64_t node = node_of(s, b, begin, r);
            double *row = FERRY_ROW(to, node);
            for (int64_t e = r * k; e < (r + 1) * k && s->index[e] >= 0; e++) {
                const double *from = FERRY_ROW(f, node_of(s, b, begin, s->index[e]));
                for (int64_t y = 0; y < c; y++)
                    row[y] += o->mu * share[node] * s->w[e] * from[y];
            }
        }
    }
}

/* Columns of Q: the labelled nodes of sources and intermediates share 1 - beta, those of
 * the target beta (all of it where the other has none). */
static void restarts(const cotransfer_options *o, const ttl_bridge *b, const int64_t *begin,
                     ferry_block *q)
{
    for (int64_t y = 0; y < b->c; y++) {
        double count[2] = {0, 0};
        for (int64_t i = 0; i < b->n_places; i++)
            for (int64_t r = 0; r < b->place[i].n; r++)
                count[i == b->n_places - 1] += b->place[i].known[r] == y;
        double beta = count[1] > 0 ? o->beta : 0;
        if (count[0] == 0) beta = 1;
        for (int64_t i = 0; i < b->n_places; i++) {
            const bool target = i == b->n_places - 1;
            for (int64_t r = 0; r < b->place[i].n; r++)
                if (b->place[i].known[r] == y) FERRY_ROW(q, begin[i] + r)
            [y] = (target ? beta : 1 - beta) / count[target];
        }
    }
}

static ferry_status walk(ferry_ctx *ctx, const cotransfer_options *o, const ttl_bridge *b,
                         int64_t n_sides, const side *sides, const int64_t *begin,
                         ferry_block *f, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const int64_t n = begin[b->n_places];
    ferry_block *q = NULL, *to = NULL;
    double *share = ferry_i_calloc(n, sizeof *share);
    bool finish = false;

    if (!share) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t a = 0; a < n_sides; a++)
        for (int64_t r = 0; r < sides[a].x->rows; r++)
            share[node_of(&sides[a], b, begin, r)]++;
    for (int64_t i = 0; i < n; i++)
        share[i] = share[i] > 0 ? 1 / share[i] : 0;
    FERRY_TRY(ferry_i_block_new(ctx, n, b->c, &q));
    FERRY_TRY(ferry_i_block_new(ctx, n, b->c, &to));
    restarts(o, b, begin, q);
    ferry_i_block_copy(q, f);
    rep->stop = FERRY_STOP_MAX_ITER;
    for (rep->iters = 0; rep->iters < o->iterations; rep->iters++) {
        double most = 0, largest = 0;
        step(o, b, n_sides, sides, begin, q, f, share, to);
        for (int64_t e = 0; e < n * b->c; e++) {
            most = fmax(most, fabs(to->data[e] - f->data[e]));
            largest = fmax(largest, fabs(to->data[e]));
        }
        ferry_i_block_copy(to, f);
        FERRY_TRY(ferry_i_progress(ctx, "cotransfer", rep->iters + 1, o->iterations, NAN,
                                   &finish));
        if (most <= o->tol * largest) rep->stop = FERRY_STOP_TOL;
        if (finish) rep->stop = FERRY_STOP_FINISH;
        if (rep->stop != FERRY_STOP_MAX_ITER) break;
    }
done:
    FERRY_FREE(q, to, share);
    return st;
}

/* What the classes are to be multiplied with. */
static void class_mass(const cotransfer_options *o, const ttl_bridge *b,
                       const int64_t *begin, const ferry_block *f, double *factor)
{
    const ttl_place *t = ferry_i_bridge_target(b);

    for (int64_t y = 0; y < b->c; y++) {
        double sum = 0, shares = 0;
        for (int64_t i = 0; i < t->n; i++)
            sum += t->known[i] < 0 ? FERRY_ROW(f, begin[b->n_places - 1] + i)[y] : 0;
        for (int64_t i = 0; i < b->n_sources; i++)
            for (int64_t r = 0; r < b->place[i].n; r++)
                shares += b->place[i].known[r] == y;
        factor[y] = o->mass && sum > 0 ? shares / sum : 1;
    }
}

/* ---- the model ---- */

/* The nodes of the last intermediate domain (or the sources) and of the target. */
static ferry_status keep_nodes(ferry_ctx *ctx, const cotransfer_options *o,
                               const ttl_bridge *b, const int64_t *begin,
                               const ferry_block *f, state *s)
{
    ferry_status st = FERRY_OK;
    const int64_t last = b->n_places - 1, before = last - 1;
    const int64_t width = ferry_i_prepared_width(b->prepared);
    ferry_matrix *part[2] = {NULL, NULL}, *all = NULL;
    uint8_t *keep = NULL;
    double *factor = ferry_i_calloc(b->c, sizeof *factor);
    int64_t n = 0;

    if (!factor) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(common(ctx, b, before, last, &keep));
    s->centre = centred(o, b, keep);
    FERRY_NEW(ctx, s->keep, width);
    for (int64_t j = 0; j < width; j++)
        s->keep[j] = keep[ferry_i_prepared_column(b->prepared, j)];
    for (int i = 0; i < 2; i++)
        FERRY_TRY(ferry_i_bridge_on_target(ctx, b, b->place[i ? last : before].x, NULL, 0,
                                           NULL, &part[i]));
    FERRY_TRY(ferry_i_matrix_stack(ctx, 2, (const ferry_matrix *const *)part, &all));
    FERRY_TRY(ferry_i_columns_cut(ctx, all, s->keep, false, &s->x, NULL));
    FERRY_TRY(column_means(ctx, s->x, &s->mean));
    FERRY_TRY(ferry_i_block_new(ctx, s->x->rows, b->c, &s->f));
    class_mass(o, b, begin, f, factor);
    for (int64_t i = before; i <= last; i++)
        for (int64_t r = 0; r < b->place[i].n; r++, n++)
            for (int64_t y = 0; y < b->c; y++)
                FERRY_ROW(s->f, n)[y] = FERRY_ROW(f, begin[i] + r)[y] * factor[y];
done:
    ferry_i_matrix_free(part[0]);
    ferry_i_matrix_free(part[1]);
    ferry_i_matrix_free(all);
    FERRY_FREE(keep, factor);
    return st;
}

static ferry_status cotransfer_fit(ferry_ctx *ctx, const ferry_task *task,
                                   const void *options, void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const cotransfer_options *o = options;
    state *s = ferry_i_calloc(1, sizeof *s);
    ttl_bridge *b = NULL;
    side *sides = NULL;
    int64_t *begin = NULL, n = 0;
    ferry_block *f = NULL;

    *out = NULL;
    if (!s) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_bridge_new(ctx, "cotransfer", task,
                                 (ttl_reading){.scale = o->scale,
                                               .leaks = o->leaks,
                                               .bridge_labels = o->bridge_labels},
                                 &b));
    sides = ferry_i_calloc(b->n_places, sizeof *sides);
    if (!sides) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(number_nodes(ctx, b, &begin));
    for (int64_t i = 0; i + 1 < b->n_places; i++) /* sources meet the first place after */
        FERRY_TRY(
            side_new(ctx, o, b, i, i < b->n_sources ? b->n_sources : i + 1, &sides[n++]));
    FERRY_TRY(ferry_i_block_new(ctx, begin[b->n_places], b->c, &f));
    FERRY_TRY(walk(ctx, o, b, n, sides, begin, f, rep));
    s->c = b->c;
    s->k = o->neighbours;
    FERRY_TRY(keep_nodes(ctx, o, b, begin, f, s));
    s->prepared = ferry_i_bridge_release(b);
    FERRY_MOVE(*out, s);
done:
    for (int64_t i = 0; i < n; i++)
        side_clear(&sides[i]);
    FERRY_FREE(sides, begin, f);
    ferry_i_bridge_free(b);
    cotransfer_free(s);
    return st;
}

/* The mean of the nearest nodes; of a node itself where one is the same. */
static void vote(const state *s, const int64_t *index, const double *w, double *score)
{
    for (int64_t y = 0; y < s->c; y++)
        score[y] = 0;
    for (int64_t e = 0; e < s->k && index[e] >= 0; e++)
        for (int64_t y = 0; y < s->c; y++)
            score[y] += w[e] * FERRY_ROW(s->f, index[e])[y];
}

static ferry_status cotransfer_predict(ferry_ctx *ctx, const void *model,
                                       const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const state *s = model;
    ferry_matrix *x = NULL, *cut = NULL, *q = NULL, *nodes = NULL;
    ferry_block scores = {p->n, p->k, p->score};
    int64_t *index = NULL;
    double *w = NULL;

    FERRY_NEED(ctx, p->k == s->c, FERRY_EDATA, "the model has %lld classes, not %lld",
               (long long)s->c, (long long)p->k);
    FERRY_TRY(ferry_i_bridge_rows(ctx, s->prepared, d, &x));
    FERRY_TRY(ferry_i_columns_cut(ctx, x, s->keep, false, &cut, NULL));
    if (s->centre) {
        FERRY_TRY(take_off(ctx, cut, s->mean, &q));
        FERRY_TRY(take_off(ctx, s->x, s->mean, &nodes));
    } else {
        q = ferry_i_matrix_ref(cut);
        nodes = ferry_i_matrix_ref(s->x);
    }
    index = ferry_i_calloc(p->n * s->k, sizeof *index);
    w = ferry_i_calloc(p->n * s->k, sizeof *w);
    if (!index || !w) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(nearest(ctx, nodes, q, s->k, false, index, w));
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t self = index[i * s->k];
        bool same = self >= 0;
        if (same) {
            const int64_t a = cut->start[i], n = cut->start[i + 1] - a,
                          e = s->x->start[self];
            same = s->x->start[self + 1] - e == n;
            for (int64_t j = 0; same && j < n; j++)
                same = cut->index[a + j] == s->x->index[e + j] &&
                       fabs(cut->value[a + j] - s->x->value[e + j]) < 1e-12;
        }
        if (same)
            memcpy(FERRY_ROW(&scores, i), FERRY_ROW(s->f, self),
                   (size_t)s->c * sizeof(double));
        else
            vote(s, index + i * s->k, w + i * s->k, FERRY_ROW(&scores, i));
    }
    ferry_i_winners(&scores, p->cls, NULL);
done:
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(cut);
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(nodes);
    FERRY_FREE(index, w);
    return st;
}

static void cotransfer_file(ferry_io *io, void *model)
{
    state *s = model;
    int64_t facts[] = {s->k, s->centre}, kept = 0;

    ferry_i_bridge_file(io, &s->prepared);
    ferry_i_io_ints(io, "walk", 2, facts);
    FERRY_IO_NEED(io, facts[0] >= 1 && facts[0] <= 10000, "tensor walk: %lld neighbours",
                  (long long)facts[0]);
    ferry_i_io_matrix(io, "nodes", &s->x);
    FERRY_IO_NEED(io, !s->x->dense && s->x->rows > 0,
                  "tensor nodes is no sparse matrix with rows");
    if (io->st != FERRY_OK) return;
    const int64_t cols = ferry_i_prepared_width(s->prepared);
    ferry_i_io_flags(io, "keep", cols, &s->keep);
    for (int64_t j = 0; j < cols && ferry_i_io_loading(io); j++)
        kept += s->keep[j];
    FERRY_IO_NEED(io, kept == s->x->cols, "tensor nodes has %lld columns, keep %lld",
                  (long long)s->x->cols, (long long)kept);
    ferry_i_io_reals(io, "mean", 1, s->x->cols, &s->mean);
    ferry_i_io_block(io, "scores", s->x->rows, -1, &s->f);
    if (!ferry_i_io_loading(io)) return;
    s->k = facts[0];
    s->centre = facts[1] != 0;
    s->c = s->f->k;
}

const ferry_method ferry_i_method_cotransfer = {
    .name = "cotransfer",
    .summary = "random walks with restart over the graph of all instances of the bridge",
    .reference =
        "Ng, Wu, Ye, Co-Transfer Learning Using Coupled Markov Chains with Restart, "
        "IEEE Intelligent Systems 2014",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    FERRY_OPTIONS(cotransfer_opts, cotransfer_options),
    .fit = cotransfer_fit,
    .predict = cotransfer_predict,
    FERRY_STATE(state, cotransfer_file, cotransfer_free),
};
