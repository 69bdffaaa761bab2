/* The record of a run (run.json): enough to run it again, and what it took. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "linalg/host/isa.h"
#include "run/run.h"
#include "select/select.h"

json_t *ferry_i_json_text(const char *text)
{
    json_t *s = json_string(text);
    char *plain = NULL;

    if (s) return s;
    plain = ferry_i_strdup(text);
    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c >= 128) *c = '?';
    s = plain ? json_string(plain) : NULL;
    ferry_i_free(plain);
    return s;
}

/* Set a key; the value is taken. False: no memory. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *text_or_null(const char *text)
{
    return text ? ferry_i_json_text(text) : json_null();
}

static json_t *hash_json(uint64_t h)
{
    return json_sprintf("%016llx", (unsigned long long)h);
}

json_t *ferry_i_settings_json(const ferry_opts *opts)
{
    json_t *all = json_object();

    for (int64_t i = 0; all && opts && ferry_opts_at(opts, i); i++) {
        const ferry_setting *s = ferry_opts_at(opts, i);
        if (put(all, s->key, ferry_i_json_text(s->value))) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

/* ---- data ---- */

static json_t *views_json(const ferry_domain *d)
{
    json_t *all = json_array();

    for (int64_t i = 0; all && i < d->n_views; i++) {
        const ferry_view *v = d->views[i];
        json_t *one = json_pack("{s:o, s:I, s:I, s:I}", "name", ferry_i_json_text(v->name),
                                "rows", (json_int_t)v->x->rows, "features",
                                (json_int_t)v->x->cols, "stored", (json_int_t)v->x->nnz);
        if (json_array_append_new(all, one) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *graphs_json(const ferry_domain *d)
{
    json_t *all = json_array();

    for (int64_t i = 0; all && i < d->n_graphs; i++) {
        const ferry_graph *g = d->graphs[i];
        json_t *one = json_pack("{s:o, s:I}", "name", ferry_i_json_text(g->name), "edges",
                                (json_int_t)(g->a->nnz / 2));
        if (json_array_append_new(all, one) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

json_t *ferry_i_run_domains(const ferry_task *task)
{
    static const char *const roles[] = {"source", "intermediate", "target"};
    json_t *all = json_array();

    for (int64_t i = 0; all && i < task->n_domains; i++) {
        const ferry_domain *d = task->domains[i];
        json_t *one = json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:I, s:o, s:o}", "name",
                                ferry_i_json_text(d->name), "role", roles[d->role],
                                "instances", (json_int_t)ferry_i_domain_id_count(d),
                                "labels", (json_int_t)ferry_domain_labels(d), "views",
                                views_json(d), "graphs", graphs_json(d), "ratings",
                                (json_int_t)(d->ratings ? d->ratings->n : 0), "hash",
                                hash_json(ferry_i_domain_hash(d)), "labels_hash",
                                hash_json(ferry_i_domain_labels_hash(d)));
        if (json_array_append_new(all, one) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *methods_json(const ferry_results *rs)
{
    json_t *all = json_array();

    for (int64_t i = 0; all && i < rs->n; i++) {
        const ferry_result *r = &rs->result[i].pub;
        json_t *one =
            json_pack("{s:o, s:s, s:o}", "name", ferry_i_json_text(r->name), "method",
                      r->method, "options", ferry_i_settings_json(r->options));
        if (json_array_append_new(all, one) == 0) continue;
        json_decref(all);
        return NULL;
    }
    return all;
}

/* ---- the command ---- */

/* A word for a POSIX shell, after a space; in quotes where it needs them. */
static void add_word(ferry_text *t, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./-=:,+@%";

    if (t->len > 0) ferry_i_text_add(t, " ");
    if (word[0] && word[strspn(word, plain)] == 0) {
        ferry_i_text_add(t, word);
        return;
    }
    ferry_i_text_add(t, "'");
    for (; *word; word++)
        ferry_i_text_addn(t, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    ferry_i_text_add(t, "'");
}

/* The command that gives the same numbers. */
static json_t *command_json(const ferry_task *task, const ferry_results *rs)
{
    ferry_text t = {0};
    json_t *out = NULL;

    if (!task->file) return json_null();
    add_word(&t, "ferry");
    add_word(&t, "run");
    add_word(&t, task->file);
    for (int64_t i = 0; ferry_opts_at(task->sets, i); i++) {
        ferry_text set = {0};
        const ferry_setting *s = ferry_opts_at(task->sets, i);
        ferry_i_text_addf(&set, "%s=%s", s->key, s->value);
        add_word(&t, "--set");
        t.failed = t.failed || set.failed;
        if (!set.failed) add_word(&t, set.s);
        ferry_i_text_free(&set);
    }
    if (!task->sets || !ferry_opts_get(task->sets, "evaluate.seed"))
        ferry_i_text_addf(&t, " --seed %llu", (unsigned long long)rs->run.seed);
    ferry_i_text_addf(&t, " --threads %d", rs->run.threads);
    if (strcmp(rs->run.engine, "host") != 0)
        ferry_i_text_addf(&t, " --engine %s", rs->run.engine);
    if (!t.failed) out = ferry_i_json_text(t.s);
    ferry_i_text_free(&t);
    return out;
}

/* ---- machine and time ---- */

/* The first "model name" of /proc/cpuinfo, or null. */
static json_t *cpu_json(void)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    json_t *out = NULL;

    while (file && !out && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        out = ferry_i_json_text(colon + 1 + strspn(colon + 1, " "));
    }
    if (file) (void)fclose(file);
    return out ? out : json_null();
}

json_t *ferry_i_machine_json(void)
{
    struct utsname u;

    if (uname(&u) != 0) memset(&u, 0, sizeof u);
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:I, s:I}", "isa",
        ferry_i_isa_name(ferry_i_isa_choose(getenv("FERRY_ISA"), NULL)), "system",
        u.sysname, "release", u.release, "architecture", u.machine, "cpu", cpu_json(),
        "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory",
        (json_int_t)sysconf(_SC_PHYS_PAGES) * (json_int_t)sysconf(_SC_PAGESIZE));
}

/* Wall-clock seconds as "2026-01-31T12:00:00Z". */
static json_t *moment_json(double seconds)
{
    const time_t t = (time_t)seconds;
    struct tm utc;
    char text[32];

    if (!gmtime_r(&t, &utc) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        return json_null();
    return json_string(text);
}

static json_t *peak_memory(void)
{
    struct rusage use;

    if (getrusage(RUSAGE_SELF, &use) != 0) return json_null();
    return json_integer((json_int_t)use.ru_maxrss * 1024);
}

json_t *ferry_i_run_record(ferry_ctx *ctx, const ferry_task *task, const ferry_results *rs,
                           double started, double took)
{
    json_t *measures = NULL;
    const ferry_status st = ferry_i_measures(ctx, task, &measures);
    if (st == FERRY_ENOMEM) return NULL;
    if (st != FERRY_OK) measures = json_null(); /* data that cannot be measured */
    json_t *origin = json_pack(
        "{s:o, s:s, s:o, s:o, s:o}", "name", ferry_i_json_text(task->name), "goal",
        ferry_goal_name(task->goal), "file", text_or_null(task->file), "text",
        text_or_null(task->text), "sets", ferry_i_settings_json(task->sets));
    json_t *settings =
        ferry_i_opts_json(ferry_i_evaluate_table, ferry_i_evaluate_table_n, task->evaluate);

    /* A seed of 64 bits does not fit JSON's integers: a text. */
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:s, s:o, s:o, s:f, "
                     "s:o, s:o, s:o}",
                     "format", 1, "ferry", ferry_version(), "task", origin, "domains",
                     ferry_i_run_domains(task), "methods", methods_json(rs), "evaluate",
                     settings, "seed",
                     json_sprintf("%llu", (unsigned long long)rs->run.seed), "engine",
                     rs->run.engine, "threads", rs->run.threads, "blas_core",
                     rs->run.blas_core, "machine", ferry_i_machine_json(), "started",
                     moment_json(started), "seconds", took, "peak_memory", peak_memory(),
                     "command", command_json(task, rs), "measures", measures);
}
