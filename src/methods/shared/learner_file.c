/* A learner as tensors of a model: "<prefix>.form" says what it is, "<prefix>.w" has its
 * weights, "<prefix>.x", ".labels" and ".weight" the rows of nearest neighbours. */
#include "methods/shared/learner_file.h"

#include <stdio.h>

/* knn: the rows it keeps. A class beyond k would write outside the scores, more neighbours
 * than rows would read past the rows. */
static void rows_file(ferry_io *io, const char *prefix, ferry_learner *l)
{
    ferry_i_io_matrix(io, ferry_i_io_name(io, "%s.x", prefix), &l->x);
    FERRY_IO_NEED(io,
                  l->x->cols == l->d && 1 <= l->neighbours && l->neighbours <= l->x->rows,
                  "tensor %s is %lld x %lld, which does not go with %s.form", io->name,
                  (long long)l->x->rows, (long long)l->x->cols, prefix);
    if (io->st != FERRY_OK) return;
    const int64_t n = l->x->rows;
    if (ferry_i_io_has(io, ferry_i_io_name(io, "%s.weight", prefix), l->weight != NULL))
        ferry_i_io_reals(io, io->name, 1, n, &l->weight);
    (void)ferry_i_io_name(io, "%s.labels", prefix);
    if (l->numbers)
        ferry_i_io_reals(io, io->name, 1, n, &l->num);
    else
        ferry_i_io_places(io, io->name, n, 0, l->k, &l->cls);
}

void ferry_i_linear_file(ferry_io *io, const char *w, const char *seen,
                         ferry_linear_kind kind, int64_t k, int64_t d, ferry_linear **m)
{
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, *m, 1);
    if (io->st != FERRY_OK) return;
    if (io->from) **m = (ferry_linear){.kind = kind, .k = k, .d = d};
    ferry_i_io_flags(io, seen, k, &(*m)->seen);
    ferry_i_io_reals(io, w, k, d + 1, &(*m)->w);
}

/* Linear models keep k x (d + 1) weights, a constant for each output: ridge in the learner
 * itself, logistic regression in a ferry_linear. "seen" says which classes had an instance
 * at fit: a class without one must not win by its zero weights. */
static void weights_file(ferry_io *io, const char *prefix, ferry_learner *l)
{
    char w[64];

    (void)snprintf(w, sizeof w, "%s.w", prefix);
    if (l->kind == FERRY_LEARNER_RIDGE)
        ferry_i_io_reals(io, w, l->k, l->d + 1, &l->w);
    else
        ferry_i_linear_file(io, w, ferry_i_io_name(io, "%s.seen", prefix),
                            FERRY_LINEAR_LOGREG, l->k, l->d, &l->lin);
}

/* "form" first: it says which tensors there must be and how large. */
void ferry_i_learner_file(ferry_io *io, const char *prefix, ferry_learner **learner)
{
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, *learner, 1);
    if (io->st != FERRY_OK) return;
    ferry_learner *l = *learner;
    int64_t form[] = {l->kind, l->numbers, l->k, l->d, l->neighbours};
    ferry_i_io_ints(io, ferry_i_io_name(io, "%s.form", prefix), 5, form);
    FERRY_IO_NEED(io,
                  /* Numbers have one output, and logistic regression has none for them. */
                  FERRY_LEARNER_KNN <= form[0] && form[0] <= FERRY_LEARNER_RIDGE &&
                      form[2] > 0 && form[3] > 0 && form[3] < INT32_MAX &&
                      (form[1] ? form[2] == 1 && form[0] != FERRY_LEARNER_LOGREG : true),
                  "tensor %s describes no learner", io->name);
    if (ferry_i_io_loading(io))
        *l = (ferry_learner){.kind = (ferry_learner_kind)form[0],
                             .numbers = form[1] != 0,
                             .k = form[2],
                             .d = form[3],
                             .neighbours = form[4]};
    if (io->st != FERRY_OK) return;
    if (l->kind == FERRY_LEARNER_KNN)
        rows_file(io, prefix, l);
    else
        weights_file(io, prefix, l);
}
