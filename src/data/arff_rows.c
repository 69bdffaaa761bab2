/* ARFF's data section: rows "v, v, ..." or sparse rows "{i v, i v, ...}", where what is
 * left out is 0, or the first value of a nominal attribute. */
#include <math.h>
#include <string.h>

#include "data/arff.h"

/* What is needed while the rows are read. Pointers into d (number, cls, on, known) are
 * lent; start, index, value and special belong to this struct.
 *
 * A file is all dense or all sparse, as its first row is: a mixture is refused, because x
 * is one matrix of one kind and is laid out before the second row is seen. */
typedef struct rows {
    ferry_arff *a;
    int64_t n;  /* rows in all */
    int64_t at; /* the row at hand */
    bool sparse;
    ferry_data *d;
    /* CSR under construction: row i has the entries start[i] .. start[i + 1] - 1 */
    int64_t *start; /* sparse: n + 1 */
    int32_t *index;
    double *value;
    int64_t nnz, cap_index, cap_value;
    double *number; /* numeric class */
    int32_t *cls;   /* nominal class */
    /* label set: n x labels, and n */
    uint8_t *on, *known;
    int64_t *special; /* attributes that mean something when left out */
    int64_t n_special;
} rows;

/* ---- one value ---- */

/* One cell of x. Within a sparse row the columns come in ascending order, since indices
 * ascend and an attribute's columns lie side by side: what is appended is a valid CSR
 * row. */
static ferry_status put(ferry_ctx *ctx, rows *r, int64_t column, double x)
{
    if (!r->sparse) {
        r->d->x->dense[r->at * r->a->columns + column] = x;
        return FERRY_OK;
    }
    if (x == 0) return FERRY_OK;
    if (!FERRY_GROW(r->index, r->nnz, r->cap_index) ||
        !FERRY_GROW(r->value, r->nnz, r->cap_value))
        return ferry_i_nomem(ctx);
    r->index[r->nnz] = (int32_t)column;
    r->value[r->nnz++] = x;
    return FERRY_OK;
}

/* "?" by role. A label set with one unknown label is unknown as a whole; an id must be
 * there; a feature becomes NaN in each of its columns, which only a dense matrix can
 * hold. */
static ferry_status missing(ferry_ctx *ctx, rows *r, const ferry_arff_attr *at)
{
    ferry_status st = FERRY_OK;

    if (at->role == ARFF_CLASS) goto done; /* missing from the start */
    if (at->role == ARFF_LABEL) {
        r->known[r->at] = 0;
    } else if (at->role == ARFF_ID) {
        st = ferry_i_bad(ctx, r->a->path, r->a->l.line, "expected an id");
    } else if (at->role == ARFF_FEATURE && r->sparse) {
        st = ferry_i_bad(ctx, r->a->path, r->a->l.line,
                         "attribute \"%.40s\": a sparse row has no missing values",
                         at->name);
    }
    for (int64_t k = 0; at->role == ARFF_FEATURE && !r->sparse && k < at->width; k++)
        FERRY_TRY(put(ctx, r, at->column + k, NAN));
done:
    return st;
}

/* Ids must differ and say something: rows of several views are matched by them. */
static ferry_status set_id(ferry_ctx *ctx, rows *r, const char *text, int64_t len)
{
    bool added = false;

    if (ferry_i_ids_addn(r->d->ids, text, len, &added) < 0) return ferry_i_nomem(ctx);
    if (!added || len == 0)
        return ferry_i_bad(ctx, r->a->path, r->a->l.line, "id \"%.40s\" %s", text,
                           len > 0 ? "repeats" : "is empty");
    return FERRY_OK;
}

/* The number or the place among its values that a text stands for. *place is -1 for a
 * number. *x is a {0,1} attribute's value, told by its first byte: its values can only be
 * "0" and "1". */
static ferry_status decode(ferry_ctx *ctx, const rows *r, const ferry_arff_attr *at,
                           const char *text, int64_t len, double *x, int64_t *place)
{
    const ferry_field f = {text, len, 0};

    *place = -1;
    if (at->type == ARFF_NUMBER) {
        if (ferry_i_field_real(&f, x)) return FERRY_OK;
        return ferry_i_bad(ctx, r->a->path, r->a->l.line,
                           "attribute \"%.40s\": expected a finite number, found \"%.40s\"",
                           at->name, text);
    }
    *place = ferry_i_ids_findn(at->values, text, len);
    *x = len > 0 && text[0] == '1';
    if (*place >= 0) return FERRY_OK;
    return ferry_i_bad(ctx, r->a->path, r->a->l.line,
                       "attribute \"%.40s\": \"%.40s\" is none of its values", at->name,
                       text);
}

/* One value of attribute i in the row at hand, wherever its role sends it. A quoted '?' is
 * a value like any other, which is why the caller says whether it was quoted. */
static ferry_status set_value(ferry_ctx *ctx, rows *r, int64_t i, const char *text,
                              int64_t len, bool quoted)
{
    ferry_status st = FERRY_OK;
    const ferry_arff_attr *at = &r->a->a[i];
    double x = 0;
    int64_t place = -1;

    if (at->role == ARFF_DROP) goto done;
    if (!quoted && len == 1 && text[0] == '?') {
        FERRY_TRY(missing(ctx, r, at));
        goto done;
    }
    if (at->role == ARFF_ID) {
        FERRY_TRY(set_id(ctx, r, text, len));
        goto done;
    }
    FERRY_TRY(decode(ctx, r, at, text, len, &x, &place));
    if (at->role == ARFF_CLASS) {
        /* a class is nominal or numeric: one of the two arrays is there */
        if (r->cls) r->cls[r->at] = (int32_t)place;
        if (r->number) r->number[r->at] = x;
    } else if (at->role == ARFF_LABEL) {
        FERRY_NEED_AT(ctx, x == 0 || x == 1, r->a->path, r->a->l.line,
                      "label \"%.40s\": expected 0 or 1, found \"%.40s\"", at->name, text);
        r->on[r->at * r->a->labels + at->column] = x == 1;
    } else if (at->type == ARFF_NUMBER || at->numbers) {
        FERRY_TRY(put(ctx, r, at->column, x));
    } else {
        /* one column a value: 1 in its own, 0 in the others */
        FERRY_TRY(put(ctx, r, at->column + place, 1));
    }
done:
    return st;
}

/* ---- rows ---- */

/* Values beyond the last attribute are counted but not stored, so that the message can say
 * how many there were. */
static ferry_status dense_row(ferry_ctx *ctx, rows *r, ferry_text *t)
{
    ferry_status st = FERRY_OK;
    const ferry_arff *a = r->a;
    const char *s = a->l.s, *e = a->l.e;
    int64_t i = 0;
    bool quoted = false, more = true;

    for (; more; i++) {
        const bool fine = ferry_i_arff_value(&s, e, t, &quoted);
        FERRY_HAVE(ctx, !t->failed);
        more = s < e && *s == ',';
        FERRY_NEED_AT(ctx, fine && (s == e || more), a->path, a->l.line,
                      "value %lld: expected a comma or the end", (long long)(i + 1));
        s += more;
        if (i < a->n) FERRY_TRY(set_value(ctx, r, i, t->s, t->len, quoted));
    }
    if (i != a->n)
        st = ferry_i_bad(ctx, a->path, a->l.line, "expected %lld values, found %lld",
                         (long long)a->n, (long long)i);
done:
    return st;
}

/* Values of the attributes from `from` up to `to` that were left out. A sparse row names
 * only what differs from the default: 0, or a nominal attribute's first value. Only
 * `special` attributes are walked, so a row costs what it names plus these, not all
 * attributes; *next is where the walk through them stands within the row. */
static ferry_status left_out(ferry_ctx *ctx, rows *r, int64_t from, int64_t to,
                             int64_t *next)
{
    for (; *next < r->n_special && r->special[*next] < to; ++*next) {
        const int64_t i = r->special[*next];
        const ferry_arff_attr *at = &r->a->a[i];
        const char *text = at->type == ARFF_NOMINAL  ? ferry_i_ids_at(at->values, 0)
                           : at->type == ARFF_NUMBER ? "0"
                                                     : "";
        if (i < from) continue; /* it was given */
        FERRY_PASS(set_value(ctx, r, i, text, (int64_t)strlen(text), true));
    }
    return FERRY_OK;
}

/* "{i v, i v, ...}" with i from 0, ascending: the order lets the defaults in between be
 * filled in one walk and makes a repeated index an error. "{}" is a row of defaults. */
static ferry_status sparse_row(ferry_ctx *ctx, rows *r, ferry_text *t)
{
    ferry_status st = FERRY_OK;
    const ferry_arff *a = r->a;
    const char *s = a->l.s, *e = a->l.e;
    int64_t done_to = 0, next = 0, i = 0;
    bool quoted = false, closed = false;

    /* the row begins where the last one ended */
    r->start[r->at] = r->nnz;
    while (s < e && *s != '{')
        s++;
    for (s++; s < e && (*s == ' ' || *s == '\t');)
        s++;
    closed = s < e && *s == '}';
    while (!closed) {
        while (s < e && (*s == ' ' || *s == '\t'))
            s++;
        const char *after = ferry_i_parse_int(s, e, &i);
        /* an index, a blank, a value */
        const bool fine =
            after && after < e && (*after == ' ' || *after == '\t') && i < a->n;
        FERRY_NEED_AT(ctx, fine && i >= done_to, a->path, a->l.line,
                      "expected {index value, ...} with ascending indices 0 .. %lld",
                      (long long)(a->n - 1));
        s = after;
        const bool value = ferry_i_arff_value(&s, e, t, &quoted);
        FERRY_HAVE(ctx, !t->failed);
        closed = s < e && *s == '}';
        FERRY_NEED_AT(ctx, value && s != e && (t->len > 0 || quoted), a->path, a->l.line,
                      "expected {index value, ...}");
        s++;
        /* first what lies between the last index and this one, so that columns ascend */
        FERRY_TRY(left_out(ctx, r, done_to, i, &next));
        FERRY_TRY(set_value(ctx, r, i, t->s, t->len, quoted));
        done_to = i + 1;
    }
    FERRY_TRY(left_out(ctx, r, done_to, a->n, &next));
done:
    return st;
}

static bool begins_sparse(const ferry_lines *l)
{
    const char *s = l->s;

    while (s < l->e && (*s == ' ' || *s == '\t'))
        s++;
    return s < l->e && *s == '{';
}

/* ---- all of them ---- */

/* Whether leaving the attribute out of a sparse row means more than a zero. A class and an
 * id need a value in every row. A nominal feature left out still switches on the column of
 * its first value; of a {0,1} one only if its first value is "1". A numeric feature, or a
 * label {0,1}, is the zero that is there already. */
static bool is_special(const ferry_arff_attr *at)
{
    const bool first_one = at->numbers && strcmp(ferry_i_ids_at(at->values, 0), "1") == 0;

    if (at->role == ARFF_DROP) return false;
    if (at->role == ARFF_CLASS || at->role == ARFF_ID) return true;
    return first_one ||
           (at->role == ARFF_FEATURE && at->type == ARFF_NOMINAL && !at->numbers);
}

/* Count the rows on a copy of the line reader, so that a->l stays at the first; then lay
 * out x and the list of special attributes. */
static ferry_status prepare(ferry_ctx *ctx, rows *r)
{
    ferry_status st = FERRY_OK;
    const ferry_arff *a = r->a;
    ferry_lines l = a->l;

    /* the first row decides dense or sparse */
    for (; ferry_i_full_line(&l, "%"); r->n++)
        if (r->n == 0) r->sparse = begins_sparse(&l);
    FERRY_NEED(ctx, r->n > 0, FERRY_EDATA, "%s: no rows behind @data", a->path);
    FERRY_NEW(ctx, r->special, a->n);
    for (int64_t i = 0; i < a->n; i++)
        if (is_special(&a->a[i])) r->special[r->n_special++] = i;
    if (r->sparse) {
        FERRY_NEW(ctx, r->start, r->n + 1);
    } else {
        FERRY_TRY(ferry_i_matrix_dense(ctx, r->n, a->columns, &r->d->x));
    }
    if (a->id >= 0) {
        FERRY_HAVE(ctx, r->d->ids = ferry_i_ids_new());
    }
done:
    return st;
}

/* Labels of d, all missing at first: class, number or set as the roles say. A set starts
 * known, since a "?" makes it unknown and nothing else does. */
static ferry_status prepare_labels(ferry_ctx *ctx, rows *r)
{
    ferry_status st = FERRY_OK;
    const ferry_arff *a = r->a;
    ferry_ids *names = NULL;

    if (a->class >= 0) {
        const ferry_arff_attr *at = &a->a[a->class];
        const bool nominal = at->type == ARFF_NOMINAL;
        FERRY_NEED(
            ctx, at->type != ARFF_STRING, FERRY_EDATA,
            "%s: label \"%.40s\" is a string, expected a nominal or numeric attribute",
            a->path, at->name);
        FERRY_TRY(ferry_i_labels_new(ctx, nominal ? FERRY_LABEL_CLASS : FERRY_LABEL_NUMBER,
                                     r->n, nominal ? at->values : NULL, &r->d->labels));
        r->cls = r->d->labels->cls;
        r->number = r->d->labels->num;
    } else if (a->labels > 0) {
        FERRY_HAVE(ctx, names = ferry_i_ids_new());
        for (int64_t i = 0; i < a->n; i++)
            if (a->a[i].role == ARFF_LABEL)
                FERRY_HAVE(ctx, ferry_i_ids_add(names, a->a[i].name, NULL) >= 0);
        FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_SET, r->n, names, &r->d->labels));
        r->on = r->d->labels->on;
        r->known = r->d->labels->known;
        memset(r->known, 1, (size_t)r->n);
    }
done:
    ferry_i_ids_free(names);
    return st;
}

/* Names of the feature columns. */
static ferry_status name_features(ferry_ctx *ctx, rows *r)
{
    ferry_status st = FERRY_OK;
    const ferry_arff *a = r->a;
    char *text = NULL;

    FERRY_HAVE(ctx, r->d->features = ferry_i_ids_new());
    for (int64_t i = 0; i < a->n; i++) {
        const ferry_arff_attr *at = &a->a[i];
        for (int64_t k = 0; at->role == ARFF_FEATURE && k < at->width; k++) {
            ferry_i_free(text);
            const bool itself = at->type == ARFF_NUMBER || at->numbers;
            text = itself
                       ? ferry_i_strdup(at->name)
                       : ferry_i_sprintf("%s=%s", at->name, ferry_i_ids_at(at->values, k));
            FERRY_HAVE(ctx, text && ferry_i_ids_add(r->d->features, text, NULL) >= 0);
        }
    }
done:
    ferry_i_free(text);
    return st;
}

/* The arrays grew with room to spare; x gets its own of the exact size. */
static ferry_status give_sparse(ferry_ctx *ctx, rows *r)
{
    ferry_matrix *x = NULL;

    r->start[r->n] = r->nnz;
    FERRY_PASS(ferry_i_matrix_csr(ctx, r->n, r->a->columns, r->nnz, &x));
    memcpy(x->start, r->start, (size_t)(r->n + 1) * sizeof *r->start);
    if (r->nnz > 0) {
        memcpy(x->index, r->index, (size_t)r->nnz * sizeof *r->index);
        memcpy(x->value, r->value, (size_t)r->nnz * sizeof *r->value);
    }
    r->d->x = x;
    return FERRY_OK;
}

/* After a failure d holds a part of the data: the caller frees it. */
ferry_status ferry_i_arff_rows(ferry_ctx *ctx, ferry_arff *a, ferry_data *d)
{
    ferry_status st = FERRY_OK;
    rows r = {.a = a, .d = d};
    ferry_text t = {0};

    FERRY_TRY(prepare(ctx, &r));
    FERRY_TRY(prepare_labels(ctx, &r));
    FERRY_TRY(name_features(ctx, &r));
    for (; ferry_i_full_line(&a->l, "%"); r.at++) {
        FERRY_NEED_AT(ctx, begins_sparse(&a->l) == r.sparse, a->path, a->l.line,
                      "expected a %s row as before", r.sparse ? "sparse" : "dense");
        FERRY_TRY(r.sparse ? sparse_row(ctx, &r, &t) : dense_row(ctx, &r, &t));
    }
    if (r.sparse) FERRY_TRY(give_sparse(ctx, &r));
done:
    ferry_i_text_free(&t);
    FERRY_FREE(r.start, r.index, r.value, r.special);
    return st;
}
