/* How a log looks in bytes (log.c explains). */
#ifndef FERRY_LOG_BYTES_H
#define FERRY_LOG_BYTES_H

#include "stream/stream.h"

#define LOG_MAGIC "FERRYLOG"
enum { LOG_NOTHING, LOG_DENSE, LOG_SPARSE };

typedef struct log_header {
    char magic[8];
    uint32_t version, zero;
    ferry_hash model;
    uint64_t after, nonce, check;
} log_header;

typedef struct log_head {
    uint64_t check, seq, settled;
    uint32_t size, kind;
} log_head;

typedef struct log_payload {
    uint32_t id_n, y_n, form, zero;
    uint64_t n;
} log_payload;

void ferry_i_log_header(log_header *h, ferry_hash model, int64_t after);
/* Checksum of a record of n bytes in all. */
uint64_t ferry_i_log_check(const uint8_t *record, int64_t n, uint64_t nonce);

#endif
