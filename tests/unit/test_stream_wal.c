/* The log of a stream: what was written is read back, and damage is never taken for it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "ferry_test.h"
#include "stream/wal_bytes.h"

enum { RECORDS = 9 };
static const ferry_hash model = {0x0123456789abcdef, 0xfedcba9876543210};
static const ferry_wal_base base40 = {.model = {0x0123456789abcdef, 0xfedcba9876543210},
                                      .after = 40};
static const ferry_wal_base base1 = {.model = {0x0123456789abcdef, 0xfedcba9876543210},
                                     .after = 1};

/* Record number i of the tests' log: of every kind, with ids and labels of many lengths. */
static ferry_record record_at(int64_t i)
{
    static const double value[] = {0.5, -1, 1e-300, 3};
    static const int32_t index[] = {0, 2, 5, 7};
    static const ferry_record all[RECORDS] = {
        {.kind = FERRY_RECORD_SESSION, .id = "", .y = "host 1", .y_n = 6, .n = 77},
        {.kind = FERRY_RECORD_BOTH,
         .id = "a",
         .id_n = 1,
         .y = "cat",
         .y_n = 3,
         .n = 4,
         .value = value},
        {.kind = FERRY_RECORD_OBSERVE,
         .id = "late one",
         .id_n = 8,
         .y = "",
         .n = 3,
         .sparse = true,
         .value = value,
         .index = index},
        {.kind = FERRY_RECORD_OBSERVE, .id = "", .y = "", .n = 4, .value = value},
        {.kind = FERRY_RECORD_LABEL, .id = "late one", .id_n = 8, .y = "a dog", .y_n = 5},
        {.kind = FERRY_RECORD_BOTH,
         .id = "empty",
         .id_n = 5,
         .y = "x",
         .y_n = 1,
         .sparse = true,
         .value = value,
         .index = index},
        {.kind = FERRY_RECORD_BOTH,
         .id = "b",
         .id_n = 1,
         .y = "cat",
         .y_n = 3,
         .n = 4,
         .value = value},
        {.kind = FERRY_RECORD_SESSION, .id = "", .y = "host 2", .y_n = 6, .n = 5},
        {.kind = FERRY_RECORD_OBSERVE,
         .id = "last",
         .id_n = 4,
         .y = "",
         .n = 4,
         .sparse = true,
         .value = value,
         .index = index},
    };
    ferry_record r = all[i];

    r.seq = 40;
    for (int64_t j = 0; j <= i; j++)
        r.seq += all[j].kind != FERRY_RECORD_SESSION;
    return r;
}

static void assert_same_record(const ferry_record *a, const ferry_record *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->seq, b->seq);
    assert_int_equal(a->id_n, b->id_n);
    assert_int_equal(a->y_n, b->y_n);
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->sparse, b->sparse);
    assert_memory_equal(a->id, b->id, (size_t)a->id_n);
    assert_memory_equal(a->y, b->y, (size_t)a->y_n);
    assert_int_equal(!a->value, !b->value);
    if (a->value) assert_memory_equal(a->value, b->value, (size_t)a->n * 8);
    if (a->sparse) assert_memory_equal(a->index, b->index, (size_t)a->n * 4);
}

/* A fresh folder of the tests. */
static const char *fresh_folder(const char *name)
{
    const char *path = tmp_path(name);

    (void)unlink(tmp_path("f/log"));
    (void)mkdir(path, 0777);
    return path;
}

/* A log of all records, of which `batch` go into a flush. Its bytes, for free(); at[i] is
 * where record i begins, at[RECORDS] the end. */
static uint8_t *make_log(ferry_ctx *ctx, int64_t batch, int64_t at[RECORDS + 1])
{
    const char *folder = fresh_folder("f");
    ferry_wal *log = NULL;

    assert_ok(ctx, ferry_i_wal_create(ctx, folder, &base40, NULL, NULL, &log));
    for (int64_t i = 0; i < RECORDS; i++) {
        const ferry_record r = record_at(i);
        at[i] = log->size + log->used;
        assert_ok(ctx, ferry_i_wal_add(ctx, log, &r));
        if (i % batch == batch - 1 || i == RECORDS - 1)
            assert_ok(ctx, ferry_i_wal_flush(ctx, log, i % 2));
    }
    at[RECORDS] = log->size;
    assert_int_equal(log->records, RECORDS);
    ferry_i_wal_free(log);
    return (uint8_t *)slurp(tmp_path("f/log"));
}

static ferry_head *the_head; /* what read_back() knows of what must be there */

/* Read n bytes as a log: how many of the tests' records come back before the end, each as
 * it was written; -1: refused as damaged. */
static int64_t read_back(ferry_ctx *ctx, const uint8_t *bytes, int64_t n, int64_t *dropped)
{
    ferry_wal_scan scan;
    ferry_record r = {0};
    bool end = false;
    /* A copy of just these bytes, so that reading past them is seen. */
    uint8_t *copy = malloc((size_t)n + 1);
    int64_t i = 0;
    ferry_status st;

    memcpy(copy, bytes, (size_t)n);
    st = ferry_i_wal_scan(ctx, "log", copy, n, &scan);
    scan.head = the_head;
    for (; st == FERRY_OK; i++) {
        st = ferry_i_wal_next(ctx, &scan, &r, &end);
        if (st != FERRY_OK || end) break;
        const ferry_record was = record_at(i);
        assert_same_record(&r, &was);
    }
    *dropped = scan.dropped;
    free(copy);
    if (st == FERRY_OK) return i;
    assert_int_equal(st, FERRY_EDATA);
    assert_non_null(strstr(ferry_message(ctx), "log: "));
    return -1;
}

static void test_round_trip(void **state)
{
    ferry_ctx *ctx = *state;

    for (int64_t batch = 1; batch <= RECORDS; batch++) {
        int64_t at[RECORDS + 1], dropped = 0;
        uint8_t *bytes = make_log(ctx, batch, at);
        ferry_wal_scan scan;
        assert_ok(ctx, ferry_i_wal_scan(ctx, "log", bytes, at[RECORDS], &scan));
        assert_int_equal(scan.base.after, 40);
        assert_memory_equal(&scan.base.model, &model, sizeof model);
        assert_int_equal(read_back(ctx, bytes, at[RECORDS], &dropped), RECORDS);
        assert_int_equal(dropped, 0);
        free(bytes);
    }
}

/* Cut anywhere: what was complete comes back, the rest is dropped; without its header it is
 * no log. */
static void test_truncated_at_every_byte(void **state)
{
    ferry_ctx *ctx = *state;

    for (int64_t batch = 1; batch <= RECORDS; batch += 4) {
        int64_t at[RECORDS + 1], dropped = 0, whole = 0;
        uint8_t *bytes = make_log(ctx, batch, at);
        for (int64_t n = 0; n < at[0]; n++)
            assert_int_equal(read_back(ctx, bytes, n, &dropped), -1);
        for (int64_t n = at[0]; n <= at[RECORDS]; n++) {
            while (whole < RECORDS && at[whole + 1] <= n)
                whole++;
            assert_int_equal(read_back(ctx, bytes, n, &dropped), whole);
            assert_int_equal(dropped, n - at[whole]);
        }
        free(bytes);
    }
}

/* A flipped bit. Without a head to ask, damage before another record is refused and only
 * the last one counts as torn; with one, all that it says was kept must be there, and what
 * comes after it is torn. Never is a record read that was not written. */
static void test_flipped_bits(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at[RECORDS + 1], dropped = 0;
    uint8_t *bytes = make_log(ctx, 3, at);
    ferry_head heads[3] = {{.fd = -1}, {.kept = 43, .said = 43}, {.kept = 43, .said = 45}};
    const int64_t kept = 4; /* records: 41, 42 and 43 are those from 1 to 3 */

    for (int h = 0; h < 3; h++) {
        int64_t hit = -1;
        the_head = h == 0 ? NULL : &heads[h];
        for (int64_t bit = 0; bit < 8 * at[RECORDS]; bit++) {
            if (hit + 1 < RECORDS && at[hit + 1] <= bit / 8) hit++;
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            const int64_t got = read_back(ctx, bytes, at[RECORDS], &dropped);
            const bool torn = h == 1 ? hit >= kept : hit == RECORDS - 1;
            assert_int_equal(got, torn ? hit : -1);
            if (hit >= 0 && !torn)
                assert_non_null(strstr(ferry_message(ctx), "ferry stream --repair"));
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
    the_head = NULL;
    free(bytes);
}

/* Salvaging passes over what is damaged and takes all else. */
static void test_salvage(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at[RECORDS + 1], hit = 0;
    uint8_t *bytes = make_log(ctx, 3, at);

    for (int64_t bit = 8 * at[0]; bit < 8 * at[RECORDS]; bit += 5) {
        ferry_wal_scan scan;
        ferry_record r = {0};
        bool end = false;
        while (at[hit + 1] <= bit / 8)
            hit++;
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_ok(ctx, ferry_i_wal_scan(ctx, "log", bytes, at[RECORDS], &scan));
        scan.salvage = true;
        for (int64_t i = 0; i < RECORDS; i++) {
            if (i == hit) continue;
            const ferry_record was = record_at(i);
            assert_ok(ctx, ferry_i_wal_next(ctx, &scan, &r, &end));
            assert_false(end);
            assert_same_record(&r, &was);
        }
        assert_ok(ctx, ferry_i_wal_next(ctx, &scan, &r, &end));
        assert_true(end && (scan.holes > 0) == (hit < RECORDS - 1));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(bytes);
}

/* What is whole but was exchanged, taken out or put in is seen by the chain. */
static void test_chain(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at[RECORDS + 1], dropped = 0;
    uint8_t *bytes = make_log(ctx, 3, at), *cut = malloc((size_t)at[RECORDS]);
    ferry_head head = {.kept = 44, .said = 44, .chain = 12345};

    /* Without the session between records 46 and 47 the numbers still follow. */
    const int64_t gap = at[8] - at[7];
    memcpy(cut, bytes, (size_t)at[7]);
    memcpy(cut + at[7], bytes + at[8], (size_t)(at[9] - at[8]));
    assert_int_equal(read_back(ctx, cut, at[RECORDS] - gap, &dropped), -1);
    assert_non_null(strstr(ferry_message(ctx), "was not written after the one before"));
    /* The acknowledged record 44 had another checksum. */
    the_head = &head;
    assert_int_equal(read_back(ctx, bytes, at[RECORDS], &dropped), -1);
    assert_non_null(strstr(ferry_message(ctx), "is not the one that was acknowledged"));
    memcpy(&head.chain, bytes + at[4], 8);
    assert_int_equal(read_back(ctx, bytes, at[RECORDS], &dropped), RECORDS);
    the_head = NULL;
    free(cut);
    free(bytes);
}

/* Zeros or noise where the last batch should be, as a power cut may leave it. */
static void test_tail_of_garbage(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at[RECORDS + 1], dropped = 0;
    uint8_t *bytes = make_log(ctx, 3, at);

    memset(bytes + at[6], 0, (size_t)(at[RECORDS] - at[6]));
    assert_int_equal(read_back(ctx, bytes, at[RECORDS], &dropped), 6);
    assert_int_equal(dropped, at[RECORDS] - at[6]);
    for (int64_t i = at[6]; i < at[RECORDS]; i++)
        bytes[i] = (uint8_t)(i * 37 + (i >> 3) * 11);
    assert_int_equal(read_back(ctx, bytes, at[RECORDS], &dropped), 6);
    free(bytes);
    /* The same in the middle: later records show that it was durable once. */
    bytes = make_log(ctx, 3, at);
    memset(bytes + at[3], 0, (size_t)(at[4] - at[3]));
    assert_int_equal(read_back(ctx, bytes, at[RECORDS], &dropped), -1);
    assert_non_null(strstr(ferry_message(ctx),
                           "where record 43 should be: it is followed by record 44"));
    free(bytes);
}

static void test_headers(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at[RECORDS + 1];
    uint8_t *bytes = make_log(ctx, 3, at);
    ferry_wal_scan scan;
    wal_header h;

    memcpy(&h, bytes, sizeof h);
    assert_fails(ctx, ferry_i_wal_scan(ctx, "x", (const uint8_t *)"", 0, &scan),
                 FERRY_EDATA, "x: is not a log of ferry stream");
    h.version = 4;
    h.check = XXH3_64bits(&h, offsetof(wal_header, check));
    memcpy(bytes, &h, sizeof h);
    assert_fails(ctx, ferry_i_wal_scan(ctx, "x", bytes, at[RECORDS], &scan), FERRY_ENEEDS,
                 "newer format 4");
    h.version = 1;
    memcpy(bytes, &h, sizeof h);
    assert_fails(ctx, ferry_i_wal_scan(ctx, "x", bytes, at[RECORDS], &scan), FERRY_EDATA,
                 "header does not match");
    free(bytes);
}

/* Records of another log are not taken, though each is whole. */
static void test_records_of_another_log(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at[RECORDS + 1], dropped = 0;
    uint8_t *bytes = make_log(ctx, 3, at);
    const ferry_wal_base other = {.model = {1, 2}, .after = 40};
    uint8_t h[WAL_HEADER_MOST];

    const int64_t n = ferry_i_wal_header(h, &other);
    memcpy(bytes, h, (size_t)n);
    assert_int_equal(read_back(ctx, bytes, at[RECORDS], &dropped), 0);
    assert_int_equal(dropped, at[RECORDS] - at[0]);
    free(bytes);
}

static ferry_wal *open_log(ferry_ctx *ctx)
{
    ferry_wal *log = NULL;

    assert_ok(ctx, ferry_i_wal_create(ctx, fresh_folder("f"), &base40, NULL, NULL, &log));
    return log;
}

static void test_numbers_must_follow(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_wal *log = open_log(ctx);
    ferry_wal_scan scan;
    ferry_record r = record_at(1);
    bool end = false;

    assert_ok(ctx, ferry_i_wal_add(ctx, log, &r));
    r.seq += 2;
    assert_ok(ctx, ferry_i_wal_add(ctx, log, &r));
    assert_ok(ctx, ferry_i_wal_flush(ctx, log, true));
    uint8_t *bytes = (uint8_t *)slurp(log->path);
    assert_ok(ctx, ferry_i_wal_scan(ctx, "log", bytes, log->size, &scan));
    assert_ok(ctx, ferry_i_wal_next(ctx, &scan, &r, &end));
    assert_fails(ctx, ferry_i_wal_next(ctx, &scan, &r, &end), FERRY_EDATA,
                 "where record 42 should be: what stands there is record 43");
    free(bytes);
    ferry_i_wal_free(log);
}

/* Whole records that cannot be: the checksum is right, the content is not. */
static void test_records_that_make_no_sense(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_record was = record_at(1);
    const uint32_t big = 1000000, form = 3;
    const struct {
        int64_t at; /* byte of the payload */
        uint32_t value;
    } changes[] = {{0, big}, {4, big}, {8, form}, {8, 0}, {8, 2}, {16, big}, {20, big}};

    for (int64_t i = 0; i < FERRY_COUNT(changes); i++) {
        ferry_wal *log = open_log(ctx);
        ferry_wal_scan scan;
        ferry_record r;
        bool end = false;
        assert_ok(ctx, ferry_i_wal_add(ctx, log, &was));
        memcpy(log->buffer + sizeof(wal_head) + changes[i].at, &changes[i].value, 4);
        const uint64_t check = ferry_i_wal_check(log->buffer, log->used, log->nonce);
        memcpy(log->buffer, &check, 8);
        assert_ok(ctx, ferry_i_wal_flush(ctx, log, true));
        uint8_t *bytes = (uint8_t *)slurp(log->path);
        assert_ok(ctx, ferry_i_wal_scan(ctx, "log", bytes, log->size, &scan));
        assert_fails(
            ctx, ferry_i_wal_next(ctx, &scan, &r, &end), FERRY_EDATA,
            "at byte 56, where record 41 should be: it makes no sense as record 41");
        free(bytes);
        ferry_i_wal_free(log);
    }
}

/* ---- writing that fails ---- */

static int64_t may_write = INT64_MAX; /* bytes until the disk is full */
static int sync_fails, syncs, interrupts;

static ssize_t little_disk(int fd, const void *bytes, size_t n)
{
    if (interrupts > 0) {
        interrupts--;
        errno = EINTR;
        return -1;
    }
    if (n > 7) n = 7; /* short writes are no errors */
    if ((int64_t)n > may_write) n = (size_t)may_write;
    if (n == 0) {
        errno = ENOSPC;
        return -1;
    }
    may_write -= (int64_t)n;
    return write(fd, bytes, n);
}

static ssize_t writes_nothing(int fd, const void *bytes, size_t n)
{
    (void)fd;
    (void)bytes;
    (void)n;
    return 0;
}

static int bad_sync(int fd)
{
    (void)fd;
    syncs++;
    if (sync_fails == 0 || --sync_fails > 0) return 0;
    errno = EIO;
    return -1;
}

static void usual_calls(void)
{
    may_write = INT64_MAX;
    sync_fails = syncs = interrupts = 0;
}

/* The disk is full at any byte of a second batch: the first is there, nothing else. */
static void test_full_disk(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_wal_calls before = ferry_i_wal_calls;
    const ferry_record first = record_at(1), second = record_at(2);
    int64_t batch = 1, dropped = 0;

    for (int64_t room = 0; room <= batch; room++) {
        ferry_wal *log = open_log(ctx);
        assert_ok(ctx, ferry_i_wal_add(ctx, log, &first));
        assert_ok(ctx, ferry_i_wal_flush(ctx, log, true));
        const int64_t size = log->size;
        assert_ok(ctx, ferry_i_wal_add(ctx, log, &second));
        batch = log->used;
        ferry_i_wal_calls = (ferry_wal_calls){little_disk, bad_sync};
        may_write = room;
        interrupts = (int)(room % 3);
        const ferry_status st = ferry_i_wal_flush(ctx, log, true);
        ferry_i_wal_calls = before;
        usual_calls();
        struct stat info;
        assert_int_equal(stat(log->path, &info), 0);
        if (room < batch) {
            assert_fails(ctx, st, FERRY_EIO, "cannot write: No space left on device");
            assert_int_equal(info.st_size, size);
        } else {
            assert_ok(ctx, st);
            assert_int_equal(info.st_size, size + batch);
        }
        uint8_t *bytes = (uint8_t *)slurp(log->path);
        ferry_wal_scan scan;
        ferry_record r;
        bool end = false;
        assert_ok(ctx, ferry_i_wal_scan(ctx, "log", bytes, info.st_size, &scan));
        assert_ok(ctx, ferry_i_wal_next(ctx, &scan, &r, &end));
        assert_same_record(&r, &first);
        assert_ok(ctx, ferry_i_wal_next(ctx, &scan, &r, &end));
        assert_int_equal(end, room < batch);
        assert_int_equal(scan.dropped, dropped);
        free(bytes);
        ferry_i_wal_free(log);
    }
}

static void test_failing_sync(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_wal_calls before = ferry_i_wal_calls;
    const ferry_record r = record_at(1);
    ferry_wal *log = open_log(ctx), *other = NULL;

    assert_ok(ctx, ferry_i_wal_add(ctx, log, &r));
    ferry_i_wal_calls.sync = bad_sync;
    assert_ok(ctx, ferry_i_wal_flush(ctx, log, false));
    assert_int_equal(syncs, 0); /* not asked for */
    assert_ok(ctx, ferry_i_wal_add(ctx, log, &r));
    sync_fails = 1;
    assert_fails(ctx, ferry_i_wal_flush(ctx, log, true), FERRY_EIO,
                 "f/log: cannot sync: Input/output error");
    /* A new log: its own sync fails, and then that of its folder, when it is in place. */
    sync_fails = 1;
    assert_fails(ctx, ferry_i_wal_create(ctx, tmp_path("f"), &base1, NULL, NULL, &other),
                 FERRY_EIO, "log.new: cannot sync");
    assert_null(other);
    assert_int_equal(access(tmp_path("f/log.new"), F_OK), -1);
    sync_fails = 2;
    assert_fails(ctx, ferry_i_wal_create(ctx, tmp_path("f"), &base1, NULL, NULL, &other),
                 FERRY_EIO, "f: cannot sync");
    assert_non_null(other);
    ferry_i_wal_free(other);
    ferry_i_wal_calls = (ferry_wal_calls){writes_nothing, before.sync};
    assert_fails(ctx, ferry_i_wal_create(ctx, tmp_path("f"), &base1, NULL, NULL, &other),
                 FERRY_EIO, "cannot write");
    ferry_i_wal_calls = before;
    usual_calls();
    assert_fails(ctx,
                 ferry_i_wal_create(ctx, tmp_path("nowhere"), &base1, NULL, NULL, &other),
                 FERRY_EIO, "cannot write");
    assert_fails(ctx, ferry_i_sync_folder(ctx, tmp_path("nowhere")), FERRY_EIO,
                 "nowhere: cannot open");
    ferry_i_wal_free(log);
}

/* Go on after a torn record: it is cut off, and what comes next is read back. */
static void test_resume(void **state)
{
    ferry_ctx *ctx = *state;
    int64_t at[RECORDS + 1], dropped = 0;
    uint8_t *bytes = make_log(ctx, 3, at);
    ferry_wal *log = NULL;
    ferry_wal_scan scan;
    ferry_record r = {0};

    for (int64_t cut = at[RECORDS - 1] + 1; cut < at[RECORDS]; cut += 13) {
        (void)tmp_file("f/log", (const char *)bytes, cut);
        assert_ok(ctx, ferry_i_wal_scan(ctx, "log", bytes, cut, &scan));
        for (bool end = false; !end;)
            assert_ok(ctx, ferry_i_wal_next(ctx, &scan, &r, &end));
        assert_ok(ctx, ferry_i_wal_resume(ctx, tmp_path("f"), &scan, RECORDS - 1, &log));
        r = record_at(RECORDS - 1);
        assert_ok(ctx, ferry_i_wal_add(ctx, log, &r));
        assert_ok(ctx, ferry_i_wal_flush(ctx, log, true));
        assert_int_equal(log->size, at[RECORDS]);
        assert_int_equal(log->records, RECORDS);
        ferry_i_wal_free(log);
        uint8_t *again = (uint8_t *)slurp(tmp_path("f/log"));
        assert_int_equal(read_back(ctx, again, at[RECORDS], &dropped), RECORDS);
        free(again);
    }
    (void)unlink(tmp_path("f/log"));
    assert_fails(ctx, ferry_i_wal_resume(ctx, tmp_path("f"), &scan, 0, &log), FERRY_EIO,
                 "f/log: cannot write");
    free(bytes);
}

static ferry_status whole_life(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_wal *log = NULL;

    (void)arg;
    FERRY_TRY(ferry_i_wal_create(ctx, tmp_path("f"), &base40, NULL, NULL, &log));
    for (int64_t i = 0; i < RECORDS; i++) {
        const ferry_record r = record_at(i);
        FERRY_TRY(ferry_i_wal_add(ctx, log, &r));
    }
    FERRY_TRY(ferry_i_wal_flush(ctx, log, false));
done:
    ferry_i_wal_free(log);
    return st;
}

static void test_no_memory(void **state)
{
    (void)fresh_folder("f");
    each_allocation_fails(*state, whole_life, NULL);
}

/* No file may grow beyond n bytes; 0: any may. */
static void room(rlim_t n)
{
    static struct rlimit before;
    static void (*was)(int);

    if (n > 0) {
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        was = signal(SIGXFSZ, SIG_IGN);
        const struct rlimit little = {n, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    } else {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        (void)signal(SIGXFSZ, was);
    }
}

/* A write of the head that ends in the middle, and another: the slot before them is still whole, and what could not be said
 * is said as soon as there is room. */
static void test_torn_head(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_record r = record_at(1);
    ferry_head head = {.fd = -1}, found;
    ferry_wal *log = open_log(ctx);

    assert_ok(ctx, ferry_i_head_create(ctx, tmp_path("f"), &head));
    log->head = &head;
    assert_ok(ctx, ferry_i_wal_add(ctx, log, &r));
    assert_ok(ctx, ferry_i_wal_flush(ctx, log, false)); /* said, and not kept */
    assert_ok(ctx, ferry_i_head_open(ctx, tmp_path("f"), &found));
    assert_int_equal(found.said, log->last);
    assert_int_equal(found.kept, 0);
    ferry_i_head_close(&found);
    for (int k = 0; k < 3; k++) {
        room(found.count % 2 ? 20 : 532); /* 20 bytes of the slot that is next */
        const ferry_status st = ferry_i_wal_flush(ctx, log, true);
        room(0);
        assert_fails(ctx, st, FERRY_EIO, "File too large");
        assert_ok(ctx, ferry_i_head_open(ctx, tmp_path("f"), &found));
        assert_int_equal(found.said, log->last);
        assert_int_equal(found.kept, 0);
        ferry_i_head_close(&found);
        room(20); /* the other one, if it were its turn */
        (void)ferry_i_wal_flush(ctx, log, true);
        room(0);
    }
    assert_ok(ctx, ferry_i_wal_flush(ctx, log, true));
    assert_ok(ctx, ferry_i_head_open(ctx, tmp_path("f"), &found));
    assert_int_equal(found.kept, log->last);
    ferry_i_head_close(&found);
    ferry_i_head_close(&head);
    ferry_i_wal_free(log);
}

/* ---- what waits ---- */

static void test_queue(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_queue q = {0};
    char id[16];
    const double value[] = {1, 2};
    const int32_t index[] = {3, 4}, votes[] = {7};
    const ferry_row x = {2, index, value};

    for (int i = 0; i < 1000; i++) {
        const int n = snprintf(id, sizeof id, "id%d", i);
        assert_null(ferry_i_queue_find(&q, id, n));
        assert_ok(ctx, ferry_i_queue_add(ctx, &q, id, n, &x, votes, 1));
    }
    for (int i = 0; i < 1000; i += 2) {
        const int n = snprintf(id, sizeof id, "id%d", i);
        ferry_waiting *w = ferry_i_queue_find(&q, id, n);
        assert_string_equal(w->id, id);
        assert_int_equal(w->vote[0], 7);
        assert_int_equal(w->index[1], 4);
        ferry_i_queue_remove(&q, w);
        assert_null(ferry_i_queue_find(&q, id, n));
    }
    assert_int_equal(q.n, 500);
    assert_string_equal(q.oldest->id, "id1");
    assert_string_equal(q.newest->id, "id999");
    assert_null(ferry_i_queue_find(&q, "id10", 4)); /* "id1" waits, these do not */
    assert_null(ferry_i_queue_find(&q, "id1", 2));
    ferry_i_queue_clear(&q);
    assert_int_equal(q.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_truncated_at_every_byte, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_flipped_bits, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_salvage, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_chain, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_tail_of_garbage, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_headers, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_records_of_another_log, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_numbers_must_follow, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_records_that_make_no_sense, ctx_setup,
                                        ctx_teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_failing_sync, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_torn_head, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_resume, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_queue, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("stream_log", tests, NULL, NULL);
}
