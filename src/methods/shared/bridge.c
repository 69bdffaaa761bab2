/* From a task to places and spaces (bridge.h). */
#include "methods/shared/bridge.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/shared/bridge_prepare.h"

enum { NOTES = 2048 }; /* bytes: more notes than these say nothing new */

static void space_clear(ttl_space *s)
{
    ferry_i_free(s->name);
    ferry_i_ids_free(s->features);
    ferry_i_free(s->shift);
    ferry_i_free(s->factor);
}

void ferry_i_bridge_free(ttl_bridge *b)
{
    if (!b) return;
    for (int64_t i = 0; b->place && i < b->n_places; i++) {
        ferry_i_free(b->place[i].instance);
        ferry_i_matrix_free(b->place[i].x);
        ferry_i_free(b->place[i].known);
        ferry_i_free(b->place[i].has);
    }
    for (int64_t s = 0; b->space && s < b->n_spaces; s++)
        space_clear(&b->space[s]);
    ferry_i_free(b->place);
    ferry_i_free(b->space);
    ferry_i_free(b->target_width);
    ferry_i_free(b->notes);
    ferry_i_free(b);
}

void ferry_i_bridge_note(ferry_ctx *ctx, const ttl_bridge *b, const char *fmt, ...)
{
    const size_t used = strlen(b->notes);
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ferry_i_log(ctx, FERRY_INFO, "%s: %s", b->method, text);
    (void)snprintf(b->notes + used, (size_t)NOTES - used, "%s%s", used ? "; " : "", text);
    ferry_i_diag_text(ctx, "note", b->notes);
}

const ttl_place *ferry_i_bridge_target(const ttl_bridge *b)
{
    return &b->place[b->n_places - 1];
}

/* ---- places ---- */

static bool has_labels(const ferry_domain *d)
{
    for (int64_t i = 0; d->labels && i < d->labels->n; i++)
        if (ferry_i_labels_has(d->labels, i)) return true;
    return false;
}

static ferry_status add_place(ferry_ctx *ctx, ttl_bridge *b, const ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    ttl_place *p = &b->place[b->n_places];

    FERRY_NEED(ctx, d->n_views > 0, FERRY_ENEEDS, "%s needs a view of domain '%s'",
               b->method, d->name);
    b->n_places++;
    p->domain = d;
    p->n = ferry_i_ids_count(d->ids);
    p->instance = ferry_i_calloc(p->n, sizeof *p->instance);
    p->known = ferry_i_calloc(p->n, sizeof *p->known);
    if (!p->instance || !p->known) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < p->n; i++)
        p->instance[i] = i;
done:
    return st;
}

static ferry_status list_places(ferry_ctx *ctx, const ferry_task *task, ttl_bridge *b)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *d = NULL;

    b->place = ferry_i_calloc(task->n_domains, sizeof *b->place);
    if (!b->place) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_SOURCE, i)); i++) {
        if (has_labels(d))
            FERRY_TRY(add_place(ctx, b, d));
        else
            ferry_i_log(ctx, FERRY_INFO, "%s: source '%s' has no labels and is left out",
                        b->method, d->name);
    }
    b->n_sources = b->n_places;
    FERRY_NEED(ctx, b->n_sources > 0, FERRY_ENEEDS, "%s needs a source with labels",
               b->method);
    for (int64_t i = 0; (d = ferry_i_task_role(task, FERRY_INTERMEDIATE, i)); i++)
        FERRY_TRY(add_place(ctx, b, d));
    FERRY_TRY(ferry_i_task_target(ctx, task, &d));
    FERRY_TRY(add_place(ctx, b, d));
done:
    return st;
}

/* The classes of the instances that are left. */
static void read_labels(ttl_place *p, bool hide)
{
    const ferry_labels *l = hide ? NULL : p->domain->labels;

    p->labelled = 0;
    for (int64_t i = 0; i < p->n; i++) {
        p->known[i] =
            l && ferry_i_labels_has(l, p->instance[i]) ? l->cls[p->instance[i]] : -1;
        p->labelled += p->known[i] >= 0;
    }
}

/* ---- spaces ---- */

/* The space of a view by its name (`one`: the only one); added when new. */
static ferry_status space_of(ferry_ctx *ctx, ttl_bridge *b, bool one, const ferry_view *v,
                             int64_t *at)
{
    ferry_status st = FERRY_OK;

    for (*at = 0; *at < b->n_spaces; (*at)++)
        if (one || strcmp(b->space[*at].name, v->name) == 0) return st;
    b->n_spaces++;
    b->space[*at].name = ferry_i_strdup(v->name);
    if (!b->space[*at].name) FERRY_TRY(ferry_i_nomem(ctx));
    if (v->features) b->space[*at].features = ferry_i_ids_new();
    if (v->features && !b->space[*at].features) FERRY_TRY(ferry_i_nomem(ctx));
done:
    return st;
}

/* Add a view's columns to its space; map[j] (new) is where they stand there. */
static ferry_status add_columns(ferry_ctx *ctx, const ttl_bridge *b, const ferry_domain *d,
                                const ferry_view *v, ttl_space *s, int32_t **map)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = v->x->cols;

    *map = ferry_i_calloc(cols, sizeof **map);
    if (!*map) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_NEED(ctx, !v->features == !s->features, FERRY_ENEEDS,
               "%s: view '%s' of domain '%s' %s names of features, that of another domain "
               "%s: they cannot be lined up",
               b->method, v->name, d->name, v->features ? "has" : "has no",
               v->features ? "has none" : "has");
    FERRY_NEED(ctx, v->features || !v->x->dense || s->cols == 0 || s->cols == cols,
               FERRY_ENEEDS,
               "%s: view '%s' of domain '%s' has %lld features, that of another domain "
               "%lld; views of different things need different names",
               b->method, v->name, d->name, (long long)cols, (long long)s->cols);
    if (!v->features && cols > s->cols) s->cols = cols;
    for (int64_t j = 0; j < cols; j++) {
        const int64_t at =
            v->features ? ferry_i_ids_add(s->features, ferry_i_ids_at(v->features, j), NULL)
                        : j;
        if (at < 0) FERRY_TRY(ferry_i_nomem(ctx));
        (*map)[j] = (int32_t)at;
    }
    if (v->features) s->cols = ferry_i_ids_count(s->features);
done:
    return st;
}

/* The views of all places on their way into the spaces: index place * n_spaces + space. */
typedef struct loading {
    const ferry_view **view;
    int32_t **map;
    ferry_matrix **x;
    int64_t n;
} loading;

static void loading_clear(loading *l)
{
    for (int64_t i = 0; i < l->n; i++) {
        if (l->map) ferry_i_free(l->map[i]);
        if (l->x) ferry_i_matrix_free(l->x[i]);
    }
    ferry_i_free(l->view);
    ferry_i_free(l->map);
    ferry_i_free(l->x);
}

static int64_t most_spaces(const ttl_bridge *b, bool *one)
{
    int64_t n = 0;

    *one = true;
    for (int64_t i = 0; i < b->n_places; i++) {
        n += b->place[i].domain->n_views;
        *one = *one && b->place[i].domain->n_views == 1;
    }
    return *one ? 1 : n;
}

/* Target first, so that its views are the first spaces and its columns their first. */
static ferry_status list_spaces(ferry_ctx *ctx, ttl_bridge *b, loading *l)
{
    ferry_status st = FERRY_OK;
    bool one = true;
    const int64_t most = most_spaces(b, &one), n = b->n_places;

    b->space = ferry_i_calloc(most, sizeof *b->space);
    b->n_target = b->place[n - 1].domain->n_views;
    b->target_width = ferry_i_calloc(b->n_target, sizeof *b->target_width);
    l->view = ferry_i_calloc(n * most, sizeof *l->view);
    l->map = ferry_i_calloc(n * most, sizeof *l->map);
    l->x = ferry_i_calloc(n * most, sizeof *l->x);
    if (!b->space || !b->target_width || !l->view || !l->map || !l->x)
        FERRY_TRY(ferry_i_nomem(ctx));
    l->n = n * most;
    for (int64_t i = n - 1; i >= 0; i--) {
        const ferry_domain *d = b->place[i].domain;
        b->place[i].has = ferry_i_calloc(most, sizeof *b->place[i].has);
        if (!b->place[i].has) FERRY_TRY(ferry_i_nomem(ctx));
        for (int64_t v = 0; v < d->n_views; v++) {
            int64_t s = 0;
            FERRY_TRY(space_of(ctx, b, one, d->views[v], &s));
            FERRY_TRY(
                add_columns(ctx, b, d, d->views[v], &b->space[s], &l->map[i * most + s]));
            l->view[i * most + s] = d->views[v];
            b->place[i].has[s] = 1;
            if (i == n - 1) b->target_width[s] = d->views[v]->x->cols;
        }
    }
    for (int64_t s = 0; s < b->n_spaces; s++) {
        b->space[s].begin = b->cols;
        b->cols += b->space[s].cols;
    }
    FERRY_NEED(ctx, b->cols < INT32_MAX, FERRY_ENEEDS, "%s: %lld features are too many",
               b->method, (long long)b->cols);
done:
    return st;
}

/* Rows of a view for the n instances, CSR in the columns of its space. */
static ferry_status view_rows(ferry_ctx *ctx, const ferry_view *v, const ttl_space *s,
                              const int32_t *map, int64_t n, const int64_t *instance,
                              ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = ferry_i_calloc(n, sizeof *rows);
    ferry_matrix *csr = NULL;

    if (!rows) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < n; i++)
        rows[i] = instance[i] < v->n_instances ? v->row_of[instance[i]] : -1;
    FERRY_TRY(ferry_i_to_csr(ctx, v->x, s->full, &csr));
    FERRY_TRY(ferry_i_matrix_take(ctx, csr, n, rows, s->cols, map, out));
done:
    ferry_i_matrix_free(csr);
    ferry_i_free(rows);
    return st;
}

static ferry_status load_views(ferry_ctx *ctx, ttl_bridge *b, ttl_scale scale, loading *l)
{
    ferry_status st = FERRY_OK;
    const int64_t most = l->n / b->n_places;

    for (int64_t s = 0; s < b->n_spaces; s++) {
        ttl_looks looks = {0};
        for (int64_t i = 0; i < b->n_places; i++)
            if (l->view[i * most + s]) ferry_i_looks_add(&looks, l->view[i * most + s]->x);
        b->space[s].scale = ferry_i_looks_scale(&looks, scale);
        b->space[s].full = b->space[s].scale == TTL_STANDARD && !looks.sparse;
        b->space[s].negative = looks.negative;
        b->space[s].wordlike = ferry_i_looks_wordlike(&looks);
        for (int64_t i = 0; i < b->n_places; i++) {
            const int64_t at = i * most + s;
            if (l->view[at])
                FERRY_TRY(view_rows(ctx, l->view[at], &b->space[s], l->map[at],
                                    b->place[i].n, b->place[i].instance, &l->x[at]));
            else
                FERRY_TRY(
                    ferry_i_matrix_csr(ctx, b->place[i].n, b->space[s].cols, 0, &l->x[at]));
        }
    }
done:
    return st;
}

/* ---- instances of a bridge that are also in the target ---- */

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* One number for what the target's views say about instance i; 0: nothing. */
static uint64_t target_side(const ttl_bridge *b, ferry_matrix *const *x, int64_t i)
{
    uint64_t sum = 0;

    for (int64_t s = 0; s < b->n_target; s++)
        if (x[s]->start[i + 1] > x[s]->start[i])
            sum = sum * 31 + (ferry_i_row_hash(x[s], i) | 1);
    return sum;
}

/* Leave instances of place i out that look like one of the target's (hash, sorted). */
static ferry_status drop_leaks(ferry_ctx *ctx, ttl_bridge *b, int64_t i,
                               const uint64_t *hash, int64_t n_hash, ferry_matrix **x)
{
    ferry_status st = FERRY_OK;
    ttl_place *p = &b->place[i];
    int64_t *rows = ferry_i_calloc(p->n, sizeof *rows), kept = 0;

    if (!rows) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t r = 0; r < p->n; r++) {
        const uint64_t h = target_side(b, x, r);
        if (h && bsearch(&h, hash, (size_t)n_hash, sizeof h, by_hash)) continue;
        p->instance[kept] = p->instance[r];
        rows[kept++] = r;
    }
    if (kept == p->n) goto done;
    ferry_i_log(
        ctx, FERRY_INFO,
        "%s: %lld of %lld instances of '%s' are also in the target and are left out",
        b->method, (long long)(p->n - kept), (long long)p->n, p->domain->name);
    b->leaks += p->n - kept;
    p->n = kept;
    for (int64_t s = 0; s < b->n_spaces; s++) {
        ferry_matrix *less = NULL;
        FERRY_TRY(ferry_i_matrix_take(ctx, x[s], kept, rows, x[s]->cols, NULL, &less));
        ferry_i_matrix_free(x[s]);
        x[s] = less;
    }
done:
    ferry_i_free(rows);
    return st;
}

static ferry_status find_leaks(ferry_ctx *ctx, ttl_bridge *b, loading *l)
{
    ferry_status st = FERRY_OK;
    const int64_t most = l->n / b->n_places, last = b->n_places - 1, n = b->place[last].n;
    uint64_t *hash = ferry_i_calloc(n, sizeof *hash);

    if (!hash) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < n; i++)
        hash[i] = target_side(b, l->x + last * most, i);
    qsort(hash, (size_t)n, sizeof *hash, by_hash);
    for (int64_t i = b->n_sources; i < last; i++)
        if (b->place[i].domain->n_views > 1)
            FERRY_TRY(drop_leaks(ctx, b, i, hash, n, l->x + i * most));
done:
    ferry_i_free(hash);
    return st;
}

/* ---- all of it ---- */

/* Prepare every space and put each place's side by side. */
static ferry_status join_views(ferry_ctx *ctx, ttl_bridge *b, loading *l)
{
    ferry_status st = FERRY_OK;
    const int64_t most = l->n / b->n_places;
    ferry_matrix **column = ferry_i_calloc(b->n_places, sizeof(ferry_matrix *));

    if (!column) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t s = 0; s < b->n_spaces; s++) {
        for (int64_t i = 0; i < b->n_places; i++)
            column[i] = b->place[i].has[s] ? l->x[i * most + s] : NULL;
        FERRY_TRY(ferry_i_space_measure(ctx, b->n_places, column, &b->space[s]));
        for (int64_t i = 0; i < b->n_places; i++)
            ferry_i_space_apply(&b->space[s], l->x[i * most + s]);
    }
    for (int64_t i = 0; i < b->n_places; i++)
        FERRY_TRY(ferry_i_matrix_join(ctx, b->n_spaces,
                                      (const ferry_matrix *const *)l->x + i * most,
                                      &b->place[i].x));
done:
    ferry_i_free(column);
    return st;
}

static void tell(ferry_ctx *ctx, const ttl_bridge *b)
{
    static const char *const names[] = {"auto",  "none",      "l2",
                                        "tfidf", "hellinger", "standard"};

    for (int64_t s = 0; s < b->n_spaces; s++)
        ferry_i_log(ctx, FERRY_INFO, "%s: view '%s': %lld features, scale=%s", b->method,
                    b->space[s].name, (long long)b->space[s].cols,
                    names[b->space[s].scale]);
    ferry_i_diag_text(ctx, "scale", names[b->space[0].scale]);
    if (b->leaks) ferry_i_diag_real(ctx, "leaks", (double)b->leaks);
}

ferry_status ferry_i_bridge_new(ferry_ctx *ctx, const char *method, const ferry_task *task,
                                ttl_reading how, ttl_bridge **out)
{
    ferry_status st = FERRY_OK;
    ttl_bridge *b = ferry_i_calloc(1, sizeof *b);
    loading l = {0};

    *out = NULL;
    if (!b) FERRY_TRY(ferry_i_nomem(ctx));
    b->method = method;
    b->notes = ferry_i_calloc(NOTES, sizeof *b->notes);
    if (!b->notes) FERRY_TRY(ferry_i_nomem(ctx));
    b->c = ferry_i_ids_count(task->names);
    FERRY_NEED(ctx, b->c >= 2, FERRY_ENEEDS, "%s needs at least two classes", method);
    FERRY_TRY(list_places(ctx, task, b));
    FERRY_TRY(list_spaces(ctx, b, &l));
    FERRY_TRY(load_views(ctx, b, (ttl_scale)how.scale, &l));
    if (how.leaks == 0) FERRY_TRY(find_leaks(ctx, b, &l));
    for (int64_t i = 0; i < b->n_places; i++)
        read_labels(&b->place[i], how.bridge_labels == TTL_LABELS_HIDE &&
                                      i >= b->n_sources && i < b->n_places - 1);
    FERRY_TRY(join_views(ctx, b, &l));
    tell(ctx, b);
    *out = b;
    b = NULL;
done:
    loading_clear(&l);
    ferry_i_bridge_free(b);
    return st;
}

double ferry_i_bridge_cost(const ttl_bridge *b, int64_t i, double C)
{
    bool words = true;

    if (C > 0) return C;
    for (int64_t s = 0; s < b->n_spaces; s++)
        for (int64_t before = 0; before < i; before++)
            if (b->place[i].has[s] && b->place[before].has[s])
                words = words && b->space[s].wordlike;
    return words ? 10 : 1;
}

bool ferry_i_bridge_lengths(const ttl_bridge *b)
{
    for (int64_t s = 0; s < b->n_spaces; s++)
        if (b->space[s].scale == TTL_NONE || b->space[s].scale == TTL_STANDARD)
            return false;
    return true;
}

/* ---- columns ---- */

ferry_status ferry_i_bridge_used(ferry_ctx *ctx, const ttl_bridge *b, int64_t i,
                                 uint8_t **used)
{
    const ferry_matrix *x = b->place[i].x;

    *used = ferry_i_calloc(b->cols, sizeof **used);
    if (!*used) return ferry_i_nomem(ctx);
    for (int64_t e = 0; e < x->nnz; e++)
        (*used)[x->index[e]] = 1;
    return FERRY_OK;
}

const char *ferry_i_bridge_column(const ttl_bridge *b, int64_t j, char *buf, size_t size)
{
    int64_t s = b->n_spaces - 1;

    while (s > 0 && b->space[s].begin > j)
        s--;
    if (b->space[s].features)
        return ferry_i_ids_at(b->space[s].features, j - b->space[s].begin);
    (void)snprintf(buf, size, "%s.%lld", b->space[s].name,
                   (long long)(j - b->space[s].begin + 1));
    return buf;
}

enum { TOP = 10 };

/* The TOP columns of group g by score, best first; how many there are. */
static int64_t best_columns(const ttl_bridge *b, int64_t k, int64_t g, const double *score,
                            int64_t *best)
{
    int64_t n = 0;

    for (int64_t j = 0; j < b->cols; j++) {
        const double s = score[j * k + g];
        int64_t at = n;
        if (!(s > 0) || (n == TOP && s <= score[best[TOP - 1] * k + g])) continue;
        if (n < TOP) n++;
        for (at = n - 1; at > 0 && score[best[at - 1] * k + g] < s; at--)
            best[at] = best[at - 1];
        best[at] = j;
    }
    return n;
}

void ferry_i_bridge_tell_top(ferry_ctx *ctx, const char *key, const ttl_bridge *b,
                             const ferry_ids *names, int64_t k, const double *score)
{
    json_t *all = json_object();
    int64_t best[TOP];

    for (int64_t g = 0; g < k; g++) {
        const int64_t n = best_columns(b, k, g, score, best);
        json_t *list = json_array();
        char buf[256];
        for (int64_t i = 0; i < n; i++)
            json_array_append_new(
                list, json_string(ferry_i_bridge_column(b, best[i], buf, sizeof buf)));
        (void)snprintf(buf, sizeof buf, "%lld", (long long)g + 1);
        json_object_set_new(all, names ? ferry_i_ids_at(names, g) : buf, list);
    }
    ferry_i_diag_json(ctx, key, all);
}

ferry_status ferry_i_columns_cut(ferry_ctx *ctx, const ferry_matrix *x, const uint8_t *keep,
                                 bool l2, ferry_matrix **out, int64_t **kept)
{
    ferry_status st = FERRY_OK;
    int32_t *to = ferry_i_calloc(x->cols, sizeof *to);
    int64_t nnz = 0, cols = 0, *old = NULL;

    *out = NULL;
    if (kept) *kept = NULL;
    if (!to) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t j = 0; j < x->cols; j++)
        to[j] = keep[j] ? (int32_t)cols++ : -1;
    for (int64_t e = 0; e < x->nnz; e++)
        nnz += to[x->index[e]] >= 0;
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows, cols, nnz, out));
    nnz = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            if (to[x->index[e]] < 0) continue;
            (*out)->index[nnz] = to[x->index[e]];
            (*out)->value[nnz++] = x->value[e];
        }
        (*out)->start[i + 1] = nnz;
    }
    if (l2) ferry_i_rows_to_length_1(*out);
    if (!kept) goto done;
    old = ferry_i_calloc(cols, sizeof *old);
    if (!old) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t j = 0; j < x->cols; j++)
        if (to[j] >= 0) old[to[j]] = j;
    *kept = old;
done:
    ferry_i_free(to);
    if (st != FERRY_OK) {
        ferry_i_matrix_free(*out);
        *out = NULL;
    }
    return st;
}

ferry_status ferry_i_columns_spread(ferry_ctx *ctx, int64_t c, int64_t cols, int64_t cut,
                                    const int64_t *kept, double **w)
{
    double *all = ferry_i_calloc(c * (cols + 1), sizeof *all);

    if (!all) return ferry_i_nomem(ctx);
    for (int64_t k = 0; k < c; k++) {
        for (int64_t j = 0; j < cut; j++)
            all[k * (cols + 1) + kept[j]] = (*w)[k * (cut + 1) + j];
        all[k * (cols + 1) + cols] = (*w)[k * (cut + 1) + cut];
    }
    ferry_i_free(*w);
    *w = all;
    return FERRY_OK;
}
