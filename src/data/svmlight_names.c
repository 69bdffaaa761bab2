/* svmlight: header lines, labels from texts, and the writer.
 *
 * What the format has no place for goes into comments that other programs pass over (see
 * svmlight.h), so that a view written here and read again is the same, names and all. */
#include <math.h>
#include <string.h>

#include "data/svmlight.h"

/* Names between spaces. A name twice would shift all that follow. */
static void read_names(scope *s, const source *from, const char *at, const char *end,
                       ferry_ids *names)
{
    for (const char *stop = NULL; at < end; at = stop + 1) {
        bool added = true;
        stop = memchr(at, ' ', (size_t)(end - at));
        if (!stop) stop = end;
        if (stop == at) continue;
        if (ferry_i_decode(names, at, stop - at, &added) < 0) have(s, NULL);
        if (!added)
            bad_at(s, from->path, ferry_i_line_of(from->s, at), "name %.*s is there twice",
                   (int)(stop - at < 100 ? stop - at : 100), at);
    }
}

/* Whether [s, end) begins with a text. */
static bool begins(const char *s, const char *end, const char *with)
{
    const size_t n = strlen(with);

    return (size_t)(end - s) >= n && memcmp(s, with, n) == 0;
}

/* One comment line at the head of the file. Of lines that come again the last counts. */
static void header_line(scope *s, const source *from, const char *at, const char *end,
                        svm_header *h)
{
    static const char columns[] = "# ferry columns: ", features[] = "# ferry features: ",
                      labels[] = "# ferry labels:";

    if (begins(at, end, columns)) {
        const char *n = at + sizeof columns - 1;
        if (ferry_i_parse_int(n, end, &h->columns) != end || h->columns <= 0 ||
            h->columns >= INT32_MAX)
            bad_at(s, from->path, ferry_i_line_of(from->s, at),
                   "expected a number of columns");
    } else if (begins(at, end, features)) {
        ferry_i_ids_free(*h->features);
        *h->features = NULL;
        *h->features = have(s, ferry_i_ids_new());
        read_names(s, from, at + sizeof features - 1, end, *h->features);
        h->columns = ferry_i_ids_count(*h->features);
    } else if (begins(at, end, labels)) {
        h->labels = new_ids(s);
        read_names(s, from, at + sizeof labels - 1, end, h->labels);
    } else if (begins(at, end, "# Column indices are zero-based")) {
        h->zero_based = true;
    } else if (begins(at, end, "# Column indices are one-based")) {
        h->one_based = true;
    }
}

/* Only the comments in front of the first instance: a header that came later would ask for
 * a look at every line before the pieces can be parsed. */
void svm_header_read(scope *s, const source *from, svm_header *h)
{
    for (const char *at = from->s, *end = from->end; at < end && *at == '#';) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        header_line(s, from, at, stop > at && stop[-1] == '\r' ? stop - 1 : stop, h);
        at = stop < end ? stop + 1 : end;
    }
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

/* Number of a coded label. */
static int64_t decode(scope *s, ferry_ids *names, ferry_span one, bool *added)
{
    const int64_t k = ferry_i_decode(names, one.s, one.n, added);

    if (k < 0) have(s, NULL);
    return k;
}

/* All labels that occur, in the order seen; the header's alone where it has a list. */
static ferry_ids *labels_seen(scope *s, const source *from, const svm_header *h, int64_t n,
                              const ferry_span *text)
{
    ferry_ids *seen = h->labels ? h->labels : new_ids(s);
    ferry_span one;

    for (int64_t i = 0; i < n; i++) {
        ferry_span list = text[i];
        while (list.s && next_label(&list, &one)) {
            bool added = false;
            const int64_t k = decode(s, seen, one, &added);
            if (one.n == 0)
                bad_at(s, from->path, ferry_i_line_of(from->s, one.s), "an empty label");
            if (added && h->labels)
                bad_at(s, from->path, ferry_i_line_of(from->s, one.s),
                       "label %s is not in the list of labels", ferry_i_ids_at(seen, k));
        }
    }
    return seen;
}

/* Sets as n x m of 0 and 1. An empty list is the empty set, "?" (s NULL) an unknown one. Labels are in the
 * header's order, else sorted. */
static void as_sets(scope *s, const source *from, const svm_header *h, int64_t n,
                    const ferry_span *text, ferry_labels **out)
{
    ferry_ids *seen = labels_seen(s, from, h, n, text);
    const int32_t *order = NULL;
    const ferry_ids *names = h->labels ? h->labels : sorted_names(s, seen, &order);
    const int64_t m = ferry_i_ids_count(seen);
    ferry_span one;

    if (m == 0) return; /* nothing but ? and empty lists */
    scope_check(s, ferry_i_labels_new(scope_ctx(s), FERRY_LABEL_SET, n, names, out));
    for (int64_t i = 0; i < n; i++) {
        ferry_span list = text[i];
        (*out)->known[i] = list.s != NULL;
        while (list.s && next_label(&list, &one)) {
            const int64_t k = decode(s, seen, one, NULL);
            (*out)->on[i * m + (order ? order[k] : k)] = 1;
        }
    }
}

/* Classes go through ferry_i_labels_of_texts(), as in all text
 * formats. Texts without % stay where they are, in the input; the others get their decoded form in `names`. */
static void as_classes(scope *s, int64_t n, const ferry_span *from, ferry_labels **out)
{
    const int64_t mark = scope_mark(s);
    ferry_span *text = COPY(s, from, n);
    ferry_ids *names = new_ids(s);

    for (int pass = 0; pass < 2; pass++) { /* ids may move while they are added */
        for (int64_t i = 0; i < n; i++) {
            if (!text[i].s || !memchr(text[i].s, '%', (size_t)text[i].n)) continue;
            const int64_t k = decode(s, names, text[i], NULL);
            if (pass == 0) continue;
            text[i].s = ferry_i_ids_at(names, k);
            text[i].n = (int64_t)strlen(text[i].s);
        }
    }
    scope_check(s, ferry_i_labels_of_texts(scope_ctx(s), n, text, out));
    scope_release(s, mark);
}

/* Sets or classes: what the lines look like decides, not an option, so a file reads the
 * same for everybody. Sets when the header says so, when a line has several labels, or when some lines have
 * none at all: an empty label is the empty set, since a missing class is written "?". */
void svm_labels(scope *s, const source *from, const svm_header *h, const records *r,
                const ferry_span *text, ferry_labels **out)
{
    int64_t several = 0, labelled = 0;

    for (int64_t k = 0; k < r->pieces; k++) {
        several += r->piece[k].several;
        labelled += r->piece[k].labelled;
    }
    if (h->labels || several > 0 || (labelled > 0 && labelled < r->rows))
        as_sets(s, from, h, r->rows, text, out);
    else if (labelled > 0)
        as_classes(s, r->rows, text, out);
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

/* The label of instance i. A number as it was written, so that it is the same class to whom it
 * is one. */
static void add_label(ferry_text *t, const ferry_labels *l, int64_t i)
{
    char number[32];

    if (!l) return;
    if (!ferry_i_labels_has(l, i)) {
        ferry_i_text_add(t, "?");
        return;
    }
    if (l->kind == FERRY_LABEL_CLASS) ferry_i_code(t, ferry_i_ids_at(l->names, l->cls[i]));
    if (l->kind == FERRY_LABEL_NUMBER)
        ferry_i_text_add(t, ferry_i_labels_number(l, i, number));
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

/* The names give the number of columns if there are any; else a line does, but
 * only where the largest index in the file would give it wrong. */
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
