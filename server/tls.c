/* TLS by GnuTLS, loaded when a server wants it: nobody else pays for it. */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <string.h>

#include "server/http.h"

static struct {
    int (*init)(gnutls_session_t *, unsigned);
    void (*deinit)(gnutls_session_t);
    int (*priority_init)(gnutls_priority_t *, const char *, const char **);
    void (*priority_deinit)(gnutls_priority_t);
    int (*priority_set)(gnutls_session_t, gnutls_priority_t);
    int (*keys_new)(gnutls_certificate_credentials_t *);
    void (*keys_free)(gnutls_certificate_credentials_t);
    int (*keys_mem)(gnutls_certificate_credentials_t, const gnutls_datum_t *,
                    const gnutls_datum_t *, gnutls_x509_crt_fmt_t);
    int (*keys_set)(gnutls_session_t, gnutls_credentials_type_t, void *);
    void (*use_fds)(gnutls_session_t, int, int);
    int (*handshake)(gnutls_session_t);
    ssize_t (*recv)(gnutls_session_t, void *, size_t);
    ssize_t (*send)(gnutls_session_t, const void *, size_t);
    int (*bye)(gnutls_session_t, gnutls_close_request_t);
    const char *(*strerror)(int);
} tls;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool works;
static char why[FERRY_LOAD_WHY];

struct tls_keys {
    gnutls_certificate_credentials_t keys;
    gnutls_priority_t priority;
};
struct tls_session {
    gnutls_session_t session;
};

static void load(void)
{
    static const ferry_symbol want[] = {
        {"gnutls_init", &tls.init},
        {"gnutls_deinit", &tls.deinit},
        {"gnutls_priority_init", &tls.priority_init},
        {"gnutls_priority_deinit", &tls.priority_deinit},
        {"gnutls_priority_set", &tls.priority_set},
        {"gnutls_certificate_allocate_credentials", &tls.keys_new},
        {"gnutls_certificate_free_credentials", &tls.keys_free},
        {"gnutls_certificate_set_x509_key_mem", &tls.keys_mem},
        {"gnutls_credentials_set", &tls.keys_set},
        {"gnutls_transport_set_int2", &tls.use_fds},
        {"gnutls_handshake", &tls.handshake},
        {"gnutls_record_recv", &tls.recv},
        {"gnutls_record_send", &tls.send},
        {"gnutls_bye", &tls.bye},
        {"gnutls_strerror", &tls.strerror},
    };

    works = ferry_i_load("libgnutls.so.30", want, FERRY_COUNT(want), why);
}

static gnutls_datum_t datum(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)};
}

ferry_status ferry_i_tls_open(ferry_ctx *ctx, const char *cert, const char *key,
                              tls_keys **out)
{
    ferry_status st = FERRY_OK;
    const gnutls_datum_t c = datum(cert), k = datum(key);
    tls_keys *keys = NULL;

    (void)pthread_once(&once, load);
    FERRY_NEED(ctx, works, FERRY_ENEEDS,
               "GnuTLS cannot be loaded (Debian: libgnutls30): %s", why);
    FERRY_NEW(ctx, keys, 1);
    FERRY_HAVE(ctx, tls.keys_new(&keys->keys) == GNUTLS_E_SUCCESS);
    FERRY_HAVE(ctx, tls.priority_init(&keys->priority,
                                      "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2",
                                      NULL) == GNUTLS_E_SUCCESS);
    const int code = tls.keys_mem(keys->keys, &c, &k, GNUTLS_X509_FMT_PEM);
    FERRY_NEED(ctx, code >= 0, FERRY_EDATA,
               "tls_cert and tls_key: expected a pair of PEM files: %s",
               tls.strerror(code));
    FERRY_MOVE(*out, keys);
done:
    ferry_i_tls_close(keys);
    return st;
}

void ferry_i_tls_close(tls_keys *k)
{
    if (!k) return;
    if (k->priority) tls.priority_deinit(k->priority);
    if (k->keys) tls.keys_free(k->keys);
    ferry_i_free(k);
}

tls_session *ferry_i_tls_new(const tls_keys *k, int fd)
{
    tls_session *s = ferry_i_calloc(1, sizeof *s);

    if (!s) return NULL;
    if (tls.init(&s->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0 ||
        tls.priority_set(s->session, k->priority) < 0 ||
        tls.keys_set(s->session, GNUTLS_CRD_CERTIFICATE, k->keys) < 0) {
        ferry_i_tls_free(s);
        return NULL;
    }
    tls.use_fds(s->session, fd, fd);
    return s;
}

void ferry_i_tls_free(tls_session *s)
{
    if (!s) return;
    if (s->session) tls.deinit(s->session);
    ferry_i_free(s);
}

/* What a socket would say: 0 or more, or -1 with errno. */
static int64_t as_socket(ssize_t code)
{
    if (code >= 0) return code;
    errno = code == GNUTLS_E_AGAIN ? EAGAIN : code == GNUTLS_E_INTERRUPTED ? EINTR : EPROTO;
    return -1;
}

int ferry_i_tls_shake(tls_session *s)
{
    return (int)as_socket(tls.handshake(s->session));
}

int64_t ferry_i_tls_read(tls_session *s, void *to, int64_t n)
{
    return as_socket(tls.recv(s->session, to, (size_t)n));
}

int64_t ferry_i_tls_write(tls_session *s, const void *from, int64_t n)
{
    return as_socket(tls.send(s->session, from, (size_t)n));
}

void ferry_i_tls_bye(tls_session *s)
{
    (void)tls.bye(s->session, GNUTLS_SHUT_WR);
}
