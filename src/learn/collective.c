#include "learn/collective.h"

#include <string.h>

void neighbour_share(const domain *d, int64_t i, int64_t k, const int32_t *cls, double *to)
{
    memset(to, 0, (size_t)(d->n_graphs * k) * sizeof *to);
    for (int g = 0; g < d->n_graphs; g++, to += k) {
        const ferry_row row = row_at(d->graph[g].a, i);
        double all = 0;
        for (int64_t e = 0; e < row.n; e++) {
            const int32_t c = cls[row.index[e]];
            if (c < 0) continue;
            to[c] += row.value[e];
            all += row.value[e];
        }
        for (int64_t c = 0; all > 0 && c < k; c++)
            to[c] /= all;
    }
}

static block neighbour_shares(scope *s, const domain *d, int64_t k, const int32_t *cls)
{
    const block share = block_new(s, d->rows, d->n, d->n_graphs * k);

    for (int64_t i = 0; i < d->n; i++)
        neighbour_share(d, i, k, cls, ROW(share, i));
    return share;
}

matrix with_neighbours(scope *s, const domain *d, int64_t k, const int32_t *cls)
{
    const matrix right = matrix_of(s, neighbour_shares(s, d, k, cls));

    return beside(s, 2,
                  (const matrix[]){d->x, d->x.m->dense ? right : to_sparse(s, right)});
}

learned local_model(scope *s, scope *keep, const domain *d, matrix x, double C, double eps)
{
    const learner *by = learner_find("logreg");
    void *with = learner_defaults(s, by);
    domain seen = *d;

    learner_set(by, with, "C", C);
    learner_set(by, with, "eps", eps);
    seen.x = x;
    const examples e = rows_with_features(s, &seen);
    return learn(s, keep, by, with, &e);
}

int64_t assign_classes(scope *s, const domain *d, block scores, int32_t *cls)
{
    const int64_t mark = scope_mark(s);
    const int32_t *best = argmax(s, scores);
    int64_t changed = 0;

    for (int64_t i = 0; i < d->n; i++) {
        if (d->known[i] >= 0 || (d->there && !d->there[i])) continue;
        changed += cls[i] != best[i];
        cls[i] = best[i];
    }
    scope_release(s, mark);
    return changed;
}

void prior_where_nothing(const domain *d, block out)
{
    for (int64_t i = 0; d->there && i < d->n; i++)
        if (!d->there[i]) memcpy(ROW(out, i), d->prior, (size_t)out.k * sizeof(double));
}
