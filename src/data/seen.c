/* Which labels of a target a method may see: "all", "none", "25", "0.1", "per_class:3",
 * "ids:FILE".
 *
 * The text is only parsed here and kept with the domain. Which instances are drawn is
 * decided for every repeat of an evaluation, from its own stream of random numbers; only
 * ids:FILE names them once and for all. */
#include <string.h>

#include "data/parts.h"

/* "25" is a count, "0.1" and "1.0" are fractions; false: neither. */
static bool count_or_fraction(const char *spec, ferry_seen *seen)
{
    const char *end = spec + strlen(spec);
    int64_t count = 0;
    double x = 0;

    if (ferry_i_parse_int(spec, end, &count) == end) {
        *seen = (ferry_seen){.kind = FERRY_SEEN_COUNT, .value = (double)count};
        return count >= 1;
    }
    *seen = (ferry_seen){.kind = FERRY_SEEN_FRACTION};
    if (ferry_i_parse_real(spec, end, &x) != end || !(x > 0 && x <= 1)) return false;
    seen->value = x;
    return true;
}

/* One id a line; white space around it and empty lines do not count. */
static ferry_status read_ids(ferry_ctx *ctx, const char *path, ferry_ids **out)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};
    ferry_ids *ids = ferry_i_ids_new();
    int64_t line = 0;

    *out = NULL;
    FERRY_HAVE(ctx, ids);
    FERRY_TRY(ferry_i_input_open(ctx, path, &in));
    for (const char *s = in.data, *end = in.data + in.size; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s)), *last;
        bool added = true;
        if (!stop) stop = end;
        line++;
        /* cut blanks at both ends; \r of Windows lines is one */
        for (last = stop; last > s && ferry_i_is_blank(last[-1]); last--)
            ;
        while (s < last && ferry_i_is_blank(*s))
            s++;
        /* ids end at a zero byte (core/ids.c): what follows would be lost without a word */
        if (memchr(s, 0, (size_t)(last - s)))
            FERRY_TRY(ferry_i_bad(ctx, path, line, "expected an id, found a zero byte"));
        if (s < last && ferry_i_ids_addn(ids, s, last - s, &added) < 0)
            FERRY_TRY(ferry_i_nomem(ctx));
        if (!added)
            FERRY_TRY(ferry_i_bad(ctx, path, line, "id '%.*s' stands here a second time",
                                  (int)(last - s), s));
        s = stop + (stop < end);
    }
    if (ferry_i_ids_count(ids) == 0)
        FERRY_TRY(ferry_i_bad(ctx, path, 0, "expected one id a line, found none"));
    FERRY_MOVE(*out, ids);
done:
    ferry_i_input_close(&in);
    ferry_i_ids_free(ids);
    return st;
}

/* "N" or "N,classes:M" after per_class. */
static bool parse_per_class(const char *text, ferry_seen *seen)
{
    static const char key[] = ",classes:";
    const char *end = text + strlen(text), *comma = strstr(text, key);
    const char *stop = comma ? comma : end;
    int64_t count = 0, classes = 1;

    if (ferry_i_parse_int(text, stop, &count) != stop || count < 1) return false;
    if (comma && ferry_i_parse_int(comma + strlen(key), end, &classes) != end) return false;
    *seen = (ferry_seen){.kind = FERRY_SEEN_PER_CLASS,
                         .value = (double)count,
                         .classes = comma ? classes : 0};
    return classes >= 1;
}

/* The old setting stays until the new one is parsed whole. */
ferry_status ferry_domain_set_labelled(ferry_ctx *ctx, ferry_domain *d, const char *spec)
{
    FERRY_ARGS(ctx, d, spec);

    ferry_status st = FERRY_OK;
    ferry_seen seen = {.kind = FERRY_SEEN_NONE};
    const char *per_class = "per_class:", *ids = "ids:";

    FERRY_TRY(ferry_i_domain_changeable(ctx, d));
    FERRY_NEED(ctx, spec, FERRY_EINVAL, "domain '%s': labelled is NULL", d->name);
    if (strncmp(spec, per_class, strlen(per_class)) == 0) {
        const char *text = spec + strlen(per_class);
        FERRY_NEED(ctx, parse_per_class(text, &seen), FERRY_EINVAL,
                   "expected a count of 1 or more after per_class (and classes), not '%s'",
                   text);
    } else if (strncmp(spec, ids, strlen(ids)) == 0) {
        seen.kind = FERRY_SEEN_IDS;
        FERRY_TRY(read_ids(ctx, spec + strlen(ids), &seen.ids));
    } else if (strcmp(spec, "all") == 0) {
        seen.kind = FERRY_SEEN_ALL;
    } else if (strcmp(spec, "none") != 0) {
        FERRY_NEED(
            ctx, count_or_fraction(spec, &seen), FERRY_EINVAL,
            "expected all, none, a count, a fraction, per_class:N or ids:FILE, not '%s'",
            spec);
    }
    ferry_i_ids_free(d->seen.ids);
    d->seen = seen;
done:
    return st;
}
