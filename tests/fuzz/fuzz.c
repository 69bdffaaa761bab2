/* What the fuzz targets share. */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

ferry_ctx *fuzz_ctx(void)
{
    static ferry_ctx *ctx;

    if (!ctx &&
        (ferry_ctx_new(&ctx) != FERRY_OK || ferry_i_ctx_set_threads(ctx, 1) != FERRY_OK))
        abort();
    return ctx;
}

const char *fuzz_file(const uint8_t *bytes, size_t n)
{
    static char path[64];
    static int fd = -1;

    if (fd < 0) fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)n) != 0 ||
        pwrite(fd, bytes, n, 0) != (ssize_t)n)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static char folder[256];

static void clean(void)
{
    ferry_i_remove_tree(folder);
}

const char *fuzz_path(const char *name)
{
    static char path[512];
    const char *under = getenv("TMPDIR");

    if (!folder[0]) {
        if (!under) under = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        (void)snprintf(folder, sizeof folder, "%s/ferry-fuzz-XXXXXX", under);
        if (!mkdtemp(folder)) abort();
        (void)atexit(clean);
    }
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

void fuzz_put(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(fuzz_path(name), "wb");

    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) abort();
}

void fuzz_check(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    if (!ferry_message(ctx)[0] || strchr(ferry_message(ctx), '\n')) abort();
}

void fuzz_use(ferry_ctx *ctx, ferry_data *data)
{
    ferry_domain *d = NULL;
    ferry_description *said = NULL;

    if (!data) return;
    fuzz_check(ctx, ferry_data_describe(ctx, data, &said));
    if (ferry_domain_new(ctx, "d", FERRY_TARGET, &d) == FERRY_OK)
        fuzz_check(ctx, ferry_domain_add_data(ctx, d, "v", data));
    ferry_domain_free(d);
    ferry_description_free(said);
    ferry_data_free(data);
}
