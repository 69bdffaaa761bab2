#include "ferry_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "archives.h"
#include "data/archive.h"

/* Opens to these bytes. */
static void opens_as(ferry_ctx *ctx, const char *path, const char *want, int64_t n)
{
    ferry_input in;

    assert_ok(ctx, ferry_i_input_open(ctx, path, &in));
    assert_int_equal(in.size, n);
    assert_memory_equal(in.data, want, (size_t)n);
    ferry_i_input_close(&in);
}

static void refused(ferry_ctx *ctx, const char *path, const char *why)
{
    ferry_input in;

    assert_fails(ctx, ferry_i_input_open(ctx, path, &in), FERRY_EDATA, why);
    assert_null(in.owned);
}

static const char *save(const char *name, bytes b)
{
    const char *path = tmp_file(name, b.s, b.n);

    free(b.s);
    return path;
}

static void test_plain_and_empty(void **state)
{
    opens_as(*state, tmp_file("plain", "hello\n", -1), "hello\n", 6);
    opens_as(*state, tmp_file("empty", "", 0), "", 0);
}

static void test_missing_folder_unreadable(void **state)
{
    ferry_ctx *ctx = *state;

    refused(ctx, tmp_path("nothing"), "nothing: no such file");
    refused(ctx, tmp_path("nothing#x"), "nothing: no such file");
    refused(ctx, tmp_dir(), "is a folder, expected a file");
    refused(ctx, tmp_path("plain/below"), "Not a directory");
    if (geteuid() == 0) {
        print_message("skipped: root reads everything\n");
        return;
    }
    const char *path = tmp_file("secret", "x", 1);
    chmod(path, 0);
    refused(ctx, path, "cannot read: Permission denied");
}

/* By content: the extension does not matter. */
static void test_compressed(void **state)
{
    ferry_ctx *ctx = *state;
    char big[100000];

    for (size_t i = 0; i < sizeof big; i++)
        big[i] = (char)('a' + i * i % 23);
    opens_as(ctx, save("a.gz", gzip_of(big, sizeof big)), big, sizeof big);
    opens_as(ctx, save("a.txt", xz_of(big, sizeof big)), big, sizeof big);
    opens_as(ctx, save("a.bz2", packed_of("bzip2", big, sizeof big)), big, sizeof big);
    opens_as(ctx, save("a.zst", packed_of("zstd", big, sizeof big)), big, sizeof big);
    opens_as(ctx, save("e.gz", gzip_of("", 0)), "", 0);
    opens_as(ctx, save("e.xz", packed_of("xz", "", 0)), "", 0);
    opens_as(ctx, save("e.bz2", packed_of("bzip2", "", 0)), "", 0);
    opens_as(ctx, save("e.zst", packed_of("zstd", "", 0)), "", 0);
    opens_as(ctx, tmp_file("no.bz2", "BZh91 no", -1), "BZh91 no", 8); /* only its name */
}

/* While files are kept, one that is opened again is not unpacked again, unless it has
 * changed; what is open outlives what is kept. */
static void test_kept(void **state)
{
    ferry_ctx *ctx = *state;
    const char *path = save("kept.gz", gzip_of("hello", 5));
    ferry_input one, two, other;

    ferry_i_unpacked_keep(ctx, true);
    assert_ok(ctx, ferry_i_input_open(ctx, path, &one));
    assert_ok(ctx, ferry_i_input_open(ctx, path, &two));
    assert_ptr_equal(one.data, two.data);
    (void)save("kept.gz", gzip_of("goodbye", 7));
    assert_ok(ctx, ferry_i_input_open(ctx, path, &other));
    assert_int_equal(other.size, 7);
    assert_memory_equal(other.data, "goodbye", 7);
    ferry_i_unpacked_keep(ctx, false);
    ferry_i_input_close(&one);
    assert_memory_equal(two.data, "hello", 5);
    assert_memory_equal(other.data, "goodbye", 7);
    ferry_i_input_close(&two);
    ferry_i_input_close(&other);
    opens_as(ctx, path, "goodbye", 7);
}

/* Files joined with cat are one file; zeros may follow. */
static void test_joined(void **state)
{
    ferry_ctx *ctx = *state;
    bytes a = gzip_of("one", 3), b = gzip_of("two", 3), x = xz_of("one", 3),
          y = xz_of("two", 3);

    add_bytes(&a, b.s, b.n);
    add_bytes(&a, "\0\0\0\0", 4);
    add_bytes(&x, y.s, y.n);
    opens_as(ctx, tmp_file("two.gz", a.s, a.n), "onetwo", 6);
    opens_as(ctx, tmp_file("two.xz", x.s, x.n), "onetwo", 6);
    add_bytes(&a, "junk", 4);
    refused(ctx, tmp_file("junk.gz", a.s, a.n), "bytes after the end of the gzip data");
    add_bytes(&x, "junkjunkjunk", 12);
    refused(ctx, tmp_file("junk.xz", x.s, x.n), "damaged or truncated xz data");
    free(a.s), free(b.s), free(x.s), free(y.s);
}

static void test_truncated_and_damaged(void **state)
{
    ferry_ctx *ctx = *state;
    char text[5000];
    uint64_t r = 1;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)((r = r * 6364136223846793005u + 1442695040888963407u) >> 57);
    bytes g = gzip_of(text, sizeof text), x = xz_of(text, sizeof text);
    for (int64_t n = 20; n < g.n; n += 97)
        refused(ctx, tmp_file("cut.gz", g.s, n), "truncated: the gzip data ends early");
    refused(ctx, tmp_file("cut.gz", g.s, g.n - 1), "truncated: the gzip data ends early");
    for (int64_t n = 12; n < x.n; n += 97)
        refused(ctx, tmp_file("cut.xz", x.s, n), "cut.xz: damaged or truncated xz data");
    g.s[g.n - 6] ^= 1; /* its checksum */
    refused(ctx, tmp_file("bad.gz", g.s, g.n), "damaged gzip data");
    for (int k = 0; k < 2; k++) {
        const char *how = k ? "bzip2" : "zstd";
        bytes b = packed_of(how, text, sizeof text);
        for (int64_t n = 14; n < b.n; n += 97)
            refused(ctx, tmp_file("cut", b.s, n), how);
        b.s[b.n / 2] ^= 64;
        if (k) refused(ctx, tmp_file("bad", b.s, b.n), how); /* zstd may have no checksum */
        free(b.s);
    }
    x.s[x.n / 2] ^= 64;
    refused(ctx, tmp_file("bad.xz", x.s, x.n), "damaged or truncated xz data");
    free(g.s), free(x.s);
}

/* 100 MB of zeros in 100 kB stop at the limit. */
static void test_bomb(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t n = 10000000;
    char *zeros = calloc((size_t)n, 1), *out = NULL;
    int64_t out_n = 0;
    bytes g = gzip_of(zeros, n), x = xz_of(zeros, n);

    assert_fails(ctx, ferry_i_unpack(ctx, "b.gz", g.s, g.n, 1000000, &out, &out_n),
                 FERRY_EDATA, "b.gz: unpacks to more than 1 MB: refused");
    assert_fails(ctx, ferry_i_unpack(ctx, "b.xz", x.s, x.n, 1000000, &out, &out_n),
                 FERRY_EDATA, "b.xz: unpacks to more than 1 MB: refused");
    assert_null(out);
    assert_ok(ctx, ferry_i_unpack(ctx, "b.xz", x.s, x.n, n, &out, &out_n));
    assert_int_equal(out_n, n);
    ferry_i_free(out);
    /* a multiple of the size, never below 256 MiB, at most a share of free memory; or as told */
    assert_int_equal(ferry_i_input_limit(ctx, 1000), (int64_t)1 << 28);
    assert_true(ferry_i_input_limit(ctx, (int64_t)1 << 60) < (int64_t)1 << 50);
    assert_ok(ctx, ferry_i_ctx_set_max_input(ctx, 12345));
    assert_int_equal(ferry_i_input_limit(ctx, 1000), 12345);
    assert_int_equal(ferry_i_input_limit(ctx, -1), 12345);
    free(zeros), free(g.s), free(x.s);
}

/* A name with # in it is a name first; after that the first # that follows a file. */
static void test_hash_in_names(void **state)
{
    ferry_ctx *ctx = *state;
    char *base = NULL, *member = NULL;
    bytes t = {0};

    opens_as(ctx, tmp_file("a#b", "whole", -1), "whole", 5);
    tar_add(&t, '0', "m#n", "member", 6);
    tar_add(&t, '0', "z.gz", "x", 1);
    tar_end(&t);
    const char *path = tmp_file("c#d.tar", t.s, t.n);
    opens_as(ctx, tmp_path("c#d.tar#m#n"), "member", 6);
    refused(ctx, tmp_path("c#d.tar#none"), "c#d.tar: no member none among its 2 files");
    refused(ctx, tmp_path("a#b#c"), "expected a whole tar, zip or 7z archive");
    assert_ok(ctx, ferry_i_split_path(ctx, path, &base, &member));
    assert_string_equal(base, path);
    assert_null(member);
    ferry_i_free(base);
    free(t.s);
}

/* A compressed member of an archive is unpacked too. */
static void test_member_compressed(void **state)
{
    ferry_ctx *ctx = *state;
    bytes t = {0}, g = gzip_of("inside", 6);

    tar_add(&t, '0', "a.gz", g.s, g.n);
    tar_add(&t, '0', "bad.gz", g.s, g.n - 3);
    tar_end(&t);
    bytes outer = xz_of(t.s, t.n);
    tmp_file("t.tar.xz", outer.s, outer.n);
    opens_as(ctx, tmp_path("t.tar.xz#a.gz"), "inside", 6);
    refused(ctx, tmp_path("t.tar.xz#bad.gz"), "truncated");
    bytes z = zip_of("p", "packed member", 13, 13,
                     (uint32_t)crc32(0, (const Bytef *)"packed member", 13), 8);
    tmp_file("t.zip", z.s, z.n);
    opens_as(ctx, tmp_path("t.zip#p"), "packed member", 13);
    free(t.s), free(g.s), free(outer.s), free(z.s);
}

/* Pipes cannot be mapped; "-" is one. */
static void test_standard_input(void **state)
{
    ferry_ctx *ctx = *state;
    int ends[2];
    const int saved = dup(STDIN_FILENO);
    bytes g = gzip_of("from a pipe", 11);

    for (int packed = 0; packed < 2; packed++) {
        assert_int_equal(pipe(ends), 0);
        if (packed)
            assert_int_equal(write(ends[1], g.s, (size_t)g.n), g.n);
        else
            assert_int_equal(write(ends[1], "from a pipe", 11), 11);
        close(ends[1]);
        assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
        close(ends[0]);
        opens_as(ctx, "-", "from a pipe", 11);
    }
    close(STDIN_FILENO);
    ferry_input in;
    assert_fails(ctx, ferry_i_input_open(ctx, "-", &in), FERRY_EIO,
                 "standard input: cannot read");
    dup2(saved, STDIN_FILENO);
    close(saved);
    free(g.s);
}

static ferry_status open_it(ferry_ctx *ctx, void *arg)
{
    ferry_input in;
    const ferry_status st = ferry_i_input_open(ctx, arg, &in);

    ferry_i_input_close(&in);
    return st;
}

static void test_no_memory(void **state)
{
    bytes t = {0};
    char text[300000] = "";

    tar_add(&t, '0', "a", "A", 1);
    tar_end(&t);
    tmp_file("m.tar", t.s, t.n);
    each_allocation_fails(*state, open_it, (void *)(uintptr_t)tmp_path("m.tar#a"));
    each_allocation_fails(*state, open_it,
                          (void *)(uintptr_t)save("m.gz", gzip_of(text, sizeof text)));
    each_allocation_fails(*state, open_it,
                          (void *)(uintptr_t)save("m.xz", xz_of(text, sizeof text)));
    bytes z = zip_of("p", "pp", 2, 2, (uint32_t)crc32(0, (const Bytef *)"pp", 2), 8);
    tmp_file("m.zip", z.s, z.n);
    each_allocation_fails(*state, open_it, (void *)(uintptr_t)tmp_path("m.zip#p"));
    free(t.s), free(z.s);
}

static ferry_status open_pipe(ferry_ctx *ctx, void *arg)
{
    int ends[2];
    char text[50000] = "";

    (void)arg;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof text), sizeof text);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    return open_it(ctx, (void *)(uintptr_t) "-");
}

static void test_pipe_without_memory(void **state)
{
    const int saved = dup(STDIN_FILENO);

    each_allocation_fails(*state, open_pipe, NULL);
    dup2(saved, STDIN_FILENO);
    close(saved);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_plain_and_empty),
        T(test_missing_folder_unreadable),
        T(test_compressed),
        T(test_kept),
        T(test_joined),
        T(test_truncated_and_damaged),
        T(test_bomb),
        T(test_hash_in_names),
        T(test_member_compressed),
        T(test_standard_input),
        T(test_no_memory),
        T(test_pipe_without_memory),
    };
    return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
