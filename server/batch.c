/* Rows of a request as matrices, and what a model says to them. */
#include <math.h>
#include <string.h>

#include "server/serve.h"

void ferry_i_batch_clear(serve_batch *b, int64_t cols)
{
    for (int k = 0; k < 2; k++) {
        ferry_prediction_free(b->p[k]);
        b->p[k] = NULL;
    }
    b->n = b->entries = b->texts.len = 0;
    memset(b->count, 0, sizeof b->count);
    b->cols = cols;
    if (b->texts.failed || b->texts.cap > 1 << 20) ferry_i_text_free(&b->texts);
    if (b->x_cap > 1 << 20) { /* one huge request is no reason to keep so much */
        ferry_i_free(b->x);
        b->x = NULL;
        b->x_cap = 0;
    }
}

void ferry_i_batch_free(serve_batch *b)
{
    if (!b) return;
    ferry_i_batch_clear(b, 0);
    ferry_i_text_free(&b->texts);
    FERRY_FREE(b->item, b->x, b->start, b->index, b->value, b);
}

static serve_item *add_item(serve_batch *b, int kind, const char *text, int64_t n)
{
    if (!FERRY_GROW(b->item, b->n, b->cap)) return NULL;
    serve_item *to = &b->item[b->n++];
    *to = (serve_item){(uint8_t)kind, false, b->count[kind]++, b->texts.len, n};
    ferry_i_text_addn(&b->texts, text, n);
    return b->texts.failed ? NULL : to;
}

bool ferry_i_batch_bad(serve_batch *b, const char *why)
{
    return add_item(b, SERVE_BAD, why, (int64_t)strlen(why)) != NULL;
}

/* Grow to hold n; the room doubles. */
static bool room(double **p, int64_t n, int64_t *cap)
{
    if (n <= *cap) return true;
    const int64_t more = 2 * *cap > n ? 2 * *cap : n;
    double *q = ferry_i_realloc(*p, more, sizeof *q);
    if (!q) return false;
    *p = q;
    *cap = more;
    return true;
}

ferry_status ferry_i_batch_dense(ferry_ctx *ctx, serve_batch *b, double **x)
{
    ferry_status st = FERRY_OK;
    const int64_t at = b->count[SERVE_DENSE] * b->cols, end = at + b->cols;

    FERRY_NEED(ctx, b->most == 0 || end <= b->most / (int64_t)sizeof **x, FERRY_EDATA,
               "the rows have more than %lld bytes of numbers: send fewer at once",
               (long long)b->most);
    FERRY_HAVE(ctx, room(&b->x, end + 1, &b->x_cap) && add_item(b, SERVE_DENSE, "", 0));
    *x = b->x + at;
done:
    return st;
}

static bool add_sparse(serve_batch *b, const ferry_line *l)
{
    if (!FERRY_GROW(b->start, b->count[SERVE_SPARSE], b->start_cap)) return false;
    b->start[b->count[SERVE_SPARSE] - 1] = b->entries;
    for (int64_t e = 0; e < l->n; e++, b->entries++) {
        if (!FERRY_GROW(b->index, b->entries, b->index_cap) ||
            !FERRY_GROW(b->value, b->entries, b->value_cap))
            return false;
        b->index[b->entries] = l->index[e];
        b->value[b->entries] = l->value[e];
    }
    return true;
}

/* The checks that a stream makes of its rows, made here as well. */
bool ferry_i_batch_add(serve_batch *b, const serve_version *v, ferry_line *l)
{
    const ferry_worker model = {.model = (ferry_model *)v->model};
    static const double none;
    const ferry_record r = {.kind = FERRY_RECORD_OBSERVE,
                            .sparse = l->sparse,
                            .n = l->n,
                            .value = l->value ? l->value : &none,
                            .index = l->index};
    char why[256];

    if (!ferry_i_worker_fits(&model, &r, why, sizeof why)) return ferry_i_batch_bad(b, why);
    serve_item *to = add_item(b, l->sparse ? SERVE_SPARSE : SERVE_DENSE,
                              l->id_n > 0 ? l->text.s + l->id : "", l->id_n);
    if (!to) return false;
    to->number = l->id_is_number;
    if (l->sparse) return add_sparse(b, l);
    if (!room(&b->x, b->count[SERVE_DENSE] * b->cols + 1, &b->x_cap)) return false;
    if (l->n > 0)
        memcpy(b->x + to->at * b->cols, l->value, (size_t)l->n * sizeof *l->value);
    return true;
}

static ferry_status ask(ferry_ctx *ctx, const serve_version *v, const serve_batch *b,
                        int kind, ferry_prediction **out)
{
    ferry_status st = FERRY_OK;
    const char *view = ferry_i_served_view(v->model);
    ferry_domain *d = NULL;

    FERRY_TRY(ferry_domain_new(ctx, "request", FERRY_TARGET, &d));
    if (kind == SERVE_DENSE) {
        const ferry_array x = {b->count[kind], b->cols, b->cols, b->x};
        FERRY_TRY(ferry_domain_add_dense(ctx, d, view, &x, NULL, NULL,
                                         &(ferry_borrow){NULL, NULL}));
    } else {
        const ferry_sparse x = {b->count[kind], b->cols,  b->start,
                                b->index,       b->value, NULL};
        FERRY_TRY(ferry_domain_add_sparse(ctx, d, view, &x, NULL, NULL,
                                          &(ferry_borrow){NULL, NULL}));
    }
    FERRY_TRY(ferry_predict(ctx, v->model, d, out));
done:
    ferry_domain_free(d);
    return st;
}

/* Under the read side of the version's lock, which the caller holds. */
ferry_status ferry_i_batch_predict(ferry_ctx *ctx, serve_version *v, serve_batch *b)
{
    ferry_status st = FERRY_OK;
    const int64_t k = ferry_i_served_classes(v->model) + 1;

    FERRY_NEED(ctx, b->most == 0 || b->n <= b->most / (8 * k), FERRY_EDATA,
               "the answers have more than %lld bytes of numbers: send fewer rows at once",
               (long long)b->most);
    if (b->count[SERVE_SPARSE] > 0) {
        static const int32_t no_index;
        static const double no_value;
        FERRY_HAVE(ctx, FERRY_GROW(b->start, b->count[SERVE_SPARSE], b->start_cap));
        b->start[b->count[SERVE_SPARSE]] = b->entries;
        if (b->entries == 0) { /* rows of nothing but zeros */
            serve_batch zeros = *b;
            zeros.index = (int32_t *)&no_index;
            zeros.value = (double *)&no_value;
            FERRY_TRY(ask(ctx, v, &zeros, SERVE_SPARSE, &b->p[SERVE_SPARSE]));
        } else {
            FERRY_TRY(ask(ctx, v, b, SERVE_SPARSE, &b->p[SERVE_SPARSE]));
        }
    }
    if (b->count[SERVE_DENSE] > 0)
        FERRY_TRY(ask(ctx, v, b, SERVE_DENSE, &b->p[SERVE_DENSE]));
    v->rows += b->n - b->count[SERVE_BAD];
    v->server->rows += b->n - b->count[SERVE_BAD];
    ferry_i_drift_note(v, b->count[SERVE_DENSE], b->cols, b->x);
done:
    return st;
}

/* ---- as text ---- */

void ferry_i_text_real(ferry_text *t, double x)
{
    char buf[32];

    if (isfinite(x))
        ferry_i_text_addn(t, buf, ferry_i_format_real(buf, x));
    else
        ferry_i_text_addn(t, "null", 4);
}

static void add_reals(ferry_text *t, int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++) {
        ferry_i_text_addn(t, i ? "," : "[", 1);
        ferry_i_text_real(t, x[i]);
    }
    ferry_i_text_add(t, n ? "]" : "[]");
}

static void add_scores(ferry_text *t, const ferry_prediction *p, const double *score)
{
    ferry_i_text_add(t, ",\"scores\":{");
    for (int64_t c = 0; c < p->k; c++) {
        if (c) ferry_i_text_addn(t, ",", 1);
        ferry_i_text_json(t, p->names[c], (int64_t)strlen(p->names[c]));
        ferry_i_text_addn(t, ":", 1);
        ferry_i_text_real(t, score[c]);
    }
    ferry_i_text_addn(t, "}", 1);
}

static void add_set(ferry_text *t, const ferry_prediction *p, int64_t at)
{
    const char *before = "[";

    for (int64_t c = 0; c < p->k; c++) {
        if (!p->set[at * p->k + c]) continue;
        ferry_i_text_add(t, before);
        ferry_i_text_json(t, p->names[c], (int64_t)strlen(p->names[c]));
        before = ",";
    }
    ferry_i_text_add(t, *before == '[' ? "[]" : "]");
}

void ferry_i_serve_answer(ferry_text *t, const ferry_prediction *p, int64_t at, bool scores)
{
    if (p->goal == FERRY_EMBED) {
        ferry_i_text_add(t, "\"embedding\":");
        add_reals(t, p->k, p->score + at * p->k);
        return;
    }
    ferry_i_text_add(t, "\"prediction\":");
    if (p->value) {
        ferry_i_text_real(t, p->value[at]);
    } else if (p->set) {
        add_set(t, p, at);
    } else if (p->cls[at] < 0) {
        ferry_i_text_add(t, "null");
    } else {
        const char *name = p->names[p->cls[at]];
        ferry_i_text_json(t, name, (int64_t)strlen(name));
        ferry_i_text_add(t, ",\"score\":");
        ferry_i_text_real(t, p->score[at * p->k + p->cls[at]]);
    }
    if (scores && p->score) add_scores(t, p, p->score + at * p->k);
}
