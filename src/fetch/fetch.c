/* Fetching data sets of the catalog: download, check, unpack.
 *
 * A file counts only when its SHA-256 is the catalog's, so a mirror, a broken connection or a
 * changed upload cannot get in; what is there and right is not fetched again. Downloads go to
 * NAME.part and are resumed from there. Members of an archive may not leave their folder. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/archive.h"
#include "fetch/fetch.h"

static const ferry_opt table[] = {
    FERRY_OPT_STRING(ferry_fetch_settings, mirror, "",
                     "URL with a copy of every set, as URL/NAME/PATH"),
    FERRY_OPT(ferry_fetch_settings, INT, patience, 30, 1, 3600,
              "seconds without data before an attempt is given up"),
    FERRY_OPT(ferry_fetch_settings, INT, tries, 3, 1, 100,
              "attempts per file; each continues where the last one stopped"),
};

const ferry_opt_table ferry_i_fetch_options = {table, FERRY_COUNT(table)};

/* SHA-256 of a file. False: it cannot be read. */
static bool sum_of(const char *path, uint8_t sum[32], int64_t *size)
{
    char buffer[65536];
    ferry_sha256 s;
    FILE *f = fopen(path, "rb");
    size_t n = 0;

    if (!f) return false;
    ferry_i_sha256_begin(&s);
    *size = 0;
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0) {
        ferry_i_sha256_add(&s, buffer, (int64_t)n);
        *size += (int64_t)n;
    }
    const bool fine = ferror(f) == 0;
    (void)fclose(f);
    ferry_i_sha256_end(&s, sum);
    return fine;
}

/* The whole file is hashed every time: a size that fits is no proof, and reading is fast
 * beside fetching. */
static bool is_there(const ferry_remote *r, const char *path)
{
    uint8_t sum[32];
    int64_t size = 0;

    return sum_of(path, sum, &size) && memcmp(sum, r->sha256, 32) == 0;
}

/* Say how two sums differ, by their first eight digits. */
static ferry_status wrong_sum(ferry_ctx *ctx, const char *what, const ferry_remote *r,
                              const uint8_t sum[32], int64_t size)
{
    return ferry_i_fail(
        ctx, FERRY_EDATA,
        "%s: what came (%lld bytes, SHA-256 %02x%02x%02x%02x...) is not the file of the "
        "catalog (%02x%02x%02x%02x...)",
        what, (long long)size, sum[0], sum[1], sum[2], sum[3], r->sha256[0], r->sha256[1],
        r->sha256[2], r->sha256[3]);
}

/* Bytes to a new file, folders made on the way; whole or not at all. */
static ferry_status save(ferry_ctx *ctx, const char *path, const char *bytes, int64_t n)
{
    ferry_status st = FERRY_OK;
    char *dir = ferry_i_path_dir(path);
    ferry_out *o = NULL;

    FERRY_HAVE(ctx, dir);
    FERRY_TRY(ferry_i_mkdirs(ctx, dir));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_write(o, bytes, n);
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_free(dir);
    return st;
}

/* The compressed file at part becomes the file at path. */
static ferry_status gunzip(ferry_ctx *ctx, const ferry_remote *r, const char *what,
                           const char *part, const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};
    ferry_sha256 s;
    uint8_t sum[32];

    FERRY_TRY(ferry_i_input_file(ctx, part, &in)); /* which unpacks gzip */
    ferry_i_sha256_begin(&s);
    ferry_i_sha256_add(&s, in.data, in.size);
    ferry_i_sha256_end(&s, sum);
    if (memcmp(sum, r->sha256, 32) != 0) FERRY_TRY(wrong_sum(ctx, what, r, sum, in.size));
    FERRY_TRY(save(ctx, path, in.data, in.size));
done:
    ferry_i_input_close(&in);
    return st;
}

/* Members of the archive at path into dir; those there with the right size are kept. */
static ferry_status unpack(ferry_ctx *ctx, const char *path, const char *dir)
{
    ferry_status st = FERRY_OK;
    ferry_input in = {0};
    ferry_archive a = {0};
    char *to = NULL;
    struct stat info;
    bool finish = false;

    FERRY_TRY(ferry_i_input_file(ctx, path, &in));
    FERRY_TRY(ferry_i_archive_list(ctx, &in, (ferry_bring){.all = true}, &a));
    for (int64_t i = 0; i < a.n; i++) {
        const ferry_member *m = &a.members[i];
        FERRY_NEED(ctx, ferry_i_path_inside(m->name), FERRY_EDATA,
                   "%s: the member %s would leave its folder", path, m->name);
        if (i % 256 == 0) FERRY_TRY(ferry_i_progress(ctx, "unpack", i, a.n, NAN, &finish));
        FERRY_HAVE(ctx, to = ferry_i_path_join(dir, m->name));
        if (stat(to, &info) != 0 || info.st_size != m->size)
            FERRY_TRY(save(ctx, to, m->bytes, m->size));
        ferry_i_free(to);
        to = NULL;
    }
done:
    ferry_i_free(to);
    ferry_i_archive_free(&a);
    ferry_i_input_close(&in);
    return st;
}

/* Add to the message what to do without the network. */
static void by_hand(ferry_ctx *ctx, const char *url, const char *path)
{
    char why[512];

    (void)snprintf(why, sizeof why, "%s", ferry_message(ctx));
    (void)ferry_i_fail(ctx, FERRY_EIO, "%s; by hand: get %s and put it at %s", why, url,
                       path);
}

/* Download and check one file; at path afterwards. */
static ferry_status get(ferry_ctx *ctx, const ferry_fetch_settings *s, const ferry_set *set,
                        const ferry_remote *r, const char *path)
{
    ferry_status st = FERRY_OK;
    const char *gz = r->deed == FERRY_GUNZIP ? ".gz" : "";
    const size_t slash = strlen(s->mirror);
    char *what = ferry_i_sprintf("%s/%s", set->name, r->path);
    char *part = ferry_i_sprintf("%s%s.part", path, gz), *dir = ferry_i_path_dir(path);
    /* a mirror has URL/SET/PATH, whatever the original's layout is */
    char *url = s->mirror[0] == 0
                    ? ferry_i_strdup(r->url)
                    : ferry_i_sprintf("%s%s%s/%s%s", s->mirror,
                                      slash > 0 && s->mirror[slash - 1] == '/' ? "" : "/",
                                      set->name, r->path, gz);
    uint8_t sum[32];
    int64_t size = 0;

    FERRY_HAVE(ctx, what && part && dir && url);
    FERRY_TRY(ferry_i_mkdirs(ctx, dir));
    /* the size is that of what a gunzip makes: compressed it is at most a little more */
    const int64_t most = r->size < 0               ? -1
                         : r->deed == FERRY_GUNZIP ? r->size + r->size / 1000 + 1024
                                                   : r->size;
    st = ferry_i_download(ctx, s, what, url, most, part);
    if (st == FERRY_EIO) by_hand(ctx, r->url, path);
    if (st != FERRY_OK) goto done;
    if (r->deed == FERRY_GUNZIP) {
        /* the part goes in any case: when it was wrong, resuming would keep the wrong
         * bytes */
        st = gunzip(ctx, r, what, part, path);
        (void)unlink(part);
        goto done;
    }
    FERRY_NEED(ctx, sum_of(part, sum, &size), FERRY_EIO, "%s: cannot read: %s", part,
               strerror(errno));
    if (memcmp(sum, r->sha256, 32) != 0) {
        (void)unlink(part);
        FERRY_TRY(wrong_sum(ctx, what, r, sum, size));
    }
    FERRY_NEED(ctx, rename(part, path) == 0, FERRY_EIO, "%s: cannot rename: %s", path,
               strerror(errno));
done:
    FERRY_FREE(what, part, dir, url);
    return st;
}

static const char *name_at(const void *catalog, int64_t i)
{
    return ((const ferry_catalog *)catalog)->set[i].name;
}

/* The set of that name, or a message with the nearest one. */
static ferry_status find(ferry_ctx *ctx, const ferry_catalog *c, const char *name,
                         const ferry_set **out)
{
    for (int64_t i = 0; i < c->n; i++)
        if (strcmp(c->set[i].name, name) == 0) {
            *out = &c->set[i];
            return FERRY_OK;
        }
    const char *near = ferry_i_nearest(name, c->n, name_at, c);
    return ferry_i_fail(ctx, FERRY_EINVAL, "%s: not in the catalog%s%s%s", name,
                        near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* File by file, so that a run that broke off goes on where it was. An archive is unpacked
 * also when it was there already: members may have been deleted since. */
ferry_status ferry_fetch(ferry_ctx *ctx, const ferry_catalog *catalog, const char *name,
                         const char *dir, const ferry_opts *opts)
{
    FERRY_ARGS(ctx, catalog, name, dir);

    ferry_status st = FERRY_OK;
    ferry_fetch_settings s = {0};
    const ferry_set *set = NULL;
    char *folder = NULL, *path = NULL;

    FERRY_TRY(ferry_i_opts_parse(ctx, "fetch", table, FERRY_COUNT(table), opts, &s));
    FERRY_TRY(find(ctx, catalog, name, &set));
    FERRY_HAVE(ctx, folder = ferry_i_path_join(dir, name));
    for (int64_t i = 0; i < set->n; i++) {
        const ferry_remote *r = &set->file[i];
        FERRY_HAVE(ctx, path = ferry_i_path_join(folder, r->path));
        if (!is_there(r, path)) FERRY_TRY(get(ctx, &s, set, r, path));
        if (r->deed == FERRY_UNPACK) FERRY_TRY(unpack(ctx, path, folder));
        ferry_i_free(path);
        path = NULL;
    }
done:
    FERRY_FREE(path, folder);
    return st;
}
