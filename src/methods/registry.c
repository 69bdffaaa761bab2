/* The list of methods: one line each. Everything that names methods comes from here. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/method.h"

/* X(name) for every method; ferry_i_method_<name> is its descriptor. */
#define FERRY_METHODS(X)                                                                   \
    X(additive_grid)                                                                       \
    X(bias)                                                                                \
    X(cbt)                                                                                 \
    X(cdspp)                                                                               \
    X(chains)                                                                              \
    X(clusters)                                                                            \
    X(coca)                                                                                \
    X(correct_smooth)                                                                      \
    X(cotransfer)                                                                          \
    X(extra_trees)                                                                         \
    X(gbc)                                                                                 \
    X(gbdt)                                                                                \
    X(gbdt_average)                                                                        \
    X(hemap)                                                                               \
    X(hetomtl)                                                                             \
    X(hop)                                                                                 \
    X(htlic)                                                                               \
    X(ica)                                                                                 \
    X(kmeans_hop)                                                                          \
    X(knn)                                                                                 \
    X(label_prior)                                                                         \
    X(label_propagation)                                                                   \
    X(latentmap)                                                                           \
    X(lift)                                                                                \
    X(logreg)                                                                              \
    X(majority)                                                                            \
    X(mean)                                                                                \
    X(mf)                                                                                  \
    X(mindtl)                                                                              \
    X(mmltl)                                                                               \
    X(mpa)                                                                                 \
    X(omtlmc)                                                                              \
    X(pca_joined)                                                                          \
    X(predictions)                                                                         \
    X(place)                                                                               \
    X(random_codebook)                                                                     \
    X(ranksvm)                                                                             \
    X(rating_mean)                                                                         \
    X(ridge)                                                                               \
    X(semi_gbdt)                                                                           \
    X(semi_svm)                                                                            \
    X(sgc)                                                                                 \
    X(shuffled_codebook)                                                                   \
    X(smltl)                                                                               \
    X(stack)                                                                               \
    X(svm)                                                                                 \
    X(talmud)                                                                              \
    X(triplex)                                                                             \
    X(ttl)

#define DECLARE(name) extern const ferry_method ferry_i_method_##name;
#define ADDRESS(name) &ferry_i_method_##name,
FERRY_METHODS(DECLARE)

#define N_METHODS (FERRY_COUNT(unsorted))
static const ferry_method *const unsorted[] = {FERRY_METHODS(ADDRESS)};

/* By name, and as the public API tells them; made once, then never changed. */
static const ferry_method *methods[FERRY_COUNT(unsorted)];
static ferry_method_info infos[FERRY_COUNT(unsorted)];
static ferry_opt_table tables[FERRY_COUNT(unsorted)];
static char needs_words[FERRY_COUNT(unsorted)][320];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The bits as words, "a source, a view of the target". 320 bytes hold all of them at
 * once. */
static void describe_needs(unsigned needs, char *words, size_t size)
{
    static const struct {
        unsigned bit;
        const char *words;
    } table[] = {
        {FERRY_NEED_SOURCE, "a source"},
        {FERRY_NEED_SOURCE_LABELS, "source labels"},
        {FERRY_NEED_INTERMEDIATE, "an intermediate domain"},
        {FERRY_NEED_TARGET_LABELS, "some target labels that may be seen"},
        {FERRY_NEED_VIEW, "a view of every domain"},
        {FERRY_NEED_ONE_VIEW, "one view of every domain"},
        {FERRY_NEED_TARGET_VIEW, "a view of the target"},
        {FERRY_NEED_GRAPH, "a graph of the target"},
        {FERRY_NEED_VIEW_OR_GRAPH, "a view or a graph of the target"},
        {FERRY_NEED_RATINGS, "ratings of every domain"},
        {FERRY_NEED_PATH, "features that lead from a source to the target"},
    };
    size_t used = 0;

    /* The stronger need says the weaker one. */
    if (needs & FERRY_NEED_SOURCE_LABELS) needs &= ~(unsigned)FERRY_NEED_SOURCE;
    if (needs & FERRY_NEED_ONE_VIEW) needs &= ~(unsigned)FERRY_NEED_VIEW;
    if (needs & (FERRY_NEED_ONE_VIEW | FERRY_NEED_VIEW))
        needs &= ~(unsigned)FERRY_NEED_TARGET_VIEW;
    for (int64_t i = 0; i < FERRY_COUNT(table); i++)
        if (needs & table[i].bit)
            used += (size_t)snprintf(words + used, size - used, "%s%s", used ? ", " : "",
                                     table[i].words);
    if (used == 0) (void)snprintf(words, size, "labels of a source or the target");
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const ferry_method *const *)a)->name,
                  (*(const ferry_method *const *)b)->name);
}

/* Once for the process, under pthread_once: after that all of it is read-only and needs
 * no lock. Sorted by the public name, since "_" in the list is "-" there and sorts
 * elsewhere. */
static void make(void)
{
    memcpy(methods, unsorted, sizeof methods);
    qsort(methods, (size_t)N_METHODS, sizeof methods[0], by_name);
    for (int64_t i = 0; i < N_METHODS; i++) {
        const ferry_method *m = methods[i];
        describe_needs(m->needs, needs_words[i], sizeof needs_words[i]);
        tables[i] = (ferry_opt_table){m->options, m->n_options};
        infos[i] = (ferry_method_info){m->name,  m->summary,     m->reference, m->kind,
                                       m->goals, needs_words[i], &tables[i]};
    }
}

int64_t ferry_i_method_count(void)
{
    return N_METHODS;
}

const ferry_method *ferry_i_method_at(int64_t i)
{
    pthread_once(&once, make);
    return i >= 0 && i < N_METHODS ? methods[i] : NULL;
}

/* Place of a method by name, -1: unknown.
 * A walk over some forty names: nothing that is looked up often enough to index. */
static int64_t place(const char *name)
{
    for (int64_t i = 0; i < N_METHODS; i++)
        if (strcmp(ferry_i_method_at(i)->name, name) == 0) return i;
    return -1;
}

const ferry_method *ferry_i_method_find(const char *name)
{
    return ferry_i_method_at(place(name));
}

static const char *name_at(const void *arg, int64_t i)
{
    (void)arg;
    return ferry_i_method_at(i)->name;
}

/* A misspelt name is answered with the nearest one, by edit distance. */
ferry_status ferry_i_method_get(ferry_ctx *ctx, const char *name, const ferry_method **out)
{
    ferry_status st = FERRY_OK;

    *out = ferry_i_method_find(name);
    if (!*out) {
        const char *near = ferry_i_nearest(name, N_METHODS, name_at, NULL);
        FERRY_NEED(ctx, false, FERRY_EINVAL, "unknown method %s%s%s%s", name,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
done:
    return st;
}

int64_t ferry_method_count(void)
{
    return N_METHODS;
}

const ferry_method_info *ferry_method_at(int64_t i)
{
    pthread_once(&once, make);
    return i >= 0 && i < N_METHODS ? &infos[i] : NULL;
}

const ferry_method_info *ferry_method_find(const char *name)
{
    if (!name) return NULL;
    return ferry_method_at(place(name));
}
