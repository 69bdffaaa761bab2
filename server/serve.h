/* The server's inside: what its files share.
 *
 * Threads: those of http.c, which read requests and predict; one writer for each model name
 * that learns (writer.c), the only one that writes its log and changes the version that
 * serves; one that loads versions and brings them up to date (models.c, join.c); one that
 * ticks every second (server.c): numbers for the page.
 *
 * A request lives from its first byte to the end of its answer. One that learns is
 * suspended meanwhile; the writer fills its answer in and resumes it. */
#ifndef FERRY_SERVE_INTERNAL_H
#define FERRY_SERVE_INTERNAL_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "ferry/serve.h"
#include "server/http.h"
#include "show/served.h"
#include "stream/folder.h"

/* ---- settings ---- */

enum { SERVE_LOG_NONE, SERVE_LOG_ERRORS, SERVE_LOG_ALL };
typedef struct serve_settings {
    const char *listen, *state, *tokens, *tls_cert, *tls_key;
    int open, replay, sync, log;
    int64_t threads, connections, body, memory, queue, timeout, idle, rate;
    int64_t waiting, remember, snapshot, keep, poll, classes;
} serve_settings;

/* ---- numbers (metrics.c) ---- */

/* Latencies in classes that grow by a quarter octave from 16 us: 23 octaves reach 134 s. */
#define SERVE_CLASSES 92
typedef struct serve_times {
    _Atomic uint64_t count[SERVE_CLASSES];
    _Atomic uint64_t n, micros; /* all of them, and their sum */
} serve_times;
void ferry_i_times_add(serve_times *t, double seconds);
/* Upper end of class i in seconds. */
double ferry_i_times_end(int i);

/* ---- versions of models (version.c, models.c) ---- */

struct serve_version;
struct serve_writer;
/* What a writer is asked to do: by a request, rows of its body one after the other; by the
 * thread that loads versions, a function. */
typedef enum serve_deed {
    SERVE_LEARN,
    SERVE_OBSERVE,
    SERVE_SNAPSHOT,
    SERVE_CALL
} serve_deed;
typedef struct serve_row {
    int64_t at, n; /* bytes of the body */
} serve_row;
typedef struct serve_job {
    serve_deed deed;
    struct serve_request *request;
    void (*call)(struct serve_writer *w, void *argument);
    void *argument;
    bool called;        /* the call has returned */
    uint64_t number;    /* of this writer's jobs: the answers to its rows have it */
    int64_t taken, got; /* rows that went to the model, and those that have their answer */
    bool large;         /* its answers are more than memory may hold */
    bool mixed;         /* its answers are not those to its rows: our mistake */
    ferry_status st;    /* not FERRY_OK: what was taken may not be kept, `why` says it */
    char why[512];
    struct serve_job *next;
} serve_job;

/* Mistakes on labels that came back, and the difference to a shadow's on the same rows. */
#define SERVE_WINDOW 10000
typedef struct serve_scores {
    int64_t labels, mistakes;  /* since the start */
    int8_t ring[SERVE_WINDOW]; /* the last ones: 1 is a mistake; of a shadow: own - its */
    int64_t n, next;
} serve_scores;

/* How the inputs of late differ from those at fit; per column. */
typedef struct serve_drift {
    int64_t cols, rows;
    double *mean, *missing; /* running, over the last thousand rows or so */
} serve_drift;

typedef struct serve_version {
    struct ferry_server *server;
    struct serve_writer *writer; /* of its name; NULL: there is no folder for states */
    char *name, *path;
    int64_t number;
    bool shadow;         /* answers too and is never shown */
    bool learns;         /* could, and there is a folder for its state */
    _Atomic bool fresh;  /* it has not caught up yet, and was not told about */
    int64_t size, mtime; /* of the file that was read, mtime in nanoseconds */
    ferry_hash hash;     /* and of its bytes */
    _Atomic int refs;
    /* The model, and what is told, are read under the lock, and changed by the writer under its
     * other side. */
    pthread_rwlock_t lock;
    const ferry_model *model;
    ferry_model *own; /* it, where there is no worker */
    ferry_worker
        *worker;  /* with what was learned; the writer's while it serves or is beside */
    int64_t kept; /* the record that the worker's file is of */
    int mistake;  /* whether the last label showed one; -1: it was no label */
    pthread_mutex_t mutex; /* of drift */
    /* what is told */
    serve_scores scores, against; /* against: of a shadow, own less its mistakes */
    serve_drift drift;
    _Atomic int64_t rows, learned, waiting;
} serve_version;

ferry_status ferry_i_version_open(ferry_ctx *ctx, struct ferry_server *s, const char *name,
                                  int64_t number, bool shadow, const char *path,
                                  serve_version **out);
/* One that serves by its log and has no file any more: what it learned is all there is. */
ferry_status ferry_i_version_revive(ferry_ctx *ctx, struct serve_writer *w,
                                    const ferry_stream *stream, serve_version **out);
serve_version *ferry_i_version_ref(serve_version *v);
void ferry_i_version_free(serve_version *v); /* one owner less */
#define CHANGED                                                                            \
    "%s: has changed, but version %lld has learned since: give the new one a higher number"
/* What it has learned, in place of what it had: takes the worker. */
void ferry_i_version_set(serve_version *v, ferry_worker *worker);
/* A worker that knows what the version's file does. */
ferry_status ferry_i_version_worker(ferry_ctx *ctx, const serve_version *v,
                                    ferry_worker **out);

/* ---- one log for each model name, and its writer (writer.c) ---- */

typedef struct serve_writer {
    struct ferry_server *server;
    char *name, *folder;
    ferry_ctx *ctx;         /* the thread's */
    ferry_stream *stream;   /* NULL: not opened yet, or broken */
    serve_version *serving; /* whose worker the stream has, owned; NULL: not opened yet */
    serve_version *beside;  /* the shadow that is fed, owned; NULL: none */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t mutex; /* of what follows, and of changes of `serving` */
    pthread_cond_t wake, idle;
    serve_job *first, **last;
    int64_t jobs; /* that wait */
    bool stop, busy;
    serve_job *open, **open_end;     /* taken, waiting for their answers */
    uint64_t job_number;             /* of the last job */
    const struct serve_who *who;     /* sent the rows that are being taken */
    double tried;                    /* when a broken stream was last opened again */
    _Atomic int readers;             /* of the log's files: nothing of them may go */
    _Atomic int64_t oldest, durable; /* records after `oldest`, up to this one, are there */
    int64_t begun;                   /* up to this one they are being made durable */
    char why[512];                   /* why a version could not join, as was told last */
} serve_writer;
ferry_status ferry_i_writer_new(ferry_ctx *ctx, struct ferry_server *s, const char *name,
                                serve_writer **out);
void ferry_i_writer_free(serve_writer *w); /* NULL is fine */
/* Open the log, a new one with this version; then `serving` is there. */
ferry_status ferry_i_writer_open(ferry_ctx *ctx, serve_writer *w, serve_version *first);
/* Finish what waits, and make a snapshot. */
ferry_status ferry_i_writer_stop(ferry_ctx *ctx, serve_writer *w);
/* Hand a job over; false: too much waits. The request is resumed when it is done. */
bool ferry_i_writer_add(serve_writer *w, serve_job *job);
/* Have the writer call a function, between jobs and with all of them durable, and wait. */
void ferry_i_writer_call(serve_writer *w, void (*call)(serve_writer *w, void *argument),
                         void *argument);
/* What the stream says to rows that were taken goes to the requests that they came from. `all`:
 * every row that was taken has its answer now. A request that does not get one for each of
 * its rows, in their order, ends with 500 and a line in the log. Writer only. */
void ferry_i_writer_give(serve_writer *w, const stream_answers *a, bool all);
/* Wait until the writer has nothing left. */
void ferry_i_writer_drain(serve_writer *w);
bool ferry_i_writer_serves(serve_writer *w, const serve_version *v);
serve_version *ferry_i_writer_serving(serve_writer *w); /* ferry_i_version_free() it */
/* From here on this is the one that serves; the shadow that is fed. Writer only, or before
 * its thread. */
void ferry_i_writer_set(serve_writer *w, serve_version *v);
void ferry_i_writer_feed(serve_writer *w, serve_version *shadow);
bool ferry_i_writer_feeds(serve_writer *w, const serve_version *shadow);
/* Whether there is a stream; one that broke is opened again. Writer only. */
bool ferry_i_writer_whole(serve_writer *w);
void ferry_i_writer_break(serve_writer *w, const char *why);

/* The stream tells what came of every record (learn.c). */
void ferry_i_writer_watch(void *writer, const ferry_record *r, const ferry_outcome *o);
/* A label came back: was the answer wrong? Writer only. */
void ferry_i_scores_add(serve_scores *s, int value);

/* A version that learns takes the place of the one that serves, or is fed beside it as a shadow
 * (join.c): it replays what it should, and follows the log to its end. */
ferry_status ferry_i_version_join(ferry_ctx *ctx, serve_writer *w, serve_version *v);
/* The shadow is fed no more. */
void ferry_i_version_leave(serve_writer *w);
/* What a version that does not serve had learned, for those who ask for it by number. */
void ferry_i_version_recall(ferry_ctx *ctx, const serve_writer *w, serve_version *v);

/* One model by name: its versions, ascending by number. */
typedef struct serve_model {
    char *name;
    serve_version **version;
    int64_t n, cap;
    serve_version *current, *shadow; /* of them, or NULL; borrowed */
    serve_writer *writer;            /* NULL: there is no folder for states */
} serve_model;
typedef struct serve_refused {
    char *path;
    int64_t size, mtime;
    bool gone; /* while another file, in whose place it is, was no more */
} serve_refused;
typedef struct serve_models {
    pthread_rwlock_t lock; /* of the lists; a version lives by its count */
    serve_model *model;
    int64_t n, cap;
    serve_refused *refused; /* files that were no good, so that each is told once */
    int64_t n_refused, refused_cap;
} serve_models;
/* Look at the folder. Files that are no good are told and passed over, unless `strict`. */
ferry_status ferry_i_models_scan(ferry_ctx *ctx, struct ferry_server *s, bool strict);
/* Writers finish: no request is suspended after it. Then the lists can go. */
void ferry_i_models_stop(ferry_ctx *ctx, struct ferry_server *s, ferry_status *st);
void ferry_i_models_free(struct ferry_server *s);
/* Put a version into the list, which has it from here on, also when this fails. */
ferry_status ferry_i_models_add(ferry_ctx *ctx, struct ferry_server *s, serve_version *v);
/* Requests for the name go to this version, which the list has. */
void ferry_i_models_serve(struct ferry_server *s, serve_version *v);
/* A version to use: name NULL is the only model or the one called "default"; number 0 the
 * current one. NULL: there is none. ferry_i_version_free() it. */
serve_version *ferry_i_models_get(struct ferry_server *s, const char *name, int64_t number);

/* ---- who may (tokens.c) ---- */

typedef enum serve_role { SERVE_ANYONE, SERVE_READ, SERVE_LEARNER, SERVE_ADMIN } serve_role;
typedef struct serve_bucket {
    double rate, left,
        at; /* so many a second (0: any), how many may come now, since when */
} serve_bucket;
typedef struct serve_token {
    char name[65];
    serve_role role;
    uint8_t hash[32];
    serve_bucket requests, rows, in, out; /* in, out: bytes of bodies and answers */
    double waiting, classes;              /* instances at once, new classes; -1: any */
    int64_t new_classes;                  /* that it brought since the start */
} serve_token;
typedef struct serve_stamp {
    int64_t size, inode, mtime, ctime; /* size -1: there is no file */
} serve_stamp;
typedef struct serve_tokens {
    pthread_mutex_t reading; /* of the file, and of its stamp */
    pthread_mutex_t mutex;   /* of the list */
    serve_token *token;
    int64_t n, cap;
    serve_stamp stamp;
    bool read;
} serve_tokens;
/* Who sends a request. */
typedef struct serve_who {
    char name[65]; /* "": nobody is known by a token */
    serve_role role;
    uint8_t hash[32];
    int64_t waiting; /* of his instances that may wait at once; -1: any */
} serve_who;
/* The lines of a file, which are changed. Not strict: those that are right count, and the first
 * that is wrong is told. */
ferry_status ferry_i_tokens_parse(ferry_ctx *ctx, const char *path, char *text, double rate,
                                  bool strict, serve_tokens *out);
/* Again when the file has changed. Not strict: where that is wrong, or gone, nobody may. */
ferry_status ferry_i_tokens_read(ferry_ctx *ctx, const char *path, double rate, bool strict,
                                 serve_tokens *t);
/* The role of what an Authorization header shows. *wait: seconds until its quotas allow this
 * request, 0: now. */
serve_role ferry_i_tokens_role(serve_tokens *t, const char *header, bool basic,
                               serve_who *who, double *wait);
/* What a request has used. */
void ferry_i_tokens_spend(serve_tokens *t, const serve_who *who, int64_t rows, int64_t in,
                          int64_t out);
/* So many classes more were new; how many more may be, -1: any. */
int64_t ferry_i_tokens_classes(serve_tokens *t, const serve_who *who, int64_t more);

/* ---- requests (request.c) ---- */

enum { SERVE_ONE, SERVE_LIST, SERVE_LINES };
typedef struct serve_request {
    struct ferry_server *server;
    http_connection *connection; /* NULL: nobody waits for its answer */
    const http_head *head;       /* NULL: what came is no request */
    const char *method, *url;
    const struct serve_route *route;
    serve_version *version; /* NULL: the route has none */
    char id[129];
    serve_who who;
    double began;
    ferry_text body;
    int64_t charged; /* bytes of the budget for memory */
    int64_t counted; /* of them: what `out` has room for */
    /* rows of the body, for predict and learn */
    serve_row *row;
    int64_t rows, row_cap;
    int form; /* how the rows came and answers go: SERVE_ONE, SERVE_LIST, SERVE_LINES */
    bool wants_scores;
    serve_job job;
    bool suspended, done;
    bool exact;                 /* the request named a version */
    struct serve_request *next; /* that waits for a look at the models */
    /* the answer */
    unsigned status;
    ferry_text out;
    int64_t answered,
        sent;           /* rows, and bytes of `out`, of an answer that is made on the way */
    http_source source; /* of the answer's bytes in place of `out`, where it has one */
    const char *type, *allow;
    int retry;           /* seconds, for Retry-After; 0: none */
    int64_t json_length; /* of an answer with binary tensors behind JSON; 0: none */
} serve_request;

/* Fill in an error: {"error": text, "code": ..., "status": ..., "request_id": ...}. */
void ferry_i_serve_error(serve_request *r, unsigned status, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
#define ANSWER_BYTES 96 /* of one number or text of an answer, as a value and as text */
/* n more bytes of the budget for memory; false, with an error in r: it has not as many. */
bool ferry_i_serve_charge(serve_request *r, int64_t n);
/* ... for what the answer has grown by; for a body as JSON values, before it is parsed. */
bool ferry_i_serve_grown(serve_request *r);
bool ferry_i_serve_values(serve_request *r);
/* ... by what a call of the library said. */
void ferry_i_serve_failed(serve_request *r, ferry_ctx *ctx, ferry_status st);
void ferry_i_serve_json(serve_request *r, json_t *json); /* takes it; NULL: no memory */
const char *ferry_i_serve_header(const serve_request *r, const char *name);
bool ferry_i_serve_asks(const serve_request *r,
                        const char *name); /* ?name=1, in the query */
/* The answer is there: wake the connection. Any thread, once. */
void ferry_i_serve_resume(serve_request *r);

/* What each thread that answers has for itself. NULL: no memory. */
typedef struct serve_scratch {
    ferry_ctx *ctx;
    ferry_line line;
    struct serve_batch *batch;
} serve_scratch;
serve_scratch *ferry_i_serve_scratch(struct ferry_server *s);

/* ---- routes (route.c) ---- */

typedef struct serve_route {
    const char *method, *path; /* {model} and {version} stand for what a request names */
    serve_role role;
    void (*run)(serve_request *r);
    const char *name; /* in the metrics */
    bool of_model;
} serve_route;
extern const serve_route ferry_i_serve_routes[];
extern const int64_t ferry_i_serve_n_routes;
/* The route of a request; NULL with an error in r. Then, for who may, its model. */
const serve_route *ferry_i_serve_find(serve_request *r);
bool ferry_i_serve_find_version(serve_request *r);

/* What the routes do. */
void ferry_i_serve_predict(serve_request *r);     /* rows.c */
void ferry_i_serve_learn(serve_request *r);       /* learn.c */
void ferry_i_serve_snapshot(serve_request *r);    /* learn.c */
void ferry_i_serve_labels(serve_request *r);      /* labels.c */
void ferry_i_serve_recommend(serve_request *r);   /* recommend.c */
void ferry_i_serve_invocations(serve_request *r); /* mlflow.c */
void ferry_i_serve_ping(serve_request *r);
void ferry_i_serve_v2_server(serve_request *r); /* v2.c */
void ferry_i_serve_v2_model(serve_request *r);
void ferry_i_serve_v2_config(serve_request *r);
void ferry_i_serve_v2_index(serve_request *r);
void ferry_i_serve_v2_ready(serve_request *r);
void ferry_i_serve_v2_infer(serve_request *r); /* infer.c */
void ferry_i_serve_live(serve_request *r);     /* about.c */
void ferry_i_serve_ready(serve_request *r);
void ferry_i_serve_openapi(serve_request *r);
void ferry_i_serve_page(serve_request *r);
void ferry_i_serve_script(serve_request *r);
void ferry_i_serve_style(serve_request *r);
void ferry_i_serve_reload_now(serve_request *r);
void ferry_i_serve_metrics(serve_request *r); /* metrics.c */
void ferry_i_serve_stats(serve_request *r);   /* stats.c */

/* A running writer's job from a request; answers 429, 409 or 503 when it cannot be. */
void ferry_i_serve_submit(serve_request *r, serve_deed deed);
/* Take the body apart into rows; false with an error in r. */
bool ferry_i_serve_rows(serve_request *r);
/* An answer to one row begins, and ends, as the form wants it; `i` counts them. */
void ferry_i_serve_row_begin(serve_request *r, int64_t i);
void ferry_i_serve_rows_end(serve_request *r);

/* ---- rows to predict for (batch.c) ---- */

/* Dense ones and sparse ones apart, since one matrix is either. */
enum { SERVE_DENSE, SERVE_SPARSE, SERVE_BAD };
typedef struct serve_item {
    uint8_t kind;         /* SERVE_BAD: the text is what is wrong with it */
    bool number;          /* the id was written without quotes */
    int64_t at;           /* which one of its kind */
    int64_t text, text_n; /* its id in `texts`; text_n 0: none */
} serve_item;
typedef struct serve_batch {
    serve_item *item;
    int64_t n, cap, cols;
    ferry_text texts;
    double *x; /* dense: count[SERVE_DENSE] x cols */
    int64_t *start, entries;
    int32_t *index;
    double *value;
    int64_t count[3], x_cap, start_cap, index_cap, value_cap;
    int64_t most; /* bytes of dense rows; 0: any */
    ferry_prediction *p[2];
} serve_batch;
void ferry_i_batch_clear(serve_batch *b, int64_t cols);
void ferry_i_batch_free(serve_batch *b);
/* One more row; false: no memory. */
bool ferry_i_batch_add(serve_batch *b, const serve_version *v, ferry_line *l);
bool ferry_i_batch_bad(serve_batch *b, const char *why);
/* One more dense row: cols numbers to be filled. A few bytes of a table can stand for a wide row, so
 * there is a limit. */
ferry_status ferry_i_batch_dense(ferry_ctx *ctx, serve_batch *b, double **x);
/* Ask the model, and note what the inputs look like. */
ferry_status ferry_i_batch_predict(ferry_ctx *ctx, serve_version *v, serve_batch *b);
/* n dense rows came in (stats.c). */
void ferry_i_drift_note(serve_version *v, int64_t n, int64_t cols, const double *x);
/* The answer to row `at` of a prediction as members of a JSON object. */
void ferry_i_serve_answer(ferry_text *t, const ferry_prediction *p, int64_t at,
                          bool scores);
void ferry_i_text_real(ferry_text *t, double x); /* null where it is not finite */

/* ---- tables of JSON (table.c) ---- */

/* Where the columns of a table stand in the model's view. */
typedef struct serve_columns {
    int64_t n;
    int32_t *to;       /* n: the feature's number; -1: none, or `first` says */
    const char **name; /* n, borrowed */
    bool by_name;
} serve_columns;
ferry_status ferry_i_columns_open(ferry_ctx *ctx, const serve_version *v,
                                  const json_t *names, int64_t n, serve_columns *c);
void ferry_i_columns_close(serve_columns *c);
/* One row: cells in the order of the columns. */
ferry_status ferry_i_columns_row(ferry_ctx *ctx, const serve_version *v,
                                 const serve_columns *c, const json_t *cells,
                                 serve_batch *b);

/* ---- the server ---- */

/* A second of its life, for the page. */
#define SERVE_SECONDS 600
#define SERVE_PARTS 8
typedef struct serve_second {
    double at;                      /* of a clock that does not jump */
    int64_t requests, errors, rows; /* in this second, and since the start */
    int64_t total_requests, total_errors, total_rows;
    double p50, p90, p99; /* seconds; NaN: no request */
    double mistakes;      /* share of the last labels; NaN: none */
    int64_t labels, waiting;
    double part[SERVE_PARTS];
} serve_second;

struct ferry_server {
    serve_settings set;
    ferry_opts *opts; /* what set's texts point into */
    char *models_path, *address, *socket_path;
    bool folder; /* models_path is one */
    bool loopback;
    int listener;
    http_server *http;
    char *cert, *key;
    serve_models models;
    serve_tokens tokens;
    pthread_key_t scratch;
    bool has_scratch;
    pthread_mutex_t log_mutex;
    ferry_log_fn log;
    void *log_user;
    int64_t log_second, log_lines; /* how many lines in this second */
    /* connections and requests */
    pthread_mutex_t mutex; /* of last errors and seconds */
    pthread_cond_t quiet;  /* a request ended */
    int64_t in_flight;
    _Atomic int64_t charged;
    _Atomic uint64_t next_id;
    uint64_t id_start;
    _Atomic bool stopping, reload;
    /* the ticker, and the one that loads versions */
    pthread_t ticker, loader;
    ferry_ctx *ctx, *tick_ctx;               /* the loader's, the ticker's */
    bool has_ticker, had_loader, has_loader; /* has: it still takes requests */
    pthread_cond_t tick, load;
    struct serve_request *reloads; /* that wait for the next look at the models */
    /* numbers */
    double started;
    serve_times *times;            /* one per route */
    _Atomic int64_t (*answers)[6]; /* per route, by the first digit of the status */
    _Atomic int64_t requests, errors, rows, refused, too_many;
    serve_times all, before; /* before: `all` as of the second before */
    serve_second second[SERVE_SECONDS];
    int64_t seconds;
    char part_name[SERVE_PARTS][64];
    int64_t parts;
    char last[20][300]; /* errors */
    int64_t n_last;
};
void ferry_i_serve_log(struct ferry_server *s, ferry_level level, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
void ferry_i_serve_sample(struct ferry_server *s); /* stats.c: a second has passed */
ferry_status ferry_i_serve_context(struct ferry_server *s, ferry_ctx **out);

http_events ferry_i_serve_events(struct ferry_server *s); /* request.c */

#endif
