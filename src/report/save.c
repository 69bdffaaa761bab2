/* Results as files: predictions/NAME.csv of each method (first repeat), run.json, then
 * results.json, so that a folder with results.json has all of it. Each file is written to a
 * temporary name and renamed. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/report.h"

/* ---- names of files ---- */

enum { NAME_MAX_BYTES = 100 };

/* Letters, digits, '.', '-' and '=' stay; anything else becomes '_'. No hidden files, no
 * endless names. */
static char *safe_name(const char *name)
{
    char *safe = ferry_i_strdup(name);

    if (!safe) return NULL;
    for (char *c = safe; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(".-=", *c)) *c = '_';
    if (safe[0] == '.') safe[0] = '_';
    if (strlen(safe) > NAME_MAX_BYTES) safe[NAME_MAX_BYTES] = 0;
    return safe;
}

/* Without regard to case: some file systems have none. */
static bool taken(char *const *names, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (names[i] && strcasecmp(names[i], name) == 0) return true;
    return false;
}

/* names[i] for result i: safe, and unlike all before it. */
static ferry_status name_file(ferry_ctx *ctx, const ferry_results *rs, int64_t i,
                              char **names)
{
    ferry_status st = FERRY_OK;
    char *safe = safe_name(ferry_results_at(rs, i)->name), *name = ferry_i_strdup(safe);

    for (int64_t again = 2; name && taken(names, i, name); again++) {
        ferry_i_free(name);
        name = ferry_i_sprintf("%s-%lld", safe, (long long)again);
    }
    FERRY_HAVE(ctx, safe && name);
    FERRY_MOVE(names[i], name);
done:
    FERRY_FREE(safe, name);
    return st;
}

/* ---- predictions ---- */

/* A missing number is an empty cell. */
static void write_number(ferry_out *o, double x)
{
    char buf[32];

    ferry_i_out_write(o, ",", 1);
    if (!isnan(x)) ferry_i_out_write(o, buf, ferry_i_format_real(buf, x));
}

static void write_text(ferry_out *o, const char *text)
{
    ferry_i_out_write(o, ",", 1);
    ferry_i_out_csv(o, "", text);
}

/* The names of the labels that are on, as one cell "a|b". False: no memory. */
static bool write_set(ferry_out *o, int64_t k, const uint8_t *on, const char *const *names)
{
    ferry_text t = {0};

    ferry_i_text_add(&t, "");
    for (int64_t c = 0; c < k; c++) {
        if (!on[c]) continue;
        if (t.len > 0) ferry_i_text_add(&t, "|");
        ferry_i_text_add(&t, names[c]);
    }
    if (!t.failed) write_text(o, t.s);
    const bool ok = !t.failed;
    ferry_i_text_free(&t);
    return ok;
}

/* What is known of entry i; an empty cell when nothing is. */
static bool write_truth(ferry_out *o, const ferry_truth *t, int64_t i)
{
    if (t && t->set && t->known[i]) return write_set(o, t->k, t->set + i * t->k, t->names);
    if (t && t->value)
        write_number(o, t->value[i]);
    else
        write_text(o, t && t->cls && t->cls[i] >= 0 ? t->names[t->cls[i]] : "");
    return true;
}

static bool write_prediction(ferry_out *o, const ferry_prediction *p, int64_t i)
{
    if (p->set) return write_set(o, p->k, p->set + i * p->k, (const char *const *)p->names);
    if (p->value) write_number(o, p->value[i]);
    if (p->cls && p->names) write_text(o, p->cls[i] < 0 ? "" : p->names[p->cls[i]]);
    if (p->cls && !p->names) write_number(o, p->cls[i]);
    for (int64_t c = 0; p->goal == FERRY_EMBED && c < p->k; c++)
        write_number(o, p->score[i * p->k + c]);
    return true;
}

/* id,truth,scored,prediction; ratings have user,item; embeddings z1,z2,... */
static void write_heading(ferry_out *o, const ferry_prediction *p)
{
    ferry_i_out_printf(o, p->items ? "user,item,truth" : "id,truth");
    ferry_i_out_printf(o, ",scored");
    if (p->set || p->value || p->cls) ferry_i_out_printf(o, ",prediction");
    for (int64_t c = 0; p->goal == FERRY_EMBED && c < p->k; c++)
        ferry_i_out_printf(o, ",z%lld", (long long)c + 1);
    ferry_i_out_write(o, "\n", 1);
}

/* The first repeat's predictions of a method. */
static ferry_status write_predictions(ferry_ctx *ctx, const ferry_results *rs,
                                      const ferry_result *r, const char *path)
{
    ferry_status st = FERRY_OK;
    const ferry_repeat_prediction *first = ferry_result_prediction_at(r, 0);
    const ferry_prediction *p = first->given;
    const ferry_truth *truth = ferry_results_truth(rs);
    ferry_out *o = NULL;

    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    write_heading(o, p);
    for (int64_t i = 0; i < p->n; i++) {
        bool ok = true;
        ferry_i_out_csv(o, "", p->ids[i]);
        if (p->items) write_text(o, p->items[i]);
        ok = write_truth(o, truth, i);
        ferry_i_out_write(o, truth && first->scored[i] ? ",1" : ",0", 2);
        ok = write_prediction(o, p, i) && ok;
        ferry_i_out_write(o, "\n", 1);
        FERRY_HAVE(ctx, ok);
    }
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    return st;
}

/* ---- all of it ---- */

static ferry_status save_predictions(ferry_ctx *ctx, const ferry_results *rs,
                                     const char *dir)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_results_count(rs);
    const ferry_guard *g = ferry_results_guard(rs);
    char **names = ferry_i_calloc(n, sizeof *names), *path = NULL;

    FERRY_HAVE(ctx, names);
    for (int64_t i = 0; i < n; i++) {
        const ferry_result *r = ferry_results_at(rs, i);
        if (r->reason || ferry_result_prediction_count(r) == 0) continue;
        FERRY_TRY(name_file(ctx, rs, i, names));
        FERRY_HAVE(ctx, path = ferry_i_sprintf("%s/%s.csv", dir, names[i]));
        FERRY_TRY(write_predictions(ctx, rs, r, path));
        ferry_i_free(path);
        path = NULL;
    }
    /* what the guard takes in the first repeat, whose predictions these are */
    const ferry_result *taken =
        g && g->repeats > 0 ? ferry_results_at(rs, g->chosen[0]) : NULL;
    if (taken && ferry_result_prediction_count(taken) > 0) {
        FERRY_HAVE(ctx, path = ferry_i_sprintf("%s/_guard.csv", dir));
        FERRY_TRY(write_predictions(ctx, rs, taken, path));
    }
done:
    for (int64_t i = 0; names && i < n; i++)
        ferry_i_free(names[i]);
    FERRY_FREE(names, path);
    return st;
}

static ferry_status write_file(ferry_ctx *ctx, const char *dir, const char *name,
                               const char *text)
{
    ferry_status st = FERRY_OK;
    char *path = ferry_i_path_join(dir, name);
    ferry_out *o = NULL;

    FERRY_HAVE(ctx, path);
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_write(o, text, (int64_t)strlen(text));
    st = ferry_i_out_commit(ctx, o);
done:
    ferry_i_free(path);
    return st;
}

/* The record of the run, with the versions of all libraries. */
static ferry_status save_record(ferry_ctx *ctx, const ferry_results *rs, const char *dir)
{
    ferry_status st = FERRY_OK;
    ferry_installation *here = NULL;
    char *text = NULL;

    FERRY_TRY(ferry_doctor(ctx, &here));
    FERRY_HAVE(
        ctx,
        json_object_set_new(rs->record, "libraries", ferry_i_libraries_json(here)) == 0 &&
            json_object_set_new(rs->record, "compiler", json_string(here->compiler)) == 0);
    FERRY_TRY(ferry_i_json_dump(ctx, rs->record, JSON_INDENT(2) | JSON_REAL_PRECISION(15),
                                &text));
    FERRY_TRY(write_file(ctx, dir, "run.json", text));
done:
    ferry_i_free(text);
    ferry_installation_free(here);
    return st;
}

ferry_status ferry_results_save(ferry_ctx *ctx, const ferry_results *rs, const char *dir)
{
    FERRY_ARGS(ctx, rs, dir);

    ferry_status st = FERRY_OK;
    char *folder = ferry_i_path_join(dir, "predictions"), *json = NULL;

    char *report = ferry_i_path_join(dir, "report.html");

    FERRY_HAVE(ctx, folder && report);
    FERRY_TRY(ferry_results_json(ctx, rs, &json));
    FERRY_TRY(ferry_i_mkdirs(ctx, folder));
    FERRY_TRY(save_predictions(ctx, rs, folder));
    if (rs->record) FERRY_TRY(save_record(ctx, rs, dir));
    FERRY_TRY(write_file(ctx, dir, "results.json", json));
    FERRY_TRY(ferry_report_write(ctx, 1, &dir, report));
done:
    ferry_string_free(json);
    FERRY_FREE(report, folder);
    return st;
}
