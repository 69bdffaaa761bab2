/* What the predictions of the first repeat look like, for the report: a confusion matrix,
 * points, an embedding, or how each label fares. At most a few hundred numbers. */
#include <jansson.h>
#include <math.h>

#include "report/report.h"

enum { MOST_CLASSES = 40, MOST_POINTS = 400 };

/* Every step-th of n, so that at most `most` are taken. */
static int64_t step_of(int64_t n, int64_t most)
{
    return n <= most ? 1 : (n + most - 1) / most;
}

static json_t *names_json(const ferry_ids *names, int64_t n)
{
    json_t *all = json_array();

    for (int64_t i = 0; all && i < n; i++)
        if (json_array_append_new(all, ferry_i_json_text(ferry_i_ids_at(names, i))) != 0) {
            json_decref(all);
            return NULL;
        }
    return all;
}

/* counts[true][predicted]; what has no answer, or one that is no class here, is left
 * out. */
static json_t *confusion(const ferry_results *rs, const ferry_prediction *p)
{
    const ferry_labels *t = rs->truth;
    const int64_t k = ferry_i_labels_m(t);
    double *count = ferry_i_calloc(k * k, sizeof *count);
    json_t *rows = json_array();

    if (!count || !rows) goto fail;
    for (int64_t i = 0; i < p->n; i++) {
        if (!rs->scored[i] || t->cls[i] < 0 || p->cls[i] < 0) continue;
        const int64_t c = ferry_i_ids_find(t->names, p->names[p->cls[i]]);
        if (c >= 0) count[t->cls[i] * k + c]++;
    }
    for (int64_t i = 0; i < k; i++) {
        json_t *row = json_array();
        for (int64_t j = 0; row && j < k; j++)
            (void)json_array_append_new(row, json_integer((json_int_t)count[i * k + j]));
        if (json_array_append_new(rows, row) != 0) goto fail;
    }
    ferry_i_free(count);
    return json_pack("{s:s, s:o, s:o}", "kind", "confusion", "classes",
                     names_json(t->names, k), "counts", rows);
fail:
    ferry_i_free(count);
    json_decref(rows);
    return NULL;
}

static json_t *points(const ferry_results *rs, const ferry_prediction *p)
{
    json_t *truth = json_array(), *value = json_array();
    int64_t n = 0, at = 0;

    for (int64_t i = 0; i < p->n; i++)
        n += rs->scored[i];
    const int64_t step = step_of(n, MOST_POINTS);
    for (int64_t i = 0; i < p->n; i++) {
        const double t = rs->ratings ? rs->ratings->value[i] : rs->truth->num[i];
        if (!rs->scored[i] || at++ % step != 0) continue;
        if (!isfinite(t) || !isfinite(p->value[i])) continue;
        (void)json_array_append_new(truth, ferry_i_report_real(t));
        (void)json_array_append_new(value, ferry_i_report_real(p->value[i]));
    }
    return json_pack("{s:s, s:o, s:o}", "kind", "points", "truth", truth, "prediction",
                     value);
}

static json_t *embedding(const ferry_results *rs, const ferry_prediction *p)
{
    const ferry_labels *t = rs->truth;
    const int64_t step = step_of(p->n, MOST_POINTS);
    json_t *x = json_array(), *y = json_array(), *group = json_array();

    for (int64_t i = 0; i < p->n; i += step) {
        const double *z = p->score + i * p->k;
        const bool named = t && t->kind == FERRY_LABEL_CLASS && t->cls[i] >= 0;
        (void)json_array_append_new(x, ferry_i_report_real(z[0]));
        (void)json_array_append_new(y, ferry_i_report_real(p->k > 1 ? z[1] : 0));
        (void)json_array_append_new(
            group, ferry_i_json_text(named ? ferry_i_ids_at(t->names, t->cls[i]) : ""));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "kind", "embedding", "x", x, "y", y, "class",
                     group);
}

/* F1 of each label over what was scored; null where it neither is nor is said. */
static json_t *labels(const ferry_results *rs, const ferry_prediction *p)
{
    const ferry_labels *t = rs->truth;
    const int64_t m = ferry_i_labels_m(t);
    json_t *names = json_array(), *f1 = json_array();

    for (int64_t c = 0; c < p->k && c < MOST_CLASSES; c++) {
        const int64_t k = ferry_i_ids_find(t->names, p->names[c]);
        double hit = 0, all = 0;
        for (int64_t i = 0; k >= 0 && i < p->n; i++) {
            if (!rs->scored[i]) continue;
            hit += t->on[i * m + k] && p->set[i * p->k + c];
            all += t->on[i * m + k] + p->set[i * p->k + c];
        }
        (void)json_array_append_new(names, ferry_i_json_text(p->names[c]));
        (void)json_array_append_new(f1, all > 0 ? json_real(2 * hit / all) : json_null());
    }
    return json_pack("{s:s, s:o, s:o}", "kind", "labels", "names", names, "f1", f1);
}

json_t *ferry_i_report_picture(const ferry_results *rs, const ferry_result *r)
{
    const ferry_prediction *p = r->prediction;
    const ferry_labels *t = rs->truth;

    if (!p || p->n == 0) return json_null();
    if (rs->goal == FERRY_EMBED && p->score && p->k > 0) return embedding(rs, p);
    if (!rs->scored || (!t && !rs->ratings)) return json_null();
    if (p->value && (rs->ratings || t->kind == FERRY_LABEL_NUMBER)) return points(rs, p);
    if (p->cls && p->names && t && t->kind == FERRY_LABEL_CLASS &&
        ferry_i_labels_m(t) <= MOST_CLASSES)
        return confusion(rs, p);
    if (p->set && p->names && t && t->kind == FERRY_LABEL_SET) return labels(rs, p);
    return json_null();
}
