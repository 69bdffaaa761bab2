/* Labels: a class, a number or a set of labels for each of n instances, any of them missing.
 *
 * "Missing" has one form a kind (class -1, NaN, known 0) and every reader of labels must ask
 * for it. Files say less than tasks need: a column of 1, 2, 3 may be meant as classes or as
 * numbers, so kinds turn into each other along number <-> class <-> set where nothing is lost,
 * and a sentence names the first label for which something would be. For that numbers keep the
 * text that they had: "1" and "1.0" are one number and two classes. */
#include <math.h>
#include <string.h>

#include "data/fields.h"

/* Only the arrays of the kind are made. n * m is checked for overflow before it is
 * allocated. */
ferry_status ferry_i_labels_new(ferry_ctx *ctx, ferry_label_kind kind, int64_t n,
                                const ferry_ids *names, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(names);
    ferry_labels *l = ferry_i_calloc(1, sizeof *l);

    *out = NULL;
    FERRY_HAVE(ctx, l);
    l->kind = kind;
    l->n = n;
    if (kind != FERRY_LABEL_NUMBER)
        l->names = names ? ferry_i_ids_copy(names) : ferry_i_ids_new();
    if (kind == FERRY_LABEL_CLASS) l->cls = ferry_i_calloc(n, sizeof *l->cls);
    if (kind == FERRY_LABEL_NUMBER) l->num = ferry_i_calloc(n, sizeof *l->num);
    if (kind == FERRY_LABEL_SET) {
        if (m == 0 || n <= INT64_MAX / m) l->on = ferry_i_calloc(n * m, sizeof *l->on);
        if (l->on) l->known = ferry_i_calloc(n, sizeof *l->known);
    }
    FERRY_HAVE(ctx, (l->names || kind == FERRY_LABEL_NUMBER) &&
                        (l->cls || l->num || (l->on && l->known)));
    /* calloc gives 0, which is a class, a number and an unknown set: hide them all */
    for (int64_t i = 0; i < n; i++)
        ferry_i_labels_hide(l, i);
    FERRY_MOVE(*out, l);
done:
    ferry_i_labels_free(l);
    return st;
}

ferry_status ferry_i_labels_copy(ferry_ctx *ctx, const ferry_labels *l, ferry_labels **out)
{
    return ferry_i_labels_spread(ctx, l, l->n, NULL, out);
}

void ferry_i_labels_free(ferry_labels *l)
{
    if (!l) return;
    FERRY_FREE(l->cls, l->num, l->text, l->on, l->known);
    ferry_i_ids_free(l->names);
    ferry_i_ids_free(l->texts);
    ferry_i_free(l);
}

int64_t ferry_i_labels_m(const ferry_labels *l)
{
    return l ? ferry_i_ids_count(l->names) : 0;
}

bool ferry_i_labels_has(const ferry_labels *l, int64_t i)
{
    if (!l) return false;
    switch (l->kind) {
    case FERRY_LABEL_CLASS: return l->cls[i] >= 0;
    case FERRY_LABEL_NUMBER: return !isnan(l->num[i]);
    case FERRY_LABEL_SET: break;
    }
    return l->known[i] != 0;
}

/* The content goes too: a hidden label must not be found by a method that looks closer. */
void ferry_i_labels_hide(ferry_labels *l, int64_t i)
{
    const int64_t m = ferry_i_labels_m(l);

    if (l->kind == FERRY_LABEL_CLASS) l->cls[i] = -1;
    if (l->kind == FERRY_LABEL_NUMBER) l->num[i] = NAN;
    if (l->text) l->text[i] = -1;
    if (l->kind == FERRY_LABEL_SET) {
        l->known[i] = 0;
        memset(l->on + i * m, 0, (size_t)m);
    }
}

/* ---- copies ---- */

ferry_status ferry_i_labels_like(ferry_ctx *ctx, const ferry_labels *l, int64_t n,
                                 ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *s = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_labels_new(ctx, l->kind, n, l->names, &s));
    if (l->text) {
        FERRY_NEW(ctx, s->text, n);
        memset(s->text, -1, (size_t)n * sizeof *s->text);
        FERRY_HAVE(ctx, s->texts = ferry_i_ids_copy(l->texts));
    }
    FERRY_MOVE(*out, s);
done:
    ferry_i_labels_free(s);
    return st;
}

void ferry_i_labels_put(ferry_labels *to, int64_t i, const ferry_labels *from, int64_t j)
{
    const int64_t m = ferry_i_labels_m(from);

    if (from->cls) to->cls[i] = from->cls[j];
    if (from->num) to->num[i] = from->num[j];
    if (from->text) to->text[i] = from->text[j];
    if (!from->known) return;
    to->known[i] = from->known[j];
    memcpy(to->on + i * m, from->on + j * m, (size_t)m);
}

/* With at NULL and n = l->n a plain copy; with n larger the new instances are missing. at[]
 * must not repeat: the later label would win. */
ferry_status ferry_i_labels_spread(ferry_ctx *ctx, const ferry_labels *l, int64_t n,
                                   const int64_t *at, ferry_labels **out)
{
    FERRY_PASS(ferry_i_labels_like(ctx, l, n, out));
    for (int64_t i = 0; i < l->n; i++)
        ferry_i_labels_put(*out, at ? at[i] : i, l, i);
    return FERRY_OK;
}

/* ---- numbers and their texts ---- */

/* Most numbers are written as they would be named, and need no text. */
bool ferry_i_labels_write(ferry_labels *l, int64_t i, double x, const char *s, int64_t n)
{
    char name[32];

    l->num[i] = x;
    if (ferry_i_is_named(s, n, x)) return true;
    if (ferry_i_name_real(name, x) == n && memcmp(name, s, (size_t)n) == 0) return true;
    if (!l->text) {
        l->texts = ferry_i_ids_new();
        l->text = ferry_i_calloc(l->n, sizeof *l->text);
        if (!l->texts || !l->text) return false;
        memset(l->text, -1, (size_t)l->n * sizeof *l->text);
    }
    const int64_t k = ferry_i_ids_addn(l->texts, s, n, NULL);
    if (k < 0 || k >= INT32_MAX) return false;
    l->text[i] = (int32_t)k;
    return true;
}

const char *ferry_i_labels_number(const ferry_labels *l, int64_t i, char *buf)
{
    if (l->text && l->text[i] >= 0) return ferry_i_ids_at(l->texts, l->text[i]);
    (void)ferry_i_name_real(buf, l->num[i]);
    return buf;
}

/* ---- from kind to kind: number <-> class <-> set ---- */

/* Named as they were written. Numbered as they come. */
static ferry_status number_to_class(ferry_ctx *ctx, const ferry_labels *l,
                                    ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *c = NULL;
    char text[32];

    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, l->n, NULL, &c));
    for (int64_t i = 0; i < l->n; i++) {
        if (isnan(l->num[i])) continue;
        const int64_t k =
            ferry_i_ids_add(c->names, ferry_i_labels_number(l, i, text), NULL);
        FERRY_HAVE(ctx, k >= 0);
        FERRY_NEED(ctx, k < INT32_MAX, FERRY_EDATA, "too many classes");
        c->cls[i] = (int32_t)k;
    }
    FERRY_MOVE(*out, c);
done:
    ferry_i_labels_free(c);
    return st;
}

/* A name that is a finite number and nothing else. */
static bool number_of(const char *name, double *x)
{
    const char *end = name + strlen(name);

    return ferry_i_parse_real(name, end, x) == end && isfinite(*x);
}

/* Only names that occur must be numbers: one that no instance has does no harm. */
static ferry_status class_to_number(ferry_ctx *ctx, const ferry_labels *l,
                                    ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *v = NULL;

    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, l->n, NULL, &v));
    for (int64_t i = 0; i < l->n; i++) {
        if (l->cls[i] < 0) continue;
        const char *name = ferry_i_ids_at(l->names, l->cls[i]);
        FERRY_NEED(ctx, number_of(name, &v->num[i]), FERRY_EDATA,
                   "label '%s' (instance %lld) is not a number%s", name, (long long)i + 1,
                   ferry_i_decimal_comma(name, (int64_t)strlen(name))
                       ? " (decimal: comma reads such numbers)"
                   : name[strspn(name, "0123456789.,+-")]
                       ? strpbrk(name, "0123456789")
                             ? "; units and currency signs have to go"
                             : "; goal: classify predicts classes"
                       : "");
    }
    FERRY_MOVE(*out, v);
done:
    ferry_i_labels_free(v);
    return st;
}

/* The next part of a name "red|round" from *s on, n bytes; false behind the last. */
static bool next_part(const char **s, const char **part, int64_t *n)
{
    if (!*s) return false;
    *part = *s;
    *n = (int64_t)strcspn(*s, "|");
    *s = (*s)[*n] ? *s + *n + 1 : NULL;
    return true;
}

/* Each known instance has the label of its class on, or the parts of "red|round"; a missing
 * class is an unknown set. */
static ferry_status class_to_set(ferry_ctx *ctx, const ferry_labels *l, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *s = NULL;
    ferry_ids *names = ferry_i_ids_new();
    const char *part = NULL;
    int64_t n = 0;

    FERRY_HAVE(ctx, names);
    for (int64_t k = 0; k < ferry_i_labels_m(l); k++)
        for (const char *at = ferry_i_ids_at(l->names, k); next_part(&at, &part, &n);)
            FERRY_HAVE(ctx, n == 0 || ferry_i_ids_addn(names, part, n, NULL) >= 0);
    const int64_t m = ferry_i_ids_count(names);
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_SET, l->n, names, &s));
    for (int64_t i = 0; i < l->n; i++) {
        if (l->cls[i] < 0) continue;
        s->known[i] = 1;
        for (const char *at = ferry_i_ids_at(l->names, l->cls[i]);
             next_part(&at, &part, &n);)
            if (n > 0) s->on[i * m + ferry_i_ids_findn(names, part, n)] = 1;
    }
    *out = s;
done:
    ferry_i_ids_free(names);
    return st;
}

/* The inverse: exactly one label on, or unknown. None or several cannot be said by a
 * class. */
static ferry_status set_to_class(ferry_ctx *ctx, const ferry_labels *l, ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(l);
    ferry_labels *c = NULL;

    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, l->n, l->names, &c));
    for (int64_t i = 0; i < l->n; i++) {
        int64_t count = 0;
        for (int64_t k = 0; k < m; k++) {
            if (!l->on[i * m + k]) continue;
            c->cls[i] = (int32_t)k;
            count++;
        }
        /* an unknown set is a missing class: hide() left nothing on */
        FERRY_NEED(ctx, count == 1 || !l->known[i], FERRY_EDATA,
                   "instance %lld has %lld labels, expected one class", (long long)i + 1,
                   (long long)count);
    }
    FERRY_MOVE(*out, c);
done:
    ferry_i_labels_free(c);
    return st;
}

ferry_status ferry_i_labels_as(ferry_ctx *ctx, const ferry_labels *l, ferry_label_kind kind,
                               ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_labels *c = NULL; /* between numbers and sets lie classes */

    *out = NULL;
    if (kind == l->kind) return ferry_i_labels_copy(ctx, l, out);
    if (l->kind == FERRY_LABEL_CLASS)
        return (kind == FERRY_LABEL_NUMBER ? class_to_number : class_to_set)(ctx, l, out);
    FERRY_TRY((l->kind == FERRY_LABEL_NUMBER ? number_to_class : set_to_class)(ctx, l, &c));
    if (kind == FERRY_LABEL_CLASS) {
        FERRY_MOVE(*out, c);
        goto done;
    }
    FERRY_TRY((kind == FERRY_LABEL_NUMBER ? class_to_number : class_to_set)(ctx, c, out));
done:
    ferry_i_labels_free(c);
    return st;
}

/* ---- renumbering ---- */

/* Shows one of the known names: most often the two differ in spelling alone. */
static ferry_status unknown_name(ferry_ctx *ctx, const char *name, const ferry_ids *names)
{
    const int64_t m = ferry_i_ids_count(names);

    return ferry_i_fail(ctx, FERRY_EDATA, "label '%s' is none of the %lld known%s%s%s",
                        name, (long long)m, m > 0 ? " ('" : "",
                        m > 0 ? ferry_i_ids_at(names, 0) : "", m > 0 ? "', ...)" : "");
}

/* to[k] is the new column of label k, -1 if it has none; m2 columns in all. A label that is
 * never on may be unknown: only what is on must have a place. */
static ferry_status renumber_sets(ferry_ctx *ctx, ferry_labels *l, const int64_t *to,
                                  int64_t m2, const ferry_ids *names, bool drop)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(l);
    uint8_t *on = NULL;

    if (m2 == 0 || l->n <= INT64_MAX / m2) on = ferry_i_calloc(l->n * m2, sizeof *on);
    FERRY_HAVE(ctx, on);
    for (int64_t i = 0; i < l->n; i++) {
        for (int64_t k = 0; k < m; k++) {
            if (!l->on[i * m + k]) continue;
            if (to[k] >= 0)
                on[i * m2 + to[k]] = 1;
            else if (!drop)
                FERRY_TRY(unknown_name(ctx, ferry_i_ids_at(l->names, k), names));
        }
    }
    ferry_i_free(l->on);
    FERRY_MOVE(l->on, on);
done:
    ferry_i_free(on);
    return st;
}

/* All is checked before anything changes, so after a failure l is as it was. */
ferry_status ferry_i_labels_rename(ferry_ctx *ctx, ferry_labels *l, const ferry_ids *names,
                                   bool drop)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_labels_m(l);
    ferry_ids *copy = NULL;
    int64_t *to = NULL;

    /* numbers have no names */
    if (l->kind == FERRY_LABEL_NUMBER) return FERRY_OK;
    to = ferry_i_calloc(m, sizeof *to);
    copy = ferry_i_ids_copy(names);
    FERRY_HAVE(ctx, to && copy);
    for (int64_t k = 0; k < m; k++)
        /* to[k]: the new number of name k, -1 if it has none */
        to[k] = ferry_i_ids_find(names, ferry_i_ids_at(l->names, k));
    if (l->kind == FERRY_LABEL_SET) {
        FERRY_TRY(renumber_sets(ctx, l, to, ferry_i_ids_count(names), names, drop));
    } else {
        for (int64_t i = 0; !drop && i < l->n; i++)
            if (l->cls[i] >= 0 && to[l->cls[i]] < 0)
                FERRY_TRY(unknown_name(ctx, ferry_i_ids_at(l->names, l->cls[i]), names));
        for (int64_t i = 0; i < l->n; i++)
            if (l->cls[i] >= 0) l->cls[i] = (int32_t)to[l->cls[i]];
    }
    ferry_i_ids_free(l->names);
    FERRY_MOVE(l->names, copy);
done:
    ferry_i_ids_free(copy);
    ferry_i_free(to);
    return st;
}
