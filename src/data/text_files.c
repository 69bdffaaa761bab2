/* The option files of text: which files of a folder or archive are read.
 *
 * An entry is a name, or CLASS=name. The name fits a run of whole parts of a member's path:
 * comp.graphics fits 20news/comp.graphics/38464, and so does 20news/comp.graphics; * stands
 * for any text inside a part. The first entry that fits decides. */
#include <string.h>

#include "data/text.h"

/* Entries between commas; their texts point into `files`. An "=" parts class and name. */
void choices_open(scope *s, const char *path, const char *files, file_choices *c)
{
    const char *e = NULL;

    c->entry = NEW(s, file_choice, (int64_t)strlen(files));
    for (const char *at = files; *at; at = *e ? e + 1 : e) {
        e = strchr(at, ',');
        if (!e) e = at + strlen(at);
        file_choice *f = &c->entry[c->n++];
        f->pattern = (ferry_span){at, e - at};
        const char *eq = memchr(at, '=', (size_t)(e - at));
        if (eq) {
            f->class = (ferry_span){at, eq - at};
            f->pattern = (ferry_span){eq + 1, e - eq - 1};
        }
        if (f->pattern.n == 0 || (eq && f->class.n == 0))
            scope_fail(s, FERRY_EINVAL,
                       "%s: files = \"%s\": expected NAME or CLASS=NAME between the commas",
                       path, files);
    }
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
file_choice *choices_find(file_choices *c, const char *name)
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
void choices_check(scope *s, const char *path, const file_choices *c)
{
    for (int64_t i = 0; i < c->n; i++)
        if (c->entry[i].found == 0)
            bad_at(s, path, 0, "files: no file or folder in it is called '%.*s'",
                   (int)c->entry[i].pattern.n, c->entry[i].pattern.s);
}
