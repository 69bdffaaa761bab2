/* Results as files: predictions/NAME.csv of each method (first repeat), run.json, results.json and
 * the page. They are written to DIR.part/new, which then takes DIR's place as one. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "show/show.h"

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

/* [repeat,]id,truth,scored,prediction; ratings have user,item; embeddings z1,z2,...; with all
 * repeats the scores too. */
static void write_heading(ferry_out *o, const ferry_prediction *p, bool all)
{
    ferry_i_out_printf(o, "%s%s,truth,scored", all ? "repeat," : "",
                       p->items ? "user,item" : "id");
    if (p->set || p->value || p->cls) ferry_i_out_printf(o, ",prediction");
    for (int64_t c = 0; p->goal == FERRY_EMBED && c < p->k; c++)
        ferry_i_out_printf(o, ",z%lld", (long long)c + 1);
    for (int64_t c = 0; all && p->names && p->score && c < p->k; c++) {
        ferry_i_out_write(o, ",", 1);
        ferry_i_out_csv(o, "score.", p->names[c]);
    }
    ferry_i_out_write(o, "\n", 1);
}

/* The predictions of one repeat. */
static ferry_status write_repeat(ferry_ctx *ctx, const ferry_truth *truth,
                                 const ferry_repeat_prediction *of, bool all, ferry_out *o)
{
    const ferry_prediction *p = of->given;

    for (int64_t i = 0; i < p->n; i++) {
        bool ok = true;
        if (all) ferry_i_out_printf(o, "%lld,", (long long)of->repeat + 1);
        ferry_i_out_csv(o, "", p->ids[i]);
        if (p->items) write_text(o, p->items[i]);
        ok = write_truth(o, truth, i);
        ferry_i_out_write(o, truth && of->scored[i] ? ",1" : ",0", 2);
        ok = write_prediction(o, p, i) && ok;
        for (int64_t c = 0; all && p->names && p->score && c < p->k; c++)
            write_number(o, p->score[i * p->k + c]);
        ferry_i_out_write(o, "\n", 1);
        if (!ok) return ferry_i_nomem(ctx);
    }
    return FERRY_OK;
}

/* The predictions of a method: of the first repeat, or of all that are kept. Names of classes are
 * the first's; a class that is not among them has no column. */
static ferry_status write_predictions(ferry_ctx *ctx, const ferry_results *rs,
                                      const ferry_result *r, const char *path)
{
    ferry_status st = FERRY_OK;
    ferry_out *o = NULL;
    const int64_t n = rs->keep_all ? ((const ferry_entry *)r)->n_kept : 1;

    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    write_heading(o, ferry_result_prediction_at(r, 0)->given, rs->keep_all);
    for (int64_t i = 0; i < n; i++)
        FERRY_TRY(write_repeat(ctx, ferry_i_results_truth(rs),
                               ferry_result_prediction_at(r, i), rs->keep_all, o));
    st = ferry_i_out_commit(ctx, o);
    o = NULL;
done:
    ferry_i_out_abort(o);
    return st;
}

/* repeat,id,role: which known labels methods saw and which were scored. */
static ferry_status save_splits(ferry_ctx *ctx, const ferry_results *rs, const char *path)
{
    ferry_status st = FERRY_OK;
    const ferry_truth *t = ferry_i_results_truth(rs);
    const ferry_result *first = ferry_i_results_ranked(rs, 1);
    const ferry_repeat_prediction *kept =
        first ? ferry_result_prediction_at(first, 0) : NULL;
    ferry_out *o = NULL;

    if (!t || !kept) goto done;
    FERRY_TRY(ferry_i_out_open(ctx, path, &o));
    ferry_i_out_printf(o, "repeat,%s,role\n", rs->ratings ? "user,item" : "id");
    for (int64_t r = 0; r < rs->run.repeats; r++)
        for (int64_t i = 0; rs->scored[r] && i < t->n; i++) {
            const bool known =
                rs->ratings ? isfinite(t->value[i]) : ferry_i_labels_has(rs->truth, i);
            if (!known) continue;
            ferry_i_out_printf(o, "%lld", (long long)r + 1);
            write_text(o, kept->given->ids[i]);
            if (rs->ratings) write_text(o, kept->given->items[i]);
            ferry_i_out_printf(o, rs->scored[r][i] ? ",scored\n" : ",visible\n");
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
    const int64_t n = rs->n;
    char **names = ferry_i_calloc(n, sizeof *names), *path = NULL;

    FERRY_HAVE(ctx, names);
    for (int64_t i = 0; i < n; i++) {
        const ferry_result *r = ferry_results_at(rs, i);
        if (r->reason || !ferry_result_prediction_at(r, 0)) continue;
        FERRY_TRY(name_file(ctx, rs, i, names));
        FERRY_HAVE(ctx, path = ferry_i_sprintf("%s/%s.csv", dir, names[i]));
        FERRY_TRY(write_predictions(ctx, rs, r, path));
        ferry_i_free(path);
        path = NULL;
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

/* Everything into an empty folder; `name` is what it will be called. */
static ferry_status fill(ferry_ctx *ctx, const ferry_results *rs, const char *dir,
                         const char *name)
{
    FERRY_ARGS(ctx, rs, dir);

    ferry_status st = FERRY_OK;
    char *folder = ferry_i_path_join(dir, "predictions"), *json = NULL;
    char *report = ferry_i_path_join(dir, "report.html");
    char *splits = ferry_i_path_join(dir, "splits.csv");

    FERRY_HAVE(ctx, folder && report && splits);
    FERRY_TRY(ferry_i_results_json(ctx, rs, &json));
    FERRY_TRY(ferry_i_mkdirs(ctx, folder));
    FERRY_TRY(save_predictions(ctx, rs, folder));
    if (rs->keep_splits) FERRY_TRY(save_splits(ctx, rs, splits));
    if (rs->record) FERRY_TRY(save_record(ctx, rs, dir));
    FERRY_TRY(write_file(ctx, dir, "results.json", json));
    FERRY_TRY(ferry_i_report_write(ctx, 1, &dir, &name, report));
done:
    ferry_string_free(json);
    FERRY_FREE(report, folder, splits);
    return st;
}

/* Where the folder is, links followed, without a slash at its end. */
static char *place_of(const char *dir)
{
    char *real = realpath(dir, NULL), *copy = ferry_i_strdup(real ? real : dir);

    for (size_t n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = 0;
    free(real); /* the C library's own */
    return copy;
}

ferry_status ferry_results_save(ferry_ctx *ctx, const ferry_results *rs, const char *dir)
{
    FERRY_ARGS(ctx, rs, dir);

    static const char *const ours[] = {"results.json", "run.json",   "report.html",
                                       "predictions",  "splits.csv", NULL};
    ferry_status st = FERRY_OK;
    char *place = place_of(dir);
    char *part = place ? ferry_i_sprintf("%s.part", place) : NULL;
    char *fresh = part ? ferry_i_path_join(part, "new") : NULL;
    char *old = part ? ferry_i_path_join(part, "old") : NULL;

    FERRY_HAVE(ctx, fresh && old);
    FERRY_TRY(ferry_i_folder_finish(ctx, place, old, ours));
    ferry_i_remove_tree(fresh);
    FERRY_TRY(ferry_i_mkdirs(ctx, fresh));
    FERRY_TRY(fill(ctx, rs, fresh, dir));
    FERRY_TRY(ferry_i_folder_replace(ctx, fresh, place, old, ours));
done:
    if (st != FERRY_OK && fresh) ferry_i_remove_tree(fresh);
    if (part) (void)rmdir(part); /* unless an evaluation keeps its pieces there */
    FERRY_FREE(place, part, fresh, old);
    return st;
}
