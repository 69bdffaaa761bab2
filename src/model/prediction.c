/* Predictions: the arrays of a goal, as CSV; embeddings also as NPZ or NPY. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"

/* Copy n texts into one block: pointers first, then the text.
 * One allocation and one free, whatever n is: predictions have millions of ids. NULL: no
 * memory. */
static char **copy_texts(int64_t n, const char *(*at)(const void *, int64_t),
                         const void *arg)
{
    int64_t bytes = n * (int64_t)sizeof(char *);

    for (int64_t i = 0; i < n; i++)
        bytes += (int64_t)strlen(at(arg, i)) + 1;
    char **texts = ferry_i_calloc(bytes, 1);
    char *to = (char *)(texts ? texts + n : NULL);
    for (int64_t i = 0; texts && i < n; i++) {
        const size_t len = strlen(at(arg, i)) + 1;
        texts[i] = memcpy(to, at(arg, i), len);
        to += len;
    }
    return texts;
}

static const char *id_at(const void *ids, int64_t i)
{
    return ferry_i_ids_at(ids, i);
}

static const char *user_at(const void *ratings, int64_t i)
{
    const ferry_ratings *r = ratings;

    return ferry_i_ids_at(r->users, r->user[i]);
}

static const char *item_at(const void *ratings, int64_t i)
{
    const ferry_ratings *r = ratings;

    return ferry_i_ids_at(r->items, r->item[i]);
}

/* n * k, or -1 (which no allocation takes). */
static int64_t cells(int64_t n, int64_t k)
{
    return k > 0 && n > INT64_MAX / k ? -1 : n * k;
}

/* Ids and names are copied: a prediction outlives the model and the data. */
ferry_status ferry_i_prediction_new(ferry_ctx *ctx, ferry_goal goal, const ferry_ids *names,
                                    const ferry_domain *d, ferry_prediction **out)
{
    ferry_status st = FERRY_OK;
    ferry_prediction *p = ferry_i_calloc(1, sizeof *p);
    const bool rate = goal == FERRY_RATE, named = ferry_i_goal_named(goal);
    bool ok = true;

    *out = NULL;
    FERRY_HAVE(ctx, p);
    p->goal = goal;
    /* Embeddings have neither names nor scores yet: the method knows how wide they are. */
    p->n = rate ? d->ratings->n : ferry_i_ids_count(d->ids);
    p->k = named ? ferry_i_ids_count(names) : 0;
    p->ids = rate ? copy_texts(p->n, user_at, d->ratings) : copy_texts(p->n, id_at, d->ids);
    ok = ok && p->ids;
    if (rate) ok = ok && (p->items = copy_texts(p->n, item_at, d->ratings));
    if (named) ok = ok && (p->names = copy_texts(p->k, id_at, names));
    if (named) ok = ok && (p->score = ferry_i_calloc(cells(p->n, p->k), sizeof *p->score));
    if (goal == FERRY_MULTILABEL)
        ok = ok && (p->set = ferry_i_calloc(cells(p->n, p->k), sizeof *p->set));
    else if (named)
        ok = ok && (p->cls = ferry_i_calloc(p->n, sizeof *p->cls));
    if (rate || goal == FERRY_REGRESS)
        ok = ok && (p->value = ferry_i_calloc(p->n, sizeof *p->value));
    FERRY_HAVE(ctx, ok);
    FERRY_MOVE(*out, p);
done:
    ferry_prediction_free(p);
    return st;
}

/* Whether the i-th answer is for something that has a label. */
static bool is_known(const ferry_domain *d, const ferry_prediction *p, int64_t i)
{
    if (d->ratings) return i < d->ratings->n && !isnan(d->ratings->value[i]);
    const int64_t at = ferry_i_ids_find(d->ids, p->ids[i]);
    return at >= 0 && d->labels && at < d->labels->n && ferry_i_labels_has(d->labels, at);
}

void ferry_prediction_keep_blank(ferry_prediction *p, const ferry_domain *domain)
{
    int64_t n = 0;

    for (int64_t i = 0; p && domain && i < p->n; i++) {
        if (is_known(domain, p, i)) continue;
        for (int64_t k = 0; k < p->k; k++) {
            if (p->score) p->score[n * p->k + k] = p->score[i * p->k + k];
            if (p->set) p->set[n * p->k + k] = p->set[i * p->k + k];
        }
        if (p->cls) p->cls[n] = p->cls[i];
        if (p->value) p->value[n] = p->value[i];
        if (p->basis) p->basis[n] = p->basis[i];
        if (p->group) p->group[n] = p->group[i];
        if (p->items) p->items[n] = p->items[i];
        p->ids[n++] = p->ids[i];
    }
    if (p && domain) p->n = n;
}

void ferry_prediction_free(ferry_prediction *p)
{
    if (!p) return;
    FERRY_FREE(p->cls, p->score, p->value, p->set, p->names, p->ids, p->items, p->basis,
               p->group, p);
}

/* ---- CSV (RFC 4180) ---- */

/* NaN is an empty cell: the method has no answer. */
static void write_real(ferry_out *o, double x)
{
    char buf[32];

    ferry_i_out_write(o, ",", 1);
    if (!isnan(x)) ferry_i_out_write(o, buf, ferry_i_format_real(buf, x));
}

/* Columns by goal; scores are named after their class, coordinates of an embedding a number. */
static void write_header(ferry_out *o, const ferry_prediction *p)
{
    switch (p->goal) {
    case FERRY_RATE: ferry_i_out_printf(o, "user,item,value"); break;
    case FERRY_EMBED: ferry_i_out_printf(o, "id"); break;
    case FERRY_MULTILABEL:
        ferry_i_out_printf(o, "id");
        for (int64_t c = 0; c < p->k; c++) {
            ferry_i_out_write(o, ",", 1);
            ferry_i_out_csv(o, "", p->names[c]);
        }
        break;
    case FERRY_CLASSIFY:
    case FERRY_STREAM:
    case FERRY_REGRESS: ferry_i_out_printf(o, "id,prediction"); break;
    }
    /* A class may be called anything: ferry_i_out_csv quotes what needs it. */
    for (int64_t c = 0; p->score && c < p->k; c++) {
        char number[32];
        (void)snprintf(number, sizeof number, "%lld", (long long)c + 1);
        ferry_i_out_write(o, ",", 1);
        if (p->names)
            ferry_i_out_csv(o, "score.", p->names[c]);
        else
            ferry_i_out_csv(o, "z", number);
    }
    if (p->basis) ferry_i_out_printf(o, ",basis");
    ferry_i_out_write(o, "\n", 1);
}

/* Empty cells where the method has no answer. */
static void write_row(ferry_out *o, const ferry_prediction *p, int64_t i)
{
    static const char *const basis[] = {"views", "neighbours", "base"};

    ferry_i_out_csv(o, "", p->ids[i]);
    if (p->items) {
        ferry_i_out_write(o, ",", 1);
        ferry_i_out_csv(o, "", p->items[i]);
    }
    if (p->value) write_real(o, p->value[i]);
    if (p->cls) {
        ferry_i_out_write(o, ",", 1);
        if (p->cls[i] >= 0)
            ferry_i_out_csv(o, "", p->names[p->cls[i]]);
        else if (p->group && p->group[i] > 0)
            ferry_i_out_printf(o, "?%d", (int)p->group[i]);
    }
    for (int64_t c = 0; p->set && c < p->k; c++)
        ferry_i_out_write(o, p->set[i * p->k + c] ? ",1" : ",0", 2);
    for (int64_t c = 0; p->score && c < p->k; c++)
        write_real(o, p->score[i * p->k + c]);
    if (p->basis) ferry_i_out_printf(o, ",%s", basis[p->basis[i]]);
    ferry_i_out_write(o, "\n", 1);
}

/* ---- arrays ---- */

/* By the end of the file's name, as the readers choose too. */
static bool ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);

    return n >= m && strcmp(path + n - m, end) == 0;
}

/* An embedding as a matrix with its ids (NPY has no place for these). */
static ferry_status write_array(ferry_ctx *ctx, const ferry_prediction *p, const char *path)
{
    ferry_status st = FERRY_OK;
    const ferry_array a = {p->n, p->k, p->k, p->score};
    ferry_data *data = ferry_i_data_new("npz", path, FERRY_DATA_VIEW);

    FERRY_HAVE(ctx, data);
    FERRY_TRY(ferry_i_matrix_from_array(ctx, &a, &data->x));
    FERRY_HAVE(ctx, data->ids = ferry_i_ids_new());
    for (int64_t i = 0; i < p->n; i++)
        FERRY_HAVE(ctx, ferry_i_ids_add(data->ids, p->ids[i], NULL) >= 0);
    FERRY_TRY(ferry_write(ctx, data, path, NULL));
done:
    ferry_data_free(data);
    return st;
}

/* CSV for all, arrays for embeddings where the name asks for them. */
ferry_status ferry_prediction_write(ferry_ctx *ctx, const ferry_prediction *p,
                                    const char *path)
{
    FERRY_ARGS(ctx, p, path);

    ferry_out *o = NULL;

    if (p->goal == FERRY_EMBED && (ends_in(path, ".npz") || ends_in(path, ".npy")))
        return write_array(ctx, p, path);
    FERRY_PASS(ferry_i_out_open(ctx, path, &o));
    write_header(o, p);
    for (int64_t i = 0; i < p->n; i++)
        write_row(o, p, i);
    return ferry_i_out_commit(ctx, o);
}
