/* Streams: the log, what waits for its label, snapshots, and the lines that come in.
 *
 * The folder of a stream holds four files:
 *   lock            held by the process at work
 *   head            the number of the last record that was acknowledged
 *   snapshot.ferry  the model as of some record, and what waited then; absent at first
 *   log             every record since
 * A snapshot is complete before the log is begun anew, and both come by rename; so whatever
 * moment the power goes at, a snapshot and a log that reaches on from it are there.
 */
#ifndef FERRY_STREAM_INTERNAL_H
#define FERRY_STREAM_INTERNAL_H

#include <sys/types.h>

#include "ferry/stream.h"
#include "methods/method.h"

/* ---- records: what happened, in order ---- */

typedef enum ferry_record_kind {
    FERRY_RECORD_OBSERVE = 1, /* an instance to answer */
    FERRY_RECORD_LABEL = 2,   /* the label of one that waits */
    FERRY_RECORD_BOTH = 3,    /* an instance with its label */
    /* how the process at work computes; has no number of its own */
    FERRY_RECORD_SESSION = 4,
    /* in logs of a model name, whose versions share one: */
    FERRY_RECORD_SERVE = 5,  /* from here on this version answers, and learns from labels */
    FERRY_RECORD_RETRACT = 6 /* a label is taken back, or an instance that waits */
} ferry_record_kind;

/* Borrowed: whoever fills it keeps what it points to. */
typedef struct ferry_record {
    ferry_record_kind kind;
    int64_t seq;
    const char *id; /* not ended by 0; id_n 0: none */
    int64_t id_n;
    const char *y; /* class; session: the kernels */
    int64_t y_n;
    bool sparse;
    int64_t n; /* entries of x; session: how many instances may wait; serve: the version */
    const double *value;  /* n; the label of one that waits may have it too */
    const int32_t *index; /* n when sparse: ascending, below the columns */
} ferry_record;

/* ---- the log ---- */

/* 1 had no chain and no head; it is read and converted. 2 is the log of one stream, 3 that of
 * a model name, which versions share. */
#define FERRY_WAL_VERSION 3
#define REPAIR_HINT "ferry stream --repair keeps what is whole"
typedef struct ferry_hash {
    uint64_t high, low;
} ferry_hash;

/* What a log, or a segment of one, begins with. */
typedef struct ferry_wal_base {
    ferry_hash model; /* of the model file that the stream began with */
    int64_t after;    /* it begins after this record */
    int64_t serves;   /* the version that serves there; 0: the log of one stream */
    uint64_t before;  /* checksum of record `after` in the segment before; 0: none */
} ferry_wal_base;

/* How far the log must reach (head.c). */
typedef struct ferry_head {
    int fd;         /* -1: there is none */
    uint64_t count; /* of its writes */
    int64_t kept;   /* last record that was made durable before it was acknowledged */
    int64_t said;   /* last one that was acknowledged: beyond `kept` only with sync off */
    uint64_t chain; /* checksum of record `kept`; 0: it is in no log any more */
} ferry_head;
/* fd -1 when the folder has none; FERRY_EDATA when it is damaged. */
ferry_status ferry_i_head_open(ferry_ctx *ctx, const char *folder, ferry_head *h);
/* A new one with the numbers of h in place of any other, durable. */
ferry_status ferry_i_head_create(ferry_ctx *ctx, const char *folder, ferry_head *h);
int ferry_i_head_write(ferry_head *h, bool sync); /* 0 or an errno */
void ferry_i_head_close(ferry_head *h);

/* Reading a log from memory, untrusted. */
typedef struct ferry_wal_scan {
    const char *what; /* its path, for messages */
    const uint8_t *bytes;
    int64_t n, at; /* bytes in all; where the next record begins */
    uint32_t version;
    uint64_t nonce;      /* goes into every checksum */
    uint64_t chain;      /* checksum of the record before */
    uint64_t last_chain; /* and of record `last`, which sessions do not change */
    ferry_wal_base base;
    int64_t serves;   /* the version that serves after record `last` */
    int64_t last;     /* number of the last record that was read */
    int64_t dropped;  /* bytes at the end that are no whole record */
    int64_t holes;    /* salvaging: places that were passed over */
    bool salvage;     /* pass over what is damaged instead of refusing it */
    ferry_head *head; /* what must be there; NULL: nothing tells */
} ferry_wal_scan;
/* With a log that cannot be begun with, FERRY_EDATA; ferry_i_wal_scan_anyway() then reads
 * it as the log that begins there. */
ferry_status ferry_i_wal_scan(ferry_ctx *ctx, const char *what, const uint8_t *bytes,
                              int64_t n, ferry_wal_scan *out);
void ferry_i_wal_scan_anyway(const ferry_wal_base *base, ferry_wal_scan *out);
/* The next record, borrowed from the bytes, or *end. What is not whole where nothing had been
 * acknowledged ends the log (dropped > 0); any other damage is FERRY_EDATA. */
ferry_status ferry_i_wal_next(ferry_ctx *ctx, ferry_wal_scan *scan, ferry_record *r,
                              bool *end);

/* ---- a log that versions share: its segments ---- */

/* One before the newest, which is `log`: its file is log.AFTER. */
typedef struct ferry_segment {
    int64_t after, labels, bytes;
} ferry_segment;
/* The newest one has its name; what a process that died between two renames has left is set
 * right. Not while another process is at work in the folder. */
ferry_status ferry_i_segments_mend(ferry_ctx *ctx, const char *folder);
/* Those before the newest, whose base this is, as far back as they are whole and follow each
 * other; what is not is told and left out. Oldest first. */
ferry_status ferry_i_segments_list(ferry_ctx *ctx, const char *folder,
                                   const ferry_wal_base *newest, ferry_segment **out,
                                   int64_t *n, int64_t *cap);
char *ferry_i_segment_name(int64_t after); /* NULL: no memory */

/* Ids whose label was taken back, by their hashes, ascending, and the last record that did. */
typedef struct ferry_retracted {
    struct ferry_retraction {
        uint64_t hash;
        int64_t seq;
    } * at;
    int64_t n, cap;
} ferry_retracted;

/* Records of a shared log from its files, while another thread may add some. */
typedef struct ferry_reader {
    char *folder, *path;
    int fd;
    uint8_t *bytes;
    int64_t offset; /* of `bytes` in the file */
    ferry_wal_scan scan;
    ferry_head until;          /* how far it may read: what is durable */
    ferry_retracted retracted; /* a replay passes over these labels */
} ferry_reader;
/* Stand after record `after`; FERRY_EDATA when the log no longer reaches back to it. */
ferry_status ferry_i_reader_open(ferry_ctx *ctx, const char *folder, int64_t after,
                                 ferry_reader *out);
/* Records up to this one are durable, and will be read. */
ferry_status ferry_i_reader_until(ferry_ctx *ctx, ferry_reader *d, int64_t until);
/* The next one, borrowed until the call after it, or *end. `serves`: who served before it. */
ferry_status ferry_i_reader_next(ferry_ctx *ctx, ferry_reader *d, ferry_record *r,
                                 int64_t *serves, bool *end);
void ferry_i_reader_close(ferry_reader *d);
/* Note the labels that were taken back by records after the one it stands at, up to `until`. */
ferry_status ferry_i_reader_retracted(ferry_ctx *ctx, ferry_reader *d, int64_t until);
bool ferry_i_is_retracted(const ferry_reader *d, const ferry_record *r);

/* The calls that make bytes durable; tests put failing ones here. */
typedef struct ferry_wal_calls {
    ssize_t (*write)(int fd, const void *bytes, size_t n);
    int (*sync)(int fd);
} ferry_wal_calls;
extern ferry_wal_calls ferry_i_wal_calls;

typedef struct ferry_wal {
    int fd;
    char *path;
    ferry_wal_base base;
    uint64_t nonce;
    uint64_t chain;      /* checksum of the last record */
    int64_t last;        /* number of the last record */
    uint64_t last_chain; /* and its checksum, which sessions do not change */
    ferry_head *head;    /* written with every flush; NULL: none */
    int64_t size;        /* bytes in the file */
    int64_t durable; /* bytes that were there, and synced if at all, at the last flush */
    int64_t records; /* in the file and the buffer */
    uint8_t *buffer; /* records not yet written */
    int64_t used, room;
    struct ferry_wal_sync *sync; /* what another thread writes and syncs; NULL: none yet */
} ferry_wal;
/* A new empty log in place of the one in the folder, if any, which is kept under the name
 * `keep` unless that is NULL. When the call fails and *out is set, the new one is there but
 * that may not be durable. */
ferry_status ferry_i_wal_create(ferry_ctx *ctx, const char *folder,
                                const ferry_wal_base *base, const char *keep,
                                ferry_head *head, ferry_wal **out);
/* Go on after a scan: what it dropped is cut off, what it read is durable from here on, and
 * the scan's head says so. */
ferry_status ferry_i_wal_resume(ferry_ctx *ctx, const char *folder,
                                const ferry_wal_scan *scan, int64_t records,
                                ferry_wal **out);
void ferry_i_wal_free(ferry_wal *log);
/* Put a record into the buffer. */
ferry_status ferry_i_wal_add(ferry_ctx *ctx, ferry_wal *log, const ferry_record *r);
/* Write the buffer, and sync; then the head. When that fails the file is cut back to what was
 * durable. */
ferry_status ferry_i_wal_flush(ferry_ctx *ctx, ferry_wal *log, bool sync);
/* Likewise with a sync, but in another thread: this waits for, and reports, only what was
 * begun before. The next call of either tells how it went. */
ferry_status ferry_i_wal_begin(ferry_ctx *ctx, ferry_wal *log);
/* Whether what was begun is still being written. */
bool ferry_i_wal_busy(const ferry_wal *log);
/* Make renames in a folder durable. */
ferry_status ferry_i_sync_folder(ferry_ctx *ctx, const char *folder);

/* ---- instances that wait for their label ---- */

typedef struct ferry_waiting {
    char *id;
    int64_t n;
    double *value;
    int32_t *index; /* NULL: dense */
    int32_t *vote;  /* as ferry_model_see() left it */
    int32_t answer; /* the class that was answered; -1: not known */
    uint32_t tag;   /* who sent it, as the stream's `tag` said then; not kept in files */
    struct ferry_waiting *older, *newer, *next; /* next: in the same bucket */
} ferry_waiting;
typedef struct ferry_queue {
    ferry_waiting *oldest, *newest, **bucket;
    int64_t n, buckets;
} ferry_queue;
ferry_waiting *ferry_i_queue_find(const ferry_queue *q, const char *id, int64_t n);
void ferry_i_waiting_free(ferry_waiting *w); /* NULL is fine */
/* Add a copy. The id is new. */
ferry_status ferry_i_queue_add(ferry_ctx *ctx, ferry_queue *q, const char *id, int64_t id_n,
                               const ferry_row *x, const int32_t *vote, int64_t votes);
void ferry_i_queue_take(ferry_queue *q, ferry_waiting *w);   /* the caller has it now */
void ferry_i_queue_remove(ferry_queue *q, ferry_waiting *w); /* frees it */
void ferry_i_queue_clear(ferry_queue *q);

/* Ids whose label was learned, the last `most` of them, by their hashes (0: none here): who
 * sends a label again, not knowing that it arrived, is told so. */
typedef struct ferry_learned {
    int64_t most, n, next; /* next: the place in `ring` that is filled, or replaced, next */
    uint64_t *ring;        /* most */
    uint64_t *slot;        /* a table with open addresses, at most half full */
    int64_t slots;
} ferry_learned;
bool ferry_i_learned_has(const ferry_learned *l, const char *id, int64_t n);
void ferry_i_learned_add(ferry_learned *l, uint64_t hash);
uint64_t ferry_i_learned_hash(const char *id, int64_t n);
/* Room for the last `most`, those that are there kept; false: no memory, nothing changed. */
bool ferry_i_learned_resize(ferry_learned *l, int64_t most);
void ferry_i_learned_remove(ferry_learned *l, uint64_t hash);

/* ---- a model at work: the state that records change ---- */

/* How a version takes the records of a log that it shares with others. */
typedef enum ferry_following {
    FERRY_FOLLOWS, /* every one, as if it served */
    FERRY_REPLAYS, /* labels alone: it learns what came before it */
    FERRY_LEFT     /* none: another serves in its place */
} ferry_following;

typedef struct ferry_worker {
    ferry_model *model;
    int64_t version; /* of a model name; 0: a stream of its own */
    ferry_following following;
    ferry_queue queue;
    int64_t most;    /* instances that may wait; the oldest goes when there are more */
    int64_t seq;     /* last record applied */
    int64_t votes;   /* numbers in a vote */
    ferry_hash hash; /* of the model file that the stream began with */
    double *score;   /* of the last answer, one per class */
    int64_t scores;  /* room in score */
    int32_t *vote;   /* of the last answer */
    ferry_text name; /* scratch */
    ferry_learned learned;
} ferry_worker;

/* What came of a record. */
typedef struct ferry_outcome {
    int32_t answer, label; /* classes; -1: none */
    bool again;            /* a label was learned under the same id before */
    bool new_class;
    bool retracted; /* a label, or an instance that waited */
    char *forgot;   /* id of an instance that no longer waits; new text or NULL */
    ferry_waiting
        *was; /* the instance that the label was for, no longer waiting, or NULL */
} ferry_outcome;
void ferry_i_outcome_free(ferry_outcome *o);

/* Takes the model, also when it fails. FERRY_ENEEDS when it cannot stream. */
ferry_status ferry_i_worker_open(ferry_ctx *ctx, const char *what, ferry_model *model,
                                 ferry_hash hash, ferry_worker *w);
void ferry_i_worker_close(ferry_worker *w);
void ferry_i_worker_free(ferry_worker *w); /* closes it; NULL is fine */
/* Why a record cannot be applied, written into why; true when it can. */
bool ferry_i_worker_fits(const ferry_worker *w, const ferry_record *r, char *why,
                         size_t size);
/* Apply a record that fits. When this fails the worker is of no more use. */
ferry_status ferry_i_worker_apply(ferry_ctx *ctx, ferry_worker *w, const ferry_record *r,
                                  ferry_outcome *out);
/* Take a record of a shared log as a version does that did not write it: what does not fit it,
 * or is not for it, changes nothing. `serves`: the version that served when it was written. */
ferry_status ferry_i_worker_follow(ferry_ctx *ctx, ferry_worker *w, const ferry_record *r,
                                   int64_t serves, ferry_outcome *out);
/* What waits for a label in `from`, and the ids that it learned, are what waits in `w` and what
 * it learned from here on; its own votes on them are asked for. Both are at the same record
 * then, and `w` follows. */
ferry_status ferry_i_worker_inherit(ferry_ctx *ctx, ferry_worker *w,
                                    const ferry_worker *from);

/* The worker as a dict, and back. `what` begins messages. */
ferry_status ferry_i_snapshot_pack(ferry_ctx *ctx, const ferry_worker *w, ferry_dict *dict);
ferry_status ferry_i_snapshot_unpack(ferry_ctx *ctx, const char *what,
                                     const ferry_dict *dict, ferry_worker *w);
/* XXH3-128 of bytes. */
ferry_hash ferry_i_stream_hash(const void *bytes, int64_t n);

/* ---- lines ---- */

enum { FERRY_STREAM_NDJSON, FERRY_STREAM_CSV, FERRY_STREAM_SVMLIGHT };

/* One line taken apart. Its memory is used again for the next. */
typedef struct ferry_line {
    ferry_text text;    /* id and y */
    int64_t id, id_n;   /* place in text, length; 0: none */
    int64_t y, y_n;     /* likewise */
    bool id_is_number;  /* it was written without quotes */
    bool has_x, sparse; /* sparse: with indices */
    int64_t n, cap;     /* entries of x; NaN is a missing cell */
    double *value;
    int64_t index_n, index_cap;
    int32_t *index;
    int64_t seq;  /* the number that the writer expects it to get; 0: any */
    bool retract; /* what was said under its id is taken back */
    bool empty;   /* {}: a question how far the stream is */
    bool no_memory;
    char why[256];         /* what is wrong with it */
    ferry_text spare_text; /* scratch */
} ferry_line;
void ferry_i_line_clear(ferry_line *l);
void ferry_i_line_free(ferry_line *l);
/* Say what is wrong; returns false. */
bool ferry_i_line_bad(ferry_line *l, const char *fmt, ...) FERRY_PRINTF(2, 3);
bool ferry_i_line_number(ferry_line *l, double x); /* one more entry of x */
bool ferry_i_line_index(ferry_line *l, int64_t i);
bool ferry_i_line_id(ferry_line *l, const char *s, int64_t n);
bool ferry_i_line_y(ferry_line *l, const char *s, int64_t n);
/* Entries in ascending order of their indices, none twice. */
bool ferry_i_line_sort(ferry_line *l);

/* Read a line into one that is clear. False with why set, or no_memory. */
bool ferry_i_line_ndjson(ferry_line *l, const char *s, int64_t n);
/* base: number of the first feature. */
bool ferry_i_line_svmlight(ferry_line *l, const char *s, int64_t n, int64_t base);

/* Columns of a CSV stream, from its first line. */
typedef struct ferry_header {
    int64_t n, features; /* columns (0: not read yet), and how many of them are features */
    int64_t *role;       /* per column: the feature's number, or one of the two below */
    struct ferry_field *field; /* room for a line */
} ferry_header;
enum { FERRY_COLUMN_ID = -1, FERRY_COLUMN_LABEL = -2 };
/* FERRY_EDATA when it does not fit the view. */
ferry_status ferry_i_header_read(ferry_ctx *ctx, const ferry_view *view, const char *s,
                                 int64_t n, ferry_header *h);
void ferry_i_header_free(ferry_header *h);
bool ferry_i_line_csv(ferry_line *l, const char *s, int64_t n, const ferry_header *h);

/* text as a JSON string with its quotes. */
void ferry_i_text_json(ferry_text *t, const char *s, int64_t n);

#endif
