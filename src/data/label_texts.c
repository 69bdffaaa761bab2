/* From a cell to a class: what its name is, which kind labels are, and the classes in their
 * order.
 *
 * A name is a text. A cell of a text file is its own name: "1", "1.0", "01" and "+1" are four
 * classes, because some files mean them so (codes, ids beyond 2^53) and those that do not can be
 * distinguished from nothing that stands in them; the task says when it finds one number in several
 * spellings (task/check.c). A number of an array has no text, so it gets one: digits when it is
 * whole, which is what tables have for the same class.
 *
 * Texts that are all whole numbers of few kinds are classes, because that is what label columns
 * mostly hold; a point, an exponent or more than MOST_WHOLE kinds make them numbers, unless one
 * number is written in two ways. A goal that needs the other kind gets it without loss
 * (labels.c). The order of classes is by value or by text and never by first appearance: shuffled
 * rows must give the same numbering, or two files of one data set would disagree about what class
 * 0 is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/lines.h"

#define MOST_WHOLE 1000 /* more different whole numbers than this are quantities */

/* A name with its number, if it is one, and its place before sorting. */
typedef struct named {
    const char *text;
    double value;
    int64_t at;
} named;

/* Of equal values ("1", "01") the shorter text comes first, so that the order is total and
 * whole numbers beyond 2^53 ascend, too. */
static int by_value(const void *a, const void *b)
{
    const named *x = a, *y = b;
    const size_t nx = strlen(x->text), ny = strlen(y->text);

    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    if (nx != ny) return nx < ny ? -1 : 1;
    return strcmp(x->text, y->text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const named *)a)->text, ((const named *)b)->text);
}

/* The whole text, and finite: "nan" and "inf" as class names stay texts. */
static bool as_number(const char *s, int64_t n, double *x)
{
    return ferry_i_parse_real(s, s + n, x) == s + n && isfinite(*x);
}

/* ---- names ---- */

/* Every 64-bit integer has at most 20 digits; beyond them digits would say more than the double
 * knows. */
int ferry_i_name_real(char *buf, double x)
{
    if (x == 0) x = 0; /* -0 */
    if (fabs(x) >= 1e15 && fabs(x) < 18446744073709551616.0 && x == floor(x))
        return snprintf(buf, 32, "%.0f", x);
    return ferry_i_format_real(buf, x);
}

/* Digits alone, as format_real() prints a number of up to 15 of them that is not small. */
bool ferry_i_is_named(const char *s, int64_t n, double x)
{
    const int64_t sign = n > 0 && s[0] == '-';
    int64_t point = n;

    if (n - sign < 1 || n - sign > 16 || !(fabs(x) >= 1e-3)) return false;
    for (int64_t j = sign; j < n; j++) {
        if (s[j] == '.')
            point = j;
        else if (s[j] < '0' || s[j] > '9')
            return false;
    }
    if (point == n) return n - sign <= 15 && s[sign] != '0';
    return point > sign && point + 1 < n && s[n - 1] != '0' &&
           (s[sign] != '0' || point == sign + 1);
}

/* From 2^53 on doubles do not keep whole numbers apart any more. */
bool ferry_i_same_number(const char *a, const char *b, double *x)
{
    double y = 0;

    return strcmp(a, b) != 0 && as_number(a, (int64_t)strlen(a), x) &&
           as_number(b, (int64_t)strlen(b), &y) && *x == y && fabs(y) < 9007199254740992.0;
}

/* By value only if every name is a number: one text among them makes all go by text. */
ferry_status ferry_i_names_sorted(ferry_ctx *ctx, const ferry_ids *names, ferry_ids **out,
                                  int32_t **order)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(names);
    named *list = ferry_i_calloc(m, sizeof *list);
    int32_t *place = ferry_i_calloc(m, sizeof *place);
    ferry_ids *sorted = ferry_i_ids_new();
    bool numbers = true;

    *out = NULL;
    *order = NULL;
    FERRY_HAVE(ctx, list && place && sorted);
    for (int64_t k = 0; k < m; k++) {
        list[k].text = ferry_i_ids_at(names, k);
        list[k].at = k;
        numbers &= as_number(list[k].text, (int64_t)strlen(list[k].text), &list[k].value);
    }
    if (m > 1) qsort(list, (size_t)m, sizeof *list, numbers ? by_value : by_text);
    for (int64_t k = 0; k < m; k++) {
        /* place is the inverse of the sorted order */
        place[list[k].at] = (int32_t)k;
        FERRY_HAVE(ctx, ferry_i_ids_add(sorted, list[k].text, NULL) >= 0);
    }
    *out = sorted;
    *order = place;
    sorted = NULL;
    place = NULL;
done:
    ferry_i_ids_free(sorted);
    FERRY_FREE(place, list);
    return st;
}

/* All present texts are numbers; whole: written without point or exponent. At 1e15 and
 * beyond doubles get close to losing units, and no class is called so. */
static bool all_numbers(int64_t n, const ferry_span *text, bool *whole)
{
    double x;

    *whole = true;
    for (int64_t i = 0; i < n; i++) {
        if (!text[i].s) continue;
        if (!as_number(text[i].s, text[i].n, &x)) return false;
        for (int64_t j = 0; j < text[i].n && *whole; j++)
            if (memchr(".eE", text[i].s[j], 3)) *whole = false;
        if (fabs(x) >= 1e15) *whole = false;
    }
    return true;
}

/* Number every text in the order seen. *too_many: gave up (*cls stays) beyond `most` names.
 * Files are often sorted by label, so a text equal to the one before is not looked up again. */
static ferry_status number_texts(ferry_ctx *ctx, int64_t n, const ferry_span *text,
                                 int64_t most, ferry_ids *names, int32_t *cls,
                                 bool *too_many)
{
    ferry_span last = {NULL, 0};
    int64_t at = -1;

    *too_many = false;
    for (int64_t i = 0; i < n; i++) {
        const ferry_span t = text[i];
        cls[i] = -1;
        if (!t.s) continue;
        if (at < 0 || t.n != last.n || memcmp(t.s, last.s, (size_t)t.n) != 0) {
            last = t;
            at = ferry_i_ids_addn(names, t.s, t.n, NULL);
            if (at < 0) return ferry_i_nomem(ctx);
            if (at >= most) {
                *too_many = true;
                break;
            }
        }
        cls[i] = (int32_t)at;
    }
    return FERRY_OK;
}

/* All texts are known to be numbers by now; missing ones stay NaN. */
static ferry_status as_numbers(ferry_ctx *ctx, int64_t n, const ferry_span *text,
                               ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    double x = 0;

    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_NUMBER, n, NULL, out));
    for (int64_t i = 0; i < n; i++) {
        if (!text[i].s) continue;
        (void)as_number(text[i].s, text[i].n, &x);
        FERRY_HAVE(ctx, ferry_i_labels_write(*out, i, x, text[i].s, text[i].n));
    }
done:
    if (st != FERRY_OK) {
        ferry_i_labels_free(*out);
        *out = NULL;
    }
    return st;
}

/* Whether two of these numbers, ascending, are equal: they differ by their texts. */
static bool written_twice(const ferry_ids *sorted)
{
    double last = NAN, x = 0;

    for (int64_t k = 0; k < ferry_i_ids_count(sorted); k++, last = x) {
        const char *s = ferry_i_ids_at(sorted, k);
        if (as_number(s, (int64_t)strlen(s), &x) && x == last) return true;
    }
    return false;
}

/* First decide number or class, then number the classes in the order seen, then bring them
 * into their final order. O(n + m log m) for m classes. */
ferry_status ferry_i_labels_of_texts(ferry_ctx *ctx, int64_t n, const ferry_span *text,
                                     ferry_labels **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = NULL, *sorted = NULL;
    int32_t *cls = NULL, *order = NULL;
    bool whole = false, too_many = false;
    const bool numbers = all_numbers(n, text, &whole);

    *out = NULL;
    names = ferry_i_ids_new();
    FERRY_NEW(ctx, cls, n);
    FERRY_HAVE(ctx, names);
    FERRY_TRY(number_texts(ctx, n, text, numbers ? MOST_WHOLE : INT32_MAX, names, cls,
                           &too_many));
    FERRY_TRY(ferry_i_names_sorted(ctx, names, &sorted, &order));
    /* more than MOST_WHOLE kinds of whole numbers: a quantity */
    if (numbers && (too_many || (!whole && !written_twice(sorted)))) {
        FERRY_TRY(as_numbers(ctx, n, text, out));
        goto done;
    }
    FERRY_TRY(ferry_i_labels_new(ctx, FERRY_LABEL_CLASS, n, sorted, out));
    for (int64_t i = 0; i < n; i++)
        (*out)->cls[i] = cls[i] < 0 ? -1 : order[cls[i]];
done:
    ferry_i_ids_free(names);
    ferry_i_ids_free(sorted);
    FERRY_FREE(cls, order);
    return st;
}
