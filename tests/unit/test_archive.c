#include "ferry_test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "archives.h"
#include "data/archive.h"

/* Names and bytes as "name=bytes;name=bytes;". */
static ferry_status gather(ferry_ctx *ctx, void *arg, const char *name, const char *s,
                           int64_t n)
{
    ferry_text *t = arg;

    ferry_i_text_addf(t, "%s=", name);
    ferry_i_text_addn(t, s, n);
    ferry_i_text_add(t, ";");
    return t->failed ? ferry_i_nomem(ctx) : FERRY_OK;
}

static void holds(ferry_ctx *ctx, const char *path, const char *want)
{
    ferry_text t = {0};

    ferry_i_text_add(&t, "");
    assert_ok(ctx, ferry_i_each_member(ctx, path, gather, &t));
    assert_string_equal(t.s, want);
    ferry_i_text_free(&t);
}

static void refused(ferry_ctx *ctx, const char *path, const char *why)
{
    ferry_text t = {0};

    assert_fails(ctx, ferry_i_each_member(ctx, path, gather, &t), FERRY_EDATA, why);
    ferry_i_text_free(&t);
}

static const char *save(const char *name, bytes *b)
{
    const char *path = tmp_file(name, b->s, b->n);

    free(b->s);
    *b = (bytes){0};
    return path;
}

static void test_names_of_archives(void **state)
{
    (void)state;
    assert_true(ferry_i_is_archive("a.tar"));
    assert_true(ferry_i_is_archive("a.b.tar.gz"));
    assert_true(ferry_i_is_archive("a.tgz"));
    assert_true(ferry_i_is_archive("x/a.txz"));
    assert_true(ferry_i_is_archive("a.tar.xz"));
    assert_true(ferry_i_is_archive("a.zip"));
    assert_true(ferry_i_is_archive("a.7z"));
    assert_true(ferry_i_is_archive("a.tar.bz2"));
    assert_false(ferry_i_is_archive("a.npz"));
    assert_false(ferry_i_is_archive("a.csv.gz"));
    assert_false(ferry_i_is_archive(".tar"));
}

/* Sorted by name; folders, links and hidden files left out; all compressions. */
static void test_tar(void **state)
{
    ferry_ctx *ctx = *state;
    bytes t = {0};

    tar_add(&t, '5', "d/", "", 0);
    tar_add(&t, '0', "d/b", "BB", 2);
    tar_add(&t, '2', "link", "", 0);
    tar_add(&t, 0, "./a", "A", 1);
    tar_add(&t, '0', "d/.hidden", "x", 1);
    tar_add(&t, 0, "old/", "", 0);
    tar_add(&t, 'g', "global", "19 comment=nothing\n", 19);
    tar_add(&t, '0', "empty", "", 0);
    tar_end(&t);
    bytes g = gzip_of(t.s, t.n), x = xz_of(t.s, t.n);
    holds(ctx, save("t.tar", &t), "a=A;d/b=BB;empty=;");
    holds(ctx, save("t.tgz", &g), "a=A;d/b=BB;empty=;");
    holds(ctx, save("t.txz", &x), "a=A;d/b=BB;empty=;");
}

/* GNU long name, pax path and size, ustar prefix, base-256 size. */
static void test_tar_extensions(void **state)
{
    ferry_ctx *ctx = *state;
    bytes t = {0};
    char name[301], want[1000];

    memset(name, 'n', 300);
    name[300] = 0;
    tar_add(&t, 'L', "././@LongLink", name, 301);
    tar_add(&t, '0', "short", "1", 1);
    tar_add(&t, 'x', "pax", "16 path=a/b=c d\n9 size=1\n", 25);
    tar_add(&t, '0', "other", "22", 1);
    tar_add(&t, '0', "plain", "3", 1);
    char *h = t.s + t.n - 1024;
    memcpy(h + 345, "pre/fix", 7);
    memset(h + 124, 0, 12);
    h[124] = (char)0x80;
    h[135] = 1;
    tar_sum(h);
    tar_add(&t, 'K', "link", name, 301);
    tar_add(&t, '0', "z", "4", 1);
    tar_end(&t);
    snprintf(want, sizeof want, "a/b=c d=2;%s=1;pre/fix/plain=3;z=4;", name);
    holds(ctx, save("x.tar", &t), want);
}

static void test_tar_damaged(void **state)
{
    ferry_ctx *ctx = *state;
    bytes t = {0};

    tar_add(&t, '0', "a", "hello", 5);
    tar_add(&t, '0', "b", "world", 5);
    tar_end(&t);
    /* cut at every block and inside blocks: never fewer files without a word */
    for (int64_t n = 600; n < t.n - 1024; n += 100)
        refused(ctx, tmp_file("cut.tar", t.s, n), "runcated");
    refused(ctx, tmp_file("cut.tar", t.s, 2048), "no end mark after 2 files");
    holds(ctx, tmp_file("one.tar", t.s, t.n - 512), "a=hello;b=world;");
    t.s[1024 + 3] = 'x';
    refused(ctx, tmp_file("sum.tar", t.s, t.n),
            "sum.tar: damaged archive after 1 files: Damaged tar archive");
    free(t.s);
    t = (bytes){0};
    tar_add(&t, 'x', "pax", "99 path=a\n", 10);
    tar_add(&t, '0', "b", "world", 5);
    tar_end(&t);
    refused(ctx, save("pax.tar", &t), "pax.tar:");
    tar_add(&t, '0', "a", "", 0);
    memset(t.s + 124, 0xff, 12);
    tar_sum(t.s);
    tar_end(&t);
    refused(ctx, save("size.tar", &t), "size.tar:");
    refused(ctx, tmp_file("junk.tar", "this is no archive", -1),
            "expected a whole tar, zip or 7z");
}

static uint32_t sum_of(const char *s)
{
    return (uint32_t)crc32(0, (const Bytef *)s, (unsigned)strlen(s));
}

static void test_zip(void **state)
{
    ferry_ctx *ctx = *state;
    const char *text = "some text some text some text";
    bytes z = zip_of("d/a.txt", text, 29, 29, sum_of(text), 8);

    holds(ctx, tmp_file("a.zip", z.s, z.n), "d/a.txt=some text some text some text;");
    for (int64_t n = 22; n < z.n; n += 5)
        refused(ctx, tmp_file("cut.zip", z.s, n),
                "expected a whole tar, zip or 7z archive");
    add_bytes(&z, "comment", 7);
    z.s[z.n - 9] = 7; /* its length */
    holds(ctx, save("comment.zip", &z), "d/a.txt=some text some text some text;");
}

static void test_zip_damaged(void **state)
{
    ferry_ctx *ctx = *state;
    const char *text = "some text some text some text";
    const uint32_t sum = sum_of(text);
    bytes z = zip_of("a", text, 29, 29, sum + 1, 8);

    refused(ctx, save("crc.zip", &z),
            "crc.zip: damaged or truncated member a: ZIP bad CRC");
    z = zip_of("a", text, 29, 28, sum, 8);
    refused(ctx, save("size.zip", &z), "damaged or truncated member a: ZIP uncompressed");
    z = zip_of("a", text, 29, 30, sum, 8);
    refused(ctx, save("size.zip", &z), "wrong size (read 29, expected 30)");
    z = zip_of("a", text, 29, 2000000000, sum, 8);
    refused(ctx, save("lie.zip", &z), "wrong size");
    z = zip_of("a", text, 29, 29, sum, 9);
    refused(ctx, save("method.zip", &z), "Unsupported ZIP compression method (9:");
    z = zip_of("a", text, 29, 29, sum, 0);
    refused(ctx, save("stored.zip", &z), "member a:");
    z = zip_of("a", text, 29, 29, sum, 8);
    z.s[31] ^= 0x55; /* packed bytes */
    refused(ctx, save("bits.zip", &z), "bits.zip: damaged or truncated member a");
    z = zip_of("a", text, 29, 29, sum, 8);
    const int64_t dir = z.n - 22 - 47;
    const struct {
        int64_t at; /* in the directory, or from its end when negative */
        char was, is;
    } harm[] = {
        {0, 'P', 'Q'}, /* no entry there */
        {28, 1, 100},  /* name longer than the directory */
        {43, 0, 100},  /* begins after the end */
        {66, 0, 100},  /* where the directory begins */
    };
    for (size_t i = 0; i < sizeof harm / sizeof *harm; i++) {
        assert_int_equal(z.s[dir + harm[i].at], harm[i].was);
        z.s[dir + harm[i].at] = harm[i].is;
        refused(ctx, tmp_file("dir.zip", z.s, z.n), "dir.zip: ");
        z.s[dir + harm[i].at] = harm[i].was;
    }
    holds(ctx, tmp_file("dir.zip", z.s, z.n), "a=some text some text some text;");
    free(z.s);
}

/* Every compression around a tar, and 7z; cut anywhere, they are refused. */
static void test_other_archives(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const names[] = {"d/b", "a", ".hidden"};
    static const struct {
        const char *format, *filter, *name;
    } kinds[] = {
        {"ustar", "bzip2", "t.tar.bz2"}, {"ustar", "zstd", "t.tar.zst"},
        {"pax", "xz", "t.tar.xz"},       {"7zip", NULL, "t.7z"},
        {"zip", NULL, "t.zip"},          {"gnutar", "gzip", "t.tgz"},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bytes b =
            packed_with(kinds[i].format, kinds[i].filter, 3, names, "hello hello", 11);
        assert_true(ferry_i_is_archive(kinds[i].name));
        holds(ctx, tmp_file(kinds[i].name, b.s, b.n), "a=hello hello;d/b=hello hello;");
        for (int64_t n = 20; n < b.n - 1; n += 13)
            refused(ctx, tmp_file(kinds[i].name, b.s, n), kinds[i].name);
        free(b.s);
    }
}

/* What our writer makes, our reader takes; also with zip64 records. */
static void test_zip_written(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_out *o = NULL;

    assert_ok(ctx, ferry_i_out_open(ctx, tmp_path("w.zip"), &o));
    ferry_zip_out z = {.out = o};
    ferry_i_zip_add(&z, "b.npy", "head", 4, "body", 4);
    ferry_i_zip_add(&z, "a", NULL, 0, "x", 1);
    ferry_i_zip_add(&z, "empty", NULL, 0, NULL, 0);
    assert_ok(ctx, ferry_i_zip_end(ctx, &z));
    assert_ok(ctx, ferry_i_out_commit(ctx, o));
    holds(ctx, tmp_path("w.zip"), "a=x;b.npy=headbody;empty=;");
}

/* 70000 members need the zip64 end record. */
static void test_zip64_many(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_out *o = NULL;
    ferry_input in;
    ferry_archive a;
    char name[16];

    assert_ok(ctx, ferry_i_out_open(ctx, tmp_path("many.zip"), &o));
    ferry_zip_out z = {.out = o};
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof name, "%d", i);
        ferry_i_zip_add(&z, name, NULL, 0, name, (int64_t)strlen(name));
    }
    assert_ok(ctx, ferry_i_zip_end(ctx, &z));
    assert_ok(ctx, ferry_i_out_commit(ctx, o));
    assert_ok(ctx, ferry_i_tree_list(ctx, tmp_path("many.zip"), (ferry_bring){.all = true},
                                     &in, &a));
    assert_int_equal(a.n, 70000);
    const ferry_member *m = ferry_i_archive_find(&a, "54321");
    assert_non_null(m);
    assert_memory_equal(m->bytes, "54321", 5);
    assert_null(m->owned); /* stored as it is: not copied */
    ferry_i_archive_free(&a);
    ferry_i_input_close(&in);
    /* the record is not where the locator says */
    char *s = slurp(tmp_path("many.zip"));
    struct stat info;
    assert_int_equal(stat(tmp_path("many.zip"), &info), 0);
    s[info.st_size - 22 - 12] ^= 1;
    tmp_file("many.zip", s, info.st_size);
    refused(ctx, tmp_path("many.zip"), "many.zip: ");
    free(s);
}

/* A member's numbers in the zip64 extra field, as NumPy writes them. */
static void test_zip64_sizes(void **state)
{
    ferry_ctx *ctx = *state;
    bytes z = zip_of("a", "xyz", 3, 3, sum_of("xyz"), 8), b = {0};
    const int64_t dir = z.n - 22 - 47, packed = (unsigned char)z.s[dir + 20];

    memset(z.s + dir + 20, 0xff, 8); /* both sizes */
    z.s[dir + 30] = 28;              /* length of the extra fields */
    add_bytes(&b, z.s, z.n - 22);
    put_le(&b, 99, 2); /* a field to step over */
    put_le(&b, 4, 2);
    put_le(&b, 0, 4);
    put_le(&b, 1, 2);
    put_le(&b, 16, 2);
    put_le(&b, 3, 8);
    put_le(&b, (uint64_t)packed, 8);
    add_bytes(&b, z.s + z.n - 22, 22);
    b.s[b.n - 10] = (char)(b.s[b.n - 10] + 28); /* size of the directory */
    holds(ctx, tmp_file("big.zip", b.s, b.n), "a=xyz;");
    b.s[dir + 47 + 8 + 2] = 12; /* too short for both */
    refused(ctx, tmp_file("big.zip", b.s, b.n), "Malformed 64-bit compressed size");
    b.s[dir + 47 + 2] = 100; /* longer than the field */
    refused(ctx, tmp_file("big.zip", b.s, b.n), "big.zip: ");
    free(z.s), free(b.s);
}

static void test_folder(void **state)
{
    ferry_ctx *ctx = *state;
    bytes g = gzip_of("zipped", 6);

    mkdir(tmp_path("tree"), 0777);
    mkdir(tmp_path("tree/sub"), 0777);
    holds(ctx, tmp_path("tree"), "");
    tmp_file("tree/b", "B", 1);
    tmp_file("tree/sub/a", "A", 1);
    tmp_file("tree/.hidden", "x", 1);
    tmp_file("tree/c.gz", g.s, g.n);
    assert_int_equal(symlink("..", tmp_path("tree/sub/up")), 0);
    assert_int_equal(symlink("nowhere", tmp_path("tree/gone")), 0);
    assert_int_equal(symlink("b", tmp_path("tree/d")), 0);
    holds(ctx, tmp_path("tree"), "b=B;c.gz=zipped;d=B;sub/a=A;");
    tmp_file("tree/c.gz", g.s, g.n - 2);
    refused(ctx, tmp_path("tree"), "tree/c.gz: truncated");
    refused(ctx, tmp_path("none"), "no such file");
    free(g.s);
}

static ferry_status stop_it(ferry_ctx *ctx, void *arg, const char *name, const char *s,
                            int64_t n)
{
    (void)arg, (void)s, (void)n;
    return ferry_i_fail(ctx, FERRY_EDATA, "%s: enough", name);
}

static void test_callback_stops(void **state)
{
    ferry_ctx *ctx = *state;
    bytes z = zip_of("only", "xyz", 3, 3, sum_of("xyz"), 8);

    assert_fails(ctx, ferry_i_each_member(ctx, save("s.zip", &z), stop_it, NULL),
                 FERRY_EDATA, "only: enough");
}

static ferry_status walk_it(ferry_ctx *ctx, void *arg)
{
    ferry_text t = {0};
    const ferry_status st = ferry_i_each_member(ctx, arg, gather, &t);

    ferry_i_text_free(&t);
    return st;
}

static void test_no_memory(void **state)
{
    bytes t = {0}, z = zip_of("a", "xyz", 3, 3, sum_of("xyz"), 8);

    tar_add(&t, '0', "a", "A", 1);
    tar_add(&t, '0', "b", "B", 1);
    tar_end(&t);
    each_allocation_fails(*state, walk_it, (void *)(uintptr_t)save("m.tar", &t));
    each_allocation_fails(*state, walk_it, (void *)(uintptr_t)save("m.zip", &z));
    mkdir(tmp_path("mem"), 0777);
    mkdir(tmp_path("mem/d"), 0777);
    tmp_file("mem/d/x", "X", 1);
    tmp_file("mem/y", "Y", 1);
    each_allocation_fails(*state, walk_it, (void *)(uintptr_t)tmp_path("mem"));
}

static ferry_status write_zip(ferry_ctx *ctx, void *arg)
{
    ferry_out *o = NULL;
    ferry_status st = ferry_i_out_open(ctx, arg, &o);

    if (st != FERRY_OK) return st;
    ferry_zip_out z = {.out = o};
    ferry_i_zip_add(&z, "a", NULL, 0, "x", 1);
    st = ferry_i_zip_end(ctx, &z);
    if (st != FERRY_OK) {
        ferry_i_out_abort(o);
        return st;
    }
    return ferry_i_out_commit(ctx, o);
}

static void test_zip_written_without_memory(void **state)
{
    each_allocation_fails(*state, write_zip, (void *)(uintptr_t)tmp_path("n.zip"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_names_of_archives),
        T(test_tar),
        T(test_tar_extensions),
        T(test_tar_damaged),
        T(test_zip),
        T(test_zip_damaged),
        T(test_other_archives),
        T(test_zip_written),
        T(test_zip64_many),
        T(test_zip64_sizes),
        T(test_folder),
        T(test_callback_stops),
        T(test_no_memory),
        T(test_zip_written_without_memory),
    };
    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
