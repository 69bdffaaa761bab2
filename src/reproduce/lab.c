/* A lab: runs a study's tasks in a folder and keeps what it took to do so. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reproduce/lab.h"

bool ferry_i_lab_quick(const ferry_lab *lab)
{
    return lab->r->quick;
}

const char *ferry_i_lab_data(const ferry_lab *lab)
{
    return lab->data;
}

const char *ferry_i_lab_folder(const ferry_lab *lab)
{
    return lab->folder;
}

uint64_t ferry_i_lab_seed(const ferry_lab *lab)
{
    return lab->r->seed;
}

void ferry_i_lab_plan(ferry_lab *lab, int64_t runs)
{
    lab->planned = runs;
}

const ferry_results *ferry_i_lab_results(const ferry_lab *lab)
{
    return lab->results;
}

/* ---- files ---- */

static ferry_status join(ferry_ctx *ctx, const char *dir, const char *name, char **out)
{
    *out = ferry_i_path_join(dir, name);
    return *out ? FERRY_OK : ferry_i_nomem(ctx);
}

ferry_status ferry_i_lab_path(ferry_ctx *ctx, ferry_lab *lab, const char *name, char **out)
{
    return join(ctx, lab->folder, name, out);
}

ferry_status ferry_i_lab_source(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                                char **out)
{
    bool there = false;

    return ferry_i_study_file(ctx, lab->data, name, &there, out);
}

ferry_status ferry_i_lab_task(ferry_ctx *ctx, ferry_lab *lab, const char *name,
                              const char *text)
{
    ferry_status st = FERRY_OK;
    char *path = NULL;
    ferry_out *o = NULL;

    FERRY_TRY(ferry_i_lab_path(ctx, lab, name, &path));
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_write(o, text, (int64_t)strlen(text));
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_free(path);
    return st;
}

/* ---- runs ---- */

/* The evaluation's own steps become a share of this run of the study. */
static ferry_answer on_progress(void *user, const ferry_progress *p)
{
    const ferry_lab *lab = user;
    double share = p->total > 0 ? fmin(1, (double)p->done / (double)p->total) : 0;
    ferry_progress q = *p;

    if (!lab->progress) return FERRY_GO;
    if (p->steps > 0)
        share = fmax(0, fmin(1, ((double)(p->step - 1) + share) / (double)p->steps));
    if (lab->planned > 0) {
        q.done = (int64_t)(1000 * share);
        q.total = 1000;
        q.step = lab->done + 1 < lab->planned ? lab->done + 1 : lab->planned;
        q.steps = lab->planned;
    }
    return lab->progress(lab->progress_user, &q);
}

/* "ferry run TASK --set ... --seed S --controls none", to be given in the folder. */
static char *command_of(const char *task, const ferry_opts *sets, uint64_t seed)
{
    ferry_text t = {0};
    const char *key = NULL, *value = NULL;
    bool controls = false;

    ferry_i_add_word(&t, "ferry");
    ferry_i_add_word(&t, "run");
    ferry_i_add_word(&t, task);
    for (int64_t i = 0; sets && i < ferry_opts_count(sets); i++) {
        ferry_opts_at(sets, i, &key, &value);
        char *set = ferry_i_sprintf("%s=%s", key, value);
        ferry_i_add_word(&t, "--set");
        if (set) ferry_i_add_word(&t, set);
        t.failed = t.failed || !set;
        ferry_i_free(set);
        controls |= strcmp(key, "evaluate.controls") == 0;
    }
    ferry_i_text_addf(&t, " --seed %llu", (unsigned long long)seed);
    if (!controls) ferry_i_text_add(&t, " --controls none");
    if (t.failed) ferry_i_text_free(&t);
    return t.s;
}

/* {method: {metric: mean}}; a method that did not run has its sentence. */
static json_t *scores_of(const ferry_results *rs)
{
    json_t *all = json_object();

    for (int64_t i = 0; all && i < rs->n; i++) {
        const ferry_entry *r = &rs->result[i];
        json_t *one = r->pub.reason ? ferry_i_json_text(r->pub.reason) : json_object();
        for (int64_t m = 0; !r->pub.reason && m < rs->n_metrics; m++) {
            const double mean = ferry_i_result_mean(rs, r, m);
            (void)json_object_set_new(one, rs->metrics[m]->name,
                                      isfinite(mean) ? json_real(mean) : json_null());
        }
        if (json_object_set_new(all, r->pub.name, one) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

static ferry_status record(ferry_ctx *ctx, ferry_lab *lab, const char *task,
                           const ferry_opts *sets, uint64_t seed, double seconds)
{
    ferry_status st = FERRY_OK;
    char *command = command_of(task, sets, seed);
    json_t *scores = scores_of(lab->results);

    FERRY_NEED(ctx, command && scores, FERRY_ENOMEM, "no memory for the record of a run");
    json_t *one = json_pack("{s:s, s:f, s:O}", "command", command, "seconds", seconds,
                            "scores", scores);
    FERRY_NEED(ctx, json_array_append_new(lab->r->runs, one) == 0, FERRY_ENOMEM,
               "no memory for the record of a run");
done:
    json_decref(scores);
    ferry_i_free(command);
    return st;
}

/* The settings, a seed and no controls unless they say otherwise. */
static ferry_status all_sets(ferry_ctx *ctx, const ferry_opts *sets, uint64_t seed,
                             ferry_opts **out)
{
    ferry_status st = FERRY_OK;
    ferry_opts *all = NULL;
    char number[32];

    *out = NULL;
    if (sets)
        FERRY_TRY(ferry_i_opts_copy(ctx, sets, &all));
    else
        FERRY_TRY(ferry_opts_new(ctx, &all));
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    FERRY_TRY(ferry_opts_set(ctx, all, "evaluate.seed", number));
    if (!ferry_opts_get(all, "evaluate.controls"))
        FERRY_TRY(ferry_opts_set(ctx, all, "evaluate.controls", "none"));
    *out = all;
    all = NULL;
done:
    ferry_opts_free(all);
    return st;
}

ferry_status ferry_i_lab_run(ferry_ctx *ctx, ferry_lab *lab, const char *task_name,
                             const ferry_opts *sets, uint64_t seed)
{
    ferry_status st = FERRY_OK;
    const double began = ferry_i_clock();
    ferry_opts *all = NULL;
    ferry_task *task = NULL;
    char *path = NULL;

    ferry_results_free(lab->results);
    lab->results = NULL;
    ctx->step = ctx->steps = 0;
    FERRY_TRY(ferry_i_progress(ctx, lab->r->study->name, 0, 0, NAN, NULL));
    FERRY_TRY(ferry_i_lab_path(ctx, lab, task_name, &path));
    FERRY_TRY(all_sets(ctx, sets, seed, &all));
    ctx->seed = seed; /* text that is sampled while it is read draws from it */
    FERRY_TRY(ferry_task_load(ctx, path, all, &task));
    FERRY_TRY(ferry_evaluate(ctx, task, &lab->results));
    FERRY_TRY(record(ctx, lab, task_name, sets, seed, ferry_i_clock() - began));
    lab->done++;
done:
    ferry_task_free(task);
    ferry_opts_free(all);
    ferry_i_free(path);
    return st;
}

/* ---- scores ---- */

const ferry_entry *ferry_i_lab_result(const ferry_lab *lab, const char *method)
{
    const ferry_results *rs = lab->results;

    for (int64_t i = 0; rs && i < rs->n; i++)
        if (strcmp(rs->result[i].pub.name, method) == 0) return &rs->result[i];
    return NULL;
}

ferry_status ferry_i_lab_score(ferry_ctx *ctx, ferry_lab *lab, const char *method,
                               const char *metric, ferry_score *out)
{
    ferry_status st = FERRY_OK;
    const ferry_results *rs = lab->results;
    const ferry_entry *r = ferry_i_lab_result(lab, method);
    int64_t m = 0;

    *out = (ferry_score){NAN, NAN, 0, NULL};
    FERRY_NEED(ctx, r, FERRY_EINVAL, "%s: no method '%s' in the last run",
               lab->r->study->name, method);
    while (metric && m < rs->n_metrics && strcmp(rs->metrics[m]->name, metric) != 0)
        m++;
    FERRY_NEED(ctx, m < rs->n_metrics, FERRY_EINVAL, "%s: no metric '%s' in the last run",
               lab->r->study->name, metric ? metric : "");
    if (r->pub.reason) {
        out->reason = r->pub.reason;
        goto done;
    }
    out->n = rs->run.repeats;
    out->mean = ferry_i_result_mean(rs, r, m);
    out->sd = ferry_i_result_std(rs, r, m);
    if (!isfinite(out->mean)) out->reason = "the metric is not defined here";
done:
    return st;
}

ferry_score ferry_i_score_of(int64_t n, const double *x)
{
    ferry_score s = {0, 0, 0, NULL};

    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            s.mean += x[i];
            s.n++;
        }
    if (s.n == 0) return (ferry_score){NAN, NAN, 0, "no run gave a number"};
    s.mean /= (double)s.n;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) s.sd += (x[i] - s.mean) * (x[i] - s.mean);
    s.sd = s.n > 1 ? sqrt(s.sd / (double)(s.n - 1)) : 0;
    return s;
}

ferry_score ferry_i_score_times(ferry_score s, double factor)
{
    s.mean *= factor;
    s.sd *= fabs(factor);
    return s;
}

/* ---- what methods and readers say on the way ---- */

void ferry_i_text_yaml(ferry_text *t, const char *s)
{
    for (; *s; s++)
        ferry_i_text_addn(t, *s == '\'' ? "''" : s, *s == '\'' ? 2 : 1);
}

static void on_log(void *user, ferry_level level, const char *line)
{
    ferry_lab *lab = user;

    (void)level;
    if (ferry_i_ids_add(lab->said, line, NULL) < 0) lab->no_memory = true;
}

static ferry_status write_log(ferry_ctx *ctx, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    ferry_text t = {0};

    if (ferry_i_ids_count(lab->said) == 0) goto done;
    for (int64_t i = 0; i < ferry_i_ids_count(lab->said); i++)
        ferry_i_text_addf(&t, "%s\n", ferry_i_ids_at(lab->said, i));
    FERRY_NEED(ctx, !t.failed, FERRY_ENOMEM, "no memory for log.txt");
    FERRY_TRY(ferry_i_lab_task(ctx, lab, "log.txt", t.s));
done:
    ferry_i_text_free(&t);
    return st;
}

/* ---- a whole study ---- */

/* An absolute path of a folder that is there: task files in the lab's folder name the data
 * by it. */
static ferry_status absolute(ferry_ctx *ctx, const char *path, char **out)
{
    ferry_status st = FERRY_OK;
    struct stat info;
    char here[4096];

    FERRY_NEED(ctx, stat(path, &info) == 0, FERRY_EDATA, "%s: cannot use this folder: %s",
               path, strerror(errno));
    FERRY_NEED(ctx, S_ISDIR(info.st_mode), FERRY_EDATA, "%s: expected a folder", path);
    *out = ferry_i_path_join(getcwd(here, sizeof here) ? here : NULL, path);
    FERRY_NEED(ctx, *out, FERRY_ENOMEM, "no memory for the name of a folder");
done:
    return st;
}

/* What an earlier run left must not pass for this one's. */
static ferry_status remove_old(ferry_ctx *ctx, ferry_lab *lab, const char *name)
{
    ferry_status st = FERRY_OK;
    char *path = NULL;

    FERRY_TRY(ferry_i_lab_path(ctx, lab, name, &path));
    FERRY_NEED(ctx, unlink(path) == 0 || errno == ENOENT, FERRY_EIO,
               "%s: cannot remove it: %s", path, strerror(errno));
done:
    ferry_i_free(path);
    return st;
}

static ferry_status begin(ferry_ctx *ctx, const ferry_study *study,
                          const ferry_reproduce_settings *s, ferry_lab *lab)
{
    ferry_status st = FERRY_OK;
    char *missing = NULL;

    FERRY_TRY(absolute(ctx, s->data, &lab->data));
    FERRY_TRY(ferry_i_study_missing(ctx, study, s->data, &missing));
    FERRY_NEED(ctx, !missing, FERRY_EDATA, "%s: not there, and %s needs it (--data DIR)",
               missing, study->name);
    FERRY_TRY(ferry_i_mkdirs(ctx, s->folder));
    FERRY_TRY(absolute(ctx, s->folder, &lab->folder));
    FERRY_TRY(remove_old(ctx, lab, "study.json"));
    FERRY_TRY(remove_old(ctx, lab, "log.txt"));
    lab->r = ferry_i_calloc(1, sizeof *lab->r);
    lab->said = ferry_i_ids_new();
    FERRY_NEED(ctx, lab->r && lab->said, FERRY_ENOMEM, "no memory for a study");
    lab->r->study = study;
    lab->r->quick = s->quick;
    lab->r->seed = ctx->seed;
    lab->r->threads = ctx->threads;
    lab->r->started = ferry_i_wall_clock();
    lab->r->runs = json_array();
    if (s->build) lab->r->build = ferry_i_strdup(s->build);
    FERRY_NEED(ctx, lab->r->runs && (lab->r->build || !s->build), FERRY_ENOMEM,
               "no memory for a study");
done:
    ferry_i_free(missing);
    return st;
}

ferry_status ferry_i_reproduce(ferry_ctx *ctx, const ferry_study *study,
                               const ferry_reproduce_settings *settings,
                               ferry_reproduction **out)
{
    ferry_status st = FERRY_OK;
    const uint64_t seed = ctx->seed;
    const double began = ferry_i_clock();
    const ferry_log_fn log = ctx->log;
    void *const log_user = ctx->log_user;
    const ferry_level least = ctx->log_least;
    ferry_lab lab = {.progress = ctx->progress, .progress_user = ctx->progress_user};
    char *json = NULL;

    *out = NULL;
    FERRY_TRY(begin(ctx, study, settings, &lab));
    ctx->progress = on_progress;
    ctx->progress_user = &lab;
    ctx->log = on_log;
    ctx->log_user = &lab;
    ctx->log_least = FERRY_WARN;
    FERRY_TRY(study->run(ctx, &lab));
    FERRY_NEED(ctx, !lab.no_memory, FERRY_ENOMEM, "no memory for a table");
    FERRY_NEED(ctx, lab.r->n_tables > 0 && lab.r->n_claims > 0, FERRY_EINVAL,
               "%s: gave no table or no claim", study->name);
    lab.r->seconds = ferry_i_clock() - began;
    lab.r->verdict = ferry_i_lab_verdict(lab.r);
    FERRY_NEED(ctx, lab.r->verdict, FERRY_ENOMEM, "no memory for a verdict");
    FERRY_TRY(ferry_reproduction_json(ctx, lab.r, &json));
    FERRY_TRY(write_log(ctx, &lab));
    FERRY_TRY(ferry_i_lab_task(ctx, &lab, "study.json", json));
    *out = lab.r;
    lab.r = NULL;
done:
    ctx->progress = lab.progress;
    ctx->progress_user = lab.progress_user;
    ctx->log = log;
    ctx->log_user = log_user;
    ctx->log_least = least;
    ctx->seed = seed;
    ctx->step = ctx->steps = 0;
    ferry_i_free(json);
    ferry_results_free(lab.results);
    ferry_reproduction_free(lab.r);
    ferry_i_ids_free(lab.said);
    ferry_i_free(lab.data);
    ferry_i_free(lab.folder);
    return st;
}
