/* The server's inside: what its files share.
 *
 * Threads: libmicrohttpd's, which read requests and predict; one writer for each version
 * that learns (learn.c), the only one that changes its model and its log; one that ticks
 * every second (server.c): slow connections, new files, numbers for the page.
 *
 * A request lives from its first byte to the end of its answer. One that learns is
 * suspended meanwhile; the writer fills its answer in and resumes it. */
#ifndef FERRY_SERVE_INTERNAL_H
#define FERRY_SERVE_INTERNAL_H

#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "ferry/serve.h"
#include "stream/folder.h"

/* ---- libmicrohttpd, loaded when the first server starts (mhd.c) ---- */

typedef struct serve_mhd {
    struct MHD_Daemon *(*start)(unsigned, uint16_t, MHD_AcceptPolicyCallback, void *,
                                MHD_AccessHandlerCallback, void *, ...);
    void (*stop)(struct MHD_Daemon *);
    MHD_socket (*quiesce)(struct MHD_Daemon *);
    enum MHD_Result (*queue)(struct MHD_Connection *, unsigned, struct MHD_Response *);
    struct MHD_Response *(*response)(size_t, void *, enum MHD_ResponseMemoryMode);
    struct MHD_Response *(*response_free)(size_t, void *, MHD_ContentReaderFreeCallback);
    enum MHD_Result (*header)(struct MHD_Response *, const char *, const char *);
    void (*destroy)(struct MHD_Response *);
    const char *(*value)(struct MHD_Connection *, enum MHD_ValueKind, const char *);
    int (*values)(struct MHD_Connection *, enum MHD_ValueKind, MHD_KeyValueIterator,
                  void *);
    void (*suspend)(struct MHD_Connection *);
    void (*resume)(struct MHD_Connection *);
    const union MHD_ConnectionInfo *(*info)(struct MHD_Connection *,
                                            enum MHD_ConnectionInfoType, ...);
    enum MHD_Result (*feature)(enum MHD_FEATURE);
} serve_mhd;
extern serve_mhd ferry_i_mhd;
ferry_status ferry_i_mhd_load(ferry_ctx *ctx);

/* ---- settings ---- */

enum { SERVE_LOG_NONE, SERVE_LOG_ERRORS, SERVE_LOG_ALL };
typedef struct serve_settings {
    const char *listen, *state, *tokens, *tls_cert, *tls_key;
    int open, replay, sync, log;
    int64_t threads, connections, body, memory, queue, timeout, idle, rate;
    int64_t waiting, remember, snapshot, keep, poll;
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
/* What a request asks a writer to do: rows of its body, one after the other. */
typedef enum serve_deed { SERVE_LEARN, SERVE_OBSERVE, SERVE_SNAPSHOT } serve_deed;
typedef struct serve_row {
    int64_t at, n; /* bytes of the body */
} serve_row;
typedef struct serve_job {
    serve_deed deed;
    struct serve_request *request;
    int64_t got;     /* rows that have their answer */
    ferry_status st; /* not FERRY_OK: what was taken may not be kept, `why` says it */
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
    char *name, *path, *folder; /* folder: of its state; NULL: it does not learn */
    int64_t number;
    bool shadow;         /* answers too and is never shown */
    int64_t size, mtime; /* of the file that was read, mtime in nanoseconds */
    _Atomic int refs;
    /* The model is read under the lock, and changed by the writer under its other side. */
    pthread_rwlock_t lock;
    const ferry_model *model;
    ferry_model *own;     /* it, where no stream has it */
    ferry_stream *stream; /* the writer's; NULL: broken, or does not learn */
    /* the writer */
    bool has_writer;
    pthread_t writer;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t wake, idle;
    serve_job *first, **last;
    int64_t jobs, bytes; /* that wait */
    bool stop, busy;
    ferry_ctx *ctx;               /* the writer's */
    serve_job *open, **open_end;  /* taken, waiting for their answers */
    double tried;                 /* when a broken stream was last opened again */
    struct serve_version *beside; /* the shadow that the writer feeds, or NULL */
    const char *line;             /* that it is at, and its length */
    int64_t line_n;
    int mistake;  /* whether the last label showed one; -1: it was no label */
    FILE *labels; /* where labels are kept for a later version; NULL: nowhere */
    char *labels_path;
    int64_t labels_n, labels_bytes; /* in that file, as far as known */
    /* how far it learned from the kept labels before it served, and of which file; -1: it did not */
    int64_t replayed;
    uint64_t replayed_of;
    /* what is told */
    serve_scores scores, against; /* against: of a shadow, own less its mistakes */
    serve_drift drift;
    _Atomic int64_t rows, learned, waiting, seq;
} serve_version;

ferry_status ferry_i_version_open(ferry_ctx *ctx, struct ferry_server *s, const char *name,
                                  int64_t number, bool shadow, const char *path,
                                  serve_version **out);
serve_version *ferry_i_version_ref(serve_version *v);
void ferry_i_version_free(serve_version *v); /* one owner less */
/* Begin and end its writer; stopping finishes what waits and makes a snapshot. */
ferry_status ferry_i_writer_start(ferry_ctx *ctx, serve_version *v);
ferry_status ferry_i_writer_stop(ferry_ctx *ctx, serve_version *v);
/* Hand a job over; false: too much waits. The request is resumed when it is done. */
bool ferry_i_writer_add(serve_version *v, serve_job *job);
/* Wait until the writer has nothing left. */
void ferry_i_writer_drain(serve_version *v);
/* Its stream, from its folder; and what that tells about every record. */
ferry_status ferry_i_version_stream(ferry_ctx *ctx, serve_version *v, ferry_stream **out);
void ferry_i_version_watch(void *version, const ferry_record *r, const ferry_outcome *o);
/* A version takes the place of another, which nobody uses meanwhile: labels that came since it
 * replayed them are learned, and what waits for a label there waits in it from here on. */
ferry_status ferry_i_version_take_over(ferry_ctx *ctx, serve_version *to,
                                       serve_version *from);
/* A label came back: was the answer wrong? Writer only. */
void ferry_i_scores_add(serve_scores *s, int value);
/* A row as a line of NDJSON; id_n 0 or y NULL: without. */
void ferry_i_row_line(ferry_text *t, const char *id, int64_t id_n, const ferry_row *x,
                      const char *y);

/* One model by name: its versions, ascending by number. */
typedef struct serve_model {
    char *name;
    serve_version **version;
    int64_t n, cap;
    serve_version *current, *shadow; /* of them, or NULL; lent */
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
/* Look at the folder; *changed counts versions that came or went. Files that are no good are
 * told and passed over, unless `strict`. */
ferry_status ferry_i_models_scan(ferry_ctx *ctx, struct ferry_server *s, bool strict);
void ferry_i_models_free(ferry_ctx *ctx, struct ferry_server *s, ferry_status *st);
/* A version to use: name NULL is the only model or the one called "default"; number 0 the
 * current one. NULL: there is none. ferry_i_version_free() it. */
serve_version *ferry_i_models_get(struct ferry_server *s, const char *name, int64_t number);

/* ---- who may (tokens.c) ---- */

typedef enum serve_role { SERVE_ANYONE, SERVE_READ, SERVE_LEARNER, SERVE_ADMIN } serve_role;
typedef struct serve_token {
    char name[65];
    serve_role role;
    uint8_t hash[32];
    double rate, left,
        at; /* requests a second (0: any), how many may come now, since when */
} serve_token;
typedef struct serve_tokens {
    pthread_mutex_t mutex;
    serve_token *token;
    int64_t n, cap;
    int64_t size, mtime;
} serve_tokens;
ferry_status ferry_i_tokens_read(ferry_ctx *ctx, const char *path, double rate,
                                 serve_tokens *t);
/* The role of what an Authorization header shows; name gets the token's. *wait: seconds until
 * its rate allows this request, 0: now. */
serve_role ferry_i_tokens_role(serve_tokens *t, const char *header, bool basic,
                               char name[65], double *wait);

/* ---- requests (request.c) ---- */

typedef struct serve_connection {
    int fd;
    double since; /* its last request ended, or it came; 0: it waits for a writer */
    double limit; /* seconds from then on */
    struct serve_connection *next, **link;
} serve_connection;

enum { SERVE_ONE, SERVE_LIST, SERVE_LINES };
typedef struct serve_request {
    struct ferry_server *server;
    struct MHD_Connection *mhd;
    serve_connection *connection;
    const char *method, *url;
    const struct serve_route *route;
    serve_version *version; /* NULL: the route has none */
    char id[129], token[65];
    double began;
    ferry_text body;
    int64_t charged;                 /* bytes of the budget for bodies */
    bool too_large, no_memory, lost; /* no_memory: of the budget; lost: of the machine */
    /* rows of the body, for predict and learn */
    serve_row *row;
    int64_t rows, row_cap;
    int form; /* how the rows came and answers go: SERVE_ONE, SERVE_LIST, SERVE_LINES */
    bool wants_scores;
    serve_job job;
    bool suspended, done;
    bool exact; /* the request named a version */
    /* the answer */
    unsigned status;
    ferry_text out;
    const char *type, *allow;
    int retry;           /* seconds, for Retry-After; 0: none */
    int64_t json_length; /* of an answer with binary tensors behind JSON; 0: none */
} serve_request;

/* Fill in an error: {"error": text, "code": ..., "status": ..., "request_id": ...}. */
void ferry_i_serve_error(serve_request *r, unsigned status, const char *fmt, ...)
    FERRY_PRINTF(3, 4);
/* ... by what a call of the library said. */
void ferry_i_serve_failed(serve_request *r, ferry_ctx *ctx, ferry_status st);
void ferry_i_serve_json(serve_request *r, json_t *json); /* takes it; NULL: no memory */
const char *ferry_i_serve_header(const serve_request *r, const char *name);
const char *ferry_i_serve_query(const serve_request *r, const char *name);
/* The answer is there: wake the connection. Any thread, once. */
void ferry_i_serve_resume(serve_request *r);

/* What each thread of libmicrohttpd has for itself. NULL: no memory. */
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
    const char **name; /* n, lent */
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

/* The version that a job goes to, under a lock that holds off a change of versions: the one
 * that is current now, unless the request named one. */
void ferry_i_models_hold(struct ferry_server *s, struct serve_request *r);
void ferry_i_models_release(struct ferry_server *s);

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
    struct MHD_Daemon *daemon;
    char *cert, *key;
    serve_models models;
    pthread_mutex_t scanning; /* one look at the folder at a time */
    serve_tokens tokens;
    pthread_key_t scratch;
    bool has_scratch;
    pthread_mutex_t log_mutex;
    ferry_log_fn log;
    void *log_user;
    int64_t log_second, log_lines; /* how many lines in this second */
    /* connections and requests */
    pthread_mutex_t mutex; /* of connections, last errors and seconds */
    pthread_cond_t quiet;  /* a request ended */
    serve_connection *connections;
    int64_t n_connections, in_flight;
    _Atomic int64_t charged;
    _Atomic uint64_t next_id;
    uint64_t id_start;
    _Atomic bool stopping, reload;
    /* the ticker */
    pthread_t ticker;
    bool has_ticker;
    pthread_cond_t tick;
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

/* request.c: libmicrohttpd's callbacks. */
enum MHD_Result ferry_i_serve_access(void *server, struct MHD_Connection *mhd,
                                     const char *url, const char *method,
                                     const char *version, const char *upload,
                                     size_t *upload_n, void **request);
void ferry_i_serve_completed(void *server, struct MHD_Connection *mhd, void **request,
                             enum MHD_RequestTerminationCode why);
void ferry_i_serve_connected(void *server, struct MHD_Connection *mhd, void **connection,
                             enum MHD_ConnectionNotificationCode what);

#endif
