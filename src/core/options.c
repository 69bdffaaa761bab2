/* Options: "key=value" settings and the tables they are checked against.
 *
 * Settings are texts until a table gives them a type: the same set goes to the command
 * line, a task file, a model file and a report without losing a digit, and who holds it
 * need not know whose it is. A method's struct is filled through offsets, so one table
 * gives parsing, ranges, defaults and documentation. Lists are short: all searches are
 * walks. */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "core/core.h"

struct ferry_opts {
    ferry_setting *set;
    int64_t n, cap;
};

ferry_status ferry_opts_new(ferry_ctx *ctx, ferry_opts **out)
{
    FERRY_ARGS_OUT(ctx, out, out);

    *out = ferry_i_calloc(1, sizeof **out);
    return *out ? FERRY_OK : ferry_i_nomem(ctx);
}

void ferry_opts_free(ferry_opts *opts)
{
    if (!opts) return;
    for (int64_t i = 0; i < opts->n; i++) {
        FERRY_FREE((char *)opts->set[i].key, (char *)opts->set[i].value);
    }
    FERRY_FREE(opts->set, opts);
}

static ferry_setting *find(const ferry_opts *opts, const char *key)
{
    for (int64_t i = 0; opts && i < opts->n; i++)
        if (strcmp(opts->set[i].key, key) == 0) return &opts->set[i];
    return NULL;
}

/* Key and value are copied. A failure leaves opts as it was. */
ferry_status ferry_opts_set(ferry_ctx *ctx, ferry_opts *opts, const char *key,
                            const char *value)
{
    FERRY_ARGS(ctx, opts, key, value);

    ferry_status st = FERRY_OK;
    char *k = NULL, *v = ferry_i_strdup(value);
    ferry_setting *old = find(opts, key);

    FERRY_HAVE(ctx, v);
    if (old) {
        char *t = (char *)old->value;
        old->value = v;
        v = t;
        goto done;
    }
    k = ferry_i_strdup(key);
    FERRY_HAVE(ctx, k && FERRY_GROW(opts->set, opts->n, opts->cap));
    opts->set[opts->n++] = (ferry_setting){k, v};
    k = v = NULL;
done:
    FERRY_FREE(k, v);
    return st;
}

const char *ferry_opts_get(const ferry_opts *opts, const char *key)
{
    if (!opts || !key) return NULL;
    const ferry_setting *s = find(opts, key);

    return s ? s->value : NULL;
}

int64_t ferry_i_opts_count(const ferry_opts *opts)
{
    return opts ? opts->n : 0;
}

const ferry_setting *ferry_opts_at(const ferry_opts *opts, int64_t i)
{
    if (!opts) return NULL;
    return i >= 0 && i < opts->n ? &opts->set[i] : NULL;
}

const ferry_opt *ferry_opt_at(const ferry_opt_table *table, int64_t i)
{
    if (!table) return NULL;
    return i >= 0 && i < table->n ? &table->opt[i] : NULL;
}

/* opts NULL gives an empty set. */
ferry_status ferry_i_opts_copy(ferry_ctx *ctx, const ferry_opts *opts, ferry_opts **out)
{
    ferry_status st = FERRY_OK;
    ferry_opts *copy = NULL;

    *out = NULL;
    FERRY_TRY(ferry_opts_new(ctx, &copy));
    for (int64_t i = 0; ferry_opts_at(opts, i); i++)
        FERRY_TRY(ferry_opts_set(ctx, copy, opts->set[i].key, opts->set[i].value));
    FERRY_MOVE(*out, copy);
done:
    ferry_opts_free(copy);
    return st;
}

/* Place of value in "a|b|c", or -1. An old name of a choice follows it after a comma and
 * counts as the choice: "ferry|paper,thesis". A place whose own name is empty ("a|,old") is
 * reached by its old name alone: the method says what it means now. */
static int choice_of(const char *choices, const char *value)
{
    const size_t n = strlen(value);
    int at = 0;

    for (const char *c = choices; n > 0 && *c; c++) {
        const size_t len = strcspn(c, "|,");
        if (len == n && memcmp(c, value, n) == 0) return at;
        c += len;
        if (*c == '|') at++;
        if (!*c) break;
    }
    return -1;
}

/* 1, 0, or -1 for what is neither. */
static int yes_or_no(const char *value)
{
    static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no",
                                                                                "false",
                                                                                "off", "0"};

    for (int i = 0; i < 4; i++) {
        if (strcmp(value, yes[i]) == 0) return 1;
        if (strcmp(value, no[i]) == 0) return 0;
    }
    return -1;
}

/* A range of numbers in words: DBL_MIN stands for "above 0", DBL_MAX for no bound. */
static void add_range(ferry_text *t, double min, double max)
{
    const bool above_0 = min == DBL_MIN, no_least = min <= -DBL_MAX,
               no_most = max >= DBL_MAX;

    if (no_least && no_most)
        ferry_i_text_add(t, "any number");
    else if (no_most && above_0)
        ferry_i_text_add(t, "above 0");
    else if (no_most)
        ferry_i_text_addf(t, "%g or more", min);
    else if (above_0)
        ferry_i_text_addf(t, "above 0 .. %g", max);
    else if (no_least)
        ferry_i_text_addf(t, "up to %g", max);
    else
        ferry_i_text_addf(t, "%g .. %g", min, max);
}

/* For help and messages. New string, NULL: no memory. */
char *ferry_opt_range(const ferry_opt *opt)
{
    if (!opt) return NULL;
    ferry_text t = {0};

    switch (opt->type) {
    case FERRY_OPT_INT:
    case FERRY_OPT_REAL: add_range(&t, opt->min, opt->max); break;
    case FERRY_OPT_BOOL: ferry_i_text_add(&t, "yes | no"); break;
    case FERRY_OPT_CHOICE:
        for (const char *c = opt->choices; *c; c += strcspn(c, "|"), c += *c == '|') {
            const size_t len = strcspn(c, "|,"); /* what follows a comma is old */
            if (len > 0 && t.len > 0) ferry_i_text_add(&t, " | ");
            ferry_i_text_addn(&t, c, (int64_t)len);
        }
        break;
    case FERRY_OPT_TEXT: ferry_i_text_add(&t, "text"); break;
    case FERRY_OPT_FILE: ferry_i_text_add(&t, "file"); break;
    }
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* Read text as the option's type into its field. */
static ferry_status store(ferry_ctx *ctx, const char *what, const ferry_opt *o,
                          const char *text, void *into)
{
    ferry_status st = FERRY_OK;
    char *field = (char *)into + o->offset, *range = NULL;
    const char *end = text + strlen(text);
    double x = 0;
    int64_t i = 0;
    int c = 0;

    switch (o->type) {
    case FERRY_OPT_INT:
        if (ferry_i_parse_int(text, end, &i) != end) {
            /* 1e6 is an integer too */
            const bool whole = ferry_i_parse_real(text, end, &x) == end && x == floor(x);
            FERRY_NEED(ctx, whole, FERRY_EINVAL, "%s: %s = %s is not a whole number", what,
                       o->name, text);
            i = fabs(x) < 9e15 ? (int64_t)x : x < 0 ? INT64_MIN : INT64_MAX;
        }
        /* as integers: 2^53 + 1 is 2^53 as a double */
        FERRY_NEED(ctx, i >= (int64_t)o->min && i <= (int64_t)o->max, FERRY_EINVAL,
                   "%s: %s = %s is outside [%g, %g]", what, o->name, text, o->min, o->max);
        memcpy(field, &i, sizeof i);
        break;
    case FERRY_OPT_REAL:
        if (strcmp(text, "inf") == 0)
            x = INFINITY;
        else
            FERRY_NEED(ctx, ferry_i_parse_real(text, end, &x) == end, FERRY_EINVAL,
                       "%s: %s = %s is not a number", what, o->name, text);
        FERRY_NEED(ctx, x >= o->min && x <= o->max, FERRY_EINVAL,
                   "%s: %s = %s is outside [%g, %g]", what, o->name, text, o->min, o->max);
        memcpy(field, &x, sizeof x);
        break;
    case FERRY_OPT_BOOL:
    case FERRY_OPT_CHOICE:
        c = o->type == FERRY_OPT_BOOL ? yes_or_no(text) : choice_of(o->choices, text);
        if (c < 0) {
            range = ferry_opt_range(o);
            FERRY_NEED(ctx, false, FERRY_EINVAL, "%s: %s = %s is not one of %s", what,
                       o->name, text, range ? range : "its choices");
        }
        memcpy(field, &c, sizeof c);
        break;
    /* borrowed: the text stays in opts or the table */
    case FERRY_OPT_TEXT:
    case FERRY_OPT_FILE: memcpy(field, &text, sizeof text); break;
    }
done:
    ferry_string_free(range);
    return st;
}

static const char *table_name(const void *table, int64_t i)
{
    return ((const ferry_opt *)table)[i].name;
}

/* First all options of the table, in its order, so that what is reported first does not
 * depend on the user's order; then keys that the table does not have. */
ferry_status ferry_i_opts_parse(ferry_ctx *ctx, const char *what, const ferry_opt *table,
                                int64_t n, const ferry_opts *opts, void *into)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < n; i++) {
        const char *text = ferry_opts_get(opts, table[i].name);
        FERRY_TRY(store(ctx, what, &table[i], text ? text : table[i].def, into));
    }
    for (int64_t j = 0; ferry_opts_at(opts, j); j++) {
        const char *key = opts->set[j].key;
        int64_t i = 0;
        while (i < n && strcmp(table[i].name, key) != 0)
            i++;
        if (i < n) continue;
        const char *near = ferry_i_nearest(key, n, table_name, table);
        FERRY_NEED(ctx, false, FERRY_EINVAL, "%s: unknown option %s%s%s%s", what, key,
                   near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
done:
    return st;
}

/* Compared as texts: rank=10 and rank=1e1 differ. "" is a string too, so one piece is added
 * always. */
char *ferry_i_opts_differing(const ferry_opt *table, int64_t n, const ferry_opts *opts)
{
    ferry_text t = {0};

    ferry_i_text_add(&t, "");
    for (int64_t i = 0; i < n; i++) {
        const char *value = ferry_opts_get(opts, table[i].name);
        if (!value || strcmp(value, table[i].def) == 0) continue;
        ferry_i_text_addf(&t, "%s%s=%s", t.len > 0 ? " " : "", table[i].name, value);
    }
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* Defaults included: a report must stay true when a later version has another default. */
json_t *ferry_i_opts_json(const ferry_opt *table, int64_t n, const ferry_opts *opts)
{
    json_t *object = json_object();

    for (int64_t i = 0; i < n; i++) {
        const char *value = ferry_opts_get(opts, table[i].name);
        (void)json_object_set_new(object, table[i].name,
                                  json_string(value ? value : table[i].def));
    }
    return object;
}

/* The other way. Values are texts, as written by ferry_i_opts_json(); checked by the table
 * when they are used. */
ferry_status ferry_i_opts_from_json(ferry_ctx *ctx, const json_t *json, ferry_opts **out)
{
    ferry_status st = FERRY_OK;
    ferry_opts *opts = NULL;
    const char *key;
    json_t *value;

    *out = NULL;
    FERRY_TRY(ferry_opts_new(ctx, &opts));
    json_object_foreach((json_t *)json, key, value)
    {
        FERRY_NEED(ctx, json_is_string(value), FERRY_EDATA, "option %s is not a text", key);
        FERRY_TRY(ferry_opts_set(ctx, opts, key, json_string_value(value)));
    }
    FERRY_MOVE(*out, opts);
done:
    ferry_opts_free(opts);
    return st;
}

/* Edit distance of short words; two neighbours swapped count as one ("smv" is "svm"). */
static int distance(const char *a, const char *b)
{
    int rows[3][64], *before = rows[0], *last = rows[1], *row = rows[2];
    const int n = (int)strlen(a), m = (int)strlen(b);

    /* no option has such a name */
    if (n >= 64 || m >= 64) return 64;
    for (int j = 0; j <= m; j++)
        before[j] = last[j] = j;
    for (int i = 1; i <= n; i++) {
        int *old = before;
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            /* replace or keep, leave out, put in, swap */
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        before = last;
        last = row;
        row = old;
    }
    return last[m];
}

/* Allowed are one wrong letter in three letters and one more: "lamda" finds lambda. The first of
 * equals wins. */
const char *ferry_i_nearest(const char *word, int64_t n,
                            const char *(*at)(const void *, int64_t), const void *arg)
{
    const char *best = NULL;
    int least = (int)strlen(word) / 3 + 2;

    for (int64_t i = 0; i < n; i++) {
        const int d = distance(word, at(arg, i));
        if (d >= least) continue;
        least = d;
        best = at(arg, i);
    }
    return best;
}

static const char *word_at(const void *words, int64_t i)
{
    return ((const char *const *)words)[i];
}

const char *ferry_nearest(const char *word, int64_t n, const char *const *words)
{
    if (!word || !words) return NULL;
    return ferry_i_nearest(word, n, word_at, words);
}
