/* Self-training: learn from the labels, label the rows that the model is surest of, in the proportions of the classes
 * among the labels, and learn again. A label that was given stays: a wrong one is never taken back, which is what
 * methods that use rows without labels have to do better. */
#include "learn/self_training.h"

#include <math.h>
#include <string.h>

/* Rows of each class to label in a round: by the labels of the target, or where it has none by those of sources. */
static int64_t *quotas(scope *s, const problem *p, double share)
{
    const domain *t = target(p);
    const int64_t k = p->classes;
    int64_t *quota = NEW(s, int64_t, k);
    double *count = NEW(s, double, k), all = 0;

    for (int i = t->labelled > 0 ? p->n - 1 : 0; i < p->n; i++) {
        double *mine = NEW(s, double, k);
        for (int64_t r = 0; r < p->d[i].n; r++)
            if (p->d[i].known[r] >= 0) mine[p->d[i].known[r]]++;
        sums(s, p->d[i].rows, k, mine);
        for (int64_t c = 0; c < k; c++)
            count[c] += mine[c];
        all += (double)p->d[i].labelled;
    }
    for (int64_t c = 0; all > 0 && c < k; c++)
        quota[c] =
            (int64_t)ceil(share * (double)(t->rows.n - t->labelled) * count[c] / all);
    return quota;
}

/* Labels for the surest rows; how many. */
static int64_t add_labels(scope *s, const learned *m, const domain *d, const int64_t *quota,
                          int32_t *y)
{
    const block g = answer(s, m, d->x);
    int32_t *cls = argmax(s, g);
    double added = 0;

    for (int64_t i = 0; i < d->n; i++)
        if (y[i] >= 0) cls[i] = -1;
    const uint8_t *take =
        top_rows(s, d->rows, d->n, cls, margins(s, g), d->key, d->y.k, quota);
    for (int64_t i = 0; i < d->n; i++) {
        if (take[i]) y[i] = cls[i];
        added += take[i];
    }
    return (int64_t)sum(s, d->rows, added);
}

learned self_train(scope *s, scope *keep, const learner *by, const void *options,
                   const self_training *o, const problem *p)
{
    const domain *d = target(p);
    domain *every = COPY(s, p->d, p->n), *now = &every[p->n - 1]; /* more labels */
    problem all = *p;
    int32_t *y = COPY(s, d->known, d->n);
    const int64_t *quota = quotas(s, p, o->share);
    int64_t added = 0;

    now->y.cls = now->known = y;
    all.d = every;
    for (int64_t t = 0;; t++) {
        const int64_t mark = scope_mark(s);
        const examples e = training_examples(s, &all);
        bool last = t == o->rounds || now->labelled == d->rows.n;
        last = progress(s, "self-training", t + 1, o->rounds + 1, NAN) || last;
        learned m = learn(s, last ? keep : s, by, options, &e);
        const int64_t more = last ? 0 : add_labels(s, &m, d, quota, y);
        if (more == 0) {
            if (!last) /* nobody is left to get a label */
                m.state =
                    state_copy(s, keep, by->state, m.state,
                               (state_sizes){.width = d->x.cols, .classes = p->classes});
            report_real(s, "added", (double)added);
            return m;
        }
        added += more;
        now->labelled += more;
        scope_release(s, mark);
    }
}
