/* Who may: bearer tokens, of which only hashes are kept.
 *
 * A token is random and long (docs/serve.md makes them with openssl rand), so one SHA-256
 * hides it as well as a slow hash would. Every hash of the file is compared, each in the same
 * time whatever it holds, so that answers do not tell how near a guess was. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/serve.h"

static const char *const role_names[] = {"", "read", "learn", "admin"};

static bool parse_hash(const char *text, uint8_t hash[32])
{
    if (strlen(text) != 64) return false;
    for (int i = 0; i < 64; i++) {
        const char *at = strchr("0123456789abcdef", text[i]);
        if (!at) return false;
        hash[i / 2] = (uint8_t)(hash[i / 2] << 4 | (at - "0123456789abcdef"));
    }
    return true;
}

/* KEY=NUMBER behind the sum. */
static bool parse_quota(const char *word, serve_token *t)
{
    const struct {
        const char *key;
        double *to;
    } quota[] = {{"rate=", &t->requests.rate}, {"rows=", &t->rows.rate},
                 {"in=", &t->in.rate},         {"out=", &t->out.rate},
                 {"waiting=", &t->waiting},    {"classes=", &t->classes}};
    char *end = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(quota); i++) {
        const size_t n = strlen(quota[i].key);
        if (strncmp(word, quota[i].key, n) != 0 || !word[n]) continue;
        *quota[i].to = strtod(word + n, &end);
        return *end == 0 && *quota[i].to >= 0 && *quota[i].to < 1e15;
    }
    return false;
}

/* Whether all bytes are the same, in a time that does not depend on them. */
static bool same(const uint8_t *a, const uint8_t *b)
{
    volatile uint8_t differ = 0;

    for (int i = 0; i < 32; i++)
        differ = (uint8_t)(differ | (a[i] ^ b[i]));
    return differ == 0;
}

/* NAME ROLE SHA256 [RATE] [KEY=NUMBER...] */
static ferry_status add_line(ferry_ctx *ctx, const char *path, int64_t line, char *text,
                             double rate, serve_tokens *to)
{
    ferry_status st = FERRY_OK;
    char *save = NULL, *word[10] = {NULL}, *end = NULL;
    serve_token t = {.requests.rate = rate, .waiting = -1, .classes = -1};
    int n = 0, role = 1;

    for (char *w = strtok_r(text, " \t\r", &save); w && n < FERRY_COUNT(word); n++) {
        word[n] = w;
        w = strtok_r(NULL, " \t\r", &save);
    }
    if (n == 0 || word[0][0] == '#') goto done;
    FERRY_NEED(ctx, n >= 3 && n < FERRY_COUNT(word), FERRY_EDATA,
               "%s:%lld: expected NAME ROLE SHA256, and a RATE, KEY=NUMBER or nothing",
               path, (long long)line);
    FERRY_NEED(ctx, strlen(word[0]) < sizeof t.name, FERRY_EDATA,
               "%s:%lld: the name has more than %zu bytes", path, (long long)line,
               sizeof t.name - 1);
    while (role < FERRY_COUNT(role_names) && strcmp(word[1], role_names[role]) != 0)
        role++;
    FERRY_NEED(ctx, role < FERRY_COUNT(role_names), FERRY_EDATA,
               "%s:%lld: role '%s': expected read, learn or admin", path, (long long)line,
               word[1]);
    FERRY_NEED(ctx, parse_hash(word[2], t.hash), FERRY_EDATA,
               "%s:%lld: expected a SHA-256 sum: 64 digits in lower case", path,
               (long long)line);
    for (int i = 3; i < n; i++) {
        if (i == 3 && !strchr(word[i], '=')) {
            t.requests.rate = strtod(word[i], &end);
            FERRY_NEED(ctx, *end == 0 && t.requests.rate >= 0 && t.requests.rate < 1e12,
                       FERRY_EDATA,
                       "%s:%lld: rate '%s': expected requests a second, 0 for any", path,
                       (long long)line, word[i]);
            continue;
        }
        FERRY_NEED(
            ctx, parse_quota(word[i], &t), FERRY_EDATA,
            "%s:%lld: '%s': expected rate=, rows=, in=, out=, waiting= or classes=, and "
            "a number",
            path, (long long)line, word[i]);
    }
    memcpy(t.name, word[0], strlen(word[0]));
    t.role = (serve_role)role;
    for (int64_t i = 0; i < to->n; i++) {
        if (!same(to->token[i].hash, t.hash)) continue;
        to->token[i].role = SERVE_ANYONE; /* which of them is meant is not known */
        FERRY_NEED(ctx, false, FERRY_EDATA,
                   "%s:%lld: the token of '%s' is that of '%s' above", path,
                   (long long)line, t.name, to->token[i].name);
    }
    FERRY_HAVE(ctx, FERRY_GROW(to->token, to->n, to->cap));
    to->token[to->n++] = t;
done:
    return st;
}

ferry_status ferry_i_tokens_parse(ferry_ctx *ctx, const char *path, char *text, double rate,
                                  bool strict, serve_tokens *out)
{
    ferry_status first = FERRY_OK;
    char said[512] = "";
    int64_t line = 0;

    for (char *at = text, *next = text; next; at = next) {
        next = strchr(at, '\n');
        if (next) *next++ = 0;
        const ferry_status st = add_line(ctx, path, ++line, at, rate, out);
        if (st == FERRY_OK) continue;
        if (strict || st == FERRY_ENOMEM) return st;
        if (first == FERRY_OK) (void)snprintf(said, sizeof said, "%s", ferry_message(ctx));
        first = st;
    }
    return first == FERRY_OK ? FERRY_OK : ferry_i_fail(ctx, first, "%s", said);
}

/* What a token has used goes on counting when the file is written again. */
static void keep_counts(const serve_tokens *old, serve_tokens *fresh)
{
    for (int64_t i = 0; i < fresh->n; i++)
        for (int64_t j = 0; j < old->n; j++) {
            serve_token *t = &fresh->token[i];
            const serve_token *was = &old->token[j];
            if (!same(t->hash, was->hash)) continue;
            t->requests.left = was->requests.left, t->requests.at = was->requests.at;
            t->rows.left = was->rows.left, t->rows.at = was->rows.at;
            t->in.left = was->in.left, t->in.at = was->in.at;
            t->out.left = was->out.left, t->out.at = was->out.at;
            t->new_classes = was->new_classes;
        }
}

/* The file that is there now, by all that changes when one takes another's place. */
static serve_stamp stamp_of(const char *path)
{
    struct stat i;

    if (stat(path, &i) != 0) return (serve_stamp){.size = -1};
    return (serve_stamp){i.st_size, (int64_t)i.st_ino,
                         (int64_t)i.st_mtim.tv_sec * 1000000000 + i.st_mtim.tv_nsec,
                         (int64_t)i.st_ctim.tv_sec * 1000000000 + i.st_ctim.tv_nsec};
}

/* Fails closed: whoever is not in the file, as far as that can be read, is nobody. */
ferry_status ferry_i_tokens_read(ferry_ctx *ctx, const char *path, double rate, bool strict,
                                 serve_tokens *t)
{
    ferry_status st = FERRY_OK;
    serve_tokens fresh = {.n = 0};
    uint8_t *bytes = NULL;
    char *text = NULL;
    int64_t n = 0;

    pthread_mutex_lock(&t->reading);
    const serve_stamp now = stamp_of(path);
    if (t->read && memcmp(&now, &t->stamp, sizeof now) == 0) {
        pthread_mutex_unlock(&t->reading);
        return st;
    }
    FERRY_TRY(ferry_i_folder_read(ctx, path, &bytes, &n));
    FERRY_NEED(ctx, bytes, FERRY_EDATA, "%s: cannot read", path);
    FERRY_NEED(ctx, n == 0 || !memchr(bytes, 0, (size_t)n), FERRY_EDATA,
               "%s: a zero byte: expected text", path);
    FERRY_HAVE(ctx, text = ferry_i_strndup((const char *)bytes, n));
    FERRY_TRY(ferry_i_tokens_parse(ctx, path, text, rate, strict, &fresh));
    FERRY_NEED(ctx, fresh.n > 0, FERRY_EDATA, "%s: has no token", path);
done:
    if (st == FERRY_OK || !strict) {
        pthread_mutex_lock(&t->mutex);
        keep_counts(t, &fresh);
        serve_token *old = t->token;
        t->token = fresh.token;
        t->n = fresh.n;
        t->cap = fresh.cap;
        pthread_mutex_unlock(&t->mutex);
        fresh.token = old;
        t->stamp = now;
        t->read = st != FERRY_ENOMEM; /* then again */
    }
    pthread_mutex_unlock(&t->reading);
    FERRY_FREE(bytes, text, fresh.token);
    return st;
}

/* The password of "user:password" in base64, in `to`; NULL: it is none. */
static const char *basic_password(const char *text, char *to, int64_t room)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    int64_t n = 0;
    int have = 0;

    for (; *text && *text != '='; text++) {
        const char *at = strchr(letters, *text);
        if (!at || n == room - 1) return NULL;
        bits = bits << 6 | (uint32_t)(at - letters);
        have += 6;
        if (have >= 8) to[n++] = (char)(bits >> (have -= 8) & 255);
    }
    to[n] = 0;
    const char *colon = memchr(to, ':', (size_t)n);
    return colon ? colon + 1 : NULL;
}

/* What may be used now, of a bucket that holds one second's worth. It may go below nothing: who
 * sends much at once waits for long afterwards. */
static double left_in(serve_bucket *b, double now)
{
    const double most = b->rate > 1 ? b->rate : 1;

    b->left = b->at > 0 ? b->left + (now - b->at) * b->rate : most;
    if (b->left > most) b->left = most;
    b->at = now;
    return b->left;
}

/* Seconds until this bucket has `need`; 0: it has it now. */
static double wait_for(serve_bucket *b, double need, double now)
{
    if (b->rate <= 0) return 0;
    const double left = left_in(b, now);
    return left >= need ? 0 : (need - left) / b->rate;
}

/* One request more, unless it has to wait. */
static double charge(serve_token *t)
{
    const double now = ferry_i_clock();
    double wait = wait_for(&t->requests, 1, now);

    wait = fmax(wait, wait_for(&t->rows, DBL_MIN, now));
    wait = fmax(wait, wait_for(&t->in, DBL_MIN, now));
    wait = fmax(wait, wait_for(&t->out, DBL_MIN, now));
    if (wait == 0) t->requests.left -= 1;
    return wait;
}

static serve_token *find(serve_tokens *t, const uint8_t hash[32])
{
    serve_token *found = NULL;

    for (int64_t i = 0; i < t->n; i++)
        if (same(hash, t->token[i].hash)) found = &t->token[i];
    return found;
}

void ferry_i_tokens_spend(serve_tokens *t, const serve_who *who, int64_t rows, int64_t in,
                          int64_t out)
{
    pthread_mutex_lock(&t->mutex);
    serve_token *found = who->name[0] ? find(t, who->hash) : NULL;
    if (found) {
        const double now = ferry_i_clock();
        (void)left_in(&found->rows, now);
        (void)left_in(&found->in, now);
        (void)left_in(&found->out, now);
        found->rows.left -= (double)rows;
        found->in.left -= (double)in;
        found->out.left -= (double)out;
    }
    pthread_mutex_unlock(&t->mutex);
}

int64_t ferry_i_tokens_classes(serve_tokens *t, const serve_who *who, int64_t more)
{
    int64_t left = -1;

    pthread_mutex_lock(&t->mutex);
    serve_token *found = who->name[0] ? find(t, who->hash) : NULL;
    if (found) found->new_classes += more;
    if (found && found->classes >= 0)
        left = (int64_t)fmax(0, found->classes - (double)found->new_classes);
    pthread_mutex_unlock(&t->mutex);
    return left;
}

/* Basic, which browsers ask for, takes the token as password; browsers also send it along to
 * what other pages make them ask for, so it counts for reading alone (request.c). */
serve_role ferry_i_tokens_role(serve_tokens *t, const char *header, bool basic,
                               serve_who *who, double *wait)
{
    const char *shown = NULL;
    char password[512];
    ferry_sha256 sum;

    *wait = 0;
    *who = (serve_who){.waiting = -1};
    if (!header) return who->role;
    if (strncmp(header, "Bearer ", 7) == 0)
        shown = header + 7;
    else if (basic && strncmp(header, "Basic ", 6) == 0)
        shown = basic_password(header + 6, password, (int64_t)sizeof password);
    if (!shown || !*shown) return who->role;
    ferry_i_sha256_begin(&sum);
    ferry_i_sha256_add(&sum, shown, (int64_t)strlen(shown));
    ferry_i_sha256_end(&sum, who->hash);
    pthread_mutex_lock(&t->mutex);
    serve_token *found = find(t, who->hash);
    if (found) {
        who->role = found->role;
        who->waiting = (int64_t)found->waiting;
        memcpy(who->name, found->name, sizeof who->name);
        *wait = charge(found);
    }
    pthread_mutex_unlock(&t->mutex);
    return who->role;
}
