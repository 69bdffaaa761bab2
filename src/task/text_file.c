/* "text:" at the top of a task file: the text of all domains is read first, its words are
 * chosen and weighed over all documents together, and the domains then get the views. */
#include <string.h>

#include "task/file.h"

/* What is about the words that all share. */
static const char *const shared[] = {"min_df", "max_df", "weight", "norm", "duplicates"};

/* The options at the top, then those of a domain or view. */
static ferry_status overlay(const ferry_place *p, const ferry_opts *top,
                            const ferry_opts *own, ferry_opts **out)
{
    ferry_status st = FERRY_OK;
    ferry_opts *all = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(shared); i++)
        if (ferry_opts_get(own, shared[i]))
            FERRY_TRY(ferry_i_place_bad(
                p, "%s stands in text: at the top, for all domains share their words",
                shared[i]));
    FERRY_TRY(ferry_i_opts_copy(p->y->ctx, top, &all));
    for (int64_t i = 0; ferry_opts_at(own, i); i++) {
        const ferry_setting *s = ferry_opts_at(own, i);
        FERRY_TRY(ferry_opts_set(p->y->ctx, all, s->key, s->value));
    }
    FERRY_MOVE(*out, all);
done:
    ferry_opts_free(all);
    return st;
}

/* Count the words of the file that `file` names, unless it has another format: then NULL
 * waits in its place. `at`: the domain or view whose options `own` are. */
static ferry_status read_one(const ferry_place *file, const ferry_place *at,
                             const ferry_opts *top, const ferry_opts *own)
{
    ferry_status st = FERRY_OK;
    ferry_yaml *y = file->y;
    const char *format = ferry_opts_get(own, "format"), *name = NULL;
    ferry_opts *opts = NULL;
    ferry_data *data = NULL;
    char *path = NULL;

    if (!format || strcmp(format, "text") == 0) {
        FERRY_TRY(overlay(at, top, own, &opts));
        FERRY_TRY(ferry_i_place_string(file, "the name of a file", &name));
        FERRY_TRY(ferry_i_place_path(file, name, &path));
        FERRY_TRY(
            ferry_i_place_prefix(file, ferry_i_read_raw_text(y->ctx, path, opts, &data)));
    }
    FERRY_HAVE(y->ctx, FERRY_GROW(y->text, y->n_text, y->cap_text));
    y->text[y->n_text++] = data;
    data = NULL;
done:
    ferry_data_free(data);
    ferry_opts_free(opts);
    ferry_i_free(path);
    return st;
}

/* Views in the order in which ferry_i_parse_domain() adds them. What is wrong with the rest
 * of the entry is found there. */
static ferry_status read_domain(const ferry_place *p, const ferry_opts *top)
{
    ferry_status st = FERRY_OK;
    ferry_opts *own = NULL, *of_view = NULL;
    ferry_place x, views, item;

    FERRY_TRY(ferry_i_place_read_options(p, NULL, &own));
    if (ferry_i_place_get(p, "x", &x)) FERRY_TRY(read_one(&x, p, top, own));
    if (!ferry_i_place_get(p, "views", &views)) goto done;
    for (int64_t i = 0; ferry_i_place_item(&views, i, &item); i++) {
        if (!ferry_i_place_get(&item, "x", &x)) continue;
        ferry_opts_free(of_view);
        of_view = NULL;
        FERRY_TRY(ferry_i_place_read_options(&item, own, &of_view));
        FERRY_TRY(read_one(&x, &item, top, of_view));
    }
done:
    ferry_opts_free(own);
    ferry_opts_free(of_view);
    return st;
}

/* Words must be chosen over all domains together: a vocabulary a domain each would share
 * nothing. So all text is counted here, weighed together, and handed out as the domains
 * are built. */
ferry_status ferry_i_parse_text(const ferry_place *text, const ferry_place *domains,
                                uint64_t seed)
{
    ferry_status st = FERRY_OK;
    ferry_yaml *y = text->y;
    ferry_opts *top = NULL;
    ferry_data **pieces = NULL;
    ferry_place p;
    int64_t n = 0;

    FERRY_TRY(ferry_opts_new(y->ctx, &top));
    FERRY_TRY(ferry_i_place_text_options(text, top));
    for (int64_t i = 0; ferry_i_place_item(domains, i, &p); i++)
        FERRY_TRY(read_domain(&p, top));
    pieces = ferry_i_calloc(y->n_text, sizeof(ferry_data *));
    FERRY_HAVE(y->ctx, pieces);
    for (int64_t i = 0; i < y->n_text; i++)
        if (y->text[i]) pieces[n++] = y->text[i];
    if (n == 0) FERRY_TRY(ferry_i_place_bad(text, "no domain has text"));
    FERRY_TRY(ferry_i_place_prefix(text, ferry_i_text_weigh(y->ctx, seed, n, pieces)));
done:
    ferry_i_free(pieces);
    ferry_opts_free(top);
    return st;
}

/* The next view's text in the order of reading; NULL: this view is no text. */
ferry_data *ferry_i_next_text(ferry_yaml *y)
{
    ferry_data *data = NULL;

    if (y->next_text < y->n_text) {
        data = y->text[y->next_text];
        y->text[y->next_text++] = NULL;
    }
    return data;
}
