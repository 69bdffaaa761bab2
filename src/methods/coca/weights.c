/* CoCA: how much views and graphs count (section 4.4.4).
 *
 * Views: every view is embedded by its own principal components, Phi_k. Links say of some
 * pairs of instances whether they belong together (C = 1) or apart (-1); the similarities
 * E_k = Phi_k Phi_k' of the linked pairs, mixed with weights w on the simplex, should come
 * near C (4.18). As published E_k is taken as it is, and then the view with the smallest
 * entries wins, since C is +-1: hence cosines and balanced links by default.
 *
 * Graphs: the text treats absent edges as cannot-links, which rewards any sparse graph. Here
 * the weight is the lift: how much more often than by chance an edge joins one class.
 *
 * Why it helps: a view of noise has cosines near 0 for must- and cannot-links alike, and
 * least squares on +-1 gives it no weight. The diagonal of C is left out: an instance is
 * always like itself. */
#include <math.h>
#include <string.h>

#include "learn/learn.h"
#include "methods/coca/coca.h"

/* ---- links ---- */

void ferry_i_coca_links_clear(coca_links *l)
{
    FERRY_FREE(l->instance, l->c);
    *l = (coca_links){0};
}

/* C is most x most, zero: no link. */
static ferry_status room_for(ferry_ctx *ctx, int64_t most, coca_links *l)
{
    l->instance = ferry_i_calloc(most, sizeof *l->instance);
    l->c = ferry_i_calloc(most * most, sizeof *l->c);
    return l->instance && l->c ? FERRY_OK : ferry_i_nomem(ctx);
}

/* Each link counts twice: C is symmetric. */
static void count_links(coca_links *l)
{
    for (int64_t e = 0; e < l->n * l->n; e++) {
        l->must += l->c[e] > 0;
        l->cannot += l->c[e] < 0;
    }
}

/* At most `most` of the labelled instances, drawn; C = 1 within a class, -1 between.
 * Classes with few labels may get no link at all when `most` is small: the draw is
 * uniform. */
ferry_status ferry_i_coca_links_labels(ferry_ctx *ctx, const ferry_domain *t, int64_t most,
                                       coca_links *l)
{
    ferry_status st = FERRY_OK;
    const int64_t m = t->labels ? t->labels->n : 0;
    int64_t *at = ferry_i_calloc(m, sizeof *at), n = 0;
    ferry_rng rng;

    *l = (coca_links){0};
    FERRY_HAVE(ctx, at);
    for (int64_t i = 0; i < m; i++)
        if (ferry_i_labels_has(t->labels, i)) at[n++] = i;
    ferry_i_rng_for(ctx, &rng, "coca links");
    if (n > most) ferry_i_rng_shuffle(&rng, n, at);
    l->n = n < most ? n : most;
    FERRY_TRY(room_for(ctx, l->n, l));
    memcpy(l->instance, at, (size_t)l->n * sizeof *at);
    for (int64_t i = 0; i < l->n; i++)
        for (int64_t j = 0; j < l->n; j++) {
            const bool same = t->labels->cls[at[i]] == t->labels->cls[at[j]];
            if (i != j) l->c[i * l->n + j] = same ? 1 : -1;
        }
    count_links(l);
done:
    ferry_i_free(at);
    return st;
}

/* Number of the linked instance, a new one if need be; -1: there are `most` already.
 * place[i] is the number plus 1, so that 0 from calloc means none. */
static int64_t place_of(coca_links *l, int64_t *place, int64_t instance, int64_t most)
{
    if (place[instance] == 0 && l->n < most) {
        l->instance[l->n++] = instance;
        place[instance] = l->n;
    }
    return place[instance] - 1;
}

/* Put the links of the file into C, whose rows have `most` entries. The last of two links
 * of the same pair counts. What does not fit `most` is counted and told. */
static ferry_status add_links(ferry_ctx *ctx, const ferry_domain *t, const ferry_data *data,
                              int64_t most, coca_links *l)
{
    ferry_status st = FERRY_OK;
    int64_t *place = ferry_i_calloc(ferry_i_ids_count(t->ids), sizeof *place), left = 0;

    FERRY_HAVE(ctx, place);
    for (int64_t e = 0; e < data->edges; e++) {
        const char *id[2] = {ferry_i_ids_at(data->nodes, data->from[e]),
                             ferry_i_ids_at(data->nodes, data->to[e])};
        const double w = data->weight ? data->weight[e] : 1;
        int64_t at[2];
        FERRY_NEED(ctx, w != 0, FERRY_EDATA,
                   "%s: pair %lld has 0, expected 1 (the same class) or -1 (another)",
                   data->path, (long long)e + 1);
        for (int s = 0; s < 2; s++) {
            at[s] = ferry_i_ids_find(t->ids, id[s]);
            FERRY_NEED(ctx, at[s] >= 0, FERRY_EDATA, "%s: '%s' is no instance of '%s'",
                       data->path, id[s], t->name);
        }
        const int64_t i = place_of(l, place, at[0], most);
        const int64_t j = place_of(l, place, at[1], most);
        if (i < 0 || j < 0) left++;
        if (i < 0 || j < 0 || i == j) continue;
        l->c[i * most + j] = l->c[j * most + i] = w > 0 ? 1 : -1;
    }
    if (left > 0)
        ferry_i_log(ctx, FERRY_WARN,
                    "coca: %lld of %lld pairs are left out: links = %lld instances",
                    (long long)left, (long long)data->edges, (long long)most);
done:
    ferry_i_free(place);
    return st;
}

/* A file in any format of graphs; its weights are the links. C is laid out for `most`
 * instances and packed to n afterwards, row by row from the front, which never overwrites
 * what is still to move. */
ferry_status ferry_i_coca_links_file(ferry_ctx *ctx, const ferry_domain *t,
                                     const char *path, int64_t most, coca_links *l)
{
    ferry_status st = FERRY_OK;
    ferry_data *data = NULL;

    *l = (coca_links){0};
    FERRY_TRY(ferry_i_read_as(ctx, path, NULL, FERRY_DATA_GRAPH, &data));
    FERRY_TRY(room_for(ctx, most, l));
    FERRY_TRY(add_links(ctx, t, data, most, l));
    for (int64_t i = 0; i < l->n; i++) /* rows of most entries become rows of n */
        memmove(l->c + i * l->n, l->c + i * most, (size_t)l->n * sizeof *l->c);
    count_links(l);
done:
    ferry_data_free(data);
    return st;
}

/* The links among n of l's instances, at[i] being their numbers there. */
static ferry_status links_among(ferry_ctx *ctx, const coca_links *l, int64_t n,
                                const int64_t *at, coca_links *out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(room_for(ctx, n, out));
    out->n = n;
    for (int64_t i = 0; i < n; i++) {
        out->instance[i] = l->instance[at[i]];
        for (int64_t j = 0; j < n; j++)
            out->c[i * n + j] = l->c[at[i] * l->n + at[j]];
    }
    count_links(out);
done:
    return st;
}

/* Drawn: in order, halves could be of different classes. */
ferry_status ferry_i_coca_links_halves(ferry_ctx *ctx, const coca_links *l, coca_links *a,
                                       coca_links *b)
{
    ferry_status st = FERRY_OK;
    const int64_t half = l->n / 2;
    int64_t *at = NULL;
    ferry_rng rng;

    FERRY_NEW(ctx, at, l->n);
    for (int64_t i = 0; i < l->n; i++)
        at[i] = i;
    ferry_i_rng_for(ctx, &rng, "coca halves");
    ferry_i_rng_shuffle(&rng, l->n, at);
    FERRY_TRY(links_among(ctx, l, half, at, a));
    FERRY_TRY(links_among(ctx, l, l->n - half, at + half, b));
done:
    ferry_i_free(at);
    return st;
}

/* ---- the quadratic program ---- */

/* Phi_k: view k by its own principal components, at most d. One view, a = b = 1, no graph:
 * H = X'X, so u_k are its principal axes. A large view goes by products, whatever the option
 * says: d axes of it are few. */
static ferry_status principal(ferry_ctx *ctx, const coca_weighing *o, int64_t k,
                              ferry_block **out)
{
    ferry_status st = FERRY_OK;
    embed_view *v = o->x[k];
    const double one = 1;
    const coca_problem c = {.m = v->c.x->rows,
                            .p = 1,
                            .x = &v,
                            .a = &one,
                            .b = 1,
                            .solver = v->cols > 1500 ? FERRY_EIGEN_OPERATOR : o->solver};
    const int64_t d = o->d < v->cols ? o->d : v->cols;
    double *values = NULL;
    ferry_block *u = NULL;

    FERRY_NEW(ctx, values, d);
    FERRY_TRY(ferry_i_block_new(ctx, v->cols, d, &u));
    FERRY_TRY(ferry_i_block_new(ctx, c.m, d, out));
    if (d > 0) FERRY_TRY(ferry_i_coca_solve(ctx, &c, d, values, u));
    if (d > 0) ferry_i_centred_mul(ctx, &v->c, u, *out); /* Phi_k = X_k u_k */
done:
    ferry_i_block_free(u);
    ferry_i_free(values);
    return st;
}

/* out (n x k, new) <- phi, which goes with the rows of x, of the linked instances, whichever rank has them. */
static ferry_status linked_rows(ferry_ctx *ctx, const coca_links *l, const ferry_matrix *x,
                                const ferry_block *phi, ferry_block **out)
{
    ferry_status st = FERRY_OK;
    int64_t first = 0;

    FERRY_TRY(ferry_i_first_row(ctx, x, &first));
    FERRY_TRY(ferry_i_block_new(ctx, l->n, phi->k, out));
    for (int64_t i = 0; i < l->n && phi->k > 0; i++) {
        const int64_t at = l->instance[i] - first;
        if (at >= 0 && at < phi->rows)
            memcpy(FERRY_ROW(*out, i), FERRY_ROW(phi, at), (size_t)phi->k * sizeof(double));
    }
    FERRY_TRY(ferry_i_sum_rows(ctx, x, l->n * phi->k, (*out)->data));
done:
    return st;
}

/* Of the linked instances alone. */
static ferry_status own_embedding(ferry_ctx *ctx, const coca_weighing *o, int64_t k,
                                  const coca_links *l, ferry_block **out)
{
    ferry_status st = FERRY_OK;
    ferry_block *phi = NULL;

    FERRY_TRY(principal(ctx, o, k, &phi));
    FERRY_TRY(linked_rows(ctx, l, o->x[k]->c.x, phi, out));
done:
    ferry_i_block_free(phi);
    return st;
}

/* ---- without links: which views have anything to do with another ---- */

/* |X|_F of a view whose columns are constant is rounding, not 0 (mean is of features before
 * the factor). */
static bool is_constant(const embed_view *v)
{
    double most = 0;

    for (int64_t j = 0; j < v->features; j++)
        most = fmax(most, fabs(v->mean[j]));
    return !(sqrt(v->norm2) > 1e-13 * v->factor * most * sqrt((double)v->rows));
}

/* Columns to length 1; they are orthogonal already. Those that are rounding beside the
 * largest become 0: what a constant column leaves is the same in every view that has one, and
 * at length 1 it would be a perfect correlation. */
static ferry_status unit_columns(ferry_ctx *ctx, const ferry_matrix *x, ferry_block *p)
{
    ferry_status st = FERRY_OK;
    double most = 0, *sum = NULL;

    FERRY_NEW(ctx, sum, p->k);
    for (int64_t j = 0; j < p->k; j++)
        for (int64_t i = 0; i < p->rows; i++)
            sum[j] += FERRY_ROW(p, i)[j] * FERRY_ROW(p, i)[j];
    FERRY_TRY(ferry_i_sum_rows(ctx, x, p->k, sum));
    for (int64_t j = 0; j < p->k; j++)
        most = fmax(most, sum[j]);
    for (int64_t j = 0; j < p->k; j++)
        for (int64_t i = 0; i < p->rows; i++)
            FERRY_ROW(p, i)[j] *= sum[j] > 1e-12 * most ? 1 / sqrt(sum[j]) : 0;
done:
    ferry_i_free(sum);
    return st;
}

/* The largest squared correlation between columns of A and of B. */
static ferry_status correlation2(ferry_ctx *ctx, const ferry_matrix *x,
                                 const ferry_block *a, const ferry_block *b, double *most)
{
    ferry_status st = FERRY_OK;
    double *sum = NULL;

    *most = 0;
    FERRY_NEW(ctx, sum, a->k * b->k);
    for (int64_t j = 0; j < a->k; j++)
        for (int64_t h = 0; h < b->k; h++)
            for (int64_t i = 0; i < a->rows; i++)
                sum[j * b->k + h] += FERRY_ROW(a, i)[j] * FERRY_ROW(b, i)[h];
    FERRY_TRY(ferry_i_sum_rows(ctx, x, a->k * b->k, sum));
    for (int64_t e = 0; e < a->k * b->k; e++)
        *most = fmax(*most, sum[e] * sum[e]);
done:
    ferry_i_free(sum);
    return st;
}

/* Below so many rows two views that do share something often stay below five, and what would
 * drop out is as likely to be of use. */
enum { ROWS_TO_DROP = 100 };

/* Of views that have nothing to do with each other sqrt(m) times a correlation of principal
 * components is near a standard normal number: above five (6 in ten million by chance for one
 * pair of components, of which two views have up to d^2) and the two views share something. A
 * view that shares nothing with any other is noise as far as anyone can tell without labels,
 * unless it has few rows: then nobody can tell. */
ferry_status ferry_i_coca_agree(ferry_ctx *ctx, const coca_weighing *o, double *w)
{
    ferry_status st = FERRY_OK;
    const int64_t p = o->p;
    ferry_block **phi = NULL;
    int64_t kept = 0;
    bool any = false;

    FERRY_NEW(ctx, phi, p);
    for (int64_t j = 0; j < p; j++) {
        w[j] = o->x[j]->rows < ROWS_TO_DROP;
        FERRY_TRY(principal(ctx, o, j, &phi[j]));
        if (is_constant(o->x[j])) phi[j]->k = 0;
        FERRY_TRY(unit_columns(ctx, o->x[j]->c.x, phi[j]));
    }
    for (int64_t j = 0; j < p; j++)
        for (int64_t h = 0; h < j; h++) {
            const ferry_matrix *x = o->x[j]->c.x;
            double r2 = 0;
            FERRY_TRY(correlation2(ctx, x, phi[j], phi[h], &r2));
            if (!((double)ferry_i_all_rows(x) * r2 > 25)) continue;
            w[j] = w[h] = 1;
            any = true;
        }
    for (int64_t j = 0; j < p; j++)
        kept += w[j] > 0;
    for (int64_t j = 0; j < p; j++)
        w[j] = any ? w[j] / (double)kept : 1 / (double)p;
done:
    for (int64_t j = 0; phi && j < p; j++)
        ferry_i_block_free(phi[j]);
    ferry_i_free(phi);
    return st;
}

/* ---- with links ---- */

ferry_status ferry_i_coca_nearest(ferry_ctx *ctx, const coca_links *l,
                                  const ferry_matrix *x, const ferry_block *phi,
                                  double *share)
{
    ferry_status st = FERRY_OK;
    ferry_block *linked = NULL;
    double right = 0, count = 0;

    FERRY_TRY(linked_rows(ctx, l, x, phi, &linked));
    for (int64_t i = 0; i < l->n; i++) {
        const double *a = FERRY_ROW(linked, i);
        double least = INFINITY;
        bool must = false;
        for (int64_t j = 0; j < l->n; j++) {
            const double *b = FERRY_ROW(linked, j);
            double far = 0;
            if (l->c[i * l->n + j] == 0) continue;
            for (int64_t e = 0; e < phi->k; e++)
                far += (a[e] - b[e]) * (a[e] - b[e]);
            if (!(far < least)) continue;
            least = far;
            must = l->c[i * l->n + j] > 0;
        }
        count += least < INFINITY;
        right += must;
    }
    *share = count > 0 ? right / count : 0;
done:
    ferry_i_block_free(linked);
    return st;
}

/* E = |C| o (Phi Phi'), of unit rows when cosine                                   (4.16)
 * O(n^2 d), of linked pairs only. */
static void similarity(const ferry_block *phi, const double *c, bool cosine, double *e)
{
    const int64_t n = phi->rows;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const double *a = FERRY_ROW(phi, i), *b = FERRY_ROW(phi, j);
            double ab = 0, aa = 0, bb = 0;
            e[i * n + j] = 0;
            if (c[i * n + j] == 0) continue;
            for (int64_t l = 0; l < phi->k; l++) {
                ab += a[l] * b[l];
                aa += a[l] * a[l];
                bb += b[l] * b[l];
            }
            if (cosine) ab = aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
            e[i * n + j] = ab;
        }
    }
}

/* How much a must-link and a cannot-link count: 1 each, or such that both kinds together
 * count the same and all as much as before. With ten classes there are nine times as many
 * cannot-links, and unbalanced they decide alone. */
typedef struct link_factors {
    double must, cannot;
} link_factors;

/* must n_must + cannot n_cannot = n_must + n_cannot, and both halves are equal. */
static link_factors factors_of(const coca_links *l, bool balanced)
{
    const double all = (double)(l->must + l->cannot);

    return (link_factors){balanced && l->must > 0 ? all / (2 * (double)l->must) : 1,
                          balanced && l->cannot > 0 ? all / (2 * (double)l->cannot) : 1};
}

/* Mean square 1 over the links, each counted by its factor. An all-zero E stays: that view
 * gets no weight from v = 0. */
static void to_unit_rms(const coca_links *l, link_factors f, double *e)
{
    double sum = 0, count = 0;

    for (int64_t i = 0; i < l->n * l->n; i++) {
        const double b = l->c[i] > 0 ? f.must : l->c[i] < 0 ? f.cannot : 0;
        sum += b * e[i] * e[i];
        count += b;
    }
    if (!(sum > 0)) return;
    for (int64_t i = 0; i < l->n * l->n; i++)
        e[i] *= sqrt(count / sum);
}

/* min |sum_k w_k E_k - C|^2 over the simplex is min w'Kw - 2v'w with
 *   K_ij = sum E_i o E_j,   v_i = sum C o E_i                                      (4.19)
 * The balance weighs each entry's square by its factor; entries without a link are 0 in C
 * and in E, so their factor does not matter. */
ferry_status ferry_i_coca_qp(ferry_ctx *ctx, const coca_links *l, int64_t p,
                             const ferry_block *const *phi, coca_norm norm, bool balanced,
                             ferry_small *k, double *v)
{
    ferry_status st = FERRY_OK;
    const link_factors f = factors_of(l, balanced);
    const int64_t n2 = l->n * l->n;
    const double *c = l->c;
    double *e = NULL;

    FERRY_NEW(ctx, e, p * n2);
    for (int64_t i = 0; i < p; i++) {
        similarity(phi[i], c, norm == COCA_COSINE, e + i * n2);
        if (norm == COCA_RMS) to_unit_rms(l, f, e + i * n2);
    }
    for (int64_t i = 0; i < p; i++) {
        const double *ei = e + i * n2;
        v[i] = 0;
        for (int64_t a = 0; a < n2; a++)
            v[i] += (c[a] > 0 ? f.must : f.cannot) * c[a] * ei[a];
        for (int64_t j = 0; j < p; j++) {
            const double *ej = e + j * n2;
            double sum = 0;
            for (int64_t a = 0; a < n2; a++)
                sum += (c[a] > 0 ? f.must : f.cannot) * ei[a] * ej[a];
            FERRY_AT(k, i, j) = sum;
        }
    }
done:
    ferry_i_free(e);
    return st;
}

/* The optimum is exact: the simplex problem is solved by supports (learn/learn.h) for a few
 * views. */
ferry_status ferry_i_coca_weigh(ferry_ctx *ctx, const coca_weighing *o, const coca_links *l,
                                double *w)
{
    ferry_status st = FERRY_OK;
    ferry_block **phi = NULL;
    double *v = NULL;
    ferry_small *k = NULL;

    FERRY_NEW(ctx, phi, o->p);
    FERRY_NEW(ctx, v, o->p);
    FERRY_TRY(ferry_i_small_new(ctx, o->p, o->p, &k));
    for (int64_t j = 0; j < o->p; j++)
        FERRY_TRY(own_embedding(ctx, o, j, l, &phi[j]));
    FERRY_TRY(ferry_i_coca_qp(ctx, l, o->p, (const ferry_block *const *)phi, o->norm,
                              o->balanced, k, v));
    FERRY_TRY(ferry_i_simplex_qp(ctx, k, v, w, NULL));
done:
    for (int64_t j = 0; phi && j < o->p; j++)
        ferry_i_block_free(phi[j]);
    FERRY_FREE(phi, v);
    ferry_i_small_free(k);
    return st;
}

/* ---- graphs ---- */

/* chance = sum_c n_c (n_c - 1) / (n (n - 1)): share of pairs within a class among the
 * labelled. Weighted edges count by weight. 0 without an edge between labelled ends. */
double ferry_i_coca_lift(const ferry_matrix *graph, int64_t k, const int32_t *cls,
                         int64_t *count)
{
    double same = 0, all = 0, pairs = 0, n = 0;

    for (int64_t i = 0; i < graph->rows; i++)
        for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++) {
            const int32_t a = cls[i], b = cls[graph->index[e]];
            if (a < 0 || b < 0) continue;
            all += graph->value[e];
            same += a == b ? graph->value[e] : 0;
        }
    memset(count, 0, (size_t)k * sizeof *count);
    for (int64_t i = 0; i < graph->rows; i++) {
        if (cls[i] < 0) continue;
        count[cls[i]]++;
        n++;
    }
    for (int64_t c = 0; c < k; c++)
        pairs += (double)count[c] * ((double)count[c] - 1);
    if (!(all > 0) || n < 2) return 0;
    return fmax(0, same / all - pairs / (n * (n - 1)));
}
