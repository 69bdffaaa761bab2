/* How a log looks in bytes (wal.c explains). */
#ifndef FERRY_LOG_BYTES_H
#define FERRY_LOG_BYTES_H

#include "stream/stream.h"

#define LOG_MAGIC "FERRYLOG"
enum { LOG_NOTHING, LOG_DENSE, LOG_SPARSE };

typedef struct wal_header {
    char magic[8];
    uint32_t version, zero;
    ferry_hash model;
    uint64_t after, nonce, check;
} wal_header;

/* Version 3 has this behind the header: the log of a model name, which versions share. */
typedef struct wal_shared {
    uint64_t serves; /* number of the version that serves where this segment begins */
    uint64_t before; /* checksum of the last record of the segment before; 0: none */
    uint64_t check;  /* seeded by the nonce */
} wal_shared;

typedef struct wal_head {
    uint64_t check, seq, before; /* version 1: bytes that had been synced, now unused */
    uint32_t size, kind;
} wal_head;

typedef struct log_payload {
    uint32_t id_n, y_n, form, zero;
    uint64_t n;
} log_payload;

/* The header as bytes, room for WAL_HEADER_MOST of them; how many there are. */
#define WAL_HEADER_MOST (int64_t)(sizeof(wal_header) + sizeof(wal_shared))
int64_t ferry_i_wal_header(uint8_t *to, const ferry_wal_base *base);
/* Checksum of a record of n bytes in all. */
uint64_t ferry_i_wal_check(const uint8_t *record, int64_t n, uint64_t nonce);

/* A batch on its way to the disk, in a thread of its own that waits for the next. NULL: no
 * memory or no thread. */
typedef struct ferry_wal_sync ferry_wal_sync;
ferry_wal_sync *ferry_i_wal_sync_new(void);
void ferry_i_wal_sync_free(ferry_wal_sync *f); /* waits for it */
/* Begin with the log's buffer, whose memory is swapped for that of the last batch. */
void ferry_i_wal_sync_begin(ferry_wal_sync *f, ferry_wal *log);
/* Wait: how many bytes were written and synced (0: nothing was begun). An error's number
 * and what failed, or 0. */
int64_t ferry_i_wal_sync_wait(ferry_wal_sync *f, int *error, const char **doing);
bool ferry_i_wal_sync_busy(ferry_wal_sync *f);
/* Write all of it; an interrupted or short write goes on. The error, or 0. */
int ferry_i_wal_write_all(int fd, const uint8_t *bytes, int64_t n);

/* What a batch leaves behind. */
typedef struct wal_mark {
    ferry_head *head; /* NULL: none */
    int64_t last;     /* number and checksum of its last record */
    uint64_t chain;
    bool sync;
} wal_mark;
/* Put a batch into the file, sync it, then mark the head. 0, or an errno and what failed. */
int ferry_i_wal_write_batch(int fd, const uint8_t *bytes, int64_t n, wal_mark mark,
                            const char **doing);

#endif
