/* One entry of "domains:" in a task file: reads the files it names into a domain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/data.h"
#include "task/file.h"

/* ---- reader options ---- */

/* The settings for text stand last in ferry_read_settings. */
static bool is_text_option(const ferry_opt *o)
{
    return o->offset >= offsetof(ferry_read_settings, documents);
}

/* Options that name a file are relative to the task file, too. */
static ferry_status resolve(const ferry_place *p, const char *name, ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    const char *value = ferry_opts_get(opts, name);
    char *path = NULL;

    if (strcmp(name, "stop_words") != 0 && strcmp(name, "labels_xml") != 0) return FERRY_OK;
    if (!value || strcmp(value, "english") == 0) return FERRY_OK;
    FERRY_TRY(ferry_i_place_path(p, value, &path));
    FERRY_TRY(ferry_opts_set(p->y->ctx, opts, name, path));
done:
    ferry_i_free(path);
    return st;
}

/* A reader's option by name, NULL: it is none. */
static const ferry_opt *find_option(const char *name)
{
    for (int64_t i = 0; i < ferry_i_read_table_n; i++)
        if (strcmp(ferry_i_read_table[i].name, name) == 0) return &ferry_i_read_table[i];
    return NULL;
}

/* Put the reader options among p's keys into opts. text_only: all keys must be for text. */
static ferry_status own_options(const ferry_place *p, bool text_only, ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_place key, value;
    const char *name = NULL;

    for (int64_t i = 0; ferry_i_place_pair(p, i, &key, &value); i++) {
        FERRY_TRY(ferry_i_place_string(&key, "a key", &name));
        const ferry_opt *o = find_option(name);
        if (text_only && o && !is_text_option(o))
            FERRY_TRY(ferry_i_place_bad(&key, "%s is not an option for text", name));
        if (!o) continue;
        FERRY_TRY(ferry_i_place_option(&key, &value, ferry_i_read_table,
                                       ferry_i_read_table_n, opts));
        FERRY_TRY(resolve(&value, name, opts));
    }
done:
    return st;
}

/* "text:" may hold options of the text reader alone, and makes text the format. */
ferry_status ferry_i_place_text_options(const ferry_place *text, ferry_opts *opts)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_place_keys(text, NULL, 0, ferry_i_read_table, ferry_i_read_table_n));
    FERRY_TRY(own_options(text, true, opts));
    if (!ferry_opts_get(opts, "format"))
        FERRY_TRY(ferry_opts_set(text->y->ctx, opts, "format", "text"));
done:
    return st;
}

/* Options of the reader stand beside the file's name; those of the domain hold for each of
 * its views unless a view says otherwise. */
ferry_status ferry_i_place_read_options(const ferry_place *p, const ferry_opts *from,
                                        ferry_opts **out)
{
    ferry_status st = FERRY_OK;
    ferry_opts *opts = NULL;
    ferry_place text;

    FERRY_TRY(ferry_i_opts_copy(p->y->ctx, from, &opts));
    FERRY_TRY(own_options(p, false, opts));
    if (ferry_i_place_get(p, "text", &text))
        FERRY_TRY(ferry_i_place_text_options(&text, opts));
    FERRY_MOVE(*out, opts);
done:
    ferry_opts_free(opts);
    return st;
}

/* ---- files ---- */

/* What files are read with. */
typedef struct reading {
    ferry_goal goal;
    const ferry_opts *domain; /* options of the domain: some file must know each of them */
    bool used[64];            /* by place in them: one did */
    const char *format;       /* of the last file, and its name */
    char path[256];
    bool several; /* views, of which one may have the labels of all */
    bool strict;  /* without the labels that come with a view (y takes their place), and
                    without labels of ids that no view has (a graph could have them) */
} reading;

/* The options that mean something to the file are marked; of those that stand beside it,
 * and not only in the domain, all must. */
static ferry_status check_options(const ferry_place *p, const ferry_opts *opts,
                                  const ferry_data *data, reading *how)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_opts_count(how->domain);

    how->format = data->format;
    (void)snprintf(how->path, sizeof how->path, "%s", data->path);
    for (int64_t i = 0; i < n && i < FERRY_COUNT(how->used); i++)
        how->used[i] |= ferry_i_option_applies(data->format, ferry_opts_at(how->domain, i));
    for (int64_t i = 0; ferry_opts_at(opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(opts, i);
        const char *outer = ferry_opts_get(how->domain, s->key);
        if (outer && strcmp(outer, s->value) == 0) continue;
        if (!ferry_i_option_applies(data->format, s))
            FERRY_TRY(ferry_i_place_prefix(
                p, ferry_i_option_refuse(p->y->ctx, data->path, data->format, s->key)));
    }
    /* The XML beside an ARFF file says which attributes are labels; without it all but the
     * last would be features. */
    const bool one = data->labels && data->labels->kind == FERRY_LABEL_CLASS;
    if (how->goal == FERRY_MULTILABEL && strcmp(data->format, "arff") == 0 && one &&
        !ferry_opts_get(opts, "label"))
        FERRY_TRY(ferry_i_place_bad(
            p,
            "%s: goal multilabel, but only its last attribute is taken for a label; say "
            "labels_xml: FILE.xml, or label: last:N or a list of names",
            data->path));
done:
    return st;
}

/* Whether the file's label column was named for all views of the domain, not for this one. */
static bool label_elsewhere(const ferry_opts *opts, const reading *how)
{
    const char *of_all = ferry_opts_get(how->domain, "label"),
               *own = ferry_opts_get(opts, "label");

    return how->several && of_all && own && strcmp(of_all, own) == 0;
}

/* Read the file that p names and add it to d. */
static ferry_status add_file(const ferry_place *p, const ferry_opts *opts,
                             ferry_data_kind as, reading *how, const char *name,
                             ferry_domain *d)
{
    const bool strict = how->strict;
    ferry_status st = FERRY_OK;
    ferry_ctx *ctx = p->y->ctx;
    const char *file = NULL;
    char *path = NULL;
    ferry_data *data = NULL;

    FERRY_TRY(ferry_i_place_string(p, "the name of a file", &file));
    FERRY_TRY(ferry_i_place_path(p, file, &path));
    if (as == FERRY_DATA_VIEW) data = ferry_i_next_text(p->y);
    if (!data && as == FERRY_DATA_VIEW && label_elsewhere(opts, how))
        FERRY_TRY(ferry_i_place_prefix(p, ferry_i_read_one_of(ctx, path, opts, &data)));
    if (!data)
        FERRY_TRY(ferry_i_place_prefix(p, ferry_i_read_as(ctx, path, opts, as, &data)));
    FERRY_TRY(check_options(p, opts, data, how));
    if (strict && as == FERRY_DATA_VIEW) {
        ferry_i_labels_free(data->labels);
        data->labels = NULL;
    }
    if (strict && as == FERRY_DATA_LABELS && d->n_views > 0)
        FERRY_TRY(ferry_i_place_prefix(p, ferry_i_data_known_labels(ctx, d, data)));
    FERRY_TRY(ferry_i_place_prefix(p, ferry_domain_add_data(ctx, d, name, data)));
done:
    ferry_data_free(data);
    ferry_i_free(path);
    return st;
}

/* {name, knn: 10} of "graphs:": made of the views. */
static ferry_status add_near(const ferry_place *p, const ferry_place *knn, const char *name,
                             ferry_domain *d)
{
    const char *const keys[] = {"name", "knn"};
    ferry_status st = FERRY_OK;
    const char *text = NULL;
    char *end = NULL;

    FERRY_TRY(ferry_i_place_keys(p, keys, 2, NULL, 0));
    FERRY_TRY(ferry_i_place_string(knn, "a number of neighbours", &text));
    const bool any = strcmp(text, "auto") == 0;
    const long k = any ? 0 : strtol(text, &end, 10);
    if (!any && (*text == 0 || *end != 0 || k < 1 || k > 1000))
        FERRY_TRY(
            ferry_i_place_bad(knn, "expected a number of neighbours, 1 to 1000, or auto"));
    st = ferry_i_domain_add_near(p->y->ctx, d, name, k);
    if (st == FERRY_EDATA) st = ferry_i_place_prefix(knn, st);
done:
    return st;
}

/* Entries {name, x} of "views:" and {name, edges} or {name, knn} of "graphs:". */
static ferry_status add_named(const ferry_place *p, const char *file_key,
                              const ferry_opts *from, ferry_data_kind as, reading *how,
                              ferry_domain *d)
{
    /* only views are ever the same as others; the second pass reads that */
    const char *const keys[] = {"name", file_key, "text", "same_as"};
    const int64_t n_keys = as == FERRY_DATA_VIEW ? 4 : 3;
    ferry_status st = FERRY_OK;
    const char *name = NULL;
    ferry_opts *opts = NULL;
    ferry_place name_at, file;

    if (as == FERRY_DATA_GRAPH && ferry_i_place_get(p, "knn", &file)) {
        FERRY_TRY(ferry_i_place_need(p, "name", &name_at));
        FERRY_TRY(ferry_i_place_string(&name_at, "a name", &name));
        FERRY_TRY(add_near(p, &file, name, d));
        goto done;
    }
    FERRY_TRY(
        ferry_i_place_keys(p, keys, n_keys, ferry_i_read_table, ferry_i_read_table_n));
    FERRY_TRY(ferry_i_place_need(p, "name", &name_at));
    FERRY_TRY(ferry_i_place_string(&name_at, "a name", &name));
    FERRY_TRY(ferry_i_place_need(p, file_key, &file));
    FERRY_TRY(ferry_i_place_read_options(p, from, &opts));
    FERRY_TRY(add_file(&file, opts, as, how, name, d));
done:
    ferry_opts_free(opts);
    return st;
}

/* The entries of "views:" or "graphs:", in order. */
static ferry_status add_list(const ferry_place *p, const char *what, const char *file_key,
                             const ferry_opts *from, ferry_data_kind as, reading *how,
                             ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    ferry_place item;

    FERRY_TRY(ferry_i_place_sequence(p, what));
    for (int64_t i = 0; ferry_i_place_item(p, i, &item); i++)
        FERRY_TRY(add_named(&item, file_key, from, as, how, d));
done:
    return st;
}

/* `y: kind` for a column of the table: what a first task file often has. */
static ferry_status is_no_column(const ferry_place *p, const ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    const char *file = NULL;
    char *path = NULL;

    FERRY_TRY(ferry_i_place_string(p, "the name of a file", &file));
    FERRY_TRY(ferry_i_place_path(p, file, &path));
    if (d->n_views > 0 && !strpbrk(file, "./#") && access(path, F_OK) != 0)
        FERRY_TRY(ferry_i_place_bad(
            p, "%s: no such file (y is a file; a column of x is said so: label: %s)", file,
            file));
done:
    ferry_i_free(path);
    return st;
}

/* FILE, or {file: FILE} with reader options. */
static ferry_status add_labels(const ferry_place *p, ferry_goal goal, bool graphs,
                               ferry_domain *d)
{
    static const char *const keys[] = {"file"};
    ferry_status st = FERRY_OK;
    reading how = {.goal = goal, .strict = !graphs};
    ferry_opts *opts = NULL;
    ferry_place file = *p;

    if (ferry_i_place_node(p)->type == YAML_MAPPING_NODE) {
        FERRY_TRY(ferry_i_place_keys(p, keys, 1, ferry_i_read_table, ferry_i_read_table_n));
        FERRY_TRY(ferry_i_place_need(p, "file", &file));
        FERRY_TRY(ferry_i_place_read_options(p, NULL, &opts));
    }
    FERRY_TRY(is_no_column(&file, d));
    FERRY_TRY(add_file(&file, opts, FERRY_DATA_LABELS, &how, "y", d));
done:
    ferry_opts_free(opts);
    return st;
}

/* ---- labelled ---- */

/* all, none, a count, a fraction, {per_class: N}, {per_class: N, classes: M} or {ids: FILE}. */
static ferry_status parse_labelled(const ferry_place *p, ferry_domain *d)
{
    static const char *const keys[] = {"per_class", "ids", "classes"};
    static const char expected[] =
        "all, none, a count, a fraction, {per_class: N} or {ids: FILE}";
    ferry_status st = FERRY_OK;
    ferry_ctx *ctx = p->y->ctx;
    ferry_place value = *p, count_at, ids_at, classes_at;
    const char *s = NULL, *classes = NULL;
    char *path = NULL, *spec = NULL;

    if (d->role != FERRY_TARGET)
        FERRY_TRY(ferry_i_place_bad(p, "only a target's labels are hidden"));
    if (ferry_i_place_node(p)->type == YAML_MAPPING_NODE) {
        FERRY_TRY(ferry_i_place_keys(p, keys, 3, NULL, 0));
        const bool counts = ferry_i_place_get(p, "per_class", &count_at);
        const bool ids = ferry_i_place_get(p, "ids", &ids_at);
        if (counts == ids) FERRY_TRY(ferry_i_place_bad(p, "expected per_class or ids"));
        value = counts ? count_at : ids_at;
        FERRY_TRY(ferry_i_place_string(&value, counts ? "a count" : "a file", &s));
        if (!counts) FERRY_TRY(ferry_i_place_path(&value, s, &path));
        if (ferry_i_place_get(p, "classes", &classes_at)) {
            if (ids) FERRY_TRY(ferry_i_place_bad(&classes_at, "goes with per_class"));
            FERRY_TRY(ferry_i_place_string(&classes_at, "a count", &classes));
        }
        spec = ferry_i_sprintf("%s:%s%s%s", counts ? keys[0] : keys[1], counts ? s : path,
                               classes ? ",classes:" : "", classes ? classes : "");
    } else {
        FERRY_TRY(ferry_i_place_string(p, expected, &s));
        if (strncmp(s, "ids:", 4) == 0) FERRY_TRY(ferry_i_place_path(p, s + 4, &path));
        spec = path ? ferry_i_sprintf("ids:%s", path) : ferry_i_strdup(s);
    }
    FERRY_HAVE(ctx, spec);
    st = ferry_domain_set_labelled(ctx, d, spec);
    if (st == FERRY_EINVAL && value.node == p->node)
        st = ferry_i_place_bad(p, "expected %s, not '%s'", expected, s);
    else
        st = ferry_i_place_prefix(&value, st);
done:
    FERRY_FREE(path, spec);
    return st;
}

/* ---- the domain ---- */

/* Keys, name and role, before any file is opened. */
static ferry_status new_domain(const ferry_place *p, ferry_domain **out)
{
    static const char *const keys[] = {"name",  "role",     "x",       "views",
                                       "y",     "labelled", "ratings", "graphs",
                                       "pairs", "text",     "same_as", "same"};
    static const char *const roles[] = {"source", "intermediate", "target"};
    ferry_status st = FERRY_OK;
    ferry_place name_at, role_at;
    const char *name = NULL;
    int role = 0;

    FERRY_TRY(ferry_i_place_keys(p, keys, FERRY_COUNT(keys), ferry_i_read_table,
                                 ferry_i_read_table_n));
    FERRY_TRY(ferry_i_place_need(p, "name", &name_at));
    FERRY_TRY(ferry_i_place_string(&name_at, "the name of the domain", &name));
    FERRY_TRY(ferry_i_place_need(p, "role", &role_at));
    FERRY_TRY(ferry_i_place_one_of(&role_at, roles, FERRY_COUNT(roles), &role));
    FERRY_TRY(ferry_domain_new(p->y->ctx, name, (ferry_role)role, out));
done:
    return st;
}

/* Views, labels, ratings, graphs, in this order: graphs join instances that are there. */
static ferry_status fill(const ferry_place *p, ferry_goal goal, const ferry_opts *opts,
                         ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    ferry_place x, views, labels, part;
    const bool has_y = ferry_i_place_get(p, "y", &labels);
    const bool has_graphs = ferry_i_place_get(p, "graphs", &part);
    const bool has_x = ferry_i_place_get(p, "x", &x);
    const bool has_views = ferry_i_place_get(p, "views", &views);
    reading how = {.goal = goal, .domain = opts, .strict = has_y, .several = has_views};
    reading edges = {.goal = goal, .strict = has_y};

    if (has_x && has_views)
        FERRY_TRY(ferry_i_place_bad(&views, "x is given already, expected one of the two"));
    if (has_x) {
        FERRY_TRY(add_file(&x, opts, FERRY_DATA_VIEW, &how, "x", d));
        d->views[0]->unwritten = true; /* "x" is our name for it, not the user's */
    }
    if (!has_x && ferry_i_place_get(p, "same_as", &part))
        FERRY_TRY(ferry_i_place_bad(&part, "goes with x; with views it is a key of each"));
    if (has_views)
        FERRY_TRY(add_list(&views, "a list of views", "x", opts, FERRY_DATA_VIEW, &how, d));
    if (ferry_i_place_get(p, "same", &part)) FERRY_TRY(ferry_i_parse_same(&part, d));
    const char *label = has_views && !has_y ? ferry_opts_get(opts, "label") : NULL;
    if (label && strcmp(label, "none") != 0 && !d->labels)
        FERRY_TRY(
            ferry_i_place_bad(&views, "none of them has a column %s (label=)", label));
    if (has_y) FERRY_TRY(add_labels(&labels, goal, has_graphs, d));
    if (ferry_i_place_get(p, "ratings", &part))
        FERRY_TRY(add_file(&part, opts, FERRY_DATA_RATINGS, &how, "ratings", d));
    if (ferry_i_place_get(p, "graphs", &part))
        FERRY_TRY(add_list(&part, "a list of graphs", "edges", NULL, FERRY_DATA_GRAPH,
                           &edges, d));
    if (goal == FERRY_RATE && !d->ratings && d->role != FERRY_INTERMEDIATE)
        FERRY_TRY(
            ferry_i_place_bad(p, "goal rate needs ratings: FILE (user, item, value)"));
    if (d->n_views == 0 && d->n_graphs == 0 && !d->ratings)
        FERRY_TRY(ferry_i_place_bad(p, "expected x, views, graphs or ratings"));
    if (ferry_i_opts_count(opts) > 0 && d->n_views == 0 && !d->ratings)
        FERRY_TRY(ferry_i_place_bad(p, "reader options, but neither x, views nor ratings"));
    for (int64_t i = 0; ferry_opts_at(opts, i) && i < FERRY_COUNT(how.used); i++)
        if (!how.used[i])
            FERRY_TRY(ferry_i_place_prefix(
                p, ferry_i_option_refuse(p->y->ctx, how.path, how.format,
                                         ferry_opts_at(opts, i)->key)));
done:
    return st;
}

/* Names of domains are what results, pairs and settings refer to: they must differ. */
ferry_status ferry_i_parse_domain(const ferry_place *p, ferry_task *task)
{
    ferry_status st = FERRY_OK;
    ferry_domain *d = NULL;
    ferry_opts *opts = NULL;
    ferry_place name_at, labelled;

    FERRY_TRY(new_domain(p, &d));
    (void)ferry_i_place_get(p, "name", &name_at);
    for (int64_t i = 0; i < task->n_domains; i++)
        if (strcmp(task->domains[i]->name, d->name) == 0)
            FERRY_TRY(
                ferry_i_place_bad(&name_at, "a domain '%s' is there already", d->name));
    FERRY_TRY(ferry_i_place_read_options(p, NULL, &opts));
    FERRY_TRY(fill(p, task->goal, opts, d));
    if (ferry_i_place_get(p, "labelled", &labelled))
        FERRY_TRY(parse_labelled(&labelled, d));
    else if (d->role == FERRY_TARGET) /* what everybody expects: learn from all there are */
        FERRY_TRY(ferry_domain_set_labelled(p->y->ctx, d, "all"));
    st = ferry_task_add_domain(p->y->ctx, task, d);
    d = NULL;
done:
    ferry_opts_free(opts);
    ferry_domain_free(d);
    return st;
}
