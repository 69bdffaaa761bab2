/* HTTP/1.1 for servers: connections, requests and answers, over TCP, Unix sockets and TLS.
 *
 * Requests are read as strictly as RFC 9112 allows: what two readers could understand
 * differently (a blank before a colon, a line that ends in LF alone, two lengths, two hosts, a
 * byte that no header has) is refused, and the connection with it. So nothing that stands in a
 * body or a header runs as another request, whoever stands before this server. */
#ifndef FERRY_SERVE_HTTP_H
#define FERRY_SERVE_HTTP_H

#include "core/core.h"

#define HTTP_HEAD_MOST 32768 /* bytes of a request before its body */
#define HTTP_FIELDS 100

/* ---- the head of a request (http_head.c) ---- */

typedef struct http_wrong {
    unsigned status; /* 0: nothing is wrong */
    const char *why;
} http_wrong;

typedef struct http_field {
    const char *name, *value;
} http_field;

/* Texts point into `text`. */
typedef struct http_head {
    const char *method, *path, *query; /* path: without escapes; query: as it came, or "" */
    http_field field[HTTP_FIELDS];
    int fields, minor; /* of HTTP/1.minor */
    int64_t length;    /* of the body; -1: it comes in chunks */
    bool close;        /* the client sends no other request */
    bool expects;      /* it waits for 100 (Continue) before the body */
    char text[];
} http_head;

/* How many of these bytes are the head of a request, with its empty line; 0: it goes on. What
 * cannot become one is wrong at once. */
int64_t ferry_i_http_end(const char *bytes, int64_t n, http_wrong *wrong);
/* Take a head of n bytes apart. NULL without `wrong`: no memory. */
http_head *ferry_i_http_parse(const char *bytes, int64_t n, http_wrong *wrong);
/* The value of a field by its name in any case; NULL: there is none. */
const char *ferry_i_http_field(const http_head *h, const char *name);
/* name=value of the query, without escapes, in `to`; false: there is none. */
bool ferry_i_http_query(const http_head *h, const char *name, char *to, int64_t room);

/* ---- the body of a request ---- */

typedef struct http_body {
    int64_t left; /* bytes of the body, or of this chunk */
    bool chunked;
    int state, digits, extra;
} http_body;
enum { HTTP_MORE, HTTP_PIECE, HTTP_END, HTTP_BAD };
void ferry_i_http_body(http_body *b, const http_head *h);
/* Go over some of the bytes, *used of them; HTTP_PIECE: the last *piece of these are the body's. */
int ferry_i_http_next(http_body *b, const char *bytes, int64_t n, int64_t *used,
                      int64_t *piece);

/* ---- the server (http.c) ---- */

typedef struct http_server http_server;
typedef struct http_connection http_connection;

/* An answer that is made while it is sent: up to `most` bytes; 0: no more; -1: it fails. */
typedef struct http_source {
    int64_t (*read)(void *from, char *to, int64_t most);
    void (*free)(void *from);
    void *from; /* NULL: there is none */
} http_source;

typedef struct http_answer {
    unsigned status;
    ferry_text lines; /* of its head, but for those about its length and the connection */
    char *bytes;      /* ferry_i_free() */
    int64_t n;
    http_source source; /* in place of bytes */
} http_answer;

/* What a server is for. All are called by the connection's thread. */
typedef struct http_events {
    void *user;
    /* The head is there, or what came is none (head NULL). *refused: it is answered without its
     * body. NULL: no memory. */
    void *(*begin)(void *user, http_connection *c, const http_head *head,
                   const http_wrong *wrong, bool *refused);
    bool (*take)(void *request, const char *bytes, int64_t n); /* false: enough of it */
    bool (*work)(
        void *request); /* the body is there; false: ferry_i_http_resume() follows */
    void (*finish)(void *request, http_answer *out);
    void (*end)(void *request);
} http_events;

typedef struct http_settings {
    int listener;
    int64_t threads, connections;
    double timeout, idle; /* seconds for a request to come, and between two of them */
    const char *cert, *key;
    http_events on;
} http_settings;

ferry_status ferry_i_http_start(ferry_ctx *ctx, const http_settings *set,
                                http_server **out);
void ferry_i_http_quiesce(http_server *h); /* no new connections; idle ones are closed */
void ferry_i_http_stop(http_server *h);    /* and all that is left; NULL is fine */
int64_t ferry_i_http_connections(const http_server *h);
/* The answer to a request that was left to somebody else is there. Any thread, once. After this
 * call the request may be gone. */
void ferry_i_http_resume(http_connection *c);

/* ---- TLS 1.2 and newer by GnuTLS, which is loaded when it is first wanted (tls.c) ---- */

typedef struct tls_keys tls_keys;
typedef struct tls_session tls_session;
ferry_status ferry_i_tls_open(ferry_ctx *ctx, const char *cert, const char *key,
                              tls_keys **out);
void ferry_i_tls_close(tls_keys *k);
tls_session *ferry_i_tls_new(const tls_keys *k, int fd); /* NULL: no memory */
void ferry_i_tls_free(tls_session *s);
/* As recv() and send() on a socket that does not block; shake: 0 when it is done. */
int ferry_i_tls_shake(tls_session *s);
int64_t ferry_i_tls_read(tls_session *s, void *to, int64_t n);
int64_t ferry_i_tls_write(tls_session *s, const void *from, int64_t n);
void ferry_i_tls_bye(tls_session *s);

#endif
