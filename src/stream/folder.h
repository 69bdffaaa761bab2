/* A stream that is kept in a folder: what stream.c, open.c, lines.c and answer.c share. */
#ifndef FERRY_STREAM_FOLDER_H
#define FERRY_STREAM_FOLDER_H

#include "stream/stream.h"

enum { SYNC_ALWAYS, SYNC_BATCH, SYNC_OFF };
enum { ONLY_LABELS = 1, ONLY_INSTANCES = 2 };
#define BATCH_LINES 64
#define BATCH_MOST 1024 /* lines of a batch that waits for the sync of the one before */
#define BATCH_SECONDS 0.05
#define BATCH_BYTES ((int64_t)4 << 20)
#define LINE_MOST ((int64_t)64 << 20)
#define LOG_MOST ((int64_t)64 << 20) /* bytes of a log before the next snapshot */

typedef struct stream_settings {
    int sync, format, scores;
    int64_t waiting, snapshot, remember;
} stream_settings;

/* An answer that waits for its record to be durable. */
typedef struct stream_answer {
    int64_t line, at; /* number of the line; where its text begins */
    bool kept;        /* it says that something was kept */
} stream_answer;

typedef struct stream_answers {
    ferry_text text;
    stream_answer *answer;
    int64_t n, cap;
    double since; /* when the first of them came */
} stream_answers;

struct ferry_stream {
    stream_settings set;
    char *folder, *snapshot; /* paths */
    int lock;
    double seconds; /* that a batch may wait */
    int only;       /* 0: any line; ONLY_LABELS, ONLY_INSTANCES: others are refused */
    /* told what came of each record, once it was applied; NULL: nobody */
    void (*watch)(void *watcher, const ferry_record *r, const ferry_outcome *o);
    void *watcher;
    /* the lines are kept labels: one after a space has an id that was learned before */
    bool kept;
    bool broken; /* memory and log may differ: no snapshot of this */
    ferry_worker worker;
    ferry_wal *log;
    ferry_head head;
    int64_t snapshot_records, snapshot_bytes; /* the log may grow to this */
    int64_t base;                             /* svmlight: the first index */
    /* the input */
    ferry_text part; /* of a line whose end has not come */
    bool too_long;   /* that line is, and is skipped */
    int64_t line;    /* lines so far */
    ferry_line parsed;
    ferry_header header;
    /* the output */
    stream_answers now;    /* to lines that were taken last */
    stream_answers flying; /* to those whose records are being made durable */
    ferry_text lent;       /* what the caller has */
};

extern const ferry_opt ferry_i_stream_table[];
extern const int64_t ferry_i_stream_table_n;

/* A whole file; *bytes is NULL when there is none. */
ferry_status ferry_i_folder_read(ferry_ctx *ctx, const char *path, uint8_t **bytes,
                                 int64_t *n);
/* One process at a time. The lock goes with the process, however it ends. */
ferry_status ferry_i_folder_lock(ferry_ctx *ctx, ferry_stream *s);
/* Remove what a process that died while it wrote has left. */
void ferry_i_folder_clean(const ferry_stream *s);
/* Make the names of a new folder, and of those above it that were made with it, durable. */
ferry_status ferry_i_folder_sync_above(ferry_ctx *ctx, const char *folder);

/* How this process computes, as text. */
void ferry_i_stream_kernels(const ferry_ctx *ctx, char *text, size_t size);
/* Note it in the log, with how many may wait from here on. */
ferry_status ferry_i_stream_session(ferry_ctx *ctx, ferry_stream *s);
/* Begin the log anew, after what the snapshot has. */
ferry_status ferry_i_stream_new_log(ferry_ctx *ctx, ferry_stream *s);
/* A snapshot, and a new log after it. */
ferry_status ferry_i_stream_snapshot(ferry_ctx *ctx, ferry_stream *s);

/* Take one line without its end. */
ferry_status ferry_i_stream_take(ferry_ctx *ctx, ferry_stream *s, const char *line,
                                 int64_t n);

/* Answers: to a record, to a question how far the stream is, to a record that was here
 * before, to a line that is wrong. */
ferry_status ferry_i_answer_record(ferry_ctx *ctx, ferry_stream *s, const ferry_record *r,
                                   const ferry_outcome *o);
ferry_status ferry_i_answer_far(ferry_ctx *ctx, ferry_stream *s);
ferry_status ferry_i_answer_again(ferry_ctx *ctx, ferry_stream *s);
ferry_status ferry_i_answer_bad(ferry_ctx *ctx, ferry_stream *s, const char *why);
/* Add all answers to `lent`, and forget them. With a reason, what was said to be kept turns
 * into errors: it may not have been. */
void ferry_i_answers_lend(ferry_stream *s, stream_answers *a, const char *why);
void ferry_i_answers_free(stream_answers *a);

#endif
