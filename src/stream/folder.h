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
    uint64_t owner;   /* whose line it was: what the stream's `owner` said then */
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
    int64_t serves;          /* the version whose `worker` is at work; 0: the folder has one
                                stream, whose log nobody shares */
    int lock;
    double seconds; /* that a batch may wait */
    int only;       /* 0: any line; ONLY_LABELS, ONLY_INSTANCES: others are refused */
    /* told what came of each record, once it was applied; NULL: nobody */
    void (*watch)(void *watcher, const ferry_record *r, const ferry_outcome *o);
    void *watcher;
    bool broken; /* memory and log may differ: no snapshot of this */
    ferry_worker *worker;
    bool borrowed; /* the worker is another's to free */
    ferry_wal *log;
    ferry_head head;
    /* segments of a shared log before the newest, oldest first; those that hold the last
     * `keep` labels stay, and those after record `needed` */
    ferry_segment *segment;
    int64_t segments, segment_cap, keep, needed;
    int64_t labels;                           /* in the newest segment */
    int64_t snapshot_records, snapshot_bytes; /* the log may grow to this */
    int64_t base;                             /* svmlight: the first index */
    /* the input */
    ferry_text part; /* of a line whose end has not come */
    bool too_long;   /* that line is, and is skipped */
    int64_t line;    /* lines so far */
    uint64_t owner;  /* goes into the answers of the lines that come now */
    /* of who sends them: a number for him, how many more of his instances may wait, and how many
     * more classes may be new; negative: any */
    uint32_t tag;
    int64_t may_wait, may_be_new;
    ferry_line parsed;
    ferry_header header;
    /* the output */
    stream_answers now;      /* to lines that were taken last */
    stream_answers flying;   /* to those whose records are being made durable */
    stream_answers returned; /* what the caller has */
};

/* As it stands, without a snapshot. NULL is fine. */
void ferry_i_stream_free(ferry_stream *stream);

extern const ferry_opt ferry_i_stream_table[];
extern const int64_t ferry_i_stream_table_n;
extern const ferry_opt_table ferry_i_stream_options;

/* A whole file; *bytes is NULL when there is none. */
ferry_status ferry_i_folder_read(ferry_ctx *ctx, const char *path, uint8_t **bytes,
                                 int64_t *n);
/* Make a folder that only its owner may look into; one that is there stays as it is. */
ferry_status ferry_i_folder_make(ferry_ctx *ctx, const char *folder);
/* Save to a file that only its owner may read; one that is there keeps its mode. */
ferry_status ferry_i_folder_save(ferry_ctx *ctx, const ferry_dict *dict, const char *path);
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

/* ---- the log of a model name, which its versions share (version.c) ---- */

/* Open the folder of a model name, with the version that serves as its worker; that is NULL, and
 * so is the log, when the folder is new: then begin with one. */
ferry_status ferry_i_shared_open(ferry_ctx *ctx, const char *folder, const ferry_opts *opts,
                                 int64_t keep, ferry_stream **out);
ferry_status
ferry_i_shared_begin(ferry_ctx *ctx, ferry_stream *s,
                     ferry_worker *w); /* the stream has it, also when it fails */
/* From here on this version serves, which has followed the log to its end: one record. The
 * workers, old and new, are the caller's (`borrowed`). When it fails with the stream broken,
 * the log tells who serves. */
ferry_status ferry_i_shared_serve(ferry_ctx *ctx, ferry_stream *s, ferry_worker *w);

/* A model from its file, and the hash of the bytes that it was made from. */
ferry_status ferry_i_version_model(ferry_ctx *ctx, const char *path, ferry_hash *hash,
                                   ferry_model **out);
char *ferry_i_version_path(const char *folder, int64_t version); /* NULL: no memory */
/* The version that began with this model; 0: there is none. */
ferry_status ferry_i_version_find(ferry_ctx *ctx, const char *folder, ferry_hash model,
                                  int64_t *version);
/* A version as of some record: the file N.ferry. *out is NULL when there is none. `remember`:
 * room for so many learned ids; negative: for as many as it has. */
ferry_status ferry_i_version_load(ferry_ctx *ctx, const char *folder, int64_t version,
                                  int64_t remember, ferry_worker **out);
ferry_status ferry_i_version_save(ferry_ctx *ctx, const char *folder,
                                  const ferry_worker *w);
/* Take records up to number `until`, which is durable, or until it has left. */
ferry_status ferry_i_version_follow(ferry_ctx *ctx, ferry_reader *d, ferry_worker *w,
                                    int64_t until);

/* Take one line without its end; a blank one is passed over. */
ferry_status ferry_i_stream_take(ferry_ctx *ctx, ferry_stream *s, const char *line,
                                 int64_t n);
/* Likewise, but every line gets exactly one answer, blank ones too. */
ferry_status ferry_i_stream_row(ferry_ctx *ctx, ferry_stream *s, const char *line,
                                int64_t n);

/* Answers: to a record, to a question how far the stream is, to a record that was here
 * before, to a line that is wrong. */
ferry_status ferry_i_answer_record(ferry_ctx *ctx, ferry_stream *s, const ferry_record *r,
                                   const ferry_outcome *o);
ferry_status ferry_i_answer_far(ferry_ctx *ctx, ferry_stream *s);
ferry_status ferry_i_answer_again(ferry_ctx *ctx, ferry_stream *s);
/* ... to an instance that waits already. */
ferry_status ferry_i_answer_waits(ferry_ctx *ctx, ferry_stream *s, const ferry_waiting *w);
ferry_status ferry_i_answer_bad(ferry_ctx *ctx, ferry_stream *s, const char *why);
/* Add all answers to `returned`, and forget them. With a reason, what was said to be kept turns
 * into errors: it may not have been. */
void ferry_i_answers_hand_out(ferry_stream *s, stream_answers *a, const char *why);
void ferry_i_answers_clear(stream_answers *a);
int64_t ferry_i_answers_end(const stream_answers *a, int64_t i); /* where answer i ends */
void ferry_i_answers_free(stream_answers *a);

#endif
