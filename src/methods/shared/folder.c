/* Writing a task as a folder (folder.h).
 *
 * Which views are the same is written out (same_as): names that a CSV must have for its columns would otherwise link views
 * whose columns have none. */
#include "methods/shared/folder.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/json.h"

typedef struct writer {
    scope *s;
    const ferry_task *task;
    const char *folder;
    bool arrays;
    json_t *links;
    ferry_out *yaml;
} writer;

/* The file under way goes where the scope goes. */
static void abort_out(void *out)
{
    ferry_i_out_abort(*(ferry_out **)out);
}

static ferry_out **open_out(writer *w, const char *name)
{
    ferry_out **o = NEW(w->s, ferry_out *, 1);

    scope_defer(w->s, abort_out, o);
    scope_check(w->s, ferry_i_out_open(scope_ctx(w->s),
                                       scope_text(w->s, "%s/%s", w->folder, name), o));
    return o;
}

static void commit(writer *w, ferry_out **o)
{
    ferry_out *done = *o;

    *o = NULL;
    scope_check(w->s, ferry_i_out_commit(scope_ctx(w->s), done));
}

static void free_data(void *data)
{
    ferry_data_free(data);
}

static ferry_data *new_data(scope *s, const char *file, ferry_data_kind kind)
{
    ferry_data *data = ferry_i_data_new("domain", file, kind);

    if (!data) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(s, free_data, data);
    return data;
}

/* A text in double quotes of YAML. */
static const char *quoted(scope *s, const char *text)
{
    char *out = NEW(s, char, 4 * (int64_t)strlen(text) + 3), *at = out;

    *at++ = '"';
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 127) {
            at += snprintf(at, 5, "\\x%02x", c);
            continue;
        }
        if (c == '"' || c == '\\') *at++ = '\\';
        *at++ = (char)c;
    }
    *at++ = '"';
    return out;
}

/* "1-old.x.csv": what is strange in a name does not get into the file's. */
static const char *file_name(scope *s, int64_t at, const char *domain, const char *part,
                             const char *extension)
{
    char *out =
        scope_text(s, "%lld-%.40s.%.40s%s", (long long)at + 1, domain, part, extension);

    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c)) *c = '_';
    return out;
}

/* ---- which views are the same ---- */

static bool is_view(const json_t *at, const ferry_domain *d, const ferry_view *v)
{
    const char *domain = json_string_value(json_object_get(at, "domain"));
    const char *view = json_string_value(json_object_get(at, "view"));

    return domain && view && !strcmp(domain, d->name) && !strcmp(view, v->name);
}

/* "DOMAIN.VIEW", "none", or NULL: others say that they are the same as this one. */
static const char *same_as(const writer *w, const ferry_domain *d, const ferry_view *v)
{
    bool linked = false;

    for (size_t i = 0; i < json_array_size(w->links); i++) {
        const json_t *link = json_array_get(w->links, i);
        const json_t *other = json_object_get(link, "same_as");
        if (is_view(link, d, v))
            return scope_text(w->s, "%s.%s",
                              json_string_value(json_object_get(other, "domain")),
                              json_string_value(json_object_get(other, "view")));
        linked = linked || is_view(other, d, v);
    }
    return linked ? NULL : "none";
}

static void release_links(void *links)
{
    json_decref(links);
}

static void free_string(void *text)
{
    ferry_string_free(text);
}

static void read_links(writer *w)
{
    ferry_ctx *ctx = scope_ctx(w->s);
    char *text = NULL;

    scope_check(w->s, ferry_task_links(ctx, w->task, "json", &text));
    scope_defer(w->s, free_string, text);
    scope_check(w->s, ferry_i_json_parse(ctx, text, (int64_t)strlen(text), JSON_DECODE_ANY,
                                         NULL, &w->links));
    scope_defer(w->s, release_links, w->links);
}

/* ---- the parts of a domain ---- */

/* A CSV has no place for columns with the names that it gives its own. */
static bool fits_csv(const ferry_view *v)
{
    if (!v->x->dense) return false;
    for (int64_t j = 0; v->features && j < v->x->cols; j++) {
        const char *name = ferry_i_ids_at(v->features, j);
        if (!strcmp(name, "id") || !strncmp(name, "label", 5)) return false;
    }
    return true;
}

static void write_view(writer *w, int64_t at, const ferry_domain *d, const ferry_view *v)
{
    scope *s = w->s;
    const bool csv = !w->arrays && fits_csv(v);
    const char *file = file_name(s, at, d->name, v->name, csv ? ".csv" : ".npz");
    const char *link = same_as(w, d, v);
    ferry_data *data = new_data(s, file, FERRY_DATA_VIEW);

    data->x = ferry_i_matrix_ref(v->x);
    data->ids = ferry_i_ids_new();
    for (int64_t i = 0; data->ids && i < v->x->rows; i++)
        if (ferry_i_ids_add(data->ids, ferry_i_ids_at(d->ids, v->instance[i]), NULL) < 0)
            scope_check(s, ferry_i_nomem(scope_ctx(s)));
    data->features = v->features ? ferry_i_ids_copy(v->features) : NULL;
    if (!data->ids || !data->features != !v->features)
        scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_check(
        s, ferry_write(scope_ctx(s), data, scope_text(s, "%s/%s", w->folder, file), NULL));
    ferry_i_out_printf(w->yaml, "      - {name: %s, x: %s%s", quoted(s, v->name), file,
                       csv ? ", id: id, label: none" : "");
    if (link) ferry_i_out_printf(w->yaml, ", same_as: %s", quoted(s, link));
    ferry_i_out_printf(w->yaml, "}\n");
}

static void write_labels(writer *w, int64_t at, const ferry_domain *d)
{
    scope *s = w->s;
    ferry_ctx *ctx = scope_ctx(s);
    const char *file = file_name(s, at, d->name, "labels", ".csv");
    ferry_data *data = new_data(s, file, FERRY_DATA_LABELS);

    if (!(data->ids = ferry_i_ids_copy(d->ids))) scope_check(s, ferry_i_nomem(ctx));
    scope_check(s, ferry_i_labels_copy(ctx, d->labels, &data->labels));
    scope_check(s, ferry_write(ctx, data, scope_text(s, "%s/%s", w->folder, file), NULL));
    ferry_i_out_printf(w->yaml, "    y: %s\n", file);
}

static void write_graph(writer *w, int64_t at, const ferry_domain *d, const ferry_graph *g)
{
    const char *file = file_name(w->s, at, d->name, g->name, ".edges.csv");
    ferry_out **o = open_out(w, file);
    char number[32];

    ferry_i_out_printf(*o, "from,to,weight\n");
    for (int64_t i = 0; i < g->a->rows; i++)
        for (int64_t e = g->a->start[i]; e < g->a->start[i + 1]; e++) {
            if (g->a->index[e] < i) continue; /* the other direction */
            ferry_i_format_real(number, g->a->value[e]);
            ferry_i_out_csv(*o, "", ferry_i_ids_at(d->ids, i));
            ferry_i_out_write(*o, ",", 1);
            ferry_i_out_csv(*o, "", ferry_i_ids_at(d->ids, g->a->index[e]));
            ferry_i_out_printf(*o, ",%s\n", number);
        }
    commit(w, o);
    ferry_i_out_printf(w->yaml, "      - {name: %s, edges: %s}\n", quoted(w->s, g->name),
                       file);
}

/* Pairs with a value, or those without. */
static void put_ratings(writer *w, const ferry_ratings *r, const char *file, bool known)
{
    ferry_out **o = open_out(w, file);
    char number[32];

    ferry_i_out_printf(*o, known ? "user,item,rating\n" : "user,item\n");
    for (int64_t i = 0; i < r->n; i++) {
        if (isnan(r->value[i]) == known) continue;
        ferry_i_out_csv(*o, "", ferry_i_ids_at(r->users, r->user[i]));
        ferry_i_out_write(*o, ",", 1);
        ferry_i_out_csv(*o, "", ferry_i_ids_at(r->items, r->item[i]));
        number[known ? ferry_i_format_real(number, r->value[i]) : 0] = 0;
        ferry_i_out_printf(*o, "%s%s\n", known ? "," : "", number);
    }
    commit(w, o);
}

static void write_pairs(writer *w, int64_t at, const ferry_domain *d)
{
    const ferry_pairs *p = d->pairs;
    const char *file = file_name(w->s, at, d->name, "pairs", ".csv");
    ferry_out **o = open_out(w, file);

    for (int64_t i = p->left_domain && p->right_domain ? -1 : 0; i < p->n; i++) {
        ferry_i_out_csv(*o, "", i < 0 ? p->left_domain : p->left[i]);
        ferry_i_out_write(*o, ",", 1);
        ferry_i_out_csv(*o, "", i < 0 ? p->right_domain : p->right[i]);
        ferry_i_out_write(*o, "\n", 1);
    }
    commit(w, o);
    ferry_i_out_printf(w->yaml, "    pairs: %s\n", file);
}

static void write_domain(writer *w, int64_t at, const ferry_domain *d)
{
    static const char *const roles[] = {"source", "intermediate", "target"};

    ferry_i_out_printf(w->yaml, "  - name: %s\n    role: %s\n", quoted(w->s, d->name),
                       roles[d->role]);
    if (d->n_views > 0) ferry_i_out_printf(w->yaml, "    views:\n");
    for (int64_t i = 0; i < d->n_views; i++) {
        const int64_t mark = scope_mark(w->s);
        write_view(w, at, d, d->views[i]);
        scope_release(w->s, mark);
    }
    if (d->n_graphs > 0) ferry_i_out_printf(w->yaml, "    graphs:\n");
    for (int64_t i = 0; i < d->n_graphs; i++)
        write_graph(w, at, d, d->graphs[i]);
    if (d->labels) write_labels(w, at, d);
    if (d->labels && d->role == FERRY_TARGET)
        ferry_i_out_printf(w->yaml, "    labelled: 1.0\n");
    if (d->ratings) {
        const char *file = file_name(w->s, at, d->name, "ratings", ".csv");
        put_ratings(w, d->ratings, file, true);
        ferry_i_out_printf(w->yaml, "    ratings: %s\n", file);
        if (d->role == FERRY_TARGET) ferry_i_out_printf(w->yaml, "    labelled: 1.0\n");
    }
    if (d->pairs) write_pairs(w, at, d);
}

/* The target's instances without a label, in their order. */
static void write_questions(writer *w)
{
    const ferry_domain *target = NULL;

    scope_check(w->s, ferry_i_task_target(scope_ctx(w->s), w->task, &target));
    if (w->task->goal == FERRY_RATE) {
        put_ratings(w, target->ratings, "predict.csv", false);
        return;
    }
    ferry_out **o = open_out(w, "predict.csv");
    ferry_i_out_printf(*o, "id\n");
    for (int64_t i = 0; i < ferry_i_ids_count(target->ids); i++) {
        if (ferry_i_labels_has(target->labels, i)) continue;
        ferry_i_out_csv(*o, "", ferry_i_ids_at(target->ids, i));
        ferry_i_out_write(*o, "\n", 1);
    }
    commit(w, o);
}

void write_folder(scope *s, const ferry_task *task, const char *folder, bool arrays)
{
    writer w = {.s = s, .task = task, .folder = folder, .arrays = arrays};
    const int64_t mark = scope_mark(s);

    read_links(&w);
    ferry_out **yaml = open_out(&w, "task.yaml");
    w.yaml = *yaml;
    ferry_i_out_printf(w.yaml, "task: %s\ngoal: %s\ndomains:\n", quoted(s, task->name),
                       ferry_goal_name(task->goal));
    for (int64_t i = 0; i < task->n_domains; i++)
        write_domain(&w, i, task->domains[i]);
    commit(&w, yaml);
    write_questions(&w);
    scope_release(s, mark);
}
