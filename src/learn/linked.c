/* How much views and graphs count (linked.h).
 *
 * Views: every view is embedded by its own principal components, Phi_k. Links say of some pairs of instances whether
 * they belong together (C = 1) or apart (-1); the similarities E_k = Phi_k Phi_k' of the linked pairs, mixed with
 * weights w on the simplex, should come near C (4.18). As published E_k is taken as it is, and then the view with the
 * smallest entries wins, since C is +-1: hence cosines and balanced links in coca. A view of noise has cosines near 0
 * for must- and cannot-links alike, and least squares on +-1 gives it no weight. The diagonal of C is left out: an
 * instance is always like itself.
 *
 * Graphs: the text treats absent edges as cannot-links, which rewards any sparse graph. Here the weight is the lift: how
 * much more often than by chance an edge joins one class. */
#include "learn/linked.h"

#include <math.h>
#include <string.h>

#include "learn/consensus.h"
#include "learn/learner.h"
#include "learn/simplex_qp.h"

/* ---- links ---- */

static links links_new(scope *s, int64_t n)
{
    return (links){.n = n, .row = NEW(s, int64_t, n), .c = NEW(s, double, n *n)};
}

/* Each link counts twice: C is symmetric. */
static void count_links(links *l)
{
    for (int64_t e = 0; e < l->n * l->n; e++) {
        l->must += l->c[e] > 0;
        l->cannot += l->c[e] < 0;
    }
}

/* The first `most` of the labelled rows by key; C = 1 within a class, -1 between. */
links links_of_labels(scope *s, const domain *d, int64_t most)
{
    const int32_t *cls = replicate_items(s, d->rows, d->n, sizeof *d->known, d->known);
    const uint64_t *key = replicate_items(s, d->rows, d->n, sizeof *d->key, d->key);
    int64_t *rows = rows_by_key(s, d->rows.n, key), n = 0;

    for (int64_t i = 0; i < d->rows.n; i++)
        if (cls[rows[i]] >= 0) rows[n++] = rows[i];
    links l = links_new(s, n < most ? n : most);
    for (int64_t i = 0; i < l.n; i++)
        l.row[i] = rows[i];
    for (int64_t i = 0; i < l.n; i++)
        for (int64_t j = 0; j < l.n; j++)
            if (i != j) l.c[i * l.n + j] = cls[l.row[i]] == cls[l.row[j]] ? 1 : -1;
    count_links(&l);
    return l;
}

/* Number of a linked instance, a new one if need be; -1: there are `most` already. number[i] is it plus 1. */
static int64_t number_of(int64_t *number, int64_t row, int64_t most, links *l)
{
    if (number[row] == 0 && l->n < most) {
        l->row[l->n++] = row;
        number[row] = l->n;
    }
    return number[row] - 1;
}

/* The last of two links of the same pair counts. What does not fit `most` is counted and reported. */
links links_of_pairs(scope *s, const domain *d, int64_t n, const linked_pair *p,
                     int64_t most)
{
    int64_t *number = NEW(s, int64_t, d->rows.n), left = 0;
    links l = {.row = NEW(s, int64_t, most)};
    double *c = NEW(s, double, most *most);

    for (int64_t e = 0; e < n; e++) {
        const int64_t i = number_of(number, p[e].a, most, &l),
                      j = number_of(number, p[e].b, most, &l);
        left += i < 0 || j < 0;
        if (i < 0 || j < 0 || i == j) continue;
        c[i * most + j] = c[j * most + i] = p[e].w > 0 ? 1 : -1;
    }
    if (left > 0)
        ferry_i_log(scope_ctx(s), FERRY_WARN,
                    "%s: %lld of %lld pairs are left out: links = %lld instances",
                    scope_ctx(s)->fitting, (long long)left, (long long)n, (long long)most);
    l.c = NEW(s, double, l.n *l.n);
    for (int64_t i = 0; i < l.n; i++)
        memcpy(l.c + i * l.n, c + i * most, (size_t)l.n * sizeof *c);
    count_links(&l);
    return l;
}

/* The links among n of l's instances, at[i] being their numbers there. */
static links links_among(scope *s, const links *l, int64_t n, const int64_t *at)
{
    links to = links_new(s, n);

    for (int64_t i = 0; i < n; i++) {
        to.row[i] = l->row[at[i]];
        for (int64_t j = 0; j < n; j++)
            to.c[i * n + j] = l->c[at[i] * l->n + at[j]];
    }
    count_links(&to);
    return to;
}

/* Drawn: those of a file may stand class after class. */
void links_halves(scope *s, const links *l, links *a, links *b)
{
    int64_t *at = NEW(s, int64_t, l->n);

    for (int64_t i = 0; i < l->n; i++)
        at[i] = i;
    shuffle(scope_rng(s, "coca halves"), l->n, at);
    *a = links_among(s, l, l->n / 2, at);
    *b = links_among(s, l, l->n - l->n / 2, at + l->n / 2);
}

/* ---- principal components of one view ---- */

/* Phi_k = X_k u_k, at most d: one view, a = b = 1, no graph: H = X'X. */
static block principal(scope *s, const scaled_view *v, int64_t d)
{
    const double one = 1;
    const consensus c = {.p = 1, .x = v, .a = &one, .b = 1};
    const int64_t k = d < v->x.cols ? d : v->x.cols;
    const block phi = block_new(s, v->x.rows, v->x.n, k);

    if (k == 0) return phi;
    double *values = NEW(s, double, k);
    centred_mul(s, v, consensus_solve(s, &c, k, values, NULL), phi);
    return phi;
}

/* phi of the linked instances, whichever process has them. */
static block linked_rows(scope *s, const links *l, block phi)
{
    const block to = block_new(s, HERE(l->n), l->n, phi.k);

    for (int64_t i = 0; i < l->n && phi.k > 0; i++) {
        const int64_t at = l->row[i] - phi.rows.first;
        if (at >= 0 && at < phi.n)
            memcpy(ROW(to, i), ROW(phi, at), (size_t)phi.k * sizeof(double));
    }
    sums(s, phi.rows, l->n * phi.k, to.at);
    return to;
}

/* ---- without links: which views have anything to do with another ---- */

/* |X|_F of a view whose columns are constant is rounding, not 0 (mean is of features before the factor). */
static bool is_constant(const scaled_view *v)
{
    double most = 0;

    for (int64_t j = 0; j < v->features; j++)
        most = fmax(most, fabs(v->mean[j]));
    return !(sqrt(v->norm2) > 1e-13 * v->factor * most * sqrt((double)v->rows));
}

/* Columns to length 1; they are orthogonal already. Those that are rounding beside the largest become 0: what a constant
 * column leaves is the same in every view that has one, and at length 1 it would be a perfect correlation. */
static void unit_columns(scope *s, block p)
{
    double largest = 0, *all = NEW(s, double, p.k);

    for (int64_t i = 0; i < p.n; i++)
        for (int64_t j = 0; j < p.k; j++)
            all[j] += ROW(p, i)[j] * ROW(p, i)[j];
    sums(s, p.rows, p.k, all);
    for (int64_t j = 0; j < p.k; j++)
        largest = fmax(largest, all[j]);
    for (int64_t i = 0; i < p.n; i++)
        for (int64_t j = 0; j < p.k; j++)
            ROW(p, i)[j] *= all[j] > 1e-12 * largest ? 1 / sqrt(all[j]) : 0;
}

/* The largest squared correlation between columns of A and of B. */
static double correlation2(scope *s, block a, block b)
{
    const small r = small_new(s, a.k, b.k);
    double largest = 0;

    if (a.k == 0 || b.k == 0) return 0;
    gram(s, a, b, r);
    for (int64_t e = 0; e < a.k * b.k; e++)
        largest = fmax(largest, r.at[e] * r.at[e]);
    return largest;
}

/* Below so many rows two views that do share something often stay below five, and what would drop out is as likely to be
 * of use. */
enum { ROWS_TO_DROP = 100 };

/* Of views that have nothing to do with each other sqrt(m) times a correlation of principal components is near a
 * standard normal number: above five (6 in ten million by chance for one pair of components, of which two views have up
 * to d^2) and the two views share something. A view that shares nothing with any other is noise as far as anyone can
 * tell without labels, unless it has few rows: then nobody can tell. */
double *views_that_agree(scope *s, int64_t p, const scaled_view *x, int64_t d)
{
    double *w = NEW(s, double, p);
    block *phi = NEW(s, block, p);
    int64_t kept = 0;
    bool any = false;

    for (int64_t j = 0; j < p; j++) {
        w[j] = x[j].rows < ROWS_TO_DROP;
        phi[j] = principal(s, &x[j], d);
        if (is_constant(&x[j])) phi[j].k = 0;
        unit_columns(s, phi[j]);
    }
    for (int64_t j = 0; j < p; j++)
        for (int64_t h = 0; h < j; h++) {
            if (!((double)x[j].x.rows.n * correlation2(s, phi[j], phi[h]) > 25)) continue;
            w[j] = w[h] = 1;
            any = true;
        }
    for (int64_t j = 0; j < p; j++)
        kept += w[j] > 0;
    for (int64_t j = 0; j < p; j++)
        w[j] = any ? w[j] / (double)kept : 1 / (double)p;
    return w;
}

/* ---- with links ---- */

double nearest_is_linked(scope *s, const links *l, block phi)
{
    const block z = linked_rows(s, l, phi);
    double right = 0, count = 0;

    for (int64_t i = 0; i < l->n; i++) {
        double least = INFINITY;
        bool must = false;
        for (int64_t j = 0; j < l->n; j++) {
            double far = 0;
            if (l->c[i * l->n + j] == 0) continue;
            for (int64_t e = 0; e < z.k; e++) {
                const double gap = ROW(z, i)[e] - ROW(z, j)[e];
                far += gap * gap;
            }
            if (!(far < least)) continue;
            least = far;
            must = l->c[i * l->n + j] > 0;
        }
        count += least < INFINITY;
        right += must;
    }
    return count > 0 ? right / count : 0;
}

/* e <- |C| o (Phi Phi'), of unit rows when cosine                                   (4.16) */
static void similarity(block phi, const double *c, bool cosine, double *e)
{
    const int64_t n = phi.n;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *a = ROW(phi, i), *b = ROW(phi, j);
            double ab = 0, aa = 0, bb = 0;
            if (c[i * n + j] == 0) continue;
            for (int64_t l = 0; l < phi.k; l++) {
                ab += a[l] * b[l];
                aa += a[l] * a[l];
                bb += b[l] * b[l];
            }
            if (cosine) ab = aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
            e[i * n + j] = ab;
        }
}

/* min |sum_k w_k E_k - C|^2 over the simplex is min w'Kw - 2v'w with
 *   K_ij = sum E_i o E_j,   v_i = sum C o E_i                                      (4.19)
 * Balanced, a must-link and a cannot-link count such that both kinds together count the same and all as much as before:
 * with ten classes there are nine times as many cannot-links, and unbalanced they decide alone. Entries without a link
 * are 0 in C and in E, so their factor does not matter. */
small links_qp(scope *s, const links *l, int64_t p, const block *phi, view_norm norm,
               bool balanced, double *v)
{
    const int64_t n2 = l->n * l->n;
    const double all = (double)(l->must + l->cannot),
                 must = balanced && l->must > 0 ? all / (2 * (double)l->must) : 1,
                 cannot = balanced && l->cannot > 0 ? all / (2 * (double)l->cannot) : 1;
    const small k = small_new(s, p, p);
    double *e = NEW(s, double, p *n2);

    for (int64_t i = 0; i < p; i++)
        similarity(phi[i], l->c, norm == NORM_COSINE, e + i * n2);
    for (int64_t i = 0; i < p; i++) {
        v[i] = 0;
        for (int64_t a = 0; a < n2; a++)
            v[i] += (l->c[a] > 0 ? must : cannot) * l->c[a] * e[i * n2 + a];
        for (int64_t j = 0; j < p; j++)
            for (int64_t a = 0; a < n2; a++)
                AT(k, i, j) +=
                    (l->c[a] > 0 ? must : cannot) * e[i * n2 + a] * e[j * n2 + a];
    }
    return k;
}

/* The optimum is exact: the simplex problem is solved by supports (learn/learn.h) for a few views. */
double *weigh_views(scope *s, int64_t p, const scaled_view *x, int64_t d, const links *l,
                    view_norm norm, bool balanced)
{
    block *phi = NEW(s, block, p);
    double *v = NEW(s, double, p), *w = NEW(s, double, p);

    for (int64_t j = 0; j < p; j++)
        phi[j] = linked_rows(s, l, principal(s, &x[j], d));
    (void)simplex_qp(s, links_qp(s, l, p, phi, norm, balanced, v), v, w);
    return w;
}

/* ---- graphs ---- */

/* chance = sum_c n_c (n_c - 1) / (n (n - 1)): share of pairs within a class among the labelled. Weighted edges count by
 * weight. 0 without an edge between labelled ends. cls: of all rows. */
static double lift_of(scope *s, matrix a, int64_t classes, const int32_t *cls)
{
    double edges[2] = {0, 0}, pairs = 0, n = 0, *count = NEW(s, double, classes);

    for (int64_t i = 0; i < a.n; i++) {
        const ferry_row r = row_at(a, i);
        const int32_t mine = cls[a.rows.first + i];
        for (int64_t e = 0; mine >= 0 && e < r.n; e++) {
            const int32_t other = cls[r.index[e]];
            if (other < 0) continue;
            edges[0] += r.value[e];
            edges[1] += mine == other ? r.value[e] : 0;
        }
    }
    sums(s, a.rows, 2, edges);
    for (int64_t i = 0; i < a.rows.n; i++) {
        if (cls[i] < 0) continue;
        count[cls[i]]++;
        n++;
    }
    for (int64_t c = 0; c < classes; c++)
        pairs += count[c] * (count[c] - 1);
    if (!(edges[0] > 0) || n < 2) return 0;
    return fmax(0, edges[1] / edges[0] - pairs / (n * (n - 1)));
}

double *weigh_graphs(scope *s, const domain *d, int64_t classes, bool lift)
{
    const int32_t *cls = replicate_items(s, d->rows, d->n, sizeof *d->known, d->known);
    double *w = NEW(s, double, d->n_graphs), all = 0;

    for (int g = 0; lift && d->labelled > 0 && g < d->n_graphs; g++)
        all += w[g] = lift_of(s, d->graph[g].a, classes, cls);
    for (int g = 0; g < d->n_graphs; g++)
        w[g] = all > 0 ? w[g] / all : 1 / (double)d->n_graphs;
    return w;
}

/* E_t of the linked instances: n x n of 1 and -1, the diagonal 0. */
static double *edges_among(scope *s, const links *l, matrix a)
{
    double *e = NEW(s, double, l->n * l->n);
    int64_t *place = NEW(s, int64_t, a.rows.n);

    for (int64_t i = 0; i < l->n; i++)
        place[l->row[i]] = i + 1;
    for (int64_t i = 0; i < a.n; i++) {
        const int64_t row = a.rows.number ? a.rows.number[i] : a.rows.first + i,
                      at = place[row] - 1;
        const ferry_row r = row_at(a, i);
        for (int64_t k = 0; at >= 0 && k < r.n; k++)
            if (place[r.index[k]] > 0 && r.value[k] != 0)
                e[at * l->n + place[r.index[k]] - 1] = 1;
    }
    sums(s, a.rows, l->n * l->n, e);
    for (int64_t i = 0; i < l->n * l->n; i++)
        e[i] = i / l->n == i % l->n ? 0 : e[i] > 0 ? 1 : -1;
    return e;
}

double *weigh_graphs_by_links(scope *s, const domain *d, const links *l)
{
    const int q = d->n_graphs;
    const small k = small_new(s, q, q);
    double **e = NEW(s, double *, q), *v = NEW(s, double, q), *w = NEW(s, double, q);

    for (int g = 0; g < q; g++)
        e[g] = edges_among(s, l, d->graph[g].a);
    for (int64_t i = 0; i < l->n * l->n; i++)
        for (int g = 0; l->c[i] != 0 && g < q; g++) {
            v[g] += l->c[i] * e[g][i];
            for (int h = 0; h < q; h++)
                AT(k, g, h) += e[g][i] * e[h][i];
        }
    simplex_qp(s, k, v, w);
    return w;
}
