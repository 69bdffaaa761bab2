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

/* ---- the engine's operations that only these steps need ---- */

/* out <- A B + keep out. */
static void add_bmul(scope *s, block a, small b, double keep, block out)
{
    const ferry_block x = block_ref(a);
    const ferry_small y = small_ref(b);
    ferry_block z = block_ref(out);

    ferry_e(scope_ctx(s))->bmul(scope_ctx(s), 1, &x, &y, false, keep, &z);
}

/* out <- w X B + keep out, over the rows here. */
static void add_mul(scope *s, double w, matrix x, block b, double keep, block out)
{
    const ferry_block in = block_ref(b);
    ferry_block y = block_ref(out);

    ferry_e(scope_ctx(s))->mul(scope_ctx(s), w, x.m, &in, keep, &y);
}

/* Z <- Z (up / down)^e. */
static void multiplied(scope *s, const nmtf_options *o, block up, block down, block z)
{
    const ferry_block u = block_ref(up), d = block_ref(down);
    ferry_block to = block_ref(z);

    ferry_e(scope_ctx(s))
        ->mulup(scope_ctx(s), &to, &u, &d, o->exponent, NMTF_EPS, NMTF_TINY);
}

/* The first k columns of a block as wide as any (its rows move together). */
static block narrow(block b, int64_t k)
{
    return (block){b.rows, b.n, k, b.at};
}

/* The first rows x cols numbers of a small as a small of fewer rows, packed anew: for
 * scratch. */
static small few_rows(small a, int64_t rows)
{
    return (small){rows, a.cols, a.at};
}

/* H_v = F1 A1 + Fa Aa + F2 A2 for the views of group g.
 * O(m p c) for each factor. F1 A1 is made once for all views of the group. `keep` is 0
 * for the first term that there is, which overwrites. */
static void model(scope *s, nmtf *n, int64_t g)
{
    nmtf_group *gr = &n->group[g];

    if (n->p1 > 0) bmul(s, gr->f1, gr->a1, gr->fa1);
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        double keep = 0;
        if (v->group != g) continue;
        if (n->p1 > 0) {
            axpby(s, 1, gr->fa1, 0, v->h);
            keep = 1;
        }
        if (n->pa > 0) {
            add_bmul(s, v->fa, gr->aa, keep, v->h);
            keep = 1;
        }
        if (n->p2 > 0) add_bmul(s, v->f2, v->a2, keep, v->h);
    }
}

/* ---- what the steps of F and A divide: P and Q of a view ---- */

/* Memory for the divergence: X / (H G') by instance and, sparse, by feature.
 * Dense X needs one array, X'B coming from the same order; sparse X keeps both orders,
 * since R is multiplied from both sides in every iteration. */
void nmtf_divergence(scope *s, nmtf *n)
{
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        ferry_matrix *xt = NULL;
        if (v->r.m) continue;
        if (v->x.m->dense) {
            v->r = matrix_dense(s, v->x.rows, v->x.n, v->x.cols);
            continue;
        }
        scope_check(s, ferry_i_matrix_transpose(scope_ctx(s), v->x.m, &xt));
        v->xt = matrix_own(s, xt);
        v->rt = with_values(s, v->xt, xt->value);
        v->r = with_values(s, v->x, v->x.m->value);
    }
    n->kl = true;
}

/* R <- X / (B C') at the entries of X; the part of the divergence that is made there, sum x log(x / y) - x, where it
 * is wanted.
 * Entries of X that are 0 have ratio 0 and no part in the sum; the + y of the divergence
 * is a product of column sums and is added by the caller, over all cells. */
static double ratios(scope *s, matrix x, block b, block c, matrix r, bool wanted)
{
    const ferry_block left = block_ref(b), right = block_ref(c);
    const double *from = row_values(x.m);
    double *to = row_values(r.m), all = 0;

    ferry_e(scope_ctx(s))->sddmm(scope_ctx(s), x.m, &left, &right, to);
    for (int64_t e = 0; e < stored(x); e++)
        to[e] = from[e] / fmax(to[e], NMTF_EPS);
    for (int64_t e = 0; wanted && e < stored(x); e++)
        if (from[e] > 0) all += from[e] * (log(to[e]) - 1);
    return all;
}

/* P = R G and Q = 1 (1'G) of one view; *objective (may be NULL) += w times its
 * divergence. The sum of all cells of H G' is sum_k (1'H)_k (1'G)_k, so nothing of size
 * m x n is needed. The memory of K and cc takes the sums. */
static void divergence_parts(scope *s, nmtf *n, nmtf_view *v, double *objective)
{
    const block g = n->domain[v->domain].g;
    double *of_g = n->domain[v->domain].k.at, *of_h = n->cc.at, loss = 0;

    column_sums(s, g, of_g);
    if (v->xt.m) {
        loss = ratios(s, v->xt, v->h, g, v->rt, objective != NULL);
        add_mul(s, 1, v->rt, g, 0, v->p);
        sums(s, v->x.rows, v->p.n * n->c, v->p.at);
    } else {
        loss = ratios(s, v->x, g, v->h, v->r, objective != NULL);
        tmul(s, v->r, g, v->p);
    }
    for (int64_t j = 0; j < v->q.n; j++)
        for (int64_t k = 0; k < n->c; k++)
            ROW(v->q, j)[k] = of_g[k];
    if (!objective) return;
    loss = sum(s, v->x.rows, loss);
    column_sums(s, v->h, of_h);
    for (int64_t k = 0; k < n->c; k++)
        loss += of_h[k] * of_g[k];
    *objective += v->w * loss;
}

/* P and K = G'G, where they may have changed.
 * Once an iteration, before any factor moves: neither depends on F or A. */
static void square_products(scope *s, nmtf *n)
{
    for (int64_t d = 0; d < n->n_domains; d++) {
        const nmtf_domain *dom = &n->domain[d];
        if (!dom->fixed || !n->p_ready) gram(s, dom->g, dom->g, dom->k);
    }
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (n->domain[v->domain].fixed && n->p_ready) continue;
        if (v->twin == i)
            tmul(s, v->x, n->domain[v->domain].g, v->p);
        else
            copy(n->view[v->twin].p, v->p);
    }
    n->p_ready = true;
}

/* Q, and |X|^2 - 2 <P, H> + <H'H, K>.
 * All three terms from m x c numbers: <H'H, K> = <H K, H> = <Q, H>. */
static void square_parts(scope *s, nmtf *n, nmtf_view *v, double *objective)
{
    bmul(s, v->h, n->domain[v->domain].k, v->q);
    if (objective)
        *objective += v->w * (v->norm2 - 2 * inner(s, v->p, v->h) + inner(s, v->q, v->h));
}

/* P and Q of the views of a group and their weighted sums.
 * Afterwards gr->ps and gr->qs are sum_v w_v P_v and sum_v w_v Q_v, which F1 and A1
 * need. H is made from the factors as they stand. */
static void parts(scope *s, nmtf *n, nmtf_loss loss, int64_t g, double *objective)
{
    nmtf_group *gr = &n->group[g];
    double keep = 0;

    model(s, n, g);
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        if (loss == NMTF_KL)
            divergence_parts(s, n, v, objective);
        else
            square_parts(s, n, v, objective);
        axpby(s, v->w, v->p, keep, gr->ps);
        axpby(s, v->w, v->q, keep, gr->qs);
        keep = 1;
    }
}

/* ---- F and A ---- */

/* F <- F (P A' / Q A')^e. */
static void step_f(scope *s, const nmtf_options *o, const nmtf_group *gr, block p, block q,
                   small a, block f)
{
    const block up = narrow(gr->up, f.k), down = narrow(gr->down, f.k);

    if (f.k == 0) return;
    bmul_t(s, p, a, up);
    bmul_t(s, q, a, down);
    multiplied(s, o, up, down, f);
}

/* A <- A (up / down)^e entry by entry; what fell below TINY is 0, or it would go on to
 * the denormals, which are slow. */
static void step_small(const nmtf_options *o, const double *up, const double *down, small a)
{
    for (int64_t e = 0; e < a.rows * a.cols; e++) {
        const double ratio = up[e] / fmax(down[e], NMTF_EPS);
        a.at[e] *= o->exponent == 1 ? ratio : sqrt(fmax(ratio, 0));
        if (a.at[e] < NMTF_TINY) a.at[e] = 0;
    }
}

/* A <- A (F'P / F'Q)^e. */
static void step_a(scope *s, const nmtf_options *o, const nmtf_group *gr, block f, block p,
                   block q, small a)
{
    const small up = few_rows(gr->above, f.k), down = few_rows(gr->below, f.k);

    if (f.k == 0) return;
    gram(s, f, p, up);
    gram(s, f, q, down);
    step_small(o, up.at, down.at, a);
}

/* Aa, whose products are sums over the views.
 * Aa of a group is shared while Fa is the view's own: numerators and denominators are
 * added up with the views' weights before they are divided. */
static void step_aa(scope *s, nmtf *n, const nmtf_options *o, int64_t g)
{
    nmtf_group *gr = &n->group[g];
    const int64_t size = n->pa * n->c;
    const small up = few_rows(gr->above, n->pa), down = few_rows(gr->below, n->pa);

    if (n->pa == 0) return;
    for (int64_t e = 0; e < 2 * size; e++)
        gr->of_aa[e] = 0;
    for (int64_t i = 0; i < n->n_views; i++) {
        const nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        gram(s, v->fa, v->p, up);
        gram(s, v->fa, v->q, down);
        for (int64_t e = 0; e < size; e++) {
            gr->of_aa[e] += v->w * up.at[e];
            gr->of_aa[size + e] += v->w * down.at[e];
        }
    }
    step_small(o, gr->of_aa, gr->of_aa + size, gr->aa);
}

/* What step_f() and step_aa() work in. */
static void make_work(scope *s, const nmtf *n, nmtf_group *gr)
{
    const int64_t p = gr->above.rows;

    if (gr->up.at) return;
    gr->up = block_new(s, HERE(gr->m), gr->m, p);
    gr->down = block_like(s, gr->up);
    gr->of_aa = NEW(s, double, 2 * n->pa * n->c);
}

/* F of the group moves at once, then P and Q are made again and A moves: A sees the new F. */
static void step_group(scope *s, nmtf *n, const nmtf_options *o, int64_t g,
                       double *objective)
{
    nmtf_group *gr = &n->group[g];

    /* the objective comes with the parts: that of the state before the step */
    parts(s, n, o->loss, g, objective);
    step_f(s, o, gr, gr->ps, gr->qs, gr->a1, gr->f1);
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (v->group != g) continue;
        step_f(s, o, gr, v->p, v->q, gr->aa, v->fa);
        step_f(s, o, gr, v->p, v->q, v->a2, v->f2);
    }
    parts(s, n, o->loss, g, NULL); /* Q of the new F */
    step_a(s, o, gr, gr->f1, gr->ps, gr->qs, gr->a1);
    step_aa(s, n, o, g);
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (v->group == g) step_a(s, o, gr, v->f2, v->p, v->q, v->a2);
    }
    model(s, n, g);
}

/* Either all groups by tiles, in one pass over F each (squares, sizes that fit), or step
 * by step with P and Q written out. Both give the same up to rounding. */
double nmtf_factors(scope *s, nmtf *n, const nmtf_options *o)
{
    double objective = 0;

    if (o->loss == NMTF_KL && !n->kl) nmtf_divergence(s, n);
    if (o->loss == NMTF_SQUARED) square_products(s, n);
    /* tiles leave the sums of F's columns behind, which saves the normalisation a pass */
    n->sums_ready = o->loss == NMTF_SQUARED && nmtf_tiles_fit(n);
    if (!n->sums_ready) nmtf_catch_up(s, n);
    for (int64_t g = 0; g < n->n_groups; g++)
        if (n->sums_ready)
            nmtf_tiles_new(s, n, g);
        else
            make_work(s, n, &n->group[g]);
    for (int64_t g = 0; g < n->n_groups && n->sums_ready; g++)
        nmtf_tiles_step(s, n, o, g, &objective);
    n->tiled = n->sums_ready;
    n->pending = false;
    for (int64_t g = 0; g < n->n_groups && !n->sums_ready; g++)
        step_group(s, n, o, g, &objective);
    return objective;
}

/* As a step would report it, without the step. Costs as much as P and Q. */
double nmtf_objective(scope *s, nmtf *n, nmtf_loss loss)
{
    double objective = 0;

    nmtf_catch_up(s, n);
    if (loss == NMTF_KL && !n->kl) nmtf_divergence(s, n);
    if (loss == NMTF_SQUARED) square_products(s, n);
    for (int64_t g = 0; g < n->n_groups; g++)
        parts(s, n, loss, g, &objective);
    return objective;
}

/* ---- G ---- */

/* above <- sum w X'H, below <- G sum w H'H; views of one matrix add their H first. cc is
 * left as the sum of w H'H.
 * A matrix that stands in several groups is read once: X'(sum w H) = sum w X'H. v->q and
 * dom->k are free at this point and serve as work. */
static void square_members(scope *s, nmtf *n, int64_t d)
{
    nmtf_domain *dom = &n->domain[d];
    double keep = 0;

    for (int64_t k = 0; k < n->c * n->c; k++)
        n->cc.at[k] = 0;
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (v->domain != d) continue;
        gram(s, v->h, v->h, dom->k);
        for (int64_t k = 0; k < n->c * n->c; k++)
            n->cc.at[k] += v->w * dom->k.at[k];
        if (v->twin != i) continue;
        axpby(s, v->w, v->h, 0, v->q);
        for (int64_t u = i + 1; u < n->n_views; u++)
            if (n->view[u].twin == i) axpby(s, n->view[u].w, n->view[u].h, 1, v->q);
        add_mul(s, 1, v->x, v->q, keep, dom->above);
        keep = 1;
    }
    bmul(s, dom->g, n->cc, dom->below);
}

/* above <- sum_v w_v R_v'H_v, below <- the weighted column sums of H, the same in every
 * row. */
static void divergence_members(scope *s, nmtf *n, int64_t d)
{
    nmtf_domain *dom = &n->domain[d];
    double *of_h = n->cc.at, *all = dom->k.at, keep = 0;

    for (int64_t k = 0; k < n->c; k++)
        all[k] = 0;
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (v->domain != d) continue;
        (void)ratios(s, v->x, dom->g, v->h, v->r, false);
        add_mul(s, v->w, v->r, v->h, keep, dom->above);
        column_sums(s, v->h, of_h);
        for (int64_t k = 0; k < n->c; k++)
            all[k] += v->w * of_h[k];
        keep = 1;
    }
    for (int64_t i = 0; i < dom->n; i++)
        for (int64_t k = 0; k < n->c; k++)
            ROW(dom->below, i)[k] = all[k];
}

/* Known rows are moved like the others and then put back, which keeps the loops plain.
 * simplex solves each row exactly instead: min g'(sum w H'H) g - 2 (sum w X'H) g. */
void nmtf_members(scope *s, nmtf *n, const nmtf_options *o)
{
    for (int64_t d = 0; d < n->n_domains; d++) {
        nmtf_domain *dom = &n->domain[d];
        if (dom->fixed) continue;
        if (o->loss == NMTF_KL)
            divergence_members(s, n, d);
        else
            square_members(s, n, d);
        if (o->norm != NMTF_SIMPLEX) multiplied(s, o, dom->above, dom->below, dom->g);
        for (int64_t i = 0; o->norm == NMTF_SIMPLEX && i < dom->n; i++)
            nmtf_simplex_row(s, n->cc, ROW(dom->above, i), ROW(dom->g, i));
        for (int64_t i = 0; i < dom->n; i++)
            for (int64_t k = 0; dom->known[i] >= 0 && k < n->c; k++)
                ROW(dom->g, i)[k] = (double)(k == dom->known[i]);
    }
}

/* ---- normalisation ---- */

/* by <- what the columns of F are to be multiplied by to sum to 1; the sums go into the
 * rows of a (NULL: they are lost).
 * known: by already holds the sums. A column of zeros keeps factor 1. What comes out is
 * due, not done: the columns are multiplied later, with the next pass over F. */
static void column_factors(scope *s, bool known, block f, const small *a, double *by)
{
    if (f.k == 0) return;
    if (!known) column_sums(s, f, by);
    for (int64_t l = 0; l < f.k; l++) {
        const double all = by[l] > NMTF_EPS ? by[l] : 1;
        for (int64_t k = 0; a && k < a->cols; k++)
            AT(*a, l, k) *= all;
        by[l] = 1 / all;
    }
}

/* Rows of G to sum 1; an instance without features, whose row is 0, could be anything. */
void nmtf_rows_to_1(nmtf *n, nmtf_domain *dom)
{
    for (int64_t i = 0; i < dom->n; i++) {
        double *g = ROW(dom->g, i), all = 0;
        for (int64_t k = 0; k < n->c; k++)
            all += g[k];
        n->empty += !(all > NMTF_EPS);
        for (int64_t k = 0; k < n->c; k++)
            g[k] = all > NMTF_EPS ? g[k] / all : 1 / (double)n->c;
    }
}

/* F in the blocks, and every column multiplied by what it was due. Does nothing the
 * second time. */
void nmtf_catch_up(scope *s, nmtf *n)
{
    if (n->tiled) nmtf_untile(n);
    if (!n->pending) return;
    n->pending = false;
    for (int64_t g = 0; g < n->n_groups; g++)
        if (n->p1 > 0) scale_columns(s, n->group[g].f1, n->group[g].f1_sums);
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        if (n->pa > 0 && v->fa_scaled) scale_columns(s, v->fa, v->fa_sums);
        if (n->p2 > 0) scale_columns(s, v->f2, v->f2_sums);
    }
}

/* A is changed at once (it is small), F later. Fa is scaled only in the paper's way: its
 * sums have nowhere to go, Aa being shared by views whose columns have other sums. */
void nmtf_normalise_late(scope *s, nmtf *n, const nmtf_options *o)
{
    const bool paper = o->norm == NMTF_PAPER, known = n->sums_ready;

    n->empty = 0;
    n->sums_ready = false;
    if (o->norm == NMTF_NONE) return;
    for (int64_t g = 0; g < n->n_groups; g++) {
        nmtf_group *gr = &n->group[g];
        column_factors(s, known, gr->f1, paper ? NULL : &gr->a1, gr->f1_sums);
    }
    for (int64_t i = 0; i < n->n_views; i++) {
        nmtf_view *v = &n->view[i];
        v->fa_scaled = paper;
        if (paper) column_factors(s, known, v->fa, NULL, v->fa_sums);
        column_factors(s, known, v->f2, paper ? NULL : &v->a2, v->f2_sums);
    }
    n->pending = true;
    for (int64_t d = 0; d < n->n_domains && o->norm != NMTF_SIMPLEX; d++)
        if (!n->domain[d].fixed) nmtf_rows_to_1(n, &n->domain[d]);
}

void nmtf_normalise(scope *s, nmtf *n, const nmtf_options *o)
{
    nmtf_normalise_late(s, n, o);
    nmtf_catch_up(s, n);
}
