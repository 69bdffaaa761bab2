/* Variables of a container: from arrays and texts by name to a view with ids, names and
 * labels. What MAT and NPZ files share.
 *
 * Nobody agrees on names, so the choice goes by them where they help and by shape elsewhere:
 * x is what is called x, else the only matrix; labels are what is called y, label, gnd, ...
 * with one entry a row. Where two readings are possible nothing is guessed: the variables are
 * listed, and the user picks with file#NAME. */
#include "data/variables.h"

#include <math.h>
#include <string.h>

#include "data/lines.h"

/* ---- lists ---- */

bool ferry_i_var_list_add(ferry_var_list *list, const ferry_var_info *info)
{
    if (!FERRY_GROW(list->v, list->n, list->cap)) return false;
    ferry_var_info *v = &list->v[list->n];
    *v = *info;
    v->name = ferry_i_strdup(info->name);
    v->type = ferry_i_strdup(info->type);
    list->n++; /* counted also when half made, so that it is freed */
    return v->name && v->type;
}

void ferry_i_var_list_free(ferry_var_list *list)
{
    for (int64_t i = 0; i < list->n; i++)
        FERRY_FREE(list->v[i].name, list->v[i].type);
    ferry_i_free(list->v);
    *list = (ferry_var_list){0};
}

/* A walk: containers hold a handful of variables. */
int64_t ferry_i_var_list_find(const ferry_var_list *list, const char *name)
{
    for (int64_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i].name, name) == 0) return i;
    return -1;
}

/* ---- which variable is what ---- */

/* Places in the list of the parts of a view; -1 where there is none. */
typedef struct picked {
    int64_t x, y, ids, features, label_names;
} picked;

/* Shapes as MATLAB has them: a vector is a matrix with one row or one column. */
static bool is_vector(const ferry_var_info *v)
{
    return (v->rows == 1 || v->cols == 1) && (v->numeric || v->text);
}

static int64_t length(const ferry_var_info *v)
{
    return v->rows == 1 ? v->cols : v->rows;
}

/* Whether name is one of the words, in whatever case; words are in lower case. */
static bool one_of(const char *name, const char *const *words, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        size_t k = 0;
        while (words[i][k] && (name[k] | 32) == words[i][k])
            k++;
        if (!words[i][k] && !name[k]) return true;
    }
    return false;
}

/* Names met in published files: gnd and gt ("ground truth") are usual in MAT files. */
static bool names_labels(const char *name)
{
    static const char *const words[] = {"y",      "label",   "labels",  "gnd",   "gt",
                                        "target", "targets", "classes", "class", "truth"};
    return one_of(name, words, FERRY_COUNT(words));
}

static bool names_x(const char *name)
{
    static const char *const words[] = {"x"};
    return one_of(name, words, FERRY_COUNT(words));
}

static bool names_ids(const char *name)
{
    static const char *const words[] = {"id", "ids"};
    return one_of(name, words, FERRY_COUNT(words));
}

static bool names_features(const char *name)
{
    static const char *const words[] = {"features", "vocabulary", "words"};
    return one_of(name, words, FERRY_COUNT(words));
}

/* The one matrix that can be x: the one called x, else the only one that is not called a
 * label, else the only vector of numbers. -2: several. */
static int64_t choose_x(const ferry_var_list *list)
{
    int64_t found = -1, vectors = 0, vector = -1;

    for (int64_t i = 0; i < list->n; i++)
        if (names_x(list->v[i].name) && list->v[i].numeric) return i;
    for (int64_t i = 0; i < list->n; i++) {
        const ferry_var_info *v = &list->v[i];
        if (!v->numeric || names_labels(v->name)) continue;
        if (is_vector(v)) {
            vectors++;
            vector = i;
        } else if (found >= 0) {
            return -2;
        } else {
            found = i;
        }
    }
    if (found < 0 && vectors == 1) return vector;
    return found;
}

/* Which variables are x, labels, ids and feature names, by their names and shapes. False
 * when there is not exactly one sensible answer: then the container is to be listed. */
static bool choose(const ferry_var_list *list, bool transpose, picked *pick)
{
    int64_t spare = 0, last = -1;

    *pick = (picked){-1, -1, -1, -1, -1};
    pick->x = choose_x(list);
    if (pick->x < 0) return false;
    const ferry_var_info *x = &list->v[pick->x];
    /* n instances, d features, as x will be read */
    const int64_t n = transpose ? x->cols : x->rows, d = transpose ? x->rows : x->cols;
    for (int64_t i = 0; i < list->n; i++) {
        const ferry_var_info *v = &list->v[i];
        /* one entry, or one row, for each instance */
        const bool fits = is_vector(v) ? length(v) == n : v->numeric && v->rows == n;
        if (i == pick->x) continue;
        if (v->container) return false;
        if (strcmp(v->name, "label_names") == 0 && v->text)
            pick->label_names = i;
        else if (names_labels(v->name) && fits && pick->y < 0)
            pick->y = i;
        else if (names_ids(v->name) && is_vector(v) && fits)
            pick->ids = i;
        else if (names_features(v->name) && v->text && length(v) == d)
            pick->features = i;
        else if (is_vector(v) && fits) {
            spare++;
            last = i;
        }
    }
    /* nothing is called a label, but exactly one vector has an entry a row: it must be
     * them */
    if (pick->y < 0 && spare == 1) pick->y = last;
    return true;
}

/* ---- values ---- */

void ferry_i_var_free(ferry_var *v)
{
    ferry_i_matrix_free(v->x);
    for (int64_t i = 0; v->text && i < v->n_text; i++)
        ferry_i_free(v->text[i]);
    ferry_i_free(v->text);
    *v = (ferry_var){0};
}

/* t (cols x rows, offsets zero) becomes the transpose of x. */
static ferry_status transpose_csr(ferry_ctx *ctx, const ferry_matrix *x, ferry_matrix *t)
{
    ferry_status st = FERRY_OK;
    int64_t *at = NULL;

    for (int64_t e = 0; e < x->nnz; e++)
        t->start[x->index[e] + 1]++;
    for (int64_t j = 0; j < x->cols; j++)
        t->start[j + 1] += t->start[j];
    FERRY_NEW(ctx, at, x->cols);
    for (int64_t j = 0; j < x->cols; j++)
        at[j] = t->start[j];
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const int64_t to = at[x->index[e]]++;
            t->index[to] = (int32_t)i;
            t->value[to] = x->value[e];
        }
    }
done:
    ferry_i_free(at);
    return st;
}

/* Sparse: counting sort by column, O(nnz + rows + cols); entries of a new row come out in
 * ascending order because the old rows are walked in theirs. */
ferry_status ferry_i_var_transpose(ferry_ctx *ctx, ferry_var *v)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = v->x;
    ferry_matrix *t = NULL;

    FERRY_NEED(ctx, x->rows <= INT32_MAX, FERRY_EDATA, "%lld columns are too many",
               (long long)x->rows);
    if (x->dense) {
        FERRY_TRY(ferry_i_matrix_dense(ctx, x->cols, x->rows, &t));
        for (int64_t i = 0; i < x->rows; i++)
            for (int64_t j = 0; j < x->cols; j++)
                t->dense[j * x->rows + i] = x->dense[i * x->cols + j];
    } else {
        FERRY_TRY(ferry_i_matrix_csr(ctx, x->cols, x->rows, x->nnz, &t));
        FERRY_TRY(transpose_csr(ctx, x, t));
    }
    ferry_i_matrix_free(v->x);
    FERRY_MOVE(v->x, t);
done:
    ferry_i_matrix_free(t);
    return st;
}

/* Sorted rows, the usual case, cost one walk. Else the matrix is transposed twice, each a
 * counting sort that keeps the order it finds: O(nnz + rows + cols) without comparing.
 * Entries of one place then stand side by side, and are refused. */
ferry_status ferry_i_var_sort(ferry_ctx *ctx, const char *where, ferry_var *v)
{
    ferry_status st = FERRY_OK;
    bool sorted = true;

    for (int64_t i = 0; i < v->x->rows && sorted; i++)
        for (int64_t e = v->x->start[i] + 1; e < v->x->start[i + 1]; e++)
            sorted = sorted && v->x->index[e - 1] < v->x->index[e];
    if (sorted) goto done;
    FERRY_TRY(ferry_i_var_transpose(ctx, v)); /* twice: a counting sort */
    FERRY_TRY(ferry_i_var_transpose(ctx, v));
    for (int64_t i = 0; i < v->x->rows; i++)
        for (int64_t e = v->x->start[i] + 1; e < v->x->start[i + 1]; e++)
            FERRY_NEED(ctx, v->x->index[e - 1] < v->x->index[e], FERRY_EDATA,
                       "%s: entry (%lld, %lld) is given twice", where, (long long)(i + 1),
                       (long long)v->x->index[e] + 1);
done:
    return st;
}

/* v's matrix becomes d's x; v is left without it. */
static ferry_status var_view(ferry_ctx *ctx, const char *where, ferry_var *v, ferry_data *d)
{
    ferry_status st = FERRY_OK;

    FERRY_NEED(ctx, v->x, FERRY_EDATA, "%s: expected numbers, found texts", where);
    FERRY_NEED(ctx, v->x->rows > 0 && v->x->cols > 0, FERRY_EDATA,
               "%s: is empty (%lld x %lld)", where, (long long)v->x->rows,
               (long long)v->x->cols);
    FERRY_MOVE(d->x, v->x);
done:
    return st;
}

/* ---- labels ---- */

/* A cell of either form. Sparse rows are searched, which is fine for labels and ids: they
 * are read once. */
static double value_at(const ferry_matrix *x, int64_t i, int64_t j)
{
    if (x->dense) return x->dense[i * x->cols + j];
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
        if (x->index[e] == j) return x->value[e];
    return 0;
}

/* From 2^53 on neighbours share a double. Labels and ids are vectors; features may be rounded. */
ferry_status ferry_i_var_digits(ferry_ctx *ctx, ferry_var *v, bool sign,
                                uint64_t (*at)(const void *arg, int64_t i), const void *arg)
{
    ferry_status st = FERRY_OK;
    const int64_t n = v->x->rows * v->x->cols;
    bool beyond = false;

    for (int64_t i = 0; (v->x->rows == 1 || v->x->cols == 1) && i < n && !beyond; i++)
        beyond = fabs(v->x->dense[i]) >= 9007199254740992.0;
    if (!beyond) goto done;
    FERRY_NEW(ctx, v->text, n);
    v->n_text = n;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = at(arg, i);
        v->text[i] = sign ? ferry_i_sprintf("%lld", (long long)bits)
                          : ferry_i_sprintf("%llu", (unsigned long long)bits);
        FERRY_HAVE(ctx, v->text[i]);
    }
done:
    return st;
}

/* Numbers, NaN missing, as the text formats would take them: classes or numbers. */
static ferry_status labels_from_reals(ferry_ctx *ctx, const char *where, int64_t n,
                                      const double *v, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_span *text = ferry_i_calloc(n, sizeof *text);
    char *bytes = ferry_i_calloc(n, 32);

    FERRY_HAVE(ctx, text && bytes);
    for (int64_t i = 0; i < n; i++) {
        FERRY_NEED(ctx, !isinf(v[i]), FERRY_EDATA, "%s: label %lld is infinite", where,
                   (long long)(i + 1));
        if (isnan(v[i])) continue;
        text[i].s = bytes + 32 * i;
        text[i].n = ferry_i_name_real(bytes + 32 * i, v[i]);
    }
    FERRY_TRY(ferry_i_labels_of_texts(ctx, n, text, out));
done:
    FERRY_FREE(text, bytes);
    return st;
}

/* Texts, "" missing. With the names of the classes given, they are those classes; else what
 * the text formats would take them for. */
static ferry_status labels_from_texts(ferry_ctx *ctx, const char *where, const ferry_var *v,
                                      const ferry_ids *given, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *l = NULL;
    ferry_span *text = ferry_i_calloc(v->n_text, sizeof *text);

    FERRY_HAVE(ctx, text);
    for (int64_t i = 0; i < v->n_text; i++)
        if (v->text[i][0]) text[i] = (ferry_span){v->text[i], (int64_t)strlen(v->text[i])};
    if (!given) {
        FERRY_TRY(ferry_i_labels_of_texts(ctx, v->n_text, text, out));
        goto done;
    }
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, v->n_text, given, &l));
    for (int64_t i = 0; i < v->n_text; i++) {
        if (!text[i].s) continue;
        l->cls[i] = (int32_t)ferry_i_ids_find(given, v->text[i]);
        FERRY_NEED(ctx, l->cls[i] >= 0, FERRY_EDATA,
                   "%s: label %lld, \"%.40s\", is not in label_names", where,
                   (long long)(i + 1), v->text[i]);
    }
    FERRY_MOVE(*out, l);
done:
    ferry_i_free(text);
    ferry_i_labels_free(l);
    return st;
}

/* Row i of a 0/1 (or -1/1) matrix; a row of NaN is missing. */
static ferry_status fill_set(ferry_ctx *ctx, const char *where, const ferry_matrix *x,
                             int64_t i, ferry_labels *l)
{
    ferry_status st = FERRY_OK;
    int64_t nan = 0;

    for (int64_t j = 0; j < x->cols; j++) {
        const double value = value_at(x, i, j);
        nan += isnan(value);
        FERRY_NEED(ctx, value == 0 || value == 1 || value == -1 || isnan(value),
                   FERRY_EDATA,
                   "%s: row %lld column %lld is %g, expected 0 or 1 (or -1 and 1)", where,
                   (long long)(i + 1), (long long)(j + 1), value);
        l->on[i * x->cols + j] = value == 1;
    }
    FERRY_NEED(ctx, nan == 0 || nan == x->cols, FERRY_EDATA,
               "%s: row %lld has labels both known and unknown", where, (long long)(i + 1));
    l->known[i] = nan == 0;
done:
    return st;
}

/* One column a label, named by `given` or 1, 2, ...; labels n x m. */
static ferry_status sets_from_matrix(ferry_ctx *ctx, const char *where,
                                     const ferry_matrix *x, const ferry_ids *given,
                                     ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = NULL;
    ferry_labels *l = NULL;

    FERRY_NEED(ctx, !given || ferry_i_ids_count(given) == x->cols, FERRY_EDATA,
               "%s: %lld label names for %lld columns", where,
               (long long)ferry_i_ids_count(given), (long long)x->cols);
    names = given ? ferry_i_ids_copy(given) : ferry_i_ids_numbers(x->cols);
    FERRY_HAVE(ctx, names);
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_SET, x->rows, names, &l));
    for (int64_t i = 0; i < x->rows; i++)
        FERRY_TRY(fill_set(ctx, where, x, i, l));
    FERRY_MOVE(*out, l);
done:
    ferry_i_labels_free(l);
    ferry_i_ids_free(names);
    return st;
}

/* Labels: a vector of numbers (NaN: missing) is classes when all are whole and not too
 * many, else numbers; a matrix of 0/1 or -1/1 is label sets; texts are classes (""
 * missing). n: how many are expected, -1 any. names: of the labels of a set, or NULL. */
static ferry_status var_labels(ferry_ctx *ctx, const char *where, const ferry_var *v,
                               int64_t n, const ferry_ids *names, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    double *reals = NULL;
    const ferry_matrix *x = v->x;

    *out = NULL;
    const bool row = x && x->rows == 1 && n != 1, column = x && x->cols == 1 && !names;
    const int64_t have = !x ? v->n_text : row ? x->cols : x->rows;
    FERRY_NEED(ctx, n < 0 || have == n, FERRY_EDATA, "%s: %lld labels for %lld instances",
               where, (long long)have, (long long)n);
    FERRY_NEED(ctx, have > 0, FERRY_EDATA, "%s: holds no label", where);
    if (!x || (v->text && (row || column))) {
        FERRY_TRY(labels_from_texts(ctx, where, v, x ? NULL : names, out));
    } else if (row || column) {
        FERRY_NEW(ctx, reals, have);
        for (int64_t i = 0; i < have; i++)
            reals[i] = row ? value_at(x, 0, i) : value_at(x, i, 0);
        FERRY_TRY(labels_from_reals(ctx, where, have, reals, out));
    } else {
        FERRY_TRY(sets_from_matrix(ctx, where, x, names, out));
    }
done:
    ferry_i_free(reals);
    return st;
}

/* Unique texts (or whole numbers), n of them: ids or feature names. */
static ferry_status var_ids(ferry_ctx *ctx, const char *where, const ferry_var *v,
                            int64_t n, ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *ids = ferry_i_ids_new();
    const int64_t have = v->x ? v->x->rows * v->x->cols : v->n_text;
    char number[32];
    bool added = false;

    *out = NULL;
    FERRY_HAVE(ctx, ids);
    FERRY_NEED(ctx, have == n, FERRY_EDATA, "%s: expected %lld texts, found %lld", where,
               (long long)n, (long long)have);
    for (int64_t i = 0; i < n; i++) {
        const char *text = v->text ? v->text[i] : number;
        if (!v->text)
            (void)ferry_i_name_real(number, value_at(v->x, i / v->x->cols, i % v->x->cols));
        FERRY_HAVE(ctx, ferry_i_ids_add(ids, text, &added) >= 0);
        FERRY_NEED(ctx, added && text[0], FERRY_EDATA, "%s: entry %lld, \"%.40s\", %s",
                   where, (long long)(i + 1), text, text[0] ? "repeats" : "is no name");
    }
    FERRY_MOVE(*out, ids);
done:
    ferry_i_ids_free(ids);
    return st;
}

/* A matrix picked by name is a view, texts can only be labels. v keeps what is not
 * taken. */
ferry_status ferry_i_var_alone(ferry_ctx *ctx, const char *where, const char *format,
                               ferry_var *v, const ferry_read_settings *s,
                               ferry_data_kind as, ferry_data **out)
{
    ferry_status st = FERRY_OK;
    const bool labels = as == FERRY_DATA_LABELS || !v->x;
    ferry_data *d =
        ferry_i_data_new(format, where, labels ? FERRY_DATA_LABELS : FERRY_DATA_VIEW);

    *out = NULL;
    FERRY_HAVE(ctx, d);
    if (v->x && s->transpose) FERRY_TRY(ferry_i_var_transpose(ctx, v));
    if (labels)
        FERRY_TRY(var_labels(ctx, where, v, -1, NULL, &d->labels));
    else
        FERRY_TRY(var_view(ctx, where, v, d));
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    return st;
}

/* ---- the whole container ---- */

/* Variable i read, with its name for messages; both are the caller's also on failure. */
static ferry_status part(ferry_ctx *ctx, const ferry_container *c, int64_t i, ferry_var *v,
                         char **where)
{
    if (!(*where = ferry_i_sprintf("%s#%s", c->path, c->list->v[i].name)))
        return ferry_i_nomem(ctx);
    return c->read(ctx, c->arg, i, v);
}

/* Variable i (-1: there is none) as n unique texts (-1: however many there are). */
static ferry_status part_ids(ferry_ctx *ctx, const ferry_container *c, int64_t i, int64_t n,
                             ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    ferry_var v = {0};
    char *where = NULL;

    if (i < 0) goto done;
    FERRY_TRY(part(ctx, c, i, &v, &where));
    FERRY_TRY(var_ids(ctx, where, &v, n < 0 ? v.n_text : n, out));
done:
    ferry_i_var_free(&v);
    ferry_i_free(where);
    return st;
}

/* The labels, if any variable holds them; the names of label_names are theirs. */
static ferry_status part_labels(ferry_ctx *ctx, const ferry_container *c, const picked *p,
                                ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = NULL;
    ferry_var v = {0};
    char *where = NULL;

    if (p->y < 0) goto done;
    FERRY_TRY(part_ids(ctx, c, p->label_names, -1, &names));
    FERRY_TRY(part(ctx, c, p->y, &v, &where));
    FERRY_TRY(var_labels(ctx, where, &v, d->x ? d->x->rows : -1, names, &d->labels));
done:
    ferry_i_ids_free(names);
    ferry_i_var_free(&v);
    ferry_i_free(where);
    return st;
}

/* The view first, since it says how many names, labels and ids there must be. */
static ferry_status assemble(ferry_ctx *ctx, const ferry_container *c, const picked *p,
                             ferry_data *d)
{
    ferry_status st = FERRY_OK;
    ferry_var v = {0};

    if (d->kind == FERRY_DATA_VIEW) {
        FERRY_TRY(c->read(ctx, c->arg, p->x, &v));
        if (c->transpose) FERRY_TRY(ferry_i_var_transpose(ctx, &v));
        FERRY_TRY(var_view(ctx, c->path, &v, d));
        FERRY_TRY(part_ids(ctx, c, p->features, d->x->cols, &d->features));
    }
    FERRY_TRY(part_labels(ctx, c, p, d));
    const int64_t n = d->x ? d->x->rows : d->labels ? d->labels->n : -1;
    FERRY_NEED(ctx, n >= 0, FERRY_EDATA,
               "%s: no variable is named labels or y; pick one by #", c->path);
    FERRY_TRY(part_ids(ctx, c, p->ids, n, &d->ids));
done:
    ferry_i_var_free(&v);
    return st;
}

/* Names and types of all variables, as data that the user can look at. */
static ferry_status list_all(ferry_ctx *ctx, const ferry_var_list *list, ferry_data *d)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, d->listing, list->n);
    d->n_listing = list->n;
    for (int64_t i = 0; i < list->n; i++) {
        d->listing[i].name = ferry_i_strdup(list->v[i].name);
        d->listing[i].type = ferry_i_strdup(list->v[i].type);
        FERRY_HAVE(ctx, d->listing[i].name && d->listing[i].type);
    }
done:
    return st;
}

/* A container that leaves a choice is a listing also when labels were wanted: it shows the
 * names among which to pick. */
ferry_status ferry_i_var_whole(ferry_ctx *ctx, const ferry_container *c, ferry_data_kind as,
                               ferry_data **out)
{
    ferry_status st = FERRY_OK;
    picked p;
    const bool chosen = choose(c->list, c->transpose, &p);
    const bool view = chosen && p.x >= 0 && as != FERRY_DATA_LABELS;
    ferry_data *d = ferry_i_data_new(c->format, c->path,
                                     view     ? FERRY_DATA_VIEW
                                     : chosen ? FERRY_DATA_LABELS
                                              : FERRY_DATA_LISTING);

    *out = NULL;
    FERRY_HAVE(ctx, d);
    FERRY_TRY(chosen ? assemble(ctx, c, &p, d) : list_all(ctx, c->list, d));
    FERRY_MOVE(*out, d);
done:
    ferry_data_free(d);
    return st;
}
