/* ARFF, written: ids as a string attribute "id", features, labels last. Label sets are
 * {0,1} attributes, with their names in an XML file beside it, as Mulan has them.
 *
 * In sparse rows a value left out means 0, and for a nominal attribute its first value; so a
 * class is written in every row, even the first one. */
#include <math.h>
#include <string.h>

#include "data/arff.h"

/* A name or value in quotes, with quotes and backslashes escaped. */
static void put_quoted(ferry_out *o, const char *text)
{
    ferry_i_out_write(o, "'", 1);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') ferry_i_out_write(o, "\\", 1);
        ferry_i_out_write(o, text, 1);
    }
    ferry_i_out_write(o, "'", 1);
}

/* Without names features are called x1, x2, ..., which meet neither id, class nor label. */
static bool is_feature(const ferry_data *d, const char *name)
{
    return d->features && ferry_i_ids_find(d->features, name) >= 0;
}

/* A name for the class that no feature has. */
static const char *class_name(const ferry_data *d)
{
    return !is_feature(d, "class") ? "class" : !is_feature(d, "label") ? "label" : NULL;
}

/* All that could not be read back as it was is refused before the file is begun: other
 * kinds of data, and names that stand for something else in an ARFF file. */
static ferry_status check(ferry_ctx *ctx, const ferry_data *d, const char *path)
{
    ferry_status st = FERRY_OK;
    const bool set = d->labels && d->labels->kind == FERRY_LABEL_SET;

    FERRY_NEED(ctx, d->kind == FERRY_DATA_VIEW && d->x, FERRY_EINVAL,
               "%s: an ARFF file holds features, with labels, only", path);
    FERRY_NEED(ctx, !d->ids || !is_feature(d, "id"), FERRY_EINVAL,
               "%s: a feature is called id, which is where the ids go", path);
    FERRY_NEED(ctx, !d->labels || set || class_name(d), FERRY_EINVAL,
               "%s: features are called class and label, which is where labels go", path);
    FERRY_TRY(ferry_i_fit_lines(ctx, path, d->ids));
    FERRY_TRY(ferry_i_fit_lines(ctx, path, d->features));
    FERRY_TRY(ferry_i_fit_lines(ctx, path, d->labels ? d->labels->names : NULL));
    for (int64_t k = 0; set && k < ferry_i_labels_m(d->labels); k++)
        FERRY_NEED(ctx, !is_feature(d, ferry_i_ids_at(d->labels->names, k)), FERRY_EINVAL,
                   "%s: both a feature and a label are called %s", path,
                   ferry_i_ids_at(d->labels->names, k));
done:
    return st;
}

/* Attributes in the order of a row: id, features, labels. put_row() counts on it: in a
 * sparse row feature j is attribute j (+ 1 behind an id), labels follow at cols. */
static void put_header(ferry_out *o, const ferry_data *d)
{
    const ferry_labels *l = d->labels;
    const int64_t m = l ? ferry_i_labels_m(l) : 0;

    ferry_i_out_printf(o, "@relation ferry\n\n");
    if (d->ids) ferry_i_out_printf(o, "@attribute id string\n");
    for (int64_t j = 0; j < d->x->cols; j++) {
        ferry_i_out_printf(o, "@attribute ");
        if (d->features)
            put_quoted(o, ferry_i_ids_at(d->features, j));
        else
            ferry_i_out_printf(o, "x%lld", (long long)(j + 1));
        ferry_i_out_printf(o, " numeric\n");
    }
    if (l && l->kind == FERRY_LABEL_NUMBER)
        ferry_i_out_printf(o, "@attribute %s numeric\n", class_name(d));
    if (l && l->kind == FERRY_LABEL_CLASS) {
        ferry_i_out_printf(o, "@attribute %s {", class_name(d));
        for (int64_t k = 0; k < m; k++) {
            if (k > 0) ferry_i_out_write(o, ",", 1);
            put_quoted(o, ferry_i_ids_at(l->names, k));
        }
        ferry_i_out_printf(o, "}\n");
    }
    for (int64_t k = 0; l && l->kind == FERRY_LABEL_SET && k < m; k++) {
        ferry_i_out_printf(o, "@attribute ");
        put_quoted(o, ferry_i_ids_at(l->names, k));
        ferry_i_out_printf(o, " {0,1}\n");
    }
    ferry_i_out_printf(o, "\n@data\n");
}

/* One value: behind a comma unless it is the row's first, with its index when sparse. */
static void put_place(ferry_out *o, bool sparse, int64_t place, bool *first)
{
    if (!*first) ferry_i_out_write(o, ",", 1);
    *first = false;
    if (sparse) ferry_i_out_printf(o, "%lld ", (long long)place);
}

/* NaN is a missing cell. The number is the shortest that reads back as the same double. */
static void put_real(ferry_out *o, double x)
{
    char number[32];

    if (isnan(x))
        ferry_i_out_write(o, "?", 1);
    else
        ferry_i_out_write(o, number, ferry_i_format_real(number, x));
}

/* Labels of row i; `place` is the first label's attribute number. In a sparse row a label
 * that is off is left out (0 is the default of {0,1}), but an unknown one is written as
 * "?". */
static void put_labels(ferry_out *o, const ferry_labels *l, int64_t i, bool sparse,
                       int64_t place, bool *first)
{
    char number[32];

    if (l->kind == FERRY_LABEL_NUMBER) {
        put_place(o, sparse, place, first);
        const char *text = isnan(l->num[i]) ? "?" : ferry_i_labels_number(l, i, number);
        ferry_i_out_write(o, text, (int64_t)strlen(text));
    } else if (l->kind == FERRY_LABEL_CLASS) {
        put_place(o, sparse, place, first);
        if (l->cls[i] < 0)
            ferry_i_out_write(o, "?", 1);
        else
            put_quoted(o, ferry_i_ids_at(l->names, l->cls[i]));
    } else {
        const int64_t m = ferry_i_labels_m(l);
        for (int64_t k = 0; k < m; k++) {
            const bool on = l->on[i * m + k];
            /* 0 is the first value of {0,1}, so it may be left out */
            if (sparse && l->known[i] && !on) continue;
            put_place(o, sparse, place + k, first);
            ferry_i_out_write(o, !l->known[i] ? "?" : on ? "1" : "0", 1);
        }
    }
}

/* A sparse matrix gives sparse rows "{index value,...}", a dense one plain rows. */
static void put_row(ferry_out *o, const ferry_data *d, int64_t i)
{
    const ferry_matrix *x = d->x;
    const bool sparse = !x->dense;
    /* attributes before the first feature */
    const int64_t skip = d->ids ? 1 : 0;
    bool first = true;

    if (sparse) ferry_i_out_write(o, "{", 1);
    if (d->ids) {
        put_place(o, sparse, 0, &first);
        put_quoted(o, ferry_i_ids_at(d->ids, i));
    }
    for (int64_t j = 0; !sparse && j < x->cols; j++) {
        put_place(o, false, 0, &first);
        put_real(o, x->dense[i * x->cols + j]);
    }
    for (int64_t e = sparse ? x->start[i] : 0; sparse && e < x->start[i + 1]; e++) {
        put_place(o, true, skip + x->index[e], &first);
        put_real(o, x->value[e]);
    }
    if (d->labels) put_labels(o, d->labels, i, sparse, skip + x->cols, &first);
    ferry_i_out_write(o, sparse ? "}\n" : "\n", sparse ? 2 : 1);
}

/* ---- Mulan's XML ---- */

/* What an XML attribute in double quotes cannot hold as it is. The inverse of
 * add_entity_text() in arff.c. */
static void put_escaped(ferry_out *o, const char *text)
{
    for (; *text; text++) {
        if (*text == '&')
            ferry_i_out_printf(o, "&amp;");
        else if (*text == '<')
            ferry_i_out_printf(o, "&lt;");
        else if (*text == '>')
            ferry_i_out_printf(o, "&gt;");
        else if (*text == '"')
            ferry_i_out_printf(o, "&quot;");
        else
            ferry_i_out_write(o, text, 1);
    }
}

/* FILE.xml beside FILE.arff, where xml_beside() in arff.c looks for it. */
static ferry_status write_xml(ferry_ctx *ctx, const ferry_labels *l, const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;
    const size_t n = strlen(path);
    const bool named = n > 5 && strcmp(path + n - 5, ".arff") == 0;
    char *xml = ferry_i_sprintf("%.*s.xml", (int)(named ? n - 5 : n), path);

    FERRY_HAVE(ctx, xml);
    FERRY_TRY(ferry_i_out_open(ctx, xml, &o));
    ferry_i_out_printf(o, "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
                          "<labels xmlns=\"http://mulan.sourceforge.net/labels\">\n");
    for (int64_t k = 0; k < ferry_i_labels_m(l); k++) {
        ferry_i_out_printf(o, "<label name=\"");
        put_escaped(o, ferry_i_ids_at(l->names, k));
        ferry_i_out_printf(o, "\"></label>\n");
    }
    ferry_i_out_printf(o, "</labels>\n");
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_free(xml);
    return st;
}

/* The XML is committed before the ARFF file: a failure there leaves no data without its
 * labels. */
ferry_status ferry_i_arff_write(ferry_ctx *ctx, const ferry_data *data, const char *path,
                                const ferry_opts *opts)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;

    (void)opts;
    FERRY_TRY(check(ctx, data, path));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    put_header(o, data);
    for (int64_t i = 0; i < data->x->rows; i++)
        put_row(o, data, i);
    if (data->labels && data->labels->kind == FERRY_LABEL_SET)
        FERRY_TRY(write_xml(ctx, data->labels, path));
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    return st;
}
