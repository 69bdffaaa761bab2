/* Reconstruction of the target from codebooks: hard memberships and the weights lambda
 * (algorithm 2).
 *
 * Assignment of a row i: with N_d ratings of items in group d that sum up to S_d,
 *   cost_c = lambda^2 sum_d N_d R_cd^2 - 2 lambda sum_d S_d R_cd,
 * so one pass over the ratings and k l operations a row: O(nnz + p k l).
 *
 * Ties go to the lowest group; rows without ratings keep theirs after the first step. A
 * single source has lambda = 1 and algorithm 2 is CBT's. */
#include <math.h>

#include "learn/learn.h"
#include "methods/mindtl/mindtl.h"

/* ---- assignment ---- */

/* What the parts but `skip` (-1: all of them) make of user i and item j:
 * sum_n lambda_n R_n[u_n(i), v_n(j)]. */
static double others(int64_t parts, const mindtl_part *part, const double *lambda,
                     int64_t skip, int64_t i, int64_t j)
{
    double sum = 0;

    for (int64_t n = 0; n < parts; n++)
        if (n != skip)
            sum += lambda[n] * part[n].r[part[n].u[i] * part[n].l + part[n].v[j]];
    return sum;
}

/* One assignment problem, of users or of items: the fields hide which of the two it is. */
typedef struct assignment {
    const ferry_matrix *x;
    int64_t first; /* the user or item that is row 0 */
    bool transposed, joint;
    int64_t parts, at;
    const mindtl_part *part;
    const double *lambda;
    int64_t k, l;           /* groups of the rows, of the columns */
    int64_t step_c, step_d; /* R_cd is r[c * step_c + d * step_d] */
    const double *r;
    const int32_t *other; /* groups of the columns */
    double weight;
    int32_t *label;
} assignment;

/* The best group of row i: cost_c = sum_d (N_d r - 2 S_d) r, r = lambda R_cd. s and n are
 * scratch of l entries each. */
static void assign_row(const assignment *a, int64_t i, double *s, double *n)
{
    const ferry_matrix *x = a->x;
    double least = INFINITY;

    for (int64_t d = 0; d < a->l; d++)
        s[d] = n[d] = 0;
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
        const int64_t j = x->index[e], d = a->other[j];
        double value = x->value[e];
        if (a->joint && a->parts > 1)
            value -=
                others(a->parts, a->part, a->lambda, a->at,
                       a->transposed ? j : a->first + i, a->transposed ? a->first + i : j);
        s[d] += value;
        n[d]++;
    }
    /* Without the constant |e|^2 of the row, which all groups share. */
    for (int64_t c = 0; c < a->k; c++) {
        double cost = 0;
        for (int64_t d = 0; d < a->l; d++) {
            const double r = a->weight * a->r[c * a->step_c + d * a->step_d];
            cost += (n[d] * r - 2 * s[d]) * r;
        }
        if (cost < least) {
            least = cost;
            a->label[a->first + i] = (int32_t)c;
        }
    }
}

/* Rows without entries go to the group that most of the others are in. Done at the first
 * step alone: later such rows stay, since nothing tells them where to go. */
static ferry_status fill_cold(ferry_ctx *ctx, const observed *o, const assignment *a)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = a->x;
    double *size = ferry_i_calloc(a->k, sizeof *size);
    int32_t most = 0;

    FERRY_HAVE(ctx, size);
    for (int64_t i = 0; i < x->rows; i++)
        if (x->start[i + 1] > x->start[i]) size[a->label[a->first + i]]++;
    FERRY_TRY(ferry_i_observed_sum(ctx, o, a->k, size));
    for (int32_t c = 1; c < a->k; c++)
        if (size[c] > size[most]) most = c;
    for (int64_t i = 0; i < x->rows; i++)
        if (x->start[i + 1] == x->start[i]) a->label[a->first + i] = most;
done:
    ferry_i_free(size);
    return st;
}

/* Rows are independent: threads take every t-th one, and the bits do not depend on how
 * many there are. A part of weight 0 keeps its groups, which no cost tells apart. Other
 * parts are read while this one's labels are written: their rows are not touched. */
ferry_status ferry_i_mindtl_assign(ferry_ctx *ctx, const observed *o, bool transposed,
                                   int64_t parts, mindtl_part *part, int64_t at,
                                   const double *lambda, bool joint, bool fill)
{
    ferry_status st = FERRY_OK;
    const mindtl_part *p = &part[at];
    const ferry_matrix *x = transposed ? o->xt : o->x;
    const assignment a = {x,
                          transposed ? ferry_i_observed_item(ctx, o)
                                     : ferry_i_observed_user(ctx, o),
                          transposed,
                          joint,
                          parts,
                          at,
                          part,
                          lambda,
                          transposed ? p->l : p->k,
                          transposed ? p->k : p->l,
                          transposed ? 1 : p->l,
                          transposed ? p->l : 1,
                          p->r,
                          transposed ? p->u : p->v,
                          joint ? lambda[at] : 1,
                          transposed ? p->v : p->u};
    const int threads = x->nnz < 20000 ? 1 : ctx->threads;
    double *space = NULL;

    if (a.weight == 0) return FERRY_OK; /* nothing tells the groups apart: keep them */
    FERRY_NEW(ctx, space, threads * 2 * a.l);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        double *s = space + t * 2 * a.l;
        for (int64_t i = t; i < x->rows; i += threads)
            if (x->start[i + 1] > x->start[i]) assign_row(&a, i, s, s + a.l);
    }
    if (fill) FERRY_TRY(fill_cold(ctx, o, &a));
    FERRY_TRY(ferry_i_observed_share(ctx, o, transposed, sizeof *a.label, a.label));
done:
    ferry_i_free(space);
    return st;
}

/* A start that needs no luck: as good on real data as the best of three random ones. k l
 * operations for each item: columns' means are not kept, since l is small. */
ferry_status ferry_i_mindtl_match(ferry_ctx *ctx, const observed *x, int64_t k, int64_t l,
                                  const double *r, int32_t *v)
{
    const double shrink = 5;
    const int64_t n = ferry_i_observed_count(x), first = ferry_i_observed_item(ctx, x);
    double mean = 0;

    for (int64_t e = 0; e < x->x->nnz; e++)
        mean += x->x->value[e];
    FERRY_PASS(ferry_i_observed_sum(ctx, x, 1, &mean));
    mean /= (double)(n > 0 ? n : 1);
    for (int64_t j = 0; j < x->xt->rows; j++) {
        double sum = shrink * mean, least = INFINITY;
        for (int64_t e = x->xt->start[j]; e < x->xt->start[j + 1]; e++)
            sum += x->xt->value[e];
        sum /= (double)(x->xt->start[j + 1] - x->xt->start[j]) + shrink;
        for (int64_t d = 0; d < l; d++) {
            double column = 0;
            for (int64_t c = 0; c < k; c++)
                column += r[c * l + d];
            column = fabs(column / (double)k - sum);
            if (column < least) {
                least = column;
                v[first + j] = (int32_t)d;
            }
        }
    }
    return ferry_i_observed_share(ctx, x, true, sizeof *v, v);
}

/* ---- lambda ---- */

/* The paper's: gradient steps that keep sum = 1, until one leaves the box. Read
 * literally, without the projection on sum 0, every step breaks the constraint and
 * lambda never moves; without the division by n it diverges. grad = 2 (H lambda - c) /
 * n, less its mean. */
static void lambda_sgd(const ferry_small *h, const double *c, int64_t n, double theta,
                       int64_t steps, double *g, double *lambda)
{
    const int64_t p = h->rows;

    for (int64_t t = 0; t < steps; t++) {
        double mean = 0;
        bool inside = true;
        for (int64_t i = 0; i < p; i++) {
            g[i] = -c[i];
            for (int64_t j = 0; j < p; j++)
                g[i] += FERRY_AT(h, i, j) * lambda[j];
            g[i] *= 2 / (double)n;
            mean += g[i] / (double)p;
        }
        for (int64_t i = 0; i < p; i++) {
            g[i] = lambda[i] - theta * (g[i] - mean);
            inside = inside && g[i] >= 0 && g[i] <= 1;
        }
        for (int64_t i = 0; inside && i < p; i++)
            lambda[i] = g[i];
        if (!inside) break;
    }
}

/* TALMUD's: nothing constrains it, a tiny ridge keeps equal patterns apart. */
static ferry_status lambda_ls(ferry_ctx *ctx, const ferry_small *h, const double *c,
                              double *lambda)
{
    ferry_status st = FERRY_OK;
    const int64_t p = h->rows;
    ferry_small *a = NULL, *y = NULL;
    double trace = 0;

    FERRY_TRY(ferry_i_small_new(ctx, p, p, &a));
    FERRY_TRY(ferry_i_small_new(ctx, p, 1, &y));
    for (int64_t i = 0; i < p; i++)
        trace += FERRY_AT(h, i, i);
    for (int64_t i = 0; i < p; i++) {
        y->data[i] = c[i];
        for (int64_t j = 0; j < p; j++)
            FERRY_AT(a, i, j) = FERRY_AT(h, i, j) + (i == j ? 1e-8 * trace / (double)p : 0);
    }
    FERRY_TRY(ferry_e(ctx)->solve(ctx, a, y));
    for (int64_t i = 0; i < p; i++)
        lambda[i] = y->data[i];
done:
    ferry_i_small_free(a);
    ferry_i_small_free(y);
    return st;
}

/* simplex is exact, sgd is as published, ls is TALMUD's. */
ferry_status ferry_i_mindtl_lambda(ferry_ctx *ctx, codebook_weights solver,
                                   const ferry_small *h, const double *c, int64_t n,
                                   double theta, int64_t steps, double *lambda)
{
    ferry_status st = FERRY_OK;
    double *g = NULL;

    if (solver == LAMBDA_SIMPLEX) return ferry_i_simplex_qp(ctx, h, c, lambda, NULL);
    if (solver == LAMBDA_LS) return lambda_ls(ctx, h, c, lambda);
    FERRY_NEW(ctx, g, h->rows);
    lambda_sgd(h, c, n, theta, steps, g, lambda);
done:
    ferry_i_free(g);
    return st;
}

/* H = P P', c = P x, with P (parts x nnz) the patterns at the observed pairs; p is
 * scratch of one column. O(nnz parts^2) and no array of the length of the ratings. */
static ferry_status normal(ferry_ctx *ctx, const observed *o, int64_t parts,
                           const mindtl_part *part, double *p, ferry_small *h, double *c)
{
    const ferry_matrix *x = o->x;
    const int64_t first = ferry_i_observed_user(ctx, o);

    for (int64_t a = 0; a < parts; a++) {
        c[a] = 0;
        for (int64_t b = 0; b < parts; b++)
            FERRY_AT(h, a, b) = 0;
    }
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            for (int64_t a = 0; a < parts; a++) {
                p[a] = part[a].r[part[a].u[first + i] * part[a].l + part[a].v[x->index[e]]];
                c[a] += p[a] * x->value[e];
                for (int64_t b = 0; b <= a; b++)
                    FERRY_AT(h, a, b) += p[a] * p[b];
            }
        }
    }
    for (int64_t a = 0; a < parts; a++)
        for (int64_t b = 0; b < a; b++)
            FERRY_AT(h, b, a) = FERRY_AT(h, a, b);
    FERRY_PASS(ferry_i_observed_sum(ctx, o, parts, c));
    return ferry_i_observed_sum(ctx, o, parts * parts, h->data);
}

/* F = sum over the ratings of (x_ij - sum_n lambda_n R_n[u_n(i), v_n(j)])^2. -1 leaves no
 * part out. */
static ferry_status objective(ferry_ctx *ctx, const observed *o, int64_t parts,
                              const mindtl_part *part, const double *lambda, double *f)
{
    const ferry_matrix *x = o->x;
    const int64_t first = ferry_i_observed_user(ctx, o);

    *f = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double d =
                x->value[e] - others(parts, part, lambda, -1, first + i, x->index[e]);
            *f += d * d;
        }
    }
    return ferry_i_observed_sum(ctx, o, 1, f);
}

/* ---- algorithm 2 ---- */

/* The total may have been estimated too low: it then grows with what was done. */
ferry_status ferry_i_mindtl_step(ferry_ctx *ctx, mindtl_run *run, double objective)
{
    bool finish = false;

    if (!run) return FERRY_OK;
    if (++run->done > run->total) run->total = run->done;
    const ferry_status st =
        ferry_i_progress(ctx, run->name, run->done, run->total, objective, &finish);
    run->finish = run->finish || finish;
    return st;
}

/* New groups of the users (items) in every part, one part after the other: each sees
 * the newest groups of those before it. */
static ferry_status half(ferry_ctx *ctx, const observed *x, bool items, bool joint,
                         bool first, int64_t parts, mindtl_part *part, const double *lambda)
{
    ferry_status st = FERRY_OK;

    for (int64_t n = 0; n < parts; n++)
        FERRY_TRY(
            ferry_i_mindtl_assign(ctx, x, items, parts, part, n, lambda, joint, first));
done:
    return st;
}

/* Algorithm 2. With exact lambda F never grows; sgd may leave it where it is.
 *
 * lambda (parts) <- the weights, from 1/N. The assignments minimise F exactly given
 * everything else, and so does lambda on the simplex; theta 0.05 and 100 steps are sgd's.
 * O(nnz parts + p k l) an assignment. */
ferry_status ferry_i_mindtl_reconstruct(ferry_ctx *ctx, const observed *x,
                                        const mindtl_target *how, int64_t parts,
                                        mindtl_part *part, double *lambda, double *trace,
                                        int64_t *iters, double *f)
{
    ferry_status st = FERRY_OK;
    ferry_small *h = NULL;
    double *c = ferry_i_calloc(2 * parts, sizeof *c), before = INFINITY;

    FERRY_HAVE(ctx, c);
    FERRY_TRY(ferry_i_small_new(ctx, parts, parts, &h));
    for (int64_t n = 0; n < parts; n++)
        lambda[n] = 1 / (double)parts;
    *iters = 0;
    *f = INFINITY;
    /* u for x alone, then u, v and lambda in turn: each minimises F exactly given the rest,
     * so that F never grows. */
    FERRY_TRY(half(ctx, x, false, false, true, parts, part, lambda));
    while (*iters < how->sweeps) {
        FERRY_TRY(half(ctx, x, false, how->joint, false, parts, part, lambda));
        FERRY_TRY(half(ctx, x, true, how->joint, false, parts, part, lambda));
        FERRY_TRY(normal(ctx, x, parts, part, c + parts, h, c));
        if (parts > 1)
            FERRY_TRY(ferry_i_mindtl_lambda(ctx, how->solver, h, c,
                                            ferry_i_observed_count(x), 0.05, 100, lambda));
        FERRY_TRY(objective(ctx, x, parts, part, lambda, f));
        if (trace) trace[*iters] = *f;
        ++*iters;
        FERRY_TRY(ferry_i_mindtl_step(ctx, how->run, *f));
        if (how->run && how->run->finish) break;
        if (*iters > 1 && before - *f <= how->tol * before) break;
        before = *f;
    }
done:
    ferry_i_small_free(h);
    ferry_i_free(c);
    return st;
}
