#include "learn/partners.h"

#include "learn/learner.h"

/* as in the baselines that they are; the weights were chosen on eight streams (docs/methods/hetomtl.md) */
enum { FEATURES = 200, MOST_LINEAR = 500 };
static const double ETA = 0.3, FORGET = 0.998;
static const double FIRST = 4, SMALL = 0.3;

static const field fields[] = {
    ARRAY(partners, ARRAY, w, .rows = CONSTANT(PARTS)),
    ARRAY(partners, ARRAY, hess, .rows = CONSTANT(PARTS * PARTS)),
    ARRAY(partners, STRUCT, logreg, .of = &online_logreg_table),
    ARRAY(partners, STRUCT, kernel, .of = &online_kernel_table),
};
const table partners_table = TABLE(partners, fields);

partners *partners_new(scope *s, scope *keep, int64_t k, matrix x)
{
    partners *p = NEW(keep, partners, 1);

    p->logreg = online_logreg_new(keep, ETA, k, x.cols);
    p->kernel = online_kernel_new(s, keep, scope_rng(s, "partners"), FEATURES, MOST_LINEAR,
                                  FORGET, k, x);
    partners_clear(p);
    return p;
}

partners_scratch partners_scratch_new(scope *s, const partners *p, int64_t k, bool learns)
{
    return (partners_scratch){logreg_scratch_new(s, &p->logreg, k),
                              kernel_scratch_new(s, &p->kernel, k, learns)};
}

void partners_clear(partners *p)
{
    mixer_begin(PARTS, SMALL, p->w, p->hess);
    p->w[OTHERS] = FIRST;
    online_logreg_clear(&p->logreg);
    online_kernel_clear(&p->kernel);
}

void partners_ask(const partners *p, const partners_scratch *c, int64_t k, ferry_row x,
                  double *parts)
{
    online_logreg_scores(&p->logreg, &c->logreg, x, parts + LOGREG * k);
    online_kernel_scores(&p->kernel, &c->kernel, x, parts + KERNEL * k);
    for (int i = 0; i < PARTS; i++)
        mixer_centre(k, parts + i * k);
}

void partners_join(const partners *p, int64_t k, const double *parts, double *total)
{
    mixer_scores(PARTS, k, p->w, parts, total);
}

void partners_mix(partners *p, int64_t k, const double *parts, int32_t y, double *work)
{
    mixer_learn(PARTS, k, p->w, p->hess, parts, y, work);
}

void partners_learn(partners *p, const partners_scratch *c, ferry_row x, int32_t y)
{
    online_logreg_learn(&p->logreg, &c->logreg, x, y);
    online_kernel_learn(&p->kernel, &c->kernel, x, y);
}

void partners_shares(const partners *p, double *share)
{
    double all = 0;

    for (int i = 0; i < PARTS; i++)
        all += p->w[i];
    for (int i = 0; i < PARTS; i++)
        share[i] = all > 0 ? p->w[i] / all : 1. / PARTS;
}

bool partners_fit(const partners *p, int64_t d)
{
    bool good = p->logreg.z.d == d && p->kernel.z.d == d;

    for (int i = 0; i < PARTS; i++)
        good = good && p->w[i] >= 0 && p->w[i] < 1e9;
    return good;
}
