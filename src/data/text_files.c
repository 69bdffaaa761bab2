/* The option files of text: which files of a folder or archive are read.
 *
 * An entry is a name, or CLASS=name. The name fits a run of whole parts of a member's path:
 * comp.graphics fits 20news/comp.graphics/38464, and so does 20news/comp.graphics; * stands
 * for any text inside a part. The first entry that fits decides. */
#include <string.h>

#include "data/text.h"

/* Entries between commas; their texts point into `files`. An "=" parts class and name. */
ferry_status ferry_i_choices_open(ferry_ctx *ctx, const char *path, const char *files,
                                  ferry_file_choices *c)
{
    ferry_status st = FERRY_OK;

    for (const char *s = files, *e = NULL; *s; s = *e ? e + 1 : e) {
        e = strchr(s, ',');
        if (!e) e = s + strlen(s);
        ferry_file_choice f = {{NULL, 0}, {s, e - s}, 0};
        const char *eq = memchr(s, '=', (size_t)(e - s));
        if (eq) {
            f.class = (ferry_span){s, eq - s};
            f.pattern = (ferry_span){eq + 1, e - eq - 1};
        }
        FERRY_NEED(ctx, f.pattern.n > 0 && (!eq || f.class.n > 0), FERRY_EINVAL,
                   "%s: files = \"%s\": expected NAME or CLASS=NAME between the commas",
                   path, files);
        FERRY_HAVE(ctx, FERRY_GROW(c->entry, c->n, c->cap));
        c->entry[c->n++] = f;
    }
done:
    return st;
}

/* Whether p (up to end) fits s from its begin to the end of a part of the path. */
static bool fits_here(const char *p, const char *end, const char *s)
{
    while (p < end) {
        /* every length that * may have, by recursion; patterns are short */
        if (*p == '*') {
            for (; *s && *s != '/'; s++)
                if (fits_here(p + 1, end, s)) return true;
            p++;
        } else if (*p++ != *s++) {
            return false;
        }
    }
    return *s == 0 || *s == '/';
}

/* A fit may begin at every part of the path. All files are wanted when c has no entry,
 * which the caller looks at: NULL is the answer for that, too. */
ferry_file_choice *ferry_i_choices_find(ferry_file_choices *c, const char *name)
{
    for (int64_t i = 0; i < c->n; i++) {
        const ferry_span p = c->entry[i].pattern;
        for (const char *s = name; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
            if (fits_here(p.s, p.s + p.n, s)) {
                c->entry[i].found++;
                return &c->entry[i];
            }
    }
    return NULL;
}

/* Called when all members have been seen. */
ferry_status ferry_i_choices_check(ferry_ctx *ctx, const char *path,
                                   const ferry_file_choices *c)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < c->n; i++)
        FERRY_NEED(ctx, c->entry[i].found > 0, FERRY_EDATA,
                   "%s: files: no file or folder in it is called '%.*s'", path,
                   (int)c->entry[i].pattern.n, c->entry[i].pattern.s);
done:
    return st;
}
