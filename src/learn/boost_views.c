/* Boosted trees of several views by cross-validation (boost_views.h). */
#include "learn/boost_views.h"

#include <math.h>
#include <string.h>

static double loss_of(const view_folds *j, const double *f, int64_t x)
{
    double all = 0;

    for (int64_t c = 0; c < j->o.k; c++)
        all += boost_loss(j->o.logistic, f[c], ROW(j->o.y, x)[c]);
    return all / (double)j->o.k;
}

static bool has_view(const view_folds *j, int64_t v, int64_t x)
{
    return !j->o.view[v].there || j->o.view[v].there[x];
}

/* w <- skill of each view on held-out labels: max(0, 1 - l / l0), l0 the loss of the base score alone; a view without
 * labelled rows has shown none. view_loss <- l; l0. */
static double find_skill(scope *s, const view_folds *j, const view_trees *r,
                         double *view_loss, double *w)
{
    const int64_t p = j->o.views;
    double *all = NEW(s, double, 2 * p + 1), total = 0;

    for (int64_t x = 0; x < j->o.n; x++) {
        if (!j->o.labelled[x]) continue;
        const boost *b = r->run[j->fold[x]];
        all[2 * p] += loss_of(j, b->trees.f0, x);
        for (int64_t v = 0; v < p; v++) {
            if (!has_view(j, v, x)) continue;
            all[v] += loss_of(j, ROW(b->f[v], x), x);
            all[p + v]++;
        }
    }
    sums(s, j->o.rows, 2 * p + 1, all);
    const double constant = all[2 * p] / j->labelled;
    for (int64_t v = 0; v < p; v++) {
        view_loss[v] = all[p + v] > 0 ? all[v] / all[p + v] : NAN;
        w[v] = view_loss[v] < constant ? 1 - view_loss[v] / constant : 0;
        total += w[v];
    }
    for (int64_t v = 0; v < p; v++)
        w[v] = total > 0 ? w[v] / total : 1 / (double)p;
    scope_drop(s, all);
    return constant;
}

/* Held-out loss of f0 + stretch (sum_v w_v f_v / sum_v w_v - f0). f: k, scratch. */
static double joint_loss(scope *s, const view_folds *j, const view_trees *r,
                         const double *w, double stretch, double *f)
{
    const int64_t k = j->o.k;
    double all = 0;

    for (int64_t x = 0; x < j->o.n; x++) {
        double weight = 0;
        if (!j->o.labelled[x]) continue;
        const boost *b = r->run[j->fold[x]];
        memset(f, 0, (size_t)k * sizeof *f);
        for (int64_t v = 0; v < b->owners; v++) {
            const double one = r->additive ? 1 : has_view(j, v, x) ? w[v] : 0;
            weight += one;
            for (int64_t c = 0; c < k; c++)
                f[c] += one * ROW(b->f[v], x)[c];
        }
        for (int64_t c = 0; c < k; c++) {
            const double f0 = b->trees.f0[c];
            f[c] = weight > 0 ? f0 + stretch * (f[c] / weight - f0) : f0;
        }
        all += loss_of(j, f, x);
    }
    return sum(s, j->o.rows, all) / j->labelled;
}

/* Runs on all folds step together until more trees do not help. Each view's scores are what is expected of y given that
 * view: their mean varies too little, the more so the more the views complement each other; hence stretches. */
view_trees boost_folds(scope *s, const view_folds *j, bool additive)
{
    static const double stretches[] = {1.25, 1.5, 2, 2.5, 3, 4};
    const int64_t p = j->o.views;
    view_trees r = {additive,
                    NEW(s, boost *, j->folds),
                    NEW(s, double, p),
                    NEW(s, double, p),
                    INFINITY,
                    NAN,
                    1,
                    0};
    double *w = NEW(s, double, p), *view_loss = NEW(s, double, p),
           *f = NEW(s, double, j->o.k), least = INFINITY;
    bool finish = false;

    for (int i = 0; i < j->folds; i++) {
        boost_options o = j->o;
        o.additive = additive;
        uint8_t *others = NEW(s, uint8_t, j->o.n);
        for (int64_t x = 0; x < j->o.n; x++)
            others[x] = j->o.labelled[x] && j->fold[x] != i;
        o.labelled = others;
        r.run[i] = boost_new(s, &o);
    }
    for (int64_t t = 1; t <= j->trees && t - r.trees <= j->patience && !finish; t++) {
        for (int i = 0; i < j->folds; i++)
            boost_step(s, r.run[i]);
        const double constant = additive ? NAN : find_skill(s, j, &r, view_loss, w);
        const double now = joint_loss(s, j, &r, w, 1, f);
        finish = progress(s, "gbc: cross-validation", t, j->trees, NAN);
        if (!(now < least)) continue;
        least = r.loss = now;
        r.trees = t;
        r.constant = constant;
        r.stretch = 1;
        memcpy(r.w, w, (size_t)p * sizeof *w);
        memcpy(r.view_loss, view_loss, (size_t)p * sizeof *view_loss);
        for (int64_t e = 0; !additive && p > 1 && e < FERRY_COUNT(stretches); e++) {
            const double wider = joint_loss(s, j, &r, w, stretches[e], f);
            if (!(wider < r.loss)) continue;
            r.loss = wider;
            r.stretch = stretches[e];
        }
    }
    return r;
}

int top_features(scope *s, const forest *f, int top, int64_t *feature, double *share)
{
    int64_t *first = NEW(s, int64_t, f->views + 1);
    double all = 0;
    int n = 0;

    for (int64_t v = 0; v < f->views; v++)
        first[v + 1] = first[v] + f->cols[v];
    double *gain = NEW(s, double, first[f->views] + 1);
    for (int64_t e = 0; e < f->trees; e++)
        for (int64_t i = f->first[e]; i < f->first[e + 1]; i++) {
            if (f->feature[i] < 0) continue;
            gain[first[e / f->k % f->views] + f->feature[i]] += f->gain[i];
            all += f->gain[i];
        }
    for (; n < top; n++) {
        int64_t best = 0;
        for (int64_t j = 1; j < first[f->views]; j++)
            if (gain[j] > gain[best]) best = j;
        if (!(gain[best] > 0)) break;
        feature[n] = best;
        share[n] = gain[best] / all;
        gain[best] = 0;
    }
    return n;
}
