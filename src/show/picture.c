/* What the predictions of the first repeat look like, for the report: a confusion matrix,
 * points, an embedding, or how each label fares. At most a few hundred numbers: the page holds
 * them for every method. */
#include <jansson.h>
#include <math.h>

#include "show/show.h"

enum { MOST_CLASSES = 40, MOST_POINTS = 400 };

/* Every step-th of n, so that at most `most` are taken. */
static int64_t step_of(int64_t n, int64_t most)
{
    return n <= most ? 1 : (n + most - 1) / most;
}

/* counts[true][predicted]; what has no answer, or one that is no class here, is left
 * out. */
static json_t *confusion(const ferry_truth *t, const ferry_repeat_prediction *p)
{
    double *count = ferry_i_calloc(t->k * t->k, sizeof *count);
    json_t *names = json_array(), *rows = json_array();

    for (int64_t i = 0; count && i < t->n; i++) {
        const int32_t said = p->given->cls[i];
        if (!p->scored[i] || t->cls[i] < 0 || said < 0 || p->place[said] < 0) continue;
        count[t->cls[i] * t->k + p->place[said]]++;
    }
    for (int64_t i = 0; count && i < t->k; i++) {
        json_t *row = json_array();
        for (int64_t j = 0; j < t->k; j++)
            (void)json_array_append_new(row, json_integer((json_int_t)count[i * t->k + j]));
        (void)json_array_append_new(names, ferry_i_json_text(t->names[i]));
        (void)json_array_append_new(rows, row);
    }
    if (!count) { /* NULL says so, and takes the names along */
        json_decref(rows);
        rows = NULL;
    }
    ferry_i_free(count);
    return json_pack("{s:s, s:o, s:o}", "kind", "confusion", "classes", names, "counts",
                     rows);
}

static json_t *points(const ferry_truth *t, const ferry_repeat_prediction *p)
{
    const double *said = p->given->value;
    json_t *truth = json_array(), *value = json_array();
    int64_t n = 0, at = 0;

    for (int64_t i = 0; i < t->n; i++)
        n += p->scored[i];
    const int64_t step = step_of(n, MOST_POINTS);
    for (int64_t i = 0; i < t->n; i++) {
        if (!p->scored[i] || at++ % step != 0) continue;
        if (!isfinite(t->value[i]) || !isfinite(said[i])) continue;
        (void)json_array_append_new(truth, ferry_i_json_real(t->value[i]));
        (void)json_array_append_new(value, ferry_i_json_real(said[i]));
    }
    return json_pack("{s:s, s:o, s:o}", "kind", "points", "truth", truth, "prediction",
                     value);
}

/* The first two dimensions, with classes where they are known. */
static json_t *embedding(const ferry_truth *t, const ferry_prediction *p)
{
    const int64_t step = step_of(p->n, MOST_POINTS);
    json_t *x = json_array(), *y = json_array(), *group = json_array();

    for (int64_t i = 0; i < p->n; i += step) {
        const double *z = p->score + i * p->k;
        const bool named = t && t->cls && t->cls[i] >= 0;
        (void)json_array_append_new(x, ferry_i_json_real(z[0]));
        (void)json_array_append_new(y, ferry_i_json_real(p->k > 1 ? z[1] : 0));
        (void)json_array_append_new(group,
                                    ferry_i_json_text(named ? t->names[t->cls[i]] : ""));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "kind", "embedding", "x", x, "y", y, "class",
                     group);
}

/* F1 of each label over what was scored; null where it neither is nor is said. */
static json_t *labels(const ferry_truth *t, const ferry_repeat_prediction *p)
{
    const ferry_prediction *g = p->given;
    json_t *names = json_array(), *f1 = json_array();

    for (int64_t c = 0; c < g->k && c < MOST_CLASSES; c++) {
        const int64_t k = p->place[c];
        double hit = 0, all = 0;
        for (int64_t i = 0; k >= 0 && i < t->n; i++) {
            if (!p->scored[i]) continue;
            hit += t->set[i * t->k + k] && g->set[i * g->k + c];
            all += t->set[i * t->k + k] + g->set[i * g->k + c];
        }
        (void)json_array_append_new(names, ferry_i_json_text(g->names[c]));
        (void)json_array_append_new(f1, all > 0 ? json_real(2 * hit / all) : json_null());
    }
    return json_pack("{s:s, s:o, s:o}", "kind", "labels", "names", names, "f1", f1);
}

json_t *ferry_i_report_picture(const ferry_results *rs, const ferry_result *r)
{
    const ferry_repeat_prediction *p = ferry_result_prediction_at(r, 0);
    const ferry_truth *t = ferry_i_results_truth(rs);

    if (!p || p->given->n == 0) return json_null();
    if (ferry_results_info(rs)->goal == FERRY_EMBED && p->given->score && p->given->k > 0)
        return embedding(t, p->given);
    if (!p->scored || !t) return json_null();
    if (p->given->value && t->value) return points(t, p);
    if (p->given->cls && p->place && t->cls && t->k <= MOST_CLASSES) return confusion(t, p);
    if (p->given->set && p->place && t->set) return labels(t, p);
    return json_null();
}
