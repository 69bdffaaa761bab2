/* Who may: bearer tokens, of which only hashes are kept.
 *
 * A token is random and long (docs/serve.md makes them with openssl rand), so one SHA-256
 * hides it as well as a slow hash would. Every hash of the file is compared, each in the same
 * time whatever it holds, so that answers do not tell how near a guess was. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "serve/serve.h"

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

/* NAME ROLE SHA256 [RATE] */
static ferry_status add_line(ferry_ctx *ctx, const char *path, int64_t line, char *text,
                             double rate, serve_tokens *to)
{
    ferry_status st = FERRY_OK;
    char *save = NULL, *word[5] = {NULL}, *end = NULL;
    serve_token t = {.rate = rate};
    int n = 0, role = 1;

    for (char *w = strtok_r(text, " \t\r", &save); w && n < 5; n++) {
        word[n] = w;
        w = strtok_r(NULL, " \t\r", &save);
    }
    if (n == 0 || word[0][0] == '#') goto done;
    FERRY_NEED_AT(ctx, n == 3 || n == 4, path, line,
                  "expected NAME ROLE SHA256, and a RATE or nothing");
    FERRY_NEED_AT(ctx, strlen(word[0]) < sizeof t.name, path, line,
                  "the name has more than %zu bytes", sizeof t.name - 1);
    while (role < FERRY_COUNT(role_names) && strcmp(word[1], role_names[role]) != 0)
        role++;
    FERRY_NEED_AT(ctx, role < FERRY_COUNT(role_names), path, line,
                  "role '%s': expected read, learn or admin", word[1]);
    FERRY_NEED_AT(ctx, parse_hash(word[2], t.hash), path, line,
                  "expected a SHA-256 sum: 64 digits in lower case");
    if (n == 4) t.rate = strtod(word[3], &end);
    FERRY_NEED_AT(ctx, n == 3 || (*end == 0 && t.rate >= 0 && t.rate < 1e12), path, line,
                  "rate '%s': expected requests a second, 0 for any", word[3]);
    FERRY_HAVE(ctx, FERRY_GROW(to->token, to->n, to->cap));
    memcpy(t.name, word[0], strlen(word[0]));
    t.role = (serve_role)role;
    to->token[to->n++] = t;
done:
    return st;
}

/* Again when the file has changed; when it is wrong the tokens stay as they were. */
ferry_status ferry_i_tokens_read(ferry_ctx *ctx, const char *path, double rate,
                                 serve_tokens *t)
{
    ferry_status st = FERRY_OK;
    serve_tokens fresh = {.n = 0};
    uint8_t *bytes = NULL;
    char *text = NULL, *save = NULL;
    int64_t n = 0, line = 0;
    struct stat info;

    FERRY_NEED(ctx, stat(path, &info) == 0, FERRY_EDATA, "%s: cannot read", path);
    const int64_t mtime = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    if (t->n > 0 && t->size == info.st_size && t->mtime == mtime) goto done;
    FERRY_TRY(ferry_i_folder_read(ctx, path, &bytes, &n));
    FERRY_NEED(ctx, bytes, FERRY_EDATA, "%s: cannot read", path);
    FERRY_HAVE(ctx, text = ferry_i_strndup((const char *)bytes, n));
    for (char *at = text, *next = text; next; at = next) {
        save = strchr(at, '\n');
        next = save ? save + 1 : NULL;
        if (save) *save = 0;
        FERRY_TRY(add_line(ctx, path, ++line, at, rate, &fresh));
    }
    FERRY_NEED(ctx, fresh.n > 0, FERRY_EDATA, "%s: has no token", path);
    pthread_mutex_lock(&t->mutex);
    serve_token *old = t->token;
    t->token = fresh.token;
    t->n = fresh.n;
    t->cap = fresh.cap;
    t->size = info.st_size;
    t->mtime = mtime;
    pthread_mutex_unlock(&t->mutex);
    fresh.token = old;
done:
    FERRY_FREE(bytes, text, fresh.token);
    return st;
}

/* Whether all bytes are the same, in a time that does not depend on them. */
static bool same(const uint8_t *a, const uint8_t *b)
{
    volatile uint8_t differ = 0;

    for (int i = 0; i < 32; i++)
        differ = (uint8_t)(differ | (a[i] ^ b[i]));
    return differ == 0;
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

/* A bucket that holds one second's worth, at least one. */
static double charge(serve_token *t)
{
    const double now = ferry_i_clock(), most = t->rate > 1 ? t->rate : 1;

    if (t->rate <= 0) return 0;
    t->left = t->at > 0 ? t->left + (now - t->at) * t->rate : most;
    if (t->left > most) t->left = most;
    t->at = now;
    if (t->left < 1) return (1 - t->left) / t->rate;
    t->left -= 1;
    return 0;
}

/* Basic, which browsers ask for, takes the token as password; browsers also send it along to
 * what other pages make them ask for, so it counts for reading alone (request.c). */
serve_role ferry_i_tokens_role(serve_tokens *t, const char *header, bool basic,
                               char name[65], double *wait)
{
    serve_role role = SERVE_ANYONE;
    const char *shown = NULL;
    char password[512];
    uint8_t hash[32];
    ferry_sha256 sum;

    *wait = 0;
    if (!header) return role;
    if (strncmp(header, "Bearer ", 7) == 0)
        shown = header + 7;
    else if (basic && strncmp(header, "Basic ", 6) == 0)
        shown = basic_password(header + 6, password, (int64_t)sizeof password);
    if (!shown || !*shown) return role;
    ferry_i_sha256_begin(&sum);
    ferry_i_sha256_add(&sum, shown, (int64_t)strlen(shown));
    ferry_i_sha256_end(&sum, hash);
    pthread_mutex_lock(&t->mutex);
    int64_t found = -1;
    for (int64_t i = 0; i < t->n; i++)
        if (same(hash, t->token[i].hash)) found = i;
    if (found >= 0) {
        role = t->token[found].role;
        memcpy(name, t->token[found].name, sizeof t->token[found].name);
        *wait = charge(&t->token[found]);
    }
    pthread_mutex_unlock(&t->mutex);
    return role;
}
