/* hemap: heterogeneous mapping, corrected. A source and a target whose features have nothing in common get one space.
 *
 * The published problem (hemap_paper.c) ties row i of the target's T to row i of the source's S, whatever they are,
 * through T'S. Here C stands for T'S / N, from what is known to belong together,
 *
 *   row pairs P:             C = T_P'S_P / |P|
 *   classes or quantiles c:  C = sum_c pi_c mu_T,c mu_S,c'      pi_c: share of c among T's rows in groups that both have
 *
 * the second being what the first is expected to be when rows are paired at random within matching groups. Neither
 * depends on the order of the rows, and N_T and N_S may differ. Then, K_T = T'T/N_T and K_S = S'S/N_S,
 *
 *   cca   U diag(corr) W' = svd((K_T + r_T)^-1/2 C (K_S + r_S)^-1/2),   r: `ridge` times the mean eigenvalue
 *   eig   top eigenvectors of 1/2 [(4+b^2) K_T, 4b C; 4b C', (4+b^2) K_S]: the published matrix
 *
 * all in the principal axes of the two sets, where K_T and K_S are diagonal. A place depends on the instance's own
 * features only, so new instances have one. Columns have mean 0 and deviation 1, each set by itself, in cca times their
 * correlation: a dimension on which the sets hardly agree counts little in distances.
 *
 * Why cca: with the true pairs of the digits' views the source's labels reach the target at an error of .20 by cca and
 * .63 by eig (Zernike moments, 15 dimensions), since it divides by each set's own variance and so does not follow its
 * large components.
 *
 * One learner on the places may learn from the source, another knows the target's own features only (learn/
 * common_space.c), and
 *
 *   p = (1 - gamma) p_own + gamma p_mapped,   gamma in {0, 1/4, 1/2, 3/4, 1}
 *
 * by cross-validation on the labelled target rows; where labels tie the sets the space is made anew without those of
 * each fold. gamma = 0, no transfer, stays unless the best other one gains more than `caution` standard errors of the
 * gain, row by row: with a few labels the least loss alone is noise, and picking it costs more than transfer brings.
 *
 * After Shi, Liu, Fan, Yu and Zhu, Transfer Learning on Heterogeneous Feature Spaces via Spectral Transformation, ICDM
 * 2010, and Shi, Heterogeneous Learning and Its Applications, thesis, Chicago 2013, chapter 5. */
#include <math.h>
#include <string.h>

#include "learn/cca.h"
#include "learn/common_space.h"
#include "learn/pca.h"
#include "model/seam.h"

enum { AUTO, YES, NO };
enum { CCA, EIG };
enum {
    GAMMAS = 5
}; /* a grid of quarters: with a few labelled rows a finer one chooses noise */
enum {
    LARGEST = 8000
}; /* an eigenproblem of this size takes half a gigabyte and minutes */

typedef struct hemap_options {
    int solver, translate;
    int64_t k, bins, folds;
    double beta, ridge, gamma, caution;
    space_options space;
} hemap_options;

static const ferry_opt hemap_opts[] = {
    FERRY_OPT(hemap_options, INT, k, 15, 1, 1e6, "dimensions of the space, at most"),
    FERRY_OPT_ONE_OF(hemap_options, solver, "cca|eig", "cca",
                     "regularised CCA, or the published matrix with known ties"),
    FERRY_OPT(hemap_options, REAL, ridge, 0.1, 1e-12, 1e6,
              "cca: added to the covariances, times their mean eigenvalue"),
    FERRY_OPT(hemap_options, REAL, beta, 1, 0, 1e6,
              "eig: how alike the two sets should be"),
    FERRY_OPT(hemap_options, INT, bins, 5, 2, 1e6, "regress: quantiles that are tied"),
    SPACE_OPTIONS(hemap_options),
    FERRY_OPT_AS(hemap_options, "weight", REAL, space.weight, 1, 1e-12, 1,
                 "of a source row; a target row has 1"),
    FERRY_OPT(hemap_options, REAL, gamma, -1, -1, 1,
              "share of the mapped prediction; -1: by cross-validation"),
    FERRY_OPT(hemap_options, INT, folds, 5, 2, 1e6, "of that cross-validation"),
    FERRY_OPT(hemap_options, REAL, caution, 2, 0, 100,
              "standard errors by which transfer must win there"),
    FERRY_OPT_ONE_OF(
        hemap_options, translate, "auto|yes|no", "auto",
        "source labels, by what a target learner calls their rows; auto: numbers, "
        "and classes where the target has one that the source lacks"),
};

typedef struct hemap_state {
    int64_t dims;
    block w;   /* columns of the target x dims: z = W'x + b */
    double *b; /* dims */
    space_model by;
} hemap_state;
static void hemap_check(scope *s, const void *state)
{
    const hemap_state *m = state;

    if ((m->by.gamma > 0 && !m->w.at) || (m->w.at && !m->b))
        scope_fail(s, FERRY_EDATA, "tensor w is missing");
}
static const field hemap_fields[] = {
    ARRAY(hemap_state, BLOCK, w, .rows = OF_VIEW(0), .cols = SIZE(hemap_state, dims),
          .optional = true),
    ARRAY(hemap_state, REALS, b, .rows = SIZE(hemap_state, dims), .optional = true),
    FIELD_AS(hemap_state, STRUCT, by, "", .of = &space_table),
};
static const table hemap_table = {sizeof(hemap_state), hemap_fields,
                                  FERRY_COUNT(hemap_fields), hemap_check, NULL};

/* ---- principal axes ---- */

/* X - 1 mean' = Y basis', Y'Y / n = diag(l). */
typedef struct side {
    const domain *d;
    const double *mean; /* cols */
    block basis, y;     /* cols x q, orthonormal columns; n x q */
    double *l;          /* q, descending */
    double average;     /* eigenvalue, over the columns that vary */
} side;

/* How many columns of basis diag(l) basis' are more than rounding. */
static double varying(const side *of)
{
    double most_of = 0, n = 0;

    for (int turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < of->basis.n; i++) {
            double variance = 0;
            for (int64_t j = 0; j < of->basis.k; j++)
                variance += of->l[j] * ROW(of->basis, i)[j] * ROW(of->basis, i)[j];
            if (turn == 0)
                most_of = fmax(most_of, variance);
            else
                n += variance > 1e-12 * most_of;
        }
    return n;
}

static side side_of(scope *s, const domain *d)
{
    const matrix x = d->view[0].x;
    const int64_t n = x.rows.n, smaller = n < x.cols ? n : x.cols;

    if (smaller > LARGEST)
        scope_fail(s, FERRY_ENEEDS,
                   "hemap can take %d rows or features; '%s' has %lld x %lld", (int)LARGEST,
                   d->name, (long long)n, (long long)x.cols);
    const pca a = pca_all(s, x);
    if (a.v.k == 0)
        scope_fail(s, FERRY_EDATA, "hemap: all features of '%s' are constant", d->name);
    side to = {.d = d, .mean = a.mean, .basis = a.v, .y = a.z, .l = a.value};
    for (int64_t j = 0; j < a.v.k; j++) {
        to.l[j] /= (double)n;
        to.average += to.l[j];
    }
    to.average /= fmax(varying(&to), 1);
    return to;
}

/* ---- C: what ties the two sets ---- */

/* g x q: means of the rows of each group (-1: none); count (g). */
static block group_means(scope *s, block y, const int32_t *group, int64_t g, double *count)
{
    const block mean = block_new(s, HERE(g), g, y.k);

    for (int64_t i = 0; i < y.n; i++) {
        if (group[i] < 0) continue;
        count[group[i]]++;
        for (int64_t j = 0; j < y.k; j++)
            ROW(mean, group[i])[j] += ROW(y, i)[j];
    }
    sums(s, y.rows, g, count);
    sums(s, y.rows, g * y.k, mean.at);
    for (int64_t c = 0; c < g; c++)
        for (int64_t j = 0; j < y.k && count[c] > 0; j++)
            ROW(mean, c)[j] /= count[c];
    return mean;
}

/* C <- M_T' diag(pi) M_S with the means of g groups as rows; how many groups both sides have. */
static int64_t cross_groups(scope *s, block t, const int32_t *gt, block y,
                            const int32_t *gs, int64_t g, small c)
{
    double *nt = NEW(s, double, g), *ns = NEW(s, double, g), all = 0;
    const block mt = group_means(s, t, gt, g, nt), ms = group_means(s, y, gs, g, ns);
    int64_t used = 0;

    for (int64_t i = 0; i < g; i++)
        if (nt[i] > 0 && ns[i] > 0) {
            all += nt[i];
            used++;
        }
    for (int64_t i = 0; i < g; i++)
        for (int64_t j = 0; j < t.k; j++)
            ROW(mt, i)[j] *= nt[i] > 0 && ns[i] > 0 ? nt[i] / all : 0;
    gram(s, mt, ms, c);
    return used;
}

/* C <- T_P'S_P / |P|. */
static void cross_pairs(scope *s, const problem *p, block t, block y, small c)
{
    const int64_t n = p->n_pairs;
    const block tp = block_new(s, HERE(n), n, t.k), sp = block_new(s, HERE(n), n, y.k);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < t.k; j++)
            ROW(tp, i)[j] = ROW(t, p->in_target[i])[j] / (double)n;
        memcpy(ROW(sp, i), ROW(y, p->in_source[i]), (size_t)y.k * sizeof(double));
    }
    gram(s, tp, sp, c);
}

/* Group of each row here by its quantile among the rows of all processes. */
static const int32_t *quantiles(scope *s, const domain *d, const labels *y, int64_t g)
{
    const double *num = replicate_items(s, d->rows, d->n, sizeof *num, y->num);
    const uint64_t *key = replicate_items(s, d->rows, d->n, sizeof *key, d->key);
    const int32_t *all = quantile_groups(s, d->rows.n, num, key, g);
    int32_t *here = NEW(s, int32_t, d->n);

    for (int64_t i = 0; i < d->n; i++)
        here[i] = all[d->rows.number ? d->rows.number[i] : d->rows.first + i];
    return here;
}

/* Of the labels y of target rows; *ties: pairs or groups that C comes from. Pairs win over groups: they say more.
 * Neither side gets more quantiles than it has labels; one common group has no direction after centring. */
static small cross_of(scope *s, const hemap_options *o, const problem *p, const side *from,
                      const side *to, const labels *y, int64_t *ties)
{
    const small c = small_new(s, to->y.k, from->y.k);
    const labels *v = &from->d->y;
    int64_t g = p->classes;

    *ties = p->n_pairs;
    if (p->n_pairs > 0) {
        cross_pairs(s, p, to->y, from->y, c);
        return c;
    }
    if (y->num) {
        const int64_t seen = (int64_t)sum(s, to->d->rows, (double)count_known(to->d->n, y));
        g = o->bins < seen ? o->bins : seen;
        if (g > from->d->labelled) g = from->d->labelled;
    }
    if (g == 0) return c;
    *ties = cross_groups(s, to->y, y->num ? quantiles(s, to->d, y, g) : y->cls, from->y,
                         y->num ? quantiles(s, from->d, v, g) : v->cls, g, c);
    if (*ties < 2) *ties = 0;
    return c;
}

/* ---- the space ---- */

/* The k largest eigenvalues of 1/2 [(4+b^2) K_T, 4b C; 4b C', (4+b^2) K_S] and the halves of their vectors. */
static void solve_eig(scope *s, small kt, small ks, small c, double beta, int64_t k,
                      double *value, small wt, small ws)
{
    const int64_t m = kt.rows, n = ks.rows, q = m + n, mark = scope_mark(s);
    const double own = (4 + beta * beta) / 2, between = 2 * beta;
    const small a = small_new(s, q, q);

    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++)
            AT(a, i, j) = own * AT(kt, i, j);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++)
            AT(a, m + i, m + j) = own * AT(ks, i, j);
        for (int64_t i = 0; i < m; i++)
            AT(a, i, m + j) = AT(a, m + j, i) = between * AT(c, i, j);
    }
    const double *w = eigh(s, a);
    for (int64_t j = 0; j < k; j++) {
        value[j] = w[q - 1 - j];
        for (int64_t i = 0; i < m; i++)
            AT(wt, i, j) = AT(a, i, q - 1 - j);
        for (int64_t i = 0; i < n; i++)
            AT(ws, i, j) = AT(a, m + i, q - 1 - j);
    }
    scope_release(s, mark);
}

/* diag(l) / l_1. */
static small scaled_covariance(scope *s, const side *of)
{
    const small k = small_new(s, of->y.k, of->y.k);

    for (int64_t i = 0; i < k.rows; i++)
        AT(k, i, i) = of->l[i] / of->l[0];
    return k;
}

typedef struct embedding {
    int64_t
        ties; /* pairs or groups that tie the two sets; 0: none, and nothing else is there */
    double *strength; /* dimensions: correlations (cca) or eigenvalues, descending */
    block zt, zs;     /* rows of both, as their domains have them */
    block w;          /* the target's map, columns x dimensions, and its constant */
    double *b;
} embedding;

/* Y W, columns to deviation want[] (0 where there is none); f: what each was multiplied by. Columns of y have mean 0,
 * so those of z have, and the root mean square is the deviation. */
static block project(scope *s, const side *of, small w, const double *want, double *f)
{
    const block z = block_new(s, of->y.rows, of->y.n, w.cols);

    bmul(s, of->y, w, z);
    for (int64_t j = 0; j < z.k; j++) {
        double square = 0;
        for (int64_t i = 0; i < z.n; i++)
            square += ROW(z, i)[j] * ROW(z, i)[j];
        f[j] = square;
    }
    sums(s, z.rows, z.k, f);
    for (int64_t j = 0; j < z.k; j++) {
        f[j] = f[j] > 0 ? want[j] / sqrt(f[j] / (double)z.rows.n) : 0;
        for (int64_t i = 0; i < z.n; i++)
            ROW(z, i)[j] *= f[j];
    }
    return z;
}

/* The same from prepared features: columns f_j basis W_j, constants - those . mean. */
static void set_map(scope *s, const side *of, small w, const double *f, embedding *e)
{
    const int64_t cols = of->basis.n;

    e->w = block_new(s, HERE(cols), cols, w.cols);
    e->b = NEW(s, double, w.cols);
    bmul(s, of->basis, w, e->w);
    for (int64_t i = 0; i < cols; i++)
        for (int64_t j = 0; j < w.cols; j++) {
            ROW(e->w, i)[j] *= f[j];
            e->b[j] -= ROW(e->w, i)[j] * of->mean[i];
        }
}

/* y: the target's labels that may be used. */
static embedding embed(scope *s, const hemap_options *o, const problem *p, const side *from,
                       const side *to, const labels *y)
{
    embedding e = {0};
    const small c = cross_of(s, o, p, from, to, y, &e.ties);
    const int64_t m = c.rows, n = c.cols, q = m < n ? m : n,
                  there = o->solver == CCA ? q : m + n,
                  most_k = o->k < there ? o->k : there;
    small wt = small_new(s, m, most_k), ws = small_new(s, n, most_k);
    double *want = NEW(s, double, most_k), *f = NEW(s, double, most_k);
    int64_t k = 0;

    if (e.ties == 0) return e;
    e.strength = NEW(s, double, most_k);
    if (o->solver == CCA) {
        const double r[] = {o->ridge * to->average, o->ridge * from->average};
        cca_solve(s, to->l, from->l, r, c, most_k, e.strength, wt, ws);
    } else { /* both sets to largest eigenvalue 1, and C with them */
        for (int64_t i = 0; i < m * n; i++)
            c.at[i] /= sqrt(to->l[0] * from->l[0]);
        solve_eig(s, scaled_covariance(s, to), scaled_covariance(s, from), c, o->beta,
                  most_k, e.strength, wt, ws);
    }
    for (; k < most_k && e.strength[k] > 0 && e.strength[k] >= 1e-10 * e.strength[0]; k++)
        want[k] = o->solver == CCA ? e.strength[k] : 1;
    wt.cols = ws.cols = k; /* the others are rounding error */
    if (k == 0) {          /* C is 0 */
        e.ties = 0;
        return e;
    }
    e.zs = project(s, from, ws, want, f);
    e.zt = project(s, to, wt, want, f);
    set_map(s, to, wt, f, &e);
    return e;
}

/* ---- the gate ---- */

/* What all folds share, and what was predicted for each labelled row by the fold that had not seen it. */
typedef struct trial {
    const hemap_options *o;
    const problem *p;
    const side *from, *to;
    const embedding *all; /* from all labels */
    bool translate;
    examples own;         /* the labelled target rows of all processes, */
    const int64_t *at;    /* ... their numbers among all rows, */
    const int32_t *fold;  /* ... and their folds; */
    const int32_t *mine;  /* of the target's rows here */
    block by_own, mapped; /* shares, labelled rows x classes */
} trial;

static int64_t number_of(layout rows, int64_t i)
{
    return rows.number ? rows.number[i] : rows.first + i;
}

/* The target's labelled rows on its own features, all of them here: they are few. */
static examples own_rows(scope *s, const domain *t, const int32_t *mine, trial *to)
{
    int64_t *rows = NEW(s, int64_t, t->n), *number = NEW(s, int64_t, t->n), n = 0;
    int32_t *fold = NEW(s, int32_t, t->n);

    for (int64_t i = 0; i < t->n; i++) {
        if (t->y.cls ? t->y.cls[i] < 0 : isnan(t->y.num[i])) continue;
        number[n] = number_of(t->rows, i);
        fold[n] = mine ? mine[i] : 0;
        rows[n++] = i;
    }
    const examples all = {.x = t->view[0].x, .y = t->y, .key = t->key};
    examples e = take_examples(s, &all, n, rows);
    const layout of = e.x.rows;
    e.y = replicate_labels(s, of, n, &e.y);
    e.key = replicate_items(s, of, n, sizeof *e.key, e.key);
    to->at = replicate_items(s, of, n, sizeof *number, number);
    to->fold = replicate_items(s, of, n, sizeof *fold, fold);
    e.x = replicate_rows(s, e.x);
    return e;
}

/* Rows of b, below each other as from[] has them, into rows at[] of `to`. */
static void put_rows(block b, int64_t n, const int64_t *at, block to)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(ROW(to, at[i]), ROW(b, i), (size_t)b.k * sizeof(double));
}

/* Learn without the labels of fold f, and predict its rows. They are hidden from everything: the tie of the sets, both
 * learners, and the translation of outputs. */
static void hold_out(scope *s, const trial *t, int32_t f)
{
    const domain *d = t->to->d;
    const int64_t k = t->p->classes, n_own = t->own.x.n;
    int64_t *in = NEW(s, int64_t, n_own), *out = NEW(s, int64_t, n_own), n = 0, m = 0;
    uint8_t *known = NEW(s, uint8_t, d->n);
    space_model by = {.gamma = 0};
    double line[2];

    for (int64_t i = 0; i < n_own; i++)
        if (t->fold[i] == f)
            out[m++] = i;
        else
            in[n++] = i;
    if (m == 0) return;
    const matrix x = take_rows(s, t->own.x, m, out, false);
    block own = block_new(s, x.rows, m, k);
    if (n > 0) {
        const examples e = take_examples(s, &t->own, n, in);
        by.own = learn_own(s, s, &t->o->space, &e);
        own = learned_shares(s, &by.own, x, k);
    }
    put_rows(own, m, out, t->by_own);
    put_rows(own, m, out, t->mapped); /* where nothing ties the sets */
    for (int64_t i = 0; i < d->n; i++)
        known[i] = t->mine[i] != f;
    const labels y = known_labels_of(s, d->n, &d->y, known);
    const embedding e = t->p->n_pairs > 0 ? *t->all /* labels do not tie the sets */
                                          : embed(s, t->o, t->p, t->from, t->to, &y);
    if (e.ties == 0) return;
    const placed from = placed_rows(s, t->from->d, e.zs);
    placed to = placed_rows(s, d, e.zt);
    to.y = replicate_labels(s, d->rows, d->n, &y);
    if (!learn_mapped(s, s, &t->o->space, &from, &to, t->translate, &by, line)) return;
    const block z = block_new(s, HERE(m), m, to.z.k);
    for (int64_t i = 0; i < m; i++)
        memcpy(ROW(z, i), ROW(to.z, t->at[out[i]]), (size_t)z.k * sizeof(double));
    put_rows(mapped_shares(s, &by, matrix_of(s, z), k), m, out, t->mapped);
}

/* Error (0 or 1) or squared error of labelled row i under gamma. */
static double loss_of(const trial *t, int64_t i, double gamma)
{
    const double *own = ROW(t->by_own, i), *mapped = ROW(t->mapped, i);
    int64_t best = 0;
    double top = -INFINITY;

    if (t->own.y.num) {
        const double r = (1 - gamma) * own[0] + gamma * mapped[0] - t->own.y.num[i];
        return r * r;
    }
    for (int64_t c = 0; c < t->p->classes; c++) {
        const double p = (1 - gamma) * own[c] + gamma * mapped[c];
        if (p > top) {
            top = p;
            best = c;
        }
    }
    return best != t->own.y.cls[i];
}

/* Gain of gamma over 0 in standard errors, 0 where there is none: mean / (s.d. / sqrt n) of the differences, one a row:
 * rows that are hard for both cancel. With all differences equal the gain is sure. */
static double gain_of(const trial *t, double gamma)
{
    const double n = (double)t->own.x.n;
    double all = 0, square = 0;

    for (int64_t i = 0; i < t->own.x.n; i++) {
        const double g = loss_of(t, i, 0) - loss_of(t, i, gamma);
        all += g;
        square += g * g;
    }
    const double mean = all / n, var = (square / n - mean * mean) / (n - 1);
    if (mean <= 0) return 0;
    return var > 0 ? mean / sqrt(var) : INFINITY;
}

/* The gamma of least loss, the smaller of equals, if it gains enough. */
static double decide(scope *s, const trial *t)
{
    double loss[GAMMAS] = {0};
    int best = 0;

    for (int g = 0; g < GAMMAS; g++) {
        for (int64_t i = 0; i < t->own.x.n; i++)
            loss[g] += loss_of(t, i, g / (GAMMAS - 1.0)) / (double)t->own.x.n;
        if (loss[g] < loss[best]) best = g;
    }
    report_reals(s, "gate_loss", GAMMAS, loss);
    const double gamma = best / (GAMMAS - 1.0);
    if (gain_of(t, gamma) > t->o->caution) return gamma;
    remark(s, "gamma = 0: nothing was taken from the source (no gain on the labelled "
              "target instances)");
    return 0;
}

/* One embedding, where labels tie the sets, and two learners a fold. Without two labels nothing can be
 * cross-validated. */
static double choose_gamma(scope *s, trial *t)
{
    const domain *d = t->to->d;
    const int64_t n = d->labelled, k = t->p->classes;
    const int folds = (int)(t->o->folds < n ? t->o->folds : n);
    int32_t *cls = NEW(s, int32_t, d->n);

    if (n < 2) return n == 0;
    for (int64_t i = 0; i < d->n; i++)
        cls[i] = d->y.cls ? d->y.cls[i] : isnan(d->y.num[i]) ? -1 : 0;
    t->mine = stratified_folds(s, d->rows, d->n, cls, d->key, folds);
    t->own = own_rows(s, d, t->mine, t);
    t->by_own = block_new(s, HERE(n), n, k);
    t->mapped = block_new(s, HERE(n), n, k);
    for (int f = 0; f < folds; f++) {
        const int64_t mark = scope_mark(s);
        hold_out(s, t, f);
        scope_release(s, mark);
        if (progress(s, "hemap", f + 1, folds + 1, NAN)) { /* undecided: no transfer */
            report_fit(s, f + 1, NAN, FERRY_STOP_FINISH);
            return 0;
        }
    }
    return decide(s, t);
}

/* ---- all of it ---- */

static void report_embedding(scope *s, const hemap_options *o, const problem *p,
                             const embedding *e, const placed *from, const placed *to)
{
    report_text(s, "tied_by",
                e->ties == 0       ? "nothing"
                : p->n_pairs > 0   ? "row pairs"
                : target(p)->y.num ? "quantiles"
                                   : "classes");
    report_real(s, "ties", (double)e->ties);
    if (e->ties == 0) return;
    report_real(s, "dimensions", (double)e->zt.k);
    report_reals(s, o->solver == CCA ? "correlations" : "eigenvalues", e->zt.k,
                 e->strength);
    report_places(s, from, to);
}

static void learn_both(scope *s, scope *keep, trial *t, const placed *from,
                       const placed *to, space_model *m)
{
    const domain *d = t->to->d;
    double line[2];

    if (t->all->ties == 0) {
        const char *why = "nothing ties the source to the target (no pairs, and no two "
                          "classes that both have); not used";
        report_text(s, "refused", why);
        warn(s, "%s", why);
    } else {
        m->gamma = d->labelled == 0   ? 1
                   : t->o->gamma >= 0 ? t->o->gamma
                                      : choose_gamma(s, t);
    }
    if (d->labelled > 0) {
        const examples e = own_rows(s, d, NULL, t);
        m->own = learn_own(s, keep, &t->o->space, &e);
    }
    if (m->gamma > 0 &&
        !learn_mapped(s, keep, &t->o->space, from, to, t->translate, m, line))
        m->gamma = 0;
    if (m->gamma > 0 && t->translate && d->y.num) report_reals(s, "translation", 2, line);
    report_real(s, "gamma", m->gamma);
}

/* Classes whose names mean different things do not tie the sets. */
static embedding embed_all(scope *s, const hemap_options *o, const problem *p,
                           const side *from, const side *to, bool translate)
{
    embedding none = {0};

    if (p->n_pairs == 0 && !to->d->y.num && (translate || !to->d->y.cls)) return none;
    return embed(s, o, p, from, to, &to->d->y);
}

static void hemap_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const hemap_options *o = options;
    const domain *source = &p->d[0], *t = target(p);
    hemap_state *m = state;

    if (source->rows.n == 0 || t->rows.n == 0)
        scope_fail(s, FERRY_ENEEDS, "hemap needs instances in source '%s' and target '%s'",
                   source->name, t->name);
    const side from = side_of(s, source), to = side_of(s, t);
    const block nothing = {.n = source->rows.n}, nowhere = {.n = t->rows.n};
    const placed v = placed_rows(s, source, nothing), y = placed_rows(s, t, nowhere);
    const bool translate =
        t->y.num ? o->translate != NO && t->labelled > 0
                 : o->translate == YES || (o->translate == AUTO && labels_differ(&v, &y));
    const embedding e = embed_all(s, o, p, &from, &to, translate);
    if (e.ties == 0 && p->goal == FERRY_EMBED)
        scope_fail(s, FERRY_ENEEDS,
                   "hemap: nothing ties the source to the target: no pairs, and no two "
                   "classes that both have");
    const placed zs = placed_rows(s, source, e.zs), zt = placed_rows(s, t, e.zt);
    report_embedding(s, o, p, &e, &zs, &zt);
    trial all = {
        .o = o, .p = p, .from = &from, .to = &to, .all = &e, .translate = translate};
    if (p->goal != FERRY_EMBED) learn_both(s, keep, &all, &zs, &zt, &m->by);
    m->dims = e.w.k;
    if (e.ties > 0) {
        m->w = block_copy(keep, e.w);
        m->b = COPY(keep, e.b, e.w.k);
    }
    if (progress(s, "hemap", 1, 1, NAN)) report_fit(s, 1, NAN, FERRY_STOP_FINISH);
}

static block hemap_embed(scope *s, const void *state, const domain *d)
{
    const hemap_state *m = state;
    const block z = block_new(s, d->rows, d->n, m->dims);

    if (!m->w.at) scope_fail(s, FERRY_EDATA, "hemap: the model has no space");
    mul(s, d->view[0].x, m->w, z);
    for (int64_t i = 0; i < z.n; i++)
        for (int64_t j = 0; j < z.k; j++)
            ROW(z, i)[j] += m->b[j];
    return z;
}

static void hemap_scores(scope *s, const void *state, const domain *d, block out)
{
    const hemap_state *m = state;
    const matrix none = {.m = NULL};
    const matrix z = m->by.gamma > 0 ? matrix_of(s, hemap_embed(s, state, d)) : none;

    space_scores(s, &m->by, d, z, out);
}

static void hemap_fits(scope *s, const problem *shape, const void *options)
{
    const hemap_options *o = options;
    const domain *from = &shape->d[0], *to = target(shape);

    if (shape->n_sources != 1)
        scope_fail(s, FERRY_ENEEDS, "hemap maps one source; this task has %d",
                   shape->n_sources);
    if (scope_ctx(s)->ranks && shape->paired)
        scope_fail(s, FERRY_ENEEDS,
                   "hemap: pairs tie rows of different ranks, which --engine mpi does not; "
                   "classes and quantiles run with it");
    if (!shape->paired && (from->labelled == 0 || to->labelled == 0))
        scope_fail(s, FERRY_ENEEDS,
                   "hemap needs something that ties source '%s' to target '%s': pairs, or "
                   "labels in both",
                   from->name, to->name);
    if (shape->goal != FERRY_EMBED && from->labelled == 0 && to->labelled == 0)
        scope_fail(s, FERRY_ENEEDS, "hemap needs labels in source '%s' or target '%s'",
                   from->name, to->name);
    space_fits(s, "hemap", &o->space, shape->goal);
}

const method method_hemap = {
    .name = "hemap",
    .summary = "one space for a source and a target without common features, and a gate",
    .reference =
        "Shi et al., Transfer Learning on Heterogeneous Feature Spaces via Spectral "
        "Transformation, ICDM 2010",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_EMBED,
    .needs = FERRY_NEED_SOURCE | FERRY_NEED_ONE_VIEW,
    .wants = {.as = VIEWS_APART, .domains = WANT_SOURCES | WANT_TARGET, .pairs = true},
    METHOD_OPTIONS(hemap_opts, hemap_options),
    .state = &hemap_table,
    .fits = hemap_fits,
    .fit = hemap_fit,
    .scores = hemap_scores,
    .embed = hemap_embed,
};
