/* A run again: the task as run.json recorded it, with the same settings and data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "show/show.h"

/* Member `key` of the record, of the type that is expected. */
static ferry_status need(ferry_ctx *ctx, const char *path, const json_t *object,
                         const char *key, json_type type, json_t **out)
{
    ferry_status st = FERRY_OK;

    *out = json_object_get(object, key);
    FERRY_NEED(ctx, *out && json_typeof(*out) == type, FERRY_EDATA,
               "%s: '%s' is missing or not what a run record has", path, key);
done:
    return st;
}

static ferry_status read_record(ferry_ctx *ctx, const char *path, json_t **out)
{
    ferry_status st = FERRY_OK;
    json_error_t error;

    FERRY_TRY(ferry_i_json_load(ctx, path, &error, out));
    if (!*out && error.line < 0)
        return ferry_i_fail(ctx, FERRY_EDATA,
                            "%s: cannot read; expected the folder of a run (ferry run -o)",
                            path);
    FERRY_NEED(ctx, *out, FERRY_EDATA, "%s:%d: %s; expected a run record", path, error.line,
               error.text);
    FERRY_NEED(ctx, json_is_object(*out), FERRY_EDATA, "%s: expected a run record", path);
done:
    return st;
}

/* Seed, threads and engine of the run. */
static ferry_status restore(ferry_ctx *ctx, const char *path, const json_t *record)
{
    ferry_status st = FERRY_OK;
    json_t *seed = NULL, *threads = NULL, *engine = NULL;
    char *end = NULL;

    FERRY_TRY(need(ctx, path, record, "seed", JSON_STRING, &seed));
    FERRY_TRY(need(ctx, path, record, "threads", JSON_INTEGER, &threads));
    FERRY_TRY(need(ctx, path, record, "engine", JSON_STRING, &engine));
    errno = 0;
    const uint64_t value = strtoull(json_string_value(seed), &end, 10);
    FERRY_NEED(ctx, errno == 0 && end != json_string_value(seed) && !*end, FERRY_EDATA,
               "%s: seed '%s' is no number", path, json_string_value(seed));
    const json_int_t n = json_integer_value(threads);
    FERRY_NEED(ctx, n >= 1 && n <= 4096, FERRY_EDATA,
               "%s: threads = %lld is outside "
               "[1, 4096]",
               path, (long long)n);
    ctx->seed = value;
    FERRY_TRY(ferry_i_ctx_set_engine(ctx, json_string_value(engine)));
    FERRY_TRY(ferry_i_ctx_set_threads(ctx, (int)n));
done:
    return st;
}

/* A task that names no methods ran all there were: name them, as there may be more now. */
static ferry_status restore_methods(ferry_ctx *ctx, const char *path, const json_t *record,
                                    ferry_task *task)
{
    ferry_status st = FERRY_OK;
    json_t *methods = NULL, *one = NULL;
    ferry_opts *opts = NULL;
    size_t i = 0;

    FERRY_TRY(need(ctx, path, record, "methods", JSON_ARRAY, &methods));
    if (task->n_methods > 0) goto done;
    json_array_foreach(methods, i, one)
    {
        json_t *name = NULL, *method = NULL, *options = NULL;
        FERRY_TRY(need(ctx, path, one, "name", JSON_STRING, &name));
        FERRY_TRY(need(ctx, path, one, "method", JSON_STRING, &method));
        FERRY_TRY(need(ctx, path, one, "options", JSON_OBJECT, &options));
        FERRY_TRY(ferry_i_opts_from_json(ctx, options, &opts));
        FERRY_TRY(ferry_task_add_method(ctx, task, json_string_value(method),
                                        json_string_value(name), opts));
        ferry_opts_free(opts);
        opts = NULL;
    }
done:
    ferry_opts_free(opts);
    return st;
}

/* The data must be what it was. */
static ferry_status check_data(ferry_ctx *ctx, const char *path, const json_t *record,
                               const ferry_task *task)
{
    static const char *const keys[] = {"hash", "labels_hash"};
    ferry_status st = FERRY_OK;
    json_t *then = NULL, *now = ferry_i_run_domains(task), *one = NULL;
    size_t i = 0;

    FERRY_HAVE(ctx, now && !ferry_i_memory_lost());
    FERRY_TRY(need(ctx, path, record, "domains", JSON_ARRAY, &then));
    FERRY_NEED(ctx, json_array_size(then) == json_array_size(now), FERRY_EDATA,
               "%s: the run had %lld domains, the task has %lld", path,
               (long long)json_array_size(then), (long long)json_array_size(now));
    json_array_foreach(then, i, one)
    {
        for (int k = 0; k < 2; k++)
            FERRY_NEED(ctx,
                       json_equal(json_object_get(one, keys[k]),
                                  json_object_get(json_array_get(now, i), keys[k])),
                       FERRY_EDATA, "%s: the %s of domain '%s' changed since the run", path,
                       k ? "labels" : "data", task->domains[i]->name);
    }
done:
    json_decref(now);
    return st;
}

ferry_status ferry_task_rerun(ferry_ctx *ctx, const char *folder, ferry_task **out)
{
    FERRY_ARGS_OUT(ctx, out, out, folder);

    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(folder, "run.json"), *dir = NULL;
    json_t *record = NULL, *origin = NULL, *text = NULL, *sets = NULL;
    ferry_opts *opts = NULL;
    ferry_task *task = NULL;

    FERRY_HAVE(ctx, path);
    FERRY_TRY(read_record(ctx, path, &record));
    FERRY_TRY(need(ctx, path, record, "task", JSON_OBJECT, &origin));
    const char *file = json_string_value(json_object_get(origin, "file"));
    FERRY_NEED(ctx, file, FERRY_EINVAL,
               "%s: this run was made by a program; only runs of a task file can be rerun",
               path);
    FERRY_TRY(need(ctx, path, origin, "text", JSON_STRING, &text));
    FERRY_TRY(need(ctx, path, origin, "sets", JSON_OBJECT, &sets));
    FERRY_TRY(restore(ctx, path, record));
    FERRY_TRY(ferry_i_opts_from_json(ctx, sets, &opts));
    FERRY_HAVE(ctx, dir = ferry_i_path_dir(file));
    FERRY_TRY(ferry_i_task_parse(ctx, file, dir, json_string_value(text),
                                 (int64_t)json_string_length(text), opts, &task));
    task->file = ferry_i_strdup(file);
    task->text = ferry_i_strdup(json_string_value(text));
    FERRY_MOVE(task->sets, opts);
    FERRY_HAVE(ctx, task->file && task->text);
    FERRY_TRY(restore_methods(ctx, path, record, task));
    FERRY_TRY(check_data(ctx, path, record, task));
    FERRY_MOVE(*out, task);
done:
    ferry_task_free(task);
    ferry_opts_free(opts);
    json_decref(record);
    FERRY_FREE(dir, path);
    return st;
}
