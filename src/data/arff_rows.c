/* ARFF's data section: rows "v, v, ..." or sparse rows "{i v, i v, ...}", where what is
 * left out is 0, or the first value of a nominal attribute. */
#include <math.h>
#include <string.h>

#include "data/arff.h"

/* What is needed while the rows are read.
 *
 * A file is all dense or all sparse, as its first row is: a mixture is refused, because x
 * is one matrix of one kind and is laid out before the second row is seen. */
typedef struct rows {
    arff *a;
    int64_t n;           /* rows in all */
    int64_t at;          /* the row at hand */
    sparse_rows *sparse; /* NULL: dense */
    ferry_labels *labels;
    int64_t *special; /* attributes that mean something when left out */
    int64_t n_special;
} rows;

/* Leave with a sentence about the line at hand. */
#define BAD(r, ...) bad_at((r)->a->s, (r)->a->path, (r)->a->l.line, __VA_ARGS__)

/* ---- one value ---- */

/* One cell of x. Within a sparse row the columns come in ascending order, since indices
 * ascend and an attribute's columns lie side by side: what is appended is a valid CSR
 * row. */
static void put(rows *r, int64_t column, double x)
{
    if (!r->sparse)
        r->a->d->x->dense[r->at * r->a->columns + column] = x;
    else if (x != 0)
        add_entry(r->sparse, column, x);
}

/* "?" by role. A class is missing from the start; a label set with one unknown label is unknown as a whole; an id
 * must be there; a feature becomes NaN in each of its columns, which only a dense matrix can
 * hold. */
static void put_missing(rows *r, const arff_attr *at)
{
    if (at->role == ARFF_LABEL) r->labels->known[r->at] = 0;
    if (at->role == ARFF_ID) BAD(r, "expected an id");
    if (at->role != ARFF_FEATURE) return;
    if (r->sparse)
        BAD(r, "attribute \"%.40s\": a sparse row has no missing values", at->name);
    for (int64_t k = 0; k < at->width; k++)
        put(r, at->column + k, NAN);
}

/* Ids must differ and hold something: rows of several views are matched by them. */
static void set_id(rows *r, const char *text, int64_t len)
{
    bool added = false;

    (void)add_id(r->a->s, r->a->d->ids, text, len, &added);
    if (!added || len == 0)
        BAD(r, "id \"%.40s\" %s", text, len > 0 ? "repeats" : "is empty");
}

/* The number or the place among its values that a text stands for; the place is -1 for a
 * number. *x is a {0,1} attribute's value by its first byte: its values can only be
 * "0" and "1". */
static int64_t decode(const rows *r, const arff_attr *at, const char *text, int64_t len,
                      double *x)
{
    const ferry_field f = {text, len, 0};

    if (at->type == ARFF_NUMBER) {
        if (ferry_i_field_real(&f, x)) return -1;
        BAD(r, "attribute \"%.40s\": expected a finite number, found \"%.40s\"", at->name,
            text);
    }
    const int64_t place = ferry_i_ids_findn(at->values, text, len);
    *x = len > 0 && text[0] == '1';
    if (place < 0)
        BAD(r, "attribute \"%.40s\": \"%.40s\" is none of its values", at->name, text);
    return place;
}

/* One value of attribute i in the row at hand, wherever its role sends it. A quoted '?' is
 * a value like any other, which is why the caller says whether it was quoted. */
static void set_value(rows *r, int64_t i, const char *text, int64_t len, bool quoted)
{
    const arff_attr *at = &r->a->a[i];
    ferry_labels *l = r->labels;
    double x = 0;

    if (at->role == ARFF_DROP) return;
    if (!quoted && len == 1 && text[0] == '?') {
        put_missing(r, at);
        return;
    }
    if (at->role == ARFF_ID) {
        set_id(r, text, len);
        return;
    }
    const int64_t place = decode(r, at, text, len, &x);
    if (at->role == ARFF_CLASS) {
        /* a class is nominal or numeric: one of the two arrays is there */
        if (l->cls)
            l->cls[r->at] = (int32_t)place;
        else if (!ferry_i_labels_write(l, r->at, x, text, len))
            have(r->a->s, NULL);
    } else if (at->role == ARFF_LABEL) {
        if (x != 0 && x != 1)
            BAD(r, "label \"%.40s\": expected 0 or 1, found \"%.40s\"", at->name, text);
        l->on[r->at * r->a->labels + at->column] = x == 1;
    } else if (at->type == ARFF_NUMBER || at->numbers) {
        put(r, at->column, x);
    } else {
        /* one column a value: 1 in its own, 0 in the others */
        put(r, at->column + place, 1);
    }
}

/* ---- rows ---- */

/* Values beyond the last attribute are counted but not stored, so that the message can give
 * their number. */
static void dense_row(rows *r)
{
    arff *a = r->a;
    const char *s = a->l.s, *e = a->l.e;
    int64_t i = 0;
    bool quoted = false;

    for (bool more = true; more; i++) {
        const bool fine = arff_value(a, &s, e, &quoted);
        more = s < e && *s == ',';
        if (!fine || (s != e && !more))
            BAD(r, "value %lld: expected a comma or the end", (long long)(i + 1));
        s += more;
        if (i < a->n) set_value(r, i, a->t->s, a->t->len, quoted);
    }
    if (i != a->n)
        BAD(r, "expected %lld values, found %lld", (long long)a->n, (long long)i);
}

/* Values of the attributes from `from` up to `to` that were left out. A sparse row names
 * only what differs from the default: 0, or a nominal attribute's first value. Only
 * `special` attributes are walked, so a row costs what it names plus these, not all
 * attributes; *next is where the walk through them stands within the row. */
static void left_out(rows *r, int64_t from, int64_t to, int64_t *next)
{
    for (; *next < r->n_special && r->special[*next] < to; ++*next) {
        const int64_t i = r->special[*next];
        const arff_attr *at = &r->a->a[i];
        const char *text = at->type == ARFF_NOMINAL  ? ferry_i_ids_at(at->values, 0)
                           : at->type == ARFF_NUMBER ? "0"
                                                     : "";
        if (i < from) continue; /* it was given */
        set_value(r, i, text, (int64_t)strlen(text), true);
    }
}

/* "{i v, i v, ...}" with i from 0, ascending: the order lets the defaults in between be
 * filled in one walk and makes a repeated index an error. "{}" is a row of defaults. */
static void sparse_row(rows *r)
{
    arff *a = r->a;
    const char *s = a->l.s, *e = a->l.e;
    int64_t done_to = 0, next = 0, i = 0;
    bool quoted = false, closed = false;

    begin_row(r->sparse);
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
        if (!after || after >= e || (*after != ' ' && *after != '\t') || i >= a->n ||
            i < done_to)
            BAD(r, "expected {index value, ...} with ascending indices 0 .. %lld",
                (long long)(a->n - 1));
        s = after;
        const bool value = arff_value(a, &s, e, &quoted);
        closed = s < e && *s == '}';
        if (!value || s == e || (a->t->len == 0 && !quoted))
            BAD(r, "expected {index value, ...}");
        s++;
        /* first what lies between the last index and this one, so that columns ascend */
        left_out(r, done_to, i, &next);
        set_value(r, i, a->t->s, a->t->len, quoted);
        done_to = i + 1;
    }
    left_out(r, done_to, a->n, &next);
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
static bool is_special(const arff_attr *at)
{
    const bool first_one = at->numbers && strcmp(ferry_i_ids_at(at->values, 0), "1") == 0;

    if (at->role == ARFF_DROP) return false;
    if (at->role == ARFF_CLASS || at->role == ARFF_ID) return true;
    return first_one ||
           (at->role == ARFF_FEATURE && at->type == ARFF_NOMINAL && !at->numbers);
}

/* Count the rows on a copy of the line reader, so that a->l stays at the first; then lay
 * out x and the list of special attributes. The first row decides dense or sparse. */
static void prepare(rows *r)
{
    const arff *a = r->a;
    ferry_lines l = a->l;
    bool sparse = false;

    for (; ferry_i_full_line(&l, "%"); r->n++)
        if (r->n == 0) sparse = begins_sparse(&l);
    if (r->n == 0) bad_at(a->s, a->path, 0, "no rows behind @data");
    r->special = NEW(a->s, int64_t, a->n);
    for (int64_t i = 0; i < a->n; i++)
        if (is_special(&a->a[i])) r->special[r->n_special++] = i;
    if (sparse)
        r->sparse = new_rows(a->s, r->n);
    else
        scope_check(a->s,
                    ferry_i_matrix_dense(scope_ctx(a->s), r->n, a->columns, &a->d->x));
    if (a->id >= 0) a->d->ids = have(a->s, ferry_i_ids_new());
}

/* Labels of d, all missing at first: class, number or set as the roles say. A set starts
 * known, since a "?" makes it unknown and nothing else does. */
static void prepare_labels(rows *r)
{
    const arff *a = r->a;
    const arff_attr *class = a->class >= 0 ? &a->a[a->class] : NULL;
    ferry_label_kind kind = FERRY_LABEL_SET;
    ferry_ids *names = NULL;

    if (!class && a->labels == 0) return;
    if (class) {
        if (class->type == ARFF_STRING)
            bad_at(a->s, a->path, 0,
                   "label \"%.40s\" is a string, expected a nominal or numeric attribute",
                   class->name);
        kind = class->type == ARFF_NOMINAL ? FERRY_LABEL_CLASS : FERRY_LABEL_NUMBER;
        names = class->type == ARFF_NOMINAL ? class->values : NULL;
    } else {
        names = new_ids(a->s);
        for (int64_t i = 0; i < a->n; i++)
            if (a->a[i].role == ARFF_LABEL)
                (void)add_id(a->s, names, a->a[i].name, (int64_t)strlen(a->a[i].name),
                             NULL);
    }
    scope_check(a->s,
                ferry_i_labels_new(scope_ctx(a->s), kind, r->n, names, &a->d->labels));
    r->labels = a->d->labels;
    if (!class) memset(r->labels->known, 1, (size_t)r->n);
}

/* Names of the feature columns. */
static void name_features(const arff *a)
{
    ferry_ids *names = a->d->features = have(a->s, ferry_i_ids_new());

    for (int64_t i = 0; i < a->n; i++) {
        const arff_attr *at = &a->a[i];
        const bool itself = at->type == ARFF_NUMBER || at->numbers;
        for (int64_t k = 0; at->role == ARFF_FEATURE && k < at->width; k++) {
            const int64_t mark = scope_mark(a->s);
            const char *text =
                itself ? at->name
                       : scope_text(a->s, "%s=%s", at->name, ferry_i_ids_at(at->values, k));
            (void)add_id(a->s, names, text, (int64_t)strlen(text), NULL);
            scope_release(a->s, mark);
        }
    }
}

void arff_rows(arff *a)
{
    rows r = {.a = a};

    prepare(&r);
    prepare_labels(&r);
    name_features(a);
    for (; ferry_i_full_line(&a->l, "%"); r.at++) {
        if (begins_sparse(&a->l) != (r.sparse != NULL))
            BAD(&r, "expected a %s row as before", r.sparse ? "sparse" : "dense");
        (r.sparse ? sparse_row : dense_row)(&r);
    }
    if (r.sparse) give_rows(r.sparse, a->columns, &a->d->x);
}
