/* Sets of sources: making, writing, naming in task files. */
#include <stdarg.h>
#include <stdio.h>

#include "reproduce/sources.h"

ferry_sources *ferry_i_sources_new(const char *name)
{
    ferry_sources *s = ferry_i_calloc(1, sizeof *s);

    if (s) s->name = name;
    return s;
}

void ferry_i_sources_free(ferry_sources *s)
{
    if (!s) return;
    for (int64_t v = 0; v < s->n_views; v++)
        ferry_i_matrix_free(s->view[v].x);
    for (int64_t g = 0; g < s->n_graphs; g++)
        ferry_i_free(s->graph[g].ends);
    ferry_i_labels_free(s->labels);
    ferry_i_free(s);
}

ferry_status ferry_i_sources_view(ferry_ctx *ctx, ferry_sources *s, const char *name,
                                  ferry_matrix *x)
{
    if (s->n_views == FERRY_MOST_SOURCES) {
        ferry_i_matrix_free(x);
        return ferry_i_fail(ctx, FERRY_EINVAL, "%s: more than %d views", s->name,
                            FERRY_MOST_SOURCES);
    }
    s->view[s->n_views++] = (ferry_source_view){name, x};
    return FERRY_OK;
}

ferry_source_graph *ferry_i_sources_graph(ferry_sources *s, const char *name)
{
    ferry_source_graph *g = &s->graph[s->n_graphs++];

    *g = (ferry_source_graph){.name = name};
    return g;
}

ferry_status ferry_i_sources_edge(ferry_ctx *ctx, ferry_source_graph *g, int64_t a,
                                  int64_t b)
{
    if (2 * g->n + 2 > g->cap) {
        const int64_t cap = g->cap ? 2 * g->cap : 1024;
        int64_t *ends = ferry_i_realloc(g->ends, cap, sizeof *ends);
        if (!ends) return ferry_i_fail(ctx, FERRY_ENOMEM, "no memory for edges");
        g->ends = ends;
        g->cap = cap;
    }
    g->ends[2 * g->n] = a;
    g->ends[2 * g->n++ + 1] = b;
    return FERRY_OK;
}

ferry_status ferry_i_sources_clique(ferry_ctx *ctx, ferry_source_graph *g, int64_t n,
                                    const int64_t *members)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            FERRY_TRY(ferry_i_sources_edge(ctx, g, members[i], members[j]));
done:
    return st;
}

/* ---- written ---- */

/* Dense views have ids, so that rows can be left out; sparse ones are complete. */
static const char *extension(const ferry_matrix *x)
{
    return x->dense ? "csv" : "mtx";
}

static ferry_status path_of(ferry_ctx *ctx, ferry_lab *lab, const char *folder,
                            const char *name, const char *ext, char **out)
{
    ferry_status st = FERRY_OK;
    char *below = ferry_i_sprintf("%s/%s.%s", folder, name, ext);

    *out = NULL;
    FERRY_NEED(ctx, below, FERRY_ENOMEM, "no memory for the name of a file");
    FERRY_TRY(ferry_i_lab_path(ctx, lab, below, out));
done:
    ferry_i_free(below);
    return st;
}

/* Write one view without the instances whose bit is set in lacks. */
static ferry_status write_view(ferry_ctx *ctx, const ferry_source_view *v, unsigned bit,
                               const unsigned *lacks, const char *path)
{
    ferry_status st = FERRY_OK;
    const int64_t n = v->x->rows;
    ferry_data *d = ferry_i_data_new("prepared", path, FERRY_DATA_VIEW);
    int64_t *kept = ferry_i_calloc(n, sizeof *kept), m = 0;
    char id[32];

    FERRY_NEED(ctx, d && kept, FERRY_ENOMEM, "%s: no memory", path);
    if (v->x->dense) {
        d->ids = ferry_i_ids_new();
        FERRY_NEED(ctx, d->ids, FERRY_ENOMEM, "%s: no memory", path);
    }
    for (int64_t i = 0; i < n; i++) {
        if (lacks[i] & bit) continue;
        kept[m++] = i;
        if (!d->ids) continue;
        ferry_i_format_real(id, (double)(i + 1));
        FERRY_NEED(ctx, ferry_i_ids_add(d->ids, id, NULL) >= 0, FERRY_ENOMEM,
                   "%s: no memory", path);
    }
    FERRY_TRY(ferry_i_matrix_take(ctx, v->x, m, kept, v->x->cols, NULL, &d->x));
    FERRY_TRY(ferry_write(ctx, d, path, NULL));
done:
    ferry_i_free(kept);
    ferry_data_free(d);
    return st;
}

static ferry_status write_graph(ferry_ctx *ctx, const ferry_source_graph *g,
                                const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;

    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    for (int64_t e = 0; e < g->n; e++)
        ferry_i_out_printf(o, "%lld\t%lld\n", (long long)(g->ends[2 * e] + 1),
                           (long long)(g->ends[2 * e + 1] + 1));
    st = ferry_i_out_commit(ctx, o);
done:
    return st;
}

static ferry_status write_labels(ferry_ctx *ctx, const ferry_labels *l, const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_data *d = ferry_i_data_new("prepared", path, FERRY_DATA_LABELS);

    FERRY_NEED(ctx, d, FERRY_ENOMEM, "%s: no memory", path);
    d->ids = ferry_i_ids_numbers(l->n);
    FERRY_NEED(ctx, d->ids, FERRY_ENOMEM, "%s: no memory", path);
    FERRY_TRY(ferry_i_labels_copy(ctx, l, &d->labels));
    FERRY_TRY(ferry_write(ctx, d, path, NULL));
done:
    ferry_data_free(d);
    return st;
}

/* Which views each instance lacks, as bits: half of them for a share of the instances. */
static ferry_status draw_lacks(ferry_ctx *ctx, const ferry_sources *s, double lacking,
                               unsigned *lacks)
{
    ferry_status st = FERRY_OK;
    const int64_t half = s->n_views / 2;
    int64_t *order = ferry_i_calloc(s->n, sizeof *order), view[FERRY_MOST_SOURCES];
    ferry_rng rng;

    FERRY_NEED(ctx, order, FERRY_ENOMEM, "%s: no memory", s->name);
    for (int64_t i = 0; i < s->n; i++)
        order[i] = i;
    ferry_i_rng_for(ctx, &rng, "incomplete");
    ferry_i_rng_shuffle(&rng, s->n, order);
    for (int64_t i = 0; i < (int64_t)(lacking * (double)s->n); i++) {
        for (int64_t v = 0; v < s->n_views; v++)
            view[v] = v;
        ferry_i_rng_shuffle(&rng, s->n_views, view);
        for (int64_t v = 0; v < half; v++)
            lacks[order[i]] |= 1u << view[v];
    }
done:
    ferry_i_free(order);
    return st;
}

ferry_status ferry_i_sources_write(ferry_ctx *ctx, ferry_lab *lab, const ferry_sources *s,
                                   const char *name, double lacking)
{
    ferry_status st = FERRY_OK;
    unsigned *lacks = ferry_i_calloc(s->n, sizeof *lacks);
    char *path = NULL;

    FERRY_NEED(ctx, lacks, FERRY_ENOMEM, "%s: no memory", s->name);
    FERRY_TRY(ferry_i_lab_path(ctx, lab, name, &path));
    FERRY_TRY(ferry_i_mkdirs(ctx, path));
    if (lacking > 0) FERRY_TRY(draw_lacks(ctx, s, lacking, lacks));
    for (int64_t v = 0; v < s->n_views; v++) {
        const ferry_source_view *view = &s->view[v];
        ferry_i_free(path);
        FERRY_TRY(path_of(ctx, lab, name, view->name, extension(view->x), &path));
        FERRY_TRY(write_view(ctx, view, 1u << v, lacks, path));
    }
    for (int64_t g = 0; g < s->n_graphs; g++) {
        ferry_i_free(path);
        FERRY_TRY(path_of(ctx, lab, name, s->graph[g].name, "tsv", &path));
        FERRY_TRY(write_graph(ctx, &s->graph[g], path));
    }
    ferry_i_free(path);
    FERRY_TRY(path_of(ctx, lab, name, "labels", "csv", &path));
    FERRY_TRY(write_labels(ctx, s->labels, path));
done:
    ferry_i_free(path);
    ferry_i_free(lacks);
    return st;
}

ferry_status ferry_i_sources_task(ferry_ctx *ctx, ferry_lab *lab, const ferry_sources *s,
                                  const ferry_sources_task *t)
{
    ferry_status st = FERRY_OK;
    ferry_text y = {0};

    ferry_i_text_addf(
        &y, "task: %s\ngoal: %s\ndomains:\n  - name: %s\n    role: target\n    views:\n",
        t->folder, t->goal, s->name);
    for (int64_t v = 0; v < s->n_views; v++)
        if (t->views >> v & 1)
            ferry_i_text_addf(&y, "      - {name: %s, x: %s/%s.%s}\n", s->view[v].name,
                              t->folder, s->view[v].name, extension(s->view[v].x));
    for (int64_t g = 0, first = 1; g < s->n_graphs; g++) {
        if (!(t->graphs >> g & 1)) continue;
        if (first) ferry_i_text_add(&y, "    graphs:\n");
        first = 0;
        ferry_i_text_addf(&y, "      - {name: %s, edges: %s/%s.tsv}\n", s->graph[g].name,
                          t->folder, s->graph[g].name);
    }
    ferry_i_text_addf(&y, "    y: %s/labels.csv\n    labelled: %s\n", t->folder,
                      t->labelled);
    ferry_i_text_addf(&y, "methods:\n%sevaluate: {repeats: %lld, metrics: %s}\n",
                      t->methods, (long long)t->repeats, t->metric);
    FERRY_NEED(ctx, !y.failed, FERRY_ENOMEM, "%s: no memory for a task", s->name);
    FERRY_TRY(ferry_i_lab_task(ctx, lab, t->file, y.s));
done:
    ferry_i_text_free(&y);
    return st;
}

ferry_status ferry_i_sources_score(ferry_ctx *ctx, ferry_lab *lab, const char *method,
                                   double factor, ferry_score *out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_lab_score(ctx, lab, method, NULL, out));
    *out = ferry_i_score_times(*out, factor);
    if (out->reason) out->reason = "it did not run";
done:
    return st;
}

ferry_status ferry_i_sources_claim(ferry_ctx *ctx, ferry_lab *lab, bool ours, bool held,
                                   const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!ours) return ferry_i_lab_claim(ctx, lab, held, "%s", text);
    return ferry_i_lab_note(ctx, lab, "Ferry's version, %s: %s", held ? "held" : "NOT held",
                            text);
}
