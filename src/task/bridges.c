/* bridge: auto: which intermediate domains the splits of a task keep. What chooses is select/choose.c; here is what was
 * chosen, remembered with the task, since an evaluation comes by the same split several times (methods, answer). */
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "task/task.h"

struct ferry_choices {
    pthread_mutex_t mutex;
    ferry_choice *list;
    int64_t n, cap;
};

void ferry_i_choice_clear(ferry_choice *c)
{
    FERRY_FREE(c->told, c->name, c->why);
}

ferry_status ferry_i_choices_new(ferry_ctx *ctx, ferry_choices **out)
{
    ferry_choices *c = *out = ferry_i_calloc(1, sizeof *c);

    if (!c) return ferry_i_nomem(ctx);
    pthread_mutex_init(&c->mutex, NULL);
    return FERRY_OK;
}

void ferry_i_choices_free(ferry_choices *c)
{
    if (!c) return;
    for (int64_t i = 0; i < c->n; i++)
        ferry_i_choice_clear(&c->list[i]);
    pthread_mutex_destroy(&c->mutex);
    FERRY_FREE(c->list, c);
}

/* Sources, what was chosen, the target: the order in which ways are tried. */
ferry_status ferry_i_choice_apply(ferry_ctx *ctx, const ferry_choice *c, ferry_task *split)
{
    ferry_status st = FERRY_OK;
    ferry_domain **kept = NULL;
    json_t *told = NULL;
    int64_t n = 0;

    FERRY_NEW(ctx, kept, split->n_domains);
    FERRY_TRY(ferry_i_json_parse(ctx, c->told, (int64_t)strlen(c->told), 0, NULL, &told));
    FERRY_HAVE(ctx, split->chosen = ferry_i_strdup(c->told));
    const json_t *names = json_object_get(told, "chosen");
    for (int64_t i = 0; i < split->n_domains; i++)
        if (split->domains[i]->role == FERRY_SOURCE) kept[n++] = split->domains[i];
    for (size_t k = 0; k < json_array_size(names); k++)
        for (int64_t i = 0; i < split->n_domains; i++)
            if (strcmp(split->domains[i]->name,
                       json_string_value(json_array_get(names, k))) == 0)
                kept[n++] = split->domains[i];
    for (int64_t i = 0; i < split->n_domains; i++) {
        bool stays = false;
        if (split->domains[i]->role == FERRY_TARGET) kept[n++] = split->domains[i];
        for (int64_t k = 0; k < n; k++)
            stays = stays || kept[k] == split->domains[i];
        if (!stays) ferry_domain_free(split->domains[i]);
    }
    split->n_domains = n;
    split->choose = false;
    memcpy(split->domains, kept, (size_t)n * sizeof(ferry_domain *));
done:
    json_decref(told);
    ferry_i_free(kept);
    return st;
}

static const ferry_choice *find(const ferry_choices *of, uint64_t seed, int64_t repeat)
{
    for (int64_t i = 0; i < of->n; i++)
        if (of->list[i].seed == seed && of->list[i].repeat == repeat) return &of->list[i];
    return NULL;
}

/* *known: it is remembered, and the split has the domains. */
ferry_status ferry_i_choice_recall(ferry_ctx *ctx, ferry_choices *of, int64_t repeat,
                                   ferry_task *split, bool *known)
{
    ferry_status st = FERRY_OK;

    (void)pthread_mutex_lock(&of->mutex);
    const ferry_choice *c = find(of, ctx->seed, repeat);
    *known = c;
    if (c) st = ferry_i_choice_apply(ctx, c, split);
    (void)pthread_mutex_unlock(&of->mutex);
    return st;
}

/* Takes what *c holds. Two threads that come together both choose, and choose the same. */
ferry_status ferry_i_choice_keep(ferry_ctx *ctx, ferry_choices *of, ferry_choice *c)
{
    (void)pthread_mutex_lock(&of->mutex);
    const bool there = find(of, c->seed, c->repeat);
    const bool room = there || FERRY_GROW(of->list, of->n, of->cap);
    if (!there && room) {
        of->list[of->n++] = *c;
        *c = (ferry_choice){0};
    }
    (void)pthread_mutex_unlock(&of->mutex);
    return room ? FERRY_OK : ferry_i_nomem(ctx);
}

/* ---- in words ---- */

/* The first seed that was asked about. */
const char *ferry_i_choice_name(const ferry_task *task, int64_t repeat)
{
    const ferry_choices *all = task->choices;

    for (int64_t i = 0; all && i < all->n; i++)
        if (all->list[i].repeat == repeat) return all->list[i].name;
    return NULL;
}

/* "bridge: auto took film (in 9 of 10 repeats), film and book (1): labels that arrive ..."; NULL: nothing was chosen, or
 * no memory. */
char *ferry_i_choices_words(const ferry_task *task)
{
    const ferry_choices *all = task->choices;
    const ferry_choice *most = NULL;
    int64_t count = 0;
    ferry_text t = {0};

    if (!all || all->n == 0) return NULL;
    ferry_i_text_add(&t, "bridge: auto took ");
    for (int64_t i = 0; i < all->n; i++) {
        int64_t same = 0;
        bool first = true;
        for (int64_t j = 0; j < all->n; j++) {
            const bool equal = strcmp(all->list[i].name, all->list[j].name) == 0;
            same += equal;
            first = first && !(equal && all->list[j].repeat < all->list[i].repeat);
        }
        if (!first || same < count || (same == count && most->repeat < all->list[i].repeat))
            continue;
        most = &all->list[i];
        count = same;
    }
    ferry_i_text_addf(&t, "%s", most->name);
    if (all->n > 1)
        ferry_i_text_addf(&t, " in %lld of %lld repeats", (long long)count,
                          (long long)all->n);
    ferry_i_text_addf(&t, ": %s", most->why);
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}
