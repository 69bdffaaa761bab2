/* The offline part of HetOMTL-CDSPP and OMTL-MC (het.h). */
#include <math.h>
#include <string.h>

#include "methods/hetomtl/het.h"

ferry_status ferry_i_het_rows(ferry_ctx *ctx, const online_rows *r, const double *fill,
                              ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_matrix_take(ctx, r->x, r->n, r->row, r->d, NULL, out));
    for (int64_t i = 0; i < r->n; i++) {
        const ferry_row x = ferry_i_matrix_row(*out, i);
        double *value = (double *)(uintptr_t)x.value; /* ours: just made */
        ferry_row filled;
        ferry_i_row_filled(&x, fill, value, &filled);
        ferry_i_row_unit(x.n, value);
    }
done:
    return st;
}

void ferry_i_het_draw(online_rows *r, int64_t k, int64_t per_class, ferry_rng *rng,
                      int64_t *order, int64_t *count)
{
    int64_t kept = 0;

    if (per_class == 0) return;
    memset(count, 0, (size_t)k * sizeof *count);
    for (int64_t i = 0; i < r->n; i++)
        order[i] = i;
    ferry_i_rng_shuffle(rng, r->n, order);
    for (int64_t i = 0; i < r->n; i++) /* -1: not drawn */
        if (count[r->cls[order[i]]]++ >= per_class) r->row[order[i]] = -1;
    for (int64_t i = 0; i < r->n; i++) {
        if (r->row[i] < 0) continue;
        r->row[kept] = r->row[i];
        r->cls[kept++] = r->cls[i];
    }
    r->n = kept;
}

/* One PA pass over the rows of z in a random order. */
static ferry_status pass(ferry_ctx *ctx, const ferry_matrix *z, const int32_t *y,
                         ferry_rng *rng, ferry_pa *p)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(z->rows, sizeof *order);
    double *f = ferry_i_calloc(p->k, sizeof *f);

    FERRY_HAVE(ctx, order && f);
    for (int64_t i = 0; i < z->rows; i++)
        order[i] = i;
    ferry_i_rng_shuffle(rng, z->rows, order);
    for (int64_t i = 0; i < z->rows; i++) {
        const ferry_row x = ferry_i_matrix_row(z, order[i]);
        ferry_i_pa_scores(p, &x, f);
        (void)ferry_i_pa_learn(p, &x, ferry_i_row_norm2(&x), y[order[i]], f);
    }
done:
    ferry_i_free(order);
    ferry_i_free(f);
    return st;
}

/* The group of the codes in c, added when no earlier source has the same. */
static ferry_status find_group(ferry_ctx *ctx, het *h, const cdspp *c, int64_t *out)
{
    ferry_status st = FERRY_OK;
    const int64_t s = c->shared;
    double *q = ferry_i_calloc(s * h->d, sizeof *q);
    het_group *more = NULL;

    FERRY_HAVE(ctx, q);
    for (int64_t j = 0; j < h->d; j++)
        for (int64_t i = 0; i < s; i++)
            q[i * h->d + j] = FERRY_ROW(c->q, j)[i];
    for (*out = 0; *out < h->n_groups; ++*out)
        if (h->group[*out].s == s &&
            memcmp(h->group[*out].q, q, (size_t)(s * h->d) * sizeof *q) == 0)
            goto done;
    more = ferry_i_realloc(h->group, h->n_groups + 1, sizeof *more);
    FERRY_HAVE(ctx, more);
    h->group = more;
    h->group[h->n_groups++] = (het_group){s, q};
    q = NULL;
done:
    ferry_i_free(q);
    return st;
}

/* z (ns + nt rows) <- [Ps'Xs, Pt'Xt]', and its mean; then what comes after the
 * projection. */
static ferry_status project(ferry_ctx *ctx, const het *h, const cdspp *c,
                            const ferry_matrix *xs, const ferry_matrix *xt, het_source *s,
                            ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = xs->rows + xt->rows;

    FERRY_TRY(ferry_i_matrix_dense(ctx, n, c->rank, out));
    double *z = (*out)->dense;
    ferry_block zs = {xs->rows, c->rank, z},
                zt = {xt->rows, c->rank, z + xs->rows * c->rank};
    ferry_e(ctx)->mul(ctx, 1, xs, c->ps, 0, &zs);
    ferry_e(ctx)->mul(ctx, 1, xt, c->pt, 0, &zt);
    for (int64_t i = 0; i < n * c->rank; i++)
        s->mu[i % c->rank] += z[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; h->post == HET_POST_CENTRED && j < c->rank; j++)
            z[i * c->rank + j] -= s->mu[j];
        if (h->post != HET_POST_NONE) ferry_i_row_unit(c->rank, z + i * c->rank);
    }
done:
    return st;
}

/* Everything of one source but its name. */
static ferry_status learn_source(ferry_ctx *ctx, const het_options *o, const cdspp *c,
                                 const cdspp_problem *p, ferry_rng *rng, het *h,
                                 het_source *s)
{
    ferry_status st = FERRY_OK;
    const ferry_pa_kind kind = (ferry_pa_kind)o->variant;
    const int64_t ns = p->s.x->rows, n = ns + p->t.x->rows;
    ferry_matrix *z = NULL;
    int32_t *y = ferry_i_calloc(n, sizeof *y);

    s->rank = c->rank;
    FERRY_NEW(ctx, s->mu, c->rank);
    FERRY_NEW(ctx, s->r, c->rank * c->shared);
    FERRY_HAVE(ctx, y);
    for (int64_t i = 0; i < c->rank; i++)
        for (int64_t j = 0; j < c->shared; j++)
            s->r[i * c->shared + j] = FERRY_AT(c->r, j, i);
    memcpy(y, p->s.y, (size_t)ns * sizeof *y);
    memcpy(y + ns, p->t.y, (size_t)(n - ns) * sizeof *y);
    FERRY_TRY(find_group(ctx, h, c, &s->group));
    FERRY_TRY(project(ctx, h, c, p->s.x, p->t.x, s, &z));
    FERRY_TRY(ferry_i_pa_new(ctx, kind, o->C, h->k, c->rank, false, &s->ws));
    FERRY_TRY(pass(ctx, z, y, rng, s->ws));
    if (h->rule == HET_LOSSES) {
        const ferry_matrix own = {.rows = n - ns,
                                  .cols = c->rank,
                                  .nnz = (n - ns) * c->rank,
                                  .dense = z->dense + ns * c->rank};
        FERRY_TRY(ferry_i_pa_new(ctx, kind, o->C, h->k, c->rank, false, &s->wt));
        FERRY_TRY(pass(ctx, &own, y + ns, rng, s->wt));
    }
done:
    ferry_i_matrix_free(z);
    ferry_i_free(y);
    return st;
}

/* Source d as number h->n, or left out when it has no class of the target. */
static ferry_status add_source(ferry_ctx *ctx, const char *method, const ferry_domain *d,
                               const het_options *o, const cdspp_side *t, ferry_rng *rng,
                               het *h)
{
    ferry_status st = FERRY_OK;
    online_rows r = {0};
    double *fill = NULL;
    ferry_matrix *xs = NULL;
    int64_t *order = NULL, *count = NULL;
    cdspp c = {0};

    FERRY_TRY(ferry_i_online_rows(ctx, d, &r));
    FERRY_NEW(ctx, order, r.n);
    FERRY_NEW(ctx, count, h->k);
    ferry_i_het_draw(&r, h->k, o->per_class, rng, order, count);
    FERRY_TRY(ferry_i_online_fill(ctx, &r, &fill));
    FERRY_TRY(ferry_i_het_rows(ctx, &r, fill, &xs));
    const cdspp_problem p = {{xs, r.cls}, *t, h->k, o->alpha};
    FERRY_TRY(ferry_i_cdspp(ctx, &p, 0, &c));
    if (c.rank == 0) {
        ferry_i_log(ctx, FERRY_WARN,
                    "%s: source '%s' has no labelled class of the target's; left out",
                    method, d->name);
        goto done;
    }
    het_source *s = &h->source[h->n++];
    s->name = ferry_i_strdup(d->name);
    FERRY_HAVE(ctx, s->name);
    FERRY_TRY(learn_source(ctx, o, &c, &p, rng, h, s));
done:
    ferry_i_cdspp_clear(&c);
    ferry_i_matrix_free(xs);
    ferry_i_free(fill);
    ferry_i_free(order);
    ferry_i_free(count);
    ferry_i_online_rows_clear(&r);
    return st;
}

/* beta for a known number of rounds (the paper's setting), or as set. */
static double beta_of(double horizon, double experts, double beta)
{
    return horizon > 0 ? sqrt(horizon) / (sqrt(horizon) + sqrt(log(experts))) : beta;
}

ferry_status ferry_i_het_fit(ferry_ctx *ctx, const char *method, het_rule rule,
                             const ferry_task *task, const het_options *o,
                             const ferry_matrix *x, const int32_t *y, het *h)
{
    ferry_status st = FERRY_OK;
    const int64_t sources = ferry_i_task_count_role(task, FERRY_SOURCE);
    const cdspp_side t = {x, y};
    const ferry_domain *d = NULL;
    bool finish = false;
    ferry_rng rng;

    *h = (het){.rule = rule, .post = (het_post)o->post, .d = x->cols};
    h->k = ferry_i_ids_count(task->names);
    FERRY_NEW(ctx, h->source, sources);
    ferry_i_rng_for(ctx, &rng, "hetomtl");
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++) {
        FERRY_TRY(add_source(ctx, method, d, o, &t, &rng, h));
        FERRY_TRY(ferry_i_progress(ctx, method, i + 1, sources, NAN, &finish));
    }
    FERRY_NEED(ctx, h->n > 0, FERRY_ENEEDS,
               "%s needs a source with a class that the target's labelled rows have",
               method);
    if (rule == HET_MISTAKES) {
        FERRY_TRY(ferry_i_pa_new(ctx, (ferry_pa_kind)o->variant, o->C, h->k, h->d, false,
                                 &h->wt));
        FERRY_TRY(pass(ctx, x, y, &rng, h->wt));
    }
    h->beta1 = beta_of(o->horizon, 2, o->beta1);
    h->beta2 = beta_of(o->horizon, (double)h->n, o->beta2);
done:
    if (st != FERRY_OK) ferry_i_het_clear(h);
    return st;
}
