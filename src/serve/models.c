/* The models: what the folder holds, loaded; versions that come and go.
 *
 *   NAME.ferry              model NAME, version 1
 *   NAME/N.ferry            version N; the highest is the current one
 *   NAME/N.shadow.ferry     a candidate: asked too, never shown; renamed to N.ferry it serves
 *
 * A file is loaded, its state opened and one question asked beside the version at work; only
 * then requests go to it. What cannot be loaded is told once and passed over. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "serve/serve.h"

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

/* Shadows first, then by number: a shadow that became a version lets go of its state before
 * the version asks for it. */
static int by_number(const void *a, const void *b)
{
    const found *x = a, *y = b;

    if (x->shadow != y->shadow) return x->shadow ? -1 : 1;
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

void ferry_i_models_hold(ferry_server *s, serve_request *r)
{
    pthread_rwlock_rdlock(&s->models.lock);
    const serve_model *m = model_of(&s->models, r->version->name);
    if (r->exact || !m || !m->current || m->current == r->version) return;
    ferry_i_version_free(r->version);
    r->version = ferry_i_version_ref(m->current);
}

void ferry_i_models_release(ferry_server *s)
{
    pthread_rwlock_unlock(&s->models.lock);
}

/* Which version is current now, and which shadow stands beside it. The writer that loses its
 * place finishes first, and so does one that the new version has already, being asked for by
 * number; what waits for a label there waits in the new one. Requests wait meanwhile: the
 * list's lock is held. */
static ferry_status settle(ferry_ctx *ctx, serve_model *m)
{
    serve_version *old = m->current, *now = NULL, *shadow = NULL;

    for (int64_t i = 0; i < m->n; i++)
        *(m->version[i]->shadow ? &shadow : &now) = m->version[i];
    if (old) {
        ferry_i_writer_drain(old);
        ferry_i_version_free(old->beside);
        old->beside = NULL;
    }
    if (now && now != old) ferry_i_writer_drain(now);
    if (now && old && now != old && ferry_i_version_take_over(ctx, now, old) != FERRY_OK)
        ferry_i_serve_log(now->server, FERRY_WARN,
                          "%s: what the version before got last is not there: %s",
                          now->path, ferry_message(ctx));
    m->current = now;
    m->shadow = shadow;
    if (!now) return FERRY_OK;
    now->replayed = -1;
    now->beside = now->folder ? ferry_i_version_ref(shadow) : NULL;
    return ferry_i_writer_start(ctx, now);
}

/* Put a version into the list, which has it from here on, in the place of one with the same
 * number if there is one. */
static ferry_status install(ferry_ctx *ctx, ferry_server *s, serve_version *v)
{
    ferry_status st = FERRY_OK;
    serve_models *all = &s->models;
    serve_version *old = NULL;

    pthread_rwlock_wrlock(&all->lock);
    serve_model *m = model_of(all, v->name);
    if (!m) {
        char *name = ferry_i_strdup(v->name);
        FERRY_HAVE(ctx, name && FERRY_GROW(all->model, all->n, all->cap));
        m = &all->model[all->n++];
        *m = (serve_model){.name = name};
    }
    FERRY_HAVE(ctx, FERRY_GROW(m->version, m->n, m->cap));
    int64_t at = place_of(m, v->number, v->shadow);
    if (at >= 0) {
        old = m->version[at];
        if (m->current == old) {
            ferry_i_writer_drain(old);
            ferry_i_version_free(old->beside);
            old->beside = NULL;
            m->current = NULL;
        }
    } else {
        for (at = m->n++; at > 0 && m->version[at - 1]->number > v->number; at--)
            m->version[at] = m->version[at - 1];
    }
    m->version[at] = v;
    v = NULL;
    FERRY_TRY(settle(ctx, m));
done:
    pthread_rwlock_unlock(&all->lock);
    ferry_i_version_free(v);
    if (old) {
        (void)ferry_i_writer_stop(ctx, old);
        ferry_i_version_free(old);
    }
    return st;
}

/* Take a version whose file has gone out of the list. */
static void retire(ferry_ctx *ctx, ferry_server *s, serve_model *m, int64_t at)
{
    serve_version *v = m->version[at];

    pthread_rwlock_wrlock(&s->models.lock);
    for (m->n--; at < m->n; at++)
        m->version[at] = m->version[at + 1];
    if (settle(ctx, m) != FERRY_OK)
        ferry_i_serve_log(s, FERRY_WARN, "%s", ferry_message(ctx));
    pthread_rwlock_unlock(&s->models.lock);
    ferry_i_serve_log(s, FERRY_INFO, "model %s: version %lld%s has gone", v->name,
                      (long long)v->number, v->shadow ? " (shadow)" : "");
    if (ferry_i_writer_stop(ctx, v) != FERRY_OK)
        ferry_i_serve_log(s, FERRY_WARN, "%s", ferry_message(ctx));
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

    f->gone = other && stat(have->path, &info) != 0;
    if ((have && have->size == f->size && have->mtime == f->mtime) ||
        was_refused(&s->models, f))
        goto done;
    FERRY_NEED(ctx, !other || f->gone, FERRY_EDATA,
               "%s: version %lld of model %s is %s already", f->path, (long long)f->number,
               f->name, have->path);
    FERRY_NEED(ctx, !have || !have->folder, FERRY_EDATA,
               "%s: has changed, but version %lld has learned since: give the new one a "
               "higher number",
               f->path, (long long)f->number);
    FERRY_TRY(ferry_i_version_open(ctx, s, f->name, f->number, f->shadow, f->path, &v));
    const bool learns = v->folder != NULL;
    FERRY_TRY(install(ctx, s, v));
    ferry_i_serve_log(s, FERRY_INFO, "model %s: version %lld%s is there%s", f->name,
                      (long long)f->number, f->shadow ? " (shadow)" : "",
                      learns ? " and learns" : "");
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

/* Versions whose file has gone. The current one stays while there is no other: the one below it
 * serves again, but a folder that is empty for a moment stops nothing. */
static void retire_all(ferry_ctx *ctx, ferry_server *s, const findings *f, bool shadows)
{
    for (int64_t i = 0; i < s->models.n; i++) {
        serve_model *m = &s->models.model[i];
        int64_t left = 0;
        for (int64_t j = 0; j < m->n; j++)
            left += !m->version[j]->shadow && is_there(f, m->version[j]);
        for (int64_t j = m->n - 1; j >= 0; j--)
            if (m->version[j]->shadow == shadows && !is_there(f, m->version[j]) &&
                (shadows || m->version[j] != m->current || left > 0))
                retire(ctx, s, m, j);
    }
}

ferry_status ferry_i_models_scan(ferry_ctx *ctx, ferry_server *s, bool strict)
{
    ferry_status st = FERRY_OK;
    findings f = {0};

    pthread_mutex_lock(&s->scanning);
    FERRY_TRY(look(ctx, s, &f));
    if (f.n > 0) qsort(f.at, (size_t)f.n, sizeof *f.at, by_number);
    FERRY_NEED(ctx, f.n > 0 || !strict, FERRY_EDATA,
               "%s: has no model: expected NAME.ferry or NAME/VERSION.ferry",
               s->models_path);
    retire_all(ctx, s, &f, true);
    for (int64_t i = 0; i < f.n; i++) {
        st = consider(ctx, s, &f.at[i]);
        if (st == FERRY_OK || strict) FERRY_TRY(st);
        if (st != FERRY_OK) refuse(s, &f.at[i], ferry_message(ctx));
        st = FERRY_OK;
    }
    retire_all(ctx, s, &f, false);
done:
    pthread_mutex_unlock(&s->scanning);
    free_findings(&f);
    return st;
}

void ferry_i_models_free(ferry_ctx *ctx, ferry_server *s, ferry_status *st)
{
    serve_models *all = &s->models;

    for (int shadows = 0; shadows < 2; shadows++)
        for (int64_t i = 0; i < all->n; i++)
            for (int64_t j = 0; j < all->model[i].n; j++) {
                if (all->model[i].version[j]->shadow != (shadows == 1)) continue;
                const ferry_status one = ferry_i_writer_stop(ctx, all->model[i].version[j]);
                if (one != FERRY_OK) *st = one;
            }
    for (int64_t i = 0; i < all->n; i++) {
        for (int64_t j = 0; j < all->model[i].n; j++)
            ferry_i_version_free(all->model[i].version[j]);
        FERRY_FREE(all->model[i].name, all->model[i].version);
    }
    for (int64_t i = 0; i < all->n_refused; i++)
        ferry_i_free(all->refused[i].path);
    FERRY_FREE(all->model, all->refused);
    all->n = all->n_refused = 0;
}
