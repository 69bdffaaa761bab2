/* One iteration of the coupled tri-factorisation.
 *
 * With P_v = X_v G and Q_v = H_v (G'G) every step is Z <- Z (numerator / denominator)^e,
 * its gradient being twice denominator - numerator:
 *
 *   F1_g  (sum_v w_v P_v) A1_g'  /  (sum_v w_v Q_v) A1_g'
 *   Fa_v  P_v Aa_g'              /  Q_v Aa_g'             and F2_v with A2_v likewise
 *   A1_g  F1_g' sum_v w_v P_v    /  F1_g' sum_v w_v Q_v
 *   Aa_g  sum_v w_v Fa_v' P_v    /  sum_v w_v Fa_v' Q_v   and A2_v: F2_v' P_v / F2_v' Q_v
 *   G_d   sum_v w_v X_v' H_v     /  G_d sum_v w_v H_v'H_v
 *
 * All F of a group move at once from the same Q, then all A from the next. The divergence
 * has the same steps with R_v = X_v / (H_v G'), P_v = R_v G, Q_v = 1 (1'G), and for G
 * R_v' H_v over the sums of H_v's columns.
 *
 * X is read as seldom as can be: P does not change within a step, views of one matrix share
 * it, and that of a domain with fixed G never changes.
 *
 * With exponent 1 these are Lee and Seung's steps (Algorithms for non-negative matrix
 * factorization, NIPS 2000), with 1/2 the papers' square root, which moves half as far
 * in the logarithm. Both keep factors >= 0 and stand still where the gradient is 0 or
 * the factor is. */
#include <math.h>

#include "learn/nmtf.h"
#include "learn/rows.h"

/* The first k columns of a block as wide as any (its rows move together). */
static ferry_block narrow(const ferry_block *b, int64_t k)
{
    return (ferry_block){b->rows, k, b->data};
}

/* The first rows x cols numbers of a small as a small of fewer rows, packed anew: for
 * scratch. */
static ferry_small few_rows(const ferry_small *s, int64_t rows)
{
    return (ferry_small){rows, s->cols, s->data};
}

static void copy(ferry_ctx *ctx, const ferry_block *from, ferry_block *to)
{
    ferry_e(ctx)->axpby(ctx, 1, from, 0, to);
}

/* H_v = F1 A1 + Fa Aa + F2 A2 for the views of group g.
 * O(m p c) for each factor. F1 A1 is made once for all views of the group. `keep` is 0
 * for the first term that there is, which overwrites. */
static void model(ferry_ctx *ctx, ferry_nmtf *n, int64_t g)
{
    const ferry_engine *e = ferry_e(ctx);
    ferry_nmtf_group *gr = &n->group[g];

    if (n->p1 > 0) e->bmul(ctx, 1, gr->f1, gr->a1, false, 0, gr->fa1);
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        double keep = 0;
        if (v->group != g) continue;
        if (n->p1 > 0) {
            copy(ctx, gr->fa1, v->h);
            keep = 1;
        }
        if (n->pa > 0) {
            e->bmul(ctx, 1, v->fa, gr->aa, false, keep, v->h);
            keep = 1;
        }
        if (n->p2 > 0) e->bmul(ctx, 1, v->f2, v->a2, false, keep, v->h);
    }
}

/* ---- what the steps of F and A divide: P and Q of a view ---- */

/* Room for the divergence: X / (H G') by instance and, sparse, by feature.
 * Dense X needs one array, X'B coming from the same order; sparse X keeps both orders,
 * since R is multiplied from both sides in every iteration. */
ferry_status ferry_i_nmtf_divergence(ferry_ctx *ctx, ferry_nmtf *n)
{
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (v->r) continue;
        if (v->x->dense) {
            FERRY_PASS(ferry_i_matrix_dense(ctx, v->x->rows, v->x->cols, &v->r));
            v->r->whole = v->x->whole;
            continue;
        }
        FERRY_PASS(ferry_i_matrix_transpose(ctx, v->x, &v->xt));
        FERRY_PASS(ferry_i_matrix_like(ctx, v->xt, &v->rt));
        FERRY_PASS(ferry_i_matrix_like(ctx, v->x, &v->r));
    }
    n->kl = true;
    return FERRY_OK;
}

/* R <- X / (B C') at the entries of X; *divergence (may be NULL) += the part of the
 * divergence that is made there, sum x log(x / y) - x.
 * Entries of X that are 0 have ratio 0 and no part in the sum; the + y of the divergence
 * is a product of column sums and is added by the caller, over all cells. */
static void ratios(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *b,
                   const ferry_block *c, ferry_matrix *r, double *divergence)
{
    const double *from = row_values(x);
    double *to = row_values(r), sum = 0;

    ferry_e(ctx)->sddmm(ctx, x, b, c, to);
    for (int64_t e = 0; e < x->nnz; e++)
        to[e] = from[e] / fmax(to[e], FERRY_NMTF_EPS);
    for (int64_t e = 0; divergence && e < x->nnz; e++)
        if (from[e] > 0) sum += from[e] * (log(to[e]) - 1);
    if (divergence) *divergence += sum;
}

/* P = R G and Q = 1 (1'G) of one view; *objective (may be NULL) += w times its
 * divergence. The sum of all cells of H G' is sum_k (1'H)_k (1'G)_k, so nothing of size
 * m x n is needed. K and cc lend their memory for the sums. */
static ferry_status divergence_parts(ferry_ctx *ctx, ferry_nmtf *n, ferry_nmtf_view *v,
                                     double *objective)
{
    const ferry_block *g = n->domain[v->domain].g;
    double *of_g = n->domain[v->domain].k->data, *of_h = n->cc->data, loss = 0;

    ferry_e(ctx)->bsums(ctx, g, FERRY_COLS, 1, of_g);
    FERRY_PASS(ferry_i_sum_rows(ctx, v->x, n->c, of_g));
    if (v->xt) {
        ratios(ctx, v->xt, v->h, g, v->rt, objective ? &loss : NULL);
        ferry_e(ctx)->mul(ctx, 1, v->rt, g, 0, v->p);
        FERRY_PASS(ferry_i_sum_rows(ctx, v->x, v->p->rows * n->c, v->p->data));
    } else {
        ratios(ctx, v->x, g, v->h, v->r, objective ? &loss : NULL);
        FERRY_PASS(ferry_e(ctx)->tmul(ctx, 1, v->r, g, 0, v->p));
    }
    for (int64_t j = 0; j < v->q->rows; j++)
        for (int64_t k = 0; k < n->c; k++)
            FERRY_ROW(v->q, j)[k] = of_g[k];
    if (!objective) return FERRY_OK;
    FERRY_PASS(ferry_i_sum_rows(ctx, v->x, 1, &loss));
    ferry_e(ctx)->bsums(ctx, v->h, FERRY_COLS, 1, of_h);
    for (int64_t k = 0; k < n->c; k++)
        loss += of_h[k] * of_g[k];
    *objective += v->w * loss;
    return FERRY_OK;
}

/* P and K = G'G, where they may have changed.
 * Once an iteration, before any factor moves: neither depends on F or A. */
static ferry_status square_products(ferry_ctx *ctx, ferry_nmtf *n)
{
    for (int64_t d = 0; d < n->n_domains; d++) {
        const ferry_nmtf_domain *dom = &n->domain[d];
        if (dom->fixed && n->p_ready) continue;
        ferry_e(ctx)->gram(ctx, dom->g, dom->g, dom->k);
        FERRY_PASS(ferry_i_sum_rows(ctx, dom->x, n->c * n->c, dom->k->data));
    }
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (n->domain[v->domain].fixed && n->p_ready) continue;
        if (v->twin == i)
            FERRY_PASS(ferry_e(ctx)->tmul(ctx, 1, v->x, n->domain[v->domain].g, 0, v->p));
        else
            copy(ctx, n->view[v->twin].p, v->p);
    }
    n->p_ready = true;
    return FERRY_OK;
}

/* Q, and |X|^2 - 2 <P, H> + <H'H, K>.
 * All three terms from m x c numbers: <H'H, K> = <H K, H> = <Q, H>. */
static void square_parts(ferry_ctx *ctx, ferry_nmtf *n, ferry_nmtf_view *v,
                         double *objective)
{
    const ferry_small *k = n->domain[v->domain].k;

    ferry_e(ctx)->bmul(ctx, 1, v->h, k, false, 0, v->q);
    if (objective)
        *objective += v->w * (v->norm2 - 2 * ferry_e(ctx)->dot(ctx, v->p, v->h) +
                              ferry_e(ctx)->dot(ctx, v->q, v->h));
}

/* P and Q of the views of a group and their weighted sums.
 * Afterwards gr->ps and gr->qs are sum_v w_v P_v and sum_v w_v Q_v, which F1 and A1
 * need. H is made from the factors as they stand. */
static ferry_status parts(ferry_ctx *ctx, ferry_nmtf *n, ferry_nmtf_loss loss, int64_t g,
                          double *objective)
{
    ferry_nmtf_group *gr = &n->group[g];
    double keep = 0;

    model(ctx, n, g);
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        if (loss == FERRY_NMTF_KL)
            FERRY_PASS(divergence_parts(ctx, n, v, objective));
        else
            square_parts(ctx, n, v, objective);
        ferry_e(ctx)->axpby(ctx, v->w, v->p, keep, gr->ps);
        ferry_e(ctx)->axpby(ctx, v->w, v->q, keep, gr->qs);
        keep = 1;
    }
    return FERRY_OK;
}

/* ---- F and A ---- */

/* F <- F (P A' / Q A')^e. */
static void step_f(ferry_ctx *ctx, const ferry_nmtf_options *o, const ferry_nmtf_group *gr,
                   const ferry_block *p, const ferry_block *q, const ferry_small *a,
                   ferry_block *f)
{
    ferry_block up = narrow(gr->up, f->k), down = narrow(gr->down, f->k);

    if (f->k == 0) return;
    ferry_e(ctx)->bmul(ctx, 1, p, a, true, 0, &up);
    ferry_e(ctx)->bmul(ctx, 1, q, a, true, 0, &down);
    ferry_e(ctx)->mulup(ctx, f, &up, &down, o->exponent, FERRY_NMTF_EPS, FERRY_NMTF_TINY);
}

/* A <- A (up / down)^e entry by entry; what fell below TINY is 0, or it would go on to
 * the denormals, which are slow. */
static void step_small(const ferry_nmtf_options *o, const double *up, const double *down,
                       ferry_small *a)
{
    for (int64_t e = 0; e < a->rows * a->cols; e++) {
        const double ratio = up[e] / fmax(down[e], FERRY_NMTF_EPS);
        a->data[e] *= o->exponent == 1 ? ratio : sqrt(fmax(ratio, 0));
        if (a->data[e] < FERRY_NMTF_TINY) a->data[e] = 0;
    }
}

/* A <- A (F'P / F'Q)^e. */
static void step_a(ferry_ctx *ctx, const ferry_nmtf_options *o, const ferry_nmtf_group *gr,
                   const ferry_block *f, const ferry_block *p, const ferry_block *q,
                   ferry_small *a)
{
    ferry_small up = few_rows(gr->above, f->k), down = few_rows(gr->below, f->k);

    if (f->k == 0) return;
    ferry_e(ctx)->gram(ctx, f, p, &up);
    ferry_e(ctx)->gram(ctx, f, q, &down);
    step_small(o, up.data, down.data, a);
}

/* Aa, whose products are sums over the views.
 * Aa of a group is shared while Fa is the view's own: numerators and denominators are
 * added up with the views' weights before they are divided. */
static ferry_status step_aa(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o,
                            int64_t g)
{
    ferry_status st = FERRY_OK;
    ferry_nmtf_group *gr = &n->group[g];
    const int64_t size = n->pa * n->c;
    ferry_small up = few_rows(gr->above, n->pa), down = few_rows(gr->below, n->pa);
    double *sums = NULL;

    if (n->pa == 0) return st;
    FERRY_NEW(ctx, sums, 2 * size);
    for (int64_t i = 0; i < n->n_views; i++) {
        const ferry_nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        ferry_e(ctx)->gram(ctx, v->fa, v->p, &up);
        ferry_e(ctx)->gram(ctx, v->fa, v->q, &down);
        for (int64_t e = 0; e < size; e++) {
            sums[e] += v->w * up.data[e];
            sums[size + e] += v->w * down.data[e];
        }
    }
    step_small(o, sums, sums + size, gr->aa);
done:
    ferry_i_free(sums);
    return st;
}

/* What step_f() and step_aa() work in. */
static ferry_status make_room(ferry_ctx *ctx, ferry_nmtf_group *gr)
{
    const int64_t p = gr->above->rows;

    if (!gr->up) FERRY_PASS(ferry_i_block_new(ctx, gr->m, p, &gr->up));
    if (!gr->down) FERRY_PASS(ferry_i_block_new(ctx, gr->m, p, &gr->down));
    return FERRY_OK;
}

/* Either all groups by tiles, in one pass over F each (squares, sizes that fit), or step
 * by step with P and Q written out. Both give the same up to rounding. F of a group
 * moves at once, then P and Q are made again and A moves: A sees the new F. */
ferry_status ferry_i_nmtf_factors(ferry_ctx *ctx, ferry_nmtf *n,
                                  const ferry_nmtf_options *o, double *objective)
{
    if (objective) *objective = 0;
    if (o->loss == FERRY_NMTF_KL && !n->kl) FERRY_PASS(ferry_i_nmtf_divergence(ctx, n));
    if (o->loss == FERRY_NMTF_SQUARED) FERRY_PASS(square_products(ctx, n));
    /* tiles leave the sums of F's columns behind, which saves the normalisation a pass */
    n->sums_ready = o->loss == FERRY_NMTF_SQUARED && ferry_i_nmtf_tiles_fit(n);
    if (!n->sums_ready) ferry_i_nmtf_catch_up(ctx, n);
    for (int64_t g = 0; g < n->n_groups; g++)
        FERRY_PASS(n->sums_ready ? ferry_i_nmtf_tiles_new(ctx, n, g)
                                 : make_room(ctx, &n->group[g]));
    for (int64_t g = 0; g < n->n_groups && n->sums_ready; g++)
        ferry_i_nmtf_tiles_step(ctx, n, o, g, objective);
    n->tiled = n->sums_ready;
    n->pending = false;
    for (int64_t g = 0; g < n->n_groups && !n->sums_ready; g++) {
        ferry_nmtf_group *gr = &n->group[g];
        /* the objective comes with the parts: that of the state before the step */
        FERRY_PASS(parts(ctx, n, o->loss, g, objective));
        step_f(ctx, o, gr, gr->ps, gr->qs, gr->a1, gr->f1);
        for (int64_t i = 0; i < n->n_views; i++) {
            ferry_nmtf_view *v = &n->view[i];
            if (v->group != g) continue;
            step_f(ctx, o, gr, v->p, v->q, gr->aa, v->fa);
            step_f(ctx, o, gr, v->p, v->q, v->a2, v->f2);
        }
        /* Q of the new F */
        FERRY_PASS(parts(ctx, n, o->loss, g, NULL));
        step_a(ctx, o, gr, gr->f1, gr->ps, gr->qs, gr->a1);
        FERRY_PASS(step_aa(ctx, n, o, g));
        for (int64_t i = 0; i < n->n_views; i++) {
            ferry_nmtf_view *v = &n->view[i];
            if (v->group == g) step_a(ctx, o, gr, v->f2, v->p, v->q, v->a2);
        }
        model(ctx, n, g);
    }
    return FERRY_OK;
}

/* As a step would report it, without the step. Costs as much as P and Q. */
ferry_status ferry_i_nmtf_objective(ferry_ctx *ctx, ferry_nmtf *n, ferry_nmtf_loss loss,
                                    double *objective)
{
    *objective = 0;
    ferry_i_nmtf_catch_up(ctx, n);
    if (loss == FERRY_NMTF_KL && !n->kl) FERRY_PASS(ferry_i_nmtf_divergence(ctx, n));
    if (loss == FERRY_NMTF_SQUARED) FERRY_PASS(square_products(ctx, n));
    for (int64_t g = 0; g < n->n_groups; g++)
        FERRY_PASS(parts(ctx, n, loss, g, objective));
    return FERRY_OK;
}

/* ---- G ---- */

/* above <- sum w X'H, below <- G sum w H'H; views of one matrix add their H first. cc is
 * left as the sum of w H'H.
 * A matrix that stands in several groups is read once: X'(sum w H) = sum w X'H. v->q and
 * dom->k are free at this point and serve as work. */
static void square_members(ferry_ctx *ctx, ferry_nmtf *n, int64_t d)
{
    const ferry_engine *e = ferry_e(ctx);
    ferry_nmtf_domain *dom = &n->domain[d];
    double keep = 0;

    for (int64_t k = 0; k < n->c * n->c; k++)
        n->cc->data[k] = 0;
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (v->domain != d) continue;
        e->gram(ctx, v->h, v->h, dom->k);
        for (int64_t k = 0; k < n->c * n->c; k++)
            n->cc->data[k] += v->w * dom->k->data[k];
        if (v->twin != i) continue;
        e->axpby(ctx, v->w, v->h, 0, v->q);
        for (int64_t u = i + 1; u < n->n_views; u++)
            if (n->view[u].twin == i) e->axpby(ctx, n->view[u].w, n->view[u].h, 1, v->q);
        e->mul(ctx, 1, v->x, v->q, keep, dom->above);
        keep = 1;
    }
    e->bmul(ctx, 1, dom->g, n->cc, false, 0, dom->below);
}

/* above <- sum_v w_v R_v'H_v, below <- the weighted column sums of H, the same in every
 * row. */
static void divergence_members(ferry_ctx *ctx, ferry_nmtf *n, int64_t d)
{
    ferry_nmtf_domain *dom = &n->domain[d];
    double *of_h = n->cc->data, *sum = dom->k->data, keep = 0;

    for (int64_t k = 0; k < n->c; k++)
        sum[k] = 0;
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (v->domain != d) continue;
        ratios(ctx, v->x, dom->g, v->h, v->r, NULL);
        ferry_e(ctx)->mul(ctx, v->w, v->r, v->h, keep, dom->above);
        ferry_e(ctx)->bsums(ctx, v->h, FERRY_COLS, 1, of_h);
        for (int64_t k = 0; k < n->c; k++)
            sum[k] += v->w * of_h[k];
        keep = 1;
    }
    for (int64_t i = 0; i < dom->n; i++)
        for (int64_t k = 0; k < n->c; k++)
            FERRY_ROW(dom->below, i)[k] = sum[k];
}

/* Known rows are moved like the others and then put back, which keeps the loops plain.
 * simplex solves each row exactly instead: min g'(sum w H'H) g - 2 (sum w X'H) g. */
ferry_status ferry_i_nmtf_members(ferry_ctx *ctx, ferry_nmtf *n,
                                  const ferry_nmtf_options *o)
{
    for (int64_t d = 0; d < n->n_domains; d++) {
        ferry_nmtf_domain *dom = &n->domain[d];
        if (dom->fixed) continue;
        if (o->loss == FERRY_NMTF_KL)
            divergence_members(ctx, n, d);
        else
            square_members(ctx, n, d);
        if (o->norm != FERRY_NMTF_SIMPLEX)
            ferry_e(ctx)->mulup(ctx, dom->g, dom->above, dom->below, o->exponent,
                                FERRY_NMTF_EPS, FERRY_NMTF_TINY);
        else
            for (int64_t i = 0; i < dom->n; i++)
                FERRY_PASS(ferry_i_nmtf_simplex_row(ctx, n->cc, FERRY_ROW(dom->above, i),
                                                    FERRY_ROW(dom->g, i)));
        for (int64_t i = 0; i < dom->n; i++)
            for (int64_t k = 0; dom->known[i] >= 0 && k < n->c; k++)
                FERRY_ROW(dom->g, i)[k] = (double)(k == dom->known[i]);
    }
    return FERRY_OK;
}

/* ---- normalisation ---- */

/* sums <- what the columns of F are to be multiplied by to sum to 1; the sums go into the
 * rows of a (NULL: they are lost).
 * known: sums already holds them. A column of zeros keeps factor 1. What comes out is
 * due, not done: the columns are multiplied later, with the next pass over F. */
static void column_factors(ferry_ctx *ctx, bool known, const ferry_block *f, ferry_small *a,
                           double *sums)
{
    if (f->k == 0) return;
    if (!known) ferry_e(ctx)->bsums(ctx, f, FERRY_COLS, 1, sums);
    for (int64_t l = 0; l < f->k; l++) {
        const double sum = sums[l] > FERRY_NMTF_EPS ? sums[l] : 1;
        for (int64_t k = 0; a && k < a->cols; k++)
            FERRY_AT(a, l, k) *= sum;
        sums[l] = 1 / sum;
    }
}

/* Rows of G to sum 1; an instance without features, whose row is 0, could be anything. */
void ferry_i_nmtf_rows_to_1(ferry_nmtf *n, ferry_nmtf_domain *dom)
{
    for (int64_t i = 0; i < dom->n; i++) {
        double *g = FERRY_ROW(dom->g, i), sum = 0;
        for (int64_t k = 0; k < n->c; k++)
            sum += g[k];
        n->empty += !(sum > FERRY_NMTF_EPS);
        for (int64_t k = 0; k < n->c; k++)
            g[k] = sum > FERRY_NMTF_EPS ? g[k] / sum : 1 / (double)n->c;
    }
}

/* F in the blocks, and every column multiplied by what it was due. Does nothing the
 * second time. */
void ferry_i_nmtf_catch_up(ferry_ctx *ctx, ferry_nmtf *n)
{
    if (n->tiled) ferry_i_nmtf_untile(n);
    if (!n->pending) return;
    n->pending = false;
    for (int64_t g = 0; g < n->n_groups; g++)
        if (n->p1 > 0)
            ferry_e(ctx)->bscale(ctx, n->group[g].f1, FERRY_COLS, n->group[g].f1_sums);
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        if (n->pa > 0 && v->fa_scaled)
            ferry_e(ctx)->bscale(ctx, v->fa, FERRY_COLS, v->fa_sums);
        if (n->p2 > 0) ferry_e(ctx)->bscale(ctx, v->f2, FERRY_COLS, v->f2_sums);
    }
}

/* A is changed at once (it is small), F later. Fa is scaled only in the paper's way: its
 * sums have nowhere to go, Aa being shared by views whose columns have other sums. */
void ferry_i_nmtf_normalise_late(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o)
{
    const bool paper = o->norm == FERRY_NMTF_PAPER, known = n->sums_ready;

    n->empty = 0;
    n->sums_ready = false;
    if (o->norm == FERRY_NMTF_NONE) return;
    for (int64_t g = 0; g < n->n_groups; g++)
        column_factors(ctx, known, n->group[g].f1, paper ? NULL : n->group[g].a1,
                       n->group[g].f1_sums);
    for (int64_t i = 0; i < n->n_views; i++) {
        ferry_nmtf_view *v = &n->view[i];
        v->fa_scaled = paper;
        if (paper) column_factors(ctx, known, v->fa, NULL, v->fa_sums);
        column_factors(ctx, known, v->f2, paper ? NULL : v->a2, v->f2_sums);
    }
    n->pending = true;
    for (int64_t d = 0; d < n->n_domains && o->norm != FERRY_NMTF_SIMPLEX; d++)
        if (!n->domain[d].fixed) ferry_i_nmtf_rows_to_1(n, &n->domain[d]);
}

void ferry_i_nmtf_normalise(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o)
{
    ferry_i_nmtf_normalise_late(ctx, n, o);
    ferry_i_nmtf_catch_up(ctx, n);
}
