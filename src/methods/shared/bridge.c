/* A task as a journey (bridge.h). */
#include "methods/shared/bridge.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/ranks.h"

enum { NOTES = 2048 }; /* bytes: more notes than these say nothing new */

void ferry_i_bridge_free(ttl_bridge *b)
{
    if (!b) return;
    ferry_i_prepared_free(b->prepared);
    FERRY_FREE(b->place, b->notes, b);
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

/* ---- instances of a bridge that are also in the target ----
 *
 * A bridge of two views is often made of the very instances that the target is: then it
 * tells what the target's labels are, and a method that crosses it has learned nothing. */

uint64_t ferry_i_row_hash(const ferry_matrix *x, int64_t i)
{
    const int64_t at = x->start[i], n = x->start[i + 1] - at;
    const uint64_t columns = XXH3_64bits(x->index + at, (size_t)n * sizeof *x->index);

    return XXH3_64bits_withSeed(x->value + at, (size_t)n * sizeof *x->value, columns);
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* One number for what row i says in the target's spaces, whose columns are the first
 * `cols`; 0: nothing. */
static uint64_t target_side(const ferry_matrix *x, int64_t i, int64_t cols)
{
    const int64_t at = x->start[i];
    int64_t n = 0;

    while (at + n < x->start[i + 1] && x->index[at + n] < cols)
        n++;
    if (n == 0) return 0;
    const uint64_t columns = XXH3_64bits(x->index + at, (size_t)n * sizeof *x->index);
    return XXH3_64bits_withSeed(x->value + at, (size_t)n * sizeof *x->value, columns) | 1;
}

/* Leave rows out that look like one of the target's (hash, sorted, of all ranks). */
static ferry_status drop_leaks(ferry_ctx *ctx, ttl_bridge *b, int64_t cols,
                               const uint64_t *hash, int64_t n_hash, ferry_rows *r)
{
    ferry_status st = FERRY_OK;
    const int64_t all = r->whole ? r->whole : r->n;
    int64_t *rows = NULL, kept = 0, known = 0, left = 0;
    ferry_matrix *less = NULL;

    FERRY_NEW(ctx, rows, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const uint64_t h = target_side(r->x[0], i, cols);
        if (h && bsearch(&h, hash, (size_t)n_hash, sizeof h, by_hash)) continue;
        known += r->cls[i] >= 0;
        r->instance[kept] = r->instance[i];
        r->cls[kept] = r->cls[i];
        rows[kept++] = i;
    }
    left = kept;
    if (r->whole) FERRY_TRY(ferry_i_ranks_count(ctx, &left));
    if (left == all) goto done;
    if (left == 0) /* what follows would read as if it shared no feature */
        ferry_i_warn_once(
            ctx,
            "'%s' is no bridge: all its %lld instances are the target's own (a leak) and are left "
            "out; leaks: keep, an option of the methods, takes them",
            r->domain->name, (long long)all);
    ferry_i_log(
        ctx, FERRY_INFO,
        "%s: %lld of %lld instances of '%s' are also in the target and are left out",
        b->method, (long long)(all - left), (long long)all, r->domain->name);
    b->leaks += all - left;
    r->n = kept;
    r->labelled = known;
    if (r->whole) FERRY_TRY(ferry_i_ranks_count(ctx, &r->labelled));
    FERRY_TRY(ferry_i_matrix_take(ctx, r->x[0], kept, rows, r->x[0]->cols, NULL, &less));
    less->whole = r->whole = r->whole ? left : 0;
    ferry_i_matrix_free(r->x[0]);
    FERRY_MOVE(r->x[0], less);
done:
    ferry_i_matrix_free(less);
    ferry_i_free(rows);
    return st;
}

static ferry_status find_leaks(ferry_ctx *ctx, ttl_bridge *b)
{
    ferry_status st = FERRY_OK;
    ferry_prepared *p = b->prepared;
    const ferry_rows *t = ferry_i_prepared_target(p);
    const int64_t views = p->n_frames; /* the target's spaces are the first */
    const int64_t cols = p->space[views - 1].begin + p->space[views - 1].cols;
    const int64_t n = ferry_i_all_rows(t->x[0]);
    uint64_t *hash = NULL;
    void *all = NULL;

    FERRY_NEW(ctx, hash, t->n);
    for (int64_t i = 0; i < t->n; i++)
        hash[i] = target_side(t->x[0], i, cols);
    FERRY_TRY(ferry_i_rows_collect(ctx, t->x[0], sizeof *hash, hash, &all));
    qsort(all, (size_t)n, sizeof *hash, by_hash);
    for (int64_t i = p->n_sources; i < p->n_rows - 1; i++)
        if (p->rows[i].domain->n_views > 1)
            FERRY_TRY(drop_leaks(ctx, b, cols, all, n, &p->rows[i]));
    if (b->leaks) ferry_i_diag_real(ctx, "leaks", (double)b->leaks);
done:
    FERRY_FREE(hash, all);
    return st;
}

/* ---- all of it ---- */

/* As if the intermediate domains had no labels. */
static void hide_labels(ferry_prepared *p)
{
    for (int64_t i = p->n_sources; i < p->n_rows - 1; i++) {
        p->rows[i].labelled = 0;
        for (int64_t r = 0; r < p->rows[i].n; r++)
            p->rows[i].cls[r] = -1;
    }
}

static ferry_status list_places(ferry_ctx *ctx, ttl_bridge *b)
{
    ferry_status st = FERRY_OK;
    const ferry_prepared *p = b->prepared;

    FERRY_NEW(ctx, b->place, p->n_rows);
    b->c = p->k;
    b->n_sources = p->n_sources;
    b->n_places = p->n_rows;
    b->cols = p->cols;
    for (int64_t i = 0; i < p->n_rows; i++) {
        const ferry_rows *r = &p->rows[i];
        b->place[i] = (ttl_place){r->domain,   r->n,    ferry_i_all_rows(r->x[0]),
                                  r->instance, r->x[0], r->cls,
                                  r->labelled, r->has};
    }
done:
    return st;
}

ferry_status ferry_i_bridge_new(ferry_ctx *ctx, const char *method, const ferry_task *task,
                                ttl_reading how, ttl_bridge **out)
{
    ferry_status st = FERRY_OK;
    const ferry_wants wants = {.method = method,
                               .domains = FERRY_SOURCES | FERRY_BRIDGES | FERRY_THE_TARGET,
                               .layout = FERRY_PATH,
                               .scale = how.scale,
                               .positive = how.positive,
                               .taught = true};
    ttl_bridge *b = NULL;

    *out = NULL;
    FERRY_NEED(ctx, ferry_i_ids_count(task->names) >= 2, FERRY_ENEEDS,
               "%s needs at least two classes", method);
    FERRY_NEW(ctx, b, 1);
    b->method = method;
    FERRY_NEW(ctx, b->notes, NOTES);
    FERRY_TRY(ferry_i_prepare(ctx, task, &wants, &b->prepared));
    if (how.leaks == 0) FERRY_TRY(find_leaks(ctx, b));
    if (how.bridge_labels == TTL_LABELS_HIDE) hide_labels(b->prepared);
    FERRY_TRY(list_places(ctx, b));
    if (b->prepared->links->apart[0])
        ferry_i_bridge_note(ctx, b, "%s", b->prepared->links->apart);
    FERRY_MOVE(*out, b);
done:
    ferry_i_bridge_free(b);
    return st;
}

ferry_prepared *ferry_i_bridge_release(ttl_bridge *b)
{
    ferry_prepared *p = b->prepared;

    b->prepared = NULL;
    ferry_i_prepared_forget(p);
    return p;
}

bool ferry_i_bridge_lengths(const ttl_bridge *b)
{
    for (int64_t s = 0; s < b->prepared->n_spaces; s++) {
        const ferry_scale k = b->prepared->space[s].scale->kind;
        if (k == FERRY_SCALE_NONE || k == FERRY_SCALE_STANDARD || k == FERRY_SCALE_COMMON ||
            (k == FERRY_SCALE_ROOTS && b->prepared->wants.positive == FERRY_ANY_SIGN))
            return false;
    }
    return true;
}

bool ferry_i_space_wordlike(const ferry_space *s)
{
    return !s->facts.neg && !s->scale->dense && s->scale->kind != FERRY_SCALE_STANDARD &&
           s->scale->kind != FERRY_SCALE_COMMON;
}

bool ferry_i_space_positive(const ferry_space *s)
{
    return !s->facts.neg && s->scale->kind != FERRY_SCALE_STANDARD &&
           s->scale->kind != FERRY_SCALE_COMMON;
}

/* ---- columns ---- */

ferry_status ferry_i_columns_used(ferry_ctx *ctx, const ferry_matrix *x, uint8_t *used)
{
    for (int64_t e = 0; e < x->nnz; e++)
        used[x->index[e]] = 1;
    return ferry_i_any_rows(ctx, x, x->cols, used);
}

ferry_status ferry_i_bridge_used(ferry_ctx *ctx, const ttl_bridge *b, int64_t i,
                                 uint8_t **used)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, *used, b->cols);
    FERRY_TRY(ferry_i_columns_used(ctx, b->place[i].x, *used));
done:
    return st;
}

const char *ferry_i_bridge_column(const ttl_bridge *b, int64_t j, char *buf, size_t size)
{
    const ferry_prepared *p = b->prepared;
    int64_t s = p->n_spaces - 1;

    while (s > 0 && p->space[s].begin > j)
        s--;
    if (p->space[s].features)
        return ferry_i_ids_at(p->space[s].features, j - p->space[s].begin);
    (void)snprintf(buf, size, "%s.%lld", p->space[s].name,
                   (long long)(j - p->space[s].begin + 1));
    return buf;
}

ferry_status ferry_i_bridge_on_target(ferry_ctx *ctx, const ttl_bridge *b,
                                      const ferry_matrix *x, const uint8_t *keep, int64_t n,
                                      const int64_t *rows, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const int64_t width = ferry_i_prepared_width(b->prepared);
    int32_t *map = NULL;
    int64_t *all = NULL;

    FERRY_NEW(ctx, map, b->cols);
    FERRY_NEW(ctx, all, x->rows);
    for (int64_t j = 0; j < b->cols; j++)
        map[j] = -1;
    for (int64_t j = 0; j < width; j++) {
        const int64_t at = ferry_i_prepared_column(b->prepared, j);
        if (!keep || keep[at]) map[at] = (int32_t)j;
    }
    for (int64_t i = 0; i < x->rows; i++)
        all[i] = i;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, rows ? n : x->rows, rows ? rows : all, width, map,
                                  out));
done:
    FERRY_FREE(map, all);
    return st;
}

ferry_status ferry_i_bridge_rows(ferry_ctx *ctx, const ferry_prepared *p,
                                 const ferry_domain *d, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_rows r = {0};

    *out = NULL;
    FERRY_TRY(ferry_i_prepare_rows(ctx, p, d, &r));
    *out = r.x[0];
    r.x[0] = NULL;
done:
    ferry_i_rows_clear(&r);
    return st;
}

void ferry_i_bridge_file(ferry_io *io, ferry_prepared **p)
{
    ferry_i_prepared_file(io, p);
    FERRY_IO_NEED(io, (*p)->wants.layout == FERRY_PATH, "tensor prepare: layout %d",
                  (int)(*p)->wants.layout);
}

void ferry_i_bridge_classes(ferry_io *io, int64_t *c)
{
    int64_t n = *c;

    ferry_i_io_ints(io, "classes", 1, &n);
    FERRY_IO_NEED(io, n >= 2 && n < INT32_MAX, "tensor classes is %lld", (long long)n);
    if (ferry_i_io_loading(io)) *c = n;
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
    (*out)->whole = x->whole;
    nnz = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            if (to[x->index[e]] < 0) continue;
            (*out)->index[nnz] = to[x->index[e]];
            (*out)->value[nnz++] = x->value[e];
        }
        (*out)->start[i + 1] = nnz;
    }
    if (l2) ferry_i_rows_to_unit(*out);
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
