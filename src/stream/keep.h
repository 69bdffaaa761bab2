/* A stream that is kept in a folder: what keep.c, lines.c and answer.c share. */
#ifndef FERRY_KEEP_H
#define FERRY_KEEP_H

#include "stream/stream.h"

enum { SYNC_ALWAYS, SYNC_BATCH, SYNC_OFF };
#define BATCH_LINES 64
#define BATCH_SECONDS 0.05
#define BATCH_BYTES ((int64_t)4 << 20)
#define LINE_MOST ((int64_t)64 << 20)
#define LOG_MOST ((int64_t)64 << 20) /* bytes of a log before the next snapshot */

typedef struct stream_settings {
    int sync, format, scores;
    int64_t waiting, snapshot;
} stream_settings;

/* An answer that waits for its record to be durable. */
typedef struct stream_answer {
    int64_t line, at; /* number of the line; where its text begins in answers */
    bool kept;        /* it says that something was kept */
} stream_answer;

struct ferry_stream {
    stream_settings set;
    char *folder, *snapshot; /* paths */
    int lock;
    bool broken; /* memory and log may differ: no snapshot of this */
    ferry_worker worker;
    ferry_log *log;
    int64_t snapshot_records, snapshot_bytes; /* the log may grow to this */
    int64_t base;                             /* svmlight: the first index */
    /* the input */
    ferry_text part; /* of a line whose end has not come */
    bool too_long;   /* that line is, and is skipped */
    int64_t line;    /* lines so far */
    ferry_line parsed;
    ferry_header header;
    /* the output */
    ferry_text answers;
    stream_answer *answer;
    int64_t n_answers, cap_answers;
    double since; /* when the first of them came */
};

extern const ferry_opt ferry_i_stream_table[];
extern const int64_t ferry_i_stream_table_n;

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
/* Turn what was said to be kept into errors: it may not have been. */
ferry_status ferry_i_answers_take_back(ferry_ctx *ctx, ferry_stream *s, const char *why);

#endif
