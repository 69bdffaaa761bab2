/* Pairs files: two columns of ids, one pair of instances a line, known to be the same
 * thing. A first line that names two domains says whose ids the columns are; else they are
 * those of the first source and of the target. */
#include <string.h>

#include "task/file.h"

/* The domain whose name is the len bytes at name. */
static ferry_domain *domain_named(const ferry_task *t, const char *name, int64_t len)
{
    for (int64_t i = 0; i < t->n_domains; i++) {
        const char *s = t->domains[i]->name;
        if (strncmp(s, name, (size_t)len) == 0 && !s[len]) return t->domains[i];
    }
    return NULL;
}

/* A field of a line: [s, s + n), without white space around it. */
typedef struct field {
    const char *s;
    int64_t n;
} field;

/* Without blanks at either end; a carriage return counts as one. */
static field trim(const char *s, const char *end)
{
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\r'))
        s++;
    while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    return (field){s, end - s};
}

/* Two fields with a tab, comma, semicolon or white space between; false: not two. */
static bool split_line(const char *s, const char *end, field *a, field *b)
{
    static const char separators[] = "\t,; ";
    const field line = trim(s, end);

    for (const char *c = separators; *c; c++) {
        const char *cut = memchr(line.s, *c, (size_t)line.n);
        if (!cut) continue;
        *a = trim(line.s, cut);
        *b = trim(cut + 1, line.s + line.n);
        return a->n > 0 && b->n > 0 && !memchr(b->s, *c, (size_t)b->n) &&
               !memchr(line.s, 0, (size_t)line.n);
    }
    return false;
}

/* Keep one id, which must be an instance of d. */
static ferry_status keep(ferry_ctx *ctx, const ferry_input *in, int64_t line,
                         const ferry_domain *d, field f, char **out)
{
    if (ferry_i_ids_findn(d->ids, f.s, f.n) < 0)
        return ferry_i_bad(ctx, in->path, line, "'%.*s' is no instance of domain '%s'",
                           (int)f.n, f.s, d->name);
    *out = ferry_i_strndup(f.s, f.n);
    return *out ? FERRY_OK : ferry_i_nomem(ctx);
}

/* Ids are looked up as they are read, so that an unknown one is reported with its line. */
static ferry_status read_lines(ferry_ctx *ctx, const ferry_input *in, const ferry_task *t,
                               const ferry_domain **left, const ferry_domain **right,
                               ferry_pairs *p)
{
    ferry_status st = FERRY_OK;
    const char *end = in->data + in->size;
    int64_t line = 0, lines = 1;
    field a = {0}, b = {0};

    for (const char *s = in->data; s < end; s++)
        lines += *s == '\n';
    FERRY_NEW(ctx, p->left, lines);
    FERRY_NEW(ctx, p->right, lines);
    for (const char *s = in->data, *stop; s < end; s = stop + 1) {
        stop = memchr(s, '\n', (size_t)(end - s));
        if (!stop) stop = end;
        line++;
        if (trim(s, stop).n == 0) continue;
        if (!split_line(s, stop, &a, &b))
            FERRY_TRY(ferry_i_bad(ctx, in->path, line, "expected two ids"));
        if (line == 1 && domain_named(t, a.s, a.n) && domain_named(t, b.s, b.n)) {
            *left = domain_named(t, a.s, a.n);
            *right = domain_named(t, b.s, b.n);
            continue;
        }
        if (!*left || !*right)
            FERRY_TRY(
                ferry_i_bad(ctx, in->path, line,
                            "expected a first line with the names of two domains (the "
                            "task has no source or no target)"));
        p->n++; /* so that both are freed */
        FERRY_TRY(keep(ctx, in, line, *left, a, &p->left[p->n - 1]));
        FERRY_TRY(keep(ctx, in, line, *right, b, &p->right[p->n - 1]));
    }
    if (p->n == 0)
        FERRY_TRY(ferry_i_bad(ctx, in->path, 0, "expected pairs of ids, found none"));
done:
    return st;
}

/* Without a first line that names domains the columns are the first source and the target,
 * the common case. */
static ferry_status read_pairs(ferry_ctx *ctx, const char *path, const ferry_task *t,
                               ferry_pairs **out)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};
    ferry_pairs *p = ferry_i_calloc(1, sizeof *p);
    const ferry_domain *left = ferry_i_task_role(t, FERRY_SOURCE, 0);
    const ferry_domain *right = ferry_i_task_role(t, FERRY_TARGET, 0);

    *out = NULL;
    FERRY_HAVE(ctx, p);
    FERRY_TRY(ferry_i_input_open(ctx, path, &in));
    FERRY_TRY(read_lines(ctx, &in, t, &left, &right, p));
    p->left_domain = ferry_i_strdup(left->name);
    p->right_domain = ferry_i_strdup(right->name);
    FERRY_HAVE(ctx, p->left_domain && p->right_domain);
    FERRY_MOVE(*out, p);
done:
    ferry_i_pairs_free(p);
    ferry_i_input_close(&in);
    return st;
}

/* Pairs may name any domains, so they are read when all domains are there. */
ferry_status ferry_i_parse_pairs(const ferry_place *p, ferry_task *task, ferry_domain *d)
{
    ferry_status st = FERRY_OK;
    const char *file = NULL;
    char *path = NULL;

    FERRY_TRY(ferry_i_place_string(p, "the name of a file", &file));
    FERRY_TRY(ferry_i_place_path(p, file, &path));
    FERRY_TRY(ferry_i_place_prefix(p, read_pairs(p->y->ctx, path, task, &d->pairs)));
done:
    ferry_i_free(path);
    return st;
}
