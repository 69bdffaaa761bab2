/* Methods that end in a RankSVM (rank.h): it puts an instance's labels before the others, and learns apart how many of
 * them are on (ranksvm.c). Latent features, where a method has some, take the place of the features. */
#include "methods/shared/rank.h"

#include <math.h>

#include "learn/kernel.h"

static void ranked_check(scope *s, const void *state)
{
    const ranked *m = state;

    if ((m->inv_sd && !m->mean) || (m->x.m != NULL) != (m->coef.at != NULL) ||
        (m->u.at && m->coef.at))
        scope_fail(s, FERRY_EDATA, "its latent features do not make sense");
}

static const field ranked_fields[] = {
    ARRAY(ranked, BLOCK, w, .rows = CLASSES, .cols = SIZE_PLUS(ranked, d, 1)),
    ARRAY(ranked, REALS, threshold, .rows = {'c', 1, 0}),
    VALUE(ranked, REAL, scale),
    ARRAY(ranked, BLOCK, u, .rows = WIDTH, .cols = SIZE(ranked, d), .optional = true),
    ARRAY(ranked, REALS, mean, .rows = SIZE(ranked, d), .optional = true),
    ARRAY(ranked, REALS, inv_sd, .rows = SIZE(ranked, d), .optional = true),
    ARRAY(ranked, REAL, gamma, .lo = 0, .hi = DBL_MAX),
    ARRAY(ranked, MATRIX, x, .rows = SIZE(ranked, n), .cols = WIDTH, .optional = true),
    ARRAY(ranked, BLOCK, coef, .rows = SIZE(ranked, n), .cols = SIZE(ranked, d),
          .optional = true),
};
const table ranked_table = {sizeof(ranked), ranked_fields, FERRY_COUNT(ranked_fields),
                            ranked_check, NULL};

void ranked_fit(scope *s, scope *keep, const ranker_options *given, const examples *e,
                const double *mean, bool stopped, ranked *m)
{
    ranker_options o = *given;

    o.order = rows_by_key(s, e->x.n, e->key);
    o.label = labels_by_rows(s, e);
    const ranker r = ranker_fit(s, keep, &o, e->x, mean, e->y.k, e->y.on);
    m->d = e->x.cols;
    m->scale = r.scale;
    m->w = r.w;
    m->threshold = r.threshold;
    report_real(s, "epochs", (double)r.epochs);
    report_real(s, "rank_objective", r.objective);
    report_real(s, "rank_gap", r.gap);
    report_fit(s, r.epochs, r.objective,
               r.finish || stopped ? FERRY_STOP_FINISH : FERRY_STOP_DONE);
}

/* Latent features come out in units of the projection. The RankSVM's one constant C would weigh them by these. */
void ranked_standardise(const ranked *m, block z)
{
    for (int64_t i = 0; m->inv_sd && i < z.n; i++)
        for (int64_t j = 0; j < z.k; j++)
            ROW(z, i)[j] = (ROW(z, i)[j] - m->mean[j]) * m->inv_sd[j];
}

/* sqrt(var) above 1e-13 of the mean: below it the variance is rounding. */
void ranked_measure(block z, double *mean, double *inv_sd)
{
    const double n = z.n > 0 ? (double)z.n : 1;

    for (int64_t j = 0; j < z.k; j++)
        mean[j] = inv_sd[j] = 0;
    for (int64_t i = 0; i < z.n; i++)
        for (int64_t j = 0; j < z.k; j++)
            mean[j] += ROW(z, i)[j] / n;
    for (int64_t i = 0; i < z.n; i++)
        for (int64_t j = 0; j < z.k; j++) {
            const double c = ROW(z, i)[j] - mean[j];
            inv_sd[j] += c * c / n;
        }
    for (int64_t j = 0; j < z.k; j++) {
        const double var = inv_sd[j];
        const bool varies = sqrt(var) > 1e-13 * fabs(mean[j]) && var > DBL_MIN;
        inv_sd[j] = varies ? 1 / sqrt(var) : 1;
    }
}

void ranked_scores(scope *s, const void *state, const domain *d, block out)
{
    const ranked *m = state;
    const ranker r = {.scale = m->scale, .w = m->w};
    const bool latent = m->u.at || m->coef.at;
    const block z = block_new(s, d->rows, d->n, latent ? m->d : 0);

    if (!latent && m->d != d->x.cols)
        scope_fail(s, FERRY_EDATA, "the model is of %lld features, not %lld",
                   (long long)m->d, (long long)d->x.cols);
    if (m->u.at) mul(s, d->x, m->u, z);
    if (m->coef.at) kernel_mul(s, m->gamma, m->x, d->x, m->coef, z); /* coef'k(X, x) */
    ranked_standardise(m, z);
    /* features may be sparse: their mean comes off in the products */
    ranker_scores(s, &r, latent ? matrix_of(s, z) : d->x, latent ? NULL : m->mean, out);
}

void ranked_decide(const void *state, const double *score, uint8_t *on)
{
    const ranked *m = state;

    ranker_decide(m->w.n, m->threshold, score, on);
}

void report_sources(scope *s, const problem *p, const examples *e)
{
    if (e->x.rows.n == 0)
        scope_fail(s, FERRY_ENEEDS,
                   "%s needs labelled instances with features; train=source has none",
                   scope_ctx(s)->fitting);
    report_text(s, "train", "source");
    report_real(s, "instances", (double)e->x.rows.n);
    report_real(s, "features", (double)p->width);
}
