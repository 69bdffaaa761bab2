/* The offline part of the two-level hedge (hedge.h): a projection and a learner for each
 * source, a learner for the target. */
#include <math.h>
#include <string.h>

#include "methods/shared/hedge.h"

/* The paper takes 20 rows a class of each source: fewer where a source has fewer. */
ferry_status ferry_i_hedge_draw(ferry_ctx *ctx, int64_t n, const int32_t *cls, int64_t k,
                                int64_t per_class, ferry_rng *rng, int64_t **rows,
                                int64_t *kept)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL, *count = NULL;
    uint8_t *drawn = NULL;

    *kept = 0;
    FERRY_NEW(ctx, *rows, n);
    FERRY_NEW(ctx, count, k);
    FERRY_NEW(ctx, drawn, n);
    if (per_class > 0) FERRY_TRY(ferry_i_online_order(ctx, rng, n, &order));
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = order ? order[i] : i;
        /* The first per_class rows of each class in a shuffled order are a uniform draw
         * of them. */
        drawn[at] = !order || count[cls[at]]++ < per_class;
    }
    for (int64_t i = 0; i < n; i++)
        if (drawn[i]) (*rows)[(*kept)++] = i;
done:
    FERRY_FREE(order, count, drawn);
    return st;
}

/* A learner after one PA pass over the rows of z in a random order.
 * *out is the caller's, also when this fails half way. The order is random because rows
 * come domain by domain: a PA learner remembers best what it saw last. */
static ferry_status pass(ferry_ctx *ctx, const hedge_options *o, int64_t k,
                         const ferry_matrix *z, const int32_t *y, ferry_rng *rng,
                         ferry_pa **out)
{
    ferry_status st = FERRY_OK;
    int64_t *order = NULL;
    double *f = NULL;

    FERRY_NEW(ctx, f, k);
    FERRY_TRY(ferry_i_pa_new(ctx, (ferry_pa_kind)o->variant, o->C, k, z->cols, false, out));
    FERRY_TRY(ferry_i_online_order(ctx, rng, z->rows, &order));
    for (int64_t i = 0; i < z->rows; i++) {
        const ferry_row x = ferry_i_matrix_row(z, order[i]);
        ferry_i_pa_scores(*out, &x, f);
        (void)ferry_i_pa_learn(*out, &x, ferry_i_row_norm2(&x), y[order[i]], f);
    }
done:
    FERRY_FREE(order, f);
    return st;
}

/* The group with the codes Q of c, added when no earlier source has the same. Equal class
 * counts give equal bits, since the source enters Q by nothing else. */
static ferry_status find_group(ferry_ctx *ctx, hedge *h, const cdspp *c, int64_t *out)
{
    ferry_status st = FERRY_OK;
    const int64_t s = c->shared;
    double *q = NULL;
    hedge_group *more = NULL;

    FERRY_NEW(ctx, q, s * h->d);
    /* Transposed, so that a code is one row: a sparse x then reads few numbers of each. */
    for (int64_t j = 0; j < h->d; j++)
        for (int64_t i = 0; i < s; i++)
            q[i * h->d + j] = FERRY_ROW(c->q, j)[i];
    for (*out = 0; *out < h->n_groups; ++*out)
        if (h->group[*out].s == s &&
            memcmp(h->group[*out].q, q, (size_t)(s * h->d) * sizeof *q) == 0)
            goto done;
    FERRY_HAVE(ctx, more = ferry_i_realloc(h->group, h->n_groups + 1, sizeof *more));
    h->group = more;
    h->group[h->n_groups++] = (hedge_group){s, q};
    q = NULL;
done:
    ferry_i_free(q);
    return st;
}

/* z (ns + nt rows) <- [Ps'Xs, Pt'Xt]', its mean into s->mu; then what comes after the
 * projection. */
static ferry_status project(ferry_ctx *ctx, const hedge *h, const cdspp *c,
                            const cdspp_problem *p, hedge_source *s, ferry_matrix **out)
{
    const int64_t ns = p->s.x->rows, nt = p->t.x->rows, n = ns + nt;

    FERRY_PASS(ferry_i_matrix_dense(ctx, n, c->rank, out));
    double *z = (*out)->dense;
    ferry_block zs = {ns, c->rank, z}, zt = {nt, c->rank, z + ns * c->rank};
    ferry_e(ctx)->mul(ctx, 1, p->s.x, c->ps, 0, &zs);
    ferry_e(ctx)->mul(ctx, 1, p->t.x, c->pt, 0, &zt);
    for (int64_t i = 0; i < n * c->rank; i++)
        s->mu[i % c->rank] += z[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        ferry_i_hedge_after(h, s, z + i * c->rank);
    return FERRY_OK;
}

/* Everything of one source but its name: R, its group, W_S, and for losses W_T in the
 * projected space.
 * W_T there sees the target's part of z alone, without a copy: those rows stand last in
 * z. */
static ferry_status learn_source(ferry_ctx *ctx, const hedge_options *o, const cdspp *c,
                                 const cdspp_problem *p, ferry_rng *rng, hedge *h,
                                 hedge_source *s)
{
    ferry_status st = FERRY_OK;
    const int64_t ns = p->s.x->rows, nt = p->t.x->rows;
    ferry_matrix *z = NULL;
    int32_t *y = NULL;

    s->rank = c->rank;
    FERRY_NEW(ctx, s->mu, c->rank);
    FERRY_NEW(ctx, s->r, c->rank * c->shared);
    FERRY_NEW(ctx, y, ns + nt);
    /* R transposed into rank rows of codes: z_i is one dot product with c(x). */
    for (int64_t i = 0; i < c->rank; i++)
        for (int64_t j = 0; j < c->shared; j++)
            s->r[i * c->shared + j] = FERRY_AT(c->r, j, i);
    memcpy(y, p->s.y, (size_t)ns * sizeof *y);
    memcpy(y + ns, p->t.y, (size_t)nt * sizeof *y);
    FERRY_TRY(find_group(ctx, h, c, &s->group));
    /* Z = [Ps'Xs, Pt'Xt] with both domains' labels: one learner sees the two as one
     * domain. */
    FERRY_TRY(project(ctx, h, c, p, s, &z));
    FERRY_TRY(pass(ctx, o, h->k, z, y, rng, &s->ws));
    if (h->rule == HEDGE_LOSSES) {
        const ferry_matrix own = {.rows = nt,
                                  .cols = c->rank,
                                  .nnz = nt * c->rank,
                                  .dense = z->dense + ns * c->rank};
        FERRY_TRY(pass(ctx, o, h->k, &own, y + ns, rng, &s->wt));
    }
done:
    ferry_i_matrix_free(z);
    ferry_i_free(y);
    return st;
}

/* The source with these rows as number h->n, or left out when it has no class of the
 * target. */
static ferry_status add_source(ferry_ctx *ctx, const char *method, const ferry_rows *r,
                               const hedge_options *o, const cdspp_side *t, ferry_rng *rng,
                               hedge *h)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *xs = NULL;
    int64_t *rows = NULL, n = 0;
    int32_t *ys = NULL;
    cdspp c = {0};

    FERRY_TRY(ferry_i_hedge_draw(ctx, r->n, r->cls, h->k, o->per_class, rng, &rows, &n));
    FERRY_TRY(ferry_i_matrix_take(ctx, r->x[0], n, rows, r->x[0]->cols, NULL, &xs));
    FERRY_NEW(ctx, ys, n);
    for (int64_t i = 0; i < n; i++)
        ys[i] = r->cls[rows[i]];
    const cdspp_problem p = {{xs, ys}, *t, h->k, o->alpha};
    /* dim 0: all directions with a positive eigenvalue. Rank 0: no class in common. */
    FERRY_TRY(ferry_i_cdspp(ctx, &p, 0, &c));
    if (c.rank == 0) {
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: source '%s' has no labelled class of the target's; left out",
                    method, r->domain->name);
        goto done;
    }
    hedge_source *s = &h->source[h->n++];
    FERRY_HAVE(ctx, s->name = ferry_i_strdup(r->domain->name));
    FERRY_TRY(learn_source(ctx, o, &c, &p, rng, h, s));
done:
    ferry_i_cdspp_clear(&c);
    ferry_i_matrix_free(xs);
    FERRY_FREE(rows, ys);
    return st;
}

/* beta for a known number of rounds (the paper's setting, equations 33 and 39 with T for
 * the unknown number of mistakes), or as set. */
static double beta_of(double horizon, double experts, double beta)
{
    return horizon > 0 ? sqrt(horizon) / (sqrt(horizon) + sqrt(log(experts))) : beta;
}

/* All sources, then the target's learner; the target's rows are the last of p. */
static ferry_status learn_all(ferry_ctx *ctx, const char *method, const ferry_prepared *p,
                              const hedge_options *o, hedge *h)
{
    ferry_status st = FERRY_OK;
    const ferry_rows *target = ferry_i_prepared_target(p);
    const cdspp_side t = {target->x[0], target->cls};
    bool finish = false;
    ferry_rng rng;

    FERRY_NEW(ctx, h->source, p->n_sources);
    /* One stream for hetomtl and omtlmc: both then draw the same rows, which makes them
     * comparable under a seed. */
    ferry_i_rng_for(ctx, &rng, "hetomtl");
    for (int64_t i = 0; i < p->n_sources; i++) {
        FERRY_TRY(add_source(ctx, method, &p->rows[i], o, &t, &rng, h));
        FERRY_TRY(ferry_i_progress(ctx, method, i + 1, p->n_sources, NAN, &finish));
    }
    FERRY_NEED(ctx, h->n > 0, FERRY_ENEEDS,
               "%s needs a source with a class that the target's labelled rows have",
               method);
    if (h->rule == HEDGE_MISTAKES) FERRY_TRY(pass(ctx, o, h->k, t.x, t.y, &rng, &h->wt));
    h->beta1 = beta_of(o->horizon, 2, o->beta1);
    h->beta2 = beta_of(o->horizon, (double)h->n, o->beta2);
done:
    return st;
}

/* What the option table cannot say. That classes overlap is found out only by the fit,
 * since one source without a common class is no reason to refuse the others. */
ferry_status ferry_i_hedge_fits(ferry_ctx *ctx, const char *method, const ferry_task *task)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;
    int64_t labelled = 0;

    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++) {
        FERRY_NEED(ctx, d->n_views == 1, FERRY_ENEEDS,
                   "%s needs just one view in a source; source '%s' has %lld", method,
                   d->name, (long long)d->n_views);
        labelled += ferry_domain_labels(d);
    }
    FERRY_NEED(ctx, labelled > 0, FERRY_ENEEDS, "%s needs a source with labels", method);
    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    FERRY_NEED(ctx, ferry_domain_labels(d) > 0, FERRY_ENEEDS,
               "%s needs some labels in the target to begin with; target '%s' has none",
               method, d->name);
done:
    return st;
}

/* Rows of all domains are of unit length: what the paper's numbers need, which it does
 * not say. */
ferry_status ferry_i_hedge_fit(ferry_ctx *ctx, const char *method, hedge_rule rule,
                               const ferry_task *task, const hedge_options *o,
                               hedge_model **out)
{
    ferry_status st = FERRY_OK;
    hedge_model *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_TRY(ferry_i_online_prepare(ctx, method, task, FERRY_SOURCES | FERRY_THE_TARGET,
                                     FERRY_SCALE_L2, &m->in));
    m->h = (hedge){.rule = rule, .post = (hedge_post)o->post, .d = m->in.d};
    m->h.k = ferry_i_ids_count(task->names);
    FERRY_TRY(learn_all(ctx, method, m->in.prepared, o, &m->h));
    FERRY_TRY(ferry_i_hedge_room(ctx, m));
    ferry_i_diag_real(ctx, "sources", (double)m->h.n);
    ferry_i_diag_real(ctx, "instances", (double)ferry_i_prepared_target(m->in.prepared)->n);
    ferry_i_prepared_forget(m->in.prepared);
    FERRY_MOVE(*out, m);
done:
    ferry_i_hedge_model_free(m);
    return st;
}
