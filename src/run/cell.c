/* A cell of an evaluation: one fit and what it answers for the target. Everything else is made of
 * the answers, so a run that was killed goes on from those that it left in a folder: one file for
 * each cell that took long. What took less is computed again, to the same bits.
 *
 * A file is a dict (model/dict.h) with a checksum: one that is damaged, or of another target, is as
 * if it were not there. part.json in the folder says what the cells are of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "methods/method.h"
#include "run/run.h"

static const double WORTH_KEEPING = 0.05; /* seconds: a file costs about a thousandth */

void ferry_i_cell_clear(ferry_run_cell *c)
{
    ferry_prediction_free(c->answer);
    json_decref(c->diagnostics);
    c->answer = NULL;
    c->diagnostics = NULL;
}

/* ---- as a file ---- */

/* The array of a prediction that has `width` numbers for each instance. */
static ferry_status put_reals(ferry_ctx *ctx, ferry_dict *d, const char *name, int64_t n,
                              int64_t width, const double *x)
{
    return x ? ferry_i_dict_put_reals(ctx, d, name, n, width, x) : FERRY_OK;
}

static ferry_status put_answer(ferry_ctx *ctx, const ferry_prediction *p, ferry_dict *d)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = ferry_i_ids_new();
    int64_t *cls = NULL;

    FERRY_HAVE(ctx, names);
    for (int64_t c = 0; p->names && c < p->k; c++)
        FERRY_HAVE(ctx, ferry_i_ids_add(names, p->names[c], NULL) >= 0);
    if (p->names) FERRY_TRY(ferry_i_dict_put_ids(ctx, d, "names", names));
    FERRY_TRY(put_reals(ctx, d, "score", p->n, p->k, p->score));
    FERRY_TRY(put_reals(ctx, d, "value", p->n, 1, p->value));
    if (p->set) FERRY_TRY(ferry_i_dict_put_bytes(ctx, d, "set", p->n * p->k, p->set));
    if (!p->cls) goto done;
    FERRY_NEW(ctx, cls, p->n);
    for (int64_t i = 0; i < p->n; i++)
        cls[i] = p->cls[i];
    FERRY_TRY(ferry_i_dict_put_ints(ctx, d, "cls", p->n, cls));
done:
    ferry_i_ids_free(names);
    ferry_i_free(cls);
    return st;
}

static ferry_status to_dict(ferry_ctx *ctx, const ferry_run_cell *c, ferry_dict **out)
{
    ferry_status st = FERRY_OK;
    ferry_dict *d = NULL;
    char *text = NULL;

    FERRY_TRY(ferry_i_json_dump(ctx, c->diagnostics, JSON_COMPACT, &text));
    FERRY_TRY(ferry_i_dict_new(ctx, &d));
    FERRY_TRY(ferry_i_dict_put_text(ctx, d, "diagnostics", text));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, d, "seconds", 1, 1, &c->seconds));
    if (c->curve)
        FERRY_TRY(ferry_i_dict_put_reals(ctx, d, "curve", FERRY_CURVE, 1, c->curve));
    FERRY_TRY(put_answer(ctx, c->answer, d));
    FERRY_MOVE(*out, d);
done:
    ferry_i_dict_free(d);
    ferry_i_free(text);
    return st;
}

static ferry_status save(ferry_ctx *ctx, const ferry_run_cell *c, const char *path)
{
    ferry_dict *d = NULL;
    ferry_status st = to_dict(ctx, c, &d);

    if (st == FERRY_OK) st = ferry_i_dict_save(ctx, d, path);
    ferry_i_dict_free(d);
    return st;
}

/* A cell's file for rank 0 to write. */
static ferry_status send_file(ferry_ctx *ctx, const ferry_run_cell *c, const char *name)
{
    ferry_status st = FERRY_OK;
    ferry_dict *d = NULL;
    char *bytes = NULL, *file = ferry_i_sprintf("%s.cell", name);
    int64_t n = 0;

    FERRY_HAVE(ctx, file);
    FERRY_TRY(to_dict(ctx, c, &d));
    FERRY_TRY(ferry_i_dict_print(ctx, d, name, &bytes, &n));
    ctx->kept->writing = true;
    ferry_i_buffer_text(ctx->kept, &file);
    ferry_i_buffer_array(ctx->kept, (void **)&bytes, &n, 1);
    FERRY_HAVE(ctx, !ctx->kept->failed);
done:
    FERRY_FREE(file, bytes);
    ferry_i_dict_free(d);
    return st;
}

/* Numbers of a shape into an array that is there. */
static ferry_status get_reals(ferry_ctx *ctx, const ferry_dict *d, const char *name,
                              int64_t rows, int64_t cols, double *to)
{
    ferry_status st = FERRY_OK;
    const double *x = NULL;

    FERRY_TRY(ferry_i_dict_reals_any(ctx, d, name, &rows, &cols, &x));
    memcpy(to, x, (size_t)(rows * cols) * sizeof *to);
done:
    return st;
}

/* Into a prediction whose arrays are allocated, but for an embedding's. */
static ferry_status get_answer(ferry_ctx *ctx, const ferry_dict *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const int64_t *cls = NULL;
    const uint8_t *set = NULL;
    int64_t n = p->n, k = -1, cells = p->n * p->k;
    const double *score = NULL;

    if (p->goal == FERRY_EMBED) {
        FERRY_TRY(ferry_i_dict_reals_any(ctx, d, "score", &n, &k, &score));
        FERRY_NEW(ctx, p->score, n * k);
        p->k = k;
        if (ferry_i_dict_has(d, "cls")) FERRY_NEW(ctx, p->cls, p->n);
    }
    if (p->score) FERRY_TRY(get_reals(ctx, d, "score", p->n, p->k, p->score));
    if (p->value) FERRY_TRY(get_reals(ctx, d, "value", p->n, 1, p->value));
    if (p->set) {
        FERRY_TRY(ferry_i_dict_bytes(ctx, d, "set", &cells, &set));
        memcpy(p->set, set, (size_t)cells);
    }
    if (!p->cls) goto done;
    FERRY_TRY(ferry_i_dict_ints(ctx, d, "cls", &n, &cls));
    for (int64_t i = 0; i < n; i++) {
        FERRY_NEED(ctx, cls[i] >= -1 && cls[i] < INT32_MAX && (!p->names || cls[i] < p->k),
                   FERRY_EDATA, "class %lld of %lld", (long long)cls[i], (long long)p->k);
        p->cls[i] = (int32_t)cls[i];
    }
done:
    return st;
}

/* The answer in a dict, for the target of a task or split. */
static ferry_status new_answer(ferry_ctx *ctx, const ferry_results *rs,
                               const ferry_task *task, const ferry_dict *d,
                               ferry_prediction **out)
{
    ferry_status st = FERRY_OK;
    ferry_ids *names = NULL;
    const ferry_domain *target = NULL;

    FERRY_TRY(ferry_i_task_target(ctx, task, &target));
    if (ferry_i_dict_has(d, "names")) FERRY_TRY(ferry_i_dict_ids(ctx, d, "names", &names));
    FERRY_TRY(ferry_i_prediction_new(ctx, rs->run.goal, names, target, out));
    FERRY_TRY(get_answer(ctx, d, *out));
done:
    ferry_i_ids_free(names);
    return st;
}

static ferry_status from_dict(ferry_ctx *ctx, const ferry_results *rs, const ferry_dict *d,
                              ferry_run_cell *c)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(new_answer(ctx, rs, c->split, d, &c->answer));
    FERRY_TRY(get_reals(ctx, d, "seconds", 1, 1, &c->seconds));
    if (c->curve) FERRY_TRY(get_reals(ctx, d, "curve", FERRY_CURVE, 1, c->curve));
    const char *text = ferry_i_dict_text(d, "diagnostics");
    if (text)
        FERRY_TRY(
            ferry_i_json_parse(ctx, text, (int64_t)strlen(text), 0, NULL, &c->diagnostics));
    FERRY_NEED(ctx, c->diagnostics, FERRY_EDATA, "no diagnostics");
done:
    if (st != FERRY_OK) ferry_i_cell_clear(c);
    return st;
}

static ferry_status load(ferry_ctx *ctx, const ferry_results *rs, const char *path,
                         ferry_run_cell *c)
{
    ferry_dict *d = NULL;
    ferry_status st = ferry_i_dict_load(ctx, path, &d);

    if (st == FERRY_OK) st = from_dict(ctx, rs, d, c);
    ferry_i_dict_free(d);
    return st;
}

/* Rows over ranks: what rank 0 finds there, for all; *found: whether it does. */
static ferry_status load_for_all(ferry_ctx *ctx, const ferry_results *rs, const char *path,
                                 ferry_run_cell *c, bool *found)
{
    ferry_status st = FERRY_OK;
    ferry_ctx quiet = ferry_i_child(ctx);
    const bool leads = ctx->ranks->rank == 0;
    ferry_dict *d = NULL;
    char *bytes = NULL;
    int64_t n = 0;

    if (leads && load(&quiet, rs, path, c) == FERRY_OK) {
        FERRY_TRY(to_dict(ctx, c, &d));
        FERRY_TRY(ferry_i_dict_print(ctx, d, path, &bytes, &n));
    }
    FERRY_TRY(ferry_i_ranks_broadcast(ctx, &n, sizeof n));
    *found = n > 0;
    if (n == 0) goto done;
    if (!leads) FERRY_NEW(ctx, bytes, n);
    FERRY_TRY(ferry_i_ranks_broadcast(ctx, bytes, n));
    if (leads) goto done;
    FERRY_TRY(ferry_i_dict_parse(ctx, path, (const uint8_t *)bytes, n, &d));
    FERRY_TRY(from_dict(ctx, rs, d, c));
done:
    st = ferry_i_ranks_agree(ctx, st);
    if (st != FERRY_OK) ferry_i_cell_clear(c);
    ferry_i_dict_free(d);
    ferry_i_free(bytes);
    return st;
}

/* ---- to other ranks ---- */

ferry_status ferry_i_answer_pack(ferry_ctx *ctx, const ferry_results *rs,
                                 const ferry_task *task, ferry_prediction **answer,
                                 ferry_buffer *p)
{
    ferry_status st = FERRY_OK;
    ferry_dict *d = NULL;
    char *bytes = NULL;
    int64_t n = 0;

    if (p->writing && *answer) {
        FERRY_TRY(ferry_i_dict_new(ctx, &d));
        FERRY_TRY(put_answer(ctx, *answer, d));
        FERRY_TRY(ferry_i_dict_print(ctx, d, "an answer", &bytes, &n));
    }
    ferry_i_buffer_array(p, (void **)&bytes, &n, 1);
    if (p->writing || !bytes) goto done;
    FERRY_TRY(ferry_i_dict_parse(ctx, "an answer", (const uint8_t *)bytes, n, &d));
    FERRY_TRY(new_answer(ctx, rs, task, d, answer));
done:
    ferry_i_free(bytes);
    ferry_i_dict_free(d);
    return st;
}

ferry_status ferry_i_diagnostics_pack(ferry_ctx *ctx, json_t **json, ferry_buffer *p)
{
    ferry_status st = FERRY_OK;
    char *text = NULL;

    if (p->writing && *json) FERRY_TRY(ferry_i_json_dump(ctx, *json, JSON_COMPACT, &text));
    ferry_i_buffer_text(p, &text);
    if (!p->writing && text)
        FERRY_TRY(ferry_i_json_parse(ctx, text, (int64_t)strlen(text), 0, NULL, json));
done:
    ferry_i_free(text);
    return st;
}

/* ---- one cell ---- */

static ferry_status compute(ferry_ctx *ctx, const ferry_results *rs, ferry_run_cell *c)
{
    ferry_status st = FERRY_OK;
    ferry_model *model = NULL;
    const ferry_domain *target = NULL;
    ferry_fit_info rep = {0};
    json_t *extra = NULL;
    const double start = ferry_i_clock();

    FERRY_TRY(ferry_i_task_target(ctx, c->split, &target));
    st = ferry_i_fit(ctx, c->split, c->how, c->opts, &model, &rep);
    c->seconds = ferry_i_clock() - start;
    FERRY_TRY(st);
    if (c->how->timed) c->seconds = rep.seconds;
    FERRY_TRY(
        ferry_i_answer(ctx, rs, model, target, c->mask, c->curve, &extra, &c->answer));
    c->finish = rep.stop == FERRY_STOP_FINISH;
    const char *told = model->diagnostics;
    FERRY_TRY(
        ferry_i_json_parse(ctx, told, (int64_t)strlen(told), 0, NULL, &c->diagnostics));
    if (extra) json_object_update(c->diagnostics, extra);
    FERRY_HAVE(ctx, !ferry_i_memory_lost());
done:
    json_decref(extra);
    ferry_model_free(model);
    return st;
}

ferry_status ferry_i_cell_run(ferry_ctx *ctx, const ferry_results *rs, const char *name,
                              ferry_run_cell *c)
{
    ferry_status st = FERRY_OK;
    ferry_ctx quiet = ferry_i_child(ctx); /* its messages are nobody's business */
    const bool rows = ferry_i_ranks_split(ctx);
    char *path = ctx->part ? ferry_i_sprintf("%s/%s.cell", ctx->part, name) : NULL;
    bool found = false;

    FERRY_HAVE(ctx, path || !ctx->part);
    if (path && rows) FERRY_TRY(load_for_all(ctx, rs, path, c, &found));
    if (path && !rows) found = load(&quiet, rs, path, c) == FERRY_OK;
    if (found) goto done;
    const double start = ferry_i_clock();
    FERRY_TRY(compute(ctx, rs, c));
    /* A solver inside a method may have stopped early and not said so: what was done while the run was
     * asked to finish is not kept. */
    if (path) FERRY_TRY(ferry_i_progress(ctx, c->how->name, 0, 0, NAN, &c->finish));
    if (!path || c->finish || ferry_i_clock() - start < WORTH_KEEPING) goto done;
    if (rows && ctx->ranks->rank > 0) goto done; /* rank 0 has the same */
    if ((ctx->kept ? send_file(&quiet, c, name) : save(&quiet, c, path)) != FERRY_OK)
        ferry_i_warn_once(ctx, "%s: cannot keep what is done: --resume will do it again",
                          ctx->part);
done:
    ferry_i_free(path);
    return st;
}

/* ---- the folder ---- */

/* What the numbers depend on: program, task, data, settings. */
static json_t *identity(const ferry_ctx *ctx, const ferry_task *task)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "ferry", ferry_version(),
                     "goal", ferry_goal_name(task->goal), "text",
                     task->text ? ferry_i_json_text(task->text) : json_null(), "sets",
                     ferry_i_settings_json(task->sets), "domains",
                     ferry_i_run_domains(task), "seed",
                     json_sprintf("%llu", (unsigned long long)ctx->seed), "engine",
                     ferry_i_ctx_engine(ctx));
}

/* The folder is this evaluation's, or becomes it. */
static ferry_status claim(ferry_ctx *ctx, const ferry_task *task, const char *folder)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(folder, "part.json"), *text = NULL;
    json_t *own = identity(ctx, task), *there = NULL;
    json_error_t error;
    ferry_out *o = NULL;

    FERRY_HAVE(ctx, path && own);
    FERRY_TRY(ferry_i_mkdirs(ctx, folder));
    FERRY_TRY(ferry_i_json_load(ctx, path, &error, &there));
    FERRY_NEED(ctx, !there || json_equal(there, own), FERRY_EDATA,
               "%s: was left by a run of another task, other data or other settings: it "
               "cannot be resumed",
               folder);
    if (there) goto done;
    FERRY_TRY(ferry_i_json_dump(ctx, own, JSON_INDENT(2), &text));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_write(o, text, (int64_t)strlen(text));
    st = ferry_i_out_commit(ctx, o);
done:
    json_decref(own);
    json_decref(there);
    FERRY_FREE(text, path);
    return st;
}

ferry_status ferry_evaluate(ferry_ctx *ctx, const ferry_task *task, const char *folder,
                            ferry_results **out)
{
    FERRY_ARGS_OUT(ctx, out, out, task);

    ferry_status st = FERRY_OK;

    *out = NULL;
    if (folder) FERRY_TRY(claim(ctx, task, folder));
    ctx->part = folder;
    st = ferry_i_task_call(ctx, "evaluate", task, NULL);
    if (st == FERRY_OK) st = ferry_i_evaluate(ctx, task, NULL, out);
    ferry_i_task_call_end(ctx, task);
    ctx->part = NULL;
done:
    return st;
}
