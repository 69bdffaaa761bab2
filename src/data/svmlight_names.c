/* svmlight: header lines, labels from texts, and the writer.
 *
 * What the format has no place for goes into comments that other programs pass over (see
 * svmlight.h), so that a view written here and read again is the same, names and all. */
#include <math.h>
#include <string.h>

#include "data/svmlight.h"

void ferry_i_svm_header_free(ferry_svm_header *h)
{
    ferry_i_ids_free(h->features);
    ferry_i_ids_free(h->labels);
    *h = (ferry_svm_header){0};
}

/* Names between spaces. A name twice would shift all that follow. */
static ferry_status read_names(ferry_ctx *ctx, const ferry_input *in, const char *s,
                               const char *end, ferry_ids **names)
{
    ferry_status st = FERRY_OK;

    ferry_i_ids_free(*names);
    FERRY_HAVE(ctx, *names = ferry_i_ids_new());
    while (s < end) {
        bool added = true;
        const char *stop = memchr(s, ' ', (size_t)(end - s));
        if (!stop) stop = end;
        if (stop > s) {
            FERRY_HAVE(ctx, ferry_i_decode(*names, s, stop - s, &added) >= 0);
            FERRY_NEED_AT(ctx, added, in->path, ferry_i_line_of(in->data, s),
                          "name %.*s is there twice",
                          (int)(stop - s < 100 ? stop - s : 100), s);
        }
        s = stop + 1;
    }
done:
    return st;
}

/* Whether [s, end) begins with a text. */
static bool begins(const char *s, const char *end, const char *with)
{
    const size_t n = strlen(with);

    return (size_t)(end - s) >= n && memcmp(s, with, n) == 0;
}

/* One comment line at the head of the file. */
static ferry_status header_line(ferry_ctx *ctx, const ferry_input *in, const char *s,
                                const char *end, ferry_svm_header *h)
{
    static const char columns[] = "# ferry columns: ", features[] = "# ferry features: ",
                      labels[] = "# ferry labels:";
    ferry_status st = FERRY_OK;

    if (begins(s, end, columns)) {
        const char *n = s + sizeof columns - 1;
        const bool fine = ferry_i_parse_int(n, end, &h->columns) == end && h->columns > 0 &&
                          h->columns < INT32_MAX;
        if (!fine)
            st = ferry_i_bad(ctx, in->path, ferry_i_line_of(in->data, s),
                             "expected a number of columns");
    } else if (begins(s, end, features)) {
        FERRY_TRY(read_names(ctx, in, s + sizeof features - 1, end, &h->features));
        h->columns = ferry_i_ids_count(h->features);
    } else if (begins(s, end, labels)) {
        FERRY_TRY(read_names(ctx, in, s + sizeof labels - 1, end, &h->labels));
    } else if (begins(s, end, "# Column indices are zero-based")) {
        h->zero_based = true;
    } else if (begins(s, end, "# Column indices are one-based")) {
        h->one_based = true;
    }
done:
    return st;
}

/* Only the comments in front of the first instance: a header that came later would ask for
 * a look at every line before the pieces can be parsed. */
ferry_status ferry_i_svm_header_read(ferry_ctx *ctx, const ferry_input *in,
                                     ferry_svm_header *h)
{
    const char *s = in->data, *end = s + in->size;

    while (s < end && *s == '#') {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        const char *last = stop > s && stop[-1] == '\r' ? stop - 1 : stop;
        FERRY_PASS(header_line(ctx, in, s, last, h));
        s = stop < end ? stop + 1 : end;
    }
    return FERRY_OK;
}

/* ---- labels ---- */

/* The next label of a list; false at its end. */
static bool next_label(ferry_span *list, ferry_span *one)
{
    if (list->n <= 0) return false;
    const char *comma = memchr(list->s, ',', (size_t)list->n);
    one->s = list->s;
    one->n = comma ? comma - list->s : list->n;
    list->s += one->n + 1;
    list->n -= one->n + 1;
    return true;
}

/* All names that occur: in the header's order, else sorted. order maps the order seen to
 * it; NULL when they are the header's. */
static ferry_status set_names(ferry_ctx *ctx, const ferry_input *in,
                              const ferry_svm_header *h, int64_t n, const ferry_span *text,
                              ferry_ids **seen, ferry_ids **names, int32_t **order)
{
    ferry_status st = FERRY_OK;
    ferry_span one;

    *seen = h->labels ? ferry_i_ids_copy(h->labels) : ferry_i_ids_new();
    FERRY_HAVE(ctx, *seen);
    for (int64_t i = 0; i < n; i++) {
        ferry_span list = text[i];
        while (list.s && next_label(&list, &one)) {
            bool added = false;
            FERRY_HAVE(ctx, ferry_i_decode(*seen, one.s, one.n, &added) >= 0);
            FERRY_NEED_AT(ctx, !(added && h->labels) && one.n != 0, in->path,
                          ferry_i_line_of(in->data, one.s),
                          one.n == 0 ? "an empty label%.0s"
                                     : "label %s is not in the list of labels",
                          ferry_i_ids_at(*seen, ferry_i_ids_count(*seen) - 1));
        }
    }
    if (!h->labels) FERRY_TRY(ferry_i_names_sorted(ctx, *seen, names, order));
done:
    return st;
}

/* Sets as n x m of 0 and 1. An empty list is the empty set, "?" (s NULL) an unknown one. */
static ferry_status as_sets(ferry_ctx *ctx, const ferry_input *in,
                            const ferry_svm_header *h, int64_t n, const ferry_span *text,
                            ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *seen = NULL, *names = NULL;
    int32_t *order = NULL;
    ferry_span one;

    FERRY_TRY(set_names(ctx, in, h, n, text, &seen, &names, &order));
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_SET, n, names ? names : seen, out));
    const int64_t m = ferry_i_ids_count(seen);
    for (int64_t i = 0; i < n; i++) {
        ferry_span list = text[i];
        (*out)->known[i] = list.s != NULL;
        while (list.s && next_label(&list, &one)) {
            const int64_t k = ferry_i_decode(seen, one.s, one.n, NULL);
            FERRY_HAVE(ctx, k >= 0);
            (*out)->on[i * m + (order ? order[k] : k)] = 1;
        }
    }
done:
    ferry_i_ids_free(seen);
    ferry_i_ids_free(names);
    ferry_i_free(order);
    return st;
}

/* Names that are coded have to be decoded before they become classes. */
static ferry_status decode_texts(ferry_ctx *ctx, int64_t n, ferry_span *text,
                                 ferry_ids *names)
{
    /* Texts without % stay where they are, in the input. The others get their decoded form
     * in names, which the caller keeps until the labels are made. */
    for (int pass = 0; pass < 2; pass++) { /* ids may move while they are added */
        for (int64_t i = 0; i < n; i++) {
            if (!text[i].s || !memchr(text[i].s, '%', (size_t)text[i].n)) continue;
            const int64_t k = ferry_i_decode(names, text[i].s, text[i].n, NULL);
            if (k < 0) return ferry_i_nomem(ctx);
            if (pass == 0) continue;
            text[i].s = ferry_i_ids_at(names, k);
            text[i].n = (int64_t)strlen(text[i].s);
        }
    }
    return FERRY_OK;
}

/* Sets or classes: what the lines look like decides, not an option, so a file reads the
 * same for everybody. Classes go through ferry_i_labels_of_texts(), as in all text
 * formats. */
ferry_status ferry_i_svm_labels(ferry_ctx *ctx, const ferry_input *in,
                                const ferry_svm_header *h, int64_t n,
                                const ferry_span *text, int64_t several, int64_t labelled,
                                ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_span *copy = NULL;
    ferry_ids *names = NULL;

    *out = NULL;
    /* Sets when the header says so, when a line has several labels, or when some lines have
     * none at all: an empty label is the empty set, since a missing class is written
     * "?". */
    if (h->labels || several > 0 || (labelled > 0 && labelled < n)) {
        FERRY_TRY(as_sets(ctx, in, h, n, text, out));
        if (ferry_i_labels_m(*out) == 0) { /* nothing but ? and empty lists */
            ferry_i_labels_free(*out);
            *out = NULL;
        }
    } else if (labelled > 0) {
        names = ferry_i_ids_new();
        FERRY_NEW(ctx, copy, n);
        FERRY_HAVE(ctx, names);
        memcpy(copy, text, (size_t)n * sizeof *copy);
        FERRY_TRY(decode_texts(ctx, n, copy, names));
        FERRY_TRY(ferry_i_labels_of_texts(ctx, n, copy, out));
    }
done:
    ferry_i_free(copy);
    ferry_i_ids_free(names);
    return st;
}

/* ---- writing ---- */

/* "# ferry WHAT: a b c", names coded. */
static void add_names(ferry_text *t, const char *what, const ferry_ids *names)
{
    ferry_i_text_addf(t, "# ferry %s:", what);
    for (int64_t k = 0; k < ferry_i_ids_count(names); k++) {
        ferry_i_text_add(t, " ");
        ferry_i_code(t, ferry_i_ids_at(names, k));
    }
    ferry_i_text_add(t, "\n");
}

/* Shortest form that reads back to the same bits. */
static void add_real(ferry_text *t, double x)
{
    char buf[32];

    ferry_i_text_addn(t, buf, ferry_i_format_real(buf, x));
}

/* The label of instance i. A whole number to predict gets a point, which tells it from a
 * class. */
static void add_label(ferry_text *t, const ferry_labels *l, int64_t i)
{
    if (!l) return;
    if (!ferry_i_labels_has(l, i)) {
        ferry_i_text_add(t, "?");
        return;
    }
    if (l->kind == FERRY_LABEL_CLASS) ferry_i_code(t, ferry_i_ids_at(l->names, l->cls[i]));
    if (l->kind == FERRY_LABEL_NUMBER) {
        const int64_t from = t->len;
        add_real(t, l->num[i]);
        if (!t->failed && !strpbrk(t->s + from, ".e")) ferry_i_text_add(t, ".0");
    }
    const int64_t m = l->kind == FERRY_LABEL_SET ? ferry_i_ids_count(l->names) : 0;
    bool first = true;
    for (int64_t k = 0; k < m; k++) {
        if (!l->on[i * m + k]) continue;
        if (!first) ferry_i_text_add(t, ",");
        ferry_i_code(t, ferry_i_ids_at(l->names, k));
        first = false;
    }
}

/* Values that are not 0, indices from 1, ascending because rows are sorted. A row without
 * any gets "1:0": a line with neither label nor pair would be blank, and blank lines are no
 * instances. */
static void add_pairs(ferry_text *t, const ferry_matrix *x, int64_t i)
{
    const int64_t from = x->dense ? 0 : x->start[i],
                  to = x->dense ? x->cols : x->start[i + 1];
    int64_t pairs = 0;

    for (int64_t e = from; e < to; e++) {
        const double v = x->dense ? x->dense[i * x->cols + e] : x->value[e];
        if (v == 0) continue;
        ferry_i_text_addf(t, " %lld:", (long long)(x->dense ? e : x->index[e]) + 1);
        add_real(t, v);
        pairs++;
    }
    if (pairs == 0) ferry_i_text_add(t, " 1:0"); /* never a blank line */
}

/* Highest column with a value, from 1. */
static int64_t last_used(const ferry_matrix *x)
{
    int64_t last = 1;

    for (int64_t e = 0; e < x->nnz; e++) {
        const int64_t col = x->dense ? e % x->cols : x->index[e];
        if ((x->dense ? x->dense[e] : x->value[e]) != 0 && col + 1 > last) last = col + 1;
    }
    return last;
}

/* The number of columns is told by the names if there are any; else a line says it, but
 * only where the largest index in the file would tell it wrong. */
static void add_head(ferry_text *t, const ferry_data *d)
{
    if (d->features)
        add_names(t, "features", d->features);
    else if (last_used(d->x) < d->x->cols)
        ferry_i_text_addf(t, "# ferry columns: %lld\n", (long long)d->x->cols);
    if (d->labels && d->labels->kind == FERRY_LABEL_SET)
        add_names(t, "labels", d->labels->names);
}

/* Line by line through one buffer, so memory does not grow with the file. */
ferry_status ferry_i_svm_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                               const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = data->x;
    ferry_out *o = NULL;
    ferry_text t = {0};

    (void)opts;
    FERRY_NEED(ctx, data->kind == FERRY_DATA_VIEW && x->cols > 0, FERRY_EINVAL,
               "%s: svmlight holds features, and there are none", path);
    /* an absent pair means 0, so NaN cannot be left out and would be read as an error */
    for (int64_t e = 0; x->dense && e < x->nnz; e++)
        FERRY_NEED(ctx, !isnan(x->dense[e]), FERRY_EINVAL,
                   "%s: instance %lld has no value for feature %lld%s%s: svmlight has no "
                   "missing cells (csv, npz and arff have)",
                   path, (long long)(e / x->cols) + 1, (long long)(e % x->cols) + 1,
                   data->features ? ", " : "",
                   data->features ? ferry_i_ids_at(data->features, e % x->cols) : "");
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    add_head(&t, data);
    for (int64_t i = 0; i < x->rows; i++) {
        /* label, pairs, id: one line an instance */
        add_label(&t, data->labels, i);
        add_pairs(&t, x, i);
        if (data->ids) {
            ferry_i_text_add(&t, " # id:");
            ferry_i_code(&t, ferry_i_ids_at(data->ids, i));
        }
        ferry_i_text_add(&t, "\n");
        FERRY_HAVE(ctx, !t.failed);
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
