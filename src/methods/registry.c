/* The list of methods: one line each. Everything that names methods comes from here. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/frame.h"

/* X(name) for every method; ferry_i_method_<name> is its descriptor. */
#define FERRY_METHODS(X) X(command) X(predictions)

#define DECLARE(name) extern const ferry_method ferry_i_method_##name;
#define ADDRESS(name) &ferry_i_method_##name,
FERRY_METHODS(DECLARE)

static const ferry_method *const unmoved[] = {FERRY_METHODS(ADDRESS)};

/* Methods of one file each, method_<name>, and baselines, which are learners. */
#define MOVED(X)                                                                           \
    X(additive_grid)                                                                       \
    X(aligned_trees)                                                                       \
    X(bias)                                                                                \
    X(cbt)                                                                                 \
    X(cca)                                                                                 \
    X(cdls)                                                                                \
    X(cdspp)                                                                               \
    X(clusters)                                                                            \
    X(coca)                                                                                \
    X(coca_paper)                                                                          \
    X(coot)                                                                                \
    X(correct_smooth)                                                                      \
    X(cotransfer)                                                                          \
    X(fgw)                                                                                 \
    X(gbc)                                                                                 \
    X(gbc_paper)                                                                           \
    X(gbdt_average)                                                                        \
    X(gibbs)                                                                               \
    X(hemap)                                                                               \
    X(hemap_paper)                                                                         \
    X(hetomtl)                                                                             \
    X(hetomtl_paper)                                                                       \
    X(hop)                                                                                 \
    X(htlic)                                                                               \
    X(ica)                                                                                 \
    X(kcca)                                                                                \
    X(kernel_bridge)                                                                       \
    X(kmeans_hop)                                                                          \
    X(label_prior)                                                                         \
    X(label_propagation)                                                                   \
    X(latentmap)                                                                           \
    X(majority)                                                                            \
    X(mean)                                                                                \
    X(mf)                                                                                  \
    X(mf_als)                                                                              \
    X(mindtl)                                                                              \
    X(mindtl_paper)                                                                        \
    X(mmltl)                                                                               \
    X(mmltl_paper)                                                                         \
    X(mmdt)                                                                                \
    X(mpa)                                                                                 \
    X(omtlmc)                                                                              \
    X(online_kernel)                                                                       \
    X(online_logreg)                                                                       \
    X(pca_joined)                                                                          \
    X(place)                                                                               \
    X(random_codebook)                                                                     \
    X(random_codebook_paper)                                                               \
    X(ranksvm)                                                                             \
    X(rating_mean)                                                                         \
    X(residual)                                                                            \
    X(semi_gbdt)                                                                           \
    X(semi_svm)                                                                            \
    X(sgc)                                                                                 \
    X(shuffled_codebook)                                                                   \
    X(shuffled_codebook_paper)                                                             \
    X(smltl)                                                                               \
    X(stack)                                                                               \
    X(talmud)                                                                              \
    X(triplex)                                                                             \
    X(ttl)                                                                                 \
    X(ttl_paper)

#define DECLARE_MOVED(name) extern const method method_##name;
#define ADDRESS_MOVED(name) &method_##name,
MOVED(DECLARE_MOVED)

static const method *const moved[] = {MOVED(ADDRESS_MOVED)};
#define BASELINE(name_, learner_, family_, pools_)                                         \
    {                                                                                      \
        .name = (name_), .kind = FERRY_KIND_BASELINE, .by = &(learner_),                   \
        .needs = FERRY_NEED_TARGET_VIEW, .family = (family_), .pools = (pools_),           \
        .wants = {                                                                         \
            .as = JOINED,                                                                  \
            .trains = true                                                                 \
        }                                                                                  \
    }
#define TREES(name_, learner_, pools_, missing_)                                           \
    {                                                                                      \
        .name = (name_), .kind = FERRY_KIND_BASELINE, .by = &(learner_),                   \
        .needs = FERRY_NEED_TARGET_VIEW, .family = FERRY_FAMILY_TREES, .pools = (pools_),  \
        .wants = {                                                                         \
            .as = JOINED,                                                                  \
            .trains = true,                                                                \
            .unscaled = true,                                                              \
            .missing = (missing_)                                                          \
        }                                                                                  \
    }
extern const learner learner_chains, learner_extra_trees, learner_gbdt, learner_knn,
    learner_lift, learner_logreg, learner_ridge, learner_svm;
static const method baselines[] = {
    BASELINE("chains", learner_chains, FERRY_FAMILY_LINEAR, false),
    TREES("extra-trees", learner_extra_trees, false, false),
    TREES("gbdt", learner_gbdt, true, true),
    BASELINE("knn", learner_knn, FERRY_FAMILY_LOCAL, false),
    BASELINE("lift", learner_lift, FERRY_FAMILY_LINEAR, false),
    BASELINE("logreg", learner_logreg, FERRY_FAMILY_LINEAR, true),
    BASELINE("ridge", learner_ridge, FERRY_FAMILY_LINEAR, true),
    BASELINE("svm", learner_svm, FERRY_FAMILY_LINEAR, true),
};

/* By name, and as the public API tells them; made once, then never changed. */
enum { N_MOVED = FERRY_COUNT(moved) + FERRY_COUNT(baselines), MOST_OPTIONS = 32 * N_MOVED };
enum { N_METHODS = FERRY_COUNT(unmoved) + N_MOVED };
static ferry_method described[N_MOVED];
static ferry_opt options[MOST_OPTIONS];
static const ferry_method *methods[N_METHODS];
static ferry_method_info infos[N_METHODS];
static ferry_opt_table tables[N_METHODS];
static char needs_words[N_METHODS][320];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The bits as words, "a source, a view of the target". 320 bytes hold all of them at
 * once. */
static void describe_needs(unsigned needs, char *words, size_t size)
{
    static const struct {
        unsigned bit;
        const char *words;
    } words_of[] = {
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
    for (int64_t i = 0; i < FERRY_COUNT(words_of); i++)
        if (needs & words_of[i].bit)
            used += (size_t)snprintf(words + used, size - used, "%s%s", used ? ", " : "",
                                     words_of[i].words);
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
    int64_t n = 0, used = 0;

    for (int64_t i = 0; i < N_MOVED; i++) {
        const int64_t single = FERRY_COUNT(moved);
        const method *m = i < single ? moved[i] : &baselines[i - single];
        used += frame_describe(m, options + used, &described[i]);
        methods[n++] = &described[i];
    }
    for (int64_t i = 0; i < FERRY_COUNT(unmoved); i++)
        methods[n++] = unmoved[i];
    qsort(methods, (size_t)N_METHODS, sizeof methods[0], by_name);
    for (int64_t i = 0; i < N_METHODS; i++) {
        const ferry_method *m = methods[i];
        describe_needs(m->needs, needs_words[i], sizeof needs_words[i]);
        tables[i] = (ferry_opt_table){m->options, m->n_options};
        infos[i] = (ferry_method_info){m->name,  m->summary,     m->reference, m->kind,
                                       m->goals, needs_words[i], &tables[i],   m->asked};
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

/* No task names a blend, but a model's file may. */
extern const ferry_method ferry_i_method_blend;

const ferry_method *ferry_i_method_find(const char *name)
{
    if (strcmp(name, ferry_i_method_blend.name) == 0) return &ferry_i_method_blend;
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
    *out = ferry_i_method_at(place(name));
    if (*out) return FERRY_OK;
    const char *next = ferry_i_nearest(name, N_METHODS, name_at, NULL);
    return ferry_i_fail(ctx, FERRY_EINVAL, "unknown method %s%s%s%s", name,
                        next ? " (did you mean " : "", next ? next : "", next ? "?)" : "");
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
