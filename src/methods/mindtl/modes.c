/* The two modes: from codebooks to a model of the target's ratings. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/mindtl/method.h"

/* ---- paper: hard memberships, ratings as they are ---- */

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

/* x_ij = sum_n lambda_n R_n[u_n(i), v_n(j)] as <p_i, q_j>: p has the weighted rows of R, q
 * is 1 at v. Who was not there is in the most populous group. */
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

/* Room for a model with these codebooks. */
static ferry_status model_for(ferry_ctx *ctx, const ferry_ratings *r, int64_t n,
                              const mindtl_codebook *book, bool soft, rating_model **out)
{
    ferry_status st = FERRY_OK;
    int64_t *k = ferry_i_calloc(2 * n, sizeof *k), *l = k + n, rank = 0;
    rating_model *m = NULL;

    *out = NULL;
    FERRY_HAVE(ctx, k);
    for (int64_t s = 0; s < n; s++) {
        k[s] = book[s].k;
        l[s] = book[s].l;
        rank += l[s];
    }
    FERRY_TRY(ferry_i_rating_model_new(ctx, r, rank, &m));
    FERRY_TRY(ferry_i_rating_model_parts(ctx, m, n, k, l, soft));
    *out = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    ferry_i_free(k);
    return st;
}

/* Labels of the best of o->starts starts by F, and lambda. The first start matches items to
 * columns by their means, the others are random. label: best and current, n (p + q) each.
 */
static ferry_status reconstruct(ferry_ctx *ctx, const observed *x, const mindtl_options *o,
                                mindtl_solver solver, int64_t n,
                                const mindtl_codebook *book, mindtl_run *run,
                                mindtl_part *part, int32_t *label, double *w, double *now,
                                ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const mindtl_target how = {solver, true, o->iters, 1e-9, run};
    const int64_t p = x->x->rows, q = x->x->cols, size = n * (p + q);
    int32_t *current = label + size;
    ferry_rng rng;

    ferry_i_rng_for(ctx, &rng, "mindtl/starts");
    rep->objective = INFINITY;
    for (int64_t t = 0; t < o->starts && (t == 0 || !run->finish); t++) {
        double f = 0;
        int64_t iters = 0;
        for (int64_t s = 0; s < n; s++) {
            int32_t *u = current + s * (p + q), *v = u + p;
            part[s] = (mindtl_part){book[s].k, book[s].l, book[s].r, u, v};
            if (t == 0) ferry_i_mindtl_match(x, book[s].k, book[s].l, book[s].r, v);
            for (int64_t j = 0; t > 0 && j < q; j++)
                v[j] = (int32_t)ferry_i_rng_below(&rng, (uint64_t)book[s].l);
        }
        FERRY_TRY(ferry_i_mindtl_reconstruct(ctx, x, &how, n, part, now, NULL, &iters, &f));
        if (f >= rep->objective) continue;
        rep->objective = f;
        rep->iters = iters;
        memcpy(label, current, (size_t)size * sizeof *label);
        memcpy(w, now, (size_t)n * sizeof *w);
    }
    for (int64_t s = 0; s < n; s++) {
        part[s].u = label + s * (p + q);
        part[s].v = part[s].u + p;
    }
done:
    return st;
}

/* Mode paper on ratings x of r's users and items. */
static ferry_status fit_hard_to(ferry_ctx *ctx, const ferry_ratings *r, const observed *x,
                                const mindtl_options *o, mindtl_solver solver, int64_t n,
                                const mindtl_codebook *book, mindtl_run *run, double *w,
                                rating_model **out, ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const int64_t p = ferry_i_ids_count(r->users), q = ferry_i_ids_count(r->items);
    mindtl_part *part = ferry_i_calloc(n, sizeof *part);
    int32_t *label = ferry_i_calloc(2 * n * (p + q), sizeof *label);
    double *now = ferry_i_calloc(n, sizeof *now);
    rating_model *m = NULL;

    *out = NULL;
    FERRY_HAVE(ctx, part && label && now);
    FERRY_TRY(reconstruct(ctx, x, o, solver, n, book, run, part, label, w, now, rep));
    FERRY_TRY(model_for(ctx, r, n, book, false, &m));
    FERRY_TRY(hard_model(ctx, n, part, w, m));
    *out = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    ferry_i_free(now);
    ferry_i_free(label);
    ferry_i_free(part);
    return st;
}

ferry_status ferry_i_mindtl_fit_hard(ferry_ctx *ctx, const ferry_ratings *r,
                                     const mindtl_options *o, mindtl_solver solver,
                                     int64_t n, const mindtl_codebook *book,
                                     mindtl_run *run, double *w, rating_model **out,
                                     ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    observed x = {NULL, NULL};

    *out = NULL;
    FERRY_TRY(ferry_i_observed_new(ctx, r, 1, 0, &x));
    FERRY_TRY(fit_hard_to(ctx, r, &x, o, solver, n, book, run, w, out, rep));
    rep->stop = run->finish             ? FERRY_STOP_FINISH
                : rep->iters < o->iters ? FERRY_STOP_TOL
                                        : FERRY_STOP_MAX_ITER;
done:
    ferry_i_observed_clear(&x);
    return st;
}

/* ---- ferry: soft memberships on what the biases leave ---- */

/* Biases into m, memberships of every codebook into soft[]. */
static ferry_status fit_parts(ferry_ctx *ctx, const observed *x, const mindtl_options *o,
                              int64_t n, const mindtl_codebook *book, mindtl_run *run,
                              rating_model *m, mindtl_soft *soft)
{
    ferry_status st = FERRY_OK;
    double *rest = ferry_i_calloc(x->x->nnz, sizeof *rest);
    int32_t *v = ferry_i_calloc(x->x->cols, sizeof *v);
    observed e = {NULL, NULL};
    double s2 = 0;

    FERRY_HAVE(ctx, rest && v);
    FERRY_TRY(ferry_i_bias(ctx, x, o->bias, 10, &m->mu, m->a, m->b));
    ferry_i_bias_residuals(x->x, m->mu, m->a, m->b, rest);
    FERRY_TRY(ferry_i_observed_with(ctx, x, rest, &e));
    s2 = ferry_i_matrix_norm2(e.x) / (double)e.x->nnz;
    for (int64_t s = 0; s < n; s++) {
        char use[64];
        ferry_rng rng;
        (void)snprintf(use, sizeof use, "mindtl/target/%lld", (long long)s);
        ferry_i_rng_for(ctx, &rng, use);
        for (int64_t j = 0; j < x->x->cols; j++)
            v[j] = (int32_t)ferry_i_rng_below(&rng, (uint64_t)book[s].l);
        FERRY_TRY(ferry_i_mindtl_soft_fit(ctx, &e, book[s].k, book[s].l, book[s].r, v,
                                          o->iters, fmax(s2, 1e-12), run, &soft[s]));
    }
done:
    ferry_i_observed_clear(&e);
    ferry_i_free(v);
    ferry_i_free(rest);
    return st;
}

/* p <- Pu R, q <- Pv side by side, with weight w[s / copies] / copies. */
static void soft_model(int64_t n, int64_t copies, const mindtl_codebook *book,
                       const mindtl_soft *soft, const double *w, rating_model *m)
{
    for (int64_t s = 0, from = 0, group = 0; s < n;
         from += book[s].l, group += book[s++].k) {
        const int64_t k = book[s].k, l = book[s].l;
        const double weight = w[s / copies] / (double)copies;
        rating_part *t = &m->part[s];
        memcpy(t->r, book[s].r, (size_t)(k * l) * sizeof(double));
        memcpy(t->pi_u, soft[s].pi_u, (size_t)k * sizeof(double));
        memcpy(t->pi_v, soft[s].pi_v, (size_t)l * sizeof(double));
        t->weight = weight;
        t->sigma2 = soft[s].sigma2;
        for (int64_t i = 0; i < m->p->rows; i++)
            memcpy(FERRY_ROW(m->pu, i) + group, FERRY_ROW(soft[s].pu, i),
                   (size_t)k * sizeof(double));
        for (int64_t i = -1; i < m->p->rows; i++) {
            const double *pu = i < 0 ? soft[s].pi_u : FERRY_ROW(soft[s].pu, i);
            double *to = (i < 0 ? m->p0 : FERRY_ROW(m->p, i)) + from;
            for (int64_t d = 0; d < l; d++) {
                double sum = 0;
                for (int64_t c = 0; c < k; c++)
                    sum += pu[c] * book[s].r[c * l + d];
                to[d] = weight * sum;
            }
        }
        for (int64_t j = -1; j < m->q->rows; j++)
            memcpy((j < 0 ? m->q0 : FERRY_ROW(m->q, j)) + from,
                   j < 0 ? soft[s].pi_v : FERRY_ROW(soft[s].pv, j),
                   (size_t)l * sizeof(double));
    }
}

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

/* z[s]: what source s adds for a pair (all weights 1 in m). */
static void added(const rating_model *m, int64_t n, int64_t copies,
                  const mindtl_codebook *book, int64_t user, int64_t item, double *z)
{
    const double *p = FERRY_ROW(m->p, user), *q = FERRY_ROW(m->q, item);

    for (int64_t s = 0; s < n / copies; s++)
        z[s] = 0;
    for (int64_t s = 0; s < n; s++, p += book[s - 1].l, q += book[s - 1].l)
        for (int64_t d = 0; d < book[s].l; d++)
            z[s / copies] += p[d] * q[d];
}

/* Weights by least squares on the pairs held out, and how well each source alone does. */
static ferry_status weigh(ferry_ctx *ctx, const ferry_ratings *r, int64_t held,
                          const int64_t *at, const rating_model *m, int64_t n,
                          int64_t copies, const mindtl_codebook *book, double *w,
                          double *rmse)
{
    ferry_status st = FERRY_OK;
    const int64_t sources = n / copies;
    ferry_small *h = NULL;
    double *c = ferry_i_calloc(2 * sources, sizeof *c), *z = c + sources;

    FERRY_HAVE(ctx, c);
    FERRY_TRY(ferry_i_small_new(ctx, sources, sources, &h));
    for (int64_t s = 0; s < sources; s++)
        rmse[s] = 0;
    for (int64_t e = 0; e < held; e++) {
        const int64_t i = r->user[at[e]], j = r->item[at[e]];
        const double rest = r->value[at[e]] - m->mu - m->a[i] - m->b[j];
        added(m, n, copies, book, i, j, z);
        for (int64_t s = 0; s < sources; s++) {
            c[s] += z[s] * rest;
            rmse[s] += (rest - z[s]) * (rest - z[s]) / (double)held;
            for (int64_t t = 0; t < sources; t++)
                FERRY_AT(h, s, t) += z[s] * z[t];
        }
    }
    ferry_i_mindtl_box(h, c, 1.5, w);
    for (int64_t s = 0; s < sources; s++)
        rmse[s] = sqrt(rmse[s]);
done:
    ferry_i_small_free(h);
    ferry_i_free(c);
    return st;
}

/* Observed ratings without the last `held` of the shuffled order. */
static ferry_status without(ferry_ctx *ctx, const ferry_ratings *r, int64_t held,
                            const int64_t *at, observed *out)
{
    ferry_status st = FERRY_OK;
    ferry_ratings *part = NULL;

    FERRY_TRY(ferry_i_ratings_copy(ctx, r, &part));
    for (int64_t e = 0; e < held; e++)
        part->value[at[e]] = NAN;
    FERRY_TRY(ferry_i_observed_new(ctx, part, 1, 0, out));
done:
    ferry_i_ratings_free(part);
    return st;
}

/* One fit of biases and memberships; weights w into the model. */
static ferry_status fit_all(ferry_ctx *ctx, const ferry_ratings *r, const observed *x,
                            const mindtl_options *o, int64_t n, const mindtl_codebook *book,
                            mindtl_run *run, const double *w, rating_model **out)
{
    ferry_status st = FERRY_OK;
    mindtl_soft *soft = ferry_i_calloc(n, sizeof *soft);
    rating_model *m = NULL;

    *out = NULL;
    FERRY_HAVE(ctx, soft);
    for (int64_t s = 0; s < n; s++)
        FERRY_TRY(ferry_i_mindtl_soft_new(ctx, x->x->rows, x->x->cols, book[s].k, book[s].l,
                                          &soft[s]));
    FERRY_TRY(model_for(ctx, r, n, book, true, &m));
    m->shrink_a = m->shrink_b = o->bias;
    FERRY_TRY(fit_parts(ctx, x, o, n, book, run, m, soft));
    soft_model(n, o->copies, book, soft, w, m);
    *out = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    for (int64_t s = 0; soft && s < n; s++)
        ferry_i_mindtl_soft_clear(&soft[s]);
    ferry_i_free(soft);
    return st;
}

/* Ratings held out: `held` places at the beginning of *at (new array), and the others as x.
 * None: held is 0 and x empty. */
static ferry_status hold_out(ferry_ctx *ctx, const ferry_ratings *r, double share,
                             int64_t **at, int64_t *held, observed *x)
{
    ferry_status st = FERRY_OK;
    int64_t seen = 0;
    ferry_rng rng;

    FERRY_NEW(ctx, *at, r->n);
    for (int64_t e = 0; e < r->n; e++)
        if (!isnan(r->value[e])) (*at)[seen++] = e;
    *held = (int64_t)floor(share * (double)seen);
    ferry_i_rng_for(ctx, &rng, "mindtl/hold");
    ferry_i_rng_shuffle(&rng, seen, *at);
    if (*held > 0) FERRY_TRY(without(ctx, r, *held, *at, x));
done:
    return st;
}

ferry_status ferry_i_mindtl_fit_soft(ferry_ctx *ctx, const ferry_ratings *r,
                                     const mindtl_options *o, int64_t sources,
                                     const mindtl_codebook *book, mindtl_run *run,
                                     double *w, double *rmse, rating_model **out,
                                     ferry_report *rep)
{
    ferry_status st = FERRY_OK;
    const int64_t n = sources * o->copies;
    int64_t *at = NULL, held = 0;
    observed x = {NULL, NULL};
    rating_model *m = NULL;

    *out = NULL;
    for (int64_t s = 0; s < sources; s++) { /* nothing held out: the biases alone */
        w[s] = 1;
        rmse[s] = NAN;
    }
    FERRY_TRY(hold_out(ctx, r, o->hold, &at, &held, &x));
    if (held > 0) {
        FERRY_TRY(fit_all(ctx, r, &x, o, n, book, run, w, &m));
        FERRY_TRY(weigh(ctx, r, held, at, m, n, o->copies, book, w, rmse));
        ferry_i_rating_model_free(m);
        m = NULL;
        ferry_i_observed_clear(&x);
    }
    for (int64_t s = 0; held == 0 && s < sources; s++)
        w[s] = 0;
    FERRY_TRY(ferry_i_observed_new(ctx, r, 1, 0, &x));
    FERRY_TRY(fit_all(ctx, r, &x, o, n, book, run, w, &m));
    rep->iters = o->iters;
    if (run->finish) rep->stop = FERRY_STOP_FINISH;
    *out = m;
    m = NULL;
done:
    ferry_i_rating_model_free(m);
    ferry_i_observed_clear(&x);
    ferry_i_free(at);
    return st;
}

/* ---- which source is near ---- */

ferry_status ferry_i_mindtl_distances(ferry_ctx *ctx, const ferry_ratings *r,
                                      const mindtl_options *o, int64_t sources,
                                      const mindtl_codebook *book, mindtl_run *run,
                                      double *rmse)
{
    ferry_status st = FERRY_OK;
    int64_t *at = NULL, held = 0;
    observed x = {NULL, NULL};
    rating_model *m = NULL;

    FERRY_TRY(hold_out(ctx, r, fmax(o->hold, 0.1), &at, &held, &x));
    for (int64_t s = 0; s < sources; s++) {
        const mindtl_codebook *of = book + s * o->copies;
        ferry_report unused = {.stop = FERRY_STOP_DONE};
        double one = 1, sum = 0;
        rmse[s] = NAN;
        if (held == 0) continue;
        if (o->mode == MODE_PAPER)
            FERRY_TRY(
                fit_hard_to(ctx, r, &x, o, LAMBDA_SIMPLEX, 1, of, run, &one, &m, &unused));
        else
            FERRY_TRY(fit_all(ctx, r, &x, o, o->copies, of, run, &one, &m));
        for (int64_t e = 0; e < held; e++) {
            const double d =
                ferry_i_rating_at(m, r->user[at[e]], r->item[at[e]]) - r->value[at[e]];
            sum += d * d;
        }
        rmse[s] = sqrt(sum / (double)held);
        ferry_i_rating_model_free(m);
        m = NULL;
    }
done:
    ferry_i_rating_model_free(m);
    ferry_i_observed_clear(&x);
    ferry_i_free(at);
    return st;
}
