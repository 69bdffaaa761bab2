/* Answers of a model that is not ours, from a CSV file (answers.h). */
#include "methods/shared/answers.h"

#include <math.h>
#include <string.h>

#include "data/fields.h"

enum { COLUMNS = 1024 };

/* Where the columns stand, -1: not there. */
typedef struct heading {
    int64_t repeat, id, item, prediction, n;
    int64_t score[COLUMNS]; /* place in names of a column of scores, or -1 */
} heading;

/* The answers of one repeat, in a scope of their own. */
struct answers {
    scope *keep;
    int64_t k; /* classes or labels */
    bool scored;
    ferry_ids *rows; /* "id", or "user\x1fitem" */
    int64_t cap;
    double *value; /* a number, or the place of the class */
    uint8_t *set;  /* k */
    double *score; /* k */
};

void answers_free(void *state)
{
    scope_close(state ? ((answers *)state)->keep : NULL);
}

/* ---- reading ---- */

/* One file under way. */
typedef struct reader {
    scope *s;
    const char *path;
    const ferry_task *task;
    heading h;
    ferry_lines lines;
    ferry_field *f; /* COLUMNS */
    int64_t repeat; /* from 1 */
} reader;

/* The place of a class or label of the task, -1: there is none. */
static int64_t class_named(const reader *r, const char *text, int64_t n)
{
    return ferry_i_ids_find(r->task->names, scope_text(r->s, "%.*s", (int)n, text));
}

static void read_column(reader *r, int64_t j)
{
    const bool rate = r->task->goal == FERRY_RATE;
    const ferry_field *f = &r->f[j];
    heading *h = &r->h;
    char show[44];

    h->score[j] = -1;
    if (ferry_i_field_is(f, "repeat")) h->repeat = j;
    if (ferry_i_field_is(f, rate ? "user" : "id")) h->id = j;
    if (rate && ferry_i_field_is(f, "item")) h->item = j;
    if (ferry_i_field_is(f, "prediction") || (rate && ferry_i_field_is(f, "value")))
        h->prediction = j;
    if (f->n <= 6 || memcmp(f->s, "score.", 6) != 0 || !r->task->names) return;
    h->score[j] = class_named(r, f->s + 6, f->n - 6);
    if (h->score[j] < 0)
        scope_fail(r->s, FERRY_EDATA, "%s:1: %s is none of the task's classes", r->path,
                   ferry_i_field_show(f, show));
}

static void read_heading(reader *r)
{
    heading *h = &r->h;
    const bool rate = r->task->goal == FERRY_RATE;

    if (!ferry_i_full_line(&r->lines, ""))
        scope_fail(r->s, FERRY_EDATA, "%s: is empty", r->path);
    h->repeat = h->id = h->item = h->prediction = -1;
    h->n = ferry_i_fields(r->lines.s, r->lines.e, ",", r->f, COLUMNS);
    if (h->n > COLUMNS)
        scope_fail(r->s, FERRY_EDATA, "%s:1: more than %d columns", r->path, (int)COLUMNS);
    for (int64_t j = 0; j < h->n; j++)
        read_column(r, j);
    if (h->id < 0 || h->prediction < 0 || (rate && h->item < 0))
        scope_fail(r->s, FERRY_EDATA, "%s:1: expected a heading with %s and prediction",
                   r->path, rate ? "user, item" : "id");
    if (h->repeat < 0 && r->repeat > 1)
        scope_fail(r->s, FERRY_ENEEDS,
                   "%s has no column 'repeat', so it answers for one repeat alone: add the "
                   "column, or set evaluate.repeats to 1",
                   r->path);
}

/* Capacity for one row more. */
static void grow(answers *a)
{
    const int64_t n = ferry_i_ids_count(a->rows), cap = 2 * n + 64;

    if (n < a->cap) return;
    a->value = scope_grow(a->keep, a->value, cap, sizeof *a->value);
    a->set = scope_grow(a->keep, a->set, cap * a->k + 1, 1);
    a->score = scope_grow(a->keep, a->score, cap * a->k + 1, sizeof *a->score);
    a->cap = cap;
}

static int64_t class_of(const reader *r, const char *text, int64_t n)
{
    const int64_t c = class_named(r, text, n);

    if (c < 0)
        scope_fail(r->s, FERRY_EDATA, "%s:%lld: '%.*s' is none of the task's classes",
                   r->path, (long long)r->lines.line, (int)(n < 40 ? n : 40), text);
    return c;
}

/* What is answered for row `at`; an empty cell is no answer. */
static void read_answer(const reader *r, const ferry_field *f, answers *a, int64_t at)
{
    char show[44];

    a->value[at] = NAN;
    memset(a->set + at * a->k, 0, (size_t)a->k);
    if (r->task->goal == FERRY_MULTILABEL) {
        for (const char *s = f->s, *end = f->s + f->n; s < end;) {
            const char *bar = memchr(s, '|', (size_t)(end - s));
            a->set[at * a->k + class_of(r, s, (bar ? bar : end) - s)] = 1;
            s = bar ? bar + 1 : end;
        }
    } else if (r->task->names) {
        a->value[at] = f->n > 0 ? (double)class_of(r, f->s, f->n) : -1;
    } else if (f->n > 0 && !ferry_i_field_real(f, &a->value[at])) {
        scope_fail(r->s, FERRY_EDATA, "%s:%lld: prediction '%s' is not a number", r->path,
                   (long long)r->lines.line, ferry_i_field_show(f, show));
    }
}

/* Scores, or 1 for what is answered and 0 for the rest. */
static void read_scores(const reader *r, answers *a, int64_t at)
{
    double *score = a->score + at * a->k;
    char show[44];

    for (int64_t c = 0; c < a->k; c++)
        score[c] = a->set[at * a->k + c] || (double)c == a->value[at];
    for (int64_t j = 0; j < r->h.n; j++) {
        if (r->h.score[j] < 0) continue;
        a->scored = true;
        score[r->h.score[j]] = NAN;
        if (r->f[j].n == 0) continue;
        if (!ferry_i_field_real(&r->f[j], &score[r->h.score[j]]))
            scope_fail(r->s, FERRY_EDATA, "%s:%lld: score '%s' is not a number", r->path,
                       (long long)r->lines.line, ferry_i_field_show(&r->f[j], show));
    }
}

static const char *key_of(const reader *r)
{
    const ferry_field *id = &r->f[r->h.id], *item = r->h.item < 0 ? NULL : &r->f[r->h.item];

    return item ? scope_text(r->s, "%.*s\x1f%.*s", (int)id->n, id->s, (int)item->n, item->s)
                : scope_text(r->s, "%.*s", (int)id->n, id->s);
}

/* A row of this repeat, or of another one, which is passed over. */
static void read_row(reader *r, answers *a)
{
    const int64_t n = ferry_i_fields(r->lines.s, r->lines.e, ",", r->f, COLUMNS);
    int64_t repeat = r->repeat;
    bool added = false;
    char show[44];

    if (n != r->h.n)
        scope_fail(r->s, FERRY_EDATA, "%s:%lld: %lld columns, expected %lld", r->path,
                   (long long)r->lines.line, (long long)n, (long long)r->h.n);
    if (r->h.repeat >= 0 && (!ferry_i_field_int(&r->f[r->h.repeat], &repeat) || repeat < 1))
        scope_fail(r->s, FERRY_EDATA, "%s:%lld: repeat '%s' is not a number from 1",
                   r->path, (long long)r->lines.line,
                   ferry_i_field_show(&r->f[r->h.repeat], show));
    if (repeat != r->repeat) return;
    grow(a);
    const int64_t at = ferry_i_ids_add(a->rows, key_of(r), &added);
    if (at < 0) scope_check(r->s, ferry_i_nomem(scope_ctx(r->s)));
    if (!added)
        scope_fail(r->s, FERRY_EDATA, "%s:%lld: a second answer for '%s' in repeat %lld",
                   r->path, (long long)r->lines.line,
                   ferry_i_field_show(&r->f[r->h.id], show), (long long)repeat);
    read_answer(r, &r->f[r->h.prediction], a, at);
    read_scores(r, a, at);
}

/* ---- all of it ---- */

/* Target rows that are to be predicted and have no answer; a note says how many. */
static void count_missing(const reader *r, const answers *a)
{
    const ferry_domain *target = NULL;
    int64_t missing = 0, asked = 0;

    scope_check(r->s, ferry_i_task_target(scope_ctx(r->s), r->task, &target));
    if (r->task->goal == FERRY_RATE)
        return; /* a pair without an answer makes metrics n/a */
    for (int64_t i = 0; i < ferry_i_ids_count(target->ids); i++) {
        if (ferry_i_labels_has(target->labels, i)) continue;
        asked++;
        missing += ferry_i_ids_find(a->rows, ferry_i_ids_at(target->ids, i)) < 0;
    }
    if (asked > 0 && missing == asked)
        scope_fail(
            r->s, FERRY_EDATA,
            "%s: repeat %lld has no answer for any hidden instance of '%s': are the ids "
            "those of the task?",
            r->path, (long long)r->repeat, target->name);
    if (missing > 0)
        report_text(
            r->s, "note",
            scope_text(r->s,
                       "%lld of %lld hidden instances have no answer in the file; those "
                       "that are scored count as wrong",
                       (long long)missing, (long long)asked));
}

typedef struct reading {
    const char *file;
    const ferry_task *task;
    int64_t repeat;
    scope *keep;
    answers *a;
} reading;

static void close_input(void *in)
{
    ferry_i_input_close(in);
}

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

static void fit_body(scope *s, void *arg)
{
    reading *from = arg;
    ferry_input *in = NEW(s, ferry_input, 1);
    reader r = {.s = s,
                .path = from->file,
                .task = from->task,
                .f = NEW(s, ferry_field, COLUMNS),
                .repeat = from->repeat};

    scope_bind(from->keep, s);
    answers *a = from->a = NEW(from->keep, answers, 1);
    a->keep = from->keep;
    scope_defer(s, close_input, in);
    scope_check(s, ferry_i_input_open(scope_ctx(s), from->file, in));
    a->k = r.task->names ? ferry_i_ids_count(r.task->names) : 0;
    if (!(a->rows = ferry_i_ids_new())) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(a->keep, free_ids, a->rows);
    r.lines = ferry_i_lines(in->data, in->size);
    read_heading(&r);
    const int64_t mark = scope_mark(s);
    while (ferry_i_full_line(&r.lines, "")) {
        read_row(&r, a);
        scope_release(s, mark);
    }
    if (ferry_i_ids_count(a->rows) == 0)
        scope_fail(s, FERRY_ENEEDS, "%s has no answers for repeat %lld", r.path,
                   (long long)r.repeat);
    count_missing(&r, a);
}

ferry_status answers_read(ferry_ctx *ctx, const char *path, const ferry_task *task,
                          int64_t repeat, answers **out)
{
    reading r = {.file = path, .task = task, .repeat = repeat};

    *out = NULL;
    scope *keep = scope_open(ctx);
    if (!keep) return ferry_i_nomem(ctx);
    r.keep = keep;
    const ferry_status st = scope_run(ctx, fit_body, &r);
    if (st == FERRY_OK)
        *out = r.a;
    else
        scope_close(keep);
    return st;
}

/* ---- asking ---- */

typedef struct answering {
    const answers *a;
    ferry_prediction *p;
} answering;

static void predict_body(scope *s, void *arg)
{
    const answers *a = ((const answering *)arg)->a;
    ferry_prediction *p = ((const answering *)arg)->p;

    if (p->k != a->k)
        scope_fail(s, FERRY_EDATA, "answers: %lld classes, expected %lld", (long long)p->k,
                   (long long)a->k);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t mark = scope_mark(s);
        const int64_t at = ferry_i_ids_find(
            a->rows,
            p->items ? scope_text(s, "%s\x1f%s", p->ids[i], p->items[i]) : p->ids[i]);
        scope_release(s, mark);
        if (p->value) p->value[i] = at < 0 ? NAN : a->value[at];
        if (p->cls) p->cls[i] = at < 0 || isnan(a->value[at]) ? -1 : (int32_t)a->value[at];
        if (at < 0 || a->k == 0) continue;
        if (p->set) memcpy(p->set + i * a->k, a->set + at * a->k, (size_t)a->k);
        /* without scores of its own a class has none: auc and log-loss are n/a then */
        if (p->set || a->scored)
            memcpy(p->score + i * a->k, a->score + at * a->k,
                   (size_t)a->k * sizeof *p->score);
    }
}

ferry_status answers_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                             ferry_prediction *p)
{
    (void)d;
    return scope_run(ctx, predict_body, &(answering){state, p});
}
