/* Masked multiplicative updates (onmtf.h). */
#include "learn/onmtf.h"

#include <math.h>

/* A denominator of 0 means an entry that no rating asks for. */
#define FLOOR 1e-12

onmtf onmtf_new(scope *s, const ratings *x, int64_t k, int64_t l)
{
    const int64_t n = x->x.n, m = x->x.cols;
    const layout rows = HERE(n), cols = HERE(m);

    return (onmtf){.u = block_new(s, rows, n, k),
                   .v = block_new(s, cols, m, l),
                   .b = small_new(s, k, l),
                   .h = with_values(s, x->x, x->x.m->value),
                   .vb = block_new(s, cols, m, k),
                   .ub = block_new(s, rows, n, l),
                   .nu = block_new(s, rows, n, k),
                   .du = block_new(s, rows, n, k),
                   .nv = block_new(s, cols, m, l),
                   .dv = block_new(s, cols, m, l),
                   .cu = block_new(s, rows, n, k),
                   .cv = block_new(s, cols, m, l),
                   .xu = block_new(s, cols, m, k),
                   .hu = block_new(s, cols, m, k),
                   .hv = block_new(s, rows, n, l),
                   .kk = small_new(s, k, k),
                   .ll = small_new(s, l, l),
                   .nb = small_new(s, k, l),
                   .db = small_new(s, k, l),
                   .norms = NEW(s, double, k > l ? k : l)};
}

/* num <- X C and den <- (M o A C') C' in one pass over the ratings; num may have no numbers. */
static void masked(scope *s, matrix x, block a, block c, const block *num, block den)
{
    const ferry_block left = block_ref(a), right = block_ref(c);
    ferry_block n = num ? block_ref(*num) : (ferry_block){0}, d = block_ref(den);

    ferry_e(scope_ctx(s))->masked(scope_ctx(s), x.m, &left, &right, num ? &n : NULL, &d);
}

/* A <- A o sqrt(N / D) where A is U or V, N = Xm C and H = Xh C for C = V B' or U B:
 *   plain  D = H
 *   ding   D = A A' N
 *   orthogonal  N + A A' H over H + A A' N
 * n, h and more are overwritten; t is k x k or l x l scratch. ding is ONMTF where M is all
 * ones: U'U = I then makes U B V'V B' = U U'X V B'. With a mask that is false. orthogonal splits
 * Lambda = U'(Xm - Xh) V B' in its two non-negative parts. */
static void update(scope *s, onmtf_rule rule, block a, block n, block h, block more,
                   small t)
{
    ferry_ctx *ctx = scope_ctx(s);
    ferry_block to = block_ref(a), num = block_ref(n);
    const ferry_block den = block_ref(h);

    if (rule != RULE_PLAIN) {
        gram(s, a, n, t);
        bmul(s, a, t, rule == RULE_DING ? h : more); /* A A' N */
    }
    if (rule == RULE_ORTHOGONAL) {
        const ferry_small times = small_ref(t);
        gram(s, a, h, t);
        ferry_e(ctx)->bmul(ctx, 1, &to, &times, false, 1, &num);
        axpby(s, 1, more, 1, h);
    }
    ferry_e(ctx)->mulup(ctx, &to, &num, &den, 0.5, FLOOR, 0);
}

/* Unit columns; norms[j] are the lengths (1 for a column of zeros), for B to take over:
 * U B V' stays what it was. inverse is scratch of the same length. */
static void unit_columns(scope *s, block a, double *norms, double *inverse)
{
    ferry_block to = block_ref(a);

    ferry_e(scope_ctx(s))->bsums(scope_ctx(s), &to, FERRY_COLS, 2, norms);
    for (int64_t j = 0; j < a.k; j++) {
        norms[j] = norms[j] > 0 ? sqrt(norms[j]) : 1;
        inverse[j] = 1 / norms[j];
    }
    ferry_e(scope_ctx(s))->bscale(scope_ctx(s), &to, FERRY_COLS, inverse);
}

/* B <- B o sqrt(U' Xm V / U' Xh V), where xu = Xm'U is known: it comes from V's step, but does not depend on V. */
static void update_b(scope *s, const ratings *x, onmtf *f)
{
    gram(s, f->xu, f->v, f->nb); /* U' Xm V */
    bmul(s, f->u, f->b, f->ub);
    masked(s, x->x, f->ub, f->v, NULL, f->hv);
    gram(s, f->u, f->hv, f->db); /* U' (Xh V) */
    for (int64_t i = 0; i < f->b.rows * f->b.cols; i++)
        f->b.at[i] *= sqrt(f->nb.at[i] / fmax(f->db.at[i], FLOOR));
}

/* For the orthogonal rule columns get unit length after each step and B takes their lengths over, without which it
 * diverges. Column-major B: entry i belongs to row i % k and column i / k. */
void onmtf_sweep(scope *s, const ratings *x, onmtf_rule rule, onmtf *f)
{
    const int64_t k = f->b.rows, l = f->b.cols;

    bmul_t(s, f->v, f->b, f->vb); /* Xm (V B'), Xh (V B') */
    masked(s, x->x, f->u, f->vb, &f->nu, f->du);
    update(s, rule, f->u, f->nu, f->du, f->cu, f->kk);
    if (rule == RULE_ORTHOGONAL) {
        unit_columns(s, f->u, f->norms, f->kk.at);
        for (int64_t i = 0; i < k * l; i++)
            f->b.at[i] *= f->norms[i % k];
        bmul_t(s, f->v, f->b, f->vb);
    }
    masked(s, x->xt, f->vb, f->u, &f->xu, f->hu); /* (Xm'U) B, (Xh'U) B */
    bmul(s, f->xu, f->b, f->nv);
    bmul(s, f->hu, f->b, f->dv);
    update(s, rule, f->v, f->nv, f->dv, f->cv, f->ll);
    if (rule == RULE_ORTHOGONAL) {
        unit_columns(s, f->v, f->norms, f->ll.at);
        for (int64_t i = 0; i < k * l; i++)
            f->b.at[i] *= f->norms[i / k];
    }
    update_b(s, x, f);
}

/* Only the entries of U B V' at ratings are ever made: U B first (n x l), then a dot product of length l for each. */
double onmtf_error(scope *s, const ratings *x, onmtf *f)
{
    const ferry_block ub = block_ref(f->ub), v = block_ref(f->v);
    double all = 0;

    bmul(s, f->u, f->b, f->ub);
    ferry_e(scope_ctx(s))->sddmm(scope_ctx(s), f->h.m, &ub, &v, f->h.m->value);
    for (int64_t e = 0; e < stored(x->x); e++) {
        const double d = x->x.m->value[e] - f->h.m->value[e];
        all += d * d;
    }
    return all;
}

/* Without the norms a column that is large everywhere would take all rows. */
void onmtf_groups(scope *s, block u, int32_t *group)
{
    const int64_t mark = scope_mark(s);
    const ferry_block of = block_ref(u);
    double *norm = NEW(s, double, u.k);

    ferry_e(scope_ctx(s))->bsums(scope_ctx(s), &of, FERRY_COLS, 2, norm);
    for (int64_t c = 0; c < u.k; c++)
        norm[c] = norm[c] > 0 ? sqrt(norm[c]) : 1;
    for (int64_t i = 0; i < u.n; i++) {
        const double *row = ROW(u, i);
        group[i] = 0;
        for (int32_t c = 1; c < u.k; c++)
            if (row[c] / norm[c] > row[group[i]] / norm[group[i]]) group[i] = c;
    }
    scope_release(s, mark);
}
