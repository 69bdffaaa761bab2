/* Calling the other ranks to work on a task (core/ranks.h): what they need to make the same one.
 *
 * They get the task file's text and read its data themselves, from the same paths; a hash of what was read
 * tells whether it is the same data. A task that a program made has no text: rank 0 works on it alone.
 *
 * With --engine mpi they are called when rank 0 is about to read it ("read"): all read the files together, and the
 * others keep the task for the calls that follow. */
#include <string.h>
#include <xxhash.h>

#include "core/ranks.h"
#include "core/spill.h"
#include "data/archive.h"
#include "task/task.h"

static bool leads(const ferry_ctx *ctx, const ferry_task *task)
{
    return ctx->ranks && ctx->ranks->rank == 0 && ctx->ranks->size > 1 && task->file;
}

static uint64_t hash_of(const ferry_task *task)
{
    uint64_t h = (uint64_t)task->goal;

    for (int64_t i = 0; i < task->n_domains; i++) {
        const uint64_t both[] = {h, ferry_i_domain_hash(task->domains[i]),
                                 ferry_i_domain_labels_hash(task->domains[i])};
        h = XXH3_64bits(both, sizeof both);
    }
    return h;
}

/* Settings, or NULL; reading makes new ones. */
static ferry_status pack_opts(ferry_ctx *ctx, ferry_buffer *p, ferry_opts **opts)
{
    ferry_status st = FERRY_OK;
    int64_t n = p->writing && *opts ? ferry_i_opts_count(*opts) : p->writing ? -1 : 0;
    char *key = NULL, *value = NULL;

    FERRY_PACK(p, n);
    if (!p->writing && n >= 0) FERRY_TRY(ferry_opts_new(ctx, opts));
    for (int64_t i = 0; i < n; i++) {
        const ferry_setting *s = p->writing ? ferry_opts_at(*opts, i) : NULL;
        char *k = s ? (char *)(uintptr_t)s->key : NULL,
             *v = s ? (char *)(uintptr_t)s->value : NULL;
        ferry_i_buffer_text(p, &k);
        ferry_i_buffer_text(p, &v);
        if (p->writing) continue;
        FERRY_MOVE(key, k);
        FERRY_MOVE(value, v);
        FERRY_HAVE(ctx, key && value);
        FERRY_TRY(ferry_opts_set(ctx, *opts, key, value));
        FERRY_FREE(key, value);
        key = value = NULL;
    }
done:
    FERRY_FREE(key, value);
    return st;
}

/* The methods. A task that named none may have got them since (rerun). */
static ferry_status pack_methods(ferry_ctx *ctx, ferry_buffer *p, ferry_task *task)
{
    ferry_status st = FERRY_OK;
    int64_t n = task->n_methods;
    const bool add = !p->writing && n == 0;
    char *method = NULL, *as = NULL;
    ferry_opts *opts = NULL;

    FERRY_PACK(p, n);
    for (int64_t i = 0; i < n && !p->failed; i++) {
        ferry_task_method *m = p->writing ? &task->methods[i] : NULL;
        char *one = m ? (char *)(uintptr_t)m->method : NULL,
             *name = m ? (char *)(uintptr_t)m->as : NULL;
        ferry_opts *own = m ? (ferry_opts *)(uintptr_t)m->opts : NULL;
        ferry_i_buffer_text(p, &one);
        ferry_i_buffer_text(p, &name);
        st = pack_opts(ctx, p, &own);
        if (!p->writing) method = one, as = name, opts = own;
        FERRY_TRY(st);
        if (add) FERRY_TRY(ferry_task_add_method(ctx, task, method, as, opts));
        ferry_opts_free(opts);
        FERRY_FREE(method, as);
        opts = NULL;
        method = as = NULL;
    }
done:
    ferry_opts_free(opts);
    FERRY_FREE(method, as);
    return st;
}

static ferry_status pack(ferry_ctx *ctx, const char *verb, const ferry_task *task,
                         const ferry_opts *opts, ferry_buffer *p)
{
    ferry_status st = FERRY_OK;
    const char *const text[] = {verb, ctx->part, ferry_i_ctx_engine(ctx), task->file,
                                task->text};
    uint64_t hash = hash_of(task);
    ferry_opts *own = (ferry_opts *)(uintptr_t)opts;
    ferry_task *t = (ferry_task *)(uintptr_t)task;

    for (size_t i = 0; i < FERRY_COUNT(text); i++) {
        char *s = (char *)(uintptr_t)text[i];
        ferry_i_buffer_text(p, &s);
    }
    FERRY_PACK(p, ctx->seed);
    FERRY_PACK(p, hash);
    FERRY_TRY(pack_opts(ctx, p, &own));
    FERRY_TRY(pack_opts(ctx, p, &t->sets));
    FERRY_TRY(pack_methods(ctx, p, t));
done:
    return st;
}

static bool spreads(const ferry_ctx *ctx)
{
    return ctx->ranks && ctx->ranks->size > 1 &&
           strcmp(ferry_i_ctx_engine(ctx), "mpi") == 0;
}

void ferry_i_task_whole(const ferry_ctx *ctx, bool begins)
{
    if (spreads(ctx)) ferry_i_spill_all(begins);
}

ferry_status ferry_i_task_read(ferry_ctx *ctx, const ferry_task *origin)
{
    ferry_buffer p = {.writing = true};

    if (!leads(ctx, origin) || ctx->ranks->calls > 0 || !spreads(ctx)) return FERRY_OK;
    ferry_status st = pack(ctx, "read", origin, NULL, &p);
    ctx->ranks->calls++;
    if (st == FERRY_OK) st = ferry_i_ranks_begin(ctx, &p);
    if (st == FERRY_OK)
        ferry_i_ranks_read(ctx);
    else
        ferry_i_ranks_end(ctx);
    ferry_i_buffer_free(&p);
    return st;
}

/* All have agreed that it is over: nobody need be told. */
ferry_status ferry_i_task_read_end(ferry_ctx *ctx, ferry_status st)
{
    if (!ctx->ranks || !ctx->ranks->reading) return st;
    ctx->ranks->calls--;
    return ferry_i_ranks_read_end(ctx, st);
}

ferry_status ferry_i_task_call(ferry_ctx *ctx, const char *verb, const ferry_task *task,
                               const ferry_opts *opts)
{
    ferry_buffer p = {.writing = true};

    if (ctx->ranks && ctx->ranks->rank == 0 && ctx->ranks->size > 1 && !task->file)
        ferry_i_log(ctx, FERRY_WARN,
                    "task '%s' was made by a program: the other ranks have no part in it",
                    task->name);
    if (!leads(ctx, task)) return FERRY_OK;
    const bool spread = strcmp(ferry_i_ctx_engine(ctx), "mpi") == 0;
    if (spread && strcmp(verb, "evaluate") != 0 && strncmp(verb, "fit ", 4) != 0) {
        ctx->ranks->calls++;
        return ferry_i_fail(ctx, FERRY_EINVAL,
                            "%s does not run with --engine mpi; run and fit do", verb);
    }
    ferry_status st = ctx->ranks->calls > 0 ? FERRY_OK : pack(ctx, verb, task, opts, &p);
    ctx->ranks->calls++;
    if (st == FERRY_OK && ctx->ranks->calls == 1) {
        st = ferry_i_ranks_begin(ctx, &p);
        if (st == FERRY_OK && spread) ferry_i_ranks_spread(ctx);
    }
    ferry_i_buffer_free(&p);
    return st;
}

void ferry_i_task_call_end(ferry_ctx *ctx, const ferry_task *task)
{
    if (leads(ctx, task)) ferry_i_ranks_end(ctx);
}

void ferry_i_called_free(ferry_called *c)
{
    ferry_task_free(c->task);
    ferry_opts_free(c->opts);
    ferry_opts_free(c->sets);
    FERRY_FREE(c->verb, c->part, c->file, c->text);
    *c = (ferry_called){0};
}

/* The task that the call is about, as if this rank had read its file itself. */
static ferry_status make(ferry_ctx *ctx, ferry_called *c)
{
    ferry_status st = FERRY_OK;
    char *dir = NULL;

    FERRY_HAVE(ctx, dir = ferry_i_path_dir(c->file));
    FERRY_TRY(ferry_i_task_parse(ctx, c->file, dir, c->text, (int64_t)strlen(c->text),
                                 c->sets, &c->task));
    FERRY_MOVE(c->task->file, c->file);
    FERRY_MOVE(c->task->text, c->text);
    FERRY_MOVE(c->task->sets, c->sets);
done:
    ferry_i_free(dir);
    return st;
}

static bool same_opts(const ferry_opts *a, const ferry_opts *b)
{
    bool same = ferry_i_opts_count(a) == ferry_i_opts_count(b);

    for (int64_t i = 0; same && ferry_opts_at(a, i); i++) {
        const ferry_setting *x = ferry_opts_at(a, i), *y = ferry_opts_at(b, i);
        same = strcmp(x->key, y->key) == 0 && strcmp(x->value, y->value) == 0;
    }
    return same;
}

static bool is_this(const ferry_task *task, const ferry_called *c)
{
    return task && strcmp(task->file, c->file) == 0 && strcmp(task->text, c->text) == 0 &&
           same_opts(task->sets, c->sets);
}

ferry_status ferry_i_task_called(ferry_ctx *ctx, ferry_buffer *p, ferry_task **read,
                                 ferry_called *c)
{
    ferry_status st = FERRY_OK;
    char *engine = NULL;
    uint64_t hash = 0;

    ferry_i_buffer_text(p, &c->verb);
    ferry_i_buffer_text(p, &c->part);
    ferry_i_buffer_text(p, &engine);
    ferry_i_buffer_text(p, &c->file);
    ferry_i_buffer_text(p, &c->text);
    FERRY_PACK(p, ctx->seed);
    FERRY_PACK(p, hash);
    FERRY_HAVE(ctx, c->verb && engine && c->file && c->text);
    FERRY_TRY(ferry_i_ctx_set_engine(ctx, engine));
    FERRY_TRY(pack_opts(ctx, p, &c->opts));
    FERRY_TRY(pack_opts(ctx, p, &c->sets));
    if (strcmp(c->verb, "read") == 0) goto done; /* when all are ready */
    c->kept = is_this(*read, c);
    if (c->kept)
        FERRY_MOVE(c->task, *read);
    else
        FERRY_TRY(make(ctx, c));
    const int64_t named = c->task->n_methods;
    FERRY_TRY(pack_methods(ctx, p, c->task));
    FERRY_HAVE(ctx, !p->failed);
    c->kept = c->kept && c->task->n_methods == named;
    FERRY_NEED(ctx, hash_of(c->task) == hash, FERRY_EDATA,
               "%s: the data it names is not what rank 0 has read", c->task->file);
done:
    ferry_i_free(engine);
    return st;
}

/* What goes wrong is rank 0's to tell. */
void ferry_i_task_read_along(ferry_ctx *ctx, ferry_called *c)
{
    ferry_i_ranks_read(ctx);
    ferry_i_unpacked_keep(ctx, true);
    const ferry_status st = make(ctx, c);
    ferry_i_unpacked_keep(ctx, false);
    if (ferry_i_ranks_read_end(ctx, st) == FERRY_OK) return;
    ferry_task_free(c->task);
    c->task = NULL;
}
