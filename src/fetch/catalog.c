/* The catalog of data sets: a text file, one thing a line.
 *
 *   set NAME SUMMARY...
 *   terms TEXT...
 *   base URL                        put in front of the URLs that follow and have no scheme
 *   file SHA256 SIZE PATH [URL]     as it comes; SIZE may be -, URL is PATH by default
 *   gunzip SHA256 SIZE PATH [URL]   comes as gzip (PATH.gz); the checksum is of the inside
 *   unpack SHA256 SIZE PATH [URL]   a tar or zip archive, its members go beside it
 *
 * # begins a comment. Terms are shown with the list of sets: few have a plain licence, and
 * whoever fetches one should know what is known of it.
 *
 * The one that Ferry comes with is datasets.txt beside this file. */
#include <string.h>

#include "data/data.h"
#include "data/fields.h"
#include "data/lines.h"
#include "fetch/fetch.h"

extern const char ferry_i_datasets[]; /* datasets.txt, made by CMake */

/* Paths come from a catalog or an archive, which are untrusted. No file may be
 * put outside the folder, so every part is looked at; a backslash is a separator
 * elsewhere. */
bool ferry_i_path_inside(const char *path)
{
    if (path[0] == 0 || path[0] == '/' || strchr(path, '\\')) return false;
    for (const char *s = path; s;) {
        const char *slash = strchr(s, '/');
        const size_t n = slash ? (size_t)(slash - s) : strlen(s);
        if (n == 0 || (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
            return false;
        s = slash ? slash + 1 : NULL;
    }
    return true;
}

/* NULL is fine. */
void ferry_catalog_free(ferry_catalog *c)
{
    for (int64_t i = 0; c && i < c->n; i++) {
        ferry_set *s = &c->set[i];
        for (int64_t j = 0; j < s->n; j++) {
            FERRY_FREE(s->file[j].path, s->file[j].url);
        }
        FERRY_FREE(s->file, s->name, s->summary, s->terms);
    }
    if (c) ferry_i_free(c->set);
    ferry_i_free(c);
}

/* NULL beyond the end. Lives as long as the catalog. */
const ferry_dataset *ferry_catalog_at(const ferry_catalog *c, int64_t i)
{
    if (!c) return NULL;
    return i >= 0 && i < c->n ? &c->set[i].info : NULL;
}

/* The next word of [*s, e), and *s moves behind it. */
static ferry_field word(const char **s, const char *e)
{
    while (*s < e && (**s == ' ' || **s == '\t'))
        (*s)++;
    const char *from = *s;
    while (*s < e && **s != ' ' && **s != '\t')
        (*s)++;
    return (ferry_field){from, *s - from, 0};
}

/* [s, e) without blanks around: summaries and terms are whole sentences. */
static ferry_field rest(const char *s, const char *e)
{
    while (s < e && (*s == ' ' || *s == '\t'))
        s++;
    while (e > s && (e[-1] == ' ' || e[-1] == '\t'))
        e--;
    return (ferry_field){s, e - s, 0};
}

/* 64 hexadecimal digits in lower case, as sha256sum prints them. */
static bool parse_sum(const ferry_field *f, uint8_t sum[32])
{
    if (f->n != 64) return false;
    memset(sum, 0, 32);
    for (int64_t i = 0; i < 64; i++) {
        const char c = f->s[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                 : -1;
        if (digit < 0) return false;
        sum[i / 2] = (uint8_t)(sum[i / 2] << 4 | digit);
    }
    return true;
}

/* A line of the set at hand behind its verb. Only http and https are let through: curl also
 * reads file: URLs, by which a catalog could copy files of this machine. */
static ferry_status add_file(ferry_ctx *ctx, const char *path, int64_t line, ferry_set *set,
                             ferry_deed deed, ferry_field base, const char *s,
                             const char *e)
{
    ferry_status st = FERRY_OK;
    ferry_remote r = {.size = -1, .deed = deed};
    const ferry_field sum = word(&s, e), size = word(&s, e), name = word(&s, e);
    ferry_field url = word(&s, e);

    FERRY_NEED_AT(ctx,
                  parse_sum(&sum, r.sha256) && name.n != 0 &&
                      (ferry_i_field_is(&size, "-") ||
                       (ferry_i_field_int(&size, &r.size) && r.size >= 0)),
                  path, line, "expected a SHA-256 sum, a size (or -), a path and a URL");
    if (url.n == 0) url = name;
    r.path = ferry_i_strndup(name.s, name.n);
    /* a scheme of its own, else the base goes in front */
    const bool whole = url.n > 7 && memchr(url.s, ':', 6) != NULL;
    r.url = ferry_i_sprintf("%.*s%.*s", whole ? 0 : (int)base.n, base.s, (int)url.n, url.s);
    FERRY_HAVE(ctx, r.path && r.url && FERRY_GROW(set->file, set->n, set->cap));
    FERRY_NEED_AT(ctx, ferry_i_path_inside(r.path), path, line,
                  "%s: expected a path inside the folder", r.path);
    FERRY_NEED_AT(ctx,
                  strncmp(r.url, "http://", 7) == 0 || strncmp(r.url, "https://", 8) == 0,
                  path, line, "%s: expected an http or https URL", r.url);
    /* from here on the set owns path and url */
    set->file[set->n++] = r;
    set->info.files = set->n;
    if (r.size > 0) set->info.bytes += r.size;
    r.path = r.url = NULL;
done:
    FERRY_FREE(r.path, r.url);
    return st;
}

/* A new set. Its name becomes a folder, so it must be one part of a path; it is counted
 * before it is checked, so that the caller's free finds it. */
static ferry_status add_set(ferry_ctx *ctx, const char *path, int64_t line,
                            ferry_catalog *c, const char *s, const char *e)
{
    ferry_status st = FERRY_OK;
    const ferry_field name = word(&s, e), summary = rest(s, e);

    FERRY_HAVE(ctx, FERRY_GROW(c->set, c->n, c->cap));
    ferry_set *set = &c->set[c->n++];
    *set = (ferry_set){.name = ferry_i_strndup(name.s, name.n),
                       .summary = ferry_i_strndup(summary.s, summary.n),
                       .terms = ferry_i_strdup("")};
    FERRY_HAVE(ctx, set->name && set->summary && set->terms);
    set->info = (ferry_dataset){set->name, set->summary, set->terms, 0, 0};
    if (!ferry_i_path_inside(set->name) || strchr(set->name, '/'))
        st = ferry_i_bad(ctx, path, line, "expected a name of letters and digits");
    for (int64_t i = 0; st == FERRY_OK && i < c->n - 1; i++)
        if (strcmp(c->set[i].name, set->name) == 0)
            st = ferry_i_bad(ctx, path, line, "the set %s is here twice", set->name);
done:
    return st;
}

/* The verbs are a small language read from top to bottom: terms and files belong to the set
 * above, a base holds until the next set. */
static ferry_status parse(ferry_ctx *ctx, const char *path, const char *text, int64_t n,
                          ferry_catalog *c)
{
    static const char *const deeds[] = {"file", "gunzip", "unpack"};
    ferry_status st = FERRY_OK;
    ferry_lines l = ferry_i_lines(text, n);
    ferry_field base = {"", 0, 0};
    char show[44];

    while (ferry_i_full_line(&l, "#")) {
        const char *s = l.s;
        const ferry_field verb = word(&s, l.e);
        ferry_set *set = c->n > 0 ? &c->set[c->n - 1] : NULL;
        int deed = 0;
        /* deeds are in the order of ferry_deed, 3: another verb */
        while (deed < 3 && !ferry_i_field_is(&verb, deeds[deed]))
            deed++;
        if (ferry_i_field_is(&verb, "set")) {
            /* a base does not reach into the next set */
            base = (ferry_field){"", 0, 0};
            FERRY_TRY(add_set(ctx, path, l.line, c, s, l.e));
        } else if (ferry_i_field_is(&verb, "base")) {
            base = rest(s, l.e);
        } else if (set && ferry_i_field_is(&verb, "terms")) {
            const ferry_field terms = rest(s, l.e);
            ferry_i_free(set->terms);
            set->info.terms = set->terms = ferry_i_strndup(terms.s, terms.n);
            FERRY_HAVE(ctx, set->terms);
        } else if (set && deed < 3) {
            FERRY_TRY(add_file(ctx, path, l.line, set, (ferry_deed)deed, base, s, l.e));
        } else {
            st = ferry_i_bad(ctx, path, l.line,
                             "expected set, then terms, base, file, gunzip or unpack; "
                             "found \"%s\"",
                             ferry_i_field_show(&verb, show));
            goto done;
        }
    }
    if (c->n == 0) st = ferry_i_bad(ctx, path, 0, "names no data set");
done:
    return st;
}

/* path NULL: the catalog that is compiled in. Both go through the same parser. */
ferry_status ferry_catalog_load(ferry_ctx *ctx, const char *path, ferry_catalog **out)
{
    FERRY_ARGS_OUT(ctx, out, out);

    ferry_status st = FERRY_OK;
    ferry_catalog *c = ferry_i_calloc(1, sizeof *c);
    ferry_input in = {0};

    FERRY_HAVE(ctx, c);
    if (path) {
        FERRY_TRY(ferry_i_input_open(ctx, path, &in));
        FERRY_TRY(ferry_i_check_text(ctx, &in));
        FERRY_TRY(parse(ctx, path, in.data, in.size, c));
    } else {
        FERRY_TRY(parse(ctx, "datasets.txt", ferry_i_datasets,
                        (int64_t)strlen(ferry_i_datasets), c));
    }
    FERRY_MOVE(*out, c);
done:
    ferry_i_input_close(&in);
    ferry_catalog_free(c);
    return st;
}
