/* Delimited text: the writer. A header always; id first where there are ids, the features,
 * then label, or for sets one column label:NAME for each label. The reader takes these
 * names for what they are, so nothing is lost on the way. */
#include <math.h>
#include <string.h>

#include "data/delimited.h"

/* A text, quoted where it has to be: separators, quotes, control characters, blanks at its
 * ends, or where bare it would read as a missing cell, or a name as a number: the reader
 * takes a quoted number over bare ones for a name. */
static void add_text(ferry_text *t, const char *s, char sep, bool name)
{
    const size_t n = strlen(s);
    double x;
    bool quote = n == 0 || strpbrk(s, "\"\177") || strchr(s, sep) || s[0] == ' ' ||
                 s[n - 1] == ' ' || ferry_i_is_missing(s, (int64_t)n, "") ||
                 (name && is_number((ferry_span){s, (int64_t)n}, &x));

    for (size_t i = 0; i < n && !quote; i++)
        quote = (unsigned char)s[i] < ' ';

    if (!quote) {
        ferry_i_text_add(t, s);
        return;
    }
    ferry_i_text_add(t, "\"");
    for (; *s; s++)
        ferry_i_text_addn(t, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    ferry_i_text_add(t, "\"");
}

/* NaN is an empty cell. */
static void add_real(ferry_text *t, double x)
{
    char buf[32];

    if (!isnan(x)) ferry_i_text_addn(t, buf, ferry_i_format_real(buf, x));
}

/* Every cell, the last too, is followed by a separator; the writer turns the last into the
 * end of the line. */
static void end_cell(ferry_text *t, char sep)
{
    ferry_i_text_addn(t, &sep, 1);
}

/* The names must not be taken for something else when read back. Features without names
 * become f1, f2, ...: bare numbers would read as data. */
static void add_header(ferry_text *t, const ferry_data *d, char sep)
{
    const int64_t cols = d->x ? d->x->cols : 0;
    const ferry_labels *l = d->labels;

    if (d->ids) {
        ferry_i_text_add(t, "id");
        end_cell(t, sep);
    }
    for (int64_t j = 0; j < cols; j++) {
        if (d->features)
            add_text(t, ferry_i_ids_at(d->features, j), sep, true);
        else
            ferry_i_text_addf(t, "f%lld", (long long)j + 1);
        end_cell(t, sep);
    }
    for (int64_t k = 0; l && l->kind == FERRY_LABEL_SET && k < ferry_i_labels_m(l); k++) {
        ferry_text name = {0};
        ferry_i_text_add(&name, "label:");
        ferry_i_text_add(&name, ferry_i_ids_at(l->names, k));
        if (name.failed)
            t->failed = true;
        else
            add_text(t, name.s, sep, true);
        ferry_i_text_free(&name);
        end_cell(t, sep);
    }
    if (l && l->kind != FERRY_LABEL_SET) {
        ferry_i_text_add(t, "label");
        end_cell(t, sep);
    }
}

/* A number as it was written, so that it is the same class to whom it is one. An unknown label
 * is an empty cell, for a set m of them. */
static void add_label(ferry_text *t, const ferry_labels *l, int64_t i, char sep)
{
    const bool has = ferry_i_labels_has(l, i);
    char number[32];

    switch (l->kind) {
    case FERRY_LABEL_CLASS:
        if (has) add_text(t, ferry_i_ids_at(l->names, l->cls[i]), sep, false);
        end_cell(t, sep);
        break;
    case FERRY_LABEL_NUMBER:
        if (has) ferry_i_text_add(t, ferry_i_labels_number(l, i, number));
        end_cell(t, sep);
        break;
    case FERRY_LABEL_SET: {
        const int64_t m = ferry_i_labels_m(l);
        for (int64_t k = 0; k < m; k++) {
            if (has) ferry_i_text_add(t, l->on[i * m + k] ? "1" : "0");
            end_cell(t, sep);
        }
    }
    }
}

/* A sparse row is written out in full: CSV has no other form. Its indices ascend, so one
 * walk along its entries is enough. */
static void add_row(ferry_text *t, const ferry_data *d, int64_t i, char sep)
{
    const ferry_matrix *x = d->x;

    if (d->ids) {
        add_text(t, ferry_i_ids_at(d->ids, i), sep, false);
        end_cell(t, sep);
    }
    /* next stored entry of a sparse row */
    int64_t e = x && !x->dense ? x->start[i] : 0;
    for (int64_t j = 0; x && j < x->cols; j++) {
        if (x->dense) {
            add_real(t, x->dense[i * x->cols + j]);
        } else if (e < x->start[i + 1] && x->index[e] == j) {
            add_real(t, x->value[e++]);
        } else {
            ferry_i_text_add(t, "0");
        }
        end_cell(t, sep);
    }
    if (d->labels) add_label(t, d->labels, i, sep);
}

/* Names of features that would come back as ids or labels. */
static ferry_status check_names(ferry_ctx *ctx, const ferry_data *d, const char *path)
{
    for (int64_t j = 0; d->features && d->x && j < d->x->cols; j++) {
        const char *name = ferry_i_ids_at(d->features, j);
        if (!strcmp(name, "id") || !strcmp(name, "label") || !strncmp(name, "label:", 6))
            return ferry_i_fail(ctx, FERRY_EINVAL,
                                "%s: a feature is called %s, which csv keeps for itself",
                                path, name);
    }
    return FERRY_OK;
}

/* One row is gathered at a time in t, whose memory is reused: no more than a row is
 * held. */
ferry_status ferry_i_delimited_write(ferry_ctx *ctx, const ferry_data *data,
                                     const char *path, const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    const size_t len = strlen(path);
    const char *want = ferry_opts_get(opts, "sep");
    /* the option wins over the extension */
    const bool tab = want ? strcmp(want, "tab") == 0
                          : len > 4 && (!strcmp(path + len - 4, ".tsv") ||
                                        !strcmp(path + len - 4, ".tab"));
    const char sep = tab ? '\t' : ',';
    const int64_t rows = data->x ? data->x->rows : data->labels ? data->labels->n : 0;
    ferry_out *o = NULL;
    ferry_text t = {0};

    FERRY_NEED(ctx, data->kind == FERRY_DATA_VIEW || data->kind == FERRY_DATA_LABELS,
               FERRY_EINVAL, "%s: csv holds features or labels", path);
    FERRY_NEED(ctx, !want || tab || strcmp(want, "comma") == 0 || strcmp(want, ",") == 0,
               FERRY_EINVAL, "%s: csv is written with sep=comma or sep=tab", path);
    FERRY_TRY(check_names(ctx, data, path));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    /* row -1 is the header */
    for (int64_t i = -1; i < rows; i++) {
        if (i < 0)
            add_header(&t, data, sep);
        else
            add_row(&t, data, i, sep);
        FERRY_HAVE(ctx, !t.failed);
        t.s[t.len - 1] = '\n'; /* instead of the last separator */
        if (t.len == 1)
            ferry_i_out_write(o, "\"\"", 2); /* a missing cell, not a blank line */
        ferry_i_out_write(o, t.s, t.len);
        t.len = 0;
    }
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    ferry_i_text_free(&t);
    return st;
}
