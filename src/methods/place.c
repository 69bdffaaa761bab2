/* place: classes that have no label in the target.
 *
 * The source has all K classes, the target has labelled rows of m < K of them, and the two have no feature in common.
 * Which class lies between which others is much the same in other features: so the means of the missing classes are
 * predicted from the means of the seen ones by the geometry of the source's classes, as one predicts a field between
 * stations (kriging).
 *
 *   1  B = 0.9 G + 0.1 I                      G: Gram of the source's class means, within-class scatter half whitened,
 *                                             trace K - 1
 *   2  M = m0 + B_:s (B_ss + N^-1)^-1 Y       Y: seen means less the mean m0 of all target rows, N: labels of each
 *   3  R2, p                                  each seen class predicted from the others; how often permuted names of
 *                                             the seen classes do as well in B_ss
 *   4  two Lloyd steps over all rows of the target, labelled ones fixed
 *   5  seeds: the few rows nearest to the mean of each missing class
 *   6  labels and seeds over the graph of nearest rows (learn/consistency.c) give every row its class
 *
 * Only where p <= .05 and R2 > 0 are missing classes named; else their rows are set apart without a name. Rows are
 * dense, on at most 50 principal axes.
 *
 * With a label for every class no source in other features was found to beat the best learner without it; there place
 * says that it does not apply. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/consistency.h"
#include "learn/nearest.h"
#include "learn/views.h"
#include "model/seam.h"

enum {
    AXES = 50,   /* principal axes kept */
    TESTED = 4,  /* seen classes that a test needs: with fewer p cannot reach .05 */
    SEEDS = 5,   /* sure rows of a missing class */
    STEPS = 2,   /* of Lloyd */
    WHOLE = 7,   /* up to so many seen classes all permutations are tried, */
    DRAWS = 999, /* else so many */
};

enum { NAME_AUTO, NAME_ALWAYS };

typedef struct place_options {
    int name;
    int64_t neighbours, most;
    const char *prior;
} place_options;

static const ferry_opt place_opts[] = {
    FERRY_OPT_ONE_OF(place_options, name, "auto|always", "auto",
                     "classes without a label get their names: where the test on the seen "
                     "classes says that the source's geometry holds, or in any case"),
    FERRY_OPT(place_options, INT, neighbours, 10, 1, 1000,
              "nearest rows to which a row passes its label"),
    FERRY_OPT_STRING(place_options, prior, "",
                     "known shares of classes, \"cat=0.2,dog=0.1\"; the others share the "
                     "rest alike. Empty: all alike"),
    FERRY_OPT(place_options, INT, most, 20000, 100, 1e6,
              "rows among which labels spread; of more a sample is drawn and the others "
              "ask their nearest in it (cost grows with the square)"),
};

/* The target's rows on their axes with their scores: a new row asks its nearest among them. */
typedef struct place_state {
    int64_t n, neighbours;
    double width; /* of the weights exp(-d^2 / width) */
    embedding axes;
    block z, answer; /* n x axes, n x classes */
    int32_t *group;  /* classes: 0, or the number of the group that one without a name is */
} place_state;
static const field place_fields[] = {
    ARRAY(place_state, INT, neighbours, .lo = 1, .hi = 1001),
    ARRAY(place_state, REAL, width, .lo = 1e-300, .hi = DBL_MAX),
    ARRAY(place_state, STRUCT, axes, .of = &embedding_table),
    FIELD_AS(place_state, BLOCK, z, "rows", .rows = SIZE(place_state, n),
             .cols = SIZE(place_state, axes.d)),
    FIELD_AS(place_state, BLOCK, answer, "answers", .rows = SIZE(place_state, n),
             .cols = CLASSES),
    ARRAY(place_state, PLACES, group, .rows = CLASSES, .below = CLASSES),
};

static void place_check(scope *s, const void *state)
{
    const place_state *m = state;

    if (m->n < 1) scope_fail(s, FERRY_EDATA, "tensor rows is empty");
}
static const table place_table = {sizeof(place_state), place_fields,
                                  FERRY_COUNT(place_fields), place_check, NULL};

/* Some class that a source has and the target's labels do not. */
static void place_fits(scope *s, const problem *shape, const void *options)
{
    const domain *t = target(shape);
    uint8_t *seen = NEW(s, uint8_t, shape->classes);
    bool missing = false;

    (void)options;
    for (int64_t i = 0; t->known && i < t->n; i++)
        if (t->known[i] >= 0) seen[t->known[i]] = 1;
    for (int j = 0; j < shape->n_sources; j++) {
        const domain *d = &shape->d[j];
        for (int64_t i = 0; d->known && i < d->n; i++)
            missing = missing || (d->known[i] >= 0 && !seen[d->known[i]]);
    }
    if (!missing)
        scope_fail(s, FERRY_ENEEDS,
                   "place is for classes that have no label in the target; here every "
                   "class of the sources has one");
}

/* Shares of the classes: "name=share,..."; those that it does not name share the rest alike. */
static double *parse_prior(scope *s, const char *text, const ferry_ids *names)
{
    const int64_t k = ferry_i_ids_count(names);
    double *share = NEW(s, double, k), rest = 1;
    int64_t left = k;
    char *at = NULL;

    for (int64_t c = 0; c < k; c++)
        share[c] = -1;
    for (char *item = strtok_r(scope_text(s, "%s", text), ",", &at); item;
         item = strtok_r(NULL, ",", &at)) {
        char *equals = strrchr(item, '='), *end = NULL;
        const double x = equals ? strtod(equals + 1, &end) : NAN;
        if (!(equals && end != equals + 1 && *end == 0 && x > 0 && x < 1))
            scope_fail(s, FERRY_EINVAL,
                       "place: prior: expected NAME=SHARE with a share between 0 and 1, "
                       "not '%s'",
                       item);
        *equals = 0;
        while (*item == ' ')
            item++;
        const int64_t c = ferry_i_ids_find(names, item);
        if (c < 0 || share[c] >= 0)
            scope_fail(s, FERRY_EINVAL, "place: prior: '%s' is %s", item,
                       c < 0 ? "no class" : "there twice");
        share[c] = x;
        rest -= x;
        left--;
    }
    if (left > 0 && !(rest > 0))
        scope_fail(s, FERRY_EINVAL,
                   "place: prior: the shares leave nothing for the other %lld classes",
                   (long long)left);
    for (int64_t c = 0; c < k; c++)
        if (share[c] < 0) share[c] = rest / (double)left;
    return share;
}

/* ---- rows on principal axes ---- */

/* Rows z (n x q) with class y[i], -1 where it has none; k classes. */
typedef struct class_rows {
    block z;
    const int32_t *y;
    int64_t k;
} class_rows;

/* The principal axes of all views of d side by side, and d's rows on them, at a root mean square length of 1. Axes
 * whose variance is no more than rounding are left out: they would be noise of length 1 after whitening. */
static embedding principal_axes(scope *s, scope *keep, const domain *d, block *z)
{
    const scaled_view *x = centred_views(s, d, BALANCE_NONE);
    const int64_t cols = joined_columns(d->n_views, x);
    int64_t most = cols < d->n ? cols : d->n;
    double sum = 0, *factor = NEW(s, double, d->n_views);

    most = most < AXES ? most : AXES;
    double *values = NEW(s, double, most);
    const block all =
        most > 0 ? joined_axes(s, NULL, d->n_views, x, most, values) : (block){.n = 0};
    const int64_t q = positive_values(most, values);
    for (int64_t j = 0; j < q; j++)
        sum += values[j];
    if (!(sum > 0))
        scope_fail(s, FERRY_EDATA, "place: the rows of '%s' are all the same", d->name);
    const block u = block_new(s, HERE(cols), cols, q);
    for (int64_t i = 0; i < cols; i++)
        memcpy(ROW(u, i), ROW(all, i), (size_t)q * sizeof *u.at);
    for (int v = 0; v < d->n_views; v++)
        factor[v] = sqrt((double)d->n / sum);
    const embed_solution from = {.p = d->n_views, .x = x, .f = factor, .u = u, .share = 1};
    return embedding_of(s, keep, &from, LACKING_MEAN, z);
}

static double distance2(int64_t q, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t j = 0; j < q; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* mean (k x q) and count (k) of the labelled rows of each class. */
static void class_means(const class_rows *t, double *count, block mean)
{
    memset(count, 0, (size_t)t->k * sizeof *count);
    memset(mean.at, 0, (size_t)(mean.n * mean.k) * sizeof *mean.at);
    for (int64_t i = 0; i < t->z.n; i++) {
        if (t->y[i] < 0) continue;
        count[t->y[i]]++;
        for (int64_t j = 0; j < mean.k; j++)
            ROW(mean, t->y[i])[j] += ROW(t->z, i)[j];
    }
    for (int64_t c = 0; c < t->k; c++)
        for (int64_t j = 0; count[c] > 0 && j < mean.k; j++)
            ROW(mean, c)[j] /= count[c];
}

/* ---- 1: the geometry of the source's classes ---- */

/* V L^(-1/4) of the pooled within-class covariance V L V', L kept away from 0: half whitening, since whole whitening
 * lets small noisy axes count as much as the wide ones. */
static small half_whiten(scope *s, const class_rows *t, block mean)
{
    const int64_t q = t->z.k;
    const block r = block_like(s, t->z);
    const small w = small_new(s, q, q);
    double n = 0, sum = 0;

    for (int64_t i = 0; i < r.n; i++) {
        if (t->y[i] < 0) continue;
        n++;
        for (int64_t j = 0; j < q; j++)
            ROW(r, i)[j] = ROW(t->z, i)[j] - ROW(mean, t->y[i])[j];
    }
    gram(s, r, r, w);
    for (int64_t e = 0; e < q * q; e++)
        w.at[e] /= n;
    double *l = eigh(s, w);
    for (int64_t j = 0; j < q; j++)
        sum += l[j] = fmax(l[j], 1e-12);
    for (int64_t j = 0; j < q; j++)
        for (int64_t i = 0; i < q; i++)
            AT(w, i, j) *= pow(l[j] + 0.01 * sum / (double)q, -0.25);
    return w;
}

/* b (k x k) <- B of source rows; rows and columns of classes without rows are those of I. */
static void class_geometry(scope *s, const class_rows *t, small b)
{
    const int64_t k = t->k, q = t->z.k;
    const block mean = block_new(s, HERE(k), k, q), m = block_like(s, mean);
    double *count = NEW(s, double, k), classes = 0;

    class_means(t, count, mean);
    bmul(s, mean, half_whiten(s, t, mean), m);
    for (int64_t c = 0; c < k; c++)
        classes += count[c] > 0;
    for (int64_t j = 0; j < q; j++) { /* centred over the classes that occur */
        double sum = 0;
        for (int64_t c = 0; c < k; c++)
            sum += count[c] > 0 ? ROW(m, c)[j] : 0;
        for (int64_t c = 0; c < k; c++)
            ROW(m, c)[j] = count[c] > 0 ? ROW(m, c)[j] - sum / classes : 0;
    }
    const double trace = square_sum(s, m);
    for (int64_t c = 0; c < k; c++)
        for (int64_t e = 0; e < k; e++) {
            double g = 0;
            for (int64_t j = 0; j < q; j++)
                g += ROW(m, c)[j] * ROW(m, e)[j];
            g *= trace > 0 ? (classes - 1) / trace : 0;
            AT(b, c, e) = count[c] > 0 ? 0.9 * g + 0.1 * (c == e) : c == e;
        }
}

/* ---- 2: kriging ---- */

/* What kriging needs and leaves. Of k classes; those of index[0 .. m) are both labelled here and known to the source. */
typedef struct kriging {
    int64_t k, m;
    int64_t *index; /* k, of which m are used */
    double *count;  /* k: labelled rows */
    uint8_t *known; /* k: the source or the labels have the class; else it has no mean */
    double *m0;     /* q: mean of all rows */
    block y;        /* m x q: seen means less m0 */
    block means;    /* k x q */
    double r2, p;
    int64_t permutations;
} kriging;

/* a (m x m) <- (B[order, order] + N^-1)^-1 over the seen classes, order being places in index; l is scratch. */
static void inverse(scope *s, small b, const kriging *f, const int64_t *order, small l,
                    block a)
{
    for (int64_t i = 0; i < f->m; i++)
        for (int64_t j = 0; j < f->m; j++) {
            AT(l, i, j) = AT(b, f->index[order[i]], f->index[order[j]]) +
                          (i == j ? 1 / f->count[f->index[i]] : 0);
            ROW(a, i)[j] = i == j;
        }
    if (!cholesky(s, l))
        scope_fail(s, FERRY_ENUMERIC,
                   "place: the geometry of the classes is no covariance");
    cholesky_solve(s, l, a);
}

/* The class joins the seen ones, which stand in the order of their distances from m0: the draws of the test go by what
 * classes hold, not by their names. */
static void add_seen(kriging *f, int32_t c)
{
    const double far = distance2(f->means.k, ROW(f->means, c), f->m0);
    int64_t i = f->m++;

    for (; i > 0; i--) {
        if (distance2(f->means.k, ROW(f->means, f->index[i - 1]), f->m0) <= far) break;
        f->index[i] = f->index[i - 1];
    }
    f->index[i] = c;
}

/* Means of all classes that the source (has: k) or the labels know. Seen classes keep their own: a few labels say more
 * than a prediction. */
static kriging krige(scope *s, const class_rows *t, small b, const uint8_t *has)
{
    const int64_t k = t->k, q = t->z.k;
    int64_t *order = NEW(s, int64_t, k);
    kriging f = {.k = k,
                 .index = NEW(s, int64_t, k),
                 .count = NEW(s, double, k),
                 .known = NEW(s, uint8_t, k),
                 .m0 = NEW(s, double, q),
                 .means = block_new(s, HERE(k), k, q)};

    class_means(t, f.count, f.means);
    for (int64_t i = 0; i < t->z.n; i++)
        for (int64_t j = 0; j < q; j++)
            f.m0[j] += ROW(t->z, i)[j] / (double)t->z.n;
    for (int64_t c = 0; c < k; c++) {
        order[c] = c;
        f.known[c] = has[c] || f.count[c] > 0;
        if (has[c] && f.count[c] > 0) add_seen(&f, (int32_t)c);
    }
    f.y = block_new(s, HERE(f.m), f.m, q);
    for (int64_t i = 0; i < f.m; i++)
        for (int64_t j = 0; j < q; j++)
            ROW(f.y, i)[j] = ROW(f.means, f.index[i])[j] - f.m0[j];
    const block a = block_new(s, HERE(f.m), f.m, f.m);
    inverse(s, b, &f, order, small_new(s, f.m, f.m), a);
    for (int64_t c = 0; c < k; c++) { /* m0 + B[c, s] A Y */
        double *to = ROW(f.means, c);
        if (f.count[c] > 0 || !has[c]) continue;
        memcpy(to, f.m0, (size_t)q * sizeof *to);
        for (int64_t i = 0; i < f.m; i++) {
            double w = 0;
            for (int64_t j = 0; j < f.m; j++)
                w += AT(b, c, f.index[j]) * ROW(a, j)[i];
            for (int64_t j = 0; j < q; j++)
                to[j] += w * ROW(f.y, i)[j];
        }
    }
    return f;
}

/* ---- 3: the test ---- */

/* R2 of each seen class predicted from the others: the error of class k is [A Y]_k / A_kk. */
static double left_out(scope *s, small b, const kriging *f, const int64_t *order, small l,
                       block a)
{
    double wrong = 0, all = 0;

    inverse(s, b, f, order, l, a);
    for (int64_t i = 0; i < f->m; i++)
        for (int64_t j = 0; j < f->y.k; j++) {
            double e = 0;
            for (int64_t h = 0; h < f->m; h++)
                e += ROW(a, i)[h] * ROW(f->y, h)[j];
            e /= ROW(a, i)[i];
            wrong += e * e;
            all += ROW(f->y, i)[j] * ROW(f->y, i)[j];
        }
    return all > 0 ? 1 - wrong / all : 0;
}

static void swap(int64_t *a, int64_t *b)
{
    const int64_t x = *a;

    *a = *b;
    *b = x;
}

/* The next permutation in the order of words; false after the last. */
static bool next_permutation(int64_t m, int64_t *a)
{
    int64_t i = m - 2, j = m - 1;

    while (i >= 0 && a[i] > a[i + 1])
        i--;
    if (i < 0) return false;
    while (a[j] < a[i])
        j--;
    swap(&a[i], &a[j]);
    for (i++, j = m - 1; i < j; i++, j--)
        swap(&a[i], &a[j]);
    return true;
}

/* f->r2, f->p. All permutations, which count the names as they are among themselves; of many classes draws.
 * O(permutations m^2 (m + q)). */
static void test_geometry(scope *s, small b, ferry_rng *rng, kriging *f)
{
    const bool all = f->m <= WHOLE;
    const int64_t mark = scope_mark(s);
    const small l = small_new(s, f->m, f->m);
    const block a = block_new(s, HERE(f->m), f->m, f->m);
    int64_t *order = NEW(s, int64_t, f->m), as_good = 0, n = 0;

    f->p = 1;
    f->r2 = 0;
    if (f->m < 2) return;
    for (int64_t i = 0; i < f->m; i++)
        order[i] = i;
    f->r2 = left_out(s, b, f, order, l, a);
    do {
        const int64_t round = scope_mark(s);
        if (!all) shuffle(rng, f->m, order);
        as_good += left_out(s, b, f, order, l, a) >= f->r2 - 1e-12;
        n++;
        scope_release(s, round);
    } while (all ? next_permutation(f->m, order) : n < DRAWS);
    f->permutations = n;
    f->p = all ? (double)as_good / (double)n : (double)(as_good + 1) / (double)(n + 1);
    scope_release(s, mark);
}

/* ---- 4 and 5: means among the rows, and sure rows ---- */

/* The known class with the nearest mean to row x. */
static int32_t nearest_mean(const kriging *f, const double *x)
{
    double least = INFINITY;
    int32_t at = -1;

    for (int64_t c = 0; c < f->k; c++) {
        if (!f->known[c]) continue;
        const double d = distance2(f->means.k, x, ROW(f->means, c));
        if (d < least) {
            least = d;
            at = (int32_t)c;
        }
    }
    return at;
}

/* A class that no row is nearest to keeps its mean. O(n k q) a step. */
static void lloyd(scope *s, const class_rows *t, kriging *f)
{
    int32_t *cls = NEW(s, int32_t, t->z.n);
    double *count = NEW(s, double, t->k);
    const block mean = block_like(s, f->means);
    const class_rows now = {t->z, cls, t->k};

    for (int step = 0; step < STEPS; step++) {
        for (int64_t i = 0; i < t->z.n; i++)
            cls[i] = t->y[i] >= 0 ? t->y[i] : nearest_mean(f, ROW(t->z, i));
        class_means(&now, count, mean);
        for (int64_t c = 0; c < t->k; c++)
            if (count[c] > 0)
                memcpy(ROW(f->means, c), ROW(mean, c), (size_t)mean.k * sizeof *mean.at);
    }
}

typedef struct candidate {
    double d;
    int64_t row;
} candidate;

static int by_distance(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->d != y->d) return x->d < y->d ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

typedef struct seed {
    int64_t row;
    int32_t cls;
} seed;

/* Of each missing class the nearest rows without a label that are nearest to its mean among all; where there is none,
 * those of the nearest five rows that have no label. *n of them. */
static seed *find_seeds(scope *s, const class_rows *t, const kriging *f, int64_t *n)
{
    const int64_t rows = t->z.n;
    seed *to = NEW(s, seed, t->k * SEEDS);
    candidate *own = NEW(s, candidate, rows);
    int32_t *near = NEW(s, int32_t, rows);

    *n = 0;
    for (int64_t i = 0; i < rows; i++)
        near[i] = nearest_mean(f, ROW(t->z, i));
    for (int64_t c = 0; c < t->k; c++) {
        int64_t m = 0, first = 0;
        if (!f->known[c] || f->count[c] > 0) continue;
        for (int64_t i = 0; i < rows; i++)
            first += t->y[i] < 0 && near[i] == c;
        for (int64_t i = 0; i < rows; i++)
            if (first == 0 || (t->y[i] < 0 && near[i] == c))
                own[m++] =
                    (candidate){distance2(t->z.k, ROW(t->z, i), ROW(f->means, c)), i};
        qsort(own, (size_t)m, sizeof *own, by_distance);
        for (int64_t i = 0; i < SEEDS && i < m; i++)
            if (t->y[own[i].row] < 0) to[(*n)++] = (seed){own[i].row, (int32_t)c};
    }
    return to;
}

/* ---- 6: every row's class ---- */

/* answer (n x k) <- labels and seeds over the graph, columns divided by their sums: a class with many seeds does not
 * drown one with few. *width: of its weights. */
static void spread_labels(scope *s, const class_rows *t, int64_t neighbours, int64_t n,
                          const seed *seeds, double *width, block answer)
{
    double *sum = NEW(s, double, t->k);

    for (int64_t i = 0; i < t->z.n; i++)
        if (t->y[i] >= 0) ROW(answer, i)[t->y[i]] = 1;
    for (int64_t i = 0; i < n; i++)
        ROW(answer, seeds[i].row)[seeds[i].cls] = 1;
    consistent_labels(s, t->z, neighbours, width, answer);
    column_sums(s, answer, sum);
    for (int64_t i = 0; i < answer.n; i++)
        for (int64_t c = 0; c < t->k; c++)
            ROW(answer, i)[c] /= fmax(sum[c], 1e-12);
}

/* Shares of the classes, rows to sum 1, and the nearest mean where no label came. */
static void finish_answers(const class_rows *t, const kriging *f, const double *share,
                           block answer)
{
    for (int64_t i = 0; i < answer.n; i++) {
        double *a = ROW(answer, i), sum = 0;
        for (int64_t c = 0; c < t->k; c++) {
            a[c] = fmax(a[c], 0) * share[c] * (double)t->k;
            sum += a[c];
        }
        for (int64_t c = 0; sum > 0 && c < t->k; c++)
            a[c] /= sum;
        if (!(sum > 0)) a[nearest_mean(f, ROW(t->z, i))] = 1;
    }
}

/* Steps 4 to 6 from the means; reports how many rows each class without a label got. */
static void answer_rows(scope *s, scope *keep, const problem *p, const place_options *o,
                        const class_rows *t, kriging *f, place_state *m)
{
    const double *share = parse_prior(s, o->prior, p->names);
    const char **name = NEW(s, const char *, t->k);
    double *got = NEW(s, double, t->k);
    int64_t seeds = 0, n = 0;

    lloyd(s, t, f);
    const seed *at = find_seeds(s, t, f, &seeds);
    m->answer = block_new(keep, HERE(t->z.n), t->z.n, t->k);
    spread_labels(s, t, o->neighbours, seeds, at, &m->width, m->answer);
    finish_answers(t, f, share, m->answer);
    const int32_t *best = argmax(s, m->answer);
    for (int64_t c = 0; c < t->k; c++) {
        if (f->count[c] > 0 || !f->known[c]) continue;
        for (int64_t i = 0; i < t->z.n; i++)
            got[n] += best[i] == c;
        name[n++] = ferry_i_ids_at(p->names, c);
    }
    if (n > 0) report_named(s, "rows_placed", n, name, got);
}

/* ---- sources ---- */

/* One source's geometry over the target's rows. */
typedef struct guide {
    small b;
    uint8_t *has; /* classes */
    kriging fit;
} guide;

static guide guide_by(scope *s, const domain *from, const class_rows *t)
{
    guide g = {.b = small_new(s, t->k, t->k), .has = NEW(s, uint8_t, t->k)};
    class_rows rows = {.y = from->known, .k = t->k};
    const int64_t mark = scope_mark(s);

    (void)principal_axes(s, s, from, &rows.z);
    for (int64_t i = 0; i < from->n; i++)
        if (from->known[i] >= 0) g.has[from->known[i]] = 1;
    class_geometry(s, &rows, g.b);
    scope_release(s, mark);
    g.fit = krige(s, t, g.b, g.has);
    test_geometry(s, g.b, scope_rng(s, "place"), &g.fit);
    return g;
}

/* The source with the largest R2; all are reported. */
static guide choose_source(scope *s, const problem *p, const class_rows *t)
{
    const int n = p->n_sources;
    const char **name = NEW(s, const char *, n);
    double *r2 = NEW(s, double, n), *pv = NEW(s, double, n);
    guide best = {.has = NULL};
    int at = -1;

    for (int i = 0; i < n; i++) {
        const int64_t mark = scope_mark(s);
        const guide g = guide_by(s, &p->d[i], t);
        name[i] = p->d[i].name;
        r2[i] = g.fit.r2;
        pv[i] = g.fit.p;
        if (at < 0 || r2[i] > r2[at]) {
            best = g;
            at = i;
        } else {
            scope_release(s, mark);
        }
        (void)progress(s, "place", i + 1, n + 2, NAN);
    }
    /* The best of n tests is n times as likely to be good by chance. */
    best.fit.p = fmin(1, best.fit.p * (double)n);
    report_named(s, "R2", n, name, r2);
    report_named(s, "p", n, name, pv);
    report_text(s, "source", name[at]);
    return best;
}

/* ---- may missing classes be named ---- */

typedef enum naming {
    PLACED, /* by name */
    APART,  /* the test failed: groups without names */
    NEVER   /* too few seen classes for a test: no row gets a missing class */
} naming;

static naming decide_naming(scope *s, const place_options *o, const kriging *f)
{
    const naming how = o->name == NAME_ALWAYS      ? PLACED
                       : f->m < TESTED             ? NEVER
                       : f->p <= 0.05 && f->r2 > 0 ? PLACED
                                                   : APART;

    report_text(s, "naming",
                how == PLACED  ? "placed"
                : how == APART ? "set apart"
                               : "not decided");
    if (how == NEVER)
        ferry_i_log(
            scope_ctx(s), FERRY_WARN,
            "place: cannot be decided with %lld seen classes (%d are needed): no row "
            "gets a class without a label",
            (long long)f->m, TESTED);
    if (how == APART)
        ferry_i_log(scope_ctx(s), FERRY_WARN,
                    "place: the source's geometry does not hold for the seen classes (R2 "
                    "%.2f, p %.3f): rows of other classes are set apart as ?1, ?2, ... "
                    "without names",
                    f->r2, f->p);
    return how;
}

/* Means without the source's geometry, or without the missing classes altogether. */
static void forget_geometry(scope *s, naming how, const class_rows *t, guide *g)
{
    for (int64_t i = 0; i < g->b.rows; i++)
        for (int64_t j = 0; j < g->b.rows; j++)
            AT(g->b, i, j) = i == j;
    for (int64_t c = 0; how == NEVER && c < t->k; c++)
        g->has[c] = g->has[c] && g->fit.count[c] > 0;
    g->fit = krige(s, t, g->b, g->has);
}

/* ---- fit and scores ---- */

/* The target's rows on their axes, at most `most` of them: all that are labelled, and of the others as many as there
 * is room for. In the order of their keys, so that no file's order breaks ties. */
static class_rows target_rows(scope *s, scope *keep, const domain *t, int64_t most,
                              place_state *m)
{
    int32_t *y = NEW(s, int32_t, t->n);
    const int64_t mark = scope_mark(s), *by_key = rows_by_key(s, t->n, t->key);
    int64_t *rows = NEW(s, int64_t, t->n), n = 0, labelled = 0;
    block z;

    m->axes = principal_axes(s, keep, t, &z);
    for (int64_t i = 0; i < t->n; i++)
        if (t->known[by_key[i]] >= 0) rows[labelled++] = by_key[i];
    n = labelled;
    for (int64_t i = 0; i < t->n; i++)
        if (t->known[by_key[i]] < 0) rows[n++] = by_key[i];
    if (n > most) shuffle(scope_rng(s, "place.rows"), n - labelled, rows + labelled);
    n = n > most ? (labelled > most ? labelled : most) : n;
    if (n < 2) scope_fail(s, FERRY_ENEEDS, "place: the target has fewer than 2 rows");
    m->z = block_new(keep, HERE(n), n, z.k);
    for (int64_t i = 0; i < n; i++) {
        y[i] = t->known[rows[i]];
        memcpy(ROW(m->z, i), ROW(z, rows[i]), (size_t)z.k * sizeof *z.at);
    }
    m->n = n;
    scope_release(s, mark);
    report_real(s, "rows", (double)n);
    return (class_rows){m->z, y, t->y.k};
}

static void place_fit(scope *s, scope *keep, const problem *p, const void *options,
                      void *state)
{
    const place_options *o = options;
    place_state *m = state;
    int32_t groups = 0;

    m->neighbours = o->neighbours;
    m->group = NEW(keep, int32_t, p->classes);
    const class_rows t = target_rows(s, keep, target(p), o->most, m);
    guide g = choose_source(s, p, &t);
    const naming how = decide_naming(s, o, &g.fit);
    if (how != PLACED) forget_geometry(s, how, &t, &g);
    answer_rows(s, keep, p, o, &t, &g.fit, m);
    for (int64_t c = 0; how == APART && c < p->classes; c++)
        if (g.fit.known[c] && !(g.fit.count[c] > 0)) m->group[c] = ++groups;
}

/* The scores of the nearest kept rows, weighted by exp(-d^2 / width); a kept row itself (or a copy of one) has its own.
 * O(n_new n q) for the nearest. */
static void place_scores(scope *s, const void *state, const domain *d, block out)
{
    const place_state *m = state;
    const int64_t k = m->neighbours;
    const matrix x = matrix_of(s, embedding_apply(s, &m->axes, d));
    int64_t *near = NEW(s, int64_t, x.n * k);
    double *dist = NEW(s, double, x.n *k);

    nearest(s, matrix_of(s, m->z), x, k, FERRY_EUCLIDEAN, NULL, near, dist);
    for (int64_t i = 0; i < x.n; i++) {
        const double *far = dist + i * k, least = far[0] * far[0];
        double total = 0;
        for (int64_t e = 0; e < k && near[i * k + e] >= 0; e++) {
            /* less the nearest: far away all weights would be 0 */
            const double w = exp(-(far[e] * far[e] - least) / m->width);
            for (int64_t c = 0; c < out.k; c++)
                ROW(out, i)[c] += w * ROW(m->answer, near[i * k + e])[c];
            total += w;
            if (least < 1e-18) break;
        }
        for (int64_t c = 0; c < out.k; c++)
            ROW(out, i)[c] /= total;
    }
}

static const int32_t *place_groups(const void *state)
{
    return ((const place_state *)state)->group;
}

const method method_place = {
    .name = "place",
    .summary = "classes without a target label, placed by the geometry of the source's",
    .kind = FERRY_KIND_TRANSFER,
    .family = FERRY_FAMILY_PATH,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_LABELS | FERRY_NEED_VIEW,
    .wants = {.as = VIEWS_APART, .domains = WANT_SOURCES | WANT_TARGET},
    METHOD_OPTIONS(place_opts, place_options),
    .state = &place_table,
    .whole = true,
    .names_classes = true,
    .fits = place_fits,
    .fit = place_fit,
    .scores = place_scores,
    .groups = place_groups,
};
