/* The head of a stream: how far its log must reach.
 *
 * A log cut at the border of two records looks whole, and one damaged near its end looks
 * like a write that the power cut short. The file `head` decides both: it is written and
 * synced after the log was, and before answers go out. Up to `kept` every record must be
 * there; what comes after it was never acknowledged.
 *
 * It is written in place, alternately into two slots of a sector each, so that a torn write
 * leaves the one before; the slot with the larger count is the newer. With sync off it is
 * not synced, and only `said` moves: what had been answered, whether the disk has it or not.
 */
#define _DEFAULT_SOURCE /* pwrite */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "stream/wal_bytes.h"

#define HEAD_MAGIC "FERRYHED"
enum { SECTOR = 512 };

typedef struct head_slot {
    char magic[8];
    uint64_t count, kept, said, chain, check;
} head_slot;

/* The head as bytes of its slot. */
static head_slot slot_of(const ferry_head *h)
{
    head_slot s = {.count = h->count,
                   .kept = (uint64_t)h->kept,
                   .said = (uint64_t)h->said,
                   .chain = h->chain};

    memcpy(s.magic, HEAD_MAGIC, sizeof s.magic);
    s.check = XXH3_64bits(&s, offsetof(head_slot, check));
    return s;
}

/* Write it over the older slot. 0 or an errno; after that the slot may be torn, and the next attempt goes over the same one:
 * the other is all that is left. */
int ferry_i_head_write(ferry_head *h, bool sync)
{
    ferry_head next = *h;

    next.count++;
    const head_slot s = slot_of(&next);
    const off_t at = (off_t)(next.count % 2 * SECTOR);

    for (size_t put = 0; put < sizeof s;) {
        const ssize_t some =
            pwrite(h->fd, (const char *)&s + put, sizeof s - put, at + (off_t)put);
        if (some < 0 && errno == EINTR) continue;
        if (some <= 0) return some < 0 ? errno : ENOSPC;
        put += (size_t)some;
    }
    if (sync && ferry_i_wal_calls.sync(h->fd) != 0) return errno;
    h->count = next.count;
    return 0;
}

/* A new file in place of the one that is there, if any, with both slots. */
ferry_status ferry_i_head_create(ferry_ctx *ctx, const char *folder, ferry_head *h)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(folder, "head"),
         *fresh = ferry_i_path_join(folder, "head.new");
    int error = 0;

    FERRY_HAVE(ctx, path && fresh);
    ferry_i_head_close(h);
    h->fd = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FERRY_NEED(ctx, h->fd >= 0, FERRY_EIO, "%s: cannot write: %s", fresh, strerror(errno));
    for (int i = 0; i < 2 && !error; i++)
        error = ferry_i_head_write(h, i == 1);
    FERRY_NEED(ctx, !error, FERRY_EIO, "%s: cannot write: %s", fresh, strerror(error));
    FERRY_NEED(ctx, rename(fresh, path) == 0, FERRY_EIO, "%s: cannot rename: %s", fresh,
               strerror(errno));
    FERRY_TRY(ferry_i_sync_folder(ctx, folder));
done:
    FERRY_FREE(fresh, path);
    return st;
}

/* The newer of the slots that are whole. */
static bool newest(const uint8_t *bytes, ssize_t n, ferry_head *h)
{
    bool any = false;

    for (int i = 0; i < 2; i++) {
        head_slot s;
        if (n < i * SECTOR + (ssize_t)sizeof s) break;
        memcpy(&s, bytes + i * SECTOR, sizeof s);
        if (memcmp(s.magic, HEAD_MAGIC, sizeof s.magic) != 0 ||
            s.check != XXH3_64bits(&s, offsetof(head_slot, check)) ||
            (any && s.count < h->count))
            continue;
        h->count = s.count;
        h->kept = (int64_t)s.kept;
        h->said = (int64_t)s.said;
        h->chain = s.chain;
        any = true;
    }
    return any;
}

ferry_status ferry_i_head_open(ferry_ctx *ctx, const char *folder, ferry_head *h)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(folder, "head");
    uint8_t bytes[2 * SECTOR];

    *h = (ferry_head){.fd = -1};
    FERRY_HAVE(ctx, path);
    h->fd = open(path, O_RDWR | O_CLOEXEC);
    if (h->fd < 0 && errno == ENOENT) goto done;
    FERRY_NEED(ctx, h->fd >= 0, FERRY_EIO, "%s: cannot write: %s", path, strerror(errno));
    const ssize_t n = pread(h->fd, bytes, sizeof bytes, 0);
    FERRY_NEED(ctx, n >= 0, FERRY_EIO, "%s: cannot read: %s", path, strerror(errno));
    FERRY_NEED(ctx, newest(bytes, n, h), FERRY_EDATA,
               "%s: is damaged, so nothing tells how far the log must reach; " REPAIR_HINT,
               path);
done:
    if (st != FERRY_OK) ferry_i_head_close(h);
    ferry_i_free(path);
    return st;
}

void ferry_i_head_close(ferry_head *h)
{
    if (h->fd >= 0) (void)close(h->fd);
    h->fd = -1;
}
