/* The tasks of transitive transfer on 20 Newsgroups: from the raw messages, and as small
 * files that several settings share. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/data.h"
#include "data/lines.h"
#include "reproduce/ttl.h"
#include "task/task.h"

/* Table 4. "misc" of comp is comp.os.ms-windows.misc, "windows" comp.windows.x, "mac"
 * comp.sys.mac.hardware; "misc" and "politic" of talk are talk.politics.misc. */
const ttl_news ferry_i_ttl_news[TTL_N_NEWS] = {
    {"rec-vs-comp",
     "rec",
     "comp",
     {"rec.autos", "comp.os.ms-windows.misc"},
     {"rec.sport.baseball", "comp.sys.mac.hardware"},
     {"rec.sport.hockey", "comp.windows.x"}},
    {"rec-vs-talk",
     "rec",
     "talk",
     {"rec.autos", "talk.politics.guns"},
     {"rec.motorcycles", "talk.politics.mideast"},
     {"rec.sport.hockey", "talk.politics.misc"}},
    {"rec-vs-sci",
     "rec",
     "sci",
     {"rec.autos", "sci.electronics"},
     {"rec.motorcycles", "sci.med"},
     {"rec.sport.hockey", "sci.space"}},
    {"sci-vs-comp",
     "sci",
     "comp",
     {"sci.electronics", "comp.graphics"},
     {"sci.med", "comp.os.ms-windows.misc"},
     {"sci.space", "comp.windows.x"}},
    {"sci-vs-talk",
     "sci",
     "talk",
     {"sci.crypt", "talk.politics.guns"},
     {"sci.electronics", "talk.politics.mideast"},
     {"sci.med", "talk.politics.misc"}},
    {"comp-vs-talk",
     "comp",
     "talk",
     {"comp.graphics", "talk.politics.guns"},
     {"comp.os.ms-windows.misc", "talk.politics.mideast"},
     {"comp.windows.x", "talk.politics.misc"}},
};

ferry_status ferry_i_ttl_source(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                                ferry_text *out)
{
    ferry_status st = FERRY_OK;
    char *path = NULL;

    FERRY_TRY(ferry_i_lab_source(ctx, lab, name, &path));
    ferry_i_text_yaml(out, path);
    FERRY_NEED(ctx, !out->failed, FERRY_ENOMEM, "no memory for a task file");
done:
    ferry_i_free(path);
    return st;
}

static ferry_status write_news(ferry_ctx *ctx, ferry_lab *lab, const ttl_news *t,
                               bool bridge_labels, const char *methods, const char *name)
{
    ferry_status st = FERRY_OK;
    ferry_text archive = {0};
    char *text = NULL, *bridge = NULL;

    FERRY_TRY(ferry_i_ttl_source(ctx, lab, TTL_NEWS, &archive));
    bridge = bridge_labels ? ferry_i_sprintf("{%s: %s, %s: %s}", t->one, t->bridge[0],
                                             t->other, t->bridge[1])
                           : ferry_i_sprintf("[%s, %s]", t->bridge[0], t->bridge[1]);
    FERRY_NEED(ctx, bridge, FERRY_ENOMEM, "no memory for a task file");
    text = ferry_i_sprintf(
        "task: %s\n"
        "goal: classify\n"
        "text: {mail_headers: strip, min_len: 3, min_df: 20, stop_words: english, weight: "
        "tfidf, norm: l2, max_empty: 1}\n"
        "domains:\n"
        "  - name: source\n"
        "    role: source\n"
        "    x: &news '%s'\n"
        "    text: {files: {%s: %s, %s: %s}, part: 2/2}\n"
        "  - name: bridge\n"
        "    role: intermediate\n"
        "    x: *news\n"
        "    text: {files: %s}\n"
        "%s"
        "  - name: target\n"
        "    role: target\n"
        "    x: *news\n"
        "    text: {files: {%s: %s, %s: %s}, part: 1/2}\n"
        "methods:\n"
        "%s"
        "evaluate: {repeats: 1, metrics: [accuracy]}\n",
        t->name, archive.s, t->one, t->source[0], t->other, t->source[1], bridge,
        bridge_labels ? "" : "    label: none\n", t->one, t->target[0], t->other,
        t->target[1], methods);
    FERRY_NEED(ctx, text, FERRY_ENOMEM, "no memory for a task file");
    FERRY_TRY(ferry_i_lab_task(ctx, lab, name, text));
done:
    ferry_i_free(text);
    ferry_i_free(bridge);
    ferry_i_text_free(&archive);
    return st;
}

ferry_status ferry_i_ttl_news_task(ferry_ctx *ctx, ferry_lab *lab, const ttl_news *task,
                                   const char *methods, const char *name)
{
    return write_news(ctx, lab, task, false, methods, name);
}

/* ---- exported files ---- */

/* A domain's only view as svmlight with names of words. keep: labels to write (NULL: all);
 * gone: words to leave out (NULL: none). */
static ferry_status write_domain(ferry_ctx *ctx, ferry_lab *lab, const ferry_domain *d,
                                 const bool *keep, const bool *gone, const char *name)
{
    ferry_status st = FERRY_OK;
    const ferry_view *v = d->views[0];
    const ferry_matrix *x = v->x;
    char *path = NULL, number[32];
    ferry_out *o = NULL;
    ferry_text head = {0};
    int32_t *map = ferry_i_calloc(x->cols, sizeof *map), columns = 0;

    FERRY_NEED(ctx, map, FERRY_ENOMEM, "no memory for the words of %s", name);
    ferry_i_text_add(&head, "# ferry features:");
    for (int64_t j = 0; j < x->cols; j++) {
        if (gone && gone[j]) continue;
        map[j] = ++columns;
        ferry_i_text_add(&head, " ");
        ferry_i_code(&head, ferry_i_ids_at(v->features, j));
    }
    FERRY_NEED(ctx, !head.failed, FERRY_ENOMEM, "no memory for the words of %s", name);
    FERRY_TRY(ferry_i_lab_path(ctx, lab, name, &path));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_printf(o, "%s\n", head.s);
    for (int64_t i = 0; i < x->rows; i++) {
        const int64_t at = v->instance[i];
        const bool has = ferry_i_labels_has(d->labels, at) && (!keep || keep[at]);
        ferry_i_out_printf(
            o, "%s", has ? ferry_i_ids_at(d->labels->names, d->labels->cls[at]) : "?");
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            if (!map[x->index[e]]) continue;
            (void)ferry_i_format_real(number, x->value[e]);
            ferry_i_out_printf(o, " %d:%s", (int)map[x->index[e]], number);
        }
        ferry_i_out_printf(o, "\n");
    }
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_text_free(&head);
    ferry_i_free(map);
    ferry_i_free(path);
    return st;
}

/* The task as it is read under a seed. */
static ferry_status load(ferry_ctx *ctx, ferry_lab *lab, const char *name, uint64_t seed,
                         ferry_task **out)
{
    ferry_status st = FERRY_OK;
    char *path = NULL, number[32];
    ferry_opts *sets = NULL;

    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    FERRY_TRY(ferry_i_lab_path(ctx, lab, name, &path));
    FERRY_TRY(ferry_opts_new(ctx, &sets));
    FERRY_TRY(ferry_opts_set(ctx, sets, "evaluate.seed", number));
    ctx->seed = seed;
    FERRY_TRY(ferry_task_load(ctx, path, sets, out));
done:
    ferry_opts_free(sets);
    ferry_i_free(path);
    return st;
}

ferry_status ferry_i_ttl_export(ferry_ctx *ctx, ferry_lab *lab, const ttl_news *task,
                                uint64_t seed)
{
    static const char *const what[] = {"source", "bridge", "target"};
    ferry_status st = FERRY_OK;
    ferry_task *loaded = NULL;
    char name[64];

    FERRY_TRY(write_news(ctx, lab, task, true, "  - majority\n", "raw.yaml"));
    FERRY_TRY(load(ctx, lab, "raw.yaml", seed, &loaded));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%llu-%s.svm", (unsigned long long)seed, what[i]);
        FERRY_TRY(write_domain(ctx, lab, loaded->domains[i], NULL, NULL, name));
    }
done:
    ferry_task_free(loaded);
    return st;
}

/* Mark `n` of `all`, drawn under the context's seed. */
static ferry_status draw(ferry_ctx *ctx, const char *use, int64_t all, int64_t n,
                         bool **out)
{
    ferry_status st = FERRY_OK;
    int64_t *order = ferry_i_calloc(all, sizeof *order);
    ferry_rng rng;

    *out = ferry_i_calloc(all, sizeof **out);
    FERRY_NEED(ctx, order && *out, FERRY_ENOMEM, "no memory for a draw");
    for (int64_t i = 0; i < all; i++)
        order[i] = i;
    ferry_i_rng_for(ctx, &rng, use);
    ferry_i_rng_shuffle(&rng, all, order);
    for (int64_t i = 0; i < n && i < all; i++)
        (*out)[order[i]] = true;
done:
    ferry_i_free(order);
    return st;
}

ferry_status ferry_i_ttl_bridge(ferry_ctx *ctx, ferry_lab *lab, uint64_t seed,
                                int64_t labels, double removed, const char *name)
{
    ferry_status st = FERRY_OK;
    ferry_domain *d = NULL;
    ferry_data *data = NULL;
    char *path = NULL, from[64];
    bool *keep = NULL, *gone = NULL;

    snprintf(from, sizeof from, "%llu-bridge.svm", (unsigned long long)seed);
    FERRY_TRY(ferry_i_lab_path(ctx, lab, from, &path));
    FERRY_TRY(ferry_read(ctx, path, NULL, &data));
    FERRY_TRY(ferry_domain_new(ctx, "bridge", FERRY_INTERMEDIATE, &d));
    FERRY_TRY(ferry_domain_add_data(ctx, d, "x", data));
    ctx->seed = seed;
    const int64_t cols = d->views[0]->x->cols;
    FERRY_TRY(draw(ctx, "bridge labels", ferry_domain_size(d), labels, &keep));
    FERRY_TRY(draw(ctx, "bridge words", cols, llround(removed * (double)cols), &gone));
    FERRY_TRY(write_domain(ctx, lab, d, keep, gone, name));
done:
    ferry_i_free(keep);
    ferry_i_free(gone);
    ferry_data_free(data);
    ferry_domain_free(d);
    ferry_i_free(path);
    return st;
}

ferry_status ferry_i_ttl_small_task(ferry_ctx *ctx, ferry_lab *lab, uint64_t seed,
                                    const char *bridge, const char *methods,
                                    const char *name)
{
    ferry_status st = FERRY_OK;
    const unsigned long long s = seed;
    char *text = ferry_i_sprintf("task: comp-vs-talk\n"
                                 "goal: classify\n"
                                 "domains:\n"
                                 "  - {name: source, role: source, x: %llu-source.svm}\n"
                                 "  - {name: bridge, role: intermediate, x: %s}\n"
                                 "  - {name: target, role: target, x: %llu-target.svm}\n"
                                 "methods:\n"
                                 "%s"
                                 "evaluate: {repeats: 1, metrics: [accuracy]}\n",
                                 s, bridge, s, methods);

    FERRY_NEED(ctx, text, FERRY_ENOMEM, "no memory for a task file");
    FERRY_TRY(ferry_i_lab_task(ctx, lab, name, text));
done:
    ferry_i_free(text);
    return st;
}
