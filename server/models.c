/* The models: what the folder holds, loaded; versions that come and go.
 *
 *   NAME.ferry              model NAME, version 1
 *   NAME/N.ferry            version N; the highest is the current one
 *   NAME/N.shadow.ferry     a candidate: asked too, never shown; renamed to N.ferry it serves
 *
 * A file is loaded and asked one question beside the version at work, and catches up with its
 * log (join.c); only then requests go to it. What cannot be loaded is told once and passed
 * over. One thread looks and loads; the lock of the lists is held for a moment at a time. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/serve.h"

/* ---- what the folder holds ---- */

typedef struct found {
    char *name, *path;
    int64_t number, size, mtime;
    bool shadow, gone; /* gone: another file had its place, and is no more */
} found;
typedef struct findings {
    found *at;
    int64_t n, cap;
} findings;

static void free_findings(findings *f)
{
    for (int64_t i = 0; i < f->n; i++)
        FERRY_FREE(f->at[i].name, f->at[i].path);
    ferry_i_free(f->at);
}

/* Names become parts of paths, of the state's folder and of requests. */
static bool plain(const char *name, int64_t n)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

    return n > 0 && n < 200 && name[0] != '.' && (int64_t)strspn(name, letters) >= n;
}

static ferry_status add(ferry_ctx *ctx, findings *f, const char *name, int64_t name_n,
                        int64_t number, bool shadow, const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return FERRY_OK;
    if (!FERRY_GROW(f->at, f->n, f->cap)) return ferry_i_nomem(ctx);
    found *to = &f->at[f->n++];
    *to = (found){.name = ferry_i_strndup(name, name_n),
                  .path = ferry_i_strdup(path),
                  .number = number,
                  .size = info.st_size,
                  .mtime = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec,
                  .shadow = shadow};
    return to->name && to->path ? FERRY_OK : ferry_i_nomem(ctx);
}

/* N.ferry or N.shadow.ferry; 0: neither. */
static int64_t number_of(const char *file, bool *shadow)
{
    const char *tail = strchr(file, '.');
    int64_t n = 0;

    *shadow = tail && strcmp(tail, ".shadow.ferry") == 0;
    if (!tail || (!*shadow && strcmp(tail, ".ferry") != 0)) return 0;
    return ferry_i_parse_int(file, tail, &n) == tail && n >= 1 ? n : 0;
}

static ferry_status look_in(ferry_ctx *ctx, const char *folder, const char *model,
                            findings *f)
{
    ferry_status st = FERRY_OK;
    DIR *dir = opendir(folder);
    char *path = NULL;
    struct stat info;

    FERRY_NEED(ctx, dir, FERRY_EDATA, "%s: cannot read: %s", folder, strerror(errno));
    for (struct dirent *e; (e = readdir(dir));) {
        const int64_t n = (int64_t)strlen(e->d_name);
        bool shadow = false;
        if (!plain(e->d_name, n)) continue;
        ferry_i_free(path);
        FERRY_HAVE(ctx, path = ferry_i_path_join(folder, e->d_name));
        if (model) {
            const int64_t number = number_of(e->d_name, &shadow);
            if (number)
                FERRY_TRY(add(ctx, f, model, (int64_t)strlen(model), number, shadow, path));
        } else if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
            FERRY_TRY(look_in(ctx, path, e->d_name, f));
        } else if (ferry_i_ends_with(e->d_name, ".ferry") && n > 6) {
            FERRY_TRY(add(ctx, f, e->d_name, n - 6, 1, false, path));
        }
    }
done:
    if (dir) (void)closedir(dir);
    ferry_i_free(path);
    return st;
}

static ferry_status look(ferry_ctx *ctx, const ferry_server *s, findings *f)
{
    const char *path = s->models_path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const int64_t n = (int64_t)strlen(name) - (ferry_i_ends_with(name, ".ferry") ? 6 : 0);

    if (s->folder) return look_in(ctx, path, NULL, f);
    return add(ctx, f, plain(name, n) ? name : "default", plain(name, n) ? n : 7, 1, false,
               path);
}

/* By number, shadows last: of a version and a shadow of one number the version stays. */
static int by_number(const void *a, const void *b)
{
    const found *x = a, *y = b;

    if (x->shadow != y->shadow) return x->shadow ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

/* ---- the list ---- */

static serve_model *model_of(serve_models *all, const char *name)
{
    for (int64_t i = 0; i < all->n; i++)
        if (strcmp(all->model[i].name, name) == 0) return &all->model[i];
    return NULL;
}

static int64_t place_of(const serve_model *m, int64_t number, bool shadow)
{
    for (int64_t i = 0; m && i < m->n; i++)
        if (m->version[i]->number == number && m->version[i]->shadow == shadow) return i;
    return -1;
}

serve_version *ferry_i_models_get(ferry_server *s, const char *name, int64_t number)
{
    serve_version *v = NULL;

    pthread_rwlock_rdlock(&s->models.lock);
    const serve_model *m = model_of(&s->models, name ? name : "default");
    if (!name && !m && s->models.n == 1) m = &s->models.model[0];
    if (m && number > 0) {
        const int64_t at = place_of(m, number, false);
        v = at >= 0 ? m->version[at] : NULL;
    } else if (m) {
        v = m->current;
    }
    (void)ferry_i_version_ref(v);
    pthread_rwlock_unlock(&s->models.lock);
    return v;
}

void ferry_i_models_serve(ferry_server *s, serve_version *v)
{
    pthread_rwlock_wrlock(&s->models.lock);
    serve_model *m = model_of(&s->models, v->name);
    if (m) m->current = v;
    pthread_rwlock_unlock(&s->models.lock);
}

/* The entry of a name, a new one if need be. */
static ferry_status find_model(ferry_ctx *ctx, ferry_server *s, const char *name,
                               serve_model **out)
{
    ferry_status st = FERRY_OK;
    serve_models *all = &s->models;
    serve_writer *w = NULL;
    char *copy = NULL;

    if ((*out = model_of(all, name))) return FERRY_OK;
    if (s->set.state[0]) FERRY_TRY(ferry_i_writer_new(ctx, s, name, &w));
    FERRY_HAVE(ctx, copy = ferry_i_strdup(name));
    FERRY_HAVE(ctx, FERRY_GROW(all->model, all->n, all->cap));
    *out = &all->model[all->n++];
    **out = (serve_model){.name = copy, .writer = w};
    copy = NULL;
    w = NULL;
done:
    ferry_i_free(copy);
    ferry_i_writer_free(w);
    return st;
}

ferry_status ferry_i_models_add(ferry_ctx *ctx, ferry_server *s, serve_version *v)
{
    ferry_status st = FERRY_OK;
    serve_version *old = NULL;
    serve_model *m = NULL;

    pthread_rwlock_wrlock(&s->models.lock);
    FERRY_TRY(find_model(ctx, s, v->name, &m));
    FERRY_HAVE(ctx, FERRY_GROW(m->version, m->n, m->cap));
    int64_t at = place_of(m, v->number, v->shadow);
    if (at >= 0) { /* one that does not learn, or has no file any more */
        old = m->version[at];
        if (m->current == old) m->current = v;
    } else {
        for (at = m->n++; at > 0 && m->version[at - 1]->number > v->number; at--)
            m->version[at] = m->version[at - 1];
    }
    v->writer = m->writer;
    m->version[at] = v;
    v = NULL;
done:
    pthread_rwlock_unlock(&s->models.lock);
    ferry_i_version_free(v);
    ferry_i_version_free(old);
    return st;
}

/* Take a version whose file has gone out of the list. */
static void retire(ferry_server *s, serve_model *m, int64_t at)
{
    serve_version *v = m->version[at];

    if (m->writer && ferry_i_writer_feeds(m->writer, v)) ferry_i_version_leave(m->writer);
    pthread_rwlock_wrlock(&s->models.lock);
    for (m->n--; at < m->n; at++)
        m->version[at] = m->version[at + 1];
    if (m->shadow == v) m->shadow = NULL;
    pthread_rwlock_unlock(&s->models.lock);
    ferry_i_serve_log(s, FERRY_INFO, "model %s: version %lld%s has gone", v->name,
                      (long long)v->number, v->shadow ? " (shadow)" : "");
    ferry_i_version_free(v);
}

/* ---- looking ---- */

/* Tell what is wrong with a file, once for each time that it changes. */
static void refuse(ferry_server *s, const found *f, const char *why)
{
    serve_models *all = &s->models;
    int64_t i = 0;

    while (i < all->n_refused && strcmp(all->refused[i].path, f->path) != 0)
        i++;
    if (i == all->n_refused) {
        char *path = ferry_i_strdup(f->path);
        if (!path || !FERRY_GROW(all->refused, all->n_refused, all->refused_cap)) {
            ferry_i_free(path);
            return;
        }
        all->refused[all->n_refused++] = (serve_refused){.path = path};
    }
    all->refused[i].size = f->size;
    all->refused[i].mtime = f->mtime;
    all->refused[i].gone = f->gone;
    ferry_i_serve_log(s, FERRY_WARN, "refused: %s", why);
}

static bool was_refused(const serve_models *all, const found *f)
{
    for (int64_t i = 0; i < all->n_refused; i++)
        if (strcmp(all->refused[i].path, f->path) == 0)
            return all->refused[i].size == f->size && all->refused[i].mtime == f->mtime &&
                   all->refused[i].gone == f->gone;
    return false;
}

/* A version that learns does not change under its number; but its file may have been away, or
 * written again with the same bytes. */
static ferry_status same_again(ferry_ctx *ctx, serve_version *have, const found *f)
{
    ferry_status st = FERRY_OK;
    uint8_t *bytes = NULL;
    char *path = NULL;
    int64_t n = 0;

    FERRY_TRY(ferry_i_folder_read(ctx, f->path, &bytes, &n));
    const ferry_hash hash = ferry_i_stream_hash(bytes ? (void *)bytes : "", bytes ? n : 0);
    FERRY_NEED(ctx, memcmp(&hash, &have->hash, sizeof hash) == 0, FERRY_EDATA, CHANGED,
               f->path, (long long)f->number);
    FERRY_HAVE(ctx, path = ferry_i_strdup(f->path));
    ferry_i_free(have->path);
    FERRY_MOVE(have->path, path);
    have->size = f->size;
    have->mtime = f->mtime;
done:
    FERRY_FREE(bytes, path);
    return st;
}

/* A file that was refused because its place is another's is asked about again once that one
 * has gone. */
static ferry_status consider(ferry_ctx *ctx, ferry_server *s, found *f)
{
    ferry_status st = FERRY_OK;
    serve_model *m = model_of(&s->models, f->name);
    const int64_t at = place_of(m, f->number, f->shadow);
    serve_version *have = at >= 0 ? m->version[at] : NULL, *v = NULL;
    struct stat info;
    const bool other = have && strcmp(have->path, f->path) != 0;

    f->gone = other && (stat(have->path, &info) != 0 || have->size < 0);
    if ((have && have->size == f->size && have->mtime == f->mtime) ||
        was_refused(&s->models, f))
        goto done;
    FERRY_NEED(ctx, !other || f->gone, FERRY_EDATA,
               "%s: version %lld of model %s is %s already", f->path, (long long)f->number,
               f->name, have->path);
    FERRY_NEED(ctx, place_of(m, f->number, !f->shadow) < 0, FERRY_EDATA,
               "%s: there is a %s %lld of model %s already", f->path,
               f->shadow ? "version" : "shadow", (long long)f->number, f->name);
    if (have && have->learns) {
        FERRY_TRY(same_again(ctx, have, f));
        goto done;
    }
    FERRY_TRY(ferry_i_version_open(ctx, s, f->name, f->number, f->shadow, f->path, &v));
    FERRY_TRY(ferry_i_models_add(ctx, s, v));
done:
    return st;
}

static bool is_there(const findings *f, const serve_version *v)
{
    for (int64_t i = 0; i < f->n; i++)
        if (f->at[i].number == v->number && f->at[i].shadow == v->shadow &&
            strcmp(f->at[i].name, v->name) == 0)
            return true;
    return false;
}

/* ---- who serves ---- */

/* The one that should: the highest whose file is there. */
static serve_version *highest(const serve_model *m, const findings *f, bool shadow)
{
    for (int64_t i = m->n - 1; i >= 0; i--)
        if (m->version[i]->shadow == shadow && is_there(f, m->version[i]))
            return m->version[i];
    return NULL;
}

/* The writer may change it when it opens its log again. */
static const serve_version *current_of(ferry_server *s, const serve_model *m)
{
    pthread_rwlock_rdlock(&s->models.lock);
    const serve_version *v = m->current;
    pthread_rwlock_unlock(&s->models.lock);
    return v;
}

/* One that learns serves by its log, which is opened with the first. `later`: when the log has
 * another, that one will do for the moment. */
static ferry_status let_serve(ferry_ctx *ctx, serve_model *m, serve_version *v, bool later)
{
    serve_writer *w = m->writer;

    if (!v->learns) {
        ferry_i_models_serve(v->server, v);
        return FERRY_OK;
    }
    if (!w->has_thread) FERRY_PASS(ferry_i_writer_open(ctx, w, v));
    for (int64_t i = 0; i < m->n; i++)
        if (m->version[i]->learns && m->version[i]->own && !m->version[i]->shadow)
            ferry_i_version_recall(ctx, w, m->version[i]);
    if (later && current_of(v->server, m)) { /* answers first */
        v->server->reload = true;
        return FERRY_OK;
    }
    if (!ferry_i_writer_serves(w, v)) FERRY_PASS(ferry_i_version_join(ctx, w, v));
    ferry_i_models_serve(v->server, v); /* after one that does not learn */
    return FERRY_OK;
}

static ferry_status resolve(ferry_ctx *ctx, serve_model *m, const findings *f,
                            bool starting)
{
    serve_version *v = highest(m, f, false), *shadow = highest(m, f, true);

    if (v && current_of(v->server, m) != v) FERRY_PASS(let_serve(ctx, m, v, starting));
    m->shadow = shadow;
    if (!shadow || !m->writer || !m->writer->has_thread) return FERRY_OK;
    return ferry_i_writer_feeds(m->writer, shadow)
               ? FERRY_OK
               : ferry_i_version_join(ctx, m->writer, shadow);
}

/* Not one that is still to take over. */
static void tell_new(ferry_server *s, const serve_model *m)
{
    const serve_version *now = current_of(s, m);

    for (int64_t i = 0; i < m->n; i++) {
        serve_version *v = m->version[i];
        if (!v->fresh || (!v->shadow && now && v->number > now->number)) continue;
        v->fresh = false;
        ferry_i_serve_log(s, FERRY_INFO, "model %s: version %lld%s is there%s", v->name,
                          (long long)v->number, v->shadow ? " (shadow)" : "",
                          v->learns ? " and learns" : "");
    }
}

/* What cannot be done now is tried again at the next look, and told when it changes. */
static ferry_status resolve_all(ferry_ctx *ctx, ferry_server *s, const findings *f,
                                bool strict)
{
    for (int64_t i = 0; i < s->models.n; i++) {
        serve_model *m = &s->models.model[i];
        const ferry_status st = resolve(ctx, m, f, strict);
        char *told = m->writer ? m->writer->why : NULL;
        if (st != FERRY_OK && ((strict && !m->current) || s->stopping)) return st;
        if (st != FERRY_OK && told && strcmp(told, ferry_message(ctx)) != 0) {
            (void)snprintf(told, sizeof m->writer->why, "%s", ferry_message(ctx));
            ferry_i_serve_log(s, FERRY_WARN, "model %s: %s", m->name, told);
        }
        if (st != FERRY_OK) continue;
        if (told) told[0] = 0;
        tell_new(s, m);
    }
    return FERRY_OK;
}

/* Versions whose file has gone. The current one stays while there is no other: the one below it
 * serves again, but a folder that is empty for a moment stops nothing. */
static void retire_all(ferry_server *s, const findings *f, bool shadows)
{
    for (int64_t i = 0; i < s->models.n; i++) {
        serve_model *m = &s->models.model[i];
        int64_t left = 0;
        for (int64_t j = 0; j < m->n; j++)
            left += !m->version[j]->shadow && is_there(f, m->version[j]);
        for (int64_t j = m->n - 1; j >= 0; j--)
            if (m->version[j]->shadow == shadows && !is_there(f, m->version[j]) &&
                m->version[j] != current_of(s, m) && (shadows || left > 0))
                retire(s, m, j);
    }
}

ferry_status ferry_i_models_scan(ferry_ctx *ctx, ferry_server *s, bool strict)
{
    ferry_status st = FERRY_OK;
    findings f = {0};

    FERRY_TRY(look(ctx, s, &f));
    if (f.n > 0) qsort(f.at, (size_t)f.n, sizeof *f.at, by_number);
    FERRY_NEED(ctx, f.n > 0 || !strict, FERRY_EDATA,
               "%s: has no model: expected NAME.ferry or NAME/VERSION.ferry",
               s->models_path);
    retire_all(s, &f, true);
    for (int64_t i = 0; i < f.n; i++) {
        st = consider(ctx, s, &f.at[i]);
        if (st == FERRY_OK || strict || s->stopping) FERRY_TRY(st);
        if (st != FERRY_OK) refuse(s, &f.at[i], ferry_message(ctx));
        st = FERRY_OK;
    }
    FERRY_TRY(resolve_all(ctx, s, &f, strict));
    retire_all(s, &f, false);
done:
    free_findings(&f);
    return st;
}

void ferry_i_models_stop(ferry_ctx *ctx, ferry_server *s, ferry_status *st)
{
    for (int64_t i = 0; i < s->models.n; i++) {
        serve_writer *w = s->models.model[i].writer;
        const ferry_status one = w ? ferry_i_writer_stop(ctx, w) : FERRY_OK;
        if (one != FERRY_OK) *st = one;
    }
}

void ferry_i_models_free(ferry_server *s)
{
    serve_models *all = &s->models;

    for (int64_t i = 0; i < all->n; i++) {
        for (int64_t j = 0; j < all->model[i].n; j++)
            ferry_i_version_free(all->model[i].version[j]);
        ferry_i_writer_free(all->model[i].writer);
        FERRY_FREE(all->model[i].name, all->model[i].version);
    }
    for (int64_t i = 0; i < all->n_refused; i++)
        ferry_i_free(all->refused[i].path);
    FERRY_FREE(all->model, all->refused);
    all->n = all->n_refused = 0;
}
