/* M-MLTL: multi-label transfer by a shared subspace and the maximum mean discrepancy.
 *
 * Source and target have the same features and labels but are distributed differently. A subspace U is learned from how
 * features go with labels in the source, G = Xs Ys' close to U V', in which the means of the two domains are close:
 *
 *   min over U, V   |G - U V'|^2 + mu |U'delta|^2 + g1 |U|^2 + g2 |V|^2,   delta = mean(Xs) - mean(Xt)      (7)
 *
 * then a RankSVM on the latent features U'x of the source labels the target. Here
 *
 *   1. G is less the source's mean, or the first latent direction is the mean instance and swamps the others;
 *   2. mu = rho sigma_1(G) / |delta|^2, or it depends on the unit of the features;
 *   3. (7) is solved to its minimum (learn/mmd.c), from which plain sweeps are far after hundreds of them;
 *   4. latent features are brought to mean 0 and deviation 1: their scales run over sigma_1 .. sigma_m, of which a
 *      RankSVM with C = 1 does not see the small ones;
 *   5. where the means do not differ, cross-validation chooses between features and subspace: the gate below.
 *
 * mmltl_paper.c is the algorithm as published. The defaults (features brought to one scale, rho = 15) were chosen on
 * cuts of Corel5k and scene like those of the study mmltl-table2: 16 runs of each.
 *
 * Jiang, Liu, Shu, Xu, Wu, Guo: Multi-label Transfer Learning via Maximum Mean Discrepancy, Information and Control
 * 2016. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/folds.h"
#include "learn/kernel.h"
#include "learn/mmd.h"
#include "methods/shared/rank.h"
#include "prepare/problem.h"

enum { LATENT_ZSCORE, LATENT_PLAIN };
enum { KERNEL_NONE, KERNEL_LINEAR, KERNEL_RBF };
enum { LEAST_ROWS = 20 }; /* of either domain, for folds and a test to mean something */

/* mu is text, since it may be auto or inf. */
typedef struct mmltl_options {
    int mmd, kernel, shrink, centre, latent, gate;
    const char *mu;
    double rho, g1, g2, tol, gamma, C, rank_tol;
    int64_t g, max_iter, epochs;
} mmltl_options;

static const ferry_opt mmltl_opts[] = {
    FERRY_OPT_ONE_OF(mmltl_options, mmd, "on|off", "on",
                     "off: no term that brings the domains together (MLTL)"),
    FERRY_OPT(mmltl_options, REAL, rho, 15, 0, DBL_MAX,
              "strength of the term, whatever the unit of the features"),
    FERRY_OPT_STRING(mmltl_options, mu, "auto",
                     "its weight: a number, inf, or auto (from rho)"),
    FERRY_OPT_YES_NO(mmltl_options, gate, "yes",
                     "mu auto, no kernel: where the domains' means do not differ, "
                     "cross-validation chooses between features and subspace"),
    FERRY_OPT(mmltl_options, INT, g, 0, 0, 1e6, "latent features; 0: as many as labels"),
    FERRY_OPT(mmltl_options, REAL, g1, 1, DBL_MIN, DBL_MAX, "weight of |U|^2"),
    FERRY_OPT(mmltl_options, REAL, g2, 1, DBL_MIN, DBL_MAX, "weight of |V|^2"),
    FERRY_OPT_YES_NO(mmltl_options, centre, "yes", "take the source's mean off G"),
    FERRY_OPT_ONE_OF(mmltl_options, latent, "zscore|plain", "zscore",
                     "scale latent features each, or all alike"),
    FERRY_OPT_ONE_OF(mmltl_options, shrink, "none|js|soft", "none",
                     "shrink the difference of the means by its noise"),
    FERRY_OPT_ONE_OF(mmltl_options, kernel, "none|linear|rbf", "none",
                     "work in the space of a kernel"),
    FERRY_OPT(mmltl_options, REAL, gamma, 0, 0, DBL_MAX,
              "rbf: exp(-gamma |x - y|^2); 0: 1 / median of |x - y|^2"),
    FERRY_OPT(mmltl_options, INT, max_iter, 1000, 1, 1e9, "most steps"),
    FERRY_OPT(mmltl_options, REAL, tol, 1e-10, 0, 1,
              "gradient at which to stop, relative to |G|"),
    RANK_OPTIONS(mmltl_options),
};

/* ---- options ---- */

/* "auto" gives -1, "inf" INFINITY. */
static double read_mu(scope *s, const mmltl_options *o)
{
    const char *end = o->mu + strlen(o->mu);
    double mu = 0;

    if (strcmp(o->mu, "auto") == 0) return -1;
    if (strcmp(o->mu, "inf") == 0) return INFINITY;
    if (ferry_i_parse_real(o->mu, end, &mu) != end || !(mu >= 0) || !isfinite(mu))
        scope_fail(s, FERRY_EINVAL, "mmltl: mu = %s is not a number from 0, auto or inf",
                   o->mu);
    return mu;
}

/* What cannot go together is refused before any data are read. */
static void mmltl_fits(scope *s, const problem *shape, const void *options)
{
    const mmltl_options *o = options;

    (void)shape;
    (void)read_mu(s, o);
    if (o->shrink != SHRINK_NONE && o->kernel != KERNEL_NONE)
        scope_fail(s, FERRY_EINVAL,
                   "mmltl: shrink is about features: it goes with kernel=none");
}

/* Products know factors and shifts of columns; kernels and variances want the values themselves. */
static void mmltl_adapt(const void *options, wants *w)
{
    const mmltl_options *o = options;

    w->raw = o->kernel == KERNEL_NONE && o->shrink == SHRINK_NONE;
}

/* ---- one fit ---- */

typedef struct fit {
    const mmltl_options *o;
    const problem *p;
    examples e; /* labelled rows of the sources */
    const double *
        factor, /* of both domains' columns: x_ij factor_j - shift_j is meant; NULL: x itself */
        *shift;
    matrix xt;
    int64_t g;   /* latent features */
    bool no_mmd; /* mu = 0 */
    block zs;    /* ns x g: latent features of the source */
    double *far; /* g: U'delta, how far the domains' means are apart there */
    bool stop;   /* progress said finish */
} fit;

static mmd_labels labels_of(const fit *f)
{
    return (mmd_labels){f->e.x.n, f->e.y.k, f->e.y.on, f->o->centre};
}

/* The weight of the term: as given, or mu = rho sigma_1(G) / |delta|^2, which does not depend on the unit of the
 * features. In the U step mu |delta|^2 competes with the eigenvalues of V'V, which go up to about sigma_1(G): rho is
 * their ratio. delta = 0 needs no term. */
static void choose_mu(scope *s, const fit *f, mmd_problem *p)
{
    const double delta2 = square_sum(s, p->delta), sigma = mmd_sigma(s, p->g);

    p->mu = read_mu(s, f->o);
    if (p->mu < 0) p->mu = delta2 > 0 ? f->o->rho * sigma / delta2 : 0;
    if (f->no_mmd) p->mu = 0;
    if (!isfinite(p->mu * delta2) && !isinf(p->mu))
        scope_fail(s, FERRY_ENUMERIC,
                   "mmltl: mu |delta|^2 is too large; mu = inf has that limit");
    report_real(s, "sigma", sigma);
    report_real(s, "delta", sqrt(delta2));
    if (isinf(p->mu))
        report_text(s, "mu", "inf");
    else
        report_real(s, "mu", p->mu);
}

/* U (rows of G x g), the minimum. Not to converge is a warning, not an error: the subspace may still serve. */
static void solve(scope *s, fit *f, const mmd_problem *p, block u)
{
    const block v = block_new(s, HERE(p->g.k), p->g.k, f->g);
    const mmd_solver how = {.tol = f->o->tol, .max_iter = f->o->max_iter, .what = "mmltl"};
    const mmd_found found = mmd_solve(s, p, &how, u, v);

    report_real(s, "gradient", found.kkt);
    if (!found.converged && !found.finish)
        ferry_i_log(scope_ctx(s), FERRY_WARN,
                    "mmltl: after %lld steps the gradient is %.1e of |G|, not %.1e",
                    (long long)found.sweeps, found.kkt, f->o->tol);
    report_real(s, "sweeps", (double)found.sweeps);
    report_real(s, "fit_objective", found.objective);
    f->stop = found.finish;
}

/* far_j <- U_j'delta. */
static void measure_shift(const fit *f, block u, const double *delta)
{
    for (int64_t i = 0; i < u.n; i++)
        for (int64_t j = 0; j < u.k; j++)
            f->far[j] += ROW(u, i)[j] * delta[i];
}

/* ---- the subspace by the features ---- */

/* Whether the shift is the mean of just these rows of both domains, so that it tells the target's: to as many digits
 * where the target has its share of them, else its own pass costs little. */
static bool knows_mean(const fit *f)
{
    const ferry_prepared *from = f->p->prepared;

    return f->factor && f->e.x.n <= 8 * f->xt.n &&
           from->frame[0].scale->rows == f->e.x.n + f->xt.n;
}

/* G and delta of features that are as the task has them become those of x_ij factor_j - shift_j: G = factor o Xs'B -
 * shift 1'B with B the labels, of which centring leaves no sum. delta is a difference, so the shift is not in it; or,
 * from the source's mean alone (known), that mean less the shift, the mean of all n rows, times n / nt. */
static void rescale(scope *s, const fit *f, bool known, block g, double *delta)
{
    const double times = known ? (double)(f->e.x.n + f->xt.n) / (double)f->xt.n : 1;
    double *count = NEW(s, double, g.k);

    for (int64_t i = 0; !f->o->centre && i < f->e.x.n; i++)
        for (int64_t k = 0; k < g.k; k++)
            count[k] += f->e.y.on[i * g.k + k];
    for (int64_t j = 0; j < g.n; j++) {
        for (int64_t k = 0; k < g.k; k++)
            ROW(g, j)[k] = f->factor[j] * ROW(g, j)[k] - f->shift[j] * count[k];
        delta[j] *= f->factor[j];
        if (known) delta[j] = (delta[j] - f->shift[j]) * times;
    }
}

/* zs <- Xs U, where need be as Xs (factor o U) - 1 (shift'U). */
static void project(scope *s, const fit *f, block u)
{
    if (!f->factor) {
        mul(s, f->e.x, u, f->zs);
        return;
    }
    const block scaled = block_like(s, u);
    double *less = NEW(s, double, u.k);
    for (int64_t j = 0; j < u.n; j++)
        for (int64_t k = 0; k < u.k; k++) {
            ROW(scaled, j)[k] = f->factor[j] * ROW(u, j)[k];
            less[k] += f->shift[j] * ROW(u, j)[k];
        }
    mul(s, f->e.x, scaled, f->zs);
    for (int64_t i = 0; i < f->zs.n; i++)
        for (int64_t k = 0; k < u.k; k++)
            ROW(f->zs, i)[k] -= less[k];
}

/* U d x g, and zs. delta is shrunken for the problem only; the distance that is reported is the full one. */
static void linear_subspace(scope *s, scope *keep, fit *f, ranked *m)
{
    const bool known = knows_mean(f);
    const mmd_labels y = labels_of(f);
    mmd_problem p = mmd_relation(s, f->e.x, &y, known ? (matrix){.m = NULL} : f->xt);
    const int64_t d = p.g.n;

    p.g1 = f->o->g1;
    p.g2 = f->o->g2;
    if (f->factor) rescale(s, f, known, p.g, p.delta.at);
    const double *full = COPY(s, p.delta.at, d);
    mmd_shrink(s, (mmd_shrinking)f->o->shrink, f->e.x, f->xt, p.delta);
    choose_mu(s, f, &p);
    m->u = block_new(keep, HERE(d), d, f->g);
    solve(s, f, &p, m->u);
    project(s, f, m->u);
    measure_shift(f, m->u, full);
}

/* ---- the same through a kernel over all instances: coef = map Ur, zs = K map Ur ---- */

/* map and kmap are n x r with r <= m + 1, so nothing of n x n is kept. The model keeps all instances of both domains:
 * latent(x) needs k(X, x). */
static void kernel_subspace(scope *s, scope *keep, fit *f, ranked *m)
{
    const mmd_labels y = labels_of(f);

    if (f->e.x.rows.spread)
        scope_fail(s, FERRY_ENEEDS,
                   "mmltl: a kernel compares all rows with each other, which --engine mpi "
                   "does not; kernel=none runs with it");
    m->x = stack(keep, 2, (matrix[]){f->e.x, f->xt});
    m->n = m->x.n;
    m->gamma = f->o->kernel == KERNEL_RBF ? f->o->gamma : 0;
    if (f->o->kernel == KERNEL_RBF && m->gamma == 0) m->gamma = kernel_gamma_of(s, m->x);
    report_real(s, "gamma", m->gamma);
    mmd_kernel k = mmd_kernel_new(s, m->gamma, m->x, &y);
    k.p.g1 = f->o->g1;
    k.p.g2 = f->o->g2;
    choose_mu(s, f, &k.p);
    const int64_t r = k.p.g.n;
    const block u = block_new(s, HERE(r), r, f->g);
    solve(s, f, &k.p, u);
    m->coef = block_new(keep, HERE(m->n), m->n, f->g);
    const small ut = {u.k, u.n,
                      u.at}; /* a block's numbers are its transpose's, column-major */
    bmul_t(s, k.map, ut, m->coef);
    bmul_t(s, block_part(k.kmap, HERE(f->zs.n), f->zs.n), ut,
           f->zs); /* the source's rows */
    measure_shift(f, u, k.p.delta.at);
}

/* ---- the gate: is there anything to undo, and if not, is the subspace worth it? ----
 *
 * Where source and target come from one distribution the mean term can only cost, and the m latent features, too, hold
 * less than the features themselves (emotions in two random halves: ranking loss .189, without the term .181, a RankSVM
 * on the features .160). So:
 *
 *   shift    |mean(Xs) - mean(Xt)|^2 against 99 random divisions of the rows, at most 1500 of either side; a shift is
 *            what is larger than all of them (p = .01)
 *   choice   without one, 5 folds of the source decide by the ranking loss between the features and the subspace
 *            without the term */

enum { DRAWS = 99, CHUNK = 250, FOLDS = 5, MOST_ROWS = 1500 };

/* Which rows of one side are in the first group of division c: order holds all rows, the first ns of it are. */
static void fill_division(const int64_t *order, int64_t ns, int64_t c, block s, block t)
{
    for (int64_t i = 0; i < ns; i++) {
        const int64_t row = order[i];
        if (row < s.n)
            ROW(s, row)[c] = 1;
        else
            ROW(t, row - s.n)[c] = 1;
    }
}

/* far[c] <- squared distance of the groups' means for n divisions, from the sums of the first groups; the last column of
 * `total` is that of all rows. factor (may be NULL): what the features are still to be multiplied by. */
static void distances(block total, const double *factor, double ns, double nt, int64_t n,
                      double *far)
{
    for (int64_t c = 0; c < n; c++)
        far[c] = 0;
    for (int64_t j = 0; j < total.n; j++) {
        const double by = factor ? factor[j] : 1, all = ROW(total, j)[n];
        for (int64_t c = 0; c < n; c++) {
            const double a = ROW(total, j)[c];
            const double gap = by * (a / ns - (all - a) / nt);
            far[c] += gap * gap;
        }
    }
}

typedef struct drawn { /* rows at[0 .. n) of x, all of which are here */
    matrix x;
    int64_t n, *at;
} drawn;

/* Rows of x that are listed (by number among all, n of them), brought to all processes. */
static drawn bring(scope *s, matrix x, int64_t n, const int64_t *rows)
{
    uint8_t *wanted = NEW(s, uint8_t, x.rows.n);
    int64_t *rank = NEW(s, int64_t, x.rows.n), *here = NEW(s, int64_t, x.n), count = 0,
            before = 0;
    drawn out = {.n = n, .at = NEW(s, int64_t, n)};

    for (int64_t i = 0; i < n; i++)
        wanted[rows[i]] = 1;
    for (int64_t i = 0; i < x.rows.n; i++) {
        rank[i] = before;
        before += wanted[i];
    }
    for (int64_t i = 0; i < x.n; i++)
        if (wanted[x.rows.first + i]) here[count++] = i;
    out.x = replicate_rows(s, take_rows(s, x, count, here, false));
    for (int64_t i = 0; i < n; i++)
        out.at[i] = rank[rows[i]];
    return out;
}

/* Which rows to look at, at most MOST_ROWS drawn by the name from the order (NULL: as they stand). */
static drawn draw_rows(scope *s, const char *name, matrix x, const int64_t *order)
{
    const int64_t n = x.rows.n, some = n < MOST_ROWS ? n : MOST_ROWS;
    int64_t *rows = NEW(s, int64_t, n);

    for (int64_t i = 0; i < n; i++)
        rows[i] = order ? order[i] : i;
    if (n > MOST_ROWS) shuffle(scope_rng(s, name), n, rows);
    return x.rows.spread ? bring(s, x, some, rows) : (drawn){x, some, rows};
}

/* total += X'in for the rows that were drawn, a few at a time: a copy of all would cost more than the product. */
static void add_sums(scope *s, const drawn *from, block in, block total)
{
    ferry_ctx *ctx = scope_ctx(s);
    ferry_block to = block_ref(total);

    for (int64_t at = 0; at < in.n; at += CHUNK) {
        const int64_t mark = scope_mark(s), n = in.n - at < CHUNK ? in.n - at : CHUNK;
        const ferry_block of = {n, in.k, ROW(in, at)};
        const matrix x = take_rows(s, from->x, n, from->at + at, false);
        scope_check(s, ferry_e(ctx)->tmul(ctx, 1, x.m, &of, 1, &to));
        scope_release(s, mark);
    }
}

/* How likely so large a distance of the means is without a shift: (c + 1) / 100, c of 99 random divisions of the rows
 * being as large. O(99 nnz) of the rows drawn: like one product with 99 labels. Where features are many the divisions go
 * in groups, so that their sums stay small. */
static double shift_chance(scope *s, const drawn *xs, const drawn *xt, const double *factor)
{
    /* the first is as the rows are; after the last come all rows */
    enum { ALL = DRAWS + 1, SOME = 20, WIDE = 1 << 15 };
    const int64_t most_at_once = xs->x.cols > WIDE ? SOME : ALL, ns = xs->n, nt = xt->n;
    int64_t *order = NEW(s, int64_t, ns + nt), above = 0;
    double far[ALL];
    ferry_rng *rng = scope_rng(s, "mmltl.shift");

    if (ns == 0 || nt == 0) return 1;
    for (int64_t i = 0; i < ns + nt; i++)
        order[i] = i;
    for (int64_t from = 0; from < ALL; from += most_at_once) { /* which divides ALL */
        const int64_t mark = scope_mark(s), k = most_at_once + 1;
        const block a = block_new(s, HERE(ns), ns, k), b = block_new(s, HERE(nt), nt, k);
        const block total = block_new(s, HERE(xs->x.cols), xs->x.cols, k);
        for (int64_t c = from; c < from + most_at_once; c++) {
            if (c > 0) shuffle(rng, ns + nt, order);
            fill_division(order, ns, c - from, a, b);
        }
        fill_division(order, ns + nt, most_at_once, a, b);
        add_sums(s, xs, a, total);
        add_sums(s, xt, b, total);
        distances(total, factor, (double)ns, (double)nt, most_at_once, far + from);
        scope_release(s, mark);
    }
    for (int64_t c = 1; c < ALL; c++)
        above += far[c] >= far[0];
    return (double)(above + 1) / (DRAWS + 1);
}

/* p of the two domains, rows drawn in the order of their keys. */
static double shift_of(scope *s, const fit *f)
{
    const int64_t mark = scope_mark(s);
    const bool spread = f->e.x.rows.spread;
    const int64_t *rs = spread ? NULL : rows_by_key(s, f->e.x.n, f->e.key),
                  *rt = spread ? NULL : rows_by_key(s, f->xt.n, target(f->p)->key);
    const drawn xs = draw_rows(s, "mmltl.shift.source", f->e.x, rs),
                xt = draw_rows(s, "mmltl.shift.target", f->xt, rt);
    const double p = shift_chance(s, &xs, &xt, f->factor);

    scope_release(s, mark);
    return p;
}

/* The rows whose number is `which` (inside) or another one from 0 on (outside). */
static examples fold_of(scope *s, const examples *e, const int32_t *number, int32_t which,
                        bool inside)
{
    int64_t *rows = NEW(s, int64_t, e->x.n), n = 0;

    for (int64_t i = 0; i < e->x.n; i++)
        if (number[i] >= 0 && (number[i] == which) == inside) rows[n++] = i;
    return take_examples(s, e, n, rows);
}

/* Sum over rows of the share of pairs (own label, other) in the wrong order, ties by half; *n counts rows with both. */
static double wrong_pairs(block f, const uint8_t *on, int64_t *n)
{
    double total = 0;

    for (int64_t i = 0; i < f.n; i++) {
        const double *s = ROW(f, i);
        const uint8_t *y = on + i * f.k;
        double wrong = 0, pairs = 0;
        for (int64_t a = 0; a < f.k; a++)
            for (int64_t b = 0; y[a] && b < f.k; b++) {
                if (y[b]) continue;
                wrong += s[a] < s[b] ? 1 : s[a] == s[b] ? 0.5 : 0;
                pairs++;
            }
        if (pairs == 0) continue;
        total += wrong / pairs;
        ++*n;
    }
    return total;
}

/* A RankSVM on z of one part, asked about z of the other: wrong pairs there. */
static double rank_fold(scope *s, const ranker_options *o, matrix z, const examples *train,
                        matrix asked, const examples *test, int64_t *n)
{
    const int64_t mark = scope_mark(s), m = train->y.k;
    ranker_options how = *o;

    how.label = labels_by_rows(s, train);
    const ranker r = ranker_fit(s, s, &how, z, NULL, m, train->y.on);
    const block f = block_new(s, asked.rows, asked.n, m);

    ranker_scores(s, &r, asked, NULL, f);
    const double wrong = wrong_pairs(f, test->y.on, n);
    scope_release(s, mark);
    return wrong;
}

/* The subspace of one part without the mean term: latent features of both, each to mean 0 and deviation 1 by the first. */
static void latent_of(scope *s, bool centre, const examples *train, const examples *test,
                      block z, block asked)
{
    const int64_t m = train->y.k, d = train->x.cols;
    const mmd_labels y = {train->x.n, m, train->y.on, centre};
    const mmd_solver how = {.tol = 1e-10, .max_iter = 1000, .what = "mmltl"};
    const block u = block_new(s, HERE(d), d, m), v = block_new(s, HERE(m), m, m);
    const ranked to = {.d = m, .mean = NEW(s, double, m), .inv_sd = NEW(s, double, m)};
    mmd_problem p = mmd_relation(s, train->x, &y, test->x);

    p.g1 = p.g2 = 1;
    (void)mmd_solve(s, &p, &how, u, v);
    mul(s, train->x, u, z);
    mul(s, test->x, u, asked);
    ranked_measure(z, to.mean, to.inv_sd);
    ranked_standardise(&to, z);
    ranked_standardise(&to, asked);
}

/* Ranking loss over folds of the source, rows in the order of their keys: of a RankSVM on the features, and on the
 * subspace without the mean term. Of more than MOST_ROWS rows about as many are looked at. */
static void compare(scope *s, const fit *f, const ranker_options *how, double loss[2])
{
    const int64_t all = scope_mark(s), rows = f->e.x.n, m = f->e.y.k;
    const examples e = take_examples(s, &f->e, rows, rows_by_key(s, rows, f->e.key));
    int32_t *number = random_folds(s, "mmltl.folds", rows, NULL,
                                   FOLDS * ((rows + MOST_ROWS - 1) / MOST_ROWS));
    int64_t n[2] = {0, 0};

    loss[0] = loss[1] = 0;
    for (int64_t i = 0; i < rows; i++) /* of many rows those of the first folds */
        if (number[i] >= FOLDS) number[i] = -1;
    for (int32_t k = 0; k < FOLDS; k++) {
        const int64_t mark = scope_mark(s);
        const examples train = fold_of(s, &e, number, k, false),
                       test = fold_of(s, &e, number, k, true);
        if (test.x.n > 0 && train.x.n > 0) {
            const block z = block_new(s, HERE(train.x.n), train.x.n, m),
                        asked = block_new(s, HERE(test.x.n), test.x.n, m);
            loss[0] += rank_fold(s, how, train.x, &train, test.x, &test, &n[0]);
            latent_of(s, f->o->centre, &train, &test, z, asked);
            loss[1] += rank_fold(s, how, matrix_of(s, z), &train, matrix_of(s, asked),
                                 &test, &n[1]);
        }
        scope_release(s, mark);
    }
    for (int i = 0; i < 2; i++)
        loss[i] = n[i] > 0 ? loss[i] / (double)n[i] : 0;
    scope_release(s, all);
    report_real(s, "cv_features", loss[0]);
    report_real(s, "cv_subspace", loss[1]);
}

/* Features as they are meant, written out. */
static void scale_both(scope *s, fit *f)
{
    f->e.x = scaled_values(s, f->p, f->e.x);
    f->xt = scaled_values(s, f->p, f->xt);
    f->factor = f->shift = NULL;
}

/* Whether the features serve as they are; if not, no_mmd says whether the subspace does without the mean term. */
static bool ask_gate(scope *s, fit *f, const ranker_options *how)
{
    const mmltl_options *o = f->o;
    const bool spread = f->e.x.rows.spread;
    double loss[2] = {0};

    if (!o->gate || o->kernel != KERNEL_NONE || f->no_mmd || strcmp(o->mu, "auto") != 0 ||
        f->e.x.rows.n < LEAST_ROWS || f->xt.rows.n < LEAST_ROWS)
        return false;
    const double p = shift_of(s, f);
    report_real(s, "shift_p", p);
    if (p <= 0.01) {
        report_text(s, "uses", "subspace, means brought together");
        return false;
    }
    if (spread)
        scope_fail(
            s, FERRY_ENEEDS,
            "mmltl: the domains' means do not differ (p = %.2g), and a RankSVM on "
            "the features takes all rows in one place; --engine mpi runs with gate=no",
            p);
    if (f->factor) scale_both(s, f);
    compare(s, f, how, loss);
    f->no_mmd = true;
    report_text(s, "uses", loss[0] <= loss[1] ? "features" : "subspace");
    return loss[0] <= loss[1];
}

/* ---- fitting ---- */

/* How far the domains' means are apart in the latent space, in deviations of the source: what a user can judge the term
 * by. Near 0 means that the means fall together. */
static void report_shift(scope *s, const fit *f, const ranked *m)
{
    double all = 0;

    for (int64_t j = 0; j < f->g; j++)
        all += f->far[j] * m->inv_sd[j] * (f->far[j] * m->inv_sd[j]);
    report_real(s, "latent_shift", sqrt(all));
}

/* The subspace, its features on one scale, the RankSVM on them, which takes the rows of all processes. */
static void fit_subspace(scope *s, scope *keep, fit *f, const ranker_options *how,
                         ranked *m)
{
    examples e = f->e;

    f->zs = block_new(s, e.x.rows, e.x.n, f->g);
    f->far = NEW(s, double, f->g);
    m->mean = NEW(keep, double, f->g);
    m->inv_sd = NEW(keep, double, f->g);
    if (f->o->kernel == KERNEL_NONE)
        linear_subspace(s, keep, f, m);
    else
        kernel_subspace(s, keep, f, m);
    e.y.on = replicate_items(s, e.x.rows, e.x.n, (size_t)e.y.k, e.y.on);
    if (e.key) e.key = replicate_items(s, e.x.rows, e.x.n, sizeof *e.key, e.key);
    const block z = replicate(s, f->zs);
    ranked_measure(z, m->mean, m->inv_sd);
    report_shift(s, f, m);
    for (int64_t j = 0; f->o->latent == LATENT_PLAIN && j < f->g; j++) {
        m->mean[j] = 0;
        m->inv_sd[j] = 1;
    }
    ranked_standardise(m, z);
    e.x = matrix_of(s, z);
    ranked_fit(s, keep, how, &e, NULL, f->stop, m);
}

/* The target's labels are not looked at: it learns from the source's alone. */
static void mmltl_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const mmltl_options *o = options;
    const ranker_options how = RANK_SETTINGS(o);
    const domain *t = target(p);
    fit f = {.o = o,
             .p = p,
             .e = training_examples(s, p),
             .factor = t->factor,
             .shift = t->shift,
             .xt = t->x,
             .g = o->g > 0 ? o->g : p->classes,
             .no_mmd = o->mmd == 1};

    report_sources(s, p, &f.e);
    if (ask_gate(s, &f, &how))
        ranked_fit(s, keep, &how, &f.e, NULL, false, state);
    else
        fit_subspace(s, keep, &f, &how, state);
}

const method method_mmltl = {
    .name = "mmltl",
    .summary = "label sets through a subspace in which the domains' means are close",
    .reference = "Jiang et al., Multi-label Transfer Learning via Maximum Mean "
                 "Discrepancy, Information and Control 2016",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_MULTILABEL,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW,
    /* rho was chosen for standardised features */
    .wants = {.as = JOINED, .beside = true, .scale_default = "standard"},
    METHOD_OPTIONS(mmltl_opts, mmltl_options),
    .state = &ranked_table,
    .adapt = mmltl_adapt,
    .fits = mmltl_fits,
    .fit = mmltl_fit,
    .scores = ranked_scores,
    .decide = ranked_decide,
};
