/* From codebooks to a model of the target's ratings (mindtl.h): the two modes, and how
 * the sources are weighed.
 *
 * A model is <p_i, q_j> plus biases with short rows p_i and q_j (methods/shared/ratings.h):
 * a codebook of l item groups takes l numbers of each row, so that answering costs no more
 * than a factorisation of that rank. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/mindtl/mindtl.h"

/* ---- paper: hard memberships, ratings as they are ---- */

/* The group that someone of whom nothing is known most likely belongs to. The lowest of
 * equals. size: k numbers of scratch. */
static int32_t most_populous(int64_t n, const int32_t *label, int64_t k, int64_t *size)
{
    int32_t most = 0;

    memset(size, 0, (size_t)k * sizeof *size);
    for (int64_t i = 0; i < n; i++)
        size[label[i]]++;
    for (int32_t c = 1; c < k; c++)
        if (size[c] > size[most]) most = c;
    return most;
}

/* x_ij = sum_n lambda_n R_n[u_n(i), v_n(j)] as <p_i, q_j>: p has the weighted rows of R,
 * q is 1 at v. Who was not there is in the most populous group. m's arrays are zero on
 * entry. The rank is the sum of the l_n: item groups are the cheaper side to spell out,
 * since R is folded into p. */
static ferry_status hard_model(ferry_ctx *ctx, int64_t n, const mindtl_part *part,
                               const double *lambda, rating_model *m)
{
    ferry_status st = FERRY_OK;
    int64_t from = 0, most = 1, *size = NULL;

    for (int64_t s = 0; s < n; s++)
        most = most > part[s].k + part[s].l ? most : part[s].k + part[s].l;
    FERRY_NEW(ctx, size, most);
    for (int64_t s = 0; s < n; from += part[s++].l) {
        const mindtl_part *t = &part[s];
        memcpy(m->part[s].r, t->r, (size_t)(t->k * t->l) * sizeof(double));
        m->part[s].weight = lambda[s];
        const int32_t u0 = most_populous(m->p->rows, t->u, t->k, size);
        const int32_t v0 = most_populous(m->q->rows, t->v, t->l, size);
        for (int64_t d = 0; d < t->l; d++) {
            for (int64_t i = 0; i < m->p->rows; i++)
                FERRY_ROW(m->p, i)[from + d] = lambda[s] * t->r[t->u[i] * t->l + d];
            m->p0[from + d] = lambda[s] * t->r[u0 * t->l + d];
        }
        for (int64_t j = 0; j < m->q->rows; j++)
            FERRY_ROW(m->q, j)[from + t->v[j]] = 1;
        m->q0[from + v0] = 1;
    }
done:
    ferry_i_free(size);
    return st;
}

/* Room for a model with the codebooks of p, without what was rated. Ranks add up over all codebooks. `soft` adds
 * room for the memberships, which a later user needs. */
static ferry_status model_for(ferry_ctx *ctx, const mindtl_problem *p, bool soft,
                              rating_model **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->sources * p->o->copies;
    int64_t *k = NULL, *l = NULL, rank = 0;
    rating_model *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, k, 2 * n);
    l = k + n;
    for (int64_t s = 0; s < n; s++) {
        k[s] = p->book[s].k;
        l[s] = p->book[s].l;
        rank += l[s];
    }
    FERRY_TRY(ferry_i_rating_model_new(ctx, p->r, rank, &m));
    FERRY_TRY(ferry_i_rating_model_parts(ctx, m, n, k, l, soft));
    FERRY_MOVE(*out, m);
done:
    ferry_i_rating_model_free(m);
    ferry_i_free(k);
    return st;
}

/* Parts over labels in memory of n (p + q): users, then items, part after part. lay_out
 * allocates nothing: parts are views of `label`. */
static void lay_out(const mindtl_problem *p, const observed *x, int32_t *label,
                    mindtl_part *part)
{
    const int64_t users = x->xt->cols, each = users + x->x->cols;

    for (int64_t s = 0; s < p->sources; s++) {
        int32_t *u = label + s * each;
        part[s] = (mindtl_part){p->book[s].k, p->book[s].l, p->book[s].r, u, u + users};
    }
}

/* Algorithm 2 from o->starts starts: the parts, with labels in `label` (2 n (p + q):
 * those of the best by F, and of the start at hand), and their weights w. The first
 * start matches items to columns by their means, the others are random.
 *
 * F decides among the starts; labels of the best are copied to the front. With one source
 * lambda stays 1. */
static ferry_status best_start(ferry_ctx *ctx, const mindtl_problem *p, const observed *x,
                               mindtl_part *part, int32_t *label, double *w,
                               ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const codebook_options *o = p->o;
    const mindtl_target how = {(codebook_weights)o->lambda, true, o->iters, 1e-9, p->run};
    const int64_t n = p->sources, q = x->x->cols, size = n * (x->xt->cols + q);
    double *now = NULL;
    ferry_rng rng;

    FERRY_NEW(ctx, now, n);
    ferry_i_rng_for(ctx, &rng, "mindtl/starts");
    rep->objective = INFINITY;
    for (int64_t t = 0; t < o->starts && (t == 0 || !p->run->finish); t++) {
        double f = 0;
        int64_t iters = 0;
        lay_out(p, x, label + size, part);
        for (int64_t s = 0; s < n; s++) {
            const mindtl_part *a = &part[s];
            if (t == 0) FERRY_TRY(ferry_i_mindtl_match(ctx, x, a->k, a->l, a->r, a->v));
            for (int64_t j = 0; t > 0 && j < q; j++)
                a->v[j] = (int32_t)ferry_i_rng_below(&rng, (uint64_t)a->l);
        }
        FERRY_TRY(ferry_i_mindtl_reconstruct(ctx, x, &how, n, part, now, NULL, &iters, &f));
        if (f >= rep->objective) continue;
        rep->objective = f;
        rep->iters = iters;
        memcpy(label, label + size, (size_t)size * sizeof *label);
        memcpy(w, now, (size_t)n * sizeof *w);
    }
    lay_out(p, x, label, part);
done:
    ferry_i_free(now);
    return st;
}

/* rep: iterations and F of the best start. Fewer iterations than allowed means that F stood
 * still. */
ferry_status ferry_i_mindtl_fit_hard(ferry_ctx *ctx, const mindtl_problem *p,
                                     const observed *x, double *w, rating_model **out,
                                     ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    mindtl_part *part = NULL;
    int32_t *label = NULL;
    rating_model *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, part, p->sources);
    FERRY_NEW(ctx, label, 2 * p->sources * (x->xt->cols + x->x->cols));
    FERRY_TRY(best_start(ctx, p, x, part, label, w, rep));
    FERRY_TRY(model_for(ctx, p, false, &m));
    FERRY_TRY(hard_model(ctx, p->sources, part, w, m));
    rep->stop = p->run->finish             ? FERRY_STOP_FINISH
                : rep->iters < p->o->iters ? FERRY_STOP_TOL
                                           : FERRY_STOP_MAX_ITER;
    FERRY_MOVE(*out, m);
done:
    ferry_i_rating_model_free(m);
    FERRY_FREE(label, part);
    return st;
}

/* ---- ferry: soft memberships on what the biases leave ---- */

/* Biases into m, memberships of every codebook into soft[].
 *
 * Each codebook is fitted to all of the residuals, alone: weights come afterwards
 * (weigh()). The random start of a codebook has its own stream, so adding a source changes
 * none of the others. s2, the variance of the residuals, starts sigma2. */
static ferry_status fit_parts(ferry_ctx *ctx, const mindtl_problem *p, const observed *x,
                              rating_model *m, mindtl_soft *soft)
{
    ferry_status st = FERRY_OK;
    const codebook_options *o = p->o;
    double *rest = NULL, s2 = 0;
    int32_t *v = NULL;
    observed e = {0};

    FERRY_NEW(ctx, rest, x->x->nnz);
    FERRY_NEW(ctx, v, x->x->cols);
    FERRY_TRY(ferry_i_bias(ctx, x, o->bias, 10, &m->mu, m->a, m->b));
    ferry_i_bias_residuals(ctx, x, m->mu, m->a, m->b, rest);
    FERRY_TRY(ferry_i_observed_with(ctx, x, rest, &e));
    s2 = ferry_i_matrix_norm2(e.x);
    FERRY_TRY(ferry_i_observed_sum(ctx, &e, 1, &s2));
    s2 /= (double)ferry_i_observed_count(&e);
    for (int64_t s = 0; s < p->sources * o->copies; s++) {
        const codebook *b = &p->book[s];
        char use[64];
        ferry_rng rng;
        (void)snprintf(use, sizeof use, "mindtl/target/%lld", (long long)s);
        ferry_i_rng_for(ctx, &rng, use);
        for (int64_t j = 0; j < x->x->cols; j++)
            v[j] = (int32_t)ferry_i_rng_below(&rng, (uint64_t)b->l);
        FERRY_TRY(ferry_i_mindtl_soft_fit(ctx, &e, b, v, o->iters, fmax(s2, 1e-12), p->run,
                                          &soft[s]));
    }
done:
    ferry_i_observed_clear(&e);
    FERRY_FREE(v, rest);
    return st;
}

/* Part number s: columns [from, from + l) of p are weight Pu R, those of q are Pv; row
 * -1 is that of the unknown, who are in the groups as all others are on average. `from` and
 * `group`: where this part's columns begin in p and q, and in the memberships. */
static void soft_part(const codebook *b, const mindtl_soft *soft, int64_t s, int64_t from,
                      int64_t group, rating_model *m)
{
    const int64_t k = b->k, l = b->l;
    rating_part *t = &m->part[s];

    memcpy(t->r, b->r, (size_t)(k * l) * sizeof(double));
    memcpy(t->pi_u, soft->pi_u, (size_t)k * sizeof(double));
    memcpy(t->pi_v, soft->pi_v, (size_t)l * sizeof(double));
    t->sigma2 = soft->sigma2;
    for (int64_t i = -1; i < m->p->rows; i++) {
        const double *pu = i < 0 ? soft->pi_u : FERRY_ROW(soft->pu, i);
        double *to = (i < 0 ? m->p0 : FERRY_ROW(m->p, i)) + from;
        if (i >= 0) memcpy(FERRY_ROW(m->pu, i) + group, pu, (size_t)k * sizeof(double));
        for (int64_t d = 0; d < l; d++) {
            double sum = 0;
            for (int64_t c = 0; c < k; c++)
                sum += pu[c] * b->r[c * l + d];
            to[d] = t->weight * sum;
        }
    }
    for (int64_t j = -1; j < m->q->rows; j++)
        memcpy((j < 0 ? m->q0 : FERRY_ROW(m->q, j)) + from,
               j < 0 ? soft->pi_v : FERRY_ROW(soft->pv, j), (size_t)l * sizeof(double));
}

/* One fit of biases and memberships; the copies of a source share its weight w.
 *
 * w is one number a source. Two fits with different w differ in nothing but p: memberships
 * do not depend on the weights. */
static ferry_status fit_all(ferry_ctx *ctx, const mindtl_problem *p, const observed *x,
                            const double *w, rating_model **out)
{
    ferry_status st = FERRY_OK;
    const int64_t copies = p->o->copies, n = p->sources * copies;
    mindtl_soft *soft = NULL;
    rating_model *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, soft, n);
    for (int64_t s = 0; s < n; s++)
        FERRY_TRY(ferry_i_mindtl_soft_new(ctx, x->xt->cols, x->x->cols, p->book[s].k,
                                          p->book[s].l, &soft[s]));
    FERRY_TRY(model_for(ctx, p, true, &m));
    m->shrink_a = m->shrink_b = p->o->bias;
    FERRY_TRY(fit_parts(ctx, p, x, m, soft));
    for (int64_t s = 0, from = 0, group = 0; s < n; s++) {
        m->part[s].weight = w[s / copies] / (double)copies;
        soft_part(&p->book[s], &soft[s], s, from, group, m);
        from += p->book[s].l;
        group += p->book[s].k;
    }
    FERRY_MOVE(*out, m);
done:
    ferry_i_rating_model_free(m);
    for (int64_t s = 0; soft && s < n; s++)
        ferry_i_mindtl_soft_clear(&soft[s]);
    ferry_i_free(soft);
    return st;
}

/* ---- weights by ratings held out ---- */

/* w_i <- (c_i - sum_{j != i} H_ij w_j) / H_ii, clipped, in turn: each is the exact
 * minimum along its coordinate, and a convex problem has no other place to stop. A
 * pattern that adds nothing (H_ii = 0) gets weight 0. At most 10,000 rounds for a dozen
 * weights; convergence is linear. */
void ferry_i_mindtl_box(const ferry_small *h, const double *c, double most, double *w)
{
    double moved = 1;

    for (int64_t i = 0; i < h->rows; i++)
        w[i] = 0;
    for (int64_t t = 0; t < 10000 && moved > 1e-14; t++) {
        moved = 0;
        for (int64_t i = 0; i < h->rows; i++) {
            double g = c[i];
            for (int64_t j = 0; j < h->rows; j++)
                if (j != i) g -= FERRY_AT(h, i, j) * w[j];
            g = FERRY_AT(h, i, i) > 0 ? fmin(fmax(g / FERRY_AT(h, i, i), 0), most) : 0;
            moved = fmax(moved, fabs(g - w[i]));
            w[i] = g;
        }
    }
}

/* z[s]: what source s adds for a pair (all weights 1 in m). Walks along p and q in the
 * order of the parts: their layout is that of model_for(). */
static void added(const mindtl_problem *p, const rating_model *m, int64_t user,
                  int64_t item, double *z)
{
    const double *a = FERRY_ROW(m->p, user), *b = FERRY_ROW(m->q, item);
    const int64_t copies = p->o->copies;

    for (int64_t s = 0; s < p->sources; s++) {
        z[s] = 0;
        for (int64_t c = 0; c < copies; c++)
            for (int64_t d = 0; d < p->book[s * copies + c].l; d++)
                z[s] += *a++ * *b++;
    }
}

/* Ratings held out: how many of all there are, this rank's (places in p->x), the users of all of its ratings, and what
 * is left. `rest` has the same users and items as all: labels and rows keep their places. */
typedef struct held {
    int64_t all, n, *at;
    int32_t *user;
    observed rest; /* empty when `all` is 0 */
} held;

static void held_clear(held *h)
{
    FERRY_FREE(h->at, h->user);
    ferry_i_observed_clear(&h->rest);
}

/* A share of all ratings, whoever's they are. Sorted ratings and a stream of random
 * numbers of its own: the same ones for every source. share 0, or too few ratings for one:
 * none is held out and nothing is left out. */
static ferry_status hold_out(ferry_ctx *ctx, const observed *x, double share, held *h)
{
    ferry_status st = FERRY_OK;
    const int64_t all = ferry_i_observed_count(x), own = x->x->nnz;
    uint8_t *out = NULL;
    int64_t before = 0;
    ferry_rng rng;

    FERRY_NEW(ctx, h->at, all);
    for (int64_t e = 0; e < all; e++)
        h->at[e] = e;
    ferry_i_rng_for(ctx, &rng, "mindtl/hold");
    ferry_i_rng_shuffle(&rng, all, h->at);
    h->all = (int64_t)floor(share * (double)all);
    if (h->all == 0) goto done;
    FERRY_NEW(ctx, out, own);
    FERRY_NEW(ctx, h->user, own);
    for (int64_t i = 0; i < x->x->rows; i++)
        for (int64_t e = x->x->start[i]; e < x->x->start[i + 1]; e++)
            h->user[e] = (int32_t)(ferry_i_observed_user(ctx, x) + i);
    FERRY_TRY(ferry_i_observed_before(ctx, x, &before));
    for (int64_t e = 0; e < h->all; e++) {
        const int64_t at = h->at[e] - before;
        if (at < 0 || at >= own) continue;
        h->at[h->n++] = at;
        out[at] = 1;
    }
    FERRY_TRY(ferry_i_observed_part(ctx, x, out, 1, &h->rest));
done:
    ferry_i_free(out);
    return st;
}

/* Weights by least squares on the pairs held out, and how well each source alone does.
 *
 * min over 0 <= w <= 1.5 of sum (rest - w'z)^2 over the pairs held out. More than 1 is
 * allowed, since soft groups shrink a pattern. rmse is that of weight 1. */
static ferry_status weigh(ferry_ctx *ctx, const mindtl_problem *p, const held *h,
                          const rating_model *m, double *w, double *rmse)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = p->x->x;
    ferry_small *g = NULL;
    double *c = NULL, *z = NULL;

    FERRY_NEW(ctx, c, 2 * p->sources);
    z = c + p->sources;
    FERRY_TRY(ferry_i_small_new(ctx, p->sources, p->sources, &g));
    for (int64_t s = 0; s < p->sources; s++)
        rmse[s] = 0;
    for (int64_t e = 0; e < h->n; e++) {
        const int64_t i = h->user[h->at[e]], j = x->index[h->at[e]];
        /* What the biases leave of the rating held out. */
        const double rest = x->value[h->at[e]] - m->mu - m->a[i] - m->b[j];
        added(p, m, i, j, z);
        for (int64_t s = 0; s < p->sources; s++) { /* c = Z rest, G = Z Z' */
            c[s] += z[s] * rest;
            rmse[s] += (rest - z[s]) * (rest - z[s]) / (double)h->all;
            for (int64_t t = 0; t < p->sources; t++)
                FERRY_AT(g, s, t) += z[s] * z[t];
        }
    }
    FERRY_TRY(ferry_i_observed_sum(ctx, p->x, p->sources, c));
    FERRY_TRY(ferry_i_observed_sum(ctx, p->x, p->sources, rmse));
    FERRY_TRY(ferry_i_observed_sum(ctx, p->x, p->sources * p->sources, g->data));
    ferry_i_mindtl_box(g, c, 1.5, w);
    for (int64_t s = 0; s < p->sources; s++)
        rmse[s] = sqrt(rmse[s]);
done:
    ferry_i_small_free(g);
    ferry_i_free(c);
    return st;
}

/* Twice: on the ratings that are not held out, to find the weights by the others; then
 * on all of them with these weights. A source whose pattern does not help on ratings it
 * has not seen gets weight 0, so that the result is not worse than the biases. */
ferry_status ferry_i_mindtl_fit_soft(ferry_ctx *ctx, const mindtl_problem *p,
                                     const observed *x, double *w, double *rmse,
                                     rating_model **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    held h = {.n = 0};
    rating_model *m = NULL;

    *out = NULL;
    FERRY_TRY(hold_out(ctx, x, p->o->hold, &h));
    for (int64_t s = 0; s < p->sources; s++) {
        w[s] = h.all > 0; /* nothing held out: the biases alone */
        rmse[s] = NAN;
    }
    if (h.all > 0) {
        FERRY_TRY(fit_all(ctx, p, &h.rest, w, &m));
        FERRY_TRY(weigh(ctx, p, &h, m, w, rmse));
        ferry_i_rating_model_free(m);
        m = NULL;
    }
    FERRY_TRY(fit_all(ctx, p, x, w, &m));
    rep->iters = p->o->iters;
    if (p->run->finish) rep->stop = FERRY_STOP_FINISH;
    FERRY_MOVE(*out, m);
done:
    ferry_i_rating_model_free(m);
    held_clear(&h);
    return st;
}

/* ---- which source is near ---- */

/* The paper's heuristic for the order of sources: how well each alone rates what was held
 * out. At least a tenth is held out, whatever the option says: without it there is no
 * distance. */
ferry_status ferry_i_mindtl_distances(ferry_ctx *ctx, const mindtl_problem *p, double *rmse)
{
    ferry_status st = FERRY_OK;
    codebook_options o = *p->o;
    const ferry_matrix *x = p->x->x;
    held h = {.n = 0};
    rating_model *m = NULL;

    o.lambda = LAMBDA_SIMPLEX;
    FERRY_TRY(hold_out(ctx, p->x, fmax(o.hold, 0.1), &h));
    for (int64_t s = 0; s < p->sources; s++) {
        const mindtl_problem alone = {&o, p->r, p->x, 1, p->book + s * o.copies, p->run};
        ferry_fit_info unused = {.stop = FERRY_STOP_DONE};
        double one = 1, sum = 0;
        rmse[s] = NAN;
        if (h.all == 0) continue;
        if (o.mode == MODE_PAPER)
            FERRY_TRY(ferry_i_mindtl_fit_hard(ctx, &alone, &h.rest, &one, &m, &unused));
        else
            FERRY_TRY(fit_all(ctx, &alone, &h.rest, &one, &m));
        for (int64_t e = 0; e < h.n; e++) {
            const int64_t at = h.at[e];
            const double d = ferry_i_rating_at(m, h.user[at], x->index[at]) - x->value[at];
            sum += d * d;
        }
        FERRY_TRY(ferry_i_observed_sum(ctx, p->x, 1, &sum));
        rmse[s] = sqrt(sum / (double)h.all);
        ferry_i_rating_model_free(m);
        m = NULL;
    }
done:
    ferry_i_rating_model_free(m);
    held_clear(&h);
    return st;
}
