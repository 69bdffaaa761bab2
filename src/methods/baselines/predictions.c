/* predictions: what a model of the user's own answered, read from a file, so that it stands in the
 * table beside the others and is compared on the same splits.
 *
 * The file is a table with a heading: repeat (from 1), id (ratings: user and item), prediction
 * (label sets: "a|b"), and score.CLASS for those who have scores; other columns are passed over. So
 * it reads what `ferry run --save predictions` and `ferry predict` write. There is nothing to fit:
 * the fit of a repeat takes that repeat's rows. */
#include <math.h>
#include <string.h>

#include "data/fields.h"
#include "methods/method.h"

typedef struct predictions_options {
    const char *file;
    int baseline;
} predictions_options;

static const ferry_opt predictions_opts[] = {
    FERRY_OPT_STRING(
        predictions_options, file, "",
        "table of the answers, from the task file's folder: columns repeat, id "
        "(ratings: user, item), prediction"),
    FERRY_OPT_YES_NO(
        predictions_options, baseline, "no",
        "whether it counts as a method without transfer, which others must beat"),
};

enum { COLUMNS = 1024 };

/* Where the columns stand, -1: not there. */
typedef struct heading {
    int64_t repeat, id, item, prediction, n;
    int64_t score[COLUMNS]; /* place in names of a column of scores, or -1 */
} heading;

/* The answers of one repeat. */
typedef struct answers {
    int64_t k; /* classes or labels */
    bool scored;
    ferry_ids *rows; /* "id", or "user\x1fitem" */
    int64_t cap;
    double *value; /* a number, or the place of the class */
    uint8_t *set;  /* k */
    double *score; /* k */
} answers;

static void predictions_free(void *state)
{
    answers *a = state;

    if (!a) return;
    ferry_i_ids_free(a->rows);
    FERRY_FREE(a->value, a->set, a->score, a);
}

/* ---- reading ---- */

/* One file under way. */
typedef struct reader {
    ferry_ctx *ctx;
    const char *path;
    const ferry_task *task;
    heading h;
    ferry_lines lines;
    ferry_field *f; /* COLUMNS */
    bool seen;      /* a row of this repeat */
} reader;

static ferry_status read_heading(reader *r)
{
    ferry_status st = FERRY_OK;
    heading *h = &r->h;
    const bool rate = r->task->goal == FERRY_RATE;
    char show[44];

    FERRY_NEED(r->ctx, ferry_i_full_line(&r->lines, ""), FERRY_EDATA, "%s: is empty",
               r->path);
    h->repeat = h->id = h->item = h->prediction = -1;
    h->n = ferry_i_fields(r->lines.s, r->lines.e, ",", r->f, COLUMNS);
    FERRY_NEED(r->ctx, h->n <= COLUMNS, FERRY_EDATA, "%s:1: more than %d columns", r->path,
               (int)COLUMNS);
    for (int64_t j = 0; j < h->n; j++) {
        const ferry_field *f = &r->f[j];
        h->score[j] = -1;
        if (ferry_i_field_is(f, "repeat")) h->repeat = j;
        if (ferry_i_field_is(f, rate ? "user" : "id")) h->id = j;
        if (rate && ferry_i_field_is(f, "item")) h->item = j;
        if (ferry_i_field_is(f, "prediction") || (rate && ferry_i_field_is(f, "value")))
            h->prediction = j;
        if (f->n > 6 && memcmp(f->s, "score.", 6) == 0 && r->task->names) {
            char *name = ferry_i_strndup(f->s + 6, f->n - 6);
            FERRY_HAVE(r->ctx, name);
            h->score[j] = ferry_i_ids_find(r->task->names, name);
            ferry_i_free(name);
            FERRY_NEED(r->ctx, h->score[j] >= 0, FERRY_EDATA,
                       "%s:1: %s is none of the task's classes", r->path,
                       ferry_i_field_show(f, show));
        }
    }
    FERRY_NEED(r->ctx, h->id >= 0 && h->prediction >= 0 && (!rate || h->item >= 0),
               FERRY_EDATA, "%s:1: expected a heading with %s and prediction", r->path,
               rate ? "user, item" : "id");
    FERRY_NEED(r->ctx, h->repeat >= 0 || r->ctx->repeat == 0, FERRY_ENEEDS,
               "%s has no column 'repeat', so it answers for one repeat alone: add the "
               "column, or set evaluate.repeats to 1",
               r->path);
done:
    return st;
}

/* Room for one row more. */
static ferry_status grow(ferry_ctx *ctx, answers *a)
{
    const int64_t n = ferry_i_ids_count(a->rows), cap = 2 * n + 64;

    if (n < a->cap) return FERRY_OK;
    double *value = ferry_i_realloc(a->value, cap, sizeof *value);
    if (value) a->value = value;
    uint8_t *set = ferry_i_realloc(a->set, cap * a->k + 1, 1);
    if (set) a->set = set;
    double *score = ferry_i_realloc(a->score, cap * a->k + 1, sizeof *score);
    if (score) a->score = score;
    if (!value || !set || !score) return ferry_i_nomem(ctx);
    a->cap = cap;
    return FERRY_OK;
}

/* The place of a class or label of the task. */
static ferry_status class_of(const reader *r, const char *s, int64_t n, int64_t *out)
{
    ferry_status st = FERRY_OK;
    char *name = ferry_i_strndup(s, n);

    FERRY_HAVE(r->ctx, name);
    *out = ferry_i_ids_find(r->task->names, name);
    FERRY_NEED(r->ctx, *out >= 0, FERRY_EDATA,
               "%s:%lld: '%.40s' is none of the task's classes", r->path,
               (long long)r->lines.line, name);
done:
    ferry_i_free(name);
    return st;
}

/* What is said of row `at`; an empty cell is no answer. */
static ferry_status read_answer(const reader *r, const ferry_field *f, answers *a,
                                int64_t at)
{
    ferry_status st = FERRY_OK;
    int64_t c = -1;
    char show[44];

    a->value[at] = NAN;
    memset(a->set + at * a->k, 0, (size_t)a->k);
    if (r->task->goal == FERRY_MULTILABEL) {
        for (const char *s = f->s, *end = f->s + f->n; s < end;) {
            const char *bar = memchr(s, '|', (size_t)(end - s));
            FERRY_TRY(class_of(r, s, (bar ? bar : end) - s, &c));
            a->set[at * a->k + c] = 1;
            s = bar ? bar + 1 : end;
        }
    } else if (r->task->names) {
        if (f->n > 0) FERRY_TRY(class_of(r, f->s, f->n, &c));
        a->value[at] = (double)c;
    } else if (f->n > 0) {
        FERRY_NEED(r->ctx, ferry_i_field_real(f, &a->value[at]), FERRY_EDATA,
                   "%s:%lld: prediction '%s' is not a number", r->path,
                   (long long)r->lines.line, ferry_i_field_show(f, show));
    }
done:
    return st;
}

/* Scores, or 1 for what is answered and 0 for the rest. */
static ferry_status read_scores(const reader *r, answers *a, int64_t at)
{
    ferry_status st = FERRY_OK;
    double *score = a->score + at * a->k;
    char show[44];

    for (int64_t c = 0; c < a->k; c++)
        score[c] = a->set[at * a->k + c] || (double)c == a->value[at];
    for (int64_t j = 0; j < r->h.n; j++) {
        if (r->h.score[j] < 0) continue;
        a->scored = true;
        score[r->h.score[j]] = NAN;
        if (r->f[j].n == 0) continue;
        FERRY_NEED(r->ctx, ferry_i_field_real(&r->f[j], &score[r->h.score[j]]), FERRY_EDATA,
                   "%s:%lld: score '%s' is not a number", r->path, (long long)r->lines.line,
                   ferry_i_field_show(&r->f[j], show));
    }
done:
    return st;
}

static char *key_of(const reader *r)
{
    const ferry_field *id = &r->f[r->h.id], *item = r->h.item < 0 ? NULL : &r->f[r->h.item];

    return item ? ferry_i_sprintf("%.*s\x1f%.*s", (int)id->n, id->s, (int)item->n, item->s)
                : ferry_i_strndup(id->s, id->n);
}

/* A row of this repeat, or of another one, which is passed over. */
static ferry_status read_row(reader *r, answers *a)
{
    ferry_status st = FERRY_OK;
    int64_t repeat = (int64_t)r->ctx->repeat + 1, at = 0;
    const int64_t n = ferry_i_fields(r->lines.s, r->lines.e, ",", r->f, COLUMNS);
    bool added = false;
    char *key = NULL, show[44];

    FERRY_NEED(r->ctx, n == r->h.n, FERRY_EDATA, "%s:%lld: %lld columns, expected %lld",
               r->path, (long long)r->lines.line, (long long)n, (long long)r->h.n);
    if (r->h.repeat >= 0)
        FERRY_NEED(r->ctx, ferry_i_field_int(&r->f[r->h.repeat], &repeat) && repeat >= 1,
                   FERRY_EDATA, "%s:%lld: repeat '%s' is not a number from 1", r->path,
                   (long long)r->lines.line, ferry_i_field_show(&r->f[r->h.repeat], show));
    if (repeat != (int64_t)r->ctx->repeat + 1) goto done;
    FERRY_HAVE(r->ctx, key = key_of(r));
    FERRY_TRY(grow(r->ctx, a));
    at = ferry_i_ids_add(a->rows, key, &added);
    FERRY_HAVE(r->ctx, at >= 0);
    FERRY_NEED(r->ctx, added, FERRY_EDATA,
               "%s:%lld: a second answer for '%s' in repeat %lld", r->path,
               (long long)r->lines.line, ferry_i_field_show(&r->f[r->h.id], show),
               (long long)repeat);
    FERRY_TRY(read_answer(r, &r->f[r->h.prediction], a, at));
    FERRY_TRY(read_scores(r, a, at));
done:
    ferry_i_free(key);
    return st;
}

/* ---- the method ---- */

/* Target rows that are to be predicted and have no answer; a note says how many. */
static ferry_status count_missing(reader *r, const answers *a)
{
    ferry_status st = FERRY_OK;
    const ferry_domain *target = NULL;
    int64_t missing = 0, asked = 0;
    char *text = NULL;

    FERRY_TRY(ferry_i_task_target(r->ctx, r->task, &target));
    if (r->task->goal == FERRY_RATE)
        goto done; /* a pair without an answer makes metrics n/a */
    for (int64_t i = 0; i < ferry_i_ids_count(target->ids); i++) {
        if (ferry_i_labels_has(target->labels, i)) continue;
        asked++;
        missing += ferry_i_ids_find(a->rows, ferry_i_ids_at(target->ids, i)) < 0;
    }
    FERRY_NEED(r->ctx, asked == 0 || missing < asked, FERRY_EDATA,
               "%s: repeat %lld has no answer for any hidden instance of '%s': are the ids "
               "those of the task?",
               r->path, (long long)r->ctx->repeat + 1, target->name);
    if (missing == 0) goto done;
    text =
        ferry_i_sprintf("%lld of %lld hidden instances have no answer in the file; those "
                        "that are scored count as wrong",
                        (long long)missing, (long long)asked);
    if (text) ferry_i_diag_text(r->ctx, "note", text);
done:
    ferry_i_free(text);
    return st;
}

static ferry_status predictions_fit(ferry_ctx *ctx, const ferry_task *task,
                                    const void *options, void **state, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const predictions_options *o = options;
    ferry_input in = {0};
    reader r = {.ctx = ctx, .path = o->file, .task = task};
    answers *a = NULL;

    *state = NULL;
    rep->objective = NAN;
    FERRY_TRY(ferry_i_input_open(ctx, o->file, &in));
    FERRY_NEW(ctx, r.f, COLUMNS);
    FERRY_NEW(ctx, a, 1);
    a->k = task->names ? ferry_i_ids_count(task->names) : 0;
    FERRY_HAVE(ctx, a->rows = ferry_i_ids_new());
    r.lines = ferry_i_lines(in.data, in.size);
    FERRY_TRY(read_heading(&r));
    while (ferry_i_full_line(&r.lines, ""))
        FERRY_TRY(read_row(&r, a));
    FERRY_NEED(ctx, ferry_i_ids_count(a->rows) > 0, FERRY_ENEEDS,
               "%s has no answers for repeat %lld", o->file, (long long)ctx->repeat + 1);
    FERRY_TRY(count_missing(&r, a));
    FERRY_MOVE(*state, a);
done:
    ferry_i_input_close(&in);
    ferry_i_free(r.f);
    predictions_free(a);
    return st;
}

static ferry_status predictions_fits(ferry_ctx *ctx, const ferry_task *task,
                                     const void *options)
{
    ferry_status st = FERRY_OK;

    (void)task;
    FERRY_NEED(ctx, ((const predictions_options *)options)->file[0], FERRY_EINVAL,
               "predictions needs a file: - predictions: {file: mine.csv}");
done:
    return st;
}

static ferry_status predictions_predict(ferry_ctx *ctx, const void *state,
                                        const ferry_domain *d, ferry_prediction *p)
{
    ferry_status st = FERRY_OK;
    const answers *a = state;
    char *key = NULL;

    (void)d;
    FERRY_NEED(ctx, p->k == a->k, FERRY_EDATA, "predictions: %lld classes, expected %lld",
               (long long)p->k, (long long)a->k);
    for (int64_t i = 0; i < p->n; i++) {
        key = p->items ? ferry_i_sprintf("%s\x1f%s", p->ids[i], p->items[i])
                       : ferry_i_strdup(p->ids[i]);
        FERRY_HAVE(ctx, key);
        const int64_t at = ferry_i_ids_find(a->rows, key);
        ferry_i_free(key);
        if (p->value) p->value[i] = at < 0 ? NAN : a->value[at];
        if (p->cls) p->cls[i] = at < 0 || isnan(a->value[at]) ? -1 : (int32_t)a->value[at];
        if (at < 0 || a->k == 0) continue;
        if (p->set) memcpy(p->set + i * a->k, a->set + at * a->k, (size_t)a->k);
        /* without scores of its own a class has none: auc and log-loss are n/a then */
        if (p->set || a->scored)
            memcpy(p->score + i * a->k, a->score + at * a->k,
                   (size_t)a->k * sizeof *p->score);
    }
done:
    return st;
}

const ferry_method ferry_i_method_predictions = {
    .name = "predictions",
    .summary = "answers of a model of your own, from a file",
    .kind = FERRY_KIND_CONTROL,
    .goals = FERRY_CLASSIFY | FERRY_REGRESS | FERRY_MULTILABEL | FERRY_RATE,
    .options = predictions_opts,
    .n_options = FERRY_COUNT(predictions_opts),
    .options_size = sizeof(predictions_options),
    .asked = true,
    .fits = predictions_fits,
    .fit = predictions_fit,
    .predict = predictions_predict,
    .free = predictions_free,
};
