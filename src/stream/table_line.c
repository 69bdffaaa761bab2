/* Lines of CSV (the first one names the columns) and of svmlight. */
#include <math.h>
#include <string.h>

#include "data/fields.h"
#include "stream/stream.h"

/* ---- CSV ---- */

void ferry_i_header_free(ferry_header *h)
{
    FERRY_FREE(h->role, h->field);
    *h = (ferry_header){0};
}

/* Whether a column is the id or the label: as the model's file had it, or by a usual
 * name. */
static bool column_is(const ferry_view *view, const ferry_field *f, const char *option,
                      const char *const *usual)
{
    const char *name = view->read ? ferry_opts_get(view->read, option) : NULL;

    if (view->features && ferry_i_ids_findn(view->features, f->s, f->n) >= 0) return false;
    if (name && strlen(name) == (size_t)f->n && memcmp(name, f->s, (size_t)f->n) == 0)
        return true;
    for (; *usual; usual++)
        if (ferry_i_field_is(f, *usual)) return true;
    return false;
}

static int64_t role_of(const ferry_view *view, const ferry_field *f)
{
    static const char *const ids[] = {"id", NULL};
    static const char *const labels[] = {"y", "label", "class", NULL};

    if (column_is(view, f, "id", ids)) return FERRY_COLUMN_ID;
    if (column_is(view, f, "label", labels)) return FERRY_COLUMN_LABEL;
    return 0;
}

/* The role of every column; each is there once. */
static ferry_status read_roles(ferry_ctx *ctx, const ferry_view *view, ferry_header *h)
{
    ferry_status st = FERRY_OK;
    uint8_t *seen = ferry_i_calloc(view->x->cols + 2, 1);
    char show[44];

    FERRY_HAVE(ctx, seen);
    for (int64_t j = 0; j < h->n; j++) {
        const ferry_field *f = &h->field[j];
        int64_t role = role_of(view, f);
        if (role == 0)
            role = view->features ? ferry_i_ids_findn(view->features, f->s, f->n)
                                  : h->features;
        FERRY_NEED(ctx, role != -1 || role_of(view, f) == FERRY_COLUMN_ID, FERRY_EDATA,
                   "standard input:1: column '%s' is no feature of the model",
                   ferry_i_field_show(f, show));
        FERRY_NEED(ctx, role < view->x->cols, FERRY_EDATA,
                   "standard input:1: more than the %lld features that the model has",
                   (long long)view->x->cols);
        FERRY_NEED(ctx, !seen[role + 2], FERRY_EDATA,
                   "standard input:1: column '%s' is there twice",
                   ferry_i_field_show(f, show));
        seen[role + 2] = 1;
        h->role[j] = role;
        h->features += role >= 0;
    }
    FERRY_NEED(ctx, h->features == view->x->cols, FERRY_EDATA,
               "standard input:1: the first line names %lld features, the model has %lld",
               (long long)h->features, (long long)view->x->cols);
done:
    ferry_i_free(seen);
    return st;
}

/* The first line of a CSV stream decides what the columns are for all that follow. A byte
 * order mark, as some spreadsheets write it, is not part of the first name. */
ferry_status ferry_i_header_read(ferry_ctx *ctx, const ferry_view *view, const char *s,
                                 int64_t n, ferry_header *h)
{
    ferry_status st = FERRY_OK;

    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0) { /* byte order mark */
        s += 3;
        n -= 3;
    }
    h->n = ferry_i_fields(s, s + n, ",", NULL, 0);
    FERRY_NEW(ctx, h->role, h->n);
    FERRY_NEW(ctx, h->field, h->n);
    (void)ferry_i_fields(s, s + n, ",", h->field, h->n);
    FERRY_TRY(read_roles(ctx, view, h));
done:
    return st;
}

/* A field's text with doubled quotes undone. Borrowed; NULL: no memory. */
static const char *text_of(ferry_line *l, const ferry_field *f, int64_t *n)
{
    *n = f->n;
    if (!f->quote || !memchr(f->s, f->quote, (size_t)f->n)) return f->s;
    l->spare_text.len = 0;
    for (int64_t i = 0; i < f->n; i++) {
        ferry_i_text_addn(&l->spare_text, f->s + i, 1);
        if (f->s[i] == f->quote && i + 1 < f->n && f->s[i + 1] == f->quote) i++;
    }
    *n = l->spare_text.len;
    if (l->spare_text.failed) l->no_memory = true;
    return l->spare_text.failed ? NULL : l->spare_text.s;
}

/* Empty, ? and na, as in files. */
static bool is_missing(const ferry_field *f)
{
    return f->n == 0 || ferry_i_field_is(f, "?") || ferry_i_field_is(f, "na");
}

/* One cell to where it belongs; *empty: none of the features so far had a value. */
static bool cell(ferry_line *l, const ferry_field *f, int64_t role, bool *empty)
{
    char show[44];
    double x = NAN;
    int64_t n = 0;

    if (role >= 0) {
        const bool missing = is_missing(f);
        if (!missing && !ferry_i_field_real(f, &x))
            return ferry_i_line_bad(l, "'%s' is not a finite number",
                                    ferry_i_field_show(f, show));
        l->value[role] = x;
        *empty = *empty && missing;
        return true;
    }
    if (is_missing(f)) return true;
    const char *text = text_of(l, f, &n);
    if (!text) return false;
    return role == FERRY_COLUMN_ID ? ferry_i_line_id(l, text, n)
                                   : ferry_i_line_y(l, text, n);
}

/* Cells of the header's columns. A row in which all features are missing but an id and a
 * label are there is the label of an earlier row, not a row of missing cells. */
bool ferry_i_line_csv(ferry_line *l, const char *s, int64_t n, const ferry_header *h)
{
    const int64_t found = ferry_i_fields(s, s + n, ",", h->field, h->n);
    bool empty = true;

    if (found != h->n)
        return ferry_i_line_bad(l, "%lld cells, the first line has %lld", (long long)found,
                                (long long)h->n);
    for (int64_t j = 0; j < h->features; j++)
        if (!ferry_i_line_number(l, NAN)) return false;
    for (int64_t j = 0; j < h->n; j++)
        if (!cell(l, &h->field[j], h->role[j], &empty)) return false;
    if (!empty) {
        l->has_x = true;
        return true;
    }
    l->n = 0;
    if (l->id_n == 0 || l->y_n == 0)
        return ferry_i_line_bad(l, "expected features, or an id and its label");
    return true;
}

/* ---- svmlight ---- */

/* The first blank after s. */
static const char *token_end(const char *s, const char *end)
{
    while (s < end && !ferry_i_is_blank(*s))
        s++;
    return s;
}

/* index:value. */
static bool pair(ferry_line *l, const char *s, const char *end, int64_t base)
{
    const char *colon = memchr(s, ':', (size_t)(end - s));
    int64_t i = 0;
    double x = 0;

    if (!colon || ferry_i_parse_int(s, colon, &i) != colon ||
        ferry_i_parse_real(colon + 1, end, &x) != end || !isfinite(x)) {
        const ferry_field f = {s, end - s, 0};
        char show[44];
        return ferry_i_line_bad(l, "expected index:value, found '%s'",
                                ferry_i_field_show(&f, show));
    }
    if (i < base)
        return ferry_i_line_bad(l, "index %lld is below %lld, the model's first",
                                (long long)i, (long long)base);
    return ferry_i_line_index(l, i - base) && ferry_i_line_number(l, x);
}

/* What stands after '#': "id:NAME". */
static bool comment(ferry_line *l, const char *s, const char *end)
{
    while (s < end && ferry_i_is_blank(*s))
        s++;
    while (end > s && ferry_i_is_blank(end[-1]))
        end--;
    if (end - s < 3 || memcmp(s, "id:", 3) != 0) return true;
    return ferry_i_line_id(l, s + 3, end - s - 3);
}

/* LABEL index:value ... # id:NAME. A first token without a colon is the label; ? is none. */
bool ferry_i_line_svmlight(ferry_line *l, const char *s, int64_t n, int64_t base)
{
    const char *end = s + n, *hash = memchr(s, '#', (size_t)n);
    const char *stop = hash ? hash : end;

    if (hash && !comment(l, hash + 1, end)) return false;
    for (bool first = true;; first = false) {
        while (s < stop && ferry_i_is_blank(*s))
            s++;
        if (s == stop) break;
        const char *e = token_end(s, stop);
        if (first && !memchr(s, ':', (size_t)(e - s))) {
            if (!(e - s == 1 && *s == '?') && !ferry_i_line_y(l, s, e - s)) return false;
        } else if (e - s > 4 && memcmp(s, "qid:", 4) == 0) {
            /* a query number means nothing here */
        } else if (!pair(l, s, e, base)) {
            return false;
        }
        s = e;
    }
    l->has_x =
        true; /* even without a feature: a label of one that waits is told apart later */
    l->sparse = true;
    return ferry_i_line_sort(l);
}
