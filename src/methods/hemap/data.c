/* HeMap's data: one view of the source and of the target, prepared (src/prepare); labels and
 * pairs by row; principal axes.
 *
 * A view that is stored sparse is not centred by prepare. That changes nothing here: the
 * axes take off the mean themselves, and distances and learners with a free constant do not
 * see a shift.
 *
 * Everything here is made once a fit. Labels, classes and features are borrowed from
 * `prepared`; pairs, places of labels and axes belong to hemap_data. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/hemap/hemap.h"

/* An eigenproblem of this size takes half a gigabyte and minutes. */
enum { LARGEST = 8000 }; /* most rows or features (the smaller) of an eigenproblem */

/* Whether some row has class c. */
static bool occurs(int64_t n, const int32_t *cls, int32_t c)
{
    for (int64_t i = 0; i < n; i++)
        if (cls[i] == c) return true;
    return false;
}

/* The sets differ when the target has a class that the source does not. (A class that only
 * the source shows may be one of which no target label is visible.) */
static bool sets_differ(const hemap_data *d)
{
    for (int32_t c = 0; c < d->k; c++)
        if (occurs(d->nt, d->yc, c) && !occurs(d->ns, d->vc, c)) return true;
    return false;
}

/* Which target rows are labelled, and whether source labels have to be translated.
 * In mode paper auto translates labels: the published method knows nothing of equal names.
 * Numbers are translated whenever there is a target label to fit the line to. */
static ferry_status read_labels(ferry_ctx *ctx, hemap_data *d)
{
    ferry_status st = FERRY_OK;
    const int translate = d->o->translate;
    int64_t known = 0;

    if (d->yn)
        d->differ = translate != NO && d->n_labelled > 0;
    else
        d->differ = translate == YES ||
                    (translate == AUTO && (d->o->mode != MODE_FERRY || sets_differ(d)));
    FERRY_NEW(ctx, d->labelled, d->n_labelled);
    for (int64_t i = 0; i < d->nt; i++)
        if (d->yn ? !isnan(d->yn[i]) : d->yc[i] >= 0) d->labelled[known++] = i;
done:
    return st;
}

/* Row of an instance by its id, -1 when it has no features. Rows are in the order of the
 * domain's instances. A binary search: instances ascend. The id is looked up in the whole
 * domain first, since pairs name instances, not rows. */
static int64_t row_of(const ferry_rows *r, const char *id)
{
    const int64_t at = ferry_i_ids_find(r->domain->ids, id);
    int64_t lo = 0, hi = r->n;

    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (r->instance[mid] < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return at >= 0 && lo < r->n && r->instance[lo] == at ? lo : -1;
}

/* The pairs of the task file by row. They may be given with the target or the source on the
 * left; those of which either side has no features are passed over. An error where pairs
 * are of other domains, or where none is left: to go on without them would be another
 * method than the one asked for. */
static ferry_status read_pairs(ferry_ctx *ctx, const ferry_rows *t, const ferry_rows *s,
                               hemap_data *d)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = t->domain, *source = s->domain;
    const ferry_pairs *p = target->pairs ? target->pairs : source->pairs;
    const ferry_domain *left = source, *right = target;

    if (!p) goto done;
    if (p->left_domain && strcmp(p->left_domain, target->name) == 0) {
        left = target;
        right = source;
    }
    FERRY_NEED(ctx,
               !p->left_domain || (strcmp(p->left_domain, left->name) == 0 &&
                                   strcmp(p->right_domain, right->name) == 0),
               FERRY_ENEEDS,
               "hemap needs pairs of source '%s' and target '%s'; these are of '%s' and "
               "'%s'",
               source->name, target->name, p->left_domain, p->right_domain);
    FERRY_NEW(ctx, d->pt, p->n);
    FERRY_NEW(ctx, d->ps, p->n);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t l = row_of(left == target ? t : s, p->left[i]);
        const int64_t r = row_of(left == target ? s : t, p->right[i]);
        if (l < 0 || r < 0) continue;
        d->pt[d->n_pairs] = left == target ? l : r;
        d->ps[d->n_pairs++] = left == target ? r : l;
    }
    FERRY_NEED(ctx, d->n_pairs > 0, FERRY_ENEEDS,
               "hemap: none of the %lld pairs has features in both source '%s' and target "
               "'%s'",
               (long long)p->n, source->name, target->name);
done:
    return st;
}

/* Eigenpairs of (X - 1 mean')'(X - 1 mean') / n on the features' side: cov is overwritten
 * by the vectors. w ascends; O(N d^2 + d^3). */
static ferry_status by_features(ferry_ctx *ctx, const ferry_matrix *x, const double *mean,
                                ferry_small **vectors, double *w)
{
    const int64_t d = x->cols;

    FERRY_PASS(ferry_i_small_new(ctx, d, d, vectors));
    FERRY_PASS(ferry_e(ctx)->xtx(ctx, x, *vectors));
    for (int64_t j = 0; j < d; j++)
        for (int64_t i = 0; i < d; i++)
            FERRY_AT(*vectors, i, j) =
                FERRY_AT(*vectors, i, j) / (double)ferry_i_all_rows(x) - mean[i] * mean[j];
    return ferry_e(ctx)->eigh(ctx, *vectors, w);
}

/* The same on the rows' side: of H X X' H / n, H the centring matrix. (X X' and X'X have
 * the same eigenvalues but for zeros, so the smaller of the two serves.) O(N^2 d + N^3). */
static ferry_status by_rows(ferry_ctx *ctx, const ferry_matrix *x, ferry_small **vectors,
                            double *w)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->rows;
    double *mean = ferry_i_calloc(n, sizeof *mean), all = 0;

    FERRY_HAVE(ctx, mean);
    FERRY_TRY(ferry_i_small_new(ctx, n, n, vectors));
    ferry_e(ctx)->xxt(ctx, x, *vectors);
    /* H K H by means of columns: K_ij - mean_i - mean_j + mean of all; K is symmetric. */
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++)
            mean[j] += FERRY_AT(*vectors, i, j) / (double)n;
        all += mean[j] / (double)n;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(*vectors, i, j) =
                (FERRY_AT(*vectors, i, j) - mean[i] - mean[j] + all) / (double)n;
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, *vectors, w));
done:
    ferry_i_free(mean);
    return st;
}

/* basis <- the axes, from eigenvectors of either side. The q largest come last in
 * `vectors`, and stand first in the basis. */
static ferry_status set_basis(ferry_ctx *ctx, const ferry_matrix *x, bool rows,
                              const ferry_small *vectors, hemap_side *s, int64_t q)
{
    ferry_status st = FERRY_OK;
    const int64_t n = vectors->rows;
    ferry_block *u = NULL;
    double *sums = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, n, q, &u));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < q; j++)
            FERRY_ROW(u, i)[j] = FERRY_AT(vectors, i, n - 1 - j);
    if (!rows) {
        FERRY_MOVE(s->basis, u);
        goto done;
    }
    /* X_c'u / sqrt(n l); X_c' u = X'u - mean (1'u). */
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, q, &s->basis));
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, x, u, 0, s->basis));
    FERRY_NEW(ctx, sums, q);
    ferry_e(ctx)->bsums(ctx, u, FERRY_COLS, 1, sums);
    for (int64_t i = 0; i < x->cols; i++)
        for (int64_t j = 0; j < q; j++)
            FERRY_ROW(s->basis, i)
    [j] = (FERRY_ROW(s->basis, i)[j] - s->mean[i] * sums[j]) /
          sqrt((double)x->rows * s->l[j]);
done:
    FERRY_FREE(sums, u);
    return st;
}

/* y <- (X - 1 mean') basis. The centring is a shift of the product, mean'basis: X itself
 * may be sparse and stays so. */
static ferry_status set_rows(ferry_ctx *ctx, const ferry_matrix *x, hemap_side *s)
{
    ferry_status st = FERRY_OK;
    const int64_t q = s->basis->k;
    double *shift = ferry_i_calloc(q, sizeof *shift);

    FERRY_HAVE(ctx, shift);
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, q, &s->y));
    ferry_e(ctx)->mul(ctx, 1, x, s->basis, 0, s->y);
    for (int64_t i = 0; i < x->cols; i++)
        for (int64_t j = 0; j < q; j++)
            shift[j] += s->mean[i] * FERRY_ROW(s->basis, i)[j];
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < q; j++)
            FERRY_ROW(s->y, i)[j] -= shift[j];
done:
    ferry_i_free(shift);
    return st;
}

/* All of it, on the smaller side. Axes whose variance is rounding error are left out, so
 * that what follows may divide by it. On the rows' side the rows of all ranks, which are few,
 * are brought together. `average` is the mean over all features, those
 * without variance included: ridge is a share of it, and so does not depend on how many
 * axes are left. */
static ferry_status axes(ferry_ctx *ctx, const ferry_matrix *x, const char *name,
                         hemap_side *s)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_all_rows(x);
    const bool rows = x->cols > n;
    const int64_t size = rows ? n : x->cols;
    ferry_matrix *all = NULL;
    ferry_small *vectors = NULL;
    double *w = ferry_i_calloc(size, sizeof *w);
    int64_t q = 0;

    FERRY_NEED(ctx, size <= LARGEST, FERRY_ENEEDS,
               "hemap can take %d rows or features; '%s' has %lld x %lld", LARGEST, name,
               (long long)n, (long long)x->cols);
    FERRY_NEW(ctx, s->mean, x->cols);
    FERRY_NEW(ctx, s->l, size);
    FERRY_HAVE(ctx, w);
    FERRY_TRY(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, s->mean));
    for (int64_t j = 0; j < x->cols; j++)
        s->mean[j] /= (double)n;
    if (rows && x->whole) FERRY_TRY(ferry_i_matrix_collect(ctx, x, &all));
    FERRY_TRY(rows ? by_rows(ctx, all ? all : x, &vectors, w)
                   : by_features(ctx, x, s->mean, &vectors, w));
    for (int64_t j = 0; j < size; j++) {
        const double l = w[size - 1 - j];
        s->average += fmax(l, 0) / (double)x->cols;
        if (l > 0 && l >= 1e-12 * w[size - 1]) s->l[q++] = l;
    }
    FERRY_NEED(ctx, q > 0, FERRY_EDATA, "hemap: all features of '%s' are constant", name);
    FERRY_TRY(set_basis(ctx, all ? all : x, rows, vectors, s, q));
    FERRY_TRY(set_rows(ctx, x, s));
done:
    ferry_i_matrix_free(all);
    FERRY_FREE(vectors, w);
    return st;
}

/* Fields that were never made are NULL. */
static void side_clear(hemap_side *s)
{
    FERRY_FREE(s->mean, s->l, s->basis, s->y);
}

/* The labels of all ranks' rows in place of those here, and how the rows are numbered. */
static ferry_status collect_labels(ferry_ctx *ctx, hemap_data *d)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_first_row(ctx, d->t, &d->first_t));
    FERRY_TRY(ferry_i_first_row(ctx, d->s, &d->first_s));
    if (!ferry_i_ranks_split(ctx)) goto done;
    if (d->yc) {
        FERRY_TRY(ferry_i_rows_collect(ctx, d->t, sizeof *d->yc, d->yc, &d->all[0]));
        FERRY_TRY(ferry_i_rows_collect(ctx, d->s, sizeof *d->vc, d->vc, &d->all[1]));
        d->yc = d->all[0];
        d->vc = d->all[1];
    } else {
        FERRY_TRY(ferry_i_rows_collect(ctx, d->t, sizeof *d->yn, d->yn, &d->all[2]));
        FERRY_TRY(ferry_i_rows_collect(ctx, d->s, sizeof *d->vn, d->vn, &d->all[3]));
        d->yn = d->all[2];
        d->vn = d->all[3];
    }
done:
    return st;
}

/* Axes only in mode ferry: mode paper works on the rows as they are. On failure the caller
 * clears *d. */
ferry_status ferry_i_hemap_data_new(ferry_ctx *ctx, const ferry_task *task,
                                    const hemap_options *o, hemap_data *d)
{
    const ferry_wants wants = {.method = "hemap",
                               .domains = FERRY_SOURCES | FERRY_THE_TARGET,
                               .layout = FERRY_APART,
                               .scale = o->scale,
                               .keeps = o->mode != MODE_FERRY};

    *d = (hemap_data){.o = o, .goal = task->goal};
    FERRY_PASS(ferry_i_prepare(ctx, task, &wants, &d->prepared));
    const ferry_rows *t = ferry_i_prepared_target(d->prepared), *s = d->prepared->rows;
    d->t = t->x[0];
    d->s = s->x[0];
    d->nt = ferry_i_all_rows(d->t);
    d->ns = ferry_i_all_rows(d->s);
    if (d->nt <= 0 || d->ns <= 0)
        return ferry_i_fail(ctx, FERRY_ENEEDS,
                            "hemap needs instances in source '%s' and target '%s'",
                            s->domain->name, t->domain->name);
    d->k = d->prepared->k;
    d->yc = t->cls;
    d->vc = s->cls;
    d->yn = t->num;
    d->vn = s->num;
    d->n_labelled = t->labelled;
    d->n_taught = s->labelled;
    FERRY_PASS(collect_labels(ctx, d));
    FERRY_PASS(read_labels(ctx, d));
    FERRY_PASS(read_pairs(ctx, t, s, d));
    if (o->mode != MODE_FERRY) return FERRY_OK;
    FERRY_PASS(axes(ctx, d->t, t->domain->name, &d->side_t));
    return axes(ctx, d->s, s->domain->name, &d->side_s);
}

void ferry_i_hemap_data_clear(hemap_data *d)
{
    ferry_i_prepared_free(d->prepared);
    FERRY_FREE(d->pt, d->ps, d->labelled, d->all[0], d->all[1], d->all[2], d->all[3]);
    side_clear(&d->side_t);
    side_clear(&d->side_s);
    *d = (hemap_data){0};
}
