/* Fuzz the log reader of streams, and what replaying does with the records it lets through.
 * Once as it stands, and once with all checksums made right, or hardly anything would get
 * past them. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fuzz.h"
#include "stream/wal_bytes.h"

/* A model of 4 features and 2 classes, as the dict it would be saved as. */
static const ferry_dict *small_model(ferry_ctx *ctx)
{
    static const double x[] = {1, 0, 0, 1, 0, 1, 1, 0, 2, 0, 1, 1, 0, 3, 1, 0};
    static const char *const classes[] = {"a", "b", "a", "b"};
    static ferry_dict *dict;
    const ferry_array rows = {4, 4, 4, x};
    ferry_domain *d = NULL;
    ferry_task *task = NULL;
    ferry_model *m = NULL;

    if (dict) return dict;
    if (ferry_domain_new(ctx, "t", FERRY_TARGET, &d) ||
        ferry_domain_add_dense(ctx, d, "x", &rows, NULL, NULL, NULL) ||
        ferry_domain_set_classes(ctx, d, 4, NULL, classes) ||
        ferry_task_new(ctx, "t", FERRY_CLASSIFY, &task) ||
        ferry_task_add_domain(ctx, task, d) ||
        ferry_fit(ctx, task, "mpa", NULL, &m, NULL) || ferry_i_dict_new(ctx, &dict) ||
        ferry_i_model_pack(ctx, m, dict))
        abort();
    ferry_model_free(m);
    ferry_task_free(task);
    return dict;
}

/* Right checksums for the header and for whatever stands where a record would. */
static void fix_checksums(uint8_t *bytes, int64_t n)
{
    wal_header h;
    wal_head r;

    if (n < (int64_t)sizeof h) return;
    memcpy(&h, bytes, sizeof h);
    h.check = XXH3_64bits(&h, offsetof(wal_header, check));
    memcpy(bytes, &h, sizeof h);
    uint64_t chain = h.nonce;
    int64_t at = sizeof h;
    if (h.version == 3 && n >= WAL_HEADER_MOST) {
        wal_shared s;
        memcpy(&s, bytes + at, sizeof s);
        s.check = XXH3_64bits_withSeed(&s, offsetof(wal_shared, check), h.nonce);
        memcpy(bytes + at, &s, sizeof s);
        at = WAL_HEADER_MOST;
    }
    for (; n - at >= (int64_t)sizeof r;) {
        memcpy(&r, bytes + at, sizeof r);
        const int64_t all = (int64_t)sizeof r + r.size;
        if (all > n - at) return;
        if (h.version >= 2) memcpy(bytes + at + offsetof(wal_head, before), &chain, 8);
        chain = r.check = ferry_i_wal_check(bytes + at, all, h.nonce);
        memcpy(bytes + at, &r.check, sizeof r.check);
        at += all;
    }
}

static void replay(ferry_ctx *ctx, const uint8_t *bytes, int64_t n)
{
    ferry_wal_scan scan;
    ferry_record r;
    ferry_worker w = {0};
    ferry_model *m = NULL;
    ferry_dict *dict = NULL;
    bool end = false;
    char why[256];

    if (ferry_i_wal_scan(ctx, "log", bytes, n, &scan) != FERRY_OK) return;
    fuzz_check(ctx, ferry_i_model_unpack(ctx, "m", small_model(ctx), NULL, &m));
    if (ferry_i_worker_open(ctx, "m", m, scan.base.model, &w) != FERRY_OK) abort();
    w.seq = scan.base.after;
    scan.salvage = n % 2; /* a repair meets more of what a stranger wrote */
    while (ferry_i_wal_next(ctx, &scan, &r, &end) == FERRY_OK && !end) {
        ferry_outcome o;
        if (r.kind != FERRY_RECORD_SESSION && !ferry_i_worker_fits(&w, &r, why, sizeof why))
            continue;
        if (ferry_i_worker_apply(ctx, &w, &r, &o) != FERRY_OK) abort();
        ferry_i_outcome_free(&o);
        if ((r.kind != FERRY_RECORD_SESSION && w.seq != r.seq) || w.queue.n > w.most)
            abort();
    }
    if (scan.at < (int64_t)sizeof(wal_header) || scan.at + scan.dropped > scan.n) abort();
    /* What came of it can be saved and loaded. */
    if (ferry_i_dict_new(ctx, &dict) || ferry_i_snapshot_pack(ctx, &w, dict)) abort();
    ferry_i_worker_close(&w);
    if (ferry_i_snapshot_unpack(ctx, "s", dict, &w) != FERRY_OK) abort();
    ferry_i_dict_free(dict);
    ferry_i_worker_close(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    ferry_ctx *ctx = fuzz_ctx();
    uint8_t *copy = malloc(n + 1);

    if (!copy) abort();
    memcpy(copy, bytes, n);
    replay(ctx, copy, (int64_t)n);
    fix_checksums(copy, (int64_t)n);
    replay(ctx, copy, (int64_t)n);
    free(copy);
    return 0;
}
