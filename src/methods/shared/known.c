/* Labels by instance id and graphs by name (known.h). */
#include "methods/shared/known.h"

#include "methods/shared/boosted.h"

#include <string.h>

void ferry_i_known_clear(known_labels *k)
{
    ferry_i_ids_free(k->ids);
    ferry_i_ids_free(k->graphs);
    FERRY_FREE(k->truth, k->prior);
    *k = (known_labels){0};
}

/* The mean of the answers.
 * It is what an instance gets that no label reaches. Also after loading, so that the file
 * cannot hold a prior that contradicts its labels. */
static ferry_status count_prior(ferry_ctx *ctx, known_labels *k)
{
    ferry_status st = FERRY_OK;
    const int64_t m = k->classes, n = ferry_i_ids_count(k->ids);

    FERRY_NEW(ctx, k->prior, m);
    for (int64_t e = 0; e < n * m; e++)
        k->prior[e % m] += k->truth[e] / (double)n;
done:
    return st;
}

/* Labels are kept by id, since the instances that are asked about later may stand in any
 * order and be others. */
ferry_status ferry_i_known_new(ferry_ctx *ctx, const ferry_domain *t,
                               const ferry_outputs *o, const double *y,
                               const uint8_t *labelled, known_labels *k)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(t->ids);
    int64_t count = 0;

    *k = (known_labels){
        .classes = o->classes, .ids = ferry_i_ids_new(), .graphs = ferry_i_ids_new()};
    FERRY_HAVE(ctx, k->ids && k->graphs);
    for (int64_t i = 0; i < t->n_graphs; i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(k->graphs, t->graphs[i]->name, NULL) >= 0);
    if (t->n_graphs == 0) goto done;
    for (int64_t x = 0; x < n; x++)
        count += labelled[x];
    FERRY_NEW(ctx, k->truth, count * o->classes);
    for (int64_t x = 0, at = 0; x < n; x++) {
        if (!labelled[x]) continue;
        FERRY_HAVE(ctx, ferry_i_ids_add(k->ids, ferry_i_ids_at(t->ids, x), NULL) >= 0);
        ferry_i_outputs_truth(o, y + x * o->k, k->truth + at++ * o->classes);
    }
    FERRY_TRY(count_prior(ctx, k));
done:
    return st;
}

/* Ids that a reader made up from row numbers are no ids: they would match the labelled
 * instances of the training file by their place. -1 for all then. */
void ferry_i_known_places(const known_labels *k, const ferry_domain *d, int64_t *at)
{
    const bool named = ferry_i_domain_named(d) && k->ids;

    for (int64_t x = 0; x < ferry_i_ids_count(d->ids); x++)
        at[x] = named ? ferry_i_ids_find(k->ids, ferry_i_ids_at(d->ids, x)) : -1;
}

/* The start of a propagation: what is known exactly, and the least harmful guess
 * elsewhere. */
void ferry_i_known_start(const known_labels *k, int64_t n, const int64_t *at, double *start)
{
    const int64_t m = k->classes;

    for (int64_t x = 0; x < n; x++)
        memcpy(start + x * m, at[x] < 0 ? k->prior : k->truth + at[x] * m,
               (size_t)m * sizeof *start);
}

/* The shares of the graphs that are there add up to one, whatever is absent. */
ferry_status ferry_i_known_graphs(ferry_ctx *ctx, const known_labels *k, const double *wg,
                                  const ferry_domain *d, ferry_matrix ***graph, double **w,
                                  int64_t *q)
{
    ferry_status st = FERRY_OK;
    const int64_t names = ferry_i_ids_count(k->graphs);
    const bool only = names == 1 && d->n_graphs == 1;
    double sum = 0;

    *q = 0;
    FERRY_NEW(ctx, *graph, names);
    if (w) FERRY_NEW(ctx, *w, names);
    for (int64_t i = 0; i < names; i++)
        for (int64_t j = 0; j < d->n_graphs; j++) {
            if (!only && strcmp(ferry_i_ids_at(k->graphs, i), d->graphs[j]->name) != 0)
                continue;
            if (w) sum += (*w)[*q] = wg ? wg[i] : 1;
            (*graph)[(*q)++] = d->graphs[j]->a;
        }
    for (int64_t i = 0; w && i < *q; i++)
        /* Weights that are all 0 say nothing about which graph is better: equal shares. */
        (*w)[i] = sum > 0 ? (*w)[i] / sum : 1 / (double)*q;
done:
    return st;
}

ferry_status ferry_i_known_need(ferry_ctx *ctx, const char *method, const ferry_ids *graphs,
                                const ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_ids_count(graphs);

    for (int64_t i = 0; i < n && !(n == 1 && d->n_graphs == 1); i++) {
        const char *name = ferry_i_ids_at(graphs, i);
        bool there = false;
        for (int64_t j = 0; j < d->n_graphs; j++)
            there = there || strcmp(name, d->graphs[j]->name) == 0;
        FERRY_NEED(ctx, there, FERRY_ENEEDS,
                   "%s learned from graph '%s', and predicting needs it, too: domain '%s' "
                   "lacks it (ferry predict takes %s=EDGES)",
                   method, name, d->name, name);
    }
done:
    return st;
}

/* Labels of the training instances leave with the model: neighbours need them. Without
 * graphs there is nothing more; with them at least one label. */
void ferry_i_known_file(ferry_io *io, int64_t classes, known_labels *k)
{
    if (io->from) k->classes = classes;
    ferry_i_io_ids(io, "graphs", &k->graphs);
    if (io->st != FERRY_OK || ferry_i_ids_count(k->graphs) == 0) return;
    ferry_i_io_ids(io, "known", &k->ids);
    FERRY_IO_NEED(io, ferry_i_ids_count(k->ids) > 0, "tensor known is empty");
    ferry_i_io_reals(io, "truth", ferry_i_ids_count(k->ids), classes, &k->truth);
    if (ferry_i_io_loading(io)) ferry_i_io_fail(io, count_prior(io->ctx, k));
}

void ferry_i_known_base_file(ferry_io *io, base *b, ferry_outputs *o, known_labels *k)
{
    ferry_i_base_file(io, true, b);
    FERRY_IO_NEED(io, b->goal == FERRY_CLASSIFY, "tensor goal: classes are predicted");
    ferry_i_outputs_file(io, o);
    FERRY_IO_NEED(io, !o->numbers && o->classes == b->k,
                  "tensor target.sizes: %lld classes, not %lld", (long long)o->classes,
                  (long long)b->k);
    ferry_i_known_file(io, b->k, k);
    FERRY_IO_NEED(io, k->prior, "tensor graphs is empty");
}
