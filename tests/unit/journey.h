/* Journeys for the tests: documents of c classes in domains that share words only with
 * their neighbours. Word "w<block>.<i>" of class i mod c; domain d has blocks d - 1 and d.
 */
#ifndef JOURNEY_H
#define JOURNEY_H

#include <stdio.h>

#include "small_task.h"

enum { WORDS = 12, LENGTH = 14 }; /* words a block and class; words a document */

typedef struct journey {
    int64_t domains; /* source, intermediates, target */
    int64_t c;       /* classes */
    int64_t n;       /* documents a domain */
    double noise;    /* share of words from other classes */
    int64_t seen;    /* labelled documents of the target */
    uint64_t seed;
    bool turned;     /* documents in the opposite order */
    int64_t only;    /* > 0: a journey without its domain of this number */
    bool wrong;      /* intermediates have labels, all of them wrong */
    const char *ids; /* what their ids begin with; NULL: d */
} journey;

static inline int64_t journey_class(const journey *j, int64_t i)
{
    return (j->turned ? j->n - 1 - i : i) % j->c;
}

static inline const char *journey_id(const journey *j, int64_t i, char *buf)
{
    (void)snprintf(buf, 16, "%s%d", j->ids ? j->ids : "d",
                   (int)(j->turned ? j->n - 1 - i : i));
    return buf;
}

/* Document i of domain d: counts over 2 blocks of words. */
static inline void journey_words(const journey *j, int64_t d, int64_t i, double *counts)
{
    const int64_t who = j->turned ? j->n - 1 - i : i, block = j->c * WORDS;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, j->seed, (uint64_t)(1000 * d + who));
    for (int64_t w = 0; w < 2 * block; w++)
        counts[w] = 0;
    for (int64_t t = 0; t < LENGTH; t++) {
        int64_t cls = who % j->c;
        const bool first = d > 0 && (d == j->domains - 1 || ferry_i_rng_below(&rng, 2));
        if (ferry_i_rng_real(&rng) < j->noise)
            cls = (int64_t)ferry_i_rng_below(&rng, (uint64_t)j->c);
        counts[(first ? 0 : block) + cls +
               j->c * (int64_t)ferry_i_rng_below(&rng, WORDS)]++;
    }
}

/* Domain d with its documents; labels of all but intermediates, of the target `seen`. */
static inline ferry_domain *journey_domain(ferry_ctx *ctx, const journey *j, int64_t d)
{
    const int64_t cols = 2 * j->c * WORDS;
    const ferry_role role = d == 0                ? FERRY_SOURCE
                            : d == j->domains - 1 ? FERRY_TARGET
                                                  : FERRY_INTERMEDIATE;
    static const char *const roles[] = {"from", "over", "to"};
    double *x = calloc((size_t)(j->n * cols), sizeof *x);
    char(*names)[24] = calloc((size_t)cols, sizeof *names);
    char(*ids)[16] = calloc((size_t)j->n, sizeof *ids);
    char(*cls)[8] = calloc((size_t)j->n, sizeof *cls);
    const char **features = calloc((size_t)cols, sizeof *features);
    const char **id = calloc((size_t)j->n, sizeof *id);
    const char **label = calloc((size_t)j->n, sizeof *label);
    ferry_domain *out = NULL;
    char name[16];

    (void)snprintf(name, sizeof name, "%s%d", roles[role], (int)d);
    for (int64_t w = 0; w < cols; w++) {
        const int64_t block = w / (j->c * WORDS);
        (void)snprintf(names[w], sizeof names[w], "w%d.%d", (int)(d - 1 + block),
                       (int)(w % (j->c * WORDS)));
        features[w] = names[w];
    }
    for (int64_t i = 0; i < j->n; i++) {
        journey_words(j, d, i, x + i * cols);
        id[i] = journey_id(j, i, ids[i]);
        (void)snprintf(cls[i], sizeof cls[i], "c%d",
                       (int)((journey_class(j, i) + (role == FERRY_INTERMEDIATE)) % j->c));
        label[i] = cls[i];
    }
    assert_ok(ctx, ferry_domain_new(ctx, name, role, &out));
    small_view(ctx, out, "words", j->n, cols, x, id, features, true);
    if (role != FERRY_INTERMEDIATE || j->wrong)
        assert_ok(ctx, ferry_domain_set_classes(
                           ctx, out, role == FERRY_TARGET ? j->seen : j->n, id, label));
    free(x);
    free(names);
    free(ids);
    free(cls);
    free(features);
    free(id);
    free(label);
    return out;
}

static inline ferry_task *journey_task(ferry_ctx *ctx, const journey *j)
{
    ferry_task *task = NULL;

    assert_ok(ctx, ferry_task_new(ctx, "journey", FERRY_CLASSIFY, &task));
    for (int64_t d = 0; d < j->domains; d++)
        if (j->only == 0 || d != j->only)
            assert_ok(ctx, ferry_task_add_domain(ctx, task, journey_domain(ctx, j, d)));
    return task;
}

/* Share of the target's documents that are right. */
static inline double journey_right(ferry_ctx *ctx, const journey *j, const ferry_model *m)
{
    ferry_domain *d = journey_domain(ctx, j, j->domains - 1);
    ferry_prediction *p = NULL;
    double right = 0;

    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    for (int64_t i = 0; i < p->n; i++)
        right += p->names[p->cls[i]][1] == (char)('0' + journey_class(j, i));
    right /= (double)p->n;
    ferry_prediction_free(p);
    ferry_domain_free(d);
    return right;
}

#endif
