/* One download by libcurl (loaded here, see core/library.c): resumed, redirected, given up
 * when nothing comes.
 *
 * Bytes are appended to NAME.part, whose length is where the next try begins (HTTP's
 * Range). Nothing here decides whether they are the right ones: the checksum does
 * (fetch.c), so a server that changed the file between two tries is found out. */
#include <curl/curl.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fetch/fetch.h"

/* The functions of libcurl by names of ours, filled once by load(). works: all are
 * there. */
static struct {
    CURLcode (*begin)(long flags);
    CURL *(*open)(void);
    CURLcode (*set)(CURL *curl, CURLoption option, ...);
    CURLcode (*run)(CURL *curl);
    CURLcode (*info)(CURL *curl, CURLINFO what, ...);
    void (*close)(CURL *curl);
    const char *(*explain)(CURLcode code);
    bool works;
} curl;
static pthread_once_t loading = PTHREAD_ONCE_INIT;

/* curl_global_init is not thread-safe, pthread_once makes it so among our own calls. */
static void load(void)
{
    static const ferry_symbol want[] = {
        {"curl_global_init", &curl.begin},     {"curl_easy_init", &curl.open},
        {"curl_easy_setopt", &curl.set},       {"curl_easy_perform", &curl.run},
        {"curl_easy_getinfo", &curl.info},     {"curl_easy_cleanup", &curl.close},
        {"curl_easy_strerror", &curl.explain},
    };
    char why[FERRY_LOAD_WHY];

    curl.works = ferry_i_load("libcurl.so.4", want, FERRY_COUNT(want), why) &&
                 curl.begin(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* What curl's callbacks need to know of a try. */
typedef struct transfer {
    ferry_ctx *ctx;
    const char *what;
    FILE *file;
    CURL *easy;
    int64_t had;       /* bytes of an earlier try */
    int64_t got, most; /* bytes of this one, and of all that may come (-1: any number) */
    int error;         /* errno of a failed write */
    /* what our progress callback said; it ends the transfer when it is not FERRY_OK */
    ferry_status status;
} transfer;

/* Fewer bytes taken than given make curl stop. */
static size_t receive(char *bytes, size_t size, size_t n, void *user)
{
    transfer *t = user;

    t->got += (int64_t)(size * n);
    if (t->most >= 0 && t->had + t->got > t->most) return 0;
    if (fwrite(bytes, size, n, t->file) == n) return size * n;
    t->error = errno ? errno : EIO;
    return 0;
}

/* Not 0 makes curl stop. The totals of a resumed transfer count only what is still to
 * come, so what was there before is added. */
static int progress(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total,
                    curl_off_t up)
{
    transfer *t = user;
    bool finish = false;

    (void)up_total, (void)up;
    if (t->status == FERRY_OK)
        t->status = ferry_i_progress(t->ctx, t->what, t->had + now,
                                     total > 0 ? t->had + total : 0, NAN, &finish);
    return t->status != FERRY_OK || finish;
}

/* Redirections may not leave http(s) either, nor go from https to http. NOSIGNAL: name look-ups must not use SIGALRM
 * in a library. patience bounds the time without a byte and not the whole, which may be
 * hours. */
static void configure(const transfer *t, const ferry_fetch_settings *s, const char *url)
{
    CURL *e = t->easy;

    (void)curl.set(e, CURLOPT_URL, url);
    (void)curl.set(e, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl.set(e, CURLOPT_REDIR_PROTOCOLS_STR,
                   strncmp(url, "https:", 6) == 0 ? "https" : "http,https");
    (void)curl.set(e, CURLOPT_FOLLOWLOCATION, 1L);
    (void)curl.set(e, CURLOPT_MAXREDIRS, 10L);
    (void)curl.set(e, CURLOPT_FAILONERROR, 1L);
    (void)curl.set(e, CURLOPT_NOSIGNAL, 1L);
    (void)curl.set(e, CURLOPT_USERAGENT, "ferry/" FERRY_VERSION);
    (void)curl.set(e, CURLOPT_CONNECTTIMEOUT, (long)s->patience);
    (void)curl.set(e, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl.set(e, CURLOPT_LOW_SPEED_TIME, (long)s->patience);
    (void)curl.set(e, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->had);
    (void)curl.set(e, CURLOPT_WRITEFUNCTION, receive);
    (void)curl.set(e, CURLOPT_WRITEDATA, t);
    (void)curl.set(e, CURLOPT_NOPROGRESS, 0L);
    (void)curl.set(e, CURLOPT_XFERINFOFUNCTION, progress);
    (void)curl.set(e, CURLOPT_XFERINFODATA, t);
}

/* One try. *again: it broke off, and another try may go on from there. */
static ferry_status try_once(ferry_ctx *ctx, const ferry_fetch_settings *s,
                             const char *what, const char *url, int64_t most,
                             const char *part, bool *again)
{
    ferry_status st = FERRY_OK;
    transfer t = {.ctx = ctx, .what = what, .most = most};
    struct stat info;
    long code = 0;

    *again = false;
    t.had = stat(part, &info) == 0 ? (int64_t)info.st_size : 0;
    t.file = fopen(part, "ab");
    FERRY_NEED(ctx, t.file, FERRY_EIO, "%s: cannot write: %s", part, strerror(errno));
    t.easy = curl.open();
    FERRY_HAVE(ctx, t.easy);
    configure(&t, s, url);
    const CURLcode r = curl.run(t.easy);
    (void)curl.info(t.easy, CURLINFO_RESPONSE_CODE, &code);
    if (fflush(t.file) != 0 && !t.error) t.error = errno;
    /* the reasons in order: cancelled by the user, disk, server, network */
    FERRY_TRY(t.status);
    FERRY_NEED(ctx, !t.error, FERRY_EIO, "%s: cannot write: %s", part, strerror(t.error));
    if (most >= 0 && t.had + t.got > most) {
        /* a wrong file, whatever more would come */
        (void)unlink(part);
        FERRY_NEED(ctx, false, FERRY_EDATA,
                   "%s: more comes than the %lld bytes that the catalog says: given up",
                   url, (long long)most);
    }
    if (r == CURLE_OK) goto done;
    if (code == 416) goto done; /* nothing behind what is here: the checksum will show */
    if (code >= 400)
        st = ferry_i_fail(ctx, FERRY_EIO, "%s: the server answered %ld", url, code);
    else
        st = ferry_i_fail(ctx, FERRY_EIO, "%s: %s", url, curl.explain(r));
    /* 4xx stays as it is however often one asks; 5xx and broken connections may pass */
    *again = code < 400 || code >= 500;
    if (r == CURLE_RANGE_ERROR) (void)unlink(part); /* it cannot resume: from the start */
done:
    if (t.easy) curl.close(t.easy);
    if (t.file) (void)fclose(t.file);
    if (stat(part, &info) == 0 && info.st_size == 0) (void)unlink(part);
    return st;
}

/* The message of the last try is the one that is reported. */
ferry_status ferry_i_download(ferry_ctx *ctx, const ferry_fetch_settings *s,
                              const char *what, const char *url, int64_t most,
                              const char *part)
{
    ferry_status st = FERRY_OK;
    bool again = true;

    (void)pthread_once(&loading, load);
    FERRY_NEED(ctx, curl.works, FERRY_EIO,
               "cannot load libcurl.so.4, which downloads need (Debian: libcurl4)");
    for (int64_t i = 0; i < s->tries && again; i++)
        st = try_once(ctx, s, what, url, most, part, &again);
done:
    return st;
}
